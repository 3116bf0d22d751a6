//! The violations of HTTP/1.1 by a server: one variant each, with the bytes that show it.
//!
//! The engine counts these as failed requests and shows the first of each kind, so a message must be clear without the
//! response. All of them end the connection: after a framing error the start of the next response is unknown.

use crate::PeerProtocol;
use crate::syntax::excerpt;
use std::fmt;

/// A response that cannot be read. Always a fault of the server, or of the process that listens on its port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The first bytes are not `HTTP/`.
    #[error("the response is not HTTP: it begins \"{excerpt}\"{peer}")]
    NotHttp {
        /// The first bytes.
        excerpt: String,
        /// The protocol that they look like.
        peer: PeerProtocol,
    },
    /// HTTP, but of a major version that is not 1.
    #[error("the response is not HTTP/1.x: it begins \"{excerpt}\"")]
    Version {
        /// The status line.
        excerpt: String,
    },
    /// The first line is not `HTTP/1.x NNN reason` with a status from 100 on (RFC 9112 §4, RFC 9110 §15).
    #[error("invalid status line \"{excerpt}\" (expected \"HTTP/1.1 200 OK\")")]
    StatusLine {
        /// The line.
        excerpt: String,
    },
    /// A control character in the reason phrase (RFC 9112 §4).
    #[error("control character in the reason phrase of \"{excerpt}\"")]
    Reason {
        /// The status line.
        excerpt: String,
    },
    /// A line that ends in LF alone (RFC 9112 §2.2). Heads and trailers may have such lines where the caller allows it.
    #[error("{section} ends in LF without CR: \"{excerpt}\"{}", section.advice())]
    BareLf {
        /// Which line it is.
        section: Section,
        /// The line, or the bytes after its last CR.
        excerpt: String,
    },
    /// NUL, or a CR without LF, in a line (RFC 9112 §2.2, RFC 9110 §5.5).
    #[error("{section} has a CR without LF, or a NUL byte: \"{excerpt}\"")]
    ControlByte {
        /// Which line it is.
        section: Section,
        /// The line, or the bytes from that one on.
        excerpt: String,
    },
    /// A line of the head is not `name: value` (RFC 9112 §5).
    #[error("invalid header line \"{excerpt}\" (expected \"name: value\", no space before the colon)")]
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
        /// The first.
        first: u64,
        /// The first that differs from it.
        second: u64,
    },
    /// A transfer coding that no request allows: none carries `TE` (RFC 9112 §6.1).
    #[error("unsupported Transfer-Encoding \"{excerpt}\" (only a single \"chunked\" is supported)")]
    TransferCoding {
        /// Its value.
        excerpt: String,
    },
    /// A chunk does not begin with its size in hexadecimal (RFC 9112 §7.1).
    #[error("invalid chunk size: \"{excerpt}\"")]
    ChunkSize {
        /// The bytes there, from the first invalid one.
        excerpt: String,
    },
    /// A chunk of 2^64 bytes or more.
    #[error("chunk size over 64 bits: \"{excerpt}\" follows the first 16 digits")]
    ChunkSizeOverflow {
        /// The bytes after the digits that still fitted.
        excerpt: String,
    },
    /// A chunk extension that is not `;name`, `;name=token` or `;name="text"` (RFC 9112 §7.1.1).
    #[error("invalid chunk extension at \"{excerpt}\" (expected ;name, ;name=token or ;name=\"text\")")]
    ChunkExtension {
        /// The bytes there, from the first invalid one.
        excerpt: String,
    },
    /// A chunk's data is not followed by CR LF: its size is wrong (RFC 9112 §7.1).
    #[error("chunk data is not followed by CR LF but by \"{excerpt}\" (wrong chunk size?)")]
    ChunkEnd {
        /// The bytes in place of CR LF.
        excerpt: String,
    },
    /// A line after the last chunk is neither a trailer nor the blank line (RFC 9112 §7.1.2).
    #[error("invalid trailer: \"{excerpt}\" (is the blank line after the last chunk missing?)")]
    Trailer {
        /// The bytes there, from the first invalid one.
        excerpt: String,
    },
    /// No blank line within [`crate::MAX_HEAD_BYTES`].
    #[error("the response headers do not end within {limit} bytes")]
    HeadTooLarge {
        /// The limit.
        limit: usize,
    },
    /// The trailers do not end within [`crate::MAX_TRAILERS_BYTES`].
    #[error("the trailers do not end within {limit} bytes")]
    TrailersTooLarge {
        /// The limit.
        limit: usize,
    },
    /// A chunk-size line, with its extensions, beyond [`crate::MAX_CHUNK_LINE_BYTES`].
    #[error("a chunk-size line does not end within {limit} bytes")]
    ChunkLineTooLong {
        /// The limit.
        limit: usize,
    },
    /// More than [`crate::MAX_INTERIM_RESPONSES`] 1xx responses before the final one.
    #[error("more than {limit} interim (1xx) responses to one request")]
    TooManyInterim {
        /// The limit.
        limit: u8,
    },
    /// 101: the server left HTTP/1.1 although no request asked for it (RFC 9110 §15.2.2).
    #[error("the server switched protocols (status 101), but no request asked for an upgrade")]
    Upgraded,
    /// The peer closed in the middle of a response.
    #[error("the connection closed {0}")]
    Truncated(Truncation),
}

/// The place in a response where the connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncation {
    /// Within the head.
    Head {
        /// Bytes of the head that were received.
        received: usize,
    },
    /// After a 1xx response, before the first byte of the final one.
    Final,
    /// Within a body of known length.
    Body {
        /// Bytes that were not received.
        bytes: u64,
    },
    /// Within a chunked body or its trailers.
    Chunked,
}

impl fmt::Display for Truncation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Truncation::Head { received } => write!(f, "after byte {received} of the response headers"),
            Truncation::Final => f.write_str("after an interim (1xx) response, before the final one"),
            Truncation::Body { bytes } => write!(f, "before the end of the body (bytes missing: {bytes})"),
            Truncation::Chunked => f.write_str("before the last chunk and its blank line"),
        }
    }
}

/// A part of a response made of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Status line and header fields.
    Head,
    /// The size of a chunk and its extensions.
    ChunkSize,
    /// The fields after the last chunk, and their blank line.
    Trailers,
}

impl Section {
    fn advice(self) -> &'static str {
        match self {
            Section::Head => " (--lenient accepts this)",
            Section::ChunkSize | Section::Trailers => "",
        }
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Section::Head => "a status or header line",
            Section::ChunkSize => "a chunk-size line",
            Section::Trailers => "a line of the trailers",
        })
    }
}

impl ProtocolError {
    /// The error for bytes that do not begin a response.
    #[cold]
    pub(crate) fn not_http(bytes: &[u8]) -> Self {
        ProtocolError::NotHttp { excerpt: excerpt(bytes), peer: PeerProtocol::recognise(bytes) }
    }
}
