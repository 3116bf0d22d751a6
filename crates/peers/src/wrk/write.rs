//! wrk's and wrk2's report (`main` and `print_stats` in `src/wrk.c`) from a run, to the byte layout.
//!
//! Three things differ from the original. Its `Req/Sec` row samples each thread every 100 ms; here each second is a
//! sample, as an equal share of the threads. wrk adds estimated times after a long wait; here only measured times
//! count. wrk counts a response after its timeout as both; here it is a timeout alone.

use super::command::{Variant, WrkCommand};
use super::script::{SampleValues, ScriptErrors, ScriptResults};
use super::units::{binary, metric, push_column, time_s, time_us};
use crate::answers::{answered, answered_in_window, decoded, with_failures};
use crate::quantity::total;
use crate::tool::{ToolOutput, concerns};
use paceline_record::{LoopKind, Phase, Run, Times};
use paceline_stats::Histogram;
use std::fmt::Write as _;

/// The percentiles of wrk's distribution.
const WRK_PERCENTS: [f64; 4] = [50.0, 75.0, 90.0, 99.0];
/// The percentiles of wrk2's distribution.
const WRK2_PERCENTS: [f64; 8] = [50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0];
/// Rows of wrk2's spectrum for each halving of the distance to 100 % (`hdr_percentiles_print`).
const TICKS_PER_HALF: u32 = 5;
/// Shorter ends of a run give no rate.
const MIN_SAMPLE_NS: u64 = 100_000_000;
/// A longest time of so many times the 99th percentile is a pause of the server, or of this machine.
const PAUSE_RATIO: u64 = 10;
/// Shorter pauses change no figure that wrk prints.
const MIN_PAUSE_NS: u64 = 100_000_000;

/// The text before the run.
pub fn begin(command: &WrkCommand) -> String {
    let WrkCommand { given_url, threads, connections, .. } = command;
    let time = time_s(command.duration_s as f64);
    format!("Running {time} test @ {given_url}\n  {threads} threads and {connections} connections\n")
}

/// The text after the run.
pub fn report(command: &WrkCommand, run: &Run) -> ToolOutput {
    let times = times(command.variant, run);
    let histogram = with_failures(times, &run.total);
    let mut text = format!("  Thread Stats{:>6}{:>11}{:>8}{:>12}\n", "Avg", "Stdev", "Max", "+/- Stdev");
    push_row(&mut text, "Latency", &latency_samples(&histogram), time_us);
    push_row(&mut text, "Req/Sec", &thread_rates(run, command.threads), metric);
    if command.latency {
        match command.variant {
            Variant::Wrk => push_distribution(&mut text, &histogram),
            Variant::Wrk2 => push_spectra(&mut text, &histogram, command, run),
        }
    }
    push_totals(&mut text, run);
    ToolOutput { stdout: text, stderr: remarks(command, run, times), ..ToolOutput::default() }
}

/// The times of the latency row: wrk2's begin when a request was due.
fn times(variant: Variant, run: &Run) -> Option<&Times> {
    match variant {
        Variant::Wrk => run.total.service_time_ns.as_ref(),
        Variant::Wrk2 => run.total.response_time_ns.as_ref(),
    }
}

/// In whole microseconds, as wrk records them.
fn latency_samples(histogram: &Histogram) -> SampleValues {
    let max_ns = histogram.max().unwrap_or(0);
    let in_us =
        |(low, high, count)| (if high >= max_ns { max_ns } else { u64::midpoint(low, high) } / 1000, count);
    SampleValues::from_counted(histogram.bars().map(in_us).collect())
}

/// Responses per second of a thread, in each second of the window.
fn thread_rates(run: &Run, threads: u32) -> SampleValues {
    let window = run.phases.window;
    let rate = |answers: u64, ns: u64| answers as f64 * 1e9 / ns as f64 / f64::from(threads.max(1));
    let seconds = run.intervals_by_time().into_iter().filter_map(|(span, intervals)| {
        let length = span.end_ns.min(window.end_ns).saturating_sub(span.start_ns);
        let is_of_window = intervals.iter().any(|interval| interval.phase == Phase::Window);
        let answers = total(intervals.iter().map(|interval| answered(&interval.block)));
        (is_of_window && length >= MIN_SAMPLE_NS).then(|| rate(answers, length))
    });
    let mut values: Vec<(u64, u64)> = seconds.map(|rate| (rate.round() as u64, 1)).collect();
    if values.is_empty() && run.window_s > 0.0 {
        values.push((rate(answered(&run.total), (run.window_s * 1e9) as u64).round() as u64, 1));
    }
    SampleValues::from_counted(values)
}

fn push_row(text: &mut String, name: &str, samples: &SampleValues, shown: fn(f64) -> String) {
    let (count, mean, stdev) = (samples.count(), samples.mean(), samples.stdev());
    let is_within = |value: u64| (value as f64 - mean).abs() <= stdev;
    let within = samples.values.iter().filter(|(value, _)| is_within(*value)).map(|(_, count)| *count);
    let _ = write!(text, "    {name:<10}");
    push_column(text, &shown(mean), 8);
    push_column(text, &shown(stdev), 10);
    push_column(text, &shown(samples.max() as f64), 9);
    let share = if count > 0 {
        format!("{:.2}", total(within) as f64 / count as f64 * 100.0)
    } else {
        "-nan".to_owned()
    };
    let _ = writeln!(text, "{share:>8}%");
}

fn push_distribution(text: &mut String, histogram: &Histogram) {
    text.push_str("  Latency Distribution\n");
    for percent in WRK_PERCENTS {
        let ns = histogram.quantile(percent / 100.0).unwrap_or(0);
        let _ = write!(text, "{percent:>7.0}%");
        push_column(text, &time_us((ns / 1000) as f64), 10);
        text.push('\n');
    }
}

fn push_spectra(text: &mut String, histogram: &Histogram, command: &WrkCommand, run: &Run) {
    push_spectrum(text, "HdrHistogram - Recorded Latency", histogram);
    if command.uncorrected {
        let uncorrected = decoded(run.total.service_time_ns.as_ref());
        text.push('\n');
        let title =
            "HdrHistogram - Uncorrected Latency (measured without taking delayed starts into account)";
        push_spectrum(text, title, &uncorrected);
    }
}

fn push_spectrum(text: &mut String, title: &str, histogram: &Histogram) {
    let _ = writeln!(text, "  Latency Distribution ({title})");
    for percent in WRK2_PERCENTS {
        let ns = histogram.quantile(percent / 100.0).unwrap_or(0);
        let _ = write!(text, "{percent:>7.3}%");
        push_column(text, &time_us((ns / 1000) as f64), 10);
        text.push('\n');
    }
    text.push_str("\n  Detailed Percentile spectrum:\n");
    let _ = write!(
        text,
        "{:>12} {:>12} {:>12} {:>12}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    for (percent, ns, count) in spectrum(histogram) {
        let _ = write!(text, "{:>12.3} {:>12.6} {count:>12} ", ns as f64 / 1e6, percent / 100.0);
        let _ = match percent < 100.0 {
            true => writeln!(text, "{:>12.2}", 1.0 / (1.0 - percent / 100.0)),
            false => writeln!(text, "{:>12}", "inf"),
        };
    }
    let (mean, deviation) = moments(histogram);
    let _ = writeln!(text, "#[Mean    = {mean:>12.3}, StdDeviation   = {deviation:>12.3}]");
    let max = histogram.max().unwrap_or(0) as f64 / 1e6;
    let _ = writeln!(text, "#[Max     = {max:>12.3}, Total count    = {:>12}]", histogram.count());
    let _ = writeln!(text, "#[Buckets = {:>12}, SubBuckets     = {:>12}]", 27, 2048);
    text.push_str("----------------------------------------------------------\n");
}

/// Percent, nanoseconds and the number of values up to there: denser towards 100 %.
fn spectrum(histogram: &Histogram) -> Vec<(f64, u64, u64)> {
    let (mut rows, mut percent) = (Vec::new(), 0.0f64);
    while !histogram.is_empty() {
        let ns = histogram.quantile(percent / 100.0).unwrap_or(0);
        let count = histogram.count_at_or_below(ns);
        rows.push((percent, ns, count));
        if count >= histogram.count() {
            break;
        }
        let halvings = (100.0 / (100.0 - percent)).log2().floor() as i32 + 1;
        percent += 100.0 / (2f64.powi(halvings) * f64::from(TICKS_PER_HALF));
    }
    if let Some(last) = rows.last().copied() {
        rows.push((100.0, last.1, last.2));
    }
    rows
}

/// Mean and standard deviation over n, in milliseconds.
fn moments(histogram: &Histogram) -> (f64, f64) {
    let count = histogram.count().max(1) as f64;
    let mean = histogram.mean().unwrap_or(0.0);
    let squares =
        histogram.bars().map(|(low, high, n)| ((low as f64 + high as f64) / 2.0 - mean).powi(2) * n as f64);
    (mean / 1e6, (squares.sum::<f64>() / count).sqrt() / 1e6)
}

/// The responses in the window. wrk does not wait for those that are outstanding at the end.
fn complete(run: &Run) -> u64 {
    answered_in_window(run, |_| true)
}

fn errors(run: &Run) -> ScriptErrors {
    let counts = run.total.counts;
    ScriptErrors {
        connect: counts.connect_failed,
        read: counts.io_failed,
        write: 0,
        status: answered_in_window(run, |status| status > 399),
        timeout: run.exceeded_timeout(),
    }
}

/// What a script's `done` is given.
pub fn script_results(command: &WrkCommand, run: &Run) -> ScriptResults {
    results_of(command.variant, command.threads, run)
}

/// What the `done` of a script of `paceline run` is given: response times in an open loop, service times otherwise.
pub fn run_results(run: &Run, threads: u32) -> ScriptResults {
    let variant = if run.loop_.kind == LoopKind::Open { Variant::Wrk2 } else { Variant::Wrk };
    results_of(variant, threads, run)
}

fn results_of(variant: Variant, threads: u32, run: &Run) -> ScriptResults {
    let histogram = with_failures(times(variant, run), &run.total);
    ScriptResults {
        duration_us: (run.window_s * 1e6) as u64,
        requests: complete(run),
        bytes: run.total.bytes.received,
        errors: errors(run),
        latency_us: latency_samples(&histogram),
        rates: thread_rates(run, threads),
    }
}

fn push_totals(text: &mut String, run: &Run) {
    let (complete, bytes) = (complete(run), run.total.bytes.received as f64);
    let window_s = run.window_s.max(1e-9);
    let _ =
        writeln!(text, "  {complete} requests in {}, {}B read", time_us(run.window_s * 1e6), binary(bytes));
    let ScriptErrors { connect, read, write, status, timeout } = errors(run);
    if connect + read + write + timeout > 0 {
        let _ = writeln!(
            text,
            "  Socket errors: connect {connect}, read {read}, write {write}, timeout {timeout}"
        );
    }
    if status > 0 {
        let _ = writeln!(text, "  Non-2xx or 3xx responses: {status}");
    }
    let _ = writeln!(text, "Requests/sec: {:>9.2}", complete as f64 / window_s);
    let _ = writeln!(text, "Transfer/sec: {:>10}B", binary(bytes / window_s));
}

/// What is different from wrk's figures, where it matters.
fn remarks(command: &WrkCommand, run: &Run, times: Option<&Times>) -> String {
    let mut text = concerns(run);
    let has_pause =
        |times: &Times| times.max >= MIN_PAUSE_NS && times.max >= times.p99.saturating_mul(PAUSE_RATIO);
    if command.variant == Variant::Wrk && times.is_some_and(has_pause) {
        text.push_str(
            "paceline: there was a pause: in a closed loop few requests meet it, so the percentiles leave out what users would wait; `paceline run -r RATE` measures it\n",
        );
    }
    text
}

#[cfg(test)]
mod tests;
