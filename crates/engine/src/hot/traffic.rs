//! The traffic: requests go out over connections, responses come in, connections are made and ended.
//!
//! The worker's loop calls it: [`Traffic::dispatch`] at the start of each turn, [`Traffic::handle`] for each event,
//! [`Traffic::ring`] for alarms. It puts together what is kept apart elsewhere: which requests are due (the ledger),
//! which connections are free (the pool), how both become bytes (the protocol) and what moves those (the transport).
//! A request leaves late perhaps, early never. Over 600 lines: the life of a connection from its handshake to its end.

use super::ledger::{Departure, Ledger};
use super::pool::{ClosedBy, Pool, State};
use super::protocol::{Cancelled, Fault, Flow, ProtocolHandler};
use super::record::Recorder;
use crate::outcome::Failure;
use crate::timers::{Alarm, Timers};
use crate::tls::{TlsError, TlsFault};
use crate::{Clock, Ending, Nanos, Progress, Ready, Settings, Slot, Timeline, Transport};
use std::io;

/// Bytes read at a time where nothing is expected.
const SURPLUS: usize = 4096;
/// Receives in a row on one connection before others get their turn: fairness under large bodies.
const ROUNDS_MOST: u32 = 16;
/// Handshakes under way at once before the run, over all workers: below the listen backlog of every common server (128 is
/// Linux's old default), so that connecting does not overrun it. In the run every connection is its own client, and so
/// many are begun between two looks at everything else.
const HANDSHAKES_MOST: u32 = 64;
/// Alarms for attempts to connect ring on this grid: those of thousands of connections together.
const CONNECT_GRID: Nanos = Nanos::from_millis(100);

/// What moves the requests of one worker.
pub(super) struct Traffic<'a, C, T, P> {
    settings: &'a Settings,
    clock: C,
    transport: T,
    protocol: P,
    ledger: Ledger<'a>,
    pool: Pool,
    timers: Timers,
    /// Alarms for deadlines ring on this grid.
    deadline_grid: Nanos,
    /// Whether the run has begun: until then connections are made and nothing is sent.
    running: bool,
    /// When a connection was last made, or a request on one last ended.
    last_progress: Nanos,
}

impl<'a, C: Clock, T: Transport, P: ProtocolHandler> Traffic<'a, C, T, P> {
    /// With all connections still to make.
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
            ledger: Ledger::new(settings, recorder, worker, pool.count(), P::places(settings)),
            pool,
            timers: Timers::default(),
            // A 64th of the timeout: an alarm rings at most so late, and wakes at most so often.
            deadline_grid: Nanos((settings.job.timeout.0 / 64).clamp(1_000_000, 250_000_000)),
            running: false,
            last_progress: clock.now(),
            clock,
            transport,
        }
    }

    /// The moment now.
    #[inline]
    pub(super) fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// The requests.
    #[inline]
    pub(super) fn ledger(&self) -> &Ledger<'a> {
        &self.ledger
    }

    /// The requests, to be moved on through the phases.
    #[inline]
    pub(super) fn ledger_mut(&mut self) -> &mut Ledger<'a> {
        &mut self.ledger
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

    /// The transport, to wait on.
    #[inline]
    pub(super) fn transport_mut(&mut self) -> &mut T {
        &mut self.transport
    }

    /// When a connection was last made, or a request on one last ended.
    pub(super) fn last_progress(&self) -> Nanos {
        self.last_progress
    }

    /// How many connections are had as the connect phase is over.
    pub(super) fn connected_in_all(&mut self) -> u64 {
        self.pool.set_had()
    }

    /// The run begins.
    pub(super) fn begin_run(&mut self, timeline: Timeline, worker: u32) {
        self.running = true;
        self.ledger.begin_run(timeline, worker);
        self.pool.begin_run();
        self.last_progress = timeline.epoch;
    }

    /// When the next alarm rings.
    #[inline]
    pub(super) fn next_alarm(&self) -> Nanos {
        self.timers.next()
    }

    /// Whether there is more to do before anything is waited for.
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.pool.turns() > 0 || self.pool.wants_handshake() && self.running
    }

    /// What is left when the run is over.
    pub(super) fn into_parts(self) -> (Ledger<'a>, Pool, T, P) {
        (self.ledger, self.pool, self.transport, self.protocol)
    }

    /// The recorder and the transport, to be looked at when a simulation is over.
    pub(super) fn recorder_and_transport(&mut self) -> (&mut Recorder, &T) {
        (self.ledger.recorder(), &self.transport)
    }

    /// Sessions that have begun and not ended.
    #[inline]
    pub(super) fn open_sessions(&self) -> u64 {
        self.protocol.open_sessions()
    }

    /// How many alarms are set.
    #[cfg(test)]
    pub(super) fn alarms(&self) -> usize {
        self.timers.count()
    }
}

/// Connections are made.
impl<C: Clock, T: Transport, P: ProtocolHandler> Traffic<'_, C, T, P> {
    /// Starts handshakes for slots that want one: before the run as far as the cap allows, in it some of them each turn.
    pub(super) fn keep_connecting(&mut self) {
        if self.running {
            for _ in 0..HANDSHAKES_MOST {
                let Some(slot) = self.pool.next_to_connect() else { return };
                self.start_connecting(slot, self.clock.now());
            }
            return;
        }
        while self.pool.connecting() < (HANDSHAKES_MOST / self.settings.threads).max(1) {
            let Some(slot) = self.pool.next_to_connect() else { return };
            self.start_connecting(slot, self.clock.now());
        }
    }

    fn start_connecting(&mut self, slot: Slot, now: Nanos) {
        self.pool.connect(slot, now);
        match self.transport.connect(slot) {
            Ok(Progress::Pending) => self.limit_attempt(slot, now),
            Ok(Progress::Done) => self.open(slot, now),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.queue_outside(slot, now),
            Err(error) => self.attempt_failed(slot, Failure::of(&error), now),
        }
    }

    /// Has the slot looked at when an attempt that began at `since` has taken too long; one alarm at a time suffices.
    fn limit_attempt(&mut self, slot: Slot, since: Nanos) {
        if self.pool.set_limit(slot) {
            let limit = coarse(since + self.settings.job.connect_timeout, CONNECT_GRID);
            self.timers.set(limit, slot, Alarm::ConnectLimit);
        }
    }

    /// The server has too many connections to accept, and no event reports when it has fewer, as with a unix socket. That
    /// is no failure: over TCP the handshake would wait.
    fn queue_outside(&mut self, slot: Slot, now: Nanos) {
        self.pool.attempt_ended(slot);
        self.transport.close(slot);
        self.timers.set(now + Pool::shortest_pause(), slot, Alarm::Reconnect);
    }

    /// A slot that was connecting is ready for something: it is connected, or it failed.
    fn check_connecting(&mut self, slot: Slot) {
        let now = self.clock.now();
        match self.transport.finish_connect(slot) {
            Ok(Progress::Pending) => {}
            Ok(Progress::Done) => self.open(slot, now),
            Err(error) => self.attempt_failed(slot, Failure::of(&error), now),
        }
    }

    /// The transport has connected: the protocol says its first word.
    fn open(&mut self, slot: Slot, began: Nanos) {
        match self.protocol.open(slot, &mut self.transport) {
            Ok(Progress::Done) => self.connected(slot),
            Ok(Progress::Pending) => {
                self.pool.greet(slot);
                self.limit_attempt(slot, began);
            }
            Err(error) => self.attempt_failed(slot, Failure::of(&error), began),
        }
    }

    fn connected(&mut self, slot: Slot) {
        let now = self.clock.now();
        let since = self.pool.free_at(slot);
        self.pool.opened(slot, now);
        let began = self.transport.handshake_began(slot);
        let took = began.unwrap_or(now).since(since);
        self.ledger.recorder().connected(took, began.map(|began| now.since(began)), now);
        self.last_progress = now;
        if !self.await_step(slot, now) {
            self.pool.stand_in_line(slot);
        }
    }

    /// An attempt to connect failed. If a request is due and has no connection, the attempt was made for it and the
    /// request fails with it.
    fn attempt_failed(&mut self, slot: Slot, failure: Failure, now: Nanos) {
        let greeted = self.pool.state(slot) == State::Greeting;
        let began = self.pool.free_at(slot);
        self.pool.attempt_ended(slot);
        self.pool.attempt_failed(failure);
        self.transport.close(slot);
        if greeted {
            self.protocol.close(slot);
        }
        if self.protocol.next_step(slot) <= now {
            self.give_up_step(slot, Ending::ConnectFailed, now);
        } else if self.ledger.schedule().due(now).is_some() && self.line_is_empty() {
            // A closed loop's request has waited as long as the attempt that was made for it.
            let since = (!self.ledger.schedule().is_open()).then_some(began);
            self.ledger.connect_failed(self.protocol.skip(), since, now);
        }
        self.pause(slot, now, now);
    }

    /// The limit of an attempt to connect may be over.
    fn check_connect_limit(&mut self, slot: Slot, now: Nanos) {
        self.pool.limit_rang(slot);
        let state = self.pool.state(slot);
        if !matches!(state, State::Connecting | State::Greeting) {
            return;
        }
        let began = self.pool.free_at(slot);
        if now.since(began) < self.settings.job.connect_timeout {
            return self.limit_attempt(slot, began);
        }
        let in_handshake = self.transport.handshake_began(slot).is_some();
        let failure = match state {
            State::Greeting => Failure::NoSettings,
            _ if in_handshake => Failure::Tls(TlsFault::TooSlow),
            _ => Failure::ConnectLimit,
        };
        self.attempt_failed(slot, failure, now);
    }

    /// Tries again after a pause that grows with the failures in a row, `rested` at the earliest.
    fn pause(&mut self, slot: Slot, rested: Nanos, now: Nanos) {
        let pause = self.pool.pause(slot);
        self.timers.set(rested.max(now + pause), slot, Alarm::Reconnect);
    }

    /// A pause is over.
    fn reconnect(&mut self, slot: Slot) {
        if self.pool.state(slot) == State::Closed && self.wants_connections() {
            self.pool.queue_connect(slot);
        }
    }

    /// Whether anything will still be sent: in the drain of a run whose schedule is empty nothing will.
    fn wants_connections(&self) -> bool {
        let is_due_later = || self.ledger.schedule().next_due(self.clock.now()) != Nanos::NEVER;
        !self.running || self.protocol.open_sessions() > 0 || is_due_later()
    }

    /// Ends an open connection. Requests outstanding on it end as `io_failed`. It is remade at once if nothing went
    /// wrong, after a pause otherwise; if it was at rest, not before that is over.
    fn disconnect(&mut self, slot: Slot, by: ClosedBy, failure: Option<Failure>, now: Nanos) {
        self.transport.close(slot);
        self.last_progress = now;
        if self.ledger.exchanges().live(slot) > 0 && failure.is_none() && by == ClosedBy::Server {
            // Its right, and no reason to wait before it is asked again: they were sent ahead at our own risk.
            self.pool.note(Failure::ClosedBehind);
        }
        self.abandon_all(slot, Ending::IoFailed, now);
        let rested = self.pool.closed(slot, by).unwrap_or(now);
        self.protocol.close(slot);
        match failure {
            Some(failure) => {
                if !self.running {
                    self.pool.lost_early(failure);
                }
                self.pool.note(failure);
                self.pause(slot, rested, now);
            }
            None if !self.wants_connections() => {}
            None if rested > now => self.timers.set(rested, slot, Alarm::Reconnect),
            None => self.pool.queue_connect(slot),
        }
    }

    /// Every exchange in flight on a connection ends without an answer.
    fn abandon_all(&mut self, slot: Slot, ending: Ending, now: Nanos) {
        if self.ledger.exchanges().live(slot) > 0 {
            for place in 0..self.ledger.exchanges().places() {
                self.ledger.abandon(slot, place, ending, now);
            }
        }
    }
}

/// Requests go out.
impl<C: Clock, T: Transport, P: ProtocolHandler> Traffic<'_, C, T, P> {
    /// Sends what is due on connections that are free, longest free first. Returns a moment not long past.
    #[inline]
    pub(super) fn dispatch(&mut self, mut now: Nanos) -> Nanos {
        while let Some(due) = self.ledger.schedule().due(now) {
            let Some((slot, room)) = self.next_in_line() else { break };
            now = self.send(slot, room, due);
        }
        now
    }

    /// How many more requests a connection takes now.
    #[inline(always)]
    fn room(&self, slot: Slot) -> u16 {
        let live = self.ledger.exchanges().live(slot);
        if self.pool.state(slot) != State::Open || self.settings.job.batch && live > 0 {
            return 0;
        }
        self.protocol.room(slot, live)
    }

    /// Takes the connection that has been free longest, and how many requests it takes.
    #[inline]
    fn next_in_line(&mut self) -> Option<(Slot, u16)> {
        while let Some(slot) = self.pool.leave_line() {
            let room = self.room(slot);
            if room > 0 {
                return Some((slot, room));
            }
        }
        None
    }

    /// Whether no connection is free.
    pub(super) fn line_is_empty(&self) -> bool {
        !self.pool.line().any(|slot| self.room(slot) > 0)
    }

    /// Whether the line is empty, of free connections and of others.
    #[inline]
    pub(super) fn has_no_line(&self) -> bool {
        self.pool.line().next().is_none()
    }

    /// Sends on a free connection: one request of an open loop, as many as fit of a closed one. Returns the moment of
    /// the send.
    #[inline]
    fn send(&mut self, slot: Slot, room: u16, due: Nanos) -> Nanos {
        let at = self.clock.now();
        let wanted = if self.ledger.schedule().is_open() {
            1
        } else if self.ledger.schedule().due(at).is_none()
            || self.pool.probe(slot, at) && self.surplus(slot, at)
        {
            return at;
        } else {
            let most = if self.pool.has_plain_life() { u64::MAX } else { self.pool.allowance(slot) };
            most.min(self.ledger.schedule().remaining()).min(room.into()) as u16
        };
        let departure = Departure { due, at, free_at: self.pool.free_at(slot) };
        match self.protocol.begin(slot, wanted, &departure, &mut self.ledger, &mut self.transport) {
            Ok(started) => self.sent(slot, started, started < room, at),
            // The socket has no room, and the request stays due.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.await_room(slot, at),
            // Nothing of the request left: it stays due and goes out on another connection.
            Err(error) => self.disconnect(slot, ClosedBy::Server, Some(Failure::of(&error)), at),
        }
        at
    }

    /// Reads what is there before a closed loop sends: a response that no request asked for would be taken for the answer
    /// to the next one. Returns whether there was something, after which the connection is not what it was.
    #[cold]
    fn surplus(&mut self, slot: Slot, at: Nanos) -> bool {
        if self.ledger.exchanges().live(slot) > 0 {
            return false;
        }
        let mut buffer = [0; SURPLUS];
        let received = self.transport.receive(slot, &mut buffer);
        match &received {
            Ok(0) => self.end_of_input(slot),
            Ok(count) => {
                self.consume(slot, &buffer[..*count], at);
                if *count == buffer.len() {
                    self.pool.read_later(slot, false);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => self.broken(slot, Failure::of(error), at),
        }
        !received.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Some requests have left, and the connection may have room for more.
    #[inline(always)]
    fn sent(&mut self, slot: Slot, started: u16, may_have_room: bool, at: Nanos) {
        self.set_deadline(slot, at);
        let mut is_free = may_have_room && self.room(slot) > 0;
        if !self.pool.has_plain_life() {
            self.pool.spend(slot, started);
            self.ledger.connecting_took(slot, self.pool.connecting_took(slot), at);
            is_free &= self.pool.allowance(slot) > 0;
        }
        if is_free {
            self.pool.stand_in_line(slot);
        }
    }

    /// A socket without room says when it has some; a server that reads nothing for a whole timeout is left.
    #[cold]
    fn await_room(&mut self, slot: Slot, at: Nanos) {
        self.pool.fill(slot, at);
        self.set_deadline(slot, at);
    }

    /// The socket has room again: sends what had none, and puts the connection back in line.
    fn continue_sending(&mut self, slot: Slot) {
        match self.protocol.flush(slot, &mut self.ledger, &mut self.transport) {
            Ok(Progress::Done) => {}
            Ok(Progress::Pending) => return,
            Err(error) => {
                let now = self.clock.now();
                return match self.pool.state(slot) {
                    State::Greeting => self.attempt_failed(slot, Failure::of(&error), now),
                    _ => self.disconnect(slot, ClosedBy::Server, Some(Failure::of(&error)), now),
                };
            }
        }
        self.pool.unfill(slot);
        if self.await_step(slot, self.clock.now()) {
            return;
        }
        if self.room(slot) > 0 && !self.pool.is_in_line(slot) {
            // It waited for room in the socket until now: the server's doing, not the generator's.
            self.pool.set_free_at(slot, self.clock.now());
            self.pool.stand_in_line(slot);
        }
    }
}

/// Steps of sessions, which the connection that they are on sends when they are due. Without sessions nothing waits, and
/// all of it is left out by the compiler.
impl<C: Clock, T: Transport, P: ProtocolHandler> Traffic<'_, C, T, P> {
    /// Sends the step that waits on a connection, now or when it is due. Whether there is one.
    #[inline(always)]
    fn await_step(&mut self, slot: Slot, now: Nanos) -> bool {
        match self.protocol.next_step(slot) {
            Nanos::NEVER => return false,
            due if due <= now => self.send_step(slot),
            due => self.timers.set(due, slot, Alarm::Step),
        }
        true
    }

    /// Sends the step that is due on a connection; one that is not open sends it when it is.
    #[cold]
    fn send_step(&mut self, slot: Slot) {
        if self.pool.state(slot) != State::Open {
            return;
        }
        let at = self.clock.now();
        let due = self.protocol.next_step(slot);
        let departure = Departure { due, at, free_at: self.pool.free_at(slot) };
        match self.protocol.begin(slot, 1, &departure, &mut self.ledger, &mut self.transport) {
            Ok(started) => self.sent(slot, started, false, at),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.await_room(slot, at),
            Err(error) => self.disconnect(slot, ClosedBy::Server, Some(Failure::of(&error)), at),
        }
    }

    /// The step that waits on a connection is not sent any more. One that was due is counted; of one that was not, nothing
    /// is known but that its session did not come to it.
    #[cold]
    fn give_up_step(&mut self, slot: Slot, ending: Ending, now: Nanos) {
        if let Some(step) = self.protocol.give_up_step(slot)
            && step.due <= now
        {
            self.ledger.step_not_sent(&step, ending, now);
        }
    }
}

/// Responses come in.
impl<C: Clock, T: Transport, P: ProtocolHandler> Traffic<'_, C, T, P> {
    /// Does what an event calls for.
    pub(super) fn handle(&mut self, event: Ready, buffer: &mut [u8]) {
        let slot = event.slot;
        match self.pool.state(slot) {
            State::Closed => {}
            State::Connecting => {
                self.check_connecting(slot);
                // A server that closes or speaks at once says so in the same event, and only there.
                if event.readable || event.hangup {
                    self.receive(slot, event.hangup, buffer);
                }
                let now = self.clock.now();
                self.dispatch(now);
            }
            State::Greeting | State::Open | State::Full | State::Last | State::Thinking => {
                if (event.readable || event.hangup) && !self.pool.waits_for_turn(slot, event.hangup) {
                    self.receive(slot, event.hangup, buffer);
                }
                if event.writable && self.waits_for_room(slot) {
                    self.continue_sending(slot);
                }
            }
        }
    }

    /// Whether a connection may have something to send that had no room.
    #[inline]
    fn waits_for_room(&self, slot: Slot) -> bool {
        let waits = self.protocol.unsent_since(slot).is_some() || !self.pool.is_in_line(slot);
        waits && self.pool.state(slot) > State::Connecting
    }

    /// Reads what has come for a slot. A read that did not fill the buffer has emptied the socket (epoll(7)), unless
    /// the peer has hung up: then its end is still to be read, before anything is sent.
    fn receive(&mut self, slot: Slot, hangup: bool, buffer: &mut [u8]) {
        let is_open_loop = self.ledger.schedule().is_open();
        let mut rounds = 0;
        while self.pool.state(slot) > State::Connecting {
            if rounds == ROUNDS_MOST {
                self.pool.read_later(slot, hangup);
                break;
            }
            rounds += 1;
            match self.transport.receive(slot, buffer) {
                Ok(0) => {
                    self.ledger.set_kernel_received(self.transport.received_at());
                    self.end_of_input(slot);
                    break;
                }
                Ok(count) => {
                    let now = self.clock.now();
                    self.ledger.set_kernel_received(self.transport.received_at());
                    self.consume(slot, &buffer[..count], now);
                    // A closed loop reads all that has come before it sends: what was read later would seem slower, and a
                    // server that is sent many requests in a row is woken once for them.
                    if is_open_loop && !hangup {
                        self.dispatch(now);
                    }
                    if count < buffer.len() && !hangup {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    self.broken(slot, Failure::of(&error), self.clock.now());
                    break;
                }
            }
        }
        if hangup && is_open_loop {
            self.dispatch(self.clock.now());
        }
    }

    /// Reads on where others had their turn: once for each slot.
    #[cold]
    pub(super) fn read_on(&mut self, buffer: &mut [u8]) {
        for _ in 0..self.pool.turns() {
            let Some((slot, hangup)) = self.pool.next_turn() else { return };
            self.receive(slot, hangup, buffer);
        }
    }

    /// Has the protocol read some bytes, and does what follows for the connection.
    #[inline(always)]
    fn consume(&mut self, slot: Slot, input: &[u8], now: Nanos) {
        // A closed loop does not need to know when a connection became free.
        let was_full = self.ledger.schedule().is_open() && self.room(slot) == 0;
        let flow = self.protocol.receive(slot, input, now, &mut self.ledger, &mut self.transport);
        if self.pool.state(slot) == State::Greeting {
            return self.greeted(slot, flow, now);
        }
        let answered = self.ledger.take_answered();
        if answered {
            self.last_progress = now;
            self.pool.served(slot);
        }
        match flow {
            Ok(Flow::Keep) if self.pool.has_plain_life() => self.keep(slot, was_full, now),
            flow => self.live_on(slot, flow, answered, was_full, now),
        }
    }

    /// A connection goes on: it is free for another request, or it was before, or not yet.
    #[inline(always)]
    fn keep(&mut self, slot: Slot, was_full: bool, now: Nanos) {
        if self.await_step(slot, now) {
            return;
        }
        if self.room(slot) > 0 {
            if was_full {
                self.pool.set_free_at(slot, now);
            }
            self.pool.stand_in_line(slot);
        } else if self.protocol.unsent_since(slot).is_some() {
            self.set_deadline(slot, now);
        }
    }

    /// A connection ends, or rests, or goes on although it may carry only so many requests.
    #[cold]
    fn live_on(&mut self, slot: Slot, flow: Result<Flow, Fault>, answered: bool, was_full: bool, now: Nanos) {
        let is_used_up = self.is_used_up(slot);
        let is_free = self.room(slot) > 0;
        let ends = is_used_up || flow != Ok(Flow::Keep);
        let rests = answered && (ends || is_free);
        let until = if rests { self.pool.rest(slot, now) } else { None };
        match flow {
            // After the last response of a connection the server may say what it likes.
            _ if is_used_up => self.disconnect(slot, ClosedBy::Plan, None, now),
            Ok(Flow::Close) => self.disconnect(slot, ClosedBy::Server, None, now),
            Err(fault) => {
                self.pool.note_fault(fault.detail);
                self.disconnect(slot, ClosedBy::Us, Some(fault.failure), now);
            }
            Ok(Flow::Keep) => match until {
                Some(until) => self.timers.set(until, slot, Alarm::Think),
                None => self.keep(slot, was_full, now),
            },
        }
    }

    /// Whether a connection has carried the last request that it was to carry, and it is answered.
    fn is_used_up(&self, slot: Slot) -> bool {
        self.pool.state(slot) == State::Last && self.ledger.exchanges().live(slot) == 0
    }

    /// The server has said something before the connection stood.
    #[cold]
    fn greeted(&mut self, slot: Slot, flow: Result<Flow, Fault>, now: Nanos) {
        match flow {
            Ok(Flow::Keep) if self.protocol.is_ready(slot) => self.connected(slot),
            Ok(Flow::Keep) => {}
            Ok(Flow::Close) => self.attempt_failed(slot, Failure::ClosedUnused, now),
            Err(fault) => {
                self.pool.note_fault(fault.detail);
                self.attempt_failed(slot, fault.failure, now);
            }
        }
    }

    /// A connection broke.
    #[cold]
    fn broken(&mut self, slot: Slot, failure: Failure, now: Nanos) {
        match self.pool.state(slot) {
            State::Greeting => self.attempt_failed(slot, failure, now),
            _ => self.disconnect(slot, ClosedBy::Server, Some(failure), now),
        }
    }

    /// The server closed its side.
    #[cold]
    fn end_of_input(&mut self, slot: Slot) {
        let now = self.clock.now();
        let cut = self.transport.was_cut(slot);
        let failure = self.protocol.end_of_input(slot, cut, now, &mut self.ledger);
        let answered = self.ledger.take_answered();
        if answered {
            self.pool.served(slot);
        }
        if self.pool.state(slot) == State::Greeting {
            return self.attempt_failed(slot, failure.unwrap_or(Failure::ClosedUnused), now);
        }
        let is_used_up = self.is_used_up(slot);
        if answered && failure.is_none() {
            self.pool.rest(slot, now);
        }
        let by = if is_used_up { ClosedBy::Plan } else { ClosedBy::Server };
        // Closing an idle connection is the server's right; closing one unused is a reason to wait.
        let unused = !self.pool.has_served(slot) && self.ledger.exchanges().live(slot) == 0;
        self.disconnect(slot, by, failure.or(unused.then_some(Failure::ClosedUnused)), now);
    }
}

/// Time is up.
impl<C: Clock, T: Transport, P: ProtocolHandler> Traffic<'_, C, T, P> {
    /// Does what alarms that are due call for.
    #[inline]
    pub(super) fn ring(&mut self, now: Nanos) {
        while let Some((slot, alarm)) = self.timers.due(now) {
            match alarm {
                Alarm::Deadline => self.check_deadline(slot, now),
                Alarm::ConnectLimit => self.check_connect_limit(slot, now),
                Alarm::Reconnect => self.reconnect(slot),
                Alarm::Step => {
                    if self.protocol.next_step(slot) <= now {
                        self.send_step(slot);
                    }
                }
                Alarm::Think => {
                    if self.pool.wake(slot, now) {
                        self.pool.stand_in_line(slot);
                    }
                }
            }
        }
    }

    /// Has the slot looked at when `since` is a timeout ago; one alarm at a time suffices.
    #[inline(always)]
    fn set_deadline(&mut self, slot: Slot, since: Nanos) {
        if self.pool.set_deadline(slot) {
            let at = coarse(since + self.settings.job.timeout, self.deadline_grid);
            self.timers.set(at, slot, Alarm::Deadline);
        }
    }

    /// Looks whether a connection has kept us waiting for longer than the timeout: the requests whose time is up end, and
    /// where the protocol cannot do without their answers, the connection does.
    fn check_deadline(&mut self, slot: Slot, now: Nanos) {
        self.pool.deadline_rang(slot);
        if self.pool.state(slot) <= State::Greeting {
            // The alarm was for an earlier connection; the attempt at this one has a limit of its own.
            return;
        }
        let Some(since) = self.waits_since(slot) else { return };
        if since + self.settings.job.timeout > now {
            return self.set_deadline(slot, since);
        }
        if self.ledger.exchanges().live(slot) == 0 {
            return self.disconnect(slot, ClosedBy::Us, Some(Failure::Unread), now);
        }
        let was_full = self.room(slot) == 0;
        let mut cancelled = Cancelled::Exchange;
        let latest = now.since(self.settings.job.timeout);
        for place in 0..self.ledger.exchanges().places() {
            if !self.ledger.exchanges().is_sent_by(slot, place, latest) {
                continue;
            }
            self.ledger.abandon(slot, place, Ending::TimedOut, now);
            let live = self.ledger.exchanges().live(slot);
            let left = self.protocol.cancel(slot, place, live, now, &mut self.transport);
            if left == Cancelled::Connection {
                cancelled = Cancelled::Connection;
            } else {
                self.pool.note(Failure::TimedOut);
            }
        }
        self.last_progress = now;
        match cancelled {
            Cancelled::Connection => self.disconnect(slot, ClosedBy::Us, Some(Failure::TimedOut), now),
            Cancelled::Exchange if self.is_used_up(slot) => {
                self.disconnect(slot, ClosedBy::Plan, None, now);
            }
            Cancelled::Exchange => {
                self.keep(slot, was_full, now);
                if let Some(since) = self.waits_since(slot) {
                    self.set_deadline(slot, since);
                }
            }
        }
    }

    /// Since when a connection has waited for an answer; where all are answered, for the server to read the rest of what
    /// was sent, or to make room for the next request.
    fn waits_since(&self, slot: Slot) -> Option<Nanos> {
        let is_full = self.pool.state(slot) == State::Full;
        let full_since = is_full.then(|| self.pool.free_at(slot));
        self.ledger.exchanges().oldest(slot).or(self.protocol.unsent_since(slot)).or(full_since)
    }

    /// The drain's limit is over: what has not ended ends now.
    pub(super) fn cut_off(&mut self, now: Nanos) {
        for slot in 0..self.pool.count() {
            self.give_up_step(slot, Ending::Unsent, now);
            if self.ledger.exchanges().live(slot) == 0 {
                if self.pool.state(slot) == State::Open && !self.ledger.schedule().is_open() {
                    self.surplus(slot, now);
                }
                continue;
            }
            self.abandon_all(slot, Ending::TimedOut, now);
            self.pool.note(Failure::CutOff);
            self.disconnect(slot, ClosedBy::Us, None, now);
        }
        let protocol = &mut self.protocol;
        self.ledger.end_unsent(|| protocol.skip(), now);
    }
}

/// The next moment of a coarse grid at or after `at`: alarms of many connections ring together.
#[inline]
fn coarse(at: Nanos, grid: Nanos) -> Nanos {
    Nanos(at.0.div_ceil(grid.0).saturating_mul(grid.0))
}

impl Failure {
    /// What the network said.
    pub(crate) fn of(error: &io::Error) -> Self {
        match (TlsError::within(error), error.raw_os_error()) {
            (Some(error), _) => Failure::Tls(error.fault),
            (None, Some(number)) => Failure::Os(number),
            (None, None) => Failure::Closed,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::h1::Http1;
    use crate::hot::Recorder;
    use crate::sim::{Act, Connect, Script, VirtualClock, drive, response};
    use crate::{BodyCheck, Bound, Check, Job, Nanos, NoObserver, Requests, Settings, Slot};
    use paceline_http::Method;
    use std::sync::Arc;

    /// Accepts after a millisecond and answers at once.
    struct Prompt;

    impl Script for Prompt {
        fn connect(&mut self, _: Slot, _: Nanos) -> Connect {
            Connect::Accept(Nanos::from_millis(1))
        }

        fn request(&mut self, _: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
            acts.push((now, Act::Send(response("ok"))));
        }
    }

    #[test]
    fn attempts_share_an_alarm() {
        let check = Check { status: None, body: BodyCheck::Any };
        let requests = Arc::new(Requests::fixed(b"GET / HTTP/1.1\r\n\r\n", Method::Other, check));
        let job = Job {
            connections: 3,
            keep_alive: false,
            window: Bound::Requests(3_000),
            warmup: Nanos::ZERO,
            connect_timeout: Nanos::from_secs(60),
            ..Job::default()
        };
        let settings = Settings::new(job, std::net::SocketAddr::from(([127, 0, 0, 1], 9)), requests);
        let (clock, mut recorder) = (VirtualClock::new(Nanos::ZERO), Recorder::new());
        let worker =
            drive::<Http1, _>(&settings, Prompt, &clock, Nanos::NEVER, &mut recorder, &NoObserver).unwrap();
        let (made, alarms) = worker.connections_and_alarms();
        assert_eq!(made, 3_000);
        // For each connection: the limit of an attempt, and a deadline.
        assert_eq!(alarms, 6);
    }
}
