//! Calls of gRPC in simulation: their outcomes against servers that fail, or break the rules of gRPC.
//!
//! `http2.rs` has the server and the rules of HTTP/2; `crates/engine/src/grpc.rs` tests single judgements.

use crate::http2::{Answer, failures, run, server};
use crate::support::{closed_loop, open_loop};
use paceline_engine::stream::StreamPlan;
use paceline_engine::{
    BodyCheck, CallCheck, ConnectionFailure, CountedStatus, Ending, Measure, Nanos, RequestKind, Requests,
    ResponseCheck, Settings, ThreadOutcome,
};
use paceline_http::h2::{
    ErrorCode, HpackEncoder, Indexing, write_data, write_field_block, write_goaway, write_reset,
};
use paceline_http::{EventFormat, GrpcCode, LineFiles, Request, Scheme, Url, framed_message};
use paceline_job::Protocol;
use std::sync::Arc;

/// Writes fields, as HEADERS without use of the table.
fn fields(out: &mut Vec<u8>, stream: u32, fields: &[(&str, &str)], is_last: bool) {
    let (mut encoder, mut block) = (HpackEncoder::default(), Vec::new());
    for (name, value) in fields {
        encoder.field(name.as_bytes(), value.as_bytes(), Indexing::Omit, &mut block);
    }
    write_field_block(out, stream, &block, is_last);
}

/// The head of a response, with another field.
fn head(out: &mut Vec<u8>, stream: u32, more: &[(&str, &str)]) {
    fields(out, stream, &[&[(":status", "200"), ("content-type", "application/grpc")], more].concat(), false);
}

/// A message with its prefix.
fn message(out: &mut Vec<u8>, stream: u32) {
    write_data(out, stream, &framed_message(0, b"ok"), false);
}

fn status(out: &mut Vec<u8>, stream: u32, code: &str) {
    fields(out, stream, &[("grpc-status", code)], true);
}

/// A good response to a call.
fn good(out: &mut Vec<u8>, stream: u32, _: u64) {
    head(out, stream, &[]);
    message(out, stream);
    status(out, stream, "0");
}

const ANY: CallCheck = CallCheck { code: GrpcCode::Ok, accepts_gzip: false, message: None };

/// The responses are streams of messages.
fn messages(call: CallCheck) -> BodyCheck {
    let plan = StreamPlan {
        format: EventFormat::LengthPrefixed,
        must_be_json: false,
        events: None,
        length: None,
        until: None,
        count: None,
        time: None,
        call: Some(call),
    };
    BodyCheck::Stream(Arc::new(plan))
}

/// Calls over HTTP/2.
fn calls(settings: Settings, body: BodyCheck) -> Settings {
    let files = LineFiles::default();
    let request = Request {
        method: "POST".into(),
        body: framed_message(0, b"hello"),
        ..Request::get(&Url::parse("http://a/x.Y/Z").unwrap())
    };
    let check = ResponseCheck { status: Some(200), body };
    let (template, method) = (request.compile(&files).unwrap(), request.method_kind());
    let http2 = vec![request.compile_http2(Scheme::Http, &files).unwrap()];
    let requests = Requests::from_kinds(vec![RequestKind { weight: 1, template, method, check }], 0);
    Settings { requests: Arc::new(requests.with_http2(http2)), ..settings }.with(|job| {
        job.protocol = Protocol::Http2;
        job.depth = 4;
        job.timeout = Nanos::from_millis(100);
    })
}

/// The number of responses by the status under which they are counted.
fn statuses(outcome: &ThreadOutcome) -> Vec<(CountedStatus, u64)> {
    let counts = outcome.total.counts.status.iter();
    counts.map(|(number, count)| (CountedStatus::from_number(*number), *count)).collect()
}

fn fault(outcome: &ThreadOutcome) -> String {
    outcome.wrong_bodies[0].as_ref().map_or(String::new(), |wrong| wrong.fault.to_string())
}

#[test]
fn calls_that_end_well_are_counted_by_their_code() {
    for body in [BodyCheck::Call(Arc::new(ANY)), messages(ANY)] {
        for settings in [closed_loop(2, 1), open_loop(500.0, 2, 1)] {
            let outcome = run(&calls(settings, body.clone()), server(&[], good));
            let counts = &outcome.total.counts;
            assert!(counts.add_up() && counts.scheduled > 100, "{counts:?}");
            assert_eq!(counts.ended(Ending::Ok), counts.scheduled, "{}", fault(&outcome));
            assert_eq!(statuses(&outcome), [(CountedStatus::Grpc(GrpcCode::Ok), counts.scheduled)]);
            let messages = if body.call().is_some_and(|_| matches!(body, BodyCheck::Stream(_))) {
                counts.scheduled
            } else {
                0
            };
            assert_eq!(counts.streams.events, messages);
            assert_eq!(counts.body_lengths(), Some((7, 7)));
        }
    }
}

/// The outcome of every second call, and what is reported of the first.
struct Case {
    name: &'static str,
    answer: Answer,
    ending: Ending,
    status: Option<CountedStatus>,
    fault: &'static str,
    /// The same if the response is a stream, if that differs.
    of_stream: Option<(Ending, &'static str)>,
}

/// Good for odd numbers; for even ones this.
macro_rules! every_second {
    (|$out:ident, $stream:ident| $bad:expr) => {
        |$out, $stream, number| if number % 2 == 1 { good($out, $stream, number) } else { $bad }
    };
}

const HTTP_OK: Option<CountedStatus> = Some(CountedStatus::Http(200));

fn code(code: GrpcCode) -> Option<CountedStatus> {
    Some(CountedStatus::Grpc(code))
}

/// Responses that fail by their status.
fn by_status() -> Vec<Case> {
    vec![
        Case {
            name: "an error after a message",
            answer: every_second!(|out, stream| {
                head(out, stream, &[]);
                message(out, stream);
                fields(out, stream, &[("grpc-status", "13"), ("grpc-message", "caf%C3%A9 %zz%")], true);
            }),
            ending: Ending::BadStatus,
            status: code(GrpcCode::Internal),
            fault: "gRPC status INTERNAL: caf\u{e9} %zz%",
            of_stream: None,
        },
        Case {
            name: "trailers only",
            answer: every_second!(|out, stream| {
                let only = [(":status", "200"), ("content-type", "application/grpc"), ("grpc-status", "14")];
                fields(out, stream, &only, true);
            }),
            ending: Ending::BadStatus,
            status: code(GrpcCode::Unavailable),
            fault: "gRPC status UNAVAILABLE",
            of_stream: None,
        },
        Case {
            name: "a code that does not exist",
            answer: every_second!(|out, stream| {
                head(out, stream, &[]);
                status(out, stream, "99");
            }),
            ending: Ending::BadStatus,
            status: code(GrpcCode::Unknown),
            fault: "gRPC status UNKNOWN",
            of_stream: None,
        },
        Case {
            name: "a status of HTTP",
            answer: every_second!(|out, stream| fields(out, stream, &[(":status", "502")], true)),
            ending: Ending::BadStatus,
            status: Some(CountedStatus::Http(502)),
            fault: "",
            of_stream: None,
        },
        Case {
            name: "no trailers",
            answer: every_second!(|out, stream| {
                head(out, stream, &[]);
                write_data(out, stream, &framed_message(0, b"ok"), true);
            }),
            ending: Ending::BadBody,
            status: HTTP_OK,
            fault: "the response ended without grpc-status",
            of_stream: None,
        },
        Case {
            name: "no trailers, in an empty frame",
            answer: every_second!(|out, stream| {
                head(out, stream, &[]);
                message(out, stream);
                write_data(out, stream, b"", true);
            }),
            ending: Ending::BadBody,
            status: HTTP_OK,
            fault: "the response ended without grpc-status",
            of_stream: None,
        },
    ]
}

/// Responses whose messages are not as announced.
fn by_message() -> Vec<Case> {
    vec![
        Case {
            name: "another content type",
            answer: every_second!(|out, stream| {
                fields(out, stream, &[(":status", "200"), ("content-type", "text/html")], false);
                write_data(out, stream, b"<html>", true);
            }),
            ending: Ending::BadBody,
            status: HTTP_OK,
            fault: "the content-type of the response is not application/grpc: is this a gRPC server?",
            of_stream: None,
        },
        Case {
            name: "a message that is longer than it is",
            answer: every_second!(|out, stream| {
                head(out, stream, &[]);
                write_data(out, stream, &framed_message(0, b"okay")[..7], false);
                status(out, stream, "0");
            }),
            ending: Ending::BadBody,
            status: code(GrpcCode::Ok),
            fault: "the response ended in the middle of a message, after 0 messages",
            of_stream: Some((
                Ending::BadBody,
                "the server ended the stream in the middle of an event, after 0 events",
            )),
        },
        Case {
            name: "bytes behind the message",
            answer: every_second!(|out, stream| {
                head(out, stream, &[]);
                write_data(out, stream, &[framed_message(0, b"ok"), vec![0]].concat(), false);
                status(out, stream, "0");
            }),
            ending: Ending::BadBody,
            status: code(GrpcCode::Ok),
            fault: "the response ended in the middle of a message, after 1 message",
            of_stream: Some((
                Ending::BadBody,
                "the server ended the stream in the middle of an event, after 1 event",
            )),
        },
        Case {
            name: "no message",
            answer: every_second!(|out, stream| {
                head(out, stream, &[]);
                status(out, stream, "0");
            }),
            ending: Ending::BadBody,
            status: code(GrpcCode::Ok),
            fault: "the response has 0 messages instead of one",
            of_stream: Some((Ending::Ok, "")),
        },
        Case {
            name: "more messages than one",
            answer: every_second!(|out, stream| {
                head(out, stream, &[]);
                (0..300).for_each(|_| message(out, stream));
                status(out, stream, "0");
            }),
            ending: Ending::BadBody,
            status: code(GrpcCode::Ok),
            fault: "the response has 300 messages instead of one",
            of_stream: Some((Ending::Ok, "")),
        },
    ]
}

/// Responses that fail by a coding, or do not end as they must.
fn by_coding_or_end() -> Vec<Case> {
    vec![
        Case {
            name: "a status before the message",
            answer: every_second!(|out, stream| {
                head(out, stream, &[("grpc-status", "0")]);
                message(out, stream);
                write_data(out, stream, b"", true);
            }),
            ending: Ending::BadBody,
            status: HTTP_OK,
            fault: "the response ended without grpc-status",
            of_stream: None,
        },
        Case {
            name: "compressed without being asked",
            answer: every_second!(|out, stream| {
                head(out, stream, &[("grpc-encoding", "gzip")]);
                write_data(out, stream, &framed_message(1, b"zz"), false);
                status(out, stream, "0");
            }),
            ending: Ending::BadBody,
            status: code(GrpcCode::Ok),
            fault: "a message is compressed, which the request did not accept (grpc-accept-encoding)",
            of_stream: None,
        },
        Case {
            name: "compressed in no coding",
            answer: every_second!(|out, stream| {
                head(out, stream, &[]);
                write_data(out, stream, &framed_message(1, b"zz"), false);
                status(out, stream, "0");
            }),
            ending: Ending::BadBody,
            status: code(GrpcCode::Ok),
            fault: "a message is compressed, but the response has no grpc-encoding",
            of_stream: None,
        },
        Case {
            name: "a reset in the middle of a message",
            answer: every_second!(|out, stream| {
                head(out, stream, &[]);
                write_data(out, stream, &framed_message(0, b"okay")[..6], false);
                write_reset(out, stream, ErrorCode::INTERNAL_ERROR);
            }),
            ending: Ending::IoFailed,
            status: None,
            fault: "",
            of_stream: None,
        },
        Case {
            name: "a response that never ends",
            answer: every_second!(|out, stream| {
                head(out, stream, &[]);
                message(out, stream);
            }),
            ending: Ending::TimedOut,
            status: None,
            fault: "",
            of_stream: None,
        },
    ]
}

#[test]
fn every_failure_has_its_outcome_and_the_counts_add_up() {
    for case in [by_status(), by_message(), by_coding_or_end()].into_iter().flatten() {
        for is_stream in [false, true] {
            let body = if is_stream { messages(ANY) } else { BodyCheck::Call(Arc::new(ANY)) };
            let (ending, reported) = match case.of_stream {
                Some(of_stream) if is_stream => of_stream,
                _ => (case.ending, case.fault),
            };
            let outcome = run(&calls(closed_loop(2, 1), body), server(&[], case.answer));
            let (name, counts) = (case.name, &outcome.total.counts);
            assert!(counts.add_up() && counts.scheduled > 40, "{name} {is_stream}: {counts:?}");
            let (ok, bad) = (counts.ended(Ending::Ok), counts.ended(case.ending.min(ending)));
            if ending == Ending::Ok {
                assert_eq!(ok, counts.scheduled, "{name}: {}", fault(&outcome));
                continue;
            }
            assert_eq!(ok + bad, counts.scheduled, "{name} {is_stream}: {counts:?}");
            assert!(ok.abs_diff(bad) <= 8, "{name} {is_stream}: {ok} {bad}");
            assert_eq!(fault(&outcome), reported, "{name} {is_stream}");
            let of_bad = statuses(&outcome)
                .iter()
                .filter(|(status, _)| Some(*status) == case.status)
                .map(|(_, count)| count)
                .sum::<u64>();
            let expected = match case.status {
                None => 0,
                Some(CountedStatus::Grpc(GrpcCode::Ok)) => ok + bad,
                Some(_) => bad,
            };
            assert_eq!(of_bad, expected, "{name} {is_stream}: {:?}", statuses(&outcome));
            if is_stream {
                let streams = &counts.streams;
                assert!(streams.events_of_ok_in_window <= streams.events_in_window, "{name}: {streams:?}");
                assert_eq!(
                    outcome.total.times(Measure::Stream).count(),
                    ok,
                    "{name}: only streams that ended well"
                );
            }
        }
    }
}

#[test]
fn messages_count_for_calls_that_ended_well() {
    let answer: Answer = |out, stream, number| {
        head(out, stream, &[]);
        (0..10).for_each(|_| message(out, stream));
        status(out, stream, if number % 2 == 1 { "0" } else { "13" });
    };
    let outcome = run(&calls(closed_loop(2, 1), messages(ANY)), server(&[], answer));
    let (counts, streams) = (&outcome.total.counts, &outcome.total.counts.streams);
    assert_eq!(streams.events, 10 * counts.scheduled);
    assert_eq!(streams.events_of_ok_in_window, 10 * counts.completed_in_window);
    assert_eq!(streams.ended_early, counts.ended(Ending::BadStatus));
}

#[test]
fn an_expected_code_is_ok_with_or_without_a_message() {
    let answer: Answer = |out, stream, number| {
        head(out, stream, &[]);
        if number % 2 == 1 {
            message(out, stream);
        }
        status(out, stream, "5");
    };
    let check = CallCheck { code: GrpcCode::NotFound, ..ANY };
    let outcome = run(&calls(closed_loop(2, 1), BodyCheck::Call(Arc::new(check))), server(&[], answer));
    let counts = &outcome.total.counts;
    assert_eq!(counts.ended(Ending::Ok), counts.scheduled, "{}", fault(&outcome));
    assert_eq!(statuses(&outcome), [(CountedStatus::Grpc(GrpcCode::NotFound), counts.scheduled)]);
}

#[test]
fn an_expected_message_is_compared() {
    let of = |message: &[u8]| {
        let check = CallCheck { message: Some(framed_message(0, message).into()), ..ANY };
        run(&calls(closed_loop(2, 1), BodyCheck::Call(Arc::new(check))), server(&[], good))
    };
    let (same, other) = (of(b"ok"), of(b"no"));
    assert_eq!(same.total.counts.ended(Ending::Ok), same.total.counts.scheduled);
    assert_eq!(other.total.counts.ended(Ending::BadBody), other.total.counts.scheduled);
    assert_eq!(fault(&other), "the message differs from the expected one of 7 bytes");
}

#[test]
fn a_stream_that_paceline_ends_needs_no_trailers() {
    let answer: Answer = |out, stream, _| {
        head(out, stream, &[]);
        (0..5).for_each(|_| message(out, stream));
    };
    let mut settings = calls(closed_loop(2, 1), messages(ANY));
    let BodyCheck::Stream(plan) = messages(ANY) else { unreachable!("made above") };
    let plan = StreamPlan { events: Some(3), ..StreamPlan::clone(&plan) };
    settings = calls(settings, BodyCheck::Stream(Arc::new(plan)));
    let outcome = run(&settings, server(&[], answer));
    let counts = &outcome.total.counts;
    assert_eq!((counts.ended(Ending::Ok), counts.streams.events), (counts.scheduled, 3 * counts.scheduled));
}

#[test]
fn a_server_that_refuses_to_cancel_streams_is_not_said_to_time_out() {
    let answer: Answer = |out, stream, number| {
        if number % 50 == 0 {
            write_goaway(out, stream, ErrorCode::ENHANCE_YOUR_CALM, b"");
        }
        head(out, stream, &[]);
        (0..5).for_each(|_| message(out, stream));
    };
    let BodyCheck::Stream(plan) = messages(ANY) else { unreachable!("made above") };
    let plan = StreamPlan { events: Some(3), ..StreamPlan::clone(&plan) };
    let settings = calls(closed_loop(2, 1), BodyCheck::Stream(Arc::new(plan)));
    let outcome = run(&settings, server(&[], answer));
    let failure = ConnectionFailure::GoAwayAfterCancels;
    assert!(failures(&outcome, failure) > 0, "{:?}", outcome.connections.failures);
    assert_eq!(outcome.total.counts.ended(Ending::TimedOut), 0);
    assert!(!failure.to_string().contains("timed out"), "{failure}");
}

#[test]
fn calls_on_a_connection_that_ends_are_made_again() {
    let answer: Answer = |out, stream, number| {
        if number % 50 == 0 {
            write_goaway(out, stream, ErrorCode::NO_ERROR, b"max_age");
        }
        good(out, stream, number);
    };
    let outcome = run(&calls(closed_loop(3, 2), BodyCheck::Call(Arc::new(ANY))), server(&[], answer));
    let counts = &outcome.total.counts;
    assert_eq!(counts.ended(Ending::Ok), counts.scheduled, "{:?}", outcome.connections.failures);
    assert!(outcome.connections.made > 3 && outcome.connections.handed_back > 0);
    assert_eq!(failures(&outcome, ConnectionFailure::GoAway), 0);
}
