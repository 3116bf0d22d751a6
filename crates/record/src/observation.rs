//! What a source observed once, as data of the plan that follows it: to stand beside what is observed now.
//!
//! A plan's `[[observed]]` is read as this, a round keeps it, a report renders it. It is never measured against: other
//! machines, other versions and other tools are between the two, and the report says so.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One figure that a source observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// The document of `docs/sources.md`.
    pub source: String,
    /// The server's id here, where one stands for what the source measured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<String>,
    /// What the source calls what it measured.
    pub subject: String,
    /// The workload of the plan, with its case.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub workload: Option<String>,
    /// The name of the load in the plan, a twin's with its ending.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub load: Option<String>,
    /// The form of the server, where the plan has several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub form: Option<String>,
    /// Which figure.
    pub what: Figure,
    /// The source's value, in `unit`.
    pub value: f64,
    /// The unit of the value, for people: what `what` is given in.
    pub unit: String,
    /// What is to be known when the two are read side by side.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub note: String,
}

/// A figure that a source may have observed and a round can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Valid responses per second.
    RequestsPerS,
    /// Valid responses per second for each core (or thread) of the server.
    RequestsPerSPerCore,
    /// Median of the time, in milliseconds: response time in an open loop, service time in a closed one.
    TimeMsP50,
    /// 99 % of the times were at or below it, in milliseconds.
    TimeMsP99,
    /// Bytes received for each response, head included.
    BytesPerResponse,
    /// Share of the responses after which the connection stayed open, in percent.
    KeptAlivePercent,
    /// Highest resident memory of the server, in megabytes.
    RssMb,
    /// CPU time of the server as a share of one core, in percent.
    CpuPercent,
    /// Requests that failed.
    Failed,
}
