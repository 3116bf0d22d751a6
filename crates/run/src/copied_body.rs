//! Copies of bodies that can be read only once, from a pipe or a device, so that they can be sent any number of times:
//! in memory or, if they are long, in a file.
//!
//! The file is in `$TMPDIR` or, without one, in `/var/tmp`, which is for large files and on a disk (file-hierarchy(7));
//! `/tmp` may be in memory. It has no name, so that nothing is left of it, however this process ends.

use crate::RunError;
use paceline_stats::bytes_text;
use rustix::fs::{Access, access, fstatvfs};
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

/// The longest copy in a file. A body of an upload is shorter; a source without an end stops here.
pub(crate) const MAX_COPY_BYTES: u64 = 64 << 30;
/// What is read at once: more than a pipe holds by default (64 KiB, pipe(7)).
const BLOCK_BYTES: usize = 1 << 20;
/// How often the free space is looked at again: others may write too.
const LOOK_BYTES: u64 = 64 << 20;
/// Where long copies are without `$TMPDIR`.
const FOLDER: &str = "/var/tmp";
/// The remedy if a file system has too little space.
const MORE_ROOM: &str =
    "set TMPDIR to a folder with more free space, or write the body to a file, and name it: @FILE";

/// All that a source gave.
#[derive(Debug)]
pub(crate) enum CopiedBody {
    /// In memory.
    Kept(Vec<u8>),
    /// In a file without a name, in this folder.
    File(File, PathBuf),
}

/// Copies all that `source` gives: up to `kept_bytes` into memory, otherwise into a file of at most `most_bytes` and
/// half of the free space. Errors begin with `shown`: the flag that names the source.
///
/// # Errors
/// [`RunError::Usage`] if the source cannot be read to its end or gives too much, [`RunError::Environment`] if there is
/// no room for the copy.
pub(crate) fn copy_body(
    shown: &str,
    mut source: impl Read,
    kept_bytes: u64,
    most_bytes: u64,
) -> Result<CopiedBody, RunError> {
    let unreadable = |read: u64, error: io::Error| {
        RunError::usage(format!("{shown}: reading failed after {}", bytes_text(read as f64))).because(error)
    };
    let mut kept = Vec::new();
    let all = source.by_ref().take(kept_bytes + 1).read_to_end(&mut kept);
    all.map_err(|error| unreadable(kept.len() as u64, error))?;
    if kept.len() as u64 <= kept_bytes {
        return Ok(CopiedBody::Kept(kept));
    }
    let mut copy = BodyCopy::new(shown, most_bytes)?;
    copy.add(&kept)?;
    drop(kept);
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        match source.read(&mut block) {
            Ok(0) => return copy.finish(),
            Ok(count) => copy.add(&block[..count])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(copy.written, error)),
        }
    }
}

/// A copy in a file.
struct BodyCopy<'s> {
    shown: &'s str,
    file: File,
    folder: PathBuf,
    most_bytes: u64,
    /// Half of the free space of its file system before the copy.
    half_free_bytes: u64,
    written: u64,
    /// From this length on the free space is looked at again.
    next_look: u64,
}

impl<'s> BodyCopy<'s> {
    fn new(shown: &'s str, most_bytes: u64) -> Result<Self, RunError> {
        let folder = folder();
        match tempfile::tempfile_in(&folder) {
            Ok(file) => Ok(Self {
                half_free_bytes: free_bytes(&file) / 2,
                shown,
                file,
                folder,
                most_bytes,
                written: 0,
                next_look: LOOK_BYTES,
            }),
            Err(error) => {
                let what = format!("{shown}: cannot create a temporary file in {}", folder.display());
                Err(RunError::environment(what)
                    .because(error)
                    .hint("set TMPDIR to a folder on a disk with enough free space"))
            }
        }
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), RunError> {
        let length = self.written + bytes.len() as u64;
        if length > self.most_bytes {
            let what = format!(
                "{}: stopped after {}: a body that is not a file can have {} at most",
                self.shown,
                bytes_text(self.written as f64),
                bytes_text(self.most_bytes as f64)
            );
            return Err(RunError::usage(what).hint("write the body to a file, and name it: @FILE"));
        }
        if length > self.half_free_bytes {
            return Err(self.has_no_room());
        }
        if length >= self.next_look {
            self.next_look = length + LOOK_BYTES;
            if free_bytes(&self.file) < self.half_free_bytes {
                return Err(self.has_no_room());
            }
        }
        self.file.write_all(bytes).map_err(|error| self.unwritable(error))?;
        self.written = length;
        Ok(())
    }

    /// Everything was read. The disk is not written to in the run, and has taken everything.
    fn finish(self) -> Result<CopiedBody, RunError> {
        self.file.sync_data().map_err(|error| self.unwritable(error))?;
        Ok(CopiedBody::File(self.file, self.folder))
    }

    fn unwritable(&self, error: io::Error) -> RunError {
        let (read, folder) = (bytes_text(self.written as f64), self.folder.display());
        let what = format!("{}: cannot copy more than {read} to a temporary file in {folder}", self.shown);
        RunError::environment(what).because(error).hint(MORE_ROOM)
    }

    fn has_no_room(&self) -> RunError {
        let what = format!(
            "{}: stopped after {}: a temporary file in {} can take half of the free space there, {}, at most",
            self.shown,
            bytes_text(self.written as f64),
            self.folder.display(),
            bytes_text(self.half_free_bytes as f64)
        );
        RunError::environment(what).hint(MORE_ROOM)
    }
}

/// The folder of long copies.
fn folder() -> PathBuf {
    match std::env::var_os("TMPDIR").filter(|folder| !folder.is_empty()) {
        Some(folder) => folder.into(),
        None if access(FOLDER, Access::WRITE_OK).is_ok() => Path::new(FOLDER).to_owned(),
        // Not that of the standard library, which is empty if the variable is.
        None => "/tmp".into(),
    }
}

/// The space of a file's file system that this user can fill; no limit if it does not tell.
fn free_bytes(file: &File) -> u64 {
    match fstatvfs(file) {
        Ok(about) if about.f_blocks > 0 => about.f_bavail.saturating_mul(about.f_frsize),
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt as _;

    /// Content that comes in pieces of 7 bytes, and then an error or the end.
    struct Pieces<'c>(&'c [u8], Option<io::ErrorKind>);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.0.len().min(buffer.len()).min(7);
            if let (0, Some(kind)) = (length, self.1) {
                return Err(kind.into());
            }
            buffer[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    fn problem(error: &RunError) -> (bool, String, String) {
        let (RunError::Usage(problem) | RunError::Environment(problem)) = error else { panic!("{error}") };
        let is_usage = matches!(error, RunError::Usage(_));
        (is_usage, problem.to_string(), problem.hint.clone().unwrap_or_default())
    }

    #[test]
    fn a_copy_is_whole_in_memory_or_in_a_file() {
        let content: Vec<u8> = (0..=255).cycle().take(10_000).collect();
        for length in [0, 1, 99, 100] {
            match copy_body("x", Pieces(&content[..length], None), 100, 1_000).unwrap() {
                CopiedBody::Kept(bytes) => assert!(bytes == content[..length], "{length}"),
                other => panic!("{length}: {other:?}"),
            }
        }
        for length in [101, 9_999, 10_000] {
            match copy_body("x", Pieces(&content[..length], None), 100, 10_000).unwrap() {
                CopiedBody::File(file, _) => {
                    let mut bytes = vec![0; length];
                    file.read_exact_at(&mut bytes, 0).unwrap();
                    assert!(bytes == content[..length], "{length}");
                    assert_eq!(file.metadata().unwrap().len(), length as u64);
                    assert_eq!(
                        std::os::unix::fs::MetadataExt::nlink(&file.metadata().unwrap()),
                        0,
                        "unnamed"
                    );
                }
                other @ CopiedBody::Kept(_) => panic!("{length}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_source_without_an_end_stops_at_the_limit() {
        let error = copy_body("--body @-", io::repeat(0), 100, 5_000_000).unwrap_err();
        let (is_usage, what, hint) = problem(&error);
        assert!(is_usage && what.starts_with("--body @-: stopped after "), "{what}");
        assert!(what.ends_with("can have 5.00 MB at most") && hint.contains("@FILE"), "{what}: {hint}");
    }

    #[test]
    fn a_source_that_fails_is_reported_with_what_was_read() {
        for (length, read) in [(0, "0 B"), (50, "50 B"), (700, "700 B")] {
            let source = Pieces(&[1; 700][..length], Some(io::ErrorKind::ConnectionReset));
            let (is_usage, what, _) = problem(&copy_body("x", source, 100, 1_000).unwrap_err());
            assert!(is_usage && what.starts_with(&format!("x: reading failed after {read}: ")), "{what}");
        }
    }

    #[test]
    fn half_of_the_free_space_is_left() {
        let mut copy = BodyCopy::new("--body @-", 1_000).unwrap();
        copy.half_free_bytes = 10;
        copy.add(b"12345").unwrap();
        copy.add(b"67890").unwrap();
        let (is_usage, what, hint) = problem(&copy.add(b"1").unwrap_err());
        assert!(!is_usage && what.starts_with("--body @-: stopped after 10 B: "), "{what}");
        assert!(what.contains("half of the free space there, 10 B,") && hint.contains("TMPDIR"), "{hint}");
        // Others have filled the disk meanwhile.
        let mut copy = BodyCopy::new("--body @-", 1_000).unwrap();
        (copy.half_free_bytes, copy.next_look) = (u64::MAX, 3);
        copy.add(b"12").unwrap();
        assert_eq!(copy.add(b"3").is_err(), free_bytes(&copy.file) < u64::MAX);
    }
}
