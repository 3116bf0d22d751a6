//! Reads the field blocks of responses and checks that the parts of a response come in order (RFC 9113 §8).
//!
//! Of a block, only the fields that frame and count a response are kept. A server sends nearly the same block again and
//! again, so blocks are compared before they are decoded. Equal bytes mean equal fields in two cases. A block that
//! refers to no entry of the dynamic table means the same on every connection: a thread keeps recent ones
//! ([`BlockCache`]). The fields that such a block inserts into the table (nginx inserts its fields with every response
//! and never refers to them) are inserted later, before the next block that is decoded. Any other block means the same
//! as long as its connection's table does not change: the connection keeps the last head and the last trailers.

use super::error::{Http2Error, MalformedResponse};
use super::hpack::{BlockSummary, DecodedField, HpackDecoder, HpackScratch, TABLE_SIZE_DEFAULT};
use crate::syntax::{decimal, is_token};
use crate::{ContentCoding, GrpcCode, GrpcFields, MAX_INTERIM_RESPONSES, Method, status_message};
use std::sync::Arc;

/// The maximum size of a header list. The same limit as for a head of HTTP/1.1.
pub const MAX_HEADER_LIST_BYTES: usize = crate::MAX_HEAD_BYTES;

/// The number of blocks that a thread keeps. Go's servers order fields at random.
const BLOCKS_KEPT: usize = 8;

/// The maximum length of a kept block.
const BLOCK_KEPT_BYTES: usize = 2048;

/// The contents of a field block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodedFields {
    /// The fields of a response, interim or final.
    Response(ResponseFields),
    /// Trailers: no `:status`. With their `grpc-status`, if there is one.
    Trailers(Option<GrpcCode>),
}

/// The facts kept from a response's fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseFields {
    /// 100 to 999, never 101.
    pub status: u16,
    /// The body's length, if it is announced.
    pub content_length: Option<u64>,
    /// The coding of the body.
    pub coding: ContentCoding,
    /// The fields that belong to gRPC.
    pub grpc: GrpcFields,
}

/// Recent self-contained blocks of a thread, and its memory for decoding.
#[derive(Debug, Default)]
pub struct BlockCache {
    /// The most recently used first.
    recent: Vec<Arc<KnownBlock>>,
    scratch: HpackScratch,
    /// The text with the last status of gRPC that was decoded and is not OK.
    status_message: Option<String>,
}

impl BlockCache {
    /// The text of `grpc-message` in the last block that was decoded, not recognised, and whose status is not OK: every
    /// text comes at least once. Each is returned once.
    #[inline]
    pub fn take_status_message(&mut self) -> Option<String> {
        self.status_message.take()
    }
}

/// A self-contained block.
#[derive(Debug)]
struct KnownBlock {
    bytes: Vec<u8>,
    fields: DecodedFields,
    /// The entries that it inserts into the dynamic table, in order.
    inserts: Vec<(Vec<u8>, Vec<u8>)>,
    /// After this many repetitions the table holds no other entries.
    repeats_max: u32,
}

/// A recognised block, and its contents.
#[derive(Clone, Debug)]
pub struct RecognisedBlock {
    /// None if the contents depend on the connection's table.
    known: Option<Arc<KnownBlock>>,
    fields: DecodedFields,
}

/// The field blocks of one connection.
#[derive(Debug, Default)]
pub struct FieldDecoder {
    hpack: HpackDecoder,
    /// A known block, the number of times that it came, and whose inserts are still to be done.
    pending: Option<(Arc<KnownBlock>, u32)>,
    /// The last head that refers to the table and left it unchanged.
    last_head: LastBlock,
    /// The same for trailers: servers of gRPC send both with every response.
    last_trailers: LastBlock,
}

/// A block that refers to the table, with its contents; none once the table changes.
#[derive(Debug, Default)]
struct LastBlock {
    bytes: Vec<u8>,
    fields: Option<DecodedFields>,
}

impl LastBlock {
    /// The contents, if this is the block.
    #[inline]
    fn fields_of(&self, block: &[u8]) -> Option<DecodedFields> {
        self.fields.filter(|_| self.bytes == block)
    }
}

impl FieldDecoder {
    /// Decodes a block, or recognises it.
    ///
    /// # Errors
    /// [`Http2Error::Compression`] ends the connection, [`Http2Error::Response`] the stream.
    #[inline]
    pub fn decode(&mut self, cache: &mut BlockCache, block: &[u8]) -> Result<DecodedFields, Http2Error> {
        match self.decode_known(cache, block, |_| true) {
            Some(fields) => Ok(fields),
            None => self.decode_unknown(cache, block),
        }
    }

    /// Recognises a block, if `accepts` returns true for its contents; otherwise the state is unchanged.
    #[inline]
    pub fn decode_known(
        &mut self,
        cache: &mut BlockCache,
        block: &[u8],
        accepts: impl FnOnce(DecodedFields) -> bool,
    ) -> Option<DecodedFields> {
        if let Some(fields) = self.last_fields_of(block) {
            return accepts(fields).then_some(fields);
        }
        let place = cache.recent.iter().position(|known| known.bytes == block)?;
        if !accepts(cache.recent[place].fields) {
            return None;
        }
        if place > 0 {
            cache.recent.swap(0, place);
        }
        let known = &cache.recent[0];
        self.count(known);
        Some(known.fields)
    }

    /// The contents of a block that refers to the table, if it is the last one.
    #[inline]
    fn last_fields_of(&self, block: &[u8]) -> Option<DecodedFields> {
        self.last_head.fields_of(block).or_else(|| self.last_trailers.fields_of(block))
    }

    /// The table changes: what its last blocks meant is not known any more.
    #[inline]
    fn forget_last(&mut self) {
        (self.last_head.fields, self.last_trailers.fields) = (None, None);
    }

    /// Counts one more repetition of a self-contained block. Its inserts are done later.
    #[inline]
    fn count(&mut self, known: &Arc<KnownBlock>) {
        if known.inserts.is_empty() {
            return;
        }
        match &mut self.pending {
            Some((pending, times)) if Arc::ptr_eq(pending, known) => *times = times.saturating_add(1),
            _ => {
                self.do_pending();
                self.pending = Some((Arc::clone(known), 1));
            }
        }
        self.forget_last();
    }

    /// A block that [`FieldDecoder::decode_known`] has just recognised, for comparing later blocks with it by bytes.
    pub fn recognised(&self, cache: &BlockCache, block: &[u8]) -> Option<RecognisedBlock> {
        if let Some(fields) = self.last_fields_of(block) {
            return Some(RecognisedBlock { known: None, fields });
        }
        let known = cache.recent.first().filter(|known| known.bytes == block)?;
        Some(RecognisedBlock { known: Some(Arc::clone(known)), fields: known.fields })
    }

    /// Handles a block that equals a recognised one, byte for byte, possibly of another connection. Returns whether it
    /// means the same on this connection, in which case it counts as read; if not, the state is unchanged.
    #[inline(always)]
    pub fn repeat(&mut self, recognised: &RecognisedBlock, block: &[u8]) -> bool {
        match &recognised.known {
            Some(known) => {
                self.count(known);
                true
            }
            None => self.last_fields_of(block) == Some(recognised.fields),
        }
    }

    /// Decodes a block and appends its fields as text: a line for each as HTTP/1.1 has it, after one for the status. The
    /// text is only valid, and complete, if this returns no error. Every block is decoded: use no other method that
    /// decodes on the same connection.
    ///
    /// # Errors
    /// As [`FieldDecoder::decode`].
    pub fn decode_as_text(
        &mut self,
        cache: &mut BlockCache,
        block: &[u8],
        text: &mut Vec<u8>,
    ) -> Result<DecodedFields, Http2Error> {
        let mut reading = FieldReading::default();
        let start = text.len();
        let summary = self.hpack.decode(block, &mut cache.scratch, |field| {
            reading.field(field);
            // Each byte of a block may stand for an entry of the table. A list longer than its limit is an error.
            if text.len() - start > MAX_HEADER_LIST_BYTES {
                return;
            }
            let (name, separator): (&[u8], &[u8]) = match field.name {
                // It comes first, or is an error.
                b":status" => (b"HTTP/2", b" "),
                name => (name, b": "),
            };
            text.extend([name, separator, field.value, b"\r\n"].into_iter().flatten());
        })?;
        text.extend_from_slice(b"\r\n");
        cache.status_message = reading.status_message();
        reading.finish(summary.list_size).map_err(Http2Error::Response)
    }

    /// Performs the inserts of known blocks.
    fn do_pending(&mut self) {
        let Some((known, times)) = self.pending.take() else { return };
        for _ in 0..times.min(known.repeats_max) {
            for (name, value) in &known.inserts {
                self.hpack.insert(name, value);
            }
        }
    }

    #[cold]
    fn decode_unknown(&mut self, cache: &mut BlockCache, block: &[u8]) -> Result<DecodedFields, Http2Error> {
        self.do_pending();
        let mut reading = FieldReading::default();
        let mut inserts = Vec::new();
        let is_short = block.len() <= BLOCK_KEPT_BYTES;
        let summary = self.hpack.decode(block, &mut cache.scratch, |field| {
            reading.field(field);
            if field.is_inserted && is_short {
                inserts.push((field.name.to_vec(), field.value.to_vec()));
            }
        })?;
        if summary.changed_table() {
            self.forget_last();
        }
        cache.status_message = reading.status_message();
        let fields = reading.finish(summary.list_size).map_err(Http2Error::Response)?;
        if is_short {
            self.keep(cache, block, fields, &summary, inserts);
        }
        Ok(fields)
    }

    /// Keeps a valid block for the next time.
    fn keep(
        &mut self,
        cache: &mut BlockCache,
        block: &[u8],
        fields: DecodedFields,
        summary: &BlockSummary,
        inserts: Vec<(Vec<u8>, Vec<u8>)>,
    ) {
        if summary.is_self_contained() {
            let bytes: usize = inserts.iter().map(|(name, value)| name.len() + value.len() + 32).sum();
            let repeats_max = (TABLE_SIZE_DEFAULT as usize).div_ceil(bytes.max(1)) as u32 + 1;
            if cache.recent.len() == BLOCKS_KEPT {
                cache.recent.pop();
            }
            let known = KnownBlock { bytes: block.to_vec(), fields, inserts, repeats_max };
            cache.recent.insert(0, Arc::new(known));
        } else if !summary.changed_table() {
            let last = match fields {
                DecodedFields::Response(_) => &mut self.last_head,
                DecodedFields::Trailers(_) => &mut self.last_trailers,
            };
            last.bytes.clear();
            last.bytes.extend_from_slice(block);
            last.fields = Some(fields);
        }
    }
}

/// The state of decoding a field block.
#[derive(Default)]
pub(crate) struct FieldReading {
    status: Option<u16>,
    content_length: Option<u64>,
    coding: ContentCoding,
    grpc: GrpcFields,
    /// `grpc-message`, as sent.
    grpc_message: Option<Vec<u8>>,
    /// Whether a regular field has come: no pseudo-header field may follow.
    has_regular: bool,
    /// The first error. Decoding goes on, to keep the table correct.
    wrong: Option<MalformedResponse>,
}

impl FieldReading {
    /// The next field of the block.
    pub(crate) fn field(&mut self, field: DecodedField<'_>) {
        if self.wrong.is_none() {
            self.wrong = self.read(field).err();
        }
    }

    fn read(&mut self, DecodedField { name, value, .. }: DecodedField<'_>) -> Result<(), MalformedResponse> {
        let text = || name.escape_ascii().to_string();
        if name.first() == Some(&b':') {
            return self.pseudo(name, value);
        }
        self.has_regular = true;
        if name.is_empty() || !name.iter().all(|byte| is_token(*byte) && !byte.is_ascii_uppercase()) {
            return Err(MalformedResponse::FieldName { name: text() });
        }
        let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
        if is_blank(value.first())
            || is_blank(value.last())
            || memchr::memchr3(0, b'\r', b'\n', value).is_some()
        {
            return Err(MalformedResponse::FieldValue { name: text() });
        }
        match name {
            b"content-length" => self.length(value),
            b"content-encoding" => {
                self.coding.add(value);
                Ok(())
            }
            b"connection" | b"proxy-connection" | b"keep-alive" | b"transfer-encoding" | b"upgrade" => {
                Err(MalformedResponse::ConnectionField { name: text() })
            }
            b"grpc-message" => {
                self.grpc_message = Some(value.to_vec());
                Ok(())
            }
            _ => {
                self.grpc.read(name, value);
                Ok(())
            }
        }
    }

    /// The text with a status of gRPC that is not OK; empty if the server sent none.
    fn status_message(&self) -> Option<String> {
        self.grpc.status.filter(|code| *code != GrpcCode::Ok)?;
        Some(status_message(self.grpc_message.as_deref().unwrap_or_default()))
    }

    /// RFC 9113 §8.3.2: a response has `:status`, once, before all others.
    fn pseudo(&mut self, name: &[u8], value: &[u8]) -> Result<(), MalformedResponse> {
        if name != b":status" || self.has_regular {
            return Err(MalformedResponse::PseudoField { name: name.escape_ascii().to_string() });
        }
        match (status_of(value), self.status) {
            (Some(status), None) => {
                self.status = Some(status);
                Ok(())
            }
            _ => Err(MalformedResponse::Status),
        }
    }

    fn length(&mut self, value: &[u8]) -> Result<(), MalformedResponse> {
        match (decimal(value), self.content_length) {
            (Some(length), known) if known.is_none_or(|known| known == length) => {
                self.content_length = Some(length);
                Ok(())
            }
            _ => Err(MalformedResponse::ContentLength),
        }
    }

    /// The contents of the block, whose fields have this size as a list (RFC 9113 §6.5.2, RFC 9114 §4.2.2).
    pub(crate) fn finish(self, list_size: usize) -> Result<DecodedFields, MalformedResponse> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        if list_size > MAX_HEADER_LIST_BYTES {
            let limit = MAX_HEADER_LIST_BYTES;
            return Err(MalformedResponse::HeaderListTooLong { size: list_size, limit });
        }
        match self.status {
            None => Ok(DecodedFields::Trailers(self.grpc.status)),
            Some(101) => Err(MalformedResponse::Upgrade),
            Some(status) => {
                let Self { content_length, coding, grpc, .. } = self;
                Ok(DecodedFields::Response(ResponseFields { status, content_length, coding, grpc }))
            }
        }
    }
}

/// The status of a `:status` field: three digits, of which the first is not 0 (RFC 9113 §8.3.2, RFC 9110 §15).
pub(super) fn status_of(value: &[u8]) -> Option<u16> {
    let [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] = value else { return None };
    let [a, b, c] = [a, b, c].map(|digit| u16::from(digit - b'0'));
    Some(a * 100 + b * 10 + c)
}

/// The progress of the response on one stream (RFC 9113 §8.1): interim heads, a head, a body, trailers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseProgress {
    stage: ResponseStage,
    interims: u8,
    method: Method,
    /// That of the final head; 0 before it.
    status: u16,
    /// Bytes of the body so far.
    received: u64,
    announced: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResponseStage {
    Head,
    Body,
    Ended,
}

/// The role of a field block in its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockRole {
    /// An interim response (1xx): the final one follows.
    Interim,
    /// The head of the final response.
    Head(ResponseFields),
    /// Trailers, which end the response, with their `grpc-status`.
    Trailers(Option<GrpcCode>),
}

impl ResponseProgress {
    /// The initial state, before a response to a request of this method.
    pub fn new(method: Method) -> Self {
        Self { stage: ResponseStage::Head, interims: 0, method, status: 0, received: 0, announced: None }
    }

    /// Records a field block; `end_stream` says that no more frames follow.
    ///
    /// # Errors
    /// A block out of order, or a body shorter than announced.
    pub fn fields(
        &mut self,
        fields: DecodedFields,
        end_stream: bool,
    ) -> Result<BlockRole, MalformedResponse> {
        let role = match (self.stage, fields) {
            (ResponseStage::Ended, _) => {
                return Err(MalformedResponse::Order(
                    "header or trailer fields after the end of the response",
                ));
            }
            (ResponseStage::Head, DecodedFields::Trailers(_)) => return Err(MalformedResponse::NoStatus),
            (ResponseStage::Body, DecodedFields::Response(_)) => {
                return Err(MalformedResponse::PseudoField { name: ":status".into() });
            }
            (ResponseStage::Body, DecodedFields::Trailers(_)) if !end_stream => {
                return Err(MalformedResponse::Order("trailers that do not end the stream"));
            }
            (ResponseStage::Body, DecodedFields::Trailers(status)) => BlockRole::Trailers(status),
            (ResponseStage::Head, DecodedFields::Response(head)) if head.status < 200 => {
                if end_stream {
                    return Err(MalformedResponse::Order("an interim (1xx) response that ends the stream"));
                }
                if self.interims == MAX_INTERIM_RESPONSES {
                    return Err(MalformedResponse::Order("more than 16 interim (1xx) responses"));
                }
                self.interims += 1;
                return Ok(BlockRole::Interim);
            }
            (ResponseStage::Head, DecodedFields::Response(head)) => {
                self.status = head.status;
                self.announced = if self.has_body() { head.content_length } else { Some(0) };
                self.stage = ResponseStage::Body;
                BlockRole::Head(head)
            }
        };
        if end_stream {
            self.end()?;
        }
        Ok(role)
    }

    /// Records bytes of the body.
    ///
    /// # Errors
    /// A body before the head or after the end, longer or shorter than announced.
    #[inline]
    pub fn data(&mut self, bytes: usize, end_stream: bool) -> Result<(), MalformedResponse> {
        if self.stage != ResponseStage::Body {
            return Err(MalformedResponse::Order(match self.stage {
                ResponseStage::Head => "DATA before the response headers",
                ResponseStage::Body | ResponseStage::Ended => "DATA after the end of the response",
            }));
        }
        self.received += bytes as u64;
        if let Some(announced) = self.announced
            && self.received > announced
        {
            return Err(self.excess(announced));
        }
        if end_stream { self.end() } else { Ok(()) }
    }

    /// Whether the response may have a body; otherwise it has none, whatever length is announced (RFC 9110 §6.4.1).
    fn has_body(&self) -> bool {
        self.method != Method::Head && !matches!(self.status, 204 | 304)
    }

    /// Why the bytes received are too many.
    #[cold]
    fn excess(&self, announced: u64) -> MalformedResponse {
        match self.method {
            _ if self.has_body() => MalformedResponse::BodyLength { announced, received: self.received },
            Method::Head => MalformedResponse::BodyOfHead,
            Method::Other => MalformedResponse::BodyOfStatus { status: self.status },
        }
    }

    /// Records that the stream has ended, with HTTP/3 apart from any frame (RFC 9114 §4.1).
    ///
    /// # Errors
    /// It ended before the head, or the body is shorter than announced.
    pub fn end_of_stream(&mut self) -> Result<(), MalformedResponse> {
        match self.stage {
            ResponseStage::Head => {
                Err(MalformedResponse::Order("the stream ended before the response headers"))
            }
            ResponseStage::Body => self.end(),
            ResponseStage::Ended => Ok(()),
        }
    }

    /// Whether the response is complete.
    pub fn has_ended(&self) -> bool {
        self.stage == ResponseStage::Ended
    }

    /// Whether the final head has come.
    pub fn has_head(&self) -> bool {
        self.stage != ResponseStage::Head
    }

    #[inline]
    fn end(&mut self) -> Result<(), MalformedResponse> {
        self.stage = ResponseStage::Ended;
        match self.announced {
            Some(announced) if announced != self.received => {
                Err(MalformedResponse::BodyLength { announced, received: self.received })
            }
            _ => Ok(()),
        }
    }
}
