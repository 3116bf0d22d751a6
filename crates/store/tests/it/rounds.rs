//! Rounds: put, replaced, found by the prefix of an id.
//!
//! The trials of a round are in `trials.rs`; a round that cannot be read any more is in `opening.rs`. The binary
//! decides which round is resumed: the store only finds it.

use crate::any_trial::{round, some_trial, without_nul};
use paceline_record::Trial;
use paceline_store::{Store, StoreError};

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("results.sqlite")).unwrap();
    (folder, store)
}

#[test]
fn a_round_is_returned_and_replaced() {
    let (_folder, store) = store();
    let mut round = round("r1", "2026-11-21T01:00:00.000Z");
    store.put_round(&round).unwrap();
    assert_eq!(store.round("r1").unwrap().as_ref(), Some(&round));
    round.finished_at = Some("2026-11-21T02:00:00.000Z".to_owned());
    store.put_round(&round).unwrap();
    assert_eq!(store.rounds().unwrap(), [round]);
    assert_eq!(store.round("r2").unwrap(), None);
}

#[test]
fn the_newest_come_first_and_the_unfinished_can_be_found() {
    let (_folder, store) = store();
    assert_eq!((store.newest().unwrap(), store.newest_unfinished().unwrap()), (None, None));
    for (id, at) in [
        ("b", "2026-11-21T02:00:00.000Z"),
        ("c", "2026-11-21T03:00:00.000Z"),
        ("a", "2026-11-21T01:00:00.000Z"),
    ] {
        let mut round = round(id, at);
        round.finished_at = (id == "c").then(|| at.to_owned());
        store.put_round(&round).unwrap();
    }
    let ids: Vec<String> = store.rounds().unwrap().into_iter().map(|round| round.id).collect();
    assert_eq!(ids, ["c", "b", "a"]);
    assert_eq!(store.newest().unwrap().unwrap().id, "c");
    assert_eq!(store.newest_unfinished().unwrap().unwrap().id, "b");
}

#[test]
fn a_round_is_found_by_the_beginning_of_its_id() {
    let (_folder, store) = store();
    for id in ["2026-1", "2026-12", "2027%_"] {
        store.put_round(&round(id, "2026-11-21T01:00:00.000Z")).unwrap();
    }
    assert_eq!(store.find_round("2027").unwrap().id, "2027%_");
    assert_eq!(store.find_round("2026-1").unwrap().id, "2026-1", "a whole id means itself");
    assert!(matches!(store.find_round("%"), Err(StoreError::NotFound { .. })));
    let Err(StoreError::Ambiguous { candidates, .. }) = store.find_round("2026") else {
        panic!("not ambiguous")
    };
    assert_eq!(candidates.len(), 2);
}

/// A round `id` whose trials have this log, stored whole.
fn import(store: &Store, id: &str, trials: &[&str], log: &str, replace: bool) -> Result<(), StoreError> {
    let of_round = |trial: &&str| Trial { log_tail: log.to_owned(), ..without_nul(&some_trial(id, trial)) };
    let trials: Vec<Trial> = trials.iter().map(of_round).collect();
    store.put_whole(&round(id, "2026-11-21T01:00:00.000Z"), &trials, replace)
}

/// The ids and logs of a round's trials.
fn logs(store: &Store, id: &str) -> Vec<(String, String)> {
    let mut logs: Vec<_> =
        store.trials(id).unwrap().into_iter().map(|trial| (trial.id, trial.log_tail)).collect();
    logs.sort();
    logs
}

/// A round is replaced whole or not at all, in either database.
pub fn is_replaced_whole_or_not_at_all(store: &Store) {
    let stored = |log: &str, trials: &[&str]| {
        trials.iter().map(|trial| ((*trial).to_owned(), log.to_owned())).collect::<Vec<_>>()
    };
    import(store, "whole", &["w1", "w2"], "old", false).unwrap();
    import(store, "other", &["o1"], "old", false).unwrap();
    let refused = import(store, "whole", &["w1"], "new", false);
    assert!(matches!(refused, Err(StoreError::AlreadyStored { .. })), "{refused:?}");
    // The second trial cannot be stored: it would be taken from the other round.
    let refused = import(store, "whole", &["w1", "o1"], "new", true);
    assert!(
        matches!(&refused, Err(StoreError::TrialOfOtherRound { trial, .. }) if trial == "o1"),
        "{refused:?}"
    );
    assert_eq!(logs(store, "whole"), stored("old", &["w1", "w2"]));
    assert_eq!(logs(store, "other"), stored("old", &["o1"]));
    import(store, "whole", &["w1", "w3"], "new", true).unwrap();
    assert_eq!(logs(store, "whole"), stored("new", &["w1", "w3"]));
}

#[test]
fn a_round_is_replaced_whole_or_not_at_all() {
    let (_folder, store) = store();
    is_replaced_whole_or_not_at_all(&store);
}

#[test]
fn a_full_disk_does_not_lose_the_round_that_was_to_be_replaced() {
    let (_folder, store) = store();
    import(&store, "r", &["t1"], "old", false).unwrap();
    store.limit_pages(60).unwrap();
    let error = import(&store, "r", &["t1"], &"x".repeat(1_000_000), true).unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert_eq!(logs(&store, "r"), [("t1".to_owned(), "old".to_owned())]);
}
