//! Damage: if bytes of a file change, no record is silently lost or changed.

use crate::any_trial::{round, some_trial};
use crate::opening::with_sqlite;
use paceline_store::{Store, StoreError};
use std::path::{Path, PathBuf};

/// Trials of the damaged stores.
const IDS: [&str; 3] = ["t1", "t2", "t3"];

fn damaged(statements: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.sqlite");
    let store = Store::open(&path).unwrap();
    for (id, at) in [("r", "2026-11-21T01:00:00.000Z"), ("r2", "2026-11-21T02:00:00.000Z")] {
        store.put_round(&round(id, at)).unwrap();
    }
    IDS.into_iter().for_each(|id| store.put_trial(&some_trial("r", id)).unwrap());
    drop(store);
    with_sqlite(&path, statements);
    (folder, path)
}

/// The trials that can be read, and the errors of the others.
fn read(path: &Path) -> (Vec<String>, Vec<String>) {
    let (trials, damaged) = Store::open_existing(path).unwrap().readable_whole_trials("r").unwrap();
    let reported = damaged.iter().map(ToString::to_string).collect();
    (trials.into_iter().map(|trial| trial.id).collect(), reported)
}

#[test]
fn an_unreadable_trial_does_not_hide_others() {
    let (_folder, path) = damaged("UPDATE trials SET document = '{', checksum = NULL WHERE id = 't1'");
    assert_eq!(
        read(&path),
        (vec!["t2".into(), "t3".into()], vec!["the stored trial t1 cannot be read".into()])
    );
}

#[test]
fn a_trial_that_was_changed_is_named_although_it_can_be_read() {
    let change =
        "UPDATE trials SET document = replace(document, '\"repeat\":', '\"repeat\":1') WHERE id = 't2'";
    let (_folder, path) = damaged(change);
    let (ids, reported) = read(&path);
    assert_eq!(ids, ["t1", "t3"]);
    assert_eq!(reported, ["the stored trial t2 is damaged: its checksum does not match"]);
    let store = Store::open_existing(&path).unwrap();
    assert!(matches!(store.find_trial("t2"), Err(StoreError::Altered { .. })));
    assert!(store.check().unwrap().problems.contains(&reported[0]));
}

#[test]
fn a_histogram_that_was_changed_is_named_with_its_trial() {
    let (_folder, path) = damaged("UPDATE histograms SET histogram = 'x' || histogram WHERE trial = 't3'");
    let (ids, reported) = read(&path);
    assert_eq!(ids, ["t1", "t2"]);
    assert!(
        reported[0].starts_with("the stored trial t3 is damaged: the checksum of histogram /"),
        "{reported:?}"
    );
}

#[test]
fn an_unreadable_round_does_not_hide_others() {
    let (_folder, path) = damaged("UPDATE rounds SET document = '{', checksum = NULL WHERE id = 'r'");
    let (rounds, unreadable) = Store::open_existing(&path).unwrap().readable_rounds().unwrap();
    assert_eq!(rounds.iter().map(|round| round.id.as_str()).collect::<Vec<_>>(), ["r2"]);
    let [StoreError::Record { kind: "round", id, .. }] = unreadable.as_slice() else {
        panic!("{unreadable:?}")
    };
    assert_eq!(id, "r");
}

#[test]
fn a_check_reports_its_findings() {
    // Its histograms are random bytes.
    let mut senseless = some_trial("r", "t1");
    senseless.imported = None;
    let run = senseless.run.as_mut().unwrap();
    run.total.counts.scheduled = run.total.counts.ended().saturating_sub(1);
    // A server may be moved up in a ranking by this number alone.
    (run.total.completed_in_window, run.window_s, run.rate_per_s.achieved) = (1_000, 10.0, 1_000.0);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.sqlite");
    let store = Store::open(&path).unwrap();
    store.put_round(&round("r", "2026-11-21T01:00:00.000Z")).unwrap();
    store.put_trial(&senseless).unwrap();
    with_sqlite(&path, "PRAGMA foreign_keys = OFF; UPDATE trials SET round = 'gone' WHERE id = 't1'");
    let problems = store.check().unwrap().problems;
    assert_eq!(problems, ["the record of round \"gone\" is missing, but 1 of its trials are stored"]);
    with_sqlite(&path, "UPDATE trials SET round = 'r' WHERE id = 't1'");
    let problems = store.check().unwrap().problems;
    assert!(problems.iter().all(|problem| problem.starts_with("trial t1: ")), "{problems:?}");
    let has = |what: &str| problems.iter().any(|problem| problem.contains(what));
    assert!(has("the number of outcomes") && has("a stored histogram is damaged"), "{problems:?}");
    assert!(has("rate_per_s.achieved is 1000, but 1000 responses completed in"), "{problems:?}");
}

/// Damages bytes one at a time: the store returns what was put, or reports the damage.
#[test]
fn no_flipped_byte_goes_unnoticed() {
    let (folder, path) = damaged("PRAGMA wal_checkpoint(TRUNCATE)");
    let whole = std::fs::read(&path).unwrap();
    let copy = folder.path().join("flipped.sqlite");
    let expected = IDS.map(|id| some_trial("r", id));
    // A step that is prime reaches every part of every page; testing each byte would take an hour.
    let mut noticed = 0;
    for place in (0..whole.len()).step_by(997) {
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (place % 8);
        std::fs::write(&copy, bytes).unwrap();
        let Ok(store) = Store::open_existing(&copy) else {
            noticed += 1;
            continue;
        };
        let Ok((trials, damaged)) = store.readable_whole_trials("r") else {
            noticed += 1;
            continue;
        };
        noticed += usize::from(!damaged.is_empty());
        assert_eq!(trials.len() + damaged.len(), IDS.len(), "byte {place}: {damaged:?}");
        for trial in trials {
            assert!(expected.contains(&trial), "byte {place}: trial {} was changed in silence", trial.id);
        }
    }
    assert!(noticed > 10, "only {noticed} flips were noticed: the test flips nothing");
}

#[test]
fn a_round_of_the_future_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("results.sqlite")).unwrap();
    // An imported report may have only a year.
    let rounds = [("r", "2026-11-21T01:00:00.000Z"), ("year", "2014"), ("forged", "3026-11-21T01:00:00Z")];
    for (id, at) in rounds {
        store.put_round(&round(id, at)).unwrap();
    }
    let problems = store.check().unwrap().problems;
    assert_eq!(
        problems,
        ["round forged: the time of its start, 3026-11-21T01:00:00Z, is in the future"],
        "{problems:?}"
    );
}

#[test]
fn a_column_that_differs_from_its_record_is_found() {
    let (_folder, path) = damaged(
        "UPDATE trials SET started_at = '2030-01-01T00:00:00.000Z' WHERE id = 't1';
         UPDATE trials SET ok = 1 - ok WHERE id = 't2'; UPDATE trials SET repeat = repeat + 1 WHERE id = 't3';
         UPDATE rounds SET plan = 'other' WHERE id = 'r2'",
    );
    let problems = Store::open_existing(&path).unwrap().check().unwrap().problems;
    for expected in [
        "trial t1: the column started_at differs from the record",
        "trial t2: the column ok differs from the record",
        "trial t3: the column repeat differs from the record",
        "round r2: the column plan differs from the record",
    ] {
        assert!(problems.iter().any(|problem| problem == expected), "{expected}: {problems:?}");
    }
    let columns = problems.iter().filter(|problem| problem.contains("the column"));
    assert_eq!(columns.count(), 4, "{problems:?}");
}
