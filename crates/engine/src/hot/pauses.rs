//! Tells pauses of the generator apart from waiting for the server, in an open loop.
//!
//! While the generator is paused (stopped, out of its CPU quota, without a core), requests fall due. It then sends them
//! as connections become free, so that most of them wait for one: but without the pause they would not have. A pause
//! delays every request of a first-come-first-served queue by its own length at most, until the queue is empty again.
//! Up to that length, the wait is therefore the generator's.

use crate::Nanos;

/// The shortest pause: processing what one wait returned takes less.
const SHORTEST: Nanos = Nanos::from_millis(1);

/// The pauses of one worker.
#[derive(Debug)]
pub(super) struct Pauses {
    /// When the worker was last seen running; while it waits, until when it has nothing to do.
    expected: Nanos,
    /// The length of the pauses since no due request was unsent.
    setback: Nanos,
}

impl Pauses {
    /// No pause yet.
    pub(super) fn new() -> Self {
        Self { expected: Nanos::NEVER, setback: Nanos::ZERO }
    }

    /// The worker waits, and need not act before `until` unless something happens.
    #[inline]
    pub(super) fn wait_until(&mut self, until: Nanos) {
        self.expected = until;
    }

    /// The worker runs at `now`; `oldest_due` is the intended send of the next request.
    #[inline]
    pub(super) fn runs(&mut self, now: Nanos, oldest_due: Nanos) {
        let length = now.since(self.expected);
        if length >= SHORTEST {
            self.paused(length, oldest_due);
        }
        self.expected = now;
    }

    /// Adds a pause, unless less than half of the queue that it met is due to pauses: then the server is behind. The
    /// beginning of a pause is not seen exactly, so that the pauses seen are shorter than the queue that they caused.
    #[cold]
    fn paused(&mut self, length: Nanos, oldest_due: Nanos) {
        let setback = self.setback + length;
        if self.expected.since(oldest_due).0 / 2 <= setback.0 {
            self.setback = setback;
        }
    }

    /// No due request is unsent: what comes now has not been delayed by a pause.
    #[inline]
    pub(super) fn caught_up(&mut self) {
        self.setback = Nanos::ZERO;
    }

    /// When a connection that becomes free at `now` would have become free without the pauses, at the earliest.
    #[inline]
    pub(super) fn free_at(&self, now: Nanos) -> Nanos {
        now.since(self.setback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = Nanos::from_millis(1);

    fn at(ms: u64) -> Nanos {
        Nanos(ms * MS.0)
    }

    #[test]
    fn pauses_add_up_until_all_is_sent() {
        let mut pauses = Pauses::new();
        pauses.runs(at(10), at(11));
        pauses.wait_until(at(11));
        pauses.runs(at(31), at(11));
        assert_eq!(pauses.free_at(at(32)), at(12), "20 ms");
        pauses.runs(at(41), at(15));
        assert_eq!(pauses.free_at(at(42)), at(12), "30 ms");
        pauses.caught_up();
        assert_eq!(pauses.free_at(at(42)), at(42));
    }

    #[test]
    fn a_pause_does_not_explain_a_longer_queue() {
        let mut pauses = Pauses::new();
        pauses.runs(at(1_000), at(900));
        pauses.runs(at(1_020), at(900));
        assert_eq!(pauses.free_at(at(1_020)), at(1_020), "the queue was there before");
        pauses.runs(at(1_300), at(900));
        assert_eq!(pauses.free_at(at(1_300)), at(1_020), "it is short beside this pause");
    }

    #[test]
    fn ordinary_work_and_early_events_are_no_pauses() {
        let mut pauses = Pauses::new();
        pauses.runs(at(5), at(5));
        pauses.runs(at(6) - Nanos(1), at(5));
        pauses.wait_until(at(100));
        pauses.runs(at(7), at(100));
        assert_eq!(pauses.free_at(at(7)), at(7));
    }
}
