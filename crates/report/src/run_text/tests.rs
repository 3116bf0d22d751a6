//! Tests the exact text of single quantities and figures of evidence, with their units.
//!
//! `tests/it/run_text.rs` compares whole texts of stored runs with golden files.

use super::lines::Style;
use super::quantity::{TimeUnit, bytes, count, counted, evidence, nanos, seconds};
use super::{RunTextOptions, run_markdown, run_text};
use paceline_record::{EarlyData, PackageEnergy, Run, Times, Tls};
use paceline_stats::Histogram;
use serde_json::json;

#[test]
fn quantities() {
    for (value, text) in [
        (0.0, "0 ns"),
        (999.4, "999 ns"),
        (1_000.0, "1.00 \u{b5}s"),
        (87_430.0, "87.4 \u{b5}s"),
        (999_600.0, "1.00 ms"),
        (1_234_000.0, "1.23 ms"),
        (8.2e9, "8.20 s"),
        (120e9, "120 s"),
    ] {
        assert_eq!(nanos(value).replace('\u{a0}', " "), text);
    }
    assert_eq!(
        (seconds(10.0), seconds(0.5), seconds(2.5)),
        ("10\u{a0}s".into(), "500\u{a0}ms".into(), "2.50\u{a0}s".into())
    );
    for (value, text) in [
        (0.0, "0"),
        (0.01, "0.01"),
        (0.5, "0.5"),
        (0.9999, "0.9999"),
        (999.0, "999"),
        (1_000.0, "1,000"),
        (1_234_567.8, "1,234,568"),
    ] {
        assert_eq!(count(value), text);
    }
    for (value, text) in [(0.0, "0 sends"), (1.0, "1 send"), (2_000.0, "2,000 sends")] {
        assert_eq!(counted(value, "send"), text);
    }
    assert_eq!((bytes(12_600_000), bytes(999)), ("12.6\u{a0}MB".into(), "999\u{a0}B".into()));
}

#[test]
fn bytes_of_the_drain_are_not_received_in_the_window() {
    let mut run = paceline_record::fixture::run(0);
    (run.window_s, run.total.counts.ok, run.total.completed_in_window) = (2.0, 400_000, 160_000);
    run.total.bytes.received = 400_000 * 129;
    assert!((super::received_per_s(&run) - 80_000.0 * 129.0).abs() < 1.0);
    run.total.counts.ok = 0;
    assert!((super::received_per_s(&run) - 200_000.0 * 129.0).abs() < 1.0, "only failures: all there is");
}

#[test]
fn a_record_with_any_numbers_can_be_shown() {
    let mut run = paceline_record::fixture::run(0);
    run.phases.warmup = paceline_record::Span { start_ns: u64::MAX, end_ns: 0 };
    run.loop_.without_keep_alive = true;
    run.target.tls = Some(Tls { full: u64::MAX, resumed: u64::MAX, ..Tls::default() });
    let options = RunTextOptions { colour: false, width: 100, full: true, time_unit: None };
    let text = run_text(&run, options).to_string();
    assert!(!text.contains("of warm-up") && text.contains("TLS handshakes/s, 100% resumed"), "{text}");
}

#[test]
fn times_have_one_unit_if_asked() {
    for (unit, text) in [
        (TimeUnit::Microseconds, "1234567.9 \u{b5}s"),
        (TimeUnit::Milliseconds, "1234.568 ms"),
        (TimeUnit::Seconds, "1.234568 s"),
    ] {
        let style = Style::new(false, 80).with_unit(Some(unit));
        assert_eq!(style.time(1_234_567_890.0).replace('\u{a0}', " "), text);
    }
}

#[test]
fn evidence_is_formatted_by_its_unit() {
    for (key, value, text) in [
        ("generator_lag_ns_p99", json!(120_000), "generator lag p99 120 \u{b5}s"),
        ("offered_per_s", json!(30_000.0), "offered 30,000/s"),
        ("outstanding_growth_per_s_high", json!(500.931), "outstanding growth high 501/s"),
        ("generator_utilization", json!(0.956), "generator utilization 95.6%"),
        ("longest_s", json!(0.926), "longest 926 ms"),
        ("change", json!(-0.25), "change -25.0%"),
        ("variation_share", json!(0.672), "varied by 67.2%"),
        ("had", json!(60), "had 60"),
        ("commonest_failure", json!("refused"), "commonest failure: refused"),
        ("status", json!({"302": 8_410, "503": 1}), "status 302: 8,410, 503: 1"),
    ] {
        assert_eq!(evidence(key, &value).replace('\u{a0}', " "), text);
    }
}

#[test]
fn energy_is_in_the_full_text_and_in_markdown_and_is_not_that_of_the_server_alone() {
    let mut run = paceline_record::fixture::run(0);
    let shown = |run: &Run| {
        let options = |full| RunTextOptions { colour: false, width: 200, full, time_unit: None };
        let [short, full] = [false, true].map(|full| run_text(run, options(full)).to_string());
        [short, full, run_markdown(run, None).to_string()].map(|text| text.replace('\u{a0}', " "))
    };
    assert!(shown(&run).iter().all(|text| !text.contains("energy")));
    run.energy =
        Some(PackageEnergy { over_s: 3.0, packages: 2, joules: 96.0, joules_per_request: 0.000_214 });
    let [short, full, markdown] = shown(&run);
    assert!(!short.contains("energy"), "{short}");
    for part in ["214 \u{b5}J per request, 32 W: 2 CPU packages", "the load generator too"] {
        assert!(full.contains(part), "{full}");
    }
    assert!(markdown.contains("| energy of the CPU packages per request | 214 \u{b5}J |\n"), "{markdown}");
}

#[test]
fn a_rare_percentile_is_shown_from_3700_requests() {
    let mut run = paceline_record::fixture::run(0);
    for (count, is_shown) in [(3_699, false), (3_700, true)] {
        run.total.response_time_ns.as_mut().unwrap().count = count;
        let options = RunTextOptions { colour: false, width: 100, full: false, time_unit: None };
        let text = run_text(&run, options).to_string();
        let markdown = run_markdown(&run, None).to_string();
        assert_eq!([&text, &markdown].map(|shown| shown.contains("p99.9")), [is_shown; 2], "{text}");
        assert!(text.contains(" p99 ") && markdown.contains("p99 |"), "{text}");
    }
}

#[test]
fn handshakes_are_shown_first_where_connections_are_not_kept() {
    let mut run = paceline_record::fixture::run(0);
    let mut handshakes = Histogram::new();
    handshakes.record_n(900_000, 12_000);
    (run.window_s, run.total.handshake_time_ns) = (10.0, Some(Times::from_histogram(&handshakes)));
    run.target.tls = Some(Tls {
        version: Some("1.3".to_owned()),
        cipher: Some("TLS_AES_128_GCM_SHA256".to_owned()),
        resumed: 11_970,
        full: 30,
        ..Tls::default()
    });
    let shown = |run: &Run| {
        let options = RunTextOptions { colour: false, width: 200, full: false, time_unit: None };
        run_text(run, options).to_string().replace('\u{a0}', " ")
    };
    let line = "\n  1,200 TLS handshakes/s, 99.75% resumed, TLS 1.3, TLS_AES_128_GCM_SHA256\n";
    assert!(!shown(&run).contains("TLS handshakes/s"));
    run.loop_.without_keep_alive = true;
    assert!(shown(&run).contains(line), "{}", shown(&run));
    run.target.tls =
        run.target.tls.map(|tls| Tls { early_data: Some(EarlyData { sent: 7, accepted: 6 }), ..tls });
    assert!(shown(&run).contains("early data on 7 connections, 6 accepted"), "{}", shown(&run));
}

#[test]
fn an_overloaded_run_has_no_confidence_intervals() {
    let mut run = paceline_record::fixture::run(0);
    let mut second = Histogram::new();
    second.record_n(5_000_000, 1_000);
    run.intervals.iter_mut().for_each(|interval| {
        interval.block.response_time_ns = Some(Times::from_histogram(&second));
    });
    let mut whole = Histogram::new();
    whole.record_n(5_000_000, 1_000 * run.intervals.len() as u64);
    run.total.response_time_ns = Some(Times::from_histogram(&whole));
    let shown = |run: &Run| {
        let options = RunTextOptions { colour: false, width: 100, full: false, time_unit: None };
        run_text(run, options).to_string().contains("95 % confidence intervals")
    };
    assert!(shown(&run));
    let saturated =
        json!({"name": "saturated", "severity": "caution", "blame": "server", "evidence": {}, "remedy": ""});
    run.verdicts = vec![serde_json::from_value(saturated).unwrap()];
    assert!(!shown(&run));
}

#[test]
fn a_number_of_connections_that_changes_is_shown_by_step() {
    let mut run = paceline_record::fixture::run(0);
    run.loop_.kind = paceline_record::LoopKind::Closed;
    (run.loop_.offered_per_s, run.rate_per_s.offered) = (None, None);
    let part = |number: u32, length_s: u32| json!({"from": number, "to": number, "length_s": length_s});
    let plan = json!({"kind": "parts", "parts": [part(10, 3), part(50, 7)]});
    run.loop_.connection_plan = serde_json::from_value(plan).unwrap();
    let segment = |[from_s, to_s]: [u64; 2], connections: f64, completed: u64| paceline_record::Segment {
        start_ns: run.phases.window.start_ns + from_s * 1_000_000_000,
        end_ns: run.phases.window.start_ns + to_s * 1_000_000_000,
        offered_per_s: 0.0,
        connections: Some(connections),
        completed_in_segment: completed,
        block: run.total.clone(),
    };
    run.by_segment = Some(vec![segment([0, 3], 10.0, 3_600), segment([3, 10], 50.0, 28_000)]);
    let options = RunTextOptions { colour: false, width: 100, full: false, time_unit: None };
    let text = run_text(&run, options).to_string().replace('\u{a0}', " ");
    for expected in [
        "closed loop, connections 10 for 3 s, 50 for 7 s,",
        "on average; most with 50 connections: 4,000/s",
        "connections  achieved/s",
    ] {
        assert!(text.contains(expected), "{expected} is not in\n{text}");
    }
    let row = |from: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(from));
        line.map(|line| line.split_whitespace().skip(2).take(2).collect::<Vec<_>>().join(" "))
    };
    assert_eq!([row("0 s "), row("3 s ")], ["10 1,200", "50 4,000"].map(|cells| Some(cells.to_owned())));
}
