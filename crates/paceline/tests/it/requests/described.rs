//! Tests requests described by forms, a curl command line or a HAR file, and `--debug`, which shows their exchanges.

use super::server::{Heard, Server};
use super::{complaint, count, ok, paceline, run};
use crate::faults::servers::each;
use paceline_http::h2;
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::time::Duration;

/// "hello", compressed: `printf hello | gzip -n`.
const HELLO_GZIP: &[u8] = &[
    0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0x86, 0xa6, 0x10, 0x36, 5, 0, 0,
    0,
];

fn compressed(_: &Heard) -> (u16, Vec<u8>) {
    (200, HELLO_GZIP.to_vec())
}

/// Exit status and standard output of `--debug`.
fn debug(server: &Server, flags: &[&str]) -> (Option<i32>, String) {
    let url = format!("http://{}/a", server.address);
    let output = paceline(&[&[url.as_str(), "--debug"], flags].concat());
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn debug_shows_one_exchange_and_exits() {
    let server = Server::start(ok);
    let (status, text) = debug(&server, &["--body", "{\"a\": 1}", "--expect-json", "/a=1"]);
    assert_eq!(status, Some(0), "{text}");
    for part in [
        "* connected to 127.0.0.1:",
        "> POST /a HTTP/1.1\n",
        "< HTTP/1.1 200 X\n",
        "{\"a\": 1}\n",
        "checks: passed",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (status, text) =
        debug(&server, &["--body", "{\"a\": 1}", "--expect-json", "/a=2", "--expect-status", "201"]);
    assert_eq!(status, Some(1), "{text}");
    assert!(
        text.contains("failed: status 200 instead of 201; body: the body has 1 at \"/a\" instead of 2"),
        "{text}"
    );
    assert_eq!(server.heard().len(), 2, "one request for each");
}

/// Answers each request of an HTTP/2 connection with a body, its headers and data in separate frames.
fn answer_http2(stream: &mut std::net::TcpStream) -> std::io::Result<()> {
    let (mut reader, mut received, mut buffer) = (h2::FrameReader::default(), Vec::new(), [0; 4096]);
    let mut out = Vec::new();
    h2::write_settings(&mut out, &[(3, 10)]);
    stream.write_all(&out)?;
    let mut preface = h2::CLIENT_PREFACE.len();
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            count => received.extend_from_slice(&buffer[..count]),
        }
        let skipped = preface.min(received.len());
        preface -= skipped;
        received.drain(..skipped);
        let mut out = Vec::new();
        while let Ok((event, taken)) = reader.next(&received)
            && taken > 0
        {
            match event {
                h2::FrameEvent::Settings(_) => h2::write_settings_ack(&mut out),
                h2::FrameEvent::FieldBlock { stream, .. } => {
                    h2::write_field_block(&mut out, stream, &[0x88], false);
                    h2::write_data(&mut out, stream, b"hello", true);
                }
                _ => {}
            }
            received.drain(..taken);
        }
        stream.write_all(&out)?;
    }
}

#[test]
fn debug_names_the_frames_of_http_2() {
    let address = each(|mut stream| _ = answer_http2(&mut stream));
    let url = format!("http://{address}/a");
    let output = paceline(&[&url, "--http", "2", "--debug", "-H", "x-id: 7", "--expect-body", "hello"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    for part in [
        "* frame < SETTINGS MAX_CONCURRENT_STREAMS=10\n",
        "* frame > SETTINGS, ACK\n",
        "* frame > HEADERS stream 1, ",
        "* frame < DATA stream 1, length 5, END_STREAM\n",
        "> :path: /a\n",
        "> x-id: 7\n",
        "< HTTP/2 200\n",
        "hello\n* checks: passed\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let output = paceline(&[&url, "--http", "2", "--debug", "--expect-body", "other"]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn debug_ends_on_an_endless_response() {
    let head = b"HTTP/1.1 200 OK\r\n\r\n";
    let without_end = each(move |mut stream| {
        let _ = stream.write_all(head);
        while stream.write_all(&[b'x'; 4096]).is_ok() {}
    });
    // Each byte comes long before a limit of a single read.
    let slow = each(move |mut stream| {
        let _ = stream.write_all(head);
        while stream.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    for address in [without_end, slow] {
        let output = paceline(&[&format!("http://{address}/"), "--debug", "--timeout", "300ms"]);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        let expected =
            format!("paceline: no complete response from {address}: not within 0.3 s (--timeout)\n");
        assert_eq!(stderr, expected);
    }
}

#[test]
fn bodies_are_decoded_by_their_content_encoding() {
    let packed = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(packed.path(), HELLO_GZIP).unwrap();
    let file = format!("@{}", packed.path().display());
    let accept = ["--accept-encoding", "gzip"];
    for (fields, expected, wrong) in [
        ("Content-Encoding: gzip\r\n", &["hello", &file][..], ""),
        // The download of a file that is gzip.
        ("", &[&file], "differs from the expected body"),
        ("Content-Encoding: br\r\n", &[&file], "Content-Encoding: br, but its body is not valid br"),
        ("Content-Encoding: compress\r\n", &[&file], "a rare compression in Content-Encoding"),
        ("Content-Encoding: gzip, gzip\r\n", &[&file], "several codings in Content-Encoding"),
        ("Content-Encoding: utf-8\r\n", &[&file], "unknown Content-Encoding"),
    ] {
        let server = Server::start_with(fields, compressed);
        for body in expected {
            let record = run(&server, "/", 20, &[&["-c", "2", "--expect-body", body], &accept[..]].concat());
            assert_eq!(count(&record["total"], "ok"), 20, "{fields}: {}", record["bad_bodies"]);
        }
        if !wrong.is_empty() {
            let record = run(&server, "/", 20, &["-c", "2", "--expect-body", "hello"]);
            let fault = record["bad_bodies"][0]["fault"].as_str().unwrap();
            assert!(count(&record["total"], "bad_body") == 20 && fault.contains(wrong), "{fields}: {fault}");
        }
    }
    let refused = complaint(&["--accept-encoding", "br, dcb", "--expect-body", "hello"]);
    assert!(refused.contains("Accept-Encoding dcb: Paceline cannot decompress this encoding"), "{refused}");
}

#[test]
fn a_curl_command_sends_what_curl_sends() {
    let server = Server::start(ok);
    let url = format!("http://me:x@{}/a%2Fb/%7Eu/%C3%A9?q=a%20b+c", server.address);
    let command = format!(
        "curl '{url}' --insecure --compressed -H 'Accept-Encoding: gzip, deflate, br' -H 'User-Agent:' -H 'X-B:' \
         -H 'Referer;' -b 'a=1'"
    );
    let output = paceline(&["--curl", &command, "-n", "1", "-c", "1", "-q"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = format!(
        "GET /a%2Fb/%7Eu/%C3%A9?q=a%20b+c HTTP/1.1\r\nHost: {}\r\nAccept: */*\r\n\
         Accept-Encoding: gzip, deflate, br\r\nReferer: \r\nAuthorization: Basic bWU6eA==\r\nCookie: a=1\r\n\r\n",
        server.address
    );
    assert_eq!(String::from_utf8_lossy(&server.heard()[0].bytes), expected);
}

#[test]
fn files_may_begin_with_a_byte_order_mark() {
    const MARK: &str = "\u{feff}";
    let folder = tempfile::tempdir().unwrap();
    let written = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("{MARK}{text}")).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let server = Server::start(ok);
    let url = format!("http://{}/x", server.address);
    let job = written("job.json", json!({ "url": url }).to_string());
    let entry = json!({ "request": { "method": "GET", "url": url } });
    let har = written("a.har", json!({ "log": { "entries": [entry] } }).to_string());
    let mix = written("mix.toml", "[[request]]\npath = \"/x\"\n".to_owned());
    let lines = written("u.txt", "ann\r\nbob\r\n".to_owned());
    let schedule = written("s.txt", "0\n0.001\n".to_owned());
    let body = format!("{{line:{lines}}}");
    for (flags, requests) in [
        (vec!["--job", &job, "-n", "2"], 2),
        (vec!["--har", &har, "-n", "2"], 2),
        (vec![url.as_str(), "--mix", &mix, "-n", "2"], 2),
        (vec![url.as_str(), "--schedule", &schedule], 2),
        (vec![url.as_str(), "--body", &body, "-n", "2"], 2),
    ] {
        let before = server.heard().len();
        let output = paceline(&[&flags[..], &["-c", "1", "-q"]].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{flags:?}: {stderr}");
        assert_eq!(server.heard().len() - before, requests, "{flags:?}");
    }
    let heard = server.heard();
    let bodies: Vec<_> = heard.iter().rev().take(2).map(|heard| heard.body.as_slice()).collect();
    assert_eq!(bodies, [b"bob", b"ann"]);
    // The file of a body is sent as it is.
    let file = written("b.json", "{}".to_owned());
    let flags = [url.as_str(), "--body", &format!("@{file}"), "-n", "1", "-c", "1", "-q"];
    assert!(matches!(paceline(&flags).status.code(), Some(0 | 1)));
    assert_eq!(server.heard().last().unwrap().body, format!("{MARK}{{}}").as_bytes());
}

#[test]
fn forms_are_sent_as_curl_sends_them() {
    let server = Server::start(ok);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), b"\0\xff").unwrap();
    let part = format!("f=@{};type=image/png;filename=a.png", file.path().display());
    run(&server, "/", 1, &["-c", "1", "-F", "a=b", "-F", &part]);
    run(&server, "/", 1, &["-c", "1", "--form", "a=1 2"]);
    let heard = server.heard();
    let body = String::from_utf8_lossy(&heard[0].body).into_owned();
    let head =
        "Content-Disposition: form-data; name=\"f\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n";
    assert!(body.contains(head) && heard[0].body.windows(2).any(|two| two == b"\0\xff"), "{body}");
    assert!(String::from_utf8_lossy(&heard[0].bytes).contains("multipart/form-data; boundary="));
    assert_eq!((heard[1].method.as_str(), heard[1].body.as_slice()), ("POST", &b"a=1+2"[..]));
}

#[test]
fn a_curl_command_is_converted_to_a_request() {
    let server = Server::start(ok);
    let command =
        format!("curl -s 'http://{}/x' -H 'X-A: 1' -u me:secret --data-raw '{{seq}}'", server.address);
    let output = paceline(&["--curl", &command, "-n", "1", "-c", "1", "--json"]);
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let heard = &server.heard()[0];
    let text = String::from_utf8_lossy(&heard.bytes);
    assert!(text.contains("X-A: 1\r\n") && text.contains("Authorization: Basic bWU6c2VjcmV0"), "{text}");
    assert_eq!((heard.path.as_str(), heard.body.as_slice()), ("/x", &b"{seq}"[..]), "sent as it stands");
    let shown = record.to_string();
    assert!(!shown.contains("secret") && !shown.contains("bWU6c2VjcmV0"), "{shown}");
}

#[test]
fn a_har_file_is_converted_to_a_mix() {
    let server = Server::start(ok);
    let url = |path: &str| format!("http://{}{path}", server.address);
    let entry = |url: &str| json!({ "request": { "method": "GET", "url": url, "headers": [] } });
    let entries = [entry(&url("/a")), entry(&url("/b")), entry(&url("/a")), entry("http://192.0.2.1/")];
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), json!({ "log": { "entries": entries } }).to_string()).unwrap();
    let output = paceline(&["--har", file.path().to_str().unwrap(), "-n", "50", "-c", "1", "--json"]);
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let parts = record["by_request"].as_array().unwrap();
    assert_eq!((&parts[0]["name"], &parts[0]["weight"]), (&json!("GET /a"), &json!(2)));
    assert_eq!(parts.len(), 2);
    assert!(String::from_utf8_lossy(&output.stderr).contains("skipped 1 request, because they are not for"));
}

#[test]
fn a_connection_can_go_to_another_address_than_the_url() {
    let server = Server::start(ok);
    let to = format!("shop.test:80:127.0.0.1:{}", server.address.port());
    let output = paceline(&["http://shop.test/x", "--connect-to", &to, "-n", "1", "-c", "1", "--json"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&server.heard()[0].bytes).contains("Host: shop.test\r\n"));
    let wrong = complaint(&["--connect-to", "other:80:127.0.0.1:1"]);
    assert!(
        wrong
            .contains("--connect-to other:80:127.0.0.1:1: host and port do not match the URL's, 127.0.0.1:9"),
        "{wrong}"
    );
}
