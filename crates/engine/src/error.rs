//! The errors that prevent a run.
//!
//! Returned by [`crate::run`] and the simulation, and by the check of settings. A failure of a single request is not an
//! error but an outcome (`outcome.rs`). Exit status and remedy are in the binary (`commands/run/explain.rs`).

use crate::{Address, Nanos};
use paceline_job::{JobError, Protocol};
use paceline_stats::counted;
use std::io;
use std::net::SocketAddr;

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
    #[error(
        "cannot {} {address}{} ({})",
        if *.made > 0 { "keep a connection open to" } else { "connect to" },
        others.iter().map(|other| format!(" or {other}")).collect::<String>(),
        counted(*.attempts, "attempt", "attempts")
    )]
    Unreachable {
        /// The target.
        address: Address,
        /// Its other addresses, if connections are spread over several.
        others: Vec<SocketAddr>,
        /// The version of HTTP that the connections were for.
        protocol: Protocol,
        /// The number of attempts that were begun, by all threads. Those still under way at the connect timeout count.
        attempts: u64,
        /// Connections that were made, and lost before any request was sent.
        made: u64,
        /// The error of a thread's last attempt.
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
    #[error("the counts of requests do not add up: {0}; this is a bug in Paceline")]
    Accounts(String),
    /// The system did not start the requested number of threads.
    #[error("the system started only {had} of {}", counted(*.asked, "thread", "threads"))]
    TooManyThreads {
        /// Requested.
        asked: u32,
        /// Started.
        had: usize,
    },
    /// A worker thread panicked: a bug in Paceline.
    #[error("a worker thread ended with a panic; this is a bug in Paceline")]
    WorkerDied,
    /// Stopped before the window began, so there are no measurements.
    #[error("the run was stopped {0} after its start, before the window began: nothing was measured")]
    StoppedEarly(Nanos),
}

impl EngineError {
    /// The error of a run in which one thread failed with `self`, and a later one with `last`. The last is the cause;
    /// if neither thread could make a connection, the attempts of both count.
    pub(crate) fn followed_by(self, mut last: Self) -> Self {
        if let Self::Unreachable { attempts, made, .. } = &mut last
            && let Self::Unreachable { attempts: earlier_attempts, made: earlier_made, .. } = self
        {
            *attempts += earlier_attempts;
            *made += earlier_made;
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unreachable(attempts: u64, made: u64) -> EngineError {
        let address = Address::from(std::net::SocketAddr::from(([127, 0, 0, 1], 80)));
        let source = io::ErrorKind::TimedOut.into();
        let others = Vec::new();
        EngineError::Unreachable { address, others, protocol: Protocol::Http11, attempts, made, source }
    }

    #[test]
    fn attempts_of_all_threads_count() {
        let all = unreachable(5, 2).followed_by(unreachable(6, 0)).followed_by(unreachable(1, 3));
        let EngineError::Unreachable { attempts, made, .. } = all else { panic!("{all}") };
        assert_eq!((attempts, made), (12, 5));
        let other = unreachable(5, 2).followed_by(EngineError::WorkerDied);
        assert!(matches!(other, EngineError::WorkerDied), "{other}");
    }

    #[test]
    fn a_lost_connection_is_not_called_refused() {
        let text = |attempts, made| unreachable(attempts, made).to_string();
        assert_eq!(text(1, 0), "cannot connect to 127.0.0.1:80 (1 attempt)");
        assert_eq!(text(2, 2), "cannot keep a connection open to 127.0.0.1:80 (2 attempts)");
    }
}
