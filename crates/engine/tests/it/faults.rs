//! Servers that misbehave: the counts add up, no request hangs past the timeout, and the reason is recorded.
//!
//! On the kernel's sockets, because kernel errors are among the reasons. TLS faults are in `tls.rs`, random servers in
//! `conservation.rs`. The binary's `faults` tests check the messages.

use crate::server::{answer, reset, serve};
use crate::support::{asking, closed_loop, open_loop};
use paceline_engine::{
    Bound, ConnectionFailure, Ending, Nanos, NoObserver, RunOutcome, Settings, StopFlag, run,
};
use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Twelve requests over three connections; every response must be "ok". The timeouts are long, so that a busy machine
/// does not look like a silent server.
fn twelve(address: paceline_engine::Address) -> RunOutcome {
    twelve_within(Nanos::from_secs(30), address)
}

/// The same for a server whose responses are never complete within the timeout.
fn twelve_in_vain(address: paceline_engine::Address) {
    let outcome = twelve_within(Nanos::from_millis(300), address);
    expect(&outcome, Ending::TimedOut, Some(ConnectionFailure::TimedOut));
}

fn twelve_within(timeout: Nanos, address: paceline_engine::Address) -> RunOutcome {
    let settings =
        Settings { address, requests: asking(None, Some(b"ok")), ..closed_loop(3, 1) }.with(|job| {
            job.window = Bound::Requests(12);
            job.timeout = timeout;
        });
    let outcome = run(&settings, &StopFlag::new(), &NoObserver).unwrap();
    assert_eq!(outcome.total.counts.scheduled, 12, "{:?}", outcome.total.counts);
    outcome
}

fn expect(outcome: &RunOutcome, ending: Ending, failure: Option<ConnectionFailure>) {
    let (counts, failures) = (&outcome.total.counts, &outcome.connections.failures);
    assert_eq!(counts.ended(ending), 12, "{counts:?} {failures:?}");
    assert_eq!(failures.first().map(|(failure, _)| *failure), failure, "{failures:?}");
}

#[test]
fn a_silent_server_times_out() {
    twelve_in_vain(serve(|_, _| true));
}

#[test]
fn a_slow_response_times_out() {
    let slow = |stream: &mut TcpStream, _| {
        OK.iter().all(|byte| {
            std::thread::sleep(Duration::from_millis(50));
            stream.write_all(&[*byte]).is_ok()
        })
    };
    twelve_in_vain(serve(slow));
}

#[test]
fn a_close_without_a_response_fails_the_request() {
    expect(&twelve(serve(|_, _| false)), Ending::IoFailed, Some(ConnectionFailure::ClosedUnanswered));
}

#[test]
fn a_reset_without_a_response_fails_the_request() {
    let address = serve(|stream, _| {
        reset(stream);
        false
    });
    expect(&twelve(address), Ending::IoFailed, Some(ConnectionFailure::Os(libc::ECONNRESET)));
}

#[test]
fn a_close_in_mid_response_fails_the_request() {
    let short = |stream: &mut TcpStream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nok").unwrap();
        false
    };
    expect(&twelve(serve(short)), Ending::IoFailed, Some(ConnectionFailure::Truncated));
}

#[test]
fn a_missing_body_fails_the_request() {
    twelve_in_vain(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"));
}

#[test]
fn surplus_bytes_are_a_protocol_error() {
    let outcome = twelve(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more"));
    expect(&outcome, Ending::Ok, Some(ConnectionFailure::Unsolicited));
}

#[test]
fn a_second_response_is_a_protocol_error() {
    let twice =
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    expect(&twelve(answer(twice)), Ending::Ok, Some(ConnectionFailure::Unsolicited));
}

#[test]
fn conflicting_content_lengths_are_a_protocol_error() {
    let twice =
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    let outcome = twelve(answer(twice));
    expect(&outcome, Ending::Ok, Some(ConnectionFailure::SuspectFraming));
    assert_eq!(outcome.connections.closed_by_server, 0, "Paceline closes, not the server");
}

#[test]
fn a_wrong_body_and_a_wrong_status_are_counted() {
    expect(&twelve(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno")), Ending::BadBody, None);
    expect(&twelve(answer(b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nok")), Ending::BadStatus, None);
}

#[test]
fn a_response_that_is_not_http_is_a_protocol_error() {
    for bytes in [
        &b"SSH-2.0-OpenSSH_9.2\r\n"[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\nok",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
    ] {
        let outcome = twelve(answer(bytes));
        expect(&outcome, Ending::IoFailed, Some(ConnectionFailure::Protocol));
        assert!(outcome.connections.details_of(ConnectionFailure::Protocol).is_some());
    }
}

#[test]
fn endless_headers_are_given_up() {
    let endless = |stream: &mut TcpStream, _| {
        let line = format!("X: {}\r\n", "y".repeat(1_000));
        stream.write_all(b"HTTP/1.1 200 OK\r\n").is_ok()
            && (0..1_000_000).all(|_| stream.write_all(line.as_bytes()).is_ok())
    };
    expect(&twelve(serve(endless)), Ending::IoFailed, Some(ConnectionFailure::HeadTooLong));
}

#[test]
fn a_server_that_ends_in_mid_run_fails_its_requests() {
    // An open loop: the server closes its listener and every connection after a time. All due requests are accounted
    // for.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let streams: Vec<TcpStream> = (0..2).map(|_| listener.accept().unwrap().0).collect();
        drop(listener);
        for mut stream in streams {
            for _ in 0..5 {
                let _ = std::io::Read::read(&mut stream, &mut [0; 512]);
                let _ = stream.write_all(OK);
            }
        }
    });
    let settings = Settings { address: address.into(), ..open_loop(30.0, 2, 1) }.with(|job| {
        job.window = Bound::Duration(Nanos::from_secs(2));
        job.drain = Nanos::from_millis(50);
        job.timeout = Nanos::from_secs(1);
    });
    let counts = run(&settings, &StopFlag::new(), &NoObserver).unwrap().total.counts;
    assert_eq!(counts.scheduled, 60);
    assert!(counts.ended(Ending::ConnectFailed) > 0 && counts.ended(Ending::Ok) > 0, "{counts:?}");
}
