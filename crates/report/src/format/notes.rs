//! The notes of tables: verdicts by name, with the letters that rows show in a terminal, and their words.
//!
//! `text.rs` makes one list for a whole report, or with `--full` one for each table; `markdown.rs` has the names in the
//! rows and needs only the words.

use crate::row::{EvidenceRange, Row, Standing};
use crate::run_text::quantity::evidence_range;
use crate::{Note, Table};
use paceline_judge::VerdictName;
use paceline_record::{Blame, Severity};
use paceline_stats::counted;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The notes of some tables, the most severe first.
pub struct Notes<'a> {
    list: Vec<SharedNote<'a>>,
}

/// A verdict with its notes in all tables that have it.
struct SharedNote<'a> {
    name: &'a str,
    /// None if every row of every table has it, so that the rows need not show it.
    letter: Option<String>,
    found: Vec<(&'a Note, &'a Table)>,
}

impl<'a> Notes<'a> {
    /// The notes of these tables.
    pub fn from_tables(tables: &'a [Table]) -> Self {
        let mut by_name: BTreeMap<&str, Vec<(&Note, &Table)>> = BTreeMap::new();
        for table in tables {
            for note in &table.notes {
                by_name.entry(&note.name).or_default().push((note, table));
            }
        }
        let mut found: Vec<_> = by_name.into_iter().collect();
        found.sort_by_key(|(_, found)| Reverse(found.iter().map(|(note, _)| note.severity).max()));
        let mut letters = (0..).map(letter);
        let shared = |(name, found): (&'a str, Vec<(&'a Note, &'a Table)>)| {
            let is_common =
                found.len() == tables.len() && found.iter().all(|(note, table)| is_everywhere(note, table));
            let letter = if is_common { None } else { letters.next() };
            SharedNote { name, letter, found }
        };
        Self { list: found.into_iter().map(shared).collect() }
    }

    /// The letters of a row's notes, in alphabetical order.
    pub fn letters(&self, row: &Row) -> String {
        let shown = self.list.iter().filter(|note| row.verdicts.iter().any(|name| name == note.name));
        shown.filter_map(|note| note.letter.as_deref()).collect::<Vec<_>>().join(" ")
    }

    /// The name of the most severe verdict.
    pub fn first_name(&self) -> Option<&'a str> {
        self.list.first().map(|note| note.name)
    }

    /// Each note with its finding: `a generator_lag` and `caution: Paceline sent requests late (generator lag p99 1.20
    /// ms)`.
    pub fn findings(&self) -> Vec<(String, String)> {
        self.list.iter().map(|note| (note.key(), note.finding())).collect()
    }

    /// Each note with the rows that have it, its severity, the party to blame, the first figure of its evidence if the
    /// launches differ in it, and the remedy, which has the figures of one launch.
    pub fn remedies(&self) -> Vec<(String, String)> {
        let remedy = |(note, table): &(&Note, &Table)| {
            let range = note.evidence.filter(|figure| figure.ends[0] < figure.ends[1]);
            let range = range.map(|figure| format!("; {}", evidence_range(figure.key, figure.ends)));
            format!(
                "{} ({}{}). {}",
                servers_with(note, table),
                severity_and_blame(note, table),
                range.unwrap_or_default(),
                note.remedy.trim()
            )
        };
        let of = |note: &SharedNote<'_>| note.found.iter().map(remedy).collect::<Vec<_>>().join(" ");
        self.list.iter().map(|note| (note.key(), of(note))).collect()
    }
}

impl SharedNote<'_> {
    fn key(&self) -> String {
        self.letter.as_ref().map_or_else(|| self.name.to_owned(), |letter| format!("{letter} {}", self.name))
    }

    /// The severity in the worst table, the title of the verdict, and the first figure of its evidence.
    fn finding(&self) -> String {
        let worst = self.found.iter().rev().max_by_key(|(note, _)| note.severity);
        let severity = worst.map_or("", |(note, table)| severity(note, table));
        // A verdict of another version of Paceline has no title here.
        let remedy = worst.map_or("", |(note, _)| note.remedy.as_str());
        let title = VerdictName::parse(self.name).map_or(remedy, |name| name.doc().title).trim();
        let figures = self.found.iter().filter_map(|(note, _)| note.evidence);
        let figure = figures.reduce(EvidenceRange::merged);
        let figure = figure.map(|figure| format!(" ({})", evidence_range(figure.key, figure.ends)));
        let scope = if self.letter.is_none() { ", in every row" } else { "" };
        format!("{severity}{scope}: {}{}", title.trim_end_matches('.'), figure.unwrap_or_default())
    }
}

/// The letter of the note at this place among those with a letter.
fn letter(place: usize) -> String {
    char::from(b'a' + (place % 26) as u8).to_string().repeat(place / 26 + 1)
}

/// The severity of a note and the party to blame: `caution, load generator`.
pub fn severity_and_blame(note: &Note, table: &Table) -> String {
    let whose = match note.blame {
        Blame::Server => "server",
        Blame::Generator => "load generator",
        Blame::Environment => "environment",
        Blame::User => "user",
    };
    format!("{}, {whose}", severity(note, table))
}

/// The severity of a note, which can differ between rows.
fn severity(note: &Note, table: &Table) -> &'static str {
    let on = |is: &dyn Fn(&Row) -> bool| {
        table.rows.iter().any(|row| is(row) && note.launches_by_server.contains_key(&row.server.id))
    };
    match note.severity {
        Severity::Note => "note",
        Severity::Caution => "caution",
        Severity::Invalid => {
            let [invalid, disturbed] =
                [Standing::Invalid, Standing::Disturbed].map(|standing| on(&|row| row.standing == standing));
            match (on(&Row::is_sound), disturbed, invalid) {
                (true, false, true) => "invalid where the row is marked `?`, otherwise a caution",
                (_, true, true) => {
                    "invalid where the row is marked `?`; where it is marked ≥, the rate is a minimum"
                }
                (_, true, false) => "invalid, except that the rate is a minimum",
                (_, false, _) => "invalid",
            }
        }
    }
}

/// Whether every launch of every measured row carries a note, so that the rows need not show it.
pub fn is_everywhere(note: &Note, table: &Table) -> bool {
    let carried = |row: &Row| note.launches_by_server.get(&row.server.id) == Some(&row.launches_usable);
    note.severity == Severity::Note && table.rows.iter().filter(|row| row.is_measured()).all(carried)
}

/// The servers with a verdict: `rust-hyper, go-nethttp (1 launch)`; with the number only if not every launch has it.
pub fn servers_with(note: &Note, table: &Table) -> String {
    if is_everywhere(note, table) {
        return "every row".to_owned();
    }
    let one = |(server, launches): (&String, &u32)| {
        let row = table.rows.iter().find(|row| row.server.id == *server);
        if row.is_some_and(|row| row.launches_usable == *launches) {
            server.clone()
        } else {
            format!("{server} ({})", counted(*launches, "launch", "launches"))
        }
    };
    note.launches_by_server.iter().map(one).collect::<Vec<_>>().join(", ")
}
