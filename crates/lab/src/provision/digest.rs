//! Writes inputs into a SHA-256, so that no two lists of inputs give the same bytes.

use paceline_catalogue::hex;
use sha2::{Digest as _, Sha256};
use std::io::{self, Read as _};
use std::path::Path;

/// How much of a file is in memory at once.
const PIECE_BYTES: usize = 1 << 16;

/// The digest of inputs so far.
#[derive(Clone, Default)]
pub(super) struct InputDigest(Sha256);

impl InputDigest {
    /// Adds bytes, with their length first.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Adds the contents of a regular file, as [`InputDigest::add`] would. It is not kept in memory: tools leave large
    /// files in the folders of users.
    ///
    /// # Errors
    /// As [`paceline_files::open`], and when the file gets shorter or longer meanwhile.
    pub fn add_file(&mut self, path: &Path) -> io::Result<()> {
        let mut file = paceline_files::open(path)?;
        let length = file.metadata()?.len();
        self.0.update(length.to_le_bytes());
        let (mut piece, mut total) = (vec![0_u8; PIECE_BYTES], 0_u64);
        // A file without an end would otherwise be read forever.
        while total <= length {
            let read = match file.read(&mut piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            if read == 0 {
                break;
            }
            self.0.update(&piece[..read]);
            total += read as u64;
        }
        match total == length {
            true => Ok(()),
            false => Err(io::Error::other("it changed while it was read: repeat the command")),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_has_the_digest_of_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        for length in [0, 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES] {
            let bytes: Vec<u8> = (0..length).map(|at| at as u8).collect();
            fs::write(&path, &bytes).unwrap();
            let (mut of_bytes, mut of_file) = (InputDigest::default(), InputDigest::default());
            of_bytes.add(&bytes);
            of_file.add_file(&path).unwrap();
            assert_eq!(of_file.finish(), of_bytes.finish(), "{length}");
        }
    }

    #[test]
    fn a_file_may_have_any_size_but_only_the_size_that_it_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        fs::File::create(&path).unwrap().set_len(paceline_files::MAX_OUTPUT_BYTES + 1).unwrap();
        InputDigest::default().add_file(&path).unwrap();
        // The kernel says that it has no bytes.
        let longer = InputDigest::default().add_file(Path::new("/proc/self/status")).unwrap_err();
        assert!(longer.to_string().contains("changed"), "{longer}");
        assert!(InputDigest::default().add_file(folder.path()).is_err());
    }
}
