//! What results there are: the first page.
//!
//! Only the rounds' own documents are read for it, not their trials.

use crate::WebError;
use crate::library::Library;
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
    /// The id of the single run, where there is nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
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
    /// What the plan says of itself in one sentence; empty where it says nothing.
    pub about: String,
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
    /// The page of these results.
    ///
    /// # Errors
    /// [`WebError`] when they cannot be read.
    pub fn of(library: &Library) -> Result<Self, WebError> {
        let (rounds, unreadable) = library.rounds()?;
        Ok(Self {
            version: env!("CARGO_PKG_VERSION"),
            place: library.place(),
            rounds: rounds.into_iter().map(|(round, kept)| RoundEntry::of(round, kept)).collect(),
            run: library.run().map(|run| run.id.clone()),
            unreadable,
        })
    }
}

impl IndexPage {
    /// The page of a report of one file, which has one round or none.
    pub fn of_file(rounds: Vec<Round>) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            place: "this file".to_owned(),
            rounds: rounds.into_iter().map(|round| RoundEntry::of(round, None)).collect(),
            run: None,
            unreadable: Vec::new(),
        }
    }
}

impl RoundEntry {
    /// A round in the list.
    pub fn of(round: Round, kept: Option<u64>) -> Self {
        Self {
            id: round.id,
            plan: round.plan,
            about: plan_about(&round.plan_toml),
            imported: round.plan_toml.is_empty(),
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
    fn a_plan_that_says_nothing_of_itself_has_no_sentence() {
        assert_eq!(plan_about("name = \"quick\"\nabout = \"Hello world.\""), "Hello world.");
        assert_eq!((plan_about("name = 3"), plan_about("about = 3"), plan_about("=")), Default::default());
    }
}
