//! Reads the frames of a stream (RFC 9114 §7), in pieces of any size.
//!
//! Payloads of DATA are passed on as they come; other payloads that matter are passed on whole, from where they were
//! received if they came in one piece. Frames of unknown types are skipped (RFC 9114 §9).

use super::error::{FrameName, Http3Error};
use super::frame::{SettingsPayload, StreamKind, kind};
use super::varint::{VARINT_BYTES, read_varint, varint_length};

/// The maximum length of a field section. The same limit as for a head of HTTP/1.1.
pub const MAX_FIELD_SECTION_BYTES: usize = crate::MAX_HEAD_BYTES;

/// The maximum length of other payloads that are read whole: real SETTINGS have some tens of bytes.
const MAX_CONTROL_BYTES: usize = 4096;

/// The maximum length of a frame's type and length.
const HEAD_BYTES: usize = 2 * VARINT_BYTES;

/// The maximum number of frames in a row that are empty, or of unknown types: more is a flood.
const MAX_IDLE_FRAMES: u32 = 10_000;

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameEvent<'b> {
    /// All of the input was consumed.
    NeedMore,
    /// A field section: the payload of HEADERS.
    FieldSection(&'b [u8]),
    /// A piece of the payload of DATA, with which the frame ends or not.
    Data {
        /// The bytes, possibly none.
        piece: &'b [u8],
        /// Whether the frame ends here.
        end_frame: bool,
    },
    /// SETTINGS, which are valid.
    Settings(SettingsPayload<'b>),
    /// GOAWAY: no request from this stream id on is processed.
    GoAway(u64),
}

/// The stream whose frames are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamRole {
    Request,
    /// The server's control stream, and whether its SETTINGS have come.
    Control {
        has_settings: bool,
    },
}

/// Reads the frames of one stream.
#[derive(Debug)]
pub struct FrameReader {
    role: StreamRole,
    /// The frame whose payload is read; none between frames.
    frame: Option<Payload>,
    /// The beginning of a frame's type and length, in the first `head_len` bytes.
    head: [u8; HEAD_BYTES],
    head_len: u8,
    /// The beginning of a payload that has to be whole.
    partial: Vec<u8>,
    /// Whether that payload became whole and was passed on.
    is_partial_read: bool,
    /// Frames without effect since the last one that had one.
    idle_frames: u32,
}

#[derive(Clone, Copy, Debug)]
struct Payload {
    kind: u64,
    left: u64,
}

impl FrameReader {
    /// A reader at the beginning of a response.
    pub fn request() -> Self {
        Self::new(StreamRole::Request)
    }

    /// A reader of the server's control stream, after its type.
    pub fn control() -> Self {
        Self::new(StreamRole::Control { has_settings: false })
    }

    fn new(role: StreamRole) -> Self {
        Self {
            role,
            frame: None,
            head: [0; HEAD_BYTES],
            head_len: 0,
            partial: Vec::new(),
            is_partial_read: false,
            idle_frames: 0,
        }
    }

    /// Returns to the beginning of a response, and keeps the memory.
    #[inline]
    pub fn restart(&mut self) {
        (self.frame, self.head_len, self.is_partial_read, self.idle_frames) = (None, 0, false, 0);
        self.partial.clear();
    }

    /// Reads some of the input; returns the event and the number of bytes consumed. Call it again with the remaining
    /// input until that is empty.
    ///
    /// # Errors
    /// A frame that is not allowed, or is invalid.
    #[inline]
    pub fn next<'b>(&'b mut self, input: &'b [u8]) -> Result<(FrameEvent<'b>, usize), Http3Error> {
        let mut taken = 0;
        loop {
            if self.frame.is_none() {
                match self.read_head(&input[taken..]) {
                    (None, bytes) => return Ok((FrameEvent::NeedMore, taken + bytes)),
                    (Some(head), bytes) => {
                        taken += bytes;
                        self.begin(head)?;
                    }
                }
            }
            let Some(Payload { kind, left }) = self.frame else { continue };
            let rest = &input[taken..];
            let length = left.min(rest.len() as u64) as usize;
            let piece = &rest[..length];
            let is_whole = length as u64 == left;
            if kind == kind::DATA {
                self.frame = (!is_whole).then_some(Payload { kind, left: left - length as u64 });
                if piece.is_empty() && !is_whole {
                    return Ok((FrameEvent::NeedMore, taken));
                }
                return Ok((FrameEvent::Data { piece, end_frame: is_whole }, taken + length));
            }
            taken += length;
            self.frame = (!is_whole).then_some(Payload { kind, left: left - length as u64 });
            if !is_known(kind) {
                if is_whole && taken < input.len() {
                    continue;
                }
                return Ok((FrameEvent::NeedMore, taken));
            }
            if !is_whole {
                self.partial.extend_from_slice(piece);
                return Ok((FrameEvent::NeedMore, taken));
            }
            if self.partial.is_empty() {
                return Self::whole(kind, piece, &mut self.role).map(|event| (event, taken));
            }
            self.partial.extend_from_slice(piece);
            let event = Self::whole(kind, &self.partial, &mut self.role)?;
            self.is_partial_read = true;
            return Ok((event, taken));
        }
    }

    /// The stream has ended.
    ///
    /// # Errors
    /// It ended inside a frame.
    pub fn end(&self) -> Result<(), Http3Error> {
        match self.frame {
            Some(Payload { kind, .. }) => Err(Http3Error::Truncated { frame: FrameName(kind) }),
            None if self.head_len == 0 => Ok(()),
            None => Err(Http3Error::Truncated { frame: FrameName(u64::from(self.head[0])) }),
        }
    }

    /// Whether no part of a frame has been read that is not complete.
    #[inline]
    pub fn is_between_frames(&self) -> bool {
        self.frame.is_none() && self.head_len == 0
    }

    /// Reads the type and length of a frame; none if the input ends inside them. Returns also the number of bytes
    /// consumed.
    #[inline]
    fn read_head(&mut self, input: &[u8]) -> (Option<Payload>, usize) {
        if std::mem::take(&mut self.is_partial_read) {
            self.partial.clear();
        }
        if self.head_len == 0
            && let Some((kind, first)) = read_varint(input)
            && let Some((left, second)) = read_varint(&input[first..])
        {
            return (Some(Payload { kind, left }), first + second);
        }
        let mut taken = 0;
        for byte in input {
            self.head[usize::from(self.head_len)] = *byte;
            self.head_len += 1;
            taken += 1;
            let head = &self.head[..usize::from(self.head_len)];
            let first = varint_length(head[0]);
            if let Some((kind, _)) = read_varint(head)
                && let Some((left, _)) = read_varint(&head[first..])
            {
                self.head_len = 0;
                return (Some(Payload { kind, left }), taken);
            }
        }
        (None, taken)
    }

    /// Begins a frame, if it is allowed here.
    fn begin(&mut self, frame: Payload) -> Result<(), Http3Error> {
        let Payload { kind, left } = frame;
        let name = FrameName(kind);
        let is_allowed = match self.role {
            StreamRole::Request => match kind {
                kind::DATA | kind::HEADERS => true,
                kind::PUSH_PROMISE => return Err(Http3Error::Push),
                kind::CANCEL_PUSH | kind::SETTINGS | kind::GOAWAY | kind::MAX_PUSH_ID => false,
                kind => !kind::OF_HTTP2.contains(&kind),
            },
            StreamRole::Control { has_settings: false } if kind != kind::SETTINGS => {
                return Err(Http3Error::MissingSettings { frame: name });
            }
            StreamRole::Control { has_settings } => match kind {
                kind::SETTINGS => !has_settings,
                kind::GOAWAY => true,
                kind::CANCEL_PUSH => return Err(Http3Error::Push),
                kind::DATA | kind::HEADERS | kind::PUSH_PROMISE | kind::MAX_PUSH_ID => false,
                kind => !kind::OF_HTTP2.contains(&kind),
            },
        };
        if !is_allowed {
            return Err(Http3Error::UnexpectedFrame { frame: name });
        }
        if kind == kind::HEADERS && left > MAX_FIELD_SECTION_BYTES as u64 {
            return Err(Http3Error::FieldSectionTooLong { length: left, limit: MAX_FIELD_SECTION_BYTES });
        }
        if matches!(kind, kind::SETTINGS | kind::GOAWAY) && left > MAX_CONTROL_BYTES as u64 {
            return Err(Http3Error::FrameLayout { frame: name });
        }
        if left > 0 && is_known(kind) {
            self.idle_frames = 0;
        } else {
            self.idle_frames += 1;
            if self.idle_frames > MAX_IDLE_FRAMES {
                return Err(Http3Error::Flood { limit: MAX_IDLE_FRAMES });
            }
        }
        self.frame = Some(frame);
        Ok(())
    }

    /// The event of a whole payload.
    #[inline]
    fn whole<'b>(kind: u64, payload: &'b [u8], role: &mut StreamRole) -> Result<FrameEvent<'b>, Http3Error> {
        match kind {
            kind::HEADERS => Ok(FrameEvent::FieldSection(payload)),
            kind::SETTINGS => {
                let settings = SettingsPayload::new(payload).map_err(|setting| match setting {
                    Some(setting) => Http3Error::Setting { setting },
                    None => Http3Error::FrameLayout { frame: FrameName(kind) },
                })?;
                *role = StreamRole::Control { has_settings: true };
                Ok(FrameEvent::Settings(settings))
            }
            kind => match read_varint(payload) {
                Some((id, length)) if length == payload.len() => Ok(FrameEvent::GoAway(id)),
                _ => Err(Http3Error::FrameLayout { frame: FrameName(kind) }),
            },
        }
    }
}

/// Whether a frame that is allowed has a meaning here.
fn is_known(kind: u64) -> bool {
    matches!(kind, kind::DATA | kind::HEADERS | kind::SETTINGS | kind::GOAWAY)
}

/// The maximum number of bytes of the integer of an instruction before its last one: 62 bits (RFC 9204 §4.1.1).
const MAX_INTEGER_BYTES: u8 = 9;

/// Reads the instructions of a server's QPACK decoder. Requests refer to no dynamic table, so only Stream Cancellation
/// may come, with which a server reports that it reads no more of a request, for example of one that was reset (RFC
/// 9204 §2.2.2.2, §4.4.2). It has no meaning without the table.
#[derive(Clone, Copy, Debug, Default)]
pub struct DecoderStreamReader {
    /// Bytes so far of an instruction that is incomplete.
    length: u8,
}

impl DecoderStreamReader {
    /// Reads some bytes.
    ///
    /// # Errors
    /// Another instruction, or an invalid one.
    pub fn read(&mut self, input: &[u8]) -> Result<(), Http3Error> {
        for byte in input {
            self.length = match (self.length, *byte) {
                (0, 0x40..0x7f) => 0,
                (0, 0x7f) => 1,
                (1..=MAX_INTEGER_BYTES, 0..0x80) => 0,
                (length @ 1..=MAX_INTEGER_BYTES, _) => length + 1,
                _ => return Err(Http3Error::DecoderStream),
            };
        }
        Ok(())
    }
}

/// Reads the type at the beginning of a unidirectional stream (RFC 9114 §6.2).
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamKindReader {
    bytes: [u8; VARINT_BYTES],
    length: u8,
}

impl StreamKindReader {
    /// Reads some of the input, at most the type; returns it once it is complete, and the number of bytes consumed.
    pub fn next(&mut self, input: &[u8]) -> (Option<StreamKind>, usize) {
        for (at, byte) in input.iter().enumerate() {
            self.bytes[usize::from(self.length)] = *byte;
            self.length += 1;
            if let Some((id, _)) = read_varint(&self.bytes[..usize::from(self.length)]) {
                return (Some(StreamKind::from_id(id)), at + 1);
            }
        }
        (None, input.len())
    }
}
