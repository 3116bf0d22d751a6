//! Symbolic links that another user may have placed.
//!
//! A user may keep a folder elsewhere by a link of their own. A link of another user could lead to a folder in which
//! this user would overwrite or remove files.

use crate::FileError;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Checks that `path` is not a symbolic link of another user; links of root are trusted. A missing path is valid.
///
/// # Errors
/// [`FileError::ForeignLink`], or the system's error.
pub fn check_link(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() && is_foreign(found.uid(), rustix::process::geteuid().as_raw()) => {
            Err(FileError::ForeignLink(found.uid()).into())
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether a file's owner is neither this user nor root.
fn is_foreign(owner: u32, own: u32) -> bool {
    owner != own && owner != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_of_this_user_and_of_root_are_trusted() {
        assert!(is_foreign(1001, 1000) && is_foreign(1000, 0));
        assert!(!is_foreign(1000, 1000) && !is_foreign(0, 1000) && !is_foreign(0, 0));
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("logs");
        check_link(&link).unwrap();
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        check_link(&link).unwrap();
        check_link(folder.path()).unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::lchown(&link, Some(54_321), None).unwrap();
            let refused = check_link(&link).unwrap_err().to_string();
            assert!(refused.contains("user id 54321"), "{refused}");
        }
    }
}
