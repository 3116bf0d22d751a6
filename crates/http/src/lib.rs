//! HTTP/1.1 as a client speaks it: request bytes out, response bytes in, no I/O anywhere.
//!
//! The load engine owns sockets and buffers; it hands what it received to a [`Decoder`] and is told, step by step, what
//! that was. The body is never copied or kept, and in the steady state nothing is allocated: a server's head rarely
//! changes, so each worker keeps the last one ([`HeadCache`]) and the next is compared instead of parsed.
//! A command line becomes a [`Url`], then a [`Request`], then bytes or a [`RequestTemplate`], once, before a run begins.
//!
//! What a server sends wrongly is a [`ProtocolError`], what a person asks wrongly a [`RequestError`]. This crate does not
//! decompress, follow redirects, keep cookies, resolve names or speak TLS, and it keeps none of a response's fields
//! beyond what frames it.

mod cache;
mod chunks;
mod compile;
mod decoder;
mod error;
pub mod h2;
mod head;
mod lines;
mod placeholder;
mod request;
mod request_error;
mod template;
mod url;

pub use cache::HeadCache;
pub use chunks::{CHUNK_LINE_BYTES_MAX, TRAILERS_BYTES_MAX};
pub use decoder::{Decoder, INTERIM_RESPONSES_MAX, Step, Whole};
pub use error::{Missing, Peer, ProtocolError};
pub use head::{Framing, HEAD_BYTES_MAX, Head, Method};
pub use lines::{LineFiles, Lines};
pub use placeholder::{PlaceholderError, PlaceholderProblem};
pub use request::{Request, USER_AGENT, Version};
pub use request_error::RequestError;
pub use template::{Expander, RandomBits, RequestTemplate};
pub use url::{Scheme, Url};
