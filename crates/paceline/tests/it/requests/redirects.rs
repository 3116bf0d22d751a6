//! Tests `--follow` through the whole binary: chains of redirects, and redirects that are not followed. The resolution
//! of a Location is tested beside the code (`crates/engine/src/session/redirect.rs`).

use super::server::{Heard, Server};
use super::{complaint, count, paceline, run};

fn site(heard: &Heard) -> (u16, Vec<u8>) {
    match heard.path.as_str() {
        "/old" => (301, b"/older".to_vec()),
        "/older" => (302, b"new?a=1".to_vec()),
        "/new?a=1" if heard.method == "GET" && heard.body.is_empty() => (200, b"here".to_vec()),
        "/loop" => (307, b"/loop".to_vec()),
        "/away" => (302, b"http://127.0.0.2:1/".to_vec()),
        "/nowhere" => (303, Vec::new()),
        _ => (404, Vec::new()),
    }
}

#[test]
fn a_chain_is_followed_as_one_request() {
    let server = Server::start(site);
    for flags in [&["-c", "2"][..], &["-c", "2", "-r", "2000"], &["-c", "2", "--body", "x"]] {
        let flags = [&["--follow", "2", "--expect-body", "here"], flags].concat();
        let record = run(&server, "/old", 50, &flags);
        assert_eq!(count(&record["total"], "ok"), 50, "{flags:?}: {}", record["bad_bodies"]);
        assert_eq!(record["total"]["status"], serde_json::json!({"200": 50}));
        assert_eq!(record["connections"]["redirects_followed"], 100);
        assert_eq!(record["job"]["follow"], 2);
        assert_eq!(record["summary"]["requests"], 50, "{}", record["summary"]);
    }
    let record = run(&server, "/old", 10, &["-c", "1"]);
    assert_eq!(
        (count(&record["total"], "bad_status"), &record["job"]["follow"]),
        (10, &serde_json::Value::Null)
    );
}

#[test]
fn a_redirect_is_followed_if_the_server_closes_the_connection() {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/old", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        // A thread for each: a connection without a request must not delay the others.
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                let Ok(1..) = stream.read(&mut buffer) else { return };
                let answer: &[u8] = match buffer.starts_with(b"GET /new ") {
                    false => b"HTTP/1.1 302 Found\r\nLocation: /new\r\nConnection: close\r\n\r\n",
                    true => b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nhere",
                };
                let _ = stream.write_all(answer);
            });
        }
    });
    for flags in [&["-c", "1"][..], &["-c", "4"], &["-c", "4", "-r", "500"]] {
        let flags =
            [&[&*url, "-n", "40", "--follow", "1", "--expect-body", "here", "--format", "json"], flags];
        let output = paceline(&flags.concat());
        let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(record["total"]["status"], serde_json::json!({"200": 40}), "{}", record["bad_bodies"]);
        assert_eq!(count(&record["total"], "ok"), 40);
        assert_eq!(record["connections"]["redirects_followed"], 40);
    }
    let output = paceline(&[&url, "--debug", "--follow", "1", "--expect-body", "here"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_redirect_not_followed_ends_with_its_status_and_the_reason() {
    let server = Server::start(site);
    for (path, why) in [
        ("/loop", "the maximum of 2 redirects was reached"),
        ("/away", "it leads outside http://127.0.0.1:"),
        ("/nowhere", "the response has no Location header"),
    ] {
        let record = run(&server, path, 6, &["-c", "2", "--follow", "2"]);
        assert_eq!(count(&record["total"], "bad_status"), 6, "{path}");
        let fault = record["bad_bodies"][0]["fault"].as_str().unwrap();
        assert!(fault.contains(why), "{fault}");
    }
}

#[test]
fn debug_shows_each_response_of_a_chain() {
    let server = Server::start(site);
    let url = format!("http://{}/old", server.address);
    let output = paceline(&[&url, "--debug", "--follow", "5"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    let sent: Vec<&str> = text.lines().filter(|line| line.starts_with("> GET ")).collect();
    assert_eq!(sent, ["> GET /old HTTP/1.1", "> GET /older HTTP/1.1", "> GET /new?a=1 HTTP/1.1"], "{text}");
}

#[test]
fn redirects_cannot_be_followed_on_pipelined_connections() {
    let complaint = complaint(&["--follow", "1", "--pipeline", "2"]);
    assert!(complaint.contains("--follow cannot be combined with --pipeline"), "{complaint}");
}

#[test]
fn heads_with_lf_alone_are_accepted_with_lenient() {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(1..) = stream.read(&mut buffer) {
                    if stream.write_all(b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi").is_err() {
                        return;
                    }
                }
            });
        }
    });
    let flags = [&*url, "-n", "20", "-c", "1", "--format", "json"];
    let run = |more: &[&str]| {
        let output = paceline(&[&flags[..], more].concat());
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap_or_default()
    };
    assert_eq!(count(&run(&["--lenient"])["total"], "ok"), 20);
    assert_eq!(count(&run(&["--lenient", "--follow", "1"])["total"], "ok"), 20);
    assert_eq!(run(&[])["total"]["counts"]["ok"].as_u64().unwrap_or(0), 0);
}
