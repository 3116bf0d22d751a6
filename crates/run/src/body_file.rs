//! Files of request bodies that are read while they are sent, so that they may be larger than the memory.
//!
//! They are read by position instead of mapped into memory: a mapped file that becomes shorter would end the process
//! (SIGBUS).

use paceline_engine::BodySource;
use paceline_record::BodyWaits;
use paceline_stats::bytes_text;
use rustix::fs::{Advice, fadvise};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// How much is read ahead into the page cache.
const AHEAD_BYTES: u64 = 2 << 20;
/// How often that is asked for: the kernel looks for every page, also for those in the cache.
const AHEAD_STEP_BYTES: u64 = 1 << 20;

/// Where the file system does not tell whether content is in memory, a read of this length has waited: from memory the
/// 64 KiB of a read take some 10 us.
const MIN_WAIT: Duration = Duration::from_millis(1);

/// The open file of a request body.
#[derive(Debug)]
pub(crate) struct BodyFile {
    /// Its name, without its folder.
    name: String,
    file: File,
    length: u64,
    /// When it was last modified before the run; none if the file system does not tell.
    modified: Option<SystemTime>,
    /// The folder of the file, if it is a copy of what a pipe gave.
    copied_to: Option<PathBuf>,
    /// Whether the file system does not tell whether content is in memory: overlay and network file systems.
    is_opaque: AtomicBool,
    waits: WindowWaits,
}

/// The reads that waited for the disk in the window.
#[derive(Debug, Default)]
struct WindowWaits {
    has_begun: AtomicBool,
    has_ended: AtomicBool,
    reads: AtomicU64,
    total_ns: AtomicU64,
    longest_ns: AtomicU64,
}

impl WindowWaits {
    /// Notes a read that has just ended.
    fn note(&self, waited: Duration) {
        if !self.has_begun.load(Ordering::Relaxed) || self.has_ended.load(Ordering::Relaxed) {
            return;
        }
        let waited_ns = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.total_ns.fetch_add(waited_ns, Ordering::Relaxed);
        self.longest_ns.fetch_max(waited_ns, Ordering::Relaxed);
    }
}

impl BodyFile {
    /// A file with its present length.
    pub(crate) fn new(name: String, file: File) -> io::Result<Self> {
        let about = file.metadata()?;
        Ok(Self {
            name,
            file,
            length: about.len(),
            modified: about.modified().ok(),
            copied_to: None,
            is_opaque: AtomicBool::new(false),
            waits: WindowWaits::default(),
        })
    }

    /// The same as a copy, without a name, in this folder.
    #[must_use]
    pub(crate) fn copied_to(self, folder: PathBuf) -> Self {
        Self { copied_to: Some(folder), ..self }
    }

    /// What a user should know about it before the run.
    pub(crate) fn notice(&self) -> Option<String> {
        let (length, folder) = (bytes_text(self.length as f64), self.copied_to.as_ref()?.display());
        Some(format!("{}: {length} copied to a temporary file in {folder}, until the run ends", self.name))
    }

    /// The window has begun, for one thread or more.
    pub(crate) fn begin_window(&self) {
        self.waits.has_begun.store(true, Ordering::Relaxed);
    }

    /// The window has ended.
    pub(crate) fn end_window(&self) {
        self.waits.has_ended.store(true, Ordering::Relaxed);
    }

    /// The reads that waited for the disk in the window.
    pub(crate) fn waits(&self) -> BodyWaits {
        BodyWaits {
            reads: self.waits.reads.load(Ordering::Relaxed),
            wait_ns_total: self.waits.total_ns.load(Ordering::Relaxed),
            wait_ns_max: self.waits.longest_ns.load(Ordering::Relaxed),
        }
    }

    /// Reads what is in memory from an offset on, up to the first gap; returns the number of bytes, 0 if the file
    /// system does not tell.
    fn read_ready(&self, at: u64, into: &mut [u8]) -> usize {
        if self.is_opaque.load(Ordering::Relaxed) {
            return 0;
        }
        match preadv2(&self.file, &mut [IoSliceMut::new(into)], at, ReadWriteFlags::NOWAIT) {
            Ok(count) => count,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            // Not supported; if it is a fault of the disk, the next read reports it.
            Err(_) => {
                self.is_opaque.store(true, Ordering::Relaxed);
                0
            }
        }
    }

    /// Reads the rest, after `ready` bytes that were in memory, and notes how long that took.
    fn read_rest(&self, at: u64, into: &mut [u8], ready: usize) -> io::Result<()> {
        let begun = Instant::now();
        self.file.read_exact_at(&mut into[ready..], at + ready as u64)?;
        let took = begun.elapsed();
        if took >= MIN_WAIT || !self.is_opaque.load(Ordering::Relaxed) {
            self.waits.note(took);
        }
        Ok(())
    }

    /// Its name, without its folder.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Its length before the run, in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Whether it was modified since.
    pub(crate) fn has_changed(&self) -> bool {
        let is_same =
            |about: std::fs::Metadata| about.len() == self.length && about.modified().ok() == self.modified;
        !self.file.metadata().is_ok_and(is_same)
    }
}

impl BodySource for BodyFile {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let ready = self.read_ready(at, into);
        if ready < into.len() {
            self.read_rest(at, into, ready)?;
        }
        let end = at + into.len() as u64;
        if begins_step(at, end) {
            // The kernel's own read-ahead expects one reader of an open file, and connections read at several places.
            // Where the file system refuses, a later read waits for the disk.
            let _ = fadvise(&self.file, end, NonZeroU64::new(AHEAD_BYTES), Advice::WillNeed);
        }
        Ok(())
    }
}

/// Whether more has to be read ahead after a read of these bytes: at the beginning, and once in each step.
fn begins_step(at: u64, end: u64) -> bool {
    at == 0 || at / AHEAD_STEP_BYTES < end / AHEAD_STEP_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn file(content: &[u8]) -> BodyFile {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        BodyFile::new("body".to_owned(), file).unwrap()
    }

    #[test]
    fn every_piece_but_the_first_is_read_ahead_in_few_steps() {
        for piece in [1_000, 64 * 1024, 64 * 1024 - 7] {
            let (mut at, mut ahead_to, mut asked) = (0, piece, 0);
            while at < 20 * AHEAD_STEP_BYTES {
                let end = at + piece;
                assert!(end <= ahead_to, "{piece} at {at}");
                if begins_step(at, end) {
                    (ahead_to, asked) = (end + AHEAD_BYTES, asked + 1);
                }
                at = end;
            }
            assert_eq!(asked, 21, "pieces of {piece}: at the beginning, and once in each step");
        }
    }

    #[test]
    fn waits_count_in_the_window_alone() {
        let body = file(b"hello");
        let wait = |ms| body.waits.note(Duration::from_millis(ms));
        wait(1);
        body.begin_window();
        [3, 7, 5].into_iter().for_each(wait);
        body.end_window();
        // A thread that is late does not begin it again.
        body.begin_window();
        wait(100);
        let expected = BodyWaits { reads: 3, wait_ns_total: 15_000_000, wait_ns_max: 7_000_000 };
        assert_eq!(body.waits(), expected);
    }

    #[test]
    fn what_is_read_does_not_depend_on_what_is_in_memory() {
        let content: Vec<u8> = (0..=250).cycle().take(1_000_000).collect();
        for is_opaque in [false, true] {
            let body = file(&content);
            body.begin_window();
            body.is_opaque.store(is_opaque, Ordering::Relaxed);
            // Where the kernel can, it drops what is on the disk.
            body.file.sync_data().unwrap();
            let _ = fadvise(&body.file, 0, None, Advice::DontNeed);
            for at in (0..content.len() - 70_000).step_by(69_999) {
                let mut bytes = vec![0; 70_000];
                body.read_at(at as u64, &mut bytes).unwrap();
                assert!(bytes == content[at..at + 70_000], "{is_opaque} from {at}");
            }
            let waits = body.waits();
            assert!(waits.wait_ns_max <= waits.wait_ns_total && waits.reads <= 15, "{waits:?}");
        }
    }

    #[test]
    fn a_changed_file_is_noticed_and_a_short_one_is_an_error() {
        let body = file(b"hello");
        let mut bytes = [0; 4];
        body.read_at(1, &mut bytes).unwrap();
        assert!(bytes == *b"ello" && !body.has_changed());
        body.file.set_len(3).unwrap();
        assert!(body.has_changed());
        assert_eq!(body.read_at(1, &mut bytes).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        let body = file(b"hello");
        body.file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(body.has_changed() && body.length() == 5);
    }
}
