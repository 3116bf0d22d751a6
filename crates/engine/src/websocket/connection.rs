//! The state of one WebSocket: its handshake, the answer being received, and the bytes that wait for room in its socket.

use crate::hot::{BlockIndex, ExchangeIndex, JudgedHead, PartialResponse};
use crate::transport::send_waiting;
use crate::{Nanos, Slot, Transport};
use paceline_http::ContentCoding;
use paceline_http::LineEnds;
use paceline_http::websocket::{Handshake, HandshakeKey};
use std::io;

/// The head of the response to an upgrade request (RFC 9110 §15.2.2), with which the answers on a WebSocket are counted.
pub(super) const SWITCHED: JudgedHead =
    JudgedHead { status: 101, coding: ContentCoding::Identity, messages: None };

/// What a connection has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing was sent.
    New,
    /// The answer to the upgrade request is awaited.
    Upgrading,
    /// Messages may be sent.
    Open,
}

/// One connection.
#[derive(Debug)]
pub(super) struct WebSocketConnection {
    pub phase: Phase,
    line_ends: LineEnds,
    /// The handshake, while it is in progress.
    pub handshake: Option<Box<Handshake>>,
    /// Ring position of the oldest exchange.
    pub oldest: ExchangeIndex,
    /// The message being received, if it comes in pieces.
    pub incoming: PartialResponse,
    /// The bytes of that message which have come, if it is judged whole.
    pub kept: Vec<u8>,
    /// Whether it differs from the message that it answers.
    pub differs: bool,
    /// Whether it began when no message was in flight, so that it answers none.
    pub skips: bool,
    /// Bytes that the socket has not taken.
    pub out: Vec<u8>,
    /// Since when they wait.
    pub unsent_since: Nanos,
    /// The block in which they are counted, if they belong to a message.
    pub unsent_block: BlockIndex,
    pub counts_unsent: bool,
    /// A message that is sent when the handshake is done.
    pub first_message: Vec<u8>,
    /// The payload of the most recent Ping that came when too many bytes waited for its answer.
    pub late_ping: Option<Vec<u8>>,
    /// Frames since the last message that were no part of one.
    pub stray_frames: u32,
    /// Whether a Close frame was sent.
    pub has_closed: bool,
}

impl WebSocketConnection {
    pub(super) fn new(line_ends: LineEnds) -> Self {
        Self {
            phase: Phase::New,
            line_ends,
            handshake: None,
            oldest: 0,
            incoming: PartialResponse::default(),
            kept: Vec::new(),
            differs: false,
            skips: false,
            out: Vec::new(),
            unsent_since: Nanos::ZERO,
            unsent_block: 0,
            counts_unsent: false,
            first_message: Vec::new(),
            late_ping: None,
            stray_frames: 0,
            has_closed: false,
        }
    }

    /// The place of the exchange that comes this many after the oldest, in a ring of `depth` places.
    pub(super) fn place_after(&self, after: u16, depth: u16) -> ExchangeIndex {
        // The sum may be larger than any place.
        ((u32::from(self.oldest) + u32::from(after)) % u32::from(depth)) as ExchangeIndex
    }

    /// The upgrade request is sent with this key.
    pub(super) fn upgrade(&mut self, key: &HandshakeKey) {
        self.phase = Phase::Upgrading;
        self.handshake = Some(Box::new(Handshake::new(key, self.line_ends)));
    }

    /// Sends as many of the waiting bytes as the socket takes; returns how many.
    ///
    /// # Errors
    /// The connection is broken.
    pub(super) fn flush<T: Transport>(&mut self, slot: Slot, transport: &mut T) -> io::Result<usize> {
        send_waiting(transport, slot, &mut self.out)
    }

    /// Resets to the initial state, and keeps the memory.
    pub(super) fn close(&mut self) {
        self.kept.clear();
        self.out.clear();
        self.first_message.clear();
        *self = Self {
            kept: std::mem::take(&mut self.kept),
            out: std::mem::take(&mut self.out),
            first_message: std::mem::take(&mut self.first_message),
            ..Self::new(self.line_ends)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_go_around_a_ring_of_any_depth() {
        let mut connection = WebSocketConnection::new(LineEnds::CrLf);
        for (oldest, after, depth, place) in [
            (0, 0, 1, 0),
            (2, 1, 4, 3),
            (2, 2, 4, 0),
            (39_999, 30_000, 40_000, 29_999),
            (65_534, 65_534, 65_535, 65_533),
        ] {
            connection.oldest = oldest;
            assert_eq!(connection.place_after(after, depth), place, "{after} after {oldest} of {depth}");
        }
    }
}
