//! hey's summary (`printer.go`) from a run, to the byte layout.
//!
//! The phases of a request are not measured apart, except for connecting and the time to the first byte.

use super::command::HeyCommand;
use crate::answers::{
    answered, connect_times, times_left_out, until_last_response, whole_times, with_failures,
};
use crate::tool::{ListedRequest, ToolOutput, concerns};
use paceline_record::Run;
use paceline_stats::Histogram;
use std::fmt::Write as _;

/// The percentiles of the distribution.
const PERCENTS: [u64; 7] = [10, 25, 50, 75, 90, 95, 99];
/// The bars of the histogram, without the first.
const BARS: u32 = 10;
/// The length of the longest bar.
const BAR_LENGTH: u64 = 40;

/// The columns of `-o csv`.
const CSV_HEADER: &str =
    "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset";

/// The figures of a summary.
#[derive(Default)]
struct Figures {
    seconds: f64,
    times: Histogram,
    connects: Histogram,
    first_bytes: Histogram,
    answered: u64,
    body_bytes: u64,
    status: Vec<(String, u64)>,
    errors: Vec<(u64, String)>,
}

/// The text after a run.
pub fn report(command: &HeyCommand, run: &Run) -> ToolOutput {
    let (block, counts) = (&run.total, run.total.counts);
    let failed = [
        (counts.connect_failed, connect_error(command, "connection refused")),
        (counts.io_failed, request_error(command, "EOF")),
        (
            run.exceeded_timeout(),
            request_error(
                command,
                "context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
            ),
        ),
    ];
    let figures = Figures {
        seconds: until_last_response(run),
        times: whole_times(block),
        connects: connect_times(block),
        first_bytes: with_failures(block.first_byte_ns.as_ref(), block),
        answered: answered(block),
        body_bytes: block.bytes.body,
        status: block.status.iter().map(|(status, count)| (status.clone(), *count)).collect(),
        errors: failed.into_iter().filter(|(count, _)| *count > 0).collect(),
    };
    ToolOutput { stdout: text(&figures), stderr: remarks(command, run), ..ToolOutput::default() }
}

/// The text if no connection can be made.
pub fn unreachable(command: &HeyCommand, why: &str) -> ToolOutput {
    all_failed(command, connect_error(command, &why.to_lowercase()))
}

/// The text if the server's name has no address.
pub fn unresolved(command: &HeyCommand, host: &str) -> ToolOutput {
    all_failed(command, request_error(command, &format!("dial tcp: lookup {host}: no such host")))
}

fn all_failed(command: &HeyCommand, error: String) -> ToolOutput {
    if command.lists_requests {
        return ToolOutput::of_stdout(csv(&[]));
    }
    let errors = vec![(command.requests(), error)];
    ToolOutput::of_stdout(text(&Figures { errors, ..Figures::default() }))
}

/// A row for each request (`-o csv`), in the order of the responses.
pub fn csv(requests: &[ListedRequest]) -> String {
    let mut text = CSV_HEADER.to_owned();
    for request in requests {
        let &ListedRequest { sent, connect, first_byte, service, status } = request;
        let [whole, connect, delay, read, offset] =
            [request.whole(), connect, first_byte, service.since(first_byte), sent.since(connect)]
                .map(|time| shown(time.as_secs_f64()));
        // The lookup of the name and the write of a request are not measured apart.
        let none = shown(0.0);
        let _ = write!(text, "\n{whole},{connect},{none},{none},{delay},{read},{status},{offset}");
    }
    text + "\n"
}

fn connect_error(command: &HeyCommand, why: &str) -> String {
    let url = command.url();
    let host = if url.host.contains(':') { format!("[{}]", url.host) } else { url.host.clone() };
    request_error(command, &format!("dial tcp {host}:{}: connect: {why}", url.port))
}

/// An error as Go's client words it.
fn request_error(command: &HeyCommand, why: &str) -> String {
    let method = command.method().to_lowercase();
    let (first, rest) = method.split_at_checked(1).unwrap_or_default();
    let url = command.url();
    format!("{}{rest} \"{url}\": {why}", first.to_uppercase())
}

fn text(figures: &Figures) -> String {
    let failed: u64 = figures.errors.iter().map(|(count, _)| count).sum();
    let requests = figures.answered + failed;
    let rate = if figures.seconds > 0.0 { requests as f64 / figures.seconds } else { 0.0 };
    let times = &figures.times;
    let mut text = "\nSummary:\n".to_owned();
    for (label, seconds) in [
        ("Total", figures.seconds),
        ("Slowest", seconds(times.max())),
        ("Fastest", seconds(times.min())),
        ("Average", mean(times)),
    ] {
        let _ = writeln!(text, "  {label}:\t{} secs", shown(seconds));
    }
    let _ = writeln!(text, "  Requests/sec:\t{rate:.4}\n  ");
    if figures.body_bytes > 0 {
        let size = figures.body_bytes / figures.answered.max(1);
        let _ = writeln!(text, "  Total data:\t{} bytes\n  Size/request:\t{size} bytes", figures.body_bytes);
    }
    text.push_str("\nResponse time histogram:\n");
    push_bars(&mut text, times);
    text.push_str("\n\nLatency distribution:\n");
    push_percentiles(&mut text, times);
    push_details(&mut text, figures);
    text.push_str("\nStatus code distribution:");
    for (status, count) in &figures.status {
        let _ = write!(text, "\n  [{status}]\t{count} responses");
    }
    text.push_str("\n\n");
    if !figures.errors.is_empty() {
        text.push_str("Error distribution:");
        for (count, error) in &figures.errors {
            let _ = write!(text, "\n  [{count}]\t{error}");
        }
    }
    text + "\n\n"
}

fn seconds(ns: Option<u64>) -> f64 {
    ns.unwrap_or(0) as f64 / 1e9
}

/// The mean in seconds; no number if there is none.
fn mean(times: &Histogram) -> f64 {
    times.mean().map_or(f64::NAN, |ns| ns / 1e9)
}

/// As Go's `%4.4f`.
fn shown(seconds: f64) -> String {
    if seconds.is_nan() { " NaN".to_owned() } else { format!("{seconds:.4}") }
}

fn push_bars(text: &mut String, times: &Histogram) {
    let (Some(fastest), Some(slowest)) = (times.min(), times.max()) else { return };
    let step = (slowest - fastest) as f64 / f64::from(BARS);
    let marks: Vec<f64> = (0..=BARS).map(|bar| fastest as f64 + step * f64::from(bar)).collect();
    let up_to: Vec<u64> = marks
        .iter()
        .enumerate()
        .map(|(bar, mark)| match bar as u32 == BARS {
            true => times.count(),
            false => times.count_at_or_below(*mark as u64),
        })
        .collect();
    let counts: Vec<u64> = up_to
        .iter()
        .enumerate()
        .map(|(bar, count)| count - bar.checked_sub(1).map_or(0, |before| up_to[before]))
        .collect();
    let max = counts.iter().copied().max().unwrap_or(0);
    for (mark, count) in marks.iter().zip(counts) {
        let length = (count * BAR_LENGTH + max / 2).checked_div(max).unwrap_or(0);
        let _ = writeln!(text, "  {:.3} [{count}]\t|{}", mark / 1e9, "■".repeat(length as usize));
    }
}

/// As hey reads them off the sorted times: each at another request, so that few requests have few percentiles.
///
/// The template has `%%` (`requester/print.go`), of which `Fprintf` makes a single sign (`printf` in
/// `requester/report.go`): so in 0.1.4 and in hey's master. Builds of 0.1.5 print both; a summary is read with either.
fn push_percentiles(text: &mut String, times: &Histogram) {
    let count = times.count();
    if count == 0 {
        return;
    }
    let mut next = 0;
    for percent in PERCENTS {
        let place = next.max((percent * count).div_ceil(100));
        let line = if place < count {
            let ns = times.quantile((place + 1) as f64 / count as f64);
            format!("  {percent}% in {} secs", shown(seconds(ns)))
        } else {
            "  0% in 0.0000 secs".to_owned()
        };
        text.push_str(&line);
        text.push('\n');
        next = place + 1;
    }
}

fn push_details(text: &mut String, figures: &Figures) {
    let Figures { times, connects, first_bytes, answered, .. } = figures;
    let none = if times.is_empty() { f64::NAN } else { 0.0 };
    // Over all requests, also those on a connection that was open.
    let connected = connects.count().min(*answered);
    let connecting = connects.mean().unwrap_or(0.0) / 1e9 * connected as f64 / (*answered).max(1) as f64;
    let fastest = if connected < *answered { 0.0 } else { seconds(connects.min()) };
    let reading = (mean(times) - mean(first_bytes) - connecting).max(0.0);
    let slowest_reading = (seconds(times.max()) - seconds(first_bytes.max())).max(0.0);
    text.push_str("\nDetails (average, fastest, slowest):\n");
    for (label, average, fastest, slowest) in [
        ("DNS+dialup", connecting + none, fastest, seconds(connects.max())),
        ("DNS-lookup", none, 0.0, 0.0),
        ("req write", none, 0.0, 0.0),
        ("resp wait", mean(first_bytes), seconds(first_bytes.min()), seconds(first_bytes.max())),
        ("resp read", if times.is_empty() { none } else { reading }, 0.0, slowest_reading),
    ] {
        let _ = writeln!(
            text,
            "  {label}:\t{} secs, {} secs, {} secs",
            shown(average),
            shown(fastest),
            shown(slowest)
        );
    }
}

/// What is different from hey's figures, where it matters.
fn remarks(command: &HeyCommand, run: &Run) -> String {
    let mut text = concerns(run) + &times_left_out(&run.total, &whole_times(&run.total));
    if command.job().follow == 0
        && run.total.status.keys().any(|status| status.starts_with("30") && status != "304")
    {
        text.push_str("paceline: redirects were not followed: use the URL that they lead to\n");
    }
    let waited = run.total.response_time_ns.as_ref().zip(run.total.service_time_ns.as_ref());
    if command.has_rate()
        && waited.is_some_and(|(response, service)| response.p99 > service.p99.saturating_mul(2))
    {
        text.push_str(
            "paceline: times are from the send, as hey's; from when requests were due they are longer: `paceline run -r RATE` shows them\n",
        );
    }
    text
}

#[cfg(test)]
mod tests;
