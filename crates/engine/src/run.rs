//! Carries out a run on the kernel's clock and transport: one thread for each worker, and one that coordinates.
//!
//! Called by `paceline run` and by the self-test. The threads get one common beginning when all are connected, and
//! their results are added when all have ended; in between a worker reads only the time to stop from the shared state.
//! The worker is in `hot`; `sim/mod.rs` runs one without threads.

use crate::arrivals::{SampledIntervals, since_epoch};
use crate::fragments::Fragments;
use crate::h1::Http1;
use crate::h2::Http2;
use crate::h3::Http3;
use crate::hot::{ProtocolHandler, Recorder, RunControl, Worker, settling_nap};
use crate::kernel::{Datagrams, Epoll, KernelClock, own_descriptor_table, sharpen_timers};
use crate::outcome::{ContinueCounts, ThreadOutcome};
use crate::scripted::Scripted;
use crate::session::Sessions;
use crate::tls::TlsTransport;
use crate::websocket::{ExtendedConnect, WebSocket};
use crate::{
    Clock, EngineError, Nanos, Observer, Phase, PhaseTimes, RunOutcome, Settings, Tally, Transport,
    WindowLength, WrongBody,
};
use paceline_job::{FragmentSpec, Protocol};
use paceline_stats::Histogram;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// The time from the connection of the last worker to the epoch, in longest sleeps of a worker that waits for it: long
/// enough for every worker to notice it.
const LEAD_NAPS: u64 = 5;
/// The time from a request to stop to the stop: longer than any worker sleeps, so that all stop at the same moment.
const STOP_LEAD: Nanos = Nanos::from_millis(150);

/// Stops a run early. The measurements until then are kept.
#[derive(Debug)]
pub struct StopFlag(AtomicU64);

impl Default for StopFlag {
    fn default() -> Self {
        Self::new()
    }
}

impl StopFlag {
    /// Not requested yet.
    pub const fn new() -> Self {
        Self(AtomicU64::new(Nanos::NEVER.0))
    }

    /// Requests a stop, which takes effect after a short delay. Safe to call from a signal handler, and more than once.
    pub fn request(&self) {
        let at = KernelClock.now() + STOP_LEAD;
        let _ = self.0.compare_exchange(Nanos::NEVER.0, at.0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// When to stop.
    pub fn at(&self) -> Nanos {
        Nanos(self.0.load(Ordering::Relaxed))
    }
}

/// The state shared by the threads of a run, before and after the measurement, never during it.
struct SharedRunState<'a> {
    waiting: AtomicU32,
    /// The connections of the threads that no longer wait.
    had: AtomicU64,
    /// Whether all of them had none.
    unreachable: AtomicBool,
    epoch: AtomicU64,
    aborted: AtomicBool,
    /// The latest end of the window of those that have finished, on the monotonic clock.
    drained: AtomicU64,
    finished: AtomicU32,
    stop: &'a StopFlag,
    coordinator: thread::Thread,
}

impl SharedRunState<'_> {
    /// When a phase that was planned for `at` began: then, or earlier if the run was stopped or all is done.
    fn began(&self, at: Nanos) -> Nanos {
        let (now, planned) = (KernelClock.now(), at.min(self.stop.at()));
        let drained = Nanos(self.drained.load(Ordering::Relaxed));
        if planned <= now || drained == Nanos::ZERO { planned.min(now) } else { drained }
    }
}

impl RunControl for SharedRunState<'_> {
    fn connected(&self, had: u64) {
        self.had.fetch_add(had, Ordering::Relaxed);
        self.waiting.fetch_sub(1, Ordering::Release);
        self.coordinator.unpark();
    }

    fn epoch(&self) -> Option<Nanos> {
        Some(Nanos(self.epoch.load(Ordering::Acquire))).filter(|epoch| *epoch != Nanos::NEVER)
    }

    fn unreachable(&self) -> bool {
        self.unreachable.load(Ordering::Acquire)
    }

    fn stop_at(&self) -> Nanos {
        self.stop.at()
    }

    fn aborted(&self) -> bool {
        self.aborted.load(Ordering::Acquire)
    }
}

/// When a run begins, once its connections are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStart {
    /// As soon as every worker can have noticed it.
    Soon,
    /// At this moment, which other loaders have agreed on too.
    At(Nanos),
    /// Never: the run is aborted.
    Never,
}

/// Carries a run out and blocks until it is over.
///
/// # Errors
/// [`EngineError`] when the settings are invalid, the target is unreachable, the kernel refuses a required operation,
/// or the engine's own accounts do not add up.
pub fn run(settings: &Settings, stop: &StopFlag, observer: &dyn Observer) -> Result<RunOutcome, EngineError> {
    run_when(settings, stop, observer, &|_| RunStart::Soon)
}

/// As [`run`], but `begin` decides when the warm-up begins. It is called once, with the number of open connections, and
/// may block; until it returns, connections that the server closes are made again. It is not called if the run fails or
/// is stopped before.
///
/// # Errors
/// As [`run`]; [`EngineError::StoppedEarly`] if it never begins.
pub fn run_when(
    settings: &Settings,
    stop: &StopFlag,
    observer: &dyn Observer,
    begin: &dyn Fn(u64) -> RunStart,
) -> Result<RunOutcome, EngineError> {
    settings.check()?;
    let shared = SharedRunState {
        waiting: AtomicU32::new(settings.threads),
        had: AtomicU64::new(0),
        unreachable: AtomicBool::new(false),
        epoch: AtomicU64::new(Nanos::NEVER.0),
        aborted: AtomicBool::new(false),
        drained: AtomicU64::new(0),
        finished: AtomicU32::new(0),
        stop,
        coordinator: thread::current(),
    };
    let start = KernelClock.now();
    observer.phase(Phase::Connect, start);
    let outcomes = thread::scope(|scope| {
        let threads: Vec<_> = (0..settings.threads)
            .take_while(|_| stop.at() == Nanos::NEVER)
            .map_while(|worker| {
                let (shared, name) = (&shared, format!("worker {worker}"));
                let work = move || work(settings, worker, shared, observer);
                thread::Builder::new().name(name).spawn_scoped(scope, work).ok()
            })
            .collect();
        if threads.len() < settings.threads as usize {
            // Refused or stopped: the started threads must not wait for the others.
            shared.aborted.store(true, Ordering::Relaxed);
        }
        coordinate(settings, &shared, observer, begin);
        let mut outcomes: Vec<_> =
            threads.into_iter().map(|thread| thread.join().unwrap_or(Err(EngineError::WorkerDied))).collect();
        if outcomes.len() < settings.threads as usize && stop.at() == Nanos::NEVER {
            outcomes.push(Err(EngineError::TooManyThreads { asked: settings.threads, had: outcomes.len() }));
        }
        outcomes
    });
    let (workers, errors): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
    if let Some(error) = errors.into_iter().filter_map(Result::err).reduce(EngineError::followed_by) {
        return Err(error);
    }
    if shared.epoch().is_none() {
        return Err(EngineError::StoppedEarly(KernelClock.now().since(start)));
    }
    let workers = workers.into_iter().flatten().collect();
    let stopped = stop.at() != Nanos::NEVER;
    let outcome = gather(settings, workers, start, stopped)?;
    if stopped && outcome.spans.drain <= outcome.spans.window {
        return Err(EngineError::StoppedEarly(outcome.spans.end.since(start)));
    }
    observer.phase(Phase::End, outcome.spans.end);
    Ok(outcome)
}

/// One worker's thread.
fn work(
    settings: &Settings,
    worker: u32,
    shared: &SharedRunState<'_>,
    observer: &dyn Observer,
) -> Result<ThreadOutcome, EngineError> {
    sharpen_timers();
    let finish = FinishGuard(shared);
    let mut recorder = Recorder::new();
    if settings.own_descriptors {
        own_descriptor_table().map_err(|source| EngineError::Kernel {
            what: "create a separate file descriptor table for a thread",
            source,
        })?;
    }
    let outcome = drive_over_transport(settings, worker, &mut recorder, shared, observer)?;
    shared.drained.fetch_max(outcome.spans.drain.0, Ordering::Relaxed);
    finish.succeed();
    Ok(outcome)
}

/// Drives a worker over the transport of the job.
fn drive_over_transport(
    settings: &Settings,
    worker: u32,
    recorder: &mut Recorder,
    shared: &SharedRunState<'_>,
    observer: &dyn Observer,
) -> Result<ThreadOutcome, EngineError> {
    if settings.job.protocol == Protocol::Http3 {
        let transport = Datagrams::new(settings, worker)?;
        return match settings.requests.sessions() {
            None => drive::<_, Http3>(settings, worker, transport, recorder, shared, observer),
            Some(_) => drive::<_, Http3<Sessions>>(settings, worker, transport, recorder, shared, observer),
        };
    }
    let transport = Epoll::new(settings, worker)?;
    if let Some(fragment) = settings.job.fragment {
        return drive_in_fragments(settings, worker, fragment, transport, recorder, shared, observer);
    }
    match &settings.tls {
        None => drive_with_protocol(settings, worker, transport, recorder, shared, observer),
        Some(tls) => {
            let transport = TlsTransport::new(
                tls,
                settings.job.protocol,
                settings.connections_of(worker),
                KernelClock,
                transport,
            );
            drive_with_protocol(settings, worker, transport, recorder, shared, observer)
        }
    }
}

/// Drives a worker that writes plain requests of HTTP/1.1 in pieces.
fn drive_in_fragments(
    settings: &Settings,
    worker: u32,
    fragment: FragmentSpec,
    transport: Epoll,
    recorder: &mut Recorder,
    shared: &SharedRunState<'_>,
    observer: &dyn Observer,
) -> Result<ThreadOutcome, EngineError> {
    let slots = settings.connections_of(worker);
    match &settings.tls {
        None => {
            let transport = Fragments::new(fragment, slots, KernelClock, transport);
            drive::<_, Http1>(settings, worker, transport, recorder, shared, observer)
        }
        Some(tls) => {
            let inner = TlsTransport::new(tls, settings.job.protocol, slots, KernelClock, transport);
            let transport = Fragments::new(fragment, slots, KernelClock, inner);
            drive::<_, Http1>(settings, worker, transport, recorder, shared, observer)
        }
    }
}

/// Drives a worker with the protocol of the job, over a transport of streams.
fn drive_with_protocol<T: Transport>(
    settings: &Settings,
    worker: u32,
    transport: T,
    recorder: &mut Recorder,
    shared: &SharedRunState<'_>,
    observer: &dyn Observer,
) -> Result<ThreadOutcome, EngineError> {
    let drive = match (settings.job.protocol, settings.requests.sessions()) {
        (Protocol::Http10 | Protocol::Http11, None) if settings.scripts.is_some() => {
            drive::<T, Http1<Scripted>>
        }
        (Protocol::Http10 | Protocol::Http11, None) if settings.job.is_websocket() => drive::<T, WebSocket>,
        (Protocol::Http10 | Protocol::Http11, None) => drive::<T, Http1>,
        (Protocol::Http10 | Protocol::Http11, Some(_)) => drive::<T, Http1<Sessions>>,
        (Protocol::Http2, None) if settings.scripts.is_some() => drive::<T, Http2<Scripted>>,
        (Protocol::Http2, None) if settings.job.is_websocket() => {
            let slots = settings.connections_of(worker);
            let transport = ExtendedConnect::new(settings.job.url.scheme, slots, transport);
            return drive::<_, WebSocket>(settings, worker, transport, recorder, shared, observer);
        }
        (Protocol::Http2, None) => drive::<T, Http2>,
        (Protocol::Http2, Some(_)) => drive::<T, Http2<Sessions>>,
        (Protocol::Http3, _) => {
            return Err(EngineError::Settings("HTTP/3 needs datagrams; this is a bug in Paceline"));
        }
    };
    drive(settings, worker, transport, recorder, shared, observer)
}

/// The loop, compiled for each combination of transport and protocol.
fn drive<T: Transport, P: ProtocolHandler>(
    settings: &Settings,
    worker: u32,
    transport: T,
    recorder: &mut Recorder,
    shared: &SharedRunState<'_>,
    observer: &dyn Observer,
) -> Result<ThreadOutcome, EngineError> {
    let mut worker = Worker::<_, _, P>::new(settings, worker, KernelClock, transport, recorder);
    worker.run(shared, observer)?;
    Ok(worker.into_outcome())
}

/// Reports to the others when a worker ends, and stops them if it failed.
struct FinishGuard<'a>(&'a SharedRunState<'a>);

impl FinishGuard<'_> {
    /// The worker succeeded.
    fn succeed(self) {
        self.0.finished.fetch_add(1, Ordering::Release);
        self.0.coordinator.unpark();
        std::mem::forget(self);
    }
}

impl Drop for FinishGuard<'_> {
    fn drop(&mut self) {
        // A worker that sees it also sees that the target is unreachable, if this one failed because of that.
        self.0.aborted.store(true, Ordering::Release);
        self.0.finished.fetch_add(1, Ordering::Release);
        self.0.coordinator.unpark();
    }
}

/// Sets the epoch when all workers are connected, and reports phases to the observer as they begin. If a worker failed
/// or a stop was requested by then, the run never begins: there is no epoch, and the workers that wait for it are
/// released.
fn coordinate(
    settings: &Settings,
    shared: &SharedRunState<'_>,
    observer: &dyn Observer,
    begin: &dyn Fn(u64) -> RunStart,
) {
    let all_done = || shared.finished.load(Ordering::Acquire) == settings.threads || shared.aborted();
    while shared.waiting.load(Ordering::Acquire) > 0 && !all_done() {
        thread::park_timeout(Duration::from_millis(100));
    }
    let length = WindowLength::from_settings(settings);
    // A thread that was refused or failed ends the run: other loaders must not wait for it, or begin.
    if shared.aborted() || shared.stop.at() != Nanos::NEVER {
        shared.aborted.store(true, Ordering::Relaxed);
        return;
    }
    let had = shared.had.load(Ordering::Relaxed);
    if had == 0 {
        return shared.unreachable.store(true, Ordering::Release);
    }
    let soonest = || KernelClock.now() + Nanos(LEAD_NAPS * settling_nap(settings.threads).0);
    let epoch = match begin(had) {
        RunStart::Soon => soonest(),
        RunStart::At(epoch) => epoch,
        RunStart::Never => return shared.aborted.store(true, Ordering::Relaxed),
    };
    shared.epoch.store(epoch.0, Ordering::Release);
    let timeline = length.timeline(settings, epoch);
    for (phase, at) in [
        (Phase::Warmup, timeline.epoch),
        (Phase::Window, timeline.window_start),
        (Phase::Drain, timeline.window_end),
    ] {
        while KernelClock.now() < at.min(shared.stop.at()) && !all_done() {
            let wait = at.min(shared.stop.at()).since(KernelClock.now());
            thread::park_timeout(Duration::from(wait.min(Nanos::from_millis(100))));
        }
        observer.phase(phase, shared.began(at));
    }
}

/// Combines the workers' outcomes, and checks the accounts.
fn gather(
    settings: &Settings,
    workers: Vec<ThreadOutcome>,
    start: Nanos,
    stopped: bool,
) -> Result<RunOutcome, EngineError> {
    let coarsest = workers.iter().map(|worker| worker.interval).max().unwrap_or(Nanos::from_secs(1));
    let mut outcome = RunOutcome {
        arrival_gaps: Vec::new(),
        noted_sends: Vec::new(),
        total: Tally::default(),
        by_segment: Vec::new(),
        by_request: Vec::new(),
        intervals: Vec::new(),
        connections: Default::default(),
        carried: Default::default(),
        stall: Default::default(),
        spun: Vec::new(),
        backlog: 0,
        spans: PhaseTimes { start, warmup: Nanos::NEVER, window: Nanos::NEVER, ..PhaseTimes::default() },
        wrong_bodies: Vec::new(),
        continues: ContinueCounts::default(),
        sessions_completed: Vec::new(),
        session_times: Vec::new(),
        stream_examples: Default::default(),
        stopped,
        tls: None,
    };
    let mut noted = Vec::new();
    for worker in workers {
        noted.push(worker.noted_sends);
        if let Some(tls) = worker.tls {
            outcome.tls.get_or_insert_default().absorb(tls);
        }
        outcome.total.merge(&worker.total);
        merge_each(&mut outcome.by_segment, worker.by_segment);
        merge_each(&mut outcome.by_request, worker.by_request);
        outcome.intervals.extend(worker.intervals);
        outcome.connections.absorb(worker.connections);
        outcome.carried.absorb(&worker.carried);
        if worker.stall.length > outcome.stall.length {
            outcome.stall = worker.stall;
        }
        outcome.spun.push(worker.spun);
        outcome.backlog = outcome.backlog.saturating_add(worker.backlog);
        outcome.spans.warmup = outcome.spans.warmup.min(worker.spans.warmup);
        outcome.spans.window = outcome.spans.window.min(worker.spans.window);
        outcome.spans.drain = outcome.spans.drain.max(worker.spans.drain);
        outcome.spans.end = outcome.spans.end.max(worker.spans.end);
        keep_first(&mut outcome.wrong_bodies, worker.wrong_bodies);
        outcome.continues.absorb(&worker.continues);
        outcome.stream_examples.absorb(worker.stream_examples);
        add_sessions(&mut outcome, &worker.sessions_completed, &worker.session_times);
    }
    outcome.intervals = crate::hot::join_intervals(outcome.intervals, outcome.spans.warmup, coarsest);
    let timeline = WindowLength::from_settings(settings).timeline(settings, outcome.spans.warmup);
    match settings.job.share {
        // The gaps between every N-th arrival are not exponential: only those of all loaders can be tested.
        Some(_) => outcome.noted_sends = since_epoch(noted, timeline.epoch),
        None => {
            let stretches = SampledIntervals::from_settings(settings, &timeline);
            outcome.arrival_gaps = stretches.map_or_else(Vec::new, |stretches| stretches.gaps(&noted));
        }
    }
    if !outcome.total.counts.add_up() {
        return Err(EngineError::Accounts(format!("{:?}", outcome.total.counts)));
    }
    Ok(outcome)
}

/// Adds a worker's completed sessions and their times, by kind of session.
fn add_sessions(outcome: &mut RunOutcome, completed: &[u64], times: &[Histogram]) {
    outcome.sessions_completed.resize(completed.len(), 0);
    outcome.sessions_completed.iter_mut().zip(completed).for_each(|(ours, theirs)| *ours += theirs);
    outcome.session_times.resize_with(times.len(), Histogram::new);
    outcome.session_times.iter_mut().zip(times).for_each(|(ours, theirs)| ours.merge(theirs));
}

/// Keeps the first wrong body of each kind.
fn keep_first(ours: &mut Vec<Option<WrongBody>>, theirs: Vec<Option<WrongBody>>) {
    ours.resize_with(theirs.len(), || None);
    for (ours, theirs) in ours.iter_mut().zip(theirs) {
        let is_first = |theirs: &WrongBody| ours.as_ref().is_none_or(|ours| theirs.at < ours.at);
        if theirs.as_ref().is_some_and(is_first) {
            *ours = theirs;
        }
    }
}

/// Adds the blocks of another worker, which has the same number.
fn merge_each(ours: &mut Vec<Tally>, theirs: Vec<Tally>) {
    if ours.is_empty() {
        *ours = theirs;
        return;
    }
    ours.iter_mut().zip(&theirs).for_each(|(ours, theirs)| ours.merge(theirs));
}
