//! A connection to either database: executes statements in the shared dialect, and reads rows even if they are damaged.

use crate::StoreError;
use crate::error::{DatabaseError, StoreLocation, is_unreachable};
use crate::postgres_connection::PostgresConnection;
use postgres::types::ToSql;
use rusqlite::types::ValueRef;

/// An open connection.
pub enum DatabaseConnection {
    /// A file.
    Sqlite(rusqlite::Connection),
    /// A connection to a server. In a transaction it is not opened again.
    Postgres(Box<PostgresConnection>, TransactionState),
}

/// Whether a connection is in a transaction, which a new connection would lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionState {
    /// A statement can be repeated on a new connection.
    Outside,
    /// Only the whole transaction can be repeated.
    Inside,
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

impl SqlValue {
    /// Whether it is what was stored for this parameter: PostgreSQL stores no NUL.
    fn is(&self, parameter: &Parameter<'_>) -> bool {
        match (self, parameter) {
            (Self::Text(found), Parameter::Text(text)) => found == text || *found == without_nul(text),
            (Self::Integer(found), Parameter::Integer(number)) => found == number,
            (Self::Null, Parameter::Null) => true,
            _ => false,
        }
    }
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

    /// The place of the first column that is not what was stored for these parameters.
    pub fn first_difference(&self, parameters: &[Parameter<'_>]) -> Option<usize> {
        let mut pairs = parameters.iter().enumerate();
        pairs
            .find(|(place, stored)| !self.0.get(*place).is_some_and(|cell| cell.is(stored)))
            .map(|(at, _)| at)
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
        Ok(Self::Postgres(Box::new(PostgresConnection::open(config)?), TransactionState::Outside))
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
            Self::Postgres(connection, _) => {
                let values: Vec<_> = parameters.iter().map(postgres_value).collect();
                Ok(connection.client().execute(sql, &references(&values))?)
            }
        }
    }

    /// Runs a query; outside a transaction it is repeated once if the connection was lost.
    pub fn query(&mut self, sql: &str, parameters: &[Parameter<'_>]) -> Result<Vec<SqlRow>, DatabaseError> {
        self.reconnect_if_closed()?;
        match self.query_once(sql, parameters) {
            Err(error) if is_unreachable(&error) && self.can_reconnect() => {
                self.reconnect()?;
                self.query_once(sql, parameters)
            }
            read => read,
        }
    }

    fn query_once(&mut self, sql: &str, parameters: &[Parameter<'_>]) -> Result<Vec<SqlRow>, DatabaseError> {
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
            Self::Postgres(connection, _) => {
                let values: Vec<_> = parameters.iter().map(postgres_value).collect();
                let rows = connection.client().query(sql, &references(&values))?;
                rows.iter().map(postgres_row).collect()
            }
        }
    }

    /// Runs statements without parameters.
    pub fn batch(&mut self, sql: &str) -> Result<(), DatabaseError> {
        match self {
            Self::Sqlite(connection) => connection.execute_batch(sql)?,
            Self::Postgres(connection, _) => connection.client().batch_execute(sql)?,
        }
        Ok(())
    }

    /// Runs `work` in one transaction: committed when it succeeds, rolled back when it fails. SQLite's write lock is
    /// taken at the beginning, so that the wait for it happens before the first read. If the connection to a server is
    /// lost, `work` is repeated once on a new one: it must have the same effect if the lost one was committed.
    pub fn transaction<T>(
        &mut self,
        place: &StoreLocation,
        mut work: impl FnMut(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let failed = |error| StoreError::from_database(place, error);
        self.reconnect_if_closed().map_err(failed)?;
        match self.transaction_once(place, &mut work) {
            Err(StoreError::Unreachable { .. }) if self.can_reconnect() => {
                self.reconnect().map_err(failed)?;
                self.transaction_once(place, &mut work)
            }
            done => done,
        }
    }

    fn transaction_once<T>(
        &mut self,
        place: &StoreLocation,
        work: &mut impl FnMut(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let failed = |error| StoreError::from_database(place, error);
        let begin = match self {
            Self::Sqlite(_) => "BEGIN IMMEDIATE",
            Self::Postgres(..) => "BEGIN",
        };
        self.batch(begin).map_err(failed)?;
        self.note(TransactionState::Inside);
        let done = work(self).and_then(|value| self.batch("COMMIT").map(|()| value).map_err(failed));
        if done.is_err() {
            // Some errors have already ended the transaction; the first error is the one reported.
            let _ = self.batch("ROLLBACK");
        }
        self.note(TransactionState::Outside);
        done
    }

    fn note(&mut self, now: TransactionState) {
        if let Self::Postgres(_, state) = self {
            *state = now;
        }
    }

    fn can_reconnect(&self) -> bool {
        matches!(self, Self::Postgres(_, TransactionState::Outside))
    }

    fn reconnect(&mut self) -> Result<(), DatabaseError> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(connection, _) => Ok(connection.reconnect()?),
        }
    }

    /// Connects again if the connection was closed: a round takes hours, and servers close idle connections.
    fn reconnect_if_closed(&mut self) -> Result<(), DatabaseError> {
        match self {
            Self::Postgres(connection, TransactionState::Outside) if connection.is_closed() => {
                Ok(connection.reconnect()?)
            }
            _ => Ok(()),
        }
    }
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
        Parameter::Text(text) if text.contains('\0') => Box::new(without_nul(text)),
        Parameter::Text(text) => Box::new(*text),
        Parameter::Integer(number) => Box::new(*number),
        Parameter::Null => Box::new(None::<&str>),
    }
}

fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
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
