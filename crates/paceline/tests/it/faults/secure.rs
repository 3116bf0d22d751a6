//! Faults of servers that speak TLS, or should: certificates are generated here and trusted through `SSL_CERT_FILE`.
//!
//! `mod.rs` runs them, `table.rs` adds them to docs/reference/faults.md. These are faults that users meet; failures of TLS
//! connections in each version are tested in the engine's `tls.rs`.

use super::servers::{OK, each, reset};
use super::{Fault, UNMEASURED};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

/// Only for a silent server does the run wait for this timeout, which no busy machine reaches.
const FLAGS: &[&str] = &["--expect-body", "ok", "--connect-timeout", "20s"];

pub const FAULTS: &[Fault] = &[
    Fault {
        name: "speaks plain text on a port for TLS",
        serve: || {
            each(|mut stream| {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
                while let Ok(1..) = stream.read(&mut [0; 4096]) {}
            })
        },
        flags: FLAGS,
        outcomes: &[UNMEASURED],
        exits: &[3],
        says: "the server does not speak TLS on this port",
    },
    Fault {
        name: "sends no data in the handshake",
        serve: || each(|mut stream| while let Ok(1..) = stream.read(&mut [0; 4096]) {}),
        flags: &["--expect-body", "ok", "--connect-timeout", "500ms"],
        outcomes: &[UNMEASURED],
        exits: &[3],
        says: "the TLS handshake took longer than the connect timeout",
    },
    Fault {
        name: "closes in the handshake",
        serve: || each(|mut stream| drop(stream.read(&mut [0; 4096]))),
        flags: FLAGS,
        outcomes: &[UNMEASURED],
        exits: &[3],
        says: "the server closed the connection during the TLS handshake",
    },
    Fault {
        name: "resets in the handshake",
        serve: || {
            each(|mut stream| {
                let _ = stream.read(&mut [0; 1]);
                reset(&stream);
            })
        },
        flags: FLAGS,
        outcomes: &[UNMEASURED],
        exits: &[3],
        says: "the connection was lost during the TLS handshake",
    },
    Fault {
        name: "has a certificate that has expired",
        serve: || served(|params| params.not_after = rcgen::date_time_ymd(2001, 1, 1), "127.0.0.1", false),
        flags: FLAGS,
        outcomes: &[UNMEASURED],
        exits: &[3],
        says: "the server's certificate has expired",
    },
    Fault {
        name: "has a certificate for another name",
        serve: || served(|_| {}, "elsewhere.test", false),
        flags: FLAGS,
        outcomes: &[UNMEASURED],
        exits: &[3],
        says: "requested: 127.0.0.1; in the certificate: elsewhere.test",
    },
    Fault {
        name: "has a certificate of an unknown issuer",
        serve: || AUTHORITIES[1].serve(|_| {}, "127.0.0.1", false, After::Keep),
        flags: FLAGS,
        outcomes: &[UNMEASURED],
        exits: &[3],
        says: "give the issuer's certificate with --cacert",
    },
    Fault {
        name: "has a certificate of an unknown issuer, which is not checked (`--insecure`)",
        serve: || AUTHORITIES[1].serve(|_| {}, "127.0.0.1", false, After::Keep),
        flags: &["--expect-body", "ok", "--connect-timeout", "20s", "--insecure"],
        outcomes: &["ok"],
        exits: &[0],
        says: "\"verified\":false",
    },
    Fault {
        name: "requires a client certificate",
        serve: || served(|_| {}, "127.0.0.1", true),
        flags: FLAGS,
        outcomes: &[UNMEASURED],
        exits: &[3],
        says: "give a client certificate with --cert and --key",
    },
    Fault {
        name: "supports only HTTP/1.1 if HTTP/2 is requested (ALPN)",
        serve: || AUTHORITIES[0].serve(|_| {}, "127.0.0.1", false, After::Keep),
        flags: &["--expect-body", "ok", "--connect-timeout", "20s", "--http", "2"],
        outcomes: &[UNMEASURED],
        exits: &[3],
        says: "the server does not offer this version of HTTP over TLS (ALPN)",
    },
    Fault {
        name: "ends a body without a length without close_notify",
        serve: || AUTHORITIES[0].serve(|_| {}, "127.0.0.1", false, After::Cut),
        flags: FLAGS,
        outcomes: &["io_failed"],
        exits: &[1],
        says: "the server closed the connection in the middle of a response",
    },
];

/// The file of certificate authorities that a run trusts.
pub fn trusted() -> PathBuf {
    AUTHORITIES[0].file.clone()
}

/// The TLS of a server with a trusted certificate and this protocol (ALPN).
pub fn config_of(protocol: &[u8]) -> ServerConfig {
    let mut config = AUTHORITIES[0].config(|_| {}, "127.0.0.1", false);
    config.alpn_protocols = vec![protocol.to_vec()];
    config
}

/// One that is trusted, and one that is not.
static AUTHORITIES: LazyLock<[Authority; 2]> =
    LazyLock::new(|| ["trusted authority", "another authority"].map(Authority::new));

struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: rcgen::Certificate,
    file: PathBuf,
    /// Keeps the file until the tests end.
    _folder: tempfile::TempDir,
}

/// What a server does after a response.
#[derive(Clone, Copy)]
enum After {
    Keep,
    /// Ends a body without a length by closing, without a TLS close_notify.
    Cut,
}

fn served(change: fn(&mut CertificateParams), name: &str, wants_clients: bool) -> SocketAddr {
    AUTHORITIES[0].serve(change, name, wants_clients, After::Keep)
}

impl Authority {
    fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let certificate = params.self_signed(&key).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("authority.pem");
        std::fs::write(&file, certificate.pem()).unwrap();
        Self { issuer: Issuer::new(params, key), certificate, file, _folder: folder }
    }

    /// Serves with a certificate for a name, modified by `change`.
    fn serve(
        &self,
        change: fn(&mut CertificateParams),
        name: &str,
        wants_clients: bool,
        after: After,
    ) -> SocketAddr {
        let config = Arc::new(self.config(change, name, wants_clients));
        each(move |tcp| converse(ServerConnection::new(Arc::clone(&config)).unwrap(), tcp, after))
    }

    fn config(&self, change: fn(&mut CertificateParams), name: &str, wants_clients: bool) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.der().clone()).unwrap();
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        let builder = match wants_clients {
            true => builder.with_client_cert_verifier(clients),
            false => builder.with_no_client_auth(),
        };
        let private = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        builder.with_single_cert(vec![certificate.der().clone()], private).unwrap()
    }
}

fn converse(tls: ServerConnection, tcp: TcpStream, after: After) {
    let mut stream = StreamOwned::new(tls, tcp);
    let mut buffer = [0; 4096];
    while let Ok(1..) = stream.read(&mut buffer) {
        let answered = match after {
            After::Keep => stream.write_all(OK),
            After::Cut => return drop(stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nok")),
        };
        if answered.is_err() {
            break;
        }
    }
    // Closing with unread data would reset the connection, and the last response would be lost.
    while let Ok(1..) = stream.sock.read(&mut buffer) {}
}
