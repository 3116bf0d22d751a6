//! A second of a run, as `--csv` and `--ndjson` tell it while the run goes on: flat, a key a column.
//!
//! The binary makes one of what the workers saw (`commands/run/follow/row.rs`), `crates/report` puts it into CSV. It is
//! no part of a record: a run keeps its intervals instead.

use crate::Phase;
use paceline_stats::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What ended in one second of a run, whichever phase it was due in. Its window's rows hold every valid response of the
/// achieved rate; cohorts are distinguished in the record's `intervals`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Second {
    /// When it began, RFC 3339, UTC.
    pub at: String,
    /// When it began, in seconds from the start of the run: as `start_ns` of an interval in the record.
    pub start_s: f64,
    /// How long it was: 1, but for the time of connecting, which is one row, and for the last.
    pub length_s: f64,
    /// The phase in which it began.
    pub phase: Phase,
    /// The rate that the schedule asks for; open loop.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub offered_per_s: Option<f64>,
    /// Requests handed to sockets, per second.
    pub sent_per_s: f64,
    /// Valid responses, per second.
    pub achieved_per_s: f64,
    /// Requests that were answered as expected.
    pub ok: u64,
    /// Requests answered with another status than expected.
    pub bad_status: u64,
    /// Requests answered with another body than expected.
    pub bad_body: u64,
    /// Requests for which no connection could be made.
    pub connect_failed: u64,
    /// Requests whose connection broke.
    pub io_failed: u64,
    /// Requests without a complete response within the timeout.
    pub timed_out: u64,
    /// Requests given up unsent when the drain's limit was over.
    pub unsent: u64,
    /// Requests due and unsent at its end; beyond 4,000 of a thread computed from those; open loop.
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
}

impl Second {
    /// Every key in order: the columns of the CSV. Columns are only ever added at the end.
    pub const COLUMNS: [&str; 27] = [
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
    ];

    /// Requests that ended otherwise than well.
    pub fn not_ok(&self) -> u64 {
        self.bad_status + self.bad_body + self.connect_failed + self.io_failed + self.timed_out + self.unsent
    }

    /// Puts response times in; nothing where there are none.
    pub fn set_response_times(&mut self, times: &Histogram) {
        self.response_time_ns_p50 = times.quantile(0.5);
        self.response_time_ns_p90 = times.quantile(0.9);
        self.response_time_ns_p99 = times.quantile(0.99);
        self.response_time_ns_p99_9 = times.quantile(0.999);
        self.response_time_ns_max = times.max();
    }

    /// Puts service times in; nothing where there are none.
    pub fn set_service_times(&mut self, times: &Histogram) {
        self.service_time_ns_p50 = times.quantile(0.5);
        self.service_time_ns_p90 = times.quantile(0.9);
        self.service_time_ns_p99 = times.quantile(0.99);
        self.service_time_ns_p99_9 = times.quantile(0.999);
        self.service_time_ns_max = times.max();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_for_each_key() {
        let schema = schemars::schema_for!(Second).to_value();
        let mut keys: Vec<&str> =
            schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let mut columns = Second::COLUMNS;
        keys.sort_unstable();
        columns.sort_unstable();
        assert_eq!(columns.to_vec(), keys);
    }
}
