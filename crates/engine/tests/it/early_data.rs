//! Early data over HTTP/3: requests that leave before the handshake of a resumed connection is done.
//!
//! A datagram of the server takes 5 ms, so each handshake does; a request is answered 20 ms after it arrived. Tickets
//! come before that answer. Each connection carries one request.

use crate::http3::{
    Distant, GOOD, answer_after, any_server_early, distant_shop, mixed, ok, server_config,
    server_config_with, settings,
};
use crate::sessions::ok as ended_well;
use crate::support::{closed_loop, open_loop};
use paceline_engine::sim::{Http3Behaviour, MisbehavingHttp3, VirtualClock, simulate};
use paceline_engine::tls::TlsOutcome;
use paceline_engine::{Measure, Nanos, Settings, Tally, ThreadOutcome};
use rustls::ServerConfig;
use rustls::server::StoresServerSessions;
use std::sync::Arc;

/// Runs settings with early data against a server with this TLS.
fn run(settings: Settings, tls: Arc<ServerConfig>) -> ThreadOutcome {
    let settings = Settings { tls: Some(any_server_early()), ..settings }.with(|job| job.keep_alive = false);
    let behaviour = Http3Behaviour { slowest: Nanos::ZERO, ..GOOD };
    let server = MisbehavingHttp3::new(1, behaviour, tls)
        .with_application(Box::new(|_| answer_after(Nanos::from_millis(20))));
    let server = Distant { server, by: Nanos::from_millis(5) };
    simulate(&settings, server, &VirtualClock::new(Nanos::ZERO)).unwrap()
}

/// Full and resumed handshakes, connections that sent early data, and those whose server accepted it.
fn handshakes(outcome: &ThreadOutcome) -> [u64; 4] {
    let TlsOutcome { full, resumed, early_sent, early_accepted, .. } = outcome.tls.clone().unwrap();
    [full, resumed, early_sent, early_accepted]
}

/// The shortest and the longest time of a measure, in milliseconds.
fn millis(tally: &Tally, measure: Measure) -> (f64, f64) {
    let times = tally.times(measure);
    let millis = |time: Option<u64>| time.unwrap() as f64 / 1e6;
    (millis(times.min()), millis(times.max()))
}

#[test]
fn accepted_early_data_saves_the_round_trip_of_the_handshake() {
    let outcome = run(settings(1, 1, 10, b""), server_config());
    // The first connection has no ticket.
    assert_eq!((ok(&outcome), handshakes(&outcome)), (10, [1, 9, 9, 9]));
    assert_eq!(millis(&outcome.total, Measure::Service), (25.0, 25.0));
    assert_eq!(millis(&outcome.total, Measure::ConnectAndService), (25.0, 30.0));
    assert_eq!(millis(&outcome.total, Measure::Handshake).1, 5.0, "it is counted nevertheless");
}

/// Forgets every session: a server with it answers a ticket with a full handshake, and ignores early data.
#[derive(Debug)]
struct Forgetful;

impl StoresServerSessions for Forgetful {
    fn put(&self, _: Vec<u8>, _: Vec<u8>) -> bool {
        true
    }

    fn get(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn take(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn can_cache(&self) -> bool {
        true
    }
}

fn forgetful() -> Arc<ServerConfig> {
    server_config_with(|config| config.session_storage = Arc::new(Forgetful))
}

#[test]
fn rejected_early_data_is_sent_again_and_its_time_counts() {
    let outcome = run(settings(1, 1, 10, b""), forgetful());
    assert_eq!((ok(&outcome), handshakes(&outcome)), (10, [10, 0, 9, 0]));
    assert_eq!(outcome.connections.handed_back, 0, "each is sent again in its place");
    // From the first send: it was in vain.
    assert_eq!(millis(&outcome.total, Measure::Service), (25.0, 30.0));
    assert_eq!(millis(&outcome.total, Measure::ConnectAndService), (30.0, 30.0));
}

#[test]
fn rejected_requests_of_several_streams_are_sent_again() {
    // A connection ends after 20 requests, and the next one has up to 8 at once.
    for (tls, is_accepted) in [(server_config(), true), (forgetful(), false)] {
        let settings = Settings { tls: Some(any_server_early()), ..settings(2, 8, 600, b"") };
        let behaviour = Http3Behaviour { requests_per_connection: 20, ..GOOD };
        let server = Distant { server: MisbehavingHttp3::new(1, behaviour, tls), by: Nanos::from_millis(5) };
        let outcome = simulate(&settings, server, &VirtualClock::new(Nanos(100))).unwrap();
        let [_, _, sent, accepted] = handshakes(&outcome);
        assert_eq!(ok(&outcome), 600);
        assert!(sent > 10, "{sent}");
        assert_eq!(accepted, if is_accepted { sent } else { 0 });
        assert_eq!(outcome.connections.stream_limit, None);
    }
}

#[test]
fn a_ticket_without_early_data_carries_none() {
    let tls = server_config_with(|config| config.max_early_data_size = 0);
    let outcome = run(settings(1, 1, 10, b""), tls);
    assert_eq!((ok(&outcome), handshakes(&outcome)), (10, [1, 9, 0, 0]));
    assert_eq!(millis(&outcome.total, Measure::ConnectAndService), (30.0, 30.0));
}

#[test]
fn a_request_that_is_not_safe_waits_for_the_handshake() {
    let outcome = run(settings(1, 1, 10, b"body"), server_config());
    assert_eq!((ok(&outcome), handshakes(&outcome)), (10, [1, 9, 0, 0]));
    assert_eq!(millis(&outcome.total, Measure::ConnectAndService), (30.0, 30.0));
}

#[test]
fn of_several_kinds_only_the_safe_ones_are_early() {
    let outcome = run(mixed(3, 1, 120, &[&b""[..], b"body"]), server_config());
    let [_, resumed, sent, accepted] = handshakes(&outcome);
    assert_eq!(ok(&outcome), 120);
    assert!(sent > 20 && sent < resumed && accepted == sent, "{sent} of {resumed}, {accepted} accepted");
    let [get, post] = outcome.by_request.as_slice() else { panic!("two kinds") };
    assert_eq!(millis(get, Measure::ConnectAndService).0, 25.0);
    assert_eq!(millis(post, Measure::ConnectAndService), (30.0, 30.0), "the handshake is part of it");
}

#[test]
fn a_request_of_an_open_loop_does_not_wait_for_the_handshake() {
    // Due every 27 ms: the connection that was made after the answer 2 ms before is in its handshake for 3 ms more.
    let load = open_loop(37.0, 1, 200).job.load.clone();
    let settings = settings(1, 1, 20, b"").with(|job| job.load = load);
    let outcome = run(settings, server_config());
    assert_eq!((ok(&outcome), handshakes(&outcome)), (20, [1, 19, 19, 19]));
    let (least, most) = millis(&outcome.total, Measure::Response);
    assert!(least >= 25.0 && most < 25.1, "{least} to {most} ms");
}

#[test]
fn the_users_of_sessions_continue_with_early_data() {
    let ending = Http3Behaviour { requests_per_connection: 20, ..GOOD };
    for settings in [open_loop(300.0, 2, 2), closed_loop(2, 1)] {
        let settings = Settings { tls: Some(any_server_early()), ..settings };
        let (outcome, started, completed) = distant_shop(settings, 8, ending, Nanos::from_millis(2));
        assert_eq!(started, completed);
        assert_eq!(ended_well(&outcome.total), outcome.total.counts.scheduled);
        let [_, resumed, ..] = handshakes(&outcome);
        assert!(resumed > 5, "{resumed}");
    }
}
