//! What is SQLite's alone: how a file is opened, and how it is made to keep what it was given.
//!
//! Called by [`crate::Store`] when it opens. Everything after that is the shared dialect.

use crate::error::{BUSY_TIMEOUT_S, is_locked};
use crate::{StoreError, migrations};
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{AnyConnection, AnyPool, AssertSqlSafe, Connection as _, Executor as _};
use std::path::Path;
use std::time::{Duration, Instant};

/// Between two tries to get what SQLite does not wait for: another's write takes milliseconds.
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// Opens the file at `path` (absolute, its folder exists), creating it where there is none, and brings it to the
/// newest version.
///
/// # Errors
/// [`StoreError`] saying what the file is instead, or why it cannot be written.
pub async fn open(path: &Path) -> Result<AnyPool, StoreError> {
    sqlx::any::install_default_drivers();
    let failed = |error| StoreError::of(path, error);
    let options: AnyConnectOptions = url_of(path)?.parse().map_err(failed)?;
    // The first connection stands alone: a pool would try what can never succeed again and again.
    let mut connection = AnyConnection::connect_with(&options).await.map_err(failed)?;
    connection.execute(AssertSqlSafe(busy_timeout())).await.map_err(failed)?;
    refuse_foreign(&mut connection, path).await?;
    prepare(&mut connection, path).await?;
    connection.close().await.map_err(failed)?;
    // One connection: the store is called from one thread, and SQLite has one writer anyway.
    AnyPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(Duration::from_secs(BUSY_TIMEOUT_S + 5))
        .after_connect(|connection, _| Box::pin(settle(connection)))
        .connect_with(options)
        .await
        .map_err(failed)
}

/// FULL makes a commit survive the loss of power; the timeout makes a second writer wait.
async fn settle(connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
    for pragma in [busy_timeout().as_str(), "PRAGMA foreign_keys = ON", "PRAGMA synchronous = FULL"] {
        connection.execute(AssertSqlSafe(pragma.to_owned())).await?;
    }
    Ok(())
}

fn busy_timeout() -> String {
    format!("PRAGMA busy_timeout = {}", BUSY_TIMEOUT_S * 1000)
}

/// A database that somebody else made has tables, and none of ours: it is not ours to add to.
async fn refuse_foreign(connection: &mut AnyConnection, path: &Path) -> Result<(), StoreError> {
    let tables: Vec<String> = sqlx::query_scalar("SELECT name FROM sqlite_master WHERE type = 'table'")
        .fetch_all(&mut *connection)
        .await
        .map_err(|error| StoreError::of(path, error))?;
    if tables.is_empty() || tables.iter().any(|name| name == "_sqlx_migrations") {
        return Ok(());
    }
    let found = format!("a SQLite database with other tables: {}", tables.join(", "));
    Err(StoreError::NotAStore { path: path.to_owned(), found })
}

/// Switches to the write-ahead log, which lets a report read while a round writes, and applies the versions under the
/// write lock, so that of two processes one builds and the other finds it built.
async fn prepare(connection: &mut AnyConnection, path: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::of(path, error);
    use_write_ahead_log(connection).await.map_err(failed)?;
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(failed)?;
    migrations::apply(&mut transaction, path).await?;
    transaction.commit().await.map_err(failed)
}

/// The switch reads the file and then wants it alone. A reader that wants more is refused at once where another is about
/// to write, whatever the busy timeout (<https://www.sqlite.org/c3ref/busy_handler.html>): it is waited for here.
async fn use_write_ahead_log(connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
    let begun = Instant::now();
    loop {
        match connection.execute("PRAGMA journal_mode = WAL").await {
            Err(error) if is_locked(&error) && begun.elapsed().as_secs() < BUSY_TIMEOUT_S => {
                tokio::time::sleep(BETWEEN_TRIES).await;
            }
            switched => return switched.map(drop),
        }
    }
}

/// The URL of a file: every byte that could mean something in a URL is escaped.
fn url_of(path: &Path) -> Result<String, StoreError> {
    let text = path.to_str().ok_or_else(|| StoreError::PathNotText { path: path.to_owned() })?;
    let escape = |byte: u8| match byte {
        b'/' | b'-' | b'_' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    let escaped: String = text.bytes().map(escape).collect();
    Ok(format!("sqlite://{escaped}?mode=rwc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_escaped() {
        let url = url_of(Path::new("/tmp/100 % of?#é/x.sqlite")).unwrap();
        assert_eq!(url, "sqlite:///tmp/100%20%25%20of%3F%23%C3%A9/x.sqlite?mode=rwc");
    }
}
