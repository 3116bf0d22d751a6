//! The engine's own worker, once as one generator and once as N loaders of one schedule, against a server that freezes.
//!
//! Each loader has a separate server whose answers depend only on the time, so that what the loaders measure together
//! is exactly what one generator measures. Results go through JSON, as they do between machines. Time and memory of the
//! coordinator are printed, not asserted (`-- --nocapture`).

use paceline_engine::sim::{FreezingServer, VirtualClock, response, simulate};
use paceline_engine::{
    Arrivals, BodyCheck, Bound, Job, LoadModel, Nanos, Rate, Requests, ResponseCheck, Settings, Shape, Tally,
    ThreadOutcome, gaps_of_all, scheduled_in_window,
};
use paceline_http::Method;
use paceline_job::LoaderShare;
use paceline_loaders::{LoaderPart, LoadersError, Merge, Overlap};
use paceline_record::{
    Block, Interval, Loader, Phase, Run, Span, StreamExample, StreamExampleKind, StreamExamples, fixture,
};
use paceline_run::{Inputs, Prepared, block};
use std::sync::Arc;
use std::time::Instant;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const SECONDS: u64 = 10;
/// More than fall due in a freeze: no request waits for a connection, in no loader.
const CONNECTIONS: u32 = 4_000;

fn settings(rate: f64, arrivals: Arrivals) -> Settings {
    let job = Job {
        url: paceline_http::Url::parse("http://127.0.0.1:9/").unwrap(),
        connections: CONNECTIONS,
        load: LoadModel::Open { shape: Shape::Steady { rate: Rate::per_second(rate).unwrap() }, arrivals },
        window: Bound::Duration(Nanos::from_secs(SECONDS)),
        warmup: Nanos::from_secs(1),
        seed: Some(7),
        ..Job::default()
    };
    let check = ResponseCheck { status: None, body: BodyCheck::Any };
    let requests = Arc::new(Requests::fixed(REQUEST, Method::Other, check));
    Settings::new(job, std::net::SocketAddr::from(([127, 0, 0, 1], 9)), requests)
}

/// One worker against a server that is frozen in the first 200 ms of every 2 s.
fn simulated(settings: &Settings) -> ThreadOutcome {
    let (period, freeze) = (Nanos::from_secs(2), Nanos::from_millis(200));
    let server =
        FreezingServer { period, freeze, service: Nanos::ZERO, done_at: Nanos::ZERO, answer: response("ok") };
    simulate(settings, server, &VirtualClock::new(Nanos::ZERO)).unwrap()
}

fn loader(all: &Settings, index: u32, of: u32) -> Settings {
    all.clone().with(|job| {
        job.share = Some(LoaderShare { index, of });
        job.connections = (CONNECTIONS / of).max(8);
    })
}

/// The record of a loader, as the coordinator reads it, and its length in bytes.
fn record(outcome: &ThreadOutcome) -> (Run, usize) {
    let interval = |kept: &paceline_engine::KeptInterval| {
        let mut tally = Tally::default();
        tally.merge_compact(&kept.tally);
        let phase = if kept.cohort == paceline_engine::Phase::Window { Phase::Window } else { Phase::Warmup };
        Interval::new(phase, kept.start.since(outcome.spans.start).0, block(&tally))
    };
    let mut run = fixture::run(0);
    let since = |at: Nanos| at.since(outcome.spans.start).0;
    run.phases.warmup.start_ns = since(outcome.spans.warmup);
    run.phases.window.start_ns = since(outcome.spans.window);
    run.phases.window.end_ns = since(outcome.spans.drain);
    run.phases.drain.end_ns = since(outcome.spans.end);
    run.total = block(&outcome.total);
    run.intervals = outcome.intervals.iter().map(interval).collect();
    let text = serde_json::to_string(&run).unwrap();
    (serde_json::from_str(&text).unwrap(), text.len())
}

/// All loaders' records as one, and the sends they noted.
#[expect(clippy::print_stdout, reason = "figures for people")]
fn merged(all: &Settings, of: u32) -> (Run, Vec<Vec<Vec<Nanos>>>) {
    let shares = scheduled_in_window(all, of).unwrap();
    let (mut merge, mut noted, mut bytes, mut merging) =
        (Merge::default(), Vec::new(), 0, std::time::Duration::ZERO);
    for (index, share) in (0..of).zip(shares) {
        let outcome = simulated(&loader(all, index, of));
        let (run, length) = record(&outcome);
        bytes += length;
        let epoch = outcome.spans.warmup;
        let sends = outcome.noted_sends.iter();
        let sends: Vec<Vec<Nanos>> =
            sends.map(|sends| sends.iter().map(|send| send.since(epoch)).collect()).collect();
        noted.push(sends.clone());
        let loader = Loader { host: format!("n{index}"), share: Some(share), ..Loader::default() };
        let begun = Instant::now();
        merge.add(LoaderPart { loader, run: Some(run), noted: sends }).unwrap();
        merging += begun.elapsed();
    }
    let prepared = Prepared::new(all.job.clone(), Vec::new(), &mut Inputs::default()).unwrap();
    let begun = Instant::now();
    let run = merge.finish(&prepared, &all.job, Vec::new(), String::new()).unwrap();
    merging += begun.elapsed();
    println!(
        "{of} loaders: {} kB of JSON each, added up in {:.0} ms; peak memory of the process {}",
        bytes / of as usize / 1_000,
        merging.as_secs_f64() * 1e3,
        peak_memory()
    );
    (run, noted)
}

fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim().to_owned()
}

fn percentiles(block: &Block) -> [u64; 7] {
    let times = block.response_time_ns.as_ref().unwrap();
    [times.min, times.p50, times.p90, times.p95, times.p99, times.p99_9, times.max]
}

/// With each of these numbers of loaders, the same counts, percentiles and arrivals as with one generator.
fn assert_equal(loaders: &[u32]) {
    for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
        let all = settings(20_000.0, arrivals);
        let alone = block(&simulated(&all).total);
        // A freeze of 200 ms in every 2 s: a tenth of the requests wait 100 ms on average.
        let p95 = alone.response_time_ns.as_ref().unwrap().p95;
        assert!((95_000_000..105_000_000).contains(&p95), "{p95}");
        for of in loaders.iter().copied() {
            let (run, noted) = merged(&all, of);
            assert_eq!(run.total.counts, alone.counts, "{of} loaders, {arrivals:?}");
            assert_eq!(percentiles(&run.total), percentiles(&alone), "{of} loaders, {arrivals:?}");
            let ended: u64 = run
                .intervals
                .iter()
                .filter(|interval| interval.phase == Phase::Window)
                .map(|interval| interval.block.counts.ended())
                .sum();
            assert_eq!(ended, alone.counts.scheduled, "the seconds add up to the whole");
            assert!(
                !run.verdicts.iter().any(|verdict| verdict.name.starts_with("loader")),
                "{:?}",
                run.verdicts
            );
            if arrivals == Arrivals::Poisson {
                let mut gaps = gaps_of_all(&all, &noted);
                let test = paceline_stats::exponential_test(&mut gaps).unwrap();
                assert!(test.p_value > 0.01, "{of} loaders: {test:?} of {} gaps", gaps.len());
            }
        }
    }
}

#[test]
fn several_loaders_measure_the_same_as_one_generator() {
    assert_equal(&[1, 2, 30]);
}

#[test]
#[ignore = "takes a minute: cargo test -p paceline-loaders --test it -- --ignored --nocapture"]
fn a_thousand_loaders_measure_the_same_as_one_generator() {
    assert_equal(&[1_000]);
}

/// Two loaders, one of which begins later by `late`, as the coordinator adds them up. Each has a separate server, whose
/// freezes count from the loader's own beginning.
fn one_late(all: &Settings, late: Nanos) -> Run {
    let part = |index: u32, late: Nanos| {
        let (run, _) = record(&simulated(&loader(all, index, 2)));
        let begin_ns = late.0 + run.phases.window.start_ns;
        let length_ns = run.phases.window.end_ns - run.phases.window.start_ns;
        let window = Some(Span { start_ns: begin_ns, end_ns: begin_ns + length_ns });
        let late_ns = Some(late.0).filter(|late_ns| *late_ns > 0);
        let loader = Loader { host: format!("n{index}"), window, late_ns, ..Loader::default() };
        LoaderPart { loader, run: Some(run), noted: Vec::new() }
    };
    let parts = vec![part(0, Nanos::ZERO), part(1, late)];
    let mut merge = Merge::new(Overlap::from_parts(&parts));
    parts.into_iter().for_each(|part| merge.add(part).unwrap());
    let prepared = Prepared::new(all.job.clone(), Vec::new(), &mut Inputs::default()).unwrap();
    merge.finish(&prepared, &all.job, Vec::new(), String::new()).unwrap()
}

#[test]
fn the_window_is_cut_to_what_all_loaders_have_in_common() {
    let all = settings(20_000.0, Arrivals::Constant);
    let alone = block(&simulated(&all).total);
    assert_eq!(one_late(&all, Nanos::ZERO).total.counts, alone.counts, "nothing is cut");
    // A period of the server: what stays is like any other four of them.
    let run = one_late(&all, Nanos::from_secs(2));
    assert_eq!((run.window_s, run.total.counts.scheduled), (8.0, 160_000));
    assert_eq!(run.total.counts.ended(), run.total.counts.scheduled);
    assert_eq!(percentiles(&run.total), percentiles(&alone));
    let left_out: Vec<u64> = run.loaders.iter().filter_map(|loader| loader.left_out).collect();
    assert_eq!(left_out, [20_000, 20_000], "2 s at 10,000/s each");
    let parts: u64 = run.by_generator.iter().flatten().map(|block| block.counts.scheduled).sum();
    assert_eq!(parts, run.total.counts.scheduled);
    let of_window = run.intervals.iter().filter(|interval| interval.phase == Phase::Window);
    assert_eq!(of_window.map(|interval| interval.block.counts.ended()).sum::<u64>(), parts);
    assert!(run.verdicts.iter().any(|verdict| verdict.name == "loaders_apart"), "{:?}", run.verdicts);
}

#[test]
fn a_result_that_does_not_match_its_share_is_an_error() {
    let all = settings(1_000.0, Arrivals::Constant);
    let (run, _) = record(&simulated(&loader(&all, 0, 2)));
    let part = |share| LoaderPart {
        loader: Loader { host: "n1".to_owned(), share: Some(share), ..Loader::default() },
        run: Some(run.clone()),
        noted: Vec::new(),
    };
    assert!(Merge::default().add(part(5_000)).is_ok());
    let error = Merge::default().add(part(5_001)).unwrap_err().to_string();
    assert!(error.contains("n1 counted 5000 of the 5001 requests of its schedule"), "{error}");
}

/// Adds one loader's record after a change; `share` is the number of requests that its schedule has.
fn added(share: u64, change: impl FnOnce(&mut Run)) -> Result<(), LoadersError> {
    let mut run = fixture::run(0);
    run.intervals = Vec::new();
    change(&mut run);
    let loader = Loader { host: "n1".to_owned(), share: Some(share), ..Loader::default() };
    Merge::default().add(LoaderPart { loader, run: Some(run), noted: Vec::new() })
}

#[test]
fn counts_that_a_loader_invents_are_refused() {
    let share = fixture::run(0).total.counts.scheduled;
    added(share, |_| {}).unwrap();
    let invented = added(share, |run| run.total.counts.ok *= 2).unwrap_err();
    assert!(matches!(&invented, LoadersError::Contradiction { host, .. } if host == "n1"), "{invented}");
    let parts = added(share, |run| run.by_generator = Some(vec![run.total.clone(); 2])).unwrap_err();
    assert!(matches!(parts, LoadersError::Contradiction { .. }), "{parts}");
    let more = |run: &mut Run| {
        run.total.counts.scheduled += 1;
        run.total.counts.ok += 1;
    };
    assert!(matches!(added(share, more), Err(LoadersError::Accounts { .. })));
    let backlog = |run: &mut Run| {
        run.total.counts.scheduled += 1 << 30;
        run.total.counts.unsent += 1 << 30;
    };
    assert!(matches!(added(share, backlog), Err(LoadersError::Accounts { .. })), "also with a backlog");
    let stopped = |run: &mut Run| {
        more(run);
        run.stopped = true;
    };
    assert!(matches!(added(share, stopped), Err(LoadersError::Accounts { .. })), "also if it was stopped");
}

#[test]
fn the_most_extreme_example_of_all_loaders_is_kept() {
    let all = settings(1_000.0, Arrivals::Constant);
    let mut merge = Merge::default();
    for (first_ns, late_ns) in [(5, None), (9, Some(3_000)), (7, None)] {
        let mut run = fixture::run(0);
        run.intervals = Vec::new();
        let example = StreamExample {
            kind: StreamExampleKind::SlowestFirstEvent,
            intended_ns: run.phases.window.start_ns + 20,
            first_body_ns: first_ns,
            event_ns: vec![first_ns],
            kept_every: 1,
            events: 1,
            last_event_ns: first_ns,
            longest_gap: None,
            ended_ns: first_ns,
        };
        run.stream_examples = Some(StreamExamples { watched: 4, examples: vec![example] });
        let loader = Loader { late_ns, ..Loader::default() };
        merge.add(LoaderPart { loader, run: Some(run), noted: Vec::new() }).unwrap();
    }
    let prepared = Prepared::new(all.job.clone(), Vec::new(), &mut Inputs::default()).unwrap();
    let run = merge.finish(&prepared, &all.job, Vec::new(), String::new()).unwrap();
    let StreamExamples { watched, examples } = run.stream_examples.unwrap();
    assert_eq!((watched, examples.len(), examples[0].first_event_ns()), (12, 1, Some(9)));
    // The second loader began later than agreed.
    let begun_ns = fixture::run(0).phases.window.start_ns + 3_000;
    assert_eq!(examples[0].intended_ns, begun_ns + 20);
}
