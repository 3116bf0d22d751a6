//! Implements the timers of a worker: deadlines, limits of attempts to connect, pauses before the next attempt, think
//! times. A timer that wakes a sleeping worker costs more CPU than a request: so deadlines and limits ring on a coarse
//! grid, one alarm for each slot. Pauses and think times are exact to the nanosecond and cost an alarm each.

use crate::{Nanos, Slot};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimerKind {
    /// Check whether the oldest request outstanding on the slot has timed out.
    Deadline,
    /// Abandon the attempt to connect.
    ConnectLimit,
    /// Try to connect again.
    Reconnect,
    /// The think time between two requests is over.
    Think,
    /// A step of a session is due.
    Step,
    /// A stream has to be ended.
    Stream,
    /// More of a body may be sent.
    Body,
    /// The planned number of connections changes; not of a slot.
    Plan,
}

/// A heap of alarms. An alarm may be stale: check the slot when it rings.
#[derive(Debug, Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(Nanos, Slot, TimerKind)>>,
}

impl Timers {
    /// Sets an alarm.
    pub fn set(&mut self, at: Nanos, slot: Slot, alarm: TimerKind) {
        self.heap.push(Reverse((at, slot, alarm)));
    }

    /// The number of alarms set.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.heap.len()
    }

    /// When the next alarm is due; [`Nanos::NEVER`] without one.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.heap.peek().map_or(Nanos::NEVER, |Reverse((at, _, _))| *at)
    }

    /// Takes an alarm that is due.
    pub fn due(&mut self, now: Nanos) -> Option<(Slot, TimerKind)> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, slot, alarm))| (slot, alarm))
    }
}
