//! Timeouts, exactly: of pipelined requests, of connections that a server no longer reads, and the records of those
//! whose connection was made for them alone.
//!
//! Simulated, with a server that stops responding or stops reading. Timeouts on real sockets are in `faults.rs` and,
//! over TLS, in `tls.rs`; `conservation.rs` checks that each request ends once.

use crate::support::{closed_loop, open_loop};
use paceline_engine::sim::{Act, Connect, Script, VirtualClock, response, simulate};
use paceline_engine::{Bound, ConnectionFailure, Ending, Measure, Nanos, Settings, Slot, ThreadOutcome};
use std::rc::Rc;

/// Longer than any of these runs.
const NEVER_AGAIN: Nanos = Nanos::from_secs(86_400);
const CONNECT: Nanos = Nanos::from_millis(2);
const SERVICE: Nanos = Nanos::from_millis(5);

/// Answers some requests of one connection, and takes no more bytes after some sends.
struct Failing {
    /// The number of requests of a connection that are answered.
    answers: usize,
    /// The response to the first of them.
    answer: Rc<[u8]>,
    /// The number of bytes that each send of a connection takes less than offered; later ones take none.
    misses: &'static [usize],
    /// Requests and sends of the present connection so far.
    carried: usize,
    sends: usize,
}

impl Failing {
    fn new(answers: usize, answer: Rc<[u8]>, misses: &'static [usize]) -> Self {
        Self { answers, answer, misses, carried: 0, sends: 0 }
    }

    /// Reads everything, and answers this many requests of a connection.
    fn silent_after(answers: usize) -> Self {
        Self::new(answers, response("ok"), &[0; 64])
    }
}

impl Script for Failing {
    fn connect(&mut self, _: Slot, _: Nanos) -> Connect {
        (self.carried, self.sends) = (0, 0);
        Connect::Accept(CONNECT)
    }

    fn request(&mut self, _: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        self.carried += 1;
        if self.carried <= self.answers {
            acts.push((now + SERVICE, Act::Send(Rc::clone(&self.answer))));
        }
    }

    fn takes(&mut self, wanted: usize) -> usize {
        self.sends += 1;
        self.misses.get(self.sends - 1).map_or(0, |missed| wanted - missed)
    }

    fn room_after(&mut self) -> Nanos {
        NEVER_AGAIN
    }
}

fn run(settings: &Settings, server: Failing) -> ThreadOutcome {
    let outcome = simulate(settings, server, &VirtualClock::new(Nanos::ZERO)).unwrap();
    assert!(outcome.total.counts.add_up());
    outcome
}

fn ended(outcome: &ThreadOutcome) -> [u64; 3] {
    [Ending::Ok, Ending::TimedOut, Ending::IoFailed].map(|ending| outcome.total.counts.ended(ending))
}

#[test]
fn pipelined_requests_time_out_together() {
    let settings = closed_loop(1, 1).with(|job| {
        job.depth = 16;
        job.window = Bound::Requests(16);
        job.timeout = Nanos::from_millis(20);
    });
    let outcome = run(&settings, Failing::silent_after(0));
    assert_eq!(ended(&outcome), [0, 16, 0]);
    assert_eq!(outcome.total.times(Measure::Service).count(), 16);
    assert_eq!(outcome.total.counts.censored.map(|(count, _)| count), Some(16));
    assert_eq!(outcome.connections.failures, [(ConnectionFailure::TimedOut, 1)]);
}

#[test]
fn younger_requests_fail_with_their_connection() {
    // The third is sent when the first is answered: it has not timed out when the second has.
    let settings = closed_loop(1, 1).with(|job| {
        job.depth = 2;
        job.window = Bound::Requests(3);
        job.timeout = Nanos::from_millis(20);
    });
    assert_eq!(ended(&run(&settings, Failing::silent_after(1))), [1, 1, 1]);
}

#[test]
fn a_connection_to_a_server_that_stops_reading_is_given_up() {
    // Two are sent at once, except for a byte of the second, and both are answered.
    let twice = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".repeat(2);
    let settings = closed_loop(1, 10).with(|job| {
        job.depth = 2;
        job.batch = true;
        job.timeout = Nanos::from_secs(1);
    });
    let outcome = run(&settings, Failing::new(1, Rc::from(twice.as_bytes()), &[1]));
    let [ok, others @ ..] = ended(&outcome);
    assert!(ok >= 18 && others == [0, 0], "{ok} requests in ten seconds, {others:?}");
    assert_eq!(outcome.connections.failures, [(ConnectionFailure::Unread, ok / 2 - 1)]);
    assert_eq!(outcome.connections.closed_by_us, ok / 2 - 1);
}

#[test]
fn a_connection_with_a_full_send_buffer_times_out() {
    for settings in [closed_loop(1, 10), open_loop(100.0, 1, 10)] {
        let settings = settings.with(|job| job.timeout = Nanos::from_secs(1));
        let outcome = run(&settings, Failing::new(1, response("ok"), &[0]));
        let [ok, others @ ..] = ended(&outcome);
        assert!(ok >= 9 && others == [0, 0], "{ok} requests in ten seconds, {others:?}");
        assert!(matches!(outcome.connections.failures[..], [(ConnectionFailure::Unread, 8..)]));
        // There is no room for the first either.
        let outcome = run(&settings, Failing::new(0, response("ok"), &[]));
        assert!(matches!(outcome.connections.failures[..], [(ConnectionFailure::Unread, 8..)]));
        assert_eq!(ended(&outcome), [0; 3]);
    }
}

#[test]
fn a_number_of_requests_is_sent_although_send_buffers_fill() {
    let settings = closed_loop(1, 1).with(|job| {
        job.window = Bound::Requests(3);
        job.timeout = Nanos::from_secs(1);
    });
    // Each connection takes one request.
    let outcome = run(&settings, Failing::new(1, response("ok"), &[0]));
    assert_eq!(ended(&outcome), [3, 0, 0]);
    assert_eq!(outcome.connections.failures, [(ConnectionFailure::Unread, 2)]);
}

#[test]
fn connect_time_and_wait_add_up() {
    let settings = closed_loop(3, 1).with(|job| {
        job.keep_alive = false;
        job.timeout = Nanos::from_millis(20);
    });
    let cut_off = settings.clone().with(|job| {
        job.timeout = Nanos::from_secs(10);
        job.drain = Nanos::from_millis(20);
    });
    for settings in [settings, cut_off] {
        let outcome = run(&settings, Failing::silent_after(0));
        let sum = outcome.total.times(Measure::ConnectAndService);
        let [_, timed_out, _] = ended(&outcome);
        assert!(timed_out > 0);
        assert_eq!(sum.count(), timed_out);
        let service = outcome.total.times(Measure::Service);
        assert_eq!(sum.min(), service.min().map(|waited| waited + CONNECT.0));
    }
}
