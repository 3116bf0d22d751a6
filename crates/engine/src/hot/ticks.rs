//! Where intended sends come from: the moments of the ticks of one worker, one after the other.
//!
//! Worker k of N takes the ticks k, k + N, k + 2N, ... of all. The schedule is their only caller; it knows when they
//! begin and end to count.

use crate::profile::Profile;
use crate::{Arrivals, LoadModel, Nanos, Random, Settings, Shape, Timeline};
use std::sync::Arc;

/// The next tick, and what leads to the one after it.
#[derive(Clone, Debug)]
pub(super) enum Ticks {
    /// A closed loop: a request is due whenever a connection is free.
    WhenFree,
    /// Tick i is due i gaps after the start.
    Constant { next: Nanos, index: u64, stride: u64, gap_ns: f64 },
    /// Gaps are exponential. Every worker walks the one sequence of all and takes its own ticks, so that the arrivals
    /// of a seed do not depend on the number of threads.
    Poisson { next: Nanos, at_ns: f64, stride: u64, gap_ns: f64, random: Random },
    /// The rate changes: a tick is due where the integral of the rate reaches `count`, which grows by one from tick to
    /// tick of all workers, or by an exponential gap of mean one.
    Shaped { next: Nanos, count: f64, stride: u64, profile: Profile, random: Option<Random> },
    /// Each tick is given by a file of send times.
    Trace { next: Nanos, index: usize, stride: usize, times: Arc<[Nanos]> },
}

impl Ticks {
    /// Those of a worker, at the first.
    pub(super) fn new(settings: &Settings, timeline: &Timeline, worker: u32) -> Self {
        let (k, stride) = (u64::from(worker), u64::from(settings.threads));
        let next = Nanos::ZERO;
        let LoadModel::Open { shape, arrivals } = &settings.job.load else { return Ticks::WhenFree };
        let random = (*arrivals == Arrivals::Poisson).then(|| Random::new(settings.seed));
        let mut ticks = match (shape, random) {
            (Shape::Trace(trace), _) => {
                let (index, stride) = (worker as usize, settings.threads as usize);
                Ticks::Trace { next, index, stride, times: Arc::clone(&trace.moments) }
            }
            (Shape::Steady { rate }, None) => {
                Ticks::Constant { next, index: k, stride, gap_ns: rate.gap_ns() }
            }
            (Shape::Steady { rate }, Some(random)) => {
                Ticks::Poisson { next, at_ns: 0.0, stride, gap_ns: rate.gap_ns(), random }
            }
            (shape, random) => {
                let window = timeline.window_end.since(timeline.window_start);
                match Profile::of(shape, settings.job.warmup, window) {
                    Some(profile) => Ticks::Shaped { next, count: 0.0, stride, profile, random },
                    None => Ticks::WhenFree,
                }
            }
        };
        ticks.first(timeline.epoch, k);
        ticks
    }

    /// Moves to the first tick of worker `k`.
    fn first(&mut self, start: Nanos, k: u64) {
        match self {
            Ticks::WhenFree => {}
            Ticks::Constant { next, index, gap_ns, .. } => *next = constant(start, *index, *gap_ns),
            Ticks::Poisson { next, at_ns, gap_ns, random, .. } => {
                *next = poisson(start, at_ns, k + 1, *gap_ns, random);
            }
            Ticks::Shaped { next, count, profile, random, .. } => {
                // The first of even arrivals is due at once, the first of random ones after a gap.
                let ticks = if random.is_some() { k + 1 } else { k };
                *next = shaped(start, count, ticks, profile, random);
            }
            Ticks::Trace { next, index, times, .. } => *next = traced(start, times, *index),
        }
    }

    /// Moves to this worker's next tick.
    #[inline]
    pub(super) fn advance(&mut self, start: Nanos) {
        match self {
            Ticks::WhenFree => {}
            Ticks::Constant { next, index, stride, gap_ns } => {
                *index += *stride;
                *next = constant(start, *index, *gap_ns);
            }
            Ticks::Poisson { next, at_ns, stride, gap_ns, random } => {
                *next = poisson(start, at_ns, *stride, *gap_ns, random);
            }
            Ticks::Shaped { next, count, stride, profile, random } => {
                // Rounding may not let a tick fall before the one that came first.
                *next = shaped(start, count, *stride, profile, random).max(*next);
            }
            Ticks::Trace { next, index, stride, times } => {
                *index += *stride;
                *next = traced(start, times, *index);
            }
        }
    }

    /// The next tick; none in a closed loop.
    #[inline]
    pub(super) fn next(&self) -> Option<Nanos> {
        match self {
            Ticks::WhenFree => None,
            Ticks::Constant { next, .. }
            | Ticks::Poisson { next, .. }
            | Ticks::Shaped { next, .. }
            | Ticks::Trace { next, .. } => Some(*next),
        }
    }

    /// Takes this worker's ticks before `end`, the next of which is one, and at most `most` of them. Where a tick can be
    /// computed without those before it, that costs as many steps as the number of ticks has digits.
    pub(super) fn take_before(&mut self, start: Nanos, end: Nanos, most: u64) -> TickRange {
        let first = self.next().unwrap_or(end);
        let (mut last, mut count) = (first, 1);
        if let Some(past) = self.search(start, end, most) {
            count = past;
            last = self.ahead(start, past - 1).unwrap_or(first);
            self.skip(start, past);
        } else {
            self.advance(start);
            while count < most
                && let Some(next) = self.next().filter(|next| *next < end)
            {
                (last, count) = (next, count + 1);
                self.advance(start);
            }
        }
        TickRange { first, last, count }
    }

    /// How many of this worker's ticks are before `end`, the next of which is one, counted up to `most`; none where ticks
    /// have to be walked.
    fn search(&self, start: Nanos, end: Nanos, most: u64) -> Option<u64> {
        let (mut before, mut past) = (0, 1);
        while past < most && self.ahead(start, past)? < end {
            (before, past) = (past, past.saturating_mul(2));
        }
        past = past.min(most);
        while past - before > 1 {
            let middle = before + (past - before) / 2;
            match self.ahead(start, middle)? < end {
                true => before = middle,
                false => past = middle,
            }
        }
        Some(past)
    }

    /// The tick of this worker so many ticks after the next, where it can be computed.
    fn ahead(&self, start: Nanos, ticks: u64) -> Option<Nanos> {
        let mut ahead = self.clone();
        ahead.skip(start, ticks).then(|| ahead.next())?
    }

    /// Moves on by so many ticks of this worker, where they need not be walked: whether it did.
    fn skip(&mut self, start: Nanos, ticks: u64) -> bool {
        match self {
            Ticks::WhenFree | Ticks::Poisson { .. } | Ticks::Shaped { random: Some(_), .. } => return false,
            Ticks::Constant { next, index, stride, gap_ns } => {
                *index += *stride * ticks;
                *next = constant(start, *index, *gap_ns);
            }
            Ticks::Shaped { next, count, stride, profile, random } => {
                *next = shaped(start, count, *stride * ticks, profile, random).max(*next);
            }
            Ticks::Trace { next, index, stride, times } => {
                *index = index.saturating_add(stride.saturating_mul(ticks as usize));
                *next = traced(start, times, *index);
            }
        }
        true
    }

    /// Random arrivals go on evenly from here, at the rate that they have on average.
    pub(super) fn continue_evenly(&mut self, start: Nanos) {
        match self {
            Ticks::WhenFree | Ticks::Constant { .. } | Ticks::Trace { .. } => {}
            Ticks::Poisson { next, stride, gap_ns, .. } => {
                let index = (next.since(start).0 as f64 / *gap_ns).ceil() as u64;
                *self = Ticks::Constant { next: *next, index, stride: *stride, gap_ns: *gap_ns };
            }
            Ticks::Shaped { random, .. } => *random = None,
        }
    }
}

/// Ticks of a worker in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TickRange {
    pub first: Nanos,
    pub last: Nanos,
    pub count: u64,
}

/// Tick `index` of evenly spaced arrivals: a product, not a sum, so that no rounding error accumulates; rounded down.
#[inline]
fn constant(start: Nanos, index: u64, gap_ns: f64) -> Nanos {
    start + Nanos((index as f64 * gap_ns) as u64)
}

/// Walks `ticks` exponential gaps on; rounded down.
#[inline]
fn poisson(start: Nanos, at_ns: &mut f64, ticks: u64, gap_ns: f64, random: &mut Random) -> Nanos {
    for _ in 0..ticks {
        *at_ns += random.exponential(gap_ns);
    }
    start + Nanos(*at_ns as u64)
}

/// Walks `ticks` arrivals on, each one expected arrival or an exponential gap of mean one further; rounded down.
#[inline]
fn shaped(
    start: Nanos,
    count: &mut f64,
    ticks: u64,
    profile: &mut Profile,
    random: &mut Option<Random>,
) -> Nanos {
    match random {
        None => *count += ticks as f64,
        Some(random) => (0..ticks).for_each(|_| *count += random.exponential(1.0)),
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
