//! Tables for a terminal: fitted to its width, coloured on request, and explained below.
//!
//! Called by [`Report::text`]. The caller sets width and colours. Columns come from `columns.rs` and are fitted
//! by `layout.rs`; the text around them comes from `sentences.rs`.

use super::columns::{ColumnRole, TableColumn, columns};
use super::layout::{Painted, align, fit, gap, padded, width_of, words as words_of, wrap};
use super::notes::Notes;
use super::sentences;
use super::sheet::Sheet;
use super::sheets::{routed_sheets, sheets};
use crate::row::{Row, Standing};
use crate::{Align, Failure, Grid, Machine, Report, Table};
use anstyle::{AnsiColor, Style};
use paceline_escape::{Printable, TerminalText};
use paceline_stats::counted;
use std::collections::BTreeMap;
use unicode_width::UnicodeWidthStr;

/// Layout options of text; the other formats ignore them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Columns of the terminal. Tables leave out columns until they fit.
    pub width: usize,
    /// Whether to use colours.
    pub colour: bool,
    /// Whether to include remedies, start-up, limits, versions and the explanation of every column; without them a
    /// report of two tables fits one screen.
    pub full: bool,
}

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const DOUBT: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const PLAIN: Style = Style::new();

/// The report as text for a terminal.
pub(super) fn render(report: &Report, options: Options) -> Printable {
    let mut page = Page { text: TerminalText::default(), options, left_out: Vec::new() };
    let notes = Notes::from_tables(&report.tables);
    page.head(report);
    // The rankings come last, so that they stay visible.
    if let [machine] = report.machines.as_slice() {
        page.machine(machine, false);
    }
    page.failures(report);
    page.spoiled(report);
    let routed = routed_sheets(report).map(|(_, sheet)| sheet);
    routed.chain(sheets(report, options.full)).for_each(|sheet| page.sheet(&sheet));
    if options.full {
        page.list("Measured", &sentences::versions(&report.tables));
        page.list("Known limitations (verified)", &sentences::limits(&report.tables));
    }
    for machine in &report.machines {
        if report.machines.len() > 1 {
            page.machine(machine, true);
        }
        for table in report.tables.iter().filter(|table| table.machine == machine.label) {
            if options.full {
                let own = Notes::from_tables(std::slice::from_ref(table));
                page.table(table, &own);
                page.notes(&own.remedies());
            } else {
                page.table(table, &notes);
            }
        }
    }
    page.framework_packages(report);
    match report.tables.as_slice() {
        [] => {}
        tables if options.full => page.legend(tables),
        tables => page.foot(tables, &notes),
    }
    page.text.into()
}

/// A table, and in how many launches of one of its rows.
fn place(table: &Table, row: &Row, launches: u32) -> String {
    format!("{} ({launches} of {})", sentences::title(table), row.launches_planned)
}

/// The indentation of the second line of a note.
const HANGING: &str = "    ";

/// The page being written.
struct Page {
    text: TerminalText,
    options: Options,
    /// Columns that did not fit in some table.
    left_out: Vec<String>,
}

impl Page {
    fn painted(&self, text: &str, style: Style) -> Painted {
        Painted::new(text, style, self.options.colour)
    }

    fn put(&mut self, line: &Painted) {
        self.text.push(&line.line());
    }

    fn line(&mut self, text: &str, style: Style) {
        let line = self.painted(text, style);
        self.put(&line);
    }

    fn blank(&mut self) {
        self.text.push(&TerminalText::literal("\n"));
    }

    /// Lines of prose, the first after `lead`, the others indented by its width.
    fn prose(&mut self, lead: &str, text: &str, style: Style) {
        let indent = lead.width();
        let lines = wrap(&with_percent(text), self.options.width.saturating_sub(indent).max(20));
        for (place, line) in lines.iter().enumerate() {
            let mut whole = Painted::default();
            match place {
                0 => whole.push(self.painted(lead, BOLD)),
                _ => whole.blanks(indent),
            }
            whole.push(self.painted(line, style));
            self.put(&whole);
        }
    }

    /// Lines of prose, the first after `lead`, the others indented a little: `lead` may be long.
    fn hanging(&mut self, lead: &str, text: &str, style: Style) {
        let room = self.options.width.saturating_sub(lead.width()).max(20);
        let text = with_percent(text);
        let mut rest = words_of(&text).peekable();
        let mut first = String::new();
        while let Some(word) =
            rest.next_if(|word| first.is_empty() || first.width() + 1 + word.width() <= room)
        {
            first.push_str(if first.is_empty() { "" } else { " " });
            first.push_str(word);
        }
        let mut line = self.painted(lead, BOLD);
        line.push(self.painted(&first.replace('\u{a0}', " "), style));
        self.put(&line);
        let rest: Vec<&str> = rest.collect();
        if !rest.is_empty() {
            self.prose(HANGING, &rest.join(" "), style);
        }
    }

    fn head(&mut self, report: &Report) {
        let about = &report.round;
        let (begun, progress) = (sentences::begun(about), sentences::progress(about));
        self.hanging(&format!("{}  ", about.plan), &format!("{}{begun}, {progress}", about.id), DIM);
        let differs = if about.is_imported { "" } else { "differs from the plan: " };
        about.changes.iter().for_each(|change| self.prose(differs, change, DOUBT));
        if !about.tuned.is_empty() {
            self.prose(
                "machine settings changed for the round, then restored: ",
                &about.tuned.join("; "),
                DIM,
            );
        }
        about
            .not_tuned
            .iter()
            .for_each(|setting| self.prose("machine setting that could not be changed: ", setting, DIM));
        if report.tables.is_empty() {
            self.blank();
            self.line("This round has no readable trials.", PLAIN);
        }
    }

    fn machine(&mut self, machine: &Machine, several: bool) {
        if several {
            self.blank();
        }
        let lead = if several { format!("Machine {}: ", machine.label) } else { String::new() };
        let Some(machine_words) = sentences::machine(machine, self.options.full) else { return };
        self.prose(&lead, &machine_words, if several { PLAIN } else { DIM });
        if !machine.differs.is_empty() {
            self.prose("  differs from machine A: ", &machine.differs.join("; "), DOUBT);
        }
    }

    fn table(&mut self, table: &Table, notes: &Notes<'_>) {
        self.blank();
        let form = sentences::form(table).map(|form| format!(", {form}")).unwrap_or_default();
        self.hanging(&sentences::title(table), &form, DIM);
        self.prose("", &sentences::load(table), DIM);
        let shared = table.pinnings.iter().any(|pinning| !pinning.disjoint);
        if let Some(pinning) = sentences::pinning(&table.pinnings).filter(|_| self.options.full || shared) {
            self.prose("", &pinning, if shared { DOUBT } else { DIM });
        }
        self.prose("", &sentences::ranking(table), DIM);
        let fitted = fit(&columns(table, |row| notes.letters(row)), self.options.width);
        self.grid(table, &fitted.columns);
        let new: Vec<_> = fitted.left_out.into_iter().filter(|what| !self.left_out.contains(what)).collect();
        self.left_out.extend(new);
        if !fitted.columns.iter().any(|column| column.role == ColumnRole::Limit)
            && let Some(limits) = sentences::limits_in_a_line(table)
        {
            self.prose("  limited by  ", &limits, DIM);
        }
        if self.options.full {
            for (server, limit) in sentences::limited_by(table) {
                self.prose(&format!("  {server}  "), &format!("limit: {limit}"), DIM);
            }
            if let Some(energy) = sentences::energy(table) {
                self.prose("  ", &energy, DIM);
            }
        }
    }

    fn grid(&mut self, table: &Table, columns: &[TableColumn]) {
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
            let mut line = Painted::default();
            for (place, ((column, width), cells)) in columns.iter().zip(&widths).zip(&cells).enumerate() {
                if row.standing == Standing::Failed
                    && !matches!(column.role, ColumnRole::Rank | ColumnRole::Server)
                {
                    break;
                }
                line.blanks(if place == 0 { 0 } else { gap(column) });
                let text = cells.get(number).map(String::as_str).unwrap_or_default();
                line.push(self.painted(&align(text, *width, column.role), style(row, column.role)));
            }
            if row.standing == Standing::Failed {
                line.blanks(2);
                line.push(self.painted(&failed(row), BAD));
            }
            self.put(&line);
        }
    }

    fn notes(&mut self, notes: &[(String, String)]) {
        notes.iter().for_each(|(key, text)| self.hanging(&format!("  {key}  "), text, DIM));
    }

    /// Every failure once, with the places where it occurred.
    fn failures(&mut self, report: &Report) {
        let mut groups: BTreeMap<(&str, &Failure), Vec<String>> = BTreeMap::new();
        for table in &report.tables {
            for row in &table.rows {
                for failure in &row.failures {
                    let at = place(table, row, failure.launches);
                    groups.entry((&row.server.id, failure)).or_default().push(at);
                }
            }
        }
        if groups.is_empty() {
            return;
        }
        self.blank();
        self.line("Failures", BOLD);
        for ((server, failure), places) in groups {
            let text = format!("failed {}: {}", failure.stage.words(), failure.message);
            if self.options.full {
                self.prose(&format!("  {server}  "), &places.join("; "), DIM);
                self.prose("      ", &text, BAD);
            } else {
                self.prose(&format!("  {server}  "), &text, BAD);
            }
            if !failure.printed_last.is_empty() {
                self.prose("      ", &format!("last line printed: {}", failure.printed_last), DIM);
            }
        }
    }

    /// The launches that the machine spoiled: their number, or each verdict once with the places where it occurred.
    fn spoiled(&mut self, report: &Report) {
        let mut places: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
        let mut count = 0;
        for table in &report.tables {
            for row in &table.rows {
                for (verdict, launches) in &row.left_out {
                    count += launches;
                    let at = place(table, row, *launches);
                    places.entry((&row.server.id, verdict)).or_default().push(at);
                }
            }
        }
        if count == 0 {
            return;
        }
        self.blank();
        let trials = counted(count, "trial is", "trials are");
        let it = if count == 1 { "it" } else { "them" };
        let line = format!("{trials} left out, because the machine spoiled {it}");
        if !self.options.full {
            return self.prose("", &format!("{line}: see --full"), DIM);
        }
        self.prose("", &line, BOLD);
        for ((server, verdict), places) in places {
            self.prose(&format!("  {server}  "), &format!("{verdict}: {}", places.join("; ")), DIM);
        }
    }

    /// A sheet as a grid if it fits; else row by row, each cell under its head.
    fn sheet(&mut self, sheet: &Sheet) {
        self.blank();
        self.prose("", &sheet.title, BOLD);
        self.prose("", &sheet.lead, DIM);
        let side = |place: usize| if place < sheet.words { Align::Left } else { Align::Right };
        let aligns: Vec<Align> = (0..sheet.heads.len()).map(side).collect();
        let lines: Vec<&Vec<String>> = std::iter::once(&sheet.heads).chain(&sheet.rows).collect();
        let grid = Grid::fitting(&aligns, &lines);
        if grid.width() <= self.options.width {
            self.line(&grid.line(&sheet.heads), DIM);
            sheet.rows.iter().for_each(|row| self.line(&grid.line(row), PLAIN));
        } else {
            sheet.rows.iter().for_each(|row| self.sheet_row(sheet, row));
        }
        sheet.lines.iter().for_each(|line| self.prose("  ", line, PLAIN));
    }

    fn sheet_row(&mut self, sheet: &Sheet, row: &[String]) {
        let names: Vec<&str> =
            row.iter().take(sheet.words).map(String::as_str).filter(|cell| !cell.is_empty()).collect();
        self.prose("  ", &names.join("  "), BOLD);
        let cells = sheet.heads.iter().zip(row).skip(sheet.words).filter(|(_, cell)| !cell.is_empty());
        let cells: Vec<String> = cells.map(|(head, cell)| with_head(head, cell)).collect();
        self.prose("      ", &cells.join(", "), PLAIN);
    }

    /// Names with their descriptions.
    fn list(&mut self, title: &str, entries: &[(String, String)]) {
        if entries.is_empty() {
            return;
        }
        self.blank();
        self.line(title, BOLD);
        entries.iter().for_each(|(name, text)| self.prose(&format!("  {name}  "), text, DIM));
    }

    /// The frameworks from system packages: a reader who compares rows has to know that their age differs.
    fn framework_packages(&mut self, report: &Report) {
        let lines = sentences::framework_packages(report, |_| true);
        if !lines.is_empty() {
            self.blank();
        }
        lines.iter().for_each(|line| self.prose("", line, DIM));
    }

    /// The findings of all tables and the meaning of the marks, a line each if possible.
    fn foot(&mut self, tables: &[Table], notes: &Notes<'_>) {
        self.blank();
        self.notes(&notes.findings());
        let marks = sentences::legend(tables, false);
        let marks: Vec<String> = marks.iter().map(|(mark, meaning)| format!("{mark}: {meaning}")).collect();
        if !marks.is_empty() {
            self.prose("", &marks.join("; "), DIM);
        }
        let more = "Remedies, startup times, limits, versions, explanations: paceline report --full";
        self.prose("", more, DIM);
        if let Some(name) = notes.first_name() {
            self.prose("", &format!("To see a note in detail: paceline explain {name}"), DIM);
        }
    }

    fn legend(&mut self, tables: &[Table]) {
        let legend = sentences::legend(tables, true);
        if !legend.is_empty() {
            self.blank();
        }
        let lead = legend.iter().map(|(mark, _)| mark.width()).max().unwrap_or(0);
        for (mark, meaning) in legend {
            self.prose(&format!("  {mark}{}  ", " ".repeat(lead - mark.width())), meaning, DIM);
        }
        if !self.left_out.is_empty() {
            let list = self.left_out.join(", ");
            self.blank();
            let text = format!(
                "Not shown at a width of {} characters: {list}. A wider terminal or --format csv shows them.",
                self.options.width
            );
            self.prose("", &text, DIM);
        }
    }
}

/// A text whose percent signs stay on one line with their numbers.
fn with_percent(text: &str) -> String {
    text.replace(" %", "\u{a0}%")
}

/// A cell that is not below its head: `memory 2.11 MB ±2%` for the head `memory MB`.
fn with_head(head: &str, cell: &str) -> String {
    let unit = head.rsplit(' ').next().filter(|last| UNITS.contains(last));
    let Some(unit) = unit else { return format!("{head} {cell}").trim().to_owned() };
    let name = head.trim_end_matches(unit);
    let (figure, spread) = cell.find(' ').map_or((cell, ""), |end| cell.split_at(end));
    format!("{name}{figure}\u{a0}{unit}{spread}")
}

/// Units at the end of a sheet's heads.
const UNITS: [&str; 7] = ["ms", "\u{b5}s", "s", "MB", "%", "ppm", "req/s"];

fn failed(row: &Row) -> String {
    let Some(failure) = row.failures.first() else { return "no trial".to_owned() };
    format!("failed {}", failure.stage.words())
}

fn style(row: &Row, role: ColumnRole) -> Style {
    match (role, row.standing) {
        (ColumnRole::Rank | ColumnRole::Server, Standing::Failed | Standing::Overloaded) => BAD,
        (ColumnRole::Rank | ColumnRole::Server, Standing::Invalid) => DOUBT,
        (ColumnRole::Rank | ColumnRole::Server, _) if row.rank == Some(1) => GOOD,
        (ColumnRole::Server, _) => BOLD,
        (ColumnRole::Notes, _) => DOUBT,
        (ColumnRole::Spread, _) => DIM,
        _ => PLAIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_beside_its_heading_has_a_unit() {
        let shown = |head, cell| with_head(head, cell).replace('\u{a0}', " ");
        assert_eq!(shown("first start: first response ms", "15.6"), "first start: first response 15.6 ms");
        assert_eq!(shown("memory MB", "2.11 \u{b1}2%"), "memory 2.11 MB \u{b1}2%");
        assert_eq!(shown("peak at", "12 (8 to 20)"), "peak at 12 (8 to 20)");
        assert_eq!(shown("", "x"), "x");
    }
}
