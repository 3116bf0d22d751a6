//! When is a request due?
//!
//! The schedule is a cursor: the backlog of a stalled server is the distance between the cursor and the clock, never a
//! queue in memory. `send.rs` asks what is due and takes it off, the loop asks when to wake, `phases.rs` begins it and
//! ends it. Where the ticks lie is for `ticks.rs` to say.

use super::ticks::Ticks;
use crate::{Bound, Nanos, Settings, Timeline};

/// Ticks counted at most by [`Schedule::backlog_about`]: some tens of microseconds' worth where they are even. Random
/// ones cost a draw for each tick of every worker, so that many threads take milliseconds.
const TICKS_COUNTED: u64 = 4_000;

/// A cursor into the ticks of one worker. Worker k of N takes the ticks k, k + N, k + 2N, ...
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    ticks: Ticks,
    /// Nothing is due before.
    start: Nanos,
    /// Nothing falls due from here on.
    end: Nanos,
    /// How many requests may still be scheduled.
    remaining: u64,
}

impl Schedule {
    /// The schedule of one worker.
    pub(super) fn new(settings: &Settings, timeline: &Timeline, worker: u32) -> Self {
        let (k, n) = (u64::from(worker), u64::from(settings.threads));
        let remaining = match settings.bound {
            Bound::Duration(_) => u64::MAX,
            Bound::Requests(all) => all / n + u64::from(k < all % n),
        };
        let ticks = Ticks::new(settings, timeline, worker);
        Self { ticks, start: timeline.epoch, end: timeline.window_end, remaining }
    }

    /// Whether intended sends come from the clock rather than from free connections.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self.ticks, Ticks::WhenFree)
    }

    /// The intended send of a request that is due at `now`; in a closed loop that is `now` itself.
    #[inline]
    pub(super) fn due(&self, now: Nanos) -> Option<Nanos> {
        let at = self.next(now);
        (at <= now && at < self.end && self.remaining > 0).then_some(at)
    }

    /// When the next request is due, given a free connection; [`Nanos::NEVER`] if none will be.
    #[inline]
    pub(super) fn next_due(&self, now: Nanos) -> Nanos {
        let at = self.next(now);
        if at < self.end && self.remaining > 0 { at } else { Nanos::NEVER }
    }

    #[inline]
    fn next(&self, now: Nanos) -> Nanos {
        match &self.ticks {
            Ticks::WhenFree => now.max(self.start),
            Ticks::Constant { next, .. }
            | Ticks::Poisson { next, .. }
            | Ticks::Shaped { next, .. }
            | Ticks::Trace { next, .. } => *next,
        }
    }

    /// Takes `count` requests off the schedule. Only a closed loop takes several at once.
    #[inline]
    pub(super) fn take(&mut self, count: u64) {
        self.remaining = self.remaining.saturating_sub(count);
        for _ in 0..count {
            self.ticks.advance(self.start);
        }
    }

    /// How many requests may still be scheduled, at most.
    pub(super) fn remaining(&self) -> u64 {
        self.remaining
    }

    /// Nothing falls due from `end` on; never later than was planned.
    pub(super) fn end_at(&mut self, end: Nanos) {
        self.end = self.end.min(end);
    }

    /// How many requests were due before `now` and are still unsent, at a bounded cost: [`TICKS_COUNTED`] are counted,
    /// what is beyond them is computed as if they went on as they did so far.
    pub(super) fn backlog_about(&self, now: Nanos) -> u64 {
        if !self.is_open() {
            return 0;
        }
        let mut cursor = self.clone();
        cursor.end_at(now);
        let Some(first) = cursor.due(now) else { return 0 };
        for counted in 1..=TICKS_COUNTED {
            cursor.take(1);
            if cursor.due(now).is_none() {
                return counted;
            }
        }
        let (counted, span) = (cursor.next(now).since(first).as_secs_f64(), self.end.min(now).since(first));
        let all = TICKS_COUNTED as f64 * span.as_secs_f64() / counted.max(f64::MIN_POSITIVE);
        (all as u64).min(self.remaining)
    }
}
