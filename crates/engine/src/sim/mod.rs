//! Implements the simulation: the engine's own worker over a virtual clock and a scripted server.
//!
//! It runs an hour of load against a stalling server in seconds, so that statements about time (coordinated omission,
//! conservation, the identities) are tested exactly and not on a noisy machine. It does not use the kernel; a run is
//! determined by its settings, its script and its seed.

mod clock;
mod echo;
mod http2;
mod network;
mod server;

pub use clock::VirtualClock;
pub use echo::{Echo, EchoHttp2, FrameOrder};
pub use http2::MisbehavingHttp2;
pub use network::{Act, Connect, Network, Script};
pub use server::{FreezingServer, MisbehavingServer, response};

use crate::h1::Http1;
use crate::h2::Http2;
use crate::hot::{ProtocolHandler, Recorder, RunControl, Worker};
use crate::session::Sessions;
use crate::{EngineError, Nanos, NoObserver, Observer, Settings, Tally, ThreadOutcome, Transport};
use paceline_job::Protocol;
use std::cell::Cell;
use std::rc::Rc;

/// Runs one worker against a scripted server in virtual time.
///
/// # Errors
/// As [`crate::run`].
pub fn simulate<S: Script>(
    settings: &Settings,
    script: S,
    clock: &VirtualClock,
) -> Result<ThreadOutcome, EngineError> {
    simulate_observed(settings, script, clock, &NoObserver)
}

/// As [`simulate`], with an observer.
///
/// # Errors
/// As [`crate::run`].
pub fn simulate_observed<S: Script>(
    settings: &Settings,
    script: S,
    clock: &VirtualClock,
    observer: &dyn Observer,
) -> Result<ThreadOutcome, EngineError> {
    let (never, mut recorder) = (Nanos::NEVER, Recorder::new());
    if settings.requests.sessions().is_some() {
        return Ok(
            drive::<Sessions, _>(settings, script, clock, never, &mut recorder, observer)?.into_outcome()
        );
    }
    Ok(match settings.job.protocol {
        Protocol::Http10 | Protocol::Http11 => {
            drive::<Http1, _>(settings, script, clock, never, &mut recorder, observer)?.into_outcome()
        }
        Protocol::Http2 => {
            drive::<Http2, _>(settings, script, clock, never, &mut recorder, observer)?.into_outcome()
        }
    })
}

/// Runs one worker over [`Echo`] or, with HTTP/2, [`EchoHttp2`], which responds with `answer` to every request, on a
/// clock that moves by a microsecond at every reading. The cost is that of the engine alone, and the same every time.
///
/// # Errors
/// As [`crate::run`].
pub fn echo(settings: &Settings, answer: Rc<[u8]>, order: FrameOrder) -> Result<ThreadOutcome, EngineError> {
    settings.check()?;
    let slots = settings.job.connections;
    match settings.job.protocol {
        Protocol::Http10 | Protocol::Http11 => {
            let length = settings.requests.as_fixed().map_or(1, <[u8]>::len);
            drive_over::<Http1, _>(settings, Echo::new(slots, length, answer))
        }
        Protocol::Http2 => drive_over::<Http2, _>(settings, EchoHttp2::new(slots, answer, order)),
    }
}

/// Runs one worker over a transport that takes no time.
fn drive_over<P: ProtocolHandler, T: Transport>(
    settings: &Settings,
    transport: T,
) -> Result<ThreadOutcome, EngineError> {
    let clock = VirtualClock::new(Nanos::from_micros(1));
    let mut recorder = Recorder::new();
    let mut worker = Worker::<_, _, P>::new(settings, 0, clock.clone(), transport, &mut recorder);
    worker.run(&SingleWorker { clock, stop_at: Nanos::NEVER, unreachable: Cell::new(false) }, &NoObserver)?;
    Ok(worker.into_outcome())
}

/// As [`simulate`], stopped at `stop_at`, with a reusable recorder; shows the tallies of all blocks, those of the
/// warm-up first, and the script.
///
/// # Errors
/// As [`crate::run`].
pub fn simulate_with<S: Script, R>(
    settings: &Settings,
    script: S,
    clock: &VirtualClock,
    stop_at: Nanos,
    recorder: &mut Recorder,
    look: impl FnOnce(&[Tally], &S) -> R,
) -> Result<R, EngineError> {
    match settings.job.protocol {
        Protocol::Http10 | Protocol::Http11 => {
            Ok(drive::<Http1, _>(settings, script, clock, stop_at, recorder, &NoObserver)?.settle(look))
        }
        Protocol::Http2 => {
            Ok(drive::<Http2, _>(settings, script, clock, stop_at, recorder, &NoObserver)?.settle(look))
        }
    }
}

/// Drives one worker and returns it, with all its results.
pub(crate) fn drive<'a, P: ProtocolHandler, S: Script>(
    settings: &'a Settings,
    script: S,
    clock: &VirtualClock,
    stop_at: Nanos,
    recorder: &'a mut Recorder,
    observer: &dyn Observer,
) -> Result<Worker<'a, VirtualClock, Network<S>, P>, EngineError> {
    settings.check()?;
    let network = Network::new(
        clock.clone(),
        settings.job.connections,
        settings.requests.as_fixed().map(<[u8]>::len),
        script,
    );
    let mut worker = Worker::new(settings, 0, clock.clone(), network, recorder);
    worker.run(&SingleWorker { clock: clock.clone(), stop_at, unreachable: Cell::new(false) }, observer)?;
    Ok(worker)
}

/// The only worker, which does not wait for others.
struct SingleWorker {
    clock: VirtualClock,
    stop_at: Nanos,
    unreachable: Cell<bool>,
}

impl RunControl for SingleWorker {
    fn connected(&self, had: u64) {
        self.unreachable.set(had == 0 && self.stop_at == Nanos::NEVER);
    }

    fn unreachable(&self) -> bool {
        self.unreachable.get()
    }

    fn epoch(&self) -> Option<Nanos> {
        Some(crate::Clock::now(&self.clock))
    }

    fn stop_at(&self) -> Nanos {
        self.stop_at
    }

    fn aborted(&self) -> bool {
        false
    }
}

impl<S: Script, P: ProtocolHandler> Worker<'_, VirtualClock, Network<S>, P> {
    fn settle<R>(mut self, look: impl FnOnce(&[Tally], &S) -> R) -> R {
        self.settled(|tallies, network| look(tallies, network.script()))
    }
}
