//! Tests rounds with a real PostgreSQL that fails under load, is used behind a balancer, or lacks connections.
//!
//! Skipped if PostgreSQL or Python is not installed; the test of a full disk also if the tests may not mount one.
//! Database failures before any load are tested in the lab crate.

use super::balanced::write_balancer;
use super::tree::{Ran, Tree};
use paceline_record::{ProcessRole, Route, Trial};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

const MANIFEST: &str = "name = \"asking\"\nlanguage = \"Python\"\nframework = \"none\"\nengine = \"none\"\nkind = \"platform\"\n\
     tags = [\"idiomatic\"]\nworkloads = [\"db\", \"updates\"]\ndatabases = [\"postgresql\"]\nneeds = [\"python3\"]\n\
     version = \"echo 1\"\n[run]\ncommand = \"exec python3 server.py\"\nstart_timeout_s = 60\n[forms.single]\n[traits]\n\
     head = false\n";

/// A case with this path that reads one row, and one that updates a row.
fn workload(path: &str, form: &str, work: &str) -> String {
    format!(
        "about = \"One row.\"\n[[case]]\npath = \"{path}\"\n[case.expect]\nstatus = 200\n\
         content_type = \"application/json\"\njson_form = '{form}'\n[case.database]\nselects = 1\nrows_read = 1\n{work}"
    )
}

/// A tree with the test server, which has this fault, and PostgreSQL; none if a program is missing.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn tree(fault: &str, full: &Path) -> Option<Tree> {
    let found = "ls /usr/lib/postgresql/*/bin/initdb && python3 --version && psql --version";
    let found = Command::new("sh").args(["-c", found]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !found.is_ok_and(|status| status.success()) {
        eprintln!(
            "skipped: PostgreSQL or Python is not installed (Debian: apt-get install postgresql python3)"
        );
        return None;
    }
    let tree = Tree::new();
    let write = |path: &str, text: &str| tree.write(path, text);
    let script = include_str!("asking.py").replace("FAULT = \"none\"", &format!("FAULT = \"{fault}\""));
    write("servers/python-asking/server.toml", MANIFEST);
    write("servers/python-asking/server.py", &script.replace("@FULL@", &full.display().to_string()));
    let row = "{\"id\": \"1..10000\", \"randomNumber\": \"1..10000\"}";
    write("workloads/db.toml", &workload("/db", row, ""));
    write(
        "workloads/updates.toml",
        &workload("/updates?queries=1", &format!("[1, {row}]"), "rows_updated = 1\n"),
    );
    let manifest = include_str!("../../../../../databases/postgresql/database.toml");
    write("databases/postgresql/database.toml", manifest);
    Some(tree)
}

fn round(workload: &str, duration: &str) -> Vec<String> {
    let words = ["round", "--workloads", workload, "--database", "postgresql", "--connections", "4"];
    let load = ["--duration", duration, "--warmup", "50ms", "--repeats", "1"];
    words.iter().chain(&load).map(|word| (*word).to_owned()).collect()
}

/// Runs a round of one cell and checks that no folder or process of its database remains. A trial spoiled by the
/// machine is retried: the last one counts.
fn last_trial(tree: &Tree, arguments: &[String]) -> (Ran, Trial) {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ran = tree.run(&arguments);
    let (_, trials) = tree.kept();
    trials.iter().for_each(assert_nothing_left);
    (ran, trials.last().unwrap().clone())
}

/// Database folders are named after their launch.
fn assert_nothing_left(trial: &Trial) {
    let all = fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let of_databases =
        all.filter(|entry| entry.file_name().to_string_lossy().starts_with("paceline-databases-"));
    let folders = of_databases.filter_map(|entry| fs::read_dir(entry.path()).ok()).flatten().flatten();
    let left: Vec<_> =
        folders.filter(|entry| entry.file_name().to_string_lossy().contains(&trial.launch)).collect();
    assert!(left.is_empty(), "{left:?}");
    let of_launch = |entry: fs::DirEntry| {
        let words = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        (words.contains("paceline-databases-") && words.contains(&trial.launch)).then_some(words)
    };
    let running: Vec<String> = fs::read_dir("/proc").unwrap().flatten().filter_map(of_launch).collect();
    assert!(running.is_empty(), "{running:?}");
}

#[test]
fn a_database_killed_under_load_is_a_fault_with_the_recovery_of_the_server() {
    let Some(tree) = tree("kill", Path::new("/")) else { return };
    let (ran, trial) = last_trial(&tree, &round("db", "5s"));
    let fault = trial.error.unwrap();
    assert!(fault.message.starts_with("the database ended with"), "{fault:?} {ran:?}");
    assert!(fault.message.contains("; after a restart of the database, "), "{fault:?}");
    let recovery = trial.database.unwrap().recovery.unwrap();
    assert!(recovery.answered_after_s.is_some(), "{recovery:?}");
    assert_eq!(ran.code, Some(1), "{ran:?}");
}

#[test]
fn a_pool_without_a_free_connection_is_a_row_with_its_failures() {
    let Some(tree) = tree("busy", Path::new("/")) else { return };
    let (_, trial) = last_trial(&tree, &round("db", "1s"));
    assert_eq!(trial.error, None);
    let run = trial.run.unwrap();
    let counts = run.total.counts;
    assert!(counts.bad_status > 0 && counts.ok > 0, "{counts:?}");
    assert_eq!(run.total.status.get("500"), Some(&counts.bad_status), "{:?}", run.total.status);
    // Successful responses ran their statements: the failed ones need none.
    assert!(trial.verdicts.iter().all(|verdict| verdict.name != "queries_not_run"), "{:?}", trial.verdicts);
}

#[test]
fn a_disk_that_is_full_under_the_database_is_in_its_row() {
    let may_mount =
        Command::new("unshare").args(["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).output();
    if !may_mount.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no file system can be mounted here (root and unshare are needed)");
        return;
    }
    let disk = tempfile::tempdir().unwrap();
    fs::set_permissions(disk.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let Some(tree) = tree("full", disk.path()) else { return };
    // In a mount namespace: the disk disappears with the last process in it.
    let arguments = round("updates", "3s");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let round = tree.paceline(&arguments);
    let mut inside = Command::new("unshare");
    let mount = "mount -t tmpfs -o size=300m,mode=1777 tmpfs \"$TMPDIR\" && exec \"$@\"";
    inside.args(["--mount", "sh", "-c", mount, "sh"]).arg(round.get_program()).args(round.get_args());
    for (name, value) in round.get_envs() {
        match value {
            Some(value) => inside.env(name, value),
            None => inside.env_remove(name),
        };
    }
    let ran =
        Ran::from_output(inside.current_dir(tree.path("")).env("TMPDIR", disk.path()).output().unwrap());
    let (_, trials) = tree.kept();
    let trial = trials.last().unwrap();
    assert!(trial.log_tail.contains("No space left on device"), "{trial:?}");
    // Requests failed, or PostgreSQL as a whole did.
    let failed = trial.run.as_ref().map_or(0, |run| run.total.counts.bad_status);
    assert!(failed > 0 || trial.error.is_some(), "{ran:?}");
    assert_nothing_left(trial);
}

#[test]
fn instances_behind_a_balancer_share_a_database_that_the_plan_pins() {
    let Some(tree) = tree("none", Path::new("/")) else { return };
    write_balancer(&tree);
    let plan = "name = \"lb\"\nrepeats = 1\nworkloads = [\"db\"]\ninstances = 2\nbalancer = \"fake\"\n\
                databases = [\"postgresql\"]\npool = [8]\npin = { database = \"generator\" }\n\
                [[load]]\nname = \"c4\"\nconnections = 4\nduration = \"1s\"\nwarmup = \"50ms\"\n";
    tree.write("plans/lb.toml", plan);
    let ran = tree.run(&["round", "lb"]);
    let (_, trials) = tree.kept();
    let last = |load: &str| trials.iter().rfind(|trial| trial.load.name == load).unwrap();
    let (direct, balanced) = (last("c4-postgresql"), last("c4-balanced-postgresql"));
    assert_eq!((&direct.error, &balanced.error), (&None, &None), "{ran:?}");
    for (trial, route) in [(direct, Route::Direct), (balanced, Route::Balanced)] {
        assert_eq!(trial.load.balanced.as_ref().unwrap().route, route);
        assert_eq!(trial.pinning.database, trial.pinning.generator);
        let used = trial.database.as_ref().unwrap();
        assert!(used.counted.unwrap().selects >= used.responses, "{used:?}");
        let roles: Vec<ProcessRole> =
            trial.balancing.as_ref().unwrap().processes.iter().map(|process| process.role).collect();
        assert!(!roles.contains(&ProcessRole::Database), "{roles:?}");
        assert_nothing_left(trial);
    }
}
