//! The schema versions of the store: statements that are applied in order when a store is opened for writing.
//!
//! A version is never edited after a release, and cannot be reverted. Stores of version 1 were created with a library
//! that recorded versions in a separate table; that table is still read, and the upgrade is recorded there too, so that
//! the older Paceline reports that it does not know the version.

use crate::StoreError;
use crate::database::DatabaseConnection;
use crate::error::{DatabaseError, StoreLocation};
use crate::postgres_connection::SCHEMA;

/// The number of a version and its statements.
type Migration = (i64, &'static str);

/// The versions of a SQLite file.
pub const SQLITE: [Migration; 2] = [
    (1, include_str!("../migrations/sqlite/0001_rounds_trials_histograms.sql")),
    (2, include_str!("../migrations/sqlite/0002_checksums.sql")),
];
/// The versions of a PostgreSQL database, which was first supported at version 2.
pub const POSTGRES: [Migration; 1] =
    [(2, include_str!("../migrations/postgres/0002_rounds_trials_histograms.sql"))];
/// The newest version.
pub const NEWEST: i64 = 2;
/// The table of versions since version 2.
const TABLE: &str = "versions";
/// The table of versions in version 1.
const FIRST_TABLE: &str = "_sqlx_migrations";

/// The version of a store; 0 for an empty database.
///
/// # Errors
/// [`StoreError::NotAStore`] when another program created its tables, [`StoreError::Newer`] when a newer Paceline did.
pub fn version(database: &mut DatabaseConnection, place: &StoreLocation) -> Result<i64, StoreError> {
    let failed = |error: DatabaseError| StoreError::from_database(place, error);
    let list = match database {
        DatabaseConnection::Sqlite(_) => "SELECT name FROM sqlite_master WHERE type = 'table'",
        DatabaseConnection::Postgres(..) => {
            // The tables also if this user has no rights to them.
            "SELECT relname::text FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
             WHERE nspname = 'paceline' AND relkind = 'r'"
        }
    };
    let rows = database.query(list, &[]).map_err(failed)?;
    let tables: Vec<String> = rows.into_iter().map(|mut row| row.text(0)).collect();
    let table = match [TABLE, FIRST_TABLE].into_iter().find(|table| tables.iter().any(|name| name == table)) {
        Some(table) => table,
        None if tables.is_empty() => return Ok(0),
        None => {
            let found = format!("a database with other tables: {}", tables.join(", "));
            return Err(StoreError::NotAStore { place: place.clone(), found });
        }
    };
    let schema = match database {
        DatabaseConnection::Sqlite(_) => String::new(),
        DatabaseConnection::Postgres(..) => format!("{SCHEMA}."),
    };
    let newest = database.query(&format!("SELECT MAX(version) FROM {schema}{table}"), &[]).map_err(failed)?;
    match newest.first().and_then(|row| row.integer(0)) {
        Some(found) if found > NEWEST => {
            Err(StoreError::Newer { place: place.clone(), found, known: NEWEST })
        }
        Some(found) => Ok(found),
        None => Err(StoreError::NotAStore {
            place: place.clone(),
            found: format!("the table {table} has no version"),
        }),
    }
}

/// Upgrades a store to the newest version. The caller holds a lock: when two processes open a new store at once, one
/// creates the tables and the other finds them complete.
///
/// # Errors
/// As [`version`], and when it cannot be written.
pub fn apply(
    database: &mut DatabaseConnection,
    place: &StoreLocation,
    versions: &[Migration],
) -> Result<(), StoreError> {
    let found = version(database, place)?;
    for (number, statements) in versions.iter().filter(|(number, _)| *number > found) {
        let mut step = database.batch(statements);
        if *number >= 2 {
            let note = format!("INSERT INTO {TABLE} (version) VALUES ($1)");
            step = step.and_then(|()| database.execute(&note, &[(*number).into()]).map(drop));
        }
        if found == 1 {
            let note = format!(
                "INSERT INTO {FIRST_TABLE} (version, description, success, checksum, execution_time)
                 VALUES ($1, 'see table {TABLE}', 1, x'00', 0)"
            );
            step = step.and_then(|()| database.execute(&note, &[(*number).into()]).map(drop));
        }
        step.map_err(|error| StoreError::from_database(place, error))?;
    }
    Ok(())
}
