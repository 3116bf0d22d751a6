//! Moves the traffic: sends requests over connections, receives responses, makes and ends connections.
//!
//! The worker's loop calls it: [`Traffic::dispatch`] at the start of each turn, [`Traffic::handle`] for each event,
//! [`Traffic::ring`] for alarms. It combines separate parts: the due requests (the tracker), the free connections (the
//! pool), the bytes (the protocol) and their transfer (the transport). A request may leave late, but never early.
//!
//! [`connecting`] makes and ends connections, [`planned`] changes their number, [`sending`] sends requests on them,
//! [`timer_events`] handles the timers; this file receives the input that events announce.

mod connecting;
mod planned;
mod sending;
mod timer_events;

use super::pauses::Pauses;
use super::pool::{ClosedBy, ConnectionState, Pool};
use super::protocol::{Flow, ProtocolFault, ProtocolHandler};
use super::record::Recorder;
use super::request_tracker::Tracker;
use super::scenario::Scenario;
use crate::outcome::ConnectionFailure;
use crate::timers::{TimerKind, Timers};
use crate::tls::TlsOutcome;
use crate::{Clock, Nanos, Readiness, Settings, Slot, Timeline, Transport};
use std::io;

/// The maximum number of receives in sequence on one connection before others get their turn: fairness under large
/// bodies.
const MAX_ROUNDS: u32 = 16;
/// The state that moves the requests of one worker.
pub(super) struct Traffic<'a, C, T, P> {
    settings: &'a Settings,
    clock: C,
    transport: T,
    protocol: P,
    tracker: Tracker<'a>,
    pool: Pool,
    timers: Timers,
    /// Alarms for deadlines ring on this grid.
    deadline_grid: Nanos,
    /// Whether the run has begun: before that connections are made and no request is sent.
    running: bool,
    /// The index of the worker.
    worker: u32,
    /// The beginning of the window; [`Nanos::NEVER`] before the run.
    window_start: Nanos,
    /// When a connection was last made, or a request on one last ended.
    last_progress: Nanos,
    /// The generator's pauses; unused in a closed loop, which has no schedule to fall behind.
    pauses: Pauses,
}

impl<'a, C: Clock, T: Transport, P: ProtocolHandler> Traffic<'a, C, T, P> {
    /// Traffic with all connections still to be made.
    pub(super) fn new(
        settings: &'a Settings,
        worker: u32,
        clock: C,
        transport: T,
        recorder: &'a mut Recorder,
    ) -> Self {
        let pool = Pool::new(settings, worker);
        Self {
            settings,
            protocol: P::new(settings, worker),
            tracker: Tracker::new(settings, recorder, worker, pool.count(), P::places(settings)),
            pool,
            timers: Timers::default(),
            // A 64th of the timeout: an alarm is late by at most this, and wakes at most this often.
            deadline_grid: Nanos((settings.job.timeout.0 / 64).clamp(1_000_000, 250_000_000)),
            running: false,
            worker,
            window_start: Nanos::NEVER,
            last_progress: clock.now(),
            pauses: Pauses::new(),
            clock,
            transport,
        }
    }

    /// The current time.
    #[inline]
    pub(super) fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// The requests.
    #[inline]
    pub(super) fn tracker(&self) -> &Tracker<'a> {
        &self.tracker
    }

    /// The requests, to be advanced through the phases.
    #[inline]
    pub(super) fn tracker_mut(&mut self) -> &mut Tracker<'a> {
        &mut self.tracker
    }

    /// The connections.
    #[inline]
    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The transport.
    pub(super) fn transport(&self) -> &T {
        &self.transport
    }

    /// The results of TLS so far, if it is used.
    pub(super) fn tls_outcome(&self) -> Option<&TlsOutcome> {
        self.transport.tls_outcome().or(self.protocol.tls_outcome())
    }

    /// Whether the server may still refuse a connection that is made.
    pub(super) fn refusal_may_follow(&self) -> bool {
        self.transport.refusal_may_follow() || self.protocol.refusal_may_follow()
    }

    /// Why a connection whose protocol has begun is not ready after the limit for making it.
    pub(super) fn slow_to_begin(&self, slot: Slot) -> ConnectionFailure {
        self.protocol.slow_to_begin(slot)
    }

    /// The transport, to wait on.
    #[inline]
    pub(super) fn transport_mut(&mut self) -> &mut T {
        &mut self.transport
    }

    /// The worker waits, and need not act before `until` unless something happens.
    #[inline]
    pub(super) fn wait_until(&mut self, until: Nanos) {
        self.pauses.wait_until(until);
    }

    /// The worker runs at `now`: it was paused if it should have run before.
    #[inline]
    pub(super) fn runs(&mut self, now: Nanos) {
        let schedule = self.tracker.schedule();
        if schedule.is_open() {
            self.pauses.runs(now, schedule.next_tick());
        }
    }

    /// Notes that a connection became free, or would have without pauses of the generator.
    #[inline]
    fn set_free(&mut self, slot: Slot, now: Nanos) {
        self.pool.connections.set_free_at(slot, self.pauses.free_at(now));
    }

    /// When a connection was last made, or a request on one last ended.
    pub(super) fn last_progress(&self) -> Nanos {
        self.last_progress
    }

    /// The number of open connections at the end of the connect phase.
    pub(super) fn connected_in_all(&mut self) -> u64 {
        self.pool.set_had()
    }

    /// Begins the run.
    pub(super) fn begin_run(&mut self, timeline: Timeline, worker: u32) {
        self.running = true;
        self.begin_plan(&timeline);
        self.tracker.begin_run(timeline, worker);
        self.pool.begin_run();
        self.last_progress = timeline.epoch;
    }

    /// When the next alarm rings.
    #[inline]
    pub(super) fn next_alarm(&self) -> Nanos {
        self.timers.next().min(self.protocol.next_alarm())
    }

    /// Whether there is more to do before waiting.
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.pool.unread() > 0 || self.pool.handshakes.are_needed() && self.running
    }

    /// Returns the parts at the end of the run.
    pub(super) fn into_parts(mut self) -> (Tracker<'a>, Pool, T, P) {
        let now = self.clock.now();
        for slot in 0..self.pool.count() {
            if self.pool.state(slot).is_made() {
                self.protocol.say_goodbye(slot, now, &mut self.transport);
            }
        }
        (self.tracker, self.pool, self.transport, self.protocol)
    }

    /// Sessions that have begun and not ended.
    #[inline]
    pub(super) fn open_sessions(&self) -> u64 {
        self.protocol.scenario().open_sessions()
    }

    /// The number of alarms set.
    #[cfg(test)]
    pub(super) fn alarms(&self) -> usize {
        self.timers.count()
    }
}

/// Receiving responses.
impl<C: Clock, T: Transport, P: ProtocolHandler> Traffic<'_, C, T, P> {
    /// Handles an event.
    pub(super) fn handle(&mut self, event: Readiness, buffer: &mut [u8]) {
        let slot = event.slot;
        match self.pool.state(slot) {
            ConnectionState::Closed => {}
            ConnectionState::Connecting { .. } => {
                self.check_connecting(slot);
                // A server that closes or sends at once is reported in the same event, and only there.
                if event.readable || event.hangup {
                    self.receive(slot, event.hangup, buffer);
                }
                let now = self.clock.now();
                self.dispatch(now);
            }
            ConnectionState::Greeting { .. }
            | ConnectionState::Open { .. }
            | ConnectionState::Full { .. }
            | ConnectionState::Last
            | ConnectionState::Retiring { .. }
            | ConnectionState::Thinking { .. } => {
                if (event.readable || event.hangup) && !self.pool.waits_to_be_read(slot, event.hangup) {
                    self.receive(slot, event.hangup, buffer);
                }
                if event.writable && self.waits_for_room(slot) {
                    self.continue_sending(slot);
                }
            }
        }
    }

    /// Whether a connection may have bytes that wait for room.
    #[inline]
    fn waits_for_room(&self, slot: Slot) -> bool {
        let waits = self.protocol.unsent_since(slot).is_some() || !self.pool.is_queued(slot);
        waits && self.pool.state(slot).is_made()
    }

    /// Reads the input of a slot. A read that did not fill the buffer has emptied the socket (epoll(7)), unless the
    /// peer has hung up: then its end still has to be read before the next send.
    fn receive(&mut self, slot: Slot, hangup: bool, buffer: &mut [u8]) {
        let is_open_loop = self.tracker.schedule().is_open();
        let mut rounds = 0;
        while self.pool.state(slot).is_made() {
            if rounds == MAX_ROUNDS {
                self.pool.read_later(slot, hangup);
                break;
            }
            rounds += 1;
            match self.transport.receive(slot, buffer) {
                Ok(0) => {
                    self.tracker.set_kernel_received(self.transport.received_at());
                    self.end_of_input(slot);
                    break;
                }
                Ok(count) => {
                    let now = self.clock.now();
                    self.tracker.set_kernel_received(self.transport.received_at());
                    self.consume(slot, &buffer[..count], now);
                    // A closed loop reads all input before it sends: responses read later would seem slower, and a
                    // server that receives many requests in sequence is woken once for them.
                    if is_open_loop && !hangup {
                        self.dispatch(now);
                    }
                    if count < buffer.len() && !hangup && !T::HAS_DATAGRAMS {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    self.broken(slot, ConnectionFailure::from_error(&error), self.clock.now());
                    break;
                }
            }
        }
        if hangup && is_open_loop {
            self.dispatch(self.clock.now());
        }
    }

    /// Continues reading where others had their turn: once for each slot.
    #[cold]
    pub(super) fn read_on(&mut self, buffer: &mut [u8]) {
        for _ in 0..self.pool.unread() {
            let Some((slot, hangup)) = self.pool.next_unread() else { return };
            self.receive(slot, hangup, buffer);
        }
    }

    /// Passes bytes to the protocol, and applies the result to the connection.
    #[inline(always)]
    fn consume(&mut self, slot: Slot, input: &[u8], now: Nanos) {
        // A closed loop does not need the moment at which a connection became free.
        let was_full = self.tracker.schedule().is_open() && self.was_full(slot, now);
        let flow = self.protocol.receive(slot, input, now, &mut self.tracker, &mut self.transport);
        self.react(slot, flow, was_full, now);
    }

    /// Acts on the connections whose protocol has timers that have run out, or output that it held back.
    #[inline]
    pub(super) fn advance_protocol(&mut self, now: Nanos) {
        while let Some(slot) = self.protocol.take_due(now) {
            if self.pool.state(slot).is_made() {
                let was_full = self.tracker.schedule().is_open() && self.was_full(slot, now);
                let flow = self.protocol.advance(slot, now, &mut self.tracker, &mut self.transport);
                self.react(slot, flow, was_full, now);
            }
        }
    }

    /// Applies to a connection what its protocol reports.
    #[inline(always)]
    fn react(&mut self, slot: Slot, flow: Result<Flow, ProtocolFault>, was_full: bool, now: Nanos) {
        if matches!(self.pool.state(slot), ConnectionState::Greeting { .. }) {
            return self.greeted(slot, flow, now);
        }
        let answered = self.tracker.take_answered();
        if answered {
            self.last_progress = now;
            self.pool.served(slot);
        }
        match flow {
            Ok(Flow::Keep) if self.pool.connections.have_plain_life() => self.keep(slot, was_full, now),
            flow => self.live_on(slot, flow, answered, was_full, now),
        }
    }

    /// Whether a connection of an open loop had no room for a request, before what was received at `now`.
    fn was_full(&mut self, slot: Slot, now: Nanos) -> bool {
        self.runs(now);
        self.room(slot) == 0
    }

    /// Keeps a connection: it is free for another request, or it was before, or not yet.
    #[inline(always)]
    fn keep(&mut self, slot: Slot, was_full: bool, now: Nanos) {
        self.send_steps(slot, now);
        if self.room(slot) > 0 {
            if was_full {
                self.set_free(slot, now);
            }
            self.pool.push_free(slot);
        } else if self.protocol.unsent_since(slot).is_some() {
            self.set_deadline(slot, now);
        }
    }

    /// Ends or keeps a connection, or starts its think time, if connections have one or a limit of requests.
    #[cold]
    pub(super) fn live_on(
        &mut self,
        slot: Slot,
        flow: Result<Flow, ProtocolFault>,
        answered: bool,
        was_full: bool,
        now: Nanos,
    ) {
        self.watch_streams(slot);
        let is_used_up = self.is_used_up(slot);
        let is_free = self.room(slot) > 0;
        let ends = is_used_up || flow != Ok(Flow::Keep);
        let rests = answered && (ends || is_free);
        let until = if rests { self.pool.connections.rest(slot, now) } else { None };
        match flow {
            // After the last response of a connection any further input from the server is accepted.
            _ if is_used_up => self.disconnect(slot, ClosedBy::Plan, None, now),
            Ok(Flow::Cut) => self.disconnect(slot, ClosedBy::Plan, None, now),
            Ok(Flow::Close) => {
                // Before the run no request was sent: the next attempt waits, as after a close without GOAWAY.
                let unused = (!self.running).then_some(ConnectionFailure::ClosedUnused);
                self.disconnect(slot, ClosedBy::Server, unused, now);
            }
            Err(fault) => {
                let (failure, is_end) = (fault.failure, fault.is_end);
                self.pool.note_fault(fault);
                match is_end {
                    true => self.ended(slot, failure, now),
                    false => self.disconnect(slot, ClosedBy::Us, Some(failure), now),
                }
            }
            Ok(Flow::Keep) => match until {
                Some(until) => self.timers.set(until, slot, TimerKind::Think),
                None => {
                    self.keep(slot, was_full, now);
                    self.watch_body(slot, now);
                }
            },
        }
    }

    /// Whether a connection has carried its last request, and it is answered.
    fn is_used_up(&self, slot: Slot) -> bool {
        let state = self.pool.state(slot);
        let is_last = state == ConnectionState::Last
            || matches!(state, ConnectionState::Retiring { .. }) && !self.has_waiting_step(slot);
        is_last && self.tracker.exchanges().live(slot) == 0
    }

    /// The server has sent bytes before the connection was ready.
    #[cold]
    fn greeted(&mut self, slot: Slot, flow: Result<Flow, ProtocolFault>, now: Nanos) {
        match flow {
            Ok(Flow::Keep) if self.protocol.is_ready(slot) => self.connected(slot),
            Ok(Flow::Keep) => {}
            Ok(Flow::Close | Flow::Cut) => self.attempt_failed(slot, ConnectionFailure::ClosedUnused, now),
            Err(fault) => {
                let failure = fault.failure;
                self.pool.note_fault(fault);
                self.attempt_failed(slot, failure, now);
            }
        }
    }

    /// Handles a broken connection.
    #[cold]
    fn broken(&mut self, slot: Slot, failure: ConnectionFailure, now: Nanos) {
        match self.pool.state(slot) {
            ConnectionState::Greeting { .. } => self.attempt_failed(slot, failure, now),
            _ => self.disconnect(slot, ClosedBy::Server, Some(failure), now),
        }
    }

    /// The server ended a connection with requests in flight, or with an error; or an idle one, with a last message,
    /// which it may do if the connection was used.
    #[cold]
    fn ended(&mut self, slot: Slot, failure: ConnectionFailure, now: Nanos) {
        let is_idle = failure == ConnectionFailure::ClosedUnused && self.pool.connections.has_served(slot);
        let failure = (!is_idle).then(|| self.reused(slot, failure));
        self.disconnect(slot, ClosedBy::Server, failure, now);
    }

    /// The failure for a connection that may have carried responses before.
    fn reused(&self, slot: Slot, failure: ConnectionFailure) -> ConnectionFailure {
        match failure {
            ConnectionFailure::ClosedUnanswered if self.pool.connections.has_served(slot) => {
                ConnectionFailure::ClosedReused
            }
            other => other,
        }
    }

    /// The server closed its side.
    #[cold]
    fn end_of_input(&mut self, slot: Slot) {
        let now = self.clock.now();
        let cut = self.transport.was_cut(slot);
        let failure = self.protocol.end_of_input(slot, cut, now, &mut self.tracker);
        let answered = self.tracker.take_answered();
        if answered {
            self.pool.served(slot);
        }
        if matches!(self.pool.state(slot), ConnectionState::Greeting { .. }) {
            return self.attempt_failed(slot, failure.unwrap_or(ConnectionFailure::ClosedUnused), now);
        }
        let failure = failure.map(|failure| self.reused(slot, failure));
        let is_used_up = self.is_used_up(slot);
        if answered && failure.is_none() {
            self.pool.connections.rest(slot, now);
        }
        let by = if is_used_up { ClosedBy::Plan } else { ClosedBy::Server };
        // A server may close an idle connection; after it closes an unused one, the next attempt waits.
        let unused = !self.pool.connections.has_served(slot) && self.tracker.exchanges().live(slot) == 0;
        self.disconnect(slot, by, failure.or(unused.then_some(ConnectionFailure::ClosedUnused)), now);
    }
}
