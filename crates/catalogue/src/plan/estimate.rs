//! Estimates how long a plan takes: from its loads, and guesses for the rest.
//!
//! Used to reduce a plan's repeats to fit its budget, and by `round --estimate`. A round in progress corrects the
//! guesses by its own trials. Set-up and builds are not included.

use super::{PlanLoad, TRIAL_EXTRA_GUESS};
use crate::{Cell, PlannedLaunch};
use paceline_record::VariantKind;
use std::time::Duration;

/// A launch with its validation: half a second for a native server, two for a virtual machine.
const LAUNCH_GUESS: Duration = Duration::from_millis(1_500);
/// A launch's warm-up: the shortest is 8 s, a native server needs little more, a virtual machine 20 s.
const WARM_UP_GUESS: Duration = Duration::from_secs(10);
/// A trial limited by a number of requests, where the plan gives neither its rate nor its usual length.
pub const COUNTED_GUESS: Duration = Duration::from_secs(5);

/// The estimated time to start a process, including its warm-up of at most `steady_within`.
pub fn launch_guess(steady_within: Duration) -> Duration {
    LAUNCH_GUESS + WARM_UP_GUESS.min(steady_within)
}

/// The estimated time of these launches, each warmed up for at most `steady_within`.
pub fn estimate(launches: &[PlannedLaunch], steady_within: Duration) -> Duration {
    let of_launch = |launch: &PlannedLaunch| {
        let trials =
            launch.cells.iter().map(|cell| cell.load.expected_length().saturating_add(TRIAL_EXTRA_GUESS));
        // The requests of a plan may take longer than a `Duration` can hold.
        let warm_up = if launch.is_warmed() { steady_within } else { Duration::ZERO };
        let start =
            LAUNCH_GUESS.saturating_mul(launch.processes()).saturating_add(WARM_UP_GUESS.min(warm_up));
        trials.fold(start, Duration::saturating_add)
    };
    launches.iter().map(of_launch).fold(Duration::ZERO, Duration::saturating_add)
}

impl PlanLoad {
    /// The expected length of a trial, including its warm-up.
    pub fn expected_length(&self) -> Duration {
        self.usual().unwrap_or(COUNTED_GUESS)
    }
}

impl PlannedLaunch {
    /// Whether it is warmed up before its loads: a server's first run is measured without.
    pub fn is_warmed(&self) -> bool {
        let is_first_run = |cell: &Cell| {
            cell.load.variant.as_ref().is_some_and(|variant| variant.kind == VariantKind::FirstRun)
        };
        !self.cells.iter().any(is_first_run)
    }

    /// The number of processes: the instances and the balancer, or the server alone.
    pub fn processes(&self) -> u32 {
        let balanced = self.cells.iter().find_map(|cell| cell.load.balanced.as_ref());
        balanced.map_or(1, |balanced| balanced.instances + 1)
    }
}
