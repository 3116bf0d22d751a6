//! What can go wrong between a request for a page and its answer.
//!
//! Every fallible function of this crate returns it; the server maps it to a status, the binary to an exit status.

use paceline_record::RecordError;
use paceline_store::StoreError;
use paceline_store::archive::ArchiveError;
use std::io;
use std::path::PathBuf;

/// An error of this crate. Each variant says what happened and where.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// There is no such round or run.
    #[error("there is no {kind} {id:?} in these results")]
    NotFound {
        /// `round` or `run`.
        kind: &'static str,
        /// What was asked for.
        id: String,
    },
    /// A request that cannot be answered as it stands.
    #[error("invalid request: {0}")]
    Request(String),
    /// A file cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file or folder cannot be written.
    #[error("cannot write {path}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A folder for a site that has other contents.
    #[error("{path} is not empty, and what is in it is no site that Paceline wrote")]
    NotSite {
        /// The folder.
        path: PathBuf,
    },
    /// Rounds that cannot be read.
    #[error("{}", .0.join("\n"))]
    Unreadable(Vec<String>),
    /// Two folders that hold the same round.
    #[error("the round in {path} has the same id as that in {first}, {id:?}: remove one of the two")]
    SameRound {
        /// The folder that is not shown.
        path: PathBuf,
        /// The folder that is shown.
        first: PathBuf,
        /// The id of both.
        id: String,
    },
    /// A round with an id that gives a file of a site too long a name. The ids that Paceline writes are shorter.
    #[error(
        "the round {round:?} has the id {id:?}…, which is too long for a file of a site: leave out the round"
    )]
    LongId {
        /// The id of the round.
        round: String,
        /// The beginning of the id of the round, of a trial or of a server.
        id: String,
    },
    /// A folder that holds no exported round.
    #[error("{path} has no exported round: there is no round.json in the folder or its subfolders")]
    NoExport {
        /// The folder.
        path: PathBuf,
    },
    /// A record that cannot be read.
    #[error("invalid record in {place}")]
    Record {
        /// File and line, or id.
        place: String,
        /// Why.
        #[source]
        source: RecordError,
    },
    /// The trials of an export cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The server's threads, or its source of random numbers.
    #[error("cannot start the server")]
    Start(#[source] io::Error),
    /// A page that cannot be written as JSON.
    #[error("cannot write the page as JSON")]
    Json(#[from] serde_json::Error),
}

impl WebError {
    /// The HTTP status: 404 and 400 for a wrong request, 500 for a fault of the server or of records.
    pub fn status(&self) -> u16 {
        match self {
            WebError::NotFound { .. } => 404,
            WebError::Request(_) => 400,
            WebError::Store(StoreError::NotFound { .. } | StoreError::Ambiguous { .. }) => 404,
            WebError::Read { .. }
            | WebError::Write { .. }
            | WebError::NotSite { .. }
            | WebError::Unreadable(_)
            | WebError::SameRound { .. }
            | WebError::LongId { .. }
            | WebError::NoExport { .. }
            | WebError::Record { .. }
            | WebError::Archive(_)
            | WebError::Store(_)
            | WebError::Listen { .. }
            | WebError::Start(_)
            | WebError::Json(_) => 500,
        }
    }

    /// The message with its causes, each once.
    pub fn chain(&self) -> String {
        paceline_escape::error_text(self)
    }
}
