//! A run: one generator against one target, once. Units are in the names of the keys.
//!
//! The crate `run` fills it in; for another load generator, the lab does. Trials contain it, verdicts and gates judge
//! it, reports show it. Its parts are in other files: blocks, phases, generator, server, target, expectations.

use crate::{
    ArrivalCheck, BadBody, Block, BodyFaults, BodyWaits, Connections, Environment, ExpectContinue,
    Expectations, FailedCheck, GateOutcome, GcLog, Generator, Interval, KernelCounts, Loader, PackageEnergy,
    Phases, Profile, RequestPart, Segment, ServerMetrics, ServerSample, ServerUse, ServerWaits, SessionPart,
    Span, StreamExamples, Summary, SummaryTime, SystemCalls, Target, TimeKind, Verdict,
};
use paceline_job::{Arrivals, ConnectionPlan, Job, PaceChoice, PaceKind, Shape, Think};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One generator against one target, once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The version of these keys; a change of any number's meaning raises it.
    pub schema: u32,
    /// Unique: start time and a random part.
    pub id: String,
    /// The load generator.
    pub tool: Tool,
    /// The command line, so that the run can be repeated by hand.
    pub argv: Vec<String>,
    /// The seed of every random choice.
    pub seed: u64,
    /// Wall-clock start, RFC 3339, UTC.
    pub started_at: String,
    /// The requested settings, with secrets replaced: `paceline run --job` repeats the run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub job: Option<Box<Job>>,
    /// The URL that was measured, and the connection to it.
    pub target: Target,
    /// The shape of the load.
    #[serde(rename = "loop")]
    pub loop_: Loop,
    /// How the generator waited for the next send.
    pub pace: Pace,
    /// The definition of a valid response.
    pub expectations: Expectations,
    /// From actual send; a request without a complete response by then is `timed_out`.
    pub timeout_ns: u64,
    /// The time of each phase, from the start of the run.
    pub phases: Phases,
    /// Length of the window, in seconds: the divisor of rates.
    pub window_s: f64,
    /// Whether it was stopped before its planned end.
    #[serde(default)]
    pub stopped: bool,
    /// The share of failed requests that the user accepts (`--max-errors`), 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub not_ok_share_allowed: Option<f64>,
    /// Connections requested and opened, and the side that closed them.
    pub connections: Connections,
    /// The machine that the load generator ran on.
    pub environment: Environment,
    /// CPU time, memory and quality figures of the generator.
    pub generator: Generator,
    /// What the kernel of the generator's machine counted of lost and repeated packets; of one generator.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kernel: Option<KernelCounts>,
    /// CPU time and memory of the server, if it runs on this machine and could be observed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<ServerUse>,
    /// The same of the servers on this machine that the server has connections to, such as an application behind a proxy
    /// and its database, nearest first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub behind_server: Vec<ServerUse>,
    /// The Unix sockets that the server, or a server behind it, had connections to. The processes that serve them are
    /// not in `behind_server`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unix_sockets: Vec<String>,
    /// Energy of the CPU packages over the window, if the server is observed and the kernel reports it. The run of a trial
    /// has none: the trial has it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub energy: Option<PackageEnergy>,
    /// The server once a second, from before the first connection to the end of the run; at longer intervals in a long run.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub server_samples: Vec<ServerSample>,
    /// Series that the server published of itself, if requested (`--scrape`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_metrics: Option<ServerMetrics>,
    /// Pauses of the server's garbage collector, if its log was given (`--gc-log`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gc_log: Option<GcLog>,
    /// The generator's process at the same times; its CPU time includes spinning.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub generator_samples: Vec<ServerSample>,
    /// Where the CPU time of the server went, if requested (`--profile`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub profile: Option<Profile>,
    /// Why there is no profile although it was requested.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub profile_failure: Option<String>,
    /// What the server waited for, with a profile.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_waits: Option<ServerWaits>,
    /// The system calls of the server for each request, if requested (`--syscalls`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub syscalls: Option<SystemCalls>,
    /// Why system calls were not counted although it was requested.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub syscalls_failure: Option<String>,
    /// All requests that were due in the window: their outcomes and their times.
    pub total: Block,
    /// The cohort by segment of a ramp or a staircase, in order.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by_segment: Option<Vec<Segment>>,
    /// The cohort by request of a mix, in the order of the request file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by_request: Option<Vec<RequestPart>>,
    /// The sessions of a request file, in its order.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sessions: Option<Vec<SessionPart>>,
    /// The cohort by generator, if several shared one run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by_generator: Option<Vec<Block>>,
    /// Those generators, in the same order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub loaders: Vec<Loader>,
    /// The requests that ended in each interval, warm-up included; a long run has longer intervals.
    pub intervals: Vec<Interval>,
    /// The first unexpected body of each request.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub bad_bodies: Vec<BadBody>,
    /// The reasons for which a script refused responses of the window, the most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub failed_checks: Vec<FailedCheck>,
    /// A few streams with the times of their events.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stream_examples: Option<StreamExamples>,
    /// How request bodies that waited for 100 Continue were sent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expect_continue: Option<ExpectContinue>,
    /// What went wrong with the files of request bodies that were read while they were sent; none if nothing did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub body_faults: Option<BodyFaults>,
    /// Waits for the disk in the window, if bodies were read from files while they were sent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub body_waits: Option<BodyWaits>,
    /// The requests that were outstanding when the window opened, and their outcome.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub carried_over: Option<CarriedOver>,
    /// The check that random arrivals left at random times.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arrival_check: Option<ArrivalCheck>,
    /// The most important figures, under the same keys for both loops.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub summary: Option<Summary>,
    /// Rates over the window, derived from `total` and the schedule.
    pub rate_per_s: Rates,
    /// Why a number may not mean what it seems to.
    pub verdicts: Vec<Verdict>,
    /// The outcome of each requested gate (`--slo`, `--max-errors`).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub gates: Vec<GateOutcome>,
}

impl Run {
    /// The samples of the server in the window.
    pub fn server_samples_of_window(&self) -> impl Iterator<Item = &ServerSample> {
        let window = self.phases.window.start_ns..=self.phases.window.end_ns;
        self.server_samples.iter().filter(move |sample| window.contains(&sample.at_ns))
    }

    /// The intervals of every cohort by time: those that began together, in order, each until the next began. The last
    /// lasts to the end of the drain.
    pub fn intervals_by_time(&self) -> Vec<(Span, Vec<&Interval>)> {
        let mut by_start: BTreeMap<u64, Vec<&Interval>> = BTreeMap::new();
        for interval in &self.intervals {
            by_start.entry(interval.start_ns).or_default().push(interval);
        }
        let last_ns = self.phases.drain.end_ns.max(self.phases.window.end_ns);
        let ends: Vec<u64> = by_start.keys().copied().skip(1).chain([last_ns]).collect();
        let parts = by_start.into_iter().zip(ends);
        parts.map(|((start_ns, intervals), end_ns)| (Span { start_ns, end_ns }, intervals)).collect()
    }

    /// Valid responses that came in a part of warm-up and window, of either cohort. If an interval is only partly in
    /// it, its responses count as if they had come evenly.
    pub fn ok_within(&self, part: Span) -> f64 {
        let window_end_ns = self.phases.window.end_ns;
        let ok = |intervals: &[&Interval]| -> u64 { intervals.iter().map(|part| part.block.counts.ok).sum() };
        let (before, after): (Vec<_>, Vec<_>) =
            self.intervals_by_time().into_iter().partition(|(span, _)| span.start_ns < window_end_ns);
        // The interval in which the window ends also has the first responses of the drain.
        let in_drain = self.total.counts.ok.saturating_sub(self.total.completed_in_window);
        let in_drain = in_drain.saturating_sub(after.iter().map(|(_, intervals)| ok(intervals)).sum());
        let common = |(span, intervals): &(Span, Vec<&Interval>)| {
            let others = if span.end_ns > window_end_ns { in_drain } else { 0 };
            let end_ns = span.end_ns.min(window_end_ns);
            let common_ns = end_ns.min(part.end_ns).saturating_sub(span.start_ns.max(part.start_ns));
            let share = common_ns as f64 / end_ns.saturating_sub(span.start_ns).max(1) as f64;
            ok(intervals).saturating_sub(others) as f64 * share
        };
        before.iter().map(common).sum()
    }

    /// Requests of the window without a complete response within the timeout. When a run is stopped, those in flight
    /// are cut off soon after: they are `timed_out` too, but have waited for less, and did not fail.
    pub fn exceeded_timeout(&self) -> u64 {
        let timed_out = self.total.counts.timed_out;
        if !self.stopped {
            return timed_out;
        }
        let times = self.total.service_time_ns.as_ref();
        let waited = times.and_then(|times| times.decode().ok()).unwrap_or_default();
        // A cell of the histogram is narrower than a hundredth of its time.
        let shorter = waited.count_at_or_below(self.timeout_ns / 100 * 99);
        timed_out.min(waited.count().saturating_sub(shorter))
    }

    /// The memory by which the server's highest value in the window exceeds that before the load, for each open connection,
    /// in bytes; none if it was not sampled.
    pub fn server_bytes_per_connection(&self) -> Option<f64> {
        let server = self.server.as_ref()?;
        let more = server.rss_bytes_peak?.saturating_sub(server.rss_bytes_before?);
        (self.connections.had > 0).then(|| more as f64 / self.connections.had as f64)
    }

    /// Its most important figures.
    pub fn summarize(&self) -> Summary {
        let (time, times) = match self.loop_.kind {
            LoopKind::Open => (SummaryTime::Response, self.total.response_time_ns.as_ref()),
            LoopKind::Closed => (SummaryTime::Service, self.total.service_time_ns.as_ref()),
        };
        let counts = &self.total.counts;
        let mut verdicts: Vec<_> = self.verdicts.iter().collect();
        verdicts.sort_by_key(|verdict| std::cmp::Reverse(verdict.severity));
        Summary {
            achieved_per_s: self.rate_per_s.achieved,
            offered_per_s: self.rate_per_s.offered,
            requests: counts.scheduled,
            ok: counts.ok,
            not_ok: counts.not_ok(),
            time,
            mean_ns: times.map(|times| times.mean),
            p50_ns: times.map(|times| times.p50),
            p90_ns: times.map(|times| times.p90),
            p95_ns: times.map(|times| times.p95),
            p99_ns: times.map(|times| times.p99),
            p99_9_ns: times.map(|times| times.p99_9),
            max_ns: times.map(|times| times.max),
            verdicts: verdicts.into_iter().map(|verdict| verdict.name.clone()).collect(),
            kept_up_at_per_s: self.kept_up_at_per_s(),
            fell_behind_at_per_s: self.of_saturated("fell_behind_at_per_s"),
            sessions_achieved_per_s: self.rate_per_s.sessions_achieved,
            events_per_s: self.events_per_s(),
            counted_per_s: self.counted_per_s(),
        }
    }

    /// Events of streams that came inside the window, per second of it; none without streams. Messages of gRPC count only
    /// if their call ended well.
    pub fn events_per_s(&self) -> Option<f64> {
        let counted = self.total.stream_events?;
        let events = match self.target.is_grpc() {
            true => counted.events_of_ok_in_window,
            false => counted.events_in_window,
        };
        (self.window_s > 0.0).then(|| events as f64 / self.window_s)
    }

    /// The sum of the numbers in the events that came inside the window, per second of it; none without streams, or
    /// without such a number.
    pub fn counted_per_s(&self) -> Option<f64> {
        let counted = self.total.stream_events.filter(|events| events.counted > 0.0)?.counted_in_window;
        (self.window_s > 0.0).then(|| counted / self.window_s)
    }

    /// The job that repeats it, with its seed; secrets are replaced. None in records of other generators and of earlier
    /// versions.
    pub fn repeated_job(&self) -> Option<Job> {
        let job = self.job.as_ref()?;
        Some(Job { seed: Some(self.seed), ..job.masked() })
    }

    /// Sessions that were completed inside the window, per second of it; none without sessions, and in older records.
    pub fn sessions_achieved_per_s(&self) -> Option<f64> {
        let completed = self.sessions.as_deref()?.iter().map(|session| session.completed_in_window);
        let completed: Option<u64> = completed.sum();
        completed.filter(|_| self.window_s > 0.0).map(|completed| completed as f64 / self.window_s)
    }

    /// For a load of several rates, the last one with which the server kept up.
    fn kept_up_at_per_s(&self) -> Option<f64> {
        if !self.loop_.has_several_rates() {
            return None;
        }
        let offered = self.by_segment.iter().flatten().map(|segment| segment.offered_per_s);
        match self.verdicts.iter().any(|verdict| verdict.name == "saturated") {
            true => self.of_saturated("kept_up_at_per_s"),
            false => offered.reduce(f64::max),
        }
    }

    /// For a number of connections that changes, the segment with the highest achieved rate.
    pub fn fastest_segment(&self) -> Option<&Segment> {
        let segments = self.by_segment.iter().flatten().filter(|segment| segment.connections.is_some());
        segments.max_by(|a, b| a.achieved_per_s().total_cmp(&b.achieved_per_s()))
    }

    /// A figure of the verdict that responses fell behind the offered rate.
    fn of_saturated(&self, key: &str) -> Option<f64> {
        let verdict = self.verdicts.iter().find(|verdict| verdict.name == "saturated")?;
        verdict.evidence.get(key)?.as_f64()
    }
}

/// The load generator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Name of the program.
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// The commit it was built from, if known.
    pub commit: Option<String>,
}

/// Whether a connection's next request waits for its last response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// The next request is sent when the last is answered.
    #[default]
    Closed,
    /// Requests are due on a schedule, independent of the server.
    Open,
}

impl LoopKind {
    /// The time by which a loop is judged: response times with a schedule, service times without.
    pub fn judged_time(self) -> TimeKind {
        match self {
            Self::Open => TimeKind::Response,
            Self::Closed => TimeKind::Service,
        }
    }
}

/// The shape of the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Loop {
    /// Which loop: `closed` or `open`.
    pub kind: LoopKind,
    /// Number of requested connections; the highest one if it changes.
    pub connections: u32,
    /// How that number changes over the window, if it does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connection_plan: Option<ConnectionPlan>,
    /// Maximum outstanding requests on a connection.
    pub depth: u32,
    /// Whether a connection sent its next requests only after all of them were answered.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub batch: bool,
    /// Number of requests after which each connection was closed and replaced.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requests_per_connection: Option<u32>,
    /// Whether each request used a separate connection, and announced that it is closed.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub without_keep_alive: bool,
    /// The pause of each connection between a response and its next request.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub think: Option<Think>,
    /// Total number of requests, if the run was bounded by a number instead of a time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requests: Option<u64>,
    /// The rate of the schedule, open loop: the mean over the window if it changes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub offered_per_s: Option<f64>,
    /// The session rate of the schedule, if it schedules sessions; `offered_per_s` is then the rate of their requests
    /// that fell due.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sessions_offered_per_s: Option<f64>,
    /// The change of that rate, if it changes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub shape: Option<Shape>,
    /// The spacing of arrivals, open loop.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arrivals: Option<Arrivals>,
}

impl Loop {
    /// Whether the schedule has several rates, each of which the server keeps up with or not.
    pub fn has_several_rates(&self) -> bool {
        self.shape.as_ref().is_some_and(Shape::has_several_rates)
    }

    /// Whether the load changes over the window: figures of the whole window are then a mixture.
    pub fn changes(&self) -> bool {
        self.shape.is_some() || self.connection_plan.is_some()
    }
}

/// The requested pace and the one used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pace {
    /// `auto`, `spin` or `sleep`, as set with `--pace`.
    pub asked: PaceChoice,
    /// The pace that was used if `auto` was requested.
    pub used: PaceKind,
    /// Time before a send is due at which a hybrid pace begins to poll, in nanoseconds.
    pub spin_before_ns: u64,
}

/// Requests of the warm-up that were outstanding when the window opened. They are in no count of the window's cohort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CarriedOver {
    /// Sent, or due, and not ended when the window opened.
    pub outstanding: u64,
    /// Those without a response, because of a timeout or the end of the run.
    pub unanswered: u64,
}

/// Rates over the window, per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rates {
    /// The rate of the schedule; open loop.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub offered: Option<f64>,
    /// Requests handed to sockets inside the window.
    pub sent: f64,
    /// Valid responses completed inside the window.
    pub achieved: f64,
    /// Sessions completed inside the window.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sessions_achieved: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Counts, Phase, Times, fixture};

    #[test]
    fn memory_per_connection_counts_from_before_the_load() {
        let mut run = fixture::run(0);
        assert_eq!(run.server_bytes_per_connection(), None);
        let server = fixture::server_use(1, 1.0);
        run.server =
            Some(ServerUse { rss_bytes_before: Some(1_000), rss_bytes_peak: Some(21_000), ..server });
        assert_eq!(run.server_bytes_per_connection(), Some(1_000.0), "20 connections");
        run.connections.had = 0;
        assert_eq!(run.server_bytes_per_connection(), None);
    }

    #[test]
    fn requests_cut_off_by_a_stop_have_not_exceeded_the_timeout() {
        let mut run = fixture::run(0);
        let mut waited = run.total.service_time_ns.as_ref().unwrap().decode().unwrap();
        waited.record(640_000_000);
        waited.record_n(run.timeout_ns, 2);
        run.total.service_time_ns = Some(Times::from_histogram(&waited));
        run.total.counts.timed_out = 3;
        assert_eq!(run.exceeded_timeout(), 3);
        run.stopped = true;
        assert_eq!(run.exceeded_timeout(), 2);
    }

    #[test]
    fn the_samples_of_the_window_include_both_ends() {
        let mut run = fixture::run(0);
        let at = |at_ns| ServerSample { at_ns, ..ServerSample::default() };
        run.server_samples = [0, 700_000_000, 10_700_000_000, 10_800_000_000].map(at).to_vec();
        assert_eq!(run.server_samples_of_window().count(), 2);
    }

    #[test]
    fn responses_of_a_part_follow_a_rate_that_changes_and_leave_out_the_drain() {
        const HALF_NS: u64 = 500_000_000;
        let span = |start: u64, end: u64| Span { start_ns: start * HALF_NS, end_ns: end * HALF_NS };
        let interval = |phase, start: u64, ok| {
            let counts = Counts { ok, ..Counts::default() };
            Interval::new(phase, start * HALF_NS, Block { counts, ..Block::default() })
        };
        let mut run = fixture::run(0);
        let (warmup, window, drain) = (span(0, 2), span(2, 6), span(6, 8));
        run.phases = Phases { warmup, window, drain, ..Phases::default() };
        (run.total.counts.ok, run.total.completed_in_window) = (450, 400);
        let first = [interval(Phase::Warmup, 0, 10), interval(Phase::Window, 2, 100)];
        let separate = [interval(Phase::Window, 4, 300), interval(Phase::Window, 6, 50)];
        for last in [separate.to_vec(), vec![interval(Phase::Window, 4, 350)]] {
            run.intervals = first.iter().cloned().chain(last).collect();
            let parts = [(0, 6), (1, 6), (3, 5), (5, 8), (6, 8), (4, 4)];
            let found = parts.map(|(start, end)| run.ok_within(span(start, end)));
            assert_eq!(found, [410.0, 405.0, 200.0, 150.0, 0.0, 0.0]);
        }
    }
}
