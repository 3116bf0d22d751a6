//! Writes the frames of a client (RFC 6455 §5.2).

use super::mask::mask;

/// The maximum length of the head of a frame, with its masking key.
pub const MAX_FRAME_HEAD_BYTES: usize = 14;
/// The maximum length of the payload of a control frame (§5.5).
pub const MAX_CONTROL_BYTES: usize = 125;

/// The bit of the last frame of a message.
pub(super) const FIN: u8 = 0x80;
/// The bits that only extensions use.
pub(super) const RESERVED: u8 = 0x70;
/// The bit of a masked frame, beside its length.
pub(super) const MASKED: u8 = 0x80;
/// The length that announces one of 16 bits.
pub(super) const LENGTH_16: u8 = 126;
/// The length that announces one of 64 bits.
pub(super) const LENGTH_64: u8 = 127;

/// The type of a frame (§5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// A further fragment of a message.
    Continuation,
    /// A text message, or its first fragment.
    Text,
    /// A binary message, or its first fragment.
    Binary,
    /// The connection is closed.
    Close,
    /// A Pong must follow.
    Ping,
    /// The answer to a Ping, or a heartbeat.
    Pong,
}

impl Opcode {
    /// The opcode of a number, if it is defined.
    pub fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            0 => Opcode::Continuation,
            1 => Opcode::Text,
            2 => Opcode::Binary,
            8 => Opcode::Close,
            9 => Opcode::Ping,
            10 => Opcode::Pong,
            _ => return None,
        })
    }

    fn number(self) -> u8 {
        match self {
            Opcode::Continuation => 0,
            Opcode::Text => 1,
            Opcode::Binary => 2,
            Opcode::Close => 8,
            Opcode::Ping => 9,
            Opcode::Pong => 10,
        }
    }

    /// Whether it is a control frame (§5.5).
    pub(super) fn is_control(self) -> bool {
        matches!(self, Opcode::Close | Opcode::Ping | Opcode::Pong)
    }
}

/// The type of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageType {
    /// Its payload is UTF-8.
    Text,
    /// Its payload is any bytes.
    Binary,
}

impl MessageType {
    fn opcode(self) -> Opcode {
        match self {
            MessageType::Text => Opcode::Text,
            MessageType::Binary => Opcode::Binary,
        }
    }
}

/// Appends a message in one frame, masked with a key that the caller has drawn.
pub fn write_message(kind: MessageType, payload: &[u8], key: [u8; 4], out: &mut Vec<u8>) {
    write_frame(kind.opcode(), payload, key, out);
}

/// Appends a control frame, masked with a key that the caller has drawn. A payload that is longer than
/// [`MAX_CONTROL_BYTES`] is cut.
pub fn write_control(opcode: Opcode, payload: &[u8], key: [u8; 4], out: &mut Vec<u8>) {
    write_frame(opcode, &payload[..payload.len().min(MAX_CONTROL_BYTES)], key, out);
}

fn write_frame(opcode: Opcode, payload: &[u8], key: [u8; 4], out: &mut Vec<u8>) {
    out.push(FIN | opcode.number());
    match payload.len() {
        length @ 0..=125 => out.push(MASKED | length as u8),
        length @ 126..=0xffff => {
            out.push(MASKED | LENGTH_16);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            out.push(MASKED | LENGTH_64);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&key);
    let start = out.len();
    out.extend_from_slice(payload);
    mask(&mut out[start..], key);
}
