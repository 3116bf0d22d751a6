//! Implements a clock that moves only when it is set, or by a fixed step at every reading.
//!
//! The simulated network moves it to the next event; the worker reads it, and the step makes the worker as slow as a
//! test requires. All clones are one clock, of one thread: a simulation has a single worker.

use crate::{Clock, Nanos};
use std::cell::Cell;
use std::rc::Rc;

/// Virtual time, shared by all parts of one simulation.
#[derive(Clone, Debug)]
pub struct VirtualClock {
    now: Rc<Cell<Nanos>>,
    /// The time taken by a reading: a model of the generator's own slowness.
    step: Nanos,
}

impl VirtualClock {
    /// A clock at zero whose readings take `step`.
    pub fn new(step: Nanos) -> Self {
        Self { now: Rc::new(Cell::new(Nanos::ZERO)), step }
    }

    /// The current time, without a step.
    pub fn peek(&self) -> Nanos {
        self.now.get()
    }

    /// Moves forward to `at`; never back.
    pub fn move_to(&self, at: Nanos) {
        self.now.set(self.now.get().max(at));
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Nanos {
        self.now.set(self.now.get() + self.step);
        self.now.get()
    }
}
