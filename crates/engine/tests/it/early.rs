//! Early servers: they respond before the whole request was sent, whose rest is sent nevertheless; or they send, close
//! or reset before any request.
//!
//! Simulated, with servers that take all but a byte, and that greet. The bytes for sockets are tested beside the code,
//! in `src/h1/outgoing/tests.rs`; requests longer than a socket's buffer in `tls.rs`.

use crate::support::{REQUEST, closed_loop};
use paceline_engine::hot::Recorder;
use paceline_engine::sim::{Act, Connect, Script, VirtualClock, response, simulate, simulate_with};
use paceline_engine::{
    Clock as _, ConnectionFailure, EngineError, Nanos, RequestKind, Requests, ResponseCheck, Settings, Slot,
    Tally,
};
use paceline_http::{LineFiles, Method, Request, RequestTemplate, Url};
use std::rc::Rc;
use std::sync::Arc;

/// Takes all but a byte of each send, responds twice to what it has, and has room again a millisecond later.
struct Hasty {
    answer: Rc<[u8]>,
    /// Whether the next bytes are the rest of a request.
    rest: bool,
    heard: Vec<Vec<u8>>,
}

impl Script for Hasty {
    fn connect(&mut self, _: Slot, _: Nanos) -> Connect {
        Connect::Accept(Nanos::ZERO)
    }

    fn read_request(&mut self, _: Slot, request: &[u8]) {
        self.heard.push(request.to_vec());
    }

    fn request(&mut self, _: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        // The second of the two requests that were sent together is the one that is answered early.
        if self.heard.len() % 2 == 1 {
            acts.push((now, Act::Send(Rc::clone(&self.answer))));
        }
    }

    fn takes(&mut self, wanted: usize) -> usize {
        self.rest = !self.rest;
        if self.rest { wanted - 1 } else { wanted }
    }
}

#[test]
fn the_rest_of_an_answered_request_is_still_sent() {
    let url = Url::parse("http://a/{seq}").unwrap();
    let made = Request::get(&url).compile(&LineFiles::default()).unwrap();
    let check = || ResponseCheck { status: None, body: paceline_engine::BodyCheck::Any };
    let kinds = [made, RequestTemplate::fixed(REQUEST.to_vec())].map(|template| RequestKind {
        weight: 1,
        template,
        method: Method::Other,
        check: check(),
    });
    let settings =
        Settings { requests: Arc::new(Requests::from_kinds(kinds.into(), 0)), ..closed_loop(1, 1) }.with(
            |job| {
                job.depth = 2;
                job.batch = true;
            },
        );
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".repeat(2);
    let server = Hasty { answer: Rc::from(answer.as_bytes()), rest: false, heard: Vec::new() };
    let heard = |_: &[Tally], server: &Hasty| server.heard.clone();
    let clock = VirtualClock::new(Nanos::ZERO);
    let heard = simulate_with(&settings, server, &clock, Nanos::NEVER, &mut Recorder::new(), heard).unwrap();
    assert!(heard.len() > 1000, "the connection stood still after {} requests", heard.len());
    for request in heard {
        let text = String::from_utf8_lossy(&request);
        assert!(text.starts_with("GET /") && text.contains("\r\nHost: a\r\n"), "{text}");
    }
}

/// Does the same on each new connection except that of the last slot, which is never made.
struct Greeter(Act);

impl Script for Greeter {
    fn connect(&mut self, slot: Slot, _: Nanos) -> Connect {
        if slot < 2 { Connect::Greet(Nanos::from_micros(50), self.0.clone()) } else { Connect::Ignore }
    }

    fn request(&mut self, _: Slot, _: Nanos, _: &mut Vec<(Nanos, Act)>) {}
}

#[test]
fn connections_that_fail_before_use_are_given_up() {
    let acts = [
        (Act::Send(Rc::from(*b"SSH-2.0-\r\n")), "the server sent bytes although no request was outstanding"),
        (Act::Close, "the server closed a new connection before any request was sent on it"),
        (
            Act::Send(Rc::from(*b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n")),
            "the server closed a new connection before any request was sent on it",
        ),
        (Act::Reset, "Connection reset by peer"),
    ];
    for (act, why) in acts {
        let settings = closed_loop(3, 1).with(|job| job.connect_timeout = Nanos::from_secs(10));
        let clock = VirtualClock::new(Nanos::ZERO);
        let error = simulate(&settings, Greeter(act), &clock).unwrap_err();
        let EngineError::Unreachable { attempts, made, source, .. } = error else { panic!("{error}") };
        assert!(source.to_string().starts_with(why), "{source}");
        // Six that failed, and the one that is still under way.
        assert_eq!((attempts, made), (7, 6));
        assert!(clock.now() < Nanos::from_secs(1), "given up only after {}", clock.now());
    }
}

/// Responds twice to every request, each time in a separate piece.
struct Twice;

impl Script for Twice {
    fn connect(&mut self, _: Slot, _: Nanos) -> Connect {
        Connect::Accept(Nanos::ZERO)
    }

    fn request(&mut self, _: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        acts.extend([1, 1].map(|ms| (now + Nanos::from_millis(ms), Act::Send(response("ok")))));
    }
}

#[test]
fn a_surplus_response_is_noticed_in_a_closed_loop() {
    for requests in [3, 3_000] {
        let settings = closed_loop(1, 1).with(|job| job.window = paceline_engine::Bound::Requests(requests));
        let outcome = simulate(&settings, Twice, &VirtualClock::new(Nanos::ZERO)).unwrap();
        let unsolicited =
            |(failure, _): &(ConnectionFailure, u64)| *failure == ConnectionFailure::Unsolicited;
        let failures = &outcome.connections.failures;
        assert!(failures.iter().any(unsolicited), "{requests} requests: {failures:?}");
    }
}
