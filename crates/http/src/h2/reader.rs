//! Reads and checks the frames of one connection: received bytes in, [`FrameEvent`]s out (RFC 9113 §4 to §6).
//!
//! DATA is passed on as it arrives; any other frame is passed on whole, straight from the input when all of it is
//! there. Bytes that arrive in pieces are copied, at most one frame or field block. PRIORITY and unknown frames are
//! skipped (§5.3.2, §5.5). The reader works for both sides: for a server, pass the bytes after the client's preface.

use super::error::{ErrorCode, FrameName, Http2Error};
use super::frame::{FRAME_HEAD_BYTES, FRAME_SIZE_DEFAULT, FrameHead, flag, kind};
use super::settings::SettingsPayload;

/// The maximum length of a field block. The same limit as for a head of HTTP/1.1.
pub const MAX_FIELD_BLOCK_BYTES: usize = crate::MAX_HEAD_BYTES;

/// The maximum number of CONTINUATION frames after HEADERS: with full frames a quarter of [`MAX_FIELD_BLOCK_BYTES`]
/// needs one.
pub const MAX_CONTINUATIONS: u8 = 16;

/// The maximum number of frames without effect between two that advance a response, or between parts of a body that is
/// sent. nghttp2 and Go allow 1,000 and 10,000.
pub const MAX_IDLE_FRAMES: u16 = 1000;

/// The result of one [`FrameReader::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameEvent<'a> {
    /// All input was consumed; receive more.
    NeedMore,
    /// Some of a body.
    Data {
        /// Its stream.
        stream: u32,
        /// The bytes; empty at the end of a body, or where a frame has only padding.
        piece: &'a [u8],
        /// The bytes to count against both windows: the piece and, with a frame's first piece, its padding (RFC 9113
        /// §6.1).
        flow_bytes: u32,
        /// Whether a frame ends here.
        end_frame: bool,
        /// Whether the body ends here.
        end_stream: bool,
    },
    /// A whole field block: a response's head, an interim head, or trailers.
    FieldBlock {
        /// Its stream.
        stream: u32,
        /// The block, to be decoded by HPACK even if the stream is unknown or reset: it changes the table (RFC 9113
        /// §4.3).
        block: &'a [u8],
        /// Whether no body follows.
        end_stream: bool,
    },
    /// RST_STREAM.
    Reset {
        /// The stream.
        stream: u32,
        /// The error code.
        code: ErrorCode,
    },
    /// SETTINGS: apply, then acknowledge.
    Settings(SettingsPayload<'a>),
    /// Our SETTINGS were acknowledged.
    SettingsAck,
    /// PING: answer with the same bytes.
    Ping([u8; 8]),
    /// The answer to our PING.
    PingAck([u8; 8]),
    /// GOAWAY: streams above `last_stream` were not processed and may be retried (RFC 9113 §6.8).
    GoAway {
        /// The highest stream that may have been processed.
        last_stream: u32,
        /// The error code.
        code: ErrorCode,
        /// Additional text.
        debug: &'a [u8],
    },
    /// WINDOW_UPDATE; the increment may be 0, which [`super::SendWindow::increase`] rejects.
    WindowUpdate {
        /// Its stream; 0 is the connection.
        stream: u32,
        /// The increment.
        increment: u32,
    },
}

/// Reads the frames of one connection.
#[derive(Debug)]
pub struct FrameReader {
    state: ReaderState,
    /// The beginning of a frame's head that arrives in pieces.
    head: [u8; FRAME_HEAD_BYTES],
    head_len: u8,
    /// Whether the first frame has arrived.
    has_begun: bool,
    /// Frames without effect since the last that advanced a response.
    idle_frames: u16,
    /// The stream and END_STREAM flag of the field block that CONTINUATION must continue, and the number of
    /// CONTINUATION frames so far.
    open_block: Option<OpenBlock>,
    /// The bytes of a frame in pieces, or of a field block in several frames.
    buffer: Vec<u8>,
    /// Where the payload of the frame being read begins in `buffer`.
    payload_at: usize,
}

#[derive(Clone, Copy, Debug)]
struct OpenBlock {
    stream: u32,
    end_stream: bool,
    continuations: u8,
}

#[derive(Clone, Copy, Debug)]
enum ReaderState {
    /// At the start of a frame's head, or in it.
    Head,
    /// Before the length of DATA's padding.
    PadLength(FrameHead),
    /// In DATA.
    Data { stream: u32, left: u32, padding: u32, overhead: u32, end_stream: bool },
    /// In skipped bytes: padding, or an ignored frame.
    Skip { left: u32 },
    /// In the payload of another frame.
    Payload(FrameHead),
}

/// The stream and the payload of the frame at the beginning of `input`, and whether it ends the stream, if all of it is
/// there and it is DATA without padding that advance a response. The input must begin between two frames.
#[inline]
pub fn whole_data(input: &[u8]) -> Option<(u32, &[u8], bool)> {
    let FrameHead { length, kind, flags, stream } = FrameHead::read(input.first_chunk()?);
    let payload = input.get(FRAME_HEAD_BYTES..FRAME_HEAD_BYTES + length as usize)?;
    let end_stream = flags & flag::END_STREAM != 0;
    let is_plain = kind == kind::DATA && flags & !flag::END_STREAM == 0 && length <= FRAME_SIZE_DEFAULT;
    (is_plain && (length > 0 || end_stream)).then_some((stream, payload, end_stream))
}

/// The size up to which a buffer is kept for the next frame in pieces; a larger one is freed.
const BUFFER_KEPT_BYTES: usize = 1024;

impl Default for FrameReader {
    fn default() -> Self {
        Self {
            state: ReaderState::Head,
            head: [0; FRAME_HEAD_BYTES],
            head_len: 0,
            has_begun: false,
            idle_frames: 0,
            open_block: None,
            buffer: Vec::new(),
            payload_at: 0,
        }
    }
}

impl FrameReader {
    /// Reads some of `input`; returns the event and the number of bytes consumed. Call it again with the remaining
    /// input until it returns [`FrameEvent::NeedMore`]. The same bytes give the same events however they are split,
    /// except for the pieces of DATA.
    ///
    /// # Errors
    /// [`Http2Error`]: the connection is lost.
    pub fn next<'a>(&'a mut self, input: &'a [u8]) -> Result<(FrameEvent<'a>, usize), Http2Error> {
        if let Some(whole) = self.whole_frame(input) {
            return Ok(whole);
        }
        let mut at = 0;
        loop {
            let rest = &input[at..];
            match self.state {
                ReaderState::Head => {
                    let Some((head, taken)) = self.read_head(rest)? else {
                        return Ok((FrameEvent::NeedMore, input.len()));
                    };
                    at += taken;
                    if !self.has_begun {
                        check_first(head, &input[at..])?;
                        self.has_begun = true;
                    }
                    self.begin(head)?;
                }
                ReaderState::Skip { left } => {
                    let taken = (left as usize).min(rest.len());
                    at += taken;
                    self.skip(left - taken as u32);
                    if taken < left as usize {
                        return Ok((FrameEvent::NeedMore, at));
                    }
                }
                ReaderState::PadLength(head) => {
                    let Some(padding) = rest.first() else { return Ok((FrameEvent::NeedMore, at)) };
                    at += 1;
                    self.begin_data(head, 1, u32::from(*padding))?;
                }
                ReaderState::Data { left, .. } if left > 0 && rest.is_empty() => {
                    return Ok((FrameEvent::NeedMore, at));
                }
                ReaderState::Data { stream, left, padding, overhead, end_stream } => {
                    let taken = (left as usize).min(rest.len());
                    let (piece, left) = (&rest[..taken], left - taken as u32);
                    if left > 0 {
                        self.state = ReaderState::Data { stream, left, padding, overhead: 0, end_stream };
                    } else {
                        self.skip(padding);
                    }
                    let flow_bytes = taken as u32 + overhead;
                    let end_stream = end_stream && left == 0;
                    if flow_bytes > 0 || end_stream {
                        let end_frame = left == 0;
                        let event = FrameEvent::Data { stream, piece, flow_bytes, end_frame, end_stream };
                        return Ok((event, at + taken));
                    }
                }
                ReaderState::Payload(head) => {
                    let wanted = head.length as usize - (self.buffer.len() - self.payload_at);
                    let (piece, is_whole) = (&rest[..wanted.min(rest.len())], rest.len() >= wanted);
                    at += piece.len();
                    if !is_whole {
                        self.buffer.extend_from_slice(piece);
                        return Ok((FrameEvent::NeedMore, at));
                    }
                    self.state = ReaderState::Head;
                    if self.keeps_block(head, piece)? {
                        continue;
                    }
                    return Ok((self.finish(head, piece)?, at));
                }
            }
        }
    }

    /// The body of `stream`, if `input` begins with all of it as one whole frame, and the length of that frame in
    /// bytes. `None` says nothing about the input and changes nothing.
    #[inline]
    pub fn whole_body<'a>(&mut self, input: &'a [u8], stream: u32) -> Option<(&'a [u8], usize)> {
        match self.whole_frame(input)? {
            (FrameEvent::Data { stream: of, piece, end_stream: true, .. }, taken) if of == stream => {
                Some((piece, taken))
            }
            _ => None,
        }
    }

    /// Whether the next byte begins a frame, after the peer's first frame.
    #[inline]
    pub fn is_between_frames(&self) -> bool {
        let is_between = matches!(self.state, ReaderState::Head) && self.head_len == 0 && self.has_begun;
        is_between && self.open_block.is_none() && self.buffer.is_empty()
    }

    /// Notes progress that the frames read do not show: the caller took frames from the input that advance a response
    /// and equal frames read before, or it sent a part of a body.
    #[inline]
    pub fn note_progress(&mut self) {
        self.idle_frames = 0;
    }

    /// The fast path of [`FrameReader::next`]: `input` begins with all of a HEADERS or DATA frame without padding,
    /// priority or CONTINUATION. `None` says nothing about the input and changes nothing.
    #[inline]
    pub fn whole_frame<'a>(&mut self, input: &'a [u8]) -> Option<(FrameEvent<'a>, usize)> {
        if !self.is_between_frames() {
            return None;
        }
        let FrameHead { length, kind, flags, stream } = FrameHead::read(input.first_chunk()?);
        let end = FRAME_HEAD_BYTES + length as usize;
        let payload = input.get(FRAME_HEAD_BYTES..end)?;
        let end_stream = flags & flag::END_STREAM != 0;
        let has_effect = length > 0 || kind == kind::DATA && end_stream;
        if !has_effect || length > FRAME_SIZE_DEFAULT || stream % 2 == 0 {
            return None;
        }
        let event = match (kind, flags & !flag::END_STREAM) {
            (kind::DATA, 0) => {
                FrameEvent::Data { stream, piece: payload, flow_bytes: length, end_frame: true, end_stream }
            }
            (kind::HEADERS, flag::END_HEADERS) => {
                FrameEvent::FieldBlock { stream, block: payload, end_stream }
            }
            _ => return None,
        };
        self.idle_frames = 0;
        Some((event, end))
    }

    /// Call this when the peer has closed the connection.
    ///
    /// # Errors
    /// [`Http2Error::Truncated`] inside a frame, [`Http2Error::NotHttp2`] if no frame ever came.
    pub fn end_of_input(&self) -> Result<(), Http2Error> {
        let is_at_head = matches!(self.state, ReaderState::Head) && self.open_block.is_none();
        match self.head_len {
            0 if is_at_head => Ok(()),
            known if !self.has_begun => Err(Http2Error::not_http2(&self.head[..usize::from(known)])),
            _ => Err(Http2Error::Truncated),
        }
    }

    /// Whether the peer's first SETTINGS have come.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// The next frame's head and how many bytes of `rest` it took; None while it is incomplete.
    #[inline]
    fn read_head(&mut self, rest: &[u8]) -> Result<Option<(FrameHead, usize)>, Http2Error> {
        if self.open_block.is_none() {
            self.release();
        }
        if self.head_len == 0
            && let Some(head) = rest.first_chunk()
        {
            return Ok(Some((FrameHead::read(head), FRAME_HEAD_BYTES)));
        }
        let known = usize::from(self.head_len);
        let taken = rest.len().min(FRAME_HEAD_BYTES - known);
        self.head[known..known + taken].copy_from_slice(&rest[..taken]);
        self.head_len += taken as u8;
        if usize::from(self.head_len) < FRAME_HEAD_BYTES {
            return Ok(None);
        }
        self.head_len = 0;
        Ok(Some((FrameHead::read(&self.head), taken)))
    }

    /// Releases the last frame's bytes.
    #[inline]
    fn release(&mut self) {
        if !self.buffer.is_empty() {
            self.buffer.clear();
            self.payload_at = 0;
            if self.buffer.capacity() > BUFFER_KEPT_BYTES {
                self.buffer = Vec::new();
            }
        }
    }

    /// Checks a frame's head and starts reading its payload.
    #[inline]
    fn begin(&mut self, head: FrameHead) -> Result<(), Http2Error> {
        let frame = FrameName(head.kind);
        if head.length > FRAME_SIZE_DEFAULT {
            return Err(Http2Error::FrameTooLong { frame, length: head.length, limit: FRAME_SIZE_DEFAULT });
        }
        if let Some(open) = self.open_block {
            if head.kind != kind::CONTINUATION || head.stream != open.stream {
                let (stream, expected) = (head.stream, open.stream);
                return Err(Http2Error::InsideFieldBlock { frame, stream, expected });
            }
        } else if head.kind == kind::CONTINUATION {
            return Err(Http2Error::Continuation { stream: head.stream });
        }
        check_stream_and_length(head)?;
        self.count_idle(head)?;
        match head.kind {
            kind::DATA if head.flags & flag::PADDED != 0 => self.state = ReaderState::PadLength(head),
            kind::DATA => self.begin_data(head, 0, 0)?,
            kind::PUSH_PROMISE => return Err(Http2Error::Push),
            kind::PRIORITY | 10.. => self.skip(head.length),
            _ => {
                self.payload_at = self.buffer.len();
                self.state = ReaderState::Payload(head);
            }
        }
        Ok(())
    }

    /// Starts the data of a DATA frame, after the length of its padding (RFC 9113 §6.1).
    #[inline]
    fn begin_data(&mut self, head: FrameHead, pad_length: u32, padding: u32) -> Result<(), Http2Error> {
        let overhead = pad_length + padding;
        let Some(left) = head.length.checked_sub(overhead) else {
            return Err(Http2Error::Padding { frame: FrameName(head.kind) });
        };
        let end_stream = head.flags & flag::END_STREAM != 0;
        self.state = ReaderState::Data { stream: head.stream, left, padding, overhead, end_stream };
        Ok(())
    }

    #[inline]
    fn skip(&mut self, left: u32) {
        self.state = if left > 0 { ReaderState::Skip { left } } else { ReaderState::Head };
    }

    /// Counts frames that do not advance a response (RFC 9113 §10.5).
    #[inline]
    fn count_idle(&mut self, head: FrameHead) -> Result<(), Http2Error> {
        match head.kind {
            kind::DATA if head.length > 0 || head.flags & flag::END_STREAM != 0 => self.idle_frames = 0,
            kind::HEADERS => self.idle_frames = 0,
            kind::RST_STREAM | kind::GOAWAY | kind::WINDOW_UPDATE | kind::CONTINUATION => {}
            _ => {
                self.idle_frames += 1;
                if self.idle_frames > MAX_IDLE_FRAMES {
                    return Err(Http2Error::Flood { limit: MAX_IDLE_FRAMES });
                }
            }
        }
        Ok(())
    }

    /// Keeps a piece of a field block that a CONTINUATION must follow, or the last of these pieces; true if more
    /// follows.
    fn keeps_block(&mut self, head: FrameHead, piece: &[u8]) -> Result<bool, Http2Error> {
        let is_last = head.flags & flag::END_HEADERS != 0;
        let is_block = matches!(head.kind, kind::HEADERS | kind::CONTINUATION);
        if !is_block || (is_last && head.kind == kind::HEADERS) {
            return Ok(false);
        }
        self.buffer.extend_from_slice(piece);
        if head.kind == kind::HEADERS {
            // Only the fragment stays in the buffer.
            let payload = &self.buffer[self.payload_at..];
            let fragment = fragment(head, payload)?;
            let start = self.payload_at + (fragment.as_ptr() as usize - payload.as_ptr() as usize);
            let end = start + fragment.len();
            self.buffer.truncate(end);
            self.buffer.drain(..start);
            let end_stream = head.flags & flag::END_STREAM != 0;
            self.open_block = Some(OpenBlock { stream: head.stream, end_stream, continuations: 0 });
        } else if let Some(open) = &mut self.open_block {
            open.continuations += 1;
            if open.continuations > MAX_CONTINUATIONS {
                return Err(Http2Error::TooManyContinuations { limit: MAX_CONTINUATIONS });
            }
        }
        if self.buffer.len() > MAX_FIELD_BLOCK_BYTES {
            return Err(Http2Error::FieldBlockTooLong { limit: MAX_FIELD_BLOCK_BYTES });
        }
        self.payload_at = self.buffer.len();
        Ok(!is_last)
    }

    /// The event of a complete frame, whose last (or only) piece this is.
    fn finish<'a>(&'a mut self, head: FrameHead, piece: &'a [u8]) -> Result<FrameEvent<'a>, Http2Error> {
        if let Some(open) = self.open_block.take() {
            let OpenBlock { stream, end_stream, .. } = open;
            return Ok(FrameEvent::FieldBlock { stream, block: &self.buffer, end_stream });
        }
        if self.buffer.is_empty() {
            return event(head, piece);
        }
        self.buffer.extend_from_slice(piece);
        event(head, &self.buffer)
    }
}

/// Checks that the first frame is SETTINGS and not an acknowledgement (RFC 9113 §3.4); any other bytes are most likely
/// another protocol.
fn check_first(head: FrameHead, after: &[u8]) -> Result<(), Http2Error> {
    if head.kind == kind::SETTINGS && head.flags & flag::ACK == 0 && head.length <= FRAME_SIZE_DEFAULT {
        return Ok(());
    }
    let mut bytes = Vec::with_capacity(FRAME_HEAD_BYTES + after.len());
    head.write(&mut bytes);
    bytes.extend_from_slice(after);
    Err(Http2Error::not_http2(&bytes))
}

/// Checks that a frame has a stream, or a fixed length, as its type requires (RFC 9113 §6).
#[inline]
fn check_stream_and_length(head: FrameHead) -> Result<(), Http2Error> {
    let frame = FrameName(head.kind);
    let has_stream = match head.kind {
        kind::SETTINGS | kind::PING | kind::GOAWAY => Some(false),
        kind::WINDOW_UPDATE | 10.. => None,
        _ => Some(true),
    };
    let is_right = match has_stream {
        None => true,
        // Only a client opens streams here, so all ids are odd.
        Some(true) => head.stream % 2 == 1,
        Some(false) => head.stream == 0,
    };
    if !is_right {
        return Err(Http2Error::WrongStream { frame, stream: head.stream });
    }
    let length = head.length;
    let expected = match head.kind {
        kind::PRIORITY if length != 5 => "the length must be 5",
        kind::RST_STREAM | kind::WINDOW_UPDATE if length != 4 => "the length must be 4",
        kind::SETTINGS if head.flags & flag::ACK != 0 && length != 0 => {
            "with the flag ACK, the length must be 0"
        }
        kind::SETTINGS if !length.is_multiple_of(6) => "the length must be a multiple of 6",
        kind::PING if length != 8 => "the length must be 8",
        kind::GOAWAY if length < 8 => "the length must be at least 8",
        _ => return Ok(()),
    };
    Err(Http2Error::FrameLength { frame, length, expected })
}

/// The field block fragment of HEADERS, without padding and priority (RFC 9113 §6.2).
fn fragment(head: FrameHead, payload: &[u8]) -> Result<&[u8], Http2Error> {
    let wrong = || Http2Error::Padding { frame: FrameName(head.kind) };
    let mut rest = payload;
    let mut padding = 0;
    if head.flags & flag::PADDED != 0 {
        let (length, after) = rest.split_first().ok_or_else(wrong)?;
        (padding, rest) = (usize::from(*length), after);
    }
    if head.flags & flag::PRIORITY != 0 {
        rest = rest.get(5..).ok_or_else(wrong)?;
    }
    let length = rest.len().checked_sub(padding).ok_or_else(wrong)?;
    Ok(&rest[..length])
}

/// The event of a frame whose payload has the length that its type requires.
fn event(head: FrameHead, payload: &[u8]) -> Result<FrameEvent<'_>, Http2Error> {
    let stream = head.stream;
    let number =
        |at: usize| payload.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |b| u32::from_be_bytes(*b));
    let is_ack = head.flags & flag::ACK != 0;
    Ok(match head.kind {
        kind::HEADERS => {
            let end_stream = head.flags & flag::END_STREAM != 0;
            FrameEvent::FieldBlock { stream, block: fragment(head, payload)?, end_stream }
        }
        kind::RST_STREAM => FrameEvent::Reset { stream, code: ErrorCode(number(0)) },
        kind::SETTINGS if is_ack => FrameEvent::SettingsAck,
        kind::SETTINGS => FrameEvent::Settings(SettingsPayload(payload)),
        kind::PING => {
            let opaque = payload.first_chunk().copied().unwrap_or_default();
            if is_ack { FrameEvent::PingAck(opaque) } else { FrameEvent::Ping(opaque) }
        }
        kind::GOAWAY => {
            let last_stream = number(0) & super::MAX_STREAM_ID;
            FrameEvent::GoAway {
                last_stream,
                code: ErrorCode(number(4)),
                debug: payload.get(8..).unwrap_or(&[]),
            }
        }
        _ => FrameEvent::WindowUpdate { stream, increment: number(0) & super::MAX_WINDOW },
    })
}
