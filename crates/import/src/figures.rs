//! Published figures, transcribed with the place of each in its document: a TOML file with a `[[figure]]` for each.
//!
//! The five sources that Paceline grew out of are such files (`history/sources/`).

use crate::measurement::{ImportedReport, Measurement};
use paceline_peers::{PeerReport, PrintedReport};
use paceline_record::{Bytes, Counts};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Maximum number of names in the sentence about a file.
const MAX_NAMES: usize = 6;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureFile {
    /// The name of the round.
    name: String,
    /// The document: its date as RFC 3339, and its description of the machine.
    started_at: String,
    machine: String,
    #[serde(default)]
    cores: u32,
    tool: String,
    #[serde(default)]
    tool_version: String,
    #[serde(default)]
    command: String,
    #[serde(default)]
    protocol: String,
    /// Notes that apply to all of its figures.
    #[serde(default)]
    note: String,
    figure: Vec<PublishedFigure>,
}

/// One published run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedFigure {
    /// Its place in the document: the lines.
    place: String,
    /// The id of the corresponding server in this repository, and the document's name for it.
    server: String,
    name: String,
    #[serde(default)]
    language: String,
    #[serde(default)]
    versions: String,
    #[serde(default)]
    form: String,
    workload: String,
    #[serde(default)]
    load: String,
    #[serde(default)]
    connections: u32,
    #[serde(default)]
    depth: u32,
    #[serde(default)]
    rate_per_s: Option<f64>,
    #[serde(default)]
    requests: Option<u64>,
    #[serde(default)]
    elapsed_s: Option<f64>,
    #[serde(default)]
    ok: u64,
    #[serde(default)]
    bad_body: u64,
    #[serde(default)]
    connect_failed: u64,
    #[serde(default)]
    io_failed: u64,
    #[serde(default)]
    received_bytes: u64,
    #[serde(default)]
    body_bytes: u64,
    #[serde(default)]
    requests_per_s: Option<f64>,
    /// Times in milliseconds, by `p50` and similar names.
    #[serde(default)]
    times_ms: BTreeMap<String, f64>,
    #[serde(default)]
    figures: BTreeMap<String, f64>,
    #[serde(default)]
    note: String,
    /// Why there is no result, as the document describes it.
    #[serde(default)]
    error: Option<String>,
}

/// Reads a file of published figures.
pub fn read(text: &PrintedReport<'_>) -> Result<ImportedReport, String> {
    let file: FigureFile = toml::from_str(text.text).map_err(|error| {
        let line = error.span().map(|span| text.text[..span.start].matches('\n').count() + 1);
        line.map_or_else(|| error.message().to_owned(), |line| format!("line {line}: {}", error.message()))
    })?;
    let about = about(&file);
    let argv: Vec<String> = file.command.split_whitespace().map(str::to_owned).collect();
    let measurement = |figure: PublishedFigure| Measurement {
        tool: file.tool.clone(),
        tool_version: file.tool_version.clone(),
        argv: argv.clone(),
        server: figure.server,
        server_name: figure.name,
        language: figure.language,
        versions: figure.versions,
        form: figure.form,
        workload: figure.workload,
        load: figure.load,
        depth: figure.depth,
        report: PeerReport {
            protocol: file.protocol.clone(),
            connections: figure.connections,
            rate_per_s: figure.rate_per_s,
            requests: figure.requests,
            elapsed_s: figure.elapsed_s,
            counts: Counts {
                ok: figure.ok,
                bad_body: figure.bad_body,
                connect_failed: figure.connect_failed,
                io_failed: figure.io_failed,
                ..Counts::default()
            },
            bytes: Bytes { received: figure.received_bytes, body: figure.body_bytes, ..Bytes::default() },
            requests_per_s: figure.requests_per_s,
            times_ns: figure.times_ms.into_iter().map(|(name, ms)| (name, ms * 1e6)).collect(),
            figures: figure.figures,
            place: figure.place,
            note: [file.note.as_str(), &figure.note]
                .into_iter()
                .filter(|note| !note.is_empty())
                .collect::<Vec<_>>()
                .join(" "),
            ..PeerReport::default()
        },
        error: figure.error,
        ..Measurement::default()
    };
    let measurements = file.figure.into_iter().map(measurement).collect();
    Ok(ImportedReport {
        name: Some(file.name),
        started_at: file.started_at,
        finished_at: None,
        machine: file.machine,
        cores: file.cores,
        about,
        measurements,
    })
}

/// The servers that the document measured, and its tool: `Go and Tornado, measured with ab 2.3: \`ab -n 10 URL\``.
fn about(file: &FigureFile) -> String {
    let mut names: Vec<&str> = Vec::new();
    for figure in &file.figure {
        if !names.contains(&figure.name.as_str()) {
            names.push(&figure.name);
        }
    }
    let more = names.len().saturating_sub(MAX_NAMES);
    names.truncate(MAX_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let tool = [file.tool.as_str(), &file.tool_version].join(" ");
    let command = if file.command.is_empty() { String::new() } else { format!(": `{}`", file.command) };
    format!("{}{more}, measured with {}{command}", names.join(", "), tool.trim())
}
