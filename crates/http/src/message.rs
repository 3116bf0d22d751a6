//! Defines the parts common to HTTP/1.1 and HTTP/2 messages: request methods as a reader of responses needs them, and
//! limits.
//!
//! Both codecs use these, so that the limits do not depend on the server's protocol.

/// The maximum length of a head, its blank line included, and of a header list. Four times Node's default limit (16
/// KiB), and small enough that 10,000 connections sending endless fields cannot exhaust a machine.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;

/// The maximum number of 1xx responses before the final one. Go's client long stopped at 5 (`max1xxResponses`); a
/// server that sends many more is in a loop.
pub const INTERIM_RESPONSES_MAX: u8 = 16;

/// The property of the request's method that the reader of a response needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `HEAD`: the response has no body, whatever its fields say.
    Head,
    /// Every other method that a [`crate::Request`] can carry.
    Other,
}

impl Method {
    /// The kind of a method, by its name. Names are case-sensitive (RFC 9110 §9.1).
    pub fn of(name: &str) -> Method {
        if name == "HEAD" { Method::Head } else { Method::Other }
    }
}
