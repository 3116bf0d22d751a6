//! The violations of HTTP/2 by a peer, and the error codes sent for them (RFC 9113 §5.4, §7).
//!
//! The codec returns these errors; the engine resets the stream or closes the connection with the code and shows the
//! text. Error codes received from the server are data, not an error here.

use super::hpack::HpackError;
use std::fmt;

/// The setting whose invalid value is a flow-control error (RFC 9113 §6.5.2).
pub(super) const INITIAL_WINDOW_SIZE_NAME: &str = "SETTINGS_INITIAL_WINDOW_SIZE";

/// An error code of RST_STREAM and GOAWAY, including unknown ones (RFC 9113 §7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// Graceful shutdown, or a stream that is no longer needed.
    pub const NO_ERROR: Self = Self(0);
    /// An unspecific protocol error.
    pub const PROTOCOL_ERROR: Self = Self(1);
    /// An unexpected internal error of the peer.
    pub const INTERNAL_ERROR: Self = Self(2);
    /// Flow control violated.
    pub const FLOW_CONTROL_ERROR: Self = Self(3);
    /// SETTINGS not acknowledged in time.
    pub const SETTINGS_TIMEOUT: Self = Self(4);
    /// A frame for a stream that is half closed.
    pub const STREAM_CLOSED: Self = Self(5);
    /// A frame of an invalid size.
    pub const FRAME_SIZE_ERROR: Self = Self(6);
    /// Refused before any processing: safe to retry.
    pub const REFUSED_STREAM: Self = Self(7);
    /// The stream is no longer needed.
    pub const CANCEL: Self = Self(8);
    /// The header compression state is lost.
    pub const COMPRESSION_ERROR: Self = Self(9);
    /// The connection of a CONNECT request was reset.
    pub const CONNECT_ERROR: Self = Self(10);
    /// The peer generates too much load.
    pub const ENHANCE_YOUR_CALM: Self = Self(11);
    /// The transport's security is too weak.
    pub const INADEQUATE_SECURITY: Self = Self(12);
    /// The request must be sent with HTTP/1.1.
    pub const HTTP_1_1_REQUIRED: Self = Self(13);

    /// The name in RFC 9113 §7, if it has one.
    pub fn name(self) -> Option<&'static str> {
        const NAMES: [&str; 14] = [
            "NO_ERROR",
            "PROTOCOL_ERROR",
            "INTERNAL_ERROR",
            "FLOW_CONTROL_ERROR",
            "SETTINGS_TIMEOUT",
            "STREAM_CLOSED",
            "FRAME_SIZE_ERROR",
            "REFUSED_STREAM",
            "CANCEL",
            "COMPRESSION_ERROR",
            "CONNECT_ERROR",
            "ENHANCE_YOUR_CALM",
            "INADEQUATE_SECURITY",
            "HTTP_1_1_REQUIRED",
        ];
        NAMES.get(self.0 as usize).copied()
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "error code {:#x}", self.0),
        }
    }
}

/// A frame type for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameName(pub u8);

impl fmt::Display for FrameName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 10] = [
            "DATA",
            "HEADERS",
            "PRIORITY",
            "RST_STREAM",
            "SETTINGS",
            "PUSH_PROMISE",
            "PING",
            "GOAWAY",
            "WINDOW_UPDATE",
            "CONTINUATION",
        ];
        match NAMES.get(usize::from(self.0)) {
            Some(name) => f.write_str(name),
            None => write!(f, "type {:#x}", self.0),
        }
    }
}

/// A violation by a peer. [`Http2Error::is_stream_error`] says whether the connection can go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Http2Error {
    /// The first frame is not SETTINGS (RFC 9113 §3.4).
    #[error("the server does not speak HTTP/2: it begins \"{excerpt}\"{peer}")]
    NotHttp2 {
        /// The first bytes.
        excerpt: String,
        /// The protocol that they look like.
        peer: crate::PeerProtocol,
    },
    /// The peer closed inside a frame or a field block.
    #[error("the connection closed inside an HTTP/2 frame")]
    Truncated,
    /// A frame over our SETTINGS_MAX_FRAME_SIZE (RFC 9113 §4.2).
    #[error("HTTP/2 {frame} frame of {length} bytes; the maximum is {limit}")]
    FrameTooLong {
        /// Its type.
        frame: FrameName,
        /// Its length.
        length: u32,
        /// The limit.
        limit: u32,
    },
    /// A frame of a length that its type does not allow (RFC 9113 §6).
    #[error("HTTP/2 {frame} frame of length {length}; {expected}")]
    FrameLength {
        /// Its type.
        frame: FrameName,
        /// Its length.
        length: u32,
        /// The valid values.
        expected: &'static str,
    },
    /// A stream frame on stream 0, or a connection frame on a stream (RFC 9113 §6).
    #[error("HTTP/2 {frame} frame on stream {stream}, where it is not allowed")]
    WrongStream {
        /// Its type.
        frame: FrameName,
        /// Its stream.
        stream: u32,
    },
    /// A frame on a stream that was never opened (RFC 9113 §5.1).
    #[error("HTTP/2 {frame} frame on stream {stream}, which was never opened")]
    IdleStream {
        /// Its type.
        frame: FrameName,
        /// Its stream.
        stream: u32,
    },
    /// HEADERS or DATA on a stream after its END_STREAM (RFC 9113 §5.1).
    #[error("HTTP/2 {frame} frame on stream {stream}, whose response had ended")]
    ClosedStream {
        /// Its type.
        frame: FrameName,
        /// Its stream.
        stream: u32,
    },
    /// More padding than payload (RFC 9113 §6.1).
    #[error("HTTP/2 {frame} frame with more padding than payload")]
    Padding {
        /// Its type.
        frame: FrameName,
    },
    /// A push, which our SETTINGS_ENABLE_PUSH of 0 forbids (RFC 9113 §8.4).
    #[error("HTTP/2 PUSH_PROMISE, although server push is disabled")]
    Push,
    /// Another frame inside a field block (RFC 9113 §6.10).
    #[error("HTTP/2 {frame} frame on stream {stream} inside the field block of stream {expected}")]
    InsideFieldBlock {
        /// Its type.
        frame: FrameName,
        /// Its stream.
        stream: u32,
        /// The stream for which a CONTINUATION is required.
        expected: u32,
    },
    /// CONTINUATION without a field block (RFC 9113 §6.10).
    #[error("HTTP/2 CONTINUATION frame on stream {stream} without HEADERS before it")]
    Continuation {
        /// Its stream.
        stream: u32,
    },
    /// A field block over [`super::MAX_FIELD_BLOCK_BYTES`].
    #[error("HTTP/2 field block of more than {limit} bytes")]
    FieldBlockTooLong {
        /// The limit.
        limit: usize,
    },
    /// A field block in more than [`super::MAX_CONTINUATIONS`] pieces.
    #[error("HTTP/2 field block in more than {limit} CONTINUATION frames")]
    TooManyContinuations {
        /// The limit.
        limit: u8,
    },
    /// A field block that cannot be decoded (RFC 9113 §4.3).
    #[error("HTTP/2 header compression error: {0}")]
    Compression(#[from] HpackError),
    /// WINDOW_UPDATE by 0 (RFC 9113 §6.9).
    #[error("HTTP/2 WINDOW_UPDATE with an increment of 0 on stream {stream}")]
    ZeroIncrement {
        /// Its stream; 0 is the connection.
        stream: u32,
    },
    /// A window of more than 2^31-1 bytes (RFC 9113 §6.9.1).
    #[error("HTTP/2 flow-control window over 2^31-1 bytes on stream {stream}")]
    WindowOverflow {
        /// Its stream; 0 is the connection.
        stream: u32,
    },
    /// More DATA than our window allowed (RFC 9113 §6.9).
    #[error("HTTP/2 DATA over the flow-control window on stream {stream}")]
    WindowExceeded {
        /// Its stream; 0 is the connection.
        stream: u32,
    },
    /// A setting out of range (RFC 9113 §6.5.2).
    #[error("HTTP/2 {setting} of {value}; {expected}")]
    Setting {
        /// The setting's name.
        setting: &'static str,
        /// Its value.
        value: u32,
        /// The valid values.
        expected: &'static str,
    },
    /// Only frames without effect, [`super::MAX_IDLE_FRAMES`] in sequence.
    #[error(
        "HTTP/2 flood: {limit} SETTINGS, PING, WINDOW_UPDATE or other frames in a row, while no byte of a request or response moved"
    )]
    Flood {
        /// The limit.
        limit: u16,
    },
    /// A malformed response (RFC 9113 §8.1.1). It ends the stream, not the connection.
    #[error("malformed HTTP/2 response: {0}")]
    Response(MalformedResponse),
}

/// Why a response's fields or body are malformed (RFC 9113 §8).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedResponse {
    /// No `:status` (RFC 9113 §8.3.2).
    #[error("no :status field")]
    NoStatus,
    /// A `:status` that is not three digits, is below 100, or is given twice.
    #[error("invalid :status")]
    Status,
    /// 101, which HTTP/2 and HTTP/3 do not have (RFC 9113 §8.6, RFC 9114 §4.5).
    #[error("status 101 exists only in HTTP/1.1")]
    Upgrade,
    /// A pseudo-header field that responses do not have, or one after a regular field (RFC 9113 §8.3).
    #[error("pseudo-header field \"{name}\" is not allowed here")]
    PseudoField {
        /// Its name.
        name: String,
    },
    /// A field name with an upper-case letter or another invalid byte (RFC 9113 §8.2.1).
    #[error("invalid field name \"{name}\"")]
    FieldName {
        /// Its name.
        name: String,
    },
    /// A field value with NUL, CR, LF, or a blank at its start or end (RFC 9113 §8.2.1).
    #[error("invalid value of field \"{name}\"")]
    FieldValue {
        /// The field's name.
        name: String,
    },
    /// A connection-specific field of HTTP/1.1 (RFC 9113 §8.2.2).
    #[error("field \"{name}\" is allowed only in HTTP/1.1")]
    ConnectionField {
        /// Its name.
        name: String,
    },
    /// An invalid `Content-Length`, or two different ones.
    #[error("invalid content-length")]
    ContentLength,
    /// DATA that does not add up to `Content-Length` (RFC 9113 §8.1.1).
    #[error("content-length {announced}, but the length of the body is {received}{}", more(*.received > *.announced))]
    BodyLength {
        /// The length announced.
        announced: u64,
        /// The length received; if it is more than announced, the length so far.
        received: u64,
    },
    /// DATA in the response to HEAD, which has no body (RFC 9110 §9.3.2).
    #[error("DATA in the response to a HEAD request")]
    BodyOfHead,
    /// DATA in a response whose status has no body (RFC 9110 §6.4.1).
    #[error("DATA in a response with status {status}, which has no body")]
    BodyOfStatus {
        /// 204 or 304.
        status: u16,
    },
    /// Fields over [`super::MAX_HEADER_LIST_BYTES`].
    #[error("header list of {size} bytes; the maximum is {limit}")]
    HeaderListTooLong {
        /// Its size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// Trailers that do not end the stream, or an interim response that does (RFC 9113 §8.1).
    #[error("{0}")]
    Order(&'static str),
}

fn more(is_more: bool) -> &'static str {
    if is_more { " or more" } else { "" }
}

impl Http2Error {
    /// The error for a peer whose first bytes are not a SETTINGS frame.
    #[cold]
    pub(super) fn not_http2(bytes: &[u8]) -> Self {
        Self::NotHttp2 { excerpt: crate::syntax::excerpt(bytes), peer: crate::PeerProtocol::recognise(bytes) }
    }

    /// The code for RST_STREAM or GOAWAY.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::FrameTooLong { .. } | Self::FrameLength { .. } => ErrorCode::FRAME_SIZE_ERROR,
            Self::Compression(_) => ErrorCode::COMPRESSION_ERROR,
            Self::WindowOverflow { .. } | Self::WindowExceeded { .. } => ErrorCode::FLOW_CONTROL_ERROR,
            Self::Setting { setting: INITIAL_WINDOW_SIZE_NAME, .. } => ErrorCode::FLOW_CONTROL_ERROR,
            Self::FieldBlockTooLong { .. } | Self::TooManyContinuations { .. } | Self::Flood { .. } => {
                ErrorCode::ENHANCE_YOUR_CALM
            }
            Self::ClosedStream { .. } => ErrorCode::STREAM_CLOSED,
            Self::NotHttp2 { .. }
            | Self::Truncated
            | Self::WrongStream { .. }
            | Self::IdleStream { .. }
            | Self::Padding { .. }
            | Self::Push
            | Self::InsideFieldBlock { .. }
            | Self::Continuation { .. }
            | Self::ZeroIncrement { .. }
            | Self::Setting { .. }
            | Self::Response(_) => ErrorCode::PROTOCOL_ERROR,
        }
    }

    /// Whether the error ends only the stream (RST_STREAM); otherwise it ends the connection (GOAWAY).
    pub fn is_stream_error(&self) -> bool {
        match self {
            Self::Response(_) => true,
            Self::ZeroIncrement { stream } | Self::WindowOverflow { stream } => *stream != 0,
            _ => false,
        }
    }
}
