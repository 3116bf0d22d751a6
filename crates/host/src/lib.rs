//! All that touches the machine: processes and what they cost, control groups, cores, ports, locks, settings.
//!
//! [`shepherd`] starts a command and leaves nothing of it behind; [`tree`] samples what a process tree has cost;
//! [`port`] finds a free port; [`Tuning`] changes settings of the machine and puts them back; [`FileLock`] and
//! [`Neighbours`] keep two rounds from measuring each other. The only `unsafe` outside the engine's kernel module is
//! in [`system`] and where a process forks. It knows no server, plan or round, and prints nothing.

pub mod cgroup;
pub mod clock;
mod cores;
#[cfg(fuzzing)]
mod fuzz {
    /// Reads any text as the files of `/proc` and control groups that this crate reads.
    pub fn fuzz_proc_text(text: &str) {
        crate::process::fuzz(text);
        crate::cores::fuzz(text);
        crate::cgroup::fuzz(text);
    }
}
mod id;
mod interrupt;
mod lock;
mod memory;
mod neighbours;
mod network;
mod place;
pub mod port;
pub mod process;
pub mod shepherd;
mod slurm;
pub mod system;
pub mod tree;
mod tune;
mod user;

pub use cores::{CoreTicks, physical_cores, pin_self};
#[cfg(fuzzing)]
pub use fuzz::fuzz_proc_text;
pub use id::{Id, InvalidId};
pub use interrupt::Interrupt;
pub use lock::{FileLock, LockAttempt};
pub use memory::MemoryAccount;
pub use neighbours::{Joined, Look, Neighbours};
pub use network::NetworkCounters;
pub use place::{Control, Machines, PROGRAM_DIGEST, Place, PlaceError, SSH_CONTROL, Shipment};
pub use slurm::{Allocation, AllocationRequest, SlurmError};
pub use tune::{Tuning, mend_tuning};
pub use user::{User, UserError};
