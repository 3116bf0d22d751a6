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
use std::num::NonZeroU32;
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
    /// Further header fields.
    pub headers: &'a [(String, String)],
    /// The body.
    pub body: Option<&'a RequestBody>,
    /// The size of the chunks in which the body is sent, in bytes; `None` for a body with its length.
    pub chunk_bytes: Option<NonZeroU32>,
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
        Self { method, path, headers: &[], body: None, chunk_bytes: None, mode: RequestMode::Http11 }
    }

    /// The same request with further header fields.
    pub fn with_headers(self, headers: &'a [(String, String)]) -> Self {
        Self { headers, ..self }
    }

    /// The same request with a body, in chunks of a size or with its length.
    pub fn with_body(self, body: Option<&'a RequestBody>, chunk_bytes: Option<NonZeroU32>) -> Self {
        Self { body, chunk_bytes, ..self }
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
        let (framing, body) = match (self.body, self.chunk_bytes) {
            (None, _) => (String::new(), Vec::new()),
            (Some(body), None) => (format!("Content-Length: {}\r\n", body.length()), body.bytes()),
            (Some(body), Some(size)) => {
                ("Transfer-Encoding: chunked\r\n".to_owned(), in_chunks(&body.bytes(), size))
            }
        };
        let fields: String =
            self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let (method, path) = (self.method, self.path);
        let head =
            format!("{method} {path} HTTP/{version}\r\nHost: {host}\r\n{connection}{fields}{framing}\r\n");
        [head.into_bytes(), body].concat()
    }
}

/// A body in chunks: RFC 9112, section 7.1.
fn in_chunks(body: &[u8], size: NonZeroU32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(body.len());
    for chunk in body.chunks(size.get() as usize) {
        bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

/// Whether a read ended without bytes because its slice is over.
fn is_slice_over(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_sent_with_its_length_or_in_chunks() {
        let body = RequestBody::Text("Hello World!".to_owned());
        let headers = [("Accept-Encoding".to_owned(), "gzip".to_owned())];
        let text = |chunk_bytes| {
            let request =
                ProbeRequest::new("POST", "/a").with_headers(&headers).with_body(Some(&body), chunk_bytes);
            String::from_utf8(request.bytes("127.0.0.1:80".parse().unwrap())).unwrap()
        };
        let head = "POST /a HTTP/1.1\r\nHost: 127.0.0.1:80\r\nAccept-Encoding: gzip\r\n";
        assert_eq!(text(None), format!("{head}Content-Length: 12\r\n\r\nHello World!"));
        assert_eq!(
            text(NonZeroU32::new(10)),
            format!("{head}Transfer-Encoding: chunked\r\n\r\na\r\nHello Worl\r\n2\r\nd!\r\n0\r\n\r\n")
        );
    }
}
