//! Implements the TLS of QUIC (RFC 9001) for `quinn-proto`, with rustls: the same settings, tickets and faults as over
//! TCP.
//!
//! `quinn-proto` has such an implementation; this one also reports the negotiated parameters, whether a session was
//! resumed, and the error of rustls itself instead of its text.

use super::certificate::ClientCertificateResolver;
use super::fault::{ClientCertificate, TlsError};
use super::settings::TlsSettings;
use super::transport::alpn;
use super::{TlsOutcome, TlsParameters};
use paceline_job::Protocol;
use quinn_proto::crypto::{
    ClientConfig as QuicConfig, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, Session,
    UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{
    ConnectError, Connection, ConnectionError, ConnectionId, Side, TransportError, TransportErrorCode,
};
use rustls::pki_types::ServerName;
use rustls::quic::{ClientConnection, KeyChange, Secrets, Suite, Version};
use rustls::{AlertDescription, CipherSuite, ClientConfig, Error};
use std::any::Any;
use std::sync::Arc;

/// The key and nonce of the tag of Retry packets (RFC 9001 §5.8).
const RETRY_KEY: [u8; 16] = 0xbe0c_690b_9f66_575a_1d76_6b54_e368_c84e_u128.to_be_bytes();
const RETRY_NONCE: [u8; 12] = [0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb];

/// The codes of CONNECTION_CLOSE that carry an alert of TLS (RFC 9000 §20.1).
const CRYPTO_ERRORS: std::ops::RangeInclusive<u64> = 0x100..=0x1ff;

/// TLS for the QUIC connections of one worker.
pub(crate) struct QuicTls {
    client: Arc<QuicClient>,
    when_asked: Arc<ClientCertificateResolver>,
    outcome: TlsOutcome,
}

impl QuicTls {
    /// TLS for this many connections. None if the settings do not offer TLS 1.3 with a cipher suite of QUIC.
    pub(crate) fn new(settings: &TlsSettings, connections: u32) -> Option<Self> {
        let (mut config, when_asked) = settings.for_worker(connections, alpn(Protocol::Http3));
        Arc::make_mut(&mut config).enable_early_data = settings.early_data();
        let suites = &config.crypto_provider().cipher_suites;
        // Initial packets have fixed keys of this suite (RFC 9001 §5.2).
        let initial = suites
            .iter()
            .filter(|suite| suite.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256)
            .find_map(|suite| suite.tls13()?.quic_suite())?;
        let client = Arc::new(QuicClient { config, name: settings.name.clone(), initial });
        Some(Self { client, when_asked, outcome: TlsOutcome::default() })
    }

    /// The configuration for `quinn-proto`.
    pub(crate) fn config(&self) -> Arc<dyn QuicConfig> {
        Arc::<QuicClient>::clone(&self.client)
    }

    /// The results so far.
    pub(crate) fn outcome(&self) -> &TlsOutcome {
        &self.outcome
    }

    /// Counts the completed handshake of a connection, on which requests were sent as early data or not.
    pub(crate) fn made(&mut self, connection: &Connection, sent_early: bool) {
        if let Some(session) = session_of(connection) {
            self.outcome.count(session.resumed, || session.parameters);
        }
        self.outcome.early_sent += u64::from(sent_early);
        self.outcome.early_accepted += u64::from(sent_early && connection.accepted_0rtt());
    }

    /// Whether the server may still refuse a connection that is made (RFC 8446 §4.4.2.4).
    pub(crate) fn refusal_may_follow(&self) -> bool {
        self.when_asked.state() != ClientCertificate::NotAsked
    }

    /// The fault of TLS because of which a connection was lost; none if it was lost for another reason.
    pub(crate) fn fault(&mut self, connection: &Connection, reason: &ConnectionError) -> Option<TlsError> {
        let certificate = self.when_asked.state();
        let error = match reason {
            ConnectionError::TransportError(_) => session_of(connection)?.error?,
            ConnectionError::ConnectionClosed(close) => {
                let code = u64::from(close.error_code);
                let alert = CRYPTO_ERRORS.contains(&code).then_some(code as u8)?;
                Error::AlertReceived(AlertDescription::from(alert))
            }
            _ => return None,
        };
        let error = TlsError::from_error(&error, true, certificate);
        self.outcome.note(&error);
        Some(error)
    }
}

/// The state of the TLS of a connection.
fn session_of(connection: &Connection) -> Option<SessionReport> {
    connection.crypto_session().handshake_data()?.downcast().ok().map(|report| *report)
}

/// Makes sessions.
struct QuicClient {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    initial: Suite,
}

impl QuicConfig for QuicClient {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        _: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        if version != 1 {
            return Err(UnsupportedVersion.into());
        }
        let mut encoded = Vec::new();
        parameters.write(&mut encoded);
        let tls = ClientConnection::new(Arc::clone(&self.config), Version::V1, self.name.clone(), encoded)
            .map_err(|error| ConnectError::InvalidServerName(error.to_string()))?;
        Ok(Box::new(QuicSession { tls, initial: self.initial, next_secrets: None, error: None }))
    }
}

/// The TLS of one connection.
struct QuicSession {
    tls: ClientConnection,
    initial: Suite,
    /// Of the next keys, once the handshake is done.
    next_secrets: Option<Secrets>,
    /// The error that ended the handshake.
    error: Option<Error>,
}

/// The state of a session.
struct SessionReport {
    resumed: bool,
    parameters: TlsParameters,
    error: Option<Error>,
}

impl Session for QuicSession {
    fn initial_keys(&self, connection_id: &ConnectionId, side: Side) -> Keys {
        let side = match side {
            Side::Client => rustls::Side::Client,
            Side::Server => rustls::Side::Server,
        };
        keys(self.initial.keys(connection_id, side, Version::V1))
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        let resumed = self.tls.handshake_kind() == Some(rustls::HandshakeKind::Resumed);
        let parameters = TlsParameters::from_connection(&self.tls);
        Some(Box::new(SessionReport { resumed, parameters, error: self.error.clone() }))
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    /// None unless early data is asked for, and the ticket allows it.
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let keys = self.tls.zero_rtt_keys()?;
        Some((Box::new(keys.header), Box::new(keys.packet)))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        Some(self.tls.is_early_data_accepted())
    }

    fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        self.tls.read_hs(bytes).map_err(|error| {
            let alert = self.tls.alert().unwrap_or(AlertDescription::InternalError);
            let code = TransportErrorCode::crypto(alert.into());
            let reason = error.to_string();
            self.error = Some(error);
            TransportError { code, frame: None, reason }
        })?;
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(mut encoded) = self.tls.quic_transport_parameters() else { return Ok(None) };
        Ok(Some(TransportParameters::read(Side::Client, &mut encoded)?))
    }

    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        match self.tls.write_hs(out)? {
            KeyChange::Handshake { keys: handshake } => Some(keys(handshake)),
            KeyChange::OneRtt { keys: application, next } => {
                self.next_secrets = Some(next);
                Some(keys(application))
            }
        }
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let next = self.next_secrets.as_mut()?.next_packet_keys();
        Some(KeyPair { local: Box::new(next.local), remote: Box::new(next.remote) })
    }

    /// RFC 9001 §5.8: the tag covers the connection id that the client chose, and the packet before the tag.
    fn is_valid_retry(&self, original: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
        let Some(tag_at) = payload.len().checked_sub(AES_128_GCM.tag_len()) else { return false };
        let (token, tag) = payload.split_at(tag_at);
        let covered = [&[original.len() as u8][..], original, header, token].concat();
        let Ok(key) = UnboundKey::new(&AES_128_GCM, &RETRY_KEY) else { return false };
        let nonce = Nonce::assume_unique_for_key(RETRY_NONCE);
        LessSafeKey::new(key).open_in_place(nonce, Aad::from(covered), &mut tag.to_vec()).is_ok()
    }

    /// Paceline exports no keys.
    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

/// The keys of rustls as `quinn-proto` uses them.
fn keys(keys: rustls::quic::Keys) -> Keys {
    Keys {
        header: KeyPair { local: Box::new(keys.local.header), remote: Box::new(keys.remote.header) },
        packet: KeyPair { local: Box::new(keys.local.packet), remote: Box::new(keys.remote.packet) },
    }
}
