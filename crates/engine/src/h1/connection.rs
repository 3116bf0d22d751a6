//! The state of one HTTP/1.1 connection, and what is kept of the responses to one kind of request.

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
}

impl Http1KindState {
    pub(super) fn new(kind: &RequestKind) -> Self {
        let is_exact = matches!(kind.check.body, BodyCheck::Exact(_));
        let is_stream = kind.check.body.is_stream();
        Self {
            method: kind.method,
            heads: HeadCache::new(),
            last_response: LastResponse::default(),
            repeat: !is_stream && (is_exact || kind.template.as_fixed().is_some()),
            is_stream,
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
