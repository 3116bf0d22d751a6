//! Where a trial's figures come from that Paceline did not measure.
//!
//! Written by the importers (`crates/import`), shown by reports and pages beside what was measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The origin of an imported trial, and the figures that have no other place in it. What its source does not say is left
/// out there and 0 in the run, whose phases, generator and connections say nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Imported {
    /// The kind of report: `ab`, `techempower`, `figures` and others.
    pub format: String,
    /// The file, and where in it: lines or a path of keys.
    pub place: String,
    /// Times as the source gives them, in nanoseconds, by `min`, `mean`, `stddev`, `p50`, `p99_9`, `max` and the like:
    /// service times of a closed loop, response times of an open one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub times_ns: BTreeMap<String, u64>,
    /// Other figures by a name with its unit: `server_cpu_percent`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
    /// What has to be known beside the figures.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}
