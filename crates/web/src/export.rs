//! Finds exported rounds (`paceline report --export DIR`) and single results in untrusted files.
//!
//! `paceline_files` and `paceline_store::archive` limit reading: bytes of a document, bytes after decompression.

use crate::WebError;
use paceline_experiment::Capacity;
use paceline_files::{MAX_OUTPUT_BYTES, MAX_TEXT_BYTES, read_text};
use paceline_record::{Round, Run, read_round, read_run};
use paceline_store::archive::ROUND;
use std::fs;
use std::path::{Path, PathBuf};

/// Levels of folders below the given one: `MACHINE/ROUND`.
const MAX_LEVELS: usize = 2;

/// The exported rounds in a folder: itself, or the folders in it, or those in these.
///
/// # Errors
/// [`WebError`] when the folder cannot be listed or holds none.
pub fn find(folder: &Path) -> Result<Vec<PathBuf>, WebError> {
    let failed = |source| WebError::Read { path: folder.to_owned(), source };
    fs::read_dir(folder).map_err(failed)?;
    let mut found = Vec::new();
    search(folder, MAX_LEVELS, &mut found);
    found.sort();
    if found.is_empty() { Err(WebError::NoExport { path: folder.to_owned() }) } else { Ok(found) }
}

/// Searches a folder, and `levels` levels of folders below it. A folder that cannot be listed has no round.
fn search(folder: &Path, levels: usize, found: &mut Vec<PathBuf>) {
    if folder.join(ROUND).is_file() {
        found.push(folder.to_owned());
    } else if levels > 0
        && let Ok(entries) = fs::read_dir(folder)
    {
        for entry in entries.flatten().filter(|entry| entry.path().is_dir()) {
            search(&entry.path(), levels - 1, found);
        }
    }
}

/// The round of an export, without its trials.
///
/// # Errors
/// [`WebError`] when it is missing, too large or no round.
pub fn round(folder: &Path) -> Result<Round, WebError> {
    let path = folder.join(ROUND);
    let text =
        read_text(&path, MAX_TEXT_BYTES).map_err(|source| WebError::Read { path: path.clone(), source })?;
    read_round(&text).map_err(|source| WebError::Record { place: path.display().to_string(), source })
}

/// A single result.
#[derive(Debug)]
pub enum SingleResult {
    /// A run, as `paceline run -o FILE.json` writes it.
    Run(Box<Run>),
    /// A capacity, as `paceline capacity -o FILE.json` writes it.
    Capacity(Box<Capacity>),
}

/// The result in a file.
///
/// # Errors
/// [`WebError`] when it is missing, too large or no such result.
pub fn result(path: &Path) -> Result<SingleResult, WebError> {
    let text = read_text(path, MAX_OUTPUT_BYTES)
        .map_err(|source| WebError::Read { path: path.to_owned(), source })?;
    if let Ok(capacity) = serde_json::from_str(&text) {
        return Ok(SingleResult::Capacity(Box::new(capacity)));
    }
    let failed = |source| WebError::Record { place: path.display().to_string(), source };
    Ok(SingleResult::Run(Box::new(read_run(&text).map_err(failed)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_of_a_folder_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let rounds: Vec<PathBuf> =
            (0..1_500).map(|number| folder.path().join(format!("round-{number:04}"))).collect();
        for round in &rounds {
            fs::create_dir(round).unwrap();
            fs::write(round.join(ROUND), "{}").unwrap();
        }
        // Files beside the rounds are no folders.
        fs::write(folder.path().join("README.md"), "").unwrap();
        assert_eq!(find(folder.path()).unwrap(), rounds);
    }
}
