//! Tests of ranks of rows with every standing, tied and apart.
//!
//! The rows are made up, with only the figures that ranking reads. `tests/it/grouping.rs` tests which trials give a row
//! its standing.

use super::*;
use crate::figure::Figures;
use crate::row::Subject;
use paceline_stats::Random;
use std::collections::BTreeMap;

/// Three launches about a mean.
fn figure(mean: f64, half: f64) -> Figure {
    Figure::from_observations([mean - half, mean, mean + half]).unwrap()
}

fn row(id: &str, standing: Standing, per_s: Figure, cpu: Option<Figure>) -> Row {
    let server = Subject {
        copy_of: None,
        id: id.to_owned(),
        name: String::new(),
        language: String::new(),
        framework: String::new(),
        versions: Vec::new(),
        framework_package: None,
        limits: Vec::new(),
    };
    let mut figures = Figures::default();
    figures.set(&Metric::ACHIEVED_PER_S, Some(per_s));
    figures.set(&Metric::SERVER_CPU, cpu);
    Row {
        rank: None,
        rank_worst: None,
        standing,
        server,
        launches_usable: 3,
        launches_planned: 3,
        figures,
        limit: None,
        verdicts: Vec::new(),
        severity: None,
        failures: Vec::new(),
        left_out: BTreeMap::new(),
    }
}

fn ranked(mut rows: Vec<Row>, by: RankedBy) -> Vec<String> {
    rank(&mut rows, by, &draws());
    let shown = |row: &Row| match (row.rank, row.rank_worst) {
        (Some(best), Some(worst)) if best < worst => format!("{best}-{worst} {}", row.server.id),
        (Some(rank), _) => format!("{rank} {}", row.server.id),
        (None, _) => format!("- {}", row.server.id),
    };
    rows.iter().map(shown).collect()
}

#[test]
fn indistinguishable_rows_share_their_ranks() {
    let rows = vec![
        row("d", Standing::Ranked, figure(50.0, 1.0), None),
        row("b", Standing::Ranked, figure(90.0, 2.0), None),
        row("a", Standing::Ranked, figure(200.0, 4.0), None),
        row("c", Standing::Ranked, figure(89.0, 1.0), None),
    ];
    assert_eq!(ranked(rows, RankedBy::RequestsPerS), ["1 a", "2-3 b", "2-3 c", "4 d"]);
}

#[test]
fn ties_do_not_chain() {
    // Each is close to its neighbour; the first and the last are far apart.
    let rows: Vec<Row> = ["a", "b", "c", "d", "e", "f"]
        .iter()
        .zip(0..)
        .map(|(id, place)| row(id, Standing::Ranked, figure(100.0 * 0.85_f64.powi(place), 4.0), None))
        .collect();
    let ranks = ranked(rows, RankedBy::RequestsPerS);
    assert!(ranks[0].starts_with("1") && ranks[5].contains("6 f"), "{ranks:?}");
    assert!(!ranks[0].contains('6') && !ranks[5].contains('1'), "{ranks:?}");
}

#[test]
fn a_better_row_that_is_invalid_leaves_the_first_rank_open() {
    let rows = vec![
        row("bottle", Standing::Ranked, figure(4_300.0, 1.0), None),
        row("nodejs", Standing::Invalid, figure(34_000.0, 1.0), None),
        row("slow", Standing::Ranked, figure(100.0, 1.0), None),
    ];
    assert_eq!(ranked(rows, RankedBy::RequestsPerS), ["1-2 bottle", "2-3 slow", "- nodejs"]);
}

#[test]
fn one_launch_has_a_position_but_no_rank_and_may_be_ahead() {
    let once = |median| Figure::from_observations([median]).unwrap();
    let rows = vec![
        row("a", Standing::Ranked, once(100.0), None),
        row("b", Standing::Ranked, figure(90.0, 1.0), None),
        row("c", Standing::Ranked, once(80.0), None),
        row("d", Standing::Ranked, figure(70.0, 1.0), None),
    ];
    assert_eq!(ranked(rows, RankedBy::RequestsPerS), ["- a", "1-2 b", "- c", "2-4 d"]);
}

#[test]
fn minimums_without_repeated_cpu_times_are_not_told_apart() {
    let rows = vec![
        row("dear", Standing::GeneratorBound, figure(100.0, 1.0), Figure::from_observations([9.0])),
        row("cheap", Standing::GeneratorBound, figure(100.0, 1.0), Figure::from_observations([5.0])),
        row("c", Standing::Ranked, figure(80.0, 1.0), None),
    ];
    assert_eq!(ranked(rows, RankedBy::RequestsPerS), ["1-2 cheap", "1-2 dear", "3 c"]);
}

#[test]
fn lower_bounds_are_sorted_first_by_cpu() {
    let rows = vec![
        row("slow", Standing::Ranked, figure(20.0, 1.0), Some(figure(30.0, 1.0))),
        row("dear", Standing::GeneratorBound, figure(105.0, 1.0), Some(figure(9.0, 0.1))),
        row("cheap", Standing::GeneratorBound, figure(100.0, 1.0), Some(figure(5.0, 0.1))),
    ];
    assert_eq!(ranked(rows, RankedBy::RequestsPerS), ["1 cheap", "2 dear", "3 slow"]);
}

#[test]
fn an_estimate_above_a_lower_bound_is_tied_with_it() {
    let rows = vec![
        row("estimate", Standing::Ranked, figure(120.0, 1.0), Some(figure(7.0, 0.1))),
        row("bound", Standing::GeneratorBound, figure(100.0, 1.0), Some(figure(9.0, 0.1))),
    ];
    assert_eq!(ranked(rows, RankedBy::RequestsPerS), ["1-2 bound", "1-2 estimate"]);
}

#[test]
fn an_open_loop_is_ranked_by_cpu_unless_the_rate_was_missed() {
    let cpu = |median| Some(figure(median, 0.1));
    let rows = vec![
        row("overloaded", Standing::Overloaded, figure(900.0, 1.0), cpu(2.0)),
        row("unknown", Standing::Ranked, figure(1000.0, 0.0), None),
        row("dear", Standing::Ranked, figure(1000.0, 0.0), cpu(9.0)),
        row("cheap", Standing::Ranked, figure(1000.0, 0.0), cpu(5.0)),
        row("failed", Standing::Failed, figure(0.0, 0.0), None),
    ];
    let order = ["1 cheap", "2 dear", "- unknown", "- overloaded", "- failed"];
    assert_eq!(ranked(rows, RankedBy::ServerCpuPerRequest), order);
}

#[test]
fn a_time_that_is_a_minimum_is_ahead_of_none() {
    let timed = |id: &str, p99: f64, at_least: bool| {
        let mut row = row(id, Standing::Ranked, figure(100.0, 1.0), None);
        let p99 = Figure { at_least: Some(at_least), ..figure(p99, 1.0) };
        row.figures.set(&Metric::TIME_P99, Some(p99));
        row
    };
    let rows = |at_least| vec![timed("short", 100.0, at_least), timed("long", 900.0, false)];
    assert_eq!(ranked(rows(false), RankedBy::ResponseTimeP99), ["1 short", "2 long"]);
    assert_eq!(ranked(rows(true), RankedBy::ResponseTimeP99), ["1-2 short", "1-2 long"]);
}

#[test]
fn a_row_that_is_ranked_by_another_figure_is_never_tied_to_it() {
    let rows = vec![
        row("with", Standing::GeneratorBound, figure(100.0, 1.0), Some(figure(100.0, 1.0))),
        row("without", Standing::GeneratorBound, figure(100.0, 1.0), None),
    ];
    assert_eq!(ranked(rows, RankedBy::RequestsPerS), ["1-2 with", "1-2 without"]);
}

#[test]
fn disturbed_rows_are_minimums_and_stand_where_their_rate_belongs() {
    let rows = vec![
        row("express", Standing::Ranked, figure(4_700.0, 40.0), None),
        row("bun", Standing::Disturbed, figure(54_000.0, 2_000.0), None),
        row("fastapi", Standing::Ranked, figure(4_680.0, 40.0), None),
        row("go", Standing::Disturbed, figure(30_000.0, 9_000.0), None),
        row("slow", Standing::Disturbed, figure(900.0, 20.0), None),
    ];
    // Any of the minimums may be the fastest; no estimate is ahead of one.
    let order = ["1-3 bun", "1-3 go", "3-4 express", "4-5 fastapi", "1-5 slow"];
    assert_eq!(ranked(rows, RankedBy::RequestsPerS), order);
}

#[test]
fn rankings_of_one_table_share_its_error() {
    let estimate = |id, per_s| row(id, Standing::Ranked, Figure::from_observations(per_s).unwrap(), None);
    let minimum = |id, cpu| {
        let cpu = Figure::from_observations(cpu);
        row(id, Standing::GeneratorBound, figure(300.0, 2.0), cpu)
    };
    let smallest = |minimums: Vec<Row>| {
        let mut rows = vec![estimate("a", [100.0, 104.0, 98.0]), estimate("b", [101.0, 97.0, 103.0])];
        rows.extend(minimums);
        rank(&mut rows, RankedBy::RequestsPerS, &draws()).smallest_difference.unwrap()
    };
    let alone = smallest(Vec::new());
    let beside_one = smallest(vec![minimum("c", [5.0, 5.1, 4.9])]);
    let beside_two = smallest(vec![minimum("c", [5.0, 5.1, 4.9]), minimum("d", [5.1, 4.9, 5.0])]);
    // The same two estimates: one ranking, then two, then a third of the minimums by CPU time.
    assert!(alone < beside_one && beside_one < beside_two, "{alone}, {beside_one}, {beside_two}");
}

#[test]
fn a_table_of_equal_servers_rarely_claims_an_order_also_with_minimums() {
    let (mut random, draws) = (Random::new(9), draws());
    let mut claims_an_order = || {
        let mut figure = |mean: f64| {
            let launches = [(); 5].map(|()| mean * (0.1 * random.normal()).exp());
            Figure::from_observations(launches).unwrap()
        };
        let mut rows = Vec::from(["a", "b"].map(|id| row(id, Standing::Ranked, figure(100.0), None)));
        for id in ["c", "d"] {
            let (per_s, cpu) = (figure(100.0), figure(5.0));
            rows.push(row(id, Standing::GeneratorBound, per_s, Some(cpu)));
        }
        !rank(&mut rows, RankedBy::RequestsPerS, &draws).ahead.is_empty()
    };
    // Estimates and minimums are other rows: with 5 % for each ranking, 1 - 0.95^2 of the tables and more would.
    let claimed = (0..400).filter(|_| claims_an_order()).count();
    assert!(claimed <= 28, "{claimed} of 400 tables claim an order of equal servers");
}
