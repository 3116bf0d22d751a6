//! Implements the simulation: the engine's own worker over a virtual clock and a scripted server.
//!
//! It runs an hour of load against a stalling server in seconds, so that statements about time (coordinated omission,
//! conservation, the identities) are tested exactly and not on a noisy machine. It does not use the kernel; a run is
//! determined by its settings, its script and its seed.

mod clock;
mod echo;
mod http2;
mod http3;
mod network;
mod server;

pub use clock::VirtualClock;
pub use echo::{Echo, EchoHttp2, FrameOrder};
pub use http2::MisbehavingHttp2;
pub use http3::{Http3Application, Http3Behaviour, Http3End, Http3Piece, MisbehavingHttp3};
pub use network::{Act, Connect, DatagramNetwork, Network, Script};
pub use server::{FreezingServer, MisbehavingServer, response};

use crate::fragments::Fragments;
use crate::h1::Http1;
use crate::h2::Http2;
use crate::h3::Http3;
use crate::hot::{ProtocolHandler, Recorder, RunControl, Worker};
use crate::scripted::Scripted;
use crate::session::Sessions;
use crate::websocket::WebSocket;
use crate::{EngineError, Nanos, NoObserver, Observer, Settings, Tally, ThreadOutcome, Transport};
use paceline_job::Protocol;
use std::cell::Cell;
use std::rc::Rc;

/// Runs one worker against a scripted server in virtual time.
///
/// # Errors
/// As [`crate::run`].
pub fn simulate(
    settings: &Settings,
    script: impl Script,
    clock: &VirtualClock,
) -> Result<ThreadOutcome, EngineError> {
    simulate_observed(settings, script, clock, &NoObserver)
}

/// As [`simulate`], with an observer.
///
/// # Errors
/// As [`crate::run`].
pub fn simulate_observed(
    settings: &Settings,
    mut script: impl Script,
    clock: &VirtualClock,
    observer: &dyn Observer,
) -> Result<ThreadOutcome, EngineError> {
    let mut recorder = Recorder::new();
    let simulation = Simulation { settings, clock, stop_at: Nanos::NEVER, observer };
    simulation.outcome(&mut script, &mut recorder)
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
        Protocol::Http3 => Err(EngineError::Settings("there is no echo over QUIC")),
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
    mut script: S,
    clock: &VirtualClock,
    stop_at: Nanos,
    recorder: &mut Recorder,
    look: impl FnOnce(&[Tally], &S) -> R,
) -> Result<R, EngineError> {
    let simulation = Simulation { settings, clock, stop_at, observer: &NoObserver };
    simulation.run(&mut script, recorder)?;
    Ok(look(recorder.settle(), &script))
}

/// One worker over a scripted network, which is stopped at `stop_at`.
pub(crate) struct Simulation<'a> {
    pub settings: &'a Settings,
    pub clock: &'a VirtualClock,
    pub stop_at: Nanos,
    pub observer: &'a dyn Observer,
}

impl<'a> Simulation<'a> {
    /// Runs the worker for its outcome, which empties the recorder.
    fn outcome(
        &self,
        script: &mut dyn Script,
        recorder: &mut Recorder,
    ) -> Result<ThreadOutcome, EngineError> {
        if let Some(fragment) = self.settings.job.fragment {
            let (slots, clock) = (self.settings.job.connections, self.clock.clone());
            let wrap = |network| Fragments::new(fragment, slots, clock, network);
            return Ok(self.drive_over::<Http1, _>(script, recorder, wrap)?.into_outcome());
        }
        let drive = match (self.settings.job.protocol, self.settings.requests.sessions()) {
            (Protocol::Http10 | Protocol::Http11, None) if self.settings.scripts.is_some() => {
                Self::drive_out::<Http1<Scripted>>
            }
            (Protocol::Http10 | Protocol::Http11, None) if self.settings.job.is_websocket() => {
                Self::drive_out::<WebSocket>
            }
            (Protocol::Http10 | Protocol::Http11, None) => Self::drive_out::<Http1>,
            (Protocol::Http10 | Protocol::Http11, Some(_)) => Self::drive_out::<Http1<Sessions>>,
            (Protocol::Http2, None) if self.settings.scripts.is_some() => Self::drive_out::<Http2<Scripted>>,
            (Protocol::Http2, None) => Self::drive_out::<Http2>,
            (Protocol::Http2, Some(_)) => Self::drive_out::<Http2<Sessions>>,
            (Protocol::Http3, None) => Self::drive_datagrams_out::<Http3>,
            (Protocol::Http3, Some(_)) => Self::drive_datagrams_out::<Http3<Sessions>>,
        };
        drive(self, script, recorder)
    }

    fn drive_out<P: ProtocolHandler>(
        &self,
        script: &mut dyn Script,
        recorder: &mut Recorder,
    ) -> Result<ThreadOutcome, EngineError> {
        Ok(self.drive::<P>(script, recorder)?.into_outcome())
    }

    fn drive_datagrams_out<P: ProtocolHandler>(
        &self,
        script: &mut dyn Script,
        recorder: &mut Recorder,
    ) -> Result<ThreadOutcome, EngineError> {
        Ok(self.drive_over::<P, _>(script, recorder, DatagramNetwork::new)?.into_outcome())
    }

    /// Runs the worker and leaves its blocks in the recorder.
    fn run(&self, script: &mut dyn Script, recorder: &mut Recorder) -> Result<(), EngineError> {
        match (self.settings.job.protocol, self.settings.requests.sessions()) {
            (Protocol::Http10 | Protocol::Http11, None) if self.settings.job.is_websocket() => {
                self.drive::<WebSocket>(script, recorder).map(drop)
            }
            (Protocol::Http10 | Protocol::Http11, None) => self.drive::<Http1>(script, recorder).map(drop),
            (Protocol::Http10 | Protocol::Http11, Some(_)) => {
                self.drive::<Http1<Sessions>>(script, recorder).map(drop)
            }
            (Protocol::Http2, None) => self.drive::<Http2>(script, recorder).map(drop),
            (Protocol::Http2, Some(_)) => self.drive::<Http2<Sessions>>(script, recorder).map(drop),
            (Protocol::Http3, None) => {
                self.drive_over::<Http3, _>(script, recorder, DatagramNetwork::new).map(drop)
            }
            (Protocol::Http3, Some(_)) => {
                self.drive_over::<Http3<Sessions>, _>(script, recorder, DatagramNetwork::new).map(drop)
            }
        }
    }

    /// Drives one worker and returns it, with all its results.
    pub(crate) fn drive<'w, P: ProtocolHandler>(
        &self,
        script: &'w mut dyn Script,
        recorder: &'w mut Recorder,
    ) -> Result<Worker<'w, VirtualClock, Network<'w>, P>, EngineError>
    where
        'a: 'w,
    {
        self.drive_over(script, recorder, |network| network)
    }

    /// The same over a transport that `wrap` makes of the network.
    fn drive_over<'w, P: ProtocolHandler, T: Transport>(
        &self,
        script: &'w mut dyn Script,
        recorder: &'w mut Recorder,
        wrap: impl FnOnce(Network<'w>) -> T,
    ) -> Result<Worker<'w, VirtualClock, T, P>, EngineError>
    where
        'a: 'w,
    {
        self.settings.check()?;
        let network = Network::new(
            self.clock.clone(),
            self.settings.job.connections,
            self.settings.requests.as_fixed().map(<[u8]>::len),
            script,
        );
        let mut worker = Worker::new(self.settings, 0, self.clock.clone(), wrap(network), recorder);
        let (clock, stop_at) = (self.clock.clone(), self.stop_at);
        worker.run(&SingleWorker { clock, stop_at, unreachable: Cell::new(false) }, self.observer)?;
        Ok(worker)
    }
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
