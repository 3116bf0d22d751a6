//! Rates by connections, instances or cores: the fits of the Universal Scalability Law.

use crate::format::number;
use crate::format::sheet::Sheet;
use crate::{ScaledBy, ScalingRow, ScalingTable};

/// The fits of the Universal Scalability Law.
pub(super) fn scaling(table: &ScalingTable, on: &str) -> Sheet {
    let by = match table.by {
        ScaledBy::Connections => "connections",
        ScaledBy::Instances => "instances",
        ScaledBy::Cores => "cores",
    };
    let share = |value: f64| number::value(100.0 * value);
    let row = |row: &ScalingRow| {
        let [low, high] = row.contention_interval;
        let contention = format!("{} ({} to {})", share(row.contention), share(low), share(high));
        let [low, high] = row.coherency_interval.map(|end| number::value(1e6 * end));
        let coherency = format!("{} ({low} to {high})", number::value(1e6 * row.coherency));
        let end = |end: Option<f64>| end.map_or_else(|| "∞".to_owned(), number::value);
        let peak = row.peak_at.map_or_else(
            || "none".to_owned(),
            |at| {
                let [low, high] = row.peak_interval.map(end);
                format!("{} ({low} to {high})", number::value(at))
            },
        );
        let sizes: Vec<String> = row.sizes.iter().map(u32::to_string).collect();
        let rate = number::whole(row.peak_rate_per_s);
        vec![row.server.clone(), sizes.join(", "), contention, coherency, peak, rate]
    };
    Sheet {
        title: format!("{}: requests/s by {by}{on}", table.workload),
        lead: format!(
            "The Universal Scalability Law (Gunther 2007), fitted to one point per launch, with 95 % intervals. The peak is the number \
             of {by} beyond which the rate falls: none if the curve has no peak, ∞ if its interval has no upper end."
        ),
        heads: ["server", by, "contention %", "coherency ppm", "peak at", "requests/s there"]
            .map(str::to_owned)
            .into(),
        words: 2,
        rows: table.rows.iter().map(row).collect(),
        lines: (!table.undetermined.is_empty())
            .then(|| {
                let servers = table.undetermined.join(", ");
                format!(
                    "no curve fitted (the rate does not rise with the number of {by}, or is too noisy): {servers}"
                )
            })
            .into_iter()
            .collect(),
    }
}
