//! Folders for the files of targets that read files.
//!
//! Each thread has separate ones, because tests run in parallel; they are removed when the thread ends.

use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

thread_local! {
    static ROOT: TempDir = tempfile::tempdir().expect("a temporary folder");
}

/// The folder of a target.
pub fn folder(target: &str) -> PathBuf {
    let folder = ROOT.with(|root| root.path().join(target));
    fs::create_dir_all(&folder).expect("a folder");
    folder
}
