//! The cases of the Autobahn test suite for WebSocket, sections 1 to 7, as a client meets them.
//!
//! The numbers are those of the suite (`crossbario/autobahn-testsuite`). Its client echoes every message; here a load
//! sends one message and awaits that, and the frames of a case come before it. What the client sends is compared frame
//! by frame.

use crate::websocket::{Server, exact, frame, messages_of, send, server, settings};
use paceline_engine::sim::{Act, Connect, Script, VirtualClock, simulate};
use paceline_engine::{ConnectionFailure, Ending, Nanos, Slot, ThreadOutcome};
use paceline_http::websocket::{CloseCode, MessageType};
use paceline_job::AnswerRule;
use std::cell::Cell;
use std::rc::Rc;

/// The message of the load.
const MESSAGE: &[u8] = b"hello";
/// The payload of a Close frame without an error.
const NORMAL: &[u8] = &1000u16.to_be_bytes();
/// The first bytes of frames.
const TEXT: u8 = 0x81;
const BINARY: u8 = 0x82;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8a;
/// Of the fragments of a text: the first, others, and the last.
const FIRST: u8 = 0x01;
const NEXT: u8 = 0x00;
const LAST: u8 = 0x80;

/// A server of which only the reads come in pieces.
struct InPieces {
    server: Server,
    piece: usize,
}

impl Script for InPieces {
    fn connect(&mut self, slot: Slot, now: Nanos) -> Connect {
        self.server.connect(slot, now)
    }

    fn request(&mut self, _: Slot, _: Nanos, _: &mut Vec<(Nanos, Act)>) {}

    fn bytes(&mut self, slot: Slot, bytes: &[u8], now: Nanos, acts: &mut Vec<(Nanos, Act)>) -> bool {
        self.server.bytes(slot, bytes, now, acts)
    }

    fn gives(&mut self, there: usize) -> usize {
        there.min(self.piece)
    }
}

/// Sends these bytes before the first echo of a message. Returns the outcome, and the frames that the client has sent.
fn meet(
    (kind, message): (MessageType, &[u8]),
    case: &[u8],
    piece: usize,
) -> (ThreadOutcome, Vec<(u8, Vec<u8>)>) {
    let first = if kind == MessageType::Text { TEXT } else { BINARY };
    let (case, was_sent) = (case.to_vec(), Cell::new(false));
    let server = server(move |message, _| {
        let before = if was_sent.replace(true) { &[][..] } else { &case[..] };
        vec![send([before, &frame(first, message)[..]].concat())]
    });
    let frames = Rc::clone(&server.frames);
    let settings = settings(messages_of(kind, message, exact), 1)
        .with(|job| (job.connections, job.websocket.answer) = (1, AnswerRule::Match));
    let outcome = simulate(&settings, InPieces { server, piece }, &VirtualClock::new(Nanos::ZERO)).unwrap();
    (outcome, frames.take())
}

/// Runs a case in pieces of several sizes, which must all have this ending, these failures of connections, and these
/// frames of the client after its message.
fn check(
    name: &str,
    case: &[u8],
    ending: Ending,
    failures: &[(ConnectionFailure, u64)],
    expected: &[(u8, &[u8])],
) {
    for piece in [1, 2, 5, usize::MAX] {
        let (outcome, frames) = meet((MessageType::Text, MESSAGE), case, piece);
        let context = format!("case {name} in pieces of {piece}");
        assert_eq!(outcome.connections.failures, failures, "{context}");
        assert_eq!(outcome.total.counts.ended(ending), 1, "{context}: {:?}", outcome.total.counts);
        let frames: Vec<(u8, &[u8])> =
            frames.iter().map(|(first, payload)| (*first, payload.as_slice())).collect();
        assert_eq!(frames[0], (TEXT, MESSAGE), "{context}");
        assert_eq!(frames[1..], *expected, "{context}");
    }
}

/// The frames of a case are valid, and answered by these Pongs.
fn valid(name: &str, case: &[u8], pongs: &[&[u8]]) {
    let pongs = pongs.iter().map(|payload| (PONG, *payload));
    let expected: Vec<_> = pongs.chain([(CLOSE, NORMAL)]).collect();
    check(name, case, Ending::Ok, &[], &expected);
}

/// A frame of a case is invalid: the client closes the connection with this code at once.
fn invalid(name: &str, case: &[u8], code: u16) {
    let code = code.to_be_bytes();
    check(name, case, Ending::IoFailed, &[(ConnectionFailure::WebSocket, 1)], &[(CLOSE, &code[..])]);
}

/// The server closes the connection without an error: the client answers with this payload and sends its message again.
fn closed(name: &str, case: &[u8], payload: &[u8]) {
    check(name, case, Ending::Ok, &[], &[(CLOSE, payload), (TEXT, MESSAGE), (CLOSE, NORMAL)]);
}

/// A text in fragments of this size.
fn fragments(text: &[u8], size: usize) -> Vec<u8> {
    let count = text.len().div_ceil(size);
    let first = |index| match (index == 0, index + 1 == count) {
        (true, true) => TEXT,
        (true, false) => FIRST,
        (false, true) => LAST,
        (false, false) => NEXT,
    };
    text.chunks(size).enumerate().flat_map(|(index, part)| frame(first(index), part)).collect()
}

#[test]
fn section_1_framing() {
    // 1.1.1 to 1.1.8, 1.2.1 to 1.2.8.
    for length in [0, 125, 126, 127, 128, 65_535, 65_536] {
        for (first, kind, byte) in [(TEXT, MessageType::Text, b'*'), (BINARY, MessageType::Binary, 0xfe)] {
            let message = vec![byte; length];
            for piece in [997, usize::MAX] {
                let (outcome, frames) = meet((kind, &message), b"", piece);
                assert_eq!(outcome.total.counts.ended(Ending::Ok), 1, "{length} bytes of {kind:?}");
                let all = [(first, message.clone()), (CLOSE, NORMAL.to_vec())];
                assert!(frames == all, "{length} bytes of {kind:?}, in pieces of {piece}");
            }
        }
    }
}

#[test]
fn section_2_pings_and_pongs() {
    let hello = b"Hello, world!";
    let binary = [0, 0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0, 0xff];
    let longest = [0xfe; 125];
    valid("2.1", &frame(PING, b""), &[b""]);
    valid("2.2", &frame(PING, hello), &[hello]);
    valid("2.3", &frame(PING, &binary), &[&binary]);
    valid("2.4, 2.6", &frame(PING, &longest), &[&longest]);
    invalid("2.5", &frame(PING, &[0xfe; 126]), 1002);
    valid("2.7", &frame(PONG, b""), &[]);
    valid("2.8", &frame(PONG, b"unsolicited pong payload"), &[]);
    let both = [frame(PONG, b"unsolicited pong payload"), frame(PING, b"ping payload")].concat();
    valid("2.9", &both, &[b"ping payload"]);
    let payloads: Vec<Vec<u8>> = (0..10).map(|number| format!("payload-{number}").into_bytes()).collect();
    let pings: Vec<u8> = payloads.iter().flat_map(|payload| frame(PING, payload)).collect();
    let pongs: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
    valid("2.10, 2.11", &pings, &pongs);
}

#[test]
fn section_3_reserved_bits() {
    let (text, ping) = (frame(TEXT, b"Hello, world!"), frame(PING, b""));
    for (name, bits, first, payload) in [
        ("3.1", 1u8, TEXT, &b"Hello, world!"[..]),
        ("3.2", 2, TEXT, b"Hello, world!"),
        ("3.3", 3, TEXT, b"Hello, world!"),
        ("3.4", 4, TEXT, b"Hello, world!"),
        ("3.5", 5, BINARY, b"\0\xff\xfe\xfd\xfc\xfb\0\xff"),
        ("3.6", 6, PING, b"Hello, world!"),
        ("3.7", 7, CLOSE, b""),
    ] {
        let reserved = frame(first | bits << 4, payload);
        invalid(name, &reserved, 1002);
        invalid(name, &[&text[..], &reserved, &ping].concat(), 1002);
    }
}

#[test]
fn section_4_opcodes() {
    let (text, ping) = (frame(TEXT, b"Hello, world!"), frame(PING, b""));
    // 4.1.1 to 4.1.5, and 4.2.1 to 4.2.5.
    for opcode in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] {
        for payload in [&b""[..], b"reserved opcode payload"] {
            let reserved = frame(0x80 | opcode, payload);
            let name = format!("4, opcode {opcode}");
            invalid(&name, &reserved, 1002);
            invalid(&name, &[&text[..], &reserved, &ping].concat(), 1002);
        }
    }
}

#[test]
fn section_5_fragmentation() {
    let (text, ping) = (frame(TEXT, b"Hello, world!"), frame(PING, b"ping payload"));
    let part = |first| frame(first, b"fragment");
    invalid("5.1", &[frame(0x09, b"fragment1"), part(LAST)].concat(), 1002);
    invalid("5.2", &[frame(0x0a, b"fragment1"), part(LAST)].concat(), 1002);
    valid("5.3 to 5.5", &[part(FIRST), part(LAST)].concat(), &[]);
    valid("5.6 to 5.8", &[part(FIRST), ping.clone(), part(LAST)].concat(), &[b"ping payload"]);
    invalid("5.9 to 5.11", &[part(LAST), text.clone()].concat(), 1002);
    invalid("5.12 to 5.14", &[part(NEXT), text.clone()].concat(), 1002);
    invalid("5.15", &[part(FIRST), part(LAST), part(NEXT), text].concat(), 1002);
    invalid("5.16", &[part(NEXT), part(FIRST), part(LAST)].concat().repeat(2), 1002);
    invalid("5.17", &[part(LAST), part(FIRST), part(LAST)].concat().repeat(2), 1002);
    invalid("5.18", &[part(FIRST), part(FIRST)].concat(), 1002);
    let with_pings =
        [part(FIRST), part(NEXT), ping.clone(), part(NEXT), part(NEXT), ping, part(LAST)].concat();
    valid("5.19, 5.20", &with_pings, &[b"ping payload", b"ping payload"]);
}

/// Texts that are UTF-8: cases 6.2 to 6.23.
const VALID: &[(&str, &[u8])] = &[
    ("6.2", b"Hello-\xc2\xb5@\xc3\x9f\xc3\xb6\xc3\xa4\xc3\xbc\xc3\xa0\xc3\xa1-UTF-8!!"),
    ("6.5", b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5"),
    ("6.7.1", b"\0"),
    ("6.7.2", b"\xc2\x80"),
    ("6.7.3", b"\xe0\xa0\x80"),
    ("6.7.4", b"\xf0\x90\x80\x80"),
    ("6.9.1", b"\x7f"),
    ("6.9.2", b"\xdf\xbf"),
    ("6.9.3", b"\xef\xbf\xbf"),
    ("6.9.4", b"\xf4\x8f\xbf\xbf"),
    ("6.11.1", b"\xed\x9f\xbf"),
    ("6.11.2", b"\xee\x80\x80"),
    ("6.11.3", b"\xef\xbf\xbd"),
    ("6.11.4", b"\xf4\x8f\xbf\xbf"),
    ("6.22.1", b"\xef\xbf\xbe"),
    ("6.22.3", b"\xf0\x9f\xbf\xbe"),
    ("6.22.4", b"\xf0\x9f\xbf\xbf"),
    ("6.22.33", b"\xf4\x8f\xbf\xbe"),
    ("6.22.34", b"\xf4\x8f\xbf\xbf"),
    ("6.23.1", b"\xef\xbf\xb9"),
    ("6.23.2", b"\xef\xbf\xba"),
    ("6.23.3", b"\xef\xbf\xbb"),
    ("6.23.4", b"\xef\xbf\xbc"),
    ("6.23.5", b"\xef\xbf\xbd"),
    ("6.23.6", b"\xef\xbf\xbe"),
    ("6.23.7", b"\xef\xbf\xbf"),
];

/// Texts that are not: cases 6.3 to 6.21.
const INVALID: &[(&str, &[u8])] = &[
    ("6.3", b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80edited"),
    ("6.6.1", b"\xce"),
    ("6.6.3", b"\xce\xba\xe1"),
    ("6.6.4", b"\xce\xba\xe1\xbd"),
    ("6.6.6", b"\xce\xba\xe1\xbd\xb9\xcf"),
    ("6.6.10", b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce"),
    ("6.8.1", b"\xf8\x88\x80\x80\x80"),
    ("6.8.2", b"\xfc\x84\x80\x80\x80\x80"),
    ("6.10.1", b"\xf7\xbf\xbf\xbf"),
    ("6.10.2", b"\xfb\xbf\xbf\xbf\xbf"),
    ("6.10.3", b"\xfd\xbf\xbf\xbf\xbf\xbf"),
    ("6.11.5", b"\xf4\x90\x80\x80"),
    ("6.12.1", b"\x80"),
    ("6.12.2", b"\xbf"),
    ("6.12.3", b"\x80\xbf"),
    ("6.12.4", b"\x80\xbf\x80"),
    ("6.12.5", b"\x80\xbf\x80\xbf"),
    ("6.12.6", b"\x80\xbf\x80\xbf\x80"),
    ("6.12.7", b"\x80\xbf\x80\xbf\x80\xbf"),
    ("6.12.8", b"\x80\x81\x82\x83\x84\x85"),
    ("6.13.1", b"\xc0 \xc1 \xc2 \xc3 "),
    ("6.13.2", b"\xe0 \xe1 \xe2 \xe3 "),
    ("6.13.3", b"\xf0 \xf1 \xf2 \xf3 "),
    ("6.13.4", b"\xf8 \xf9 \xfa \xfb "),
    ("6.13.5", b"\xfc \xfd "),
    ("6.14.1", b"\xc0"),
    ("6.14.2", b"\xe0\x80"),
    ("6.14.3", b"\xf0\x80\x80"),
    ("6.14.4", b"\xf8\x80\x80\x80"),
    ("6.14.5", b"\xfc\x80\x80\x80\x80"),
    ("6.14.6", b"\xdf"),
    ("6.14.7", b"\xef\xbf"),
    ("6.14.8", b"\xf7\xbf\xbf"),
    ("6.14.9", b"\xfb\xbf\xbf\xbf"),
    ("6.14.10", b"\xfd\xbf\xbf\xbf\xbf"),
    ("6.15", b"\xc0\xe0\x80\xf0\x80\x80\xf8\x80\x80\x80\xfc\x80\x80\x80\x80\xdf\xef\xbf\xf7\xbf\xbf"),
    ("6.16.1", b"\xfe"),
    ("6.16.2", b"\xff"),
    ("6.16.3", b"\xfe\xfe\xff\xff"),
    ("6.17.1", b"\xc0\xaf"),
    ("6.17.2", b"\xe0\x80\xaf"),
    ("6.17.3", b"\xf0\x80\x80\xaf"),
    ("6.17.4", b"\xf8\x80\x80\x80\xaf"),
    ("6.17.5", b"\xfc\x80\x80\x80\x80\xaf"),
    ("6.18.1", b"\xc1\xbf"),
    ("6.18.2", b"\xe0\x9f\xbf"),
    ("6.18.3", b"\xf0\x8f\xbf\xbf"),
    ("6.18.4", b"\xf8\x87\xbf\xbf\xbf"),
    ("6.18.5", b"\xfc\x83\xbf\xbf\xbf\xbf"),
    ("6.19.1", b"\xc0\x80"),
    ("6.19.2", b"\xe0\x80\x80"),
    ("6.19.3", b"\xf0\x80\x80\x80"),
    ("6.19.4", b"\xf8\x80\x80\x80\x80"),
    ("6.19.5", b"\xfc\x80\x80\x80\x80\x80"),
    ("6.20.1", b"\xed\xa0\x80"),
    ("6.20.7", b"\xed\xbf\xbf"),
    ("6.21.1", b"\xed\xa0\x80\xed\xb0\x80"),
    ("6.21.8", b"\xed\xaf\xbf\xed\xbf\xbf"),
];

#[test]
fn section_6_utf_8() {
    valid("6.1.1", &frame(TEXT, b""), &[]);
    valid("6.1.2", &[frame(FIRST, b""), frame(NEXT, b""), frame(LAST, b"")].concat(), &[]);
    valid("6.1.3", &[frame(FIRST, b""), frame(NEXT, b"middle"), frame(LAST, b"")].concat(), &[]);
    for &(name, text) in VALID {
        valid(name, &frame(TEXT, text), &[]);
        valid(name, &fragments(text, 1), &[]);
    }
    for &(name, text) in INVALID {
        invalid(name, &frame(TEXT, text), 1007);
        invalid(name, &fragments(text, 1), 1007);
    }
    // The error is found before the message ends, which it never does: in fragments, and in one frame.
    let (good, bad) = (b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5", b"\xf4\x90\x80\x80");
    invalid("6.4.1", &[frame(FIRST, good), frame(NEXT, bad)].concat(), 1007);
    invalid("6.4.2", &[frame(FIRST, &[&good[..], b"\xf4"].concat()), frame(NEXT, b"\x90")].concat(), 1007);
    invalid("6.4.3, 6.4.4", &[&[TEXT, 125][..], good, bad].concat(), 1007);
}

#[test]
fn section_7_closing() {
    let (text, ping) = (frame(TEXT, b"Hello, world!"), frame(PING, b""));
    let close = frame(CLOSE, NORMAL);
    closed("7.1.1, 7.3.3", &close, NORMAL);
    closed("7.1.2", &close.repeat(2), NORMAL);
    closed("7.1.3", &[&close[..], &ping].concat(), NORMAL);
    closed("7.1.4", &[&close[..], &text].concat(), NORMAL);
    let between = [frame(FIRST, b"fragment1"), close.clone(), frame(LAST, b"fragment2")].concat();
    closed("7.1.5", &between, NORMAL);
    closed("7.3.1", &frame(CLOSE, b""), b"");
    invalid("7.3.2", &frame(CLOSE, b"a"), 1002);
    closed("7.3.4", &frame(CLOSE, &[NORMAL, b"Hello World!"].concat()), NORMAL);
    closed("7.3.5", &frame(CLOSE, &[NORMAL, &[b'*'; 123]].concat()), NORMAL);
    invalid("7.3.6", &frame(CLOSE, &[NORMAL, &[b'*'; 124]].concat()), 1002);
    invalid("7.5.1", &frame(CLOSE, &[NORMAL, b"\xce\xba\xed\xa0\x80edited"].concat()), 1007);
    // 7.7.1 and 7.7.2.
    for code in [1000u16, 1001] {
        closed("7.7", &frame(CLOSE, &code.to_be_bytes()), &code.to_be_bytes());
    }
    // 7.7.3 to 7.7.13: valid codes of an error, which are answered.
    for code in [1002u16, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999] {
        let failures = [(ConnectionFailure::WebSocketClosed(CloseCode(code)), 1)];
        let payload = code.to_be_bytes();
        check("7.7", &frame(CLOSE, &payload), Ending::IoFailed, &failures, &[(CLOSE, &payload[..])]);
    }
    // 7.9.1 to 7.9.9, 7.13.1 and 7.13.2.
    for code in [0u16, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999, 5000, 65_535] {
        invalid(&format!("7.9, code {code}"), &frame(CLOSE, &code.to_be_bytes()), 1002);
    }
}

#[test]
fn section_7_closing_after_a_long_message() {
    let case = [frame(TEXT, &b"*".repeat(256 << 10)), frame(CLOSE, NORMAL), frame(PING, b"")].concat();
    let (outcome, frames) = meet((MessageType::Text, MESSAGE), &case, 997);
    assert_eq!(outcome.total.counts.ended(Ending::Ok), 1, "case 7.1.6");
    let (message, close) = ((TEXT, MESSAGE.to_vec()), (CLOSE, NORMAL.to_vec()));
    assert_eq!(frames, [message.clone(), close.clone(), message, close], "case 7.1.6");
}
