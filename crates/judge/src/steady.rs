//! Was the window steady? Its first third against its last.
//!
//! In a closed loop by responses per second, in an open one, whose rate is given, by the mean service time. The bounds
//! are those of a simulation: |t| above 3 and a change above 5 % give a false alarm in about one run in ten of a noisy
//! machine, and find a change of 30 % nearly always.

use crate::facts::{self, Stretch, is_open};
use crate::{Finding, load};
use paceline_record::Run;

/// Intervals that a judgement needs: two for each third.
const STRETCHES_LEAST: usize = 6;
/// Change from which a run is not steady.
const CHANGE_LEAST: f64 = 0.05;
/// And its size in standard errors.
const T_LEAST: f64 = 3.0;

/// The change over a window.
struct Change {
    first: f64,
    last: f64,
    /// Positive where the server became slower.
    slower_by: f64,
}

pub(crate) fn slowing_down(run: &Run) -> Option<Finding> {
    let change = change(run).filter(|change| change.slower_by > 0.0)?;
    Some(Finding::SlowingDown {
        first_third: change.first,
        last_third: change.last,
        change: change.slower_by,
        percent: 100.0 * change.slower_by,
    })
}

pub(crate) fn still_warming(run: &Run) -> Option<Finding> {
    let change = change(run).filter(|change| change.slower_by < 0.0)?;
    let warmup_ns = run.phases.warmup.end_ns.saturating_sub(run.phases.warmup.start_ns);
    let warmed_s = warmup_ns as f64 / 1e9 + run.window_s;
    Some(Finding::StillWarming {
        first_third: change.first,
        last_third: change.last,
        change: -change.slower_by,
        warmup: format!("{:.0}s", (2.0 * warmed_s).ceil()),
    })
}

/// The change, where it is significant. A load that changes, or a queue that grows, is not steady by itself.
fn change(run: &Run) -> Option<Change> {
    let shaped = run.loop_.shape.is_some() || run.loop_.think.is_some() || run.loop_.requests.is_some();
    let stretches = facts::window(run);
    if shaped || stretches.len() < STRETCHES_LEAST || load::saturated(run).is_some() {
        return None;
    }
    let open = is_open(run);
    let value = |stretch: &Stretch| match open {
        true => stretch.service.0 / (stretch.service.1 as f64).max(1.0),
        false => stretch.counts.ok as f64 / stretch.length_s(),
    };
    let values: Vec<f64> = stretches.iter().map(value).collect();
    let third = values.len() / 3;
    let (first, first_error) = mean_and_error(&values[..third]);
    let (last, last_error) = mean_and_error(&values[values.len() - third..]);
    let t = (last - first) / first_error.hypot(last_error).max(f64::MIN_POSITIVE);
    let share = (last - first) / first.max(f64::MIN_POSITIVE);
    let slower_by = if open { share } else { -share };
    (first > 0.0 && t.abs() > T_LEAST && share.abs() > CHANGE_LEAST).then_some(Change {
        first,
        last,
        slower_by,
    })
}

/// The mean of some values and its standard error.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, (variance / n).sqrt())
}
