//! Verdicts: named reasons why a number may not mean what it seems to.
//!
//! The binary asks for those on a run, the lab for those on a trial, and they are kept in the record; reports ask for
//! those on a row. Each is explained in `docs/reading-a-verdict.md`. A verdict corrects nothing and drops nothing: the
//! number stands beside it. Whether a trial is tried once more because of one is decided in the lab.

mod balancing;
mod disturbance;
mod outage;
mod row;
mod run;
mod saturation;
mod segments;
mod trial;

pub use balancing::{RAN_OUT_LEAST, RanOut, name as process_name, ran_out};
pub use disturbance::DISTURBANCE_MOST;
pub use row::of_row;
pub use run::{GENERATOR_BUSY_MOST, SAMPLES_FOR_INTERVAL, of_run};
pub(crate) use saturation::achieved_share;
pub use saturation::{ACHIEVED_LEAST, LAG_GROWTH_MOST, fell_short};
pub use trial::of_trial;
#[cfg(test)]
pub(crate) use trial::tests::trial as trial_for_tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A named reason why a number may not mean what it seems to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Its name, in snake case; docs/reading-a-verdict.md explains each.
    pub name: String,
    /// Whose doing it is.
    pub blame: Blame,
    /// How much it spoils.
    pub severity: Severity,
    /// The figures it rests on, units in the keys.
    pub evidence: BTreeMap<String, serde_json::Value>,
    /// What to do about it, for people.
    pub remedy: String,
}

impl Verdict {
    /// A verdict without evidence yet.
    pub fn new(name: &str, blame: Blame, severity: Severity) -> Self {
        Self { name: name.to_owned(), blame, severity, evidence: BTreeMap::new(), remedy: String::new() }
    }

    /// Adds a figure it rests on, its unit in the key.
    #[must_use]
    pub fn with(mut self, key: &str, figure: serde_json::Value) -> Self {
        self.evidence.insert(key.to_owned(), figure);
        self
    }

    /// Says what to do about it.
    #[must_use]
    pub fn remedy(mut self, remedy: &str) -> Self {
        self.remedy = remedy.to_owned();
        self
    }
}

/// Whose doing it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Blame {
    /// The server under test.
    Server,
    /// The load generator.
    Generator,
    /// The machine, or something else running on it.
    Environment,
    /// What was asked for.
    User,
}

/// How much it spoils.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know.
    Note,
    /// Read the number with care.
    Caution,
    /// The number does not answer the question; the run exits 1.
    Invalid,
}
