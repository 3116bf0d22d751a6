//! Tests runs that end early or whose outputs cannot be written: the results so far are printed, files are complete,
//! the exit status is right.
//!
//! Most are a run of an hour that is stopped, killed or loses its readers after the first second of its window. Files
//! of runs that end normally are in `files.rs`, the removal of the live view is in `screen.rs`.

use super::{PACELINE, ReferenceServer, Runs as _, text};
use crate::noise::within_five_tries;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Waits until a second of the window is over, which the run reports through a named pipe.
fn wait_for_window(pipe: &Path) -> BufReader<File> {
    let mut lines = BufReader::new(File::open(pipe).unwrap());
    let mut line = String::new();
    while !line.contains("\"phase\":\"window\"") {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "the run ended before its window");
    }
    lines
}

fn make_pipe(path: &Path) {
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: `name` is a NUL-terminated string.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
}

fn signal(child: &Child, signal: i32) {
    // SAFETY: sends a signal to a child that has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

/// A run of an hour with output files, after the first second of its window; the folder of its files; a reader of its
/// pipe.
fn under_way(server: &ReferenceServer) -> (Child, tempfile::TempDir, BufReader<File>) {
    under_way_at(&server.url())
}

fn under_way_at(url: &str) -> (Child, tempfile::TempDir, BufReader<File>) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    make_pipe(path("pipe").as_ref());
    let child = Command::new(PACELINE)
        .args(["run", url, "-c", "3", "-r", "500", "-d", "1h", "--warmup", "0s"])
        .args(["--format", "json", "-o", &path("run.json")])
        .args(["--ndjson", &path("pipe"), "--csv", &path("s.csv"), "--hdr", &path("a.hlog")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let reader = wait_for_window(path("pipe").as_ref());
    (child, folder, reader)
}

/// The longest time that a stopped run waits for outstanding responses.
const LAST_ANSWERS_NS: u64 = 500_000_000;

fn drain_ns(record: &Value) -> u64 {
    let [start, end] = ["start_ns", "end_ns"].map(|name| record["phases"]["drain"][name].as_u64().unwrap());
    end - start
}

fn names(folder: &tempfile::TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn termination_signals_keep_the_results_so_far() {
    let server = ReferenceServer::start("immediate");
    // Also the end of a terminal, unless the tests run under nohup.
    for stop in paceline_host::system::end_signals() {
        let (mut child, folder, mut reader) = under_way(&server);
        signal(&child, stop);
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut reader, &mut rest).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert!(rest.is_empty() || rest.ends_with("}\n"), "{rest:?}");
        let record: Value =
            serde_json::from_str(&fs::read_to_string(folder.path().join("run.json")).unwrap()).unwrap();
        assert_eq!(record["stopped"], true);
        let counts = &record["total"]["counts"];
        let [ok, timed_out, unsent, scheduled] =
            ["ok", "timed_out", "unsent", "scheduled"].map(|name| counts[name].as_u64().unwrap());
        assert!(ok > 0 && ok + timed_out + unsent == scheduled, "{counts}");
        // Only a machine without time for the last responses cuts them off.
        assert!(ok == scheduled || drain_ns(&record) >= LAST_ANSWERS_NS, "{}: {counts}", record["phases"]);
        // The rows of the window equal the record; the last one includes what came after the stop.
        let csv = fs::read_to_string(folder.path().join("s.csv")).unwrap();
        let rows = csv.lines().filter(|row| row.contains(",window,"));
        let ok: u64 = rows.map(|row| row.split(',').nth(7).unwrap().parse::<u64>().unwrap()).sum();
        let completed = record["total"]["completed_in_window"].as_u64().unwrap();
        let all = counts["ok"].as_u64().unwrap();
        assert!(
            (completed..=all).contains(&ok),
            "{ok} in the rows, {completed} of {all} in the record's window"
        );
        assert_eq!(names(&folder), ["a.hlog", "pipe", "run.json", "s.csv"]);
    }
}

#[test]
fn a_second_ctrl_c_exits_at_once() {
    // A server that does not answer: the first Ctrl-C waits half a second for it.
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", mute.local_addr().unwrap());
    within_five_tries(|| {
        let (mut child, folder, _reader) = under_way_at(&url);
        signal(&child, libc::SIGINT);
        // A second identical signal is merged with the first while that is pending.
        let waits = || {
            let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
            status.lines().any(|line| line.starts_with("ShdPnd:") && !line.ends_with("0000000000000000"))
        };
        while waits() {
            std::thread::yield_now();
        }
        signal(&child, libc::SIGINT);
        assert_eq!(child.wait().unwrap().code(), Some(130));
        match &names(&folder).iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["a.hlog", "pipe", "s.csv"] => Ok(()),
            // The second signal came after the run.
            ["a.hlog", "pipe", "run.json", "s.csv"] => Err("there was time to write a record".to_owned()),
            names => panic!("{names:?}"),
        }
    });
}

#[test]
fn a_killed_run_leaves_whole_lines_and_no_partial_file() {
    let server = ReferenceServer::start("immediate");
    let (mut child, folder, _reader) = under_way(&server);
    signal(&child, libc::SIGKILL);
    child.wait().unwrap();
    assert_eq!(names(&folder), ["a.hlog", "pipe", "s.csv"]);
    let csv = fs::read_to_string(folder.path().join("s.csv")).unwrap();
    assert!(csv.ends_with("\r\n"), "{csv}");
    let columns: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert!(columns.len() >= 3 && columns.iter().all(|count| *count == columns[0]), "{csv}");
    let log = fs::read_to_string(folder.path().join("a.hlog")).unwrap();
    assert!(log.ends_with('\n') && log.contains("\nTag=response,"), "{log}");
}

#[test]
fn a_full_disk_keeps_the_printed_results() {
    let server = ReferenceServer::start("immediate");
    let output = server.output(&["-n", "100", "-o", "/dev/full"]);
    let (report, reported) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(3), "{reported}");
    assert!(report.contains("100 requests, all ok"), "{report}");
    assert!(reported.contains("cannot write /dev/full: No space left on device"), "{reported}");
    // Errors of the other files do not stop a run either.
    for flag in ["--csv", "--ndjson"] {
        let output = server.output(&["-n", "100", flag, "/dev/full"]);
        assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("100 requests, all ok"));
        assert!(text(&output.stderr).contains("cannot write /dev/full: No space left on device"));
    }
}

#[test]
fn a_full_disk_is_named_although_the_result_cannot_be_printed_either() {
    let server = ReferenceServer::start("immediate");
    let folder = tempfile::tempdir().unwrap();
    let script = r#""$0" run "$1" -c 3 -n 100 -o /dev/full -o "$2" >/dev/full"#;
    let mut command = Command::new("bash");
    command.args(["-c", script, PACELINE, &server.url()]).arg(folder.path().join("run.json"));
    let output = command.output().unwrap();
    let reported = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{reported}");
    for what in ["cannot write /dev/full: No space left", "cannot write to standard output: No space left"] {
        assert!(reported.contains(what), "{reported}");
    }
    assert_eq!(names(&folder), ["run.json"]);
}

#[test]
fn a_named_pipe_gets_the_result_and_ends_with_it() {
    let server = ReferenceServer::start("immediate");
    for (flag, name, said) in [("-o", "pipe", "100 requests, all ok"), ("--hdr", "a.hgrm", "#[Mean")] {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join(name);
        make_pipe(&pipe);
        let path = pipe.to_str().unwrap().to_owned();
        let reader = std::thread::spawn(move || fs::read_to_string(pipe).unwrap());
        let output = Command::new("timeout")
            .args(["-s", "KILL", "60", PACELINE, "run", &server.url(), "-c", "3", "-n", "100", flag, &path])
            .output()
            .unwrap();
        // Kills a run that waits forever.
        assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
        let read = reader.join().unwrap();
        assert!(read.contains(said), "{read}");
        assert_eq!(text(&output.stdout).is_empty(), flag == "-o");
    }
}

#[test]
fn a_closed_output_pipe_does_not_change_the_run() {
    let server = ReferenceServer::start("immediate");
    // The reader of descriptor 3 exits before the run begins.
    let script = r#"exec 3> >(true); wait $!; "$0" run "$1" -c 3 -n 100 -o /dev/fd/3 "${@:2}""#;
    let mut command = Command::new("bash");
    command.args(["-c", script, PACELINE, &server.url(), "--slo", "service.p50<1ns"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
}

#[test]
fn a_closed_pipe_does_not_change_the_run() {
    let server = ReferenceServer::start("immediate");
    let script = r#"exec 3> >(true); wait $!; "$0" run "$1" -c 3 -n 100 "${@:2}" >&3"#;
    for (flags, code) in
        [(&[][..], 0), (&["--format", "json", "--max-errors", "0"], 0), (&["--slo", "service.p50<1ns"], 1)]
    {
        within_five_tries(|| {
            let mut command = Command::new("bash");
            command.args(["-c", script, PACELINE, &server.url()]).args(flags);
            let output = command.output().unwrap();
            assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
            match output.status.code() {
                Some(ended) if ended == code => Ok(()),
                // The machine spoiled the run, which cannot be reported without a reader.
                Some(1) => Err(format!("{flags:?}: exit 1")),
                _ => panic!("{flags:?}: {:?}", output.status),
            }
        });
    }
    // A dashboard that closes the pipe during the run is not an error either.
    let (mut child, folder, reader) = under_way(&server);
    drop(reader);
    signal(&child, libc::SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(folder.path().join("run.json").exists());
}
