//! The command lines and reports of other tools through the whole binary; flags and layouts are tested in
//! `crates/peers`.

use super::server::{Heard, Server};
use super::{PACELINE, ok};
use std::os::unix::fs::symlink;
use std::process::{Command, Output};

/// Runs the binary by the name of a tool, with an empty home folder.
fn called(name: &str, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join(name);
    symlink(PACELINE, &link).unwrap();
    Command::new(&link).args(arguments).env("HOME", folder.path()).env_remove("SIEGERC").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn head(heard: &Heard) -> String {
    text(&heard.bytes)
}

#[test]
fn hey_prints_its_summary() {
    let server = Server::start(ok);
    let url = format!("http://{}/a", server.address);
    let output = called("hey", &["-n", "20", "-c", "3", "-m", "POST", "-d", "abc", "-H", "X-A: b", &url]);
    let report = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{report}{}", text(&output.stderr));
    assert!(report.starts_with("\nSummary:\n  Total:\t"), "{report}");
    assert!(report.contains("\nStatus code distribution:\n  [200]\t18 responses\n"), "{report}");
    let heard = server.heard();
    assert_eq!((heard.len(), heard[0].body.as_slice()), (18, b"abc".as_slice()));
    let head = head(&heard[0]);
    for line in ["User-Agent: hey/0.0.1", "Content-Type: text/html", "Accept-Encoding: gzip", "X-A: b"] {
        assert!(head.contains(&format!("\r\n{line}\r\n")), "{head}");
    }
    assert!(!head.contains("Accept: "), "{head}");
}

#[test]
fn siege_prints_its_report_on_standard_error() {
    let server = Server::start(ok);
    let url = format!("http://{}/a", server.address);
    let output = called("siege", &["-c", "3", "-r", "4", "-b", "--no-parser", &url]);
    let report = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), String::new()), "{report}");
    assert!(report.starts_with("** SIEGE 4.0.7\n** Preparing 3 concurrent users for battle.\n"), "{report}");
    assert!(report.contains("\nTransactions:\t\t          12 hits\n"), "{report}");
    let heard = server.heard();
    assert_eq!(heard.len(), 12);
    assert!(heard.iter().all(|heard| head(heard).contains("\r\nConnection: close\r\n")));
    let output = called("siege", &["-c", "2", "-r", "1", "-j", &url]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["transactions"], &json["failed_transactions"]), (&2.into(), &0.into()));
}

#[test]
fn a_server_that_is_not_there_is_reported_as_the_tool_does() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let output = called("hey", &["-n", "4", "-c", "2", &url]);
    let report = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{report}");
    assert!(report.contains("connect: connection refused") && report.contains("\n  [4]\tGet \""), "{report}");
    let output = called("siege", &["-c", "2", "-r", "2", &url]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("\nFailed transactions:\t           4\n"));
}
