//! Two rounds, cell by cell: which cells are matched, and what a table of them says.

use super::*;
use paceline_record::{LoopKind, fixture};

/// Launches of a cell of a closed loop around a rate.
fn launches(server: &str, load: &str, rate: f64) -> Vec<Trial> {
    [0.99, 1.0, 1.01]
        .map(|noise| {
            let mut trial = fixture::trial();
            server.clone_into(&mut trial.server.id);
            load.clone_into(&mut trial.load.name);
            let mut run = fixture::run(0);
            run.loop_.kind = LoopKind::Closed;
            run.loop_.offered_per_s = None;
            run.rate_per_s.offered = None;
            run.rate_per_s.achieved = rate * noise;
            trial.run = Some(run);
            trial
        })
        .into()
}

#[test]
fn only_cells_of_both_rounds_are_compared() {
    let first = [launches("a", "closed", 1_000.0), launches("b", "closed", 500.0)].concat();
    let second =
        [launches("a", "closed", 1_300.0), launches("a", "other", 1_000.0), launches("b", "closed", 500.5)]
            .concat();
    let cells = compare_rounds([("one", &first), ("two", &second)], None, 0.05);
    let names: Vec<&str> = cells.iter().map(|cell| cell.cell.server.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let directions: Vec<Direction> =
        cells.iter().filter_map(|cell| Some(cell.comparison.decision()?.direction)).collect();
    assert_eq!(directions, [Direction::Better, Direction::Equivalent]);
    let text = rounds_markdown(&cells).to_string();
    let ratio = text.lines().find(|line| line.starts_with("| a single ")).unwrap_or_default();
    assert!(ratio.contains("| rate ") && ratio.contains("1.300 (1.2") && ratio.contains("faster"), "{text}");
    let widths: Vec<usize> =
        text.lines().take_while(|line| line.starts_with('|')).map(|line| line.chars().count()).collect();
    assert!(widths.len() > 3 && widths.iter().all(|width| *width == widths[0]), "{text}");
}
