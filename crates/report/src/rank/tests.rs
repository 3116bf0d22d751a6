//! Ranks of rows with every standing, tied and apart.
//!
//! The rows are made up, with no more figures than ranking reads. Which trials give a row its standing is held in
//! `tests/it/grouping.rs`.

use super::*;
use crate::figure::Figures;
use crate::row::Subject;

fn figure(median: f64, half: f64) -> Figure {
    Figure { median, min: median - half, max: median + half, launches: 3 }
}

fn row(id: &str, standing: Standing, per_s: Figure, cpu: Option<Figure>) -> Row {
    let server = Subject {
        id: id.to_owned(),
        name: String::new(),
        language: String::new(),
        framework: String::new(),
        versions: Vec::new(),
        limits: Vec::new(),
    };
    Row {
        rank: None,
        tied: false,
        standing,
        server,
        launches_usable: 3,
        launches_planned: 3,
        figures: Figures {
            achieved_per_s: Some(per_s),
            server_cpu_us_per_request: cpu,
            ..Figures::default()
        },
        server_cpu_us_per_request_at_reference: None,
        verdicts: Vec::new(),
        failures: Vec::new(),
    }
}

fn ranked(mut rows: Vec<Row>, kind: LoopKind) -> Vec<String> {
    rank(&mut rows, kind);
    let shown = |row: &Row| {
        let rank = row.rank.map_or("-".to_owned(), |rank| rank.to_string());
        format!("{rank}{} {}", if row.tied { "=" } else { "" }, row.server.id)
    };
    rows.iter().map(shown).collect()
}

#[test]
fn overlapping_rows_share_a_rank_and_the_next_one_skips() {
    let rows = vec![
        row("d", Standing::Ranked, figure(50.0, 1.0), None),
        row("b", Standing::Ranked, figure(90.0, 5.0), None),
        row("a", Standing::Ranked, figure(100.0, 4.0), None),
        row("c", Standing::Ranked, figure(87.0, 1.0), None),
    ];
    // a and b do not overlap (96 against 95), b and c do.
    assert_eq!(ranked(rows, LoopKind::Closed), ["1 a", "2= b", "2= c", "4 d"]);
}

#[test]
fn one_launch_has_a_place_and_no_rank() {
    let once = |median| Figure::of([median]).unwrap();
    let rows = vec![
        row("a", Standing::Ranked, once(100.0), None),
        row("b", Standing::Ranked, figure(90.0, 1.0), None),
        row("c", Standing::Ranked, once(80.0), None),
        row("d", Standing::Ranked, figure(70.0, 1.0), None),
    ];
    assert_eq!(ranked(rows, LoopKind::Closed), ["- a", "1 b", "- c", "2 d"]);
}

#[test]
fn a_figure_of_one_launch_ranks_nobody_however_many_launches_there_were() {
    let rows = vec![
        row("dear", Standing::GeneratorBound, figure(100.0, 1.0), Figure::of([9.0])),
        row("cheap", Standing::GeneratorBound, figure(100.0, 1.0), Figure::of([5.0])),
        row("c", Standing::Ranked, figure(80.0, 1.0), None),
    ];
    assert_eq!(ranked(rows, LoopKind::Closed), ["- cheap", "- dear", "1 c"]);
}

#[test]
fn lower_bounds_come_first_by_their_cpu() {
    let rows = vec![
        row("slow", Standing::Ranked, figure(20.0, 1.0), Some(figure(30.0, 1.0))),
        row("dear", Standing::GeneratorBound, figure(105.0, 1.0), Some(figure(9.0, 0.1))),
        row("cheap", Standing::GeneratorBound, figure(100.0, 1.0), Some(figure(5.0, 0.1))),
    ];
    assert_eq!(ranked(rows, LoopKind::Closed), ["1 cheap", "2 dear", "3 slow"]);
}

#[test]
fn an_estimate_above_a_lower_bound_cannot_be_told_from_it() {
    let rows = vec![
        row("estimate", Standing::Ranked, figure(120.0, 1.0), Some(figure(7.0, 0.1))),
        row("bound", Standing::GeneratorBound, figure(100.0, 1.0), Some(figure(9.0, 0.1))),
    ];
    assert_eq!(ranked(rows, LoopKind::Closed), ["1= bound", "1= estimate"]);
}

#[test]
fn an_open_loop_is_ranked_by_cpu_and_who_fell_short_is_not() {
    let cpu = |median| Some(figure(median, 0.1));
    let rows = vec![
        row("overloaded", Standing::Overloaded, figure(900.0, 1.0), cpu(2.0)),
        row("unknown", Standing::Ranked, figure(1000.0, 0.0), None),
        row("dear", Standing::Ranked, figure(1000.0, 0.0), cpu(9.0)),
        row("cheap", Standing::Ranked, figure(1000.0, 0.0), cpu(5.0)),
        row("failed", Standing::Failed, figure(0.0, 0.0), None),
    ];
    let order = ["1 cheap", "2 dear", "- unknown", "- overloaded", "- failed"];
    assert_eq!(ranked(rows, LoopKind::Open), order);
}

#[test]
fn a_row_that_is_ranked_by_another_figure_is_never_tied_to_it() {
    let rows = vec![
        row("with", Standing::GeneratorBound, figure(100.0, 1.0), Some(figure(100.0, 1.0))),
        row("without", Standing::GeneratorBound, figure(100.0, 1.0), None),
    ];
    assert_eq!(ranked(rows, LoopKind::Closed), ["1 with", "2 without"]);
}
