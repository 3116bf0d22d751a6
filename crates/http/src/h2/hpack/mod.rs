//! HPACK, header compression for HTTP/2 (RFC 7541).
//!
//! The decoder reads the peer's blocks. Names and values are passed on as slices of the block, the tables or a scratch
//! buffer; it reports what a block referred to, so that callers can compare bytes when the same block comes again. The
//! encoder prepares request blocks before a run and serves simulated servers; the hot path sends the prepared blocks.

mod decoder;
mod encoder;
mod huffman;
mod table;

pub use decoder::{BlockSummary, DecodedField, HpackDecoder, HpackError, HpackScratch};
pub(crate) use decoder::{integer, string};
pub use encoder::{HpackEncoder, Indexing};
pub(crate) use encoder::{
    push_integer, push_literal_name, push_size_update, push_string, push_string_length,
};
pub use table::TABLE_SIZE_DEFAULT;
