//! When is a request due? The schedule is a cursor: the backlog of a stalled server is the distance between the
//! cursor and the clock, never a queue in memory.

use crate::{Arrivals, Bound, Load, Nanos, Random, Settings, Timeline};

/// Ticks counted at most by [`Schedule::backlog_about`]: at most 50 microseconds' worth.
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

/// Where intended sends come from.
#[derive(Clone, Debug)]
enum Ticks {
    /// A closed loop: a request is due whenever a connection is free.
    WhenFree,
    /// Tick i is due i gaps after the start.
    Constant { next: Nanos, index: u64, stride: u64, gap_ns: f64 },
    /// Gaps are exponential. Every worker walks the one sequence of all and takes its own ticks, so that the arrivals
    /// of a seed do not depend on the number of threads.
    Poisson { next: Nanos, at_ns: f64, stride: u64, gap_ns: f64, random: Random },
}

impl Schedule {
    /// The schedule of one worker.
    pub(super) fn new(settings: &Settings, timeline: &Timeline, worker: u32) -> Self {
        let (k, n) = (u64::from(worker), u64::from(settings.threads));
        let remaining = match settings.bound {
            Bound::Duration(_) => u64::MAX,
            Bound::Requests(all) => all / n + u64::from(k < all % n),
        };
        let mut ticks = match settings.load {
            Load::Closed => Ticks::WhenFree,
            Load::Open { rate, arrivals: Arrivals::Constant } => {
                Ticks::Constant { next: Nanos::ZERO, index: k, stride: n, gap_ns: rate.gap_ns() }
            }
            Load::Open { rate, arrivals: Arrivals::Poisson } => {
                let random = Random::new(settings.seed);
                Ticks::Poisson { next: Nanos::ZERO, at_ns: 0.0, stride: n, gap_ns: rate.gap_ns(), random }
            }
        };
        ticks.first(timeline.epoch, k);
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
            Ticks::Constant { next, .. } | Ticks::Poisson { next, .. } => *next,
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

    /// Like [`Schedule::backlog`] at a bounded cost: so many ticks are counted, what is beyond them is computed as if
    /// they went on as they did so far.
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

    /// How many requests were due before `now` and are still unsent.
    pub(super) fn backlog(&self, now: Nanos) -> u64 {
        if !self.is_open() {
            return 0;
        }
        let mut cursor = self.clone();
        cursor.end_at(now);
        let mut due = 0;
        while cursor.due(now).is_some() {
            cursor.take(1);
            due += 1;
        }
        due
    }
}

impl Ticks {
    /// Moves to the first tick of worker `k`.
    fn first(&mut self, start: Nanos, k: u64) {
        match self {
            Ticks::WhenFree => {}
            Ticks::Constant { next, index, gap_ns, .. } => *next = constant(start, *index, *gap_ns),
            Ticks::Poisson { next, at_ns, gap_ns, random, .. } => {
                *next = poisson(start, at_ns, k + 1, *gap_ns, random);
            }
        }
    }

    /// Moves to this worker's next tick.
    #[inline]
    fn advance(&mut self, start: Nanos) {
        match self {
            Ticks::WhenFree => {}
            Ticks::Constant { next, index, stride, gap_ns } => {
                *index += *stride;
                *next = constant(start, *index, *gap_ns);
            }
            Ticks::Poisson { next, at_ns, stride, gap_ns, random } => {
                *next = poisson(start, at_ns, *stride, *gap_ns, random);
            }
        }
    }
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
