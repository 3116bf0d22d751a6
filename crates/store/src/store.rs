//! The store: opened once, used from any thread.
//!
//! `paceline round` opens it for writing and creates the file if missing; all other commands open an existing one for
//! reading. Rounds and trials are in `rounds.rs` and `trials.rs`.

use crate::database::DatabaseConnection;
use crate::error::{DatabaseError, StoreLocation};
use crate::{StoreError, migrations, postgres, sqlite};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a reader waits for an empty file to become a store. Between creating the file and its tables, another
/// process writes to the disk a few times, which takes milliseconds.
const MAX_CREATION: Duration = Duration::from_secs(3);
/// An empty file that was not changed for longer is not being created: a reader does not wait for it.
const MAX_NEW: Duration = Duration::from_secs(10);

/// Stored rounds and trials. Several processes may have the same store open: each waits until the other's write ends.
pub struct Store {
    database: Mutex<DatabaseConnection>,
    place: StoreLocation,
    /// The version of its tables: an older store that is opened for reading has no checksums.
    version: i64,
    /// The folder with the copy that is read, if the store itself cannot be.
    _copy: Option<tempfile::TempDir>,
}

/// The result of opening a file for reading once.
enum OpenResult {
    Store(Store),
    /// Nothing is in it, yet: what it is instead of a store.
    Empty(&'static str),
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store for writing: a file, created with its folders if missing, or the URL of a PostgreSQL database.
    ///
    /// # Errors
    /// [`StoreError`] when the folder cannot be created, or when the file cannot be written, is not a store, is
    /// damaged, or was written by a newer Paceline. A file that is not a store is not changed.
    pub fn open(place: &Path) -> Result<Self, StoreError> {
        if let Some(url) = url_of(place) {
            return Self::open_url(url, true);
        }
        let path = absolute(place)?;
        let place = StoreLocation::File(path.clone());
        check_file(&path)?;
        let database = sqlite::open(&path, &place)?;
        Ok(Self { database: Mutex::new(database), place, version: migrations::NEWEST, _copy: None })
    }

    /// Opens an existing store for reading only: a file that this user may read, even if its folder is read-only, or
    /// the URL of a PostgreSQL database. A store that another process is creating is waited for.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is none, [`StoreError::NotAStore`] when it is not a store; others when it is
    /// damaged or cannot be read.
    pub fn open_existing(place: &Path) -> Result<Self, StoreError> {
        if let Some(url) = url_of(place) {
            return Self::open_url(url, false);
        }
        check_file(place)?;
        let path = place.canonicalize().unwrap_or_else(|_| place.to_owned());
        let not_a_store = |found: &str| {
            Err(StoreError::NotAStore {
                place: StoreLocation::File(place.to_owned()),
                found: found.to_owned(),
            })
        };
        if std::fs::metadata(&path).is_err() {
            return Err(StoreError::Missing { place: StoreLocation::File(place.to_owned()) });
        }
        let begun = Instant::now();
        loop {
            let empty = match Self::open_file(&path)? {
                OpenResult::Store(store) => return Ok(store),
                OpenResult::Empty(what) => what,
            };
            if begun.elapsed() > MAX_CREATION || !is_new(&path) {
                return not_a_store(empty);
            }
            std::thread::sleep(sqlite::BETWEEN_ATTEMPTS);
        }
    }

    /// Opens a regular file for reading.
    fn open_file(path: &Path) -> Result<OpenResult, StoreError> {
        let place = StoreLocation::File(path.to_owned());
        match std::fs::metadata(path) {
            Err(_) => return Err(StoreError::Missing { place }),
            Ok(found) if found.len() == 0 => return Ok(OpenResult::Empty("an empty file")),
            Ok(_) => {}
        }
        Ok(match sqlite::open_read_only(path, &place)? {
            (.., 0) => OpenResult::Empty("an empty database"),
            (database, copy, version) => {
                OpenResult::Store(Self { database: Mutex::new(database), place, version, _copy: copy })
            }
        })
    }

    fn open_url(url: &str, writes: bool) -> Result<Self, StoreError> {
        let place = StoreLocation::Url(postgres::without_password(url));
        let (database, version) = postgres::open(url, &place, writes)?;
        Ok(Self { database: Mutex::new(database), place, version, _copy: None })
    }

    /// The place of the results, for messages: an absolute path, or a URL without its password.
    pub fn path(&self) -> &Path {
        self.place.path()
    }

    /// The file with the results; `None` for a database server.
    pub fn file(&self) -> Option<&Path> {
        match &self.place {
            StoreLocation::File(path) => Some(path),
            StoreLocation::Url(_) => None,
        }
    }

    /// Locks a round in a database server, as long as this store is open. For a file, the caller locks a file beside
    /// it.
    ///
    /// # Errors
    /// [`StoreError::LockedRound`] when another process holds the lock.
    pub fn lock_round(&self, id: &str) -> Result<(), StoreError> {
        let is_taken = match &mut *self.database() {
            DatabaseConnection::Sqlite(_) => Ok(true),
            DatabaseConnection::Postgres(connection, _) => connection.lock(id).map_err(DatabaseError::from),
        };
        match is_taken.map_err(|error| self.failed(error))? {
            true => Ok(()),
            false => Err(StoreError::LockedRound { round: id.to_owned() }),
        }
    }

    /// Tells `notice` what this store waits for: a lost connection to a database server is opened again for a minute.
    pub fn notify_of_waits(&self, notice: fn(&str)) {
        if let DatabaseConnection::Postgres(connection, _) = &mut *self.database() {
            connection.notify(notice);
        }
    }

    /// Limits the size of a file, in pages of 4 KiB, to simulate a full disk in tests.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub fn limit_pages(&self, pages: u32) -> Result<(), StoreError> {
        let limit = format!("PRAGMA max_page_count = {pages}");
        self.database().query(&limit, &[]).map(drop).map_err(|error| self.failed(error))
    }

    pub(crate) fn database(&self) -> MutexGuard<'_, DatabaseConnection> {
        // After a panic elsewhere the connection is still usable: transactions end with the call that began them.
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn place(&self) -> &StoreLocation {
        &self.place
    }

    /// The SQL expression for the checksum in a query of this store.
    pub(crate) fn checksum_column(&self) -> &'static str {
        if self.version >= 2 { "checksum" } else { "NULL" }
    }

    /// The store error for a database error of this store.
    pub(crate) fn failed(&self, error: DatabaseError) -> StoreError {
        StoreError::from_database(&self.place, error)
    }
}

/// The checksum of a record: CRC-32 of its lookup key and its text. It detects every single flipped bit, and misses
/// other damage with a probability of one in 4 billion.
pub(crate) fn checksum(key: &str, text: &str) -> i64 {
    let mut crc = flate2::Crc::new();
    crc.update(key.as_bytes());
    crc.update(b"\n");
    crc.update(text.as_bytes());
    crc.sum().into()
}

/// Whether a file was changed a short time ago.
fn is_new(path: &Path) -> bool {
    let changed = std::fs::metadata(path).and_then(|file| file.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age <= MAX_NEW))
}

/// Refuses a path that another user may have placed (a link), and one that is not a regular file. A missing one is
/// valid.
fn check_file(path: &Path) -> Result<(), StoreError> {
    let place = || StoreLocation::File(path.to_owned());
    paceline_files::check_link(path).map_err(|source| StoreError::Link { place: place(), source })?;
    match paceline_files::check_regular(path) {
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
            Err(StoreError::NotAStore { place: place(), found: error.to_string() })
        }
        // Opening it reports any other problem.
        _ => Ok(()),
    }
}

/// The place as a URL, if it is one.
fn url_of(place: &Path) -> Option<&str> {
    place.to_str().filter(|text| postgres::is_url(text))
}

/// Creates the folder of `path` and returns the absolute path.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let failed = |source| StoreError::Folder { path: folder.to_owned(), source };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let folder = folder.canonicalize().map_err(failed)?;
    match path.file_name() {
        Some(name) if !path.is_dir() => Ok(folder.join(name)),
        _ => Err(StoreError::NotAStore {
            place: StoreLocation::File(path.to_owned()),
            found: "a folder".to_owned(),
        }),
    }
}
