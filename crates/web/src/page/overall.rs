//! The overall score of each server of a round over the tables that a visitor chose.
//!
//! `paceline_report::overall_scores` computes it; this page names the tables.

use super::metric::judged;
use super::round::{RoundPage, TablePage};
use paceline_report::{OverallScores, Report, Table, overall_scores};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;

/// The overall scores by one metric.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OverallPage {
    /// The metric's id.
    pub metric: String,
    /// The tables over which the scores are computed, by id.
    pub tables: Vec<String>,
    /// The tables from which a visitor can choose: those of one machine and form that have the metric.
    pub offered: Vec<String>,
    /// The scores.
    #[serde(flatten)]
    pub scores: OverallScores,
}

impl OverallPage {
    /// The scores by a metric over the chosen tables, or over all that are ordered by it; none if there is no such
    /// metric or no table with it.
    pub fn new(page: &RoundPage, report: &Report, metric: &str, chosen: &[&str]) -> Option<Self> {
        let judged = judged(metric)?;
        let has = |table: &&TablePage| table.rows.iter().any(|row| row.values.contains_key(metric));
        let with: Vec<&TablePage> = page.tables.iter().filter(has).collect();
        // Two machines, or one core and several, are never mixed: those of the largest table count.
        let is_chosen = |table: &TablePage| chosen.contains(&&*table.id);
        let largest =
            with.iter().max_by_key(|table| (is_chosen(table), table.rows.len(), Reverse(&table.id)))?;
        let offered: Vec<&TablePage> = with
            .iter()
            .copied()
            .filter(|table| (&table.machine, &table.form) == (&largest.machine, &largest.form))
            .collect();
        let is_own = |table: &TablePage| table.metric == metric;
        let has_own = offered.iter().any(|table| is_own(table));
        let wanted = |table: &&TablePage| match chosen {
            [] => is_own(table) || !has_own,
            _ => is_chosen(table),
        };
        let tables: Vec<String> =
            offered.iter().copied().filter(wanted).map(|table| table.id.clone()).collect();
        let of_report: Vec<&Table> = page
            .tables
            .iter()
            .zip(&report.tables)
            .filter(|(table, _)| tables.contains(&table.id))
            .map(|(_, table)| table)
            .collect();
        Some(Self {
            metric: metric.to_owned(),
            scores: overall_scores(&of_report, judged),
            offered: offered.iter().map(|table| table.id.clone()).collect(),
            tables,
        })
    }
}
