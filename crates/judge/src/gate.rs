//! Gates: requirements on a run, judged from its record alone (`--slo`, `--max-errors`).
//!
//! A gate fails closed. It fails not only when a figure is beyond its limit, but whenever the figure does not prove
//! that the limit was met: the run is invalid or was stopped, the requested load was not reached, there were too few
//! requests, or the figure is a lower bound. Every failed request is a miss: it counts as one beyond any limit. The
//! binary parses gates from the command line.

use crate::{VerdictName, achieved_share, fell_short};
use paceline_record::{Block, GateOutcome, GateReason, LoopKind, Run, Severity, TimeKind, TimeLoops, Times};
use paceline_stats::Histogram;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Requests that must lie beyond a percentile before it counts as known: p99 needs 1,000 requests, p99.9 10,000.
pub const SAMPLES_BEYOND: f64 = 10.0;
/// Requests needed before a mean or a maximum counts as known.
pub const MIN_SAMPLES: u64 = 10;

/// One requirement on a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// The expression as written.
    pub expression: String,
    /// The requirement.
    pub demand: GateRequirement,
}

/// A requirement.
#[derive(Clone, Debug, PartialEq)]
pub enum GateRequirement {
    /// A statistic of a time is below the limit, or at most equal to it if `or_equal`.
    Time {
        /// The time.
        of: GateTime,
        /// The statistic of its distribution.
        statistic: Statistic,
        /// The limit, in nanoseconds.
        limit_ns: u64,
        /// Whether a value equal to the limit passes.
        or_equal: bool,
    },
    /// At least this share of the scheduled requests got a valid response inside the window, 0 to 1.
    AchievedShare(f64),
    /// At least this many valid responses per second.
    AchievedPerS(f64),
    /// At least this many completed sessions per second.
    SessionsPerS(f64),
    /// At least this many events of streams per second.
    EventsPerS(f64),
    /// At least this many events in each stream that ended as asked.
    EventsPerStream(u64),
    /// At most this share of the scheduled requests failed, 0 to 1.
    ErrorShare(f64),
    /// At most this many requests failed.
    ErrorCount(u64),
}

/// The times that a gate can limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateTime {
    /// One of the table of times, over every request, connection or stream of the run.
    Of(TimeKind),
    /// Time of whole sessions, pauses included.
    Session,
    /// Response time (closed loop: service time) of one request of a mix, by its name without spaces.
    Step(String),
}

/// A statistic of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// A percentile, 0 to 100.
    Percentile(f64),
    /// The maximum.
    Max,
    /// The arithmetic mean.
    Mean,
}

/// The name of a time in an expression; none for a time that a gate cannot limit.
fn expression_name(kind: TimeKind) -> Option<&'static str> {
    match kind {
        TimeKind::Response
        | TimeKind::Service
        | TimeKind::FirstByte
        | TimeKind::FirstBody
        | TimeKind::FirstEvent
        | TimeKind::LongestGap
        | TimeKind::StreamTime
        | TimeKind::MessageDelay
        | TimeKind::Connect
        | TimeKind::Handshake => Some(kind.tag()),
        TimeKind::EventGap => Some("gap"),
        TimeKind::GeneratorLag => Some("lag"),
        TimeKind::ConnectionWait
        | TimeKind::ConnectAndService
        | TimeKind::ReceiveDelay
        | TimeKind::Failed => None,
    }
}

impl GateTime {
    /// All of them, except those of single requests.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        let kinds = TimeKind::ALL.into_iter().filter(|kind| expression_name(*kind).is_some());
        kinds.map(Self::Of).chain([Self::Session])
    }

    /// Its name in an expression.
    pub fn name(&self) -> &'static str {
        match self {
            GateTime::Of(kind) => expression_name(*kind).unwrap_or(kind.tag()),
            GateTime::Session => "session",
            GateTime::Step(_) => "step",
        }
    }

    /// The times of a block that it is; none for sessions, which are not in blocks.
    fn kind(&self, loop_: LoopKind) -> Option<TimeKind> {
        match (self, loop_) {
            (GateTime::Of(kind), _) => Some(*kind),
            (GateTime::Step(_), LoopKind::Closed) => Some(TimeKind::Service),
            (GateTime::Step(_), LoopKind::Open) => Some(TimeKind::Response),
            (GateTime::Session, _) => None,
        }
    }

    /// The verdicts on delays of the generator that the time may include. Only a time that begins when a request is due
    /// includes those before the send.
    fn delays(&self) -> &'static [VerdictName] {
        match self {
            GateTime::Of(TimeKind::Response | TimeKind::FirstBody | TimeKind::FirstEvent)
            | GateTime::Session
            | GateTime::Step(_) => &[
                VerdictName::GeneratorLag,
                VerdictName::GeneratorStall,
                VerdictName::SlowBodyFile,
                VerdictName::GeneratorThrottled,
                VerdictName::GeneratorDescheduled,
            ],
            GateTime::Of(TimeKind::GeneratorLag) => &[],
            GateTime::Of(
                TimeKind::Service
                | TimeKind::FirstByte
                | TimeKind::EventGap
                | TimeKind::LongestGap
                | TimeKind::StreamTime
                | TimeKind::MessageDelay
                | TimeKind::ConnectionWait
                | TimeKind::Connect
                | TimeKind::Handshake
                | TimeKind::ConnectAndService
                | TimeKind::ReceiveDelay
                | TimeKind::Failed,
            ) => &[
                VerdictName::GeneratorStall,
                VerdictName::SlowBodyFile,
                VerdictName::GeneratorThrottled,
                VerdictName::GeneratorDescheduled,
            ],
        }
    }

    /// Whether the server's work is a part of the time.
    fn is_of_server(&self) -> bool {
        *self != GateTime::Of(TimeKind::GeneratorLag)
    }

    /// Whether the time exists only with a schedule: a closed loop has none.
    pub fn needs_open_loop(&self) -> bool {
        matches!(self, GateTime::Of(kind) if kind.loops() == TimeLoops::Open)
    }

    /// Whether the time exists only with streams.
    pub fn needs_streams(&self) -> bool {
        matches!(self, GateTime::Of(kind) if kind.is_of_streams())
    }
}

impl Statistic {
    /// Its name at the end of a key: `p99_9`, `max`, `mean`.
    fn key(self) -> String {
        match self {
            Statistic::Percentile(percentile) => format!("p{percentile}").replace('.', "_"),
            Statistic::Max => "max".to_owned(),
            Statistic::Mean => "mean".to_owned(),
        }
    }

    /// The number of requests needed.
    pub fn samples_needed(self) -> u64 {
        match self {
            // A quotient such as 10 / 0.01 may be rounded to slightly above the exact whole number.
            Statistic::Percentile(percentile) => {
                (SAMPLES_BEYOND / (1.0 - percentile / 100.0) * (1.0 - 1e-9)).ceil() as u64
            }
            Statistic::Max | Statistic::Mean => MIN_SAMPLES,
        }
    }
}

/// The share of failed requests that gates allow a run of this many requests; none without a limit on errors.
pub fn not_ok_share_allowed(gates: &[Gate], scheduled: u64) -> Option<f64> {
    let share = |gate: &Gate| match gate.demand {
        GateRequirement::ErrorShare(most) => Some(most),
        GateRequirement::ErrorCount(most) => Some((most as f64 / (scheduled as f64).max(1.0)).min(1.0)),
        GateRequirement::Time { .. }
        | GateRequirement::AchievedShare(_)
        | GateRequirement::AchievedPerS(_)
        | GateRequirement::SessionsPerS(_)
        | GateRequirement::EventsPerS(_)
        | GateRequirement::EventsPerStream(_) => None,
    };
    gates.iter().filter_map(share).reduce(f64::min)
}

/// The outcome of each gate. The run's verdicts are part of the judgement.
pub fn judge(gates: &[Gate], run: &Run) -> Vec<GateOutcome> {
    gates.iter().map(|gate| judge_one(gate, run)).collect()
}

/// The result of a judge: reasons for a failure, and the figures.
#[derive(Default)]
struct Assessment {
    reasons: Vec<GateReason>,
    evidence: BTreeMap<String, Value>,
}

impl Assessment {
    fn against(&mut self, reason: GateReason, holds: bool) {
        if holds {
            self.reasons.push(reason);
        }
    }

    fn with(&mut self, key: &str, figure: Value) {
        self.evidence.insert(key.to_owned(), figure);
    }
}

fn judge_one(gate: &Gate, run: &Run) -> GateOutcome {
    let mut found = Assessment::default();
    let judges_delivery = match gate.demand {
        GateRequirement::Time { ref of, statistic, limit_ns, or_equal } => {
            time(&mut found, run, of, statistic, (limit_ns, or_equal));
            false
        }
        GateRequirement::AchievedShare(least) => {
            delivered_share(&mut found, run, least);
            true
        }
        GateRequirement::AchievedPerS(least) => {
            rate(&mut found, run, "achieved_per_s", Some(run.rate_per_s.achieved), least);
            true
        }
        GateRequirement::SessionsPerS(least) => {
            rate(&mut found, run, "sessions_per_s", run.rate_per_s.sessions_achieved, least);
            true
        }
        GateRequirement::EventsPerS(least) => {
            rate(&mut found, run, "events_per_s", run.events_per_s(), least);
            true
        }
        GateRequirement::EventsPerStream(least) => {
            events(&mut found, run, least);
            false
        }
        GateRequirement::ErrorShare(most) => {
            errors(&mut found, run);
            found.with("most_share", json!(most));
            found.against(GateReason::BeyondLimit, run.total.counts.not_ok_share() > most);
            false
        }
        GateRequirement::ErrorCount(most) => {
            errors(&mut found, run);
            found.with("most", json!(most));
            found.against(GateReason::BeyondLimit, run.total.counts.not_ok() > most);
            false
        }
    };
    of_the_run(&mut found, run, judges_delivery);
    let Assessment { reasons, evidence } = found;
    GateOutcome { gate: gate.expression.clone(), passed: reasons.is_empty(), reasons, evidence }
}

/// Reasons that spoil every figure of a run. A gate on the achieved rate judges the delivery itself.
fn of_the_run(found: &mut Assessment, run: &Run, judges_delivery: bool) {
    if !judges_delivery && !was_delivered(run) {
        found.reasons.push(GateReason::NotDelivered);
        found.with("achieved_per_s", json!(run.rate_per_s.achieved));
        found.with("offered_per_s", json!(run.rate_per_s.offered));
    }
    let invalid = run.verdicts.iter().any(|verdict| verdict.severity == Severity::Invalid);
    found.against(GateReason::Invalid, invalid);
    found.against(GateReason::Stopped, run.stopped);
    found.against(GateReason::BrokeRules, VerdictName::BrokeRules.is_in(&run.verdicts));
    found.against(GateReason::Starved, VerdictName::StarvedConnections.is_in(&run.verdicts));
}

/// Whether the requested load was delivered: the number of connections, and in an open loop the schedule.
fn was_delivered(run: &Run) -> bool {
    let nothing = run.total.counts.scheduled == 0;
    let closed = run.loop_.kind == LoopKind::Closed;
    let short = closed && VerdictName::ConnectionsShort.is_in(&run.verdicts);
    !nothing && !short && !VerdictName::Saturated.is_in(&run.verdicts)
}

/// A gate on a rate; none if it was not measured.
fn rate(found: &mut Assessment, run: &Run, key: &str, per_s: Option<f64>, least: f64) {
    found.with("least_per_s", json!(least));
    let Some(per_s) = per_s else { return found.reasons.push(GateReason::NotMeasured) };
    found.with(key, json!(per_s));
    let is_missed = per_s < least;
    found.against(GateReason::BeyondLimit, is_missed);
    let is_delayed = VerdictName::ServerDescheduled.is_in(&run.verdicts);
    found.against(GateReason::ServerDelayed, is_missed && is_delayed);
}

fn delivered_share(found: &mut Assessment, run: &Run, least: f64) {
    let share = achieved_share(run);
    found.with("achieved_share", json!(share));
    found.with("achieved_per_s", json!(run.rate_per_s.achieved));
    found.with("offered_per_s", json!(run.rate_per_s.offered));
    found.with("least_share", json!(least));
    found.against(GateReason::BeyondLimit, fell_short(run, least));
    found.against(GateReason::NotMeasured, run.total.counts.scheduled == 0);
}

fn errors(found: &mut Assessment, run: &Run) {
    found.with("not_ok", json!(run.total.counts.not_ok()));
    found.with("scheduled", json!(run.total.counts.scheduled));
    found.with("share", json!(run.total.counts.not_ok_share()));
    found.against(GateReason::NotMeasured, run.total.counts.scheduled == 0);
}

/// A gate on the events of each stream. A stream that did not end as asked may have had fewer.
fn events(found: &mut Assessment, run: &Run, least: u64) {
    found.with("least", json!(least));
    let fewest = run.total.stream_events.and_then(|events| events.events_min);
    let Some(fewest) = fewest else { return found.reasons.push(GateReason::NotMeasured) };
    found.with("events_min", json!(fewest));
    found.against(GateReason::BeyondLimit, fewest < least);
    found.against(GateReason::Failures, run.total.counts.not_ok() > 0);
}

/// A distribution of times in the form that a gate judges.
struct GateSample {
    histogram: Histogram,
    /// Requests that have no such time because they failed: each is a miss.
    misses: u64,
    /// Values from here on are lower bounds, in nanoseconds.
    censored_from_ns: u64,
}

fn time(found: &mut Assessment, run: &Run, gate_time: &GateTime, statistic: Statistic, limit: (u64, bool)) {
    let (limit_ns, or_equal) = limit;
    found.with("limit_ns", json!(limit_ns));
    let Some(sample) = sample(run, gate_time) else {
        return found.reasons.push(GateReason::NotMeasured);
    };
    let samples = sample.histogram.count() + sample.misses;
    found.with("samples", json!(samples));
    found.with("samples_needed", json!(statistic.samples_needed()));
    if sample.misses > 0 {
        found.with("misses", json!(sample.misses));
    }
    found.with("within_share", json!(within_share(&sample, limit_ns, samples)));
    match value(&sample, statistic, samples) {
        Some(value_ns) => {
            let key = gate_time.kind(run.loop_.kind).map_or("session_time_ns", TimeKind::key);
            found.with(&format!("{key}_{}", statistic.key()), json!(value_ns));
            let kept = value_ns < limit_ns as f64 || or_equal && value_ns == limit_ns as f64;
            found.against(GateReason::BeyondLimit, !kept);
            let is_late = gate_time.delays().iter().any(|name| name.is_in(&run.verdicts));
            found.against(GateReason::GeneratorLate, !kept && is_late);
            let is_delayed = gate_time.is_of_server() && VerdictName::ServerDescheduled.is_in(&run.verdicts);
            found.against(GateReason::ServerDelayed, !kept && is_delayed);
            // A mean includes every lower bound.
            let reaches = match statistic {
                Statistic::Mean => sample.censored_from_ns < u64::MAX,
                _ => value_ns >= sample.censored_from_ns as f64,
            };
            found.against(GateReason::LowerBound, reaches);
        }
        None => found.reasons.push(GateReason::Failures),
    }
    found.against(GateReason::TooFewSamples, samples < statistic.samples_needed());
}

/// The share of all requests that got a valid response within the limit, to the resolution of the histogram.
fn within_share(sample: &GateSample, limit_ns: u64, samples: u64) -> f64 {
    sample.histogram.count_at_or_below(limit_ns) as f64 / (samples as f64).max(1.0)
}

/// The figure, in nanoseconds, with every miss counted as beyond all others; none if the figure falls among the misses.
fn value(sample: &GateSample, statistic: Statistic, samples: u64) -> Option<f64> {
    let histogram = &sample.histogram;
    match statistic {
        Statistic::Percentile(percentile) => {
            // The rank as HdrHistogram defines it, among all requests (see `Histogram::quantile`).
            let rank = (percentile / 100.0 * samples as f64 * (1.0 - 1e-12)).ceil().max(1.0);
            let share = rank / histogram.count() as f64;
            (share <= 1.0).then(|| histogram.quantile(share)).flatten().map(|value| value as f64)
        }
        _ if sample.misses > 0 => None,
        Statistic::Max => histogram.max().map(|value| value as f64),
        Statistic::Mean => histogram.mean(),
    }
}

/// The times of one kind, with the number of requests that have none because they failed.
fn sample(run: &Run, gate_time: &GateTime) -> Option<GateSample> {
    let Some(kind) = gate_time.kind(run.loop_.kind) else { return sessions(run) };
    let block = if let GateTime::Step(name) = gate_time { step(run, name)? } else { &run.total };
    let counts = block.counts;
    let lowest_ns = block.censored.map_or(u64::MAX, |censored| censored.lowest_ns);
    let times = block.times(kind);
    let (misses, censored_from_ns) = match kind {
        TimeKind::Connect | TimeKind::Handshake => return connects(run, kind),
        TimeKind::Response => (counts.failed(), lowest_ns),
        // In an open loop the lowest censored time is a response time; the service time was then the timeout.
        TimeKind::Service => {
            let censored = if counts.timed_out > 0 { lowest_ns.min(run.timeout_ns) } else { u64::MAX };
            (counts.failed() + counts.unsent, censored)
        }
        TimeKind::FirstBody | TimeKind::FirstEvent => (without(times, block), u64::MAX),
        // The gap in which a stream failed has no end.
        TimeKind::FirstByte | TimeKind::EventGap | TimeKind::LongestGap | TimeKind::StreamTime => {
            (counts.not_ok(), u64::MAX)
        }
        TimeKind::MessageDelay => (counts.not_ok().saturating_add(without_delay(block)), u64::MAX),
        TimeKind::GeneratorLag => (0, u64::MAX),
        TimeKind::ConnectionWait
        | TimeKind::ConnectAndService
        | TimeKind::ReceiveDelay
        | TimeKind::Failed => return None,
    };
    let histogram = times?.decode().ok()?;
    Some(GateSample { histogram, misses, censored_from_ns })
}

/// Failed requests without a time that a stream has before it ends. In a mix, requests that are no streams have none.
fn without(times: Option<&Times>, block: &Block) -> u64 {
    let count = times.map_or(0, |times| times.count);
    block.counts.not_ok().min(block.counts.scheduled.saturating_sub(count))
}

/// Events whose delay is unknown: those that seem to be early, and those without a time, except for one of each stream,
/// such as a last `[DONE]`.
fn without_delay(block: &Block) -> u64 {
    block.stream_events.map_or(0, |counted| {
        let without_time = counted.events_without_time.saturating_sub(counted.streams);
        counted.events_ahead_of_clock.saturating_add(without_time)
    })
}

/// The results of the request of a mix with this name, written without spaces. A file of one request has no parts.
fn step<'a>(run: &'a Run, name: &str) -> Option<&'a Block> {
    let Some(parts) = &run.by_request else { return Some(&run.total) };
    parts.iter().find(|part| without_spaces(&part.name) == name).map(|part| &part.block)
}

/// All sessions. One that failed, or that the end of the run interrupted, has no time: it is a miss.
fn sessions(run: &Run) -> Option<GateSample> {
    let sessions = run.sessions.as_ref()?;
    let mut histogram = Histogram::new();
    for times in sessions.iter().filter_map(|session| session.session_time_ns.as_ref()) {
        histogram.merge(&times.decode().ok()?);
    }
    let misses = sessions.iter().map(|session| session.failed + session.unfinished).sum();
    (histogram.count() + misses > 0).then_some(GateSample { histogram, misses, censored_from_ns: u64::MAX })
}

/// Splits the subject of an expression, `response.p99` or `step(a.b).p99`, into the time and its statistic.
pub fn split_subject(subject: &str) -> Option<(&str, &str)> {
    if !subject.starts_with("step(") {
        return subject.split_once('.');
    }
    let end = subject.rfind(").")?;
    Some((&subject[..=end], &subject[end + 2..]))
}

/// `login` of `step(login)`.
pub fn step_name(time: &str) -> Option<&str> {
    time.strip_prefix("step(")?.strip_suffix(')')
}

/// A name as expressions have it.
pub fn without_spaces(name: &str) -> String {
    name.split_whitespace().collect()
}

/// Every connection of the run, from the first: with keep-alive only a few connections are opened in the window.
fn connects(run: &Run, kind: TimeKind) -> Option<GateSample> {
    let mut histogram = Histogram::new();
    for times in run.intervals.iter().filter_map(|interval| interval.block.times(kind)) {
        histogram.merge(&times.decode().ok()?);
    }
    let misses = run.connections.failed_attempts;
    (histogram.count() + misses > 0).then_some(GateSample { histogram, misses, censored_from_ns: u64::MAX })
}

#[cfg(test)]
mod tests;
