//! Errors of runs with several loaders.

use paceline_host::PlaceError;
use paceline_record::RecordError;
use paceline_run::RunError;

/// The reason why several loaders have no result. A loader that is lost later is part of the record.
#[derive(Debug, thiserror::Error)]
pub enum LoadersError {
    /// The job, or what it names, is wrong for one loader: the same as of a run by one generator.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Fewer connections than threads of all loaders.
    #[error(
        "too few connections (-c {connections}) for {loaders} loaders with -t {threads}: each thread needs at least one"
    )]
    TooFewConnections {
        /// Connections asked for.
        connections: u32,
        /// Loaders asked for.
        loaders: u32,
        /// Threads of each.
        threads: u32,
    },
    /// The program cannot be sent to a place or started there.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The system does not start a process or thread.
    #[error("cannot start a load generator on {host}: {source}")]
    Start {
        /// Where.
        host: String,
        /// The cause.
        source: std::io::Error,
    },
    /// A loader says that its share cannot be carried out as asked.
    #[error("the load generator on {host}: {what}")]
    Refused {
        /// Where.
        host: String,
        /// What it says.
        what: String,
        /// What to do.
        hint: Option<String>,
    },
    /// A loader cannot connect, ended, or did not answer before the run began.
    #[error("the load generator on {host}: {what}")]
    NotReady {
        /// Where.
        host: String,
        /// What happened.
        what: String,
        /// What to do.
        hint: Option<String>,
    },
    /// Not one loader has a result.
    #[error("no load generator returned a result: {}", reasons.join("; "))]
    AllLost {
        /// Host and reason of each.
        reasons: Vec<String>,
    },
    /// A loader's record cannot be added to the others'.
    #[error("the result of the load generator on {host} cannot be used: {source}")]
    Record {
        /// Where.
        host: String,
        /// The cause.
        source: RecordError,
    },
    /// The sum of the loaders' requests is not what the schedule gave to them.
    #[error(
        "the counts do not add up: the loader on {host} counted {counted} of the {scheduled} requests of its schedule"
    )]
    Accounts {
        /// Where.
        host: String,
        /// Requests in its result.
        counted: u64,
        /// Requests of its share.
        scheduled: u64,
    },
    /// The record of a loader contradicts itself.
    #[error("the result of the load generator on {host} does not add up: {what}")]
    Contradiction {
        /// Where.
        host: String,
        /// The first contradiction.
        what: String,
    },
    /// The user stopped it before there was a result.
    #[error("the run was interrupted before it had a result")]
    Interrupted,
}
