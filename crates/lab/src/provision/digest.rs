//! Writes inputs into a SHA-256, so that no two lists of inputs give the same bytes.

use paceline_catalogue::hex;
use sha2::{Digest as _, Sha256};

/// The digest of inputs so far.
#[derive(Clone, Default)]
pub(super) struct InputDigest(Sha256);

impl InputDigest {
    /// Adds bytes, with their length first.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Adds a list, with its name and its length first: an item of one list is none of the next.
    pub fn add_list<'a>(&mut self, name: &str, items: impl ExactSizeIterator<Item = &'a [u8]>) {
        self.add(name.as_bytes());
        self.0.update((items.len() as u64).to_le_bytes());
        items.for_each(|item| self.add(item));
    }

    /// The digest, in hexadecimal.
    pub fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}
