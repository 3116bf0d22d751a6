//! `--replay`: an access log through the whole binary. Formats and times are tested in `crates/run`.

use super::server::Server;
use super::{PACELINE, ok};
use std::path::Path;
use std::process::{Command, Output};

const LOG: &str = r#"a - - [10/Oct/2000:13:55:36 +0000] "GET /1?q HTTP/1.1" 200 1 "http://r/" "agent 1"
a - - [10/Oct/2000:13:55:36 +0000] "POST /2 HTTP/1.1" 200 1
a - - [10/Oct/2000:13:55:37 +0000] "GET /3 HTTP/1.1" 200 1
{"ts":971186138.25,"request":{"method":"GET","host":"other","uri":"/4"},"status":200}
no request
"#;

/// Replays the log in the folder.
fn replay_in(folder: &Path, url: &str, flags: &[&str]) -> Output {
    std::fs::write(folder.join("access.log"), LOG).unwrap();
    let mut command = Command::new(PACELINE);
    command.args(["run", url, "--replay", "access.log", "-c", "2"]).args(flags);
    command.current_dir(folder).output().unwrap()
}

fn replay(server: &Server, flags: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    replay_in(folder.path(), &format!("http://{}/", server.address), &[flags, &["--json"]].concat())
}

/// The heads of the requests that the server got after this many, by path.
fn heads(server: &Server, after: usize) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let mut heads: Vec<_> = server.heard()[after..].iter().map(|heard| text(&heard.bytes)).collect();
    heads.sort();
    heads
}

#[test]
fn the_requests_of_a_log_are_sent_at_its_times() {
    let server = Server::start(ok);
    for flags in [&["--speed", "10"][..], &["--speed", "10", "-t", "2"]] {
        let before = server.heard().len();
        let output = replay(&server, flags);
        let reported = String::from_utf8_lossy(&output.stderr);
        let record: serde_json::Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {reported}"));
        assert_eq!((&record["loop"]["kind"], &record["total"]["counts"]["ok"]), (&"open".into(), &3.into()));
        assert!(reported.contains("replaying 3 requests; left out: 1 with a method that may"), "{reported}");
        let heads = heads(&server, before);
        let paths: Vec<_> = heads.iter().map(|head| head.split(' ').nth(1).unwrap()).collect();
        assert_eq!(paths, ["/1?q", "/3", "/4"]);
        assert!(heads[0].contains("\r\nUser-Agent: agent 1\r\nReferer: http://r/\r\n"), "{}", heads[0]);
        assert!(heads[1].contains(&format!("\r\nHost: {}\r\n", server.address)), "{}", heads[1]);
        assert!(heads[2].contains("\r\nHost: other\r\n"), "{}", heads[2]);
    }
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    let server = Server::start(ok);
    for (flags, expected) in [
        (&["-r", "5"][..], "cannot be used with"),
        (&["--speed", "0"], "a speed is a number from 0.001"),
        (&["--http", "2"], "a log is replayed over HTTP/1.1"),
        (&["--replay-group", "/a*"], "is not a pattern of paths"),
    ] {
        let output = replay(&server, flags);
        let reported = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && reported.contains(expected), "{flags:?}: {reported}");
    }
    assert!(server.heard().is_empty());
}

#[test]
fn the_log_is_never_an_output() {
    let server = Server::start(ok);
    let folder = tempfile::tempdir().unwrap();
    let url = format!("http://{}/", server.address);
    std::os::unix::fs::symlink("access.log", folder.path().join("link.json")).unwrap();
    for (flag, file) in [("--csv", "access.log"), ("--ndjson", "access.log"), ("--output", "link.json")] {
        let output = replay_in(folder.path(), &url, &[flag, file]);
        let reported = String::from_utf8_lossy(&output.stderr);
        let expected = format!("{file} is both an input (--replay) and an output ({flag})");
        assert!(output.status.code() == Some(2) && reported.contains(&expected), "{flag}: {reported}");
        assert_eq!(std::fs::read_to_string(folder.path().join("access.log")).unwrap(), LOG, "{flag}");
    }
    assert!(server.heard().is_empty());
}

#[test]
fn a_record_repeats_its_replay() {
    let server = Server::start(ok);
    let folder = tempfile::tempdir().unwrap();
    let url = format!("http://{}/", server.address);
    // On a busy machine the run may be judged invalid.
    let flags = ["--speed", "20", "--all-methods", "--allow-invalid", "-o", "run.json"];
    let output = replay_in(folder.path(), &url, &flags);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let first = heads(&server, 0);
    let record = |name: &str| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(folder.path().join(name)).unwrap()).unwrap()
    };
    let mut again = Command::new(PACELINE);
    again
        .args(["run", "--job", "run.json", "--allow-invalid", "-o", "again.json"])
        .current_dir(folder.path());
    let output = again.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!((heads(&server, first.len()), first.len()), (first, 4));
    let replay = serde_json::json!({ "speed": 20.0, "all_methods": true });
    for key in ["job", "loop"] {
        assert_eq!(record("run.json")[key], record("again.json")[key]);
    }
    assert_eq!(record("again.json")["job"]["loop"]["shape"]["replay"], replay);
}

#[test]
fn requests_are_reported_by_the_group_of_their_path() {
    let server = Server::start(|request| if request.path == "/3" { (404, Vec::new()) } else { ok(request) });
    let folder = tempfile::tempdir().unwrap();
    let url = format!("http://{}/", server.address);
    let groups = ["--replay-group", "/1", "--replay-group", "/{id}/x", "--replay-group", "/3"];
    let flags = [&groups[..], &["--speed", "20", "--allow-invalid", "-o", "run.json"]].concat();
    let output = replay_in(folder.path(), &url, &flags);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{shown}{}", String::from_utf8_lossy(&output.stderr));
    let table: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    for row in [["/1", "1"], ["/{id}/x", "0"], ["/3", "1"], ["other", "1"]] {
        assert!(table.iter().any(|cells| cells.starts_with(&row)), "{row:?}: {shown}");
    }
    let counts = |name: &str| -> Vec<(serde_json::Value, serde_json::Value)> {
        let record: serde_json::Value =
            serde_json::from_slice(&std::fs::read(folder.path().join(name)).unwrap()).unwrap();
        let parts = record["by_request"].as_array().unwrap();
        parts.iter().map(|part| (part["name"].clone(), part["counts"].clone())).collect()
    };
    let first = counts("run.json");
    let [one, none, three, other] = first.as_slice() else { panic!("{first:?}") };
    assert_eq!(
        (&one.1["ok"], &none.1["scheduled"], &three.1["bad_status"]),
        (&1.into(), &0.into(), &1.into())
    );
    assert_eq!((&other.0, &other.1["ok"]), (&"other".into(), &1.into()));
    let mut again = Command::new(PACELINE);
    again
        .args(["run", "--job", "run.json", "--allow-invalid", "-o", "again.json"])
        .current_dir(folder.path());
    assert!(again.output().unwrap().status.success());
    assert_eq!(counts("again.json"), first);
}

#[test]
fn the_host_of_an_ipv6_target_has_brackets() {
    let server = Server::start(ok);
    let folder = tempfile::tempdir().unwrap();
    let port = server.address.port();
    let connect_to = format!("::127.0.0.1:{port}");
    let flags = ["--speed", "20", "--connect-to", &connect_to];
    replay_in(folder.path(), &format!("http://[::1]:{port}/"), &flags);
    assert!(heads(&server, 0)[0].contains(&format!("\r\nHost: [::1]:{port}\r\n")));
}
