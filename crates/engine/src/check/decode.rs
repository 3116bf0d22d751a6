//! Decodes bodies by their `Content-Encoding` (RFC 9110 §8.4): checks, extraction and `--debug` use the same content.
//!
//! A body is decoded only when it differs from the last good one, up to a limit.

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use paceline_http::ContentCoding;
use std::borrow::Cow;
use std::io::{self, Read};

/// The maximum length of a decoded body: a megabyte of gzip can expand to a gigabyte.
const MAX_DECODED_BYTES: usize = 16 << 20;

/// Why a body could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Its bytes are not a valid stream.
    #[error("the response has Content-Encoding: {coding}, but its body is not valid {coding}: {problem}")]
    Invalid {
        /// Its coding.
        coding: &'static str,
        /// The decoder's message.
        problem: String,
    },
    /// Its coding is a compression that is not supported.
    #[error("the response has Content-Encoding: {0}; Paceline can decode only gzip and deflate")]
    Unsupported(&'static str),
    /// It was coded several times.
    #[error("the response has several codings in Content-Encoding; Paceline can decode only one")]
    Several,
    /// Its coding is not one of HTTP's.
    #[error("the response has an unknown Content-Encoding, and without decoding the body is not as expected")]
    Unknown,
    /// It exceeds the maximum length of a decoded body.
    #[error("the body is more than {} MiB when decompressed: too large to check", MAX_DECODED_BYTES >> 20)]
    TooLong,
}

/// The decoded content of a body.
///
/// # Errors
/// [`DecodeError`] if it cannot be decoded.
pub fn decoded(coding: ContentCoding, body: &[u8]) -> Result<Cow<'_, [u8]>, DecodeError> {
    // A response to HEAD has the field, but no body.
    if body.is_empty() {
        return Ok(Cow::Borrowed(body));
    }
    match coding {
        ContentCoding::Identity => Ok(Cow::Borrowed(body)),
        ContentCoding::Gzip => read("gzip", MultiGzDecoder::new(body)),
        ContentCoding::Deflate if is_zlib(body) => read("deflate", ZlibDecoder::new(body)),
        ContentCoding::Deflate => read("deflate", DeflateDecoder::new(body)),
        ContentCoding::Brotli => Err(DecodeError::Unsupported("br")),
        ContentCoding::Zstd => Err(DecodeError::Unsupported("zstd")),
        ContentCoding::OtherCompression => Err(DecodeError::Unsupported("a rare compression")),
        ContentCoding::Several => Err(DecodeError::Several),
        ContentCoding::Unknown => Err(DecodeError::Unknown),
    }
}

/// Whether a body begins as zlib does (RFC 1950 section 2.2).
fn is_zlib(body: &[u8]) -> bool {
    let [method, flags, ..] = *body else { return false };
    method & 0x0f == 8 && method >> 4 <= 7 && (u16::from(method) << 8 | u16::from(flags)) % 31 == 0
}

fn read<'b>(coding: &'static str, decoder: impl Read) -> Result<Cow<'b, [u8]>, DecodeError> {
    let mut content = Vec::new();
    let invalid = |error: io::Error| DecodeError::Invalid { coding, problem: error.to_string() };
    decoder.take(MAX_DECODED_BYTES as u64 + 1).read_to_end(&mut content).map_err(invalid)?;
    if content.len() > MAX_DECODED_BYTES {
        return Err(DecodeError::TooLong);
    }
    Ok(Cow::Owned(content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BodyCheck, BodyFault};
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use std::io::Write as _;
    use std::sync::Arc;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn bodies_are_decoded_by_their_coding() {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        let mut raw = DeflateEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(b"hello").unwrap();
        raw.write_all(b"hello").unwrap();
        for (coding, body) in [
            (ContentCoding::Gzip, gzip(b"hello")),
            (ContentCoding::Deflate, zlib.finish().unwrap()),
            (ContentCoding::Deflate, raw.finish().unwrap()),
        ] {
            assert_eq!(decoded(coding, &body).as_deref(), Ok(&b"hello"[..]));
            assert_eq!(
                decoded(ContentCoding::Identity, &body).as_deref(),
                Ok(&body[..]),
                "a file of this kind"
            );
        }
        assert_eq!(decoded(ContentCoding::Gzip, b"").as_deref(), Ok(&b""[..]));
        let packed = gzip(b"hello");
        let fault = decoded(ContentCoding::Gzip, &packed[..12]).unwrap_err();
        assert!(matches!(fault, DecodeError::Invalid { coding: "gzip", .. }));
    }

    #[test]
    fn a_decompression_bomb_is_not_decompressed_completely() {
        let bomb = gzip(&vec![0; MAX_DECODED_BYTES + 1]);
        assert!(bomb.len() < 100_000);
        assert_eq!(decoded(ContentCoding::Gzip, &bomb), Err(DecodeError::TooLong));
    }

    #[test]
    fn a_body_is_expected_as_received_or_decoded() {
        let exact = |body: &[u8]| BodyCheck::Exact(Arc::from(body));
        let (hello, packed) = (exact(b"hello"), gzip(b"hello"));
        assert_eq!(hello.judge(ContentCoding::Gzip, &packed), Ok(()));
        assert_eq!(exact(&packed).judge(ContentCoding::Identity, &packed), Ok(()), "a file that is gzip");
        assert_eq!(exact(&packed).judge(ContentCoding::Gzip, &packed), Ok(()), "Apache sends it like this");
        assert_eq!(hello.judge(ContentCoding::Identity, &packed), Err(BodyFault::Differs(5)));
        assert_eq!(hello.judge(ContentCoding::Gzip, &gzip(b"hallo")), Err(BodyFault::Differs(5)));
        assert_eq!(BodyCheck::Any.judge(ContentCoding::Gzip, b"hello"), Ok(()));
    }

    #[test]
    fn a_coding_that_cannot_be_decoded_is_named() {
        let hello = BodyCheck::Exact(Arc::from(&b"hello"[..]));
        assert_eq!(hello.judge(ContentCoding::Unknown, b"hello"), Ok(()));
        for (coding, expected) in [
            (ContentCoding::Gzip, "Content-Encoding: gzip, but its body is not valid gzip"),
            (ContentCoding::Brotli, "Content-Encoding: br;"),
            (ContentCoding::Several, "several codings"),
            (ContentCoding::Unknown, "unknown Content-Encoding"),
        ] {
            let fault = hello.judge(coding, b"hallo").unwrap_err().to_string();
            assert!(fault.contains(expected), "{fault}");
        }
    }
}
