//! The machine a number was measured on, as far as the machine tells.
//!
//! The binary reads it for each run and each round; reports never put trials from different machines into one
//! table. It says what the machine is: how busy it was meanwhile stands in the run and the trial.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What may have shaped a result and cannot be read off it later. What the machine does not tell is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The processor's name.
    pub cpu_model: String,
    /// Processors online.
    pub cores: u32,
    /// Physical memory, in bytes.
    pub memory_bytes: u64,
    /// Kernel release and version.
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
    /// Limits of the process: open files, soft and hard.
    pub open_files_soft: u64,
    /// The hard limit of open files.
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
