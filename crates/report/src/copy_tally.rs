//! The A/A check of a set of rounds: the differences that they claimed between servers and their copies.
//!
//! Printed by `paceline report --copies`. `copies.rs` compares each pair.

use crate::Report;
use crate::copies::CopyCheck;
use paceline_escape::{TerminalText, terminal};
use paceline_stats::{Variance, binomial_max, counted};
use schemars::JsonSchema;
use serde::Serialize;

/// The expected share of false claims between equal servers.
const FALSE_CLAIMS: f64 = 0.05;

/// The claims of a set of A/A rounds about copies.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CopyTally {
    /// Rounds with a copy.
    pub rounds: usize,
    /// Figures by which tables are ordered.
    pub deciding: ClaimCount,
    /// All figures; the figures of one launch depend on each other.
    pub all: ClaimCount,
    /// The spread of the differences in standard errors. Outside 0.8 to 1.3 the intervals are wrong.
    pub t_spread: Option<f64>,
}

/// The number of figures that were claimed to differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClaimCount {
    /// Compared figures.
    pub compared: usize,
    /// Figures that were claimed to differ.
    pub claimed: usize,
    /// Maximum number of claims in 19 of 20 such sets, with 95 % intervals.
    pub claimed_most: usize,
}

impl ClaimCount {
    fn from_checks(checks: &[&CopyCheck]) -> Self {
        let claimed = checks.iter().filter(|check| check.is_claimed).count();
        Self { compared: checks.len(), claimed, claimed_most: binomial_max(checks.len(), FALSE_CLAIMS) }
    }

    /// Whether the number of claims is within the limit for 95 % intervals.
    pub fn is_kept(&self) -> bool {
        self.claimed <= self.claimed_most
    }
}

impl CopyTally {
    /// Counts the claims of some rounds.
    pub fn from_reports(reports: &[Report]) -> Self {
        let tables = || reports.iter().flat_map(|report| &report.tables);
        let all: Vec<&CopyCheck> = tables().flat_map(|table| &table.copies).collect();
        let deciding: Vec<&CopyCheck> = all.iter().copied().filter(|check| check.is_deciding).collect();
        let spread = Variance::from_values(&deciding.iter().map(|check| check.t).collect::<Vec<_>>());
        let has_copy = |report: &&Report| report.tables.iter().any(|table| !table.copies.is_empty());
        Self {
            rounds: reports.iter().filter(has_copy).count(),
            deciding: ClaimCount::from_checks(&deciding),
            all: ClaimCount::from_checks(&all),
            t_spread: spread.map(|spread| spread.value.sqrt()),
        }
    }

    /// Whether the claims on deciding figures are within the limit.
    pub fn is_kept(&self) -> bool {
        self.deciding.is_kept()
    }
}

/// Every pair of copies of some rounds, then the claims, for a terminal.
pub fn copies_text(reports: &[Report]) -> TerminalText {
    let mut text = TerminalText::default();
    for report in reports {
        for table in &report.tables {
            for check in table.copies.iter().filter(|check| check.is_deciding) {
                let [low, high] = check.interval;
                text.push(&terminal!(
                    "{}  {} {}  {}  {}: ratio {:.3} (95 % interval {:.3} to {:.3}){}\n",
                    report.round.id,
                    table.workload,
                    table.load.name,
                    check.server,
                    check.metric,
                    check.ratio,
                    low,
                    high,
                    if check.is_claimed { "  FALSE POSITIVE" } else { "" }
                ));
            }
        }
    }
    let tally = CopyTally::from_reports(reports);
    let count = |count: ClaimCount| {
        terminal!(
            "{} of {} comparisons found a difference; at most {} are expected by chance\n",
            count.claimed,
            count.compared,
            count.claimed_most
        )
    };
    text.push(&terminal!("\n{} with copies\n", counted(tally.rounds, "round", "rounds")));
    text.push(&terminal!("metrics that tables are sorted by: {}", count(tally.deciding)));
    text.push(&terminal!(
        "all metrics (metrics of the same launch are not independent): {}",
        count(tally.all)
    ));
    if let Some(spread) = tally.t_spread.filter(|_| tally.deciding.compared >= 5) {
        text.push(&terminal!(
            "spread of the differences, in units of their standard error: {:.2} (0.8 to 1.3 expected)\n",
            spread
        ));
    }
    text
}
