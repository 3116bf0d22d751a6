//! A connection to a PostgreSQL server that survives its loss: it is opened again for a bounded time, with the locks
//! that it held.
//!
//! A round takes hours, in which a server is restarted or closes idle connections. `database.rs` decides what is
//! repeated on the new connection.

use postgres::NoTls;
use std::time::{Duration, Instant};

/// The schema of our tables in PostgreSQL, so that a database can be shared with others.
pub const SCHEMA: &str = "paceline";
/// How long a lost connection is opened again: longer than a restart of a server takes, and the time until it notices
/// that the old connection is gone, which holds our locks.
const RECONNECT_LIMIT: Duration = Duration::from_secs(60);
/// Pause between attempts.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(500);
/// Takes the lock of a round for this session: 1 if it is free, else 0.
const TAKE_LOCK: &str = "SELECT CAST(pg_try_advisory_lock(hashtextextended($1, 0))::int AS BIGINT)";

/// An open connection whose search path is our schema, and what is needed to open it again.
pub struct PostgresConnection {
    client: postgres::Client,
    config: postgres::Config,
    /// The locks that the session holds.
    locks: Vec<String>,
    /// Is told what is waited for, for the user.
    notice: fn(&str),
}

impl PostgresConnection {
    /// Connects once.
    pub fn open(config: postgres::Config) -> Result<Self, postgres::Error> {
        Ok(Self { client: connect(&config)?, config, locks: Vec::new(), notice: |_| {} })
    }

    /// The client, for statements.
    pub fn client(&mut self) -> &mut postgres::Client {
        &mut self.client
    }

    /// Sets who is told about a wait.
    pub fn notify(&mut self, notice: fn(&str)) {
        self.notice = notice;
    }

    /// Whether the connection is known to be closed.
    pub fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Takes a lock, which the session holds until it ends; false if another session holds it.
    pub fn lock(&mut self, name: &str) -> Result<bool, postgres::Error> {
        let is_taken = take(&mut self.client, name)?;
        if is_taken && !self.locks.iter().any(|lock| lock == name) {
            self.locks.push(name.to_owned());
        }
        Ok(is_taken)
    }

    /// Opens a lost connection again and takes its locks again. An error that waiting does not remove, such as a wrong
    /// password, is returned at once.
    pub fn reconnect(&mut self) -> Result<(), postgres::Error> {
        let begun = Instant::now();
        let mut has_told = false;
        loop {
            let problem = match connect(&self.config) {
                Ok(mut client) => match self.retake(&mut client)? {
                    None => {
                        self.client = client;
                        return Ok(());
                    }
                    Some(lock) => format!("the server still has the lock of the old connection on {lock}"),
                },
                Err(error) if !is_temporary(&error) || begun.elapsed() >= RECONNECT_LIMIT => {
                    return Err(error);
                }
                Err(error) => error.to_string(),
            };
            if begun.elapsed() >= RECONNECT_LIMIT {
                // Another process has the lock: the old connection is the one to report.
                return self.client.simple_query("").map(drop);
            }
            if !std::mem::replace(&mut has_told, true) {
                let limit = RECONNECT_LIMIT.as_secs();
                (self.notice)(&format!(
                    "the connection to the results database was lost; connecting again for up to {limit} s ({problem})"
                ));
            }
            std::thread::sleep(BETWEEN_ATTEMPTS);
        }
    }

    /// Takes the locks for a new session; returns the first that it cannot have.
    fn retake(&self, client: &mut postgres::Client) -> Result<Option<String>, postgres::Error> {
        for lock in &self.locks {
            if !take(client, lock)? {
                return Ok(Some(lock.clone()));
            }
        }
        Ok(None)
    }
}

fn connect(config: &postgres::Config) -> Result<postgres::Client, postgres::Error> {
    let mut client = config.connect(NoTls)?;
    client.batch_execute(&format!("SET search_path TO {SCHEMA}"))?;
    Ok(client)
}

fn take(client: &mut postgres::Client, lock: &str) -> Result<bool, postgres::Error> {
    Ok(client.query_one(TAKE_LOCK, &[&lock])?.try_get::<_, i64>(0)? == 1)
}

/// Whether an attempt to connect may succeed later: the server is not there, starts or stops (class 57), or has no
/// connection left (class 53).
fn is_temporary(error: &postgres::Error) -> bool {
    let temporary = ["08", "57", "53"];
    error.code().is_none_or(|code| temporary.iter().any(|class| code.code().starts_with(class)))
}
