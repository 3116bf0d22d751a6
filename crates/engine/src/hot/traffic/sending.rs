//! Sends requests: those that are due, on the connections that have been free longest; steps of sessions on their own
//! connections.
//!
//! There is one send for each connection and turn, with as many requests as it has room for in a closed loop, and its
//! share of the due requests in an open one.

use super::Traffic;
use crate::hot::pool::{ClosedBy, ConnectionState};
use crate::hot::protocol::ProtocolHandler;
use crate::hot::request_tracker::SendTimes;
use crate::hot::scenario::Scenario;
use crate::outcome::ConnectionFailure;
use crate::timers::TimerKind;
use crate::{Clock, Ending, IoProgress, Nanos, Slot, Transport};
use std::io;

/// The maximum read where no input is expected.
const SURPLUS: usize = 4096;
/// The maximum number of due requests counted to spread them over the free connections.
const MAX_DUE_COUNTED: u64 = 1024;
/// Requests of an open loop that are due at once. They are spread evenly over the free connections, and the share of a
/// connection leaves in one send.
#[derive(Clone, Copy, Default)]
struct Burst {
    /// The number that have not been assigned to a connection.
    due: u64,
    /// The number for each connection.
    share: u16,
}

impl Burst {
    /// The share of a connection with this much room.
    #[inline]
    fn take(&mut self, room: u16) -> u16 {
        let share = self.due.min(self.share.min(room).into());
        self.due -= share;
        share as u16
    }
}

/// Sending requests.
impl<C: Clock, T: Transport, P: ProtocolHandler> Traffic<'_, C, T, P> {
    /// Sends the requests that are due, first on the connection that has been free longest. Returns the time of the
    /// last clock reading.
    #[inline]
    pub(in crate::hot) fn dispatch(&mut self, mut now: Nanos) -> Nanos {
        let mut burst = Burst::default();
        loop {
            let Some(due) = self.tracker.schedule().due(now) else {
                self.pauses.caught_up();
                break;
            };
            let Some((slot, room)) = self.next_in_line() else { break };
            let mut share = 0;
            if self.tracker.schedule().is_open() {
                if burst.due == 0 {
                    burst = self.burst(room, now);
                }
                share = burst.take(room);
            }
            now = self.send(slot, room, share, due);
        }
        now
    }

    /// The due requests of an open loop: one, unless there are several and connections with room for more than one.
    #[inline]
    fn burst(&self, room: u16, now: Nanos) -> Burst {
        if room < 2 || !self.pool.connections.have_plain_life() {
            return Burst { due: 1, share: 1 };
        }
        let free = self.pool.free().len() as u64 + 1;
        let most = (free * u64::from(room)).min(MAX_DUE_COUNTED);
        let due = self.tracker.schedule().due_together(now, most);
        Burst { due, share: due.div_ceil(free) as u16 }
    }

    /// The number of further requests that a connection takes now.
    #[inline(always)]
    pub(super) fn room(&self, slot: Slot) -> u16 {
        let live = self.tracker.exchanges().live(slot);
        if !matches!(self.pool.state(slot), ConnectionState::Open { .. })
            || self.settings.job.batch && live > 0
        {
            return 0;
        }
        let room = self.protocol.room(slot, live);
        if P::Scenario::IS_USED { room.min(self.protocol.scenario().idle_users(slot)) } else { room }
    }

    /// Takes the connection that has been free longest; returns it and the number of requests that it takes.
    #[inline]
    fn next_in_line(&mut self) -> Option<(Slot, u16)> {
        while let Some(slot) = self.pool.take_free() {
            let room = self.room(slot);
            if room > 0 {
                return Some((slot, room));
            }
        }
        None
    }

    /// Whether no connection is free.
    pub(super) fn line_is_empty(&self) -> bool {
        !self.pool.free().any(|slot| self.room(slot) > 0)
    }

    /// Whether, with no request in flight, no connection can take one unless the server acts: each is still to be made,
    /// or the server allows no HTTP/2 stream on it. Alarms end think times, and close connections whose sent bytes the
    /// server does not read.
    pub(in crate::hot) fn is_stuck(&self) -> bool {
        (0..self.pool.count()).all(|slot| match self.pool.state(slot) {
            ConnectionState::Closed
            | ConnectionState::Connecting { .. }
            | ConnectionState::Greeting { .. } => true,
            ConnectionState::Thinking { .. } | ConnectionState::Full { .. } => false,
            ConnectionState::Open { .. } | ConnectionState::Last | ConnectionState::Retiring { .. } => {
                self.room(slot) == 0 && !self.pool.connections.has_deadline(slot)
            }
        })
    }

    /// Whether the line contains no connections at all, free or not.
    #[inline]
    pub(in crate::hot) fn has_no_line(&self) -> bool {
        self.pool.free().next().is_none()
    }

    /// Sends on a free connection: its share of the due requests in an open loop, as many as fit in a closed one.
    /// Returns the time of the send.
    #[inline]
    fn send(&mut self, slot: Slot, room: u16, share: u16, due: Nanos) -> Nanos {
        let at = self.clock.now();
        let wanted = if self.tracker.schedule().is_open() {
            share
        } else if self.tracker.schedule().due(at).is_none()
            || !T::HAS_DATAGRAMS && self.pool.connections.probe(slot, at) && self.surplus(slot, at)
        {
            return at;
        } else {
            let most = if self.pool.connections.have_plain_life() {
                u64::MAX
            } else {
                self.pool.connections.allowance(slot)
            };
            most.min(self.tracker.schedule().remaining()).min(room.into()) as u16
        };
        if P::Scenario::IS_USED && self.pauses_before(slot, at) {
            return at;
        }
        let send_times = SendTimes { due, at, free_at: self.pool.connections.free_at(slot) };
        match self.protocol.begin(slot, wanted, &send_times, &mut self.tracker, &mut self.transport) {
            Ok(started) => {
                // A scenario may have sent steps instead.
                self.sent(slot, started, started < room || P::Scenario::IS_USED, at);
            }
            // The socket has no room, and the request stays due.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.await_room(slot, at),
            // No byte of the request was sent: it stays due and is sent on another connection.
            Err(error) => {
                self.disconnect(slot, ClosedBy::Server, Some(ConnectionFailure::from_error(&error)), at)
            }
        }
        at
    }

    /// Whether the scenario has a connection pause before it sends; if so, sets the alarm for the end of the pause.
    fn pauses_before(&mut self, slot: Slot, at: Nanos) -> bool {
        let Some(pause) = self.protocol.scenario_mut().take_pause(slot) else { return false };
        let until = at + pause;
        self.pool.connections.rest_until(slot, until);
        self.timers.set(until, slot, TimerKind::Think);
        true
    }

    /// Reads the available input before a closed loop sends: a response that no request asked for would be taken for
    /// the response to the next one. Returns whether there was input, after which the state of the connection may have
    /// changed.
    #[cold]
    fn surplus(&mut self, slot: Slot, at: Nanos) -> bool {
        if self.tracker.exchanges().live(slot) > 0 {
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
            Err(error) => self.broken(slot, ConnectionFailure::from_error(error), at),
        }
        !received.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Requests were sent, and the connection may have room for more.
    #[inline(always)]
    fn sent(&mut self, slot: Slot, started: u16, may_have_room: bool, at: Nanos) {
        self.set_deadline(slot, at);
        let mut is_free = may_have_room && self.room(slot) > 0;
        if !self.pool.connections.have_plain_life() {
            self.pool.connections.spend(slot, started);
            let took = self.pool.handshakes.took(slot) + self.protocol.handshake_awaited(slot);
            self.tracker.connecting_took(slot, took, at);
            is_free &= self.pool.connections.allowance(slot) > 0;
            self.watch_body(slot, at);
        }
        if is_free {
            self.pool.push_free(slot);
        }
    }

    /// Waits for an event that reports room in a socket; a server that reads nothing for a whole timeout is
    /// disconnected.
    #[cold]
    fn await_room(&mut self, slot: Slot, at: Nanos) {
        self.pool.connections.fill(slot, at);
        self.set_deadline(slot, at);
    }

    /// The socket has room again: sends the bytes that waited, and puts the connection back in line.
    pub(super) fn continue_sending(&mut self, slot: Slot) {
        let now = self.clock.now();
        match self.protocol.flush(slot, now, &mut self.tracker, &mut self.transport) {
            Ok(IoProgress::Done) => {}
            Ok(IoProgress::Pending) => return self.watch_body(slot, now),
            Err(error) => {
                let failure = ConnectionFailure::from_error(&error);
                let is_ours = failure == ConnectionFailure::BodyUnreadable;
                let by = if is_ours { ClosedBy::Us } else { ClosedBy::Server };
                return match self.pool.state(slot) {
                    ConnectionState::Greeting { .. } => self.attempt_failed(slot, failure, now),
                    _ => self.disconnect(slot, by, Some(failure), now),
                };
            }
        }
        self.pool.connections.unfill(slot);
        self.send_steps(slot, now);
        if self.room(slot) > 0 && !self.pool.is_queued(slot) {
            // It waited for room in the socket until now, which is caused by the server, not by the generator.
            self.set_free(slot, now);
            self.pool.push_free(slot);
        }
    }
}

/// Steps of sessions, which are sent on their user's connection when they are due. Without sessions the compiler removes
/// this code.
impl<C: Clock, T: Transport, P: ProtocolHandler> Traffic<'_, C, T, P> {
    /// Sends the steps that are due on a connection, as far as it has room; the others are sent when they are due, or
    /// when it has.
    #[inline(always)]
    pub(super) fn send_steps(&mut self, slot: Slot, now: Nanos) {
        if P::Scenario::IS_USED {
            self.send_due_steps(slot, now);
        }
    }

    #[inline(never)]
    fn send_due_steps(&mut self, slot: Slot, now: Nanos) {
        while matches!(self.pool.state(slot), ConnectionState::Open { .. } | ConnectionState::Retiring { .. })
        {
            let due = self.protocol.scenario().due_steps(slot, now);
            if due == 0 {
                break;
            }
            let room = self.protocol.room(slot, self.tracker.exchanges().live(slot));
            let was_blocked = self.protocol.scenario_mut().note_blocked(slot, room == 0);
            if room == 0 {
                break;
            }
            if was_blocked {
                self.set_free(slot, now);
            }
            self.send_step(slot, due.min(room));
        }
        if let Some(at) = self.protocol.scenario_mut().take_alarm(slot, now) {
            self.timers.set(at, slot, TimerKind::Step);
        }
    }

    /// Sends steps that are due on a connection with room for them.
    fn send_step(&mut self, slot: Slot, wanted: u16) {
        let at = self.clock.now();
        let due = self.protocol.scenario().next_step(slot);
        let send_times = SendTimes { due, at, free_at: self.pool.connections.free_at(slot) };
        match self.protocol.begin(slot, wanted, &send_times, &mut self.tracker, &mut self.transport) {
            Ok(started) => {
                // A request that follows a redirect on a new connection was first sent on an earlier one.
                let since = self.tracker.exchanges().oldest(slot).unwrap_or(at);
                self.sent(slot, started, false, since);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.await_room(slot, at),
            Err(error) => {
                self.disconnect(slot, ClosedBy::Server, Some(ConnectionFailure::from_error(&error)), at)
            }
        }
    }

    /// An attempt to connect failed: the steps that are due on the connection fail with it.
    #[cold]
    pub(super) fn give_up_due_steps(&mut self, slot: Slot, now: Nanos) {
        while self.protocol.scenario().next_step(slot) <= now
            && self.give_up_step(slot, Ending::ConnectFailed, now)
        {}
    }

    /// The run ends: drops all steps that wait on a connection.
    #[cold]
    pub(super) fn give_up_all_steps(&mut self, slot: Slot, now: Nanos) {
        while self.give_up_step(slot, Ending::Unsent, now) {}
    }

    /// Drops a step that waits on a connection, if there is one. A due step is counted; if it was not due, its session
    /// did not reach it and it is not counted. A request that was sent before is counted already: it ends.
    fn give_up_step(&mut self, slot: Slot, ending: Ending, now: Nanos) -> bool {
        let Some(step) = self.protocol.scenario_mut().give_up_step(slot) else { return false };
        match &step.sent {
            Some(aside) => self.tracker.not_continued(aside, ending, now),
            None if step.due <= now => self.tracker.step_not_sent(&step, ending, now),
            None => {}
        }
        true
    }
}
