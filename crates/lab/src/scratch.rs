//! The scratch folder of a sitting: files between generator and lab, and those that a balancer leaves.
//!
//! It is removed when the sitting ends. A sitting that was killed leaves its folder: the next round with the same state
//! folder removes it, since its lock is free.

use paceline_host::{FileLock, Id, LockAttempt, allow_entry};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A sitting's scratch folder, removed when dropped.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
    _lock: FileLock,
}

impl Scratch {
    /// Makes a folder for `sitting` in `root`, which the users of its processes can enter. Removes folders there that
    /// belong to no running sitting.
    ///
    /// # Errors
    /// When the folder or its lock cannot be made, or another process holds it.
    pub fn begin(root: &Path, sitting: &Id) -> io::Result<Self> {
        fs::create_dir_all(root)?;
        let lock = match FileLock::try_take(root, sitting, "sitting")? {
            LockAttempt::Taken(lock) => lock,
            LockAttempt::HeldBy(holder) => {
                return Err(io::Error::other(format!("this folder is in use by {holder}")));
            }
        };
        for left in entries(root).filter(|id| id != sitting) {
            // One that cannot be locked is in use; one that cannot be removed is retried by the next round.
            if let Ok(LockAttempt::Taken(_lock)) = FileLock::try_take(root, &left, "clean-up") {
                remove(root, &left);
            }
        }
        let folder = root.join(sitting.as_str());
        fs::create_dir_all(&folder)?;
        allow_entry(root)?;
        allow_entry(&folder)?;
        Ok(Self { folder, _lock: lock })
    }

    /// Its path.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let (Some(root), Some(name)) = (self.folder.parent(), self.folder.file_name())
            && let Ok(id) = Id::parse(&name.to_string_lossy())
        {
            remove(root, &id);
        }
    }
}

/// The sittings that have a folder in `root`.
fn entries(root: &Path) -> impl Iterator<Item = Id> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    // Skip symbolic links: the lab makes none.
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.filter_map(|entry| Id::parse(entry.file_name().to_str()?).ok())
}

fn remove(root: &Path, id: &Id) {
    // One that cannot be removed is retried by the next round.
    let _ = fs::remove_dir_all(root.join(id.as_str()));
    let _ = fs::remove_file(root.join(format!("{id}.lock")));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn folders_of_killed_sittings_are_removed_and_others_kept() {
        let root = tempfile::tempdir().unwrap();
        let id = |text: &str| Id::parse(text).unwrap();
        fs::create_dir_all(root.path().join("killed/deep")).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), root.path().join("linked")).unwrap();
        let used = Scratch::begin(root.path(), &id("used")).unwrap();
        let mine = Scratch::begin(root.path(), &id("mine")).unwrap();
        assert!(!root.path().join("killed").exists());
        assert!(used.folder().exists() && mine.folder().exists() && elsewhere.path().exists());
        let folder = mine.folder().to_owned();
        drop(mine);
        assert!(!folder.exists() && !root.path().join("mine.lock").exists());
    }

    #[test]
    fn root_lets_other_users_enter_private_folders() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("mine");
        fs::create_dir(&folder).unwrap();
        for private in [root.path(), &folder] {
            fs::set_permissions(private, fs::Permissions::from_mode(0o700)).unwrap();
        }
        let _scratch = Scratch::begin(root.path(), &Id::parse("mine").unwrap()).unwrap();
        let wanted = if rustix::process::geteuid().is_root() { 0o711 } else { 0o700 };
        for made in [root.path(), &folder] {
            assert_eq!(fs::metadata(made).unwrap().permissions().mode() & 0o777, wanted);
        }
    }
}
