//! Files of a run: its record, its seconds as CSV, its times as a histogram log.
//!
//! Called by the server's download addresses. The report crate writes the formats; this module names and chooses them.

use crate::WebError;
use paceline_record::{Run, Trial};
use paceline_report::{run_hlog, run_seconds_csv};
use serde::Serialize;

/// A file to be saved.
#[derive(Debug)]
pub struct Download {
    /// Its name: letters, digits, `-`, `_` and `.` only.
    pub name: String,
    /// Its media type.
    pub media_type: &'static str,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// A file of a trial.
///
/// # Errors
/// [`WebError::NotFound`] when there is no such file.
pub fn of_trial(trial: &Trial, file: &str) -> Result<Download, WebError> {
    match (file, &trial.run) {
        ("record.json", _) => record(&trial.id, trial),
        (_, Some(run)) => run_file(&trial.id, run, file),
        (_, None) => Err(missing(file)),
    }
}

/// A file of a run outside a round.
///
/// # Errors
/// [`WebError::NotFound`] when there is no such file.
pub fn of_run(run: &Run, file: &str) -> Result<Download, WebError> {
    match file {
        "record.json" => record(&run.id, run),
        _ => run_file(&run.id, run, file),
    }
}

fn run_file(id: &str, run: &Run, file: &str) -> Result<Download, WebError> {
    let (media_type, text) = match file {
        "seconds.csv" => ("text/csv; charset=utf-8", run_seconds_csv(run)),
        "times.hlog" => ("text/plain; charset=utf-8", run_hlog(run)),
        _ => return Err(missing(file)),
    };
    Ok(Download { name: name(id, file), media_type, bytes: text.into_bytes() })
}

fn missing(file: &str) -> WebError {
    WebError::NotFound { kind: "file", id: file.to_owned() }
}

fn record(id: &str, record: &impl Serialize) -> Result<Download, WebError> {
    let bytes = serde_json::to_vec_pretty(record)?;
    Ok(Download { name: name(id, "record.json"), media_type: "application/json", bytes })
}

fn name(id: &str, file: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    format!("{}-{file}", id.chars().map(safe).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_is_safe_in_a_header() {
        assert_eq!(name("a\"b\r\n/../c", "record.json"), "a_b___.._c-record.json");
    }
}
