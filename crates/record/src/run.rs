//! A run: one generator against one target, once. Units are in the names of the keys.
//!
//! The binary fills it in (`commands/run/outcome.rs`); for another load generator, the lab does. Trials contain it,
//! verdicts and gates judge it, reports show it. Nothing is computed here; checks, target, shape and blocks are in
//! other files.

use crate::{
    ArrivalCheck, BadBody, Block, CoreTime, Environment, Expectations, GateOutcome, Loader, RequestPart,
    Segment, SessionPart, Summary, Target, Verdict,
};
use paceline_job::{Arrivals, Job, PaceChoice, PaceKind, Shape, Think};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One generator against one target, once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Connections requested and opened, and the side that closed them.
    pub connections: Connections,
    /// The machine that the load generator ran on.
    pub environment: Environment,
    /// CPU time, memory and quality figures of the generator.
    pub generator: Generator,
    /// CPU time and memory of the server, if it runs on this machine and could be observed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<ServerUse>,
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

/// The load generator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// The shape of the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Loop {
    /// Which loop: `closed` or `open`.
    pub kind: LoopKind,
    /// Number of requested connections.
    pub connections: u32,
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

/// The requested pace and the one used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pace {
    /// `auto`, `spin` or `sleep`, as set with `--pace`.
    pub asked: PaceChoice,
    /// The pace that was used if `auto` was requested.
    pub used: PaceKind,
    /// Time before a send is due at which a hybrid pace begins to poll, in nanoseconds.
    pub spin_before_ns: u64,
}

/// The phases of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Phases {
    /// Connections are made, a capped number at a time.
    pub connect: Span,
    /// Load without a cohort: caches, compilers and congestion windows settle.
    pub warmup: Span,
    /// The window: what is measured.
    pub window: Span,
    /// No new requests fall due; due requests are still sent and awaited.
    pub drain: Span,
}

/// A stretch of time, in nanoseconds from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// Start, in nanoseconds.
    pub start_ns: u64,
    /// End, in nanoseconds.
    pub end_ns: u64,
}

/// The name of a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// See [`Phases::connect`].
    #[default]
    Connect,
    /// See [`Phases::warmup`].
    Warmup,
    /// See [`Phases::window`].
    Window,
    /// See [`Phases::drain`].
    Drain,
    /// The run is over.
    End,
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Connections requested and opened, and the side that closed them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Connections {
    /// The number of requested connections.
    pub asked: u64,
    /// Open at the same time when the warm-up began.
    pub had: u64,
    /// Closed by the server from then on, including the drain.
    pub closed_by_server: u64,
    /// Closed by the generator before the end of the run: after a timeout or a response that broke the rules.
    pub closed_by_us: u64,
    /// Closed by either side after the last request of the connection.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub closed_as_asked: u64,
    /// Attempts to connect that failed, the first connect phase included.
    pub failed_attempts: u64,
    /// Failed attempts caused by missing resources of this machine: descriptors, ports, memory.
    #[serde(default)]
    pub failed_here: u64,
    /// Redirects that were followed, including the warm-up.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub redirects_followed: u64,
    /// Connections abandoned because the received bytes were not HTTP, or were not requested.
    #[serde(default)]
    pub broke_rules: u64,
    /// The most frequent reason of a failed attempt or broken connection, as text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub commonest_failure: Option<String>,
    /// The lowest number of concurrent streams that the server allowed on a connection, if below `depth`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub streams_allowed: Option<u32>,
    /// Whether a response was compressed although no request accepts that.
    #[serde(skip_serializing_if = "is_false", default)]
    pub compressed_unasked: bool,
    /// Requests of the window served by each connection.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub served: Option<Served>,
    /// The median service time of each connection, in nanoseconds, within a ninth; open loop, of connections with at
    /// least 16 responses.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub service_time_ns_p50: Option<Served>,
}

/// The distribution over connections: one number for each connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Served {
    /// The lowest value of a connection.
    pub min: u64,
    /// The median over connections.
    pub median: u64,
    /// The highest value of a connection.
    pub max: u64,
}

/// CPU time and memory of the generator over the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Generator {
    /// Number of threads that sent load.
    pub threads: u32,
    /// The cores they may run on.
    pub cores: Vec<u32>,
    /// CPU time of all of them over the window, in seconds.
    pub cpu_s: f64,
    /// Useful CPU time: `cpu_s` minus `spin_s`.
    pub busy_s: f64,
    /// CPU time of polls that found nothing.
    pub spin_s: f64,
    /// `busy_s` per request sent in the window, in nanoseconds.
    pub cpu_ns_per_request: f64,
    /// Share of wall-clock time for which the busiest thread was busy, or the share of all threads on all their cores
    /// if that is higher, 0 to 1.
    pub utilization: f64,
    /// Time runnable but not running, all threads, in seconds.
    pub run_delay_s: f64,
    /// Time the hypervisor took from the machine, all cores, in seconds.
    pub steal_s: f64,
    /// Peak resident memory of the process.
    pub rss_bytes_peak: u64,
    /// Longest time between two turns of a worker's loop in the window, excluding intended waits: the longest stall of
    /// the generator, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub longest_gap_ns: Option<u64>,
    /// Requests due and unsent when the window opened: the warm-up's backlog.
    pub backlog_at_window_start: u64,
    /// CPU time of each thread.
    pub by_thread: Vec<GeneratorThread>,
    /// Each core of the machine over the window, including the server's if it is on this machine.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub by_core: Vec<CoreTime>,
    /// Resources left for further connections when the window ended.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub left: Option<Left>,
}

/// CPU time and memory of the server over the window, all of its processes together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerUse {
    /// How its root processes were found; the others are their descendants.
    pub found_by: FoundBy,
    /// The first of its processes.
    pub pid: u32,
    /// Name of its first process.
    pub name: String,
    /// Processes when the window ended.
    pub processes: u32,
    /// Threads when the window ended.
    pub threads: u32,
    /// Cores that the first process may run on.
    pub cores_allowed: u32,
    /// CPU time over the window, in seconds.
    pub cpu_s: f64,
    /// CPU time per request that was sent in the window, in nanoseconds.
    pub cpu_ns_per_request: f64,
    /// CPU time as a share of the window on all cores that it may run on, 0 to 1.
    pub utilization: f64,
    /// CPU time of its busiest thread as a share of the window, 0 to 1.
    pub busiest_thread_utilization: f64,
    /// Resident memory when the window ended, in bytes.
    pub rss_bytes: u64,
}

/// How the processes of a server were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FoundBy {
    /// The process was given (`--pid`).
    Pid,
    /// They listen on the target's port.
    Port,
}

/// Requests of the warm-up that were outstanding when the window opened. They are in no count of the window's cohort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CarriedOver {
    /// Sent, or due, and not ended when the window opened.
    pub outstanding: u64,
    /// Those without a response, because of a timeout or the end of the run.
    pub unanswered: u64,
}

/// Resources left for further connections when the window ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Left {
    /// TCP sockets in use on the machine; a connection over loopback counts twice.
    pub sockets_in_use: u64,
    /// TCP sockets in TIME_WAIT on the machine.
    pub sockets_time_wait: u64,
    /// Local ports for further connections to the target, over all source addresses, assuming that all TIME_WAIT
    /// sockets are the generator's.
    pub ports: u64,
    /// File descriptors that the process could still open.
    pub descriptors: u64,
}

/// One generator thread over the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorThread {
    /// User CPU time, in seconds.
    pub user_s: f64,
    /// System CPU time, in seconds.
    pub system_s: f64,
    /// Time spent in polls that found nothing, in seconds.
    pub spin_s: f64,
    /// Time runnable but not running, in seconds.
    pub run_delay_s: f64,
    /// Number of voluntary context switches.
    pub voluntary_switches: u64,
    /// Number of involuntary context switches.
    pub involuntary_switches: u64,
}

/// The requests that ended in an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The cohort: requests due in the warm-up or in the window.
    pub phase: Phase,
    /// Start of the interval, in nanoseconds from the start of the run.
    pub start_ns: u64,
    /// The requests of that cohort that ended in it.
    pub block: Block,
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
}
