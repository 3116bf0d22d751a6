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
    ///
    /// # Errors
    /// [`Unreadable`]; `piece` is then empty.
    pub(crate) fn read(&self, at: u64, piece: &mut Vec<u8>) -> Result<(), Unreadable> {
        piece.clear();
        while piece.len() < PIECE_BYTES {
            let (start, room) = (piece.len(), PIECE_BYTES - piece.len());
            match self.layout.part_at(at + start as u64) {
                BodyPart::Framing([]) => break,
                BodyPart::Framing(bytes) => piece.extend_from_slice(&bytes[..bytes.len().min(room)]),
                BodyPart::Content { at, length } => {
                    let count = usize::try_from(length).unwrap_or(usize::MAX).min(room);
                    piece.resize(start + count, 0);
                    if self.source.read_at(at, &mut piece[start..]).is_err() {
                        piece.clear();
                        return Err(Unreadable);
                    }
                }
            }
        }
        Ok(())
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
