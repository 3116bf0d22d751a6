//! Computes intended sends: the ticks of one worker, one after the other.
//!
//! Worker k of N takes the ticks k, k + N, k + 2N, ... of all. Only the schedule uses this module; it decides when
//! ticks begin and end to count.

use crate::profile::Profile;
use crate::random::RandomGaps;
use crate::{LoadModel, Nanos, Settings, Shape, Timeline};
use std::sync::Arc;

/// The lateness from which on a random tick is checked for others due with it: a timer wakes a thread about this late.
const MIN_LATE: Nanos = Nanos::from_micros(20);

/// The next tick of a worker, and the state for computing the one after it.
#[derive(Clone, Debug)]
pub(super) struct Ticks {
    /// The next tick; no request is due before it. In a closed loop the start.
    next: Nanos,
    /// When the warm-up begins.
    start: Nanos,
    source: TickSource,
}

/// The source of the ticks.
#[derive(Clone, Debug)]
pub(super) enum TickSource {
    /// A closed loop: a request is due whenever a connection is free.
    WhenFree,
    /// Tick i is due i gaps after the start.
    Constant { index: u64, stride: u64, gap_ns: f64 },
    /// Gaps are random. Every worker walks the one sequence of all and takes its own ticks, so that the arrivals of a
    /// seed do not depend on the number of threads.
    Random { at_ns: f64, stride: u64, gap_ns: f64, gaps: RandomGaps },
    /// The rate changes: a tick is due where the integral of the rate reaches `count`, which grows by one from tick to
    /// tick of all workers, or by a random gap of mean one.
    Shaped { count: f64, stride: u64, profile: Profile, gaps: Option<RandomGaps> },
    /// Each tick is given by a file of send times.
    Trace { index: usize, stride: usize, times: Arc<[Nanos]> },
}

/// Consecutive ticks of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TickRange {
    pub first: Nanos,
    pub last: Nanos,
    pub count: u64,
}

impl Ticks {
    /// The ticks of a worker, at the first.
    pub(super) fn new(settings: &Settings, timeline: &Timeline, worker: u32) -> Self {
        let LoadModel::Open { shape, arrivals } = &settings.job.load else {
            return Self::at_first(TickSource::WhenFree, timeline.epoch, 0);
        };
        let (place, places) = settings.place_of(worker);
        let (k, stride) = (u64::from(place), u64::from(places));
        let gaps = RandomGaps::from_arrivals(*arrivals, settings.seed);
        let source = match (shape, gaps) {
            (Shape::Trace(trace), _) => {
                let (index, stride) = (place as usize, places as usize);
                TickSource::Trace { index, stride, times: Arc::clone(&trace.moments) }
            }
            (Shape::Steady { rate }, None) => {
                TickSource::Constant { index: k, stride, gap_ns: rate.gap_ns() }
            }
            (Shape::Steady { rate }, Some(gaps)) => {
                TickSource::Random { at_ns: 0.0, stride, gap_ns: rate.gap_ns(), gaps }
            }
            (Shape::Ramp { .. } | Shape::Steps { .. } | Shape::Parts { .. }, gaps) => {
                let window = timeline.window_end.since(timeline.window_start);
                match Profile::from_shape(shape, settings.job.warmup, window) {
                    Some(profile) => TickSource::Shaped { count: 0.0, stride, profile, gaps },
                    None => TickSource::WhenFree,
                }
            }
        };
        Self::at_first(source, timeline.epoch, k)
    }

    /// The ticks, at the first of worker `k`.
    pub(super) fn at_first(mut source: TickSource, start: Nanos, k: u64) -> Self {
        let next = match &mut source {
            TickSource::WhenFree => start,
            TickSource::Constant { index, gap_ns, .. } => constant(start, *index, *gap_ns),
            TickSource::Random { at_ns, gap_ns, gaps, .. } => random(start, at_ns, k + 1, *gap_ns, gaps),
            TickSource::Shaped { count, profile, gaps, .. } => {
                // The first of even arrivals is due at once, the first of random ones after a gap.
                let ticks = if gaps.is_some() { k + 1 } else { k };
                shaped(start, count, ticks, profile, gaps)
            }
            TickSource::Trace { index, times, .. } => traced(start, times, *index),
        };
        Self { next, start, source }
    }

    /// The next tick; in a closed loop the moment from which on a request is due whenever a connection is free.
    #[inline]
    pub(super) fn next(&self) -> Nanos {
        self.next
    }

    /// Whether requests are due at given moments, whatever the server does.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self.source, TickSource::WhenFree)
    }

    /// Whether a tick can be computed only from the one before it.
    pub(super) fn are_random(&self) -> bool {
        match &self.source {
            TickSource::WhenFree | TickSource::Constant { .. } | TickSource::Trace { .. } => false,
            TickSource::Random { .. } => true,
            TickSource::Shaped { gaps, .. } => gaps.is_some(),
        }
    }

    /// The number of this worker's ticks at or before `at`, counted up to `most`; the next tick is one of them. If
    /// looking ahead costs a random draw for each worker, only a late tick is checked.
    pub(super) fn due_together(&self, at: Nanos, most: u64) -> u64 {
        let is_second_due = match &self.source {
            TickSource::WhenFree => false,
            TickSource::Constant { index, stride, gap_ns } => {
                constant(self.start, index + stride, *gap_ns) <= at
            }
            TickSource::Trace { index, stride, times } => traced(self.start, times, index + stride) <= at,
            TickSource::Random { .. } | TickSource::Shaped { .. } => at.since(self.next) >= MIN_LATE,
        };
        if is_second_due { self.clone().take_before(at + Nanos(1), most).count } else { 1 }
    }

    /// The number of ticks before `end` in a file of send times; none if ticks are computed.
    pub(super) fn listed_before(&self, end: Nanos) -> Option<u64> {
        let TickSource::Trace { index, stride, times } = &self.source else { return None };
        let due = times.partition_point(|time| self.start + *time < end);
        Some(due.saturating_sub(*index).div_ceil(*stride) as u64)
    }

    /// Moves to this worker's next tick. Not inlined, to keep the code of a closed loop small.
    #[inline(never)]
    pub(super) fn advance(&mut self) {
        let start = self.start;
        let next = match &mut self.source {
            TickSource::WhenFree => return,
            TickSource::Constant { index, stride, gap_ns } => {
                *index += *stride;
                constant(start, *index, *gap_ns)
            }
            TickSource::Random { at_ns, stride, gap_ns, gaps } => {
                random(start, at_ns, *stride, *gap_ns, gaps)
            }
            TickSource::Shaped { count, stride, profile, gaps } => {
                shaped(start, count, *stride, profile, gaps)
            }
            TickSource::Trace { index, stride, times } => {
                *index += *stride;
                traced(start, times, *index)
            }
        };
        // Rounding must not put a tick before the previous one.
        self.next = next.max(self.next);
    }

    /// Takes this worker's ticks before `end`, at most `most`; the next tick is one of them. If a tick can be computed
    /// without those before it, the number of steps is that of the digits of the number of ticks.
    pub(super) fn take_before(&mut self, end: Nanos, most: u64) -> TickRange {
        let first = self.next;
        if let Some(count) = self.search(end, most) {
            let last = self.ahead(count - 1).map_or(first, |last| last.next);
            if let Some(ahead) = self.ahead(count) {
                *self = ahead;
            }
            return TickRange { first, last, count };
        }
        let (mut last, mut count) = (first, 1);
        self.advance();
        while count < most && self.next < end {
            (last, count) = (self.next, count + 1);
            self.advance();
        }
        TickRange { first, last, count }
    }

    /// The number of this worker's ticks before `end`, counted up to `most`; the next tick is one of them. None if
    /// ticks have to be walked.
    fn search(&self, end: Nanos, most: u64) -> Option<u64> {
        let (mut before, mut past) = (0, 1);
        while past < most && self.ahead(past)?.next < end {
            (before, past) = (past, past.saturating_mul(2));
        }
        past = past.min(most);
        while past - before > 1 {
            let middle = before + (past - before) / 2;
            match self.ahead(middle)?.next < end {
                true => before = middle,
                false => past = middle,
            }
        }
        Some(past)
    }

    /// The state after this many more ticks of this worker; none if they have to be walked.
    fn ahead(&self, ticks: u64) -> Option<Self> {
        let mut ahead = self.clone();
        let start = self.start;
        let next = match &mut ahead.source {
            TickSource::WhenFree | TickSource::Random { .. } => return None,
            TickSource::Shaped { gaps: Some(_), .. } => return None,
            TickSource::Constant { index, stride, gap_ns } => {
                *index += *stride * ticks;
                constant(start, *index, *gap_ns)
            }
            TickSource::Shaped { count, stride, profile, gaps } => {
                shaped(start, count, *stride * ticks, profile, gaps)
            }
            TickSource::Trace { index, stride, times } => {
                *index = index.saturating_add(stride.saturating_mul(ticks as usize));
                traced(start, times, *index)
            }
        };
        ahead.next = next.max(self.next);
        Some(ahead)
    }

    /// Continues random arrivals evenly from here, at their mean rate.
    pub(super) fn continue_evenly(&mut self) {
        match &mut self.source {
            TickSource::WhenFree | TickSource::Constant { .. } | TickSource::Trace { .. } => {}
            &mut TickSource::Random { stride, gap_ns, .. } => {
                let index = (self.next.since(self.start).0 as f64 / gap_ns).ceil() as u64;
                self.source = TickSource::Constant { index, stride, gap_ns };
            }
            TickSource::Shaped { gaps, .. } => *gaps = None,
        }
    }
}

/// Tick `index` of evenly spaced arrivals: a product, not a sum, so that no rounding error accumulates; rounded down.
#[inline]
fn constant(start: Nanos, index: u64, gap_ns: f64) -> Nanos {
    start + Nanos((index as f64 * gap_ns) as u64)
}

/// Moves on by `ticks` random gaps; rounded down.
#[inline]
fn random(start: Nanos, at_ns: &mut f64, ticks: u64, gap_ns: f64, gaps: &mut RandomGaps) -> Nanos {
    for _ in 0..ticks {
        *at_ns += gaps.draw(gap_ns);
    }
    start + Nanos(*at_ns as u64)
}

/// Moves on by `ticks` arrivals, each one expected arrival or a random gap of mean one further; rounded down.
#[inline]
fn shaped(
    start: Nanos,
    count: &mut f64,
    ticks: u64,
    profile: &mut Profile,
    gaps: &mut Option<RandomGaps>,
) -> Nanos {
    match gaps {
        None => *count += ticks as f64,
        Some(gaps) => (0..ticks).for_each(|_| *count += gaps.draw(1.0)),
    }
    start + Nanos(profile.moment(*count) as u64)
}

/// Tick `index` of a file of send times; never after the last.
#[inline]
fn traced(start: Nanos, times: &[Nanos], index: usize) -> Nanos {
    times.get(index).map_or(Nanos::NEVER, |time| start + *time)
}

#[cfg(test)]
mod tests;
