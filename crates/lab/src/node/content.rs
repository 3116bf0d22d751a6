//! Computes a digest of a folder's content that is equal for a copy on another machine: names, kinds, modes, lengths
//! and times.

use super::message::FolderContent;
use crate::provision::METADATA_DIR;
use paceline_catalogue::hex;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// The digest of a folder's content. A copy by tar has the same digest; file contents are not read.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn digest(folder: &Path) -> io::Result<String> {
    let mut digest = Sha256::new();
    add(&mut digest, folder, folder)?;
    Ok(hex(&digest.finalize()[..16]))
}

fn add(digest: &mut Sha256, root: &Path, folder: &Path) -> io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name = path.strip_prefix(root).unwrap_or(&path);
        // Its contents change with every launch.
        if name == Path::new(METADATA_DIR) {
            continue;
        }
        let found = fs::symlink_metadata(&path)?;
        // A server that was killed may leave its socket, which tar does not copy.
        if found.file_type().is_socket() {
            continue;
        }
        let is_folder = found.is_dir();
        let target = if found.is_symlink() { fs::read_link(&path)? } else { PathBuf::new() };
        let numbers = if is_folder { (0, 0) } else { (found.len(), found.mtime()) };
        let line = format!("{}\0{:o} {} {}\0", path_text(name), found.mode(), numbers.0, numbers.1);
        digest.update(line.as_bytes());
        digest.update(target.as_os_str().as_bytes());
        if is_folder {
            add(digest, root, &path)?;
        }
    }
    Ok(())
}

fn path_text(path: &Path) -> String {
    path.as_os_str().as_bytes().escape_ascii().to_string()
}

/// Where a node records received folders: a name for each, in the user's cache. Machines with one home folder share the
/// cache, but not a folder on another file system, such as a local disk.
pub(crate) fn kept_folder(content: &FolderContent) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    let host = match file_system(&cache) == file_system(&content.folder) {
        true => String::new(),
        false => fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default(),
    };
    Some(cache.join("paceline/sent").join(note_name(host.trim(), &content.folder)))
}

/// The file system of a folder, or of the place where it would be made.
fn file_system(folder: &Path) -> Option<u64> {
    folder.ancestors().find_map(|path| fs::metadata(path).ok()).map(|found| found.dev())
}

/// The name of the note of a folder on a machine; without a host, that of all machines that share the folder.
fn note_name(host: &str, folder: &Path) -> String {
    let mut digest = Sha256::new();
    if !host.is_empty() {
        digest.update(host.as_bytes());
        digest.update(b"\0");
    }
    digest.update(folder.as_os_str().as_bytes());
    hex(&digest.finalize()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_that_share_a_home_folder_have_their_own_notes() {
        let name = |host: &str, folder: &str| note_name(host, Path::new(folder));
        assert_eq!(name("n1", "/lab/build"), name("n1", "/lab/build"));
        assert_ne!(name("n1", "/lab/build"), name("n2", "/lab/build"));
        assert_ne!(name("n1", "/lab/build"), name("n1", "/lab/servers"));
        assert_ne!(name("", "/lab/build"), name("n1", "/lab/build"));
    }

    #[test]
    fn a_folder_that_is_not_there_yet_has_the_file_system_that_it_will_be_on() {
        let folder = tempfile::tempdir().unwrap();
        assert!(file_system(folder.path()).is_some());
        assert_eq!(file_system(folder.path()), file_system(&folder.path().join("a/b")));
    }

    #[test]
    fn a_copy_has_the_same_digest_and_a_change_another() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("a/.paceline")).unwrap();
        fs::create_dir_all(from.join(".paceline")).unwrap();
        fs::write(from.join("a/file"), "1").unwrap();
        std::os::unix::fs::symlink("file", from.join("a/link")).unwrap();
        let copied = std::process::Command::new("cp").arg("-a").args([&from, &to]).status().unwrap();
        assert!(copied.success());
        fs::write(from.join(".paceline/version.log"), "noise").unwrap();
        let _listener = std::os::unix::net::UnixListener::bind(from.join("a/socket")).unwrap();
        assert_eq!(digest(&from).unwrap(), digest(&to).unwrap());
        fs::write(to.join("a/file"), "12").unwrap();
        assert_ne!(digest(&from).unwrap(), digest(&to).unwrap());
        assert!(digest(&folder.path().join("none")).is_err());
    }
}
