//! The phases that a generator reports while it runs: lines of `--events`, read from a pipe.
//!
//! `follow` reads them between its samples and once more when the generator has ended. No call here blocks, and a
//! generator without events is not an error.

use paceline_host::system;
use paceline_record::Phase;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::time::Duration;

/// How much is read at once: about eighty lines.
const CHUNK_BYTES: usize = 4096;

/// The read end of the pipe.
pub(super) struct PhaseEventReader {
    pipe: Option<File>,
    unread: Vec<u8>,
}

/// A line of `--events`: the beginning of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
pub(super) struct PhaseEvent {
    /// The phase.
    pub phase: Phase,
    /// When it began, on the monotonic clock: the line may be read much later.
    pub monotonic_ns: u64,
}

impl PhaseEventReader {
    /// Reads from a pipe whose other end a generator holds.
    pub fn new(pipe: OwnedFd) -> Self {
        Self { pipe: Some(pipe.into()), unread: Vec::new() }
    }

    /// The descriptor to poll; negative, which poll(2) ignores, once the pipe is at its end.
    pub fn descriptor(&self) -> RawFd {
        self.pipe.as_ref().map_or(-1, |pipe| pipe.as_raw_fd())
    }

    /// Whether a process may still write to it.
    pub fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// The events since the last call, from one chunk at most; if more is left, the descriptor stays readable.
    pub fn take(&mut self) -> Vec<PhaseEvent> {
        self.read();
        let mut reported = Vec::new();
        while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            // A later version may write lines of another kind: ignore them.
            reported.extend(serde_json::from_slice::<PhaseEvent>(&line));
        }
        reported
    }

    /// All remaining events of a generator that has ended.
    pub fn take_rest(&mut self) -> Vec<PhaseEvent> {
        let mut reported = Vec::new();
        while self.is_readable() {
            reported.extend(self.take());
        }
        reported
    }

    fn is_readable(&self) -> bool {
        self.is_open()
            && matches!(system::poll_readable([self.descriptor()], Some(Duration::ZERO)), Ok([true]))
    }

    fn read(&mut self) {
        if !self.is_readable() {
            return;
        }
        let mut chunk = [0; CHUNK_BYTES];
        match self.pipe.as_mut().map(|pipe| pipe.read(&mut chunk)) {
            Some(Ok(length)) if length > 0 => self.unread.extend_from_slice(&chunk[..length]),
            _ => self.pipe = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn events_written_before_the_end_are_read_after_it() {
        let (reader, writer) = system::pipe().unwrap();
        let mut events = PhaseEventReader::new(reader);
        assert_eq!(events.take(), []);
        let mut writer = File::from(writer);
        let lines = "{\"phase\":\"window\",\"monotonic_ns\":7}\n{\"of\":\"another kind\"}\n";
        // More than one chunk, so that a single read is not enough.
        writer.write_all(lines.repeat(100).as_bytes()).unwrap();
        writer.write_all(b"{\"phase\":\"drain\",\"monotonic_ns\":9}\n{\"phase\":").unwrap();
        drop(writer);
        let reported = events.take_rest();
        assert_eq!(reported.len(), 101);
        assert_eq!(reported[0], PhaseEvent { phase: Phase::Window, monotonic_ns: 7 });
        assert_eq!(reported[100], PhaseEvent { phase: Phase::Drain, monotonic_ns: 9 });
        assert!(!events.is_open() && events.descriptor() < 0);
    }
}
