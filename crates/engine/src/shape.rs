//! The shape of an open loop: how the offered rate changes over the window, and the segments it is reported in.
//!
//! `hot/ticks.rs` takes its moments from it, `hot/blocks.rs` the ends of the segments; the binary asks what was offered
//! for the record, and for each second. Whether a shape fits the run is looked at in `settings.rs`; the integral of a
//! rate is `profile.rs`.

use crate::profile::Profile;
use crate::{Nanos, Rate};
use std::sync::Arc;

/// Segments a ramp is reported in: enough to see where it breaks, long enough for percentiles of each.
const RAMP_SEGMENTS: u64 = 10;
/// Sends of a schedule within so little time are one burst: time enough for nearly every answer, and too little for a
/// rate to mean much.
const BURST: Nanos = Nanos::from_millis(100);
/// Longest time that a window goes on for the answers to the burst it ends with. Who takes longer has not kept up.
const ANSWERED_WITHIN: Nanos = Nanos::from_secs(1);

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
    /// The length of a window that holds all of it, the answers to its last sends too where a server keeps up; none
    /// where the shape has no length of its own.
    pub fn length(&self) -> Option<Nanos> {
        match self {
            Shape::Steady(_) | Shape::Ramp { .. } => None,
            Shape::Steps { rates, each } => Some(Nanos(each.0.saturating_mul(rates.len() as u64))),
            Shape::Trace(times) => Some(*times.last()? + after_the_last(times)),
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

/// How long the window of a schedule goes on after its last send. After even arrivals that is their gap, so that the
/// rate over the window is theirs. After a burst it is as long as a server that answers at the mean rate, one after the
/// other, would be busy with it, up to [`ANSWERED_WITHIN`]: otherwise one that keeps up well would seem not to.
fn after_the_last(times: &[Nanos]) -> Nanos {
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return Nanos::ZERO };
    let length = last.since(*first);
    if length < BURST {
        return ANSWERED_WITHIN;
    }
    let gaps = times.len() as u128 - 1;
    let busy = |sends: u128| Nanos((u128::from(length.0) * sends / gaps) as u64);
    let in_burst = times.iter().rev().map(|time| last.since(*time)).take_while(|before| *before < BURST);
    let busy_after = in_burst.zip(1..).map(|(before, sends)| busy(sends).since(before));
    let longest = busy_after.max().unwrap_or_default();
    longest.min(ANSWERED_WITHIN).max(busy(1)).max(Nanos(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long the window goes on after the last of these sends.
    fn after(times: impl IntoIterator<Item = u64>) -> Nanos {
        let times: Arc<[Nanos]> = times.into_iter().map(Nanos).collect();
        let last = *times.last().unwrap();
        Shape::Trace(times).length().unwrap().since(last)
    }

    const MILLISECOND: u64 = 1_000_000;

    #[test]
    fn even_sends_keep_their_rate() {
        for (gap, count) in [(MILLISECOND, 1_000), (1_000, 200_000), (3_000 * MILLISECOND, 2)] {
            assert_eq!(after((0..count).map(|i| i * gap)), Nanos(gap));
        }
        // Where the clock of a log is coarse, several share a moment.
        assert_eq!(after((0..5_000).map(|i| i / 5 * MILLISECOND)), Nanos(MILLISECOND * 999 * 5 / 4_999));
    }

    #[test]
    fn a_burst_at_the_end_can_be_answered() {
        // Nothing but a burst, and one send alone.
        assert_eq!(after([MILLISECOND; 100]), ANSWERED_WITHIN);
        assert_eq!(after((0..100).map(|i| i * 50_000)), ANSWERED_WITHIN);
        assert_eq!(after([0]), ANSWERED_WITHIN);
        // Five seconds of 100/s, then 20 at once, or nearly: a mean gap for each.
        let even = || (0..500).map(|i| i * 10 * MILLISECOND);
        let burst = |apart: u64| after(even().chain((0..20).map(|i| 5_000 * MILLISECOND + i * apart)));
        assert_eq!(burst(0), Nanos(5_000 * MILLISECOND * 20 / 519));
        assert!(burst(1_000) > Nanos::from_millis(190) && burst(1_000) < burst(0));
        // A burst every 200 ms.
        let periodic = after((0..1_000).map(|i| i / 100 * 200 * MILLISECOND));
        assert!(periodic > Nanos::from_millis(170) && periodic <= Nanos::from_millis(200), "{periodic}");
    }

    #[test]
    fn nobody_waits_long_after_the_last_send() {
        // Ten minutes of silence, then a burst: half a second a send on average.
        let silence = 600_000 * MILLISECOND;
        assert_eq!(after((0..1_000).map(|i| i * MILLISECOND).chain([silence; 200])), ANSWERED_WITHIN);
        // A rate that grows is no burst: the last tenth of a second has twice the mean.
        let growing = after((1..=10_000_u32).map(|i| (f64::from(i).sqrt() * 1e8) as u64));
        assert!(growing < Nanos::from_millis(150), "{growing}");
    }
}
