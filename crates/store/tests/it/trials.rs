//! Trials: a trial is returned exactly as it was put, or rejected if that is not possible.
//!
//! Exactly means equal as records, histograms included, for random trials (`any_trial.rs`). Trials of several processes
//! on one store are in `processes.rs`, damaged ones in `opening.rs`.

use crate::any_trial::{round, some_trial, trial};
use paceline_record::Trial;
use paceline_store::{Store, StoreError};
use proptest::prelude::*;

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("results.sqlite")).unwrap();
    store.put_round(&round("r", "2026-11-21T01:00:00.000Z")).unwrap();
    (folder, store)
}

/// A trial with every histogram of its runs emptied, through its JSON.
fn emptied(trial: &Trial) -> serde_json::Value {
    fn empty(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(members) => members.iter_mut().for_each(|(key, value)| {
                if key == "histogram" && value.is_string() {
                    *value = "".into();
                } else {
                    empty(value);
                }
            }),
            serde_json::Value::Array(items) => items.iter_mut().for_each(empty),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(trial).unwrap();
    empty(&mut value);
    value
}

#[test]
fn any_trial_round_trips_exactly() {
    let (_folder, store) = store();
    let config = ProptestConfig { cases: 200, ..ProptestConfig::default() };
    proptest!(config, |(trial in trial("r".to_owned()))| {
        store.put_trial(&trial).unwrap();
        prop_assert_eq!(&store.find_trial(&trial.id).unwrap(), &trial);
        prop_assert_eq!(&store.trials("r").unwrap(), std::slice::from_ref(&trial));
        let light = store.trials_without_histograms("r").unwrap();
        prop_assert_eq!(serde_json::to_value(&light[0]).unwrap(), emptied(&trial));
        let usable = u64::from(trial.is_usable());
        prop_assert_eq!(store.tally("r").unwrap(), (1, usable));
    });
}

#[test]
fn trials_are_kept_apart_and_in_the_order_they_ran() {
    let (folder, store) = store();
    store.put_round(&round("other", "2026-11-21T02:00:00.000Z")).unwrap();
    let mut trials: Vec<Trial> = ["t3", "t1", "t2"].map(|id| some_trial("r", id)).into();
    for (trial, minute) in trials.iter_mut().zip([3, 1, 2]) {
        trial.started_at = format!("2026-11-21T01:0{minute}:00.000Z");
        store.put_trial(trial).unwrap();
    }
    store.put_trial(&some_trial("other", "t4")).unwrap();
    drop(store);
    let store = Store::open_existing(&folder.path().join("results.sqlite")).unwrap();
    trials.sort_by(|a, b| a.started_at.cmp(&b.started_at));
    assert_eq!(store.trials("r").unwrap(), trials);
    assert_eq!(store.trials("nothing").unwrap(), []);
    assert_eq!(store.find_trial("t4").unwrap(), some_trial("other", "t4"));
}

#[test]
fn a_run_without_a_good_answer_is_not_usable() {
    let (_folder, store) = store();
    let mut trial = some_trial("r", "t");
    (trial.error, trial.imported) = (None, None);
    for (ok, usable) in [(1, 1), (0, 0)] {
        trial.run.as_mut().unwrap().total.counts.ok = ok;
        store.put_trial(&trial).unwrap();
        assert_eq!(store.tally("r").unwrap(), (1, usable));
    }
}

#[test]
fn a_replaced_trial_leaves_no_data_of_the_first() {
    let (_folder, store) = store();
    let mut trial = some_trial("r", "t");
    store.put_trial(&trial).unwrap();
    trial.run = None;
    store.put_trial(&trial).unwrap();
    assert_eq!(store.trials("r").unwrap(), [trial]);
}

#[test]
fn a_trial_before_its_round_is_refused() {
    let (_folder, store) = store();
    let Err(StoreError::UnknownRound { trial, round }) = store.put_trial(&some_trial("nobody", "t")) else {
        panic!("not refused")
    };
    assert_eq!((trial.as_str(), round.as_str()), ("t", "nobody"));
}

#[test]
fn a_number_that_would_not_round_trip_is_refused() {
    let (_folder, store) = store();
    for bad in [f64::NAN, f64::INFINITY] {
        let mut trial = some_trial("r", "t");
        trial.run.as_mut().unwrap().window_s = bad;
        assert!(matches!(store.put_trial(&trial), Err(StoreError::Unstorable { .. })));
    }
    assert_eq!(store.tally("r").unwrap(), (0, 0));
}
