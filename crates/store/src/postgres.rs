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

/// The URL without its password, for messages. The library takes everything before the first `@` for the user and the
/// password, so that a password may contain `/` and `?`.
pub fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    // The parameters may contain a password too.
    let without_parameters = |text: &str| text.split('?').next().unwrap_or_default().to_owned();
    let first = rest.split([':', '?', '@']).next().unwrap_or_default();
    let shown = match rest.split_once('@') {
        None => without_parameters(rest),
        // The `@` may be in the password of a parameter: what follows it may belong to that.
        Some((login, _)) if login.contains('?') => first.to_owned(),
        Some((_, place)) => {
            let place = without_parameters(place);
            format!("{first}@{}", place.rsplit('@').next().unwrap_or_default())
        }
    };
    format!("{scheme}://{shown}")
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
            ("postgres://me:se/cr@h:5433/d", "postgres://me@h:5433/d"),
            ("postgres://me:se?cr@h/d", "postgres://me"),
            ("postgres://me:s@cr@h/d", "postgres://me@h/d"),
            ("postgres://h/d?user=me&password=s@cr", "postgres://h/d"),
            ("postgres://h:5433/d?password=s@cr", "postgres://h"),
        ] {
            assert_eq!(without_password(url), shown);
        }
        assert!(is_url("postgres://h/d") && !is_url("results.sqlite"));
    }
}
