//! The connections of a worker: where each is in its life, which are free, and which are to be made.
//!
//! Plain state: it reads no clock and moves no byte. The traffic asks it which connection is next and tells it what
//! became of one. There may be a hundred thousand, so what is kept of each is small (a test holds its size).

use crate::outcome::Failure;
use crate::{ConnectionCounts, Nanos, Random, Settings, Slot, Think};
use std::collections::VecDeque;

/// Pause after the first failure in a row; it doubles up to [`PAUSE_MOST`].
const PAUSE_LEAST: Nanos = Nanos::from_millis(1);
/// Longest pause between attempts.
const PAUSE_MOST: Nanos = Nanos::from_secs(1);
/// How often a connection of a closed loop is looked at before a send: one receive more, once a second.
const PROBE_EVERY: Nanos = Nanos::from_secs(1);
/// What the seed of think times is drawn with, so that they are not those of anything else.
const STREAM: u64 = 0x7468_696E_6B73;

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    /// No socket; nothing is being done about it, or an alarm will try again.
    Closed,
    /// The transport is connecting.
    Connecting,
    /// The transport has connected, and the protocol waits for the server's first word.
    Greeting,
    /// The last request it may carry is on its way.
    Last,
    /// At rest before the next request.
    Thinking,
    /// Its socket had no room for a request; it says when it has.
    Full,
    /// Ready for requests.
    Open,
}

/// Who ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClosedBy {
    /// The server: it closed or reset it, or announced that it would.
    Server,
    /// The generator: after a timeout, or a response that broke the rules.
    Us,
    /// Either, after the last request that it was to carry.
    Plan,
}

/// One connection.
#[derive(Clone, Debug)]
struct Connection {
    state: State,
    /// Whether it stands in the line of free connections; it may have been closed since: check its state when taking it.
    in_line: bool,
    /// Whether a deadline alarm is set; one at a time suffices, it is moved on when it rings early.
    deadline_set: bool,
    /// Whether an alarm for the limit of an attempt to connect is set; likewise.
    limit_set: bool,
    /// Whether a response has been completed on the connection: one that closes before that does not count as idle.
    has_served: bool,
    /// Whether it is to be read from again, since there was more than its share.
    in_again: bool,
    /// Whether the server had hung up by then.
    hung_up: bool,
    /// Attempts to connect that failed in a row.
    failed_attempts: u16,
    /// Requests it may still be sent.
    left: u32,
    /// When it last became free for a request; while connecting or full, when that began; at rest, when that is over.
    free_at: Nanos,
    /// How long connecting took.
    connecting_took: Nanos,
    /// When to look next whether the server has said more than it was asked for.
    probe_at: Nanos,
}

/// All connections of a worker.
#[derive(Debug)]
pub(super) struct Pool {
    connections: Vec<Connection>,
    /// Free connections, longest free first. An entry may be stale: check its state when taking it.
    line: VecDeque<Slot>,
    /// Slots that want a handshake.
    to_connect: VecDeque<Slot>,
    /// Slots with more to read than their turn allowed, each once.
    again: VecDeque<Slot>,
    open: u32,
    connecting: u32,
    /// Requests that a connection may carry.
    carries: u32,
    /// How long it rests between a response and its next request.
    think: Option<Think>,
    /// Whether connections are kept as long as the server keeps them, and never rest.
    plain_life: bool,
    /// How long to think.
    random: Random,
    counts: ConnectionCounts,
    /// Connections that were made and lost before the run began.
    lost: u64,
}

/// A worker's own sequence of think times: as far from the others' as chance has it, among 2^64 starting points.
fn thinking(seed: u64, worker: u32) -> Random {
    let mut seeds = Random::new(seed ^ STREAM);
    (0..worker).for_each(|_| _ = seeds.next_u64());
    Random::new(seeds.next_u64())
}

impl Pool {
    /// All connections still to make.
    pub(super) fn new(settings: &Settings, worker: u32) -> Self {
        let count = settings.connections_of(worker);
        let connection = Connection {
            state: State::Closed,
            in_line: false,
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
            line: VecDeque::with_capacity(count as usize),
            to_connect: (0..count).collect(),
            again: VecDeque::new(),
            open: 0,
            connecting: 0,
            carries: settings.job.requests_per_connection_max(),
            think: settings.job.think,
            plain_life: settings.job.has_plain_connections(),
            random: thinking(settings.seed, worker),
            counts: ConnectionCounts::default(),
            lost: 0,
        }
    }

    #[inline]
    fn of(&self, slot: Slot) -> &Connection {
        &self.connections[slot as usize]
    }

    #[inline]
    fn of_mut(&mut self, slot: Slot) -> &mut Connection {
        &mut self.connections[slot as usize]
    }

    /// How many there are to be.
    pub(super) fn count(&self) -> u32 {
        self.connections.len() as u32
    }

    /// How many are open.
    pub(super) fn open(&self) -> u32 {
        self.open
    }

    /// How many are being made.
    pub(super) fn connecting(&self) -> u32 {
        self.connecting
    }

    /// Where a connection is in its life.
    #[inline]
    pub(super) fn state(&self, slot: Slot) -> State {
        self.of(slot).state
    }

    /// When it last became free; while connecting or full, when that began; at rest, when that is over.
    #[inline]
    pub(super) fn free_at(&self, slot: Slot) -> Nanos {
        self.of(slot).free_at
    }

    /// It became free for a request.
    #[inline]
    pub(super) fn set_free_at(&mut self, slot: Slot, now: Nanos) {
        self.of_mut(slot).free_at = now;
    }

    /// What happened to the connections.
    pub(super) fn counts(&self) -> &ConnectionCounts {
        &self.counts
    }

    /// The same, taken out.
    pub(super) fn into_counts(self) -> ConnectionCounts {
        self.counts
    }

    /// Counts a failure for the report.
    pub(super) fn note(&mut self, failure: Failure) {
        self.counts.note(failure, 1);
    }

    /// Keeps what was wrong with the first response that broke the rules.
    pub(super) fn note_fault(&mut self, detail: Option<String>) {
        if self.counts.protocol_error.is_none() {
            self.counts.protocol_error = detail;
        }
    }

    /// Attempts that failed, and connections that were lost before the run.
    pub(super) fn failed(&self) -> u64 {
        self.counts.failed_attempts + self.lost
    }

    /// The run begins: how many connections there are, and what closes from now on counts.
    pub(super) fn begin_run(&mut self) {
        (self.counts.closed_by_server, self.counts.closed_by_us, self.counts.closed_as_asked) = (0, 0, 0);
    }

    /// The connections that were had when the connect phase was over.
    pub(super) fn set_had(&mut self) -> u64 {
        self.counts.had = self.open.into();
        self.counts.had
    }
}

/// Making connections.
impl Pool {
    /// Whether a slot wants a handshake.
    pub(super) fn wants_handshake(&self) -> bool {
        !self.to_connect.is_empty()
    }

    /// The slot whose handshake is next.
    pub(super) fn next_to_connect(&mut self) -> Option<Slot> {
        self.to_connect.pop_front()
    }

    /// A closed slot is to be connected.
    pub(super) fn queue_connect(&mut self, slot: Slot) {
        self.to_connect.push_back(slot);
    }

    /// An attempt begins.
    pub(super) fn connect(&mut self, slot: Slot, now: Nanos) {
        self.connecting += 1;
        let connection = self.of_mut(slot);
        (connection.state, connection.has_served, connection.free_at) = (State::Connecting, false, now);
    }

    /// The transport has connected, and the server's first word is awaited.
    pub(super) fn greet(&mut self, slot: Slot) {
        self.of_mut(slot).state = State::Greeting;
    }

    /// The connection stands and takes requests.
    pub(super) fn opened(&mut self, slot: Slot, now: Nanos) {
        self.connecting -= 1;
        self.open += 1;
        self.counts.made += 1;
        let left = self.carries;
        let connection = self.of_mut(slot);
        (connection.state, connection.left) = (State::Open, left);
        connection.connecting_took = now.since(connection.free_at);
        connection.probe_at = now + PROBE_EVERY;
        connection.free_at = now;
    }

    /// How long connecting took.
    pub(super) fn connecting_took(&self, slot: Slot) -> Nanos {
        self.of(slot).connecting_took
    }

    /// An attempt ended without a connection.
    pub(super) fn attempt_ended(&mut self, slot: Slot) {
        self.connecting -= 1;
        self.of_mut(slot).state = State::Closed;
    }

    /// An attempt failed.
    pub(super) fn attempt_failed(&mut self, failure: Failure) {
        self.counts.failed_attempts += 1;
        self.note(failure);
    }

    /// How long to pause after a failure; it grows with the failures in a row.
    pub(super) fn pause(&mut self, slot: Slot) -> Nanos {
        let connection = self.of_mut(slot);
        let pause = Nanos(PAUSE_LEAST.0 << connection.failed_attempts.min(10)).min(PAUSE_MOST);
        connection.failed_attempts = connection.failed_attempts.saturating_add(1);
        pause
    }

    /// The shortest pause.
    pub(super) fn shortest_pause() -> Nanos {
        PAUSE_LEAST
    }

    /// A connection that stood is closed. Returns until when it was to rest, if it was.
    pub(super) fn closed(&mut self, slot: Slot, by: ClosedBy) -> Option<Nanos> {
        self.open -= 1;
        match by {
            ClosedBy::Server => self.counts.closed_by_server += 1,
            ClosedBy::Us => self.counts.closed_by_us += 1,
            ClosedBy::Plan => self.counts.closed_as_asked += 1,
        }
        let connection = self.of_mut(slot);
        let was = std::mem::replace(&mut connection.state, State::Closed);
        (was == State::Thinking).then_some(connection.free_at)
    }

    /// A connection failed before the run began: a server that breaks connections before anything is asked of it has
    /// not let us in.
    pub(super) fn lost_early(&mut self, failure: Failure) {
        match failure {
            Failure::Tls(_) => self.counts.failed_attempts += 1,
            _ => self.lost += 1,
        }
    }
}

/// The line of free connections, and the life of each.
impl Pool {
    /// Puts a connection at the end of the line of free ones.
    #[inline]
    pub(super) fn stand_in_line(&mut self, slot: Slot) {
        let connection = &mut self.connections[slot as usize];
        if !connection.in_line {
            connection.in_line = true;
            self.line.push_back(slot);
        }
    }

    /// Takes a connection off the line. It may not be free any more.
    #[inline]
    pub(super) fn leave_line(&mut self) -> Option<Slot> {
        let slot = self.line.pop_front()?;
        self.of_mut(slot).in_line = false;
        Some(slot)
    }

    /// Whether a connection stands in line.
    #[inline]
    pub(super) fn is_in_line(&self, slot: Slot) -> bool {
        self.of(slot).in_line
    }

    /// How many stand in line.
    pub(super) fn line_length(&self) -> usize {
        self.line.len()
    }

    /// Those that stand in line.
    pub(super) fn line(&self) -> impl Iterator<Item = Slot> {
        self.line.iter().copied()
    }

    /// Whether connections are kept as long as the server keeps them, and never rest.
    #[inline]
    pub(super) fn has_plain_life(&self) -> bool {
        self.plain_life
    }

    /// How many more requests a connection may be sent.
    pub(super) fn allowance(&self, slot: Slot) -> u64 {
        self.of(slot).left.into()
    }

    /// Whether it is time to look whether the server has said more than it was asked for; if so, notes that it is done.
    #[inline]
    pub(super) fn probe(&mut self, slot: Slot, now: Nanos) -> bool {
        let connection = self.of_mut(slot);
        let is_due = now >= connection.probe_at;
        if is_due {
            connection.probe_at = now + PROBE_EVERY;
        }
        is_due
    }

    /// Some requests were sent: if the connection may carry no more, they are its last.
    #[cold]
    pub(super) fn spend(&mut self, slot: Slot, requests: u16) {
        let connection = self.of_mut(slot);
        connection.left = connection.left.saturating_sub(requests.into());
        if connection.left == 0 {
            connection.state = State::Last;
        }
    }

    /// An answer came.
    #[inline]
    pub(super) fn served(&mut self, slot: Slot) {
        let connection = self.of_mut(slot);
        connection.failed_attempts = 0;
        connection.has_served = true;
    }

    /// Whether an answer has come on this connection.
    pub(super) fn has_served(&self, slot: Slot) -> bool {
        self.of(slot).has_served
    }

    /// Its socket has no room for a request.
    pub(super) fn fill(&mut self, slot: Slot, at: Nanos) {
        let connection = self.of_mut(slot);
        (connection.state, connection.free_at) = (State::Full, at);
    }

    /// Its socket has room again.
    pub(super) fn unfill(&mut self, slot: Slot) {
        let connection = self.of_mut(slot);
        if connection.state == State::Full {
            connection.state = State::Open;
        }
    }

    /// Lays a connection at rest, if rests are asked for; until when.
    pub(super) fn rest(&mut self, slot: Slot, now: Nanos) -> Option<Nanos> {
        let until = now + self.random.draw_think(self.think?);
        let connection = self.of_mut(slot);
        (connection.state, connection.free_at) = (State::Thinking, until);
        Some(until)
    }

    /// A rest is over; unless the connection was made again and rests again. Whether it is free now.
    pub(super) fn wake(&mut self, slot: Slot, now: Nanos) -> bool {
        let connection = self.of_mut(slot);
        let rested = connection.state == State::Thinking && connection.free_at <= now;
        if rested {
            connection.state = State::Open;
        }
        rested
    }
}

/// Alarms and turns.
impl Pool {
    /// Notes that a deadline alarm is set; false if one was.
    #[inline]
    pub(super) fn set_deadline(&mut self, slot: Slot) -> bool {
        !std::mem::replace(&mut self.of_mut(slot).deadline_set, true)
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

    /// Has the rest of what has come for a slot read after others had their turn.
    #[cold]
    pub(super) fn read_later(&mut self, slot: Slot, hangup: bool) {
        let connection = self.of_mut(slot);
        connection.hung_up |= hangup;
        if !std::mem::replace(&mut connection.in_again, true) {
            self.again.push_back(slot);
            debug_assert!(self.again.len() <= self.connections.len());
        }
    }

    /// Whether a slot waits for its turn to be read from; if so, notes that the server hung up meanwhile.
    #[inline]
    pub(super) fn waits_for_turn(&mut self, slot: Slot, hangup: bool) -> bool {
        let connection = self.of_mut(slot);
        if connection.in_again {
            connection.hung_up |= hangup;
        }
        connection.in_again
    }

    /// Slots to be read from again.
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
        assert!(size_of::<Connection>() <= 56, "a connection takes {} bytes", size_of::<Connection>());
    }

    #[test]
    fn no_worker_thinks_as_another_does() {
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
