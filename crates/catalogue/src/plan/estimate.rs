//! Estimates how long a plan takes: from its loads, and guesses for the rest.
//!
//! Used to reduce a plan's repeats to fit its budget, and by `round --estimate`. A round in progress corrects the
//! guesses by its own trials. Set-up and builds are not included.

use super::{LaunchWarmUp, PlannedLoad, TRIAL_EXTRA_GUESS};
use crate::PlannedLaunch;
use std::time::Duration;

/// The start of a process with its validation, without its warm-up: half a second for a native server, two for a
/// virtual machine.
pub const LAUNCH_GUESS: Duration = Duration::from_millis(1_500);
/// A trial limited by a number of requests, where the plan gives neither its rate nor its usual length.
pub const COUNTED_GUESS: Duration = Duration::from_secs(5);

/// The estimated time of these launches, each with this warm-up.
pub fn estimate(launches: &[PlannedLaunch], warm_up: LaunchWarmUp) -> Duration {
    let of_launch = |launch: &PlannedLaunch| {
        let trials =
            launch.cells.iter().map(|cell| cell.load.expected_length().saturating_add(TRIAL_EXTRA_GUESS));
        // The requests of a plan may take longer than a `Duration` can hold.
        let warm_up = if launch.is_warmed() { warm_up.guess() } else { Duration::ZERO };
        let start = LAUNCH_GUESS.saturating_mul(launch.processes()).saturating_add(warm_up);
        trials.fold(start, Duration::saturating_add)
    };
    launches.iter().map(of_launch).fold(Duration::ZERO, Duration::saturating_add)
}

impl PlannedLoad {
    /// The expected length of a trial, including its warm-up.
    pub fn expected_length(&self) -> Duration {
        self.usual().unwrap_or(COUNTED_GUESS)
    }
}

impl PlannedLaunch {
    /// Whether it is warmed up before its loads: a server's first run is measured without.
    pub fn is_warmed(&self) -> bool {
        !self.cells.iter().any(|cell| cell.load.is_first_run())
    }

    /// The number of processes: the instances and the balancer, or the server alone.
    pub fn processes(&self) -> u32 {
        let balanced = self.cells.iter().find_map(|cell| cell.load.balanced.as_ref());
        balanced.map_or(1, |balanced| balanced.instances + 1)
    }
}
