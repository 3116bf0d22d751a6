//! Reads responses and reports them to the tracker: one that equals the last good one is recognised by comparison, of the
//! others each frame acts on its stream.

use super::stream::{Http3Stream, Streams};
use crate::hot::{AnswerGroup, ExchangeIndex, JudgedHead, ReceivedResponse, ResponsePart, Scenario, Tracker};
use crate::outcome::ConnectionFailure;
use crate::{BodyCheck, Ending, Nanos, RequestKind, Settings, Slot};
use paceline_http::h2::{BlockRole, DecodedFields, MalformedResponse, ResponseProgress};
use paceline_http::h3::{ErrorCode, FrameEvent, FrameReader, Http3Error, SectionDecoder};
use paceline_http::{Method, equal};

/// Longer responses are not kept: comparing a body costs as much as checking it.
const MAX_KEPT_BYTES: usize = 4096;

/// The responses to a worker's requests.
pub(super) struct Responses<S> {
    pub scenario: S,
    pub streams: Streams,
    /// By kind of request.
    kinds: Box<[KindState]>,
    /// Whether any of them are streams of events.
    has_streams: bool,
    sections: SectionDecoder,
    /// Responses of one read; empty between reads.
    pub group: AnswerGroup,
    /// Whether a response was compressed.
    pub saw_compressed: bool,
    /// The head of the response being read, as text for the scenario.
    head: Vec<u8>,
}

/// The state for the responses to one kind of request.
struct KindState {
    /// The method, which decides whether a response can have a body.
    method: Method,
    /// The last good one, if the next may be the same.
    last: LastResponse,
    /// Whether to keep a good response: not if each request is different.
    repeat: bool,
    /// Whether responses are streams of events.
    is_stream: bool,
}

/// A good response that was seen before.
#[derive(Default)]
struct LastResponse {
    /// All bytes of its stream; empty if there is none.
    bytes: Vec<u8>,
    status: u16,
    body_bytes: u64,
}

impl KindState {
    fn new(kind: &RequestKind) -> Self {
        let is_exact = matches!(kind.check.body, BodyCheck::Exact(_));
        let is_stream = kind.check.body.is_stream();
        Self {
            method: kind.method,
            last: LastResponse::default(),
            repeat: !is_stream && (is_exact || kind.template.as_fixed().is_some()),
            is_stream,
        }
    }
}

/// The read that received bytes belong to.
pub(super) struct ReadContext<'a, 'l> {
    pub slot: Slot,
    pub now: Nanos,
    pub tracker: &'a mut Tracker<'l>,
}

/// What becomes of a stream after bytes of it were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamState {
    /// More may follow.
    Open,
    /// Its exchange has ended, and the stream has to be ended with this code.
    Cancel(ErrorCode),
}

impl<S: Scenario> Responses<S> {
    /// No responses yet, for worker `worker` with this many places for each connection.
    pub(super) fn new(settings: &Settings, worker: u32, places: u16) -> Self {
        Self {
            scenario: S::new(settings, worker, places),
            streams: Streams::new(settings.connections_of(worker), places),
            kinds: settings.requests.kinds().iter().map(KindState::new).collect(),
            has_streams: settings.requests.have_streams(),
            sections: SectionDecoder::default(),
            group: AnswerGroup::default(),
            saw_compressed: false,
            head: Vec::new(),
        }
    }

    /// Takes a whole response that equals the last good one to the same kind of request; returns whether it does. A
    /// scenario reads every response.
    #[inline]
    pub(super) fn take_repeat(
        &mut self,
        place: ExchangeIndex,
        bytes: &[u8],
        received: &mut ReadContext<'_, '_>,
    ) -> bool {
        let ReadContext { slot, now, .. } = *received;
        let stream = self.streams.at(slot, place);
        let last = &self.kinds[usize::from(stream.kind)].last;
        if S::IS_USED || stream.has_response || last.bytes.is_empty() || !equal(&last.bytes, bytes) {
            return false;
        }
        let response = ReceivedResponse {
            status: last.status,
            body_bytes: last.body_bytes,
            ending: Ending::Ok,
            first_byte: now,
            uncounted_bytes: bytes.len() as u64,
        };
        self.streams.end(slot, place);
        if let Some(exchange) = received.tracker.exchanges_mut().end(slot, place) {
            self.group.add(slot, exchange, response, now, received.tracker);
        }
        true
    }

    /// Reads a whole response that came in one piece, and keeps it if it is good.
    pub(super) fn read_whole(
        &mut self,
        place: ExchangeIndex,
        bytes: &[u8],
        received: &mut ReadContext<'_, '_>,
    ) -> Result<StreamState, Http3Error> {
        let stream = self.streams.at(received.slot, place);
        let (kind, is_first) = (usize::from(stream.kind), !stream.has_response);
        let state = self.read(place, bytes, received)?;
        if state != StreamState::Open {
            return Ok(state);
        }
        let response = self.end(place, received)?;
        let kind = &mut self.kinds[kind];
        if let Some(response) = response.filter(|response| response.ending == Ending::Ok)
            && is_first
            && kind.repeat
            && bytes.len() <= MAX_KEPT_BYTES
        {
            kind.last.bytes.clear();
            kind.last.bytes.extend_from_slice(bytes);
            (kind.last.status, kind.last.body_bytes) = (response.status, response.body_bytes);
        }
        Ok(StreamState::Open)
    }

    /// Reads bytes of the response at a place.
    ///
    /// # Errors
    /// Those that end the connection.
    pub(super) fn read(
        &mut self,
        place: ExchangeIndex,
        mut input: &[u8],
        received: &mut ReadContext<'_, '_>,
    ) -> Result<StreamState, Http3Error> {
        let slot = received.slot;
        let stream = self.streams.at(slot, place);
        if !stream.has_response {
            stream.begin_response(self.kinds[usize::from(stream.kind)].method, received.now);
            self.scenario.read(slot, place, ResponsePart::Start);
        }
        self.streams.at(slot, place).bytes += input.len() as u64;
        // The reader is taken out, since events borrow from it.
        let mut reader = std::mem::replace(&mut self.streams.at(slot, place).reader, FrameReader::request());
        let mut state = Ok(StreamState::Open);
        while !input.is_empty() && state == Ok(StreamState::Open) {
            state = reader.next(input).and_then(|(event, bytes)| {
                input = &input[bytes..];
                self.on_event(place, event, received)
            });
        }
        self.streams.at(slot, place).reader = reader;
        match state {
            Err(error) if error.is_stream_error() => Ok(self.fail(place, &error, received)),
            state => state,
        }
    }

    fn on_event(
        &mut self,
        place: ExchangeIndex,
        event: FrameEvent<'_>,
        received: &mut ReadContext<'_, '_>,
    ) -> Result<StreamState, Http3Error> {
        match event {
            FrameEvent::FieldSection(section) => self.on_fields(place, section, received),
            FrameEvent::Data { piece, end_frame } => self.on_data(place, piece, end_frame, received),
            // The reader of a request's stream reports no others.
            FrameEvent::NeedMore | FrameEvent::Settings(_) | FrameEvent::GoAway(_) => Ok(StreamState::Open),
        }
    }

    fn on_fields(
        &mut self,
        place: ExchangeIndex,
        section: &[u8],
        received: &mut ReadContext<'_, '_>,
    ) -> Result<StreamState, Http3Error> {
        let slot = received.slot;
        let fields = if S::IS_USED {
            self.head.clear();
            self.sections.decode_as_text(section, &mut self.head)
        } else {
            self.sections.decode(section)
        }?;
        let stream = self.streams.at(slot, place);
        // Trailers end the response; the end of the stream follows.
        if let BlockRole::Head(head) =
            stream.progress.fields(fields, matches!(fields, DecodedFields::Trailers(_)))?
        {
            stream.incoming.begin(head.into());
            self.saw_compressed |= head.coding.is_compressed();
            self.scenario.read(slot, place, ResponsePart::Head(&self.head));
            if self.has_streams {
                self.begin_stream(place, head.into(), received);
            }
        }
        Ok(StreamState::Open)
    }

    fn on_data(
        &mut self,
        place: ExchangeIndex,
        piece: &[u8],
        end_frame: bool,
        received: &mut ReadContext<'_, '_>,
    ) -> Result<StreamState, Http3Error> {
        let ReadContext { slot, now, .. } = *received;
        let stream = self.streams.at(slot, place);
        stream.progress.data(piece.len(), false)?;
        let kind = usize::from(stream.kind);
        self.scenario.read(slot, place, ResponsePart::Body(piece));
        if !piece.is_empty() {
            received.tracker.inspect(kind, &mut stream.incoming, piece);
        }
        if self.has_streams
            && self.kinds[kind].is_stream
            && received.tracker.read_stream(slot, place, kind, (piece, end_frame), now)
        {
            return Ok(self.cut(place, received));
        }
        Ok(StreamState::Open)
    }

    /// The stream has ended: completes its response. Returns that, unless it was no response.
    ///
    /// # Errors
    /// Those that end the connection.
    pub(super) fn end(
        &mut self,
        place: ExchangeIndex,
        received: &mut ReadContext<'_, '_>,
    ) -> Result<Option<ReceivedResponse>, Http3Error> {
        let Http3Stream { has_response, reader, progress, .. } = self.streams.at(received.slot, place);
        if *has_response {
            reader.end()?;
        } else {
            *progress = ResponseProgress::new(Method::Other);
        }
        match progress.end_of_stream() {
            Ok(()) => Ok(self.complete_pieces(place, true, received)),
            Err(error) => {
                self.fail(place, &Http3Error::Response(error), received);
                Ok(None)
            }
        }
    }

    /// The head of a response has come, whose body may be a stream of events.
    #[cold]
    fn begin_stream(&mut self, place: ExchangeIndex, head: JudgedHead, received: &mut ReadContext<'_, '_>) {
        let ReadContext { slot, now, .. } = *received;
        let stream = self.streams.at(slot, place);
        let (kind, first_byte) = (usize::from(stream.kind), stream.incoming.first_byte);
        if self.kinds[kind].is_stream {
            received.tracker.begin_stream(slot, place, kind, head, (first_byte, now));
        }
    }

    /// Ends the response at a place, whose stream of events is over.
    pub(super) fn cut(&mut self, place: ExchangeIndex, received: &mut ReadContext<'_, '_>) -> StreamState {
        self.complete_pieces(place, false, received);
        StreamState::Cancel(ErrorCode::REQUEST_CANCELLED)
    }

    /// Completes a response. Returns it, unless it is a stream of events.
    fn complete_pieces(
        &mut self,
        place: ExchangeIndex,
        is_complete: bool,
        received: &mut ReadContext<'_, '_>,
    ) -> Option<ReceivedResponse> {
        let ReadContext { slot, now, .. } = *received;
        let stream = self.streams.at(slot, place);
        let (kind, bytes, head) = (usize::from(stream.kind), stream.bytes, stream.incoming.head);
        let mut response = received.tracker.judge_pieces(kind, &mut stream.incoming, bytes, now);
        let is_stream = self.has_streams && self.kinds[kind].is_stream;
        let ended_at = match is_stream {
            true => received.tracker.end_stream(slot, place, kind, is_complete, &mut response, now),
            false => now,
        };
        self.streams.end(slot, place);
        if S::IS_USED {
            self.scenario.complete(slot, place, head, response, ended_at, received.tracker);
        } else if let Some(exchange) = received.tracker.exchanges_mut().end(slot, place) {
            match is_stream {
                // It may have ended before its last bytes came, so it is recorded alone.
                true => received.tracker.answered(slot, &exchange, 1, &response, ended_at),
                false => self.group.add(slot, exchange, response, now, received.tracker),
            }
        }
        (!is_stream).then_some(response)
    }

    /// A response broke the rules: its request fails, the connection continues.
    #[cold]
    fn fail(
        &mut self,
        place: ExchangeIndex,
        error: &Http3Error,
        received: &mut ReadContext<'_, '_>,
    ) -> StreamState {
        let failure = match error {
            Http3Error::FieldSectionTooLong { .. }
            | Http3Error::Response(MalformedResponse::HeaderListTooLong { .. }) => {
                ConnectionFailure::HeadTooLong
            }
            _ => ConnectionFailure::MalformedResponse,
        };
        received.tracker.note(failure, Some(error.to_string()));
        self.abandon(place, received);
        StreamState::Cancel(error.code())
    }

    /// The server has reset the stream at a place. Returns whether its request has to be sent again.
    #[cold]
    pub(super) fn on_reset(
        &mut self,
        place: ExchangeIndex,
        code: ErrorCode,
        received: &mut ReadContext<'_, '_>,
    ) -> bool {
        if code == ErrorCode::REQUEST_REJECTED {
            return true;
        }
        if received.tracker.has_ended_stream(received.slot, place, received.now) {
            self.complete_pieces(place, false, received);
        } else {
            received.tracker.note(ConnectionFailure::StreamReset, Some(code.to_string()));
            self.abandon(place, received);
        }
        false
    }

    /// Ends the exchange at a place without a response. What came of one is counted.
    fn abandon(&mut self, place: ExchangeIndex, received: &mut ReadContext<'_, '_>) {
        let ReadContext { slot, now, .. } = *received;
        let bytes = self.take_uncounted(slot, place);
        received.tracker.received_in_part(slot, place, bytes);
        self.streams.end(slot, place);
        received.tracker.abandon(slot, place, Ending::IoFailed, now);
        self.scenario.failed(slot, place);
    }

    /// The bytes of the response at a place, which are counted when it is complete or its exchange ends.
    pub(super) fn take_uncounted(&mut self, slot: Slot, place: ExchangeIndex) -> u64 {
        let is_open = self.streams.id_at(slot, place).is_some();
        let stream = self.streams.at(slot, place);
        if is_open && stream.has_response { std::mem::take(&mut stream.bytes) } else { 0 }
    }
}
