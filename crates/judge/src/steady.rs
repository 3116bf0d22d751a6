//! Judges whether the window was steady.
//!
//! A closed loop is judged by responses per second, an open loop, whose rate is given, by the median service time, over
//! the intervals of the window. The mean changes with every pause of a few milliseconds. A change is not blamed on the
//! server if the generator itself was disturbed. For the rule and its false alarms see `paceline_stats::steadiness`.

use crate::facts::{self, RunSlice, is_open};
use crate::silence::stopped_answering;
use crate::{TypedVerdict, generator, load, overload, server};
use paceline_record::Run;
use paceline_stats::{Steadiness, percent_text, steadiness};

/// A change of the median service time below this, in nanoseconds, may come from waking an idle CPU.
const MIN_TIME_CHANGE_NS: f64 = 20_000.0;
/// On a virtual machine the host's load changes what a request costs: with a steady server at 2,000 requests per second
/// the median moved within ten seconds by up to 46 µs.
const MIN_TIME_CHANGE_NS_VIRTUAL: f64 = 60_000.0;

/// The finding on the window's steadiness. Intended changes of the load, a growing queue and a pause are judged
/// elsewhere.
pub(crate) fn not_steady(run: &Run) -> Option<TypedVerdict> {
    let shaped = run.loop_.changes() || run.loop_.think.is_some() || run.loop_.requests.is_some();
    let is_judged = overload::is_saturated(run) || load::outage(run).is_some();
    if shaped || is_judged || stopped_answering(run).is_some() || generator::is_spoiled(run) {
        return None;
    }
    let open = is_open(run);
    let value = |stretch: &RunSlice| match open {
        true => stretch.service.0 as f64,
        false => stretch.counts.ok as f64 / stretch.length_s(),
    };
    let slices = facts::window(run);
    let values: Vec<f64> = slices.iter().map(value).collect();
    // If requests are rare, an interval without any carries no information.
    if values.contains(&0.0) {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let least_ns = match run.environment.virtual_machine {
        true => MIN_TIME_CHANGE_NS_VIRTUAL,
        false => MIN_TIME_CHANGE_NS,
    };
    // Requests in flight at either end of a third may be counted in it or not: a smaller change of the rate may be
    // caused by this alone.
    let of_a_third = slices.iter().map(|slice| slice.counts.ok as f64).sum::<f64>() / 3.0;
    let is_counted = |change: f64| open || change.abs() * of_a_third > 2.0 * facts::outstanding_max(run);
    match steadiness(&values) {
        Steadiness::Changes { change } if !is_counted(change) => None,
        Steadiness::Unknown | Steadiness::Steady => None,
        Steadiness::Changes { change } if is_disturbed(run, change) => None,
        Steadiness::Unsteady if is_disturbed(run, variation(&values, mean)) => None,
        Steadiness::Changes { change } if open && change.abs() * mean < least_ns => None,
        Steadiness::Unsteady => Some(unsteady(&values, mean, judged(open))),
        // More time, or fewer responses, is slower.
        Steadiness::Changes { change } if (change > 0.0) == open => {
            Some(TypedVerdict::SlowingDown { change, change_in_words: in_words(change, open) })
        }
        Steadiness::Changes { change } => Some(TypedVerdict::StillWarming {
            change: Some(change),
            warmed_s: None,
            rate_before_per_s: None,
            rate_last_per_s: None,
            finding: format!("{} from the first to the last third of the window.", in_words(change, open)),
            advice: format!("Use a longer warm-up: --warmup {}", warmup(run)),
        }),
    }
}

/// Whether waiting of the generator or of the server for a CPU may have caused at least half of a change: it was not the
/// same in all parts of the window.
fn is_disturbed(run: &Run, change: f64) -> bool {
    2.0 * (generator::delayed_share(run) + server::delayed_share(run)) >= change.abs()
}

/// What the steadiness is judged by.
fn judged(open: bool) -> &'static str {
    if open { "median service time" } else { "rate" }
}

/// A change of it: `The rate fell by 12 %`.
fn in_words(change: f64, open: bool) -> String {
    let direction = if change > 0.0 { "rose" } else { "fell" };
    format!("The {} {direction} by {}", judged(open), percent_text(change.abs()))
}

/// The range of some values as a share of their mean.
fn variation(values: &[f64], mean: f64) -> f64 {
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = values.iter().copied().fold(0.0, f64::max);
    (highest - lowest) / mean
}

fn unsteady(values: &[f64], mean: f64, what: &'static str) -> TypedVerdict {
    let variation_share = variation(values, mean);
    let percent = 100.0 * variation_share;
    TypedVerdict::Unsteady { variation_share, intervals: values.len(), what, percent }
}

/// A warm-up to try: twice as long as warm-up and window together.
fn warmup(run: &Run) -> String {
    let warmup_ns = run.phases.warmup.end_ns.saturating_sub(run.phases.warmup.start_ns);
    format!("{:.0}s", (2.0 * (warmup_ns as f64 / 1e9 + run.window_s)).ceil())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variation_of_an_unsteady_window_is_shown() {
        let TypedVerdict::Unsteady { variation_share, intervals, percent, .. } =
            unsteady(&[500.0, 750.0, 1000.0], 750.0, judged(false))
        else {
            panic!("another finding")
        };
        assert_eq!((variation_share, intervals, percent.round()), (2.0 / 3.0, 3, 67.0));
    }
}
