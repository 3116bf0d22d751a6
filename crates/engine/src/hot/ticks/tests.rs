//! Ticks of every shape: each at its time, the same for any number of threads.
//!
//! Schedules are walked to the end of the window, without a worker and without a clock. Random arrivals are checked
//! against their expected number, and with the test that is applied to a run's own sends.

use super::*;
use crate::arrivals::{SampledIntervals, SampledSends};
use crate::hot::schedule::Schedule;
use crate::{Arrivals, BodyCheck, Bound, Job, Random, Rate, Requests, ResponseCheck};
use paceline_http::Method;
use paceline_job::LoaderShare;

fn rate(per_second: f64) -> Rate {
    Rate::per_second(per_second).unwrap()
}

fn settings(shape: Shape, arrivals: Arrivals, threads: u32, window: Nanos) -> Settings {
    let check = ResponseCheck { status: None, body: BodyCheck::Any };
    let requests = Arc::new(Requests::fixed(b"GET / HTTP/1.1\r\n\r\n", Method::Other, check));
    let job = Job {
        connections: threads,
        threads,
        load: LoadModel::Open { shape, arrivals },
        window: Bound::Duration(window),
        seed: Some(5),
        ..Job::default()
    };
    Settings::new(job, std::net::SocketAddr::from(([127, 0, 0, 1], 9)), requests)
}

/// All ticks of all workers before the end of the window, from the beginning of the warm-up, in order.
fn moments(settings: &Settings) -> Vec<Nanos> {
    settings.check().unwrap();
    let epoch = Nanos::from_secs(77);
    let timeline = crate::WindowLength::from_settings(settings).timeline(settings, epoch);
    let mut all = Vec::new();
    for worker in 0..settings.threads {
        let mut schedule = Schedule::new(settings, &timeline, worker);
        let mut before = epoch;
        while let Some(due) = schedule.due(Nanos::NEVER) {
            assert!(due >= before, "time does not go back");
            before = due;
            all.push(due.since(epoch));
            schedule.take(1);
        }
    }
    all.sort_unstable();
    all
}

fn within(moments: &[Nanos], from_s: f64, to_s: f64) -> usize {
    moments.iter().filter(|at| at.as_secs_f64() >= from_s && at.as_secs_f64() < to_s).count()
}

#[test]
fn a_ramp_has_as_many_ticks_as_its_integral() {
    let shape = Shape::Ramp { from: rate(1_000.0), to: rate(5_000.0) };
    let ticks = moments(&settings(shape, Arrivals::Constant, 1, Nanos::from_secs(10)));
    // A second of warm-up at 1,000/s; then second s of the window has 1,000 + 400 s + 200.
    assert_eq!(within(&ticks, 0.0, 1.0), 1_000);
    for second in 0..10 {
        let expected = 1_200 + 400 * second;
        let from = 1.0 + second as f64;
        assert!(within(&ticks, from, from + 1.0).abs_diff(expected) <= 1, "second {second}");
    }
    assert_eq!(ticks.len(), 31_000);
}

#[test]
fn steps_change_at_their_edges() {
    let rates = [100.0, 2_000.0, 300.0].map(rate);
    let shape = Shape::Steps { rates: rates.into(), each: Nanos::from_secs(2) };
    let ticks = moments(&settings(shape, Arrivals::Constant, 1, Nanos::from_secs(6)));
    let counts: Vec<_> =
        [(0.0, 1.0), (1.0, 3.0), (3.0, 5.0), (5.0, 7.0)].map(|(from, to)| within(&ticks, from, to)).into();
    assert_eq!(counts, [100, 200, 4_000, 600]);
}

#[test]
fn threads_share_the_same_ticks() {
    let steps = || Shape::Steps { rates: vec![rate(700.0), rate(90.0)], each: Nanos::from_secs(1) };
    let ramp = || Shape::Ramp { from: rate(3_000.0), to: rate(10.0) };
    let trace = || Shape::Trace((0..999).map(|i| Nanos(i * i * 2_000)).collect::<Vec<_>>().into());
    for (shape, seconds) in
        [(ramp as fn() -> Shape, 3), (steps, 2), (trace, 1), (|| Shape::Steady { rate: rate(1_234.5) }, 2)]
    {
        for arrivals in Arrivals::ALL {
            if matches!(shape(), Shape::Trace(_)) && arrivals.is_random() {
                continue;
            }
            let ticks = |threads| moments(&settings(shape(), arrivals, threads, Nanos::from_secs(seconds)));
            let alone = ticks(1);
            assert!(!alone.is_empty());
            assert_eq!(alone, ticks(3), "{:?} {arrivals:?}", shape());
        }
    }
}

/// The same settings for each of `of` loaders.
fn loaders(all: &Settings, of: u32) -> Vec<Settings> {
    let share = |index| all.clone().with(|job| job.share = Some(LoaderShare { index, of }));
    (0..of).map(share).collect()
}

#[test]
fn loaders_share_the_same_ticks() {
    let ramp = || Shape::Ramp { from: rate(3_000.0), to: rate(10.0) };
    for shape in [ramp(), Shape::Steady { rate: rate(1_234.5) }] {
        for arrivals in Arrivals::ALL {
            let all = settings(shape.clone(), arrivals, 2, Nanos::from_secs(2));
            let alone = moments(&all);
            for of in [1, 2, 7] {
                let mut merged: Vec<Nanos> = loaders(&all, of).iter().flat_map(moments).collect();
                merged.sort_unstable();
                assert_eq!(merged, alone, "{of} {shape:?} {arrivals:?}");
                let in_window =
                    |settings| moments(settings).iter().filter(|at| at.as_secs_f64() >= 1.0).count() as u64;
                let by_loader: Vec<u64> = loaders(&all, of).iter().map(in_window).collect();
                assert_eq!(crate::scheduled_in_window(&all, of), Some(by_loader));
            }
        }
    }
    // A number of requests is also divided among loaders.
    let counted = settings(Shape::Steady { rate: rate(100.0) }, Arrivals::Poisson, 2, Nanos::ZERO)
        .with(|job| (job.window, job.warmup) = (Bound::Requests(1_001), Nanos::ZERO));
    let by_loader: Vec<usize> = loaders(&counted, 3).iter().map(|loader| moments(loader).len()).collect();
    assert_eq!((by_loader.iter().sum::<usize>(), by_loader), (1_001, vec![334, 334, 333]));
}

/// Walking these one by one would take an hour.
#[test]
fn the_shares_of_a_day_of_a_high_rate_are_counted() {
    let day_s = 86_400;
    let steady = Shape::Steady { rate: rate(1e6) };
    let all = settings(steady, Arrivals::Constant, 2, Nanos::from_secs(day_s));
    assert_eq!(crate::scheduled_in_window(&all, 2), Some(vec![day_s * 500_000; 2]));
}

#[test]
fn the_sends_of_all_loaders_pass_the_test() {
    let all = settings(Shape::Steady { rate: rate(9_000.0) }, Arrivals::Poisson, 1, Nanos::from_secs(4));
    let noted: Vec<Vec<Vec<Nanos>>> = loaders(&all, 3)
        .iter()
        .map(|loader| {
            let timeline = crate::WindowLength::from_settings(loader).timeline(loader, Nanos::ZERO);
            let mut notes = SampledSends::from_intervals(SampledIntervals::from_settings(loader, &timeline));
            for send in moments(loader) {
                if send >= notes.from {
                    notes.note(send);
                }
            }
            notes.take()
        })
        .collect();
    let mut gaps = crate::gaps_of_all(&all, &noted);
    assert_eq!(gaps.len(), 16 * 127);
    assert!(paceline_stats::exponential_test(&mut gaps).unwrap().p_value > 0.01);
    // Two of three loaders leave holes in the schedule, which the test detects.
    let mut gaps = crate::gaps_of_all(&all, &noted[..2]);
    assert!(paceline_stats::exponential_test(&mut gaps).unwrap().p_value < 1e-6);
}

#[test]
fn random_arrivals_follow_the_ramp() {
    let shape = Shape::Ramp { from: rate(1.0), to: rate(20_000.0) };
    let ticks = moments(&settings(shape, Arrivals::Poisson, 2, Nanos::from_secs(10)));
    for (from, to, expected) in [(1.0, 6.0, 25_003.75_f64), (6.0, 11.0, 75_001.25)] {
        let off = within(&ticks, from, to) as f64 - expected;
        assert!(off.abs() < 5.0 * expected.sqrt(), "{off} off {expected}");
    }
}

#[test]
fn a_trace_is_sent_at_its_exact_times() {
    let times = [0, 5, 5, 1_000_000_000, 1_500_000_000, 2_400_000_000].map(Nanos);
    let trace = || Shape::Trace(times.to_vec().into());
    assert_eq!(moments(&settings(trace(), Arrivals::Constant, 2, Nanos::from_secs(1))), times[..5]);
    assert_eq!(trace().length(), Some(Nanos(2_880_000_000)));
}

/// The gaps of the noted sends if every request is sent when it falls due, alternately by two workers.
fn noted_gaps(settings: &Settings, sends: &[Nanos]) -> Vec<f64> {
    let epoch = Nanos::from_secs(77);
    let timeline = crate::WindowLength::from_settings(settings).timeline(settings, epoch);
    let stretches = || SampledIntervals::from_settings(settings, &timeline);
    let mut workers = [SampledSends::from_intervals(stretches()), SampledSends::from_intervals(stretches())];
    for (index, send) in sends.iter().enumerate() {
        let notes = &mut workers[index % 2];
        if epoch + *send >= notes.from {
            notes.note(epoch + *send);
        }
    }
    stretches().unwrap().gaps(&workers.map(|mut notes| notes.take()))
}

#[test]
fn the_sends_of_random_arrivals_pass_the_test_and_even_ones_do_not() {
    let ramp = || Shape::Ramp { from: rate(500.0), to: rate(4_000.0) };
    for shape in [ramp as fn() -> Shape, || Shape::Steady { rate: rate(100.0) }] {
        let even = settings(shape(), Arrivals::Constant, 2, Nanos::from_secs(10));
        for arrivals in Arrivals::ALL.into_iter().filter(|arrivals| arrivals.is_random()) {
            let random = settings(shape(), arrivals, 2, Nanos::from_secs(10));
            let mut gaps = noted_gaps(&random, &moments(&random));
            // Sixteen stretches of 128 sends, or one.
            assert!(gaps.len() == 2_032 || (900..1_100).contains(&gaps.len()), "{}", gaps.len());
            let test = paceline_stats::exponential_test(&mut gaps).unwrap();
            assert!(test.p_value > 0.01, "{:?}, {arrivals:?}: {test:?}", shape());
            let mut gaps = noted_gaps(&random, &moments(&even));
            assert!(paceline_stats::exponential_test(&mut gaps).unwrap().p_value < 1e-6);
        }
    }
    assert!(
        SampledIntervals::from_settings(
            &settings(ramp(), Arrivals::Constant, 1, Nanos::from_secs(1)),
            &Timeline::NEVER
        )
        .is_none()
    );
}

#[test]
fn ticks_taken_together_are_those_taken_one_by_one() {
    let ramp = || Shape::Ramp { from: rate(900.0), to: rate(70_000.0) };
    let steps =
        || Shape::Steps { rates: vec![rate(10.0), rate(90_000.0), rate(3.0)], each: Nanos::from_millis(400) };
    let trace: Shape =
        Shape::Trace((0..5_000).map(|i: u64| Nanos(i / 700 * 1_000_000)).collect::<Vec<_>>().into());
    let window = Nanos::from_millis(1_200);
    for (shape, arrivals) in [
        (Shape::Steady { rate: rate(33_333.0) }, Arrivals::Constant),
        (Shape::Steady { rate: rate(33_333.0) }, Arrivals::Poisson),
        (ramp(), Arrivals::Constant),
        (ramp(), Arrivals::Poisson),
        (steps(), Arrivals::Constant),
        (trace, Arrivals::Constant),
    ] {
        let settings = settings(shape, arrivals, 3, window);
        let epoch = Nanos::from_secs(77);
        let timeline = crate::WindowLength::from_settings(&settings).timeline(&settings, epoch);
        for worker in 0..3 {
            let mut one_by_one = Schedule::new(&settings, &timeline, worker);
            let mut together = one_by_one.clone();
            let mut random = Random::new(u64::from(worker));
            while let Some(first) = together.due(Nanos::NEVER) {
                let end = first + Nanos(1 + random.below(40_000_000));
                let range = together.take_before(end);
                let mut walked = TickRange { first, last: first, count: 0 };
                while let Some(due) = one_by_one.due(Nanos::NEVER).filter(|due| *due < end) {
                    (walked.last, walked.count) = (due, walked.count + 1);
                    one_by_one.take(1);
                }
                assert_eq!(range, walked, "{:?}", settings.job.load);
            }
            assert_eq!(one_by_one.due(Nanos::NEVER), None);
        }
    }
}
