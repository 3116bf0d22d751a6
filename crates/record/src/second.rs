//! One second of a run, as `--csv` and `--ndjson` report it during the run: flat, one column per key.
//!
//! `crates/run` builds it from the workers' data (`follow/row.rs`), `crates/report` formats it as CSV and builds it from
//! a record, of which it is not a part: a run keeps its intervals instead.

use crate::Phase;
use paceline_stats::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The requests that ended in one second of a run, whichever phase they were due in. The rows of the window contain
/// every valid response of the achieved rate; the record's `intervals` distinguish cohorts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Second {
    /// Start time, RFC 3339, UTC.
    pub at: String,
    /// Start time, in seconds from the start of the run: as `start_ns` of an interval in the record.
    pub start_s: f64,
    /// Its length in seconds: 1, except for the connect phase, which is one row, and for the last row.
    pub length_s: f64,
    /// The phase in which it began.
    pub phase: Phase,
    /// The rate of the schedule; open loop.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub offered_per_s: Option<f64>,
    /// Requests handed to sockets, per second.
    pub sent_per_s: f64,
    /// Valid responses, per second.
    pub achieved_per_s: f64,
    /// Requests with the expected response.
    pub ok: u64,
    /// Requests answered with another status than expected.
    pub bad_status: u64,
    /// Requests answered with another body than expected.
    pub bad_body: u64,
    /// Requests without a connection, because connecting failed.
    pub connect_failed: u64,
    /// Requests whose connection broke.
    pub io_failed: u64,
    /// Requests without a complete response within the timeout.
    pub timed_out: u64,
    /// Requests still unsent when the drain's limit was over.
    pub unsent: u64,
    /// Requests due and unsent at its end; above 4,000 per thread, computed from those; open loop.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub backlog: Option<u64>,
    /// Median response time, in nanoseconds; open loop, as are the other response times.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response_time_ns_p50: Option<u64>,
    /// 90 % of the response times were at or below it, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response_time_ns_p90: Option<u64>,
    /// 99 % of the response times were at or below it, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response_time_ns_p99: Option<u64>,
    /// 99.9 % of the response times were at or below it, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response_time_ns_p99_9: Option<u64>,
    /// Highest response time, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response_time_ns_max: Option<u64>,
    /// Median service time, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub service_time_ns_p50: Option<u64>,
    /// 90 % of the service times were at or below it, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub service_time_ns_p90: Option<u64>,
    /// 99 % of the service times were at or below it, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub service_time_ns_p99: Option<u64>,
    /// 99.9 % of the service times were at or below it, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub service_time_ns_p99_9: Option<u64>,
    /// Highest service time, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub service_time_ns_max: Option<u64>,
    /// Bytes that were handed to sockets.
    pub bytes_sent: u64,
    /// Bytes that were read from sockets.
    pub bytes_received: u64,
    /// Cores that the server kept busy on average; this and its other figures if it runs on the generator's machine.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_cores_used: Option<f64>,
    /// Resident memory of the server at its end, in bytes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_rss_bytes: Option<u64>,
    /// Threads of the server at its end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_threads: Option<u32>,
    /// Series that the server published of itself (`--scrape`), by name, as they were last read before its end.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub server_metrics: BTreeMap<String, f64>,
}

impl Second {
    /// Every key with one value, in order: the columns of the CSV. Columns are only ever added at the end, before those of
    /// `server_metrics`.
    pub const COLUMNS: [&str; 30] = [
        "at",
        "start_s",
        "length_s",
        "phase",
        "offered_per_s",
        "sent_per_s",
        "achieved_per_s",
        "ok",
        "bad_status",
        "bad_body",
        "connect_failed",
        "io_failed",
        "timed_out",
        "unsent",
        "backlog",
        "response_time_ns_p50",
        "response_time_ns_p90",
        "response_time_ns_p99",
        "response_time_ns_p99_9",
        "response_time_ns_max",
        "service_time_ns_p50",
        "service_time_ns_p90",
        "service_time_ns_p99",
        "service_time_ns_p99_9",
        "service_time_ns_max",
        "bytes_sent",
        "bytes_received",
        "server_cores_used",
        "server_rss_bytes",
        "server_threads",
    ];

    /// Requests whose outcome is not ok.
    pub fn not_ok(&self) -> u64 {
        [self.bad_status, self.bad_body, self.connect_failed, self.io_failed, self.timed_out, self.unsent]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// The times that a second has: p50, p90, p99, p99.9 and the maximum, in nanoseconds; none if there are no values.
    pub fn times(histogram: &Histogram) -> Option<[u64; 5]> {
        let [p50, p90, p99, p99_9] = histogram.quantiles([0.5, 0.9, 0.99, 0.999])?;
        Some([p50, p90, p99, p99_9, histogram.max()?])
    }

    /// Sets the response times: [`Second::times`].
    pub fn set_response_times(&mut self, times: Option<[u64; 5]>) {
        let [p50, p90, p99, p99_9, max] = times.map_or([None; 5], |times| times.map(Some));
        (self.response_time_ns_p50, self.response_time_ns_p90) = (p50, p90);
        (self.response_time_ns_p99, self.response_time_ns_p99_9) = (p99, p99_9);
        self.response_time_ns_max = max;
    }

    /// Sets the service times: [`Second::times`].
    pub fn set_service_times(&mut self, times: Option<[u64; 5]>) {
        let [p50, p90, p99, p99_9, max] = times.map_or([None; 5], |times| times.map(Some));
        (self.service_time_ns_p50, self.service_time_ns_p90) = (p50, p90);
        (self.service_time_ns_p99, self.service_time_ns_p99_9) = (p99, p99_9);
        self.service_time_ns_max = max;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_failures_does_not_overflow() {
        let second = Second { ok: 5, bad_status: 2, unsent: 3, ..Second::default() };
        assert_eq!(second.not_ok(), 5);
        assert_eq!(Second { io_failed: u64::MAX, ..second }.not_ok(), u64::MAX);
    }

    #[test]
    fn a_column_for_each_key() {
        let schema = schemars::schema_for!(Second).to_value();
        let mut keys: Vec<&str> =
            schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let mut columns = Second::COLUMNS;
        keys.sort_unstable();
        columns.sort_unstable();
        keys.retain(|key| *key != "server_metrics");
        assert_eq!(columns.to_vec(), keys);
    }
}
