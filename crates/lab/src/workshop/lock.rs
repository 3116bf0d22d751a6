//! One process at a time sets up or builds a server. The kernel lets go of the lock whatever ends its holder.
//!
//! `build` and `setup` take it and wait their turn, unless interrupted. Claims on a round and on the machine use
//! `try_lock` alone: they do not wait.

use crate::LabError;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::time::Duration;

/// How often a taken lock is tried again: a build takes seconds.
const RETRY: Duration = Duration::from_millis(50);

/// Held while it lives.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock in `keep_dir`, which is made if need be. Calls `waiting` once if somebody else holds it, and
    /// gives up when `stopped` says so.
    pub(super) fn take(
        keep_dir: &Path,
        waiting: impl FnOnce(),
        stopped: impl Fn() -> bool,
    ) -> Result<Self, LabError> {
        let path = keep_dir.join("lock");
        let error = |source| LabError::File { action: "lock", path: path.clone(), source };
        std::fs::create_dir_all(keep_dir).map_err(error)?;
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(error)?;
        let mut waiting = Some(waiting);
        while !try_lock(&file, libc::LOCK_EX).map_err(error)? {
            if let Some(waiting) = waiting.take() {
                waiting();
            }
            if stopped() {
                return Err(LabError::Interrupted);
            }
            std::thread::sleep(RETRY);
        }
        Ok(Self { _file: file })
    }
}

/// Whether the lock is ours now, `LOCK_EX` alone or `LOCK_SH` beside others; one kind that is held is let go before the
/// other is had. A lock of the open file, not of the process: two threads exclude each other too, and a child does not
/// inherit it, since the descriptor is closed on exec.
pub(crate) fn try_lock(file: &File, kind: libc::c_int) -> io::Result<bool> {
    // SAFETY: takes a descriptor that `file` keeps open.
    if unsafe { libc::flock(file.as_raw_fd(), kind | libc::LOCK_NB) } == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::WouldBlock => Ok(false),
        io::ErrorKind::Interrupted => Ok(false),
        _ => Err(error),
    }
}
