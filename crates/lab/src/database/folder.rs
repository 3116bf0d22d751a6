//! The folders of databases, the files that the lab writes into them, and the folders of a database's programs.
//!
//! Root runs databases as another user, who must be able to enter the folders and to read the files, also where root's
//! are private by default (umask 077).

use paceline_catalogue::Database;
use paceline_host::allow_entry;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The folder that holds the folders of all databases of this user: other users may only pass through it.
pub(super) fn root() -> io::Result<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let root = std::env::temp_dir().join(format!("paceline-databases-{user}"));
    match DirBuilder::new().mode(0o711).create(&root) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let about = fs::symlink_metadata(&root)?;
    if !about.is_dir() || about.uid() != user || about.mode() & 0o022 != 0 {
        return Err(io::Error::other(format!(
            "{} must be a folder that belongs to this user and that no other user can write to",
            root.display()
        )));
    }
    allow_entry(&root)?;
    Ok(root)
}

/// Writes a file that the database's user can read. A link in its place is refused: that user may have made it.
pub(super) fn write(path: &Path, content: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).custom_flags(libc::O_NOFOLLOW);
    let mut file = options.open(path)?;
    file.set_permissions(Permissions::from_mode(0o644))?;
    file.write_all(content.as_bytes())
}

/// The PATH of a database's commands.
pub(super) fn search_path(database: &Database) -> String {
    let own = std::env::var("PATH").unwrap_or_default();
    let folders = database.path.as_deref().and_then(|pattern| glob::glob(pattern).ok());
    let folder = folders.and_then(|folders| folders.flatten().max());
    folder.map(|folder| format!("{}:{own}", folder.display())).unwrap_or(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_file_is_readable_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("world.tsv"), folder.path().join("link"));
        fs::write(&path, "a longer text").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        write(&path, "1\t2\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "1\t2\n");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o644);
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(write(&link, "3\t4\n").is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "1\t2\n");
    }
}
