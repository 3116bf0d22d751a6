//! Converts messages of gRPC between JSON and protobuf (ProtoJSON, <https://protobuf.dev/programming-guides/json/>).
//!
//! A [`Schema`] comes from `.proto` files or from descriptors that a server sends; it has the [`Method`] of a path, which
//! encodes requests and decodes responses. [`reflection`] has the messages with which a server is asked for its
//! descriptors. Used only before a run and to show an exchange: the engine sends and counts bytes.
//!
//! It opens no file and no connection. No input causes a panic.

pub mod reflection;
mod schema;

pub use schema::{Method, Schema, SchemaError, SourceFiles};
