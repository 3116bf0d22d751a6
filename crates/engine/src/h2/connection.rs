//! The state of one HTTP/2 connection: its settings, windows (flow control) and header tables, and the bytes that wait
//! for room in its socket.
//!
//! Writes are gathered in `out` and sent at once: requests when they are begun, acknowledgements and window updates
//! after all frames of one read have been processed.

use super::stream::Http2Stream;
use crate::hot::{BlockIndex, ExchangeIndex};
use crate::read_body::{BodyReader, Unreadable};
use crate::transport::send_waiting;
use crate::{Nanos, Slot, Transport};
use paceline_http::BodyBytes;
use paceline_http::h2::{
    ErrorCode, FieldDecoder, OUR_WINDOW, PeerSettings, ReceiveWindow, RequestTable, SendWindow, StreamIds,
    WINDOW_DEFAULT, write_client_preface, write_data, write_reset, write_window_update,
};
use std::collections::VecDeque;
use std::io;

/// The maximum length of bodies that wait for room in a socket: more is written when the socket has taken these.
const MAX_OUT_BYTES: usize = 256 * 1024;

/// The maximum number of answers to SETTINGS and PING that the server does not read. nghttp2 has the same limit
/// (`NGHTTP2_DEFAULT_MAX_OBQ_FLOOD_ITEM`; CVE-2019-9512, CVE-2019-9515).
pub(super) const MAX_UNREAD_ANSWERS: u32 = 1000;

/// Counts the answers to SETTINGS and PING that a server does not read.
#[derive(Debug, Default)]
pub(crate) struct UnreadAnswers {
    /// Those that were written while the following bytes waited.
    count: u32,
    /// Bytes of the output: when the socket has taken them, the count begins again.
    bytes_before: usize,
}

impl UnreadAnswers {
    /// Counts an answer that is written to the output.
    pub(crate) fn add(&mut self) {
        self.count += 1;
    }

    /// Notes that the socket has taken `sent` bytes of the output, and that `left` bytes wait.
    ///
    /// With an upload the output may never be empty, although the server reads. The answers among the bytes that wait
    /// now are counted no more, and have been sent when the count begins again.
    pub(crate) fn sent(&mut self, sent: usize, left: usize) {
        self.bytes_before = self.bytes_before.saturating_sub(sent);
        if self.bytes_before == 0 {
            (self.count, self.bytes_before) = (0, left);
        }
    }

    /// Whether the server has to be cut off.
    pub(crate) fn are_too_many(&self) -> bool {
        self.count > MAX_UNREAD_ANSWERS
    }
}

/// Bytes of a request body that pay for one frame in advance: a server gives back the window for the bytes it reads,
/// often in small pieces on the stream and on the connection, and may do so after the last of them were sent.
const BODY_BYTES_PER_FRAME: u32 = 256;

/// The number of useless frames after bytes of a body were sent: below zero it is what they pay for.
pub(crate) fn after_body(stray_frames: i64, bytes: u32) -> i64 {
    stray_frames.min(0) - i64::from(bytes / BODY_BYTES_PER_FRAME)
}

/// One connection.
pub(super) struct Http2Connection {
    /// Bytes that the socket has not taken.
    pub out: Vec<u8>,
    /// Since when they wait, or when the socket last took some.
    pub unsent_since: Nanos,
    /// The block in which the request bytes among them are counted.
    pub unsent_block: BlockIndex,
    pub unread_answers: UnreadAnswers,
    pub peer: PeerSettings,
    /// Whether the peer's first SETTINGS have come.
    pub greeted: bool,
    /// Whether the server accepts no further stream (GOAWAY).
    pub is_ending: bool,
    pub ids: StreamIds,
    pub table: RequestTable,
    pub fields: FieldDecoder,
    /// The number of bytes that may be sent on all streams together.
    pub window: SendWindow,
    pub receive_window: ReceiveWindow,
    /// Streams whose bodies wait for a window or for room.
    pub blocked: VecDeque<ExchangeIndex>,
    /// Bytes of the output that continue bodies, and are not counted as sent.
    pub body_out: usize,
    /// The place of the stream that the last of them belong to.
    pub body_place: ExchangeIndex,
    /// Whether a body could not be read to its end: the connection must be closed.
    pub has_unreadable_body: bool,
    /// Streams cancelled since the last response.
    pub cancels: u32,
    /// Frames since then, or since a part of a body moved, that moved nothing; negative while sent bytes pay for more.
    pub stray_frames: i64,
    /// The window for received DATA at the last of them: it shows whether any came since.
    pub window_at_stray: u32,
    /// Whether a part of a request body was written since frames were last read.
    pub has_written_body: bool,
    /// Whether Paceline has reset a stream: its frames may still come (RFC 9113 §5.1).
    pub has_reset: bool,
}

impl Default for Http2Connection {
    fn default() -> Self {
        Self {
            out: Vec::new(),
            unsent_since: Nanos::ZERO,
            unsent_block: 0,
            unread_answers: UnreadAnswers::default(),
            peer: PeerSettings::default(),
            greeted: false,
            is_ending: false,
            ids: StreamIds::default(),
            table: RequestTable::default(),
            fields: FieldDecoder::default(),
            window: SendWindow::new(WINDOW_DEFAULT),
            receive_window: ReceiveWindow::new(OUR_WINDOW),
            blocked: VecDeque::new(),
            body_out: 0,
            body_place: 0,
            has_unreadable_body: false,
            cancels: 0,
            stray_frames: 0,
            window_at_stray: 0,
            has_written_body: false,
            has_reset: false,
        }
    }
}

impl Http2Connection {
    /// A connection was made: writes the preface.
    pub(super) fn open(&mut self) {
        self.close();
        write_client_preface(&mut self.out);
    }

    /// Resets to the initial state and keeps the allocated memory.
    pub(super) fn close(&mut self) {
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        *self = Self { out, ..Self::default() };
    }

    /// Resets a stream.
    pub(super) fn reset(&mut self, id: u32, code: ErrorCode) {
        self.has_reset = true;
        write_reset(&mut self.out, id, code);
    }

    /// Whether the connection allows another stream: earlier bytes must be sent first.
    #[inline]
    pub(super) fn takes_requests(&self) -> bool {
        self.greeted && !self.is_ending && self.out.is_empty() && self.ids.peek().is_some()
    }

    /// Notes whole responses, with this many bytes of body.
    #[inline]
    pub(super) fn responses_came(&mut self, flow_bytes: u32) {
        (self.cancels, self.stray_frames) = (0, 0);
        self.count_received(flow_bytes);
    }

    /// Notes that bytes of a request body were written: the peer's frames are not useless.
    pub(super) fn body_written(&mut self, bytes: u32) {
        self.stray_frames = after_body(self.stray_frames, bytes);
        self.has_written_body = true;
    }

    /// Counts DATA, for which the window has room.
    #[inline]
    pub(super) fn count_received(&mut self, flow_bytes: u32) {
        self.receive_window.count(flow_bytes);
        if let Some(increment) = self.receive_window.replenish() {
            write_window_update(&mut self.out, 0, increment);
        }
    }

    /// Sends the written bytes, as far as the socket has room. Returns how many it took.
    pub(super) fn flush<T: Transport>(&mut self, slot: Slot, transport: &mut T) -> io::Result<usize> {
        let sent = send_waiting(transport, slot, &mut self.out)?;
        self.unread_answers.sent(sent, self.out.len());
        Ok(sent)
    }

    /// Writes as much of a stream's body as both windows, frames and output allow. Returns whether that completed the
    /// body. If it cannot be read, the connection takes no further request.
    pub(super) fn write_body(
        &mut self,
        stream: &mut Http2Stream,
        fixed: Option<BodyBytes<'_>>,
        reader: &mut BodyReader,
    ) -> bool {
        while stream.unsent > 0 {
            let body = fixed.unwrap_or(BodyBytes::Kept(&stream.body));
            let window = self.window.available().min(stream.window.available());
            let count = window.min(self.peer.max_frame_size).min(stream.frame_bytes_max);
            if count == 0 || self.out.len() >= MAX_OUT_BYTES {
                return false;
            }
            let at = body.length() - stream.unsent;
            let piece = match reader.piece_of(stream.kind, body, at, count as usize) {
                Ok(piece) => piece,
                Err(Unreadable) => {
                    (self.has_unreadable_body, self.is_ending) = (true, true);
                    return false;
                }
            };
            let count = piece.len() as u32;
            let is_last = u64::from(count) == stream.unsent;
            write_data(&mut self.out, stream.id, piece, is_last);
            stream.unsent -= u64::from(count);
            stream.window.consume(count);
            self.window.consume(count);
        }
        true
    }
}
