//! Reads the head of a frame of either side without checking the rules, so that wrong frames can be shown too.

use super::frame::{FIN, LENGTH_16, LENGTH_64, MASKED, RESERVED};

/// The head of a frame as it is on the wire (RFC 6455 §5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnyFrameHead {
    /// Whether the message ends with this frame.
    pub is_last: bool,
    /// The reserved bits, RSV1 as 4, RSV2 as 2 and RSV3 as 1.
    pub reserved: u8,
    /// The number of the opcode.
    pub opcode: u8,
    /// The masking key, if the payload is masked.
    pub key: Option<[u8; 4]>,
    /// The length of the payload in bytes.
    pub length: u64,
}

impl AnyFrameHead {
    /// The head at the start of `bytes` and its own length in bytes; none if it is incomplete.
    pub fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let &[first, second, ref rest @ ..] = bytes else { return None };
        let (length, rest) = match second & !MASKED {
            LENGTH_16 => {
                let (length, rest) = rest.split_first_chunk::<2>()?;
                (u64::from(u16::from_be_bytes(*length)), rest)
            }
            LENGTH_64 => {
                let (length, rest) = rest.split_first_chunk::<8>()?;
                (u64::from_be_bytes(*length), rest)
            }
            length => (u64::from(length), rest),
        };
        let (key, rest) = match second & MASKED {
            0 => (None, rest),
            _ => rest.split_first_chunk::<4>().map(|(key, rest)| (Some(*key), rest))?,
        };
        let head = Self {
            is_last: first & FIN != 0,
            reserved: (first & RESERVED) >> 4,
            opcode: first & 0x0f,
            key,
            length,
        };
        Some((head, bytes.len() - rest.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::websocket::{MessageType, write_message};

    #[test]
    fn heads_of_written_frames_are_read() {
        for length in [0, 1, 125, 126, 65_535, 65_536] {
            let mut frame = Vec::new();
            write_message(MessageType::Binary, &vec![7; length], [1, 2, 3, 4], &mut frame);
            let head_bytes = frame.len() - length;
            let head = AnyFrameHead {
                is_last: true,
                reserved: 0,
                opcode: 2,
                key: Some([1, 2, 3, 4]),
                length: length as u64,
            };
            assert_eq!(AnyFrameHead::read(&frame), Some((head, head_bytes)));
            assert!((0..head_bytes).all(|end| AnyFrameHead::read(&frame[..end]).is_none()), "{length}");
        }
    }

    #[test]
    fn wrong_heads_are_read_too() {
        let head = AnyFrameHead { is_last: false, reserved: 4, opcode: 3, key: None, length: 1 };
        assert_eq!(AnyFrameHead::read(&[0x43, 126, 0, 1, 9]), Some((head, 4)));
    }
}
