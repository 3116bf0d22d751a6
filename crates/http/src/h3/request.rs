//! Prepares the requests of a run as HTTP/3 sends them (RFC 9114 §4.3.1), once for all connections.
//!
//! A field section uses no dynamic table, so it is the same on every connection. A request that is the same every time
//! is the same bytes on every stream.

use super::frame::{write_data, write_data_head, write_headers};
use super::qpack::{push_field, push_name, push_prefix};
use crate::body::{BodyFraming, BodyLayout, GeneratedBody};
use crate::h2::Http2Request;
use crate::h2::hpack::push_string_length;
use crate::h2::request::FieldTemplate;
use crate::template::{Expander, TemplatePart};
use crate::{RandomBits, Scheme};
use std::num::NonZeroU32;
use std::ops::Range;

/// All requests of a run, encoded.
#[derive(Clone, Debug)]
pub struct RequestSections {
    kinds: Vec<KindSection>,
    /// A field section that is being written.
    section: Vec<u8>,
}

/// One kind of request.
#[derive(Clone, Debug)]
struct KindSection {
    /// The field section, without the values that are made for each request.
    bytes: Vec<u8>,
    /// The offsets in `bytes` where values are inserted, and the parts that make them.
    values: Vec<(usize, Range<usize>)>,
    /// The placeholders of all fields, in order, then the body's.
    parts: Vec<TemplatePart>,
    /// The index of the first part of the body.
    body_at: usize,
    /// The body, if it is the same in every request; none otherwise. With chunks, in its DATA frames.
    fixed_body: Option<Vec<u8>>,
    /// The length of a body that is generated or read as it is sent; `fixed_body` is then empty.
    generated: Option<u64>,
    framing: BodyFraming,
    is_safe: bool,
}

impl RequestSections {
    /// Encodes all kinds of request of a run.
    pub fn new(requests: &[Http2Request]) -> Self {
        Self { kinds: requests.iter().map(KindSection::new).collect(), section: Vec::new() }
    }

    /// The number of kinds.
    pub fn count(&self) -> usize {
        self.kinds.len()
    }

    /// What follows on the stream if the body of this kind of request is the same every time: the body or, with chunks, its DATA
    /// frames; empty if it has none, or a generated one.
    pub fn fixed_body(&self, kind: usize) -> Option<&[u8]> {
        self.kinds[kind].fixed_body.as_deref()
    }

    /// Whether this kind of request may be sent as early data of TLS, which an attacker can repeat: its method is safe
    /// (RFC 9110 §9.2.1, RFC 8470 §4), and it has no body.
    pub fn is_safe(&self, kind: usize) -> bool {
        self.kinds[kind].is_safe
    }

    /// The generated body of this kind of request, if it has one.
    pub fn generated_body(&self, kind: usize) -> Option<GeneratedBody> {
        let kind = &self.kinds[kind];
        kind.generated.map(|length| match kind.framing {
            BodyFraming::Length => GeneratedBody::plain(length),
            BodyFraming::Chunks(size) => GeneratedBody::framed(length, size, write_data, &[]),
        })
    }

    /// The maximum number of placeholders and pieces of text in a kind, for [`Expander::for_parts`].
    pub fn parts_max(&self) -> usize {
        self.kinds.iter().map(|kind| kind.parts.len()).max().unwrap_or(0)
    }

    /// The bytes of a stream before the body, if the request is the same every time: HEADERS and the head of DATA.
    pub fn fixed_head(&self, kind: usize) -> Option<Vec<u8>> {
        let kind = &self.kinds[kind];
        let body = kind.fixed_body.as_ref().filter(|_| kind.parts.is_empty())?;
        let mut out = Vec::new();
        write_headers(&mut out, &kind.bytes);
        kind.write_data_head(&mut out, body.len());
        Some(out)
    }

    /// Appends the next request to `out`: HEADERS and, if it has a body, the head of DATA. A body that is not fixed is
    /// written to `body`.
    pub fn write<R: RandomBits>(
        &mut self,
        kind: usize,
        expander: &mut Expander<R>,
        out: &mut Vec<u8>,
        body: &mut Vec<u8>,
    ) {
        let kind = &self.kinds[kind];
        let section = &mut self.section;
        section.clear();
        let drawn = expander.draw_all(&kind.parts, kind.body_at);
        let mut at = 0;
        for (place, parts) in &kind.values {
            section.extend_from_slice(&kind.bytes[at..*place]);
            push_string_length(section, drawn.length(&kind.parts, parts.clone()));
            drawn.write(&kind.parts, parts.clone(), section);
            at = *place;
        }
        section.extend_from_slice(&kind.bytes[at..]);
        body.clear();
        if kind.fixed_body.is_none() {
            drawn.write(&kind.parts, kind.body_at..kind.parts.len(), body);
            if let BodyFraming::Chunks(size) = kind.framing {
                *body = in_frames(body, size);
            }
        }
        expander.next_request(drawn);
        write_headers(out, section);
        kind.write_data_head(out, kind.fixed_body.as_ref().map_or(body.len(), Vec::len));
    }
}

impl KindSection {
    fn new(request: &Http2Request) -> Self {
        let framing = request.framing();
        let fixed_body = request.fixed_body().map(|body| match framing {
            BodyFraming::Length => body,
            BodyFraming::Chunks(size) => in_frames(&body, size),
        });
        let (mut bytes, mut values, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        push_prefix(&mut bytes);
        // Pseudo-header fields come first (RFC 9114 §4.3).
        for is_pseudo in [true, false] {
            for field in request.fields().filter(|field| field.name.starts_with(b":") == is_pseudo) {
                match field.fixed() {
                    Some(value) => push_field(&mut bytes, &field.name, value),
                    None => {
                        push_name(&mut bytes, &field.name);
                        values.push((bytes.len(), parts.len()..parts.len() + field.value.len()));
                        parts.extend(field.value.iter().cloned());
                    }
                }
            }
        }
        let body_at = parts.len();
        if fixed_body.is_none() {
            parts.extend(request.body().iter().cloned());
        }
        let method = request.fields().find(|field| field.name == b":method").and_then(FieldTemplate::fixed);
        let has_no_body = fixed_body.as_ref().is_some_and(Vec::is_empty) && request.generated().is_none();
        let is_safe = has_no_body && method.is_some_and(is_safe_method);
        Self { bytes, values, parts, body_at, fixed_body, generated: request.generated(), framing, is_safe }
    }

    /// Appends the head of the DATA frame for the body, or for `body_bytes` if that is not generated. A body in chunks has its
    /// own.
    fn write_data_head(&self, out: &mut Vec<u8>, body_bytes: usize) {
        let length = self.generated.map_or(body_bytes, |length| length as usize);
        if self.framing == BodyFraming::Length && length > 0 {
            write_data_head(out, length);
        }
    }
}

/// Where the content of a body that is read as it is sent stands on the stream: after the head that
/// [`RequestSections::write`] appends or, in chunks, in DATA frames.
pub fn body_layout(content: u64, framing: BodyFraming) -> BodyLayout {
    match framing {
        BodyFraming::Length => BodyLayout::plain(content),
        BodyFraming::Chunks(size) => BodyLayout::framed(content, size, write_data_head),
    }
}

/// Whether a method is safe: of those that are (RFC 9110 §9.2.1), the two that read a resource.
fn is_safe_method(method: &[u8]) -> bool {
    method == b"GET" || method == b"HEAD"
}

/// A body in DATA frames of a size.
fn in_frames(body: &[u8], size: NonZeroU32) -> Vec<u8> {
    let mut frames = Vec::new();
    body.chunks(size.get() as usize).for_each(|piece| write_data(&mut frames, piece));
    frames
}

/// Appends a request that is given as text, in the form of HTTP/1.1: HEADERS and, if it has a body, the head of DATA.
/// Returns the offset of the body in the text. The text was checked when its template was compiled.
pub fn write_text_request(text: &[u8], scheme: Scheme, out: &mut Vec<u8>) -> usize {
    let text = crate::h2::message::RequestText::new(text);
    let mut section = Vec::new();
    push_prefix(&mut section);
    text.fields(scheme, |name, value| push_field(&mut section, name, value));
    write_headers(out, &section);
    let body_bytes = text.body_bytes();
    if body_bytes > 0 {
        write_data_head(out, body_bytes);
    }
    text.body_at()
}

/// Whether a request that is given as text may be sent as early data: see [`RequestSections::is_safe`].
pub fn is_safe_text(text: &[u8]) -> bool {
    let method = text.split(|byte| *byte == b' ').next().unwrap_or_default();
    is_safe_method(method) && crate::h2::message::RequestText::new(text).body_bytes() == 0
}
