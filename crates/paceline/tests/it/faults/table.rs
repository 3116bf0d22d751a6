//! The faults, each with its expected result: twelve requests over three connections, the body `ok` expected.
//!
//! `mod.rs` runs them and compares. docs/reference/faults.md is generated here, including the faults of the other
//! protocols. Those of `machine.rs` are only listed in it, since they need more than a server.

use super::servers::{
    self, OK, always, byte_by_byte, each, endless, half_closes, once, request_by_request, reset,
};
use super::{Chapter, Fault, UNMEASURED, grpc, http2, http3, secure, streams, websocket};
use std::io::Write as _;
use std::time::Duration;

const EXPECT_OK: &[&str] = &["--expect-body", "ok"];

pub const FAULTS: &[Fault] = &[
    Fault {
        name: "refuses connections",
        serve: servers::closed_port,
        flags: EXPECT_OK,
        outcomes: &[UNMEASURED],
        exits: &[3],
        says: "check that the server is running and listens on that address and port",
    },
    Fault {
        name: "accepts connections and never answers",
        serve: || {
            each(|stream| {
                std::thread::sleep(Duration::from_secs(600));
                drop(stream);
            })
        },
        flags: EXPECT_OK,
        outcomes: &["timed_out"],
        exits: &[1],
        says: "No complete response arrived within the timeout",
    },
    Fault {
        name: "sends one byte every 50 ms",
        serve: || byte_by_byte(OK, Duration::from_millis(50)),
        flags: EXPECT_OK,
        outcomes: &["timed_out"],
        exits: &[1],
        says: "No complete response arrived within the timeout",
    },
    Fault {
        name: "resets each connection soon after it was opened",
        serve: || {
            each(|stream| {
                // Usually long enough to establish all connections; otherwise nothing is measured.
                std::thread::sleep(Duration::from_millis(40));
                reset(&stream);
            })
        },
        flags: EXPECT_OK,
        outcomes: &[UNMEASURED, "io_failed", "connect_failed"],
        exits: &[1, 3],
        says: "Connection reset by peer",
    },
    Fault {
        name: "resets before it answers",
        serve: || {
            request_by_request(|stream, _| {
                reset(stream);
                false
            })
        },
        flags: EXPECT_OK,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "The server closed or reset connections (or streams) before a complete response",
    },
    Fault {
        name: "resets in the middle of its response",
        serve: || {
            request_by_request(|stream, _| {
                let _ = stream.write_all(&OK[..30]);
                std::thread::sleep(Duration::from_millis(20));
                reset(stream);
                false
            })
        },
        flags: EXPECT_OK,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "Connection reset by peer",
    },
    Fault {
        name: "resets after its response",
        serve: || {
            request_by_request(|stream, _| {
                let _ = stream.write_all(OK);
                std::thread::sleep(Duration::from_millis(20));
                reset(stream);
                false
            })
        },
        flags: EXPECT_OK,
        outcomes: &["ok", "io_failed"],
        exits: &[1],
        says: "The server closed connections after a response, so the results include connecting",
    },
    Fault {
        name: "closes before it answers",
        serve: || request_by_request(|_, _| false),
        flags: EXPECT_OK,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "the server closed the connection without a response",
    },
    Fault {
        name: "closes in the middle of its response",
        serve: || once(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nok"),
        flags: EXPECT_OK,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "the server closed the connection in the middle of a response",
    },
    Fault {
        name: "half-closes after its response",
        serve: half_closes,
        flags: EXPECT_OK,
        outcomes: &["ok", "io_failed"],
        exits: &[0, 1],
        says: "The server closed connections after a response, so the results include connecting",
    },
    Fault {
        name: "closes after each response without announcing it",
        serve: || once(OK),
        flags: EXPECT_OK,
        outcomes: &["ok", "io_failed"],
        // A close that is read before the next request is sent costs nothing; one that crosses a request costs that
        // request.
        exits: &[0, 1],
        says: "The server closed connections after a response, so the results include connecting",
    },
    Fault {
        name: "closes idle connections at random",
        serve: || request_by_request(|stream, number| stream.write_all(OK).is_ok() && number % 3 != 1),
        flags: EXPECT_OK,
        outcomes: &["ok", "io_failed"],
        exits: &[0, 1],
        says: "",
    },
    Fault {
        name: "answers twice",
        serve: || {
            always(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        },
        flags: EXPECT_OK,
        outcomes: &["ok"],
        exits: &[0],
        says: "the server sent bytes although no request was outstanding",
    },
    Fault {
        name: "answers before it receives a request",
        serve: || {
            each(|mut stream| {
                let _ = stream.write_all(OK);
                std::thread::sleep(Duration::from_secs(600));
            })
        },
        flags: EXPECT_OK,
        // A response received before the request is sent breaks the connection, possibly before the run; one received
        // after it counts as the answer.
        outcomes: &[UNMEASURED, "ok", "timed_out", "io_failed"],
        exits: &[0, 1, 3],
        says: "",
    },
    Fault {
        name: "sends a greeting first, as a mail server does",
        serve: || {
            each(|mut stream| {
                let _ = stream.write_all(b"220 mail.example.org ESMTP\r\n");
                std::thread::sleep(Duration::from_secs(600));
            })
        },
        flags: &[],
        outcomes: &[UNMEASURED, "io_failed"],
        exits: &[1, 3],
        says: "Check the port",
    },
    Fault {
        name: "closes each connection at once",
        serve: || each(drop),
        flags: &[],
        outcomes: &[UNMEASURED, "io_failed", "connect_failed"],
        exits: &[1, 3],
        says: "the reason in the server's log",
    },
    Fault {
        name: "speaks another protocol",
        serve: || always(b"SSH-2.0-OpenSSH_9.2\r\n"),
        flags: EXPECT_OK,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "The response is not valid HTTP/1.1. Check the port, and whether it is http or https; if both are correct, fix the server.",
    },
    Fault {
        name: "sends binary garbage",
        serve: || always(&[0xff, 0, 0x80, 10, 13, 10, 1, 2, 3]),
        flags: EXPECT_OK,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "The response is not valid HTTP/1.1",
    },
    Fault {
        name: "sends headers without end",
        serve: || {
            endless(b"HTTP/1.1 200 OK\r\n", b"X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n", 1 << 20)
        },
        flags: EXPECT_OK,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "the response headers do not end within 65536 bytes",
    },
    Fault {
        name: "sends one header of a gigabyte",
        serve: || endless(b"HTTP/1.1 200 OK\r\nX: ", &[b'y'; 1024], 1 << 20),
        flags: EXPECT_OK,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "the response headers do not end within 65536 bytes",
    },
    Fault {
        name: "sends a body with both Content-Length and chunks",
        serve: || {
            always(
                b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            )
        },
        flags: EXPECT_OK,
        outcomes: &["ok"],
        exits: &[0],
        says: "the response had both Content-Length and Transfer-Encoding",
    },
    Fault {
        name: "declares a chunk of 2^64 bytes",
        serve: || always(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\nok"),
        flags: EXPECT_OK,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "chunk size over 64 bits",
    },
    Fault {
        name: "declares a chunk one byte too long",
        serve: || always(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nok\r\n0\r\n\r\n"),
        flags: EXPECT_OK,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "chunk data is not followed by CR LF",
    },
    Fault {
        name: "ends the lines of its headers with LF only",
        serve: || always(b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok"),
        flags: EXPECT_OK,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "a status or header line ends in LF without CR",
    },
    Fault {
        name: "declares two different lengths",
        serve: || always(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok"),
        flags: EXPECT_OK,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "two different Content-Lengths, 2 and 3",
    },
    Fault {
        name: "declares a body and does not send it",
        serve: || always(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"),
        flags: EXPECT_OK,
        outcomes: &["timed_out"],
        exits: &[1],
        says: "No complete response arrived within the timeout",
    },
    Fault {
        name: "sends no length and no chunks, and keeps the connection open",
        serve: || always(b"HTTP/1.1 200 OK\r\n\r\nok"),
        flags: EXPECT_OK,
        outcomes: &["timed_out"],
        exits: &[1],
        says: "Responses arrived, but their end is unknown",
    },
    Fault {
        name: "sends no length and no chunks, and closes",
        serve: || once(b"HTTP/1.1 200 OK\r\n\r\nok"),
        flags: EXPECT_OK,
        outcomes: &["ok"],
        exits: &[0],
        says: "The server closed connections after a response",
    },
    Fault {
        name: "announces with each response that it closes, and keeps the connection open",
        serve: || always(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"),
        flags: EXPECT_OK,
        outcomes: &["ok"],
        exits: &[0],
        says: "The server closed connections after a response",
    },
    Fault {
        name: "announces with each response that it closes, and four requests are pipelined",
        serve: || once(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"),
        flags: &["--expect-body", "ok", "--pipeline", "4"],
        outcomes: &["ok"],
        exits: &[0],
        says: "The server closed connections after a response",
    },
    Fault {
        name: "ignores that the request announces a close (`--no-keepalive`)",
        serve: || always(OK),
        flags: &["--expect-body", "ok", "--no-keepalive"],
        outcomes: &["ok"],
        exits: &[0],
        says: "\"closed_as_asked\":12",
    },
    Fault {
        name: "closes each connection after its first response, without announcing it",
        serve: || request_by_request(|stream, number| number == 0 && stream.write_all(OK).is_ok()),
        flags: EXPECT_OK,
        outcomes: &["ok", "io_failed"],
        exits: &[1],
        says: "the server closed a connection after earlier responses, without a response to the next request",
    },
    Fault {
        name: "sends `Transfer-Encoding: identity` with a length",
        serve: || always(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nok"),
        flags: EXPECT_OK,
        outcomes: &["ok"],
        exits: &[0],
        says: "",
    },
    Fault {
        name: "sends `Content-Encoding: utf-8`",
        serve: || always(b"HTTP/1.1 200 OK\r\nContent-Encoding: utf-8\r\nContent-Length: 2\r\n\r\nok"),
        flags: EXPECT_OK,
        outcomes: &["ok"],
        exits: &[0],
        says: "",
    },
    Fault {
        name: "sets 40 new cookies with each response",
        serve: servers::sets_cookies,
        flags: &["--cookies"],
        outcomes: &["ok"],
        exits: &[0],
        says: "Paceline keeps 64 cookies of at most 4,096 bytes for each user",
    },
    Fault {
        name: "sends more than it declared",
        serve: || always(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more"),
        flags: EXPECT_OK,
        outcomes: &["ok"],
        exits: &[0],
        says: "the server sent bytes although no request was outstanding",
    },
    Fault {
        name: "compresses without a request for it",
        serve: || always(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok"),
        flags: &[],
        outcomes: &["ok"],
        exits: &[0],
        says: "Responses are compressed, although no request accepts compression.",
    },
    Fault {
        name: "compresses the response to a session without a request for it",
        serve: || always(b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\nok"),
        flags: &["--cookies"],
        outcomes: &["ok"],
        exits: &[0],
        says: "Responses are compressed, although no request accepts compression.",
    },
    Fault {
        name: "compresses as requested",
        serve: || servers::compresses_if_accepted(b"ok"),
        flags: &["--accept-encoding", "gzip", "--expect-body", "ok"],
        outcomes: &["ok"],
        exits: &[0],
        // Compressed: `ok` itself has 2 bytes.
        says: "\"body\":264",
    },
    Fault {
        name: "compresses another body than the expected one",
        serve: || servers::compresses_if_accepted(b"no"),
        flags: &["--accept-encoding", "gzip", "--expect-body", "ok"],
        outcomes: &["bad_body"],
        exits: &[1],
        says: "",
    },
    Fault {
        name: "sends 100 Continue before its response",
        serve: || always(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
        flags: EXPECT_OK,
        outcomes: &["ok"],
        exits: &[0],
        says: "",
    },
    Fault {
        name: "sends 103 Early Hints before its response",
        serve: || {
            always(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        },
        flags: EXPECT_OK,
        outcomes: &["ok"],
        exits: &[0],
        says: "",
    },
    Fault {
        name: "switches protocols without a request for it",
        serve: || always(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
        flags: EXPECT_OK,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "the server switched protocols (status 101), but no request asked for an upgrade",
    },
    Fault {
        name: "sends a body in response to HEAD",
        serve: || always(OK),
        flags: &["--method", "HEAD"],
        outcomes: &["ok"],
        exits: &[0],
        says: "the server sent bytes although no request was outstanding",
    },
    Fault {
        name: "redirects",
        serve: || always(b"HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n"),
        flags: EXPECT_OK,
        outcomes: &["bad_status"],
        exits: &[1],
        says: "The server redirects. Follow the redirects (--follow 5)",
    },
    Fault {
        name: "answers with an error",
        serve: || always(b"HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\nok"),
        flags: EXPECT_OK,
        outcomes: &["bad_status"],
        exits: &[1],
        says: "No response has the expected status",
    },
    Fault {
        name: "answers with another body",
        serve: || always(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno"),
        flags: EXPECT_OK,
        outcomes: &["bad_body"],
        exits: &[1],
        says: "No response has the body that --expect-body requires",
    },
];

/// Faults of the run's environment, each with the test that covers it.
const ELSEWHERE: &[[&str; 3]] = &[
    [
        "out of file descriptors",
        "each thread gets a separate descriptor table, which the report states; all connections are opened",
        "faults::machine::a_low_descriptor_limit_is_handled_and_reported",
    ],
    [
        "out of ports",
        "`connections_short`: 10 of 30 connections, `Cannot assign requested address`; the run continues with the 10 and exits 1",
        "faults::machine::exhausted_ports_are_reported",
    ],
];

/// Servers that are gone for a part of the run, each with the test that covers it.
const GONE: &[[&str; 3]] = &[
    [
        "ends during the run (`-d`, `-n`, `-r`)",
        "`stopped_answering` with the moment and the commonest failure; exit 1, also with `--max-errors`",
        "faults::gone::a_server_that_ends_stopped_answering",
    ],
    [
        "ends and comes back",
        "`stopped_answering` from one moment to another; exit 1",
        "faults::gone::a_server_that_comes_back_stopped_answering",
    ],
    [
        "freezes and keeps its connections",
        "`stopped_answering`, no response within the timeout; exit 1",
        "faults::gone::a_server_that_freezes_stopped_answering",
    ],
    [
        "one of two backends freezes: half of the connections get no response",
        "`held_connections` with the share of the connections' time; exit 1",
        "faults::gone::a_lost_backend_holds_its_connections",
    ],
];

/// All faults of servers, in the order of the page.
pub const CHAPTERS: &[Chapter] = &[
    Chapter { title: "", note: "", scheme: "http", path: "/", faults: FAULTS },
    Chapter { title: "Over TLS", note: "", scheme: "https", path: "/", faults: secure::FAULTS },
    Chapter {
        title: "Over HTTP/2",
        note: "Four streams on each connection.",
        scheme: "http",
        path: "/",
        faults: http2::FAULTS,
    },
    Chapter {
        title: "Over HTTP/3",
        note: "Four streams on each connection.",
        scheme: "https",
        path: "/",
        faults: http3::FAULTS,
    },
    Chapter {
        title: "WebSocket",
        note: "Twelve messages, which the server should send back.",
        scheme: "ws",
        path: "/",
        faults: websocket::FAULTS,
    },
    Chapter {
        title: "gRPC",
        note: "Unary calls, two on each connection.",
        scheme: "grpc",
        path: "/p.S/Get",
        faults: grpc::FAULTS,
    },
    Chapter {
        title: "Streams",
        note: "Twelve streams of events (`--stream sse`, unless the row says otherwise).",
        scheme: "http",
        path: "/",
        faults: streams::FAULTS,
    },
];

const TOP: &str = "\
# Faults

Results of `paceline run` against servers that misbehave. Each row is a test with a scripted server: twelve requests
over three connections, with the expected body `ok`. The timeout is 300 ms if requests time out or the run may end
without a measurement, otherwise 20 s. Each test checks that the outcomes add up to twelve (or fewer, if the run gives up
with a message), that the run ends, that its memory stays below 64 MB, and that the report or the error contains the message.
The test generates this page (`crates/paceline/tests/it/faults`) and fails if the page is outdated.
";

/// Generates the page.
pub fn page() -> String {
    let mut page = TOP.to_owned();
    for Chapter { title, note, faults, .. } in CHAPTERS {
        if !title.is_empty() {
            page += &format!("\n## {title}\n");
        }
        if !note.is_empty() {
            page += &format!("\n{note}\n");
        }
        page += "\n| the server | outcome of the requests | exit status | a part of the message |\n|---|---|---|---|\n";
        page += &rows(faults);
    }
    for (title, faults) in [("Gone for a part of the run", GONE), ("Around the server", ELSEWHERE)] {
        page += &format!("\n## {title}\n\n| fault | result | tested by |\n|---|---|---|\n");
        for [what, comes, test] in faults {
            page += &format!("| {what} | {comes} | `{test}` |\n");
        }
    }
    page
}

fn rows(faults: &[Fault]) -> String {
    let mut rows = String::new();
    for fault in faults {
        let outcome =
            |name: &&str| if *name == UNMEASURED { UNMEASURED.to_owned() } else { format!("`{name}`") };
        let outcomes: Vec<_> = fault.outcomes.iter().map(outcome).collect();
        let exits: Vec<_> = fault.exits.iter().map(ToString::to_string).collect();
        let (outcomes, exits) = (outcomes.join(" or "), exits.join(" or "));
        rows += &format!("| {} | {outcomes} | {exits} | {} |\n", fault.name, fault.says);
    }
    rows
}
