//! The parts of a run: its segments, its requests, each with a row.
//!
//! Called by `mod.rs`; the rows of requests are made in `requests.rs`. A run that has no parts has no such section. Its
//! seconds are no parts: they go to the files of `--csv` and `--ndjson`.

use super::lines::{Style, table};
use super::quantity::{count, percent, seconds};
use super::requests;
use super::times::{bounded, first_of};
use paceline_record::{Block, Run, Segment};

/// A table for each way in which the run has parts.
pub(super) fn of_run(run: &Run, style: Style) -> String {
    let tables = [
        segments(run, style),
        requests::table_of(run, style),
        part_table("generator", run.by_generator.as_deref(), run, style),
    ];
    let told: Vec<String> = tables.into_iter().flatten().collect();
    told.join("\n")
}

/// Each segment with the rate it offered and the one it got: where the two part, the target has had enough.
fn segments(run: &Run, style: Style) -> Option<String> {
    let segments = run.by_segment.as_deref().filter(|segments| !segments.is_empty())?;
    let (time, _) = first_of(run, &run.total);
    let title = style.lines(&format!("{time} by segment of the window"), 2, Style::dim);
    let header = ["from", "offered/s", "achieved/s", "ok", "p50", "p90", "p99", "max"];
    let rows: Vec<_> = segments.iter().map(|segment| segment_row(segment, run)).collect();
    Some(title + &table(&header, &rows, style))
}

fn segment_row(segment: &Segment, run: &Run) -> Vec<String> {
    let start_s = segment.start_ns.saturating_sub(run.phases.window.start_ns) as f64 / 1e9;
    let from = if start_s > 0.0 { seconds(start_s) } else { "0 s".to_owned() };
    let mut cells = vec![from, count(segment.offered_per_s), count(segment.achieved_per_s())];
    cells.extend(share_and_times(&segment.block, run));
    cells
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
    let mut cells = vec![(index + 1).to_string(), count(part.counts.scheduled as f64)];
    cells.extend(share_and_times(part, run));
    cells
}

/// The share that was ok, and percentiles of the first of its times.
fn share_and_times(part: &Block, run: &Run) -> Vec<String> {
    let counts = part.counts;
    let ok = counts.ok as f64 / (counts.scheduled as f64).max(1.0);
    let mut cells = vec![percent(ok)];
    match first_of(run, part).1 {
        Some(times) => {
            cells.extend([times.p50, times.p90, times.p99, times.max].map(|value| bounded(value, part)));
        }
        None => cells.extend([const { String::new() }; 4]),
    }
    cells
}
