//! Which trials are tried again, and which cells count as measured in the end.

use super::*;
use crate::fixture::Tree;
use crate::generator::tests::run_of;
use crate::trial::{self, Place};
use crate::{Plan, order};
use paceline_record::{Fault, Pinning, Server, Stage};

/// The launches of a plan with one cell, measured once.
fn launches() -> Vec<PlannedLaunch> {
    let plan = "name = \"one\"\nrepeats = 1\nworkloads = [\"hello\"]\n\
                [[load]]\nname = \"closed\"\nconnections = 4\nduration = \"1s\"\n";
    let cells =
        Plan::parse("one.toml", plan).unwrap().resolve(&Tree::with(&["a-one"]).catalogue()).unwrap().cells;
    order(&cells, 1, 7)
}

/// A trial of that cell with a run of so many good answers.
fn tried(launches: &[PlannedLaunch], at: &str, ok: u64) -> Trial {
    let server = Server { id: launches[0].server.id.clone(), ..Server::default() };
    let pinning = Pinning { server: vec![0], generator: vec![1], disjoint: true, ..Pinning::default() };
    let place = Place { round: "r", sitting: "s", launch: "l", block: 0, server: &server, pinning: &pinning };
    let mut trial = trial::begin(&place, &launches[0].cells[0], at.to_owned(), 0, at.to_owned());
    trial.run = Some(run_of(ok));
    trial
}

/// The trial, disturbed by what the run itself saw.
fn disturbed(mut trial: Trial, severity: Severity) -> Trial {
    let verdict = Verdict::new("generator_descheduled", Blame::Environment, severity);
    trial.run.as_mut().unwrap().verdicts.push(verdict);
    trial
}

/// How many trials are to be tried again, and how many cells have none that is usable.
fn left(launches: &[PlannedLaunch], kept: &[Trial]) -> (usize, usize) {
    let tally = Tally::of(kept);
    (tally.left(launches, Pass::Again).len(), tally.unusable(launches).len())
}

#[test]
fn what_the_environment_spoiled_is_tried_once_more_and_then_stands() {
    let launches = launches();
    let first = tried(&launches, "1", 100);
    assert_eq!(left(&launches, std::slice::from_ref(&first)), (0, 0));
    let caution = disturbed(first.clone(), Severity::Caution);
    assert_eq!(left(&launches, &[caution]), (0, 0), "a caution is no reason to try again");
    let first = disturbed(first, Severity::Invalid);
    assert_eq!(left(&launches, std::slice::from_ref(&first)), (1, 0));
    let second = disturbed(tried(&launches, "2", 100), Severity::Invalid);
    assert_eq!(left(&launches, &[first, second]), (0, 0), "the second try stands, disturbed or not");
}

#[test]
fn a_fault_that_may_pass_is_tried_once_more() {
    let launches = launches();
    let fault = |transient| Fault { stage: Stage::Start, message: "port taken".into(), transient };
    let failed = |at, transient| trial::failed(tried(&launches, at, 0), fault(transient), String::new());
    assert_eq!(left(&launches, &[failed("1", true)]), (1, 1));
    assert_eq!(left(&launches, &[failed("1", false)]), (0, 1));
    assert_eq!(left(&launches, &[failed("1", true), failed("2", true)]), (0, 1));
    assert_eq!(left(&launches, &[failed("1", true), tried(&launches, "2", 9)]), (0, 0));
}

#[test]
fn a_cell_whose_every_answer_was_wrong_is_not_usable() {
    let launches = launches();
    assert_eq!(left(&launches, &[tried(&launches, "1", 0)]), (0, 1));
    assert_eq!(left(&launches, &[tried(&launches, "1", 1)]), (0, 0));
}
