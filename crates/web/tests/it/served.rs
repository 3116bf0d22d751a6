//! Tests of a running server: responses, refusals and headers.
//!
//! Requests are written to a socket byte by byte, since no client sends what an attacker would.

use crate::root;
use flate2::read::GzDecoder;
use paceline_web::{Library, LiveFeed, WebServer};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

/// A server of the rounds stored with the project, on any port of loopback. It ends with the process.
pub fn start() -> SocketAddr {
    start_with(Library::of_folder(&root().join("history")).unwrap())
}

/// A server of these results.
pub fn start_with(library: Library) -> SocketAddr {
    let server =
        WebServer::bind("127.0.0.1:0".parse().unwrap(), Vec::new(), library, LiveFeed::default()).unwrap();
    let url = server.url();
    let address = url.strip_prefix("http://").unwrap().trim_end_matches('/').parse().unwrap();
    std::thread::spawn(move || server.serve());
    address
}

/// Sends a request and reads the whole response.
fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).unwrap();
    String::from_utf8_lossy(&response).into_owned()
}

pub fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let response =
        ask(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"));
    let status = response.split(' ').nth(1).unwrap().parse().unwrap();
    (status, response)
}

#[test]
fn a_file_with_a_capacity_has_one_page() {
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/capacity.json");
    let address = start_with(Library::of_file(&stored).unwrap());
    let (_, index) = get(address, "/api/index");
    assert!(index.contains("\"only\":\"/capacity\""), "{index}");
    let page = |address| -> Value {
        let (status, response) = get(address, "/api/capacity");
        assert_eq!(status, 200, "{response}");
        serde_json::from_str(response.split_once("\r\n\r\n").unwrap().1).unwrap()
    };
    let shown = page(address);
    assert!(shown["measured"].as_str().unwrap().contains("with Paceline"), "{shown}");
    assert!(shown["command"].as_str().unwrap().contains(" capacity http://"), "{shown}");
    // Results of earlier versions have neither target, command nor conditions.
    let mut early: Value = serde_json::from_slice(&std::fs::read(&stored).unwrap()).unwrap();
    for key in ["target", "argv", "conditions"] {
        early.as_object_mut().unwrap().remove(key).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("early.json");
    std::fs::write(&path, early.to_string()).unwrap();
    let shown = page(start_with(Library::of_file(&path).unwrap()));
    assert_eq!((&shown["target"], &shown["measured"]), (&"".into(), &"".into()));
    std::fs::write(&path, "{\"windows\": []}").unwrap();
    assert!(Library::of_file(&path).is_err());
}

#[test]
fn pages_and_files_are_answered_with_protecting_headers() {
    let address = start();
    let (status, index) = get(address, "/api/index");
    assert_eq!(status, 200);
    let body = index.split_once("\r\n\r\n").unwrap().1;
    assert!(body.contains("\"plan\""), "{body:.300}");
    let rounds = paceline_web::export::find(&root().join("history")).unwrap();
    let round = paceline_web::export::round(&rounds[0]).unwrap();
    for path in ["/", "/app.js", "/app.css", "/icon.svg", &format!("/api/rounds/{}", round.id)] {
        let (status, response) = get(address, path);
        assert_eq!(status, 200, "{path}");
        let head = response.split_once("\r\n\r\n").unwrap().0.to_lowercase();
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self';",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
        ] {
            assert!(head.contains(header), "{path}: {head}");
        }
        assert!(!head.contains("access-control-allow-origin"), "{path}");
    }
}

#[test]
fn then_and_now_has_the_newest_round_of_each_plan() {
    let (status, response) = get(start(), "/api/then");
    assert_eq!(status, 200);
    let page: serde_json::Value = serde_json::from_str(response.split_once("\r\n\r\n").unwrap().1).unwrap();
    let rounds = page["rounds"].as_array().unwrap();
    let mut plans: Vec<&str> = rounds.iter().map(|round| round["round"]["plan"].as_str().unwrap()).collect();
    let sold_on_go = plans.iter().position(|plan| *plan == "sold-on-go").unwrap();
    plans.sort_unstable();
    assert_eq!(plans, ["frameworks", "million", "rabbit-hole", "rounds-8-9", "sold-on-go", "tetration"]);
    let names = |round: &serde_json::Value, key: &str| -> std::collections::BTreeSet<String> {
        let figures = round[key].as_array().unwrap().iter();
        figures.filter_map(|figure| Some(figure["observed"]["load"].as_str()?.to_owned())).collect()
    };
    for round in rounds {
        let loads = round["loads"].as_object().unwrap();
        assert!(loads.keys().all(|name| names(round, "observed").contains(name)), "{loads:?}");
    }
    assert!(rounds[sold_on_go]["loads"].as_object().unwrap().contains_key("ab-100k-http10"));
}

#[test]
fn the_servers_endpoint_matches_the_page_of_the_round() {
    let address = start();
    let body = |path: &str| -> serde_json::Value {
        serde_json::from_str(get(address, path).1.split_once("\r\n\r\n").unwrap().1).unwrap()
    };
    let round = "/api/rounds/imported-source-001-08585860";
    assert_eq!(body(&format!("{round}/servers")), body(round)["servers"]);
    assert_eq!(get(address, "/api/rounds/none/servers").0, 404);
}

#[test]
fn files_and_pages_are_compressed_for_clients_that_accept_it() {
    let address = start();
    for path in ["/app.js", "/api/index", "/api/rounds/imported-source-001-08585860"] {
        compressed_for_those_who_accept_it(address, path);
    }
}

fn compressed_for_those_who_accept_it(address: SocketAddr, path: &str) {
    let (_, plain) = get(address, path);
    let content = plain.split_once("\r\n\r\n").unwrap().1;
    for (accepts, expected) in [("br, gzip", true), ("GZIP;q=0.5", true), ("gzip;q=0", false), ("br", false)]
    {
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!("Host: {address}\r\nAccept-Encoding: {accepts}\r\nConnection: close");
        write!(stream, "GET {path} HTTP/1.1\r\n{head}\r\n\r\n").unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).unwrap();
        let end = response.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
        let head = String::from_utf8_lossy(&response[..end]).to_lowercase();
        assert!(head.contains("vary: accept-encoding"), "{accepts}: {head}");
        assert_eq!(head.contains("content-encoding: gzip"), expected, "{accepts}: {head}");
        let mut body = response.split_off(end + 4);
        if expected {
            let mut unpacked = Vec::new();
            GzDecoder::new(&*body).read_to_end(&mut unpacked).unwrap();
            body = unpacked;
        }
        assert!(body == content.as_bytes(), "{path}, {accepts}: {} bytes", body.len());
    }
}

#[test]
fn browsers_keep_files_for_ever_and_ask_whether_pages_changed() {
    let address = start();
    let head = |response: &str| response.split_once("\r\n\r\n").unwrap().0.to_lowercase();
    let (_, page) = get(address, "/");
    let script = page.split("src=\"").nth(1).unwrap().split('"').next().unwrap();
    let folder = script.strip_prefix('.').unwrap().rsplit_once('/').unwrap().0;
    assert!(folder.starts_with("/assets/"), "{script}");
    for file in ["app.js", "app.css", "plot.js", "icon.svg"] {
        let (status, file) = get(address, &format!("{folder}/{file}"));
        assert_eq!(status, 200);
        assert!(head(&file).contains("cache-control: public, max-age=31536000, immutable"), "{file:.400}");
    }
    assert_eq!(get(address, "/assets/0000000000000000/app.js").0, 404);
    for path in ["/", "/app.js", "/api/index", "/api/rounds/imported-source-001-08585860"] {
        let first = head(&get(address, path).1);
        assert!(first.contains("cache-control: private, no-cache"), "{path}: {first}");
        let tag = first.split("etag: ").nth(1).unwrap().lines().next().unwrap().to_owned();
        let tag = tag.replace("w/", "W/");
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nIf-None-Match: {tag}\r\nConnection: close\r\n\r\n"
        );
        let again = ask(address, &request);
        assert!(again.starts_with("HTTP/1.1 304 "), "{path}: {again:.300}");
        assert!(again.ends_with("\r\n\r\n"), "{path} has a body");
    }
    let (_, missing) = get(address, "/api/nothing");
    assert!(head(&missing).contains("cache-control: no-store"), "{missing}");
}

#[test]
fn an_unknown_host_is_refused() {
    let address = start();
    let response =
        ask(address, "GET /api/index HTTP/1.1\r\nHost: rebound.example\r\nConnection: close\r\n\r\n");
    assert!(response.starts_with("HTTP/1.1 403 "), "{response:.200}");
    assert!(!response.contains("rounds"), "{response:.300}");
}

#[test]
fn requests_cannot_write_and_cannot_leave_the_folder() {
    let address = start();
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        let request = format!(
            "{method} /api/index HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        assert!(ask(address, &request).starts_with("HTTP/1.1 405 "), "{method}");
    }
    for path in [
        "/../../etc/passwd",
        "/api/rounds/..%2f..%2f..%2fetc%2fpasswd",
        "/api/rounds/../../../etc/passwd",
        "/app.js/../../Cargo.toml",
        "/api/rounds/x/runs/y/..%2f..%2fCargo.toml",
        "/%2e%2e/Cargo.toml",
    ] {
        let (status, response) = get(address, path);
        assert_eq!(status, 404, "{path}: {response:.300}");
        assert!(!response.contains("root:") && !response.contains("[workspace]"), "{path}");
    }
    let (status, _) = get(address, &format!("/api/rounds/{}", "x".repeat(40_000)));
    assert_eq!(status, 414);
}
