//! Was the server silent for whole seconds, so that a rate over the window is an average over an outage?
//!
//! One judge, called with the others on a run. It goes by the intervals of the record, which are seconds from the
//! beginning of the warm-up on, and does not judge where silence is to be expected.

use super::{Blame, Severity, Verdict};
use crate::Run;
use serde_json::json;
use std::collections::BTreeSet;

/// Length of an interval, in nanoseconds.
const SECOND_NS: u64 = 1_000_000_000;
/// In so long a run, warm-up and drain included, intervals may be longer than a second: the engine keeps 1,024 of each
/// worker, at most two of a second, and joins neighbours when there are more.
const SECONDS_APART_MOST: u64 = 500;

/// For whole seconds of the window not one valid response came, although many did before or after. Silence is only one
/// where requests are always under way: not where the rate changes or connections rest, nor for as long as a request
/// usually takes.
pub(super) fn outage(run: &Run) -> Option<Verdict> {
    let seconds = whole_seconds(run);
    let whole = seconds.len() as u64;
    let pauses = run.loop_.shape.is_some() || run.loop_.think.is_some();
    if pauses || whole < 2 || is_coarse(run) || run.total.counts.ok < 10 * whole {
        return None;
    }
    let lively = run.intervals.iter().filter(|interval| interval.block.counts.ok > 0);
    let silent = &seconds - &lively.map(|interval| interval.start_ns).collect();
    // Where each request has a connection made for it, that is part of what it takes.
    let usual = run.total.connect_and_service_time_ns.as_ref().or(run.total.service_time_ns.as_ref());
    let usual_ns = usual.map_or(0, |times| times.p50);
    (longest_stretch_ns(&silent) > usual_ns).then(|| {
        Verdict::new("outage", Blame::Server, Severity::Caution)
            .with("silent_s", json!(silent.len()))
            .with("window_s", json!(run.window_s))
            .remedy("for so many whole seconds no valid response came: the rate is an average over an outage")
    })
}

/// Whether the run was so long that its intervals may be longer than a second.
fn is_coarse(run: &Run) -> bool {
    let length_ns = run.phases.drain.end_ns.saturating_sub(run.phases.warmup.start_ns);
    length_ns / SECOND_NS > SECONDS_APART_MOST
}

/// How long the longest stretch of seconds is that follow each other, by when they began.
fn longest_stretch_ns(seconds: &BTreeSet<u64>) -> u64 {
    let mut longest = 0;
    let mut stretch = (0, 0);
    for start in seconds {
        stretch =
            if *start == stretch.1 { (stretch.0, start + SECOND_NS) } else { (*start, start + SECOND_NS) };
        longest = longest.max(stretch.1 - stretch.0);
    }
    longest
}

/// When the seconds began that lie wholly in the window, of those the intervals are: they count from the beginning of
/// the warm-up, and the window need not begin with one.
fn whole_seconds(run: &Run) -> BTreeSet<u64> {
    let (begun, window) = (run.phases.warmup.start_ns, run.phases.window);
    let skipped = window.start_ns.saturating_sub(begun).div_ceil(SECOND_NS);
    let first = begun.saturating_add(skipped.saturating_mul(SECOND_NS));
    let beyond = window.end_ns.saturating_sub(SECOND_NS - 1);
    // One more than are judged apart is enough to know that there are too many.
    (first..beyond).step_by(SECOND_NS as usize).take(SECONDS_APART_MOST as usize + 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up;

    #[test]
    fn a_window_of_whole_seconds_has_as_many() {
        let mut run = made_up::run(0);
        (run.phases.window.start_ns, run.phases.window.end_ns) = (1_500_000_000, 3_500_000_000);
        assert_eq!(whole_seconds(&run), [1_500_000_000, 2_500_000_000].into());
        run.phases.window.end_ns -= 1;
        assert_eq!(whole_seconds(&run), [1_500_000_000].into());
        (run.phases.window.start_ns, run.phases.window.end_ns) = (0, u64::MAX);
        assert_eq!(whole_seconds(&run).len() as u64, SECONDS_APART_MOST + 1);
        (run.phases.window.start_ns, run.phases.window.end_ns) = (u64::MAX, 0);
        assert_eq!(whole_seconds(&run), BTreeSet::new());
    }
}
