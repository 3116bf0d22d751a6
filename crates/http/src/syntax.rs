//! Defines which bytes are allowed where (RFC 9110 §5, §8.6, RFC 9112 §3.2), and how invalid ones are shown.
//!
//! Shared by requests, URLs and the codecs of both versions. It does not know messages: the caller decides what an
//! invalid byte means.

/// The maximum number of invalid bytes in a message.
const MAX_EXCERPT_BYTES: usize = 40;

/// Whether a byte is allowed in a method or a field name (RFC 9110 §5.6.2).
#[inline]
pub(crate) fn is_token(byte: u8) -> bool {
    TOKEN[usize::from(byte)]
}

/// [`is_token`] as a table: names are scanned byte by byte.
const TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric()
            || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~');
        byte += 1;
    }
    table
};

/// Whether a byte is allowed in a text on one line: blanks, visible ASCII and bytes beyond ASCII. Field values that we
/// send (RFC 9110 §5.5), reason phrases (RFC 9112 §4) and quoted strings (RFC 9110 §5.6.4) consist of these.
#[inline]
pub(crate) fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// Whether a byte is allowed in a request target: visible ASCII without `#`, since a fragment is never sent (RFC 9112
/// §3.2).
pub(crate) fn is_target(byte: u8) -> bool {
    byte.is_ascii_graphic() && byte != b'#'
}

/// A decimal number of digits only, below 2^64 (RFC 9110 §8.6).
pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, &digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// The number (from 1) of the first character with a byte that is not allowed.
pub(crate) fn first_invalid(text: &str, is_allowed: impl Fn(u8) -> bool) -> Option<usize> {
    text.bytes().position(|byte| !is_allowed(byte)).map(|at| character_number(text, at))
}

/// The number (from 1) of the character that has its first or a later byte at `at`.
pub(crate) fn character_number(text: &str, at: usize) -> usize {
    text.char_indices().take_while(|(start, _)| *start <= at).count()
}

/// The beginning of `bytes`, printable on one line.
#[cold]
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(MAX_EXCERPT_BYTES)];
    let cut = if shown.len() < bytes.len() { "..." } else { "" };
    format!("{}{cut}", shown.escape_ascii())
}
