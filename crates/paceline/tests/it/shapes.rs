//! Tests shapes of load through the binary: the record shows what was requested.
//!
//! Also covers connection lifetimes, and combinations of flags that are refused with an alternative. The engine's
//! `conservation.rs` recomputes how many requests of a shape must fall due.

use crate::reference::{PACELINE, ReferenceServer};
use serde_json::Value;
use std::process::{Command, Output};

fn run(url: &str, arguments: &[&str]) -> Output {
    Command::new(PACELINE).args(["run", url, "--format", "json"]).args(arguments).output().unwrap()
}

fn record(server: &ReferenceServer, arguments: &[&str]) -> Value {
    let output = run(&server.url(), arguments);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn scheduled(block: &Value) -> u64 {
    block["counts"]["scheduled"].as_u64().unwrap()
}

#[test]
fn every_step_has_a_block_and_they_add_up() {
    let server = ReferenceServer::start("immediate");
    let run = record(&server, &["-r", "100,400@250ms", "-c", "4", "--warmup", "0"]);
    let segments = run["by_segment"].as_array().unwrap();
    let counts: Vec<_> = segments.iter().map(scheduled).collect();
    assert_eq!(counts, [25, 100]);
    assert_eq!(scheduled(&run["total"]), 125);
    assert_eq!(segments[1]["offered_per_s"], 400.0);
    assert_eq!(segments[0]["end_ns"], segments[1]["start_ns"]);
    assert_eq!(run["loop"]["shape"]["kind"], "steps");
    let completed: u64 =
        segments.iter().map(|segment| segment["completed_in_segment"].as_u64().unwrap()).sum();
    assert_eq!(run["total"]["completed_in_window"], completed);
    assert_eq!(run["rate_per_s"]["offered"], 250.0);
}

#[test]
fn a_ramp_is_reported_in_tenths() {
    let server = ReferenceServer::start("immediate");
    let run = record(&server, &["-r", "100:900", "-d", "1s", "-c", "4", "-t", "2", "--warmup", "100ms"]);
    let segments = run["by_segment"].as_array().unwrap();
    assert_eq!((segments.len(), scheduled(&run["total"])), (10, 500));
    assert!(scheduled(&segments[0]).abs_diff(14) <= 1 && scheduled(&segments[9]).abs_diff(86) <= 1);
}

#[test]
fn a_schedule_is_sent_at_its_times() {
    let server = ReferenceServer::start("immediate");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("times");
    std::fs::write(&file, "0\n10ms # two at once\n0.010\n0.02\n").unwrap();
    let run = record(&server, &["--schedule", file.to_str().unwrap(), "-c", "2"]);
    assert_eq!(scheduled(&run["total"]), 4);
    assert_eq!(run["loop"]["shape"]["sends"], 4);
    let window = &run["phases"]["window"];
    // The window ends a second after the last send: all of it is one burst.
    assert_eq!(window["end_ns"].as_u64().unwrap() - window["start_ns"].as_u64().unwrap(), 1_020_000_000);
    assert_eq!(run["rate_per_s"]["offered"], 4.0 / 1.02);
}

#[test]
fn gates_treat_a_schedule_as_an_open_loop() {
    let server = ReferenceServer::start("immediate");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("times");
    std::fs::write(&file, "0\n10ms\n20ms\n").unwrap();
    let schedule = ["--schedule", file.to_str().unwrap(), "-c", "2"];
    let run =
        record(&server, &[&schedule[..], &["--slo", "response.p50<9s", "--slo", "achieved>=1%"]].concat());
    // Whether the gates passed depends on the machine; that they were judged does not.
    let judged: Vec<_> = run["gates"].as_array().unwrap().iter().map(|gate| &gate["gate"]).collect();
    assert_eq!(judged, ["response.p50<9s", "achieved>=1%"]);
}

#[test]
fn connections_close_after_the_requested_number_of_requests() {
    let server = ReferenceServer::start("immediate");
    // One connection: two may share the requests so that neither has its fifth as its last.
    let run = record(&server, &["-n", "20", "-c", "1", "--requests-per-connection", "5"]);
    assert_eq!(run["connections"]["closed_as_asked"], 4);
    assert_eq!(run["connections"]["closed_by_us"], 0);
    assert_eq!(run["loop"]["requests_per_connection"], 5);
    let run = record(&server, &["-n", "20", "-c", "2", "--no-keepalive", "--think", "1ms:exp"]);
    assert_eq!(run["connections"]["closed_as_asked"], 20);
    assert_eq!(run["connections"]["closed_by_server"], 0);
    let both = &run["total"]["connect_and_service_time_ns"];
    assert_eq!((&both["count"], &run["total"]["counts"]["ok"]), (&20.into(), &20.into()));
    assert!(both["min"].as_u64() > run["total"]["service_time_ns"]["min"].as_u64());
    assert_eq!(run["loop"]["think"]["distribution"], "exponential");
}

#[test]
fn random_arrivals_are_checked() {
    let server = ReferenceServer::start("immediate");
    let check = |arrivals| {
        let run =
            record(&server, &["-r", "2000", "-d", "1s", "--warmup", "0", "-t", "2", "--arrivals", arrivals]);
        run["arrival_check"].clone()
    };
    let poisson = check("poisson");
    let p = poisson["p_value"].as_f64().unwrap();
    assert!(poisson["gaps"].as_u64().unwrap() > 1_000 && (0.0..=1.0).contains(&p), "{poisson}");
    assert!(check("constant").is_null());
}

#[test]
fn http_1_0_asks_for_keep_alive() {
    let server = ReferenceServer::start("immediate");
    let run = record(&server, &["-n", "20", "-c", "2", "--http", "1.0"]);
    assert_eq!((&run["target"]["protocol"], &run["total"]["counts"]["ok"]), (&"http/1.0".into(), &20.into()));
}

#[test]
fn conflicting_flags_are_refused_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("times");
    std::fs::write(&file, "0\n2\n1\n").unwrap();
    let schedule = file.to_str().unwrap();
    for (arguments, said) in [
        (&["-r", "10,20"][..], "10,20@10s"),
        (&["-r", "10,20@1s", "-d", "5s"], "remove -d"),
        (&["-r", "10,20@1s", "-n", "5"], "remove -n"),
        (&["-r", "10:20", "-n", "5"], "set the length of the ramp with -d"),
        (&["--schedule", schedule], "times:3: 1 is earlier than the previous time, 2s"),
        (&["--schedule", schedule, "-r", "5"], "cannot be used with"),
        (&["--schedule", "no/such/file"], "cannot read the schedule"),
        (&["-r", "10", "--think", "1s"], "--think cannot be combined with -r"),
        (&["--no-keepalive", "--pipeline", "4"], "--pipeline cannot be combined with --no-keepalive"),
        (&["--no-keepalive", "--requests-per-connection", "4"], "cannot be used with"),
        (&["--requests-per-connection", "0"], "non-zero"),
    ] {
        let output = run("http://127.0.0.1:9/", arguments);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(said), "{arguments:?}: {text}");
    }
}

#[test]
fn steps_of_connections_have_blocks_and_are_in_the_time_line() {
    let server = ReferenceServer::start("immediate");
    let arguments = ["-c", "1,4@500ms", "--warmup", "0", "-t", "2"];
    let run = record(&server, &arguments);
    let segments = run["by_segment"].as_array().unwrap();
    let connections: Vec<_> = segments.iter().map(|segment| segment["connections"].as_f64()).collect();
    assert_eq!(connections, [Some(1.0), Some(4.0)]);
    assert_eq!(segments.iter().map(scheduled).sum::<u64>(), scheduled(&run["total"]));
    assert_eq!(run["loop"]["connection_plan"]["kind"], "parts");
    assert_eq!(run["loop"]["connections"], 4);
    assert_eq!((&run["connections"]["asked"], &run["connections"]["had"]), (&4.into(), &4.into()));
    // The last interval of the window begins long after the fourth connection was asked for.
    let intervals = run["intervals"].as_array().unwrap();
    let windows: Vec<_> = intervals.iter().filter(|interval| interval["phase"] == "window").collect();
    let open = |interval: &Value| interval["connections"].as_f64().unwrap();
    assert!(open(windows[0]) < 1.5, "{}", open(windows[0]));
    assert!(windows.iter().any(|interval| open(interval) > 3.5));
}

#[test]
fn connections_that_change_are_refused_where_they_cannot() {
    for (arguments, expected) in [
        (&["-c", "1:5", "-r", "10"][..], "cannot be combined with -r"),
        (&["-c", "1:5", "-n", "10"], "-n cannot be combined with"),
        (&["-c", "1,5@1s", "-d", "10s"], "-d cannot be combined with steps of -c"),
        (&["-c", "0:5"], "at least 1 at all times"),
        (&["-c", "1:5", "--loaders", "2"], "cannot be combined with --loaders"),
        (&["-r", "1@1s,2"], "with and without a length"),
    ] {
        let output = run("http://127.0.0.1:9/", arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}
