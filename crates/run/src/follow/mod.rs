//! Follows a run in progress: adds up what the workers report for each second and passes it to [`Sink`]s, samples the
//! server and the generator, and reads the counters of energy.
//!
//! Workers report a second when it is over ([`paceline_engine::Observer::second`]). A separate thread of the lowest
//! priority adds the reports up, so that it takes no time from the workers. The record does not use these sums: it is
//! made from the engine's result, and has the samples.

mod gather;
mod row;
mod usage_series;

pub use row::{RowSettings, Rows, RunProgress, times};

use crate::energy::EnergyWatch;
use crate::server_metrics::LatestMetrics;
use crate::{Health, RunError};
use gather::PendingSeconds;
use paceline_engine::kernel::KernelClock;
use paceline_engine::{Clock as _, Nanos, Observer, Phase, StopFlag, WorkerSecond};
use paceline_host::{WatchedProcesses, process};
use paceline_record::ServerSample;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use usage_series::UsageSeries;

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

/// Called when a phase begins. It must be quick: the next phase waits for it.
pub type PhaseCallback = Box<dyn Fn(Phase) + Send + Sync>;

/// A message to the thread that follows the run.
enum FollowMessage {
    Phase(Phase, Nanos),
    Second(WorkerSecond),
}

/// Samples of a run that was followed, once a second.
#[derive(Debug, Default)]
pub(crate) struct RunSamples {
    /// Of the server, if its processes are known.
    pub server: Vec<ServerSample>,
    /// Of this process.
    pub generator: Vec<ServerSample>,
}

/// What remains when the run is over: the sinks' write errors, and the samples.
type FollowResult = (Vec<io::Error>, RunSamples);

/// Observes a run: for the generator's health, and for the sinks.
pub(crate) struct Follower {
    health: Health,
    on_phase: Option<PhaseCallback>,
    has_sinks: bool,
    messages: Option<Sender<FollowMessage>>,
    thread: Option<JoinHandle<FollowResult>>,
}

impl Follower {
    /// Follows a run of this plan, if there is a sink or a server to watch.
    pub(crate) fn new(
        health: Health,
        plan: RowSettings,
        sinks: Vec<Box<dyn Sink>>,
        metrics: Option<LatestMetrics>,
        stop: &'static StopFlag,
    ) -> Result<Self, RunError> {
        let server = health.watched_server().map(|server| UsageSeries::begin(server, KernelClock.now()));
        let has_sinks = !sinks.is_empty();
        if !has_sinks && server.is_none() {
            return Ok(Self { health, on_phase: None, has_sinks, messages: None, thread: None });
        }
        let (messages, received) = mpsc::channel();
        let rows = Rows::new(plan, stop);
        let own = WatchedProcesses::new(vec![process::own()]);
        let generator = UsageSeries::begin(own, KernelClock.now());
        let energy = health.energy_watch();
        let follow =
            move || FollowThread { rows, sinks, server, generator, energy, metrics }.until_the_end(&received);
        match thread::Builder::new().name("follow".to_owned()).spawn(follow) {
            Ok(thread) => {
                Ok(Self { health, on_phase: None, has_sinks, messages: Some(messages), thread: Some(thread) })
            }
            // Without the samples of the server the run is as good.
            Err(_) if !has_sinks => {
                let health = health.without_energy();
                Ok(Self { health, on_phase: None, has_sinks, messages: None, thread: None })
            }
            Err(error) => Err(RunError::environment("cannot start the thread that reports progress")
                .because(error)
                .hint("raise the limit of threads and processes (`ulimit -u`)")),
        }
    }

    /// Also calls this when a phase begins.
    pub(crate) fn calling(self, on_phase: Option<PhaseCallback>) -> Self {
        Self { on_phase, ..self }
    }

    /// The run is over, with or without an error.
    pub(crate) fn end(mut self) -> (Health, FollowResult) {
        drop(self.messages.take());
        let lost = |_| {
            let panicked = io::Error::other("the thread that writes a line for each second panicked");
            (vec![panicked], RunSamples::default())
        };
        let result = self.thread.map(|thread| thread.join().unwrap_or_else(lost));
        (self.health, result.unwrap_or_default())
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
        if let Some(on_phase) = &self.on_phase {
            on_phase(phase);
        }
        self.send(FollowMessage::Phase(phase, at));
    }

    fn thread_phase(&self, worker: u32, phase: Phase) {
        self.health.thread_phase(worker, phase);
    }

    fn wants_seconds(&self) -> bool {
        self.has_sinks
    }

    fn second(&self, second: WorkerSecond) {
        self.send(FollowMessage::Second(second));
    }
}

/// The state of the thread that follows.
struct FollowThread {
    rows: Rows,
    sinks: Vec<Box<dyn Sink>>,
    server: Option<UsageSeries>,
    generator: UsageSeries,
    energy: Option<EnergyWatch>,
    metrics: Option<LatestMetrics>,
}

impl FollowThread {
    fn until_the_end(mut self, messages: &Receiver<FollowMessage>) -> FollowResult {
        // Writing and drawing can wait, sending cannot: on a shared core this thread runs last.
        process::run_thread_last();
        let mut gather = PendingSeconds::new(self.rows.workers());
        let ticks = self.sinks.iter().any(|sink| sink.wants_ticks());
        loop {
            let message = match self.wait(ticks) {
                Some(wait) => messages.recv_timeout(wait),
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match message {
                Ok(FollowMessage::Phase(phase, at)) => self.phase(phase, at),
                Ok(FollowMessage::Second(second)) => gather.add(second),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            // Before the rows of the second that has just ended.
            self.sample_if_due();
            self.hand_over(gather.whole());
            let rows = &self.rows;
            self.sinks.iter_mut().filter(|sink| sink.wants_ticks()).for_each(|sink| sink.tick(rows));
        }
        self.hand_over(gather.rest());
        let errors = self.sinks.into_iter().flat_map(Sink::end).collect();
        let server = self.server.map_or_else(Vec::new, UsageSeries::into_samples);
        (errors, RunSamples { server, generator: self.generator.into_samples() })
    }

    fn sample_if_due(&mut self) {
        if KernelClock.now() >= self.generator.due() {
            self.energy.iter().for_each(EnergyWatch::keep_counting);
        }
        self.series().for_each(|series| series.sample_if_due(KernelClock.now()));
    }

    fn series(&mut self) -> impl Iterator<Item = &mut UsageSeries> {
        self.server.iter_mut().chain([&mut self.generator])
    }

    /// How long to wait for the next message; `None` if there is no limit.
    fn wait(&self, ticks: bool) -> Option<Duration> {
        // The server's samples are due at the same times.
        let due = Some(self.generator.due()).filter(|due| *due != Nanos::NEVER);
        let until_due = due.map(|due| Duration::from(due.since(KernelClock.now())));
        ticks.then_some(TICK).into_iter().chain(until_due).min()
    }

    fn phase(&mut self, phase: Phase, at: Nanos) {
        self.rows.phase(phase, at);
        self.series().for_each(|series| match phase {
            Phase::Connect => series.started(at),
            Phase::Warmup => series.warmed_from(at),
            Phase::Window | Phase::Drain | Phase::End => {}
        });
    }

    fn hand_over(&mut self, seconds: Vec<WorkerSecond>) {
        for second in seconds {
            let mut row = self.rows.row(&second);
            if let Some(server) = &self.server {
                server.fill(&mut row, second.start, second.end);
            }
            row.server_metrics =
                self.metrics.as_ref().map(|latest| latest.near(second.end)).unwrap_or_default();
            let rows = &self.rows;
            self.sinks.iter_mut().for_each(|sink| sink.second(&row, &second, rows));
        }
    }
}
