//! Tables for a terminal: as wide as it is, coloured only where asked, and explained below.
//!
//! Called for [`super::Format::Text`]. Width and colours are told by the caller. Columns come from `columns.rs` and are
//! fitted by `layout.rs`, what is said around them comes from `words.rs`.

use super::columns::{Column, Role, columns, letter};
use super::layout::{align, fit, gap, padded, plain, width_of, wrap};
use super::sheet::{Sheet, sheets};
use super::{Formatter, Options, words};
use crate::row::{Row, Standing};
use crate::{Failure, Machine, Report, Table};
use anstyle::{AnsiColor, Style};
use std::collections::BTreeMap;
use unicode_width::UnicodeWidthStr;

/// A terminal.
pub struct Text;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const DOUBT: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const PLAIN: Style = Style::new();

impl Formatter for Text {
    fn render(&self, report: &Report, options: Options) -> String {
        let mut page = Page { text: String::new(), options, left_out: Vec::new() };
        page.head(report);
        for machine in &report.machines {
            let tables = report.tables.iter().filter(|table| table.machine == machine.label);
            page.machine(machine, report.machines.len() > 1);
            tables.for_each(|table| page.table(table));
        }
        page.failures(report);
        sheets(report).iter().for_each(|sheet| page.sheet(sheet));
        page.versions(report);
        page.limits(report);
        page.legend(report);
        page.text
    }
}

/// The page being written.
struct Page {
    text: String,
    options: Options,
    /// What some table had no room for.
    left_out: Vec<&'static str>,
}

impl Page {
    fn line(&mut self, text: &str, style: Style) {
        let styled = self.styled(text, style);
        self.text.push_str(styled.trim_end());
        self.text.push('\n');
    }

    fn styled(&self, text: &str, style: Style) -> String {
        if self.options.colour && style != PLAIN && !text.trim().is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    /// Lines of prose, the first after `lead`, the others below its end.
    fn prose(&mut self, lead: &str, text: &str, style: Style) {
        let indent = lead.width();
        let lines = wrap(text, self.options.width.saturating_sub(indent).max(20));
        for (place, line) in lines.iter().enumerate() {
            let lead = if place == 0 { self.styled(lead, BOLD) } else { " ".repeat(indent) };
            let line = self.styled(line, style);
            self.text.push_str(format!("{lead}{line}").trim_end());
            self.text.push('\n');
        }
    }

    fn head(&mut self, report: &Report) {
        let about = &report.round;
        let (plan, rest) =
            (self.styled(&about.plan, BOLD), format!("{}  {}", about.id, words::moment(&about.started_at)));
        let rest = self.styled(&rest, DIM);
        self.line(&format!("{plan}  {rest}"), PLAIN);
        self.line(&words::progress(about), PLAIN);
        about.changes.iter().for_each(|change| self.prose("not as the plan says: ", change, DOUBT));
        if !about.tuned.is_empty() {
            self.prose("set for it, put back after it: ", &about.tuned.join("; "), DIM);
        }
        about.not_tuned.iter().for_each(|setting| self.prose("not set: ", setting, DIM));
        if report.tables.is_empty() {
            self.line("\nNo trial of it is kept that fits what was asked for.", PLAIN);
        }
    }

    fn machine(&mut self, machine: &Machine, several: bool) {
        if several {
            self.line("", PLAIN);
        }
        let lead = if several { format!("Machine {}: ", machine.label) } else { String::new() };
        self.prose(&lead, &words::machine(machine), if several { PLAIN } else { DIM });
        if !machine.differs.is_empty() {
            self.prose("  not as machine A: ", &machine.differs.join("; "), DOUBT);
        }
    }

    fn table(&mut self, table: &Table) {
        self.line("", PLAIN);
        self.line(&words::title(table), BOLD);
        self.prose("", &words::load(table), DIM);
        if let Some(pinning) = words::pinning(&table.pinnings) {
            let shared = table.pinnings.iter().any(|pinning| !pinning.disjoint);
            self.prose("", &pinning, if shared { DOUBT } else { DIM });
        }
        self.prose("", &words::ranking(table), DIM);
        self.line("", PLAIN);
        let fitted = fit(&columns(table), self.options.width);
        self.grid(table, &fitted.columns);
        let new: Vec<_> = fitted.left_out.into_iter().filter(|what| !self.left_out.contains(what)).collect();
        self.left_out.extend(new);
        self.notes(table, fitted.columns.iter().any(|column| column.role == Role::Letters));
    }

    fn grid(&mut self, table: &Table, columns: &[Column]) {
        let widths: Vec<usize> = columns.iter().map(width_of).collect();
        let cells: Vec<Vec<String>> = columns.iter().map(padded).collect();
        for part in 0..2 {
            let mut line = String::new();
            for (place, (column, width)) in columns.iter().zip(&widths).enumerate() {
                line.push_str(&" ".repeat(if place == 0 { 0 } else { gap(column) }));
                line.push_str(&align(&column.head[part], *width, column.role));
            }
            self.line(line.trim_end(), DIM);
        }
        for (number, row) in table.rows.iter().enumerate() {
            let mut line = String::new();
            for (place, ((column, width), cells)) in columns.iter().zip(&widths).zip(&cells).enumerate() {
                if row.standing == Standing::Failed && !matches!(column.role, Role::Rank | Role::Server) {
                    break;
                }
                line.push_str(&" ".repeat(if place == 0 { 0 } else { gap(column) }));
                let text = cells.get(number).map(String::as_str).unwrap_or_default();
                line.push_str(&self.styled(&align(text, *width, column.role), style(row, column.role)));
            }
            if row.standing == Standing::Failed {
                let used: usize = widths.iter().take(2).sum::<usize>() + 3;
                line.push_str("  ");
                line.push_str(&self.styled(&self.cut(&failed(row), used), BAD));
            }
            self.line(&line, PLAIN);
        }
    }

    /// A text cut to what is left of a line of which `used` columns are taken.
    fn cut(&self, text: &str, used: usize) -> String {
        let room = self.options.width.saturating_sub(used).max(10);
        let first = plain(text.lines().next().unwrap_or_default());
        if first.width() <= room && first == text {
            return first;
        }
        let mut short: String = String::new();
        for letter in first.chars() {
            if short.width() + 2 > room {
                break;
            }
            short.push(letter);
        }
        format!("{short}…")
    }

    fn notes(&mut self, table: &Table, letters: bool) {
        if !table.notes.is_empty() {
            self.line("", PLAIN);
        }
        for (place, note) in table.notes.iter().enumerate() {
            let key = if letters { format!("{} {}", letter(place), note.name) } else { note.name.clone() };
            let carriers = words::carriers(note, table);
            self.prose(&format!("  {key}  "), &format!("{carriers} ({})", words::doing(note)), PLAIN);
            self.prose("      ", note.remedy.trim(), DIM);
        }
    }

    /// Every failure once, with where it happened.
    fn failures(&mut self, report: &Report) {
        let mut groups: BTreeMap<(&str, &Failure), Vec<String>> = BTreeMap::new();
        for table in &report.tables {
            for row in &table.rows {
                for failure in &row.failures {
                    let at =
                        format!("{} ({} of {})", words::title(table), failure.launches, row.launches_planned);
                    groups.entry((&row.server.id, failure)).or_default().push(at);
                }
            }
        }
        if groups.is_empty() {
            return;
        }
        self.line("", PLAIN);
        self.line("Failures", BOLD);
        for ((server, failure), places) in groups {
            self.prose(&format!("  {server}  "), &places.join("; "), DIM);
            let text = format!("failed {}: {}", words::stage(failure.stage), failure.message);
            self.prose("      ", &text, BAD);
            if !failure.printed_last.is_empty() {
                self.prose("      ", &format!("it printed last: {}", failure.printed_last), DIM);
            }
        }
    }

    /// A sheet as a grid where it fits; else row by row, each cell under its head.
    fn sheet(&mut self, sheet: &Sheet) {
        self.line("", PLAIN);
        self.prose("", &sheet.title, BOLD);
        self.prose("", &sheet.lead, DIM);
        self.line("", PLAIN);
        let width = |place: usize| {
            let cells = sheet.rows.iter().filter_map(|row| row.get(place)).chain(sheet.heads.get(place));
            cells.map(|cell| cell.width()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..sheet.heads.len()).map(width).collect();
        if widths.iter().map(|width| width + 2).sum::<usize>() <= self.options.width + 2 {
            self.line(&grid_line(&sheet.heads, &widths, sheet.words), DIM);
            sheet.rows.iter().for_each(|row| self.line(&grid_line(row, &widths, sheet.words), PLAIN));
        } else {
            sheet.rows.iter().for_each(|row| self.sheet_row(sheet, row));
        }
        if !sheet.lines.is_empty() {
            self.line("", PLAIN);
        }
        sheet.lines.iter().for_each(|line| self.prose("  ", line, PLAIN));
    }

    fn sheet_row(&mut self, sheet: &Sheet, row: &[String]) {
        let told: Vec<&str> =
            row.iter().take(sheet.words).map(String::as_str).filter(|cell| !cell.is_empty()).collect();
        self.prose("  ", &told.join("  "), BOLD);
        let cells = sheet.heads.iter().zip(row).skip(sheet.words).filter(|(_, cell)| !cell.is_empty());
        let cells: Vec<String> =
            cells.map(|(head, cell)| format!("{head} {cell}").trim().to_owned()).collect();
        self.prose("      ", &cells.join(", "), PLAIN);
    }

    /// What the frameworks do not do: why a row is missing where requests are sent ahead, or slow without keep-alive.
    fn limits(&mut self, report: &Report) {
        let limits = words::limits(&report.tables);
        if !limits.is_empty() {
            self.line("", PLAIN);
            self.line("Limits, as the manifests say and as was checked", BOLD);
        }
        limits.iter().for_each(|limit| self.prose("  ", limit, PLAIN));
    }

    fn versions(&mut self, report: &Report) {
        let versions = words::versions(&report.tables);
        if versions.is_empty() {
            return;
        }
        self.line("", PLAIN);
        self.line("Measured", BOLD);
        for (server, known) in versions {
            let changed = known.len() > 1;
            let text = if changed {
                format!("changed between launches: {}", known.join("; "))
            } else {
                known.join("")
            };
            self.prose(&format!("  {server}  "), &text, if changed { DOUBT } else { DIM });
        }
    }

    fn legend(&mut self, report: &Report) {
        let legend = words::legend(&report.tables);
        if !legend.is_empty() {
            self.line("", PLAIN);
            self.line("Reading this", BOLD);
        }
        let lead = legend.iter().map(|(mark, _)| mark.width()).max().unwrap_or(0);
        for (mark, meaning) in legend {
            self.prose(&format!("  {mark}{}  ", " ".repeat(lead - mark.width())), meaning, DIM);
        }
        if !self.left_out.is_empty() {
            let list = self.left_out.join(", ");
            let text = format!(
                "Left out at {} columns: {list}. A wider terminal or --format csv shows them.",
                self.options.width
            );
            self.line("", PLAIN);
            self.prose("", &text, DIM);
        }
    }
}

/// Cells in columns of these widths: words to the left, figures to the right.
fn grid_line(cells: &[String], widths: &[usize], words: usize) -> String {
    let cell = |(place, (cell, width)): (usize, (&String, &usize))| {
        let room = " ".repeat(width.saturating_sub(cell.width()));
        if place < words { format!("{cell}{room}") } else { format!("{room}{cell}") }
    };
    let line: Vec<String> = cells.iter().zip(widths).enumerate().map(cell).collect();
    line.join("  ").trim_end().to_owned()
}

fn failed(row: &Row) -> String {
    let Some(failure) = row.failures.first() else { return "no trial".to_owned() };
    format!("failed {}: {}", words::stage(failure.stage), failure.message.trim())
}

fn style(row: &Row, role: Role) -> Style {
    match (role, row.standing) {
        (Role::Rank | Role::Server, Standing::Failed | Standing::Overloaded) => BAD,
        (Role::Rank | Role::Server, Standing::Invalid) => DOUBT,
        (Role::Rank | Role::Server, _) if row.rank == Some(1) => GOOD,
        (Role::Server, _) => BOLD,
        (Role::Notes | Role::Letters, _) => DOUBT,
        (Role::Spread, _) => DIM,
        _ => PLAIN,
    }
}
