//! Faults of servers that send streams of events: one stream on each of three connections, HTTP/1.1.
//!
//! `mod.rs` runs them, `table.rs` adds them to docs/reference/faults.md.

use super::Fault;
use super::servers::{always, endless, once, request_by_request, reset};
use std::io::Write as _;

const SSE: &[&str] = &["--stream", "sse"];
const THREE: &[&str] = &["--stream", "sse", "--stream-events", "3"];
const NDJSON: &[&str] = &["--stream", "ndjson"];
/// The head of a stream that the close of the connection ends.
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";

pub const FAULTS: &[Fault] = &[
    Fault {
        name: "sends no event",
        serve: || begun(b"", |_| true),
        flags: SSE,
        outcomes: &["timed_out"],
        exits: &[1],
        says: "No complete response arrived within the timeout",
    },
    Fault {
        name: "sends only comments, without end",
        serve: || {
            begun(b"", |stream| {
                while stream.write_all(b": ping\n\n").is_ok() {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                false
            })
        },
        flags: SSE,
        outcomes: &["timed_out"],
        exits: &[1],
        says: "No complete response arrived within the timeout",
    },
    Fault {
        name: "stalls after the second event",
        serve: || begun(b"data: 1\n\ndata: 2\n\n", |_| true),
        flags: THREE,
        outcomes: &["timed_out"],
        exits: &[1],
        says: "no further event of a stream within the timeout",
    },
    Fault {
        name: "ends the response without an event",
        serve: || once(HEAD),
        flags: SSE,
        outcomes: &["bad_body"],
        exits: &[1],
        says: "the stream had no event",
    },
    Fault {
        name: "ends the response in the middle of an event",
        serve: || always(b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\ndata: 1\n\ndata: "),
        flags: SSE,
        outcomes: &["bad_body"],
        exits: &[1],
        says: "the server ended the stream in the middle of an event, after 1 event",
    },
    Fault {
        name: "ends the response before the event that `--stream-events` requires",
        serve: || always(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ndata: 1\n\n"),
        flags: THREE,
        outcomes: &["bad_body"],
        exits: &[1],
        says: "the server ended the stream early, after 1 event",
    },
    Fault {
        name: "half-closes in the middle of a chunk",
        serve: || once(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\ndata: 1\n\n"),
        flags: SSE,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "the server closed the connection in the middle of a response",
    },
    Fault {
        name: "resets after the first event",
        serve: || {
            begun(b"data: 1\n\n", |stream| {
                // Long enough for the event to be read.
                std::thread::sleep(std::time::Duration::from_millis(50));
                reset(stream);
                false
            })
        },
        flags: THREE,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "Connection reset by peer",
    },
    Fault {
        name: "goes on after the event that ends the stream",
        serve: || endless(HEAD, b"data: 1\n\n", 10_000_000),
        flags: THREE,
        outcomes: &["ok"],
        exits: &[0],
        says: "\"events\":36",
    },
    Fault {
        name: "sends events as fast as they can be read, without end (`--stream-for 200ms`)",
        serve: || endless(HEAD, b"data: 1\n\n", usize::MAX / 1024),
        flags: &["--stream", "sse", "--stream-for", "200ms"],
        outcomes: &["ok"],
        exits: &[0],
        says: "",
    },
    Fault {
        name: "sends one event without end",
        serve: || endless(HEAD, b"data: and so on\n", usize::MAX / 1024),
        flags: SSE,
        outcomes: &["timed_out"],
        exits: &[1],
        says: "No complete response arrived within the timeout",
    },
    Fault {
        name: "sends a line that is not JSON (`--stream ndjson`)",
        serve: || always(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"a\":1}\n{\n"),
        flags: NDJSON,
        outcomes: &["bad_body"],
        exits: &[1],
        says: "event 2 of the stream is not JSON",
    },
    Fault {
        name: "sends a line of more than 1 MiB (`--stream ndjson`)",
        serve: || endless(HEAD, b"[1,2,3,4,5,6,7],", 200_000),
        flags: NDJSON,
        outcomes: &["bad_body"],
        exits: &[1],
        says: "event 1 of the stream is longer than 1048576 bytes, too long to be read",
    },
    Fault {
        name: "answers with an error instead of a stream",
        serve: || always(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\nno"),
        flags: SSE,
        outcomes: &["bad_status"],
        exits: &[1],
        says: "No response has the expected status",
    },
    Fault {
        name: "compresses without a request for it",
        serve: || {
            always(
                b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 20\r\n\r\n\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0",
            )
        },
        flags: SSE,
        outcomes: &["bad_body"],
        exits: &[1],
        says: "the stream is compressed, so that its events cannot be read",
    },
];

/// Begins every response with events and calls `then`; false closes the connection.
fn begun(events: &'static [u8], then: fn(&mut std::net::TcpStream) -> bool) -> std::net::SocketAddr {
    request_by_request(move |stream, _| {
        stream.write_all(HEAD).is_ok() && stream.write_all(events).is_ok() && then(stream)
    })
}
