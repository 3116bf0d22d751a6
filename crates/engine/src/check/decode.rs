//! Decodes bodies by their `Content-Encoding` (RFC 9110 §8.4): checks, extraction and `--debug` use the same content.
//!
//! A body is decoded only when it differs from the last good one, up to a limit.

use brotli_decompressor::Decompressor;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use paceline_http::ContentCoding;
use ruzstd::decoding::StreamingDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use std::borrow::Cow;
use std::io::{self, Read};

/// The maximum length of a decoded body: a megabyte of gzip can expand to a gigabyte.
const MAX_DECODED_BYTES: usize = 16 << 20;
/// The maximum number of frames of a body of zstd: each needs a decoder, and so many cost about as much as a body of
/// the maximum length.
const MAX_FRAMES: u32 = 10_000;
/// The buffer for the input of brotli, which is in memory already.
const BROTLI_BUFFER: usize = 4096;

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
    #[error(
        "the response has a rare compression in Content-Encoding; Paceline decodes gzip, deflate, br and zstd"
    )]
    Unsupported,
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
        ContentCoding::Brotli => read("br", Decompressor::new(body, BROTLI_BUFFER)),
        ContentCoding::Zstd => read_frames(body),
        ContentCoding::OtherCompression => Err(DecodeError::Unsupported),
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
    append(coding, decoder, &mut content)?;
    Ok(Cow::Owned(content))
}

/// The content of a body of zstd: one or more frames, some of which may have to be skipped (RFC 8878 section 3.1).
fn read_frames<'b>(mut frames: &[u8]) -> Result<Cow<'b, [u8]>, DecodeError> {
    let mut content = Vec::new();
    let invalid = |problem: String| DecodeError::Invalid { coding: "zstd", problem };
    let mut count = 0;
    while !frames.is_empty() {
        count += 1;
        if count > MAX_FRAMES {
            return Err(invalid(format!("it has more than {MAX_FRAMES} frames, which is not supported")));
        }
        match StreamingDecoder::new(&mut frames) {
            Ok(decoder) => append("zstd", decoder, &mut content)?,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length, ..
            })) => {
                let rest = frames.get(length as usize..);
                frames = rest.ok_or_else(|| invalid("a skippable frame is incomplete".to_owned()))?;
            }
            Err(error) => return Err(invalid(error.to_string())),
        }
    }
    Ok(Cow::Owned(content))
}

/// Appends what a decoder reads, up to the limit.
fn append(coding: &'static str, decoder: impl Read, content: &mut Vec<u8>) -> Result<(), DecodeError> {
    let room = (MAX_DECODED_BYTES + 1 - content.len()) as u64;
    let invalid = |error: io::Error| DecodeError::Invalid { coding, problem: error.to_string() };
    decoder.take(room).read_to_end(content).map_err(invalid)?;
    if content.len() > MAX_DECODED_BYTES { Err(DecodeError::TooLong) } else { Ok(()) }
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

    /// "hello" in brotli, as one block that is not compressed.
    const HELLO_BROTLI: &[u8] = b"\x0b\x02\x80hello\x03";
    /// A byte more than 16 MiB of zeros in brotli.
    const BROTLI_BOMB: &[u8] = b"\xcb\xff\xff\x3f\xf8\x27\x00\xe2\xb1\x40\x20\xf7\xfe\x8f\xff\xff\x7f\xf0\x4f\x00\xc4\x61\x11\x80\xee\xfd\x1f\x00\x00\x02\x00\x03";
    /// "hello" as a frame of zstd with one block that is not compressed.
    const HELLO_ZSTD: &[u8] = b"\x28\xb5\x2f\xfd\x20\x05\x29\0\0hello";

    /// A frame of zstd: this many blocks of 128 KiB, each a repeated byte (RFC 8878 section 3.1.1.2).
    fn zstd_of_repeats(blocks: u32) -> Vec<u8> {
        let mut frame = b"\x28\xb5\x2f\xfd\0\x38".to_vec();
        for block in 1..=blocks {
            let header = (128 << 10) << 3 | 1 << 1 | u32::from(block == blocks);
            frame.extend_from_slice(&header.to_le_bytes()[..3]);
            frame.push(0);
        }
        frame
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
            (ContentCoding::Brotli, HELLO_BROTLI.to_vec()),
            (ContentCoding::Zstd, HELLO_ZSTD.to_vec()),
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
        for (coding, packed) in [(ContentCoding::Brotli, HELLO_BROTLI), (ContentCoding::Zstd, HELLO_ZSTD)] {
            for length in 1..packed.len() {
                let fault = decoded(coding, &packed[..length]).unwrap_err();
                assert!(
                    matches!(fault, DecodeError::Invalid { .. }),
                    "{length} bytes of {packed:?}: {fault}"
                );
            }
        }
    }

    #[test]
    fn a_body_of_zstd_may_have_several_frames() {
        let skipped = b"\x5f\x2a\x4d\x18\x03\0\0\0abc";
        let frames = [HELLO_ZSTD, skipped, HELLO_ZSTD].concat();
        assert_eq!(decoded(ContentCoding::Zstd, &frames).as_deref(), Ok(&b"hellohello"[..]));
        assert!(decoded(ContentCoding::Zstd, &skipped[..10]).is_err(), "incomplete");
        assert!(decoded(ContentCoding::Zstd, b"hello").is_err(), "not zstd");
    }

    #[test]
    fn a_body_of_zstd_has_a_limited_number_of_frames() {
        let most = HELLO_ZSTD.repeat(MAX_FRAMES as usize);
        let content = decoded(ContentCoding::Zstd, &most).unwrap();
        assert!(*content == *b"hello".repeat(MAX_FRAMES as usize));
        let fault = decoded(ContentCoding::Zstd, &[&most[..], HELLO_ZSTD].concat()).unwrap_err();
        assert!(fault.to_string().contains("more than 10000 frames"), "{fault}");
    }

    #[test]
    fn a_decompression_bomb_is_not_decompressed_completely() {
        let bomb = gzip(&vec![0; MAX_DECODED_BYTES + 1]);
        assert!(bomb.len() < 100_000);
        assert_eq!(decoded(ContentCoding::Gzip, &bomb), Err(DecodeError::TooLong));
        let whole = zstd_of_repeats(128);
        assert_eq!(decoded(ContentCoding::Zstd, &whole).map(|content| content.len()), Ok(MAX_DECODED_BYTES));
        assert_eq!(decoded(ContentCoding::Zstd, &zstd_of_repeats(129)), Err(DecodeError::TooLong));
        assert_eq!(
            decoded(ContentCoding::Zstd, &[whole, HELLO_ZSTD.to_vec()].concat()),
            Err(DecodeError::TooLong)
        );
        assert_eq!(decoded(ContentCoding::Brotli, BROTLI_BOMB), Err(DecodeError::TooLong));
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
            (ContentCoding::Brotli, "Content-Encoding: br, but its body is not valid br"),
            (ContentCoding::Zstd, "Content-Encoding: zstd, but its body is not valid zstd"),
            (ContentCoding::OtherCompression, "a rare compression"),
            (ContentCoding::Several, "several codings"),
            (ContentCoding::Unknown, "unknown Content-Encoding"),
        ] {
            let fault = hello.judge(coding, b"hallo").unwrap_err().to_string();
            assert!(fault.contains(expected), "{fault}");
        }
    }
}
