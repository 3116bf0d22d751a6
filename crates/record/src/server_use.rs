//! What the server of a run used, if it runs on the generator's machine: over the window, and once a second.
//!
//! The crate `run` fills it in; trials of the lab have their own samples (`trial.rs`). Memory limits and
//! the energy of the machine are those of both.

use crate::Throttling;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// CPU time and memory of the server over the window, all of its processes together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerUse {
    /// How its root processes were found; the others are their descendants.
    pub found_by: FoundBy,
    /// The first of its processes.
    pub pid: u32,
    /// Names of its programs that used at least a tenth of its CPU time, the largest first; if none was counted, that of
    /// its first process.
    pub name: String,
    /// Processes when the window ended.
    pub processes: u32,
    /// Threads when the window ended.
    pub threads: u32,
    /// Cores that the first process may run on.
    pub cores_allowed: u32,
    /// CPU time over the window, in seconds.
    pub cpu_s: f64,
    /// The part of `cpu_s` in user mode, in seconds. This and `system_s` add up to `cpu_s`; the shares are those of
    /// utime and stime (proc_pid_stat(5)). Both are missing if fewer than 10 clock ticks (0.1 s) were counted, and in
    /// records of older versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub user_s: Option<f64>,
    /// The part of `cpu_s` in kernel mode, in seconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub system_s: Option<f64>,
    /// CPU time per request that was sent in the window, in nanoseconds.
    pub cpu_ns_per_request: f64,
    /// CPU time as a share of the window on all cores that it may run on, 0 to 1.
    pub utilization: f64,
    /// CPU time of its busiest thread as a share of the window, 0 to 1. Missing if threads
    /// that ended in the window used more CPU time: the CPU time of each of them is unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busiest_thread_utilization: Option<f64>,
    /// Resident memory when the window ended, in bytes.
    pub rss_bytes: u64,
    /// Resident memory before the first connection, in bytes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rss_bytes_before: Option<u64>,
    /// The highest resident memory of the samples in the window, in bytes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rss_bytes_peak: Option<u64>,
    /// The cores that the first process may run on.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub cores: Vec<u32>,
    /// Time runnable but not running, all threads, in seconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run_delay_s: Option<f64>,
    /// The same of the thread that waited most, as a share of the window, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub most_delayed_thread_share: Option<f64>,
    /// Page faults that waited for a disk, in the window.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub major_faults: Option<u64>,
    /// Its memory limit, and memory pressure on the machine in the window.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub memory: Option<MemoryUse>,
    /// What a CPU limit of the control group of its first process cost in the window, if it was reached.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub throttling: Option<Throttling>,
}

impl ServerUse {
    /// The share of its CPU time in kernel mode, 0 to 1; none if it is not known.
    pub fn kernel_share(&self) -> Option<f64> {
        kernel_share(self.user_s, self.system_s)
    }
}

/// The share of a CPU time in kernel mode.
pub(crate) fn kernel_share(user_s: Option<f64>, system_s: Option<f64>) -> Option<f64> {
    let (user_s, system_s) = user_s.zip(system_s)?;
    let cpu_s = user_s + system_s;
    (cpu_s > 0.0).then(|| (system_s / cpu_s).clamp(0.0, 1.0))
}

/// Energy of all CPU packages of the server's machine over the window. All processes on their cores share it, the load
/// generator too, and idle cores are included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PackageEnergy {
    /// Length of the sampled period, in seconds.
    pub over_s: f64,
    /// Number of packages.
    pub packages: u32,
    /// Energy of all packages over that period, in joules.
    pub joules: f64,
    /// Energy per response completed in the window, in joules.
    pub joules_per_request: f64,
}

/// How the processes of a server were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FoundBy {
    /// The process was given (`--pid`).
    Pid,
    /// They listen on the target's port.
    Port,
    /// They listen on a port to which the server has connections.
    Connection,
}

/// The server at one moment of a run, all of its processes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerSample {
    /// From the start of the run, in nanoseconds.
    pub at_ns: u64,
    /// CPU time since the first sample, in seconds.
    pub cpu_s: f64,
    /// Resident memory summed over processes, in bytes.
    pub rss_bytes: u64,
    /// Number of processes.
    pub processes: u32,
    /// Number of threads.
    pub threads: u32,
}

impl ServerSample {
    /// Cores kept busy on average since an earlier sample.
    pub fn cores_used_since(&self, earlier: &ServerSample) -> f64 {
        let over_s = self.at_ns.saturating_sub(earlier.at_ns) as f64 / 1e9;
        paceline_stats::ratio((self.cpu_s - earlier.cpu_s).max(0.0), over_s)
    }
}

/// Memory limits and pressure of a server under a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryUse {
    /// Its memory limit, in bytes: the lowest limit of its control groups, or the machine's memory.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit_bytes: Option<u64>,
    /// Highest resident memory sampled, in bytes; none if it ended before.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rss_bytes_peak: Option<u64>,
    /// Bytes that the machine swapped in and out during the load.
    pub swapped_bytes: u64,
    /// Processes on the machine that the kernel killed during the load because it was out of memory.
    pub oom_kills: u64,
    /// Those of them in the server's own control group; none if that was not counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group_oom_kills: Option<u64>,
}

impl MemoryUse {
    /// Swapping below this, in bytes, is the kernel's housekeeping.
    pub const MIN_SWAPPED_BYTES: u64 = 16 << 20;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_record_without_modes_reads_and_has_no_kernel_share() {
        let older = serde_json::to_value(fixture::server_use(1, 2.0)).unwrap();
        assert!(older.get("user_s").is_none() && older.get("system_s").is_none(), "{older}");
        let mut server: ServerUse = serde_json::from_value(older).unwrap();
        assert_eq!(server.kernel_share(), None);
        (server.user_s, server.system_s) = (Some(0.5), Some(1.5));
        assert_eq!(server.kernel_share(), Some(0.75));
        (server.user_s, server.system_s) = (Some(0.0), Some(0.0));
        assert_eq!(server.kernel_share(), None);
    }

    #[test]
    fn cpu_between_samples_is_a_number_of_cores() {
        let at = |at_ns, cpu_s| ServerSample { at_ns, cpu_s, ..ServerSample::default() };
        assert_eq!(at(3_000_000_000, 4.0).cores_used_since(&at(1_000_000_000, 1.0)), 1.5);
        assert_eq!(at(1, 4.0).cores_used_since(&at(1, 1.0)), 0.0);
    }
}
