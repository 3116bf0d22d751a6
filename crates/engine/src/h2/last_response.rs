//! Keeps the last good response to a kind of request, as HEADERS and DATA: the next is most often the same except for
//! its stream, and then one comparison replaces parsing and checking.
//!
//! Some servers send the HEADERS of several streams before their DATA. HEADERS that equal the kept ones begin a
//! response; DATA that equal the kept ones complete it, if it began with the same HEADERS ([`HeadersFrame::version`]).
//!
//! The meaning of a response depends on its bytes and, if its field block refers to the header table, on that of the
//! connection: [`FieldDecoder::repeat`] says whether it means the same there.

use crate::hot::{JudgedHead, ReceivedResponse};
use crate::{Ending, Nanos};
use paceline_http::h2::{
    FRAME_HEAD_BYTES, FieldDecoder, RecognisedBlock, ResponseProgress, STREAM_AT, write_data,
    write_field_block,
};
use paceline_http::{Method, starts_with};

/// Longer responses are not kept: comparing a body costs as much as checking it.
const MAX_BYTES: usize = 4096;

/// A response that was seen before.
#[derive(Debug, Default)]
pub(super) struct LastFrames {
    /// HEADERS and DATA. Without DATA until a good response with these HEADERS was read, empty before.
    frames: Vec<u8>,
    block: Option<RecognisedBlock>,
    /// Its HEADERS.
    pub head: HeadersFrame,
}

/// The HEADERS of the last response.
#[derive(Debug)]
pub(super) struct HeadersFrame {
    /// The length of the frame.
    pub bytes: usize,
    /// The facts by which its body is judged.
    pub judged: JudgedHead,
    /// The progress of a response that begins with it.
    pub progress: ResponseProgress,
    /// Changes whenever other HEADERS are kept; never 0 then.
    pub version: u64,
}

impl Default for HeadersFrame {
    fn default() -> Self {
        Self {
            bytes: 0,
            judged: JudgedHead::default(),
            progress: ResponseProgress::new(Method::Other),
            version: 0,
        }
    }
}

/// The stream of the frame at the beginning of the input; none if its head is incomplete, or on stream 0, which is the
/// id of a place without a stream.
#[inline]
pub(super) fn stream_of(input: &[u8]) -> Option<u32> {
    let field = input.get(STREAM_AT..)?.first_chunk()?;
    Some(u32::from_be_bytes(*field)).filter(|id| *id != 0)
}

/// Writes the stream into the frame at the beginning of the bytes; none if there is no frame.
#[inline(always)]
fn set_stream(frame: &mut [u8], stream: u32) -> Option<()> {
    let field = frame.get_mut(STREAM_AT..FRAME_HEAD_BYTES)?;
    field.copy_from_slice(&stream.to_be_bytes());
    Some(())
}

/// Whether the input begins with a kept frame, on a stream.
#[inline(always)]
fn is_frame_at(frame: &mut [u8], input: &[u8], stream: u32) -> bool {
    set_stream(frame, stream).is_some() && starts_with(input, frame)
}

impl LastFrames {
    /// Whether the input begins with this response, on a stream. The stream is written into it, so that all of it can
    /// be compared at once.
    #[inline(always)]
    pub(super) fn is_at(&mut self, input: &[u8], stream: u32) -> bool {
        let Some((head, body)) = self.frames.split_at_mut_checked(self.head.bytes) else { return false };
        set_stream(head, stream).is_some()
            && set_stream(body, stream).is_some()
            && starts_with(input, &self.frames)
    }

    /// Whether the input begins with its HEADERS, on a stream.
    #[inline(always)]
    pub(super) fn is_head_at(&mut self, input: &[u8], stream: u32) -> bool {
        self.frames.get_mut(..self.head.bytes).is_some_and(|head| is_frame_at(head, input, stream))
    }

    /// Whether the input begins with its DATA, on a stream.
    #[inline(always)]
    pub(super) fn is_body_at(&mut self, input: &[u8], stream: u32) -> bool {
        self.frames.get_mut(self.head.bytes..).is_some_and(|body| is_frame_at(body, input, stream))
    }

    /// Whether it means the same on the connection of this decoder, in which case it counts as read.
    #[inline(always)]
    pub(super) fn repeat(&self, fields: &mut FieldDecoder) -> bool {
        let block = &self.frames[FRAME_HEAD_BYTES..self.head.bytes];
        let Some(recognised) = &self.block else { return false };
        fields.repeat(recognised, block)
    }

    /// Its length, in bytes.
    #[inline]
    pub(super) fn length(&self) -> usize {
        self.frames.len()
    }

    /// The facts about it, where the first byte came at `first_byte` and all of it in this many bytes.
    #[inline(always)]
    pub(super) fn response(&self, first_byte: Nanos, uncounted_bytes: u64) -> ReceivedResponse {
        ReceivedResponse {
            status: self.head.judged.status,
            body_bytes: (self.frames.len() - self.head.bytes - FRAME_HEAD_BYTES) as u64,
            ending: Ending::Ok,
            first_byte,
            uncounted_bytes,
        }
    }

    /// Keeps the HEADERS of a response: their block, and the state of a response that begins with it.
    pub(super) fn meet_head(
        &mut self,
        block: &[u8],
        recognised: Option<RecognisedBlock>,
        judged: JudgedHead,
        progress: ResponseProgress,
    ) {
        self.frames.clear();
        if block.len() <= MAX_BYTES && recognised.is_some() {
            write_field_block(&mut self.frames, 0, block, false);
        }
        self.block = recognised;
        let version = self.head.version + 1;
        self.head = HeadersFrame { bytes: self.frames.len(), judged, progress, version };
    }

    /// Keeps the DATA of a good response whose HEADERS are the kept ones.
    pub(super) fn meet_body(&mut self, body: &[u8]) {
        self.frames.truncate(self.head.bytes);
        if !self.frames.is_empty() && self.frames.len() + body.len() <= MAX_BYTES {
            write_data(&mut self.frames, 0, body, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_http::h2::BlockCache;

    /// `:status: 200`, then `x: a` inserted, or the first entry of the dynamic table.
    const SELF_CONTAINED: &[u8] = &[0x88, 0x40, 1, b'x', 1, b'a'];
    const REFERRING: &[u8] = &[0x88, 0x80 | 62];

    fn response(stream: u32, block: &[u8], body: &[u8]) -> Vec<u8> {
        let mut frames = Vec::new();
        write_field_block(&mut frames, stream, block, false);
        write_data(&mut frames, stream, body, true);
        frames
    }

    /// A response that a connection has read twice, so that it recognises the block.
    fn met(block: &[u8], fields: &mut FieldDecoder, cache: &mut BlockCache) -> LastFrames {
        for _ in 0..2 {
            fields.decode(cache, block).unwrap();
        }
        let mut last_response = LastFrames::default();
        last_response.meet_head(
            block,
            fields.recognised(cache, block),
            JudgedHead { status: 200, ..JudgedHead::default() },
            ResponseProgress::new(Method::Other),
        );
        last_response.meet_body(b"ok");
        last_response
    }

    #[test]
    fn a_repeated_response_may_differ_only_in_its_stream_id() {
        let (mut fields, mut cache) = (FieldDecoder::default(), BlockCache::default());
        assert!(!LastFrames::default().is_at(&response(1, SELF_CONTAINED, b"ok"), 1));
        let mut last_response = met(SELF_CONTAINED, &mut fields, &mut cache);
        let facts = last_response.response(Nanos::ZERO, 0);
        assert_eq!((facts.body_bytes, facts.status), (2, 200));
        let good = response(7, SELF_CONTAINED, b"ok");
        assert_eq!((stream_of(&good), stream_of(&good[..8])), (Some(7), None));
        assert!(last_response.is_at(&good, 7) && !last_response.is_at(&good, 9));
        assert!(last_response.is_at(&[&good[..], b"more"].concat(), 7));
        for at in 0..good.len() {
            let mut changed = good.clone();
            changed[at] ^= 1;
            assert!(!last_response.is_at(&changed, 7), "byte {at}");
            assert!(!last_response.is_at(&good[..at], 7), "{at} bytes of it");
        }
    }

    #[test]
    fn headers_and_data_are_recognised_separately() {
        let (mut fields, mut cache) = (FieldDecoder::default(), BlockCache::default());
        let mut last_response = met(SELF_CONTAINED, &mut fields, &mut cache);
        let (good, version) = (response(7, SELF_CONTAINED, b"ok"), last_response.head.version);
        let (head, data) = good.split_at(last_response.head.bytes);
        let bad = response(7, SELF_CONTAINED, b"no");
        for followed_by in [&[][..], &data[..5], head, &bad[head.len()..]] {
            let input = [head, followed_by].concat();
            assert!(last_response.is_head_at(&input, 7) && !last_response.is_at(&input, 7));
        }
        assert!(!last_response.is_head_at(&head[..head.len() - 1], 7) && !last_response.is_head_at(head, 9));
        assert!(last_response.is_body_at(data, 7) && !last_response.is_body_at(data, 9));
        assert!(
            !last_response.is_body_at(&data[..data.len() - 1], 7)
                && !last_response.is_body_at(&bad[head.len()..], 7)
        );
        // Other HEADERS: the DATA belong to another response.
        last_response.meet_head(
            REFERRING,
            None,
            JudgedHead { status: 500, ..JudgedHead::default() },
            ResponseProgress::new(Method::Other),
        );
        assert!(!last_response.is_body_at(data, 7) && last_response.head.version != version);
    }

    #[test]
    fn a_block_with_table_references_is_recognised_only_on_its_connection() {
        let (mut one, mut other, mut cache) =
            (FieldDecoder::default(), FieldDecoder::default(), BlockCache::default());
        one.decode(&mut cache, SELF_CONTAINED).unwrap();
        let last_response = met(REFERRING, &mut one, &mut cache);
        assert!(last_response.repeat(&mut one) && !last_response.repeat(&mut other));
        // After a change of the table it is not recognised there either.
        one.decode(&mut cache, SELF_CONTAINED).unwrap();
        assert!(!last_response.repeat(&mut one));
        assert!(met(SELF_CONTAINED, &mut one, &mut cache).repeat(&mut other));
    }
}
