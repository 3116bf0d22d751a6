//! Any bytes as field blocks of a connection: no panic, and a decoder that compares known blocks gives the same result
//! as one that decodes every block.
//!
//! Each block is preceded by its length, one byte. Every block is decoded three times.

use paceline_http::Method;
use paceline_http::h2::{
    BlockCache, DecodedFields, FieldDecoder, HpackDecoder, HpackScratch, ResponseProgress,
};

pub fn run(bytes: &[u8]) {
    let mut cache = BlockCache::default();
    let (mut comparing, mut plain) = (FieldDecoder::default(), HpackDecoder::default());
    let mut progress = ResponseProgress::new(Method::Other);
    let mut rest = bytes;
    while let Some((length, after)) = rest.split_first() {
        let (block, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        for _ in 0..3 {
            let mut status = None;
            let decoded = plain.decode(block, &mut HpackScratch::default(), |field| {
                if field.name == b":status" {
                    status = Some(field.value.to_vec());
                }
            });
            match (comparing.decode(&mut cache, block), decoded) {
                (Ok(DecodedFields::Response(fields)), Ok(_)) => {
                    assert_eq!(status, Some(fields.status.to_string().into_bytes()));
                    let _ = progress.fields(DecodedFields::Response(fields), false);
                }
                (Ok(DecodedFields::Trailers(_)), Ok(_)) => assert_eq!(status, None),
                (Err(error), Ok(_)) => assert!(error.is_stream_error(), "{error}"),
                (Err(error), Err(_)) => return assert!(!error.is_stream_error(), "{error}"),
                (Ok(fields), Err(error)) => panic!("{fields:?}, but {error}"),
            }
        }
    }
}
