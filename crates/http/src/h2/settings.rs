//! Stores the peer's SETTINGS and writes ours (RFC 9113 §6.5).
//!
//! The engine sends ours once and applies each SETTINGS frame of the peer. The engine decides when to act on a changed
//! limit.

use super::error::{Http2Error, INITIAL_WINDOW_SIZE_NAME};
use super::flow::{MAX_WINDOW, WINDOW_DEFAULT};
use super::frame::{CLIENT_PREFACE, FRAME_SIZE_DEFAULT, write_settings, write_window_update};
use super::hpack::TABLE_SIZE_DEFAULT;
use super::response::MAX_HEADER_LIST_BYTES;

pub(crate) const HEADER_TABLE_SIZE: u16 = 1;
pub(crate) const ENABLE_PUSH: u16 = 2;
pub(crate) const MAX_CONCURRENT_STREAMS: u16 = 3;
pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;
pub(crate) const MAX_FRAME_SIZE: u16 = 5;
pub(crate) const MAX_HEADER_LIST_SIZE: u16 = 6;

/// The window that we announce for each stream and for the connection: practically unlimited, as `h2load -w 30 -W 30`.
pub const OUR_WINDOW: u32 = (1 << 30) - 1;

/// Appends the first bytes of a client: preface, SETTINGS (no push, windows of [`OUR_WINDOW`], the longest header list that
/// is read) and the connection's window.
pub fn write_client_preface(out: &mut Vec<u8>) {
    out.extend_from_slice(CLIENT_PREFACE);
    let list = MAX_HEADER_LIST_BYTES as u32;
    write_settings(out, &[(ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, OUR_WINDOW), (MAX_HEADER_LIST_SIZE, list)]);
    write_window_update(out, 0, OUR_WINDOW - WINDOW_DEFAULT);
}

/// The limits that the peer has set for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerSettings {
    /// The maximum size of our encoder's dynamic table.
    pub header_table_size: u32,
    /// The maximum number of streams that we may have open; practically unlimited until the peer sets a limit.
    pub max_concurrent_streams: u32,
    /// The send window of a new stream.
    pub initial_window_size: u32,
    /// The largest payload we may send in a frame.
    pub max_frame_size: u32,
    /// The maximum header list that the peer accepts; advisory.
    pub max_header_list_size: u32,
}

impl Default for PeerSettings {
    /// RFC 9113 §6.5.2.
    fn default() -> Self {
        Self {
            header_table_size: TABLE_SIZE_DEFAULT,
            max_concurrent_streams: u32::MAX,
            initial_window_size: WINDOW_DEFAULT,
            max_frame_size: FRAME_SIZE_DEFAULT,
            max_header_list_size: u32::MAX,
        }
    }
}

/// The payload of a SETTINGS frame, of a valid length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingsPayload<'p>(pub(super) &'p [u8]);

impl SettingsPayload<'_> {
    /// Identifiers and values, in order; an identifier may occur more than once.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u32)> {
        self.0
            .as_chunks::<6>()
            .0
            .iter()
            .map(|[a, b, w, x, y, z]| (u16::from_be_bytes([*a, *b]), u32::from_be_bytes([*w, *x, *y, *z])))
    }
}

impl PeerSettings {
    /// Applies a SETTINGS frame and returns the change of the windows of all open streams: positive or negative (RFC
    /// 9113 §6.9.2). Unknown settings are ignored (§6.5.2).
    ///
    /// # Errors
    /// [`Http2Error::Setting`] for a value out of range.
    pub fn apply(&mut self, payload: SettingsPayload<'_>) -> Result<i64, Http2Error> {
        let before = i64::from(self.initial_window_size);
        for (id, value) in payload.iter() {
            match id {
                HEADER_TABLE_SIZE => self.header_table_size = value,
                ENABLE_PUSH if value > 0 => {
                    let expected = "a server may send only the value 0";
                    return Err(Http2Error::Setting { setting: "SETTINGS_ENABLE_PUSH", value, expected });
                }
                MAX_CONCURRENT_STREAMS => self.max_concurrent_streams = value,
                INITIAL_WINDOW_SIZE if value > MAX_WINDOW => {
                    let (setting, expected) = (INITIAL_WINDOW_SIZE_NAME, "the maximum is 2^31-1");
                    return Err(Http2Error::Setting { setting, value, expected });
                }
                INITIAL_WINDOW_SIZE => self.initial_window_size = value,
                MAX_FRAME_SIZE if !(FRAME_SIZE_DEFAULT..1 << 24).contains(&value) => {
                    let (setting, expected) = ("SETTINGS_MAX_FRAME_SIZE", "the value must be 2^14 to 2^24-1");
                    return Err(Http2Error::Setting { setting, value, expected });
                }
                MAX_FRAME_SIZE => self.max_frame_size = value,
                MAX_HEADER_LIST_SIZE => self.max_header_list_size = value,
                _ => {}
            }
        }
        Ok(i64::from(self.initial_window_size) - before)
    }
}
