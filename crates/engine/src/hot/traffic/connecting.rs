//! Makes and ends connections: from the first attempt, over the handshakes and pauses, to the close.
//!
//! An attempt that fails may end the request that it was made for; a connection that closes ends those outstanding on
//! it. The pool has the slots that need a connection; the alarms limit the time of an attempt.

use super::Traffic;
use super::timer_events::coarse;
use crate::hot::exchange::ExchangeIndex;
use crate::hot::pool::{ClosedBy, ConnectionState, MIN_PAUSE};
use crate::hot::protocol::ProtocolHandler;
use crate::hot::scenario::Scenario;
use crate::outcome::ConnectionFailure;
use crate::timers::TimerKind;
use crate::tls::{TlsError, TlsFault};
use crate::{Clock, Ending, IoProgress, Nanos, Slot, Transport};
use std::io;

/// The maximum number of handshakes under way at once before the run, over all workers: below the listen backlog of
/// every common server (128 is Linux's old default), so that connecting does not overrun it. In the run every
/// connection is its own client, and this many are begun in each turn of the loop.
const MAX_HANDSHAKES: u32 = 64;
/// Alarms for attempts to connect ring on this grid: those of thousands of connections together.
const CONNECT_GRID: Nanos = Nanos::from_millis(100);

impl<C: Clock, T: Transport, P: ProtocolHandler> Traffic<'_, C, T, P> {
    /// Starts handshakes for slots that need one: before the run as far as the cap allows, during it some of them each
    /// turn.
    pub(in crate::hot) fn keep_connecting(&mut self) {
        if self.running {
            for _ in 0..MAX_HANDSHAKES {
                let Some(slot) = self.pool.next_to_connect() else { return };
                if self.is_needed(slot) {
                    self.start_connecting(slot, self.clock.now());
                }
            }
            return;
        }
        while self.pool.handshakes.under_way() < (MAX_HANDSHAKES / self.settings.threads).max(1) {
            let Some(slot) = self.pool.next_to_connect() else { return };
            self.start_connecting(slot, self.clock.now());
        }
    }

    fn start_connecting(&mut self, slot: Slot, now: Nanos) {
        self.pool.connect(slot, now);
        if let Some(address) = self.tracker.addresses_mut().choose(slot) {
            self.transport.aim(slot, address);
        }
        match self.transport.connect(slot) {
            Ok(IoProgress::Pending) => self.limit_attempt(slot, now),
            Ok(IoProgress::Done) => self.open(slot, now),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.queue_outside(slot, now),
            Err(error) => self.attempt_failed(slot, ConnectionFailure::from_error(&error), now),
        }
    }

    /// Sets an alarm to check whether an attempt that began at `since` has taken too long; one alarm at a time
    /// suffices.
    fn limit_attempt(&mut self, slot: Slot, since: Nanos) {
        if self.pool.handshakes.set_limit(slot) {
            let limit = coarse(since + self.settings.job.connect_timeout, CONNECT_GRID);
            self.timers.set(limit, slot, TimerKind::ConnectLimit);
        }
    }

    /// The server has too many connections to accept, and no event reports when it has fewer, as with a unix socket.
    /// This is not a failure: over TCP the handshake would wait.
    fn queue_outside(&mut self, slot: Slot, now: Nanos) {
        self.pool.attempt_ended(slot);
        self.tracker.addresses_mut().attempt_ended(slot, None);
        self.transport.close(slot);
        self.timers.set(now + MIN_PAUSE, slot, TimerKind::Reconnect);
    }

    /// Handles an event of a slot that was connecting: it is connected, or it failed.
    pub(super) fn check_connecting(&mut self, slot: Slot) {
        let now = self.clock.now();
        match self.transport.finish_connect(slot) {
            Ok(IoProgress::Pending) => {}
            Ok(IoProgress::Done) => self.open(slot, now),
            Err(error) => self.attempt_failed(slot, ConnectionFailure::from_error(&error), now),
        }
    }

    /// The transport has connected: sends the first bytes of the protocol.
    fn open(&mut self, slot: Slot, began: Nanos) {
        match self.protocol.open(slot, began, &mut self.transport) {
            Ok(IoProgress::Done) => self.connected(slot),
            Ok(IoProgress::Pending) => {
                self.pool.connections.greet(slot);
                // Before the run there is no request to send early.
                match self.running && self.protocol.begin_early(slot, &mut self.transport) {
                    true => self.connected(slot),
                    false => self.limit_attempt(slot, began),
                }
            }
            Err(error) => self.attempt_failed(slot, ConnectionFailure::from_error(&error), began),
        }
    }

    pub(super) fn connected(&mut self, slot: Slot) {
        let now = self.clock.now();
        let since = self.pool.opened(slot, now);
        self.tracker.addresses_mut().made(slot);
        let began = self.transport.handshake_began(slot).or(self.protocol.handshake_began(slot));
        let took = began.unwrap_or(now).since(since);
        self.tracker.recorder().connected(took, began.map(|began| now.since(began)), now);
        self.last_progress = now;
        self.count_open(now);
        self.set_free(slot, now);
        if !self.pool.is_active(slot) {
            self.retire(slot, now);
        }
        self.send_steps(slot, now);
        self.pool.push_free(slot);
    }

    /// An attempt to connect failed. If a request is due and has no connection, the attempt was made for it and the
    /// request fails with it.
    pub(super) fn attempt_failed(&mut self, slot: Slot, failure: ConnectionFailure, now: Nanos) {
        let state = self.pool.attempt_ended(slot);
        let greeted = matches!(state, ConnectionState::Greeting { .. });
        self.pool.attempt_failed(failure);
        self.tracker.addresses_mut().attempt_ended(slot, Some(failure));
        if greeted {
            self.protocol.say_goodbye(slot, now, &mut self.transport);
        }
        self.transport.close(slot);
        if greeted {
            self.protocol.close(slot);
        }
        if self.protocol.scenario().next_step(slot) <= now {
            self.give_up_due_steps(slot, now);
        } else if self.pool.is_active(slot)
            && self.tracker.schedule().due(now).is_some()
            && self.line_is_empty()
        {
            // A closed loop's request has waited as long as the attempt that was made for it.
            let since = state.attempt_since().filter(|_| !self.tracker.schedule().is_open());
            self.tracker.connect_failed(self.protocol.skip(), since, now);
        }
        self.pause(slot, now, now);
    }

    /// Checks whether the limit of an attempt to connect was reached.
    pub(super) fn check_connect_limit(&mut self, slot: Slot, now: Nanos) {
        self.pool.handshakes.limit_rang(slot);
        let state = self.pool.state(slot);
        let Some(began) = state.attempt_since() else { return };
        if now.since(began) < self.settings.job.connect_timeout {
            return self.limit_attempt(slot, began);
        }
        let in_handshake = self.transport.handshake_began(slot).is_some();
        let failure = match state {
            ConnectionState::Greeting { .. } => self.protocol.slow_to_begin(slot),
            _ if self.transport.awaits_tunnel(slot) => ConnectionFailure::Tls(TlsFault::SilentProxy),
            _ if in_handshake => ConnectionFailure::Tls(TlsFault::TooSlow),
            _ => ConnectionFailure::ConnectLimit,
        };
        self.attempt_failed(slot, failure, now);
    }

    /// Tries again after a pause that grows with the number of failures in sequence, at `rested` at the earliest.
    fn pause(&mut self, slot: Slot, rested: Nanos, now: Nanos) {
        let pause = self.pool.handshakes.pause(slot);
        self.timers.set(rested.max(now + pause), slot, TimerKind::Reconnect);
    }

    /// Connects again after a pause.
    pub(super) fn reconnect(&mut self, slot: Slot) {
        let is_closed = self.pool.state(slot) == ConnectionState::Closed;
        if is_closed && self.is_needed(slot) && self.wants_connections() {
            self.pool.handshakes.queue(slot);
        }
    }

    /// Whether any request will still be sent: not in the drain of a run whose schedule is empty.
    pub(super) fn wants_connections(&self) -> bool {
        let is_due_later = || self.tracker.schedule().next_due(self.clock.now()) != Nanos::NEVER;
        !self.running || self.open_sessions() > 0 || is_due_later()
    }

    /// Ends an open connection. Requests outstanding on it end as `io_failed`. It is remade at once if there was no
    /// failure, after a pause otherwise; if it was thinking, not before that ends.
    pub(super) fn disconnect(
        &mut self,
        slot: Slot,
        by: ClosedBy,
        failure: Option<ConnectionFailure>,
        now: Nanos,
    ) {
        self.protocol.say_goodbye(slot, now, &mut self.transport);
        self.transport.close(slot);
        self.last_progress = now;
        self.abandon_all(slot, Ending::IoFailed, now);
        let rested = self.pool.closed(slot, by).unwrap_or(now);
        self.tracker.connection_closed(slot, failure);
        self.protocol.close(slot);
        self.count_open(now);
        match failure {
            Some(failure) => {
                if !self.running {
                    self.pool.lost_early(failure);
                }
                self.pool.note(failure);
                self.pause(slot, rested, now);
            }
            None if !self.is_needed(slot) || !self.wants_connections() => {}
            None if rested > now => self.timers.set(rested, slot, TimerKind::Reconnect),
            None => self.pool.handshakes.queue(slot),
        }
    }

    /// Ends every exchange in flight on a connection without a response.
    pub(super) fn abandon_all(&mut self, slot: Slot, ending: Ending, now: Nanos) {
        if self.tracker.exchanges().live(slot) > 0 {
            for place in 0..self.tracker.exchanges().places() {
                self.abandon(slot, place, ending, now);
            }
        }
    }

    /// Ends the exchange at a place, if there is one, without a response. What came of a response is counted.
    pub(super) fn abandon(&mut self, slot: Slot, place: ExchangeIndex, ending: Ending, now: Nanos) {
        let bytes = self.protocol.take_uncounted(slot, place);
        self.tracker.received_in_part(slot, place, bytes);
        self.tracker.abandon(slot, place, ending, now);
    }
}
impl ConnectionFailure {
    /// The failure for a network error.
    pub(crate) fn from_error(error: &io::Error) -> Self {
        match (TlsError::within(error), error.raw_os_error()) {
            (Some(error), _) => ConnectionFailure::Tls(error.fault),
            (None, Some(number)) => ConnectionFailure::Os(number),
            (None, None) => Self::within(error).unwrap_or(ConnectionFailure::Closed),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::h1::Http1;
    use crate::hot::Recorder;
    use crate::sim::{Act, Connect, Script, Simulation, VirtualClock, response};
    use crate::{BodyCheck, Bound, Job, Nanos, NoObserver, Requests, ResponseCheck, Settings, Slot};
    use paceline_http::Method;
    use std::sync::Arc;

    /// Accepts after a millisecond and answers at once.
    struct PromptServer;

    impl Script for PromptServer {
        fn connect(&mut self, _: Slot, _: Nanos) -> Connect {
            Connect::Accept(Nanos::from_millis(1))
        }

        fn request(&mut self, _: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
            acts.push((now, Act::Send(response("ok"))));
        }
    }

    #[test]
    fn attempts_share_an_alarm() {
        let check = ResponseCheck { status: None, body: BodyCheck::Any };
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
        let simulation =
            Simulation { settings: &settings, clock: &clock, stop_at: Nanos::NEVER, observer: &NoObserver };
        let mut server = PromptServer;
        let worker = simulation.drive::<Http1>(&mut server, &mut recorder).unwrap();
        let (made, alarms) = worker.connections_and_alarms();
        assert_eq!(made, 3_000);
        // For each connection: the limit of an attempt, and a deadline.
        assert_eq!(alarms, 6);
    }
}
