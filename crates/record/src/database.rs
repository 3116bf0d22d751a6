//! The database of a launch: its required work, its CPU and memory use, and its own counters.
//!
//! Written by the lab, which reads the counters before and after a run. The judge crate evaluates the difference.

use crate::ProcessUse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The database of a load's launch, and the connections that the server may open to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseLoad {
    /// Name of the database's folder.
    pub database: String,
    /// Connections of the whole server to the database.
    pub pool: u32,
}

/// The work of the database for one valid response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatabaseWork {
    /// Separate statements that read rows.
    pub selects: u32,
    /// Rows that are read for one response.
    pub rows_read: u32,
    /// Rows that are updated for one response.
    #[serde(default)]
    pub rows_updated: u32,
}

impl DatabaseWork {
    /// Whether a response has the rows that it updates, which it reads first, as that of TechEmpower's `updates`.
    pub fn returns_updated_rows(self) -> bool {
        self.rows_read > 0 && self.rows_updated > 0
    }
}

/// The database's work over a run, its counters, and its CPU and memory use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseUse {
    /// The database, with its version and settings.
    pub database: DatabaseReceipt,
    /// Its work for one valid response.
    pub work: DatabaseWork,
    /// Valid responses of the whole run, warm-up included, for comparison with the counters.
    pub responses: u64,
    /// Its counters from before the run to after it; none if they could not be read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub counted: Option<DatabaseCounts>,
    /// Rows that requests after the run returned as updated, and how many the database stores with such a value.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stored: Option<StoredRows>,
    /// CPU and memory of its processes over the window.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub process: Option<ProcessUse>,
    /// The server's recovery after the database had ended under load and was restarted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub recovery: Option<DatabaseRecovery>,
}

/// The recovery of a server after its database had ended under load and was available again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseRecovery {
    /// From the database's return to the server's first valid response, in seconds; none if there was none in time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answered_after_s: Option<f64>,
    /// Failed or wrong requests before it, sent one at a time.
    pub failed: u32,
    /// The fault of the last of them.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub last_failure: String,
}

/// The identity of a database: version and settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseReceipt {
    /// Name of its folder.
    pub id: String,
    /// Display name of the database.
    pub name: String,
    /// Output of its version command.
    pub versions: String,
    /// Its settings at start.
    pub settings: String,
}

/// The counters of a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseCounts {
    /// Statements that read rows of its tables.
    pub selects: u64,
    /// Rows that these statements returned.
    pub rows_read: u64,
    /// Number of statements that updated rows.
    pub updates: u64,
    /// Rows that these statements updated.
    pub rows_updated: u64,
    /// Transactions that clients ended with COMMIT; a statement outside of one is a transaction itself. None in records
    /// of older versions, and if the database does not count them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub commits: Option<u64>,
    /// Open connections when the load was over.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connections: Option<u64>,
}

/// The number of rows returned as updated that are stored with that value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoredRows {
    /// Rows returned, each id once.
    pub returned: u64,
    /// Rows that the database stores with a returned value.
    pub stored: u64,
}

impl DatabaseCounts {
    /// The counts since `first`.
    #[must_use]
    pub fn since(&self, first: &Self) -> Self {
        Self {
            selects: self.selects.saturating_sub(first.selects),
            rows_read: self.rows_read.saturating_sub(first.rows_read),
            updates: self.updates.saturating_sub(first.updates),
            rows_updated: self.rows_updated.saturating_sub(first.rows_updated),
            commits: self.commits.map(|commits| commits.saturating_sub(first.commits.unwrap_or(0))),
            connections: self.connections,
        }
    }
}
