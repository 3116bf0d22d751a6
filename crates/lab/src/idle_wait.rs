//! Waits until a server is idle after a load, so that the next load does not start with work left from the last.
//!
//! A server may be busy for many seconds after its clients have gone: with their last requests, or with closing their
//! connections. A round waits for it between two cells of a launch (`round/round_launch.rs`) and restarts a server that
//! does not become idle. A server is idle when all its processes together want almost no CPU; one that is waiting for a
//! core is not idle.

use crate::LabError;
use crate::deployment::{CpuTotals, Deployment};
use paceline_host::Interrupt;
use std::time::{Duration, Instant};

/// How long a server may take to become idle after a load, before it is restarted for the next.
pub(crate) const MAX_IDLE_WAIT: Duration = Duration::from_secs(10);
/// How long it may take before the first load: for compilation and garbage collection after its start.
pub(crate) const MAX_FIRST_IDLE_WAIT: Duration = Duration::from_secs(2);
/// It is idle if it wanted little CPU over this long.
const STRETCH: Duration = Duration::from_millis(100);
/// The share of one core that counts as little.
const LITTLE: f64 = 0.1;

/// The result of the wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum IdleWait {
    /// The server is idle, or has ended.
    Idle,
    /// The server was busy until the limit, in the last stretch with `cores`.
    Busy {
        /// CPU time per second.
        cores: f64,
    },
}

/// Waits until `deployment` is idle, at most `most`; `usual` is how many cores it wants when idle.
///
/// # Errors
/// [`LabError::Interrupted`] on Ctrl-C.
pub(crate) fn wait_until_idle(
    deployment: &mut Deployment,
    usual: f64,
    most: Duration,
    interrupt: Interrupt,
) -> Result<IdleWait, LabError> {
    let (began, resolution_s) = (Instant::now(), deployment.cpu_resolution_s());
    // Long enough that the error of an account in ticks is no more than the share that counts as little.
    let stretch = STRETCH.max(Duration::from_secs_f64(resolution_s / LITTLE));
    let mut before = deployment.spent();
    loop {
        std::thread::sleep(stretch);
        if interrupt.requested() {
            return Err(LabError::Interrupted);
        }
        let after = deployment.spent();
        let cores = cores(before, after);
        let is_little = is_little(before, after, usual, resolution_s);
        // A server that got no core used little CPU, but it is waiting for one.
        if is_little && (usual > 0.0 || !deployment.is_runnable()) || deployment.ended().is_some() {
            return Ok(IdleWait::Idle);
        }
        if began.elapsed() >= most {
            return Ok(IdleWait::Busy { cores });
        }
        before = after;
    }
}

/// CPU time per second between two moments.
fn cores(before: CpuTotals, after: CpuTotals) -> f64 {
    let over_s = over_s(before, after);
    if over_s > 0.0 { (after.cpu_s - before.cpu_s).max(0.0) / over_s } else { 0.0 }
}

/// Whether so little more than `usual` was wanted that the server cannot be working. An account in ticks may include
/// one tick that is older.
fn is_little(before: CpuTotals, after: CpuTotals, usual: f64, resolution_s: f64) -> bool {
    let wanted_s = after.cpu_s - before.cpu_s + after.waited_s - before.waited_s;
    wanted_s <= (LITTLE + usual) * over_s(before, after) + resolution_s
}

fn over_s(before: CpuTotals, after: CpuTotals) -> f64 {
    after.monotonic_ns.saturating_sub(before.monotonic_ns) as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::{cores, is_little};
    use crate::deployment::CpuTotals;

    #[test]
    fn a_tenth_of_a_core_counts_as_idle() {
        let at = |ms: u64, cpu_ms: f64, waited_ms: f64| CpuTotals {
            monotonic_ns: ms * 1_000_000,
            cpu_s: cpu_ms * 1e-3,
            waited_s: waited_ms * 1e-3,
        };
        let start = at(100, 500.0, 70.0);
        assert!(is_little(start, at(200, 509.0, 70.0), 0.0, 0.0));
        assert!(!is_little(start, at(200, 511.0, 70.0), 0.0, 0.0));
        // A server that polls for work wants a core all the time.
        assert!(is_little(start, at(200, 605.0, 70.0), 1.0, 0.0));
        // A server that is kept from its core by another process wants it.
        assert!(!is_little(start, at(200, 501.0, 160.0), 0.0, 0.0));
        // In ticks of 10 ms one may belong to the time before; two cannot.
        assert!(is_little(start, at(200, 519.0, 70.0), 0.0, 0.01));
        assert!(!is_little(start, at(200, 530.0, 70.0), 0.0, 0.01));
        // A lab that did not get its own core evaluates all of that time.
        assert!(is_little(start, at(1_100, 590.0, 70.0), 0.0, 0.0));
        assert!((cores(start, at(200, 599.0, 70.0)) - 0.99).abs() < 1e-9);
        assert_eq!(cores(start, start), 0.0);
    }
}
