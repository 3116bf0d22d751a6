//! What came of TLS in a run: handshakes, what was agreed on, what went wrong.
//!
//! Each worker's transport notes it, `run.rs` adds it up, the binary puts it into the record. Of a fault the first case
//! is kept; how often it happened is among [`crate::ConnectionCounts`], and how long handshakes took in the tallies.

use super::{TlsError, TlsFault};
use rustls::{ClientConnection, HandshakeKind, ProtocolVersion};

/// What client and server agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsAgreed {
    /// The protocol's version: `1.2` or `1.3`.
    pub version: &'static str,
    /// The cipher suite, by its name at IANA.
    pub cipher: String,
    /// The group of the key exchange, where a full handshake reported it.
    pub group: Option<String>,
    /// The application protocol, where the server chose one.
    pub alpn: Option<String>,
}

impl TlsAgreed {
    fn of(tls: &ClientConnection) -> Self {
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

/// What came of TLS: of one worker, or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsOutcome {
    /// Handshakes in full.
    pub full: u64,
    /// Handshakes that resumed an earlier session.
    pub resumed: u64,
    /// What the first handshake agreed on.
    pub agreed: Option<TlsAgreed>,
    /// The first case of each fault.
    pub errors: Vec<TlsError>,
}

impl TlsOutcome {
    /// The first case of a fault.
    pub fn error(&self, fault: TlsFault) -> Option<&TlsError> {
        self.errors.iter().find(|error| error.fault == fault)
    }

    /// Counts a handshake that is done.
    pub(super) fn made(&mut self, tls: &ClientConnection) {
        match tls.handshake_kind() {
            Some(HandshakeKind::Resumed) => self.resumed += 1,
            _ => self.full += 1,
        }
        if self.agreed.is_none() {
            self.agreed = Some(TlsAgreed::of(tls));
        }
    }

    /// Remembers the first case of each fault.
    pub(super) fn note(&mut self, error: &TlsError) {
        if self.error(error.fault).is_none() {
            self.errors.push(error.clone());
        }
    }

    /// Adds another worker's.
    pub(crate) fn absorb(&mut self, other: TlsOutcome) {
        self.full += other.full;
        self.resumed += other.resumed;
        self.agreed = self.agreed.take().or(other.agreed);
        other.errors.iter().for_each(|error| self.note(error));
    }
}
