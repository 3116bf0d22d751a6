//! Tests that printed JSON conforms to the schemas published under docs/, for real runs of every kind.
//!
//! It covers the run's record and its seconds. The record crate's `schemas.rs` tests that the published schemas equal
//! those of the code; trials and reports are not printed by a run.

use super::{ReferenceServer, Runs as _, text};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn schema(name: &str) -> jsonschema::Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    jsonschema::validator_for(&serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()).unwrap()
}

fn check(schema: &jsonschema::Validator, value: &Value) {
    let wrong: Vec<String> = schema
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .take(5)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_kind_of_run_conforms_to_the_published_schema() {
    let (run, second) = (schema("run.schema.json"), schema("second.schema.json"));
    let server = ReferenceServer::start("immediate");
    let folder = tempfile::tempdir().unwrap();
    let ndjson = folder.path().join("s.ndjson");
    let kinds: [&[&str]; 6] = [
        &["-n", "200"],
        &["-d", "200ms", "--warmup", "50ms", "--pipeline", "4", "-t", "2", "--timestamps", "kernel"],
        &["-r", "1000", "-d", "300ms", "--expect-body", "Hello World\n", "--expect-status", "200"],
        &[
            "-r",
            "1000",
            "-d",
            "300ms",
            "--arrivals",
            "poisson",
            "--slo",
            "response.p99<1s",
            "--max-errors",
            "1%",
        ],
        &["-n", "50", "--expect-status", "404", "--max-errors", "0"],
        &["-n", "50", "--expect-body", "no", "--slo", "service.max<1s"],
    ];
    for flags in kinds {
        let beside = ["--format", "json", "--ndjson", ndjson.to_str().unwrap()];
        let output = server.output(&[flags, &beside].concat());
        assert!(matches!(output.status.code(), Some(0 | 1)), "{flags:?}: {}", text(&output.stderr));
        let mut record: Value = serde_json::from_slice(&output.stdout).unwrap();
        check(&run, &record);
        for line in fs::read_to_string(&ndjson).unwrap().lines() {
            check(&second, &serde_json::from_str(line).unwrap());
        }
        // A schema that accepts everything would prove nothing.
        record["total"]["counts"].as_object_mut().unwrap().remove("scheduled");
        assert!(!run.is_valid(&record), "{flags:?}");
    }
}
