//! The whole spectrum of percentiles (`--percentiles`), of the time that answers the run's question.
//!
//! Called by `mod.rs`. It has the steps of HdrHistogram's own distribution, which `hdr.rs` writes for tools with every
//! digit. The other times have no more than their line in `times.rs`.

use super::lines::{Style, table};
use super::quantity::count;
use super::times::{bounded, first_of};
use paceline_record::Run;

/// Steps to each halving of the distance to 100 %, as HdrHistogram's tools have by default.
pub(crate) const STEPS_PER_HALF: u32 = 5;

/// A line for each percentile.
pub(super) fn of_run(run: &Run, style: Style) -> String {
    let (name, times) = first_of(run, &run.total);
    let Some(histogram) = times.and_then(|times| times.decode().ok()) else { return String::new() };
    let rows: Vec<Vec<String>> = histogram
        .spectrum(STEPS_PER_HALF)
        .iter()
        .map(|step| {
            let beyond = histogram.count() - step.count;
            let percentile = format!("{:.7}", step.quantile * 100.0);
            let percentile = percentile.trim_end_matches('0').trim_end_matches('.');
            vec![format!("{percentile}%"), bounded(step.value, &run.total), count(beyond as f64)]
        })
        .collect();
    table(&["percentile", name, "beyond it"], &rows, style)
}
