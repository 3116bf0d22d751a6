//! `paceline lab list`: a table of every server, or the same as JSON.
//!
//! Called by `lab`. Manifests are read and the state of each server is looked up; nothing is built or started for it.
//! What a server really answers is asked by `lab check`.

use super::{warn, workshop};
use crate::exit::Status;
use crate::places::complain;
use paceline_catalogue::{Catalogue, Manifest};
use paceline_lab::{LabError, Workshop};
use std::io::Write as _;

/// Flags of `paceline lab list`.
#[derive(clap::Args)]
pub struct Arguments {
    /// A table for people, or JSON for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// How the list is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

/// The columns of the table, and the keys of a server in JSON.
const COLUMNS: [&str; 7] = ["server", "language", "framework", "workloads", "forms", "limits", "state"];

/// Writes the list. Broken manifests are in it and make no failure: the list is the place to find them.
pub fn run(arguments: &Arguments, catalogue: &Catalogue) -> anyhow::Result<Status> {
    let workshop = workshop(catalogue)?;
    let text = match arguments.format {
        Format::Text => as_text(catalogue, &workshop)?,
        Format::Json => as_json(catalogue, &workshop)?,
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(Status::Done)
}

fn as_text(catalogue: &Catalogue, workshop: &Workshop) -> anyhow::Result<String> {
    catalogue.notes.iter().for_each(|note| warn(&format!("note: {note}")));
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    for server in &catalogue.servers {
        rows.push(row(server, workshop)?);
    }
    let mut text = table(&rows);
    for broken in catalogue.broken_servers.iter().chain(&catalogue.broken_workloads) {
        text.push_str(&format!("\n{} is broken\n  {}\n", broken.id, broken.error));
    }
    Ok(text)
}

fn row(server: &Manifest, workshop: &Workshop) -> anyhow::Result<[String; COLUMNS.len()]> {
    let forms: Vec<&str> = server.forms.keys().rev().map(String::as_str).collect();
    Ok([
        server.id.clone(),
        server.language.clone(),
        server.framework.clone(),
        server.workloads.join(" "),
        forms.join(" "),
        limits(server),
        state(server, workshop)?,
    ])
}

/// How far it is. A tool that tells no version hides no other server: the list is the place to find it.
fn state(server: &Manifest, workshop: &Workshop) -> anyhow::Result<String> {
    match workshop.state(server) {
        Ok(state) => Ok(state.to_string()),
        Err(error @ LabError::ToolVersion { .. }) => Ok(format!("unknown: {error}")),
        Err(error) => Err(complain(error)),
    }
}

/// The traits its manifest says it lacks: `no pipelining`.
fn limits(server: &Manifest) -> String {
    server.traits.lacking().iter().map(|name| format!("no {name}")).collect::<Vec<_>>().join(", ")
}

/// Rows with each column as wide as its widest entry, two spaces between.
fn table(rows: &[[String; COLUMNS.len()]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: [usize; COLUMNS.len()] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn as_json(catalogue: &Catalogue, workshop: &Workshop) -> anyhow::Result<String> {
    let mut servers = Vec::new();
    for server in &catalogue.servers {
        servers.push(serde_json::json!({
            "server": server.id,
            "name": server.name,
            "language": server.language,
            "framework": server.framework,
            "engine": server.engine,
            "kind": server.kind,
            "tags": server.tags,
            "sources": server.sources,
            "workloads": server.workloads,
            "forms": server.forms.keys().collect::<Vec<_>>(),
            "traits": server.traits.by_name(),
            "state": state(server, workshop)?,
        }));
    }
    let broken = |broken: &paceline_catalogue::Broken| serde_json::json!({ "name": broken.id, "error": broken.error.to_string() });
    let list = serde_json::json!({
        "servers": servers,
        "broken_servers": catalogue.broken_servers.iter().map(broken).collect::<Vec<_>>(),
        "broken_workloads": catalogue.broken_workloads.iter().map(broken).collect::<Vec<_>>(),
        "notes": catalogue.notes,
    });
    Ok(format!("{list:#}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_entry() {
        let row = |first: &str, last: &str| [first, "b", "c", "d", "e", "f", last].map(str::to_owned);
        let text = table(&[row("server", "state"), row("go-nethttp", "ready")]);
        assert_eq!(text, "server      b  c  d  e  f  state\ngo-nethttp  b  c  d  e  f  ready\n");
    }
}
