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
    let folder = database.path.as_deref().and_then(newest);
    folder.map(|folder| format!("{}:{own}", folder.display())).unwrap_or(own)
}

/// The last match of a pattern, with numbers in names ordered as numbers: 17 after 9.6.
fn newest(pattern: &str) -> Option<PathBuf> {
    let of_path = |path: &PathBuf| {
        let pieces = path.iter().map(|name| pieces(&name.to_string_lossy()));
        pieces.collect::<Vec<_>>()
    };
    glob::glob(pattern).ok()?.flatten().max_by_key(of_path)
}

/// The texts in a name, each with the number that follows it: the count of its digits, then these.
fn pieces(mut name: &str) -> Vec<(String, usize, String)> {
    let mut pieces = Vec::new();
    while !name.is_empty() {
        let (text, rest) = name.split_at(name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len()));
        let (number, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
        let number = number.trim_start_matches('0');
        pieces.push((text.to_owned(), number.len(), number.to_owned()));
        name = rest;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_found_by_its_number() {
        let root = tempfile::tempdir().unwrap();
        let pattern = root.path().join("*/bin");
        let newest = || newest(&pattern.to_string_lossy());
        assert_eq!(newest(), None);
        for version in ["9", "9.6", "10", "17"] {
            let folder = root.path().join(version).join("bin");
            fs::create_dir_all(&folder).unwrap();
            assert_eq!(newest(), Some(folder));
        }
        fs::create_dir_all(root.path().join("9.10/bin")).unwrap();
        assert_eq!(newest(), Some(root.path().join("17/bin")));
    }

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
