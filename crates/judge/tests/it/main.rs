//! Compares the tables of verdicts and metrics with their reference pages under `docs/reference/`.
//!
//! `UPDATE=1 cargo test -p paceline-judge --test it` rewrites the pages.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod scenarios;

use paceline_judge::Metric;
use std::path::Path;

fn check(name: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let line = written.lines().zip(page.lines()).take_while(|(a, b)| a == b).count() + 1;
    assert!(
        written == page,
        "docs/reference/{name}:{line}: differs from its table. Rewrite it with: UPDATE=1 cargo test -p paceline-judge --test it"
    );
}

#[test]
fn the_reference_pages_match_the_tables() {
    check("verdicts.md", &paceline_judge::verdict_reference());
    check("metrics.md", &paceline_judge::metric_reference());
}

#[test]
fn every_metric_has_a_unique_key() {
    for (index, metric) in Metric::ALL.iter().enumerate() {
        assert_eq!(Metric::parse(metric.key).map(|found| found.index), Some(index), "{}", metric.key);
    }
}

#[test]
fn every_verdict_is_documented() {
    for name in paceline_judge::VerdictName::ALL {
        let doc = name.doc();
        assert!(doc.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{}", doc.name);
        assert_eq!(paceline_judge::VerdictName::parse(doc.name), Some(*name));
        assert!(doc.title.ends_with('.') && !doc.remedy.is_empty(), "{}", doc.name);
    }
}
