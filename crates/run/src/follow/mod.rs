//! Follows a run in progress: adds up what the workers report for each second and passes it to [`Sink`]s.
//!
//! Workers report a second when it is over ([`paceline_engine::Observer::second`]). A separate thread of the lowest
//! priority adds the reports up, so that it takes no time from the workers. The record does not use these sums: it is
//! made from the engine's result.

mod gather;
mod row;

pub use row::{RowSettings, Rows, RunProgress, times};

use crate::{Health, RunError};
use gather::PendingSeconds;
use paceline_engine::{Nanos, Observer, Phase, StopFlag, WorkerSecond};
use paceline_host::process;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Interval at which sinks update their progress display.
const TICK: Duration = Duration::from_millis(200);

/// Receives the seconds and the progress of a run.
pub trait Sink: Send {
    /// A second is over: as a row, and as the sum of the workers' reports.
    fn second(&mut self, row: &paceline_record::Second, second: &WorkerSecond, rows: &Rows);

    /// Whether [`Sink::tick`] should be called.
    fn wants_ticks(&self) -> bool {
        false
    }

    /// Called at regular intervals.
    fn tick(&mut self, _rows: &Rows) {}

    /// The run is over. Returns the write errors.
    fn end(self: Box<Self>) -> Vec<io::Error>;
}

/// A message to the thread that follows the run.
enum FollowMessage {
    Phase(Phase, Nanos),
    Second(WorkerSecond),
}

/// Observes a run: for the generator's health, and for the sinks.
#[derive(Debug)]
pub(crate) struct Follower {
    health: Health,
    messages: Option<Sender<FollowMessage>>,
    thread: Option<JoinHandle<Vec<io::Error>>>,
}

impl Follower {
    /// Follows a run of this plan, if there is a sink.
    pub(crate) fn new(
        health: Health,
        plan: RowSettings,
        sinks: Vec<Box<dyn Sink>>,
        stop: &'static StopFlag,
    ) -> Result<Self, RunError> {
        if sinks.is_empty() {
            return Ok(Self { health, messages: None, thread: None });
        }
        let (messages, received) = mpsc::channel();
        let follow = move || FollowThread { rows: Rows::new(plan, stop), sinks }.until_the_end(&received);
        let thread = thread::Builder::new().name("follow".to_owned()).spawn(follow).map_err(|error| {
            RunError::environment("cannot start the thread that reports progress")
                .because(error)
                .hint("raise the limit of threads and processes (`ulimit -u`)")
        })?;
        Ok(Self { health, messages: Some(messages), thread: Some(thread) })
    }

    /// The run is over, with or without an error. Returns the sinks' write errors.
    pub(crate) fn end(mut self) -> (Health, Vec<io::Error>) {
        drop(self.messages.take());
        let lost = || vec![io::Error::other("the thread that writes a line for each second panicked")];
        let errors = self.thread.map_or(Vec::new(), |thread| thread.join().unwrap_or_else(|_| lost()));
        (self.health, errors)
    }

    fn send(&self, message: FollowMessage) {
        if let Some(sender) = &self.messages {
            // The receiver lives until the sender is dropped.
            let _ = sender.send(message);
        }
    }
}

impl Observer for Follower {
    fn phase(&self, phase: Phase, at: Nanos) {
        self.health.phase(phase, at);
        self.send(FollowMessage::Phase(phase, at));
    }

    fn thread_phase(&self, worker: u32, phase: Phase) {
        self.health.thread_phase(worker, phase);
    }

    fn wants_seconds(&self) -> bool {
        self.messages.is_some()
    }

    fn second(&self, second: WorkerSecond) {
        self.send(FollowMessage::Second(second));
    }
}

/// The state of the thread that follows.
struct FollowThread {
    rows: Rows,
    sinks: Vec<Box<dyn Sink>>,
}

impl FollowThread {
    fn until_the_end(mut self, messages: &Receiver<FollowMessage>) -> Vec<io::Error> {
        // Writing and drawing can wait, sending cannot: on a shared core this thread runs last.
        process::run_thread_last();
        let mut gather = PendingSeconds::new(self.rows.workers());
        let ticks = self.sinks.iter().any(|sink| sink.wants_ticks());
        loop {
            let message = match ticks {
                true => messages.recv_timeout(TICK),
                false => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match message {
                Ok(FollowMessage::Phase(phase, at)) => self.rows.phase(phase, at),
                Ok(FollowMessage::Second(second)) => gather.add(second),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.hand_over(gather.whole());
            let rows = &self.rows;
            self.sinks.iter_mut().filter(|sink| sink.wants_ticks()).for_each(|sink| sink.tick(rows));
        }
        self.hand_over(gather.rest());
        self.sinks.into_iter().flat_map(Sink::end).collect()
    }

    fn hand_over(&mut self, seconds: Vec<WorkerSecond>) {
        for second in seconds {
            let row = self.rows.row(&second);
            let rows = &self.rows;
            self.sinks.iter_mut().for_each(|sink| sink.second(&row, &second, rows));
        }
    }
}
