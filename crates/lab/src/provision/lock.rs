//! Lets one process at a time set up or build a server; the others wait, unless interrupted.
//!
//! `FileLock` implements the lock; this module adds the wait.

use crate::LabError;
use paceline_host::{FileLock, Id, LockAttempt};
use std::path::Path;
use std::time::Duration;

/// How often a taken lock is retried: a build takes seconds.
const RETRY: Duration = Duration::from_millis(50);

/// Takes the lock in `keep_dir`, which is made if needed. Calls `waiting` once if another process holds it, and gives
/// up when `stopped` returns true.
pub(super) fn take(
    keep_dir: &Path,
    waiting: impl FnOnce(),
    stopped: impl Fn() -> bool,
) -> Result<FileLock, LabError> {
    let error = |source| LabError::File { action: "lock", path: keep_dir.to_owned(), source };
    std::fs::create_dir_all(keep_dir).map_err(error)?;
    let name = Id::parse("build").map_err(|invalid| error(std::io::Error::other(invalid)))?;
    let mut waiting = Some(waiting);
    loop {
        if let LockAttempt::Taken(lock) = FileLock::try_take(keep_dir, &name, "build").map_err(error)? {
            return Ok(lock);
        }
        if let Some(waiting) = waiting.take() {
            waiting();
        }
        if stopped() {
            return Err(LabError::Interrupted);
        }
        std::thread::sleep(RETRY);
    }
}
