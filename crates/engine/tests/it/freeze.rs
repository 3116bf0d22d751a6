//! Coordinated omission, exactly: a server that freezes for a second in every ten.
//!
//! Virtual time makes an hour of load possible; percentiles are compared with computed values. Also tested here: a
//! queue before too few connections is not generator lag. `paceline selftest` measures a server that really freezes.

use crate::support::open_loop;
use paceline_engine::sim::{FreezingServer, VirtualClock, response, simulate};
use paceline_engine::{Arrivals, LoadModel, Measure, Nanos, Rate, Settings, Shape, ThreadOutcome};
use std::time::Instant;

fn freezing(service: Nanos) -> FreezingServer {
    let (period, freeze) = (Nanos::from_secs(10), Nanos::from_secs(1));
    FreezingServer { period, freeze, service, done_at: Nanos::ZERO, answer: response("ok") }
}

fn run(settings: &Settings, service: Nanos) -> ThreadOutcome {
    simulate(settings, freezing(service), &VirtualClock::new(Nanos::ZERO)).unwrap()
}

fn millis(outcome: &ThreadOutcome, q: f64) -> f64 {
    outcome.total.times(Measure::Response).quantile(q).unwrap() as f64 / 1e6
}

fn assert_near(value: f64, truth: f64, share: f64) {
    assert!((value - truth).abs() <= truth * share, "{value} for {truth}");
}

#[test]
fn an_hour_against_a_freezing_server_is_exact() {
    let begun = Instant::now();
    let outcome = run(&open_loop(2_000.0, 50, 3_600), Nanos::ZERO);
    println!(
        "one hour at 2,000/s: p85 {:.3} ms, p95 {:.1}, p99 {:.1}, p99.9 {:.1}, max {:.1}; {:.2} s of real time",
        millis(&outcome, 0.85),
        millis(&outcome, 0.95),
        millis(&outcome, 0.99),
        millis(&outcome, 0.999),
        millis(&outcome, 1.0),
        begun.elapsed().as_secs_f64()
    );
    assert_eq!(outcome.total.counts.scheduled, 7_200_000);
    assert!(millis(&outcome, 0.85) < 1.0);
    for (q, truth) in [(0.95, 500.0), (0.99, 900.0), (0.999, 990.0), (1.0, 1_000.0)] {
        assert_near(millis(&outcome, q), truth, 0.005);
    }
}

#[test]
fn the_queue_after_a_freeze_must_drain() {
    // Measured and computed: p95 at a service time of 5, 20 and 100 microseconds.
    for (service, truth) in [(5, 505.5), (20, 520.5), (100, 600.5)] {
        let outcome = run(&open_loop(2_000.0, 50, 600), Nanos::from_micros(service));
        assert_near(millis(&outcome, 0.95), truth, 0.005);
    }
}

#[test]
fn a_closed_loop_hides_the_freeze() {
    // The same server, closed loop: the delays that the schedule shows are not visible, and no number is invented.
    let settings = open_loop(1.0, 50, 60).with(|job| job.load = LoadModel::Closed);
    let outcome = run(&settings, Nanos::from_micros(100));
    let p99 = outcome.total.times(Measure::Service).quantile(0.99).unwrap();
    assert!(p99 < 10_000_000, "{p99} ns");
    assert!(outcome.total.times(Measure::Response).is_empty());
}

#[test]
fn poisson_arrivals_see_the_same_freeze() {
    let rate = Rate::per_second(2_000.0).unwrap();
    let settings = open_loop(1.0, 50, 3_600).with(|job| {
        job.load = LoadModel::Open { shape: Shape::Steady { rate }, arrivals: Arrivals::Poisson }
    });
    let outcome = run(&settings, Nanos::ZERO);
    assert_near(millis(&outcome, 0.95), 500.0, 0.02);
    assert_near(outcome.total.counts.scheduled as f64, 7_200_000.0, 0.002);
}

#[test]
fn too_few_connections_show_as_connection_wait() {
    // One connection, 2 ms of service, a request due every millisecond: the queue grows, and it is not generator lag.
    let outcome = run(&open_loop(1_000.0, 1, 5), Nanos::from_millis(2));
    let lag = outcome.total.times(Measure::GeneratorLag).max().unwrap();
    let wait = outcome.total.times(Measure::ConnectionWait).quantile(0.9).unwrap();
    assert_eq!(lag, 0);
    assert!(wait > 2_000_000_000, "{wait} ns");
    assert_eq!(outcome.total.counts.scheduled, 5_000);
}
