//! Implements the client side of HTTP and WebSocket: request bytes out, response bytes in, without any I/O.
//!
//! The load engine owns sockets and buffers; it passes received bytes to a codec ([`h1::Decoder`],
//! [`h2::FrameReader`], [`websocket::FrameReader`]), which returns their meaning step by step. Bodies are never copied or kept, and the steady
//! state allocates no memory: a server's head rarely changes, so it is compared with the last one instead of parsed. A
//! command line becomes a [`Url`], then a [`Request`], then bytes, a [`RequestTemplate`] or [`h2::RequestBlocks`],
//! once, before a run begins.
//!
//! Invalid bytes from a server are a [`ProtocolError`] or [`h2::Http2Error`]; a request by the user that cannot be sent
//! is a [`RequestError`]. This crate does not decompress, follow redirects, keep cookies, resolve names or speak TLS,
//! and it keeps only those fields of a response that frame it.

mod body;
mod compare;
mod compile;
mod event_step;
mod events;
mod grpc;
pub mod h1;
pub mod h2;
pub mod h3;
mod message;
mod peer;
mod placeholder;
mod request;
mod request_error;
mod syntax;
mod template;
mod url;
pub mod websocket;

pub use body::{
    BodyBytes, BodyFraming, BodyLayout, BodyPart, GeneratedBody, MAX_CHUNK_BYTES, generated_bytes,
    generated_length, parse_bytes,
};
pub use compare::{equal, starts_with};
pub use event_step::EventStep;
pub use events::{EventFormat, EventReader};
pub use grpc::{
    COMPRESSED_FLAG, GrpcCode, GrpcFields, MESSAGE_PREFIX_BYTES, MessageCoding, MessageReader,
    framed_message, status_message,
};
pub use h1::{
    DecodeStep, Decoder, Framing, Head, HeadCache, LineEnds, MAX_CHUNK_LINE_BYTES, MAX_TRAILERS_BYTES,
    ProtocolError, Section, Truncation, WholeResponse,
};
pub use message::{ContentCoding, MAX_HEAD_BYTES, MAX_INTERIM_RESPONSES, Method};
pub use peer::PeerProtocol;
pub use placeholder::may_have_placeholder;
pub use request::{HttpVersion, Request, USER_AGENT};
pub use request_error::{PlaceholderError, PlaceholderProblem, RequestError};
pub use template::{Expander, FileLines, LineFiles, MAX_VARIABLE_BYTES, RandomBits, RequestTemplate};
pub use url::{Scheme, Url};
