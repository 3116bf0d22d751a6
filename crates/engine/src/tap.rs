//! Notes what passes through a transport, in a run of one worker: `--debug` shows it.
//!
//! The run is an ordinary one, with the same protocols, sessions and TLS; only its transport notes every event before it
//! passes it on. Over TLS it notes the plain bytes.

use crate::h1::Http1;
use crate::h2::Http2;
use crate::h3::Http3;
use crate::hot::{ProtocolHandler, Recorder, RunControl, Worker};
use crate::kernel::{Datagrams, Epoll, KernelClock};
use crate::session::Sessions;
use crate::tls::TlsTransport;
use crate::websocket::{ExtendedConnect, WebSocket};
use crate::{
    Clock, Direction, EngineError, IoProgress, Nanos, NoObserver, Readiness, Settings, Slot, StreamEnd,
    ThreadOutcome, Transport, WaitLimit,
};
use paceline_job::Protocol;
use std::cell::{Cell, RefCell};
use std::io;

/// The maximum number of bytes noted; later ones pass without a note.
const MAX_NOTED: usize = 32 << 20;

/// An event of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapEvent {
    /// When it happened.
    pub at: Nanos,
    /// What happened.
    pub kind: TapEventKind,
}

/// What happened to a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TapEventKind {
    /// An attempt to connect began.
    Connecting,
    /// The connection was made.
    Connected {
        /// When the TLS handshake began, with TLS.
        handshake_began: Option<Nanos>,
    },
    /// The socket took these bytes.
    Sent(Vec<u8>),
    /// These bytes were received.
    Received(Vec<u8>),
    /// A stream of a QUIC connection carried these bytes.
    Stream {
        /// Where they went.
        direction: Direction,
        /// The id of the stream (RFC 9000 §2.1).
        id: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A direction of a stream of a QUIC connection has ended.
    StreamEnded {
        /// Where the end went.
        direction: Direction,
        /// The id of the stream.
        id: u64,
        /// How it ended.
        end: StreamEnd,
    },
    /// A QUIC connection was closed.
    ConnectionClosed {
        /// Where CONNECTION_CLOSE went.
        direction: Direction,
        /// The code, of HTTP/3.
        code: u64,
        /// The text.
        reason: Vec<u8>,
    },
    /// The server closed its side.
    Ended,
}

/// A transport that notes its events.
struct Tap<'t, T> {
    inner: T,
    events: &'t RefCell<Vec<TapEvent>>,
    noted_bytes: usize,
    /// Over QUIC: whether the connection is made, which its first stream shows.
    is_made: bool,
    /// When the last attempt to connect began.
    began: Nanos,
}

impl<'t, T: Transport> Tap<'t, T> {
    fn new(inner: T, events: &'t RefCell<Vec<TapEvent>>) -> Self {
        Self { inner, events, noted_bytes: 0, is_made: false, began: Nanos::ZERO }
    }

    fn note(&mut self, at: Nanos, kind: TapEventKind) {
        if let TapEventKind::Sent(bytes)
        | TapEventKind::Received(bytes)
        | TapEventKind::Stream { bytes, .. } = &kind
        {
            self.noted_bytes += bytes.len();
        }
        if self.noted_bytes <= MAX_NOTED {
            self.events.borrow_mut().push(TapEvent { at, kind });
        }
    }

    /// Notes that a connection was made, if an attempt is done.
    fn attempted(&mut self, slot: Slot, progress: IoProgress) -> IoProgress {
        if progress == IoProgress::Done && !T::HAS_DATAGRAMS {
            let handshake_began = self.inner.handshake_began(slot);
            self.note(KernelClock.now(), TapEventKind::Connected { handshake_began });
        }
        progress
    }
}

impl<T: Transport> Transport for Tap<'_, T> {
    type Inner = T;

    const HAS_DATAGRAMS: bool = T::HAS_DATAGRAMS;
    const NOTES_STREAMS: bool = T::HAS_DATAGRAMS;

    #[inline]
    fn inner(&self) -> Option<&T> {
        Some(&self.inner)
    }

    #[inline]
    fn inner_mut(&mut self) -> Option<&mut T> {
        Some(&mut self.inner)
    }

    fn connect(&mut self, slot: Slot) -> io::Result<IoProgress> {
        (self.began, self.is_made) = (KernelClock.now(), false);
        self.note(self.began, TapEventKind::Connecting);
        let progress = self.inner.connect(slot)?;
        Ok(self.attempted(slot, progress))
    }

    fn finish_connect(&mut self, slot: Slot) -> io::Result<IoProgress> {
        let progress = self.inner.finish_connect(slot)?;
        Ok(self.attempted(slot, progress))
    }

    fn send(&mut self, slot: Slot, bytes: &[u8]) -> io::Result<usize> {
        // As the actual send: just before the bytes are passed to the socket.
        let at = KernelClock.now();
        let taken = self.inner.send(slot, bytes)?;
        self.note(at, TapEventKind::Sent(bytes[..taken].to_vec()));
        Ok(taken)
    }

    fn receive(&mut self, slot: Slot, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.receive(slot, buffer)?;
        if T::HAS_DATAGRAMS {
            return Ok(count);
        }
        let kind = match count {
            0 => TapEventKind::Ended,
            _ => TapEventKind::Received(buffer[..count].to_vec()),
        };
        self.note(KernelClock.now(), kind);
        Ok(count)
    }

    fn note_stream(&mut self, _: Slot, direction: Direction, id: u64, bytes: &[u8]) {
        let at = KernelClock.now();
        if !std::mem::replace(&mut self.is_made, true) {
            self.note(at, TapEventKind::Connected { handshake_began: Some(self.began) });
        }
        self.note(at, TapEventKind::Stream { direction, id, bytes: bytes.to_vec() });
    }

    fn note_stream_end(&mut self, _: Slot, direction: Direction, id: u64, end: StreamEnd) {
        self.note(KernelClock.now(), TapEventKind::StreamEnded { direction, id, end });
    }

    fn note_close(&mut self, _: Slot, direction: Direction, code: u64, reason: &[u8]) {
        let kind = TapEventKind::ConnectionClosed { direction, code, reason: reason.to_vec() };
        self.note(KernelClock.now(), kind);
    }

    fn close(&mut self, slot: Slot) {
        self.inner.close(slot);
    }

    fn wait(&mut self, wait_limit: WaitLimit, ready: &mut Vec<Readiness>) -> io::Result<()> {
        self.inner.wait(wait_limit, ready)
    }
}

/// The control of a run with one worker, which begins as soon as it is connected.
struct LoneWorker {
    unreachable: Cell<bool>,
}

impl RunControl for LoneWorker {
    fn connected(&self, had: u64) {
        self.unreachable.set(had == 0);
    }

    fn unreachable(&self) -> bool {
        self.unreachable.get()
    }

    fn epoch(&self) -> Option<Nanos> {
        Some(KernelClock.now())
    }

    fn stop_at(&self) -> Nanos {
        Nanos::NEVER
    }

    fn aborted(&self) -> bool {
        false
    }
}

/// Carries out a run with sessions, or over WebSockets, in this thread; returns its outcome and the events of its
/// connections. A run that fails has events too.
///
/// # Errors
/// The outcome as [`crate::run`].
pub fn run_tapped(settings: &Settings) -> (Result<ThreadOutcome, EngineError>, Vec<TapEvent>) {
    let events = RefCell::new(Vec::new());
    let outcome = drive_tapped(settings, &events);
    (outcome, events.into_inner())
}

fn drive_tapped(settings: &Settings, events: &RefCell<Vec<TapEvent>>) -> Result<ThreadOutcome, EngineError> {
    settings.check()?;
    match &settings.tls {
        _ if settings.job.protocol == Protocol::Http3 => {
            let datagrams = Datagrams::new(settings, 0)?;
            drive_as::<_, Http3<Sessions>>(settings, Tap::new(datagrams, events))
        }
        None => drive(settings, Tap::new(Epoll::new(settings, 0)?, events)),
        Some(tls) => {
            let (protocol, epoll) = (settings.job.protocol, Epoll::new(settings, 0)?);
            let inner = TlsTransport::new(tls, protocol, settings.job.connections, KernelClock, epoll);
            drive(settings, Tap::new(inner, events))
        }
    }
}

fn drive<T: Transport>(settings: &Settings, transport: T) -> Result<ThreadOutcome, EngineError> {
    let job = &settings.job;
    match job.protocol {
        Protocol::Http10 | Protocol::Http11 if job.is_websocket() => {
            drive_as::<T, WebSocket>(settings, transport)
        }
        Protocol::Http2 if job.is_websocket() => {
            let transport = ExtendedConnect::new(job.url.scheme, job.connections, transport);
            drive_as::<_, WebSocket>(settings, transport)
        }
        Protocol::Http10 | Protocol::Http11 => drive_as::<T, Http1<Sessions>>(settings, transport),
        Protocol::Http2 => drive_as::<T, Http2<Sessions>>(settings, transport),
        Protocol::Http3 => Err(EngineError::Settings("HTTP/3 needs datagrams; this is a bug in Paceline")),
    }
}

fn drive_as<T: Transport, P: ProtocolHandler>(
    settings: &Settings,
    transport: T,
) -> Result<ThreadOutcome, EngineError> {
    let mut recorder = Recorder::new();
    let mut worker = Worker::<_, _, P>::new(settings, 0, KernelClock, transport, &mut recorder);
    worker.run(&LoneWorker { unreachable: Cell::new(false) }, &NoObserver)?;
    Ok(worker.into_outcome())
}
