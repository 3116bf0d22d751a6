//! Tests of each gate against made-up runs.
//!
//! A test spoils the run of `made_up.rs` in one way, and expects the resulting reasons. The syntax of gates is tested
//! in the binary, which parses them (`commands/run/gates.rs`).

use super::*;
use crate::TypedVerdict;
use paceline_record::fixture::run;
use paceline_record::{
    Blame, Block, Censored, Counts, EventCounts, Interval, LoopKind, Phase, RequestPart, Run, SessionPart,
    Severity, Verdict,
};
use serde_json::json;

fn saturated() -> Verdict {
    let finding = TypedVerdict::Saturated {
        offered_per_s: None,
        achieved_per_s: 1.0,
        outstanding_growth_per_s: None,
        outstanding_growth_per_s_low: None,
        outstanding_growth_per_s_high: None,
        kept_up_at_per_s: None,
        fell_behind_at_per_s: None,
        waited_for: "server",
        blame: Blame::Server,
        advice: String::new(),
    };
    finding.verdict()
}

fn connections_short() -> Verdict {
    let advice = String::new();
    let severity = paceline_record::Severity::Caution;
    TypedVerdict::ConnectionsShort {
        severity,
        asked: 2,
        had: 1,
        commonest_failure: None,
        failed_here: 0,
        advice,
    }
    .verdict()
}

fn invalid() -> Verdict {
    TypedVerdict::Steal { steal_share: 0.5, severity: Severity::Invalid }.verdict()
}

fn time(of: GateTime, statistic: Statistic, limit_us: u64) -> GateRequirement {
    GateRequirement::Time { of, statistic, limit_ns: limit_us * 1_000, or_equal: false }
}

fn percentile(p: f64, limit_us: u64) -> GateRequirement {
    time(GateTime::Of(TimeKind::Response), Statistic::Percentile(p), limit_us)
}

fn outcome(demand: GateRequirement, run: &Run) -> GateOutcome {
    judge(&[Gate { expression: "as written".into(), demand }], run).remove(0)
}

fn reasons(demand: GateRequirement, run: &Run) -> Vec<GateReason> {
    let outcome = outcome(demand, run);
    assert_eq!(outcome.passed, outcome.reasons.is_empty());
    outcome.reasons
}

#[test]
fn a_figure_with_delays_of_the_generator_says_so() {
    let mut late = run(0);
    let stall = TypedVerdict::GeneratorStall {
        longest_s: 0.2,
        share_of_window: 0.02,
        severity: Severity::Caution,
        pin: String::new(),
    };
    late.verdicts = vec![stall.verdict()];
    let both = [GateReason::BeyondLimit, GateReason::GeneratorLate];
    assert_eq!(reasons(percentile(99.0, 9_900), &late), both);
    assert_eq!(reasons(percentile(99.0, 10_000), &late), [], "a limit that is met in spite of them");
    let of_service = time(GateTime::Of(TimeKind::Service), Statistic::Percentile(99.0), 1);
    assert_eq!(reasons(of_service.clone(), &late), both);
    let lag = TypedVerdict::GeneratorLag {
        affected_from: "p99",
        generator_lag_ns_p99: 1,
        generator_lag_ns_max: 1,
        response_time_ns_p99: 1,
        severity: Severity::Caution,
        lag: String::new(),
        cause: String::new(),
        pin: String::new(),
    };
    let mut lagged = run(0);
    lagged.verdicts = vec![lag.verdict()];
    assert_eq!(reasons(percentile(99.0, 9_900), &lagged), both);
    assert_eq!(reasons(of_service, &lagged), [GateReason::BeyondLimit], "it begins with the send");
    let of_lag = time(GateTime::Of(TimeKind::GeneratorLag), Statistic::Max, 0);
    assert_eq!(reasons(of_lag, &late), [GateReason::BeyondLimit], "the delays are what it limits");
}

#[test]
fn an_event_that_arrives_before_its_time_is_a_miss() {
    let mut run = run(0);
    run.total.message_delay_ns = run.total.response_time_ns.clone();
    let delays = run.total.message_delay_ns.as_ref().unwrap().count;
    let of_delays = time(GateTime::Of(TimeKind::MessageDelay), Statistic::Percentile(50.0), 1_000_000);
    assert_eq!(reasons(of_delays.clone(), &run), []);
    let ahead = EventCounts { events_ahead_of_clock: 2 * delays, ..EventCounts::default() };
    run.total.stream_events = Some(ahead);
    assert_eq!(reasons(of_delays, &run), [GateReason::Failures], "most of them");
}

#[test]
fn an_event_without_a_time_is_a_miss_unless_it_may_be_the_last_of_a_stream() {
    let mut run = run(0);
    run.total.message_delay_ns = run.total.response_time_ns.clone();
    let delays = run.total.message_delay_ns.as_ref().unwrap().count;
    let of_delays = time(GateTime::Of(TimeKind::MessageDelay), Statistic::Percentile(50.0), 1_000_000);
    let mut misses = |streams, events_without_time| {
        let counted = EventCounts { streams, events_without_time, ..EventCounts::default() };
        run.total.stream_events = Some(counted);
        let judged = outcome(of_delays.clone(), &run);
        (judged.reasons, judged.evidence.get("misses").and_then(serde_json::Value::as_u64))
    };
    assert_eq!(misses(2 * delays, 2 * delays), (vec![], None), "one in each stream");
    assert_eq!(misses(10, 2 * delays), (vec![GateReason::Failures], Some(2 * delays - 10)));
}

#[test]
fn a_missed_limit_says_that_other_processes_used_the_server_s_cpu() {
    let delayed = TypedVerdict::ServerDescheduled {
        others_cores: 0.5,
        most_delayed_thread_share: 0.3,
        wait_mean_ns: 1e6,
        finding: String::new(),
        cores: String::new(),
    };
    let mut run = run(0);
    run.verdicts = vec![delayed.verdict()];
    let both = [GateReason::BeyondLimit, GateReason::ServerDelayed];
    assert_eq!(reasons(percentile(99.0, 9_900), &run), both);
    assert_eq!(reasons(percentile(99.0, 10_000), &run), [], "a limit that is met in spite of them");
    assert_eq!(reasons(GateRequirement::AchievedPerS(1_001.0), &run), both);
    let of_lag = time(GateTime::Of(TimeKind::GeneratorLag), Statistic::Max, 0);
    assert_eq!(reasons(of_lag, &run), [GateReason::BeyondLimit]);
}

#[test]
fn a_gate_passes_within_its_limit_and_fails_beyond() {
    let run = run(0);
    assert_eq!(reasons(percentile(99.0, 10_000), &run), []);
    assert_eq!(reasons(percentile(99.0, 9_900), &run), [GateReason::BeyondLimit]);
    assert_eq!(reasons(percentile(50.0, 5_010), &run), []);
    for of in [
        GateTime::Of(TimeKind::Service),
        GateTime::Of(TimeKind::FirstByte),
        GateTime::Of(TimeKind::GeneratorLag),
    ] {
        assert_eq!(reasons(time(of.clone(), Statistic::Mean, 5_001), &run), [], "{of:?}");
        assert_eq!(
            reasons(time(of.clone(), Statistic::Mean, 5_000), &run),
            [GateReason::BeyondLimit],
            "{of:?}"
        );
    }
    let max = |or_equal| GateRequirement::Time {
        of: GateTime::Of(TimeKind::Response),
        statistic: Statistic::Max,
        limit_ns: 10_000_000,
        or_equal,
    };
    assert_eq!(
        (reasons(max(true), &run), reasons(max(false), &run)),
        (vec![], vec![GateReason::BeyondLimit])
    );
    let reported = outcome(percentile(99.0, 10_000), &run).evidence;
    assert!(reported["response_time_ns_p99"].as_f64().unwrap() >= 9_900_000.0);
    assert_eq!((&reported["samples"], &reported["samples_needed"]), (&json!(10_000), &json!(1_000)));
}

#[test]
fn a_failed_request_is_a_miss() {
    // 1 % failed: the 99th percentile among all requests is the slowest that was answered, the 99.9th is a failure.
    let run = run(100);
    let reported = outcome(percentile(99.0, 10_000), &run);
    assert!(reported.passed && reported.evidence["response_time_ns_p99"].as_f64().unwrap() >= 9_900_000.0);
    assert_eq!(reasons(percentile(99.9, 1_000_000), &run), [GateReason::Failures]);
    for statistic in [Statistic::Max, Statistic::Mean] {
        assert_eq!(
            reasons(time(GateTime::Of(TimeKind::Service), statistic, 1_000_000), &run),
            [GateReason::Failures]
        );
    }
}

/// A run whose requests are the steps of 10,000 sessions, of which 150 failed and 50 did not end.
fn run_of_sessions() -> Run {
    let mut run = run(0);
    let part = RequestPart {
        name: "log in".to_owned(),
        weight: 1,
        method: "POST".to_owned(),
        path: "/".to_owned(),
        expectations: paceline_record::Expectations::default(),
        block: run.total.clone(),
    };
    run.sessions = Some(vec![SessionPart {
        name: "shopper".to_owned(),
        weight: 1,
        started: 10_200,
        completed: 10_000,
        completed_in_window: Some(10_000),
        failed: 150,
        unfinished: 50,
        steps: Vec::new(),
        session_time_ns: run.total.response_time_ns.clone(),
    }]);
    run.by_request = Some(vec![part]);
    run.rate_per_s.sessions_achieved = run.sessions_achieved_per_s();
    run
}

#[test]
fn sessions_and_steps_have_gates_of_their_own() {
    let run = run_of_sessions();
    let session = |p: f64, limit_us: u64| time(GateTime::Session, Statistic::Percentile(p), limit_us);
    assert_eq!(reasons(session(50.0, 5_200), &run), []);
    assert_eq!(reasons(session(50.0, 5_000), &run), [GateReason::BeyondLimit]);
    assert_eq!(reasons(session(99.0, 1_000_000), &run), [GateReason::Failures], "2 % failed or did not end");
    let step = |name: &str| time(GateTime::Step(name.to_owned()), Statistic::Percentile(99.0), 9_900);
    let judged = outcome(step("login"), &run);
    assert_eq!(judged.reasons, [GateReason::BeyondLimit]);
    assert!(judged.evidence.contains_key("response_time_ns_p99"), "{judged:?}");
    assert_eq!(reasons(step("logout"), &run), [GateReason::NotMeasured]);
    let rate = 10_000.0 / run.window_s;
    assert_eq!(reasons(GateRequirement::SessionsPerS(rate), &run), []);
    assert_eq!(reasons(GateRequirement::SessionsPerS(rate + 1.0), &run), [GateReason::BeyondLimit]);
    let without = paceline_record::fixture::run(0);
    for demand in [session(50.0, 1_000_000), GateRequirement::SessionsPerS(1.0)] {
        assert_eq!(reasons(demand, &without), [GateReason::NotMeasured]);
    }
}

#[test]
fn too_few_requests_do_not_pass_a_gate() {
    let run = run(0);
    assert_eq!(reasons(percentile(99.9, 100_000), &run), []);
    assert_eq!(reasons(percentile(99.99, 100_000), &run), [GateReason::TooFewSamples]);
    for (p, needed) in [(50.0, 20), (90.0, 100), (99.0, 1_000), (99.9, 10_000), (99.99, 100_000)] {
        assert_eq!(Statistic::Percentile(p).samples_needed(), needed, "p{p}");
    }
}

#[test]
fn a_lower_bound_does_not_pass_a_gate() {
    let mut run = run(0);
    run.total.counts.timed_out = 50;
    run.total.censored = Some(Censored { count: 50, lowest_ns: 9_950_000 });
    assert_eq!(reasons(percentile(99.0, 20_000), &run), []);
    assert_eq!(reasons(percentile(99.9, 20_000), &run), [GateReason::LowerBound]);
    let mean = |of| reasons(time(of, Statistic::Mean, 20_000), &run);
    assert_eq!(
        (mean(GateTime::Of(TimeKind::Response)), mean(GateTime::Of(TimeKind::GeneratorLag))),
        (vec![GateReason::LowerBound], vec![])
    );
}

#[test]
fn an_undelivered_load_fails_every_gate() {
    let mut run = run(0);
    run.verdicts = vec![saturated()];
    assert_eq!(reasons(percentile(99.0, 20_000), &run), [GateReason::NotDelivered]);
    assert_eq!(reasons(GateRequirement::ErrorCount(5), &run), [GateReason::NotDelivered]);
    assert_eq!(reasons(GateRequirement::AchievedShare(0.99), &run), [], "it judges the delivery itself");
    run.verdicts = vec![connections_short()];
    assert_eq!(reasons(percentile(99.0, 20_000), &run), [], "the schedule was kept all the same");
    run.loop_.kind = LoopKind::Closed;
    assert_eq!(reasons(GateRequirement::ErrorShare(0.1), &run), [GateReason::NotDelivered]);
}

#[test]
fn an_invalid_or_stopped_run_fails_every_gate() {
    let mut run = run(0);
    run.verdicts = vec![invalid()];
    run.stopped = true;
    let expected = [GateReason::Invalid, GateReason::Stopped];
    assert_eq!(reasons(percentile(99.0, 20_000), &run), expected);
    assert_eq!(reasons(GateRequirement::AchievedPerS(1.0), &run), expected);
}

#[test]
fn rates_and_errors() {
    let mut run = run(100);
    let kept = |demand, run: &Run| reasons(demand, run).is_empty();
    assert!(
        kept(GateRequirement::AchievedShare(0.99), &run)
            && !kept(GateRequirement::AchievedShare(0.995), &run)
    );
    assert!(
        kept(GateRequirement::AchievedPerS(990.0), &run) && !kept(GateRequirement::AchievedPerS(990.1), &run)
    );
    assert!(
        kept(GateRequirement::ErrorShare(0.01), &run) && !kept(GateRequirement::ErrorShare(0.0099), &run)
    );
    assert!(kept(GateRequirement::ErrorCount(100), &run) && !kept(GateRequirement::ErrorCount(99), &run));
    run.total = Block::default();
    assert_eq!(
        reasons(GateRequirement::ErrorCount(0), &run),
        [GateReason::NotMeasured, GateReason::NotDelivered],
        "nothing was scheduled: no error, and nothing shown"
    );
    assert!(reasons(percentile(50.0, 1), &run).contains(&GateReason::NotMeasured));
}

#[test]
fn connects_are_those_of_the_whole_run() {
    let mut run = run(0);
    let connect = |limit_us| time(GateTime::Of(TimeKind::Connect), Statistic::Percentile(50.0), limit_us);
    assert_eq!(reasons(connect(1_000), &run), [GateReason::NotMeasured]);
    let block = Block { connect_time_ns: run.total.response_time_ns.clone(), ..Block::default() };
    run.intervals = vec![Interval::new(Phase::Connect, 0, block)];
    assert_eq!(reasons(connect(5_100), &run), []);
    run.connections.failed_attempts = 10_001;
    assert_eq!(reasons(connect(50_000), &run), [GateReason::Failures]);
}

#[test]
fn missing_responses_are_not_excused_as_in_service() {
    let mut hanging = run(0);
    // One in twenty hangs until the timeout, which makes service times long and much of the load seem in service.
    hanging.total.counts = Counts { scheduled: 1_000, ok: 950, timed_out: 50, ..Counts::default() };
    hanging.total.completed_in_window = 950;
    hanging.connections.had = 64;
    hanging.loop_.offered_per_s = Some(100.0);
    hanging.total.service_time_ns.as_mut().unwrap().p50 = 500_000_000;
    let share = |least| GateRequirement::AchievedShare(least);
    assert_eq!(reasons(share(0.99), &hanging), [GateReason::BeyondLimit]);
    assert_eq!(reasons(share(0.95), &hanging), []);
    hanging.total.counts = Counts { scheduled: 1_000, ok: 1_000, ..Counts::default() };
    assert_eq!(reasons(share(0.99), &hanging), [], "fifty came well, after the window");
}
