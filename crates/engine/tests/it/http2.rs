//! HTTP/2 in simulation: the results of a run against servers that end connections, reset streams, limit them, or break
//! the rules.
//!
//! `conservation.rs` checks that every request ends exactly once; frames and field blocks are tested in `crates/http`.

use crate::deaf::Deaf;
use crate::support::{closed_loop, open_loop};
use paceline_engine::hot::Recorder;
use paceline_engine::sim::{Act, Connect, Script, VirtualClock, simulate, simulate_with};
use paceline_engine::{
    Arrivals, BodyCheck, Clock as _, ConnectionFailure, Ending, EngineError, LoadModel, Measure, Nanos,
    RequestKind, Requests, ResponseCheck, Settings, Shape, Slot, Tally, ThreadOutcome,
};
use paceline_http::h2::{
    CLIENT_PREFACE, DecodedField, ErrorCode, FrameEvent, FrameReader, HpackDecoder, HpackScratch, write_data,
    write_field_block, write_goaway, write_ping, write_reset, write_settings, write_settings_ack,
    write_window_update,
};
use paceline_http::{LineFiles, Request, Scheme, Url};
use paceline_job::Protocol;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// `:status: 200`, as the static table has it (RFC 7541, appendix A).
const OK: &[u8] = &[0x88];
const MS: Nanos = Nanos::from_millis(1);

/// Writes the response to a request: the frames for its stream, given its number among all, from 1.
pub(crate) type Answer = fn(out: &mut Vec<u8>, stream: u32, number: u64);

/// A server that answers each request after 10 ms.
pub(crate) struct Server {
    settings: Vec<(u16, u32)>,
    answer: Answer,
    requests: u64,
    bodies: u64,
    readers: HashMap<Slot, FrameReader>,
    decoders: HashMap<Slot, HpackDecoder>,
    /// The requested paths.
    paths: BTreeSet<Vec<u8>>,
    /// The number of requests in each send that contained any.
    together: Vec<usize>,
}

pub(crate) fn server(settings: &[(u16, u32)], answer: Answer) -> Server {
    Server {
        settings: settings.to_vec(),
        answer,
        requests: 0,
        bodies: 0,
        readers: HashMap::new(),
        decoders: HashMap::new(),
        paths: BTreeSet::new(),
        together: Vec::new(),
    }
}

impl Server {
    fn note_path(&mut self, slot: Slot, block: &[u8]) {
        let decoder = self.decoders.entry(slot).or_default();
        let note = |field: DecodedField<'_>| {
            if field.name == b":path" {
                self.paths.insert(field.value.to_vec());
            }
        };
        decoder.decode(block, &mut HpackScratch::default(), note).unwrap();
    }
}

/// A good response.
fn good(out: &mut Vec<u8>, stream: u32, _: u64) {
    write_field_block(out, stream, OK, false);
    write_data(out, stream, b"ok", true);
}

impl Script for Server {
    fn connect(&mut self, slot: Slot, _: Nanos) -> Connect {
        self.readers.remove(&slot);
        self.decoders.remove(&slot);
        Connect::Accept(MS)
    }

    fn request(&mut self, _: Slot, _: Nanos, _: &mut Vec<(Nanos, Act)>) {}

    fn bytes(&mut self, slot: Slot, mut bytes: &[u8], now: Nanos, acts: &mut Vec<(Nanos, Act)>) -> bool {
        let (mut said, mut answers) = (Vec::new(), Vec::new());
        let reader = self.readers.entry(slot).or_insert_with(|| {
            bytes = bytes.strip_prefix(CLIENT_PREFACE).expect("a connection begins with the preface");
            write_settings(&mut said, &self.settings);
            FrameReader::default()
        });
        let mut blocks = Vec::new();
        while !bytes.is_empty() {
            let (event, taken) = reader.next(bytes).unwrap();
            let (stream, ends) = match event {
                FrameEvent::FieldBlock { stream, block, end_stream } => {
                    blocks.push(block.to_vec());
                    (stream, end_stream)
                }
                FrameEvent::Data { stream, flow_bytes, end_stream, .. } => {
                    self.bodies += u64::from(flow_bytes);
                    [0, stream]
                        .into_iter()
                        .for_each(|id| write_window_update(&mut said, id, flow_bytes.max(1)));
                    write_ping(&mut said, [0; 8]);
                    (stream, end_stream)
                }
                FrameEvent::Settings(_) => {
                    write_settings_ack(&mut said);
                    (0, false)
                }
                _ => (0, false),
            };
            if ends {
                self.requests += 1;
                (self.answer)(&mut answers, stream, self.requests);
            }
            bytes = &bytes[taken..];
        }
        self.together.extend(Some(blocks.len()).filter(|count| *count > 0));
        blocks.iter().for_each(|block| self.note_path(slot, block));
        acts.push((now, Act::Send(said.into())));
        if !answers.is_empty() {
            acts.push((now + Nanos(10 * MS.0), Act::Send(answers.into())));
        }
        true
    }
}

/// Requests over HTTP/2 with a body of this many bytes, whose expected response is "ok".
fn over_http2(settings: Settings, depth: u16, body: usize) -> Settings {
    over_http2_to("http://a/", settings, depth, body)
}

/// The same for another URL.
fn over_http2_to(url: &str, settings: Settings, depth: u16, body: usize) -> Settings {
    let files = LineFiles::default();
    let url = Url::parse(url).unwrap();
    let method = if body > 0 { "POST" } else { "GET" };
    let request = Request { method: method.into(), body: vec![b'x'; body], ..Request::get(&url) };
    let check = ResponseCheck { status: Some(200), body: BodyCheck::Exact(Arc::from(*b"ok")) };
    let (template, method) = (request.compile(&files).unwrap(), request.method_kind());
    let kinds = vec![RequestKind { weight: 1, template, method, check }];
    let http2 = vec![request.compile_http2(Scheme::Http, &files).unwrap()];
    let requests = Arc::new(Requests::from_kinds(kinds, 0).with_http2(http2));
    Settings { requests, ..settings }.with(|job| {
        job.protocol = Protocol::Http2;
        job.depth = depth;
    })
}

pub(crate) fn run(settings: &Settings, server: Server) -> ThreadOutcome {
    simulate(settings, server, &VirtualClock::new(Nanos::ZERO)).unwrap()
}

pub(crate) fn failures(outcome: &ThreadOutcome, failure: ConnectionFailure) -> u64 {
    let found = outcome.connections.failures.iter().find(|(seen, _)| *seen == failure);
    found.map_or(0, |(_, count)| *count)
}

#[test]
fn streams_share_a_connection() {
    let outcome = run(&over_http2(closed_loop(2, 1), 10, 0), server(&[], good));
    let counts = &outcome.total.counts;
    assert_eq!(counts.ended(Ending::Ok), counts.scheduled);
    // 20 streams, each answered every 10 ms.
    assert!((1_900..=2_020).contains(&counts.completed_in_window), "{counts:?}");
    assert_eq!(outcome.connections.made, 2);
}

#[test]
fn requests_that_are_due_together_leave_together() {
    // Two at a time, then bursts of 42 over 4 connections, and one after them.
    let bursts = [(100, 2), (200, 42), (201, 1), (300, 42)];
    let moments = bursts.into_iter().flat_map(|(at, count)| vec![Nanos::from_millis(at); count]);
    let settings = open_loop(1.0, 4, 1).with(|job| {
        job.load = LoadModel::Open {
            shape: Shape::Trace(moments.collect::<Vec<_>>().into()),
            arrivals: Arrivals::Constant,
        };
    });
    let settings = over_http2_to("http://a/{seq}", settings, 20, 0);
    let (clock, mut recorder) = (VirtualClock::new(Nanos::ZERO), Recorder::new());
    let look = |tallies: &[Tally], server: &Server| {
        let mut total = Tally::default();
        tallies[1..].iter().for_each(|segment| total.merge(segment));
        assert_eq!((total.counts.scheduled, total.counts.ended(Ending::Ok)), (87, 87));
        // 10 ms each, and none was sent before it was due.
        let response = total.times(Measure::Response);
        assert_eq!((response.min(), response.max()), (Some(10_000_000), Some(10_000_000)));
        assert_eq!(server.together, [1, 1, 11, 11, 11, 9, 1, 11, 11, 11, 9]);
        assert_eq!(server.paths.len(), 87);
    };
    simulate_with(&settings, server(&[], good), &clock, Nanos::NEVER, &mut recorder, look).unwrap();
}

#[test]
fn long_requests_leave_in_several_sends() {
    // At most 64 KiB at once: 12 requests with a path of 5,200 bytes, once the first send has filled the header table.
    let url = format!("http://a/{}", "~".repeat(5_200));
    let settings = over_http2_to(&url, closed_loop(1, 1), 40, 0);
    let (clock, mut recorder) = (VirtualClock::new(Nanos::ZERO), Recorder::new());
    let look = |tallies: &[Tally], server: &Server| {
        let counts = &tallies[1].counts;
        assert_eq!(counts.scheduled, counts.ended(Ending::Ok));
        // 40 streams, each answered every 10 ms.
        assert!((3_900..=4_040).contains(&counts.completed_in_window), "{counts:?}");
        assert_eq!(server.together[1..].iter().max(), Some(&12));
        assert_eq!(server.paths.len(), 1);
    };
    simulate_with(&settings, server(&[], good), &clock, Nanos::NEVER, &mut recorder, look).unwrap();
}

#[test]
fn a_connection_that_ends_in_mid_run_fails_no_request() {
    // As nginx does: every hundredth request is the last of its connection, and later ones in flight are not answered.
    let answer: Answer = |out, stream, number| {
        if number % 100 == 0 {
            write_goaway(out, stream, ErrorCode::NO_ERROR, b"");
        }
        good(out, stream, number);
    };
    for settings in [closed_loop(3, 2), open_loop(900.0, 3, 2)] {
        let outcome = run(&over_http2(settings, 8, 0), server(&[], answer));
        let counts = &outcome.total.counts;
        assert_eq!(counts.ended(Ending::Ok), counts.scheduled, "{:?}", outcome.connections.failures);
        assert!(counts.scheduled > 1_000 && outcome.connections.made > 10, "{counts:?}");
        assert!(outcome.connections.failures.is_empty(), "{:?}", outcome.connections.failures);
        assert!(outcome.connections.handed_back > 0, "none was on its way when a connection ended");
    }
}

#[test]
fn a_reset_stream_fails_one_request() {
    let answer: Answer = |out, stream, number| match number % 10 {
        0 => write_reset(out, stream, ErrorCode::INTERNAL_ERROR),
        _ => good(out, stream, number),
    };
    let outcome = run(&over_http2(closed_loop(2, 1), 4, 0), server(&[], answer));
    let counts = &outcome.total.counts;
    assert_eq!(counts.ended(Ending::IoFailed), counts.scheduled / 10, "{counts:?}");
    assert_eq!(failures(&outcome, ConnectionFailure::StreamReset), counts.ended(Ending::IoFailed));
    assert_eq!(outcome.connections.made, 2, "the connections stay");
}

#[test]
fn a_stream_may_end_in_an_empty_frame() {
    let answer: Answer = |out, stream, number| {
        let (length, pieces): (&[u8], &[&[u8]]) = match number % 5 {
            0 => return good(out, stream, number),
            1 => (&[], &[b"ok"]),
            2 => (&[], &[b"o", b"k"]),
            3 => (&[], &[b"no"]),
            // `content-length: 2`, without indexing.
            _ => (&[0x0f, 0x0d, 1, b'2'], &[b"ok", b"x"]),
        };
        write_field_block(out, stream, &[OK, length].concat(), false);
        pieces.iter().for_each(|piece| write_data(out, stream, piece, false));
        write_data(out, stream, b"", true);
    };
    let settings =
        over_http2(closed_loop(2, 1), 4, 0).with(|job| job.window = paceline_engine::Bound::Requests(500));
    let outcome = run(&settings, server(&[], answer));
    let ended = [Ending::Ok, Ending::BadBody, Ending::IoFailed].map(|of| outcome.total.counts.ended(of));
    assert_eq!(ended, [300, 100, 100]);
    assert_eq!(failures(&outcome, ConnectionFailure::MalformedResponse), 100);
    assert_eq!(outcome.connections.made, 2, "the connections stay");
}

#[test]
fn a_refused_stream_is_due_again_with_its_intended_send() {
    let answer: Answer = |out, stream, number| match number % 5 {
        0 => write_reset(out, stream, ErrorCode::REFUSED_STREAM),
        _ => good(out, stream, number),
    };
    let outcome = run(&over_http2(open_loop(100.0, 1, 1), 4, 0), server(&[], answer));
    let counts = &outcome.total.counts;
    assert_eq!((counts.scheduled, counts.ended(Ending::Ok)), (100, 100), "{counts:?}");
    assert!(outcome.connections.handed_back >= 20);
    let longest = outcome.total.times(Measure::Response).max().unwrap();
    assert!(longest >= 20_000_000, "the time of the refusal counts: {longest}");
}

#[test]
fn a_request_returned_by_the_server_keeps_its_number() {
    let answer: Answer = |out, stream, number| match number {
        _ if number % 40 == 0 => write_goaway(out, stream - 2, ErrorCode::NO_ERROR, b""),
        _ if number % 5 == 0 => write_reset(out, stream, ErrorCode::REFUSED_STREAM),
        _ => good(out, stream, number),
    };
    let settings = over_http2_to("http://a/{seq}", open_loop(500.0, 2, 1), 8, 0);
    let (clock, mut recorder) = (VirtualClock::new(Nanos::ZERO), Recorder::new());
    let look = |tallies: &[Tally], server: &Server| {
        let scheduled: u64 = tallies.iter().map(|tally| tally.counts.scheduled).sum();
        let expected: BTreeSet<Vec<u8>> =
            (0..scheduled).map(|number| format!("/{number}").into_bytes()).collect();
        assert!(server.requests > scheduled + 50, "{} of {scheduled}", server.requests);
        assert_eq!(server.paths, expected);
    };
    let server = server(&[], answer);
    simulate_with(&settings, server, &clock, Nanos::NEVER, &mut recorder, look).unwrap();
}

/// Ends each connection a millisecond after its SETTINGS, except that of the last slot, which is never made.
struct EndsEarly;

impl Script for EndsEarly {
    fn connect(&mut self, slot: Slot, _: Nanos) -> Connect {
        if slot < 2 { Connect::Accept(MS) } else { Connect::Ignore }
    }

    fn request(&mut self, _: Slot, _: Nanos, _: &mut Vec<(Nanos, Act)>) {}

    fn bytes(&mut self, _: Slot, bytes: &[u8], now: Nanos, acts: &mut Vec<(Nanos, Act)>) -> bool {
        if bytes.starts_with(CLIENT_PREFACE) {
            let (mut settings, mut end) = (Vec::new(), Vec::new());
            write_settings(&mut settings, &[]);
            write_goaway(&mut end, 0, ErrorCode::NO_ERROR, b"");
            acts.push((now, Act::Send(settings.into())));
            acts.push((now + MS, Act::Send(end.into())));
        }
        true
    }
}

#[test]
fn a_server_that_ends_every_connection_before_the_run_is_unreachable() {
    let settings = over_http2(closed_loop(3, 1), 1, 0).with(|job| job.connect_timeout = Nanos::from_secs(10));
    let clock = VirtualClock::new(Nanos::ZERO);
    let error = simulate(&settings, EndsEarly, &clock).unwrap_err();
    let EngineError::Unreachable { source, made, .. } = error else { panic!("{error}") };
    assert_eq!(ConnectionFailure::within(&source), Some(ConnectionFailure::ClosedUnused));
    assert_eq!(made, 6);
    assert!(clock.now() < Nanos::from_secs(1), "given up only after {}", clock.now());
}

#[test]
fn a_server_that_refuses_everything_ends_the_run() {
    let answer: Answer = |out, stream, _| write_reset(out, stream, ErrorCode::REFUSED_STREAM);
    let settings = over_http2(closed_loop(1, 1), 1, 0).with(|job| {
        job.window = paceline_engine::Bound::Requests(3);
    });
    let outcome = run(&settings, server(&[], answer));
    assert_eq!(outcome.total.counts.ended(Ending::IoFailed), 3);
    assert_eq!(failures(&outcome, ConnectionFailure::Refused), 3);
}

#[test]
fn waiting_for_a_stream_is_connection_wait() {
    // One stream at a time of 10 ms each: 100 a second of the 150 offered.
    let settings = over_http2(open_loop(150.0, 1, 1), 10, 0);
    let outcome = run(&settings, server(&[(3, 1)], good));
    assert_eq!(outcome.connections.stream_limit, Some(1));
    let waits = outcome.total.times(Measure::ConnectionWait);
    let lags = outcome.total.times(Measure::GeneratorLag);
    assert!(
        waits.max().unwrap() > 300_000_000,
        "the last waits for 50 streams before it: {}",
        waits.max().unwrap()
    );
    assert_eq!(lags.max().unwrap(), 0, "none of it is the generator's");
    assert_eq!(outcome.total.counts.ended(Ending::Ok), 150);
}

#[test]
fn a_number_of_requests_is_given_up_without_a_stream() {
    let settings = over_http2(closed_loop(2, 1), 1, 0).with(|job| {
        job.window = paceline_engine::Bound::Requests(3);
    });
    let outcome = run(&settings, server(&[(3, 0)], good));
    assert_eq!((outcome.connections.had, outcome.connections.stream_limit), (2, Some(0)));
    assert_eq!(outcome.total.counts.scheduled, 0);
}

#[test]
fn a_timeout_cancels_the_stream() {
    let answer: Answer = |out, stream, number| {
        if number % 10 != 0 {
            good(out, stream, number);
        }
    };
    let settings = over_http2(closed_loop(1, 1), 4, 0).with(|job| job.timeout = Nanos::from_millis(50));
    let outcome = run(&settings, server(&[], answer));
    let counts = &outcome.total.counts;
    assert!(counts.ended(Ending::TimedOut) > 5, "{counts:?}");
    assert_eq!(counts.ended(Ending::TimedOut) + counts.ended(Ending::Ok), counts.scheduled, "{counts:?}");
    assert_eq!(outcome.connections.made, 1, "the connection stays");
}

#[test]
fn bytes_of_responses_that_do_not_end_are_counted() {
    let silent: Answer = |out, stream, _| {
        write_field_block(out, stream, OK, false);
        write_data(out, stream, &[b'x'; 1_000], false);
    };
    let reset: Answer = |out, stream, _| {
        write_field_block(out, stream, OK, false);
        write_data(out, stream, &[b'x'; 1_000], false);
        write_reset(out, stream, ErrorCode::INTERNAL_ERROR);
    };
    for (answer, ending) in [(silent, Ending::TimedOut), (reset, Ending::IoFailed)] {
        let settings = over_http2(closed_loop(1, 1), 2, 0).with(|job| {
            job.timeout = Nanos::from_millis(50);
            job.window = paceline_engine::Bound::Requests(10);
        });
        let outcome = run(&settings, server(&[], answer));
        let counts = &outcome.total.counts;
        assert_eq!(counts.ended(ending), 10, "{counts:?}");
        // HEADERS with a field of one byte, and DATA.
        assert_eq!(counts.received_bytes, 10 * (9 + 1 + 9 + 1_000), "{ending:?}");
    }
}

#[test]
fn bodies_wait_for_the_windows() {
    // 100 bytes of each stream at a time.
    let settings = over_http2(closed_loop(1, 1), 4, 1_000).with(|job| {
        job.window = paceline_engine::Bound::Requests(40);
    });
    let outcome = run(&settings, server(&[(4, 100)], good));
    assert_eq!(outcome.total.counts.ended(Ending::Ok), 40, "{:?}", outcome.connections.failures);
}

#[test]
fn protocol_violations_are_named() {
    let cases: [(Answer, ConnectionFailure); 5] = [
        (|out, _, _| (0..2_000).for_each(|_| write_ping(out, [0; 8])), ConnectionFailure::Flood),
        (|out, _, _| (0..2_000).for_each(|_| write_settings(out, &[])), ConnectionFailure::Flood),
        (|out, _, _| (0..20_000).for_each(|_| write_window_update(out, 0, 1)), ConnectionFailure::Flood),
        (|out, stream, _| write_data(out, stream + 100, b"ok", true), ConnectionFailure::Http2),
        (|out, stream, _| write_field_block(out, stream, &[0x80], true), ConnectionFailure::Http2),
    ];
    for (answer, failure) in cases {
        let settings = over_http2(closed_loop(1, 1), 2, 0).with(|job| {
            job.window = paceline_engine::Bound::Requests(6);
        });
        let outcome = run(&settings, server(&[], answer));
        assert_eq!(outcome.total.counts.ended(Ending::IoFailed), 6, "{failure:?}");
        assert!(failures(&outcome, failure) > 0, "{failure:?}: {:?}", outcome.connections.failures);
        assert!(failure.breaks_rules());
        assert!(outcome.connections.details_of(failure).is_some(), "{failure:?}");
    }
    // A malformed response fails only its own request.
    let long: Answer = |out, stream, _| {
        write_field_block(out, stream, &[0x88, 0x0f, 0x0d, 1, b'9'], false);
        write_data(out, stream, b"ok", true);
    };
    let outcome = run(&over_http2(closed_loop(1, 1), 2, 0), server(&[], long));
    assert!(failures(&outcome, ConnectionFailure::MalformedResponse) > 0);
    assert_eq!(outcome.connections.made, 1);
}

#[test]
fn responses_on_stream_0_are_violations() {
    // The first response comes in pieces, as the place of its stream notes; afterwards the place is free, with id 0.
    let data: Answer = |out, stream, number| {
        let id = if number == 2 { 0 } else { stream };
        write_field_block(out, stream, OK, false);
        write_data(out, id, b"o", false);
        write_data(out, id, b"k", true);
    };
    let fields: Answer = |out, stream, number| good(out, if number == 2 { 0 } else { stream }, number);
    for answer in [data, fields] {
        let settings = over_http2(closed_loop(1, 1), 1, 0).with(|job| {
            job.window = paceline_engine::Bound::Requests(6);
        });
        let outcome = run(&settings, server(&[], answer));
        assert_eq!(outcome.total.counts.ended(Ending::IoFailed), 1);
        assert_eq!(failures(&outcome, ConnectionFailure::Http2), 1, "{:?}", outcome.connections.failures);
        let error = outcome.connections.details_of(ConnectionFailure::Http2).unwrap_or_default();
        assert!(error.contains("on stream 0"), "{error}");
    }
}

#[test]
fn frames_after_the_end_of_a_response_are_violations() {
    let data: Answer = |out, stream, number| {
        good(out, stream, number);
        write_data(out, stream, b"ok", true);
    };
    let fields: Answer = |out, stream, number| {
        good(out, stream, number);
        write_field_block(out, stream, OK, true);
    };
    for answer in [data, fields] {
        let outcome = run(&over_http2(closed_loop(1, 1), 4, 0), server(&[], answer));
        assert!(failures(&outcome, ConnectionFailure::Http2) > 0, "{:?}", outcome.connections.failures);
        let error = outcome.connections.details_of(ConnectionFailure::Http2).unwrap_or_default();
        assert!(error.contains("whose response had ended"), "{error}");
    }
}

/// A response in pieces of a byte, with a ping after each.
fn ping_between_pieces(out: &mut Vec<u8>, stream: u32, pieces: usize) {
    write_field_block(out, stream, OK, false);
    for _ in 0..pieces {
        write_data(out, stream, b"o", false);
        write_ping(out, [0; 8]);
    }
}

#[test]
fn a_server_that_reads_no_answer_to_its_pings_is_cut_off() {
    let settings = over_http2(closed_loop(1, 1), 1, 0).with(|job| {
        job.window = paceline_engine::Bound::Requests(3);
    });
    let run = |sends, answer: Answer| {
        let server = Deaf::new(server(&[], answer), |server| server.requests, sends, Vec::new());
        simulate(&settings, server, &VirtualClock::new(Nanos::ZERO)).unwrap()
    };
    let endless: Answer = |out, stream, _| ping_between_pieces(out, stream, 5_000);
    let outcome = run(u32::MAX, endless);
    assert_eq!(outcome.total.counts.ended(Ending::IoFailed), 3, "{:?}", outcome.connections.failures);
    assert_eq!(failures(&outcome, ConnectionFailure::Flood), 3, "{:?}", outcome.connections.failures);
    let details = outcome.connections.details_of(ConnectionFailure::Flood).unwrap_or_default();
    assert!(details.contains("has not read 1000 answers"), "{details}");
    // One that reads late.
    let late: Answer = |out, stream, _| {
        ping_between_pieces(out, stream, 900);
        write_data(out, stream, b"", true);
    };
    let outcome = run(5, late);
    assert_eq!(outcome.connections.failures, [], "all of it was answered");
    assert_eq!(outcome.total.counts.body_bytes, 2_700);
}

#[test]
fn pings_do_not_defer_the_timeout_of_a_server_that_reads_nothing() {
    let settings = over_http2(closed_loop(1, 1), 1, 0).with(|job| job.timeout = Nanos::from_millis(100));
    let mut ping = Vec::new();
    write_ping(&mut ping, [0; 8]);
    let ping = |number: u64| (Nanos(20 * number * MS.0), Act::Send(ping.as_slice().into()));
    let pings = (1..=100).map(ping).collect();
    let server = Deaf::new(server(&[], good), |server| server.requests, u32::MAX, pings);
    let outcome = simulate(&settings, server, &VirtualClock::new(Nanos::ZERO)).unwrap();
    let unread = failures(&outcome, ConnectionFailure::Unread);
    assert!(unread >= 4, "in a second of connections that last 120 ms: {:?}", outcome.connections.failures);
}

/// Responds in HTTP/1.1 to any input, or sends nothing.
struct Other(&'static [u8]);

impl Script for Other {
    fn connect(&mut self, _: Slot, _: Nanos) -> Connect {
        Connect::Accept(MS)
    }

    fn request(&mut self, _: Slot, _: Nanos, _: &mut Vec<(Nanos, Act)>) {}

    fn bytes(&mut self, _: Slot, _: &[u8], now: Nanos, acts: &mut Vec<(Nanos, Act)>) -> bool {
        acts.push((now + MS, Act::Send(self.0.into())));
        true
    }
}

#[test]
fn a_server_of_another_protocol_is_unreachable() {
    let http1 = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    for (says, why) in [(&http1[..], "the server does not speak HTTP/2"), (b"", "no HTTP/2 SETTINGS")] {
        let settings = over_http2(closed_loop(2, 1), 1, 0);
        let clock = VirtualClock::new(Nanos::ZERO);
        let error = simulate(&settings, Other(says), &clock).unwrap_err();
        let EngineError::Unreachable { source, .. } = error else { panic!("{error}") };
        assert!(source.to_string().starts_with(why), "{source}");
    }
}

#[test]
fn frames_are_no_flood_while_bodies_move() {
    // A server that reads an upload gives back the window in pieces, on the stream and on the connection, and pings.
    let upload = over_http2(closed_loop(1, 1), 1, 3_000_000).with(|job| {
        job.window = paceline_engine::Bound::Requests(2);
    });
    let outcome = run(&upload, server(&[(4, 300)], good));
    assert_eq!(outcome.total.counts.ended(Ending::Ok), 2, "{:?}", outcome.connections.failures);
    // One that sends a window update after each piece of a download.
    let download: Answer = |out, stream, _| {
        write_field_block(out, stream, OK, false);
        for _ in 0..12_000 {
            write_data(out, stream, b"o", false);
            write_window_update(out, 0, 1);
        }
        write_data(out, stream, b"", true);
    };
    let settings = over_http2(closed_loop(1, 1), 1, 0).with(|job| {
        job.window = paceline_engine::Bound::Requests(2);
    });
    let outcome = run(&settings, server(&[], download));
    assert_eq!(outcome.connections.failures, [], "all of it was read");
    assert_eq!(outcome.total.counts.body_bytes, 24_000);
}
