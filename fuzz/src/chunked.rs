//! Any bytes as a chunked body: no panic, the same body and the same verdict however the bytes are cut, and never more
//! body than bytes.
//!
//! Heads are tested by `response`; here there is one valid head.

use paceline_http::{DecodeStep, Decoder, HeadCache, Method};

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/// The body so far and whether it is complete; `None` if the bytes are invalid.
fn read(bytes: &[u8], piece_bytes: usize) -> Option<(Vec<u8>, bool)> {
    let (mut decoder, mut cache) = (Decoder::new(Method::Other), HeadCache::new());
    let mut body = Vec::new();
    for mut piece in std::iter::once(HEAD).chain(bytes.chunks(piece_bytes)) {
        loop {
            let (step, consumed) = decoder.decode(&mut cache, piece).ok()?;
            piece = &piece[consumed..];
            match step {
                DecodeStep::NeedMore => break,
                DecodeStep::Body(part) => body.extend_from_slice(part),
                DecodeStep::End => return Some((body, true)),
                _ => {}
            }
        }
    }
    Some((body, false))
}

pub fn run(bytes: &[u8]) {
    let whole = read(bytes, bytes.len().max(1));
    assert_eq!(whole, read(bytes, 1));
    assert_eq!(whole, read(bytes, 7));
    assert!(whole.is_none_or(|(body, _)| body.len() <= bytes.len()));
}
