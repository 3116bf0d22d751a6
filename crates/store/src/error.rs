//! Why results could not be kept or found, and the one place that reads SQLite's result codes.
//!
//! For everything that [`crate::Store`] does; most variants say whose doing it is. The binary's `kept.rs` adds a hint
//! and the exit status. Nothing is tried again: all waiting for a lock is over by then.

use paceline_record::RecordError;
use std::path::{Path, PathBuf};

/// What went wrong with the store, and where.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Environment: the folder of the store cannot be made.
    #[error("cannot make the folder {} for the results", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// User: a store was to be read and there is none.
    #[error("there are no results at {}: no such file", path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// User: the path cannot be put in a URL.
    #[error("the store's path {} is not valid UTF-8; choose another with --store", path.display())]
    PathNotText {
        /// The path.
        path: PathBuf,
    },
    /// Environment: the file or its folder may not be written. SQLite writes beside the file too.
    #[error("cannot open {} for reading and writing; the file and its folder must be writable", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        source: Box<sqlx::Error>,
    },
    /// User: the file is no SQLite database, or one that something else made.
    #[error("{} is no Paceline store ({found}); it was left untouched, choose another with --store", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        found: String,
    },
    /// Environment: the file is a store and its bytes are damaged.
    #[error("{} is damaged; keep a copy, and try `sqlite3 FILE .recover`", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        source: Box<sqlx::Error>,
    },
    /// User: a newer Paceline wrote it.
    #[error("{} was written by a newer Paceline (store version {found}, this one knows up to {known})", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version found.
        found: i64,
        /// The newest version this Paceline knows.
        known: i64,
    },
    /// Environment: no room left; nothing of the record was kept, everything before it was.
    #[error("no room left for {}: this record was not kept, everything before it was", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        source: Box<sqlx::Error>,
    },
    /// Environment: another process held the store for longer than the busy timeout.
    #[error("{} has been locked by another process for {waited_s} s", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
        /// How long was waited, in seconds.
        waited_s: u64,
        /// What SQLite said.
        #[source]
        source: Box<sqlx::Error>,
    },
    /// Whatever else the database says.
    #[error("the store {} failed", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        source: Box<sqlx::Error>,
    },
    /// Environment: the runtime that drives the database could not be started.
    #[error("cannot start the store's runtime")]
    Runtime(#[source] std::io::Error),
    /// A defect of ours: a trial was put before its round.
    #[error("trial {trial} belongs to round {round}, which is not in the store")]
    UnknownRound {
        /// The trial.
        trial: String,
        /// The round it names.
        round: String,
    },
    /// A defect of ours: the record could not be read again, so it was not kept (a number that is not finite?).
    #[error("the {kind} {id} cannot be kept: it would not read back")]
    Unstorable {
        /// "round" or "trial".
        kind: &'static str,
        /// Its id.
        id: String,
        /// Which key is wrong.
        #[source]
        source: serde_json::Error,
    },
    /// A stored record cannot be read.
    #[error("the stored {kind} {id} cannot be read")]
    Record {
        /// "round" or "trial".
        kind: &'static str,
        /// Its id.
        id: String,
        /// What is wrong with it.
        #[source]
        source: RecordError,
    },
    /// User: nothing begins with what was asked for.
    #[error("no {kind} has an id that begins with {prefix:?}")]
    NotFound {
        /// "round" or "trial".
        kind: &'static str,
        /// What was asked for.
        prefix: String,
    },
    /// User: several begin with it.
    #[error("several {kind}s have an id that begins with {prefix:?}: {}", candidates.join(", "))]
    Ambiguous {
        /// "round" or "trial".
        kind: &'static str,
        /// What was asked for.
        prefix: String,
        /// The ids, newest first, ten at most.
        candidates: Vec<String>,
    },
}

/// How long a process waits for another's write to end. A trial's write takes milliseconds; a laptop's disk under
/// load may take seconds.
pub(crate) const BUSY_TIMEOUT_S: u64 = 30;

/// SQLITE_BUSY and SQLITE_LOCKED.
const BUSY: i32 = 5;
const LOCKED: i32 = 6;

impl StoreError {
    /// What a database error means for the store at `path`, by SQLite's result code (its low byte is the primary
    /// code, <https://www.sqlite.org/rescode.html>).
    pub(crate) fn of(path: &Path, error: sqlx::Error) -> Self {
        let (path, code) = (path.to_owned(), primary_code(&error));
        let source = Box::new(error);
        match code {
            Some(BUSY | LOCKED) => Self::Busy { path, waited_s: BUSY_TIMEOUT_S, source },
            Some(3 | 8 | 14 | 23) => Self::Unwritable { path, source },
            Some(11) => Self::Damaged { path, source },
            Some(13) => Self::Full { path, source },
            Some(26) => Self::NotAStore { path, found: "not a SQLite database".to_owned() },
            _ => Self::Database { path, source },
        }
    }
}

/// Whether another connection's lock is all that is in the way.
pub(crate) fn is_locked(error: &sqlx::Error) -> bool {
    matches!(primary_code(error), Some(BUSY | LOCKED))
}

fn primary_code(error: &sqlx::Error) -> Option<i32> {
    let code = error.as_database_error()?.code()?.parse::<i32>().ok()?;
    Some(code & 0xff)
}
