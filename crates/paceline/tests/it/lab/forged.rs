//! Tests resuming rounds from a foreign results file: no path, command or lock from it is used.
//!
//! A round is run, then changed in the store as only another program could. Notes of tuning are in `tuning.rs`.

use super::tree::{GOOD, Tree};
use paceline_record::{Round, Sitting};
use paceline_store::Store;
use std::fs;

const SHORT: [&str; 9] =
    ["round", "--servers", "python-*", "--duration", "100ms", "--warmup", "0s", "--repeats", "1"];

/// A tree with a finished round that `forge` changes and that is then marked as unfinished.
fn forged(forge: impl FnOnce(&Tree, &mut Round)) -> (Tree, Round) {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    assert_eq!(tree.run(&SHORT).code, Some(0));
    let mut round = tree.kept().0;
    round.finished_at = None;
    forge(&tree, &mut round);
    Store::open(&tree.path("state/results.sqlite")).unwrap().put_round(&round).unwrap();
    (tree, round)
}

#[test]
fn a_sitting_id_that_is_a_path_deletes_no_files() {
    let (tree, _) = forged(|tree, round| {
        fs::create_dir_all(tree.path("precious")).unwrap();
        fs::write(tree.path("precious/file"), "precious").unwrap();
        let id = tree.path("precious").display().to_string();
        round.sittings.push(Sitting { id, started_at: round.started_at.clone(), tuned: Vec::new() });
    });
    let ran = tree.run(&["round", "--resume"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("invalid id") && ran.stderr.contains("not written by Paceline"), "{ran:?}");
    assert!(tree.path("precious/file").exists());
}

#[test]
fn a_round_id_that_is_a_path_creates_no_lock() {
    let (tree, _) = forged(|_, round| round.id = "zzz/../../../escaped".to_owned());
    let ran = tree.run(&["round", "--resume"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("invalid id"), "{ran:?}");
    assert!(!tree.path("escaped.lock").exists() && !tree.path("state/escaped.lock").exists());
}

#[test]
fn a_command_from_the_store_is_run_only_when_it_is_confirmed() {
    let (tree, round) = forged(|tree, round| {
        let evil = tree.script("evil.sh", "#!/bin/sh\ntouch \"$(dirname \"$0\")/was-run\"\n");
        round.generator = Some(evil.display().to_string());
        round.planned += 1;
    });
    let ran = tree.run(&["round", "--resume", &round.id]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let command = round.generator.unwrap();
    assert!(
        ran.stderr.contains(&format!("was measured with this load generator command: {command:?}")),
        "{ran:?}"
    );
    assert!(!tree.path("was-run").exists());
    let ran = tree.run(&["round", "--resume", &round.id, "--generator", &command]);
    assert_ne!(ran.code, Some(2), "confirmed: {ran:?}");
}
