//! `paceline gate CANDIDATE --against BASELINE`: fail if the candidate is worse than the baseline.
//!
//! The comparison is the one of `compare`; this command adds the exit status, the files for CI, and writing a baseline.

use super::child::LoadFlags;
use super::compare::{compare, measure};
use super::compare_flags::CompareFlags;
use super::gate_init::{self, InitArguments};
use super::gate_output::GateOutput;
use super::revision_gate::{self, RevisionFlags, Settings, SharedFlags};
use super::status_of;
use crate::commands::format::Format;
use crate::exit::{self, Complaint, Status};
use paceline_escape::{Printable, TerminalText};
use paceline_experiment::{
    GatePolicy, GateResult, PairedComparison, compare_html, gate_annotations, gate_junit, gate_markdown,
    gate_text, judge_gate,
};
use std::path::PathBuf;

/// Flags of `paceline gate`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  This change beside the branch it goes to; paceline.toml has the commands:
    paceline gate --base origin/main
    paceline gate --base main --build 'go build -o app .' --start ./app
  A new build beside the old one:
    paceline gate http://127.0.0.1:8081/ --against http://127.0.0.1:8080/
  Write a baseline, and compare with it later:
    paceline gate http://127.0.0.1:8080/ --save baseline.json
    paceline gate http://127.0.0.1:8080/ --against baseline.json

Exit status: 0 passed, 1 the candidate is worse or fails, 2 usage,
3 environment, 4 undecided (--base), 130 interrupted")]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<GateCommand>,
    /// The candidate: a URL, a server of the lab, or a file
    ///
    /// A server of the lab is named by its id, a file is JSON.
    candidate: Option<String>,
    /// The baseline: a URL, a server of the lab, or a file
    ///
    /// A server of the lab is named by its id, a file is JSON.
    #[arg(long, value_name = "BASELINE", requires = "candidate", conflicts_with = "save")]
    against: Option<String>,
    /// Measure only this server, and save the result as a baseline
    ///
    /// FILE is JSON, for a later --against.
    #[arg(hide_short_help = true, long, value_name = "FILE", requires = "candidate",
        conflicts_with_all = ["markdown", "junit", "html", "report", "annotations", "profile"])]
    save: Option<PathBuf>,
    /// Also exit 1 if the result is undecided
    ///
    /// A result is undecided if neither a difference nor equivalence is shown after --pairs pairs.
    #[arg(hide_short_help = true, long)]
    fail_undecided: bool,
    /// Exit 0 if the result of --base is undecided, instead of 4
    #[arg(hide_short_help = true, long, conflicts_with = "fail_undecided")]
    pass_undecided: bool,
    #[command(flatten)]
    output: GateOutput,
    #[command(flatten)]
    flags: CompareFlags,
    #[command(flatten)]
    revisions: RevisionFlags,
    #[command(flatten)]
    load: LoadFlags,
}

/// Commands of the gate.
#[derive(clap::Subcommand)]
enum GateCommand {
    /// Write paceline.toml and a workflow for the repository in this folder
    Init(InitArguments),
}

/// Measures, compares and writes the results.
pub fn run(arguments: Arguments) -> anyhow::Result<Status> {
    if let Some(GateCommand::Init(arguments)) = &arguments.command {
        return gate_init::run(arguments);
    }
    exit::check_printable()?;
    let inputs = [&arguments.candidate, &arguments.against].map(|input| input.as_deref().unwrap_or_default());
    arguments.output.check(&inputs)?;
    let Some(candidate) = &arguments.candidate else { return of_revisions(&arguments) };
    if let Some(file) = &arguments.save {
        crate::file::check_writable(file)?;
        let samples = measure(candidate, &arguments.flags, arguments.load)?;
        if let Some(because) = samples.unusable_because() {
            let what =
                format!("no baseline was written: a run of {} cannot be used: {because}", samples.name);
            return Err(Complaint::failed(what).into());
        }
        crate::file::write_whole(file, exit::json(&samples)?.as_bytes())?;
        exit::print(&format!("baseline written to {}\n", file.display()))?;
        return Ok(Status::Done);
    }
    let Some(baseline) = &arguments.against else {
        return Err(Complaint::usage(
            "--against is missing: name a baseline (a URL, a server of the lab, or a JSON file)",
        )
        .into());
    };
    let output = &arguments.output;
    let compared = compare([baseline, candidate], &arguments.flags, arguments.load);
    let comparison = compared.inspect_err(|error| output.write_error(error))?;
    let policy = if arguments.fail_undecided { GatePolicy::FailUndecided } else { GatePolicy::PassUndecided };
    let result = judge_gate(&comparison, policy);
    output.write(|format| render(&comparison, &result, format), &gate_annotations(&result))?;
    let status = if result.passed { Status::Done } else { Status::Failed };
    Ok(status_of(comparison.ended_early.as_deref(), status))
}

/// A gate between two revisions of the repository in the current folder.
fn of_revisions(arguments: &Arguments) -> anyhow::Result<Status> {
    let settings = revision_settings(arguments).inspect_err(|error| arguments.output.write_error(error))?;
    revision_gate::run(&settings, &arguments.output)
}

/// The settings of such a gate, from its file and the flags.
fn revision_settings(arguments: &Arguments) -> anyhow::Result<Settings> {
    let undecided = match (arguments.fail_undecided, arguments.pass_undecided) {
        (true, _) => Status::Failed,
        (_, true) => Status::Done,
        (false, false) => Status::Undecided,
    };
    let mut unused = arguments.flags.unused_by_revisions().chain(arguments.load.unused_by_revisions());
    if let Some(flag) = unused.next() {
        let what = format!("{flag} has no effect on a gate between two commits");
        return Err(Complaint::usage(what)
            .hint("leave it out, or name two servers: paceline gate CANDIDATE --against BASELINE")
            .into());
    }
    let shared = SharedFlags { flags: &arguments.flags, load: &arguments.load, undecided };
    Settings::read(&arguments.revisions, shared)
}

fn render(comparison: &PairedComparison, result: &GateResult, format: Format) -> anyhow::Result<Printable> {
    Ok(match format {
        Format::Text => TerminalText::lines(&exit::fitted_lines(&gate_text(comparison, result))).into(),
        Format::Markdown => gate_markdown(comparison, result).into(),
        Format::Json => exit::json(comparison)?,
        Format::Html => compare_html(comparison).into(),
        Format::Junit => gate_junit(comparison, result).into(),
        Format::Csv | Format::Svg | Format::Hgrm => return Err(format.unavailable()),
    })
}
