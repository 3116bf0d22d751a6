//! `paceline store`: checks, exports, imports and deletes kept results.
//!
//! Called by `main`. Reports are in `report`.

use super::archive;
use super::format::PrintFormatFlag;
use super::round::lock_round;
use crate::documents::StoreCheckDocument;
use crate::exit::{Complaint, Status, error_text, print, say};
use crate::lab_folders::path_or_nothing;
use crate::store_location::{ReadableRecords, StoreArguments, complain, state_dir};
use anyhow::Context as _;
use clap::builder::NonEmptyStringValueParser;
use paceline_escape::{TerminalText, terminal};
use paceline_host::{FileLock, Id};
use paceline_record::{Round, Trial};
use paceline_stats::counted;
use paceline_store::{Store, StoreError};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  paceline store check                             verify checksums and counts
  paceline store export 20261121-01 history/quick  write a round to a folder
  paceline store import history/quick              read the exported round back
  paceline store import wrk.txt results.json       read reports of other programs
  paceline store prune --keep 3 --dry-run          show what would be deleted
  paceline store delete 20261121-01";

/// Largest report of another program. The results of a whole TechEmpower round have some megabytes; JSON needs twenty
/// times its size in memory.
const MAX_REPORT_BYTES: u64 = 16 << 20;

/// Flags of `paceline store`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    store: StoreArguments,
    /// Folder for builds, logs and results [default: `.paceline` next to the servers' folder]
    #[arg(long, global = true, value_name = "DIR", env = "PACELINE_HOME", hide_env_values = true, value_parser = path_or_nothing())]
    state_dir: Option<PathBuf>,
}

/// The action on the kept results.
#[derive(clap::Subcommand)]
enum Action {
    /// Verify every record: structure, checksum, keys, sums of outcomes, and counts of histograms
    Check {
        #[command(flatten)]
        print: PrintFormatFlag,
    },
    /// Write a round with its trials to a folder, usually below 2 MB, to keep with a project
    Export {
        /// The round: its id or a prefix of its id
        round: String,
        /// The folder to write to; it is created
        folder: PathBuf,
    },
    /// Add rounds: exported folders, and reports of ab, autocannon, fortio, h2load, hey, httperf, k6, oha, siege,
    /// vegeta, wrk, wrk2, zrk, TechEmpower and HttpArena
    Import {
        /// Folders of exported rounds, and report files of other load generators
        #[arg(required = true)]
        paths: Vec<PathBuf>,
        /// Replace a stored round that has the same id
        #[arg(long)]
        replace: bool,
    },
    /// Delete old rounds, keeping the newest of each plan; unfinished rounds stay
    Prune {
        /// Number of finished rounds of each plan to keep
        #[arg(long, value_name = "N")]
        keep: usize,
        /// Delete only rounds of this plan
        #[arg(long, value_name = "NAME")]
        plan: Option<String>,
        /// Only print what would be deleted
        #[arg(long)]
        dry_run: bool,
    },
    /// Delete rounds with their trials
    Delete {
        /// Ids of rounds, or beginnings of ids
        // Every id begins with an empty text, such as that of a variable that is not set.
        #[arg(required = true, value_parser = NonEmptyStringValueParser::new())]
        rounds: Vec<String>,
    },
}

/// Runs the action.
pub fn run(arguments: Arguments) -> anyhow::Result<Status> {
    let Arguments { action, store, state_dir: flag } = arguments;
    let state_dir = state_dir(flag);
    let place = store.path(&state_dir);
    match action {
        Action::Check { print } => check(&Store::open_existing(&place).map_err(complain)?, print),
        Action::Export { round, folder } => {
            let store = Store::open_existing(&place).map_err(complain)?;
            export(&store, &round, &folder, &state_dir)
        }
        Action::Import { paths, replace } => import(&Store::open(&place).map_err(complain)?, &paths, replace),
        Action::Prune { keep, plan, dry_run } => {
            let store = if dry_run { Store::open_existing(&place) } else { existing_for_writing(&place) };
            prune(&store.map_err(complain)?, keep, plan.as_deref(), dry_run)
        }
        Action::Delete { rounds } => delete(&existing_for_writing(&place).map_err(complain)?, &rounds),
    }
}

/// Opens an existing store for writing; never creates one.
fn existing_for_writing(place: &Path) -> Result<Store, StoreError> {
    drop(Store::open_existing(place)?);
    Store::open(place)
}

fn check(store: &Store, format: PrintFormatFlag) -> anyhow::Result<Status> {
    let checked = store.check().map_err(complain)?;
    let status = if checked.problems.is_empty() { Status::Done } else { Status::Failed };
    if format.is_json() {
        format.print_document(&StoreCheckDocument {
            store: store.path().display().to_string(),
            rounds: checked.rounds,
            trials: checked.trials,
            histograms: checked.histograms,
            without_checksum: checked.without_checksum,
            problems: checked.problems.iter().map(ToString::to_string).collect(),
        })?;
        return Ok(status);
    }
    let mut text: TerminalText =
        checked.problems.iter().map(|problem| terminal!("{}\n", problem.to_string())).collect();
    let found = match checked.problems.len() {
        0 => "no problems".to_owned(),
        count => counted(count, "problem", "problems"),
    };
    text.push(&terminal!(
        "{}: {}, {}, {} read; {}\n",
        store.path().display().to_string(),
        counted(checked.rounds, "round", "rounds"),
        counted(checked.trials, "trial", "trials"),
        counted(checked.histograms, "histogram", "histograms"),
        found
    ));
    if checked.without_checksum > 0 {
        text.push(&terminal!(
            "{} written without a checksum by an older version of Paceline: some damage to them may not be detected\n",
            checked.without_checksum
        ));
    }
    print(text)?;
    Ok(status)
}

fn export(store: &Store, prefix: &str, folder: &Path, state_dir: &Path) -> anyhow::Result<Status> {
    let round = store.find_round(prefix).map_err(complain)?;
    let trials = ReadableRecords::from_read(store.readable_whole_trials(&round.id))?;
    print(archive::write(folder, &round, &trials.records, state_dir, store.file())?)?;
    Ok(trials.status())
}

fn import(store: &Store, paths: &[PathBuf], replace: bool) -> anyhow::Result<Status> {
    for path in paths {
        let (round, trials) = if path.is_dir() { archive::read(path)? } else { foreign(path)? };
        let _lock = lock(store, &round.id)?;
        store.put_whole(&round, &trials, replace).map_err(|error| cannot_import(path, error))?;
        let of = counted(trials.len(), "trial", "trials");
        let imported = terminal!("imported round {} of plan {}: {}\n", round.id, round.plan, of);
        print(imported)?;
    }
    Ok(Status::Done)
}

/// A store error with the path that was to be imported.
fn cannot_import(path: &Path, error: StoreError) -> anyhow::Error {
    let mut complaint = match complain(error).downcast::<Complaint>() {
        Ok(complaint) => complaint,
        Err(other) => return other,
    };
    complaint.what = format!("cannot import {}: {}", path.display(), complaint.what);
    complaint.into()
}

/// Reads a report of another program, or a file of published figures.
fn foreign(path: &Path) -> anyhow::Result<(Round, Vec<Trial>)> {
    let (name, text) = report_text(path)?;
    paceline_import::read(&name, &text).map_err(|error| Complaint::usage(error_text(&error)).into())
}

/// The name of a report's file, without folders, and its text.
pub(super) fn report_text(path: &Path) -> anyhow::Result<(String, String)> {
    let text = paceline_files::read_text(path, MAX_REPORT_BYTES)
        .with_context(|| Complaint::usage(format!("cannot read {}", path.display())))?;
    Ok((path.file_name().unwrap_or_default().to_string_lossy().into_owned(), text))
}

fn prune(store: &Store, keep: usize, plan: Option<&str>, dry_run: bool) -> anyhow::Result<Status> {
    let rounds = ReadableRecords::from_read(store.readable_rounds())?;
    let old = beyond(&rounds.records, keep, plan);
    for round in &old {
        if !dry_run {
            remove(store, &round.id)?;
        }
        let done = if dry_run { "would delete" } else { "deleted" };
        // Some imported reports have no time.
        let begun = if round.started_at.is_empty() { "" } else { ", started " };
        let line =
            terminal!("{} round {} of plan {}{}{}\n", done, round.id, round.plan, begun, round.started_at);
        print(line)?;
    }
    if !dry_run && !old.is_empty() {
        compact(store)?;
    }
    let done = if dry_run { "would delete" } else { "deleted" };
    print(&format!("{done} {} of {}\n", old.len(), counted(rounds.records.len(), "round", "rounds")))?;
    Ok(rounds.status())
}

/// The finished rounds, newest first, without the first `keep` of each plan.
fn beyond<'a>(rounds: &'a [Round], keep: usize, plan: Option<&str>) -> Vec<&'a Round> {
    let mut kept: HashMap<&str, usize> = HashMap::new();
    let finished = rounds.iter().filter(|round| round.finished_at.is_some());
    let asked = finished.filter(|round| plan.is_none_or(|plan| plan == round.plan));
    asked
        .filter(|round| {
            let count = kept.entry(&round.plan).or_default();
            *count += 1;
            *count > keep
        })
        .collect()
}

fn delete(store: &Store, prefixes: &[String]) -> anyhow::Result<Status> {
    for prefix in prefixes {
        // An unreadable round can be deleted by its complete id.
        let id = match store.find_round(prefix) {
            Err(StoreError::Altered { id, .. } | StoreError::Record { id, .. }) if id == *prefix => id,
            found => found.map_err(complain)?.id,
        };
        let trials = remove(store, &id)?;
        print(terminal!("deleted round {} with {}\n", id, counted(trials, "trial", "trials")))?;
    }
    compact(store)?;
    Ok(Status::Done)
}

/// Shrinks the file after a deletion, which needs as much free space as it has content. Without that it keeps its size.
fn compact(store: &Store) -> anyhow::Result<()> {
    match store.compact() {
        Err(StoreError::Full { .. }) => {
            say("paceline: the results file keeps its size: shrinking it needs free disk space for a copy");
            Ok(())
        }
        compacted => compacted.map_err(complain),
    }
}

/// Deletes a round that no process is running.
fn remove(store: &Store, id: &str) -> anyhow::Result<u64> {
    let _lock = lock(store, id)?;
    store.delete_round(id).map_err(complain)
}

/// Locks a round, so that no process runs it. An id that is not a valid file name was never locked.
fn lock(store: &Store, id: &str) -> anyhow::Result<Option<FileLock>> {
    Ok(Id::parse(id).ok().map(|id| lock_round(&id, store)).transpose()?.flatten())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct TestFlags {
        #[command(flatten)]
        _arguments: Arguments,
    }

    #[test]
    fn an_empty_id_deletes_no_round() {
        let parses =
            |words: &[&str]| TestFlags::try_parse_from([&["store", "delete"], words].concat()).is_ok();
        assert!(parses(&["a"]) && !parses(&[""]) && !parses(&["a", ""]));
    }

    #[test]
    fn the_newest_rounds_of_each_plan_are_kept() {
        let text = include_str!("../../../report/tests/fixtures/quick.round.json");
        let round = |id: &str, plan: &str, finished: bool| {
            let mut round = paceline_record::read_round(text).unwrap();
            (round.id, round.plan) = (id.to_owned(), plan.to_owned());
            round.finished_at = finished.then(|| "2026-11-21T02:00:00.000Z".to_owned());
            round
        };
        let rounds = [
            round("6", "a", false),
            round("5", "a", true),
            round("4", "b", true),
            round("3", "a", true),
            round("2", "a", false),
            round("1", "b", true),
        ];
        let ids =
            |keep, plan| beyond(&rounds, keep, plan).iter().map(|round| round.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(1, None), ["3", "1"]);
        assert_eq!(ids(1, Some("b")), ["1"]);
        assert_eq!(ids(0, Some("a")), ["5", "3"]);
        assert_eq!(ids(2, None), [] as [&str; 0]);
    }
}
