//! Access to the machine: processes and their CPU and memory, control groups, cores, ports, locks, settings.
//!
//! [`shepherd`] starts a command and leaves no process of it behind; [`tree`] samples the CPU and memory of a process
//! tree; [`port`] finds a free port; [`Tuning`] changes settings of the machine and restores them; [`FileLock`] and
//! [`Neighbours`] prevent two rounds from measuring at the same time. The only `unsafe` outside the engine's kernel
//! module is in [`system`] and where a process forks. This crate does not depend on servers, plans or rounds, and
//! prints no output.

pub mod cgroup;
pub mod channel;
pub mod clock;
mod core_distance;
mod cores;
mod cpu_quota;
mod energy;
mod frequency;
mod fuzz {
    /// Parses any text as the files of `/proc` and control groups that this crate reads, for fuzzing.
    #[doc(hidden)]
    pub fn fuzz_proc_text(text: &str) {
        crate::process::fuzz(text);
        crate::cores::fuzz(text);
        crate::cgroup::fuzz(text);
        crate::left_over::fuzz(text);
        crate::proc_sockets::fuzz(text);
        crate::thread_waits::fuzz(text);
    }
}
mod inherited;
mod interrupt;
mod kept_output;
mod kernel_counts;
mod left_over;
mod lock;
mod memory;
mod mode_time;
mod neighbours;
mod network;
mod perf_maps;
mod place;
pub mod port;
pub mod private_network;
mod proc_sockets;
pub mod process;
mod quiet_cpu;
pub mod shepherd;
mod slurm;
mod sock_diag;
mod suspended_time;
pub mod system;
mod thread_waits;
pub mod tree;
mod tune;
mod user;
mod watched;

pub use core_distance::core_distance_ns;
pub use cores::{CoreTicks, physical_cores, pin_self};
pub use cpu_quota::{CpuQuota, ThrottleCounts};
pub use energy::EnergyMeter;
pub use frequency::CoreFrequencies;
pub use fuzz::fuzz_proc_text;
pub use inherited::{InheritedVariables, build_variables};
pub use interrupt::Interrupt;
pub use kept_output::KeptOutput;
pub use kernel_counts::KernelSnapshot;
pub use left_over::end_left_overs;
pub use lock::{FileLock, LockAttempt};
pub use memory::MemoryAccount;
pub use mode_time::ModeTime;
pub use neighbours::{JoinResult, Neighbours, RoundsSeen};
pub use network::NetworkCounters;
pub use paceline_record::{Id, InvalidId};
pub use perf_maps::PerfMaps;
pub use place::{
    Machines, PROGRAM_DIGEST, Place, PlaceError, ProgramCopy, SSH_CONTROL, SshConnection, StartedProgram,
    machine_id,
};
pub use quiet_cpu::QuietCpu;
pub use slurm::{Allocation, AllocationRequest, JOB_NAME, SlurmError, check_job};
pub use suspended_time::SuspendedTime;
pub use thread_waits::WaitSampler;
pub use tune::{Tuning, restore_tuning};
pub use user::{User, UserError, allow_entry, owner_remedy, user_name, user_of_group};
pub use watched::{WatchedProcesses, WatchedSample};
