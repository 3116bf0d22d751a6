//! Scripted requests in simulation: the program is called once for the requests of a connection, after its pause, and
//! once for each response; all requests end exactly once, whatever the server does.

use crate::support::{closed_loop, open_loop};
use paceline_engine::script::{RequestScript, ScriptPlan, ScriptedResponse, Scripts};
use paceline_engine::sim::{Act, Connect, Script, VirtualClock, simulate};
use paceline_engine::{Ending, Measure, Nanos, Requests, Settings, Slot, ThreadOutcome};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// What a program saw.
#[derive(Default)]
struct Notes {
    batches: AtomicU64,
    delays: AtomicU64,
    bodies: Mutex<Vec<String>>,
    has_stopped: AtomicBool,
}

/// A program that numbers its requests, and stops after some.
struct Numbering {
    batch: u16,
    delay: Nanos,
    stop_after: u64,
    /// Whether it ends by making no request, without a stop.
    runs_out: bool,
    notes: Arc<Notes>,
}

impl RequestScript for Numbering {
    fn request(&mut self, _: usize, bytes: &mut Vec<u8>) -> Option<u16> {
        let batch = self.notes.batches.fetch_add(1, Relaxed);
        if self.runs_out && batch >= self.stop_after {
            assert!(batch < 2 * self.stop_after, "asked again and again");
            return None;
        }
        for place in 0..self.batch {
            bytes.extend_from_slice(format!("GET /{batch}-{place} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        }
        if batch + 1 == self.stop_after && !self.runs_out {
            self.notes.has_stopped.store(true, Relaxed);
        }
        Some(0)
    }

    fn delay(&mut self) -> Nanos {
        self.notes.delays.fetch_add(1, Relaxed);
        self.delay
    }

    fn response(&mut self, _: usize, response: &ScriptedResponse<'_>) -> Option<String> {
        let ScriptedResponse { status, head, body, .. } = *response;
        assert_eq!(status, 200);
        assert!(head.starts_with(b"HTTP/1.1 200 OK\r\n") && head.ends_with(b"\r\n\r\n"), "{head:?}");
        self.notes.bodies.lock().unwrap().push(String::from_utf8(body.to_vec()).unwrap());
        None
    }

    fn has_stopped(&self) -> bool {
        self.notes.has_stopped.load(Relaxed)
    }
}

/// Answers each request with its path after a millisecond, in two pieces; closes after every `closes_after` responses.
#[derive(Default)]
struct PathServer {
    closes_after: u64,
    /// Bytes of a body after the path.
    padding: usize,
    answered: u64,
    heard: Vec<u8>,
}

impl Script for PathServer {
    fn connect(&mut self, _: Slot, _: Nanos) -> Connect {
        self.heard.clear();
        Connect::Accept(Nanos::from_micros(100))
    }

    fn request(&mut self, _: Slot, _: Nanos, _: &mut Vec<(Nanos, Act)>) {}

    fn bytes(&mut self, _: Slot, bytes: &[u8], now: Nanos, acts: &mut Vec<(Nanos, Act)>) -> bool {
        self.heard.extend_from_slice(bytes);
        let text = String::from_utf8(std::mem::take(&mut self.heard)).unwrap();
        let mut at = now + Nanos::from_millis(1);
        for request in text.split_inclusive("\r\n\r\n") {
            let path = request.split(' ').nth(1).unwrap();
            self.answered += 1;
            let closes = self.closes_after > 0 && self.answered.is_multiple_of(self.closes_after);
            let field = if closes { "Connection: close\r\n" } else { "" };
            let head =
                format!("HTTP/1.1 200 OK\r\n{field}Content-Length: {}\r\n\r\n", path.len() + self.padding);
            let body = format!("{path}{}", "x".repeat(self.padding));
            let (first, second) = body.split_at(1);
            acts.push((at, Act::Send(Rc::from(format!("{head}{first}").as_bytes()))));
            acts.push((at + Nanos(500), Act::Send(Rc::from(second.as_bytes()))));
            at += Nanos(1_000);
            if closes {
                acts.push((at, Act::Close));
                break;
            }
        }
        true
    }
}

const PLAN: ScriptPlan = ScriptPlan { batch: 1, reads_responses: true, delays: false };

fn run(
    settings: Settings,
    plan: ScriptPlan,
    stop_after: u64,
    server: PathServer,
) -> (ThreadOutcome, Arc<Notes>) {
    run_until(settings, plan, (stop_after, false), server)
}

/// The same; the program either stops after some requests, or runs out of them.
fn run_until(
    settings: Settings,
    plan: ScriptPlan,
    (stop_after, runs_out): (u64, bool),
    server: PathServer,
) -> (ThreadOutcome, Arc<Notes>) {
    let notes = Arc::<Notes>::default();
    let delay = Nanos::from_millis(20);
    let program = Numbering { batch: plan.batch, delay, stop_after, runs_out, notes: Arc::clone(&notes) };
    let settings = settings.with(|job| (job.depth, job.batch) = (plan.batch, plan.batch > 1));
    let settings = Settings { scripts: Some(Scripts::new(plan, vec![Box::new(program)])), ..settings };
    let outcome = simulate(&settings, server, &VirtualClock::new(Nanos(100))).unwrap();
    assert!(outcome.total.counts.add_up(), "{:?}", outcome.total.counts);
    (outcome, notes)
}

fn ok(outcome: &ThreadOutcome) -> u64 {
    outcome.total.counts.endings[Ending::Ok as usize]
}

/// Makes requests of two kinds in turn.
struct Alternating {
    number: u16,
}

impl RequestScript for Alternating {
    fn request(&mut self, _: usize, bytes: &mut Vec<u8>) -> Option<u16> {
        bytes.extend_from_slice(b"GET /0-0 HTTP/1.1\r\n\r\n");
        Some(self.skip())
    }

    fn skip(&mut self) -> u16 {
        self.number += 1;
        (self.number - 1) % 2
    }

    fn delay(&mut self) -> Nanos {
        Nanos::ZERO
    }

    fn response(&mut self, _: usize, _: &ScriptedResponse<'_>) -> Option<String> {
        None
    }

    fn has_stopped(&self) -> bool {
        false
    }
}

/// Accepts connections and never answers.
struct Silent;

impl Script for Silent {
    fn connect(&mut self, _: Slot, _: Nanos) -> Connect {
        Connect::Accept(Nanos::from_micros(100))
    }

    fn request(&mut self, _: Slot, _: Nanos, _: &mut Vec<(Nanos, Act)>) {}
}

#[test]
fn requests_that_are_never_sent_keep_their_kind() {
    let settings = open_loop(100.0, 3, 1);
    let kind = &settings.requests.kinds()[0];
    let requests = Arc::new(Requests::from_kinds(vec![kind.clone(), kind.clone()], 0));
    let scripts = Scripts::new(ScriptPlan::default(), vec![Box::new(Alternating { number: 0 })]);
    let settings = Settings { requests, scripts: Some(scripts), ..settings };
    let outcome = simulate(&settings, Silent, &VirtualClock::new(Nanos(100))).unwrap();
    let counts = |kind: usize, ending| outcome.by_request[kind].counts.ended(ending);
    let all = [0, 1].map(|kind| [Ending::TimedOut, Ending::Unsent].map(|ending| counts(kind, ending)));
    let [[_, unsent_first], [_, unsent_second]] = all;
    assert!(unsent_first > 10 && unsent_second > 10, "{all:?}");
    assert_eq!(
        all.map(|counts| counts.iter().sum::<u64>()),
        [outcome.total.counts.scheduled / 2; 2],
        "{all:?}"
    );
}

#[test]
fn each_response_reaches_the_program_in_order() {
    let plan = ScriptPlan { batch: 3, ..PLAN };
    let (outcome, notes) = run(closed_loop(1, 1), plan, 0, PathServer::default());
    let batches = notes.batches.load(Relaxed);
    assert!(batches > 100, "{batches} batches in a second");
    let expected: Vec<_> =
        (0..batches).flat_map(|batch| (0..3).map(move |place| format!("/{batch}-{place}"))).collect();
    assert_eq!(*notes.bodies.lock().unwrap(), expected);
    assert_eq!(ok(&outcome), 3 * batches);
}

#[test]
fn a_program_that_reads_nothing_is_only_asked() {
    let plan = ScriptPlan { batch: 3, reads_responses: false, ..PLAN };
    let (outcome, notes) = run(closed_loop(2, 1), plan, 0, PathServer::default());
    assert_eq!(ok(&outcome), 3 * notes.batches.load(Relaxed));
    assert!(notes.bodies.lock().unwrap().is_empty());
}

#[test]
fn requests_behind_a_close_are_sent_again_or_counted() {
    for reads_responses in [false, true] {
        let plan = ScriptPlan { batch: 3, reads_responses, ..PLAN };
        let server = PathServer { closes_after: 4, ..PathServer::default() };
        let (outcome, notes) = run(closed_loop(2, 1), plan, 0, server);
        let (all, ok) = (outcome.total.counts.scheduled, ok(&outcome));
        assert_eq!(all, ok, "{:?}", outcome.total.counts);
        assert!(ok > 100 && ok < 3 * notes.batches.load(Relaxed));
    }
}

#[test]
fn a_connection_pauses_before_each_request() {
    let plan = ScriptPlan { delays: true, ..PLAN };
    let (outcome, notes) = run(closed_loop(2, 1), plan, 0, PathServer::default());
    let requests = notes.batches.load(Relaxed);
    // A request takes 20 ms and a millisecond, on each of two connections.
    assert!((90..=100).contains(&requests), "{requests} requests");
    let delays = notes.delays.load(Relaxed);
    assert!(delays >= requests && delays <= requests + 2, "{delays} pauses before {requests} requests");
    let longest = outcome.total.times(Measure::Service).max().unwrap();
    assert!(longest < 2_000_000, "the pause is not part of a time: {longest} ns");
}

#[test]
fn a_program_that_stops_makes_no_more_requests() {
    let (outcome, notes) = run(closed_loop(2, 1), PLAN, 5, PathServer::default());
    assert_eq!((notes.batches.load(Relaxed), ok(&outcome)), (5, 5));
    assert!(outcome.spans.drain.since(outcome.spans.window) >= Nanos::from_secs(1), "the run goes on");
}

#[test]
fn a_rate_asks_for_each_request_when_it_is_due() {
    let (outcome, notes) = run(open_loop(200.0, 4, 1), PLAN, 0, PathServer::default());
    assert_eq!((notes.batches.load(Relaxed), ok(&outcome)), (200, 200));
}

#[test]
fn a_program_that_runs_out_of_requests_is_not_asked_again() {
    for settings in [closed_loop(2, 1), open_loop(200.0, 2, 1)] {
        let (outcome, notes) = run_until(settings, PLAN, (5, true), PathServer::default());
        assert_eq!(ok(&outcome), 5);
        assert_eq!(notes.bodies.lock().unwrap().len(), 5);
    }
}

#[test]
fn a_body_that_is_too_long_is_wrong_and_does_not_reach_the_program() {
    let server = PathServer { padding: 16 << 20, ..PathServer::default() };
    let (outcome, notes) = run(closed_loop(1, 1), PLAN, 2, server);
    assert_eq!(outcome.total.counts.endings[Ending::BadBody as usize], 2);
    assert!(notes.bodies.lock().unwrap().is_empty());
}
