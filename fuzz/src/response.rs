//! Any bytes as responses: no panic, no endless loop, the same events one byte at a time as at once, and `whole` agrees
//! with `decode`.
//!
//! Chunked bodies, which random bytes rarely reach, are tested by `chunked`.

use paceline_http::{DecodeStep, Decoder, HeadCache, Method};

/// Heads, ends and faults of a stream, and its body bytes.
fn read(method: Method, bytes: &[u8], piece_bytes: usize) -> (Vec<String>, Vec<u8>) {
    let (mut decoder, mut cache) = (Decoder::new(method), HeadCache::new());
    let (mut reported, mut body) = (Vec::new(), Vec::new());
    for mut piece in bytes.chunks(piece_bytes) {
        loop {
            let whole = decoder.whole(&cache, piece);
            let Ok((step, consumed)) = decoder.decode(&mut cache, piece) else {
                reported.push("error".into());
                return (reported, body);
            };
            if let Some(whole) = whole {
                assert_eq!(step, DecodeStep::Head(whole.head));
                assert_eq!(whole.body.len(), whole.consumed - consumed);
            }
            piece = &piece[consumed..];
            match step {
                DecodeStep::NeedMore => break,
                DecodeStep::Body(part) => body.extend_from_slice(part),
                step => reported.push(format!("{step:?} after {} bytes of bodies", body.len())),
            }
        }
        assert!(piece.is_empty(), "NeedMore leaves bytes unread");
    }
    reported.push(format!("{:?}", decoder.end_of_input()));
    (reported, body)
}

pub fn run(input: (bool, &[u8])) {
    let (is_head, bytes) = input;
    let method = if is_head { Method::Head } else { Method::Other };
    assert_eq!(read(method, bytes, 1), read(method, bytes, bytes.len().max(1)));
}
