//! Schedules with bursts: the responses to the last burst are in the window too, if the server keeps up.
//!
//! In virtual time, where the server takes exactly its service time. The window of a schedule is tested with [`Shape`].
//!
//! Simulated, with a server that takes 2 ms for each response. `conservation.rs` checks how many requests of any shape
//! fall due; reading a file of send times is tested in the binary, beside its code.

use crate::support::open_loop;
use paceline_engine::sim::{FreezingServer, VirtualClock, response, simulate};
use paceline_engine::{Arrivals, Bound, Ending, LoadModel, Measure, Nanos, Settings, Shape};

/// A server that answers one request after another, each in 2 ms.
fn server() -> FreezingServer {
    let (service, answer) = (Nanos::from_millis(2), response("ok"));
    FreezingServer { period: Nanos::from_secs(1), freeze: Nanos::ZERO, service, done_at: Nanos::ZERO, answer }
}

/// Sends at these milliseconds, in the schedule's own window.
fn schedule(times: impl IntoIterator<Item = u64>) -> (Shape, Settings) {
    let shape = Shape::Trace(times.into_iter().map(Nanos::from_millis).collect::<Vec<_>>().into());
    let bound = Bound::Duration(shape.length().unwrap());
    let load = LoadModel::Open { shape: shape.clone(), arrivals: Arrivals::Constant };
    (
        shape,
        open_loop(1.0, 10, 1).with(|job| {
            job.load = load;
            job.window = bound;
        }),
    )
}

#[test]
fn a_burst_at_the_end_is_answered_in_the_window() {
    let after_others = (0..500).map(|i| i * 10).chain([5_000; 60]).collect();
    for times in [vec![1_000; 100], after_others] {
        let sends = times.len() as u64;
        let (shape, settings) = schedule(times);
        let outcome = simulate(&settings, server(), &VirtualClock::new(Nanos::ZERO)).unwrap();
        let counts = &outcome.total.counts;
        assert_eq!((counts.scheduled, counts.ended(Ending::Ok)), (sends, sends));
        assert_eq!(counts.completed_in_window, sends);
        // The offered rate refers to the actual window.
        let window = outcome.spans.drain.since(outcome.spans.window);
        assert_eq!(shape.length(), Some(window));
        assert_eq!(shape.offered_per_s(Nanos::ZERO, window), sends as f64 / window.as_secs_f64());
    }
}

#[test]
fn a_backlog_of_a_billion_ends_with_the_drain() {
    for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
        let settings = open_loop(1e9, 10, 1).with(|job| {
            job.drain = Nanos::from_secs(1);
            if let LoadModel::Open { arrivals: of_job, .. } = &mut job.load {
                *of_job = arrivals;
            }
        });
        let outcome = simulate(&settings, server(), &VirtualClock::new(Nanos::ZERO)).unwrap();
        let total = &outcome.total;
        assert!(total.counts.add_up(), "{:?}", total.counts);
        let expected = if arrivals == Arrivals::Constant { 0 } else { 200_000 };
        assert!(total.counts.scheduled.abs_diff(1_000_000_000) <= expected, "{:?}", total.counts);
        assert_eq!(total.times(Measure::Response).count(), total.counts.scheduled);
        // The last tick of the window waited for the drain. The sum is nearly that of an arithmetic progression: some
        // requests were answered.
        let (censored, shortest) = total.counts.censored.unwrap();
        assert_eq!(censored, total.counts.ended(Ending::Unsent) + total.counts.ended(Ending::TimedOut));
        assert!(shortest >= Nanos::from_millis(998) && shortest <= Nanos::from_millis(1_001), "{shortest:?}");
        let mean = total.times(Measure::Response).sum() as f64 / total.counts.scheduled as f64;
        assert!((mean - 1.5e9).abs() < 1e6, "{mean}");
    }
}

#[test]
fn a_schedule_that_is_over_before_its_warm_up_is_refused() {
    let (_, settings) = schedule([0, 500, 1_000]);
    let checked = |millis| settings.clone().with(|job| job.warmup = Nanos::from_millis(millis)).check();
    assert!(checked(1_000).is_ok());
    assert!(checked(1_001).unwrap_err().to_string().contains("ends before the warm-up"));
}
