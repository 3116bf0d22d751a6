//! Output files: what a path that a flag names means, and writing to it.
//!
//! Every output that a flag names comes through here. Regular files are replaced in one step (`paceline_files`); open
//! descriptors, pipes and devices are written to as they are.

use crate::descriptors::{descriptor, duplicate};
use crate::exit::hand_over;
use anyhow::Context as _;
use paceline_files::{create_new_beside, replace, target};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What was opened to see whether it can be written to, until it is. The reader of a named pipe would take its being
/// closed for the end, and to open it again would be to wait for another reader. Descriptors are the process's, and
/// so is this.
static HELD: Mutex<Vec<(PathBuf, File)>> = Mutex::new(Vec::new());

/// Which file a path leads to: two names of one file have the same.
#[derive(Debug, PartialEq, Eq)]
pub enum Identity {
    /// One that is there, by its device and its number on it.
    Inode(u64, u64),
    /// One that is still to be made, by its name in its folder.
    Place(PathBuf),
}

impl Identity {
    /// Of a file that is there.
    pub fn of_file(metadata: &fs::Metadata) -> Self {
        Self::Inode(metadata.dev(), metadata.ino())
    }

    /// Of whatever a path leads to, links followed.
    pub fn of_path(path: &Path) -> Self {
        fs::metadata(path).map_or_else(|_| Self::Place(place(&target(path))), |found| Self::of_file(&found))
    }
}

/// Writes a file beside its place and moves it there: a full disk or a killed process leaves what was there before.
/// What is not a regular file (a pipe, `/dev/stdout`) is written to directly; a reader who has had enough of it is no
/// error.
pub fn write_whole(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    let held = release(path).map_or_else(|| open_in_place(path), |file| Ok(Some(file)));
    if let Some(mut file) = held.with_context(cannot)? {
        return hand_over(&mut file, bytes).with_context(cannot);
    }
    replace(path, bytes).with_context(cannot)
}

/// Sees whether a file can be written there, before the work whose result it is to hold. With a named pipe it waits
/// for the reader, who then has it until the result is written.
pub fn check_writable(path: &Path) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    if let Some(file) = open_in_place(path).with_context(cannot)? {
        HELD.lock().unwrap_or_else(PoisonError::into_inner).push((path.to_owned(), file));
        return Ok(());
    }
    let path = &target(path);
    let made = create_new_beside(path).and_then(|(temporary, _)| fs::remove_file(temporary));
    made.with_context(cannot)
}

/// Whether a path stands for what others hold too: an open descriptor, a pipe, a device.
pub fn is_in_place(path: &Path) -> bool {
    descriptor(path).is_some() || path.exists() && !path.is_file()
}

/// Opens what is written to as it stands: a pipe, a device or, of a descriptor, another that shares its place in the
/// file and whether it appends. None for a regular file, or one that is still to be made.
pub fn open_in_place(path: &Path) -> io::Result<Option<File>> {
    match descriptor(path) {
        Some(number) => duplicate(number).map(Some),
        None if is_in_place(path) => fs::OpenOptions::new().write(true).open(path).map(Some),
        None => Ok(None),
    }
}

/// The file that was kept open for this path.
fn release(path: &Path) -> Option<File> {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let at = held.iter().position(|(name, _)| name == path)?;
    Some(held.swap_remove(at).1)
}

/// A path by the true name of its folder; as it is written where there is no such folder.
fn place(path: &Path) -> PathBuf {
    match (fs::canonicalize(folder(path)), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// The folder a file is in, or would be.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_survives_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        write_whole(&path, b"first").unwrap();
        write_whole(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert!(write_whole(&folder.path().join("no/such/folder"), b"x").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_to_nothing_is_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let (link, file) = (folder.path().join("link"), folder.path().join("file"));
        std::os::unix::fs::symlink("file", &link).unwrap();
        assert_eq!(Identity::of_path(&link), Identity::of_path(&file));
        check_writable(&link).unwrap();
        write_whole(&link, b"x").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"x");
    }

    /// Has a thread of its own carry something out with the rights of nobody, where this one has every right.
    fn as_nobody(task: impl FnOnce() + Send) {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                // SAFETY: setfsuid takes a number, and is of the calling thread alone (setfsuid(2)).
                unsafe { libc::setfsuid(65_534) };
                task();
            });
            thread.join().unwrap();
        });
    }

    #[test]
    fn what_this_user_may_not_write_is_left_as_it_is() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let allow = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let path = folder.path().join("run.json");
        fs::write(&path, "first").unwrap();
        let refused = |part: &str| {
            as_nobody(|| {
                for error in [check_writable(&path).unwrap_err(), write_whole(&path, b"x").unwrap_err()] {
                    let told = format!("{error:#}");
                    assert!(told.contains("Permission denied") && told.contains(part), "{told}");
                }
            });
            assert_eq!(fs::read(&path).unwrap(), b"first");
        };
        allow(folder.path(), 0o777);
        allow(&path, 0o444);
        refused("run.json: ");
        allow(folder.path(), 0o555);
        allow(&path, 0o666);
        refused("cannot create a file in the folder ");
    }

    #[test]
    fn a_descriptor_is_written_to_where_it_stands() {
        use std::io::Write as _;
        use std::os::fd::AsRawFd as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all.txt");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"before ").unwrap();
        let name = format!("/dev/fd/{}", file.as_raw_fd());
        check_writable(name.as_ref()).unwrap();
        write_whole(name.as_ref(), b"between ").unwrap();
        file.write_all(b"after").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"before between after");
        let reading = File::open(&path).unwrap();
        let error = check_writable(format!("/dev/fd/{}", reading.as_raw_fd()).as_ref()).unwrap_err();
        assert!(format!("{error:#}").contains("for reading only"), "{error:#}");
        assert!(check_writable("/dev/fd/999999".as_ref()).is_err());
    }
}
