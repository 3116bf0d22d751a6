//! The parts of a run: its segments, its requests, each with a row.

use super::lines::{Style, table};
use super::quantity::{count, percent};
use super::times::{bounded, first_of};
use paceline_record::{Block, Run};

/// A table for each way in which the run has parts.
pub(super) fn of_run(run: &Run, style: Style) -> String {
    let tables = [
        part_table("segment", run.by_segment.as_deref(), run, style),
        part_table("request", run.by_request.as_deref(), run, style),
        part_table("generator", run.by_generator.as_deref(), run, style),
    ];
    let told: Vec<String> = tables.into_iter().flatten().collect();
    told.join("\n")
}

fn part_table(what: &str, parts: Option<&[Block]>, run: &Run, style: Style) -> Option<String> {
    let parts = parts.filter(|parts| !parts.is_empty())?;
    let (time, _) = first_of(run, &run.total);
    let header = ["by ".to_owned() + what, "requests".into(), "ok".into(), format!("{time} p50")];
    let header: Vec<&str> = header.iter().map(String::as_str).chain(["p90", "p99", "max"]).collect();
    let rows: Vec<Vec<String>> =
        parts.iter().enumerate().map(|(index, part)| row(index, part, run)).collect();
    Some(table(&header, &rows, style))
}

fn row(index: usize, part: &Block, run: &Run) -> Vec<String> {
    let counts = part.counts;
    let ok = counts.ok as f64 / (counts.scheduled as f64).max(1.0);
    let mut cells = vec![(index + 1).to_string(), count(counts.scheduled as f64), percent(ok)];
    match first_of(run, part).1 {
        Some(times) => {
            cells.extend([times.p50, times.p90, times.p99, times.max].map(|value| bounded(value, part)));
        }
        None => cells.extend([const { String::new() }; 4]),
    }
    cells
}
