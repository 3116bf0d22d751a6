//! Several processes on one store, and a process that is killed while it writes.
//!
//! The other processes are this test program, started again with only the test that is the writer.

use crate::any_trial::{round, some_trial};
use paceline_store::Store;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Trials that a writer puts before it ends without being killed.
const TRIALS: usize = 25;

/// Not a test: the writer that the other tests start. It prints each id once the trial is stored.
#[test]
fn writer() {
    let (Ok(path), Ok(name)) = (std::env::var("WRITER_STORE"), std::env::var("WRITER_NAME")) else { return };
    let store = Store::open(Path::new(&path)).unwrap();
    store.put_round(&round("r", "2026-11-21T01:00:00.000Z")).unwrap();
    for number in 0..TRIALS {
        let id = format!("{name}-{number:04}");
        store.put_trial(&some_trial("r", &id)).unwrap();
        // In one write: the test harness writes there too.
        std::io::stderr().write_all(format!("kept {id}\n").as_bytes()).unwrap();
    }
}

fn start(path: &Path, name: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::writer", "--nocapture"])
        .env("WRITER_STORE", path)
        .env("WRITER_NAME", name)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn kept_ids(path: &Path) -> Vec<String> {
    Store::open_existing(path).unwrap().trials("r").unwrap().into_iter().map(|trial| trial.id).collect()
}

#[test]
fn processes_write_at_once_and_all_succeed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.sqlite");
    // None of them finds a file, and all try to create it.
    let writers = ["one", "two", "three"].map(|name| start(&path, name));
    for writer in writers {
        let output = writer.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(kept_ids(&path).len(), 3 * TRIALS);
}

#[test]
fn stored_records_survive_a_kill_and_others_are_whole_or_absent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.sqlite");
    let mut writer = start(&path, "killed");
    let said = BufReader::new(writer.stderr.take().unwrap());
    let mut kept: Vec<String> = Vec::new();
    for line in said.lines() {
        kept.extend(line.unwrap().strip_prefix("kept ").map(str::to_owned));
        if kept.len() == 5 {
            // The sixth trial is being written now.
            writer.kill().unwrap();
        }
    }
    writer.wait().unwrap();
    let found = kept_ids(&path);
    assert!(kept.len() >= 5 && kept.iter().all(|id| found.contains(id)), "{kept:?} said, {found:?} found");
    let store = Store::open(&path).unwrap();
    for id in &found {
        assert_eq!(store.find_trial(id).unwrap(), some_trial("r", id));
    }
}
