//! The database of a launch: what a load asks of it, what it cost, and what it counted itself.
//!
//! Written by the lab, which reads the counters before and after a run. What the difference means is for the judge.

use crate::ProcessUse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The database of a load's launch, and the connections that the server may open to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseLoad {
    /// Name of the folder of the database.
    pub database: String,
    /// Connections of the whole server to the database.
    pub pool: u32,
}

/// What the database has to do for one valid response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatabaseWork {
    /// Statements that read rows, each on its own.
    pub selects: u32,
    /// Rows that are read for one response.
    pub rows_read: u32,
    /// Rows that are updated for one response.
    #[serde(default)]
    pub rows_updated: u32,
}

/// What the database was asked over a run, what it counted, and what it cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseUse {
    /// What it is, with its receipt.
    pub database: DatabaseReceipt,
    /// What it has to do for one valid response.
    pub work: DatabaseWork,
    /// Valid responses of the whole run, warm-up included: what the counters are compared with.
    pub responses: u64,
    /// What it counted from before the run to after it; none where it could not be asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub counted: Option<DatabaseCounts>,
    /// Rows that a request after the run returned as updated, and how many of them the database has so.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stored: Option<StoredRows>,
    /// What its processes cost over the window.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub process: Option<ProcessUse>,
    /// What the server did after the database had ended under load and was started again.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub recovery: Option<DatabaseRecovery>,
}

/// What a server did once its database, which had ended under load, was there again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseRecovery {
    /// From the database's return to the server's first valid answer, in seconds; none where there was none in time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answered_after_s: Option<f64>,
    /// Requests before it that failed or were answered wrongly, one at a time.
    pub failed: u32,
    /// What was wrong with the last of them.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub last_failure: String,
}

/// What a database is, with its receipt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseReceipt {
    /// The folder's name.
    pub id: String,
    /// Name of the database, for people.
    pub name: String,
    /// What its version command printed.
    pub versions: String,
    /// The settings it was started with.
    pub settings: String,
}

/// What a database counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseCounts {
    /// Statements that read rows of the two tables.
    pub selects: u64,
    /// Rows that these statements returned.
    pub rows_read: u64,
    /// Number of statements that updated rows.
    pub updates: u64,
    /// Rows that these statements updated.
    pub rows_updated: u64,
    /// Most connections that were open to it at once, as far as was seen.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connections: Option<u64>,
}

/// How many of the rows that were returned as updated are stored so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoredRows {
    /// Rows that were returned, each id once.
    pub returned: u64,
    /// Those of them that the database has with the returned value.
    pub stored: u64,
}

impl DatabaseCounts {
    /// What was counted since `first`.
    #[must_use]
    pub fn since(&self, first: &Self) -> Self {
        Self {
            selects: self.selects.saturating_sub(first.selects),
            rows_read: self.rows_read.saturating_sub(first.rows_read),
            updates: self.updates.saturating_sub(first.updates),
            rows_updated: self.rows_updated.saturating_sub(first.rows_updated),
            connections: self.connections,
        }
    }
}
