//! Tests uploads: bodies in chunks, generated ones, long files, and bodies after `100 Continue`, as servers receive
//! them.
//!
//! When each part is sent is tested in virtual time (`crates/engine/tests/it/uploads.rs` and `read_bodies.rs`).

use super::server::Server;
use super::{PACELINE, complaint, count, ok, paceline, run};
use crate::faults::servers::each;
use paceline_http::h2;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

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

/// The body of the next request on a connection, with a length or in chunks.
fn read_body(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let (mut head, mut body) = (String::new(), Vec::new());
    while !head.ends_with("\r\n\r\n") {
        reader.read_line(&mut head).ok().filter(|count| *count > 0)?;
    }
    if let Some(rest) = head.split("Content-Length: ").nth(1) {
        body.resize(rest.lines().next()?.parse().ok()?, 0);
        reader.read_exact(&mut body).ok()?;
        return Some(body);
    }
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let (start, length) = (body.len(), usize::from_str_radix(line.trim_end(), 16).ok()?);
        body.resize(start + length + 2, 0);
        reader.read_exact(&mut body[start..]).ok()?;
        body.truncate(start + length);
        if length == 0 {
            return Some(body);
        }
    }
}

/// Answers each request after `look` at its body: 200 if that is as expected.
fn look_at_bodies(look: impl Fn(&[u8]) -> bool + Clone + Send + 'static) -> SocketAddr {
    each(move |stream| {
        let mut reader = BufReader::new(stream);
        while let Some(body) = read_body(&mut reader) {
            let no = b"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n";
            let _ = reader.get_mut().write_all(if look(&body) { OK } else { no });
        }
    })
}

/// Bytes that are not text, more than are kept in memory.
fn long_content() -> Vec<u8> {
    (0..=250).collect::<Vec<u8>>().repeat((33 << 20) / 251)
}

fn body_flag(path: &Path) -> String {
    format!("@{}", path.display())
}

/// A form with a text and, under these names, parts that are the same file, as it is sent.
fn form_bytes(file_name: &str, content: &[u8], names: &[&str]) -> Vec<u8> {
    // The separator of the binary.
    let separator = "--paceline-5f3a9c41d7e24b08";
    let head = |fields: &str| format!("{separator}\r\nContent-Disposition: form-data; {fields}\r\n\r\n");
    let mut bytes = (head("name=\"text\"") + "some\r\n").into_bytes();
    for name in names {
        let fields =
            format!("name=\"{name}\"; filename=\"{file_name}\"\r\nContent-Type: application/octet-stream");
        bytes.extend_from_slice(head(&fields).as_bytes());
        bytes.extend_from_slice(content);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(format!("{separator}--\r\n").as_bytes());
    bytes
}

/// A file of this length without content, and the flag that sends it.
fn empty_file(length: u64) -> (tempfile::NamedTempFile, String) {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(length).unwrap();
    let flag = body_flag(file.path());
    (file, flag)
}

#[test]
fn a_long_file_arrives_whole() {
    let content = Arc::new(long_content());
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), content.as_slice()).unwrap();
    let (flag, expected) = (body_flag(file.path()), Arc::clone(&content));
    let address = look_at_bodies(move |body| body == expected.as_slice());
    for flags in [&["--body", &flag][..], &["--chunked=100k", "--body", &flag]] {
        let record = record(address, &[&["-n", "3", "-c", "2"], flags].concat());
        assert_eq!(count(&record["total"], "ok"), 3, "{flags:?}: {record}");
        assert_eq!(record["body_faults"], Value::Null);
        // The file was just written: whether a read waits for the disk depends on the machine.
        let waits = &record["body_waits"];
        let waited = ["wait_ns_max", "wait_ns_total"].map(|key| waits[key].as_u64().unwrap());
        assert!(waits["reads"].is_u64() && waited[0] <= waited[1], "{waits}");
    }
    let short = record(address, &["-n", "1", "-c", "1", "--body", "short"]);
    assert_eq!(short["body_waits"], Value::Null, "no file was read");
    let url = format!("http://{address}/");
    let flags = ["run", &url, "-n", "2", "-c", "1", "--format", "json", "--body", "@-"];
    let output = Command::new(PACELINE).args(flags).stdin(File::open(file.path()).unwrap()).output().unwrap();
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(count(&record["total"], "ok"), 2, "standard input: {record}");
}

#[test]
fn a_form_of_long_files_arrives_whole() {
    let (file, content) = (tempfile::NamedTempFile::new().unwrap(), long_content());
    std::fs::write(file.path(), &content).unwrap();
    let name = file.path().file_name().unwrap().to_str().unwrap();
    let expected = Arc::new(form_bytes(name, &content, &["a", "b"]));
    let address = look_at_bodies(move |body| body == expected.as_slice());
    let [a, b] = ["a", "b"].map(|part| format!("{part}={}", body_flag(file.path())));
    for framing in [&[][..], &["--chunked=100k"][..]] {
        let flags = ["-n", "3", "-c", "2", "-F", "text=some", "-F", &a, "-F", &b];
        let record = record(address, &[&flags[..], framing].concat());
        assert_eq!(count(&record["total"], "ok"), 3, "{framing:?}: {record}");
        assert_eq!(record["body_faults"], Value::Null);
        assert!(record["body_waits"]["reads"].is_u64(), "{framing:?}: {record}");
    }
}

/// A run whose standard input is a pipe with this content, with this folder for temporary files.
fn with_pipe(flags: &[&str], content: &[u8], folder: &Path) -> Output {
    let mut command = Command::new(PACELINE);
    command.arg("run").args(flags).env("TMPDIR", folder).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    // A run that refuses the body closes the pipe.
    let _ = input.write_all(content);
    drop(input);
    child.wait_with_output().unwrap()
}

#[test]
fn a_long_body_from_a_pipe_arrives_whole_and_leaves_nothing() {
    let content = Arc::new(long_content());
    let expected = Arc::clone(&content);
    let address = look_at_bodies(move |body| body == expected.as_slice());
    let (url, folder) = (format!("http://{address}/"), tempfile::tempdir().unwrap());
    for (body, more) in [("@-", &[][..]), ("@/dev/stdin", &["--chunked=100k"])] {
        let flags =
            [&[url.as_str(), "-n", "3", "-c", "2", "--format", "json", "--body", body], more].concat();
        let output = with_pipe(&flags, &content, folder.path());
        let reported = String::from_utf8_lossy(&output.stderr);
        let record: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {reported}"));
        assert_eq!(count(&record["total"], "ok"), 3, "{body}: {record}");
        assert_eq!(record["body_faults"], Value::Null, "{body}");
        let copied = format!("copied to a temporary file in {}", folder.path().display());
        assert!(reported.contains(&copied), "{body}: {reported}");
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "{body}");
    }
}

#[test]
fn a_long_pipe_that_cannot_be_copied_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let url = "http://127.0.0.1:9/";
    let content = long_content();
    let none = folder.path().join("none");
    let output = with_pipe(&[url, "--body", "@-"], &content, &none);
    let reported = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{reported}");
    let expected = format!("--body @-: cannot create a temporary file in {}", none.display());
    assert!(reported.contains(&expected) && reported.contains("set TMPDIR"), "{reported}");
    let output = with_pipe(&[url, "--body", "@-", "--loaders", "2"], b"x", folder.path());
    let reported = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{reported}");
    assert!(reported.contains("several load generators cannot read one pipe"), "{reported}");
    for flag in ["--profile", "--syscalls"] {
        let output = with_pipe(&[url, "--body", "@-", flag], b"x", folder.path());
        let reported = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{reported}");
        let expected = format!("{flag} repeats the load, but @- can be read only once");
        assert!(reported.contains(&expected), "{reported}");
    }
    // A file here, but in each loader its own standard input.
    let file = folder.path().join("body");
    std::fs::write(&file, "x").unwrap();
    let flags = ["run", url, "--body", "@/dev/stdin", "--loaders", "2"];
    let output = Command::new(PACELINE).args(flags).stdin(File::open(&file).unwrap()).output().unwrap();
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(reported.contains("several load generators cannot read one pipe"), "{reported}");
}

#[test]
fn a_file_larger_than_can_be_kept_needs_little_memory() {
    let (_file, flag) = empty_file(300 << 20);
    let address = each(|mut stream| {
        let (mut buffer, mut left) = (vec![0; 1 << 20], 0);
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            if left == 0 {
                // A head arrives in one read.
                let end = buffer[..count].windows(4).position(|four| four == b"\r\n\r\n").unwrap();
                let head = String::from_utf8_lossy(&buffer[..end]);
                let field = head.split("Content-Length: ").nth(1).unwrap();
                let length: u64 = field.lines().next().unwrap().parse().unwrap();
                left = length + end as u64 + 4;
            }
            left -= count as u64;
            if left == 0 {
                let _ = stream.write_all(OK);
            }
        }
    });
    let part = format!("part={flag}");
    for (kind, body) in [("--body", &flag), ("-F", &part)] {
        let record = record(address, &["-n", "2", "-c", "1", "-t", "1", "--literal", kind, body]);
        assert_eq!(count(&record["total"], "ok"), 2, "{kind}: {record}");
        assert!(record["total"]["bytes"]["sent"].as_u64().unwrap() > 600 << 20, "{kind}: {record}");
        let most = record["generator"]["rss_bytes_peak"].as_u64().unwrap();
        assert!(most < 128 << 20, "{kind}: {most} bytes");
    }
}

#[test]
fn a_file_that_changes_during_the_run_is_reported() {
    let verdict = |record: &Value| {
        let verdicts = record["verdicts"].as_array().unwrap();
        verdicts.iter().find(|verdict| verdict["name"] == "body_changed").cloned().unwrap_or_default()
    };
    // Its content is modified, and its length stays.
    let (file, flag) = empty_file(33 << 20);
    let (path, name) =
        (file.path().to_owned(), file.path().file_name().unwrap().to_str().unwrap().to_owned());
    let address = look_at_bodies(move |_| {
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).is_ok()
    });
    let flags = ["-n", "3", "-c", "1", "--literal", "--body", &flag];
    let found = record(address, &flags);
    assert_eq!(
        (count(&found["total"], "ok"), &verdict(&found)["severity"]),
        (3, &"caution".into()),
        "{found}"
    );
    assert_eq!(found["body_faults"]["changed"], serde_json::json!([name]));
    // It becomes shorter: more than sockets hold is missing.
    for (kind, before) in [("--body", ""), ("-F", "part=")] {
        let (file, flag) = empty_file(100 << 20);
        let path = file.path().to_owned();
        let address = each(move |mut stream| {
            let _ = stream.read(&mut [0; 1000]);
            File::options().write(true).open(&path).unwrap().set_len(1 << 20).unwrap();
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        });
        let body = format!("{before}{flag}");
        let found = record(address, &["-n", "3", "-c", "1", "--literal", kind, &body]);
        let counts = (count(&found["total"], "ok"), count(&found["total"], "io_failed"));
        assert!(counts.0 == 0 && counts.1 > 0, "{kind}: {found}");
        let blamed = verdict(&found);
        assert_eq!(
            (&blamed["severity"], &blamed["blame"]),
            (&"invalid".into(), &"user".into()),
            "{kind}: {found}"
        );
        assert!(found["body_faults"]["connections"].as_u64().unwrap() > 0, "{kind}: {found}");
    }
}

#[test]
fn long_files_that_cannot_be_sent_are_refused() {
    let (_file, flag) = empty_file((256 << 20) + 1);
    let found = complaint(&["--body", &flag, "--cookies"]);
    assert!(found.contains("the file is larger than the maximum of 256 MiB"), "{found}");
    assert!(found.contains("a larger file cannot be combined with --cookies"), "{found}");
    let found = complaint(&["--body", &flag, "--literal", "--debug"]);
    assert!(found.contains("--debug cannot show a body from a file above 32 MiB"), "{found}");
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
    let (file, long) = (tempfile::NamedTempFile::new().unwrap(), long_content());
    std::fs::write(file.path(), &long).unwrap();
    let name = file.path().file_name().unwrap().to_str().unwrap();
    let form_length = form_bytes(name, &long, &["part"]).len() as u64;
    let flag = body_flag(file.path());
    let part = format!("part={flag}");
    for (chunked, body, length, frame) in [
        ("--chunked=1000", &["--body", "{bytes:2MB}"][..], 2_000_000, 1000),
        ("--chunked=3", &["--body", "hello"], 5, 3),
        ("--chunked=1MB", &["--body", "{bytes:500kB}"], 500_000, 16_384),
        ("--chunked=10k", &["--body", &flag], long.len() as u64, 10_000),
        ("--chunked=10k", &["-F", "text=some", "-F", &part], form_length, 10_000),
    ] {
        *longest.lock().unwrap() = 0;
        let expected = length.to_string();
        let flags = ["--http", "2", "-n", "4", "-c", "2", chunked, "--expect-body", &expected];
        let record = record(address, &[&flags[..], body].concat());
        assert_eq!(count(&record["total"], "ok"), 4, "{chunked} {body:?}: {record}");
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
