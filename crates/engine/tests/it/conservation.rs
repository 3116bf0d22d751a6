//! Every request that fell due ends exactly once, in its cohort, with times that add up, whatever the server does.
//!
//! Many simulated runs, with settings and server drawn from a seed; `PACELINE_CASES` and `PACELINE_FIRST_CASE` set
//! their number and the first. `freeze.rs`, `life.rs` and `timeouts.rs` check that times are right, `kernel.rs` and
//! `faults.rs` test the kernel's sockets.

use crate::http3::{any_server, any_server_early, server_config};
use crate::support::{REQUEST, asking, closed_loop};
use paceline_engine::hot::Recorder;
use paceline_engine::sim::{
    Http3Behaviour, MisbehavingHttp2, MisbehavingHttp3, MisbehavingServer, Script, VirtualClock,
    simulate_with,
};
use paceline_engine::stream::{JsonPlace, MessageTime, StreamPlan, TextSearch};
use paceline_engine::{
    Arrivals, BodyCheck, Bound, CallCheck, Ending, EngineError, ExpectedValue, Job, LoadModel, Measure,
    Nanos, PaceKind, Random, Rate, RequestKind, Requests, ResponseCheck, Settings, Shape, Tally, TallyCounts,
    Think,
};
use paceline_http::{EventFormat, GrpcCode, LineFiles, Method, Request, RequestTemplate, Scheme, Url};
use paceline_job::{ConnectionPart, ConnectionPlan, Protocol, RatePart};
use std::sync::Arc;

/// Simulated runs in the everyday test; `PACELINE_CASES=1000000` runs the million.
const CASES: u64 = 25_000;
/// The same over HTTP/2.
const CASES_HTTP2: u64 = 5_000;
/// The same over HTTP/3, where handshakes and packets are encrypted.
const CASES_HTTP3: u64 = 500;

/// A shape determined by the seed, and its window, if it requires one.
fn shape(random: &mut Random) -> (Shape, Option<Nanos>) {
    let rate = |random: &mut Random| Rate::per_second(1.0 + random.unit() * 5_000.0).unwrap();
    let shape = match random.below(7) {
        0 => Shape::Ramp { from: rate(random), to: rate(random) },
        1 => {
            let rates: Vec<_> = (0..1 + random.below(5)).map(|_| rate(random)).collect();
            Shape::Steps { rates, each: Nanos(1 + random.below(12_000_000)) }
        }
        3 => {
            let part = |random: &mut Random| RatePart {
                from: rate(random),
                to: rate(random),
                length: Nanos(1 + random.below(12_000_000)),
            };
            Shape::Parts { parts: (0..1 + random.below(4)).map(|_| part(random)).collect() }
        }
        2 => {
            let mut times: Vec<_> =
                (0..1 + random.below(100)).map(|_| Nanos(random.below(40_000_000))).collect();
            times.sort_unstable();
            Shape::Trace(times.into())
        }
        _ => Shape::Steady { rate: rate(random) },
    };
    // A trace has a window that contains all of its sends; with the time for their responses, which `length()` adds,
    // the window would be mostly that time.
    let length = match &shape {
        Shape::Trace(trace) => trace.moments.last().map(|last| *last + Nanos(1 + random.below(5_000_000))),
        other => other.length(),
    };
    (shape, length)
}

/// How long connections are used, determined by the seed, consistent with the other settings.
fn connections(random: &mut Random, depth: u16, job: &mut Job) {
    job.requests_per_connection = (random.below(3) == 0).then(|| 1 + random.below(5) as u32);
    let mean = Nanos(random.below(5_000_000));
    let may_think = !job.load.is_open() && depth == 1;
    job.think = match random.below(4) {
        0 if may_think => Some(Think::constant(mean)),
        1 if may_think => Some(Think::exponential(mean)),
        _ => None,
    };
    job.keep_alive = depth > 1 || job.requests_per_connection.is_some() || random.below(4) > 0;
}

/// A number of connections that changes, determined by the seed: the window is as long as its parts.
fn connection_plan(random: &mut Random, job: &mut Job) {
    let number = |random: &mut Random| 1 + random.below(6) as u32;
    let part = |random: &mut Random| ConnectionPart {
        from: number(random),
        to: number(random),
        length: Nanos(1 + random.below(12_000_000)),
    };
    let plan = ConnectionPlan::Parts { parts: (0..1 + random.below(4)).map(|_| part(random)).collect() };
    job.connections = plan.range().1;
    job.window = plan.length().map_or(job.window, Bound::Duration);
    job.connection_plan = Some(plan);
}

/// A stream that ends in any way.
fn stream(random: &mut Random) -> StreamPlan {
    let formats = [EventFormat::ServerSent, EventFormat::Lines, EventFormat::Chunks];
    let plan = StreamPlan {
        format: formats[random.below(3) as usize],
        must_be_json: random.below(4) == 0,
        events: (random.below(3) == 0).then(|| 1 + random.below(2)),
        length: (random.below(3) == 0).then(|| Nanos(1 + random.below(5_000_000))),
        until: (random.below(3) == 0).then(|| TextSearch::new(b"k")).flatten(),
        call: None,
        count: (random.below(3) == 0).then(|| JsonPlace::at("")),
        time: None,
    };
    StreamPlan { time: plan.count.as_ref().map(|_| MessageTime::at("", 0)), ..plan }
}

/// One request, or several kinds whose bytes are made as they are sent, with checks of all kinds.
fn requests(random: &mut Random) -> Arc<Requests> {
    let status = (random.below(3) == 0).then_some(200);
    let plain = Url::parse("http://a/").unwrap();
    let http2 = |request: &Request| request.compile_http2(Scheme::Http, &LineFiles::default()).unwrap();
    if random.below(3) > 0 {
        let requests = asking(status, (random.below(2) == 0).then_some(b"ok"));
        return Arc::new(Requests::clone(&requests).with_http2(vec![http2(&Request::get(&plain))]));
    }
    let url = Url::parse("http://a/{seq}?{rand:1:100000}").unwrap();
    let kind = |random: &mut Random| {
        let body = match random.below(6) {
            0 => BodyCheck::Any,
            5 => {
                let call = CallCheck { code: GrpcCode::Ok, accepts_gzip: false, message: None };
                BodyCheck::Call(Arc::new(call))
            }
            4 => BodyCheck::Stream(Arc::new(stream(random))),
            1 => BodyCheck::Exact(Arc::from(*b"ok")),
            2 => BodyCheck::Sha256([0; 32]),
            _ => BodyCheck::Json(Arc::new([ExpectedValue::parse("=1").unwrap()])),
        };
        let body_sent = [&b""[..], b"{seq}", b"as it is"][random.below(3) as usize].to_vec();
        let varied = Request { body: body_sent, ..Request::get(&url) };
        let (template, http2) = match random.below(2) {
            0 => (RequestTemplate::fixed(REQUEST.to_vec()), http2(&Request::get(&plain))),
            _ => (varied.compile(&LineFiles::default()).unwrap(), http2(&varied)),
        };
        let (weight, method) = (1 + random.below(5) as u32, Method::Other);
        (RequestKind { weight, template, method, check: ResponseCheck { status, body } }, http2)
    };
    let (kinds, http2) = (0..1 + random.below(4)).map(|_| kind(random)).unzip();
    Arc::new(Requests::from_kinds(kinds, 0).with_http2(http2))
}

/// Settings determined by the seed: every kind of load, every edge of the phases.
fn settings(random: &mut Random) -> Settings {
    let (shape, length) = shape(random);
    let steady = matches!(shape, Shape::Steady { .. });
    let random_arrivals = !matches!(shape, Shape::Trace(_)) && random.below(2) == 0;
    let arrivals = if random_arrivals { Arrivals::Poisson } else { Arrivals::Constant };
    let window = length.unwrap_or(Nanos(1 + random.below(40_000_000)));
    let bound = match random.below(4) {
        0 if steady => Bound::Requests(1 + random.below(60)),
        _ => Bound::Duration(window),
    };
    let closed = random.below(3) == 0;
    let depth = 1 + random.below(3) as u16 * random.below(4) as u16;
    let max_warmup = match &shape {
        _ if matches!(bound, Bound::Requests(_)) => 0,
        Shape::Trace(trace) => trace.moments.last().map_or(0, |last| last.0),
        _ => u64::MAX,
    };
    let warmup = max_warmup.min(random.below(3) * random.below(10_000_000));
    Settings {
        pace: [PaceKind::Sleep, PaceKind::Hybrid, PaceKind::Spin][random.below(3) as usize],
        requests: requests(random),
        seed: random.next_u64(),
        ..closed_loop(1, 1)
    }
    .with(|job| {
        job.connections = 1 + random.below(6) as u32;
        job.depth = depth;
        job.load = if closed { LoadModel::Closed } else { LoadModel::Open { shape, arrivals } };
        connections(random, depth, job);
        job.batch = random.below(4) == 0 && closed;
        job.window = bound;
        job.warmup = Nanos(warmup);
        job.drain = Nanos(random.below(3) * random.below(30_000_000));
        job.timeout = Nanos(1_000_000 + random.below(20_000_000));
        job.connect_timeout = Nanos(1 + random.below(20_000_000));
        if closed && matches!(bound, Bound::Duration(_)) && random.below(3) == 0 {
            connection_plan(random, job);
        }
    })
}

/// The time taken by reading the clock. A spinning worker reads it all the time and must still advance, so
/// its step is mostly coarse.
fn look(settings: &Settings, random: &mut Random) -> Nanos {
    match (settings.pace, random.below(20)) {
        (PaceKind::Sleep, _) => Nanos(random.below(2) * random.below(2_000)),
        (_, 0) => Nanos(500),
        _ => Nanos(1_000 + random.below(20_000)),
    }
}

fn check(case: u64, settings: &Settings, stop_at: Nanos, tallies: &[Tally], arrived: Option<u64>) {
    let counts: Vec<_> = tallies.iter().map(|tally| &tally.counts).collect();
    let context = || format!("case {case}: {settings:?}\n{counts:?}");
    let blocks = 1 + settings.job.segments().len().max(1);
    let kinds = settings.requests.kinds().len();
    assert_eq!(tallies.len(), blocks * kinds, "{}", context());
    for tally in tallies {
        check_tally(tally, settings, &context);
    }
    let both = |count: fn(&TallyCounts) -> u64| tallies.iter().map(|tally| count(&tally.counts)).sum::<u64>();
    let never_sent = both(|counts| counts.ended(Ending::Unsent) + counts.ended(Ending::ConnectFailed));
    let sent = both(|counts| counts.scheduled) - never_sent;
    // The script goes on behind a close that it has announced; those requests are sent again.
    let arrived = arrived.filter(|_| settings.job.depth == 1 || settings.job.protocol.has_streams());
    assert!(arrived.is_none_or(|arrived| arrived <= sent), "more arrived than was sent; {}", context());
    let (LoadModel::Open { shape, arrivals: Arrivals::Constant }, Bound::Duration(window)) =
        (&settings.job.load, settings.job.window)
    else {
        return;
    };
    let truth = due(shape, settings.job.warmup, window);
    let of_segment = |tallies: &[Tally]| tallies.iter().map(|tally| tally.counts.scheduled).sum::<u64>();
    let scheduled: Vec<_> = tallies[kinds..].chunks(kinds).map(of_segment).collect();
    assert!(scheduled.iter().zip(&truth).all(|(count, truth)| count <= truth), "{truth:?}; {}", context());
    if stop_at == Nanos::NEVER {
        assert_eq!(scheduled, truth, "{}", context());
    }
}

/// Arrivals expected in the first nanoseconds of the window.
type Integral = Box<dyn Fn(f64) -> f64>;

/// The number of even arrivals due in each segment of the window, counted without the engine: tick n is due in a
/// stretch of time at whose ends the integral of the rate is on both sides of n.
fn due(shape: &Shape, warmup: Nanos, window: Nanos) -> Vec<u64> {
    let (from, ends, integral): (f64, Vec<u64>, Integral) = match shape {
        Shape::Trace(trace) => {
            let edge = |i: u64| warmup + Nanos((u128::from(window.0) * u128::from(i) / 10) as u64);
            let sends = |i| trace.moments.iter().filter(|at| (edge(i)..edge(i + 1)).contains(at)).count();
            return (0..10).map(|i| sends(i) as u64).collect();
        }
        Shape::Steady { rate } => {
            let rate = rate.get() / 1e9;
            (rate, vec![window.0], Box::new(move |t| rate * t))
        }
        Shape::Ramp { from, to } => {
            let ends = (1..=10).map(|i| window.0 * i / 10).collect();
            let (from, to) = (from.get() / 1e9, to.get() / 1e9);
            let length = window.0 as f64;
            (from, ends, Box::new(move |t| from * t + (to - from) / length * t * t / 2.0))
        }
        Shape::Parts { parts } => {
            let parts = parts.clone();
            let mut ends = Vec::new();
            parts.iter().fold(0, |start, part| {
                ends.push(start + part.length.0);
                start + part.length.0
            });
            let first = parts[0].from.get() / 1e9;
            let sum = move |t: f64| {
                let (mut start, mut sum) = (0.0, 0.0);
                for part in &parts {
                    let length = part.length.0 as f64;
                    let (from, to, t) =
                        (part.from.get() / 1e9, part.to.get() / 1e9, (t - start).clamp(0.0, length));
                    sum += from * t + (to - from) / length * t * t / 2.0;
                    start += length;
                }
                sum
            };
            (first, ends, Box::new(sum))
        }
        Shape::Steps { rates, each } => {
            let (rates, each) = (rates.clone(), *each);
            let ends = (1..=rates.len() as u64).map(|i| each.0 * i).collect();
            let share =
                move |t: f64, step: usize| (t - step as f64 * each.0 as f64).clamp(0.0, each.0 as f64);
            let (first, rates) = (rates[0].get() / 1e9, rates);
            let sum = move |t| rates.iter().enumerate().map(|(i, rate)| rate.get() / 1e9 * share(t, i)).sum();
            (first, ends, Box::new(sum))
        }
    };
    let before = |t: u64| (from * warmup.0 as f64 + integral(t as f64)).ceil() as u64;
    let mut start = 0;
    let count = |end: u64| before(end) - before(std::mem::replace(&mut start, end));
    ends.into_iter().map(count).collect()
}

fn check_tally(tally: &Tally, settings: &Settings, context: &dyn Fn() -> String) {
    let counts = &tally.counts;
    assert!(counts.add_up(), "outcomes add up; {}", context());
    let (ok, timed_out, unsent) =
        (counts.ended(Ending::Ok), counts.ended(Ending::TimedOut), counts.ended(Ending::Unsent));
    let count = |measure| tally.times(measure).count();
    let closed = settings.job.load == LoadModel::Closed;
    // A closed loop leaves no request unsent, unless a server handed it back and the end came before it was sent again.
    let may_return = settings.job.protocol.has_streams() || settings.job.depth > 1;
    assert!(!closed || unsent == 0 || may_return, "{}", context());
    let waited = if closed { timed_out + unsent } else { timed_out };
    assert_eq!(count(Measure::Service), ok + waited, "{}", context());
    assert_eq!(counts.censored.map_or(0, |(count, _)| count), timed_out + unsent, "{}", context());
    assert!(counts.completed_in_window <= ok, "{}", context());
    if closed {
        let made_for_each = if settings.job.keep_alive { 0 } else { ok + timed_out };
        assert_eq!(count(Measure::ConnectAndService), made_for_each, "{}", context());
        return assert_eq!(count(Measure::Response), 0, "{}", context());
    }
    let never_sent = unsent + counts.ended(Ending::ConnectFailed);
    assert_eq!(count(Measure::Response), ok + timed_out + unsent, "{}", context());
    assert_eq!(count(Measure::GeneratorLag), counts.scheduled - never_sent, "{}", context());
    if counts.scheduled == ok + timed_out {
        // Response = connection wait + generator lag + service, summed over all: exact, to the nanosecond.
        let sum = |measure| tally.times(measure).sum();
        let parts = sum(Measure::ConnectionWait) + sum(Measure::GeneratorLag) + sum(Measure::Service);
        assert_eq!(sum(Measure::Response), parts, "{}", context());
    }
}

/// The same settings for a protocol.
fn over(protocol: Protocol, settings: Settings) -> Settings {
    let mut settings = settings.with(|job| job.protocol = protocol);
    if protocol == Protocol::Http3 {
        settings.job.url = Url::parse("https://a/").unwrap();
        settings.tls = Some(if settings.seed.is_multiple_of(2) { any_server() } else { any_server_early() });
    }
    settings
}

/// Simulates runs determined by the case's number, and checks each. Returns their results.
fn simulate_cases<S: Script>(
    everyday: u64,
    protocol: Protocol,
    server: impl Fn(&mut Random, u64, bool, Nanos) -> S,
    arrived: fn(&S) -> Option<u64>,
) -> String {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (cases, first) =
        (number("PACELINE_CASES").unwrap_or(everyday), number("PACELINE_FIRST_CASE").unwrap_or(0));
    let mut recorder = Recorder::new();
    let (mut unreachable, mut requests, mut not_ok) = (0u64, 0u64, 0u64);
    for case in first..first + cases {
        let mut random = Random::new(case);
        let settings = over(protocol, settings(&mut random));
        let (one_in, pieces) = (random.below(12), random.below(2) == 0);
        let slowest = Nanos(random.below(8_000_000));
        let server = server(&mut random, one_in, pieces, slowest);
        let clock = VirtualClock::new(look(&settings, &mut random));
        // Some are stopped, at any moment, which the worker notices late if its clock is coarse.
        let stop_at = if random.below(5) == 0 { Nanos(random.below(60_000_000)) } else { Nanos::NEVER };
        let judge = |tallies: &[Tally], server: &S| {
            check(case, &settings, stop_at, tallies, arrived(server));
            let sum = |count: fn(&TallyCounts) -> u64| {
                tallies.iter().map(|tally| count(&tally.counts)).sum::<u64>()
            };
            (sum(|counts| counts.scheduled), sum(|counts| counts.scheduled - counts.ended(Ending::Ok)))
        };
        match simulate_with(&settings, server, &clock, stop_at, &mut recorder, judge) {
            Ok((scheduled, failed)) => (requests, not_ok) = (requests + scheduled, not_ok + failed),
            Err(EngineError::Unreachable { .. }) => unreachable += 1,
            Err(error) => panic!("case {case}: {error}"),
        }
    }
    assert!(requests > cases && not_ok > 0, "the cases exercise nothing");
    format!(
        "{cases} cases from seed {first}: {requests} requests, {not_ok} not ok, {unreachable} targets unreachable"
    )
}

#[test]
fn every_request_ends_exactly_once() {
    let server = |random: &mut Random, one_in, pieces, slowest| {
        MisbehavingServer::new(random.next_u64(), one_in, pieces, slowest)
    };
    println!("{}", simulate_cases(CASES, Protocol::Http11, server, |server| Some(server.requests)));
}

#[test]
fn every_request_over_http2_ends_exactly_once() {
    let server = |random: &mut Random, one_in: u64, pieces, slowest| {
        // Some of these servers flood: a flood on every other request takes long to simulate.
        let one_in = if one_in == 0 { 0 } else { 3 + one_in };
        let requests_per_connection = random.below(3) as u32 * (1 + random.below(20) as u32);
        MisbehavingHttp2::new(random.next_u64(), one_in, pieces, slowest, requests_per_connection)
    };
    // A request that a server hands back is received again.
    println!("{}", simulate_cases(CASES_HTTP2, Protocol::Http2, server, |_| None));
}

#[test]
fn every_request_over_http3_ends_exactly_once() {
    let tls = server_config();
    let server = |random: &mut Random, one_in: u64, _, slowest| {
        let behaviour = Http3Behaviour {
            one_in,
            lost_in: random.below(2) * (5 + random.below(100)),
            slowest,
            requests_per_connection: random.below(3) as u32 * (1 + random.below(20) as u32),
            streams: 1 + random.below(12) as u32,
        };
        MisbehavingHttp3::new(random.next_u64(), behaviour, Arc::clone(&tls))
    };
    println!("{}", simulate_cases(CASES_HTTP3, Protocol::Http3, server, |_| None));
}
