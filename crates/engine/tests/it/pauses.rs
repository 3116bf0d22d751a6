//! Pauses of the generator in virtual time: what fell due during one is generator lag, not connection wait; a server that
//! is slow or frozen is not blamed on the generator.

use crate::support::open_loop;
use paceline_engine::sim::{Act, Connect, FreezingServer, Script, VirtualClock, response, simulate};
use paceline_engine::{Ending, Measure, Nanos, Settings, Slot, ThreadOutcome};

const MS: Nanos = Nanos::from_millis(1);

/// Answers each request after the same time, whatever else it does.
struct Steady(Nanos);

impl Script for Steady {
    fn connect(&mut self, _: Slot, _: Nanos) -> Connect {
        Connect::Accept(Nanos::ZERO)
    }

    fn request(&mut self, _: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        acts.push((now + self.0, Act::Send(response("ok"))));
    }
}

/// Generator lag and connection wait: the median, the 99th percentile and the maximum of each, in milliseconds.
fn lag_and_wait(outcome: &ThreadOutcome) -> [[f64; 3]; 2] {
    let counts = &outcome.total.counts;
    assert_eq!((counts.ended(Ending::Ok), counts.violations), (counts.scheduled, 0), "{counts:?}");
    [Measure::GeneratorLag, Measure::ConnectionWait].map(|measure| {
        let times = outcome.total.times(measure);
        [0.5, 0.99, 1.0].map(|q| times.quantile(q).unwrap() as f64 / 1e6)
    })
}

fn stopped(settings: &Settings, script: impl Script, clock: &VirtualClock) -> [[f64; 3]; 2] {
    lag_and_wait(&simulate(settings, script, clock).unwrap())
}

#[test]
fn a_cpu_quota_of_the_generator_is_generator_lag() {
    // 20 of 100 ms: 1,200 requests fall due in each pause, for 8 connections.
    let clock = VirtualClock::with_stops(Nanos(100 * MS.0), Nanos(20 * MS.0), Nanos(100 * MS.0));
    let [lag, wait] = stopped(&open_loop(15_000.0, 8, 2), Steady(Nanos::from_micros(60)), &clock);
    assert!(lag[0] > 20.0 && lag[2] > 70.0, "lag {lag:?}");
    assert!(wait[1] < 0.1 && wait[2] < 1.0, "wait {wait:?}");
}

#[test]
fn a_stop_while_all_connections_are_busy_is_generator_lag() {
    // Three quarters of what one connection carries, and a stop of a second in the middle of a response.
    let clock = VirtualClock::with_stops(Nanos::from_secs(10), Nanos(1_001 * MS.0), Nanos(2_001 * MS.0));
    let settings = open_loop(150.0, 1, 9);
    let [quiet_lag, quiet_wait] =
        stopped(&settings, Steady(Nanos(5 * MS.0)), &VirtualClock::new(Nanos::ZERO));
    assert_eq!((quiet_lag[2], quiet_wait[2]), (0.0, 0.0));
    let [lag, wait] = stopped(&settings, Steady(Nanos(5 * MS.0)), &clock);
    assert!(lag[2] > 900.0, "lag {lag:?}");
    // The loop looks at the clock every millisecond.
    assert!(wait[2] < 8.0, "wait {wait:?}");
}

#[test]
fn a_pause_of_the_generator_does_not_explain_a_frozen_server() {
    // The server freezes for 500 ms just after a pause of 20 ms.
    let freezing = |period| FreezingServer {
        period,
        freeze: Nanos(500 * MS.0),
        service: Nanos::from_micros(10),
        done_at: Nanos::ZERO,
        answer: response("ok"),
    };
    let second = Nanos::from_secs(1);
    let clock = VirtualClock::with_stops(second, Nanos(975 * MS.0), Nanos(995 * MS.0));
    let [lag, wait] = stopped(&open_loop(2_000.0, 4, 5), freezing(second), &clock);
    assert!(lag[2] < 21.0, "lag {lag:?}");
    assert!(wait[2] > 400.0, "wait {wait:?}");
}

#[test]
fn short_pauses_do_not_explain_overload() {
    // Twice what the server does, and 4 ms of every 50 without a core.
    let clock = VirtualClock::with_stops(Nanos(50 * MS.0), Nanos(10 * MS.0), Nanos(14 * MS.0));
    let [lag, wait] = stopped(&open_loop(2_000.0, 2, 3), Steady(Nanos(2 * MS.0)), &clock);
    assert!(wait[1] > 2_000.0 && lag[1] < 0.05 * wait[1], "lag {lag:?}, wait {wait:?}");
}
