//! `paceline audit FILE...`: what cannot be right in results of other boards and load generators.

use super::explain::paragraph;
use super::format::PrintFormatFlag;
use super::store::report_text;
use crate::documents::AuditDocument;
use crate::exit::{Complaint, Status, error_text, print};
use crate::terminal;
use paceline_import::{AuditFinding, ReportAudit};
use paceline_stats::counted;
use std::path::PathBuf;

/// Rows that are shown of a finding; `--format json` has all.
const SHOWN_ROWS: usize = 3;

/// Flags of `paceline audit`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  paceline audit wrk.txt           the report of a program
  paceline audit results.json      the results of a board

Exit status: 0 nothing is wrong, 1 something cannot be right, 2 a file cannot be
read")]
pub struct Arguments {
    /// Reports, as `paceline store import` reads them
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    print: PrintFormatFlag,
}

/// Reads every file, and prints what is found in it.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let mut audits = Vec::new();
    for path in &arguments.files {
        let (name, text) = report_text(path)?;
        let audit =
            paceline_import::audit(&name, &text).map_err(|error| Complaint::usage(error_text(&error)))?;
        if !arguments.print.is_json() {
            print(&described(&audit, terminal::width_for_text(true)))?;
        }
        audits.push(audit);
    }
    let is_wrong = audits.iter().any(ReportAudit::is_wrong);
    arguments.print.print_document(&AuditDocument { reports: audits })?;
    Ok(if is_wrong { Status::Failed } else { Status::Done })
}

/// The findings about a report, in words.
fn described(audit: &ReportAudit, width: usize) -> String {
    let rows = counted(audit.rows, "row", "rows");
    let verdict = if audit.is_wrong() { "" } else { ", nothing wrong was found" };
    let mut text = format!("{} ({}, {rows}){verdict}\n", audit.file, audit.format);
    for finding in &audit.findings {
        text.push_str(&finding_text(finding, width));
    }
    text
}

fn finding_text(finding: &AuditFinding, width: usize) -> String {
    let AuditFinding { kind, summary, rows } = finding;
    let mut text = paragraph(&format!("{}: {summary}", kind.title()), 2, width);
    for row in rows.iter().take(SHOWN_ROWS) {
        text.push_str(&paragraph(row, 4, width));
    }
    if rows.len() > SHOWN_ROWS {
        text.push_str(&format!("    and {} more\n", rows.len() - SHOWN_ROWS));
    }
    text
}
