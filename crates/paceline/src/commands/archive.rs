//! A round as a folder that can be kept with a project: `paceline report --export DIR`, read again by `--from DIR`.
//!
//! `round.json` with the environment, `trials.ndjson.gz` with a trial on each line, the report as Markdown, and a README
//! that says what was left out. Nothing of a report's figures is: what goes to make it small is `paceline_record::slim`.

use crate::exit::Complaint;
use crate::file;
use anyhow::Context as _;
use flate2::{Compression, GzBuilder};
use paceline_files::TEXT_BYTES_MOST;
use paceline_record::slim::{LeftOut, forget_folders, forget_places};
use paceline_record::{Round, Trial, read_round, read_trial};
use paceline_report::{Format, Options, Report};
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, Write as _};
use std::path::Path;

const ROUND: &str = "round.json";
const TRIALS: &str = "trials.ndjson.gz";
const REPORT: &str = "report.md";
const README: &str = "README.md";
/// A committed round is to stay below this: a repository carries it for ever.
const LARGEST_BYTES: usize = 2_000_000;
/// Trials are read up to this length, decompressed. The largest round in `history/` has 7 MB.
const INFLATED_BYTES_MOST: u64 = 256 << 20;
/// Wide enough for every column.
const WIDTH: usize = 180;

/// Writes a round with its trials into `folder`, which is made. What it wrote, for people.
pub fn write(folder: &Path, round: &Round, trials: &[Trial], state_dir: &Path) -> anyhow::Result<String> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    spare_others(folder)?;
    let (round, trials) = without_places(round, trials, &places(state_dir));
    let (round, report) = (&round, Report::new(&round, &trials));
    let report = report.render(Format::Markdown, Options { width: WIDTH, colour: false });
    let (packed, left_out) = packed(trials.clone())?;
    let size = packed.len();
    file::write_whole(&folder.join(TRIALS), &packed)?;
    file::write_whole(&folder.join(REPORT), report.as_bytes())?;
    file::write_whole(&folder.join(README), readme(round, trials.len(), &left_out).as_bytes())?;
    // Last: as long as it is not there, or is another round's, nobody takes the folder for this round.
    file::write_whole(&folder.join(ROUND), (serde_json::to_string_pretty(round)? + "\n").as_bytes())?;
    let left_out: Vec<&str> = left_out.iter().map(|what| what.told()).collect();
    let large = if size > LARGEST_BYTES { ", which is much for a repository" } else { "" };
    Ok(format!(
        "round {} with {} trials in {}, {:.2} MB{large}; left out: {}\n",
        round.id,
        trials.len(),
        folder.display(),
        size as f64 / 1e6,
        left_out.join("; ")
    ))
}

/// Refuses a folder whose files of the same names are somebody else's: one that holds no part of a round.
fn spare_others(folder: &Path) -> anyhow::Result<()> {
    let is_there = |name: &&str| folder.join(name).symlink_metadata().is_ok();
    let is_ours = [ROUND, TRIALS].iter().any(is_there);
    match [REPORT, README].iter().find(|name| is_there(name)) {
        Some(theirs) if !is_ours => {
            let what =
                format!("{} is there already, and of no exported round", folder.join(theirs).display());
            Err(Complaint::usage(what).hint("give --export a folder of its own: it is made").into())
        }
        _ => Ok(()),
    }
}

/// Reads what [`write`] wrote. Files of two exports, as one that was cut short leaves them, are no round.
pub fn read(folder: &Path) -> anyhow::Result<(Round, Vec<Trial>)> {
    read_at_most(folder, INFLATED_BYTES_MOST)
}

fn read_at_most(folder: &Path, inflated_most: u64) -> anyhow::Result<(Round, Vec<Trial>)> {
    let path = folder.join(ROUND);
    if !path.exists() {
        let what = format!("{} holds no exported round: it has no {ROUND}", folder.display());
        return Err(Complaint::usage(what).hint("`paceline report --export DIR` makes such a folder").into());
    }
    let text = paceline_files::read_text(&path, TEXT_BYTES_MOST)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let round = read_round(&text).with_context(|| path.display().to_string())?;
    let path = folder.join(TRIALS);
    let lines = paceline_files::open_gzip(&path, inflated_most)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let mut trials = Vec::new();
    let mut lines_by_id = HashMap::new();
    for (line, text) in (1..).zip(lines.lines()) {
        let at = format!("{}, line {line}", path.display());
        let text = text.with_context(|| format!("cannot read {at}"))?;
        let trial = read_trial(&text).with_context(|| at.clone())?;
        let first = *lines_by_id.entry(trial.id.clone()).or_insert(line);
        if let Some(complaint) = misplaced(&trial, &round, &at, (first < line).then_some(first)) {
            return Err(complaint.into());
        }
        trials.push(trial);
    }
    Ok((round, trials))
}

/// What is wrong with finding a trial there: it is of another round, or was on an earlier line already.
fn misplaced(trial: &Trial, round: &Round, at: &str, earlier: Option<usize>) -> Option<Complaint> {
    let what = if trial.round != round.id {
        format!(
            "{at}: trial {} is of round {}, and {ROUND} beside it of round {}",
            trial.id, trial.round, round.id
        )
    } else {
        format!("{at}: trial {} is on line {} already", trial.id, earlier?)
    };
    let anew = format!("`paceline report {} --export DIR` writes the folder anew", round.id);
    Some(Complaint::usage(what).hint(format!("two exports are mixed here, or one was cut short: {anew}")))
}

/// The same without the folders of this machine, in the report as in what it is made of.
fn without_places(round: &Round, trials: &[Trial], folders: &[String]) -> (Round, Vec<Trial>) {
    let (mut round, mut trials) = (round.clone(), trials.to_vec());
    round.generator.iter_mut().for_each(|generator| forget_folders(generator, folders));
    trials.iter_mut().for_each(|trial| forget_places(trial, folders));
    (round, trials)
}

/// The trials on a line each, compressed, and what had to be left out: ever more until they are small enough.
fn packed(mut trials: Vec<Trial>) -> anyhow::Result<(Vec<u8>, Vec<LeftOut>)> {
    let mut left_out = Vec::new();
    let mut packed = Vec::new();
    for what in LeftOut::ALL {
        trials.iter_mut().for_each(|trial| what.of(trial));
        left_out.push(what);
        packed = compressed(&trials)?;
        if packed.len() <= LARGEST_BYTES {
            break;
        }
    }
    Ok((packed, left_out))
}

fn compressed(trials: &[Trial]) -> anyhow::Result<Vec<u8>> {
    // No name and no time in it: the same round gives the same bytes.
    let mut packer = GzBuilder::new().write(Vec::new(), Compression::best());
    for trial in trials {
        serde_json::to_writer(&mut packer, trial)?;
        packer.write_all(b"\n")?;
    }
    Ok(packer.finish()?)
}

/// The folders of this machine that may be named in logs and configurations, the longest first.
fn places(state_dir: &Path) -> Vec<String> {
    let here = std::env::current_dir().ok();
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from);
    let project = state_dir.parent().map(Path::to_path_buf);
    let all = [Some(state_dir.to_path_buf()), project, here, home];
    let mut texts: Vec<String> =
        all.into_iter().flatten().map(|path| path.to_string_lossy().into_owned()).collect();
    texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    texts
}

fn readme(round: &Round, trials: usize, left_out: &[LeftOut]) -> String {
    let mut text = format!(
        "# {}: round {}\n\n{trials} trials, begun {}. `report.md` is the report; `paceline report --from DIR` makes it \
         anew, in any format.\n`round.json` has the plan as it was carried out and the machine, `{TRIALS}` one trial a \
         line.\n\nLeft out of the trials, to keep this small:\n\n",
        round.plan, round.id, round.started_at
    );
    left_out.iter().for_each(|what| text.push_str(&format!("- {}\n", what.told())));
    text.push_str("- the folders of the machine, in command lines, logs and configurations\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The report crate's stored round with its trials, as one of this name.
    fn stored(id: &str) -> (Round, Vec<Trial>) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/fixtures");
        let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        let mut round = read_round(&text("quick.round.json")).unwrap();
        round.id = id.to_owned();
        let lines = text("quick.trials.jsonl");
        let trial = |line| Trial { round: id.to_owned(), ..read_trial(line).unwrap() };
        (round, lines.lines().map(trial).collect())
    }

    /// A folder with an export of round `one`, whose trials are then these, each list compressed by itself.
    fn with_trials(lists: &[&[Trial]]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let (round, trials) = stored("one");
        write(folder.path(), &round, &trials, Path::new("/nowhere/state")).unwrap();
        let members: Vec<Vec<u8>> = lists.iter().map(|trials| compressed(trials).unwrap()).collect();
        fs::write(folder.path().join(TRIALS), members.concat()).unwrap();
        folder
    }

    /// What is said against such a folder, with the hint.
    fn refused(lists: &[&[Trial]]) -> String {
        let error = read(with_trials(lists).path()).unwrap_err();
        let complaint = error.downcast_ref::<Complaint>().unwrap();
        format!("{complaint} ({})", complaint.hint.as_deref().unwrap_or_default())
    }

    #[test]
    fn trials_of_another_round_or_twice_the_same_are_refused() {
        let (one, two) = (stored("one").1, stored("two").1);
        let mixed = refused(&[&one[..2], &two[2..3]]);
        assert!(mixed.contains(&format!("{TRIALS}, line 3: trial {} is of round two", two[2].id)), "{mixed}");
        assert!(mixed.contains("`paceline report one --export DIR`"), "{mixed}");
        let twice = refused(&[&[one[0].clone(), one[1].clone(), one[0].clone()]]);
        assert!(twice.contains(&format!("line 3: trial {} is on line 1 already", one[0].id)), "{twice}");
    }

    #[test]
    fn an_export_that_inflates_beyond_the_limit_is_refused() {
        let trials = stored("one").1;
        let folder = with_trials(&[&trials]);
        assert!(read_at_most(folder.path(), 1 << 30).is_ok());
        let error = crate::exit::told(read_at_most(folder.path(), 2048).unwrap_err().as_ref());
        assert!(error.contains("decompresses to more than the limit of 2 KiB"), "{error}");
    }

    #[test]
    fn no_part_of_the_trials_is_dropped() {
        let trials = stored("one").1;
        let folder = with_trials(&[&trials[..2], &trials[2..]]);
        assert_eq!(read(folder.path()).unwrap().1.len(), trials.len());
    }

    #[test]
    fn an_export_that_did_not_end_is_no_round() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("README.md")).unwrap();
        let (round, trials) = stored("one");
        assert!(write(folder.path(), &round, &trials, Path::new("/nowhere/state")).is_err());
        let error = read(folder.path()).unwrap_err();
        assert!(error.to_string().contains("holds no exported round"), "{error}");
    }

    #[test]
    fn a_folder_of_somebody_elses_is_left_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let (round, trials) = stored("r1");
        let export = || write(folder.path(), &round, &trials, Path::new("/nowhere/state"));
        fs::write(folder.path().join(README), "mine").unwrap();
        let error = export().unwrap_err().to_string();
        assert!(error.ends_with("README.md is there already, and of no exported round"), "{error}");
        assert_eq!(fs::read_to_string(folder.path().join(README)).unwrap(), "mine");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        // What an export left, whole or not, is written anew.
        fs::remove_file(folder.path().join(README)).unwrap();
        export().unwrap();
        fs::remove_file(folder.path().join(ROUND)).unwrap();
        export().unwrap();
        assert_eq!(read(folder.path()).unwrap().0.id, "r1");
    }
}
