//! WebSocket in simulation: what a run counts against servers that echo, send unasked, close, or break the rules.
//!
//! Frames and the handshake are tested in `crates/http`; `websocket_cases.rs` has the cases of the Autobahn test suite.

use crate::deaf::Deaf;
use crate::support::closed_loop;
use paceline_engine::sim::{Act, Connect, Script, VirtualClock, simulate};
use paceline_engine::stream::{MessageTime, StreamPlan, TextSearch};
use paceline_engine::{
    BodyCheck, Bound, ConnectionFailure, Ending, EngineError, Measure, Nanos, Random, RequestKind, Requests,
    ResponseCheck, Settings, Slot, ThreadOutcome, UpgradeRequest,
};
use paceline_http::websocket::{AnyFrameHead, CloseCode, MessageType, mask};
use paceline_http::{EventFormat, LineFiles, Method, Request, Url};
use paceline_job::AnswerRule;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

const MS: Nanos = Nanos::from_millis(1);

/// What a server sends for a message: given the message and its number on the connection.
type Answer = Box<dyn Fn(&[u8], u64) -> Vec<Act>>;

/// What a server does with an upgrade request, given its key.
type Upgrade = fn(&str) -> Vec<Act>;

/// The frames that clients have sent: the first byte of each, and its payload.
pub type Frames = Rc<RefCell<Vec<(u8, Vec<u8>)>>>;

/// One connection of the server.
#[derive(Default)]
struct Peer {
    bytes: Vec<u8>,
    is_open: bool,
    messages: u64,
}

/// A server that acts a millisecond after each message.
pub struct Server {
    peers: HashMap<Slot, Peer>,
    upgrade: Upgrade,
    answer: Answer,
    /// The largest number of bytes that a socket takes or returns at once.
    piece: usize,
    pub frames: Frames,
}

/// The answer to an upgrade request, before any message.
fn switched(key: &str) -> Vec<u8> {
    use paceline_http::websocket::HandshakeKey;
    let nonce = decode_base64(key);
    let accept = HandshakeKey::from_nonce(nonce).accept();
    let accept = std::str::from_utf8(&accept).unwrap();
    format!("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n")
        .into_bytes()
}

/// The 16 bytes of a key.
fn decode_base64(text: &str) -> [u8; 16] {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.trim_end_matches('=').bytes();
    let value = digits.fold((Vec::new(), 0u32, 0), |(mut bytes, bits, count), digit| {
        let digit = DIGITS.iter().position(|known| *known == digit).unwrap() as u32;
        let (bits, count) = (bits << 6 | digit, count + 6);
        if count >= 8 {
            bytes.push((bits >> (count - 8)) as u8);
            return (bytes, bits & ((1 << (count - 8)) - 1), count - 8);
        }
        (bytes, bits, count)
    });
    value.0.try_into().unwrap()
}

pub fn send(bytes: impl AsRef<[u8]>) -> Act {
    Act::Send(Rc::from(bytes.as_ref()))
}

fn accept(key: &str) -> Vec<Act> {
    vec![send(switched(key))]
}

/// A frame of a server.
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        length @ 0..126 => bytes.push(length as u8),
        length @ 126..0x1_0000 => {
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

pub fn server(answer: impl Fn(&[u8], u64) -> Vec<Act> + 'static) -> Server {
    Server {
        peers: HashMap::new(),
        upgrade: accept,
        answer: Box::new(answer),
        piece: usize::MAX,
        frames: Frames::default(),
    }
}

fn echo() -> Server {
    server(|message, _| vec![send(frame(0x81, message))])
}

/// The first masked frame in some bytes: its first byte, its payload and its length.
fn client_frame(bytes: &[u8]) -> Option<(u8, Vec<u8>, usize)> {
    let (head, start) = AnyFrameHead::read(bytes)?;
    let end = start + head.length as usize;
    let mut payload = bytes.get(start..end)?.to_vec();
    mask(&mut payload, head.key.expect("a client masks its frames"));
    Some((bytes[0], payload, end))
}

impl Script for Server {
    fn connect(&mut self, slot: Slot, _: Nanos) -> Connect {
        self.peers.insert(slot, Peer::default());
        Connect::Accept(MS)
    }

    fn request(&mut self, _: Slot, _: Nanos, _: &mut Vec<(Nanos, Act)>) {}

    fn bytes(&mut self, slot: Slot, bytes: &[u8], now: Nanos, acts: &mut Vec<(Nanos, Act)>) -> bool {
        let peer = self.peers.get_mut(&slot).unwrap();
        peer.bytes.extend_from_slice(bytes);
        if !peer.is_open {
            let Some(end) = peer.bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return true };
            let head = String::from_utf8(peer.bytes.drain(..end + 4).collect()).unwrap();
            let (_, key) = head.split_once("Sec-WebSocket-Key: ").unwrap();
            acts.extend((self.upgrade)(key.trim_end()).into_iter().map(|act| (now + MS, act)));
            peer.is_open = true;
        }
        while let Some((first, payload, length)) = client_frame(&peer.bytes) {
            peer.bytes.drain(..length);
            self.frames.borrow_mut().push((first, payload.clone()));
            if matches!(first, 0x81 | 0x82) {
                peer.messages += 1;
                acts.extend((self.answer)(&payload, peer.messages).into_iter().map(|act| (now + MS, act)));
            }
        }
        true
    }

    fn takes(&mut self, wanted: usize) -> usize {
        wanted.min(self.piece)
    }

    fn gives(&mut self, there: usize) -> usize {
        there.min(self.piece)
    }
}

fn url() -> Url {
    Url::parse("ws://a/").unwrap()
}

/// Messages of this text; their answers are checked so.
fn messages(text: &str, body: impl FnOnce(&[u8]) -> BodyCheck) -> Arc<Requests> {
    messages_of(MessageType::Text, text.as_bytes(), body)
}

/// The same of any type.
pub fn messages_of(kind: MessageType, bytes: &[u8], body: impl FnOnce(&[u8]) -> BodyCheck) -> Arc<Requests> {
    let files = LineFiles::default();
    let request = Request { body: bytes.to_vec(), ..Request::get(&url()) };
    let template = request.compile_message(kind, &files).unwrap();
    let check = ResponseCheck { status: Some(101), body: body(template.as_fixed().unwrap_or_default()) };
    let upgrade =
        UpgradeRequest { template: request.compile_upgrade(&files).unwrap(), subprotocols: Vec::new(), kind };
    let kind = RequestKind { weight: 1, template, method: Method::Other, check };
    Arc::new(Requests::from_kinds(vec![kind], 0).with_upgrade(upgrade))
}

pub fn exact(message: &[u8]) -> BodyCheck {
    BodyCheck::Exact(Arc::from(message))
}

pub fn settings(requests: Arc<Requests>, count: u64) -> Settings {
    Settings { requests, ..closed_loop(2, 1) }.with(|job| {
        (job.url, job.window, job.timeout) = (url(), Bound::Requests(count), Nanos::from_millis(200));
    })
}

fn run(settings: &Settings, server: Server) -> Result<ThreadOutcome, EngineError> {
    simulate(settings, server, &VirtualClock::new(Nanos::ZERO))
}

/// The outcome of 40 messages, all of which end once.
fn outcome(server: Server) -> ThreadOutcome {
    let outcome = run(&settings(messages("hello", exact), 40), server).unwrap();
    assert!(outcome.total.counts.add_up(), "{:?}", outcome.total.counts);
    assert_eq!(outcome.total.counts.scheduled, 40);
    outcome
}

#[test]
fn echoes_are_ok_in_pieces_of_any_size() {
    for piece in [1, 2, 5, usize::MAX] {
        for text in ["hello", "", "number {seq} {rand:1:1000000}"] {
            let check = |message: &[u8]| if text == "hello" { exact(message) } else { BodyCheck::Echo };
            for depth in [1, 4] {
                let settings = settings(messages(text, check), 40).with(|job| job.depth = depth);
                let outcome = run(&settings, Server { piece, ..echo() }).unwrap();
                assert_eq!(outcome.total.counts.ended(Ending::Ok), 40, "{piece} {text:?} {depth}");
                assert_eq!(outcome.total.counts.status, [(101, 40)]);
                assert!(outcome.connections.failures.is_empty(), "{:?}", outcome.connections.failures);
            }
        }
    }
}

#[test]
fn a_message_takes_as_long_as_the_server() {
    let outcome = outcome(echo());
    let times = outcome.total.times(Measure::Service);
    let (least, most) = (times.min().unwrap(), times.max().unwrap());
    assert!(least >= MS.0 && most <= 2 * MS.0, "{least} to {most}");
    // A frame of 5 bytes has a head of 6, or of 2 from the server.
    assert_eq!(outcome.total.counts.sent_bytes, 40 * 11);
    assert_eq!(outcome.total.counts.received_bytes, 40 * 7);
}

#[test]
fn fragments_and_control_frames_between_them_are_read() {
    let fragments = server(|message, _| {
        let (one, two) = message.split_at(2);
        vec![
            send(frame(0x01, one)),
            send(frame(0x89, b"ping")),
            send(frame(0x8a, b"")),
            send(frame(0x80, two)),
        ]
    });
    assert_eq!(outcome(fragments).total.counts.ended(Ending::Ok), 40);
}

#[test]
fn connections_are_closed_after_their_messages() {
    let settings = settings(messages("hello", exact), 40).with(|job| job.requests_per_connection = Some(4));
    let outcome = run(&settings, echo()).unwrap();
    assert_eq!((outcome.total.counts.ended(Ending::Ok), outcome.connections.made), (40, 10));
    assert_eq!(outcome.connections.closed_as_asked, 10);
}

/// A server that misbehaves with the third message of each connection.
fn third(acts: impl Fn(&[u8]) -> Vec<Act> + 'static) -> Server {
    server(move |message, number| match number {
        3 => acts(message),
        _ => vec![send(frame(0x81, message))],
    })
}

#[test]
fn hostile_servers_are_named() {
    use ConnectionFailure::*;
    let close = |code: u16, reason: &[u8]| frame(0x88, &[&code.to_be_bytes(), reason].concat());
    let cases: Vec<(Server, ConnectionFailure)> = vec![
        (third(|message| vec![send([&[0x81, 0x85, 0, 0, 0, 0], message].concat())]), WebSocket),
        (third(|_| vec![send(frame(0x81, b"\xff"))]), WebSocket),
        (third(|_| vec![send(frame(0xc1, b"compressed"))]), WebSocket),
        (third(|_| vec![send(frame(0x80, b"no message"))]), WebSocket),
        (third(|_| vec![send([0x82, 127, 255, 0, 0, 0, 0, 0, 0, 0])]), WebSocket),
        (third(move |_| vec![send(close(1011, b"no \x07 disk"))]), WebSocketClosed(CloseCode(1011))),
        (third(move |_| vec![send(close(4000, b""))]), WebSocketClosed(CloseCode(4000))),
        (third(move |_| vec![send(close(1006, b""))]), WebSocket),
        (third(|message| vec![send(frame(0x81, message).repeat(2))]), Unsolicited),
        (third(|_| vec![send(frame(0x89, b"").repeat(10_001))]), Flood),
        (third(|_| vec![send(&frame(0x81, b"hello")[..4]), Act::Close]), Truncated),
        (third(|_| vec![Act::Close]), ClosedReused),
        (third(|_| vec![]), TimedOut),
        (third(|_| vec![send(frame(0x01, b"hel"))]), TimedOut),
    ];
    for (server, failure) in cases {
        let outcome = outcome(server);
        let noted = outcome.connections.failures.iter().find(|(noted, _)| *noted == failure);
        assert!(noted.is_some(), "{failure:?} is not in {:?}", outcome.connections.failures);
        assert!(outcome.total.counts.ended(Ending::Ok) >= 20, "two of three are answered: {failure:?}");
        assert_eq!(outcome.total.counts.ended(Ending::BadBody), 0, "{failure:?}");
    }
}

#[test]
fn wrong_answers_are_shown() {
    let outcome = outcome(third(|_| vec![send(frame(0x81, b"hella"))]));
    // Each of both connections had one.
    assert_eq!((outcome.total.counts.ended(Ending::BadBody), outcome.connections.made), (2, 2));
    let wrong = outcome.wrong_bodies[0].as_ref().unwrap();
    assert_eq!((wrong.differs_at, wrong.shown.as_slice()), (Some(4), &b"hella"[..]));
    // The same where each message is different, in one piece and in two.
    for answer in [frame(0x81, b"0!"), [frame(0x01, b"0"), frame(0x80, b"!")].concat(), frame(0x81, b"")] {
        let settings = settings(messages("{seq}", |_| BodyCheck::Echo), 40);
        let outcome = run(&settings, third(move |_| vec![send(&answer)])).unwrap();
        assert_eq!(outcome.total.counts.ended(Ending::BadBody), 2, "{:?}", outcome.total.counts);
    }
}

#[test]
fn messages_before_a_normal_close_are_sent_again() {
    // The third message of each connection is not answered: another connection carries it.
    let outcome = outcome(third(|_| vec![send(frame(0x88, &1001u16.to_be_bytes()))]));
    assert_eq!(outcome.total.counts.ended(Ending::Ok), 40);
    assert!(outcome.connections.handed_back >= 18, "{}", outcome.connections.handed_back);
    // A server that never answers does not keep the run from ending.
    let outcome = self::outcome(server(|_, _| vec![send(frame(0x88, b""))]));
    assert_eq!(outcome.total.counts.ended(Ending::IoFailed), 40);
    assert!(outcome.connections.failures.iter().any(|(failure, _)| *failure == ConnectionFailure::Refused));
}

#[test]
fn unasked_messages_are_skipped_where_answers_are_matched() {
    let chatty = |message: &[u8], _| {
        vec![
            send(frame(0x81, b"news")),
            send(frame(0x01, b"fra")),
            send(frame(0x80, b"gment")),
            send(frame(0x81, message)),
        ]
    };
    for (text, check) in [("hello", exact as fn(&[u8]) -> BodyCheck), ("{seq}", |_| BodyCheck::Echo)] {
        let settings =
            settings(messages(text, check), 40).with(|job| job.websocket.answer = AnswerRule::Match);
        let outcome = run(&settings, server(chatty)).unwrap();
        assert_eq!(outcome.total.counts.ended(Ending::Ok), 40, "{:?}", outcome.connections.failures);
    }
}

#[test]
fn a_message_that_began_before_the_request_is_no_answer() {
    let server = server(|_, number| match number {
        // The answer in two fragments, and the first one of another message.
        1 => vec![send([frame(0x01, b"hel"), frame(0x80, b"lo"), frame(0x01, b"junk")].concat())],
        // The end of that message.
        _ => vec![send(frame(0x80, b""))],
    });
    let settings = settings(messages("hello", exact), 2)
        .with(|job| (job.connections, job.websocket.answer) = (1, AnswerRule::Match));
    let outcome = run(&settings, server).unwrap();
    let counts = &outcome.total.counts;
    assert_eq!((counts.ended(Ending::Ok), counts.ended(Ending::TimedOut)), (1, 1), "{counts:?}");
}

#[test]
fn refused_handshakes_are_failed_attempts() {
    use ConnectionFailure::*;
    let cases: [(Upgrade, ConnectionFailure); 6] = [
        (|_| vec![send("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno")], UpgradeRefused(403)),
        (|_| vec![send("HTTP/1.1 200 OK\r\n\r\n"), Act::Close], UpgradeRefused(200)),
        (|_| vec![send(switched("AAAAAAAAAAAAAAAAAAAAAA=="))], InvalidUpgrade),
        (|_| vec![send("SSH-2.0\r\n")], Protocol),
        (|_| vec![], NoUpgrade),
        (|_| vec![Act::Close], ClosedUnused),
    ];
    for (upgrade, failure) in cases {
        let settings = settings(messages("hello", exact), 40);
        let error = run(&settings, Server { upgrade, ..echo() }).unwrap_err();
        let EngineError::Unreachable { source, .. } = &error else { panic!("{failure:?}: {error}") };
        assert_eq!(ConnectionFailure::within(source), Some(failure), "{error}");
    }
}

/// A server that sends eleven messages when the connection is open, and then closes.
fn push(key: &str) -> Vec<Act> {
    let events = (0..11).map(|number| frame(0x81, format!("{number}").as_bytes()));
    vec![send([switched(key), events.collect::<Vec<_>>().concat()].concat()), send(frame(0x88, b""))]
}

/// Messages of a server as events, of which this many end a stream.
fn pushed(events: Option<u64>) -> StreamPlan {
    StreamPlan {
        format: EventFormat::Messages,
        must_be_json: false,
        events,
        length: None,
        until: None,
        count: None,
        time: None,
        call: None,
    }
}

fn listening(events: Option<u64>, text: &str) -> Settings {
    settings(messages(text, |_| BodyCheck::Stream(Arc::new(pushed(events)))), 10)
}

#[test]
fn pushed_messages_are_events() {
    for (events, ending) in [(None, Ending::Ok), (Some(4), Ending::Ok), (Some(20), Ending::BadBody)] {
        for piece in [1, 3, usize::MAX] {
            let server = Server { upgrade: push, piece, ..echo() };
            let outcome = run(&listening(events, ""), server).unwrap();
            assert_eq!(outcome.total.counts.ended(ending), 10, "{events:?}: {:?}", outcome.total.counts);
            assert_eq!(outcome.connections.made, 10, "one for each");
            let counted = outcome.total.counts.streams.events;
            assert_eq!(counted, 10 * events.unwrap_or(11).min(11), "{events:?}, pieces of {piece}");
        }
    }
}

#[test]
fn a_text_ends_a_stream_if_one_message_contains_it() {
    let upgrade = |key: &str| {
        let events = ["[DO", "NE]", "[DONE]"].map(|text| frame(0x81, text.as_bytes()));
        vec![send([switched(key), events.concat()].concat())]
    };
    let plan = StreamPlan { until: TextSearch::new(b"[DONE]"), ..pushed(None) };
    let settings = settings(messages("", |_| BodyCheck::Stream(Arc::new(plan))), 1);
    let outcome = run(&settings, Server { upgrade, ..echo() }).unwrap();
    let counts = &outcome.total.counts;
    assert_eq!((counts.ended(Ending::Ok), counts.streams.events), (1, 3), "{counts:?}");
}

/// The wall clock at the zero of the simulation's clock, in seconds since 1970: 2026-11-21T01:06:39Z.
const ZERO_S: i128 = 1_795_223_199;

/// A server that sends six messages when the connection is open: three with the time of that zero, one with none, one
/// with a text that is no time, and one with the time an hour later.
fn push_times(key: &str) -> Vec<Act> {
    let messages = [
        format!("{{\"at\":{ZERO_S}}}"),
        format!("{{\"at\":{ZERO_S}000000000}}"),
        "{\"at\":\"2026-11-21T01:06:39Z\"}".to_owned(),
        "{\"sent\":1}".to_owned(),
        "{\"at\":\"now\"}".to_owned(),
        format!("{{\"at\":{}}}", ZERO_S + 3_600),
    ];
    let frames = messages.map(|message| frame(0x81, message.as_bytes()));
    vec![send([switched(key), frames.concat()].concat()), send(frame(0x88, b""))]
}

#[test]
fn pushed_messages_have_delays() {
    for piece in [1, 3, usize::MAX] {
        let time = Some(MessageTime::at("/at", ZERO_S * 1_000_000_000));
        let plan = StreamPlan { time, ..pushed(None) };
        let settings = settings(messages("", |_| BodyCheck::Stream(Arc::new(plan))), 1);
        let outcome = run(&settings, Server { upgrade: push_times, piece, ..echo() }).unwrap();
        let streams = &outcome.total.counts.streams;
        assert_eq!((streams.events, streams.without_time, streams.ahead_of_clock), (6, 2, 1), "{piece}");
        let delays = outcome.total.times(Measure::MessageDelay);
        assert_eq!((delays.count(), delays.min()), (3, delays.max()), "they arrive together");
        // A millisecond for the connection, and one for the answer to the handshake.
        let arrival = Nanos(delays.min().unwrap());
        assert!(arrival >= MS + MS, "{arrival:?}");
        assert_eq!(arrival + streams.ahead_most, Nanos::from_secs(3_600));
    }
}

#[test]
fn a_subscription_is_sent_when_the_connection_is_open() {
    let feed = server(|message, _| {
        assert_eq!(message, b"subscribe");
        vec![send(frame(0x81, b"1")), send(frame(0x81, b"2"))]
    });
    let outcome = run(&listening(Some(2), "subscribe"), feed).unwrap();
    assert_eq!(outcome.total.counts.ended(Ending::Ok), 10, "{:?}", outcome.connections.failures);
    // A refusal is an answer with another status.
    let upgrade = |_: &str| vec![send("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")];
    let outcome = run(&listening(Some(2), ""), Server { upgrade, ..echo() }).unwrap();
    assert_eq!(outcome.total.counts.status, [(403, 10)]);
    assert_eq!(outcome.total.counts.ended(Ending::BadStatus), 10);
    // One without a length, too, as the example of a popular library sends it: it ends with the connection.
    let upgrade = |_: &str| vec![send("HTTP/1.1 401 Unauthorized\r\n\r\n"), Act::Close];
    let outcome = run(&listening(Some(2), ""), Server { upgrade, ..echo() }).unwrap();
    assert_eq!(outcome.total.counts.status, [(401, 10)]);
    assert_eq!(outcome.total.counts.ended(Ending::BadStatus), 10);
    // A server that closes before its answer has not broken off a response.
    let outcome = run(&listening(Some(2), ""), Server { upgrade: |_| vec![Act::Close], ..echo() }).unwrap();
    let failures: Vec<_> = outcome.connections.failures.iter().map(|(failure, _)| *failure).collect();
    assert_eq!(failures, [ConnectionFailure::ClosedUnanswered]);
}

#[test]
fn the_most_recent_ping_is_answered_when_a_server_reads_late() {
    let payload = |number: u32| format!("{number:0125}").into_bytes();
    // 4,000 pings in forty sends.
    let pings = move |_: &[u8], _: u64| -> Vec<Act> {
        let ping = |number| frame(0x89, &payload(number));
        (0..40).map(|some| send((100 * some..100 * (some + 1)).flat_map(ping).collect::<Vec<_>>())).collect()
    };
    let read = |server: &Server| server.peers.values().map(|peer| peer.messages).sum::<u64>();
    let answer = send(frame(0x81, b"hello"));
    let server = Deaf::new(server(pings), read, 100, vec![(Nanos::from_millis(150), answer)]);
    let frames = Rc::clone(&server.server.frames);
    let settings = settings(messages("hello", exact), 1).with(|job| job.connections = 1);
    let outcome = simulate(&settings, server, &VirtualClock::new(Nanos::ZERO)).unwrap();
    assert_eq!(outcome.total.counts.ended(Ending::Ok), 1, "{:?}", outcome.connections.failures);
    assert_eq!(outcome.total.counts.sent_bytes, 11, "pongs are no part of a message");
    let frames = frames.take();
    let pongs: Vec<_> =
        frames.iter().filter(|(first, _)| *first == 0x8a).map(|(_, payload)| payload).collect();
    // Those of 131 bytes that began within 64 KiB, and the last.
    assert_eq!(pongs.len(), 501 + 1);
    assert!((0..501).zip(&pongs).all(|(number, pong)| **pong == payload(number)));
    assert_eq!(*pongs[501], payload(3_999));
}

/// A server that does anything, as determined by a seed.
fn misbehaving(seed: u64) -> Server {
    let random = std::cell::RefCell::new(Random::new(seed));
    let mut server = server(move |message, _| {
        let mut random = random.borrow_mut();
        let echo = frame(0x81, message);
        match random.below(14) {
            0 => vec![],
            1 => vec![Act::Close],
            2 => vec![Act::Reset],
            3 => vec![send(&echo[..random.below(echo.len() as u64) as usize]), Act::Close],
            4 => vec![send(frame(0x88, &(999 + random.below(16) as u16).to_be_bytes()))],
            5 => vec![send((0..8).map(|_| random.below(256) as u8).collect::<Vec<_>>())],
            6 => vec![send(frame(0x89, b"ping")), send(frame(0x01, b"")), send(frame(0x80, message))],
            7 => vec![send(frame(0x81, b"other"))],
            8 => vec![send(&echo), send(&echo)],
            _ => vec![send(echo)],
        }
    });
    server.piece = if seed.is_multiple_of(3) { 1 + (seed % 7) as usize } else { usize::MAX };
    server
}

#[test]
fn every_message_ends_once_whatever_the_server_does() {
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let text = ["hello", "{seq} and {rand:1:9}", ""][random.below(3) as usize];
        let check = |message: &[u8]| if message.is_empty() { BodyCheck::Echo } else { exact(message) };
        let rules = [AnswerRule::Next, AnswerRule::Any, AnswerRule::Match];
        let settings = settings(messages(text, check), 200).with(|job| {
            job.depth = 1 + random.below(4) as u16;
            job.websocket.answer = rules[random.below(3) as usize];
            job.requests_per_connection = (random.below(3) == 0).then(|| 1 + random.below(5) as u32);
        });
        let outcome = run(&settings, misbehaving(seed)).unwrap();
        let counts = &outcome.total.counts;
        // A run may give up on a server.
        assert!(counts.add_up() && (1..=200).contains(&counts.scheduled), "seed {seed}: {counts:?}");
    }
}
