//! Code for PostgreSQL only: its URL, and the creation and upgrade of our tables under a lock.

use crate::database::DatabaseConnection;
use crate::error::{DatabaseError, StoreLocation};
use crate::postgres_connection::SCHEMA;
use crate::{StoreError, migrations};
use postgres::Config;
use std::time::Duration;

/// Timeout of connecting, unless the URL sets another.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The key of the advisory lock for creating and upgrading the tables: "PACELINE" as a number.
const MIGRATION_LOCK: i64 = 0x5041_4345_4c49_4e45;

/// Whether a path given by the user is the URL of a database.
pub fn is_url(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

/// Connects and, if `writes` is set, upgrades the tables to the newest version.
pub fn open(url: &str, place: &StoreLocation, writes: bool) -> Result<(DatabaseConnection, i64), StoreError> {
    let failed = |error: DatabaseError| StoreError::from_database(place, error);
    let mut config: Config = url.parse().map_err(|error: postgres::Error| failed(error.into()))?;
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    config.application_name("paceline");
    let mut database = DatabaseConnection::connect(config).map_err(failed)?;
    if writes {
        // The lock is released with the transaction.
        database.transaction(place, |database| {
            let lock = format!("SELECT pg_advisory_xact_lock({MIGRATION_LOCK})");
            database.batch(&lock).and_then(|()| create_schema(database)).map_err(failed)?;
            migrations::apply(database, place, &migrations::POSTGRES)
        })?;
    }
    let version = migrations::version(&mut database, place)?;
    if version == 0 {
        return Err(StoreError::Missing { place: place.clone() });
    }
    Ok((database, version))
}

/// Creates our schema unless it exists: `IF NOT EXISTS` needs the right to create one in any case.
fn create_schema(database: &mut DatabaseConnection) -> Result<(), DatabaseError> {
    let known =
        database.query("SELECT nspname::text FROM pg_namespace WHERE nspname = $1", &[SCHEMA.into()])?;
    if known.is_empty() { database.batch(&format!("CREATE SCHEMA {SCHEMA}")) } else { Ok(()) }
}

/// The URL without its password, for messages.
pub fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let shown = match authority.rsplit_once('@') {
        Some((user, host)) => format!("{}@{host}", user.split(':').next().unwrap_or_default()),
        None => authority.to_owned(),
    };
    // The parameters may contain a password too.
    let path = path.split('?').next().unwrap_or_default();
    format!("{scheme}://{shown}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        for (url, shown) in [
            ("postgres://me:secret@db.test:5433/results?password=x", "postgres://me@db.test:5433/results"),
            ("postgresql://db.test/results", "postgresql://db.test/results"),
            ("postgres://me@h", "postgres://me@h"),
        ] {
            assert_eq!(without_password(url), shown);
        }
        assert!(is_url("postgres://h/d") && !is_url("results.sqlite"));
    }
}
