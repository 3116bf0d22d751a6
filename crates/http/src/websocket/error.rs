//! The violations of RFC 6455 by a server, and the codes with which a connection is closed (§7.4).

use std::fmt;

/// A status code of a Close frame, including unknown ones (RFC 6455 §7.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CloseCode(pub u16);

impl CloseCode {
    /// The purpose of the connection is fulfilled.
    pub const NORMAL: Self = Self(1000);
    /// The server goes down.
    pub const GOING_AWAY: Self = Self(1001);
    /// A violation of the protocol.
    pub const PROTOCOL_ERROR: Self = Self(1002);
    /// The Close frame had no code. Never sent (§7.4.1).
    pub const NO_STATUS: Self = Self(1005);
    /// A text message is not UTF-8.
    pub const INVALID_DATA: Self = Self(1007);

    /// The name in IANA's registry of close codes, if it has one.
    pub fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            1000 => "normal closure",
            1001 => "going away",
            1002 => "protocol error",
            1003 => "unsupported data",
            1005 => "no code",
            1007 => "invalid data",
            1008 => "policy violation",
            1009 => "message too big",
            1010 => "extension required",
            1011 => "internal error",
            1012 => "service restart",
            1013 => "try again later",
            1014 => "bad gateway",
            _ => return None,
        })
    }

    /// Whether the connection was closed without an error: a message that was not answered may be sent again.
    pub fn is_normal(self) -> bool {
        matches!(self, Self::NORMAL | Self::GOING_AWAY | Self::NO_STATUS)
    }

    /// Whether a Close frame may carry it (§7.4.1, §7.4.2).
    pub(super) fn may_be_sent(self) -> bool {
        matches!(self.0, 1000..=1003 | 1007..=1014 | 3000..=4999)
    }
}

impl fmt::Display for CloseCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{} ({name})", self.0),
            None => write!(f, "{}", self.0),
        }
    }
}

/// A violation of RFC 6455 by a server. The connection is closed with [`WebSocketError::close_code`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebSocketError {
    /// A reserved bit is set although no extension was agreed on (§5.2).
    #[error("a frame has a reserved bit (first byte {0:#04x}), but no extension was agreed on")]
    ReservedBit(u8),
    /// An opcode that is not defined (§5.2).
    #[error("a frame has the undefined opcode {0:#x}")]
    Opcode(u8),
    /// A frame of a server is masked (§5.1).
    #[error("a frame of the server is masked")]
    Masked,
    /// A length is not in its shortest form (§5.2).
    #[error("the length {0} of a frame is not in its shortest form")]
    LengthForm(u64),
    /// A length of 2^63 bytes or more (§5.2).
    #[error("the length of a frame exceeds 63 bits")]
    Length,
    /// A control frame with more than 125 bytes (§5.5).
    #[error("a control frame has {0} bytes instead of at most 125")]
    ControlTooLong(u64),
    /// A fragment of a control frame (§5.5).
    #[error("a control frame is fragmented")]
    ControlFragment,
    /// A continuation without a message (§5.4).
    #[error("a continuation frame follows no fragment of a message")]
    Continuation,
    /// A message begins before the last one ended (§5.4).
    #[error("a message begins in the middle of another one")]
    Interleaved,
    /// A text message that is not UTF-8 (§8.1).
    #[error("a text message is not valid UTF-8")]
    Text,
    /// A Close frame with half a code (§5.5.1).
    #[error("a Close frame has 1 byte, half of a close code")]
    CloseLength,
    /// A Close frame with a code that must not be sent (§7.4).
    #[error("a Close frame has the invalid close code {0}")]
    CloseCode(u16),
    /// The reason in a Close frame is not UTF-8 (§5.5.1).
    #[error("the reason in a Close frame is not valid UTF-8")]
    CloseReason,
}

impl WebSocketError {
    /// The code with which the connection is closed (§7.4.1).
    pub fn close_code(&self) -> CloseCode {
        match self {
            WebSocketError::Text | WebSocketError::CloseReason => CloseCode::INVALID_DATA,
            _ => CloseCode::PROTOCOL_ERROR,
        }
    }
}
