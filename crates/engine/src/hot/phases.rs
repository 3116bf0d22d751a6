//! A worker's way through the phases: connect, warm-up, window, drain, end.
//!
//! Called by the loop, between its turns. The moments are those of the timeline, the same in every worker.

use super::connect::ClosedBy;
use super::schedule::Schedule;
use super::worker::Worker;
use crate::arrivals::Stretches;
use crate::outcome::Failure;
use crate::tls::TlsFault;
use crate::{Clock, Ending, EngineError, Nanos, Observer, Phase, Slot, Timeline, Transport};

/// Attempts to connect that must fail, with none succeeding, before the target counts as unreachable.
const ATTEMPTS_LEAST: u64 = 5;
/// How long a server that asked for a certificate is given to refuse it before the run begins: some round trips.
const REFUSAL_AWAITED: Nanos = Nanos::from_millis(100);

impl<C: Clock, T: Transport> Worker<'_, C, T> {
    /// The next moment at which a phase may change.
    pub(super) fn next_boundary(&self, now: Nanos) -> Nanos {
        let Some(timeline) = &self.timeline else { return Nanos::NEVER };
        let boundaries = [timeline.window_start, timeline.window_end, timeline.drain_end()];
        boundaries.into_iter().find(|boundary| *boundary > now).unwrap_or(Nanos::NEVER)
    }

    /// Whether the connect phase is over: all connections are made, its limit has passed, or none can be made.
    pub(super) fn has_connections(&self) -> bool {
        let all = self.open as usize == self.connections.len();
        let late = self.clock.now().since(self.spans.start) >= self.settings.job.connect_timeout;
        let hopeless =
            self.counts.failed_attempts + self.lost >= ATTEMPTS_LEAST.max(2 * self.connections.len() as u64);
        let settled = !self.transport.refusal_may_follow()
            || self.clock.now().since(self.last_progress) >= REFUSAL_AWAITED;
        all && settled || late || self.open == 0 && hopeless
    }

    /// Why not one connection was had.
    pub(super) fn unreachable(&self) -> EngineError {
        let failure =
            self.counts.failures.last().map_or_else(|| self.slow_to_connect(), |(failure, _)| *failure);
        let told = self.transport.tls_outcome().map(|tls| failure.told_by(tls));
        EngineError::Unreachable {
            address: self.settings.address.clone(),
            attempts: self.counts.failed_attempts + self.lost,
            made: self.counts.made,
            source: told.unwrap_or_else(|| failure.into()),
        }
    }

    /// What took too long, where nothing failed.
    fn slow_to_connect(&self) -> Failure {
        let stands = |slot| self.transport.handshake_began(slot).is_some();
        let any = (0..self.connections.len() as Slot).any(stands);
        if any { Failure::Tls(TlsFault::TooSlow) } else { Failure::ConnectLimit }
    }

    pub(super) fn begin(&mut self, epoch: Nanos) {
        let timeline = self.window_length.timeline(self.settings, epoch);
        self.timeline = Some(timeline);
        self.schedule = Schedule::new(self.settings, &timeline, self.index);
        self.recorder.begin(timeline);
        self.recorder.note_sends(Stretches::of(self.settings, &timeline));
        self.connections.iter_mut().for_each(|connection| connection.served = 0);
        (self.counts.closed_by_server, self.counts.closed_by_us, self.counts.closed_as_asked) = (0, 0, 0);
        self.last_progress = epoch;
    }

    /// Moves on through the phases.
    pub(super) fn advance(&mut self, now: Nanos, stop_at: Nanos, observer: &dyn Observer) {
        let Some(timeline) = &mut self.timeline else { return };
        if stop_at > timeline.window_end {
            // Stopped in the drain, or never: what has not ended by then is cut off.
            timeline.drain = timeline.drain.min(stop_at.since(timeline.window_end));
        } else if stop_at < timeline.window_end {
            timeline.drain = timeline.drain.min(Nanos::from_millis(500));
            if now < timeline.window_end {
                // A worker that hears of it late has sent until now: what it counted stays counted. The end it settles
                // on then is the end, however late it looks again.
                let stop_at = stop_at.max(now + Nanos(1));
                timeline.window_end = stop_at;
                self.schedule.end_at(stop_at);
                self.recorder.end_at(stop_at);
            }
        }
        let timeline = *timeline;
        if self.phase == Phase::Connect && now >= timeline.epoch {
            self.enter(Phase::Warmup, now, observer);
        }
        if self.phase == Phase::Warmup && now >= timeline.window_start.min(timeline.window_end) {
            self.backlog = self.schedule.backlog_about(timeline.window_start);
            self.enter(Phase::Window, now, observer);
        }
        if self.phase == Phase::Window && (now >= timeline.window_end || self.is_counted_out(now)) {
            self.enter(Phase::Drain, now, observer);
        }
        if self.phase == Phase::Drain && (self.is_finished(now) || now >= timeline.drain_end()) {
            self.cut_off(now);
            self.enter(Phase::End, now, observer);
        }
    }

    fn enter(&mut self, phase: Phase, now: Nanos, observer: &dyn Observer) {
        self.phase = phase;
        // Phases are as planned, to the nanosecond: the cohort is. Only a number of requests leaves the end open.
        let planned = self.timeline.unwrap_or(Timeline::NEVER);
        match phase {
            Phase::Connect => {}
            Phase::Warmup => self.spans.warmup = planned.epoch,
            Phase::Window => self.spans.window = planned.window_start,
            Phase::Drain if planned.window_end == Nanos::NEVER => self.spans.drain = self.last_progress,
            Phase::Drain => self.spans.drain = planned.window_end,
            Phase::End => self.spans.end = now,
        }
        observer.thread_phase(self.index, phase);
    }

    /// Whether every request has ended and none will fall due.
    fn is_finished(&self, now: Nanos) -> bool {
        let none_due = self.schedule.next_due(now) == Nanos::NEVER;
        self.outstanding == 0 && (none_due || self.window_is_open_ended())
    }

    /// Whether a closed loop bounded by a number of requests is done. It gives up when no connection has been had for
    /// longer than a request may take.
    fn is_counted_out(&self, now: Nanos) -> bool {
        let patience = self.settings.job.timeout + crate::think::longest(self.settings.job.think);
        let given_up = self.open == 0 && now.since(self.last_progress) > patience;
        let all_sent = self.schedule.next_due(now) == Nanos::NEVER;
        self.window_is_open_ended() && self.outstanding == 0 && (all_sent || given_up)
    }

    fn window_is_open_ended(&self) -> bool {
        self.timeline.is_some_and(|timeline| timeline.window_end == Nanos::NEVER)
    }

    /// The drain's limit is over: what has not ended ends now.
    fn cut_off(&mut self, now: Nanos) {
        for slot in 0..self.connections.len() as Slot {
            if self.connections[slot as usize].outstanding == 0 {
                continue;
            }
            while self.connections[slot as usize].outstanding > 0 {
                self.time_out(slot, now);
            }
            self.note(Failure::CutOff);
            self.disconnect(slot, ClosedBy::Us, None, now);
        }
        while let (true, Some(due)) = (self.schedule.is_open(), self.schedule.due(now)) {
            self.schedule.take(1);
            self.recorder.never_sent(due, due, self.outgoing.skip(), Ending::Unsent, now);
        }
    }
}
