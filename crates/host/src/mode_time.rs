//! How CPU time divides into user and kernel mode.
//!
//! The kernel attributes CPU time to a mode at each timer tick, so the division is a sample, whatever unit it is
//! printed in. A CPU time that was measured more precisely is divided by these shares.

use crate::process::Stat;
use crate::system;
use serde::{Deserialize, Serialize};

/// Below this many ticks of CPU time the shares mean nothing: with ten, a share of one half has a standard error of
/// 0.16 (binomial distribution).
const MIN_TICKS: f64 = 10.0;

/// CPU time in each mode, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModeTime {
    /// In user mode.
    pub user_s: f64,
    /// In kernel mode.
    pub system_s: f64,
}

impl ModeTime {
    /// From clock ticks: all of them, and those in kernel mode.
    pub fn from_ticks(all: u64, system: u64) -> Self {
        let seconds = |ticks: u64| ticks as f64 / system::ticks_per_s();
        Self { user_s: seconds(all.saturating_sub(system)), system_s: seconds(system) }
    }

    /// Of processes and of the children that they waited for.
    pub(crate) fn of_processes<'a>(stats: impl IntoIterator<Item = &'a Stat>) -> Self {
        let of_one = |stat: &Stat| {
            let system = stat.system_ticks.saturating_add(stat.children_system_ticks);
            Self::from_ticks(stat.cpu_ticks.saturating_add(stat.children_ticks), system)
        };
        stats.into_iter().map(of_one).fold(Self::default(), Self::plus)
    }

    /// The sum of two.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { user_s: self.user_s + other.user_s, system_s: self.system_s + other.system_s }
    }

    /// The increase since `earlier`. A process that has ended may have taken its time with it: then a part is zero.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        let grown = |now: f64, then: f64| (now - then).max(0.0);
        Self { user_s: grown(self.user_s, earlier.user_s), system_s: grown(self.system_s, earlier.system_s) }
    }

    /// Both modes together.
    pub fn total_s(self) -> f64 {
        self.user_s + self.system_s
    }

    /// A CPU time of the same period, measured in another way, divided by these shares: the parts add up to it. None if
    /// fewer than ten ticks were counted.
    pub fn divide(self, cpu_s: f64) -> Option<Self> {
        let total_s = self.total_s();
        // Rounded, because a sum of decimal fractions may be slightly less than a whole number of ticks.
        let ticks = (total_s * system::ticks_per_s()).round();
        (ticks >= MIN_TICKS && cpu_s > 0.0).then(|| {
            let system_s = cpu_s * (self.system_s / total_s);
            Self { user_s: cpu_s - system_s, system_s }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_add_up_to_the_time_that_is_divided() {
        for (all, system) in [(10, 0), (10, 10), (10, 3), (1_234, 567)] {
            let parts = ModeTime::from_ticks(all, system).divide(0.777).unwrap();
            assert!((parts.total_s() - 0.777).abs() < 1e-12, "{parts:?}");
            assert!(parts.user_s >= 0.0 && parts.system_s >= 0.0, "{parts:?}");
            assert!((parts.system_s / 0.777 - system as f64 / all as f64).abs() < 1e-9, "{parts:?}");
        }
    }

    #[test]
    fn too_few_ticks_have_no_shares() {
        assert_eq!(ModeTime::from_ticks(9, 4).divide(0.09), None);
        assert!(ModeTime::from_ticks(10, 4).divide(0.1).is_some());
        assert_eq!(ModeTime::from_ticks(100, 4).divide(0.0), None);
    }

    #[test]
    fn a_mode_never_has_less_than_no_time() {
        let (then, now) = (ModeTime::from_ticks(50, 20), ModeTime::from_ticks(60, 10));
        let parts = now.since(then);
        assert_eq!((parts.system_s, parts.user_s > 0.0), (0.0, true), "{parts:?}");
    }
}
