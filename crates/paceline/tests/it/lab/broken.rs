//! Tests servers that are broken on purpose: each leaves a record with the error and a row in the report, never a
//! missing one.
//!
//! All are in one round with a sound server. `lab check` of broken servers is tested in `launches.rs`, runs without the
//! lab in `faults`.

use super::tree::Tree;
use paceline_record::{Severity, Stage, Trial};
use std::fs;

/// A single-threaded server that can be set to answer wrongly, or to exit.
const BRITTLE: &str = include_str!("brittle.py");

/// Four servers, three of them broken: one never builds, one answers wrongly after some requests, one exits after a
/// thousand connections.
fn broken_tree() -> Tree {
    let wrong = BRITTLE.replace("WRONG_AFTER = None", "WRONG_AFTER = 200");
    let mortal = BRITTLE.replace("DIES_AT = None", "DIES_AT = 1000");
    let tree = Tree::new()
        .with_server("python-sound", BRITTLE, 60)
        .with_server("python-unbuilt", BRITTLE, 60)
        .with_server("python-wrong", &wrong, 60)
        .with_server("python-mortal", &mortal, 60);
    let manifest = tree.path("servers/python-unbuilt/server.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("[run]", "[build]\ncommand = \"sh build.sh\"\n[run]")).unwrap();
    let compiler = "echo 'server.c:3: uv.h: No such file or directory' >&2\nexit 2\n";
    fs::write(tree.path("servers/python-unbuilt/build.sh"), compiler).unwrap();
    tree
}

fn of<'a>(trials: &'a [Trial], server: &str) -> &'a Trial {
    trials.iter().find(|trial| trial.server.id == server).unwrap_or_else(|| panic!("no trial of {server}"))
}

fn names(trial: &Trial) -> Vec<&str> {
    let of_run = trial.run.iter().flat_map(|run| &run.verdicts);
    of_run.chain(&trial.verdicts).map(|verdict| verdict.name.as_str()).collect()
}

#[test]
fn a_broken_server_leaves_a_record_with_the_error() {
    let tree = broken_tree();
    let round = ["round", "--servers", "python-*", "--connections", "1000", "--duration", "2s"];
    let ran = tree.run(&[&round[..], &["--warmup", "0s", "--repeats", "1"]].concat());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let (_, trials) = tree.kept();

    let unbuilt = of(&trials, "python-unbuilt");
    let fault = unbuilt.error.as_ref().unwrap();
    assert_eq!(fault.stage, Stage::Build);
    assert_eq!(fault.message, "build ended with exit status 2: sh build.sh");
    assert_eq!(unbuilt.log_tail, "server.c:3: uv.h: No such file or directory");

    let wrong = of(&trials, "python-wrong");
    assert!(wrong.validation.as_ref().unwrap().checks.iter().all(|check| check.detail.is_empty()));
    let counts = wrong.run.as_ref().unwrap().total.counts;
    assert!(counts.bad_body > 0, "{counts:?}");
    let of_run = &wrong.run.as_ref().unwrap().verdicts;
    let failed = of_run.iter().find(|verdict| verdict.name == "failed_requests").unwrap();
    assert_eq!(failed.severity == Severity::Invalid, counts.not_ok_share() > 0.01, "{failed:?}");

    let mortal = of(&trials, "python-mortal");
    let fault = mortal.error.as_ref().unwrap();
    assert_eq!(fault.stage, Stage::Load);
    assert_eq!(fault.message, "the server ended with exit status 9 under load");
    assert_eq!(mortal.log_tail, "too many connections: 1000");
    assert!(names(mortal).contains(&"server_died"));

    let report = tree.run(&["report"]).stdout;
    for server in ["python-sound", "python-unbuilt", "python-wrong", "python-mortal"] {
        assert!(report.lines().any(|line| line.contains(server)), "{server}: {report}");
    }
    let reported = [
        "build ended with exit status 2",
        "last line printed: server.c:3: uv.h",
        "exit status 9 under load",
        "last line printed: too many connections",
    ];
    for reported in reported {
        assert!(report.contains(reported), "{reported}: {report}");
    }
}
