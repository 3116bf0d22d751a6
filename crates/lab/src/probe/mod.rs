//! Small strict clients that send requests and read whole answers: for readiness and validation.
//!
//! Blocking, and separate from the engine: a mistake in the engine must not also be in the validation. HTTP/1.1 is in
//! `http1`, HTTP/2 in `http2`. Their only measurement is the time of a start. Other protocols have no second client:
//! `engine` runs Paceline's own generator for a few requests.

pub mod engine;
mod http1;
pub mod http2;

pub use http1::{CloseResult, ProbeConnection, ask};

use paceline_catalogue::RequestBody;
use paceline_host::Interrupt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// How long one read may block before the deadline and Ctrl-C are checked.
const SLICE: Duration = Duration::from_millis(50);

/// The deadline of an answer, and the interrupt that may end the wait earlier.
#[derive(Clone, Copy, Debug)]
pub struct ProbeDeadline {
    /// The deadline.
    pub deadline: Instant,
    /// Ctrl-C.
    pub interrupt: Interrupt,
}

impl ProbeDeadline {
    /// A deadline `limit` from now.
    pub fn after(limit: Duration, interrupt: Interrupt) -> Self {
        Self { deadline: Instant::now() + limit, interrupt }
    }

    /// The time until the deadline.
    pub fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// An error after the deadline or an interrupt.
    pub fn check(&self) -> Result<(), ProbeError> {
        if self.interrupt.requested() {
            Err(ProbeError::Interrupted)
        } else if Instant::now() >= self.deadline {
            Err(ProbeError::TimedOut)
        } else {
            Ok(())
        }
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// No process listens, or the connection was refused.
    #[error("cannot connect: {0}")]
    Connect(#[source] std::io::Error),
    /// The connection broke.
    #[error("connection error: {0}")]
    Io(#[source] std::io::Error),
    /// No complete answer in time.
    #[error("no complete response within the time limit")]
    TimedOut,
    /// The connection was closed before the answer was complete.
    #[error("the connection was closed {0}")]
    Closed(String),
    /// HTTP/2: the server ended the stream, and the connection stayed open.
    #[error("the server reset stream {stream} with {code}")]
    Reset {
        /// The stream.
        stream: u32,
        /// The name of the error code.
        code: String,
    },
    /// The answer violates HTTP's rules.
    #[error("invalid HTTP response: {0}")]
    NotHttp(String),
    /// The generator that makes a check cannot be started.
    #[error("cannot start the check: {0}")]
    Generator(String),
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

/// A complete answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers, names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// The body, without framing.
    pub body: Vec<u8>,
    /// Whether the connection may carry another request.
    pub keeps_alive: bool,
    /// From the sending of the request to the end of the answer.
    pub took: Duration,
}

impl Answer {
    /// The first header of that name, given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct ProbeRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// The path with its query.
    pub path: &'a str,
    /// The body.
    pub body: Option<&'a RequestBody>,
    /// The version, and the connection option.
    pub mode: RequestMode,
}

/// The version of a request, and its connection option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestMode {
    /// `HTTP/1.1`, which stays open unless one side says otherwise.
    Http11,
    /// `HTTP/1.1` with `ProbeConnection: close`.
    Http11Close,
    /// `HTTP/1.0`, after which the server closes.
    Http10,
    /// `HTTP/1.0` with keep-alive requested, as in `ab -k`.
    Http10KeepAlive,
}

impl<'a> ProbeRequest<'a> {
    /// An ordinary request.
    pub fn new(method: &'a str, path: &'a str) -> Self {
        Self { method, path, body: None, mode: RequestMode::Http11 }
    }

    /// The same request with a body.
    pub fn with_body(self, body: Option<&'a RequestBody>) -> Self {
        Self { body, ..self }
    }

    /// The same request in another mode.
    pub fn in_mode(self, mode: RequestMode) -> Self {
        Self { mode, ..self }
    }

    fn bytes(&self, host: SocketAddr) -> Vec<u8> {
        let (version, connection) = match self.mode {
            RequestMode::Http11 => ("1.1", ""),
            RequestMode::Http11Close => ("1.1", "Connection: close\r\n"),
            RequestMode::Http10 => ("1.0", ""),
            RequestMode::Http10KeepAlive => ("1.0", "Connection: keep-alive\r\n"),
        };
        let length =
            self.body.map_or_else(String::new, |body| format!("Content-Length: {}\r\n", body.length()));
        let (method, path) = (self.method, self.path);
        let head = format!("{method} {path} HTTP/{version}\r\nHost: {host}\r\n{connection}{length}\r\n");
        let body = self.body.map(RequestBody::bytes).unwrap_or_default();
        [head.into_bytes(), body].concat()
    }
}

/// Whether a read ended without bytes because its slice is over.
fn is_slice_over(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}
