//! Bodies that are read while they are sent, over all versions of HTTP: what the server receives, how much is read at
//! once, and content that becomes shorter.
//!
//! Simulated, with short bodies in place of those that are larger than the memory. The bytes of chunks are tested in
//! `crates/http`, files in the tests of the binary.

use crate::http2::failures;
use crate::http3::{self, answer_after, application, request_text};
use crate::support::closed_loop;
use crate::uploads::{OnHead, UploadServer, twelve};
use paceline_engine::sim::{Act, Connect, MisbehavingHttp3, Script, VirtualClock, simulate};
use paceline_engine::{
    BodySource, Bound, ConnectionFailure, Ending, Nanos, ReadBody, RequestKind, Requests, ResponseCheck,
    Settings, Slot, ThreadOutcome, Upload, UploadBody,
};
use paceline_http::h2::{
    CLIENT_PREFACE, FrameEvent, FrameReader, write_data, write_field_block, write_settings,
    write_settings_ack, write_window_update,
};
use paceline_http::{BodyFraming, BodyLayout, LineFiles, Request, Url, generated_bytes, h3};
use paceline_job::Protocol;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The length of the bodies: several pieces, the last one shorter.
const LENGTH: usize = 300_001;
/// The most that may be read at once.
const PIECE: usize = 64 * 1024;
/// The most that HTTP/3 may keep until it is acknowledged, beside a piece of each request.
const HTTP3_WINDOW: usize = 256 * 1024;

/// Content that ends after 100,000 bytes once it was read from its beginning this many times.
#[derive(Debug)]
struct Content {
    bytes: Vec<u8>,
    begun: AtomicUsize,
    whole_for: usize,
    /// The longest piece that was read at once.
    longest: AtomicUsize,
    /// The bytes read so far.
    read: AtomicUsize,
}

impl Content {
    fn new(whole_for: usize) -> Arc<Self> {
        let [begun, longest, read] = [const { AtomicUsize::new(0) }; 3];
        Arc::new(Self { bytes: generated_bytes(LENGTH), begun, whole_for, longest, read })
    }

    /// Checks that it was read, and in pieces.
    fn assert_bounded(&self) {
        let longest = self.longest.load(Ordering::Relaxed);
        assert!((1..=PIECE).contains(&longest), "{longest}");
    }
}

impl BodySource for Content {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let (at, length) = (at as usize, into.len());
        self.begun.fetch_add(usize::from(at == 0), Ordering::Relaxed);
        self.longest.fetch_max(length, Ordering::Relaxed);
        self.read.fetch_add(length, Ordering::Relaxed);
        if self.begun.load(Ordering::Relaxed) > self.whole_for && at + length > 100_000 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        into.copy_from_slice(&self.bytes[at..at + length]);
        Ok(())
    }
}

/// A POST to this URL with a body of this content.
fn posts(url: &str, framing: BodyFraming, content: &Arc<Content>, layout: BodyLayout) -> Requests {
    let (url, files) = (Url::parse(url).unwrap(), LineFiles::default());
    let generated = Some(LENGTH as u64);
    let request = Request { method: "POST".into(), generated, framing, ..Request::get(&url) };
    let template = request.compile(&files).unwrap();
    let method = request.method_kind();
    let kind = RequestKind { weight: 1, template, method, check: ResponseCheck::default() };
    let source: Arc<dyn BodySource> = Arc::<Content>::clone(content);
    let body = Some(UploadBody::Read(ReadBody::new(source, layout)));
    Requests::from_kinds(vec![kind], 0)
        .with_http2(vec![request.compile_http2(url.scheme, &files).unwrap()])
        .with_uploads(vec![Upload { body, awaits_continue: false, is_long: true }])
}

fn over_http1(content: &Arc<Content>) -> Requests {
    posts("http://a/{seq}", BodyFraming::Length, content, BodyLayout::plain(LENGTH as u64))
}

/// Checks that the requests that could not be sent failed, for this reason alone, and no others.
fn assert_some_failed(outcome: &ThreadOutcome) {
    let counts = &outcome.total.counts;
    let (ok, failed) = (counts.ended(Ending::Ok), counts.ended(Ending::IoFailed));
    assert!(counts.add_up() && ok > 0 && failed > 0 && ok + failed == counts.scheduled, "{counts:?}");
    let connections = &outcome.connections;
    assert!((1..=failed).contains(&failures(outcome, ConnectionFailure::BodyUnreadable)), "{connections:?}");
    assert_eq!((connections.failures.len(), connections.closed_by_server), (1, 0), "{connections:?}");
}

#[test]
fn a_body_is_read_as_the_socket_takes_it() {
    for takes in [usize::MAX, 100_000, 999] {
        let content = Content::new(usize::MAX);
        let (mut server, seen) = UploadServer::new(OnHead::Wait);
        (server.takes, server.expects) = (takes, generated_bytes(LENGTH));
        let (outcome, seen) = twelve(over_http1(&content), (server, seen));
        assert_eq!((outcome.total.counts.ended(Ending::Ok), outcome.connections.made), (12, 2));
        assert!(seen.len() == 12 && seen.iter().all(|seen| seen.body_bytes == LENGTH as u64));
        content.assert_bounded();
    }
}

#[test]
fn a_body_that_becomes_shorter_fails_its_request_and_connection() {
    for takes in [usize::MAX, 10_000] {
        let (mut server, seen) = UploadServer::new(OnHead::Wait);
        server.takes = takes;
        let (outcome, _) = twelve(over_http1(&Content::new(6)), (server, seen));
        assert_some_failed(&outcome);
        let failed = outcome.total.counts.ended(Ending::IoFailed);
        assert_eq!(failures(&outcome, ConnectionFailure::BodyUnreadable), failed, "one on each connection");
    }
}

/// A server that keeps the bodies of HTTP/2 by stream, and answers each when it has ended.
#[derive(Default)]
struct BodyServer {
    readers: HashMap<Slot, FrameReader>,
    bodies: HashMap<(Slot, u32), Vec<u8>>,
    whole: Rc<RefCell<Vec<Vec<u8>>>>,
}

impl Script for BodyServer {
    fn connect(&mut self, slot: Slot, _: Nanos) -> Connect {
        self.readers.remove(&slot);
        self.bodies.retain(|(of, _), _| *of != slot);
        Connect::Accept(Nanos::ZERO)
    }

    fn request(&mut self, _: Slot, _: Nanos, _: &mut Vec<(Nanos, Act)>) {}

    fn bytes(&mut self, slot: Slot, mut bytes: &[u8], now: Nanos, acts: &mut Vec<(Nanos, Act)>) -> bool {
        let mut out = Vec::new();
        let reader = self.readers.entry(slot).or_insert_with(|| {
            bytes = bytes.strip_prefix(CLIENT_PREFACE).expect("a connection begins with the preface");
            write_settings(&mut out, &[]);
            FrameReader::default()
        });
        while !bytes.is_empty() {
            let (event, taken) = reader.next(bytes).unwrap();
            match event {
                FrameEvent::Settings(_) => write_settings_ack(&mut out),
                FrameEvent::Data { stream, piece, flow_bytes, end_stream, .. } => {
                    let body = self.bodies.entry((slot, stream)).or_default();
                    body.extend_from_slice(piece);
                    for id in [0, stream].into_iter().filter(|_| flow_bytes > 0) {
                        write_window_update(&mut out, id, flow_bytes);
                    }
                    if end_stream {
                        self.whole.borrow_mut().push(std::mem::take(body));
                        // `:status: 200`, as the static table has it (RFC 7541, appendix A).
                        write_field_block(&mut out, stream, &[0x88], false);
                        write_data(&mut out, stream, b"ok", true);
                    }
                }
                _ => {}
            }
            bytes = &bytes[taken..];
        }
        acts.push((now, Act::Send(out.into())));
        true
    }
}

/// 20 requests over HTTP/2, on two streams of one connection; and the bodies that came whole.
fn over_http2(framing: BodyFraming, content: &Arc<Content>) -> (ThreadOutcome, Vec<Vec<u8>>) {
    let requests = posts("http://a/", framing, content, BodyLayout::plain(LENGTH as u64));
    let settings = Settings { requests: Arc::new(requests), ..closed_loop(1, 1) }.with(|job| {
        (job.protocol, job.depth, job.window) = (Protocol::Http2, 2, Bound::Requests(20));
    });
    let server = BodyServer::default();
    let whole = Rc::clone(&server.whole);
    let outcome = simulate(&settings, server, &VirtualClock::new(Nanos::ZERO)).unwrap();
    let whole = whole.borrow().clone();
    (outcome, whole)
}

#[test]
fn a_body_over_http2_is_read_as_its_window_allows() {
    for framing in [BodyFraming::Length, BodyFraming::Chunks(NonZeroU32::new(999).unwrap())] {
        let content = Content::new(usize::MAX);
        let (outcome, whole) = over_http2(framing, &content);
        assert_eq!((outcome.total.counts.ended(Ending::Ok), outcome.connections.made), (20, 1));
        assert_eq!(whole.len(), 20);
        assert!(whole.iter().all(|body| *body == content.bytes), "{framing:?}");
        content.assert_bounded();
    }
}

#[test]
fn a_body_over_http2_that_becomes_shorter_ends_its_connection() {
    let content = Content::new(5);
    let (outcome, whole) = over_http2(BodyFraming::Length, &content);
    assert_some_failed(&outcome);
    assert!(whole.iter().all(|body| *body == content.bytes));
}

/// A server that compares what was read with what has come.
struct Comparing {
    server: MisbehavingHttp3,
    content: Arc<Content>,
    received: usize,
    /// The most that was read and had not come.
    most_ahead: Rc<Cell<usize>>,
}

impl Script for Comparing {
    fn connect(&mut self, slot: Slot, now: Nanos) -> Connect {
        self.server.connect(slot, now)
    }

    fn request(&mut self, _: Slot, _: Nanos, _: &mut Vec<(Nanos, Act)>) {}

    fn datagram(&mut self, slot: Slot, datagram: &[u8], now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        self.received += datagram.len();
        let ahead = self.content.read.load(Ordering::Relaxed).saturating_sub(self.received);
        self.most_ahead.set(ahead.max(self.most_ahead.get()));
        self.server.datagram(slot, datagram, now, acts);
    }

    fn alarm(&mut self, slot: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        self.server.alarm(slot, now, acts);
    }
}

/// 20 requests over HTTP/3, on two streams of one connection; the bodies that came whole; and the most that was read
/// ahead.
fn over_http3(framing: BodyFraming, content: &Arc<Content>) -> (ThreadOutcome, Vec<String>, usize) {
    let layout = h3::body_layout(LENGTH as u64, framing);
    let requests = Arc::new(posts("https://a.test/", framing, content, layout));
    let settings = Settings { requests, ..http3::settings(1, 2, 20, b"") };
    let whole = Rc::new(RefCell::new(Vec::new()));
    let kept = Rc::clone(&whole);
    let server = application(http3::GOOD, move |request| {
        let text = request_text(request);
        kept.borrow_mut().push(text.split_once("\r\n\r\n").unwrap().1.to_owned());
        answer_after(Nanos::from_millis(1))
    });
    let most_ahead = Rc::<Cell<usize>>::default();
    let (content, ahead) = (Arc::clone(content), Rc::clone(&most_ahead));
    let server = Comparing { server, content, received: 0, most_ahead: ahead };
    let outcome = simulate(&settings, server, &VirtualClock::new(Nanos(100))).unwrap();
    let whole = whole.borrow().clone();
    (outcome, whole, most_ahead.get())
}

#[test]
fn a_body_over_http3_is_read_as_its_window_allows() {
    for framing in [BodyFraming::Length, BodyFraming::Chunks(NonZeroU32::new(10_000).unwrap())] {
        let content = Content::new(usize::MAX);
        let (outcome, whole, ahead) = over_http3(framing, &content);
        assert_eq!((http3::ok(&outcome), outcome.connections.made), (20, 1));
        assert!((1..=HTTP3_WINDOW + 2 * PIECE).contains(&ahead), "{ahead}: both bodies are longer together");
        assert_eq!(whole.len(), 20);
        assert!(whole.iter().all(|body| body.as_bytes() == content.bytes), "{framing:?}");
        content.assert_bounded();
    }
}

#[test]
fn a_body_over_http3_that_becomes_shorter_ends_its_connection() {
    let content = Content::new(5);
    let (outcome, whole, _) = over_http3(BodyFraming::Length, &content);
    assert_some_failed(&outcome);
    assert!(whole.iter().all(|body| body.as_bytes() == content.bytes));
}
