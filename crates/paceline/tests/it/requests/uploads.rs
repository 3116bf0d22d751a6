//! Tests uploads: bodies in chunks, generated ones, and bodies after `100 Continue`, as servers receive them.
//!
//! When each part is sent is tested in virtual time (`crates/engine/tests/it/uploads.rs`).

use super::server::Server;
use super::{complaint, count, ok, paceline, run};
use crate::faults::servers::each;
use paceline_http::h2;
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The record of a run against an address.
fn record(address: SocketAddr, flags: &[&str]) -> Value {
    let url = format!("http://{address}/up");
    let output = paceline(&[&[url.as_str(), "--format", "json"], flags].concat());
    let reported = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {reported}"))
}

/// Reads from a connection until the bytes read last end like this; returns all of them.
fn read_until(stream: &mut TcpStream, end: &[u8]) -> Option<Vec<u8>> {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    while !bytes.ends_with(end) {
        match stream.read(&mut buffer) {
            Ok(count @ 1..) => bytes.extend_from_slice(&buffer[..count]),
            _ => return None,
        }
    }
    Some(bytes)
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[test]
fn a_body_in_chunks_has_no_length() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heard);
    let address = each(move |mut stream| {
        while let Some(request) = read_until(&mut stream, b"\r\n0\r\n\r\n") {
            kept.lock().unwrap().push(String::from_utf8(request).unwrap());
            let _ = stream.write_all(OK);
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("body.txt");
    std::fs::write(&file, "from a file").unwrap();
    let file = format!("@{}", file.display());
    for (flags, body) in [
        (["--chunked=4", "--body", "hello"], "4\r\nhell\r\n1\r\no\r\n0\r\n\r\n"),
        (["--chunked", "--body", "n{seq}"], "2\r\nn0\r\n0\r\n\r\n"),
        (["--chunked=1k", "--body", &file], "b\r\nfrom a file\r\n0\r\n\r\n"),
    ] {
        heard.lock().unwrap().clear();
        let record = record(address, &[&["-n", "3", "-c", "1"], &flags[..]].concat());
        assert_eq!(count(&record["total"], "ok"), 3, "{record}");
        let request = heard.lock().unwrap()[0].clone();
        let (head, sent) = request.split_once("\r\n\r\n").unwrap();
        assert!(
            head.contains("\r\nTransfer-Encoding: chunked") && !head.contains("Content-Length"),
            "{head}"
        );
        assert_eq!(sent, body, "{flags:?}");
    }
    // A generated one is not kept: 300 kB in chunks of 100 kB.
    heard.lock().unwrap().clear();
    let flags = ["-n", "2", "-c", "1", "--chunked=100k", "--body", "{bytes:300kB}"];
    assert_eq!(count(&record(address, &flags)["total"], "ok"), 2);
    let request = heard.lock().unwrap()[0].clone();
    let (_, sent) = request.split_once("\r\n\r\n").unwrap();
    assert_eq!((sent.len(), sent.matches("\r\n").count()), (300_000 + 3 * (5 + 4) + 5, 3 * 2 + 2));
}

#[test]
fn a_generated_body_has_the_length_that_was_asked_for() {
    let server = Server::start(|heard| (200, heard.body.len().to_string().into_bytes()));
    for (size, bytes) in [("5", 5), ("65536", 65_536), ("3MB", 3_000_000)] {
        let body = format!("{{bytes:{size}}}");
        let expected = bytes.to_string();
        let record = run(&server, "/", 6, &["-c", "2", "--body", &body, "--expect-body", &expected]);
        assert_eq!(count(&record["total"], "ok"), 6, "{}", record["bad_bodies"]);
        assert!(
            record["total"]["bytes"]["sent"].as_u64().unwrap() >= 6 * bytes,
            "{}",
            record["total"]["bytes"]
        );
    }
    let heard = server.heard();
    assert!(heard.iter().all(|heard| heard.body.is_ascii()));
    let text = String::from_utf8_lossy(&heard[0].bytes).into_owned();
    assert!(text.contains("Content-Type: application/octet-stream\r\n"), "{text}");
    for (flags, reported) in [
        (&["--body", "{bytes:x}"][..], "{bytes:x}: not a size"),
        (&["--body", "a{bytes:5}"], "stands for a whole body"),
        (&["--chunked"], "--chunked needs a body"),
        (&["--chunked", "--body", "a", "--cookies"], "--chunked cannot be combined with --cookies"),
        (&["--chunked=0", "--body", "a"], "write a size from 1 to 16MiB"),
        (&["--expect-continue", "--body", "a", "--pipeline", "2"], "cannot be combined with --pipeline"),
        (&["--fragment", "1", "--http", "2"], "--fragment cannot be combined with --http 2 or 3"),
    ] {
        let found = complaint(flags);
        assert!(found.contains(reported), "{flags:?}: {found}");
    }
}

#[test]
fn a_body_follows_100_continue() {
    let address = each(|mut stream| {
        while let Some(head) = read_until(&mut stream, b"\r\n\r\n") {
            if !String::from_utf8_lossy(&head).contains("\r\nExpect: 100-continue\r\n") {
                return;
            }
            let _ = stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
            let mut body = vec![0; 100_000];
            if stream.read_exact(&mut body).is_err() {
                return;
            }
            let _ = stream.write_all(OK);
        }
    });
    let body = "{bytes:100kB}";
    let record = record(address, &["-n", "20", "-c", "2", "--expect-continue", "--body", body]);
    assert_eq!(count(&record["total"], "ok"), 20, "{record}");
    let waited = &record["expect_continue"];
    assert_eq!(
        (&waited["continued"], &waited["answered"], &waited["silent"]),
        (&20.into(), &0.into(), &0.into())
    );
    assert_eq!(waited["continue_time_ns"]["count"], 20);
}

#[test]
fn a_refused_body_is_not_sent() {
    let surplus = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&surplus);
    let address = each(move |mut stream| {
        if read_until(&mut stream, b"\r\n\r\n").is_some() {
            let _ = stream.write_all(b"HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n");
            counted.fetch_add(stream.read(&mut [0; 10]).unwrap_or(0), Ordering::Relaxed);
        }
    });
    let flags = ["-n", "6", "-c", "2", "--expect-continue", "--body", "hello", "--expect-status", "417"];
    let record = record(address, &flags);
    assert_eq!(count(&record["total"], "ok"), 6, "{record}");
    assert_eq!(
        (&record["expect_continue"]["answered"], &record["total"]["status"]["417"]),
        (&6.into(), &6.into())
    );
    assert_eq!((&record["connections"]["closed_as_asked"], surplus.load(Ordering::Relaxed)), (&6.into(), 0));
}

/// Answers each request of an HTTP/2 connection when its body has ended, with the length of the body; keeps the longest
/// DATA frame.
fn count_http2(stream: &mut TcpStream, longest: &Mutex<usize>) -> std::io::Result<()> {
    let (mut reader, mut received, mut buffer) = (h2::FrameReader::default(), Vec::new(), [0; 16384]);
    let mut out = Vec::new();
    h2::write_settings(&mut out, &[]);
    stream.write_all(&out)?;
    let (mut preface, mut body) = (h2::CLIENT_PREFACE.len(), 0);
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
                h2::FrameEvent::Data { stream, piece, end_stream, .. } => {
                    body += piece.len();
                    let mut longest = longest.lock().unwrap();
                    *longest = piece.len().max(*longest);
                    if !piece.is_empty() {
                        h2::write_window_update(&mut out, 0, piece.len() as u32);
                        h2::write_window_update(&mut out, stream, piece.len() as u32);
                    }
                    if end_stream {
                        h2::write_field_block(&mut out, stream, &[0x88], false);
                        h2::write_data(&mut out, stream, body.to_string().as_bytes(), true);
                        body = 0;
                    }
                }
                _ => {}
            }
            received.drain(..taken);
        }
        stream.write_all(&out)?;
    }
}

#[test]
fn bodies_over_http_2_are_data_frames_of_the_size_of_a_chunk() {
    let longest = Arc::new(Mutex::new(0));
    let kept = Arc::clone(&longest);
    let address = each(move |mut stream| _ = count_http2(&mut stream, &kept));
    for (chunked, body, length, frame) in [
        ("--chunked=1000", "{bytes:2MB}", 2_000_000, 1000),
        ("--chunked=3", "hello", 5, 3),
        ("--chunked=1MB", "{bytes:500kB}", 500_000, 16_384),
    ] {
        *longest.lock().unwrap() = 0;
        let expected = length.to_string();
        let flags =
            ["--http", "2", "-n", "4", "-c", "2", chunked, "--body", body, "--expect-body", &expected];
        let record = record(address, &flags);
        assert_eq!(count(&record["total"], "ok"), 4, "{chunked} {body}: {record}");
        // A frame may be read in two parts.
        assert!((frame / 2..=frame).contains(&*longest.lock().unwrap()), "{longest:?}");
        assert!(
            record["total"]["bytes"]["sent"].as_u64().unwrap() >= 4 * length,
            "{}",
            record["total"]["bytes"]
        );
    }
}

#[test]
fn requests_in_pieces_arrive_whole() {
    let server = Server::start(ok);
    let flags = ["-c", "2", "--fragment", "7,1ms", "--body", "hello", "--expect-body", "hello"];
    let record = run(&server, "/", 10, &flags);
    assert_eq!(count(&record["total"], "ok"), 10, "{record}");
    // More than 150 bytes in pieces of 7, with a pause of 1 ms after each but the last.
    let fastest = record["total"]["service_time_ns"]["min"].as_f64().unwrap();
    assert!(fastest >= 20e6, "{fastest} ns");
}
