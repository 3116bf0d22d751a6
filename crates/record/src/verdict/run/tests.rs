//! Every verdict on a run: brought on by just enough, and not by less.
//!
//! Two sound runs, of an open and of a closed loop, have none; a test moves one figure to either side of its bound.
//! Names and severities are compared, words of a remedy hardly ever.

use super::*;
use crate::made_up;
use crate::{Censored, Connections, Counts, PaceKind, RequestPart};

/// A run without a fault.
fn sound() -> Run {
    let mut run = made_up::run(0);
    let mut lag = run.total.response_time_ns.clone().unwrap();
    (lag.p50, lag.p99) = (50_000, 90_000);
    run.total.generator_lag_ns = Some(lag);
    run
}

/// The same of a closed loop.
fn closed() -> Run {
    let mut run = sound();
    run.loop_.kind = LoopKind::Closed;
    (run.loop_.offered_per_s, run.rate_per_s.offered) = (None, None);
    (run.total.response_time_ns, run.total.generator_lag_ns) = (None, None);
    run
}

/// The names and severities of the verdicts on a run that something was done to.
fn verdicts(mut run: Run, change: impl FnOnce(&mut Run)) -> Vec<(String, Severity)> {
    change(&mut run);
    of_run(&run).into_iter().map(|verdict| (verdict.name, verdict.severity)).collect()
}

fn note(name: &str) -> Vec<(String, Severity)> {
    vec![(name.to_owned(), Severity::Note)]
}

fn caution(name: &str) -> Vec<(String, Severity)> {
    vec![(name.to_owned(), Severity::Caution)]
}

fn invalid(name: &str) -> Vec<(String, Severity)> {
    vec![(name.to_owned(), Severity::Invalid)]
}

#[test]
fn a_sound_run_has_none() {
    assert_eq!(verdicts(sound(), |_| {}), []);
    assert_eq!(verdicts(closed(), |_| {}), []);
}

#[test]
fn a_run_that_measured_nothing_is_invalid() {
    let emptied = |run: &mut Run| run.total = crate::Block::default();
    assert_eq!(verdicts(sound(), emptied), invalid("nothing_scheduled"));
    assert_eq!(verdicts(closed(), emptied), invalid("nothing_scheduled"));
    let all = |change: fn(&mut Counts)| {
        move |run: &mut Run| {
            (run.total.counts.ok, run.total.completed_in_window) = (0, 0);
            change(&mut run.total.counts);
        }
    };
    assert_eq!(verdicts(closed(), all(|counts| counts.unsent = 10_000)), invalid("nothing_sent"));
    for change in [
        |counts: &mut Counts| counts.timed_out = 10_000,
        |counts: &mut Counts| counts.bad_status = 10_000,
        |counts: &mut Counts| (counts.io_failed, counts.unsent) = (1, 9_999),
    ] {
        assert_eq!(verdicts(closed(), all(change)), invalid("no_valid_response"));
    }
}

#[test]
fn a_wait_that_the_end_of_the_run_cut_short_is_no_timeout() {
    for (waited_ns, way) in [(100_000_000, "--drain"), (10_000_000_000, "--timeout")] {
        let mut run = closed();
        run.timeout_ns = 10_000_000_000;
        (run.total.counts.ok, run.total.counts.timed_out, run.total.completed_in_window) = (0, 10_000, 0);
        run.total.service_time_ns.as_mut().unwrap().max = waited_ns;
        let said = of_run(&run).into_iter().find(|verdict| verdict.name == "no_valid_response").unwrap();
        assert!(said.remedy.contains(way), "{}", said.remedy);
    }
}

#[test]
fn a_number_of_requests_must_be_reached_unless_it_was_stopped() {
    assert_eq!(verdicts(closed(), |run| run.loop_.requests = Some(10_000)), []);
    assert_eq!(verdicts(closed(), |run| run.loop_.requests = Some(10_001)), invalid("gave_up"));
    let stopped = |run: &mut Run| (run.loop_.requests, run.stopped) = (Some(10_001), true);
    assert_eq!(verdicts(closed(), stopped), []);
}

#[test]
fn a_silent_second_is_an_outage_wherever_the_window_begins() {
    let silent = |second: usize| move |run: &mut Run| run.intervals[second].block.counts.ok = 0;
    // Eleven seconds hold the window; it begins within the first and ends within the last.
    assert_eq!(verdicts(closed(), silent(0)), []);
    assert_eq!(verdicts(closed(), silent(1)), caution("outage"));
    assert_eq!(verdicts(closed(), silent(9)), caution("outage"));
    assert_eq!(verdicts(closed(), silent(10)), []);
    assert_eq!(verdicts(closed(), |run| drop(run.intervals.drain(3..6))), caution("outage"));
    let mut run = closed();
    run.intervals.truncate(2);
    assert_eq!(of_run(&run)[0].evidence["silent_s"], 8);
    let rare = |run: &mut Run| (run.total.counts.ok, run.total.counts.scheduled) = (89, 89);
    let rarely_silent = |run: &mut Run| (rare(run), silent(4)(run)).0;
    assert_eq!(verdicts(closed(), rarely_silent), [], "fewer than ten in each of nine whole seconds");
}

#[test]
fn silence_that_is_to_be_expected_is_no_outage() {
    let silent =
        |run: &mut Run| [2, 3, 5, 6, 8].iter().for_each(|second| run.intervals[*second].block.counts.ok = 0);
    let slow = |p50: u64| {
        move |run: &mut Run| {
            silent(run);
            run.total.service_time_ns.as_mut().unwrap().p50 = p50;
        }
    };
    assert_eq!(verdicts(closed(), slow(1_999_999_999)), caution("outage"));
    assert_eq!(verdicts(closed(), slow(2_000_000_000)), [], "every answer takes as long");
    let resting = |run: &mut Run| {
        silent(run);
        run.loop_.think = Some(crate::Think::constant(paceline_job::Nanos::from_secs(5)));
    };
    assert_eq!(verdicts(closed(), resting), []);
    let long = |drain_end_s: u64| {
        move |run: &mut Run| {
            silent(run);
            run.phases.drain.end_ns = run.phases.warmup.start_ns + drain_end_s * 1_000_000_000;
        }
    };
    assert_eq!(verdicts(closed(), long(500)), caution("outage"));
    assert_eq!(verdicts(closed(), long(501)), [], "intervals may be longer than a second");
}

#[test]
fn a_busy_generator_was_the_limit() {
    let busy = |share: f64| move |run: &mut Run| run.generator.utilization = share;
    assert_eq!(verdicts(closed(), busy(0.9)), []);
    assert_eq!(verdicts(closed(), busy(0.91)), caution("generator_bound"));
    assert_eq!(verdicts(sound(), busy(0.91)), caution("generator_bound"), "it delivered what was asked");
    let short = |run: &mut Run| (busy(0.91)(run), run.total.completed_in_window = 9_899).0;
    let named = verdicts(sound(), short);
    assert_eq!(named, [invalid("generator_bound"), caution("saturated")].concat());
}

#[test]
fn overload_is_what_is_missing_beyond_what_is_in_service() {
    let done = |count: u64| move |run: &mut Run| run.total.completed_in_window = count;
    assert_eq!(verdicts(sound(), done(9_900)), []);
    assert_eq!(verdicts(sound(), done(9_899)), caution("saturated"));
    assert_eq!(verdicts(closed(), done(9_000)), [], "a closed loop has no schedule to keep up with");
    let refused = |run: &mut Run| {
        (run.total.counts.ok, run.total.counts.bad_status) = (9_600, 400);
        run.total.completed_in_window = 9_600;
    };
    assert_eq!(verdicts(sound(), refused), caution("failed_requests"), "answers came, and no queue grew");
    // 1,000/s of 5.0005 ms each keep six in service, and 20 connections would carry twenty.
    let brief = |missing: u64| {
        move |run: &mut Run| {
            run.total.counts.scheduled = 100;
            (run.total.counts.ok, run.total.completed_in_window) = (100, 100 - missing);
        }
    };
    assert!(!verdicts(sound(), brief(6)).contains(&caution("saturated")[0]));
    assert!(verdicts(sound(), brief(7)).contains(&caution("saturated")[0]));
}

#[test]
fn lag_colours_what_it_is_a_tenth_of_and_spoils_what_it_is_half_of() {
    let lag = |p50: u64, p99: u64| {
        move |run: &mut Run| {
            let lag = run.total.generator_lag_ns.as_mut().unwrap();
            (lag.p50, lag.p99) = (p50, p99);
        }
    };
    // The response time's median is 5 ms, its 99th percentile 9.9 ms.
    assert_eq!(verdicts(sound(), lag(0, 980_000)), []);
    assert_eq!(verdicts(sound(), lag(0, 1_000_000)), caution("generator_lag"));
    assert_eq!(verdicts(sound(), lag(2_600_000, 2_700_000)), invalid("generator_lag"));
    let fast = |run: &mut Run| {
        let response = run.total.response_time_ns.as_mut().unwrap();
        (response.p50, response.p99) = (100_000, 200_000);
        lag(150_000, 200_000)(run);
    };
    assert_eq!(verdicts(sound(), fast), [], "below what a sleeper has everywhere");
    // It stood still for more than a hundredth of the window, and longer than half of what was measured.
    let stood = |max: u64| {
        move |run: &mut Run| {
            run.window_s = 2.0;
            run.total.generator_lag_ns.as_mut().unwrap().max = max;
        }
    };
    assert_eq!(verdicts(sound(), stood(19_000_000)), []);
    assert_eq!(verdicts(sound(), stood(20_000_000)), caution("generator_lag"));
}

#[test]
fn answers_that_lay_here_are_our_own_queue() {
    let lay = |p50: u64| {
        move |run: &mut Run| {
            let mut delay = run.total.service_time_ns.clone().unwrap();
            delay.p50 = p50;
            run.total.receive_delay_ns = Some(delay);
        }
    };
    assert_eq!(verdicts(closed(), lay(2_500_000)), []);
    assert_eq!(verdicts(closed(), lay(2_600_000)), caution("own_queue"));
}

#[test]
fn a_rate_needs_rate_times_service_time_connections() {
    let had = |connections: u64, wait_p50: u64| {
        move |run: &mut Run| {
            let mut wait = run.total.service_time_ns.clone().unwrap();
            wait.p50 = wait_p50;
            run.total.connection_wait_ns = Some(wait);
            run.connections = Connections { asked: connections, had: connections, ..Connections::default() };
        }
    };
    // 1,000/s of 5 ms in the middle: five, within what a histogram keeps.
    assert_eq!(verdicts(sound(), had(6, 1)), []);
    assert_eq!(verdicts(sound(), had(4, 1)), caution("too_few_connections"));
    assert_eq!(verdicts(sound(), had(4, 0)), [], "nothing waited");
    let deep = |run: &mut Run| (had(4, 1)(run), run.loop_.depth = 2).0;
    assert_eq!(verdicts(sound(), deep), []);
}

#[test]
fn failures_spoil_a_run_when_they_are_the_rule() {
    let failed = |failed: u64| {
        move |run: &mut Run| (run.total.counts.ok, run.total.counts.bad_body) = (10_000 - failed, failed)
    };
    assert_eq!(verdicts(closed(), failed(1)), caution("failed_requests"));
    assert_eq!(verdicts(closed(), failed(5_000)), caution("failed_requests"));
    assert_eq!(verdicts(closed(), failed(5_001)), invalid("failed_requests"));
    let late = |run: &mut Run| run.total.censored = Some(Censored { count: 1, lowest_ns: 5 });
    assert_eq!(verdicts(closed(), late), caution("censored"));
}

#[test]
fn connections_are_as_asked_and_kept() {
    assert_eq!(verdicts(closed(), |run| run.connections.had = 19), caution("connections_short"));
    assert_eq!(verdicts(closed(), |run| run.connections.broke_rules = 1), caution("broke_rules"));
    let closed_by_server = |closes: u64| {
        move |run: &mut Run| {
            run.intervals[0].block.status.insert("200".to_owned(), 1_000);
            run.connections.closed_by_server = closes;
        }
    };
    // The last close of each of the twenty may come too late.
    assert_eq!(verdicts(closed(), closed_by_server(882)), caution("keep_alive_refused"));
    assert_eq!(verdicts(closed(), closed_by_server(881)), []);
}

#[test]
fn what_others_took_is_weighed() {
    let delayed = |delay_s: f64| move |run: &mut Run| run.generator.run_delay_s = delay_s;
    assert_eq!(verdicts(closed(), delayed(0.1)), []);
    assert_eq!(verdicts(closed(), delayed(0.11)), caution("generator_descheduled"));
    assert_eq!(verdicts(closed(), delayed(1.1)), invalid("generator_descheduled"));
    let anywhere = |run: &mut Run| (delayed(1.1)(run), run.generator.cores = vec![0, 1]).0;
    assert_eq!(verdicts(closed(), anywhere), caution("generator_descheduled"));
    let stolen = |steal_s: f64| {
        move |run: &mut Run| {
            let core =
                |core, steal_s| CoreTime { core, over_s: 10.0, busy_s: 1.0, interrupt_s: 0.0, steal_s };
            run.generator.by_core = vec![core(0, 0.0), core(1, steal_s)];
        }
    };
    assert_eq!(verdicts(closed(), stolen(0.2)), []);
    assert_eq!(verdicts(closed(), stolen(0.22)), caution("steal"));
    assert_eq!(verdicts(closed(), stolen(2.1)), invalid("steal"));
}

#[test]
fn notes_say_what_was_left_open() {
    let lengths = |max: u64| move |run: &mut Run| run.total.body_bytes = Some(Lengths { min: 5, max });
    assert_eq!(verdicts(closed(), lengths(5)), []);
    assert_eq!(verdicts(closed(), lengths(6)), note("body_length_varies"));
    let told = |run: &mut Run| {
        lengths(6)(run);
        run.expectations.body_bytes = Some(5);
    };
    assert_eq!(verdicts(closed(), told), []);
    let mix = |expected_bytes: Option<u64>| {
        move |run: &mut Run| {
            lengths(6)(run);
            let mut block = run.total.clone();
            block.body_bytes = Some(Lengths { min: 5, max: if expected_bytes.is_some() { 5 } else { 6 } });
            let expectations = Expectations { body_bytes: expected_bytes, ..Expectations::default() };
            let part = |name: &str| RequestPart {
                name: name.to_owned(),
                weight: 1,
                method: "GET".to_owned(),
                path: "/".to_owned(),
                expectations: expectations.clone(),
                block: block.clone(),
            };
            run.by_request = Some(vec![part("a"), part("b")]);
        }
    };
    assert_eq!(verdicts(closed(), mix(Some(5))), [], "each has a length of its own");
    assert_eq!(verdicts(closed(), mix(None)), note("body_length_varies"));
    let few = |count: u64| move |run: &mut Run| run.total.service_time_ns.as_mut().unwrap().count = count;
    assert_eq!(verdicts(closed(), few(370)), []);
    assert_eq!(verdicts(closed(), few(369)), note("few_samples"));
}

#[test]
fn random_arrivals_are_held_to_it() {
    let p = |p_value: f64| {
        move |run: &mut Run| {
            run.arrival_check = Some(crate::ArrivalCheck { gaps: 100, anderson_darling: 9.0, p_value });
        }
    };
    assert_eq!(verdicts(sound(), p(0.001)), []);
    assert_eq!(verdicts(sound(), p(0.0009)), note("arrivals_off"));
}

#[test]
fn the_worst_comes_first() {
    let all = |run: &mut Run| {
        run.total.body_bytes = Some(Lengths { min: 5, max: 6 });
        run.connections.had = 19;
        run.generator.run_delay_s = 1.1;
        run.pace.used = PaceKind::Spin;
    };
    let severities: Vec<Severity> =
        verdicts(closed(), all).into_iter().map(|(_, severity)| severity).collect();
    assert_eq!(severities, [Severity::Invalid, Severity::Caution, Severity::Note]);
}
