//! The schema version, its readers and its publication.
//!
//! The lab reads through it what its generator wrote, the store and `paceline report --from` what was kept; a test
//! holds the files under `docs/` to the types. A reader refuses what is newer than it knows, and does not ask whether
//! the figures make sense.

use crate::{RecordError, Round, Run, Second, Trial};
use serde::de::DeserializeOwned;

/// The version of the record's keys. A change of any number's meaning raises it and heads the change log.
pub const SCHEMA: u32 = 1;

/// Reads a run of this or any earlier schema.
///
/// # Errors
/// [`RecordError`] saying what is wrong and where.
pub fn read_run(json: &str) -> Result<Run, RecordError> {
    read("run", json)
}

/// Reads a trial of this or any earlier schema.
///
/// # Errors
/// [`RecordError`] saying what is wrong and where.
pub fn read_trial(json: &str) -> Result<Trial, RecordError> {
    read("trial", json)
}

/// Reads a round of this or any earlier schema.
///
/// # Errors
/// [`RecordError`] saying what is wrong and where.
pub fn read_round(json: &str) -> Result<Round, RecordError> {
    read("round", json)
}

/// The JSON Schema of a run, as published in `docs/run.schema.json`.
pub fn run_schema() -> serde_json::Value {
    schemars::schema_for!(Run).to_value()
}

/// The JSON Schema of a trial, as published in `docs/trial.schema.json`.
pub fn trial_schema() -> serde_json::Value {
    schemars::schema_for!(Trial).to_value()
}

/// The JSON Schema of a line of `--ndjson`, as published in `docs/second.schema.json`.
pub fn second_schema() -> serde_json::Value {
    schemars::schema_for!(Second).to_value()
}

/// The one key read before the others.
#[derive(serde::Deserialize)]
struct Versioned {
    schema: u32,
}

fn read<T: DeserializeOwned>(kind: &'static str, json: &str) -> Result<T, RecordError> {
    let as_json = |source| RecordError::Json { kind, source };
    let found = serde_json::from_str::<Versioned>(json).map_err(as_json)?.schema;
    if found > SCHEMA {
        return Err(RecordError::Newer { kind, found, known: SCHEMA });
    }
    serde_json::from_str(json).map_err(as_json)
}
