//! What is known of the responses to one kind of request: the last head, the last good response, a good body.
//!
//! A worker has one for each kind. With one kind of request it is the same one every time; with several the oldest
//! request of a connection says which, for responses come in the order of the requests (RFC 9112 §9.3).

use super::familiar::Familiar;
use super::inspect::Inspector;
use crate::{BodyCheck, RequestKind};
use paceline_http::{HeadCache, Method};

/// What is known of the responses to one kind of request.
#[derive(Debug)]
pub(super) struct Answers {
    /// What the method means for them.
    pub method: Method,
    /// The last head.
    pub heads: HeadCache,
    /// The last good response, where the next may well be the same.
    pub familiar: Familiar,
    /// Checks them.
    pub inspector: Inspector,
    /// Whether a good response is worth keeping: not where each request asks for something else.
    repeat: bool,
}

impl Answers {
    pub(super) fn new(kind: &RequestKind) -> Self {
        let is_exact = matches!(kind.check.body, BodyCheck::Exact(_));
        Self {
            method: kind.method,
            heads: HeadCache::new(),
            familiar: Familiar::default(),
            inspector: Inspector::new(&kind.check),
            repeat: is_exact || kind.template.as_fixed().is_some(),
        }
    }

    /// A whole response was good and left the connection open.
    #[inline]
    pub(super) fn meet(&mut self, bytes: &[u8], status: u16, body_bytes: u64) {
        if self.repeat {
            self.familiar.meet(bytes, status, body_bytes);
        }
    }
}
