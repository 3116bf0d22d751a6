//! Calls of gRPC by `paceline run`: messages from JSON, server reflection, statuses by name, and messages of streams.
//!
//! The server writes its frames and messages by hand. Outcomes of servers that break the rules are tested in the engine
//! (`tests/it/grpc.rs`).

use paceline_http::framed_message;
use paceline_http::h2::{
    CLIENT_PREFACE, FrameEvent, FrameReader, HpackDecoder, HpackEncoder, HpackScratch, Indexing, write_data,
    write_field_block, write_settings, write_settings_ack, write_window_update,
};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

const PROTO: &str = "syntax = \"proto3\"; package p; message M { int32 a = 1; }
    service S { rpc Get(M) returns (M); rpc List(M) returns (stream M); }";

/// The versions of server reflection that the server has.
#[derive(Clone, Copy, PartialEq)]
enum Reflection {
    None,
    OnlyAlpha,
}

/// A server of `p.S` that returns each message, three times from `List`; a message of -1 is NOT_FOUND.
struct Server {
    port: u16,
    /// The path and the metadata of the last call of `p.S`.
    fields: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(reflection: Reflection) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let fields = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&fields);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                std::thread::spawn(move || converse(stream, reflection, &seen));
            }
        });
        Self { port, fields }
    }

    fn run(&self, method: &str, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_paceline"))
            .args(["run", &format!("grpc://127.0.0.1:{}/p.S/{method}", self.port), "--no-live"])
            .args(arguments)
            .output()
            .unwrap()
    }

    /// The record of 20 calls on two connections, and whether they could be used.
    fn record(&self, method: &str, arguments: &[&str]) -> (Value, bool) {
        let output = self.run(method, &[&["-n", "20", "-c", "2", "--json"], arguments].concat());
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        (serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}{errors}")), output.status.success())
    }
}

/// Answers the calls on a connection.
fn converse(mut stream: TcpStream, reflection: Reflection, seen: &Mutex<Vec<String>>) {
    let mut preface = [0; CLIENT_PREFACE.len()];
    if stream.read_exact(&mut preface).is_err() {
        return;
    }
    let (mut reader, mut decoder, mut buffer) = (FrameReader::default(), HpackDecoder::default(), [0; 4096]);
    let (mut out, mut fields, mut body) = (Vec::new(), Vec::new(), Vec::new());
    write_settings(&mut out, &[]);
    while stream.write_all(&out).is_ok() {
        out.clear();
        let Ok(count @ 1..) = stream.read(&mut buffer) else { return };
        let mut rest = &buffer[..count];
        while !rest.is_empty() {
            let (event, taken) = reader.next(rest).unwrap();
            match event {
                FrameEvent::Settings(_) => write_settings_ack(&mut out),
                FrameEvent::FieldBlock { block, .. } => {
                    fields.clear();
                    body.clear();
                    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    decoder
                        .decode(block, &mut HpackScratch::default(), |field| {
                            fields.push(format!("{}: {}", text(field.name), text(field.value)));
                        })
                        .unwrap();
                }
                FrameEvent::Data { stream, piece, flow_bytes, end_stream, .. } => {
                    body.extend_from_slice(piece);
                    write_window_update(&mut out, 0, flow_bytes.max(1));
                    if end_stream {
                        answer(&mut out, stream, &fields, &body, reflection, seen);
                    }
                }
                _ => {}
            }
            rest = &rest[taken..];
        }
    }
}

/// Writes the response to a call.
fn answer(
    out: &mut Vec<u8>,
    stream: u32,
    fields: &[String],
    body: &[u8],
    reflection: Reflection,
    seen: &Mutex<Vec<String>>,
) {
    let path = fields.iter().find_map(|field| field.strip_prefix(":path: ")).unwrap();
    if let Some(method) = path.strip_prefix("/p.S/") {
        *seen.lock().unwrap() = fields.to_vec();
        let messages = if method == "List" { 3 } else { 1 };
        // A negative int32 is a varint of ten bytes.
        return match body.len() == 5 + 11 {
            true => respond(out, stream, &[], &[("grpc-status", "5"), ("grpc-message", "no%20such a")]),
            false => respond(out, stream, &vec![body.to_vec(); messages], &[("grpc-status", "0")]),
        };
    }
    if reflection == Reflection::OnlyAlpha && path.starts_with("/grpc.reflection.v1alpha.") {
        // `file_containing_symbol`, field 4.
        assert_eq!(body, framed_message(0, &part(4, b"p.S")));
        let files = part(4, &part(1, &descriptor()));
        return respond(out, stream, &[framed_message(0, &files)], &[("grpc-status", "0")]);
    }
    respond(out, stream, &[], &[("grpc-status", "12")]);
}

fn respond(out: &mut Vec<u8>, stream: u32, messages: &[Vec<u8>], trailers: &[(&str, &str)]) {
    let block = |fields: &[(&str, &str)]| {
        let (mut encoder, mut block) = (HpackEncoder::default(), Vec::new());
        for (name, value) in fields {
            encoder.field(name.as_bytes(), value.as_bytes(), Indexing::Omit, &mut block);
        }
        block
    };
    let head = block(&[(":status", "200"), ("content-type", "application/grpc+proto")]);
    write_field_block(out, stream, &head, false);
    messages.iter().for_each(|message| write_data(out, stream, message, false));
    write_field_block(out, stream, &block(trailers), true);
}

/// A field of bytes or text, or a message (Protocol Buffers, encoding: wire type 2).
fn part(number: u8, content: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(content.len()).unwrap()], content].concat()
}

/// [`PROTO`] as `google.protobuf.FileDescriptorProto`.
fn descriptor() -> Vec<u8> {
    // `number` 1, `label` optional, `type` int32.
    let field = [part(1, b"a"), vec![3 << 3, 1, 4 << 3, 1, 5 << 3, 5]].concat();
    let message = [part(1, b"M"), part(2, &field)].concat();
    let method = |name: &[u8]| [part(1, name), part(2, b".p.M"), part(3, b".p.M")].concat();
    let list = [method(b"List"), vec![6 << 3, 1]].concat();
    let service = [part(1, b"S"), part(2, &method(b"Get")), part(2, &list)].concat();
    [part(1, b"s.proto"), part(2, b"p"), part(4, &message), part(6, &service), part(12, b"proto3")].concat()
}

/// The definition of the service in a file.
fn proto(folder: &tempfile::TempDir) -> PathBuf {
    let file = folder.path().join("s.proto");
    std::fs::write(&file, PROTO).unwrap();
    file
}

#[test]
fn calls_are_counted_by_their_status() {
    let (server, folder) = (Server::start(Reflection::None), tempfile::tempdir().unwrap());
    let file = proto(&folder);
    let file = file.to_str().unwrap();
    let (record, is_usable) = server.record(
        "Get",
        &["--proto", file, "--body", "{\"a\": 7}", "-H", "x-user: u", "-H", "grpc-timeout: 5S"],
    );
    assert!(is_usable, "{record}");
    assert_eq!(
        (&record["total"]["status"], &record["total"]["counts"]["ok"]),
        (&json!({ "OK": 20 }), &json!(20))
    );
    assert_eq!(record["expectations"]["grpc_status"], "OK");
    assert_eq!(record["total"]["body_bytes"], json!({ "min": 7, "max": 7 }), "a prefix and a field");
    let fields = server.fields.lock().unwrap().clone();
    for field in
        [":method: POST", ":scheme: http", "content-type: application/grpc", "te: trailers", "x-user: u"]
    {
        assert!(fields.iter().any(|sent| sent == field), "{field}: {fields:?}");
    }
    assert!(!fields.iter().any(|sent| sent.starts_with("accept:")), "{fields:?}");
    let (record, is_usable) = server.record("Get", &["--proto", file, "--body", "{\"a\": -1}"]);
    assert!(!is_usable);
    let counts = &record["total"]["counts"];
    assert_eq!(
        (&counts["bad_status"], &record["total"]["status"]),
        (&json!(20), &json!({ "NOT_FOUND": 20 }))
    );
    assert_eq!(record["bad_bodies"][0]["fault"], "gRPC status NOT_FOUND: no such a");
    let expected = ["--proto", file, "--body", "{\"a\": -1}", "--expect-grpc-status", "NOT_FOUND"];
    assert!(server.record("Get", &expected).1);
}

#[test]
fn a_server_describes_its_methods() {
    let server = Server::start(Reflection::OnlyAlpha);
    let (record, is_usable) = server.record("List", &["--body", "{\"a\": 300}"]);
    assert!(is_usable, "{record}");
    let events = &record["total"]["stream_events"];
    assert_eq!(
        (&events["streams"], &events["events"], &events["events_of_ok_in_window"]),
        (&json!(20), &json!(60), &json!(60))
    );
    assert!(record["summary"]["events_per_s"].as_f64() > Some(0.0));
    assert_eq!(record["job"]["request"][0]["stream"]["format"], "messages");
    let output = server.run("List", &["--body", "{\"a\": 300}", "--debug"]);
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && shown.contains("3 messages\n{\"a\":300}\n"), "{shown}");
    assert!(shown.contains("< grpc-status: 0") && shown.contains("checks: passed"), "{shown}");
    let output = server.run("Get", &["--body", "{\"a\": -1}", "--debug"]);
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("checks: failed: gRPC status NOT_FOUND: no such a"), "{shown}");
}

#[test]
fn each_line_of_a_file_is_a_message() {
    let (server, folder) = (Server::start(Reflection::None), tempfile::tempdir().unwrap());
    let (file, ids) = (proto(&folder), folder.path().join("ids"));
    std::fs::write(&ids, "1\n300\n").unwrap();
    let body = format!("{{\"a\": {{line:{}}}}}", ids.display());
    let (record, is_usable) = server.record("Get", &["--proto", file.to_str().unwrap(), "--body", &body]);
    assert!(is_usable, "{record}");
    // The server returns them.
    assert_eq!(record["total"]["body_bytes"], json!({ "min": 7, "max": 8 }));
}

#[test]
fn encoded_messages_need_no_schema() {
    let (server, folder) = (Server::start(Reflection::None), tempfile::tempdir().unwrap());
    let message = folder.path().join("message");
    std::fs::write(&message, b"\x08{{").unwrap();
    let (record, is_usable) = server.record(
        "Get",
        &["--grpc-raw", "--body", &format!("@{}", message.display()), "--expect-body", "\u{8}{{"],
    );
    assert!(is_usable, "{record}");
    assert_eq!(record["total"]["body_bytes"], json!({ "min": 8, "max": 8 }), "braces are sent as they are");
}

#[test]
fn invalid_calls_are_explained() {
    let (server, folder) = (Server::start(Reflection::None), tempfile::tempdir().unwrap());
    let file = proto(&folder);
    let file = file.to_str().unwrap();
    for (method, arguments, explained) in [
        (
            "Get",
            &["--proto", file, "--body", "{\"b\": 1}"][..],
            "--body: not the JSON of a message of type p.M",
        ),
        ("Get", &["--proto", file, "--body", "{seq}"], "a message of gRPC cannot have {seq}"),
        ("Put", &["--proto", file], "service p.S has no method Put; it has Get, List"),
        ("Get", &["--proto", "no.proto"], "no.proto"),
        ("Get", &[], "the server answered with UNIMPLEMENTED"),
        ("Get", &["--proto", file, "--http", "1.1"], "--http"),
        ("Get", &["--proto", file, "--expect-status", "200"], "--expect-grpc-status"),
        ("Get", &["--proto", file, "-H", "grpc-timeout: 5"], "grpc-timeout \"5\" is invalid"),
    ] {
        let output = server.run(method, &[&["-n", "1", "-c", "1"], arguments].concat());
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(matches!(output.status.code(), Some(2 | 3)), "{arguments:?}: {:?}", output.status);
        assert!(errors.contains(explained), "{arguments:?}: {errors}");
    }
}
