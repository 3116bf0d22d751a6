//! Atomic writing: a file is replaced whole or not at all.
//!
//! Used for every result that is kept. Streams and devices cannot be replaced; the binary writes those.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Most symbolic links followed: the kernel's limit (path_resolution(7)).
pub const MAX_LINKS: usize = 40;
/// Attempts to find a free name for a temporary file. A name may exist because an earlier process with the same id was
/// killed, or because another user of the folder created it on purpose.
const MAX_ATTEMPTS: u32 = 100;

/// The bits of a file's mode that say who may read, write and execute it.
const ACCESS_BITS: u32 = 0o777;

/// Replaces the file at `path` by one with these bytes, in one step. Its folder must exist; the bytes are on disk when
/// it returns. A symbolic link is kept: its target is replaced. Permissions stay as they were, and so do owner and
/// group if this user may give files to them.
///
/// # Errors
/// The system's error. The old file is then unchanged and no temporary file is left.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    StagedFile::new(path, bytes)?.commit()
}

/// A file whose bytes are on disk under a temporary name, which is removed unless the file is put in place. Several
/// files that belong together are staged first: what needs space and can fail is then done.
#[derive(Debug)]
pub struct StagedFile {
    temporary: PathBuf,
    path: PathBuf,
}

impl StagedFile {
    /// Writes the bytes beside the file at `path`, which need not exist. A symbolic link is followed.
    ///
    /// # Errors
    /// The system's error; no temporary file is left.
    pub fn new(path: &Path, bytes: &[u8]) -> io::Result<Self> {
        let path = target(path);
        let (temporary, mut file) = create_new_beside(&path)?;
        let staged = Self { temporary, path };
        if let Ok(replaced) = fs::metadata(&staged.path) {
            take_access(&file, &replaced)?;
        }
        file.write_all(bytes).and_then(|()| file.sync_all())?;
        Ok(staged)
    }

    /// Puts it in place, in one step.
    ///
    /// # Errors
    /// The system's error; the old file is then unchanged.
    pub fn commit(self) -> io::Result<()> {
        fs::rename(&self.temporary, &self.path)
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        // Best effort; after a commit there is nothing to remove.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Gives a new file the permissions and, if possible, owner and group of the one that it replaces. It is still empty,
/// so that at no time others can read what only its owner may.
fn take_access(file: &File, replaced: &Metadata) -> io::Result<()> {
    let own = file.metadata()?;
    // Some file systems refuse to set permissions, also to what they are.
    if (own.mode() ^ replaced.mode()) & ACCESS_BITS != 0 {
        file.set_permissions(Permissions::from_mode(replaced.mode() & ACCESS_BITS))?;
    }
    if (own.uid(), own.gid()) != (replaced.uid(), replaced.gid()) {
        // Best effort: only root may give files away, and others may set a group that they are in.
        let group = Some(replaced.gid());
        let _ = fchown(file, Some(replaced.uid()), group).or_else(|_| fchown(file, None, group));
    }
    Ok(())
}

/// The file that a path leads to, links followed, whether it exists or not.
pub fn target(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(link) = fs::read_link(&path) else { break };
        path = path.with_file_name("").join(link);
    }
    path
}

/// Creates a temporary file in the folder of `path`, if this user may write to the file at `path`: with write access to
/// a folder any file in it can be replaced, even a read-only one.
///
/// # Errors
/// The system's error, which names the folder if the folder cannot be written.
pub fn create_new_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    match File::options().write(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    for _ in 0..MAX_ATTEMPTS {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let temporary = path.with_file_name(format!(".{name}.{}-{number}", std::process::id()));
        // `create_new` (O_EXCL) does not follow a link that another user created there.
        match File::options().write(true).create_new(true).open(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (temporary, file)).map_err(|error| in_folder(path, error)),
        }
    }
    Err(io::Error::new(
        io::ErrorKind::AlreadyExists,
        format!("temporary files named .{name}.* exist already: remove them"),
    ))
}

/// Adds the folder of `path` to a permission error.
fn in_folder(path: &Path, error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let folder = parent.unwrap_or(Path::new(".")).display();
            io::Error::new(error.kind(), format!("cannot create a file in the folder {folder}: {error}"))
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_without_leaving_temporary_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        replace(&path, b"first").unwrap();
        replace(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert!(replace(&folder.path().join("no/such/folder"), b"x").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_private_file_stays_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        for mode in [0o600, 0o664] {
            fs::write(&path, "first").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            replace(&path, b"second").unwrap();
            assert_eq!((fs::read(&path).unwrap(), mode_of(&path)), (b"second".to_vec(), mode));
        }
    }

    /// The permissions of a file.
    fn mode_of(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & ACCESS_BITS
    }

    #[test]
    fn a_symbolic_link_is_kept_when_its_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (link, file) = (folder.path().join("link"), folder.path().join("file"));
        std::os::unix::fs::symlink("file", &link).unwrap();
        replace(&link, b"x").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"x");
    }

    #[test]
    fn a_link_named_like_a_temporary_file_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, victim) = (folder.path().join("run.json"), folder.path().join("victim"));
        fs::write(&victim, "safe").unwrap();
        for number in 0..20 {
            let temporary = folder.path().join(format!(".run.json.{}-{number}", std::process::id()));
            std::os::unix::fs::symlink("victim", temporary).unwrap();
        }
        replace(&path, b"x").unwrap();
        assert_eq!((fs::read(&victim).unwrap(), fs::read(&path).unwrap()), (b"safe".to_vec(), b"x".to_vec()));
    }
}
