//! Decompresses bodies (RFC 1952, RFC 1950): their contents are checked, not how they were compressed.
//!
//! Compression is recognised by the first bytes of a body: the hot path does not keep the head of a response. A body is
//! decompressed only when it differs from the last good one, up to a limit.

use flate2::read::{MultiGzDecoder, ZlibDecoder};
use std::io::Read as _;

/// The maximum length of a decompressed body: a megabyte of gzip can expand to a gigabyte.
const DECODED_BYTES_MAX: usize = 16 << 20;

/// Why a compressed body could not be decompressed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecompressError {
    /// Its bytes are not a valid stream.
    #[error("the body begins like {coding}, but is not valid {coding}: {problem}")]
    Invalid {
        /// Its coding.
        coding: &'static str,
        /// The decoder's message.
        problem: String,
    },
    /// It exceeds the maximum length of a decompressed body.
    #[error("the body is more than {} MiB when decompressed: too large to check", DECODED_BYTES_MAX >> 20)]
    TooLong,
}

/// Whether a body begins as gzip does (RFC 1952 section 2.3.1).
pub(crate) fn is_gzip(body: &[u8]) -> bool {
    body.starts_with(&[0x1f, 0x8b, 8])
}

/// Whether a body begins as zlib does, which HTTP calls deflate (RFC 1950 section 2.2).
fn is_zlib(body: &[u8]) -> bool {
    match body {
        [method, flags, _, ..] => {
            method & 0x0f == 8 && method >> 4 <= 7 && (u16::from(*method) << 8 | u16::from(*flags)) % 31 == 0
        }
        _ => false,
    }
}

/// The decompressed body; none if it is not compressed.
///
/// # Errors
/// [`DecompressError`] if it cannot be decompressed.
pub fn decoded(body: &[u8]) -> Result<Option<Vec<u8>>, DecompressError> {
    let mut text = Vec::new();
    let most = DECODED_BYTES_MAX as u64 + 1;
    let (coding, read) = if is_gzip(body) {
        ("gzip", MultiGzDecoder::new(body).take(most).read_to_end(&mut text))
    } else if is_zlib(body) {
        ("deflate", ZlibDecoder::new(body).take(most).read_to_end(&mut text))
    } else {
        return Ok(None);
    };
    match read {
        // Two bytes of text may look like zlib, such as "x^".
        Err(_) if coding == "deflate" => Ok(None),
        Err(error) => Err(DecompressError::Invalid { coding, problem: error.to_string() }),
        Ok(_) if text.len() > DECODED_BYTES_MAX => Err(DecompressError::TooLong),
        Ok(_) => Ok(Some(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BodyCheck, BodyFault};
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};
    use std::io::Write as _;
    use std::sync::Arc;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn gzip_and_deflate_are_decompressed() {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(b"hello").unwrap();
        for body in [gzip(b"hello"), zlib.finish().unwrap()] {
            assert_eq!(decoded(&body).unwrap().as_deref(), Some(&b"hello"[..]));
        }
        for plain in [&b""[..], b"hello", b"x^2 + 1", b"\x1f\x8b"] {
            assert_eq!(decoded(plain), Ok(None));
        }
        let cut = &gzip(b"hello")[..12];
        assert!(matches!(decoded(cut), Err(DecompressError::Invalid { coding: "gzip", .. })));
    }

    #[test]
    fn a_decompression_bomb_is_not_decompressed_completely() {
        let bomb = gzip(&vec![0; DECODED_BYTES_MAX + 1]);
        assert!(bomb.len() < 100_000);
        assert_eq!(decoded(&bomb), Err(DecompressError::TooLong));
    }

    #[test]
    fn a_compressed_body_is_checked_only_on_request() {
        let exact = BodyCheck::Exact(Arc::from(&b"hello"[..]));
        assert_eq!(exact.judge(&gzip(b"hello")), Err(BodyFault::Compressed));
        let decoding = BodyCheck::Decoded(Arc::new(exact));
        assert_eq!(decoding.judge(&gzip(b"hello")), Ok(()));
        assert_eq!(decoding.judge(b"hello"), Ok(()), "a server need not compress");
        assert_eq!(decoding.judge(&gzip(b"hallo")), Err(BodyFault::Differs(5)));
        assert_eq!(BodyCheck::Any.judge(&gzip(b"hello")), Ok(()));
    }
}
