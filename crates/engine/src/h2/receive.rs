//! The state of a worker's connections, and what received frames do to it: responses that equal the last one are
//! recognised by comparison, all other frames act on their stream or on the connection (flow control: `on_data`,
//! `on_window_update`). Over 600 lines: all of it acts on one state.

use super::connection::{Http2Connection, MAX_UNREAD_ANSWERS};
use super::last_response::{LastFrames, stream_of};
use super::outgoing::Http2Outgoing;
use super::stream::{Http2Stream, Streams};
use crate::hot::{
    AnswerGroup, Exchange, ExchangeIndex, JudgedHead, ProtocolFault, ReceivedResponse, ResponsePart,
    Scenario, Tracker,
};
use crate::outcome::ConnectionFailure;
use crate::{BodyCheck, Ending, Nanos, RequestKind, Settings, Slot};
use paceline_http::Method;
use paceline_http::h2::{
    BlockCache, BlockRole, DecodedFields, ErrorCode, FRAME_HEAD_BYTES, FrameEvent, FrameName, Http2Error,
    MalformedResponse, ResponseProgress, whole_data, write_ping_ack, write_settings_ack, write_window_update,
};

/// The maximum number of frames for ended streams, and of window updates, between which no response and no byte of a body
/// moves: more is a flood.
pub(crate) const MAX_STRAY_FRAMES: u16 = 10_000;

/// The maximum number of bytes kept of GOAWAY's debug data.
const MAX_DEBUG_BYTES: usize = 200;

/// All state of a worker's connections except the frames being read.
pub(super) struct Http2State<S> {
    pub scenario: S,
    pub depth: u16,
    pub connections: Box<[Http2Connection]>,
    pub streams: Streams,
    pub outgoing: Http2Outgoing,
    /// By kind of request.
    answers: Box<[Http2KindState]>,
    /// Whether any of them are streams.
    has_streams: bool,
    cache: BlockCache,
    /// Responses of one read that are not repeats; empty between reads.
    pub group: AnswerGroup,
    pub stream_limit: Option<u32>,
    /// Whether a response was compressed. A field block that is new passes through [`Self::on_fields`].
    pub saw_compressed: bool,
    /// The head of the response being read, as text for the scenario.
    head: Vec<u8>,
}

/// The state for the responses to one kind of request.
struct Http2KindState {
    /// The method, which decides whether a response can have a body.
    method: Method,
    /// The last good one, if the next may be the same.
    last_response: LastFrames,
    /// Whether to keep a good response: not if each request is different.
    repeat: bool,
    /// Whether responses are streams.
    is_stream: bool,
}

impl Http2KindState {
    fn new(kind: &RequestKind) -> Self {
        let is_exact = matches!(kind.check.body, BodyCheck::Exact(_));
        let is_stream = kind.check.body.is_stream();
        Self {
            method: kind.method,
            last_response: LastFrames::default(),
            repeat: !is_stream && (is_exact || kind.template.as_fixed().is_some()),
            is_stream,
        }
    }
}

/// An exchange whose response equals the last good one to its kind.
struct RepeatedResponse {
    exchange: Exchange,
    kind: usize,
}

impl RepeatedResponse {
    const NONE: Self = Self { exchange: Exchange::VACANT, kind: 0 };
}

/// The read that a received event belongs to.
pub(super) struct ReadContext<'a, 'l> {
    pub slot: Slot,
    pub now: Nanos,
    /// Bytes consumed by it.
    pub bytes: usize,
    pub tracker: &'a mut Tracker<'l>,
}

/// The failure of a connection whose server broke the rules.
pub(crate) fn failure_of(error: &Http2Error) -> ConnectionFailure {
    match error {
        Http2Error::NotHttp2 { .. } => ConnectionFailure::NotHttp2,
        Http2Error::Flood { .. } | Http2Error::TooManyContinuations { .. } => ConnectionFailure::Flood,
        Http2Error::Truncated => ConnectionFailure::Truncated,
        Http2Error::FieldBlockTooLong { .. } => ConnectionFailure::HeadTooLong,
        _ => ConnectionFailure::Http2,
    }
}

/// A fault of the connection, with its text.
#[cold]
pub(super) fn fault(error: &Http2Error) -> ProtocolFault {
    let failure = failure_of(error);
    ProtocolFault { failure, detail: Some(error.to_string()), is_end: false }
}

/// The server sends frames that have to be answered, and reads no answer.
#[cold]
pub(super) fn unread_answers() -> ProtocolFault {
    let detail =
        format!("HTTP/2 flood: the server has not read {MAX_UNREAD_ANSWERS} answers to SETTINGS and PING");
    ProtocolFault { failure: ConnectionFailure::Flood, detail: Some(detail), is_end: false }
}

impl<S: Scenario> Http2State<S> {
    /// The state of worker `worker`, with this many places for each connection.
    pub(super) fn new(settings: &Settings, worker: u32, places: u16) -> Self {
        let count = settings.connections_of(worker);
        Self {
            scenario: S::new(settings, worker, places),
            depth: settings.job.depth,
            connections: (0..count).map(|_| Http2Connection::default()).collect(),
            streams: Streams::new(count, places),
            outgoing: Http2Outgoing::new(settings, worker),
            answers: settings.requests.kinds().iter().map(Http2KindState::new).collect(),
            has_streams: settings.requests.have_streams(),
            cache: BlockCache::default(),
            group: AnswerGroup::default(),
            stream_limit: None,
            saw_compressed: false,
            head: Vec::new(),
        }
    }

    /// Consumes responses at the beginning of the input that equal the last good one to the same kind of request, as
    /// nearly all do; returns their length in bytes. Responses to requests that were sent together are recorded
    /// together.
    #[inline(always)]
    pub(super) fn take_repeats(
        &mut self,
        slot: Slot,
        input: &[u8],
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> usize {
        if (self.connections[slot as usize].receive_window.available() as usize) < input.len() {
            return 0;
        }
        let (mut taken, mut first, mut count) = (0, RepeatedResponse::NONE, 0);
        while let Some(next) = self.take_repeat(slot, &input[taken..], tracker) {
            taken += self.answers[next.kind].last_response.length();
            // Equal exchanges have the same kind.
            if count > 0 && (next.exchange != first.exchange || count == u16::MAX) {
                self.record_repeats(slot, &first, count, now, tracker);
                count = 0;
            }
            (first, count) = (next, count + 1);
        }
        if count > 0 {
            self.record_repeats(slot, &first, count, now, tracker);
        }
        if taken < input.len() { taken + self.take_parts(slot, &input[taken..], now, tracker) } else { taken }
    }

    /// The exchange answered by the response at the beginning of the input, if that equals the last good one.
    #[inline(always)]
    fn take_repeat(
        &mut self,
        slot: Slot,
        input: &[u8],
        tracker: &mut Tracker<'_>,
    ) -> Option<RepeatedResponse> {
        let id = stream_of(input)?;
        let place = self.streams.place_of(id);
        let stream = self.streams.at(slot, place);
        let kind = usize::from(stream.kind);
        let last_response = &mut self.answers[kind].last_response;
        if !stream.awaits_response(id)
            || !last_response.is_at(input, id)
            || !last_response.repeat(&mut self.connections[slot as usize].fields)
        {
            return None;
        }
        stream.end();
        Some(RepeatedResponse { exchange: tracker.exchanges_mut().end(slot, place)?, kind })
    }

    /// Records `count` equal exchanges with the last response of their kind.
    #[inline(always)]
    fn record_repeats(
        &mut self,
        slot: Slot,
        repeated: &RepeatedResponse,
        count: u16,
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) {
        let last_response = &self.answers[repeated.kind].last_response;
        let response = last_response.response(now, last_response.length() as u64);
        let flow_bytes = response.body_bytes as u32 * u32::from(count);
        self.connections[slot as usize].responses_came(flow_bytes);
        tracker.answered(slot, &repeated.exchange, count, &response, now);
    }

    /// Consumes HEADERS and DATA at the beginning of the input that equal those of the last good response, but do not
    /// follow each other: some servers (nghttpd) send the HEADERS of several streams before their DATA. Also consumes
    /// all other DATA of responses that have begun: some servers (node) end a stream with an empty frame.
    #[inline(never)]
    fn take_parts(&mut self, slot: Slot, input: &[u8], now: Nanos, tracker: &mut Tracker<'_>) -> usize {
        let mut taken = 0;
        while let Some(bytes) = self.take_part(slot, &input[taken..], now, tracker) {
            taken += bytes;
        }
        if taken == input.len() {
            self.group.record(slot, now, tracker);
        }
        taken
    }

    /// Consumes one of these frames; returns its length.
    #[inline(always)]
    fn take_part(
        &mut self,
        slot: Slot,
        input: &[u8],
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> Option<usize> {
        let id = stream_of(input)?;
        let place = self.streams.place_of(id);
        let stream = self.streams.at(slot, place);
        let last_response = &mut self.answers[usize::from(stream.kind)].last_response;
        let connection = &mut self.connections[slot as usize];
        if stream.awaits_response(id) {
            if !last_response.is_head_at(input, id) || !last_response.repeat(&mut connection.fields) {
                return None;
            }
            stream.begin_known_response(&last_response.head, now);
            return Some(last_response.head.bytes);
        }
        if !stream.awaits_body_of(id, &last_response.head) || !last_response.is_body_at(input, id) {
            return self.take_data(slot, place, input, now, tracker);
        }
        let bytes = last_response.length() - last_response.head.bytes;
        let response = last_response.response(stream.incoming.first_byte, stream.bytes + bytes as u64);
        connection.responses_came(response.body_bytes as u32);
        stream.end();
        let exchange = tracker.exchanges_mut().end(slot, place)?;
        self.group.add(slot, exchange, response, now, tracker);
        Some(bytes)
    }

    /// Consumes DATA for the stream at a place, whose response has begun; returns the length of the frame. The window
    /// of the connection has room for the whole input.
    #[inline(always)]
    fn take_data(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        input: &[u8],
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> Option<usize> {
        let (id, piece, end_stream) = whole_data(input)?;
        let stream = self.streams.at(slot, place);
        let flow_bytes = piece.len() as u32;
        if stream.id != id || !stream.has_response || stream.receive_window.available() < flow_bytes {
            return None;
        }
        let bytes = FRAME_HEAD_BYTES + piece.len();
        stream.bytes += bytes as u64;
        stream.receive_window.count(flow_bytes);
        self.connections[slot as usize].count_received(flow_bytes);
        self.on_piece(place, (piece, true), end_stream, &mut ReadContext { slot, now, bytes, tracker });
        Some(bytes)
    }

    /// Handles a response that came whole and in a known field block: returns whether it was counted. If not, the
    /// state is unchanged, and its frames take the slower path.
    #[inline(never)]
    pub(super) fn take_whole(
        &mut self,
        id: u32,
        block: &[u8],
        body: &[u8],
        received: &mut ReadContext<'_, '_>,
    ) -> bool {
        let ReadContext { slot, now, bytes, .. } = *received;
        let place = self.streams.place_of(id);
        let stream = self.streams.at(slot, place);
        if !stream.awaits_response(id) {
            return false;
        }
        let answers = &mut self.answers[usize::from(stream.kind)];
        let connection = &mut self.connections[slot as usize];
        if answers.is_stream {
            return false;
        }
        let mut progress = ResponseProgress::new(answers.method);
        let has_room = connection.receive_window.available() as usize >= body.len();
        let fits = |fields| {
            let is_head = matches!(progress.fields(fields, false), Ok(BlockRole::Head(_)));
            has_room && is_head && { progress }.data(body.len(), true).is_ok()
        };
        let known = connection.fields.decode_known(&mut self.cache, block, fits);
        let Some(DecodedFields::Response(head)) = known else { return false };
        connection.responses_came(body.len() as u32);
        let response = ReceivedResponse {
            status: head.status,
            body_bytes: body.len() as u64,
            ending: received.tracker.judge(stream.kind.into(), head.into(), body, now),
            first_byte: now,
            uncounted_bytes: bytes as u64,
        };
        if answers.repeat && response.ending == Ending::Ok {
            let recognised = connection.fields.recognised(&self.cache, block);
            answers.last_response.meet_head(block, recognised, head.into(), progress);
            answers.last_response.meet_body(body);
        }
        stream.end();
        if let Some(exchange) = received.tracker.exchanges_mut().end(slot, place) {
            self.group.add(slot, exchange, response, now, received.tracker);
        }
        true
    }

    /// Acts on an event.
    #[inline]
    pub(super) fn on_event(
        &mut self,
        event: FrameEvent<'_>,
        received: &mut ReadContext<'_, '_>,
    ) -> Result<(), Http2Error> {
        match event {
            FrameEvent::NeedMore | FrameEvent::SettingsAck | FrameEvent::PingAck(_) => Ok(()),
            FrameEvent::FieldBlock { stream, block, end_stream } => {
                self.on_fields(stream, block, end_stream, received)
            }
            FrameEvent::Data { stream, piece, flow_bytes, end_frame, end_stream } => {
                self.on_data(stream, (piece, end_frame), flow_bytes, end_stream, received)
            }
            FrameEvent::Settings(payload) => {
                let connection = &mut self.connections[received.slot as usize];
                let change = connection.peer.apply(payload)?;
                connection.table.settings_applied(&connection.peer);
                connection.greeted = true;
                write_settings_ack(&mut connection.out);
                connection.unread_answers.add();
                let limit = connection.peer.max_concurrent_streams;
                if limit < self.depth.into() {
                    self.stream_limit = Some(self.stream_limit.map_or(limit, |known| known.min(limit)));
                }
                self.streams.shift_windows(received.slot, change)?;
                self.outgoing.send_bodies::<S>(received.slot, connection, &mut self.streams);
                Ok(())
            }
            FrameEvent::Ping(opaque) => {
                let connection = &mut self.connections[received.slot as usize];
                write_ping_ack(&mut connection.out, opaque);
                connection.unread_answers.add();
                Ok(())
            }
            FrameEvent::Reset { stream, code } => self.on_reset(stream, code, received),
            FrameEvent::GoAway { last_stream, code, debug } => {
                self.on_goaway(last_stream, code, debug, received);
                Ok(())
            }
            FrameEvent::WindowUpdate { stream, increment } => {
                self.on_window_update(stream, increment, received)
            }
        }
    }

    /// The place of an open stream; none if it has ended.
    #[inline]
    fn place_of(&self, slot: Slot, id: u32, frame: FrameName) -> Result<Option<ExchangeIndex>, Http2Error> {
        let place = self.streams.place_of(id);
        if self.streams.get(slot, place).id == id {
            return Ok(Some(place));
        }
        if !self.connections[slot as usize].ids.was_opened(id) {
            return Err(Http2Error::IdleStream { frame, stream: id });
        }
        Ok(None)
    }

    /// The stream at a place, for whose response a frame has come.
    #[inline]
    fn begin_response(&mut self, slot: Slot, place: ExchangeIndex, now: Nanos) -> &mut Http2Stream {
        let stream = self.streams.at(slot, place);
        if !stream.has_response {
            stream.begin_response(self.answers[usize::from(stream.kind)].method, now);
            self.scenario.read(slot, place, ResponsePart::Start);
        }
        stream
    }

    fn on_fields(
        &mut self,
        id: u32,
        block: &[u8],
        end_stream: bool,
        received: &mut ReadContext<'_, '_>,
    ) -> Result<(), Http2Error> {
        let ReadContext { slot, now, bytes, .. } = *received;
        // Decoded first: it changes the table, whatever happens to the stream.
        let decoder = &mut self.connections[slot as usize].fields;
        let fields = if S::IS_USED {
            self.head.clear();
            decoder.decode_as_text(&mut self.cache, block, &mut self.head)
        } else {
            decoder.decode(&mut self.cache, block)
        };
        if let Err(error) = &fields
            && !error.is_stream_error()
        {
            return fields.map(drop);
        }
        let Some(place) = self.place_of(slot, id, FrameName(1))? else {
            return self.surplus(slot, id, FrameName(1));
        };
        let is_first = !self.streams.get(slot, place).has_response;
        let stream = self.begin_response(slot, place, now);
        stream.bytes += bytes as u64;
        let progress = match fields {
            Ok(fields) => stream.progress.fields(fields, end_stream).map_err(Http2Error::Response),
            Err(error) => Err(error),
        };
        match progress {
            Ok(BlockRole::Head(head)) => {
                stream.incoming.begin(head.into());
                // A head has the status of a call only if nothing follows it ("Trailers-Only").
                stream.incoming.body.code = head.grpc.status.filter(|_| end_stream);
                self.saw_compressed |= head.coding.is_compressed();
                self.scenario.read(slot, place, ResponsePart::Head(&self.head));
                if self.has_streams {
                    self.begin_stream(place, head.into(), received);
                }
                if is_first && !end_stream && !S::IS_USED {
                    self.keep_head(slot, place, block, head.into());
                }
            }
            Ok(BlockRole::Trailers(status)) => stream.incoming.body.code = status,
            Ok(BlockRole::Interim) => {}
            Err(error) => {
                self.fail(place, &error, received);
                return Ok(());
            }
        }
        if let Some(text) = self.cache.take_status_message() {
            let stream = self.streams.get(slot, place);
            received.tracker.note_status_text(stream.kind.into(), &stream.incoming, text, now);
        }
        if end_stream {
            self.complete_pieces(place, true, received);
        }
        Ok(())
    }

    /// Keeps the HEADERS that a response began with, if the next one may begin in the same way.
    #[inline]
    fn keep_head(&mut self, slot: Slot, place: ExchangeIndex, block: &[u8], head: JudgedHead) {
        let stream = self.streams.at(slot, place);
        let answers = &mut self.answers[usize::from(stream.kind)];
        if answers.repeat {
            let recognised = self.connections[slot as usize].fields.recognised(&self.cache, block);
            answers.last_response.meet_head(block, recognised, head, stream.progress);
            stream.head_version = answers.last_response.head.version;
        }
    }

    #[inline]
    fn on_data(
        &mut self,
        id: u32,
        piece: (&[u8], bool),
        flow_bytes: u32,
        end_stream: bool,
        received: &mut ReadContext<'_, '_>,
    ) -> Result<(), Http2Error> {
        let ReadContext { slot, now, bytes, .. } = *received;
        let connection = &mut self.connections[slot as usize];
        connection.receive_window.receive(0, flow_bytes)?;
        if let Some(increment) = connection.receive_window.replenish() {
            write_window_update(&mut connection.out, 0, increment);
        }
        let Some(place) = self.place_of(slot, id, FrameName(0))? else {
            return self.surplus(slot, id, FrameName(0));
        };
        let stream = self.begin_response(slot, place, now);
        stream.bytes += bytes as u64;
        stream.receive_window.receive(id, flow_bytes)?;
        self.on_piece(place, piece, end_stream, received);
        Ok(())
    }

    /// Checks a piece of a body, with which a frame ends or not, and completes its response if that ends with it. It is
    /// counted in both windows.
    #[inline]
    fn on_piece(
        &mut self,
        place: ExchangeIndex,
        (piece, end_frame): (&[u8], bool),
        end_stream: bool,
        received: &mut ReadContext<'_, '_>,
    ) {
        let ReadContext { slot, now, .. } = *received;
        let stream = self.streams.at(slot, place);
        if let Err(error) = stream.progress.data(piece.len(), end_stream) {
            return self.fail(place, &Http2Error::Response(error), received);
        }
        let kind = usize::from(stream.kind);
        self.scenario.read(slot, place, ResponsePart::Body(piece));
        if self.has_streams && self.answers[kind].is_stream {
            return self.on_stream_piece(place, (piece, end_frame), end_stream, received);
        }
        if end_stream && stream.incoming.body.bytes == 0 {
            let head = stream.incoming.head;
            let response = ReceivedResponse {
                status: head.status,
                body_bytes: piece.len() as u64,
                ending: received.tracker.judge(kind, head, piece, now),
                first_byte: stream.incoming.first_byte,
                uncounted_bytes: stream.bytes,
            };
            let head_version = stream.head_version;
            let last_response = &mut self.answers[kind].last_response;
            if response.ending == Ending::Ok && head_version == last_response.head.version {
                last_response.meet_body(piece);
            }
            return self.complete(place, &response, received);
        }
        // Some servers (node) end a stream with an empty frame.
        if !piece.is_empty() {
            received.tracker.inspect(kind, &mut stream.incoming, piece);
        }
        if end_stream {
            self.complete_pieces(place, true, received);
        } else if let Some(increment) = stream.receive_window.replenish() {
            write_window_update(&mut self.connections[slot as usize].out, stream.id, increment);
        }
    }

    /// The head of a response has come, whose body may be a stream.
    #[cold]
    fn begin_stream(&mut self, place: ExchangeIndex, head: JudgedHead, received: &mut ReadContext<'_, '_>) {
        let ReadContext { slot, now, .. } = *received;
        let stream = self.streams.get(slot, place);
        let (kind, first_byte) = (usize::from(stream.kind), stream.incoming.first_byte);
        if self.answers[kind].is_stream {
            received.tracker.begin_stream(slot, place, kind, head, (first_byte, now));
        }
    }

    /// Reads the events in a piece of a body.
    #[cold]
    fn on_stream_piece(
        &mut self,
        place: ExchangeIndex,
        piece: (&[u8], bool),
        end_stream: bool,
        received: &mut ReadContext<'_, '_>,
    ) {
        let ReadContext { slot, now, .. } = *received;
        let stream = self.streams.at(slot, place);
        let kind = usize::from(stream.kind);
        received.tracker.inspect(kind, &mut stream.incoming, piece.0);
        let is_over = received.tracker.read_stream(slot, place, kind, piece, now);
        if end_stream {
            self.complete_pieces(place, true, received);
        } else if is_over {
            self.cut(place, received);
        } else if let Some(increment) = stream.receive_window.replenish() {
            write_window_update(&mut self.connections[slot as usize].out, stream.id, increment);
        }
    }

    /// Ends the response at a place, whose stream is over.
    pub(super) fn cut(&mut self, place: ExchangeIndex, received: &mut ReadContext<'_, '_>) {
        let stream = self.streams.at(received.slot, place);
        stream.unsent = 0;
        self.connections[received.slot as usize].reset(stream.id, ErrorCode::CANCEL);
        self.complete_pieces(place, false, received);
    }

    /// Completes a response whose body came in pieces, or that has none; or a stream that Paceline ends.
    fn complete_pieces(
        &mut self,
        place: ExchangeIndex,
        is_complete: bool,
        received: &mut ReadContext<'_, '_>,
    ) {
        let ReadContext { slot, now, .. } = *received;
        let stream = self.streams.at(slot, place);
        let (kind, bytes) = (stream.kind.into(), stream.bytes);
        let response = match is_complete {
            true => received.tracker.judge_pieces(kind, &mut stream.incoming, bytes, now),
            false => received.tracker.cut_response(&stream.incoming, bytes),
        };
        if self.has_streams && self.answers[kind].is_stream {
            return self.complete_stream(place, kind, is_complete, response, received);
        }
        self.complete(place, &response, received);
    }

    /// Completes a stream. It may have ended before its last bytes came, so it is recorded alone.
    #[cold]
    fn complete_stream(
        &mut self,
        place: ExchangeIndex,
        kind: usize,
        is_complete: bool,
        mut response: ReceivedResponse,
        received: &mut ReadContext<'_, '_>,
    ) {
        let slot = received.slot;
        let now = received.tracker.end_stream(slot, place, kind, is_complete, &mut response, received.now);
        self.end_response(slot, place);
        if S::IS_USED {
            let head = self.streams.get(slot, place).incoming.head;
            self.scenario.complete(slot, place, head, response, now, received.tracker);
        } else if let Some(exchange) = received.tracker.exchanges_mut().end(slot, place) {
            received.tracker.answered(slot, &exchange, 1, &response, now);
        }
    }

    /// Completes a response.
    #[inline]
    fn complete(
        &mut self,
        place: ExchangeIndex,
        response: &ReceivedResponse,
        received: &mut ReadContext<'_, '_>,
    ) {
        let ReadContext { slot, now, .. } = *received;
        self.end_response(slot, place);
        if S::IS_USED {
            let head = self.streams.get(slot, place).incoming.head;
            self.scenario.complete(slot, place, head, *response, now, received.tracker);
        } else if let Some(exchange) = received.tracker.exchanges_mut().end(slot, place) {
            self.group.add(slot, exchange, *response, now, received.tracker);
        }
    }

    /// Ends the stream of a complete response.
    #[inline(always)]
    fn end_response(&mut self, slot: Slot, place: ExchangeIndex) {
        let connection = &mut self.connections[slot as usize];
        let stream = self.streams.at(slot, place);
        if stream.unsent > 0 {
            // The server did not wait for the whole request (RFC 9113 §8.1).
            connection.reset(stream.id, ErrorCode::CANCEL);
        }
        stream.end();
        (connection.cancels, connection.stray_frames) = (0, 0);
    }

    /// A response broke the rules: its request fails, the connection continues.
    #[cold]
    fn fail(&mut self, place: ExchangeIndex, error: &Http2Error, received: &mut ReadContext<'_, '_>) {
        let slot = received.slot;
        let id = self.streams.get(slot, place).id;
        self.connections[slot as usize].reset(id, error.code());
        let failure = match error {
            Http2Error::Response(MalformedResponse::HeaderListTooLong { .. }) => {
                ConnectionFailure::HeadTooLong
            }
            _ => ConnectionFailure::MalformedResponse,
        };
        received.tracker.note(failure, Some(error.to_string()));
        self.abandon(place, received);
    }

    /// Ends the stream at a place and its exchange, without a response. What came of a response is counted.
    fn abandon(&mut self, place: ExchangeIndex, received: &mut ReadContext<'_, '_>) {
        let ReadContext { slot, now, .. } = *received;
        let bytes = self.take_uncounted(slot, place);
        self.streams.at(slot, place).end();
        received.tracker.received_in_part(slot, place, bytes);
        received.tracker.abandon(slot, place, Ending::IoFailed, now);
        self.scenario.failed(slot, place);
    }

    /// The bytes of the response at a place, which are counted when it is complete or its exchange ends.
    pub(super) fn take_uncounted(&mut self, slot: Slot, place: ExchangeIndex) -> u64 {
        let stream = self.streams.at(slot, place);
        if stream.is_open() && stream.has_response { std::mem::take(&mut stream.bytes) } else { 0 }
    }

    #[cold]
    fn on_reset(
        &mut self,
        id: u32,
        code: ErrorCode,
        received: &mut ReadContext<'_, '_>,
    ) -> Result<(), Http2Error> {
        let slot = received.slot;
        let Some(place) = self.place_of(slot, id, FrameName(3))? else { return self.stray(slot) };
        if code == ErrorCode::REFUSED_STREAM {
            self.give_back(place, received);
        } else if received.tracker.has_ended_stream(slot, place, received.now) {
            self.complete_pieces(place, false, received);
        } else {
            received.tracker.note(ConnectionFailure::StreamReset, Some(code.to_string()));
            self.abandon(place, received);
        }
        Ok(())
    }

    #[cold]
    fn on_goaway(&mut self, last: u32, code: ErrorCode, debug: &[u8], received: &mut ReadContext<'_, '_>) {
        let slot = received.slot;
        let connection = &mut self.connections[slot as usize];
        connection.is_ending = true;
        let has_reset = connection.has_reset;
        if code != ErrorCode::NO_ERROR {
            let text = String::from_utf8_lossy(&debug[..debug.len().min(MAX_DEBUG_BYTES)]).into_owned();
            let details = if text.is_empty() { code.to_string() } else { format!("{code}: {text:?}") };
            let failure = match code {
                ErrorCode::ENHANCE_YOUR_CALM if has_reset => ConnectionFailure::GoAwayAfterCancels,
                _ => ConnectionFailure::GoAway,
            };
            received.tracker.note(failure, Some(details));
        }
        // In the order in which they were sent, so that they become due again in that order.
        for (_, place) in self.streams.above(slot, last) {
            self.give_back(place, received);
        }
    }

    /// The server has not processed a stream: makes its request due again, with its number.
    fn give_back(&mut self, place: ExchangeIndex, received: &mut ReadContext<'_, '_>) {
        let stream = self.streams.at(received.slot, place);
        stream.end();
        if S::IS_USED {
            self.scenario.give_back(received.slot, place, received.now, received.tracker);
        } else if let Some(kind) = received.tracker.give_back(received.slot, place, received.now) {
            self.outgoing.give_back(kind, stream.number);
        }
    }

    #[cold]
    fn on_window_update(
        &mut self,
        id: u32,
        increment: u32,
        received: &mut ReadContext<'_, '_>,
    ) -> Result<(), Http2Error> {
        let slot = received.slot;
        if id == 0 {
            self.connections[slot as usize].window.increase(0, increment)?;
        } else if let Some(place) = self.place_of(slot, id, FrameName(8))?
            && let Err(error) = self.streams.at(slot, place).window.increase(id, increment)
        {
            self.fail(place, &error, received);
        }
        self.outgoing.send_bodies::<S>(slot, &mut self.connections[slot as usize], &mut self.streams);
        self.stray(slot)
    }

    /// HEADERS or DATA came on a stream that has ended: the connection is in error, unless Paceline reset a stream of
    /// it or the server announced its end, so that the frame may have been sent before.
    #[cold]
    fn surplus(&mut self, slot: Slot, id: u32, frame: FrameName) -> Result<(), Http2Error> {
        let connection = &self.connections[slot as usize];
        if connection.has_reset || connection.is_ending {
            return self.count_stray(slot);
        }
        Err(Http2Error::ClosedStream { frame, stream: id })
    }

    /// Counts a frame that may move nothing, unless DATA for an open stream came since the last one.
    fn stray(&mut self, slot: Slot) -> Result<(), Http2Error> {
        let connection = &mut self.connections[slot as usize];
        if connection.window_at_stray != connection.receive_window.available() {
            connection.stray_frames = connection.stray_frames.min(0);
        }
        self.count_stray(slot)
    }

    /// Counts a frame that moves nothing, even if it is DATA.
    fn count_stray(&mut self, slot: Slot) -> Result<(), Http2Error> {
        let connection = &mut self.connections[slot as usize];
        connection.window_at_stray = connection.receive_window.available();
        connection.stray_frames += 1;
        if connection.stray_frames <= i64::from(MAX_STRAY_FRAMES) {
            return Ok(());
        }
        Err(Http2Error::Flood { limit: MAX_STRAY_FRAMES })
    }

    /// Whether a connection has ended: the server announced it, or its stream ids are used up, and no request is in
    /// flight.
    #[inline]
    pub(super) fn has_ended(&self, slot: Slot, live: u16) -> bool {
        let connection = &self.connections[slot as usize];
        live == 0 && (connection.is_ending || connection.ids.peek().is_none())
    }
}
