//! Rest: whether what was loaded is idle again, so that the next load is not put on what the last one left.
//!
//! A server may go on for many seconds after its clients have gone: with what they had asked for, or with the end of
//! their connections. A round waits for it between two cells of a launch (`round/turn.rs`) and restarts one that does
//! not come to rest. Idle is what hardly wants CPU, by the account of all its processes: what waits for a core that
//! somebody else has is not idle.

use crate::LabError;
use crate::farm::{Farm, Spent};
use paceline_host::Interrupt;
use std::time::{Duration, Instant};

/// How long a server may take to come to rest after a load, before it is restarted for the next.
pub(crate) const REST_MOST: Duration = Duration::from_secs(10);
/// How long it may take before the first load: to compile and collect what its start left.
pub(crate) const FIRST_REST_MOST: Duration = Duration::from_secs(2);
/// It is at rest when it wanted little over so long.
const STRETCH: Duration = Duration::from_millis(100);
/// What is little: a share of one core.
const LITTLE: f64 = 0.1;

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rest {
    /// The server is idle, or has ended.
    Reached,
    /// It was busy to the end of the time it had, in the last stretch with so many cores.
    Never {
        /// CPU time for each second.
        cores: f64,
    },
}

/// Waits until `farm` is at rest, `most` at the longest; `usual` is how many cores it wants at rest.
///
/// # Errors
/// [`LabError::Interrupted`] on Ctrl-C.
pub(crate) fn await_rest(
    farm: &mut Farm,
    usual: f64,
    most: Duration,
    interrupt: Interrupt,
) -> Result<Rest, LabError> {
    let (began, resolution_s) = (Instant::now(), farm.cpu_resolution_s());
    // So long that what an account in ticks leaves open is no more than what is little.
    let stretch = STRETCH.max(Duration::from_secs_f64(resolution_s / LITTLE));
    let mut before = farm.spent();
    loop {
        std::thread::sleep(stretch);
        if interrupt.asked() {
            return Err(LabError::Interrupted);
        }
        let after = farm.spent();
        let cores = cores(before, after);
        let is_little = is_little(before, after, usual, resolution_s);
        // One that has had no core all the while used little, and stands in line for one.
        if is_little && (usual > 0.0 || !farm.is_runnable()) || farm.ended().is_some() {
            return Ok(Rest::Reached);
        }
        if began.elapsed() >= most {
            return Ok(Rest::Never { cores });
        }
        before = after;
    }
}

/// CPU time for each second between two moments.
fn cores(before: Spent, after: Spent) -> f64 {
    let over_s = over_s(before, after);
    if over_s > 0.0 { (after.cpu_s - before.cpu_s).max(0.0) / over_s } else { 0.0 }
}

/// Whether so little more was wanted than usual that it can be no work. An account kept in ticks may show one that is
/// older.
fn is_little(before: Spent, after: Spent, usual: f64, resolution_s: f64) -> bool {
    let wanted_s = after.cpu_s - before.cpu_s + after.waited_s - before.waited_s;
    wanted_s <= (LITTLE + usual) * over_s(before, after) + resolution_s
}

fn over_s(before: Spent, after: Spent) -> f64 {
    after.monotonic_ns.saturating_sub(before.monotonic_ns) as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::{cores, is_little};
    use crate::farm::Spent;

    #[test]
    fn little_is_a_tenth_of_a_core() {
        let at = |ms: u64, cpu_ms: f64, waited_ms: f64| Spent {
            monotonic_ns: ms * 1_000_000,
            cpu_s: cpu_ms * 1e-3,
            waited_s: waited_ms * 1e-3,
        };
        let start = at(100, 500.0, 70.0);
        assert!(is_little(start, at(200, 509.0, 70.0), 0.0, 0.0));
        assert!(!is_little(start, at(200, 511.0, 70.0), 0.0, 0.0));
        // What polls for work wants a core at any time.
        assert!(is_little(start, at(200, 605.0, 70.0), 1.0, 0.0));
        // What somebody else keeps from its core wants it.
        assert!(!is_little(start, at(200, 501.0, 160.0), 0.0, 0.0));
        // In ticks of 10 ms one more may be of before; two are not.
        assert!(is_little(start, at(200, 519.0, 70.0), 0.0, 0.01));
        assert!(!is_little(start, at(200, 530.0, 70.0), 0.0, 0.01));
        // A lab that was kept from its own core looks at all of that time.
        assert!(is_little(start, at(1_100, 590.0, 70.0), 0.0, 0.0));
        assert!((cores(start, at(200, 599.0, 70.0)) - 0.99).abs() < 1e-9);
        assert_eq!(cores(start, start), 0.0);
    }
}
