//! Judges whether the loaders that share a run gave one load.
//!
//! Pure functions of the run's list of loaders and of the block of each. A run of one generator has neither.

use crate::TypedVerdict;
use crate::facts::{is_open, percentiles_of};
use paceline_record::{Block, Counts, LinkDirection, Loader, NetworkUse, Run, Severity};
use paceline_stats::percentile_interval;

/// Windows that begin or end further apart than this share of their length did not load the target together.
const MIN_APART_SHARE: f64 = 0.01;
/// A run that was not cut to the intervals common to all loaders is invalid above this share of the window: a tenth of
/// it had another load than requested.
const MAX_APART_SHARE: f64 = 0.1;
/// A run that was cut is invalid if less than this share of its window was left.
const MIN_KEPT_SHARE: f64 = 0.5;
/// Medians of two loaders on equal machines and paths differ by less than this factor,
const MIN_MEDIANS_RATIO: f64 = 1.25;
/// or by less than this, in nanoseconds: the time to wake a virtual CPU.
const MIN_MEDIANS_APART_NS: u64 = 100_000;
/// Shares of failed requests of two equal loaders differ by less than this,
const MIN_FAILED_APART: f64 = 0.01;
/// or by less than this many standard errors of a binomial difference: √2 times 1.96, as for two intervals of 95 % that
/// do not overlap.
const MIN_FAILED_ERRORS: f64 = 2.77;
/// Requests that a loader needs for its share of failed ones to be compared.
const MIN_SAMPLES: u64 = 100;
/// A link that carries more than this share of its speed is full: headers and gaps between frames take the rest.
const LINK_FULL: f64 = 0.9;

pub(crate) fn lost(run: &Run) -> Option<TypedVerdict> {
    let lost: Vec<&Loader> = run.loaders.iter().filter(|loader| loader.lost.is_some()).collect();
    let reasons =
        lost.iter().filter_map(|loader| Some(format!("{}: {}", loader.host, loader.lost.as_ref()?)));
    let scheduled = run.loaders.iter().filter_map(|loader| loader.share).fold(0, u64::saturating_add);
    let missing = lost.iter().filter_map(|loader| loader.share).fold(0, u64::saturating_add);
    (!lost.is_empty()).then(|| TypedVerdict::LoaderLost {
        loaders_lost: lost.len(),
        loaders: run.loaders.len(),
        missing_share: is_open(run).then(|| missing as f64 / (scheduled as f64).max(1.0)),
        reasons: reasons.collect(),
    })
}

pub(crate) fn apart(run: &Run) -> Option<TypedVerdict> {
    let windows: Vec<_> = run.loaders.iter().filter_map(|loader| loader.window).collect();
    let spread = |edge: fn(&paceline_record::Span) -> u64| {
        let edges = windows.iter().map(edge);
        edges.clone().max().unwrap_or(0) - edges.min().unwrap_or(0)
    };
    // A run of a fixed number of requests ends when each loader has sent its part.
    let ends = if run.loop_.requests.is_some() { 0 } else { spread(|window| window.end_ns) };
    let apart_ns = spread(|window| window.start_ns).max(ends);
    let longest_ns = windows.iter().map(|window| window.end_ns.saturating_sub(window.start_ns)).max()?;
    let share = apart_ns as f64 / (longest_ns as f64).max(1.0);
    let left_out = run.loaders.iter().filter_map(|loader| loader.left_out).reduce(u64::saturating_add);
    let kept = run.window_s * 1e9 / (longest_ns as f64).max(1.0);
    let is_invalid = match left_out {
        Some(_) => kept < MIN_KEPT_SHARE,
        None => share > MAX_APART_SHARE,
    };
    (share > MIN_APART_SHARE).then(|| TypedVerdict::LoadersApart {
        apart_s: apart_ns as f64 / 1e9,
        share_of_window: share.min(1.0),
        window_s: run.window_s,
        left_out,
        parts_missing: left_out.map(|_| parts_missing(run)).unwrap_or_default(),
        severity: if is_invalid { Severity::Invalid } else { Severity::Caution },
    })
}

/// The parts of a record that a cut of its window removes: intervals do not say which request of a mix ended, and the
/// examples of streams are the most extreme ones of the whole window.
fn parts_missing(run: &Run) -> Vec<&'static str> {
    let Some(job) = &run.job else { return Vec::new() };
    let has_streams = run.total.stream_events.is_some_and(|events| events.streams > 0);
    let parts = [
        ("by_segment", !job.segments().is_empty() && run.by_segment.is_none()),
        ("by_request", job.is_mix() && run.by_request.is_none()),
        ("sessions", job.has_sessions() && run.sessions.is_none()),
        ("stream_examples", has_streams && run.stream_examples.is_none()),
    ];
    parts.into_iter().filter(|(_, is_missing)| *is_missing).map(|(name, _)| name).collect()
}

pub(crate) fn differ(run: &Run) -> Option<TypedVerdict> {
    let blocks = run.by_generator.as_deref()?;
    let slowest = slower_loader(run, blocks);
    let enough = blocks.iter().map(|block| block.counts).filter(|counts| counts.scheduled >= MIN_SAMPLES);
    let failed: Vec<LoaderErrors> = enough.map(|counts| LoaderErrors::from_counts(&counts)).collect();
    let by_share = |a: &&LoaderErrors, b: &&LoaderErrors| a.share.total_cmp(&b.share);
    let least = failed.iter().min_by(by_share).copied().unwrap_or_default();
    let most = failed.iter().max_by(by_share).copied().unwrap_or_default();
    let failures_differ = most.is_above(least);
    let worst = blocks
        .iter()
        .zip(&run.loaders)
        .max_by(|(a, _), (b, _)| a.counts.not_ok_share().total_cmp(&b.counts.not_ok_share()));
    let named = slowest.map_or(worst.map(|(_, loader)| loader), |slowest| run.loaders.get(slowest));
    (slowest.is_some() || failures_differ).then(|| TypedVerdict::LoadersDiffer {
        service_time_ns_p50: blocks.iter().map(|block| median(block).unwrap_or(0)).collect(),
        failed_share_least: least.share,
        failed_share_most: most.share,
        host: named.map_or_else(String::new, |loader| loader.host.clone()),
    })
}

/// The failed requests of a loader.
#[derive(Clone, Copy, Default)]
struct LoaderErrors {
    /// Their share, 0 to 1.
    share: f64,
    /// Requests scheduled.
    of: f64,
}

impl LoaderErrors {
    fn from_counts(counts: &Counts) -> Self {
        Self { share: counts.not_ok_share(), of: counts.scheduled as f64 }
    }

    /// Whether the share is higher by the constants above.
    fn is_above(self, other: Self) -> bool {
        let both = (self.share * self.of + other.share * other.of) / (self.of + other.of);
        let error = (both * (1.0 - both) * (1.0 / self.of + 1.0 / other.of)).sqrt();
        self.share - other.share > MIN_FAILED_APART.max(MIN_FAILED_ERRORS * error)
    }
}

fn median(block: &Block) -> Option<u64> {
    block.service_time_ns.as_ref().map(|times| times.p50)
}

/// The loader with the longest median service time, if it is longer than the shortest by the constants above and by
/// more than the scatter within the run explains: their 95 % intervals do not overlap. The intervals take the
/// dispersion of the whole run, because a record has no intervals of each loader; if all loaders slow down together it
/// is too large, which errs on the side of no verdict. Without intervals, or with too few requests for one, there is
/// none.
fn slower_loader(run: &Run, blocks: &[Block]) -> Option<usize> {
    let [median_of_run] = percentiles_of(run, [0.5], |block| block.service_time_ns.as_ref());
    let dispersion = median_of_run?.dispersion;
    let interval =
        |block: &Block| percentile_interval(&block.service_time_ns.as_ref()?.decode().ok()?, 0.5, dispersion);
    let loaders = blocks.iter().enumerate();
    let medians: Vec<_> =
        loaders.filter_map(|(at, block)| Some((at, median(block)?, interval(block)?))).collect();
    let (_, fastest, shortest) = medians.iter().min_by_key(|(_, median, _)| *median)?;
    let (at, slowest, longest) = medians.iter().max_by_key(|(_, median, _)| *median)?;
    let is_large =
        *slowest as f64 >= MIN_MEDIANS_RATIO * *fastest as f64 && slowest - fastest >= MIN_MEDIANS_APART_NS;
    (is_large && longest.low > shortest.high).then_some(*at)
}

pub(crate) fn network_bound(run: &Run) -> Option<TypedVerdict> {
    let full = run.loaders.iter().filter_map(|loader| Some((full(loader.network.as_ref()?)?, loader)));
    let (link, loader) = full.max_by(|(a, _), (b, _)| a.share.total_cmp(&b.share))?;
    Some(TypedVerdict::NetworkBound {
        host: loader.host.clone(),
        interface: link.interface.to_owned(),
        direction: link.direction.name,
        bytes_per_s: link.direction.bytes_per_s,
        speed_bytes_per_s: link.direction.limit_bytes_per_s,
        percent: 100.0 * link.share,
    })
}

/// A link that is full in one direction.
pub(crate) struct FullLink<'a> {
    pub interface: &'a str,
    /// The direction that uses the larger share of its limit.
    pub direction: LinkDirection,
    /// That share, 0 to 1.
    pub share: f64,
}

/// The link of a machine if it is full; none if no limit of it is known.
pub(crate) fn full(network: &NetworkUse) -> Option<FullLink<'_>> {
    let share = |direction: LinkDirection| direction.bytes_per_s / direction.limit_bytes_per_s;
    let shares = network.limited_directions().map(|direction| (direction, share(direction)));
    let (direction, share) = shares.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let interface = network.interface.as_str();
    (share >= LINK_FULL).then_some(FullLink { interface, direction, share })
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_job::{Job, RequestSpec};
    use paceline_record::{EventCounts, Interval, Phase, Span, Times, fixture};
    use paceline_stats::{Histogram, Random, SLICES};

    /// A run by two loaders with these median service times, in microseconds.
    fn run(medians_us: [u64; 2]) -> Run {
        run_of(&medians_us.map(|micros| {
            let mut times = Histogram::new();
            times.record_n(micros * 1_000, 500);
            vec![times; SLICES]
        }))
    }

    /// A run by two loaders with the service times of each one's intervals.
    fn run_of(loaders: &[Vec<Histogram>; 2]) -> Run {
        let mut run = fixture::run(0);
        let block = |histograms: &[Histogram]| {
            let mut times = Histogram::new();
            histograms.iter().for_each(|histogram| times.merge(histogram));
            let counts = Counts { scheduled: times.count(), ok: times.count(), ..Counts::default() };
            Block { counts, service_time_ns: Some(Times::from_histogram(&times)), ..Block::default() }
        };
        run.total = block(&loaders.concat());
        run.by_generator = Some(loaders.iter().map(|loader| block(loader)).collect());
        run.intervals = (0..SLICES)
            .map(|at| {
                let of_loaders = loaders.each_ref().map(|loader| loader[at].clone());
                Interval::new(Phase::Window, at as u64, block(&of_loaders))
            })
            .collect();
        let window = Some(Span { start_ns: 1_000_000_000, end_ns: 11_000_000_000 });
        let loader =
            |host: &str| Loader { host: host.to_owned(), share: Some(5_000), window, ..Loader::default() };
        run.loaders = vec![loader("n3"), loader("n4")];
        run
    }

    #[test]
    fn equal_loaders_raise_no_verdict() {
        let run = run([900, 1_000]);
        assert!(lost(&run).is_none() && apart(&run).is_none() && differ(&run).is_none());
        assert!(network_bound(&run).is_none() && differ(&fixture::run(0)).is_none());
    }

    #[test]
    fn a_slower_path_is_named() {
        assert!(
            matches!(differ(&run([1_000, 1_300])), Some(TypedVerdict::LoadersDiffer { host, .. }) if host == "n4")
        );
        // A third of a short time is a short time.
        assert!(differ(&run([100, 133])).is_none());
        let mut failing = run([1_000, 1_000]);
        let blocks = failing.by_generator.as_mut().unwrap();
        (blocks[0].counts.ok, blocks[0].counts.timed_out) = (4_900, 100);
        assert!(matches!(differ(&failing), Some(TypedVerdict::LoadersDiffer { host, .. }) if host == "n3"));
        // Two of 100 requests are chance.
        let counts = Counts { scheduled: 100, ok: 98, timed_out: 2, ..Counts::default() };
        let few = LoaderErrors::from_counts(&counts);
        assert!(!few.is_above(LoaderErrors { share: 0.0, of: 100.0 }));
        assert!(!LoaderErrors::default().is_above(LoaderErrors::default()));
    }

    /// Service times of a loader on a busy machine: the log of each interval's median has this standard deviation.
    fn noisy(random: &mut Random, requests: usize, noise: f64, median_ns: f64) -> Vec<Histogram> {
        let mut interval = || {
            let median_ns = median_ns * (noise * random.normal()).exp();
            let mut times = Histogram::new();
            (0..requests / SLICES)
                .for_each(|_| times.record((median_ns * (0.5 * random.normal()).exp()) as u64));
            times
        };
        (0..SLICES).map(|_| interval()).collect()
    }

    #[test]
    fn noise_of_a_busy_machine_is_not_a_difference() {
        let mut random = Random::new(18);
        for (requests, noise, second_ns, least, most) in [
            (100, 0.0, 1e6, 0, 0),
            (1_000, 0.3, 1e6, 0, 0),
            (1_000, 0.6, 1e6, 0, 0),
            (10_000, 0.6, 1e6, 0, 0),
            (1_000, 0.1, 1.5e6, 38, 40),
        ] {
            let mut is_found = || {
                let first = noisy(&mut random, requests, noise, 1e6);
                differ(&run_of(&[first, noisy(&mut random, requests, noise, second_ns)])).is_some()
            };
            let found = (0..40).filter(|_| is_found()).count();
            assert!(
                (least..=most).contains(&found),
                "{requests} requests, noise {noise}, {second_ns} ns: {found} of 40 runs"
            );
        }
    }

    #[test]
    fn a_lost_loader_makes_the_run_invalid() {
        let mut run = run([1_000, 1_000]);
        run.loaders[1].lost = Some("ended without a result".to_owned());
        let finding = lost(&run).unwrap();
        assert_eq!(
            (finding.severity(), finding.evidence()["missing_share"].as_f64()),
            (Severity::Invalid, Some(0.5))
        );
    }

    #[test]
    fn windows_that_do_not_overlap_are_found() {
        let mut run = run([1_000, 1_000]);
        for (late_ns, severity) in [
            (99_000_000, None),
            (200_000_000, Some(Severity::Caution)),
            (1_500_000_000, Some(Severity::Invalid)),
        ] {
            run.loaders[1].window =
                Some(Span { start_ns: 1_000_000_000 + late_ns, end_ns: 11_000_000_000 + late_ns });
            run.window_s = 10.0;
            assert_eq!(apart(&run).map(|finding| finding.severity()), severity, "{late_ns}");
        }
        // Once cut to the common intervals, the rest of the window is valid.
        run.loaders[1].left_out = Some(700);
        for (window_s, severity) in [(8.0, Severity::Caution), (4.0, Severity::Invalid)] {
            run.window_s = window_s;
            let finding = apart(&run).unwrap();
            assert_eq!((finding.severity(), finding.evidence()["left_out"].as_u64()), (severity, Some(700)));
        }
        assert!(parts_missing(&run).is_empty(), "one request at a steady rate has no parts");
        let request: RequestSpec = serde_json::from_value(serde_json::json!({ "name": "a" })).unwrap();
        run.job = Some(Box::new(Job { requests: vec![request; 2], ..Job::default() }));
        assert_eq!(parts_missing(&run), ["by_request"]);
        run.total.stream_events = Some(EventCounts { streams: 1, ..EventCounts::default() });
        assert_eq!(parts_missing(&run), ["by_request", "stream_examples"]);
    }

    #[test]
    fn a_full_link_is_the_limit() {
        let mut run = run([1_000, 1_000]);
        let network = |received_bytes_per_s| NetworkUse {
            interface: "eth0".to_owned(),
            sent_bytes_per_s: 1e5,
            received_bytes_per_s,
            speed_bytes_per_s: Some(12.5e6),
            sent_limit_bytes_per_s: None,
        };
        run.loaders[0].network = Some(network(10e6));
        assert!(network_bound(&run).is_none());
        run.loaders[1].network = Some(network(12e6));
        assert!(matches!(
            network_bound(&run),
            Some(TypedVerdict::NetworkBound { host, direction: "received", .. }) if host == "n4"
        ));
    }

    #[test]
    fn each_direction_is_compared_with_its_own_limit() {
        let at = |sent_bytes_per_s, received_bytes_per_s, speed_bytes_per_s| NetworkUse {
            interface: "eth0".to_owned(),
            sent_bytes_per_s,
            received_bytes_per_s,
            speed_bytes_per_s,
            sent_limit_bytes_per_s: Some(1e6),
        };
        let direction = |network: &NetworkUse| full(network).map(|link| link.direction.name);
        // The token bucket limits only sending; receiving has no limit here.
        assert_eq!(direction(&at(1e5, 9e6, None)), None);
        assert_eq!(direction(&at(0.95e6, 9e6, None)), Some("sent"));
        assert_eq!(direction(&at(1e5, 9.5e6, Some(1e7))), Some("received"));
        // A device slower than its bucket limits sending, too.
        assert_eq!(direction(&at(0.95e5, 0.0, Some(1e5))), Some("sent"));
    }
}
