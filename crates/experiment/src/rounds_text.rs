//! Two compared rounds as a Markdown table, which is readable in a terminal too.

use crate::compare_text::{compared_cells, failure_cells};
use crate::rounds::{CellComparison, RoundComparison};
use paceline_escape::{MarkdownText, markdown};
use paceline_report::{Align, Grid};

/// The heads of the columns.
const HEADS: [&str; 8] =
    ["server", "workload", "load", "metric", "first", "second", "second / first, 95 % interval", "decision"];

/// The rows as a table with padded columns: the failed requests and the deciding metric of each row first. It has the
/// metrics that experiments measure; JSON and pages have all.
pub fn rounds_markdown(comparison: &RoundComparison) -> MarkdownText {
    let mut lines: Vec<[MarkdownText; 8]> = vec![HEADS.map(MarkdownText::from_text)];
    comparison.cells.iter().for_each(|cell| lines.extend(row_lines(cell)));
    let mut text = padded(&lines);
    text.push(&markdown!(
        "\nRows in both rounds: {}, in one only: {}. A difference is reported only if it is significant after Holm's \
         correction over all rows of its metric. The rounds were measured at different times, so every ratio includes \
         drift of the machine.\n",
        comparison.cells.len(),
        comparison.unmatched
    ));
    text
}

/// The lines of one row of both rounds.
fn row_lines(CellComparison { cell, comparison, .. }: &CellComparison) -> Vec<[MarkdownText; 8]> {
    let shown = comparison.metrics.iter().filter(|metric| metric.metric.is_measured());
    let metrics = shown.map(|metric| {
        let [first, second, ratio, decision] = compared_cells(comparison, metric);
        [metric.metric.name().to_owned(), first, second, ratio, decision]
    });
    let lines = std::iter::once(failure_cells(comparison)).chain(metrics).enumerate();
    let line = |(place, cells): (usize, [String; 5])| {
        let name = |text: &str| MarkdownText::from_text(if place == 0 { text } else { "" });
        let [metric, first, second, ratio, decision] = cells.map(|cell| MarkdownText::from_text(&cell));
        let server = name(&format!("{} {}", cell.server, cell.form));
        let machine = cell.machine.iter().map(|machine| format!(", machine {machine}")).collect::<String>();
        let load = name(&format!("{}{machine}", cell.load));
        [server, name(&cell.workload), load, metric, first, second, ratio, decision]
    };
    lines.map(line).collect()
}

/// A table with a rule below its first line.
fn padded(lines: &[[MarkdownText; 8]]) -> MarkdownText {
    let strings = |line: &[MarkdownText; 8]| line.each_ref().map(|cell| cell.as_str().to_owned());
    let rows: Vec<[String; 8]> = lines.iter().map(strings).collect();
    let grid = Grid::fitting(&[Align::Left; 8], &rows);
    let mut text = MarkdownText::default();
    for (number, line) in lines.iter().enumerate() {
        let padded = line
            .iter()
            .enumerate()
            .map(|(column, cell)| markdown!("{}{}", cell, " ".repeat(grid.room(column, cell.as_str()))));
        text.push(&markdown!("| {} |\n", MarkdownText::joined(padded, " | ")));
        if number == 0 {
            let rule = |column| MarkdownText::from_text(&"-".repeat(grid.room(column, "") + 2));
            let rules = (0..HEADS.len()).map(rule);
            text.push(&markdown!("|{}|\n", MarkdownText::joined(rules, "|")));
        }
    }
    text
}
