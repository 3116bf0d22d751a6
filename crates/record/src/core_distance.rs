//! How far apart the cores of server and generator were around a trial's window.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A distance differs from the usual one if their ratio is above this. On a virtual
/// machine with AMD EPYC the usual distance varied by a quarter; two other placements had 0.6 and 4 times of it.
const MAX_RATIO: f64 = 1.4;

/// The time that a cache line takes from the server's first core to the generator's, in nanoseconds. A virtual machine's
/// host may move its cores at any time, and responses over loopback cost more the farther they are apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoreDistance {
    /// The usual distance: the first quartile of those that the round had seen before the trial.
    pub usual_ns: f64,
    /// Immediately before the load.
    pub before_ns: f64,
    /// Immediately after it; none if it could not be measured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after_ns: Option<f64>,
    /// How long the load was delayed because the distance was not the usual one, in seconds.
    pub waited_s: f64,
}

impl CoreDistance {
    /// Whether a distance is about the usual one.
    pub fn is_usual(&self, distance_ns: f64) -> bool {
        (self.usual_ns / MAX_RATIO..=self.usual_ns * MAX_RATIO).contains(&distance_ns)
    }

    /// The distance before or after the load that was not the usual one.
    pub fn unusual_ns(&self) -> Option<f64> {
        [Some(self.before_ns), self.after_ns]
            .into_iter()
            .flatten()
            .find(|distance_ns| !self.is_usual(*distance_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::CoreDistance;

    #[test]
    fn cores_that_were_moved_are_told_from_noise() {
        let of = |before_ns, after_ns| CoreDistance { usual_ns: 50.0, before_ns, after_ns, waited_s: 0.0 };
        assert_eq!(of(46.0, Some(63.0)).unusual_ns(), None);
        assert_eq!(of(46.0, None).unusual_ns(), None);
        assert_eq!(of(52.0, Some(210.0)).unusual_ns(), Some(210.0));
        assert_eq!(of(31.0, Some(50.0)).unusual_ns(), Some(31.0));
    }
}
