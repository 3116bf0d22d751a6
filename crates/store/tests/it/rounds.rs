//! Rounds: put, replaced, found by the prefix of an id.
//!
//! The trials of a round are in `trials.rs`; a round that cannot be read any more is in `opening.rs`. The binary
//! decides which round is resumed: the store only finds it.

use crate::any_trial::round;
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
