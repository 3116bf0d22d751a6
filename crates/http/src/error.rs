//! What a server can do wrong, each as one variant with the bytes that show it.
//!
//! The engine counts these as failed requests and shows the first of each kind; so a message stands on its own, without
//! the response. All of them end the connection: after a framing error nobody knows where the next response begins.

use std::fmt;

/// How many of the offending bytes a message shows.
const EXCERPT_BYTES_MAX: usize = 40;

/// A response that cannot be read. Always the server's doing, or that of whatever listens on its port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The first bytes are not `HTTP/`.
    #[error("the answer is not HTTP: it begins \"{excerpt}\"{peer}")]
    NotHttp {
        /// The first bytes.
        excerpt: String,
        /// What seems to be there instead.
        peer: Peer,
    },
    /// HTTP, but of a major version that is not 1.
    #[error("the answer is not HTTP/1.x: it begins \"{excerpt}\"")]
    Version {
        /// The status line.
        excerpt: String,
    },
    /// The first line is not `HTTP/1.x NNN reason` (RFC 9112 §4).
    #[error("malformed status line \"{excerpt}\" (want \"HTTP/1.1 200 OK\")")]
    StatusLine {
        /// The line.
        excerpt: String,
    },
    /// A line of the head is not `name: value` (RFC 9112 §5).
    #[error("malformed header line \"{excerpt}\" (want \"name: value\", no blank before the colon)")]
    Field {
        /// The line.
        excerpt: String,
    },
    /// A `Content-Length` that is not a decimal number below 2^64 (RFC 9110 §8.6).
    #[error("invalid Content-Length \"{excerpt}\"")]
    ContentLength {
        /// Its value.
        excerpt: String,
    },
    /// Two lengths for one body (RFC 9112 §6.3).
    #[error("two different Content-Lengths, {first} and {second}")]
    ContentLengthsDiffer {
        /// The one that came first.
        first: u64,
        /// The first that differs from it.
        second: u64,
    },
    /// A transfer coding that was never offered: no request carries `TE` (RFC 9112 §6.1).
    #[error("unsupported Transfer-Encoding \"{excerpt}\" (only \"chunked\", once, can be read)")]
    TransferCoding {
        /// Its value.
        excerpt: String,
    },
    /// A chunk does not begin with its size in hexadecimal (RFC 9112 §7.1).
    #[error("malformed chunk size: \"{excerpt}\"")]
    ChunkSize {
        /// What stands there, from the first wrong byte.
        excerpt: String,
    },
    /// A chunk of 2^64 bytes or more.
    #[error("a chunk size beyond 64 bits: \"{excerpt}\" follows its first 16 digits")]
    ChunkSizeOverflow {
        /// What follows the digits that still fitted.
        excerpt: String,
    },
    /// A chunk's data is longer than its size said.
    #[error("a chunk is longer than announced: \"{excerpt}\" stands where it should end")]
    ChunkEnd {
        /// What stands in the place of the line end.
        excerpt: String,
    },
    /// A line after the last chunk is neither a trailer nor the blank line (RFC 9112 §7.1.2).
    #[error("malformed trailer: \"{excerpt}\" (is the blank line after the last chunk missing?)")]
    Trailer {
        /// What stands there, from the first wrong byte.
        excerpt: String,
    },
    /// No blank line within [`crate::HEAD_BYTES_MAX`].
    #[error("the response's head does not end within {limit} bytes")]
    HeadTooLarge {
        /// The limit.
        limit: usize,
    },
    /// The trailers do not end within [`crate::TRAILERS_BYTES_MAX`].
    #[error("the response's trailers do not end within {limit} bytes")]
    TrailersTooLarge {
        /// The limit.
        limit: usize,
    },
    /// A chunk-size line, with its extensions, beyond [`crate::CHUNK_LINE_BYTES_MAX`].
    #[error("a chunk-size line does not end within {limit} bytes")]
    ChunkLineTooLong {
        /// The limit.
        limit: usize,
    },
    /// More than [`crate::INTERIM_RESPONSES_MAX`] 1xx responses before the final one.
    #[error("more than {limit} interim (1xx) responses to one request")]
    TooManyInterim {
        /// The limit.
        limit: u8,
    },
    /// 101: the server left HTTP/1.1, which no request asks for (RFC 9110 §15.2.2).
    #[error("the server switched protocols (101) without being asked to")]
    Upgraded,
    /// The peer closed in the middle of a response.
    #[error("the connection closed {0}")]
    Truncated(Missing),
}

/// What speaks on a connection instead of the expected protocol, as far as its first bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// TLS records (RFC 8446 §5.1).
    Tls,
    /// A SETTINGS frame (RFC 9113 §3.4).
    Http2,
    /// A status line of HTTP/1.x (RFC 9112 §4).
    Http1,
    /// An SSH identification (RFC 4253 §4.2).
    Ssh,
    /// A greeting with a reply code and a server's name (RFC 5321 §4.2, RFC 959 §4.2).
    MailOrFiles,
    /// A gzip stream (RFC 1952 §2.3.1).
    Gzip,
    /// Anything else, for example a body longer than announced.
    Unknown,
}

impl Peer {
    /// A guess from the first bytes. With fewer bytes it may be [`Peer::Unknown`].
    pub fn recognise(bytes: &[u8]) -> Peer {
        match bytes {
            [0x14..=0x17, 0x03, 0..=4, ..] => Peer::Tls,
            [0, 0, _, 4, ..] => Peer::Http2,
            [b'H', b'T', b'T', b'P', b'/', b'1', ..] => Peer::Http1,
            [b'S', b'S', b'H', b'-', ..] => Peer::Ssh,
            [b'2', b'2', b'0', b' ' | b'-', ..] => Peer::MailOrFiles,
            [0x1f, 0x8b, 8, ..] => Peer::Gzip,
            _ => Peer::Unknown,
        }
    }

    /// What it is and what to do, for a client that expected HTTP/1.1 or HTTP/2; none if it is unknown.
    pub fn advice(self) -> Option<&'static str> {
        match self {
            Peer::Tls => Some("this is TLS: use https://"),
            Peer::Http2 => Some("this is HTTP/2: use --http 2"),
            Peer::Http1 => Some("this is HTTP/1.1: remove --http 2"),
            Peer::Ssh => Some("this is SSH: check the port"),
            Peer::MailOrFiles => Some("this is SMTP or FTP: check the port"),
            Peer::Gzip => Some("this is gzip: the body is longer than announced"),
            Peer::Unknown => None,
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.advice() {
            Some(advice) => write!(f, "; {advice}"),
            None => f.write_str("; another protocol, or bytes beyond the end of the previous response"),
        }
    }
}

/// Where in a response the connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Within the head.
    Head {
        /// Bytes of the head that came.
        received: usize,
    },
    /// After a 1xx response, before any of the final one.
    Final,
    /// Within a body of known length.
    Body {
        /// Bytes that did not come.
        bytes: u64,
    },
    /// Within a chunked body or its trailers.
    Chunked,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::Head { received } => write!(f, "{received} bytes into a response's head"),
            Missing::Final => f.write_str("after an interim (1xx) response, before the final one"),
            Missing::Body { bytes } => write!(f, "with {bytes} bytes of the body missing"),
            Missing::Chunked => f.write_str("before the last chunk and its blank line"),
        }
    }
}

impl ProtocolError {
    /// The error for bytes that do not begin a response.
    #[cold]
    pub(crate) fn not_http(bytes: &[u8]) -> Self {
        ProtocolError::NotHttp { excerpt: excerpt(bytes), peer: Peer::recognise(bytes) }
    }
}

/// The beginning of `bytes`, printable on one line.
#[cold]
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(EXCERPT_BYTES_MAX)];
    let cut = if shown.len() < bytes.len() { "..." } else { "" };
    format!("{}{cut}", shown.escape_ascii())
}
