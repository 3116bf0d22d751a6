//! Writing a file whole or not at all; and what cannot be replaced, because others hold it too, as it stands.
//!
//! Everything that flags name as an output comes through here, so that a path means the same for each of them.

use crate::exit::hand_over;
use anyhow::Context as _;
use std::fs::{self, File};
use std::io;
use std::os::fd::{FromRawFd as _, RawFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Names of the standard streams, which most systems have as links that lead to whatever is behind a stream.
const STREAMS: [(&str, RawFd); 3] = [("/dev/stdin", 0), ("/dev/stdout", 1), ("/dev/stderr", 2)];
/// Folders in which every open descriptor has its number for a name (proc(5)).
const DESCRIPTORS: [&str; 2] = ["/dev/fd", "/proc/self/fd"];
/// Links followed at most, as many as the kernel does (path_resolution(7)).
const LINKS_MOST: usize = 40;

/// What was opened to see whether it can be written to, until it is. The reader of a named pipe would take its being
/// closed for the end, and to open it again would be to wait for another reader. Descriptors are the process's, and
/// so is this.
static HELD: Mutex<Vec<(PathBuf, File)>> = Mutex::new(Vec::new());

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
    let beside = beside(&target(path));
    File::create(&beside).and_then(|_| fs::remove_file(&beside)).with_context(cannot)
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

/// Puts a file with these bytes in the place of the one that is there, if any, in one step.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = &target(path);
    let beside = beside(path);
    let written = File::create(&beside).and_then(|mut file| {
        io::Write::write_all(&mut file, bytes)?;
        file.sync_all()
    });
    let moved = written.and_then(|()| fs::rename(&beside, path));
    if moved.is_err() {
        // Best effort: the error that is reported is the one that led here.
        let _ = fs::remove_file(&beside);
    }
    moved
}

/// The file itself: a link keeps pointing where it did; what it points to is replaced.
fn target(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Where a file is written before it takes its place: in the same folder, so that moving it is one step.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}

/// The number of the open descriptor that a path is a name of, or a link to such a name. What it leads to is not to be
/// opened by name: that would be another place in the file, at its beginning.
fn descriptor(path: &Path) -> Option<RawFd> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MOST {
        if let Some((_, number)) = STREAMS.iter().find(|(name, _)| path == Path::new(name)) {
            return Some(*number);
        }
        if let Some(number) = DESCRIPTORS.iter().find_map(|folder| path.strip_prefix(folder).ok()) {
            return number.to_str()?.parse().ok();
        }
        let link = fs::read_link(&path).ok()?;
        path = path.parent()?.join(link);
    }
    None
}

/// Another descriptor of the same open file, if that can be written to.
fn duplicate(number: RawFd) -> io::Result<File> {
    // SAFETY: F_GETFL reads flags of whatever the number stands for, or fails.
    let flags = unsafe { libc::fcntl(number, libc::F_GETFL) };
    if flags < 0 {
        return Err(io::Error::last_os_error());
    }
    if flags & libc::O_ACCMODE == libc::O_RDONLY {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is open for reading only"));
    }
    // SAFETY: F_DUPFD_CLOEXEC takes numbers only.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was made just now, and nobody else knows of it.
    Ok(unsafe { File::from_raw_fd(copy) })
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
    fn descriptors_have_many_names() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/stdout", &link).unwrap();
        for (name, number) in [
            ("/dev/stdout", Some(1)),
            ("/dev/stderr", Some(2)),
            ("/dev//fd/63", Some(63)),
            ("/proc/self/fd/0", Some(0)),
            (link.to_str().unwrap(), Some(1)),
            ("/dev/fd/x", None),
            ("/dev/null", None),
            ("run.json", None),
        ] {
            assert_eq!(descriptor(Path::new(name)), number, "{name}");
        }
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
