//! Bodies that do not follow their heads at once: generated ones, and those that wait for 100 Continue; and requests that
//! are written in pieces.
//!
//! Simulated, with a server that reads bytes and notes when the parts of each request came. The bytes of chunks are
//! tested in `crates/http`; HTTP/2 and HTTP/3 in the tests of the binary, and in `read_bodies.rs`.

use crate::support::closed_loop;
use paceline_engine::sim::{Act, Connect, Script, VirtualClock, response, simulate};
use paceline_engine::{
    Bound, Ending, Nanos, RequestKind, Requests, ResponseCheck, Settings, Slot, ThreadOutcome, Upload,
    UploadBody,
};
use paceline_http::{BodyFraming, GeneratedBody, LineFiles, Method, Request, Url};
use paceline_job::FragmentSpec;
use std::cell::RefCell;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::Arc;

/// What a server does when the head of a request has come.
#[derive(Clone, Copy)]
pub enum OnHead {
    /// Sends 100 Continue after this time.
    Continue(Nanos),
    /// Answers with this status at once, and keeps the connection.
    Answer(u16),
    /// Sends 100 Continue and a final status together.
    Both,
    /// Nothing: it waits for the body.
    Wait,
}

/// A request as a server saw it.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    head: String,
    head_at: Nanos,
    /// The length of the body, once the head is whole.
    length: Option<u64>,
    body_at: Option<Nanos>,
    pub body_bytes: u64,
    /// When each piece came, and its length.
    pieces: Vec<(Nanos, usize)>,
    is_whole: bool,
}

/// Reads requests and answers 200 to each whole one, unless it did something else when the head came.
pub struct UploadServer {
    on_head: OnHead,
    /// The most bytes that a socket takes at once.
    pub takes: usize,
    /// The body of each request; not checked if empty.
    pub expects: Vec<u8>,
    /// The request that is being read, by slot.
    reading: Vec<Seen>,
    seen: Rc<RefCell<Vec<Seen>>>,
}

impl UploadServer {
    pub fn new(on_head: OnHead) -> (Self, Rc<RefCell<Vec<Seen>>>) {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let reading = vec![Seen::default(); 8];
        let (takes, expects) = (usize::MAX, Vec::new());
        (Self { on_head, takes, expects, reading, seen: Rc::clone(&seen) }, seen)
    }

    fn reads_head(&mut self, slot: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        self.reading[slot as usize].head_at = now;
        let text = |text: String| Act::Send(Rc::from(text.as_bytes()));
        let answer = |status: u16| format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n");
        let go_on = "HTTP/1.1 100 Continue\r\n\r\n".to_owned();
        match self.on_head {
            OnHead::Continue(after) => acts.push((now + after, text(go_on))),
            OnHead::Answer(status) => acts.push((now, text(answer(status)))),
            OnHead::Both => acts.push((now, text(go_on + &answer(417)))),
            OnHead::Wait => {}
        }
    }

    fn finish(&mut self, slot: Slot, is_whole: bool) {
        let seen = std::mem::take(&mut self.reading[slot as usize]);
        if !seen.pieces.is_empty() {
            self.seen.borrow_mut().push(Seen { is_whole, ..seen });
        }
    }
}

impl Script for UploadServer {
    fn connect(&mut self, slot: Slot, _: Nanos) -> Connect {
        self.finish(slot, false);
        Connect::Accept(Nanos::ZERO)
    }

    fn request(&mut self, _: Slot, _: Nanos, _: &mut Vec<(Nanos, Act)>) {}

    fn bytes(&mut self, slot: Slot, bytes: &[u8], now: Nanos, acts: &mut Vec<(Nanos, Act)>) -> bool {
        self.reading[slot as usize].pieces.push((now, bytes.len()));
        let mut rest = bytes;
        while let [first, after @ ..] = rest {
            let seen = &mut self.reading[slot as usize];
            if let Some(length) = seen.length {
                let taken = rest.len().min((length - seen.body_bytes) as usize);
                if !self.expects.is_empty() {
                    let expected = &self.expects[seen.body_bytes as usize..][..taken];
                    assert!(rest[..taken] == *expected, "from {}", seen.body_bytes);
                }
                seen.body_at.get_or_insert(now);
                seen.body_bytes += taken as u64;
                rest = &rest[taken..];
            } else {
                seen.head.push(char::from(*first));
                rest = after;
                if seen.head.ends_with("\r\n\r\n") {
                    let length =
                        seen.head.split("Content-Length: ").nth(1).and_then(|rest| rest.lines().next());
                    seen.length = Some(length.map_or(0, |length| length.parse().unwrap()));
                    self.reads_head(slot, now, acts);
                }
            }
            let seen = &self.reading[slot as usize];
            if seen.length == Some(seen.body_bytes) {
                if !matches!(self.on_head, OnHead::Answer(_) | OnHead::Both) {
                    acts.push((now, Act::Send(response("ok"))));
                }
                self.finish(slot, true);
            }
        }
        true
    }

    fn takes(&mut self, wanted: usize) -> usize {
        wanted.min(self.takes)
    }
}

/// A POST with a generated body.
fn upload(bytes: u64, awaits_continue: bool) -> Requests {
    let url = Url::parse("http://a/{seq}").unwrap();
    let request = Request {
        method: "POST".into(),
        generated: Some(bytes),
        expects_continue: awaits_continue,
        ..Request::get(&url)
    };
    let template = request.compile(&LineFiles::default()).unwrap();
    let kind = RequestKind { weight: 1, template, method: Method::Other, check: ResponseCheck::default() };
    let body = UploadBody::Generated(GeneratedBody::over_http1(bytes, BodyFraming::Length));
    let upload = Upload { body: Some(body), awaits_continue, is_long: false };
    Requests::from_kinds(vec![kind], 0).with_uploads(vec![upload])
}

/// 12 of these requests on two connections, and what the server saw.
pub fn twelve(
    requests: Requests,
    server: (UploadServer, Rc<RefCell<Vec<Seen>>>),
) -> (ThreadOutcome, Vec<Seen>) {
    let settings = Settings { requests: Arc::new(requests), ..closed_loop(2, 1) }.with(|job| {
        job.window = Bound::Requests(12);
    });
    let (server, seen) = server;
    let outcome = simulate(&settings, server, &VirtualClock::new(Nanos::ZERO)).unwrap();
    let counts = &outcome.total.counts;
    assert!(counts.scheduled == 12 && counts.add_up() && counts.violations == 0, "{counts:?}");
    let seen = seen.borrow().clone();
    (outcome, seen)
}

#[test]
fn a_body_waits_for_100_continue() {
    let wait = Nanos::from_millis(5);
    let (outcome, seen) = twelve(upload(1000, true), UploadServer::new(OnHead::Continue(wait)));
    assert_eq!(outcome.total.counts.ended(Ending::Ok), 12);
    assert_eq!(seen.len(), 12);
    for seen in &seen {
        assert!(seen.head.contains("\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n"), "{}", seen.head);
        assert_eq!((seen.body_at, seen.body_bytes), (Some(seen.head_at + wait), 1000));
    }
    let continues = &outcome.continues;
    assert_eq!((continues.continued, continues.answered, continues.silent), (12, 0, 0));
    assert_eq!((continues.waits.min(), continues.waits.max()), (Some(wait.0), Some(wait.0)));
    assert_eq!(outcome.connections.made, 2);
}

#[test]
fn a_body_is_sent_a_second_after_silence() {
    let (outcome, seen) = twelve(upload(1000, true), UploadServer::new(OnHead::Wait));
    assert_eq!((outcome.total.counts.ended(Ending::Ok), seen.len()), (12, 12));
    for seen in &seen {
        assert_eq!(seen.body_at.map(|at| at.since(seen.head_at)), Some(Nanos::from_secs(1)));
    }
    assert_eq!((outcome.continues.continued, outcome.continues.silent), (0, 12));
}

#[test]
fn a_body_is_not_sent_after_a_final_status() {
    for on_head in [OnHead::Answer(417), OnHead::Both] {
        let (outcome, seen) = twelve(upload(1000, true), UploadServer::new(on_head));
        assert_eq!(outcome.total.counts.ended(Ending::BadStatus), 12);
        assert_eq!(outcome.total.counts.status, [(417, 12)]);
        assert!(seen.iter().all(|seen| seen.body_bytes == 0 && !seen.is_whole), "{seen:?}");
        // The server may still expect the body, so no connection carries another request.
        let (made, ended) = (outcome.connections.made, outcome.connections.closed_as_asked);
        assert!(made >= 12 && ended == 12, "{made} made, {ended} ended");
        match on_head {
            OnHead::Both => assert_eq!((outcome.continues.continued, outcome.continues.answered), (12, 0)),
            _ => assert_eq!((outcome.continues.continued, outcome.continues.answered), (0, 12)),
        }
    }
}

#[test]
fn a_long_body_is_generated_as_the_socket_takes_it() {
    let bytes = 3_000_001;
    for takes in [usize::MAX, 100_000, 999] {
        let (mut server, seen) = UploadServer::new(OnHead::Wait);
        server.takes = takes;
        let (outcome, seen) = twelve(upload(bytes, false), (server, seen));
        assert_eq!(outcome.total.counts.ended(Ending::Ok), 12);
        assert!(seen.len() == 12 && seen.iter().all(|seen| seen.is_whole && seen.body_bytes == bytes));
        let heads: usize = seen.iter().map(|seen| seen.head.len()).sum();
        assert_eq!(outcome.total.counts.sent_bytes, 12 * bytes + heads as u64);
        assert_eq!(outcome.connections.made, 2);
    }
}

#[test]
fn the_rest_of_a_body_is_sent_after_an_early_answer() {
    let (mut server, seen) = UploadServer::new(OnHead::Answer(200));
    server.takes = 10_000;
    let (outcome, seen) = twelve(upload(100_000, false), (server, seen));
    assert_eq!(outcome.total.counts.ended(Ending::Ok), 12);
    // The last ones are answered, and then the run ends.
    assert!(seen.len() >= 10 && seen.iter().all(|seen| seen.body_bytes == 100_000), "{}", seen.len());
    assert_eq!(outcome.connections.made, 2);
}

#[test]
fn requests_are_written_in_pieces() {
    let settings = closed_loop(2, 1).with(|job| {
        job.window = Bound::Requests(12);
        let bytes = NonZeroU32::new(10).unwrap();
        job.fragment = Some(FragmentSpec { bytes, pause: Nanos::from_millis(3) });
    });
    let (server, seen) = UploadServer::new(OnHead::Wait);
    let outcome = simulate(&settings, server, &VirtualClock::new(Nanos::ZERO)).unwrap();
    assert_eq!(outcome.total.counts.ended(Ending::Ok), 12);
    for seen in seen.borrow().iter() {
        // "GET / HTTP/1.1", "Host: a" and an empty line.
        let first = seen.pieces[0].0;
        let pieces: Vec<_> = seen.pieces.iter().map(|(at, length)| (at.since(first), *length)).collect();
        assert_eq!(pieces, [(0, 10), (3, 10), (6, 7)].map(|(ms, length)| (Nanos::from_millis(ms), length)));
    }
    assert_eq!(seen.borrow().len(), 12);
}
