//! What the server reported of itself: the pauses of its garbage collector, and its series for `--full`.
//!
//! Called by `mod.rs`.

use super::lines::{Style, table};
use super::quantity::{bytes, count, counted};
use crate::format::number::value as significant;
use paceline_record::{GcLog, GcRuntime, MetricSeries, Run, SeriesKind, ServerMetrics};

/// Columns of a series' name at most.
const MAX_NAME: usize = 60;

/// The pauses of the garbage collector in the window, and their share of it.
pub(super) fn pauses(run: &Run, style: Style) -> String {
    let Some(log) = &run.gc_log else { return String::new() };
    let GcLog { path, runtime, lines, window_pauses, window_paused_s, window_longest_ns, .. } = log;
    match (runtime, window_longest_ns) {
        (None, _) => format!(
            "none in {path} ({} during the run): it needs the lines of -Xlog:gc, gctrace=1 or --trace-gc",
            counted(*lines as f64, "line")
        ),
        (Some(runtime), None) => format!("none in the window ({})", runtime_name(*runtime)),
        (Some(runtime), Some(longest)) => format!(
            "{} in the window ({}), {} in all, {:.2}% of it, longest {}",
            count(*window_pauses as f64),
            runtime_name(*runtime),
            style.time(window_paused_s * 1e9),
            100.0 * paceline_stats::ratio(*window_paused_s, run.window_s),
            style.time(*longest as f64)
        ),
    }
}

fn runtime_name(runtime: GcRuntime) -> &'static str {
    match runtime {
        GcRuntime::Jvm => "JVM",
        GcRuntime::Go => "Go",
        GcRuntime::Node => "node",
    }
}

/// How often the metrics page was read.
pub(super) fn scrapes(run: &Run) -> String {
    let Some(metrics) = &run.server_metrics else { return String::new() };
    let ServerMetrics { url, scrapes, failed, first_failure, series_left_out, series, .. } = metrics;
    let failure = first_failure.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    let failed = match failed {
        0 => String::new(),
        failed => format!(", {}{failure}", counted(f64::from(*failed), "failed scrape")),
    };
    let left_out = match series_left_out {
        0 => String::new(),
        more => format!(" ({} more left out)", count(f64::from(*more))),
    };
    let (series, scrapes) = (count(series.len() as f64), counted(f64::from(*scrapes), "scrape"));
    format!("{series} series{left_out} in {scrapes} of {url}{failed}")
}

/// A row for each series: its values in the window, for a counter its growth per second.
pub(super) fn by_series(run: &Run, style: Style) -> String {
    let Some(metrics) = &run.server_metrics else { return String::new() };
    let rows: Vec<Vec<String>> =
        metrics.series.iter().filter_map(|series| row(run, metrics, series)).collect();
    if rows.is_empty() {
        return String::new();
    }
    table(&["server metric", "mean", "lowest", "highest", "last"], &rows, style)
}

fn row(run: &Run, metrics: &ServerMetrics, series: &MetricSeries) -> Option<Vec<String>> {
    let window = run.phases.window.start_ns..=run.phases.window.end_ns;
    let points = metrics.points(series);
    let values: Vec<f64> =
        points.iter().filter(|(at, _)| window.contains(at)).map(|(_, value)| *value).collect();
    let last = *values.last()?;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let unit = match series.kind {
        SeriesKind::Gauge => "",
        SeriesKind::Counter => "/s",
    };
    let name: String = series.name.chars().take(MAX_NAME).collect();
    let is_bytes = series.name.contains("_bytes") && lowest >= 0.0;
    let cells = [mean, lowest, highest, last].map(|value| match is_bytes {
        true => format!("{}{unit}", bytes(value as u64)),
        false => format!("{}{unit}", significant(value)),
    });
    Some([name].into_iter().chain(cells).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::{GcPause, fixture};

    #[test]
    fn pauses_are_a_share_of_the_window() {
        let mut run = fixture::run(0);
        assert_eq!(pauses(&run, Style::new(false, 100)), "");
        let log = GcLog { path: "gc.log".to_owned(), lines: 3, ..GcLog::default() };
        run.gc_log = Some(log.clone());
        assert!(pauses(&run, Style::new(false, 100)).starts_with("none in gc.log (3 lines during the run)"));
        let at_ns = run.phases.window.start_ns + 1;
        let length_ns = (run.window_s * 1e9 / 50.0) as u64;
        let log = GcLog { runtime: Some(GcRuntime::Go), ..log };
        run.gc_log = Some(log.with_pauses(vec![GcPause { at_ns, length_ns }], run.phases.window));
        let text = pauses(&run, Style::new(false, 100));
        assert!(text.starts_with("1 in the window (Go)") && text.contains("2.00% of it"), "{text}");
    }

    #[test]
    fn a_counter_is_shown_per_second() {
        let mut run = fixture::run(0);
        let start = run.phases.window.start_ns;
        run.server_metrics = Some(ServerMetrics {
            url: "http://h/metrics".to_owned(),
            scrapes: 3,
            failed: 1,
            first_failure: Some("refused".to_owned()),
            at_ns: [0, 1, 2].map(|s| start + s * 1_000_000_000).to_vec(),
            series: vec![MetricSeries {
                name: "gc_total".to_owned(),
                kind: SeriesKind::Counter,
                values: vec![Some(1.0), Some(3.0), Some(9.0)],
            }],
            ..ServerMetrics::default()
        });
        let text = by_series(&run, Style::new(false, 100));
        let cells: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(cells, ["gc_total", "4.00/s", "2.00/s", "6.00/s", "6.00/s"], "{text}");
        assert_eq!(scrapes(&run), "1 series in 3 scrapes of http://h/metrics, 1 failed scrape: refused");
    }
}
