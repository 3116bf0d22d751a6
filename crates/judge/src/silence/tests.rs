//! Servers that are gone for a part of the window, beside servers that pause, hang or end with their schedule.

use super::*;
use crate::VerdictName;
use crate::run_verdicts;
use paceline_record::{Blame, LoopKind, fixture};

/// Eleven intervals of 1,000 valid responses per second from the warm-up of 0.2 s on, in an open loop or a closed one.
fn sound(kind: LoopKind) -> Run {
    let mut run = fixture::run(0);
    run.loop_.kind = kind;
    if kind == LoopKind::Closed {
        (run.loop_.offered_per_s, run.rate_per_s.offered, run.total.response_time_ns) = (None, None, None);
    }
    run
}

/// Replaces the outcomes of some intervals.
fn with(mut run: Run, intervals: std::ops::Range<usize>, counts: Counts) -> Run {
    for interval in &mut run.intervals[intervals] {
        interval.block.counts = counts;
    }
    run
}

fn failing(outcome: fn(&mut Counts) -> &mut u64, count: u64) -> Counts {
    let mut counts = Counts { scheduled: count, ..Counts::default() };
    *outcome(&mut counts) = count;
    counts
}

/// When the run was silent, in seconds of the window.
fn silent(run: &Run) -> Option<(f64, Option<f64>)> {
    match stopped_answering(run)? {
        TypedVerdict::StoppedAnswering { silent_from_s, silent_until_s, .. } => {
            Some((silent_from_s, silent_until_s))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_server_that_ends_has_stopped_answering() {
    let refused = |count| failing(|counts| &mut counts.connect_failed, count);
    let closed = with(sound(LoopKind::Closed), 6..11, refused(5));
    assert_eq!(silent(&closed), Some((5.8, None)));
    let open = with(sound(LoopKind::Open), 6..11, refused(1_000));
    assert_eq!(silent(&open), Some((5.8, None)));
    for run in [&open, &closed] {
        let verdicts = run_verdicts(run);
        let others = [VerdictName::Saturated, VerdictName::Outage, VerdictName::StillWarming];
        assert!(others.iter().all(|name| !name.is_in(&verdicts)), "no overload, and no pause: {verdicts:?}");
    }
}

#[test]
fn a_machine_without_ports_is_not_a_server_that_is_gone() {
    let refused = failing(|counts| &mut counts.connect_failed, 5);
    for (failed_here, blame, named) in
        [(25, Blame::Environment, "local ports are free"), (15, Blame::Server, "the server's log")]
    {
        let mut run = with(sound(LoopKind::Closed), 6..11, refused);
        (run.connections.failed_attempts, run.connections.failed_here) = (30, failed_here);
        let verdict = stopped_answering(&run).unwrap().verdict();
        assert_eq!(verdict.blame, blame);
        assert!(verdict.remedy.contains(named), "{}", verdict.remedy);
    }
}

#[test]
fn a_server_that_returns_was_gone_meanwhile() {
    let refused = failing(|counts| &mut counts.connect_failed, 500);
    let run = with(sound(LoopKind::Open), 3..5, refused);
    assert_eq!(silent(&run), Some((2.8, Some(4.8))));
    let errors = failing(|counts| &mut counts.bad_status, 1_000);
    assert_eq!(silent(&with(sound(LoopKind::Closed), 3..5, errors)), Some((2.8, Some(4.8))));
}

#[test]
fn a_pause_a_hang_and_the_end_of_a_schedule_are_something_else() {
    let silence = Counts::default();
    assert_eq!(silent(&with(sound(LoopKind::Closed), 3..5, silence)), None, "its requests were answered");
    assert_eq!(silent(&with(sound(LoopKind::Open), 6..11, silence)), None, "nothing was due");
    let one = failing(|counts| &mut counts.timed_out, 1);
    assert_eq!(silent(&with(sound(LoopKind::Open), 6..11, one)), None, "single failures after the schedule");
    let failing = |count| failing(|counts| &mut counts.bad_status, count);
    assert_eq!(silent(&with(sound(LoopKind::Closed), 0..11, Counts { ok: 1, ..failing(999) })), None);
    let slow = with(sound(LoopKind::Closed), 0..10, Counts { ok: 1, scheduled: 1, ..Counts::default() });
    assert_eq!(silent(&with(slow, 10..11, failing(1))), None, "one response a second");
}

#[test]
fn a_pause_of_a_server_that_fails_most_requests_is_something_else() {
    let mostly_failing = Counts { ok: 100, ..failing(|counts| &mut counts.bad_status, 900) };
    let run = with(sound(LoopKind::Closed), 0..11, mostly_failing);
    let failing = |count| failing(|counts| &mut counts.bad_status, count);
    assert_eq!(silent(&with(run.clone(), 6..11, failing(2))), None, "two more failures may be chance");
    assert_eq!(silent(&with(run, 6..11, failing(200))), Some((5.8, None)), "two hundred are not");
}

#[test]
fn a_server_that_freezes_for_good_has_stopped() {
    let mut run = with(sound(LoopKind::Closed), 6..11, Counts::default());
    let mut late = run.intervals[9].clone();
    late.start_ns = run.phases.window.end_ns + 3_000_000_000;
    late.block.counts = failing(|counts| &mut counts.timed_out, 5);
    run.intervals.push(late);
    let Some(TypedVerdict::StoppedAnswering { silent_from_s, commonest_failure, .. }) =
        stopped_answering(&run)
    else {
        panic!("it is found");
    };
    assert_eq!((silent_from_s, commonest_failure.as_deref()), (5.8, Some("no response within the timeout")));
}

#[test]
fn a_run_of_a_number_of_requests_waits_for_a_server_that_is_gone() {
    let mut run = with(sound(LoopKind::Closed), 6..11, failing(|counts| &mut counts.connect_failed, 5));
    // The window of such a run ends with its last response.
    (run.phases.drain.end_ns, run.phases.window.end_ns) =
        (run.phases.window.end_ns, run.intervals[6].start_ns);
    run.loop_.requests = Some(100_000);
    assert_eq!(silent(&run), Some((5.8, None)));
    assert!(!VerdictName::GaveUp.is_in(&run_verdicts(&run)));
    run.loop_.requests = Some(run.total.counts.scheduled);
    assert_eq!(silent(&run), None, "all were sent");
}

#[test]
fn requests_that_hang_hold_connections() {
    let held = |timed_out: u64, waited_ns: u64| {
        let mut run = sound(LoopKind::Closed);
        run.total.censored = Some(paceline_record::Censored { count: timed_out, lowest_ns: waited_ns });
        run.intervals[9].block.counts.timed_out = timed_out;
        match held_connections(&run)? {
            TypedVerdict::HeldConnections { held_share, .. } => Some((100.0 * held_share).round()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(held(10, 5_000_000_000), Some(25.0), "half of the connections for half of the window");
    assert_eq!(held(1, 5_000_000_000), None, "one of twenty");
    assert_eq!(held(20, 20_000_000), None, "cut off by the end of the run");
}
