//! Two rounds, cell by cell: which cells are matched, and the content of their table.

use super::*;
use paceline_record::{FoundCapacity, Limit, LimitKind, LoopKind, Startup, fixture};

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
fn only_cells_in_both_rounds_are_compared() {
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
    let failed = text.lines().find(|line| line.starts_with("| a single ")).unwrap_or_default();
    assert!(failed.contains("| failed "), "failed requests come first: {text}");
    let ratio = text.lines().find(|line| line.contains("| rate ")).unwrap_or_default();
    assert!(ratio.contains("1.300 (1.2") && ratio.contains("faster"), "{text}");
    let widths: Vec<usize> =
        text.lines().take_while(|line| line.starts_with('|')).map(|line| line.chars().count()).collect();
    assert!(widths.len() > 3 && widths.iter().all(|width| *width == widths[0]), "{text}");
}

#[test]
fn capacity_memory_and_start_time_are_compared_if_recorded() {
    let searched = |capacity: f64, start_ms: u64| -> Vec<Trial> {
        let mut trials = launches("a", "capacity", capacity);
        for (trial, noise) in trials.iter_mut().zip([0.99, 1.0, 1.01]) {
            trial.run = Some(fixture::run(0));
            trial.capacity = Some(FoundCapacity {
                window_s: 5.0,
                closed_loop_per_s: 2_000.0,
                half_pass_per_s: Some(capacity * noise),
                interval_per_s: None,
                is_precise: true,
                stalls_decide: None,
                long_run_per_s: None,
                limit: Limit { kind: LimitKind::ServerCpu, evidence: String::new() },
                ended_early: None,
                windows: Vec::new(),
            });
            let first_answer_ns = (start_ms as f64 * 1e6 * noise) as u64;
            trial.startup = Some(Startup { first_answer_ns, ..Startup::default() });
        }
        trials
    };
    let (first, second) = (searched(1_000.0, 100), searched(1_300.0, 300));
    let cells = compare_rounds([("one", &first), ("two", &second)], None, 0.05);
    let comparison = &cells[0].comparison;
    assert_eq!(comparison.primary, ComparedMetric::CapacityPerS, "what was searched decides");
    let direction = |metric| {
        let compared = comparison.metrics.iter().find(|compared| compared.metric == metric).unwrap();
        compared.direction
    };
    assert_eq!(direction(ComparedMetric::CapacityPerS), Direction::Better);
    assert_eq!(direction(ComparedMetric::StartNs), Direction::Worse);
    let text = rounds_markdown(&cells).to_string();
    assert!(text.contains("1,300/s") && text.contains("start-up") && text.contains("300 ms"), "{text}");
}

#[test]
fn a_cell_with_a_launch_that_failed_is_shown_and_not_compared() {
    let first = launches("a", "closed", 1_000.0);
    let mut second = launches("a", "closed", 1_000.0);
    let run = second[1].run.as_mut().unwrap();
    (run.total.counts.scheduled, run.total.counts.ok, run.total.counts.bad_status) = (1_000, 100, 900);
    run.verdicts = vec![crate::capacity::tests::invalid("failed_requests", paceline_record::Blame::Server)];
    let cells = compare_rounds([("one", &first), ("two", &second)], None, 0.05);
    let failures = &cells[0].comparison.failures;
    assert_eq!((failures.second.unusable, failures.second.not_ok), (1, 900), "{failures:?}");
    let text = rounds_markdown(&cells).to_string();
    let row = text.lines().find(|line| line.starts_with("| a single ")).unwrap_or_default();
    assert!(row.contains("| failed ") && row.contains("not usable"), "{text}");
}
