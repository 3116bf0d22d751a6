//! Decodes the responses of one connection: received bytes in, [`DecodeStep`]s out.
//!
//! The engine's receive loop tries [`Decoder::whole`] first, which handles nearly every response of a benchmark, and
//! uses [`Decoder::decode`] for all others, in pieces of any size. The decoder keeps no body bytes and reads no clock;
//! only a head that arrives in pieces is copied, and that copy is freed when the head is complete.

use super::chunks::{ChunkDecoder, ChunkStep};
use super::error::{ProtocolError, Truncation};
use super::head::{self, Framing, Head, HeadCache, LineEnds, ParsedHead};
use crate::{MAX_HEAD_BYTES, MAX_INTERIM_RESPONSES, Method};

/// The result of one [`Decoder::decode`]: the meaning of the bytes that it consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeStep<'i> {
    /// All of the input was consumed; receive more.
    NeedMore,
    /// An interim (1xx) response of this status, skipped (RFC 9110 §15.2).
    Interim(u16),
    /// The head of the final response.
    Head(Head),
    /// Some of the body, never empty.
    Body(&'i [u8]),
    /// The response is complete and the decoder is idle again. May consume no bytes, even of an empty input.
    End,
}

/// A response that arrived in one piece, see [`Decoder::whole`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholeResponse<'i> {
    /// Its head.
    pub head: Head,
    /// Its body, possibly empty.
    pub body: &'i [u8],
    /// Bytes of the input that belong to this response.
    pub consumed: usize,
}

/// Reads the responses of one connection in sequence.
///
/// After an error the connection is lost; [`Decoder::reset`] prepares the decoder for a new one.
#[derive(Debug)]
pub struct Decoder {
    state: DecoderState,
    /// The bytes received so far of a head that arrives in pieces.
    partial: Option<Box<Partial>>,
    /// 1xx responses before this final one.
    interims: u8,
    method: Method,
    line_ends: LineEnds,
}

/// Boxed, so that the many connections that never need it stay small.
#[derive(Debug, Default)]
struct Partial {
    bytes: Vec<u8>,
}

/// The part of a response that the next byte belongs to.
#[derive(Debug)]
enum DecoderState {
    /// The first byte of a response.
    Idle,
    /// A head of which some bytes are in `partial`, or which follows an interim response.
    Head,
    /// A body with this many bytes left; with 0 left only [`DecodeStep::End`] remains.
    Length(u64),
    /// A chunked body.
    Chunked(ChunkDecoder),
    /// A body that ends with the connection.
    UntilClose,
}

impl Decoder {
    /// A decoder for a new connection whose requests use `method`.
    pub const fn new(method: Method) -> Self {
        Decoder { state: DecoderState::Idle, partial: None, interims: 0, method, line_ends: LineEnds::CrLf }
    }

    /// The same decoder, accepting these line ends in heads.
    #[must_use]
    pub fn with_line_ends(self, line_ends: LineEnds) -> Self {
        Decoder { line_ends, ..self }
    }

    /// Sets the method of the request that the next response answers. Call it only while idle.
    pub fn set_method(&mut self, method: Method) {
        self.method = method;
    }

    /// The fast path: returns the whole response if none of it was consumed yet and `input` begins with the cached head
    /// and holds all of a body of known length. `None` does not say that the input is invalid: call
    /// [`Decoder::decode`].
    #[inline]
    pub fn whole<'i>(&self, cache: &HeadCache, input: &'i [u8]) -> Option<WholeResponse<'i>> {
        if !self.is_idle() {
            return None;
        }
        let (head, head_len) = cache.find(self.method, input)?;
        let rest = &input[head_len..];
        let body_len = match head.framing {
            Framing::Empty => 0,
            Framing::Length(length) => usize::try_from(length).ok()?,
            Framing::Chunked | Framing::UntilClose => return None,
        };
        let body = rest.get(..body_len)?;
        Some(WholeResponse { head, body, consumed: head_len + body_len })
    }

    /// The general path: reads some of `input`; returns the step and the number of bytes consumed. Call it again with
    /// the remaining input, even if that is empty, until it returns [`DecodeStep::NeedMore`]: the end of a response may
    /// consume no bytes.
    ///
    /// The same bytes give the same steps however they are split, except for the pieces of bodies.
    ///
    /// # Errors
    /// See [`ProtocolError`].
    pub fn decode<'i>(
        &mut self,
        cache: &mut HeadCache,
        input: &'i [u8],
    ) -> Result<(DecodeStep<'i>, usize), ProtocolError> {
        match &mut self.state {
            DecoderState::Idle | DecoderState::Head => self.head(cache, input),
            DecoderState::Length(0) => {
                self.reset();
                Ok((DecodeStep::End, 0))
            }
            _ if input.is_empty() => Ok((DecodeStep::NeedMore, 0)),
            DecoderState::Length(left) => {
                let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= taken as u64;
                Ok((DecodeStep::Body(&input[..taken]), taken))
            }
            DecoderState::Chunked(chunks) => {
                let (step, consumed) = chunks.decode(input)?;
                let step = match step {
                    ChunkStep::NeedMore => DecodeStep::NeedMore,
                    ChunkStep::Data(data) => DecodeStep::Body(data),
                    ChunkStep::End => {
                        self.reset();
                        DecodeStep::End
                    }
                };
                Ok((step, consumed))
            }
            DecoderState::UntilClose => Ok((DecodeStep::Body(input), input.len())),
        }
    }

    /// Call this when the peer has closed the connection: `Ok(true)` if that completes a response (a close-delimited
    /// one, if [`DecodeStep::NeedMore`] was reached before), `Ok(false)` if no response had begun. The decoder is idle
    /// after either.
    ///
    /// # Errors
    /// [`ProtocolError::Truncated`] in the middle of a response.
    pub fn end_of_input(&mut self) -> Result<bool, ProtocolError> {
        let missing = match &self.state {
            DecoderState::Idle => return Ok(false),
            DecoderState::UntilClose | DecoderState::Length(0) => {
                self.reset();
                return Ok(true);
            }
            DecoderState::Head => match &self.partial {
                Some(partial) => Truncation::Head { received: partial.bytes.len() },
                None => Truncation::Final,
            },
            DecoderState::Length(left) => Truncation::Body { bytes: *left },
            DecoderState::Chunked(_) => Truncation::Chunked,
        };
        Err(ProtocolError::Truncated(missing))
    }

    /// Whether no byte of a response has been consumed: a peer may close here without loss.
    #[inline]
    pub fn is_idle(&self) -> bool {
        matches!(self.state, DecoderState::Idle)
    }

    /// Whether the next byte belongs to a head.
    pub fn reads_head(&self) -> bool {
        matches!(self.state, DecoderState::Idle | DecoderState::Head)
    }

    /// Whether a response is being read that only a close can end: it has no length and no chunks.
    pub fn reads_until_close(&self) -> bool {
        matches!(self.state, DecoderState::UntilClose)
    }

    /// Whether the last piece of the body ended a chunk, or a body of known length.
    pub fn ends_chunk(&self) -> bool {
        match &self.state {
            DecoderState::Chunked(chunks) => !chunks.is_in_data(),
            DecoderState::Length(left) => *left == 0,
            DecoderState::Idle | DecoderState::Head | DecoderState::UntilClose => false,
        }
    }

    /// Resets to the initial state, with the same method and line ends.
    pub fn reset(&mut self) {
        *self = Decoder::new(self.method).with_line_ends(self.line_ends);
    }

    /// Reads a head, or the part of it that has arrived.
    fn head<'i>(
        &mut self,
        cache: &mut HeadCache,
        input: &'i [u8],
    ) -> Result<(DecodeStep<'i>, usize), ProtocolError> {
        if self.partial.is_some() {
            return self.rest_of_head(cache, input);
        }
        if let Some((head, consumed)) = cache.find(self.method, input) {
            return Ok((self.begin(head), consumed));
        }
        Self::check_start(input)?;
        if let Some((parsed, consumed)) = head::read(within_limit(input), self.line_ends)? {
            return Ok((self.take(cache, &input[..consumed], parsed)?, consumed));
        }
        check_limit(input)?;
        if !input.is_empty() {
            self.partial = Some(Box::new(Partial { bytes: input.to_vec() }));
            self.state = DecoderState::Head;
        }
        Ok((DecodeStep::NeedMore, input.len()))
    }

    /// Continues a head of which some bytes came before.
    fn rest_of_head<'i>(
        &mut self,
        cache: &mut HeadCache,
        input: &'i [u8],
    ) -> Result<(DecodeStep<'i>, usize), ProtocolError> {
        let mut partial = self.partial.take().unwrap_or_default();
        let bytes = &mut partial.bytes;
        let before = bytes.len();
        // Copies no more than the maximum size of a head: a long body after it need not be copied.
        bytes.extend_from_slice(&input[..input.len().min(MAX_HEAD_BYTES - before)]);
        Self::check_start(bytes)?;
        // Searches only the new bytes, and the two before them (LF CR) with which the blank line may have begun.
        let complete = head::end(bytes, before.saturating_sub(2));
        let line_ends = self.line_ends;
        let Some((parsed, end)) =
            complete.map(|end| head::read(&bytes[..end], line_ends)).transpose()?.flatten()
        else {
            check_limit(bytes)?;
            self.partial = Some(partial);
            return Ok((DecodeStep::NeedMore, input.len()));
        };
        let step = self.take(cache, &bytes[..end], parsed)?;
        Ok((step, end - before))
    }

    /// Processes a complete head, and caches it unless it is an interim one, which may precede every response.
    fn take<'i>(
        &mut self,
        cache: &mut HeadCache,
        bytes: &[u8],
        parsed: ParsedHead,
    ) -> Result<DecodeStep<'i>, ProtocolError> {
        let head = parsed.answering(self.method);
        match head.status {
            101 => Err(ProtocolError::Upgraded),
            100..=199 => self.interim(head.status),
            _ => {
                cache.keep(bytes, parsed);
                Ok(self.begin(head))
            }
        }
    }

    /// Skips a 1xx response: the final one follows (RFC 9110 §15.2).
    fn interim<'i>(&mut self, status: u16) -> Result<DecodeStep<'i>, ProtocolError> {
        if self.interims == MAX_INTERIM_RESPONSES {
            return Err(ProtocolError::TooManyInterim { limit: MAX_INTERIM_RESPONSES });
        }
        self.interims += 1;
        self.state = DecoderState::Head;
        Ok(DecodeStep::Interim(status))
    }

    /// Rejects input that is not HTTP at its first invalid byte: a peer of another protocol may never send a blank line.
    #[inline]
    pub(crate) fn check_start(bytes: &[u8]) -> Result<(), ProtocolError> {
        const START: &[u8] = b"HTTP/";
        let compared = bytes.len().min(START.len());
        if bytes[..compared] == START[..compared] { Ok(()) } else { Err(ProtocolError::not_http(bytes)) }
    }

    /// Starts reading the body that `head` announces.
    #[inline]
    fn begin<'i>(&mut self, head: Head) -> DecodeStep<'i> {
        self.state = match head.framing {
            Framing::Empty => DecoderState::Length(0),
            Framing::Length(length) => DecoderState::Length(length),
            Framing::Chunked => DecoderState::Chunked(ChunkDecoder::new()),
            Framing::UntilClose => DecoderState::UntilClose,
        };
        DecodeStep::Head(head)
    }
}

/// `bytes`, truncated to the maximum size of a head.
#[inline]
fn within_limit(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(MAX_HEAD_BYTES)]
}

/// Rejects an incomplete head that has reached the limit.
fn check_limit(bytes: &[u8]) -> Result<(), ProtocolError> {
    if bytes.len() < MAX_HEAD_BYTES {
        return Ok(());
    }
    Err(ProtocolError::HeadTooLarge { limit: MAX_HEAD_BYTES })
}
