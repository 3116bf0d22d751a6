//! Two rounds, row by row: which rows are matched, the correction over rows, and the content of their table.

use super::*;
use crate::rounds_text::rounds_markdown;
use paceline_record::{
    Environment, FoundCapacity, Limit, LimitKind, LoopKind, Round, SCHEMA, Startup, fixture,
};

/// Compares two rounds of these trials.
fn compare(first: &[Trial], second: &[Trial]) -> RoundComparison {
    let round = |id: &str| Round {
        schema: SCHEMA,
        id: id.to_owned(),
        plan: "plan".to_owned(),
        plan_toml: "name = \"plan\"\n".to_owned(),
        seed: 1,
        started_at: "2026-11-21T00:00:00.000Z".to_owned(),
        finished_at: None,
        generator: None,
        planned: 0,
        environment: Environment::default(),
        sittings: Vec::new(),
        changes: Vec::new(),
        observed: Vec::new(),
    };
    let reports = [Report::new(&round("one"), first), Report::new(&round("two"), second)];
    let side = |place: usize, trials| RoundSide { report: &reports[place], trials, server: None };
    compare_rounds([side(0, first), side(1, second)], None, MARGIN)
}

/// Launches of a cell of a closed loop around a rate.
fn launches(server: &str, load: &str, rate: f64) -> Vec<Trial> {
    [(0, 0.99), (1, 1.0), (2, 1.01)]
        .map(|(repeat, noise)| {
            let mut trial = fixture::trial();
            trial.repeat = repeat;
            trial.id = format!("{server}-{load}-{repeat}");
            server.clone_into(&mut trial.server.id);
            load.clone_into(&mut trial.load.name);
            trial.load.connections = load.len() as u32;
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
    let compared = compare(&first, &second);
    let cells = &compared.cells;
    let names: Vec<&str> = cells.iter().map(|cell| cell.cell.server.as_str()).collect();
    assert_eq!((names.as_slice(), compared.unmatched), (["a", "b"].as_slice(), 1));
    let directions: Vec<Direction> =
        cells.iter().filter_map(|cell| Some(cell.comparison.decision()?.direction)).collect();
    assert_eq!(directions, [Direction::Better, Direction::Equivalent]);
    let text = rounds_markdown(&compared).to_string();
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
    let compared = compare(&first, &second);
    let cells = &compared.cells;
    let comparison = &cells[0].comparison;
    assert_eq!(comparison.primary, ComparedMetric::CapacityPerS, "what was searched decides");
    let direction = |metric| {
        let compared = comparison.metrics.iter().find(|compared| compared.metric == metric).unwrap();
        compared.direction
    };
    assert_eq!(direction(ComparedMetric::CapacityPerS), Direction::Better);
    assert_eq!(direction(ComparedMetric::StartNs), Direction::Worse);
    let text = rounds_markdown(&compared).to_string();
    assert!(text.contains("1,300/s") && text.contains("start-up") && text.contains("300 ms"), "{text}");
}

#[test]
fn a_cell_with_a_launch_that_failed_is_shown_and_not_compared() {
    let first = launches("a", "closed", 1_000.0);
    let mut second = launches("a", "closed", 1_000.0);
    let run = second[1].run.as_mut().unwrap();
    (run.total.counts.scheduled, run.total.counts.ok, run.total.counts.bad_status) = (1_000, 100, 900);
    run.verdicts = vec![crate::capacity::tests::invalid("failed_requests", paceline_record::Blame::Server)];
    let compared = compare(&first, &second);
    let cells = &compared.cells;
    let failures = &cells[0].comparison.failures;
    assert_eq!((failures.second.unusable, failures.second.not_ok), (1, 900), "{failures:?}");
    let text = rounds_markdown(&compared).to_string();
    let row = text.lines().find(|line| line.starts_with("| a single ")).unwrap_or_default();
    assert!(row.contains("| failed ") && row.contains("not usable"), "{text}");
}

#[test]
fn rows_of_several_machines_are_compared_with_those_of_their_own() {
    let on = |cores: u32, started_at: &str, rate: f64| -> Vec<Trial> {
        let mut trials = launches("a", "closed", rate);
        for trial in &mut trials {
            trial.id.push_str(&cores.to_string());
            started_at.clone_into(&mut trial.started_at);
            trial.run.as_mut().unwrap().environment.cores = cores;
        }
        trials
    };
    let (early, late) = ("2026-11-21T00:00:00.000Z", "2026-11-22T00:00:00.000Z");
    let first = [on(2, early, 500.0), on(8, late, 1_000.0)].concat();
    let mut slow = on(2, late, 500.5);
    let run = slow[1].run.as_mut().unwrap();
    (run.total.counts.scheduled, run.total.counts.ok, run.total.counts.bad_status) = (1_000, 100, 900);
    run.verdicts = vec![crate::capacity::tests::invalid("failed_requests", paceline_record::Blame::Server)];
    // The second round has the machines in the other order.
    let second = [on(8, early, 1_300.0), slow].concat();
    let compared = compare(&first, &second);
    assert_eq!((compared.cells.len(), compared.unmatched), (2, 0));
    let failed = |row: usize| compared.cells[row].comparison.failures.second.not_ok;
    assert_eq!((failed(0), failed(1)), (900, 0), "failures of one machine do not count on the other");
    assert_eq!(compared.cells[1].comparison.decision().unwrap().direction, Direction::Better);
    let machines: Vec<_> = compared.cells.iter().map(|cell| cell.cell.machine.as_deref()).collect();
    assert_eq!(machines, [Some("A"), Some("B")]);
    let text = rounds_markdown(&compared).to_string();
    assert!(text.contains("| closed, machine A ") && text.contains("| closed, machine B "), "{text}");
    // A round of one machine has a counterpart for one of the two.
    let compared = compare(&on(8, early, 1_000.0), &second);
    assert_eq!((compared.cells.len(), compared.unmatched), (1, 1));
    assert_eq!(compared.cells[0].cell.machine, None);
    assert_eq!(compared.cells[0].comparison.failures.second.not_ok, 0);
}

#[test]
fn one_difference_among_many_rows_is_not_claimed() {
    // Noise of 5 % and a difference of 15 %: a row alone is claimed with a p value of about 0.03, one of twenty is not.
    let rows = |rate: f64| -> Vec<Trial> {
        let mut trials: Vec<Trial> =
            (0..20).flat_map(|place| launches(&format!("s{place:02}"), "closed", rate)).collect();
        for run in trials.iter_mut().filter_map(|trial| trial.run.as_mut()) {
            let noise = run.rate_per_s.achieved / rate;
            run.rate_per_s.achieved = rate * noise.powi(5);
        }
        trials
    };
    let (first, second) = (rows(1_000.0), rows(1_150.0));
    let alone = |server: &str, trials: &[Trial]| -> Vec<Trial> {
        trials.iter().filter(|trial| trial.server.id == server).cloned().collect()
    };
    let rate = |compared: &RoundComparison, row: usize| {
        let metrics = &compared.cells[row].comparison.metrics;
        metrics.iter().find(|metric| metric.metric == ComparedMetric::RatePerS).cloned().unwrap()
    };
    let single = rate(&compare(&alone("s05", &first), &alone("s05", &second)), 0);
    assert!(single.p_value < 0.05 && single.p_value > 0.05 / 20.0, "{single:?}");
    assert_eq!(single.direction, Direction::Better);
    let all = compare(&first, &second);
    assert_eq!(all.cells.len(), 20);
    for row in 0..20 {
        let corrected = rate(&all, row);
        assert!(corrected.p_value > 0.05, "{corrected:?}");
        assert!(matches!(corrected.direction, Direction::Undecided { .. }), "{corrected:?}");
    }
}

#[test]
fn a_row_with_one_launch_or_a_minimum_claims_nothing() {
    let first = launches("a", "closed", 1_000.0);
    let mut second = launches("a", "closed", 1_500.0);
    let rate = |compared: &RoundComparison| {
        let metrics = &compared.cells[0].comparison.metrics;
        metrics.iter().find(|metric| metric.metric == ComparedMetric::RatePerS).cloned().unwrap()
    };
    let single = rate(&compare(&first, &second[..1]));
    assert_eq!((single.direction, single.p_value), (Direction::Single, 1.0));
    assert!(single.ratio_interval.low < single.ratio && single.ratio < single.ratio_interval.high);
    second.iter_mut().for_each(|trial| trial.run.as_mut().unwrap().generator.utilization = 0.99);
    assert_eq!(rate(&compare(&first, &second)).direction, Direction::NotComparable);
}

/// The launches of a cell with another noise.
fn noisy(load: &str, rate: f64, noise: [f64; 3]) -> Vec<Trial> {
    let mut trials = launches("a", load, rate);
    for (trial, noise) in trials.iter_mut().zip(noise) {
        trial.run.as_mut().unwrap().rate_per_s.achieved = rate * noise;
    }
    trials
}

#[test]
fn all_rows_together_decide_what_no_row_decides_alone() {
    let joint = |noise: [[f64; 3]; 2]| {
        let round = |rate: f64| [noisy("closed", rate, noise[0]), noisy("closed-2", rate, noise[1])].concat();
        let compared = compare(&round(1_000.0), &round(1_200.0));
        let alone: Vec<Direction> =
            compared.cells.iter().map(|cell| cell.comparison.metrics[0].direction).collect();
        assert!(alone.iter().all(|direction| !direction.is_claim()), "{alone:?}");
        let is_rate = |joint: &&JointComparison| joint.comparison.metric.judged() == &Metric::ACHIEVED_PER_S;
        compared.joint.iter().find(is_rate).cloned().unwrap()
    };
    // The launches of the two rows vary independently of each other.
    let found = joint([[0.7, 1.0, 1.43], [1.42, 1.0, 0.71]]);
    assert_eq!((found.rows, found.higher, found.comparison.direction), (2, 2, Direction::Better));
    assert!((found.comparison.ratio - 1.2).abs() < 1e-6, "{}", found.comparison.ratio);
    // The rows share launches: the second row says nothing that the first did not.
    let found = joint([[0.7, 1.0, 1.43], [0.7, 1.0, 1.43]]);
    assert!(!found.comparison.direction.is_claim(), "{found:?}");
}

/// Launches of a cell of an open loop.
fn open_launches(load: &str) -> Vec<Trial> {
    let mut trials = launches("a", load, 1_000.0);
    for trial in &mut trials {
        trial.load.kind = LoopKind::Open;
        trial.load.rate_per_s = Some(1_000.0);
        trial.run = Some(fixture::run(0));
    }
    trials
}

#[test]
fn times_of_the_two_loops_are_compared_apart() {
    let closed = |load| launches("a", load, 1_000.0);
    let round =
        [closed("closed"), closed("closed-2"), open_launches("open"), open_launches("open-2000")].concat();
    let joint = compare(&round, &round).joint;
    let of = |metric: &Metric| -> Vec<_> {
        let found = joint.iter().filter(|joint| joint.comparison.metric.judged() == metric);
        found.map(|joint| (joint.comparison.metric, joint.loop_kind, joint.rows)).collect()
    };
    let apart = [
        (ComparedMetric::ServiceTimeNsP50, Some(LoopKind::Closed), 2),
        (ComparedMetric::ResponseTimeNsP50, Some(LoopKind::Open), 2),
    ];
    assert_eq!(of(&Metric::TIME_P50), apart);
    let rows = |metric: &Metric| -> Vec<_> {
        of(metric).into_iter().map(|(_, loop_kind, rows)| (loop_kind, rows)).collect()
    };
    assert_eq!(rows(&Metric::TIME_P90), [(Some(LoopKind::Closed), 2), (Some(LoopKind::Open), 2)]);
    assert_eq!(rows(&Metric::KEPT_ALIVE_SHARE), [(None, 4)]);
}

#[test]
fn a_rate_that_the_load_fixed_is_not_compared() {
    let compared = compare(&open_launches("open"), &open_launches("open"));
    let metrics = &compared.cells[0].comparison.metrics;
    assert!(!metrics.is_empty());
    assert!(metrics.iter().all(|metric| metric.metric.judged() != &Metric::ACHIEVED_PER_S), "{metrics:?}");
    assert!(compared.joint.iter().all(|joint| joint.comparison.metric.judged() != &Metric::ACHIEVED_PER_S));
}
