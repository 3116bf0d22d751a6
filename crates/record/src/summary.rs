//! The most important figures of a run, under the same keys for both loops.
//!
//! Derived from the rest of the record when it is made; `--format csv` prints its keys and values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most important figures of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Valid responses completed in the window, per second of it.
    pub achieved_per_s: f64,
    /// The rate of the schedule, per second; none in a closed loop.
    pub offered_per_s: Option<f64>,
    /// Requests of the window's cohort.
    pub requests: u64,
    /// Requests with the expected response.
    pub ok: u64,
    /// Requests with another outcome: failed, wrong, timed out or unsent.
    pub not_ok: u64,
    /// The kind of time in the following figures: the response time in an open loop, the service time in a closed one.
    pub time: SummaryTime,
    /// The mean of that time, in nanoseconds.
    pub mean_ns: Option<f64>,
    /// The median of that time, in nanoseconds.
    pub p50_ns: Option<u64>,
    /// The 90th percentile of that time, in nanoseconds.
    pub p90_ns: Option<u64>,
    /// The 95th percentile of that time, in nanoseconds.
    pub p95_ns: Option<u64>,
    /// The 99th percentile of that time, in nanoseconds.
    pub p99_ns: Option<u64>,
    /// The 99.9th percentile of that time, in nanoseconds.
    pub p99_9_ns: Option<u64>,
    /// The maximum of that time, in nanoseconds.
    pub max_ns: Option<u64>,
    /// Names of the verdicts, the severe ones first.
    pub verdicts: Vec<String>,
    /// For a load of several rates, the last one before the first at which the server fell behind, per second; the
    /// highest if it kept up with all, none if it fell behind at the first. The other rates are means over the window.
    #[serde(default)]
    pub kept_up_at_per_s: Option<f64>,
    /// For a load of several rates, the first one at which the server fell behind, per second.
    #[serde(default)]
    pub fell_behind_at_per_s: Option<f64>,
    /// Sessions completed in the window, per second of it; none without sessions.
    #[serde(default)]
    pub sessions_achieved_per_s: Option<f64>,
    /// Events of streams received in the window, per second of it; none without streams.
    #[serde(default)]
    pub events_per_s: Option<f64>,
    /// The sum of the numbers in those events (`--count-json`), per second of the window; none without such numbers.
    #[serde(default)]
    pub counted_per_s: Option<f64>,
}

/// The kind of time in a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SummaryTime {
    /// From the intended send.
    Response,
    /// From the actual send.
    Service,
}

impl Summary {
    /// Its keys with their values as text, in order; an absent value is empty.
    pub fn cells(&self) -> Vec<(String, String)> {
        let value = serde_json::to_value(self).unwrap_or_default();
        // The order of the fields, which a map of JSON does not keep.
        const KEYS: [&str; 19] = [
            "achieved_per_s",
            "offered_per_s",
            "requests",
            "ok",
            "not_ok",
            "time",
            "mean_ns",
            "p50_ns",
            "p90_ns",
            "p95_ns",
            "p99_ns",
            "p99_9_ns",
            "max_ns",
            "verdicts",
            "kept_up_at_per_s",
            "fell_behind_at_per_s",
            "sessions_achieved_per_s",
            "events_per_s",
            "counted_per_s",
        ];
        let text = |value: &serde_json::Value| match value {
            serde_json::Value::Null => String::new(),
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Array(items) => {
                items.iter().filter_map(serde_json::Value::as_str).collect::<Vec<_>>().join(" ")
            }
            other => other.to_string(),
        };
        KEYS.iter().map(|key| ((*key).to_owned(), value.get(key).map(text).unwrap_or_default())).collect()
    }
}
