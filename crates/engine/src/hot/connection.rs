//! What is known of one connection, and of a request on its way.
//!
//! Plain data: the worker owns it, the other files of `hot` change it. There may be a hundred thousand connections, so
//! the struct is small (a test holds its size), and what is read from any of them goes through one buffer of the
//! worker's. The worker also has the rings in which the requests on their way lie.

use super::blocks::Block;
use super::inspect::Body;
use crate::Nanos;
use paceline_http::Decoder;

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    /// No socket; nothing is being done about it, or an alarm will try again.
    Closed,
    /// A handshake is under way.
    Connecting,
    /// The last request it may carry is on its way.
    Last,
    /// At rest before the next request.
    Thinking,
    /// Its socket had no room for a request; it says when it has.
    Full,
    /// Ready for requests.
    Open,
}

impl State {
    /// Whether there is a connection, ready for requests or not.
    #[inline]
    pub(super) fn is_up(self) -> bool {
        self > State::Connecting
    }
}

/// One request on its way: the three moments its times are computed from, and where it is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    /// When the schedule said; equal to `actual` in a closed loop.
    pub intended: Nanos,
    /// Just before its first byte was handed to the socket.
    pub actual: Nanos,
    /// When the connection became free for it.
    pub free_at: Nanos,
    /// Where it is counted.
    pub block: Block,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    /// Where it is in its life.
    pub state: State,
    /// Whether it stands in the line of free connections; it may have been closed since, whoever takes it looks.
    pub in_line: bool,
    /// Whether a deadline alarm is set; one at a time suffices, it is moved on when it rings early.
    pub deadline_set: bool,
    /// Whether an alarm for the limit of an attempt to connect is set; likewise.
    pub limit_set: bool,
    /// Whether a response has been completed on the connection: one that closes before that does not count as idle.
    pub has_served: bool,
    /// Whether it is to be read from again, since there was more than its share.
    pub in_again: bool,
    /// Whether the server had hung up by then.
    pub hung_up: bool,
    /// Status of the response being received, once its head is complete.
    pub status: u16,
    /// Whether the server will keep the connection after the response being received.
    pub keep_alive: bool,
    /// Requests sent and not answered.
    pub outstanding: u16,
    /// Ring position of the oldest of them.
    pub oldest: u16,
    /// Attempts to connect that failed in a row.
    pub failed_attempts: u16,
    /// Bytes at the end of the last request that the socket has not taken yet.
    pub unsent_bytes: u32,
    /// The body being received, as far as it has come.
    pub body: Body,
    /// When it last became free for a request; while connecting or full, when that began; at rest, when that is over.
    pub free_at: Nanos,
    /// When the first byte of the response being received came.
    pub first_byte: Nanos,
    /// Requests it may still be sent.
    pub left: u32,
    /// How long connecting took; once a request was sent, so long before that.
    pub began: Nanos,
    /// Requests of the window it has served.
    pub served: u64,
    /// Framing of the response being received.
    pub decoder: Decoder,
}

impl Connection {
    /// A connection not yet made.
    pub(super) fn new(decoder: Decoder) -> Self {
        Self {
            state: State::Closed,
            in_line: false,
            deadline_set: false,
            limit_set: false,
            has_served: false,
            in_again: false,
            hung_up: false,
            status: 0,
            keep_alive: true,
            outstanding: 0,
            oldest: 0,
            failed_attempts: 0,
            unsent_bytes: 0,
            body: Body::default(),
            free_at: Nanos::ZERO,
            first_byte: Nanos::ZERO,
            left: u32::MAX,
            began: Nanos::ZERO,
            served: 0,
            decoder,
        }
    }

    /// Whether another request may be sent on it now.
    #[inline]
    pub(super) fn is_free(&self, free_below: u16) -> bool {
        self.state == State::Open && self.outstanding < free_below && self.unsent_bytes == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_thousand_connections_fit() {
        let bytes = size_of::<Connection>() + size_of::<Sent>();
        assert!(bytes <= 256, "a connection takes {bytes} bytes");
    }
}
