//! What stands below a table: the verdicts of its rows with their remedies, and what failed.
//!
//! `table.rs` collects the notes, `row.rs` asks for names and failures. Verdicts come with the records and are only
//! counted here, but for those on a row, which `paceline_record` judges when asked; the sentences around them are
//! `format/words.rs`'s.

use crate::launch::{Launch, Launches};
use paceline_judge::row_verdicts;
use paceline_record::{Blame, Severity, Stage, Verdict};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A verdict that some rows of a table carry.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Note {
    /// The verdict's name.
    pub name: String,
    /// Whose doing it is.
    pub blame: Blame,
    /// The worst of its severities.
    pub severity: Severity,
    /// What to do about it.
    pub remedy: String,
    /// The servers that carry it, with the number of launches that do.
    pub launches_by_server: BTreeMap<String, u32>,
}

/// A failure of some launches of one server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Failure {
    /// How far it came.
    pub stage: Stage,
    /// What happened.
    pub message: String,
    /// The last line the server or its build printed in the first of them, where there is one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub printed_last: String,
    /// How many launches failed so.
    pub launches: u32,
}

/// The verdicts of a launch, its run's and its trial's.
pub fn verdicts<'a>(launch: &Launch<'a>) -> impl Iterator<Item = &'a Verdict> {
    launch.run.verdicts.iter().chain(&launch.trial.verdicts)
}

/// The names of the verdicts that some launches carry or that are on all of them together, the most severe first, each
/// once.
pub fn names(launches: &[&Launch<'_>]) -> Vec<String> {
    let together = row_verdicts(launches.iter().map(|launch| launch.run));
    let mut found: Vec<(Severity, &str)> = Vec::new();
    for verdict in launches.iter().flat_map(|launch| verdicts(launch)).chain(&together) {
        match found.iter_mut().find(|(_, name)| *name == verdict.name) {
            Some((severity, _)) => *severity = verdict.severity.max(*severity),
            None => found.push((verdict.severity, &verdict.name)),
        }
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    found.into_iter().map(|(_, name)| name.to_owned()).collect()
}

/// Adds a row's verdicts to the notes of its table. A launch counts once for a name, however often it carries it; what
/// is on all of them together counts for each.
pub fn collect(notes: &mut BTreeMap<String, Note>, server: &str, launches: &Launches<'_>) {
    let together = row_verdicts(launches.usable.iter().map(|launch| launch.run));
    for launch in &launches.usable {
        let mut counted: Vec<&str> = Vec::new();
        for verdict in verdicts(launch).chain(&together) {
            let note = notes.entry(verdict.name.clone()).or_insert_with(|| Note {
                name: verdict.name.clone(),
                blame: verdict.blame,
                severity: verdict.severity,
                remedy: verdict.remedy.clone(),
                launches_by_server: BTreeMap::new(),
            });
            if verdict.severity > note.severity {
                (note.severity, note.remedy) = (verdict.severity, verdict.remedy.clone());
            }
            if !counted.contains(&verdict.name.as_str()) {
                counted.push(&verdict.name);
                *note.launches_by_server.entry(server.to_owned()).or_default() += 1;
            }
        }
    }
}

/// The failures of a row, equal ones counted together, in the order they first happened.
pub fn failures(launches: &Launches<'_>) -> Vec<Failure> {
    let mut failures: Vec<Failure> = Vec::new();
    for (trial, fault) in &launches.failed {
        match failures.iter_mut().find(|f| f.stage == fault.stage && f.message == fault.message) {
            Some(failure) => failure.launches += 1,
            None => {
                let message = fault.message.clone();
                let printed_last = printed_last(&trial.log_tail);
                failures.push(Failure { stage: fault.stage, message, printed_last, launches: 1 })
            }
        }
    }
    failures
}

/// The last line of a log that says anything, bounded: some print a page in one.
fn printed_last(log: &str) -> String {
    const CHARACTERS: usize = 200;
    let line = log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.trim().chars().take(CHARACTERS).collect()
}
