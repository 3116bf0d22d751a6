//! Measures how long a cache line takes from one core to another.
//!
//! Two pinned threads take turns at writing a line that the other waits for; a round trip is two transfers. On a virtual
//! machine the result changes when the host moves a virtual core to other hardware. The lab uses it to measure only while
//! the cores are as far apart as usual.

use crate::pin_self;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Round trips that are timed together.
const BATCH: u32 = 100;
/// Batches of a measurement, which takes some milliseconds.
const BATCHES: u32 = 20;
/// A thread that gets no core for so long ends the measurement.
const MAX_LENGTH: Duration = Duration::from_millis(200);
/// How often a waiting thread looks at the clock.
const SPINS_PER_LOOK: u32 = 1 << 14;

/// A line of its own: two adjacent lines may be fetched together.
#[repr(align(128))]
struct Line(AtomicU32);

impl Line {
    /// Waits until it has this value. Returns whether that was in time.
    fn wait_for(&self, value: u32, began: Instant) -> bool {
        loop {
            for _ in 0..SPINS_PER_LOOK {
                if self.0.load(Ordering::Acquire) == value {
                    return true;
                }
            }
            if began.elapsed() > MAX_LENGTH {
                return false;
            }
        }
    }
}

/// The time of one transfer between two different cores, in nanoseconds: the first quartile of 20 means of 200
/// transfers, because interruptions only lengthen it.
///
/// None if a core may not be used, or other work kept a thread from it.
pub fn core_distance_ns(a: u32, b: u32) -> Option<f64> {
    let (line, began) = (Line(AtomicU32::new(0)), Instant::now());
    let line = &line;
    thread::scope(|scope| {
        let echo = thread::Builder::new().spawn_scoped(scope, move || {
            pin_self(&[b]).ok()?;
            for turn in 0..BATCH * BATCHES {
                line.wait_for(2 * turn + 1, began).then_some(())?;
                line.0.store(2 * turn + 2, Ordering::Release);
            }
            Some(())
        });
        let call = thread::Builder::new().spawn_scoped(scope, move || {
            pin_self(&[a]).ok()?;
            let mut means = Vec::with_capacity(BATCHES as usize);
            for batch in 0..BATCHES {
                let from = Instant::now();
                for turn in batch * BATCH..(batch + 1) * BATCH {
                    line.0.store(2 * turn + 1, Ordering::Release);
                    line.wait_for(2 * turn + 2, began).then_some(())?;
                }
                means.push(from.elapsed().as_nanos() as f64 / f64::from(2 * BATCH));
            }
            Some(means)
        });
        let mut means = call.ok()?.join().ok()??;
        echo.ok()?.join().ok()??;
        means.sort_unstable_by(f64::total_cmp);
        means.get(means.len() / 4).copied()
    })
}

#[cfg(test)]
mod tests {
    use super::core_distance_ns;
    use crate::physical_cores;

    #[test]
    fn a_transfer_takes_time_and_an_absent_core_has_none() {
        assert_eq!(core_distance_ns(0, 100_000), None);
        let cores = physical_cores().unwrap();
        if let [a, b, ..] = cores[..].iter().map(|group| group[0]).collect::<Vec<_>>()[..] {
            // A busy machine may not give both cores at once.
            assert!(core_distance_ns(a, b).is_none_or(|distance_ns| distance_ns > 1.0));
        }
    }
}
