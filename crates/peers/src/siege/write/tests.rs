//! Reports compared with stored ones of siege 4.0.7 by structure, and read back.

use super::*;
use crate::tool::ToolInputs;
use crate::{PrintedReport, peer};
use paceline_record::{Counts, Phases, Times, fixture};
use paceline_stats::Histogram;

const TEXT: &str = include_str!("../../../../import/fixtures/siege.txt");
const JSON: &str = include_str!("../../../../import/fixtures/siege.json");

struct NoInputs;

impl ToolInputs for NoInputs {
    fn read(&self, path: &str) -> Result<String, String> {
        Err(format!("{path}: No such file or directory"))
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

fn command(line: &str) -> SiegeCommand {
    SiegeCommand::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>(), &NoInputs).unwrap()
}

fn run() -> Run {
    let mut histogram = Histogram::new();
    (1..=60).for_each(|ms| histogram.record(ms * 1_000_000));
    let mut run = fixture::run(0);
    run.window_s = 0.12;
    run.phases = Phases::default();
    run.started_at = "2026-01-02T03:04:05.678Z".to_owned();
    run.total.counts = Counts { scheduled: 63, ok: 50, bad_status: 10, io_failed: 3, ..Counts::default() };
    run.total.status = [("200", 50), ("404", 7), ("503", 3)].map(|(status, n)| (status.to_owned(), n)).into();
    run.total.completed_in_window = 50;
    run.total.bytes.body = 3 * 1024 * 1024;
    run.total.service_time_ns = Some(Times::from_histogram(&histogram));
    run.total.connect_and_service_time_ns = None;
    run.total.failed_time_ns = None;
    run.verdicts = Vec::new();
    run
}

/// The text with every number as `#`, blanks before it included.
fn shape(text: &str) -> Vec<String> {
    let number = |letter: char| letter.is_ascii_digit() || letter == '.';
    text.lines()
        .map(|line| line.split(number).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("#"))
        .collect()
}

/// Where the lines end, with tabs as one letter: numbers are right-aligned.
fn lengths(text: &str) -> Vec<usize> {
    text.lines().map(str::len).collect()
}

#[test]
fn a_report_has_sieges_structure() {
    let command = command("-c 3 -r 20 --no-parser http://127.0.0.1:1/");
    let whole = begin(&command).stderr + &report(&command, &run()).stderr;
    let squeezed = |text: &str| shape(text).join("\n").replace(' ', "");
    assert_eq!(squeezed(&whole), squeezed(TEXT));
    assert_eq!(lengths(&whole), lengths(TEXT));
}

#[test]
fn json_has_sieges_structure() {
    let output = report(&command("-c 3 -r 20 -j http://127.0.0.1:1/"), &run());
    let squeezed = |text: &str| shape(text).join("\n").replace(' ', "");
    assert_eq!(squeezed(&output.stdout), squeezed(JSON));
    assert_eq!(lengths(&output.stdout), lengths(JSON));
}

#[test]
fn both_are_read_back() {
    for flag in ["-j", "-b"] {
        let output = report(&command(&format!("{flag} -c 3 -r 20 http://127.0.0.1:1/")), &run());
        let text = if flag == "-j" { output.stdout } else { output.stderr };
        let report = (peer("siege").unwrap().read)(&PrintedReport::from_output(&text)).unwrap();
        assert_eq!((report.counts.ok, report.counts.bad_status, report.counts.io_failed), (50, 7, 6));
        assert_eq!(report.bytes.body, 3 * 1024 * 1024);
    }
}

#[test]
fn the_log_has_a_row_for_each_run() {
    let new = command("-l/a/b -m mark -c 3 -r 20 http://127.0.0.1:1/");
    let output = report(&new, &run());
    let LogRow { path, heading, text } = *output.log.unwrap();
    assert!(heading.starts_with("      Date & Time,  Trans,") && heading.ends_with("   Failed\n"));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((path.as_str(), lines.len(), lines[0]), ("/a/b", 2, "**** mark ****"));
    let row = "2026-01-02 03:04:05,     57,       0.12,           3,       0.03,      475.00,       25.00,       15.25,      50,       6";
    assert_eq!(lines[1], row);
    assert!(output.stdout.starts_with("LOG FILE: /a/b\n"));
}

#[test]
fn nothing_is_printed_quietly_and_failures_are_counted() {
    let quiet = command("-q -c 3 -r 20 --no-parser http://127.0.0.1:1/");
    let output = report(&quiet, &run());
    assert_eq!((output.stdout + &output.stderr, begin(&quiet)), (String::new(), ToolOutput::default()));
    let output = unreachable(
        &command("-c 3 -r 20 http://127.0.0.1:1/"),
        &["socket: unable to connect: Connection refused"],
    );
    assert!(output.stderr.contains("\nFailed transactions:\t          60\n"), "{}", output.stderr);
    assert!(output.stderr.contains("unable to connect: Connection refused"));
}

/// The number after a label.
fn figure(text: &str, label: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with(label)).unwrap();
    line.split_whitespace().find_map(|word| word.parse().ok()).unwrap()
}

#[test]
fn a_timed_run_leaves_out_what_came_after_its_time() {
    let mut late = run();
    late.total.completed_in_window = 30;
    late.phases.drain.end_ns = 240_000_000;
    let text = report(&command("-c 3 -t 1S http://127.0.0.1:1/"), &late).stderr;
    let figures = ["Transactions:", "Successful", "Elapsed", "Transaction rate", "Throughput", "Concurrency"];
    // Of 60 responses in a mean of 30.5 ms, 20 were late; 3 of the others were errors.
    let expected = [37.0, 30.0, 0.12, 308.33, 16.67, 10.17];
    assert_eq!(figures.map(|label| figure(&text, label)), expected);
    // A number of requests is awaited.
    let text = report(&command("-c 3 -r 20 http://127.0.0.1:1/"), &late).stderr;
    let expected = [57.0, 50.0, 0.24, 237.5, 12.5, 7.63];
    assert_eq!(figures.map(|label| figure(&text, label)), expected);
}

#[test]
fn times_without_those_of_errors_keep_their_mean() {
    let mut run = run();
    let mut histogram = Histogram::new();
    (0..50).for_each(|_| histogram.record(30_000_000));
    run.total.service_time_ns = Some(Times::from_histogram(&histogram));
    let text = report(&command("-c 3 -r 20 http://127.0.0.1:1/"), &run).stderr;
    assert_eq!(["Response time", "Concurrency"].map(|label| figure(&text, label)), [0.03, 15.0]);
    assert!(text.contains("paceline: the times leave out 10 responses with an error status"), "{text}");
}

#[test]
fn failures_are_those_of_siege() {
    let mut run = run();
    run.total.status = [("200", 50), ("408", 4), ("500", 3), ("509", 2), ("511", 1)]
        .map(|(status, count)| (status.to_owned(), count))
        .into();
    let text = report(&command("-c 3 -r 20 http://127.0.0.1:1/"), &run).stderr;
    assert_eq!(["Transactions:", "Failed"].map(|label| figure(&text, label)), [51.0, 12.0]);
}
