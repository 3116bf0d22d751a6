//! A report, the measurements found in it, and their conversion to records.
//!
//! Records are deserialized from JSON, so that keys that are not set here are left out or have their defaults.

use paceline_record::{RecordError, Round, SCHEMA, Trial, is_timestamp, read_round, read_trial};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// How far times of one report may contradict each other by rounding: programs print from two digits on (0.95m for 56,950
/// ms), and ab and siege whole milliseconds and steps of 10 ms.
const ROUNDING: f64 = 0.1;
const ROUNDING_NS: f64 = 10e6;

/// A report as text, and parsed where it is JSON.
pub struct ReportText<'a> {
    pub text: &'a str,
    pub json: Option<serde_json::Value>,
    /// The number of its first line in the file.
    pub first_line: usize,
}

impl ReportText<'_> {
    /// Returns true for a JSON object with all of these keys.
    pub fn has(&self, keys: &[&str]) -> bool {
        self.json.as_ref().is_some_and(|json| keys.iter().all(|key| json.get(key).is_some()))
    }
}

/// The content of a whole report.
#[derive(Debug, Default)]
pub struct ImportedReport {
    /// The report's name for the set of measurements, or else the name of its file.
    pub name: Option<String>,
    /// Start time, RFC 3339; empty if the report does not give it.
    pub started_at: String,
    /// End time.
    pub finished_at: Option<String>,
    /// The report's description of the machine.
    pub machine: String,
    /// Processors of the machine, if the report gives them.
    pub cores: u32,
    /// The subject and method of the measurement, in one sentence; empty if the report does not give them.
    pub about: String,
    /// Each run.
    pub measurements: Vec<Measurement>,
}

/// One run as a report describes it. Fields that the report does not give are empty, 0 or none.
#[derive(Clone, Debug, Default)]
pub struct Measurement {
    /// The load generator and its version.
    pub tool: String,
    pub tool_version: String,
    pub argv: Vec<String>,
    pub url: String,
    /// `http/1.0`, `http/1.1`, `h2`; empty where unknown.
    pub protocol: String,
    /// The server measured: an id (derived from the name if empty), its name and its kind.
    pub server: String,
    pub server_name: String,
    pub language: String,
    pub framework: String,
    pub versions: String,
    pub form: String,
    pub workload: String,
    pub load: String,
    pub connections: u32,
    pub depth: u32,
    pub rate_per_s: Option<f64>,
    pub requests: Option<u64>,
    pub elapsed_s: Option<f64>,
    /// Requests by outcome.
    pub ok: u64,
    pub bad_status: u64,
    pub bad_body: u64,
    pub connect_failed: u64,
    pub io_failed: u64,
    pub timed_out: u64,
    pub status: BTreeMap<String, u64>,
    pub received_bytes: u64,
    pub body_bytes: u64,
    /// The rate given in the report, or else computed from its counts.
    pub requests_per_s: Option<f64>,
    /// Times by `min`, `mean`, `stddev`, `p50` ..., `max`, in nanoseconds.
    pub times_ns: BTreeMap<String, f64>,
    /// Other figures, by a name that includes the unit.
    pub figures: BTreeMap<String, f64>,
    /// Its place in the report.
    pub place: String,
    /// Notes on the figures.
    pub note: String,
    /// Why there is no result.
    pub error: Option<String>,
}

impl ImportedReport {
    /// A report of one run.
    pub fn from_measurement(measurement: Measurement) -> Self {
        Self { measurements: vec![measurement], ..Self::default() }
    }

    /// Adds the measurements of a report in the same file.
    pub fn add(&mut self, report: Self) {
        let mut measurements = std::mem::take(&mut self.measurements);
        if measurements.is_empty() {
            *self = report;
        } else {
            measurements.extend(report.measurements);
            self.measurements = measurements;
        }
    }

    /// Refuses a report with figures that cannot be; in a report of many runs, such a run has an error instead.
    pub fn refuse_impossible_figures(&mut self) -> Result<(), String> {
        let is_single = self.measurements.len() == 1;
        for measurement in &mut self.measurements {
            match measurement.impossible_figure() {
                Some(problem) if is_single => return Err(problem),
                Some(problem) if measurement.error.is_none() => measurement.error = Some(problem),
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses a time that is none: rounds are ordered by them, as text.
    pub fn refuse_other_times(&self) -> Result<(), String> {
        let times = [Some(&self.started_at), self.finished_at.as_ref()];
        let mut given = times.into_iter().flatten().filter(|time| !time.is_empty());
        match given.find(|time| !is_timestamp(time)) {
            Some(found) => Err(format!("{found:?} is not a time in the form 2026-11-21T01:06:39Z")),
            None => Ok(()),
        }
    }

    /// Converts the report to a round and its trials. The ids are derived from the text, so the same file gives the
    /// same round.
    pub fn records(&self, file: &str, format: &str, text: &str) -> Result<(Round, Vec<Trial>), RecordError> {
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        let plan = self.name.clone().unwrap_or_else(|| stem.to_owned());
        let id = format!("imported-{}-{:08x}", slug(&plan), fingerprint(text));
        let round = json!({
            "schema": SCHEMA, "id": id, "plan": plan, "plan_toml": "", "seed": 0, "started_at": self.started_at,
            "finished_at": self.finished_at.as_deref().unwrap_or(&self.started_at), "generator": Value::Null,
            "planned": self.measurements.len(), "environment": self.environment(), "sittings": [],
            "changes": self.changes(file, format),
        });
        let mut repeats: HashMap<String, u32> = HashMap::new();
        let trials = (0..).zip(&self.measurements).map(|(order, measurement)| {
            let mut trial = measurement.trial(self, &id, order, format, file);
            // Of the same server, workload and load, a report is another launch.
            let same = [&trial["server"]["id"], &trial["form"], &trial["workload"], &trial["load"]["name"]];
            let repeat = repeats.entry(format!("{same:?}")).or_default();
            trial["repeat"] = (*repeat).into();
            *repeat += 1;
            read_trial(&trial.to_string())
        });
        Ok((read_round(&round.to_string())?, trials.collect::<Result<_, _>>()?))
    }

    /// The origin of the round, and its description.
    fn changes(&self, file: &str, format: &str) -> Vec<String> {
        let from = format!("imported from {file} ({format}); not measured by Paceline");
        [from, self.about.clone()].into_iter().filter(|text| !text.is_empty()).collect()
    }

    fn environment(&self) -> Value {
        json!({
            "cpu_model": self.machine, "cores": self.cores, "memory_bytes": 0, "kernel": "", "os": "",
            "virtual_machine": false, "mitigations": {}, "governor": Value::Null, "clock_source": Value::Null,
            "idle_states": [], "open_files_soft": 0, "open_files_hard": 0, "sysctl": {},
        })
    }
}

impl Measurement {
    /// The figures that contradict each other, as text.
    fn impossible_figure(&self) -> Option<String> {
        let time = |name: &str| self.times_ns.get(name).copied();
        let seconds = |ns: f64| format!("{} s", ns / 1e9);
        if let (Some(mean), Some(elapsed_s)) = (time("mean"), self.elapsed_s)
            && elapsed_s > 0.0
            && mean > elapsed_s * 1e9
        {
            return Some(format!(
                "the mean time of {} is longer than the run of {elapsed_s} s",
                seconds(mean)
            ));
        }
        let mut percentiles: Vec<(f64, f64)> = self.times_ns.iter().filter_map(percentile).collect();
        percentiles.sort_by(|one, other| one.0.total_cmp(&other.0));
        let smallest = time("min").map(|ns| ("the shortest time".to_owned(), ns));
        let largest = time("max").map(|ns| ("the longest time".to_owned(), ns));
        let named = percentiles.into_iter().map(|(percent, ns)| (format!("p{percent}"), ns));
        let ascending: Vec<(String, f64)> = smallest.into_iter().chain(named).chain(largest).collect();
        let pairs =
            ascending.windows(2).find(|pair| pair[0].1 > pair[1].1 * (1.0 + ROUNDING) + ROUNDING_NS)?;
        let [(low, low_ns), (high, high_ns)] = pairs else { return None };
        Some(format!("{low} of {} is longer than {high} of {}", seconds(*low_ns), seconds(*high_ns)))
    }

    fn trial(&self, report: &ImportedReport, round: &str, order: u32, format: &str, file: &str) -> Value {
        let name = if self.server_name.is_empty() { &self.server } else { &self.server_name };
        let server = if self.server.is_empty() { slug(name) } else { self.server.clone() };
        let place =
            [file, &self.place].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
        let times: BTreeMap<&String, u64> =
            self.times_ns.iter().map(|(name, ns)| (name, ns.max(0.0).round() as u64)).collect();
        let mut trial = json!({
            "schema": SCHEMA, "id": format!("{round}-{order:05}"), "round": round, "sitting": "", "launch": format!("{round}-{order:05}"),
            "block": 0, "order": order, "repeat": 0, "started_at": report.started_at,
            "server": {
                "id": server, "name": name, "language": self.language, "framework": self.framework, "engine": "",
                "kind": "", "tags": [], "versions": self.versions,
            },
            "form": if self.form.is_empty() { "published" } else { &self.form },
            "workload": self.workload(),
            "load": self.load(),
            "pinning": { "server": [], "generator": [], "disjoint": false },
            "generator_argv": self.argv, "samples": [], "cores": [], "log_tail": "", "verdicts": [],
            "imported": {
                "format": format, "place": place, "times_ns": times, "figures": self.figures, "note": self.note,
            },
        });
        match &self.error {
            Some(error) => trial["error"] = json!({ "stage": "load", "message": error, "transient": false }),
            None => trial["run"] = self.run(report, round, order),
        }
        trial
    }

    /// The workload: the path of the URL, if the report gives no name.
    fn workload(&self) -> &str {
        let path = self.url.split_once("://").and_then(|(_, rest)| Some(&rest[rest.find('/')?..]));
        match path {
            _ if !self.workload.is_empty() => &self.workload,
            Some(path) if path.len() > 1 => path,
            _ => "unknown",
        }
    }

    /// The kind of loop. wrk2 is always an open loop: it requires a rate, but its report does not print it.
    fn loop_kind(&self) -> &'static str {
        if self.rate_per_s.is_some() || self.tool == "wrk2" { "open" } else { "closed" }
    }

    fn load(&self) -> Value {
        // Some reports do not give the number of connections, others a rate that was computed.
        let connections = Some(self.connections).filter(|count| *count > 0).map(|count| count.to_string());
        let rate = self.rate_per_s.map(|rate| ((rate * 100.0).round() / 100.0).to_string());
        let parts: Vec<String> = connections.into_iter().chain(rate).collect();
        let kind = self.loop_kind();
        let default = if parts.is_empty() { kind.to_owned() } else { format!("{kind}-{}", parts.join("x")) };
        let mut load = json!({
            "name": if self.load.is_empty() { default } else { self.load.clone() },
            "kind": kind,
            "connections": self.connections, "depth": self.depth.max(1), "warmup_s": 0.0,
        });
        if let Some(rate) = self.rate_per_s {
            load["rate_per_s"] = rate.into();
        }
        match (self.requests, self.elapsed_s) {
            (Some(requests), _) => load["requests"] = requests.into(),
            (None, Some(elapsed_s)) => load["duration_s"] = elapsed_s.into(),
            (None, None) => {}
        }
        load
    }

    fn run(&self, report: &ImportedReport, round: &str, order: u32) -> Value {
        let failed = [self.bad_status, self.bad_body, self.connect_failed, self.io_failed, self.timed_out];
        let scheduled = failed.iter().fold(self.ok, |sum, count| sum.saturating_add(*count));
        let window_s = self.elapsed_s.unwrap_or(0.0);
        let counted = |count: u64| if window_s > 0.0 { count as f64 / window_s } else { 0.0 };
        let mut run = json!({
            "schema": SCHEMA, "id": format!("{round}-{order:05}"),
            "tool": { "name": self.tool, "version": self.tool_version, "commit": Value::Null },
            "argv": self.argv, "seed": 0, "started_at": report.started_at,
            "target": { "url": self.url, "protocol": self.protocol, "address": "" },
            "loop": {
                "kind": self.loop_kind(),
                "connections": self.connections, "depth": self.depth.max(1),
            },
            "pace": { "asked": "auto", "used": "sleep", "spin_before_ns": 0 },
            "expectations": {}, "timeout_ns": 0,
            "phases": {
                "connect": { "start_ns": 0, "end_ns": 0 }, "warmup": { "start_ns": 0, "end_ns": 0 },
                "window": { "start_ns": 0, "end_ns": (window_s * 1e9) as u64 }, "drain": { "start_ns": 0, "end_ns": 0 },
            },
            "window_s": window_s,
            "connections": {
                "asked": self.connections, "had": 0, "closed_by_server": 0, "closed_by_us": 0, "failed_attempts": 0,
            },
            "environment": report.environment(),
            "generator": {
                "threads": 0, "cores": [], "cpu_s": 0.0, "busy_s": 0.0, "spin_s": 0.0, "cpu_ns_per_request": 0.0,
                "utilization": 0.0, "run_delay_s": 0.0, "steal_s": 0.0, "rss_bytes_peak": 0,
                "backlog_at_window_start": 0, "by_thread": [],
            },
            "total": {
                "counts": {
                    "scheduled": scheduled, "ok": self.ok, "bad_status": self.bad_status, "bad_body": self.bad_body,
                    "connect_failed": self.connect_failed, "io_failed": self.io_failed, "timed_out": self.timed_out,
                    "unsent": 0,
                },
                "completed_in_window": self.ok, "status": self.status,
                "bytes": { "sent": 0, "received": self.received_bytes, "body": self.body_bytes },
            },
            "intervals": [],
            "rate_per_s": {
                "sent": counted(scheduled), "achieved": self.requests_per_s.unwrap_or_else(|| counted(self.ok)),
            },
            "verdicts": [],
        });
        if let Some(rate) = self.rate_per_s {
            run["loop"]["offered_per_s"] = rate.into();
            run["rate_per_s"]["offered"] = rate.into();
        }
        run
    }
}

/// The percent and the time of a percentile; none for another time.
fn percentile((name, ns): (&String, &f64)) -> Option<(f64, f64)> {
    Some((name.strip_prefix('p')?.replace('_', ".").parse().ok()?, *ns))
}

/// Converts a name to a part of an id: lower case, with `-` for every character that is not a letter or digit.
pub fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug: String = slug.trim_end_matches('-').chars().take(60).collect();
    if slug.is_empty() { "unknown".to_owned() } else { slug }
}

/// FNV-1a, 32 bits (<https://www.rfc-editor.org/rfc/rfc9923>): distinguishes files, and is the same on every machine.
fn fingerprint(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Parses a time with its unit (`247.05us`, `1.12ms`, `32 s`, `0.95m`) into nanoseconds.
pub fn time_ns(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let scale = match text[end..].trim() {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" | "secs" | "" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        unit => return Err(format!("{text:?} is not a time: unknown unit {unit:?}")),
    };
    number(&text[..end]).map(|value| value * scale)
}

/// Parses a number of bytes with its unit, by 1,024 (`1.44GB`, `3.83GB/s`, `75MiB`).
pub fn bytes(text: &str) -> Result<f64, String> {
    let text = text.trim().trim_end_matches("/s");
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let unit = text[end..].trim().trim_end_matches('B').trim_end_matches('i');
    let power = ["", "K", "M", "G", "T"].iter().position(|known| unit.eq_ignore_ascii_case(known));
    let power = power.ok_or_else(|| format!("{text:?} is not a number of bytes"))?;
    number(&text[..end]).map(|value| value * 1024f64.powi(i32::try_from(power).unwrap_or(0)))
}

/// Parses a finite number that is not negative.
pub fn number(text: &str) -> Result<f64, String> {
    let value =
        text.trim().replace(',', "").parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| format!("{:?} is not a number", text.trim()))
}

/// The sum of counts from an untrusted file, without overflow.
pub fn total(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// Parses a count.
pub fn count(text: &str) -> Result<u64, String> {
    let text = text.trim().replace(',', "");
    text.parse().map_err(|_| format!("{text:?} is not a count"))
}
