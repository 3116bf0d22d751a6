//! Errors of reading a record.
//!
//! Returned by the readers in `schema.rs`, and by the decoder of a stored histogram. The errors do not contain the
//! origin of the text: the store adds the record's id, `paceline report --from` the path and the line.

use paceline_stats::DecodeError;

/// What is wrong with a record, and where.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The text is not JSON, or not a record: serde's message carries line, column and key.
    #[error("not a {kind} record: {source}")]
    Json {
        /// "run", "trial" or "round".
        kind: &'static str,
        /// serde's error, with position and expectation.
        #[source]
        source: serde_json::Error,
    },
    /// A record written by a newer Paceline.
    #[error(
        "the {kind} record has schema {found}, this version of Paceline reads up to {known}; use a newer version"
    )]
    Newer {
        /// "run", "trial" or "round".
        kind: &'static str,
        /// The schema found.
        found: u32,
        /// The newest schema this version knows.
        known: u32,
    },
    /// A stored histogram cannot be decoded.
    #[error("a stored histogram is damaged")]
    Histogram(#[from] DecodeError),
}
