//! Summaries compared with a stored one of hey by structure, and read back.

use super::*;
use crate::{PrintedReport, peer};
use paceline_job::Nanos;
use paceline_record::{Counts, Phases, Times, fixture};

const HEY: &str = include_str!("../../../../import/fixtures/hey.txt");

fn command(line: &str) -> HeyCommand {
    HeyCommand::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>()).unwrap()
}

fn times(ms: impl Iterator<Item = u64>) -> Option<Times> {
    let mut histogram = Histogram::new();
    ms.for_each(|ms| histogram.record(ms * 1_000_000));
    Some(Times::from_histogram(&histogram))
}

fn run(requests: u64) -> Run {
    let mut run = fixture::run(0);
    run.window_s = 2.0;
    run.phases = Phases::default();
    run.total.counts = Counts { scheduled: requests, ok: requests, ..Counts::default() };
    run.total.status = [("200".to_owned(), requests)].into();
    run.total.bytes.body = 12 * requests;
    run.total.service_time_ns = times(1..=requests);
    run.total.first_byte_ns = times(1..=requests);
    run.total.connect_and_service_time_ns = None;
    run.total.failed_time_ns = None;
    run.verdicts = Vec::new();
    run
}

/// The lines with every number and bar as `#`.
fn shapes(text: &str) -> Vec<String> {
    let shape = |line: &str| {
        let mut shape = String::new();
        for letter in line.chars() {
            let is_number = letter.is_ascii_digit() || letter == '.' || letter == '■';
            if !is_number {
                shape.push(letter);
            } else if !shape.ends_with('#') {
                shape.push('#');
            }
        }
        // A bar may be empty.
        shape.trim_end_matches("|#").trim_end_matches('|').to_owned()
    };
    text.lines().map(shape).collect()
}

#[test]
fn a_summary_has_heys_structure() {
    let output = report(&command("http://127.0.0.1:1/hello"), &run(200));
    assert_eq!(shapes(&output.stdout), shapes(HEY));
    assert!(
        output.stdout.contains("  Slowest:\t0.2000 secs\n  Fastest:\t0.0010 secs\n"),
        "{}",
        output.stdout
    );
    assert!(output.stdout.contains("  0.021 [19]\t|■■■"), "{}", output.stdout);
    assert!(output.stdout.contains("  99% in 0.1991 secs\n"), "{}", output.stdout);
}

#[test]
fn the_summary_is_read_back() {
    let output = report(&command("http://127.0.0.1:1/hello"), &run(200));
    let report = (peer("hey").unwrap().read)(&PrintedReport::from_output(&output.stdout)).unwrap();
    assert_eq!((report.counts.ok, report.bytes.body, report.duration_s()), (200, 2400, Some(2.0)));
    assert_eq!((report.times_ns["max"], report.times_ns["min"]), (200e6, 1e6));
}

#[test]
fn few_requests_have_few_percentiles() {
    let text = report(&command("http://127.0.0.1:1/"), &run(3)).stdout;
    let distribution = text.split("Latency distribution:\n").nth(1).unwrap();
    let lines: Vec<&str> = distribution.lines().take(7).collect();
    assert_eq!(lines[..2], ["  10% in 0.0020 secs", "  25% in 0.0030 secs"]);
    assert!(lines[2..].iter().all(|line| *line == "  0% in 0.0000 secs"), "{lines:?}");
}

#[test]
fn nothing_answered() {
    let output = unreachable(&command("-n 10 -c 2 http://127.0.0.1:9/"), "Connection refused");
    let expected = "\nSummary:\n  Total:\t0.0000 secs\n  Slowest:\t0.0000 secs\n  Fastest:\t0.0000 secs\n  Average:\t NaN secs\n  \
                    Requests/sec:\t0.0000\n  \n\nResponse time histogram:\n\n\nLatency distribution:\n\nDetails (average, fastest, slowest):\n";
    assert!(output.stdout.starts_with(expected), "{}", output.stdout);
    let end = "\nStatus code distribution:\n\nError distribution:\n  [10]\tGet \"http://127.0.0.1:9/\": dial tcp 127.0.0.1:9: connect: connection refused\n\n";
    assert!(output.stdout.ends_with(end), "{}", output.stdout);
}

#[test]
fn the_rate_is_over_the_time_until_the_last_response() {
    let mut run = run(200);
    (run.phases.window.start_ns, run.phases.drain.end_ns) = (1_000_000_000, 5_000_000_000);
    let text = report(&command("-z 2s http://127.0.0.1:1/"), &run).stdout;
    assert!(
        text.contains("  Total:\t4.0000 secs\n") && text.contains("  Requests/sec:\t50.0000\n"),
        "{text}"
    );
}

#[test]
fn connecting_is_over_all_responses() {
    let mut run = run(100);
    run.total.counts = Counts { scheduled: 201, ok: 100, bad_status: 100, io_failed: 1, ..Counts::default() };
    run.total.status.insert("404".to_owned(), 100);
    run.total.connect_time_ns = times((0..200).map(|_| 10));
    run.total.handshake_time_ns = None;
    let output = report(&command("-disable-keepalive http://127.0.0.1:1/"), &run);
    assert!(output.stdout.contains("DNS+dialup:\t0.0100 secs, 0.0100 secs"), "{}", output.stdout);
    assert!(output.stderr.contains("the times leave out 100 responses"), "{}", output.stderr);
}

#[test]
fn requests_are_listed_as_by_hey() {
    let ms = Nanos::from_millis;
    let (sent, connect, first_byte, service) = (ms(30), ms(5), ms(40), ms(41));
    let slow = ListedRequest { sent, connect, first_byte, service, status: 404 };
    let quick = ListedRequest { first_byte: ms(1), service: ms(1), status: 200, ..ListedRequest::default() };
    assert_eq!(
        csv(&[quick, slow]),
        "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n\
         0.0010,0.0000,0.0000,0.0000,0.0010,0.0000,200,0.0000\n\
         0.0460,0.0050,0.0000,0.0000,0.0400,0.0010,404,0.0250\n"
    );
    let command = command("-o csv http://127.0.0.1/");
    assert_eq!(unreachable(&command, "Connection refused").stdout, csv(&[]));
}
