//! A clock that moves only when it is set, or by a fixed step at every look.
//!
//! The simulated network moves it to whatever happens next; the worker looks, and a step makes it as slow as a test
//! wants it. All clones are one clock, of one thread: a simulation has a single worker.

use crate::{Clock, Nanos};
use std::cell::Cell;
use std::rc::Rc;

/// Virtual time, shared by everything in one simulation.
#[derive(Clone, Debug)]
pub struct VirtualClock {
    now: Rc<Cell<Nanos>>,
    /// What looking at the clock costs: a model of the generator's own slowness.
    step: Nanos,
}

impl VirtualClock {
    /// A clock at zero on which a look costs `step`.
    pub fn new(step: Nanos) -> Self {
        Self { now: Rc::new(Cell::new(Nanos::ZERO)), step }
    }

    /// The moment now, free of charge.
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
