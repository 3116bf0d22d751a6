//! HTTP/3 in the simulation: limits of streams, GOAWAY, loss of packets, cancelled requests, uploads; and over the
//! kernel's sockets.
//!
//! `conservation.rs` runs random cases against the same server, which misbehaves there.

use crate::support::closed_loop;
use crate::tls_server;
use paceline_engine::sim::{Act, Http3Behaviour, MisbehavingHttp3, Script as _, VirtualClock, simulate};
use paceline_engine::tls::{TlsOptions, TlsSettings, Trust};
use paceline_engine::{
    BodyCheck, Bound, ConnectionFailure, Ending, EngineError, Nanos, NoObserver, RequestKind, Requests,
    ResponseCheck, Settings, Slot, StopFlag, ThreadOutcome,
};
use paceline_http::{LineFiles, Request, Url};
use paceline_job::{Protocol, TlsVersion};
use rustls::pki_types::ServerName;
use std::sync::Arc;

/// A server that answers at once and loses nothing.
const GOOD: Http3Behaviour = Http3Behaviour {
    one_in: 0,
    lost_in: 0,
    slowest: Nanos::from_millis(1),
    requests_per_connection: 0,
    streams: 100,
};

/// TLS settings that accept any server.
pub fn any_server() -> Arc<TlsSettings> {
    let options = TlsOptions {
        name: ServerName::try_from("a.test").unwrap(),
        trust: Trust::Anyone,
        identity: None,
        version: None,
        resumption: true,
    };
    Arc::new(TlsSettings::new(options).unwrap())
}

/// The TLS of a server.
pub fn server_config() -> Arc<rustls::ServerConfig> {
    let mut config = tls_server::server_config(tls_server::self_signed("a.test"), None);
    config.alpn_protocols = vec![b"h3".to_vec()];
    Arc::new(config)
}

/// A closed loop of GET requests, or of POST requests with a body, over HTTP/3.
fn settings(connections: u32, depth: u16, requests: u64, body: &[u8]) -> Settings {
    let url = Url::parse("https://a.test/").unwrap();
    let method = if body.is_empty() { "GET" } else { "POST" };
    let request = Request { body: body.to_vec(), method: method.to_owned(), ..Request::get(&url) };
    let files = LineFiles::default();
    let kind = RequestKind {
        weight: 1,
        template: request.compile(&files).unwrap(),
        method: request.method_kind(),
        check: ResponseCheck { status: Some(200), body: BodyCheck::Exact(Arc::from(*b"ok")) },
    };
    let http2 = request.compile_http2(url.scheme, &files).unwrap();
    let requests_of = Arc::new(Requests::from_kinds(vec![kind], 0).with_http2(vec![http2]));
    Settings { requests: requests_of, tls: Some(any_server()), ..closed_loop(connections, 1) }.with(|job| {
        (job.protocol, job.url, job.depth) = (Protocol::Http3, url, depth);
        job.window = Bound::Requests(requests);
    })
}

fn run(settings: &Settings, behaviour: Http3Behaviour) -> Result<ThreadOutcome, EngineError> {
    let server = MisbehavingHttp3::new(1, behaviour, server_config());
    simulate(settings, server, &VirtualClock::new(Nanos(100)))
}

fn ok(outcome: &ThreadOutcome) -> u64 {
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
    let options = TlsOptions {
        name: ServerName::try_from("a.test").unwrap(),
        trust: Trust::Anyone,
        identity: None,
        version: Some(TlsVersion::Tls12),
        resumption: true,
    };
    let settings =
        Settings { tls: Some(Arc::new(TlsSettings::new(options).unwrap())), ..settings(1, 1, 1, b"") };
    let error = settings.check().unwrap_err().to_string();
    assert!(error.contains("TLS 1.3"), "{error}");
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
