//! Implements TLS as a transport around another one: handshakes as part of connecting, records instead of bytes.
//!
//! The rule of [`Transport::receive`] that a read which does not fill the buffer has emptied the socket is kept: reads
//! from the wire go on until one is short and some plain bytes have come, or until the socket is empty. If a read
//! reports no bytes, the connection has not ended either. An end or an error after good bytes cannot be reported with
//! them and gets a separate event.

use super::certificate::ClientCertificateResolver;
use super::fault::{ClientCertificate, TlsError, TlsFault};
use super::outcome::TlsOutcome;
use super::records::MAX_RECORD;
use super::session::{PeerEnd, TlsSession};
use super::settings::TlsSettings;
use super::tunnel::Tunnel;
use crate::{Clock, IoProgress, Nanos, Readiness, Slot, Transport, WaitLimit};
use paceline_job::Protocol;
use rustls::ClientConfig;
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use std::io;
use std::sync::Arc;

/// The number of bytes read from the wire at a time: two records of the maximum size.
const WIRE: usize = 32 * 1024;

/// The name of an HTTP version in ALPN (RFC 9113 §3.2, RFC 9114 §3.1).
pub(super) fn alpn(version: Protocol) -> &'static [u8] {
    match version {
        Protocol::Http10 | Protocol::Http11 => b"http/1.1",
        Protocol::Http2 => b"h2",
        Protocol::Http3 => b"h3",
    }
}

/// TLS over another transport, for the slots of one worker.
#[derive(Debug)]
pub struct TlsTransport<T: Transport, C> {
    inner: T,
    clock: C,
    config: Arc<ClientConfig>,
    /// The protocol that the server must agree to. One without ALPN speaks HTTP/1.1.
    agreement: Option<&'static [u8]>,
    name: ServerName<'static>,
    when_asked: Arc<ClientCertificateResolver>,
    sessions: Vec<Option<Box<TlsSession>>>,
    /// The request that makes a proxy open a tunnel, if connections use one.
    tunnel: Option<Arc<[u8]>>,
    /// Tunnels that are being opened.
    tunnels: Vec<Option<Box<Tunnel>>>,
    /// Whether the server has sent application data on any connection.
    answered: bool,
    /// The bytes just read from the wire, after the beginning of a record.
    wire: Box<[u8]>,
    /// The record just made.
    sealed: Vec<u8>,
    /// Slots with an end or an error still to be reported.
    owing: Vec<Slot>,
    outcome: TlsOutcome,
}

impl<T: Transport, C: Clock> TlsTransport<T, C> {
    /// TLS for this many slots of a transport.
    pub fn new(settings: &TlsSettings, version: Protocol, slots: u32, clock: C, inner: T) -> Self {
        let alpn = alpn(version);
        let (config, when_asked) = settings.for_worker(slots, alpn);
        Self {
            inner,
            clock,
            config,
            agreement: (version == Protocol::Http2).then_some(alpn),
            name: settings.name.clone(),
            when_asked,
            sessions: (0..slots).map(|_| None).collect(),
            tunnel: settings.tunnel.clone(),
            tunnels: (0..slots).map(|_| None).collect(),
            answered: false,
            wire: vec![0; MAX_RECORD + WIRE].into_boxed_slice(),
            sealed: Vec::new(),
            owing: Vec::new(),
            outcome: TlsOutcome::default(),
        }
    }

    /// The state of the client's certificate.
    fn certificate(&self) -> ClientCertificate {
        match self.when_asked.state() {
            ClientCertificate::Lacking if self.answered => ClientCertificate::Waived,
            state => state,
        }
    }

    /// The connection is established: begins the handshake or, through a proxy, the tunnel for it.
    fn begin(&mut self, slot: Slot) -> io::Result<IoProgress> {
        match &self.tunnel {
            Some(request) => {
                self.tunnels[slot as usize] = Some(Box::new(Tunnel::new(Arc::clone(request))));
                self.advance_tunnel(slot)
            }
            None => self.begin_handshake(slot),
        }
    }

    /// Continues to open a tunnel, and begins the handshake when it is open.
    fn advance_tunnel(&mut self, slot: Slot) -> io::Result<IoProgress> {
        let Some(tunnel) = &mut self.tunnels[slot as usize] else { return Err(not_connected()) };
        match tunnel.advance(slot, &mut self.inner) {
            Ok(IoProgress::Pending) => Ok(IoProgress::Pending),
            Ok(IoProgress::Done) => {
                self.tunnels[slot as usize] = None;
                self.begin_handshake(slot)
            }
            Err(error) => {
                TlsError::within(&error).into_iter().for_each(|error| self.outcome.note(error));
                Err(error)
            }
        }
    }

    fn begin_handshake(&mut self, slot: Slot) -> io::Result<IoProgress> {
        let certificate = self.certificate();
        let tls = UnbufferedClientConnection::new(Arc::clone(&self.config), self.name.clone())
            .map_err(|error| self.record_error(TlsError::from_error(&error, true, certificate)))?;
        let mut session = TlsSession::new(tls, self.clock.now());
        session.advance(&[], certificate).map_err(|error| self.record_error(error))?;
        self.sessions[slot as usize] = Some(Box::new(session));
        self.advance_handshake(slot)
    }

    /// Continues the handshake as far as there are bytes to read and room to write.
    fn advance_handshake(&mut self, slot: Slot) -> io::Result<IoProgress> {
        loop {
            let certificate = self.certificate();
            let Some(session) = &mut self.sessions[slot as usize] else { return Err(not_connected()) };
            let flushed = match session.flush(slot, &mut self.inner) {
                Ok(flushed) => flushed,
                // The server's reason for closing may still be there to read.
                Err(error) if is_gone(&error) => false,
                Err(error) => return Err(error),
            };
            if let Some(agreed) = session.agreed().filter(|_| flushed) {
                if self.agreement.is_some_and(|agreement| agreed.alpn_protocol() != Some(agreement)) {
                    return Err(self.record_error(TlsError::plain(TlsFault::NoSuchHttp)));
                }
                self.outcome.made(agreed);
                session.open().map_err(|error| self.record_error(error))?;
                return Ok(IoProgress::Done);
            }
            let count = match self.inner.receive(slot, &mut self.wire[..WIRE]) {
                Ok(0) => return Err(lost(&mut self.outcome, session, None, certificate)),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(IoProgress::Pending),
                Err(error) => return Err(lost(&mut self.outcome, session, Some(error), certificate)),
            };
            if let Err(error) = session.advance(&self.wire[..count], certificate) {
                let _ = session.flush(slot, &mut self.inner);
                return Err(self.record_error(error));
            }
        }
    }

    fn record_error(&mut self, error: TlsError) -> io::Error {
        self.outcome.note(&error);
        error.into()
    }

    /// Reads from the wire until it is empty or the buffer is full. Returns the number of bytes in the buffer.
    fn fill(&mut self, slot: Slot, buffer: &mut [u8]) -> io::Result<usize> {
        let certificate = self.certificate();
        let Some(session) = &mut self.sessions[slot as usize] else { return Err(not_connected()) };
        let mut filled = session.drain(buffer);
        while session.end == PeerEnd::Open && session.failed.is_none() {
            // Never more than there is room for: of a record that began before, at most a record waits in the session for
            // the next read, which the caller does after a full buffer.
            let room = (buffer.len() - filled).min(WIRE);
            if room == 0 {
                break;
            }
            let kept = session.kept();
            match self.inner.receive(slot, &mut self.wire[kept..kept + room]) {
                Ok(0) => {
                    session.end = PeerEnd::Cut;
                    if session.gone(None, certificate).is_some() {
                        session.failed = Some(lost(&mut self.outcome, session, None, certificate));
                    }
                }
                Ok(count) => {
                    let wire = &mut self.wire[..kept + count];
                    match session.decrypt(wire, &mut buffer[filled..], certificate) {
                        Ok(more) => filled += more,
                        Err((more, error)) => {
                            filled += more;
                            self.outcome.note(&error);
                            session.failed = Some(error.into());
                        }
                    }
                    // Replies to the received bytes: the acknowledgement of a new key, an alert.
                    if let Err(error) = session.flush(slot, &mut self.inner) {
                        session.failed.get_or_insert(error);
                    }
                    // An end may follow half a record or a ticket, and no further event will report it.
                    if count < room && filled > 0 {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    session.failed = Some(lost(&mut self.outcome, session, Some(error), certificate));
                }
            }
        }
        self.answered |= filled > 0;
        Ok(filled)
    }

    /// Sends bytes that waited, if there is room now.
    fn send_pending(&mut self, slot: Slot) {
        if let Some(session) = &mut self.sessions[slot as usize]
            && session.is_made()
            && session.wants_room()
            && let Err(error) = session.flush(slot, &mut self.inner)
        {
            session.failed.get_or_insert(error);
            self.owing.push(slot);
        }
    }
}

impl<T: Transport, C: Clock> Transport for TlsTransport<T, C> {
    type Inner = T;

    #[inline]
    fn inner(&self) -> Option<&T> {
        Some(&self.inner)
    }

    #[inline]
    fn inner_mut(&mut self) -> Option<&mut T> {
        Some(&mut self.inner)
    }

    fn connect(&mut self, slot: Slot) -> io::Result<IoProgress> {
        match self.inner.connect(slot)? {
            IoProgress::Done => self.begin(slot),
            IoProgress::Pending => Ok(IoProgress::Pending),
        }
    }

    fn finish_connect(&mut self, slot: Slot) -> io::Result<IoProgress> {
        if self.sessions[slot as usize].is_some() {
            return self.advance_handshake(slot);
        }
        if self.tunnels[slot as usize].is_some() {
            return self.advance_tunnel(slot);
        }
        match self.inner.finish_connect(slot)? {
            IoProgress::Done => self.begin(slot),
            IoProgress::Pending => Ok(IoProgress::Pending),
        }
    }

    fn handshake_began(&self, slot: Slot) -> Option<Nanos> {
        self.sessions[slot as usize].as_ref().map(|session| session.began)
    }

    fn awaits_tunnel(&self, slot: Slot) -> bool {
        self.tunnels[slot as usize].is_some()
    }

    fn send(&mut self, slot: Slot, bytes: &[u8]) -> io::Result<usize> {
        let certificate = self.certificate();
        let Some(session) = &mut self.sessions[slot as usize] else { return Err(not_connected()) };
        match session.send(slot, &mut self.inner, bytes, &mut self.sealed) {
            Err(error) if is_gone(&error) => Err(lost(&mut self.outcome, session, Some(error), certificate)),
            sent => sent,
        }
    }

    fn receive(&mut self, slot: Slot, buffer: &mut [u8]) -> io::Result<usize> {
        let filled = self.fill(slot, buffer)?;
        let Some(session) = &mut self.sessions[slot as usize] else { return Err(not_connected()) };
        if filled > 0 {
            if filled < buffer.len() && (session.end != PeerEnd::Open || session.failed.is_some()) {
                self.owing.push(slot);
            }
            return Ok(filled);
        }
        match session.failed.take() {
            Some(error) => Err(error),
            None if session.end != PeerEnd::Open => Ok(0),
            None => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn was_cut(&self, slot: Slot) -> bool {
        self.sessions[slot as usize].as_ref().is_some_and(|session| session.end == PeerEnd::Cut)
    }

    fn refusal_may_follow(&self) -> bool {
        self.when_asked.state() != ClientCertificate::NotAsked
    }

    fn tls_outcome(&self) -> Option<&TlsOutcome> {
        Some(&self.outcome)
    }

    fn close(&mut self, slot: Slot) {
        if let Some(mut session) = self.sessions[slot as usize].take() {
            session.send_close_notify(slot, &mut self.inner);
        }
        self.tunnels[slot as usize] = None;
        self.owing.retain(|owing| *owing != slot);
        self.inner.close(slot);
    }

    fn wait(&mut self, wait_limit: WaitLimit, ready: &mut Vec<Readiness>) -> io::Result<()> {
        let wait_limit = if self.owing.is_empty() { wait_limit } else { WaitLimit::Poll };
        let before = ready.len();
        self.inner.wait(wait_limit, ready)?;
        for event in &ready[before..] {
            if event.writable {
                self.send_pending(event.slot);
            }
        }
        let owed = |slot| Readiness { slot, readable: true, writable: false, hangup: true };
        ready.extend(self.owing.drain(..).map(owed));
        Ok(())
    }
}

impl<T: Transport, C> Drop for TlsTransport<T, C> {
    /// Sends a close_notify on the connections that are open at the end of a run.
    fn drop(&mut self) {
        for (slot, session) in self.sessions.iter_mut().enumerate() {
            if let Some(session) = session {
                session.send_close_notify(slot as Slot, &mut self.inner);
            }
        }
    }
}

/// The error for a connection that is gone.
fn lost(
    outcome: &mut TlsOutcome,
    session: &TlsSession,
    error: Option<io::Error>,
    certificate: ClientCertificate,
) -> io::Error {
    match session.gone(error.as_ref(), certificate) {
        Some(error) => {
            outcome.note(&error);
            error.into()
        }
        None => error.unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Whether a send failed because the peer has closed.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

fn not_connected() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOTCONN)
}
