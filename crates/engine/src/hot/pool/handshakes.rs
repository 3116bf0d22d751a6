//! Which slots need a connection, and how attempts to make one went.

use crate::{Nanos, Slot};
use std::collections::VecDeque;

/// The pause after the first failure in sequence; it doubles up to [`MAX_PAUSE`].
pub(in crate::hot) const MIN_PAUSE: Nanos = Nanos::from_millis(1);
/// Longest pause between attempts.
const MAX_PAUSE: Nanos = Nanos::from_secs(1);
/// Failures of a connection in sequence after which the pause has its full length; they take a second.
const FAILURES_UNTIL_LONGEST: u16 = 10;

/// The attempts of one slot.
#[derive(Clone, Debug, Default)]
struct Attempts {
    /// The time that the last successful one took.
    took: Nanos,
    /// The number that failed in sequence; a connection that breaks fails too.
    failed: u16,
    /// Whether an alarm for the limit of one is set; one at a time suffices: it is set again if it rings early.
    limit_set: bool,
}

/// The handshakes of a worker.
#[derive(Debug)]
pub(in crate::hot) struct Handshakes {
    slots: Vec<Attempts>,
    /// Slots that need a handshake; some may have been connected since.
    waiting: VecDeque<Slot>,
    under_way: u32,
    /// All that were begun.
    begun: u64,
}

impl Handshakes {
    /// Handshakes for the first `active` of `count` slots.
    pub(super) fn new(count: u32, active: u32) -> Self {
        let slots = vec![Attempts::default(); count as usize];
        Self { slots, waiting: (0..active).collect(), under_way: 0, begun: 0 }
    }

    fn of_mut(&mut self, slot: Slot) -> &mut Attempts {
        &mut self.slots[slot as usize]
    }

    /// Takes the slot that has waited longest.
    pub(super) fn take(&mut self) -> Option<Slot> {
        self.waiting.pop_front()
    }

    /// An attempt begins.
    pub(super) fn begin(&mut self) {
        self.under_way += 1;
        self.begun += 1;
    }

    /// An attempt has ended; with a connection, after this time.
    pub(super) fn end(&mut self, slot: Slot, took: Option<Nanos>) {
        self.under_way -= 1;
        if let Some(took) = took {
            self.of_mut(slot).took = took;
        }
    }

    /// A connection has had its first response: its failures are forgotten.
    #[cold]
    pub(super) fn forget_failures(&mut self, slot: Slot) {
        self.of_mut(slot).failed = 0;
    }

    /// Whether a slot needs a handshake.
    #[inline]
    pub(in crate::hot) fn are_needed(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Queues a closed slot for connecting.
    pub(in crate::hot) fn queue(&mut self, slot: Slot) {
        self.waiting.push_back(slot);
    }

    /// The number of attempts under way.
    pub(in crate::hot) fn under_way(&self) -> u32 {
        self.under_way
    }

    /// The number of attempts that were begun.
    pub(in crate::hot) fn begun(&self) -> u64 {
        self.begun
    }

    /// The connect time of a slot's connection.
    pub(in crate::hot) fn took(&self, slot: Slot) -> Nanos {
        self.slots[slot as usize].took
    }

    /// Counts a failure of a slot; returns the pause until its next attempt, which grows with the number of failures in
    /// sequence.
    pub(in crate::hot) fn pause(&mut self, slot: Slot) -> Nanos {
        let attempts = self.of_mut(slot);
        let pause = Nanos(MIN_PAUSE.0 << attempts.failed.min(FAILURES_UNTIL_LONGEST)).min(MAX_PAUSE);
        attempts.failed = attempts.failed.saturating_add(1);
        pause
    }

    /// The last failure was that a response took too long: a run does not give up because of that.
    pub(in crate::hot) fn was_slow(&mut self, slot: Slot) {
        let attempts = self.of_mut(slot);
        attempts.failed = attempts.failed.min(FAILURES_UNTIL_LONGEST - 1);
    }

    /// Whether every slot has only failed: many times in sequence, and then for about this many seconds.
    pub(in crate::hot) fn only_fail(&self, seconds: u64) -> bool {
        let least = seconds + u64::from(FAILURES_UNTIL_LONGEST);
        self.slots.iter().all(|attempts| u64::from(attempts.failed) >= least)
    }

    /// Notes that an alarm for the limit of an attempt is set; false if one was.
    pub(in crate::hot) fn set_limit(&mut self, slot: Slot) -> bool {
        !std::mem::replace(&mut self.of_mut(slot).limit_set, true)
    }

    /// That alarm has rung.
    pub(in crate::hot) fn limit_rang(&mut self, slot: Slot) {
        self.of_mut(slot).limit_set = false;
    }
}
