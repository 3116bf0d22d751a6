//! Integrates and inverts the rate over time exactly, which gives the moment of each arrival from its number.
//!
//! The rate is constant or a straight line on each of a few pieces. Its integral counts the arrivals expected so far;
//! the n-th of even arrivals is due where the integral reaches n. Poisson arrivals at a changing rate are those of rate
//! 1, placed where the integral reaches them: the time change of Çinlar (*Introduction to Stochastic Processes*, 1975,
//! chapter 4, section 7), which needs no rejected candidates as thinning does.

use crate::{Nanos, Shape};
use std::sync::Arc;

/// One stretch of time on which the rate is a straight line. Times are nanoseconds from the beginning of the warm-up,
/// rates arrivals per nanosecond.
#[derive(Clone, Copy, Debug)]
struct RateSegment {
    start: f64,
    end: f64,
    /// Arrivals expected before it.
    before: f64,
    /// The rate at its start.
    rate: f64,
    /// The growth of the rate per nanosecond.
    slope: f64,
}

impl RateSegment {
    /// Arrivals expected in its first `time` nanoseconds.
    fn arrivals(&self, time: f64) -> f64 {
        time * (self.rate + 0.5 * self.slope * time)
    }

    /// Arrivals expected before its end.
    fn after(&self) -> f64 {
        self.before + self.arrivals(self.end - self.start)
    }

    /// The time at which the integral reaches `count`: the root of `slope/2 t² + rate t = count - before`, in the form
    /// that loses no digits if the slope is small or zero (Press et al., *Numerical Recipes*, 3rd edition, section
    /// 5.6).
    fn moment(&self, count: f64) -> f64 {
        let arrivals = count - self.before;
        let root = (self.rate * self.rate + 2.0 * self.slope * arrivals).max(0.0).sqrt();
        (self.start + 2.0 * arrivals / (self.rate + root)).min(self.end)
    }
}

/// The number of requests expected to fall due between two moments, both from the beginning of the warm-up.
pub fn due_between(shape: &Shape, warmup: Nanos, window: Nanos, from: Nanos, to: Nanos) -> f64 {
    let until = |moment: Nanos| match (shape, Profile::from_shape(shape, warmup, window)) {
        (Shape::Trace(trace), _) => trace.moments.partition_point(|time| *time < moment) as f64,
        (_, Some(profile)) => profile.arrivals(moment.0 as f64),
        (_, None) => 0.0,
    };
    (until(to) - until(from)).max(0.0)
}

/// A rate over time, and a cursor into it: moments may only be requested in rising order.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pieces: Arc<[RateSegment]>,
    cursor: usize,
}

impl Profile {
    /// The rate over warm-up and window; none for a trace, which has moments and no rate.
    pub(crate) fn from_shape(shape: &Shape, warmup: Nanos, window: Nanos) -> Option<Self> {
        let (first, mut stretches) = match shape {
            Shape::Trace(_) => return None,
            Shape::Steady { rate } => (rate.get(), vec![(window.0 as f64, rate.get(), rate.get())]),
            Shape::Ramp { from, to } => (from.get(), vec![(window.0 as f64, from.get(), to.get())]),
            Shape::Steps { rates, each } => {
                let step = |rate: &crate::Rate| (each.0 as f64, rate.get(), rate.get());
                (rates.first()?.get(), rates.iter().map(step).collect())
            }
            Shape::Parts { parts } => {
                let stretch = |part: &paceline_job::RatePart| {
                    let [from, to] = part.ends_per_s();
                    (part.length.0 as f64, from, to)
                };
                (parts.first()?.from.get(), parts.iter().map(stretch).collect())
            }
        };
        stretches.insert(0, (warmup.0 as f64, first, first));
        Some(Profile::new(&stretches))
    }

    /// A profile of consecutive stretches, each with its length in nanoseconds and its rates per second at both ends.
    /// The last rate continues forever.
    pub(crate) fn new(stretches: &[(f64, f64, f64)]) -> Self {
        let mut pieces = Vec::with_capacity(stretches.len() + 1);
        let (mut start, mut before, mut last) = (0.0, 0.0, 1.0);
        for &(length, first, to) in stretches.iter().filter(|(length, ..)| *length > 0.0) {
            let slope = (to - first) / 1e9 / length;
            let piece = RateSegment { start, end: start + length, before, rate: first / 1e9, slope };
            (start, before, last) = (piece.end, piece.after(), to / 1e9);
            pieces.push(piece);
        }
        pieces.push(RateSegment { start, end: f64::INFINITY, before, rate: last, slope: 0.0 });
        Self { pieces: pieces.into(), cursor: 0 }
    }

    /// When the integral reaches `count`, in nanoseconds from the beginning of the warm-up. Counts may only grow from
    /// one call to the next.
    #[inline]
    pub(crate) fn moment(&mut self, count: f64) -> f64 {
        while self.pieces.get(self.cursor + 1).is_some_and(|next| next.before <= count) {
            self.cursor += 1;
        }
        self.pieces[self.cursor].moment(count)
    }

    /// Arrivals expected in the first `time` nanoseconds.
    pub(crate) fn arrivals(&self, time: f64) -> f64 {
        let piece = self.pieces.partition_point(|piece| piece.start <= time).saturating_sub(1);
        let piece = &self.pieces[piece];
        piece.before + piece.arrivals((time - piece.start).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_matches_its_closed_form() {
        // From 0.001 to 2,000/s in 10 s: t seconds in, 100 t² have come. The 2,500th comes after 5 s.
        let mut ramp = Profile::new(&[(10e9, 1e-3, 2_000.0)]);
        assert!((ramp.arrivals(10e9) - 10_000.0).abs() < 0.01);
        for (count, seconds) in [(100.0, 1.0), (2_500.0, 5.0), (8_100.0, 9.0)] {
            let moment = ramp.moment(count);
            assert!((moment / 1e9 - seconds).abs() < 1e-4, "{count}: {moment}");
        }
        // After the last stretch the last rate continues.
        assert!((ramp.moment(12_000.005) / 1e9 - 11.0).abs() < 1e-6);
    }

    #[test]
    fn arrival_times_invert_counts_and_never_decrease() {
        for stretches in [
            vec![(2e9, 500.0, 500.0)],
            vec![(1e9, 1e3, 1e3), (10e9, 1e3, 5e4)],
            vec![(1e9, 5e4, 5e4), (10e9, 5e4, 1.0), (3e9, 1.0, 1.0)],
            vec![(1e6, 100.0, 100.0), (1e6, 1e6, 1e6), (1e6, 3.0, 3.0), (1e6, 7e5, 7e5)],
        ] {
            let mut profile = Profile::new(&stretches);
            let mut before = 0.0;
            for count in 0..50_000 {
                let count = f64::from(count) * 0.37;
                let moment = profile.moment(count);
                assert!(moment >= before, "{stretches:?}: {count} at {moment} after {before}");
                assert!((profile.arrivals(moment) - count).abs() < 1e-6, "{stretches:?}: {count}");
                before = moment;
            }
        }
    }
}
