//! Trials in the store: a document, and its histograms beside it.
//!
//! A round puts each trial as it ends and counts on it being there, whole or not at all. Tables are made without the
//! histograms; an export has them put back. How they come out of a document, and into it again, is `histograms.rs`.

use crate::histograms::{Cut, cut, put_back};
use crate::rounds::the_one;
use crate::{Store, StoreError};
use paceline_record::{RecordError, Trial, read_trial};
use serde::Deserialize as _;
use serde_json::Value;
use sqlx::AnyConnection;
use sqlx::any::AnyRow;
use sqlx::error::ErrorKind;
use sqlx::{Connection as _, Row as _};
use std::collections::HashMap;

impl Store {
    /// Keeps a trial, replacing an earlier one of the same id. Durable when it returns, whole or not at all.
    ///
    /// # Errors
    /// [`StoreError::UnknownRound`] when its round was not put before; [`StoreError::Unstorable`] when it holds a
    /// number that JSON cannot carry; others when it could not be written. Earlier trials are untouched by any.
    pub fn put_trial(&self, trial: &Trial) -> Result<(), StoreError> {
        let unstorable = |source| StoreError::Unstorable { kind: "trial", id: trial.id.clone(), source };
        let mut document = serde_json::to_value(trial).map_err(unstorable)?;
        let cuts = cut(&mut document);
        // A number that is not finite turns into null: better to hear of it now than when the result is wanted.
        Trial::deserialize(&document).map_err(unstorable)?;
        let write = async {
            let mut connection = self.pool.acquire().await?;
            write(&mut connection, trial, &document.to_string(), &cuts).await
        };
        self.runtime.block_on(write).map_err(|error| match error.as_database_error().map(|e| e.kind()) {
            Some(ErrorKind::ForeignKeyViolation) => {
                StoreError::UnknownRound { trial: trial.id.clone(), round: trial.round.clone() }
            }
            _ => self.failed(error),
        })
    }

    /// The trials of a round in the order they ran, exactly as they were put.
    ///
    /// # Errors
    /// [`StoreError`] when one cannot be read.
    pub fn trials(&self, round: &str) -> Result<Vec<Trial>, StoreError> {
        let texts = self.documents(round)?;
        let parsed = texts.into_iter().map(|(id, text)| Ok((parse(&id, &text)?, id)));
        let mut documents = parsed.collect::<Result<Vec<_>, StoreError>>()?;
        let cuts = sqlx::query(
            "SELECT h.trial, h.path, h.histogram FROM histograms h JOIN trials t ON t.id = h.trial WHERE t.round = $1",
        )
        .bind(round.to_owned());
        let rows = self.runtime.block_on(cuts.fetch_all(&self.pool)).map_err(|error| self.failed(error))?;
        let places: HashMap<String, usize> =
            documents.iter().enumerate().map(|(place, (_, id))| (id.clone(), place)).collect();
        for row in rows {
            let trial: String = row.try_get(0).map_err(|error| self.failed(error))?;
            if let Some((document, _)) = places.get(&trial).and_then(|place| documents.get_mut(*place)) {
                put_back(document, self.cut_of(&row)?);
            }
        }
        documents.into_iter().map(|(document, id)| read(id, &document.to_string())).collect()
    }

    /// The trials of a round with every histogram left empty: a tenth of the reading, enough for tables.
    ///
    /// # Errors
    /// [`StoreError`] when one cannot be read.
    pub fn trials_without_histograms(&self, round: &str) -> Result<Vec<Trial>, StoreError> {
        self.documents(round)?.into_iter().map(|(id, text)| read(id, &text)).collect()
    }

    /// As [`Store::trials_without_histograms`], and what is wrong with each trial that cannot be read: one that is
    /// damaged hides no other.
    ///
    /// # Errors
    /// [`StoreError`] when the store itself cannot be read.
    pub fn readable_trials(&self, round: &str) -> Result<(Vec<Trial>, Vec<StoreError>), StoreError> {
        let (mut trials, mut unreadable) = (Vec::new(), Vec::new());
        for (id, text) in self.documents(round)? {
            match read(id, &text) {
                Ok(trial) => trials.push(trial),
                Err(error) => unreadable.push(error),
            }
        }
        Ok((trials, unreadable))
    }

    /// How many trials of a round are kept, and how many of them are usable
    /// ([`Trial::is_usable`]).
    ///
    /// # Errors
    /// [`StoreError`] when they cannot be counted.
    pub fn tally(&self, round: &str) -> Result<(u64, u64), StoreError> {
        let count =
            sqlx::query("SELECT COUNT(*), CAST(COALESCE(SUM(ok), 0) AS BIGINT) FROM trials WHERE round = $1")
                .bind(round.to_owned());
        let row = self.runtime.block_on(count.fetch_one(&self.pool)).map_err(|error| self.failed(error))?;
        let number = |place: usize| row.try_get::<i64, _>(place).map_err(|error| self.failed(error));
        Ok((number(0)?.unsigned_abs(), number(1)?.unsigned_abs()))
    }

    /// The one trial whose id begins with `prefix`, exactly as it was put.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] or [`StoreError::Ambiguous`] with the ids that would fit, or when it cannot be read.
    pub fn find_trial(&self, prefix: &str) -> Result<Trial, StoreError> {
        let ids = sqlx::query_scalar("SELECT id FROM trials ORDER BY started_at DESC, id DESC");
        let ids = self.runtime.block_on(ids.fetch_all(&self.pool)).map_err(|error| self.failed(error))?;
        let id = the_one("trial", prefix, ids)?;
        let get = sqlx::query_scalar("SELECT document FROM trials WHERE id = $1").bind(id.clone());
        let text: String =
            self.runtime.block_on(get.fetch_one(&self.pool)).map_err(|error| self.failed(error))?;
        let mut document = parse(&id, &text)?;
        let cuts =
            sqlx::query("SELECT trial, path, histogram FROM histograms WHERE trial = $1").bind(id.clone());
        for row in self.runtime.block_on(cuts.fetch_all(&self.pool)).map_err(|error| self.failed(error))? {
            put_back(&mut document, self.cut_of(&row)?);
        }
        read(id, &document.to_string())
    }

    /// The documents of a round's trials by id, histograms not yet put back.
    fn documents(&self, round: &str) -> Result<Vec<(String, String)>, StoreError> {
        let get = sqlx::query("SELECT id, document FROM trials WHERE round = $1 ORDER BY started_at, id")
            .bind(round.to_owned());
        let rows = self.runtime.block_on(get.fetch_all(&self.pool)).map_err(|error| self.failed(error))?;
        let text = |row: &AnyRow, place: usize| row.try_get(place).map_err(|error| self.failed(error));
        rows.iter().map(|row| Ok((text(row, 0)?, text(row, 1)?))).collect()
    }

    fn cut_of(&self, row: &AnyRow) -> Result<Cut, StoreError> {
        let text = |place: usize| row.try_get(place).map_err(|error| self.failed(error));
        Ok(Cut { path: text(1)?, histogram: text(2)? })
    }
}

/// Writes a trial and its histograms in one transaction. Its first statement writes, so that the lock is taken, and
/// waited for, before anything was read.
async fn write(
    connection: &mut AnyConnection,
    trial: &Trial,
    document: &str,
    cuts: &[Cut],
) -> Result<(), sqlx::Error> {
    let mut transaction = connection.begin().await?;
    sqlx::query("DELETE FROM histograms WHERE trial = $1").bind(&trial.id).execute(&mut *transaction).await?;
    sqlx::query(
        "INSERT INTO trials (id, round, server, form, workload, load, repeat, block, started_at, ok, document)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         ON CONFLICT (id) DO UPDATE SET round = excluded.round, server = excluded.server, form = excluded.form,
         workload = excluded.workload, load = excluded.load, repeat = excluded.repeat, block = excluded.block,
         started_at = excluded.started_at, ok = excluded.ok, document = excluded.document",
    )
    .bind(&trial.id)
    .bind(&trial.round)
    .bind(&trial.server.id)
    .bind(&trial.form)
    .bind(&trial.workload)
    .bind(&trial.load.name)
    .bind(i64::from(trial.repeat))
    .bind(i64::from(trial.block))
    .bind(&trial.started_at)
    .bind(i64::from(trial.is_usable()))
    .bind(document)
    .execute(&mut *transaction)
    .await?;
    for cut in cuts {
        sqlx::query("INSERT INTO histograms (trial, path, histogram) VALUES ($1, $2, $3)")
            .bind(&trial.id)
            .bind(&cut.path)
            .bind(&cut.histogram)
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await
}

fn parse(id: &str, text: &str) -> Result<Value, StoreError> {
    serde_json::from_str(text).map_err(|source| StoreError::Record {
        kind: "trial",
        id: id.to_owned(),
        source: RecordError::Json { kind: "trial", source },
    })
}

fn read(id: String, document: &str) -> Result<Trial, StoreError> {
    read_trial(document).map_err(|source| StoreError::Record { kind: "trial", id, source })
}
