//! Locks on files: only one process at a time continues a round, or builds a server.
//!
//! The kernel releases a lock when its holder ends for any reason. The folder of a lock may belong to another user (a
//! store on a shared disk): links in it are not followed, and a file is written only if this user owns it and it has no
//! other name.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use crate::Id;
use rustix::fs::{FlockOperation, Mode, OFlags};

/// Name used for a holder whose name cannot be read.
const UNNAMED: &str = "another process";
/// The most bytes read of a holder's name: a process and a few words.
const NAME_MAX_BYTES: u64 = 200;
/// Other users may read the holder's name and lock the file; only its owner writes.
const FILE_MODE: u32 = 0o644;
const FOLDER_MODE: u32 = 0o755;

/// A lock, held while it lives.
#[derive(Debug)]
pub struct FileLock {
    /// Keeping the file open holds the lock.
    _file: File,
}

/// The result of trying to take a lock.
#[derive(Debug)]
pub enum LockAttempt {
    /// The lock was taken.
    Taken(FileLock),
    /// Another process holds it; the text is the one it wrote: `process 17 (round 20261121-...)`.
    HeldBy(String),
}

impl FileLock {
    /// Tries to lock the file `<name>.lock` in `folder`. Both are created if missing; the folder above must exist.
    /// `purpose` is written to the file, for other processes to show.
    ///
    /// # Errors
    /// When the folder or the file cannot be created or opened, or is a symbolic link or not a regular file.
    pub fn try_take(folder: &Path, name: &Id, purpose: &str) -> io::Result<LockAttempt> {
        Self::try_lock(folder, name, FlockOperation::NonBlockingLockExclusive, purpose)
    }

    /// As [`FileLock::try_take`], but several processes may hold the lock at once in this way.
    ///
    /// # Errors
    /// As those of [`FileLock::try_take`].
    pub fn try_share(folder: &Path, name: &Id, purpose: &str) -> io::Result<LockAttempt> {
        Self::try_lock(folder, name, FlockOperation::NonBlockingLockShared, purpose)
    }

    fn try_lock(folder: &Path, name: &Id, how: FlockOperation, purpose: &str) -> io::Result<LockAttempt> {
        match DirBuilder::new().mode(FOLDER_MODE).create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let mut file = open(folder, &format!("{name}.lock"))?;
        match rustix::fs::flock(&file, how) {
            Ok(()) => {
                // The name is informational: an error does not affect the lock.
                let _ = write_holder(&mut file, purpose);
                Ok(LockAttempt::Taken(Self { _file: file }))
            }
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {
                Ok(LockAttempt::HeldBy(holder(file)))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Opens a file in `folder` without following a link in either. A FIFO or a device is refused without waiting for it.
fn open(folder: &Path, name: &str) -> io::Result<File> {
    let directory = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let folder = OpenOptions::new().read(true).custom_flags(directory.bits().cast_signed()).open(folder)?;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(FILE_MODE);
    let opened = rustix::fs::openat(&folder, name, flags | OFlags::RDWR | OFlags::CREATE, mode)
        // Another user's file: it can be locked with read access.
        .or_else(|_| rustix::fs::openat(&folder, name, flags | OFlags::RDONLY, mode))?;
    let file = File::from(opened);
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name} is not a regular file")))
}

fn write_holder(file: &mut File, purpose: &str) -> io::Result<()> {
    let about = file.metadata()?;
    if about.uid() != rustix::process::geteuid().as_raw() || about.nlink() != 1 {
        // Owned by another user, or a hard link to another file: locked, never written.
        return Ok(());
    }
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "process {} ({purpose})", std::process::id())
}

/// The holder that a lock's file names, without control characters.
fn holder(file: File) -> String {
    let mut bytes = Vec::new();
    // A read error is ignored: the name is informational.
    let _ = file.take(NAME_MAX_BYTES).read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let text: String = text.trim().chars().filter(|c| *c == ' ' || c.is_ascii_graphic()).collect();
    if text.is_empty() { UNNAMED.to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;
    use std::time::{Duration, Instant};

    fn id(text: &str) -> Id {
        Id::parse(text).unwrap()
    }

    /// Takes a lock that no process holds any more. A child process that another test is starting holds a copy of it
    /// until it calls exec.
    fn take_again(folder: &Path, name: &str) -> FileLock {
        let begun = Instant::now();
        loop {
            match FileLock::try_take(folder, &id(name), "round 8").unwrap() {
                LockAttempt::Taken(lock) => return lock,
                LockAttempt::HeldBy(holder) => assert!(begun.elapsed() < Duration::from_secs(60), "{holder}"),
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_lock_has_one_holder_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let locks = folder.path().join("locks");
        let LockAttempt::Taken(first) = FileLock::try_take(&locks, &id("r"), "round 7").unwrap() else {
            panic!("it is new")
        };
        let LockAttempt::HeldBy(holder) = FileLock::try_take(&locks, &id("r"), "round 8").unwrap() else {
            panic!("it is taken")
        };
        assert_eq!(holder, format!("process {} (round 7)", std::process::id()));
        drop(first);
        let _second = take_again(&locks, "r");
        let file = locks.join("r.lock");
        assert!(std::fs::read_to_string(&file).unwrap().ends_with(" (round 8)\n"));
        assert_eq!(file.metadata().unwrap().mode() & 0o022, 0, "nobody else may write it");
    }

    /// A folder with a lock folder in it, and a file outside that must not be touched.
    fn planted() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let (locks, victim) = (folder.path().join("locks"), folder.path().join("victim"));
        std::fs::write(&victim, "precious").unwrap();
        (folder, locks, victim)
    }

    #[test]
    fn a_link_is_not_followed_and_not_written_through() {
        let (_folder, locks, victim) = planted();
        std::fs::create_dir(&locks).unwrap();
        symlink(&victim, locks.join("file.lock")).unwrap();
        symlink(victim.with_file_name("new"), locks.join("dangling.lock")).unwrap();
        std::fs::hard_link(&victim, locks.join("second-name.lock")).unwrap();
        assert!(FileLock::try_take(&locks, &id("file"), "x").is_err());
        assert!(FileLock::try_take(&locks, &id("dangling"), "x").is_err());
        assert!(matches!(FileLock::try_take(&locks, &id("second-name"), "x"), Ok(LockAttempt::Taken(_))));
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
        assert!(!victim.with_file_name("new").exists());
    }

    #[test]
    fn a_linked_folder_and_a_fifo_are_refused() {
        let (folder, locks, _victim) = planted();
        let elsewhere = folder.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, &locks).unwrap();
        assert!(FileLock::try_take(&locks, &id("r"), "x").is_err());
        assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
        rustix::fs::mkfifoat(rustix::fs::CWD, elsewhere.join("pipe.lock"), Mode::RWXU).unwrap();
        assert!(FileLock::try_take(&elsewhere, &id("pipe"), "x").is_err());
    }
}
