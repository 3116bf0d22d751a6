//! Implements TLS on one connection: the handshake by rustls, then records, and the way the connection ended.
//!
//! `transport.rs` makes one when a connection is established, and passes the bytes that it read from the wire. It also
//! decides when to read, when to close, and what to count.

use super::fault::{ClientCertificate, TlsError, TlsFault};
use super::records::{ALERT, CLOSE_NOTIFY, DATA, MAX_PLAIN, Records, alert_of, whole_record};
use crate::{Nanos, Slot, Transport};
use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, UnbufferedStatus};
use rustls::{CommonState, Error};
use std::{fmt, io};

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
pub(super) struct TlsSession {
    /// Until it is done.
    handshake: Option<Box<UnbufferedClientConnection>>,
    /// After that.
    records: Option<Box<Records>>,
    /// Encrypted bytes of which the rest has not come.
    incoming: Vec<u8>,
    /// Encrypted bytes that wait for room in the socket.
    outgoing: Vec<u8>,
    /// How many of them are sent.
    sent: usize,
    /// Plain bytes that had no room in the caller's buffer.
    plain: Vec<u8>,
    /// How many of them were read.
    read: usize,
    /// When the connection was established and the handshake began.
    pub(super) began: Nanos,
    /// Whether both sides have finished the handshake.
    is_agreed: bool,
    /// Whether a TLS message has come: errors before that mean that the peer does not speak TLS.
    spoken: bool,
    /// Whether the server has sent any application data.
    answered: bool,
    /// The way in which the peer ended its side.
    pub(super) end: PeerEnd,
    /// The error after bytes that were still good: reported when they have been read.
    pub(super) failed: Option<io::Error>,
}

impl fmt::Debug for TlsSession {
    /// Without keys and bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (is_made, end, failed) = (self.is_made(), self.end, &self.failed);
        write!(f, "TlsSession {{ is_made: {is_made}, end: {end:?}, failed: {failed:?} }}")
    }
}

impl TlsSession {
    /// A session whose handshake begins now.
    pub(super) fn new(handshake: UnbufferedClientConnection, began: Nanos) -> Self {
        Self {
            handshake: Some(Box::new(handshake)),
            records: None,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            sent: 0,
            plain: Vec::new(),
            read: 0,
            began,
            is_agreed: false,
            spoken: false,
            answered: false,
            end: PeerEnd::Open,
            failed: None,
        }
    }

    /// Whether the connection is open: the handshake is done, and its messages are sent.
    pub(super) fn is_made(&self) -> bool {
        self.records.is_some()
    }

    /// The state of the handshake once both sides have finished it, until the connection is opened.
    pub(super) fn agreed(&self) -> Option<&CommonState> {
        let handshake = self.handshake.as_deref().filter(|_| self.is_agreed)?;
        Some(handshake)
    }

    /// Continues the handshake with bytes from the wire, or begins it without any. Its messages wait to be sent.
    pub(super) fn advance(&mut self, wire: &[u8], certificate: ClientCertificate) -> Result<(), TlsError> {
        self.incoming.extend_from_slice(wire);
        let advanced = self.advance_handshake();
        let version = self.handshake.as_ref().and_then(|handshake| handshake.protocol_version());
        self.spoken |= version.is_some();
        advanced.map_err(|error| TlsError::from_error(&error, self.spoken, certificate))
    }

    fn advance_handshake(&mut self) -> Result<(), Error> {
        let Some(handshake) = &mut self.handshake else { return Err(Error::HandshakeNotComplete) };
        loop {
            let (discard, goes_on) = {
                let UnbufferedStatus { mut discard, state } =
                    handshake.process_tls_records(&mut self.incoming);
                let goes_on = match state {
                    Ok(ConnectionState::EncodeTlsData(data)) => {
                        encode(data, &mut self.outgoing).map(|()| true)
                    }
                    Ok(ConnectionState::TransmitTlsData(data)) => {
                        data.done();
                        Ok(true)
                    }
                    Ok(ConnectionState::ReadTraffic(mut data)) => {
                        while let Some(record) = data.next_record() {
                            let record = record?;
                            discard += record.discard;
                            self.plain.extend_from_slice(record.payload);
                        }
                        Ok(true)
                    }
                    Ok(ConnectionState::PeerClosed) => {
                        self.end = PeerEnd::Reported;
                        Ok(true)
                    }
                    Ok(ConnectionState::WriteTraffic(_)) => {
                        self.is_agreed = true;
                        Ok(false)
                    }
                    Ok(_) => Ok(false),
                    Err(error) => Err(error),
                };
                (discard, goes_on)
            };
            self.incoming.drain(..discard);
            match goes_on {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    // The alert of rustls is meant for the server. rustls refers to what is still there of the bytes.
                    let alert = handshake.process_tls_records(&mut self.incoming).state;
                    if let Ok(ConnectionState::EncodeTlsData(alert)) = alert {
                        encode(alert, &mut self.outgoing)?;
                    }
                    return Err(error);
                }
            }
        }
        if self.is_agreed && self.end == PeerEnd::Open {
            // rustls keeps a whole record only as the beginning of a longer message: it has to see the rest of it.
            self.is_agreed = whole_record(&self.incoming)?.is_none();
        }
        Ok(())
    }

    /// Opens the connection after the handshake.
    pub(super) fn open(&mut self) -> Result<(), TlsError> {
        let Some(handshake) = self.handshake.take() else { return Ok(()) };
        let records = Records::new(*handshake);
        let records =
            records.map_err(|error| TlsError::from_error(&error, true, ClientCertificate::NotAsked))?;
        self.records = Some(Box::new(records));
        // There may be thousands of connections, and the handshake's messages are longer than most later records.
        self.incoming.shrink_to_fit();
        self.outgoing = Vec::new();
        self.sent = 0;
        Ok(())
    }

    /// Whether encrypted bytes wait for room in the socket.
    pub(super) fn wants_room(&self) -> bool {
        self.sent < self.outgoing.len()
    }

    /// Sends the encrypted bytes; false if the socket has no room for all of them.
    pub(super) fn flush<T: Transport>(&mut self, slot: Slot, transport: &mut T) -> io::Result<bool> {
        while self.wants_room() {
            match transport.send(slot, &self.outgoing[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.outgoing.clear();
        self.sent = 0;
        Ok(true)
    }

    /// Encrypts and sends as many of the bytes as there is room for, at least a record. Returns how many. `sealed` is
    /// for its use.
    pub(super) fn send<T: Transport>(
        &mut self,
        slot: Slot,
        transport: &mut T,
        bytes: &[u8],
        sealed: &mut Vec<u8>,
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
        let Some(records) = &mut self.records else { return Err(io::ErrorKind::NotConnected.into()) };
        let mut taken = 0;
        for plain in bytes.chunks(MAX_PLAIN) {
            sealed.clear();
            records.seal(DATA, plain, sealed).map_err(io::Error::other)?;
            taken += plain.len();
            let sent = match transport.send(slot, sealed) {
                Ok(sent) => sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                Err(error) if taken > plain.len() => {
                    self.failed = Some(error);
                    break;
                }
                Err(error) => return Err(error),
            };
            if sent < sealed.len() {
                self.outgoing.extend_from_slice(&sealed[sent..]);
                break;
            }
        }
        Ok(taken)
    }

    /// Reads plain bytes that are ready.
    pub(super) fn drain(&mut self, buffer: &mut [u8]) -> usize {
        let ready = &self.plain[self.read..];
        if ready.is_empty() {
            return 0;
        }
        let count = ready.len().min(buffer.len());
        buffer[..count].copy_from_slice(&ready[..count]);
        self.read += count;
        if self.read == self.plain.len() {
            (self.plain, self.read) = (Vec::new(), 0);
        }
        self.answered |= count > 0;
        count
    }

    /// The number of bytes to leave free before those that are read from the wire.
    pub(super) fn kept(&self) -> usize {
        self.incoming.len()
    }

    /// Decrypts bytes from the wire into the buffer; they follow [`kept`](Self::kept) free ones. Returns how many were
    /// put there; bytes without room are kept.
    pub(super) fn decrypt(
        &mut self,
        wire: &mut [u8],
        buffer: &mut [u8],
        certificate: ClientCertificate,
    ) -> Result<usize, (usize, TlsError)> {
        let Some(records) = &mut self.records else { return Ok(0) };
        wire[..self.incoming.len()].copy_from_slice(&self.incoming);
        self.incoming.clear();
        let (mut filled, later) = (0, &mut self.plain);
        let take = |bytes: &[u8]| {
            let (fits, rest) = bytes.split_at(bytes.len().min(buffer.len() - filled));
            buffer[filled..filled + fits.len()].copy_from_slice(fits);
            filled += fits.len();
            later.extend_from_slice(rest);
        };
        let result = records.decrypt(wire, &mut self.outgoing, take);
        self.answered |= filled > 0;
        match result {
            // After the peer's close_notify all bytes are ignored (RFC 8446 §6.1).
            Ok((_, true)) => self.end = PeerEnd::Reported,
            Ok((read, false)) => self.incoming.extend_from_slice(&wire[read..]),
            Err(error) => {
                // If it cannot be encrypted, the server gets no reason.
                let _ = records.seal(ALERT, &alert_of(&error), &mut self.outgoing);
                return Err((filled, TlsError::from_error(&error, true, certificate)));
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
            (_, None) if !self.is_made() => TlsFault::ClosedInHandshake,
            (_, Some(_)) if !self.is_made() => TlsFault::BrokenInHandshake,
            _ => return None,
        };
        Some(TlsError { fault, detail: error.map_or_else(String::new, ToString::to_string) })
    }

    /// Sends a close_notify as far as the socket has room for it.
    pub(super) fn send_close_notify<T: Transport>(&mut self, slot: Slot, transport: &mut T) {
        if let Some(records) = &mut self.records
            && self.failed.is_none()
            && self.end != PeerEnd::Cut
        {
            let _ = records.seal(ALERT, &CLOSE_NOTIFY, &mut self.outgoing);
        }
        let _ = self.flush(slot, transport);
    }
}

/// Appends a message of the handshake.
fn encode<Data>(mut data: EncodeTlsData<'_, Data>, out: &mut Vec<u8>) -> Result<(), Error> {
    let Err(EncodeError::InsufficientSize(size)) = data.encode(&mut []) else { return Ok(()) };
    let begin = out.len();
    out.resize(begin + size.required_size, 0);
    data.encode(&mut out[begin..]).map(|_| ()).map_err(|error| Error::General(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::super::{TlsOptions, TlsSettings, TlsVersion, Trust};
    use super::*;
    use crate::{IoProgress, Readiness, WaitLimit};
    use rcgen::{CertificateParams, KeyPair};
    use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
    use rustls::{ServerConfig, ServerConnection};
    use std::io::{Read as _, Write as _};
    use std::sync::Arc;

    /// A wire with room for some bytes.
    struct Wire {
        sent: Vec<u8>,
        room: usize,
    }

    impl Transport for Wire {
        type Inner = Self;

        fn connect(&mut self, _: Slot) -> io::Result<IoProgress> {
            Ok(IoProgress::Done)
        }

        fn finish_connect(&mut self, _: Slot) -> io::Result<IoProgress> {
            Ok(IoProgress::Done)
        }

        fn send(&mut self, _: Slot, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.room - self.sent.len());
            if count == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.sent.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn receive(&mut self, _: Slot, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::WouldBlock.into())
        }

        fn close(&mut self, _: Slot) {}

        fn wait(&mut self, _: WaitLimit, _: &mut Vec<Readiness>) -> io::Result<()> {
            Ok(())
        }
    }

    /// A connection after its handshake, with the tickets of the server still to come.
    struct Pair {
        session: TlsSession,
        server: ServerConnection,
        wire: Wire,
    }

    impl Pair {
        fn new(version: TlsVersion) -> Self {
            let name = ServerName::try_from("localhost").unwrap();
            let (trust, version) = (Trust::Anyone, Some(version));
            let asked = TlsOptions {
                name: name.clone(),
                trust,
                identity: None,
                version,
                resumption: true,
                early_data: false,
            };
            let (config, _) = TlsSettings::new(asked).unwrap().for_worker(1, b"http/1.1");
            let key = KeyPair::generate().unwrap();
            let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
            let certificate = certificate.self_signed(&key).unwrap().der().clone();
            let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let builder =
                ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
            let server = builder.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
            let client = UnbufferedClientConnection::new(config, name).unwrap();
            let mut pair = Self {
                session: TlsSession::new(client, Nanos::default()),
                server: ServerConnection::new(Arc::new(server)).unwrap(),
                wire: Wire { sent: Vec::new(), room: usize::MAX },
            };
            pair.session.advance(&[], ClientCertificate::NotAsked).unwrap();
            while pair.session.agreed().is_none() || pair.server.is_handshaking() {
                pair.deliver();
                let bytes = pair.of_server();
                pair.session.advance(&bytes, ClientCertificate::NotAsked).unwrap();
            }
            pair.deliver();
            pair.session.open().unwrap();
            pair
        }

        /// What the server has to send.
        fn of_server(&mut self) -> Vec<u8> {
            let mut bytes = Vec::new();
            while self.server.wants_write() {
                self.server.write_tls(&mut bytes).unwrap();
            }
            bytes
        }

        /// Gives the server what was sent. Returns its plain bytes.
        fn deliver(&mut self) -> Vec<u8> {
            self.session.flush(0, &mut self.wire).unwrap();
            let (sent, mut plain) = (std::mem::take(&mut self.wire.sent), Vec::new());
            let mut sent = &sent[..];
            while !sent.is_empty() {
                self.server.read_tls(&mut sent).unwrap();
                self.server.process_new_packets().unwrap();
                // It reports that there are no more for now.
                let _ = self.server.reader().read_to_end(&mut plain);
            }
            plain
        }

        /// Decrypts bytes of the server that come in pieces, into a buffer of some bytes.
        fn decrypted(&mut self, bytes: &[u8], piece: usize, buffer: usize) -> Result<Vec<u8>, TlsError> {
            let (mut plain, mut buffer) = (Vec::new(), vec![0; buffer]);
            for piece in bytes.chunks(piece) {
                let mut wire = vec![0; self.session.kept()];
                wire.extend_from_slice(piece);
                let filled = self.session.decrypt(&mut wire, &mut buffer, ClientCertificate::NotAsked);
                plain.extend_from_slice(&buffer[..filled.map_err(|(_, error)| error)?]);
                loop {
                    match self.session.drain(&mut buffer) {
                        0 => break,
                        more => plain.extend_from_slice(&buffer[..more]),
                    }
                }
            }
            Ok(plain)
        }
    }

    #[test]
    fn records_in_any_pieces_are_read_whole() {
        let text: Vec<u8> = (0..40_000u32).map(|at| (at % 251) as u8).collect();
        for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
            for (piece, buffer) in [(1, 1), (7, 4096), (20_000, 100), (100_000, 64 * 1024)] {
                let mut pair = Pair::new(version);
                pair.server.writer().write_all(&text).unwrap();
                let bytes = pair.of_server();
                assert!(
                    pair.decrypted(&bytes, piece, buffer).unwrap() == text,
                    "{version:?} {piece} {buffer}"
                );
                pair.server.send_close_notify();
                let bytes = pair.of_server();
                assert_eq!(
                    (pair.decrypted(&bytes, piece, buffer), pair.session.end),
                    (Ok(vec![]), PeerEnd::Reported)
                );
            }
        }
    }

    #[test]
    fn bytes_without_room_are_sent_later() {
        let mut pair = Pair::new(TlsVersion::Tls13);
        pair.wire.room = 20_000;
        let (text, mut sealed) = (vec![b'x'; 50_000], Vec::new());
        let taken = pair.session.send(0, &mut pair.wire, &text, &mut sealed).unwrap();
        assert_eq!(taken, 2 * MAX_PLAIN, "the record that did not fit is taken, and no other");
        let refused = pair.session.send(0, &mut pair.wire, &text, &mut sealed).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        pair.wire.room = usize::MAX;
        assert!(pair.deliver() == text[..taken]);
    }

    #[test]
    fn a_key_encrypts_no_more_records_than_are_safe() {
        let mut sealed = Vec::new();
        for version in [TlsVersion::Tls13, TlsVersion::Tls12] {
            let mut pair = Pair::new(version);
            pair.session.records.as_mut().unwrap().limit_to(3);
            let mut sent = 0;
            let refused = (0..10).any(|_| {
                let result = pair.session.send(0, &mut pair.wire, b"ok", &mut sealed);
                sent += usize::from(result.is_ok());
                result.is_err()
            });
            assert_eq!(refused, version == TlsVersion::Tls12, "only TLS 1.3 has new keys");
            assert_eq!(pair.deliver(), b"ok".repeat(sent));
            assert!(sent >= 2);
        }
    }

    /// What a server sends that breaks the protocol.
    type Violation = fn(&mut Pair) -> Vec<u8>;

    #[test]
    fn violations_end_the_connection_with_an_alert() {
        let changed: Violation = |pair| {
            pair.server.writer().write_all(b"ok").unwrap();
            let mut bytes = pair.of_server();
            *bytes.last_mut().unwrap() ^= 1;
            bytes
        };
        let keys_without_end: Violation = |pair| {
            (0..300).for_each(|_| pair.server.refresh_traffic_keys().unwrap());
            pair.of_server()
        };
        let too_long: Violation = |_| vec![DATA, 3, 3, 0xff, 0xff];
        let plain_alert: Violation = |_| vec![ALERT, 3, 3, 0, 2, 1, 0];
        for violation in [changed, keys_without_end, too_long, plain_alert] {
            let mut pair = Pair::new(TlsVersion::Tls13);
            let bytes = violation(&mut pair);
            let error = pair.decrypted(&bytes, bytes.len(), 4096).unwrap_err();
            assert_eq!(error.fault, TlsFault::Broken, "{error}");
            assert!(pair.session.wants_room(), "the alert");
        }
    }
}
