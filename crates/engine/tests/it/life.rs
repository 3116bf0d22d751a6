//! The life of connections, exactly: used up after some requests, idle during think times, made for one request.
//!
//! Simulated, mostly with a server that takes 2 ms to accept and 3 ms to respond. A stop that a coarse clock shows late
//! is also tested here. The binary's `shapes.rs` tests the flags.

use crate::support::{closed_loop, open_loop};
use paceline_engine::hot::Recorder;
use paceline_engine::sim::{Act, Connect, Script, VirtualClock, response, simulate, simulate_with};
use paceline_engine::{
    Arrivals, Bound, Ending, LoadModel, LoggedRequest, Measure, Nanos, PaceKind, Random, RequestLog,
    Settings, Slot, Tally, Think, ThreadOutcome, WindowLength,
};
use std::rc::Rc;
use std::sync::Arc;

/// Accepts after 2 ms, responds after 3 ms, closes if configured to.
struct Steady {
    answer: Rc<[u8]>,
    closes: bool,
    /// Requests on the present connection of each slot, and the maximum on one.
    carried: Vec<u64>,
    max_carried: Rc<std::cell::Cell<u64>>,
}

const CONNECT: Nanos = Nanos::from_millis(2);
const SERVICE: Nanos = Nanos::from_millis(3);

impl Script for Steady {
    fn connect(&mut self, slot: Slot, _: Nanos) -> Connect {
        self.carried.resize(self.carried.len().max(slot as usize + 1), 0);
        self.carried[slot as usize] = 0;
        Connect::Accept(CONNECT)
    }

    fn request(&mut self, slot: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        self.carried[slot as usize] += 1;
        self.max_carried.set(self.max_carried.get().max(self.carried[slot as usize]));
        acts.push((now + SERVICE, Act::Send(Rc::clone(&self.answer))));
        if self.closes {
            acts.push((now + SERVICE, Act::Close));
        }
    }
}

/// The outcome, and the maximum number of requests on one connection.
fn run(settings: &Settings, closes: bool) -> (ThreadOutcome, u64) {
    let max_carried = Rc::default();
    let answer: Rc<[u8]> = if closes {
        Rc::from(&b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"[..])
    } else {
        response("ok")
    };
    let server = Steady { answer, closes, carried: Vec::new(), max_carried: Rc::clone(&max_carried) };
    let outcome = simulate(settings, server, &VirtualClock::new(Nanos::ZERO)).unwrap();
    assert!(outcome.total.counts.add_up());
    (outcome, max_carried.get())
}

#[test]
fn a_connection_is_renewed_after_its_requests() {
    for depth in [1, 4] {
        let settings = closed_loop(2, 1).with(|job| {
            job.requests_per_connection = Some(5);
            job.window = Bound::Requests(100);
            job.depth = depth;
        });
        let (outcome, max_carried) = run(&settings, false);
        let counts = &outcome.connections;
        assert_eq!((counts.made, counts.closed_as_asked, max_carried), (20, 20, 5), "depth {depth}");
        assert_eq!((counts.closed_by_server, counts.closed_by_us, counts.failed_attempts), (0, 0, 0));
        assert_eq!(outcome.total.counts.scheduled, 100);
    }
}

#[test]
fn renewal_shows_as_connection_wait_in_an_open_loop() {
    // One connection, ten requests/s, each on a separate connection: none waits, the next is made in time.
    let settings = open_loop(10.0, 1, 5).with(|job| job.requests_per_connection = Some(1));
    let (outcome, _) = run(&settings, false);
    assert_eq!(outcome.total.times(Measure::ConnectionWait).max(), Some(0));
    assert_eq!(outcome.connections.closed_as_asked, 50);
    // At 250/s one is due every 4 ms, and takes 5: the queue grows by 1 ms each time.
    let settings = open_loop(250.0, 1, 1).with(|job| job.requests_per_connection = Some(1));
    let wait = run(&settings, false).0.total.times(Measure::ConnectionWait).max();
    assert_eq!(wait, Some(249_000_000));
}

#[test]
fn without_keep_alive_connecting_and_service_add_up() {
    for closes in [false, true] {
        let settings = closed_loop(3, 1).with(|job| job.keep_alive = false);
        let (outcome, max_carried) = run(&settings, closes);
        let sum = outcome.total.times(Measure::ConnectAndService);
        assert_eq!((sum.min(), sum.max()), (Some(5_000_000), Some(5_000_000)));
        assert_eq!(sum.count(), outcome.total.counts.scheduled);
        assert_eq!(max_carried, 1);
        // Three at a time, 5 ms each; the first three connections were made before the window.
        assert_eq!(outcome.total.counts.scheduled, 600);
        // Whichever side closes, the close was planned.
        assert_eq!((outcome.connections.closed_by_server, outcome.connections.closed_by_us), (0, 0));
    }
}

#[test]
fn single_requests_are_kept_in_the_order_of_their_responses() {
    for (keep_alive, connect) in [(true, Nanos::ZERO), (false, CONNECT)] {
        let log = Arc::new(RequestLog::new(7));
        let settings = closed_loop(2, 1).with(|job| {
            (job.keep_alive, job.window) = (keep_alive, Bound::Requests(10));
        });
        let settings = Settings { request_log: Some(Arc::clone(&log)), ..settings };
        let (outcome, _) = run(&settings, false);
        assert_eq!(outcome.total.counts.ended(Ending::Ok), 10);
        let requests = log.take();
        assert_eq!(requests.len(), 7);
        assert!(requests.is_sorted_by_key(LoggedRequest::completed));
        let each = |place: usize| Nanos((SERVICE.0 + connect.0) * place as u64 / 2);
        for (place, request) in requests.iter().enumerate() {
            let &LoggedRequest { sent, connect: took, first_byte, service, status } = request;
            assert_eq!((took, first_byte, service, status), (connect, SERVICE, SERVICE, 200));
            assert_eq!(sent, each(place / 2 * 2), "{keep_alive} {place}");
        }
    }
}

#[test]
fn think_time_lowers_the_request_rate() {
    let think = |think| closed_loop(4, 10).with(|job| job.think = Some(think));
    let (outcome, _) = run(&think(Think::constant(Nanos::from_millis(7))), false);
    // Four connections, a request every 10 ms on each.
    assert_eq!(outcome.total.counts.scheduled, 4_000);
    assert_eq!(outcome.total.times(Measure::Service).max(), Some(SERVICE.0));
    let (outcome, _) = run(&think(Think::exponential(Nanos::from_millis(7))), false);
    let count = outcome.total.counts.scheduled as f64;
    // Renewal theory: variance of the count is n (7/10)² for each connection.
    assert!((count - 4_000.0).abs() < 5.0 * 0.7 * 4_000.0_f64.sqrt(), "{count}");
}

#[test]
fn think_time_continues_between_connections() {
    let settings = closed_loop(1, 1).with(|job| {
        job.think = Some(Think::constant(Nanos::from_millis(5)));
        job.requests_per_connection = Some(1);
    });
    let (outcome, _) = run(&settings, false);
    // 5 ms of think time, 2 to connect, 3 of service.
    assert_eq!(outcome.total.counts.scheduled, 100);
}

#[test]
fn a_stall_in_a_think_time_does_not_end_the_run() {
    // Each reading of the clock takes longer than a request and a think time may take together.
    let stall = Nanos::from_millis(600);
    for keep_alive in [true, false] {
        let settings = closed_loop(1, 1).with(|job| {
            job.think = Some(Think::constant(Nanos::from_millis(50)));
            job.timeout = Nanos::from_millis(500);
            job.window = Bound::Requests(10);
            job.keep_alive = keep_alive;
        });
        let outcome = simulate(&settings, Prompt, &VirtualClock::new(stall)).unwrap();
        assert_eq!(outcome.total.counts.ended(Ending::Ok), 10, "keep-alive: {keep_alive}");
    }
}

/// Accepts at once, responds after 3 ms, and ends the connection: with the response, or a little later.
struct Parting {
    ends: Act,
    after: Nanos,
    announces: bool,
}

impl Script for Parting {
    fn connect(&mut self, _: Slot, _: Nanos) -> Connect {
        Connect::Accept(Nanos::ZERO)
    }

    fn request(&mut self, _: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        let head = if self.announces { "Connection: close\r\n" } else { "" };
        let answer = format!("HTTP/1.1 200 OK\r\n{head}Content-Length: 0\r\n\r\n");
        acts.push((now + SERVICE, Act::Send(Rc::from(answer.into_bytes()))));
        acts.push((now + SERVICE + self.after, self.ends.clone()));
    }
}

#[test]
fn think_time_continues_when_the_server_closes_the_connection() {
    let think = Think::constant(Nanos::from_millis(7));
    let settings = closed_loop(2, 1).with(|job| job.think = Some(think));
    let later = Nanos::from_millis(3);
    for (ends, after, announces) in [
        (Act::Close, Nanos::ZERO, true),
        (Act::Close, later, true),
        (Act::Close, later, false),
        (Act::Reset, later, false),
    ] {
        let what = format!("{ends:?} after {after}, announced: {announces}");
        let server = Parting { ends, after, announces };
        let outcome = simulate(&settings, server, &VirtualClock::new(Nanos::ZERO)).unwrap();
        // Two connections, a request every 10 ms on each.
        assert_eq!(outcome.total.counts.ended(Ending::Ok), 200, "{what}");
        assert!(outcome.connections.closed_by_server >= 190, "{what}");
    }
}

#[test]
fn a_long_random_schedule_ends_with_its_last_arrival() {
    let poisson = |rate, count| {
        open_loop(rate, 1, 1).with(|job| {
            job.window = Bound::Requests(count);
            if let LoadModel::Open { arrivals, .. } = &mut job.load {
                *arrivals = Arrivals::Poisson;
            }
        })
    };
    // A billion arrivals are not walked: their window is planned from their number.
    let billion = WindowLength::from_settings(&poisson(1e6, 1_000_000_000)).length();
    assert_eq!(billion.0, ((1e9 + 6.0 * 1e9_f64.sqrt()) * 1e3) as u64);
    // Arrivals of a very low rate are later than any clock shows.
    assert_eq!(WindowLength::from_settings(&poisson(1e-18, 2)).length(), Nanos::NEVER);
    let count = (1 << 18) + 1_000;
    let settings = poisson(1e5, count);
    let mut random = Random::new(settings.seed);
    let arrivals: f64 = (0..=count).map(|_| random.exponential(1e4)).sum();
    let outcome = simulate(&settings, Prompt, &VirtualClock::new(Nanos::ZERO)).unwrap();
    assert_eq!(outcome.total.counts.scheduled, count);
    let window = outcome.spans.drain.since(outcome.spans.window);
    assert!(window.0.abs_diff(arrivals as u64) < 1_000, "{window} is not {arrivals} ns");
    assert!(window < WindowLength::from_settings(&settings).length(), "{window}");
}

/// Responds at once.
struct Prompt;

impl Script for Prompt {
    fn connect(&mut self, _: Slot, _: Nanos) -> Connect {
        Connect::Accept(Nanos::ZERO)
    }

    fn request(&mut self, _: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        acts.push((now, Act::Send(response("ok"))));
    }
}

#[test]
fn a_late_stop_signal_still_stops_the_run() {
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for (settings, pace) in
            [(closed_loop(1, 3600), PaceKind::Sleep), (open_loop(500.0, 1, 3600), PaceKind::Spin)]
        {
            // Each reading of the clock takes longer than the time to the stop.
            let (settings, clock) = (Settings { pace, ..settings }, VirtualClock::new(Nanos::from_millis(1)));
            let due = |tallies: &[Tally], _: &Prompt| {
                tallies.iter().map(|tally| tally.counts.scheduled).sum::<u64>()
            };
            let due = simulate_with(&settings, Prompt, &clock, Nanos(1), &mut Recorder::new(), due);
            done.send(due.unwrap()).unwrap();
        }
    });
    // Virtual seconds pass at once: a case that takes a minute would never end.
    for _ in 0..2 {
        let due = ended
            .recv_timeout(std::time::Duration::from_secs(60))
            .expect("it goes on although it was stopped");
        assert!(due <= 2, "{due} requests fell due after the stop");
    }
}

#[test]
fn a_run_gives_up_soon_if_every_connection_only_fails() {
    // Garbage in answer to each request: with 2,000 requests over 8 connections, it would take four minutes.
    let settings = closed_loop(8, 1).with(|job| job.window = Bound::Requests(2_000));
    let clock = VirtualClock::new(Nanos::ZERO);
    let outcome = simulate(&settings, Fixed(b"SSH-2.0-OpenSSH\r\n"), &clock).unwrap();
    let counts = &outcome.total.counts;
    assert!(counts.scheduled >= 80 && counts.scheduled < 100, "{counts:?}");
    assert_eq!(counts.ended(Ending::IoFailed), counts.scheduled);
    assert!(clock.peek() < Nanos::from_secs(3), "{}", clock.peek());
    // A slow server is no reason to give up.
    let settings = closed_loop(2, 1).with(|job| {
        job.window = Bound::Requests(40);
        job.timeout = Nanos::from_secs(2);
    });
    let outcome =
        simulate(&settings, Fixed(b"HTTP/1.1 200 OK\r\n"), &VirtualClock::new(Nanos::ZERO)).unwrap();
    assert_eq!(outcome.total.counts.ended(Ending::TimedOut), 40);
}

/// Answers each request with these bytes.
struct Fixed(&'static [u8]);

impl Script for Fixed {
    fn connect(&mut self, _: Slot, _: Nanos) -> Connect {
        Connect::Accept(Nanos::ZERO)
    }

    fn request(&mut self, _: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        acts.push((now + Nanos::from_millis(1), Act::Send(self.0.into())));
    }
}
