//! Handles certificates: verifies the server's, if enabled, and provides the client's when the server requests it.
//!
//! `settings.rs` puts these into the configuration, rustls calls them in handshakes. Chains and signatures are verified
//! by rustls's own functions; the binary reads files; messages about errors are in `fault.rs`.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Accepts every certificate (`--insecure`). The server still has to prove that it has the certificate's key.
#[derive(Debug)]
pub(super) struct AcceptAnyCertificate(pub(super) Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Trusts certificates signed by the roots, and the given certificates themselves: a certificate from `openssl req
/// -x509` declares itself a root, which rustls rejects when a server presents it, and yet it is what most people test
/// with. For such a certificate the name is checked and the time is not.
#[derive(Debug)]
pub(super) struct TrustedCertificates {
    /// Verifies against the roots.
    pub(super) roots: Arc<WebPkiServerVerifier>,
    /// Trusted without a signature.
    pub(super) named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for TrustedCertificates {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.roots.verify_server_cert(certificate, chain, name, stapled, now) {
            Err(Error::InvalidCertificate(CertificateError::Other(_) | CertificateError::UnknownIssuer))
                if self.named.iter().any(|named| named == certificate) =>
            {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.roots.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.roots.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.roots.supported_verify_schemes()
    }
}

/// Provides the client's certificate to a server that requests it, and records that one did: an alert of an older
/// server does not say that the certificate is missing.
#[derive(Debug)]
pub(super) struct ClientCertificateResolver {
    asked: AtomicBool,
    key: Option<Arc<CertifiedKey>>,
}

impl ClientCertificateResolver {
    /// Provides this one, if any.
    pub(super) fn new(key: Option<Arc<CertifiedKey>>) -> Self {
        Self { asked: AtomicBool::new(false), key }
    }

    /// The state of the client's certificate.
    pub(super) fn state(&self) -> super::fault::ClientCertificate {
        use super::fault::ClientCertificate;
        match (self.asked.load(Ordering::Relaxed), &self.key) {
            (false, _) => ClientCertificate::NotAsked,
            (true, None) => ClientCertificate::Lacking,
            (true, Some(_)) => ClientCertificate::Given,
        }
    }
}

impl ResolvesClientCert for ClientCertificateResolver {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.asked.store(true, Ordering::Relaxed);
        self.key.clone()
    }

    fn has_certs(&self) -> bool {
        self.key.is_some()
    }
}
