//! When is a request due?
//!
//! The schedule is a cursor: the backlog of a stalled server is the distance between the cursor and the clock, never a
//! queue in memory. `send.rs` asks what is due and takes it off, the loop asks when to wake, `phases.rs` begins it and
//! ends it. Where the ticks lie is for `ticks.rs` to say.

use super::blocks::Block;
use super::ticks::{TickRange, Ticks};
use crate::{Bound, Nanos, Settings, Timeline};
use std::collections::VecDeque;

/// Ticks counted at most by [`Schedule::backlog_about`]: some tens of microseconds' worth where they are even. Random
/// ones cost a draw for each tick of every worker, so that many threads take milliseconds.
const TICKS_COUNTED: u64 = 4_000;

/// Random ticks of a worker walked at most when the rest of a schedule is counted as unsent: each costs a
/// draw for each worker.
const TICKS_WALKED: u64 = 1 << 20;

/// A request that a server handed back unprocessed: it is still due, with the intended send that it had.
#[derive(Clone, Copy, Debug)]
pub(super) struct Returned {
    /// When the schedule said.
    pub intended: Nanos,
    /// When it was sent the first time.
    pub sent: Nanos,
    /// Where it is counted.
    pub block: Block,
    /// How often it was handed back, this time included.
    pub returns: u8,
}

/// A cursor into the ticks of one worker. Worker k of N takes the ticks k, k + N, k + 2N, ...
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    ticks: Ticks,
    /// Whether intended sends come from the ticks rather than from free connections.
    open: bool,
    /// Nothing falls due from here on.
    end: Nanos,
    /// How many requests may still be scheduled.
    remaining: u64,
    /// Requests that were handed back: due before all others, at most as many as were in flight.
    returned: VecDeque<Returned>,
    /// Ticks that were taken without being sent.
    walked: u64,
}

impl Schedule {
    /// The schedule of one worker.
    pub(super) fn new(settings: &Settings, timeline: &Timeline, worker: u32) -> Self {
        let (k, n) = settings.place_of(worker);
        let (k, n) = (u64::from(k), u64::from(n));
        let remaining = match settings.job.window {
            Bound::Duration(_) => u64::MAX,
            Bound::Requests(all) => all / n + u64::from(k < all % n),
        };
        let ticks = Ticks::new(settings, timeline, worker);
        Self {
            open: ticks.is_open(),
            ticks,
            end: timeline.window_end,
            remaining,
            returned: VecDeque::new(),
            walked: 0,
        }
    }

    /// Whether intended sends come from the clock rather than from free connections.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// The intended send of a request that is due at `now`; in a closed loop that is `now` itself.
    #[inline]
    pub(super) fn due(&self, now: Nanos) -> Option<Nanos> {
        if let Some(returned) = self.returned.front() {
            return Some(returned.intended);
        }
        let at = self.next(now);
        (at <= now && at < self.end && self.remaining > 0).then_some(at)
    }

    /// When the next request is due, given a free connection; [`Nanos::NEVER`] if none will be.
    #[inline]
    pub(super) fn next_due(&self, now: Nanos) -> Nanos {
        if !self.returned.is_empty() {
            return now;
        }
        let at = self.next(now);
        if at < self.end && self.remaining > 0 { at } else { Nanos::NEVER }
    }

    #[inline]
    fn next(&self, now: Nanos) -> Nanos {
        if self.open { self.ticks.next() } else { now.max(self.ticks.next()) }
    }

    /// The next tick of this worker, whether or not a request is still to be sent then.
    pub(super) fn next_tick(&self) -> Nanos {
        self.ticks.next()
    }

    /// How many requests of an open loop are due at `at`, the next of which is, counted up to `most`.
    #[inline]
    pub(super) fn due_together(&self, at: Nanos, most: u64) -> u64 {
        let most = most.min(self.remaining);
        if most < 2 || !self.returned.is_empty() {
            return 1;
        }
        self.ticks.due_together(at.min(self.end - Nanos(1)), most)
    }

    /// Takes `count` requests off the schedule. Only a closed loop takes several at once.
    #[inline]
    pub(super) fn take(&mut self, count: u64) {
        self.remaining = self.remaining.saturating_sub(count);
        if self.open {
            (0..count).for_each(|_| self.ticks.advance());
        }
    }

    /// Takes the ticks before `end` off the schedule of an open loop, the first of which is due. Random ones are walked
    /// one by one; after [`TICKS_WALKED`] of them the rest are taken as if they came at their mean rate.
    pub(super) fn take_before(&mut self, end: Nanos) -> TickRange {
        if self.walked > TICKS_WALKED {
            self.ticks.continue_evenly();
        }
        let most = self.remaining.min(TICKS_WALKED);
        let range = self.ticks.take_before(end.min(self.end), most);
        self.walked += range.count;
        self.remaining = self.remaining.saturating_sub(range.count);
        range
    }

    /// How many requests may still be sent, at most.
    pub(super) fn remaining(&self) -> u64 {
        self.remaining.saturating_add(self.returned.len() as u64)
    }

    /// A request was handed back: it is due again.
    pub(super) fn put_back(&mut self, returned: Returned) {
        self.returned.push_back(returned);
    }

    /// Whether a request is due again.
    pub(super) fn has_returned(&self) -> bool {
        !self.returned.is_empty()
    }

    /// Takes the request that is due again; none where there is none, as nearly always.
    #[inline]
    pub(super) fn take_returned(&mut self) -> Option<Returned> {
        if self.returned.is_empty() { None } else { self.returned.pop_front() }
    }

    /// Nothing falls due from `end` on; never later than was planned.
    pub(super) fn end_at(&mut self, end: Nanos) {
        self.end = self.end.min(end);
    }

    /// How many requests were due before `now` and are still unsent, at a bounded cost. Those of a trace are exact. Of
    /// others [`TICKS_COUNTED`] are counted, what is beyond them is computed as if they went on as they did so far.
    pub(super) fn backlog_about(&self, now: Nanos) -> u64 {
        let on_schedule = match self.ticks.listed_before(self.end.min(now)) {
            _ if !self.open => 0,
            Some(listed) => listed.min(self.remaining),
            None => self.extrapolated_backlog(now),
        };
        on_schedule + self.returned.len() as u64
    }

    /// The backlog, extrapolated from [`TICKS_COUNTED`] ticks.
    fn extrapolated_backlog(&self, now: Nanos) -> u64 {
        let mut cursor = self.clone();
        cursor.returned.clear();
        cursor.end_at(now);
        let Some(first) = cursor.due(now) else { return 0 };
        for counted in 1..=TICKS_COUNTED {
            cursor.take(1);
            if cursor.due(now).is_none() {
                return counted;
            }
        }
        let (counted, span) = (cursor.next(now).since(first), self.end.min(now).since(first));
        if counted == Nanos::ZERO {
            // Ticks that share a moment cannot be extrapolated.
            return TICKS_COUNTED;
        }
        let all = TICKS_COUNTED as f64 * span.as_secs_f64() / counted.as_secs_f64();
        (all as u64).min(self.remaining)
    }
}

/// How many requests of an open loop fall due in the window, for each of so many loaders: what their results must add up
/// to. None of a closed loop. The whole schedule is walked along.
pub fn scheduled_in_window(settings: &Settings, loaders: u32) -> Option<Vec<u64>> {
    let all = Settings { threads: 1, ..settings.clone() }.with(|job| job.share = None);
    let timeline = crate::WindowLength::of(&all).timeline(&all, Nanos::ZERO);
    let mut schedule = Schedule::new(&all, &timeline, 0);
    if !schedule.is_open() {
        return None;
    }
    let mut counts = vec![0; loaders as usize];
    let mut tick = 0;
    while let Some(due) = schedule.due(Nanos::NEVER) {
        if let Some(count) = counts.get_mut(tick) {
            *count += u64::from(timeline.in_window(due));
        }
        tick = (tick + 1) % counts.len().max(1);
        schedule.take(1);
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::super::ticks::TickSource;
    use super::*;
    use std::sync::Arc;

    const START: Nanos = Nanos::from_secs(77);

    fn schedule(source: TickSource, worker: u64) -> Schedule {
        let ticks = Ticks::at_first(source, START, worker);
        Schedule {
            open: ticks.is_open(),
            ticks,
            end: Nanos::NEVER,
            remaining: u64::MAX,
            returned: VecDeque::new(),
            walked: 0,
        }
    }

    /// One worker's part of a trace.
    fn traced(times: &Arc<[Nanos]>, worker: usize, stride: usize) -> Schedule {
        let source = TickSource::Trace { index: worker, stride, times: Arc::clone(times) };
        schedule(source, worker as u64)
    }

    /// The backlog, one after the other.
    fn walked(schedule: &Schedule, now: Nanos) -> u64 {
        let mut cursor = schedule.clone();
        cursor.end_at(now);
        let mut count = 0;
        while cursor.due(now).is_some() {
            cursor.take(1);
            count += 1;
        }
        count
    }

    #[test]
    fn the_backlog_of_a_burst_is_counted() {
        let times: Arc<[Nanos]> = vec![Nanos::from_millis(500); 10_000].into();
        let now = START + Nanos::from_secs(1);
        assert_eq!(traced(&times, 0, 1).backlog_about(now), 10_000);
        let shares = [0, 1, 2].map(|worker| traced(&times, worker, 3).backlog_about(now));
        assert_eq!(shares, [3_334, 3_333, 3_333]);
        // What falls due now is not late yet.
        assert_eq!(traced(&times, 0, 1).backlog_about(START + Nanos::from_millis(500)), 0);
    }

    #[test]
    fn the_backlog_of_a_trace_is_exact() {
        // Long silences between bursts: nothing of it goes on as it began.
        let times: Arc<[Nanos]> = (0..20_000).map(|i: u64| Nanos(i / 7_000 * 1_000_000 + i / 500)).collect();
        for (worker, stride) in [(0, 1), (0, 4), (3, 4), (5, 7)] {
            for taken in [0, 1, 900] {
                let mut schedule = traced(&times, worker, stride);
                schedule.take(taken);
                for after in [0, 1, 13, 14, 999_999, 1_000_020, 2_000_030, 9_000_000] {
                    let now = START + Nanos(after);
                    assert_eq!(schedule.backlog_about(now), walked(&schedule, now), "{stride} {after}");
                }
                schedule.remaining = 17;
                assert!(schedule.backlog_about(Nanos::NEVER) <= 17);
                schedule.end_at(START);
                assert_eq!(schedule.backlog_about(Nanos::NEVER), 0);
            }
        }
    }

    #[test]
    fn the_backlog_of_even_ticks_goes_on_beyond_those_counted() {
        let even = |gap_ns| schedule(TickSource::Constant { index: 0, stride: 1, gap_ns }, 0);
        assert_eq!(even(1_000.0).backlog_about(START + Nanos(1_000_000)), 1_000);
        assert_eq!(even(1_000.0).backlog_about(START + Nanos(1_000_000_000)), 1_000_000);
        // Ticks that share a moment cannot be extrapolated.
        assert_eq!(even(0.0).backlog_about(START + Nanos(1)), TICKS_COUNTED);
    }
}
