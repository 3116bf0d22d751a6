//! Tests gates through the binary: exit status, report and record.
//!
//! A few of them, to check that they are parsed, judged and reported. The record crate tests each demand and each
//! reason to fail; parsing is tested beside the code, in `run/gates.rs`.

use super::{ReferenceServer, Runs as _, text};
use serde_json::Value;

/// A run of a second at 2,000/s.
const RUN: [&str; 6] = ["-r", "2000", "-d", "1s", "--warmup", "100ms"];

#[test]
fn a_run_exits_0_if_it_meets_its_gates_and_1_otherwise() {
    let server = ReferenceServer::start("immediate");
    let flags = ["--slo", "response.p99<9s", "--slo", "achieved>=1%", "--max-errors", "0"];
    let output = server.output(&[&RUN[..], &flags].concat());
    let report = text(&output.stdout);
    // If the machine is too busy to keep the rate, every gate that needs it fails with that reason.
    let expected = if report.contains("OVERLOADED") || report.contains("invalid ") { 1 } else { 0 };
    assert_eq!(output.status.code(), Some(expected), "{report}");
    assert!(report.contains("response.p99<9s: "), "{report}");
    let output = server.output(&[&RUN[..], &flags, &["--slo", "service.p50<1ns"]].concat());
    let report = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{report}");
    assert!(
        report.contains("FAIL service.p50<1ns: ") && report.contains(", 0% of the requests within the limit"),
        "{report}"
    );
}

#[test]
fn each_outcome_is_in_the_record_with_its_evidence() {
    let server = ReferenceServer::start("immediate");
    let flags = ["--slo", "response.p99.99<9s", "--max-errors", "1%", "--format", "json"];
    let output = server.output(&[&RUN[..], &flags].concat());
    assert_eq!(output.status.code(), Some(1), "2,000 requests are too few for p99.99");
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let gates = record["gates"].as_array().unwrap();
    assert_eq!(gates.len(), 2);
    assert_eq!((&gates[0]["gate"], &gates[0]["passed"]), (&"response.p99.99<9s".into(), &false.into()));
    assert!(gates[0]["reasons"].as_array().unwrap().contains(&"too_few_samples".into()));
    assert_eq!(gates[0]["evidence"]["samples_needed"], 100_000);
    assert_eq!((&gates[1]["gate"], &gates[1]["evidence"]["not_ok"]), (&"errors<=1%".into(), &0.into()));
}

#[test]
fn gates_that_cannot_be_judged_are_refused_before_the_run() {
    let server = ReferenceServer::start("immediate");
    for (flags, said) in [
        (["--slo", "response.p99<10ms"], "coordinated omission"),
        (["--slo", "achieved>=99%"], "no offered rate"),
        (["--slo", "respons.p99<10ms"], "did you mean \"response\"?"),
        (["--slo", "service.p999<10ms"], "did you mean \"p99.9\"?"),
        (["--max-errors", "-1"], "a whole number of requests"),
    ] {
        let output = server.output(&flags);
        let reported = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{reported}");
        assert!(reported.contains(said), "{reported}");
    }
}
