//! JSON: the unchanged report, one document. Its schema is [`crate::schema`], published in `docs/report.schema.json`.
//!
//! Called for [`super::Format::Json`]. Nothing is rounded, and the keys are those of [`Report`].

use super::{Formatter, Options};
use crate::Report;
use paceline_escape::{JsonText, Printable};

/// One JSON document.
pub struct Json;

impl Formatter for Json {
    fn render(&self, report: &Report, _options: Options) -> Printable {
        // Serialization cannot fail: every key is text, and a number that is not finite becomes null.
        JsonText::of_document(&serde_json::to_string_pretty(report).unwrap_or_default()).into()
    }
}
