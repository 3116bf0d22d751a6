//! `paceline gate --base REF`: builds two revisions of the repository in the current folder, starts them and compares
//! them.
//!
//! `settings.rs` merges `paceline.toml` with the flags, `bench.rs` measures,
//! `profile.rs` profiles both sides afterwards.

mod bench;
mod profile;
mod settings;

use super::complaint;
use super::gate_output::GateOutput;
use crate::commands::format::Format;
use crate::exit::{self, Complaint, Status};
use crate::lab_folders::{complain, end_left_overs, shepherd_command};
use anyhow::Context as _;
use bench::{Bench, SideServer};
use paceline_escape::{Printable, TerminalText};
use paceline_experiment::{
    RegressionOutcome, RegressionPlan, RegressionReport, regression_annotations, regression_html,
    regression_junit, regression_markdown, regression_text, run_regression,
};
use paceline_host::Interrupt;
use paceline_lab::{Checkout, Checkouts, LabError, Repository, Revision};
pub use settings::{RevisionFlags, Settings, SharedFlags};
use std::path::{Path, PathBuf};

/// Carries out the gate, writes its files and returns the exit status.
pub fn run(settings: &Settings, output: &GateOutput) -> anyhow::Result<Status> {
    let report = measure(settings, output).inspect_err(|error| output.write_error(error))?;
    output.write(|format| render(&report, format), &regression_annotations(&report))?;
    Ok(match report.outcome {
        RegressionOutcome::Passed => Status::Done,
        RegressionOutcome::Failed => Status::Failed,
        RegressionOutcome::Undecided => settings.undecided,
        RegressionOutcome::Interrupted => Status::Interrupted,
    })
}

impl Settings {
    /// Reads the settings of the current folder's repository.
    pub fn read(flags: &RevisionFlags, shared: SharedFlags<'_>) -> anyhow::Result<Self> {
        let here = std::env::current_dir().context("cannot find the current folder")?;
        settings::read(&here, flags, shared)
    }
}

fn measure(settings: &Settings, output: &GateOutput) -> anyhow::Result<RegressionReport> {
    let interrupt = Interrupt::listen().context("cannot install the handler for Ctrl-C (SIGINT)")?;
    if let Some(notice) = end_left_overs() {
        exit::say(&notice);
    }
    let repository = Repository::find(&settings.here).map_err(complain)?;
    let checkouts = Checkouts::open(&repository, &settings.cache, shepherd_command()?, interrupt);
    let checkouts = checkouts.map_err(complain)?;
    let found = revisions(settings, &repository, checkouts.folder(), output);
    // Ctrl-C on a terminal ends git, too: what it did not do is no error of the repository.
    let [base, candidate] = found.map_err(|error| match interrupt.requested() {
        true => complain(LabError::Interrupted),
        false => error,
    })?;
    exit::say(&format!("base       {}\ncandidate  {}", base.shown, candidate.shown));
    let mut notes = settings.notes.clone();
    if base.tree == candidate.tree {
        notes.push("Both sides have the same content: this is an A/A run.".to_owned());
    } else if let Some(report) = unmeasured(settings, &repository, [&base, &candidate])? {
        return Ok(report);
    }
    let order = settings.build_order(&repository)?;
    let prepare = |revision: &Revision| -> anyhow::Result<Checkout> {
        let checkout = checkouts.prepare(revision, &order).map_err(complain)?;
        let how = if checkout.is_cached {
            "built earlier".to_owned()
        } else {
            paceline_stats::duration_text(checkout.took)
        };
        exit::say(&format!("build of {}: {how}", revision.shown));
        Ok(checkout)
    };
    let [base_build, candidate_build] = [prepare(&base)?, prepare(&candidate)?];
    let records = records_folder(settings, checkouts.folder())?;
    let sides = [(&base, &base_build), (&candidate, &candidate_build), (&base, &base_build)]
        .map(|(revision, build)| SideServer { shown: revision.shown.clone(), folder: build.folder.clone() });
    let pictures = profile::folder(settings, output, &records)?;
    let mut bench = Bench::new(settings, sides, records, interrupt)?;
    notes.extend(bench.notes());
    let plan = settings.plan([base.shown, candidate.shown], notes);
    let mut report = compare(&mut bench, &plan)?;
    if let Some(folder) = pictures.filter(|_| report.outcome != RegressionOutcome::Interrupted) {
        report.profile = Some(profile::both_sides(&bench, [&report.base, &report.candidate], &folder));
    }
    Ok(report)
}

fn compare(bench: &mut Bench<'_>, plan: &RegressionPlan) -> anyhow::Result<RegressionReport> {
    let report = run_regression(bench, plan, &mut |report| exit::say(&progress(report)));
    let mut report = report.map_err(complaint)?;
    report.notes.extend(bench.closing_notes());
    Ok(report)
}

/// The base and the candidate. What an earlier gate wrote into the working tree is no part of the candidate.
fn revisions(
    settings: &Settings,
    repository: &Repository,
    scratch: &Path,
    output: &GateOutput,
) -> anyhow::Result<[Revision; 2]> {
    let mut outputs = output.places();
    let others = profile::pictures(settings, output).into_iter().chain(settings.records.clone());
    outputs.extend(others.map(|path| crate::file::final_place(&path)));
    let candidate = match &settings.candidate {
        Some(name) => repository.revision(name).map_err(complain)?,
        None => match repository.uncommitted(scratch, &outputs).map_err(complain)? {
            Some(snapshot) => snapshot,
            None => repository.revision("HEAD").map_err(complain)?,
        },
    };
    let base = repository.merge_base(&settings.base, &candidate).map_err(complain)?;
    Ok([base, candidate])
}

/// The report if only files differ that the settings ignore.
fn unmeasured(
    settings: &Settings,
    repository: &Repository,
    [base, candidate]: [&Revision; 2],
) -> anyhow::Result<Option<RegressionReport>> {
    let changed = repository.changed(base, candidate).map_err(complain)?;
    if settings.ignore.is_empty() || !changed.iter().all(|file| settings.ignores(file)) {
        return Ok(None);
    }
    let names = [base.shown.clone(), candidate.shown.clone()];
    let files = paceline_stats::counted(changed.len(), "changed file", "changed files");
    let reason = format!("nothing was measured: `ignore` contains the {files}");
    Ok(Some(RegressionReport::passed_unmeasured(&settings.plan(names, Vec::new()), &reason)))
}

/// The absolute path of the folder for the record of every run; the default one keeps those of the last gate.
fn records_folder(settings: &Settings, builds: &Path) -> anyhow::Result<PathBuf> {
    let folder = match &settings.records {
        Some(folder) => settings.here.join(folder),
        None => {
            let folder = builds.join("records");
            // The first gate of a repository has none.
            let _ = std::fs::remove_dir_all(&folder);
            folder
        }
    };
    std::fs::create_dir_all(&folder)
        .map_err(|error| Complaint::environment(format!("cannot make {}: {error}", folder.display())))?;
    Ok(folder)
}

/// One line of progress.
fn progress(report: &RegressionReport) -> String {
    let cells = report.metrics.iter().filter(|cell| cell.is_judge).map(|cell| {
        let load = cell.load.as_deref().unwrap_or("launch");
        format!("{load} {} {:+.1} %", cell.metric_name(), (cell.ratio - 1.0) * 100.0)
    });
    let cells: Vec<String> = cells.collect();
    let disturbed = match report.disturbed_windows {
        0 => String::new(),
        count => format!(", {} disturbed", paceline_stats::counted(count, "window", "windows")),
    };
    let figures = if cells.is_empty() { String::new() } else { format!(": {}", cells.join(", ")) };
    format!("block {}{disturbed} after {:.0} s{figures}", report.blocks, report.elapsed_s)
}

fn render(report: &RegressionReport, format: Format) -> anyhow::Result<Printable> {
    Ok(match format {
        Format::Text => TerminalText::lines(&exit::fitted_lines(&regression_text(report))).into(),
        Format::Markdown => regression_markdown(report).into(),
        Format::Json => exit::json(report)?,
        Format::Html => regression_html(report).into(),
        Format::Junit => regression_junit(report).into(),
        Format::Csv | Format::Svg | Format::Hgrm => return Err(format.unavailable()),
    })
}
