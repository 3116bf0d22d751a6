//! Measures how evenly connections are served: a median for each connection of an open loop, from its own coarse
//! histogram.
//!
//! In a closed loop a slow connection shows by the small number of requests that it served. In an open loop every
//! connection gets its turn, and only its times show it. The memory is limited to a few hundred bytes for each, so
//! buckets are a quarter of an octave wide and reported by their middle: the true median is within a ninth of the
//! reported one.

use crate::{Nanos, Slot};

/// The number of buckets per octave.
const SPLIT: u32 = 4;
/// The exponent of the first octave: shorter times than 1.024 microseconds share a bucket.
const FIRST: u32 = 10;
/// The number of buckets of a connection: 24 octaves, up to 17 seconds; longer times count in the last.
const BUCKETS: usize = 24 * SPLIT as usize;
/// A connection with fewer responses has no median worth comparing: the slowest of many would be chance.
const MIN_ANSWERS: u64 = 16;

/// Service times by connection.
#[derive(Debug, Default)]
pub(super) struct Medians {
    /// [`BUCKETS`] for each connection, one after the other; empty if medians are not wanted.
    buckets: Box<[u16]>,
}

impl Medians {
    /// Medians for this many connections.
    pub(super) fn new(connections: u32) -> Self {
        Self { buckets: vec![0; connections as usize * BUCKETS].into_boxed_slice() }
    }

    /// Counts responses of a connection with this service time.
    #[inline]
    pub(super) fn record(&mut self, slot: Slot, took: Nanos, count: u16) {
        let start = slot as usize * BUCKETS;
        let Some(ours) = self.buckets.get_mut(start..start + BUCKETS) else { return };
        let bucket = &mut ours[bucket_of(took)];
        match bucket.checked_add(count) {
            Some(sum) => *bucket = sum,
            // Halving all buckets keeps the median.
            None => ours.iter_mut().for_each(|bucket| *bucket /= 2),
        }
    }

    /// The median of every connection with enough responses.
    pub(super) fn into_medians(self) -> Vec<Nanos> {
        self.buckets.chunks_exact(BUCKETS).filter_map(median_of).collect()
    }
}

fn bucket_of(time: Nanos) -> usize {
    let time = time.0.max(1 << FIRST);
    let exponent = time.ilog2();
    let part = (time >> (exponent - SPLIT.ilog2())) as u32 & (SPLIT - 1);
    (((exponent - FIRST) * SPLIT + part) as usize).min(BUCKETS - 1)
}

/// The middle of a bucket.
fn middle_of(bucket: usize) -> Nanos {
    let (octave, part) = (bucket as u32 / SPLIT, u64::from(bucket as u32 % SPLIT));
    let width = 1u64 << (FIRST + octave - SPLIT.ilog2());
    Nanos((u64::from(SPLIT) + part) * width + width / 2)
}

fn median_of(buckets: &[u16]) -> Option<Nanos> {
    let count: u64 = buckets.iter().copied().map(u64::from).sum();
    let mut below = 0;
    let bucket = buckets.iter().position(|bucket| {
        below += u64::from(*bucket);
        2 * below >= count
    })?;
    (count >= MIN_ANSWERS).then(|| middle_of(bucket))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_median_is_accurate_to_one_ninth(mut times in prop::collection::vec(1_100u64..17_000_000_000, 16..200)) {
            let mut medians = Medians::new(2);
            times.iter().for_each(|time| medians.record(1, Nanos(*time), 1));
            times.sort_unstable();
            let truth = times[(times.len() - 1) / 2] as f64;
            let medians = medians.into_medians();
            prop_assert_eq!(medians.len(), 1, "the other connection answered nothing");
            let median = medians[0].0 as f64;
            prop_assert!((median - truth).abs() <= median / 9.0, "{} for {}", median, truth);
        }
    }

    #[test]
    fn counter_overflow_keeps_the_median() {
        let mut medians = Medians::new(1);
        for _ in 0..100_000 {
            medians.record(0, Nanos(1_000_000), 1);
            medians.record(0, Nanos(8_000_000), 2);
        }
        let medians = medians.into_medians();
        assert!((7_000_000..9_000_000).contains(&medians[0].0), "{medians:?}");
    }

    #[test]
    fn few_responses_and_extreme_times_give_valid_medians() {
        let mut medians = Medians::new(1);
        (0..15).for_each(|_| medians.record(0, Nanos(5_000), 1));
        assert!(medians.into_medians().is_empty(), "fifteen answers are too few");
        let mut none = Medians::default();
        none.record(7, Nanos(5_000), 1);
        assert!(none.into_medians().is_empty());
        assert_eq!([Nanos(0), Nanos(u64::MAX)].map(bucket_of), [0, BUCKETS - 1]);
    }
}
