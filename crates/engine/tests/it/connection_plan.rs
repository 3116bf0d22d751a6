//! A closed loop whose number of connections changes, in virtual time: the number at every moment, and requests that are
//! answered although their connection is not needed any more.
//!
//! Simulated, with a server that accepts at once and takes 10 ms for each response, whatever its load. `conservation.rs`
//! has such loads with servers that misbehave.

use crate::support::closed_loop;
use paceline_engine::sim::{Act, Connect, Script, VirtualClock, response, simulate};
use paceline_engine::{
    Bound, Ending, KeptInterval, Measure, Nanos, Phase, Settings, Slot, Think, ThreadOutcome,
};
use paceline_job::{ConnectionPart, ConnectionPlan};

/// Accepts at once, responds after 10 ms.
struct Server;

const SERVICE: Nanos = Nanos::from_millis(10);

impl Script for Server {
    fn connect(&mut self, _: Slot, _: Nanos) -> Connect {
        Connect::Accept(Nanos::ZERO)
    }

    fn request(&mut self, _: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        acts.push((now + SERVICE, Act::Send(response("ok"))));
    }
}

fn planned(parts: &[(u32, u32, u64)]) -> Settings {
    let part = |&(from, to, seconds)| ConnectionPart { from, to, length: Nanos::from_secs(seconds) };
    let plan = ConnectionPlan::Parts { parts: parts.iter().map(part).collect() };
    closed_loop(plan.range().1, 1).with(|job| {
        job.window = Bound::Duration(plan.length().unwrap());
        job.connection_plan = Some(plan);
    })
}

fn run(settings: &Settings) -> ThreadOutcome {
    let outcome = simulate(settings, Server, &VirtualClock::new(Nanos::ZERO)).unwrap();
    assert!(outcome.total.counts.add_up());
    outcome
}

/// The mean number of open connections in each second of the window.
fn open_by_second(outcome: &ThreadOutcome) -> Vec<f64> {
    let mut seconds = Vec::new();
    // Requests of the window that end in the drain are in a further interval.
    let in_window =
        |interval: &&KeptInterval| interval.cohort == Phase::Window && interval.start < outcome.spans.drain;
    for interval in outcome.intervals.iter().filter(in_window) {
        seconds.push(interval.tally.counts.connection_time.as_secs_f64());
    }
    seconds
}

#[test]
fn steps_have_the_rate_of_their_connections() {
    let outcome = run(&planned(&[(2, 2, 3), (8, 8, 3), (4, 4, 4)]));
    // Each connection sends 100 requests/s.
    let scheduled: Vec<_> = outcome.by_segment.iter().map(|segment| segment.counts.scheduled).collect();
    let expected = [600u64, 2_400, 1_600];
    let is_near = |(scheduled, expected): (&u64, &u64)| scheduled.abs_diff(*expected) <= 8;
    assert!(scheduled.iter().zip(&expected).all(is_near), "{scheduled:?}");
    // Also those that were under way when their connection was not needed any more.
    let counts = &outcome.total.counts;
    assert_eq!(counts.ended(Ending::Ok), counts.scheduled);
    let open = open_by_second(&outcome);
    let expected = [2.0, 2.0, 2.0, 8.0, 8.0, 8.0, 4.0, 4.0, 4.0, 4.0];
    let differ = |(open, expected): (&f64, &f64)| (open - expected).abs() > 0.05;
    assert!(open.len() == 10 && !open.iter().zip(&expected).any(differ), "{open:?}");
    let counts = &outcome.connections;
    assert_eq!((counts.made, counts.had, counts.closed_as_asked), (8, 8, 4));
    assert_eq!((counts.closed_by_server, counts.closed_by_us, counts.failed_attempts), (0, 0, 0));
}

#[test]
fn a_ramp_has_every_number_for_the_same_time() {
    let outcome = run(&planned(&[(1, 10, 10), (10, 1, 10)]));
    let open = open_by_second(&outcome);
    let expected = (1..=10).chain((1..=10).rev()).map(f64::from);
    let differ = |(open, expected): (&f64, f64)| (open - expected).abs() > 0.05;
    assert!(open.len() == 20 && !open.iter().zip(expected).any(differ), "{open:?}");
    assert_eq!((outcome.connections.made, outcome.connections.closed_as_asked), (10, 9));
}

#[test]
fn a_connection_that_is_needed_again_is_made_again() {
    let settings = planned(&[(3, 3, 1), (1, 1, 1), (3, 3, 1)]).with(|job| {
        job.think = Some(Think::constant(Nanos::from_millis(90)));
    });
    let outcome = run(&settings);
    // A request every 100 ms on each connection.
    let scheduled: Vec<_> = outcome.by_segment.iter().map(|segment| segment.counts.scheduled).collect();
    assert_eq!(scheduled, [30, 10, 30]);
    assert_eq!((outcome.connections.made, outcome.connections.had), (5, 3));
    assert_eq!(outcome.total.times(Measure::Service).max(), Some(SERVICE.0));
}

#[test]
fn the_warm_up_has_the_first_number() {
    let settings = planned(&[(2, 4, 2)]).with(|job| job.warmup = Nanos::from_secs(1));
    let outcome = run(&settings);
    let is_before =
        |interval: &&KeptInterval| interval.cohort == Phase::Warmup && interval.start < outcome.spans.window;
    let times = outcome.intervals.iter().filter(is_before);
    let time: u64 = times.map(|interval| interval.tally.counts.connection_time.0).sum();
    assert_eq!(Nanos(time), Nanos::from_secs(2), "two connections for one second");
}
