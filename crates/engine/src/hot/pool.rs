//! Stores the connections of a worker: their states, which are free, and which are to be made.
//!
//! It is plain state: it reads no clock and moves no bytes. The traffic takes the next connection from it and reports
//! events of connections to it. There may be a hundred thousand, so the state of each is small (a test checks its
//! size). Over 600 lines: its states and every change of them belong together.

use super::protocol::ProtocolFault;
use crate::outcome::ConnectionFailure;
use crate::{ConnectionCounts, Nanos, Random, Settings, Slot, Think};
use std::collections::VecDeque;

/// The pause after the first failure in sequence; it doubles up to [`MAX_PAUSE`].
const MIN_PAUSE: Nanos = Nanos::from_millis(1);
/// Longest pause between attempts.
const MAX_PAUSE: Nanos = Nanos::from_secs(1);
/// Failures of a connection in sequence after which the pause has its full length; they take a second.
const FAILURES_UNTIL_LONGEST: u16 = 10;
/// The interval at which a connection of a closed loop is probed before a send: one more receive, once a second.
const PROBE_EVERY: Nanos = Nanos::from_secs(1);
/// Separates the random stream of think times from other uses of the seed.
const STREAM: u64 = 0x7468_696E_6B73;

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ConnectionState {
    /// No socket; no attempt is under way, or an alarm will start one.
    Closed,
    /// The transport is connecting.
    Connecting,
    /// The transport has connected, and the protocol waits for the server's first bytes.
    Greeting,
    /// The last request that it may carry has been sent.
    Last,
    /// Not needed any more: it ends when its requests are answered and its sessions are over.
    Retiring,
    /// In the think time before the next request.
    Thinking,
    /// Its socket had no room for a request; an event will report room.
    Full,
    /// Ready for requests.
    Open,
}

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

/// One connection.
#[derive(Clone, Debug)]
struct PooledConnection {
    state: ConnectionState,
    /// Whether it is in the line of free connections; it may have been closed since: check its state when taking it.
    is_queued: bool,
    /// Whether a deadline alarm is set; one at a time suffices: it is set again if it rings early.
    deadline_set: bool,
    /// Whether an alarm for the limit of an attempt to connect is set; likewise.
    limit_set: bool,
    /// Whether a response has been completed on the connection: one that closes before that does not count as idle.
    has_served: bool,
    /// Whether it is to be read again, since more had arrived than one turn may read.
    in_again: bool,
    /// Whether the server had hung up by then.
    hung_up: bool,
    /// The number of attempts to connect that failed in sequence.
    failed_attempts: u16,
    /// The number of requests that may still be sent on it.
    left: u32,
    /// When it last became free for a request; while connecting or full, when that began; while thinking, when that
    /// ends.
    free_at: Nanos,
    /// The connect time.
    connecting_took: Nanos,
    /// When to probe next for bytes that no request asked for.
    probe_at: Nanos,
}

/// All connections of a worker.
#[derive(Debug)]
pub(super) struct Pool {
    connections: Vec<PooledConnection>,
    /// How many of them are in use: the first ones. All, unless their number is planned.
    active: u32,
    /// Whether their number is planned.
    is_planned: bool,
    /// Free connections, longest free first. An entry may be stale: check its state when taking it.
    line: VecDeque<Slot>,
    /// Slots that need a handshake.
    to_connect: VecDeque<Slot>,
    /// Slots with more to read than their turn allowed, each once.
    again: VecDeque<Slot>,
    open: u32,
    connecting: u32,
    /// The number of requests that a connection may carry.
    carries: u32,
    /// The pause between a response and the next request of its connection.
    think: Option<Think>,
    /// Whether connections are kept as long as the server keeps them, and have no think time, no streams and no bodies
    /// that follow later.
    plain_life: bool,
    /// The source of think times.
    random: Random,
    counts: ConnectionCounts,
    /// Attempts to connect that were begun.
    attempts: u64,
    /// Connections that were made and lost before the run began.
    lost: u64,
}

/// A worker's own sequence of think times: separated from those of others by a random distance, among 2^64 starting
/// points.
fn thinking(seed: u64, worker: u32) -> Random {
    let mut seeds = Random::new(seed ^ STREAM);
    (0..worker).for_each(|_| _ = seeds.next_u64());
    Random::new(seeds.next_u64())
}

impl Pool {
    /// A pool with all connections still to be made.
    pub(super) fn new(settings: &Settings, worker: u32) -> Self {
        let count = settings.connections_of(worker);
        let (active, _) = settings.planned_connections(worker, Nanos::ZERO);
        let connection = PooledConnection {
            state: ConnectionState::Closed,
            is_queued: false,
            deadline_set: false,
            limit_set: false,
            has_served: false,
            in_again: false,
            hung_up: false,
            failed_attempts: 0,
            left: u32::MAX,
            free_at: Nanos::ZERO,
            connecting_took: Nanos::ZERO,
            probe_at: Nanos::ZERO,
        };
        Self {
            connections: vec![connection; count as usize],
            active,
            is_planned: settings.job.connection_plan.is_some(),
            line: VecDeque::with_capacity(count as usize),
            to_connect: (0..active).collect(),
            again: VecDeque::new(),
            open: 0,
            connecting: 0,
            carries: settings.job.requests_per_connection_max(),
            think: settings.job.think,
            plain_life: settings.job.has_plain_connections()
                && !settings.requests.have_streams()
                && !settings.requests.have_uploads(),
            random: thinking(settings.seed, worker),
            counts: ConnectionCounts::default(),
            attempts: 0,
            lost: 0,
        }
    }

    #[inline]
    fn connection(&self, slot: Slot) -> &PooledConnection {
        &self.connections[slot as usize]
    }

    #[inline]
    fn of_mut(&mut self, slot: Slot) -> &mut PooledConnection {
        &mut self.connections[slot as usize]
    }

    /// The number of slots for connections.
    pub(super) fn count(&self) -> u32 {
        self.connections.len() as u32
    }

    /// The number of connections in use, which is the number to make.
    pub(super) fn active(&self) -> u32 {
        self.active
    }

    /// The number of open connections.
    pub(super) fn open(&self) -> u32 {
        self.open
    }

    /// The number of connections being made.
    pub(super) fn connecting(&self) -> u32 {
        self.connecting
    }

    /// The state of a connection.
    #[inline]
    pub(super) fn state(&self, slot: Slot) -> ConnectionState {
        self.connection(slot).state
    }

    /// When it last became free; while connecting or full, when that began; while thinking, when that ends.
    #[inline]
    pub(super) fn free_at(&self, slot: Slot) -> Nanos {
        self.connection(slot).free_at
    }

    /// Sets when it became free for a request.
    #[inline]
    pub(super) fn set_free_at(&mut self, slot: Slot, now: Nanos) {
        self.of_mut(slot).free_at = now;
    }

    /// The counts of connection events.
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

    /// The number of attempts to connect that were begun.
    pub(super) fn attempts(&self) -> u64 {
        self.attempts
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

/// Making connections.
impl Pool {
    /// Whether a slot needs a handshake.
    pub(super) fn wants_handshake(&self) -> bool {
        !self.to_connect.is_empty()
    }

    /// The slot whose handshake is next. One that has been connected since it was queued is skipped.
    pub(super) fn next_to_connect(&mut self) -> Option<Slot> {
        loop {
            let slot = self.to_connect.pop_front()?;
            if self.state(slot) == ConnectionState::Closed {
                return Some(slot);
            }
        }
    }

    /// Queues a closed slot for connecting.
    pub(super) fn queue_connect(&mut self, slot: Slot) {
        self.to_connect.push_back(slot);
    }

    /// Begins an attempt.
    pub(super) fn connect(&mut self, slot: Slot, now: Nanos) {
        self.connecting += 1;
        self.attempts += 1;
        let connection = self.of_mut(slot);
        (connection.state, connection.has_served, connection.free_at) =
            (ConnectionState::Connecting, false, now);
    }

    /// The transport has connected; the server's first bytes are awaited.
    pub(super) fn greet(&mut self, slot: Slot) {
        self.of_mut(slot).state = ConnectionState::Greeting;
    }

    /// The connection is open and takes requests.
    pub(super) fn opened(&mut self, slot: Slot, now: Nanos) {
        self.connecting -= 1;
        self.open += 1;
        self.counts.made += 1;
        if self.is_planned {
            self.counts.had = self.counts.had.max(self.open.into());
        }
        let left = self.carries;
        let connection = self.of_mut(slot);
        (connection.state, connection.left) = (ConnectionState::Open, left);
        connection.connecting_took = now.since(connection.free_at);
        connection.probe_at = now + PROBE_EVERY;
        connection.free_at = now;
    }

    /// The connect time.
    pub(super) fn connecting_took(&self, slot: Slot) -> Nanos {
        self.connection(slot).connecting_took
    }

    /// An attempt ended without a connection.
    pub(super) fn attempt_ended(&mut self, slot: Slot) {
        self.connecting -= 1;
        self.of_mut(slot).state = ConnectionState::Closed;
    }

    /// An attempt failed.
    pub(super) fn attempt_failed(&mut self, failure: ConnectionFailure) {
        self.counts.failed_attempts += 1;
        self.note(failure);
    }

    /// The length of the pause after a failure; it grows with the number of failures in sequence.
    pub(super) fn pause(&mut self, slot: Slot) -> Nanos {
        let connection = self.of_mut(slot);
        let pause =
            Nanos(MIN_PAUSE.0 << connection.failed_attempts.min(FAILURES_UNTIL_LONGEST)).min(MAX_PAUSE);
        connection.failed_attempts = connection.failed_attempts.saturating_add(1);
        pause
    }

    /// The last failure was that a response took too long: a run does not give up because of that.
    pub(super) fn was_slow(&mut self, slot: Slot) {
        let connection = self.of_mut(slot);
        connection.failed_attempts = connection.failed_attempts.min(FAILURES_UNTIL_LONGEST - 1);
    }

    /// The shortest pause.
    pub(super) fn shortest_pause() -> Nanos {
        MIN_PAUSE
    }

    /// Closes a connection that was open. Returns the end of its think time, if it was thinking.
    pub(super) fn closed(&mut self, slot: Slot, by: ClosedBy) -> Option<Nanos> {
        self.open -= 1;
        match by {
            ClosedBy::Server => self.counts.closed_by_server += 1,
            ClosedBy::Us => self.counts.closed_by_us += 1,
            ClosedBy::Plan => self.counts.closed_as_asked += 1,
        }
        let connection = self.of_mut(slot);
        let was = std::mem::replace(&mut connection.state, ConnectionState::Closed);
        (was == ConnectionState::Thinking).then_some(connection.free_at)
    }

    /// Counts a connection that failed before the run began: a server that breaks connections before any request is not
    /// reachable.
    pub(super) fn lost_early(&mut self, failure: ConnectionFailure) {
        match failure {
            ConnectionFailure::Tls(_) => self.counts.failed_attempts += 1,
            _ => self.lost += 1,
        }
    }
}

/// The line of free connections, and the state of each.
impl Pool {
    /// Adds a connection to the end of the line of free ones.
    #[inline]
    pub(super) fn push_free(&mut self, slot: Slot) {
        let connection = &mut self.connections[slot as usize];
        if !connection.is_queued {
            connection.is_queued = true;
            self.line.push_back(slot);
        }
    }

    /// Removes a connection from the line. It may not be free any more.
    #[inline]
    pub(super) fn remove_free(&mut self) -> Option<Slot> {
        let slot = self.line.pop_front()?;
        self.of_mut(slot).is_queued = false;
        Some(slot)
    }

    /// Whether a connection is in the line.
    #[inline]
    pub(super) fn is_queued(&self, slot: Slot) -> bool {
        self.connection(slot).is_queued
    }

    /// The length of the line.
    pub(super) fn line_length(&self) -> usize {
        self.line.len()
    }

    /// The connections in the line.
    pub(super) fn line(&self) -> impl Iterator<Item = Slot> {
        self.line.iter().copied()
    }

    /// Whether connections are kept as long as the server keeps them, and have no think time.
    #[inline]
    pub(super) fn has_plain_life(&self) -> bool {
        self.plain_life
    }

    /// The number of requests that may still be sent on a connection.
    pub(super) fn allowance(&self, slot: Slot) -> u64 {
        self.connection(slot).left.into()
    }

    /// Whether it is time to probe for bytes that no request asked for; if so, notes the probe as done. Before the
    /// first response there is nothing to probe for: bytes before a request are a separate event of the socket.
    #[inline]
    pub(super) fn probe(&mut self, slot: Slot, now: Nanos) -> bool {
        let connection = self.of_mut(slot);
        let is_due = now >= connection.probe_at;
        if is_due {
            connection.probe_at = now + PROBE_EVERY;
        }
        is_due && connection.has_served
    }

    /// Counts requests sent: if the connection may carry no more, they are its last.
    #[cold]
    pub(super) fn spend(&mut self, slot: Slot, requests: u16) {
        let connection = self.of_mut(slot);
        connection.left = connection.left.saturating_sub(requests.into());
        if connection.left == 0 {
            connection.state = ConnectionState::Last;
        }
    }

    /// A response was received.
    #[inline]
    pub(super) fn served(&mut self, slot: Slot) {
        let connection = self.of_mut(slot);
        connection.failed_attempts = 0;
        connection.has_served = true;
    }

    /// Whether every connection has only failed: many times in sequence, and then for about this many seconds.
    pub(super) fn only_fails(&self, seconds: u64) -> bool {
        let least = seconds + u64::from(FAILURES_UNTIL_LONGEST);
        self.connections.iter().all(|connection| u64::from(connection.failed_attempts) >= least)
    }

    /// Whether a response was received on this connection.
    pub(super) fn has_served(&self, slot: Slot) -> bool {
        self.connection(slot).has_served
    }

    /// Its socket has no room for a request.
    pub(super) fn fill(&mut self, slot: Slot, at: Nanos) {
        let connection = self.of_mut(slot);
        (connection.state, connection.free_at) = (ConnectionState::Full, at);
    }

    /// Its socket has room again.
    pub(super) fn unfill(&mut self, slot: Slot) {
        let connection = self.of_mut(slot);
        if connection.state == ConnectionState::Full {
            connection.state = ConnectionState::Open;
        }
    }

    /// Starts the think time of a connection, if one is configured; returns its end.
    pub(super) fn rest(&mut self, slot: Slot, now: Nanos) -> Option<Nanos> {
        let until = now + self.random.draw_think(self.think?);
        self.rest_until(slot, until);
        Some(until)
    }

    /// Starts a pause of a connection.
    pub(super) fn rest_until(&mut self, slot: Slot, until: Nanos) {
        let connection = self.of_mut(slot);
        (connection.state, connection.free_at) = (ConnectionState::Thinking, until);
    }

    /// Ends a think time, unless the connection was made again and is thinking again. Returns whether it is free now.
    pub(super) fn wake(&mut self, slot: Slot, now: Nanos) -> bool {
        let connection = self.of_mut(slot);
        let rested = connection.state == ConnectionState::Thinking && connection.free_at <= now;
        if rested {
            connection.state = ConnectionState::Open;
        }
        rested
    }
}

/// The connections in use, if their number is planned.
impl Pool {
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

    /// An open connection is not needed any more: it takes no further requests.
    pub(super) fn retire(&mut self, slot: Slot) {
        self.of_mut(slot).state = ConnectionState::Retiring;
    }

    /// A connection that was retiring is needed again.
    pub(super) fn resume(&mut self, slot: Slot) {
        self.of_mut(slot).state = ConnectionState::Open;
    }
}

/// Alarms and turns.
impl Pool {
    /// Notes that a deadline alarm is set; false if one was.
    #[inline]
    pub(super) fn set_deadline(&mut self, slot: Slot) -> bool {
        !std::mem::replace(&mut self.of_mut(slot).deadline_set, true)
    }

    /// Whether a deadline alarm is set.
    pub(super) fn has_deadline(&self, slot: Slot) -> bool {
        self.connection(slot).deadline_set
    }

    /// The deadline alarm has rung.
    pub(super) fn deadline_rang(&mut self, slot: Slot) {
        self.of_mut(slot).deadline_set = false;
    }

    /// Notes that an alarm for the limit of an attempt is set; false if one was.
    pub(super) fn set_limit(&mut self, slot: Slot) -> bool {
        !std::mem::replace(&mut self.of_mut(slot).limit_set, true)
    }

    /// That alarm has rung.
    pub(super) fn limit_rang(&mut self, slot: Slot) {
        self.of_mut(slot).limit_set = false;
    }

    /// Queues a slot so that the rest of its input is read after the turns of others.
    #[cold]
    pub(super) fn read_later(&mut self, slot: Slot, hangup: bool) {
        let connection = self.of_mut(slot);
        connection.hung_up |= hangup;
        if !std::mem::replace(&mut connection.in_again, true) {
            self.again.push_back(slot);
            debug_assert!(self.again.len() <= self.connections.len());
        }
    }

    /// Whether a slot waits for its turn to be read; if so, notes that the server hung up meanwhile.
    #[inline]
    pub(super) fn waits_for_turn(&mut self, slot: Slot, hangup: bool) -> bool {
        let connection = self.of_mut(slot);
        if connection.in_again {
            connection.hung_up |= hangup;
        }
        connection.in_again
    }

    /// The number of slots to be read again.
    #[inline]
    pub(super) fn turns(&self) -> usize {
        self.again.len()
    }

    /// Takes one of them, and whether its server has hung up.
    pub(super) fn next_turn(&mut self) -> Option<(Slot, bool)> {
        let slot = self.again.pop_front()?;
        let connection = self.of_mut(slot);
        connection.in_again = false;
        Some((slot, std::mem::take(&mut connection.hung_up)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_hundred_thousand_connections_fit() {
        assert!(
            size_of::<PooledConnection>() <= 56,
            "a connection takes {} bytes",
            size_of::<PooledConnection>()
        );
    }

    #[test]
    fn workers_draw_different_think_times() {
        for seed in [0, 1, 42] {
            let drawn: Vec<u64> = (0..8)
                .flat_map(|worker| {
                    let mut random = thinking(seed, worker);
                    (0..200).map(move |_| random.next_u64())
                })
                .collect();
            assert_eq!(drawn.iter().collect::<HashSet<_>>().len(), 8 * 200, "with seed {seed}");
        }
    }
}
