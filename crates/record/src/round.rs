//! A round: a plan carried out in one environment.
//!
//! `paceline round` makes it, and finds in it what `--resume` needs to carry on; the store keeps it, reports read it.
//! Its trials are not inside: each names its round. The settings it tells of were changed by the lab (`tune`).

use crate::{Environment, Observation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A plan carried out in one environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Round {
    /// The version of these keys.
    pub schema: u32,
    /// Unique.
    pub id: String,
    /// The plan's name.
    pub plan: String,
    /// The plan as it was carried out, in TOML; `--resume` goes by this, not by the file.
    pub plan_toml: String,
    /// Where every order was drawn from.
    pub seed: u64,
    /// Wall-clock start, RFC 3339, UTC.
    pub started_at: String,
    /// When its last trial was stored; none while it is unfinished.
    pub finished_at: Option<String>,
    /// The command of the load generator as a person gave it, words parted by one space; `paceline` for our own. None
    /// in rounds kept before this was noted. `--resume` takes no other: two tools' numbers do not belong in one table.
    #[serde(default)]
    pub generator: Option<String>,
    /// How many trials were planned.
    pub planned: u32,
    /// The machine.
    pub environment: Environment,
    /// Each stretch of work without interruption, in order.
    pub sittings: Vec<Sitting>,
    /// What of the plan was not carried out as it is written, for people: a scale, repeats cut to the time budget.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub changes: Vec<String>,
    /// What the plan's source observed, to stand beside what was observed now.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub observed: Vec<Observation>,
}

/// A stretch of work without interruption.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sitting {
    /// Unique within the round.
    pub id: String,
    /// Wall-clock start, RFC 3339, UTC.
    pub started_at: String,
    /// Settings of the machine that were looked at and, where they were not as wanted, changed for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tuned: Vec<Tuned>,
}

/// A setting of the machine, before and during a sitting; it was put back after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tuned {
    /// Its name, as sysctl(8) has it where it is one.
    pub name: String,
    /// What it was; nothing where there is none.
    pub before: String,
    /// What it was during the sitting.
    pub after: String,
    /// Why it is not as wanted, where it is not.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub why: String,
}

impl Tuned {
    /// For people: what was changed; nothing where it was as wanted, or could not be changed.
    pub fn changed(&self) -> Option<String> {
        let Self { name, before, after, .. } = self;
        (before != after).then(|| format!("{name} {before} -> {after}"))
    }

    /// For people: which of `settings` are not as wanted, those of one reason together.
    pub fn amiss(settings: &[Self]) -> Vec<String> {
        let mut by_why: Vec<(&str, Vec<&str>)> = Vec::new();
        for setting in settings.iter().filter(|setting| !setting.why.is_empty()) {
            match by_why.iter_mut().find(|(why, _)| *why == setting.why) {
                Some((_, names)) => names.push(&setting.name),
                None => by_why.push((&setting.why, vec![&setting.name])),
            }
        }
        by_why.into_iter().map(|(why, names)| format!("{}: {why}", names.join(", "))).collect()
    }
}
