//! Records the results of TLS in a run: handshakes, negotiated parameters, errors.
//!
//! Each worker's transport records them, `run.rs` adds them up, the binary puts them into the record. Of each fault the
//! first case is kept; the number of cases is in [`crate::ConnectionCounts`], and the handshake times are in the
//! tallies.

use super::{TlsError, TlsFault};
use rustls::{CommonState, HandshakeKind, ProtocolVersion};

/// The parameters that client and server agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsParameters {
    /// The protocol's version: `1.2` or `1.3`.
    pub version: &'static str,
    /// The cipher suite, by its name at IANA.
    pub cipher: String,
    /// The group of the key exchange, if a full handshake reported it.
    pub group: Option<String>,
    /// The application protocol, if the server chose one.
    pub alpn: Option<String>,
}

impl TlsParameters {
    pub(super) fn from_connection(tls: &CommonState) -> Self {
        let version = match tls.protocol_version() {
            Some(ProtocolVersion::TLSv1_2) => "1.2",
            _ => "1.3",
        };
        let cipher = tls.negotiated_cipher_suite().and_then(|suite| suite.suite().as_str());
        let group = tls.negotiated_key_exchange_group().map(|group| format!("{:?}", group.name()));
        let alpn = tls.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned());
        Self { version, cipher: cipher.map(iana).unwrap_or_default(), group, alpn }
    }
}

/// rustls names the suites of TLS 1.3 after their version; IANA does not.
fn iana(name: &str) -> String {
    name.replacen("TLS13_", "TLS_", 1)
}

/// The results of TLS, of one worker or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsOutcome {
    /// The number of full handshakes.
    pub full: u64,
    /// The number of handshakes that resumed an earlier session.
    pub resumed: u64,
    /// The number of those on whose connections requests were sent as early data.
    pub early_sent: u64,
    /// The number of those whose server accepted it.
    pub early_accepted: u64,
    /// The parameters of the first handshake.
    pub agreed: Option<TlsParameters>,
    /// The first case of each fault.
    pub errors: Vec<TlsError>,
}

impl TlsOutcome {
    /// The first case of a fault.
    pub fn error(&self, fault: TlsFault) -> Option<&TlsError> {
        self.errors.iter().find(|error| error.fault == fault)
    }

    /// Counts a completed handshake over TCP.
    pub(super) fn made(&mut self, tls: &CommonState) {
        let is_resumed = tls.handshake_kind() == Some(HandshakeKind::Resumed);
        self.count(is_resumed, || TlsParameters::from_connection(tls));
    }

    /// Counts a completed handshake, and keeps the parameters of the first.
    pub(super) fn count(&mut self, is_resumed: bool, parameters: impl FnOnce() -> TlsParameters) {
        self.full += u64::from(!is_resumed);
        self.resumed += u64::from(is_resumed);
        self.agreed.get_or_insert_with(parameters);
    }

    /// Keeps the first case of each fault.
    pub(super) fn note(&mut self, error: &TlsError) {
        if self.error(error.fault).is_none() {
            self.errors.push(error.clone());
        }
    }

    /// Adds the results of another worker.
    pub(crate) fn absorb(&mut self, other: TlsOutcome) {
        self.full += other.full;
        self.resumed += other.resumed;
        self.early_sent += other.early_sent;
        self.early_accepted += other.early_accepted;
        self.agreed = self.agreed.take().or(other.agreed);
        other.errors.iter().for_each(|error| self.note(error));
    }
}
