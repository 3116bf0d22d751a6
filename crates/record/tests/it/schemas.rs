//! The JSON Schemas published under `docs/` are those of the code.
//!
//! `UPDATE=1 cargo test -p paceline-record --test it` rewrites them. A difference that changes what a number means
//! also raises `SCHEMA` and heads CHANGELOG.md.

use std::path::Path;

fn check(name: &str, schema: &serde_json::Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    let current = format!("{schema:#}\n");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &current).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    let line = published.lines().zip(current.lines()).take_while(|(a, b)| a == b).count() + 1;
    assert!(
        published == current,
        "docs/{name}:{line}: the record has changed, its published schema has not. If the change is meant, write the \
         schema anew with: UPDATE=1 cargo test -p paceline-record --test it"
    );
}

#[test]
fn the_schema_of_a_run_is_published() {
    check("run.schema.json", &paceline_record::run_schema());
}

#[test]
fn the_schema_of_a_trial_is_published() {
    check("trial.schema.json", &paceline_record::trial_schema());
}

#[test]
fn the_schema_of_a_second_is_published() {
    check("second.schema.json", &paceline_record::second_schema());
}

#[test]
fn a_published_schema_names_every_key_of_the_record() {
    let schema = paceline_record::trial_schema();
    for key in ["schema", "id", "launch", "run", "usage", "validation", "error", "verdicts"] {
        assert!(schema["properties"].get(key).is_some(), "a trial's schema lacks {key}");
    }
}
