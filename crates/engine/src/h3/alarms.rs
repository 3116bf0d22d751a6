//! Keeps when QUIC's timers run out (loss, acknowledgements, pacing, idle timeout), for all connections of a worker.
//!
//! A timer moves with nearly every packet, mostly to a later time. So an alarm that is set stays, and is checked when it
//! rings; only an earlier one is set in addition.

use crate::{Nanos, Slot};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Alarms ring on this grid, as QUIC's timers are expected to (RFC 9002 §6.1.2, kGranularity).
const GRID: u64 = 1_000_000;

/// Alarms of slots.
#[derive(Debug)]
pub(super) struct Alarms {
    heap: BinaryHeap<Reverse<(Nanos, Slot)>>,
    /// The alarms of each slot in the heap, the earliest last.
    set: Box<[Vec<Nanos>]>,
}

impl Alarms {
    /// No alarms, for this many slots.
    pub(super) fn new(slots: u32) -> Self {
        Self { heap: BinaryHeap::new(), set: (0..slots).map(|_| Vec::new()).collect() }
    }

    /// Makes an alarm ring for the slot at `at` or before.
    #[inline]
    pub(super) fn set(&mut self, slot: Slot, at: Nanos) {
        let at = Nanos(at.0.div_ceil(GRID).saturating_mul(GRID));
        let set = &mut self.set[slot as usize];
        if set.last().is_none_or(|earliest| at < *earliest) {
            set.push(at);
            self.heap.push(Reverse((at, slot)));
        }
    }

    /// When the next alarm rings; [`Nanos::NEVER`] without one.
    #[inline]
    pub(super) fn next(&self) -> Nanos {
        self.heap.peek().map_or(Nanos::NEVER, |Reverse((at, _))| *at)
    }

    /// Takes an alarm that is due; returns its slot.
    pub(super) fn take_due(&mut self, now: Nanos) -> Option<Slot> {
        if self.next() > now {
            return None;
        }
        let Reverse((_, slot)) = self.heap.pop()?;
        self.set[slot as usize].pop();
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_moves_to_later_costs_no_alarm() {
        let mut alarms = Alarms::new(2);
        let millis = Nanos::from_millis;
        alarms.set(0, millis(30));
        (31..1_000).for_each(|at| alarms.set(0, millis(at)));
        assert_eq!(alarms.heap.len(), 1);
        alarms.set(0, Nanos(9_000_001));
        alarms.set(1, millis(20));
        assert_eq!(alarms.next(), millis(10), "on the grid, and never early");
        assert_eq!(alarms.take_due(millis(9)), None);
        let rung: Vec<_> = std::iter::from_fn(|| alarms.take_due(millis(30))).collect();
        assert_eq!((rung, alarms.next()), (vec![0, 1, 0], Nanos::NEVER));
    }
}
