//! The page of a round has the tables of direct beside balanced with the numbers of the JSON report.
//!
//! The browser's part only places the texts of the page; `ui/tests` compares what it shows.

use crate::root;
use paceline_store::archive;
use paceline_web::Records;
use paceline_web::page::RoundPage;
use serde_json::Value;
use std::collections::BTreeSet;

/// The figures of a row of the JSON report in the order of a table's columns, after the server.
const CLOSED: [&str; 5] = [
    "achieved_per_s",
    "twin_achieved_per_s",
    "achieved_ratio",
    "server_cpu_us_per_request",
    "twin_server_cpu_us_per_request",
];
const OPEN: [&str; 6] = [
    "achieved_per_s",
    "twin_achieved_per_s",
    "added_time_ns_p50",
    "added_time_ns_p99",
    "server_cpu_us_per_request",
    "twin_server_cpu_us_per_request",
];

/// The page of a stored round as JSON, and the JSON report of the same round.
fn page_and_report(round: &str) -> [Value; 2] {
    let (round, trials) = archive::read(&root().join("history").join(round)).unwrap();
    let records = Records { round, trials, unreadable: Vec::new() };
    let report = records.report();
    let page = serde_json::to_value(RoundPage::new(&records, &report)).unwrap();
    [page, serde_json::from_str(&report.json().to_string()).unwrap()]
}

fn list<'a>(value: &'a Value, key: &str) -> Vec<&'a Value> {
    value[key].as_array().into_iter().flatten().collect()
}

/// Whether a text is a number rounded to its last digit. Without decimals the last digits of a large number may be
/// rounded too: at least two digits are left.
fn is_rounded(text: &str, exact: &Value) -> bool {
    let Some(exact) = exact.as_f64() else { return false };
    let half = match text.split_once('.') {
        Some((_, decimals)) => 0.5 / 10f64.powi(decimals.len() as i32),
        None => (0.05 * exact.abs()).max(0.5),
    };
    (text.replace(',', "").parse::<f64>().unwrap() - exact).abs() <= half * (1.0 + 1e-9)
}

/// Whether a cell shows a figure, or its lowest and highest launch, after a mark and before its interval. A figure that
/// is missing leaves the cell without a number.
fn shows(cell: &str, figure: &Value) -> bool {
    let is_number = |word: &&str| word.starts_with(|letter: char| letter.is_ascii_digit());
    let Some(number) = cell.split_whitespace().find(is_number) else { return figure.is_null() };
    match number.split_once('–') {
        Some((low, high)) => is_rounded(low, &figure["min"]) && is_rounded(high, &figure["max"]),
        None if figure["mean"].is_null() => is_rounded(number, &figure["median"]),
        None => is_rounded(number, &figure["mean"]),
    }
}

/// Whether a cell shows an added time in whole microseconds, with its sign.
fn shows_added(cell: &str, figure: &Value) -> bool {
    let (number, median) = (cell.split_whitespace().next(), figure["median"].as_f64());
    let (Some(number), Some(median)) = (number, median) else { return cell.is_empty() && figure.is_null() };
    number.starts_with('+') == (median > 0.0)
        && (number.replace(',', "").parse::<f64>().unwrap() - median / 1e3).abs() <= 0.5
}

#[test]
fn direct_beside_balanced_has_the_numbers_of_the_json_report() {
    let [page, report] = page_and_report("archive/tetration-2026-11-21");
    let (pages, pairings) = (list(&page, "pairings"), list(&report, "pairings"));
    assert_eq!(pages.len(), pairings.len(), "this round has no other twins");
    let mut loops = BTreeSet::new();
    for (page, pairing) in pages.into_iter().zip(pairings) {
        let keys = ["machine", "workload", "form", "load", "twin"];
        assert_eq!(keys.map(|key| &page[key]), keys.map(|key| &pairing[key]));
        let title = page["sheet"]["title"].as_str().unwrap();
        let load = pairing["load"].as_str().unwrap();
        assert!(title.contains(&format!(": direct and balanced, {load} (")), "{title}");
        let figures = if pairing["loop_kind"] == "open" { &OPEN[..] } else { &CLOSED[..] };
        let (shown, rows) = (list(&page["sheet"], "rows"), list(pairing, "rows"));
        assert_eq!(shown.len(), rows.len(), "{title}");
        for (cells, row) in shown.into_iter().zip(rows) {
            let cells: Vec<&str> =
                cells.as_array().unwrap().iter().map(|cell| cell.as_str().unwrap()).collect();
            assert_eq!((cells[0], cells.len()), (row["server"].as_str().unwrap(), 1 + figures.len()));
            for (cell, key) in cells.iter().skip(1).zip(figures) {
                let is_same = if key.starts_with("added") { shows_added } else { shows };
                assert!(is_same(cell, &row[*key]), "{title}, {}, {key}: {cell} {}", cells[0], row[*key]);
            }
            loops.insert(pairing["loop_kind"].as_str().unwrap());
        }
    }
    assert!(loops.contains("closed") && loops.contains("open"), "{loops:?}");
}

#[test]
fn twins_on_one_instance_are_not_above_the_tables() {
    let [page, report] = page_and_report("archive/sold-on-go-2026-11-21");
    assert!(!list(&report, "pairings").is_empty());
    assert_eq!(page["pairings"], serde_json::json!([]));
}
