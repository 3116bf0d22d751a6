//! Tests the folder of a new server: once in a tree, it is listed, set up, built, checked, planned, measured and
//! reported without editing anything else. All commands run from another folder, with the flags that name the places.
//!
//! The test only looks for the server's name in each output; the rest is tested in `launches.rs`, `rounds.rs` and
//! `reports.rs`.

use super::tree::{GOOD, Ran, Tree};
use std::fs;

const PLAN: &str = "name = \"everything\"\nrepeats = 1\nworkloads = [\"hello\"]\n\
                    [select]\ntags = [\"idiomatic\"]\n\
                    [[load]]\nname = \"few\"\nconnections = 2\nduration = \"200ms\"\nwarmup = \"50ms\"\n";

/// Runs a command in a folder outside the tree.
fn from_elsewhere(tree: &Tree, arguments: &[&str], places: &[&str]) -> Ran {
    let elsewhere = tree.path("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    let folder = |flag: &str| tree.path(flag.trim_start_matches("--").trim_end_matches("-dir"));
    let flags: Vec<String> =
        places.iter().flat_map(|flag| [(*flag).to_owned(), folder(flag).display().to_string()]).collect();
    let mut command = tree.paceline(arguments);
    Ran::from_output(command.args(flags).current_dir(elsewhere).env_remove("PACELINE_HOME").output().unwrap())
}

#[test]
fn a_server_needs_only_a_folder() {
    let tree = Tree::new();
    fs::create_dir_all(tree.path("plans")).unwrap();
    fs::write(tree.path("plans/everything.toml"), PLAN).unwrap();
    let all = ["--servers-dir", "--workloads-dir", "--plans-dir", "--state-dir"];
    let run = |arguments: &[&str]| from_elsewhere(&tree, arguments, &all);
    assert!(!run(&["lab", "list"]).stdout.contains("python-dummy"));
    assert_eq!(run(&["round", "everything"]).code, Some(2), "there is nothing to measure");

    tree.write_server("python-dummy", GOOD, 60);
    let commands: [&[&str]; 6] = [
        &["lab", "list"],
        &["lab", "list", "--format", "json"],
        &["lab", "setup", "--all"],
        &["lab", "build", "--plan", "everything"],
        &["lab", "check", "--all", "--idle", "10ms"],
        &["round", "everything"],
    ];
    for command in commands {
        let ran = run(command);
        assert_eq!(ran.code, Some(0), "{command:?}: {ran:?}");
        assert!(ran.stdout.contains("python-dummy"), "{command:?}: {ran:?}");
    }
    for format in ["text", "markdown", "csv", "json"] {
        let ran = from_elsewhere(&tree, &["report", "--format", format], &["--state-dir"]);
        assert!(ran.code == Some(0) && ran.stdout.contains("python-dummy"), "{format}: {ran:?}");
    }
}
