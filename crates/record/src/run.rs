//! A run: one generator against one target, once. Units are in the names of the keys.
//!
//! The binary fills it in (`commands/run/outcome.rs`), and for a generator of another make the lab. Trials hold it,
//! verdicts and gates judge it, reports show it. Nothing is computed in here; what is asked, the target, the shape and
//! the blocks are described in files of their own.

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
    /// The program that measured.
    pub tool: Tool,
    /// The command line, so that the run can be repeated by hand.
    pub argv: Vec<String>,
    /// Where every random choice came from.
    pub seed: u64,
    /// Wall-clock start, RFC 3339, UTC.
    pub started_at: String,
    /// What the run was asked to do, secrets replaced: `paceline run --job` runs it again.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub job: Option<Box<Job>>,
    /// The URL that was measured and how it was connected to.
    pub target: Target,
    /// The shape of the load.
    #[serde(rename = "loop")]
    pub loop_: Loop,
    /// How the generator waited for the next send.
    pub pace: Pace,
    /// What counted as a valid response.
    pub expectations: Expectations,
    /// From actual send; a request without a complete answer by then is `timed_out`.
    pub timeout_ns: u64,
    /// When each phase was, from the start of the run.
    pub phases: Phases,
    /// Length of the window, in seconds: what rates are divided by.
    pub window_s: f64,
    /// Whether it was stopped before its planned end.
    #[serde(default)]
    pub stopped: bool,
    /// Connections asked for and had, and who closed them.
    pub connections: Connections,
    /// The machine that the load generator ran on.
    pub environment: Environment,
    /// What the generator itself cost, and how well it did.
    pub generator: Generator,
    /// What the server cost, where it runs on this machine and could be watched.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<ServerUse>,
    /// All requests that were due in the window: how they ended, and their times.
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
    /// The cohort by generator, where several drove one run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by_generator: Option<Vec<Block>>,
    /// Those generators, in the same order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub loaders: Vec<Loader>,
    /// What ended in each stretch of time, warm-up included; a long run has longer stretches.
    pub intervals: Vec<Interval>,
    /// The first body that was not as expected, of each request.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub bad_bodies: Vec<BadBody>,
    /// What was outstanding when the window opened, and what became of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub carried_over: Option<CarriedOver>,
    /// Whether random arrivals left as randomly as was asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arrival_check: Option<ArrivalCheck>,
    /// The figures that are asked for most, under the same keys for both loops.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub summary: Option<Summary>,
    /// Rates over the window, derived from `total` and the schedule.
    pub rate_per_s: Rates,
    /// Why a number may not mean what it seems to.
    pub verdicts: Vec<Verdict>,
    /// How each gate came out that was asked for (`--slo`, `--max-errors`).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub gates: Vec<GateOutcome>,
}

/// The program that measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Name of the program.
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// The commit it was built from, where known.
    pub commit: Option<String>,
}

/// Whether a connection's next request waits for its last answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// The next request is sent when the last is answered.
    #[default]
    Closed,
    /// Requests are due on a schedule, whatever the server does.
    Open,
}

/// The shape of the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Loop {
    /// Which loop: `closed` or `open`.
    pub kind: LoopKind,
    /// Number of connections that was asked for.
    pub connections: u32,
    /// Requests outstanding on a connection at most.
    pub depth: u32,
    /// Whether a connection sent its next requests only when all of them were answered.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub batch: bool,
    /// Requests after which each connection was closed and another made.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requests_per_connection: Option<u32>,
    /// Whether each request had a connection of its own, and said so.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub without_keep_alive: bool,
    /// How each connection rested between an answer and its next request.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub think: Option<Think>,
    /// Requests asked for in all, where the run was bounded by a number instead of a time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requests: Option<u64>,
    /// What the schedule asks, open loop: the mean over the window where it changes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub offered_per_s: Option<f64>,
    /// Sessions that the schedule asks for, where it asks for sessions; `offered_per_s` is then the requests of them that
    /// fell due.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sessions_offered_per_s: Option<f64>,
    /// How that rate changes, where it does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub shape: Option<Shape>,
    /// How arrivals are spaced, open loop.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arrivals: Option<Arrivals>,
}

/// The pace asked for and the one used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pace {
    /// `auto`, `spin` or `sleep`, as `--pace` said.
    pub asked: PaceChoice,
    /// The pace that was used where `auto` was asked for.
    pub used: PaceKind,
    /// How long before a send is due a hybrid pace begins to poll, in nanoseconds.
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
    /// Nothing new falls due; what was due is still sent and awaited.
    pub drain: Span,
}

/// A stretch of time, in nanoseconds from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// When it began, in nanoseconds.
    pub start_ns: u64,
    /// When it ended, in nanoseconds.
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

/// Connections asked for and had, and who closed them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Connections {
    /// Connections that were asked for.
    pub asked: u64,
    /// Open at once when the warm-up began.
    pub had: u64,
    /// Closed by the server from then on, in the drain too.
    pub closed_by_server: u64,
    /// Closed by the generator before the end of the run: after a timeout or a response that broke the rules.
    pub closed_by_us: u64,
    /// Closed by either side after the last request that was asked of each.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub closed_as_asked: u64,
    /// Attempts to connect that failed, the first connect phase included.
    pub failed_attempts: u64,
    /// Those of them that failed for want of something on this machine: descriptors, ports, memory.
    #[serde(default)]
    pub failed_here: u64,
    /// Redirects that were followed, in the warm-up too.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub redirects_followed: u64,
    /// Connections given up because what came was not HTTP, or had not been asked for.
    #[serde(default)]
    pub broke_rules: u64,
    /// The commonest reason of a failed attempt or broken connection, for people.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub commonest_failure: Option<String>,
    /// The lowest number of concurrent streams that the server allowed on a connection, where that is below `depth`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub streams_allowed: Option<u32>,
    /// Whether a response was compressed although no request accepts that.
    #[serde(skip_serializing_if = "is_false", default)]
    pub compressed_unasked: bool,
    /// Requests of the window served by each connection.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub served: Option<Served>,
    /// The median service time of each connection, in nanoseconds, within a ninth; open loop, of connections that
    /// answered at least 16 times.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub service_time_ns_p50: Option<Served>,
}

/// How evenly connections were served: one number of each, over all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Served {
    /// The least of any connection.
    pub min: u64,
    /// That of the connection in the middle.
    pub median: u64,
    /// The most of any connection.
    pub max: u64,
}

/// What the generator itself cost over the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Generator {
    /// Number of threads that sent load.
    pub threads: u32,
    /// The cores they may run on.
    pub cores: Vec<u32>,
    /// CPU time of all of them over the window, in seconds.
    pub cpu_s: f64,
    /// CPU time that did something: `cpu_s` less `spin_s`.
    pub busy_s: f64,
    /// CPU time of polls that found nothing.
    pub spin_s: f64,
    /// `busy_s` for each request sent in the window, in nanoseconds.
    pub cpu_ns_per_request: f64,
    /// Share of its wall-clock time the busiest thread was busy, or all threads of all their cores where that is more,
    /// 0 to 1.
    pub utilization: f64,
    /// Time runnable but not running, all threads, in seconds.
    pub run_delay_s: f64,
    /// Time the hypervisor took from the machine, all cores, in seconds.
    pub steal_s: f64,
    /// Peak resident memory of the process.
    pub rss_bytes_peak: u64,
    /// Longest time between two turns of a worker's loop in the window, waits that were asked for left out: how long the
    /// generator stood still at most, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub longest_gap_ns: Option<u64>,
    /// Requests due and unsent when the window opened: the warm-up's backlog.
    pub backlog_at_window_start: u64,
    /// CPU time of each thread.
    pub by_thread: Vec<GeneratorThread>,
    /// Each core of the machine over the window, the server's among them where it is on this machine.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub by_core: Vec<CoreTime>,
    /// What was left to make connections with when the window ended.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub left: Option<Left>,
}

/// What the server cost over the window, all of its processes together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerUse {
    /// How its processes were found: others are those that descend from them.
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
    /// CPU time for each request that was sent in the window, in nanoseconds.
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
    /// Of those: never answered, by a timeout or to the end of the run.
    pub unanswered: u64,
}

/// What was left to make connections with when the window ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Left {
    /// TCP sockets in use on the machine, both ends of a connection over loopback counted.
    pub sockets_in_use: u64,
    /// TCP sockets in TIME_WAIT on the machine.
    pub sockets_time_wait: u64,
    /// Local ports for further connections to the target, over all source addresses, if all of TIME_WAIT was ours.
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
    /// Times it gave the core up by itself.
    pub voluntary_switches: u64,
    /// Times the core was taken from it.
    pub involuntary_switches: u64,
}

/// What ended in a stretch of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The cohort: requests due in the warm-up or in the window.
    pub phase: Phase,
    /// When the stretch began, in nanoseconds from the start of the run.
    pub start_ns: u64,
    /// The requests of that cohort that ended in it.
    pub block: Block,
}

/// Rates over the window, per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rates {
    /// What the schedule asked; open loop.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub offered: Option<f64>,
    /// Requests handed to sockets inside the window.
    pub sent: f64,
    /// Valid responses completed inside the window.
    pub achieved: f64,
}
