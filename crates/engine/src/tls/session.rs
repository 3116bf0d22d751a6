//! Implements TLS on one connection: bytes in and out of rustls, and the way the connection ended.
//!
//! `transport.rs` makes one when a connection is established, and passes the bytes that it read from the wire. It also
//! decides when to read, when to close, and what to count.

use super::fault::{ClientCertificate, TlsError, TlsFault};
use crate::{Nanos, Slot, Transport};
use rustls::ClientConnection;
use std::io::{self, Read as _, Write as _};

/// The maximum number of plain bytes in one record (RFC 8446 §5.1).
const MAX_RECORD: usize = 16 * 1024;

/// The way in which the peer ended its side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PeerEnd {
    /// It has not ended it.
    Open,
    /// With a close_notify: no bytes are missing.
    Reported,
    /// Without one: whether bytes are missing cannot be known.
    Cut,
}

/// One connection's TLS.
#[derive(Debug)]
pub(super) struct TlsSession {
    tls: ClientConnection,
    /// When the connection was established and the handshake began.
    pub(super) began: Nanos,
    /// Whether the handshake is done.
    pub(super) made: bool,
    /// Whether a TLS message has come: errors before that mean that the peer does not speak TLS.
    spoken: bool,
    /// Whether the server has sent any application data.
    answered: bool,
    /// The way in which the peer ended its side.
    pub(super) end: PeerEnd,
    /// The error after bytes that were still good: reported when they have been read.
    pub(super) failed: Option<io::Error>,
}

impl TlsSession {
    /// A session whose handshake begins now.
    pub(super) fn new(tls: ClientConnection, began: Nanos) -> Self {
        Self { tls, began, made: false, spoken: false, answered: false, end: PeerEnd::Open, failed: None }
    }

    /// The state of rustls, for inspection.
    pub(super) fn tls(&self) -> &ClientConnection {
        &self.tls
    }

    /// Whether the handshake is done, on this side.
    pub(super) fn is_agreed(&self) -> bool {
        !self.tls.is_handshaking()
    }

    /// Whether encrypted bytes wait for room in the socket.
    pub(super) fn wants_room(&self) -> bool {
        self.tls.wants_write()
    }

    /// Sends the encrypted bytes; false if the socket has no room for all of them.
    pub(super) fn flush<T: Transport>(&mut self, slot: Slot, transport: &mut T) -> io::Result<bool> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut SlotWriter { slot, transport: &mut *transport }) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Encrypts and sends as many of the bytes as there is room for, at least a record. Returns how many.
    pub(super) fn send<T: Transport>(
        &mut self,
        slot: Slot,
        transport: &mut T,
        bytes: &[u8],
    ) -> io::Result<usize> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.end != PeerEnd::Open {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if !self.flush(slot, transport)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut taken = 0;
        for record in bytes.chunks(MAX_RECORD) {
            taken += self.tls.writer().write(record)?;
            match self.flush(slot, transport) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if taken > record.len() => {
                    self.failed = Some(error);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(taken)
    }

    /// Reads plain bytes that are ready.
    pub(super) fn drain(&mut self, buffer: &mut [u8]) -> usize {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.tls.reader().read(&mut buffer[filled..]) {
                Ok(0) | Err(_) => break,
                Ok(count) => filled += count,
            }
        }
        self.answered |= filled > 0;
        filled
    }

    /// Decrypts bytes from the wire into the buffer. Returns how many were put there; bytes without room are kept.
    pub(super) fn decrypt(
        &mut self,
        mut wire: &[u8],
        buffer: &mut [u8],
        certificate: ClientCertificate,
    ) -> Result<usize, (usize, TlsError)> {
        let mut filled = 0;
        while !wire.is_empty() {
            match self.tls.read_tls(&mut wire) {
                // After the peer's close_notify all bytes are ignored (RFC 8446 §6.1).
                Ok(0) => break,
                Ok(_) => {}
                Err(_) => return Err((filled, TlsError::plain(TlsFault::Broken))),
            }
            let state = match self.tls.process_new_packets() {
                Ok(state) => state,
                Err(error) => {
                    filled += self.drain(&mut buffer[filled..]);
                    return Err((filled, TlsError::from_error(&error, self.spoken, certificate)));
                }
            };
            self.spoken |= !self.tls.is_handshaking() || self.tls.protocol_version().is_some();
            filled += self.drain(&mut buffer[filled..]);
            if state.peer_has_closed() {
                self.end = PeerEnd::Reported;
            }
        }
        Ok(filled)
    }

    /// The fault of a connection that ended, with an error or without one. If a server requested a certificate, got
    /// none and closes, the certificate is the reason, even if its alert was lost with the connection; unless it has
    /// answered on this connection, or on another before.
    pub(super) fn gone(&self, error: Option<&io::Error>, certificate: ClientCertificate) -> Option<TlsError> {
        let fault = match (certificate, error) {
            (ClientCertificate::Lacking, _) if !self.answered => TlsFault::CertificateRequired,
            (_, None) if !self.made => TlsFault::ClosedInHandshake,
            (_, Some(_)) if !self.made => TlsFault::BrokenInHandshake,
            _ => return None,
        };
        Some(TlsError { fault, detail: error.map_or_else(String::new, ToString::to_string) })
    }

    /// Sends a close_notify as far as the socket has room for it.
    pub(super) fn send_close_notify<T: Transport>(&mut self, slot: Slot, transport: &mut T) {
        if self.made && self.failed.is_none() && self.end != PeerEnd::Cut {
            self.tls.send_close_notify();
        }
        let _ = self.flush(slot, transport);
    }
}

/// The wire of one slot, to which rustls writes.
struct SlotWriter<'a, T> {
    slot: Slot,
    transport: &'a mut T,
}

impl<T: Transport> io::Write for SlotWriter<'_, T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.transport.send(self.slot, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
