//! Finds stretches of the window in which the server was gone: no valid response, and requests failed meanwhile.
//!
//! A server that only pauses answers its requests afterwards; `load.rs` judges that. Judged by the run's intervals, so a
//! stretch is at least one interval long, a tenth of the window or a second.

use crate::TypedVerdict;
use crate::facts::{RunSlice, blame_for, fails_here, is_open, outstanding_max, raise_limits, slices};
use paceline_record::{Counts, Phase, Run};
use std::collections::BTreeMap;

/// Valid responses that are missing in the stretch, at the pace before it: with fewer, their absence may be chance.
const MIN_MISSING: f64 = 10.0;
/// The stretch is longer than this many median service times: responses that are under way are not missing.
const MIN_MEDIANS: f64 = 3.0;
/// In an open loop this share of the missing responses must have failed: a schedule may have ended. One failed step of a
/// session stands for all that follow.
const MIN_FAILED_SHARE: f64 = 0.2;
/// That all requests of the stretch failed is less probable than this, at the share of failures before it: a server that
/// fails nine of ten requests and pauses is not gone.
const MAX_CHANCE: f64 = 1e-3;

/// A stretch without a valid response, in nanoseconds from the start of the run.
struct Silence {
    from_ns: u64,
    /// None if it lasts until the end of the run.
    until_ns: Option<u64>,
    /// The end of the time in which responses were expected.
    end_ns: u64,
    /// The requests that ended in it.
    counts: Counts,
    /// Their statuses.
    status: BTreeMap<String, u64>,
}

pub(crate) fn stopped_answering(run: &Run) -> Option<TypedVerdict> {
    let silence = until_end(run).or_else(|| within(run))?;
    let window = run.phases.window;
    let seconds = |ns: u64| (ns as f64 - window.start_ns as f64) / 1e9;
    let silent_from_s = seconds(silence.from_ns).max(0.0);
    let silent_until_s = silence.until_ns.map(seconds);
    let finding = match silent_until_s {
        Some(until_s) => {
            format!("No valid response arrived from {silent_from_s:.2} s to {until_s:.2} s of the window.")
        }
        None if silence.from_ns <= window.start_ns => "No valid response arrived in the window.".to_owned(),
        None => format!("No valid response arrived after the first {silent_from_s:.2} s of the window."),
    };
    let until_ns = silence.until_ns.unwrap_or(silence.end_ns).min(silence.end_ns);
    let silent_ns = until_ns.saturating_sub(silence.from_ns.max(window.start_ns));
    let expected_ns = silence.end_ns.saturating_sub(window.start_ns).max(1);
    Some(TypedVerdict::StoppedAnswering {
        silent_from_s,
        silent_until_s,
        silent_share: silent_ns as f64 / expected_ns as f64,
        failed: silence.counts.not_ok(),
        commonest_failure: commonest_failure(run, &silence),
        blame: blame_for(run, &silence.counts),
        finding,
        advice: match fails_here(run, &silence.counts) {
            true => raise_limits(run),
            false => {
                "Look in the server's log for a crash, a restart or errors, then repeat the run.".to_owned()
            }
        },
    })
}

/// The most frequent failure of the stretch.
fn commonest_failure(run: &Run, silence: &Silence) -> Option<String> {
    let counts = &silence.counts;
    let of_connections = run.connections.commonest_failure.clone();
    let status = silence.status.iter().max_by_key(|(_, count)| **count);
    let ways = [
        (counts.connect_failed.saturating_add(counts.io_failed), of_connections.clone()),
        (counts.bad_status, status.map(|(status, _)| format!("status {status}"))),
        (counts.bad_body, Some("unexpected body".to_owned())),
        (counts.timed_out, Some("no response within the timeout".to_owned())),
        (counts.unsent, of_connections.or_else(|| Some("no free connection".to_owned()))),
    ];
    // The first of equals wins.
    ways.into_iter().rev().max_by_key(|(count, _)| *count).and_then(|(_, failure)| failure)
}

/// The intervals from the warm-up to the end of the drain, and the shortest time from one to the next.
struct Series {
    slices: Vec<RunSlice>,
    step_ns: u64,
}

impl Series {
    fn from_run(run: &Run) -> Self {
        let slices = slices(run);
        let shortest = slices.windows(2).map(|pair| pair[1].start_ns - pair[0].start_ns).min();
        let step_ns = shortest.unwrap_or((run.window_s * 1e8) as u64).max(1);
        Self { slices, step_ns }
    }

    /// The end of an interval that begins then.
    fn end_of(&self, start_ns: u64) -> u64 {
        start_ns.saturating_add(self.step_ns)
    }

    /// The starts of the intervals with a valid response.
    fn answered(&self) -> Vec<u64> {
        self.slices.iter().filter(|slice| slice.counts.ok > 0).map(|slice| slice.start_ns).collect()
    }

    /// The requests that ended in some intervals, chosen by their start.
    fn ended(&self, is_wanted: impl Fn(u64) -> bool) -> Counts {
        let slices = self.slices.iter().filter(|slice| is_wanted(slice.start_ns));
        let mut sum = Counts::default();
        slices.for_each(|slice| sum.add(&slice.counts));
        sum
    }

    /// The stretch from the end of the interval at `last` on, with the requests that ended after that interval began to
    /// answer; none if too few are missing or failed.
    fn silence(&self, run: &Run, last_ns: u64, until_ns: Option<u64>) -> Option<Silence> {
        let (from_ns, end_ns) = (self.end_of(last_ns), end_ns(run));
        // The window of a number of requests ends with the last response.
        let is_cut = end_ns > run.phases.window.end_ns && run.phases.window.end_ns > last_ns;
        let from_ns = if is_cut { from_ns.min(run.phases.window.end_ns) } else { from_ns };
        let limit_ns = until_ns.unwrap_or(u64::MAX);
        let is_inside = |start_ns: u64| last_ns < start_ns && start_ns < limit_ns;
        let counts = self.ended(is_inside);
        let silent_ns = limit_ns.min(end_ns).checked_sub(from_ns.max(run.phases.window.start_ns))?;
        let silent_s = silent_ns as f64 / 1e9;
        let ok = self.ended(|start_ns| start_ns <= last_ns).ok as f64;
        let begun_ns = self.slices.first()?.start_ns;
        let missing = ok / (from_ns.saturating_sub(begun_ns) as f64 / 1e9) * silent_s;
        let median_s = run.total.service_time_ns.as_ref().map_or(0.0, |times| times.p50 as f64 / 1e9);
        // A pause may outlast the timeout: only if it does not end, requests without a response show that the server is
        // gone. If it ends, one refused connection shows it; requests that wait are answered afterwards.
        let is_refused = match until_ns {
            Some(_) => counts.connect_failed > 0 || counts.failed() as f64 >= MIN_FAILED_SHARE * missing,
            None if is_open(run) => counts.not_ok() as f64 >= MIN_FAILED_SHARE * missing,
            None => counts.not_ok() > 0,
        };
        // The server may have ended in the interval of the last valid response.
        let before = self.ended(|start_ns| start_ns < last_ns);
        let failed_share =
            paceline_stats::ratio(before.not_ok() as f64, before.ok as f64 + before.not_ok() as f64);
        let chance = failed_share.powf(counts.not_ok() as f64);
        let is_gone =
            missing >= MIN_MISSING && is_refused && chance < MAX_CHANCE && silent_s > MIN_MEDIANS * median_s;
        is_gone.then(|| Silence { from_ns, until_ns, end_ns, counts, status: statuses(run, is_inside) })
    }
}

/// The statuses of the responses in some intervals, chosen by their start.
fn statuses(run: &Run, is_wanted: impl Fn(u64) -> bool) -> BTreeMap<String, u64> {
    let mut statuses = BTreeMap::<String, u64>::new();
    let of_requests = run.intervals.iter().filter(|interval| interval.phase != Phase::Connect);
    for interval in of_requests.filter(|interval| is_wanted(interval.start_ns)) {
        for (name, count) in &interval.block.status {
            let sum = statuses.entry(name.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
    }
    statuses
}

/// The end of the time in which responses were expected: of the window, or, if a number of requests was asked for and not
/// reached, of the run, which then waited for the server.
fn end_ns(run: &Run) -> u64 {
    let is_cut = run.loop_.requests.is_some_and(|asked| run.total.counts.scheduled < asked) && !run.stopped;
    if is_cut { run.phases.drain.end_ns.max(run.phases.window.end_ns) } else { run.phases.window.end_ns }
}

/// The stretch from the last valid response to the end of the run.
fn until_end(run: &Run) -> Option<Silence> {
    let series = Series::from_run(run);
    let last_ns = *series.answered().last()?;
    // A response in the last interval leaves no stretch of the window.
    let is_early = series.end_of(last_ns).saturating_add(series.step_ns / 2) <= end_ns(run);
    is_early.then(|| series.silence(run, last_ns, None)).flatten()
}

/// The longest stretch between valid responses that touches the window.
fn within(run: &Run) -> Option<Silence> {
    let series = Series::from_run(run);
    let answered = series.answered();
    let length = |silence: &Silence| silence.until_ns.unwrap_or(0) - silence.from_ns;
    let gaps = answered.windows(2).filter(|pair| {
        let is_whole = pair[1] - pair[0] >= series.step_ns.saturating_mul(2);
        is_whole && pair[1] > run.phases.window.start_ns && series.end_of(pair[0]) < run.phases.window.end_ns
    });
    gaps.filter_map(|pair| series.silence(run, pair[0], Some(pair[1]))).max_by_key(length)
}

/// Connection time in a closed loop that requests without a response took, from which the load is another one than
/// requested: that of the remaining connections.
const MIN_HELD_SHARE: f64 = 0.05;

/// In a closed loop: requests without a response held connections, as when one of several backends is gone. Few requests
/// fail then, because each holds its connection until the timeout.
pub(crate) fn held_connections(run: &Run) -> Option<TypedVerdict> {
    let lowest_ns = run.total.censored?.lowest_ns;
    let rests = run.loop_.think.is_some() || run.loop_.requests.is_some();
    if is_open(run) || rests || stopped_answering(run).is_some() {
        return None;
    }
    let (window, series) = (run.phases.window, Series::from_run(run));
    let waited_ns = lowest_ns.min(run.timeout_ns);
    // The latest moment at which the requests that ended in an interval can have been sent.
    let held = |slice: &RunSlice| {
        let ended_ns = series.end_of(slice.start_ns).min(run.phases.drain.end_ns.max(window.end_ns));
        let sent_ns = ended_ns.saturating_sub(waited_ns).max(window.start_ns);
        slice.counts.timed_out as f64 * ended_ns.min(window.end_ns).saturating_sub(sent_ns) as f64 / 1e9
    };
    let held_s = series.slices.iter().map(held).sum::<f64>();
    let held_share = held_s / (run.window_s * outstanding_max(run)).max(f64::MIN_POSITIVE);
    let median_ns = run.total.service_time_ns.as_ref().map_or(0, |times| times.p50);
    let hangs = waited_ns as f64 > 10.0 * median_ns as f64;
    (held_share >= MIN_HELD_SHARE && hangs).then(|| TypedVerdict::HeldConnections {
        held_share: held_share.min(1.0),
        timed_out: run.total.counts.timed_out,
        percent: 100.0 * held_share.min(1.0),
    })
}

#[cfg(test)]
mod tests;
