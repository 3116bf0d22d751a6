//! Decodes HTTP/1.1 responses on the client side (RFC 9112), sans-IO.
//!
//! [`Decoder`] turns a connection's bytes into [`DecodeStep`]s, strictly: framing that two readers could understand
//! differently is a [`ProtocolError`]. [`HeadCache`] replaces parsing by a comparison in the usual case. Requests, for
//! both versions, are in [`crate::Request`] and [`crate::RequestTemplate`].

mod chunks;
mod decoder;
mod error;
mod head;

pub use chunks::{MAX_CHUNK_LINE_BYTES, MAX_TRAILERS_BYTES};
pub use decoder::{DecodeStep, Decoder, WholeResponse};
pub use error::{ProtocolError, Section, Truncation};
pub use head::{Framing, Head, HeadCache, LineEnds};
pub(crate) use head::{members, read_head};
