//! Defines the interface that reports the progress of a run.
//!
//! The binary implements it for its events, its live view and the health of its threads. `run.rs` and the workers call
//! it when a phase begins or a second has ended, never for a request. The engine itself reads nothing from `/proc`.

use crate::{KeptInterval, Nanos, Phase};

/// Receives phases as they begin. Implementations must be quick: they run on the threads that report to them. It is the
/// only interface that the engine calls through `dyn`, a few times a run, so that the engine is compiled once and not
/// for each observer.
pub trait Observer: Sync {
    /// A phase of the run began at `at`, on the coordinating thread.
    fn phase(&self, phase: Phase, at: Nanos);

    /// A phase began for one worker, on that worker's own thread.
    fn thread_phase(&self, worker: u32, phase: Phase);

    /// Whether seconds are wanted; called once, before the run. If not, no counts are copied.
    fn wants_seconds(&self) -> bool {
        false
    }

    /// A second has ended for one worker, on that worker's own thread. Seconds come in order and without gaps, except
    /// those in which the worker did not run; the last is shorter.
    fn second(&self, _: WorkerSecond) {}
}

/// The counts of one worker in one second, from the beginning of the warm-up to the end of the run.
#[derive(Clone, Debug)]
pub struct WorkerSecond {
    /// The worker.
    pub worker: u32,
    /// When it began, on the run's clock: whole seconds after the beginning of the warm-up; before that there is one
    /// entry for the whole connect time.
    pub start: Nanos,
    /// When it ended.
    pub end: Nanos,
    /// The outcomes in it, by cohort; a cohort without any is left out.
    pub cohorts: Vec<KeptInterval>,
    /// Requests due and unsent at its end, approximately: 4,000 are counted, more are computed from those.
    pub backlog: u64,
}

/// Ignores all reports.
#[derive(Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn phase(&self, _: Phase, _: Nanos) {}
    fn thread_phase(&self, _: u32, _: Phase) {}
}
