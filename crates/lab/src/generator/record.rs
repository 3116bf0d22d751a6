//! Reads what a generator has left: its exit status, its errors and its record.

use super::assignment::{GeneratorExit, GeneratorResult};
use paceline_record::read_run;
use std::fmt;
use std::path::Path;

/// Exit status of a run that was measured, whether or not it is valid.
const MEASURED: [i32; 2] = [0, 1];
/// How much of a generator's standard error goes into a message.
const STDERR_BYTES: u64 = 2 * 1024;

/// The end of the file with a generator's standard error.
pub fn stderr_tail(path: &Path) -> String {
    let bytes = paceline_files::tail(path, STDERR_BYTES).unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

/// An error, with what the generator said.
fn failed(what: String, finished: &GeneratorExit) -> String {
    match finished.stderr.trim() {
        "" => what,
        stderr => format!("{what}: {stderr}"),
    }
}

/// The error for a record that cannot be read.
pub fn no_record(error: &dyn fmt::Display, finished: &GeneratorExit) -> String {
    failed(format!("the generator wrote no record ({error})"), finished)
}

/// Checks that a generator has ended as one that has measured.
pub fn check_ended(finished: &GeneratorExit) -> Result<(), String> {
    match finished.ended.code {
        Some(code) if MEASURED.contains(&code) => Ok(()),
        _ => Err(failed(format!("the generator ended with {}", finished.ended), finished)),
    }
}

/// Reads the record of a run that has ended.
pub fn read_record(record: &Path, finished: &GeneratorExit) -> Result<GeneratorResult, String> {
    check_ended(finished)?;
    let text = paceline_files::read_text(record, paceline_files::MAX_OUTPUT_BYTES)
        .map_err(|error| no_record(&error, finished))?;
    let run = read_run(&text).map_err(|error| format!("cannot read the generator's record: {error}"))?;
    if run.tool.version.trim().is_empty() {
        return Err(
            "the generator's record lacks the version of the generator (`tool.version`); use a generator that records it"
                .to_owned(),
        );
    }
    Ok(GeneratorResult { run, verdicts: Vec::new(), capacity: None })
}
