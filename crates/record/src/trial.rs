//! A trial: a run with the server's launch and all its conditions.
//!
//! A failed trial is a record with an error. The lab fills it in during a trial (`crates/lab/src/trial.rs`), the store
//! keeps it, reports use its usable parts. Data on instances and a balancer are in `balancing.rs`; verdicts are in
//! `verdict.rs`.

use crate::server_use::{MemoryUse, PackageEnergy, kernel_share};
use crate::{
    Balancing, Blame, ClockOffset, CoreDistance, CoreFrequency, CoreTime, DatabaseUse, Environment,
    FoundCapacity, Limit, Load, NetworkUse, Phase, ProcessRole, Route, Run, Severity, Verdict,
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
    /// The server launch that it ran against; trials of one launch share it.
    pub launch: String,
    /// The randomised block it ran in.
    pub block: u32,
    /// Its position in the order of its sitting, from 0.
    pub order: u32,
    /// The repeat of its cell, from 0; a second attempt keeps the number.
    pub repeat: u32,
    /// Wall-clock start, RFC 3339, UTC.
    pub started_at: String,
    /// The server that was measured.
    pub server: Server,
    /// The form of the server: `single` or `cores`.
    pub form: String,
    /// The workload, with its case if it has several: `hello`, `tetra/140`.
    pub workload: String,
    /// The requested load.
    pub load: Load,
    /// The cores that each process was allowed to use.
    pub pinning: Pinning,
    /// Command line of the load generator.
    pub generator_argv: Vec<String>,
    /// The generator's measurements, unless it failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run: Option<Run>,
    /// The result of a capacity search; the run is then that of its last window.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub capacity: Option<FoundCapacity>,
    /// The start of the server.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub startup: Option<Startup>,
    /// CPU time and memory of the server over the run's window.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usage: Option<Usage>,
    /// The server's memory under the load, if it could be observed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub memory: Option<MemoryUse>,
    /// The server's process tree over time.
    pub samples: Vec<Sample>,
    /// Time of every core over the window, with interrupts and steal separately.
    pub cores: Vec<CoreTime>,
    /// Time for which the server's machine was suspended under the load, in seconds, if it was. The clocks of all other
    /// figures stood still meanwhile.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub suspended_s: Option<f64>,
    /// Clock frequency over the window of the cores of server, balancer and database: of the first 16, if the launch
    /// ran on the lab's machine and the kernel reports it. The generator's are in the run.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub core_frequencies: Vec<CoreFrequency>,
    /// How far apart the cores of server and generator were; only for loads of at most 15 s on a virtual machine that is
    /// not shared with other rounds, with both on disjoint cores of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub core_distance: Option<CoreDistance>,
    /// Energy of the CPU packages over the window, if the server ran on the lab's machine and the kernel reports it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub energy: Option<PackageEnergy>,
    /// Results of the instances and the balancer, if the launch had one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub balancing: Option<Balancing>,
    /// Results of the database, if the launch had one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub database: Option<DatabaseUse>,
    /// The machines of roles that did not run on the lab's own machine. The machines of loaders are in the run.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub machines: Vec<RoleMachine>,
    /// The responses checked before the load.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub validation: Option<Validation>,
    /// The end of the server's output.
    pub log_tail: String,
    /// Why there is no usable run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<Fault>,
    /// What limited it; none if there is no usable run, and in records of older versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit: Option<Limit>,
    /// Why a number may not mean what it seems to; the run has its own verdicts.
    pub verdicts: Vec<Verdict>,
    /// The origin of the figures, if Paceline did not measure them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub imported: Option<Imported>,
}

impl Trial {
    /// Its run, if it is meaningful for its cell: no error stopped the trial and at least one request ended well, or a
    /// rate was imported, which is often all that a source gives. Verdicts on its numbers do not matter here; they are
    /// shown beside them.
    pub fn usable_run(&self) -> Option<&Run> {
        let is_imported = self.imported.is_some();
        let has_rate = |run: &Run| is_imported && run.rate_per_s.achieved > 0.0;
        let run = self.run.as_ref().filter(|run| run.total.counts.ok > 0 || has_rate(run))?;
        self.error.is_none().then_some(run)
    }

    /// Whether a verdict says that the machine spoiled its numbers: another attempt may succeed.
    pub fn is_disturbed(&self) -> bool {
        let of_run = self.run.iter().flat_map(|run| &run.verdicts);
        let mut all = of_run.chain(&self.verdicts);
        self.are_cores_moved()
            || all.any(|verdict| (verdict.severity, verdict.blame) == (Severity::Invalid, Blame::Environment))
    }

    /// Whether its cores were not as far apart as usual, before or after the load.
    pub fn are_cores_moved(&self) -> bool {
        self.core_distance.is_some_and(|distance| distance.unusual_ns().is_some())
    }

    /// The cores of the server processes under its load: if a launch has several instances, the cores of the first for
    /// a load that bypassed the balancer, because only the first had work. The server's CPU time is divided by these.
    pub fn server_cores(&self) -> &[u32] {
        let all = self.load.balanced.as_ref().is_some_and(|balanced| balanced.route != Route::Direct);
        self.pinning.instances.first().filter(|_| !all).unwrap_or(&self.pinning.server)
    }

    /// Whether it has a [usable run](Self::usable_run): the criterion of a round, of the store's counts and of a
    /// report.
    pub fn is_usable(&self) -> bool {
        self.usable_run().is_some()
    }
}

/// The machine on which a role of a launch ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleMachine {
    /// The role that ran on it.
    pub role: ProcessRole,
    /// Index within its role, from 0.
    pub index: u32,
    /// The name used to connect to it.
    pub host: String,
    /// The environment of that machine.
    pub environment: Environment,
    /// Its monotonic clock minus the lab's.
    pub clock: ClockOffset,
    /// The traffic of its network interface over the window.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub network: Option<NetworkUse>,
}

/// The server under test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Server {
    /// Name of its folder; for a copy, with the suffix `-copy`.
    pub id: String,
    /// The id of the original if the server is a copy: a round may contain a server twice to check its own noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<String>,
    /// Display name of the server.
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
    /// Output of its version command.
    pub versions: String,
    /// The system package that its framework comes from; none if the framework comes from elsewhere, such as a registry
    /// of the language, and in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework_package: Option<FrameworkPackage>,
    /// The framework's limits from its manifest, checked against the server: `pipelining`, `keep_alive`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub traits: BTreeMap<String, bool>,
}

/// An installed system package that a framework comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrameworkPackage {
    /// Name of the package: `libh2o-evloop-dev`.
    pub name: String,
    /// Version of the package: `2.2.5+dfsg2-7`.
    pub version: String,
}

impl FrameworkPackage {
    /// The release of the framework: the version without epoch, revision and changes for packaging (deb-version(7)),
    /// such as `2.2.5`.
    pub fn release(&self) -> &str {
        let version = self.version.split_once(':').map_or(self.version.as_str(), |(_, version)| version);
        let upstream = version.rsplit_once('-').map_or(version, |(upstream, _)| upstream);
        let upstream = upstream.split_once('+').map_or(upstream, |(release, _)| release);
        // A letter after `~` is a pre-release: `1.3~pre20220315`. A digit counts packages: `1.19~1`.
        match upstream.split_once('~') {
            Some((release, after)) if after.starts_with(|c: char| c.is_ascii_digit()) => release,
            _ => upstream,
        }
    }
}

/// The cores that each process was allowed to use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pinning {
    /// Cores of the server.
    pub server: Vec<u32>,
    /// Cores of the load generator.
    pub generator: Vec<u32>,
    /// Whether server and generator share no core.
    pub disjoint: bool,
    /// Cores of each instance, if a launch has several.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub instances: Vec<Vec<u32>>,
    /// Cores of the balancer, if there is one.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub balancer: Vec<u32>,
    /// Cores of the database, if there is one.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub database: Vec<u32>,
}

/// The start of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Startup {
    /// From fork to a port that accepts connections, in nanoseconds.
    pub listening_ns: u64,
    /// From fork to the first complete valid response, in nanoseconds.
    pub first_answer_ns: u64,
    /// Resident memory of the process tree at that time, in bytes.
    pub rss_bytes: u64,
    /// Processes of the tree at that time.
    pub processes: u32,
    /// The guarantee for the cleanup of its processes: `pid_namespace` or `subreaper`.
    pub guarantee: String,
    /// Whether this is the first answered start since the server was built or its folder changed; none if starts were
    /// not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_since_build: Option<bool>,
    /// Bytes that its processes had read from disk by the first response: 0 if all of it was in memory already, as
    /// after a build; none if the kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_read_bytes: Option<u64>,
    /// Whether the launch had a network of its own, so that its fixed port was free.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub private_network: bool,
    /// The warm-up of the launch before its first load; none if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<WarmUp>,
}

/// The form of a warm-up in which pauses interrupt the load, so that a compiler that shares the server's core has time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUpBursts {
    /// The number of bursts.
    pub count: u32,
    /// The length of a burst, in seconds.
    pub length_s: f64,
    /// The pause after a burst, in seconds.
    pub pause_s: f64,
}

/// A launch's warm-up: a closed loop until the server no longer became faster, or in bursts, and its rate in each second
/// of load (the warm-up curve).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUp {
    /// Its length in seconds.
    pub warmed_s: f64,
    /// Load from the first request to the steady state, without pauses: until the last 4 s were no more than 5 % faster
    /// than the 4 s before. None if the limit was reached first, or if the server still became faster in the last burst.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steady_after_s: Option<f64>,
    /// The limit that the plan sets, in seconds; of bursts their length with the pauses.
    pub limit_s: f64,
    /// Its bursts; none if the load was continuous.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bursts: Option<WarmUpBursts>,
    /// Connections of the closed loop.
    pub connections: u32,
    /// The workloads that were requested, in equal shares.
    pub workloads: Vec<String>,
    /// Responses per second in each second of load.
    pub rate_per_s: Vec<f64>,
}

/// CPU time and memory of the server over the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Length of the sampled period, in seconds.
    pub over_s: f64,
    /// CPU time of the process tree, in seconds.
    pub cpu_s: f64,
    /// The part of `cpu_s` in user mode, in seconds. This and `system_s` add up to `cpu_s`; the shares are those that
    /// its source reports. Both are missing if fewer than 10 clock ticks (0.1 s) were counted, and in records of older
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_s: Option<f64>,
    /// The part of `cpu_s` in kernel mode, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_s: Option<f64>,
    /// CPU time per response completed in the window, in nanoseconds.
    pub cpu_ns_per_request: f64,
    /// CPU time as a share of its cores, 0 to 1.
    pub utilization: f64,
    /// The source of the CPU time.
    pub source: CpuSource,
    /// Highest resident memory sampled, summed over processes (shared pages count in each), in bytes.
    pub rss_bytes_peak: u64,
    /// Proportional share of memory after the window, in bytes, if the kernel reports it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pss_bytes: Option<u64>,
    /// Resident memory after the generator had ended, summed over processes, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rss_bytes_after: Option<u64>,
    /// Highest observed number of threads.
    pub threads_peak: u32,
    /// Number of voluntary context switches.
    pub voluntary_switches: u64,
    /// Number of involuntary context switches.
    pub involuntary_switches: u64,
    /// Time runnable but not running, in seconds.
    pub run_delay_s: f64,
    /// CPU time of the busiest thread as a share of the sampled period, 0 to 1; none in records of older versions, and if
    /// the kernel does not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest_thread_utilization: Option<f64>,
}

impl Usage {
    /// The share of its CPU time in kernel mode, 0 to 1; none if it is not known.
    pub fn kernel_share(&self) -> Option<f64> {
        kernel_share(self.user_s, self.system_s)
    }
}

/// The source of the CPU time of a process tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpuSource {
    /// A control group: complete.
    Cgroup,
    /// `/proc`: a lower bound, because processes that started and ended between samples are missing.
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
    /// Number of voluntary context switches.
    pub voluntary_switches: u64,
    /// Number of involuntary context switches.
    pub involuntary_switches: u64,
    /// Time runnable but not running, in seconds.
    pub run_delay_s: f64,
}

/// The responses checked before the load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Validation {
    /// The checks, in the order they were made.
    pub checks: Vec<Check>,
}

/// One check of a server's responses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// The request, as text: `GET /hello`.
    pub name: String,
    /// Whether the check passed.
    pub outcome: CheckOutcome,
    /// The exact difference, if there is one.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub detail: String,
}

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// As required.
    Pass,
    /// Served, with a remark.
    Warn,
    /// Not as required: the server is not measured.
    Fail,
}

/// Why there is no usable run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    /// The stage at which the trial failed.
    pub stage: Stage,
    /// The error message.
    pub message: String,
    /// Whether the environment caused the error, so that a second attempt may succeed.
    pub transient: bool,
}

/// The stage that a trial reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// A program or package is missing.
    Setup,
    /// The build command failed.
    Build,
    /// The server did not answer in time, or ended.
    Start,
    /// A wrong response before the load.
    Validate,
    /// A failure under load.
    Load,
    /// The generator failed, or its output could not be read.
    Generate,
}

impl Stage {
    /// The stage in words, as after "failed".
    pub fn words(self) -> &'static str {
        match self {
            Self::Setup => "setting up",
            Self::Build => "building",
            Self::Start => "starting",
            Self::Validate => "validating the responses",
            Self::Load => "under load",
            Self::Generate => "generating load",
        }
    }
}

/// The origin of an imported trial, and the figures that have no other place in it. Figures missing in the source are
/// left out here and 0 in the run. The run's phases, generator and connections are not meaningful.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Imported {
    /// The kind of report: `ab`, `techempower`, `figures` and others.
    pub format: String,
    /// The file, and the place in it: lines or a path of keys.
    pub place: String,
    /// Times as the source gives them, in nanoseconds, by `min`, `mean`, `stddev`, `p50`, `p99_9`, `max` and similar
    /// keys: service times of a closed loop, response times of an open one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub times_ns: BTreeMap<String, u64>,
    /// Other figures, by a name that includes the unit: `server_cpu_percent`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
    /// Notes on the figures.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_a_version_without_the_parts_of_its_package() {
        for (version, release) in [
            ("2.2.5+dfsg2-7", "2.2.5"),
            ("2:6.1.7.10+dfsg-1~deb12u4", "6.1.7.10"),
            ("2:1.19~1", "1.19"),
            ("1.3~pre20220315-df4ab006-3", "1.3~pre20220315-df4ab006"),
            ("20.20.2-1nodesource1+repack1", "20.20.2"),
            ("0.12-2+b4", "0.12"),
            ("9", "9"),
            ("~", "~"),
            ("", ""),
        ] {
            let package = FrameworkPackage { name: "package".to_owned(), version: version.to_owned() };
            assert_eq!(package.release(), release, "{version}");
        }
    }
}
