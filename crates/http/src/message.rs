//! Defines the parts common to HTTP/1.1 and HTTP/2 messages: request methods as a reader of responses needs them,
//! content codings, and limits.
//!
//! Both codecs use these, so that the limits do not depend on the server's protocol.

/// The maximum length of a head, its blank line included, and of a header list. Four times Node's default limit (16
/// KiB), and small enough that 10,000 connections sending endless fields cannot exhaust a machine.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The maximum number of 1xx responses before the final one. Go's client long stopped at 5 (`max1xxResponses`); a
/// server that sends many more is in a loop.
pub const MAX_INTERIM_RESPONSES: u8 = 16;

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
    pub fn from_name(name: &str) -> Method {
        if name == "HEAD" { Method::Head } else { Method::Other }
    }
}

/// How the content of a response is coded (RFC 9110 §8.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContentCoding {
    /// Not at all.
    #[default]
    Identity,
    /// `gzip` or `x-gzip` (RFC 1952).
    Gzip,
    /// `deflate` (RFC 1950; some servers send RFC 1951).
    Deflate,
    /// `br` (RFC 7932).
    Brotli,
    /// `zstd` (RFC 8878).
    Zstd,
    /// Another compression of IANA's registry of content codings, such as `compress`.
    OtherCompression,
    /// Several codings, one applied to the result of the other.
    Several,
    /// Any other word. Some servers write a character set there, such as `utf-8`, and do not code the content.
    Unknown,
}

impl ContentCoding {
    /// The coding by its name in a `Content-Encoding` field. curl also takes `none` for `identity`.
    fn from_name(name: &[u8]) -> Self {
        const NAMES: [(&[u8], ContentCoding); 14] = [
            (b"", ContentCoding::Identity),
            (b"identity", ContentCoding::Identity),
            (b"none", ContentCoding::Identity),
            (b"gzip", ContentCoding::Gzip),
            (b"x-gzip", ContentCoding::Gzip),
            (b"deflate", ContentCoding::Deflate),
            (b"br", ContentCoding::Brotli),
            (b"zstd", ContentCoding::Zstd),
            (b"compress", ContentCoding::OtherCompression),
            (b"x-compress", ContentCoding::OtherCompression),
            (b"dcb", ContentCoding::OtherCompression),
            (b"dcz", ContentCoding::OtherCompression),
            (b"exi", ContentCoding::OtherCompression),
            (b"pack200-gzip", ContentCoding::OtherCompression),
        ];
        let known = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        known.map_or(ContentCoding::Unknown, |(_, coding)| *coding)
    }

    /// Adds the value of a `Content-Encoding` field: a list of codings, in the order in which they were applied.
    pub(crate) fn add(&mut self, value: &[u8]) {
        for name in value.split(|&byte| byte == b',') {
            *self = match (*self, ContentCoding::from_name(name.trim_ascii())) {
                (coding, ContentCoding::Identity) | (ContentCoding::Identity, coding) => coding,
                _ => ContentCoding::Several,
            };
        }
    }

    /// Whether the content is known to be compressed.
    pub fn is_compressed(self) -> bool {
        !matches!(self, ContentCoding::Identity | ContentCoding::Unknown)
    }
}

#[test]
fn content_codings_are_read_from_any_number_of_fields() {
    let of = |fields: &[&str]| {
        let mut coding = ContentCoding::default();
        fields.iter().for_each(|field| coding.add(field.as_bytes()));
        coding
    };
    for (fields, coding) in [
        (&[][..], ContentCoding::Identity),
        (&[""], ContentCoding::Identity),
        (&["identity"], ContentCoding::Identity),
        (&["None"], ContentCoding::Identity),
        (&["x-GZIP"], ContentCoding::Gzip),
        (&["identity, deflate"], ContentCoding::Deflate),
        (&["br"], ContentCoding::Brotli),
        (&["gzip,\tgzip"], ContentCoding::Several),
        (&["gzip", "br"], ContentCoding::Several),
        (&["utf-8"], ContentCoding::Unknown),
    ] {
        assert_eq!(of(fields), coding, "{fields:?}");
    }
    assert!(!ContentCoding::Unknown.is_compressed() && ContentCoding::Several.is_compressed());
}
