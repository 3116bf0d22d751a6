//! A stamp: the fingerprint of a finished step's inputs. It is written atomically.
//!
//! There are three for a server, `setup`, `build` and `launched`, which the provisioner reads and writes. A stamp is
//! just text: see `fingerprint` for its contents, and the provisioner for the meaning of a mismatch.

use crate::LabError;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The folder within a build for the provisioner's files: stamps, logs, the lock.
pub const METADATA_DIR: &str = ".paceline";
/// The extension of a stamp's file.
pub(super) const EXTENSION: &str = "stamp";

/// The second line of a stamp if the build folder had files then.
const WITH_FILES: &str = "files";

/// The fingerprint of the last success of the step `name`, if there is one, and if its files were not deleted since.
pub(super) fn read(keep_dir: &Path, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file(keep_dir, name)).ok()?;
    let mut lines = text.lines();
    let fingerprint = lines.next().unwrap_or_default().trim().to_owned();
    let are_deleted = lines.next() == Some(WITH_FILES) && !has_files(keep_dir);
    (!are_deleted).then_some(fingerprint)
}

/// Whether the build folder has anything beside the provisioner's files.
fn has_files(keep_dir: &Path) -> bool {
    let entries = keep_dir.parent().and_then(|build| std::fs::read_dir(build).ok());
    entries.into_iter().flatten().flatten().any(|entry| entry.file_name() != METADATA_DIR)
}

/// Records a success: written to a temporary file, then renamed.
pub(super) fn write(keep_dir: &Path, name: &str, fingerprint: &str) -> Result<(), LabError> {
    let path = file(keep_dir, name);
    let beside = path.with_extension("new");
    let files = if has_files(keep_dir) { WITH_FILES } else { "" };
    let written = std::fs::File::create(&beside)
        .and_then(|mut stamp| writeln!(stamp, "{fingerprint}\n{files}").and_then(|()| stamp.sync_all()))
        .and_then(|()| std::fs::rename(&beside, &path));
    written.map_err(|source| LabError::File { action: "write", path, source })
}

/// Removes the stamp, before the step is retried.
pub(super) fn remove(keep_dir: &Path, name: &str) -> Result<(), LabError> {
    let path = file(keep_dir, name);
    match std::fs::remove_file(&path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(LabError::File { action: "remove", path, source })
        }
        _ => Ok(()),
    }
}

fn file(keep_dir: &Path, name: &str) -> PathBuf {
    keep_dir.join(format!("{name}.{EXTENSION}"))
}
