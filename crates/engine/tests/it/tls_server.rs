//! A small real TLS server: certificates made on the spot, a thread for each connection.
//!
//! For `tls.rs` alone: its handlers say what is answered and what becomes of the connection then. It speaks through
//! rustls, as the engine does, so that two libraries never meet here. In plain text there is `server.rs`.

use paceline_engine::Address;
use paceline_engine::tls::Identity;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
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

/// Who vouches for certificates in a test.
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
        // Two authorities of one name would be taken for each other.
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        params.distinguished_name.push(rcgen::DnType::CommonName, format!("authority {number}"));
        let certificate = params.self_signed(&key).unwrap().der().clone();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    /// A certificate for a name, with whatever else the test changes.
    pub fn issue(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Identity {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        identity(certificate.der().clone(), &key)
    }
}

/// A certificate that vouches for itself, as `openssl req -x509` makes it.
pub fn self_signed(name: &str) -> Identity {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    identity(params.self_signed(&key).unwrap().der().clone(), &key)
}

fn identity(certificate: CertificateDer<'static>, key: &KeyPair) -> Identity {
    Identity { chain: vec![certificate], key: PrivatePkcs8KeyDer::from(key.serialize_der()).into() }
}

/// A server's side of TLS; with `clients` it requires a certificate of theirs.
pub fn server_config(identity: Identity, clients: Option<&Authority>) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
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

/// What is done after a request has been handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The next one is awaited.
    Keep,
    /// The connection is closed with a close_notify.
    Close,
    /// A close_notify is sent and the connection left open.
    Tell,
    /// The connection is closed without a word.
    Cut,
}

/// A connection's plain side.
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

/// Starts a server that does something with each connection, on a thread for each.
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
                        // Until the peer goes.
                        while let Ok(1..) = stream.sock.read(&mut buffer) {}
                    }
                    return;
                }
            }
            number += 1;
        }
    }
    // Closing with something unread would break the connection, and what was said last with it.
    while let Ok(1..) = stream.sock.read(&mut buffer) {}
}
