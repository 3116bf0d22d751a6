//! Markdown (GitHub's tables): every column, figures to the right, notes and legend as lists.
//!
//! Called for [`super::Format::Markdown`]. Cells come from `columns.rs` and `sheet.rs`, sentences from `words.rs`, as
//! for a terminal; what is done here is to escape them and to put them in a page's order. Nothing is left out for its
//! width.

use super::columns::{Column, Role, columns};
use super::sheet::{Sheet, sheets};
use super::{Formatter, Options, words};
use crate::escape::markdown as escaped;
use crate::row::Standing;
use crate::{Report, Table};

/// A page of Markdown.
pub struct Markdown;

impl Formatter for Markdown {
    fn render(&self, report: &Report, _options: Options) -> String {
        let about = &report.round;
        let mut text = format!(
            "# {}\n\nRound `{}`, {}. {}.\n",
            escaped(&about.plan),
            escaped(&about.id),
            escaped(&words::moment(&about.started_at)),
            sentence(&words::progress(about))
        );
        for change in &about.changes {
            let differs = if about.is_imported { "" } else { "Differs from the plan: " };
            text.push_str(&format!("\n{differs}{}.\n", escaped(change)));
        }
        if !about.tuned.is_empty() {
            text.push_str(&format!(
                "\nSettings changed, then restored: {}.\n",
                escaped(&about.tuned.join("; "))
            ));
        }
        for setting in &about.not_tuned {
            text.push_str(&format!("\nCould not be set: {}.\n", escaped(setting)));
        }
        for machine in &report.machines {
            let lead = if report.machines.len() > 1 {
                format!("Machine {}: ", machine.label)
            } else {
                String::new()
            };
            text.push_str(&format!("\n{lead}{}.\n", escaped(&words::machine(machine))));
            if !machine.differs.is_empty() {
                text.push_str(&format!(
                    "\nDiffers from machine A: {}.\n",
                    escaped(&machine.differs.join("; "))
                ));
            }
            for table in report.tables.iter().filter(|table| table.machine == machine.label) {
                section(&mut text, table);
            }
        }
        sheets(report, true).iter().for_each(|sheet| sheet_section(&mut text, sheet));
        list_section(&mut text, "Measured", &words::versions(&report.tables));
        let limits = words::limits(&report.tables);
        list_section(&mut text, "Known limitations (verified)", &limits);
        let legend = words::legend(&report.tables, true);
        if !legend.is_empty() {
            text.push_str("\n## Reading this\n\n");
        }
        for (mark, meaning) in legend {
            text.push_str(&format!("- **{}**: {}\n", escaped(mark), escaped(meaning)));
        }
        text
    }
}

fn section(text: &mut String, table: &Table) {
    let title = sentence(&words::title(table));
    text.push_str(&format!("\n## {}\n\n{}.", escaped(&title), escaped(&sentence(&words::load(table)))));
    for line in
        words::pinning(&table.pinnings).into_iter().chain([words::ranking(table)]).chain(words::noise(table))
    {
        text.push_str(&format!(" {}.", escaped(sentence(&line).trim_end_matches('.'))));
    }
    text.push_str("\n\n");
    let columns: Vec<Column> =
        columns(table).into_iter().filter(|column| column.role != Role::Letters).collect();
    grid(text, table, &merged(columns));
    list(text, table);
}

fn sheet_section(text: &mut String, sheet: &Sheet) {
    text.push_str(&format!("\n## {}\n\n{}\n\n", escaped(&sentence(&sheet.title)), escaped(&sheet.lead)));
    let line = |cells: &[String]| cells.iter().map(|cell| escaped(cell)).collect::<Vec<_>>().join(" | ");
    let rules: Vec<&str> =
        (0..sheet.heads.len()).map(|place| if place < sheet.words { "---" } else { "---:" }).collect();
    text.push_str(&format!("| {} |\n| {} |\n", line(&sheet.heads), rules.join(" | ")));
    sheet.rows.iter().for_each(|row| text.push_str(&format!("| {} |\n", line(row))));
    if !sheet.lines.is_empty() {
        text.push('\n');
        sheet.lines.iter().for_each(|line| text.push_str(&format!("- {}\n", escaped(line))));
    }
}

/// Puts each spread into its figure's cell: a page has no columns to spare.
fn merged(columns: Vec<Column>) -> Vec<Column> {
    let mut merged: Vec<Column> = Vec::new();
    for column in columns {
        match (column.role, merged.last_mut()) {
            (Role::Spread, Some(figure)) => {
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

fn grid(text: &mut String, table: &Table, columns: &[Column]) {
    let heads: Vec<String> = columns.iter().map(|column| escaped(column.head.join(" ").trim())).collect();
    let rules: Vec<&str> = columns
        .iter()
        .map(|column| if matches!(column.role, Role::Figure | Role::Rank) { "---:" } else { "---" })
        .collect();
    text.push_str(&format!("| {} |\n| {} |\n", heads.join(" | "), rules.join(" | ")));
    for (number, row) in table.rows.iter().enumerate() {
        let cell = |column: &Column| {
            let cell = column.cells.get(number).map(|cell| escaped(cell.trim())).unwrap_or_default();
            if column.role == Role::Server && row.standing == Standing::Failed {
                format!("{cell} (failed)")
            } else {
                cell
            }
        };
        let cells: Vec<String> = columns.iter().map(cell).collect();
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
}

fn list(text: &mut String, table: &Table) {
    let notes = table.notes.iter().map(|note| {
        let (carriers, doing) = (words::carriers(note, table), words::doing(note));
        format!(
            "- `{}` ({doing}), {}: {}\n",
            note.name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_"),
            escaped(&carriers),
            escaped(note.remedy.trim())
        )
    });
    let failures = table.rows.iter().flat_map(|row| {
        row.failures.iter().map(|failure| {
            let (stage, message) = (words::stage(failure.stage), escaped(failure.message.trim()));
            let of = row.launches_planned;
            let printed = match failure.printed_last.as_str() {
                "" => String::new(),
                line => format!("; last line printed: {}", escaped(line)),
            };
            let (id, launches) = (escaped(&row.server.id), failure.launches);
            format!("- {id} failed {stage}, {launches} of {of} launches: {message}{printed}\n")
        })
    });
    let lines: Vec<String> = notes.chain(failures).collect();
    if !lines.is_empty() {
        text.push('\n');
        lines.iter().for_each(|line| text.push_str(line));
    }
}

fn list_section(text: &mut String, title: &'static str, entries: &[(String, String)]) {
    if !entries.is_empty() {
        text.push_str(&format!("\n## {title}\n\n"));
    }
    entries.iter().for_each(|(name, entry)| {
        text.push_str(&format!("- {}: {}\n", escaped(name), escaped(entry)));
    });
}

/// A text as a sentence begins.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
