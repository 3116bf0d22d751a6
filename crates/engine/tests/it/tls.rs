//! The engine over TLS, against servers that behave and servers that do not.
//!
//! Both versions, certificates, resumption, and the ends of bodies and connections. The trusted authorities are made
//! for the test. The binary's `target.rs` tests the flags, the system's certificates and the error messages.

use crate::server::reset;
use crate::support::{REQUEST, asking, closed_loop};
use crate::tls_server::{
    After, Authority, Stream, accept, self_signed, serve, server_config, server_config_by,
};
use paceline_engine::tls::{
    ClientIdentity, TlsError, TlsFault, TlsOptions, TlsOutcome, TlsSettings, TlsVersion, Trust,
};
use paceline_engine::{
    Address, BodyCheck, Bound, ConnectionFailure, Ending, EngineError, Measure, Nanos, NoObserver, Requests,
    ResponseCheck, RunOutcome, Settings, StopFlag, run,
};
use paceline_http::Method;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName};
use std::io::{Read as _, Write as _};
use std::sync::Arc;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// TLS settings that trust one authority.
fn asked(authority: &Authority) -> TlsOptions {
    TlsOptions {
        name: ServerName::try_from("localhost").unwrap(),
        trust: Trust::Roots { roots: vec![authority.certificate.clone()], also_themselves: false },
        identity: None,
        version: None,
        resumption: true,
        early_data: false,
    }
}

fn settings(address: &Address, asked: TlsOptions, connections: u32, requests: u64) -> Settings {
    Settings {
        address: address.clone(),
        tls: Some(Arc::new(TlsSettings::new(asked).unwrap())),
        requests: asking(None, Some(b"ok")),
        ..closed_loop(connections, 1)
    }
    .with(|job| job.window = Bound::Requests(requests))
}

fn go(settings: &Settings) -> (RunOutcome, TlsOutcome) {
    let mut outcome = run(settings, &StopFlag::new(), &NoObserver).unwrap();
    let tls = outcome.tls.take().unwrap();
    (outcome, tls)
}

/// The fault that kept every connection from being made.
fn refused(settings: &Settings) -> TlsError {
    match run(settings, &StopFlag::new(), &NoObserver) {
        Err(EngineError::Unreachable { source, .. }) => {
            TlsError::within(&source).expect("a fault of TLS").clone()
        }
        other => panic!("{other:?}"),
    }
}

/// Checks that a server refuses every connection with this fault. In TLS 1.3 it may do so after the handshake is done
/// for the client; the run waits a tenth of a second for that, which a busy machine may use up: it then reports the
/// same fault and is tried again.
fn assert_refused_by_server(settings: &Settings, version: TlsVersion, fault: TlsFault) {
    for _ in 0..5 {
        match run(settings, &StopFlag::new(), &NoObserver) {
            Err(EngineError::Unreachable { source, .. }) => {
                let reported = TlsError::within(&source).expect("a fault of TLS");
                return assert_eq!(reported.fault, fault, "{version:?}");
            }
            Ok(outcome) if version == TlsVersion::Tls13 => {
                let commonest = outcome.connections.failures.iter().max_by_key(|(_, count)| *count);
                let reported = commonest.map(|(failure, _)| *failure);
                assert_eq!(reported, Some(ConnectionFailure::Tls(fault)), "{:?}", outcome.connections);
            }
            other => panic!("{other:?}"),
        }
    }
    panic!("not once in five tries before the run began")
}

fn ok(stream: &mut Stream, _: usize) -> After {
    if stream.write_all(OK).is_ok() { After::Keep } else { After::Cut }
}

fn good_server(authority: &Authority) -> Address {
    serve(server_config(authority.issue("localhost", |_| {}), None), ok)
}

#[test]
fn requests_are_answered_over_either_version() {
    let authority = Authority::new();
    let address = good_server(&authority);
    for (version, name) in [(Some(TlsVersion::Tls12), "1.2"), (Some(TlsVersion::Tls13), "1.3"), (None, "1.3")]
    {
        let asked = TlsOptions { version, ..asked(&authority) };
        let settings = Settings { threads: 2, ..settings(&address, asked, 5, 1_001) };
        let (outcome, tls) = go(&settings);
        assert_eq!(outcome.total.counts.ended(Ending::Ok), 1_001, "{:?}", outcome.connections);
        assert_eq!(outcome.connections.had, 5);
        // Plain bytes are counted: those of the protocol, not those that TLS made of them.
        assert_eq!(outcome.total.counts.sent_bytes, 1_001 * REQUEST.len() as u64);
        assert_eq!(outcome.total.counts.received_bytes, 1_001 * OK.len() as u64);
        assert_eq!(tls.full + tls.resumed, 5);
        let agreed = tls.agreed.unwrap();
        assert_eq!((agreed.version, agreed.alpn.as_deref()), (name, Some("http/1.1")));
        assert!(agreed.cipher.starts_with("TLS_") && agreed.group.is_some(), "{agreed:?}");
        let early = outcome.intervals.iter().map(|interval| &interval.tally);
        let counts: Vec<_> = early
            .map(|tally| [Measure::Connect, Measure::Handshake].map(|m| tally.times(m).count()))
            .collect();
        assert_eq!(counts.iter().fold([0, 0], |sum, two| [sum[0] + two[0], sum[1] + two[1]]), [5, 5]);
    }
}

#[test]
fn every_cipher_suite_is_encrypted_and_decrypted() {
    let authority = Authority::new();
    let mut suites = ring::ALL_CIPHER_SUITES.to_vec();
    // The certificate has an ECDSA key.
    suites.retain(|suite| !format!("{:?}", suite.suite()).contains("_RSA_"));
    assert_eq!(suites.len(), 6);
    for suite in suites {
        let provider = CryptoProvider { cipher_suites: vec![suite], ..ring::default_provider() };
        let config = server_config_by(provider, authority.issue("localhost", |_| {}), None);
        let settings = settings(&serve(config, ok), asked(&authority), 2, 40);
        let (outcome, tls) = go(&settings);
        assert_eq!(outcome.total.counts.ended(Ending::Ok), 40, "{suite:?}: {:?}", outcome.connections);
        let name = format!("{:?}", suite.suite()).replace("TLS13_", "TLS_");
        assert_eq!((outcome.connections.had, tls.agreed.unwrap().cipher), (2, name));
    }
}

#[test]
fn keys_change_during_a_connection() {
    let authority = Authority::new();
    let config = server_config(authority.issue("localhost", |_| {}), None);
    // It asks for a new key of the other side, too.
    let address = serve(config, |stream, number| {
        if number % 3 == 0 {
            stream.conn.refresh_traffic_keys().unwrap();
        }
        ok(stream, number)
    });
    let asked = TlsOptions { version: Some(TlsVersion::Tls13), ..asked(&authority) };
    let (outcome, _) = go(&settings(&address, asked, 2, 100));
    assert_eq!(outcome.total.counts.ended(Ending::Ok), 100, "{:?}", outcome.connections);
    assert_eq!(outcome.connections.had, 2);
}

#[test]
fn pipelined_answers_share_records() {
    let authority = Authority::new();
    let asked = asked(&authority);
    let settings = settings(&good_server(&authority), asked, 4, 6_400).with(|job| job.depth = 16);
    let (outcome, _) = go(&settings);
    assert_eq!(outcome.total.counts.ended(Ending::Ok), 6_400);
}

#[test]
fn bodies_of_a_megabyte_stream_through() {
    let authority = Authority::new();
    let body: Arc<[u8]> = (0..1_000_003u32).map(|at| (at % 251) as u8).collect();
    let answer =
        [format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes(), &body].concat();
    let config = server_config(authority.issue("localhost", |_| {}), None);
    let address = serve(
        config,
        move |stream, _| if stream.write_all(&answer).is_ok() { After::Keep } else { After::Cut },
    );
    let settings =
        Settings { requests: asking(None, Some(&body)), ..settings(&address, asked(&authority), 3, 40) }
            .with(|job| job.depth = 2);
    let (outcome, _) = go(&settings);
    assert_eq!(outcome.total.counts.ended(Ending::Ok), 40, "{:?}", outcome.connections.failures);
}

#[test]
fn requests_of_a_megabyte_leave_piece_by_piece() {
    let authority = Authority::new();
    // A header longer than any socket's buffer: it is sent in many records, as there is room.
    let mut request = b"GET / HTTP/1.1\r\nHost: a\r\nX: ".to_vec();
    request.resize(5_000_000, b'x');
    request.extend_from_slice(b"\r\n\r\n");
    let config = server_config(authority.issue("localhost", |_| {}), None);
    let length = request.len();
    let address = accept_lengths(config, length);
    let check = ResponseCheck { status: None, body: BodyCheck::Exact(Arc::from(*b"ok")) };
    let requests = Arc::new(Requests::fixed(request, Method::Other, check));
    let settings = Settings { requests, ..settings(&address, asked(&authority), 2, 6) };
    let (outcome, _) = go(&settings);
    assert_eq!(outcome.total.counts.ended(Ending::Ok), 6, "{:?}", outcome.connections.failures);
    assert_eq!(outcome.total.counts.sent_bytes, 6 * length as u64);
}

#[test]
fn a_server_that_requests_a_certificate_and_closes_is_explained() {
    let authority = Authority::new();
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        let config = Arc::new(server_config(authority.issue("localhost", |_| {}), Some(&authority)));
        // It closes with unread bytes, which breaks the connection and may lose its alert.
        let address = accept(move |tcp| {
            let tls = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let _ = Stream::new(tls, tcp).read(&mut [0; 1]);
        });
        let asked = TlsOptions { version: Some(version), ..asked(&authority) };
        let settings = settings(&address, asked, 2, 10);
        assert_refused_by_server(&settings, version, TlsFault::CertificateRequired);
    }
}

/// Responds whenever this many bytes have come.
fn accept_lengths(config: rustls::ServerConfig, length: usize) -> Address {
    let config = Arc::new(config);
    accept(move |tcp| {
        let tls = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut stream = Stream::new(tls, tcp);
        let mut request = vec![0; length];
        while stream.read_exact(&mut request).is_ok() && request.ends_with(b"\r\n\r\n") {
            stream.write_all(OK).unwrap();
        }
    })
}

#[test]
fn a_response_in_single_records_is_whole() {
    let authority = Authority::new();
    let config = server_config(authority.issue("localhost", |_| {}), None);
    let address = serve(config, |stream, _| {
        let whole = OK.iter().all(|byte| stream.write_all(&[*byte]).and_then(|()| stream.flush()).is_ok());
        if whole { After::Keep } else { After::Cut }
    });
    let (outcome, _) = go(&settings(&address, asked(&authority), 2, 20));
    assert_eq!(outcome.total.counts.ended(Ending::Ok), 20);
}

#[test]
fn invalid_certificates_are_refused() {
    let authority = Authority::new();
    let long_ago =
        |params: &mut rcgen::CertificateParams| params.not_after = rcgen::date_time_ymd(2001, 1, 1);
    let one_day =
        |params: &mut rcgen::CertificateParams| params.not_before = rcgen::date_time_ymd(3999, 1, 1);
    let stranger = Authority::new();
    let cases: [(ClientIdentity, TlsFault, &str); 5] = [
        (authority.issue("localhost", long_ago), TlsFault::Expired, "days ago"),
        (authority.issue("localhost", one_day), TlsFault::NotYetValid, "becomes valid in"),
        (authority.issue("elsewhere.test", |_| {}), TlsFault::WrongName, "elsewhere.test"),
        (stranger.issue("localhost", |_| {}), TlsFault::UnknownIssuer, "issuer"),
        (self_signed("localhost"), TlsFault::BadCertificate, "CaUsedAsEndEntity"),
    ];
    for (identity, fault, words) in cases {
        let address = serve(server_config(identity, None), ok);
        let error = refused(&settings(&address, asked(&authority), 2, 10));
        assert_eq!(error.fault, fault, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        // Without verification it accepts the certificate.
        let asked = TlsOptions { trust: Trust::Anyone, ..asked(&authority) };
        let (outcome, _) = go(&settings(&address, asked, 2, 10));
        assert_eq!(outcome.total.counts.ended(Ending::Ok), 10, "{fault:?}");
    }
}

#[test]
fn a_given_certificate_is_trusted_only_for_its_own_name() {
    let identity = self_signed("localhost");
    let roots: Vec<CertificateDer<'static>> = identity.chain.clone();
    let address = serve(server_config(identity, None), ok);
    let asked = |name: &'static str| TlsOptions {
        name: ServerName::try_from(name).unwrap(),
        trust: Trust::Roots { roots: roots.clone(), also_themselves: true },
        ..asked(&Authority::new())
    };
    let (outcome, _) = go(&settings(&address, asked("localhost"), 2, 10));
    assert_eq!(outcome.total.counts.ended(Ending::Ok), 10);
    assert_eq!(refused(&settings(&address, asked("elsewhere.test"), 2, 10)).fault, TlsFault::WrongName);
}

#[test]
fn a_client_certificate_is_sent_on_request() {
    let authority = Authority::new();
    let stranger = Authority::new();
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        let config = server_config(authority.issue("localhost", |_| {}), Some(&authority));
        let address = serve(config, ok);
        let asked = |identity| TlsOptions { identity, version: Some(version), ..asked(&authority) };
        let (outcome, _) = go(&settings(&address, asked(Some(authority.issue("me", |_| {}))), 2, 10));
        assert_eq!(outcome.total.counts.ended(Ending::Ok), 10, "{version:?}");
        for (identity, fault) in [
            (None, TlsFault::CertificateRequired),
            (Some(stranger.issue("me", |_| {})), TlsFault::CertificateRefused),
        ] {
            assert_refused_by_server(&settings(&address, asked(identity), 2, 10), version, fault);
        }
    }
}

#[test]
fn a_server_without_tls_is_reported_as_such() {
    for garbage in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"SSH-2.0-OpenSSH_9.2\r\n", &[0; 64]] {
        let address = accept(move |mut tcp| {
            let mut buffer = [0; 4096];
            let _ = tcp.read(&mut buffer);
            let _ = tcp.write_all(garbage);
            while let Ok(1..) = tcp.read(&mut buffer) {}
        });
        let error = refused(&settings(&address, asked(&Authority::new()), 2, 10));
        assert_eq!(error.fault, TlsFault::NotTls, "{error}");
    }
}

#[test]
fn failed_handshakes_are_reported() {
    let close: fn(std::net::TcpStream) = |mut tcp| {
        let _ = tcp.read(&mut [0; 4096]);
    };
    let reset: fn(std::net::TcpStream) = |mut tcp| {
        let _ = tcp.read(&mut [0; 1]);
        reset(&tcp);
    };
    for (server, fault) in [(close, TlsFault::ClosedInHandshake), (reset, TlsFault::BrokenInHandshake)] {
        let error = refused(&settings(&accept(server), asked(&Authority::new()), 2, 10));
        assert_eq!(error.fault, fault, "{error}");
    }
}

#[test]
fn a_handshake_has_a_time_limit() {
    let address = accept(|mut tcp| {
        let mut buffer = [0; 4096];
        while let Ok(1..) = tcp.read(&mut buffer) {}
    });
    let settings = settings(&address, asked(&Authority::new()), 2, 10);
    let settings = settings.with(|job| job.connect_timeout = Nanos::from_millis(200));
    let error = run(&settings, &StopFlag::new(), &NoObserver).unwrap_err();
    let EngineError::Unreachable { source, attempts, .. } = error else { panic!("{error}") };
    assert_eq!(TlsError::within(&source).unwrap().fault, TlsFault::TooSlow);
    assert!(attempts >= 2, "one for each connection is under way at the connect timeout: {attempts}");
}

#[test]
fn resumed_handshakes_are_counted_apart() {
    let authority = Authority::new();
    let closing = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        let mut config = server_config(authority.issue("localhost", |_| {}), None);
        config.ticketer = rustls::crypto::ring::Ticketer::new().unwrap();
        let address = serve(config, move |stream, _| {
            let _ = stream.write_all(closing);
            After::Close
        });
        for resumption in [true, false] {
            let asked = TlsOptions { version: Some(version), resumption, ..asked(&authority) };
            let (outcome, tls) = go(&settings(&address, asked, 2, 50));
            assert_eq!(outcome.total.counts.ended(Ending::Ok), 50);
            assert_eq!(tls.full + tls.resumed, outcome.connections.made, "{version:?}");
            // The first handshake of a connection may have no session to resume; every later one has a ticket from an
            // earlier one.
            let full = if resumption { 1..=2 } else { outcome.connections.made..=outcome.connections.made };
            assert!(full.contains(&tls.full), "{version:?} {tls:?}");
        }
    }
}

#[test]
fn a_body_without_a_length_needs_close_notify() {
    let authority = Authority::new();
    for (after, ending) in
        [(After::Close, Ending::Ok), (After::Tell, Ending::Ok), (After::Cut, Ending::IoFailed)]
    {
        let config = server_config(authority.issue("localhost", |_| {}), None);
        let address = serve(config, move |stream, _| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nok");
            after
        });
        let (outcome, _) = go(&settings(&address, asked(&authority), 2, 10));
        assert_eq!(outcome.total.counts.ended(ending), 10, "{after:?} {:?}", outcome.connections.failures);
    }
}

#[test]
fn a_tls_connection_closed_between_requests_is_reopened() {
    let authority = Authority::new();
    for after in [After::Cut, After::Close] {
        let config = server_config(authority.issue("localhost", |_| {}), None);
        let address = serve(config, move |stream, number| {
            let _ = stream.write_all(OK);
            if number == 4 { after } else { After::Keep }
        });
        let open = crate::support::open_loop(500.0, 2, 1);
        let bound = Bound::Duration(Nanos::from_millis(400));
        let settings =
            Settings { address, tls: Some(Arc::new(TlsSettings::new(asked(&authority)).unwrap())), ..open }
                .with(|job| job.window = bound);
        let (outcome, _) = go(&settings);
        let ok = outcome.total.counts.ended(Ending::Ok);
        assert!(ok >= 150, "{after:?}: {ok} of 200 {:?}", outcome.connections.failures);
        assert!(outcome.connections.closed_by_server >= 30, "{:?}", outcome.connections);
    }
}

#[test]
fn a_timeout_ends_a_request_over_tls() {
    let authority = Authority::new();
    let config = server_config(authority.issue("localhost", |_| {}), None);
    let address = serve(config, |_, _| After::Keep);
    let settings = settings(&address, asked(&authority), 1, 3);
    let (outcome, _) = go(&settings.with(|job| job.timeout = Nanos::from_millis(500)));
    assert_eq!(outcome.total.counts.ended(Ending::TimedOut), 3);
}

#[test]
fn keys_that_do_not_fit_are_refused() {
    let authority = Authority::new();
    let mut identity = authority.issue("me", |_| {});
    identity.chain = authority.issue("me", |_| {}).chain;
    let error = TlsSettings::new(TlsOptions { identity: Some(identity), ..asked(&authority) }).unwrap_err();
    assert!(matches!(error, EngineError::Tls { .. }), "{error}");
    let no_roots = Trust::Roots { roots: Vec::new(), also_themselves: false };
    assert!(TlsSettings::new(TlsOptions { trust: no_roots, ..asked(&authority) }).is_err());
}

/// Reads this many requests. After the handshake no bytes are sent: the tickets wait with all other bytes.
fn read_requests(tls: &mut rustls::ServerConnection, tcp: &mut std::net::TcpStream, requests: usize) {
    let mut heard = Vec::new();
    while heard.windows(4).filter(|four| four == b"\r\n\r\n").count() < requests {
        while tls.is_handshaking() && tls.wants_write() {
            tls.write_tls(tcp).unwrap();
        }
        assert_ne!(tls.read_tls(tcp).unwrap(), 0, "the client has gone");
        let more = tls.process_new_packets().unwrap().plaintext_bytes_to_read();
        let from = heard.len();
        heard.resize(from + more, 0);
        tls.reader().read_exact(&mut heard[from..]).unwrap();
    }
}

/// The records that wait to be sent.
fn waiting(tls: &mut rustls::ServerConnection) -> Vec<u8> {
    let mut records = Vec::new();
    while tls.wants_write() {
        tls.write_tls(&mut records).unwrap();
    }
    records
}

/// Sends bytes and the end of this side in one segment, then waits for the peer to close.
fn say_last(tcp: &mut std::net::TcpStream, bytes: &[u8]) {
    use std::os::fd::AsRawFd as _;
    let (on, length) = (1, size_of::<libc::c_int>() as libc::socklen_t);
    let on: *const libc::c_int = &raw const on;
    // SAFETY: the pointer is to a live int of the given size.
    let corked =
        unsafe { libc::setsockopt(tcp.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CORK, on.cast(), length) };
    assert_eq!(corked, 0);
    tcp.write_all(bytes).unwrap();
    tcp.shutdown(std::net::Shutdown::Write).unwrap();
    while let Ok(1..) = tcp.read(&mut [0; 4096]) {}
}

/// Starts a server whose connections the test handles from the first message on.
fn by_hand(
    authority: &Authority,
    handler: impl Fn(&mut rustls::ServerConnection, &mut std::net::TcpStream) + Send + Sync + 'static,
) -> Address {
    let config = Arc::new(server_config(authority.issue("localhost", |_| {}), None));
    accept(move |mut tcp| {
        let mut tls = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
        handler(&mut tls, &mut tcp);
    })
}

#[test]
fn a_close_after_bytes_without_data_is_detected() {
    type Last = fn(&mut rustls::ServerConnection) -> Vec<u8>;
    let half_a_record: Last = |tls| {
        tls.writer().write_all(b"ok").unwrap();
        let mut record = waiting(tls);
        record.truncate(record.len() / 2);
        record
    };
    let new_key: Last = |tls| {
        tls.refresh_traffic_keys().unwrap();
        waiting(tls)
    };
    let authority = Authority::new();
    for (name, last) in [("half a record", half_a_record), ("a new key", new_key)] {
        let address = by_hand(&authority, move |tls, tcp| {
            read_requests(tls, tcp, 2);
            tls.writer().write_all(&[OK, &OK[..OK.len() - 2]].concat()).unwrap();
            tcp.write_all(&waiting(tls)).unwrap();
            // The third is sent when the first answer, and the head of the second with it, has been read.
            read_requests(tls, tcp, 1);
            let last = last(tls);
            assert!(!last.is_empty());
            say_last(tcp, &last);
        });
        let settings = settings(&address, asked(&authority), 1, 3);
        let (outcome, _) = go(&settings.with(|job| {
            job.depth = 2;
            job.timeout = Nanos::from_secs(10);
        }));
        let counts = &outcome.total.counts;
        let ended = [Ending::Ok, Ending::IoFailed, Ending::TimedOut].map(|ending| counts.ended(ending));
        assert_eq!(ended, [1, 2, 0], "{name}");
        assert_eq!(
            outcome.connections.failures,
            [(paceline_engine::ConnectionFailure::Truncated, 1)],
            "{name}"
        );
    }
}

#[test]
fn a_close_after_session_tickets_is_detected() {
    let authority = Authority::new();
    let address = by_hand(&authority, |tls, tcp| {
        read_requests(tls, tcp, 1);
        let tickets = waiting(tls);
        assert!(!tickets.is_empty());
        say_last(tcp, &tickets);
    });
    let settings = settings(&address, asked(&authority), 1, 2);
    let (outcome, _) = go(&settings.with(|job| job.timeout = Nanos::from_secs(10)));
    let counts = &outcome.total.counts;
    assert_eq!([Ending::IoFailed, Ending::TimedOut].map(|ending| counts.ended(ending)), [2, 0]);
    assert_eq!(outcome.connections.failures, [(paceline_engine::ConnectionFailure::ClosedUnanswered, 2)]);
}

/// A server configuration that requests a certificate but does not require it.
fn asking_without_need(authority: &Authority) -> rustls::ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(authority.certificate.clone()).unwrap();
    let verifier =
        rustls::server::WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let identity = authority.issue("localhost", |_| {});
    rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.allow_unauthenticated().build().unwrap())
        .with_single_cert(identity.chain, identity.key)
        .unwrap()
}

#[test]
fn a_server_that_answered_does_not_require_a_certificate() {
    let authority = Authority::new();
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        let answered = std::sync::atomic::AtomicBool::new(false);
        let address = serve(asking_without_need(&authority), move |stream, _| {
            match answered.swap(true, std::sync::atomic::Ordering::Relaxed) {
                false => ok(stream, 0),
                true => After::Cut,
            }
        });
        let asked = TlsOptions { version: Some(version), ..asked(&authority) };
        let (outcome, tls) = go(&settings(&address, asked, 1, 4));
        assert_eq!(outcome.total.counts.ended(Ending::Ok), 1, "{version:?}");
        let failures = &outcome.connections.failures;
        let expected = [(ConnectionFailure::ClosedReused, 1), (ConnectionFailure::ClosedUnanswered, 2)];
        assert_eq!(*failures, expected, "{version:?}");
        assert_eq!(tls.errors, [], "{version:?}");
    }
}
