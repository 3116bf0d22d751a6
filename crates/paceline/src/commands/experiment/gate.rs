//! `paceline gate CANDIDATE --against BASELINE`: fail if the candidate is worse than the baseline.
//!
//! The comparison is the one of `compare`; this command adds the exit status, the files for CI, and writing a baseline.

use super::child::LoadFlags;
use super::compare::{CompareFlags, compare, measure};
use super::status_of;
use crate::exit::{self, Complaint, Status};
use paceline_escape::Printable;
use paceline_experiment::{
    GatePolicy, gate_error_junit, gate_error_markdown, gate_junit, gate_markdown, gate_text, judge_gate,
};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

/// Flags of `paceline gate`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  A new build beside the old one:
    paceline gate http://127.0.0.1:8081/ --against http://127.0.0.1:8080/
  Write a baseline, and compare with it later:
    paceline gate http://127.0.0.1:8080/ --save baseline.json
    paceline gate http://127.0.0.1:8080/ --against baseline.json

Measure both side by side where you can: with a stored baseline, changes of
the machine since then count as differences. The result is text on a terminal,
and Markdown elsewhere.

Failed requests are compared first: the gate fails if the candidate fails more
requests, or if a run of either side cannot be used (as in `paceline run`).

Exit status: 0 passed, 1 the candidate is worse or fails, 2 usage, 3 environment,
130 interrupted")]
pub struct Arguments {
    /// The candidate: a URL, a server of the lab, or a file
    ///
    /// A server of the lab is named by its id, a file is JSON.
    candidate: String,
    /// The baseline: a URL, a server of the lab, or a file
    ///
    /// A server of the lab is named by its id, a file is JSON.
    #[arg(long, value_name = "BASELINE", required_unless_present = "save", conflicts_with = "save")]
    against: Option<String>,
    /// Measure only this server, and save the result as a baseline
    ///
    /// FILE is JSON, for a later --against.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Also exit 1 if the result is undecided
    ///
    /// A result is undecided if neither a difference nor equivalence is shown after --pairs pairs.
    #[arg(long)]
    fail_undecided: bool,
    /// Also write the Markdown summary to a file
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write JUnit XML to a file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    how: CompareFlags,
    #[command(flatten)]
    load: LoadFlags,
}

/// Measures, compares and writes the results.
pub fn run(arguments: Arguments) -> anyhow::Result<Status> {
    exit::check_printable()?;
    for path in [&arguments.save, &arguments.markdown, &arguments.junit].into_iter().flatten() {
        crate::file::check_writable(path)?;
    }
    if let Some(file) = &arguments.save {
        let samples = measure(&arguments.candidate, &arguments.how, arguments.load)?;
        if let Some(because) = samples.unusable_because() {
            let what =
                format!("no baseline was written: a run of {} cannot be used: {because}", samples.name);
            return Err(Complaint::failed(what).into());
        }
        write(file, &exit::json(&samples)?)?;
        exit::print(&format!("baseline written to {}\n", file.display()))?;
        return Ok(Status::Done);
    }
    let Some(baseline) = &arguments.against else {
        return Err(Complaint::usage(
            "--against is missing: name a baseline (a URL, a server of the lab, or a JSON file)",
        )
        .into());
    };
    let compared = compare([baseline, &arguments.candidate], &arguments.how, arguments.load);
    let comparison = compared.or_else(|error| {
        write_error(&error, arguments.markdown.as_deref(), arguments.junit.as_deref())?;
        Err(error)
    })?;
    let policy = if arguments.fail_undecided { GatePolicy::FailUndecided } else { GatePolicy::PassUndecided };
    let result = judge_gate(&comparison, policy);
    let markdown = gate_markdown(&comparison, &result).into();
    if let Some(file) = &arguments.markdown {
        write(file, &markdown)?;
    }
    if let Some(file) = &arguments.junit {
        write(file, &gate_junit(&comparison, &result).into())?;
    }
    if std::io::stdout().is_terminal() {
        exit::print(&exit::fitted_lines(&gate_text(&comparison, &result)))?;
    } else {
        exit::print(markdown)?;
    }
    let status = if result.passed { Status::Done } else { Status::Failed };
    Ok(status_of(comparison.ended_early.as_deref(), status))
}

/// Writes the files for CI if the gate could not be evaluated because of its environment: CI reads them, not the
/// exit status alone.
fn write_error(error: &anyhow::Error, markdown: Option<&Path>, junit: Option<&Path>) -> anyhow::Result<()> {
    if exit::status_of(error) != Status::Environment {
        return Ok(());
    }
    let reason = exit::error_text(error.as_ref());
    if let Some(file) = markdown {
        write(file, &gate_error_markdown(&reason).into())?;
    }
    if let Some(file) = junit {
        write(file, &gate_error_junit(&reason).into())?;
    }
    Ok(())
}

fn write(file: &Path, text: &Printable) -> anyhow::Result<()> {
    crate::file::write_whole(file, text.as_bytes())
}
