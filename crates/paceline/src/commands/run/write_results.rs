//! Writes the results to standard output or files, with the requested percentile distributions.
//!
//! If one output fails, the others are still written. A reader that closes standard output early changes nothing: the
//! exit status is that of the run.

use super::output_flags::{HistogramsFlag, OutputFlags, TimeUnitFlag};
use crate::commands::format::Format;
use crate::exit::{Complaint, print};
use paceline_escape::{JsonText, Printable, TerminalText};
use paceline_record::Run;
use paceline_report::{RunTextOptions, flame_graph, run_csv, run_hgrm, run_markdown, run_svg, run_text};
use paceline_web::{SingleFilePages, single_file};
use std::io::IsTerminal as _;
use std::path::Path;

/// Writes all outputs of a run's record. `failed` holds the errors of earlier outputs.
///
/// # Errors
/// Returns the first error; the others are printed here.
pub fn write_results(run: &Run, flags: &OutputFlags, mut failed: Vec<anyhow::Error>) -> anyhow::Result<()> {
    if flags.prints() {
        failed.extend(text(run, flags, flags.printed_format(), true).and_then(print).err());
    }
    for path in flags.files() {
        match text(run, flags, flags.format_of(path), false) {
            Ok(text) => failed.extend(write(path, &text)),
            Err(error) => failed.push(error),
        }
    }
    for path in flags.hgrms() {
        failed.extend(crate::file::write_whole(path, run_hgrm(run).as_bytes()).err());
    }
    if let (Some(path), Some(picture)) = (&flags.profile, flame_graph(run, None)) {
        failed.extend(write_file(path, &picture).err());
    }
    let mut failed = failed.into_iter();
    let Some(first) = failed.next() else { return Ok(()) };
    for other in failed {
        crate::exit::say(&format!("paceline: {}", crate::exit::error_text(other.as_ref())));
    }
    Err(first.context(Complaint::environment("the run ended, but not all of its results could be written")))
}

/// The run as a page of one file.
pub fn run_page(run: &Run) -> anyhow::Result<Printable> {
    Ok(single_file(&format!("{} · Paceline", run.target.url), &SingleFilePages::of_run(run)?)?)
}

/// The result in a format.
fn text(run: &Run, flags: &OutputFlags, format: Format, is_shown: bool) -> anyhow::Result<Printable> {
    Ok(match format {
        Format::Json => match flags.histograms {
            HistogramsFlag::All => JsonText::of_document(&serde_json::to_string(run)?).into(),
            HistogramsFlag::None => {
                let mut record = serde_json::to_value(run)?;
                remove_histograms(&mut record);
                JsonText::of_document(&record.to_string()).into()
            }
        },
        Format::Hgrm => TerminalText::lines(&run_hgrm(run)).into(),
        Format::Html => run_page(run)?,
        Format::Svg => run_svg(run),
        Format::Csv => run_csv(run).into(),
        Format::Markdown => run_markdown(run, flags.time_unit.map(TimeUnitFlag::unit)).into(),
        Format::Text => run_text(
            run,
            RunTextOptions {
                colour: is_shown && !flags.no_color && crate::terminal::wants_colour(),
                width: crate::terminal::width_for_text(is_shown),
                full: flags.full,
                time_unit: flags.time_unit.map(TimeUnitFlag::unit),
            },
        )
        .into(),
        Format::Junit => return Err(format.unavailable()),
    })
}

/// Removes every encoded histogram from a record.
fn remove_histograms(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(keys) => {
            keys.remove("histogram");
            keys.values_mut().for_each(remove_histograms);
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(remove_histograms),
        _ => {}
    }
}

/// Writes to a file; if that fails, to standard output. Returns the errors, that of the file first.
fn write(path: &Path, text: &Printable) -> Vec<anyhow::Error> {
    match write_file(path, text) {
        Ok(()) => Vec::new(),
        Err(error) => [error].into_iter().chain(print(text.clone()).err()).collect(),
    }
}

fn write_file(path: &Path, text: &Printable) -> anyhow::Result<()> {
    crate::file::write_whole(path, text.as_bytes())?;
    if std::io::stderr().is_terminal() {
        crate::exit::say(&format!("wrote {}", path.display()));
    }
    Ok(())
}
