//! Streams of events, exactly: first events, gaps and ends at known times, in all splits, over HTTP/1.1 and HTTP/2; and
//! servers that misbehave, whose counts add up.

use crate::support::{closed_loop, open_loop};
use paceline_engine::sim::{Act, Connect, Script, VirtualClock, simulate};
use paceline_engine::stream::{
    JsonPlace, MessageTime, StreamExample, StreamExamples, StreamGap, StreamPlan, TextSearch,
};
use paceline_engine::{
    BodyCheck, Bound, ConnectionFailure, Ending, Job, Measure, Nanos, RequestKind, Requests, ResponseCheck,
    Settings, Slot, ThreadOutcome,
};
use paceline_http::h2::{
    CLIENT_PREFACE, FrameEvent, FrameReader, HpackEncoder, Indexing, write_data, write_field_block,
    write_settings, write_settings_ack,
};
use paceline_http::{EventFormat, LineFiles, Method, Request, RequestTemplate, Scheme, Url};
use paceline_job::Protocol;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

const TIMEOUT: Nanos = Nanos::from_secs(2);
const BOTH: [Protocol; 2] = [Protocol::Http11, Protocol::Http2];

fn ms(milliseconds: u64) -> Nanos {
    Nanos::from_millis(milliseconds)
}

/// How a response ends.
#[derive(Clone, Copy, PartialEq)]
enum End {
    /// As the protocol says.
    Whole,
    Close,
    Reset,
    Never,
}

/// A server that answers every request with the same pieces, at known times after it.
struct Feed {
    protocol: Protocol,
    status: u16,
    /// A further field of the head.
    field: Option<(&'static str, &'static str)>,
    head_at: Nanos,
    pieces: Vec<(Nanos, Vec<u8>)>,
    /// What each piece has instead of its text, given the moment at which it is sent.
    content: Option<fn(Nanos) -> String>,
    end: (Nanos, End),
    /// Whether only the close of the connection ends a response.
    until_close: bool,
    /// The number of bytes that a read returns.
    gives: usize,
    readers: HashMap<Slot, (FrameReader, usize)>,
}

impl Feed {
    /// Pieces, each this long after the request, and an end with the last; a break comes a moment later.
    fn new(protocol: Protocol, pieces: &[(u64, &str)], end: End) -> Self {
        let pieces: Vec<_> = pieces.iter().map(|(at, text)| (ms(*at), text.as_bytes().to_vec())).collect();
        let breaks = ms(u64::from(matches!(end, End::Close | End::Reset)));
        let last = pieces.last().map_or(ms(1), |(at, _)| *at) + breaks;
        Self {
            protocol,
            status: 200,
            field: None,
            head_at: ms(1),
            pieces,
            content: None,
            end: (last, end),
            until_close: false,
            gives: usize::MAX,
            readers: HashMap::new(),
        }
    }

    fn head(&self, stream: u32) -> Vec<u8> {
        if self.protocol == Protocol::Http2 {
            let (mut out, mut block, mut encoder) = (Vec::new(), Vec::new(), HpackEncoder::default());
            encoder.field(b":status", self.status.to_string().as_bytes(), Indexing::Omit, &mut block);
            if let Some((name, value)) = self.field {
                encoder.field(name.as_bytes(), value.as_bytes(), Indexing::Omit, &mut block);
            }
            write_field_block(&mut out, stream, &block, false);
            return out;
        }
        let framing = if self.until_close { "" } else { "Transfer-Encoding: chunked\r\n" };
        let field = self.field.map_or(String::new(), |(name, value)| format!("{name}: {value}\r\n"));
        format!("HTTP/1.1 {} X\r\n{field}{framing}\r\n", self.status).into_bytes()
    }

    fn piece(&self, stream: u32, piece: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        if self.protocol == Protocol::Http2 {
            piece.chunks(16_384).for_each(|part| write_data(&mut out, stream, part, false));
            return out;
        }
        if self.until_close {
            return piece.to_vec();
        }
        out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        out.extend_from_slice(piece);
        out.extend_from_slice(b"\r\n");
        out
    }

    fn respond(&self, stream: u32, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        acts.push((now + self.head_at, Act::Send(self.head(stream).into())));
        for (at, piece) in &self.pieces {
            let content = self.content.map(|content| content(now + *at).into_bytes());
            let piece = content.as_deref().unwrap_or(piece);
            acts.push((now + *at, Act::Send(self.piece(stream, piece).into())));
        }
        let (at, end) = self.end;
        let mut last = Vec::new();
        write_data(&mut last, stream, b"", true);
        acts.extend(match end {
            End::Whole if self.protocol == Protocol::Http2 => Some((now + at, Act::Send(last.into()))),
            End::Whole if self.until_close => Some((now + at, Act::Close)),
            End::Whole => Some((now + at, Act::Send(Rc::from(&b"0\r\n\r\n"[..])))),
            End::Close => Some((now + at, Act::Close)),
            End::Reset => Some((now + at, Act::Reset)),
            End::Never => None,
        });
    }
}

impl Script for Feed {
    fn connect(&mut self, slot: Slot, _: Nanos) -> Connect {
        self.readers.remove(&slot);
        Connect::Accept(Nanos::ZERO)
    }

    fn request(&mut self, _: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        self.respond(0, now, acts);
    }

    fn bytes(&mut self, slot: Slot, mut bytes: &[u8], now: Nanos, acts: &mut Vec<(Nanos, Act)>) -> bool {
        if self.protocol != Protocol::Http2 {
            return false;
        }
        let (reader, preface) = self.readers.entry(slot).or_default();
        let missing = (CLIENT_PREFACE.len() - *preface).min(bytes.len());
        let (mut out, mut streams) = (Vec::new(), Vec::new());
        if missing > 0 {
            *preface += missing;
            bytes = &bytes[missing..];
            write_settings(&mut out, &[(3, 100)]);
        }
        while !bytes.is_empty() {
            let (event, taken) = reader.next(bytes).unwrap();
            match event {
                FrameEvent::FieldBlock { stream, .. } => streams.push(stream),
                FrameEvent::Settings(_) => write_settings_ack(&mut out),
                _ => {}
            }
            bytes = &bytes[taken..];
        }
        if !out.is_empty() {
            acts.push((now, Act::Send(out.into())));
        }
        streams.iter().for_each(|stream| self.respond(*stream, now, acts));
        true
    }

    fn gives(&mut self, there: usize) -> usize {
        there.min(self.gives)
    }
}

fn plan(format: EventFormat) -> StreamPlan {
    StreamPlan {
        format,
        must_be_json: false,
        events: None,
        length: None,
        until: None,
        count: None,
        time: None,
        call: None,
    }
}

fn sent_events() -> StreamPlan {
    plan(EventFormat::ServerSent)
}

/// Requests whose responses are streams.
fn requests(plan: StreamPlan) -> Arc<Requests> {
    let check = ResponseCheck { status: None, body: BodyCheck::Stream(Arc::new(plan)) };
    let get = Request::get(&Url::parse("http://a/").unwrap());
    let template = RequestTemplate::fixed(get.encode().unwrap());
    let kind = RequestKind { weight: 1, template, method: Method::Other, check };
    let http2 = get.compile_http2(Scheme::Http, &LineFiles::default()).unwrap();
    Arc::new(Requests::from_kinds(vec![kind], 0).with_http2(vec![http2]))
}

/// A closed loop of one connection for some requests.
fn once(requests: u64) -> Settings {
    closed_loop(1, 1).with(|job| job.window = Bound::Requests(requests))
}

fn run(settings: Settings, plan: StreamPlan, feed: Feed) -> ThreadOutcome {
    let has_times = plan.time.is_some();
    let change = |job: &mut Job| (job.timeout, job.protocol) = (TIMEOUT, feed.protocol);
    let settings = Settings { requests: requests(plan), ..settings }.with(change);
    let outcome = simulate(&settings, feed, &VirtualClock::new(Nanos::ZERO)).unwrap();
    let (counts, streams) = (&outcome.total.counts, &outcome.total.counts.streams);
    assert!(counts.add_up());
    let times = |measure| outcome.total.times(measure).count();
    let with_events = times(Measure::FirstEvent);
    assert_eq!(
        times(Measure::EventGap),
        streams.events - with_events,
        "an event is the first, or follows a gap"
    );
    assert!(times(Measure::FirstBody) >= with_events && times(Measure::Stream) <= counts.ended(Ending::Ok));
    if has_times {
        let with_delay = times(Measure::MessageDelay);
        assert_eq!(with_delay + streams.without_time + streams.ahead_of_clock, streams.events);
    }
    outcome
}

/// The number of requests by ending that are not 0.
fn ended(outcome: &ThreadOutcome) -> Vec<(Ending, u64)> {
    let all = [Ending::Ok, Ending::BadStatus, Ending::BadBody, Ending::IoFailed, Ending::TimedOut];
    let counts = &outcome.total.counts;
    all.into_iter().map(|ending| (ending, counts.ended(ending))).filter(|(_, count)| *count > 0).collect()
}

fn fault(outcome: &ThreadOutcome) -> String {
    outcome.wrong_bodies[0].as_ref().map_or(String::new(), |wrong| wrong.fault.to_string())
}

/// Lowest and highest of a time, and its 95th percentile in milliseconds.
fn times(outcome: &ThreadOutcome, measure: Measure) -> (Option<u64>, Option<u64>, u64) {
    let times = outcome.total.times(measure);
    let p95 = times.quantile(0.95).unwrap_or(0) as f64 / 1e6;
    (times.min(), times.max(), p95.round() as u64)
}

/// Twenty events: the first after 100 ms, the others after 10 ms each, except for a stall of 500 ms before the eleventh.
fn stalling() -> Vec<(u64, &'static str)> {
    let event = "data: {\"n\": 2}\r\n\r\n";
    (0..20).map(|number| (100 + 10 * number + if number < 10 { 0 } else { 490 }, event)).collect()
}

#[test]
fn the_times_of_events_are_exact_in_every_split() {
    for protocol in BOTH {
        for gives in [1, 2, 3, 7, 16, usize::MAX] {
            let mut feed = Feed::new(protocol, &stalling(), End::Whole);
            (feed.gives, feed.end.0) = (gives, ms(790));
            let count = Some(JsonPlace::at("/n"));
            let outcome = run(once(10), StreamPlan { count, ..sent_events() }, feed);
            let of = |measure| times(&outcome, measure);
            let exactly = |time: Nanos| (Some(time.0), Some(time.0));
            let range = |(min, max, _)| (min, max);
            assert_eq!(range(of(Measure::FirstBody)), exactly(ms(100)), "{protocol:?} {gives}");
            assert_eq!(range(of(Measure::FirstEvent)), exactly(ms(100)), "{protocol:?} {gives}");
            assert_eq!(range(of(Measure::LongestGap)), exactly(ms(500)), "{protocol:?} {gives}");
            assert_eq!(range(of(Measure::Stream)), exactly(ms(690)), "{protocol:?} {gives}");
            assert_eq!(range(of(Measure::Service)), exactly(ms(790)), "{protocol:?} {gives}");
            // One of the 19 gaps of a stream is the stall.
            assert_eq!(of(Measure::EventGap), (Some(ms(10).0), Some(ms(500).0), 500), "{protocol:?} {gives}");
            let gaps = outcome.total.times(Measure::EventGap);
            assert_eq!((gaps.count(), gaps.count_at_or_below(ms(11).0)), (190, 180), "{protocol:?} {gives}");
            let streams = &outcome.total.counts.streams;
            assert_eq!((streams.streams, streams.events, streams.counted), (10, 200, 400.0));
            assert_eq!(streams.events_per_stream(), Some((20, 20)));
            assert_eq!(ended(&outcome), [(Ending::Ok, 10)]);
            assert_eq!(outcome.connections.made, 1, "a response that ends leaves the connection open");
        }
    }
}

/// The wall clock at the zero of the simulation's clock, in nanoseconds since 1970: 2026-11-21T01:06:39Z.
const ZERO_NS: u64 = 1_795_223_199_000_000_000;

/// Events that carry the times at which they were sent.
fn with_times(format: EventFormat) -> StreamPlan {
    StreamPlan { time: Some(MessageTime::at("/sent", ZERO_NS.into())), ..plan(format) }
}

#[test]
fn the_delays_of_events_are_exact_in_every_split() {
    // Two events were sent 30 and 5 ms before they arrive together; the third has no time.
    let content: fn(Nanos) -> String = |at| {
        let (thirty, five) = (ZERO_NS + at.0 - ms(30).0, at.0 - ms(5).0);
        let text = format!("2026-11-21T01:06:{}.{:09}Z", 39 + five / 1_000_000_000, five % 1_000_000_000);
        format!("data: {{\"sent\": {thirty}}}\n\ndata: {{\"sent\": \"{text}\"}}\n\ndata: [DONE]\n\n")
    };
    for protocol in BOTH {
        for gives in [1, 7, usize::MAX] {
            let feed = Feed::new(protocol, &[(100, "")], End::Whole);
            let feed = Feed { content: Some(content), gives, ..feed };
            let outcome = run(once(2), with_times(EventFormat::ServerSent), feed);
            let delays = outcome.total.times(Measure::MessageDelay);
            let range = (delays.min(), delays.max(), delays.count());
            assert_eq!(range, (Some(ms(5).0), Some(ms(30).0), 4), "{protocol:?} {gives}");
            let streams = &outcome.total.counts.streams;
            assert_eq!((streams.events, streams.without_time, streams.ahead_of_clock), (6, 2, 0));
            assert_eq!(ended(&outcome), [(Ending::Ok, 2)], "an event without a time is no fault");
        }
    }
}

#[test]
fn negative_delays_are_counted_apart() {
    // The sender's clock is ahead by 40 and by 15 ms.
    let content: fn(Nanos) -> String = |at| {
        let line = |ahead: u64| format!("{{\"sent\": {}}}\n", ZERO_NS + at.0 + ms(ahead).0);
        [line(40), line(15), line(0)].concat()
    };
    for protocol in BOTH {
        let feed = Feed::new(protocol, &[(20, "")], End::Whole);
        let feed = Feed { content: Some(content), ..feed };
        let outcome = run(once(1), with_times(EventFormat::Lines), feed);
        let delays = outcome.total.times(Measure::MessageDelay);
        assert_eq!((delays.count(), delays.max()), (1, Some(0)), "{protocol:?}");
        let streams = &outcome.total.counts.streams;
        assert_eq!((streams.events, streams.without_time), (3, 0));
        assert_eq!((streams.ahead_of_clock, streams.ahead_most), (2, ms(40)));
    }
}

#[test]
fn a_delay_that_a_histogram_does_not_hold_counts_as_none() {
    // A histogram holds times below 2^47 ns, which are 39 hours.
    let content: fn(Nanos) -> String = |at| {
        let line = |age: u64| format!("{{\"sent\": {}}}\n", ZERO_NS + at.0 - age);
        [line(ms(5).0), line((1 << 47) - 1), line(1 << 47)].concat()
    };
    for protocol in BOTH {
        let feed = Feed::new(protocol, &[(20, "")], End::Whole);
        let feed = Feed { content: Some(content), ..feed };
        let outcome = run(once(1), with_times(EventFormat::Lines), feed);
        let delays = outcome.total.times(Measure::MessageDelay);
        assert_eq!((delays.count(), delays.max()), (2, Some((1 << 47) - 1)), "{protocol:?}");
        let streams = &outcome.total.counts.streams;
        assert_eq!((streams.events, streams.without_time, streams.ahead_of_clock), (3, 1, 0));
    }
}

#[test]
fn an_open_loop_measures_from_the_intended_send_with_more_streams_than_connections() {
    for protocol in BOTH {
        // Ten streams a second, of a second each, over three places: seven of ten wait ever longer.
        let mut pieces = vec![(200, "data: a\n\n")];
        pieces.extend((3..=10).map(|tenth| (100 * tenth, "data: b\n\n")));
        let feed = Feed::new(protocol, &pieces, End::Whole);
        let settings = if protocol == Protocol::Http2 {
            open_loop(10.0, 1, 3).with(|job| job.depth = 3)
        } else {
            open_loop(10.0, 3, 3)
        };
        let outcome = run(settings, sent_events(), feed);
        assert_eq!(ended(&outcome), [(Ending::Ok, 30)], "{protocol:?}");
        // Stream n is due at n/10 s, and begins when stream n - 3 has ended, a second after its begin.
        let mut begins = Vec::new();
        for number in 0..30usize {
            let free =
                number.checked_sub(3).map_or(Nanos::ZERO, |before| begins[before] + Nanos::from_secs(1));
            begins.push(free.max(ms(100 * number as u64)));
        }
        let waits = begins.iter().zip(0..).map(|(begin, number)| begin.since(ms(100 * number)));
        let first: Vec<u64> = waits.map(|wait| (wait + ms(200)).0).collect();
        let times = outcome.total.times(Measure::FirstEvent);
        let mean = first.iter().sum::<u64>() as f64 / 30.0;
        assert_eq!((times.min(), times.max()), (first.iter().min().copied(), first.iter().max().copied()));
        assert!((times.mean().unwrap() - mean).abs() < 1.0, "{protocol:?}: {:?} {mean}", times.mean());
        let gaps = outcome.total.times(Measure::EventGap);
        assert_eq!((gaps.min(), gaps.max(), gaps.count()), (Some(ms(100).0), Some(ms(100).0), 240));
        assert!(outcome.total.counts.streams.events_in_window < 270, "some events come after the window");
    }
}

#[test]
fn a_stream_ends_as_asked() {
    let pieces: Vec<(u64, &str)> = (1..=100).map(|tenth| (10 * tenth, "data: a\n\n")).collect();
    let with_text: Vec<(u64, &str)> = [(10, "data: a\n\n"), (20, "data: [DO"), (30, "NE]\n\n")].into();
    let until = TextSearch::new(b"data: [DONE]");
    for protocol in BOTH {
        // The server goes on: the stream ends with the fifth event, and the response with the next bytes.
        let five = StreamPlan { events: Some(5), ..sent_events() };
        let outcome = run(once(3), five.clone(), Feed::new(protocol, &pieces, End::Whole));
        assert_eq!(ended(&outcome), [(Ending::Ok, 3)]);
        assert_eq!(times(&outcome, Measure::Service).0, Some(ms(50).0));
        assert_eq!(outcome.total.counts.streams.events, 15);
        let cut = if protocol == Protocol::Http2 { 0 } else { 3 };
        assert_eq!((outcome.connections.closed_as_asked, outcome.connections.closed_by_us), (cut, 0));
        assert_eq!(outcome.connections.failures, []);
        // It ends after exactly five events: the connection is used again.
        let outcome = run(once(3), five.clone(), Feed::new(protocol, &pieces[..5], End::Whole));
        assert_eq!((ended(&outcome), outcome.connections.made), (vec![(Ending::Ok, 3)], 1));
        // It sends nothing more, and does not end the response: Paceline does, after a moment.
        let outcome = run(once(3), five.clone(), Feed::new(protocol, &pieces[..5], End::Never));
        assert_eq!(ended(&outcome), [(Ending::Ok, 3)]);
        assert_eq!(times(&outcome, Measure::Service).1, Some(ms(50).0));
        // The connection breaks after the last event that was asked for.
        for end in [End::Close, End::Reset] {
            let mut feed = Feed::new(protocol, &pieces[..5], end);
            feed.end.0 = ms(60);
            assert_eq!(ended(&run(once(3), five.clone(), feed)), [(Ending::Ok, 3)]);
        }
        let done = StreamPlan { until: until.clone(), ..sent_events() };
        for gives in [1, usize::MAX] {
            let mut feed = Feed::new(protocol, &with_text, End::Whole);
            (feed.gives, feed.end.0) = (gives, ms(40));
            let outcome = run(once(2), done.clone(), feed);
            assert_eq!((ended(&outcome), outcome.connections.made), (vec![(Ending::Ok, 2)], 1));
            assert_eq!(outcome.total.counts.streams.events, 4);
            assert_eq!(times(&outcome, Measure::Service).0, Some(ms(30).0), "it ends with the text");
        }
        // For 55 ms from the head on.
        let timed = StreamPlan { length: Some(ms(55)), ..sent_events() };
        let outcome = run(once(3), timed.clone(), Feed::new(protocol, &pieces, End::Whole));
        let whole = (vec![(Ending::Ok, 3)], Some(ms(56).0));
        assert_eq!((ended(&outcome), times(&outcome, Measure::Service).1), whole);
        assert_eq!(outcome.total.counts.streams.events, 15);
        // The server ends at that very moment, and the end is read before the alarm rings.
        for end in [End::Whole, End::Close, End::Reset] {
            let mut feed = Feed::new(protocol, &pieces[..5], end);
            feed.end.0 = ms(56);
            let outcome = run(once(3), timed.clone(), feed);
            assert_eq!((ended(&outcome), times(&outcome, Measure::Service).1), whole, "{protocol:?}");
        }
    }
}

#[test]
fn a_stream_that_has_ended_as_asked_does_not_time_out() {
    let pieces: Vec<(u64, &str)> = (1..=5).map(|tenth| (10 * tenth, "data: a\n\n")).collect();
    for protocol in BOTH {
        let five = StreamPlan { events: Some(5), ..sent_events() };
        // The timeout is shorter than the time that the server has to end its response.
        let change = |job: &mut Job| (job.timeout, job.protocol) = (ms(50), protocol);
        let settings = Settings { requests: requests(five), ..once(3) }.with(change);
        let feed = Feed::new(protocol, &pieces, End::Never);
        let outcome = simulate(&settings, feed, &VirtualClock::new(Nanos::ZERO)).unwrap();
        assert_eq!(ended(&outcome), [(Ending::Ok, 3)]);
        assert_eq!(outcome.connections.failures, [], "{protocol:?}");
        let cut = if protocol == Protocol::Http2 { 0 } else { 3 };
        assert_eq!((outcome.connections.closed_as_asked, outcome.connections.closed_by_us), (cut, 0));
    }
}

#[test]
fn a_text_ends_a_stream_of_chunks_if_one_contains_it() {
    let chunks = [(10, "[DO"), (20, "NE]"), (30, "a [DONE] b")];
    let done = StreamPlan { until: TextSearch::new(b"[DONE]"), ..plan(EventFormat::Chunks) };
    for protocol in BOTH {
        for gives in [1, usize::MAX] {
            let mut feed = Feed::new(protocol, &chunks, End::Whole);
            (feed.gives, feed.end.0) = (gives, ms(40));
            let outcome = run(once(1), done.clone(), feed);
            let events = outcome.total.counts.streams.events;
            assert_eq!((ended(&outcome), events), (vec![(Ending::Ok, 1)], 3), "{protocol:?}");
        }
    }
}

#[test]
fn the_timeout_is_for_each_gap() {
    for protocol in BOTH {
        // 5.7 s in all, 1.9 s between events; then silence.
        let pieces = [(1_900, "data: a\n\n"), (3_800, "data: b\n\n"), (5_700, "data: c\n\n")];
        let outcome = run(once(1), sent_events(), Feed::new(protocol, &pieces, End::Whole));
        assert_eq!(ended(&outcome), [(Ending::Ok, 1)], "{protocol:?}");
        let outcome = run(once(1), sent_events(), Feed::new(protocol, &pieces, End::Never));
        assert_eq!(ended(&outcome), [(Ending::TimedOut, 1)]);
        assert_eq!(outcome.connections.failures, [(ConnectionFailure::SilentStream, 1)], "{protocol:?}");
        let (waited, _, _) = times(&outcome, Measure::Service);
        assert!((ms(7_700).0..ms(8_000).0).contains(&waited.unwrap()), "{protocol:?}: {waited:?}");
        // Bytes that are no event do not count.
        let mut comments: Vec<(u64, &str)> = (1..60).map(|tenth| (100 * tenth, ": ping\n\n")).collect();
        comments.insert(0, (50, "data: a\n\n"));
        let outcome = run(once(1), sent_events(), Feed::new(protocol, &comments, End::Never));
        assert_eq!(ended(&outcome), [(Ending::TimedOut, 1)]);
        // A response that has not begun is no stream.
        let mute = Feed { head_at: ms(100_000), ..Feed::new(protocol, &[(100_001, "")], End::Whole) };
        let outcome = run(once(1), sent_events(), mute);
        assert_eq!(outcome.connections.failures, [(ConnectionFailure::TimedOut, 1)], "{protocol:?}");
    }
}

/// What came of one request: its ending, the fault of its body, and the events that were counted.
type Result = (Ending, &'static str, u64);

/// A server: its name, how its responses are read, what it sends and when, how it ends, and what must come of it.
type Case = (&'static str, StreamPlan, Vec<(u64, &'static str)>, End, Result);

fn event(at: u64) -> (u64, &'static str) {
    (at, "data: {\"n\": 1}\n\n")
}

/// Connections that break, fall silent, or end too early.
fn bad_ends() -> Vec<Case> {
    let ten = || StreamPlan { events: Some(10), ..sent_events() };
    vec![
        ("reset", sent_events(), vec![event(10), event(20)], End::Reset, (Ending::IoFailed, "", 2)),
        (
            "half-close",
            sent_events(),
            vec![event(10), (20, "data: x")],
            End::Close,
            (Ending::IoFailed, "", 1),
        ),
        ("never answers", sent_events(), vec![], End::Never, (Ending::TimedOut, "", 0)),
        ("falls silent", sent_events(), vec![event(10)], End::Never, (Ending::TimedOut, "", 1)),
        (
            "ends in mid-event",
            sent_events(),
            vec![event(10), (20, "data: x\n")],
            End::Whole,
            (Ending::BadBody, "the server ended the stream in the middle of an event, after 1 event", 1),
        ),
        (
            "ends early",
            ten(),
            vec![event(10), event(20)],
            End::Whole,
            (Ending::BadBody, "the server ended the stream early, after 2 events", 2),
        ),
    ]
}

/// Events that are long, cut, or none.
fn odd_events() -> Vec<Case> {
    let json = || StreamPlan { must_be_json: true, ..plan(EventFormat::Lines) };
    let lines = || plan(EventFormat::Lines);
    let counting = || StreamPlan { count: Some(JsonPlace::at("/n")), ..sent_events() };
    let huge: &'static str = Box::leak(format!("data: {}\n\n", "x".repeat(2 << 20)).into_boxed_str());
    vec![
        (
            "huge event, read",
            counting(),
            vec![event(10), (20, huge)],
            End::Whole,
            (Ending::BadBody, "event 2 of the stream is longer than 1048576 bytes, too long to be read", 1),
        ),
        ("huge event, not read", sent_events(), vec![(20, huge)], End::Whole, (Ending::Ok, "", 1)),
        (
            "no line end",
            sent_events(),
            vec![(10, "data: x"), (20, "yz")],
            End::Whole,
            (Ending::BadBody, "the server ended the stream in the middle of an event, after 0 events", 0),
        ),
        ("no line end", lines(), vec![(10, "x"), (20, "yz")], End::Whole, (Ending::Ok, "", 1)),
        (
            "comments only",
            sent_events(),
            vec![(10, ": x\n\n"), (20, "retry: 10\n\n"), (30, "event: x\n\n")],
            End::Whole,
            (Ending::BadBody, "the stream had no event", 0),
        ),
        ("empty", lines(), vec![], End::Whole, (Ending::BadBody, "the stream had no event", 0)),
        (
            "not JSON",
            json(),
            vec![(10, "{}\n[1]\n"), (20, "{\"a\": \n")],
            End::Whole,
            (Ending::BadBody, "event 3 of the stream is not JSON", 3),
        ),
        (
            "line ends",
            sent_events(),
            vec![(10, "data: a\r"), (20, "\n\rda"), (30, "ta:b\r\r")],
            End::Whole,
            (Ending::Ok, "", 2),
        ),
        (
            "chunks in a line",
            json(),
            vec![(10, "{\"a\""), (20, ": 1}\n\n{"), (30, "}")],
            End::Whole,
            (Ending::Ok, "", 2),
        ),
        (
            "chunks",
            plan(EventFormat::Chunks),
            vec![(10, "a\n"), (20, "b"), (20, "\n\n")],
            End::Whole,
            (Ending::Ok, "", 3),
        ),
    ]
}

#[test]
fn servers_that_misbehave() {
    let cases = [bad_ends(), odd_events()].concat();
    for protocol in BOTH {
        for (name, plan, pieces, end, (ending, reason, events)) in &cases {
            for gives in [1000, usize::MAX] {
                let mut feed = Feed::new(protocol, pieces, *end);
                feed.gives = gives;
                let outcome = run(once(4), plan.clone(), feed);
                let context = format!("{name} over {protocol:?}, {gives}");
                assert_eq!(ended(&outcome), [(*ending, 4)], "{context}: {}", fault(&outcome));
                assert_eq!(fault(&outcome), *reason, "{context}");
                assert_eq!(outcome.total.counts.streams.events, 4 * events, "{context}");
            }
        }
    }
}

#[test]
fn responses_that_are_no_streams() {
    let bytes = |bytes: &[u8]| vec![(ms(10), bytes.to_vec())];
    for protocol in BOTH {
        let event = || Feed::new(protocol, &[(10, "data: a\n\n")], End::Whole);
        let refused = Feed { status: 503, ..event() };
        let outcome = run(once(3), sent_events(), refused);
        assert_eq!((ended(&outcome), outcome.total.counts.streams.events), (vec![(Ending::BadStatus, 3)], 0));
        let coded = Feed { field: Some(("content-encoding", "gzip")), ..event() };
        let outcome = run(once(3), sent_events(), coded);
        assert_eq!(ended(&outcome), [(Ending::BadBody, 3)]);
        assert!(fault(&outcome).contains("compressed"), "{}", fault(&outcome));
        // Bytes that are not UTF-8 are content like any other, except in JSON.
        let text = Feed { pieces: bytes(b"data: \xff\xfe\n\n"), ..event() };
        assert_eq!(ended(&run(once(3), sent_events(), text)), [(Ending::Ok, 3)]);
        let json = StreamPlan { must_be_json: true, ..plan(EventFormat::Lines) };
        let text = Feed { pieces: bytes(b"{\"a\": \"\xff\"}\n"), ..event() };
        assert_eq!(ended(&run(once(3), json, text)), [(Ending::BadBody, 3)]);
    }
}

#[test]
fn a_close_ends_a_response_only_between_events() {
    let feed = |text| Feed {
        until_close: true,
        ..Feed::new(Protocol::Http11, &[(10, "a\n"), (20, text)], End::Whole)
    };
    let lines = || plan(EventFormat::Lines);
    assert_eq!(ended(&run(once(2), lines(), feed("b\n"))), [(Ending::Ok, 2)]);
    let outcome = run(once(2), lines(), feed("b"));
    assert_eq!(ended(&outcome), [(Ending::BadBody, 2)]);
    assert!(fault(&outcome).contains("middle of an event"), "{}", fault(&outcome));
}

#[test]
fn a_stream_without_an_end_lasts_until_the_drain_is_over() {
    for protocol in BOTH {
        let pieces: Vec<(u64, &str)> = (1..1_000).map(|tenth| (100 * tenth, "data: a\n\n")).collect();
        let settings = closed_loop(2, 1).with(|job| job.drain = Nanos::from_secs(3));
        let outcome = run(settings, sent_events(), Feed::new(protocol, &pieces, End::Never));
        assert_eq!(ended(&outcome), [(Ending::TimedOut, 2)]);
        assert_eq!(outcome.total.counts.streams.events, 2 * 40, "four seconds");
        assert_eq!(outcome.total.counts.streams.events_in_window, 2 * 9);
    }
}

/// The times of the kept events of an example, after the intended send.
fn kept(example: &StreamExample) -> Vec<Nanos> {
    example.events.kept.iter().map(|event| event.since(example.moments.intended)).collect()
}

#[test]
fn examples_have_the_times_of_their_events() {
    for protocol in BOTH {
        for gives in [1, usize::MAX] {
            let mut feed = Feed::new(protocol, &stalling(), End::Whole);
            (feed.gives, feed.end.0) = (gives, ms(800));
            let outcome = run(once(3), sent_events(), feed);
            let examples = &outcome.stream_examples;
            assert_eq!((examples.watched, examples.sample.len()), (3, 3), "{protocol:?} {gives}");
            assert!(examples.longest_gap.is_some() && examples.slowest_first_event.is_some());
            let expected: Vec<Nanos> = stalling().iter().map(|(at, _)| ms(*at)).collect();
            let both = [&examples.longest_gap, &examples.slowest_first_event];
            for example in both.into_iter().flatten().chain(&examples.sample) {
                assert_eq!(kept(example), expected, "{protocol:?} {gives}");
                let (intended, events) = (example.moments.intended, &example.events);
                assert_eq!((events.every, events.count, events.last), (1, 20, intended + ms(780)));
                let gap = StreamGap { after_event: 10, start: intended + ms(190), length: ms(500) };
                assert_eq!(events.longest_gap, Some(gap));
                assert_eq!(example.moments.first_body, intended + ms(100));
                assert_eq!(example.moments.ended, intended + ms(800));
            }
            let begins: Vec<Nanos> = examples.sample.iter().map(|example| example.moments.intended).collect();
            assert!(begins.windows(2).all(|pair| pair[1].since(pair[0]) >= ms(800)), "{begins:?}");
        }
    }
}

#[test]
fn the_slowest_example_counts_from_the_intended_send() {
    for protocol in BOTH {
        // Ten streams a second, of a second each, over three places: stream n waits 700 ms for each third of n.
        let pieces: Vec<(u64, &str)> = (2..=10).map(|tenth| (100 * tenth, "data: a\n\n")).collect();
        let settings = if protocol == Protocol::Http2 {
            open_loop(10.0, 1, 3).with(|job| job.depth = 3)
        } else {
            open_loop(10.0, 3, 3)
        };
        let outcome = run(settings, sent_events(), Feed::new(protocol, &pieces, End::Whole));
        let examples = &outcome.stream_examples;
        let slowest = examples.slowest_first_event.as_ref().unwrap();
        assert_eq!(slowest.moments.intended, outcome.spans.window + ms(2_700), "{protocol:?}");
        let expected: Vec<Nanos> = pieces.iter().map(|(at, _)| ms(6_300 + at)).collect();
        assert_eq!(kept(slowest), expected, "{protocol:?}");
        let longest = examples.longest_gap.as_ref().unwrap();
        assert_eq!(longest.moments.intended, outcome.spans.window, "all are as long: the first is kept");
        let median = Nanos(outcome.total.times(Measure::FirstEvent).quantile(0.5).unwrap());
        let distance = |example: &StreamExample| kept(example)[0].0.abs_diff(median.0);
        let typical = examples.typical(median).unwrap();
        assert!(examples.sample.iter().all(|other| distance(typical) <= distance(other)), "{protocol:?}");
        assert_eq!((examples.watched, examples.sample.len()), (30, 8), "{protocol:?}");
    }
}

#[test]
fn a_long_example_is_thinned_and_its_longest_gap_stays_exact() {
    // A thousand events, 10 ms apart, and a stall before event 603.
    let at = |index: u64| 100 + 10 * index + if index < 602 { 0 } else { 490 };
    let pieces: Vec<(u64, &str)> = (0..1_000).map(|index| (at(index), "data: a\n\n")).collect();
    for protocol in BOTH {
        let outcome = run(once(1), sent_events(), Feed::new(protocol, &pieces, End::Whole));
        let example = outcome.stream_examples.longest_gap.as_ref().unwrap();
        let (intended, events) = (example.moments.intended, &example.events);
        let every_fourth: Vec<Nanos> = (0..1_000).step_by(4).map(|index| ms(at(index))).collect();
        assert_eq!(kept(example), every_fourth, "{protocol:?}");
        assert_eq!((events.every, events.count, events.last), (4, 1_000, intended + ms(at(999))));
        let gap = StreamGap { after_event: 602, start: intended + ms(6_110), length: ms(500) };
        assert_eq!(events.longest_gap, Some(gap), "{protocol:?}");
    }
}

#[test]
fn only_whole_streams_of_the_window_are_examples() {
    for protocol in BOTH {
        let failing = Feed::new(protocol, &stalling(), End::Reset);
        assert_eq!(run(once(3), sent_events(), failing).stream_examples, StreamExamples::default());
        let settings = closed_loop(2, 2).with(|job| job.warmup = Nanos::from_secs(1));
        let outcome = run(settings, sent_events(), Feed::new(protocol, &stalling(), End::Whole));
        let examples = &outcome.stream_examples;
        assert_eq!(examples.watched, outcome.total.counts.ended(Ending::Ok), "{protocol:?}");
        assert!(examples.watched > 0, "{protocol:?}");
        for example in &examples.sample {
            assert!(example.moments.intended >= outcome.spans.window, "{protocol:?}: {example:?}");
        }
    }
}

#[test]
fn a_limited_number_of_streams_is_watched_at_a_time() {
    for protocol in BOTH {
        let outcome = run(closed_loop(100, 1), sent_events(), Feed::new(protocol, &stalling(), End::Whole));
        let (watched, ok) = (outcome.stream_examples.watched, outcome.total.counts.ended(Ending::Ok));
        assert!((64..ok).contains(&watched), "{protocol:?}: {watched} of {ok}");
        let sample = &outcome.stream_examples.sample;
        assert!(sample.iter().all(|example| example.events.count == 20), "{protocol:?}");
    }
}
