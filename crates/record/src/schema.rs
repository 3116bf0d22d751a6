//! The schema version, the readers of records, and the published JSON Schemas.
//!
//! The lab uses the readers for the output of its generator, the store and `paceline report --from` for stored records.
//! A test compares the files under `docs/schema/` with the types. A reader rejects schemas newer than its own, and does not
//! check whether the figures are plausible.

use crate::{RecordError, Round, Run, Second, Trial};
use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The version of the record's keys. A change of any number's meaning raises it and heads the change log.
pub const SCHEMA: u32 = 1;

/// Reads a run of this or any earlier schema.
///
/// # Errors
/// [`RecordError`] with cause and position.
pub fn read_run(json: &str) -> Result<Run, RecordError> {
    read("run", json, |run: &Run| run.schema)
}

/// Reads a trial of this or any earlier schema.
///
/// # Errors
/// [`RecordError`] with cause and position.
pub fn read_trial(json: &str) -> Result<Trial, RecordError> {
    read("trial", json, |trial: &Trial| trial.schema)
}

/// Reads a round of this or any earlier schema.
///
/// # Errors
/// [`RecordError`] with cause and position.
pub fn read_round(json: &str) -> Result<Round, RecordError> {
    read("round", json, |round: &Round| round.schema)
}

/// The JSON Schema of a run, as published in `docs/schema/run.schema.json`.
pub fn run_schema() -> Value {
    schema_of::<Run>()
}

/// The JSON Schema of a trial, as published in `docs/schema/trial.schema.json`.
pub fn trial_schema() -> Value {
    schema_of::<Trial>()
}

/// The JSON Schema of a line of `--ndjson`, as published in `docs/schema/second.schema.json`.
pub fn second_schema() -> Value {
    schema_of::<Second>()
}

/// The JSON Schema of a type, as the files in `docs/schema/` have it.
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::default().with_transform(RecursiveTransform(describe_variants));
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Copies the description of an enum variant to the key that names the variant: schemars writes it only on the variant,
/// where a reader who looks up a key does not find it.
fn describe_variants(schema: &mut Schema) {
    let Some(variants) = schema.get_mut("oneOf").and_then(Value::as_array_mut) else { return };
    for variant in variants {
        let Some(description) = variant.get("description").cloned() else { continue };
        let Some(keys) = variant.get_mut("properties").and_then(Value::as_object_mut) else { continue };
        let is_only_key = keys.len() == 1; // the name of an externally tagged variant
        for key in keys.values_mut().filter_map(Value::as_object_mut) {
            if is_only_key || key.contains_key("const") {
                key.entry("description").or_insert_with(|| description.clone());
            }
        }
    }
}

/// The key that says why a record cannot be read.
#[derive(serde::Deserialize)]
struct Versioned {
    schema: u32,
}

fn read<T: DeserializeOwned>(
    kind: &'static str,
    json: &str,
    schema: impl Fn(&T) -> u32,
) -> Result<T, RecordError> {
    let as_json = |source| RecordError::Json { kind, source };
    let newer = |found| RecordError::Newer { kind, found, known: SCHEMA };
    match serde_json::from_str(json) {
        Ok(record) => match schema(&record) {
            found if found > SCHEMA => Err(newer(found)),
            _ => Ok(record),
        },
        // Read separately only now: for every record it would be a third of the work.
        Err(source) => match serde_json::from_str::<Versioned>(json).map_err(as_json)?.schema {
            found if found > SCHEMA => Err(newer(found)),
            _ => Err(as_json(source)),
        },
    }
}
