//! The times of a run: percentiles as columns and kinds of time as rows, a small histogram, the whole spectrum
//! (`--full`, with the steps of HdrHistogram's own distribution).
//!
//! Called by `mod.rs`. It also defines for the other sections the main time of a run, and from which value a percentile
//! is a lower bound. Percentiles are read from the record; none is computed here.

use super::lines::{Style, columns, table};
use super::quantity::{count, counted, percent};
use crate::grid::{Align, Grid};
use paceline_judge::{SAMPLES_FOR_INTERVAL, VerdictName, percentiles_of_run};
use paceline_record::{Block, Run, TimeKind, Times};
use paceline_stats::{Histogram, RunPercentile};

/// The columns of a time, with their order of removal if they do not fit: the highest number first.
const COLUMNS: [(&str, u8); 8] =
    [("p50", 0), ("p75", 3), ("p90", 5), ("p95", 2), ("p99", 0), ("p99.9", 4), ("max", 1), ("mean", 6)];
/// Columns of a bar of the histogram.
const BAR_COLUMNS: usize = 32;
/// Lines of the histogram.
const BARS: usize = 7;

/// The times of a run, the main time first.
pub(super) fn of_run(run: &Run, style: Style) -> String {
    let total = &run.total;
    // A response that arrives in one piece has no separate first byte.
    let is_same = |kind, times: &Times| {
        kind == TimeKind::FirstByte
            && total.service_time_ns.as_ref().is_some_and(|service| times.p99 == service.p99)
    };
    let rows: Vec<Vec<String>> = total
        .distributions()
        .filter(|(kind, times)| times.count > 0 && !is_same(*kind, times))
        .map(|(kind, times)| row(kind, times, total, run.timeout_ns, style))
        .collect();
    if rows.is_empty() { String::new() } else { fitted(rows, has_tail(run), style) + &intervals(run, style) }
}

/// Whether a run has enough requests for its 99.9th percentile. With fewer it is hardly different from the maximum, which
/// is beside it.
pub(super) fn has_tail(run: &Run) -> bool {
    let count = first_of(run, &run.total).1.map_or(0, |times| times.count);
    count as f64 >= SAMPLES_FOR_INTERVAL / (1.0 - 0.999)
}

/// The 95 % intervals of percentiles within the run, or the number of requests needed for one. Nothing for an overloaded
/// run, whose times depend on its length.
fn intervals(run: &Run, style: Style) -> String {
    if VerdictName::Saturated.is_in(&run.verdicts) {
        return String::new();
    }
    let text = |name: &str, percentile: RunPercentile| match percentile.interval {
        Some(ends) => format!("{name} {} to {}", style.time(ends.low), style.time(ends.high)),
        None => {
            format!("none for {name} (needs about {})", counted(about(percentile.requests_needed), "request"))
        }
    };
    let names = ["p50", "p99"].into_iter().zip(percentiles_of_run(run, [0.5, 0.99]));
    let shown: Vec<String> = names.filter_map(|(name, percentile)| Some(text(name, percentile?))).collect();
    if shown.is_empty() {
        return String::new();
    }
    style.lines(&format!("95 % confidence intervals within the run: {}", shown.join(", ")), 2, Style::dim)
}

/// An estimated number, rounded up to two significant digits.
fn about(number: u64) -> f64 {
    let unit = 10_u64.pow(number.max(1).ilog10().saturating_sub(1));
    number.div_ceil(unit).saturating_mul(unit) as f64
}

/// The table with as many columns as fit; without the 99.9th percentile if the run has too few requests for it.
fn fitted(mut rows: Vec<Vec<String>>, has_tail: bool, style: Style) -> String {
    let mut header: Vec<(&str, u8)> = [("", 0)].into_iter().chain(COLUMNS).collect();
    let remove = |header: &mut Vec<(&str, u8)>, rows: &mut [Vec<String>], place: usize| {
        header.remove(place);
        rows.iter_mut().for_each(|row| drop(row.remove(place)));
    };
    if !has_tail {
        let tail = header.iter().position(|(name, _)| *name == "p99.9");
        tail.into_iter().for_each(|place| remove(&mut header, &mut rows, place));
    }
    loop {
        let width = |place: usize| {
            let cells = rows.iter().filter_map(|row| row.get(place)).map(|cell| columns(cell));
            cells.max().unwrap_or(0).max(columns(header[place].0)) + 2
        };
        let least = header.iter().enumerate().max_by_key(|(_, (_, leaves))| *leaves);
        let Some((place, (_, leaves))) = least else { break };
        if *leaves == 0 || (0..header.len()).map(width).sum::<usize>() <= style.width {
            break;
        }
        remove(&mut header, &mut rows, place);
    }
    let header: Vec<&str> = header.into_iter().map(|(name, _)| name).collect();
    table(&header, &rows, style)
}

/// A small histogram of the run's main time, in steps of equal ratio up to the highest; the first and the last step
/// contain the rest.
pub(super) fn histogram(run: &Run, style: Style) -> String {
    let (name, times) = first_of(run, &run.total);
    let histogram = times.and_then(|times| times.decode().ok());
    histogram.map_or_else(String::new, |histogram| bars(name, &histogram, BARS, style))
}

/// A histogram in this many rows, at least two.
pub(crate) fn bars(name: &str, histogram: &Histogram, rows: usize, style: Style) -> String {
    let (Some(low), Some(high)) = (histogram.quantile(0.01), histogram.quantile(0.999)) else {
        return String::new();
    };
    if style.width < 60 || histogram.count() < 100 || low == 0 || high < low * 2 {
        return String::new();
    }
    let ratio = (high as f64 / low as f64).powf(1.0 / (rows - 1) as f64);
    let mut below = 0;
    let steps: Vec<(u64, u64)> = (0..rows)
        .map(|step| {
            let limit = if step + 1 == rows {
                histogram.max().unwrap_or(high)
            } else {
                (low as f64 * ratio.powi(step as i32)).round() as u64
            };
            let count = histogram.count_at_or_below(limit);
            let here = count.saturating_sub(below);
            below = count;
            (limit, here)
        })
        .collect();
    let most = steps.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
    let mut text =
        style.lines(&format!("{name}: share of requests in each range (upper limit shown)"), 2, Style::dim);
    let limits: Vec<String> =
        steps.iter().map(|(limit, _)| style.time(*limit as f64).replace('\u{a0}', " ")).collect();
    let shares: Vec<String> =
        steps.iter().map(|(_, count)| percent(*count as f64 / histogram.count() as f64)).collect();
    let widest = |texts: &[String]| texts.iter().map(|text| columns(text)).max().unwrap_or(0);
    let (limit_width, share_width) = (widest(&limits).max(8), widest(&shares));
    let grid =
        Grid::new([(Align::Right, limit_width), (Align::Left, BAR_COLUMNS), (Align::Right, share_width)]);
    for (((_, count), limit), share) in steps.into_iter().zip(limits).zip(shares) {
        let bar = "\u{2588}".repeat((count as f64 / most as f64 * BAR_COLUMNS as f64).round() as usize);
        text.push_str(&format!("  {}\n", grid.line(&[limit, bar, share])));
    }
    text
}

fn row(kind: TimeKind, times: &Times, total: &Block, timeout_ns: u64, style: Style) -> Vec<String> {
    let censored_from = match kind {
        TimeKind::Response => censored_from(total),
        TimeKind::Service | TimeKind::ConnectAndService => service_censored_from(total, timeout_ns),
        _ => u64::MAX,
    };
    let mut cells = vec![kind.name().to_owned()];
    cells.extend(times.columns().map(|(_, value)| marked(value, censored_from, style)));
    // A mean includes every lower bound.
    let mark = if censored_from < u64::MAX { "\u{2265}" } else { "" };
    cells.push(format!("{mark}{}", style.time(times.mean)));
    cells
}

/// The run's main time, marked if it is a lower bound.
pub(super) fn bounded(value_ns: u64, block: &Block, style: Style) -> String {
    marked(value_ns, censored_from(block), style)
}

fn marked(value_ns: u64, censored_from: u64, style: Style) -> String {
    let mark = if value_ns >= censored_from { "\u{2265}" } else { "" };
    format!("{mark}{}", style.time(value_ns as f64))
}

/// The value from which response times are lower bounds.
fn censored_from(block: &Block) -> u64 {
    block.censored.map_or(u64::MAX, |censored| censored.lowest_ns)
}

/// The same for service times. In an open loop the lowest censored time is a response time: the service time was then
/// the timeout. Unsent requests have no service time.
fn service_censored_from(block: &Block, timeout_ns: u64) -> u64 {
    if block.counts.timed_out > 0 { censored_from(block).min(timeout_ns) } else { u64::MAX }
}

/// The main time of a run: response time in an open loop, service time in a closed loop.
pub(super) fn first_of<'a>(run: &Run, block: &'a Block) -> (&'static str, Option<&'a Times>) {
    let kind = run.loop_.kind.judged_time();
    (kind.name(), block.times(kind))
}

/// Steps per halving of the distance to 100 %: the default of HdrHistogram's tools.
pub(crate) const STEPS_PER_HALF: u32 = 5;

/// A line for each percentile.
pub(super) fn spectrum(run: &Run, style: Style) -> String {
    let (name, times) = first_of(run, &run.total);
    let Some(histogram) = times.and_then(|times| times.decode().ok()) else { return String::new() };
    let rows: Vec<Vec<String>> = histogram
        .spectrum(STEPS_PER_HALF)
        .iter()
        .map(|step| {
            let beyond = histogram.count() - step.count;
            let percentile = format!("{:.7}", step.quantile * 100.0);
            let percentile = percentile.trim_end_matches('0').trim_end_matches('.');
            vec![format!("{percentile}%"), bounded(step.value, &run.total, style), count(beyond as f64)]
        })
        .collect();
    table(&["percentile", name, "requests beyond"], &rows, style)
}

#[cfg(test)]
mod tests {
    use super::about;

    #[test]
    fn estimates_are_rounded_up() {
        for (number, shown) in [(0, 0.0), (7, 7.0), (99, 99.0), (101, 110.0), (2_925_034, 3_000_000.0)] {
            assert!((about(number) - shown).abs() < f64::EPSILON, "{number}");
        }
        assert!(about(u64::MAX) >= u64::MAX as f64);
    }
}
