//! Adds up what the workers report for each second, and detects when all workers have reported it.
//!
//! Called by the thread in `mod.rs`. A second is held back until every worker has reported it, or the run is over.
//! Complete seconds are turned into rows in `row.rs`.

use paceline_engine::{KeptInterval, Nanos, WorkerSecond};
use std::collections::BTreeMap;

/// Seconds that not every worker has reported yet.
pub(crate) struct PendingSeconds {
    /// The time up to which each worker has reported.
    reported: Vec<Nanos>,
    /// Keyed by their start; the connect phase, which starts at a different time in each worker, has the key 0.
    pending: BTreeMap<Nanos, WorkerSecond>,
}

impl PendingSeconds {
    /// For this number of workers.
    pub(crate) fn new(workers: u32) -> Self {
        Self { reported: vec![Nanos::ZERO; workers as usize], pending: BTreeMap::new() }
    }

    /// Adds one worker's second.
    pub(crate) fn add(&mut self, second: WorkerSecond) {
        let Some(reported) = self.reported.get_mut(second.worker as usize) else { return };
        let is_first = *reported == Nanos::ZERO;
        *reported = second.end;
        let key = if is_first { Nanos::ZERO } else { second.start };
        match self.pending.get_mut(&key) {
            Some(sum) => add(sum, second),
            None => {
                self.pending.insert(key, second);
            }
        }
    }

    /// The seconds that all workers have reported, in order.
    pub(crate) fn whole(&mut self) -> Vec<WorkerSecond> {
        let all_told = self.reported.iter().copied().min().unwrap_or(Nanos::ZERO);
        let mut whole = Vec::new();
        while let Some(entry) = self.pending.first_entry()
            && entry.get().end <= all_told
        {
            whole.push(entry.remove());
        }
        whole
    }

    /// The remaining seconds, when the run is over.
    pub(crate) fn rest(&mut self) -> Vec<WorkerSecond> {
        std::mem::take(&mut self.pending).into_values().collect()
    }
}

/// Adds another worker's second to a sum.
fn add(sum: &mut WorkerSecond, other: WorkerSecond) {
    sum.start = sum.start.min(other.start);
    sum.end = sum.end.max(other.end);
    sum.backlog = sum.backlog.saturating_add(other.backlog);
    for KeptInterval { cohort, start, tally } in other.cohorts {
        match sum.cohorts.iter_mut().find(|ours| ours.cohort == cohort) {
            Some(ours) => ours.tally.merge(&tally),
            None => sum.cohorts.push(KeptInterval { cohort, start, tally }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(worker: u32, start: u64, end: u64) -> WorkerSecond {
        WorkerSecond { worker, start: Nanos(start), end: Nanos(end), cohorts: Vec::new(), backlog: 1 }
    }

    fn reported(seconds: Vec<WorkerSecond>) -> Vec<(u64, u64, u64)> {
        seconds.iter().map(|second| (second.start.0, second.end.0, second.backlog)).collect()
    }

    #[test]
    fn a_second_is_complete_when_all_workers_have_reported() {
        let mut gather = PendingSeconds::new(2);
        gather.add(second(0, 3, 10));
        gather.add(second(0, 10, 20));
        assert!(gather.whole().is_empty(), "the other may yet tell of either");
        gather.add(second(1, 5, 10));
        assert_eq!(reported(gather.whole()), [(3, 10, 2)]);
        // This worker did not run for a second.
        gather.add(second(1, 20, 30));
        assert_eq!(reported(gather.whole()), [(10, 20, 1)]);
        gather.add(second(0, 20, 24));
        assert_eq!(reported(gather.whole()), []);
        assert_eq!(reported(gather.rest()), [(20, 30, 2)]);
    }

    #[test]
    fn sums_of_backlogs_do_not_overflow() {
        let mut gather = PendingSeconds::new(2);
        gather.add(second(0, 3, 10));
        gather.add(WorkerSecond { backlog: u64::MAX, ..second(1, 3, 10) });
        assert_eq!(reported(gather.whole()), [(3, 10, u64::MAX)]);
    }
}
