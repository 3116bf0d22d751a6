//! The errors that prevent a run.
//!
//! Returned by [`crate::run`] and the simulation, and by the check of settings. A failure of a single request is not an
//! error but an outcome (`outcome.rs`). Exit status and remedy are in the binary (`commands/run/mod.rs`).

use crate::{Address, Nanos};
use paceline_job::JobError;
use paceline_stats::counted;
use std::io;

/// An error that prevents a run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The parts of the job contradict each other.
    #[error("{0}")]
    Job(JobError),
    /// The prepared settings do not fit the job.
    #[error("{0}")]
    Settings(&'static str),
    /// No connection could be made, or none was kept until the run could begin.
    #[error("cannot {} {address}{}", if *.made > 0 { "keep a connection open to" } else { "connect to" }, in_brackets(*.attempts))]
    Unreachable {
        /// The target.
        address: Address,
        /// The number of attempts that were begun. Those still under way at the connect timeout count.
        attempts: u64,
        /// Connections that were made, and lost before any request was sent.
        made: u64,
        /// The error of the last attempt.
        #[source]
        source: io::Error,
    },
    /// The requested TLS settings cannot be used.
    #[error("cannot {what}")]
    Tls {
        /// The setting.
        what: &'static str,
        /// The reason.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The kernel refused an operation that the engine requires.
    #[error("cannot {what}")]
    Kernel {
        /// The operation.
        what: &'static str,
        /// The kernel's error.
        #[source]
        source: io::Error,
    },
    /// Outcomes do not add up to the requests scheduled, or a time does not add up: a bug in Paceline.
    #[error("the engine's counts do not add up: {0}; this is a bug in Paceline")]
    Accounts(String),
    /// The system did not start the requested number of threads.
    #[error("the system started only {had} of {}", counted(*.asked, "thread", "threads"))]
    TooManyThreads {
        /// Requested.
        asked: u32,
        /// Started.
        had: usize,
    },
    /// A worker thread died: a bug in Paceline.
    #[error("a worker thread died; this is a bug in Paceline")]
    WorkerDied,
    /// Stopped before the window began, so there are no measurements.
    #[error("the run was stopped {0} after its start, before the window began: nothing was measured")]
    StoppedEarly(Nanos),
}

/// The number of attempts. None began if the connect timeout is shorter than the start of a thread.
fn in_brackets(attempts: u64) -> String {
    if attempts == 0 { String::new() } else { format!(" ({})", counted(attempts, "attempt", "attempts")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_attempts_are_not_counted() {
        let text = |attempts, made| {
            let address = Address::from(std::net::SocketAddr::from(([127, 0, 0, 1], 80)));
            let source = io::ErrorKind::TimedOut.into();
            EngineError::Unreachable { address, attempts, made, source }.to_string()
        };
        assert_eq!(text(0, 0), "cannot connect to 127.0.0.1:80");
        assert_eq!(text(1, 0), "cannot connect to 127.0.0.1:80 (1 attempt)");
        assert_eq!(text(2, 2), "cannot keep a connection open to 127.0.0.1:80 (2 attempts)");
    }
}
