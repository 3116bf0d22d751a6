//! The segments of a load that changes: the parts of the window that are reported separately.

use crate::Nanos;

/// Number of segments of a ramp or a trace: enough to locate the load at which the server fails, and each long enough
/// for percentiles.
pub(crate) const SEGMENTS: u64 = 10;
/// Shortest segment of a ramp that is one of several parts.
const SHORTEST: Nanos = Nanos::from_secs(1);

/// A part of the window with a separate block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadSegment {
    /// Its start, from the beginning of the window.
    pub start: Nanos,
    /// Its end.
    pub end: Nanos,
    /// The mean offered rate, per second; open loop.
    pub offered_per_s: Option<f64>,
    /// The mean number of planned connections, if that changes.
    pub connections: Option<f64>,
}

/// A stretch of the window with its mean load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LoadStretch {
    pub start: Nanos,
    pub end: Nanos,
    pub mean: f64,
}

/// Divides a stretch in which the load changes linearly into equal ones.
pub(crate) fn divide(
    [start, end]: [Nanos; 2],
    [from, to]: [f64; 2],
    count: u64,
) -> impl Iterator<Item = LoadStretch> {
    let length = u128::from(end.since(start).0);
    let edge = move |i: u64| start + Nanos((length * u128::from(i) / u128::from(count)) as u64);
    let load = move |i: u64| from + (to - from) * i as f64 / count as f64;
    (0..count).map(move |i| LoadStretch {
        start: edge(i),
        end: edge(i + 1),
        mean: (load(i) + load(i + 1)) / 2.0,
    })
}

/// The segments of consecutive parts, each with its length and the loads at both ends: one segment for a constant load, up
/// to [`SEGMENTS`] for a ramp.
pub(crate) fn divide_parts(parts: impl Iterator<Item = (Nanos, [f64; 2])>) -> Vec<LoadStretch> {
    let mut start = Nanos::ZERO;
    let mut stretches = Vec::new();
    for (length, [from, to]) in parts {
        let end = start + length;
        let count = if from == to { 1 } else { (length.0 / SHORTEST.0).clamp(1, SEGMENTS) };
        stretches.extend(divide([start, end], [from, to], count));
        start = end;
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_among_parts_has_segments_of_at_least_a_second() {
        let parts = [(2_500, [10.0, 20.0]), (60_000, [20.0, 20.0]), (500, [20.0, 0.0])];
        let parts = parts.map(|(length, loads)| (Nanos::from_millis(length), loads));
        let found: Vec<_> = divide_parts(parts.into_iter())
            .into_iter()
            .map(|stretch| (stretch.start.0 / 1_000_000, stretch.end.0 / 1_000_000, stretch.mean))
            .collect();
        let expected =
            [(0, 1_250, 12.5), (1_250, 2_500, 17.5), (2_500, 62_500, 20.0), (62_500, 63_000, 10.0)];
        assert_eq!(found, expected);
    }
}
