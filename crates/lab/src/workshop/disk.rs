//! Disk usage of a folder.
//!
//! `lab setup` prints it for each server's build folder at the end. It counts blocks, not lengths; a file with two
//! names counts twice. For installed packages, see `packages`.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The unit of `st_blocks`, on every file system: stat(3).
const BLOCK_BYTES: u64 = 512;

/// The blocks of everything below `folder`, in bytes; 0 if it does not exist. Links are not followed; files that vanish
/// meanwhile are not counted.
pub(super) fn folder_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| {
        let Ok(about) = entry.metadata() else { return 0 };
        let below = if about.is_dir() { folder_bytes(&entry.path()) } else { 0 };
        below + about.blocks() * BLOCK_BYTES
    });
    bytes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_below_counts() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(folder_bytes(&folder.path().join("none")), 0);
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        let empty = folder_bytes(folder.path());
        fs::write(folder.path().join("a/b/c"), vec![1; 100_000]).unwrap();
        std::os::unix::fs::symlink("/", folder.path().join("a/root")).unwrap();
        let full = folder_bytes(folder.path());
        assert!((empty + 100_000..empty + 200_000).contains(&full), "{empty} to {full}");
    }
}
