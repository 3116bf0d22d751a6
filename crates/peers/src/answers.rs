//! What the reports of other tools have in common: counts and times of all responses of a run.
//!
//! The tools keep the times of all responses together. In a record those with an error status are apart, together with
//! failures, so that they can be added only if there was no other failure.

use crate::quantity::total;
use paceline_record::{Block, Phase, Run, Times};
use paceline_stats::Histogram;

/// Responses of any status.
pub(crate) fn answered(block: &Block) -> u64 {
    total(block.status.values().copied())
}

/// Responses whose status is one of those.
pub(crate) fn answered_with(block: &Block, is_one: impl Fn(u16) -> bool) -> u64 {
    let found = block.status.iter().filter(|(status, _)| status.parse().is_ok_and(&is_one));
    total(found.map(|(_, count)| *count))
}

/// Responses in the window whose status is one of those: a tool that does not wait at the end of its time counts no
/// later ones. The engine counts the valid ones (2xx: the tools expect nothing else). Of the others those are late that
/// ended in an interval after the window. Intervals end with the window, except after a stop, and in a run of more than
/// a quarter of an hour, whose intervals are longer than a second.
pub(crate) fn answered_in_window(run: &Run, is_one: impl Fn(u16) -> bool) -> u64 {
    let late_valid = run.total.counts.ok.saturating_sub(run.total.completed_in_window);
    let is_other = |status: u16| !(200..300).contains(&status) && is_one(status);
    let end_ns = run.phases.window.end_ns;
    let after = run.intervals.iter().filter(|part| part.phase == Phase::Window && part.start_ns >= end_ns);
    let late_others = total(after.map(|part| answered_with(&part.block, is_other)));
    let late = if is_one(200) { late_valid.saturating_add(late_others) } else { late_others };
    answered_with(&run.total, &is_one).saturating_sub(late)
}

/// The seconds from the start of the window until the last response, for tools that wait for it.
pub(crate) fn until_last_response(run: &Run) -> f64 {
    let phases = &run.phases;
    run.window_s.max(phases.drain.end_ns.saturating_sub(phases.window.start_ns) as f64 / 1e9)
}

/// A remark if the times do not contain those of all responses.
pub(crate) fn times_left_out(block: &Block, times: &Histogram) -> String {
    match answered(block).saturating_sub(times.count()) {
        left if left > 0 && !knows_bad_times(block) => format!(
            "paceline: the times leave out {left} responses with an error status: they are recorded together with failures\n"
        ),
        _ => String::new(),
    }
}

fn knows_bad_times(block: &Block) -> bool {
    block.counts.failed() == block.counts.bad_status
}

/// The times of all responses, if those with an error status are known.
pub(crate) fn with_failures(times: Option<&Times>, block: &Block) -> Histogram {
    let mut histogram = decoded(times);
    if knows_bad_times(block) {
        histogram.merge(&decoded(block.failed_time_ns.as_ref()));
    }
    histogram
}

/// The times as a histogram; empty if there are none.
pub(crate) fn decoded(times: Option<&Times>) -> Histogram {
    times.and_then(|times| times.decode().ok()).unwrap_or_default()
}

/// The times from the beginning of a request's connection, if it has its own, else from its send.
pub(crate) fn whole_times(block: &Block) -> Histogram {
    let times = block.connect_and_service_time_ns.as_ref().or(block.service_time_ns.as_ref());
    with_failures(times, block)
}

/// The times of connections and of their TLS handshakes.
pub(crate) fn connect_times(block: &Block) -> Histogram {
    let mut connects = decoded(block.connect_time_ns.as_ref());
    connects.merge(&decoded(block.handshake_time_ns.as_ref()));
    connects
}
