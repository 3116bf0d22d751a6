//! `--replay`: an access log through the whole binary. Formats and times are tested in `crates/run`.

use super::server::Server;
use super::{PACELINE, ok};
use std::process::{Command, Output};

const LOG: &str = r#"a - - [10/Oct/2000:13:55:36 +0000] "GET /1?q HTTP/1.1" 200 1 "http://r/" "agent 1"
a - - [10/Oct/2000:13:55:36 +0000] "POST /2 HTTP/1.1" 200 1
a - - [10/Oct/2000:13:55:37 +0000] "GET /3 HTTP/1.1" 200 1
{"ts":971186138.25,"request":{"method":"GET","host":"other","uri":"/4"},"status":200}
no request
"#;

fn replay(server: &Server, flags: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("access.log");
    std::fs::write(&log, LOG).unwrap();
    let url = format!("http://{}/", server.address);
    let mut command = Command::new(PACELINE);
    command.args(["run", &url, "--replay", log.to_str().unwrap(), "-c", "2", "--json"]).args(flags);
    command.output().unwrap()
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
        let mut heads: Vec<String> = server.heard()[before..]
            .iter()
            .map(|heard| String::from_utf8(heard.bytes.clone()).unwrap())
            .collect();
        heads.sort();
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
        (&["--speed", "0"], "a speed is a number above 0"),
        (&["--http", "2"], "scripts and logs make requests of HTTP/1.1 only"),
    ] {
        let output = replay(&server, flags);
        let reported = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && reported.contains(expected), "{flags:?}: {reported}");
    }
    assert!(server.heard().is_empty());
}
