//! WebSocket over HTTP/2 by `paceline run --http 2 ws://...` (RFC 8441), against a server that writes its frames by hand.

use crate::debug::{debug, has_in_order};
use crate::faults::secure;
use crate::faults::servers::each;
use paceline_http::h2::{
    CLIENT_PREFACE, ErrorCode, FrameEvent, FrameReader, HpackDecoder, HpackEncoder, HpackScratch, Indexing,
    write_data, write_field_block, write_reset, write_settings, write_settings_ack, write_window_update,
};
use paceline_http::websocket::mask;
use rustls::{ServerConnection, StreamOwned};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::process::{Command, Output};
use std::sync::Arc;

/// SETTINGS_ENABLE_CONNECT_PROTOCOL and SETTINGS_INITIAL_WINDOW_SIZE.
const ENABLE_CONNECT_PROTOCOL: u16 = 8;
const INITIAL_WINDOW_SIZE: u16 = 4;

/// What a server does with extended CONNECT.
#[derive(Clone, Copy)]
enum Manner {
    Echo,
    Refuse,
    /// Opens the WebSocket and resets the stream with the first message.
    Reset,
}

/// The URL of a server over plain text.
fn plain(settings: &'static [(u16, u32)], manner: Manner) -> String {
    let address = each(move |mut stream| converse(&mut stream, settings, manner, "http"));
    format!("ws://{address}/chat?a=1")
}

/// The URL of an echo over TLS.
fn secure_echo() -> String {
    let config = Arc::new(secure::config_of(b"h2"));
    let address = each(move |tcp| {
        let tls = ServerConnection::new(Arc::clone(&config)).unwrap();
        let settings = [(ENABLE_CONNECT_PROTOCOL, 1)];
        converse(&mut StreamOwned::new(tls, tcp), &settings, Manner::Echo, "https");
    });
    format!("wss://{address}/chat?a=1")
}

/// The record of 40 messages on two connections, if there is one, and everything.
fn run(url: &str, flags: &[&str]) -> (Value, Output) {
    let output = Command::new(env!("CARGO_BIN_EXE_paceline"))
        .args(["run", url, "--http", "2", "-n", "40", "-c", "2"])
        .args(["--body", "hello {seq}", "--ws-answer", "match", "--json", "--no-live"])
        .args(flags)
        .env("SSL_CERT_FILE", secure::trusted())
        .output()
        .unwrap();
    (serde_json::from_slice(&output.stdout).unwrap_or_default(), output)
}

fn converse(stream: &mut (impl Read + Write), settings: &[(u16, u32)], manner: Manner, scheme: &str) {
    let mut preface = [0; CLIENT_PREFACE.len()];
    if stream.read_exact(&mut preface).is_err() {
        return;
    }
    let (mut reader, mut decoder, mut buffer) = (FrameReader::default(), HpackDecoder::default(), [0; 4096]);
    let (mut out, mut input) = (Vec::new(), Vec::new());
    write_settings(&mut out, settings);
    while stream.write_all(&out).is_ok() {
        out.clear();
        let Ok(count @ 1..) = stream.read(&mut buffer) else { return };
        let mut rest = &buffer[..count];
        while !rest.is_empty() {
            let (event, taken) = reader.next(rest).unwrap();
            match event {
                FrameEvent::Settings(_) => write_settings_ack(&mut out),
                FrameEvent::FieldBlock { block, .. } => {
                    let mut fields = String::new();
                    decoder
                        .decode(block, &mut HpackScratch::default(), |field| {
                            let [name, value] = [field.name, field.value].map(String::from_utf8_lossy);
                            fields += &format!("{name}: {value}\n");
                        })
                        .unwrap();
                    let expected =
                        format!(":method: CONNECT\n:protocol: websocket\n:scheme: {scheme}\n:authority: ");
                    assert!(
                        fields.starts_with(&expected) && fields.contains(":path: /chat?a=1\n"),
                        "{fields}"
                    );
                    respond(&mut out, manner);
                }
                FrameEvent::Data { piece, flow_bytes, .. } => {
                    input.extend_from_slice(piece);
                    [0, 1].into_iter().for_each(|id| write_window_update(&mut out, id, flow_bytes.max(1)));
                    answer(&mut out, &mut input, manner);
                }
                _ => {}
            }
            rest = &rest[taken..];
        }
    }
}

fn respond(out: &mut Vec<u8>, manner: Manner) {
    let status: &[u8] = if let Manner::Refuse = manner { b"403" } else { b"200" };
    let (mut encoder, mut block) = (HpackEncoder::default(), Vec::new());
    encoder.field(b":status", status, Indexing::Omit, &mut block);
    write_field_block(out, 1, &block, false);
    if let Manner::Refuse = manner {
        write_data(out, 1, b"no entry", false);
    }
}

/// Answers the whole messages in the input, of up to 125 bytes: each frame in two pieces of DATA.
fn answer(out: &mut Vec<u8>, input: &mut Vec<u8>, manner: Manner) {
    while let [first, length, rest @ ..] = input.as_slice() {
        let length = usize::from(length & 0x7f);
        let Some((key, payload)) = rest.split_first_chunk::<4>() else { return };
        let Some(payload) = payload.get(..length) else { return };
        let mut payload = payload.to_vec();
        mask(&mut payload, *key);
        if *first == 0x81 {
            let frame = [&[0x81, length as u8], payload.as_slice()].concat();
            match manner {
                Manner::Reset => write_reset(out, 1, ErrorCode::INTERNAL_ERROR),
                Manner::Echo | Manner::Refuse => {
                    write_data(out, 1, &frame[..3], false);
                    write_data(out, 1, &frame[3..], false);
                }
            }
        }
        input.drain(..6 + length);
    }
}

#[test]
fn messages_are_echoed_over_http2() {
    for settings in [
        &[(ENABLE_CONNECT_PROTOCOL, 1)][..],
        // A message does not fit the window of the stream.
        &[(ENABLE_CONNECT_PROTOCOL, 1), (INITIAL_WINDOW_SIZE, 5)],
    ] {
        for flags in [&[][..], &["--pipeline", "4"]] {
            let (record, output) = run(&plain(settings, Manner::Echo), flags);
            assert_eq!(record["total"]["counts"]["ok"], 40, "{output:?}");
            assert_eq!(record["total"]["status"], json!({ "101": 40 }));
            assert_eq!(record["target"]["protocol"], "http/2");
            assert_eq!(record["connections"]["had"], 2);
        }
    }
}

#[test]
fn servers_without_websocket_over_http2_are_explained() {
    let (_, output) = run(&plain(&[], Manner::Echo), &[]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(
        errors.contains("does not offer WebSocket over HTTP/2") && errors.contains("--http 2"),
        "{errors}"
    );
    let (_, output) = run(&plain(&[(ENABLE_CONNECT_PROTOCOL, 1)], Manner::Refuse), &[]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(errors.contains("answered the WebSocket handshake with status 403"), "{errors}");
    assert!(errors.contains("its body: no entry"), "{errors}");
    let (record, output) = run(&plain(&[(ENABLE_CONNECT_PROTOCOL, 1)], Manner::Reset), &[]);
    let counts = &record["total"]["counts"];
    // A run gives up on such a server.
    assert!(counts["io_failed"].as_u64() >= Some(20), "{output:?}");
    assert_eq!(counts["io_failed"], counts["scheduled"]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn messages_are_echoed_over_http2_and_tls() {
    let (record, output) = run(&secure_echo(), &["--pipeline", "4"]);
    assert_eq!(record["total"]["counts"]["ok"], 40, "{output:?}");
    assert_eq!(record["target"]["protocol"], "http/2");
    assert_eq!(record["connections"]["had"], 2);
    assert_eq!(record["target"]["tls"]["alpn"], "h2", "{}", record["target"]);
}

#[test]
fn the_frames_of_both_protocols_are_shown() {
    for url in [plain(&[(ENABLE_CONNECT_PROTOCOL, 1)], Manner::Echo), secure_echo()] {
        let (status, text, error) = debug(&url, &["--http", "2", "--body", "hello"]);
        assert_eq!(status, Some(0), "{text}{error}");
        let parts = [
            "* frame < SETTINGS 0x8=1\n",
            "* frame > HEADERS stream 1, length ",
            "* frame < HEADERS stream 1, length ",
            "* frame > DATA stream 1, length 11\n",
            "* frame < DATA stream 1, length 3\n",
            "> :method: CONNECT\n> :protocol: websocket\n",
            "< HTTP/2 200\n",
            "* frame > TEXT, FIN, mask ",
            ", length 5: \"hello\"\n* frame < TEXT, FIN, length 5: \"hello\"\n",
            "* frame > CLOSE, FIN, mask ",
            "* checks: passed\n",
        ];
        has_in_order(&text, &parts);
    }
}
