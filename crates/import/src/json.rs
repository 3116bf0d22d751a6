//! JSON summaries of k6, vegeta, oha and siege.

use crate::measurement::{ImportedReport, Measurement, ReportText, total};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

fn parse<'a, T: Deserialize<'a>>(text: &'a ReportText<'_>) -> Result<T, String> {
    serde_json::from_str(text.text).map_err(|error| error.to_string())
}

/// The number at a path of keys; none if the value is not a number.
fn at(value: &Value, path: &[&str]) -> Option<f64> {
    let found = path.iter().try_fold(value, |value, key| value.get(key))?;
    found.as_f64().filter(|value| value.is_finite() && *value >= 0.0)
}

/// Reads k6's `--summary-export` and the data passed to `handleSummary` (with `values` around the figures). Times are
/// in milliseconds.
pub fn k6(text: &ReportText<'_>) -> Result<ImportedReport, String> {
    let json = text.json.as_ref().ok_or("not JSON")?;
    let metric = |name: &str, key: &str| {
        at(json, &["metrics", name, "values", key]).or_else(|| at(json, &["metrics", name, key]))
    };
    let requests = metric("http_reqs", "count").ok_or("metrics.http_reqs.count is missing")? as u64;
    let rate = metric("http_reqs", "rate").ok_or("metrics.http_reqs.rate is missing")?;
    // "passes" counts the samples that are not zero; a sample of this metric is 1 if the request failed.
    let failed = match (metric("http_req_failed", "passes"), metric("http_req_failed", "value")) {
        (Some(passes), _) => passes as u64,
        (None, Some(share)) => (share * requests as f64).round() as u64,
        (None, None) => 0,
    };
    let names = [
        ("min", "min"),
        ("avg", "mean"),
        ("med", "p50"),
        ("p(90)", "p90"),
        ("p(95)", "p95"),
        ("p(99)", "p99"),
        ("p(99.9)", "p99_9"),
        ("max", "max"),
    ];
    let times = names
        .iter()
        .filter_map(|(key, name)| Some(((*name).to_owned(), metric("http_req_duration", key)? * 1e6)));
    let elapsed_s = at(json, &["state", "testRunDurationMs"]).map(|ms| ms / 1e3);
    let iterations = metric("iterations", "count").map(|count| ("iterations".to_owned(), count));
    let dropped = metric("dropped_iterations", "count").map(|count| ("dropped_iterations".to_owned(), count));
    Ok(ImportedReport::from_measurement(Measurement {
        tool: "k6".to_owned(),
        connections: metric("vus_max", "max").or_else(|| metric("vus_max", "value")).unwrap_or(0.0) as u32,
        ok: requests.saturating_sub(failed),
        bad_status: failed.min(requests),
        requests: Some(requests),
        elapsed_s: elapsed_s.or((rate > 0.0).then(|| requests as f64 / rate)),
        requests_per_s: Some(rate),
        received_bytes: metric("data_received", "count").unwrap_or(0.0) as u64,
        times_ns: times.collect(),
        figures: iterations.into_iter().chain(dropped).collect(),
        note: "failed requests are those that k6 counts as http_req_failed; the connections are its virtual users"
            .to_owned(),
        ..Measurement::default()
    }))
}

/// The output of `vegeta report -type=json`. Times are in nanoseconds.
#[derive(Deserialize)]
struct Vegeta {
    latencies: BTreeMap<String, f64>,
    #[serde(default)]
    bytes_in: BTreeMap<String, f64>,
    #[serde(default)]
    earliest: String,
    #[serde(default)]
    end: String,
    duration: f64,
    #[serde(default)]
    wait: f64,
    requests: u64,
    rate: f64,
    throughput: f64,
    status_codes: BTreeMap<String, u64>,
}

/// Reads vegeta's report.
pub fn vegeta(text: &ReportText<'_>) -> Result<ImportedReport, String> {
    let printed: Vegeta = parse(text)?;
    let is_ok = |status: &str| status.starts_with('2') || status.starts_with('3');
    let codes = &printed.status_codes;
    let broken = codes.get("0").copied().unwrap_or(0);
    let ok = total(codes.iter().filter(|(status, _)| is_ok(status)).map(|(_, count)| *count));
    let others =
        total(codes.iter().filter(|(status, _)| !is_ok(status) && *status != "0").map(|(_, count)| *count));
    let names = [
        ("min", "min"),
        ("mean", "mean"),
        ("50th", "p50"),
        ("90th", "p90"),
        ("95th", "p95"),
        ("99th", "p99"),
        ("max", "max"),
    ];
    let times = names
        .iter()
        .filter_map(|(key, name)| Some(((*name).to_owned(), *printed.latencies.get(*key)?)))
        .collect();
    let status = printed.status_codes.into_iter().filter(|(status, _)| status != "0").collect();
    Ok(ImportedReport {
        started_at: printed.earliest,
        finished_at: Some(printed.end).filter(|end| !end.is_empty()),
        measurements: vec![Measurement {
            tool: "vegeta".to_owned(),
            rate_per_s: Some(printed.rate),
            requests: Some(printed.requests),
            elapsed_s: Some((printed.duration + printed.wait) / 1e9),
            ok,
            bad_status: others,
            io_failed: broken,
            status,
            body_bytes: printed.bytes_in.get("total").copied().unwrap_or(0.0) as u64,
            requests_per_s: Some(printed.throughput),
            times_ns: times,
            note: "times start when a worker takes the request, not when the request was due".to_owned(),
            ..Measurement::default()
        }],
        ..ImportedReport::default()
    })
}

/// The output of `oha --output-format json`. Times are in seconds; missing numbers are null.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Oha {
    summary: BTreeMap<String, Option<f64>>,
    #[serde(rename = "latencyPercentiles", default)]
    percentiles: BTreeMap<String, Option<f64>>,
    status_code_distribution: BTreeMap<String, u64>,
    #[serde(default)]
    error_distribution: BTreeMap<String, u64>,
}

/// oha's name for a request that the end of the run cut off, before its response.
const CUT_OFF: &str = "aborted due to deadline";

/// Reads oha's report.
pub fn oha(text: &ReportText<'_>) -> Result<ImportedReport, String> {
    let printed: Oha = parse(text)?;
    let summary = |key: &str| printed.summary.get(key).copied().flatten();
    let is_ok = |status: &str| status.starts_with('2') || status.starts_with('3');
    let codes = &printed.status_code_distribution;
    let ok = total(codes.iter().filter(|(status, _)| is_ok(status)).map(|(_, count)| *count));
    let bad = total(codes.iter().filter(|(status, _)| !is_ok(status)).map(|(_, count)| *count));
    let broken = printed.error_distribution.iter().filter(|(error, _)| *error != CUT_OFF);
    let ends = [("fastest", "min"), ("average", "mean"), ("slowest", "max")];
    let ends = ends.iter().filter_map(|(key, name)| Some(((*name).to_owned(), summary(key)? * 1e9)));
    let named = |name: &String| name.replace('.', "_");
    let percentiles = printed.percentiles.iter().filter_map(|(name, s)| Some((named(name), (*s)? * 1e9)));
    Ok(ImportedReport::from_measurement(Measurement {
        tool: "oha".to_owned(),
        elapsed_s: Some(summary("total").filter(|s| *s > 0.0).ok_or("summary.total is missing")?),
        ok,
        bad_status: bad,
        io_failed: total(broken.map(|(_, count)| *count)),
        body_bytes: summary("totalData").unwrap_or(0.0) as u64,
        requests_per_s: Some(summary("requestsPerSec").ok_or("summary.requestsPerSec is missing")?),
        times_ns: ends.chain(percentiles).collect(),
        status: printed.status_code_distribution,
        ..Measurement::default()
    }))
}

/// Reads siege's JSON: the fields of its report, times in seconds.
pub fn siege(text: &ReportText<'_>) -> Result<ImportedReport, String> {
    let json = text.json.as_ref().ok_or("not JSON")?;
    let field = |name: &str| at(json, &[name]).ok_or_else(|| format!("{name} is missing"));
    let (ok, failed) = (field("successful_transactions")? as u64, field("failed_transactions")? as u64);
    let transactions = field("transactions")? as u64;
    let names = [("response_time", "mean"), ("shortest_transaction", "min"), ("longest_transaction", "max")];
    let times = names.iter().map(|(key, name)| Ok(((*name).to_owned(), field(key)? * 1e9)));
    Ok(ImportedReport::from_measurement(crate::text::siege_measurement(
        transactions,
        ok,
        failed,
        field("elapsed_time")?,
        field("data_transferred")?,
        field("transaction_rate")?,
        times.collect::<Result<_, String>>()?,
    )))
}
