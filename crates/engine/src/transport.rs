//! The clock and the transport as interfaces: what tells the time, and what moves bytes.
//!
//! The worker is generic over both. The kernel's transport is in [`crate::kernel`], the simulated ones in [`crate::sim`]; TLS, in
//! [`crate::tls`], wraps another one. A slot is a connection's number within its worker; a transport owns whatever
//! stands behind it. It answers for bytes and not for requests: where one ends is the worker's affair.

use crate::Nanos;
use crate::tls::TlsOutcome;
use std::io;

/// A clock that never runs backwards.
pub trait Clock {
    /// The moment now, since the clock's own zero.
    fn now(&self) -> Nanos;
}

/// A connection's number within its worker, from 0.
pub type Slot = u32;

/// Whether something that takes time is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is.
    Done,
    /// A readiness event will follow.
    Pending,
}

/// How long to wait for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Look, do not wait.
    Poll,
    /// At most this long.
    For(Nanos),
    /// Until something happens.
    Forever,
}

/// Something a slot is ready for. Edge-triggered: it is said once when it becomes so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Whose.
    pub slot: Slot,
    /// There are bytes, an end of input or an error to receive.
    pub readable: bool,
    /// There is room to send.
    pub writable: bool,
    /// The peer closed its side or the connection broke: after the bytes there comes an end.
    pub hangup: bool,
}

/// Moves bytes for the slots of one worker. Nothing here blocks but [`Transport::wait`].
pub trait Transport {
    /// Starts to connect a slot that is closed.
    ///
    /// # Errors
    /// What the network answered at once: refused, out of descriptors, out of ports.
    fn connect(&mut self, slot: Slot) -> io::Result<Progress>;

    /// Asks how a pending connection fares, after a readiness event.
    ///
    /// # Errors
    /// Why it failed.
    fn finish_connect(&mut self, slot: Slot) -> io::Result<Progress>;

    /// When the TLS handshake of the slot began, on the worker's clock: until then it connected. None without TLS.
    fn handshake_began(&self, _slot: Slot) -> Option<Nanos> {
        None
    }

    /// Hands bytes to the slot; returns how many were taken, at least one.
    ///
    /// # Errors
    /// `WouldBlock` when there is no room; anything else means that the connection is broken.
    fn send(&mut self, slot: Slot, bytes: &[u8]) -> io::Result<usize>;

    /// Takes received bytes; 0 means the peer closed its side.
    ///
    /// # Errors
    /// `WouldBlock` when there is nothing; anything else means that the connection is broken.
    fn receive(&mut self, slot: Slot, buffer: &mut [u8]) -> io::Result<usize>;

    /// When the kernel received the last byte of the last [`Transport::receive`], on the worker's clock; none where it
    /// was not asked, or does not know.
    #[inline]
    fn received_at(&self) -> Option<Nanos> {
        None
    }

    /// Whether the input of the slot ended without the word that TLS has for it, so that something may be missing.
    fn was_cut(&self, _slot: Slot) -> bool {
        false
    }

    /// Whether the peer may yet refuse a connection that is made: it asked who we are, and TLS 1.3 does not wait for its
    /// verdict.
    fn refusal_may_follow(&self) -> bool {
        false
    }

    /// What came of TLS so far, where it is spoken.
    fn tls_outcome(&self) -> Option<&TlsOutcome> {
        None
    }

    /// Closes the slot. Events of the closed connection are never reported afterwards.
    fn close(&mut self, slot: Slot);

    /// Waits for events and appends them to `ready`.
    ///
    /// # Errors
    /// Only what cannot be continued from.
    fn wait(&mut self, patience: Patience, ready: &mut Vec<Ready>) -> io::Result<()>;
}
