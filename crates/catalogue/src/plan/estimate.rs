//! About how long a plan takes: what its loads ask for, and guesses for what no plan can know.
//!
//! A plan's repeats are cut by it to fit its budget, and `round --estimate` shows it. A round under way corrects the
//! guesses by what it saw. Set-up and builds are not in it.

use super::PlanLoad;
use crate::{Cell, PlannedLaunch};
use paceline_record::VariantKind;
use std::time::Duration;

/// A launch with its validation: half a second for a native server, two for a virtual machine.
const LAUNCH_GUESS: Duration = Duration::from_millis(1_500);
/// A launch's warm-up: the shortest is 8 s, a native server needs little more, a virtual machine 20 s.
const WARM_UP_GUESS: Duration = Duration::from_secs(10);
/// What a trial takes beyond its warm-up and window: connecting, draining, records.
pub const TRIAL_EXTRA_GUESS: Duration = Duration::from_millis(500);
/// A trial that a number of requests bounds, where the plan gives neither its rate nor its usual length.
pub const COUNTED_GUESS: Duration = Duration::from_secs(5);

/// About how long the start of a process takes, its warm-up of at most `steady_within` included.
pub fn launch_guess(steady_within: Duration) -> Duration {
    LAUNCH_GUESS + WARM_UP_GUESS.min(steady_within)
}

/// About how long these launches take, each warmed up for at most `steady_within`.
pub fn estimate(launches: &[PlannedLaunch], steady_within: Duration) -> Duration {
    let of_launch = |launch: &PlannedLaunch| {
        let trials =
            launch.cells.iter().map(|cell| cell.load.expected_length().saturating_add(TRIAL_EXTRA_GUESS));
        // A plan may ask for more requests than there is time.
        let warm_up = if launch.is_warmed() { steady_within } else { Duration::ZERO };
        let start =
            LAUNCH_GUESS.saturating_mul(launch.processes()).saturating_add(WARM_UP_GUESS.min(warm_up));
        trials.fold(start, Duration::saturating_add)
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
    /// Whether it is warmed up before its loads: a server's first run is to be measured as it comes up.
    pub fn is_warmed(&self) -> bool {
        let is_first_run = |cell: &Cell| {
            cell.load.variant.as_ref().is_some_and(|variant| variant.kind == VariantKind::FirstRun)
        };
        !self.cells.iter().any(is_first_run)
    }

    /// How many processes it starts: the instances and the balancer, else the server alone.
    pub fn processes(&self) -> u32 {
        let balanced = self.cells.iter().find_map(|cell| cell.load.balanced.as_ref());
        balanced.map_or(1, |balanced| balanced.instances + 1)
    }
}
