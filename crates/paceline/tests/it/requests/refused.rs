//! Tests invalid requests, limits and targets: each error says what would be valid.
//!
//! Flags whose values clap parses alone are tested beside their parsers; these tests need the whole binary.

use super::{complaint, paceline};
use crate::faults::full_backlog;
use std::process::Command;

#[test]
fn devices_are_rejected() {
    for (flags, said) in [
        (
            &["http://127.0.0.1:9/", "--mix", "/dev/zero"][..],
            "--mix: cannot read /dev/zero: a device, not a regular file",
        ),
        (
            &["https://127.0.0.1:9/", "--cacert", "/dev/zero"],
            "--cacert /dev/zero: a device, not a regular file",
        ),
        (&["https://127.0.0.1:9/", "--cert", "/dev/zero"], "--cert /dev/zero: a device, not a regular file"),
    ] {
        let output = paceline(flags);
        let reported = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{reported}");
        assert!(reported.contains(said), "{reported}");
    }
}

#[test]
fn pipes_without_a_writer_and_folders_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (path, said) in [(pipe.as_path(), "a named pipe"), (folder.path(), "a folder")] {
        let path = path.to_str().unwrap();
        let [file, part, value, line] = ["@", "a=@", "a=<", "{line:"].map(|before| format!("{before}{path}"));
        let line = line + "}";
        for flags in [
            ["--mix", path],
            ["--schedule", path],
            ["--lua", path],
            ["--body", &file],
            ["--expect-body", &file],
            ["-F", &part],
            ["-F", &value],
            ["--body", &line],
        ] {
            let reported = complaint(&flags);
            let said = format!("{said}, not a regular file");
            assert!(reported.contains(path) && reported.contains(&said), "{flags:?}: {reported}");
        }
    }
}

#[test]
fn empty_files_are_refused_where_they_would_send_nothing() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let line = format!("{{line:{path}}}");
    for (flags, said) in [
        (["--mix", path], "missing key `request`"),
        (["--schedule", path], "the schedule is empty"),
        (["--body", &line], "the file has no lines"),
    ] {
        let reported = complaint(&flags);
        assert!(reported.contains(path) && reported.contains(said), "{flags:?}: {reported}");
    }
}

#[test]
fn an_error_names_the_valid_alternatives() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let empty = file("empty.toml", "[[request]]\nname = ' '\n");
    let steering = file("steering.toml", "[[request]]\nname = \"a\\u001b[2Jb\"\n");
    for (flags, said) in [
        (&["--mix", "nope"][..], "--mix: cannot read nope: No such file"),
        (&["--mix", &empty], "empty.toml:1: request ` `: the name must contain a visible character"),
        (
            &["--mix", &steering],
            "request `a\\u{1b}[2Jb`: the name must contain a visible character and no control characters",
        ),
        (&["-H", "X : a"], "header \"X \": character 2 is invalid; a name may contain only letters"),
        (
            &["-H", "Host: a b"],
            "header Host: \"a b\": character 2 is invalid; a host and its port must not contain spaces",
        ),
        (&["--slo", "handshake.p50<1s"], "an http:// URL has no TLS handshakes"),
        (&["-r", "1,000"], "for a single rate write 1000"),
        (&["--debug", "-o", "run.json"], "--output cannot be combined with --debug, which measures nothing"),
        (&["--debug", "--profile"], "--profile cannot be combined with --debug"),
        (&["--debug", "--syscalls"], "--syscalls cannot be combined with --debug"),
        (&["--syscalls", "--loaders", "2"], "cannot be used with"),
        (&["--debug", "--view"], "--view cannot be combined with --debug"),
        (&["-d", "1000000h"], "`1000000h` is too long: the maximum is 10000h"),
        (&["-c", "4294967296"], "the number is too large: the maximum is 4294967295"),
    ] {
        let reported = complaint(flags);
        assert!(reported.contains(said), "{flags:?}: {reported}");
    }
}

#[test]
fn messages_are_no_forms() {
    for scheme in ["ws", "wss", "grpc", "grpcs"] {
        for flags in [&["--form", "a=b"], &["-F", "a=b"]] {
            let output = paceline(&[&[format!("{scheme}://127.0.0.1:9/s/m").as_str()], &flags[..]].concat());
            let reported = String::from_utf8_lossy(&output.stderr);
            let said = format!("{} cannot be combined with a {scheme}:// URL", flags[0]);
            assert!(output.status.code() == Some(2) && reported.contains(&said), "{reported}");
        }
    }
}

#[test]
fn a_socket_path_gets_a_hint_to_its_flag() {
    let reported = |flags: &[&str]| String::from_utf8(paceline(flags).stderr).unwrap();
    let as_url = reported(&["unix:/run/a.sock"]);
    assert!(as_url.contains("http://localhost/ --unix-socket /run/a.sock"), "{as_url}");
    let missing = reported(&["http://localhost/", "--unix-socket", "/no/such.sock"]);
    assert!(missing.contains("listens on that socket"), "{missing}");
}

#[test]
fn a_short_connect_timeout_is_not_blamed_on_the_server() {
    let url = format!("http://{}/", full_backlog());
    let output = paceline(&[&url, "-c", "1", "--connect-timeout", "1ns"]);
    let reported = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{reported}");
    assert!(reported.contains("raise --connect-timeout"), "{reported}");
}
