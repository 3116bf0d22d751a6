//! HTTP as a client speaks it: request bytes out, response bytes in, no I/O anywhere.
//!
//! The load engine owns sockets and buffers; it hands what it received to a codec ([`h1::Decoder`], [`h2::FrameReader`])
//! and gets back, step by step, what that was. Bodies are never copied or kept, and in the steady state nothing is
//! allocated: a server's head rarely changes, so the last one is compared instead of parsed. A command line becomes a
//! [`Url`], then a [`Request`], then bytes, a [`RequestTemplate`] or [`h2::RequestBlocks`], once, before a run begins.
//!
//! What a server sends that is invalid is a [`ProtocolError`] or [`h2::Http2Error`], what a person asks that cannot be
//! sent a [`RequestError`]. This crate does not decompress, follow redirects, keep cookies, resolve names or speak TLS,
//! and it keeps none of a response's fields beyond what frames it.

mod compile;
pub mod h1;
pub mod h2;
mod message;
mod peer;
mod placeholder;
mod request;
mod request_error;
mod syntax;
mod template;
mod url;

pub use h1::{
    CHUNK_LINE_BYTES_MAX, Decoder, Framing, Head, HeadCache, LineEnds, ProtocolError, Section, Step,
    TRAILERS_BYTES_MAX, Truncation, Whole,
};
pub use message::{HEAD_BYTES_MAX, INTERIM_RESPONSES_MAX, Method};
pub use peer::Peer;
pub use request::{Request, USER_AGENT, Version};
pub use request_error::{PlaceholderError, PlaceholderProblem, RequestError};
pub use template::{Expander, LineFiles, Lines, RandomBits, RequestTemplate, VARIABLE_BYTES_MAX};
pub use url::{Scheme, Url};
