//! Markdown (GitHub's tables): every column, figures aligned right, notes and legend as lists.
//!
//! Called by [`Report::markdown`]. Cells come from `columns.rs` and `sheets/`, sentences from `sentences.rs`,
//! as for a terminal; this file escapes them and puts them in the order of a page. No column is left out because of its
//! width.

use super::columns::{ColumnRole, TableColumn, columns};
use super::notes::{is_everywhere, servers_with, severity_and_blame};
use super::sentences;
use super::sheet::Sheet;
use super::sheets::{routed_sheets, sheets};
use crate::row::{Row, Standing};
use crate::{Report, Table};
use paceline_escape::{MarkdownText, Printable, markdown};
use paceline_stats::counted;

/// The report as a page of Markdown.
pub(super) fn render(report: &Report) -> Printable {
    let mut text = head(report);
    for machine in &report.machines {
        let lead = match report.machines.len() {
            1 => MarkdownText::default(),
            _ => markdown!("Machine {}: ", machine.label),
        };
        if let Some(words) = sentences::machine(machine, true) {
            text.push(&markdown!("\n{}{}.\n", lead, words));
        }
        if !machine.differs.is_empty() {
            text.push(&markdown!("\nDiffers from machine A: {}.\n", machine.differs.join("; ")));
        }
        let routed = routed_sheets(report).filter(|(pairing, _)| pairing.machine == machine.label);
        routed.for_each(|(_, sheet)| sheet_section(&mut text, &sheet));
        for table in report.tables.iter().filter(|table| table.machine == machine.label) {
            section(&mut text, table);
        }
    }
    for line in sentences::framework_packages(report, |_| true) {
        text.push(&markdown!("\n{}\n", line));
    }
    sheets(report, true).iter().for_each(|sheet| sheet_section(&mut text, sheet));
    list_section(&mut text, "Measured", &sentences::versions(&report.tables));
    let limits = sentences::limits(&report.tables);
    list_section(&mut text, "Known limitations (verified)", &limits);
    let legend = sentences::legend(&report.tables, true);
    if !legend.is_empty() {
        text.push(&MarkdownText::literal("\n## Reading this\n\n"));
    }
    for (mark, meaning) in legend {
        text.push(&markdown!("- **{}**: {}\n", mark, meaning));
    }
    text.into()
}

/// The subject of the page, and the changes made to the machine for it.
fn head(report: &Report) -> MarkdownText {
    let about = &report.round;
    let mut text = markdown!(
        "# {}\n\nRound `{}`{}. {}.\n",
        about.plan,
        about.id,
        sentences::begun(about),
        sentence(&sentences::progress(about))
    );
    for change in &about.changes {
        let differs = if about.is_imported { "" } else { "Differs from the plan: " };
        text.push(&markdown!("\n{}{}.\n", differs, change));
    }
    if !about.tuned.is_empty() {
        text.push(&markdown!(
            "\nMachine settings changed for the round, then restored: {}.\n",
            about.tuned.join("; ")
        ));
    }
    for setting in &about.not_tuned {
        text.push(&markdown!("\nMachine setting that could not be changed: {}.\n", setting));
    }
    text
}

fn section(text: &mut MarkdownText, table: &Table) {
    let (title, load) = (sentence(&sentences::title(table)), sentence(&sentences::load(table)));
    let form = sentences::form(table).map(|form| format!(", {form}")).unwrap_or_default();
    text.push(&markdown!("\n## {}\n\n{}{}.", title, load, form));
    for line in sentences::pinning(&table.pinnings).into_iter().chain([sentences::ranking(table)]) {
        text.push(&markdown!(" {}.", sentence(&line).trim_end_matches('.')));
    }
    text.push(&MarkdownText::literal("\n\n"));
    grid(text, table, &merged(columns(table, |row| note_names(row, table))));
    list(text, table);
}

/// The names of a row's notes; those of every row are only below the table.
fn note_names(row: &Row, table: &Table) -> String {
    let is_common =
        |name: &str| table.notes.iter().any(|note| note.name == name && is_everywhere(note, table));
    let names: Vec<&str> = row.verdicts.iter().map(String::as_str).filter(|name| !is_common(name)).collect();
    names.join(", ")
}

fn sheet_section(text: &mut MarkdownText, sheet: &Sheet) {
    text.push(&markdown!("\n## {}\n\n{}\n\n", sentence(&sheet.title), sheet.lead));
    let line = |cells: &[String]| table_line(cells.iter().map(|cell| MarkdownText::from_text(cell)));
    text.push(&line(&sheet.heads));
    text.push(&rules((0..sheet.heads.len()).map(|place| place >= sheet.words)));
    sheet.rows.iter().for_each(|row| text.push(&line(row)));
    if !sheet.lines.is_empty() {
        text.push(&MarkdownText::literal("\n"));
        sheet.lines.iter().for_each(|line| text.push(&markdown!("- {}\n", line)));
    }
}

/// A line of a table.
fn table_line(cells: impl Iterator<Item = MarkdownText>) -> MarkdownText {
    markdown!("| {} |\n", MarkdownText::joined(cells, " | "))
}

/// The line below a table's heads, for each column with its alignment: right for figures.
fn rules(columns: impl Iterator<Item = bool>) -> MarkdownText {
    table_line(columns.map(|is_figure| MarkdownText::literal(if is_figure { "---:" } else { "---" })))
}

/// Puts each spread into its figure's cell to save columns.
fn merged(columns: Vec<TableColumn>) -> Vec<TableColumn> {
    let mut merged: Vec<TableColumn> = Vec::new();
    for column in columns {
        match (column.role, merged.last_mut()) {
            (ColumnRole::Spread, Some(figure)) => {
                for (cell, spread) in
                    figure.cells.iter_mut().zip(&column.cells).filter(|(_, s)| !s.is_empty())
                {
                    cell.push_str(&format!(" {spread}"));
                }
            }
            _ => merged.push(column),
        }
    }
    merged
}

fn grid(text: &mut MarkdownText, table: &Table, columns: &[TableColumn]) {
    text.push(&table_line(
        columns.iter().map(|column| MarkdownText::from_text(column.head.join(" ").trim())),
    ));
    text.push(&rules(
        columns.iter().map(|column| matches!(column.role, ColumnRole::Figure | ColumnRole::Rank)),
    ));
    for (number, row) in table.rows.iter().enumerate() {
        let cell = |column: &TableColumn| {
            let cell = column.cells.get(number).map(|cell| cell.trim()).unwrap_or_default();
            match column.role == ColumnRole::Server && row.standing == Standing::Failed {
                true => markdown!("{} (failed)", cell),
                false => MarkdownText::from_text(cell),
            }
        };
        text.push(&table_line(columns.iter().map(cell)));
    }
}

fn list(text: &mut MarkdownText, table: &Table) {
    let notes = table.notes.iter().map(|note| {
        let name = note.name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
        let (servers, blame) = (servers_with(note, table), severity_and_blame(note, table));
        markdown!("- `{}` ({}), {}: {}\n", MarkdownText::key(&name), blame, servers, note.remedy.trim())
    });
    let failures = table.rows.iter().flat_map(|row| {
        row.failures.iter().map(|failure| {
            let printed = match failure.printed_last.as_str() {
                "" => MarkdownText::default(),
                line => markdown!("; last line printed: {}", line),
            };
            markdown!(
                "- {} failed {}, {} of {}: {}{}\n",
                row.server.id,
                failure.stage.words(),
                failure.launches,
                counted(row.launches_planned, "launch", "launches"),
                failure.message.trim(),
                printed
            )
        })
    });
    let left_out = table.rows.iter().flat_map(|row| {
        row.left_out.iter().map(|(verdict, launches)| {
            markdown!(
                "- {}: {} of {} left out, because the machine spoiled {}: `{}`\n",
                row.server.id,
                *launches,
                counted(row.launches_planned, "launch", "launches"),
                if *launches == 1 { "it" } else { "them" },
                MarkdownText::key(verdict)
            )
        })
    });
    let energy = sentences::energy(table).map(|energy| markdown!("- {}\n", sentence(&energy)));
    let lines: MarkdownText = notes.chain(failures).chain(left_out).chain(energy).collect();
    if !lines.as_str().is_empty() {
        text.push(&MarkdownText::literal("\n"));
        text.push(&lines);
    }
}

fn list_section(text: &mut MarkdownText, title: &'static str, entries: &[(String, String)]) {
    if !entries.is_empty() {
        text.push(&markdown!("\n## {}\n\n", title));
    }
    entries.iter().for_each(|(name, entry)| text.push(&markdown!("- {}: {}\n", name, entry)));
}

/// A text with its first letter in upper case.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
