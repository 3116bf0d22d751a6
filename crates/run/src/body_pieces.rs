//! The content of bodies that are read while they are sent: a file, or the parts of a form, some of which are files.
//!
//! Its pieces, in memory and in files, are read as if they were one.

use crate::body_file::BodyFile;
use memchr::memmem::Finder;
use paceline_engine::BodySource;
use paceline_http::may_have_placeholder;
use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::sync::Arc;

/// What is searched at once.
const BLOCK_BYTES: usize = 256 * 1024;
/// The bytes that two blocks have in common in a search for placeholders: more than the word of a placeholder has.
const OVERLAP_BYTES: usize = 64;

/// The content of a body: pieces in memory and files, in order.
#[derive(Debug, Default)]
pub(crate) struct BodyPieces {
    pieces: Vec<BodyPiece>,
    length: u64,
}

/// A piece, and its offset in the content.
#[derive(Debug)]
struct BodyPiece {
    start: u64,
    content: PieceContent,
}

/// Where a piece is.
#[derive(Debug)]
enum PieceContent {
    /// In memory.
    Kept(Vec<u8>),
    /// It is all of a file.
    File(Arc<BodyFile>),
}

impl PieceContent {
    fn length(&self) -> u64 {
        match self {
            PieceContent::Kept(bytes) => bytes.len() as u64,
            PieceContent::File(file) => file.length(),
        }
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        match self {
            PieceContent::Kept(bytes) => {
                let mut rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
                rest.read_exact(into)
            }
            PieceContent::File(file) => file.read_at(at, into),
        }
    }
}

impl BodyPiece {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.content.length())
    }
}

impl From<BodyFile> for BodyPieces {
    fn from(file: BodyFile) -> Self {
        let mut pieces = Self::default();
        pieces.push(PieceContent::File(Arc::new(file)));
        pieces
    }
}

impl From<Vec<u8>> for BodyPieces {
    fn from(bytes: Vec<u8>) -> Self {
        let mut pieces = Self::default();
        pieces.push(PieceContent::Kept(bytes));
        pieces
    }
}

impl BodyPieces {
    fn push(&mut self, content: PieceContent) {
        let piece = BodyPiece { start: self.length, content };
        self.length = piece.end();
        self.pieces.push(piece);
    }

    /// Adds bytes at the end.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) {
        match self.pieces.last_mut() {
            Some(BodyPiece { content: PieceContent::Kept(kept), .. }) => {
                kept.extend_from_slice(bytes);
                self.length = self.length.saturating_add(bytes.len() as u64);
            }
            Some(_) | None => self.push(PieceContent::Kept(bytes.to_vec())),
        }
    }

    /// Adds all of another content at the end.
    pub(crate) fn append(&mut self, other: Self) {
        for piece in other.pieces {
            match piece.content {
                PieceContent::Kept(bytes) => self.push_bytes(&bytes),
                PieceContent::File(_) => self.push(piece.content),
            }
        }
    }

    /// Its length before the run, in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The number of its bytes in memory.
    pub(crate) fn kept_bytes(&self) -> u64 {
        self.length.saturating_sub(self.files().map(|file| file.length()).sum())
    }

    /// The files that it is read from; one may occur more than once.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Arc<BodyFile>> {
        self.pieces.iter().filter_map(|piece| match &piece.content {
            PieceContent::Kept(_) => None,
            PieceContent::File(file) => Some(file),
        })
    }

    /// The bytes, if all of them are in memory; itself if not.
    pub(crate) fn into_kept(mut self) -> Result<Vec<u8>, Self> {
        match self.pieces.as_mut_slice() {
            [] => Ok(Vec::new()),
            [BodyPiece { content: PieceContent::Kept(bytes), .. }] => Ok(std::mem::take(bytes)),
            _ => Err(self),
        }
    }

    /// All of it, in memory.
    pub(crate) fn read_all(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(self.length).map_err(io::Error::other)?];
        self.read_at(0, &mut bytes)?;
        Ok(bytes)
    }

    /// Whether these bytes occur in it. It is read for this up to their first occurrence.
    pub(crate) fn contains(&self, bytes: &[u8]) -> io::Result<bool> {
        let finder = Finder::new(bytes);
        // The last bytes of a block may be the first ones of an occurrence.
        let overlap = bytes.len().saturating_sub(1);
        self.search(BLOCK_BYTES.max(2 * bytes.len()), |block, is_last| match finder.find(block) {
            Some(_) => ControlFlow::Break(true),
            None if is_last => ControlFlow::Break(false),
            None => ControlFlow::Continue(block.len() - overlap),
        })
    }

    /// Whether it is text that is not sent as it is: with placeholders, or two braces. All of a text is read for this;
    /// the search ends at the first byte that is not UTF-8.
    pub(crate) fn may_have_placeholder(&self) -> io::Result<bool> {
        let mut is_found = false;
        self.search(BLOCK_BYTES, |block, is_last| {
            match std::str::from_utf8(block) {
                // Otherwise the block ends within a character.
                Err(error) if is_last || error.error_len().is_some() => return ControlFlow::Break(false),
                Ok(_) | Err(_) => {}
            }
            let end = if is_last { block.len() } else { block.len() - OVERLAP_BYTES };
            is_found = is_found || may_have_placeholder(block, end);
            if is_last {
                return ControlFlow::Break(is_found);
            }
            // The next block begins with a whole character.
            let is_start = |at: &usize| block[*at] & 0b1100_0000 != 0b1000_0000;
            ControlFlow::Continue((end..block.len()).find(is_start).unwrap_or(end))
        })
    }

    /// Reads all of it in blocks of a size, of which only the last may be shorter, and passes each to `look`, with
    /// whether it is the last, until that breaks with the result, at the last block at the latest. Otherwise `look`
    /// returns how many bytes, at least one, are not part of the next block.
    fn search(
        &self,
        block_bytes: usize,
        mut look: impl FnMut(&[u8], bool) -> ControlFlow<bool, usize>,
    ) -> io::Result<bool> {
        let (mut block, mut at) = (Vec::new(), 0);
        loop {
            let kept = block.len();
            let left = usize::try_from(self.length - at).unwrap_or(usize::MAX);
            block.resize(kept + left.min(block_bytes - kept), 0);
            self.read_at(at, &mut block[kept..])?;
            at += (block.len() - kept) as u64;
            match look(&block, at == self.length) {
                ControlFlow::Break(result) => return Ok(result),
                ControlFlow::Continue(seen) => {
                    block.drain(..seen);
                }
            }
        }
    }
}

impl BodySource for BodyPieces {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let (mut at, mut rest) = (at, into);
        let first = self.pieces.partition_point(|piece| piece.end() <= at);
        for piece in &self.pieces[first..] {
            if rest.is_empty() {
                break;
            }
            let count = usize::try_from(piece.end() - at).unwrap_or(usize::MAX).min(rest.len());
            let (now, later) = std::mem::take(&mut rest).split_at_mut(count);
            piece.content.read_at(at - piece.start, now)?;
            (at, rest) = (at + count as u64, later);
        }
        if rest.is_empty() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn file(content: &[u8]) -> BodyPieces {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        BodyFile::new("body".to_owned(), file).unwrap().into()
    }

    #[test]
    fn pieces_are_read_as_if_they_were_one() {
        let content: Vec<u8> = (0..100).collect();
        let mut pieces = BodyPieces::default();
        // Two of a kind follow each other, and some are empty.
        for (is_file, range) in [
            (false, 0..3),
            (false, 3..10),
            (true, 10..30),
            (true, 30..30),
            (true, 30..31),
            (false, 31..31),
            (false, 31..60),
            (true, 60..100),
        ] {
            match is_file {
                true => pieces.append(file(&content[range])),
                false => pieces.push_bytes(&content[range]),
            }
        }
        assert_eq!((pieces.length(), pieces.files().count(), pieces.kept_bytes()), (100, 4, 39));
        assert_eq!(pieces.read_all().unwrap(), content);
        for start in 0..=content.len() {
            for end in start..=content.len() {
                let mut bytes = vec![0; end - start];
                pieces.read_at(start as u64, &mut bytes).unwrap();
                assert!(bytes == content[start..end], "{start} to {end}: {bytes:?}");
            }
        }
        for (at, length) in [(0, 101), (99, 2), (100, 1), (200, 1)] {
            let error = pieces.read_at(at, &mut vec![0; length]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{length} from {at}");
        }
    }

    #[test]
    fn only_bytes_in_memory_are_kept() {
        assert_eq!(BodyPieces::default().into_kept().unwrap(), b"");
        let mut pieces = BodyPieces::from(b"a".to_vec());
        pieces.push_bytes(b"b");
        pieces.append(BodyPieces::from(b"c".to_vec()));
        assert_eq!(pieces.into_kept().unwrap(), b"abc");
        let mut pieces = file(b"a");
        pieces.push_bytes(b"b");
        assert_eq!(pieces.into_kept().unwrap_err().read_all().unwrap(), b"ab");
    }

    #[test]
    fn bytes_are_found_across_blocks_and_pieces() {
        for length in [0, 1, BLOCK_BYTES - 3, BLOCK_BYTES, 2 * BLOCK_BYTES + 1] {
            let mut pieces = file(&b"-".repeat(length));
            pieces.push_bytes(b"-bou");
            pieces.append(file(b"nd"));
            let has = |pieces: &BodyPieces, bytes: &[u8]| pieces.contains(bytes).unwrap();
            assert!(has(&pieces, b"-bound") && has(&pieces, b"d") && has(&pieces, b""), "{length}");
            assert!(!has(&pieces, b"-bound.") && !has(&pieces, b"-bound-"), "{length}");
            pieces.push_bytes(b".");
            assert!(has(&pieces, b"-bound."), "{length}");
        }
        // More than a block.
        let long = b"x".repeat(BLOCK_BYTES + 1);
        assert!(file(&long).contains(&long).unwrap());
        assert!(!file(&long[1..]).contains(&long).unwrap());
    }

    #[test]
    fn a_text_of_any_length_is_searched_for_placeholders() {
        for length in [0, 1, BLOCK_BYTES - OVERLAP_BYTES - 3, BLOCK_BYTES - 2, BLOCK_BYTES, 3 * BLOCK_BYTES] {
            let text = |end: &str| {
                // Two bytes for each character, so that blocks may end within one.
                let before = "x".repeat(length % 2) + &"\u{e9}".repeat(length / 2);
                file(format!("{before}{end}{}", "\u{e9}".repeat(100)).as_bytes())
            };
            for end in ["{seq}", "{{", "{line:a}"] {
                assert!(text(end).may_have_placeholder().unwrap(), "{end} after {length}");
            }
            for end in ["", "{", "{\"seq\": 1}", "{sequence"] {
                assert!(!text(end).may_have_placeholder().unwrap(), "{end} after {length}");
            }
            let mut bytes = vec![b'x'; length];
            bytes.extend_from_slice(b"{seq}\xff");
            assert!(!file(&bytes).may_have_placeholder().unwrap(), "not text after {length}");
        }
    }
}
