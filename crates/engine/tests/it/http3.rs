//! HTTP/3 in the simulation: limits of streams, GOAWAY, loss of packets, cancelled requests, uploads, streams of events,
//! sessions; and over the kernel's sockets.
//!
//! `conservation.rs` runs random cases against the same server, which misbehaves there; early data is in
//! `early_data.rs`.

use crate::sessions::{Customers, ok as ended_well, run_against, with_sessions};
use crate::support::{closed_loop, open_loop};
use crate::tls_server;
use paceline_engine::sim::{
    Act, Connect, Http3Behaviour, Http3End, Http3Piece, MisbehavingHttp3, Script, VirtualClock, simulate,
};
use paceline_engine::stream::StreamPlan;
use paceline_engine::tls::{TlsOptions, TlsSettings, Trust};
use paceline_engine::{
    BodyCheck, Bound, ConnectionFailure, Ending, EngineError, Measure, Nanos, NoObserver, RequestKind,
    Requests, ResponseCheck, Settings, Slot, StopFlag, ThreadOutcome,
};
use paceline_http::h3::{
    ErrorCode, FrameEvent, FrameReader, QpackScratch, decode_section, push_field, push_prefix, write_data,
    write_headers,
};
use paceline_http::{EventFormat, LineFiles, Request, Url};
use paceline_job::{Protocol, TlsVersion};
use rustls::pki_types::ServerName;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// A server that answers at once and loses nothing.
pub const GOOD: Http3Behaviour = Http3Behaviour {
    one_in: 0,
    lost_in: 0,
    slowest: Nanos::from_millis(1),
    requests_per_connection: 0,
    streams: 100,
};

/// H3_INTERNAL_ERROR (RFC 9114 §8.1).
const INTERNAL_ERROR: ErrorCode = ErrorCode(0x102);

/// Options of TLS that accept any server.
fn tls_options() -> TlsOptions {
    TlsOptions {
        name: ServerName::try_from("a.test").unwrap(),
        trust: Trust::Anyone,
        identity: None,
        version: None,
        resumption: true,
        early_data: false,
    }
}

/// TLS settings that accept any server.
pub fn any_server() -> Arc<TlsSettings> {
    Arc::new(TlsSettings::new(tls_options()).unwrap())
}

/// The same with early data.
pub fn any_server_early() -> Arc<TlsSettings> {
    Arc::new(TlsSettings::new(TlsOptions { early_data: true, ..tls_options() }).unwrap())
}

/// The TLS of a server, which accepts early data.
pub fn server_config() -> Arc<rustls::ServerConfig> {
    server_config_with(|_| {})
}

/// The same with a change.
pub fn server_config_with(change: impl FnOnce(&mut rustls::ServerConfig)) -> Arc<rustls::ServerConfig> {
    let mut config = tls_server::server_config(tls_server::self_signed("a.test"), None);
    config.alpn_protocols = vec![b"h3".to_vec()];
    // The only value besides 0 (RFC 9001 §4.6.1).
    config.max_early_data_size = u32::MAX;
    change(&mut config);
    Arc::new(config)
}

/// A closed loop of GET requests, or of POST requests with a body, over HTTP/3.
pub fn settings(connections: u32, depth: u16, requests: u64, body: &[u8]) -> Settings {
    mixed(connections, depth, requests, &[body])
}

/// The same with a kind of request for each body, in equal shares.
pub fn mixed(connections: u32, depth: u16, requests: u64, bodies: &[&[u8]]) -> Settings {
    let url = Url::parse("https://a.test/").unwrap();
    let kind = |body: &&[u8]| {
        let method = if body.is_empty() { "GET" } else { "POST" };
        let request = Request { body: body.to_vec(), method: method.to_owned(), ..Request::get(&url) };
        let files = LineFiles::default();
        let kind = RequestKind {
            weight: 1,
            template: request.compile(&files).unwrap(),
            method: request.method_kind(),
            check: ResponseCheck { status: Some(200), body: BodyCheck::Exact(Arc::from(*b"ok")) },
        };
        (kind, request.compile_http2(url.scheme, &files).unwrap())
    };
    let (kinds, http2) = bodies.iter().map(kind).unzip();
    let requests_of = Arc::new(Requests::from_kinds(kinds, 0).with_http2(http2));
    Settings { requests: requests_of, tls: Some(any_server()), ..closed_loop(connections, 1) }.with(|job| {
        (job.protocol, job.url, job.depth) = (Protocol::Http3, url, depth);
        job.window = Bound::Requests(requests);
    })
}

fn run(settings: &Settings, behaviour: Http3Behaviour) -> Result<ThreadOutcome, EngineError> {
    let server = MisbehavingHttp3::new(1, behaviour, server_config());
    simulate(settings, server, &VirtualClock::new(Nanos(100)))
}

pub fn ok(outcome: &ThreadOutcome) -> u64 {
    assert!(outcome.total.counts.add_up());
    outcome.total.counts.ended(Ending::Ok)
}

#[test]
fn requests_share_a_connection_up_to_the_limit_of_the_server() {
    let outcome = run(&settings(1, 10, 500, b""), Http3Behaviour { streams: 4, ..GOOD }).unwrap();
    assert_eq!((ok(&outcome), outcome.connections.made), (500, 1));
    assert_eq!(outcome.connections.stream_limit, Some(4));
    let outcome = run(&settings(3, 10, 500, b""), GOOD).unwrap();
    assert_eq!((ok(&outcome), outcome.connections.stream_limit), (500, None));
    let tls = outcome.tls.unwrap();
    let agreed = tls.agreed.unwrap();
    assert_eq!((agreed.version, agreed.alpn.as_deref()), ("1.3", Some("h3")));
    assert!(agreed.cipher.starts_with("TLS_"), "{}", agreed.cipher);
    assert_eq!(tls.full + tls.resumed, 3);
}

#[test]
fn every_request_is_answered_though_packets_are_lost() {
    let settings = settings(2, 5, 400, b"").with(|job| job.connect_timeout = Nanos::from_secs(20));
    let outcome = run(&settings, Http3Behaviour { lost_in: 20, ..GOOD }).unwrap();
    assert_eq!(ok(&outcome), 400);
}

#[test]
fn requests_above_goaway_are_sent_again_on_another_connection() {
    let outcome =
        run(&settings(2, 8, 600, b""), Http3Behaviour { requests_per_connection: 20, ..GOOD }).unwrap();
    assert_eq!(ok(&outcome), 600);
    let connections = &outcome.connections;
    assert!(connections.made >= 25 && connections.closed_by_server >= 20, "{connections:?}");
    let tls = outcome.tls.unwrap();
    assert!(tls.resumed > 0, "later connections resume a session: {tls:?}");
}

#[test]
fn a_body_larger_than_every_window_arrives() {
    let body = vec![b'x'; 5_000_000];
    let settings = settings(1, 1, 3, &body).with(|job| job.timeout = Nanos::from_secs(600));
    let outcome = run(&settings, Http3Behaviour { lost_in: 200, ..GOOD }).unwrap();
    assert_eq!(ok(&outcome), 3);
    assert!(outcome.total.counts.sent_bytes > 15_000_000, "{:?}", outcome.total.counts);
}

#[test]
fn a_request_that_times_out_leaves_the_connection_open() {
    // Nearly every answer takes longer than the timeout.
    let slow = Http3Behaviour { slowest: Nanos::from_millis(50), ..GOOD };
    let settings = settings(1, 2, 60, b"").with(|job| job.timeout = Nanos::from_millis(10));
    let outcome = run(&settings, slow).unwrap();
    let timed_out = outcome.total.counts.ended(Ending::TimedOut);
    assert!(timed_out > 10 && ok(&outcome) + timed_out == 60, "{:?}", outcome.total.counts);
    assert_eq!(outcome.connections.made, 1);
}

#[test]
fn a_server_that_does_not_answer_over_udp_is_named() {
    let settings = settings(1, 1, 1, b"").with(|job| job.connect_timeout = Nanos::from_millis(300));
    let error = run(&settings, Http3Behaviour { lost_in: 1, ..GOOD }).unwrap_err();
    let EngineError::Unreachable { source, .. } = error else { panic!("{error}") };
    assert_eq!(ConnectionFailure::within(&source), Some(ConnectionFailure::NoQuic), "{source}");
}

#[test]
fn tls_1_2_is_refused_before_the_run() {
    let options = TlsOptions { version: Some(TlsVersion::Tls12), ..tls_options() };
    let settings =
        Settings { tls: Some(Arc::new(TlsSettings::new(options).unwrap())), ..settings(1, 1, 1, b"") };
    let error = settings.check().unwrap_err().to_string();
    assert!(error.contains("TLS 1.3"), "{error}");
}

/// A server that answers every request by `application` and loses nothing.
pub fn application(
    behaviour: Http3Behaviour,
    application: impl FnMut(&[u8]) -> Vec<Http3Piece> + 'static,
) -> MisbehavingHttp3 {
    MisbehavingHttp3::new(1, Http3Behaviour { slowest: Nanos::ZERO, ..behaviour }, server_config())
        .with_application(Box::new(application))
}

/// A server whose datagrams arrive this much later; those of the client arrive at once.
pub struct Distant {
    pub server: MisbehavingHttp3,
    pub by: Nanos,
}

impl Distant {
    fn delay(&self, acts: &mut [(Nanos, Act)]) {
        for (at, _) in acts.iter_mut().filter(|(_, act)| matches!(act, Act::Send(_))) {
            *at += self.by;
        }
    }
}

impl Script for Distant {
    fn connect(&mut self, slot: Slot, now: Nanos) -> Connect {
        self.server.connect(slot, now)
    }

    fn request(&mut self, _: Slot, _: Nanos, _: &mut Vec<(Nanos, Act)>) {}

    fn datagram(&mut self, slot: Slot, datagram: &[u8], now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        let first = acts.len();
        self.server.datagram(slot, datagram, now, acts);
        self.delay(&mut acts[first..]);
    }

    fn alarm(&mut self, slot: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        let first = acts.len();
        self.server.alarm(slot, now, acts);
        self.delay(&mut acts[first..]);
    }
}

/// The HEADERS of a response, with lines of fields.
fn head(status: u16, fields: &str) -> Vec<u8> {
    let (mut section, mut out) = (Vec::new(), Vec::new());
    push_prefix(&mut section);
    push_field(&mut section, b":status", status.to_string().as_bytes());
    for (name, value) in fields.lines().filter_map(|line| line.split_once(": ")) {
        push_field(&mut section, name.to_ascii_lowercase().as_bytes(), value.as_bytes());
    }
    write_headers(&mut out, &section);
    out
}

/// The answer to every request, after this long.
pub fn answer_after(after: Nanos) -> Vec<Http3Piece> {
    let mut bytes = head(200, "");
    write_data(&mut bytes, b"ok");
    vec![(after, bytes, Http3End::Fin)]
}

/// Answers every request after this long.
fn late(after: Nanos) -> MisbehavingHttp3 {
    application(GOOD, move |_| answer_after(after))
}

#[test]
fn a_connection_stays_open_while_a_response_is_awaited() {
    // The idle timeout of the server is 30 s.
    let settings = settings(2, 2, 8, b"").with(|job| job.timeout = Nanos::from_secs(100));
    let outcome = simulate(&settings, late(Nanos::from_secs(70)), &VirtualClock::new(Nanos::ZERO)).unwrap();
    assert_eq!((ok(&outcome), outcome.connections.made), (8, 2), "{:?}", outcome.connections);
}

#[test]
fn a_connection_without_requests_idles_out() {
    // A request every 50 s.
    let load = open_loop(0.02, 1, 200).job.load.clone();
    let settings = settings(1, 1, 4, b"").with(|job| (job.timeout, job.load) = (Nanos::from_secs(100), load));
    let outcome = simulate(&settings, late(Nanos::from_millis(1)), &VirtualClock::new(Nanos::ZERO)).unwrap();
    assert_eq!(ok(&outcome), 4);
    assert!(outcome.connections.made > 1, "{:?}", outcome.connections);
}

/// Runs ten requests of one connection against streams of five events, 10 ms apart, the first after 100 ms, whose last
/// event is followed by `end` after `end_at`.
fn run_streams(events: Option<u64>, end_at: Nanos, end: Http3End) -> ThreadOutcome {
    let server = application(GOOD, move |_| {
        let mut begin = head(200, "");
        // It has no byte of the body.
        write_data(&mut begin, b"");
        let mut pieces = vec![(Nanos::from_millis(1), begin, Http3End::Open)];
        for number in 0..5 {
            let mut data = Vec::new();
            // The end of an event comes with the next frame.
            write_data(&mut data, b"data: {\"n\"");
            write_data(&mut data, b": 2}\r\n\r\n");
            pieces.push((Nanos::from_millis(100 + 10 * number), data, Http3End::Open));
        }
        pieces.push((end_at, Vec::new(), end));
        pieces
    });
    let format = EventFormat::ServerSent;
    let plan = StreamPlan {
        format,
        must_be_json: false,
        events,
        length: None,
        until: None,
        count: None,
        time: None,
        call: None,
    };
    let url = Url::parse("https://a.test/").unwrap();
    let (request, files) = (Request::get(&url), LineFiles::default());
    let kind = RequestKind {
        weight: 1,
        template: request.compile(&files).unwrap(),
        method: request.method_kind(),
        check: ResponseCheck { status: None, body: BodyCheck::Stream(Arc::new(plan)) },
    };
    let http2 = request.compile_http2(url.scheme, &files).unwrap();
    let requests = Arc::new(Requests::from_kinds(vec![kind], 0).with_http2(vec![http2]));
    let settings = Settings { requests, ..settings(1, 1, 10, b"") }.with(|job| {
        job.timeout = Nanos::from_secs(2);
    });
    let outcome = simulate(&settings, server, &VirtualClock::new(Nanos::ZERO)).unwrap();
    assert!(outcome.total.counts.add_up());
    outcome
}

#[test]
fn the_times_of_events_are_exact_over_http3() {
    let outcome = run_streams(None, Nanos::from_millis(150), Http3End::Fin);
    assert_eq!((ok(&outcome), outcome.connections.made), (10, 1));
    for (measure, millis) in [
        (Measure::FirstBody, 100),
        (Measure::FirstEvent, 100),
        (Measure::EventGap, 10),
        (Measure::LongestGap, 10),
        (Measure::Service, 150),
    ] {
        let times = outcome.total.times(measure);
        let exact = Some(Nanos::from_millis(millis).0);
        assert_eq!((times.min(), times.max()), (exact, exact), "{measure:?}");
    }
    assert_eq!(outcome.total.times(Measure::EventGap).count(), 40);
    assert_eq!(outcome.total.counts.streams.events, 50);
}

#[test]
fn a_stream_of_events_over_http3_that_breaks_is_a_failure() {
    let break_at = Nanos::from_millis(150);
    let never = Nanos::from_secs(100);
    let received_of_whole = run_streams(None, break_at, Http3End::Fin).total.counts.received_bytes;
    for (end_at, end, ending, made) in [
        (break_at, Http3End::Reset(INTERNAL_ERROR), Ending::IoFailed, 1),
        (break_at, Http3End::Close(INTERNAL_ERROR.0), Ending::IoFailed, 10),
        (never, Http3End::Fin, Ending::TimedOut, 1),
    ] {
        let outcome = run_streams(None, end_at, end);
        let counts = &outcome.total.counts;
        assert_eq!((counts.ended(ending), counts.streams.events), (10, 50), "{end:?}");
        assert_eq!(counts.received_bytes, received_of_whole, "{end:?}");
        assert_eq!(outcome.connections.made, made, "{end:?}");
    }
    // Three events were asked for: the stream is cancelled, and its connection is used again.
    for end in [Http3End::Fin, Http3End::Reset(INTERNAL_ERROR)] {
        let outcome = run_streams(Some(3), break_at, end);
        assert_eq!((ok(&outcome), outcome.connections.made), (10, 1), "{end:?}");
        assert_eq!(outcome.total.counts.streams.events, 30);
        assert_eq!(outcome.total.times(Measure::Service).max(), Some(Nanos::from_millis(120).0));
    }
}

/// A request as text in the form of HTTP/1.1.
pub fn request_text(mut bytes: &[u8]) -> String {
    let (mut line, mut rest, mut body) = (vec![String::new(); 2], String::new(), String::new());
    let mut reader = FrameReader::request();
    while !bytes.is_empty() {
        let (event, taken) = reader.next(bytes).unwrap();
        match event {
            FrameEvent::FieldSection(section) => {
                decode_section(section, &mut QpackScratch::default(), |field| {
                    let [name, value] =
                        [field.name, field.value].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
                    match name.as_str() {
                        ":method" => line[0] = value,
                        ":path" => line[1] = value,
                        _ => rest += &format!("{name}: {value}\r\n"),
                    }
                })
                .unwrap();
            }
            FrameEvent::Data { piece, .. } => body += std::str::from_utf8(piece).unwrap(),
            _ => {}
        }
        bytes = &bytes[taken..];
    }
    format!("{} {} HTTP/1.1\r\n{rest}\r\n{body}", line[0], line[1])
}

/// Runs the load of a shop's users, each answered after a millisecond, with `depth` streams on each connection. Returns
/// the outcome and how many sessions were started and completed.
fn shop(settings: Settings, depth: u16, behaviour: Http3Behaviour) -> (ThreadOutcome, u64, u64) {
    distant_shop(Settings { tls: Some(any_server()), ..settings }, depth, behaviour, Nanos::ZERO)
}

/// The same with the TLS of the settings, and datagrams of the server that take `by`.
pub fn distant_shop(
    settings: Settings,
    depth: u16,
    behaviour: Http3Behaviour,
    by: Nanos,
) -> (ThreadOutcome, u64, u64) {
    let strangers = Rc::new(Cell::new(0));
    let mut customers = Customers::new(&strangers);
    let server = application(behaviour, move |request| {
        let (status, fields, body) = customers.answer(&request_text(request));
        let mut bytes = head(status, &fields);
        write_data(&mut bytes, body.as_bytes());
        // In two pieces, so that a value is extracted from a response that did not arrive at once.
        let rest = bytes.split_off(bytes.len() / 2);
        let at = Nanos::from_millis(1);
        vec![(at, bytes, Http3End::Open), (at + Nanos(1), rest, Http3End::Fin)]
    });
    let url = Url::parse("https://a.test/").unwrap();
    let settings = with_sessions(settings)
        .with(|job| (job.protocol, job.url, job.depth) = (Protocol::Http3, url, depth));
    run_against(&settings, Distant { server, by }, &strangers)
}

#[test]
fn the_users_of_sessions_share_a_connection_over_http3() {
    let (outcome, started, completed) = shop(open_loop(100.0, 1, 10), 8, GOOD);
    assert_eq!((started, completed, outcome.connections.made), (1_000, 1_000, 1));
    // Three responses of a millisecond and a pause of 20.
    let times = &outcome.session_times[0];
    let (min, max) = (times.min().unwrap(), times.max().unwrap());
    assert!(min >= 23_000_000 && max < 23_100_000, "{min} to {max}");
}

#[test]
fn the_users_of_sessions_continue_after_goaway_over_http3() {
    let ending = Http3Behaviour { requests_per_connection: 20, ..GOOD };
    for settings in [open_loop(300.0, 2, 2), closed_loop(2, 1)] {
        let (outcome, started, completed) = shop(settings, 8, ending);
        assert_eq!(started, completed);
        assert_eq!(ended_well(&outcome.total), outcome.total.counts.scheduled);
        assert!(outcome.connections.made > 20, "{:?}", outcome.connections);
    }
}

/// Serves on a UDP socket until the test process ends; returns its address. Actions are carried out at once.
fn serve_udp(behaviour: Http3Behaviour) -> std::net::SocketAddr {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let tls = server_config();
    std::thread::spawn(move || {
        let mut server = MisbehavingHttp3::new(1, behaviour, tls);
        let began = std::time::Instant::now();
        let mut clients = Vec::new();
        let mut datagram = [0; 2048];
        loop {
            let (length, client) = socket.recv_from(&mut datagram).unwrap();
            let slot = clients.iter().position(|known| *known == client).unwrap_or(clients.len());
            if slot == clients.len() {
                clients.push(client);
            }
            let now = Nanos(began.elapsed().as_nanos() as u64);
            let mut acts = Vec::new();
            server.datagram(slot as Slot, &datagram[..length], now, &mut acts);
            for (_, act) in acts {
                if let Act::Send(bytes) = act {
                    socket.send_to(&bytes, client).unwrap();
                }
            }
        }
    });
    address
}

#[test]
fn datagrams_are_sent_and_received_in_batches_on_the_kernel() {
    let prompt = Http3Behaviour { slowest: Nanos::ZERO, ..GOOD };
    let body = vec![b'x'; 300_000];
    let settings = Settings { address: serve_udp(prompt).into(), ..settings(2, 3, 30, &body) }
        .with(|job| job.threads = 1);
    let outcome = paceline_engine::run(&settings, &StopFlag::new(), &NoObserver).unwrap();
    assert_eq!(outcome.total.counts.ended(Ending::Ok), 30, "{:?}", outcome.connections);
    assert!(outcome.total.counts.sent_bytes > 9_000_000);
}

#[test]
fn a_closed_port_refuses_at_once() {
    let closed = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let settings = Settings { address: closed.into(), ..settings(1, 1, 1, b"") };
    let error = paceline_engine::run(&settings, &StopFlag::new(), &NoObserver).unwrap_err();
    let EngineError::Unreachable { source, .. } = error else { panic!("{error}") };
    assert_eq!(source.raw_os_error(), Some(libc::ECONNREFUSED), "{source}");
}
