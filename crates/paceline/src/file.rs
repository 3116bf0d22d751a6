//! Output files: resolves a path given by a flag and writes to it.
//!
//! Every output that a flag names is written here. Regular files are replaced in one step (`paceline_files`); open
//! descriptors, pipes and devices are written to in place.

use crate::descriptors::{descriptor, duplicate};
use crate::exit::hand_over;
use anyhow::Context as _;
use paceline_files::{create_new_beside, replace, target};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Files opened by [`check_writable`] and kept open until they are written. If a named pipe were closed, its reader
/// would see the end of the file, and opening it again would wait for another reader. Descriptors belong to the
/// process, so this is a static.
static HELD: Mutex<Vec<(PathBuf, File)>> = Mutex::new(Vec::new());

/// The file that a path leads to. Two names of one file are equal.
#[derive(Debug, PartialEq, Eq)]
pub enum FileIdentity {
    /// An existing file: its device and inode number.
    Inode(u64, u64),
    /// A file that does not exist yet: its path in the canonical folder.
    Place(PathBuf),
}

impl FileIdentity {
    /// Of an existing file.
    pub fn of_file(metadata: &fs::Metadata) -> Self {
        Self::Inode(metadata.dev(), metadata.ino())
    }

    /// Of the file that a path leads to, with links followed.
    pub fn of_path(path: &Path) -> Self {
        fs::metadata(path).map_or_else(|_| Self::Place(final_place(path)), |found| Self::of_file(&found))
    }
}

/// The canonical path of the file that a path leads to, whether it exists or not; unchanged if its folder does not.
pub fn final_place(path: &Path) -> PathBuf {
    place(&target(path))
}

/// Writes a temporary file in the same folder and renames it: after a full disk or a killed process the old content is
/// still there. Anything but a regular file (a pipe, `/dev/stdout`) is written to directly; a reader that closes it
/// early is not an error.
pub fn write_whole(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    let held = release(path).map_or_else(|| open_in_place(path), |file| Ok(Some(file)));
    if let Some(mut file) = held.with_context(cannot)? {
        return hand_over(&mut file, bytes).with_context(cannot);
    }
    replace(path, bytes).with_context(cannot)
}

/// Removes the regular file that a path leads to, if there is one: its content is no longer true.
pub fn remove_stale(path: &Path) -> anyhow::Result<()> {
    if is_in_place(path) {
        return Ok(());
    }
    match fs::remove_file(target(path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Appends to a file, in one write; a new file begins with a heading.
pub fn append(path: &Path, heading: &[u8], bytes: &[u8]) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    if let Some(mut file) = open_in_place(path).with_context(cannot)? {
        return hand_over(&mut file, bytes).with_context(cannot);
    }
    let appending = fs::OpenOptions::new().append(true).clone();
    let (file, text) = match appending.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (appending.open(path), bytes.to_vec()),
        opened => (opened, [heading, bytes].concat()),
    };
    file.and_then(|mut file| file.write_all(&text)).with_context(cannot)
}

/// Checks that a file is writable, before the work starts. For a named pipe this waits for the reader; the pipe then
/// stays open until the result is written.
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

/// Whether a path must be written in place: an open descriptor, a pipe, a device.
pub fn is_in_place(path: &Path) -> bool {
    descriptor(path).is_some() || path.exists() && !path.is_file()
}

/// Opens a path that is written in place: a pipe, a device, or a duplicate of a descriptor, which shares its file
/// position and append flag. None for a regular file or one that does not exist yet.
pub fn open_in_place(path: &Path) -> io::Result<Option<File>> {
    match descriptor(path) {
        Some(number) => duplicate(number).map(Some),
        None if is_in_place(path) => fs::OpenOptions::new().write(true).open(path).map(Some),
        None => Ok(None),
    }
}

/// The file that was kept open for this path, if any.
fn release(path: &Path) -> Option<File> {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let at = held.iter().position(|(name, _)| name == path)?;
    Some(held.swap_remove(at).1)
}

/// A path with its folder canonicalised; unchanged if the folder does not exist.
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
    fn a_failed_write_keeps_the_previous_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        write_whole(&path, b"first").unwrap();
        write_whole(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert!(write_whole(&folder.path().join("no/such/folder"), b"x").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_dangling_link_is_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let (link, file) = (folder.path().join("link"), folder.path().join("file"));
        std::os::unix::fs::symlink("file", &link).unwrap();
        assert_eq!(FileIdentity::of_path(&link), FileIdentity::of_path(&file));
        check_writable(&link).unwrap();
        write_whole(&link, b"x").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"x");
    }

    /// Runs a task in a separate thread with the file permissions of user `nobody`, since root may write everywhere.
    fn as_nobody(task: impl FnOnce() + Send) {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                // SAFETY: setfsuid takes a number and affects only the calling thread (setfsuid(2)).
                unsafe { libc::setfsuid(65_534) };
                task();
            });
            thread.join().unwrap();
        });
    }

    #[test]
    fn a_file_without_write_permission_is_not_changed() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let allow = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let path = folder.path().join("run.json");
        fs::write(&path, "first").unwrap();
        let refused = |part: &str| {
            as_nobody(|| {
                for error in [check_writable(&path).unwrap_err(), write_whole(&path, b"x").unwrap_err()] {
                    let reported = format!("{error:#}");
                    assert!(reported.contains("Permission denied") && reported.contains(part), "{reported}");
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
    fn a_log_is_appended_to_whatever_it_contains() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("siege.log");
        append(&path, b"heading\n", b"one\n").unwrap();
        append(&path, b"heading\n", b"two\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"heading\none\ntwo\n");
        fs::write(&path, b"\xff").unwrap();
        append(&path, b"heading\n", b"three\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"\xffthree\n");
        let error = append(folder.path().join("none/log").as_ref(), b"", b"x").unwrap_err();
        assert!(format!("{error:#}").starts_with("cannot write "), "{error:#}");
    }

    #[test]
    fn a_descriptor_is_written_at_its_offset() {
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
