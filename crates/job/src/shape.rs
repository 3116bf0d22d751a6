//! The shape of an open loop: how the offered rate changes over the window, and the segments in which it is reported.
//!
//! The engine takes the send times and the ends of the segments from it. `check.rs` checks it against the other parts
//! of a job.

use crate::segment::{LoadStretch, SEGMENTS, divide, divide_parts};
use crate::time::seconds;
use crate::{LoadSegment, Nanos, Rate, ReplaySpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// Sends of a schedule within this time are one burst: most responses arrive within it, and it is too short for a
/// meaningful rate.
const BURST: Nanos = Nanos::from_millis(100);
/// Longest extension of the window for the responses to its last burst. A server that needs longer has not kept up.
const ANSWERED_WITHIN: Nanos = Nanos::from_secs(1);

/// How the offered rate changes over the window. The warm-up has the rate of the window's beginning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Shape {
    /// The offered rate stays the same.
    Steady {
        /// The offered rate, in requests per second.
        #[serde(rename = "per_s")]
        rate: Rate,
    },
    /// The offered rate changes linearly from the beginning of the window to its end.
    Ramp {
        /// Requests per second at the beginning.
        #[serde(rename = "from_per_s")]
        from: Rate,
        /// Requests per second at the end.
        #[serde(rename = "to_per_s")]
        to: Rate,
    },
    /// The offered rate changes in steps.
    Steps {
        /// Requests per second of each step.
        #[serde(rename = "rates_per_s")]
        rates: Vec<Rate>,
        /// How long each step lasts, in seconds.
        #[serde(rename = "step_s", with = "seconds")]
        #[schemars(with = "f64")]
        each: Nanos,
    },
    /// The offered rate is constant or changes linearly in each of several parts, one after the other.
    Parts {
        /// The parts, in order.
        parts: Vec<RatePart>,
    },
    /// Requests are sent at the times listed in a file.
    Trace(Trace),
}

/// A part of the window in which the offered rate is constant or changes linearly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RatePart {
    /// Requests per second at its beginning.
    #[serde(rename = "from_per_s")]
    pub from: Rate,
    /// Requests per second at its end.
    #[serde(rename = "to_per_s")]
    pub to: Rate,
    /// Its length, in seconds.
    #[serde(rename = "length_s", with = "seconds")]
    #[schemars(with = "f64")]
    pub length: Nanos,
}

impl RatePart {
    /// The rates at both ends, per second.
    pub fn ends_per_s(&self) -> [f64; 2] {
        [self.from.get(), self.to.get()]
    }
}

/// The times of all sends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trace {
    /// The file that the times were read from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<PathBuf>,
    /// How the file is read if it is an access log whose requests are sent; if missing, it is a list of times.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub replay: Option<ReplaySpec>,
    /// Number of sends in the file.
    #[serde(default)]
    pub sends: u64,
    /// Times since the beginning of the warm-up, never decreasing. Not part of a record: a file may have millions.
    #[serde(skip)]
    pub moments: Arc<[Nanos]>,
    /// The position of each request in a log that is replayed, in bytes. Not part of a record.
    #[serde(skip)]
    pub positions: Arc<[u64]>,
    /// The kind of each of these requests, an index among the job's; empty if it has one. Not part of a record.
    #[serde(skip)]
    pub kinds: Arc<[u8]>,
}

impl From<Vec<Nanos>> for Trace {
    fn from(moments: Vec<Nanos>) -> Self {
        Self { sends: moments.len() as u64, moments: moments.into(), ..Self::default() }
    }
}

impl Trace {
    /// The number of sends from `start` on and before `end`.
    fn sends_between(&self, start: Nanos, end: Nanos) -> usize {
        let before = |end: Nanos| self.moments.partition_point(|moment| *moment < end);
        before(end) - before(start)
    }
}

impl Shape {
    /// The length of a window that contains the whole shape, and the responses to its last sends if the server keeps
    /// up; `None` if the shape has no fixed length.
    pub fn length(&self) -> Option<Nanos> {
        match self {
            Shape::Steady { .. } | Shape::Ramp { .. } => None,
            Shape::Steps { rates, each } => Some(Nanos(each.0.saturating_mul(rates.len() as u64))),
            Shape::Parts { parts } => Some(parts.iter().fold(Nanos::ZERO, |sum, part| sum + part.length)),
            Shape::Trace(Trace { moments, .. }) => Some(*moments.last()? + after_the_last(moments)),
        }
    }

    /// Whether the schedule has several rates, each of which the server keeps up with or not. The times of a trace have
    /// no rate.
    pub fn has_several_rates(&self) -> bool {
        match self {
            Shape::Ramp { .. } | Shape::Steps { .. } | Shape::Parts { .. } => true,
            Shape::Steady { .. } | Shape::Trace(_) => false,
        }
    }

    /// The parts of a window of this length after a warm-up of this length that are reported separately; none if the
    /// rate does not change, or if the times of a trace are not known.
    pub fn segments(&self, warmup: Nanos, window: Nanos) -> Vec<LoadSegment> {
        let whole = [Nanos::ZERO, window];
        let stretches = match self {
            Shape::Steady { .. } => Vec::new(),
            Shape::Ramp { from, to } => divide(whole, [from.get(), to.get()], SEGMENTS).collect(),
            Shape::Steps { rates, each } => divide_parts(rates.iter().map(|rate| (*each, [rate.get(); 2]))),
            Shape::Parts { parts } => divide_parts(parts.iter().map(|part| (part.length, part.ends_per_s()))),
            Shape::Trace(trace) if trace.moments.is_empty() => Vec::new(),
            Shape::Trace(trace) => {
                let offered = |LoadStretch { start, end, .. }| {
                    let sends = trace.sends_between(warmup + start, warmup + end);
                    let mean = sends as f64 / end.since(start).as_secs_f64().max(1e-9);
                    LoadStretch { start, end, mean }
                };
                divide(whole, [0.0; 2], SEGMENTS).map(offered).collect()
            }
        };
        let segment = |LoadStretch { start, end, mean }| LoadSegment {
            start,
            end,
            offered_per_s: Some(mean),
            connections: None,
        };
        stretches.into_iter().map(segment).collect()
    }

    /// Mean offered rate over a window of this length after a warm-up of this length, per second.
    pub fn offered_per_s(&self, warmup: Nanos, window: Nanos) -> f64 {
        match self {
            Shape::Steady { rate } => rate.get(),
            Shape::Ramp { from, to } => (from.get() + to.get()) / 2.0,
            Shape::Steps { rates, .. } => {
                rates.iter().map(|rate| rate.get()).sum::<f64>() / rates.len().max(1) as f64
            }
            Shape::Parts { parts } => {
                let sends = parts.iter().map(|part| {
                    let [from, to] = part.ends_per_s();
                    part.length.as_secs_f64() * (from + to) / 2.0
                });
                let length = parts.iter().map(|part| part.length.as_secs_f64());
                sends.sum::<f64>() / length.sum::<f64>().max(1e-9)
            }
            Shape::Trace(trace) => {
                let sends = trace.sends_between(warmup, warmup + window);
                sends as f64 / window.as_secs_f64().max(1e-9)
            }
        }
    }
}

/// How long the window continues after the last send of a schedule. After even arrivals this is their gap, so that the
/// rate over the window equals theirs. After a burst it is the time that a server needs for the burst if it answers one
/// request after the other at the mean rate, up to [`ANSWERED_WITHIN`]: with a shorter window a server that keeps up
/// would seem not to.
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

    /// How long the window continues after the last of these sends.
    fn after(times: impl IntoIterator<Item = u64>) -> Nanos {
        let times: Vec<Nanos> = times.into_iter().map(Nanos).collect();
        let last = *times.last().unwrap();
        Shape::Trace(times.into()).length().unwrap().since(last)
    }

    const MILLISECOND: u64 = 1_000_000;

    #[test]
    fn even_sends_keep_their_rate() {
        for (gap, count) in [(MILLISECOND, 1_000), (1_000, 200_000), (3_000 * MILLISECOND, 2)] {
            assert_eq!(after((0..count).map(|i| i * gap)), Nanos(gap));
        }
        // If the clock of a log is coarse, several sends have the same time.
        assert_eq!(after((0..5_000).map(|i| i / 5 * MILLISECOND)), Nanos(MILLISECOND * 999 * 5 / 4_999));
    }

    #[test]
    fn a_trace_has_segments_with_the_rates_of_its_sends() {
        // After 1 s of warm-up, 5 s of 100/s and 5 s of 200/s.
        let slow = (0..600).map(|i| i * 10 * MILLISECOND);
        let fast = (0..1_000).map(|i| (6_000 + i * 5) * MILLISECOND);
        let shape = Shape::Trace(slow.chain(fast).map(Nanos).collect::<Vec<_>>().into());
        let segments = shape.segments(Nanos::from_secs(1), Nanos::from_secs(10));
        let rates: Vec<f64> = segments.iter().filter_map(|segment| segment.offered_per_s).collect();
        assert_eq!(rates, [[100.0; 5], [200.0; 5]].concat());
        assert_eq!((segments[9].start, segments[9].end), (Nanos::from_secs(9), Nanos::from_secs(10)));
        assert_eq!(Shape::Trace(Trace::default()).segments(Nanos::ZERO, Nanos::from_secs(1)), []);
    }

    #[test]
    fn parts_have_their_own_lengths() {
        let rate = |rate| Rate::per_second(rate).unwrap();
        let part = |from, to, seconds| RatePart {
            from: rate(from),
            to: rate(to),
            length: Nanos::from_secs(seconds),
        };
        let parts = vec![part(100.0, 300.0, 2), part(300.0, 300.0, 5), part(300.0, 100.0, 1)];
        let shape = Shape::Parts { parts };
        assert_eq!(shape.length(), Some(Nanos::from_secs(8)));
        assert_eq!(shape.offered_per_s(Nanos::ZERO, Nanos::from_secs(8)), 262.5);
        let segments = shape.segments(Nanos::ZERO, Nanos::from_secs(8));
        let offered: Vec<_> = segments.iter().map(|segment| segment.offered_per_s).collect();
        assert_eq!(offered, [Some(150.0), Some(250.0), Some(300.0), Some(200.0)]);
    }

    #[test]
    fn a_burst_at_the_end_can_be_answered() {
        // A burst without other sends, and a single send.
        assert_eq!(after([MILLISECOND; 100]), ANSWERED_WITHIN);
        assert_eq!(after((0..100).map(|i| i * 50_000)), ANSWERED_WITHIN);
        assert_eq!(after([0]), ANSWERED_WITHIN);
        // Five seconds of 100/s, then 20 sends at or nearly at once: one mean gap for each.
        let even = || (0..500).map(|i| i * 10 * MILLISECOND);
        let burst = |apart: u64| after(even().chain((0..20).map(|i| 5_000 * MILLISECOND + i * apart)));
        assert_eq!(burst(0), Nanos(5_000 * MILLISECOND * 20 / 519));
        assert!(burst(1_000) > Nanos::from_millis(190) && burst(1_000) < burst(0));
        // A burst every 200 ms.
        let periodic = after((0..1_000).map(|i| i / 100 * 200 * MILLISECOND));
        assert!(periodic > Nanos::from_millis(170) && periodic <= Nanos::from_millis(200), "{periodic}");
    }

    #[test]
    fn the_window_ends_soon_after_the_last_send() {
        // Ten minutes without a send, then a burst: half a second per send on average.
        let silence = 600_000 * MILLISECOND;
        assert_eq!(after((0..1_000).map(|i| i * MILLISECOND).chain([silence; 200])), ANSWERED_WITHIN);
        // A growing rate is not a burst: the last tenth of a second has twice the mean rate.
        let growing = after((1..=10_000_u32).map(|i| (f64::from(i).sqrt() * 1e8) as u64));
        assert!(growing < Nanos::from_millis(150), "{growing}");
    }
}
