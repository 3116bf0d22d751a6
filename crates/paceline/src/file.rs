//! Writing a file whole or not at all.

use anyhow::Context as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Writes a file beside its place and moves it there: a full disk or a killed process leaves what was there before.
/// What is not a regular file (a pipe, `/dev/stdout`) is written to directly.
pub fn write_whole(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    // A link keeps pointing where it did; what it points to is replaced.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if path.exists() && !path.is_file() {
        return fs::OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|mut file| file.write_all(bytes))
            .with_context(cannot);
    }
    let beside = beside(path);
    let written = fs::File::create(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let moved = written.and_then(|()| fs::rename(&beside, path));
    if moved.is_err() {
        // Best effort: the error that is reported is the one that led here.
        let _ = fs::remove_file(&beside);
    }
    moved.with_context(cannot)
}

/// Sees whether a file can be written there, before the work whose result it is to hold.
pub fn check_writable(path: &Path) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    if path.exists() && !path.is_file() {
        return fs::OpenOptions::new().write(true).open(path).map(drop).with_context(cannot);
    }
    let beside = beside(&fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()));
    fs::File::create(&beside).and_then(|_| fs::remove_file(&beside)).with_context(cannot)
}

fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_survives_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        write_whole(&path, b"first").unwrap();
        write_whole(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert!(write_whole(&folder.path().join("no/such/folder"), b"x").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
