//! Have a connection: making, closing and remaking them, with a cap on handshakes under way and a growing pause after
//! failures.
//!
//! The loop calls it for slots that want a connection, got one, or waited too long for it; whoever finds a connection
//! broken or used up ends it by [`Worker::disconnect`]. The handshake itself, TLS included, is the transport's.

use super::connection::State;
use super::inspect::Body;
use super::send::coarse;
use super::worker::Worker;
use crate::outcome::Failure;
use crate::timers::Alarm;
use crate::tls::{TlsError, TlsFault};
use crate::{Clock, Ending, Nanos, Progress, Slot, Transport};
use std::io;

/// Handshakes under way at once before the run, over all workers: below the listen backlog of every common server (128 is
/// Linux's old default), so that connecting does not overrun it. In the run every connection is its own client, and so
/// many are begun between two looks at everything else.
const HANDSHAKES_MOST: u32 = 64;
/// Pause after the first failure in a row; it doubles up to [`PAUSE_MOST`].
const PAUSE_LEAST: Nanos = Nanos::from_millis(1);
/// Alarms for attempts to connect ring on this grid: those of thousands of connections together.
const CONNECT_GRID: Nanos = Nanos::from_millis(100);
/// Longest pause between attempts.
const PAUSE_MOST: Nanos = Nanos::from_secs(1);

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

impl<C: Clock, T: Transport> Worker<'_, C, T> {
    /// Starts handshakes for slots that want one: before the run as far as the cap allows, in it some of them each turn.
    pub(super) fn keep_connecting(&mut self) {
        if self.timeline.is_some() {
            for _ in 0..HANDSHAKES_MOST {
                let Some(slot) = self.to_connect.pop_front() else { return };
                self.start_connecting(slot, self.clock.now());
            }
            return;
        }
        while self.connecting < (HANDSHAKES_MOST / self.settings.threads).max(1) {
            let Some(slot) = self.to_connect.pop_front() else { return };
            self.start_connecting(slot, self.clock.now());
        }
    }

    fn start_connecting(&mut self, slot: Slot, now: Nanos) {
        self.connecting += 1;
        let connection = &mut self.connections[slot as usize];
        connection.state = State::Connecting;
        connection.has_served = false;
        connection.free_at = now;
        match self.transport.connect(slot) {
            Ok(Progress::Pending) => self.limit_attempt(slot, now),
            Ok(Progress::Done) => self.connected(slot),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.queue_outside(slot, now),
            Err(error) => self.attempt_failed(slot, Failure::of(&error), now),
        }
    }

    /// Has the slot looked at when an attempt that began at `since` has taken too long; one alarm at a time suffices.
    fn limit_attempt(&mut self, slot: Slot, since: Nanos) {
        if !std::mem::replace(&mut self.connections[slot as usize].limit_set, true) {
            let limit = coarse(since + self.settings.job.connect_timeout, CONNECT_GRID);
            self.timers.set(limit, slot, Alarm::ConnectLimit);
        }
    }

    /// The server has too many connections to accept, and no event tells when it has fewer, as with a unix socket. That
    /// is no failure: over TCP the handshake would wait.
    fn queue_outside(&mut self, slot: Slot, now: Nanos) {
        self.connecting -= 1;
        self.transport.close(slot);
        self.connections[slot as usize].state = State::Closed;
        self.timers.set(now + PAUSE_LEAST, slot, Alarm::Reconnect);
    }

    /// A slot that was connecting is ready for something: it is connected, or it failed.
    pub(super) fn check_connecting(&mut self, slot: Slot) {
        match self.transport.finish_connect(slot) {
            Ok(Progress::Pending) => {}
            Ok(Progress::Done) => self.connected(slot),
            Err(error) => {
                let now = self.clock.now();
                self.attempt_failed(slot, Failure::of(&error), now);
            }
        }
    }

    fn connected(&mut self, slot: Slot) {
        let now = self.clock.now();
        self.connecting -= 1;
        self.open += 1;
        self.counts.made += 1;
        let connection = &mut self.connections[slot as usize];
        connection.state = State::Open;
        let began = self.transport.handshake_began(slot);
        let took = began.unwrap_or(now).since(connection.free_at);
        connection.left = self.settings.job.requests_per_connection_max();
        connection.began = now.since(connection.free_at);
        connection.free_at = now;
        self.recorder.connected(took, began.map(|began| now.since(began)), now);
        self.last_progress = now;
        self.stand_in_line(slot);
    }

    /// An attempt to connect failed. If a request is due and has no connection, the attempt was made for it and the
    /// request fails with it.
    pub(super) fn attempt_failed(&mut self, slot: Slot, failure: Failure, now: Nanos) {
        self.connecting -= 1;
        self.counts.failed_attempts += 1;
        self.note(failure);
        self.transport.close(slot);
        if let (Some(due), true) = (self.schedule.due(now), self.line_is_empty()) {
            self.schedule.take(1);
            // A closed loop's request has waited as long as the attempt that was made for it.
            let began = self.connections[slot as usize].free_at;
            let since = if self.schedule.is_open() { due } else { began };
            self.recorder.never_sent(due, since, self.outgoing.skip(), Ending::ConnectFailed, now);
        }
        self.pause(slot, now, now);
    }

    /// The limit of an attempt to connect may be over.
    pub(super) fn check_connect_limit(&mut self, slot: Slot, now: Nanos) {
        let connection = &mut self.connections[slot as usize];
        connection.limit_set = false;
        if connection.state != State::Connecting {
            return;
        }
        let began = connection.free_at;
        if now.since(began) < self.settings.job.connect_timeout {
            self.limit_attempt(slot, began);
        } else {
            let stands = self.transport.handshake_began(slot).is_some();
            let failure = if stands { Failure::Tls(TlsFault::TooSlow) } else { Failure::ConnectLimit };
            self.attempt_failed(slot, failure, now);
        }
    }

    /// Closes the slot and tries again after a pause that grows with the failures in a row, `rested` at the earliest.
    fn pause(&mut self, slot: Slot, rested: Nanos, now: Nanos) {
        let connection = &mut self.connections[slot as usize];
        connection.state = State::Closed;
        let pause = Nanos(PAUSE_LEAST.0 << connection.failed_attempts.min(10)).min(PAUSE_MOST);
        connection.failed_attempts = connection.failed_attempts.saturating_add(1);
        self.timers.set(rested.max(now + pause), slot, Alarm::Reconnect);
    }

    /// A pause is over.
    pub(super) fn reconnect(&mut self, slot: Slot) {
        if self.connections[slot as usize].state == State::Closed && self.wants_connections() {
            self.to_connect.push_back(slot);
        }
    }

    /// Ends an open connection. Requests outstanding on it end as `io_failed`. It is remade at once if nothing went
    /// wrong, after a pause otherwise; if it was at rest, not before that is over.
    pub(super) fn disconnect(&mut self, slot: Slot, by: ClosedBy, failure: Option<Failure>, now: Nanos) {
        self.transport.close(slot);
        self.last_progress = now;
        self.open -= 1;
        match by {
            ClosedBy::Server => self.counts.closed_by_server += 1,
            ClosedBy::Us => self.counts.closed_by_us += 1,
            ClosedBy::Plan => self.counts.closed_as_asked += 1,
        }
        if self.connections[slot as usize].outstanding > 0 && failure.is_none() && by == ClosedBy::Server {
            // Its right, and no reason to wait before it is asked anew: they were sent ahead at our own risk.
            self.note(Failure::ClosedBehind);
        }
        self.fail_outstanding(slot, now);
        let connection = &mut self.connections[slot as usize];
        let rested = if connection.state == State::Thinking { connection.free_at } else { now };
        connection.state = State::Closed;
        if std::mem::take(&mut connection.unsent_bytes) > 0 {
            self.outgoing.forget_tail(slot);
        }
        connection.body = Body::default();
        connection.decoder.reset();
        match failure {
            Some(failure) => {
                // A server that breaks connections before anything is asked of it has not let us in.
                match failure {
                    _ if self.timeline.is_some() => {}
                    Failure::Tls(_) => self.counts.failed_attempts += 1,
                    _ => self.lost += 1,
                }
                self.note(failure);
                self.pause(slot, rested, now);
            }
            None if !self.wants_connections() => {}
            None if rested > now => self.timers.set(rested, slot, Alarm::Reconnect),
            None => self.to_connect.push_back(slot),
        }
    }

    fn fail_outstanding(&mut self, slot: Slot, now: Nanos) {
        while let Some(sent) = self.take_oldest(slot) {
            self.recorder.abandoned(&sent, Ending::IoFailed, now);
        }
    }

    /// Whether anything will still be sent: in the drain of a run whose schedule is empty nothing will.
    fn wants_connections(&self) -> bool {
        self.timeline.is_none() || self.schedule.next_due(self.clock.now()) != Nanos::NEVER
    }
}

impl Failure {
    /// What the network said.
    pub(super) fn of(error: &io::Error) -> Self {
        match (TlsError::within(error), error.raw_os_error()) {
            (Some(error), _) => Failure::Tls(error.fault),
            (None, Some(number)) => Failure::Os(number),
            (None, None) => Failure::Closed,
        }
    }
}

#[cfg(test)]
mod tests {
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
        let worker = drive(&settings, Prompt, &clock, Nanos::NEVER, &mut recorder, &NoObserver).unwrap();
        assert_eq!(worker.counts.made, 3_000);
        // For each connection: the limit of an attempt, and a deadline.
        assert_eq!(worker.timers.count(), 6);
    }
}
