//! Keeps the last good response to a kind of request, frame by frame: the next is most often the same except for its
//! stream, and then one comparison replaces parsing and checking.
//!
//! The meaning of a response depends on its bytes and, if its field block refers to the header table, on that of the
//! connection: [`FieldDecoder::repeat`] says whether it means the same there.

use paceline_http::h2::{FRAME_HEAD_BYTES, FieldDecoder, RecognisedBlock, STREAM_AT, WholeResponse};

/// Longer responses are not kept: comparing a body costs as much as checking it.
const BYTES_MAX: usize = 4096;

/// A response that was seen before.
#[derive(Debug, Default)]
pub(super) struct FamiliarResponse {
    /// HEADERS and DATA; empty until a response is kept.
    frames: Vec<u8>,
    /// The offset of DATA.
    data_at: usize,
    block: Option<RecognisedBlock>,
    status: u16,
}

/// The stream of the frame at the beginning of the input; none if its head is incomplete.
#[inline]
pub(super) fn stream_of(input: &[u8]) -> Option<u32> {
    let field = input.get(STREAM_AT..)?.first_chunk()?;
    Some(u32::from_be_bytes(*field))
}

impl FamiliarResponse {
    /// Whether the input begins with this response, on a stream. The stream is written into it, so that all of it can
    /// be compared at once.
    #[inline(always)]
    pub(super) fn is_at(&mut self, input: &[u8], stream: u32) -> bool {
        for frame in [0, self.data_at] {
            let Some(field) = self.frames.get_mut(frame + STREAM_AT..frame + FRAME_HEAD_BYTES) else {
                return false;
            };
            field.copy_from_slice(&stream.to_be_bytes());
        }
        input.starts_with(&self.frames)
    }

    /// Whether it means the same on the connection of this decoder, in which case it counts as read.
    #[inline(always)]
    pub(super) fn repeat(&self, fields: &mut FieldDecoder) -> bool {
        let block = &self.frames[FRAME_HEAD_BYTES..self.data_at];
        self.block.as_ref().is_some_and(|recognised| fields.repeat(recognised, block))
    }

    /// Its length, in bytes.
    #[inline]
    pub(super) fn length(&self) -> usize {
        self.frames.len()
    }

    /// Length of its body.
    #[inline]
    pub(super) fn body_bytes(&self) -> usize {
        self.frames.len() - self.data_at - FRAME_HEAD_BYTES
    }

    /// Its status.
    #[inline]
    pub(super) fn status(&self) -> u16 {
        self.status
    }

    /// Keeps a response that was good: its bytes and their meaning.
    pub(super) fn meet(
        &mut self,
        bytes: &[u8],
        whole: &WholeResponse<'_>,
        status: u16,
        block: Option<RecognisedBlock>,
    ) {
        self.frames.clear();
        if bytes.len() <= BYTES_MAX && block.is_some() {
            self.frames.extend_from_slice(bytes);
        }
        self.data_at = FRAME_HEAD_BYTES + whole.block.len();
        (self.status, self.block) = (status, block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_http::h2::{BlockCache, write_data, write_field_block};

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
    fn met(block: &[u8], fields: &mut FieldDecoder, cache: &mut BlockCache) -> FamiliarResponse {
        for _ in 0..2 {
            fields.decode(cache, block).unwrap();
        }
        let mut familiar = FamiliarResponse::default();
        let whole = WholeResponse { stream: 1, block, body: b"ok" };
        familiar.meet(&response(1, block, b"ok"), &whole, 200, fields.recognised(cache, block));
        familiar
    }

    #[test]
    fn only_the_stream_may_differ() {
        let (mut fields, mut cache) = (FieldDecoder::default(), BlockCache::default());
        assert!(!FamiliarResponse::default().is_at(&response(1, SELF_CONTAINED, b"ok"), 1));
        let mut familiar = met(SELF_CONTAINED, &mut fields, &mut cache);
        assert_eq!((familiar.body_bytes(), familiar.status()), (2, 200));
        let good = response(7, SELF_CONTAINED, b"ok");
        assert_eq!((stream_of(&good), stream_of(&good[..8])), (Some(7), None));
        assert!(familiar.is_at(&good, 7) && !familiar.is_at(&good, 9));
        assert!(familiar.is_at(&[&good[..], b"more"].concat(), 7));
        for at in 0..good.len() {
            let mut changed = good.clone();
            changed[at] ^= 1;
            assert!(!familiar.is_at(&changed, 7), "byte {at}");
            assert!(!familiar.is_at(&good[..at], 7), "{at} bytes of it");
        }
    }

    #[test]
    fn a_block_that_refers_to_the_table_counts_on_its_connection_alone() {
        let (mut one, mut other, mut cache) =
            (FieldDecoder::default(), FieldDecoder::default(), BlockCache::default());
        one.decode(&mut cache, SELF_CONTAINED).unwrap();
        let familiar = met(REFERRING, &mut one, &mut cache);
        assert!(familiar.repeat(&mut one) && !familiar.repeat(&mut other));
        // After a change of the table it is not recognised there either.
        one.decode(&mut cache, SELF_CONTAINED).unwrap();
        assert!(!familiar.repeat(&mut one));
        assert!(met(SELF_CONTAINED, &mut one, &mut cache).repeat(&mut other));
    }
}
