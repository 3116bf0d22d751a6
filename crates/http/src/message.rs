//! What the messages of HTTP/1.1 and HTTP/2 have in common: methods as a reader of responses sees them, and limits.
//!
//! Both codecs use these, so that a server meets the same limits whatever it speaks.

/// The longest head read, its blank line included, and the longest header list. Four times what Node allows by default
/// (16 KiB), and little enough that 10,000 connections sending endless fields cannot exhaust a machine.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;

/// How many 1xx responses may precede the final one. Go's client long stopped at 5 (`max1xxResponses`); a server that
/// sends many more is in a loop.
pub const INTERIM_RESPONSES_MAX: u8 = 16;

/// What the reader of a response needs to know of the request's method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `HEAD`: the response has no body, whatever its fields say.
    Head,
    /// Every other method that a [`crate::Request`] can carry.
    Other,
}

impl Method {
    /// The kind of a method's name. Names are case-sensitive (RFC 9110 §9.1).
    pub fn of(name: &str) -> Method {
        if name == "HEAD" { Method::Head } else { Method::Other }
    }
}
