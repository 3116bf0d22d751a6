//! QPACK, header compression for HTTP/3 (RFC 9204), without its dynamic table: the static table and literals.
//!
//! Integers and strings are those of HPACK. The client announces a dynamic table without room, so a section that refers
//! to it is an error.

use crate::h2::hpack::{integer, push_integer, push_string, string};
use crate::h2::{DecodedField, HpackError, HpackScratch};

/// Memory for Huffman-coded strings, shared by all connections of a thread.
pub type QpackScratch = HpackScratch;

/// Why a field section cannot be decoded. Always a connection error of type QPACK_DECOMPRESSION_FAILED (RFC 9204 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QpackError {
    /// An integer or a string is invalid.
    #[error(transparent)]
    Coding(#[from] HpackError),
    /// An index beyond the static table.
    #[error("QPACK index {index} is not in the static table")]
    Index {
        /// The index.
        index: u32,
    },
    /// A reference to the dynamic table, which has no room.
    #[error("a field refers to QPACK's dynamic table, which has no room")]
    Dynamic,
}

/// The bytes of a field beyond its name and value (RFC 9114 §4.2.2).
const FIELD_OVERHEAD: usize = 32;

/// The static table (RFC 9204, appendix A). The first entry has index 0.
#[rustfmt::skip]
static STATIC: [(&str, &str); 99] = [
    (":authority", ""), (":path", "/"), ("age", "0"), ("content-disposition", ""), ("content-length", "0"),
    ("cookie", ""), ("date", ""), ("etag", ""), ("if-modified-since", ""), ("if-none-match", ""),
    ("last-modified", ""), ("link", ""), ("location", ""), ("referer", ""), ("set-cookie", ""),
    (":method", "CONNECT"), (":method", "DELETE"), (":method", "GET"), (":method", "HEAD"), (":method", "OPTIONS"),
    (":method", "POST"), (":method", "PUT"), (":scheme", "http"), (":scheme", "https"), (":status", "103"),
    (":status", "200"), (":status", "304"), (":status", "404"), (":status", "503"), ("accept", "*/*"),
    ("accept", "application/dns-message"), ("accept-encoding", "gzip, deflate, br"), ("accept-ranges", "bytes"),
    ("access-control-allow-headers", "cache-control"), ("access-control-allow-headers", "content-type"),
    ("access-control-allow-origin", "*"), ("cache-control", "max-age=0"), ("cache-control", "max-age=2592000"),
    ("cache-control", "max-age=604800"), ("cache-control", "no-cache"), ("cache-control", "no-store"),
    ("cache-control", "public, max-age=31536000"), ("content-encoding", "br"), ("content-encoding", "gzip"),
    ("content-type", "application/dns-message"), ("content-type", "application/javascript"),
    ("content-type", "application/json"), ("content-type", "application/x-www-form-urlencoded"),
    ("content-type", "image/gif"), ("content-type", "image/jpeg"), ("content-type", "image/png"),
    ("content-type", "text/css"), ("content-type", "text/html; charset=utf-8"), ("content-type", "text/plain"),
    ("content-type", "text/plain;charset=utf-8"), ("range", "bytes=0-"),
    ("strict-transport-security", "max-age=31536000"),
    ("strict-transport-security", "max-age=31536000; includesubdomains"),
    ("strict-transport-security", "max-age=31536000; includesubdomains; preload"), ("vary", "accept-encoding"),
    ("vary", "origin"), ("x-content-type-options", "nosniff"), ("x-xss-protection", "1; mode=block"),
    (":status", "100"), (":status", "204"), (":status", "206"), (":status", "302"), (":status", "400"),
    (":status", "403"), (":status", "421"), (":status", "425"), (":status", "500"), ("accept-language", ""),
    ("access-control-allow-credentials", "FALSE"), ("access-control-allow-credentials", "TRUE"),
    ("access-control-allow-headers", "*"), ("access-control-allow-methods", "get"),
    ("access-control-allow-methods", "get, post, options"), ("access-control-allow-methods", "options"),
    ("access-control-expose-headers", "content-length"), ("access-control-request-headers", "content-type"),
    ("access-control-request-method", "get"), ("access-control-request-method", "post"), ("alt-svc", "clear"),
    ("authorization", ""),
    ("content-security-policy", "script-src 'none'; object-src 'none'; base-uri 'none'"), ("early-data", "1"),
    ("expect-ct", ""), ("forwarded", ""), ("if-range", ""), ("origin", ""), ("purpose", "prefetch"), ("server", ""),
    ("timing-allow-origin", "*"), ("upgrade-insecure-requests", "1"), ("user-agent", ""), ("x-forwarded-for", ""),
    ("x-frame-options", "deny"), ("x-frame-options", "sameorigin"),
];

/// Decodes a whole field section and passes each field to `field`, in order. Returns its size as a list (RFC 9114
/// §4.2.2): names, values and 32 bytes per field.
///
/// # Errors
/// [`QpackError`].
pub fn decode(
    section: &[u8],
    scratch: &mut QpackScratch,
    mut field: impl FnMut(DecodedField<'_>),
) -> Result<usize, QpackError> {
    let mut rest = section;
    // RFC 9204 §4.5.1: without references to the dynamic table the Required Insert Count is 0, and the base has no
    // meaning.
    if integer(&mut rest, 8)? != 0 {
        return Err(QpackError::Dynamic);
    }
    integer(&mut rest, 7)?;
    let mut list_size = 0;
    let mut pass = |name: &[u8], value: &[u8]| {
        list_size += name.len() + value.len() + FIELD_OVERHEAD;
        field(DecodedField { name, value, is_inserted: false });
    };
    while let Some(first) = rest.first() {
        match first {
            // Indexed field line (RFC 9204 §4.5.2).
            0xc0.. => {
                let (name, value) = entry(integer(&mut rest, 6)?)?;
                pass(name.as_bytes(), value.as_bytes());
            }
            // Literal field line with a name of the static table (RFC 9204 §4.5.4).
            0x50..0x60 | 0x70..0x80 => {
                let (name, _) = entry(integer(&mut rest, 4)?)?;
                pass(name.as_bytes(), string(&mut rest, 7, &mut scratch.value)?);
            }
            // Literal field line with a literal name (RFC 9204 §4.5.6).
            0x20..0x40 => {
                let name = string(&mut rest, 3, &mut scratch.name)?;
                pass(name, string(&mut rest, 7, &mut scratch.value)?);
            }
            _ => return Err(QpackError::Dynamic),
        }
    }
    Ok(list_size)
}

fn entry(index: u32) -> Result<(&'static str, &'static str), QpackError> {
    STATIC.get(index as usize).copied().ok_or(QpackError::Index { index })
}

/// Appends the prefix of a field section that refers to no dynamic table (RFC 9204 §4.5.1).
pub fn push_prefix(section: &mut Vec<u8>) {
    section.extend_from_slice(&[0, 0]);
}

/// Appends one field, as an index if the static table has it.
pub fn push_field(section: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    match STATIC.iter().position(|(n, v)| n.as_bytes() == name && v.as_bytes() == value) {
        Some(index) => push_integer(section, 0xc0, 6, index),
        None => {
            push_name(section, name);
            push_string(section, 0, 7, value);
        }
    }
}

/// Appends the name of a literal field; its value must follow.
pub(super) fn push_name(section: &mut Vec<u8>, name: &[u8]) {
    match STATIC.iter().position(|(known, _)| known.as_bytes() == name) {
        Some(index) => push_integer(section, 0x50, 4, index),
        None => push_string(section, 0x20, 3, name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(section: &[u8]) -> Result<Vec<(String, String)>, QpackError> {
        let mut fields = Vec::new();
        decode(section, &mut QpackScratch::default(), |DecodedField { name, value, .. }| {
            let [name, value] = [name, value].map(|text| String::from_utf8_lossy(text).into_owned());
            fields.push((name, value));
        })?;
        Ok(fields)
    }

    #[test]
    fn the_example_of_the_rfc_without_a_dynamic_table_is_read() {
        // RFC 9204, appendix B.1.
        let section = [&[0, 0, 0x51, 0x0b][..], b"/index.html"].concat();
        assert_eq!(fields(&section), Ok(vec![(":path".into(), "/index.html".into())]));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let given = [(":status", "200"), (":status", "418"), ("server", "x"), ("x-own", "ü"), ("vary", "")];
        let mut section = Vec::new();
        push_prefix(&mut section);
        given.iter().for_each(|(name, value)| push_field(&mut section, name.as_bytes(), value.as_bytes()));
        let read = fields(&section).unwrap();
        assert_eq!(read.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect::<Vec<_>>(), given);
        assert_eq!(section[2], 0xc0 | 25, ":status 200 is one index");
        let size = decode(&section, &mut QpackScratch::default(), |_| {}).unwrap();
        assert_eq!(size, given.iter().map(|(name, value)| name.len() + value.len() + 32).sum::<usize>());
    }

    #[test]
    fn references_to_the_dynamic_table_are_errors() {
        for section in
            [&[1, 0][..], &[0, 0, 0x80], &[0, 0, 0x10], &[0, 0, 0x40, 0], &[0, 0, 0x60, 0], &[0, 0, 0, 0]]
        {
            assert_eq!(fields(section), Err(QpackError::Dynamic), "{section:?}");
        }
        assert_eq!(fields(&[0, 0, 0xff, 36]), Err(QpackError::Index { index: 99 }));
        assert_eq!(fields(&[0, 0, 0xff, 35]).unwrap()[0].0, "x-frame-options");
        for section in [&[][..], &[0], &[0, 0, 0x51], &[0, 0, 0x51, 2, b'/'], &[0, 0, 0x23, b'a']] {
            assert_eq!(fields(section), Err(QpackError::Coding(HpackError::Truncated)), "{section:?}");
        }
    }
}
