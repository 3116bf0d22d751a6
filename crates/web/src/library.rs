//! The results that pages are made of: a store, exported folders, or single runs.
//!
//! Read-only. A round's trials are read when a page needs them, and the last few rounds are kept in memory with their
//! pages, because visitors often return to the same rounds. Called from blocking threads only: the store blocks.

use crate::WebError;
use crate::content::ResponseContent;
use crate::export::{self, SingleResult};
use crate::page::{
    AnswerSearch, ComparePage, ComparedRound, IndexPage, OverallPage, Records, RoundEntry, RoundPage,
    ThenPage, ThenRound, TimelinePage, TimelineRound, rounds_to_read,
};
use paceline_escape::shell_line;
use paceline_experiment::Capacity;
use paceline_record::slim::OmittedPart;
use paceline_record::{Round, Run, Trial, map_parallel};
use paceline_report::Report;
use paceline_store::{Store, archive};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Rounds that are kept in memory, and how many trials they have together at most: the newest one always stays.
const ROUNDS_KEPT: usize = 6;
const TRIALS_KEPT: usize = 10_000;

/// Rounds in which a server is looked for.
const TIMELINE_ROUNDS: usize = 24;

/// The most trials of all rounds that a page of several rounds reads: parsing one takes about 0.2 ms.
const MAX_TRIALS: u64 = 12_000;

/// Whether a page that has read so many trials reads this round too; the first one however large it is. What was read
/// is counted by the caller, and not what a round says of itself, so that a wrong number keeps out no other round.
fn fits(trials: u64, next: &RoundEntry) -> bool {
    trials == 0 || trials.saturating_add(next.trials()) <= MAX_TRIALS
}

/// A page, and the rounds that it was made of.
type PageOfRounds = (Vec<RoundEntry>, Arc<ResponseContent>);

/// Kept results to be shown.
pub struct Library {
    origin: LibrarySource,
    kept: Mutex<VecDeque<Arc<ReadRound>>>,
    answers: Mutex<Option<PageOfRounds>>,
    /// The time line of each server that was asked for.
    timelines: Mutex<BTreeMap<String, PageOfRounds>>,
    /// A lock for each round that is being read, so that two visitors do not read it twice.
    reading: Mutex<BTreeMap<String, Arc<Mutex<()>>>>,
}

/// Removes what no page of a round shows: most of a trial. A page of a run reads its trial again.
fn reduce(trial: &mut Trial) {
    OmittedPart::Samples.omit_from(trial);
    // The time that a balancer needed after a fault is read from the intervals.
    if trial.balancing.is_none() {
        OmittedPart::AllIntervalTimes.omit_from(trial);
    }
}

enum LibrarySource {
    Store(Box<Store>),
    Folders { root: PathBuf, rounds: Vec<(PathBuf, Round)>, unreadable: Vec<String> },
    Run(Box<Run>),
    Capacity(Box<Capacity>),
    Nothing,
}

/// A round with its page, which is computed only once: the ranks of a large round take longer than a visitor waits.
pub struct ReadRound {
    records: Records,
    report: OnceLock<Report>,
    page: OnceLock<RoundPage>,
    json: OnceLock<Arc<ResponseContent>>,
}

impl ReadRound {
    fn new(records: Records) -> Arc<Self> {
        Arc::new(Self { records, report: OnceLock::new(), page: OnceLock::new(), json: OnceLock::new() })
    }

    /// Its page.
    pub fn page(&self) -> &RoundPage {
        self.page.get_or_init(|| RoundPage::new(&self.records, self.report()))
    }

    /// Its trials, without what no page of a round shows.
    pub fn trials(&self) -> &[Trial] {
        &self.records.trials
    }

    pub(crate) fn report(&self) -> &Report {
        self.report.get_or_init(|| self.records.report())
    }

    /// The overall scores by a metric over the chosen tables, or over all that it orders if none is chosen.
    pub fn overall(&self, metric: &str, tables: &[&str]) -> Option<OverallPage> {
        OverallPage::new(self.page(), self.report(), metric, tables)
    }

    /// The round as one side of a comparison, or one server of it.
    pub fn compared<'a>(&'a self, server: Option<&'a str>) -> ComparedRound<'a> {
        ComparedRound { page: self.page(), report: self.report(), trials: &self.records.trials, server }
    }

    /// Its page as JSON.
    ///
    /// # Errors
    /// [`WebError::Json`] when it cannot be written.
    pub fn json(&self) -> Result<Arc<ResponseContent>, WebError> {
        if let Some(json) = self.json.get() {
            return Ok(json.clone());
        }
        let json = Arc::new(ResponseContent::json(self.page())?);
        Ok(self.json.get_or_init(|| json).clone())
    }
}

/// The rounds over which servers are shown.
pub struct Timelines {
    /// Oldest first.
    rounds: Vec<Arc<ReadRound>>,
    /// The number of measured rounds that are not among them.
    others: usize,
    /// Whether all that were wanted could be read.
    is_whole: bool,
}

impl Timelines {
    /// A server over these rounds; none if no round has it.
    pub fn page(&self, server: &str) -> Option<TimelinePage> {
        let rounds: Vec<TimelineRound<'_>> = self
            .rounds
            .iter()
            .map(|read| TimelineRound {
                page: read.page(),
                report: read.report(),
                trials: &read.records.trials,
            })
            .collect();
        TimelinePage::new(server, &rounds, self.others)
    }
}

impl Library {
    /// The results in a store.
    pub fn of_store(store: Store) -> Self {
        Self::new(LibrarySource::Store(Box::new(store)))
    }

    /// The exported round in a folder, or those in its folders. Of several with one id the first by its path is shown:
    /// addresses have only the id.
    ///
    /// # Errors
    /// [`WebError`] when there is none that can be read.
    pub fn of_folder(folder: &Path) -> Result<Self, WebError> {
        let (mut rounds, mut unreadable, mut first) = (Vec::<(PathBuf, Round)>::new(), Vec::new(), None);
        for path in export::find(folder)? {
            match export::round(&path) {
                Ok(round) => match rounds.iter().find(|(_, other)| other.id == round.id) {
                    None => rounds.push((path, round)),
                    Some((first, _)) => {
                        let first = first.clone();
                        unreadable.push(WebError::SameRound { path, first, id: round.id }.chain());
                    }
                },
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
        Ok(Self::new(LibrarySource::Folders { root: folder.to_owned(), rounds, unreadable }))
    }

    /// No results yet, as during a run.
    pub fn empty() -> Self {
        Self::new(LibrarySource::Nothing)
    }

    /// One run.
    pub fn of_run(run: Run) -> Self {
        Self::new(LibrarySource::Run(Box::new(run)))
    }

    /// The single result in a file.
    ///
    /// # Errors
    /// [`WebError`] when it cannot be read.
    pub fn of_file(path: &Path) -> Result<Self, WebError> {
        Ok(Self::new(match export::result(path)? {
            SingleResult::Run(run) => LibrarySource::Run(run),
            SingleResult::Capacity(capacity) => LibrarySource::Capacity(capacity),
        }))
    }

    fn new(origin: LibrarySource) -> Self {
        Self {
            origin,
            kept: Mutex::default(),
            answers: Mutex::default(),
            timelines: Mutex::default(),
            reading: Mutex::default(),
        }
    }

    /// Where the results are, for people.
    pub fn place(&self) -> String {
        match &self.origin {
            LibrarySource::Store(store) => store.path().display().to_string(),
            LibrarySource::Folders { root, .. } => root.display().to_string(),
            LibrarySource::Run(run) => run.target.url.clone(),
            LibrarySource::Capacity(capacity) => capacity.target.clone(),
            LibrarySource::Nothing => String::new(),
        }
    }

    /// The first page: every round, newest first, and what could not be read.
    ///
    /// # Errors
    /// [`WebError`] when the store cannot be read.
    pub fn index(&self) -> Result<IndexPage, WebError> {
        let of = |rounds, unreadable| IndexPage::from_rounds(self.place(), rounds, unreadable);
        Ok(match &self.origin {
            LibrarySource::Store(store) => {
                let (rounds, unreadable) = store.readable_rounds()?;
                let mut counts = store.counts()?;
                let counted = rounds.into_iter().map(|round| {
                    let kept = counts.remove(&round.id).unwrap_or_default();
                    (round, Some(kept))
                });
                of(
                    counted.collect(),
                    unreadable.into_iter().map(|error| WebError::Store(error).chain()).collect(),
                )
            }
            LibrarySource::Folders { rounds, unreadable, .. } => {
                of(rounds.iter().map(|(_, round)| (round.clone(), None)).collect(), unreadable.clone())
            }
            LibrarySource::Run(_) => IndexPage { only: Some("/run"), ..of(Vec::new(), Vec::new()) },
            LibrarySource::Capacity(_) => IndexPage { only: Some("/capacity"), ..of(Vec::new(), Vec::new()) },
            LibrarySource::Nothing => of(Vec::new(), Vec::new()),
        })
    }

    /// The answers of the first page, which are computed again only when the rounds that they come from change.
    ///
    /// # Errors
    /// [`WebError`] when the rounds cannot be listed. A round that cannot be read is left out: its own page reports it.
    pub fn answers(&self) -> Result<Arc<ResponseContent>, WebError> {
        let index = self.index()?;
        let wanted = rounds_to_read(&index.rounds);
        // Held while they are computed, so that two visitors do not read the same rounds.
        let mut kept = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, content)) = &*kept
            && of.iter().eq(wanted.iter().copied())
        {
            return Ok(content.clone());
        }
        let (mut search, mut trials) = (AnswerSearch::default(), 0);
        for entry in &wanted {
            if fits(trials, entry)
                && let Ok(read) = self.read(&entry.id)
            {
                trials += read.records.trials.len() as u64;
                search.add(entry, read.page());
            }
        }
        let content = Arc::new(ResponseContent::json(&search.finish())?);
        *kept = Some((wanted.into_iter().cloned().collect(), content.clone()));
        Ok(content)
    }

    /// A server over the measured rounds, which is computed again only when they change.
    ///
    /// # Errors
    /// [`WebError::NotFound`] when none of them has it, or what is wrong with the list of rounds.
    pub fn timeline(&self, server: &str) -> Result<Arc<ResponseContent>, WebError> {
        let measured = self.measured()?;
        let kept = || self.timelines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, content)) = kept().get(server)
            && *of == measured
        {
            return Ok(content.clone());
        }
        let read = self.timelines_of(&measured);
        let page = read.page(server);
        let page = page.ok_or_else(|| WebError::NotFound { kind: "server", id: server.to_owned() })?;
        let content = Arc::new(ResponseContent::json(&page)?);
        // A round that could not be read may be readable later.
        if read.is_whole {
            kept().insert(server.to_owned(), (measured, content.clone()));
        }
        Ok(content)
    }

    /// The measured rounds over which servers are shown.
    ///
    /// # Errors
    /// What is wrong with the list of rounds.
    pub fn timelines(&self) -> Result<Timelines, WebError> {
        Ok(self.timelines_of(&self.measured()?))
    }

    /// The measured rounds, newest first.
    fn measured(&self) -> Result<Vec<RoundEntry>, WebError> {
        Ok(self.index()?.rounds.into_iter().filter(|round| !round.imported).collect())
    }

    /// The newest of these rounds, and the first of them however large it is. One that cannot be read is left out: its
    /// own page reports it.
    fn timelines_of(&self, measured: &[RoundEntry]) -> Timelines {
        let (mut rounds, mut trials, mut is_whole) = (Vec::new(), 0, true);
        for entry in measured.iter().take(TIMELINE_ROUNDS) {
            if !fits(trials, entry) {
                break;
            }
            match self.read(&entry.id) {
                Ok(read) => {
                    trials += read.records.trials.len() as u64;
                    rounds.push(read);
                }
                Err(_) => is_whole = false,
            }
        }
        rounds.reverse();
        Timelines { is_whole, others: measured.len() - rounds.len(), rounds }
    }

    /// The published figures beside those of the newest round of each plan.
    ///
    /// # Errors
    /// [`WebError`] when the rounds cannot be listed. A round that cannot be read is left out: its own page reports it.
    pub fn then(&self) -> Result<ThenPage, WebError> {
        let mut plans = BTreeSet::new();
        let rounds = self.index()?.rounds.into_iter();
        let newest = rounds.filter(|round| round.observed > 0 && plans.insert(round.plan.clone())).collect();
        let of = |round: RoundEntry| {
            let read = self.round(&round.id).ok()?;
            Some(ThenRound::from_page(round, read.page()))
        };
        Ok(ThenPage { rounds: map_parallel(newest, of).into_iter().flatten().collect() })
    }

    /// The single run, where there is nothing else.
    pub fn run(&self) -> Option<&Run> {
        match &self.origin {
            LibrarySource::Run(run) => Some(run),
            LibrarySource::Store(_)
            | LibrarySource::Folders { .. }
            | LibrarySource::Capacity(_)
            | LibrarySource::Nothing => None,
        }
    }

    /// The single capacity, where there is nothing else.
    pub fn capacity(&self) -> Option<&Capacity> {
        match &self.origin {
            LibrarySource::Capacity(capacity) => Some(capacity),
            LibrarySource::Store(_)
            | LibrarySource::Folders { .. }
            | LibrarySource::Run(_)
            | LibrarySource::Nothing => None,
        }
    }

    /// A round with its trials, which stays in memory for the next request.
    ///
    /// # Errors
    /// [`WebError::NotFound`], or what is wrong with its records.
    pub fn round(&self, id: &str) -> Result<Arc<ReadRound>, WebError> {
        let lock = {
            let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
            reading.entry(id.to_owned()).or_default().clone()
        };
        let _guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let read = self.read(id);
        if let Ok(read) = &read {
            self.remember(read);
        }
        self.reading.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        read
    }

    /// Two rounds compared, of either one server where it is named.
    pub fn comparison(&self, [a, b]: [&ReadRound; 2], [of_a, of_b]: [Option<&str>; 2]) -> ComparePage {
        let page = ComparePage::new(a.compared(of_a), b.compared(of_b));
        let folder = |read: &ReadRound| match &self.origin {
            LibrarySource::Folders { rounds, .. } => {
                let (folder, _) = rounds.iter().find(|(_, round)| round.id == read.records.round.id)?;
                Some(folder.display().to_string())
            }
            _ => None,
        };
        match (folder(a), folder(b)) {
            (Some(a), Some(b)) => {
                ComparePage { command: shell_line(["paceline", "compare", &a, &b]), ..page }
            }
            _ => page,
        }
    }

    /// A round with its trials: from memory, or read and not kept.
    fn read(&self, id: &str) -> Result<Arc<ReadRound>, WebError> {
        let not_found = || WebError::NotFound { kind: "round", id: id.to_owned() };
        match &self.origin {
            LibrarySource::Store(store) => {
                let round = store.round(id)?.ok_or_else(not_found)?;
                let count = store.count(id)?;
                let same = |read: &ReadRound| {
                    let records = &read.records;
                    records.round == round
                        && (records.trials.len() + records.unreadable.len()) as u64 == count
                };
                if let Some(read) = self.remembered(id).filter(|read| same(read)) {
                    return Ok(read);
                }
                let (trials, unreadable) = store.reduced_trials(id, reduce)?;
                let unreadable = unreadable.into_iter().map(|error| WebError::Store(error).chain()).collect();
                Ok(ReadRound::new(Records { round, trials, unreadable }))
            }
            LibrarySource::Folders { rounds, .. } => {
                if let Some(read) = self.remembered(id) {
                    return Ok(read);
                }
                let (folder, _) = rounds.iter().find(|(_, round)| round.id == id).ok_or_else(not_found)?;
                let (round, trials) = archive::read(folder)?;
                Ok(ReadRound::new(Records { round, trials, unreadable: Vec::new() }))
            }
            LibrarySource::Run(_) | LibrarySource::Capacity(_) | LibrarySource::Nothing => Err(not_found()),
        }
    }

    /// A trial of a round, with its histograms.
    ///
    /// # Errors
    /// [`WebError::NotFound`], or what is wrong with its record.
    pub fn trial(&self, round: &str, id: &str) -> Result<Trial, WebError> {
        let not_found = || WebError::NotFound { kind: "run", id: id.to_owned() };
        match &self.origin {
            LibrarySource::Store(store) => {
                store.trial(id)?.filter(|trial| trial.round == round).ok_or_else(not_found)
            }
            LibrarySource::Folders { .. } => {
                let read = self.round(round)?;
                read.records.trials.iter().find(|trial| trial.id == id).cloned().ok_or_else(not_found)
            }
            LibrarySource::Run(_) | LibrarySource::Capacity(_) | LibrarySource::Nothing => Err(not_found()),
        }
    }

    fn remembered(&self, id: &str) -> Option<Arc<ReadRound>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|read| read.records.round.id == id).cloned()
    }

    fn remember(&self, read: &Arc<ReadRound>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|other| other.records.round.id != read.records.round.id);
        kept.push_front(read.clone());
        kept.truncate(ROUNDS_KEPT);
        let mut trials = 0;
        let fitting = kept.iter().take_while(|read| {
            trials += read.records.trials.len();
            trials <= TRIALS_KEPT
        });
        let fitting = fitting.count().max(1);
        kept.truncate(fitting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_made_once_while_its_records_stay_the_same() {
        let history = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../history");
        let library = Library::of_folder(&history).unwrap();
        let rounds = library.index().unwrap().rounds;
        let first = library.round(&rounds[0].id).unwrap();
        let again = library.round(&rounds[0].id).unwrap();
        assert!(Arc::ptr_eq(&first.json().unwrap(), &again.json().unwrap()));
        for round in &rounds {
            assert_eq!(library.round(&round.id).unwrap().page().about.id, round.id);
        }
        assert_eq!(library.kept.lock().unwrap().len(), ROUNDS_KEPT);
    }

    #[test]
    fn of_two_folders_with_one_round_the_second_is_named_and_not_listed() {
        let history = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../history/source-001");
        let folder = tempfile::tempdir().unwrap();
        for copy in ["first", "second"] {
            let copy = folder.path().join(copy);
            std::fs::create_dir(&copy).unwrap();
            for file in ["round.json", "trials.ndjson.gz"] {
                std::fs::copy(history.join(file), copy.join(file)).unwrap();
            }
        }
        let library = Library::of_folder(folder.path()).unwrap();
        let index = library.index().unwrap();
        assert_eq!((index.rounds.len(), index.unreadable.len()), (1, 1));
        let said = &index.unreadable[0];
        assert!(
            said.contains("second has the same id as that in ") && said.contains(&index.rounds[0].id),
            "{said}"
        );
        assert!(library.round(&index.rounds[0].id).is_ok());
    }

    #[test]
    fn a_round_that_says_it_is_huge_hides_no_other_one() {
        let history = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../history");
        let folder = tempfile::tempdir().unwrap();
        let rounds = [("archive/sold-on-go-2026-11-21", true), ("archive/frameworks-2026-11-22", false)];
        for (name, is_huge) in rounds {
            let from = history.join(name);
            let to = folder.path().join(from.file_name().unwrap());
            std::fs::create_dir(&to).unwrap();
            std::fs::copy(from.join("trials.ndjson.gz"), to.join("trials.ndjson.gz")).unwrap();
            let text = std::fs::read_to_string(from.join("round.json")).unwrap();
            let mut round: serde_json::Value = serde_json::from_str(&text).unwrap();
            if is_huge {
                round["planned"] = u32::MAX.into();
                round["started_at"] = "2026-11-30T00:00:00Z".into();
            }
            std::fs::write(to.join("round.json"), round.to_string()).unwrap();
        }
        let library = Library::of_folder(folder.path()).unwrap();
        let rounds = library.index().unwrap().rounds;
        assert_eq!((&*rounds[0].plan, rounds.len()), ("sold-on-go", 2));
        assert!(library.timeline("go-nethttp").is_ok(), "the newest, however large it is");
        assert_eq!(library.timelines().unwrap().rounds.len(), 2);
        let answers = library.answers().unwrap();
        let answers = String::from_utf8_lossy(answers.plain());
        assert!(answers.contains(&rounds[1].id), "the JSON question is answered by the older round");
    }

    #[test]
    fn a_damaged_round_does_not_hide_the_published_figures_of_others() {
        let history = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../history");
        let folder = tempfile::tempdir().unwrap();
        for name in ["archive/sold-on-go-2026-11-21", "archive/rabbit-hole-2026-11-21"] {
            let from = history.join(name);
            let to = folder.path().join(from.file_name().unwrap());
            std::fs::create_dir(&to).unwrap();
            for file in ["round.json", "trials.ndjson.gz"] {
                std::fs::copy(from.join(file), to.join(file)).unwrap();
            }
        }
        let plans = || -> BTreeSet<String> {
            let then = Library::of_folder(folder.path()).unwrap().then().unwrap();
            then.rounds.into_iter().map(|then| then.round.plan).collect()
        };
        assert_eq!(plans(), BTreeSet::from(["rabbit-hole", "sold-on-go"].map(str::to_owned)));
        std::fs::write(folder.path().join("rabbit-hole-2026-11-21/trials.ndjson.gz"), "damaged").unwrap();
        assert_eq!(plans(), BTreeSet::from(["sold-on-go".to_owned()]));
    }

    #[test]
    fn the_command_of_a_comparison_names_the_folders_of_exported_rounds() {
        let history = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../history");
        let library = Library::of_folder(&history).unwrap();
        let [a, b] = ["source-000", "source-001"].map(|name| history.join(name));
        let [first, second] =
            [&a, &b].map(|folder| library.round(&archive::read(folder).unwrap().0.id).unwrap());
        let page = library.comparison([&first, &second], [None, None]);
        assert_eq!(page.command, format!("paceline compare {} {}", a.display(), b.display()));
    }

    #[test]
    fn only_the_newest_large_round_stays_cached() {
        let records = |id: &str, count: usize| {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../history/source-001");
            let (round, trials) = archive::read(&folder).unwrap();
            let trials = trials.iter().cycle().take(count).cloned().collect();
            Records { round: Round { id: id.to_owned(), ..round }, trials, unreadable: Vec::new() }
        };
        let library = Library::empty();
        for (id, count) in [("a", 10), ("b", 10), ("c", TRIALS_KEPT + 1)] {
            library.remember(&ReadRound::new(records(id, count)));
        }
        assert!(library.remembered("b").is_none() && library.remembered("c").is_some());
        library.remember(&ReadRound::new(records("d", 10)));
        assert!(library.remembered("c").is_none() && library.remembered("d").is_some());
    }
}
