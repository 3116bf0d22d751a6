//! Verdicts and gate outcomes in the form that records keep.
//!
//! The judge crate defines when a verdict is given and what it means; `docs/reference/verdicts.md` explains all.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A named reason why a number may not mean what it seems to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Its name, in snake case; docs/reference/verdicts.md explains each.
    pub name: String,
    /// Where the cause is: server, generator, environment or user.
    pub blame: Blame,
    /// How much it affects the result: `note`, `caution` or `invalid`.
    pub severity: Severity,
    /// The figures that support it, units in the keys.
    pub evidence: BTreeMap<String, serde_json::Value>,
    /// What to do about it: the remedy as a sentence.
    pub remedy: String,
}

/// The party to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Blame {
    /// The server under test.
    Server,
    /// The load generator.
    Generator,
    /// The machine, or something else running on it.
    Environment,
    /// The requested settings.
    User,
}

/// The severity of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Information only.
    Note,
    /// The number must be read with care.
    Caution,
    /// The number does not answer the question; the run exits 1.
    Invalid,
}

/// The outcome of a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateOutcome {
    /// The gate as written, such as `response.p99<10ms`.
    pub gate: String,
    /// Whether the run proved that the limit was met.
    pub passed: bool,
    /// Why the gate did not pass; empty if it passed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub reasons: Vec<GateReason>,
    /// The figures that support the outcome, units in the keys.
    pub evidence: BTreeMap<String, serde_json::Value>,
}

/// Why a gate did not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateReason {
    /// The figure is beyond the limit.
    BeyondLimit,
    /// Too many failed requests for this figure: failures are misses.
    Failures,
    /// The figure is a lower bound: it includes missing responses at the time waited for them.
    LowerBound,
    /// Too few requests for the figure.
    TooFewSamples,
    /// The run has no such figure.
    NotMeasured,
    /// The load was not the requested one.
    NotDelivered,
    /// The run is invalid: see its verdicts.
    Invalid,
    /// The run was stopped before its end.
    Stopped,
    /// The server broke the rules of HTTP: some wrong responses cannot be recognised.
    BrokeRules,
    /// Connections left requests from before the window without a response, which no figure counts.
    Starved,
    /// The figure is beyond the limit, and may include delays of the generator: without them, the server may meet the
    /// limit.
    GeneratorLate,
    /// The figure is beyond the limit, and other processes used the server's CPU: without them, the server may meet the
    /// limit.
    ServerDelayed,
}
