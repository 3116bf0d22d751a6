//! Faults of gRPC servers: two calls at a time on each of three connections.
//!
//! `mod.rs` runs them, `table.rs` adds them to docs/reference/faults.md. The engine's `grpc.rs` simulates more.

use super::Fault;
use super::http2::{Asked, serve};
use paceline_http::framed_message;
use paceline_http::h2::{
    ErrorCode, HpackEncoder, Indexing, write_data, write_field_block, write_goaway, write_reset,
};
use std::net::SocketAddr;

const FLAGS: &[&str] =
    &["--grpc-raw", "--body", "in", "--expect-body", "ok", "--streams", "2", "--connect-timeout", "20s"];
const GRPC: &[(&str, &str)] = &[(":status", "200"), ("content-type", "application/grpc")];

pub const FAULTS: &[Fault] = &[
    Fault {
        name: "answers with a page of HTTP",
        serve: || {
            answering(|out, asked| {
                fields(out, asked.stream, &[(":status", "404"), ("content-type", "text/html")], false);
                write_data(out, asked.stream, b"<p>", true);
            })
        },
        flags: FLAGS,
        outcomes: &["bad_status"],
        exits: &[1],
        says: "Check the path, or use --expect-grpc-status.",
    },
    Fault {
        name: "answers with status 200 of HTTP and another content type",
        serve: || {
            answering(|out, asked| {
                fields(out, asked.stream, &[(":status", "200"), ("content-type", "text/html")], false);
                write_data(out, asked.stream, b"<p>", true);
            })
        },
        flags: FLAGS,
        outcomes: &["bad_body"],
        exits: &[1],
        says: "the content-type of the response is not application/grpc: is this a gRPC server?",
    },
    Fault {
        name: "is not available",
        serve: || {
            answering(|out, asked| {
                let status = [("grpc-status", "14"), ("grpc-message", "no%20backend")];
                fields(out, asked.stream, &[GRPC, &status].concat(), true);
            })
        },
        flags: FLAGS,
        outcomes: &["bad_status"],
        exits: &[1],
        says: "gRPC status UNAVAILABLE: no backend",
    },
    Fault {
        name: "ends a call with a status that does not exist",
        serve: || answering(|out, asked| end(out, asked, b"", &[("grpc-status", "abc")])),
        flags: FLAGS,
        outcomes: &["bad_status"],
        exits: &[1],
        says: "gRPC status UNKNOWN",
    },
    Fault {
        name: "ends a call without a status",
        serve: || {
            answering(|out, asked| {
                fields(out, asked.stream, GRPC, false);
                write_data(out, asked.stream, &framed_message(0, b"ok"), true);
            })
        },
        flags: FLAGS,
        outcomes: &["bad_body"],
        exits: &[1],
        says: "the response ended without grpc-status",
    },
    Fault {
        name: "does not end a call",
        serve: || {
            answering(|out, asked| {
                fields(out, asked.stream, GRPC, false);
                write_data(out, asked.stream, &framed_message(0, b"ok"), false);
            })
        },
        flags: FLAGS,
        outcomes: &["timed_out"],
        exits: &[1],
        says: "No complete response arrived within the timeout",
    },
    Fault {
        name: "ends a call with OK and no message",
        serve: || answering(|out, asked| end(out, asked, b"", OK)),
        flags: FLAGS,
        outcomes: &["bad_body"],
        exits: &[1],
        says: "the response has 0 messages instead of one",
    },
    Fault {
        name: "sends two messages for one",
        serve: || answering(|out, asked| end(out, asked, &framed_message(0, b"ok").repeat(2), OK)),
        flags: FLAGS,
        outcomes: &["bad_body"],
        exits: &[1],
        says: "the response has 2 messages instead of one",
    },
    Fault {
        name: "ends a call in the middle of a message",
        serve: || answering(|out, asked| end(out, asked, &framed_message(0, b"ok")[..6], OK)),
        flags: FLAGS,
        outcomes: &["bad_body"],
        exits: &[1],
        says: "the response ended in the middle of a message, after 0 messages",
    },
    Fault {
        name: "declares a message of 4 GB",
        serve: || answering(|out, asked| end(out, asked, b"\0\xff\xff\xff\xffok", OK)),
        flags: FLAGS,
        outcomes: &["bad_body"],
        exits: &[1],
        says: "the response ended in the middle of a message, after 0 messages",
    },
    Fault {
        name: "compresses without a coding",
        serve: || answering(|out, asked| end(out, asked, &framed_message(1, b"ok"), OK)),
        flags: FLAGS,
        outcomes: &["bad_body"],
        exits: &[1],
        says: "a message is compressed, but the response has no grpc-encoding",
    },
    Fault {
        name: "sends a message with an unknown flag",
        serve: || answering(|out, asked| end(out, asked, &framed_message(6, b"ok"), OK)),
        flags: FLAGS,
        outcomes: &["bad_body"],
        exits: &[1],
        says: "a message has the flags 0x06, which gRPC does not define",
    },
    Fault {
        name: "sends another message",
        serve: || answering(|out, asked| end(out, asked, &framed_message(0, b"no"), OK)),
        flags: FLAGS,
        outcomes: &["bad_body"],
        exits: &[1],
        says: "the message differs from the expected one of 7 bytes",
    },
    Fault {
        name: "resets each call (RST_STREAM)",
        serve: || {
            answering(|out, asked| {
                fields(out, asked.stream, GRPC, false);
                write_reset(out, asked.stream, ErrorCode::INTERNAL_ERROR);
            })
        },
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "the server reset the stream of a request (INTERNAL_ERROR)",
    },
    Fault {
        name: "ends each connection after a call (GOAWAY)",
        serve: || {
            serve(&[], |out, asked| {
                end(out, asked, &framed_message(0, b"ok"), OK);
                write_goaway(out, asked.stream, ErrorCode::NO_ERROR, b"max_age");
                false
            })
        },
        flags: FLAGS,
        outcomes: &["ok"],
        exits: &[0],
        says: "\"ok\":12",
    },
];

const OK: &[(&str, &str)] = &[("grpc-status", "0")];

fn answering(answer: fn(&mut Vec<u8>, &Asked)) -> SocketAddr {
    serve(&[], move |out, asked| {
        answer(out, asked);
        true
    })
}

/// A head, a body, and trailers.
fn end(out: &mut Vec<u8>, asked: &Asked, body: &[u8], trailers: &[(&str, &str)]) {
    fields(out, asked.stream, GRPC, false);
    write_data(out, asked.stream, body, false);
    fields(out, asked.stream, trailers, true);
}

fn fields(out: &mut Vec<u8>, stream: u32, fields: &[(&str, &str)], end_stream: bool) {
    let (mut encoder, mut block) = (HpackEncoder::default(), Vec::new());
    for (name, value) in fields {
        encoder.field(name.as_bytes(), value.as_bytes(), Indexing::Omit, &mut block);
    }
    write_field_block(out, stream, &block, end_stream);
}
