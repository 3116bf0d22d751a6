//! The answers of the first page, overall scores and the time line of a server, from the rounds stored with the project.

use crate::served::{get, start};
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::SocketAddr;

fn page(address: SocketAddr, path: &str) -> Value {
    let (status, response) = get(address, path);
    assert_eq!(status, 200, "{path}: {response:.400}");
    serde_json::from_str(response.split_once("\r\n\r\n").unwrap().1).unwrap()
}

fn round_of(address: SocketAddr, plan: &str) -> String {
    let index = page(address, "/api/index");
    let rounds = index["rounds"].as_array().unwrap();
    let round = rounds.iter().rfind(|round| round["plan"] == plan).unwrap();
    round["id"].as_str().unwrap().to_owned()
}

#[test]
fn every_question_is_answered_by_a_table_as_its_ranking_shows_it() {
    let address = start();
    let answers = page(address, "/api/answers");
    let answers = answers["answers"].as_array().unwrap();
    let ids: Vec<&str> = answers.iter().map(|answer| answer["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["json", "fixed_rate", "database", "language", "start", "memory"]);
    for answer in answers {
        let round = page(address, &format!("/api/rounds/{}", answer["round"]["id"].as_str().unwrap()));
        let same = |table: &&Value| {
            ["workload", "form", "machine"].iter().all(|key| table[*key] == answer[*key])
                && table["load"]["name"] == answer["load"]["name"]
        };
        let table = round["tables"].as_array().unwrap().iter().find(same).unwrap();
        let metric = answer["metric"]["id"].as_str().unwrap();
        let rows = answer["rows"].as_array().unwrap();
        assert!((2..=8).contains(&rows.len()), "{} rows", rows.len());
        for row in rows {
            let of_table = table["rows"].as_array().unwrap().iter();
            let mut of_server = of_table.filter(|other| other["server"] == row["server"]["id"]);
            assert_eq!(of_server.next().unwrap()["values"][metric], row["value"]);
        }
        let less = answer["metric"]["less_is_better"] == true;
        let estimates = rows.iter().map(|row| row["value"]["estimate"].as_f64().unwrap());
        let estimates: Vec<f64> = estimates.map(|value| if less { -value } else { value }).collect();
        let is_minimum = rows.iter().any(|row| row["value"]["at_least"] == true);
        assert!(is_minimum || estimates.is_sorted_by(|a, b| a >= b), "{estimates:?}");
        // One launch decides nothing, and one leader is named only if no other server may be the first.
        assert_eq!(answer["decision"] == "single", table["single"] == true);
        let first = answer["first"].as_array().unwrap().len();
        let figures = table["rows"].as_array().unwrap().iter().map(|row| &row["values"][metric]);
        let mut counted = figures.filter(|value| !value.is_null() && value["invalid"] != true);
        let is_settled = |value: &Value| {
            let ranks = value["ranks"].as_array().map(|ranks| (ranks[0].as_u64(), ranks[1].as_u64()));
            ranks.is_some_and(|(best, worst)| best > Some(1) || worst == Some(1))
        };
        assert_eq!(answer["decision"] == "one", first == 1 && counted.all(is_settled), "{first}");
    }
    let languages: Vec<&Value> =
        answers[3]["rows"].as_array().unwrap().iter().map(|row| &row["server"]["language"]).collect();
    let once: BTreeSet<&str> = languages.iter().map(|language| language.as_str().unwrap()).collect();
    assert!(once.len() == languages.len() && once.len() > 1, "{languages:?}");
}

#[test]
fn the_overall_score_over_one_table_has_the_order_of_that_table() {
    let address = start();
    let id = round_of(address, "frameworks");
    let round = page(address, &format!("/api/rounds/{id}"));
    let table = &round["tables"][0];
    let one = table["id"].as_str().unwrap();
    let scores = page(address, &format!("/api/rounds/{id}/overall?metric=achieved_per_s&tables={one}"));
    assert_eq!(scores["tables"], serde_json::json!([one]));
    let names = |rows: &Value, key: &str| -> Vec<String> {
        rows.as_array().unwrap().iter().map(|row| row[key].as_str().unwrap().to_owned()).collect()
    };
    let left_out: Vec<String> = serde_json::from_value(scores["left_out"].clone()).unwrap();
    let mut valid: Vec<&Value> = table["rows"].as_array().unwrap().iter().collect();
    valid.retain(|row| row["values"]["achieved_per_s"]["invalid"] != true);
    let estimate = |row: &Value| row["values"]["achieved_per_s"]["estimate"].as_f64().unwrap();
    valid.sort_by(|a, b| estimate(b).total_cmp(&estimate(a)));
    let valid: Vec<&str> = valid.iter().map(|row| row["server"].as_str().unwrap()).collect();
    assert_eq!(names(&scores["rows"], "server"), valid);
    assert_eq!(valid.len() + left_out.len(), table["rows"].as_array().unwrap().len());
    assert!((scores["rows"][0]["score"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{scores}");
    // Over all tables: every score is a share, and lies in its interval.
    let all = page(address, &format!("/api/rounds/{id}/overall?metric=achieved_per_s"));
    assert!(all["tables"].as_array().unwrap().len() > 1);
    for row in all["rows"].as_array().unwrap() {
        let score = row["score"].as_f64().unwrap();
        let ends: [f64; 2] = serde_json::from_value(row["interval"].clone()).unwrap();
        assert!(0.0 < score && score <= 1.0 + 1e-9 && ends[0] <= score && score <= ends[1], "{row}");
    }
    assert_eq!(get(address, &format!("/api/rounds/{id}/overall?metric=none")).0, 404);
}

#[test]
fn a_server_has_a_line_for_each_load_with_its_rounds_in_order() {
    let address = start();
    let line = page(address, "/api/servers/java-netty");
    assert_eq!(line["server"]["language"], "Java");
    let lines = line["lines"].as_array().unwrap();
    let points = |line: &Value| line["points"].as_array().unwrap().clone();
    assert!(lines.iter().any(|line| points(line).len() > 1), "no load was measured twice");
    for line in lines {
        let points = points(line);
        let started: Vec<&str> = points.iter().map(|point| point["started_at"].as_str().unwrap()).collect();
        assert!(started.is_sorted(), "{started:?}");
        assert_eq!(points[0]["changes"], serde_json::json!({}), "the first point is compared with nothing");
        assert!(points.iter().skip(1).all(|point| point["changes"] != serde_json::json!({})), "{line:.400}");
    }
    assert_eq!(page(address, "/api/servers/java-netty"), line, "the kept page");
    assert_ne!(page(address, "/api/servers/go-nethttp")["server"], line["server"]);
    assert_eq!(get(address, "/api/servers/none").0, 404);
}

#[test]
fn several_runs_are_one_response_in_the_order_that_was_asked() {
    let address = start();
    let id = round_of(address, "frameworks");
    let round = page(address, &format!("/api/rounds/{id}"));
    let trials = round["tables"][0]["rows"].as_array().unwrap().iter();
    let ids: Vec<&str> = trials.take(3).map(|row| row["trials"][0]["id"].as_str().unwrap()).collect();
    let runs = page(address, &format!("/api/rounds/{id}/runs?ids={}", ids.join(",")));
    assert_eq!((runs.as_array().unwrap().len(), ids.len()), (3, 3));
    for (run, id_of_run) in runs.as_array().unwrap().iter().zip(&ids) {
        assert_eq!(*run, page(address, &format!("/api/rounds/{id}/runs/{id_of_run}")));
    }
    let many = vec![ids[0]; 25].join(",");
    assert_eq!(get(address, &format!("/api/rounds/{id}/runs?ids={many}")).0, 400);
    assert_eq!(get(address, &format!("/api/rounds/{id}/runs?ids=none")).0, 404);
}
