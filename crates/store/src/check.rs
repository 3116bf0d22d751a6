//! Checks the content of every record of a store, in addition to reading it.
//!
//! Used by `paceline store check`. A record that was imported, or whose histograms were omitted from an export, is
//! checked as far as its content allows.

use crate::database::{Parameter, SqlRow};
use crate::error::is_damage;
use crate::{Store, StoreError, rounds, sqlite, trials};
use paceline_record::{Round, Trial};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// How far the clock of another machine may be ahead of this one. A day is longer than any offset from UTC, so that
/// times can be compared as text, as rounds are ordered.
const CLOCK_GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// The number of checked records, and the problems found.
#[derive(Debug, Default)]
pub struct Checked {
    /// Rounds that were read.
    pub rounds: u64,
    /// Trials that were read.
    pub trials: u64,
    /// Histograms that were decoded.
    pub histograms: u64,
    /// Records without a checksum, written by an older Paceline.
    pub without_checksum: u64,
    /// The problems, one line each, for the user.
    pub problems: Vec<String>,
}

impl Store {
    /// Checks the structure of the file and every record: its checksum, its keys, that outcomes add up, that every
    /// histogram has as many values as are counted, that the achieved rate is that of the responses, that no round is
    /// of the future, and that the columns used for lookup match the record.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read at all.
    pub fn check(&self) -> Result<Checked, StoreError> {
        let mut checked = Checked::default();
        if self.file().is_some() {
            let problems = sqlite::integrity_problems(&mut self.database(), self.place())?;
            checked.problems.extend(problems.into_iter().map(|problem| format!("file: {problem}")));
        }
        let (rounds, damaged) = self.readable_rounds()?;
        checked.add(damaged);
        // The trials of a damaged round are checked too.
        let list = "SELECT id FROM rounds ORDER BY started_at DESC, id DESC";
        let rows = self.database().query(list, &[]).map_err(|error| self.failed(error))?;
        let ids: Vec<String> = rows.into_iter().map(|mut row| row.text(0)).collect();
        for id in &ids {
            let (trials, damaged) = self.readable_whole_trials(id)?;
            checked.add(damaged);
            trials.iter().for_each(|trial| checked.trial(trial, id));
            let stored = trials.iter().map(|trial| (trial.id.as_str(), trials::columns(trial).to_vec()));
            let list = format!("SELECT {} FROM trials WHERE round = $1", trials::COLUMNS.join(", "));
            if let Some(rows) = self.column_rows(&list, &[id.as_str().into()])? {
                checked.columns("trial", &trials::COLUMNS, stored, rows);
            }
        }
        let stored = rounds.iter().map(|round| (round.id.as_str(), rounds::columns(round).to_vec()));
        let list = format!("SELECT {} FROM rounds", rounds::COLUMNS.join(", "));
        if let Some(rows) = self.column_rows(&list, &[])? {
            checked.columns("round", &rounds::COLUMNS, stored, rows);
        }
        checked.rounds = rounds.len() as u64;
        checked.future(&rounds);
        checked.without_checksum = self.without_checksum()?;
        checked.strays(self, &ids)?;
        Ok(checked)
    }

    /// The rows of a query for columns; `None` if the file is damaged, which is reported for its records.
    fn column_rows(
        &self,
        list: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<Vec<SqlRow>>, StoreError> {
        match self.database().query(list, parameters) {
            Err(error) if is_damage(&error) => Ok(None),
            rows => rows.map(Some).map_err(|error| self.failed(error)),
        }
    }

    fn without_checksum(&self) -> Result<u64, StoreError> {
        let count = |table: &str| {
            let condition = if self.checksum_column() == "NULL" { "" } else { "WHERE checksum IS NULL" };
            let count = format!("SELECT COUNT(*) FROM {table} {condition}");
            let rows = self.database().query(&count, &[]).map_err(|error| self.failed(error))?;
            Ok(rows.first().and_then(|row| row.integer(0)).unwrap_or_default().unsigned_abs())
        };
        Ok(count("rounds")? + count("trials")?)
    }
}

impl Checked {
    fn add(&mut self, damaged: Vec<StoreError>) {
        let reported = |error: &StoreError| match std::error::Error::source(error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        };
        self.problems.extend(damaged.iter().map(reported));
    }

    /// Compares the columns by which records are looked up with the records themselves.
    fn columns<'a>(
        &mut self,
        kind: &str,
        names: &[&str],
        stored: impl Iterator<Item = (&'a str, Vec<Parameter<'a>>)>,
        rows: Vec<SqlRow>,
    ) {
        let stored: HashMap<&str, Vec<Parameter<'_>>> = stored.collect();
        let mut seen = HashSet::new();
        for mut row in rows {
            let id = row.clone().text(0);
            // A record that cannot be read was reported.
            let Some(columns) = stored.get(id.as_str()) else { continue };
            if let Some(name) = row.first_difference(columns).and_then(|place| names.get(place)) {
                self.problems.push(format!("{kind} {id}: the column {name} differs from the record"));
            }
            seen.insert(row.text(0));
        }
        let lost = stored.keys().filter(|id| !seen.contains(**id));
        self.problems.extend(lost.map(|id| {
            format!("{kind} {id}: the id in its record differs from the id under which it is stored")
        }));
    }

    /// Rounds of the future: each would stay the newest of its plan.
    fn future(&mut self, rounds: &[Round]) {
        let latest = jiff::Timestamp::now().checked_add(CLOCK_GRACE).unwrap_or(jiff::Timestamp::MAX);
        let latest = latest.to_string();
        let later = rounds.iter().filter(|round| round.started_at > latest);
        self.problems.extend(later.map(|round| {
            format!("round {}: the time of its start, {}, is in the future", round.id, round.started_at)
        }));
    }

    fn trial(&mut self, trial: &Trial, round: &str) {
        self.trials += 1;
        let mut problem = |what: String| self.problems.push(format!("trial {}: {what}", trial.id));
        if trial.round != round {
            problem(format!("the record belongs to round {}, but is stored in round {round}", trial.round));
        }
        let Some(run) = &trial.run else { return };
        run.contradictions().into_iter().for_each(&mut problem);
        if trial.imported.is_none()
            && let Some(what) = run.rate_contradiction()
        {
            problem(what);
        }
        let times = run.blocks().flat_map(|(_, block)| block.distributions());
        self.histograms += times.filter(|(_, times)| !times.histogram.is_empty()).count() as u64;
    }

    /// Trials without a round: `rounds` and `trials` disagree.
    fn strays(&mut self, store: &Store, rounds: &[String]) -> Result<(), StoreError> {
        let known: HashSet<&str> = rounds.iter().map(String::as_str).collect();
        let get = "SELECT round, COUNT(*) FROM trials GROUP BY round";
        let rows = store.database().query(get, &[]).map_err(|error| store.failed(error))?;
        for mut row in rows {
            let (count, round) = (row.integer(1).unwrap_or_default(), row.text(0));
            if !known.contains(round.as_str()) {
                self.problems.push(format!(
                    "the record of round {round:?} is missing, but {count} of its trials are stored"
                ));
            }
        }
        Ok(())
    }
}
