//! A report, the measurements found in it, and their conversion to records.
//!
//! Records are deserialized from JSON, so that keys that are not set here are left out or have their defaults.

use paceline_peers::{Peer, PeerReport, PrintedReport};
use paceline_record::{RecordError, Round, SCHEMA, Trial, is_timestamp, read_round, read_trial};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// How far times of one report may contradict each other by rounding: programs print from two digits on (0.95m for
/// 56,950 ms), and ab and siege whole milliseconds and steps of 10 ms.
const ROUNDING: f64 = 0.1;
const ROUNDING_NS: f64 = 10e6;

/// A closed loop may have fewer requests under way than connections by this factor: generators count the end of a run,
/// connecting and their own work differently. Chosen, not measured.
const MAX_UNEXPLAINED: f64 = 1.5;

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
    /// The server measured: an id (derived from the name if empty), its name and its kind.
    pub server: String,
    pub server_name: String,
    pub language: String,
    pub framework: String,
    pub versions: String,
    pub form: String,
    pub workload: String,
    pub load: String,
    pub depth: u32,
    /// Its figures.
    pub report: PeerReport,
    /// Why there is no result.
    pub error: Option<String>,
}

impl ImportedReport {
    /// Reads a program's report of one run.
    pub fn from_peer(peer: &Peer, printed: &PrintedReport<'_>) -> Result<Self, String> {
        let report = (peer.read)(printed)?;
        let authority = report.url.split("://").nth(1).and_then(|rest| rest.split('/').next());
        let name = Some(report.server.as_str()).filter(|name| !name.is_empty()).or(authority);
        Ok(Self {
            started_at: report.started_at.clone(),
            finished_at: report.finished_at.clone(),
            measurements: vec![Measurement {
                tool: peer.name.to_owned(),
                server_name: name.unwrap_or_default().to_owned(),
                versions: report.server.clone(),
                depth: report.depth,
                report,
                ..Measurement::default()
            }],
            ..Self::default()
        })
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

    /// Leaves out 99th percentiles that are copies of the mean, as HttpArena's wrapper of some generators makes them.
    pub fn leave_out_copied_percentiles(&mut self) {
        for measurement in self.measurements.iter_mut().filter(|row| row.has_copied_percentile()) {
            measurement.report.times_ns.remove("p99");
        }
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
        let little = self.little_law_notes().unwrap_or_default();
        [from, self.about.clone(), little].into_iter().filter(|text| !text.is_empty()).collect()
    }

    /// How many rows break Little's law, and how the first does.
    fn little_law_notes(&self) -> Option<String> {
        let noted = |row: &Measurement| row.little_law_note().map(|note| (row.name().to_owned(), note));
        let mut notes = self.measurements.iter().filter_map(noted);
        let (name, note) = notes.next()?;
        let others = match notes.count() {
            0 => String::new(),
            further => format!("; {further} further rows of {} likewise", self.measurements.len()),
        };
        Some(format!("{name}: {note}{others}"))
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
    pub(crate) fn impossible_figure(&self) -> Option<String> {
        let time = |name: &str| self.report.times_ns.get(name).copied();
        let seconds = |ns: f64| format!("{} s", ns / 1e9);
        if let (Some(mean), Some(elapsed_s)) = (time("mean"), self.report.elapsed_s)
            && elapsed_s > 0.0
            && mean > elapsed_s * 1e9
        {
            return Some(format!(
                "the mean time of {} is longer than the run of {elapsed_s} s",
                seconds(mean)
            ));
        }
        let mut percentiles: Vec<(f64, f64)> = self.report.times_ns.iter().filter_map(percentile).collect();
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

    /// That the rate and the mean time do not give the number of connections, which they do in a closed loop by
    /// Little's law (Operations Research 9, 1961, p. 383).
    pub(crate) fn little_law_note(&self) -> Option<String> {
        let (outstanding, rate) = self.closed_loop()?;
        let mean_ns = *self.report.times_ns.get("mean")?;
        let held = rate * mean_ns / 1e9;
        (held * MAX_UNEXPLAINED < outstanding).then(|| format!(
            "{rate:.0} requests/s of {} ms on average keep {held:.0} of {outstanding:.0} requests under way (all of them \
             would take {} ms): connections waited for the generator or paused, or the figures are not of one run",
            rounded_ms(mean_ns),
            rounded_ms(outstanding / rate * 1e9)
        ))
    }

    /// The requests that a closed loop has under way at a time, and its rate; none for k6, whose users run a script
    /// that may pause between requests, or send several at once.
    pub(crate) fn closed_loop(&self) -> Option<(f64, f64)> {
        let outstanding = f64::from(self.report.connections) * f64::from(self.depth.max(1));
        let is_closed = self.loop_kind() == "closed" && self.tool != "k6" && outstanding > 0.0;
        Some((outstanding, self.rate_per_s().filter(|_| is_closed)?))
    }

    /// The printed rate, or else that of the right responses.
    pub(crate) fn rate_per_s(&self) -> Option<f64> {
        let counted = || Some(self.report.counts.ok as f64 / self.report.elapsed_s.filter(|s| *s > 0.0)?);
        self.report.requests_per_s.or_else(counted).filter(|rate| *rate > 0.0)
    }

    /// Whether the 99th percentile is a copy of the mean: they are equal, and no longest time says that all are.
    pub(crate) fn has_copied_percentile(&self) -> bool {
        let time = |name: &str| self.report.times_ns.get(name);
        time("p99").is_some() && time("p99") == time("mean") && time("max").is_none()
    }

    fn trial(&self, report: &ImportedReport, round: &str, order: u32, format: &str, file: &str) -> Value {
        let name = self.name();
        let server = if self.server.is_empty() { slug(name) } else { self.server.clone() };
        let place = [file, &self.report.place]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(", ");
        let times: BTreeMap<&String, u64> =
            self.report.times_ns.iter().map(|(name, ns)| (name, ns.max(0.0).round() as u64)).collect();
        let notes = [Some(self.report.note.clone()), self.little_law_note()];
        let notes: Vec<String> = notes.into_iter().flatten().filter(|note| !note.is_empty()).collect();
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
                "format": format, "place": place, "times_ns": times, "figures": self.report.figures, "note": notes.join("; "),
            },
        });
        match &self.error {
            Some(error) => trial["error"] = json!({ "stage": "load", "message": error, "transient": false }),
            None => trial["run"] = self.run(report, round, order),
        }
        trial
    }

    /// The server's name, or else its id.
    pub(crate) fn name(&self) -> &str {
        if self.server_name.is_empty() { &self.server } else { &self.server_name }
    }

    /// The workload: the path of the URL, if the report gives no name.
    pub(crate) fn workload(&self) -> &str {
        let path = self.report.url.split_once("://").and_then(|(_, rest)| Some(&rest[rest.find('/')?..]));
        match path {
            _ if !self.workload.is_empty() => &self.workload,
            Some(path) if path.len() > 1 => path,
            _ => "unknown",
        }
    }

    /// The kind of loop. wrk2 is always an open loop: it requires a rate, but its report does not print it.
    fn loop_kind(&self) -> &'static str {
        if self.report.rate_per_s.is_some() || self.tool == "wrk2" { "open" } else { "closed" }
    }

    fn load(&self) -> Value {
        // Some reports do not give the number of connections, others a rate that was computed.
        let connections =
            Some(self.report.connections).filter(|count| *count > 0).map(|count| count.to_string());
        let rate = self.report.rate_per_s.map(|rate| ((rate * 100.0).round() / 100.0).to_string());
        let parts: Vec<String> = connections.into_iter().chain(rate).collect();
        let kind = self.loop_kind();
        let default = if parts.is_empty() { kind.to_owned() } else { format!("{kind}-{}", parts.join("x")) };
        // Loads that differ only in pipelining are different rows.
        let default = if self.depth > 1 { format!("{default}-pipelined-{}", self.depth) } else { default };
        let mut load = json!({
            "name": if self.load.is_empty() { default } else { self.load.clone() },
            "kind": kind,
            "connections": self.report.connections, "depth": self.depth.max(1), "warmup_s": 0.0,
        });
        if let Some(rate) = self.report.rate_per_s {
            load["rate_per_s"] = rate.into();
        }
        match (self.report.requests, self.report.elapsed_s) {
            (Some(requests), _) => load["requests"] = requests.into(),
            (None, Some(elapsed_s)) => load["duration_s"] = elapsed_s.into(),
            (None, None) => {}
        }
        load
    }

    fn run(&self, report: &ImportedReport, round: &str, order: u32) -> Value {
        let mut counts = self.report.counts;
        counts.scheduled = counts.ended();
        let window_s = self.report.elapsed_s.unwrap_or(0.0);
        let counted = |count: u64| if window_s > 0.0 { count as f64 / window_s } else { 0.0 };
        let mut run = json!({
            "schema": SCHEMA, "id": format!("{round}-{order:05}"),
            "tool": { "name": self.tool, "version": self.tool_version, "commit": Value::Null },
            "argv": self.argv, "seed": 0, "started_at": report.started_at,
            "target": { "url": self.report.url, "protocol": self.report.protocol, "address": "" },
            "loop": {
                "kind": self.loop_kind(),
                "connections": self.report.connections, "depth": self.depth.max(1),
            },
            "pace": { "asked": "auto", "used": "sleep", "spin_before_ns": 0 },
            "expectations": {}, "timeout_ns": 0,
            "phases": {
                "connect": { "start_ns": 0, "end_ns": 0 }, "warmup": { "start_ns": 0, "end_ns": 0 },
                "window": { "start_ns": 0, "end_ns": (window_s * 1e9) as u64 }, "drain": { "start_ns": 0, "end_ns": 0 },
            },
            "window_s": window_s,
            "connections": {
                "asked": self.report.connections, "had": 0, "closed_by_server": 0, "closed_by_us": 0, "failed_attempts": 0,
            },
            "environment": report.environment(),
            "generator": {
                "threads": 0, "cores": [], "cpu_s": 0.0, "busy_s": 0.0, "spin_s": 0.0, "cpu_ns_per_request": 0.0,
                "utilization": 0.0, "run_delay_s": 0.0, "steal_s": 0.0, "rss_bytes_peak": 0,
                "backlog_at_window_start": 0, "by_thread": [],
            },
            "total": {
                "counts": counts, "completed_in_window": counts.ok, "status": self.report.status,
                "bytes": self.report.bytes,
            },
            "intervals": [],
            "rate_per_s": {
                "sent": counted(counts.scheduled), "achieved": self.report.requests_per_s.unwrap_or_else(|| counted(counts.ok)),
            },
            "verdicts": [],
        });
        if let Some(rate) = self.report.rate_per_s {
            run["loop"]["offered_per_s"] = rate.into();
            run["rate_per_s"]["offered"] = rate.into();
        }
        run
    }
}

/// Milliseconds with two decimals at most.
pub(crate) fn rounded_ms(ns: f64) -> f64 {
    (ns / 1e4).round() / 100.0
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
