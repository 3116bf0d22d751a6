//! Writes requests that are given as text, in the form of HTTP/1.1 (RFC 9112 §3, §5), as HTTP/2 sends them.
//!
//! The requests of sessions have cookies and extracted values, and those that follow redirects have other methods and
//! paths: such a request is made as text, the same for every HTTP version. Requests of other runs are prepared once
//! (`request`). The text was checked when its template was compiled for HTTP/2 ([`crate::Request::compile_http2`]).

use super::frame::{close_field_block, write_field_block};
use super::hpack::{HpackEncoder, Indexing};
use super::request::RequestTable;
use crate::Scheme;

/// A request as text: its lines, and where its body begins.
pub(crate) struct RequestText<'t> {
    text: &'t [u8],
    head_bytes: usize,
}

impl<'t> RequestText<'t> {
    /// A request in the form of HTTP/1.1, which is valid.
    pub(crate) fn new(text: &'t [u8]) -> Self {
        let head_bytes =
            text.windows(4).position(|four| four == b"\r\n\r\n").map_or(text.len(), |end| end + 2);
        Self { text, head_bytes }
    }

    /// The offset of the body in the text.
    pub(crate) fn body_at(&self) -> usize {
        self.text.len().min(self.head_bytes + 2)
    }

    /// The length of the body.
    pub(crate) fn body_bytes(&self) -> usize {
        self.text.len() - self.body_at()
    }

    /// Passes on the fields in the order of a field section: pseudo-header fields first, names in lower case, without
    /// fields of the connection (RFC 9113, section 8.2.2).
    pub(crate) fn fields(&self, scheme: Scheme, mut field: impl FnMut(&[u8], &[u8])) {
        let mut lines = self.text[..self.head_bytes].split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
        let mut words = lines.next().unwrap_or_default().split(|byte| *byte == b' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let fields = lines.filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            Some((line[..colon].to_ascii_lowercase(), line[colon + 1..].trim_ascii()))
        });
        field(b":method", method);
        field(b":scheme", scheme.http_name().as_bytes());
        for (_, host) in fields.clone().filter(|(name, _)| name == b"host") {
            field(b":authority", host);
        }
        field(b":path", path);
        let is_left_out = |name: &[u8]| {
            matches!(name, b"host" | b"connection" | b"keep-alive" | b"proxy-connection" | b"upgrade")
        };
        for (name, value) in fields.filter(|(name, _)| !is_left_out(name)) {
            field(&name, value);
        }
    }
}

/// Appends the field block of a request, as HEADERS and CONTINUATION frames. No field is inserted into the peer's
/// table. Returns the offset of the body in the text; the stream ends here if there is none.
pub fn write_text_request(
    text: &[u8],
    scheme: Scheme,
    stream: u32,
    table: &mut RequestTable,
    out: &mut Vec<u8>,
) -> usize {
    let text = RequestText::new(text);
    let start = out.len();
    write_field_block(out, stream, &[], false);
    let block_at = out.len();
    table.write_size_update(out);
    let mut encoder = HpackEncoder::default();
    text.fields(scheme, |name, value| encoder.field(name, value, Indexing::Omit, out));
    close_field_block(out, start, block_at, stream, text.body_bytes() == 0);
    text.body_at()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::h2::{FrameEvent, FrameReader, HpackDecoder, HpackScratch, write_settings};

    /// The fields of the frames, a line each, and whether the stream ends with them.
    fn fields(frames: &[u8]) -> (String, bool) {
        // SETTINGS come first.
        let (mut reader, mut received) = (FrameReader::default(), Vec::new());
        write_settings(&mut received, &[]);
        received.extend_from_slice(frames);
        let mut input = received.as_slice();
        while !input.is_empty() {
            let (event, taken) = reader.next(input).unwrap();
            if let FrameEvent::FieldBlock { block, end_stream, .. } = event {
                let mut text = String::new();
                HpackDecoder::default()
                    .decode(block, &mut HpackScratch::default(), |field| {
                        let [name, value] = [field.name, field.value].map(String::from_utf8_lossy);
                        text += &format!("{name}: {value}\n");
                    })
                    .unwrap();
                return (text, end_stream);
            }
            input = &input[taken..];
        }
        panic!("no field block")
    }

    #[test]
    fn a_request_keeps_its_fields_in_their_order() {
        let text =
            b"POST /a?b HTTP/1.1\r\nHost: a:8080\r\nX-Id: 7\r\nCookie: a=1\r\nContent-Length: 2\r\n\r\nhi";
        let (mut out, mut table) = (Vec::new(), RequestTable::default());
        let body_at = write_text_request(text, Scheme::Http, 1, &mut table, &mut out);
        assert_eq!(&text[body_at..], b"hi");
        let expected = ":method: POST\n:scheme: http\n:authority: a:8080\n:path: /a?b\nx-id: 7\ncookie: a=1\ncontent-length: 2\n";
        assert_eq!(fields(&out), (expected.to_owned(), false));
        assert_eq!(table, RequestTable::Empty);
    }

    #[test]
    fn a_request_without_a_body_ends_its_stream_and_a_small_table_is_announced() {
        let long = "x".repeat(20_000);
        let text = format!("GET / HTTP/1.1\r\nHost: a\r\nlong: {long}\r\n\r\n");
        let (mut out, mut table) = (Vec::new(), RequestTable::Shrinking);
        let body_at = write_text_request(text.as_bytes(), Scheme::Https, 3, &mut table, &mut out);
        assert_eq!((body_at, table), (text.len(), RequestTable::Unused));
        let (fields, ends) = fields(&out);
        assert!(ends && fields.ends_with(&format!("long: {long}\n")), "in several frames");
    }
}
