//! Hands the result over: to standard output or a file, with the percentile distributions that were asked for.
//!
//! What cannot be written somewhere is not lost for it, and a reader who has had enough changes nothing: the exit status
//! is the run's.

use super::telling::{OutputFlags, OutputFormat};
use crate::exit::{Complaint, print};
use paceline_record::{LoopKind, Run};
use paceline_report::{RunTextOptions, hgrm, run_text};
use paceline_web::{Contents, single_file};
use std::io::IsTerminal as _;
use std::path::Path;

/// Writes everything that is made of a run's record. `failed` are the errors of what was written before.
///
/// # Errors
/// The first of all errors; the others are told here.
pub fn deliver(run: &Run, flags: &OutputFlags, mut failed: Vec<anyhow::Error>) -> anyhow::Result<()> {
    let text = match flags.format() {
        OutputFormat::Json => format!("{}\n", serde_json::to_string(run)?),
        OutputFormat::Html => page(run)?,
        OutputFormat::Text => run_text(run, text_options(flags)),
    };
    match flags.output_file() {
        None => failed.extend(print(&text).err()),
        Some(path) => failed.extend(write(path, &text).err()),
    }
    for path in flags.hgrms() {
        failed.extend(crate::file::write_whole(path, distribution(run).as_bytes()).err());
    }
    let mut failed = failed.into_iter();
    let Some(first) = failed.next() else { return Ok(()) };
    for other in failed {
        crate::exit::say(&format!("paceline: {}", crate::exit::told(other.as_ref())));
    }
    Err(first.context(Complaint::environment("the run is over, but not all of its results could be written")))
}

/// The run as a page of one file.
fn page(run: &Run) -> anyhow::Result<String> {
    Ok(single_file(&format!("{} · Paceline", run.target.url), &Contents::of_run(run)?)?)
}

fn text_options(flags: &OutputFlags) -> RunTextOptions {
    let is_shown = flags.output_file().is_none();
    RunTextOptions {
        colour: is_shown && crate::terminal::wants_colour(),
        width: crate::terminal::width_for_text(is_shown),
        percentiles: flags.percentiles,
    }
}

/// To a file; where that fails, to standard output.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Err(error) = crate::file::write_whole(path, text.as_bytes()) {
        print(text)?;
        return Err(error);
    }
    if std::io::stderr().is_terminal() {
        crate::exit::say(&format!("wrote {}", path.display()));
    }
    Ok(())
}

/// The distribution of the time that answers the run's question.
fn distribution(run: &Run) -> String {
    let (name, times) = match run.loop_.kind {
        LoopKind::Open => ("Response time", &run.total.response_time_ns),
        LoopKind::Closed => ("Service time", &run.total.service_time_ns),
    };
    let histogram = times.as_ref().and_then(|times| times.decode().ok()).unwrap_or_default();
    hgrm(name, &run.target.url, &histogram)
}
