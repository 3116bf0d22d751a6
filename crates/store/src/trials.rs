//! Trials in the store: a document, with its histograms stored separately.
//!
//! A round puts each trial as it ends and relies on it being stored whole or not at all. Tables are made without the
//! histograms; an export includes them. `histograms.rs` removes them from a document and restores them.

use crate::database::{DatabaseConnection, Parameter, SqlRow};
use crate::error::{DatabaseError, is_damage, is_unknown_reference};
use crate::histograms::{RemovedHistogram, cut, put_back};
use crate::rounds::verified;
use crate::store::checksum;
use crate::{Store, StoreError};
use paceline_record::{RecordError, Round, Trial, map_parallel, read_trial};
use serde::Deserialize as _;
use serde_json::Value;
use std::collections::HashMap;

/// The readable trials of a round, and an error for each other trial.
type ReadableTrials = (Vec<Trial>, Vec<StoreError>);

impl Store {
    /// Stores a trial, replacing an earlier one with the same id. Durable when it returns, whole or not at all.
    ///
    /// # Errors
    /// [`StoreError::UnknownRound`] when its round was not put before; [`StoreError::Unstorable`] when it contains a
    /// number that JSON cannot represent; others when it could not be written. Earlier trials are unchanged after any
    /// error.
    pub fn put_trial(&self, trial: &Trial) -> Result<(), StoreError> {
        let (document, cuts) = storable(trial)?;
        self.database()
            .transaction(self.place(), |database| self.write_trial(database, trial, &document, &cuts))
    }

    /// Stores a round with its trials; with `replace` in place of a stored round with this id. One transaction: a kill
    /// or a full disk leaves what was there before.
    ///
    /// # Errors
    /// [`StoreError::AlreadyStored`] when the round is there and is not to be replaced; others as for
    /// [`Store::put_round`] and [`Store::put_trial`].
    pub fn put_whole(&self, round: &Round, trials: &[Trial], replace: bool) -> Result<(), StoreError> {
        self.database().transaction(self.place(), |database| {
            if self.remove(database, &round.id)?.is_some() && !replace {
                return Err(StoreError::AlreadyStored { round: round.id.clone() });
            }
            self.write_round(database, round)?;
            trials.iter().try_for_each(|trial| {
                let (document, cuts) = storable(trial)?;
                self.write_trial(database, trial, &document, &cuts)
            })
        })
    }

    fn write_trial(
        &self,
        database: &mut DatabaseConnection,
        trial: &Trial,
        document: &str,
        cuts: &[RemovedHistogram],
    ) -> Result<(), StoreError> {
        let written =
            write(database, trial, document, cuts).map_err(|error| match is_unknown_reference(&error) {
                true => StoreError::UnknownRound { trial: trial.id.clone(), round: trial.round.clone() },
                false => self.failed(error),
            })?;
        match written {
            true => Ok(()),
            false => {
                Err(StoreError::TrialOfOtherRound { trial: trial.id.clone(), round: trial.round.clone() })
            }
        }
    }

    /// The trials of a round in the order they ran, exactly as they were put.
    ///
    /// # Errors
    /// [`StoreError`] when one of them cannot be read.
    pub fn trials(&self, round: &str) -> Result<Vec<Trial>, StoreError> {
        all(self.readable_whole_trials(round)?)
    }

    /// As [`Store::trials`], with an error for each trial that cannot be read: a damaged trial does not hide the
    /// others.
    ///
    /// # Errors
    /// [`StoreError`] when the store itself cannot be read.
    pub fn readable_whole_trials(&self, round: &str) -> Result<ReadableTrials, StoreError> {
        let mut cuts: HashMap<String, Vec<SqlRow>> = HashMap::new();
        let condition = "JOIN trials t ON t.id = h.trial WHERE t.round = $1";
        match self.histogram_rows(condition, round) {
            Ok(rows) => {
                for mut row in rows {
                    cuts.entry(row.text(0)).or_default().push(row);
                }
                let whole = |id: &str, text: &str| {
                    let rows = cuts.remove(id).unwrap_or_default();
                    with_histograms(id, text, rows)
                };
                self.read_trials(round, whole)
            }
            // With one query, a damaged page would hide all trials: the histograms of each trial are read separately.
            Err(error) if is_damage(&error) => self.read_trials(round, |id, text| self.whole_trial(id, text)),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// The trials of a round with every histogram left empty: a tenth of the data to read, enough for tables.
    ///
    /// # Errors
    /// [`StoreError`] when one of them cannot be read.
    pub fn trials_without_histograms(&self, round: &str) -> Result<Vec<Trial>, StoreError> {
        all(self.readable_trials(round)?)
    }

    /// As [`Store::trials_without_histograms`], with an error for each trial that cannot be read: a damaged trial does
    /// not hide the others.
    ///
    /// # Errors
    /// [`StoreError`] when the store itself cannot be read.
    pub fn readable_trials(&self, round: &str) -> Result<ReadableTrials, StoreError> {
        self.reduced_trials(round, |_| ())
    }

    /// As [`Store::readable_trials`], each reduced as soon as it is parsed, so that a large round needs less memory.
    ///
    /// # Errors
    /// [`StoreError`] when the store itself cannot be read.
    pub fn reduced_trials(
        &self,
        round: &str,
        reduce: impl Fn(&mut Trial) + Sync,
    ) -> Result<ReadableTrials, StoreError> {
        let (mut trials, mut damaged) = (Vec::new(), Vec::new());
        let read_row = |row: Result<SqlRow, StoreError>| {
            let (id, text) = verified("trial", &mut row?)?;
            let mut trial = read(&id, &text)?;
            reduce(&mut trial);
            Ok(trial)
        };
        for result in map_parallel(self.trial_rows(round)?, read_row) {
            match result {
                Ok(trial) => trials.push(trial),
                Err(error) => damaged.push(error),
            }
        }
        Ok((trials, damaged))
    }

    /// Number of stored trials of a round, and number of usable ones ([`Trial::is_usable`]).
    ///
    /// # Errors
    /// [`StoreError`] when they cannot be counted.
    pub fn tally(&self, round: &str) -> Result<(u64, u64), StoreError> {
        let count = "SELECT COUNT(*), CAST(COALESCE(SUM(ok), 0) AS BIGINT) FROM trials WHERE round = $1";
        let rows = self.database().query(count, &[round.into()]).map_err(|error| self.failed(error))?;
        let number = |column| rows.first().and_then(|row| row.integer(column)).unwrap_or_default();
        Ok((number(0).unsigned_abs(), number(1).unsigned_abs()))
    }

    /// Number of stored trials of a round.
    ///
    /// # Errors
    /// [`StoreError`] when they cannot be counted.
    pub fn count(&self, round: &str) -> Result<u64, StoreError> {
        let count = "SELECT COUNT(*) FROM trials WHERE round = $1";
        let rows = self.database().query(count, &[round.into()]).map_err(|error| self.failed(error))?;
        Ok(rows.first().and_then(|row| row.integer(0)).unwrap_or_default().unsigned_abs())
    }

    /// Number of stored trials of each round that has any: reads one index once.
    ///
    /// # Errors
    /// [`StoreError`] when they cannot be counted.
    pub fn counts(&self) -> Result<HashMap<String, u64>, StoreError> {
        let count = "SELECT round, COUNT(*) FROM trials GROUP BY round";
        let rows = self.database().query(count, &[]).map_err(|error| self.failed(error))?;
        let counted = |mut row: SqlRow| (row.text(0), row.integer(1).unwrap_or_default().unsigned_abs());
        Ok(rows.into_iter().map(counted).collect())
    }

    /// The only trial whose id begins with `prefix`, exactly as it was put.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Ambiguous`] with the matching ids, or another error when it cannot be
    /// read.
    pub fn find_trial(&self, prefix: &str) -> Result<Trial, StoreError> {
        let id = self.the_one("trial", prefix)?;
        self.trial(&id)?.ok_or(StoreError::NotFound { kind: "trial", prefix: prefix.to_owned() })
    }

    /// The trial of this id, exactly as it was put; `None` if there is none.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn trial(&self, id: &str) -> Result<Option<Trial>, StoreError> {
        let Some(mut row) = self.trial_row(id).map_err(|error| self.failed(error))? else { return Ok(None) };
        let (id, text) = verified("trial", &mut row)?;
        self.whole_trial(&id, &text).map(Some)
    }

    /// The trials of a round, each built from its id and document by `make`.
    fn read_trials(
        &self,
        round: &str,
        mut make: impl FnMut(&str, &str) -> Result<Trial, StoreError>,
    ) -> Result<ReadableTrials, StoreError> {
        let (mut trials, mut damaged) = (Vec::new(), Vec::new());
        for row in self.trial_rows(round)? {
            let read = row.and_then(|mut row| verified("trial", &mut row));
            match read.and_then(|(id, text)| make(&id, &text)) {
                Ok(trial) => trials.push(trial),
                Err(error) => damaged.push(error),
            }
        }
        Ok((trials, damaged))
    }

    /// A row of id, document and checksum for each trial of a round, in the order they ran. If a damaged page stops the
    /// query, each trial is queried by its id, which the indexes contain too.
    fn trial_rows(&self, round: &str) -> Result<Vec<Result<SqlRow, StoreError>>, StoreError> {
        let columns = format!("id, document, {}", self.checksum_column());
        let get = format!("SELECT {columns} FROM trials WHERE round = $1 ORDER BY started_at, id");
        let rows = self.database().query(&get, &[round.into()]);
        match rows {
            Ok(rows) => Ok(rows.into_iter().map(Ok).collect()),
            Err(error) if is_damage(&error) => {
                let ids = self.database().query("SELECT id FROM trials WHERE round = $1", &[round.into()]);
                let ids = ids.map_err(|_| self.failed(error))?;
                Ok(ids.into_iter().map(|mut row| self.trial_row_or_damage(row.text(0))).collect())
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    fn trial_row(&self, id: &str) -> Result<Option<SqlRow>, DatabaseError> {
        let get = format!("SELECT id, document, {} FROM trials WHERE id = $1", self.checksum_column());
        Ok(self.database().query(&get, &[id.into()])?.into_iter().next())
    }

    fn trial_row_or_damage(&self, id: String) -> Result<SqlRow, StoreError> {
        let problem = match self.trial_row(&id) {
            Ok(Some(row)) => return Ok(row),
            Ok(None) => "its row is missing".to_owned(),
            Err(error) => error.to_string(),
        };
        Err(StoreError::Altered { kind: "trial", id, found: problem })
    }

    /// A trial with its histograms.
    fn whole_trial(&self, id: &str, text: &str) -> Result<Trial, StoreError> {
        let rows = self.histogram_rows("WHERE h.trial = $1", id).map_err(|error| StoreError::Altered {
            kind: "trial",
            id: id.to_owned(),
            found: error.to_string(),
        })?;
        with_histograms(id, text, rows)
    }

    /// Rows of trial, place, histogram and checksum.
    fn histogram_rows(&self, condition: &str, parameter: &str) -> Result<Vec<SqlRow>, DatabaseError> {
        let checksum = match self.checksum_column() {
            "NULL" => "NULL",
            _ => "h.checksum",
        };
        let get = format!("SELECT h.trial, h.path, h.histogram, {checksum} FROM histograms h {condition}");
        self.database().query(&get, &[parameter.into()])
    }
}

fn all((trials, damaged): ReadableTrials) -> Result<Vec<Trial>, StoreError> {
    damaged.into_iter().next().map_or(Ok(trials), Err)
}

/// The document of a trial, and the histograms removed from it.
fn storable(trial: &Trial) -> Result<(String, Vec<RemovedHistogram>), StoreError> {
    let unstorable = |source| StoreError::Unstorable { kind: "trial", id: trial.id.clone(), source };
    let mut document = serde_json::to_value(trial).map_err(unstorable)?;
    let cuts = cut(&mut document);
    // A number that is not finite becomes null: it is reported now, not when the result is read.
    Trial::deserialize(&document).map_err(unstorable)?;
    Ok((document.to_string(), cuts))
}

/// Writes a trial and its histograms, in the transaction of the caller. Returns false if another round has a trial of
/// this id, which is not taken from it.
fn write(
    database: &mut DatabaseConnection,
    trial: &Trial,
    document: &str,
    cuts: &[RemovedHistogram],
) -> Result<bool, DatabaseError> {
    database.execute("DELETE FROM histograms WHERE trial = $1", &[trial.id.as_str().into()])?;
    let mut parameters: Vec<Parameter<'_>> = columns(trial).into();
    parameters.extend([Parameter::from(document), checksum(&trial.id, document).into()]);
    let written = database.execute(
        "INSERT INTO trials
         (id, round, server, form, workload, load, repeat, block, started_at, ok, document, checksum)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
         ON CONFLICT (id) DO UPDATE SET server = excluded.server, form = excluded.form, workload = excluded.workload,
         load = excluded.load, repeat = excluded.repeat, block = excluded.block, started_at = excluded.started_at,
         ok = excluded.ok, document = excluded.document, checksum = excluded.checksum
         WHERE trials.round = excluded.round",
        &parameters,
    )?;
    for cut in cuts {
        database.execute(
            "INSERT INTO histograms (trial, path, histogram, checksum) VALUES ($1, $2, $3, $4)",
            &[
                trial.id.as_str().into(),
                cut.path.as_str().into(),
                cut.histogram.as_str().into(),
                checksum(&cut.path, &cut.histogram).into(),
            ],
        )?;
    }
    Ok(written > 0)
}

/// The columns beside the document of a trial that are copied from it.
pub(crate) const COLUMNS: [&str; 10] =
    ["id", "round", "server", "form", "workload", "load", "repeat", "block", "started_at", "ok"];

/// The values of [`COLUMNS`].
pub(crate) fn columns(trial: &Trial) -> [Parameter<'_>; 10] {
    [
        trial.id.as_str().into(),
        trial.round.as_str().into(),
        trial.server.id.as_str().into(),
        trial.form.as_str().into(),
        trial.workload.as_str().into(),
        trial.load.name.as_str().into(),
        i64::from(trial.repeat).into(),
        i64::from(trial.block).into(),
        trial.started_at.as_str().into(),
        i64::from(trial.is_usable()).into(),
    ]
}

/// Builds a trial from its document and rows of trial, place, histogram and checksum.
fn with_histograms(id: &str, text: &str, rows: Vec<SqlRow>) -> Result<Trial, StoreError> {
    let mut document: Value = serde_json::from_str(text).map_err(|source| StoreError::Record {
        kind: "trial",
        id: id.to_owned(),
        source: RecordError::Json { kind: "trial", source },
    })?;
    for mut row in rows {
        let kept = row.integer(3);
        let cut = RemovedHistogram { path: row.text(1), histogram: row.text(2) };
        if kept.is_some_and(|kept| kept != checksum(&cut.path, &cut.histogram)) {
            let found = format!("the checksum of histogram {} does not match", cut.path);
            return Err(StoreError::Altered { kind: "trial", id: id.to_owned(), found });
        }
        put_back(&mut document, cut);
    }
    read(id, &document.to_string())
}

/// Reads any text as a stored trial, for fuzzing: removing and restoring its histograms leaves it unchanged.
#[doc(hidden)]
pub fn fuzz_document(text: &str) {
    let Ok(document) = serde_json::from_str::<serde_json::Value>(text) else { return };
    let mut without = document.clone();
    let cuts = super::histograms::cut(&mut without);
    let _ = read("any", &without.to_string());
    for cut in cuts {
        super::histograms::put_back(&mut without, cut);
    }
    assert_eq!(without, document);
    let _ = read("any", text);
}

fn read(id: &str, document: &str) -> Result<Trial, StoreError> {
    read_trial(document).map_err(|source| StoreError::Record { kind: "trial", id: id.to_owned(), source })
}
