//! Errors of the store, and the only code that interprets result codes of SQLite and PostgreSQL.
//!
//! Most variants say whose fault it is. The binary adds a hint and the exit status (`store_location.rs`). Callers do
//! not retry: when an error is returned, the wait for a lock has already timed out.

use paceline_record::RecordError;
use postgres::error::SqlState;
use std::fmt;
use std::path::{Path, PathBuf};

/// The place of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreLocation {
    /// A file, as an absolute path if it could be resolved.
    File(PathBuf),
    /// The URL of a database, without its password.
    Url(String),
}

impl StoreLocation {
    /// The place as a path, for messages.
    pub fn path(&self) -> &Path {
        match self {
            StoreLocation::File(path) => path,
            StoreLocation::Url(url) => Path::new(url),
        }
    }
}

impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path().display().fmt(f)
    }
}

/// An error of a database.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// SQLite.
    #[error("{}", sqlite_message(.0))]
    Sqlite(rusqlite::Error),
    /// PostgreSQL, or the connection to it.
    #[error("{}", postgres_message(.0))]
    Postgres(#[from] postgres::Error),
}

impl From<rusqlite::Error> for DatabaseError {
    fn from(error: rusqlite::Error) -> Self {
        DatabaseError::Sqlite(error)
    }
}

/// SQLite's message in plain words. The library's message for some results is only a number.
fn sqlite_message(error: &rusqlite::Error) -> String {
    use rusqlite::ffi;
    let Some(code) = error.sqlite_error().map(|error| error.extended_code) else { return error.to_string() };
    let what = match code {
        ffi::SQLITE_FULL => "the disk is full, or the disk quota is exceeded",
        ffi::SQLITE_IOERR_SHMSIZE => {
            "the disk is full: the database's WAL index (-shm file) cannot be extended"
        }
        ffi::SQLITE_IOERR_WRITE => "a write failed: the disk is faulty, or the disk quota is exceeded",
        ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC => {
            "written data did not reach the disk, which is full or faulty"
        }
        ffi::SQLITE_IOERR_SHMMAP | ffi::SQLITE_IOERR_SHMOPEN => {
            "the database's WAL index (-shm file) cannot be opened or mapped"
        }
        ffi::SQLITE_IOERR_READ | ffi::SQLITE_IOERR_SHORT_READ => "reading from the disk failed",
        _ => {
            // "disk I/O error", without the library's number before it.
            let text = error.to_string();
            let words = text.strip_prefix(&format!("Error code {code}: ")).unwrap_or(&text);
            return format!("{words} (SQLite result code {code})");
        }
    };
    what.to_owned()
}

/// PostgreSQL's own message if there is one; the library's message says only that there was an error.
fn postgres_message(error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(said) => said.to_string(),
        None => {
            let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
            format!(
                "{error}{}",
                cause.filter(|cause| !error.to_string().ends_with(cause.as_str())).unwrap_or_default()
            )
        }
    }
}

/// An error of the store, with its place.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Environment: the folder of the store cannot be created.
    #[error("cannot create the folder {} for the results", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// User: a store should be read, but does not exist.
    #[error("there are no stored results at {place}")]
    Missing {
        /// The place that was searched.
        place: StoreLocation,
    },
    /// Environment: the file or its folder cannot be written. SQLite also writes files beside the database.
    #[error("cannot open {place} for writing: the file and its folder must be writable")]
    Unwritable {
        /// The file.
        place: StoreLocation,
        /// The database's error.
        #[source]
        source: Box<DatabaseError>,
    },
    /// Environment: a store in a read-only folder could not be copied to a temporary folder, where it could be read.
    #[error("cannot read {place} in a read-only folder: copying it to a temporary folder failed")]
    Copy {
        /// The file.
        place: StoreLocation,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// Environment: the file is a symbolic link of another user, which may lead anywhere.
    #[error("cannot open {place}")]
    Link {
        /// The file.
        place: StoreLocation,
        /// The owner of the link, or the system's error.
        #[source]
        source: std::io::Error,
    },
    /// User: not a database, or a database of another program.
    #[error(
        "{place} is not a Paceline store ({found}) and was not changed; select another store with --store"
    )]
    NotAStore {
        /// The place.
        place: StoreLocation,
        /// What was found instead.
        found: String,
    },
    /// Environment: the file is a store and its bytes are damaged.
    #[error("{place} is damaged")]
    Damaged {
        /// The file.
        place: StoreLocation,
        /// The database's error.
        #[source]
        source: Box<DatabaseError>,
    },
    /// Environment: the file is a store whose structure is damaged.
    #[error("{place} is damaged: {found}")]
    Inconsistent {
        /// The file.
        place: StoreLocation,
        /// The first problem that the check found.
        found: String,
    },
    /// User: a newer Paceline wrote it.
    #[error(
        "{place} was written by a newer Paceline (store version {found}; this one supports up to {known})"
    )]
    Newer {
        /// The place.
        place: StoreLocation,
        /// The version found.
        found: i64,
        /// The newest version this Paceline knows.
        known: i64,
    },
    /// Environment: no space left; the record was not stored, earlier records are unchanged.
    #[error(
        "no space left on the disk of the results, {place}: this record was not stored; earlier records are unchanged"
    )]
    Full {
        /// The store.
        place: StoreLocation,
        /// The database's error.
        #[source]
        source: Box<DatabaseError>,
    },
    /// Environment: another process held the store for longer than the busy timeout.
    #[error("{place} has been locked by another process for {waited_s} s")]
    Busy {
        /// The store.
        place: StoreLocation,
        /// The time waited, in seconds.
        waited_s: u64,
        /// The database's error.
        #[source]
        source: Box<DatabaseError>,
    },
    /// Environment: the database server cannot be reached, or refuses the login.
    #[error("cannot connect to {place}")]
    Unreachable {
        /// The URL.
        place: StoreLocation,
        /// The database's error.
        #[source]
        source: Box<DatabaseError>,
    },
    /// Environment: the user of a database server may not do this, or the server is read-only.
    #[error("{place} refuses an operation to this user")]
    Denied {
        /// The URL.
        place: StoreLocation,
        /// The database's error.
        #[source]
        source: Box<DatabaseError>,
    },
    /// Any other database error.
    #[error("an operation on the store {place} failed")]
    Database {
        /// The store.
        place: StoreLocation,
        /// The database's error.
        #[source]
        source: Box<DatabaseError>,
    },
    /// Environment: another process is carrying out the round.
    #[error("round {round} is being run by another process")]
    LockedRound {
        /// The round.
        round: String,
    },
    /// User: the store has a round of this id, which is not to be replaced.
    #[error("the store already has round {round}")]
    AlreadyStored {
        /// The round.
        round: String,
    },
    /// User: another stored round has a trial of the same id, which is kept.
    #[error(
        "cannot store trial {trial} of round {round}: another round in the store has a trial with this id"
    )]
    TrialOfOtherRound {
        /// The trial.
        trial: String,
        /// The round that it should have been stored in.
        round: String,
    },
    /// Internal error: a trial was put before its round.
    #[error("trial {trial} was not stored: its round {round} is not in the store; this is a bug in Paceline")]
    UnknownRound {
        /// The trial.
        trial: String,
        /// The round it names.
        round: String,
    },
    /// Internal error: the record could not be read back, so it was not stored (for example, a number that is not
    /// finite).
    #[error("the {kind} {id} was not stored, because it could not be read back; this is a bug in Paceline")]
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
        /// The problem.
        #[source]
        source: RecordError,
    },
    /// Environment: a stored record differs from the one that was put.
    #[error("the stored {kind} {id} is damaged: {found}")]
    Altered {
        /// "round" or "trial".
        kind: &'static str,
        /// Its id, as far as it can be read.
        id: String,
        /// The difference found.
        found: String,
    },
    /// User: no id begins with the given prefix.
    #[error("no {kind} has an id that begins with {prefix:?}")]
    NotFound {
        /// "round" or "trial".
        kind: &'static str,
        /// The prefix.
        prefix: String,
    },
    /// User: several ids begin with the prefix.
    #[error("several {kind}s have an id that begins with {prefix:?}: {}", candidates.join(", "))]
    Ambiguous {
        /// "round" or "trial".
        kind: &'static str,
        /// The prefix.
        prefix: String,
        /// The ids, newest first, ten at most.
        candidates: Vec<String>,
    },
}

/// How long a process waits for another process's write. Writing a trial takes milliseconds; a laptop's disk under load
/// may take seconds.
pub(crate) const BUSY_TIMEOUT_S: u64 = 30;

/// The meaning of an error, the same for both databases.
enum DatabaseErrorKind {
    Locked,
    Unwritable,
    Damaged,
    Full,
    NotADatabase,
    Unreachable,
    Denied,
    UnknownReference,
    Other,
}

impl DatabaseErrorKind {
    fn from_error(error: &DatabaseError) -> Self {
        match error {
            DatabaseError::Sqlite(error) => Self::of_sqlite(error),
            DatabaseError::Postgres(error) => Self::of_postgres(error),
        }
    }

    /// From the result code (<https://www.sqlite.org/rescode.html>).
    fn of_sqlite(error: &rusqlite::Error) -> Self {
        use rusqlite::ffi;
        let Some(code) = error.sqlite_error().map(|error| error.extended_code) else { return Self::Other };
        match code {
            // The shared-memory file of the log could not be extended.
            ffi::SQLITE_IOERR_SHMSIZE => return Self::Full,
            ffi::SQLITE_CONSTRAINT_FOREIGNKEY => return Self::UnknownReference,
            _ => {}
        }
        match code & 0xff {
            ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => Self::Locked,
            ffi::SQLITE_PERM | ffi::SQLITE_READONLY | ffi::SQLITE_CANTOPEN | ffi::SQLITE_AUTH => {
                Self::Unwritable
            }
            ffi::SQLITE_CORRUPT | ffi::SQLITE_FORMAT => Self::Damaged,
            ffi::SQLITE_FULL => Self::Full,
            ffi::SQLITE_NOTADB => Self::NotADatabase,
            _ => Self::Other,
        }
    }

    fn of_postgres(error: &postgres::Error) -> Self {
        match error.code() {
            None => Self::Unreachable,
            Some(code) if *code == SqlState::LOCK_NOT_AVAILABLE => Self::Locked,
            Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => Self::Denied,
            Some(code) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => Self::Denied,
            Some(code) if *code == SqlState::FOREIGN_KEY_VIOLATION => Self::UnknownReference,
            Some(code) if *code == SqlState::DISK_FULL => Self::Full,
            Some(code) if ["XX001", "XX002"].contains(&code.code()) => Self::Damaged,
            // Class 08 is the connection, 28 the authorization, 3D a missing database, 57P a shutdown.
            Some(code) if ["08", "28", "3D", "57"].iter().any(|class| code.code().starts_with(class)) => {
                Self::Unreachable
            }
            Some(_) => Self::Other,
        }
    }
}

impl StoreError {
    /// The store error for a database error at this place.
    pub(crate) fn from_database(place: &StoreLocation, error: DatabaseError) -> Self {
        let (place, meaning) = (place.clone(), DatabaseErrorKind::from_error(&error));
        let source = Box::new(error);
        match meaning {
            DatabaseErrorKind::Locked => Self::Busy { place, waited_s: BUSY_TIMEOUT_S, source },
            DatabaseErrorKind::Unwritable => Self::Unwritable { place, source },
            DatabaseErrorKind::Damaged => Self::Damaged { place, source },
            DatabaseErrorKind::Full => Self::Full { place, source },
            DatabaseErrorKind::NotADatabase => {
                Self::NotAStore { place, found: "not a SQLite database".to_owned() }
            }
            DatabaseErrorKind::Unreachable => Self::Unreachable { place, source },
            DatabaseErrorKind::Denied => Self::Denied { place, source },
            DatabaseErrorKind::UnknownReference | DatabaseErrorKind::Other => {
                Self::Database { place, source }
            }
        }
    }

    /// Whether it concerns one record only, so that others are readable.
    pub fn is_of_one_record(&self) -> bool {
        matches!(self, Self::Record { .. } | Self::Altered { .. })
    }
}

/// Whether the only cause is another connection's lock.
pub(crate) fn is_locked(error: &DatabaseError) -> bool {
    matches!(DatabaseErrorKind::from_error(error), DatabaseErrorKind::Locked)
}

/// Whether the file or its folder cannot be written.
pub(crate) fn is_unwritable(error: &DatabaseError) -> bool {
    matches!(DatabaseErrorKind::from_error(error), DatabaseErrorKind::Unwritable)
}

/// Whether the connection to a server is lost.
pub(crate) fn is_unreachable(error: &DatabaseError) -> bool {
    matches!(DatabaseErrorKind::from_error(error), DatabaseErrorKind::Unreachable)
}

/// Whether the bytes of the file are damaged.
pub(crate) fn is_damage(error: &DatabaseError) -> bool {
    matches!(DatabaseErrorKind::from_error(error), DatabaseErrorKind::Damaged)
}

/// Whether a record refers to a missing one.
pub(crate) fn is_unknown_reference(error: &DatabaseError) -> bool {
    matches!(DatabaseErrorKind::from_error(error), DatabaseErrorKind::UnknownReference)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    fn error_of(code: i32) -> DatabaseError {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), None).into()
    }

    #[test]
    fn result_codes_of_a_full_disk_are_explained() {
        let place = StoreLocation::File("/data/results.sqlite".into());
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_SHMSIZE] {
            let error = StoreError::from_database(&place, error_of(code));
            assert!(matches!(error, StoreError::Full { .. }), "{code}: {error:?}");
            assert!(error.to_string().contains("/data/results.sqlite"), "{error}");
            let cause = std::error::Error::source(&error).unwrap();
            assert!(cause.to_string().contains("full") && cause.source().is_none(), "{code}: {cause}");
        }
        assert_eq!(ffi::SQLITE_IOERR_SHMSIZE, 4874);
    }

    #[test]
    fn every_result_code_has_a_description() {
        // The extended result codes of an I/O error, and all primary ones that are errors.
        for code in (1..=28).chain((1..=34).map(|kind| ffi::SQLITE_IOERR | kind << 8)) {
            let message = error_of(code).to_string();
            assert!(!message.starts_with("Error code"), "{code}: {message}");
            assert!(message.chars().any(char::is_alphabetic), "{code}: {message}");
        }
    }
}
