//! Tests which trials are retried, and which cells count as measured in the end.
//!
//! Trials are made from a plan's cells, with a run as from a generator and an added verdict. No store and no server:
//! `RoundAttempts` alone.

use super::*;
use crate::generator::tests::run_of;
use crate::trial::{self, TrialContext};
use paceline_catalogue::fixture::TestTree;
use paceline_catalogue::{Plan, order};
use paceline_judge::TypedVerdict;
use paceline_record::{Fault, Pinning, Server, Severity, Stage};

/// The launches of a plan with one cell, measured once.
fn launches() -> Vec<PlannedLaunch> {
    let plan = "name = \"one\"\nrepeats = 1\nworkloads = [\"hello\"]\n\
                [[load]]\nname = \"closed\"\nconnections = 4\nduration = \"1s\"\n";
    let cells = Plan::parse("one.toml", plan)
        .unwrap()
        .resolve(&TestTree::with(&["a-one"]).catalogue())
        .unwrap()
        .cells;
    order(&cells, 1, 7)
}

/// A trial of that cell with a run of this many successful requests.
fn tried(launches: &[PlannedLaunch], at: &str, ok: u64) -> Trial {
    tried_cell(launches, &launches[0].cells[0], at, ok)
}

/// A trial of any of the cells.
fn tried_cell(launches: &[PlannedLaunch], cell: &Cell, at: &str, ok: u64) -> Trial {
    let server = Server { id: launches[0].server.id.clone(), ..Server::default() };
    let pinning = Pinning { server: vec![0], generator: vec![1], disjoint: true, ..Pinning::default() };
    let place =
        TrialContext { round: "r", sitting: "s", launch: "l", block: 0, server: &server, pinning: &pinning };
    let mut trial = trial::begin(&place, cell, at.to_owned(), 0, at.to_owned());
    trial.run = Some(run_of(ok));
    trial
}

/// The trial with a verdict that the run was disturbed.
fn disturbed(mut trial: Trial, severity: Severity) -> Trial {
    let verdict = TypedVerdict::Steal { steal_share: 0.5, severity }.verdict();
    trial.run.as_mut().unwrap().verdicts.push(verdict);
    trial
}

/// How many trials are to be retried, and how many cells have no usable one.
fn left(launches: &[PlannedLaunch], kept: &[Trial]) -> (usize, usize) {
    let tally = RoundAttempts::from_trials(kept);
    (tally.left(launches, Pass::Again).len(), tally.unusable(launches, &[]).len())
}

#[test]
fn spoiled_trials_are_retried_once() {
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

/// A launch of two loads, one of which has two twins.
fn launch_with_twins() -> Vec<PlannedLaunch> {
    let plan = "name = \"twins\"\nrepeats = 1\nworkloads = [\"hello\", \"tetra/3\"]\n\
                [[load]]\nname = \"a\"\nconnections = 4\nduration = \"1s\"\ntwins = [\"http10\", \"close\"]\n\
                [[load]]\nname = \"b\"\nconnections = 4\nduration = \"1s\"\n";
    let tree = TestTree::with(&["a-one"]);
    let cells = Plan::parse("twins.toml", plan).unwrap().resolve(&tree.catalogue()).unwrap().cells;
    order(&cells, 1, 7)
}

/// The loads of `hello` to be retried in one launch when those named were spoiled; no other workload is retried.
fn again(spoiled: &[&str]) -> Vec<String> {
    let launches = launch_with_twins();
    let kept = launches[0].cells.iter().map(|cell| {
        let trial = tried_cell(&launches, cell, "1", 9);
        let is_spoiled = cell.case.address == "hello" && spoiled.contains(&cell.load.name.as_str());
        if is_spoiled { disturbed(trial, Severity::Invalid) } else { trial }
    });
    let left = RoundAttempts::from_trials(&kept.collect::<Vec<_>>()).left(&launches, Pass::Again);
    assert!(
        left.len() <= 1 && left.iter().flat_map(|launch| &launch.cells).all(|c| c.case.address == "hello")
    );
    let mut names: Vec<String> =
        left.iter().flat_map(|launch| &launch.cells).map(|cell| cell.load.name.clone()).collect();
    names.sort();
    names
}

#[test]
fn a_retry_includes_its_partners() {
    assert_eq!(again(&["b"]), ["b"]);
    assert_eq!(again(&["a-http10"]), ["a", "a-http10"]);
    assert_eq!(again(&["a"]), ["a", "a-close", "a-http10"]);
    assert_eq!(again(&["a-close", "b"]), ["a", "a-close", "b"]);
    assert_eq!(again(&[]), [] as [&str; 0]);
}

#[test]
fn a_pending_twin_includes_its_load() {
    let launches = launch_with_twins();
    let (missing, tried): (Vec<&Cell>, Vec<&Cell>) =
        launches[0].cells.iter().partition(|cell| cell.key() == "a-one single hello a-close");
    assert_eq!(missing.len(), 1);
    let kept: Vec<Trial> = tried.iter().map(|cell| tried_cell(&launches, cell, "1", 9)).collect();
    let left = RoundAttempts::from_trials(&kept).left(&launches, Pass::First);
    let mut names: Vec<&str> = left[0].cells.iter().map(|cell| cell.load.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "a-close"]);
}

/// The loads of `hello` to be retried after these tries: load, launch, whether it was spoiled.
fn left_after(tries: &[(&str, &str, bool)]) -> Vec<String> {
    let launches = launch_with_twins();
    let cell = |name: &str| {
        let is_it = |cell: &&Cell| cell.case.address == "hello" && cell.load.name == name;
        launches[0].cells.iter().find(is_it).unwrap()
    };
    let kept = tries.iter().enumerate().map(|(nth, (name, launch, is_spoiled))| {
        let trial = tried_cell(&launches, cell(name), &nth.to_string(), 9);
        let trial = Trial { launch: (*launch).to_owned(), ..trial };
        if *is_spoiled { disturbed(trial, Severity::Invalid) } else { trial }
    });
    let left = RoundAttempts::from_trials(&kept.collect::<Vec<_>>()).left(&launches, Pass::Again);
    let mut names: Vec<String> =
        left.iter().flat_map(|launch| &launch.cells).map(|cell| cell.load.name.clone()).collect();
    names.sort();
    names
}

#[test]
fn partners_separated_by_an_interruption_are_retried_together() {
    let first = [("a", "1", false), ("a-close", "1", false), ("a-http10", "1", true)];
    let after = |more: &[(&'static str, &'static str, bool)]| left_after(&[&first[..], more].concat());
    let both = ["a", "a-http10"];
    assert_eq!(after(&[]), both);
    assert_eq!(after(&[("a", "2", false)]), both);
    assert_eq!(after(&[("a-http10", "2", false)]), both, "its partner has no try of that launch");
    assert_eq!(after(&[("a-http10", "2", false), ("a", "3", false)]), both, "nor has it of this one");
    let settled: [&[_]; 3] = [
        &[("a", "2", false), ("a-http10", "2", false)],
        &[("a", "2", false), ("a-http10", "2", true)],
        &[("a", "2", false), ("a", "3", false), ("a-http10", "3", false)],
    ];
    for more in settled {
        assert_eq!(after(more), [] as [&str; 0], "{more:?}");
    }
    let apart =
        ["2", "3", "4", "5"].map(|launch| (if launch < "4" { "a" } else { "a-http10" }, launch, false));
    assert_eq!(after(&apart), [] as [&str; 0], "a server that does not outlive the first has no end");
}

#[test]
fn a_removed_cell_without_a_usable_trial_is_unusable() {
    let launches = launches();
    let gone = ["z-gone single hello closed".to_owned(), launches[0].cells[0].key()];
    let unusable = |kept: &[Trial]| RoundAttempts::from_trials(kept).unusable(&[], &gone).len();
    assert_eq!(unusable(&[]), 2);
    assert_eq!(unusable(&[tried(&launches, "1", 9)]), 1);
}

#[test]
fn a_disturbed_attempt_does_not_replace_a_sound_one() {
    let launches = launches();
    let first = tried(&launches, "1", 100);
    let second = disturbed(tried(&launches, "2", 100), Severity::Invalid);
    let tally = RoundAttempts::from_trials(&[first, second]);
    let tries: Vec<CellAttempts> = tally.tries.values().cloned().collect();
    assert!(matches!(tries[..], [CellAttempts { count: 2, spoiled: false, .. }]), "{tries:?}");
}

#[test]
fn a_transient_fault_is_retried_once() {
    let launches = launches();
    let fault = |transient| Fault { stage: Stage::Start, message: "port taken".into(), transient };
    let failed = |at, transient| trial::failed(tried(&launches, at, 0), fault(transient), String::new());
    assert_eq!(left(&launches, &[failed("1", true)]), (1, 1));
    assert_eq!(left(&launches, &[failed("1", false)]), (0, 1));
    assert_eq!(left(&launches, &[failed("1", true), failed("2", true)]), (0, 1));
    assert_eq!(left(&launches, &[failed("1", true), tried(&launches, "2", 9)]), (0, 0));
}

#[test]
fn a_cell_with_only_wrong_responses_is_not_usable() {
    let launches = launches();
    assert_eq!(left(&launches, &[tried(&launches, "1", 0)]), (0, 1));
    assert_eq!(left(&launches, &[tried(&launches, "1", 1)]), (0, 0));
}
