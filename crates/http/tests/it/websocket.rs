//! WebSocket: frames that are read and those that are rejected, in pieces of any size, and the handshake (RFC 6455).
//!
//! The violations are all that [`WebSocketError`] names. The fuzz target `websocket` covers more cases.

use paceline_http::LineEnds;
use paceline_http::websocket::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// What was read, with messages joined.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Message(MessageType, Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(u16, String),
    Error(WebSocketError),
}

/// The events of `bytes`, cut into pieces of these sizes, used cyclically.
fn events(bytes: &[u8], sizes: &[usize]) -> Vec<Seen> {
    let mut reader = FrameReader::default();
    let (mut seen, mut message) = (Vec::new(), Vec::new());
    let (mut rest, mut sizes) = (bytes, sizes.iter().cycle());
    while !rest.is_empty() {
        let size = sizes.next().map_or(rest.len(), |size| rest.len().min(*size));
        let (mut piece, after) = rest.split_at(size);
        rest = after;
        while !piece.is_empty() {
            let (event, taken) = match reader.next(piece) {
                Ok(read) => read,
                Err(error) => {
                    seen.push(Seen::Error(error));
                    return seen;
                }
            };
            piece = &piece[taken..];
            match event {
                WebSocketEvent::NeedMore => assert!(piece.is_empty(), "NeedMore leaves nothing unread"),
                WebSocketEvent::Message { kind, piece, begins, ends } => {
                    assert!(!begins || message.is_empty());
                    message.extend_from_slice(piece);
                    if ends {
                        seen.push(Seen::Message(kind, std::mem::take(&mut message)));
                    }
                }
                WebSocketEvent::Ping(payload) => seen.push(Seen::Ping(payload.to_vec())),
                WebSocketEvent::Pong(payload) => seen.push(Seen::Pong(payload.to_vec())),
                WebSocketEvent::Close { code, reason } => seen.push(Seen::Close(code.0, reason.to_owned())),
            }
        }
    }
    seen
}

fn text(payload: &str) -> Seen {
    Seen::Message(MessageType::Text, payload.into())
}

/// A frame of a server.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        length @ 0..=125 => bytes.push(length as u8),
        length @ 126..=0xffff => {
            bytes.push(126);
            bytes.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            bytes.push(127);
            bytes.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    bytes.extend_from_slice(payload);
    bytes
}

#[test]
fn valid_frames_are_read_in_pieces_of_any_size() {
    let long = "x".repeat(70_000);
    let longest_control = [b'p'; MAX_CONTROL_BYTES];
    for (bytes, expected) in [
        (b"\x81\x05Hello".to_vec(), vec![text("Hello")]),
        (b"\x01\x03Hel\x80\x02lo".to_vec(), vec![text("Hello")]),
        (b"\x81\x00\x82\x00".to_vec(), vec![text(""), Seen::Message(MessageType::Binary, vec![])]),
        (b"\x01\x00\x00\x00\x80\x00".to_vec(), vec![text("")]),
        // A control frame may come between fragments, and splits a character here.
        (
            b"\x01\x01\xc3\x89\x02hi\x8a\x00\x80\x01\xa9".to_vec(),
            vec![Seen::Ping(b"hi".to_vec()), Seen::Pong(vec![]), text("\u{e9}")],
        ),
        (frame(0x81, &long.as_bytes()[..126]), vec![text(&long[..126])]),
        (frame(0x81, long.as_bytes()), vec![text(&long)]),
        (frame(0x89, &longest_control), vec![Seen::Ping(longest_control.to_vec())]),
        (b"\x82\x02\xff\xfe".to_vec(), vec![Seen::Message(MessageType::Binary, vec![0xff, 0xfe])]),
        (b"\x88\x00\x81\x01x".to_vec(), vec![Seen::Close(1005, String::new())]),
        (b"\x88\x05\x03\xf3bye\xff\xff".to_vec(), vec![Seen::Close(1011, "bye".to_owned())]),
        (b"\x88\x02\x0b\xb8".to_vec(), vec![Seen::Close(3000, String::new())]),
    ] {
        for sizes in [&[usize::MAX][..], &[1], &[2, 3]] {
            assert_eq!(events(&bytes, sizes), expected, "{sizes:?} of {}", bytes.len());
        }
    }
}

#[test]
fn violations_are_rejected_with_the_right_code() {
    use WebSocketError::*;
    for (bytes, error, code) in [
        (&b"\xc1\x00"[..], ReservedBit(0xc1), 1002),
        (b"\x83\x00", Opcode(3), 1002),
        (b"\x8b\x00", Opcode(11), 1002),
        (b"\x81\x80....", Masked, 1002),
        (b"\x81\x7e\x00\x7d", LengthForm(125), 1002),
        (b"\x81\x7f\x00\x00\x00\x00\x00\x00\xff\xff", LengthForm(65_535), 1002),
        (b"\x82\x7f\x80\x00\x00\x00\x00\x00\x00\x00", Length, 1002),
        (b"\x89\x7e\x00\x7e", ControlTooLong(126), 1002),
        (b"\x09\x00", ControlFragment, 1002),
        (b"\x80\x00", Continuation, 1002),
        (b"\x01\x01a\x81\x01b", Interleaved, 1002),
        (b"\x81\x01\xff", Text, 1007),
        (b"\x81\x02\xc3a", Text, 1007),
        (b"\x81\x01\xc3", Text, 1007),
        // Found before the message ends.
        (b"\x01\x02\xf4\x90", Text, 1007),
        (b"\x88\x01\x03", CloseLength, 1002),
        (b"\x88\x02\x03\xed", CloseCode(1005), 1002),
        (b"\x88\x02\x03\xe7", CloseCode(999), 1002),
        (b"\x88\x02\x13\x88", CloseCode(5000), 1002),
        (b"\x88\x03\x03\xe8\xff", CloseReason, 1007),
    ] {
        for sizes in [&[usize::MAX][..], &[1]] {
            assert_eq!(events(bytes, sizes).last(), Some(&Seen::Error(error.clone())), "{sizes:?}");
        }
        assert_eq!(error.close_code().0, code, "{error}");
    }
}

#[test]
fn written_frames_are_those_of_the_rfc() {
    // RFC 6455 §5.7.
    let key = [0x37, 0xfa, 0x21, 0x3d];
    let mut out = Vec::new();
    write_message(MessageType::Text, b"Hello", key, &mut out);
    assert_eq!(out, b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
    for (length, head) in [(125, 6), (126, 8), (65_535, 8), (65_536, MAX_FRAME_HEAD_BYTES)] {
        out.clear();
        write_message(MessageType::Binary, &vec![0; length], key, &mut out);
        assert_eq!(out.len(), head + length);
    }
    out.clear();
    write_control(Opcode::Pong, &[0; 200], [0; 4], &mut out);
    assert_eq!((out[0], usize::from(out[1] & 0x7f)), (0x8a, MAX_CONTROL_BYTES));
}

proptest! {
    #[test]
    fn any_bytes_give_the_same_events_in_any_pieces(
        bytes in prop_oneof![
            vec(any::<u8>(), 0..200),
            vec((prop_oneof![Just(0x81u8), Just(0x01), Just(0x80), Just(0x89), Just(0x82)], vec(32u8..127, 0..140)), 0..6)
                .prop_map(|frames| frames.iter().flat_map(|(first, payload)| frame(*first, payload)).collect()),
        ],
        sizes in vec(1usize..9, 1..6),
    ) {
        prop_assert_eq!(events(&bytes, &sizes), events(&bytes, &[usize::MAX]));
    }
}

/// The result of a handshake with the key of RFC 6455 §1.3, answered by these bytes in pieces of a size.
fn handshake(answer: &str, size: usize) -> Result<(HandshakeStep, usize), HandshakeError> {
    let key = HandshakeKey::from_nonce(*b"the sample nonce");
    let mut handshake = Handshake::new(&key, LineEnds::CrLf);
    let (mut consumed, mut last) = (0, HandshakeStep::NeedMore);
    for piece in answer.as_bytes().chunks(size) {
        let (step, taken) = handshake.read(piece, ["chat, v2"].into_iter())?;
        (consumed, last) = (consumed + taken, step);
        if step == HandshakeStep::Open {
            break;
        }
    }
    Ok((last, consumed))
}

const SWITCHED: &str =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n";
/// The answer to the sample key.
const ACCEPT: &str = "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";

#[test]
fn the_key_of_the_rfc_is_answered() {
    let key = HandshakeKey::from_nonce(*b"the sample nonce");
    assert_eq!(
        (key.as_bytes(), &key.accept()),
        (&b"dGhlIHNhbXBsZSBub25jZQ=="[..], b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    );
    let opened =
        format!("HTTP/1.1 103 Early Hints\r\n\r\n{SWITCHED}{ACCEPT}Sec-WebSocket-Protocol: v2\r\n\r\n");
    let with_frame = format!("{opened}\u{1}");
    for size in [1, 7, usize::MAX] {
        assert_eq!(handshake(&with_frame, size), Ok((HandshakeStep::Open, opened.len())), "{size}");
    }
}

#[test]
fn invalid_handshakes_are_explained() {
    for (answer, part) in [
        (format!("HTTP/1.1 101 X\r\nUpgrade: websocket\r\n{ACCEPT}\r\n"), "without \"Upgrade: websocket\""),
        (
            format!("HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: h2c\r\n{ACCEPT}\r\n"),
            "without \"Upgrade",
        ),
        (format!("{SWITCHED}\r\n"), "without Sec-WebSocket-Accept"),
        (format!("{SWITCHED}{}\r\n", ACCEPT.replace("s3p", "S3p")), "is \"S3pPLMB"),
        (
            format!("{SWITCHED}{ACCEPT}Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"),
            "permessage-deflate",
        ),
        (format!("{SWITCHED}{ACCEPT}Sec-WebSocket-Protocol: other\r\n\r\n"), "subprotocol \"other\""),
        (
            "HTTP/1.1 403 No\r\nContent-Length: 5\r\n\r\nleave".to_owned(),
            "status 403 instead of 101, body \"l",
        ),
        ("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n".to_owned(), "status 404 instead of 101"),
        ("SSH-2.0-OpenSSH_9".to_owned(), "not HTTP"),
        ("HTTP/1.1 101 X\r\nbad line\r\n\r\n".to_owned(), "invalid header line"),
        (format!("HTTP/1.1 101 X\r\nA: {}", "a".repeat(70_000)), "65536"),
    ] {
        for size in [1, usize::MAX] {
            let error = handshake(&answer, size).unwrap_err().to_string();
            assert!(error.contains(part), "{answer:.60}: {error}");
        }
    }
}
