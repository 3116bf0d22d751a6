//! A run's seconds, and the server's CPU and memory between samples.
//!
//! Made for the page of a run. Long runs are joined to a bounded number of stretches.

use paceline_judge::{VerdictName, judged_times};
use paceline_record::{
    Interval, LoopKind, MetricSeries, Phase, Run, Sample, SeriesKind, ServerSample, Span, Times,
};
use schemars::JsonSchema;
use serde::Serialize;

/// Seconds that are shown at most; those of a long run are joined.
const SECONDS: usize = 1_000;

/// What ended in one stretch of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Stretch {
    /// When it began, in seconds from the start of the run.
    pub start_s: f64,
    /// How long it was.
    pub length_s: f64,
    /// The phase in which it began.
    pub phase: Phase,
    /// Valid responses per second.
    pub ok_per_s: f64,
    /// Requests per second that did not end well.
    pub not_ok_per_s: f64,
    /// Median of the time the run is judged by, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50: Option<u64>,
    /// 90 % of the times were at or below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90: Option<u64>,
    /// 99 % of the times were at or below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<u64>,
    /// The highest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
    /// 99 % of the requests were sent at most this late by the generator, in nanoseconds; open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag_p99: Option<u64>,
}

/// What the server's processes used between two samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UsagePoint {
    /// The middle of the stretch, in seconds from the start of the run.
    pub at_s: f64,
    /// Cores kept busy on average.
    pub cores_busy: f64,
    /// Resident memory at its end.
    pub rss_bytes: u64,
    /// Threads at its end.
    pub threads: u32,
}

/// A series that the server published, where it changed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricLine {
    /// Its name with its labels.
    pub name: String,
    /// Whether the points are the growth of a counter per second.
    pub per_second: bool,
    /// Its values, at seconds from the start of the run.
    pub points: Vec<(f64, f64)>,
}

/// The series of the server that changed during a run.
pub fn metric_lines(run: &Run) -> Vec<MetricLine> {
    let Some(metrics) = &run.server_metrics else { return Vec::new() };
    let line = |series: &MetricSeries| {
        let points = metrics.points(series);
        let changes = points.iter().any(|(_, value)| *value != points[0].1);
        changes.then(|| MetricLine {
            name: series.name.clone(),
            per_second: series.kind == SeriesKind::Counter,
            points: points.into_iter().map(|(at, value)| (at as f64 / 1e9, value)).collect(),
        })
    };
    metrics.series.iter().filter_map(line).collect()
}

/// The seconds of a run, those of the warm-up too. Cohorts that ended in the same second are one.
pub fn seconds(run: &Run) -> Vec<Stretch> {
    let is_shown = |span: &Span| span.end_ns > span.start_ns && span.start_ns >= run.phases.connect.end_ns;
    let shown = stretches(run).into_iter().filter(|(span, _)| is_shown(span));
    joined(shown.map(|(span, intervals)| second(run, span, &intervals)).collect())
}

/// The intervals by time, and the parts of the run up to the end of the window that have none. A record has no interval
/// for a second in which nothing ended, so an interval lasts as long as most do, not until the next one.
pub fn stretches(run: &Run) -> Vec<(Span, Vec<&Interval>)> {
    let by_time = run.intervals_by_time();
    let is_request = |span: &Span| span.start_ns >= run.phases.connect.end_ns;
    let starts: Vec<u64> =
        by_time.iter().filter(|(span, _)| is_request(span)).map(|(span, _)| span.start_ns).collect();
    let mut steps: Vec<u64> = starts.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    steps.sort_unstable();
    let Some(&step_ns) = steps.get(steps.len().saturating_sub(1) / 2) else { return by_time };
    let window_end_ns = run.phases.window.end_ns;
    let mut all = Vec::with_capacity(by_time.len());
    for (span, intervals) in by_time {
        let end_ns = span.start_ns.saturating_add(step_ns);
        if is_request(&span) && span.end_ns.saturating_sub(end_ns) > step_ns / 2 {
            all.push((Span { end_ns, ..span }, intervals));
            let without = Span { start_ns: end_ns, end_ns: span.end_ns.min(window_end_ns) };
            all.extend(quiet(without, step_ns).into_iter().map(|span| (span, Vec::new())));
        } else {
            all.push((span, intervals));
        }
    }
    all
}

/// A part in which nothing ended: its first second, its last one, and what is between them, so that a line through the
/// middle of each shows how long the part was.
fn quiet(Span { start_ns, end_ns }: Span, step_ns: u64) -> Vec<Span> {
    let mut cuts = vec![start_ns, start_ns.saturating_add(step_ns), end_ns.saturating_sub(step_ns), end_ns];
    cuts.retain(|at| (start_ns..=end_ns).contains(at));
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2).map(|pair| Span { start_ns: pair[0], end_ns: pair[1] }).collect()
}

fn second(run: &Run, Span { start_ns: start, end_ns: end }: Span, intervals: &[&Interval]) -> Stretch {
    // A second of the window in which a drain of some milliseconds ended is counted over the window alone. What began
    // after the window has its own length: over a shorter one its rate would be that of no server.
    let window_end = run.phases.window.end_ns;
    let is_short = start < window_end && end.saturating_sub(window_end) < 50_000_000;
    let end = if is_short { end.min(window_end) } else { end };
    let length_s = (end - start) as f64 / 1e9;
    let count = |get: fn(&Interval) -> u64| {
        intervals.iter().fold(0_u64, |sum, interval| sum.saturating_add(get(interval))) as f64
    };
    let phases = &run.phases;
    let phase = match start {
        at if at >= phases.window.end_ns => Phase::Drain,
        at if at >= phases.window.start_ns => Phase::Window,
        _ => Phase::Warmup,
    };
    let times = times(run.loop_.kind, intervals);
    let lags = intervals.iter().filter_map(|interval| interval.block.generator_lag_ns.as_ref());
    Stretch {
        start_s: start as f64 / 1e9,
        length_s,
        phase,
        ok_per_s: round(count(|interval| interval.block.counts.ok) / length_s),
        not_ok_per_s: round(count(|interval| interval.block.counts.not_ok()) / length_s),
        p50: times.map(|times| times.p50),
        p90: times.map(|times| times.p90),
        p99: times.map(|times| times.p99),
        max: times.map(|times| times.max),
        lag_p99: lags.map(|times| times.p99).max(),
    }
}

/// The middle of each second of the window in which a pause of the server ended, by its longest time; that of the longest
/// pause first. A second counts if its longest time is at least half of that pause, and the second before does not.
pub fn pauses(run: &Run) -> Vec<f64> {
    let outage = run.verdicts.iter().find(|verdict| verdict.name == VerdictName::Outage.as_str());
    let Some(longest_s) = outage.and_then(|outage| outage.evidence.get("longest_s")?.as_f64()) else {
        return Vec::new();
    };
    let all = seconds(run);
    let longest = |second: &Stretch| second.max.filter(|_| second.phase == Phase::Window).unwrap_or(0);
    let is_long = |second: &Stretch| longest(second) as f64 >= longest_s * 1e9 / 2.0;
    let begins = |at: &usize| is_long(&all[*at]) && (*at == 0 || !is_long(&all[at - 1]));
    let mut found: Vec<&Stretch> = (0..all.len()).filter(begins).map(|at| &all[at]).collect();
    found.sort_by_key(|second| std::cmp::Reverse(longest(second)));
    found.iter().map(|second| second.start_s + second.length_s / 2.0).collect()
}

/// The times of the larger cohort: percentiles of two cohorts cannot be combined.
fn times<'a>(kind: LoopKind, intervals: &[&'a Interval]) -> Option<&'a Times> {
    intervals.iter().filter_map(|interval| judged(kind, interval)).max_by_key(|times| times.count)
}

/// The times a kind of loop is judged by.
pub fn judged(kind: LoopKind, interval: &Interval) -> Option<&Times> {
    judged_times(&interval.block, kind)
}

/// At most [`SECONDS`]: rates are averaged over time, of percentiles the highest is kept.
fn joined(seconds: Vec<Stretch>) -> Vec<Stretch> {
    let each = seconds.len().div_ceil(SECONDS).max(1);
    if each == 1 {
        return seconds;
    }
    let join = |group: &[Stretch]| -> Option<Stretch> {
        let mut joined = group.first()?.clone();
        let length: f64 = group.iter().map(|second| second.length_s).sum();
        let mean = |get: fn(&Stretch) -> f64| {
            round(group.iter().map(|second| get(second) * second.length_s).sum::<f64>() / length)
        };
        joined.length_s = length;
        joined.ok_per_s = mean(|second| second.ok_per_s);
        joined.not_ok_per_s = mean(|second| second.not_ok_per_s);
        joined.p50 = group.iter().filter_map(|second| second.p50).max();
        joined.p90 = group.iter().filter_map(|second| second.p90).max();
        joined.p99 = group.iter().filter_map(|second| second.p99).max();
        joined.max = group.iter().filter_map(|second| second.max).max();
        joined.lag_p99 = group.iter().filter_map(|second| second.lag_p99).max();
        Some(joined)
    };
    seconds.chunks(each).filter_map(join).collect()
}

/// CPU and memory between the samples of a trial.
pub fn usage_of_trial(samples: &[Sample]) -> Vec<UsagePoint> {
    let sample = |sample: &Sample| ServerSample {
        at_ns: sample.at_ns,
        cpu_s: sample.cpu_s,
        rss_bytes: sample.rss_bytes,
        processes: sample.processes,
        threads: sample.threads,
    };
    usage(&samples.iter().map(sample).collect::<Vec<_>>())
}

/// CPU and memory between samples that are at least 80 ms apart: the kernel counts CPU in ticks of 10 ms.
pub fn usage(samples: &[ServerSample]) -> Vec<UsagePoint> {
    let mut usages = Vec::new();
    let Some(mut before) = samples.first() else { return usages };
    let least_ns = (samples.last().map_or(0, |last| last.at_ns) / SECONDS as u64).max(80_000_000);
    for sample in samples {
        let over_ns = sample.at_ns.saturating_sub(before.at_ns);
        if over_ns >= least_ns {
            usages.push(UsagePoint {
                at_s: (before.at_ns + over_ns / 2) as f64 / 1e9,
                cores_busy: (sample.cores_used_since(before) * 1e3).round() / 1e3,
                rss_bytes: sample.rss_bytes,
                threads: sample.threads,
            });
            before = sample;
        }
    }
    usages
}

/// Three digits after the point are enough to draw a rate.
fn round(rate: f64) -> f64 {
    (rate * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::{Block, Counts};

    #[test]
    fn cpu_is_taken_between_samples() {
        let sample = |at_ms: u64, cpu_s: f64| ServerSample {
            at_ns: at_ms * 1_000_000,
            cpu_s,
            rss_bytes: at_ms,
            processes: 1,
            threads: 1,
        };
        let usages = usage(&[sample(0, 1.0), sample(10, 1.5), sample(100, 1.1), sample(300, 1.4)]);
        assert_eq!(usages.len(), 2);
        assert_eq!((usages[0].at_s, usages[0].cores_busy), (0.05, 1.0));
        assert_eq!((usages[1].cores_busy, usages[1].rss_bytes), (1.5, 300));
        assert_eq!(usage(&[]), []);
    }

    #[test]
    fn counts_of_any_record_add_up() {
        let counts = Counts { ok: u64::MAX, ..Counts::default() };
        let interval = |phase| Interval::new(phase, 0, Block { counts, ..Block::default() });
        let intervals = vec![interval(Phase::Warmup), interval(Phase::Window)];
        let mut run = Run { intervals, ..Run::default() };
        run.phases.window.end_ns = 1_000_000_000;
        assert_eq!(seconds(&run)[0].ok_per_s, round(u64::MAX as f64));
    }

    #[test]
    fn a_short_drain_is_counted_over_its_own_length() {
        let counts = Counts { ok: 64, ..Counts::default() };
        let interval =
            |start_ns| Interval::new(Phase::Window, start_ns, Block { counts, ..Block::default() });
        let second = 1_000_000_000;
        let mut run = Run { intervals: vec![interval(0), interval(second)], ..Run::default() };
        run.phases.window.end_ns = second;
        run.phases.drain = Span { start_ns: second, end_ns: second + 2_000_000 };
        let found: Vec<_> =
            seconds(&run).iter().map(|found| (found.phase, found.length_s, found.ok_per_s)).collect();
        assert_eq!(found, [(Phase::Window, 1.0, 64.0), (Phase::Drain, 0.002, 32_000.0)]);
        // Without a grid that ends with the window, its last second contains the drain.
        run.intervals.pop();
        assert_eq!((seconds(&run)[0].length_s, seconds(&run).len()), (1.0, 1));
    }

    #[test]
    fn a_pause_without_responses_is_not_averaged_into_the_second_before_it() {
        let counts = Counts { ok: 64, ..Counts::default() };
        let second = 1_000_000_000;
        let interval =
            |at: u64| Interval::new(Phase::Window, at * second, Block { counts, ..Block::default() });
        let mut run = Run { intervals: [0, 1, 2, 10].map(interval).to_vec(), ..Run::default() };
        run.phases.window.end_ns = 11 * second;
        run.phases.drain = Span { start_ns: 11 * second, end_ns: 11 * second };
        let rates = |run: &Run| -> Vec<(f64, f64, f64)> {
            seconds(run).iter().map(|found| (found.start_s, found.length_s, found.ok_per_s)).collect()
        };
        let before = [(0.0, 1.0, 64.0), (1.0, 1.0, 64.0), (2.0, 1.0, 64.0)];
        let pause = [(3.0, 1.0, 0.0), (4.0, 5.0, 0.0), (9.0, 1.0, 0.0)];
        assert_eq!(rates(&run), [before.as_slice(), &pause, &[(10.0, 1.0, 64.0)]].concat());
        // A pause that does not end lasts to the end of the window, and a single missing second is one stretch.
        run.intervals.pop();
        let pause = [(3.0, 1.0, 0.0), (4.0, 6.0, 0.0), (10.0, 1.0, 0.0)];
        assert_eq!(rates(&run), [before.as_slice(), &pause].concat());
        run.phases.window.end_ns = 4 * second;
        run.phases.drain = Span { start_ns: 4 * second, end_ns: 9 * second };
        assert_eq!(rates(&run), [before.as_slice(), &[(3.0, 1.0, 0.0)]].concat());
    }

    #[test]
    fn only_series_that_change_are_drawn() {
        let series = |name: &str, values: [f64; 2]| MetricSeries {
            name: name.to_owned(),
            values: values.map(Some).to_vec(),
            ..MetricSeries::default()
        };
        let metrics = paceline_record::ServerMetrics {
            at_ns: vec![0, 500_000_000],
            series: vec![series("constant", [1.0, 1.0]), series("heap", [1.0, 2.0])],
            ..Default::default()
        };
        let run = Run { server_metrics: Some(metrics), ..Run::default() };
        let lines = metric_lines(&run);
        assert_eq!(lines[0].points, [(0.0, 1.0), (0.5, 2.0)]);
        assert!(lines[0].name == "heap" && !lines[0].per_second);
    }

    #[test]
    fn a_long_run_has_at_most_a_thousand_stretches() {
        let second = |start: usize| Stretch {
            start_s: start as f64,
            length_s: 1.0,
            phase: Phase::Window,
            ok_per_s: start as f64,
            not_ok_per_s: 0.0,
            p50: Some(start as u64),
            p90: None,
            p99: None,
            max: None,
            lag_p99: None,
        };
        let joined = joined((0..2_500).map(second).collect());
        assert_eq!(joined.len(), 834);
        assert_eq!((joined[0].length_s, joined[0].ok_per_s, joined[0].p50), (3.0, 1.0, Some(2)));
    }
}
