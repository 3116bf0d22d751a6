//! Checks that the text of a message is UTF-8 (RFC 6455 §8.1), in pieces of any size.

/// The state of the check: the bytes of a character of which only the beginning has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Utf8Check {
    partial: [u8; 4],
    length: u8,
}

impl Utf8Check {
    /// Checks the next piece of a text. Returns false as soon as no further bytes can make it valid.
    pub(super) fn push(&mut self, mut piece: &[u8]) -> bool {
        while self.length > 0
            && let [byte, rest @ ..] = piece
        {
            piece = rest;
            self.partial[usize::from(self.length)] = *byte;
            self.length += 1;
            match std::str::from_utf8(&self.partial[..usize::from(self.length)]) {
                Ok(_) => self.length = 0,
                Err(error) if error.error_len().is_some() => return false,
                Err(_) => {}
            }
        }
        match std::str::from_utf8(piece) {
            Ok(_) => true,
            Err(error) if error.error_len().is_some() => false,
            Err(error) => {
                // Incomplete: at most three bytes.
                let rest = &piece[error.valid_up_to()..];
                self.partial[..rest.len()].copy_from_slice(rest);
                self.length = rest.len() as u8;
                true
            }
        }
    }

    /// Whether the text may end here: not in the middle of a character.
    pub(super) fn is_complete(self) -> bool {
        self.length == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(pieces: &[&[u8]]) -> bool {
        let mut check = Utf8Check::default();
        pieces.iter().all(|piece| check.push(piece)) && check.is_complete()
    }

    #[test]
    fn an_invalid_byte_is_found_before_the_text_ends() {
        let mut check = Utf8Check::default();
        assert!(check.push(b"\xce\xba\xf4"));
        assert!(!check.push(b"\x90"), "above U+10FFFF, whatever follows");
    }

    proptest! {
        #[test]
        fn any_pieces_give_the_result_of_the_whole(
            text in prop_oneof![any::<String>().prop_map(String::into_bytes), any::<Vec<u8>>()],
            cuts in proptest::collection::vec(0usize..64, 0..6),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
            prop_assert_eq!(check(&pieces), std::str::from_utf8(&text).is_ok());
        }
    }
}
