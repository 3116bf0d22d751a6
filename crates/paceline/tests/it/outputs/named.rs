//! Tests files that are named twice, and outputs that cannot be written: errors before anything is sent or written.
//!
//! Files of successful runs are in `files.rs`; missing permissions are tested beside `file.rs`.

use super::terminal::Terminal;
use super::{PACELINE, ReferenceServer, Runs as _, text};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// One request, with `folder` as the current folder.
fn in_folder(folder: &Path, server: &ReferenceServer, flags: &[&str]) -> Output {
    server.run(&["-n", "1"]).args(flags).current_dir(folder).output().unwrap()
}

#[test]
fn an_output_never_replaces_an_input() {
    let (server, folder) = (ReferenceServer::start("immediate"), tempfile::tempdir().unwrap());
    let path = |name: &str| folder.path().join(name);
    let held = "[[request]]\nbody_file = 'body'\npath = '/{line:lines}'\n";
    for (name, content) in
        [("in.toml", held), ("body", "x"), ("lines", "a\n"), ("times", "0\n"), ("key", "k")]
    {
        fs::write(path(name), content).unwrap();
    }
    fs::create_dir(path("sub")).unwrap();
    symlink("in.toml", path("link")).unwrap();
    fs::hard_link(path("in.toml"), path("other")).unwrap();
    for (flags, input, output) in [
        (&["--mix", "in.toml", "--csv", "in.toml"][..], "--mix", "--csv"),
        (&["--mix", "in.toml", "-o", "sub/../link"], "--mix", "--output"),
        (&["--mix", "link", "--ndjson", "other"], "--mix", "--ndjson"),
        (&["--mix", "in.toml", "-o", "body"], "--mix", "--output"),
        (&["--mix", "in.toml", "-o", "lines"], "{line:lines}", "--output"),
        (&["--body", "@body", "-o", "body"], "--body", "--output"),
        (&["--expect-body", "@body", "--csv", "./body"], "--expect-body", "--csv"),
        (&["--body", "{line:lines}", "--csv", "lines"], "{line:lines}", "--csv"),
    ] {
        let output_of = in_folder(folder.path(), &server, flags);
        let reported = text(&output_of.stderr);
        assert_eq!(output_of.status.code(), Some(2), "{flags:?}: {reported}");
        let said = format!("is both an input ({input}) and an output ({output})");
        assert!(reported.contains(&said), "{flags:?}: {reported}");
    }
    let schedule = server.run(&["--schedule", "times", "--csv", "times"]).current_dir(folder.path()).output();
    assert!(text(&schedule.unwrap().stderr).contains("both an input (--schedule) and an output (--csv)"));
    assert_eq!(fs::read_to_string(path("in.toml")).unwrap(), held);
    assert_eq!(fs::read_to_string(path("body")).unwrap(), "x");
}

#[test]
fn two_paths_of_one_file_are_detected() {
    let (server, folder) = (ReferenceServer::start("immediate"), tempfile::tempdir().unwrap());
    fs::create_dir(folder.path().join("out")).unwrap();
    symlink("same", folder.path().join("out/link")).unwrap();
    for other in ["./out/../out/same", "out/link"] {
        let output = in_folder(folder.path(), &server, &["--csv", "out/same", "--ndjson", other]);
        let reported = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{reported}");
        assert!(reported.contains("is used for two outputs, --csv and --ndjson"), "{reported}");
    }
    assert!(!folder.path().join("out/same").exists());
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let server = ReferenceServer::start("immediate");
    for (end, said) in [
        (">&-", "the descriptor was closed before"),
        ("1</dev/null", "the descriptor is open for reading only"),
    ] {
        for flags in ["", "-o -", "-o /dev/stdout"] {
            let line = format!("exec {PACELINE} run {} -n 1 -c 1 {flags} {end}", server.url());
            let output = Command::new("sh").args(["-c", &line]).stdin(Stdio::null()).output().unwrap();
            let reported = text(&output.stderr);
            assert_eq!(output.status.code(), Some(3), "{line}: {reported}");
            assert!(reported.contains(said), "{line}: {reported}");
        }
    }
}

#[test]
fn a_dash_names_standard_output() {
    let (server, folder) = (ReferenceServer::start("immediate"), tempfile::tempdir().unwrap());
    let output = in_folder(folder.path(), &server, &["-o", "-", "--csv", "-"]);
    let reported = text(&output.stdout);
    assert!(reported.starts_with("at,start_s,") && reported.contains("1 request, all ok"), "{reported}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_dumb_terminal_gets_no_colours() {
    let server = ReferenceServer::start("immediate");
    for (change, is_coloured) in
        [(["-u", "TERM"], false), (["--", "TERM=dumb"], false), (["--", "TERM=xterm"], true)]
    {
        let mut command = Command::new("env");
        command.args(change).args([PACELINE, "run", &server.url(), "-n", "1", "-c", "1", "--no-live"]);
        command.env_remove("NO_COLOR");
        let mut terminal = Terminal::run(command, 60, 80);
        terminal.wait_end();
        assert!(terminal.shown().contains("all ok"), "{}", terminal.shown());
        assert_eq!(terminal.bytes.contains(&0x1b), is_coloured, "{change:?}");
    }
}

#[test]
fn a_summary_is_the_same_in_every_format() {
    let server = ReferenceServer::start("immediate");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (flags, time) in [(&[][..], "service"), (&["-r", "5000"], "response")] {
        let files = ["-o", &path("a.json"), "-o", &path("a.csv"), "-o", &path("a.md")];
        let url = server.url();
        let output = Command::new(PACELINE)
            .args(["run", &url, "-c", "2", "-n", "100", "--allow-invalid", "--time-unit", "ms"])
            .args(files)
            .args(flags)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let record: serde_json::Value = serde_json::from_str(&read("a.json")).unwrap();
        let summary = &record["summary"];
        assert_eq!((&summary["time"], &summary["requests"]), (&time.into(), &100.into()));
        assert_eq!(summary["p99_ns"], record["total"][format!("{time}_time_ns")]["p99"]);
        let csv = read("a.csv");
        let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        let [keys, values] = lines.as_slice() else { panic!("{csv}") };
        assert_eq!(keys.len(), values.len(), "{csv}");
        let p99 = keys.iter().position(|key| *key == "p99_ns").map(|at| values[at].to_owned());
        assert_eq!(p99, Some(summary["p99_ns"].to_string()));
        let milliseconds = summary["p99_ns"].as_f64().unwrap() / 1e6;
        let row = format!("| {time} time, p99 | {milliseconds:.3}\u{a0}ms |");
        assert!(read("a.md").contains(&row), "{}", read("a.md"));
    }
}
