//! The connections of a pool: the state of each socket, and what it may still carry.
//!
//! There may be a hundred thousand, so the state of each is small (a test checks its size).

use super::turns::Turn;
use crate::{Nanos, Random, Settings, Slot, Think};

/// The interval at which a connection of a closed loop is probed before a send: one more receive, once a second.
const PROBE_EVERY: Nanos = Nanos::from_secs(1);
/// Separates the random stream of think times from other uses of the seed.
const STREAM: u64 = 0x7468_696E_6B73;

/// The state of a connection, with the moment that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::hot) enum ConnectionState {
    /// No socket; no attempt is under way, or an alarm will start one.
    Closed,
    /// The transport is connecting.
    Connecting { since: Nanos },
    /// The transport has connected, and the protocol waits for the server's first bytes.
    Greeting { since: Nanos },
    /// The last request that it may carry has been sent.
    Last,
    /// Not needed any more: it ends when its requests are answered and its sessions are over.
    Retiring { free_at: Nanos },
    /// In the think time before the next request.
    Thinking { until: Nanos },
    /// Its socket had no room for a request; an event will report room.
    Full { since: Nanos },
    /// Ready for requests; the moment when it last became free for one.
    Open { free_at: Nanos },
}

impl ConnectionState {
    /// Whether the transport has connected.
    #[inline]
    pub(in crate::hot) fn is_made(self) -> bool {
        !matches!(self, Self::Closed | Self::Connecting { .. })
    }

    /// Whether the protocol has begun too.
    #[inline]
    pub(in crate::hot) fn is_ready(self) -> bool {
        self.is_made() && !matches!(self, Self::Greeting { .. })
    }

    /// The beginning of the attempt to connect that is under way.
    pub(in crate::hot) fn attempt_since(self) -> Option<Nanos> {
        match self {
            Self::Connecting { since } | Self::Greeting { since } => Some(since),
            Self::Closed
            | Self::Last
            | Self::Retiring { .. }
            | Self::Thinking { .. }
            | Self::Full { .. }
            | Self::Open { .. } => None,
        }
    }

    /// When a connection with this state became free, if it takes requests as soon as it can.
    #[inline]
    fn free_at(self) -> Nanos {
        match self {
            Self::Retiring { free_at: at }
            | Self::Thinking { until: at }
            | Self::Full { since: at }
            | Self::Open { free_at: at } => at,
            Self::Closed | Self::Connecting { .. } | Self::Greeting { .. } | Self::Last => Nanos::ZERO,
        }
    }
}

/// One connection.
#[derive(Clone, Debug)]
struct Connection {
    state: ConnectionState,
    /// When to probe next for bytes that no request asked for.
    probe_at: Nanos,
    /// The number of requests that may still be sent on it.
    left: u32,
    /// Whether a response has been completed on the connection: one that closes before that does not count as idle.
    has_served: bool,
    /// Whether a deadline alarm is set; one at a time suffices: it is set again if it rings early. It outlives the
    /// connection.
    deadline_set: bool,
    /// Its place among those that wait for a turn.
    turn: Turn,
}

/// All connections of a worker.
#[derive(Debug)]
pub(in crate::hot) struct Connections {
    all: Vec<Connection>,
    /// The number of requests that a connection may carry.
    carries: u32,
    /// The pause between a response and the next request of its connection.
    think: Option<Think>,
    /// Whether connections are kept as long as the server keeps them, and have no think time, no streams and no bodies
    /// that follow later.
    plain_life: bool,
    /// The source of think times.
    random: Random,
}

/// A worker's own sequence of think times: separated from those of others by a random distance, among 2^64 starting
/// points.
fn thinking(seed: u64, worker: u32) -> Random {
    let mut seeds = Random::new(seed ^ STREAM);
    (0..worker).for_each(|_| _ = seeds.next_u64());
    Random::new(seeds.next_u64())
}

impl Connections {
    /// Connections that are still to be made.
    pub(super) fn new(settings: &Settings, worker: u32, count: u32) -> Self {
        let connection = Connection {
            state: ConnectionState::Closed,
            probe_at: Nanos::ZERO,
            left: u32::MAX,
            has_served: false,
            deadline_set: false,
            turn: Turn::default(),
        };
        Self {
            all: vec![connection; count as usize],
            carries: settings.job.requests_per_connection_max(),
            think: settings.job.think,
            plain_life: settings.job.has_plain_connections()
                && !settings.requests.have_streams()
                && !settings.requests.have_uploads(),
            random: thinking(settings.seed, worker),
        }
    }

    #[inline]
    fn connection(&self, slot: Slot) -> &Connection {
        &self.all[slot as usize]
    }

    #[inline]
    fn of_mut(&mut self, slot: Slot) -> &mut Connection {
        &mut self.all[slot as usize]
    }

    /// The number of slots for connections.
    pub(super) fn count(&self) -> u32 {
        self.all.len() as u32
    }

    /// The state of a connection.
    #[inline]
    pub(super) fn state(&self, slot: Slot) -> ConnectionState {
        self.connection(slot).state
    }

    /// Its place among those that wait for a turn. It outlives the connection.
    #[inline]
    pub(super) fn turn(&self, slot: Slot) -> Turn {
        self.connection(slot).turn
    }

    /// That place, to be changed.
    #[inline]
    pub(super) fn turn_mut(&mut self, slot: Slot) -> &mut Turn {
        &mut self.of_mut(slot).turn
    }

    /// Begins an attempt.
    pub(super) fn connect(&mut self, slot: Slot, now: Nanos) {
        let connection = self.of_mut(slot);
        (connection.state, connection.has_served) = (ConnectionState::Connecting { since: now }, false);
    }

    /// The connection is open and takes requests. Returns when the attempt began.
    pub(super) fn opened(&mut self, slot: Slot, now: Nanos) -> Nanos {
        let left = self.carries;
        let connection = self.of_mut(slot);
        let since = connection.state.attempt_since().unwrap_or(now);
        (connection.state, connection.left) = (ConnectionState::Open { free_at: now }, left);
        connection.probe_at = now + PROBE_EVERY;
        since
    }

    /// A connection or an attempt has ended; returns its last state.
    pub(super) fn closed(&mut self, slot: Slot) -> ConnectionState {
        std::mem::replace(&mut self.of_mut(slot).state, ConnectionState::Closed)
    }

    /// A response was received; whether it is the first of the connection.
    #[inline]
    pub(super) fn served(&mut self, slot: Slot) -> bool {
        let connection = self.of_mut(slot);
        let is_first = !connection.has_served;
        if is_first {
            connection.has_served = true;
        }
        is_first
    }
}

/// What happens to a connection, as the traffic sees it.
impl Connections {
    /// When it last became free for a request.
    #[inline]
    pub(in crate::hot) fn free_at(&self, slot: Slot) -> Nanos {
        self.connection(slot).state.free_at()
    }

    /// Sets when it became free for a request.
    #[inline]
    pub(in crate::hot) fn set_free_at(&mut self, slot: Slot, now: Nanos) {
        if let ConnectionState::Open { free_at } | ConnectionState::Retiring { free_at } =
            &mut self.of_mut(slot).state
        {
            *free_at = now;
        }
    }

    /// The transport has connected; the server's first bytes are awaited.
    pub(in crate::hot) fn greet(&mut self, slot: Slot) {
        let state = &mut self.of_mut(slot).state;
        if let Some(since) = state.attempt_since() {
            *state = ConnectionState::Greeting { since };
        }
    }

    /// Whether connections are kept as long as the server keeps them, and have no think time.
    #[inline]
    pub(in crate::hot) fn have_plain_life(&self) -> bool {
        self.plain_life
    }

    /// Whether a response was received on this connection.
    pub(in crate::hot) fn has_served(&self, slot: Slot) -> bool {
        self.connection(slot).has_served
    }

    /// The number of requests that may still be sent on a connection.
    pub(in crate::hot) fn allowance(&self, slot: Slot) -> u64 {
        self.connection(slot).left.into()
    }

    /// Counts requests sent: if the connection may carry no more, they are its last.
    #[cold]
    pub(in crate::hot) fn spend(&mut self, slot: Slot, requests: u16) {
        let connection = self.of_mut(slot);
        connection.left = connection.left.saturating_sub(requests.into());
        if connection.left == 0 {
            connection.state = ConnectionState::Last;
        }
    }

    /// Whether it is time to probe for bytes that no request asked for; if so, notes the probe as done. Before the
    /// first response there is nothing to probe for: bytes before a request are a separate event of the socket.
    #[inline]
    pub(in crate::hot) fn probe(&mut self, slot: Slot, now: Nanos) -> bool {
        let connection = self.of_mut(slot);
        let is_due = now >= connection.probe_at;
        if is_due {
            connection.probe_at = now + PROBE_EVERY;
        }
        is_due && connection.has_served
    }

    /// Its socket has no room for a request.
    pub(in crate::hot) fn fill(&mut self, slot: Slot, at: Nanos) {
        self.of_mut(slot).state = ConnectionState::Full { since: at };
    }

    /// Its socket has room again.
    pub(in crate::hot) fn unfill(&mut self, slot: Slot) {
        let state = &mut self.of_mut(slot).state;
        if let ConnectionState::Full { since } = *state {
            *state = ConnectionState::Open { free_at: since };
        }
    }

    /// Starts the think time of a connection, if one is configured; returns its end.
    pub(in crate::hot) fn rest(&mut self, slot: Slot, now: Nanos) -> Option<Nanos> {
        let until = now + self.random.draw_think(self.think?);
        self.rest_until(slot, until);
        Some(until)
    }

    /// Starts a pause of a connection.
    pub(in crate::hot) fn rest_until(&mut self, slot: Slot, until: Nanos) {
        self.of_mut(slot).state = ConnectionState::Thinking { until };
    }

    /// Ends a think time, unless the connection was made again and is thinking again. Returns whether it is free now.
    pub(in crate::hot) fn wake(&mut self, slot: Slot, now: Nanos) -> bool {
        let state = &mut self.of_mut(slot).state;
        match *state {
            ConnectionState::Thinking { until } if until <= now => {
                *state = ConnectionState::Open { free_at: until };
                true
            }
            _ => false,
        }
    }

    /// An open connection is not needed any more: it takes no further requests.
    pub(in crate::hot) fn retire(&mut self, slot: Slot) {
        let state = &mut self.of_mut(slot).state;
        *state = ConnectionState::Retiring { free_at: state.free_at() };
    }

    /// A connection that was retiring is needed again.
    pub(in crate::hot) fn resume(&mut self, slot: Slot) {
        let state = &mut self.of_mut(slot).state;
        *state = ConnectionState::Open { free_at: state.free_at() };
    }

    /// Notes that a deadline alarm is set; false if one was.
    #[inline]
    pub(in crate::hot) fn set_deadline(&mut self, slot: Slot) -> bool {
        !std::mem::replace(&mut self.of_mut(slot).deadline_set, true)
    }

    /// Whether a deadline alarm is set.
    pub(in crate::hot) fn has_deadline(&self, slot: Slot) -> bool {
        self.connection(slot).deadline_set
    }

    /// The deadline alarm has rung.
    pub(in crate::hot) fn deadline_rang(&mut self, slot: Slot) {
        self.of_mut(slot).deadline_set = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_hundred_thousand_connections_fit() {
        // Two in a cache line.
        assert!(size_of::<Connection>() <= 32, "a connection takes {} bytes", size_of::<Connection>());
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
