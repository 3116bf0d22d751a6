//! Faults of servers that speak WebSocket, or should: three connections, one message at a time.
//!
//! `mod.rs` runs them, `table.rs` adds them to docs/reference/faults.md. The engine's `websocket.rs` simulates hundreds
//! of randomly faulty servers.

use super::servers::{each, read_head, reset};
use super::{Fault, UNMEASURED};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use paceline_http::websocket::HandshakeKey;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};

const FLAGS: &[&str] = &["--body", "ok", "--expect-body", "ok", "--connect-timeout", "20s"];
/// The echo of the message.
const ECHO: &[u8] = b"\x81\x02ok";

pub const FAULTS: &[Fault] = &[
    Fault {
        name: "answers the handshake with an error",
        serve: || refusing(b"HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n"),
        flags: FLAGS,
        outcomes: &[UNMEASURED],
        exits: &[3],
        says: "the server answered the WebSocket handshake with status 426",
    },
    Fault {
        name: "answers the handshake with a wrong key",
        serve: || {
            refusing(
                b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: AAAA\r\n\r\n",
            )
        },
        flags: FLAGS,
        outcomes: &[UNMEASURED],
        exits: &[3],
        says: "which does not answer the key",
    },
    Fault {
        name: "does not answer the handshake",
        serve: || refusing(b""),
        flags: &["--body", "ok", "--expect-body", "ok", "--connect-timeout", "500ms"],
        outcomes: &[UNMEASURED],
        exits: &[3],
        says: "no answer to the WebSocket handshake within the connect timeout",
    },
    Fault {
        name: "answers no message",
        serve: || answering(|_| true),
        flags: FLAGS,
        outcomes: &["timed_out"],
        exits: &[1],
        says: "No complete response arrived within the timeout",
    },
    Fault {
        name: "resets in the middle of a frame",
        serve: || {
            answering(|stream| {
                let _ = stream.write_all(&ECHO[..3]);
                reset(stream);
                false
            })
        },
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "Connection reset by peer",
    },
    Fault {
        name: "half-closes after its answer",
        serve: || {
            answering(|stream| {
                let _ = stream.write_all(ECHO);
                let _ = stream.shutdown(Shutdown::Write);
                true
            })
        },
        flags: FLAGS,
        outcomes: &["ok", "io_failed"],
        exits: &[0, 1],
        says: "The server closed connections after a response",
    },
    Fault {
        name: "closes each connection with an error and a reason",
        serve: || always(b"\x88\x0b\x03\xf3disk full"),
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "disk full",
    },
    Fault {
        name: "closes each connection normally instead of answering",
        serve: || always(b"\x88\x02\x03\xe8"),
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "the server refused the same request repeatedly",
    },
    Fault {
        name: "masks its frames",
        serve: || always(b"\x81\x82\0\0\0\0ok"),
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "a frame of the server is masked",
    },
    Fault {
        name: "compresses without a request for it",
        serve: || always(b"\xc1\x02ok"),
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "a frame has a reserved bit (first byte 0xc1), but no extension was agreed on",
    },
    Fault {
        name: "sends a frame of an unknown type",
        serve: || always(b"\x83\x02ok"),
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "a frame has the undefined opcode 0x3",
    },
    Fault {
        name: "sends a text that is not UTF-8",
        serve: || always(b"\x81\x02\xff\xfe"),
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "a text message is not valid UTF-8",
    },
    Fault {
        name: "sends a PING of 126 bytes",
        serve: || always(b"\x89\x7e\0\x7e"),
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "a control frame has 126 bytes instead of at most 125",
    },
    Fault {
        name: "declares a message of 2^63 bytes",
        serve: || always(b"\x82\x7f\x80\0\0\0\0\0\0\0"),
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "the length of a frame exceeds 63 bits",
    },
    Fault {
        name: "floods with PING instead of answering",
        serve: || answering(|stream| stream.write_all(&b"\x89\0".repeat(20_000)).is_ok()),
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "the server flooded the connection with useless frames",
    },
    Fault {
        name: "sends a message without end",
        serve: || {
            answering(|stream| {
                let piece = [b"\x01\x7e\xff\xff".as_slice(), &[b'a'; 0xffff]].concat();
                let next = [b"\0\x7e\xff\xff".as_slice(), &[b'a'; 0xffff]].concat();
                let _ = stream.write_all(&piece);
                while stream.write_all(&next).is_ok() {}
                false
            })
        },
        flags: FLAGS,
        outcomes: &["timed_out"],
        exits: &[1],
        says: "No complete response arrived within the timeout",
    },
    Fault {
        name: "answers twice",
        serve: || always(b"\x81\x02ok\x81\x02ok"),
        flags: FLAGS,
        outcomes: &["ok", "io_failed"],
        exits: &[0, 1],
        says: "the server sent bytes although no request was outstanding",
    },
    Fault {
        name: "answers with another message",
        serve: || always(b"\x81\x02no"),
        flags: FLAGS,
        outcomes: &["bad_body"],
        exits: &[1],
        says: "the body differs from the expected body of 2 bytes",
    },
];

/// Answers every request for a connection with these bytes, and does nothing more.
pub fn refusing(answer: &'static [u8]) -> SocketAddr {
    each(move |mut stream| {
        if read_head(&mut stream).is_some() && stream.write_all(answer).is_ok() {
            while let Ok(1..) = stream.read(&mut [0; 4096]) {}
        }
    })
}

/// Opens connections and calls `answer` for every message; false closes the connection.
fn answering(answer: fn(&mut TcpStream) -> bool) -> SocketAddr {
    each(move |mut stream| {
        let Some(head) = read_head(&mut stream) else { return };
        if stream.write_all(&switched(&head)).is_err() {
            return;
        }
        // A message of two bytes, with the head of its frame and a mask.
        while let Ok(()) = stream.read_exact(&mut [0; 8]) {
            if !answer(&mut stream) {
                return;
            }
        }
    })
}

/// Opens connections and answers every message with these bytes.
pub fn always(bytes: &'static [u8]) -> SocketAddr {
    each(move |mut stream| {
        let Some(head) = read_head(&mut stream) else { return };
        let _ = stream.write_all(&switched(&head));
        while let Ok(()) = stream.read_exact(&mut [0; 8]) {
            let _ = stream.write_all(bytes);
        }
    })
}

/// The answer to the request for a connection.
fn switched(head: &[u8]) -> Vec<u8> {
    let head = String::from_utf8_lossy(head);
    let (_, rest) = head.split_once("Sec-WebSocket-Key: ").unwrap();
    let nonce = BASE64_STANDARD.decode(rest.lines().next().unwrap()).unwrap();
    let accept = HandshakeKey::from_nonce(nonce.try_into().unwrap()).accept();
    [b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ", accept.as_slice(), b"\r\n\r\n"].concat()
}
