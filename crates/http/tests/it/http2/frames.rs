//! Frames: one table of valid input, one of rejected input, and properties: written frames read back the same, in
//! pieces of any size, and no bytes make the reader panic.
//!
//! The rows are frames in hexadecimal. Field blocks are opaque here; their tests are in `hpack` and `responses`.

use super::hex;
use paceline_http::h2::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// An event that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Data { stream: u32, bytes: Vec<u8>, flow: u32, end: bool },
    Block { stream: u32, block: Vec<u8>, end: bool },
    Reset(u32, ErrorCode),
    Settings(Vec<(u16, u32)>),
    SettingsAck,
    Ping([u8; 8]),
    PingAck([u8; 8]),
    GoAway(u32, ErrorCode, Vec<u8>),
    Window(u32, u32),
    Error(String),
}

/// The events of `bytes`, cut into pieces of these sizes, used cyclically.
fn events(bytes: &[u8], sizes: &[usize]) -> Vec<Seen> {
    joined(raw_events(bytes, sizes))
}

fn raw_events(bytes: &[u8], sizes: &[usize]) -> Vec<Seen> {
    let mut reader = FrameReader::default();
    let mut seen = Vec::new();
    let (mut rest, mut sizes) = (bytes, sizes.iter().cycle());
    while !rest.is_empty() {
        let size = sizes.next().map_or(rest.len(), |size| rest.len().min(*size));
        let (mut piece, after) = rest.split_at(size);
        rest = after;
        loop {
            let (event, taken) = match reader.next(piece) {
                Ok(read) => read,
                Err(error) => {
                    seen.push(Seen::Error(error.to_string()));
                    return seen;
                }
            };
            if event == FrameEvent::NeedMore {
                assert_eq!(taken, piece.len(), "NeedMore leaves nothing unread");
                break;
            }
            note(event, &mut seen);
            piece = &piece[taken..];
        }
    }
    if let Err(error) = reader.end_of_input() {
        seen.push(Seen::Error(error.to_string()));
    }
    seen
}

fn note(event: FrameEvent<'_>, seen: &mut Vec<Seen>) {
    seen.push(match event {
        FrameEvent::NeedMore => return,
        FrameEvent::Data { stream, piece, flow_bytes, end_stream, .. } => {
            Seen::Data { stream, bytes: piece.to_vec(), flow: flow_bytes, end: end_stream }
        }
        FrameEvent::FieldBlock { stream, block, end_stream } => {
            Seen::Block { stream, block: block.to_vec(), end: end_stream }
        }
        FrameEvent::Reset { stream, code } => Seen::Reset(stream, code),
        FrameEvent::Settings(payload) => Seen::Settings(payload.iter().collect()),
        FrameEvent::SettingsAck => Seen::SettingsAck,
        FrameEvent::Ping(opaque) => Seen::Ping(opaque),
        FrameEvent::PingAck(opaque) => Seen::PingAck(opaque),
        FrameEvent::GoAway { last_stream, code, debug } => Seen::GoAway(last_stream, code, debug.to_vec()),
        FrameEvent::WindowUpdate { stream, increment } => Seen::Window(stream, increment),
    });
}

/// Empty SETTINGS, which must come first.
const SETTINGS: &str = "000000 04 00 00000000";

fn after_settings(frames: &str) -> Vec<Seen> {
    let mut seen = events(&hex(&format!("{SETTINGS}{frames}")), &[]);
    assert_eq!(seen.remove(0), Seen::Settings(vec![]));
    seen
}

#[test]
fn frames_are_read() {
    let block = |stream, block: &[u8], end| Seen::Block { stream, block: block.to_vec(), end };
    let data = |bytes: &[u8], flow, end| Seen::Data { stream: 1, bytes: bytes.to_vec(), flow, end };
    for (frames, expected) in [
        ("000002 00 01 00000001 6869", data(b"hi", 2, true)),
        ("000005 00 09 00000001 02 6869 0000", data(b"hi", 5, true)),
        ("000003 00 08 00000001 02 0000", data(b"", 3, false)),
        ("000000 00 01 00000001", data(b"", 0, true)),
        ("000001 01 05 00000001 88", block(1, b"\x88", true)),
        ("000004 01 0c 00000003 02 88 0000", block(3, b"\x88", false)),
        ("000006 01 24 00000003 00000001ff 88", block(3, b"\x88", false)),
        ("000009 01 2d 00000003 02 80000001ff 88 0000", block(3, b"\x88", true)),
        (
            "000001 01 01 00000001 88  000001 09 00 00000001 89  000001 09 04 00000001 8a",
            block(1, b"\x88\x89\x8a", true),
        ),
        ("000003 01 08 00000001 01 88 00  000001 09 04 00000001 89", block(1, b"\x88\x89", false)),
        ("000004 03 00 00000001 00000008", Seen::Reset(1, ErrorCode::CANCEL)),
        ("00000c 04 00 00000000 000400000001 00ff00000002", Seen::Settings(vec![(4, 1), (255, 2)])),
        ("000000 04 01 00000000", Seen::SettingsAck),
        ("000008 06 00 00000000 0102030405060708", Seen::Ping([1, 2, 3, 4, 5, 6, 7, 8])),
        ("000008 06 01 00000000 0102030405060708", Seen::PingAck([1, 2, 3, 4, 5, 6, 7, 8])),
        (
            "00000a 07 00 00000000 800007cf 00000000 6869",
            Seen::GoAway(1999, ErrorCode::NO_ERROR, b"hi".to_vec()),
        ),
        ("000004 08 00 80000001 80000005", Seen::Window(1, 5)),
        ("000004 08 00 00000000 00000000", Seen::Window(0, 0)),
    ] {
        assert_eq!(after_settings(frames), [expected], "{frames}");
    }
}

#[test]
fn priority_unknown_and_empty_frames_are_skipped() {
    let frames = "000005 02 00 00000003 0000000010  000003 20 ff 00000000 616263  000000 00 00 00000001
                  000004 08 00 00000000 00000001";
    assert_eq!(after_settings(frames), [Seen::Window(0, 1)]);
}

#[test]
fn invalid_frames_are_refused() {
    for (frames, expected) in [
        ("004001 00 00 00000001", "HTTP/2 DATA frame of 16385 bytes; the maximum is 16384"),
        ("000001 00 00 00000000 61", "HTTP/2 DATA frame on stream 0, where it is not allowed"),
        ("000001 00 00 00000002 61", "HTTP/2 DATA frame on stream 2, where it is not allowed"),
        ("000001 01 04 00000000 88", "HTTP/2 HEADERS frame on stream 0, where it is not allowed"),
        ("000000 04 00 00000001", "HTTP/2 SETTINGS frame on stream 1, where it is not allowed"),
        ("000008 06 00 00000001", "HTTP/2 PING frame on stream 1, where it is not allowed"),
        ("000008 07 00 00000001", "HTTP/2 GOAWAY frame on stream 1, where it is not allowed"),
        ("000002 00 08 00000001 02 61", "HTTP/2 DATA frame with more padding than payload"),
        ("000000 00 08 00000001 00", "HTTP/2 DATA frame with more padding than payload"),
        ("000002 01 0c 00000001 02 61", "HTTP/2 HEADERS frame with more padding than payload"),
        ("000002 01 24 00000001 02 61", "HTTP/2 HEADERS frame with more padding than payload"),
        ("000002 01 08 00000001 02 61", "HTTP/2 HEADERS frame with more padding than payload"),
        ("000004 02 00 00000001", "HTTP/2 PRIORITY frame of length 4; the length must be 5"),
        ("000003 03 00 00000001", "HTTP/2 RST_STREAM frame of length 3; the length must be 4"),
        ("000005 04 00 00000000", "HTTP/2 SETTINGS frame of length 5; the length must be a multiple of 6"),
        (
            "000006 04 01 00000000",
            "HTTP/2 SETTINGS frame of length 6; with the flag ACK, the length must be 0",
        ),
        ("000007 06 00 00000000", "HTTP/2 PING frame of length 7; the length must be 8"),
        ("000007 07 00 00000000", "HTTP/2 GOAWAY frame of length 7; the length must be at least 8"),
        ("000005 08 00 00000000", "HTTP/2 WINDOW_UPDATE frame of length 5; the length must be 4"),
        ("000004 05 04 00000001", "HTTP/2 PUSH_PROMISE, although server push is disabled"),
        ("000001 09 04 00000001 88", "HTTP/2 CONTINUATION frame on stream 1 without HEADERS before it"),
        (
            "000001 01 00 00000001 88  000001 09 04 00000003 88",
            "HTTP/2 CONTINUATION frame on stream 3 inside the field block of stream 1",
        ),
        (
            "000001 01 00 00000001 88  000008 06 00 00000000 0102030405060708",
            "HTTP/2 PING frame on stream 0 inside the field block of stream 1",
        ),
        ("000001 01 00 00000001 88", "the connection closed inside an HTTP/2 frame"),
        ("000002 01 04 00000001 88", "the connection closed inside an HTTP/2 frame"),
        ("000002 00 00", "the connection closed inside an HTTP/2 frame"),
    ] {
        let seen = after_settings(frames);
        assert_eq!(seen.last(), Some(&Seen::Error(expected.into())), "{frames}");
    }
}

#[test]
fn another_protocol_is_named() {
    for (bytes, expected) in [
        (
            "HTTP/1.1 400 Bad Request\r\n",
            "it begins \"HTTP/1.1 400 Bad Request\\r\\n\"; the server speaks HTTP/1.1",
        ),
        ("\x15\x03\x01\0\x02\x02F", "it begins \"\\x15\\x03\\x01\\x00\\x02\\x02F\"; the server speaks TLS"),
        ("SSH-2.0-OpenSSH_9.2\r\n", "it begins \"SSH-2.0-OpenSSH_9.2\\r\\n\"; the server speaks SSH"),
        ("220 a.example ESMTP\r\n", "it begins \"220 a.example ESMTP\\r\\n\"; the server speaks SMTP or FTP"),
    ] {
        let seen = events(bytes.as_bytes(), &[]);
        assert!(matches!(&seen[..], [Seen::Error(text)] if text.contains(expected)), "{bytes:?}: {seen:?}");
    }
    let ack_first = events(&hex("000000 04 01 00000000"), &[]);
    assert!(
        matches!(&ack_first[..], [Seen::Error(text)] if text.starts_with("the server does not speak HTTP/2"))
    );
}

#[test]
fn field_blocks_are_limited() {
    let mut frames = hex(SETTINGS);
    FrameHead { length: 0, kind: 1, flags: 0, stream: 1 }.write(&mut frames);
    let mut many = frames.clone();
    for _ in 0..=MAX_CONTINUATIONS {
        FrameHead { length: 0, kind: 9, flags: 0, stream: 1 }.write(&mut many);
    }
    let error = |bytes: &[u8]| events(bytes, &[]).pop();
    assert_eq!(
        error(&many),
        Some(Seen::Error("HTTP/2 field block in more than 16 CONTINUATION frames".into()))
    );
    for _ in 0..=MAX_FIELD_BLOCK_BYTES / FRAME_SIZE_DEFAULT as usize {
        FrameHead { length: FRAME_SIZE_DEFAULT, kind: 9, flags: 0, stream: 1 }.write(&mut frames);
        frames.extend([0; FRAME_SIZE_DEFAULT as usize]);
    }
    assert_eq!(error(&frames), Some(Seen::Error("HTTP/2 field block of more than 65536 bytes".into())));
}

#[test]
fn whole_data_has_an_effect_and_no_padding() {
    let (hi, none) = (&b"hi"[..], &b""[..]);
    for (frame, expected) in [
        ("000002 00 00 00000001 6869 00", Some((1, hi, false))),
        ("000002 00 01 00000003 6869", Some((3, hi, true))),
        ("000000 00 01 00000005", Some((5, none, true))),
        ("000000 00 00 00000005", None),
        ("000003 00 08 00000001 00 6869", None),
        ("000002 00 00 00000001 68", None),
        ("000002 00 00 000000", None),
        ("000002 01 04 00000001 6869", None),
    ] {
        assert_eq!(whole_data(&hex(frame)), expected, "{frame}");
    }
    let mut long = hex("004001 00 00 00000001");
    long.resize(long.len() + 0x4001, 0);
    assert_eq!(whole_data(&long), None, "longer than a frame may be");
}

#[test]
fn frames_without_effect_are_limited() {
    let flood = "HTTP/2 flood: 1000 SETTINGS, PING, WINDOW_UPDATE or other frames in a row, while no byte of a request or response moved";
    let ping = |out: &mut Vec<u8>| write_ping(out, [0; 8]);
    let settings = |out: &mut Vec<u8>| write_settings(out, &[]);
    let empty = |out: &mut Vec<u8>| write_data(out, 1, b"", false);
    let unknown = |out: &mut Vec<u8>| FrameHead { length: 0, kind: 99, flags: 0, stream: 0 }.write(out);
    for frame in [&ping as &dyn Fn(&mut Vec<u8>), &settings, &empty, &unknown] {
        let mut bytes = hex(SETTINGS);
        (1..MAX_IDLE_FRAMES).for_each(|_| frame(&mut bytes));
        let mut broken = bytes.clone();
        frame(&mut broken);
        assert_eq!(events(&broken, &[]).pop(), Some(Seen::Error(flood.into())));
        write_data(&mut bytes, 1, b"x", false);
        (0..MAX_IDLE_FRAMES).for_each(|_| frame(&mut bytes));
        assert!(!matches!(events(&bytes, &[]).pop(), Some(Seen::Error(_))), "a response advanced in between");
    }
}

#[test]
fn settings_are_checked_and_applied() {
    let apply = |text: &str| {
        let bytes = hex(text);
        let mut settings = Vec::new();
        FrameHead { length: bytes.len() as u32, kind: 4, flags: 0, stream: 0 }.write(&mut settings);
        settings.extend_from_slice(&bytes);
        let mut reader = FrameReader::default();
        let (FrameEvent::Settings(payload), _) = reader.next(&settings).unwrap() else {
            panic!("not SETTINGS")
        };
        let mut peer = PeerSettings::default();
        peer.apply(payload).map(|change| (peer, change))
    };
    let default = PeerSettings::default();
    let all =
        apply("000100000010 000200000000 000300000064 000400010000 000500004001 000600001000 000a00000001")
            .unwrap();
    let expected = PeerSettings {
        header_table_size: 16,
        max_concurrent_streams: 100,
        initial_window_size: 65_536,
        max_frame_size: 16_385,
        max_header_list_size: 4096,
    };
    assert_eq!(all, (expected, 1));
    assert_eq!(apply("").unwrap(), (default, 0));
    assert_eq!(apply("000400000000").unwrap().1, -65_535);
    for (payload, code, expected) in [
        (
            "000200000001",
            ErrorCode::PROTOCOL_ERROR,
            "HTTP/2 SETTINGS_ENABLE_PUSH of 1; a server may send only the value 0",
        ),
        (
            "000480000000",
            ErrorCode::FLOW_CONTROL_ERROR,
            "HTTP/2 SETTINGS_INITIAL_WINDOW_SIZE of 2147483648; the maximum is 2^31-1",
        ),
        (
            "000500003fff",
            ErrorCode::PROTOCOL_ERROR,
            "HTTP/2 SETTINGS_MAX_FRAME_SIZE of 16383; the value must be 2^14 to 2^24-1",
        ),
        (
            "000501000000",
            ErrorCode::PROTOCOL_ERROR,
            "HTTP/2 SETTINGS_MAX_FRAME_SIZE of 16777216; the value must be 2^14 to 2^24-1",
        ),
    ] {
        let error = apply(payload).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.code()), (expected, code));
        assert!(!error.is_stream_error());
    }
}

#[test]
fn a_client_sends_preface_settings_and_window() {
    let mut bytes = Vec::new();
    write_client_preface(&mut bytes);
    let frames = bytes.strip_prefix(CLIENT_PREFACE).unwrap();
    assert_eq!(
        events(frames, &[]),
        [
            Seen::Settings(vec![(2, 0), (4, OUR_WINDOW), (6, 65_536)]),
            Seen::Window(0, OUR_WINDOW - WINDOW_DEFAULT)
        ]
    );
}

/// A frame written by this crate, and the events that it reads back as.
fn frame() -> impl Strategy<Value = (Vec<u8>, Vec<Seen>)> {
    let written = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = Vec::new();
        write(&mut bytes);
        bytes
    };
    let stream = || (0..5u32).prop_map(|n| 2 * n + 1);
    let code = || (0..20u32).prop_map(ErrorCode);
    prop_oneof![
        (stream(), vec(any::<u8>(), 1..300), any::<bool>()).prop_map(move |(stream, bytes, end)| {
            let flow = bytes.len() as u32;
            (
                written(&|out| write_data(out, stream, &bytes, end)),
                vec![Seen::Data { stream, bytes, flow, end }],
            )
        }),
        (stream(), vec(any::<u8>(), 0..300), any::<bool>()).prop_map(move |(stream, block, end)| {
            (
                written(&|out| write_field_block(out, stream, &block, end)),
                vec![Seen::Block { stream, block, end }],
            )
        }),
        (stream(), 16_300..50_000usize, any::<bool>()).prop_map(move |(stream, length, end)| {
            let block: Vec<u8> = (0..length).map(|at| at as u8).collect();
            (
                written(&|out| write_field_block(out, stream, &block, end)),
                vec![Seen::Block { stream, block, end }],
            )
        }),
        (stream(), code()).prop_map(move |(stream, code)| {
            (written(&|out| write_reset(out, stream, code)), vec![Seen::Reset(stream, code)])
        }),
        vec((any::<u16>(), any::<u32>()), 0..4).prop_map(move |settings| {
            (written(&|out| write_settings(out, &settings)), vec![Seen::Settings(settings)])
        }),
        Just((written(&|out| write_settings_ack(out)), vec![Seen::SettingsAck])),
        any::<[u8; 8]>()
            .prop_map(move |ping| (written(&|out| write_ping(out, ping)), vec![Seen::Ping(ping)])),
        any::<[u8; 8]>()
            .prop_map(move |ping| (written(&|out| write_ping_ack(out, ping)), vec![Seen::PingAck(ping)])),
        (0..1000u32, code(), vec(any::<u8>(), 0..20)).prop_map(move |(last, code, debug)| {
            (written(&|out| write_goaway(out, last, code, &debug)), vec![Seen::GoAway(last, code, debug)])
        }),
        (0..6u32, 0..=MAX_WINDOW).prop_map(move |(stream, increment)| {
            (
                written(&|out| write_window_update(out, stream, increment)),
                vec![Seen::Window(stream, increment)],
            )
        }),
        (10..255u8, any::<u8>(), vec(any::<u8>(), 0..50)).prop_map(move |(kind, flags, bytes)| {
            let head = FrameHead { length: bytes.len() as u32, kind, flags, stream: 7 };
            let bytes = written(&|out| {
                head.write(out);
                out.extend_from_slice(&bytes);
            });
            (bytes, vec![])
        }),
    ]
}

/// Joins neighbouring pieces of DATA of one stream.
fn joined(seen: Vec<Seen>) -> Vec<Seen> {
    let mut all: Vec<Seen> = Vec::new();
    for event in seen {
        if let (
            Some(Seen::Data { stream, bytes, flow, end: end @ false }),
            Seen::Data { stream: s, bytes: b, flow: f, end: e },
        ) = (all.last_mut(), &event)
            && stream == s
        {
            bytes.extend_from_slice(b);
            *flow += f;
            *end = *e;
        } else {
            all.push(event);
        }
    }
    all
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![Just(vec![1]), vec(1..12usize, 1..6), vec(1..2000usize, 1..6), Just(vec![])]
}

proptest! {
    #[test]
    fn written_frames_read_back_the_same_in_any_pieces(frames in vec(frame(), 0..10), sizes in sizes()) {
        let (bytes, expected): (Vec<Vec<u8>>, Vec<Vec<Seen>>) = frames.into_iter().unzip();
        let bytes = [hex(SETTINGS), bytes.concat()].concat();
        let expected = joined([vec![Seen::Settings(vec![])], expected.concat()].concat());
        prop_assert_eq!(events(&bytes, &sizes), expected);
    }

    #[test]
    fn damaged_frames_give_the_same_events_in_any_pieces(
        frames in vec(frame(), 0..6),
        edits in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
        sizes in sizes(),
    ) {
        let mut bytes = [hex(SETTINGS), frames.into_iter().flat_map(|(bytes, _)| bytes).collect()].concat();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        let without_text = |seen: Vec<Seen>| -> Vec<Seen> {
            let cut = |event| match event {
                // The excerpt of another protocol depends on how many bytes have come.
                Seen::Error(text) => Seen::Error(text.split(" it begins").next().unwrap_or("").into()),
                event => event,
            };
            seen.into_iter().map(cut).collect()
        };
        prop_assert_eq!(without_text(events(&bytes, &sizes)), without_text(events(&bytes, &[])));
    }
}
