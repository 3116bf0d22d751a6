//! Two stored runs as text, at the width of a terminal, at half of it, and in colours: an open loop of three steps
//! whose last is a heavy overload, and a closed loop.
//!
//! Whole texts, compared with golden files. `src/run_text/tests.rs` tests single quantities; the binary's `outputs`
//! tests that a real run prints such a text.

use crate::formats::{check, path};
use paceline_record::read_run;
use paceline_report::{RunTextOptions, run_text};

fn text(name: &str, width: usize, colour: bool, full: bool) -> String {
    let stored = std::fs::read_to_string(path(&format!("fixtures/run-{name}.json"))).unwrap();
    let options = RunTextOptions { colour, width, full, time_unit: None };
    run_text(&read_run(&stored).unwrap(), options).to_string()
}

#[test]
fn runs_at_80_and_40_columns() {
    for name in ["over", "closed"] {
        for width in [80, 40] {
            let text = text(name, width, false, false);
            check(&format!("run-{name}-{width}.txt"), &text);
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{widest:?} columns:\n{text}");
        }
    }
}

#[test]
fn the_whole_spectrum_is_printed() {
    check("run-closed-percentiles.txt", &text("closed", 80, false, true));
}

#[test]
fn colours_add_only_escape_sequences() {
    for name in ["over", "closed"] {
        let coloured = text(name, 80, true, false);
        assert!(coloured.contains("\x1b[1m"));
        let mut plain = String::new();
        for part in coloured.split('\x1b') {
            // The text after an escape begins with its parameters, up to the letter m.
            let is_sequence = part.starts_with('[');
            plain.push_str(if is_sequence { part.split_once('m').unwrap().1 } else { part });
        }
        assert_eq!(plain, text(name, 80, false, false));
    }
}

#[test]
fn a_service_time_is_a_lower_bound_from_the_timeout_on() {
    let stored = std::fs::read_to_string(path("fixtures/run-over.json")).unwrap();
    let mut run = read_run(&stored).unwrap();
    let service_of = |run: &paceline_record::Run| {
        let text = run_text(run, RunTextOptions { colour: false, width: 120, full: false, time_unit: None });
        text.as_str().lines().find(|line| line.trim_start().starts_with("service time")).unwrap().to_owned()
    };
    let service = run.total.service_time_ns.as_ref().unwrap();
    // In an open loop the lowest censored time is a response time, which a backlog makes longer than any service time.
    let (p99, lowest_ns) = (service.p99, service.max.saturating_mul(10));
    run.total.censored = Some(paceline_record::Censored { count: 5, lowest_ns });
    (run.total.counts.timed_out, run.timeout_ns) = (5, p99);
    let marks = |line: &str| line.matches('\u{2265}').count();
    assert!(marks(&service_of(&run)) >= 2, "{}", service_of(&run));
    (run.total.counts.timed_out, run.total.counts.unsent) = (0, 5);
    assert_eq!(marks(&service_of(&run)), 0, "what was never sent has no service time");
}
