//! Prepares the field blocks of requests once for all connections of a run (RFC 9113 §8.3.1, RFC 7541 §2.2).
//!
//! Fields that all kinds of request of a run share (`:authority`, `user-agent`; with one kind, all fields) are inserted
//! into the dynamic table by the first request of a connection, in the same order for every kind, and each is one index
//! in every later request. Fields that only some kinds have, and fields with placeholders, are sent without indexing.
//! So the indices are the same on every connection, and the state of its encoder is one value ([`RequestTable`]). A
//! peer whose table is smaller than the default is sent a third form, which uses no table.

use super::frame::{FRAME_SIZE_DEFAULT, write_field_block};
use super::hpack::{
    HpackEncoder, Indexing, TABLE_SIZE_DEFAULT, push_literal_name, push_size_update, push_string_length,
};
use super::settings::PeerSettings;
use crate::RandomBits;
use crate::body::{BodyBytes, BodyFraming};
use crate::template::{Expander, TemplatePart, join};

/// A request as HTTP/2 and HTTP/3 send it: pseudo-header fields first, names in lower case, values possibly with placeholders.
/// Created by [`crate::Request::compile_http2`].
#[derive(Clone, Debug)]
pub struct Http2Request {
    fields: Vec<FieldTemplate>,
    body: Vec<TemplatePart>,
    /// The length of a body that is generated or read as it is sent; `body` is then empty.
    generated: Option<u64>,
    framing: BodyFraming,
}

#[derive(Clone, Debug)]
pub(crate) struct FieldTemplate {
    pub name: Vec<u8>,
    pub value: Vec<TemplatePart>,
}

impl FieldTemplate {
    /// The value, if it is the same in every request.
    pub(crate) fn fixed(&self) -> Option<&[u8]> {
        match self.value.as_slice() {
            [] => Some(&[]),
            [TemplatePart::Text(text)] => Some(text),
            _ => None,
        }
    }
}

impl Http2Request {
    /// Creates a request from its fields, in the order in which they are sent, and a body.
    pub(crate) fn new(fields: Vec<(String, Vec<TemplatePart>)>, body: Vec<TemplatePart>) -> Self {
        let body = join(body);
        let length = match body.as_slice() {
            [] => Some(0),
            [TemplatePart::Text(text)] => Some(text.len()),
            _ => None,
        };
        let settle = |part| match (part, length) {
            (TemplatePart::BodyLength, Some(length)) => TemplatePart::Text(length.to_string().into_bytes()),
            (part, _) => part,
        };
        let field = |(name, value): (String, Vec<TemplatePart>)| {
            let value = join(value.into_iter().map(settle).collect());
            FieldTemplate { name: name.into_bytes(), value }
        };
        let fields = fields.into_iter().map(field).collect();
        Self { fields, body, generated: None, framing: BodyFraming::Length }
    }

    /// The same with a body that is generated, or that is framed in another way than by its length.
    pub(crate) fn with_framing(self, generated: Option<u64>, framing: BodyFraming) -> Self {
        Self { generated, framing, ..self }
    }

    /// The length of a body that is generated.
    pub(crate) fn generated(&self) -> Option<u64> {
        self.generated
    }

    /// How the body is framed.
    pub(crate) fn framing(&self) -> BodyFraming {
        self.framing
    }

    /// The fields, in the order in which they are sent.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &FieldTemplate> {
        self.fields.iter()
    }

    /// The parts of the body.
    pub(crate) fn body(&self) -> &[TemplatePart] {
        &self.body
    }

    /// The body, if it is the same in every request.
    pub(crate) fn fixed_body(&self) -> Option<Vec<u8>> {
        match self.body.as_slice() {
            [] => Some(Vec::new()),
            [TemplatePart::Text(text)] => Some(text.clone()),
            _ => None,
        }
    }

    /// The value of a field that occurs once.
    fn only(&self, name: &[u8]) -> Option<&FieldTemplate> {
        let mut same = self.fields.iter().filter(|field| field.name == name);
        same.next().filter(|_| same.next().is_none())
    }
}

/// The encoder's half of one connection's HPACK state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestTable {
    /// No request was sent yet: the next one inserts the shared fields.
    #[default]
    Empty,
    /// The shared fields are in the peer's table.
    Filled,
    /// The peer has made its table smaller. The next request announces that it is not used (RFC 7541 §4.2).
    Shrinking,
    /// No table is used.
    Unused,
}

impl RequestTable {
    /// Call this when the peer's SETTINGS have been applied: decides whether its table is used. After a reduction, even
    /// to a size with room for all shared fields, the next block has to begin with a size update (RFC 9113 §4.3.1).
    pub fn settings_applied(&mut self, peer: &PeerSettings) {
        if peer.header_table_size < TABLE_SIZE_DEFAULT && *self != RequestTable::Unused {
            *self = RequestTable::Shrinking;
        }
    }

    /// Appends the size update with which the next block has to begin, if it has to.
    pub(super) fn write_size_update(&mut self, block: &mut Vec<u8>) {
        if *self == RequestTable::Shrinking {
            push_size_update(block, 0);
            *self = RequestTable::Unused;
        }
    }
}

/// All requests of a run, encoded.
#[derive(Clone, Debug)]
pub struct RequestBlocks {
    kinds: Vec<KindBlocks>,
}

/// One kind of request.
#[derive(Clone, Debug)]
struct KindBlocks {
    first: FieldBlock,
    rest: FieldBlock,
    plain: FieldBlock,
    /// The placeholders of all fields, in order, then the body's.
    parts: Vec<TemplatePart>,
    /// The index of the first part of the body.
    body_at: usize,
    /// The body, if it is the same in every request; none otherwise.
    fixed_body: Option<Vec<u8>>,
    /// The length of a body that is generated or read as it is sent; `fixed_body` is then empty.
    generated: Option<u64>,
    /// The largest DATA frame for the body.
    frame_bytes_max: u32,
    /// The only frame of a request that is the same every time and has no body, once the shared fields are in the
    /// peer's table. Its stream is 0.
    repeated: Option<Vec<u8>>,
}

/// A field block: fixed bytes, and between them values that are made for each request.
#[derive(Clone, Debug, Default)]
struct FieldBlock {
    bytes: Vec<u8>,
    /// The offsets in `bytes` where values are inserted, and the parts that make them.
    values: Vec<(usize, std::ops::Range<usize>)>,
}

/// The form that a block is built for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockForm {
    First,
    Rest,
    Plain,
}

impl RequestBlocks {
    /// Encodes all kinds of request of a run.
    pub fn new(requests: &[Http2Request]) -> Self {
        let shared = shared_fields(requests);
        Self { kinds: requests.iter().map(|request| KindBlocks::new(request, &shared)).collect() }
    }

    /// The number of kinds.
    pub fn count(&self) -> usize {
        self.kinds.len()
    }

    /// The body of this kind of request, if it is the same every time; empty if it has none, or a generated one.
    pub fn fixed_body(&self, kind: usize) -> Option<&[u8]> {
        self.kinds[kind].fixed_body.as_deref()
    }

    /// The same body, or a generated one; none if it varies.
    #[inline]
    pub fn body(&self, kind: usize) -> Option<BodyBytes<'_>> {
        let kind = &self.kinds[kind];
        match kind.generated {
            Some(length) => Some(BodyBytes::Generated(length)),
            None => kind.fixed_body.as_deref().map(BodyBytes::Kept),
        }
    }

    /// The largest DATA frame for the body of this kind of request.
    pub fn frame_bytes_max(&self, kind: usize) -> u32 {
        self.kinds[kind].frame_bytes_max
    }

    /// Whether requests of this kind have a body, so that DATA must follow their field block.
    pub fn has_body(&self, kind: usize) -> bool {
        self.kinds[kind].has_body()
    }

    /// The maximum number of placeholders and pieces of text in a kind, for [`Expander::for_parts`].
    pub fn parts_max(&self) -> usize {
        self.kinds.iter().map(|kind| kind.parts.len()).max().unwrap_or(0)
    }

    /// The frame of a request that is the same every time, on stream 0: the bytes that [`RequestBlocks::write`] appends
    /// on a connection whose table is [`RequestTable::Filled`]. None for any other kind.
    pub fn repeated(&self, kind: usize) -> Option<&[u8]> {
        self.kinds[kind].repeated.as_deref()
    }

    /// Appends the field block of the next request, as HEADERS and CONTINUATION frames. A body that is not fixed is
    /// written to `body`. The stream ends here if there is none.
    ///
    /// This call advances the encoder state of the peer: the appended bytes must be sent, in this order.
    #[inline]
    pub fn write<R: RandomBits>(
        &self,
        kind: usize,
        stream: u32,
        table: &mut RequestTable,
        expander: &mut Expander<R>,
        out: &mut Vec<u8>,
        body: &mut Vec<u8>,
    ) {
        let kind = &self.kinds[kind];
        let (block, next) = match table {
            RequestTable::Empty => (&kind.first, RequestTable::Filled),
            RequestTable::Filled => (&kind.rest, RequestTable::Filled),
            RequestTable::Shrinking | RequestTable::Unused => (&kind.plain, RequestTable::Unused),
        };
        let is_shrinking = *table == RequestTable::Shrinking;
        *table = next;
        if kind.parts.is_empty() && !is_shrinking {
            expander.skip_number();
            let has_body = kind.has_body();
            return write_field_block(out, stream, &block.bytes, !has_body);
        }
        kind.write_expanded(block, is_shrinking, stream, expander, out, body);
    }
}

impl KindBlocks {
    fn new(request: &Http2Request, shared: &[(Vec<u8>, Vec<u8>)]) -> Self {
        let fixed_body = request.fixed_body();
        let values = request.fields.iter().filter(|field| field.fixed().is_none());
        let mut parts: Vec<TemplatePart> = values.flat_map(|field| field.value.clone()).collect();
        let body_at = parts.len();
        if fixed_body.is_none() {
            parts.extend(request.body.iter().cloned());
        }
        let [first, rest, plain] = [BlockForm::First, BlockForm::Rest, BlockForm::Plain]
            .map(|form| FieldBlock::new(request, shared, form));
        let is_one_frame = rest.bytes.len() <= FRAME_SIZE_DEFAULT as usize;
        let has_no_body = fixed_body.as_ref().is_some_and(Vec::is_empty) && request.generated.is_none();
        let repeated = (parts.is_empty() && has_no_body && is_one_frame).then(|| {
            let mut frame = Vec::new();
            write_field_block(&mut frame, 0, &rest.bytes, true);
            frame
        });
        let frame_bytes_max = match request.framing {
            BodyFraming::Chunks(size) => size.get(),
            BodyFraming::Length => u32::MAX,
        };
        let generated = request.generated;
        Self { first, rest, plain, parts, body_at, fixed_body, generated, frame_bytes_max, repeated }
    }

    /// Whether DATA follows the field block; a body that varies may be empty.
    #[inline]
    fn has_body(&self) -> bool {
        self.generated.is_some_and(|length| length > 0)
            || self.fixed_body.as_ref().is_none_or(|body| !body.is_empty())
    }

    /// Writes a request whose bytes vary.
    #[inline(never)]
    fn write_expanded<R: RandomBits>(
        &self,
        block: &FieldBlock,
        is_shrinking: bool,
        stream: u32,
        expander: &mut Expander<R>,
        out: &mut Vec<u8>,
        body: &mut Vec<u8>,
    ) {
        let drawn = expander.draw_all(&self.parts, self.body_at);
        // The block is written in place after an empty HEADERS frame, and framed again if it is too long for one.
        let start = out.len();
        write_field_block(out, stream, &[], false);
        let block_at = out.len();
        if is_shrinking {
            push_size_update(out, 0);
        }
        let mut at = 0;
        for (place, parts) in &block.values {
            out.extend_from_slice(&block.bytes[at..*place]);
            push_string_length(out, drawn.length(&self.parts, parts.clone()));
            drawn.write(&self.parts, parts.clone(), out);
            at = *place;
        }
        out.extend_from_slice(&block.bytes[at..]);
        if self.fixed_body.is_none() {
            body.clear();
            drawn.write(&self.parts, self.body_at..self.parts.len(), body);
        }
        let has_body = if self.fixed_body.is_none() { !body.is_empty() } else { self.has_body() };
        expander.next_request(drawn);
        super::frame::close_field_block(out, start, block_at, stream, !has_body);
    }
}

impl FieldBlock {
    /// Shared fields come before the fields of this kind only, in one order for all kinds; pseudo-header fields come
    /// before both.
    fn new(request: &Http2Request, shared: &[SharedField], form: BlockForm) -> Self {
        let mut encoder = HpackEncoder::default();
        let indexing = if form == BlockForm::Plain { Indexing::Omit } else { Indexing::Insert };
        if form == BlockForm::Rest {
            for (name, value) in shared {
                encoder.field(name, value, indexing, &mut Vec::new());
            }
        }
        let mut block = FieldBlock::default();
        let is_pseudo = |name: &[u8]| name.first() == Some(&b':');
        for pseudo in [true, false] {
            for (name, value) in shared.iter().filter(|(name, _)| is_pseudo(name) == pseudo) {
                encoder.field(name, value, indexing, &mut block.bytes);
            }
            let mut parts = 0;
            for field in &request.fields {
                let is_shared = || shared.iter().any(|(name, _)| *name == field.name);
                let Some(value) = field.fixed() else {
                    let range = parts..parts + field.value.len();
                    parts = range.end;
                    if is_pseudo(&field.name) == pseudo {
                        push_literal_name(&mut block.bytes, &field.name, Indexing::Omit);
                        block.values.push((block.bytes.len(), range));
                    }
                    continue;
                };
                if is_pseudo(&field.name) == pseudo && !is_shared() {
                    encoder.field(&field.name, value, Indexing::Omit, &mut block.bytes);
                }
            }
        }
        block
    }
}

/// Name and value of a field that all kinds share.
type SharedField = (Vec<u8>, Vec<u8>);

/// The fields that every kind has once, with the same value, as far as they fit the default table. Fields in the static
/// table need no room.
fn shared_fields(requests: &[Http2Request]) -> Vec<SharedField> {
    let Some((first, others)) = requests.split_first() else { return Vec::new() };
    let mut shared = Vec::new();
    let mut table_bytes = 0;
    for field in &first.fields {
        let Some(value) = field.fixed().filter(|_| first.only(&field.name).is_some()) else { continue };
        let is_same =
            |other: &Http2Request| other.only(&field.name).and_then(FieldTemplate::fixed) == Some(value);
        let size = HpackEncoder::inserted_bytes(&field.name, value);
        if others.iter().all(is_same) && table_bytes + size <= TABLE_SIZE_DEFAULT {
            table_bytes += size;
            shared.push((field.name.clone(), value.to_vec()));
        }
    }
    shared
}
