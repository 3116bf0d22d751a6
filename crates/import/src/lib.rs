//! Imports reports of other load generators and result boards as rounds and trials.
//!
//! `paceline store import` calls this crate. A report is recognised by its content, not by its name. Every trial is
//! marked as imported ([`paceline_record::Imported`]). Figures that a report does not give are left out, never
//! computed. There is one file for each family of formats; `measurement.rs` turns the measurements into records.

mod board;
mod figures;
mod json;
mod measurement;
mod text;

use measurement::{ImportedReport, ReportText};
use paceline_record::{RecordError, Round, Trial};

/// Why a report cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// User error: the file begins as JSON and cannot be parsed.
    #[error("{name}: invalid JSON; the file may be cut off")]
    Json {
        /// The file.
        name: String,
        /// Position and cause.
        #[source]
        source: serde_json::Error,
    },
    /// User error: the content does not show which program wrote it.
    #[error("{name}: not a report that can be imported; the supported formats are {}", names().join(", "))]
    Unknown {
        /// The file.
        name: String,
    },
    /// User error: the report is of this kind, and something in it is missing or wrong.
    #[error("{name}: cannot be read as a report of {format}: {problem}")]
    Damaged {
        /// The file.
        name: String,
        /// The kind of report.
        format: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// Defect of Paceline: the imported data do not form a valid record.
    #[error("{name}: cannot be stored as a record")]
    Record {
        /// The file.
        name: String,
        /// What is wrong.
        #[source]
        source: RecordError,
    },
}

/// A kind of report.
struct ReportFormat {
    name: &'static str,
    /// Quick check whether a text is a report of this kind.
    is: fn(&ReportText<'_>) -> bool,
    read: fn(&ReportText<'_>) -> Result<ImportedReport, String>,
}

/// Every format, in the order in which they are tried.
const FORMATS: [ReportFormat; 12] = [
    ReportFormat { name: "techempower", is: |text| text.has(&["rawData"]), read: board::techempower },
    ReportFormat { name: "httparena", is: |text| board::is_httparena(text), read: board::httparena },
    ReportFormat { name: "k6", is: |text| text.has(&["metrics"]), read: json::k6 },
    ReportFormat { name: "vegeta", is: |text| text.has(&["latencies", "status_codes"]), read: json::vegeta },
    ReportFormat {
        name: "oha",
        is: |text| text.has(&["summary", "statusCodeDistribution"]),
        read: json::oha,
    },
    ReportFormat { name: "siege (JSON)", is: |text| text.has(&["transactions"]), read: json::siege },
    ReportFormat { name: "ab", is: |text| text.text.contains("Concurrency Level:"), read: text::ab },
    ReportFormat { name: "wrk2", is: |text| text::is_wrk2(text.text), read: text::wrk },
    ReportFormat { name: "wrk", is: |text| text.text.contains("Thread Stats"), read: text::wrk },
    ReportFormat {
        name: "siege",
        is: |text| text.text.contains("Transactions:") && text.text.contains("Availability:"),
        read: text::siege,
    },
    ReportFormat {
        name: "hey",
        is: |text| text.text.contains("Slowest:") && text.text.contains("Requests/sec:"),
        read: text::hey,
    },
    ReportFormat { name: "figures", is: |text| text.text.contains("[[figure]]"), read: figures::read },
];

fn names() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.name).collect()
}

/// Reads the round and the trials from a report; `name` is its file name, without folders.
///
/// # Errors
/// [`ImportError`] saying what is missing or wrong.
pub fn read(name: &str, text: &str) -> Result<(Round, Vec<Trial>), ImportError> {
    let mut whole = ImportedReport::default();
    let mut formats: Vec<&str> = Vec::new();
    for part in parts(name, text)? {
        let format = FORMATS.iter().find(|format| (format.is)(&part));
        let format = format.ok_or_else(|| ImportError::Unknown { name: name.to_owned() })?;
        let damaged = |problem| ImportError::Damaged { name: name.to_owned(), format: format.name, problem };
        let mut report = (format.read)(&part).map_err(damaged)?;
        if report.measurements.is_empty() {
            return Err(damaged("it contains no measurement".to_owned()));
        }
        report.refuse_impossible_figures().map_err(damaged)?;
        report.refuse_other_times().map_err(damaged)?;
        if !formats.contains(&format.name) {
            formats.push(format.name);
        }
        whole.add(report);
    }
    whole
        .records(name, &formats.join(", "), text)
        .map_err(|source| ImportError::Record { name: name.to_owned(), source })
}

/// The reports in a file, one after another, at least one: JSON documents, or texts of programs.
fn parts<'t>(name: &str, text: &'t str) -> Result<Vec<ReportText<'t>>, ImportError> {
    if text.trim_start().starts_with('{') {
        return json_parts(text).map_err(|source| ImportError::Json { name: name.to_owned(), source });
    }
    if let Ok(json) = serde_json::from_str(text) {
        return Ok(vec![ReportText { text, json: Some(json), first_line: 1 }]);
    }
    if text.contains("[[figure]]") {
        return Ok(vec![ReportText { text, json: None, first_line: 1 }]);
    }
    let mut parts: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        if text::begins_report(line) {
            // What stands before the first report belongs to it.
            parts.push(if parts.is_empty() { (0, 1) } else { (at, number) });
        }
        at += line.len();
    }
    if parts.is_empty() {
        parts.push((0, 1));
    }
    let ends = parts.iter().skip(1).map(|(start, _)| *start).chain([text.len()]);
    let part = |((start, first_line), end): (&(usize, usize), usize)| ReportText {
        text: &text[*start..end],
        json: None,
        first_line: *first_line,
    };
    Ok(parts.iter().zip(ends).map(part).collect())
}

fn json_parts(text: &str) -> Result<Vec<ReportText<'_>>, serde_json::Error> {
    let mut parts = Vec::new();
    let mut documents = serde_json::Deserializer::from_str(text).into_iter();
    let mut start = 0;
    while let Some(json) = documents.next() {
        let (json, end) = (json?, documents.byte_offset());
        parts.push(ReportText { text: &text[start..end], json: Some(json), first_line: 1 });
        start = end;
    }
    Ok(parts)
}

#[cfg(test)]
mod tests;
