//! Makes the requests that a worker sends: the bytes of a stream, before and in its body.
//!
//! A request that is the same every time is encoded once; every stream shares its bytes.

use crate::hot::RequestOrder;
use crate::read_body::{ReadBody, Unreadable};
use crate::{Settings, UploadBody};
use bytes::Bytes;
use paceline_http::h3::{RequestSections, write_text_request};
use paceline_http::{Expander, GeneratedBody, Scheme};
use std::sync::Arc;

/// The requests of a worker.
pub(super) struct Http3Outgoing {
    sections: RequestSections,
    order: RequestOrder,
    /// By kind: the frames before the body, if the request is the same every time.
    heads: Box<[Option<Bytes>]>,
    /// By kind: the body, if it is the same every time.
    bodies: Box<[Option<Bytes>]>,
    /// By kind: the body, if it is generated or read.
    following: Box<[Option<Arc<SharedBody>>]>,
    /// By kind: whether a request may be sent as early data.
    safe: Box<[bool]>,
    head: Vec<u8>,
    body: Vec<u8>,
    /// The scheme of the requests of a scenario.
    scheme: Scheme,
}

/// A request to be sent.
pub(super) struct NextRequest {
    pub kind: u16,
    pub number: u64,
    /// The frames before the body, and the body.
    pub bytes: [Bytes; 2],
    /// A body that is generated or read, which follows.
    pub following: Option<Arc<SharedBody>>,
}

/// A body that is made while it is sent.
pub(super) enum SharedBody {
    /// A generated one, whose bytes all streams share.
    Generated {
        period: Bytes,
        /// The number of bytes that repeat the period.
        repeated: u64,
        end: Bytes,
    },
    /// One that is read. QUIC keeps its bytes until they are acknowledged, as far as its window allows.
    Read(ReadBody),
}

impl SharedBody {
    fn new(body: &GeneratedBody) -> Self {
        let (period, repeated, end) = body.parts();
        let (period, end) = (Bytes::copy_from_slice(period), Bytes::copy_from_slice(end));
        SharedBody::Generated { period, repeated, end }
    }

    /// Bytes from an offset on; empty at the end.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub(super) fn piece_at(&self, at: u64) -> Result<Bytes, Unreadable> {
        let (period, repeated, end) = match self {
            SharedBody::Generated { period, repeated, end } => (period, *repeated, end),
            SharedBody::Read(body) => {
                let mut piece = Vec::new();
                body.read(at, &mut piece)?;
                return Ok(Bytes::from(piece));
            }
        };
        let left = repeated.saturating_sub(at);
        if left == 0 {
            return Ok(end.slice(((at - repeated) as usize).min(end.len())..));
        }
        let start = (at % period.len() as u64) as usize;
        let most = usize::try_from(left).unwrap_or(usize::MAX);
        Ok(period.slice(start..period.len().min(start.saturating_add(most))))
    }
}

impl Http3Outgoing {
    /// The requests of worker `worker`.
    pub(super) fn new(settings: &Settings, worker: u32) -> Self {
        let &Settings { ref requests, seed, .. } = settings;
        let (place, places) = settings.place_of(worker);
        let sections = RequestSections::new(requests.http2());
        let kinds = 0..sections.count();
        let following = |kind: usize| {
            let body = match requests.upload_body(kind as u16) {
                Some(UploadBody::Read(body)) => Some(SharedBody::Read(body.clone())),
                Some(UploadBody::Generated(_)) | None => {
                    sections.generated_body(kind).map(|body| SharedBody::new(&body))
                }
            };
            body.map(Arc::new)
        };
        let expander =
            |values| Expander::for_parts(place, places, values, requests.files(), sections.parts_max());
        Self {
            order: RequestOrder::new(requests, seed, place, expander),
            heads: kinds.clone().map(|kind| sections.fixed_head(kind).map(Bytes::from)).collect(),
            following: kinds.clone().map(following).collect(),
            safe: kinds.clone().map(|kind| sections.is_safe(kind)).collect(),
            bodies: kinds.map(|kind| sections.fixed_body(kind).map(Bytes::copy_from_slice)).collect(),
            sections,
            head: Vec::new(),
            body: Vec::new(),
            scheme: settings.job.url.scheme,
        }
    }

    /// The next request.
    #[inline]
    pub(super) fn next(&mut self) -> NextRequest {
        let kind = self.order.next_kind();
        let expander = &mut self.order.expander;
        let number = expander.number();
        let body = self.bodies[usize::from(kind)].clone();
        let bytes = match (&self.heads[usize::from(kind)], body) {
            (Some(head), Some(body)) => {
                expander.skip_number();
                [head.clone(), body]
            }
            (_, body) => {
                self.head.clear();
                self.sections.write(kind.into(), expander, &mut self.head, &mut self.body);
                let body = body.unwrap_or_else(|| Bytes::copy_from_slice(&self.body));
                [Bytes::copy_from_slice(&self.head), body]
            }
        };
        NextRequest { kind, number, bytes, following: self.following[usize::from(kind)].clone() }
    }

    /// Whether the next request may be sent as early data.
    pub(super) fn next_is_safe(&mut self) -> bool {
        let kind = self.order.peek_kind();
        self.safe[usize::from(kind)]
    }

    /// A request that a scenario has made as text.
    pub(super) fn encode_text(&mut self, text: &[u8]) -> [Bytes; 2] {
        self.head.clear();
        let body_at = write_text_request(text, self.scheme, &mut self.head);
        [Bytes::copy_from_slice(&self.head), Bytes::copy_from_slice(&text[body_at..])]
    }

    /// The server has not processed a request: makes it due again, with its number.
    pub(super) fn give_back(&mut self, kind: u16, number: u64) {
        self.order.give_back(kind, number);
    }

    /// Skips the next request, which will not be sent; returns its kind.
    pub(super) fn skip(&mut self) -> u16 {
        self.order.skip()
    }
}
