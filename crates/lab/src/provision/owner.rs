//! Checks the owners of a build folder, before its files are run as root or replaced by another user.
//!
//! Root that runs servers as another user takes folders over instead: `paceline_host::User::share_folder`.

use crate::LabError;
use paceline_host::{user_name, user_of_group};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The bits of a folder that was given to the user of servers: sticky, and writable by its group.
const GIVEN: u32 = 0o1020;

/// Checks that no other user can change what root would run as root.
///
/// # Errors
/// [`LabError::Owner`].
pub(super) fn check_trusted(build: &Path) -> Result<(), LabError> {
    let Ok(about) = fs::symlink_metadata(build) else { return Ok(()) };
    let is_given = about.gid() != 0 && about.mode() & GIVEN == GIVEN;
    if rustix::process::geteuid().is_root() && (is_given || about.uid() != 0) {
        let path = build.to_owned();
        let owner = match about.uid() {
            0 => given_to(build).map_or_else(|| user_of_group(about.gid()), user_name),
            uid => user_name(uid),
        };
        let remedy = format!(
            "run servers as this user (--user {owner}), or remove the folder and set the server up again (rm -r {})",
            build.display()
        );
        return Err(LabError::Owner {
            path,
            problem: format!("can be changed by the user `{owner}`: it is not safe to run it as root"),
            remedy,
        });
    }
    Ok(())
}

/// The owner of the first entry that is not root's.
fn given_to(build: &Path) -> Option<u32> {
    let entries = fs::read_dir(build).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| fs::symlink_metadata(entry.path()).ok())
        .map(|about| about.uid())
        .find(|uid| *uid != 0)
}

/// Checks that a user other than root can replace everything in a build folder.
///
/// # Errors
/// [`LabError::Owner`] with the first file or folder of another user.
pub(super) fn check_replaceable(build: &Path) -> Result<(), LabError> {
    let user = rustix::process::geteuid();
    let foreign = if user.is_root() { None } else { foreign(build, user.as_raw()) };
    foreign.map_or(Ok(()), |(path, owner)| {
        let problem = format!("belongs to the user `{}` and cannot be replaced", user_name(owner));
        let remedy = format!("sudo chown -R {}: {}", user_name(user.as_raw()), build.display());
        Err(LabError::Owner { path, problem, remedy })
    })
}

/// The first file or folder at or below `path` that is not `user`'s, with its owner.
fn foreign(path: &Path, user: u32) -> Option<(PathBuf, u32)> {
    let about = fs::symlink_metadata(path).ok()?;
    if about.uid() != user {
        return Some((path.to_owned(), about.uid()));
    }
    let below = about.is_dir().then(|| fs::read_dir(path).ok()).flatten()?;
    below.flatten().find_map(|entry| foreign(&entry.path(), user))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_file_of_another_user_is_found() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("deep")).unwrap();
        fs::write(folder.path().join("deep/file"), "").unwrap();
        let own = rustix::process::geteuid().as_raw();
        assert_eq!(foreign(folder.path(), own), None);
        assert_eq!(foreign(folder.path(), own + 1), Some((folder.path().to_owned(), own)));
        assert_eq!(foreign(&folder.path().join("absent"), own), None);
        if own == 0 {
            std::os::unix::fs::lchown(folder.path().join("deep/file"), Some(54_321), None).unwrap();
            assert_eq!(foreign(folder.path(), own), Some((folder.path().join("deep/file"), 54_321)));
        }
    }

    #[test]
    fn root_runs_no_file_that_another_user_can_change() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check_trusted(folder.path()).is_ok() && check_trusted(&folder.path().join("absent")).is_ok());
        if !rustix::process::geteuid().is_root() {
            return;
        }
        std::os::unix::fs::lchown(folder.path(), Some(0), Some(54_321)).unwrap();
        assert!(check_trusted(folder.path()).is_ok(), "the group cannot write");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1775)).unwrap();
        let refused = check_trusted(folder.path()).unwrap_err();
        assert!(refused.to_string().contains("the user `54321`"), "an empty folder too: {refused}");
        fs::write(folder.path().join("file"), "").unwrap();
        std::os::unix::fs::lchown(folder.path().join("file"), Some(54_321), None).unwrap();
        let refused = check_trusted(folder.path()).unwrap_err();
        assert!(
            refused.to_string().contains("the user `54321`") && refused.hint().unwrap().contains("rm -r "),
            "{refused}"
        );
    }
}
