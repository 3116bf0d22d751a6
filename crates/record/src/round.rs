//! A round: a plan carried out in one environment. What `--resume` needs to carry on.

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
}
