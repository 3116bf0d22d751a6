//! Implements the client side of HTTP/3 (RFC 9114) above QUIC's streams, sans-IO: frames in and out, and QPACK with its
//! static table alone.
//!
//! The engine owns the QUIC connection. The parts that it uses, in the order of a connection's life:
//!
//! 1. [`write_control_stream`]; of each stream that the server opens, [`StreamKindReader`] reads the type, and
//!    [`FrameReader::control`] the frames of its control stream, [`DecoderStreamReader`] those of its QPACK decoder.
//! 2. [`RequestSections`] writes a request, as the bytes of its stream; a body follows [`write_data_head`].
//! 3. [`FrameReader::request`] turns the bytes of a response into [`FrameEvent`]s, [`SectionDecoder`] reads its field
//!    sections, and [`crate::h2::ResponseProgress`] checks that the parts come in order and add up.
//! 4. An [`Http3Error`] says whether it ends the stream or the connection, and with which [`ErrorCode`].
//!
//! The server is told that the dynamic table has no room (RFC 9204 §3.2.3), so a field section means the same on every
//! connection. In the steady state this allocates no memory: known sections are compared.

mod error;
mod frame;
mod qpack;
mod reader;
mod request;
mod response;
mod varint;

pub use error::{ErrorCode, FrameName, Http3Error};
pub use frame::{
    SettingsPayload, StreamKind, write_control_stream, write_data, write_data_head, write_goaway,
    write_headers,
};
pub use qpack::{QpackError, QpackScratch, decode as decode_section, push_field, push_prefix};
pub use reader::{DecoderStreamReader, FrameEvent, FrameReader, MAX_FIELD_SECTION_BYTES, StreamKindReader};
pub use request::{RequestSections, body_layout, is_safe_text, write_text_request};
pub use response::SectionDecoder;
pub use varint::{MAX_VARINT, VARINT_BYTES, read_varint, varint_length, write_varint};
