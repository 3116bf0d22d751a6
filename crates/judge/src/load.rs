//! Judges whether the requested load was delivered: requests, connections, and pauses of the server.
//!
//! A pause is an outage, and not judged by the mean service time, which contains the server's queue. `overload.rs`
//! judges whether the server kept up with an offered rate: at most one of pause and overload is given.

use crate::facts::{self, RunSlice, is_open, longest_stall_ns, look, offered_per_s_peak, outstanding_max};
use crate::overload::{is_saturated, rate_to_try};
use crate::silence::stopped_answering;
use crate::{MIN_ACHIEVED, TypedVerdict, generator, judged_times};
use paceline_record::{Blame, LoopKind, Phase, Run, Severity, Times};
use paceline_stats::little_outstanding;
use std::collections::BTreeMap;

/// Minimum length of a pause, in nanoseconds,
const MIN_OUTAGE_NS: u64 = 100_000_000;
/// minimum share of the window in all pauses together,
const MIN_OUTAGE_SHARE: f64 = 0.02;
/// and this multiple of the median time.
const MIN_OUTAGE_MEDIANS: f64 = 10.0;
/// Requests of an open loop that a pause must delay by more than half of it, before several pauses are counted. Where
/// fewer are slow at random, groups of them are common; from this number on, seconds without any are too rare to separate
/// groups of them.
const MIN_PAUSE_DELAYS_OPEN: f64 = 30.0;
/// The same for a closed loop, in which responses are missing too: a single slow request of a few connections is no
/// pause.
const MIN_PAUSE_DELAYS_CLOSED: f64 = 4.0;
/// After a pause, the interval with the most slow requests has at least this many times the usual number.
const MIN_RARE: f64 = 3.0;

/// Below this share of the requests that a closed loop should keep outstanding, its connections were idle. With one
/// connection, up to a fifth of the time lies between a response and the next request.
const MIN_LITTLE: f64 = 0.75;
/// Responses that Little's law needs.
const LITTLE_NEEDS: u64 = 1_000;
/// Connections closed by the server per response, from which connecting takes a part of the time.
const MAX_RECONNECTS: f64 = 0.01;

/// The remedy if the server allowed no HTTP/2 stream.
const NO_STREAM: &str = "The server's limit of concurrent HTTP/2 streams is 0 (SETTINGS_MAX_CONCURRENT_STREAMS): no \
    request may be sent. Raise this limit, or try --http 1.1.";

/// Whether no request could be sent because the server allowed no HTTP/2 stream: requests that were in flight when the
/// window opened, or were answered in it, had one.
pub(crate) fn has_no_stream(run: &Run) -> bool {
    let counts = run.total.counts;
    let in_flight = run.carried_over.map_or(0, |carried| carried.outstanding);
    let none_sent = counts.scheduled == counts.unsent && in_flight == 0 && run.rate_per_s.achieved <= 0.0;
    run.connections.streams_allowed == Some(0) && none_sent
}

pub(crate) fn nothing_scheduled(run: &Run) -> Option<TypedVerdict> {
    let (blame, advice) = match run.loop_.kind {
        LoopKind::Open => {
            (Blame::User, "No request was due in the window. Use a longer window (-d) or a higher rate (-r).")
        }
        LoopKind::Closed if has_no_stream(run) => (Blame::Server, NO_STREAM),
        // In a closed loop no request is due while no connection is free.
        LoopKind::Closed => (
            Blame::Server,
            "No connection was free in the window: each one was being opened, was pausing (--think), or was waiting for \
             the response to a request sent before the window. Use a longer window (-d), or no warm-up (--warmup 0s).",
        ),
    };
    (run.total.counts.scheduled == 0).then_some(TypedVerdict::NothingScheduled {
        window_s: run.window_s,
        blame,
        advice,
    })
}

pub(crate) fn nothing_sent(run: &Run) -> Option<TypedVerdict> {
    let counts = run.total.counts;
    let achieved_per_s = run.rate_per_s.achieved;
    let advice = if has_no_stream(run) {
        NO_STREAM.to_owned()
    } else if achieved_per_s > 0.0 {
        let rate = rate_to_try(achieved_per_s);
        format!(
            "Requests that were due in the warm-up were still being sent when the window ended. Lower the rate: try -r {rate}."
        )
    } else {
        format!("The server gave no valid response in the window. {}", look(run))
    };
    (counts.scheduled > 0 && counts.unsent == counts.scheduled).then_some(TypedVerdict::NothingSent {
        unsent: counts.unsent,
        backlog_at_window_start: run.generator.backlog_at_window_start,
        achieved_per_s,
        advice,
    })
}

pub(crate) fn gave_up(run: &Run) -> Option<TypedVerdict> {
    let (asked, scheduled) = (run.loop_.requests?, run.total.counts.scheduled);
    let is_known = run.stopped || has_no_stream(run) || stopped_answering(run).is_some();
    let commonest_failure = run.connections.commonest_failure.clone();
    let finding = match &commonest_failure {
        Some(failure) if run.total.counts.io_failed > run.total.counts.connect_failed => {
            format!("Connections were opened, and all of them failed: {failure}.")
        }
        Some(failure) => format!("No new connection could be opened: {failure}."),
        None => "No open connection accepted another request.".to_owned(),
    };
    let is_here = facts::fails_here(run, &run.total.counts);
    (scheduled < asked && !is_known).then_some(TypedVerdict::GaveUp {
        asked,
        scheduled,
        commonest_failure,
        blame: facts::blame_for(run, &run.total.counts),
        finding,
        look: if is_here { facts::raise_limits(run) } else { look(run) },
    })
}

/// The pauses of the server, from the tail of the times: all requests outstanding at the start of a pause ended at its
/// end, and in an open loop the requests that fell due meanwhile waited for the rest of it.
pub(crate) fn outage(run: &Run) -> Option<TypedVerdict> {
    // The longest pause, and the number of pauses about as long.
    let (longest_ns, pauses) = (silent_ns(run), 1).max(delaying_pauses(run)?);
    let median_ns = times(run)?.p50 as f64;
    let longest_s = longest_ns as f64 / 1e9;
    let paused_share = paceline_stats::ratio(pauses as f64 * longest_s, run.window_s);
    let counts = longest_ns >= MIN_OUTAGE_NS
        && paused_share >= MIN_OUTAGE_SHARE
        && longest_ns as f64 >= MIN_OUTAGE_MEDIANS * median_ns
        && longest_stall_ns(run) < longest_ns / 2;
    (counts && !is_saturated(run) && stopped_answering(run).is_none()).then(|| TypedVerdict::Outage {
        longest_s,
        pauses,
        paused_share: paused_share.min(1.0),
        finding: match pauses {
            1 => format!("The server did not respond for {longest_s:.2} s."),
            _ => format!("The server paused about {pauses} times, for up to {longest_s:.2} s each."),
        },
    })
}

/// The times that show a pause.
fn times(run: &Run) -> Option<&Times> {
    run.total.response_time_ns.as_ref().or(run.total.service_time_ns.as_ref())
}

/// The longest time, if as many requests are near it as a pause of all connections leaves: in an open loop half of the
/// requests due in half of the pause, in a closed loop half of the number that the connections carry. One slow request
/// is not a pause. Also the number of pauses about as long.
fn delaying_pauses(run: &Run) -> Option<(u64, u64)> {
    if run.loop_.connection_plan.is_some() {
        // The rate and the times of each number of connections differ: only silence is a pause.
        return Some((0, 0));
    }
    let histogram = times(run)?.decode().ok()?;
    let longest_ns = histogram.max()?;
    let above = |share: f64| {
        let limit = (share * longest_ns as f64) as u64;
        (histogram.count() - histogram.count_at_or_below(limit)) as f64
    };
    let offered_per_s = run.loop_.offered_per_s.filter(|_| is_open(run));
    // Half of the requests that fall due in a pause wait for more than half of it.
    let delayed = offered_per_s.map_or(outstanding_max(run), |offered| offered * longest_ns as f64 / 2e9);
    let is_pause = match offered_per_s {
        // Requests that fall due in a pause wait for the rest of it: the second quarter of its length has half as many
        // as the upper half, and 0.2 times as many leaves room for chance. Requests that are slow without a pause leave
        // it empty.
        Some(_) => {
            // At a low rate two requests that were slow for other reasons are as many: those of a pause end together.
            let least = 0.5 * (1.5 * delayed).max(4.0);
            let is_together = || end_together(run, longest_ns, longest_ns / 4, least);
            above(0.5) >= 0.5 * delayed.max(2.0)
                && above(0.25) - above(0.5) >= 0.2 * above(0.5)
                && (delayed >= MIN_PAUSE_DELAYS_OPEN || is_together())
        }
        None => {
            let (least, limit_ns) = (0.5 * delayed.max(1.0), longest_ns / 2);
            above(0.5) >= least && end_together(run, longest_ns, limit_ns, least) && has_gap(run, longest_ns)
        }
    };
    // Some connections may be answered while others wait: that is not a pause of the server, however long they wait.
    let is_possible = quiet_most_ns(run).is_none_or(|most| longest_ns <= most);
    if !is_pause || !is_possible {
        return Some((0, 0));
    }
    Some((longest_ns, pauses_like_it(run, longest_ns)))
}

/// The number of pauses of the window about as long as the longest, at least 1: groups of adjacent intervals with slow
/// requests, in which one interval, or two together, have half of those that such a pause delays. Requests that wait in
/// the queue after a pause belong to its group. In a closed loop responses must be missing there too. Pauses in adjacent
/// intervals count as one.
fn pauses_like_it(run: &Run, longest_ns: u64) -> u64 {
    let (delayed, min_delayed) = match offered_per_s_peak(run).filter(|_| is_open(run)) {
        Some(offered) => (offered * longest_ns as f64 / 2e9, MIN_PAUSE_DELAYS_OPEN),
        None => (outstanding_max(run), MIN_PAUSE_DELAYS_CLOSED),
    };
    let slow = slow_by_interval(run, longest_ns / 2, |phase| phase == Phase::Window);
    let slow = slow.filter(|slow| delayed >= min_delayed && are_rare(slow));
    let slow: Vec<(u64, f64)> = slow.into_iter().flatten().collect();
    let step_ns = slow.windows(2).map(|pair| pair[1].0 - pair[0].0).min().unwrap_or_default();
    let is_adjacent = |a: &(u64, f64), b: &(u64, f64)| b.0 - a.0 <= step_ns.saturating_add(step_ns / 2);
    let gaps = if is_open(run) { Vec::new() } else { gaps(run, longest_ns) };
    let groups = slow.chunk_by(|a, b| (a.1 > 0.0) == (b.1 > 0.0) && is_adjacent(a, b));
    let is_pause = |group: &&[(u64, f64)]| {
        let most = group.windows(2).map(|pair| pair[0].1 + pair[1].1).fold(group[0].1, f64::max);
        let is_gap = |at_ns: u64| gaps.iter().any(|gap| gap.contains(&at_ns));
        most >= 0.5 * delayed && (is_open(run) || group.iter().any(|(at_ns, _)| is_gap(*at_ns)))
    };
    (groups.filter(is_pause).count() as u64).max(1)
}

/// Whether the slow requests (above a limit) can be those that a pause delayed: at least `least` of them ended within
/// the length of the pause, and other intervals have few. True if the intervals have no times.
fn end_together(run: &Run, longest_ns: u64, limit_ns: u64, least: f64) -> bool {
    let slow = slow_by_interval(run, limit_ns, |phase| phase != Phase::Connect);
    let Some(slow) = slow else { return true };
    // Intervals from each one to the first that begins later than the pause took: the first of the requests may have
    // ended at the end of its interval.
    let (mut together, mut most, mut ends) = (0.0, 0.0_f64, slow.iter().peekable());
    for (start_ns, count) in &slow {
        while let Some((_, count)) = ends.next_if(|(at, _)| *at - start_ns <= longest_ns) {
            together += count;
        }
        most = most.max(together + ends.peek().map_or(0.0, |(_, count)| **count));
        together -= count;
    }
    most >= least && are_rare(&slow)
}

/// The slow requests (above a limit) of some phases by the start of the interval in which they ended; none if the
/// intervals have no times.
fn slow_by_interval(run: &Run, limit_ns: u64, phases: fn(Phase) -> bool) -> Option<BTreeMap<u64, f64>> {
    let mut by_start: BTreeMap<u64, f64> = BTreeMap::new();
    let mut is_known = false;
    for interval in run.intervals.iter().filter(|interval| phases(interval.phase)) {
        let times = judged_times(&interval.block, run.loop_.kind);
        is_known |= times.is_some();
        let slow = times.map_or(interval.block.counts.ok as f64, |times| max_above(times, limit_ns));
        *by_start.entry(interval.start_ns).or_default() += slow;
    }
    is_known.then_some(by_start)
}

/// Whether slow requests come in bursts, as after pauses: an interval has far more of them than the median one.
fn are_rare(slow: &BTreeMap<u64, f64>) -> bool {
    let mut counts: Vec<f64> = slow.values().copied().collect();
    counts.sort_by(f64::total_cmp);
    let usual = counts.get(counts.len() / 2).copied().unwrap_or_default();
    counts.last().is_some_and(|highest| *highest >= MIN_RARE * usual)
}

/// The number of times above a limit; without the histogram, the highest number that the percentiles allow.
fn max_above(times: &Times, limit_ns: u64) -> f64 {
    if times.max <= limit_ns {
        return 0.0;
    }
    let histogram = (!times.histogram.is_empty()).then(|| times.decode().ok()).flatten();
    if let Some(histogram) = histogram {
        return (histogram.count() - histogram.count_at_or_below(limit_ns)) as f64;
    }
    let levels = [
        (0.5, times.p50),
        (0.75, times.p75),
        (0.9, times.p90),
        (0.95, times.p95),
        (0.99, times.p99),
        (0.999, times.p99_9),
        (0.9999, times.p99_99),
    ];
    let below = levels.iter().rev().find(|(_, value)| *value <= limit_ns).map_or(0.0, |(level, _)| *level);
    (1.0 - below) * times.count as f64
}

/// Whether a closed loop has such a gap. If only some requests are slow, the others are answered meanwhile. True if
/// there are too few intervals to tell.
fn has_gap(run: &Run, pause_ns: u64) -> bool {
    facts::window(run).len() < 4 || !gaps(run, pause_ns).is_empty()
}

/// The pairs of adjacent intervals that have fewer responses than usual, by at least half of what a pause of this length
/// takes away: from the start of the first to the end of the second, when the requests of a pause can end.
fn gaps(run: &Run, pause_ns: u64) -> Vec<std::ops::RangeInclusive<u64>> {
    let slices = facts::window(run);
    let mut rates: Vec<f64> = slices.iter().map(|slice| slice.counts.ok as f64 / slice.length_s()).collect();
    rates.sort_by(f64::total_cmp);
    let usual = rates.get(rates.len() / 2).copied().unwrap_or_default();
    let pause_s = pause_ns as f64 / 1e9;
    let is_gap = |pair: &&[RunSlice]| {
        let missing: f64 = pair.iter().map(|slice| usual * slice.length_s() - slice.counts.ok as f64).sum();
        missing >= 0.5 * usual * pause_s
    };
    slices.windows(2).filter(is_gap).map(|pair| pair[0].start_ns..=pair[1].end_ns).collect()
}

/// The longest time without a valid response that is compatible with the intervals; a response may be at either end of
/// its interval. Requests due at the end of the window may wait until the drain is over.
fn quiet_most_ns(run: &Run) -> Option<u64> {
    let stretches = facts::window(run);
    let mut since = stretches.first()?.start_ns;
    let mut most = 0;
    for stretch in stretches.iter().filter(|stretch| stretch.counts.ok > 0) {
        most = most.max(stretch.end_ns - since);
        since = stretch.start_ns;
    }
    Some(most.max(run.phases.drain.end_ns.saturating_sub(since)))
}

/// The longest sequence of intervals without a valid response, if every interval before and after had some.
fn silent_ns(run: &Run) -> u64 {
    let pauses = run.loop_.shape.is_some() || run.loop_.think.is_some();
    let stretches = facts::window(run);
    if pauses || run.total.counts.ok < 10 * stretches.len() as u64 {
        return 0;
    }
    let (mut longest, mut since) = (0, None);
    for stretch in &stretches {
        if stretch.counts.ok > 0 {
            since = None;
        } else {
            let since = *since.get_or_insert(stretch.start_ns);
            longest = longest.max(stretch.end_ns - since);
        }
    }
    longest
}

/// Little's law in a closed loop without pauses: the mean number of outstanding requests is the rate times the mean
/// service time. Requests that were carried into the window and never answered were outstanding too. A generator without
/// CPU time to spare leaves connections idle; `generator_bound` reports that.
pub(crate) fn idle_connections(run: &Run) -> Option<TypedVerdict> {
    let times = [run.total.service_time_ns.as_ref()?].into_iter().chain(run.total.failed_time_ns.as_ref());
    let outstanding = |times: &Times| little_outstanding(times.count as f64 / run.window_s, times.mean / 1e9);
    let never = run.carried_over.as_ref().map_or(0.0, |carried| carried.unanswered as f64);
    let outstanding_mean = times.map(outstanding).sum::<f64>() + never;
    let outstanding_asked = outstanding_max(run);
    let idle = outstanding_mean < MIN_LITTLE * outstanding_asked;
    (idle && holds_little(run) && generator::bound(run).is_none()).then(|| TypedVerdict::IdleConnections {
        outstanding_mean,
        outstanding_asked,
        pin: facts::pin(run),
    })
}

/// Whether Little's law applies to a run: each connection of its closed loop always has a request and gets responses,
/// connecting takes no part of the time, and neither side paused.
fn holds_little(run: &Run) -> bool {
    let loop_ = &run.loop_;
    let rests = loop_.think.is_some() || loop_.requests.is_some() || loop_.changes();
    let ok = run.total.counts.ok;
    let reconnects = loop_.without_keep_alive
        || loop_.requests_per_connection.is_some()
        || run.connections.closed_by_server as f64 > MAX_RECONNECTS * ok as f64;
    // Requests as long as the window lie partly outside of it, and a few requests have no meaningful mean.
    let is_known = run
        .total
        .service_time_ns
        .as_ref()
        .is_some_and(|times| times.count >= LITTLE_NEEDS && times.mean / 1e9 < run.window_s / 10.0);
    // What the generator lost while it waited for a CPU is reported as such.
    let paused =
        generator::stall(run).is_some() || generator::descheduled(run).is_some() || outage(run).is_some();
    let is_gone = stopped_answering(run).is_some();
    // A connection without a response waited for one: its request is in no time.
    let starved = run.connections.served.is_some_and(|served| served.min == 0);
    // While the server allowed no stream, its connections were idle.
    let waits = rests || reconnects || run.connections.streams_allowed == Some(0);
    loop_.kind == LoopKind::Closed && !waits && is_known && !paused && !is_gone && !starved
}

pub(crate) fn connections_short(run: &Run) -> Option<TypedVerdict> {
    let connections = &run.connections;
    let (asked, had) = (connections.asked, connections.had);
    let advice = if connections.failed_here > 0 {
        facts::raise_limits(run)
    } else {
        "Check the server's listen backlog and its limit of open files, or lower -c.".to_owned()
    };
    // A closed loop puts another load on the server than requested.
    let is_another = !is_open(run) && (had as f64) < MIN_ACHIEVED * asked as f64;
    (had < asked).then(|| TypedVerdict::ConnectionsShort {
        severity: if is_another { Severity::Invalid } else { Severity::Caution },
        asked,
        had,
        commonest_failure: connections.commonest_failure.clone(),
        failed_here: connections.failed_here,
        advice,
    })
}
