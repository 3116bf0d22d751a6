//! Tests the exact text of the live view.
//!
//! They check the lines at several widths, and that none is too wide. The binary's `outputs/screen.rs` tests that they
//! are drawn on a terminal, follow its size and disappear.

use super::*;

/// The seventh second of an open loop that the server does not keep up with.
fn live() -> LiveView {
    let second = serde_json::json!({
        "at": "2026-11-21T04:00:00.000Z", "start_s": 7.0, "length_s": 1.0, "phase": "window",
        "offered_per_s": 30_000.0, "sent_per_s": 12_175.0, "achieved_per_s": 12_175.0,
        "ok": 12_175, "bad_status": 0, "bad_body": 3, "connect_failed": 0, "io_failed": 0, "timed_out": 0, "unsent": 0,
        "backlog": 124_775, "server_cores_used": 0.98, "server_rss_bytes": 123_000_000,
        "response_time_ns_p50": 4_120_000_000u64, "response_time_ns_p90": 4_200_000_000u64,
        "response_time_ns_p99": 4_230_000_000u64, "response_time_ns_p99_9": 4_240_000_000u64,
        "response_time_ns_max": 4_250_000_000u64,
        "bytes_sent": 0, "bytes_received": 0
    });
    let mut times = Histogram::new();
    (1..=1_000).for_each(|time| times.record(time * 10_000));
    LiveView {
        target: "127.0.0.1:8080".to_owned(),
        phase: Some(Phase::Window),
        done: Some(0.75),
        left: Some(Duration::from_millis(3_200)),
        stopping: false,
        last: Some(serde_json::from_value(second).unwrap()),
        rates: vec![2_000.0, 6_000.0, 12_175.0, 12_000.0, 0.0],
        times_ns: vec![(1e6, 2e6), (1e6, 3e6), (2e6, 8e6), (4e6, 8e6), (0.0, 0.0)],
        histogram: times,
        errors: [("bad body", 1_200), ("timed out", 34)].into(),
    }
}

#[test]
fn at_80_columns() {
    let expected = [
        "  window  4 s left  ━━━━━━━━━━━━━━━━━━──────",
        "  12,175/s  of 30,000/s offered  server 0.98 cores, 123 MB",
        "  ▂▄██▁",
        "  response time  p50 4.12 s  p90 4.20 s  p99 4.23 s  max 4.25 s",
        "  1,234 errors  backlog 124,775  1,200 bad body  34 timed out",
    ];
    assert_eq!(live().lines(79, 8, false), expected);
}

#[test]
fn at_40_columns() {
    let expected = [
        "  window  4 s left",
        "  12,175/s  of 30,000/s offered",
        "  ▂▄██▁",
        "  response  p50 4.12 s  p99 4.23 s",
        "  1,234 errors  backlog 124,775",
    ];
    assert_eq!(live().lines(39, 50, false), expected);
}

#[test]
fn no_line_exceeds_the_requested_width() {
    let live = LiveView { rates: (1..200).map(f64::from).collect(), ..live() };
    let plain = |line: &String| {
        let mut inside = false;
        let shown = line.chars().filter(|c| {
            inside = inside || *c == '\x1b';
            let shown = !inside;
            inside = inside && *c != 'm';
            shown
        });
        shown.count()
    };
    for width in 1..120 {
        for live in [live.clone(), LiveView { phase: None, ..live.clone() }] {
            for height in [5, 16, 24, 50] {
                let lines = live.lines(width, height, true);
                let widest = lines.iter().map(plain).max();
                assert!(widest <= Some(width.max(3)), "{width}: {lines:#?}");
                assert!(lines.len() <= height, "{width} x {height}: {lines:#?}");
            }
        }
    }
}

#[test]
fn a_closed_loop_that_is_stopping_shows_service_times() {
    let mut live = LiveView { stopping: true, errors: BTreeMap::new(), ..live() };
    let second = live.last.as_mut().unwrap();
    (second.response_time_ns_p50, second.offered_per_s, second.backlog) = (None, None, None);
    (second.service_time_ns_p50, second.service_time_ns_p90) = (Some(1_000), Some(2_000));
    (second.service_time_ns_p99, second.service_time_ns_max) = (Some(3_000), Some(4_000));
    let lines = live.lines(79, 8, false);
    assert_eq!(lines[0], "  stopping  ━━━━━━━━━━━━━━━━━━──────");
    assert_eq!(lines[3], "  service time  p50 1.00 µs  p90 2.00 µs  p99 3.00 µs  max 4.00 µs");
    assert_eq!(lines[4], "  no errors");
    live.last = None;
    assert_eq!(live.lines(79, 50, false).len(), 1);
}

#[test]
fn a_tall_terminal_shows_charts() {
    let expected = [
        "  window  4 s left  ━━━━━━━━━━━━━━━━━━──────",
        "  12,175/s  of 30,000/s offered  server 0.98 cores, 123 MB",
        "  response time  p50 4.12 s  p90 4.20 s  p99 4.23 s  max 4.25 s",
        "  1,234 errors  backlog 124,775  1,200 bad body  34 timed out",
    ];
    let lines = live().lines(79, 23, false);
    assert_eq!(lines[..4], expected);
    // Eight columns for each second; the axis ends at a round number.
    let rates = [
        "  requests/s",
        "    15,000 ┤                ▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂",
        "           │                ████████████████",
        "           │        ▅▅▅▅▅▅▅▅████████████████",
        "         0 ┤▅▅▅▅▅▅▅▅████████████████████████",
    ];
    assert_eq!(lines[4..9], rates);
    // A median is a block, and the shade above it reaches to the 99th percentile.
    let times = [
        "  response time, p50 █ and p99 ░",
        "   8.00 ms ┤                ░░░░░░░░░░░░░░░░",
        "           │                ░░░░░░░░░░░░░░░░",
        "           │        ░░░░░░░░░░░░░░░░████████",
        "         0 ┤████████████████████████████████",
    ];
    assert_eq!(lines[9..14], times);
    assert!(lines[14].starts_with("           └ 5 s ago ") && lines[14].ends_with(" now"), "{}", lines[14]);
    assert!(lines[15].contains("response time: share of requests in each range"), "{}", lines[15]);
    assert_eq!(lines.len(), 21, "{}", lines.join("\n"));
    // In a higher terminal the charts are higher, and the middle of an axis is labelled.
    let higher = live().lines(79, 49, false);
    assert_eq!(higher.len(), 42, "{}", higher.join("\n"));
    let middle = "     7,500 ┤                ████████████████";
    assert!(higher.iter().any(|line| line == middle), "{}", higher.join("\n"));
}
