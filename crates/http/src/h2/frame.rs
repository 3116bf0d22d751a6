//! Writes frames, and defines their constants and the frame head (RFC 9113 §4, §6).
//!
//! All functions append to the caller's buffer. The caller keeps lengths and stream ids within their limits; a value
//! out of range is truncated to the width of its field, which a debug assertion detects.

use super::error::ErrorCode;

/// The first bytes that a client sends; SETTINGS follow (RFC 9113 §3.4).
pub const CLIENT_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The length of the head before a frame's payload.
pub const FRAME_HEAD_BYTES: usize = 9;

/// The offset of the stream id in a frame's head.
pub const STREAM_AT: usize = 5;

/// The largest payload every endpoint accepts (RFC 9113 §4.2).
pub const FRAME_SIZE_DEFAULT: u32 = 16_384;

/// The highest stream id (RFC 9113 §5.1.1).
pub const MAX_STREAM_ID: u32 = (1 << 31) - 1;

/// Frame types (RFC 9113 §6).
pub(crate) mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const PRIORITY: u8 = 2;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PUSH_PROMISE: u8 = 5;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

/// Frame flags (RFC 9113 §6).
pub(crate) mod flag {
    pub const END_STREAM: u8 = 1;
    pub const ACK: u8 = 1;
    pub const END_HEADERS: u8 = 4;
    pub const PADDED: u8 = 8;
    pub const PRIORITY: u8 = 0x20;
}

/// A frame's head (RFC 9113 §4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHead {
    /// Bytes of payload, below 2^24.
    pub length: u32,
    /// Its type.
    pub kind: u8,
    /// Its flags.
    pub flags: u8,
    /// Its stream; 0 is the connection.
    pub stream: u32,
}

impl FrameHead {
    /// Reads a head. The reserved bit is ignored.
    #[inline]
    pub fn read(bytes: &[u8; FRAME_HEAD_BYTES]) -> Self {
        let [a, b, c, kind, flags, w, x, y, z] = *bytes;
        let length = u32::from_be_bytes([0, a, b, c]);
        let stream = u32::from_be_bytes([w, x, y, z]) & MAX_STREAM_ID;
        Self { length, kind, flags, stream }
    }

    /// Appends the head.
    #[inline]
    pub fn write(self, out: &mut Vec<u8>) {
        debug_assert!(self.length < 1 << 24 && self.stream <= MAX_STREAM_ID);
        let [_, a, b, c] = self.length.to_be_bytes();
        let [w, x, y, z] = self.stream.to_be_bytes();
        out.extend_from_slice(&[a, b, c, self.kind, self.flags, w, x, y, z]);
    }
}

/// Appends SETTINGS with these identifiers and values (RFC 9113 §6.5).
pub fn write_settings(out: &mut Vec<u8>, settings: &[(u16, u32)]) {
    FrameHead { length: 6 * settings.len() as u32, kind: kind::SETTINGS, flags: 0, stream: 0 }.write(out);
    for (id, value) in settings {
        out.extend_from_slice(&id.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// Appends the acknowledgement of the peer's SETTINGS.
pub fn write_settings_ack(out: &mut Vec<u8>) {
    FrameHead { length: 0, kind: kind::SETTINGS, flags: flag::ACK, stream: 0 }.write(out);
}

/// Appends PING (RFC 9113 §6.7).
pub fn write_ping(out: &mut Vec<u8>, opaque: [u8; 8]) {
    FrameHead { length: 8, kind: kind::PING, flags: 0, stream: 0 }.write(out);
    out.extend_from_slice(&opaque);
}

/// Appends the answer to a PING.
pub fn write_ping_ack(out: &mut Vec<u8>, opaque: [u8; 8]) {
    FrameHead { length: 8, kind: kind::PING, flags: flag::ACK, stream: 0 }.write(out);
    out.extend_from_slice(&opaque);
}

/// Appends GOAWAY (RFC 9113 §6.8).
pub fn write_goaway(out: &mut Vec<u8>, last_stream: u32, code: ErrorCode, debug: &[u8]) {
    FrameHead { length: 8 + debug.len() as u32, kind: kind::GOAWAY, flags: 0, stream: 0 }.write(out);
    out.extend_from_slice(&last_stream.to_be_bytes());
    out.extend_from_slice(&code.0.to_be_bytes());
    out.extend_from_slice(debug);
}

/// Appends WINDOW_UPDATE (RFC 9113 §6.9); stream 0 is the connection.
pub fn write_window_update(out: &mut Vec<u8>, stream: u32, increment: u32) {
    FrameHead { length: 4, kind: kind::WINDOW_UPDATE, flags: 0, stream }.write(out);
    out.extend_from_slice(&increment.to_be_bytes());
}

/// Appends RST_STREAM (RFC 9113 §6.4).
pub fn write_reset(out: &mut Vec<u8>, stream: u32, code: ErrorCode) {
    FrameHead { length: 4, kind: kind::RST_STREAM, flags: 0, stream }.write(out);
    out.extend_from_slice(&code.0.to_be_bytes());
}

/// Appends one DATA frame (RFC 9113 §6.1); the caller keeps it within the peer's frame size and both windows.
pub fn write_data(out: &mut Vec<u8>, stream: u32, data: &[u8], end_stream: bool) {
    let flags = if end_stream { flag::END_STREAM } else { 0 };
    FrameHead { length: data.len() as u32, kind: kind::DATA, flags, stream }.write(out);
    out.extend_from_slice(data);
}

/// Appends a field block as HEADERS and, beyond [`FRAME_SIZE_DEFAULT`], CONTINUATION (RFC 9113 §6.2, §6.10).
#[inline]
pub fn write_field_block(out: &mut Vec<u8>, stream: u32, block: &[u8], end_stream: bool) {
    let mut flags = if end_stream { flag::END_STREAM } else { 0 };
    let mut kind = kind::HEADERS;
    let mut rest = block;
    while rest.len() > FRAME_SIZE_DEFAULT as usize {
        let (piece, after) = rest.split_at(FRAME_SIZE_DEFAULT as usize);
        FrameHead { length: FRAME_SIZE_DEFAULT, kind, flags, stream }.write(out);
        out.extend_from_slice(piece);
        (rest, kind, flags) = (after, kind::CONTINUATION, 0);
    }
    FrameHead { length: rest.len() as u32, kind, flags: flags | flag::END_HEADERS, stream }.write(out);
    out.extend_from_slice(rest);
}

/// Turns the empty HEADERS frame at `start` and the field block appended after it, at `block_at`, into valid frames.
pub(super) fn close_field_block(
    out: &mut Vec<u8>,
    start: usize,
    block_at: usize,
    stream: u32,
    end_stream: bool,
) {
    let length = out.len() - block_at;
    if length > FRAME_SIZE_DEFAULT as usize {
        let block = out.split_off(block_at);
        out.truncate(start);
        return write_field_block(out, stream, &block, end_stream);
    }
    out[start..start + 3].copy_from_slice(&(length as u32).to_be_bytes()[1..]);
    if end_stream {
        out[start + 4] |= flag::END_STREAM;
    }
}
