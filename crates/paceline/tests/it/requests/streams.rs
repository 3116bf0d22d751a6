//! Tests streams through the whole binary: flags, record, objectives, request files. Times are tested in the engine's
//! simulation (`crates/engine/tests/it/streams.rs`).

use super::server::{Heard, Server};
use super::{complaint, count, paceline, run};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Ten events in a row, whose numbers add up to 45, and an end.
fn events(_: &Heard) -> (u16, Vec<u8>) {
    let events: String = (0..10).map(|number| format!("data: {{\"n\": {number}}}\n\n")).collect();
    (200, (events + "data: [DONE]\n\n").into_bytes())
}

#[test]
fn a_record_has_the_events_of_its_streams() {
    let server = Server::start(events);
    let until = ["--stream", "sse", "--stream-until", "data: [DONE]", "--count-json", "/n"];
    for flags in [&["-c", "2"][..], &["-c", "2", "-r", "2000", "-t", "2"]] {
        let record = run(&server, "/", 50, &[&until[..], flags].concat());
        let total = &record["total"];
        assert_eq!((count(total, "ok"), count(total, "scheduled")), (50, 50), "{}", record["bad_bodies"]);
        let streams = &total["stream_events"];
        assert_eq!((&streams["streams"], &streams["events"]), (&50.into(), &550.into()));
        assert_eq!((&streams["counted"], &streams["ended_early"]), (&(50.0 * 45.0).into(), &0.into()));
        assert_eq!((&streams["events_min"], &streams["events_max"]), (&11.into(), &11.into()));
        assert_eq!(total["first_event_ns"]["count"], 50);
        assert_eq!(total["event_gap_ns"]["count"], 500);
        assert_eq!(total["longest_gap_ns"]["count"], 50);
        assert_eq!(record["stream_examples"]["watched"], 50);
        let examples = record["stream_examples"]["examples"].as_array().unwrap();
        assert_eq!(examples.len(), 3);
        for example in examples {
            assert_eq!((&example["events"], &example["kept_every"]), (&11.into(), &1.into()));
            assert_eq!(example["event_ns"].as_array().map(Vec::len), Some(11), "{example}");
            assert!(example["longest_gap"].is_object(), "{example}");
        }
        // The window of the open loop may end before the first response.
        assert!(record["summary"]["events_per_s"].is_number());
        assert_eq!(record["job"]["request"][0]["stream"]["until"], "data: [DONE]");
    }
    let asked = run(&server, "/", 20, &["--stream", "sse", "--stream-events", "12"]);
    assert_eq!((count(&asked["total"], "bad_body"), count(&asked["total"], "ok")), (20, 0));
    assert_eq!(asked["bad_bodies"][0]["fault"], "the server ended the stream early, after 11 events");
    assert_eq!(asked["total"]["stream_events"]["ended_early"], 20);
    let cut = run(&server, "/", 20, &["--stream", "sse", "--stream-events", "2"]);
    assert_eq!((count(&cut["total"], "ok"), &cut["total"]["stream_events"]["events"]), (20, &40.into()));
    assert_eq!(cut["connections"]["closed_as_asked"], 20);
}

/// Three events: with the time at which they are made, with that of an hour later, and without one.
fn times(_: &Heard) -> (u16, Vec<u8>) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let later = now + Duration::from_secs(3_600);
    let events = [
        format!("data: {{\"sent\": {}}}\n\n", now.as_nanos()),
        format!("data: {{\"sent\": {}}}\n\n", later.as_millis()),
        "data: [DONE]\n\n".to_owned(),
    ];
    (200, events.concat().into_bytes())
}

#[test]
fn a_record_has_the_delays_of_events_that_carry_times() {
    let server = Server::start(times);
    let record = run(&server, "/", 20, &["--stream", "sse", "--message-time", "/sent", "-c", "2"]);
    let (total, streams) = (&record["total"], &record["total"]["stream_events"]);
    assert_eq!((count(total, "ok"), &total["message_delay_ns"]["count"]), (20, &20.into()));
    assert_eq!((&streams["events"], &streams["events_without_time"]), (&60.into(), &20.into()));
    assert_eq!(streams["events_ahead_of_clock"], 20);
    let ahead_ns = streams["ahead_of_clock_ns_max"].as_u64().unwrap();
    assert!(ahead_ns > 0 && ahead_ns <= 3_600_000_000_000, "{ahead_ns}");
    let named =
        |name: &str| record["verdicts"].as_array().unwrap().iter().any(|verdict| verdict["name"] == name);
    assert!(named("clocks_differ") && !named("no_message_times"), "{}", record["verdicts"]);
    assert_eq!(record["job"]["request"][0]["stream"]["message_time"], "/sent");
    // The pointer is wrong.
    let record = run(&server, "/", 20, &["--stream", "sse", "--message-time", "/at", "-c", "2"]);
    assert!(record["total"]["message_delay_ns"].is_null());
    assert_eq!(record["total"]["stream_events"]["events_without_time"], 60);
    let verdicts = record["verdicts"].as_array().unwrap();
    assert!(verdicts.iter().any(|verdict| verdict["name"] == "no_message_times"), "{verdicts:?}");
}

/// The reasons of each gate. On a busy machine a run may also be invalid.
fn reasons(server: &Server, flags: &[&str]) -> Vec<Vec<String>> {
    let record = run(server, "/", 1_000, &[&["--stream", "sse", "-c", "2"][..], flags].concat());
    let of_gate = |gate: &serde_json::Value| -> Vec<String> {
        let reasons = gate["reasons"].as_array().into_iter().flatten();
        let reasons = reasons.map(|reason| reason.as_str().unwrap().to_owned());
        reasons
            .filter(|reason| ["beyond_limit", "failures", "not_measured"].contains(&reason.as_str()))
            .collect()
    };
    record["gates"].as_array().unwrap().iter().map(of_gate).collect()
}

#[test]
fn objectives_of_streams() {
    let server = Server::start(events);
    let slos = |flags: &[&str]| reasons(&server, flags).concat();
    let per_s = ["--slo", "events>=0.001/s", "--slo", "events>=100M/s"];
    assert_eq!(slos(&["--slo", "first_event.p99<1h", "--slo", "gap.p99<1h", "--slo", "events>=11"]), [""; 0]);
    assert_eq!(slos(&["--slo", "first_event.p99<1ns", "--slo", "events>=12"]), ["beyond_limit"; 2]);
    assert_eq!(slos(&per_s), ["beyond_limit"]);
    // Each stream that failed counts as one more gap, beyond any limit.
    let failed = slos(&["--stream-events", "12", "--slo", "gap.p99<1h", "--slo", "events>=1"]);
    assert_eq!(failed, ["failures", "not_measured"]);
}

#[test]
fn a_step_of_a_session_may_be_a_stream() {
    let server = Server::start(|heard: &Heard| match heard.path.as_str() {
        "/ask" => (200, b"event: id\ndata: {\"id\": 7}\n\ndata: done\n\n".to_vec()),
        "/read/7" => (200, b"yours".to_vec()),
        _ => (404, Vec::new()),
    });
    let file = tempfile::NamedTempFile::new().unwrap();
    let mix = r#"
[[request]]
session = "user"
name = "ask"
method = "POST"
path = "/ask"
extract = { id = { regex = '"id": (\d+)' } }
[request.stream]
format = "sse"
until = "done"

[[request]]
session = "user"
name = "read"
path = "/read/{var:id}"
expect_body = "yours"
"#;
    std::fs::write(file.path(), mix).unwrap();
    let record = run(&server, "/", 20, &["--mix", file.path().to_str().unwrap(), "-c", "2"]);
    assert_eq!((count(&record["total"], "ok"), &record["sessions"][0]["completed"]), (40, &20.into()));
    assert_eq!(record["by_request"][0]["stream_events"]["events"], 40);
    assert!(record["by_request"][1]["stream_events"].is_null());
    for key in ["count_json", "message_time"] {
        std::fs::write(file.path(), mix.replace("until = \"done\"", &format!("{key} = \"n\""))).unwrap();
        let output = paceline(&["http://127.0.0.1:9/", "--mix", file.path().to_str().unwrap()]);
        let reported = String::from_utf8_lossy(&output.stderr);
        let expected = format!("stream.{key}: JSON pointer \"n\" does not begin with");
        assert!(reported.contains(&expected), "{reported}");
    }
}

#[test]
fn flags_of_streams_that_contradict_each_other() {
    for (flags, said) in [
        (&["--stream-events", "5"][..], "--stream <FORMAT>"),
        (&["--stream", "sse", "--expect-body", "x"], "cannot be used with"),
        (&["--stream", "sse", "--stream-events", "0"], "a stream must have at least 1 event"),
        (&["--stream", "sse", "--pipeline", "2"], "use --http 2"),
        (&["--stream", "sse", "--count-json", "n"], "write \"/n\""),
        (&["--message-time", "/t"], "--stream <FORMAT>"),
        (&["--stream", "sse", "--message-time", "t"], "write \"/t\""),
        (&["--stream", "sse", "--slo", "message_delay.p99<1s"], "where events have their times"),
        (&["--slo", "gap.p99<1s"], "the responses are not read as streams"),
    ] {
        let reported = complaint(flags);
        assert!(reported.contains(said), "{flags:?}: {reported}");
    }
}
