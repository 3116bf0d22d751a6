//! Another user of this machine, as whom strangers' code runs: its numbers, its home, and whether it can reach a folder.
//!
//! Used where root runs the lab. The shepherd stays root's; what it starts gives up root for good before it begins.

use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The most that is read of the list of users.
const PASSWD_BYTES: u64 = 1 << 20;

/// A user without root's rights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Its name.
    pub name: String,
    /// Its number.
    pub uid: u32,
    /// The number of its group.
    pub gid: u32,
    /// The folder that its programs take for home.
    pub home: PathBuf,
}

/// Why commands cannot run as a user.
#[derive(Debug, thiserror::Error)]
pub enum UserError {
    /// There is none of this name.
    #[error("there is no user `{0}` in /etc/passwd: create one with useradd --system {0}")]
    Unknown(String),
    /// It is root itself.
    #[error("the user `{0}` is root: name another one")]
    Root(String),
    /// Only root can become another user.
    #[error("only root can run servers as another user: leave --user out")]
    NotRoot,
    /// A folder that is needed cannot be reached by it.
    #[error("the user `{user}` cannot enter {}: allow it (chmod o+x) or keep the servers elsewhere", folder.display())]
    Closed {
        /// The user.
        user: String,
        /// The first folder on the way that is closed.
        folder: PathBuf,
    },
    /// A folder cannot be prepared for it.
    #[error("cannot prepare {} for another user", path.display())]
    Prepare {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl User {
    /// The user of this name, with a home below `homes`.
    ///
    /// # Errors
    /// [`UserError`] where there is none, it is root, or this process is not root's.
    pub fn named(name: &str, homes: &Path) -> Result<Self, UserError> {
        // SAFETY: takes nothing and cannot fail.
        if unsafe { libc::geteuid() } != 0 {
            return Err(UserError::NotRoot);
        }
        let passwd = paceline_files::read_text(Path::new("/etc/passwd"), PASSWD_BYTES).unwrap_or_default();
        let (uid, gid) = find(&passwd, name).ok_or_else(|| UserError::Unknown(name.to_owned()))?;
        if uid == 0 || gid == 0 {
            return Err(UserError::Root(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), uid, gid, home: homes.join(name) })
    }

    /// Whether it can enter a folder, its parents included.
    ///
    /// # Errors
    /// [`UserError::Closed`] with the first that it cannot enter.
    pub fn check_reach(&self, folder: &Path) -> Result<(), UserError> {
        let mut ancestors: Vec<&Path> = folder.ancestors().collect();
        ancestors.reverse();
        let closed = ancestors.into_iter().filter(|path| !path.as_os_str().is_empty()).find(|path| {
            fs::metadata(path).is_ok_and(|about| {
                let mode = about.permissions().mode();
                let bit = match (about.uid() == self.uid, about.gid() == self.gid) {
                    (true, _) => 0o100,
                    (false, true) => 0o010,
                    (false, false) => 0o001,
                };
                mode & bit == 0
            })
        });
        closed.map_or(Ok(()), |path| {
            Err(UserError::Closed { user: self.name.clone(), folder: path.to_owned() })
        })
    }

    /// Makes its home, which is its own.
    ///
    /// # Errors
    /// [`UserError::Prepare`].
    pub fn prepare_home(&self) -> Result<(), UserError> {
        let failed = |source| UserError::Prepare { path: self.home.clone(), source };
        fs::create_dir_all(&self.home).map_err(failed)?;
        std::os::unix::fs::lchown(&self.home, Some(self.uid), Some(self.gid)).map_err(failed)?;
        fs::set_permissions(&self.home, fs::Permissions::from_mode(0o700)).map_err(failed)
    }

    /// Makes a folder that it can fill. The folder stays root's and has the sticky bit, so that it can neither rename nor
    /// replace what root keeps in it, which is `kept`; all else in it becomes its own.
    ///
    /// # Errors
    /// [`UserError::Prepare`] with what cannot be handed over.
    pub fn share_folder(&self, folder: &Path, kept: &str) -> Result<(), UserError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| UserError::Prepare { path, source }
        };
        fs::create_dir_all(folder).map_err(failed(folder))?;
        std::os::unix::fs::lchown(folder, Some(0), Some(self.gid)).map_err(failed(folder))?;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o1775)).map_err(failed(folder))?;
        for entry in fs::read_dir(folder).map_err(failed(folder))?.flatten() {
            if entry.file_name() != kept {
                self.hand_over(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Makes a file or folder its own, with all in it; links are not followed.
    fn hand_over(&self, path: &Path) -> Result<(), UserError> {
        let failed = |source| UserError::Prepare { path: path.to_owned(), source };
        let about = fs::symlink_metadata(path).map_err(failed)?;
        if about.uid() == self.uid {
            return Ok(());
        }
        std::os::unix::fs::lchown(path, Some(self.uid), Some(self.gid)).map_err(failed)?;
        if about.is_dir() {
            for entry in fs::read_dir(path).map_err(failed)?.flatten() {
                self.hand_over(&entry.path())?;
            }
        }
        Ok(())
    }
}

/// The numbers of a user in the text of `/etc/passwd` (passwd(5)).
fn find(passwd: &str, name: &str) -> Option<(u32, u32)> {
    let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_their_whole_name() {
        let passwd =
            "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65533:nobody:/nonexistent:/bin/false\nbad:x:a\n";
        assert_eq!(find(passwd, "nobody"), Some((65_534, 65_533)));
        assert_eq!((find(passwd, "nobod"), find(passwd, "bad"), find(passwd, "")), (None, None, None));
    }

    #[test]
    fn a_closed_folder_on_the_way_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        fs::create_dir(&inside).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let stranger = User { name: "stranger".into(), uid: 54_321, gid: 54_321, home: "/".into() };
        let refused = stranger.check_reach(&inside).unwrap_err();
        assert!(refused.to_string().contains(&folder.path().display().to_string()), "{refused}");
        assert!(stranger.check_reach(Path::new("/usr")).is_ok());
    }
}
