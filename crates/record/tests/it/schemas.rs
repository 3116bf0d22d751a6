//! Compares the JSON Schemas published under `docs/schema/` with the code.
//!
//! `UPDATE=1 cargo test -p paceline-record --test it` rewrites them. A difference that changes what a number means
//! also raises `SCHEMA` and heads CHANGELOG.md.

use serde_json::Value;
use std::path::Path;

fn check(name: &str, schema: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema").join(name);
    let current = format!("{schema:#}\n");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &current).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    let line = published.lines().zip(current.lines()).take_while(|(a, b)| a == b).count() + 1;
    assert!(
        published == current,
        "docs/schema/{name}:{line}: the record has changed, its published schema has not. If the change is meant, write the \
         schema again with: UPDATE=1 cargo test -p paceline-record --test it"
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

#[test]
fn every_key_of_a_published_schema_has_a_description() {
    let mut wanting = Vec::new();
    for name in ["run", "trial", "second", "report"] {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/schema/{name}.schema.json"));
        let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let keys = collect_undescribed(&schema, name, &mut wanting);
        assert!(keys > 20, "{name}.schema.json has {keys} keys: they are not where this test looks for them");
    }
    assert!(wanting.is_empty(), "keys without a sentence of three words or more:\n{}", wanting.join("\n"));
}

/// Walks a schema, nested objects and definitions included; returns how many keys it has.
fn collect_undescribed(schema: &Value, at: &str, wanting: &mut Vec<String>) -> usize {
    let inside = match schema {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect::<Vec<_>>(),
        Value::Array(items) => items.iter().enumerate().map(|(i, item)| (i.to_string(), item)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
    };
    let keys = schema.get("properties").and_then(Value::as_object);
    for (key, value) in keys.into_iter().flatten() {
        let sentence = value["description"].as_str().unwrap_or_default().trim();
        if !sentence.ends_with('.') || sentence.split_whitespace().count() < 3 {
            wanting.push(format!("{at}/{key}: {sentence:?}"));
        }
    }
    let below =
        inside.into_iter().map(|(key, value)| collect_undescribed(value, &format!("{at}/{key}"), wanting));
    keys.map_or(0, serde_json::Map::len) + below.sum::<usize>()
}
