//! How a run was judged, as records keep it: verdicts and the outcomes of gates.
//!
//! When a verdict is given, and what each means, is the judge crate's; `docs/reading-a-verdict.md` explains all.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A named reason why a number may not mean what it seems to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Its name, in snake case; docs/reading-a-verdict.md explains each.
    pub name: String,
    /// Where the cause is: server, generator, environment or user.
    pub blame: Blame,
    /// How much it affects the result: `note`, `caution` or `invalid`.
    pub severity: Severity,
    /// The figures it rests on, units in the keys.
    pub evidence: BTreeMap<String, serde_json::Value>,
    /// What to do about it.
    pub remedy: String,
}

/// Who is to blame.
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

/// How a gate came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateOutcome {
    /// The gate as it was written, such as `response.p99<10ms`.
    pub gate: String,
    /// Whether the run showed that it keeps to it.
    pub passed: bool,
    /// Why the gate did not pass; empty where it passed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub reasons: Vec<GateReason>,
    /// The figures it rests on, units in the keys.
    pub evidence: BTreeMap<String, serde_json::Value>,
}

/// Why a gate did not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateReason {
    /// The figure is beyond the limit.
    BeyondLimit,
    /// So many requests failed that there is no such figure: they are misses.
    Failures,
    /// The figure is a lower bound: answers that never came are in it at the time waited for them.
    LowerBound,
    /// Too few requests for the figure.
    TooFewSamples,
    /// There is no such figure in this run.
    NotMeasured,
    /// The load was not the one asked for.
    NotDelivered,
    /// The run is invalid: see its verdicts.
    Invalid,
    /// The run was stopped before its end.
    Stopped,
    /// The server broke the rules of HTTP: some responses cannot be told from wrong ones.
    BrokeRules,
    /// Connections were never answered, by requests from before the window that no figure counts.
    Starved,
}
