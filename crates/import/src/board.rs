//! Result boards: TechEmpower's `results.json` and HttpArena's JSON.

use crate::measurement::{ImportedReport, Measurement};
use paceline_peers::{PeerReport, PrintedReport, bytes, number, time_ns};
use paceline_record::Counts;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The keys used from TechEmpower's `results.json`: rounds 1 to 23.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Techempower {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    environment_description: Option<String>,
    #[serde(default)]
    start_time: Option<f64>,
    #[serde(default)]
    completion_time: Option<f64>,
    /// A number, or a string that holds one.
    #[serde(default)]
    duration: Value,
    #[serde(default)]
    concurrency_levels: Vec<u32>,
    #[serde(default)]
    pipeline_concurrency_levels: Vec<u32>,
    #[serde(default)]
    query_intervals: Vec<u32>,
    #[serde(default)]
    cached_query_intervals: Vec<u32>,
    raw_data: BTreeMap<String, Value>,
    #[serde(default)]
    test_metadata: Option<Vec<BTreeMap<String, Value>>>,
}

/// One element of `rawData`: the figures that wrk printed, under the toolset's keys.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct TechempowerResult {
    #[serde(rename = "latencyAvg")]
    average: Option<String>,
    #[serde(rename = "latencyStdev")]
    stddev: Option<String>,
    #[serde(rename = "latencyMax")]
    max: Option<String>,
    total_requests: Option<u64>,
    connect: u64,
    read: u64,
    write: u64,
    timeout: u64,
    #[serde(rename = "5xx")]
    bad_status: u64,
    start_time: Option<f64>,
    end_time: Option<f64>,
}

/// Keys of `rawData` that are not tests.
const NO_TESTS: [&str; 2] = ["commitCounts", "slocCounts"];
/// Connections of the tests with several queries: the highest level (rounds 8 and 9: 256).
const PLAINTEXT_DEPTH: u32 = 16;

/// Reads TechEmpower's `results.json`.
pub fn techempower(text: &PrintedReport<'_>) -> Result<ImportedReport, String> {
    let board: Techempower = serde_json::from_str(text.text).map_err(|error| error.to_string())?;
    let mut measurements = Vec::new();
    for (kind, tests) in board.raw_data.iter().filter(|(kind, _)| !NO_TESTS.contains(&kind.as_str())) {
        let place = |test: &str, at: usize| format!("rawData.{kind}.{test}[{at}]");
        let tests = tests.as_object().ok_or_else(|| format!("rawData.{kind} is not an object"))?;
        for (test, levels) in tests {
            let levels = levels.as_array().ok_or_else(|| format!("rawData.{kind}.{test} is not a list"))?;
            for (at, level) in levels.iter().enumerate() {
                let read = TechempowerResult::deserialize(level)
                    .map_err(|error| format!("{}: {error}", place(test, at)))?;
                let found = board.measurement(kind, test, at, &read);
                let mut found = found.map_err(|problem| format!("{}: {problem}", place(test, at)))?;
                found.report.place = place(test, at);
                measurements.push(found);
            }
        }
    }
    let date = |ms: Option<f64>| ms.map(|ms| rfc3339(ms / 1e3)).unwrap_or_default();
    Ok(ImportedReport {
        started_at: date(board.start_time),
        finished_at: board.completion_time.map(|ms| rfc3339(ms / 1e3)),
        name: Some(board.name.unwrap_or_else(|| "techempower".to_owned())),
        machine: board.environment_description.unwrap_or_default(),
        measurements,
        ..ImportedReport::default()
    })
}

impl Techempower {
    /// Elements carry no level: their position in the list is the position of the level.
    fn measurement(
        &self,
        kind: &str,
        test: &str,
        at: usize,
        level: &TechempowerResult,
    ) -> Result<Measurement, String> {
        let highest = self.concurrency_levels.iter().max().copied().unwrap_or(0);
        let level_of = |levels: &[u32]| {
            levels.get(at).copied().ok_or("the report has no concurrency level for this result")
        };
        let (connections, depth, case) = match kind {
            "plaintext" if !self.pipeline_concurrency_levels.is_empty() => {
                (level_of(&self.pipeline_concurrency_levels)?, PLAINTEXT_DEPTH, None)
            }
            "query" | "update" => (highest, 1, Some(level_of(&self.query_intervals)?)),
            "cached-query" => (highest, 1, Some(level_of(&self.cached_query_intervals)?)),
            _ => (level_of(&self.concurrency_levels)?, 1, None),
        };
        let duration = self.duration.as_f64().or_else(|| self.duration.as_str()?.parse().ok());
        let between = level.start_time.zip(level.end_time).map(|(start, end)| end - start);
        let elapsed_s = duration.or(between).filter(|s| *s > 0.0);
        let mut times_ns = BTreeMap::new();
        for (name, text) in [("mean", &level.average), ("stddev", &level.stddev), ("max", &level.max)] {
            if let Some(text) = text {
                times_ns.insert(name.to_owned(), time_ns(text)?);
            }
        }
        let metadata = self.test_metadata.iter().flatten();
        let metadata = metadata.into_iter().find(|of| of.get("name").and_then(Value::as_str) == Some(test));
        let text = |key: &str| metadata.and_then(|of| of.get(key)?.as_str()).unwrap_or_default().to_owned();
        let requests = level.total_requests;
        Ok(Measurement {
            tool: "wrk".to_owned(),
            server: test.to_owned(),
            server_name: Some(text("display_name"))
                .filter(|name| !name.is_empty())
                .unwrap_or_else(|| test.to_owned()),
            language: text("language"),
            framework: text("framework"),
            workload: case.map_or_else(|| kind.to_owned(), |case| format!("{kind}/{case}")),
            depth,
            error: requests
                .is_none()
                .then(|| "the imported file has no number of requests for this test".to_owned()),
            report: PeerReport {
                protocol: "http/1.1".to_owned(),
                connections,
                elapsed_s,
                counts: Counts {
                    ok: requests.unwrap_or(0).saturating_sub(level.bad_status),
                    bad_status: level.bad_status,
                    connect_failed: level.connect,
                    io_failed: level.read.saturating_add(level.write),
                    ..Counts::default()
                },
                figures: [("late_answers".to_owned(), level.timeout as f64)].into(),
                times_ns,
                note: "the rate is requests divided by the planned duration, as TechEmpower computes it"
                    .to_owned(),
                ..PeerReport::default()
            },
            ..Measurement::default()
        })
    }
}

/// One entry of HttpArena. All three of its files contain them: a profile is a list of entries, a server has `results`
/// by profile, and the third file is a single entry.
#[derive(Deserialize)]
struct ArenaEntry {
    framework: String,
    #[serde(default)]
    language: String,
    rps: f64,
    #[serde(rename = "avg_latency", default)]
    average: Option<String>,
    #[serde(rename = "p99_latency", default)]
    p99: Option<String>,
    #[serde(default)]
    cpu: Option<String>,
    #[serde(default)]
    memory: Option<String>,
    #[serde(default)]
    connections: u32,
    #[serde(default)]
    duration: Option<String>,
    #[serde(default)]
    pipeline: u32,
    #[serde(default)]
    reconnects: f64,
    #[serde(default)]
    status_2xx: u64,
    #[serde(default)]
    status_3xx: u64,
    #[serde(default)]
    status_4xx: u64,
    #[serde(default)]
    status_5xx: u64,
}

/// Returns true for any of HttpArena's files.
pub fn is_httparena(text: &PrintedReport<'_>) -> bool {
    let is_entry = |value: &Value| value.get("framework").is_some() && value.get("rps").is_some();
    match &text.json {
        Some(Value::Array(entries)) => entries.first().is_some_and(is_entry),
        Some(value) => is_entry(value) || value.get("framework").is_some() && value.get("results").is_some(),
        None => false,
    }
}

/// Reads HttpArena's files.
pub fn httparena(text: &PrintedReport<'_>) -> Result<ImportedReport, String> {
    let read = |place: String, value: &Value| {
        let entry = ArenaEntry::deserialize(value).map_err(|error| format!("{place}: {error}"))?;
        entry.measurement(place.clone()).map_err(|problem| format!("{place}: {problem}"))
    };
    let measurements = match text.json.as_ref().ok_or("not JSON")? {
        Value::Array(entries) => entries
            .iter()
            .enumerate()
            .map(|(at, entry)| read(format!("[{at}]"), entry))
            .collect::<Result<_, _>>()?,
        value => match value.get("results").and_then(Value::as_object) {
            Some(profiles) => {
                let all = profiles.iter().map(|(profile, entry)| {
                    let found = read(format!("results.{profile}"), entry)?;
                    Ok(Measurement { workload: without_level(profile), ..found })
                });
                all.collect::<Result<_, String>>()?
            }
            None => vec![read(String::new(), value)?],
        },
    };
    Ok(ImportedReport { measurements, ..ImportedReport::default() })
}

/// Removes the number of connections from the end of a profile's name.
fn without_level(profile: &str) -> String {
    let (name, level) = profile.rsplit_once('-').unwrap_or((profile, ""));
    if level.parse::<u32>().is_ok() { name.to_owned() } else { profile.to_owned() }
}

impl ArenaEntry {
    fn measurement(self, place: String) -> Result<Measurement, String> {
        let mut times_ns = BTreeMap::new();
        for (name, text) in [("mean", &self.average), ("p99", &self.p99)] {
            if let Some(text) = text {
                times_ns.insert(name.to_owned(), time_ns(text)?);
            }
        }
        let mut figures = BTreeMap::from([("reconnects".to_owned(), self.reconnects)]);
        if let Some(cpu) = &self.cpu {
            figures.insert("server_cpu_percent".to_owned(), number(cpu.trim_end_matches('%'))?);
        }
        if let Some(memory) = &self.memory {
            figures.insert("server_rss_bytes".to_owned(), bytes(memory)?);
        }
        let status = [
            ("2xx", self.status_2xx),
            ("3xx", self.status_3xx),
            ("4xx", self.status_4xx),
            ("5xx", self.status_5xx),
        ];
        Ok(Measurement {
            server: crate::measurement::slug(&self.framework),
            server_name: self.framework,
            language: self.language,
            depth: self.pipeline,
            report: PeerReport {
                connections: self.connections,
                elapsed_s: self.duration.as_deref().map(time_ns).transpose()?.map(|ns| ns / 1e9),
                counts: Counts {
                    ok: self.status_2xx.saturating_add(self.status_3xx),
                    bad_status: self.status_4xx.saturating_add(self.status_5xx),
                    ..Counts::default()
                },
                status: status
                    .into_iter()
                    .filter(|(_, n)| *n > 0)
                    .map(|(name, n)| (name.to_owned(), n))
                    .collect(),
                requests_per_s: Some(self.rps),
                times_ns,
                figures,
                place,
                note: "the best of several runs, as HttpArena shows it; a p99 that equals the average is left out"
                    .to_owned(),
                ..PeerReport::default()
            },
            ..Measurement::default()
        })
    }
}

/// A Unix time in seconds as RFC 3339 in UTC (days to date: Howard Hinnant, "chrono-compatible low-level date
/// algorithms", `civil_from_days`).
fn rfc3339(seconds: f64) -> String {
    if !(0.0..1e11).contains(&seconds) {
        return String::new();
    }
    let seconds = seconds as u64;
    let (days, of_day) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let (day, month) =
        (day_of_year - (153 * shifted + 2) / 5 + 1, if shifted < 10 { shifted + 3 } else { shifted - 9 });
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.000Z")
}

#[test]
fn timestamps_are_converted_to_dates() {
    assert_eq!(rfc3339(1_668_373_925.906), "2022-11-13T21:12:05.000Z");
    assert_eq!(rfc3339(951_782_400.0), "2000-02-29T00:00:00.000Z");
    assert_eq!(rfc3339(f64::NAN), "");
}
