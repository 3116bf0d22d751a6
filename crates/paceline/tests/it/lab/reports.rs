//! Tests `paceline report` through the binary: a store without rounds, the list, and a stored round in every format.
//!
//! They check that the command finds, filters and writes. The layout is tested with the golden files of the report
//! crate; folders written by `--export` are read in `balanced.rs`.

use super::rounds::SHORT;
use super::tree::{GOOD, Tree};
use paceline_store::Store;
use std::fs;

#[test]
fn an_empty_store_says_how_to_fill_it() {
    let tree = Tree::new();
    let absent = tree.run(&["report"]);
    assert_eq!((absent.code, absent.stdout.as_str()), (Some(2), ""), "{absent:?}");
    fs::create_dir_all(tree.path("state")).unwrap();
    drop(Store::open(&tree.path("state/results.sqlite")).unwrap());
    for arguments in [&["report"][..], &["report", "--list"]] {
        let empty = tree.run(arguments);
        assert_eq!((empty.code, empty.stdout.as_str()), (Some(2), ""), "{empty:?}");
        assert!(
            empty.stderr.contains("no round is stored in ") && empty.stderr.contains("paceline round"),
            "{empty:?}"
        );
    }
}

#[test]
fn a_stored_round_is_listed_and_rendered_to_files() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let ran = tree.run(&[&SHORT[..], &["--repeats", "1"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (round, trials) = tree.kept();

    let list = tree.run(&["report", "--list"]);
    let line = list.stdout.lines().find(|line| line.starts_with(&round.id)).unwrap_or_default();
    // On a busy machine the trial is repeated.
    let repeats = match trials.len() - 1 {
        0 => String::new(),
        repeated => format!(", {repeated} repeated"),
    };
    let counted = format!("1 of 1 trial{repeats}, {} usable, finished", trials.len());
    assert!(line.ends_with(&counted), "{list:?}");

    let rendered = |name: &str, more: &[&str]| {
        let path = tree.path(name);
        let ran = tree.run(&[&["report", "-o", path.to_str().unwrap()], more].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
        fs::read_to_string(path).unwrap()
    };
    let text = rendered("report.txt", &[]);
    assert!(text.contains("python-good") && text.contains(&round.id), "{text}");
    let csv = rendered("report.csv", &[]);
    assert!(csv.lines().next().is_some_and(|head| head.split(',').any(|column| column == "server")), "{csv}");
    assert!(csv.lines().any(|line| line.contains("python-good")), "{csv}");
    let json: serde_json::Value = serde_json::from_str(&rendered("report", &["--format", "json"])).unwrap();
    assert_eq!(json["round"]["id"], round.id.as_str());
    assert_eq!(json["tables"][0]["rows"][0]["server"]["id"], "python-good");
}

#[test]
fn an_unknown_workload_or_load_is_reported() {
    let tree = Tree::new().with_server("python-good", "import sys\nsys.exit(7)\n", 60);
    assert_eq!(tree.run(&[&SHORT[..], &["--repeats", "1"]].concat()).code, Some(1));
    for (arguments, part) in [
        (["report", "--workload", "tetra"], "this round has: hello"),
        (["report", "--load", "nothing"], "this round has: closed-4"),
    ] {
        let ran = tree.run(&arguments);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(part), "{ran:?}");
    }
}
