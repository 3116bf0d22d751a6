//! Describes TLS errors: a kind that can be counted, and the first case of each in detail.
//!
//! The remedies are in the run crate (`target/tls.rs`).

use rustls::{AlertDescription as Alert, CertificateError, Error};
use std::io;

/// The longest name in DNS (RFC 1035 §2.3.4).
const MAX_NAME_CHARS: usize = 255;

/// A TLS error on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsFault {
    /// The response to the first message is not TLS.
    NotTls,
    /// The server closed the connection before the handshake was done.
    ClosedInHandshake,
    /// The connection broke before the handshake was done.
    BrokenInHandshake,
    /// The handshake was not completed within the limit for making a connection.
    TooSlow,
    /// The certificate has expired.
    Expired,
    /// The certificate is not valid yet.
    NotYetValid,
    /// The certificate is for other names.
    WrongName,
    /// The certificate is not signed by a trusted authority.
    UnknownIssuer,
    /// The certificate is invalid in another way.
    BadCertificate,
    /// The server requires a client certificate, and was given none.
    CertificateRequired,
    /// The server does not accept the client certificate it was given.
    CertificateRefused,
    /// The server knows no host of that name.
    UnknownName,
    /// No version or cipher suite that both sides speak.
    NothingInCommon,
    /// The server does not agree to the requested version of HTTP (ALPN).
    NoSuchHttp,
    /// The server aborted with another alert.
    Alert(u8),
    /// A record cannot be decrypted, or breaks the protocol.
    Broken,
    /// The proxy answered the request for a tunnel with this status.
    NoTunnel(u16),
    /// The response to the request for a tunnel does not come from an HTTP proxy.
    NoProxy,
    /// The proxy did not answer the request for a tunnel within the connect timeout.
    SilentProxy,
}

impl TlsFault {
    /// The fault for an error on a connection: reported by rustls, or by the server through it.
    pub(super) fn from_error(error: &Error, certificate: ClientCertificate) -> Self {
        match error {
            Error::InvalidCertificate(error) => of_certificate(error),
            Error::NoCertificatesPresented => TlsFault::BadCertificate,
            Error::AlertReceived(alert) => of_alert(*alert, certificate),
            Error::PeerIncompatible(_) => TlsFault::NothingInCommon,
            Error::NoApplicationProtocol => TlsFault::NoSuchHttp,
            _ => TlsFault::Broken,
        }
    }
}

/// The state of the client's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientCertificate {
    /// The server has not requested one.
    NotAsked,
    /// The server requested one, and there was none to send.
    Lacking,
    /// The server requested one, there was none to send, and it has answered nevertheless: later failures are not
    /// caused by its absence.
    Waived,
    /// The server requested one and received it.
    Given,
}

fn of_certificate(error: &CertificateError) -> TlsFault {
    use CertificateError as E;
    match error {
        E::Expired | E::ExpiredContext { .. } => TlsFault::Expired,
        E::NotValidYet | E::NotValidYetContext { .. } => TlsFault::NotYetValid,
        E::NotValidForName | E::NotValidForNameContext { .. } => TlsFault::WrongName,
        E::UnknownIssuer => TlsFault::UnknownIssuer,
        _ => TlsFault::BadCertificate,
    }
}

/// Before TLS 1.3 there is no alert for a missing certificate: servers send various ones.
fn of_alert(alert: Alert, certificate: ClientCertificate) -> TlsFault {
    match (alert, certificate) {
        (Alert::CertificateRequired, _) => TlsFault::CertificateRequired,
        (Alert::UnrecognisedName, _) => TlsFault::UnknownName,
        (Alert::NoApplicationProtocol, _) => TlsFault::NoSuchHttp,
        (Alert::ProtocolVersion | Alert::InsufficientSecurity, _) => TlsFault::NothingInCommon,
        (
            Alert::HandshakeFailure | Alert::BadCertificate | Alert::AccessDenied,
            ClientCertificate::Lacking,
        ) => TlsFault::CertificateRequired,
        (Alert::HandshakeFailure, ClientCertificate::NotAsked) => TlsFault::NothingInCommon,
        (
            Alert::HandshakeFailure
            | Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::AccessDenied
            | Alert::DecryptError,
            ClientCertificate::Given,
        ) => TlsFault::CertificateRefused,
        (alert, _) => TlsFault::Alert(alert.into()),
    }
}

impl std::fmt::Display for TlsFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            TlsFault::NotTls => "the server does not speak TLS on this port",
            TlsFault::ClosedInHandshake => "the server closed the connection during the TLS handshake",
            TlsFault::BrokenInHandshake => "the connection was lost during the TLS handshake",
            TlsFault::TooSlow => "the TLS handshake took longer than the connect timeout",
            TlsFault::Expired => "the server's certificate has expired",
            TlsFault::NotYetValid => "the server's certificate is not valid yet",
            TlsFault::WrongName => "the server's certificate is for another name",
            TlsFault::UnknownIssuer => "the server's certificate is from an issuer that is not trusted",
            TlsFault::BadCertificate => "the server's certificate is invalid",
            TlsFault::CertificateRequired => "the server asks for a client certificate",
            TlsFault::CertificateRefused => "the server refused the client certificate",
            TlsFault::UnknownName => "the server does not know this host name",
            TlsFault::NothingInCommon => {
                "the server supports none of the offered TLS versions and cipher suites"
            }
            TlsFault::NoSuchHttp => "the server does not offer this version of HTTP over TLS (ALPN)",
            TlsFault::Alert(number) => {
                return write!(
                    f,
                    "the server ended the handshake with TLS alert {number} ({:?})",
                    Alert::from(*number)
                );
            }
            TlsFault::Broken => "the server violated the TLS protocol",
            TlsFault::NoTunnel(407) => "the proxy asks for a user and password (status 407)",
            TlsFault::NoTunnel(status) => {
                return write!(f, "the proxy opened no tunnel: it answered CONNECT with status {status}");
            }
            TlsFault::SilentProxy => "the proxy did not answer CONNECT within the connect timeout",
            TlsFault::NoProxy => "the response to CONNECT is not that of an HTTP proxy",
        })
    }
}

/// A fault with the details of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsError {
    /// Its kind.
    pub fault: TlsFault,
    /// Details beyond the kind: names, times, the text of rustls; empty if there are none.
    pub detail: String,
}

impl TlsError {
    /// A fault without further details.
    pub(crate) fn plain(fault: TlsFault) -> Self {
        Self { fault, detail: String::new() }
    }

    /// The fault for an error of rustls. If the server has not yet sent a message of TLS (`is_tls`), it does not speak
    /// it.
    pub(super) fn from_error(error: &Error, is_tls: bool, certificate: ClientCertificate) -> Self {
        match error {
            Error::InvalidMessage(_)
            | Error::InappropriateMessage { .. }
            | Error::PeerSentOversizedRecord
                if !is_tls =>
            {
                Self { fault: TlsFault::NotTls, detail: error.to_string() }
            }
            error => {
                let fault = TlsFault::from_error(error, certificate);
                Self { fault, detail: detail(fault, error) }
            }
        }
    }

    /// The fault in an error of a transport, if it is a TLS error.
    pub fn within(error: &io::Error) -> Option<&TlsError> {
        error.get_ref()?.downcast_ref()
    }
}

impl std::fmt::Display for TlsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.detail.as_str() {
            "" => self.fault.fmt(f),
            detail => write!(f, "{} ({detail})", self.fault),
        }
    }
}

impl std::error::Error for TlsError {}

impl From<TlsError> for io::Error {
    fn from(error: TlsError) -> Self {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}

/// The details beyond the kind of a fault.
fn detail(fault: TlsFault, error: &Error) -> String {
    use CertificateError as E;
    match error {
        Error::InvalidCertificate(E::ExpiredContext { time, not_after }) => {
            format!("{} ago", days(time.as_secs().saturating_sub(not_after.as_secs())))
        }
        Error::InvalidCertificate(E::NotValidYetContext { time, not_before }) => {
            format!("it becomes valid in {}", days(not_before.as_secs().saturating_sub(time.as_secs())))
        }
        Error::InvalidCertificate(E::NotValidForNameContext { expected, presented }) => {
            format!("requested: {}; in the certificate: {}", expected.to_str(), names(presented))
        }
        Error::InvalidCertificate(E::Other(other)) => other.0.to_string(),
        Error::AlertReceived(_) if matches!(fault, TlsFault::Alert(_)) => String::new(),
        _ if fault == TlsFault::UnknownIssuer => String::new(),
        other => other.to_string(),
    }
}

/// The names in a certificate: it can have thousands, of any length.
fn names(presented: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = presented.iter().take(SHOWN).map(|name| bare(name));
    let shown: Vec<String> = shown.map(|name| name.chars().take(MAX_NAME_CHARS).collect()).collect();
    match (shown.len(), presented.len() - shown.len()) {
        (0, _) => "none".to_owned(),
        (_, 0) => shown.join(", "),
        (_, more) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The name in a certificate without the wrapper of rustls: `DnsName("a.test")`, `IpAddress(127.0.0.1)`.
fn bare(name: &str) -> &str {
    let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(name);
    inner.trim_matches('"')
}

/// A duration, rounded.
fn days(seconds: u64) -> String {
    match seconds {
        0..7_200 => format!("{} minutes", seconds / 60),
        7_200..172_800 => format!("{} hours", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_are_explained_by_the_requested_settings() {
        use ClientCertificate::{Given, Lacking, NotAsked, Waived};
        for (alert, certificate, fault) in [
            (Alert::HandshakeFailure, NotAsked, TlsFault::NothingInCommon),
            (Alert::HandshakeFailure, Lacking, TlsFault::CertificateRequired),
            (Alert::HandshakeFailure, Waived, TlsFault::Alert(40)),
            (Alert::CertificateRequired, Waived, TlsFault::CertificateRequired),
            (Alert::HandshakeFailure, Given, TlsFault::CertificateRefused),
            (Alert::UnknownCA, Given, TlsFault::CertificateRefused),
            (Alert::UnknownCA, NotAsked, TlsFault::Alert(48)),
            (Alert::UnrecognisedName, NotAsked, TlsFault::UnknownName),
        ] {
            assert_eq!(TlsFault::from_error(&Error::AlertReceived(alert), certificate), fault, "{alert:?}");
        }
        assert_eq!(
            TlsFault::Alert(80).to_string(),
            "the server ended the handshake with TLS alert 80 (InternalError)"
        );
    }

    #[test]
    fn names_of_a_certificate_are_listed() {
        for (name, text) in [("DnsName(\"a.test\")", "a.test"), ("IpAddress(::1)", "::1"), ("odd", "odd")] {
            assert_eq!(bare(name), text);
        }
        let presented: Vec<String> = (0..3_000).map(|n| format!("DnsName(\"h{n}.test\")")).collect();
        assert_eq!(names(&presented), "h0.test, h1.test, h2.test, h3.test, h4.test and 2995 more");
        assert_eq!(names(&presented[..2]), "h0.test, h1.test");
        assert_eq!(names(&["x".repeat(9_000)]).len(), MAX_NAME_CHARS);
        assert_eq!(names(&[]), "none");
    }

    #[test]
    fn durations_are_written_with_units() {
        for (seconds, text) in
            [(0, "0 minutes"), (7_199, "119 minutes"), (7_200, "2 hours"), (864_000, "10 days")]
        {
            assert_eq!(days(seconds), text);
        }
    }
}
