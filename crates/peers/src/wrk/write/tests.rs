//! Reports compared with stored ones of wrk 4.1.0 and wrk2 4.0.0 by structure, and read back.

use super::*;
use crate::{PrintedReport, peer};
use paceline_record::{Block, Counts, Interval, Span, fixture};

const WRK: &str = include_str!("../../../../import/fixtures/wrk.txt");
const WRK2: &str = include_str!("../../../../import/fixtures/wrk2-rate.txt");

fn command(variant: Variant, line: &str) -> WrkCommand {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    WrkCommand::parse(variant, &words).unwrap()
}

/// Times from 1 to 1,000 ms.
fn times() -> Times {
    let mut histogram = Histogram::new();
    (1..=1000).for_each(|ms| histogram.record(ms * 1_000_000));
    Times::from_histogram(&histogram)
}

fn run() -> Run {
    let mut run = fixture::run(0);
    run.window_s = 2.0;
    run.phases.window = Span { start_ns: 0, end_ns: 2_000_000_000 };
    run.total.counts = Counts { scheduled: 1000, ok: 1000, ..Counts::default() };
    run.total.status = [("200".to_owned(), 1000)].into();
    run.total.completed_in_window = run.total.counts.ok;
    run.total.bytes.received = 20_285;
    run.total.service_time_ns = Some(times());
    run.total.response_time_ns = Some(times());
    let second = |start_ns, answers| {
        let block = Block { status: [("200".to_owned(), answers)].into(), ..Block::default() };
        Interval::new(Phase::Window, start_ns, block)
    };
    run.intervals = vec![second(0, 400), second(1_000_000_000, 600)];
    run.verdicts = Vec::new();
    run
}

/// A line with its numbers as `#`, so that labels, order, units and positions remain.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for word in line.trim_end().split(' ') {
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let unit = if matches!(unit, "us" | "ms" | "s" | "m") {
            "T"
        } else {
            unit.trim_start_matches(['K', 'M', 'k'])
        };
        shape.push_str(&if is_number { format!("#{unit} ") } else { format!("{word} ") });
    }
    shape.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn shapes(text: &str) -> Vec<String> {
    text.lines().map(shape).collect()
}

/// The columns at which the numbers of a line end.
fn ends(line: &str) -> Vec<usize> {
    let bytes = line.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    (0..bytes.len())
        .filter(|at| is_digit(*at) && !is_digit(at + 1) && bytes.get(at + 1) != Some(&b'.'))
        .collect()
}

#[test]
fn a_report_of_wrk_has_its_structure() {
    let command = command(Variant::Wrk, "-t1 -c4 -d2 --latency http://127.0.0.1:44821/hello");
    let report = report(&command, &run());
    let whole = begin(&command) + &report.stdout;
    assert_eq!(shapes(&whole), shapes(WRK));
    for (ours, theirs) in whole.lines().zip(WRK.lines()).skip(3).take(7) {
        assert_eq!(ends(ours).last(), ends(theirs).last(), "{ours:?} {theirs:?}");
    }
    assert!(whole.contains("\n    Req/Sec   500.00    141.42   600.00    100.00%\n"), "{whole}");
    assert_eq!((report.status, report.stderr.as_str()), (0, ""));
}

#[test]
fn what_is_written_is_read_back() {
    let mut run = run();
    run.total.status.insert("404".to_owned(), 38);
    run.total.counts.io_failed = 4;
    run.total.counts.timed_out = 2;
    for (variant, line) in [
        (Variant::Wrk, "-t1 -c4 -d2 --latency http://127.0.0.1:44821/hello"),
        (Variant::Wrk2, "-t1 -c4 -d2 --latency -R500 http://127.0.0.1:44821/hello"),
    ] {
        let command = command(variant, line);
        let text = begin(&command) + &report(&command, &run).stdout;
        let peer = peer(if variant == Variant::Wrk { "wrk" } else { "wrk2" }).unwrap();
        let printed = PrintedReport::from_output(&text);
        assert!((peer.is_report)(&printed), "{text}");
        let read = (peer.read)(&printed).unwrap();
        assert_eq!((read.counts.ok, read.counts.bad_status, read.counts.io_failed), (1000, 38, 4));
        assert_eq!((read.figures["late_answers"], read.connections, read.elapsed_s), (2.0, 4, Some(2.0)));
        assert_eq!(read.url, "http://127.0.0.1:44821/hello");
        for (name, ms) in [("p50", 500.0), ("p99", 990.0), ("max", 1000.0)] {
            assert!((read.times_ns[name] / 1e6 / ms - 1.0).abs() < 0.01, "{name}: {}", read.times_ns[name]);
        }
    }
}

#[test]
fn responses_after_the_window_are_not_counted() {
    let mut run = run();
    run.total.completed_in_window = 990;
    run.total.status.insert("503".to_owned(), 30);
    let errors = |start_ns, count| {
        let block = Block { status: [("503".to_owned(), count)].into(), ..Block::default() };
        Interval::new(Phase::Window, start_ns, block)
    };
    run.intervals.extend([errors(1_000_000_000, 23), errors(2_000_000_000, 7)]);
    let text = report(&command(Variant::Wrk, "-t1 -c4 -d2 http://127.0.0.1:44821/hello"), &run).stdout;
    assert!(text.contains("\n  1013 requests in 2.00s, "), "{text}");
    assert!(text.contains("\n  Non-2xx or 3xx responses: 23\n"), "{text}");
}

#[test]
fn a_spectrum_of_wrk2_has_its_structure() {
    let command = command(Variant::Wrk2, "-t1 -c4 -d2 -U -R500 http://127.0.0.1:44821/hello");
    let text = report(&command, &run()).stdout;
    let spectrum = text.lines().skip_while(|line| !line.contains("Detailed")).skip(1);
    let rows: Vec<&str> = spectrum.take_while(|line| !line.starts_with("#[")).collect();
    assert_eq!(rows[0], "       Value   Percentile   TotalCount 1/(1-Percentile)");
    assert_eq!(rows[1], "");
    assert!(rows[2].ends_with("     0.000000            1         1.00"), "{}", rows[2]);
    assert!(rows[3].contains(" 0.100000 "), "{}", rows[3]);
    assert!(rows.last().unwrap().ends_with("     1.000000         1000          inf"), "{rows:?}");
    let titles: Vec<&str> = text.lines().filter(|line| line.contains(" Distribution (")).collect();
    assert!(titles[1].contains("Uncorrected Latency"), "{titles:?}");
    let theirs = WRK2.lines().find(|line| line.contains(" Distribution (")).unwrap();
    assert_eq!(titles[0], theirs);
}

#[test]
fn a_run_without_a_response_has_wrks_words() {
    let mut run = run();
    run.total = Block::default();
    run.total.counts.connect_failed = 3;
    run.intervals.clear();
    let command = command(Variant::Wrk, "-t1 -c4 -d2 http://127.0.0.1:44821/hello");
    let text = report(&command, &run).stdout;
    assert!(text.contains("    Latency     0.00us    0.00us   0.00us    -nan%\n"), "{text}");
    assert!(
        text.contains(
            "  0 requests in 2.00s, 0.00B read\n  Socket errors: connect 3, read 0, write 0, timeout 0\n"
        ),
        "{text}"
    );
}

#[test]
fn a_pause_in_a_closed_loop_is_reported() {
    let mut run = run();
    let mut histogram = Histogram::new();
    histogram.record_n(1_000_000, 10_000);
    histogram.record(900_000_000);
    run.total.service_time_ns = Some(Times::from_histogram(&histogram));
    let command = command(Variant::Wrk, "-t1 -c4 -d2 http://127.0.0.1:44821/hello");
    assert!(report(&command, &run).stderr.starts_with("paceline: there was a pause"));
}

#[test]
fn responses_with_an_error_status_have_times() {
    let mut run = run();
    run.total.counts = Counts { scheduled: 1000, bad_status: 1000, ..Counts::default() };
    run.total.failed_time_ns = run.total.service_time_ns.take();
    let command = command(Variant::Wrk, "-t1 -c4 -d2 --latency http://127.0.0.1:44821/hello");
    assert!(report(&command, &run).stdout.contains("\n     99%  99"));
    run.total.counts.io_failed = 1;
    assert!(report(&command, &run).stdout.contains("\n     99%    0.00us\n"), "mixed with other failures");
}
