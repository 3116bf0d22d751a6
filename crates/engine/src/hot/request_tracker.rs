//! The tracker: records which requests are due and in flight, and their outcomes.
//!
//! The loop reads the due requests from it. A protocol reports each exchange that begins and ends; the tracker takes
//! requests off the schedule, judges bodies, and has everything recorded. It does not depend on sockets or protocols.
//!
//! Over 600 lines: all of it acts on one state.

use super::addresses::AddressSpread;
use super::blocks::BlockIndex;
use super::exchange::{Exchange, ExchangeIndex, Exchanges, SetAside, SetAsideReason, WaitingStep};
use super::fairness::Medians;
use super::inspect::{Body, Inspector, JudgedHead};
use super::record::{ReceivedResponse, Recorder};
use super::schedule::{ReturnedRequest, Schedule};
use super::streams::Streams;
use super::ticks::TickRange;
use crate::arrivals::SampledIntervals;
use crate::outcome::{ConnectionCounts, ConnectionFailure};
use crate::request_log::{LoggedRequest, WorkerLog};
use crate::stream::{StreamExamples, StreamFault};
use crate::{BodyFault, Ending, LoadModel, Nanos, Settings, Slot, Timeline, Timestamps, WrongBody};

/// The number of times that a request may be handed back before it counts as failed, so that a run ends against a
/// server that refuses everything.
const MAX_RETURNS: u8 = 100;

/// The times of requests that are about to be sent together.
#[derive(Clone, Copy, Debug)]
pub struct SendTimes {
    /// The intended send of the first of them.
    pub due: Nanos,
    /// The current time: just before their first byte is handed to the socket.
    pub at: Nanos,
    /// When the connection became free for them.
    pub free_at: Nanos,
}

/// A partly received response.
#[derive(Debug, Default)]
pub(crate) struct PartialResponse {
    /// The facts in its head, once that is complete.
    pub head: JudgedHead,
    /// When its first byte was received.
    pub first_byte: Nanos,
    /// Its body, as received so far.
    pub body: Body,
}

impl PartialResponse {
    /// The head of the response is complete: its body may follow.
    pub(crate) fn begin(&mut self, head: JudgedHead) {
        (self.head, self.body) = (head, Body::default());
    }
}

/// Equal responses of one read: recorded together when a different one comes, or when the read is done.
#[derive(Debug)]
pub(crate) struct AnswerGroup {
    exchange: Exchange,
    response: ReceivedResponse,
    /// The number of responses.
    count: u16,
}

impl Default for AnswerGroup {
    fn default() -> Self {
        Self { exchange: Exchange::VACANT, response: ReceivedResponse::NONE, count: 0 }
    }
}

impl AnswerGroup {
    /// Adds an exchange, removed from the table, as answered.
    #[inline]
    pub(crate) fn add(
        &mut self,
        slot: Slot,
        exchange: Exchange,
        response: ReceivedResponse,
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) {
        let is_alike = self.exchange == exchange && self.response == response;
        if self.count == 0 || !is_alike || self.count == u16::MAX {
            self.record(slot, now, tracker);
            (self.exchange, self.response) = (exchange, response);
        }
        self.count += 1;
    }

    /// Records the added responses.
    #[inline(never)]
    pub(crate) fn record(&mut self, slot: Slot, now: Nanos, tracker: &mut Tracker<'_>) {
        let count = std::mem::take(&mut self.count);
        if count > 0 {
            tracker.answered(slot, &self.exchange, count, &self.response, now);
        }
    }
}

/// The requests of one worker.
#[derive(Debug)]
pub struct Tracker<'a> {
    settings: &'a Settings,
    recorder: &'a mut Recorder,
    schedule: Schedule,
    exchanges: Exchanges,
    streams: Streams,
    /// Checks the responses, by kind of request.
    inspectors: Box<[Inspector]>,
    /// Requests of the window that each connection served.
    served: Vec<u64>,
    /// The addresses that connections are spread over; empty if there is one.
    addresses: AddressSpread,
    /// Service times by connection, in an open loop.
    medians: Medians,
    /// When connecting began, by connection, if that is part of the time of every request: in a closed loop without
    /// keep-alive. Connect time and service time follow each other without a gap from there.
    connect_began: Vec<Nanos>,
    /// When the kernel received the bytes read last, if timestamps are enabled.
    kernel_received: Option<Nanos>,
    /// The single requests, if they are kept.
    log: Option<WorkerLog>,
    /// Whether a response is noted in more than the tallies: when the kernel received it, or in the log.
    notes_responses: bool,
    /// Whether an exchange was answered since the loop last checked.
    answered: bool,
    /// Requests that servers handed back.
    returned: u64,
    /// Redirects that were followed.
    redirects: u64,
    /// Exchanges that were set aside and have not been continued.
    aside: u64,
    /// Failures of single exchanges, with their numbers.
    failures: Vec<(ConnectionFailure, u64)>,
    /// The details of the first case of each.
    details: Vec<(ConnectionFailure, String)>,
}

impl<'a> Tracker<'a> {
    /// A tracker for this many connections, with this many places each.
    pub(super) fn new(
        settings: &'a Settings,
        recorder: &'a mut Recorder,
        worker: u32,
        connections: u32,
        places: u16,
    ) -> Self {
        let schedule = Schedule::new(settings, &Timeline::NEVER, worker);
        let open = schedule.is_open();
        let connects_for_each = !settings.job.keep_alive && settings.job.load == LoadModel::Closed;
        recorder.reset(settings, open);
        Self {
            settings,
            recorder,
            schedule,
            exchanges: Exchanges::new(connections, places),
            streams: Streams::new(&settings.requests, connections, places),
            inspectors: settings.requests.kinds().iter().map(|kind| Inspector::new(&kind.check)).collect(),
            served: vec![0; connections as usize],
            addresses: AddressSpread::new(settings, worker, connections),
            medians: if open { Medians::new(connections) } else { Medians::default() },
            connect_began: vec![Nanos::ZERO; if connects_for_each { connections as usize } else { 0 }],
            kernel_received: None,
            log: settings.request_log.as_ref().map(WorkerLog::new),
            notes_responses: settings.request_log.is_some() || settings.job.timestamps != Timestamps::User,
            answered: false,
            returned: 0,
            redirects: 0,
            aside: 0,
            failures: Vec::new(),
            details: Vec::new(),
        }
    }

    /// Begins the run.
    pub(super) fn begin_run(&mut self, timeline: Timeline, worker: u32) {
        self.schedule = Schedule::new(self.settings, &timeline, worker);
        self.recorder.begin(timeline);
        self.log.iter_mut().for_each(|log| log.epoch = timeline.epoch);
        self.recorder.note_sends(SampledIntervals::from_settings(self.settings, &timeline));
        self.served.fill(0);
    }

    /// Ends the schedule: the run was stopped, and no request falls due from `end` on.
    pub(super) fn end_at(&mut self, end: Nanos) {
        self.schedule.end_at(end);
        self.recorder.end_at(end);
    }

    /// The schedule.
    #[inline]
    pub(super) fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The recorder.
    #[inline]
    pub(super) fn recorder(&mut self) -> &mut Recorder {
        self.recorder
    }

    /// Whether any request was answered.
    pub(super) fn has_answers(&self) -> bool {
        self.recorder.has_answers()
    }

    /// The end of the recorder's current interval.
    pub(super) fn interval_end(&self) -> Nanos {
        self.recorder.interval_end()
    }

    /// The exchanges in flight.
    #[inline]
    pub(crate) fn exchanges(&self) -> &Exchanges {
        &self.exchanges
    }

    /// Exchanges that have begun and not ended, over all connections.
    #[inline]
    pub(super) fn outstanding(&self) -> u64 {
        self.exchanges.outstanding() + self.aside
    }

    /// The exchanges in flight, for a protocol to add those that it began and remove those that are answered.
    #[inline]
    pub(crate) fn exchanges_mut(&mut self) -> &mut Exchanges {
        &mut self.exchanges
    }

    /// The kind of an exchange's request.
    #[inline]
    pub(crate) fn kind_of(&self, exchange: &Exchange) -> usize {
        usize::from(self.settings.requests.kind_of(exchange.block))
    }

    /// Begins requests of a kind, of which `bytes` were sent so far: takes them off the schedule and has them counted.
    /// Returns the exchange of each of them, to be put into the table. In an open loop each has its own intended send
    /// and begins alone; so does a request that was handed back, which goes first ([`Tracker::begins_alone`]).
    #[inline(always)]
    pub(crate) fn begin(&mut self, send_times: &SendTimes, kind: u16, count: u16, bytes: usize) -> Exchange {
        let &SendTimes { due, at, free_at } = send_times;
        let open = self.schedule.is_open();
        if let Some(returned) = self.schedule.take_returned() {
            return self.begin_again(&returned, send_times, bytes);
        }
        debug_assert!(count == 1 || !open);
        let intended = if open { self.schedule.due(at).unwrap_or(due) } else { at };
        let free_at = if open { free_at } else { at };
        let block = self.recorder.block_of(intended, kind);
        let exchange = Exchange { intended, actual: at, free_at, block, returns: 0 };
        self.recorder.sent(&exchange, count.into(), bytes as u64);
        self.schedule.take(count.into());
        exchange
    }

    /// Begins the next step of a session, of which `bytes` were sent so far. It is not part of the schedule.
    pub(crate) fn begin_step(&mut self, block: BlockIndex, send_times: &SendTimes, bytes: usize) -> Exchange {
        let &SendTimes { due, at, free_at } = send_times;
        let (intended, free_at) = if self.schedule.is_open() { (due, free_at) } else { (at, at) };
        let exchange = Exchange { intended, actual: at, free_at, block, returns: 0 };
        self.recorder.sent_step(&exchange, bytes as u64);
        exchange
    }

    /// Records a due step of a session that is never sent.
    pub(super) fn step_not_sent(&mut self, step: &WaitingStep, ending: Ending, now: Nanos) {
        self.recorder.step_not_sent(step, ending, now);
    }

    /// Records the end of a request that was set aside and not continued. One that the server has not processed
    /// counts as never sent; one that follows a redirect has timed out at the end of the run.
    pub(super) fn not_continued(&mut self, aside: &SetAside, ending: Ending, now: Nanos) {
        self.aside -= 1;
        let SetAside { exchange, reason } = *aside;
        match (reason, ending) {
            (SetAsideReason::HandedBack, _) => {
                let Exchange { intended, actual, block, returns, .. } = exchange;
                let returned = ReturnedRequest { intended, sent: actual, block, returns };
                self.recorder.not_sent_again(&returned, ending, now);
            }
            (SetAsideReason::Redirect, Ending::Unsent) => {
                self.note(ConnectionFailure::CutOff, None);
                self.recorder.abandoned(&exchange, Ending::TimedOut, now);
            }
            (SetAsideReason::Redirect, _) => self.recorder.abandoned(&exchange, Ending::IoFailed, now),
        }
    }

    /// Counts a response as wrong, whatever its check says: a value could not be extracted from it, or it is a redirect
    /// that cannot be followed.
    pub(crate) fn reject(
        &mut self,
        kind: usize,
        status: u16,
        body: &[u8],
        fault: impl Into<BodyFault>,
        now: Nanos,
    ) {
        self.inspectors[kind].reject(status, body, fault.into(), now);
    }

    /// The same for a response of which no byte was kept.
    pub(crate) fn reject_unkept(
        &mut self,
        kind: usize,
        response: &ReceivedResponse,
        fault: impl Into<BodyFault>,
        now: Nanos,
    ) {
        self.inspectors[kind].reject_unkept(response.status, response.body_bytes, fault.into(), now);
    }

    /// Whether a block belongs to the window, not to the warm-up.
    pub(crate) fn is_windows(&self, block: BlockIndex) -> bool {
        self.recorder.is_windows(block)
    }

    /// Whether a moment is inside the window.
    pub(crate) fn in_window(&self, at: Nanos) -> bool {
        self.recorder.in_window(at)
    }

    /// Whether the next request begins alone: it has its own intended send.
    #[inline]
    pub(crate) fn begins_alone(&self) -> bool {
        self.schedule.is_open() || self.schedule.has_returned()
    }

    /// Sends a request again that was handed back.
    #[cold]
    fn begin_again(&mut self, returned: &ReturnedRequest, send_times: &SendTimes, bytes: usize) -> Exchange {
        let &SendTimes { at, free_at, .. } = send_times;
        let open = self.schedule.is_open();
        let (intended, free_at) = if open { (returned.intended, free_at) } else { (at, at) };
        self.recorder.moved(returned.block, bytes as u64, 0);
        Exchange { intended, actual: at, free_at, block: returned.block, returns: returned.returns }
    }

    /// Counts a TLS handshake that ended after its connection was counted as made.
    #[cold]
    pub(crate) fn handshake_ended(&mut self, took: Nanos, now: Nanos) {
        self.recorder.handshake_ended(took, now);
    }

    /// Sets the start of connecting to `took` before the send at `at`.
    pub(super) fn connecting_took(&mut self, slot: Slot, took: Nanos, at: Nanos) {
        if let Some(began) = self.connect_began.get_mut(slot as usize) {
            *began = at - took;
        }
    }

    /// The ending of a request whose response has a body in one piece.
    #[inline]
    pub(crate) fn judge(&mut self, kind: usize, head: JudgedHead, body: &[u8], now: Nanos) -> Ending {
        self.inspectors[kind].ending(head, body, now)
    }

    /// Checks a piece of a body.
    #[inline]
    pub(crate) fn inspect(&self, kind: usize, incoming: &mut PartialResponse, piece: &[u8]) {
        self.inspectors[kind].take(incoming.head, &mut incoming.body, piece);
    }

    /// The ending of a request whose response came in pieces and is complete.
    pub(crate) fn judge_pieces(
        &mut self,
        kind: usize,
        incoming: &mut PartialResponse,
        uncounted_bytes: u64,
        now: Nanos,
    ) -> ReceivedResponse {
        let PartialResponse { head, first_byte, body } = incoming;
        ReceivedResponse {
            status: self.inspectors[kind].counted_status(*head, body),
            body_bytes: body.bytes,
            ending: self.inspectors[kind].ending_in_pieces(*head, body, now),
            first_byte: *first_byte,
            uncounted_bytes,
        }
    }

    /// The response to a request whose stream Paceline ended as asked: nothing that would follow is judged.
    pub(crate) fn cut_response(&self, incoming: &PartialResponse, uncounted_bytes: u64) -> ReceivedResponse {
        let &PartialResponse { head, first_byte, ref body } = incoming;
        let (status, body_bytes) = (head.status, body.bytes);
        ReceivedResponse { status, body_bytes, ending: Ending::Ok, first_byte, uncounted_bytes }
    }

    /// Counts further bytes sent for a request, or received for it before its response was complete.
    #[inline]
    pub(crate) fn moved(&mut self, block: BlockIndex, sent_bytes: u64, received_bytes: u64) {
        self.recorder.moved(block, sent_bytes, received_bytes);
    }

    /// Records equal responses to exchanges that were sent at the same time and removed from the table.
    #[inline(always)]
    pub(crate) fn answered(
        &mut self,
        slot: Slot,
        exchange: &Exchange,
        count: u16,
        response: &ReceivedResponse,
        now: Nanos,
    ) {
        self.recorder.answered(exchange, count.into(), response, now);
        if self.notes_responses {
            self.note_response(slot, exchange, count, response, now);
        }
        self.answered = true;
        let is_ok = response.ending == Ending::Ok;
        if self.recorder.is_windows(exchange.block) {
            self.served[slot as usize] += u64::from(count);
            match is_ok {
                true => self.medians.record(slot, now.since(exchange.actual), count),
                false => self.addresses.answered_wrong(slot, count),
            }
        }
        if is_ok {
            self.connected_and_served(slot, exchange, now);
        }
    }

    /// Records when the kernel received responses, and keeps their requests in the log.
    #[inline(never)]
    fn note_response(
        &mut self,
        slot: Slot,
        exchange: &Exchange,
        count: u16,
        response: &ReceivedResponse,
        now: Nanos,
    ) {
        if let Some(received) = self.kernel_received
            && response.ending == Ending::Ok
        {
            self.recorder.received(exchange.block, now.since(received), count.into());
        }
        if let Some(log) = &mut self.log
            && self.recorder.is_windows(exchange.block)
        {
            let began = self.connect_began.get(slot as usize);
            let request = LoggedRequest {
                sent: exchange.actual.since(log.epoch),
                connect: began.map_or(Nanos::ZERO, |began| exchange.actual.since(*began)),
                first_byte: response.first_byte.since(exchange.actual),
                service: now.since(exchange.actual),
                status: response.status,
            };
            log.add(request, count);
        }
    }

    /// Records the end of a request on a connection that was made for it alone, in a run of this kind.
    #[inline]
    fn connected_and_served(&mut self, slot: Slot, exchange: &Exchange, now: Nanos) {
        if let Some(began) = self.connect_began.get(slot as usize) {
            self.recorder.connected_and_served(exchange.block, now.since(*began));
        }
    }

    /// Removes an exchange that was answered by a redirect: it has not ended.
    pub(crate) fn set_aside(&mut self, slot: Slot, place: ExchangeIndex) -> Option<SetAside> {
        self.answered = true;
        let exchange = self.exchanges.end(slot, place)?;
        self.aside += 1;
        Some(SetAside { exchange, reason: SetAsideReason::Redirect })
    }

    /// Removes an exchange that the server has not processed: it has not ended, unless this has happened too often.
    pub(crate) fn set_aside_unprocessed(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        now: Nanos,
    ) -> Option<SetAside> {
        if self.was_returned_too_often(slot, place, now) {
            return None;
        }
        self.streams.discard(slot, place);
        let Exchange { returns, .. } = *self.exchanges.at(slot, place);
        let exchange = Exchange { returns: returns + 1, ..self.exchanges.end(slot, place)? };
        (self.aside, self.returned) = (self.aside + 1, self.returned + 1);
        Some(SetAside { exchange, reason: SetAsideReason::HandedBack })
    }

    /// Continues an exchange that was set aside, with a request of which `sent_bytes` were sent. One that follows a
    /// redirect keeps its times, which include all responses.
    pub(crate) fn resume(&mut self, aside: &SetAside, send_times: &SendTimes, sent_bytes: usize) -> Exchange {
        self.aside -= 1;
        let &SendTimes { at, free_at, .. } = send_times;
        self.moved(aside.exchange.block, sent_bytes as u64, 0);
        match aside.reason {
            SetAsideReason::Redirect => {
                self.redirects += 1;
                aside.exchange
            }
            SetAsideReason::HandedBack if self.schedule.is_open() => {
                Exchange { actual: at, free_at, ..aside.exchange }
            }
            SetAsideReason::HandedBack => {
                Exchange { intended: at, actual: at, free_at: at, ..aside.exchange }
            }
        }
    }

    /// Counts bytes of the response to the exchange at a place, which will not be complete.
    pub(crate) fn received_in_part(&mut self, slot: Slot, place: ExchangeIndex, bytes: u64) {
        if bytes > 0 {
            let block = self.exchanges.at(slot, place).block;
            self.moved(block, 0, bytes);
        }
    }

    /// Ends the exchange at a place without a response.
    pub(crate) fn abandon(&mut self, slot: Slot, place: ExchangeIndex, ending: Ending, now: Nanos) {
        if self.streams.has_ended(slot, place, now) {
            return self.answer_with_stream(slot, place, now);
        }
        self.streams.discard(slot, place);
        let Some(exchange) = self.exchanges.end(slot, place) else { return };
        self.recorder.abandoned(&exchange, ending, now);
        if self.recorder.is_windows(exchange.block) {
            self.addresses.unanswered(slot);
        }
        if ending == Ending::TimedOut {
            self.connected_and_served(slot, &exchange, now);
        }
    }

    /// Handles a report by the server that it has not processed the exchange at a place: its request is due again,
    /// unless that has happened too often. Returns its kind if it is due again.
    #[cold]
    pub(crate) fn give_back(&mut self, slot: Slot, place: ExchangeIndex, now: Nanos) -> Option<u16> {
        if self.was_returned_too_often(slot, place, now) {
            return None;
        }
        self.put_back(slot, place, self.exchanges.at(slot, place).returns + 1)
    }

    /// The response to a request of this kind has begun, with this head: its body may be a stream.
    pub(crate) fn begin_stream(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        kind: usize,
        head: JudgedHead,
        (first_byte, now): (Nanos, Nanos),
    ) {
        if self.inspectors[kind].admits(head.status) {
            self.streams.begin(slot, place, kind, head, (first_byte, now));
            if self.recorder.is_windows(self.exchanges.at(slot, place).block) {
                self.streams.watch(slot, place);
            }
        }
    }

    /// Reads a piece of a stream's body, with which a chunk ends or not. Returns whether the stream is over, so that
    /// the protocol has to end the response.
    pub(crate) fn read_stream(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        kind: usize,
        (piece, ends_chunk): (&[u8], bool),
        now: Nanos,
    ) -> bool {
        let batch = self.streams.read(slot, place, kind, (piece, ends_chunk), now);
        if batch.begins_body || batch.events > 0 {
            self.recorder.events(self.exchanges.at(slot, place), &batch, now);
        }
        batch.is_over
    }

    /// The text with a status of gRPC has come.
    #[cold]
    pub(crate) fn note_status_text(
        &mut self,
        kind: usize,
        incoming: &PartialResponse,
        text: String,
        now: Nanos,
    ) {
        if let Some(code) = incoming.body.code {
            self.inspectors[kind].note_status_text(incoming.head.status, code, text, now);
        }
    }

    /// The response at a place has ended: if it is a stream, completes the judgement of its request. Returns when it
    /// ended. Whether a response that only a close could end is complete is unknown.
    pub(crate) fn end_stream(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        kind: usize,
        is_complete: bool,
        response: &mut ReceivedResponse,
        now: Nanos,
    ) -> Nanos {
        let Some(mut result) = self.streams.end(slot, place, kind, is_complete, now) else { return now };
        if response.ending != Ending::Ok {
            result.fault.get_or_insert(StreamFault::CallFailed);
        }
        let exchange = self.exchanges.at(slot, place);
        self.recorder.events(exchange, &result.last, now);
        self.recorder.stream_ended(exchange, &result);
        self.streams.settle(slot, place, exchange.intended, &result);
        if let Some(fault) = result.fault
            && response.ending == Ending::Ok
        {
            response.ending = Ending::BadBody;
            self.reject_unkept(kind, response, fault, now);
        }
        result.ended_at
    }

    /// Ends the exchange at a place, whose stream has ended as asked although its response has not.
    #[cold]
    fn answer_with_stream(&mut self, slot: Slot, place: ExchangeIndex, now: Nanos) {
        let kind = self.kind_of(self.exchanges.at(slot, place));
        let (status, first_byte, body_bytes) = self.streams.received(slot, place);
        let mut response = ReceivedResponse { status, body_bytes, first_byte, ..ReceivedResponse::NONE };
        let ended_at = self.end_stream(slot, place, kind, false, &mut response, now);
        if let Some(exchange) = self.exchanges.end(slot, place) {
            self.answered(slot, &exchange, 1, &response, ended_at);
        }
    }

    /// Whether the stream at a place has ended as asked by `now`, although its response has not.
    pub(crate) fn has_ended_stream(&self, slot: Slot, place: ExchangeIndex, now: Nanos) -> bool {
        self.streams.has_ended(slot, place, now)
    }

    /// Whether a stream is in progress at a place.
    pub(super) fn is_in_stream(&self, slot: Slot, place: ExchangeIndex) -> bool {
        self.streams.is_open(slot, place)
    }

    /// Whether the protocol has to end the stream at a place now.
    pub(super) fn must_end_stream(&mut self, slot: Slot, place: ExchangeIndex, now: Nanos) -> bool {
        self.streams.is_due(slot, place, now)
    }

    /// The moment for which an alarm has to be set, to end a stream on a connection; none if a sufficient one is set.
    pub(super) fn take_stream_alarm(&mut self, slot: Slot) -> Option<Nanos> {
        self.streams.take_alarm(slot)
    }

    /// Whether an alarm that rings now was replaced by one for another moment.
    pub(super) fn is_stale_stream_alarm(&self, slot: Slot, now: Nanos) -> bool {
        self.streams.is_stale_alarm(slot, now)
    }

    /// That alarm has rung, and the streams that were due have ended.
    pub(super) fn stream_alarm_rang(&mut self, slot: Slot) {
        self.streams.alarm_rang(slot);
    }

    /// Since when a connection has waited for a response, or for the next event of a stream. None if no exchange is in
    /// flight.
    pub(super) fn waits_since(&self, slot: Slot) -> Option<Nanos> {
        if self.streams.is_empty() || self.exchanges.live(slot) == 0 {
            return self.exchanges.oldest(slot);
        }
        let since = |place| self.exchanges.at(slot, place).actual.max(self.streams.last_event(slot, place));
        (0..self.exchanges.places()).map(since).min()
    }

    /// Whether there is an exchange at a place that has waited since `latest` or longer.
    pub(super) fn has_waited_since(&self, slot: Slot, place: ExchangeIndex, latest: Nanos) -> bool {
        self.exchanges.is_sent_by(slot, place, latest) && self.streams.last_event(slot, place) <= latest
    }

    /// Whether the server has handed the exchange at a place back so often that it counts as failed; if so, ends it.
    fn was_returned_too_often(&mut self, slot: Slot, place: ExchangeIndex, now: Nanos) -> bool {
        let is_too_often = self.exchanges.at(slot, place).returns >= MAX_RETURNS;
        if is_too_often {
            self.note(ConnectionFailure::Refused, None);
            self.abandon(slot, place, Ending::IoFailed, now);
        }
        is_too_often
    }

    /// Handles a request behind the response with which the server announced that it closes: it was not processed (RFC
    /// 9112 §9.3.2, §9.6) and is due again. Each time another request was answered, so this needs no limit. Returns its
    /// kind.
    #[cold]
    pub(crate) fn give_back_behind_close(&mut self, slot: Slot, place: ExchangeIndex) -> Option<u16> {
        self.put_back(slot, place, self.exchanges.at(slot, place).returns)
    }

    /// Makes the request at a place due again.
    fn put_back(&mut self, slot: Slot, place: ExchangeIndex, returns: u8) -> Option<u16> {
        let Exchange { intended, actual, block, .. } = self.exchanges.end(slot, place)?;
        self.streams.discard(slot, place);
        self.returned += 1;
        self.schedule.put_back(ReturnedRequest { intended, sent: actual, block, returns });
        Some(self.settings.requests.kind_of(block))
    }

    /// Ends the due request for which no connection could be made, of the next kind. In a closed loop it has waited
    /// since `since`.
    pub(super) fn connect_failed(&mut self, kind: u16, since: Option<Nanos>, now: Nanos) {
        if let Some(returned) = self.schedule.take_returned() {
            return self.recorder.not_sent_again(&returned, Ending::ConnectFailed, now);
        }
        let Some(due) = self.schedule.due(now) else { return };
        self.schedule.take(1);
        self.recorder.connect_failed(due, since.unwrap_or(due), kind, now);
    }

    /// Ends all requests that were due and never sent, at the end of the drain. Requests whose times fall into one cell
    /// of the histogram are counted together, as one kind: a backlog of billions ends as fast as one of thousands.
    /// Those of a program, whose kinds are known, are counted one by one.
    pub(super) fn end_unsent(&mut self, mut next_kind: impl FnMut() -> u16, now: Nanos) {
        while let Some(returned) = self.schedule.take_returned() {
            // It was made, and is first in line.
            next_kind();
            self.recorder.not_sent_again(&returned, Ending::Unsent, now);
        }
        while self.schedule.is_open()
            && let Some(due) = self.schedule.due(now)
        {
            let ticks = if self.settings.scripts.is_some() && self.inspectors.len() > 1 {
                self.schedule.take(1);
                TickRange { first: due, last: due, count: 1 }
            } else {
                let until = self.recorder.unsent_alike_until(due, now);
                self.schedule.take_before(until)
            };
            self.recorder.unsent(&ticks, next_kind(), now);
        }
    }

    /// The addresses that connections are spread over, to choose one and to note what became of it.
    pub(super) fn addresses_mut(&mut self) -> &mut AddressSpread {
        &mut self.addresses
    }

    /// A connection was closed.
    pub(super) fn connection_closed(&mut self, slot: Slot, failure: Option<ConnectionFailure>) {
        self.addresses.closed(slot, self.served[slot as usize], failure);
    }

    /// Sets the time when the kernel received the bytes that were read, if timestamps are enabled.
    #[inline]
    pub(super) fn set_kernel_received(&mut self, at: Option<Nanos>) {
        self.kernel_received = at;
    }

    /// Whether an exchange was answered since the last call.
    #[inline]
    pub(super) fn take_answered(&mut self) -> bool {
        std::mem::take(&mut self.answered)
    }

    /// Counts a failure of an exchange whose connection continues.
    #[cold]
    pub(crate) fn note(&mut self, failure: ConnectionFailure, detail: Option<String>) {
        match self.failures.iter_mut().find(|(seen, _)| *seen == failure) {
            Some((_, count)) => *count += 1,
            None => self.failures.push((failure, 1)),
        }
        if let Some(detail) = detail
            && !self.details.iter().any(|(known, _)| *known == failure)
        {
            self.details.push((failure, detail));
        }
    }

    /// Returns the examples of streams.
    pub(super) fn take_stream_examples(&mut self) -> StreamExamples {
        self.streams.take_examples()
    }

    /// Returns the first wrong body of each kind of request. Adds all other results to the connections: requests served
    /// and median service time of each, requests handed back, and failures.
    pub(super) fn finish(self, connections: &mut ConnectionCounts) -> Vec<Option<WrongBody>> {
        self.log.into_iter().for_each(WorkerLog::end);
        connections.by_address = self.addresses.into_counts(&self.served);
        connections.served = self.served;
        connections.medians = self.medians.into_medians();
        connections.handed_back = self.returned;
        connections.redirects = self.redirects;
        self.failures.into_iter().for_each(|(failure, count)| connections.note(failure, count));
        for (failure, detail) in self.details {
            connections.note_details(failure, Some(detail));
        }
        self.inspectors.into_iter().map(Inspector::into_wrong).collect()
    }
}
