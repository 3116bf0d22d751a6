//! Sessions over HTTP/2 in simulation: users share connections, and every step of each ends exactly once, whatever the
//! server does to streams and connections. The same holds for requests whose redirects are followed.

use crate::sessions::{Customers, any_settings, ok, run_against, run_redirected_by, with_sessions};
use crate::support::{closed_loop, open_loop};
use paceline_engine::sim::{Act, Connect, Script};
use paceline_engine::{Bound, Ending, Measure, Nanos, Random, Settings, Slot, ThreadOutcome};
use paceline_http::h2::{
    CLIENT_PREFACE, ErrorCode, FrameEvent, FrameReader, HpackDecoder, HpackEncoder, HpackScratch, Indexing,
    write_data, write_field_block, write_goaway, write_reset, write_settings, write_settings_ack,
};
use paceline_job::Protocol;
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

/// The response of an application to a request: status, lines of fields, body.
type Answer = (u16, String, String);

/// The server's side of one connection.
#[derive(Default)]
struct Peer {
    preface: usize,
    reader: FrameReader,
    fields: HpackDecoder,
    /// Requests that are not whole, as text.
    requests: HashMap<u32, String>,
    /// The streams answered so far.
    answered: u32,
    /// The last stream that is answered, once GOAWAY was sent.
    ends_at: Option<u32>,
}

/// An application over HTTP/2, which serves each request in a millisecond, and one in `trouble` requests badly.
struct Server<A> {
    answer: A,
    trouble: u64,
    random: Random,
    /// The limit of streams that it announces.
    streams: u32,
    /// The number of requests after which it ends a connection with GOAWAY.
    requests_per_connection: u32,
    peers: HashMap<Slot, Peer>,
}

impl<A: FnMut(&str) -> Answer> Server<A> {
    fn new(answer: A, trouble: u64, seed: u64) -> Self {
        let random = Random::new(seed);
        Self {
            answer,
            trouble,
            random,
            streams: 100,
            requests_per_connection: u32::MAX,
            peers: HashMap::new(),
        }
    }

    /// Reads frames; returns the requests that are whole.
    fn read(&mut self, slot: Slot, mut bytes: &[u8], out: &mut Vec<u8>) -> Vec<(u32, String)> {
        let peer = self.peers.entry(slot).or_default();
        let preface = (CLIENT_PREFACE.len() - peer.preface).min(bytes.len());
        if preface > 0 {
            peer.preface += preface;
            bytes = &bytes[preface..];
            write_settings(out, &[(3, self.streams)]);
        }
        let mut whole = Vec::new();
        while !bytes.is_empty() {
            let (event, taken) = peer.reader.next(bytes).unwrap();
            match event {
                FrameEvent::FieldBlock { stream, block, end_stream } => {
                    let mut text = request_text(&mut peer.fields, block);
                    if end_stream {
                        whole.push((stream, std::mem::take(&mut text)));
                    }
                    peer.requests.insert(stream, text);
                }
                FrameEvent::Data { stream, piece, end_stream, .. } => {
                    let text = peer.requests.get_mut(&stream).unwrap();
                    text.push_str(std::str::from_utf8(piece).unwrap());
                    if end_stream {
                        whole.push((stream, std::mem::take(text)));
                    }
                }
                FrameEvent::Settings(_) => write_settings_ack(out),
                FrameEvent::Reset { stream, .. } => drop(peer.requests.remove(&stream)),
                _ => {}
            }
            bytes = &bytes[taken..];
        }
        whole
    }

    /// Answers a request: the frames, and whether the connection breaks with them.
    fn respond(&mut self, slot: Slot, stream: u32, text: &str) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        let trouble = if self.trouble > 0 { self.random.below(self.trouble) } else { u64::MAX };
        let kind = if trouble == 0 { self.random.below(7) } else { u64::MAX };
        let peer = self.peers.entry(slot).or_default();
        if peer.ends_at.is_some_and(|last| stream > last) {
            return (out, false);
        }
        // These leave a request unprocessed.
        match kind {
            0 => {
                write_goaway(&mut out, stream - 1, ErrorCode::NO_ERROR, b"");
                peer.ends_at = Some(stream - 1);
                return (out, false);
            }
            1 => {
                write_reset(&mut out, stream, ErrorCode::REFUSED_STREAM);
                return (out, false);
            }
            _ => {}
        }
        let (mut status, fields, mut body) = (self.answer)(text);
        match kind {
            2 => return (out, true),
            3 => return (out, false),
            4 => body = "{}".to_owned(),
            5 => status = 503,
            6 => {
                write_reset(&mut out, stream, ErrorCode(2));
                return (out, false);
            }
            _ => {}
        }
        write_response(&mut out, stream, status, &fields, &body);
        peer.answered += 1;
        if peer.answered >= self.requests_per_connection && peer.ends_at.is_none() {
            write_goaway(&mut out, stream, ErrorCode::NO_ERROR, b"");
            peer.ends_at = Some(stream);
        }
        (out, false)
    }
}

/// A request as text in the form of HTTP/1.1.
fn request_text(fields: &mut HpackDecoder, block: &[u8]) -> String {
    let (mut line, mut rest) = (vec![String::new(); 2], String::new());
    fields
        .decode(block, &mut HpackScratch::default(), |field| {
            let [name, value] =
                [field.name, field.value].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            match name.as_str() {
                ":method" => line[0] = value,
                ":path" => line[1] = value,
                _ => rest += &format!("{name}: {value}\r\n"),
            }
        })
        .unwrap();
    format!("{} {} HTTP/1.1\r\n{rest}\r\n", line[0], line[1])
}

/// A response, whose body ends its stream in a separate frame.
fn write_response(out: &mut Vec<u8>, stream: u32, status: u16, fields: &str, body: &str) {
    let (mut block, mut encoder) = (Vec::new(), HpackEncoder::default());
    encoder.field(b":status", status.to_string().as_bytes(), Indexing::Omit, &mut block);
    for (name, value) in fields.lines().filter_map(|line| line.split_once(": ")) {
        encoder.field(name.to_ascii_lowercase().as_bytes(), value.as_bytes(), Indexing::Omit, &mut block);
    }
    write_field_block(out, stream, &block, body.is_empty());
    if !body.is_empty() {
        write_data(out, stream, body.as_bytes(), true);
    }
}

impl<A: FnMut(&str) -> Answer> Script for Server<A> {
    fn connect(&mut self, slot: Slot, _: Nanos) -> Connect {
        self.peers.insert(slot, Peer::default());
        Connect::Accept(Nanos::from_micros(100))
    }

    fn request(&mut self, _: Slot, _: Nanos, _: &mut Vec<(Nanos, Act)>) {}

    fn bytes(&mut self, slot: Slot, bytes: &[u8], now: Nanos, acts: &mut Vec<(Nanos, Act)>) -> bool {
        let mut first = Vec::new();
        let whole = self.read(slot, bytes, &mut first);
        acts.push((now, Act::Send(first.into())));
        let at = now + Nanos::from_millis(1);
        for (stream, text) in whole {
            let (frames, breaks) = self.respond(slot, stream, &text);
            // In two pieces, so that a value is extracted from a response that did not arrive at once.
            let (one, two) = frames.split_at(frames.len() / 2);
            acts.push((at, Act::Send(one.into())));
            acts.push((at, Act::Send(two.into())));
            if breaks {
                acts.push((at, Act::Reset));
            }
        }
        true
    }
}

/// The same settings over HTTP/2, with this many streams on each connection.
fn over_http2(settings: Settings, streams: u16) -> Settings {
    settings.with(|job| (job.protocol, job.depth) = (Protocol::Http2, streams))
}

/// A load of the shop's users against a server; what holds for any server is checked.
fn shop(
    settings: &Settings,
    change: impl FnOnce(&mut Server<Box<dyn FnMut(&str) -> Answer>>),
) -> (ThreadOutcome, u64, u64) {
    let strangers = Rc::new(Cell::new(0));
    let mut customers = Customers::new(&strangers);
    let mut server = Server::new(Box::new(move |text: &str| customers.answer(text)) as Box<_>, 0, 1);
    change(&mut server);
    run_against(settings, server, &strangers)
}

#[test]
fn users_share_a_connection() {
    let settings = over_http2(with_sessions(open_loop(100.0, 1, 10)), 8);
    let (outcome, started, completed) = shop(&settings, |_| ());
    assert_eq!((started, completed, outcome.connections.made), (1_000, 1_000, 1));
    // Three responses of a millisecond and a pause of 20.
    let times = &outcome.session_times[0];
    let (min, max) = (times.min().unwrap(), times.max().unwrap());
    assert!(min >= 23_000_000 && max < 23_100_000, "{min} to {max}");
    assert!((990..=1_000).contains(&outcome.sessions_completed[0]), "{:?}", outcome.sessions_completed);
    let response = outcome.total.times(Measure::Response).max().unwrap();
    assert!(response < 1_100_000, "no response time includes a pause: {response}");
}

#[test]
fn a_closed_loop_has_a_user_for_each_stream() {
    let settings =
        over_http2(with_sessions(closed_loop(2, 1)), 4).with(|job| job.window = Bound::Requests(80));
    let (outcome, started, completed) = shop(&settings, |_| ());
    assert_eq!((started, completed, outcome.total.counts.scheduled), (80, 80, 240));
    // Ten sessions of 23 ms by each of eight users.
    let length = outcome.spans.end.since(outcome.spans.warmup);
    assert!((Nanos::from_millis(229)..Nanos::from_millis(240)).contains(&length), "{length:?}");
}

#[test]
fn steps_wait_for_a_stream_that_the_server_allows() {
    // Eight sessions are due at once, on one stream.
    let settings = over_http2(with_sessions(open_loop(8_000.0, 1, 1)), 8).with(|job| {
        job.window = Bound::Requests(8);
    });
    let (outcome, started, completed) = shop(&settings, |server| server.streams = 1);
    assert_eq!((started, completed), (8, 8));
    let wait = outcome.total.times(Measure::ConnectionWait).max().unwrap();
    let lag = outcome.total.times(Measure::GeneratorLag).max().unwrap();
    assert!(
        wait >= 5_000_000 && lag < 100_000,
        "the server made them wait {wait} ns, the generator {lag} ns"
    );
}

#[test]
fn users_continue_after_goaway_on_the_next_connection() {
    for settings in [open_loop(300.0, 2, 2), closed_loop(2, 1)] {
        let settings = over_http2(with_sessions(settings), 8);
        let (outcome, started, completed) = shop(&settings, |server| server.requests_per_connection = 20);
        assert_eq!(started, completed);
        assert_eq!(ok(&outcome.total), outcome.total.counts.scheduled);
        assert!(outcome.connections.made > 20 && outcome.connections.handed_back > 20);
    }
}

#[test]
fn every_step_over_http2_is_accounted_for() {
    let (mut handed_back, mut failed) = (0, 0);
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let settings = over_http2(any_settings(seed, &mut random), 1 + random.below(10) as u16);
        let (outcome, ..) = shop(&with_sessions(settings), |server| {
            server.trouble = 2 + random.below(20);
            server.random = Random::new(seed);
            server.streams = random.below(12) as u32 + u32::from(random.below(4) > 0);
            server.requests_per_connection =
                [u32::MAX, 1 + random.below(20) as u32][random.below(2) as usize];
        });
        handed_back += outcome.connections.handed_back;
        failed += outcome.total.counts.scheduled - ok(&outcome.total);
    }
    assert!(handed_back > 500 && failed > 500, "{handed_back} {failed}");
}

/// Redirects `/` to `/there`, and answers that.
fn moved(text: &str) -> Answer {
    match text.starts_with("GET / ") {
        true => (302, "Location: /there\r\n".to_owned(), String::new()),
        false => (200, String::new(), String::new()),
    }
}

#[test]
fn redirects_are_followed_on_another_stream() {
    for settings in [open_loop(200.0, 1, 1), closed_loop(1, 1)] {
        let outcome = run_redirected_by(&over_http2(settings, 4), Server::new(moved, 0, 1));
        let all = outcome.total.counts.scheduled;
        assert!(all >= 200, "{all}");
        assert_eq!((ok(&outcome.total), outcome.connections.redirects), (all, all));
        assert_eq!(outcome.total.counts.status.as_slice(), [(200, all)].as_slice());
        let times = outcome.total.times(Measure::Service);
        let (min, max) = (times.min().unwrap(), times.max().unwrap());
        assert!(min >= 2_000_000 && max < 2_100_000, "two responses: {min} to {max}");
    }
}

#[test]
fn every_redirected_request_over_http2_ends_once() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let settings = over_http2(any_settings(seed, &mut random), 1 + random.below(10) as u16);
        let mut server = Server::new(moved, 2 + random.below(20), seed);
        server.streams = 1 + random.below(12) as u32;
        let outcome = run_redirected_by(&settings, server);
        let counts = &outcome.total.counts;
        assert!(counts.ended(Ending::Ok) <= counts.scheduled);
    }
}
