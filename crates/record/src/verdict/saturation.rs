//! Did the target keep up with the schedule?
//!
//! One judge, and the figures it goes by, which gates go by too.

use super::run::is_open;
use super::segments::{Break, first_break};
use super::{Blame, Severity, Verdict};
use crate::block::total;
use crate::{Block, Run};
use serde_json::json;

/// Below this share of what was scheduled a target is saturated.
pub const ACHIEVED_LEAST: f64 = 0.99;
/// Below this probability the sends of random arrivals were not random: a false alarm in a thousand runs.
const ARRIVALS_P_LEAST: f64 = 0.001;
/// A schedule lag that grows by more than this, in seconds for each second, is a queue that will not drain.
pub const LAG_GROWTH_MOST: f64 = 0.01;

/// The server did not keep up with the schedule: response times are a growing queue, not its speed.
pub(super) fn saturated(run: &Run) -> Option<Verdict> {
    if !is_open(run) || run.total.counts.scheduled == 0 {
        return None;
    }
    let growth = lag_growth(run);
    // An answer that is not as expected came all the same: `failed_requests` says so, and no queue grows by it.
    let counts = run.total.counts;
    let answered = total([run.total.completed_in_window, counts.bad_status, counts.bad_body]);
    let behind = is_short(run, answered, ACHIEVED_LEAST);
    let first_break = first_break(run);
    (behind || growth > LAG_GROWTH_MOST || first_break.is_some()).then(|| {
        let mut verdict = Verdict::new("saturated", Blame::Server, Severity::Caution)
            .with("offered_per_s", json!(run.rate_per_s.offered))
            .with("achieved_per_s", json!(run.rate_per_s.achieved))
            .with("schedule_lag_growth_s_per_s", json!(growth));
        if let Some(Break { before, at }) = first_break {
            verdict = verdict.with("fell_behind_at_per_s", json!(at.offered_per_s));
            if let Some(before) = before {
                verdict = verdict.with("kept_up_at_per_s", json!(before.offered_per_s));
            }
        }
        verdict.remedy(
            "response times are a queue that grows with the length of the run: offer less than was achieved",
        )
    })
}

/// Valid responses completed in the window for each request scheduled in it.
pub(crate) fn achieved_share(run: &Run) -> f64 {
    run.total.completed_in_window as f64 / (run.total.counts.scheduled as f64).max(1.0)
}

/// Whether an open loop achieved less than this share of what it scheduled. Answers that came well, but after the
/// window, are excused as far as a server that keeps up has them too; what never came well is not.
pub fn fell_short(run: &Run, least: f64) -> bool {
    let never = (run.total.counts.ok as f64) < least * run.total.counts.scheduled as f64;
    never || is_short(run, run.total.completed_in_window, least)
}

/// Whether so many answers in the window are too few, by more than are in service at its end.
fn is_short(run: &Run, answered: u64, least: f64) -> bool {
    let scheduled = run.total.counts.scheduled as f64;
    let missing = scheduled - answered as f64;
    missing > (1.0 - least) * scheduled && missing > in_service(run)
}

/// Requests that are in service at any moment, by Little's law from rate and service time: so many are unanswered at
/// the end of every window, of a server that keeps up too. Never more than the connections carry.
fn in_service(run: &Run) -> f64 {
    let most = run.connections.had as f64 * f64::from(run.loop_.depth);
    let service_s = run.total.service_time_ns.as_ref().map_or(0.0, |times| times.mean / 1e9);
    (run.loop_.offered_per_s.unwrap_or(0.0) * service_s).ceil().min(most)
}

/// Least-squares slope of the mean schedule lag over the window's intervals, in seconds for each second.
fn lag_growth(run: &Run) -> f64 {
    let points: Vec<(f64, f64)> = run
        .intervals
        .iter()
        .filter(|interval| {
            interval.phase == crate::Phase::Window && interval.start_ns < run.phases.window.end_ns
        })
        .filter_map(|interval| Some((interval.start_ns as f64, mean_lag(&interval.block)?)))
        .collect();
    if points.len() < 3 { 0.0 } else { paceline_stats::slope(&points).unwrap_or(0.0) }
}

fn mean_lag(block: &Block) -> Option<f64> {
    Some(block.generator_lag_ns.as_ref()?.mean + block.connection_wait_ns.as_ref()?.mean)
}

/// Random arrivals did not leave as randomly as was asked: late ones leave together.
pub(super) fn arrivals_off(run: &Run) -> Option<Verdict> {
    let check = run.arrival_check.filter(|check| check.p_value < ARRIVALS_P_LEAST)?;
    Some(
        Verdict::new("arrivals_off", Blame::Generator, Severity::Note)
            .with("anderson_darling", json!(check.anderson_darling))
            .with("p_value", json!(check.p_value))
            .with("gaps", json!(check.gaps))
            .remedy(
                "sends were not spaced as Poisson arrivals: read generator lag and connection wait, give it a core of its own, spin (--pace spin)",
            ),
    )
}
