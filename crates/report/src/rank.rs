//! The order of a table's rows, and who shares a rank.
//!
//! Closed loop: by requests per second. Rows in which the generator was the limit come first, being lower bounds;
//! among themselves they are ordered by the server's CPU per request, at a fixed rate where one was measured. Open
//! loop: by the server's CPU per request at that rate. Rows whose ends over the launches overlap with the row above
//! share its rank: so few launches cannot tell them apart. A row has its place and no rank where one launch alone has the
//! figure it is ordered by.

use crate::figure::Figure;
use crate::row::{Row, Standing};
use paceline_record::LoopKind;
use std::cmp::Ordering;

/// With fewer launches there is no range, and nothing can be said about who is ahead of whom.
pub const LAUNCHES_LEAST: u32 = 2;

/// Puts the rows in order and gives them their ranks.
pub fn rank(rows: &mut [Row], kind: LoopKind) {
    rows.sort_by(|a, b| {
        let group = |row: &Row| group(row, kind);
        group(a).cmp(&group(b)).then_with(|| by_key(a, b, kind)).then_with(|| a.server.id.cmp(&b.server.id))
    });
    let mut above: Option<(Row, u32)> = None;
    let comparable = rows.iter_mut().take_while(|row| is_ranked(row, kind));
    let is_repeated =
        |row: &&mut Row| key(row, kind).is_some_and(|(figure, _)| figure.launches >= LAUNCHES_LEAST as usize);
    for (place, row) in comparable.filter(is_repeated).enumerate() {
        let shared = above.as_ref().filter(|(above, _)| same(above, row, kind)).map(|(_, rank)| *rank);
        let rank = shared.unwrap_or(place as u32 + 1);
        row.rank = Some(rank);
        above = Some((row.clone(), rank));
    }
    let ranks: Vec<Option<u32>> = rows.iter().map(|row| row.rank).collect();
    for row in rows.iter_mut().filter(|row| row.rank.is_some()) {
        row.tied = ranks.iter().filter(|rank| **rank == row.rank).count() > 1;
    }
}

/// Rows of a group stand together. In an open loop a row that fell short is not at the rate the others are compared at.
fn group(row: &Row, kind: LoopKind) -> u8 {
    match (row.standing, kind) {
        _ if is_ranked(row, kind) => u8::from(row.standing != Standing::GeneratorBound),
        (Standing::Ranked | Standing::GeneratorBound, _) => 2,
        (Standing::Overloaded, _) => 3,
        (Standing::Invalid, _) => 4,
        (Standing::Failed, _) => 5,
    }
}

fn is_ranked(row: &Row, kind: LoopKind) -> bool {
    match row.standing {
        Standing::Ranked => key(row, kind).is_some(),
        Standing::GeneratorBound => kind == LoopKind::Closed && key(row, kind).is_some(),
        Standing::Overloaded | Standing::Invalid | Standing::Failed => false,
    }
}

/// The figure a row is ordered by, and whether less of it is better.
fn key(row: &Row, kind: LoopKind) -> Option<(Figure, bool)> {
    let figures = &row.figures;
    let cpu = || row.server_cpu_us_per_request_at_reference.or(figures.server_cpu_us_per_request);
    match (kind, row.standing) {
        (LoopKind::Closed, Standing::GeneratorBound) => {
            cpu().map(|f| (f, true)).or(figures.achieved_per_s.map(|f| (f, false)))
        }
        (LoopKind::Open, Standing::Ranked) => figures.server_cpu_us_per_request.map(|f| (f, true)),
        _ => figures.achieved_per_s.map(|f| (f, false)),
    }
}

/// How many launches have the figure that a row is ranked by; none for a row without a rank.
pub fn launches_behind(row: &Row, kind: LoopKind) -> Option<usize> {
    row.rank.and_then(|_| key(row, kind)).map(|(figure, _)| figure.launches)
}

fn by_key(a: &Row, b: &Row, kind: LoopKind) -> Ordering {
    match (key(a, kind), key(b, kind)) {
        // A row without the CPU figure falls behind those that have it, whatever its own figure is.
        (Some((_, true)), Some((_, false))) => Ordering::Less,
        (Some((_, false)), Some((_, true))) => Ordering::Greater,
        (Some((a, less)), Some((b, _))) if less => a.median.total_cmp(&b.median),
        (Some((a, _)), Some((b, _))) => b.median.total_cmp(&a.median),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// Whether a row cannot be told from the one above it.
fn same(above: &Row, row: &Row, kind: LoopKind) -> bool {
    let (Some((high, less_above)), Some((low, less_below))) = (key(above, kind), key(row, kind)) else {
        return false;
    };
    if above.standing == Standing::GeneratorBound && row.standing == Standing::Ranked {
        // A lower bound above an estimate: the two can be told apart only when the estimate ends below the bound.
        let bound = above.figures.achieved_per_s;
        return bound.is_some_and(|bound| low.max >= bound.min);
    }
    less_above == less_below && high.overlaps(&low)
}

#[cfg(test)]
#[path = "rank/tests.rs"]
mod tests;
