//! How an access log is replayed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The speeds at which a log can be replayed.
const SPEEDS: std::ops::RangeInclusive<f64> = 1e-3..=1e6;

/// Which requests of an access log are sent, and how fast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReplaySpec {
    /// How many times as fast as they were logged.
    pub speed: f64,
    /// Whether requests with a method that is not safe (RFC 9110 §9.2.1) are sent too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all_methods: bool,
}

impl Default for ReplaySpec {
    fn default() -> Self {
        Self { speed: 1.0, all_methods: false }
    }
}

impl ReplaySpec {
    /// Whether a log can be replayed this many times as fast as it was logged.
    pub fn is_speed(factor: f64) -> bool {
        SPEEDS.contains(&factor)
    }
}
