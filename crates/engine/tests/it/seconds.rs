//! The data that an observer receives each second: every request once, in order, however long the run; and the backlog.
//!
//! With one simulated worker. Adding up the seconds of several is tested beside the code, in the binary's
//! `follow/gather.rs`, and writing them in its `outputs/files.rs`.

use crate::support::open_loop;
use paceline_engine::sim::{FreezingServer, VirtualClock, response, simulate_observed};
use paceline_engine::{
    Arrivals, Bound, LoadModel, Measure, Nanos, Observer, Phase, Rate, Settings, Shape, Tally, ThreadOutcome,
    WorkerSecond,
};
use std::sync::Mutex;

#[derive(Default)]
struct SecondLog(Mutex<Vec<WorkerSecond>>);

impl Observer for SecondLog {
    fn phase(&self, _: Phase, _: Nanos) {}
    fn thread_phase(&self, _: u32, _: Phase) {}
    fn wants_seconds(&self) -> bool {
        true
    }
    fn second(&self, second: WorkerSecond) {
        self.0.lock().unwrap().push(second);
    }
}

/// A server that freezes for a second and a half in every ten, the load on it, and what the observer received.
fn freezing(settings: &Settings) -> (ThreadOutcome, Vec<WorkerSecond>) {
    let (period, freeze) = (Nanos::from_secs(10), Nanos::from_millis(1_500));
    let script =
        FreezingServer { period, freeze, service: Nanos::ZERO, done_at: Nanos::ZERO, answer: response("ok") };
    let reported = SecondLog::default();
    let outcome = simulate_observed(settings, script, &VirtualClock::new(Nanos::ZERO), &reported).unwrap();
    (outcome, reported.0.into_inner().unwrap())
}

#[test]
fn every_request_is_in_one_second_in_a_run_of_any_length() {
    // Longer than the time for which intervals are kept by the second.
    let settings = open_loop(200.0, 400, 3_000).with(|job| job.warmup = Nanos::from_secs(3));
    let (outcome, seconds) = freezing(&settings);
    let mut sum = Tally::default();
    for second in &seconds {
        let window = second.cohorts.iter().filter(|kept| kept.cohort == Phase::Window);
        window.for_each(|kept| sum.merge_compact(&kept.tally));
    }
    assert_eq!(sum, outcome.total);
    assert!(outcome.intervals.len() <= 1_024 && outcome.interval == Nanos::from_secs(4));
    let lengths: Vec<Nanos> = seconds.iter().skip(1).map(|second| second.end.since(second.start)).collect();
    assert!(lengths[..3_003].iter().all(|length| *length == Nanos::from_secs(1)));
    assert!(seconds.windows(2).all(|pair| pair[0].end == pair[1].start), "none is left out");
    // The kept intervals have the same counts, coarser.
    let kept = |measure| outcome.intervals.iter().map(|kept| kept.tally.times(measure).count()).sum::<u64>();
    assert_eq!(kept(Measure::Response), 200 * 3_003);
}

#[test]
fn the_backlog_is_reported_while_the_server_is_frozen() {
    // Four connections and a server frozen for the whole first second: all but four of the requests that fell due in it
    // wait. The first report covers the time in which connections were made.
    for (arrivals, within) in [(Arrivals::Constant, 1), (Arrivals::Poisson, 1_000)] {
        let rate = Rate::per_second(20_000.0).unwrap();
        let settings = open_loop(1.0, 4, 3)
            .with(|job| job.load = LoadModel::Open { shape: Shape::Steady { rate }, arrivals });
        let (_, seconds) = freezing(&settings);
        let frozen = &seconds[1];
        assert!(frozen.backlog.abs_diff(19_996) <= within, "{arrivals:?}: {}", frozen.backlog);
        assert_eq!(seconds.last().unwrap().backlog, 0);
    }
}

#[test]
fn the_backlog_of_the_warm_up_is_recorded() {
    let (outcome, _) = freezing(&open_loop(20_000.0, 4, 3).with(|job| job.warmup = Nanos::from_secs(1)));
    assert!(outcome.backlog.abs_diff(19_996) <= 1, "{}", outcome.backlog);
}

#[test]
fn a_request_due_at_the_start_of_a_second_is_counted_in_it() {
    let (_, seconds) =
        freezing(&open_loop(5.0, 20, 1).with(|job| job.window = Bound::Duration(Nanos::from_secs(4))));
    let sent = |second: &WorkerSecond| -> u64 {
        let window = second.cohorts.iter().filter(|kept| kept.cohort == Phase::Window);
        window.map(|kept| kept.tally.counts.sent_in_window).sum()
    };
    // The first report covers the time in which connections were made.
    let sent: Vec<_> = seconds.iter().skip(1).take(4).map(sent).collect();
    assert_eq!(sent, [5; 4]);
}

#[test]
fn a_short_window_has_ten_intervals_and_its_seconds_stay_seconds() {
    // The window and the length of its intervals, in milliseconds.
    for (window, interval) in [(3_000, 250), (2_000, 200), (1_000, 100), (20, 5), (10_000, 1_000)] {
        let settings = open_loop(2_000.0, 40, 1).with(|job| {
            job.warmup = Nanos::from_secs(1);
            job.window = Bound::Duration(Nanos::from_millis(window));
        });
        let (outcome, seconds) = freezing(&settings);
        assert_eq!(outcome.interval, Nanos::from_millis(interval), "window of {window} ms");
        let of_window = outcome.intervals.iter().filter(|kept| kept.cohort == Phase::Window);
        let counts: Vec<u64> = of_window.map(|kept| kept.tally.times(Measure::Response).count()).collect();
        assert_eq!(counts.iter().sum::<u64>(), 2 * window);
        let reported = seconds.iter().flat_map(|second| &second.cohorts);
        let reported = reported.filter(|kept| kept.cohort == Phase::Window);
        assert_eq!(reported.map(|kept| kept.tally.times(Measure::Response).count()).sum::<u64>(), 2 * window);
        let whole = seconds[1..].iter().rev().skip(1);
        assert!(whole.clone().count() > 0 || window < 1_000);
        assert!(whole.clone().all(|second| second.end.since(second.start) == Nanos::from_secs(1)));
    }
}
