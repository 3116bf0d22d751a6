//! One load on a target and its result, in the form that experiments need.
//!
//! The binary makes a [`LoadResult`] from each run's record, so that experiments can be tested without records.

use crate::conditions::Conditions;
use paceline_record::{
    Blame, GateOutcome, Interval, Limit, LoopKind, Phase, RequestPart, Run, ServerUse, SessionPart, Severity,
    Span, Times, Verdict,
};
use paceline_stats::{
    ConfidenceInterval, Histogram, RunPercentile, WARM_UP_SECONDS, is_warm, run_percentile,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The first load of a warm-up: the full seconds that the rule needs, and the last, which may be short.
const WARM_UP_FIRST: Duration = Duration::from_secs(2 * WARM_UP_SECONDS as u64 + 1);
/// Further loads: as many full seconds as the rule compares, and the last.
const WARM_UP_NEXT: Duration = Duration::from_secs(WARM_UP_SECONDS as u64 + 1);

/// A load to put on a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadRequest {
    /// The offered rate per second; none for a closed loop.
    pub rate_per_s: Option<f64>,
    /// Length of the warm-up.
    pub warmup: Duration,
    /// Length of the window.
    pub window: Duration,
}

/// Applies load to one target.
pub trait LoadRunner {
    /// Runs one load.
    ///
    /// # Errors
    /// [`LoadError`] if there is no result.
    fn run(&mut self, request: &LoadRequest) -> Result<LoadResult, LoadError>;
}

/// Why a load has no result.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
    /// A flag or the target is wrong.
    #[error("{0}")]
    Usage(String),
    /// The target or the machine failed.
    #[error("{0}")]
    Failed(String),
    /// The server ended under the load: how, in a few words.
    #[error("the server ended with {0} under load")]
    ServerEnded(String),
    /// The server answered no request as expected.
    #[error(
        "the server gave no valid response in the {load}; show one response with `paceline run URL --debug` (for a server of the lab, --path sets the path)"
    )]
    NoValidResponse {
        /// The load.
        load: &'static str,
    },
}

/// Runs a closed loop until the server is warm or the limit is reached. Returns whether it is warm.
///
/// # Errors
/// [`LoadError`] if a load has no result, or no valid response: more time would not make it valid.
pub fn warm_up(load: &mut dyn LoadRunner, limit: Duration) -> Result<bool, LoadError> {
    let mut rates = Vec::new();
    let mut spent = Duration::ZERO;
    while spent < limit {
        let window = if rates.is_empty() { WARM_UP_FIRST } else { WARM_UP_NEXT };
        let result = load.run(&LoadRequest { rate_per_s: None, warmup: Duration::ZERO, window })?;
        if result.ok == 0 {
            return Err(LoadError::NoValidResponse { load: "warm-up" });
        }
        rates.extend(result.rate_per_second);
        if is_warm(&rates) {
            return Ok(true);
        }
        spent += window;
    }
    Ok(limit.is_zero())
}

/// Percentiles of a time, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeSummary {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The maximum.
    pub max: u64,
}

impl TimeSummary {
    pub(crate) fn from_times(times: &Times) -> Self {
        Self { mean: times.mean, p50: times.p50, p99: times.p99, max: times.max }
    }
}

/// The results of one request of a mix, or of one kind of session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestSummary {
    /// Its name in the request file.
    pub name: String,
    /// Requests, or sessions, of the window's cohort.
    pub scheduled: u64,
    /// Those whose outcome is not ok.
    pub failed: u64,
    /// The response time (closed loop: service time), or the session time.
    pub time_ns: Option<TimeSummary>,
}

/// What a schedule and a capacity count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateUnit {
    /// Requests per second.
    #[default]
    Requests,
    /// Sessions per second: a schedule offers sessions, each with several requests.
    Sessions,
}

/// CPU and memory use of the server's processes, where they could be found on this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadServerUse {
    /// CPU time over the observation, in seconds.
    pub cpu_s: f64,
    /// CPU time per request, in nanoseconds, if it was measured over the window alone.
    #[serde(default)]
    pub cpu_ns_per_request: Option<f64>,
    /// Length of the observation, in seconds.
    pub over_s: f64,
    /// Cores that it may run on.
    pub cores: u32,
    /// Resident memory at the end, in bytes.
    pub rss_bytes: u64,
}

impl LoadServerUse {
    /// The use over the window, as the run measured it.
    pub fn from_use(server: &ServerUse, window_s: f64) -> Self {
        Self {
            cpu_s: server.cpu_s,
            cpu_ns_per_request: Some(server.cpu_ns_per_request).filter(|cpu_ns| *cpu_ns > 0.0),
            over_s: window_s,
            cores: server.cores_allowed,
            rss_bytes: server.rss_bytes,
        }
    }
}

/// The result of one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadResult {
    /// The offered rate; none in a closed loop.
    pub offered_per_s: Option<f64>,
    /// Valid responses per second of window.
    pub achieved_per_s: f64,
    /// Sessions completed per second of window, if the load has sessions: a schedule then offers sessions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sessions_per_s: Option<f64>,
    /// The results of each kind of session.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub by_session: Vec<RequestSummary>,
    /// The results of each request of a mix.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub by_request: Vec<RequestSummary>,
    /// Length of the window, in seconds; 0 in results of earlier versions.
    #[serde(default)]
    pub window_s: f64,
    /// Connections requested.
    pub connections: u32,
    /// Requests of the window.
    pub scheduled: u64,
    /// Requests of the window that ended ok.
    pub ok: u64,
    /// Requests of the window without a response: timed out, or never sent.
    #[serde(default)]
    pub censored: u64,
    /// The share of failed requests that the user accepts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub not_ok_share_allowed: Option<f64>,
    /// Response time; open loop.
    pub response_time_ns: Option<TimeSummary>,
    /// Service time; none without responses.
    pub service_time_ns: Option<TimeSummary>,
    /// The outcomes of the objective's parts.
    pub gates: Vec<GateOutcome>,
    /// The run's verdicts.
    pub verdicts: Vec<Verdict>,
    /// Share of the time for which the generator's threads were busy, 0 to 1.
    pub generator_busy_share: f64,
    /// CPU and memory use of the server.
    pub server: Option<LoadServerUse>,
    /// What limited it; closed loop.
    #[serde(skip)]
    pub limit: Option<Limit>,
    /// Warm-up and window together, in seconds.
    pub load_s: f64,
    /// Valid responses of the whole run, warm-up included; 0 in results of earlier versions.
    #[serde(default)]
    pub ok_in_run: u64,
    /// The load, the machine and the time.
    #[serde(skip)]
    pub conditions: Option<Box<Conditions>>,
    /// Achieved rate of each full second of the run, warm-up included.
    #[serde(skip)]
    pub rate_per_second: Vec<f64>,
    /// Histograms of the response time (closed loop: service time) of the window's intervals.
    #[serde(skip)]
    pub intervals: Vec<Histogram>,
    /// From the start of the server, launched for this observation, to its first answer, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub start_ns: Option<u64>,
    /// The capacity, if it was searched too.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub capacity_per_s: Option<f64>,
    /// The file with the run's record.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub record: Option<String>,
}

impl LoadResult {
    /// Extracts the fields that experiments need from a run's record. The server's use is that of the window.
    pub fn from_run(run: &Run) -> Self {
        let is_open = run.loop_.kind == LoopKind::Open;
        let times = |block: &paceline_record::Block| {
            let judged = if is_open { &block.response_time_ns } else { &block.service_time_ns };
            judged.as_ref().map(|times| times.histogram.clone())
        };
        let of_window = run.intervals.iter().filter(|interval| interval.phase == Phase::Window);
        let intervals =
            of_window.filter_map(|interval| Histogram::from_base64(&times(&interval.block)?).ok());
        let busy = run.generator.busy_s / (f64::from(run.generator.threads.max(1)) * run.window_s.max(1e-9));
        let server = run.server.as_ref().map(|server| LoadServerUse::from_use(server, run.window_s));
        let loaded_ns = run.phases.window.end_ns.saturating_sub(run.phases.warmup.start_ns);
        Self {
            offered_per_s: run.rate_per_s.offered,
            achieved_per_s: run.rate_per_s.achieved,
            sessions_per_s: run.sessions_achieved_per_s(),
            by_session: run.sessions.iter().flatten().map(RequestSummary::of_session).collect(),
            by_request: by_request(run),
            window_s: run.window_s,
            connections: run.loop_.connections,
            scheduled: run.total.counts.scheduled,
            ok: run.total.counts.ok,
            censored: run.total.counts.censored(),
            not_ok_share_allowed: run.not_ok_share_allowed,
            response_time_ns: run.total.response_time_ns.as_ref().map(TimeSummary::from_times),
            service_time_ns: run.total.service_time_ns.as_ref().map(TimeSummary::from_times),
            gates: run.gates.clone(),
            verdicts: run.verdicts.clone(),
            generator_busy_share: busy,
            server,
            limit: (!is_open).then(|| paceline_judge::run_limit(run)),
            load_s: loaded_ns as f64 * 1e-9,
            ok_in_run: run.intervals.iter().map(|interval| interval.block.counts.ok).sum(),
            conditions: Some(Box::new(Conditions::from_run(run))),
            rate_per_second: rate_per_second(run),
            intervals: intervals.collect(),
            start_ns: None,
            capacity_per_s: None,
            record: None,
        }
    }

    /// What the schedule counts.
    pub fn unit(&self) -> RateUnit {
        if self.sessions_per_s.is_some() { RateUnit::Sessions } else { RateUnit::Requests }
    }

    /// The achieved rate in the unit of the schedule: sessions or requests per second.
    pub fn achieved_in_unit_per_s(&self) -> f64 {
        self.sessions_per_s.unwrap_or(self.achieved_per_s)
    }

    /// Whether the result has this verdict.
    pub fn has_verdict(&self, name: &str) -> bool {
        self.verdicts.iter().any(|verdict| verdict.name == name)
    }

    /// The times of one kind that it had per second: one for each session, or for each request.
    pub(crate) fn times_per_s(&self, time: &str) -> f64 {
        let of_step = |name: &str| {
            let steps = self.by_request.iter();
            let steps = steps.filter(|part| paceline_judge::gate::without_spaces(&part.name) == name);
            steps.map(|part| part.scheduled).sum::<u64>() as f64 / self.window_s.max(f64::MIN_POSITIVE)
        };
        match (time, paceline_judge::gate::step_name(time)) {
            ("session", _) => self.achieved_in_unit_per_s(),
            (_, Some(name)) => of_step(name),
            (_, None) => self.achieved_per_s,
        }
    }

    /// The judged time of the request of a mix with this name, written without spaces. Of a load with one request, that
    /// is the time of all.
    pub(crate) fn step_time_ns(&self, step: &str) -> Option<TimeSummary> {
        if self.by_request.is_empty() {
            return self.offered_per_s.map_or(self.service_time_ns, |_| self.response_time_ns);
        }
        let is_step = |part: &&RequestSummary| paceline_judge::gate::without_spaces(&part.name) == step;
        self.by_request.iter().find(is_step)?.time_ns
    }

    /// The verdict that makes the result void: invalid, and not blamed on the server.
    pub fn void_because(&self) -> Option<&Verdict> {
        let is_ours = |verdict: &&Verdict| verdict.blame != Blame::Server;
        self.verdicts.iter().filter(is_ours).find(|verdict| verdict.severity == Severity::Invalid)
    }

    /// Why the result cannot be used, if not because of the generator or the machine: an invalid run, an overload, or a
    /// gate of the run (`--slo`, `--max-errors`) that failed.
    pub fn unusable_because(&self) -> Option<String> {
        unusable_because(&self.verdicts, &self.gates)
    }

    /// The verdict that may explain a miss without the server: the generator or the machine lost time in the window,
    /// but less than makes it void. Overload (`saturated`) is blamed on the server in any case.
    pub fn disturbed_by(&self) -> Option<&Verdict> {
        let is_disturbance = |verdict: &&Verdict| {
            matches!(verdict.blame, Blame::Generator | Blame::Environment)
                && verdict.severity == Severity::Caution
        };
        self.verdicts.iter().find(is_disturbance).filter(|_| !self.has_verdict("saturated"))
    }

    /// The percentile `p` (0 to 1) of the judged time with its interval within the run.
    pub fn percentile(&self, p: f64) -> Option<RunPercentile> {
        run_percentile(&self.intervals, p)
    }

    /// The server's CPU time per request, in nanoseconds. If it was measured over more than the window, the warm-up has
    /// the same load and is included.
    pub fn server_cpu_ns_per_request(&self) -> Option<f64> {
        if let Some(of_window) = self.server.and_then(|server| server.cpu_ns_per_request) {
            return Some(of_window);
        }
        let requests = match self.ok_in_run {
            0 => self.achieved_per_s * self.load_s,
            count => count as f64,
        };
        self.server
            .filter(|server| requests >= 1.0 && server.cpu_s > 0.0)
            .map(|server| server.cpu_s * 1e9 / requests)
    }
}

/// Why a run with these verdicts and gates cannot be used, if not because of the generator or the machine.
pub(crate) fn unusable_because(verdicts: &[Verdict], gates: &[GateOutcome]) -> Option<String> {
    let words = |verdict: &Verdict| match &verdict.remedy[..] {
        "" => verdict.name.clone(),
        remedy => format!("{}: {remedy}", verdict.name),
    };
    let failed = || gates.iter().find(|gate| !gate.passed).map(|gate| format!("{} failed", gate.gate));
    paceline_judge::unusable_because(verdicts).map(words).or_else(failed)
}

impl RequestSummary {
    fn of_session(session: &SessionPart) -> Self {
        Self {
            name: session.name.clone(),
            scheduled: session.started,
            failed: session.started.saturating_sub(session.completed),
            time_ns: session.session_time_ns.as_ref().map(TimeSummary::from_times),
        }
    }
}

/// Each request of a mix.
fn by_request(run: &Run) -> Vec<RequestSummary> {
    let part = |part: &RequestPart| {
        let block = &part.block;
        let times = match run.loop_.kind {
            LoopKind::Open => &block.response_time_ns,
            LoopKind::Closed => &block.service_time_ns,
        };
        RequestSummary {
            name: part.name.clone(),
            scheduled: block.counts.scheduled,
            failed: block.counts.not_ok(),
            time_ns: times.as_ref().map(TimeSummary::from_times),
        }
    };
    run.by_request.iter().flatten().map(part).collect()
}

/// Valid responses in each interval of about a second, as rates, without the last, which may be short.
fn rate_per_second(run: &Run) -> Vec<f64> {
    let mut seconds = run.intervals_by_time();
    seconds.pop();
    let rate = |(span, intervals): &(Span, Vec<&Interval>)| {
        let ok: u64 = intervals.iter().map(|interval| interval.block.counts.ok).sum();
        ok as f64 / ((span.end_ns - span.start_ns) as f64 * 1e-9)
    };
    seconds.iter().map(rate).collect()
}

/// An interval with units, as results print it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl From<ConfidenceInterval> for Range {
    fn from(interval: ConfidenceInterval) -> Self {
        Self { low: interval.low, high: interval.high }
    }
}
