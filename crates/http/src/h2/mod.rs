//! Implements the client side of HTTP/2 (RFC 9113), sans-IO: frames in and out, HPACK, and the protocol state that does
//! not depend on scheduling.
//!
//! The engine owns sockets, streams and their order. The parts that it uses, in the order of a connection's life:
//!
//! 1. [`write_client_preface`]; then [`FrameReader`] turns what is received into [`FrameEvent`]s. The connection is usable
//!    when the peer's first SETTINGS have come ([`PeerSettings`]) and were acknowledged.
//! 2. [`RequestBlocks`] writes a request on a stream of [`StreamIds`]; a body goes out as [`write_data`] allowed by
//!    [`SendWindow`].
//! 3. [`FieldDecoder`] reads field blocks, with the thread's [`BlockCache`]; [`ResponseProgress`] checks that a
//!    stream's parts come in order and add up; [`ReceiveWindow`] says when to send WINDOW_UPDATE.
//! 4. An [`Http2Error`] says whether it ends the stream or the connection, and with which [`ErrorCode`].
//!
//! In the steady state this allocates no memory: frames are read where they were received, and known blocks are
//! compared.

mod error;
mod extended_connect;
mod flow;
mod frame;
pub(crate) mod hpack;
pub(crate) mod message;
mod reader;
pub(crate) mod request;
pub(crate) mod response;
mod settings;

pub use error::{ErrorCode, FrameName, Http2Error, MalformedResponse};
pub use extended_connect::{ExtendedConnectAnswer, write_extended_connect};
pub use flow::{MAX_WINDOW, ReceiveWindow, SendWindow, StreamIds, WINDOW_DEFAULT};
pub use frame::{
    CLIENT_PREFACE, FRAME_HEAD_BYTES, FRAME_SIZE_DEFAULT, FrameHead, MAX_STREAM_ID, STREAM_AT, write_data,
    write_field_block, write_goaway, write_ping, write_ping_ack, write_reset, write_settings,
    write_settings_ack, write_window_update,
};
pub use hpack::{
    BlockSummary, DecodedField, HpackDecoder, HpackEncoder, HpackError, HpackScratch, Indexing,
    TABLE_SIZE_DEFAULT,
};
pub use message::write_text_request;
pub use reader::{
    FrameEvent, FrameReader, MAX_CONTINUATIONS, MAX_FIELD_BLOCK_BYTES, MAX_IDLE_FRAMES, whole_data,
};
pub use request::{Http2Request, RequestBlocks, RequestTable};
pub use response::{
    BlockCache, BlockRole, DecodedFields, FieldDecoder, MAX_HEADER_LIST_BYTES, RecognisedBlock,
    ResponseFields, ResponseProgress,
};
pub use settings::{OUR_WINDOW, PeerSettings, SettingsPayload, write_client_preface};
