//! The result of a window of a capacity search.

use crate::load::LoadResult;
use paceline_record::{Blame, GateReason, Severity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of a window against the objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WindowOutcome {
    /// The objective was met.
    Pass,
    /// The objective was missed.
    Miss,
    /// Spoiled by the generator or the machine, so without a result.
    Void,
}

impl WindowOutcome {
    /// Judges a window from its gates and verdicts. Too few requests alone are not a miss; a miss that a disturbance of
    /// the generator or the machine may explain is void.
    pub fn from_result(result: &LoadResult) -> Self {
        match Self::of_undisturbed(result) {
            Self::Miss if result.disturbed_by().is_some() => Self::Void,
            outcome => outcome,
        }
    }

    /// As [`WindowOutcome::from_result`], but a disturbance does not excuse a miss.
    pub(crate) fn of_undisturbed(result: &LoadResult) -> Self {
        if result.void_because().is_some() {
            return Self::Void;
        }
        let is_miss = |reason: &GateReason| match reason {
            GateReason::BeyondLimit
            | GateReason::Failures
            | GateReason::LowerBound
            | GateReason::NotDelivered
            | GateReason::NotMeasured
            | GateReason::BrokeRules
            | GateReason::Starved => true,
            GateReason::TooFewSamples
            | GateReason::Invalid
            | GateReason::Stopped
            | GateReason::GeneratorLate
            | GateReason::ServerDelayed => false,
        };
        let by_server = |verdict: &&paceline_record::Verdict| {
            verdict.blame == Blame::Server && verdict.severity == Severity::Invalid
        };
        let missed = result.gates.iter().flat_map(|gate| &gate.reasons).any(is_miss)
            || result.verdicts.iter().any(|verdict| by_server(&verdict));
        if missed { Self::Miss } else { Self::Pass }
    }
}
