//! Stores the connections of a worker: their states, which are free, and which are to be made.
//!
//! It is plain state: it reads no clock and moves no bytes. The traffic takes the next connection from it and reports
//! events of connections to it. Each part is independent of the others: [`connection`] has the state of each socket,
//! [`handshakes`] those to be made, [`turns`] who sends and is read next. This file has what concerns several, and the
//! counts.

mod connection;
mod handshakes;
mod turns;

pub(super) use connection::{ConnectionState, Connections};
pub(super) use handshakes::{Handshakes, MIN_PAUSE};

use self::turns::Turns;
use super::protocol::ProtocolFault;
use crate::outcome::ConnectionFailure;
use crate::{ConnectionCounts, Nanos, Settings, Slot};

/// The side that ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClosedBy {
    /// The server: it closed or reset it, or announced that it would close.
    Server,
    /// The generator: after a timeout, or a response that broke the rules.
    Us,
    /// Either side, after the last request that the connection was to carry.
    Plan,
}

/// All connections of a worker.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) connections: Connections,
    pub(super) handshakes: Handshakes,
    turns: Turns,
    /// How many of the connections are in use: the first ones. All, unless their number is planned.
    active: u32,
    /// Whether their number is planned.
    is_planned: bool,
    open: u32,
    counts: ConnectionCounts,
    /// Connections that were made and lost before the run began.
    lost: u64,
}

impl Pool {
    /// A pool with all connections still to be made.
    pub(super) fn new(settings: &Settings, worker: u32) -> Self {
        let count = settings.connections_of(worker);
        let (active, _) = settings.planned_connections(worker, Nanos::ZERO);
        Self {
            connections: Connections::new(settings, worker, count),
            handshakes: Handshakes::new(count, active),
            turns: Turns::new(count),
            active,
            is_planned: settings.job.connection_plan.is_some(),
            open: 0,
            counts: ConnectionCounts::default(),
            lost: 0,
        }
    }

    /// The number of slots for connections.
    pub(super) fn count(&self) -> u32 {
        self.connections.count()
    }

    /// The state of a connection.
    #[inline]
    pub(super) fn state(&self, slot: Slot) -> ConnectionState {
        self.connections.state(slot)
    }

    /// The number of connections in use, which is the number to make.
    pub(super) fn active(&self) -> u32 {
        self.active
    }

    /// Whether a connection is in use.
    pub(super) fn is_active(&self, slot: Slot) -> bool {
        slot < self.active
    }

    /// Whether the number of connections is planned.
    pub(super) fn is_planned(&self) -> bool {
        self.is_planned
    }

    /// Sets the number of connections in use; returns the number before.
    pub(super) fn set_active(&mut self, active: u32) -> u32 {
        std::mem::replace(&mut self.active, active)
    }

    /// The number of open connections.
    pub(super) fn open(&self) -> u32 {
        self.open
    }
}

/// From an attempt to the close.
impl Pool {
    /// The slot whose handshake is next. One that has been connected since it was queued is skipped.
    pub(super) fn next_to_connect(&mut self) -> Option<Slot> {
        loop {
            let slot = self.handshakes.take()?;
            if self.state(slot) == ConnectionState::Closed {
                return Some(slot);
            }
        }
    }

    /// Begins an attempt.
    pub(super) fn connect(&mut self, slot: Slot, now: Nanos) {
        self.handshakes.begin();
        self.connections.connect(slot, now);
    }

    /// The connection is open and takes requests. Returns when the attempt began.
    pub(super) fn opened(&mut self, slot: Slot, now: Nanos) -> Nanos {
        let since = self.connections.opened(slot, now);
        self.handshakes.end(slot, Some(now.since(since)));
        self.open += 1;
        self.counts.made += 1;
        if self.is_planned {
            self.counts.had = self.counts.had.max(self.open.into());
        }
        since
    }

    /// An attempt ended without a connection; returns its last state.
    pub(super) fn attempt_ended(&mut self, slot: Slot) -> ConnectionState {
        self.handshakes.end(slot, None);
        self.connections.closed(slot)
    }

    /// A response was received.
    #[inline]
    pub(super) fn served(&mut self, slot: Slot) {
        if self.connections.served(slot) {
            self.handshakes.forget_failures(slot);
        }
    }

    /// Closes a connection that was open. Returns the end of its think time, if it was thinking.
    pub(super) fn closed(&mut self, slot: Slot, by: ClosedBy) -> Option<Nanos> {
        self.open -= 1;
        match by {
            ClosedBy::Server => self.counts.closed_by_server += 1,
            ClosedBy::Us => self.counts.closed_by_us += 1,
            ClosedBy::Plan => self.counts.closed_as_asked += 1,
        }
        match self.connections.closed(slot) {
            ConnectionState::Thinking { until } => Some(until),
            _ => None,
        }
    }
}

/// Whose turn it is.
impl Pool {
    /// Adds a connection to the end of the line of free ones.
    #[inline]
    pub(super) fn push_free(&mut self, slot: Slot) {
        self.turns.push_free(slot, self.connections.turn_mut(slot));
    }

    /// Takes the first connection of that line. It may not be free any more.
    #[inline]
    pub(super) fn take_free(&mut self) -> Option<Slot> {
        self.turns.take_free(|slot| self.connections.turn_mut(slot))
    }

    /// Whether a connection is in that line.
    #[inline]
    pub(super) fn is_queued(&self, slot: Slot) -> bool {
        self.connections.turn(slot).is_to_send()
    }

    /// The connections in that line.
    #[inline]
    pub(super) fn free(&self) -> impl ExactSizeIterator<Item = Slot> {
        self.turns.free()
    }

    /// Queues a slot so that the rest of its input is read after the turns of others.
    #[cold]
    pub(super) fn read_later(&mut self, slot: Slot, hangup: bool) {
        self.turns.read_later(slot, self.connections.turn_mut(slot), hangup);
    }

    /// Whether a slot waits for its turn to be read; if so, notes that the server hung up meanwhile.
    #[inline]
    pub(super) fn waits_to_be_read(&mut self, slot: Slot, hangup: bool) -> bool {
        self.connections.turn_mut(slot).waits_to_be_read(hangup)
    }

    /// The number of slots to be read again.
    #[inline]
    pub(super) fn unread(&self) -> usize {
        self.turns.unread()
    }

    /// Takes one of them, and whether its server has hung up.
    pub(super) fn next_unread(&mut self) -> Option<(Slot, bool)> {
        self.turns.next_unread(|slot| self.connections.turn_mut(slot))
    }
}

/// The counts of connection events.
impl Pool {
    /// The counts so far.
    pub(super) fn counts(&self) -> &ConnectionCounts {
        &self.counts
    }

    /// Returns the counts.
    pub(super) fn into_counts(self) -> ConnectionCounts {
        self.counts
    }

    /// Counts a failure for the report.
    pub(super) fn note(&mut self, failure: ConnectionFailure) {
        self.counts.note(failure, 1);
    }

    /// Keeps the details of the first case of a fault of the server; the failure is counted when its connection ends.
    pub(super) fn note_fault(&mut self, fault: ProtocolFault) {
        self.counts.note_details(fault.failure, fault.detail);
    }

    /// An attempt failed.
    pub(super) fn attempt_failed(&mut self, failure: ConnectionFailure) {
        self.counts.failed_attempts += 1;
        self.note(failure);
    }

    /// Counts a connection that failed before the run began: a server that breaks connections before any request is not
    /// reachable.
    pub(super) fn lost_early(&mut self, failure: ConnectionFailure) {
        match failure {
            ConnectionFailure::Tls(_) => self.counts.failed_attempts += 1,
            _ => self.lost += 1,
        }
    }

    /// The number of attempts that failed, and of connections lost before the run.
    pub(super) fn failed(&self) -> u64 {
        self.counts.failed_attempts + self.lost
    }

    /// Begins the run: sets the number of connections; closes count from now on.
    pub(super) fn begin_run(&mut self) {
        (self.counts.closed_by_server, self.counts.closed_by_us, self.counts.closed_as_asked) = (0, 0, 0);
    }

    /// Sets the number of open connections at the end of the connect phase. If their number is planned, it is the highest
    /// number from then on.
    pub(super) fn set_had(&mut self) -> u64 {
        self.counts.had = self.open.into();
        self.counts.had
    }
}
