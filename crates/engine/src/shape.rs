//! The shape of an open loop: how the offered rate changes over the window, and the segments it is reported in.

use crate::profile::Profile;
use crate::{Nanos, Rate};
use std::sync::Arc;

/// Segments a ramp is reported in: enough to see where it breaks, long enough for percentiles of each.
const RAMP_SEGMENTS: u64 = 10;

/// How the offered rate changes. The warm-up is at the rate the window begins with.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// It does not.
    Steady(Rate),
    /// It changes evenly from the beginning of the window to its end.
    Ramp {
        /// At the window's beginning.
        from: Rate,
        /// At its end.
        to: Rate,
    },
    /// It changes at once, several times.
    Steps {
        /// One rate after the other.
        rates: Arc<[Rate]>,
        /// How long each lasts.
        each: Nanos,
    },
    /// Every send has its moment, from the beginning of the warm-up on; they do not fall.
    Trace(Arc<[Nanos]>),
}

/// A part of the window with a block of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// When it begins, from the beginning of the window.
    pub start: Nanos,
    /// When it ends.
    pub end: Nanos,
    /// The rate offered when it begins, per second.
    pub from_per_s: f64,
    /// The rate offered when it ends.
    pub to_per_s: f64,
}

impl Segment {
    /// The mean rate offered in it, per second: the rate is a straight line.
    pub fn offered_per_s(&self) -> f64 {
        (self.from_per_s + self.to_per_s) / 2.0
    }
}

impl Shape {
    /// The length of a window that holds all of it; none where the shape has no length of its own.
    pub fn length(&self) -> Option<Nanos> {
        match self {
            Shape::Steady(_) | Shape::Ramp { .. } => None,
            Shape::Steps { rates, each } => Some(Nanos(each.0.saturating_mul(rates.len() as u64))),
            Shape::Trace(times) => {
                let (first, last) = (times.first()?.0, times.last()?.0);
                // The gap after the last send belongs to the window, as it does for even arrivals.
                let gap = (last - first) / (times.len() as u64 - 1).max(1);
                Some(Nanos(last.saturating_add(gap.max(1))))
            }
        }
    }

    /// The parts of a window of this length that are reported apart; none where nothing changes.
    pub fn segments(&self, window: Nanos) -> Vec<Segment> {
        match self {
            Shape::Steady(_) | Shape::Trace(_) => Vec::new(),
            Shape::Ramp { from, to } => {
                let (from, to) = (from.get(), to.get());
                let edge =
                    |i: u64| Nanos((u128::from(window.0) * u128::from(i) / u128::from(RAMP_SEGMENTS)) as u64);
                let rate = |i: u64| from + (to - from) * i as f64 / RAMP_SEGMENTS as f64;
                let segment = |i| Segment {
                    start: edge(i),
                    end: edge(i + 1),
                    from_per_s: rate(i),
                    to_per_s: rate(i + 1),
                };
                (0..RAMP_SEGMENTS).map(segment).collect()
            }
            Shape::Steps { rates, each } => {
                let steps = rates.iter().zip(0u64..);
                let edge = |i: u64| Nanos(each.0.saturating_mul(i));
                let segment = |(rate, i): (&Rate, u64)| Segment {
                    start: edge(i),
                    end: edge(i + 1),
                    from_per_s: rate.get(),
                    to_per_s: rate.get(),
                };
                steps.map(segment).collect()
            }
        }
    }

    /// Mean rate offered over a window of this length after such a warm-up, per second.
    pub fn offered_per_s(&self, warmup: Nanos, window: Nanos) -> f64 {
        match self {
            Shape::Steady(rate) => rate.get(),
            Shape::Ramp { from, to } => (from.get() + to.get()) / 2.0,
            Shape::Steps { rates, .. } => {
                rates.iter().map(|rate| rate.get()).sum::<f64>() / rates.len().max(1) as f64
            }
            Shape::Trace(times) => {
                let before = |end: Nanos| times.partition_point(|time| *time < end);
                let sends = before(warmup + window) - before(warmup);
                sends as f64 / window.as_secs_f64().max(1e-9)
            }
        }
    }

    /// How many requests are expected to fall due between two moments, both from the beginning of the warm-up.
    pub fn due_between(&self, warmup: Nanos, window: Nanos, from: Nanos, to: Nanos) -> f64 {
        let until = |moment: Nanos| match (self, self.profile(warmup, window)) {
            (Shape::Trace(times), _) => times.partition_point(|time| *time < moment) as f64,
            (_, Some(profile)) => profile.arrivals(moment.0 as f64),
            (_, None) => 0.0,
        };
        (until(to) - until(from)).max(0.0)
    }

    /// The rate over warm-up and window; none of a trace, which has moments and no rate.
    pub(crate) fn profile(&self, warmup: Nanos, window: Nanos) -> Option<Profile> {
        let (first, mut stretches) = match self {
            Shape::Trace(_) => return None,
            Shape::Steady(rate) => (rate.get(), vec![(window.0 as f64, rate.get(), rate.get())]),
            Shape::Ramp { from, to } => (from.get(), vec![(window.0 as f64, from.get(), to.get())]),
            Shape::Steps { rates, each } => {
                let step = |rate: &Rate| (each.0 as f64, rate.get(), rate.get());
                (rates.first()?.get(), rates.iter().map(step).collect())
            }
        };
        stretches.insert(0, (warmup.0 as f64, first, first));
        Some(Profile::new(&stretches))
    }
}
