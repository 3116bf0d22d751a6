//! Tests the connections of `paceline run`: the flags, the record and the error messages.
//!
//! Names, address families, unix sockets and TLS, against servers in this process. Faults during TLS are in
//! `faults/secure.rs`; the selection of the first address that accepts is tested in `target/race.rs`.

use crate::faults::closed_port;
use crate::noise::within_five_tries;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::thread;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// The last request seen by any connection of a server.
type Seen = Arc<Mutex<Vec<u8>>>;

/// Answers each request on a connection.
fn converse(mut stream: impl Read + Write, seen: &Seen) {
    let (mut pending, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        pending.extend_from_slice(&buffer[..count]);
        while let Some(end) = pending.windows(4).position(|four| four == b"\r\n\r\n") {
            *seen.lock().unwrap() = pending.drain(..end + 4).collect();
            if stream.write_all(OK).is_err() {
                return;
            }
        }
    }
}

/// Serves plain HTTP on 127.0.0.1; returns its port.
fn plain(seen: &Seen) -> u16 {
    let (listener, seen) = (TcpListener::bind("127.0.0.1:0").unwrap(), Arc::clone(seen));
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = Arc::clone(&seen);
            thread::spawn(move || converse(stream, &seen));
        }
    });
    port
}

/// Serves HTTP over TLS on 127.0.0.1 as `localhost`; returns its port and its self-signed certificate in PEM.
fn secure() -> (u16, String) {
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let private = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for tcp in listener.incoming().flatten() {
            let config = Arc::clone(&config);
            thread::spawn(move || {
                let tls = ServerConnection::new(config).unwrap();
                converse(StreamOwned::new(tls, tcp), &Seen::default());
            });
        }
    });
    (port, certificate.pem())
}

fn paceline(url: &str, arguments: &[&str], trusted: Option<&std::path::Path>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.args(["run", url, "-c", "2", "-n", "400"]).args(arguments);
    if !arguments.contains(&"--format") {
        command.args(["--format", "json"]);
    }
    command.env_remove("SSL_CERT_DIR").env_remove("SSL_CERT_FILE");
    if let Some(file) = trusted {
        command.env("SSL_CERT_FILE", file);
    }
    command.output().unwrap()
}

/// The record of a run in which every request was answered.
fn record(url: &str, arguments: &[&str]) -> Value {
    let output = paceline(url, arguments, None);
    let run: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(run["total"]["counts"]["ok"], 400, "{run}");
    run
}

/// Exit status and standard error of a run that could not start.
fn complaint(url: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let output = paceline(url, arguments, None);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn tls_is_in_the_record() {
    let (port, certificate) = secure();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    // Editors on Windows write a byte order mark.
    std::fs::write(&file, format!("\u{feff}{certificate}")).unwrap();
    let url = format!("https://localhost:{port}/");
    let run = record(&url, &["-4", "--cacert", file.to_str().unwrap()]);
    let tls = &run["target"]["tls"];
    assert_eq!((tls["version"].as_str(), tls["verified"].as_bool()), (Some("1.3"), Some(true)), "{tls}");
    assert_eq!(tls["name"], "localhost");
    assert_eq!(tls["full"].as_u64().unwrap() + tls["resumed"].as_u64().unwrap(), 2);
    let handshakes: u64 = run["intervals"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|interval| interval["block"]["handshake_time_ns"]["count"].as_u64())
        .sum();
    assert_eq!(handshakes, 2);
    let run = record(&url, &["-4", "--insecure", "--tls-version", "1.2", "--no-tls-resumption"]);
    let tls = &run["target"]["tls"];
    assert_eq!((&tls["version"], &tls["verified"], &tls["full"]), (&"1.2".into(), &false.into(), &2.into()));
}

#[test]
fn system_certificates_are_read_from_ssl_cert_file() {
    let (port, certificate) = secure();
    let (_, other) = secure();
    let folder = tempfile::tempdir().unwrap();
    for (certificate, status) in [(certificate, Some(0)), (other, Some(3))] {
        let file = folder.path().join("ca.pem");
        std::fs::write(&file, certificate).unwrap();
        let output = paceline(&format!("https://localhost:{port}/"), &["-4"], Some(&file));
        let reported = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code().map(|code| if code == 1 { 0 } else { code }), status, "{reported}");
        assert!(status == Some(0) || reported.contains("--cacert"), "{reported}");
    }
}

#[test]
fn tls_errors_have_a_remedy() {
    let (port, _) = secure();
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "nothing").unwrap();
    let empty = empty.to_str().unwrap();
    let url = format!("https://localhost:{port}/");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let plain_text = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
    });
    for (url, arguments, status, words) in [
        (format!("https://127.0.0.1:{plain_text}/"), &["-k"][..], 3, &["does not speak TLS", "http://"][..]),
        (url.clone(), &["--cacert", empty], 2, &["--cacert", "empty.pem", "PEM"]),
        (url.clone(), &["--cacert", "/none"], 2, &["--cacert /none", "No such file"]),
        (url.clone(), &["-k", "--cert", empty], 2, &["--cert", "empty.pem"]),
        (url.clone(), &["-k", "--early-data"], 2, &["--early-data needs --http 3"]),
        (url, &["-k", "--cacert", empty], 2, &["cannot be used with"]),
        (format!("http://localhost:{port}/"), &["--sni", "a"], 2, &["--sni needs https://"]),
    ] {
        let (code, reported) = complaint(&url, arguments);
        assert_eq!(code, Some(status), "{reported}");
        for word in words {
            assert!(reported.contains(word), "{word:?} is not in {reported}");
        }
    }
}

/// An HTTP proxy on 127.0.0.1 with credentials `u:p`: answers requests with whole URLs, and makes tunnels. Returns its
/// port.
fn proxy(seen: &Seen) -> u16 {
    let (listener, seen) = (TcpListener::bind("127.0.0.1:0").unwrap(), Arc::clone(seen));
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let seen = Arc::clone(&seen);
            thread::spawn(move || {
                let mut peeked = [0; 4096];
                let count = stream.peek(&mut peeked).unwrap_or(0);
                let text = String::from_utf8_lossy(&peeked[..count]).into_owned();
                let Some(target) = text.strip_prefix("CONNECT ") else { return converse(stream, &seen) };
                let _ = stream.read(&mut peeked);
                *seen.lock().unwrap() = text.clone().into_bytes();
                if !text.contains("\r\nProxy-Authorization: Basic dTpw\r\n") {
                    let _ = stream.write_all(b"HTTP/1.1 407 Login\r\nContent-Length: 0\r\n\r\n");
                    return;
                }
                let target = target.split(' ').next().unwrap().replace("localhost", "127.0.0.1");
                let server = std::net::TcpStream::connect(target).unwrap();
                let _ = stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n");
                let (mut from, mut to) = (stream.try_clone().unwrap(), server.try_clone().unwrap());
                thread::spawn(move || std::io::copy(&mut from, &mut to));
                let _ = std::io::copy(&mut &server, &mut stream);
            });
        }
    });
    port
}

#[test]
fn a_proxy_is_sent_whole_urls_and_makes_tunnels() {
    let seen = Seen::default();
    let at = proxy(&seen);
    let with_password = format!("http://u:p@127.0.0.1:{at}");
    let run = record("http://name.test:81/page?x", &["--proxy", &with_password]);
    let request = String::from_utf8(seen.lock().unwrap().clone()).unwrap();
    assert!(
        request.starts_with("GET http://name.test:81/page?x HTTP/1.1\r\nHost: name.test:81\r\n"),
        "{request}"
    );
    assert!(request.contains("\r\nProxy-Authorization: Basic dTpw\r\n"), "{request}");
    assert_eq!(run["job"]["proxy"], format!("http://***@127.0.0.1:{at}"));
    assert!(!run["argv"].to_string().contains("u:p@"), "{}", run["argv"]);
    assert_eq!(run["target"]["address"], format!("127.0.0.1:{at}"));

    let (port, _) = secure();
    let url = format!("https://localhost:{port}/");
    let run = record(&url, &["-k", "--proxy", &with_password]);
    assert_eq!(run["target"]["tls"]["version"], "1.3");
    let request = String::from_utf8(seen.lock().unwrap().clone()).unwrap();
    assert!(request.starts_with(&format!("CONNECT localhost:{port} HTTP/1.1\r\nHost: localhost:{port}\r\n")));
    let output = paceline(&url, &["-k", "--proxy", &with_password, "--debug"], None);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn an_error_of_a_proxy_names_the_proxy() {
    let (at, free) = (proxy(&Seen::default()), closed_port().port());
    let (port, _) = secure();
    let https = format!("https://localhost:{port}/");
    // It accepts connections, and reads nothing.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = listener.local_addr().unwrap().to_string();
    let [without, away] = [at, free].map(|port| format!("127.0.0.1:{port}"));
    for (url, arguments, status, words) in [
        (https.as_str(), &["-k", "--proxy", &without][..], 3, &["user and password", "USER:PASS@"][..]),
        (
            "http://a.test/",
            &["--proxy", &away],
            3,
            &["the proxy http://127.0.0.1:", "that the proxy is running"],
        ),
        (
            "https://a.test/",
            &["--proxy", &silent, "--connect-timeout", "300ms"],
            3,
            &["did not answer CONNECT within the connect timeout", "supports CONNECT"],
        ),
        ("http://a.test/", &["--proxy", "https://a:1"], 2, &["not https://"]),
        ("http://a.test/", &["--proxy", &away, "--http", "2"], 2, &["--http 2"]),
        ("http://a.test/", &["--proxy", &away, "--resolve", "a.test:80:127.0.0.1"], 2, &["--resolve"]),
    ] {
        let (code, reported) = complaint(url, arguments);
        assert_eq!(code, Some(status), "{reported}");
        for word in words {
            assert!(reported.contains(word), "{word:?} is not in {reported}");
        }
    }
}

#[test]
fn the_server_is_found_by_its_port_and_its_cost_shown() {
    let program = "import socketserver\n\
        class Handler(socketserver.BaseRequestHandler):\n    \
            def handle(self):\n        \
                while self.request.recv(4096): self.request.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok')\n\
        server = socketserver.ThreadingTCPServer(('127.0.0.1', 0), Handler)\n\
        server.daemon_threads = True\n\
        print(server.server_address[1], flush=True)\n\
        server.serve_forever()";
    let Ok(mut server) =
        Command::new("python3").args(["-c", program]).stdout(std::process::Stdio::piped()).spawn()
    else {
        println!("skipped: no python3 here");
        return;
    };
    let mut port = String::new();
    let mut output = std::io::BufReader::new(server.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut output, &mut port).unwrap();
    let url = format!("http://127.0.0.1:{}/", port.trim());
    let pid = server.id();
    let found = record(&url, &[]);
    let given = record(&url, &["--pid", &pid.to_string()]);
    let text = paceline(&url, &["--format", "text"], None);
    server.kill().unwrap();
    server.wait().unwrap();
    for (run, by) in [(&found, "port"), (&given, "pid")] {
        let used = &run["server"];
        assert_eq!((&used["found_by"], &used["pid"]), (&by.into(), &pid.into()), "{used}");
        assert!(used["cpu_s"].as_f64().unwrap() >= 0.0 && used["rss_bytes"].as_u64().unwrap() > 0, "{used}");
        assert_eq!(
            (&used["processes"], used["name"].as_str().unwrap().contains("python")),
            (&1.into(), true)
        );
    }
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("of CPU per request") && text.contains(&format!("(process {pid})")), "{text}");
    let (code, reported) = complaint(&url, &["--pid", "4194305"]);
    assert!(code == Some(2) && reported.contains("there is no such process"), "{reported}");
}

#[test]
fn a_unix_socket_replaces_the_network() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let seen = Seen::default();
    let to = Arc::clone(&seen);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let to = Arc::clone(&to);
            thread::spawn(move || converse(stream, &to));
        }
    });
    let run = record("http://app.test/page", &["--unix-socket", path.to_str().unwrap()]);
    assert_eq!(run["target"]["address"], format!("unix:{}", path.display()));
    let request = String::from_utf8(seen.lock().unwrap().clone()).unwrap();
    assert!(request.starts_with("GET /page HTTP/1.1\r\nHost: app.test\r\n"), "{request}");
    let (code, reported) = complaint("http://app.test/", &["--unix-socket", "/none.sock"]);
    assert!(code == Some(3) && reported.contains("unix:/none.sock"), "{reported}");
}

#[test]
fn the_first_address_that_accepts_is_used() {
    let seen = Seen::default();
    let port = plain(&seen);
    // No process listens on 127.0.0.2.
    let resolve = format!("name.test:{port}:127.0.0.2,127.0.0.1");
    within_five_tries(|| {
        let run = record(&format!("http://name.test:{port}/"), &["--resolve", &resolve]);
        assert_eq!(run["target"]["address"], format!("127.0.0.1:{port}"));
        let tried = &run["target"]["tried"][0];
        assert_eq!(tried["address"], format!("127.0.0.2:{port}"));
        // If the machine delays the refusal, the second address is tried before it.
        let failure = tried["failure"].as_str().unwrap();
        if failure.contains("refused") { Ok(()) } else { Err(failure.to_owned()) }
    });
    let request = String::from_utf8(seen.lock().unwrap().clone()).unwrap();
    assert!(request.contains(&format!("\r\nHost: name.test:{port}\r\n")), "{request}");
}

#[test]
fn connections_are_spread_over_all_addresses() {
    let port = plain(&Seen::default());
    let url = format!("http://name.test:{port}/");
    // The server listens on the last address only.
    let resolve = format!("name.test:{port}:127.0.0.2,127.0.0.3,127.0.0.1");
    let run = record(&url, &["--spread", "--resolve", &resolve]);
    let by_address = run["connections"]["by_address"].as_array().unwrap();
    let of = |key: &str| by_address.iter().map(|of| of[key].as_u64().unwrap()).collect::<Vec<_>>();
    let addresses: Vec<_> = by_address.iter().map(|of| of["address"].as_str().unwrap()).collect();
    assert_eq!(addresses, [2, 3, 1].map(|last| format!("127.0.0.{last}:{port}")));
    let (made, refused) = (of("made"), of("failed_attempts"));
    assert_eq!((made, refused, of("requests")), (vec![0, 0, 2], vec![1, 2, 0], vec![0, 0, 400]));
    assert!(by_address[1]["commonest_failure"].as_str().unwrap().contains("refused"), "{by_address:?}");
    let text = paceline(&url, &["--spread", "--resolve", &resolve, "--format", "text"], None).stdout;
    let text = String::from_utf8(text).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    let named = format!(
        "127.0.0.2:{port} 0 connections, 0 requests, 1 attempt to connect failed: Connection refused"
    );
    assert!(text.contains(&named), "{text}");
}

#[test]
fn connections_without_keep_alive_go_to_each_address_in_turn() {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || converse(stream, &Seen::default()));
        }
    });
    let resolve = format!("*:{port}:127.0.0.1,127.0.0.2,127.0.0.3");
    let url = format!("http://name.test:{port}/");
    let run = record(&url, &["-t", "2", "--spread", "--no-keepalive", "--resolve", &resolve]);
    let by_address = run["connections"]["by_address"].as_array().unwrap();
    let requests: Vec<_> = by_address.iter().map(|of| of["requests"].as_u64().unwrap()).collect();
    assert_eq!(requests.iter().sum::<u64>(), 400);
    assert!(requests.iter().all(|requests| (120..150).contains(requests)), "{requests:?}");
}

#[test]
fn every_address_that_refuses_is_reported() {
    let port = closed_port().port();
    let url = format!("http://a.test:{port}/");
    let resolve = format!("a.test:{port}:127.0.0.1,127.0.0.2");
    let (status, reported) = complaint(&url, &["--spread", "--resolve", &resolve]);
    assert_eq!(status, Some(3), "{reported}");
    assert!(reported.contains(&format!("127.0.0.1:{port} or 127.0.0.2:{port}")), "{reported}");
    let (status, reported) = complaint(&url, &["--spread", "--unix-socket", "/s"]);
    assert_eq!(status, Some(2), "{reported}");
    assert!(reported.contains("--spread cannot be combined with --unix-socket"), "{reported}");
}

#[test]
fn either_family_can_be_chosen() {
    let seen = Seen::default();
    let port = plain(&seen);
    let Ok(listener) = TcpListener::bind(("::1", port)) else {
        println!("skipped: no IPv6 here, or the port is taken");
        return;
    };
    let to = Arc::clone(&seen);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let to = Arc::clone(&to);
            thread::spawn(move || converse(stream, &to));
        }
    });
    let resolve = format!("name.test:{port}:::1,127.0.0.1");
    let url = format!("http://name.test:{port}/");
    for (flag, address) in [("-4", "127.0.0.1"), ("-6", "[::1]")] {
        let run = record(&url, &[flag, "--resolve", &resolve]);
        assert_eq!(run["target"]["address"], format!("{address}:{port}"));
    }
    let run = record(&format!("http://[::1%251]:{port}/"), &[]);
    assert_eq!(run["target"]["address"], format!("[::1%1]:{port}"));
    let request = String::from_utf8(seen.lock().unwrap().clone()).unwrap();
    assert!(request.contains(&format!("\r\nHost: [::1]:{port}\r\n")), "the zone is nobody else's: {request}");
}

#[test]
fn invalid_addresses_are_reported() {
    let port = closed_port().port();
    let url = format!("http://name.test:{port}/");
    let two = format!("name.test:{port}:127.0.0.2,127.0.0.3");
    let elsewhere = format!("other.test:{port}:127.0.0.1");
    for (url, arguments, status, words) in [
        (url.as_str(), &["--resolve", &two][..], 3, &["127.0.0.2:", "127.0.0.3:", "refused"][..]),
        (&url, &["--resolve", &elsewhere], 2, &["other.test", "name.test"]),
        (&url, &["--resolve", "name.test"], 2, &["HOST:PORT:ADDR"]),
        (&url, &["-6", "--resolve", &two], 2, &["no IPv6 address", "127.0.0.2"]),
        ("http://[fe80::1]/", &[], 2, &["fe80::1%25eth0"]),
        ("http://[fe80::1%25no-such-link]/", &[], 3, &["ip link"]),
    ] {
        let (code, reported) = complaint(url, arguments);
        assert_eq!(code, Some(status), "{reported}");
        for word in words {
            assert!(reported.contains(word), "{word:?} is not in {reported}");
        }
    }
}
