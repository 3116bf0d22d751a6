//! Tests the codec from outside: tables for each rule of RFC 9110 and 9112 that a client needs, and properties that
//! hold for any bytes in any pieces.
//!
//! The tables are in `responses`, `requests`, `events`, `urls` and `templates`, the properties in `pieces`. No socket is opened:
//! the engine's tests cover the transport.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test, in a test's own functions too")]

mod allocation;
mod events;
mod generate;
mod http2;
mod http3;
mod observe;
mod oracle;
mod pieces;
mod requests;
mod responses;
mod templates;
mod urls;
mod websocket;
