//! The blocks of the window added up: in all, by segment, by kind of request.
//!
//! Made by the recorder when its worker is done, and handed over with the worker's outcome. The warm-up's blocks are
//! not in it; those of several workers are added up in `run.rs`.

use crate::Tally;

/// The window's cohort, three times the same sum. Where there is one segment, or one kind of request, it is not told
/// apart.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    /// All of it.
    pub total: Tally,
    /// By segment; empty where there is one.
    pub by_segment: Vec<Tally>,
    /// By kind of request; empty where there is one.
    pub by_request: Vec<Tally>,
}

impl Sums {
    /// Of the window's blocks: segment after segment, in each `kinds` of them.
    pub(crate) fn of(mut blocks: Vec<Tally>, kinds: usize) -> Self {
        if blocks.len() == 1 {
            return Self { total: blocks.pop().unwrap_or_default(), ..Self::default() };
        }
        let segments = blocks.len() / kinds;
        let mut sums = Self::default();
        sums.by_segment.resize_with(if segments > 1 { segments } else { 0 }, Tally::default);
        sums.by_request.resize_with(if kinds > 1 { kinds } else { 0 }, Tally::default);
        for (block, tally) in blocks.iter().enumerate() {
            sums.total.merge(tally);
            let segment = sums.by_segment.get_mut(block / kinds);
            let request = sums.by_request.get_mut(block % kinds);
            segment.into_iter().chain(request).for_each(|sum| sum.merge(tally));
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sum_is_the_same_sum() {
        let block = |scheduled| {
            let mut tally = Tally::default();
            tally.counts.scheduled = scheduled;
            tally
        };
        let scheduled = |sums: &[Tally]| sums.iter().map(|sum| sum.counts.scheduled).collect::<Vec<_>>();
        let sums = Sums::of([1, 2, 4, 8, 16, 32].map(block).into(), 2);
        assert_eq!(sums.total.counts.scheduled, 63);
        assert_eq!(scheduled(&sums.by_segment), [3, 12, 48]);
        assert_eq!(scheduled(&sums.by_request), [21, 42]);
        let one = Sums::of(vec![block(5)], 1);
        assert_eq!((one.total.counts.scheduled, one.by_segment.len(), one.by_request.len()), (5, 0, 0));
    }
}
