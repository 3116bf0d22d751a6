//! The plan of a closed loop whose number of connections changes over the window.
//!
//! The engine follows it; `check.rs` checks it against the other parts of a job.

use crate::segment::{LoadStretch, SEGMENTS, divide, divide_parts};
use crate::time::seconds;
use crate::{LoadSegment, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the number of connections changes over the window. The warm-up has the number of the window's beginning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ConnectionPlan {
    /// The number changes evenly from the beginning of the window to its end.
    Ramp {
        /// Connections at the beginning.
        from: u32,
        /// Connections at the end.
        to: u32,
    },
    /// The number is constant or changes evenly in each of several parts, one after the other.
    Parts {
        /// The parts, in order.
        parts: Vec<ConnectionPart>,
    },
}

/// A part of the window in which the number of connections is constant or changes evenly: every number in between is
/// held for the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionPart {
    /// Connections at its beginning.
    pub from: u32,
    /// Connections at its end.
    pub to: u32,
    /// Its length, in seconds.
    #[serde(rename = "length_s", with = "seconds")]
    #[schemars(with = "f64")]
    pub length: Nanos,
}

impl ConnectionPart {
    /// The number of connections after a time less than its length, and the end of the time with this number.
    fn at(&self, elapsed: Nanos) -> (u32, Nanos) {
        let numbers = u128::from(self.from.abs_diff(self.to)) + 1;
        let length = u128::from(self.length.0.max(1));
        let passed = u128::from(elapsed.0) * numbers / length;
        let until = ((passed + 1) * length).div_ceil(numbers);
        let passed = passed as u32;
        let number = if self.to < self.from { self.from - passed } else { self.from + passed };
        (number, Nanos(until as u64))
    }
}

impl ConnectionPlan {
    /// A part by its index. A ramp is one part, as long as the window.
    fn part(&self, index: usize, window: Nanos) -> Option<ConnectionPart> {
        match self {
            Self::Ramp { from, to } if index == 0 => {
                Some(ConnectionPart { from: *from, to: *to, length: window })
            }
            Self::Ramp { .. } => None,
            Self::Parts { parts } => parts.get(index).copied(),
        }
    }

    fn parts(&self, window: Nanos) -> impl Iterator<Item = ConnectionPart> + '_ {
        (0..).map_while(move |index| self.part(index, window))
    }

    /// The lowest and the highest number of connections; 0 without parts.
    pub fn range(&self) -> (u32, u32) {
        let ends = || self.parts(Nanos::ZERO).flat_map(|part| [part.from, part.to]);
        (ends().min().unwrap_or(0), ends().max().unwrap_or(0))
    }

    /// The length of a window that contains all parts; `None` for a ramp, which has the length of the window.
    pub fn length(&self) -> Option<Nanos> {
        match self {
            Self::Ramp { .. } => None,
            Self::Parts { parts } => Some(parts.iter().fold(Nanos::ZERO, |sum, part| sum + part.length)),
        }
    }

    /// The number of connections at a moment of a window of this length, counted from its beginning, and when it
    /// changes next; [`Nanos::NEVER`] after the last part.
    pub fn at(&self, window: Nanos, moment: Nanos) -> (u32, Nanos) {
        let (mut start, mut number) = (Nanos::ZERO, 0);
        for part in self.parts(window) {
            let end = start + part.length;
            if moment < end {
                let (number, until) = part.at(moment.since(start));
                return (number, start + until);
            }
            (start, number) = (end, part.to);
        }
        (number, Nanos::NEVER)
    }

    /// The highest number of connections up to a moment of a window of this length.
    pub fn most_until(&self, window: Nanos, moment: Nanos) -> u32 {
        let (mut start, mut most) = (Nanos::ZERO, self.at(window, moment).0);
        for part in self.parts(window) {
            if start <= moment {
                most = most.max(part.from);
            }
            start += part.length;
            if start <= moment {
                most = most.max(part.to);
            }
        }
        most
    }

    /// The segments of a window of this length.
    pub fn segments(&self, window: Nanos) -> Vec<LoadSegment> {
        let stretches = match self {
            Self::Ramp { from, to } => {
                divide([Nanos::ZERO, window], [f64::from(*from), f64::from(*to)], SEGMENTS).collect()
            }
            Self::Parts { parts } => {
                divide_parts(parts.iter().map(|part| (part.length, [part.from, part.to].map(f64::from))))
            }
        };
        let segment = |stretch: LoadStretch| LoadSegment {
            start: stretch.start,
            end: stretch.end,
            offered_per_s: None,
            connections: Some(stretch.mean),
        };
        stretches.into_iter().map(segment).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of a plan with the times at which they begin, in milliseconds.
    fn numbers(plan: &ConnectionPlan, window_ms: u64) -> Vec<(u64, u32)> {
        let (window, mut at, mut found) = (Nanos::from_millis(window_ms), Nanos::ZERO, Vec::new());
        while at != Nanos::NEVER {
            let (number, until) = plan.at(window, at);
            assert!(until > at, "{plan:?} at {at}");
            found.push((at.0 / 1_000_000, number));
            at = until;
        }
        found
    }

    fn part(from: u32, to: u32, length_ms: u64) -> ConnectionPart {
        ConnectionPart { from, to, length: Nanos::from_millis(length_ms) }
    }

    #[test]
    fn every_number_of_a_ramp_is_held_for_the_same_time() {
        let up = ConnectionPlan::Ramp { from: 1, to: 4 };
        assert_eq!(numbers(&up, 1_000), [(0, 1), (250, 2), (500, 3), (750, 4), (1_000, 4)]);
        let down = ConnectionPlan::Ramp { from: 4, to: 1 };
        assert_eq!(numbers(&down, 400), [(0, 4), (100, 3), (200, 2), (300, 1), (400, 1)]);
        // The mean over the window is that of both ends, however the length divides.
        let odd = ConnectionPlan::Ramp { from: 2, to: 9 };
        let (window, mut at, mut sum) = (Nanos(1_000_003), Nanos::ZERO, 0.0);
        while at < window {
            let (number, until) = odd.at(window, at);
            sum += f64::from(number) * until.since(at).0 as f64;
            at = until;
        }
        assert!((sum / window.0 as f64 - 5.5).abs() < 1e-4, "{sum}");
    }

    #[test]
    fn parts_follow_each_other() {
        let plan = ConnectionPlan::Parts { parts: vec![part(1, 2, 200), part(2, 2, 300), part(5, 4, 100)] };
        assert_eq!(plan.length(), Some(Nanos::from_millis(600)));
        assert_eq!(plan.range(), (1, 5));
        let expected = [(0, 1), (100, 2), (200, 2), (500, 5), (550, 4), (600, 4)];
        assert_eq!(numbers(&plan, 600), expected);
        let most = |millis| plan.most_until(Nanos::from_millis(600), Nanos::from_millis(millis));
        assert_eq!([0, 99, 150, 499, 500, 599].map(most), [1, 1, 2, 2, 5, 5]);
        let means: Vec<_> = plan.segments(Nanos::ZERO).iter().map(|segment| segment.connections).collect();
        assert_eq!(means, [Some(1.5), Some(2.0), Some(4.5)]);
    }
}
