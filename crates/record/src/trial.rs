//! A trial: a run with the server's launch and all its conditions.
//!
//! A failed trial is a record with an error. The lab fills it in as a trial goes (`crates/lab/src/trial.rs`), the store
//! keeps it, reports take from it what is usable. What instances and a balancer add is in `balancing.rs`; what to make
//! of the figures is for `verdict` to say.

use crate::{
    Balancing, Blame, ClockOffset, DatabaseUse, Environment, FoundCapacity, Imported, Load, NetworkUse,
    Phase, ProcessRole, Route, Run, Severity, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A run with the server's launch and all its conditions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// The version of these keys.
    pub schema: u32,
    /// Id of the trial, unique.
    pub id: String,
    /// The round it belongs to.
    pub round: String,
    /// The sitting: a round that was interrupted and resumed has several.
    pub sitting: String,
    /// The start of the server it ran against; trials of one launch share it.
    pub launch: String,
    /// The randomised block it ran in.
    pub block: u32,
    /// Its place in the order of its sitting, from 0.
    pub order: u32,
    /// Which repeat of its cell it counts as, from 0; a second try keeps it.
    pub repeat: u32,
    /// Wall-clock start, RFC 3339, UTC.
    pub started_at: String,
    /// The server that was measured.
    pub server: Server,
    /// The form of the server: `single` or `cores`.
    pub form: String,
    /// The workload, with its case where it has several: `hello`, `tetra/140`.
    pub workload: String,
    /// The load that was asked for.
    pub load: Load,
    /// Which cores each process was allowed to use.
    pub pinning: Pinning,
    /// Command line of the load generator.
    pub generator_argv: Vec<String>,
    /// What the generator measured, unless it failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run: Option<Run>,
    /// What a search for the capacity found; the run is then that of its last window.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub capacity: Option<FoundCapacity>,
    /// How the start of the server went.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub startup: Option<Startup>,
    /// What the server cost over the run's window.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usage: Option<Usage>,
    /// What memory did to the server under the load, where it could be seen.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub memory: Option<MemoryUse>,
    /// The server's process tree over time.
    pub samples: Vec<Sample>,
    /// Time of every core over the window, interrupts and steal apart.
    pub cores: Vec<CoreTime>,
    /// What became of the instances and the balancer, where the launch had one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub balancing: Option<Balancing>,
    /// What became of the database, where the launch had one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub database: Option<DatabaseUse>,
    /// The machines of roles that ran on others than the lab's own. Those of loaders are with the run.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub machines: Vec<RoleMachine>,
    /// The answers checked before the load.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub validation: Option<Validation>,
    /// The end of what the server printed.
    pub log_tail: String,
    /// Why there is no usable run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<Fault>,
    /// Why a number may not mean what it seems to; the run's own are in the run.
    pub verdicts: Vec<Verdict>,
    /// Where the figures come from, if Paceline did not measure them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub imported: Option<Imported>,
}

impl Trial {
    /// Its run, where it says anything about its cell: nothing stopped the trial and at least one request ended well,
    /// or a rate was imported, of which sources often say no more.
    /// What a verdict says against its numbers is another matter, shown beside them.
    pub fn usable_run(&self) -> Option<&Run> {
        let is_imported = self.imported.is_some();
        let has_rate = |run: &Run| is_imported && run.rate_per_s.achieved > 0.0;
        let run = self.run.as_ref().filter(|run| run.total.counts.ok > 0 || has_rate(run))?;
        self.error.is_none().then_some(run)
    }

    /// Whether a verdict says that the machine spoiled its numbers: another try may go better.
    pub fn is_disturbed(&self) -> bool {
        let of_run = self.run.iter().flat_map(|run| &run.verdicts);
        let mut all = of_run.chain(&self.verdicts);
        all.any(|verdict| (verdict.severity, verdict.blame) == (Severity::Invalid, Blame::Environment))
    }

    /// The cores of what its load led to: where a launch has several instances, those of the first for a load that went
    /// past the balancer, since it alone had work. What the server cost is shared among these.
    pub fn server_cores(&self) -> &[u32] {
        let all = self.load.balanced.as_ref().is_some_and(|balanced| balanced.route == Route::Balanced);
        self.pinning.instances.first().filter(|_| !all).unwrap_or(&self.pinning.server)
    }

    /// Whether it has a [usable run](Self::usable_run): what a round, a store's tally and a report count.
    pub fn is_usable(&self) -> bool {
        self.usable_run().is_some()
    }
}

/// The machine that a role of a launch ran on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleMachine {
    /// The role that ran on it.
    pub role: ProcessRole,
    /// Which of its role, from 0.
    pub index: u32,
    /// The name it was reached by.
    pub host: String,
    /// The environment of that machine.
    pub environment: Environment,
    /// Its monotonic clock less the lab's.
    pub clock: ClockOffset,
    /// What its network interface moved over the window.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub network: Option<NetworkUse>,
}

/// What was under test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Server {
    /// The folder's name; of a copy, with the ending `-copy`.
    pub id: String,
    /// The id of the server that it is a copy of: a round may enter a server twice to check its own noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<String>,
    /// Name of the server, for people.
    pub name: String,
    /// The language it is written in.
    pub language: String,
    /// Name of the framework.
    pub framework: String,
    /// The HTTP engine that the framework runs on.
    pub engine: String,
    /// Kind of the framework: `platform`, `micro` or `full`.
    pub kind: String,
    /// `idiomatic` or `tuned`, and others.
    pub tags: Vec<String>,
    /// What its version command printed: the receipt.
    pub versions: String,
    /// What its manifest says of the framework's limits, checked against the server: `pipelining`, `keep_alive`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub traits: BTreeMap<String, bool>,
}

/// Which process was allowed on which cores.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pinning {
    /// Cores of the server.
    pub server: Vec<u32>,
    /// Cores of the load generator.
    pub generator: Vec<u32>,
    /// Whether server and generator share no core.
    pub disjoint: bool,
    /// Cores of each instance, where a launch has several.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub instances: Vec<Vec<u32>>,
    /// Cores of the balancer, where there is one.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub balancer: Vec<u32>,
    /// Cores of the database, where there is one.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub database: Vec<u32>,
}

/// How the server started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Startup {
    /// From fork to a port that accepts, in nanoseconds.
    pub listening_ns: u64,
    /// From fork to the first complete valid answer, in nanoseconds.
    pub first_answer_ns: u64,
    /// Resident memory of the process tree then, in bytes.
    pub rss_bytes: u64,
    /// Processes of the tree then.
    pub processes: u32,
    /// How far the clean-up of its processes is guaranteed: `pid_namespace` or `subreaper`.
    pub guarantee: String,
    /// Whether no start since it was built, or its folder changed, had answered before; none where nobody kept count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_since_build: Option<bool>,
    /// What its processes had read from disk by the first answer, in bytes: 0 where all of it was in memory already,
    /// as after a build; none where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_read_bytes: Option<u64>,
    /// How the launch was warmed up before its first load; none where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<WarmUp>,
}

/// A launch's warm-up: a closed loop until the server no longer became faster, and its rate in each second (the cold
/// curve).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUp {
    /// How long it took, in seconds.
    pub warmed_s: f64,
    /// From the first request to the steady state: until the last 4 s were no more than 5 % faster than the 4 s before
    /// them. None where the limit was reached first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steady_after_s: Option<f64>,
    /// The limit that the plan sets, in seconds.
    pub limit_s: f64,
    /// Connections of the closed loop.
    pub connections: u32,
    /// The workloads that were requested, in equal shares.
    pub workloads: Vec<String>,
    /// Responses per second in each second.
    pub rate_per_s: Vec<f64>,
}

/// What the server cost over the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Length of what was sampled, in seconds.
    pub over_s: f64,
    /// CPU time of the process tree, in seconds.
    pub cpu_s: f64,
    /// CPU time for each response completed in the window, in nanoseconds.
    pub cpu_ns_per_request: f64,
    /// CPU time as a share of the cores it was given, 0 to 1.
    pub utilization: f64,
    /// Where the CPU time was read.
    pub source: CpuSource,
    /// Highest resident memory sampled, summed over processes (shared pages count in each), in bytes.
    pub rss_bytes_peak: u64,
    /// Proportional share of memory after the window, in bytes, where the kernel tells.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pss_bytes: Option<u64>,
    /// Resident memory once the generator had ended, summed over processes, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rss_bytes_after: Option<u64>,
    /// Most threads seen.
    pub threads_peak: u32,
    /// Times a thread gave its core up by itself.
    pub voluntary_switches: u64,
    /// Times a core was taken from a thread.
    pub involuntary_switches: u64,
    /// Time runnable but not running, in seconds.
    pub run_delay_s: f64,
}

/// What memory did to a server under a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryUse {
    /// What it could use at most, in bytes: the lowest limit of its control groups, or the machine's memory.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit_bytes: Option<u64>,
    /// Highest resident memory sampled, in bytes; none where it ended before.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rss_bytes_peak: Option<u64>,
    /// Bytes that the machine swapped in and out meanwhile.
    pub swapped_bytes: u64,
    /// Processes that the kernel killed for want of memory meanwhile, on the machine.
    pub oom_kills: u64,
}

/// Where the CPU time of a process tree was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpuSource {
    /// A control group: complete.
    Cgroup,
    /// `/proc`: a lower bound, processes that came and went unseen are missing.
    Proc,
}

/// The server's process tree at one moment. Counters are totals since the launch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// From the start of the generator, in nanoseconds.
    pub at_ns: u64,
    /// Phase of the run at that time.
    pub phase: Phase,
    /// CPU time, in seconds.
    pub cpu_s: f64,
    /// Resident memory summed over processes, in bytes.
    pub rss_bytes: u64,
    /// Number of processes of the server.
    pub processes: u32,
    /// Number of threads of the server.
    pub threads: u32,
    /// Times a thread gave its core up by itself.
    pub voluntary_switches: u64,
    /// Times a core was taken from a thread.
    pub involuntary_switches: u64,
    /// Time runnable but not running, in seconds.
    pub run_delay_s: f64,
}

/// Time of one core over the window, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoreTime {
    /// Number of the core, from 0.
    pub core: u32,
    /// Length of the sample, in seconds.
    pub over_s: f64,
    /// Time that the core was not idle, interrupts included, in seconds.
    pub busy_s: f64,
    /// Time in hard and soft interrupts, in seconds.
    pub interrupt_s: f64,
    /// Time that the hypervisor took from it, in seconds.
    pub steal_s: f64,
}

/// Resolution of the kernel's account of a core, in seconds: `/proc/stat` counts in `USER_HZ`, a hundred ticks a second
/// on every architecture but Alpha and Itanium (proc_stat(5), include/uapi/asm-generic/param.h).
const TICK_S: f64 = 0.01;

impl CoreTime {
    /// The least share of its time that the hypervisor can have taken, 0 to 1. Most of the first tick may have gathered
    /// before the window: one tick in a window of 25 ms is no evidence of anything.
    pub fn steal_share_least(&self) -> f64 {
        let least_s = (self.steal_s - TICK_S).max(0.0);
        if self.over_s > 0.0 { least_s / self.over_s } else { 0.0 }
    }
}

/// The answers checked before the load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Validation {
    /// The checks, in the order they were made.
    pub checks: Vec<Check>,
}

/// One check of a server's answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// What was asked, for people: `GET /hello`.
    pub name: String,
    /// Whether the check passed.
    pub outcome: CheckOutcome,
    /// The exact difference, where there is one.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub detail: String,
}

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// As asked.
    Pass,
    /// Served, with something to know.
    Warn,
    /// Not as asked: not measured.
    Fail,
}

/// Why there is no usable run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    /// The stage at which the trial failed.
    pub stage: Stage,
    /// What happened, as a sentence for people.
    pub message: String,
    /// Whether the environment spoiled it, so that a second try may go well.
    pub transient: bool,
}

/// How far a trial came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// A program or package is missing.
    Setup,
    /// The build command failed.
    Build,
    /// It did not answer in time, or ended.
    Start,
    /// A wrong answer before the load.
    Validate,
    /// It went wrong under load.
    Load,
    /// The generator failed, or its output could not be read.
    Generate,
}
