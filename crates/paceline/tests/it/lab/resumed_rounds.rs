//! Tests rounds that are resumed after a change: in the tree, in the machine, or by another process that resumes them
//! too.
//!
//! No planned trial is dropped silently, and no result is attributed to the wrong machine. A round is begun with a
//! generator that never ends, and interrupted while it runs. `rounds.rs` tests that every trial is kept exactly once.

use super::survivors::kill;
use super::tree::{GOOD, Ran, Tree};
use super::witness::Witness;
use paceline_record::Round;
use paceline_store::Store;
use std::fs;
use std::process::{Child, Command, Stdio};

const SHORT: [&str; 9] =
    ["round", "--servers", "python-*", "--duration", "400ms", "--warmup", "50ms", "--connections", "4"];

const WRK: &str = "Running 1s test @ http://127.0.0.1:20000/hello\n  1 threads and 4 connections\n\
                     Latency Distribution\n     50%    4.69ms\n     75%    9.86ms\n\
                   90%   14.35ms\n     99%   15.00ms\n  738 requests in 1.00s, 374.77KB read\n\
                   Requests/sec:    736.50\nTransfer/sec:    374.00KB\n";

/// A script that never ends while `GENERATORS` names a pipe, to which it writes a byte; otherwise it does `work`.
fn endless(tree: &Tree, name: &str, work: &str) -> String {
    let held = "[ -n \"$GENERATORS\" ] && { exec 9>\"$GENERATORS\"; printf x >&9; exec sleep 100; }";
    tree.script(name, &format!("#!/bin/sh\n{work}{held}\n")).display().to_string()
}

/// Our own generator, which runs when `GENERATORS` is not set.
fn own(tree: &Tree) -> String {
    let own = format!("[ -z \"$GENERATORS\" ] && exec {} \"$@\"\n", env!("CARGO_BIN_EXE_paceline"));
    endless(tree, "endless", &own)
}

/// Begins a round and waits until it puts load on its first server.
fn begin(tree: &Tree, command: &mut Command) -> (Child, Witness) {
    let _ = fs::remove_file(tree.path("generators-witness"));
    let mut generators = Witness::new(&tree.path("generators-witness"));
    command.env("GENERATORS", tree.path("generators-witness")).stdout(Stdio::null()).stderr(Stdio::null());
    let lab = command.spawn().unwrap();
    generators.wait_signatures(1);
    (lab, generators)
}

fn interrupt((mut lab, mut generators): (Child, Witness)) {
    kill(&lab, libc::SIGINT);
    generators.wait_end();
    assert_eq!(lab.wait().unwrap().code(), Some(130));
}

/// A round that was interrupted during its first load.
fn begun(tree: &Tree, flags: &[&str], generator: &str) -> Round {
    interrupt(begin(tree, tree.paceline(flags).args(["--generator", generator])));
    tree.kept().0
}

fn put(tree: &Tree, round: &Round) {
    Store::open(&tree.path("state/results.sqlite")).unwrap().put_round(round).unwrap();
}

#[test]
fn removed_cells_are_named_and_new_ones_are_not_measured() {
    let tree = Tree::new().with_server("python-good", GOOD, 60).with_server("python-gone", GOOD, 60);
    let round = begun(&tree, &[&SHORT[..], &["--repeats", "1"]].concat(), &own(&tree));
    assert_eq!(round.planned, 2);
    fs::remove_dir_all(tree.path("servers/python-gone")).unwrap();
    tree.write_server("python-new", GOOD, 60);
    let ran = tree.run(&["round", "--resume", "--generator", &own(&tree)]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("have no usable trial:\n  python-gone single hello closed-4\n"), "{ran:?}");
    let (resumed, trials) = tree.kept();
    assert_eq!((resumed.planned, &resumed.plan_toml), (2, &round.plan_toml));
    let change = "continuing without combinations of server, workload and load that no longer exist: python-gone single hello closed-4";
    assert_eq!(resumed.changes, [change]);
    assert!(trials.iter().all(|trial| trial.server.id == "python-good"), "{trials:?}");
    assert!(ran.stdout.contains("python-good"), "{ran:?}");
}

#[test]
fn a_round_without_stored_cells_counts_them() {
    let tree = Tree::new().with_server("python-good", GOOD, 60).with_server("python-gone", GOOD, 60);
    let mut round = begun(&tree, &[&SHORT[..], &["--repeats", "1"]].concat(), &own(&tree));
    let is_other = |line: &&str| !line.starts_with("cells = ");
    round.plan_toml =
        round.plan_toml.lines().filter(is_other).map(|line| format!("{line}\n")).collect::<String>();
    put(&tree, &round);
    fs::remove_dir_all(tree.path("servers/python-gone")).unwrap();
    let ran = tree.run(&["round", "--resume", "--generator", &own(&tree)]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("\n  unknown ones (1 of 2 planned trials are not in the store)\n"),
        "{ran:?}"
    );
    assert_eq!(tree.kept().0.planned, 2);
}

#[test]
fn a_foreign_generator_s_runs_name_the_machine_that_they_ran_on() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let version = "[ \"$1\" = -v ] && { echo 'wrk 4.2.0 [epoll]'; exit 1; }\n";
    let printed = format!("[ -z \"$GENERATORS\" ] && {{ sleep 1; echo '{WRK}'; exit 0; }}\n");
    let wrk = endless(&tree, "wrk", &format!("{version}{printed}"));
    // wrk accepts only whole seconds.
    let flags = ["round", "--servers", "python-*", "--duration", "1s", "--warmup", "0s", "--repeats", "1"];
    let mut round = begun(&tree, &flags, &wrk);
    round.environment.kernel = "an older kernel".to_owned();
    put(&tree, &round);
    let ran = tree.run(&["round", "--resume", "--generator", &wrk]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (resumed, trials) = tree.kept();
    assert_eq!(resumed.environment, round.environment, "the first machine stays");
    for trial in trials {
        let kernel = trial.run.unwrap().environment.kernel;
        assert!(kernel.starts_with("Linux "), "{kernel}");
    }
}

#[test]
fn a_round_has_one_process_wherever_its_state_is() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    std::os::unix::fs::symlink(tree.path("."), tree.path("linked")).unwrap();
    let generator = own(&tree);
    let mut command = tree.paceline(&[&SHORT[..], &["--generator", &generator]].concat());
    let (lab, generators) = begin(&tree, command.env("PACELINE_STORE", tree.path("shared.sqlite")));
    let mut command = tree.paceline(&["round", "--resume", "--store", "linked/shared.sqlite"]);
    let ran = Ran::from_output(command.env("PACELINE_HOME", tree.path("other-state")).output().unwrap());
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains(&format!("is being run by process {}\n", lab.id())), "{ran:?}");
    interrupt((lab, generators));
}

/// A plan with one load and additional keys at the top.
fn plan(name: &str, more: &str, load: &str) -> String {
    format!(
        "name = \"{name}\"\nrepeats = 1\nworkloads = [\"hello\"]\n{more}\
         [[load]]\nname = \"a\"\nduration = \"400ms\"\n{load}"
    )
}

fn write_plan(tree: &Tree, name: &str, text: &str) {
    fs::create_dir_all(tree.path("plans")).unwrap();
    fs::write(tree.path(&format!("plans/{name}.toml")), text).unwrap();
}

#[test]
fn a_round_id_of_another_plan_is_a_usage_error() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    write_plan(&tree, "one", &plan("one", "", "connections = 1\n"));
    write_plan(&tree, "two", &plan("two", "", "connections = 1\n"));
    let round = begun(&tree, &["round", "one"], &own(&tree));
    let ran = tree.run(&["round", "plans/two.toml", "--resume", &round.id]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains(&format!("round {} belongs to plan one, not to two", round.id)), "{ran:?}");
    for text in ["plans/one.toml", "one"] {
        let ran = tree.run(&["round", "--resume", text]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(&format!("hint: paceline round {text} --resume ")), "{ran:?}");
    }
    let ran = tree.run(&["round", "--resume", "nothing"]);
    assert!(ran.code == Some(2) && !ran.stderr.contains("that is a plan"), "{ran:?}");
    let ran = tree.run(&["round", "one", "--resume", &round.id, "--generator", &own(&tree)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_plan_can_run_with_a_part_of_its_servers() {
    let tree = Tree::new().with_server("python-good", GOOD, 60).with_server("python-other", GOOD, 60);
    write_plan(&tree, "one", &plan("one", "", "connections = 1\n"));
    let ran = tree.run(&["round", "one", "--servers", "*-other", "--workloads", "hello", "--estimate"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for reported in [
        "different from the plan: only servers *-other\n",
        "different from the plan: only workloads hello\n",
        "plan one: 1 server, 1 combination of server, workload and load, ",
    ] {
        assert!(ran.stdout.contains(reported), "{ran:?}");
    }
    let json = ["round", "one", "--servers", "*-other", "--estimate", "--format", "json"];
    let estimate: serde_json::Value = serde_json::from_str(&tree.run(&json).stdout).unwrap();
    assert_eq!(estimate["plan"].as_str(), Some("one"), "{estimate}");
    assert_eq!(estimate["servers"].as_u64(), Some(1), "{estimate}");
    assert_eq!(estimate["changes"][0].as_str(), Some("only servers *-other"), "{estimate}");
    assert!(estimate["trials"].as_u64() >= Some(1) && estimate["expected_s"].is_u64(), "{estimate}");
    let ran = tree.run(&["round", "one", "--servers", "python-othr", "--estimate"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("python-other"), "{ran:?}");
}
