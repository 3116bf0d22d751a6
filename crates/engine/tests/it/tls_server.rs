//! A small real TLS server: certificates made for each test, a thread for each connection.
//!
//! Used only by `tls.rs`: its handlers choose the response and whether the connection is kept. It uses rustls, as the
//! engine does, so interoperability of two libraries is not tested here. The plain-text server is in `server.rs`.

use paceline_engine::Address;
use paceline_engine::tls::ClientIdentity;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::server::{ServerConfig, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConnection, StreamOwned};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// Authorities made so far.
static MADE: AtomicU32 = AtomicU32::new(0);

/// An authority that signs the certificates of a test.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its own certificate.
    pub certificate: CertificateDer<'static>,
}

impl Authority {
    pub fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Two authorities with the same name would be confused.
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        params.distinguished_name.push(rcgen::DnType::CommonName, format!("authority {number}"));
        let certificate = params.self_signed(&key).unwrap().der().clone();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    /// A certificate for a name, with further changes by the test.
    pub fn issue(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> ClientIdentity {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        identity(certificate.der().clone(), &key)
    }
}

/// A self-signed certificate, as `openssl req -x509` makes it.
pub fn self_signed(name: &str) -> ClientIdentity {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    identity(params.self_signed(&key).unwrap().der().clone(), &key)
}

fn identity(certificate: CertificateDer<'static>, key: &KeyPair) -> ClientIdentity {
    ClientIdentity { chain: vec![certificate], key: PrivatePkcs8KeyDer::from(key.serialize_der()).into() }
}

/// A server configuration; with `clients` it requires a client certificate from that authority.
pub fn server_config(identity: ClientIdentity, clients: Option<&Authority>) -> ServerConfig {
    server_config_by(rustls::crypto::ring::default_provider(), identity, clients)
}

/// The same with the cryptography of a provider.
pub fn server_config_by(
    provider: CryptoProvider,
    identity: ClientIdentity,
    clients: Option<&Authority>,
) -> ServerConfig {
    let provider = Arc::new(provider);
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(authority.certificate.clone()).unwrap();
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder.with_single_cert(identity.chain, identity.key).unwrap();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

/// The action after a request has been handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// Wait for the next request.
    Keep,
    /// Close the connection with a close_notify.
    Close,
    /// Send a close_notify and leave the connection open.
    Tell,
    /// Close the connection without a close_notify.
    Cut,
}

/// The plain side of a connection.
pub type Stream = StreamOwned<ServerConnection, TcpStream>;

/// Starts a server on a free port. Its threads end with the test process.
pub fn serve(
    config: ServerConfig,
    handler: impl Fn(&mut Stream, usize) -> After + Send + Sync + 'static,
) -> Address {
    let config = Arc::new(config);
    let handler = Arc::new(handler);
    accept(move |tcp| {
        let tls = ServerConnection::new(Arc::clone(&config)).unwrap();
        converse(StreamOwned::new(tls, tcp), &*handler);
    })
}

/// Starts a server that runs the handler for each connection, on a thread for each.
pub fn accept(handler: impl Fn(TcpStream) + Send + Sync + 'static) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().into();
    let handler = Arc::new(handler);
    thread::spawn(move || {
        for tcp in listener.incoming().flatten() {
            let handler = Arc::clone(&handler);
            thread::spawn(move || {
                tcp.set_nodelay(true).unwrap();
                handler(tcp);
            });
        }
    });
    address
}

fn converse(mut stream: Stream, handler: &(dyn Fn(&mut Stream, usize) -> After + Send + Sync)) {
    let (mut pending, mut buffer, mut number) = (Vec::new(), [0; 4096], 0);
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        pending.extend_from_slice(&buffer[..count]);
        while let Some(end) = pending.windows(4).position(|four| four == b"\r\n\r\n") {
            pending.drain(..end + 4);
            match handler(&mut stream, number) {
                After::Keep => {}
                After::Cut => return,
                after => {
                    stream.conn.send_close_notify();
                    let _ = stream.flush();
                    if after == After::Tell {
                        // Until the peer closes.
                        while let Ok(1..) = stream.sock.read(&mut buffer) {}
                    }
                    return;
                }
            }
            number += 1;
        }
    }
    // Closing with unread bytes would break the connection and lose the bytes sent last.
    while let Ok(1..) = stream.sock.read(&mut buffer) {}
}
