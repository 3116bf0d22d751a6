//! The result of `paceline capacity` as a page shows it: the search, its windows and the load-response curve.

use paceline_experiment::{Capacity, CapacityWindow, WindowOutcome, capacity_text};
use schemars::JsonSchema;
use serde::Serialize;

/// A capacity.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CapacityPage {
    /// Everything that the search found.
    #[serde(flatten)]
    pub capacity: Capacity,
    /// The objective in one line: `response.p99<10ms, errors<0.1%`.
    pub objective_text: String,
    /// What limited the server, in words.
    pub limit_words: &'static str,
    /// Windows of the search that count, and those that were disturbed.
    pub counted: usize,
    /// Windows that were disturbed and do not count.
    pub disturbed: usize,
    /// When and on which machine it was measured: `measured 2026-11-28T10:00:00Z on ...`; empty if not known.
    pub measured: String,
    /// The command that repeats it; empty in results of earlier versions.
    pub command: String,
    /// The report that a terminal shows of it.
    pub text: String,
}

impl CapacityPage {
    /// The page of a capacity.
    pub fn new(capacity: &Capacity) -> Self {
        let is_void = |window: &&CapacityWindow| window.outcome == WindowOutcome::Void;
        let disturbed = capacity.windows.iter().filter(is_void).count();
        Self {
            objective_text: capacity.objective.to_string(),
            limit_words: capacity.limit.kind.words(),
            counted: capacity.windows.len() - disturbed,
            disturbed,
            measured: capacity.conditions.as_ref().map(|found| found.measured()).unwrap_or_default(),
            command: paceline_escape::shell_line(&capacity.argv),
            text: capacity_text(capacity),
            capacity: capacity.clone(),
        }
    }
}
