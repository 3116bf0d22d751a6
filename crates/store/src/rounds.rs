//! Rounds in the store: put, found by id or its beginning, listed newest first.
//!
//! `paceline round` puts them and finds the one to carry on, `paceline report` finds and lists them. A round is one
//! document, replaced whole as it goes on; none is ever removed. Its trials are put by `trials.rs`.

use crate::{Store, StoreError};
use paceline_record::{Round, read_round};
use serde::Deserialize as _;
use sqlx::Row as _;
use sqlx::any::AnyRow;

impl Store {
    /// Keeps a round, replacing an earlier state of it. Durable when it returns.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be written; what was there before is then still there.
    pub fn put_round(&self, round: &Round) -> Result<(), StoreError> {
        let unstorable = |source| StoreError::Unstorable { kind: "round", id: round.id.clone(), source };
        let document = serde_json::to_value(round).map_err(unstorable)?;
        Round::deserialize(&document).map_err(unstorable)?;
        let put = sqlx::query(
            "INSERT INTO rounds (id, plan, started_at, finished_at, document) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (id) DO UPDATE SET plan = excluded.plan, started_at = excluded.started_at,
             finished_at = excluded.finished_at, document = excluded.document",
        )
        .bind(&round.id)
        .bind(&round.plan)
        .bind(&round.started_at)
        .bind(round.finished_at.as_ref())
        .bind(document.to_string());
        self.runtime.block_on(put.execute(&self.pool)).map_err(|error| self.failed(error))?;
        Ok(())
    }

    /// The round of this id; none where there is none.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn round(&self, id: &str) -> Result<Option<Round>, StoreError> {
        let get = sqlx::query("SELECT id, document FROM rounds WHERE id = $1").bind(id.to_owned());
        self.one_round(get)
    }

    /// Every round, newest first.
    ///
    /// # Errors
    /// [`StoreError`] when one cannot be read.
    pub fn rounds(&self) -> Result<Vec<Round>, StoreError> {
        let (rounds, unreadable) = self.readable_rounds()?;
        unreadable.into_iter().next().map_or(Ok(rounds), Err)
    }

    /// As [`Store::rounds`], with what cannot be read as errors beside the others: one damaged round hides no other.
    ///
    /// # Errors
    /// [`StoreError`] when the store itself cannot be read.
    pub fn readable_rounds(&self) -> Result<(Vec<Round>, Vec<StoreError>), StoreError> {
        let get = sqlx::query("SELECT id, document FROM rounds ORDER BY started_at DESC, id DESC");
        let rows = self.runtime.block_on(get.fetch_all(&self.pool)).map_err(|error| self.failed(error))?;
        let (mut rounds, mut unreadable) = (Vec::new(), Vec::new());
        for row in &rows {
            match self.read_round_row(row) {
                Ok(round) => rounds.push(round),
                Err(error @ StoreError::Record { .. }) => unreadable.push(error),
                Err(error) => return Err(error),
            }
        }
        Ok((rounds, unreadable))
    }

    /// The newest round; none in an empty store.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn newest(&self) -> Result<Option<Round>, StoreError> {
        self.one_round(sqlx::query(
            "SELECT id, document FROM rounds ORDER BY started_at DESC, id DESC LIMIT 1",
        ))
    }

    /// The newest round that was not finished: what `--resume` carries on.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn newest_unfinished(&self) -> Result<Option<Round>, StoreError> {
        self.one_round(sqlx::query(
            "SELECT id, document FROM rounds WHERE finished_at IS NULL ORDER BY started_at DESC, id DESC LIMIT 1",
        ))
    }

    /// The one round whose id begins with `prefix`. A whole id always means itself.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] or [`StoreError::Ambiguous`] with the ids that would fit, or when it cannot be read.
    pub fn find_round(&self, prefix: &str) -> Result<Round, StoreError> {
        let ids = sqlx::query_scalar("SELECT id FROM rounds ORDER BY started_at DESC, id DESC");
        let ids = self.runtime.block_on(ids.fetch_all(&self.pool)).map_err(|error| self.failed(error))?;
        let id = the_one("round", prefix, ids)?;
        self.round(&id)?.ok_or(StoreError::NotFound { kind: "round", prefix: prefix.to_owned() })
    }

    fn one_round(
        &self,
        get: sqlx::query::Query<'_, sqlx::Any, sqlx::any::AnyArguments>,
    ) -> Result<Option<Round>, StoreError> {
        let row =
            self.runtime.block_on(get.fetch_optional(&self.pool)).map_err(|error| self.failed(error))?;
        row.as_ref().map(|row| self.read_round_row(row)).transpose()
    }

    fn read_round_row(&self, row: &AnyRow) -> Result<Round, StoreError> {
        let id: String = row.try_get(0).map_err(|error| self.failed(error))?;
        let document: String = row.try_get(1).map_err(|error| self.failed(error))?;
        read_round(&document).map_err(|source| StoreError::Record { kind: "round", id, source })
    }
}

/// The one id that begins with `prefix`.
pub(crate) fn the_one(kind: &'static str, prefix: &str, ids: Vec<String>) -> Result<String, StoreError> {
    let mut fitting: Vec<String> = ids.into_iter().filter(|id| id.starts_with(prefix)).collect();
    if let Some(whole) = fitting.iter().position(|id| id == prefix) {
        return Ok(fitting.swap_remove(whole));
    }
    let prefix = prefix.to_owned();
    match fitting.len() {
        0 => Err(StoreError::NotFound { kind, prefix }),
        1 => Ok(fitting.swap_remove(0)),
        _ => {
            fitting.truncate(10);
            Err(StoreError::Ambiguous { kind, prefix, candidates: fitting })
        }
    }
}
