//! What a table can tell apart, in one sentence: launches, and the factor by which two rows must differ.
//!
//! The same sentence stands above a table in text and Markdown and above the chart of a page.

use crate::Table;
use paceline_judge::Metric;

/// From this difference on a table in which no two rows are told apart is called too noisy.
const LARGE_DIFFERENCE: f64 = 0.5;
/// Two launches have one degree of freedom: the difference that they tell apart is a meaningless factor.
const LARGEST_SHOWN: f64 = 10.0;
/// More launches than this take longer than to find a quieter machine.
const MAX_LAUNCHES: usize = 50;

/// The launches of a table and the factor by which two of its rows must differ in a metric to be told apart; or that it
/// is too noisy, and what to do. `difference` is that factor less 1, `is_apart` whether some rows are told apart. None
/// if nothing is known of the noise.
pub fn resolution(table: &Table, metric: &Metric, difference: Option<f64>, is_apart: bool) -> Option<String> {
    let difference = difference?;
    let launches = paceline_stats::counted(table.launches_usable(), "launch", "launches");
    let is_noisy = difference > LARGEST_SHOWN || (difference > LARGE_DIFFERENCE && !is_apart);
    if !is_noisy {
        let factor = factor(difference);
        return Some(format!("{launches}: rows must differ by a factor of {factor} to be ranked apart."));
    }
    let noise = table.noise.iter().find(|noise| noise.metric == metric.key);
    let needed = noise.and_then(|noise| noise.launches_to_find_5_percent);
    let advice = match needed.filter(|needed| *needed <= MAX_LAUNCHES) {
        Some(needed) => format!("measure about {needed} launches (--repeats {needed})"),
        None => "use a quieter machine".to_owned(),
    };
    Some(format!("{launches}: too noisy to rank; {advice}."))
}

/// A factor near 1 with the digits that distinguish it from 1.
fn factor(difference: f64) -> String {
    match difference {
        difference if difference < 0.01 => format!("{:.3}", 1.0 + difference.max(0.001)),
        difference if difference < 1.0 => format!("{:.2}", 1.0 + difference),
        difference => format!("{:.1}", 1.0 + difference),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_differ_from_one() {
        let texts = [0.0, 0.004, 0.034, 0.11, 0.99, 1.31].map(factor);
        assert_eq!(texts, ["1.001", "1.004", "1.03", "1.11", "1.99", "2.3"]);
    }
}
