//! The lines of the files that `{line:FILE}` takes from: cut once, shared by all threads, never copied.
//!
//! The caller reads the files; [`crate::Request::compile`] looks them up by the name that stands in the placeholder.

use std::ops::Range;
use std::sync::Arc;

/// A file's lines, without their ends (LF or CR LF). The end of the last line begins no further one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    bytes: Vec<u8>,
    lines: Vec<Range<usize>>,
    longest: usize,
}

impl Lines {
    /// Cuts a file into its lines.
    pub fn of(bytes: Vec<u8>) -> Self {
        let mut lines = Vec::new();
        let mut start = 0;
        while start < bytes.len() {
            let end = memchr::memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |length| start + length);
            let has_return = bytes[start..end].ends_with(b"\r");
            lines.push(start..end - usize::from(has_return));
            start = end + 1;
        }
        let longest = lines.iter().map(ExactSizeIterator::len).max().unwrap_or(0);
        Self { bytes, lines, longest }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.lines.len()
    }

    /// The line at `index`, from 0; empty beyond the last.
    #[inline]
    pub fn get(&self, index: usize) -> &[u8] {
        self.lines.get(index).map_or(&[], |line| &self.bytes[line.clone()])
    }

    /// Length of the longest, in bytes.
    pub fn longest(&self) -> usize {
        self.longest
    }
}

/// The files of a run's templates, by the names that stand in them.
#[derive(Clone, Debug, Default)]
pub struct LineFiles(Vec<(String, Arc<Lines>)>);

impl LineFiles {
    /// Adds a file. A second of the same name is never found.
    pub fn add(&mut self, name: impl Into<String>, bytes: Vec<u8>) {
        self.0.push((name.into(), Arc::new(Lines::of(bytes))));
    }

    /// Whether there is a file of that name.
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// A file's place among them and its lines.
    pub(crate) fn find(&self, name: &str) -> Option<(usize, &Arc<Lines>)> {
        self.0.iter().position(|(known, _)| known == name).map(|file| (file, &self.0[file].1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_files_end_them() {
        for (text, lines) in [
            ("", &[][..]),
            ("a", &["a"]),
            ("a\n", &["a"]),
            ("a\r\nbc\n", &["a", "bc"]),
            ("a\n\nb\n", &["a", "", "b"]),
            ("\n", &[""]),
            ("a\rb\r\n", &["a\rb"]),
        ] {
            let found = Lines::of(text.into());
            let texts: Vec<&[u8]> = (0..found.count()).map(|index| found.get(index)).collect();
            let expected: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
            assert_eq!(texts, expected, "{text:?}");
            assert_eq!(found.longest(), lines.iter().map(|line| line.len()).max().unwrap_or(0));
        }
        assert_eq!(Lines::of(b"a".to_vec()).get(1), b"");
    }
}
