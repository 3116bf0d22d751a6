//! Checks that the browser's types match the pages: `ui/src/wire.ts` is generated from their schema.
//!
//! `UPDATE=1 cargo test -p paceline-web --test it wire_types` writes the file.

use crate::root;
use paceline_web::LiveSecond;
use paceline_web::page::{
    AnswersPage, CapacityPage, ComparePage, IndexPage, OverallPage, RoundPage, RunPage, ThenPage,
    TimelinePage,
};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use std::fmt::Write as _;

const HEADER: &str = "// Generated from the Rust types of crates/web: UPDATE=1 cargo test -p paceline-web --test it \
                      wire_types\n";

#[test]
fn wire_types_match_the_pages() {
    let mut generator = SchemaSettings::default().for_serialize().into_generator();
    generator.subschema_for::<IndexPage>();
    generator.subschema_for::<RoundPage>();
    generator.subschema_for::<RunPage>();
    generator.subschema_for::<ComparePage>();
    generator.subschema_for::<CapacityPage>();
    generator.subschema_for::<ThenPage>();
    generator.subschema_for::<AnswersPage>();
    generator.subschema_for::<OverallPage>();
    generator.subschema_for::<TimelinePage>();
    generator.subschema_for::<LiveSecond>();
    let definitions = generator.take_definitions(true);
    let mut text = HEADER.to_owned();
    for (name, schema) in &definitions {
        let _ = write!(text, "\n{}", declaration(name, schema));
    }
    let path = root().join("ui/src/wire.ts");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap();
    assert!(
        found == text,
        "ui/src/wire.ts is not what the types say: run the test with UPDATE=1, then build ui/"
    );
}

fn declaration(name: &str, schema: &Value) -> String {
    match schema.get("properties").and_then(Value::as_object) {
        Some(properties) if schema.get("oneOf").is_none() && schema.get("anyOf").is_none() => {
            format!("{}export interface {name} {}\n", comment(schema, ""), fields(schema, properties))
        }
        _ => format!("{}export type {name} = {};\n", comment(schema, ""), typed(schema)),
    }
}

fn comment(schema: &Value, indent: &str) -> String {
    let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let line = description.split_whitespace().collect::<Vec<_>>().join(" ").replace("*/", "");
    if line.is_empty() { String::new() } else { format!("{indent}/** {line} */\n") }
}

fn fields(schema: &Value, properties: &Map<String, Value>) -> String {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut text = "{\n".to_owned();
    for (name, field) in properties {
        // Optional fields are left out, never null.
        let (mark, kind) = match required.contains(&name.as_str()) {
            true => ("", typed(field)),
            false => ("?", typed(field).replace(" | null", "")),
        };
        let _ = writeln!(text, "{}  {name}{mark}: {kind};", comment(field, "  "));
    }
    text + "}"
}

/// A schema as a type.
fn typed(schema: &Value) -> String {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        return reference.rsplit('/').next().unwrap().to_owned();
    }
    if let Some(constant) = schema.get("const") {
        return constant.to_string();
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return union(values.iter().map(Value::to_string));
    }
    if let Some(choices) = ["oneOf", "anyOf"].iter().find_map(|key| schema.get(*key)?.as_array()) {
        let choice = union(choices.iter().map(typed));
        return match schema.get("properties").and_then(Value::as_object) {
            // The keys of an enum that is flattened stand beside those of the struct.
            Some(properties) => format!("{} & ({choice})", fields(schema, properties)),
            None => choice,
        };
    }
    match schema.get("type") {
        Some(Value::Array(kinds)) => {
            union(kinds.iter().map(|kind| of_kind(kind.as_str().unwrap_or_default(), schema)))
        }
        Some(Value::String(kind)) => of_kind(kind, schema),
        _ => "unknown".to_owned(),
    }
}

fn union(choices: impl Iterator<Item = String>) -> String {
    choices.collect::<Vec<_>>().join(" | ")
}

fn of_kind(kind: &str, schema: &Value) -> String {
    match kind {
        "string" => "string".to_owned(),
        "integer" | "number" => "number".to_owned(),
        "boolean" => "boolean".to_owned(),
        "null" => "null".to_owned(),
        "array" => match schema.get("prefixItems").and_then(Value::as_array) {
            Some(items) => format!("[{}]", items.iter().map(typed).collect::<Vec<_>>().join(", ")),
            None => format!("({})[]", schema.get("items").map_or("unknown".to_owned(), typed)),
        },
        "object" => match schema.get("properties").and_then(Value::as_object) {
            Some(properties) => fields(schema, properties),
            None => {
                let values = schema.get("additionalProperties").map_or("unknown".to_owned(), typed);
                format!("Record<string, {values}>")
            }
        },
        other => panic!("no type for {other:?}"),
    }
}
