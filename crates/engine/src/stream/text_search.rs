//! Searches a text in bytes that arrive in pieces (Knuth, Morris and Pratt, SIAM Journal on Computing 6(2), 1977): the
//! state between two pieces is one number, and no byte is kept.

use std::sync::Arc;

/// A text to be searched, at least one byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextSearch {
    text: Arc<[u8]>,
    /// For each length of a match, the length of its longest proper prefix that is also its suffix.
    fallback: Arc<[u32]>,
}

impl TextSearch {
    /// A search for a text; none if it is empty.
    pub fn new(text: &[u8]) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        let mut fallback = vec![0u32; text.len() + 1];
        for end in 1..text.len() {
            let mut known = fallback[end] as usize;
            while known > 0 && text[known] != text[end] {
                known = fallback[known] as usize;
            }
            fallback[end + 1] = known as u32 + u32::from(text[known] == text[end]);
        }
        Some(Self { text: text.into(), fallback: fallback.into() })
    }

    /// Continues a search, of which `matched` bytes match so far (0 at the beginning). Returns the number of bytes of
    /// `input` up to the end of the text if that was found; `matched` is then 0 again.
    pub fn find(&self, matched: &mut u32, input: &[u8]) -> Option<usize> {
        let mut known = *matched as usize;
        for (at, byte) in input.iter().enumerate() {
            while known > 0 && self.text[known] != *byte {
                known = self.fallback[known] as usize;
            }
            known += usize::from(self.text[known] == *byte);
            if known == self.text.len() {
                *matched = 0;
                return Some(at + 1);
            }
        }
        *matched = known as u32;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Where the text ends for the first time, with the input in two pieces.
    fn found(text: &[u8], one: &[u8], other: &[u8]) -> Option<usize> {
        let (search, mut matched) = (TextSearch::new(text).unwrap(), 0);
        let in_other = |matched: &mut u32| search.find(matched, other).map(|at| one.len() + at);
        search.find(&mut matched, one).or_else(|| in_other(&mut matched))
    }

    #[test]
    fn a_text_is_found_across_pieces() {
        assert_eq!(TextSearch::new(b""), None);
        assert_eq!(found(b"[DONE]", b"data: [DO", b"NE]\n\n"), Some(12));
        assert_eq!(found(b"aab", b"aa", b"ab"), Some(4));
        assert_eq!(found(b"aab", b"aab", b"aab"), Some(3));
        assert_eq!(found(b"aab", b"abaa", b""), None);
    }

    proptest! {
        #[test]
        fn it_finds_what_a_comparison_at_each_place_finds(
            text in prop::collection::vec(0..2u8, 1..6), input in prop::collection::vec(0..2u8, 0..40), cut in 0..40usize
        ) {
            let cut = cut.min(input.len());
            let expected = input.windows(text.len()).position(|part| part == text).map(|at| at + text.len());
            prop_assert_eq!(found(&text, &input[..cut], &input[cut..]), expected);
        }
    }
}
