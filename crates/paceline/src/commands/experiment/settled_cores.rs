//! Measures the windows of an experiment while the cores of server and generator are as far apart as usual
//! ([`CoreDistances`]): otherwise a comparison on a virtual machine compares the places of its cores.

use paceline_experiment::{LoadError, MovedCores};
use paceline_host::Interrupt;
use paceline_lab::{CoreDistances, MAX_PLACED_ATTEMPTS, with_after};
use paceline_record::Pinning;
use paceline_run::environment;
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// How long a window may be delayed.
const MAX_WAIT: Duration = Duration::from_secs(15);
/// The share of the time that all windows together may be delayed.
const MAX_WAITS: f64 = 0.2;

/// The core distances during an experiment.
#[derive(Debug)]
pub(super) struct SettledCores {
    distances: RefCell<CoreDistances>,
    /// What was done because they changed.
    moved: Cell<MovedCores>,
    began: Instant,
    /// How long the experiment may take, if that is known.
    budget: Option<Duration>,
    interrupt: Interrupt,
}

impl SettledCores {
    pub(super) fn new(budget: Option<Duration>, interrupt: Interrupt) -> Self {
        Self {
            distances: RefCell::new(CoreDistances::from_trials(&[], environment::read().virtual_machine)),
            moved: Cell::default(),
            began: Instant::now(),
            budget,
            interrupt,
        }
    }

    /// The repeated windows, and how long windows were delayed.
    pub(super) fn moved(&self) -> MovedCores {
        self.moved.get()
    }

    /// A window that begins with the cores as far apart as usual, and whether to repeat it, because the host moved them
    /// meanwhile. Attempts are numbered from 1.
    pub(super) fn measured<T>(
        &self,
        pinning: &Pinning,
        attempt: u32,
        window: impl FnOnce() -> Result<T, LoadError>,
    ) -> Result<(T, bool), LoadError> {
        let mut moved = self.moved.get();
        let whole = self.budget.unwrap_or_else(|| self.began.elapsed().max(MAX_WAIT.div_f64(MAX_WAITS)));
        let waited = Duration::from_secs_f64(moved.waited_s);
        let limit = MAX_WAIT.min(whole.mul_f64(MAX_WAITS).saturating_sub(waited));
        let settled = self.distances.borrow_mut().settle(pinning, limit, self.interrupt);
        let before = settled.map_err(|_only_interrupted| LoadError::Interrupted)?;
        moved.waited_s += before.map_or(0.0, |before| before.waited_s);
        let result = window()?;
        // A wait in vain is not repeated.
        let is_moved = before
            .filter(|before| attempt < MAX_PLACED_ATTEMPTS && before.unusual_ns().is_none())
            .is_some_and(|before| with_after(before, pinning).unusual_ns().is_some());
        moved.repeated_windows += usize::from(is_moved);
        self.moved.set(moved);
        Ok((result, is_moved))
    }
}
