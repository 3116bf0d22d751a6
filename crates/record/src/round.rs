//! A round: a plan carried out in one environment; the machine it ran on, and what the plan's source observed.
//!
//! `paceline round` makes it, and finds in it what `--resume` needs to carry on; the store keeps it, reports read it.
//! Its trials are not inside: each names its round. Reports never put trials from different machines into one table, and
//! never judge a server by what its source observed: other machines, versions and tools lie between the two.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A plan carried out in one environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Round {
    /// The version of these keys.
    pub schema: u32,
    /// Unique.
    pub id: String,
    /// The plan's name.
    pub plan: String,
    /// The plan as it was carried out, in TOML; `--resume` goes by this, not by the file.
    pub plan_toml: String,
    /// Where every order was drawn from.
    pub seed: u64,
    /// Wall-clock start, RFC 3339, UTC.
    pub started_at: String,
    /// When its last trial was stored; none while it is unfinished.
    pub finished_at: Option<String>,
    /// The command of the load generator as a person gave it, words parted by one space; `paceline` for our own. None
    /// in rounds kept before this was noted. `--resume` takes no other: two tools' numbers do not belong in one table.
    #[serde(default)]
    pub generator: Option<String>,
    /// How many trials were planned.
    pub planned: u32,
    /// The machine.
    pub environment: Environment,
    /// Each stretch of work without interruption, in order.
    pub sittings: Vec<Sitting>,
    /// What of the plan was not carried out as it is written, for people: a scale, repeats cut to the time budget.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub changes: Vec<String>,
    /// What the plan's source observed, to stand beside what was observed now.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub observed: Vec<Observation>,
}

/// A stretch of work without interruption.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sitting {
    /// Unique within the round.
    pub id: String,
    /// Wall-clock start, RFC 3339, UTC.
    pub started_at: String,
    /// Settings of the machine that were looked at and, where they were not as wanted, changed for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tuned: Vec<Tuned>,
}

/// A setting of the machine, before and during a sitting; it was put back after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tuned {
    /// Its name, as sysctl(8) has it where it is one.
    pub name: String,
    /// What it was; nothing where there is none.
    pub before: String,
    /// What it was during the sitting.
    pub after: String,
    /// Why it is not as wanted, where it is not.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub why: String,
}

impl Tuned {
    /// For people: what was changed; nothing where it was as wanted, or could not be changed.
    pub fn changed(&self) -> Option<String> {
        let Self { name, before, after, .. } = self;
        (before != after).then(|| format!("{name} {before} -> {after}"))
    }

    /// For people: which of `settings` are not as wanted, those of one reason together.
    pub fn amiss(settings: &[Self]) -> Vec<String> {
        let mut by_why: Vec<(&str, Vec<&str>)> = Vec::new();
        for setting in settings.iter().filter(|setting| !setting.why.is_empty()) {
            match by_why.iter_mut().find(|(why, _)| *why == setting.why) {
                Some((_, names)) => names.push(&setting.name),
                None => by_why.push((&setting.why, vec![&setting.name])),
            }
        }
        by_why.into_iter().map(|(why, names)| format!("{}: {why}", names.join(", "))).collect()
    }
}

/// What may have shaped a result and cannot be read off it later. What the machine does not tell is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Model name of the processor.
    pub cpu_model: String,
    /// Number of processors online.
    pub cores: u32,
    /// Physical memory of the machine, in bytes.
    pub memory_bytes: u64,
    /// Release and version of the kernel.
    pub kernel: String,
    /// The distribution's own name for itself.
    pub os: String,
    /// Whether a hypervisor is underneath.
    pub virtual_machine: bool,
    /// State of each processor vulnerability's mitigation.
    pub mitigations: BTreeMap<String, String>,
    /// The frequency governor of processor 0.
    pub governor: Option<String>,
    /// The clock source behind the monotonic clock.
    pub clock_source: Option<String>,
    /// Idle states of processor 0 with the time each takes to leave.
    pub idle_states: Vec<IdleState>,
    /// The soft limit of open files of the process (`ulimit -n`).
    pub open_files_soft: u64,
    /// The hard limit of open files (`ulimit -Hn`).
    pub open_files_hard: u64,
    /// Kernel settings that matter to a server, by name.
    pub sysctl: BTreeMap<String, String>,
    /// Settings that were changed for this run and put back after it.
    #[serde(default)]
    pub held: Vec<String>,
}

/// One idle state of a processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleState {
    /// The kernel's name for it.
    pub name: String,
    /// How long leaving it takes, in microseconds, as the driver claims.
    pub exit_us: u64,
}

/// One figure that a source observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// The source, a document of `docs/sources.md`.
    pub source: String,
    /// The server's id here, where one stands for what the source measured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<String>,
    /// What the source calls what it measured.
    pub subject: String,
    /// The workload of the plan, with its case.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub workload: Option<String>,
    /// The name of the load in the plan, a twin's with its ending.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub load: Option<String>,
    /// The form of the server, where the plan has several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub form: Option<String>,
    /// Which figure was observed.
    pub what: Figure,
    /// The source's value, in `unit`.
    pub value: f64,
    /// The unit of the value, for people: what `what` is given in.
    pub unit: String,
    /// What is to be known when the two are read side by side.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub note: String,
}

/// A figure that a source may have observed and a round can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Valid responses per second.
    RequestsPerS,
    /// Valid responses per second for each core (or thread) of the server.
    RequestsPerSPerCore,
    /// Median of the time, in milliseconds: response time in an open loop, service time in a closed one.
    TimeMsP50,
    /// 99 % of the times were at or below it, in milliseconds.
    TimeMsP99,
    /// Bytes received for each response, head included.
    BytesPerResponse,
    /// Share of the responses after which the connection stayed open, in percent.
    KeptAlivePercent,
    /// Highest resident memory of the server, in megabytes.
    RssMb,
    /// CPU time of the server as a share of one core, in percent.
    CpuPercent,
    /// Requests that failed.
    Failed,
}
