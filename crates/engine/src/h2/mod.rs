//! Implements HTTP/2 for the loop (RFC 9113): many streams on a connection, whose responses end in any order.
//!
//! Frames and HPACK are in `paceline_http::h2`. This module has the parts that depend on scheduling: the life of a
//! connection and its streams ([`connection`], [`stream`]), requests and the bodies that flow control holds back
//! ([`outgoing`]), the effect of received frames ([`receive`]), and responses that equal the last one
//! ([`last_response`]). This file connects them to the loop. The stream id of an exchange determines its place, so that
//! no map is needed; if a slow stream still occupies the place, the id is skipped.
//!
//! A server that ends a connection with GOAWAY (nginx after 1,000 requests) is the normal case: requests of streams
//! above the last one that it names return to the schedule as still due, the others are awaited, and another connection
//! is made.

mod connection;
mod last_response;
mod outgoing;
mod receive;
mod stream;

use crate::hot::{
    CancelOutcome, ExchangeIndex, Flow, PlainLoad, ProtocolFault, ProtocolHandler, Scenario, SendTimes,
    Tracker,
};
use crate::outcome::ConnectionFailure;
use crate::{IoProgress, Nanos, Settings, Slot, Transport};
pub(crate) use connection::{UnreadAnswers, after_body};
use paceline_http::h2::{ErrorCode, FrameEvent, FrameReader, Http2Error, write_goaway};
use paceline_job::MAX_STREAMS;
use receive::{Http2State, ReadContext, fault, unread_answers};
pub(crate) use receive::{MAX_STRAY_FRAMES, failure_of};
use std::io;

/// The number of streams cancelled without a response between them after which a connection is closed: more looks like
/// an attack to a server (CVE-2023-44487).
const MAX_CANCELS: u32 = 200;

/// HTTP/2 on the connections of one worker.
pub struct Http2<S = PlainLoad> {
    /// Separate from the other state, since events borrow from the readers.
    readers: Box<[FrameReader]>,
    state: Http2State<S>,
}

impl<S: Scenario> Http2<S> {
    /// Reads responses at the beginning of the input that equal the last good ones; returns their length in bytes.
    #[inline(always)]
    fn read_repeats(&mut self, slot: Slot, input: &[u8], now: Nanos, tracker: &mut Tracker<'_>) -> usize {
        let reader = &mut self.readers[slot as usize];
        if !reader.is_between_frames() {
            return 0;
        }
        let bytes = self.state.take_repeats(slot, input, now, tracker);
        if bytes > 0 {
            reader.note_progress();
        }
        bytes
    }

    /// Reads all of the input, whose beginning equals no last good response. An error is also reported to the server.
    #[inline(never)]
    fn read_frames(
        &mut self,
        slot: Slot,
        mut input: &[u8],
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> Result<(), ProtocolFault> {
        let mut result = Ok(());
        while !input.is_empty() && result.is_ok() {
            match self.read_frame(slot, input, now, tracker) {
                Ok(bytes) => {
                    input = &input[bytes..];
                    input = &input[self.read_repeats(slot, input, now, tracker)..];
                }
                Err(error) => {
                    write_goaway(&mut self.state.connections[slot as usize].out, 0, error.code(), &[]);
                    result = Err(fault(&error));
                }
            }
        }
        self.state.group.record(slot, now, tracker);
        result
    }

    /// Reads a response in two whole frames, or one other frame, at the beginning of the input; returns its length in
    /// bytes.
    #[inline(always)]
    fn read_frame(
        &mut self,
        slot: Slot,
        input: &[u8],
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> Result<usize, Http2Error> {
        let reader = &mut self.readers[slot as usize];
        let Some((event, bytes)) = reader.whole_frame(input) else {
            if std::mem::take(&mut self.state.connections[slot as usize].has_written_body) {
                reader.note_progress();
            }
            let (event, bytes) = reader.next(input)?;
            return self
                .state
                .on_event(event, &mut ReadContext { slot, now, bytes, tracker })
                .map(|()| bytes);
        };
        // A scenario reads the fields of each response.
        if !S::IS_USED
            && let FrameEvent::FieldBlock { stream, block, end_stream: false } = event
            && let Some((body, more)) = reader.whole_body(&input[bytes..], stream)
        {
            let mut received = ReadContext { slot, now, bytes: bytes + more, tracker };
            if self.state.take_whole(stream, block, body, &mut received) {
                return Ok(bytes + more);
            }
        }
        let mut received = ReadContext { slot, now, bytes, tracker };
        self.state.on_event(event, &mut received).map(|()| bytes)
    }
}

impl<S: Scenario> ProtocolHandler for Http2<S> {
    type Scenario = S;

    fn new(settings: &Settings, worker: u32) -> Self {
        Self {
            readers: (0..settings.connections_of(worker)).map(|_| FrameReader::default()).collect(),
            state: Http2State::new(settings, worker, Self::places(settings)),
        }
    }

    /// Twice as many as are used, so that a free one is close.
    fn places(settings: &Settings) -> u16 {
        settings.job.depth.min(MAX_STREAMS / 2).next_power_of_two() * 2
    }

    fn open<T: Transport>(&mut self, slot: Slot, _: Nanos, transport: &mut T) -> io::Result<IoProgress> {
        self.state.connections[slot as usize].open();
        self.state.connections[slot as usize].flush(slot, transport)?;
        Ok(IoProgress::Pending)
    }

    fn is_ready(&self, slot: Slot) -> bool {
        self.state.connections[slot as usize].greeted
    }

    #[inline]
    fn room(&self, slot: Slot, live: u16) -> u16 {
        let connection = &self.state.connections[slot as usize];
        let limit = connection.peer.max_concurrent_streams.min(self.state.depth.into()) as u16;
        if !connection.takes_requests() { 0 } else { limit.saturating_sub(live) }
    }

    #[inline]
    fn begin<T: Transport>(
        &mut self,
        slot: Slot,
        wanted: u16,
        send_times: &SendTimes,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> io::Result<u16> {
        let Http2State { connections, streams, outgoing, scenario, .. } = &mut self.state;
        let connection = &mut connections[slot as usize];
        outgoing.write(slot, wanted, send_times.at, connection, streams, scenario);
        let sent = match outgoing.written(connection) {
            [] => Err(io::ErrorKind::WouldBlock.into()),
            bytes => transport.send(slot, bytes),
        };
        let taken = *sent.as_ref().unwrap_or(&0);
        let started = outgoing.settle(slot, taken, connection, streams, scenario, send_times, tracker);
        sent.map(|_| started)
    }

    #[inline]
    fn receive<T: Transport>(
        &mut self,
        slot: Slot,
        input: &[u8],
        now: Nanos,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> Result<Flow, ProtocolFault> {
        let had_unsent = !self.state.connections[slot as usize].out.is_empty();
        let repeated = self.read_repeats(slot, input, now, tracker);
        let mut read = Ok(());
        if repeated < input.len() {
            read = self.read_frames(slot, &input[repeated..], now, tracker);
        }
        let connection = &mut self.state.connections[slot as usize];
        if !connection.out.is_empty() {
            // The next read reports a broken connection.
            let sent = connection.flush(slot, transport).unwrap_or(0);
            // A server that sends and reads nothing does not defer the timeout of bytes that waited before.
            if sent > 0 || !had_unsent {
                connection.unsent_since = now;
            }
            if connection.body_out > 0 {
                let body = sent.min(connection.body_out);
                connection.body_out -= body;
                let block = tracker.exchanges().at(slot, connection.body_place).block;
                tracker.moved(block, body as u64, 0);
            }
            if connection.unread_answers.are_too_many() {
                read = read.and_then(|()| Err(unread_answers()));
            }
        }
        read?;
        match self.state.has_ended(slot, tracker.exchanges().live(slot)) {
            true => Ok(Flow::Close),
            false => Ok(Flow::Keep),
        }
    }

    fn flush<T: Transport>(
        &mut self,
        slot: Slot,
        now: Nanos,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> io::Result<IoProgress> {
        loop {
            let connection = &mut self.state.connections[slot as usize];
            if connection.has_unreadable_body {
                return Err(ConnectionFailure::BodyUnreadable.into());
            }
            let sent = connection.flush(slot, transport)?;
            if sent > 0 || connection.out.is_empty() {
                connection.unsent_since = now;
            }
            let block = match connection.body_out {
                0 => connection.unsent_block,
                _ => tracker.exchanges().at(slot, connection.body_place).block,
            };
            connection.body_out = connection.body_out.saturating_sub(sent);
            tracker.moved(block, sent as u64, 0);
            if !connection.out.is_empty() {
                return Ok(IoProgress::Pending);
            }
            let Http2State { connections, streams, outgoing, .. } = &mut self.state;
            let connection = &mut connections[slot as usize];
            outgoing.send_bodies::<S>(slot, connection, streams);
            if connection.out.is_empty() && !connection.has_unreadable_body {
                return Ok(IoProgress::Done);
            }
        }
    }

    #[inline]
    fn unsent_since(&self, slot: Slot) -> Option<Nanos> {
        let connection = &self.state.connections[slot as usize];
        (!connection.out.is_empty()).then_some(connection.unsent_since)
    }

    /// Parts of bodies wait for room in the output, and it has some; or a body could not be read, which
    /// [`Self::flush`] reports.
    fn take_body_alarm(&mut self, slot: Slot, _: Nanos) -> Option<Nanos> {
        let (connection, streams) = (&self.state.connections[slot as usize], &self.state.streams);
        if connection.has_unreadable_body {
            return Some(Nanos::ZERO);
        }
        let may_send = |place: &ExchangeIndex| {
            let stream = streams.get(slot, *place);
            stream.unsent > 0 && stream.window.available() > 0
        };
        let has_room = connection.out.is_empty() && connection.window.available() > 0;
        (has_room && connection.blocked.iter().any(may_send)).then_some(Nanos::ZERO)
    }

    fn end_of_input(
        &mut self,
        slot: Slot,
        _: bool,
        _: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> Option<ConnectionFailure> {
        let reader = &self.readers[slot as usize];
        match reader.end_of_input() {
            Err(Http2Error::NotHttp2 { .. }) => Some(ConnectionFailure::NotHttp2),
            _ if !reader.has_begun() => Some(ConnectionFailure::ClosedUnused),
            Err(_) => Some(ConnectionFailure::Truncated),
            Ok(()) if tracker.exchanges().live(slot) == 0 => None,
            Ok(()) => Some(ConnectionFailure::ClosedUnanswered),
        }
    }

    fn take_uncounted(&mut self, slot: Slot, place: ExchangeIndex) -> u64 {
        self.state.take_uncounted(slot, place)
    }

    fn cancel<T: Transport>(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        live: u16,
        now: Nanos,
        transport: &mut T,
    ) -> CancelOutcome {
        let connection = &mut self.state.connections[slot as usize];
        let stream = self.state.streams.at(slot, place);
        connection.reset(stream.id, ErrorCode::CANCEL);
        stream.end();
        self.state.scenario.failed(slot, place);
        connection.cancels += 1;
        connection.unsent_since = now;
        let is_broken = connection.flush(slot, transport).is_err();
        if is_broken || connection.is_ending && live == 0 || connection.cancels > MAX_CANCELS {
            return CancelOutcome::Connection(ConnectionFailure::TimedOut);
        }
        CancelOutcome::Exchange
    }

    fn end_stream<T: Transport>(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        now: Nanos,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> Flow {
        self.state.cut(place, &mut ReadContext { slot, now, bytes: 0, tracker });
        let connection = &mut self.state.connections[slot as usize];
        connection.unsent_since = now;
        // The next read reports a broken connection.
        let _ = connection.flush(slot, transport);
        match self.state.has_ended(slot, tracker.exchanges().live(slot)) {
            true => Flow::Close,
            false => Flow::Keep,
        }
    }

    fn close(&mut self, slot: Slot) {
        self.readers[slot as usize] = FrameReader::default();
        self.state.connections[slot as usize].close();
        self.state.streams.end_all(slot);
        self.state.scenario.close(slot);
    }

    fn skip(&mut self) -> u16 {
        if S::IS_USED { self.state.scenario.skip() } else { self.state.outgoing.skip() }
    }

    fn scenario(&self) -> &S {
        &self.state.scenario
    }

    fn scenario_mut(&mut self) -> &mut S {
        &mut self.state.scenario
    }

    fn into_scenario(self) -> S {
        self.state.scenario
    }

    fn stream_limit(&self) -> Option<u32> {
        self.state.stream_limit
    }

    fn saw_compressed(&self) -> bool {
        self.state.saw_compressed
    }
}
