//! Determines when a request is due.
//!
//! The schedule is a cursor: the backlog of a stalled server is the distance between the cursor and the clock, never a
//! queue in memory. The times of the ticks are in `ticks.rs`.

use super::blocks::BlockIndex;
use super::ticks::{TickRange, Ticks};
use crate::{Bound, Nanos, Settings, Timeline};
use paceline_job::LoaderShare;
use std::collections::VecDeque;

/// The maximum number of ticks counted by [`Schedule::backlog_about`]: they take some tens of microseconds if they are
/// even. Random ones cost a draw for each tick of every worker, so that many threads take milliseconds.
const TICKS_COUNTED: u64 = 4_000;

/// The maximum number of random ticks of a worker that are walked when the rest of a schedule is counted as unsent:
/// each costs a draw for each worker.
const TICKS_WALKED: u64 = 1 << 20;

/// A request that a server handed back unprocessed: it is still due, with its original intended send.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReturnedRequest {
    /// The intended send.
    pub intended: Nanos,
    /// When it was first sent.
    pub sent: Nanos,
    /// The block in which it is counted.
    pub block: BlockIndex,
    /// The number of times it was handed back, this time included.
    pub returns: u8,
}

/// A cursor into the ticks of one worker. Worker k of N takes the ticks k, k + N, k + 2N, ...
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    ticks: Ticks,
    /// Whether intended sends come from the ticks instead of from free connections.
    open: bool,
    /// No request falls due from this moment on.
    end: Nanos,
    /// The number of requests that may still be scheduled.
    remaining: u64,
    /// Requests that were handed back: due before all others, at most as many as were in flight.
    returned: VecDeque<ReturnedRequest>,
    /// The number of ticks taken without being sent.
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

    /// Whether intended sends come from the clock instead of from free connections.
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

    /// When the next request is due, given a free connection; [`Nanos::NEVER`] if there is none.
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

    /// The number of requests of an open loop that are due at `at`, counted up to `most`; the next one is due.
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

    /// Takes the ticks before `end` off the schedule of an open loop; the first of them is due. Random ones are walked
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

    /// The maximum number of requests that may still be sent.
    pub(super) fn remaining(&self) -> u64 {
        self.remaining.saturating_add(self.returned.len() as u64)
    }

    /// Makes a request due again that was handed back.
    pub(super) fn put_back(&mut self, returned: ReturnedRequest) {
        self.returned.push_back(returned);
    }

    /// Whether a request is due again.
    pub(super) fn has_returned(&self) -> bool {
        !self.returned.is_empty()
    }

    /// Takes the request that is due again; nearly always none.
    #[inline]
    pub(super) fn take_returned(&mut self) -> Option<ReturnedRequest> {
        if self.returned.is_empty() { None } else { self.returned.pop_front() }
    }

    /// Ends the schedule at `end`; never later than planned.
    pub(super) fn end_at(&mut self, end: Nanos) {
        self.end = self.end.min(end);
    }

    /// The number of requests that were due before `now` and are still unsent, at a bounded cost. Exact for a trace.
    /// Otherwise [`TICKS_COUNTED`] are counted, and the rest is extrapolated from them.
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
            // Ticks at the same moment cannot be extrapolated.
            return TICKS_COUNTED;
        }
        let all = TICKS_COUNTED as f64 * span.as_secs_f64() / counted.as_secs_f64();
        (all as u64).min(self.remaining)
    }
}

/// The number of requests of an open loop that fall due in the window, for each of `loaders`: their results must add up
/// to it. None for a closed loop. Walks the whole schedule if its arrivals are random.
pub fn scheduled_in_window(settings: &Settings, loaders: u32) -> Option<Vec<u64>> {
    let share = |share| Settings { threads: 1, ..settings.clone() }.with(|job| job.share = share);
    let all = share(None);
    let timeline = crate::WindowLength::from_settings(&all).timeline(&all, Nanos::ZERO);
    let schedule = Schedule::new(&all, &timeline, 0);
    if !schedule.is_open() {
        return None;
    }
    if schedule.ticks.are_random() {
        return Some(walk_window(schedule, &timeline, loaders));
    }
    let of_loader = |index| {
        let settings = share(Some(LoaderShare { index, of: loaders }));
        count_window(Schedule::new(&settings, &timeline, 0), &timeline)
    };
    Some((0..loaders).map(of_loader).collect())
}

/// The requests of a schedule that fall due in the window, for each of `loaders`, which take turns.
fn walk_window(mut schedule: Schedule, timeline: &Timeline, loaders: u32) -> Vec<u64> {
    let mut counts = vec![0; loaders as usize];
    let mut tick = 0;
    while let Some(due) = schedule.due(Nanos::NEVER) {
        if let Some(count) = counts.get_mut(tick) {
            *count += u64::from(timeline.in_window(due));
        }
        tick = (tick + 1) % counts.len().max(1);
        schedule.take(1);
    }
    counts
}

/// The requests of a schedule without random arrivals that fall due in the window. A day of a high rate has more than can
/// be walked one by one.
fn count_window(mut schedule: Schedule, timeline: &Timeline) -> u64 {
    let mut count = 0;
    while let Some(due) = schedule.due(Nanos::NEVER) {
        let is_early = due < timeline.window_start;
        let taken = schedule.take_before(if is_early { timeline.window_start } else { timeline.window_end });
        count += if is_early { 0 } else { taken.count };
    }
    count
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

    /// The backlog, counted one by one.
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
        // A request that falls due now is not late yet.
        assert_eq!(traced(&times, 0, 1).backlog_about(START + Nanos::from_millis(500)), 0);
    }

    #[test]
    fn the_backlog_of_a_trace_is_exact() {
        // Long silences between bursts, which cannot be extrapolated from the beginning.
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
    fn the_backlog_of_even_ticks_is_extrapolated() {
        let even = |gap_ns| schedule(TickSource::Constant { index: 0, stride: 1, gap_ns }, 0);
        assert_eq!(even(1_000.0).backlog_about(START + Nanos(1_000_000)), 1_000);
        assert_eq!(even(1_000.0).backlog_about(START + Nanos(1_000_000_000)), 1_000_000);
        // Ticks at the same moment cannot be extrapolated.
        assert_eq!(even(0.0).backlog_about(START + Nanos(1)), TICKS_COUNTED);
    }
}
