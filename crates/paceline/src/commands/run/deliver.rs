//! Hands the result over: to standard output or a file, with the percentile distributions that were asked for.
//!
//! What cannot be written somewhere is not lost for it, and a reader who has had enough changes nothing: the exit status
//! is the run's.

use super::telling::{HistogramsFlag, OutputFlags, OutputFormat, TimeUnitFlag};
use crate::exit::{Complaint, print};
use paceline_record::{LoopKind, Run, Summary};
use paceline_report::{RunTextOptions, TimeUnit, escape, hgrm, run_text};
use paceline_web::{Contents, single_file};
use std::io::IsTerminal as _;
use std::path::Path;

/// Writes everything that is made of a run's record. `failed` are the errors of what was written before.
///
/// # Errors
/// The first of all errors; the others are told here.
pub fn deliver(run: &Run, flags: &OutputFlags, mut failed: Vec<anyhow::Error>) -> anyhow::Result<()> {
    if flags.prints() {
        failed.extend(print(&text(run, flags, flags.printed_format(), true)?).err());
    }
    for path in flags.files() {
        failed.extend(write(path, &text(run, flags, flags.format_of(path), false)?).err());
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

/// The summary as CSV: a line of keys, a line of values. No value has a comma or a quote but the URL.
fn csv(run: &Run) -> String {
    let (keys, values): (Vec<String>, Vec<String>) = Summary::of(run).cells().into_iter().unzip();
    let url = run.target.url.replace('"', "\"\"");
    format!("url,{}\n\"{url}\",{}\n", keys.join(","), values.join(","))
}

/// The summary as a table of Markdown.
fn markdown(run: &Run, unit: Option<TimeUnit>) -> String {
    let rows = Summary::of(run).cells().into_iter().filter(|(_, value)| !value.is_empty());
    let rows = rows.map(|(key, value)| match (unit, key.strip_suffix("_ns"), value.parse::<f64>()) {
        (Some(unit), Some(name), Ok(nanoseconds)) => {
            let (scale, _, symbol) = unit.scale();
            (format!("{name}_{symbol}"), (nanoseconds / scale).to_string())
        }
        _ => (key, value),
    });
    let rows: String =
        rows.map(|(key, value)| format!("| {key} | {} |\n", escape::markdown(&value))).collect();
    format!("| {} | |\n|---|--:|\n{rows}", escape::markdown(&run.target.url))
}

/// The result in a format.
fn text(run: &Run, flags: &OutputFlags, format: OutputFormat, is_shown: bool) -> anyhow::Result<String> {
    Ok(match format {
        OutputFormat::Json => match flags.histograms {
            HistogramsFlag::All => format!("{}\n", serde_json::to_string(run)?),
            HistogramsFlag::None => {
                let mut record = serde_json::to_value(run)?;
                remove_histograms(&mut record);
                format!("{record}\n")
            }
        },
        OutputFormat::Hgrm => distribution(run),
        OutputFormat::Html => page(run)?,
        OutputFormat::Csv => csv(run),
        OutputFormat::Markdown => markdown(run, flags.time_unit.map(TimeUnitFlag::unit)),
        OutputFormat::Text => run_text(
            run,
            RunTextOptions {
                colour: is_shown && !flags.no_color && crate::terminal::wants_colour(),
                width: crate::terminal::width_for_text(is_shown),
                percentiles: flags.percentiles,
                time_unit: flags.time_unit.map(TimeUnitFlag::unit),
            },
        ),
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
