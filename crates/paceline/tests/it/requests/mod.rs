//! Tests what is sent and how responses are checked, through the whole binary, against a server that records every
//! byte.
//!
//! They cover mixes, placeholders, bodies and checks, and the examples in docs/requests.md. The assembly and expansion
//! of requests is tested in the http crate; targets are in `target.rs`.

mod described;
mod redirects;
mod refused;
mod replay;
mod scripts;
mod server;
mod sessions;
mod streams;
mod tools;
mod uploads;

use serde_json::Value;
use server::{Heard, Server};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Output, Stdio};

const PACELINE: &str = env!("CARGO_BIN_EXE_paceline");

fn paceline(arguments: &[&str]) -> Output {
    Command::new(PACELINE).arg("run").args(arguments).output().unwrap()
}

/// The record of a run of `requests` requests.
fn run(server: &Server, path: &str, requests: u64, flags: &[&str]) -> Value {
    let url = format!("http://{}{path}", server.address);
    let requests = requests.to_string();
    let output = paceline(&[&[url.as_str(), "-n", &requests, "--format", "json"], flags].concat());
    let reported = String::from_utf8_lossy(&output.stderr);
    // 1: on a busy machine the run reports that it is not to be trusted, but its counts are right.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{reported}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {reported}"))
}

/// The error message of a run that cannot begin.
fn complaint(arguments: &[&str]) -> String {
    let output = paceline(&[&["http://127.0.0.1:9/"], arguments].concat());
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn count(block: &Value, name: &str) -> u64 {
    block["counts"][name].as_u64().unwrap()
}

fn ok(heard: &Heard) -> (u16, Vec<u8>) {
    (200, heard.body.clone())
}

/// A shop that serves pages and answers orders wrongly.
fn shop(heard: &Heard) -> (u16, Vec<u8>) {
    match heard.path.as_str() {
        "/" => (200, b"welcome".to_vec()),
        "/order" => (200, br#"{"order": {"id": 7, "state": "lost"}}"#.to_vec()),
        "/head" => (204, b"".to_vec()),
        _ => (404, b"no".to_vec()),
    }
}

const SHOP: &str = r#"
[[request]]
name = "home"
weight = 3
path = "/"
expect_body = "welcome"

[[request]]
name = "order"
method = "POST"
path = "/order"
headers = { Content-Type = "application/json" }
body = '{"item": {rand:1:99}}'
expect_status = 200
expect_json = { "/order/id" = 7, "/order/state" = "placed" }
"#;

#[test]
fn a_mix_distinguishes_wrong_and_right_requests() {
    let server = Server::start(shop);
    let folder = tempfile::tempdir().unwrap();
    let mix = folder.path().join("shop.toml");
    std::fs::write(&mix, SHOP).unwrap();
    let mix = mix.to_str().unwrap();
    for flags in [&["-c", "4"][..], &["-c", "2", "--pipeline", "8"], &["-c", "4", "-t", "2", "-r", "20000"]] {
        let record = run(&server, "/", 2_000, &[&["--mix", mix, "--seed", "1"], flags].concat());
        let [home, order] = record["by_request"].as_array().unwrap().as_slice() else { panic!("{record}") };
        assert_eq!((home["name"].as_str(), order["name"].as_str()), (Some("home"), Some("order")));
        assert_eq!(
            (&home["weight"], &order["method"], &order["path"]),
            (&3.into(), &"POST".into(), &"/order".into())
        );
        assert_eq!((count(home, "ok"), count(home, "bad_body")), (count(home, "scheduled"), 0), "{flags:?}");
        assert_eq!(
            (count(order, "ok"), count(order, "bad_body")),
            (0, count(order, "scheduled")),
            "{flags:?}"
        );
        for name in ["scheduled", "ok", "bad_body"] {
            assert_eq!(count(home, name) + count(order, name), count(&record["total"], name), "{name}");
        }
        // 1,500 are expected; the standard deviation is 19.4, and the seed is fixed.
        assert!((1_400..=1_600).contains(&count(home, "scheduled")), "{flags:?}: {home}");
        let bad = record["bad_bodies"].as_array().unwrap();
        assert_eq!(bad.len(), 1, "{bad:?}");
        assert_eq!(bad[0]["fault"], "the body has \"lost\" at \"/order/state\" instead of \"placed\"");
        assert_eq!((&bad[0]["request"], &bad[0]["status"]), (&"order".into(), &200.into()));
        assert_eq!(order["expectations"]["json"][0]["pointer"], "/order/id");
        assert_eq!(home["expectations"]["body_bytes"], 7);
    }
    assert!(server.heard().iter().filter(|heard| heard.path == "/order").all(|heard| {
        heard.method == "POST"
            && String::from_utf8_lossy(&heard.bytes).contains("Content-Type: application/json\r\n")
    }));
    let url = format!("http://{}/", server.address);
    let output = paceline(&[&url, "-n", "100", "--mix", mix]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains(" bad body\n") && text.contains("the first bad response of order: status 200"),
        "{text}"
    );
    assert!(text.contains(r#"{"order": {"id": 7, "state": "lost"}}"#), "{text}");
}

#[test]
fn responses_of_a_mix_are_read_by_their_methods() {
    let server = Server::start(shop);
    let folder = tempfile::tempdir().unwrap();
    let mix = folder.path().join("heads.toml");
    let text = "[[request]]\nmethod = 'HEAD'\nname = 'head'\n[[request]]\nname = 'get'\nexpect_body = 'welcome'\n\
                [[request]]\npath = '/head'\nexpect_status = 204\n";
    std::fs::write(&mix, text).unwrap();
    for depth in ["1", "6"] {
        let flags = ["--mix", mix.to_str().unwrap(), "-c", "3", "--pipeline", depth, "-H", "X-All: yes"];
        let record = run(&server, "/", 600, &flags);
        assert_eq!(count(&record["total"], "ok"), 600, "{record}");
    }
    assert!(
        server
            .heard()
            .iter()
            .all(|heard| String::from_utf8_lossy(&heard.bytes).contains("\r\nX-All: yes\r\n"))
    );
}

#[test]
fn placeholders_are_unique_over_threads_and_lengths_are_right() {
    let server = Server::start(ok);
    let folder = tempfile::tempdir().unwrap();
    let names = folder.path().join("names.txt");
    std::fs::write(&names, "ann\r\nb\u{e9}la\ncy\n").unwrap();
    let body = format!("{{\"n\": {{seq}}, \"name\": \"{{line:{}}}\"}}", names.display());
    let flags = ["-X", "POST", "--body", &body, "-c", "4", "-t", "2", "--pipeline", "4"];
    let record = run(&server, "/item/{seq}?r={rand:10:12}", 900, &flags);
    assert_eq!(count(&record["total"], "ok"), 900, "{record}");
    let heard = server.heard();
    let mut numbers = BTreeSet::new();
    let mut by_name = [0; 3];
    for heard in &heard {
        let (number, random) = heard.path["/item/".len()..].split_once("?r=").unwrap();
        assert!(matches!(random, "10" | "11" | "12"), "{}", heard.path);
        assert!(numbers.insert(number.parse::<u64>().unwrap()), "{number} twice");
        let names = ["ann", "b\u{e9}la", "cy"];
        let name = names
            .iter()
            .position(|name| heard.body == format!("{{\"n\": {number}, \"name\": \"{name}\"}}").as_bytes());
        by_name[name.unwrap_or_else(|| panic!("{:?}", String::from_utf8_lossy(&heard.body)))] += 1;
    }
    assert_eq!(numbers.len(), 900);
    assert!(by_name.iter().all(|count| (298..=302).contains(count)), "in turn: {by_name:?}");
    let again = run(&server, "/x", 20, &["--literal", "--body", "{seq}", "-c", "2"]);
    assert_eq!(count(&again["total"], "ok"), 20);
    assert_eq!(server.heard().last().unwrap().body, b"{seq}");
}

#[test]
fn bodies_are_checked_by_digest_and_by_value() {
    let server = Server::start(|heard| match heard.path.as_str() {
        // A different body each time, with the same value in it.
        "/json" => (200, [b"{\"ok\": true, \"n\": \"".as_slice(), &heard.body, b"\"}"].concat()),
        "/long" => (200, vec![b'x'; 3_000_000]),
        _ => (200, b"abc".to_vec()),
    });
    // FIPS 180-2, appendix B.1.
    let right = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let wrong = right.replace('b', "c");
    for (path, flags, outcome) in [
        ("/", ["--expect-sha256", right], "ok"),
        ("/", ["--expect-sha256", &wrong], "bad_body"),
        ("/json", ["--expect-json", "/ok=true"], "ok"),
        ("/json", ["--expect-json", "/ok=false"], "bad_body"),
        ("/json", ["--expect-json", "/none=1"], "bad_body"),
        ("/", ["--expect-json", "/ok=true"], "bad_body"),
        ("/", ["--expect-status", "204"], "bad_status"),
        ("/", ["--expect-body", "abd"], "bad_body"),
    ] {
        let flags = [&flags[..], &["--body", "{seq}", "-X", "POST", "-c", "3"]].concat();
        let record = run(&server, path, 60, &flags);
        assert_eq!(count(&record["total"], outcome), 60, "{path} {flags:?}: {}", record["bad_bodies"]);
        assert_eq!(record["bad_bodies"].is_array(), outcome == "bad_body", "{flags:?}");
    }
    let digest = "4b2da9ca4a2d83f4bf7c3cd2d8b07ab5b6e6a24a9a3a6a55b2a9f8f3ba2d5c47";
    let record = run(&server, "/long", 6, &["--expect-sha256", digest, "-c", "2"]);
    let reported = record["bad_bodies"][0]["fault"].as_str().unwrap();
    let right =
        reported.strip_prefix("the body does not have the expected SHA-256, but ").unwrap().to_owned();
    let record = run(&server, "/long", 6, &["--expect-sha256", &right, "-c", "2"]);
    assert_eq!(count(&record["total"], "ok"), 6, "bodies longer than are kept are hashed as they come");
    assert_eq!(record["expectations"]["body_sha256"], right.as_str());
}

#[test]
fn standard_input_is_a_body() {
    let server = Server::start(ok);
    let url = format!("http://{}/", server.address);
    let mut child = Command::new(PACELINE)
        .args([
            "run",
            &url,
            "-n",
            "10",
            "-c",
            "2",
            "-X",
            "PUT",
            "--body",
            "@-",
            "--expect-body",
            "from a pipe",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"from a pipe").unwrap();
    assert!(matches!(child.wait().unwrap().code(), Some(0 | 1)));
    assert!(server.heard().iter().all(|heard| heard.method == "PUT" && heard.body == b"from a pipe"));
}

#[test]
fn the_default_request_is_the_documented_one() {
    let server = Server::start(ok);
    run(&server, "/", 1, &["-c", "1"]);
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/requests.md")).unwrap();
    let block = page.split("```").nth(1).unwrap().trim_start();
    let documented = block
        .replace("127.0.0.1:8080", &server.address.to_string())
        .replace("paceline/0.1.0", concat!("paceline/", env!("CARGO_PKG_VERSION")))
        .replace('\n', "\r\n");
    let heard = server.heard();
    let sent = String::from_utf8_lossy(&heard[0].bytes);
    assert_eq!(sent, documented + "\r\n", "docs/requests.md shows another request than is sent");
}

#[test]
fn the_documented_mix_is_valid() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/requests.md")).unwrap();
    let mix = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in
        [("shop.toml", mix), ("users.txt", "ann\nbo\n"), ("order.json", "{}"), ("home.html", "welcome")]
    {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let server = Server::start(shop);
    let record =
        run(&server, "/", 50, &["--mix", folder.path().join("shop.toml").to_str().unwrap(), "-c", "2"]);
    assert_eq!(count(&record["total"], "scheduled"), 50);
    assert!(record["by_request"].as_array().unwrap().len() > 2);
}

#[test]
fn an_invalid_request_is_reported_before_any_request() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let typo = file("typo.toml", "[[request]]\npath = '/'\nwieght = 2\n");
    let header = file("header.toml", "\n[[request]]\nname = 'a'\nheaders = { 'X Y' = '1' }\n");
    let pointer = file("pointer.toml", "[[request]]\nexpect_json = { a = 1 }\n");
    let lines = file("lines.toml", "[[request]]\npath = '/{line:none.txt}'\n");
    for (arguments, said) in [
        (&["-H", "foo"][..], "write the header field as \"Name: value\""),
        (&["-H", "X: {seq"], "header X: \"{seq\" at character 1 has no closing brace"),
        (&["-X", "GE T"], "method \"GE T\": character 3 is invalid"),
        (&["-H", "Content-Length: 5"], "remove the header: Paceline adds it"),
        (&["--body", "@none"], "--body @none: cannot read none: No such file"),
        (&["--body", "@-", "--expect-body", "@-"], "--body has already read standard input"),
        (&["--body", "{line:none.txt}"], "{line:none.txt}: cannot read none.txt: No such file"),
        (&["--body", "{name}"], "--literal sends the text unchanged"),
        (&["--expect-status", "-5"], "the value cannot be below zero"),
        (&["--expect-status", "99999"], "a status must be a number from 200 to 599"),
        (&["--expect-status", "100"], "a status must be a number from 200 to 599"),
        (&["--expect-sha256", "beef"], "a SHA-256 has 64 hexadecimal digits"),
        (&["--expect-json", "a=1"], "pointer \"a\" does not begin with \"/\"; write \"/a\""),
        (&["--expect-json", "/a"], "write POINTER=VALUE"),
        (&["-c", "-5"], "the value cannot be below zero"),
        (&["-c", "1.5"], "write a whole number of 0 or more"),
        (&["--mix", &typo], "typo.toml:3: unknown key `wieght`; did you mean `weight`?"),
        (&["--mix", &header], "request `a`: header \"X Y\": character 2 is invalid"),
        (&["--mix", &pointer], "pointer.toml:2: expect_json: JSON pointer \"a\" does not begin"),
        (&["--mix", &lines], "request `/{line:none.txt}`: {line:none.txt}: cannot read"),
        (&["--mix", &typo, "--body", "x"], "cannot be used with '--body"),
    ] {
        let reported = complaint(arguments);
        assert!(reported.contains(said), "{arguments:?}: {reported}");
    }
}

#[test]
fn an_argument_that_is_not_utf_8_is_reported() {
    let field = std::ffi::OsStr::from_bytes(b"X: \xe9");
    let output =
        Command::new(PACELINE).args(["run", "http://127.0.0.1:9/", "-H"]).arg(field).output().unwrap();
    let reported = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{reported}");
    assert!(reported.contains("invalid UTF-8"), "{reported}");
}
