//! Kept intervals added up: of several blocks, of several workers, and of neighbours as intervals grow longer.
//!
//! The recorder calls it whenever an interval is put away, `run.rs` when all workers have ended. How long an interval
//! is, and when there are too many, is for the recorder to say; nothing is recorded here.

use crate::{KeptInterval, Nanos, Phase};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Adds the intervals from `first` on, which are of one cohort and one stretch of time, up to one.
pub(super) fn add_up(kept: &mut Vec<KeptInterval>, first: usize) {
    let mut parts = kept.drain(first..);
    let Some(mut sum) = parts.next() else { return };
    parts.for_each(|part| sum.tally.merge(&part.tally));
    kept.push(sum);
}

/// Brings intervals to the grid of `length` that begins at `epoch`, adding up those that fall together. Also what
/// joins the intervals of several workers.
pub(crate) fn join_intervals(kept: Vec<KeptInterval>, epoch: Nanos, length: Nanos) -> Vec<KeptInterval> {
    let mut joined = BTreeMap::<(Nanos, Phase), KeptInterval>::new();
    for mut interval in kept {
        if interval.cohort != Phase::Connect {
            interval.start = epoch + Nanos(interval.start.since(epoch).0 / length.0 * length.0);
        }
        match joined.entry((interval.start, interval.cohort)) {
            Entry::Vacant(place) => {
                place.insert(interval);
            }
            Entry::Occupied(mut sum) => sum.get_mut().tally.merge(&interval.tally),
        }
    }
    joined.into_values().collect()
}
