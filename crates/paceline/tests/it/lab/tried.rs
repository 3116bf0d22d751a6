//! Tests `lab try`: a server outside the tree, from its folder to a page and a badge.

use super::tree::{GOOD, Tree};
use std::collections::BTreeSet;
use std::fs;

const PLAN: &str = "name = \"try\"\nrepeats = 1\nworkloads = [\"hello\"]\n[select]\n\
                    servers = [\"python-other\"]\n[[load]]\nname = \"closed-4\"\nconnections = 4\n\
                    duration = \"400ms\"\nwarmup = \"50ms\"\n";

/// A tree with one server, and another server outside of the tree's folder of servers.
fn tree() -> Tree {
    let tree = Tree::new().with_server("python-other", GOOD, 60).with_server("python-mine", GOOD, 60);
    tree.write("plans/try.toml", PLAN);
    fs::create_dir(tree.path("own")).unwrap();
    fs::rename(tree.path("servers/python-mine"), tree.path("own/python-mine")).unwrap();
    tree
}

#[test]
fn a_server_in_any_folder_is_checked_and_measured_beside_others_and_its_copy() {
    let tree = tree();
    let ran = tree.run(&["lab", "try", "own/python-mine"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("\npython-mine, hello: "), "{ran:?}");
    let badge = fs::read_to_string(tree.path("python-mine.svg")).unwrap();
    assert!(badge.starts_with("<svg") && badge.contains("/s"), "{badge}");
    assert!(fs::metadata(tree.path("python-mine.html")).unwrap().len() > badge.len() as u64);
    let (_round, trials) = tree.kept();
    let ids: BTreeSet<&str> = trials.iter().map(|trial| trial.server.id.as_str()).collect();
    assert_eq!(ids, ["python-mine", "python-mine-copy", "python-other"].into());
}

#[test]
fn a_server_brings_its_own_workload() {
    let tree = tree();
    let hello = fs::read_to_string(tree.path("workloads/hello.toml")).unwrap();
    tree.write("own/python-mine/workloads/greeting.toml", &hello);
    let manifest = tree.path("own/python-mine/server.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("[\"hello\"]", "[\"greeting\"]")).unwrap();
    let ran = tree.run(&["lab", "try", "own/python-mine", "-o", "shared.html"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("python-other is left out: it does not have the workload `greeting`"),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("\npython-mine, greeting: "), "{ran:?}");
    assert!(tree.path("shared.html").is_file() && tree.path("shared.svg").is_file());
}

#[test]
fn a_server_that_fails_a_check_is_not_measured() {
    let tree = tree();
    let manifest = tree.path("own/python-mine/server.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("pipelining = true", "pipelining = false")).unwrap();
    let ran = tree.run(&["lab", "try", "own/python-mine"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("python-mine is not measured, because a check failed"), "{ran:?}");
    assert!(!tree.path("python-mine.html").exists() && !tree.path("state/results.sqlite").exists());
    for (arguments, code, reported) in [
        (&["own"][..], 2, "own has no server.toml"),
        (&["own/python-mine", "--against", "python-oter"], 2, "did you mean `python-other`?"),
        (&["own/python-mine", "--workload", "json"], 2, "its workloads: hello"),
        (&["own/python-mine", "-o", "mine.svg"], 2, "mine.svg is the place of the badge"),
    ] {
        let ran = tree.run(&[&["lab", "try"], arguments].concat());
        assert!(ran.code == Some(code) && ran.stderr.contains(reported), "{ran:?}");
    }
}

#[test]
fn a_server_of_the_plan_that_cannot_be_read_is_left_out() {
    let tree = tree();
    // The first page of a process is not mapped: reading it fails, also for root.
    std::os::unix::fs::symlink("/proc/self/mem", tree.path("servers/python-other/data")).unwrap();
    let asked = tree.run(&["lab", "try", "own/python-mine", "--against", "python-other"]);
    assert!(asked.code == Some(3) && asked.stderr.contains("os error 5"), "{asked:?}");
    let ran = tree.run(&["lab", "try", "own/python-mine"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("python-other is left out: cannot read "), "{ran:?}");
    let (_round, trials) = tree.kept();
    let ids: BTreeSet<&str> = trials.iter().map(|trial| trial.server.id.as_str()).collect();
    assert_eq!(ids, ["python-mine", "python-mine-copy"].into());
}

#[test]
fn a_container_that_cannot_be_built_is_not_sent_to_a_command_that_does_not_know_it() {
    let tree = tree();
    let manifest = "name = \"image\"\nlanguage = \"Python\"\nframework = \"none\"\nengine = \"none\"\n\
                    kind = \"platform\"\ntags = [\"idiomatic\"]\nworkloads = [\"hello\"]\nport = 8080\n\
                    [container]\ndockerfile = \"Dockerfile\"\n[run]\nstart_timeout_s = 5\n";
    tree.write("own/python-image/server.toml", manifest);
    tree.write("own/python-image/Dockerfile", "FROM scratch\n");
    // It lacks root's rights, an engine or the consent, depending on the machine.
    let ran = tree.run(&["lab", "try", "own/python-image"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("python-image") && !ran.stderr.contains("paceline lab build"), "{ran:?}");
}
