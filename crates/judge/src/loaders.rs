//! Did the loaders of a run that several share give one load?
//!
//! Pure functions of the run's list of loaders and of each one's block. A run of one generator has neither.

use crate::Finding;
use crate::facts::is_open;
use paceline_record::{Block, Loader, Run, Severity};

/// Windows that begin or end further apart than this share of their length did not load the target together.
const APART_SHARE_LEAST: f64 = 0.01;
/// Above this share of the window the run is invalid: a tenth of it had another load than was asked for.
const APART_SHARE_MOST: f64 = 0.1;
/// Medians of two loaders on equal machines and paths differ by less than this factor,
const MEDIANS_RATIO_LEAST: f64 = 1.25;
/// or by less than this, in nanoseconds: what waking up a virtual CPU takes.
const MEDIANS_APART_NS_LEAST: u64 = 100_000;
/// Shares of failed requests of two loaders differ by less.
const FAILED_APART_LEAST: f64 = 0.01;
/// Requests that a loader needs for its median to be compared.
const SAMPLES_LEAST: u64 = 100;
/// A link that carries more than this share of its speed is full: headers and gaps between frames take the rest.
const LINK_FULL: f64 = 0.9;

pub(crate) fn lost(run: &Run) -> Option<Finding> {
    let lost: Vec<&Loader> = run.loaders.iter().filter(|loader| loader.lost.is_some()).collect();
    let reasons =
        lost.iter().filter_map(|loader| Some(format!("{}: {}", loader.host, loader.lost.as_ref()?)));
    let scheduled: u64 = run.loaders.iter().filter_map(|loader| loader.share).sum();
    let missing: u64 = lost.iter().filter_map(|loader| loader.share).sum();
    (!lost.is_empty()).then(|| Finding::LoaderLost {
        loaders_lost: lost.len(),
        loaders: run.loaders.len(),
        missing_share: is_open(run).then(|| missing as f64 / (scheduled as f64).max(1.0)),
        reasons: reasons.collect(),
    })
}

pub(crate) fn apart(run: &Run) -> Option<Finding> {
    let windows: Vec<_> = run.loaders.iter().filter_map(|loader| loader.window).collect();
    let spread = |edge: fn(&paceline_record::Span) -> u64| {
        let edges = windows.iter().map(edge);
        edges.clone().max().unwrap_or(0) - edges.min().unwrap_or(0)
    };
    // A number of requests ends when each loader has sent its part.
    let ends = if run.loop_.requests.is_some() { 0 } else { spread(|window| window.end_ns) };
    let apart_ns = spread(|window| window.start_ns).max(ends);
    let share = apart_ns as f64 / (run.window_s * 1e9).max(1.0);
    (share > APART_SHARE_LEAST).then(|| Finding::LoadersApart {
        apart_s: apart_ns as f64 / 1e9,
        share_of_window: share.min(1.0),
        severity: if share > APART_SHARE_MOST { Severity::Invalid } else { Severity::Caution },
    })
}

pub(crate) fn differ(run: &Run) -> Option<Finding> {
    let blocks = run.by_generator.as_deref()?;
    let enough = |block: &&Block| block.counts.ok >= SAMPLES_LEAST;
    let median = |block: &Block| block.service_time_ns.as_ref().map(|times| times.p50);
    let medians = || blocks.iter().filter(enough).filter_map(median);
    let failed = || {
        let scheduled =
            blocks.iter().map(|block| block.counts).filter(|counts| counts.scheduled >= SAMPLES_LEAST);
        scheduled.map(|counts| counts.not_ok() as f64 / counts.scheduled as f64)
    };
    let (fastest, slowest) = (medians().min()?, medians().max()?);
    let times_differ =
        slowest as f64 >= MEDIANS_RATIO_LEAST * fastest as f64 && slowest - fastest >= MEDIANS_APART_NS_LEAST;
    let (least, most) = (failed().fold(1.0, f64::min), failed().fold(0.0, f64::max));
    let failures_differ = most - least > FAILED_APART_LEAST;
    let slow = blocks.iter().zip(&run.loaders).filter(|(block, _)| median(block) == Some(slowest));
    let worst = blocks.iter().zip(&run.loaders).max_by(|(a, _), (b, _)| {
        let share = |block: &Block| block.counts.not_ok() as f64 / (block.counts.scheduled as f64).max(1.0);
        share(a).total_cmp(&share(b))
    });
    let named =
        if times_differ { slow.map(|(_, loader)| loader).next() } else { worst.map(|(_, loader)| loader) };
    (times_differ || failures_differ).then(|| Finding::LoadersDiffer {
        service_time_ns_p50: blocks.iter().map(|block| median(block).unwrap_or(0)).collect(),
        failed_share_least: least,
        failed_share_most: most,
        host: named.map_or_else(String::new, |loader| loader.host.clone()),
    })
}

pub(crate) fn network_bound(run: &Run) -> Option<Finding> {
    let full = run.loaders.iter().filter_map(|loader| {
        let network = loader.network.as_ref()?;
        let speed = network.speed_bytes_per_s.filter(|speed| *speed > 0.0)?;
        let moved = network.sent_bytes_per_s.max(network.received_bytes_per_s);
        Some((moved / speed, moved, speed, network, loader))
    });
    let (share, moved, speed, network, loader) = full.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (share >= LINK_FULL).then(|| Finding::NetworkBound {
        host: loader.host.clone(),
        interface: network.interface.clone(),
        bytes_per_s: moved,
        speed_bytes_per_s: speed,
        percent: 100.0 * share,
    })
}
