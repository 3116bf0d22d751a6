//! The first page: a list of the stored results.
//!
//! Only the rounds' own documents are read for it, not their trials.

use paceline_record::Round;
use schemars::JsonSchema;
use serde::Serialize;

/// Every round, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct IndexPage {
    /// The version of Paceline that shows them.
    pub version: &'static str,
    /// Where they are kept.
    pub place: String,
    /// The rounds.
    pub rounds: Vec<RoundEntry>,
    /// The address of the single run or capacity, where there is nothing else: `/run`, `/capacity`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<&'static str>,
    /// What could not be read.
    pub unreadable: Vec<String>,
}

/// A round in the list.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RoundEntry {
    /// Its id.
    pub id: String,
    /// The plan's name.
    pub plan: String,
    /// What the plan, or the published document, measured; empty where it does not say.
    pub about: String,
    /// How it differs from its plan, such as by fewer servers; none where it was imported.
    pub changes: Vec<String>,
    /// Whether its figures were published by others: it has no plan that was carried out.
    pub imported: bool,
    /// Wall-clock start, RFC 3339, UTC.
    pub started_at: String,
    /// When it ended; none while it is unfinished.
    pub finished_at: Option<String>,
    /// How many trials were planned.
    pub planned: u32,
    /// How many are kept, where that is known.
    pub kept: Option<u64>,
    /// The processor's name.
    pub cpu_model: String,
    /// Processors online.
    pub cores: u32,
    /// Whether the machine is a virtual one.
    pub virtual_machine: bool,
    /// Figures of the plan's source that stand beside its own.
    pub observed: usize,
}

impl IndexPage {
    /// The page of rounds at a place, each with how many trials are kept of it where that is known.
    pub fn from_rounds(place: String, rounds: Vec<(Round, Option<u64>)>, unreadable: Vec<String>) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            place,
            rounds: rounds.into_iter().map(|(round, kept)| RoundEntry::from_round(round, kept)).collect(),
            only: None,
            unreadable,
        }
    }

    /// The page of a report of one file.
    pub fn of_file(rounds: Vec<Round>) -> Self {
        let rounds = rounds.into_iter().map(|round| (round, None)).collect();
        Self::from_rounds("this file".to_owned(), rounds, Vec::new())
    }
}

impl RoundEntry {
    /// How many trials reading it takes: those kept. Only where that is not known it is what the round says of itself,
    /// which may be any number.
    pub fn trials(&self) -> u64 {
        self.kept.unwrap_or(u64::from(self.planned))
    }

    /// A round in the list.
    pub fn from_round(round: Round, kept: Option<u64>) -> Self {
        let imported = round.is_imported();
        Self {
            id: round.id,
            plan: round.plan,
            about: if imported {
                round.changes.get(1..).unwrap_or_default().join(" ")
            } else {
                plan_about(&round.plan_toml)
            },
            changes: if imported { Vec::new() } else { round.changes },
            imported,
            started_at: round.started_at,
            finished_at: round.finished_at,
            planned: round.planned,
            kept,
            cpu_model: round.environment.cpu_model,
            cores: round.environment.cores,
            virtual_machine: round.environment.virtual_machine,
            observed: round.observed.len(),
        }
    }
}

/// The `about` of a plan.
pub fn plan_about(plan_toml: &str) -> String {
    let plan: toml::Table = plan_toml.parse().unwrap_or_default();
    plan.get("about").and_then(toml::Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_without_a_description_has_no_sentence() {
        assert_eq!(plan_about("name = \"quick\"\nabout = \"Hello world.\""), "Hello world.");
        assert_eq!((plan_about("name = 3"), plan_about("about = 3"), plan_about("=")), Default::default());
    }
}
