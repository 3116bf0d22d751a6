//! Defines the interfaces of the clock, which gives the time, and of the transport, which moves bytes.
//!
//! The worker is generic over both. The kernel's transport is in [`crate::kernel`], the simulated ones in
//! [`crate::sim`]; TLS, in [`crate::tls`], wraps another one. A slot is a connection's number within its worker; a
//! transport owns the socket behind it. It handles bytes and not requests: the worker determines where one ends.

use crate::tls::TlsOutcome;
use crate::{Nanos, TcpCounts};
use std::io;

/// A clock that never runs backwards.
pub trait Clock {
    /// The current time, since the clock's own zero.
    fn now(&self) -> Nanos;
}

/// A connection's number within its worker, from 0.
pub type Slot = u32;

/// Whether an operation that takes time is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoProgress {
    /// It is done.
    Done,
    /// A readiness event will follow.
    Pending,
}

/// How long to wait for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitLimit {
    /// Poll without waiting.
    Poll,
    /// At most this long.
    For(Nanos),
    /// Until an event.
    Forever,
}

/// The readiness of a slot. Edge-triggered: it is reported once when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// The slot.
    pub slot: Slot,
    /// There are bytes, an end of input or an error to receive.
    pub readable: bool,
    /// There is room to send.
    pub writable: bool,
    /// The peer closed its side or the connection broke: an end follows the bytes.
    pub hangup: bool,
}

/// A direction of bytes, as seen from Paceline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// To the server.
    Sent,
    /// From the server.
    Received,
}

/// The end of one direction of a stream of QUIC, with the code of an early one (RFC 9000 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// All bytes were sent.
    Fin,
    /// RESET_STREAM: the sender sends no more.
    Reset(u64),
    /// STOP_SENDING: the receiver reads no more, and the direction is that of this frame.
    StopSending(u64),
}

/// Moves bytes for the slots of one worker. Only [`Transport::wait`] blocks.
///
/// A transport around another one implements what it changes: unless said otherwise, the methods with a default ask the
/// transport inside.
pub trait Transport {
    /// The transport inside this one; `Self` without one.
    type Inner: Transport;

    /// Whether it moves datagrams: a read returns some of them, and only an empty socket ends reading.
    const HAS_DATAGRAMS: bool = false;

    /// Whether it notes the streams that it carries encrypted ([`Transport::note_stream`]).
    const NOTES_STREAMS: bool = false;

    /// The transport inside this one, if there is one.
    #[inline]
    fn inner(&self) -> Option<&Self::Inner> {
        None
    }

    /// The same, to be changed.
    #[inline]
    fn inner_mut(&mut self) -> Option<&mut Self::Inner> {
        None
    }

    /// Sets which of the target's addresses ([`crate::Settings::spread`]) the next attempts of a slot go to.
    fn aim(&mut self, slot: Slot, address: u16) {
        if let Some(inner) = self.inner_mut() {
            inner.aim(slot, address);
        }
    }

    /// Starts to connect a slot that is closed.
    ///
    /// # Errors
    /// The network's immediate error: refused, out of descriptors, out of ports.
    fn connect(&mut self, slot: Slot) -> io::Result<IoProgress>;

    /// Checks the state of a pending connection, after a readiness event.
    ///
    /// # Errors
    /// The error of the attempt.
    fn finish_connect(&mut self, slot: Slot) -> io::Result<IoProgress>;

    /// When the TLS handshake of the slot began, on the worker's clock: before that it was connecting. None without
    /// TLS.
    fn handshake_began(&self, slot: Slot) -> Option<Nanos> {
        self.inner()?.handshake_began(slot)
    }

    /// Whether the slot is connected to a proxy that has not yet opened the tunnel it was asked for.
    fn awaits_tunnel(&self, slot: Slot) -> bool {
        self.inner().is_some_and(|inner| inner.awaits_tunnel(slot))
    }

    /// Sends bytes on the slot; returns how many were taken, at least one.
    ///
    /// # Errors
    /// `WouldBlock` when there is no room; any other error means that the connection is broken.
    fn send(&mut self, slot: Slot, bytes: &[u8]) -> io::Result<usize>;

    /// Reads received bytes; 0 means the peer closed its side.
    ///
    /// # Errors
    /// `WouldBlock` when there are no bytes; any other error means that the connection is broken.
    fn receive(&mut self, slot: Slot, buffer: &mut [u8]) -> io::Result<usize>;

    /// Sends datagrams of `segment` bytes each, of which only the last may be shorter: all of them, or none.
    ///
    /// # Errors
    /// As [`Transport::send`]; always on a transport that does not move datagrams.
    fn send_datagrams(&mut self, slot: Slot, bytes: &[u8], segment: usize) -> io::Result<()> {
        match self.inner_mut() {
            Some(inner) => inner.send_datagrams(slot, bytes, segment),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// The length of each datagram of the last [`Transport::receive`], of which only the last may be shorter.
    fn segment(&self) -> usize {
        self.inner().map_or(usize::MAX, Transport::segment)
    }

    /// Notes bytes of a stream of the slot, which the transport itself carries encrypted: `--debug` shows them. Notes are
    /// not passed to the transport inside.
    #[inline]
    fn note_stream(&mut self, _slot: Slot, _direction: Direction, _stream: u64, _bytes: &[u8]) {}

    /// Notes the end of a direction of a stream of the slot.
    #[inline]
    fn note_stream_end(&mut self, _slot: Slot, _direction: Direction, _stream: u64, _end: StreamEnd) {}

    /// Notes that a connection over datagrams is closed with this code of HTTP/3 and this reason (RFC 9000 §10.2).
    #[inline]
    fn note_close(&mut self, _slot: Slot, _direction: Direction, _code: u64, _reason: &[u8]) {}

    /// When the kernel received the last byte of the last [`Transport::receive`], on the worker's clock; none if
    /// timestamps are not enabled or not known.
    #[inline]
    fn received_at(&self) -> Option<Nanos> {
        self.inner()?.received_at()
    }

    /// Whether the input of the slot ended without TLS's close_notify, so that bytes may be missing.
    fn was_cut(&self, slot: Slot) -> bool {
        self.inner().is_some_and(|inner| inner.was_cut(slot))
    }

    /// Whether the peer may still refuse a connection that is made: it requested a certificate, and TLS 1.3 does not
    /// wait for its verification.
    fn refusal_may_follow(&self) -> bool {
        self.inner().is_some_and(Transport::refusal_may_follow)
    }

    /// The results of TLS so far, if it is used.
    fn tls_outcome(&self) -> Option<&TlsOutcome> {
        self.inner()?.tls_outcome()
    }

    /// What the kernel counted on the connections that were closed and those that are open.
    fn tcp_counts(&self) -> TcpCounts {
        self.inner().map(Transport::tcp_counts).unwrap_or_default()
    }

    /// Closes the slot. Events of the closed connection are never reported afterwards.
    fn close(&mut self, slot: Slot);

    /// Waits for events and appends them to `ready`.
    ///
    /// # Errors
    /// Only errors that end the run.
    fn wait(&mut self, wait_limit: WaitLimit, ready: &mut Vec<Readiness>) -> io::Result<()>;
}

/// Sends the waiting bytes, as far as there is room, and removes those that were taken; returns their number.
///
/// # Errors
/// The connection is broken.
pub(crate) fn send_waiting<T: Transport>(
    transport: &mut T,
    slot: Slot,
    waiting: &mut Vec<u8>,
) -> io::Result<usize> {
    let mut sent = 0;
    let mut result = Ok(());
    while sent < waiting.len() && result.is_ok() {
        result = transport.send(slot, &waiting[sent..]).map(|taken| sent += taken);
    }
    // Also after an error: bytes that were taken are never sent again.
    waiting.drain(..sent);
    match result {
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
        Ok(()) | Err(_) => Ok(sent),
    }
}
