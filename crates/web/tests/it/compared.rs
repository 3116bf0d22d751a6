//! Two stored rounds, compared in every format: no decision differs between text, JSON and page.

use crate::root;
use paceline_experiment::{MARGIN, RoundComparison, RoundSide, compare_rounds, rounds_markdown};
use paceline_judge::Metric;
use paceline_store::archive;
use paceline_web::Records;
use paceline_web::page::{ComparePage, ComparedRound, RoundPage};
use std::collections::{BTreeMap, BTreeSet};

/// Decisions by server, form, workload, load and key of the metric.
type Decisions = BTreeMap<(String, String), String>;

/// A round of many servers and loads, and the same trials with each server's name on the next one's: real noise, and
/// differences of every size.
fn rounds() -> [Records; 2] {
    let read = || {
        let (round, trials) = archive::read(&root().join("history/archive/frameworks-2026-11-22")).unwrap();
        Records { round, trials, unreadable: Vec::new() }
    };
    let (first, mut second) = (read(), read());
    let ids: BTreeSet<String> = first.trials.iter().map(|trial| trial.server.id.clone()).collect();
    let next = |id: &String| {
        ids.range::<String, _>((std::ops::Bound::Excluded(id), std::ops::Bound::Unbounded)).next()
    };
    for trial in &mut second.trials {
        trial.server.id = next(&trial.server.id).or(ids.first()).unwrap().clone();
    }
    [first, second]
}

fn key(parts: [&str; 4]) -> String {
    parts.join(" ")
}

fn of_json(result: &RoundComparison) -> Decisions {
    let json = serde_json::to_value(&result.cells).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let mut decisions = Decisions::new();
    for (cell, typed) in json.as_array().unwrap().iter().zip(&result.cells) {
        let row =
            key(["server", "form", "workload", "load"].map(|part| cell["cell"][part].as_str().unwrap()));
        for (metric, typed) in
            cell["comparison"]["metrics"].as_array().unwrap().iter().zip(&typed.comparison.metrics)
        {
            decisions.insert((row.clone(), typed.metric.judged().key.to_owned()), text(&metric["decision"]));
        }
    }
    decisions
}

fn of_page(page: &ComparePage) -> Decisions {
    let json = serde_json::to_value(page).unwrap();
    let mut decisions = Decisions::new();
    for row in json["rows"].as_array().unwrap() {
        let [server, form, workload, load] =
            [&row["server_a"]["id"], &row["form"], &row["workload"], &row["load"]["name"]]
                .map(|part| part.as_str().unwrap());
        for (metric, pair) in row["pairs"].as_object().unwrap() {
            let decision = pair["ratio"]["decision"].as_str().unwrap().to_owned();
            decisions.insert((key([server, form, workload, load]), metric.clone()), decision);
        }
    }
    decisions
}

/// The decisions of the table, which has the metrics of experiments; its words for better and worse fit the metric.
fn of_text(text: &str) -> Decisions {
    let keys = [
        ("capacity", Metric::CAPACITY),
        ("sessions", Metric::SESSIONS_PER_S),
        ("rate", Metric::ACHIEVED_PER_S),
        ("cpu", Metric::SERVER_CPU),
        ("memory", Metric::RSS_PEAK),
        ("start-up", Metric::FIRST_ANSWER),
        ("response.p50", Metric::TIME_P50),
        ("service.p50", Metric::TIME_P50),
        ("response.p99", Metric::TIME_P99),
        ("service.p99", Metric::TIME_P99),
    ];
    let mut decisions = Decisions::new();
    let mut row = String::new();
    for line in text.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [server, workload, load, metric, .., decision] = cells.as_slice() else { panic!("{line}") };
        if let Some((server, form)) = server.rsplit_once(' ') {
            row = key([server, form, workload, load]);
        }
        let Some((_, metric)) = keys.iter().find(|(name, _)| name == metric) else { continue };
        let word = decision.split(" (decides)").next().unwrap().split(" within").next().unwrap();
        let decision = match word {
            "faster" | "cheaper" | "smaller" => "better",
            "slower" | "more expensive" | "larger" => "worse",
            "one launch" => "single",
            "not comparable" => "not_comparable",
            other => other,
        };
        decisions.insert((row.clone(), metric.key.to_owned()), decision.to_owned());
    }
    decisions
}

#[test]
fn every_format_has_the_same_decisions() {
    let rounds = rounds();
    let reports = rounds.each_ref().map(Records::report);
    let side =
        |place: usize| RoundSide { report: &reports[place], trials: &rounds[place].trials, server: None };
    let result = compare_rounds([side(0), side(1)], None, MARGIN);
    let pages: [RoundPage; 2] = std::array::from_fn(|place| RoundPage::new(&rounds[place], &reports[place]));
    let compared = |place: usize| ComparedRound {
        page: &pages[place],
        report: &reports[place],
        trials: &rounds[place].trials,
        server: None,
    };
    let json = of_json(&result);
    let text = of_text(&rounds_markdown(&result).to_string());
    // The page of `view`, and that of a report of one file.
    for page in [
        ComparePage::new(compared(0), compared(1)),
        ComparePage::from_result([compared(0), compared(1)], &result),
    ] {
        let mut page = of_page(&page);
        // The cost is the CPU time.
        page.retain(|(_, metric), _| metric != "cost_per_million");
        assert_eq!(page, json);
    }
    let shown: Decisions = json
        .iter()
        .filter(|(key, _)| text.contains_key(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    assert_eq!(text, shown);
    assert!(text.len() > 200, "{}", text.len());
    let occurs = |decision: &&str| text.values().any(|found| found == decision);
    let decisions = ["better", "worse", "undecided", "not_comparable"];
    assert_eq!(decisions.iter().filter(|decision| occurs(decision)).count(), decisions.len());
}
