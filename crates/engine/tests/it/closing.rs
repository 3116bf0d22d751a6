//! Servers that close: with the response, after it, or on every request. Requests that did not fail because of the
//! server are not counted as failed.
//!
//! Simulated. Closes before any request are in `early.rs`, closes on the kernel's sockets in `faults.rs`.

use crate::support::{closed_loop, open_loop};
use paceline_engine::hot::Recorder;
use paceline_engine::sim::{Act, Connect, Script, VirtualClock, response, simulate, simulate_with};
use paceline_engine::{
    BodyCheck, Bound, Ending, Measure, Nanos, RequestKind, Requests, ResponseCheck, Settings, Slot, Tally,
};
use paceline_http::{LineFiles, Method, Request, Url};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

/// Accepts after a time, takes a millisecond for a response, and performs another action at the same moment.
struct Closing {
    accepts_after: Nanos,
    answer: Rc<[u8]>,
    then: Option<Act>,
}

impl Script for Closing {
    fn connect(&mut self, _: Slot, _: Nanos) -> Connect {
        Connect::Accept(self.accepts_after)
    }

    fn request(&mut self, _: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        let at = now + Nanos::from_millis(1);
        acts.push((at, Act::Send(Rc::clone(&self.answer))));
        acts.extend(self.then.clone().map(|act| (at, act)));
    }
}

#[test]
fn a_connection_known_to_be_closed_is_not_used() {
    // Far more is due than the server can carry, so that a free connection is used at once.
    let server = Closing { accepts_after: Nanos::ZERO, answer: response("ok"), then: Some(Act::Close) };
    let settings = open_loop(10_000.0, 4, 1).with(|job| job.window = Bound::Duration(Nanos::from_secs(1)));
    let outcome = simulate(&settings, server, &VirtualClock::new(Nanos::ZERO)).unwrap();
    let counts = &outcome.total.counts;
    assert!(counts.ended(Ending::Ok) > 1_000, "{counts:?}");
    assert_eq!(counts.ended(Ending::IoFailed), 0, "{counts:?}");
}

#[test]
fn requests_behind_an_announced_close_are_sent_again() {
    for (answer, then) in [
        (&b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"[..], None),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", None),
        (b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", None),
        (b"HTTP/1.1 200 OK\r\n\r\nok", Some(Act::Close)),
    ] {
        for (connections, depth) in [(1, 4), (3, 64)] {
            let server = Closing { accepts_after: Nanos::ZERO, answer: Rc::from(answer), then: then.clone() };
            let settings = closed_loop(connections, 1).with(|job| {
                job.depth = depth;
                job.window = Bound::Requests(400);
            });
            let outcome = simulate(&settings, server, &VirtualClock::new(Nanos::ZERO)).unwrap();
            let (counts, connections) = (&outcome.total.counts, &outcome.connections);
            assert_eq!((counts.scheduled, counts.ended(Ending::Ok)), (400, 400), "{counts:?}");
            assert_eq!(connections.failures, [], "the server may do that");
            assert!(connections.handed_back >= 300 && connections.closed_by_server >= 399, "{connections:?}");
        }
    }
}

/// Answers after a millisecond, and gives the idle connection up five milliseconds later, with 408.
struct Impatient;

impl Script for Impatient {
    fn connect(&mut self, _: Slot, _: Nanos) -> Connect {
        Connect::Accept(Nanos::ZERO)
    }

    fn request(&mut self, _: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        let timeout = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        acts.push((now + Nanos::from_millis(1), Act::Send(response("ok"))));
        acts.push((now + Nanos::from_millis(6), Act::Send(Rc::from(*timeout))));
    }
}

#[test]
fn an_idle_connection_may_be_closed_with_408() {
    // A request every 100 ms.
    let outcome = simulate(&open_loop(10.0, 1, 1), Impatient, &VirtualClock::new(Nanos::ZERO)).unwrap();
    let (counts, connections) = (&outcome.total.counts, &outcome.connections);
    assert_eq!((counts.scheduled, counts.ended(Ending::Ok)), (10, 10), "{counts:?}");
    assert_eq!(connections.failures, [], "the server may do that");
    assert!(connections.closed_by_server >= 9, "{connections:?}");
}

/// Answers each request with its path and closes each connection after three, as it announces.
#[derive(Default)]
struct ThreeEach {
    served: [u8; 2],
    heard: Vec<String>,
    /// The paths of the requests that were processed.
    processed: Vec<String>,
}

impl Script for ThreeEach {
    fn connect(&mut self, slot: Slot, _: Nanos) -> Connect {
        self.served[slot as usize] = 0;
        Connect::Accept(Nanos::ZERO)
    }

    fn read_request(&mut self, _: Slot, request: &[u8]) {
        let text = String::from_utf8(request.to_vec()).unwrap();
        self.heard.push(text.split(' ').nth(1).unwrap().to_owned());
    }

    fn request(&mut self, slot: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        let path = self.heard.remove(0);
        let served = &mut self.served[slot as usize];
        *served += 1;
        if *served > 3 {
            return;
        }
        let close = if *served == 3 { "Connection: close\r\n" } else { "" };
        let (length, status) = (path.len(), if path.starts_with("/b") { 201 } else { 200 });
        let answer = format!("HTTP/1.1 {status} X\r\n{close}Content-Length: {length}\r\n\r\n{path}");
        self.processed.push(path);
        acts.push((now + Nanos::from_millis(1), Act::Send(answer.into_bytes().into())));
    }
}

#[test]
fn a_request_that_is_sent_again_keeps_its_number_and_its_check() {
    let kind = |path: &str, status| {
        let request = Request::get(&Url::parse(&format!("http://a/{path}{{seq}}")).unwrap());
        let template = request.compile(&LineFiles::default()).unwrap();
        let check = ResponseCheck { status: Some(status), body: BodyCheck::Any };
        RequestKind { weight: 1, template, method: Method::Other, check }
    };
    for open in [false, true] {
        let settings = if open { open_loop(600.0, 2, 1) } else { closed_loop(2, 1) };
        let requests = Arc::new(Requests::from_kinds(vec![kind("a", 200), kind("b", 201)], 0));
        let settings = Settings { requests, ..settings }.with(|job| {
            job.depth = 8;
            if !open {
                job.window = Bound::Requests(600);
            }
        });
        let (clock, mut recorder) = (VirtualClock::new(Nanos::ZERO), Recorder::new());
        let look = |tallies: &[Tally], server: &ThreeEach| {
            let ok: u64 = tallies.iter().map(|tally| tally.counts.ended(Ending::Ok)).sum();
            let numbers: BTreeSet<&str> = server.processed.iter().map(|path| &path[2..]).collect();
            assert_eq!((ok, server.processed.len(), numbers.len()), (600, 600, 600));
        };
        simulate_with(&settings, ThreeEach::default(), &clock, Nanos::NEVER, &mut recorder, look).unwrap();
    }
}

#[test]
fn connections_of_the_run_are_made_without_waiting_for_each_other() {
    // 200 clients whose handshake takes a second: 200 responses a second, if they did not have to wait.
    let server = Closing { accepts_after: Nanos::from_secs(1), answer: response("ok"), then: None };
    let settings = closed_loop(200, 1).with(|job| {
        job.keep_alive = false;
        job.window = Bound::Duration(Nanos::from_secs(10));
    });
    let outcome = simulate(&settings, server, &VirtualClock::new(Nanos::ZERO)).unwrap();
    assert!(outcome.total.counts.completed_in_window >= 1_800, "{:?}", outcome.total.counts);
}

/// A body without end for the first slot, immediate responses for the others.
struct Flood(Rc<[u8]>);

impl Script for Flood {
    fn connect(&mut self, _: Slot, _: Nanos) -> Connect {
        Connect::Accept(Nanos::ZERO)
    }

    fn request(&mut self, slot: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        if slot > 0 {
            return acts.push((now + Nanos::from_micros(100), Act::Send(response("ok"))));
        }
        acts.push((now, Act::Send(Rc::from(*b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n"))));
        // Many pieces at once: there is always more to read than one turn allows.
        acts.extend((0..40_000).map(|_| (now, Act::Send(Rc::clone(&self.0)))));
    }
}

#[test]
fn an_endless_body_does_not_block_other_connections() {
    let settings = closed_loop(2, 1).with(|job| job.window = Bound::Duration(Nanos::from_millis(40)));
    let clock = VirtualClock::new(Nanos(1_000));
    let outcome = simulate(&settings, Flood(Rc::from(vec![b'x'; 64 << 10])), &clock).unwrap();
    let ok = outcome.total.counts.ended(Ending::Ok);
    // At 100 us each, plus the flood's share of a turn; only a few dozen if each event of the flood had a turn.
    assert!(ok > 200, "{ok} answers beside it");
}

/// Has no room for further connections once it has accepted the first three.
struct Full(u32);

impl Script for Full {
    fn connect(&mut self, _: Slot, _: Nanos) -> Connect {
        self.0 += 1;
        if self.0 <= 3 { Connect::Accept(Nanos::ZERO) } else { Connect::Ignore }
    }

    fn request(&mut self, _: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        acts.push((now + Nanos::from_millis(1), Act::Close));
    }
}

#[test]
fn a_request_without_a_connection_has_waited_as_long_as_the_attempt() {
    let settings = closed_loop(3, 1).with(|job| {
        job.window = Bound::Requests(6);
        job.connect_timeout = Nanos::from_millis(500);
        job.timeout = Nanos::from_secs(2);
    });
    let outcome = simulate(&settings, Full(0), &VirtualClock::new(Nanos::ZERO)).unwrap();
    let counts = &outcome.total.counts;
    assert_eq!((counts.ended(Ending::IoFailed), counts.ended(Ending::ConnectFailed)), (3, 3), "{counts:?}");
    // Three were cut off after a millisecond, three abandoned after half a second.
    let waited = outcome.total.times(Measure::Failed);
    assert_eq!(waited.count_at_or_below(490_000_000), 3, "{waited:?}");
}
