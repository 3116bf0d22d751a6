//! Defines programs outside the engine that make requests and read responses: one for each worker.
//!
//! The engine does not depend on the language of a program. The scenario that calls them is in `scripted.rs`.

use paceline_job::Nanos;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The program of one worker. It is called by that worker only.
///
/// Each user sends one request at a time, or [`ScriptPlan::batch`] together. Over HTTP/1.1 a connection is a user, over
/// HTTP/2 each stream that it may have open. Users are numbered from 0 on, and stay when their connection is replaced.
pub trait RequestScript: Send {
    /// Appends the next requests of a user to `bytes`: [`ScriptPlan::batch`] of them, as HTTP/1.1 sends them. Returns
    /// their kind, the index among those of the run; none if it makes no request any more.
    fn request(&mut self, user: usize, bytes: &mut Vec<u8>) -> Option<u16>;

    /// Skips the next request, which will not be sent; returns its kind. A program with one kind need not know.
    fn skip(&mut self) -> u16 {
        0
    }

    /// The pause of a connection before its next requests.
    fn delay(&mut self) -> Nanos;

    /// Reads the response to a user; the reason if it is not as expected. A response with more than 16 MiB of body is
    /// not read, and has a wrong body.
    fn response(&mut self, user: usize, response: &ScriptedResponse<'_>) -> Option<String>;

    /// Whether it makes no requests any more: it stopped, or failed.
    fn has_stopped(&self) -> bool;
}

/// A response as programs read it.
#[derive(Clone, Copy, Debug)]
pub struct ScriptedResponse<'r> {
    /// Its status.
    pub status: u16,
    /// Its head, as HTTP/1.1 sends it.
    pub head: &'r [u8],
    /// Its body, without a transfer coding.
    pub body: &'r [u8],
    /// Whether its request belongs to the window, not to the warm-up.
    pub is_windows: bool,
}

/// When programs are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptPlan {
    /// The number of requests that are made, and sent, together.
    pub batch: u16,
    /// Whether they read responses.
    pub reads_responses: bool,
    /// Whether they pause before requests.
    pub delays: bool,
}

impl Default for ScriptPlan {
    /// Programs make one request at a time, and nothing else.
    fn default() -> Self {
        Self { batch: 1, reads_responses: false, delays: false }
    }
}

/// The program of a worker, until the worker takes it.
type WorkerScript = Mutex<Option<Box<dyn RequestScript>>>;

/// The programs of a run.
#[derive(Clone)]
pub struct Scripts {
    pub(crate) plan: ScriptPlan,
    of_workers: Arc<[WorkerScript]>,
}

impl Scripts {
    /// The programs of all workers, in their order.
    pub fn new(plan: ScriptPlan, of_workers: Vec<Box<dyn RequestScript>>) -> Self {
        Self { plan, of_workers: of_workers.into_iter().map(|script| Mutex::new(Some(script))).collect() }
    }

    /// The number of programs.
    pub(crate) fn count(&self) -> usize {
        self.of_workers.len()
    }

    /// Takes the program of a worker out.
    pub(crate) fn take(&self, worker: u32) -> Option<Box<dyn RequestScript>> {
        let place = self.of_workers.get(worker as usize)?;
        place.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for Scripts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripts").field("plan", &self.plan).field("count", &self.count()).finish()
    }
}
