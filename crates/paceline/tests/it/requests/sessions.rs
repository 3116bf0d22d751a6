//! Tests sessions through the whole binary: the order of steps, values from one response in the next request, and the
//! results of failed sessions. Times and counts are tested in the engine's simulation (`crates/engine/tests/it`).

use super::server::{Heard, Server};
use super::{complaint, count, paceline, run};

const LOGIN: &str = r#"
[[request]]
session = "shopper"
name = "login"
method = "POST"
path = "/login"
extract = { token = { json = "/token" } }

[[request]]
session = "shopper"
name = "order"
think = "2ms"
path = "/order?for={var:token}"
headers = { Authorization = "Bearer {var:token}" }
expect_body = "yours"

[[request]]
session = "shopper"
name = "logout"
path = "/logout"

[[request]]
name = "home"
path = "/"
"#;

fn shop(heard: &Heard) -> (u16, Vec<u8>) {
    let text = String::from_utf8_lossy(&heard.bytes).into_owned();
    match heard.path.as_str() {
        "/login" => (200, br#"{"token": "a b"}"#.to_vec()),
        "/order?for=a%20b" if text.contains("Authorization: Bearer a b\r\n") => (200, b"yours".to_vec()),
        "/logout" | "/" => (204, Vec::new()),
        _ => (404, Vec::new()),
    }
}

fn mix(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

#[test]
fn a_session_uses_the_values_of_its_earlier_steps() {
    let server = Server::start(shop);
    let file = mix(LOGIN);
    let flags = ["--mix", file.path().to_str().unwrap(), "-c", "3", "--seed", "1"];
    for more in [&[][..], &["-r", "2000"], &["-t", "2"]] {
        let record = run(&server, "/", 60, &[&flags[..], more].concat());
        assert_eq!(
            count(&record["total"], "ok"),
            count(&record["total"], "scheduled"),
            "{}",
            record["bad_bodies"]
        );
        let [shopper, home] = record["sessions"].as_array().unwrap().as_slice() else {
            panic!("two sessions")
        };
        let [started, at_home] = [shopper, home].map(|session| session["started"].as_u64().unwrap());
        assert_eq!(started + at_home, 60, "-n is the number of sessions");
        assert_eq!(shopper["completed"], started);
        assert_eq!(count(&record["total"], "scheduled"), 3 * started + at_home);
        assert_eq!(shopper["session_time_ns"]["count"], started);
        let has_rate = record["loop"]["sessions_offered_per_s"].is_number();
        assert_eq!(has_rate, more.contains(&"-r"), "{}", record["loop"]);
    }
}

/// gzip of `text`, as one block that is not compressed (RFC 1952, RFC 1951 section 3.2.4). Its checksum is `crc`.
fn stored_gzip(text: &[u8], crc: u32) -> Vec<u8> {
    let length = (text.len() as u16).to_le_bytes();
    let head = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1, length[0], length[1], !length[0], !length[1]];
    [&head[..], text, &crc.to_le_bytes(), &(text.len() as u32).to_le_bytes()].concat()
}

#[test]
fn values_are_extracted_from_compressed_bodies() {
    let server = Server::start_with("Content-Encoding: gzip\r\n", |heard| match heard.path.as_str() {
        "/login" => (200, stored_gzip(br#"{"token": "a b"}"#, 0xdf8e7469)),
        _ => shop(heard),
    });
    let file = mix(&LOGIN.replace("expect_body = \"yours\"\n", ""));
    let mix = file.path().to_str().unwrap();
    let record = run(&server, "/", 20, &["--mix", mix, "-c", "2", "--seed", "1"]);
    assert_eq!(
        count(&record["total"], "ok"),
        count(&record["total"], "scheduled"),
        "{}",
        record["bad_bodies"]
    );
    let url = format!("http://{}/", server.address);
    let output = paceline(&[&url, "--mix", mix, "--debug"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("GET /order?for=a%20b "), "{text}");
}

#[test]
fn a_step_that_fails_ends_its_session_and_is_named() {
    let server = Server::start(shop);
    let file = mix(&LOGIN.replace("/token\" }", "/tokn\" }"));
    let record = run(&server, "/", 20, &["--mix", file.path().to_str().unwrap(), "-c", "2"]);
    let shopper = &record["sessions"][0];
    assert_eq!((&shopper["completed"], &shopper["failed"]), (&0.into(), &shopper["started"]));
    assert_eq!(shopper["steps"][1]["not_reached"], shopper["started"]);
    let fault = record["bad_bodies"][0]["fault"].as_str().unwrap();
    assert_eq!(fault, "the variable \"token\" cannot be extracted: the response has no value at \"/tokn\"");
}

#[test]
fn debug_shows_every_step_of_a_session() {
    let server = Server::start(shop);
    let file = mix(LOGIN);
    let url = format!("http://{}/", server.address);
    let output = paceline(&[&url, "--mix", file.path().to_str().unwrap(), "--debug"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("> GET /order?for=a%20b HTTP/1.1\n> "), "{text}");
}

#[test]
fn invalid_sessions_are_refused() {
    for (from, to, said) in [
        (
            "{var:token}\" }",
            "{var:tokn}\" }",
            "names a variable that no earlier request of the session extracts",
        ),
        ("think = \"2ms\"", "think = \"soon\"", "think \"soon\""),
        ("json = \"/token\"", "json = \"token\"", "does not begin with \"/\""),
        ("json = \"/token\"", "regex = \"(\"", "the regular expression \"(\" is invalid"),
        (
            "[[request]]\nname = \"home\"",
            "[[request]]\nextract = { a = { header = \"A\" } }\nname = \"home\"",
            "not part of a session",
        ),
    ] {
        let file = mix(&LOGIN.replacen(from, to, 1));
        let reported = complaint(&["--mix", file.path().to_str().unwrap()]);
        assert!(reported.contains(said), "{to}: {reported}");
    }
    let file = mix(LOGIN);
    let reported = complaint(&["--mix", file.path().to_str().unwrap(), "--pipeline", "2"]);
    assert!(reported.contains("a session (--mix) cannot be combined with --pipeline"), "{reported}");
}
