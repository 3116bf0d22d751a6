//! Writes frames and the beginnings of streams, and defines their constants (RFC 9114 §6.2, §7).

use super::varint::{read_varint, write_varint};

/// Frame types (RFC 9114 §7.2).
pub(crate) mod kind {
    pub const DATA: u64 = 0;
    pub const HEADERS: u64 = 1;
    pub const CANCEL_PUSH: u64 = 3;
    pub const SETTINGS: u64 = 4;
    pub const PUSH_PROMISE: u64 = 5;
    pub const GOAWAY: u64 = 7;
    pub const MAX_PUSH_ID: u64 = 0xd;
    /// Types of HTTP/2 without a counterpart, which must not be sent (RFC 9114 §7.2.8).
    pub const OF_HTTP2: [u64; 4] = [2, 6, 8, 9];
}

/// Settings (RFC 9114 §7.2.4.1, RFC 9204 §5).
mod setting {
    pub const MAX_FIELD_SECTION_SIZE: u64 = 6;
    /// Settings of HTTP/2 without a counterpart, which must not be sent.
    pub const OF_HTTP2: [u64; 4] = [2, 3, 4, 5];
}

/// The type of a unidirectional stream (RFC 9114 §6.2, RFC 9204 §4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// Frames that concern the connection.
    Control,
    /// A pushed response.
    Push,
    /// Instructions of QPACK's encoder.
    Encoder,
    /// Instructions of QPACK's decoder.
    Decoder,
    /// A type that is not known here: its bytes have no meaning.
    Unknown(u64),
}

impl StreamKind {
    pub(super) fn from_id(id: u64) -> Self {
        match id {
            0 => Self::Control,
            1 => Self::Push,
            2 => Self::Encoder,
            3 => Self::Decoder,
            id => Self::Unknown(id),
        }
    }
}

/// Appends the beginning of the client's control stream: its type and SETTINGS. No setting concerns QPACK: without them
/// the dynamic table has no room (RFC 9204 §5).
pub fn write_control_stream(out: &mut Vec<u8>) {
    let mut settings = Vec::new();
    write_varint(&mut settings, setting::MAX_FIELD_SECTION_SIZE);
    write_varint(&mut settings, crate::MAX_HEAD_BYTES as u64);
    write_varint(out, 0);
    write_frame(out, kind::SETTINGS, &settings);
}

/// Appends a HEADERS frame.
pub fn write_headers(out: &mut Vec<u8>, section: &[u8]) {
    write_frame(out, kind::HEADERS, section);
}

/// Appends the head of a DATA frame with this many bytes of payload.
pub fn write_data_head(out: &mut Vec<u8>, length: usize) {
    write_varint(out, kind::DATA);
    write_varint(out, length as u64);
}

/// Appends a DATA frame.
pub fn write_data(out: &mut Vec<u8>, payload: &[u8]) {
    write_frame(out, kind::DATA, payload);
}

/// Appends a GOAWAY frame: a server accepts no request from this stream id on (RFC 9114 §5.2).
pub fn write_goaway(out: &mut Vec<u8>, id: u64) {
    let mut payload = Vec::new();
    write_varint(&mut payload, id);
    write_frame(out, kind::GOAWAY, &payload);
}

fn write_frame(out: &mut Vec<u8>, kind: u64, payload: &[u8]) {
    write_varint(out, kind);
    write_varint(out, payload.len() as u64);
    out.extend_from_slice(payload);
}

/// The payload of SETTINGS. The engine needs no value of them: a request's field section is far below any limit that
/// servers set, and no dynamic table is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingsPayload<'b>(&'b [u8]);

impl<'b> SettingsPayload<'b> {
    /// Checks the payload: an error is the identifier of the first invalid setting, or none if the layout is invalid.
    pub(super) fn new(payload: &'b [u8]) -> Result<Self, Option<u64>> {
        let mut seen = Vec::new();
        let mut rest = payload;
        while !rest.is_empty() {
            let ((id, _), length) = read_setting(rest).ok_or(None)?;
            if setting::OF_HTTP2.contains(&id) || seen.contains(&id) {
                return Err(Some(id));
            }
            seen.push(id);
            rest = &rest[length..];
        }
        Ok(Self(payload))
    }

    /// The identifiers and values, in order.
    pub fn iter(self) -> impl Iterator<Item = (u64, u64)> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let (setting, length) = read_setting(rest)?;
            rest = &rest[length..];
            Some(setting)
        })
    }
}

/// The setting at the beginning of the input, and its length.
fn read_setting(input: &[u8]) -> Option<((u64, u64), usize)> {
    let (id, length) = read_varint(input)?;
    let (value, more) = read_varint(&input[length..])?;
    Some(((id, value), length + more))
}
