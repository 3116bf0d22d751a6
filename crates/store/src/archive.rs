//! A round as a folder that can be kept with a project: `round.json` with the round and its environment, and
//! `trials.ndjson.gz` with one trial per line.
//!
//! `paceline report --export` and `paceline store export` write it; `--from`, `paceline store import` and `paceline
//! view` read it. The caller adds other files, such as a report and a README.

use flate2::{Compression, GzBuilder};
use paceline_files::{FileError, MAX_TEXT_BYTES, StagedFile};
use paceline_record::{Id, InvalidId, RecordError, Round, Trial, is_timestamp, read_round, read_trial};
use serde_json::Value;
use std::collections::HashMap;
use std::io::{self, BufRead, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// The file with the round.
pub const ROUND: &str = "round.json";
/// The file with the trials.
pub const TRIALS: &str = "trials.ndjson.gz";
/// The trials of the round that an export replaces, from before its first rename until after its last: if it is killed
/// between them, `round.json` and these are still a whole export.
const PREVIOUS: &str = ".trials.ndjson.gz.previous";
/// The round that it replaces, for the same time: while it is `round.json`, the trials of [`PREVIOUS`] belong to it,
/// also if the new trials are of the same round.
const PREVIOUS_ROUND: &str = ".round.json.previous";
/// Most decompressed bytes of trials. The largest round in `history/` has 7 MB.
const MAX_INFLATED_BYTES: u64 = 256 << 20;
/// Most bytes of a line, which is one trial. The longest in `history/` has 0.2 MB.
const MAX_LINE_BYTES: u64 = 8 << 20;
/// Most trials of one export: more than any plan has, and few enough to be held in memory.
const MAX_TRIALS: usize = 100_000;
/// Most launches of a row: a figure is fitted with an effect for each.
const MAX_REPEATS: u32 = 1_000;
/// Most values in the evidence of a trial's verdicts, the only part of a record without a fixed structure: a line of
/// `[],[],` would need ten times its size in memory.
const MAX_EVIDENCE_VALUES: usize = 10_000;

/// Why a folder cannot be read or written as an exported round.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// User: the folder holds no export.
    #[error("{} contains no exported round: {ROUND} is missing", folder.display())]
    Missing {
        /// The folder.
        folder: PathBuf,
    },
    /// Environment or user: a file cannot be read or written, or is larger than the limit.
    #[error("cannot {action} {at}")]
    File {
        /// "read" or "write".
        action: &'static str,
        /// The file, and the line if there is one.
        at: String,
        /// The system's error, or the limit.
        #[source]
        source: io::Error,
    },
    /// User: the content of a file is not a record.
    #[error("{at}")]
    Record {
        /// The file, and the line if there is one.
        at: String,
        /// The problem.
        #[source]
        source: RecordError,
    },
    /// User: an id that is no id of this program, and could be a path or a part of a command line.
    #[error("{at}: {source}")]
    Forged {
        /// The file and line, or the round in the store.
        at: String,
        /// The problem.
        source: InvalidId,
    },
    /// User: a time that is none, by which rounds would be ordered.
    #[error("{at}: {found:?} is not a time in the form 2026-11-21T01:06:39Z")]
    Time {
        /// The file, and the line if there is one.
        at: String,
        /// The text in its place.
        found: String,
    },
    /// User: two exports are mixed, or one was interrupted.
    #[error("{at}: {problem}")]
    Mixed {
        /// The file and line.
        at: String,
        /// The problem.
        problem: String,
        /// The round of the folder.
        round: String,
    },
}

/// Reads a round with its trials. After an export over it was killed, this is the earlier round or the new one. Files
/// of two different exports are rejected.
///
/// # Errors
/// [`ArchiveError`] with file and line.
pub fn read(folder: &Path) -> Result<(Round, Vec<Trial>), ArchiveError> {
    read_at_most(folder, MAX_INFLATED_BYTES)
}

fn read_at_most(folder: &Path, max_inflated: u64) -> Result<(Round, Vec<Trial>), ArchiveError> {
    let path = folder.join(ROUND);
    if !path.exists() {
        return Err(ArchiveError::Missing { folder: folder.to_owned() });
    }
    let cannot = |at: String| |source| ArchiveError::File { action: "read", at, source };
    let at = path.display().to_string();
    let text = paceline_files::read_text(&path, MAX_TEXT_BYTES).map_err(cannot(at.clone()))?;
    let round = read_round(&text).map_err(|source| ArchiveError::Record { at: at.clone(), source })?;
    check_id(&round.id, || at.clone())?;
    check_times([Some(&round.started_at), round.finished_at.as_ref()], &at)?;
    let previous = folder.join(PREVIOUS);
    if has_earlier_round(folder) {
        let trials = read_trials(&previous, &round, max_inflated)?;
        return Ok((round, trials));
    }
    let trials = match read_trials(&folder.join(TRIALS), &round, max_inflated) {
        Err(ArchiveError::Mixed { .. }) if previous.exists() => read_trials(&previous, &round, max_inflated),
        trials => trials,
    };
    Ok((round, trials?))
}

/// Whether an export over this one began to replace its files, but not its round: its trials are the previous ones.
fn has_earlier_round(folder: &Path) -> bool {
    let bytes = |name: &str| paceline_files::read(&folder.join(name), MAX_TEXT_BYTES).ok();
    let is_round = |previous: Vec<u8>| bytes(ROUND) == Some(previous);
    folder.join(PREVIOUS).exists() && bytes(PREVIOUS_ROUND).is_some_and(is_round)
}

fn read_trials(path: &Path, round: &Round, max_inflated: u64) -> Result<Vec<Trial>, ArchiveError> {
    let cannot = |at: String| |source| ArchiveError::File { action: "read", at, source };
    let lines = paceline_files::open_gzip(path, max_inflated).map_err(cannot(path.display().to_string()))?;
    let mut trials = Vec::new();
    let mut lines_by_id = HashMap::new();
    for (line, text) in (1..).zip(BoundedLines(lines)) {
        let at = format!("{}, line {line}", path.display());
        let text = text.map_err(cannot(at.clone()))?;
        let trial = read_trial(&text).map_err(|source| ArchiveError::Record { at: at.clone(), source })?;
        check_id(&trial.id, || at.clone())?;
        check_times([Some(&trial.started_at), None], &at)?;
        let first = *lines_by_id.entry(trial.id.clone()).or_insert(line);
        let mixed = |problem| Err(ArchiveError::Mixed { at: at.clone(), problem, round: round.id.clone() });
        if let Some(problem) = misplaced(&trial, round, (first < line).then_some(first)) {
            return mixed(problem);
        }
        if trials.len() == MAX_TRIALS {
            return mixed(format!("the round has more than the maximum of {MAX_TRIALS} trials"));
        }
        trials.push(trial);
    }
    Ok(trials)
}

/// Checks the ids of a round and its trials, which may come from a store of another person.
///
/// # Errors
/// [`ArchiveError::Forged`].
pub fn check_ids(round: &Round, trials: &[Trial]) -> Result<(), ArchiveError> {
    check_id(&round.id, || "the round".to_owned())?;
    let of_trial =
        |(number, trial): (usize, &Trial)| check_id(&trial.id, || format!("trial {number} of the round"));
    (1..).zip(trials).try_for_each(of_trial)
}

/// Checks the times of a record: rounds are ordered by them, as text. Some imported reports have none.
fn check_times(times: [Option<&String>; 2], at: &str) -> Result<(), ArchiveError> {
    let mut given = times.into_iter().flatten().filter(|time| !time.is_empty());
    match given.find(|time| !is_timestamp(time)) {
        Some(found) => Err(ArchiveError::Time { at: at.to_owned(), found: found.clone() }),
        None => Ok(()),
    }
}

fn check_id(id: &str, at: impl FnOnce() -> String) -> Result<(), ArchiveError> {
    Id::parse(id).map(drop).map_err(|source| ArchiveError::Forged { at: at(), source })
}

/// An iterator over lines of at most [`MAX_LINE_BYTES`], without a byte order mark.
struct BoundedLines<R>(R);

impl<R: BufRead> Iterator for BoundedLines<R> {
    type Item = io::Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut line = Vec::new();
        let read = (&mut self.0).take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut line);
        match read {
            Ok(0) => None,
            Ok(_) if line.len() as u64 > MAX_LINE_BYTES => {
                Some(Err(FileError::TooLarge(MAX_LINE_BYTES).into()))
            }
            Ok(_) => Some(paceline_files::text(line).map_err(io::Error::from)),
            Err(error) => Some(Err(error)),
        }
    }
}

/// The problem with a trial at this place: it belongs to another round, is also on an earlier line, or exceeds a limit.
fn misplaced(trial: &Trial, round: &Round, earlier: Option<usize>) -> Option<String> {
    if trial.round != round.id {
        return Some(format!(
            "trial {} belongs to round {}, but the file {ROUND} is of round {}",
            trial.id, trial.round, round.id
        ));
    }
    if trial.repeat >= MAX_REPEATS {
        return Some(format!(
            "trial {} has repeat number {} (from 0); the maximum is {}",
            trial.id,
            trial.repeat,
            MAX_REPEATS - 1
        ));
    }
    if evidence_values(trial) > MAX_EVIDENCE_VALUES {
        return Some(format!(
            "the verdicts of trial {} have too many values of evidence; the maximum is {MAX_EVIDENCE_VALUES}",
            trial.id
        ));
    }
    Some(format!("trial {} is also on line {}", trial.id, earlier?))
}

/// Number of JSON values in the evidence of a trial's verdicts.
fn evidence_values(trial: &Trial) -> usize {
    fn size(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
            Value::Object(members) => 1 + members.values().map(size).sum::<usize>(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
        }
    }
    let of_run = trial.run.iter().flat_map(|run| &run.verdicts);
    of_run.chain(&trial.verdicts).flat_map(|verdict| verdict.evidence.values()).map(size).sum()
}

/// The trials in the format of [`TRIALS`]: the same trials give the same bytes.
///
/// # Errors
/// When a trial contains a number that JSON cannot represent.
pub fn pack(trials: &[Trial]) -> io::Result<Vec<u8>> {
    // The gzip header contains no name and no time.
    let mut packer = GzBuilder::new().write(Vec::new(), Compression::best());
    for trial in trials {
        serde_json::to_writer(&mut packer, trial)?;
        packer.write_all(b"\n")?;
    }
    packer.finish()
}

/// Writes packed trials, other files by name, and the round, in place of an earlier export. All bytes are on disk
/// before the first file of the earlier export is replaced, and the round is replaced last: an export that is killed or
/// fails leaves the earlier one or the new one, never a part.
///
/// # Errors
/// [`ArchiveError::File`] with the file.
pub fn write(
    folder: &Path,
    round: &Round,
    packed: &[u8],
    others: &[(&str, &str)],
) -> Result<(), ArchiveError> {
    let failed = |action, path: &Path| {
        let at = path.display().to_string();
        move |source| ArchiveError::File { action, at, source }
    };
    std::fs::create_dir_all(folder).map_err(failed("create", folder))?;
    let text = serde_json::to_string_pretty(round)
        .map_err(|error| failed("write", &folder.join(ROUND))(error.into()))?;
    let text = text + "\n";
    let mut files = vec![(TRIALS, packed)];
    files.extend(others.iter().map(|(name, text)| (*name, text.as_bytes())));
    files.push((ROUND, text.as_bytes()));
    let stage = |(name, bytes): &(&str, &[u8])| {
        let path = folder.join(name);
        StagedFile::new(&path, bytes).map(|file| (file, path.clone())).map_err(failed("write", &path))
    };
    let staged: Vec<(StagedFile, PathBuf)> = files.iter().map(stage).collect::<Result<_, _>>()?;
    let [previous, previous_round] = [PREVIOUS, PREVIOUS_ROUND].map(|name| folder.join(name));
    keep_previous(folder).map_err(failed("write", &previous))?;
    for (file, path) in staged {
        file.commit().map_err(failed("write", &path))?;
    }
    // The round first: the new one can have the same bytes.
    remove(&previous_round).map_err(failed("remove", &previous_round))?;
    // If it stays, the next export removes it: it is read only while the other files do not belong together.
    let _ = std::fs::remove_file(previous);
    Ok(())
}

/// Keeps the trials and the round of a whole export under second names. One whose replacement was killed is restored
/// first.
fn keep_previous(folder: &Path) -> io::Result<()> {
    let [trials, round, previous, previous_round] =
        [TRIALS, ROUND, PREVIOUS, PREVIOUS_ROUND].map(|name| folder.join(name));
    if previous.exists() {
        let are_mixed = || match read(folder) {
            Ok((round, _)) => read_trials(&trials, &round, MAX_INFLATED_BYTES).is_err(),
            Err(_) => false,
        };
        if has_earlier_round(folder) || are_mixed() {
            std::fs::rename(&previous, &trials)?;
        }
        // A rename does nothing if both are names of the same file (rename(2)).
        remove(&previous)?;
    }
    remove(&previous_round)?;
    link(&trials, &previous)?;
    link(&round, &previous_round)
}

/// Removes a file that may be missing.
fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Gives a file a second name, if there is one and the file system can.
fn link(file: &Path, second: &Path) -> io::Result<()> {
    match std::fs::hard_link(file, second) {
        // There was no export, or the file system has no second names.
        Err(error)
            if [io::ErrorKind::NotFound, io::ErrorKind::PermissionDenied, io::ErrorKind::Unsupported]
                .contains(&error.kind()) =>
        {
            Ok(())
        }
        linked => linked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The report crate's stored round with its trials, with this id.
    fn stored(id: &str) -> (Round, Vec<Trial>) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/fixtures");
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        let mut round = read_round(&text("quick.round.json")).unwrap();
        round.id = id.to_owned();
        let lines = text("quick.trials.jsonl");
        let trial = |line| Trial { round: id.to_owned(), ..read_trial(line).unwrap() };
        (round, lines.lines().map(trial).collect())
    }

    /// A folder with an export of round `one` and these trials, each list compressed separately.
    fn with_trials(lists: &[&[Trial]]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let members: Vec<Vec<u8>> = lists.iter().map(|trials| pack(trials).unwrap()).collect();
        write(folder.path(), &stored("one").0, &members.concat(), &[]).unwrap();
        folder
    }

    fn refused(lists: &[&[Trial]]) -> String {
        read(with_trials(lists).path()).unwrap_err().to_string()
    }

    #[test]
    fn trials_of_another_round_or_twice_the_same_are_refused() {
        let (one, two) = (stored("one").1, stored("two").1);
        let mixed = refused(&[&one[..2], &two[2..3]]);
        let expected = format!(
            "{TRIALS}, line 3: trial {} belongs to round two, but the file {ROUND} is of round one",
            two[2].id
        );
        assert!(mixed.ends_with(&expected), "{mixed}");
        let twice = refused(&[&[one[0].clone(), one[1].clone(), one[0].clone()]]);
        assert!(twice.contains(&format!("line 3: trial {} is also on line 1", one[0].id)), "{twice}");
    }

    #[test]
    fn no_trial_is_dropped() {
        let trials = stored("one").1;
        let folder = with_trials(&[&trials[..2], &trials[2..]]);
        assert_eq!(read(folder.path()).unwrap().1, trials);
    }

    #[test]
    fn a_byte_order_mark_before_the_trials_is_skipped() {
        let trials = stored("one").1;
        let folder = with_trials(&[&trials]);
        let path = folder.path().join(TRIALS);
        let mut packer = GzBuilder::new().write(Vec::new(), Compression::fast());
        packer.write_all("\u{feff}".as_bytes()).unwrap();
        let marked = [packer.finish().unwrap(), std::fs::read(&path).unwrap()].concat();
        std::fs::write(&path, marked).unwrap();
        assert_eq!(read(folder.path()).unwrap().1, trials);
    }

    #[test]
    fn an_export_that_inflates_beyond_the_limit_is_refused() {
        let trials = stored("one").1;
        let folder = with_trials(&[&trials]);
        assert!(read_at_most(folder.path(), 1 << 30).is_ok());
        let ArchiveError::File { source, .. } = read_at_most(folder.path(), 2048).unwrap_err() else {
            panic!("not refused by its size")
        };
        assert_eq!(source.to_string(), "the file decompresses to more than the maximum of 2 KiB");
    }

    #[test]
    fn a_line_longer_than_any_trial_is_refused() {
        let folder = with_trials(&[]);
        let mut packer = GzBuilder::new().write(Vec::new(), Compression::fast());
        packer.write_all(&vec![b' '; MAX_LINE_BYTES as usize + 1]).unwrap();
        std::fs::write(folder.path().join(TRIALS), packer.finish().unwrap()).unwrap();
        let error = read(folder.path()).unwrap_err();
        let ArchiveError::File { at, source, .. } = &error else { panic!("{error}") };
        assert!(at.ends_with(", line 1"), "{at}");
        assert_eq!(source.to_string(), "the file is larger than the maximum of 8 MiB");
    }

    #[test]
    fn a_launch_beyond_any_plan_is_refused() {
        let mut trial = stored("one").1[0].clone();
        trial.repeat = u32::MAX;
        let error = refused(&[&[trial]]);
        assert!(error.ends_with("has repeat number 4294967295 (from 0); the maximum is 999"), "{error}");
    }

    #[test]
    fn a_forged_id_is_refused() {
        let mut trial = stored("one").1[0].clone();
        trial.id = "../../home".to_owned();
        let error = refused(&[&[trial]]);
        assert!(error.contains("line 1: invalid id \"../../home\""), "{error}");
    }

    #[test]
    fn every_round_of_the_project_is_read() {
        let history = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../history");
        let folders = [history.join("archive"), history];
        let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
        let rounds: Vec<PathBuf> =
            entries.map(|entry| entry.unwrap().path()).filter(|folder| folder.join(ROUND).exists()).collect();
        assert!(rounds.len() > 10, "{rounds:?}");
        rounds.iter().for_each(|folder| drop(read(folder).unwrap()));
    }

    #[test]
    fn a_time_that_is_none_is_refused() {
        let mut trial = stored("one").1[0].clone();
        trial.started_at = "zz<b>next year".to_owned();
        let error = refused(&[&[trial]]);
        assert!(error.contains("line 1: \"zz<b>next year\" is not a time"), "{error}");
        let (mut round, trials) = stored("one");
        round.started_at = "zz<b>next year".to_owned();
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &round, &pack(&trials).unwrap(), &[]).unwrap();
        assert!(matches!(read(folder.path()), Err(ArchiveError::Time { .. })));
    }

    #[test]
    fn evidence_with_too_many_values_is_refused() {
        let mut trial = stored("one").1[0].clone();
        let values = vec![serde_json::json!([]); MAX_EVIDENCE_VALUES];
        let verdict = serde_json::json!({
            "name": "outage", "blame": "server", "severity": "note", "remedy": "", "evidence": { "x": values },
        });
        trial.verdicts = vec![serde_json::from_value(verdict).unwrap()];
        let error = refused(&[&[trial]]);
        assert!(error.ends_with("have too many values of evidence; the maximum is 10000"), "{error}");
    }

    /// Every state that a kill can leave between two renames.
    #[test]
    fn an_export_that_was_killed_leaves_the_earlier_round_or_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let export = |id: &str| {
            let (round, trials) = stored(id);
            write(folder.path(), &round, &pack(&trials).unwrap(), &[]).unwrap();
        };
        export("one");
        keep_previous(folder.path()).unwrap();
        assert_eq!(read(folder.path()).unwrap().0.id, "one");
        std::fs::write(path(TRIALS), pack(&stored("two").1).unwrap()).map(drop).unwrap();
        // The second name is of the same file: write the earlier trials there, as a rename would leave them.
        std::fs::remove_file(path(PREVIOUS)).unwrap();
        std::fs::write(path(PREVIOUS), pack(&stored("one").1).unwrap()).unwrap();
        assert_eq!(read(folder.path()).unwrap(), stored("one"));
        // The next export is killed at the same point.
        keep_previous(folder.path()).unwrap();
        assert_eq!(read_trials(&path(TRIALS), &stored("one").0, 1 << 30).unwrap(), stored("one").1);
        export("two");
        assert_eq!(read(folder.path()).unwrap(), stored("two"));
        assert!(!path(PREVIOUS).exists() && !path(PREVIOUS_ROUND).exists());
    }

    /// A second export of the same round, which has more trials by then.
    #[test]
    fn a_second_export_that_was_killed_mixes_no_trials_with_an_earlier_state_of_the_round() {
        let folder = tempfile::tempdir().unwrap();
        // As a rename does it: the earlier file keeps its second name.
        let replace = |name: &str, bytes: Vec<u8>| {
            std::fs::remove_file(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name), bytes).unwrap();
        };
        let found = || read(folder.path()).unwrap();
        let (round, trials) = stored("one");
        let earlier = (round.clone(), trials[..2].to_vec());
        write(folder.path(), &earlier.0, &pack(&earlier.1).unwrap(), &[]).unwrap();
        for _ in 0..2 {
            keep_previous(folder.path()).unwrap();
            assert_eq!(found(), earlier, "before the first rename, also after another killed export");
            replace(TRIALS, pack(&trials).unwrap());
            assert_eq!(found(), earlier, "between the renames");
        }
        let later = Round { finished_at: Some("2030-01-01T00:00:00Z".to_owned()), ..round };
        replace(ROUND, serde_json::to_vec(&later).unwrap());
        assert_eq!(found(), (later.clone(), trials.clone()), "after the last rename");
        keep_previous(folder.path()).unwrap();
        assert_eq!(found(), (later, trials));
    }

    #[test]
    fn an_export_that_fails_leaves_the_earlier_one() {
        let folder = tempfile::tempdir().unwrap();
        let export = |id: &str, others: &[(&str, &str)]| {
            let (round, trials) = stored(id);
            write(folder.path(), &round, &pack(&trials).unwrap(), others)
        };
        export("one", &[]).unwrap();
        std::fs::create_dir(folder.path().join("README.md")).unwrap();
        assert!(export("two", &[("README.md", "x")]).is_err());
        assert_eq!(read(folder.path()).unwrap(), stored("one"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "no temporary file is left");
    }

    #[test]
    fn an_interrupted_export_is_not_a_round() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("README.md")).unwrap();
        let (round, trials) = stored("one");
        let packed = pack(&trials).unwrap();
        assert!(write(folder.path(), &round, &packed, &[("README.md", "x")]).is_err());
        assert!(matches!(read(folder.path()), Err(ArchiveError::Missing { .. })));
    }
}
