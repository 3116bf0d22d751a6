//! How much time taken by the environment spoils: one scale for a run's own verdicts and a trial's.
//!
//! What spoils a trial makes the lab try it once more, so that the scale also says what is worth another try.

use super::Severity;

/// Share of time lost to other processes or to the hypervisor that is worth saying: the 99th percentile may be theirs.
const WORTH_SAYING: f64 = 0.01;
/// And the share above which the environment spoiled the number: one request in ten met somebody else's work, so that
/// the rate is off by about as much and percentiles from the 90th on are not the server's. Above the same share the
/// self-test calls a machine unfit.
pub const DISTURBANCE_MOST: f64 = 0.1;

/// How much a share of time that the environment took spoils; none where it is not worth saying.
pub(super) fn disturbance(share: f64) -> Option<Severity> {
    if share > DISTURBANCE_MOST {
        Some(Severity::Invalid)
    } else {
        (share > WORTH_SAYING).then_some(Severity::Caution)
    }
}
