//! About how long a plan takes: what its loads ask for, and guesses for what no plan can know.
//!
//! A plan's repeats are cut by it to fit its budget, and `round --estimate` shows it. A round under way corrects the
//! guesses by what it saw. Set-up and builds are not in it.

use super::PlanLoad;
use crate::PlannedLaunch;
use std::time::Duration;

/// A launch with its validation: half a second for a native server, two for a virtual machine.
pub const LAUNCH_GUESS: Duration = Duration::from_millis(1_500);
/// What a trial takes beyond its warm-up and window: connecting, draining, records.
pub const TRIAL_EXTRA_GUESS: Duration = Duration::from_millis(500);
/// A trial that a number of requests bounds, where the plan gives neither its rate nor its usual length.
pub const COUNTED_GUESS: Duration = Duration::from_secs(5);

/// About how long these launches take.
pub fn estimate(launches: &[PlannedLaunch]) -> Duration {
    let of_launch = |launch: &PlannedLaunch| {
        let trials =
            launch.cells.iter().map(|cell| cell.load.expected_length().saturating_add(TRIAL_EXTRA_GUESS));
        // A plan may ask for more requests than there is time.
        trials.fold(LAUNCH_GUESS.saturating_mul(launch.processes()), Duration::saturating_add)
    };
    launches.iter().map(of_launch).fold(Duration::ZERO, Duration::saturating_add)
}

impl PlanLoad {
    /// How long a trial of it is expected to take, warm-up included.
    pub fn expected_length(&self) -> Duration {
        self.usual().unwrap_or(COUNTED_GUESS)
    }
}

impl PlannedLaunch {
    /// How many processes it starts: the instances and the balancer, else the server alone.
    pub fn processes(&self) -> u32 {
        let balanced = self.cells.iter().find_map(|cell| cell.load.balanced.as_ref());
        balanced.map_or(1, |balanced| balanced.instances + 1)
    }
}
