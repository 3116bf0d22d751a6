//! Open descriptors: finds the descriptor that a path names, and which standard streams were closed at the start.
//!
//! `file` uses this for descriptors and pipes, `exit` for standard output. No function here opens a path by its name.

use paceline_files::MAX_LINKS;
use std::fs::{self, File};
use std::io;
use std::os::fd::{FromRawFd as _, RawFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Names of the standard streams. On most systems they are links to the file behind the stream.
const STREAMS: [(&str, RawFd); 3] = [("/dev/stdin", 0), ("/dev/stdout", 1), ("/dev/stderr", 2)];
/// Folders in which every open descriptor is listed by its number (proc(5)).
const DESCRIPTORS: [&str; 2] = ["/dev/fd", "/proc/self/fd"];

/// The standard streams that were closed when this process started. Before `main` the runtime opens `/dev/null` in
/// their place, so that no other file gets their number; output written there would be lost without an error.
static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// Called by the dynamic linker, or the C library, before the runtime begins (ELF, "Initialization and Termination
/// Functions").
#[used]
// SAFETY: the function needs no initialised runtime: it makes one system call per stream and stores to static memory.
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = look;

extern "C" fn look() {
    for (number, closed) in (0..).zip(&CLOSED) {
        // SAFETY: F_GETFD reads the flags of the descriptor, or fails.
        closed.store(unsafe { libc::fcntl(number, libc::F_GETFD) } < 0, Ordering::Relaxed);
    }
}

/// Whether a number is a standard stream that was closed when this process started.
fn is_closed(number: RawFd) -> bool {
    let stream = usize::try_from(number).ok().and_then(|number| CLOSED.get(number));
    stream.is_some_and(|closed| closed.load(Ordering::Relaxed))
}

/// The number of the open descriptor that a path names, directly or through links. The file behind it must not be
/// opened by name: that would start at the beginning of the file instead of the descriptor's current position.
pub fn descriptor(path: &Path) -> Option<RawFd> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
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

/// Duplicates an open descriptor, if it is writable.
pub fn duplicate(number: RawFd) -> io::Result<File> {
    if is_closed(number) {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            "the descriptor was closed before this program started",
        ));
    }
    // SAFETY: F_GETFL reads the flags of the descriptor, or fails.
    let flags = unsafe { libc::fcntl(number, libc::F_GETFL) };
    if flags < 0 {
        return Err(io::Error::last_os_error());
    }
    if flags & libc::O_ACCMODE == libc::O_RDONLY {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the descriptor is open for reading only",
        ));
    }
    // SAFETY: F_DUPFD_CLOEXEC has only integer arguments.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just created and has no other owner.
    Ok(unsafe { File::from_raw_fd(copy) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_descriptor_is_recognised() {
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
}
