//! Bodies that are read while they are sent: they may be larger than the memory.
//!
//! The engine reads no file: what it reads from is a [`BodySource`], which the caller supplies. Each worker has one
//! buffer for all its connections ([`BodyReader`]), so that the memory does not depend on the length of bodies.

use paceline_http::{BodyBytes, BodyLayout, BodyPart};
use std::fmt;
use std::io;
use std::sync::Arc;

/// What is read at once: as long as the pieces of generated bodies.
pub(crate) const PIECE_BYTES: usize = 64 * 1024;

/// The content of a body, which all workers read by position while a run lasts.
pub trait BodySource: fmt::Debug + Send + Sync {
    /// Fills `into` with the content from an offset in bytes on.
    ///
    /// # Errors
    /// The content cannot be read, or has become too short.
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()>;
}

/// A body that is read as it is sent.
#[derive(Clone, Debug)]
pub struct ReadBody {
    source: Arc<dyn BodySource>,
    layout: BodyLayout,
}

impl ReadBody {
    /// The content of a source, as it is laid out on the connection: without anything beside it over HTTP/2, which makes
    /// the frames itself.
    pub fn new(source: Arc<dyn BodySource>, layout: BodyLayout) -> Self {
        Self { source, layout }
    }

    /// The length in bytes, as sent.
    pub(crate) fn length(&self) -> u64 {
        self.layout.length()
    }

    /// Replaces `piece` by bytes as they are sent, from an offset on: [`PIECE_BYTES`], or fewer at the end of the body.
    /// The source is read once, however many frames the piece has.
    ///
    /// # Errors
    /// [`Unreadable`]; `piece` is then empty.
    pub(crate) fn read(&self, at: u64, piece: &mut Vec<u8>) -> Result<(), Unreadable> {
        let (mut start, mut framing, mut content) = (None, 0, 0);
        for part in self.parts(at) {
            match part {
                BodyPart::Framing(bytes) => framing += bytes.len(),
                BodyPart::Content { at, length } => {
                    start.get_or_insert(at);
                    content += length as usize;
                }
            }
        }
        piece.resize(framing + content, 0);
        if let Some(start) = start
            && self.source.read_at(start, &mut piece[framing..]).is_err()
        {
            piece.clear();
            return Err(Unreadable);
        }
        // The content is at the end. Its parts move forward, by as much as the framing that still has to come.
        let (mut to, mut from) = (0, framing);
        for part in self.parts(at) {
            if to == from {
                break;
            }
            match part {
                BodyPart::Framing(bytes) => {
                    piece[to..to + bytes.len()].copy_from_slice(bytes);
                    to += bytes.len();
                }
                BodyPart::Content { length, .. } => {
                    let length = length as usize;
                    piece.copy_within(from..from + length, to);
                    (to, from) = (to + length, from + length);
                }
            }
        }
        Ok(())
    }

    /// The parts of a piece from an offset on, none of them empty.
    fn parts(&self, at: u64) -> impl Iterator<Item = BodyPart<'_>> {
        let mut length = 0;
        std::iter::from_fn(move || {
            let room = PIECE_BYTES - length;
            let (part, count) = match self.layout.part_at(at + length as u64) {
                BodyPart::Framing(bytes) => {
                    let count = bytes.len().min(room);
                    (BodyPart::Framing(&bytes[..count]), count)
                }
                BodyPart::Content { at, length } => {
                    let count = usize::try_from(length).unwrap_or(usize::MAX).min(room);
                    (BodyPart::Content { at, length: count as u64 }, count)
                }
            };
            length += count;
            (count > 0).then_some(part)
        })
    }
}

/// The content of a body could not be read: its request can neither be completed nor taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable;

/// Reads the bodies of a worker's requests.
#[derive(Debug)]
pub(crate) struct BodyReader {
    /// By kind of request, as far as any is read.
    bodies: Box<[Option<ReadBody>]>,
    /// The last piece that was read.
    piece: Vec<u8>,
    /// The kind of request that it belongs to, and its offset in the body.
    place: (u16, u64),
}

impl BodyReader {
    /// Reads these bodies, one for each kind of request that has one.
    pub(crate) fn new<'b>(bodies: impl Iterator<Item = Option<&'b ReadBody>>) -> Self {
        Self { bodies: bodies.map(|body| body.cloned()).collect(), piece: Vec::new(), place: (0, 0) }
    }

    /// Bytes of a kind's body from an offset on, as they are sent: at least one, unless the body ends there, or is not
    /// read.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub(crate) fn piece_at(&mut self, kind: u16, at: u64) -> Result<&[u8], Unreadable> {
        let Some(Some(body)) = self.bodies.get(usize::from(kind)) else { return Ok(&[]) };
        let inside = at.checked_sub(self.place.1).and_then(|inside| usize::try_from(inside).ok());
        let known = inside.filter(|inside| self.place.0 == kind && *inside < self.piece.len());
        if known.is_none() {
            body.read(at, &mut self.piece)?;
            self.place = (kind, at);
        }
        Ok(&self.piece[known.unwrap_or(0)..])
    }

    /// At most `most` bytes of a body from an offset on, whether it is read or not.
    ///
    /// # Errors
    /// [`Unreadable`].
    #[inline]
    pub(crate) fn piece_of<'p>(
        &'p mut self,
        kind: u16,
        body: BodyBytes<'p>,
        at: u64,
        most: usize,
    ) -> Result<&'p [u8], Unreadable> {
        match body {
            BodyBytes::Generated(_) if matches!(self.bodies.get(usize::from(kind)), Some(Some(_))) => {
                self.piece_at(kind, at).map(|piece| &piece[..piece.len().min(most)])
            }
            BodyBytes::Generated(_) | BodyBytes::Kept(_) => Ok(body.piece_at(at, most)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_http::{BodyFraming, generated_bytes, h3};
    use std::num::NonZeroU32;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Content that counts how often it is read.
    #[derive(Debug)]
    struct Counted {
        bytes: Vec<u8>,
        reads: AtomicUsize,
    }

    impl BodySource for Counted {
        fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
            self.reads.fetch_add(1, Ordering::Relaxed);
            into.copy_from_slice(&self.bytes[at as usize..][..into.len()]);
            Ok(())
        }
    }

    /// All bytes of a body as they are sent.
    fn sent(layout: &BodyLayout, content: &[u8]) -> Vec<u8> {
        let mut sent = Vec::new();
        loop {
            match layout.part_at(sent.len() as u64) {
                BodyPart::Framing([]) => return sent,
                BodyPart::Framing(bytes) => sent.extend_from_slice(bytes),
                BodyPart::Content { at, length } => {
                    sent.extend_from_slice(&content[at as usize..][..length as usize]);
                }
            }
        }
    }

    #[test]
    fn a_piece_of_many_frames_is_read_at_once() {
        let content = generated_bytes(150_001);
        let length = content.len() as u64;
        let frames = |size| BodyFraming::Chunks(NonZeroU32::new(size).unwrap());
        for framing in [BodyFraming::Length, frames(1), frames(7), frames(999), frames(70_000)] {
            for layout in [BodyLayout::over_http1(length, framing), h3::body_layout(length, framing)] {
                let all = sent(&layout, &content);
                let source = Arc::new(Counted { bytes: content.clone(), reads: AtomicUsize::new(0) });
                let shared: Arc<dyn BodySource> = Arc::<Counted>::clone(&source);
                let (body, mut piece) = (ReadBody::new(shared, layout), Vec::new());
                for at in (0..all.len()).step_by(9_973).chain([all.len() - 1, all.len()]) {
                    source.reads.store(0, Ordering::Relaxed);
                    body.read(at as u64, &mut piece).unwrap();
                    assert!(piece == all[at..all.len().min(at + PIECE_BYTES)], "{framing:?} from {at}");
                    assert!(source.reads.load(Ordering::Relaxed) <= 1, "{framing:?} from {at}");
                }
            }
        }
    }
}
