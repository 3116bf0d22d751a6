//! The interface that reports what happens while a run goes on.
//!
//! The binary is, for its events, its live view and the health of its threads. `run.rs` and the workers call it when a
//! phase begins or a second is over, never for a request. The engine itself reads nothing from `/proc`.

use crate::{KeptInterval, Nanos, Phase};

/// Receives phases as they begin. Implementations are quick: they run on the threads that they hear from. It is the
/// one thing the engine calls through `dyn`, a few times a run, so that the engine is compiled whole and not once for
/// each observer.
pub trait Observer: Sync {
    /// A phase of the run began at `at`, on the coordinating thread.
    fn phase(&self, phase: Phase, at: Nanos);

    /// A phase began for one worker, on that worker's own thread.
    fn thread_phase(&self, worker: u32, phase: Phase);

    /// Whether seconds are wanted; asked once, before the run. If not, nothing is copied.
    fn wants_seconds(&self) -> bool {
        false
    }

    /// A second is over for one worker, on that worker's own thread. Seconds come in order and leave none out, but those
    /// in which the worker did not run; the last is shorter.
    fn second(&self, _: Second) {}
}

/// What one worker saw in one second, from the beginning of the warm-up to the end of the run.
#[derive(Clone, Debug)]
pub struct Second {
    /// Whose it is.
    pub worker: u32,
    /// When it began, on the run's clock: whole seconds after the beginning of the warm-up, or before it all the time
    /// in which connections were made.
    pub start: Nanos,
    /// When it ended.
    pub end: Nanos,
    /// What ended in it, by cohort; a cohort of which nothing did is left out.
    pub cohorts: Vec<KeptInterval>,
    /// Requests due and unsent at its end, or nearly so: 4,000 are counted, more are computed from those.
    pub backlog: u64,
}

/// Cares for nothing.
#[derive(Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn phase(&self, _: Phase, _: Nanos) {}
    fn thread_phase(&self, _: u32, _: Phase) {}
}
