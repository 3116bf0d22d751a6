//! Tests of every verdict on a run, just above and just below its bound.
//!
//! Two sound runs, of an open and of a closed loop, have no verdict; a test moves one figure to either side of its
//! bound. Names and severities are compared, words of a remedy rarely.

use crate::facts::outstanding_max;
use crate::{run_verdicts, unequal_work};
use paceline_record::{
    ArrivalCheck, Arrivals, Blame, Block, BodyFaults, BodyWaits, CarriedOver, Censored, Connections,
    CoreTime, Counts, EventCounts, Expectations, Generator, Lengths, Loader, LoopKind, PaceKind, Phase,
    RequestPart, Run, Segment, Served, ServerUse, SessionPart, SessionStep, Severity, Shape, Think,
    Throttling, Times, Verdict, fixture,
};
use paceline_stats::Histogram;

/// A run without a fault.
fn sound() -> Run {
    let mut run = fixture::run(0);
    let mut lag = run.total.response_time_ns.clone().unwrap();
    (lag.p50, lag.p75, lag.p90, lag.p95, lag.p99) = (50_000, 60_000, 70_000, 80_000, 90_000);
    run.total.generator_lag_ns = Some(lag);
    run
}

/// The same for a closed loop.
fn closed() -> Run {
    let mut run = sound();
    run.loop_.kind = LoopKind::Closed;
    (run.loop_.offered_per_s, run.rate_per_s.offered) = (None, None);
    (run.total.response_time_ns, run.total.generator_lag_ns) = (None, None);
    // 1,000/s of 5 ms each keep five connections busy.
    (run.connections.asked, run.connections.had) = (5, 5);
    run
}

/// The names and severities of the verdicts on a changed run.
fn verdicts(mut run: Run, change: impl FnOnce(&mut Run)) -> Vec<(String, Severity)> {
    change(&mut run);
    run_verdicts(&run).into_iter().map(|verdict| (verdict.name, verdict.severity)).collect()
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
fn a_sound_run_has_no_verdict() {
    assert_eq!(verdicts(sound(), |_| {}), []);
    assert_eq!(verdicts(closed(), |_| {}), []);
}

#[test]
fn a_run_that_measured_nothing_is_invalid() {
    let emptied = |run: &mut Run| run.total = Block::default();
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
fn a_wait_cut_short_by_the_end_of_the_run_is_not_a_timeout() {
    for (waited_ns, way) in [(100_000_000, "--drain"), (10_000_000_000, "--timeout")] {
        let mut run = closed();
        run.timeout_ns = 10_000_000_000;
        (run.total.counts.ok, run.total.counts.timed_out, run.total.completed_in_window) = (0, 10_000, 0);
        run.total.service_time_ns.as_mut().unwrap().max = waited_ns;
        let said =
            run_verdicts(&run).into_iter().find(|verdict| verdict.name == "no_valid_response").unwrap();
        assert!(said.remedy.contains(way), "{}", said.remedy);
    }
}

#[test]
fn the_request_count_must_be_reached_unless_the_run_is_stopped() {
    assert_eq!(verdicts(closed(), |run| run.loop_.requests = Some(10_000)), []);
    assert_eq!(verdicts(closed(), |run| run.loop_.requests = Some(10_001)), invalid("gave_up"));
    let stopped = |run: &mut Run| (run.loop_.requests, run.stopped) = (Some(10_001), true);
    assert_eq!(verdicts(closed(), stopped), []);
}

#[test]
fn giving_up_says_what_failed() {
    let remedy = |failed: fn(&mut Counts), failure: Option<&str>| {
        let mut run = closed();
        run.loop_.requests = Some(20_000);
        failed(&mut run.total.counts);
        run.connections.commonest_failure = failure.map(str::to_owned);
        let verdicts = run_verdicts(&run);
        verdicts.into_iter().find(|verdict| verdict.name == "gave_up").unwrap().remedy
    };
    let garbage = remedy(|counts| counts.io_failed = 9, Some("the response is not HTTP, 9 times"));
    assert!(garbage.starts_with("Connections were opened, and all of them failed: the response is not HTTP"));
    let refused = remedy(|counts| counts.connect_failed = 9, Some("Connection refused, 9 times"));
    assert!(
        refused.starts_with("No new connection could be opened: Connection refused, 9 times."),
        "{refused}"
    );
    assert!(remedy(|_| {}, None).starts_with("No open connection accepted another request."));
}

#[test]
fn a_cpu_limit_of_the_generator_is_named_and_nothing_else() {
    let throttled = |throttled_s: f64| {
        move |run: &mut Run| {
            run.generator.throttling = Some(Throttling {
                periods: 100,
                throttled_periods: 90,
                throttled_s,
                cores_allowed: Some(0.2),
            });
            // The kernel counts the time as waiting for a core.
            run.generator.run_delay_s = throttled_s;
        }
    };
    // Of 10 s with one thread.
    assert_eq!(verdicts(sound(), throttled(0.1)), []);
    assert_eq!(verdicts(sound(), throttled(0.11)), caution("generator_throttled"));
    assert_eq!(verdicts(closed(), throttled(1.1)), invalid("generator_throttled"));
    let mut run = sound();
    throttled(5.0)(&mut run);
    run.total.generator_lag_ns.as_mut().unwrap().p50 = 5_000_000;
    run.generator.longest_gap_ns = Some(500_000_000);
    let verdicts = run_verdicts(&run);
    let remedies: Vec<&str> = verdicts.iter().map(|verdict| verdict.remedy.as_str()).collect();
    assert!(remedies[0].contains("The CPU limit of 0.2 cores of Paceline's control group"), "{remedies:?}");
    assert!(verdicts.len() > 2 && !remedies.iter().any(|remedy| remedy.contains("taskset")), "{remedies:?}");
}

#[test]
fn dropped_handshakes_are_named_if_connecting_had_to_try_again() {
    let overflow = |connect_ns: u64| {
        move |run: &mut Run| {
            run.connections.listen_overflows = Some(3);
            let mut histogram = Histogram::new();
            histogram.record(connect_ns);
            run.intervals[0].block.connect_time_ns = Some(Times::from_histogram(&histogram));
        }
    };
    assert_eq!(verdicts(closed(), overflow(1_020_000_000)), note("listen_overflows"));
    assert_eq!(verdicts(closed(), overflow(500_000_000)), []);
}

#[test]
fn dropped_cookies_are_noted() {
    assert_eq!(verdicts(closed(), |run| run.connections.cookies_dropped = 1), note("cookies_dropped"));
}

#[test]
fn events_whose_times_give_no_delay_are_named() {
    let counted = |events_ahead_of_clock, events_without_time| {
        move |run: &mut Run| {
            let counts = EventCounts { events: 100, events_ahead_of_clock, ..EventCounts::default() };
            run.total.stream_events = Some(EventCounts { events_without_time, ..counts });
        }
    };
    assert_eq!(verdicts(closed(), counted(0, 0)), []);
    assert_eq!(verdicts(closed(), counted(1, 99)), caution("clocks_differ"));
    assert_eq!(verdicts(closed(), counted(0, 100)), caution("no_message_times"));
    // An event without a time, such as the last of a stream, is usual.
    let some = |run: &mut Run| {
        counted(0, 50)(run);
        run.total.message_delay_ns = run.total.service_time_ns.clone();
    };
    assert_eq!(verdicts(closed(), some), []);
}

#[test]
fn silent_intervals_are_an_outage_wherever_the_window_begins() {
    let silent = |second: usize| move |run: &mut Run| run.intervals[second].block.counts.ok = 0;
    // Eleven seconds hold the window; it begins within the first and ends within the last.
    assert_eq!(verdicts(closed(), silent(0)), []);
    assert_eq!(verdicts(closed(), silent(1)), caution("outage"));
    assert_eq!(verdicts(closed(), silent(9)), caution("outage"));
    assert_eq!(verdicts(closed(), silent(10)), []);
    let rare = |run: &mut Run| (run.total.counts.ok, run.total.counts.scheduled) = (89, 89);
    let rarely_silent = |run: &mut Run| (rare(run), silent(4)(run)).0;
    assert_eq!(verdicts(closed(), rarely_silent), [], "fewer than ten in each of nine whole seconds");
}

#[test]
fn expected_silence_is_not_an_outage() {
    let silent =
        |run: &mut Run| [2, 3, 5, 6, 8].iter().for_each(|second| run.intervals[*second].block.counts.ok = 0);
    let slow = |p50: u64| {
        move |run: &mut Run| {
            silent(run);
            run.total.service_time_ns.as_mut().unwrap().p50 = p50;
        }
    };
    assert_eq!(verdicts(closed(), slow(200_000_000)), caution("outage"));
    assert_eq!(verdicts(closed(), slow(201_000_000)), [], "a pause of ten times the median");
    let resting = |run: &mut Run| {
        silent(run);
        run.loop_.think = Some(Think::constant(paceline_job::Nanos::from_secs(5)));
    };
    assert_eq!(verdicts(closed(), resting), []);
}

/// Times of 1 ms, and a pause that delayed all outstanding requests.
fn with_pause(pause_ms: u64, waiting: u64) -> Times {
    let mut histogram = Histogram::new();
    (0..9_000).for_each(|_| histogram.record(1_000_000));
    (1..=waiting).for_each(|n| histogram.record(pause_ms * 1_000_000 * n / waiting));
    Times::from_histogram(&histogram)
}

#[test]
fn a_pause_is_an_outage_and_not_overload() {
    // 1,000/s: a pause of 500 ms delays 500 requests.
    let paused = |run: &mut Run| run.total.response_time_ns = Some(with_pause(500, 500));
    assert_eq!(verdicts(sound(), paused), caution("outage"));
    let mut run = sound();
    paused(&mut run);
    let longest = run_verdicts(&run)[0].evidence["longest_s"].as_f64().unwrap();
    assert!((longest - 0.5).abs() < 0.001, "{longest}");
    let at_the_end = |run: &mut Run| {
        paused(run);
        run.total.completed_in_window -= 500;
        run.intervals[9].block.counts.ok = 500;
    };
    assert_eq!(verdicts(sound(), at_the_end), caution("outage"), "what is missing at the end is one jump");
    let one_slow = |run: &mut Run| run.total.response_time_ns = Some(with_pause(500, 1));
    assert_eq!(verdicts(sound(), one_slow), [], "one slow request is no pause");
    let brief = |run: &mut Run| run.total.response_time_ns = Some(with_pause(190, 190));
    assert_eq!(verdicts(sound(), brief), [], "below 2 % of the window");
    // Twenty connections waited, and nothing was answered meanwhile.
    let of_a_closed_loop = |run: &mut Run| {
        run.total.service_time_ns = Some(with_pause(500, 20));
        run.intervals.iter_mut().for_each(|interval| interval.block.service_time_ns = Some(with_pause(1, 1)));
        run.intervals[4].block.counts.ok /= 2;
        run.intervals[4].block.service_time_ns = run.total.service_time_ns.clone();
    };
    assert_eq!(verdicts(closed(), of_a_closed_loop), caution("outage"));
    // As many slow requests, one in each of ten intervals, and one interval with fewer responses.
    let spread = |run: &mut Run| {
        of_a_closed_loop(run);
        run.intervals
            .iter_mut()
            .for_each(|interval| interval.block.service_time_ns = Some(with_pause(500, 1)));
    };
    assert!(!verdicts(closed(), spread).iter().any(|(name, _)| *name == "outage"));
    let always = |run: &mut Run| {
        of_a_closed_loop(run);
        run.intervals
            .iter_mut()
            .for_each(|interval| interval.block.service_time_ns = Some(with_pause(500, 20)));
    };
    assert!(!verdicts(closed(), always).iter().any(|(name, _)| *name == "outage"), "slow all the time");
}

/// Gives each second these times, and the total the times of all seconds.
fn with_seconds(run: &mut Run, times: impl Fn(usize) -> Times) {
    let mut whole = Histogram::new();
    for (second, interval) in run.intervals.iter_mut().enumerate() {
        let times = times(second);
        whole.merge(&times.decode().unwrap());
        match run.loop_.kind {
            LoopKind::Open => interval.block.response_time_ns = Some(times),
            LoopKind::Closed => interval.block.service_time_ns = Some(times),
        }
    }
    match run.loop_.kind {
        LoopKind::Open => run.total.response_time_ns = Some(Times::from_histogram(&whole)),
        LoopKind::Closed => run.total.service_time_ns = Some(Times::from_histogram(&whole)),
    }
}

#[test]
fn repeated_pauses_are_counted_and_judged_together() {
    // A pause of 150 ms every two seconds: each is 1.5 % of the window.
    let often = |second: usize| if second % 2 == 1 { with_pause(150, 150) } else { with_pause(1, 1) };
    let mut run = sound();
    with_seconds(&mut run, often);
    let outage = run_verdicts(&run).into_iter().find(|verdict| verdict.name == "outage").unwrap();
    assert_eq!(outage.evidence["pauses"], 5);
    assert!(
        outage.remedy.starts_with("The server paused about 5 times, for up to 0.15 s each."),
        "{outage:?}"
    );
    let is_outage = |change: &dyn Fn(&mut Run)| {
        let mut run = sound();
        change(&mut run);
        run_verdicts(&run).iter().any(|verdict| verdict.name == "outage")
    };
    // One pause whose queue delays requests of the next three seconds is one.
    let backlog =
        |second: usize| if (3..6).contains(&second) { with_pause(150, 600) } else { with_pause(1, 1) };
    assert!(!is_outage(&|run| with_seconds(run, backlog)));
    // A worker of four pauses: the other requests are answered meanwhile.
    let part = |second: usize| if second % 2 == 1 { with_pause(150, 37) } else { with_pause(1, 1) };
    assert!(!is_outage(&|run| with_seconds(run, part)));
    assert!(!is_outage(&|run| with_seconds(run, |_| with_pause(150, 150))), "slow in every second");
    // At 5/s each slow request alone would be the requests of a pause.
    let rare = |run: &mut Run| {
        with_seconds(run, |second| with_pause(if second % 2 == 1 { 190 } else { 90 }, 1));
        run.loop_.offered_per_s = Some(5.0);
    };
    assert!(!is_outage(&rare));
    // At 150/s some requests of a second are slow at random.
    let random = |run: &mut Run| {
        with_seconds(run, |second| with_pause(150, [5, 2, 0, 6, 3, 0, 4, 7, 0, 3, 5][second]));
        run.loop_.offered_per_s = Some(150.0);
    };
    assert!(!is_outage(&random));
    // A pause of the warm-up is not one of the window.
    let mut run = sound();
    with_seconds(&mut run, |second| if second == 7 { with_pause(250, 250) } else { with_pause(1, 1) });
    let mut before = run.intervals[7].clone();
    (before.phase, before.start_ns) = (Phase::Warmup, 0);
    run.intervals.insert(0, before);
    let outage = run_verdicts(&run).into_iter().find(|verdict| verdict.name == "outage").unwrap();
    assert_eq!(outage.evidence["pauses"], 1);
    // A closed loop of one connection with slow requests now and then.
    let mut single = closed();
    single.connections.had = 1;
    with_seconds(&mut single, |second| with_pause(if second % 3 == 0 { 150 } else { 1 }, 1));
    for second in [3, 6, 9] {
        single.intervals[second].block.counts.ok = 850;
    }
    assert!(run_verdicts(&single).iter().all(|verdict| verdict.name != "outage"));
    // A closed loop of twenty connections that pauses.
    let mut paused = closed();
    paused.connections.had = 20;
    with_seconds(&mut paused, |second| if second % 3 == 0 { with_pause(400, 20) } else { with_pause(1, 1) });
    for second in [3, 6, 9] {
        paused.intervals[second].block.counts.ok = 600;
    }
    let outage = run_verdicts(&paused).into_iter().find(|verdict| verdict.name == "outage").unwrap();
    assert_eq!(outage.evidence["pauses"], 3, "the one of second 0 is before the window");
}

#[test]
fn two_slow_requests_of_a_low_rate_are_an_outage_only_if_they_follow_each_other() {
    // One request per second: a pause of 1.9 s delays two.
    let is_outage = |slow: [usize; 2]| {
        let mut run = sound();
        with_seconds(&mut run, |second| match slow {
            [first, _] if first == second => with_pause(1_900, 1),
            [_, other] if other == second => with_pause(600, 1),
            _ => with_pause(1, 1),
        });
        run.loop_.offered_per_s = Some(1.0);
        run_verdicts(&run).iter().any(|verdict| verdict.name == "outage")
    };
    assert!(is_outage([4, 5]));
    assert!(!is_outage([2, 7]));
}

#[test]
fn slow_requests_beside_fast_ones_are_not_an_outage() {
    // One in twenty takes 500 ms; the others are answered meanwhile.
    let mut histogram = Histogram::new();
    (1..=9_500).for_each(|n| histogram.record(1_000_000 + n));
    (1..=500).for_each(|n| histogram.record(490_000_000 + 20_000 * n));
    let slow = Times::from_histogram(&histogram);
    let open = |run: &mut Run| run.total.response_time_ns = Some(slow.clone());
    assert!(!verdicts(sound(), open).iter().any(|(name, _)| *name == "outage"));
    let in_a_closed_loop = |run: &mut Run| run.total.service_time_ns = Some(slow.clone());
    assert!(!verdicts(closed(), in_a_closed_loop).iter().any(|(name, _)| *name == "outage"));
}

#[test]
fn waiting_connections_beside_answered_ones_are_not_an_outage() {
    let waited = |run: &mut Run| run.total.service_time_ns = Some(with_pause(2_500, 20));
    // Each interval of a second has responses: no pause of the server is longer than two.
    assert!(!verdicts(closed(), waited).iter().any(|(name, _)| *name == "outage"));
    let silent = |run: &mut Run| {
        waited(run);
        [4, 5].iter().for_each(|second| run.intervals[*second].block.counts.ok = 0);
    };
    assert!(verdicts(closed(), silent).iter().any(|(name, _)| *name == "outage"));
}

#[test]
fn a_pause_of_the_generator_is_not_blamed_on_the_server() {
    let stalled = |run: &mut Run| {
        run.generator.longest_gap_ns = Some(500_000_000);
        run.total.service_time_ns = Some(with_pause(500, 20));
    };
    assert_eq!(verdicts(closed(), stalled), caution("generator_stall"));
    let long = |run: &mut Run| run.generator.longest_gap_ns = Some(1_100_000_000);
    assert_eq!(verdicts(closed(), long), invalid("generator_stall"));
    let short = |run: &mut Run| run.generator.longest_gap_ns = Some(199_000_000);
    assert_eq!(verdicts(closed(), short), []);
}

#[test]
fn waits_for_the_disk_matter_by_their_share_or_beside_the_slowest_requests() {
    let waited = |wait_ns_total: u64, wait_ns_max: u64| {
        move |run: &mut Run| {
            run.body_waits = Some(BodyWaits { reads: 9, wait_ns_total, wait_ns_max });
        }
    };
    // One thread, ten seconds; the 99th percentile is 9.9 ms.
    assert_eq!(verdicts(closed(), waited(0, 0)), []);
    assert_eq!(verdicts(closed(), waited(490_000_000, 9_000_000)), []);
    assert_eq!(verdicts(closed(), waited(510_000_000, 9_000_000)), caution("slow_body_file"));
    assert_eq!(verdicts(closed(), waited(11_000_000, 11_000_000)), caution("slow_body_file"));
    // Eight threads that together have one request in flight at a time: of its ten seconds.
    let few = |run: &mut Run| {
        waited(510_000_000, 9_000_000)(run);
        run.generator.threads = 8;
        if let Some(times) = &mut run.total.service_time_ns {
            times.mean = 1e6;
        }
        (run.connections.asked, run.connections.had) = (1, 1);
    };
    assert!(verdicts(closed(), few).contains(&caution("slow_body_file")[0]));
    let busy = |run: &mut Run| {
        waited(510_000_000, 9_000_000)(run);
        run.generator.threads = 8;
    };
    assert_eq!(verdicts(closed(), busy), [], "a hundredth of the threads' time");
    let stalled = |run: &mut Run| {
        waited(1_100_000_000, 1_100_000_000)(run);
        run.generator.longest_gap_ns = Some(1_100_000_000);
    };
    let mut run = closed();
    stalled(&mut run);
    let stall = run_verdicts(&run).into_iter().find(|verdict| verdict.name == "generator_stall").unwrap();
    assert!(stall.remedy.contains("slow_body_file"), "{}", stall.remedy);
}

#[test]
fn connections_that_are_never_answered_are_starved() {
    let served =
        |min: u64| move |run: &mut Run| run.connections.served = Some(Served { min, median: 500, max: 600 });
    assert_eq!(verdicts(closed(), served(1)), []);
    assert_eq!(verdicts(closed(), served(0)), caution("starved_connections"));
    assert_eq!(verdicts(sound(), served(0)), [], "an open loop need not use all connections");
    let carried = |unanswered| {
        move |run: &mut Run| run.carried_over = Some(CarriedOver { outstanding: 12, unanswered })
    };
    assert_eq!(verdicts(sound(), carried(0)), []);
    assert_eq!(verdicts(sound(), carried(12)), caution("starved_connections"));
    let silent = |run: &mut Run| {
        carried(12)(run);
        (run.total.counts.ok, run.total.counts.timed_out, run.total.completed_in_window) = (0, 10_000, 0);
    };
    let found = verdicts(closed(), silent);
    assert!(found.contains(&invalid("no_valid_response")[0]), "{found:?}");
    assert!(
        found.iter().all(|(name, _)| name != "starved_connections"),
        "no connection is served: {found:?}"
    );
}

#[test]
fn a_window_that_changes_is_not_steady() {
    let rates = |rates: [u64; 9]| {
        move |run: &mut Run| {
            for (interval, rate) in run.intervals[1..10].iter_mut().zip(rates) {
                (interval.block.counts.ok, interval.block.counts.scheduled) = (rate, rate);
            }
        }
    };
    assert_eq!(verdicts(closed(), rates([1000, 990, 1010, 1000, 995, 1005, 1000, 990, 1010])), []);
    assert_eq!(
        verdicts(closed(), rates([1000, 990, 1010, 900, 800, 700, 200, 210, 190])),
        caution("slowing_down")
    );
    assert_eq!(
        verdicts(closed(), rates([500, 510, 490, 700, 800, 900, 1000, 990, 1010])),
        caution("still_warming")
    );
    let rare = |run: &mut Run| {
        rates([2, 2, 2, 2, 2, 2, 2, 2, 3])(run);
        (run.connections.asked, run.connections.had) = (1, 1);
    };
    assert_eq!(verdicts(closed(), rare), [], "one request more or less in a third");
    let times = |slower: u64| {
        move |run: &mut Run| {
            for (place, interval) in run.intervals[1..10].iter_mut().enumerate() {
                let mut histogram = Histogram::new();
                let time = if place >= 6 { 1_000_000 * slower } else { 1_000_000 };
                (0..1_000).for_each(|n| histogram.record(time + n));
                interval.block.service_time_ns = Some(Times::from_histogram(&histogram));
            }
        }
    };
    assert_eq!(verdicts(sound(), times(1)), []);
    let brief = |run: &mut Run| {
        times(5)(run);
        for (place, interval) in run.intervals[1..10].iter_mut().enumerate() {
            let mut histogram = Histogram::new();
            histogram.record_n(if place >= 6 { 95_000 } else { 80_000 }, 1_000);
            interval.block.service_time_ns = Some(Times::from_histogram(&histogram));
        }
    };
    assert_eq!(verdicts(sound(), brief), [], "15 µs are what waking up takes");
    assert_eq!(verdicts(sound(), times(5)), caution("slowing_down"), "the rate of an open loop is given");
    let straggler = |run: &mut Run| {
        times(1)(run);
        let mut histogram = Histogram::new();
        histogram.record(200_000_000);
        let mut of_the_warm_up = run.intervals[1].clone();
        of_the_warm_up.phase = Phase::Warmup;
        of_the_warm_up.block.service_time_ns = Some(Times::from_histogram(&histogram));
        run.intervals.insert(1, of_the_warm_up);
    };
    assert_eq!(verdicts(sound(), straggler), [], "one slow request of the warm-up ended in the window");
    let starved = |run: &mut Run| {
        rates([1000, 990, 1010, 900, 800, 700, 200, 210, 190])(run);
        run.generator.run_delay_s = 0.3 * run.window_s;
    };
    let found = verdicts(closed(), starved);
    assert!(found.iter().all(|(name, _)| name != "slowing_down"), "{found:?}");
}

#[test]
fn a_last_byte_40_ms_after_the_first_is_a_delayed_acknowledgement() {
    let gap = |gap_ns: u64| {
        move |run: &mut Run| {
            run.total.first_byte_ns.as_mut().unwrap().p50 = 96_000;
            run.total.service_time_ns.as_mut().unwrap().p50 = 96_000 + gap_ns;
        }
    };
    assert_eq!(verdicts(closed(), gap(44_000_000)), caution("delayed_ack"));
    assert_eq!(verdicts(closed(), gap(30_000_000)), []);
    assert_eq!(verdicts(closed(), gap(60_000_000)), []);
    let beside = |change: fn(&mut Run)| move |run: &mut Run| (gap(44_000_000)(run), change(run)).1;
    assert_eq!(verdicts(closed(), beside(|run| run.target.protocol = "http/3".to_owned())), []);
    let streams = beside(|run| run.total.stream_events = Some(EventCounts::default()));
    assert_eq!(verdicts(closed(), streams), [], "the last event came later");
    let transfer = |bytes: u64| {
        move |run: &mut Run| {
            gap(44_000_000)(run);
            run.total.bytes.body = 10_000 * bytes;
        }
    };
    assert_eq!(verdicts(closed(), transfer(262_144)), caution("delayed_ack"));
    assert_eq!(verdicts(closed(), transfer(262_145)), [], "the transfer takes time");
}

#[test]
fn a_busy_generator_was_the_limit() {
    let busy = |share: f64| move |run: &mut Run| run.generator.utilization = share;
    assert_eq!(verdicts(closed(), busy(0.9)), []);
    assert_eq!(verdicts(closed(), busy(0.91)), caution("generator_bound"));
    assert_eq!(verdicts(sound(), busy(0.91)), caution("generator_bound"), "it delivered what was asked");
    let beside = |used: f64, share: f64| {
        move |run: &mut Run| {
            run.server = Some(fixture::server_use(1, 10.0 * used));
            busy(share)(run);
        }
    };
    assert_eq!(verdicts(closed(), beside(0.94, 0.97)), caution("generator_bound"));
    let of_full_server = verdicts(closed(), beside(0.95, 0.97));
    assert!(of_full_server.iter().all(|(name, _)| name != "generator_bound"), "{of_full_server:?}");
    let of_both = verdicts(closed(), beside(1.0, 0.98));
    assert!(of_both.iter().any(|(name, _)| name == "generator_bound"), "a server may spin: {of_both:?}");
    let short = |run: &mut Run| (busy(0.91)(run), answered(980)(run)).0;
    let named = verdicts(sound(), short);
    assert_eq!(named, [invalid("generator_bound"), caution("saturated")].concat());
}

/// The same number of responses in each second of the window.
fn answered(per_s: u64) -> impl Fn(&mut Run) {
    move |run: &mut Run| {
        for interval in &mut run.intervals {
            (interval.block.counts.ok, interval.block.counts.scheduled) = (per_s, per_s);
        }
        run.total.completed_in_window = 10 * per_s;
    }
}

#[test]
fn overload_is_growth_of_what_is_outstanding() {
    assert_eq!(verdicts(sound(), answered(995)), caution("saturated"), "504/s on a server of 500/s");
    assert_eq!(verdicts(sound(), answered(996)), [], "below half a percent");
    assert_eq!(verdicts(closed(), answered(500)), [], "a closed loop has no schedule to keep up with");
    let random = |due: u64| {
        move |run: &mut Run| {
            answered(990)(run);
            run.loop_.arrivals = Some(Arrivals::Poisson);
            (run.total.counts.scheduled, run.total.counts.ok) = (due, due);
        }
    };
    assert_eq!(verdicts(sound(), random(9_900)), [], "fewer arrived by chance than the rate of the schedule");
    assert_eq!(verdicts(sound(), random(10_000)), caution("saturated"), "and here they arrived");
    let queue = |run: &mut Run| {
        answered(500)(run);
        run.connections = Connections { asked: 2_000, had: 2_000, ..Connections::default() };
        run.total.service_time_ns.as_mut().unwrap().mean = 6e9;
    };
    assert_eq!(
        verdicts(sound(), queue),
        caution("saturated"),
        "service times that contain the queue excuse nothing"
    );
    let refused = |run: &mut Run| {
        (run.total.counts.ok, run.total.counts.bad_status) = (9_600, 400);
        run.total.completed_in_window = 9_600;
        for interval in &mut run.intervals {
            (interval.block.counts.ok, interval.block.counts.bad_status) = (960, 40);
        }
    };
    assert_eq!(verdicts(sound(), refused), invalid("failed_requests"), "responses came, and no queue grew");
    let mut run = sound();
    answered(500)(&mut run);
    let verdict = run_verdicts(&run).remove(0);
    assert!(verdict.remedy.ends_with("Try -r 700."), "{}", verdict.remedy);
    assert_eq!(verdict.evidence["outstanding_growth_per_s"], 500.0);
    let mut run = sound();
    answered(0)(&mut run);
    run.rate_per_s.achieved = 0.0;
    let verdicts = run_verdicts(&run);
    let verdict = verdicts.iter().find(|verdict| verdict.name == "saturated").unwrap();
    assert!(!verdict.remedy.contains("-r ") && verdict.remedy.contains("curl -i"), "{}", verdict.remedy);
}

/// Service times in microseconds: of the first request, and of the others.
fn with_service(run: &mut Run, [first_us, others_us]: [u64; 2]) {
    let mut all = Histogram::new();
    for (index, interval) in run.intervals.iter_mut().enumerate() {
        let mut histogram = Histogram::new();
        histogram.record_n(1_000 * others_us, interval.block.counts.ok.max(1));
        if index == 0 {
            histogram.record(1_000 * first_us);
        }
        all.merge(&histogram);
        interval.block.service_time_ns = Some(Times::from_histogram(&histogram));
    }
    run.total.service_time_ns = Some(Times::from_histogram(&all));
}

#[test]
fn an_overload_names_what_requests_waited_for() {
    let of = |change: &dyn Fn(&mut Run)| {
        let mut run = sound();
        answered(500)(&mut run);
        (run.connections.asked, run.connections.had) = (4, 4);
        change(&mut run);
        let verdict = run_verdicts(&run).into_iter().find(|verdict| verdict.name == "saturated").unwrap();
        (verdict.evidence["waited_for"].as_str().unwrap().to_owned(), verdict.blame, verdict.remedy)
    };
    // 1,000/s of 8 ms need eight connections.
    let (connections, blame, remedy) = of(&|run| with_service(run, [6_000, 8_000]));
    assert_eq!((connections.as_str(), blame), ("connections", Blame::User));
    assert!(remedy.contains("-c 8"), "{remedy}");
    let (server, blame, remedy) = of(&|run| with_service(run, [5_000, 8_000]));
    assert_eq!((server.as_str(), blame), ("server", Blame::Server), "{remedy}");
    let enough = |run: &mut Run| {
        with_service(run, [6_000, 8_000]);
        run.connections.had = 8;
    };
    assert_eq!(of(&enough).0, "server", "there were enough connections");
    let full = |run: &mut Run| {
        with_service(run, [6_000, 8_000]);
        run.server = Some(fixture::server_use(1, 9.9));
    };
    assert_eq!(of(&full).0, "server", "its core was full");
    let (unknown, _, remedy) = of(&|run| {
        let mut histogram = Histogram::new();
        (1..=100).for_each(|ms| histogram.record(ms * 200_000));
        run.total.service_time_ns = Some(Times::from_histogram(&histogram));
        run.intervals.iter_mut().for_each(|interval| interval.block.service_time_ns = None);
    });
    assert_eq!(unknown, "server or connections");
    assert!(remedy.contains("-c 11") && remedy.contains("-r 700"), "{remedy}");
}

#[test]
fn requests_that_hang_are_not_called_an_overload_of_the_server() {
    // 500/s of 2 ms need one of 40 connections; hanging requests hold the others.
    let hanging = |held: u64| {
        move |run: &mut Run| {
            answered(500)(run);
            (run.total.counts.ok, run.total.counts.timed_out, run.total.counts.unsent) = (5_000, 50, 4_950);
            run.connections = Connections { asked: held, had: held, ..Connections::default() };
            run.rate_per_s.achieved = 500.0;
            with_service(run, [2_000, 2_000]);
        }
    };
    let mut run = sound();
    hanging(40)(&mut run);
    let verdicts = run_verdicts(&run);
    let named = |name: &str| verdicts.iter().find(|verdict| verdict.name == name);
    assert_eq!(named("saturated").unwrap().evidence["waited_for"], "requests that hang");
    let starved = named("starved_connections").unwrap();
    assert!(starved.remedy.contains("hang") && starved.evidence["timed_out"] == 50, "{starved:?}");
    let mut run = sound();
    hanging(1)(&mut run);
    let names: Vec<String> = run_verdicts(&run).into_iter().map(|verdict| verdict.name).collect();
    assert!(!names.contains(&"starved_connections".to_owned()), "the only connection was busy: {names:?}");
}

#[test]
fn a_trace_is_judged_by_the_growth_over_its_segments() {
    let trace = |completed: [u64; 10]| {
        move |run: &mut Run| {
            let segment = |(index, completed): (u64, u64)| {
                let counts = Counts { scheduled: 1_000, ok: 1_000, ..Counts::default() };
                Segment {
                    start_ns: index * 1_000_000_000,
                    end_ns: (index + 1) * 1_000_000_000,
                    offered_per_s: 1_000.0,
                    connections: None,
                    completed_in_segment: completed,
                    block: Block { counts, ..Block::default() },
                }
            };
            run.loop_.shape = Some(Shape::Trace(paceline_job::Trace::default()));
            run.by_segment = Some((0..).zip(completed).map(segment).collect());
        }
    };
    assert_eq!(verdicts(sound(), trace([1_000; 10])), []);
    assert_eq!(verdicts(sound(), trace([500; 10])), caution("saturated"));
    // Bursts at the end of a segment are answered in the next one.
    assert_eq!(verdicts(sound(), trace([500, 1_500, 500, 1_500, 500, 1_500, 500, 1_500, 500, 1_500])), []);
    let paused = [1_000, 1_000, 1_000, 1_000, 0, 1_000, 1_000, 1_000, 1_000, 1_000];
    assert_eq!(verdicts(sound(), trace(paused)), [], "one pause is not an overload");
}

/// Sessions of two steps, with a pause between them.
fn with_pauses(run: &mut Run, pause_s: f64) {
    let part = |name: &str| RequestPart {
        name: name.to_owned(),
        weight: 1,
        method: "GET".to_owned(),
        path: "/".to_owned(),
        expectations: Expectations::default(),
        block: run.total.clone(),
    };
    let responses_ns = 2.0 * run.total.response_time_ns.as_ref().unwrap().mean;
    let mut session_time = run.total.response_time_ns.clone().unwrap();
    session_time.mean = responses_ns + pause_s * 1e9;
    let steps = ["a", "b"].map(|name| SessionStep { name: name.to_owned(), not_reached: 0 });
    let session = SessionPart {
        completed_in_window: None,
        name: "s".to_owned(),
        weight: 1,
        started: 5_000,
        completed: 5_000,
        failed: 0,
        unfinished: 0,
        steps: steps.into(),
        session_time_ns: Some(session_time),
    };
    run.loop_.sessions_offered_per_s = run.loop_.offered_per_s.map(|rate| rate / 2.0);
    (run.by_request, run.sessions) = (Some(vec![part("a"), part("b")]), Some(vec![session]));
}

#[test]
fn pauses_of_sessions_are_not_overload() {
    // 10,000 requests in 10 s, of which 500 are outstanding at the end.
    let late = |pause_s: f64| {
        move |run: &mut Run| {
            with_pauses(run, pause_s);
            answered(950)(run);
        }
    };
    assert_eq!(verdicts(sound(), late(0.0)), caution("saturated"));
    assert_eq!(verdicts(sound(), late(0.4)), caution("saturated"), "the pause explains 400");
    assert_eq!(verdicts(sound(), late(0.5)), []);
    let brief = |pause_s: f64| {
        move |run: &mut Run| {
            with_pauses(run, pause_s);
            run.intervals.clear();
            (run.total.counts.scheduled, run.total.counts.ok, run.total.completed_in_window) = (100, 100, 50);
        }
    };
    assert!(verdicts(sound(), brief(0.0)).contains(&caution("saturated")[0]));
    assert!(!verdicts(sound(), brief(0.05)).contains(&caution("saturated")[0]));
    let mut run = sound();
    late(0.0)(&mut run);
    let verdict = run_verdicts(&run).remove(0);
    assert!(verdict.remedy.ends_with("Try -r 350."), "-r is in sessions/s: {}", verdict.remedy);
}

#[test]
fn a_very_short_window_is_judged_by_missing_responses() {
    // 1,000/s with a median of 5 ms keep five in service.
    let brief = |missing: u64| {
        move |run: &mut Run| {
            run.intervals.clear();
            run.total.counts.scheduled = 100;
            (run.total.counts.ok, run.total.completed_in_window) = (100, 100 - missing);
        }
    };
    assert!(!verdicts(sound(), brief(5)).contains(&caution("saturated")[0]));
    assert!(verdicts(sound(), brief(8)).contains(&caution("saturated")[0]));
}

#[test]
fn a_changing_load_breaks_at_the_step_where_completions_fall_behind() {
    let segment = |run: &Run, offered_per_s: f64, completed: u64, lag_max: u64| {
        let mut block = run.total.clone();
        block.counts =
            Counts { scheduled: offered_per_s as u64, ok: offered_per_s as u64, ..Counts::default() };
        block.generator_lag_ns.as_mut().unwrap().max = lag_max;
        Segment {
            start_ns: 0,
            end_ns: 1_000_000_000,
            offered_per_s,
            connections: None,
            completed_in_segment: completed,
            block,
        }
    };
    let steps = |second: u64, lag_max: u64| {
        move |run: &mut Run| {
            run.loop_.shape = Some(Shape::Steps {
                rates: [500.0, 2_000.0].map(|rate| paceline_job::Rate::per_second(rate).unwrap()).into(),
                each: paceline_job::Nanos::from_secs(1),
            });
            run.by_segment = Some(vec![segment(run, 500.0, 500, 0), segment(run, 2_000.0, second, lag_max)]);
        }
    };
    assert_eq!(verdicts(sound(), steps(1_900, 0)), []);
    assert_eq!(verdicts(sound(), steps(1_899, 0)), caution("saturated"));
    assert_eq!(verdicts(sound(), steps(1_800, 110_000_000)), [], "the generator stood still for as long");
    let elsewhere = |run: &mut Run| {
        steps(1_400, 0)(run);
        run.generator.longest_gap_ns = Some(400_000_000);
    };
    assert_eq!(verdicts(sound(), elsewhere), caution("generator_stall"), "its pause was in another segment");
}

#[test]
fn lag_is_a_caution_from_a_tenth_and_invalid_from_a_half() {
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
    // The generator stalled for more than a hundredth of the window, and for longer than half of the measured 99th
    // percentile.
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
fn responses_that_waited_in_the_generator_are_its_own_queue() {
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
    // 1,000/s of 5 ms at the median: five, within the histogram's resolution.
    assert_eq!(verdicts(sound(), had(6, 1)), []);
    assert_eq!(verdicts(sound(), had(4, 1)), caution("too_few_connections"));
    assert_eq!(verdicts(sound(), had(4, 0)), [], "nothing waited");
    let overloaded = |times: [u64; 2]| {
        move |run: &mut Run| {
            had(4, 1)(run);
            answered(500)(run);
            with_service(run, times);
        }
    };
    let both = [caution("saturated"), caution("too_few_connections")].concat();
    assert_eq!(verdicts(sound(), overloaded([1_000, 8_000])), caution("saturated"), "the server's queue");
    assert_eq!(verdicts(sound(), overloaded([6_000, 8_000])), both, "its times did not grow");
    let deep = |run: &mut Run| (had(4, 1)(run), run.loop_.depth = 2).0;
    assert_eq!(verdicts(sound(), deep), []);
    let mut run = sound();
    had(2, 1)(&mut run);
    run.loop_.depth = 2;
    assert_eq!(run_verdicts(&run)[0].evidence["connections_needed"], 3.0, "two requests on each");
}

#[test]
fn failed_requests_make_a_run_invalid_above_one_percent() {
    let failed = |failed: u64| {
        move |run: &mut Run| (run.total.counts.ok, run.total.counts.bad_body) = (10_000 - failed, failed)
    };
    assert_eq!(verdicts(closed(), failed(1)), caution("failed_requests"));
    assert_eq!(verdicts(closed(), failed(100)), caution("failed_requests"));
    assert_eq!(verdicts(closed(), failed(101)), invalid("failed_requests"));
    let accepted = |share: f64| {
        move |run: &mut Run| {
            failed(1_000)(run);
            run.not_ok_share_allowed = Some(share);
        }
    };
    assert_eq!(verdicts(closed(), accepted(0.1)), caution("failed_requests"), "--max-errors 10%");
    assert_eq!(verdicts(closed(), accepted(0.09)), invalid("failed_requests"));
    let hanging = |run: &mut Run| (run.total.counts.ok, run.total.counts.timed_out) = (9_800, 200);
    assert_eq!(verdicts(closed(), hanging), invalid("failed_requests"), "requests without a response count");
    let cut_off = |run: &mut Run| {
        hanging(run);
        run.stopped = true;
    };
    assert_eq!(verdicts(closed(), cut_off), [], "the user stopped the run");
    let sessions = |completed: u64| {
        move |run: &mut Run| {
            with_pauses(run, 0.0);
            failed(100)(run);
            let session = &mut run.sessions.as_mut().unwrap()[0];
            (session.completed, session.failed) = (completed, 100);
        }
    };
    assert_eq!(verdicts(sound(), sessions(1)), caution("failed_requests"));
    assert_eq!(verdicts(sound(), sessions(0)), invalid("failed_requests"), "no session reached its end");
    let mut several = closed();
    let counts = &mut several.total.counts;
    (counts.ok, counts.bad_status, counts.timed_out, counts.unsent) = (237, 59, 744, 0);
    counts.scheduled = 1_040;
    let evidence = &run_verdicts(&several)[0].evidence;
    let counts = ["failed", "bad_status", "timed_out"].map(|key| &evidence[key]);
    assert_eq!(counts, [803, 59, 744], "they add up");
    assert!(!evidence.contains_key("unsent"), "{evidence:?}");
    let late = |run: &mut Run| run.total.censored = Some(Censored { count: 1, lowest_ns: 5 });
    assert_eq!(verdicts(closed(), late), caution("censored"));
}

#[test]
fn a_proposed_curl_command_has_the_url_as_one_word() {
    let mut run = closed();
    (run.total.counts.ok, run.total.counts.bad_status) = (9_999, 1);
    let mut remedy = |url: &str| {
        url.clone_into(&mut run.target.url);
        run_verdicts(&run)[0].remedy.clone()
    };
    assert!(remedy("http://127.0.0.1/a").ends_with("curl -i http://127.0.0.1/a"));
    // A shell would search files for the first two, and run a part of the others as a command. curl would read brackets
    // as a range.
    for (path, flag) in [("a?b=1", ""), ("[1]", "-g "), ("?a=1&b=2", ""), ("$(id)", "")] {
        let url = format!("http://127.0.0.1/{path}");
        let remedy = remedy(&url);
        assert!(remedy.ends_with(&format!("curl -i {flag}'{url}'")), "{remedy}");
    }
    let remedy = remedy("http://127.0.0.1/{line:p.txt}");
    assert!(remedy.contains("--debug") && !remedy.contains("curl"), "{remedy}");
}

#[test]
fn a_websocket_is_advised_only_what_it_supports() {
    type Change = fn(&mut Run);
    let remedy = |url: &str, change: Change| {
        let mut run = closed();
        run.target.url = url.to_owned();
        run.total.counts = Counts { scheduled: 10, ..Counts::default() };
        run.total.status.clear();
        run.connections.commonest_failure = Some("a frame of the server is masked".to_owned());
        change(&mut run);
        let verdicts = run_verdicts(&run);
        verdicts.into_iter().find(|verdict| verdict.name == "no_valid_response").unwrap().remedy
    };
    let refused = |run: &mut Run| {
        run.total.counts.bad_status = 10;
        run.total.status.insert("400".to_owned(), 10);
    };
    let redirected = |run: &mut Run| {
        run.total.counts.bad_status = 10;
        run.total.status.insert("301".to_owned(), 10);
    };
    let broken = |run: &mut Run| (run.total.counts.io_failed, run.connections.broke_rules) = (10, 10);
    let cases: [(Change, &str); 5] = [
        (refused, "status 101. Check the path. If this is a TLS port, try wss://."),
        (redirected, "redirects the handshake. Use the final URL."),
        (|run| run.total.counts.connect_failed = 10, "could not be opened: a frame of the server is masked."),
        (|run| run.total.counts.io_failed = 10, "try wss://."),
        (broken, "violates WebSocket: a frame of the server is masked."),
    ];
    for (change, part) in cases {
        let remedy = remedy("ws://127.0.0.1/a", change);
        assert!(remedy.contains(part) && remedy.ends_with(" http://127.0.0.1/a"), "{remedy}");
        for refused in ["--expect-status", "--follow", "--debug", "https://"] {
            assert!(!remedy.contains(refused), "{refused}: {remedy}");
        }
    }
    assert!(!remedy("wss://127.0.0.1/a", refused).contains("TLS port"));
    assert!(remedy("http://127.0.0.1/a", refused).contains("try https://."));
}

#[test]
fn a_lack_of_ports_is_not_the_server_s_fault() {
    let judged = |name: &str, ok: u64, outcome: fn(&mut Counts) -> &mut u64| {
        let mut run = closed();
        run.total.counts = Counts { scheduled: 10_000, ok, ..Counts::default() };
        *outcome(&mut run.total.counts) = 10_000 - ok;
        (run.connections.failed_attempts, run.connections.failed_here) = (10_000, 9_000);
        run.loop_.requests = Some(20_000);
        let verdict = run_verdicts(&run).into_iter().find(|verdict| verdict.name == name).unwrap();
        (verdict.blame, verdict.remedy.contains("This machine could not open more connections."))
    };
    for (name, ok) in [("failed_requests", 9_000), ("no_valid_response", 0), ("gave_up", 9_000)] {
        assert_eq!(
            judged(name, ok, |counts| &mut counts.connect_failed),
            (Blame::Environment, true),
            "{name}"
        );
        assert_eq!(judged(name, ok, |counts| &mut counts.io_failed), (Blame::Server, false), "{name}");
    }
}

#[test]
fn missing_and_closed_connections_are_reported() {
    assert_eq!(verdicts(closed(), |run| run.connections.had = 4), invalid("connections_short"));
    let one_of_many = |run: &mut Run| (run.connections.asked, run.connections.had) = (101, 100);
    assert!(caution("connections_short").iter().all(|one| verdicts(closed(), one_of_many).contains(one)));
    assert_eq!(verdicts(closed(), |run| run.connections.broke_rules = 1), caution("broke_rules"));
    let closed_by_server = |closes: u64| {
        move |run: &mut Run| {
            run.intervals[0].block.status.insert("200".to_owned(), 1_000);
            run.connections.closed_by_server = closes;
        }
    };
    // The last close of each of the five may come after the run.
    assert_eq!(verdicts(closed(), closed_by_server(896)), caution("keep_alive_refused"));
    assert_eq!(verdicts(closed(), closed_by_server(895)), []);
}

#[test]
fn cpu_use_of_other_processes_is_judged() {
    let delayed = |delay_s: f64| move |run: &mut Run| run.generator.run_delay_s = delay_s;
    assert_eq!(verdicts(closed(), delayed(0.5)), [], "the rate of a closed loop changes by less");
    assert_eq!(verdicts(closed(), delayed(0.51)), caution("generator_descheduled"));
    assert_eq!(verdicts(closed(), delayed(1.1)), invalid("generator_descheduled"));
    let anywhere = |idle_s: f64| {
        move |run: &mut Run| {
            delayed(1.1)(run);
            let core = |core, busy_s| CoreTime { core, over_s: 10.0, busy_s, interrupt_s: 0.0, steal_s: 0.0 };
            run.generator.cores = vec![0, 1];
            run.generator.by_core = vec![core(0, 10.0), core(1, 10.0 - idle_s)];
        }
    };
    assert_eq!(verdicts(closed(), anywhere(1.0)), caution("generator_descheduled"), "the cores were in use");
    assert_eq!(verdicts(closed(), anywhere(1.2)), invalid("generator_descheduled"), "one was idle");
    assert_eq!(verdicts(sound(), delayed(3.0)), [], "no request was sent late");
    let late = |delay_s: f64| {
        move |run: &mut Run| {
            delayed(delay_s)(run);
            run.total.generator_lag_ns.as_mut().unwrap().p99 = 2_000_000;
        }
    };
    assert_eq!(verdicts(sound(), late(0.9)), caution("generator_lag"));
    assert_eq!(verdicts(sound(), late(1.1)), invalid("generator_descheduled"), "one effect, one verdict");
    let stolen = |steal_s: f64| {
        move |run: &mut Run| {
            let core =
                |core, steal_s| CoreTime { core, over_s: 10.0, busy_s: 1.0, interrupt_s: 0.0, steal_s };
            run.generator.by_core = vec![core(0, 0.0), core(1, steal_s)];
        }
    };
    assert_eq!(verdicts(closed(), stolen(0.5)), []);
    assert_eq!(verdicts(closed(), stolen(0.52)), caution("steal"));
    assert_eq!(verdicts(closed(), stolen(1.02)), invalid("steal"));
    assert_eq!(verdicts(sound(), stolen(1.0)), [], "no request was sent late");
    let late = |run: &mut Run| (late(0.0)(run), stolen(0.3)(run)).1;
    assert_eq!(verdicts(sound(), late), [caution("generator_lag"), caution("steal")].concat());
}

#[test]
fn only_time_stolen_from_the_cores_in_use_counts() {
    let judged = |used: &[u32], server: Option<&[u32]>, number: u32| {
        let used = used.to_vec();
        let server = server.map(|cores| ServerUse { cores: cores.to_vec(), ..fixture::server_use(1, 4.0) });
        verdicts(closed(), move |run: &mut Run| {
            let steal_s = |core| if core == number { 2.0 } else { 0.0 };
            let core =
                |core| CoreTime { core, over_s: 10.0, busy_s: 1.0, interrupt_s: 0.0, steal_s: steal_s(core) };
            run.environment.cores = 64;
            run.generator.cores = used;
            run.generator.by_core = (0..64).map(core).collect();
            run.server = server;
        })
    };
    assert_eq!(judged(&[1], None, 1), invalid("steal"), "63 idle cores do not dilute it");
    assert_eq!(judged(&[1], None, 7), [], "nothing ran on core 7");
    assert_eq!(judged(&[1], Some(&[0]), 0), invalid("steal"), "the server's core");
    assert_eq!(judged(&[1], Some(&[0]), 7), []);
    assert_eq!(judged(&[1, 2, 3], None, 2), caution("steal"), "a third of the generator's cores");
    assert_eq!(judged(&[], None, 1), [], "unknown cores: the mean over all");
}

#[test]
fn a_suspend_makes_a_run_invalid_on_every_machine() {
    let suspended = |run: &mut Run| run.generator.suspended_s = Some(12.0);
    assert_eq!(verdicts(closed(), suspended), invalid("machine_suspended"));
    assert_eq!(verdicts(sound(), suspended), invalid("machine_suspended"));
    let mut run = closed();
    let generator = Generator { suspended_s: Some(30.0), ..Generator::default() };
    run.loaders = vec![Loader { host: "n2".to_owned(), generator: Some(generator), ..Loader::default() }];
    let verdict = run_verdicts(&run).remove(0);
    assert_eq!((verdict.name.as_str(), &verdict.evidence["host"]), ("machine_suspended", &"n2".into()));
    assert!(verdict.remedy.contains("for 30.0 s"), "{}", verdict.remedy);
}

#[test]
fn time_stolen_from_a_loader_is_that_of_its_own_cores() {
    let judged = |steal_s: f64| {
        verdicts(closed(), move |run: &mut Run| {
            let core =
                |core, steal_s| CoreTime { core, over_s: 10.0, busy_s: 1.0, interrupt_s: 0.0, steal_s };
            let loader = |used: u32| Loader {
                generator: Some(Generator {
                    cores: vec![used],
                    by_core: vec![core(0, steal_s), core(1, 0.0)],
                    ..Generator::default()
                }),
                ..Loader::default()
            };
            run.loaders = vec![loader(1), loader(0)];
            // Of a sum of loaders it is not known which machine a core belongs to.
            run.generator.cores = vec![0, 1];
            run.generator.by_core = vec![core(0, steal_s), core(1, 0.0)];
        })
    };
    assert_eq!(judged(0.0), []);
    assert_eq!(judged(1.1), invalid("steal"), "all of it is of the second loader's core");
}

/// A server on core 0 whose thread waited, beside other processes on that core.
fn beside_others(run: &mut Run, wait_s: f64, others_s: f64) {
    let mut server = fixture::server_use(1, 4.0);
    (server.run_delay_s, server.most_delayed_thread_share) = (Some(wait_s), Some(wait_s / 10.0));
    run.server = Some(server);
    let busy_s = 4.0 + others_s;
    run.generator.by_core = vec![CoreTime { core: 0, over_s: 10.0, busy_s, interrupt_s: 0.0, steal_s: 0.0 }];
}

#[test]
fn a_cpu_limit_of_the_server_is_named_and_is_no_other_process() {
    let limited = |throttled_periods| {
        move |run: &mut Run| {
            beside_others(run, 2.0, 6.0);
            let server = run.server.as_mut().unwrap();
            server.throttling = Some(Throttling {
                periods: 100,
                throttled_periods,
                throttled_s: 2.0,
                cores_allowed: Some(0.5),
            });
        }
    };
    assert_eq!(verdicts(closed(), limited(1)), []);
    assert_eq!(verdicts(closed(), limited(2)), note("server_throttled"));
}

#[test]
fn cpu_time_that_others_took_from_the_server_is_named_where_it_matters() {
    let beside = |wait_s, others_s| move |run: &mut Run| beside_others(run, wait_s, others_s);
    assert_eq!(verdicts(closed(), beside(0.5, 5.0)), []);
    assert_eq!(verdicts(closed(), beside(0.6, 5.0)), caution("server_descheduled"));
    assert_eq!(verdicts(closed(), beside(3.0, 0.4)), [], "its own threads waited for each other");
    // 10,000 requests of 5 ms: half a millisecond of waiting for each is 5 s.
    assert_eq!(verdicts(sound(), beside(4.9, 6.0)), []);
    assert_eq!(verdicts(sound(), beside(5.1, 6.0)), caution("server_descheduled"));
    assert_eq!(verdicts(sound(), beside(5.1, 4.0)), [], "others used less than it waited");
    let behind = |run: &mut Run| {
        beside_others(run, 5.1, 6.0);
        run.behind_server = vec![fixture::server_use(1, 6.0)];
    };
    assert_eq!(verdicts(sound(), behind), [], "the application behind a proxy is no other process");
    let old = |run: &mut Run| {
        beside_others(run, 5.1, 6.0);
        run.server.as_mut().unwrap().most_delayed_thread_share = None;
    };
    assert_eq!(verdicts(sound(), old), [], "records of older versions");
}

#[test]
fn a_change_that_other_processes_explain_is_not_blamed_on_the_server() {
    // The rate falls by 40 %.
    let slower = |run: &mut Run| {
        let rates = [1_000, 1_010, 990, 800, 810, 790, 600, 610, 590];
        for (interval, rate) in run.intervals[1..10].iter_mut().zip(rates) {
            (interval.block.counts.ok, interval.block.counts.scheduled) = (rate, rate);
        }
    };
    let delayed = |delay_s: f64| move |run: &mut Run| (slower(run), run.generator.run_delay_s = delay_s).0;
    assert_eq!(verdicts(closed(), delayed(0.4)), caution("slowing_down"));
    let beside = |wait_s: f64| move |run: &mut Run| (slower(run), beside_others(run, wait_s, 5.0)).0;
    assert_eq!(verdicts(closed(), beside(0.4)), caution("slowing_down"));
    assert_eq!(verdicts(closed(), beside(2.1)), caution("server_descheduled"));
}

#[test]
fn a_run_of_some_milliseconds_is_called_too_short_once() {
    let short = |window_s: f64| {
        move |run: &mut Run| {
            run.window_s = window_s;
            (run.generator.utilization, run.generator.run_delay_s) = (0.95, 0.5 * window_s);
            run.generator.longest_gap_ns = Some(20_000_000);
            run.total.service_time_ns.as_mut().unwrap().count = 20;
        }
    };
    assert_eq!(verdicts(closed(), short(0.099)), note("too_short"));
    let long = verdicts(closed(), short(0.101));
    assert!(long.len() > 2 && long.iter().all(|(name, _)| name != "too_short"), "{long:?}");
    let failed = |run: &mut Run| {
        short(0.01)(run);
        (run.total.counts.ok, run.total.counts.bad_status, run.total.completed_in_window) = (0, 10_000, 0);
    };
    assert_eq!(verdicts(closed(), failed)[0], invalid("no_valid_response")[0]);
}

#[test]
fn missing_information_is_noted() {
    let lengths = |max: u64| move |run: &mut Run| run.total.body_bytes = Some(Lengths { min: 5, max });
    assert_eq!(verdicts(closed(), lengths(5)), []);
    assert_eq!(verdicts(closed(), lengths(6)), note("body_length_varies"));
    let reported = |run: &mut Run| {
        lengths(6)(run);
        run.expectations.body_bytes = Some(5);
    };
    assert_eq!(verdicts(closed(), reported), []);
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
fn arrivals_that_are_not_random_are_reported() {
    let p = |p_value: f64| {
        move |run: &mut Run| {
            run.arrival_check = Some(ArrivalCheck { gaps: 100, anderson_darling: 9.0, p_value });
        }
    };
    assert_eq!(verdicts(sound(), p(0.001)), []);
    assert_eq!(verdicts(sound(), p(0.0009)), note("arrivals_off"));
}

#[test]
fn verdicts_are_sorted_by_severity() {
    let all = |run: &mut Run| {
        run.total.body_bytes = Some(Lengths { min: 5, max: 6 });
        run.connections.broke_rules = 1;
        run.generator.run_delay_s = 1.1;
        run.connections.had = 4;
        run.pace.used = PaceKind::Spin;
    };
    let severities: Vec<Severity> =
        verdicts(closed(), all).into_iter().map(|(_, severity)| severity).collect();
    assert!(severities.is_sorted_by(|a, b| a >= b), "{severities:?}");
    assert!(
        [Severity::Invalid, Severity::Caution, Severity::Note].iter().all(|one| severities.contains(one))
    );
}

#[test]
fn idle_connections_are_found_by_littles_law() {
    // 1,000/s of 5 ms each keep 5 requests outstanding.
    let carried = |connections: u64| move |run: &mut Run| run.connections.had = connections;
    assert_eq!(verdicts(closed(), carried(6)), []);
    assert_eq!(verdicts(closed(), carried(7)), note("idle_connections"));
    let change = |change: fn(&mut Run)| {
        move |run: &mut Run| {
            carried(20)(run);
            change(run);
        }
    };
    assert_eq!(
        verdicts(
            closed(),
            change(|run| run.loop_.think = Some(Think::constant(paceline_job::Nanos::from_secs(5))))
        ),
        []
    );
    assert_eq!(verdicts(closed(), change(|run| run.loop_.without_keep_alive = true)), []);
    assert_eq!(verdicts(sound(), change(|_| {})), [], "an open loop has idle connections");
    let starved = |run: &mut Run| run.carried_over = Some(CarriedOver { outstanding: 15, unanswered: 15 });
    let found = verdicts(closed(), change(starved));
    assert!(found.iter().all(|(name, _)| name != "idle_connections"), "{found:?}");
    let unserved = |run: &mut Run| run.connections.served = Some(Served { min: 0, median: 500, max: 600 });
    assert_eq!(verdicts(closed(), change(unserved)), caution("starved_connections"), "its requests waited");
    let busy = change(|run| run.generator.utilization = 0.95);
    assert_eq!(verdicts(closed(), busy), caution("generator_bound"), "one cause, one verdict");
}

#[test]
fn unrequested_compression_is_reported() {
    assert_eq!(
        verdicts(closed(), |run| run.connections.compressed_unasked = true),
        note("compressed_unasked")
    );
}

#[test]
fn a_changed_body_is_the_users_fault_and_invalid_if_it_could_not_be_sent() {
    let changed = |connections: u64| {
        move |run: &mut Run| {
            run.body_faults = Some(BodyFaults { changed: vec!["body".to_owned()], connections });
        }
    };
    assert_eq!(verdicts(closed(), changed(0)), caution("body_changed"));
    assert_eq!(verdicts(closed(), changed(2)), invalid("body_changed"));
}

#[test]
fn failures_because_of_an_unreadable_body_are_not_blamed_on_the_server() {
    let after_500 = |io_failed: u64, timed_out: u64| {
        move |run: &mut Run| {
            let counts = &mut run.total.counts;
            (counts.ok, counts.io_failed, counts.timed_out) = (500, io_failed, timed_out);
            counts.scheduled = 500 + io_failed + timed_out;
            run.loop_.depth = 2;
            run.body_faults = Some(BodyFaults { changed: Vec::new(), connections: 250 });
        }
    };
    let judged = |io_failed, timed_out| {
        let mut run = closed();
        after_500(io_failed, timed_out)(&mut run);
        run_verdicts(&run)
    };
    let named = |verdicts: &[Verdict], name: &str| verdicts.iter().any(|verdict| verdict.name == name);
    let ours = judged(500, 0);
    assert!(named(&ours, "body_changed") && !named(&ours, "failed_requests"), "{ours:?}");
    for (io_failed, timed_out, sends_to_log) in [(501, 0, true), (500, 1, false)] {
        let verdicts = judged(io_failed, timed_out);
        let failed = verdicts.iter().find(|verdict| verdict.name == "failed_requests").unwrap();
        assert_eq!(failed.remedy.contains("the server's log"), sends_to_log, "{failed:?}");
    }
}

#[test]
fn a_stream_limit_below_the_requested_depth_is_reported() {
    let allowed = |streams: u32| {
        move |run: &mut Run| {
            (run.loop_.depth, run.connections.streams_allowed) = (10, Some(streams));
        }
    };
    assert_eq!(verdicts(closed(), allowed(1)), note("streams_limited"));
    assert_eq!(verdicts(sound(), allowed(9)), note("streams_limited"));
    assert_eq!(verdicts(sound(), allowed(10)), []);
    let mut run = closed();
    allowed(1)(&mut run);
    let verdict = run_verdicts(&run).remove(0);
    let evidence = [&verdict.evidence["streams_allowed"], &verdict.evidence["streams_asked"]];
    assert_eq!(evidence, [&serde_json::json!(1), &serde_json::json!(10)]);
}

/// A server may set the limit to 0 for a short time (RFC 9113 §6.5.2), in which connections are idle.
#[test]
fn a_limit_of_no_stream_is_not_what_connections_carry() {
    for mut run in [sound(), closed()] {
        run.loop_.depth = 10;
        let carried = outstanding_max(&run);
        run.connections.streams_allowed = Some(0);
        assert!(carried > 0.0 && (outstanding_max(&run) - carried).abs() < 1e-9, "{carried}");
        assert_eq!(verdicts(run, |_| {}), note("streams_limited"));
    }
}

#[test]
fn a_server_that_allows_no_stream_is_named_once() {
    let no_stream = |run: &mut Run| {
        run.connections.streams_allowed = Some(0);
        run.rate_per_s.achieved = 0.0;
    };
    let mut unscheduled = closed();
    (unscheduled.total, unscheduled.carried_over) = (Block::default(), Some(CarriedOver::default()));
    let mut unsent = sound();
    (unsent.total.counts.ok, unsent.total.completed_in_window, unsent.total.counts.unsent) = (0, 0, 10_000);
    for (mut run, name) in [(unscheduled, "nothing_scheduled"), (unsent, "nothing_sent")] {
        let remedy = |run: &Run| {
            let verdicts = run_verdicts(run);
            let verdict = verdicts.iter().find(|verdict| verdict.name == name).unwrap();
            assert!(verdicts.iter().all(|verdict| verdict.name != "streams_limited"), "{verdicts:?}");
            verdict.remedy.clone()
        };
        assert!(!remedy(&run).contains("streams"));
        no_stream(&mut run);
        run.loop_.requests = Some(20_000);
        assert!(remedy(&run).contains("The server's limit of concurrent HTTP/2 streams is 0"));
        assert_eq!(run_verdicts(&run).iter().filter(|verdict| verdict.name == "gave_up").count(), 0);
    }
    // A request of the warm-up was sent: the limit is not the only reason.
    let waiting = |run: &mut Run| {
        run.total = Block::default();
        run.carried_over = Some(CarriedOver { outstanding: 1, unanswered: 1 });
        no_stream(run);
    };
    let mut run = closed();
    waiting(&mut run);
    assert!(run_verdicts(&run)[0].remedy.contains("No connection was free"));
}

#[test]
fn only_a_redirect_is_called_one() {
    for (status, is_redirect) in [("302", true), ("304", false)] {
        let mut run = closed();
        (run.total.counts.ok, run.total.counts.bad_status, run.total.completed_in_window) = (0, 10_000, 0);
        run.total.status = [(status.to_owned(), 10_000)].into();
        let verdicts = run_verdicts(&run);
        let verdict = verdicts.iter().find(|verdict| verdict.name == "no_valid_response").unwrap();
        assert_eq!(verdict.remedy.contains("redirects"), is_redirect, "{status}: {}", verdict.remedy);
    }
}

#[test]
fn protocol_violations_are_named_by_protocol() {
    for (protocol, words) in [("http/1.1", "is not valid HTTP/1.1"), ("http/2", "violates HTTP/2: a flood")] {
        let mut run = closed();
        (run.total.counts.ok, run.total.counts.io_failed, run.total.completed_in_window) = (0, 10_000, 0);
        run.target.protocol = protocol.to_owned();
        run.connections.broke_rules = 10_000;
        run.connections.commonest_failure = Some("a flood".to_owned());
        let said =
            run_verdicts(&run).into_iter().find(|verdict| verdict.name == "no_valid_response").unwrap();
        assert!(said.remedy.contains(words), "{}", said.remedy);
    }
}

#[test]
fn rows_with_unequal_work_are_named() {
    let run = |body: u64, head: u64| {
        let mut run = closed();
        (run.total.bytes.body, run.total.bytes.received) = (body * 10_000, (body + head) * 10_000);
        run
    };
    let runs = [run(12, 140), run(12, 200), run(12, 40), run(14, 150), run(12, 330), run(12, 150)];
    let rows: Vec<Vec<&Run>> = runs.iter().map(|run| vec![run]).collect();
    let severities: Vec<Option<Severity>> =
        unequal_work(&rows).into_iter().map(|verdict| Some(verdict?.severity)).collect();
    let (note, caution) = (Some(Severity::Note), Some(Severity::Caution));
    assert_eq!(severities, [None, None, note, caution, note, None]);
    assert_eq!(unequal_work(&[vec![&closed()], vec![]]), [None, None]);
    let (blanks, compact) = (run(716, 190), run(637, 150));
    assert_eq!(unequal_work(&[vec![&compact], vec![&compact], vec![&blanks]]), [None, None, None]);
    // Of two rows it is not known which one is right.
    for (other, severity) in [(run(100, 150), caution), (run(12, 500), note)] {
        let found = unequal_work(&[vec![&runs[0]], vec![&other]]);
        let severities: Vec<Option<Severity>> =
            found.into_iter().map(|verdict| Some(verdict?.severity)).collect();
        assert_eq!(severities, [severity, severity]);
    }
}

#[test]
fn a_number_of_connections_that_changes_is_not_judged_as_one_load() {
    let growing = |run: &mut Run| {
        for (interval, second) in run.intervals.iter_mut().zip(1..) {
            (interval.block.counts.ok, interval.block.counts.scheduled) = (100 * second, 100 * second);
        }
        run.connections.served = Some(paceline_record::Served { min: 0, median: 100, max: 200 });
    };
    let names = |found: Vec<(String, Severity)>| found.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    let constant = names(verdicts(closed(), growing));
    assert!(constant.contains(&"starved_connections".to_owned()), "{constant:?}");
    assert!(constant.contains(&"still_warming".to_owned()), "{constant:?}");
    let planned = |run: &mut Run| {
        growing(run);
        run.loop_.connection_plan = Some(paceline_job::ConnectionPlan::Ramp { from: 1, to: 64 });
    };
    assert_eq!(verdicts(closed(), planned), []);
}
