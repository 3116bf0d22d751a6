//! Determines the block in which a request is counted: the warm-up, or a segment of the window, by kind of request.
//!
//! A block is a small number that travels with the request, so that its outcome is counted where it was scheduled,
//! however late it comes. A load without segments and with one kind of request has two blocks. This module does not
//! count.

use crate::{Nanos, Timeline};

/// The number of a block: place times kinds plus kind, where place 0 is the warm-up and place 1 the first segment.
pub type BlockIndex = u16;

/// A stretch of time.
#[derive(Clone, Copy, Debug)]
struct TimeSpan {
    start: Nanos,
    length: Nanos,
}

impl TimeSpan {
    /// An empty stretch.
    const EMPTY: Self = Self { start: Nanos::NEVER, length: Nanos::ZERO };

    fn between(start: Nanos, end: Nanos) -> Self {
        Self { start, length: end.since(start) }
    }

    fn end(self) -> Nanos {
        self.start + self.length
    }

    /// One comparison for both ends: a moment before the start wraps around to a very large value.
    #[inline]
    fn contains(self, at: Nanos) -> bool {
        at.0.wrapping_sub(self.start.0) < self.length.0
    }
}

/// The moments at which blocks begin and end. Requests are looked up in the order in which they are due, so the last
/// result is nearly always valid for the next.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    /// The number of kinds of request.
    kinds: u16,
    /// The window; it is empty until the run begins.
    window: TimeSpan,
    /// The end of each segment but the last, in ascending order.
    inner_ends: Vec<Nanos>,
    /// The stretch of time that was looked up last.
    here: TimeSpan,
    /// The first block of that stretch.
    base: BlockIndex,
}

impl Blocks {
    /// Blocks for this many kinds of request, in segments of the window whose ends are given relative to its beginning;
    /// the last segment ends with the window and has no entry.
    pub(super) fn new(kinds: u16, inner_ends: Vec<Nanos>) -> Self {
        Self { kinds, window: TimeSpan::EMPTY, inner_ends, here: TimeSpan::EMPTY, base: 0 }
    }

    /// The number of blocks, including those of the warm-up.
    pub(super) fn count(&self) -> usize {
        self.kinds() * (self.segments() + 1)
    }

    /// The number of kinds of request: also the number of blocks of the warm-up, which come first.
    pub(super) fn kinds(&self) -> usize {
        usize::from(self.kinds)
    }

    /// The number of segments of the window.
    pub(super) fn segments(&self) -> usize {
        self.inner_ends.len() + 1
    }

    /// Sets the phases. Before that all times belong to the warm-up.
    pub(super) fn begin(&mut self, timeline: &Timeline) {
        self.window = TimeSpan::between(timeline.window_start, timeline.window_end);
        self.inner_ends.iter_mut().for_each(|end| *end = timeline.window_start + *end);
        self.here = TimeSpan::EMPTY;
    }

    /// Ends the window earlier than planned.
    pub(super) fn end_at(&mut self, end: Nanos) {
        self.window = TimeSpan::between(self.window.start, end.min(self.window.end()));
        self.here = TimeSpan::EMPTY;
    }

    /// Whether the moment lies in the window.
    #[inline]
    pub(super) fn in_window(&self, at: Nanos) -> bool {
        self.window.contains(at)
    }

    /// Whether a block belongs to the window, not to the warm-up.
    #[inline]
    pub(super) fn is_windows(&self, block: BlockIndex) -> bool {
        block >= self.kinds
    }

    /// The block of a request of this kind that is due at `intended`, or of any other event at that time.
    #[inline]
    pub(super) fn block_for(&mut self, intended: Nanos, kind: u16) -> BlockIndex {
        if !self.here.contains(intended) {
            self.look_up(intended);
        }
        self.base + kind
    }

    /// The end of the time from `at` on in which due requests are counted in the same block.
    pub(super) fn same_until(&mut self, at: Nanos) -> Nanos {
        self.look_up(at);
        self.here.end()
    }

    #[cold]
    fn look_up(&mut self, at: Nanos) {
        if !self.in_window(at) {
            let before = at < self.window.start;
            let [start, end] =
                if before { [Nanos::ZERO, self.window.start] } else { [self.window.end(), Nanos::NEVER] };
            self.here = TimeSpan::between(start, end);
            self.base = 0;
            return;
        }
        let segment = self.inner_ends.partition_point(|end| *end <= at);
        let start = segment.checked_sub(1).map_or(self.window.start, |before| self.inner_ends[before]);
        let end = self.inner_ends.get(segment).map_or(self.window.end(), |end| (*end).min(self.window.end()));
        self.here = TimeSpan::between(start, end);
        self.base = (segment as u16 + 1) * self.kinds;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(kinds: u16, inner_ends: &[u64]) -> Blocks {
        let mut blocks = Blocks::new(kinds, inner_ends.iter().map(|end| Nanos(*end)).collect());
        let (epoch, window_start, window_end) = (Nanos(50), Nanos(100), Nanos(130));
        blocks.begin(&Timeline { epoch, window_start, window_end, drain: Nanos(10) });
        blocks
    }

    #[test]
    fn blocks_are_found_by_time_in_any_order() {
        let mut blocks = begun(2, &[10, 20]);
        assert_eq!((blocks.count(), blocks.segments()), (8, 3));
        let expected =
            [(0, 0), (99, 0), (100, 2), (109, 2), (110, 4), (119, 4), (120, 6), (129, 6), (130, 0)];
        for (at, block) in expected.into_iter().chain(expected.into_iter().rev()) {
            assert_eq!(blocks.block_for(Nanos(at), 0), block, "{at}");
            assert_eq!(blocks.block_for(Nanos(at), 1), block + 1, "{at}");
        }
    }

    #[test]
    fn a_stopped_window_has_no_later_segments() {
        let mut blocks = begun(1, &[10, 20]);
        assert_eq!(blocks.block_for(Nanos(125), 0), 3);
        blocks.end_at(Nanos(115));
        let found: Vec<_> = [112, 115, 125].map(|at| blocks.block_for(Nanos(at), 0)).to_vec();
        assert_eq!(found, [2, 0, 0]);
    }

    #[test]
    fn requests_before_the_run_belong_to_the_warm_up() {
        let mut blocks = Blocks::new(1, Vec::new());
        assert_eq!((blocks.block_for(Nanos(7), 0), blocks.count()), (0, 2));
    }
}
