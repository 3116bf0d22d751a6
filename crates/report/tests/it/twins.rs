//! Tests of a load beside its twin: the compared attempts, and the mark before a ratio.
//!
//! Trials are built by hand, a hundred requests per second apart. The golden files of `formats` show a pairing in a
//! whole report.

use crate::built::{self, Seen};
use crate::grouping::SEEN;
use paceline_record::{Blame, Load, Severity, Trial, Variant, VariantKind};
use paceline_report::{Options, Report};

fn twin() -> Load {
    let variant = Some(Variant { of: built::closed().name, kind: VariantKind::Close });
    Load { name: "closed-64-close".to_owned(), variant, ..built::closed() }
}

/// A trial of the first repeat on a separate launch, at this rate, with this busy share of its core.
fn trial(load: &Load, launch: &str, per_s: f64, generator: f64) -> Trial {
    let trial = built::trial("go-nethttp", load, 0, Seen { per_s, generator, ..SEEN });
    Trial {
        id: format!("{launch}-{}", load.name),
        launch: launch.to_owned(),
        started_at: format!("2026-11-21T0{launch}:00:00.000Z"),
        ..trial
    }
}

fn report(trials: &[Trial]) -> Report {
    Report::new(&built::round(), trials)
}

fn ratio(trials: &[Trial]) -> f64 {
    report(trials).pairings[0].rows[0].achieved_ratio.as_ref().unwrap().median
}

#[test]
fn attempts_on_one_launch_are_compared() {
    let first = [trial(&built::closed(), "1", 1000.0, 0.1), trial(&twin(), "1", 500.0, 0.1)];
    assert_eq!(ratio(&first), 0.5);
    // Only the twin was retried, on a machine that was twice as fast by then.
    let alone = [first.to_vec(), vec![trial(&twin(), "2", 1000.0, 0.1)]].concat();
    assert_eq!(ratio(&alone), 0.5);
    let both = [alone, vec![trial(&built::closed(), "2", 4000.0, 0.1)]].concat();
    assert_eq!(ratio(&both), 0.25, "the last launch that has both");
    let mut spoiled = both;
    let verdict = built::verdict("steal", Blame::Environment, Severity::Invalid, "Repeat it.");
    spoiled.last_mut().unwrap().verdicts.push(verdict);
    assert_eq!(ratio(&spoiled), 0.5, "the last that nothing spoiled");
}

#[test]
fn pairs_on_different_launches_are_compared_by_repeat() {
    assert_eq!(ratio(&[trial(&built::closed(), "1", 1000.0, 0.1), trial(&twin(), "2", 500.0, 0.1)]), 0.5);
}

#[test]
fn a_pair_on_two_launches_is_reported() {
    let reported = |twin_launch: &str| {
        let trials = [trial(&built::closed(), "1", 1000.0, 0.1), trial(&twin(), twin_launch, 500.0, 0.1)];
        let report = report(&trials);
        let text = report.text(Options { width: 160, colour: false, full: true });
        let line = "go-nethttp: in 1 repeat the two loads ran on different launches";
        (report.pairings[0].rows[0].pairs_of_two_launches, text.contains(line))
    };
    assert_eq!((reported("1"), reported("2")), ((0, false), (1, true)));
}

#[test]
fn direct_and_balanced_come_before_the_rankings_and_other_twins_after() {
    let variant = Some(Variant { of: built::closed().name, kind: VariantKind::Balanced });
    let balanced = Load { name: "closed-64-balanced".to_owned(), variant, ..built::closed() };
    let trials = [&built::closed(), &balanced, &twin()].map(|load| trial(load, "1", 1000.0, 0.1));
    let report = report(&trials);
    let page = report.markdown().to_string();
    let heading = |words: &str| page.lines().position(|line| line.starts_with("## ") && line.contains(words));
    let places = ["direct and balanced", "losed loop", "with and without keep-alive"].map(heading);
    assert!(places.is_sorted() && places.iter().all(Option::is_some), "{places:?} {page}");
    let text = report.text(Options { width: 160, colour: false, full: false }).to_string();
    assert_eq!(text.matches("direct and balanced").count(), 1, "{text}");
}

#[test]
fn a_first_run_is_not_compared_with_another_launch() {
    let first =
        Load { variant: Some(Variant { of: built::closed().name, kind: VariantKind::FirstRun }), ..twin() };
    let ratio = |launch: &str| {
        let trials = [trial(&first, "1", 500.0, 0.1), trial(&built::closed(), launch, 1000.0, 0.1)];
        let row = report(&trials).pairings[0].rows[0].clone();
        (row.achieved_ratio.map(|ratio| ratio.median), row.pairs_of_two_launches)
    };
    assert_eq!((ratio("1"), ratio("2")), ((Some(0.5), 0), (None, 0)));
}

#[test]
fn a_lower_bound_as_denominator_makes_the_ratio_an_upper_bound() {
    let shown = |load: f64, twin_: f64| {
        let trials = [trial(&built::closed(), "1", 1000.0, load), trial(&twin(), "1", 500.0, twin_)];
        let text = report(&trials).text(Options { width: 160, colour: false, full: true });
        let row =
            text.lines().rfind(|line| line.trim_start().starts_with("go-nethttp") && line.contains("0.5"));
        ["≥ 0.5", "≤ 0.5", "~ 0.5"].into_iter().find(|mark| row.unwrap().contains(mark))
    };
    assert_eq!(shown(0.1, 0.1), None);
    assert_eq!(shown(0.1, 0.95), Some("≥ 0.5"));
    assert_eq!(shown(0.95, 0.1), Some("≤ 0.5"));
    assert_eq!(shown(0.95, 0.95), Some("~ 0.5"));
}
