//! Generates random streams of responses: valid ones of every framing, and damaged ones.
//!
//! Used by the properties in `pieces.rs`. `oracle.rs` says what a stream means; a damaged one may still be valid.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// One or more responses in sequence.
pub fn stream() -> impl Strategy<Value = Vec<u8>> {
    vec(response(), 1..5).prop_map(|responses| responses.concat())
}

/// A stream with some bytes changed, removed or inserted: mostly invalid, sometimes not.
pub fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![select(b"\r\n \t:;,0159afHTP/.\0-".to_vec()), any::<u8>()];
    (stream(), vec((any::<Index>(), 0..3u8, byte), 1..4)).prop_map(|(mut bytes, edits)| {
        for (at, edit, byte) in edits {
            let at = at.index(bytes.len().max(1));
            match edit {
                0 => bytes.insert(at, byte),
                1 if at < bytes.len() => bytes[at] = byte,
                _ if at < bytes.len() => drop(bytes.remove(at)),
                _ => {}
            }
        }
        bytes
    })
}

/// Words of the grammar in any order.
pub fn babble() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.0 200\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 204 \r\n",
        "HTTP/",
        "\r\n",
        "\n",
        "\r",
        " ",
        "\t",
        "Content-Length: ",
        "content-length:",
        "5",
        "0",
        "a",
        "Transfer-Encoding: chunked\r\n",
        "Connection: close\r\n",
        "hello",
        "5\r\nhello\r\n",
        "0\r\n\r\n",
        ";x=\"y\"",
        ":",
        ",",
        "X-Y: z\r\n",
    ];
    let word = select(words.to_vec()).prop_map(|word| word.as_bytes().to_vec());
    let noise = vec(any::<u8>(), 0..4);
    vec(prop_oneof![9 => word, 1 => noise], 0..24).prop_map(|words| words.concat())
}

/// Piece sizes, used cyclically: no sizes mean one piece.
pub fn cuts() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![Just(vec![1]), vec(1..4usize, 1..6), vec(1..200usize, 1..6), Just(vec![])]
}

fn response() -> impl Strategy<Value = Vec<u8>> {
    let newline = prop_oneof![19 => Just("\r\n"), 1 => Just("\n")];
    let status = select(vec![200, 200, 200, 201, 204, 205, 206, 301, 304, 404, 500, 599, 999, 42]);
    let interims = vec(select(vec![100, 102, 103, 199]), 0..3);
    let first_line = (select(vec![0, 1, 1, 1, 2]), status, select(vec!["", " ", " OK", " No\tsuch \u{e9}"]));
    (newline, interims, first_line, vec(field(), 0..5), body()).prop_map(
        |(newline, interims, (minor, status, reason), fields, body)| {
            let mut text = String::new();
            for interim in interims {
                text += &format!("HTTP/1.1 {interim} Wait{newline}Link: </a>{newline}{newline}");
            }
            text += &format!("HTTP/1.{minor} {status:03}{reason}{newline}");
            for field in fields.iter().chain(&body.fields) {
                text += &field.replace("\r\n", newline);
                text += newline;
            }
            text += newline;
            let mut bytes = text.into_bytes();
            bytes.extend_from_slice(&body.bytes);
            bytes
        },
    )
}

fn field() -> impl Strategy<Value = String> {
    let fixed = select(vec![
        "Server: demo",
        "Connection: close",
        "connection: Keep-Alive",
        "Connection: x ,\tclose",
        "Connection:",
        "X:",
        "Date: Fri, 20 Nov 2026 10:00:00 GMT",
        "X-Folded: a\r\n b\r\n\tc",
        "Connection: keep-alive,\r\n close",
        "Content-Type: text/plain",
        "Content-Encoding: gzip",
        "Set-Cookie: a=b; Path=/; \u{e9}",
        "Keep-Alive: timeout=5",
    ]);
    prop_oneof![8 => fixed.prop_map(str::to_owned), 2 => "[A-Za-z!#$%&'*+.^_`|~-]{1,20}:[ -~]{0,40}"]
}

#[derive(Clone, Debug)]
struct Body {
    fields: Vec<String>,
    bytes: Vec<u8>,
}

fn body() -> impl Strategy<Value = Body> {
    let data = || vec(any::<u8>(), 0..60);
    let length = (data(), 0..5u8).prop_map(|(bytes, form)| {
        let length = bytes.len();
        let fields = match form {
            0 => vec![format!("Content-Length:{length}")],
            1 => vec![format!("CONTENT-LENGTH: \t{length} ")],
            2 => vec![format!("Content-Length: {length}, {length}")],
            3 => vec![format!("Content-Length: {length}"), format!("content-length: 00{length}")],
            _ => vec![format!("Content-Length:\r\n {length}")],
        };
        Body { fields, bytes }
    });
    let until_close = data().prop_map(|bytes| Body { fields: vec![], bytes });
    let nothing = Just(Body { fields: vec![], bytes: vec![] });
    prop_oneof![4 => length, 4 => chunked(), 1 => until_close, 1 => nothing]
}

fn chunked() -> impl Strategy<Value = Body> {
    let newline = || prop_oneof![19 => Just("\r\n"), 1 => Just("\n")];
    let valid = select(vec!["", "", " ", ";a", " \t;a=\"b;c\"", "; a = b ;c", ";a=\"\\\"\u{e9}\""]);
    let invalid = select(vec![" a", ";\u{e9}=\r", ";", ";a=", ";a=\"b", ";a=\"b\"c", ";a=\"\0\""]);
    let after_size = prop_oneof![19 => valid, 1 => invalid];
    let chunk =
        (vec(any::<u8>(), 1..40), select(vec![0, 1, 9]), any::<bool>(), after_size.clone(), newline());
    let trailers = vec(select(vec!["X-Sum: 1", "A:", "Folded: a\r\n b", "Expires: never"]), 0..3);
    let both = option::weighted(0.2, Just("Content-Length: 7".to_owned()));
    (vec(chunk, 0..4), after_size, trailers, newline(), both).prop_map(
        |(chunks, extension, trailers, newline, both)| {
            let mut bytes = Vec::new();
            for (data, zeros, upper, extension, newline) in chunks {
                let size = if upper { format!("{:X}", data.len()) } else { format!("{:x}", data.len()) };
                bytes.extend(format!("{}{size}{extension}{newline}", "0".repeat(zeros)).bytes());
                bytes.extend(&data);
                bytes.extend(newline.bytes());
            }
            bytes.extend(format!("0{extension}{newline}").bytes());
            for trailer in trailers {
                bytes.extend(format!("{trailer}{newline}").bytes());
            }
            bytes.extend(newline.bytes());
            let fields = both.into_iter().chain(["Transfer-Encoding: Chunked".to_owned()]).collect();
            Body { fields, bytes }
        },
    )
}
