//! For how long the machine was suspended, to memory or to disk.
//!
//! CLOCK_MONOTONIC, by which everything is measured, stands still meanwhile; CLOCK_BOOTTIME does not
//! (clock_gettime(2)). A virtual machine that its host stopped does not notice it by these clocks.

use crate::system;
use serde::{Deserialize, Serialize};

/// A shorter time is no suspend: the thread waited for a core between two readings of the clocks.
const MIN_NS: i64 = 100_000_000;

/// How far CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC at one moment. Only differences have a meaning: a time namespace
/// shifts both clocks (time_namespaces(7)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuspendedTime {
    ahead_ns: i64,
}

impl SuspendedTime {
    /// Reads both clocks.
    pub fn now() -> Self {
        // A thread that waits for a core between two readings makes the difference larger, never smaller.
        let ahead_ns = || {
            let monotonic_ns = system::monotonic_ns().cast_signed();
            system::boottime_ns().cast_signed().saturating_sub(monotonic_ns)
        };
        Self { ahead_ns: ahead_ns().min(ahead_ns()).min(ahead_ns()) }
    }

    /// The time for which the machine was suspended since `earlier`, in seconds; none if it was not.
    pub fn since_s(self, earlier: Self) -> Option<f64> {
        let suspended_ns = self.ahead_ns.saturating_sub(earlier.ahead_ns);
        (suspended_ns >= MIN_NS).then(|| suspended_ns as f64 / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspend_is_the_time_by_which_one_clock_gained_on_the_other() {
        let at = |ahead_ns| SuspendedTime { ahead_ns };
        assert_eq!(at(7_000_000_000).since_s(at(2_000_000_000)), Some(5.0));
        assert_eq!(at(2_000_000_000).since_s(at(2_000_000_000)), None);
        assert_eq!(
            at(2_030_000_000).since_s(at(2_000_000_000)),
            None,
            "the reading thread waited for a core"
        );
        assert_eq!(at(-1_000_000_000).since_s(at(-4_000_000_000)), Some(3.0), "in a time namespace");
    }
}
