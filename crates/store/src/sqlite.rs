//! Code for SQLite only: opening a file for writing or for reading, and checking it.

use crate::database::DatabaseConnection;
use crate::error::{BUSY_TIMEOUT_S, DatabaseError, StoreLocation, is_locked, is_unwritable};
use crate::{StoreError, migrations};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Pause between attempts to get a lock that SQLite itself does not wait for: a write takes milliseconds.
pub const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(10);
/// Files up to this size are checked whole when they are opened, which takes about 0.1 s. `paceline store check` checks
/// larger ones.
const MAX_CHECKED_BYTES: u64 = 64 << 20;

/// Opens the file at `path`, creating it if missing, and upgrades it to the newest version.
///
/// # Errors
/// [`StoreError`] if the file is not a store, or cannot be written.
pub fn open(path: &Path, place: &StoreLocation) -> Result<DatabaseConnection, StoreError> {
    let failed = |error: rusqlite::Error| StoreError::from_database(place, error.into());
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    distrust(&connection).map_err(failed)?;
    let mut database = DatabaseConnection::Sqlite(connection);
    migrations::version(&mut database, place)?;
    check_file(&mut database, path, place)?;
    use_write_ahead_log(&mut database).map_err(|error| StoreError::from_database(place, error))?;
    // With FULL a commit survives a power failure.
    database
        .batch("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL")
        .map_err(|error| StoreError::from_database(place, error))?;
    database.transaction(place, |database| migrations::apply(database, place, &migrations::SQLITE))?;
    Ok(database)
}

/// Opens the file at `path` for reading only, even if this user may write it. The version is 0 for an empty database.
///
/// # Errors
/// [`StoreError`] if the file is not a store, or cannot be read.
pub fn open_read_only(
    path: &Path,
    place: &StoreLocation,
) -> Result<(DatabaseConnection, Option<tempfile::TempDir>, i64), StoreError> {
    let opened = open_as_it_is(path).map(|database| (database, None));
    let (mut database, copy) = match opened {
        Err(error) if is_unwritable(&error) => open_without_writing(path, place)?,
        opened => opened.map_err(|error| StoreError::from_database(place, error))?,
    };
    let version = migrations::version(&mut database, place)?;
    check_file(&mut database, path, place)?;
    Ok((database, copy, version))
}

/// The usual way to open a store: SQLite may need to create the shared memory of the write-ahead log beside the file.
fn open_as_it_is(path: &Path) -> Result<DatabaseConnection, DatabaseError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    distrust(&connection)?;
    // The first read needs the shared memory.
    let mut database = DatabaseConnection::Sqlite(connection);
    database.query("SELECT name FROM sqlite_master", &[])?;
    Ok(database)
}

/// Opens a file in a folder that may not be written. Without a write-ahead log the file is opened as immutable. With a
/// log, which may contain the newest trials, both are copied to a folder where the log's shared memory can be created.
fn open_without_writing(
    path: &Path,
    place: &StoreLocation,
) -> Result<(DatabaseConnection, Option<tempfile::TempDir>), StoreError> {
    let log = beside(path, "-wal");
    if std::fs::metadata(&log).map_or(0, |log| log.len()) == 0 {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(immutable_url(path), flags)
            .and_then(|connection| distrust(&connection).map(|()| connection))
            .map_err(|error| StoreError::from_database(place, error.into()))?;
        return Ok((DatabaseConnection::Sqlite(connection), None));
    }
    let failed = |source| StoreError::Copy { place: place.clone(), source };
    let folder = tempfile::tempdir().map_err(failed)?;
    let copy = folder.path().join("results.sqlite");
    std::fs::copy(path, &copy).and_then(|_| std::fs::copy(&log, beside(&copy, "-wal"))).map_err(failed)?;
    let database = open_as_it_is(&copy).map_err(|error| StoreError::from_database(place, error))?;
    Ok((database, Some(folder)))
}

/// The path of a file that SQLite keeps beside its database.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The URL that declares a file as immutable. Every byte with a meaning in URLs is escaped.
fn immutable_url(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let escape = |byte: &u8| match byte {
        b'/' | b'-' | b'_' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => char::from(*byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    let escaped: String = path.as_os_str().as_bytes().iter().map(escape).collect();
    format!("file:{escaped}?immutable=1")
}

/// A store may come from another person: code in its schema is not run, and its pages are checked as they are read.
fn distrust(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.busy_timeout(Duration::from_secs(BUSY_TIMEOUT_S))?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.execute_batch("PRAGMA cell_size_check = ON")
}

/// Checks the structure of a file, unless it is too large. The content of records is covered by their checksums.
fn check_file(
    database: &mut DatabaseConnection,
    path: &Path,
    place: &StoreLocation,
) -> Result<(), StoreError> {
    if std::fs::metadata(path).map_or(0, |file| file.len()) > MAX_CHECKED_BYTES {
        return Ok(());
    }
    match integrity_problems(database, place)?.into_iter().next() {
        None => Ok(()),
        Some(found) => Err(StoreError::Inconsistent { place: place.clone(), found }),
    }
}

/// The problems that SQLite finds in the structure of the file, one per line, up to a limit.
pub fn integrity_problems(
    database: &mut DatabaseConnection,
    place: &StoreLocation,
) -> Result<Vec<String>, StoreError> {
    let rows = database
        .query("PRAGMA integrity_check(20)", &[])
        .map_err(|error| StoreError::from_database(place, error))?;
    let lines = rows.into_iter().map(|mut row| row.text(0).trim().to_owned());
    Ok(lines.filter(|line| line != "ok").collect())
}

/// Switches to the write-ahead log, so that a report can be read while a round writes. The switch reads the file and
/// then needs an exclusive lock. SQLite refuses that at once while another process is about to write, without waiting
/// for the busy timeout (<https://www.sqlite.org/c3ref/busy_handler.html>), so this function waits.
fn use_write_ahead_log(database: &mut DatabaseConnection) -> Result<(), DatabaseError> {
    let begun = Instant::now();
    loop {
        match database.query("PRAGMA journal_mode = WAL", &[]) {
            Err(error) if is_locked(&error) && begun.elapsed().as_secs() < BUSY_TIMEOUT_S => {
                std::thread::sleep(BETWEEN_ATTEMPTS);
            }
            switched => return switched.map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_escaped() {
        let url = immutable_url(Path::new("/tmp/100 % of?#é/x.sqlite"));
        assert_eq!(url, "file:/tmp/100%20%25%20of%3F%23%C3%A9/x.sqlite?immutable=1");
    }
}
