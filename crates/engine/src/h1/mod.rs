//! Implements HTTP/1.1 for the loop: requests are pipelined up to a depth, responses come in the same order.
//!
//! Therefore the exchanges of a connection form a ring, and the oldest of them is the one that the next response
//! answers. A response that equals the last good one is read by that comparison ([`last_response`]); otherwise
//! `paceline_http` does the framing. A server may announce with a response that it closes (nginx after 1,000 requests):
//! requests behind that one return to the schedule as still due. After a timeout the connection cannot be used any more.
//! Bodies that are generated, read, or wait for 100 Continue, are sent by [`uploads`].
//!
//! Over 600 lines: one protocol on one state.

mod connection;
mod last_response;
mod outgoing;
mod uploads;

use crate::hot::{
    CancelOutcome, Exchange, ExchangeIndex, Flow, PartialResponse, PlainLoad, ProtocolFault, ProtocolHandler,
    ReceivedResponse, ResponsePart, Scenario, SendTimes, Tracker,
};
use crate::outcome::{ConnectionFailure, ContinueCounts};
use crate::{Ending, IoProgress, Nanos, Settings, Slot, Transport};
use connection::{Http1Connection, Http1KindState, SentRequests};
use outgoing::Http1Outgoing;
use paceline_http::{DecodeStep, Decoder, Method, ProtocolError};
use std::io;

/// The result of a step: whether a response is complete and, if so, whether the server keeps the connection after it.
type CompletedResponse = Option<Flow>;

/// HTTP/1.1 on the connections of one worker.
#[derive(Debug)]
pub struct Http1<S = PlainLoad> {
    scenario: S,
    depth: u16,
    connections: Box<[Http1Connection]>,
    outgoing: Http1Outgoing,
    /// The numbers of the requests in flight, by connection and place, if requests differ.
    numbers: Box<[u64]>,
    /// By kind of request.
    answers: Box<[Http1KindState]>,
    /// Whether a response was compressed. Each head that differs from the last passes through [`Self::step`].
    saw_compressed: bool,
}

impl<S: Scenario> Http1<S> {
    /// Some of the bytes of `Http1Outgoing::next` were sent: notes the requests that begin in them as in flight.
    #[inline(always)]
    fn begun<T: Transport>(
        &mut self,
        slot: Slot,
        taken: usize,
        send_times: &SendTimes,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> u16 {
        if let Some(begun) = self.outgoing.begun_alike(taken) {
            match begun.count > 1 && tracker.begins_alone() {
                true => self.put_one_by_one(slot, &begun, send_times, tracker),
                false => self.put(slot, &begun, send_times, tracker),
            }
            return begun.count;
        }
        self.begun_differing(slot, taken, send_times, tracker, transport)
    }

    /// The same for requests that differ. Not inlined, to keep the code path of a run with one fixed request short.
    #[inline(never)]
    fn begun_differing<T: Transport>(
        &mut self,
        slot: Slot,
        mut taken: usize,
        send_times: &SendTimes,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> u16 {
        let mut started = 0;
        while taken > 0 {
            let (begun, number) = self.outgoing.begun_differing(slot, taken);
            let live = usize::from(tracker.exchanges().live(slot));
            let oldest = usize::from(self.connections[slot as usize].oldest);
            let depth = usize::from(self.depth);
            self.numbers[slot as usize * depth + (oldest + live) % depth] = number;
            self.put(slot, &begun, send_times, tracker);
            started += begun.count;
            taken -= begun.bytes;
        }
        if let Some(uploads) = self.outgoing.uploads() {
            uploads.begins_wait(slot, send_times.at);
            // The next read reports a broken connection, and the alarm of the body one whose body cannot be read.
            let _ = self.send_upload(slot, send_times.at, tracker, transport);
        }
        started
    }

    /// Sends more of an upload, as far as its body may be sent and the socket has room.
    #[inline(never)]
    fn send_upload<T: Transport>(
        &mut self,
        slot: Slot,
        now: Nanos,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> io::Result<IoProgress> {
        let connection = &mut self.connections[slot as usize];
        let Some(uploads) = self.outgoing.uploads() else { return Ok(IoProgress::Done) };
        uploads.begins_turn(slot, tracker.is_windows(connection.unsent_block), now);
        while connection.unsent > 0 {
            let piece = uploads.piece(slot)?;
            let wanted = piece.len();
            if wanted == 0 {
                return Ok(IoProgress::Pending);
            }
            match transport.send(slot, piece) {
                Ok(taken) => {
                    connection.unsent = uploads.advance(slot, taken);
                    connection.unsent_since = now;
                    tracker.moved(connection.unsent_block, taken as u64, 0);
                    if taken < wanted {
                        return Ok(IoProgress::Pending);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(IoProgress::Pending),
                Err(error) => return Err(error),
            }
        }
        uploads.forget(slot);
        Ok(IoProgress::Done)
    }

    /// Notes requests of one kind as in flight.
    #[inline(always)]
    fn put(&mut self, slot: Slot, begun: &SentRequests, send_times: &SendTimes, tracker: &mut Tracker<'_>) {
        let exchange = tracker.begin(send_times, begun.kind, begun.count, begun.bytes);
        let connection = &mut self.connections[slot as usize];
        tracker.exchanges_mut().begin_alike(slot, connection.oldest, begun.count, exchange);
        connection.unsent = begun.unsent as u32;
        if begun.unsent > 0 {
            (connection.unsent_block, connection.unsent_since) = (exchange.block, exchange.actual);
        }
    }

    /// The same where each request has its own intended send.
    #[cold]
    fn put_one_by_one(
        &mut self,
        slot: Slot,
        begun: &SentRequests,
        send_times: &SendTimes,
        tracker: &mut Tracker<'_>,
    ) {
        let length = (begun.bytes + begun.unsent) / usize::from(begun.count);
        let whole = SentRequests { count: 1, bytes: length, unsent: 0, ..*begun };
        for _ in 1..begun.count {
            self.put(slot, &whole, send_times, tracker);
        }
        let last = SentRequests { count: 1, bytes: length - begun.unsent, ..*begun };
        self.put(slot, &last, send_times, tracker);
    }

    /// Sends the next request of the scenario, or its next ones; none if it makes none any more.
    fn begin_step<T: Transport>(
        &mut self,
        slot: Slot,
        send_times: &SendTimes,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> io::Result<u16> {
        let place = self.connections[slot as usize].oldest;
        let Some(made) = self.scenario.make(slot, place, send_times.at) else { return Ok(0) };
        let (length, count) = (made.text.len(), made.count);
        let taken = transport.send(slot, made.text).inspect_err(|_| self.scenario.undo(slot, place))?;
        let exchange = self.scenario.sent(slot, place, send_times, taken, tracker);
        let connection = &mut self.connections[slot as usize];
        connection.unsent = (length - taken) as u32;
        (connection.unsent_block, connection.unsent_since) = (exchange.block, send_times.at);
        Ok(count)
    }

    /// The oldest exchange of a connection, which the next response answers, and its kind. If there are several kinds,
    /// sets the method in the decoder.
    #[inline(never)]
    fn oldest(&mut self, slot: Slot, tracker: &Tracker<'_>) -> (Exchange, usize) {
        let connection = &mut self.connections[slot as usize];
        let exchange = *tracker.exchanges().at(slot, connection.oldest);
        let kind = tracker.kind_of(&exchange);
        if connection.decoder.is_idle() {
            connection.decoder.set_method(self.answers[kind].method);
        }
        (exchange, kind)
    }

    /// Completes `count` equal responses: they end the oldest exchanges of their connection.
    #[inline]
    fn complete(
        &mut self,
        slot: Slot,
        response: &ReceivedResponse,
        count: u16,
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) {
        let mut left = count;
        while left > 0 && tracker.exchanges().live(slot) > 0 {
            left -= self.complete_alike(slot, response, left, now, tracker);
        }
    }

    /// The same for as many of them as answer requests that were sent together, nearly always all; returns how many.
    #[inline(never)]
    fn complete_alike(
        &mut self,
        slot: Slot,
        response: &ReceivedResponse,
        count: u16,
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> u16 {
        let depth = self.depth;
        let connection = &mut self.connections[slot as usize];
        let Some((exchange, alike)) = tracker.exchanges_mut().end_alike(slot, connection.oldest, count)
        else {
            return count;
        };
        let next = u32::from(connection.oldest) + u32::from(alike);
        connection.oldest =
            (if next >= depth.into() { next - u32::from(depth) } else { next }) as ExchangeIndex;
        tracker.answered(slot, &exchange, alike, response, now);
        alike
    }

    /// Reads one step of a response that came in pieces, or whose head is new: returns the bytes consumed and, if they
    /// complete the response, what happens to the connection.
    fn step(
        &mut self,
        slot: Slot,
        input: &[u8],
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> Result<(usize, CompletedResponse), ProtocolError> {
        let (exchange, kind) = self.oldest(slot, tracker);
        let (connection, answers) = (&mut self.connections[slot as usize], &mut self.answers[kind]);
        let place = connection.oldest;
        if connection.decoder.is_idle() {
            connection.incoming.first_byte = now;
            self.scenario.read(slot, place, ResponsePart::Start);
        }
        let in_head = self.scenario.reads_responses() && connection.decoder.reads_head();
        let (step, consumed) = connection.decoder.decode(&mut answers.heads, input)?;
        if in_head {
            self.scenario.read(slot, place, ResponsePart::Head(&input[..consumed]));
        }
        let mut completed = None;
        match step {
            DecodeStep::Interim(_) if in_head => self.scenario.read(slot, place, ResponsePart::Interim),
            DecodeStep::NeedMore => {}
            DecodeStep::Interim(status) => {
                let is_windows = tracker.is_windows(exchange.block);
                let uploads = self.outgoing.uploads();
                uploads.into_iter().for_each(|uploads| uploads.interim(slot, status, is_windows, now));
            }
            DecodeStep::Head(head) => {
                (connection.keep_alive, connection.is_suspect) = (head.keep_alive, head.is_suspect);
                self.saw_compressed |= head.coding.is_compressed();
                connection.incoming.begin(head.into());
                if answers.is_stream {
                    let times = (connection.incoming.first_byte, now);
                    tracker.begin_stream(slot, place, kind, head.into(), times);
                }
            }
            DecodeStep::Body(piece) => {
                tracker.inspect(kind, &mut connection.incoming, piece);
                if self.scenario.reads_responses() {
                    self.scenario.read(slot, place, ResponsePart::Body(piece));
                }
                let piece = (piece, answers.is_stream && connection.decoder.ends_chunk());
                if answers.is_stream && tracker.read_stream(slot, place, kind, piece, now) {
                    completed = Some(self.cut(slot, consumed as u64, now, tracker));
                }
            }
            DecodeStep::End => {
                completed = Some(self.complete_steps(slot, consumed as u64, true, now, tracker))
            }
        }
        if completed.is_none() {
            tracker.moved(exchange.block, 0, consumed as u64);
        }
        Ok((consumed, completed))
    }

    /// Completes a response that was read in steps: its length is checked here, its bytes were checked before. Whether
    /// one that the close of the connection ends is complete is unknown.
    fn complete_steps(
        &mut self,
        slot: Slot,
        uncounted_bytes: u64,
        is_complete: bool,
        mut now: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> Flow {
        let (_, kind) = self.oldest(slot, tracker);
        let connection = &mut self.connections[slot as usize];
        let mut response = tracker.judge_pieces(kind, &mut connection.incoming, uncounted_bytes, now);
        if self.answers[kind].is_stream {
            now = tracker.end_stream(slot, connection.oldest, kind, is_complete, &mut response, now);
        }
        if self.scenario.reads_responses() {
            let (head, place) = (connection.incoming.head, connection.oldest);
            connection.oldest = if place + 1 == self.depth { 0 } else { place + 1 };
            let is_redirect = self.scenario.complete(slot, place, head, response, now, tracker);
            // A server that redirects before it has the whole request may never read the rest.
            connection.keep_alive &= !is_redirect || connection.unsent == 0;
        } else {
            self.complete(slot, &response, 1, now, tracker);
        }
        let Http1Connection { keep_alive, unsent, .. } = self.connections[slot as usize];
        match keep_alive {
            true if unsent > 0 && self.leaves_body(slot, tracker) => Flow::Cut,
            true => Flow::Keep,
            false => Flow::Close,
        }
    }

    /// Whether a body still waited for 100 Continue when its request was answered. It is not sent, and the server may still
    /// expect it: the connection can carry no other request (RFC 9110 §10.1.1).
    #[cold]
    fn leaves_body(&mut self, slot: Slot, tracker: &Tracker<'_>) -> bool {
        let is_windows = tracker.is_windows(self.connections[slot as usize].unsent_block);
        self.outgoing.uploads().is_some_and(|uploads| uploads.answered(slot, is_windows))
    }

    /// Ends the response to the oldest exchange, whose stream is over. The rest of it cannot be told from a response to
    /// the next request, so the connection carries none.
    fn cut(&mut self, slot: Slot, uncounted_bytes: u64, now: Nanos, tracker: &mut Tracker<'_>) -> Flow {
        self.complete_steps(slot, uncounted_bytes, false, now, tracker);
        Flow::Cut
    }

    /// Consumes the last response at the beginning of the input as often as it is repeated; returns the bytes
    /// consumed.
    #[inline(always)]
    fn take_repeats(
        &mut self,
        slot: Slot,
        kind: usize,
        most: u16,
        input: &[u8],
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> usize {
        let last_response = &self.answers[kind].last_response;
        let length = last_response.length();
        let repeats = match self.connections[slot as usize].decoder.is_idle() {
            true => last_response.repeats_in(input, most),
            false => 0,
        };
        if repeats > 0 {
            let response = ReceivedResponse {
                status: last_response.status(),
                body_bytes: last_response.body_bytes(),
                ending: Ending::Ok,
                first_byte: now,
                uncounted_bytes: length as u64,
            };
            self.complete(slot, &response, repeats, now, tracker);
        }
        usize::from(repeats) * length
    }

    /// Splits the bytes into responses. All get the same time: they were read together.
    #[inline(never)]
    fn take_responses(
        &mut self,
        slot: Slot,
        mut input: &[u8],
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> Result<Flow, ProtocolFault> {
        while !input.is_empty() {
            let live = tracker.exchanges().live(slot);
            if live == 0 {
                return Err(unsolicited(input));
            }
            let (kind, alike) = match self.answers.len() {
                1 => (0, live),
                _ => (self.oldest(slot, tracker).1, 1),
            };
            let repeated = self.take_repeats(slot, kind, alike, input, now, tracker);
            input = &input[repeated..];
            if repeated > 0 {
                continue;
            }
            let answers = &mut self.answers[kind];
            // A scenario may read the head and the body of each response.
            if !self.scenario.reads_responses()
                && !answers.in_steps
                && let Some(whole) = self.connections[slot as usize].decoder.whole(&answers.heads, input)
            {
                let response = ReceivedResponse {
                    status: whole.head.status,
                    body_bytes: whole.body.len() as u64,
                    ending: tracker.judge(kind, whole.head.into(), whole.body, now),
                    first_byte: now,
                    uncounted_bytes: whole.consumed as u64,
                };
                let (bytes, rest) = input.split_at(whole.consumed);
                input = rest;
                if whole.head.keep_alive && response.ending == Ending::Ok && answers.repeat {
                    answers.last_response.meet(bytes, response.status, response.body_bytes);
                }
                self.complete(slot, &response, 1, now, tracker);
                if !whole.head.keep_alive {
                    return self.closed(slot, whole.head.is_suspect, tracker);
                }
            } else {
                let (consumed, completed) = self.step(slot, input, now, tracker).map_err(not_http)?;
                input = &input[consumed..];
                match completed {
                    Some(Flow::Close) => {
                        let is_suspect = self.connections[slot as usize].is_suspect;
                        return self.closed(slot, is_suspect, tracker);
                    }
                    Some(Flow::Cut) => return Ok(Flow::Cut),
                    Some(Flow::Keep) | None => {}
                }
            }
        }
        self.finish_empty_body(slot, now, tracker)
    }

    /// Ends a connection after its last response: the server closes it, or, if the framing of the response cannot be
    /// trusted, Paceline does.
    #[cold]
    fn closed(
        &mut self,
        slot: Slot,
        is_suspect: bool,
        tracker: &mut Tracker<'_>,
    ) -> Result<Flow, ProtocolFault> {
        if is_suspect {
            return Err(ProtocolFault::from_failure(ConnectionFailure::SuspectFraming));
        }
        self.give_back_all(slot, tracker);
        Ok(Flow::Close)
    }

    /// The server has not processed the requests in flight on a connection: they are due again, in their order.
    fn give_back_all(&mut self, slot: Slot, tracker: &mut Tracker<'_>) {
        let first = self.connections[slot as usize].oldest;
        for after in 0..tracker.exchanges().live(slot) {
            let place = ((u32::from(first) + u32::from(after)) % u32::from(self.depth)) as ExchangeIndex;
            let number = self.numbers.get(slot as usize * usize::from(self.depth) + usize::from(place));
            let number = number.copied().unwrap_or_default();
            if let Some(kind) = tracker.give_back_behind_close(slot, place) {
                self.outgoing.give_back(kind, number);
            }
        }
    }

    /// Completes a response without a body at the end of its head: no further bytes may come that would complete it.
    #[inline]
    fn finish_empty_body(
        &mut self,
        slot: Slot,
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> Result<Flow, ProtocolFault> {
        let is_idle = self.connections[slot as usize].decoder.is_idle();
        if is_idle || tracker.exchanges().live(slot) == 0 {
            return Ok(Flow::Keep);
        }
        let (_, completed) = self.step(slot, &[], now, tracker).map_err(not_http)?;
        match completed {
            Some(Flow::Close) => self.closed(slot, false, tracker),
            Some(Flow::Cut) => Ok(Flow::Cut),
            Some(Flow::Keep) | None => Ok(Flow::Keep),
        }
    }
}

/// The fault for input that is not HTTP, or breaks its rules: the bytes after it cannot be trusted.
#[cold]
fn not_http(error: ProtocolError) -> ProtocolFault {
    let failure = match error {
        ProtocolError::HeadTooLarge { .. } => ConnectionFailure::HeadTooLong,
        _ => ConnectionFailure::Protocol,
    };
    ProtocolFault { failure, detail: Some(error.to_string()), is_end: false }
}

/// The fault for input that no request asked for. A server may answer an idle connection with 408 before it closes it
/// (RFC 9110 §15.5.9; HAProxy does): that is a close like any other.
#[cold]
fn unsolicited(input: &[u8]) -> ProtocolFault {
    let is_timeout = input.starts_with(b"HTTP/1.") && input.get(8..12) == Some(&b" 408"[..]);
    match is_timeout {
        true => ProtocolFault { failure: ConnectionFailure::ClosedUnused, detail: None, is_end: true },
        false => ProtocolFault::from_failure(ConnectionFailure::Unsolicited),
    }
}

/// The last bytes of a request.
fn tail_of(request: &[u8], bytes: usize) -> &[u8] {
    &request[request.len().saturating_sub(bytes)..]
}

/// The reason why a response did not end within the timeout.
fn unfinished(decoder: &Decoder) -> ConnectionFailure {
    match decoder.reads_until_close() {
        true => ConnectionFailure::NoEnd,
        false => ConnectionFailure::TimedOut,
    }
}

impl<S: Scenario> ProtocolHandler for Http1<S> {
    type Scenario = S;

    fn new(settings: &Settings, worker: u32) -> Self {
        let &Settings { ref requests, seed, .. } = settings;
        let (place, places) = settings.place_of(worker);
        let depth = settings.job.depth;
        let method = requests.kinds().first().map_or(Method::Other, |kind| kind.method);
        let count = settings.connections_of(worker);
        let outgoing = Http1Outgoing::new(requests, depth, seed, place, places);
        let numbers = if outgoing.differ() { count as usize * usize::from(depth) } else { 0 };
        Self {
            scenario: S::new(settings, worker, Self::places(settings)),
            depth,
            connections: (0..count).map(|_| Http1Connection::new(method, settings.job.line_ends())).collect(),
            outgoing,
            numbers: vec![0; numbers].into(),
            answers: requests
                .kinds()
                .iter()
                .zip(0..)
                .map(|(kind, index)| Http1KindState::new(kind, requests.awaits_continue(index)))
                .collect(),
            saw_compressed: false,
        }
    }

    fn places(settings: &Settings) -> u16 {
        settings.job.depth
    }

    fn open<T: Transport>(&mut self, _: Slot, _: Nanos, _: &mut T) -> io::Result<IoProgress> {
        Ok(IoProgress::Done)
    }

    fn is_ready(&self, _: Slot) -> bool {
        true
    }

    #[inline]
    fn room(&self, slot: Slot, live: u16) -> u16 {
        if self.connections[slot as usize].unsent > 0 { 0 } else { self.depth - live }
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
        if S::IS_USED {
            return self.begin_step(slot, send_times, tracker, transport);
        }
        let taken = transport.send(slot, self.outgoing.next(wanted))?;
        Ok(self.begun(slot, taken, send_times, tracker, transport))
    }

    /// Nearly always the input is the last response and no more; any other input takes the slower path.
    #[inline]
    fn receive<T: Transport>(
        &mut self,
        slot: Slot,
        input: &[u8],
        now: Nanos,
        tracker: &mut Tracker<'_>,
        _: &mut T,
    ) -> Result<Flow, ProtocolFault> {
        let repeated = match self.answers.len() {
            1 => self.take_repeats(slot, 0, tracker.exchanges().live(slot), input, now, tracker),
            _ => 0,
        };
        if repeated > 0 && repeated == input.len() {
            return Ok(Flow::Keep);
        }
        self.take_responses(slot, &input[repeated..], now, tracker)
    }

    fn flush<T: Transport>(
        &mut self,
        slot: Slot,
        now: Nanos,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> io::Result<IoProgress> {
        let connection = &mut self.connections[slot as usize];
        let unsent = connection.unsent as usize;
        if unsent == 0 {
            return Ok(IoProgress::Done);
        }
        if self.outgoing.uploads().is_some() {
            return self.send_upload(slot, now, tracker, transport);
        }
        let tail = match S::IS_USED {
            true => tail_of(self.scenario.text(slot, connection.oldest), unsent),
            false => self.outgoing.tail(slot, unsent),
        };
        match transport.send(slot, tail) {
            Ok(taken) => {
                connection.unsent = (unsent - taken) as u32;
                tracker.moved(connection.unsent_block, taken as u64, 0);
                if taken < unsent {
                    return Ok(IoProgress::Pending);
                }
                self.outgoing.forget_tail(slot);
                Ok(IoProgress::Done)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(IoProgress::Pending),
            Err(error) => Err(error),
        }
    }

    #[inline]
    fn unsent_since(&self, slot: Slot) -> Option<Nanos> {
        let connection = &self.connections[slot as usize];
        (connection.unsent > 0).then_some(connection.unsent_since)
    }

    fn take_body_alarm(&mut self, slot: Slot, now: Nanos) -> Option<Nanos> {
        self.outgoing.uploads()?.take_alarm(slot, now)
    }

    fn body_alarm_rang(&mut self, slot: Slot) {
        self.outgoing.uploads().into_iter().for_each(|uploads| uploads.alarm_rang(slot));
    }

    fn continue_counts(&mut self) -> ContinueCounts {
        self.outgoing.uploads().map(|uploads| uploads.counts().clone()).unwrap_or_default()
    }

    fn end_of_input(
        &mut self,
        slot: Slot,
        cut: bool,
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> Option<ConnectionFailure> {
        let connection = &mut self.connections[slot as usize];
        let ended = connection.decoder.end_of_input();
        if tracker.has_ended_stream(slot, connection.oldest, now) {
            self.complete_steps(slot, 0, false, now, tracker);
            return None;
        }
        match ended {
            // The close would end a response without a length, if it could be trusted (RFC 9112 §9.8).
            Ok(true) if cut => Some(ConnectionFailure::Truncated),
            Ok(true) => {
                self.complete_steps(slot, 0, false, now, tracker);
                self.give_back_all(slot, tracker);
                None
            }
            Ok(false) if tracker.exchanges().live(slot) == 0 => None,
            Ok(false) => Some(ConnectionFailure::ClosedUnanswered),
            Err(_) => Some(ConnectionFailure::Truncated),
        }
    }

    fn cancel<T: Transport>(
        &mut self,
        slot: Slot,
        _: ExchangeIndex,
        _: u16,
        _: Nanos,
        _: &mut T,
    ) -> CancelOutcome {
        CancelOutcome::Connection(unfinished(&self.connections[slot as usize].decoder))
    }

    fn end_stream<T: Transport>(
        &mut self,
        slot: Slot,
        _: ExchangeIndex,
        now: Nanos,
        tracker: &mut Tracker<'_>,
        _: &mut T,
    ) -> Flow {
        self.cut(slot, 0, now, tracker)
    }

    fn close(&mut self, slot: Slot) {
        let connection = &mut self.connections[slot as usize];
        if std::mem::take(&mut connection.unsent) > 0 {
            self.outgoing.forget_tail(slot);
        }
        connection.oldest = 0;
        connection.incoming = PartialResponse::default();
        connection.decoder.reset();
        self.scenario.close(slot);
    }

    fn skip(&mut self) -> u16 {
        if S::IS_USED { self.scenario.skip() } else { self.outgoing.skip() }
    }

    fn scenario(&self) -> &S {
        &self.scenario
    }

    fn scenario_mut(&mut self) -> &mut S {
        &mut self.scenario
    }

    fn into_scenario(self) -> S {
        self.scenario
    }

    fn saw_compressed(&self) -> bool {
        self.saw_compressed
    }
}
