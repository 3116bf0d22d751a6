//! The files of a run for other programs: its seconds as CSV, and times for HdrHistogram's tools.
//!
//! Called by `paceline run`: with `--csv` after each second, with `--hdr` for the percentile distribution as text
//! (`.hgrm`) at the end of the run and the histogram log (`.hlog`) during it. The record crate defines the columns of a
//! second; the stats crate encodes histograms; the binary opens and writes the files. The CSV of a round's report is in
//! `format/csv.rs`.

use crate::run_text::STEPS_PER_HALF;
use paceline_escape::CsvText;
use paceline_record::{Block, Interval, Phase, Run, Second, Span, TimeKind, Times};
use paceline_stats::{Histogram, ratio};
use serde_json::Value;
use std::fmt::Write as _;
use std::time::Duration;

/// Nanoseconds in the unit of both formats, the millisecond: the default unit of their tools.
const UNIT_NS: f64 = 1e6;

/// A percentile distribution as HdrHistogram's `outputPercentileDistribution` prints it, in milliseconds. Lines that
/// begin with `#[` are comments for readers; the first describe the subject.
fn hgrm(of: &str, target: &str, histogram: &Histogram) -> String {
    let mut text = format!(
        "#[{of} of {target}]\n#[Value unit: milliseconds]\n{:>14} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    for step in histogram.spectrum(STEPS_PER_HALF) {
        let (value, quantile, count) = (step.value as f64 / UNIT_NS, step.quantile, step.count);
        let _ = write!(text, "{value:14.6} {quantile:14.12} {count:10}");
        let _ = match quantile {
            1.0 => writeln!(text),
            _ => writeln!(text, " {:14.2}", 1.0 / (1.0 - quantile)),
        };
    }
    let milliseconds = |value: Option<f64>| value.unwrap_or(0.0) / UNIT_NS;
    let _ = writeln!(
        text,
        "#[Mean    = {:14.6}, StdDeviation   = {:14.6}]\n#[Max     = {:14.6}, Total count    = {:14}]\n\
         #[Buckets = {:14}, SubBuckets     = {:14}]",
        milliseconds(histogram.mean()),
        milliseconds(histogram.standard_deviation()),
        milliseconds(histogram.max().map(|max| max as f64)),
        histogram.count(),
        Histogram::BUCKETS,
        Histogram::SUB_BUCKETS
    );
    text
}

/// The distribution of a run's main time; in comments below it, the other times.
pub fn run_hgrm(run: &Run) -> String {
    let main = run.loop_.kind.judged_time();
    let histogram = run.total.times(main).and_then(|times| times.decode().ok()).unwrap_or_default();
    let mut text = hgrm(&main.title(), &run.target.url, &histogram);
    for (kind, times) in run.total.distributions().filter(|(kind, _)| *kind != main) {
        let [p50, p99, max] = [times.p50, times.p99, times.max].map(|ns| ns as f64 / UNIT_NS);
        let name = kind.name();
        let _ = writeln!(
            text,
            "#[{name}: p50 = {p50:.6}, p99 = {p99:.6}, Max = {max:.6}, Total count = {}]",
            times.count
        );
    }
    text
}

/// The whole window of a run as a histogram log, with a line for each time.
pub fn run_hlog(run: &Run) -> String {
    let start_s = run.phases.window.start_ns as f64 / 1e9;
    let mut text = hlog_header(&run.tool.version, &run.target.url, 0.0, &run.started_at);
    for (kind, times) in run.total.distributions().filter(|(_, times)| !times.histogram.is_empty()) {
        if let Ok(histogram) = times.decode() {
            text.push_str(&hlog_line(kind.tag(), start_s, run.window_s, &histogram));
        }
    }
    text
}

/// The summary of a run as CSV: a line of keys, a line of values. Every time has its columns, empty if not measured.
pub fn run_csv(run: &Run) -> CsvText {
    let mut cells = vec![("url".to_owned(), run.target.url.clone())];
    cells.extend(run.summarize().cells());
    for kind in TimeKind::ALL {
        let times = run.total.times(kind).cloned();
        let is_measured = times.is_some();
        for (column, value) in times.unwrap_or_else(|| Times::from_histogram(&Histogram::new())).columns() {
            let value = if is_measured { value.to_string() } else { String::new() };
            cells.push((format!("{}_{column}", kind.key()), value));
        }
    }
    let (keys, values): (Vec<String>, Vec<String>) = cells.into_iter().unzip();
    [CsvText::record(keys), CsvText::literal("\n"), CsvText::record(values), CsvText::literal("\n")]
        .into_iter()
        .collect()
}

/// The header of a histogram log, for a run that started at this time (in seconds since 1970, and the same as text).
/// Its lines count from there.
pub fn hlog_header(version: &str, target: &str, start_s: f64, started_at: &str) -> String {
    format!(
        "#[Logged with paceline {version}, {target}]\n#[Histogram log format version 1.3]\n\
         #[Values in nanoseconds, Interval_Max in milliseconds; requests due in the window, each listed in the interval in which it ended]\n\
         #[StartTime: {start_s:.3} (seconds since epoch), {started_at}]\n\
         #[BaseTime: {start_s:.3} (seconds since epoch)]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
    )
}

/// One line of a histogram log: the times of this tag that a stretch of the run added.
pub fn hlog_line(tag: &str, start_s: f64, length_s: f64, histogram: &Histogram) -> String {
    let max = histogram.max().unwrap_or(0) as f64 / UNIT_NS;
    format!("Tag={tag},{start_s:.3},{length_s:.3},{max:.3},{}\n", histogram.to_base64())
}

/// The header of the seconds of a run as CSV (RFC 4180): the keys of [`Second`], in its order, and these series of the
/// server.
pub fn seconds_csv_header(series: &[String]) -> String {
    let series = series.iter().map(String::as_str);
    CsvText::record(Second::COLUMNS.into_iter().chain(series)).to_string() + "\r\n"
}

/// A line of CSV: one second with these series, every figure in full precision. Missing values are empty.
pub fn second_csv(second: &Second, series: &[String]) -> String {
    let value = serde_json::to_value(second).unwrap_or_default();
    let metric = |name: &String| second.server_metrics.get(name).map_or_else(String::new, f64::to_string);
    let fields = Second::COLUMNS.iter().map(|column| field(&value[*column]));
    let fields: Vec<String> = fields.chain(series.iter().map(metric)).collect();
    fields.join(",") + "\r\n"
}

/// The intervals of a finished run as CSV, with the columns that `--csv` writes for each second during the run. What a
/// record does not have for each interval is empty: the backlog, the server's figures, the offered rate if it changes.
pub fn run_seconds_csv(run: &Run) -> String {
    let seconds = run.intervals_by_time();
    let line = |(span, intervals): &(Span, Vec<&Interval>)| second_csv(&second(run, *span, intervals), &[]);
    seconds_csv_header(&[]) + &seconds.iter().map(line).collect::<String>()
}

/// The second of a run in which these cohorts ended.
fn second(run: &Run, Span { start_ns, end_ns }: Span, intervals: &[&Interval]) -> Second {
    let sum = |count: fn(&Block) -> u64| {
        intervals.iter().fold(0_u64, |sum, interval| sum.saturating_add(count(&interval.block)))
    };
    let length_s = end_ns.saturating_sub(start_ns) as f64 / 1e9;
    let phase = match start_ns {
        at if at < run.phases.connect.end_ns => Phase::Connect,
        at if at < run.phases.window.start_ns => Phase::Warmup,
        at if at < run.phases.window.end_ns => Phase::Window,
        _ => Phase::Drain,
    };
    let offers = matches!(phase, Phase::Warmup | Phase::Window) && !run.loop_.has_several_rates();
    let ok = sum(|block| block.counts.ok);
    let [connect_failed, unsent] =
        [sum(|block| block.counts.connect_failed), sum(|block| block.counts.unsent)];
    let sent = sum(|block| block.counts.scheduled).saturating_sub(connect_failed).saturating_sub(unsent);
    let mut second = Second {
        at: moment(&run.started_at, start_ns),
        start_s: start_ns as f64 / 1e9,
        length_s,
        phase,
        offered_per_s: run.loop_.offered_per_s.filter(|_| offers),
        sent_per_s: ratio(sent as f64, length_s),
        achieved_per_s: ratio(ok as f64, length_s),
        ok,
        bad_status: sum(|block| block.counts.bad_status),
        bad_body: sum(|block| block.counts.bad_body),
        connect_failed,
        io_failed: sum(|block| block.counts.io_failed),
        timed_out: sum(|block| block.counts.timed_out),
        unsent,
        bytes_sent: sum(|block| block.bytes.sent),
        bytes_received: sum(|block| block.bytes.received),
        ..Second::default()
    };
    second.set_response_times(times_of(intervals, TimeKind::Response));
    second.set_service_times(times_of(intervals, TimeKind::Service));
    second
}

/// The times of some cohorts together; those of the largest if a smaller record has left out their histograms.
fn times_of(intervals: &[&Interval], kind: TimeKind) -> Option<[u64; 5]> {
    let times = || intervals.iter().filter_map(|interval| interval.block.times(kind));
    let largest = times().max_by_key(|times| times.count).filter(|times| times.count > 0)?;
    let others = times().filter(|times| !std::ptr::eq(*times, largest) && times.count > 0);
    let all = others.fold(largest.clone(), |sum, times| sum.merge(times).unwrap_or(sum));
    Some([all.p50, all.p90, all.p99, all.p99_9, all.max])
}

/// The time this long after the start of a run, in its record's form; empty if that has no time of day.
fn moment(started_at: &str, after_ns: u64) -> String {
    let started = started_at.parse::<jiff::Timestamp>().ok();
    let moment = started.and_then(|started| started.checked_add(Duration::from_nanos(after_ns)).ok());
    moment.map_or_else(String::new, |moment| format!("{moment:.3}"))
}

/// No text in a second contains a comma or a quotation mark.
fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::fixture;

    #[test]
    fn a_finished_run_has_the_seconds_of_its_intervals() {
        let mut run = fixture::run(100);
        run.started_at = "2026-11-21T00:00:00.000Z".to_owned();
        let times = run.total.service_time_ns.clone();
        run.intervals[1].block.service_time_ns = times.clone();
        let csv = run_seconds_csv(&run);
        let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        assert!(rows.iter().all(|row| row.len() == Second::COLUMNS.len()), "{csv}");
        assert_eq!((rows.len(), rows[0].as_slice()), (1 + run.intervals.len(), Second::COLUMNS.as_slice()));
        let column = |name: &str| Second::COLUMNS.iter().position(|column| *column == name).unwrap();
        let cell = |row: usize, name: &str| rows[row][column(name)];
        assert_eq!([cell(1, "at"), cell(1, "phase")], ["2026-11-21T00:00:00.500Z", "warmup"]);
        assert_eq!([cell(2, "start_s"), cell(2, "length_s"), cell(2, "phase")], ["1.5", "1.0", "window"]);
        assert_eq!([cell(2, "ok"), cell(2, "bad_status"), cell(2, "sent_per_s")], ["990", "10", "1000.0"]);
        assert_eq!(cell(2, "service_time_ns_p50"), times.unwrap().p50.to_string());
        assert_eq!([cell(1, "service_time_ns_p50"), cell(2, "response_time_ns_p50")], ["", ""]);
        assert_eq!(cell(2, "offered_per_s"), "1000.0");
    }
}
