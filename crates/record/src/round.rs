//! A round: a plan carried out in one environment, its machine, and the figures that the plan's source observed.
//!
//! `paceline round` writes it, and reads from it the state for `--resume`; the store keeps it, reports read it. Its
//! trials are stored separately: each names its round. Reports never put trials from different machines into one table,
//! and never judge a server by the source's figures, because the machine, versions and tools differ.

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
    /// The plan as it was carried out, in TOML; `--resume` uses this, not the file.
    pub plan_toml: String,
    /// The seed of every random order.
    pub seed: u64,
    /// Wall-clock start, RFC 3339, UTC.
    pub started_at: String,
    /// When its last trial was stored; none while it is unfinished.
    pub finished_at: Option<String>,
    /// The command of the load generator as the user gave it, words separated by one space; `paceline` for Paceline's
    /// own. None in rounds stored before this key existed. `--resume` accepts no other command, because two tools'
    /// numbers do not belong in one table.
    #[serde(default)]
    pub generator: Option<String>,
    /// Number of planned trials.
    pub planned: u32,
    /// The machine.
    pub environment: Environment,
    /// Each uninterrupted sitting, in order.
    pub sittings: Vec<Sitting>,
    /// Deviations from the plan, as text: a scale, repeats cut to the time budget.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub changes: Vec<String>,
    /// The figures that the plan's source observed, for display beside the round's.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub observed: Vec<Observation>,
}

impl Round {
    /// Whether its figures were published by others: only such a round has no plan that was carried out.
    pub fn is_imported(&self) -> bool {
        self.plan_toml.is_empty()
    }
}

/// An uninterrupted period of work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sitting {
    /// Unique within the round.
    pub id: String,
    /// Wall-clock start, RFC 3339, UTC.
    pub started_at: String,
    /// Machine settings that were checked and, if different from the wanted value, changed for the sitting.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tuned: Vec<Tuned>,
}

/// A setting of the machine, before and during a sitting; it was restored after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tuned {
    /// Its name, in sysctl(8) notation for sysctls.
    pub name: String,
    /// The previous value; empty if it does not exist.
    pub before: String,
    /// The value during the sitting.
    pub after: String,
    /// Why it does not have the wanted value, if it does not.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub why: String,
}

impl Tuned {
    /// Describes the change; none if there was nothing to change or the change failed.
    pub fn changed(&self) -> Option<String> {
        let Self { name, before, after, .. } = self;
        (before != after).then(|| format!("{name} {before} -> {after}"))
    }

    /// Describes the settings without the wanted value, grouped by reason.
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

/// Conditions that may affect a result and cannot be derived from it later. Values that the machine does not report are
/// left out.
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
    /// The distribution's name.
    pub os: String,
    /// Whether the machine runs under a hypervisor.
    pub virtual_machine: bool,
    /// State of each processor vulnerability's mitigation.
    pub mitigations: BTreeMap<String, String>,
    /// The frequency governor of processor 0.
    pub governor: Option<String>,
    /// The clock source behind the monotonic clock.
    pub clock_source: Option<String>,
    /// Idle states of processor 0 with the exit time of each.
    pub idle_states: Vec<IdleState>,
    /// The soft limit of open files of the process (`ulimit -n`).
    pub open_files_soft: u64,
    /// The hard limit of open files (`ulimit -Hn`).
    pub open_files_hard: u64,
    /// Kernel settings that affect a server, by name.
    pub sysctl: BTreeMap<String, String>,
    /// Settings that were changed for this run and restored after it.
    #[serde(default)]
    pub held: Vec<String>,
}

/// One idle state of a processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleState {
    /// The kernel's name for it.
    pub name: String,
    /// Exit time in microseconds, according to the driver.
    pub exit_us: u64,
}

/// One figure that a source observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// The source, a document of `history/sources.md`.
    pub source: String,
    /// The id of the corresponding server in this repository, if there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<String>,
    /// The source's name for the measured object.
    pub subject: String,
    /// The workload of the plan, with its case.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub workload: Option<String>,
    /// The name of the load in the plan; for a twin, with its suffix.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub load: Option<String>,
    /// The form of the server, if the plan has several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub form: Option<String>,
    /// The kind of figure.
    pub what: Figure,
    /// The source's value, in `unit`.
    pub value: f64,
    /// The unit of the value, as text: the unit of `what`.
    pub unit: String,
    /// Notes for the comparison of the two figures.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub note: String,
}

/// A figure that a source may have observed and a round can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Valid responses per second.
    RequestsPerS,
    /// Valid responses per second and core (or thread) of the server.
    RequestsPerSPerCore,
    /// Median of the time, in milliseconds: response time in an open loop, service time in a closed one.
    TimeMsP50,
    /// 99 % of the times were at or below it, in milliseconds.
    TimeMsP99,
    /// Bytes received per response, headers included.
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
