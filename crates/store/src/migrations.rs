//! The store's versions: each a file under `migrations/`, applied in order when a store is opened.
//!
//! Called by `sqlite.rs`, under its lock. A version is never edited after a release; `sqlx` notes which were applied,
//! and refuses a store that has more. There is no way back to an older one.

use crate::StoreError;
use sqlx::AnyConnection;
use sqlx::SqlSafeStr as _;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use std::path::Path;

/// Number, name and statements of each version for SQLite.
const SQLITE: [(i64, &str, &str); 1] = [(
    1,
    "rounds, trials, histograms",
    include_str!("../migrations/sqlite/0001_rounds_trials_histograms.sql"),
)];

/// Brings the store behind `connection` to the newest version. The caller holds the lock of a transaction, so that two
/// processes that open a new store at once do not both build it.
///
/// # Errors
/// [`StoreError::Newer`] when the store has versions that this Paceline does not know.
pub async fn apply(connection: &mut AnyConnection, path: &Path) -> Result<(), StoreError> {
    let versions = SQLITE.iter().map(|(version, name, sql)| {
        Migration::new(*version, (*name).into(), MigrationType::Simple, (*sql).into_sql_str(), false)
    });
    let migrator = Migrator::with_migrations(versions.collect());
    migrator.run_direct(None, connection, false).await.map_err(|error| explain(path, error))
}

fn explain(path: &Path, error: MigrateError) -> StoreError {
    let known = SQLITE.last().map_or(0, |(version, ..)| *version);
    match error {
        MigrateError::VersionMissing(found) => StoreError::Newer { path: path.to_owned(), found, known },
        MigrateError::VersionMismatch(found) => StoreError::NotAStore {
            path: path.to_owned(),
            found: format!("its version {found} is not the released one"),
        },
        MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _) => {
            StoreError::of(path, source)
        }
        other => StoreError::of(path, sqlx::Error::Migrate(Box::new(other))),
    }
}
