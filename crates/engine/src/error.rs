//! Why a run could not be carried out.
//!
//! Returned by [`crate::run`] and the simulation, and where settings are checked. What goes wrong with single requests
//! is no error: it is an outcome (`outcome.rs`). Exit status and remedy are the binary's (`commands/run/mod.rs`).

use crate::{Address, Nanos};
use paceline_job::JobError;
use std::io;

/// Why a run could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The parts of the job contradict each other.
    #[error("{0}")]
    Job(JobError),
    /// What was made ready for the job does not fit it.
    #[error("{0}")]
    Settings(&'static str),
    /// Not one connection could be made, or none was kept until the run could begin.
    #[error("cannot {} {address} ({attempts} attempts)", if *.made > 0 { "keep a connection to" } else { "connect to" })]
    Unreachable {
        /// Where to.
        address: Address,
        /// How often it was tried.
        attempts: u64,
        /// Connections that were made, and lost before anything was asked of the server.
        made: u64,
        /// The last attempt's reason.
        #[source]
        source: io::Error,
    },
    /// What was asked of TLS cannot be done.
    #[error("cannot {what}")]
    Tls {
        /// What.
        what: &'static str,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The kernel refused something the engine cannot do without.
    #[error("cannot {what}")]
    Kernel {
        /// What was asked of it.
        what: &'static str,
        /// Its answer.
        #[source]
        source: io::Error,
    },
    /// Outcomes do not add up to what was scheduled, or a time does not add up: a bug in Paceline.
    #[error("the engine's own accounts do not add up: {0}; this is a bug in Paceline")]
    Accounts(String),
    /// The system did not start as many threads as asked for.
    #[error("the system started {had} of {asked} threads")]
    TooManyThreads {
        /// Asked for.
        asked: u32,
        /// Had.
        had: usize,
    },
    /// A worker thread died: a bug in Paceline.
    #[error("a worker thread died; this is a bug in Paceline")]
    WorkerDied,
    /// Stopped before the window began: nothing was measured.
    #[error("stopped {0} after the start, before the window began: nothing was measured")]
    StoppedEarly(Nanos),
}
