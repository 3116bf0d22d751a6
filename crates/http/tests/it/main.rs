//! The codec from outside: tables for each rule of RFC 9110 and 9112 that a client needs, and properties that hold for
//! any bytes in any pieces.
//!
//! `responses`, `requests`, `urls` and `templates` have the tables, `pieces` the properties. No socket is opened: bytes
//! on the way are the engine's tests' matter.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test, in a test's own functions too")]

mod allocation;
mod generate;
mod http2;
mod observe;
mod oracle;
mod pieces;
mod requests;
mod responses;
mod templates;
mod urls;
