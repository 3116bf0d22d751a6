//! The seconds of a run as metrics for dashboards: Prometheus text, and OpenTelemetry's OTLP as JSON.
//!
//! Counters and histograms are cumulative from the start of the run, warm-up included; gauges are those of the last second.

use paceline_record::Second;
use paceline_stats::Histogram;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Metrics that dashboards read while something is measured.
pub trait LiveValues {
    /// In Prometheus' text format, version 0.0.4.
    fn prometheus(&self) -> String;

    /// As an export request of OTLP/HTTP with JSON (opentelemetry-proto 1.3, metrics/v1).
    fn otlp(&self, span: Span) -> Value;
}

/// The time that exported values are for, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// When counting began.
    pub start_ns: u128,
    /// The moment of the values.
    pub now_ns: u128,
}

impl Span {
    /// A point with these attributes and the fields of a value.
    pub(crate) fn point(self, attributes: &[(&str, &str)], value: Value) -> Value {
        let mut point = json!({
            "startTimeUnixNano": self.start_ns.to_string(),
            "timeUnixNano": self.now_ns.to_string(),
            "attributes": self::attributes(attributes),
        });
        if let (Some(point), Value::Object(value)) = (point.as_object_mut(), value) {
            point.extend(value);
        }
        point
    }
}

fn attributes(pairs: &[(&str, &str)]) -> Vec<Value> {
    pairs.iter().map(|(key, value)| json!({ "key": key, "value": { "stringValue": value } })).collect()
}

/// An export request of some metrics, with the attributes of their resource.
pub(crate) fn request(resource: &[(&str, &str)], metrics: Vec<Value>) -> Value {
    let resource = attributes(&[&[("service.name", "paceline")], resource].concat());
    json!({ "resourceMetrics": [{
        "resource": { "attributes": resource },
        "scopeMetrics": [{ "scope": { "name": "paceline" }, "metrics": metrics }],
    }] })
}

/// The labels of a sample: `name="value"`, with commas. Backslash, quote and line feed are escaped in a value
/// (Prometheus' exposition format).
pub(crate) struct Labels<'a>(pub &'a [(&'a str, &'a str)]);

impl std::fmt::Display for Labels<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, (name, value)) in self.0.iter().enumerate() {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{name}=\"{value}\"")?;
        }
        Ok(())
    }
}

/// The lines above the samples of a metric.
pub(crate) fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "# HELP paceline_{name} {help}\n# TYPE paceline_{name} {kind}");
}

/// Upper bounds of the buckets, in seconds: about three for each power of ten, from 100 µs to 10 s.
const BOUNDS_S: [f64; 16] =
    [1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The times of one kind so far.
#[derive(Clone, Debug, Default, PartialEq)]
struct TimeBuckets {
    /// Times at or below each bound, and all.
    counts: [u64; BOUNDS_S.len() + 1],
    sum_s: f64,
}

impl TimeBuckets {
    fn add(&mut self, times: &Histogram) {
        for (count, bound) in self.counts.iter_mut().zip(BOUNDS_S) {
            *count += times.count_at_or_below((bound * 1e9) as u64);
        }
        self.counts[BOUNDS_S.len()] += times.count();
        self.sum_s += times.sum() as f64 * 1e-9;
    }

    fn count(&self) -> u64 {
        self.counts[BOUNDS_S.len()]
    }
}

/// The totals of a run so far, and its last second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveMetrics {
    target: String,
    last: Option<Second>,
    outcomes: [u64; 7],
    bytes: [u64; 2],
    service: TimeBuckets,
    response: Option<TimeBuckets>,
}

/// The names of the outcomes, in the order of a row.
const OUTCOMES: [&str; 7] =
    ["ok", "bad_status", "bad_body", "connect_failed", "io_failed", "timed_out", "unsent"];
const DIRECTIONS: [&str; 2] = ["sent", "received"];

impl LiveMetrics {
    /// Of a run against a target.
    pub fn new(target: &str) -> Self {
        Self { target: target.to_owned(), ..Self::default() }
    }

    /// Adds a second, with its service times and, in an open loop, its response times.
    pub fn add(&mut self, row: &Second, service: &Histogram, response: Option<&Histogram>) {
        let ended = [
            row.ok,
            row.bad_status,
            row.bad_body,
            row.connect_failed,
            row.io_failed,
            row.timed_out,
            row.unsent,
        ];
        self.outcomes.iter_mut().zip(ended).for_each(|(sum, count)| *sum += count);
        self.bytes[0] += row.bytes_sent;
        self.bytes[1] += row.bytes_received;
        self.service.add(service);
        if let Some(response) = response {
            self.response.get_or_insert_default().add(response);
        }
        self.last = Some(row.clone());
    }

    /// The gauges of the last second: name, help and value.
    fn gauges(&self) -> Vec<(&'static str, &'static str, f64)> {
        let Some(last) = &self.last else { return Vec::new() };
        let offered = last.offered_per_s.map(|rate| ("offered_per_second", "Rate of the schedule", rate));
        let backlog = last.backlog.map(|count| ("backlog", "Requests due and unsent", count as f64));
        let cores = last
            .server_cores_used
            .map(|cores| ("server_cores_used", "Cores that the server kept busy", cores));
        let memory = last.server_rss_bytes;
        let memory = memory.map(|bytes| ("server_rss_bytes", "Resident memory of the server", bytes as f64));
        let rates = [
            ("sent_per_second", "Requests sent in the last second", last.sent_per_s),
            ("achieved_per_second", "Valid responses in the last second", last.achieved_per_s),
        ];
        offered.into_iter().chain(backlog).chain(cores).chain(memory).chain(rates).collect()
    }

    /// The histograms: name, help and buckets.
    fn histograms(&self) -> impl Iterator<Item = (&'static str, &'static str, &TimeBuckets)> {
        let service = ("service_time_seconds", "From the send to the whole response", &self.service);
        let response = self.response.as_ref();
        let response = response
            .map(|times| ("response_time_seconds", "From the intended send to the whole response", times));
        std::iter::once(service).chain(response)
    }
}

impl LiveValues for LiveMetrics {
    fn prometheus(&self) -> String {
        let label = Labels(&[("target", &self.target)]).to_string();
        let mut text = String::new();
        head(&mut text, "requests_total", "counter", "Requests that have ended, by outcome");
        for (name, count) in OUTCOMES.iter().zip(self.outcomes) {
            let _ = writeln!(text, "paceline_requests_total{{{label},outcome=\"{name}\"}} {count}");
        }
        head(&mut text, "bytes_total", "counter", "Bytes handed to and read from sockets");
        for (name, count) in DIRECTIONS.iter().zip(self.bytes) {
            let _ = writeln!(text, "paceline_bytes_total{{{label},direction=\"{name}\"}} {count}");
        }
        for (name, help, value) in self.gauges() {
            head(&mut text, name, "gauge", help);
            let _ = writeln!(text, "paceline_{name}{{{label}}} {value}");
        }
        for (name, help, times) in self.histograms() {
            head(&mut text, name, "histogram", help);
            for (bound, count) in BOUNDS_S.iter().zip(times.counts) {
                let _ = writeln!(text, "paceline_{name}_bucket{{{label},le=\"{bound}\"}} {count}");
            }
            let count = times.count();
            let _ = writeln!(text, "paceline_{name}_bucket{{{label},le=\"+Inf\"}} {count}");
            let _ = writeln!(text, "paceline_{name}_sum{{{label}}} {}", times.sum_s);
            let _ = writeln!(text, "paceline_{name}_count{{{label}}} {count}");
        }
        text
    }

    fn otlp(&self, span: Span) -> Value {
        let sum = |name: &str, unit: &str, points: Vec<Value>| {
            json!({ "name": name, "unit": unit,
                "sum": { "aggregationTemporality": 2, "isMonotonic": true, "dataPoints": points } })
        };
        let counted = |key: &str, names: &[&str], counts: &[u64]| {
            let points = names
                .iter()
                .zip(counts)
                .map(|(name, count)| span.point(&[(key, name)], json!({ "asInt": count.to_string() })));
            points.collect::<Vec<Value>>()
        };
        let mut metrics = vec![
            sum("paceline.requests", "{request}", counted("outcome", &OUTCOMES, &self.outcomes)),
            sum("paceline.bytes", "By", counted("direction", &DIRECTIONS, &self.bytes)),
        ];
        metrics.extend(self.gauges().into_iter().map(|(name, help, value)| {
            json!({ "name": format!("paceline.{name}"), "description": help,
                "gauge": { "dataPoints": [span.point(&[], json!({ "asDouble": value }))] } })
        }));
        metrics.extend(self.histograms().map(|(name, help, times)| {
            let below = [0].into_iter().chain(times.counts);
            let counts: Vec<String> =
                times.counts.iter().zip(below).map(|(count, below)| (count - below).to_string()).collect();
            json!({ "name": format!("paceline.{}", name.trim_end_matches("_seconds")), "description": help, "unit": "s",
                "histogram": { "aggregationTemporality": 2, "dataPoints": [span.point(&[], json!({
                    "count": times.count().to_string(), "sum": times.sum_s,
                    "bucketCounts": counts, "explicitBounds": BOUNDS_S }))] } })
        }));
        request(&[("url.full", &self.target)], metrics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics() -> LiveMetrics {
        let mut metrics = LiveMetrics::new("http://h/\"x\"");
        let row = Second { ok: 3, timed_out: 1, bytes_sent: 10, achieved_per_s: 3.0, ..Second::default() };
        let mut times = Histogram::new();
        [50_000, 2_000_000, 20_000_000_000].into_iter().for_each(|ns| times.record(ns));
        metrics.add(&row, &times, None);
        metrics.add(&row, &times, None);
        metrics
    }

    #[test]
    fn prometheus_text_is_cumulative_and_escaped() {
        let text = metrics().prometheus();
        for line in [
            "# TYPE paceline_requests_total counter",
            "paceline_requests_total{target=\"http://h/\\\"x\\\"\",outcome=\"ok\"} 6",
            "paceline_service_time_seconds_bucket{target=\"http://h/\\\"x\\\"\",le=\"0.0001\"} 2",
            "paceline_service_time_seconds_bucket{target=\"http://h/\\\"x\\\"\",le=\"10\"} 4",
            "paceline_service_time_seconds_bucket{target=\"http://h/\\\"x\\\"\",le=\"+Inf\"} 6",
            "paceline_service_time_seconds_count{target=\"http://h/\\\"x\\\"\"} 6",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing in\n{text}");
        }
        assert!(!text.contains("response_time"), "a closed loop has no response time");
        assert!(LiveMetrics::new("x").prometheus().contains("_count{target=\"x\"} 0"));
    }

    #[test]
    fn otlp_buckets_add_up_to_the_count() {
        let request = metrics().otlp(Span { start_ns: 1, now_ns: 2 });
        let metrics = request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
        let times = metrics.iter().find(|metric| metric["name"] == "paceline.service_time").unwrap();
        let point = &times["histogram"]["dataPoints"][0];
        let counts = point["bucketCounts"].as_array().unwrap();
        assert_eq!(counts.len(), point["explicitBounds"].as_array().unwrap().len() + 1);
        let sum: u64 = counts.iter().map(|count| count.as_str().unwrap().parse::<u64>().unwrap()).sum();
        assert_eq!((sum.to_string().as_str(), point["count"].as_str().unwrap()), ("6", "6"));
        assert_eq!(metrics[0]["sum"]["dataPoints"][0]["asInt"], "6");
    }
}
