//! Implements a clock that moves only when it is set, or by a fixed step at every reading.
//!
//! The simulated network moves it to the next event; the worker reads it, and the step makes the worker as slow as a
//! test requires. It can also stop the worker for a part of each period, as a CPU quota does. All clones are one clock,
//! of one thread: a simulation has a single worker.

use crate::{Clock, Nanos};
use std::cell::Cell;
use std::rc::Rc;

/// Virtual time, shared by all parts of one simulation.
#[derive(Clone, Debug)]
pub struct VirtualClock {
    now: Rc<Cell<Nanos>>,
    /// The time taken by a reading: a model of the generator's own slowness.
    step: Nanos,
    /// The worker is stopped from `0` to `1` of each period of length `2`: it reads the clock only afterwards.
    stopped: Option<(Nanos, Nanos, Nanos)>,
}

impl VirtualClock {
    /// A clock at zero whose readings take `step`.
    pub fn new(step: Nanos) -> Self {
        Self { now: Rc::new(Cell::new(Nanos::ZERO)), step, stopped: None }
    }

    /// A clock of a worker that is stopped in each `period`, from `from` to `until` after its beginning.
    pub fn with_stops(period: Nanos, from: Nanos, until: Nanos) -> Self {
        Self { stopped: Some((from, until, period)), ..Self::new(Nanos::ZERO) }
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
        let mut now = self.now.get() + self.step;
        if let Some((from, until, period)) = self.stopped {
            let begun = Nanos(now.0 - now.0 % period.0);
            if (from..until).contains(&now.since(begun)) {
                now = begun + until;
            }
        }
        self.now.set(now);
        now
    }
}
