//! Handles timers: deadlines of requests, limits of attempts to connect, pauses, think times, and the end of the drain.

use super::Traffic;
use crate::hot::exchange::ExchangeIndex;
use crate::hot::pool::{ClosedBy, ConnectionState};
use crate::hot::protocol::{CancelOutcome, ProtocolHandler};
use crate::hot::scenario::Scenario;
use crate::outcome::ConnectionFailure;
use crate::timers::TimerKind;
use crate::{Clock, Ending, Nanos, Slot, Transport};

impl<C: Clock, T: Transport, P: ProtocolHandler> Traffic<'_, C, T, P> {
    /// Handles the alarms that are due.
    #[inline]
    pub(in crate::hot) fn ring(&mut self, now: Nanos) {
        while let Some((slot, alarm)) = self.timers.due(now) {
            match alarm {
                TimerKind::Deadline => self.check_deadline(slot, now),
                TimerKind::ConnectLimit => self.check_connect_limit(slot, now),
                TimerKind::Reconnect => self.reconnect(slot),
                TimerKind::Step => {
                    self.protocol.scenario_mut().alarm_rang(slot);
                    self.send_steps(slot, now);
                }
                TimerKind::Stream => self.end_due_streams(slot, now),
                TimerKind::Body => self.continue_body(slot),
                TimerKind::Plan => self.follow_plan(now),
                TimerKind::Think => {
                    if self.pool.connections.wake(slot, now) {
                        self.pool.push_free(slot);
                    }
                }
            }
        }
        self.advance_protocol(now);
    }

    /// Sets an alarm to check the slot one timeout after `since`; one alarm at a time suffices.
    #[inline(always)]
    pub(super) fn set_deadline(&mut self, slot: Slot, since: Nanos) {
        if self.pool.connections.set_deadline(slot) {
            let at = coarse(since + self.settings.job.timeout, self.deadline_grid);
            self.timers.set(at, slot, TimerKind::Deadline);
        }
    }

    /// Checks whether a connection has waited for longer than the timeout: the requests that timed out end, and if the
    /// protocol cannot continue without their responses, the connection does too.
    fn check_deadline(&mut self, slot: Slot, now: Nanos) {
        self.pool.connections.deadline_rang(slot);
        if !self.pool.state(slot).is_ready() {
            // The alarm was for an earlier connection; the attempt at this one has its own limit.
            return;
        }
        let Some(since) = self.waits_since(slot) else { return };
        if since + self.settings.job.timeout > now {
            return self.set_deadline(slot, since);
        }
        if self.tracker.exchanges().live(slot) == 0 {
            return self.disconnect(slot, ClosedBy::Us, Some(ConnectionFailure::Unread), now);
        }
        let latest = now.since(self.settings.job.timeout);
        self.end_silent_streams(slot, latest, now);
        if !self.pool.state(slot).is_ready() {
            return;
        }
        let was_full = self.room(slot) == 0;
        let mut broken = None;
        for place in 0..self.tracker.exchanges().places() {
            if !self.tracker.has_waited_since(slot, place, latest) {
                continue;
            }
            let silent = self.tracker.is_in_stream(slot, place).then_some(ConnectionFailure::SilentStream);
            self.abandon(slot, place, Ending::TimedOut, now);
            let live = self.tracker.exchanges().live(slot);
            match self.protocol.cancel(slot, place, live, now, &mut self.transport) {
                CancelOutcome::Connection(failure) => broken = silent.or(broken).or(Some(failure)),
                CancelOutcome::Exchange => self.pool.note(silent.unwrap_or(ConnectionFailure::TimedOut)),
            }
        }
        self.last_progress = now;
        match broken {
            Some(failure) => {
                self.disconnect(slot, ClosedBy::Us, Some(failure), now);
                self.pool.handshakes.was_slow(slot);
            }
            None if self.is_used_up(slot) => self.disconnect(slot, ClosedBy::Plan, None, now),
            None => {
                self.keep(slot, was_full, now);
                if let Some(since) = self.waits_since(slot) {
                    self.set_deadline(slot, since);
                }
            }
        }
    }

    /// Since when a connection has waited for a response, or for the next event of a stream; if all are answered, for
    /// the server to read the rest of the sent bytes, or to make room for the next request.
    fn waits_since(&self, slot: Slot) -> Option<Nanos> {
        let full_since = match self.pool.state(slot) {
            ConnectionState::Full { since } => Some(since),
            _ => None,
        };
        self.tracker.waits_since(slot).or(self.protocol.unsent_since(slot)).or(full_since)
    }

    /// Sets the alarm to end the next stream of a connection; one alarm at a time suffices.
    pub(super) fn watch_streams(&mut self, slot: Slot) {
        if let Some(at) = self.tracker.take_stream_alarm(slot) {
            self.timers.set(at, slot, TimerKind::Stream);
        }
    }

    /// Ends the streams of a connection whose time is over.
    #[cold]
    fn end_due_streams(&mut self, slot: Slot, now: Nanos) {
        if self.tracker.is_stale_stream_alarm(slot, now) {
            return;
        }
        for place in 0..self.tracker.exchanges().places() {
            if !self.pool.state(slot).is_ready() {
                break;
            }
            if self.tracker.must_end_stream(slot, place, now) {
                self.end_stream(slot, place, now);
            }
        }
        self.tracker.stream_alarm_rang(slot);
        self.watch_streams(slot);
    }

    /// Ends the streams of a connection that have ended as asked, and whose responses have been silent since `latest`:
    /// the timeout may be shorter than the time that a server has to end them, and they have not timed out.
    fn end_silent_streams(&mut self, slot: Slot, latest: Nanos, now: Nanos) {
        for place in 0..self.tracker.exchanges().places() {
            if !self.pool.state(slot).is_ready() {
                break;
            }
            let is_silent = self.tracker.has_waited_since(slot, place, latest);
            if is_silent && self.tracker.has_ended_stream(slot, place, now) {
                self.end_stream(slot, place, now);
            }
        }
    }

    /// Ends the response at a place, whose stream has ended as asked.
    fn end_stream(&mut self, slot: Slot, place: ExchangeIndex, now: Nanos) {
        let was_full = self.tracker.schedule().is_open() && self.room(slot) == 0;
        let flow = self.protocol.end_stream(slot, place, now, &mut self.tracker, &mut self.transport);
        let answered = self.tracker.take_answered();
        self.last_progress = now;
        self.pool.served(slot);
        self.live_on(slot, Ok(flow), answered, was_full, now);
    }

    /// Continues a body that may be sent now, or sets the alarm for when it may.
    pub(super) fn watch_body(&mut self, slot: Slot, now: Nanos) {
        match self.protocol.take_body_alarm(slot, now) {
            None => {}
            Some(Nanos::ZERO) => self.continue_sending(slot),
            Some(at) => self.timers.set(at, slot, TimerKind::Body),
        }
    }

    /// An alarm for a body has rung; the connection may be another one, or have sent it.
    #[cold]
    fn continue_body(&mut self, slot: Slot) {
        self.protocol.body_alarm_rang(slot);
        let is_open = self.pool.state(slot).is_ready();
        if is_open && self.protocol.unsent_since(slot).is_some() {
            self.continue_sending(slot);
        }
    }

    /// The drain's limit was reached: ends all outstanding requests.
    pub(in crate::hot) fn cut_off(&mut self, now: Nanos) {
        for slot in 0..self.pool.count() {
            self.give_up_all_steps(slot, now);
            if self.tracker.exchanges().live(slot) == 0 {
                continue;
            }
            self.abandon_all(slot, Ending::TimedOut, now);
            self.pool.note(ConnectionFailure::CutOff);
            self.disconnect(slot, ClosedBy::Us, None, now);
        }
        let protocol = &mut self.protocol;
        self.tracker.end_unsent(|| protocol.skip(), now);
    }
}

/// The next moment of a coarse grid at or after `at`: alarms of many connections ring together.
#[inline]
pub(super) fn coarse(at: Nanos, grid: Nanos) -> Nanos {
    Nanos(at.0.div_ceil(grid.0).saturating_mul(grid.0))
}

#[cfg(test)]
mod tests {
    use crate::h1::Http1;
    use crate::hot::Recorder;
    use crate::sim::{Act, Connect, Script, Simulation, VirtualClock};
    use crate::stream::StreamPlan;
    use crate::{BodyCheck, Bound, Job, Nanos, NoObserver, Requests, ResponseCheck, Settings, Slot};
    use paceline_http::{EventFormat, Method};
    use std::sync::Arc;

    /// A server that sends three events, 20 ms apart, and does not end its response.
    struct EndlessServer;

    impl Script for EndlessServer {
        fn connect(&mut self, _: Slot, _: Nanos) -> Connect {
            Connect::Accept(Nanos::from_millis(1))
        }

        fn request(&mut self, _: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
            let head: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
            acts.push((now, Act::Send(head.into())));
            let event = |tick: u64| {
                (now + Nanos::from_millis(20 * tick), Act::Send(b"2\r\na\n\r\n".as_slice().into()))
            };
            acts.extend((1..=3).map(event));
        }
    }

    #[test]
    fn streams_share_alarms() {
        let plan = StreamPlan {
            format: EventFormat::Lines,
            must_be_json: false,
            events: Some(3),
            length: Some(Nanos::from_secs(60)),
            until: None,
            count: None,
            time: None,
            call: None,
        };
        let check = ResponseCheck { status: None, body: BodyCheck::Stream(Arc::new(plan)) };
        let requests = Arc::new(Requests::fixed(b"GET / HTTP/1.1\r\n\r\n", Method::Other, check));
        let job = Job {
            connections: 1,
            window: Bound::Requests(1_000),
            warmup: Nanos::ZERO,
            timeout: Nanos::from_secs(600),
            ..Job::default()
        };
        let settings = Settings::new(job, std::net::SocketAddr::from(([127, 0, 0, 1], 9)), requests);
        let (clock, mut recorder) = (VirtualClock::new(Nanos::ZERO), Recorder::new());
        let simulation =
            Simulation { settings: &settings, clock: &clock, stop_at: Nanos::NEVER, observer: &NoObserver };
        let mut server = EndlessServer;
        let worker = simulation.drive::<Http1>(&mut server, &mut recorder).unwrap();
        let (made, alarms) = worker.connections_and_alarms();
        assert!(made >= 1_000, "each stream ends with its connection: {made}");
        assert!(alarms < 20, "{alarms} alarms");
    }
}
