//! Tests the verdicts on servers that are too slow, pause, or leave connections unanswered, and on a server without
//! such faults.
//!
//! On real sockets, as a user would run it. Verdicts caused by a busy machine are left out of the comparison; the exact
//! limits are tested in the judge crate, from records.

use crate::faults::servers::{OK, read_request};
use serde_json::Value;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Verdicts caused by the machine.
const OF_THE_MACHINE: [&str; 11] = [
    "generator_bound",
    "generator_descheduled",
    "generator_lag",
    "generator_stall",
    "server_descheduled",
    "steal",
    "few_samples",
    "unsteady",
    "slowing_down",
    "still_warming",
    "idle_connections",
];

/// Answers every request after calling `work` with the number of its connection.
fn server(work: impl Fn(usize) -> bool + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let work = work.clone();
            thread::spawn(move || converse(stream, number, work));
        }
    });
    address
}

fn converse(mut stream: TcpStream, number: usize, work: impl Fn(usize) -> bool) {
    let _ = stream.set_nodelay(true);
    while read_request(&mut stream) {
        if work(number) && stream.write_all(OK).is_err() {
            return;
        }
    }
}

/// The names of a run's verdicts, without those caused by the machine, and the run with its exit status.
fn run(address: SocketAddr, flags: &[&str]) -> (Vec<String>, Value, i32) {
    let url = format!("http://{address}/");
    let output = Command::new(env!("CARGO_BIN_EXE_paceline"))
        .args(["run", &url, "--format", "json", "-t", "1", "--drain", "500ms"])
        .args(flags)
        .output()
        .unwrap();
    let run: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let verdicts = run["verdicts"].as_array().unwrap().iter();
    let names = verdicts.map(|verdict| verdict["name"].as_str().unwrap().to_owned());
    let names = names.filter(|name| !OF_THE_MACHINE.contains(&name.as_str())).collect();
    (names, run, output.status.code().unwrap())
}

#[test]
fn overload_over_many_connections_is_detected_and_fails_its_gate() {
    // One request at a time, 20 ms each: 50/s.
    let turn = Arc::new(Mutex::new(()));
    let slow = server(move |_| {
        let _turn = turn.lock().unwrap();
        thread::sleep(Duration::from_millis(20));
        true
    });
    let flags = ["-c", "400", "-r", "100", "-d", "6s", "--warmup", "500ms", "--slo", "achieved>=99%"];
    let (names, run, status) = run(slow, &flags);
    assert!(names.contains(&"saturated".to_owned()), "{names:?}");
    assert!(!names.contains(&"too_few_connections".to_owned()), "{names:?}");
    assert_eq!((status, &run["gates"][0]["passed"]), (1, &Value::Bool(false)));
}

#[test]
fn connections_that_are_never_answered_are_detected_in_both_loops() {
    for rate in [None, Some("200")] {
        let greedy = server(|number| {
            thread::sleep(Duration::from_millis(2));
            number < 4
        });
        let mut flags = vec!["-c", "16", "-d", "2s", "--warmup", "300ms", "--max-errors", "0"];
        flags.extend(rate.into_iter().flat_map(|rate| ["-r", rate]));
        let (names, run, status) = run(greedy, &flags);
        assert!(names.contains(&"starved_connections".to_owned()), "{rate:?}: {names:?}");
        assert!(run["carried_over"]["unanswered"].as_u64() > Some(0), "{rate:?}: {}", run["carried_over"]);
        assert_eq!(status, 1);
    }
}

#[test]
fn a_pause_of_the_server_is_an_outage_not_an_overload() {
    let began = Arc::new(Mutex::new(None::<Instant>));
    let pausing = server(move |_| {
        let began = *began.lock().unwrap().get_or_insert_with(Instant::now);
        let pause = Duration::from_secs(2)..Duration::from_secs(3);
        if pause.contains(&began.elapsed()) {
            thread::sleep(pause.end.saturating_sub(began.elapsed()));
        }
        true
    });
    let (names, run, _) = run(pausing, &["-c", "64", "-r", "200", "-d", "5s", "--warmup", "300ms"]);
    assert_eq!(names, ["outage"], "{}", run["verdicts"]);
}

#[test]
fn a_server_that_keeps_up_has_no_verdict() {
    for rate in [None, Some("200")] {
        let mut flags = vec!["-c", "4", "-d", "3s", "--warmup", "300ms", "--max-errors", "0"];
        flags.extend(rate.into_iter().flat_map(|rate| ["-r", rate]));
        // Its pauses leave the processors to other tests.
        let waiting = server(|_| {
            thread::sleep(Duration::from_millis(2));
            true
        });
        let (names, run, _) = run(waiting, &flags);
        let steady: Vec<&String> = names
            .iter()
            .filter(|name| !["slowing_down", "still_warming", "outage"].contains(&name.as_str()))
            .collect();
        // Other load on the machine may slow the server down, or pause it.
        assert_eq!(steady, [] as [&String; 0], "{rate:?}: {}", run["verdicts"]);
    }
}
