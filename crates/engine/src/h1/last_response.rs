//! Keeps the last good response, byte for byte: the next is most often the same, and then one comparison replaces
//! parsing and checking.
//!
//! A response whose every byte equals one that was parsed and checked needs neither, if it answers a request of the
//! same kind: one method, one check. There is one for each kind.

use paceline_http::starts_with;

/// Longer responses are not kept: comparing a body costs as much as checking it.
const MAX_LENGTH: usize = 4096;

/// A response that was seen before.
#[derive(Debug, Default)]
pub(super) struct LastResponse {
    /// Head and body; empty until a response is kept.
    bytes: Vec<u8>,
    status: u16,
    body_bytes: u64,
}

impl LastResponse {
    /// The number of times in sequence that the input begins with the last response, at most `most`.
    #[inline]
    pub(super) fn repeats_in(&self, input: &[u8], most: u16) -> u16 {
        let length = self.bytes.len();
        if length == 0 {
            return 0;
        }
        let mut repeats = 0;
        while repeats < most
            && input.get(usize::from(repeats) * length..).is_some_and(|rest| starts_with(rest, &self.bytes))
        {
            repeats += 1;
        }
        repeats
    }

    /// Its length, in bytes.
    #[inline]
    pub(super) fn length(&self) -> usize {
        self.bytes.len()
    }

    /// Its status.
    #[inline]
    pub(super) fn status(&self) -> u16 {
        self.status
    }

    /// Length of its body.
    #[inline]
    pub(super) fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Keeps a response that was good and left the connection open.
    pub(super) fn meet(&mut self, bytes: &[u8], status: u16, body_bytes: u64) {
        self.bytes.clear();
        if bytes.len() <= MAX_LENGTH {
            self.bytes.extend_from_slice(bytes);
        }
        (self.status, self.body_bytes) = (status, body_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_responses_are_counted_from_the_start_of_the_buffer() {
        let mut last_response = LastResponse::default();
        assert_eq!(last_response.repeats_in(b"abc", 9), 0, "no response yet");
        last_response.meet(b"ab", 200, 1);
        for (input, most, repeats) in
            [(&b"ababa"[..], 9, 2), (b"ababab", 2, 2), (b"xab", 9, 0), (b"a", 9, 0), (b"", 9, 0)]
        {
            assert_eq!(last_response.repeats_in(input, most), repeats, "{input:?}");
        }
        last_response.meet(&[0; MAX_LENGTH + 1], 200, 1);
        assert_eq!(last_response.repeats_in(&[0; MAX_LENGTH + 1], 1), 0, "too long to be worth it");
    }
}
