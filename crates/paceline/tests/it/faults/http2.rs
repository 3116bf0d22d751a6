//! Faults of servers that speak HTTP/2, or should: four streams on each of three connections.
//!
//! `mod.rs` runs them, `table.rs` adds them to docs/reference/faults.md. Thousands of randomly faulty servers are simulated in
//! the engine's `conservation.rs`.

use super::servers::each;
use super::{Fault, UNMEASURED};
use paceline_http::h2::{
    CLIENT_PREFACE, ErrorCode, FrameEvent, FrameReader, write_data, write_field_block, write_goaway,
    write_ping, write_reset, write_settings, write_settings_ack,
};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const FLAGS: &[&str] = &["--expect-body", "ok", "--connect-timeout", "20s", "--http", "2", "--streams", "4"];
/// More frames than any server needs to send, and fewer than fill a socket buffer.
const FLOOD: usize = 2_000;

pub const FAULTS: &[Fault] = &[
    Fault {
        name: "ends each connection after two requests (GOAWAY)",
        serve: || {
            serve(&[], |out, asked| {
                good(out, asked.stream);
                if asked.on_connection == 2 {
                    write_goaway(out, asked.stream, ErrorCode::NO_ERROR, b"");
                }
                asked.on_connection < 2
            })
        },
        flags: FLAGS,
        outcomes: &["ok"],
        exits: &[0],
        says: "\"ok\":12",
    },
    Fault {
        name: "ends each connection at once (GOAWAY)",
        serve: || {
            each(|mut stream| {
                let mut out = Vec::new();
                write_settings(&mut out, &[]);
                write_goaway(&mut out, 0, ErrorCode::NO_ERROR, b"");
                let _ = stream.write_all(&out);
                read_to_end(&mut stream);
            })
        },
        flags: FLAGS,
        outcomes: &[UNMEASURED],
        exits: &[3],
        says: "Look for the reason in the server's log, or try --http 1.1",
    },
    Fault {
        name: "resets every tenth stream (RST_STREAM)",
        serve: || {
            serve(&[], |out, asked| {
                match asked.in_all % 10 {
                    0 => write_reset(out, asked.stream, ErrorCode::INTERNAL_ERROR),
                    _ => good(out, asked.stream),
                }
                true
            })
        },
        flags: FLAGS,
        outcomes: &["ok", "io_failed"],
        exits: &[1],
        says: "the server reset the stream of a request (INTERNAL_ERROR), once",
    },
    Fault {
        name: "processes no request (RST_STREAM with REFUSED_STREAM)",
        serve: || {
            serve(&[], |out, asked| {
                write_reset(out, asked.stream, ErrorCode::REFUSED_STREAM);
                true
            })
        },
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "the server refused the same request repeatedly",
    },
    Fault {
        name: "ends each connection with an error and a reason (GOAWAY)",
        serve: || {
            serve(&[], |out, _| {
                write_goaway(out, 1_000, ErrorCode::ENHANCE_YOUR_CALM, b"too many resets");
                false
            })
        },
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "by GOAWAY (ENHANCE_YOUR_CALM: \\\"too many resets\\\")",
    },
    Fault {
        name: "sends 96 KB of headers",
        serve: || {
            serve(&[], |out, asked| {
                write_field_block(out, asked.stream, &long_block(), false);
                true
            })
        },
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "The responses have more than 64 KiB of headers, which Paceline does not read.",
    },
    Fault {
        name: "allows one stream at a time",
        serve: || {
            serve(&[(3, 1)], |out, asked| {
                good(out, asked.stream);
                true
            })
        },
        flags: FLAGS,
        outcomes: &["ok"],
        exits: &[0],
        says: "The server's limit of concurrent HTTP/2 streams is 1 per connection; 4 were requested.",
    },
    Fault {
        name: "compresses without a request for it",
        serve: || {
            serve(&[], |out, asked| {
                // `content-encoding: gzip` as a literal whose name is in the static table.
                write_field_block(out, asked.stream, b"\x88\x0f\x0b\x04gzip", false);
                write_data(out, asked.stream, b"ok", true);
                true
            })
        },
        flags: &["--connect-timeout", "20s", "--http", "2", "--streams", "4"],
        outcomes: &["ok"],
        exits: &[0],
        says: "Responses are compressed, although no request accepts compression.",
    },
    Fault {
        name: "floods with SETTINGS",
        serve: || {
            each(|mut stream| {
                let mut flood = Vec::new();
                (0..FLOOD).for_each(|_| write_settings(&mut flood, &[]));
                let _ = stream.write_all(&flood);
                read_to_end(&mut stream);
            })
        },
        flags: FLAGS,
        outcomes: &[UNMEASURED],
        exits: &[3],
        says: "the server flooded the connection with useless frames",
    },
    Fault {
        name: "floods with PING instead of answering",
        serve: || {
            serve(&[], |out, _| {
                (0..FLOOD).for_each(|_| write_ping(out, [0; 8]));
                true
            })
        },
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "the server flooded the connection with useless frames",
    },
    Fault {
        name: "answers in HTTP/1.1",
        serve: || {
            each(|mut stream| {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
                read_to_end(&mut stream);
            })
        },
        flags: FLAGS,
        outcomes: &[UNMEASURED],
        exits: &[3],
        says: "the server does not speak HTTP/2",
    },
];

/// A complete request.
pub struct Asked {
    pub stream: u32,
    /// Its number on its connection, from 1,
    pub on_connection: u64,
    /// and its number over all connections.
    pub in_all: u64,
}

/// A valid response.
fn good(out: &mut Vec<u8>, stream: u32) {
    // `:status: 200` from the static table (RFC 7541, appendix A).
    write_field_block(out, stream, &[0x88], false);
    write_data(out, stream, b"ok", true);
}

/// A field block with 12 literal fields of 8,000 bytes (RFC 7541 §6.2.2).
fn long_block() -> Vec<u8> {
    let mut block = vec![0x88];
    for _ in 0..12 {
        // A literal without indexing with a new name of one byte; the length 8,000 as 127 + 0x41 + 61 * 128.
        block.extend_from_slice(&[0, 1, b'x', 0x7f, 0xc1, 0x3d]);
        block.extend_from_slice(&[b'v'; 8_000]);
    }
    block
}

/// Sends these settings and answers every request with `answer`; false ends the connection.
pub fn serve(
    settings: &'static [(u16, u32)],
    answer: impl Fn(&mut Vec<u8>, &Asked) -> bool + Clone + Send + 'static,
) -> SocketAddr {
    let in_all = Arc::new(AtomicU64::new(0));
    each(move |mut stream| {
        converse(&mut stream, settings, &answer, &in_all);
        let _ = stream.shutdown(Shutdown::Write);
        read_to_end(&mut stream);
    })
}

fn converse(
    stream: &mut TcpStream,
    settings: &[(u16, u32)],
    answer: &impl Fn(&mut Vec<u8>, &Asked) -> bool,
    in_all: &AtomicU64,
) {
    let mut preface = [0; CLIENT_PREFACE.len()];
    if stream.read_exact(&mut preface).is_err() {
        return;
    }
    let (mut reader, mut buffer, mut on_connection) = (FrameReader::default(), [0; 4096], 0);
    let (mut out, mut goes_on) = (Vec::new(), true);
    write_settings(&mut out, settings);
    while goes_on && stream.write_all(&out).is_ok() {
        out.clear();
        let Ok(count @ 1..) = stream.read(&mut buffer) else { return };
        let mut rest = &buffer[..count];
        while goes_on && !rest.is_empty() {
            // A client that closes the connection during a flood may leave a frame incomplete.
            let Ok((event, taken)) = reader.next(rest) else { return };
            match event {
                FrameEvent::Settings(_) => write_settings_ack(&mut out),
                FrameEvent::FieldBlock { stream, end_stream: true, .. }
                | FrameEvent::Data { stream, end_stream: true, .. } => {
                    on_connection += 1;
                    let in_all = in_all.fetch_add(1, Ordering::Relaxed) + 1;
                    goes_on = answer(&mut out, &Asked { stream, on_connection, in_all });
                }
                _ => {}
            }
            rest = &rest[taken..];
        }
    }
    let _ = stream.write_all(&out);
}

/// Closing with unread data would reset the connection, and the last response would be lost.
fn read_to_end(stream: &mut TcpStream) {
    while let Ok(1..) = stream.read(&mut [0; 4096]) {}
}
