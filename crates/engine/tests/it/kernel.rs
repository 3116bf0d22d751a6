//! The engine on the kernel's clock and sockets: every kind of load, against servers that behave.
//!
//! Also against addresses where no server answers. Counts, bytes and phases are exact; response times are not checked
//! here, but in virtual time (`freeze.rs`, `life.rs`). Servers that respond wrongly are in `faults.rs`.

use crate::server::{answer, closed_address, serve};
use crate::support::{REQUEST, asking, closed_loop, open_loop};
use paceline_engine::{
    Address, Bound, Ending, EngineError, Measure, Nanos, NoObserver, Observer, PaceKind, Phase, RunOutcome,
    Settings, StopFlag, Timestamps, run,
};
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn go(settings: &Settings) -> RunOutcome {
    run(settings, &StopFlag::new(), &NoObserver).unwrap()
}

fn numbered(address: Address, connections: u32, requests: u64) -> Settings {
    Settings { address, ..closed_loop(connections, 1) }.with(|job| job.window = Bound::Requests(requests))
}

#[test]
fn a_number_of_requests_over_two_threads() {
    let settings =
        Settings { threads: 2, requests: asking(None, Some(b"ok")), ..numbered(answer(OK), 5, 1_001) };
    let outcome = go(&settings);
    assert_eq!(outcome.total.counts.ended(Ending::Ok), 1_001);
    assert_eq!(outcome.total.counts.completed_in_window, 1_001);
    assert_eq!(outcome.connections.had, 5);
    assert_eq!(outcome.connections.served.iter().sum::<u64>(), 1_001);
    assert_eq!(outcome.total.counts.sent_bytes, 1_001 * REQUEST.len() as u64);
    assert_eq!(outcome.total.counts.received_bytes, 1_001 * OK.len() as u64);
}

#[test]
fn an_open_loop_offers_the_requested_rate() {
    for pace in [PaceKind::Sleep, PaceKind::Hybrid, PaceKind::Spin] {
        let bound = Bound::Duration(Nanos::from_millis(500));
        let settings = Settings { address: answer(OK), pace, threads: 2, ..open_loop(2_000.0, 8, 1) }
            .with(|job| job.window = bound);
        let outcome = go(&settings);
        assert_eq!(outcome.total.counts.scheduled, 1_000, "{pace:?}");
        assert_eq!(outcome.total.counts.ended(Ending::Ok), 1_000, "{pace:?}");
        assert_eq!(outcome.total.times(Measure::Response).count(), 1_000);
        assert_eq!(outcome.spans.drain.since(outcome.spans.window), Nanos::from_millis(500));
        // The joined intervals of both threads equal the total.
        for measure in [Measure::Service, Measure::FirstByte, Measure::Response] {
            let window = outcome.intervals.iter().filter(|interval| interval.cohort == Phase::Window);
            let kept: u64 = window.map(|interval| interval.tally.times(measure).count()).sum();
            assert_eq!(kept, outcome.total.times(measure).count(), "{measure:?}");
        }
    }
}

#[test]
fn pipelined_answers_are_distinguished() {
    // The third response of every connection is different: exactly one request of each is bad.
    let address = serve(|stream, number| {
        let bytes = if number == 2 { &b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"[..] } else { OK };
        stream.write_all(bytes).is_ok()
    });
    let outcome = go(&numbered(address, 4, 640).with(|job| job.depth = 16));
    assert_eq!(outcome.total.counts.ended(Ending::BadStatus), 4);
    assert_eq!(outcome.total.counts.ended(Ending::Ok), 636);
}

#[test]
fn every_framing_is_read() {
    let chunked =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;x=y\r\no\r\n1\r\nk\r\n0\r\nT: 1\r\n\r\n";
    let until_close = b"HTTP/1.1 200 OK\r\n\r\nok";
    let interim = b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let closing = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    for (bytes, keeps) in [(&chunked[..], true), (until_close, false), (interim, true), (closing, false)] {
        let address = serve(move |stream, _| stream.write_all(bytes).is_ok() && keeps);
        let settings = Settings { requests: asking(None, Some(b"ok")), ..numbered(address, 3, 60) };
        let outcome = go(&settings);
        let what = String::from_utf8_lossy(bytes);
        assert_eq!(outcome.total.counts.ended(Ending::Ok), 60, "{what}: {:?}", outcome.connections.failures);
        assert_eq!(outcome.connections.closed_by_server >= 60, !keeps, "{what}");
    }
}

#[test]
fn a_response_in_single_bytes_is_whole() {
    let address = serve(|stream, _| OK.iter().all(|byte| stream.write_all(&[*byte]).is_ok()));
    let outcome = go(&Settings { requests: asking(None, Some(b"ok")), ..numbered(address, 2, 20) });
    assert_eq!(outcome.total.counts.ended(Ending::Ok), 20);
    assert_eq!(outcome.total.counts.received_bytes, 20 * OK.len() as u64);
}

#[test]
fn a_response_that_ends_with_its_connection_has_no_receive_delay() {
    // The kernel stamps bytes; an end of input has no stamp.
    let late = |stream: &mut TcpStream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nok");
        std::thread::sleep(Duration::from_millis(20));
        false
    };
    let delays = |address| {
        let outcome = go(&numbered(address, 3, 12).with(|job| job.timestamps = Timestamps::Kernel));
        assert_eq!(outcome.total.counts.ended(Ending::Ok), 12);
        outcome.total.times(Measure::ReceiveDelay).count()
    };
    // The kernel enables its timestamps in the background: a busy machine may have none for the first requests.
    let stamped = (0..200).any(|_| delays(answer(OK)) == 12);
    assert!(stamped, "no run had a timestamp for each response");
    assert_eq!(delays(serve(late)), 0);
}

#[test]
fn stopping_keeps_the_results_so_far() {
    let settings = Settings { address: answer(OK), ..open_loop(500.0, 2, 3_600) };
    let stop = StopFlag::new();
    let outcome = std::thread::scope(|scope| {
        let run = scope.spawn(|| run(&settings, &stop, &StopAfter(&stop)));
        run.join().unwrap().unwrap()
    });
    let counts = &outcome.total.counts;
    let [ok, timed_out, unsent] =
        [Ending::Ok, Ending::TimedOut, Ending::Unsent].map(|ending| counts.ended(ending));
    assert!(outcome.stopped && ok > 0 && ok + timed_out + unsent == counts.scheduled, "{counts:?}");
    // Only a machine without time for the last responses cuts them off: they have half a second.
    let drain = outcome.spans.end.since(outcome.spans.drain);
    assert!(ok == counts.scheduled || drain >= Nanos::from_millis(500), "{drain:?}: {counts:?}");
}

/// Requests a stop a moment after the window began.
struct StopAfter<'a>(&'a StopFlag);

impl Observer for StopAfter<'_> {
    fn phase(&self, phase: Phase, _: Nanos) {
        if phase == Phase::Window {
            self.0.request();
        }
    }

    fn thread_phase(&self, _: u32, _: Phase) {}
}

/// A run that is stopped when the server accepts its first connection, with a backlog for few of them: the others are
/// still being made. Returns its error, and the number of bytes received on the accepted connection.
fn stopped_while_connecting(settings: Settings) -> (EngineError, usize) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    // SAFETY: listen(2) on an open listener changes its backlog.
    unsafe { libc::listen(std::os::fd::AsRawFd::as_raw_fd(&listener), 1) };
    let settings = Settings { address: listener.local_addr().unwrap().into(), ..settings };
    let stop = StopFlag::new();
    std::thread::scope(|scope| {
        let accepted = scope.spawn(|| {
            let stream = listener.accept().unwrap().0;
            stop.request();
            stream
        });
        let error = run(&settings, &stop, &NoObserver).unwrap_err();
        let mut sent = Vec::new();
        // It ends, or is reset: all bytes sent have been read before.
        let _ = accepted.join().unwrap().read_to_end(&mut sent);
        (error, sent.len())
    })
}

#[test]
fn a_stop_while_connecting_sends_no_request() {
    for threads in [1, 4] {
        let many = closed_loop(40, 1).with(|job| job.window = Bound::Requests(1_000_000));
        for settings in [closed_loop(40, 3_600), open_loop(500.0, 40, 3_600), many] {
            let (error, sent) = stopped_while_connecting(Settings { threads, ..settings });
            let EngineError::StoppedEarly(after) = error else { panic!("{error}") };
            assert!(after > Nanos::ZERO);
            assert_eq!(sent, 0, "{threads} threads");
        }
    }
}

/// Requests a stop when connecting begins, before the first thread is started, and counts the threads that start.
struct StopAtOnce<'a> {
    stop: &'a StopFlag,
    started: AtomicU32,
}

impl Observer for StopAtOnce<'_> {
    fn phase(&self, _: Phase, _: Nanos) {
        self.stop.request();
    }

    fn thread_phase(&self, _: u32, _: Phase) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_stopped_run_starts_no_more_threads() {
    let stop = StopFlag::new();
    let observer = StopAtOnce { stop: &stop, started: AtomicU32::new(0) };
    let settings = Settings { threads: 8, address: Address::from(closed_address()), ..closed_loop(8, 1) };
    let error = run(&settings, &stop, &observer).unwrap_err();
    assert!(matches!(error, EngineError::StoppedEarly(_)), "{error}");
    assert_eq!(observer.started.into_inner(), 0, "threads were started after the stop");
}

#[test]
fn sources_are_used_in_turn_by_any_number_of_threads() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let reported = Arc::clone(&seen);
    let address = serve(move |stream, _| {
        reported.lock().unwrap().push(stream.peer_addr().unwrap().ip());
        stream.write_all(OK).is_ok()
    });
    let [first, second] = [2, 3].map(|host| IpAddr::from([127, 0, 0, host]));
    for threads in 1..=4 {
        let sources = Arc::from([first, second]);
        // As many requests as connections: one on each.
        go(&Settings { threads, sources, ..numbered(address.clone(), 4, 4) });
        let mut used = std::mem::take(&mut *seen.lock().unwrap());
        used.sort_unstable();
        assert_eq!(used, [first, first, second, second], "{threads} threads");
    }
}

#[test]
fn phases_are_reported_in_order() {
    #[derive(Default)]
    struct PhaseLog(Mutex<Vec<Phase>>);
    impl Observer for PhaseLog {
        fn phase(&self, phase: Phase, _: Nanos) {
            self.0.lock().unwrap().push(phase);
        }
        fn thread_phase(&self, _: u32, _: Phase) {}
    }
    let reported = PhaseLog::default();
    let settings = closed_loop(2, 1).with(|job| job.warmup = Nanos::from_millis(20));
    let settings = Settings { address: answer(OK), ..settings }
        .with(|job| job.window = Bound::Duration(Nanos::from_millis(50)));
    run(&settings, &StopFlag::new(), &reported).unwrap();
    let phases = reported.0.into_inner().unwrap();
    assert_eq!(phases, [Phase::Connect, Phase::Warmup, Phase::Window, Phase::Drain, Phase::End]);
}

/// Answers every request on its own unix socket; dropping the returned folder removes it.
fn unix_server(accepts: bool) -> (tempfile::TempDir, Address) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    // SAFETY: listen(2) on an open listener changes its backlog.
    unsafe { libc::listen(std::os::fd::AsRawFd::as_raw_fd(&listener), 1) };
    std::thread::spawn(move || {
        while accepts && let Ok((mut stream, _)) = listener.accept() {
            std::thread::spawn(move || {
                let mut buffer = [0; REQUEST.len()];
                while stream.read_exact(&mut buffer).is_ok() && stream.write_all(OK).is_ok() {}
            });
        }
        std::thread::park();
    });
    (folder, Address::from(path.as_path()))
}

#[test]
fn a_unix_socket_is_a_target_too() {
    let (_folder, address) = unix_server(true);
    // More than its backlog: they wait to be accepted, which is not a failure.
    let outcome = go(&numbered(address, 40, 1_000));
    assert_eq!(outcome.total.counts.ended(Ending::Ok), 1_000);
    assert_eq!((outcome.connections.had, outcome.connections.failed_attempts), (40, 0));
}

#[test]
fn unix_sockets_that_cannot_be_used() {
    let (folder, address) = unix_server(false);
    let settings = numbered(address, 40, 10).with(|job| job.connect_timeout = Nanos::from_millis(200));
    let outcome = go(&settings.with(|job| job.timeout = Nanos::from_millis(100)));
    assert!(outcome.connections.had < 40, "a backlog of 1 holds few");
    let gone = Address::from(folder.path().join("gone").as_path());
    let error = run(&numbered(gone, 2, 10), &StopFlag::new(), &NoObserver).unwrap_err();
    let EngineError::Unreachable { source, .. } = error else { panic!("{error}") };
    assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
    let long = Address::from(std::path::Path::new(&"p".repeat(108)));
    let error = run(&numbered(long, 2, 10), &StopFlag::new(), &NoObserver).unwrap_err();
    assert!(matches!(error, EngineError::Settings(_)), "{error}");
}

#[test]
fn a_refused_connection_is_reported() {
    let address = Address::from(closed_address());
    for threads in [1, 3] {
        let settings = Settings { threads, ..numbered(address.clone(), 3, 10) };
        // Each thread tries several times, however busy the machine.
        let settings = settings.with(|job| job.connect_timeout = Nanos::from_secs(3_600));
        let error = run(&settings, &StopFlag::new(), &NoObserver).unwrap_err();
        let EngineError::Unreachable { source, attempts, .. } = error else { panic!("{error}") };
        assert_eq!(source.kind(), std::io::ErrorKind::ConnectionRefused);
        assert!(attempts >= 5 * u64::from(threads), "{attempts} attempts of {threads} threads");
    }
}

#[test]
fn a_worker_without_a_connection_does_not_end_the_run() {
    // Two connections fit the backlog of a server that never accepts them; the other two do not.
    let (_folder, address) = unix_server(false);
    let settings = Settings { threads: 4, ..numbered(address, 4, 4) }.with(|job| {
        job.connect_timeout = Nanos::from_millis(200);
        job.timeout = Nanos::from_millis(100);
    });
    let outcome = go(&settings);
    assert_eq!(outcome.connections.had, 2);
    // Each worker had one request to send. The others were abandoned.
    assert_eq!(outcome.total.counts.scheduled, 2);
    assert_eq!(outcome.total.counts.ended(Ending::TimedOut), 2);
}

#[test]
fn a_connection_that_is_never_accepted_is_reported() {
    // A listener whose backlog is full answers no handshake.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    // SAFETY: listen(2) on an open listener changes its backlog.
    unsafe { libc::listen(std::os::fd::AsRawFd::as_raw_fd(&listener), 0) };
    let address = listener.local_addr().unwrap();
    let fill = || std::net::TcpStream::connect_timeout(&address, Duration::from_millis(50));
    let held: Vec<_> = (0..4).map_while(|_| fill().ok()).collect();
    let settings = numbered(address.into(), 2, 10).with(|job| job.connect_timeout = Nanos::from_millis(200));
    let error = run(&settings, &StopFlag::new(), &NoObserver).unwrap_err();
    let EngineError::Unreachable { attempts, .. } = error else { panic!("{error} with {} held", held.len()) };
    assert!(attempts >= 2, "one for each connection is under way at the connect timeout: {attempts}");
}
