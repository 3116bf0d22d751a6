//! Rounds in the store: put, found by id or prefix, listed newest first, deleted.
//!
//! A round is one document, replaced whole whenever it changes. Its trials are in `trials.rs`.

use crate::database::{DatabaseConnection, Parameter, SqlRow};
use crate::store::checksum;
use crate::{Store, StoreError};
use paceline_record::{Round, read_round};
use serde::Deserialize as _;

/// Most ids listed when a prefix is ambiguous.
const MAX_CANDIDATES: usize = 10;

impl Store {
    /// Stores a round, replacing an earlier state of it. Durable when it returns.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be written; the earlier state is then unchanged.
    pub fn put_round(&self, round: &Round) -> Result<(), StoreError> {
        self.database().transaction(self.place(), |database| self.write_round(database, round))
    }

    /// Writes a round, in the transaction of the caller.
    pub(crate) fn write_round(
        &self,
        database: &mut DatabaseConnection,
        round: &Round,
    ) -> Result<(), StoreError> {
        let unstorable = |source| StoreError::Unstorable { kind: "round", id: round.id.clone(), source };
        let document = serde_json::to_value(round).map_err(unstorable)?;
        Round::deserialize(&document).map_err(unstorable)?;
        let document = document.to_string();
        let put = "INSERT INTO rounds (id, plan, started_at, finished_at, document, checksum)
             VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (id) DO UPDATE SET plan = excluded.plan, started_at = excluded.started_at,
             finished_at = excluded.finished_at, document = excluded.document, checksum = excluded.checksum";
        let [id, plan, started_at, finished_at] = columns(round);
        let checksum = checksum(&round.id, &document).into();
        let parameters = [id, plan, started_at, finished_at, document.as_str().into(), checksum];
        database.execute(put, &parameters).map(drop).map_err(|error| self.failed(error))
    }

    /// The round of this id; `None` if there is none.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn round(&self, id: &str) -> Result<Option<Round>, StoreError> {
        self.first_round("WHERE id = $1", &[id.into()])
    }

    /// Every round, newest first.
    ///
    /// # Errors
    /// [`StoreError`] when one of them cannot be read.
    pub fn rounds(&self) -> Result<Vec<Round>, StoreError> {
        let (rounds, damaged) = self.readable_rounds()?;
        damaged.into_iter().next().map_or(Ok(rounds), Err)
    }

    /// As [`Store::rounds`], with an error for each round that cannot be read: a damaged round does not hide the
    /// others.
    ///
    /// # Errors
    /// [`StoreError`] when the store itself cannot be read.
    pub fn readable_rounds(&self) -> Result<(Vec<Round>, Vec<StoreError>), StoreError> {
        let (mut rounds, mut damaged) = (Vec::new(), Vec::new());
        for row in self.round_rows("", &[])? {
            match read(row) {
                Ok(round) => rounds.push(round),
                Err(error) => damaged.push(error),
            }
        }
        Ok((rounds, damaged))
    }

    /// The newest round; `None` in an empty store.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn newest(&self) -> Result<Option<Round>, StoreError> {
        self.first_round("", &[])
    }

    /// The newest unfinished round, which `--resume` continues.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn newest_unfinished(&self) -> Result<Option<Round>, StoreError> {
        self.first_round("WHERE finished_at IS NULL", &[])
    }

    /// The only round whose id begins with `prefix`. A complete id matches only itself.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Ambiguous`] with the matching ids, or another error when it cannot be
    /// read.
    pub fn find_round(&self, prefix: &str) -> Result<Round, StoreError> {
        let id = self.the_one("round", prefix)?;
        self.round(&id)?.ok_or(StoreError::NotFound { kind: "round", prefix: prefix.to_owned() })
    }

    /// Deletes a round with its trials, all or nothing, even if they cannot be read. Returns the number of its trials.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when there is no round of exactly this id, or when it could not be written.
    pub fn delete_round(&self, id: &str) -> Result<u64, StoreError> {
        let deleted = self.database().transaction(self.place(), |database| self.remove(database, id))?;
        deleted.ok_or_else(|| StoreError::NotFound { kind: "round", prefix: id.to_owned() })
    }

    /// Deletes a round with its trials, in the transaction of the caller. Returns the number of its trials; `None` if
    /// there is no such round.
    pub(crate) fn remove(
        &self,
        database: &mut DatabaseConnection,
        id: &str,
    ) -> Result<Option<u64>, StoreError> {
        let mut step = |sql| database.execute(sql, &[id.into()]).map_err(|error| self.failed(error));
        step("DELETE FROM histograms WHERE trial IN (SELECT id FROM trials WHERE round = $1)")?;
        let trials = step("DELETE FROM trials WHERE round = $1")?;
        let rounds = step("DELETE FROM rounds WHERE id = $1")?;
        Ok((rounds > 0).then_some(trials))
    }

    /// Returns the space of deleted records to the file system. PostgreSQL does this automatically.
    ///
    /// # Errors
    /// [`StoreError`] when the file could not be written; no record is lost.
    pub fn compact(&self) -> Result<(), StoreError> {
        match self.file() {
            Some(_) => self.database().batch("VACUUM").map_err(|error| self.failed(error)),
            None => Ok(()),
        }
    }

    /// The only id in the table of `kind`s that begins with `prefix`; a complete id matches only itself. Only the index
    /// of the ids is read, for any number of records.
    pub(crate) fn the_one(&self, kind: &'static str, prefix: &str) -> Result<String, StoreError> {
        let find = |condition: &str, parameters: &[Parameter<'_>]| {
            let get = format!(
                "SELECT id FROM {kind}s WHERE {condition} ORDER BY id DESC LIMIT {}",
                MAX_CANDIDATES + 1
            );
            let rows = self.database().query(&get, parameters).map_err(|error| self.failed(error))?;
            Ok(rows.into_iter().map(|mut row| row.text(0)).collect::<Vec<String>>())
        };
        if let Some(whole) = find("id = $1", &[prefix.into()])?.pop() {
            return Ok(whole);
        }
        let after = format!("{prefix}{}", char::MAX);
        let mut fitting = find("id >= $1 AND id < $2", &[prefix.into(), after.as_str().into()])?;
        let prefix = prefix.to_owned();
        match fitting.len() {
            0 => Err(StoreError::NotFound { kind, prefix }),
            1 => Ok(fitting.swap_remove(0)),
            _ => {
                fitting.truncate(MAX_CANDIDATES);
                Err(StoreError::Ambiguous { kind, prefix, candidates: fitting })
            }
        }
    }

    fn first_round(
        &self,
        condition: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<Round>, StoreError> {
        self.round_rows(condition, parameters)?.into_iter().next().map(read).transpose()
    }

    /// Rows of id, document and checksum, newest first.
    fn round_rows(&self, condition: &str, parameters: &[Parameter<'_>]) -> Result<Vec<SqlRow>, StoreError> {
        let get = format!(
            "SELECT id, document, {} FROM rounds {condition} ORDER BY started_at DESC, id DESC",
            self.checksum_column()
        );
        self.database().query(&get, parameters).map_err(|error| self.failed(error))
    }
}

/// The columns beside the document of a round that are copied from it.
pub(crate) const COLUMNS: [&str; 4] = ["id", "plan", "started_at", "finished_at"];

/// The values of [`COLUMNS`].
pub(crate) fn columns(round: &Round) -> [Parameter<'_>; 4] {
    [
        round.id.as_str().into(),
        round.plan.as_str().into(),
        round.started_at.as_str().into(),
        round.finished_at.as_deref().into(),
    ]
}

/// Parses the round in a row of id, document and checksum.
fn read(mut row: SqlRow) -> Result<Round, StoreError> {
    let (id, document) = verified("round", &mut row)?;
    read_round(&document).map_err(|source| StoreError::Record { kind: "round", id, source })
}

/// Id and document of a row of id, document and checksum.
///
/// # Errors
/// [`StoreError::Altered`] when there is a checksum and it does not match.
pub(crate) fn verified(kind: &'static str, row: &mut SqlRow) -> Result<(String, String), StoreError> {
    let (kept, id, document) = (row.integer(2), row.text(0), row.text(1));
    match kept {
        Some(kept) if kept != checksum(&id, &document) => {
            Err(StoreError::Altered { kind, id, found: "its checksum does not match".to_owned() })
        }
        _ => Ok((id, document)),
    }
}
