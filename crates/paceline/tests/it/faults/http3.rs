//! Faults of servers that speak HTTP/3, or should: four streams on each of three connections.
//!
//! `mod.rs` runs them, `table.rs` adds them to docs/reference/faults.md. Thousands of randomly faulty servers are
//! simulated in the engine's `conservation.rs`.

use super::quic::{Answer, End, Greeting, Script, serve};
use super::{Fault, UNMEASURED};
use paceline_http::h3::{push_field, push_prefix, write_control_stream, write_data, write_headers};
use std::net::{SocketAddr, UdpSocket};

const FLAGS: &[&str] = &["--expect-body", "ok", "--connect-timeout", "20s", "--http", "3", "--streams", "4"];
/// H3_INTERNAL_ERROR and H3_REQUEST_REJECTED (RFC 9114 §8.1).
pub const INTERNAL_ERROR: u32 = 0x102;
const REQUEST_REJECTED: u32 = 0x10b;

pub const FAULTS: &[Fault] = &[
    Fault {
        name: "does not answer over UDP",
        serve: || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let address = socket.local_addr().unwrap();
            // Open until the tests end.
            std::mem::forget(socket);
            address
        },
        flags: &["--expect-body", "ok", "--connect-timeout", "500ms", "--http", "3"],
        outcomes: &[UNMEASURED],
        exits: &[3],
        says: "check that the server speaks HTTP/3 and that no firewall drops UDP on that port; or try --http 2",
    },
    Fault {
        name: "refuses connections (CONNECTION_REFUSED)",
        serve: || serve(Script { greet: Greeting::Refuse, ..GOOD }),
        flags: FLAGS,
        outcomes: &[UNMEASURED],
        exits: &[3],
        says: "the server ended the QUIC connection with an error (",
    },
    Fault {
        name: "speaks another version of QUIC (Version Negotiation)",
        serve: || serve(Script { greet: Greeting::OtherVersion, ..GOOD }),
        flags: FLAGS,
        outcomes: &[UNMEASURED],
        exits: &[3],
        says: "the server speaks no version of QUIC that Paceline does (version 1)",
    },
    Fault {
        name: "validates the address of each client (Retry)",
        serve: || serve(Script { greet: Greeting::Retry, ..GOOD }),
        flags: FLAGS,
        outcomes: &["ok"],
        exits: &[0],
        says: "\"200\":12",
    },
    Fault {
        name: "forgets each connection (stateless reset)",
        serve: || answering(|_| Answer { bytes: Vec::new(), end: End::Forget }),
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "the server no longer knew the QUIC connection (a stateless reset)",
    },
    Fault {
        name: "closes each connection after the handshake (CONNECTION_CLOSE)",
        serve: || serve(Script { greet: Greeting::Close, ..GOOD }),
        flags: FLAGS,
        outcomes: &[UNMEASURED, "io_failed", "connect_failed"],
        exits: &[1, 3],
        says: "no worker",
    },
    Fault {
        name: "answers the handshake and no request",
        serve: || answering(|_| Answer { bytes: Vec::new(), end: End::Open }),
        flags: FLAGS,
        outcomes: &["timed_out"],
        exits: &[1],
        says: "No complete response arrived within the timeout",
    },
    Fault {
        name: "sends a response without an end",
        serve: || answering(|_| Answer { bytes: response(200, &[], b"ok"), end: End::Open }),
        flags: FLAGS,
        outcomes: &["timed_out"],
        exits: &[1],
        says: "No complete response arrived within the timeout",
    },
    Fault {
        name: "ends a stream without a response",
        serve: || answering(|_| Answer { bytes: Vec::new(), end: End::Fin }),
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "the stream ended before the response headers",
    },
    Fault {
        name: "ends a stream in the middle of a frame",
        serve: || {
            answering(|_| {
                let mut bytes = response(200, &[], b"ok");
                bytes.pop();
                Answer { bytes, end: End::Fin }
            })
        },
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "the stream ended inside an HTTP/3 DATA frame",
    },
    Fault {
        name: "resets every tenth stream (RESET_STREAM)",
        serve: || {
            answering(|number| match number % 10 {
                0 => Answer { bytes: Vec::new(), end: End::Reset(INTERNAL_ERROR) },
                _ => good(number),
            })
        },
        flags: FLAGS,
        outcomes: &["ok", "io_failed"],
        exits: &[1],
        says: "the server reset the stream of a request",
    },
    Fault {
        name: "processes no request (RESET_STREAM with H3_REQUEST_REJECTED)",
        serve: || answering(|_| Answer { bytes: Vec::new(), end: End::Reset(REQUEST_REJECTED) }),
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "the server refused the same request repeatedly",
    },
    Fault {
        name: "processes no request and ends each connection (GOAWAY)",
        serve: || answering(|_| Answer { bytes: Vec::new(), end: End::GoAway }),
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "the server refused the same request repeatedly",
    },
    Fault {
        name: "closes each connection with an error and a reason (CONNECTION_CLOSE)",
        serve: || answering(|_| Answer { bytes: Vec::new(), end: End::Close(INTERNAL_ERROR, "disk full") }),
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "disk full",
    },
    Fault {
        name: "ends its control stream",
        serve: || answering(|_| Answer { bytes: response(200, &[], b"ok"), end: End::ControlStream }),
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "the server closed an HTTP/3 stream that must stay open",
    },
    Fault {
        name: "begins its control stream without SETTINGS",
        serve: || serve(Script { control: || vec![0, 0x21, 0], ..GOOD }),
        flags: FLAGS,
        outcomes: &[UNMEASURED, "io_failed"],
        exits: &[1, 3],
        says: "the HTTP/3 control stream begins with type 0x21, not with SETTINGS",
    },
    Fault {
        name: "floods its control stream with frames of unknown types",
        serve: || {
            let control = || {
                let mut bytes = Vec::new();
                write_control_stream(&mut bytes);
                (0..FLOOD).for_each(|_| bytes.extend_from_slice(&[0x21, 0]));
                bytes
            };
            serve(Script { control, answer: |_| Answer { bytes: Vec::new(), end: End::Open }, ..GOOD })
        },
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "the server flooded the connection with useless frames",
    },
    Fault {
        name: "floods a response with empty frames",
        serve: || {
            answering(|_| {
                let mut bytes = response(200, &[], b"");
                (0..FLOOD).for_each(|_| write_data(&mut bytes, b""));
                Answer { bytes, end: End::Open }
            })
        },
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "the server flooded the connection with useless frames",
    },
    Fault {
        name: "answers in HTTP/1.1",
        serve: || answering(|_| Answer { bytes: b"HTTP/1.1 200 OK\r\n\r\nok".to_vec(), end: End::Fin }),
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "The response violates HTTP/3",
    },
    Fault {
        name: "sends a body before the headers",
        serve: || {
            answering(|_| {
                let mut bytes = Vec::new();
                write_data(&mut bytes, b"ok");
                Answer { bytes, end: End::Fin }
            })
        },
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "DATA before the response headers",
    },
    Fault {
        name: "sends a body that is longer than its Content-Length",
        serve: || {
            answering(|_| Answer { bytes: response(200, &[("content-length", "1")], b"ok"), end: End::Fin })
        },
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "content-length 1, but the length of the body is 2 or more",
    },
    Fault {
        name: "sends headers that refer to a dynamic table",
        serve: || answering(|_| Answer { bytes: vec![1, 3, 2, 0, 0x80], end: End::Fin }),
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "a field refers to QPACK's dynamic table, which has no room",
    },
    Fault {
        name: "sends 96 KB of headers",
        serve: || {
            answering(|_| {
                let long = "v".repeat(8_000);
                let fields = [("x", long.as_str()); 12];
                Answer { bytes: response(200, &fields, b"ok"), end: End::Fin }
            })
        },
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "The responses have more than 64 KiB of headers, which Paceline does not read.",
    },
];

/// More frames than any server needs to send.
const FLOOD: usize = 20_000;

/// A server that answers every request well.
pub const GOOD: Script = Script {
    greet: Greeting::Accept,
    control: || {
        let mut bytes = Vec::new();
        write_control_stream(&mut bytes);
        bytes
    },
    answer: good,
};

pub fn good(_: u64) -> Answer {
    Answer { bytes: response(200, &[], b"ok"), end: End::Fin }
}

pub fn answering(answer: fn(u64) -> Answer) -> SocketAddr {
    serve(Script { answer, ..GOOD })
}

/// The frames of a response; no DATA if its body is empty.
pub fn response(status: u16, fields: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let (mut section, mut bytes) = (Vec::new(), Vec::new());
    push_prefix(&mut section);
    push_field(&mut section, b":status", status.to_string().as_bytes());
    fields.iter().for_each(|(name, value)| push_field(&mut section, name.as_bytes(), value.as_bytes()));
    write_headers(&mut bytes, &section);
    if !body.is_empty() {
        write_data(&mut bytes, body);
    }
    bytes
}
