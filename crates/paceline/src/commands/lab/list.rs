//! `paceline lab list`: a table of every server, or the same as JSON.
//!
//! It reads the manifests and the state of each server, and builds or starts nothing. `lab check` checks the actual
//! answers.

use super::selection::workshop;
use crate::exit::{Status, json, print, say};
use crate::places::complain;
use paceline_catalogue::{Catalogue, Manifest};
use paceline_escape::{Printable, TerminalText};
use paceline_lab::{LabError, Workshop};
use std::time::Duration;

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

/// How long tools may take to print their versions, all together. Those of all servers need 3 s on an idle machine.
const TOOLS_LIMIT: Duration = Duration::from_secs(15);

/// The columns of the table. The state comes first, since it is what users look for.
const COLUMNS: [&str; 5] = ["state", "server", "framework", "workloads", "limits"];
/// Maximum table width, which fits every terminal.
const WIDTH_MOST: usize = 80;

/// Prints the list. Broken manifests are listed and are not a failure, so that users can find them here.
pub fn run(arguments: &Arguments, catalogue: &Catalogue) -> anyhow::Result<Status> {
    let workshop = workshop(catalogue)?;
    workshop.ask_tools(&catalogue.servers, TOOLS_LIMIT);
    print(match arguments.format {
        Format::Text => as_text(catalogue, &workshop)?,
        Format::Json => as_json(catalogue, &workshop)?,
    })?;
    Ok(Status::Done)
}

fn as_text(catalogue: &Catalogue, workshop: &Workshop) -> anyhow::Result<Printable> {
    catalogue.notes.iter().for_each(|note| say(&format!("note: {note}")));
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    let mut below = String::new();
    for server in &catalogue.servers {
        let state = state(server, workshop)?;
        if let Some(why) = state.strip_prefix("unknown: ") {
            below.push_str(&format!("\n{}: unknown: {why}\n", server.id));
        }
        rows.push(row(server, &state));
    }
    let mut text = table(&rows);
    text.push_str(&below);
    let broken = catalogue.broken_servers.iter().chain(&catalogue.broken_workloads);
    for broken in broken.chain(&catalogue.broken_balancers).chain(&catalogue.broken_databases) {
        text.push_str(&format!("\n{} is broken\n  {}\n", broken.id, broken.error));
    }
    Ok(TerminalText::lines(&text).into())
}

fn row(server: &Manifest, state: &str) -> [String; COLUMNS.len()] {
    [
        // `lab setup --dry-run` lists what exactly is missing.
        state.split(':').next().unwrap_or_default().to_owned(),
        server.id.clone(),
        server.framework.clone(),
        server.workloads.join(" "),
        limits(server),
    ]
}

/// The state of a server. If a tool reports no version, the other servers are still listed.
fn state(server: &Manifest, workshop: &Workshop) -> anyhow::Result<String> {
    match workshop.state(server) {
        Ok(state) => Ok(state.to_string()),
        Err(error @ LabError::ToolVersion { .. }) => Ok(format!("unknown: {error}")),
        Err(error) => Err(complain(error)),
    }
}

/// The traits that its manifest lists as missing: `no pipelining`.
fn limits(server: &Manifest) -> String {
    server.traits.lacking().iter().map(|name| format!("no {name}")).collect::<Vec<_>>().join(", ")
}

/// The rows, each column as wide as its widest entry, separated by two spaces. If the table is too wide, the widest of
/// the last three columns is cut.
fn table(rows: &[[String; COLUMNS.len()]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let mut widths: [usize; COLUMNS.len()] = std::array::from_fn(width);
    let gaps = 2 * (COLUMNS.len() - 1);
    while widths.iter().sum::<usize>() + gaps > WIDTH_MOST {
        let Some(widest) = widths[2..].iter_mut().max_by_key(|width| **width).filter(|width| **width > 4)
        else {
            break;
        };
        *widest -= 1;
    }
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{:width$}", cut(cell, width)));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// A text cut to a width, with a mark where it is cut.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

fn as_json(catalogue: &Catalogue, workshop: &Workshop) -> anyhow::Result<Printable> {
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
        "broken_balancers": catalogue.broken_balancers.iter().map(broken).collect::<Vec<_>>(),
        "broken_workloads": catalogue.broken_workloads.iter().map(broken).collect::<Vec<_>>(),
        "notes": catalogue.notes,
    });
    json(&list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_entry() {
        let row = |state: &str, server: &str, last: &str| [state, server, "c", "d", last].map(str::to_owned);
        let text = table(&[row("state", "server", "limits"), row("ready", "go-nethttp", "")]);
        assert_eq!(text, "state  server      c  d  limits\nready  go-nethttp  c  d\n");
    }

    #[test]
    fn no_row_is_wider_than_a_terminal() {
        let long = "hello byte page tetra json plaintext power".to_owned();
        let row = ["not set up".into(), "scala-scalatra".into(), "Scalatra".into(), long.clone(), long];
        let text = table(&[row]);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH_MOST), "{text}");
        assert!(
            text.starts_with("not set up  scala-scalatra  Scalatra  hello byte") && text.contains('…'),
            "{text}"
        );
    }
}
