//! Seconds of a run as CSV (RFC 4180): a header, then a line for each, every figure in full precision.
//!
//! Called by `paceline run --csv` after each second. The record crate defines the columns, for this and for NDJSON. The
//! CSV of a round's report is in `format/csv.rs`.

use paceline_record::Second;
use serde_json::Value;

/// The header: the keys of [`Second`], in its order.
pub fn seconds_csv_header() -> String {
    Second::COLUMNS.join(",") + "\r\n"
}

/// One second. Missing values are empty.
pub fn second_csv(second: &Second) -> String {
    let value = serde_json::to_value(second).unwrap_or_default();
    let fields: Vec<String> = Second::COLUMNS.iter().map(|column| field(&value[*column])).collect();
    fields.join(",") + "\r\n"
}

/// No text in a second contains a comma or a quotation mark.
fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
