//! Defines the requests of a run: one kind or several, each with its share and the expected response.
//!
//! They are made from a job (`crates/run`). `h1/outgoing.rs`, `h2/` and `websocket/` turn them into bytes, `hot/inspect.rs` checks
//! the responses; the records identify the kinds by their index here.

use crate::ResponseCheck;
use crate::read_body::ReadBody;
use crate::session::SessionPlan;
use paceline_http::h2::Http2Request;
use paceline_http::websocket::MessageType;
use paceline_http::{GeneratedBody, Method, RequestTemplate};

/// One kind of request.
#[derive(Clone, Debug)]
pub struct RequestKind {
    /// Its share of the load, relative to the other kinds': at least 1.
    pub weight: u32,
    /// Its bytes, or the template for them.
    pub template: RequestTemplate,
    /// The kind of its method, which matters for its responses: those to HEAD have no body.
    pub method: Method,
    /// The expected response.
    pub check: ResponseCheck,
}

/// The request that opens a WebSocket.
#[derive(Clone, Debug)]
pub struct UpgradeRequest {
    /// Its bytes up to the value of `Sec-WebSocket-Key` (`paceline_http::Request::compile_upgrade`).
    pub template: RequestTemplate,
    /// The subprotocols that it offers: the values of its fields `Sec-WebSocket-Protocol`.
    pub subprotocols: Vec<String>,
    /// The type of the messages that are sent.
    pub kind: MessageType,
}

/// A body that is made while it is sent.
#[derive(Clone, Debug)]
pub enum UploadBody {
    /// It is generated, over HTTP/1.1; over HTTP/2 and HTTP/3 the encoded request has its length.
    Generated(GeneratedBody),
    /// It is read.
    Read(ReadBody),
}

impl UploadBody {
    /// The length in bytes, as sent.
    pub(crate) fn length(&self) -> u64 {
        match self {
            UploadBody::Generated(body) => body.length(),
            UploadBody::Read(body) => body.length(),
        }
    }
}

/// How the body of one kind of request is sent, if it does not follow its head at once.
#[derive(Clone, Debug, Default)]
pub struct Upload {
    /// A body that follows the bytes of the template.
    pub body: Option<UploadBody>,
    /// Whether the body waits for 100 Continue, over HTTP/1.1.
    pub awaits_continue: bool,
    /// Whether the body is longer than one turn of a connection, over HTTP/2: flow control alone does not continue it.
    pub is_long: bool,
}

impl Upload {
    /// Whether the body, if there is one, follows its head at once.
    fn is_plain(&self) -> bool {
        self.body.is_none() && !self.awaits_continue && !self.is_long
    }
}

/// All kinds of request of a run, at least one.
#[derive(Clone, Debug)]
pub struct Requests {
    kinds: Vec<RequestKind>,
    /// The same as HTTP/2 sends them; empty if they are sent over HTTP/1.
    http2: Vec<Http2Request>,
    /// The request that opens a WebSocket, whose messages the kinds are; none for HTTP.
    upgrade: Option<UpgradeRequest>,
    /// How bodies are sent, by kind; empty if all follow their heads at once.
    uploads: Vec<Upload>,
    /// The number of files that templates take lines from.
    files: usize,
    /// The sessions whose steps the kinds are; none if requests do not depend on each other.
    sessions: Option<SessionPlan>,
}

impl Requests {
    /// Requests of these kinds, whose templates take lines from `files` files.
    pub fn from_kinds(kinds: Vec<RequestKind>, files: usize) -> Self {
        Self { kinds, http2: Vec::new(), upgrade: None, uploads: Vec::new(), files, sessions: None }
    }

    /// One request, the same every time.
    pub fn fixed(bytes: impl Into<Vec<u8>>, method: Method, check: ResponseCheck) -> Self {
        let template = RequestTemplate::fixed(bytes.into());
        Self::from_kinds(vec![RequestKind { weight: 1, template, method, check }], 0)
    }

    /// The same, with each kind as HTTP/2 sends it.
    #[must_use]
    pub fn with_http2(self, http2: Vec<Http2Request>) -> Self {
        Self { http2, ..self }
    }

    /// The same, with the way in which the body of each kind is sent.
    #[must_use]
    pub fn with_uploads(self, uploads: Vec<Upload>) -> Self {
        let are_plain = uploads.iter().all(Upload::is_plain);
        Self { uploads: if are_plain { Vec::new() } else { uploads }, ..self }
    }

    /// The same, as messages of WebSockets that this request opens.
    #[must_use]
    pub fn with_upgrade(self, upgrade: UpgradeRequest) -> Self {
        Self { upgrade: Some(upgrade), ..self }
    }

    /// The same, as the steps of sessions.
    #[must_use]
    pub fn with_sessions(self, sessions: SessionPlan) -> Self {
        Self { sessions: Some(sessions), ..self }
    }

    /// The kind with this index alone, without sessions; none if there is no such kind.
    #[must_use]
    pub fn only(&self, kind: usize) -> Option<Self> {
        Some(Self {
            kinds: vec![self.kinds.get(kind)?.clone()],
            http2: self.http2.get(kind).cloned().into_iter().collect(),
            upgrade: self.upgrade.clone(),
            uploads: self.uploads.get(kind).cloned().into_iter().collect(),
            files: self.files,
            sessions: None,
        })
    }

    /// The sessions, if there are any.
    pub fn sessions(&self) -> Option<&SessionPlan> {
        self.sessions.as_ref()
    }

    /// The kinds as HTTP/2 sends them, in order.
    pub(crate) fn http2(&self) -> &[Http2Request] {
        &self.http2
    }

    /// The request that opens a WebSocket.
    pub(crate) fn upgrade(&self) -> Option<&UpgradeRequest> {
        self.upgrade.as_ref()
    }

    /// The kinds, in order.
    pub fn kinds(&self) -> &[RequestKind] {
        &self.kinds
    }

    /// Whether any response is a stream.
    pub fn have_streams(&self) -> bool {
        self.kinds.iter().any(|kind| kind.check.body.is_stream())
    }

    /// Whether a body may not follow its head at once.
    pub fn have_uploads(&self) -> bool {
        !self.uploads.is_empty()
    }

    /// The body of a kind, if it is made while it is sent.
    pub(crate) fn upload_body(&self, kind: u16) -> Option<&UploadBody> {
        self.uploads.get(usize::from(kind))?.body.as_ref()
    }

    /// The bodies that are read while they are sent, by kind; empty if no body is made in such a way.
    pub(crate) fn read_bodies(&self) -> impl Iterator<Item = Option<&ReadBody>> {
        self.uploads.iter().map(|upload| match &upload.body {
            Some(UploadBody::Read(body)) => Some(body),
            Some(UploadBody::Generated(_)) | None => None,
        })
    }

    /// Whether any body is read while it is sent.
    pub fn have_read_bodies(&self) -> bool {
        self.read_bodies().any(|body| body.is_some())
    }

    /// Whether the body of a kind waits for 100 Continue.
    pub(crate) fn awaits_continue(&self, kind: u16) -> bool {
        self.uploads.get(usize::from(kind)).is_some_and(|upload| upload.awaits_continue)
    }

    /// The number of files to take lines from.
    pub fn files(&self) -> usize {
        self.files
    }

    /// The kind that is counted in a block: blocks are ordered by segment, and in each by kind.
    #[inline]
    pub(crate) fn kind_of(&self, block: u16) -> u16 {
        match self.kinds.len() {
            0 | 1 => 0,
            kinds => block % kinds as u16,
        }
    }

    /// The bytes of the only request, if there is one, it is the same every time, and its body follows at once.
    pub fn as_fixed(&self) -> Option<&[u8]> {
        match self.kinds.as_slice() {
            [only] if self.uploads.is_empty() => only.template.as_fixed(),
            _ => None,
        }
    }

    /// The maximum length of a request in bytes.
    pub(crate) fn longest(&self) -> usize {
        self.kinds.iter().map(|kind| kind.template.longest()).max().unwrap_or(0)
    }

    /// Whether there are no requests, or one kind is empty or has weight 0. Only a message may be empty.
    pub(crate) fn is_empty(&self) -> bool {
        let is_empty = |kind: &RequestKind| self.upgrade.is_none() && kind.template.longest() == 0;
        self.kinds.is_empty() || self.kinds.iter().any(|kind| is_empty(kind) || kind.weight == 0)
    }
}
