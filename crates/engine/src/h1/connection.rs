//! The state of one HTTP/1.1 connection, and of the responses to one kind of request; and what was sent at once.

use super::last_response::LastResponse;
use crate::hot::{BlockIndex, ExchangeIndex, PartialResponse};
use crate::{BodyCheck, Nanos, RequestKind};
use paceline_http::{Decoder, HeadCache, LineEnds, Method};

/// The state of one connection.
#[derive(Debug)]
pub(super) struct Http1Connection {
    /// Ring position of the oldest exchange.
    pub oldest: ExchangeIndex,
    /// Whether the server will keep the connection after the response being received.
    pub keep_alive: bool,
    /// Whether the framing of that response cannot be trusted.
    pub is_suspect: bool,
    /// Bytes at the end of the last request that the socket has not taken yet.
    pub unsent: u32,
    /// The block in which those bytes are counted.
    pub unsent_block: BlockIndex,
    /// When that request was sent.
    pub unsent_since: Nanos,
    /// The response being received.
    pub incoming: PartialResponse,
    /// Its framing.
    pub decoder: Decoder,
}

/// Requests of one kind whose bytes were sent together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SentRequests {
    /// Their kind.
    pub kind: u16,
    /// How many.
    pub count: u16,
    /// Bytes of them that were sent.
    pub bytes: usize,
    /// Bytes of the last of them that were not sent.
    pub unsent: usize,
}

/// The state for the responses to one kind of request.
#[derive(Debug)]
pub(super) struct Http1KindState {
    /// The kind of the method, for the framing of responses.
    pub method: Method,
    /// The last head.
    pub heads: HeadCache,
    /// The last good response, if the next may be the same.
    pub last_response: LastResponse,
    /// Whether to keep a good response: not if each request is different.
    pub repeat: bool,
    /// Whether responses are streams.
    pub is_stream: bool,
    /// Whether responses are read in steps also if they come whole: streams, and those to requests that wait with their
    /// bodies.
    pub in_steps: bool,
}

impl Http1KindState {
    pub(super) fn new(kind: &RequestKind, awaits_continue: bool) -> Self {
        let is_exact = matches!(kind.check.body, BodyCheck::Exact(_));
        let is_stream = kind.check.body.is_stream();
        let in_steps = is_stream || awaits_continue;
        Self {
            method: kind.method,
            heads: HeadCache::new(),
            last_response: LastResponse::default(),
            repeat: !in_steps && (is_exact || kind.template.as_fixed().is_some()),
            is_stream,
            in_steps,
        }
    }
}

impl Http1Connection {
    pub(super) fn new(method: Method, line_ends: LineEnds) -> Self {
        Self {
            oldest: 0,
            keep_alive: true,
            is_suspect: false,
            unsent: 0,
            unsent_block: 0,
            unsent_since: Nanos::ZERO,
            incoming: PartialResponse::default(),
            decoder: Decoder::new(method).with_line_ends(line_ends),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hot::Exchange;

    #[test]
    fn a_hundred_thousand_connections_fit() {
        let bytes = size_of::<Http1Connection>() + size_of::<Exchange>();
        assert!(bytes <= 208, "a connection takes {bytes} bytes");
    }
}
