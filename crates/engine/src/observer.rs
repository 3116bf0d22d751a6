//! Who is told what happens while a run goes on: the binary, for its events, its live view and the health of its
//! threads. The engine itself reads nothing from `/proc`.

use crate::{Nanos, Phase};

/// Is told of phases as they begin. Implementations are quick: they run on the threads they are told about. It is the
/// one thing the engine calls through `dyn`, a few times a run, so that the engine is compiled whole and not once for
/// each observer.
pub trait Observer: Sync {
    /// A phase of the run began at `at`, on the coordinating thread.
    fn phase(&self, phase: Phase, at: Nanos);

    /// A phase began for one worker, on that worker's own thread.
    fn thread_phase(&self, worker: u32, phase: Phase);
}

/// Cares for nothing.
#[derive(Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn phase(&self, _: Phase, _: Nanos) {}
    fn thread_phase(&self, _: u32, _: Phase) {}
}
