//! The table of `lab check`: a row per server, then the differences, then the totals.
//!
//! All columns but the first have fixed widths, so that a row can be printed before the next server is checked. The
//! table fits 80 columns if no id has more than 23 characters.

use super::server::ServerCheck;
use crate::documents::{CheckDocument, CheckedServer};
use paceline_record::{Check, CheckOutcome, Startup};
use paceline_report::{Align, Grid, wrap};
use paceline_stats::span_text;
use std::collections::BTreeMap;
use std::time::Duration;

/// The columns after the server's id and its result, with units and widths; figures are right-aligned.
const COLUMNS: [(&str, &str, usize); 6] = [
    ("checks", "", 7),
    ("listens", "ms", 7),
    ("answers", "ms", 7),
    ("again", "ms", 5),
    ("memory", "MB", 6),
    ("disk", "MB", 5),
];

/// The width of the column of results.
const RESULT: usize = 6;

/// The width of the text below the rows.
const WIDTH: usize = 80;

/// The rows so far.
pub struct CheckTable {
    grid: Grid,
    verbose: bool,
    found: Vec<(String, ServerCheck)>,
}

impl CheckTable {
    /// A table for servers with these ids.
    pub fn new<'a>(ids: impl Iterator<Item = &'a str>, verbose: bool) -> Self {
        let width = ids.map(str::len).chain(["server".len()]).max().unwrap_or_default();
        let figures = COLUMNS.map(|(_, _, width)| (Align::Right, width));
        let grid = Grid::new([(Align::Left, width), (Align::Left, RESULT)].into_iter().chain(figures));
        Self { grid, verbose, found: Vec::new() }
    }

    /// The two header lines.
    pub fn head(&self) -> String {
        let line = |words: [&str; 2], figures: [&str; 6]| {
            let cells: Vec<String> = words.into_iter().chain(figures).map(str::to_owned).collect();
            format!("{}\n", self.grid.line(&cells))
        };
        line(["server", "result"], COLUMNS.map(|(name, ..)| name))
            + &line(["", ""], COLUMNS.map(|(_, unit, _)| unit))
    }

    /// Adds a server's row; the text below the table uses it too.
    pub fn row(&mut self, id: &str, found: ServerCheck) -> String {
        let mut cells = vec![id.to_owned(), result(&found).to_owned()];
        match &found {
            ServerCheck::Examined { checks, startup, again, .. } => {
                let passed = checks.iter().filter(|check| check.outcome == CheckOutcome::Pass).count();
                let first = if startup.first_since_build == Some(true) { "*" } else { "" };
                cells.extend([
                    format!("{passed}/{}", checks.len()),
                    milliseconds(startup.listening_ns),
                    format!("{first}{}", milliseconds(startup.first_answer_ns)),
                    again.as_ref().map_or_else(String::new, |again| milliseconds(again.first_answer_ns)),
                    megabytes(startup.rss_bytes),
                    startup.disk_read_bytes.map_or_else(|| "?".to_owned(), megabytes),
                ]);
            }
            ServerCheck::NotSetUp(why) => cells.push(why.clone()),
            ServerCheck::NoForm(has) => {
                cells.push(format!("not checked: the server does not have this form; its forms: {has}"));
            }
            ServerCheck::Failed(_) => cells.push("see below".to_owned()),
        }
        self.found.push((id.to_owned(), found));
        format!("{}\n", self.grid.line(&cells))
    }

    /// The text below the rows: each difference, the meaning of the columns, and the totals.
    pub fn below(&self, seed: u64, jobs: usize, took: Duration) -> String {
        let mut text: String =
            self.found.iter().filter_map(|(id, found)| self.differences(id, found)).collect();
        let examined = || self.found.iter().filter_map(|(_, found)| startup(found));
        if examined().next().is_some() {
            text.push('\n');
            let idle = self.idle();
            let idle = if idle.is_empty() { "not checked" } else { &idle };
            for line in wrap(&format!("idle connection: {idle}"), WIDTH) {
                text.push_str(&format!("{line}\n"));
            }
            text.push_str("listens: from start to open port; answers: from start to first valid response\n");
            text.push_str(
                "again: from a second start to its first valid response, with the files in the page cache\n",
            );
            text.push_str("memory: at the first valid response; disk: read until then (0: in page cache)\n");
            if examined().any(|startup| startup.first_since_build == Some(true)) {
                text.push_str(
                    "*: the first start after the server was built or files in its folder changed\n",
                );
            }
            if jobs > 1 {
                text.push_str(&format!(
                    "{jobs} servers were checked at once; --jobs 1 measures start times alone\n"
                ));
            }
            text.push_str(&format!("--seed {seed} repeats this check with the same random numbers\n"));
        }
        format!("{text}\n{}\n", self.sum(took))
    }

    /// The same for programs, with every check.
    pub fn document(&self, seed: u64) -> CheckDocument {
        let server = |(id, found): &(String, ServerCheck)| {
            let checked = CheckedServer {
                server: id.clone(),
                result: result(found).replace(' ', "_"),
                ..CheckedServer::default()
            };
            match found {
                ServerCheck::Examined { checks, idle, startup, again } => CheckedServer {
                    checks: Some(checks.clone()),
                    idle_connection: Some(idle.clone()),
                    startup: Some((**startup).clone()),
                    second_startup: again.as_deref().cloned(),
                    ..checked
                },
                ServerCheck::NotSetUp(why) | ServerCheck::NoForm(why) | ServerCheck::Failed(why) => {
                    CheckedServer { reason: Some(why.clone()), ..checked }
                }
            }
        };
        CheckDocument { seed, servers: self.found.iter().map(server).collect() }
    }

    /// What happened to idle connections: `kept open for 6.0 s (c-libuv, node-http), closed after 5.0 s
    /// (python-granian)`.
    fn idle(&self) -> String {
        let mut servers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (id, found) in &self.found {
            if let ServerCheck::Examined { idle, .. } = found
                && !idle.is_empty()
            {
                servers.entry(idle).or_default().push(id);
            }
        }
        let parts = servers.iter().map(|(idle, ids)| format!("{idle} ({})", ids.join(", ")));
        parts.collect::<Vec<_>>().join(", ")
    }

    /// The totals: `12 pass, 1 warn, 0 fail, 3 not set up (paceline lab setup ID...); 1 min 15 s`.
    fn sum(&self, took: Duration) -> String {
        let count = |word: &str| self.found.iter().filter(|(_, found)| result(found) == word).count();
        let mut parts: Vec<String> =
            ["pass", "warn", "fail"].iter().map(|word| format!("{} {word}", count(word))).collect();
        for (word, remedy) in [("not set up", " (paceline lab setup ID...)"), ("without this form", "")] {
            parts.extend((count(word) > 0).then(|| format!("{} {word}{remedy}", count(word))));
        }
        format!("{}; {}", parts.join(", "), span_text(took.as_secs_f64().round() as u64))
    }

    fn differences(&self, id: &str, found: &ServerCheck) -> Option<String> {
        let lines: String = match found {
            ServerCheck::Examined { checks, .. } => {
                let shown = |check: &&Check| self.verbose || check.outcome != CheckOutcome::Pass;
                checks.iter().filter(shown).map(line).collect()
            }
            ServerCheck::Failed(why) => format!("  fail  {why}\n"),
            ServerCheck::NotSetUp(_) | ServerCheck::NoForm(_) => String::new(),
        };
        (!lines.is_empty()).then(|| format!("\n{id}\n{lines}"))
    }

    /// How many servers failed.
    pub fn failed(&self) -> usize {
        self.with(|found| result(found) == "fail").len()
    }

    /// The servers that satisfy a condition.
    pub fn with(&self, holds: impl Fn(&ServerCheck) -> bool) -> Vec<&str> {
        self.found.iter().filter(|(_, found)| holds(found)).map(|(id, _)| id.as_str()).collect()
    }
}

fn startup(found: &ServerCheck) -> Option<&Startup> {
    match found {
        ServerCheck::Examined { startup, .. } => Some(startup),
        _ => None,
    }
}

fn result(found: &ServerCheck) -> &'static str {
    match found {
        ServerCheck::Examined { checks, .. } => {
            word(checks.iter().map(|check| check.outcome).max().unwrap_or(CheckOutcome::Pass))
        }
        ServerCheck::NotSetUp(_) => "not set up",
        ServerCheck::NoForm(_) => "without this form",
        ServerCheck::Failed(_) => "fail",
    }
}

fn line(check: &Check) -> String {
    let detail = if check.detail.is_empty() { String::new() } else { format!(": {}", check.detail) };
    format!("  {}  {}{detail}\n", word(check.outcome), check.name)
}

fn word(outcome: CheckOutcome) -> &'static str {
    match outcome {
        CheckOutcome::Pass => "pass",
        CheckOutcome::Warn => "warn",
        CheckOutcome::Fail => "fail",
    }
}

fn milliseconds(ns: u64) -> String {
    format!("{:.0}", ns as f64 / 1e6)
}

fn megabytes(bytes: u64) -> String {
    match bytes {
        0 => "0".to_owned(),
        1..50_000 => "<0.1".to_owned(),
        50_000..10_000_000 => format!("{:.1}", bytes as f64 / 1e6),
        _ => format!("{:.0}", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, outcome: CheckOutcome, detail: &str) -> Check {
        Check { name: name.into(), outcome, detail: detail.into() }
    }

    #[test]
    fn each_server_has_a_row_followed_by_its_differences() {
        let checks = vec![
            check("GET /hello", CheckOutcome::Pass, ""),
            check("GET /page", CheckOutcome::Fail, "status 500 instead of 200"),
        ];
        let startup = Box::new(Startup {
            listening_ns: 11_600_000,
            first_answer_ns: 14_200_000,
            rss_bytes: 6_300_000,
            first_since_build: Some(true),
            disk_read_bytes: Some(12_900_000),
            ..Startup::default()
        });
        let again = Some(Box::new(Startup { first_answer_ns: 9_000_000, ..Startup::default() }));
        let found = ServerCheck::Examined { checks, idle: "kept open for 6.0 s".into(), startup, again };
        let mut table = CheckTable::new(["go-nethttp", "node"].into_iter(), false);
        let mut text = table.head();
        text.push_str(&table.row("go-nethttp", found));
        text.push_str(&table.row("node", ServerCheck::NotSetUp("missing: node".into())));
        text.push_str(&table.below(7, 1, Duration::from_secs(7)));
        let expected = "\
server      result   checks  listens  answers  again  memory   disk
                                  ms       ms     ms      MB     MB
go-nethttp  fail        1/2       12      *14      9     6.3     13
node        not set up  missing: node

go-nethttp
  fail  GET /page: status 500 instead of 200

idle connection: kept open for 6.0 s (go-nethttp)
listens: from start to open port; answers: from start to first valid response
again: from a second start to its first valid response, with the files in the page cache
memory: at the first valid response; disk: read until then (0: in page cache)
*: the first start after the server was built or files in its folder changed
--seed 7 repeats this check with the same random numbers

0 pass, 0 warn, 1 fail, 1 not set up (paceline lab setup ID...); 7 s
";
        assert_eq!(text, expected);
        assert_eq!(
            (table.failed(), table.with(|found| matches!(found, ServerCheck::NotSetUp(_)))),
            (1, vec!["node"])
        );
    }
}
