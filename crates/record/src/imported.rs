//! The origin of the figures of a trial that Paceline did not measure.
//!
//! Written by the importers (`crates/import`), shown by reports and pages beside measured figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The origin of an imported trial, and the figures that have no other place in it. Figures missing in the source are
/// left out here and 0 in the run. The run's phases, generator and connections are not meaningful.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Imported {
    /// The kind of report: `ab`, `techempower`, `figures` and others.
    pub format: String,
    /// The file, and the place in it: lines or a path of keys.
    pub place: String,
    /// Times as the source gives them, in nanoseconds, by `min`, `mean`, `stddev`, `p50`, `p99_9`, `max` and similar
    /// keys: service times of a closed loop, response times of an open one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub times_ns: BTreeMap<String, u64>,
    /// Other figures, by a name that includes the unit: `server_cpu_percent`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
    /// Notes on the figures.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}
