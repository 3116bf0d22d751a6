//! Exports a round to a folder that can be kept with a project (`paceline report --export DIR`) and reads it (`--from
//! DIR`).
//!
//! The format of the folder is defined in `paceline_store::archive`. This module adds the report as Markdown and a
//! README that lists what was left out; nothing that the report shows is left out (`paceline_record::slim`).

use crate::exit::{Complaint, Status, error_text};
use paceline_catalogue::{FolderFlags, Folders};
use paceline_escape::{MarkdownText, TerminalText, markdown, terminal};
use paceline_record::slim::OmittedPart;
use paceline_record::{KnownFolders, Round, Trial};
use paceline_report::Report;
use paceline_stats::{bytes_text, counted};
use paceline_store::archive::{self, ArchiveError, ROUND, TRIALS};
use std::path::Path;

const REPORT: &str = "report.md";
const README: &str = "README.md";
/// Upper limit of the size of an exported round. Exports are committed, and a repository keeps every version.
const LARGEST_BYTES: usize = 2_000_000;

/// Writes a round with its trials into `folder`, which is created. Paths of the machine become relative to the project;
/// `state_dir` and `store` are where the round was kept. Returns a description of what was written.
pub fn write(
    folder: &Path,
    round: &Round,
    trials: &[Trial],
    state_dir: &Path,
    store: Option<&Path>,
) -> anyhow::Result<TerminalText> {
    archive::check_ids(round, trials).map_err(complain)?;
    check_replaceable(folder)?;
    let known = known_folders(state_dir, store, trials);
    let round = known.relative(round)?;
    let trials = trials.iter().map(|trial| known.relative(trial)).collect::<Result<Vec<_>, _>>()?;
    let (round, report) = (&round, Report::new(&round, &trials));
    let report = report.markdown();
    let (packed, left_out) = packed(trials.clone())?;
    let readme = readme(round, trials.len(), &left_out);
    archive::write(folder, round, &packed, &[(REPORT, &report), (README, readme.as_str())])
        .map_err(complain)?;
    let left_out: Vec<&str> = left_out.iter().map(|what| what.description()).collect();
    let large = if packed.len() > LARGEST_BYTES { ", large for a repository" } else { "" };
    Ok(terminal!(
        "exported round {} with {} to {}, {}{}; left out: {}\n",
        round.id,
        counted(trials.len(), "trial", "trials"),
        folder.display().to_string(),
        bytes_text(packed.len() as f64),
        large,
        left_out.join("; ")
    ))
}

/// Reads what [`write`] wrote.
pub fn read(folder: &Path) -> anyhow::Result<(Round, Vec<Trial>)> {
    archive::read(folder).map_err(complain)
}

/// An archive error with a hint and the exit status for its cause.
fn complain(error: ArchiveError) -> anyhow::Error {
    let (status, hint) = match &error {
        ArchiveError::Missing { .. } => {
            (Status::Usage, Some("`paceline report --export DIR` writes a round to a folder".to_owned()))
        }
        ArchiveError::Mixed { round, .. } => (
            Status::Usage,
            Some(format!(
                "the folder has parts of two exports, or of an interrupted one: `paceline report {round} --export DIR` \
                 writes the folder again"
            )),
        ),
        ArchiveError::Record { .. } | ArchiveError::Forged { .. } | ArchiveError::Time { .. } => {
            (Status::Usage, None)
        }
        ArchiveError::File { .. } => (Status::Environment, None),
    };
    Complaint { what: error_text(&error), hint, status }.into()
}

/// Refuses a folder that has files of the same names but no part of a round.
fn check_replaceable(folder: &Path) -> anyhow::Result<()> {
    let is_there = |name: &&str| folder.join(name).symlink_metadata().is_ok();
    let is_ours = [ROUND, TRIALS].iter().any(is_there);
    match [REPORT, README].iter().find(|name| is_there(name)) {
        Some(theirs) if !is_ours => {
            let what = format!(
                "{} already exists and is not part of an exported round: it is not overwritten",
                folder.join(theirs).display()
            );
            Err(Complaint::usage(what)
                .hint("use the name of a folder that does not exist; Paceline creates it")
                .into())
        }
        _ => Ok(()),
    }
}

/// The trials as compressed lines, and what was left out: more and more until they are small enough.
fn packed(mut trials: Vec<Trial>) -> anyhow::Result<(Vec<u8>, Vec<OmittedPart>)> {
    let mut left_out = Vec::new();
    let mut packed = Vec::new();
    for what in OmittedPart::ALL {
        trials.iter_mut().for_each(|trial| what.omit_from(trial));
        left_out.push(what);
        packed = archive::pack(&trials)?;
        if packed.len() <= LARGEST_BYTES {
            break;
        }
    }
    Ok((packed, left_out))
}

/// The folders that records of this store may name: of this project, of the store, and those of the machine that
/// measured, which may be another.
fn known_folders(state_dir: &Path, store: Option<&Path>, trials: &[Trial]) -> KnownFolders {
    let mut known = KnownFolders::default();
    let mut add_state = |folder: &Path| {
        let absolute = std::path::absolute(folder).ok();
        let canonical = std::fs::canonicalize(folder).ok();
        absolute.iter().chain(&canonical).for_each(|folder| known.add_state(folder));
    };
    add_state(state_dir);
    // A store elsewhere is in the state folder of another project, or in a folder without other files of a round.
    let beside = store.and_then(Path::parent).filter(|folder| folder.join("bodies").is_dir());
    beside.into_iter().for_each(add_state);
    trials.iter().for_each(|trial| known.add_states_of(trial));
    let around = Folders::find(&FolderFlags::default()).ok();
    let project = around.and_then(|folders| Some(folders.servers_dir.parent()?.to_owned()));
    project.or_else(|| std::env::current_dir().ok()).iter().for_each(|project| known.add_project(project));
    std::env::var_os("HOME").iter().for_each(|home| known.add_home(Path::new(home)));
    known
}

fn readme(round: &Round, trials: usize, left_out: &[OmittedPart]) -> MarkdownText {
    let list: MarkdownText = left_out.iter().map(|what| markdown!("- {}\n", what.description())).collect();
    markdown!(
        "# {}: round {}\n\n{}, started {}. `report.md` is the report; `paceline report --from DIR` \
         renders it again in any format.\n`round.json` has the executed plan and describes the machine; `{}` has one \
         trial per line.\n\nLeft out of the trials, to keep the folder small and free of paths:\n\n{}\
         - absolute paths of the machine: paths are relative to the project, `~` is the home folder\n",
        round.plan,
        round.id,
        counted(trials, "trial", "trials"),
        round.started_at,
        MarkdownText::literal(TRIALS),
        list
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_job::{BodyExpectation, Content, Job, RequestSpec};
    use paceline_record::{read_round, read_trial};
    use std::fs;

    /// The stored round of the report crate's tests with its trials, under this id.
    fn stored(id: &str) -> (Round, Vec<Trial>) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/fixtures");
        let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        let mut round = read_round(&text("quick.round.json")).unwrap();
        round.id = id.to_owned();
        let lines = text("quick.trials.jsonl");
        let trial = |line| Trial { round: id.to_owned(), ..read_trial(line).unwrap() };
        (round, lines.lines().map(trial).collect())
    }

    #[test]
    fn a_folder_with_other_files_is_not_changed() {
        let folder = tempfile::tempdir().unwrap();
        let (round, trials) = stored("r1");
        let export = || write(folder.path(), &round, &trials, Path::new("/nowhere/state"), None);
        fs::write(folder.path().join(README), "mine").unwrap();
        let error = export().unwrap_err().to_string();
        assert!(
            error.ends_with(
                "README.md already exists and is not part of an exported round: it is not overwritten"
            ),
            "{error}"
        );
        assert_eq!(fs::read_to_string(folder.path().join(README)).unwrap(), "mine");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        // A partial or complete export is overwritten.
        fs::remove_file(folder.path().join(README)).unwrap();
        export().unwrap();
        fs::remove_file(folder.path().join(ROUND)).unwrap();
        export().unwrap();
        assert_eq!(read(folder.path()).unwrap().0.id, "r1");
        let readme = fs::read_to_string(folder.path().join(README)).unwrap();
        let counted = format!("\n{} trials, started ", trials.len());
        assert!(readme.contains(&counted), "{readme}");
    }

    #[test]
    fn an_export_has_no_forged_id() {
        let folder = tempfile::tempdir().unwrap();
        let export = |round: &Round, trials: &[Trial]| {
            let to = folder.path().join("export");
            let refused = write(&to, round, trials, Path::new("/nowhere/state"), None).unwrap_err();
            assert!(!to.exists());
            refused.to_string()
        };
        let (round, trials) = stored("../../r1");
        assert!(export(&round, &trials).starts_with("the round: invalid id \"../../r1\""));
        let (round, mut trials) = stored("r1");
        trials[1].id = "$(reboot)".to_owned();
        assert!(export(&round, &trials).starts_with("trial 2 of the round: invalid id \"$(reboot)\""));
    }

    #[test]
    fn an_export_contains_no_path_of_the_machine() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join(".paceline");
        let path = |name: &str| state.join(name).display().to_string();
        let (mut round, mut trials) = stored("r1");
        round.generator = Some(format!("{} run", path("bin/load")));
        for trial in &mut trials {
            let argv =
                ["paceline".into(), "run".into(), "--expect-body".into(), format!("@{}", path("bodies/17"))];
            trial.generator_argv = argv.into();
            trial.log_tail = format!("cannot read {}", path("logs"));
            trial.server.versions = path("version");
            if let Some(run) = &mut trial.run {
                run.argv = trial.generator_argv.clone();
                let request = RequestSpec {
                    expect_body: Some(BodyExpectation::Exact(Content::File {
                        file: state.join("bodies/17"),
                    })),
                    ..RequestSpec::default()
                };
                run.job = Some(Box::new(Job { requests: vec![request], ..Job::default() }));
            }
        }
        // The state folder is known to the export, or only named by the trials.
        for (number, known) in [state.as_path(), Path::new("/nowhere/state")].into_iter().enumerate() {
            let to = folder.path().join(number.to_string());
            write(&to, &round, &trials, known, None).unwrap();
            for entry in fs::read_dir(&to).unwrap() {
                let mut bytes = fs::read(entry.unwrap().path()).unwrap();
                if paceline_files::is_gzip(&bytes) {
                    bytes = paceline_files::gunzip(&bytes, 1 << 24).unwrap();
                }
                let text = String::from_utf8(bytes).unwrap();
                assert!(!text.contains(state.to_str().unwrap()), "{text}");
            }
            let read = read(&to).unwrap().1;
            assert_eq!(read[0].generator_argv[3], "@.paceline/bodies/17");
            assert_eq!(read.len(), trials.len());
        }
    }
}
