//! The results that pages are made of: a store, exported folders, or single runs.
//!
//! Read-only. A round's trials are read when a page asks for them and the last few rounds are kept in memory, since a
//! visitor goes back and forth between the same ones. Called from blocking threads only: the store blocks.

use crate::WebError;
use crate::export;
use paceline_record::{Round, Run, Trial};
use paceline_store::{Store, archive};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Rounds whose trials are kept in memory.
const ROUNDS_KEPT: usize = 6;

/// A round, and how many trials are kept of it where that is known without reading them.
pub type CountedRound = (Round, Option<u64>);

/// Pages as bytes, with the records that each was made of.
type Pages = VecDeque<(Arc<Records>, Arc<[u8]>)>;

/// Kept results to be shown.
pub struct Library {
    origin: Origin,
    kept: Mutex<VecDeque<Arc<Records>>>,
    pages: Mutex<Pages>,
}

enum Origin {
    Store(Box<Store>),
    Folders { root: PathBuf, rounds: Vec<(PathBuf, Round)>, unreadable: Vec<String> },
    Run(Box<Run>),
    Nothing,
}

/// A round with its trials.
#[derive(Debug)]
pub struct Records {
    /// The round.
    pub round: Round,
    /// Its trials as far as they can be read. Histograms may be empty; [`Library::trial`] has them.
    pub trials: Vec<Trial>,
    /// What could not be read, for people.
    pub unreadable: Vec<String>,
}

impl Library {
    /// The results in a store.
    pub fn of_store(store: Store) -> Self {
        Self::new(Origin::Store(Box::new(store)))
    }

    /// The exported round in a folder, or those in its folders.
    ///
    /// # Errors
    /// [`WebError`] when there is none that can be read.
    pub fn of_folder(folder: &Path) -> Result<Self, WebError> {
        let (mut rounds, mut unreadable, mut first) = (Vec::new(), Vec::new(), None);
        for path in export::find(folder)? {
            match export::round(&path) {
                Ok(round) => rounds.push((path, round)),
                Err(error) => {
                    unreadable.push(error.chain());
                    first.get_or_insert(error);
                }
            }
        }
        if let (true, Some(error)) = (rounds.is_empty(), first) {
            return Err(error);
        }
        rounds.sort_by(|(_, a), (_, b)| (&b.started_at, &b.id).cmp(&(&a.started_at, &a.id)));
        Ok(Self::new(Origin::Folders { root: folder.to_owned(), rounds, unreadable }))
    }

    /// No results yet: a run that goes on has none.
    pub fn empty() -> Self {
        Self::new(Origin::Nothing)
    }

    /// One run.
    pub fn of_run(run: Run) -> Self {
        Self::new(Origin::Run(Box::new(run)))
    }

    fn new(origin: Origin) -> Self {
        Self { origin, kept: Mutex::default(), pages: Mutex::default() }
    }

    /// Where the results are, for people.
    pub fn place(&self) -> String {
        match &self.origin {
            Origin::Store(store) => store.path().display().to_string(),
            Origin::Folders { root, .. } => root.display().to_string(),
            Origin::Run(run) => run.target.url.clone(),
            Origin::Nothing => String::new(),
        }
    }

    /// Every round, newest first, with how many trials are kept of each where that is known without reading them; and
    /// what could not be read.
    ///
    /// # Errors
    /// [`WebError`] when the store cannot be read.
    pub fn rounds(&self) -> Result<(Vec<CountedRound>, Vec<String>), WebError> {
        match &self.origin {
            Origin::Store(store) => {
                let (rounds, unreadable) = store.readable_rounds()?;
                let counted = rounds.into_iter().map(|round| {
                    let (kept, _) = store.tally(&round.id)?;
                    Ok((round, Some(kept)))
                });
                let rounds = counted.collect::<Result<Vec<_>, WebError>>()?;
                Ok((rounds, unreadable.into_iter().map(|error| WebError::Store(error).chain()).collect()))
            }
            Origin::Folders { rounds, unreadable, .. } => {
                Ok((rounds.iter().map(|(_, round)| (round.clone(), None)).collect(), unreadable.clone()))
            }
            Origin::Run(_) | Origin::Nothing => Ok((Vec::new(), Vec::new())),
        }
    }

    /// The single run, where there is nothing else.
    pub fn run(&self) -> Option<&Run> {
        match &self.origin {
            Origin::Run(run) => Some(run),
            Origin::Store(_) | Origin::Folders { .. } | Origin::Nothing => None,
        }
    }

    /// A round with its trials.
    ///
    /// # Errors
    /// [`WebError::NotFound`], or what is wrong with its records.
    pub fn round(&self, id: &str) -> Result<Arc<Records>, WebError> {
        let not_found = || WebError::NotFound { kind: "round", id: id.to_owned() };
        match &self.origin {
            Origin::Store(store) => {
                let round = store.round(id)?.ok_or_else(not_found)?;
                let (count, _) = store.tally(id)?;
                let same = |records: &Records| records.round == round && records.trials.len() as u64 == count;
                if let Some(records) = self.remembered(id).filter(|records| same(records)) {
                    return Ok(records);
                }
                let (trials, unreadable) = store.readable_trials(id)?;
                let unreadable = unreadable.into_iter().map(|error| WebError::Store(error).chain()).collect();
                Ok(self.remember(Records { round, trials, unreadable }))
            }
            Origin::Folders { rounds, .. } => {
                if let Some(records) = self.remembered(id) {
                    return Ok(records);
                }
                let (folder, _) = rounds.iter().find(|(_, round)| round.id == id).ok_or_else(not_found)?;
                let (round, trials) = archive::read(folder)?;
                Ok(self.remember(Records { round, trials, unreadable: Vec::new() }))
            }
            Origin::Run(_) | Origin::Nothing => Err(not_found()),
        }
    }

    /// What is made of a round's records as bytes, once for as long as they stay the same: ranks of a large round take
    /// longer than the visitor waits for.
    ///
    /// # Errors
    /// Those of [`Self::round`], and those of `make`.
    pub fn round_page(
        &self,
        id: &str,
        make: impl FnOnce(&Records) -> Result<Vec<u8>, WebError>,
    ) -> Result<Arc<[u8]>, WebError> {
        let records = self.round(id)?;
        let made = |pages: &Pages| {
            pages.iter().find(|(of, _)| Arc::ptr_eq(of, &records)).map(|(_, page)| page.clone())
        };
        if let Some(page) = made(&self.pages.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(page);
        }
        let page: Arc<[u8]> = make(&records)?.into();
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|(of, _)| of.round.id != records.round.id);
        pages.push_front((records, page.clone()));
        pages.truncate(ROUNDS_KEPT);
        Ok(page)
    }

    /// A trial of a round, with its histograms.
    ///
    /// # Errors
    /// [`WebError::NotFound`], or what is wrong with its record.
    pub fn trial(&self, round: &str, id: &str) -> Result<Trial, WebError> {
        let not_found = || WebError::NotFound { kind: "run", id: id.to_owned() };
        match &self.origin {
            Origin::Store(store) => {
                let trial = store.find_trial(id)?;
                if trial.id == id && trial.round == round { Ok(trial) } else { Err(not_found()) }
            }
            Origin::Folders { .. } => {
                let records = self.round(round)?;
                records.trials.iter().find(|trial| trial.id == id).cloned().ok_or_else(not_found)
            }
            Origin::Run(_) | Origin::Nothing => Err(not_found()),
        }
    }

    fn remembered(&self, id: &str) -> Option<Arc<Records>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|records| records.round.id == id).cloned()
    }

    fn remember(&self, records: Records) -> Arc<Records> {
        let records = Arc::new(records);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|other| other.round.id != records.round.id);
        kept.push_front(records.clone());
        kept.truncate(ROUNDS_KEPT);
        records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_made_once_while_its_records_stay_the_same() {
        let history = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../history");
        let library = Library::of_folder(&history).unwrap();
        let (rounds, _) = library.rounds().unwrap();
        let ids: Vec<&str> = rounds.iter().map(|(round, _)| round.id.as_str()).collect();
        let make = |records: &Records| Ok(records.round.id.clone().into_bytes());
        let page = library.round_page(ids[0], make).unwrap();
        let again = library.round_page(ids[0], |_| Err(WebError::Request("made again".to_owned()))).unwrap();
        assert!(Arc::ptr_eq(&page, &again) && &*page == ids[0].as_bytes());
        for id in ids.iter().skip(1) {
            assert_eq!(&*library.round_page(id, make).unwrap(), id.as_bytes());
        }
        assert!(library.pages.lock().unwrap().len() <= ROUNDS_KEPT);
    }
}
