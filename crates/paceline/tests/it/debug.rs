//! Tests `--debug` over WebSocket and HTTP/3, against scripted servers; `requests/described.rs` tests it over HTTP/1.1 and
//! HTTP/2, `extended_connect.rs` for WebSocket over HTTP/2.

use crate::faults::http3::{GOOD, INTERNAL_ERROR, answering, good, response};
use crate::faults::quic::{Answer, End, Greeting, Script, serve};
use crate::faults::servers;
use crate::faults::{secure, websocket};
use paceline_http::h3::{push_field, push_prefix, write_headers};
use std::io::Write as _;
use std::process::Command;

/// Exit status, standard output and standard error.
pub fn debug(url: &str, flags: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_paceline"))
        .args(["run", url, "--debug"])
        .args(flags)
        .env("SSL_CERT_FILE", secure::trusted())
        .output()
        .unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.code(), stdout, stderr)
}

/// Checks that a text has these parts, in this order.
pub fn has_in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else {
            panic!("no {part:?} after the one before in {text}")
        };
        rest = after;
    }
}

#[test]
fn the_handshake_and_the_frames_of_a_websocket_are_shown() {
    let address = websocket::always(b"\x89\x01p\x01\x01o\x80\x01k");
    let (status, text, _) = debug(&format!("ws://{address}/chat"), &["--body", "ok"]);
    assert_eq!(status, Some(0), "{text}");
    let parts = [
        "* connected to 127.0.0.1:",
        "> GET /chat HTTP/1.1\n",
        "> Sec-WebSocket-Key: ",
        "< HTTP/1.1 101 Switching Protocols\n",
        "< Sec-WebSocket-Accept: ",
        "* frame > TEXT, FIN, mask ",
        ", length 2: \"ok\"\n* frame < PING, FIN, length 1: 70\n",
        "* frame < TEXT, length 1: \"o\"\n",
        "* frame < CONTINUATION, FIN, length 1: \"k\"\n",
        "* frame > CLOSE, FIN, mask ",
        ", length 2: code 1000 (normal closure)\n",
        "* checks: passed\n* times: connect ",
        ", WebSocket handshake ",
    ];
    has_in_order(&text, &parts);
    has_in_order(&text, &["* frame > PONG, FIN, mask ", ", length 1: 70\n"]);
}

#[test]
fn each_message_of_a_mix_has_a_websocket() {
    let address = websocket::always(b"\x82\x02ok");
    let mix = tempfile::NamedTempFile::new().unwrap();
    let requests = "[[request]]\nname = \"one\"\nbody = \"ok\"\n[[request]]\nname = \"two\"\nbody = \"no\"\n";
    std::fs::write(mix.path(), requests).unwrap();
    let (status, text, _) = debug(&format!("ws://{address}/"), &["--mix", mix.path().to_str().unwrap()]);
    assert_eq!(status, Some(1), "{text}");
    let parts = [
        "* request one\n",
        ", length 2: \"ok\"\n* frame < BINARY, FIN, length 2: 6f 6b\n",
        "* checks: passed\n",
        "* request two\n",
        ", length 2: \"no\"\n* frame < BINARY, FIN, length 2: 6f 6b\n",
        "* checks: failed: body: the body differs",
    ];
    has_in_order(&text, &parts);
}

#[test]
fn a_websocket_that_fails_is_shown_with_the_reason() {
    for (answer, parts) in [
        (
            &b"\x88\x0b\x03\xf3disk full"[..],
            &[
                "* frame < CLOSE, FIN, length 11: code 1011 (internal error), reason \"disk full\"\n",
                "* checks: failed: ",
                "disk full",
            ][..],
        ),
        (
            b"\x81\x82\0\0\0\0ok",
            &[
                "* frame < TEXT, FIN, mask 00000000, length 2: \"ok\"\n* frame > CLOSE, FIN, mask ",
                "code 1002 (protocol error)\n",
                "* checks: failed: ",
                "a frame of the server is masked",
            ],
        ),
    ] {
        let (status, text, _) = debug(&format!("ws://{}/", websocket::always(answer)), &["--body", "ok"]);
        assert_eq!(status, Some(1), "{text}");
        has_in_order(&text, parts);
    }
    let refusal = b"HTTP/1.1 426 Upgrade Required\r\nContent-Length: 2\r\n\r\nno";
    let (status, text, error) = debug(&format!("ws://{}/", websocket::refusing(refusal)), &[]);
    assert_eq!(status, Some(3), "{text}");
    has_in_order(
        &text,
        &["< HTTP/1.1 426 Upgrade Required\n", "* body: 2 bytes\nno\n", "* checks: failed: "],
    );
    assert!(error.contains("answered the WebSocket handshake with status 426"), "{error}");
}

#[test]
fn alternative_services_are_reported() {
    let address = servers::always(b"HTTP/1.1 200 OK\r\nAlt-Svc: h3=\":443\"\r\nContent-Length: 0\r\n\r\n");
    let (status, text, _) = debug(&format!("http://{address}/"), &[]);
    assert_eq!(status, Some(0), "{text}");
    has_in_order(&text, &["* Alt-Svc: the server offers HTTP/3 (h3=\":443\"): try --http 3\n"]);
}

#[test]
fn the_frames_of_http_3_are_shown() {
    let address = answering(|_| {
        let (mut bytes, mut trailers) = (response(200, &[("x-id", "7")], b"ok"), Vec::new());
        push_prefix(&mut trailers);
        push_field(&mut trailers, b"x-sum", b"9");
        write_headers(&mut bytes, &trailers);
        Answer { bytes, end: End::Fin }
    });
    let (status, text, _) = debug(&format!("https://{address}/a"), &["--http", "3", "--expect-body", "ok"]);
    assert_eq!(status, Some(0), "{text}");
    let sent = [
        "* TLS: ",
        "* frame > SETTINGS ",
        "* frame > HEADERS stream 0, length ",
        ": GET /a\n* frame > end of stream 0 (FIN)\n",
        "* frame < HEADERS stream 0, length ",
        ": status 200\n* frame < DATA stream 0, length 2\n* frame < HEADERS stream 0, length ",
        ": trailers\n* frame < end of stream 0 (FIN)\n",
        "* frame > CONNECTION_CLOSE, H3_NO_ERROR\n",
        "> :path: /a\n",
        "< HTTP/3 200\n< x-id: 7\n",
        "* body: 2 bytes\nok\n< x-sum: 9\n",
        "* checks: passed\n",
    ];
    has_in_order(&text, &sent);
    has_in_order(&text, &["* frame < SETTINGS "]);
}

#[test]
fn the_ends_of_http_3_streams_are_shown() {
    let reset = answering(|_| Answer { bytes: response(200, &[], b"ok"), end: End::Reset(INTERNAL_ERROR) });
    let closed = answering(|_| Answer { bytes: Vec::new(), end: End::Close(INTERNAL_ERROR, "disk full") });
    let leaving = answering(|number| match number {
        1 => Answer { bytes: Vec::new(), end: End::GoAway },
        number => good(number),
    });
    for (address, parts) in [
        (reset, &["* frame < RESET_STREAM stream 0, H3_INTERNAL_ERROR\n", "* checks: failed: "][..]),
        (closed, &["* frame < CONNECTION_CLOSE, H3_INTERNAL_ERROR disk full\n", "* checks: failed: "]),
    ] {
        let (status, text, error) = debug(&format!("https://{address}/"), &["--http", "3"]);
        assert_eq!(status, Some(3), "{text}{error}");
        has_in_order(&text, parts);
        assert!(error.contains("no complete response from 127.0.0.1:"), "{error}");
    }
    let (status, text, error) = debug(&format!("https://{leaving}/"), &["--http", "3"]);
    assert_eq!(status, Some(0), "{text}{error}");
    let parts = [
        "* frame < GOAWAY first stream 0\n",
        "* frame > STOP_SENDING stream 0, H3_REQUEST_CANCELLED\n",
        "* the server did not process the request: it is sent again\n* connected to ",
        "* checks: passed\n",
    ];
    has_in_order(&text, &parts);
}

#[test]
fn an_upload_that_a_server_stops_is_shown() {
    // H3_NO_ERROR: the response needs no more of the request (RFC 9114 §4.1).
    let address = serve(Script { greet: Greeting::StopSending(0x100), ..GOOD });
    let mut file = tempfile::NamedTempFile::new().unwrap();
    // More than the window of the stream.
    file.write_all(&[b'x'; 3 << 20]).unwrap();
    let body = format!("@{}", file.path().display());
    let (status, text, error) = debug(&format!("https://{address}/"), &["--http", "3", "--body", &body]);
    assert_eq!(status, Some(0), "{error}");
    let parts = [
        "* frame > HEADERS stream 0, length ",
        ": POST /\n",
        "* frame < STOP_SENDING stream 0, H3_NO_ERROR\n",
        "* frame > RESET_STREAM stream 0, H3_NO_ERROR\n",
        "< HTTP/3 200\n",
    ];
    has_in_order(&text, &parts);
}
