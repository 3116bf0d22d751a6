//! `paceline lab list`: a table of every server, or the same as JSON.
//!
//! It reads the manifests and the state of each server, and builds or starts nothing. `lab check` checks the actual
//! answers.

use super::selection::{concerns_one_server, provisioner};
use crate::commands::format::PrintFormatFlag;
use crate::documents::{BrokenFolder, ListDocument, ListedServer};
use crate::exit::{Status, error_text, json, print, say};
use crate::lab_folders::complain;
use paceline_catalogue::{BrokenEntry, Catalogue, Manifest};
use paceline_escape::{Printable, TerminalText};
use paceline_lab::Provisioner;
use paceline_report::{Align, Grid};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Flags of `paceline lab list`.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    print: PrintFormatFlag,
}

/// How long tools may take to print their versions, all together. Those of all servers need 3 s on an idle machine.
const TOOLS_LIMIT: Duration = Duration::from_secs(15);

/// The columns of the table. The state comes first, since it is what users look for. The names of workloads and limits
/// do not fit beside it: they are listed below the table, once for all servers that share them.
const COLUMNS: [&str; 4] = ["state", "server", "framework", "workloads"];

/// Prints the list. Broken manifests are listed and are not a failure, so that users can find them here.
pub fn run(arguments: &Arguments, catalogue: &Catalogue) -> anyhow::Result<Status> {
    let provisioner = provisioner(catalogue)?;
    provisioner.ask_tools(&catalogue.servers, TOOLS_LIMIT);
    print(match arguments.print.is_json() {
        true => as_json(catalogue, &provisioner)?,
        false => as_text(catalogue, &provisioner)?,
    })?;
    Ok(Status::Done)
}

fn as_text(catalogue: &Catalogue, provisioner: &Provisioner) -> anyhow::Result<Printable> {
    catalogue.notes.iter().for_each(|note| say(&format!("note: {note}")));
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    let mut below = String::new();
    for server in &catalogue.servers {
        let state = state(server, provisioner)?;
        if let Some(why) = state.strip_prefix("unknown: ") {
            below.push_str(&format!("\nWhether {} is set up is unknown: {why}\n", server.id));
        }
        rows.push(row(server, &state));
    }
    let mut text = Grid::text(&[Align::Left, Align::Left, Align::Left, Align::Right], &rows, 0);
    let has = |state: &str| rows.iter().any(|row| row[0] == state);
    let meanings = [
        (NEEDS_PACKAGES, "`paceline lab setup SERVER --dry-run` lists what it would install"),
        ("ready", "can be started; `paceline lab check SERVER` tests its responses"),
    ];
    let meanings = meanings.into_iter().filter(|(state, _)| has(state));
    let meanings: Vec<_> = meanings.map(|(state, meaning)| format!("{state}: {meaning}\n")).collect();
    if !meanings.is_empty() {
        text.push_str(&format!("\n{}", meanings.concat()));
    }
    let width = crate::terminal::width_for_text(true);
    text.push_str(&list("Workloads", &shared(&catalogue.servers, |server| server.workloads.clone()), width));
    text.push_str(&list("Not supported", &shared(&catalogue.servers, limits), width));
    text.push_str(&list("Not tried here", &untried(&catalogue.servers), width));
    text.push_str(&below);
    let broken = catalogue.broken_servers.iter().chain(&catalogue.broken_workloads);
    for broken in broken.chain(&catalogue.broken_balancers).chain(&catalogue.broken_databases) {
        text.push_str(&format!("\n{} cannot be used:\n  {}\n", broken.id, broken.error));
    }
    Ok(TerminalText::lines(&text).into())
}

/// The state of a server without one of its programs, in the table.
const NEEDS_PACKAGES: &str = "needs packages";

fn row(server: &Manifest, state: &str) -> [String; COLUMNS.len()] {
    let brief = match state.strip_prefix("not set up; missing: ") {
        // An engine, or root's rights: no set-up installs it.
        Some(missing) if server.container.is_some() && server.packages.is_empty() => {
            format!("needs {missing}")
        }
        Some(_) => NEEDS_PACKAGES.to_owned(),
        None => state.split(':').next().unwrap_or_default().to_owned(),
    };
    [brief, server.id.clone(), server.framework.clone(), server.workloads.len().to_string()]
}

/// The state of a server. If it is unknown for this one alone, the other servers are still listed.
fn state(server: &Manifest, provisioner: &Provisioner) -> anyhow::Result<String> {
    match provisioner.state(server) {
        Ok(state) => Ok(state.to_string()),
        Err(error) if concerns_one_server(&error) => Ok(format!("unknown: {}", error_text(&error))),
        Err(error) => Err(complain(error)),
    }
}

/// The traits that its manifest lists as missing: `pipelining`.
fn limits(server: &Manifest) -> Vec<String> {
    server.traits.lacking().iter().map(|name| (*name).to_owned()).collect()
}

/// The reasons why servers were not tried, and these servers: all by name, since it is for them that the user looks.
fn untried(servers: &[Arc<Manifest>]) -> Vec<(Vec<String>, String)> {
    let mut owners: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for server in servers {
        if let Some(reason) = &server.untried {
            owners.entry(reason).or_default().push(&server.id);
        }
    }
    owners.into_iter().map(|(reason, ids)| (vec![reason.to_owned()], ids.join(", "))).collect()
}

/// Names that the same servers have, and these servers in words, the most common first.
fn shared(
    servers: &[Arc<Manifest>],
    names_of: impl Fn(&Manifest) -> Vec<String>,
) -> Vec<(Vec<String>, String)> {
    let mut owners: Vec<(String, Vec<&str>)> = Vec::new();
    for server in servers {
        for name in names_of(server) {
            match owners.iter_mut().find(|(known, _)| *known == name) {
                Some((_, ids)) => ids.push(&server.id),
                None => owners.push((name, vec![&server.id])),
            }
        }
    }
    let mut groups: Vec<(Vec<String>, Vec<&str>)> = Vec::new();
    for (name, ids) in owners {
        match groups.iter_mut().find(|(_, known)| *known == ids) {
            Some((names, _)) => names.push(name),
            None => groups.push((vec![name], ids)),
        }
    }
    groups.sort_by_key(|(_, ids)| std::cmp::Reverse(ids.len()));
    let all: Vec<&str> = servers.iter().map(|server| server.id.as_str()).collect();
    groups.into_iter().map(|(names, ids)| (names, in_words(&ids, &all))).collect()
}

/// Servers by name, or all except those without, whichever is shorter.
fn in_words(ids: &[&str], all: &[&str]) -> String {
    let others: Vec<&str> = all.iter().copied().filter(|id| !ids.contains(id)).collect();
    match others.as_slice() {
        [] => "every server".to_owned(),
        others if others.len() < ids.len() => {
            format!("{} servers, all except {}", ids.len(), others.join(", "))
        }
        _ => ids.join(", "),
    }
}

/// A titled list, each entry wrapped with an indentation.
fn list(title: &str, entries: &[(Vec<String>, String)], width: usize) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{title}\n");
    for (names, servers) in entries {
        let mut line = " ".to_owned();
        for word in format!("{}: {servers}", names.join(", ")).split(' ') {
            let is_begun = !line.trim().is_empty();
            if is_begun && line.chars().count() + 1 + word.chars().count() > width {
                text.push_str(&line);
                text.push('\n');
                line = "   ".to_owned();
            }
            line.push(' ');
            line.push_str(word);
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn as_json(catalogue: &Catalogue, provisioner: &Provisioner) -> anyhow::Result<Printable> {
    let mut servers = Vec::new();
    for server in &catalogue.servers {
        servers.push(ListedServer {
            server: server.id.clone(),
            name: server.name.clone(),
            language: server.language.clone(),
            framework: server.framework.clone(),
            engine: server.engine.clone(),
            kind: server.kind.as_str().to_owned(),
            tags: server.tags.clone(),
            sources: server.sources.clone(),
            workloads: server.workloads.clone(),
            forms: server.forms.keys().cloned().collect(),
            traits: server.traits.by_name(),
            state: state(server, provisioner)?,
            untried: server.untried.clone(),
        });
    }
    let list = ListDocument {
        servers,
        broken_servers: broken(&catalogue.broken_servers),
        broken_balancers: broken(&catalogue.broken_balancers),
        broken_workloads: broken(&catalogue.broken_workloads),
        notes: catalogue.notes.clone(),
    };
    json(&list)
}

fn broken(entries: &[BrokenEntry]) -> Vec<BrokenFolder> {
    let folder =
        |entry: &BrokenEntry| BrokenFolder { name: entry.id.clone(), error: entry.error.to_string() };
    entries.iter().map(folder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_without_an_engine_needs_no_packages() {
        let server = |rest: &str| {
            let head = "name = 'x'\nlanguage = 'Go'\nframework = 'x'\nengine = 'x'\nkind = 'micro'\n\
                        tags = ['tuned']\nworkloads = ['hello']\n";
            Manifest::parse(std::path::Path::new("/servers/go-app"), &format!("{head}{rest}")).unwrap()
        };
        let state = paceline_lab::ServerState::Lacking(vec!["podman or docker".to_owned()]).to_string();
        let container = server("[container]\ndockerfile = 'Dockerfile'\n");
        assert_eq!(row(&container, &state)[0], "needs podman or docker");
        let other = "needs = ['go']\nversion = 'go version'\n[run]\ncommand = 'true'\n[forms.single]\n";
        assert_eq!(row(&server(other), &state)[0], NEEDS_PACKAGES);
    }

    #[test]
    fn servers_are_named_by_the_shorter_list() {
        let all = ["a", "b", "c"];
        assert_eq!(in_words(&all, &all), "every server");
        assert_eq!(in_words(&["a", "c"], &all), "2 servers, all except b");
        assert_eq!(in_words(&["c"], &all), "c");
    }

    #[test]
    fn lists_are_wrapped() {
        let entries = vec![(vec!["head".to_owned()], "one, two, three".to_owned())];
        assert_eq!(list("Limits", &entries, 17), "\nLimits\n  head: one, two,\n    three\n");
        assert_eq!(list("Limits", &entries, 4), "\nLimits\n  head:\n    one,\n    two,\n    three\n");
    }

    #[test]
    fn untried_servers_are_named_by_their_reason() {
        let server = |id: &str, reason: &str| {
            let text = format!(
                "name = 'x'\nlanguage = 'Go'\nframework = 'x'\nengine = 'x'\nkind = 'micro'\ntags = ['tuned']\n\
                 workloads = ['hello']\n{reason}[container]\ndockerfile = 'Dockerfile'\n"
            );
            Arc::new(Manifest::parse(&std::path::Path::new("/servers").join(id), &text).unwrap())
        };
        let (far, none) = ("untried = 'too far'\n", "untried = 'no registry'\n");
        let servers = [server("go-a", far), server("go-b", ""), server("go-c", none), server("go-d", far)];
        let expected = "\nNot tried here\n  no registry: go-c\n  too far: go-a, go-d\n";
        assert_eq!(list("Not tried here", &untried(&servers), 80), expected);
        assert_eq!(list("Not tried here", &untried(&servers[1..2]), 80), "");
    }
}
