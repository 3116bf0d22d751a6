//! A connection to either database: executes statements in the shared dialect, and reads rows even if they are damaged.

use crate::StoreError;
use crate::error::{DatabaseError, StoreLocation};
use postgres::NoTls;
use postgres::types::ToSql;
use rusqlite::types::ValueRef;

/// The schema of our tables in PostgreSQL, so that a database can be shared with others.
pub const SCHEMA: &str = "paceline";

/// An open connection.
pub enum DatabaseConnection {
    /// A file.
    Sqlite(rusqlite::Connection),
    /// A connection to a server, and the configuration to connect again.
    Postgres(Box<postgres::Client>, Box<postgres::Config>),
}

/// A parameter of a statement.
#[derive(Clone, Copy, Debug)]
pub enum Parameter<'a> {
    Text(&'a str),
    Integer(i64),
    Null,
}

impl<'a> From<&'a str> for Parameter<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Parameter<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl<'a> From<Option<&'a str>> for Parameter<'a> {
    fn from(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, Self::Text)
    }
}

/// A column of a row. In a damaged file a column may have any type; the caller interprets it.
#[derive(Clone, Debug, PartialEq)]
enum SqlValue {
    Text(String),
    Integer(i64),
    Null,
}

/// One row of a result.
#[derive(Clone, Debug)]
pub struct SqlRow(Vec<SqlValue>);

impl SqlRow {
    /// A column as text: bytes that are not UTF-8 are replaced, so that a damaged row can be reported and skipped.
    pub fn text(&mut self, column: usize) -> String {
        match self.0.get_mut(column).map(|cell| std::mem::replace(cell, SqlValue::Null)) {
            Some(SqlValue::Text(text)) => text,
            Some(SqlValue::Integer(number)) => number.to_string(),
            Some(SqlValue::Null) | None => String::new(),
        }
    }

    /// A column as a number; `None` if it is not a number.
    pub fn integer(&self, column: usize) -> Option<i64> {
        match self.0.get(column) {
            Some(SqlValue::Integer(number)) => Some(*number),
            _ => None,
        }
    }
}

impl DatabaseConnection {
    /// Connects to a PostgreSQL server.
    pub fn connect(config: postgres::Config) -> Result<Self, DatabaseError> {
        let client = postgres_client(&config)?;
        Ok(Self::Postgres(Box::new(client), Box::new(config)))
    }

    /// Runs a statement that returns no rows; returns the number of rows that it changed.
    pub fn execute(&mut self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64, DatabaseError> {
        match self {
            Self::Sqlite(connection) => {
                let mut statement = connection.prepare(sql)?;
                let changed =
                    statement.execute(rusqlite::params_from_iter(parameters.iter().map(sqlite_value)))?;
                Ok(changed as u64)
            }
            Self::Postgres(client, _) => {
                let values: Vec<_> = parameters.iter().map(postgres_value).collect();
                Ok(client.execute(sql, &references(&values))?)
            }
        }
    }

    /// Runs a query.
    pub fn query(&mut self, sql: &str, parameters: &[Parameter<'_>]) -> Result<Vec<SqlRow>, DatabaseError> {
        self.reconnect_if_closed()?;
        match self {
            Self::Sqlite(connection) => {
                let mut statement = connection.prepare(sql)?;
                let columns = statement.column_count();
                let mut rows =
                    statement.query(rusqlite::params_from_iter(parameters.iter().map(sqlite_value)))?;
                let mut read = Vec::new();
                while let Some(row) = rows.next()? {
                    let cells = (0..columns).map(|column| Ok(sqlite_cell(row.get_ref(column)?)));
                    read.push(SqlRow(cells.collect::<Result<_, DatabaseError>>()?));
                }
                Ok(read)
            }
            Self::Postgres(client, _) => {
                let values: Vec<_> = parameters.iter().map(postgres_value).collect();
                let rows = client.query(sql, &references(&values))?;
                rows.iter().map(postgres_row).collect()
            }
        }
    }

    /// Runs statements without parameters.
    pub fn batch(&mut self, sql: &str) -> Result<(), DatabaseError> {
        match self {
            Self::Sqlite(connection) => connection.execute_batch(sql)?,
            Self::Postgres(client, _) => client.batch_execute(sql)?,
        }
        Ok(())
    }

    /// Runs `work` in one transaction: committed when it succeeds, rolled back when it fails. SQLite's write lock is
    /// taken at the beginning, so that the wait for it happens before the first read.
    pub fn transaction<T>(
        &mut self,
        place: &StoreLocation,
        work: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let failed = |error| StoreError::of(place, error);
        self.reconnect_if_closed().map_err(failed)?;
        let begin = match self {
            Self::Sqlite(_) => "BEGIN IMMEDIATE",
            Self::Postgres(..) => "BEGIN",
        };
        self.batch(begin).map_err(failed)?;
        let done = work(self).and_then(|value| self.batch("COMMIT").map(|()| value).map_err(failed));
        if done.is_err() {
            // Some errors have already ended the transaction; the first error is the one reported.
            let _ = self.batch("ROLLBACK");
        }
        done
    }

    /// Connects again if the connection was closed: a round takes hours, and servers close idle connections.
    fn reconnect_if_closed(&mut self) -> Result<(), DatabaseError> {
        if let Self::Postgres(client, config) = self
            && client.is_closed()
        {
            **client = postgres_client(config)?;
        }
        Ok(())
    }
}

/// A connection whose search path is our schema.
fn postgres_client(config: &postgres::Config) -> Result<postgres::Client, DatabaseError> {
    let mut client = config.connect(NoTls)?;
    client.batch_execute(&format!("SET search_path TO {SCHEMA}"))?;
    Ok(client)
}

fn sqlite_value<'a>(parameter: &'a Parameter<'a>) -> rusqlite::types::ToSqlOutput<'a> {
    rusqlite::types::ToSqlOutput::Borrowed(match parameter {
        Parameter::Text(text) => ValueRef::Text(text.as_bytes()),
        Parameter::Integer(number) => ValueRef::Integer(*number),
        Parameter::Null => ValueRef::Null,
    })
}

fn sqlite_cell(value: ValueRef<'_>) -> SqlValue {
    match value {
        ValueRef::Integer(number) => SqlValue::Integer(number),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            // A document is valid almost always, and a check of it is much faster than a search for its errors.
            let valid = std::str::from_utf8(bytes).map(str::to_owned);
            SqlValue::Text(valid.unwrap_or_else(|_| String::from_utf8_lossy(bytes).into_owned()))
        }
        ValueRef::Real(number) => SqlValue::Text(number.to_string()),
        ValueRef::Null => SqlValue::Null,
    }
}

fn postgres_value<'a>(parameter: &'a Parameter<'a>) -> Box<dyn ToSql + Sync + 'a> {
    match parameter {
        // PostgreSQL does not support NUL in a text. Documents escape it, and other columns are only used to look
        // records up.
        Parameter::Text(text) if text.contains('\0') => Box::new(text.replace('\0', "\u{fffd}")),
        Parameter::Text(text) => Box::new(*text),
        Parameter::Integer(number) => Box::new(*number),
        Parameter::Null => Box::new(None::<&str>),
    }
}

fn references<'a>(values: &'a [Box<dyn ToSql + Sync + 'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect()
}

fn postgres_row(row: &postgres::Row) -> Result<SqlRow, DatabaseError> {
    let cells = row.columns().iter().enumerate().map(|(place, column)| {
        Ok(if *column.type_() == postgres::types::Type::INT8 {
            row.try_get::<_, Option<i64>>(place)?.map_or(SqlValue::Null, SqlValue::Integer)
        } else {
            row.try_get::<_, Option<String>>(place)?.map_or(SqlValue::Null, SqlValue::Text)
        })
    });
    Ok(SqlRow(cells.collect::<Result<_, DatabaseError>>()?))
}
