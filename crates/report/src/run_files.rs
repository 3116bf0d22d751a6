//! The files of a run for other programs: its seconds as CSV, and times for HdrHistogram's tools.
//!
//! Called by `paceline run`: with `--csv` after each second, with `--hdr` for the percentile distribution as text
//! (`.hgrm`) at the end of the run and the histogram log (`.hlog`) during it. The record crate defines the columns of a
//! second; the stats crate encodes histograms; the binary opens and writes the files. The CSV of a round's report is in
//! `format/csv.rs`.

use crate::run_text::STEPS_PER_HALF;
use paceline_escape::CsvText;
use paceline_record::{Run, Second, TimeKind, Times};
use paceline_stats::Histogram;
use serde_json::Value;
use std::fmt::Write as _;

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

/// No text in a second contains a comma or a quotation mark.
fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
