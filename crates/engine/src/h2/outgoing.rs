//! Sends requests: they are written as frames, begun when a byte of them has been sent, and taken back if none has.
//!
//! If every request is the same except for its stream, the frames are prepared once, and only streams are written into
//! them. Bodies that wait for flow control are sent here too.

use super::connection::Http2Connection;
use super::stream::Streams;
use crate::hot::{ExchangeIndex, MadeStep, RequestOrder, Scenario, SendTimes, Tracker};
use crate::read_body::BodyReader;
use crate::{Nanos, Settings, Slot};
use paceline_http::h2::{FRAME_HEAD_BYTES, RequestBlocks, RequestTable, STREAM_AT, write_text_request};
use paceline_http::{BodyBytes, Expander, Scheme};

/// The maximum length of prepared requests: as many as are sent at once.
const MAX_PREPARED_BYTES: usize = 64 * 1024;

/// The requests that a worker sends.
pub(super) struct Http2Outgoing {
    blocks: RequestBlocks,
    order: RequestOrder,
    /// The streams being begun.
    begun: Vec<WrittenStream>,
    /// The table of its connection before.
    table_before: RequestTable,
    /// The only request of a run that is the same every time, repeated as often as it is sent at once; none if requests
    /// differ.
    prepared: Option<PreparedFrames>,
    /// Bytes of it that are being begun; 0 if they are in the connection's output.
    prepared_bytes: usize,
    /// The body of a request whose bytes vary.
    body: Vec<u8>,
    /// Reads bodies that are not kept.
    reader: BodyReader,
    /// The scheme of the requests of a scenario.
    scheme: Scheme,
}

/// The same frame repeated.
struct PreparedFrames {
    bytes: Vec<u8>,
    /// Length of one frame.
    length: usize,
}

/// A stream whose frames have been written.
#[derive(Clone, Copy)]
struct WrittenStream {
    kind: u16,
    place: ExchangeIndex,
    /// The offset of its frames in the written bytes.
    start: usize,
}

/// The number of streams, from the first on, that are of one kind.
#[inline]
fn alike(streams: &[WrittenStream], kinds: usize) -> usize {
    match streams {
        [first, _, ..] if kinds > 1 => streams.iter().take_while(|stream| stream.kind == first.kind).count(),
        _ => streams.len(),
    }
}

impl Http2Outgoing {
    /// The requests of worker `worker`.
    pub(super) fn new(settings: &Settings, worker: u32) -> Self {
        let &Settings { ref requests, seed, .. } = settings;
        let (place, places) = settings.place_of(worker);
        let blocks = RequestBlocks::new(requests.http2());
        let depth = usize::from(settings.job.depth);
        let repeated = if blocks.count() == 1 { blocks.repeated(0) } else { None };
        let prepared = repeated.map(|frame| {
            let count = (MAX_PREPARED_BYTES / frame.len()).clamp(1, depth);
            PreparedFrames { bytes: frame.repeat(count), length: frame.len() }
        });
        let expander =
            |values| Expander::for_parts(place, places, values, requests.files(), blocks.parts_max());
        Self {
            order: RequestOrder::new(requests, seed, place, expander),
            blocks,
            begun: Vec::with_capacity(depth),
            table_before: RequestTable::Empty,
            prepared,
            prepared_bytes: 0,
            body: Vec::new(),
            reader: BodyReader::new(requests.read_bodies()),
            scheme: settings.job.url.scheme,
        }
    }

    /// Writes the frames of up to `wanted` requests; [`Http2Outgoing::written`] returns them.
    #[inline(always)]
    pub(super) fn write<S: Scenario>(
        &mut self,
        slot: Slot,
        wanted: u16,
        now: Nanos,
        connection: &mut Http2Connection,
        streams: &mut Streams,
        scenario: &mut S,
    ) {
        self.begun.clear();
        (self.table_before, self.prepared_bytes) = (connection.table, 0);
        if S::IS_USED {
            self.write_steps(slot, wanted, now, connection, streams, scenario);
        } else if connection.table == RequestTable::Filled
            && let Some(prepared) = &mut self.prepared
        {
            let mut start = 0;
            while self.begun.len() < wanted.into()
                && let Some(field) = prepared.bytes.get_mut(start + STREAM_AT..start + FRAME_HEAD_BYTES)
                && let Some((place, stream)) = streams.open(slot, &mut connection.ids)
            {
                field.copy_from_slice(&stream.id.to_be_bytes());
                stream.begin(0, 0, connection.peer.initial_window_size);
                self.begun.push(WrittenStream { kind: 0, place, start });
                start += prepared.length;
            }
            self.prepared_bytes = start;
        } else {
            self.write_differing(slot, wanted, connection, streams);
        }
    }

    /// The same for requests of a scenario.
    #[inline(never)]
    fn write_steps<S: Scenario>(
        &mut self,
        slot: Slot,
        wanted: u16,
        now: Nanos,
        connection: &mut Http2Connection,
        streams: &mut Streams,
        scenario: &mut S,
    ) {
        for _ in 0..wanted {
            let id = connection.ids;
            let Some((place, stream)) = streams.open(slot, &mut connection.ids) else { return };
            let Some(MadeStep { kind, text, .. }) = scenario.make(slot, place, now) else {
                stream.end();
                connection.ids = id;
                return;
            };
            stream.begin(kind, 0, connection.peer.initial_window_size);
            let start = connection.out.len();
            let body_at =
                write_text_request(text, self.scheme, stream.id, &mut connection.table, &mut connection.out);
            stream.body.clear();
            stream.body.extend_from_slice(&text[body_at..]);
            (stream.unsent, stream.frame_bytes_max) = (stream.body.len() as u64, u32::MAX);
            self.begun.push(WrittenStream { kind, place, start });
            if stream.unsent > 0 && !connection.write_body(stream, None, &mut self.reader) {
                connection.blocked.push_back(place);
            }
        }
    }

    /// The same if requests differ, or are the first of their connection.
    #[inline(never)]
    fn write_differing(
        &mut self,
        slot: Slot,
        wanted: u16,
        connection: &mut Http2Connection,
        streams: &mut Streams,
    ) {
        for _ in 0..wanted {
            if !self.write_next(slot, connection, streams) {
                return;
            }
        }
    }

    /// The written bytes, to be sent.
    #[inline]
    pub(super) fn written<'a>(&'a self, connection: &'a Http2Connection) -> &'a [u8] {
        match &self.prepared {
            Some(prepared) if self.prepared_bytes > 0 => &prepared.bytes[..self.prepared_bytes],
            _ => &connection.out,
        }
    }

    /// Writes the frames of one request, if a stream is available.
    fn write_next(&mut self, slot: Slot, connection: &mut Http2Connection, streams: &mut Streams) -> bool {
        let Some((place, stream)) = streams.open(slot, &mut connection.ids) else { return false };
        let kind = self.order.next_kind();
        let (start, number) = (connection.out.len(), self.order.expander.number());
        stream.begin(kind, number, connection.peer.initial_window_size);
        self.blocks.write(
            kind.into(),
            stream.id,
            &mut connection.table,
            &mut self.order.expander,
            &mut connection.out,
            &mut self.body,
        );
        self.begun.push(WrittenStream { kind, place, start });
        if self.blocks.has_body(kind.into()) {
            self.begin_body(slot, place, connection, streams);
        }
        true
    }

    /// A request with a body: as much of it as the windows allow follows its field block.
    fn begin_body(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        connection: &mut Http2Connection,
        streams: &mut Streams,
    ) {
        let stream = streams.at(slot, place);
        let fixed = self.blocks.body(stream.kind.into());
        if fixed.is_none() {
            stream.body.clear();
            stream.body.extend_from_slice(&self.body);
        }
        stream.unsent = fixed.unwrap_or(BodyBytes::Kept(&self.body)).length();
        stream.frame_bytes_max = self.blocks.frame_bytes_max(stream.kind.into());
        // Only this body: undoing it must not remove bytes of another.
        if !connection.write_body(stream, fixed, &mut self.reader) {
            connection.blocked.push_back(place);
        }
    }

    /// Writes as much of the waiting bodies as windows and output allow.
    pub(super) fn send_bodies<S: Scenario>(
        &mut self,
        slot: Slot,
        connection: &mut Http2Connection,
        streams: &mut Streams,
    ) {
        for _ in 0..connection.blocked.len() {
            let Some(place) = connection.blocked.pop_front() else { return };
            let stream = streams.at(slot, place);
            let body = if S::IS_USED { None } else { self.blocks.body(stream.kind.into()) };
            if !stream.is_open() {
                continue;
            }
            let (before, out_before) = (stream.unsent, connection.out.len());
            if !connection.write_body(stream, body, &mut self.reader) {
                connection.blocked.push_back(place);
            }
            if stream.unsent < before {
                connection.body_written((before - stream.unsent) as u32);
                connection.body_out += connection.out.len() - out_before;
                connection.body_place = place;
            }
        }
    }

    /// Given the number of written bytes that the socket took: reports to the tracker the streams that began in them,
    /// and undoes the others. Returns how many began.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "the parts of one state are borrowed separately")]
    pub(super) fn settle<S: Scenario>(
        &mut self,
        slot: Slot,
        taken: usize,
        connection: &mut Http2Connection,
        streams: &mut Streams,
        scenario: &mut S,
        send_times: &SendTimes,
        tracker: &mut Tracker<'_>,
    ) -> u16 {
        let mut written = self.written(connection).len();
        if !S::IS_USED
            && let &[WrittenStream { kind, place, .. }] = self.begun.as_slice()
            && taken == written
        {
            connection.out.clear();
            let exchange = tracker.begin(send_times, kind, 1, taken);
            tracker.exchanges_mut().begin(slot, place, exchange);
            return 1;
        }
        if taken < written {
            written = self.undo_from(taken, slot, connection, streams, scenario, send_times.at);
        } else {
            connection.out.clear();
        }
        let mut rest = self.begun.as_slice();
        while let Some(&WrittenStream { kind, place, start }) = rest.first() {
            let begins_alone = S::IS_USED || tracker.begins_alone();
            let count = if begins_alone { 1 } else { alike(rest, self.blocks.count()) };
            let (together, after) = rest.split_at(count);
            let bytes = after.first().map_or(written, |next| next.start).min(taken) - start;
            let exchange = if S::IS_USED {
                scenario.sent(slot, place, send_times, bytes, tracker)
            } else {
                let exchange = tracker.begin(send_times, kind, count as u16, bytes);
                for stream in together {
                    tracker.exchanges_mut().begin(slot, stream.place, exchange);
                }
                exchange
            };
            connection.unsent_block = exchange.block;
            rest = after;
        }
        self.begun.len() as u16
    }

    /// Takes back the streams that were written after the first `taken` bytes, since none of their bytes was sent, and
    /// puts the remaining bytes before them into the connection's output. Returns the end of those bytes.
    #[cold]
    fn undo_from<S: Scenario>(
        &mut self,
        taken: usize,
        slot: Slot,
        connection: &mut Http2Connection,
        streams: &mut Streams,
        scenario: &mut S,
        at: Nanos,
    ) -> usize {
        let started = self.begun.iter().take_while(|stream| stream.start < taken).count();
        let mut end = self.written(connection).len();
        if let Some(first) = self.begun.get(started) {
            end = first.start;
            connection.ids.undo_from(streams.get(slot, first.place).id);
        }
        if started == 0 {
            // Only the first written request changes it.
            connection.table = self.table_before;
        }
        for begun in self.begun.drain(started..).rev() {
            let stream = streams.at(slot, begun.place);
            if S::IS_USED {
                scenario.undo(slot, begun.place);
            } else if self.prepared.is_none() {
                self.order.undo(begun.kind, stream.number);
            }
            let fixed = if S::IS_USED { None } else { self.blocks.body(begun.kind.into()) };
            let body = fixed.unwrap_or(BodyBytes::Kept(&stream.body));
            connection.window.undo((body.length() - stream.unsent) as u32);
            stream.end();
            connection.blocked.retain(|place| *place != begun.place);
        }
        match &self.prepared {
            Some(prepared) if self.prepared_bytes > 0 => {
                connection.out.extend_from_slice(&prepared.bytes[taken..end]);
            }
            _ => {
                connection.out.truncate(end);
                connection.out.drain(..taken);
            }
        }
        connection.unsent_since = at;
        end
    }

    /// The server has not processed a request: makes it due again, with its number.
    pub(super) fn give_back(&mut self, kind: u16, number: u64) {
        if self.prepared.is_none() {
            self.order.give_back(kind, number);
        }
    }

    /// Skips the next request, which will not be sent; returns its kind.
    pub(super) fn skip(&mut self) -> u16 {
        self.order.skip()
    }
}
