//! Delays a trial until its cores are as far apart as usual.
//!
//! The host of a virtual machine moves virtual cores between its own. While the server's and the generator's core share
//! no cache, every response over loopback costs more: 98,000 instead of 116,000 responses per second were measured, in
//! turns of ten to thirty seconds. A trial therefore begins at the usual distance, and one during which it changed is
//! repeated (`round/round_launch.rs`).

use crate::LabError;
use paceline_host::{Interrupt, core_distance_ns};
use paceline_record::{CoreDistance, Pinning, Trial};
use paceline_stats::quantile_of_sorted;
use std::time::{Duration, Instant};

/// Between two measurements: one takes a millisecond of both cores.
const PAUSE: Duration = Duration::from_millis(200);

/// A longer load, or a search, lasts through several placements of its cores: it is measured over all of them.
pub const MAX_PLACED_LOAD: Duration = Duration::from_secs(15);
/// How often a load is measured on one launch while the host moves its cores.
pub const MAX_PLACED_ATTEMPTS: u32 = 3;

/// The core distances that a round, or an experiment, has seen.
#[derive(Debug)]
pub struct CoreDistances {
    /// Whether a hypervisor may move the cores; otherwise there is nothing to measure.
    may_change: bool,
    /// Ascending.
    seen_ns: Vec<f64>,
}

impl CoreDistances {
    /// Those of earlier sittings.
    pub fn from_trials(kept: &[Trial], may_change: bool) -> Self {
        let mut distances = Self { may_change, seen_ns: Vec::new() };
        let seen = kept.iter().filter_map(|trial| trial.core_distance);
        seen.for_each(|distance| distances.learn(distance.before_ns));
        distances
    }

    fn learn(&mut self, distance_ns: f64) {
        let place = self.seen_ns.partition_point(|seen| *seen < distance_ns);
        self.seen_ns.insert(place, distance_ns);
    }

    /// The distance at which trials are measured: the lower one if both are common, but not a rare one. None before the
    /// first.
    fn usual_ns(&self) -> Option<f64> {
        (!self.seen_ns.is_empty()).then(|| quantile_of_sorted(&self.seen_ns, 0.25))
    }

    /// Learns the usual distance for so long.
    ///
    /// # Errors
    /// [`LabError::Interrupted`] on Ctrl-C.
    pub fn observe(
        &mut self,
        pinning: &Pinning,
        length: Duration,
        interrupt: Interrupt,
    ) -> Result<(), LabError> {
        let began = Instant::now();
        while self.may_change && began.elapsed() < length {
            let Some(distance_ns) = measure(pinning) else { return Ok(()) };
            self.learn(distance_ns);
            pause(interrupt)?;
        }
        Ok(())
    }

    /// Waits until the cores of a trial are as far apart as usual, at most `limit`. None if they cannot be moved, are not
    /// disjoint, or are in use.
    ///
    /// # Errors
    /// [`LabError::Interrupted`] on Ctrl-C.
    pub fn settle(
        &mut self,
        pinning: &Pinning,
        limit: Duration,
        interrupt: Interrupt,
    ) -> Result<Option<CoreDistance>, LabError> {
        let Some(first_ns) = self.may_change.then(|| measure(pinning)).flatten() else { return Ok(None) };
        // Only the first one: a long wait would make an unusual distance a usual one.
        self.learn(first_ns);
        let began = Instant::now();
        let mut distance = CoreDistance {
            usual_ns: self.usual_ns().unwrap_or(first_ns),
            before_ns: first_ns,
            after_ns: None,
            waited_s: 0.0,
        };
        while !distance.is_usual(distance.before_ns) && began.elapsed() < limit {
            pause(interrupt)?;
            distance.before_ns = measure(pinning).unwrap_or(distance.before_ns);
            distance.waited_s = began.elapsed().as_secs_f64();
        }
        Ok(Some(distance))
    }
}

/// Adds the distance after the load.
pub fn with_after(distance: CoreDistance, pinning: &Pinning) -> CoreDistance {
    CoreDistance { after_ns: measure(pinning), ..distance }
}

fn measure(pinning: &Pinning) -> Option<f64> {
    let [server, generator] = [&pinning.server, &pinning.generator].map(|cores| cores.first().copied());
    pinning.disjoint.then(|| core_distance_ns(server?, generator?)).flatten()
}

fn pause(interrupt: Interrupt) -> Result<(), LabError> {
    std::thread::sleep(PAUSE);
    if interrupt.requested() { Err(LabError::Interrupted) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::CoreDistances;

    #[test]
    fn the_usual_distance_is_the_lower_of_two_common_ones() {
        let mut distances = CoreDistances::from_trials(&[], true);
        assert_eq!(distances.usual_ns(), None);
        for distance_ns in [50.0, 210.0, 52.0, 215.0, 31.0, 51.0, 210.0, 212.0, 49.0, 50.0] {
            distances.learn(distance_ns);
        }
        assert!((49.0..=52.0).contains(&distances.usual_ns().unwrap()));
    }
}
