//! Implements the worker: its only loop, and its phases.
//!
//! The work between two waits is in `traffic/`; the length of a wait is in `pace.rs`. The phases begin and end
//! at the moments of the timeline, the same in every worker.

use super::pool::{ConnectionState, Pool};
use super::protocol::ProtocolHandler;
use super::record::Recorder;
use super::scenario::Scenario;
use super::traffic::Traffic;
use crate::outcome::{Carried, ConnectionFailure, Stall};
use crate::random::longest_think;
use crate::tls::TlsFault;
use crate::{
    Clock, EngineError, Nanos, Observer, Phase, PhaseTimes, Readiness, Settings, Slot, ThreadOutcome,
    Timeline, Transport, WaitLimit, WindowLength, WorkerSecond, pace,
};

/// The size of a read: large enough that a page arrives in one piece, small enough to stay in the cache.
const BUFFER: usize = 64 * 1024;
/// The longest sleep: the delay with which a worker notices a stop.
const NAP: Nanos = Nanos::from_millis(100);
/// The longest sleep of an open loop without a free connection: a pause of the generator that is longer shows as a late
/// turn, while a server that is slow does not.
const NAP_WITHOUT_CONNECTION: Nanos = Nanos::from_millis(1);
/// Attempts to connect that must fail, with none succeeding, before the target counts as unreachable.
const MIN_ATTEMPTS: u64 = 5;
/// The time to wait before the run begins for a server that requested a certificate, since it may still refuse
/// the connection: some round trips.
const REFUSAL_AWAITED: Nanos = Nanos::from_millis(100);

/// The longest sleep of a worker that waits for the others to be connected: a millisecond, and more with many threads,
/// whose wake-ups would leave no core for those they wait for.
pub(crate) fn settling_nap(threads: u32) -> Nanos {
    Nanos::from_millis(1 + u64::from(threads / 16))
}

/// The state that a worker needs of the others. Read between turns of the loop, never inside one.
pub trait RunControl {
    /// Reports the number of connections that the worker has.
    fn connected(&self, had: u64);
    /// The beginning of the warm-up, once every worker is connected. None if the run is aborted before.
    fn epoch(&self) -> Option<Nanos>;
    /// Whether all have reported their connections, and none has one.
    fn unreachable(&self) -> bool;
    /// When to stop sending before the planned end; [`Nanos::NEVER`] while no stop is requested.
    fn stop_at(&self) -> Nanos;
    /// Whether the run is aborted: another worker failed, or a stop was requested before it began.
    fn aborted(&self) -> bool;
}

/// Drives its share of the load over its own connections.
pub struct Worker<'a, C, T, P> {
    settings: &'a Settings,
    index: u32,
    traffic: Traffic<'a, C, T, P>,
    /// None while connecting.
    timeline: Option<Timeline>,
    /// Computed before any request is due: with random arrivals it requires walking them.
    window_length: WindowLength,
    phase: Phase,
    spans: PhaseTimes,
    ready: Vec<Readiness>,
    buffer: Box<[u8]>,
    /// Since when it has been polling without an event; [`Nanos::NEVER`] while there is work.
    idle_since: Nanos,
    spun: Nanos,
    backlog: u64,
    /// Requests in flight when the window opened.
    carried: u64,
    /// The latest end of the previous turn if it had only to wait.
    expected: Nanos,
    stall: Stall,
}

impl<'a, C: Clock, T: Transport, P: ProtocolHandler> Worker<'a, C, T, P> {
    /// A worker with all its connections still to be made.
    pub fn new(
        settings: &'a Settings,
        index: u32,
        clock: C,
        transport: T,
        recorder: &'a mut Recorder,
    ) -> Self {
        let traffic = Traffic::new(settings, index, clock, transport, recorder);
        Self {
            settings,
            index,
            timeline: None,
            window_length: WindowLength::from_settings(settings),
            phase: Phase::Connect,
            spans: PhaseTimes { start: traffic.now(), ..PhaseTimes::default() },
            traffic,
            ready: Vec::with_capacity(1024),
            buffer: vec![0; BUFFER].into(),
            idle_since: Nanos::NEVER,
            spun: Nanos::ZERO,
            backlog: 0,
            carried: 0,
            expected: Nanos::NEVER,
            stall: Stall::default(),
        }
    }

    /// Carries out the run, from the first handshake to the last outcome.
    ///
    /// # Errors
    /// [`EngineError::Unreachable`] when no worker could make a connection, [`EngineError::Kernel`] when waiting fails.
    // The test of instruction counts finds it by its name.
    #[inline(never)]
    pub fn run(&mut self, control: &impl RunControl, observer: &dyn Observer) -> Result<(), EngineError> {
        observer.thread_phase(self.index, Phase::Connect);
        if observer.wants_seconds() {
            self.traffic.tracker_mut().recorder().listen();
        }
        while !self.has_connections() && control.stop_at() == Nanos::NEVER && !control.aborted() {
            self.iterate(self.traffic.now(), NAP)?;
        }
        control.connected(self.traffic.connected_in_all());
        // Connections that close meanwhile are remade; the epoch comes as soon as the slowest worker is ready. A worker
        // without a connection continues to try as long as others have some.
        while self.timeline.is_none() {
            let aborted = control.aborted();
            // Read after that: the first worker that returns this error aborts the others, whose attempts count too.
            if control.unreachable() {
                return Err(self.unreachable());
            }
            if aborted {
                break;
            }
            match control.epoch() {
                Some(epoch) => self.begin(epoch),
                None => self.iterate(self.traffic.now(), settling_nap(self.settings.threads))?,
            }
        }
        while self.timeline.is_some() {
            let now = self.traffic.now();
            self.advance(now, control.stop_at(), observer);
            if self.phase == Phase::End {
                self.traffic.tracker_mut().recorder().end(now);
                self.report_seconds(now, observer);
                break;
            }
            self.iterate(now, NAP)?;
            if self.traffic.tracker_mut().recorder().has_news() {
                self.report_seconds(now, observer);
            }
        }
        Ok(())
    }

    /// Reports the ended seconds.
    #[cold]
    fn report_seconds(&mut self, now: Nanos, observer: &dyn Observer) {
        for (start, end, cohorts) in self.traffic.tracker_mut().recorder().take_news() {
            let start = start.max(self.spans.start);
            let backlog = self.traffic.tracker().schedule().backlog_about(end.min(now));
            observer.second(WorkerSecond { worker: self.index, start, end, cohorts, backlog });
        }
    }

    /// Returns the outcome. The recorder is emptied.
    pub fn into_outcome(self) -> ThreadOutcome {
        let tls = self.traffic.tls_outcome().cloned();
        let tcp = self.traffic.transport().tcp_counts();
        let (mut tracker, pool, _transport, mut protocol) = self.traffic.into_parts();
        let noted_sends = tracker.recorder().take_noted();
        let carried = Carried { outstanding: self.carried, ended: tracker.recorder().carried() };
        let (sums, intervals, interval) = tracker.recorder().finish();
        let mut connections = pool.into_counts();
        connections.stream_limit = protocol.stream_limit();
        connections.saw_compressed = protocol.saw_compressed();
        let continues = protocol.continue_counts();
        let scenario = protocol.into_scenario().into_counts();
        connections.cookies_dropped = scenario.cookies_dropped;
        connections.tcp = tcp;
        let stream_examples = tracker.take_stream_examples();
        let wrong_bodies = tracker.finish(&mut connections);
        ThreadOutcome {
            noted_sends,
            total: sums.total,
            by_segment: sums.by_segment,
            by_request: sums.by_request,
            intervals,
            interval,
            connections,
            carried,
            stall: self.stall,
            spun: self.spun,
            backlog: self.backlog,
            spans: self.spans,
            tls,
            wrong_bodies,
            continues,
            sessions_completed: scenario.completed,
            session_times: scenario.times,
            stream_examples,
        }
    }

    /// The number of connections made, and of alarms set.
    #[cfg(test)]
    pub(super) fn connections_and_alarms(&self) -> (u64, usize) {
        (self.traffic.pool().counts().made, self.traffic.alarms())
    }

    /// One turn of the loop: sends due requests, rings due alarms, waits, handles events.
    fn iterate(&mut self, start: Nanos, nap: Nanos) -> Result<(), EngineError> {
        self.spun += start.since(self.idle_since);
        self.note_stall(start);
        self.traffic.runs(start);
        // Before any send: requests due as a second begins are counted in it.
        self.traffic.tracker_mut().recorder().roll(start);
        let now = self.traffic.dispatch(start);
        self.traffic.ring(now);
        self.traffic.keep_connecting();
        let wait_limit = self.wait_limit(now, nap);
        self.expected = start;
        if let WaitLimit::For(wait) = wait_limit {
            self.expected += wait;
        }
        self.traffic.wait_until(self.expected);
        let mut ready = std::mem::take(&mut self.ready);
        let waited = self.traffic.transport_mut().wait(wait_limit, &mut ready);
        let found_nothing = ready.is_empty() && now == start && self.traffic.pool().unread() == 0;
        let spinning = found_nothing && wait_limit == WaitLimit::Poll && self.phase == Phase::Window;
        self.idle_since = if spinning { start } else { Nanos::NEVER };
        for event in ready.drain(..) {
            self.traffic.handle(event, &mut self.buffer);
        }
        self.ready = ready;
        if self.traffic.pool().unread() > 0 {
            self.traffic.read_on(&mut self.buffer);
        }
        waited.map_err(|source| EngineError::Kernel { what: "wait for network events", source })
    }

    /// Handles the input that has arrived by the end of a closed loop: a response that no request asked for may follow
    /// the last one. Returns the time after it.
    fn read_the_rest(&mut self, now: Nanos) -> Nanos {
        if self.traffic.tracker().schedule().is_open() {
            return now;
        }
        let mut ready = std::mem::take(&mut self.ready);
        // Each connection has at most one event at a time; those of a server that never stops sending are not awaited.
        let mut most = self.traffic.pool().count();
        while most > 0
            && self.traffic.transport_mut().wait(WaitLimit::Poll, &mut ready).is_ok()
            && !ready.is_empty()
        {
            most = most.saturating_sub(ready.len() as u32);
            for event in ready.drain(..) {
                // A connection that is made only now would send.
                if self.traffic.pool().state(event.slot).is_made() {
                    self.traffic.handle(event, &mut self.buffer);
                }
            }
        }
        self.ready = ready;
        self.traffic.now()
    }

    /// Keeps the longest time in the window in which the loop did not return although it had no reason to wait: it was
    /// busy, did not have its core, or was stopped.
    #[inline]
    fn note_stall(&mut self, start: Nanos) {
        let length = start.since(self.expected);
        if length > self.stall.length && self.phase == Phase::Window {
            self.stall = Stall { at: self.expected, length };
        }
    }

    /// The maximum length of the next wait.
    fn wait_limit(&self, now: Nanos, nap: Nanos) -> WaitLimit {
        if self.traffic.is_busy() {
            return WaitLimit::Poll;
        }
        let tracker = self.traffic.tracker();
        let schedule = tracker.schedule();
        let (send, nap) = match self.traffic.has_no_line() {
            true if schedule.is_open() => (Nanos::NEVER, nap.min(NAP_WITHOUT_CONNECTION)),
            true => (Nanos::NEVER, nap),
            false => (schedule.next_due(now), nap),
        };
        let next_alarm = self.traffic.next_alarm();
        let other = next_alarm.min(self.next_boundary(now)).min(tracker.interval_end()).min(now + nap);
        match pace::wait(self.settings.pace, now, send, other) {
            Nanos::ZERO => WaitLimit::Poll,
            wait => WaitLimit::For(wait),
        }
    }
}

/// The phases.
impl<C: Clock, T: Transport, P: ProtocolHandler> Worker<'_, C, T, P> {
    /// The next moment at which a phase may change.
    fn next_boundary(&self, now: Nanos) -> Nanos {
        let Some(timeline) = &self.timeline else { return Nanos::NEVER };
        let boundaries = [timeline.window_start, timeline.window_end, timeline.drain_end()];
        boundaries.into_iter().find(|boundary| *boundary > now).unwrap_or(Nanos::NEVER)
    }

    /// Whether the connect phase has ended: all connections are made, its limit was reached, or none can be made.
    fn has_connections(&self) -> bool {
        let (pool, now) = (self.traffic.pool(), self.traffic.now());
        let all = pool.open() == pool.active();
        // A thread that gets no CPU time before the limit makes its first attempts nevertheless.
        let late =
            pool.handshakes.begun() > 0 && now.since(self.spans.start) >= self.settings.job.connect_timeout;
        let hopeless = pool.failed() >= MIN_ATTEMPTS.max(2 * u64::from(pool.active()));
        let settled =
            !self.traffic.refusal_may_follow() || now.since(self.traffic.last_progress()) >= REFUSAL_AWAITED;
        all && settled || late || pool.open() == 0 && hopeless
    }

    /// The error if no connection was made.
    fn unreachable(&self) -> EngineError {
        let pool = self.traffic.pool();
        let last = pool.counts().failures.last();
        let failure = last.map_or_else(|| self.slow_to_connect(pool), |(failure, _)| *failure);
        let source = match (failure, self.traffic.tls_outcome()) {
            (ConnectionFailure::Tls(_), Some(tls)) => failure.with_details(tls),
            _ => pool.counts().error_of(failure),
        };
        EngineError::Unreachable {
            address: self.settings.address.clone(),
            others: self.settings.spread.iter().skip(1).copied().collect(),
            protocol: self.settings.job.protocol,
            attempts: pool.handshakes.begun(),
            // Those that were made after the connect timeout are not lost.
            made: pool.counts().made - u64::from(pool.open()),
            source,
        }
    }

    /// The failure for connecting that took too long, without an error.
    fn slow_to_connect(&self, pool: &Pool) -> ConnectionFailure {
        let shakes_hands = |slot: Slot| self.traffic.transport().handshake_began(slot).is_some();
        let mut slots = 0..pool.count();
        let greeting = |slot: &Slot| matches!(pool.state(*slot), ConnectionState::Greeting { .. });
        if let Some(slot) = slots.clone().find(greeting) {
            self.traffic.slow_to_begin(slot)
        } else if slots.clone().any(|slot| self.traffic.transport().awaits_tunnel(slot)) {
            ConnectionFailure::Tls(TlsFault::SilentProxy)
        } else if slots.any(shakes_hands) {
            ConnectionFailure::Tls(TlsFault::TooSlow)
        } else {
            ConnectionFailure::ConnectLimit
        }
    }

    fn begin(&mut self, epoch: Nanos) {
        let timeline = self.window_length.timeline(self.settings, epoch);
        self.timeline = Some(timeline);
        self.traffic.begin_run(timeline, self.index);
    }

    /// Advances through the phases.
    fn advance(&mut self, now: Nanos, stop_at: Nanos, observer: &dyn Observer) {
        let Some(timeline) = &mut self.timeline else { return };
        if stop_at > timeline.window_end {
            // Stopped in the drain, or not at all: requests that have not ended by then are cut off.
            timeline.drain = timeline.drain.min(stop_at.since(timeline.window_end));
        } else if stop_at < timeline.window_end {
            timeline.drain = timeline.drain.min(Nanos::from_millis(500));
            if now < timeline.window_end {
                // A worker that notices the stop late has sent requests until now: they stay counted. The end chosen
                // then is final, however late the worker reads it again.
                let stop_at = stop_at.max(now + Nanos(1));
                timeline.window_end = stop_at;
                self.traffic.tracker_mut().end_at(stop_at);
            }
        }
        self.end_estimated_window(now);
        let Some(timeline) = self.timeline else { return };
        if self.phase == Phase::Connect && now >= timeline.epoch {
            self.enter(Phase::Warmup, now, observer);
        }
        if self.phase == Phase::Warmup && now >= timeline.window_start.min(timeline.window_end) {
            self.backlog = self.traffic.tracker().schedule().backlog_about(timeline.window_start);
            self.carried = self.traffic.tracker().outstanding();
            self.traffic.tracker_mut().recorder().window_opens();
            self.enter(Phase::Window, now, observer);
        }
        let gives_up = self.phase == Phase::Window && self.gives_up(now);
        if gives_up {
            self.traffic.tracker_mut().end_at(now);
        }
        if self.phase == Phase::Window && (now >= timeline.window_end || gives_up || self.is_counted_out(now))
        {
            self.note_stall(timeline.window_end.min(now));
            self.enter(Phase::Drain, now, observer);
        }
        if self.phase == Phase::Drain && (self.is_finished(now) || now >= timeline.drain_end()) {
            let now = self.read_the_rest(now);
            self.traffic.cut_off(now);
            self.enter(Phase::End, now, observer);
        }
    }

    /// A window whose end was estimated ends with the gap after its last arrival, once that has been sent.
    fn end_estimated_window(&mut self, now: Nanos) {
        let schedule = self.traffic.tracker().schedule();
        if self.window_length.is_exact() || schedule.remaining() > 0 {
            return;
        }
        let end = schedule.next_tick().max(now + Nanos(1));
        if let Some(timeline) = &mut self.timeline
            && end < timeline.window_end
        {
            timeline.window_end = end;
            self.traffic.tracker_mut().end_at(end);
        }
    }

    fn enter(&mut self, phase: Phase, now: Nanos, observer: &dyn Observer) {
        self.phase = phase;
        // Phases are as planned, to the nanosecond, since the cohort is. Only a number of requests leaves the end open.
        let planned = self.timeline.unwrap_or(Timeline::NEVER);
        match phase {
            Phase::Connect => {}
            Phase::Warmup => self.spans.warmup = planned.epoch,
            Phase::Window => {
                self.spans.window = planned.window_start;
                self.expected = self.expected.max(planned.window_start);
            }
            Phase::Drain if planned.window_end == Nanos::NEVER => {
                self.spans.drain = self.traffic.last_progress();
            }
            Phase::Drain => self.spans.drain = planned.window_end,
            Phase::End => self.spans.end = now,
        }
        observer.thread_phase(self.index, phase);
    }

    /// Whether every request has ended and no more will fall due.
    fn is_finished(&self, now: Nanos) -> bool {
        let tracker = self.traffic.tracker();
        let none_due = tracker.schedule().next_due(now) == Nanos::NEVER;
        let all_ended = tracker.outstanding() == 0 && self.traffic.open_sessions() == 0;
        all_ended && (none_due || self.window_is_open_ended())
    }

    /// Whether a closed loop bounded by a number of requests is done.
    fn is_counted_out(&self, now: Nanos) -> bool {
        self.is_quiet() && self.traffic.tracker().schedule().next_due(now) == Nanos::NEVER
    }

    /// Whether such a loop gives up: for longer than a request may take, no connection could be opened or the server
    /// allowed no HTTP/2 stream; or connections were opened and every one of them failed, again and again.
    fn gives_up(&self, now: Nanos) -> bool {
        if !self.window_is_open_ended() {
            return false;
        }
        let longest_wait = self.settings.job.timeout + longest_think(self.settings.job.think);
        // After a stall of the generator, due alarms and events are handled before this time counts.
        let is_idle = || now.min(self.expected).since(self.traffic.last_progress()) > longest_wait;
        self.is_quiet() && is_idle() && self.traffic.is_stuck() || self.only_fails(longest_wait)
    }

    /// Whether every connection only fails: soon if there was never a response, else for as long as `longest_wait`, in which
    /// a server may be started again.
    fn only_fails(&self, longest_wait: Nanos) -> bool {
        let pool = self.traffic.pool();
        let seconds = longest_wait.0.div_ceil(1_000_000_000);
        pool.handshakes.only_fail(0)
            && (!self.traffic.tracker().has_answers() || pool.handshakes.only_fail(seconds))
    }

    /// Whether such a loop has no request in flight and no session open.
    fn is_quiet(&self) -> bool {
        let is_quiet = self.traffic.tracker().outstanding() == 0 && self.traffic.open_sessions() == 0;
        self.window_is_open_ended() && is_quiet
    }

    fn window_is_open_ended(&self) -> bool {
        self.timeline.is_some_and(|timeline| timeline.window_end == Nanos::NEVER)
    }
}
