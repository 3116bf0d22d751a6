//! A log of bounded length: the first and the last bytes are kept, and the number of bytes left out between them is
//! written.
//!
//! A server that prints a line for each request must not fill the disk, nor the shepherd's memory.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// The beginning is written to the file at once; the end stays in memory until [`BoundedLog::finish`].
pub struct BoundedLog {
    file: File,
    head_left: usize,
    tail: VecDeque<u8>,
    tail_limit: usize,
    skipped_bytes: u64,
}

impl BoundedLog {
    /// Creates the file, replacing an existing one.
    pub fn create(path: &Path, head_bytes: u64, tail_bytes: u64) -> io::Result<Self> {
        let file = File::create(path)?;
        let (head_left, tail_limit) = (head_bytes as usize, tail_bytes as usize);
        Ok(Self { file, head_left, tail: VecDeque::new(), tail_limit, skipped_bytes: 0 })
    }

    /// Adds output of the command.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (head, rest) = bytes.split_at(self.head_left.min(bytes.len()));
        self.head_left -= head.len();
        self.file.write_all(head)?;
        self.tail.extend(rest);
        let surplus = self.tail.len().saturating_sub(self.tail_limit);
        self.tail.drain(..surplus);
        self.skipped_bytes += surplus as u64;
        Ok(())
    }

    /// Writes the end of the output.
    pub fn finish(mut self) -> io::Result<()> {
        if self.skipped_bytes > 0 {
            writeln!(self.file, "\n[... {} bytes omitted ...]", self.skipped_bytes)?;
        }
        let (front, back) = self.tail.as_slices();
        self.file.write_all(front)?;
        self.file.write_all(back)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(pieces: &[&str]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = BoundedLog::create(&path, 4, 6).unwrap();
        pieces.iter().for_each(|piece| log.append(piece.as_bytes()).unwrap());
        log.finish().unwrap();
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_short_log_is_kept_whole() {
        assert_eq!(logged(&["ab", "cdef", "ghij"]), "abcdefghij");
    }

    #[test]
    fn a_long_log_keeps_both_ends() {
        assert_eq!(logged(&["abcdefghijk", "lmnopqrstuvwxyz"]), "abcd\n[... 16 bytes omitted ...]\nuvwxyz");
    }
}
