//! A TLS server whose records are damaged on the way, or any bytes instead of a server: no panic, no endless loop, and
//! no byte that the server did not send.
//!
//! An input selects the byte that is changed, its new value, and how the records are cut; if the first bit is set, the
//! rest of the input replaces the server.
//!
//! Keys and random numbers are new in each process, so the bytes on the wire are too: a failure with a server may not
//! repeat.

use paceline_engine::sim::VirtualClock;
use paceline_engine::tls::{TlsOptions, TlsSettings, TlsTransport, Trust};
use paceline_engine::{IoProgress, Nanos, Readiness, Slot, Transport, WaitLimit};
use paceline_job::Protocol;
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ServerConfig, ServerConnection};
use std::io::{self, Read as _, Write as _};
use std::sync::{Arc, OnceLock};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// The connection to a server.
struct Wire {
    /// None if the input replaces the server.
    server: Option<ServerConnection>,
    /// Bytes that the client has not read.
    incoming: Vec<u8>,
    /// Bytes that came from the server before those.
    passed: usize,
    /// Positions of changed bytes, with their XOR masks.
    edits: Vec<(usize, u8)>,
    piece: usize,
}

impl Wire {
    fn pump(&mut self) {
        let Some(server) = &mut self.server else { return };
        let mut bytes = Vec::new();
        while server.wants_write() && server.write_tls(&mut bytes).is_ok() {}
        let start = self.passed + self.incoming.len();
        for (at, byte) in &self.edits {
            if let Some(place) = at.checked_sub(start).and_then(|at| bytes.get_mut(at)) {
                *place ^= byte;
            }
        }
        self.incoming.append(&mut bytes);
    }
}

impl Transport for Wire {
    type Inner = Self;

    fn connect(&mut self, _slot: Slot) -> io::Result<IoProgress> {
        Ok(IoProgress::Done)
    }

    fn finish_connect(&mut self, _slot: Slot) -> io::Result<IoProgress> {
        Ok(IoProgress::Done)
    }

    fn send(&mut self, _slot: Slot, bytes: &[u8]) -> io::Result<usize> {
        if let Some(server) = &mut self.server {
            let mut rest = bytes;
            while !rest.is_empty() && server.read_tls(&mut rest).is_ok_and(|count| count > 0) {
                if server.process_new_packets().is_err() {
                    break;
                }
            }
            let mut request = [0; 64];
            if server.reader().read(&mut request).is_ok_and(|count| count > 0) {
                let _ = server.writer().write_all(ANSWER);
                server.send_close_notify();
            }
        }
        self.pump();
        Ok(bytes.len())
    }

    fn receive(&mut self, _slot: Slot, buffer: &mut [u8]) -> io::Result<usize> {
        self.pump();
        let count = self.incoming.len().min(buffer.len()).min(self.piece);
        buffer[..count].copy_from_slice(&self.incoming[..count]);
        self.incoming.drain(..count);
        self.passed += count;
        Ok(count)
    }

    fn close(&mut self, _slot: Slot) {}

    fn wait(&mut self, _patience: WaitLimit, _ready: &mut Vec<Readiness>) -> io::Result<()> {
        Ok(())
    }
}

fn server() -> ServerConnection {
    static CONFIG: OnceLock<Arc<ServerConfig>> = OnceLock::new();
    let config = CONFIG.get_or_init(|| {
        let key = rcgen::KeyPair::generate().expect("a key");
        let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        let certificate = params.self_signed(&key).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        let config = builder.expect("versions").with_no_client_auth();
        Arc::new(config.with_single_cert(vec![certificate.der().clone()], key).expect("a configuration"))
    });
    ServerConnection::new(Arc::clone(config)).expect("a server")
}

fn settings() -> &'static TlsSettings {
    static SETTINGS: OnceLock<TlsSettings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        let name = ServerName::try_from("localhost").expect("a name");
        let asked = TlsOptions {
            name,
            trust: Trust::Anyone,
            identity: None,
            version: None,
            resumption: true,
            early_data: false,
        };
        TlsSettings::new(asked).expect("settings")
    })
}

pub fn run(bytes: &[u8]) {
    let [first, rest @ ..] = bytes else { return };
    let wire = if first & 1 == 1 {
        Wire {
            server: None,
            incoming: rest.to_vec(),
            passed: 0,
            edits: Vec::new(),
            piece: usize::from(*first).max(1),
        }
    } else {
        let edit = |three: &[u8]| (usize::from(u16::from_le_bytes([three[0], three[1]]) & 0xfff), three[2]);
        let edits = rest.chunks_exact(3).map(edit).collect();
        let piece = if *first == 0 { 1 << 16 } else { usize::from(*first) };
        Wire { server: Some(server()), incoming: Vec::new(), passed: 0, edits, piece }
    };
    let is_whole = wire.server.is_some() && wire.edits.iter().all(|(_, byte)| *byte == 0);
    let mut tls = TlsTransport::new(settings(), Protocol::Http11, 1, VirtualClock::new(Nanos(1)), wire);
    let mut made = tls.connect(0);
    for _ in 0..100_000 {
        match made {
            Ok(IoProgress::Pending) => made = tls.finish_connect(0),
            _ => break,
        }
    }
    let mut received = Vec::new();
    if matches!(made, Ok(IoProgress::Done)) && tls.send(0, b"GET / HTTP/1.1\r\n\r\n").is_ok() {
        let mut buffer = [0; 100];
        for _ in 0..100_000 {
            match tls.receive(0, &mut buffer) {
                Ok(0) => break,
                Ok(count) => received.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
    }
    tls.close(0);
    assert!(ANSWER.starts_with(&received), "{}", received.escape_ascii());
    assert!(!is_whole || received == ANSWER, "{}", received.escape_ascii());
}
