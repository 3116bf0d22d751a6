//! The violations of HTTP/3 by a server, and the error codes sent for them (RFC 9114 §8, RFC 9204 §6).
//!
//! The codec returns these errors; the engine resets the stream or closes the connection with the code and shows the
//! text. Error codes received from the server are data, not an error here.

use super::qpack::QpackError;
use crate::h2::MalformedResponse;
use std::fmt;

/// An error code of RESET_STREAM, STOP_SENDING and CONNECTION_CLOSE, including unknown ones (RFC 9114 §8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u64);

impl ErrorCode {
    /// The connection or stream is closed without an error.
    pub const NO_ERROR: Self = Self(0x100);
    /// An unspecific protocol error.
    pub const GENERAL_PROTOCOL_ERROR: Self = Self(0x101);
    /// A stream that must not be opened.
    pub const STREAM_CREATION_ERROR: Self = Self(0x103);
    /// A stream was closed on which the connection depends.
    pub const CLOSED_CRITICAL_STREAM: Self = Self(0x104);
    /// A frame that is not allowed on its stream, or at this point of it.
    pub const FRAME_UNEXPECTED: Self = Self(0x105);
    /// A frame with an invalid layout or size.
    pub const FRAME_ERROR: Self = Self(0x106);
    /// The peer generates too much load.
    pub const EXCESSIVE_LOAD: Self = Self(0x107);
    /// A stream id or push id that is invalid.
    pub const ID_ERROR: Self = Self(0x108);
    /// An invalid setting.
    pub const SETTINGS_ERROR: Self = Self(0x109);
    /// The control stream does not begin with SETTINGS.
    pub const MISSING_SETTINGS: Self = Self(0x10a);
    /// Refused before any processing: safe to retry.
    pub const REQUEST_REJECTED: Self = Self(0x10b);
    /// The request or its response is no longer needed.
    pub const REQUEST_CANCELLED: Self = Self(0x10c);
    /// A malformed request or response.
    pub const MESSAGE_ERROR: Self = Self(0x10e);
    /// A field section that cannot be decoded.
    pub const QPACK_DECOMPRESSION_FAILED: Self = Self(0x200);
    /// An invalid instruction on the encoder's stream.
    pub const QPACK_ENCODER_STREAM_ERROR: Self = Self(0x201);
    /// An invalid instruction on the decoder's stream.
    pub const QPACK_DECODER_STREAM_ERROR: Self = Self(0x202);

    /// The name in RFC 9114 §8.1 or RFC 9204 §6, if it has one.
    pub fn name(self) -> Option<&'static str> {
        const NAMES: [&str; 17] = [
            "H3_NO_ERROR",
            "H3_GENERAL_PROTOCOL_ERROR",
            "H3_INTERNAL_ERROR",
            "H3_STREAM_CREATION_ERROR",
            "H3_CLOSED_CRITICAL_STREAM",
            "H3_FRAME_UNEXPECTED",
            "H3_FRAME_ERROR",
            "H3_EXCESSIVE_LOAD",
            "H3_ID_ERROR",
            "H3_SETTINGS_ERROR",
            "H3_MISSING_SETTINGS",
            "H3_REQUEST_REJECTED",
            "H3_REQUEST_CANCELLED",
            "H3_REQUEST_INCOMPLETE",
            "H3_MESSAGE_ERROR",
            "H3_CONNECT_ERROR",
            "H3_VERSION_FALLBACK",
        ];
        match self.0 {
            0x200 => Some("QPACK_DECOMPRESSION_FAILED"),
            0x201 => Some("QPACK_ENCODER_STREAM_ERROR"),
            0x202 => Some("QPACK_DECODER_STREAM_ERROR"),
            code => NAMES.get(usize::try_from(code.checked_sub(0x100)?).ok()?).copied(),
        }
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

/// A frame type for messages (RFC 9114 §7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameName(pub u64);

impl fmt::Display for FrameName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            0 => "DATA",
            1 => "HEADERS",
            3 => "CANCEL_PUSH",
            4 => "SETTINGS",
            5 => "PUSH_PROMISE",
            7 => "GOAWAY",
            0xd => "MAX_PUSH_ID",
            kind => return write!(f, "type {kind:#x}"),
        })
    }
}

/// A violation by a server. [`Http3Error::is_stream_error`] says whether the connection can go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Http3Error {
    /// A frame on a stream, or at a point of it, where it is not allowed (RFC 9114 §7).
    #[error("HTTP/3 {frame} frame where it is not allowed")]
    UnexpectedFrame {
        /// Its type.
        frame: FrameName,
    },
    /// A frame of a length that its type does not allow (RFC 9114 §7.1).
    #[error("HTTP/3 {frame} frame of an invalid length or layout")]
    FrameLayout {
        /// Its type.
        frame: FrameName,
    },
    /// The stream ended inside a frame (RFC 9114 §7.1).
    #[error("the stream ended inside an HTTP/3 {frame} frame")]
    Truncated {
        /// Its type.
        frame: FrameName,
    },
    /// The control stream begins with another frame (RFC 9114 §6.2.1).
    #[error("the HTTP/3 control stream begins with {frame}, not with SETTINGS")]
    MissingSettings {
        /// The type of the first frame.
        frame: FrameName,
    },
    /// A setting of HTTP/2, or one that occurs twice (RFC 9114 §7.2.4.1).
    #[error("invalid HTTP/3 setting {setting:#x}")]
    Setting {
        /// Its identifier.
        setting: u64,
    },
    /// A push, which no MAX_PUSH_ID has allowed (RFC 9114 §7.2.7).
    #[error("HTTP/3 server push, although none is allowed")]
    Push,
    /// A second control, encoder or decoder stream (RFC 9114 §6.2.1, RFC 9204 §4.2).
    #[error("a second HTTP/3 {0} stream")]
    SecondStream(&'static str),
    /// A bidirectional stream of the server (RFC 9114 §6.1).
    #[error("the server opened a bidirectional stream, which HTTP/3 does not have")]
    ServerStream,
    /// The server ended its control, encoder or decoder stream (RFC 9114 §6.2.1, RFC 9204 §4.2).
    #[error("the server closed an HTTP/3 stream that must stay open")]
    ClosedCriticalStream,
    /// GOAWAY with an id that no request has, or a higher one than before (RFC 9114 §5.2).
    #[error("HTTP/3 GOAWAY with the invalid stream id {id}")]
    GoAwayId {
        /// The id.
        id: u64,
    },
    /// An instruction that needs the dynamic table, whose capacity is 0 (RFC 9204 §3.2.3).
    #[error("HTTP/3 header compression: an instruction for the dynamic table, which has no room")]
    EncoderStream,
    /// Instructions on the decoder's stream other than Stream Cancellation, although no section refers to the dynamic
    /// table (RFC 9204 §4.4).
    #[error("HTTP/3 header compression: an acknowledgement of the dynamic table, which is not used")]
    DecoderStream,
    /// A field section that cannot be decoded (RFC 9204 §6).
    #[error("HTTP/3 header compression error: {0}")]
    Compression(#[from] QpackError),
    /// A field section over [`super::MAX_FIELD_SECTION_BYTES`].
    #[error("HTTP/3 field section of {length} bytes; the maximum is {limit}")]
    FieldSectionTooLong {
        /// Its length.
        length: u64,
        /// The limit.
        limit: usize,
    },
    /// More frames without effect on one stream than any server needs to send, with none that has one between them.
    #[error("more than {limit} HTTP/3 frames without effect")]
    Flood {
        /// The limit.
        limit: u32,
    },
    /// A malformed response (RFC 9114 §4.1.2). It ends the stream, not the connection.
    #[error("malformed HTTP/3 response: {0}")]
    Response(#[from] MalformedResponse),
}

impl Http3Error {
    /// The code for RESET_STREAM, STOP_SENDING or CONNECTION_CLOSE.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::UnexpectedFrame { .. } => ErrorCode::FRAME_UNEXPECTED,
            Self::FrameLayout { .. } | Self::Truncated { .. } => ErrorCode::FRAME_ERROR,
            Self::MissingSettings { .. } => ErrorCode::MISSING_SETTINGS,
            Self::Setting { .. } => ErrorCode::SETTINGS_ERROR,
            Self::Push | Self::GoAwayId { .. } => ErrorCode::ID_ERROR,
            Self::SecondStream(_) | Self::ServerStream => ErrorCode::STREAM_CREATION_ERROR,
            Self::ClosedCriticalStream => ErrorCode::CLOSED_CRITICAL_STREAM,
            Self::EncoderStream => ErrorCode::QPACK_ENCODER_STREAM_ERROR,
            Self::DecoderStream => ErrorCode::QPACK_DECODER_STREAM_ERROR,
            Self::Compression(_) => ErrorCode::QPACK_DECOMPRESSION_FAILED,
            Self::FieldSectionTooLong { .. } | Self::Flood { .. } => ErrorCode::EXCESSIVE_LOAD,
            Self::Response(_) => ErrorCode::MESSAGE_ERROR,
        }
    }

    /// Whether the error ends only the stream; otherwise it ends the connection.
    pub fn is_stream_error(&self) -> bool {
        matches!(self, Self::Response(_) | Self::FieldSectionTooLong { .. })
    }
}
