//! Defines the settings of TLS: trusted servers, the client's identity, versions.
//!
//! Prepared once, before the run starts, by the binary, which has read the files and found the system's roots
//! (`commands/run/target/tls.rs`). Each worker then derives its own configuration from it: its tickets and its record
//! of certificate requests are not shared.

use super::certificate::{AcceptAnyCertificate, ClientCertificateResolver, TrustedCertificates};
use super::tickets::Tickets;
use crate::EngineError;
use paceline_job::TlsVersion;
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use std::sync::Arc;

/// The minimum number of tickets kept by a worker: a server may send several for each handshake.
const MIN_TICKETS: usize = 64;
/// The maximum number of tickets kept, each about half a kilobyte: further connections share them.
const MAX_TICKETS: usize = 16_384;

/// The servers to trust.
#[derive(Clone, Debug)]
pub enum Trust {
    /// All of them: their certificates are not checked.
    Anyone,
    /// Those whose certificates are signed by one of these.
    Roots {
        /// Certificates of authorities, in DER. Unusable ones are left out, since every system has some.
        roots: Vec<CertificateDer<'static>>,
        /// Whether a server that presents one of them as its own certificate is trusted, too.
        also_themselves: bool,
    },
}

/// A client certificate.
#[derive(Debug)]
pub struct ClientIdentity {
    /// The certificate, in DER, and the intermediate ones that lead to a root.
    pub chain: Vec<CertificateDer<'static>>,
    /// Its key.
    pub key: PrivateKeyDer<'static>,
}

/// The requested settings of TLS.
#[derive(Debug)]
pub struct TlsOptions {
    /// The name of the server: sent to it, and checked against its certificate. An address is not sent.
    pub name: ServerName<'static>,
    /// The servers to trust.
    pub trust: Trust,
    /// The client certificate, for servers that request one.
    pub identity: Option<ClientIdentity>,
    /// The only version to offer; if none is given, both.
    pub version: Option<TlsVersion>,
    /// Whether a later handshake may resume an earlier one's session.
    pub resumption: bool,
    /// Whether a resumed session of QUIC may carry early data (RFC 9001 §4.6). TLS over TCP sends none.
    pub early_data: bool,
}

/// TLS settings, ready for use.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    config: ClientConfig,
    key: Option<Arc<CertifiedKey>>,
    pub(super) name: ServerName<'static>,
    resumption: bool,
    early_data: bool,
    verified: bool,
    only_tls12: bool,
    /// The request that makes a proxy open a tunnel.
    pub(super) tunnel: Option<Arc<[u8]>>,
}

impl TlsSettings {
    /// Prepares the requested settings.
    ///
    /// # Errors
    /// [`EngineError::Tls`] when there is no root to trust, or a key cannot be read or does not belong to the
    /// certificate.
    pub fn new(options: TlsOptions) -> Result<Self, EngineError> {
        let provider = Arc::new(ring::default_provider());
        let verified = matches!(options.trust, Trust::Roots { .. });
        let only_tls12 = options.version == Some(TlsVersion::Tls12);
        let verifier = verifier(options.trust, &provider)?;
        let key = options.identity.map(|identity| certified(identity, &provider)).transpose()?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions(options.version))
            .map_err(|source| EngineError::Tls { what: "choose the versions of TLS", source: source.into() })?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_client_cert_resolver(Arc::new(ClientCertificateResolver::new(None)));
        Ok(Self {
            config,
            key,
            name: options.name,
            resumption: options.resumption,
            early_data: options.early_data,
            verified,
            only_tls12,
            tunnel: None,
        })
    }

    /// The same through a proxy, which opens a tunnel on this request (CONNECT).
    #[must_use]
    pub fn through(self, request: Vec<u8>) -> Self {
        Self { tunnel: Some(Arc::from(request)), ..self }
    }

    /// Whether they allow TLS 1.3, which QUIC needs.
    pub(crate) fn has_tls13(&self) -> bool {
        !self.only_tls12
    }

    /// Whether the server's certificate is checked.
    pub fn verified(&self) -> bool {
        self.verified
    }

    /// Whether later handshakes may resume sessions.
    pub fn resumption(&self) -> bool {
        self.resumption
    }

    /// Whether early data may be sent in resumed sessions.
    pub fn early_data(&self) -> bool {
        self.early_data
    }

    /// The configuration of one worker: no mutable part of it is shared with another worker.
    pub(super) fn for_worker(
        &self,
        connections: u32,
        alpn: &[u8],
    ) -> (Arc<ClientConfig>, Arc<ClientCertificateResolver>) {
        let when_asked = Arc::new(ClientCertificateResolver::new(self.key.clone()));
        let tickets = (connections as usize).clamp(MIN_TICKETS, MAX_TICKETS);
        let resumption = match self.resumption {
            true => Resumption::store(Arc::new(Tickets::new(tickets))),
            false => Resumption::disabled(),
        };
        let mut config = self.config.clone();
        config.resumption = resumption;
        config.alpn_protocols = vec![alpn.to_vec()];
        config.enable_secret_extraction = true;
        config.client_auth_cert_resolver = Arc::<ClientCertificateResolver>::clone(&when_asked);
        (Arc::new(config), when_asked)
    }
}

fn versions(only: Option<TlsVersion>) -> Vec<&'static SupportedProtocolVersion> {
    match only {
        Some(TlsVersion::Tls12) => vec![&rustls::version::TLS12],
        Some(TlsVersion::Tls13) => vec![&rustls::version::TLS13],
        None => rustls::ALL_VERSIONS.to_vec(),
    }
}

fn verifier(
    trust: Trust,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, EngineError> {
    let Trust::Roots { roots, also_themselves } = trust else {
        return Ok(Arc::new(AcceptAnyCertificate(Arc::clone(provider))));
    };
    let mut store = RootCertStore::empty();
    let named = if also_themselves { roots.clone() } else { Vec::new() };
    store.add_parsable_certificates(roots);
    let roots =
        WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider)).build().map_err(
            |error| EngineError::Tls { what: "use the trusted certificates", source: Box::new(error) },
        )?;
    Ok(Arc::new(TrustedCertificates { roots, named }))
}

fn certified(identity: ClientIdentity, provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, EngineError> {
    CertifiedKey::from_der(identity.chain, identity.key, provider).map(Arc::new).map_err(|source| {
        EngineError::Tls { what: "use the client certificate with its key", source: source.into() }
    })
}
