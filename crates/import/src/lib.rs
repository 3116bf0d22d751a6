//! Imports reports of other load generators and result boards as rounds and trials.
//!
//! `paceline store import` calls this crate. A report is recognised by its content, not by its name. Every trial is
//! marked as imported ([`paceline_record::Imported`]). Figures that a report does not give are left out, never
//! computed. Reports of programs are read by `peers`, boards and figures here; `measurement.rs` turns the measurements
//! into records.

mod audit;
mod board;
mod figures;
mod measurement;

pub use audit::{AuditFinding, AuditKind, ReportAudit};
use measurement::ImportedReport;
use paceline_peers::{PEERS, Peer, PrintedReport};
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
    #[error(
        "{name}: not a report that can be imported; the supported formats are {}: of oha, fortio, k6, \
         autocannon, vegeta and zrk their JSON",
        names().join(", ")
    )]
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

/// A kind of report that is not a program's.
struct ReportFormat {
    name: &'static str,
    /// Quick check whether a text is a report of this kind.
    is: fn(&PrintedReport<'_>) -> bool,
    read: fn(&PrintedReport<'_>) -> Result<ImportedReport, String>,
}

/// Those kinds.
const FORMATS: [ReportFormat; 3] = [
    ReportFormat { name: "techempower", is: |text| text.has(&["rawData"]), read: board::techempower },
    ReportFormat { name: "httparena", is: board::is_httparena, read: board::httparena },
    ReportFormat { name: "figures", is: |text| text.text.contains("[[figure]]"), read: figures::read },
];

/// What a report is.
enum ReportKind {
    Format(&'static ReportFormat),
    Peer(&'static Peer),
}

impl ReportKind {
    fn recognise(text: &PrintedReport<'_>) -> Option<Self> {
        let format = FORMATS.iter().find(|format| (format.is)(text)).map(Self::Format);
        format.or_else(|| PEERS.into_iter().find(|peer| (peer.is_report)(text)).map(Self::Peer))
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Format(format) => format.name,
            Self::Peer(peer) => peer.name,
        }
    }

    fn read(&self, text: &PrintedReport<'_>) -> Result<ImportedReport, String> {
        match self {
            Self::Format(format) => (format.read)(text),
            Self::Peer(peer) => ImportedReport::from_peer(peer, text),
        }
    }
}

fn names() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.name).chain(PEERS.map(|peer| peer.name)).collect()
}

/// Reads the round and the trials from a report; `name` is its file name, without folders.
///
/// # Errors
/// [`ImportError`] saying what is missing or wrong.
pub fn read(name: &str, text: &str) -> Result<(Round, Vec<Trial>), ImportError> {
    let (whole, format) = reports(name, text, |report| {
        report.leave_out_copied_percentiles();
        report.refuse_impossible_figures()?;
        report.refuse_other_times()
    })?;
    whole.records(name, &format, text).map_err(|source| ImportError::Record { name: name.to_owned(), source })
}

/// Finds what cannot be right in a report; `name` is its file name, without folders.
///
/// # Errors
/// [`ImportError`] if the report cannot be read.
pub fn audit(name: &str, text: &str) -> Result<ReportAudit, ImportError> {
    let (whole, format) = reports(name, text, |_| Ok(()))?;
    Ok(ReportAudit::new(name, format, &whole.measurements))
}

/// The measurements of all reports in a file, each checked, and the names of their formats.
fn reports(
    name: &str,
    text: &str,
    check: impl Fn(&mut ImportedReport) -> Result<(), String>,
) -> Result<(ImportedReport, String), ImportError> {
    let mut whole = ImportedReport::default();
    let mut formats: Vec<&str> = Vec::new();
    for part in parts(name, text)? {
        let kind = ReportKind::recognise(&part);
        let kind = kind.ok_or_else(|| ImportError::Unknown { name: name.to_owned() })?;
        let damaged = |problem| ImportError::Damaged { name: name.to_owned(), format: kind.name(), problem };
        let mut report = kind.read(&part).map_err(damaged)?;
        if report.measurements.is_empty() {
            return Err(damaged("it contains no measurement".to_owned()));
        }
        check(&mut report).map_err(damaged)?;
        if !formats.contains(&kind.name()) {
            formats.push(kind.name());
        }
        whole.add(report);
    }
    Ok((whole, formats.join(", ")))
}

/// The reports in a file, one after another, at least one: JSON documents, or texts of programs.
fn parts<'t>(name: &str, text: &'t str) -> Result<Vec<PrintedReport<'t>>, ImportError> {
    if text.trim_start().starts_with('{') {
        return json_parts(text).map_err(|source| ImportError::Json { name: name.to_owned(), source });
    }
    if let Ok(json) = serde_json::from_str(text) {
        return Ok(vec![PrintedReport { text, json: Some(json), first_line: 1 }]);
    }
    if text.contains("[[figure]]") {
        return Ok(vec![PrintedReport { text, json: None, first_line: 1 }]);
    }
    let mut parts: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        if begins_report(line) {
            // What stands before the first report belongs to it.
            parts.push(if parts.is_empty() { (0, 1) } else { (at, number) });
        }
        at += line.len();
    }
    if parts.is_empty() {
        parts.push((0, 1));
    }
    let ends = parts.iter().skip(1).map(|(start, _)| *start).chain([text.len()]);
    let part = |((start, first_line), end): (&(usize, usize), usize)| PrintedReport {
        text: &text[*start..end],
        json: None,
        first_line: *first_line,
    };
    Ok(parts.iter().zip(ends).map(part).collect())
}

/// Whether a line is the first of a report, by any of the programs.
fn begins_report(line: &str) -> bool {
    PEERS.iter().any(|peer| (peer.is_first_line)(line.trim()))
}

fn json_parts(text: &str) -> Result<Vec<PrintedReport<'_>>, serde_json::Error> {
    let mut parts = Vec::new();
    let mut documents = serde_json::Deserializer::from_str(text).into_iter();
    let mut start = 0;
    while let Some(json) = documents.next() {
        let (json, end) = (json?, documents.byte_offset());
        parts.push(PrintedReport { text: &text[start..end], json: Some(json), first_line: 1 });
        start = end;
    }
    Ok(parts)
}

#[cfg(test)]
mod tests;
