//! Cuts the windows of all loaders of a run to their common part, if the windows differ.
//!
//! Windows differ if a loader began late, or a machine's clock stopped for a while. A record keeps the requests that
//! ended in each interval of the run, so the window is cut to the whole intervals that all loaders have in common:
//! requests are left out by the moment they ended. If a loader's window ends with the common one, requests that ended
//! in its drain are kept.

use paceline_engine::Nanos;
use paceline_record::{Block, BlockSum, Loader, Phase, RecordError, RequestPart, Run, Span};

/// Windows that differ by less than this share of their length are treated as one.
const MIN_APART_SHARE: f64 = 0.01;
/// How far a clock may be off in units of an interval's length, for a moment to count as the interval's edge.
const EDGE: f64 = 0.1;

/// The contribution of one loader.
#[derive(Debug)]
pub struct LoaderPart {
    /// Its entry in the record.
    pub loader: Loader,
    /// Its record; none if it is lost.
    pub run: Option<Run>,
    /// Sends noted to test random arrivals, since the beginning of the warm-up, by stretch.
    pub noted: Vec<Vec<Nanos>>,
}

/// The intervals that all loaders have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The time when all windows are open, on the coordinator's clock.
    start_ns: u64,
    /// Length of an interval.
    slice_ns: u64,
    /// Intervals in common.
    slices: u64,
}

/// The part of a loader's window that is kept, since the beginning of its warm-up.
struct KeptRange {
    from_ns: u64,
    to_ns: u64,
    /// What ended after it, too.
    drain: bool,
}

impl Overlap {
    /// The common part of windows that differ; none if they are equal, or have no common part.
    pub fn from_parts(parts: &[LoaderPart]) -> Option<Self> {
        let known: Vec<(Span, &Run)> =
            parts.iter().filter_map(|part| Some((part.loader.window?, part.run.as_ref()?))).collect();
        // Each ends when it has sent its part: their windows are of different lengths.
        if known.iter().any(|(_, run)| run.loop_.requests.is_some()) {
            return None;
        }
        let start_ns = known.iter().map(|(window, _)| window.start_ns).max()?;
        let end_ns = known.iter().map(|(window, _)| window.end_ns).min()?;
        let longest = known.iter().map(|(window, _)| window.end_ns.saturating_sub(window.start_ns)).max()?;
        let common_ns = end_ns.saturating_sub(start_ns);
        if (longest - common_ns.min(longest)) as f64 <= MIN_APART_SHARE * longest as f64 {
            return None;
        }
        let slice_ns = known.iter().filter_map(|(_, run)| slice_ns(run)).max()?;
        let overlap = Self { start_ns, slice_ns, slices: 0 };
        let slices = |(window, run): &(Span, &Run)| {
            let epoch_ns = epoch_ns(*window, run);
            let room_ns = end_ns.saturating_sub(epoch_ns + overlap.first_ns(epoch_ns));
            (room_ns as f64 / slice_ns as f64 + EDGE) as u64
        };
        let slices = known.iter().map(slices).min().filter(|slices| *slices > 0)?;
        Some(Self { slices, ..overlap })
    }

    /// The first common interval, since the beginning of a warm-up.
    fn first_ns(&self, epoch_ns: u64) -> u64 {
        let whole = (self.start_ns.saturating_sub(epoch_ns) as f64 / self.slice_ns as f64 - EDGE).ceil();
        whole.max(0.0) as u64 * self.slice_ns
    }

    fn kept(&self, window: Span, run: &Run) -> KeptRange {
        let from_ns = self.first_ns(epoch_ns(window, run));
        let to_ns = from_ns + self.slices * self.slice_ns;
        let end_ns = run.phases.window.end_ns.saturating_sub(run.phases.warmup.start_ns);
        KeptRange { from_ns, to_ns, drain: end_ns <= to_ns + self.edge_ns() }
    }

    /// How far a moment may be from the edge of an interval to count as on it.
    fn edge_ns(&self) -> u64 {
        (EDGE * self.slice_ns as f64) as u64
    }

    /// Cuts a loader's record to the common intervals, and records the number of its requests that are left out.
    pub(crate) fn cut(&self, loader: &mut Loader, run: &mut Run) -> Result<(), RecordError> {
        let Some(window) = loader.window else { return Ok(()) };
        let kept = self.kept(window, run);
        let epoch_ns = run.phases.warmup.start_ns;
        let is_kept = |start_ns: u64| {
            let since_ns = start_ns.saturating_sub(epoch_ns) + self.edge_ns();
            since_ns >= kept.from_ns && (since_ns < kept.to_ns || kept.drain)
        };
        run.intervals.retain(|interval| interval.phase != Phase::Window || is_kept(interval.start_ns));
        let (mut total, mut of_warmup) = (BlockSum::default(), 0);
        for interval in &run.intervals {
            match interval.phase {
                Phase::Window => total.add(&interval.block)?,
                // A response of the warm-up's cohort that came in the window.
                _ if is_kept(interval.start_ns) => of_warmup += interval.block.completed_in_window,
                _ => {}
            }
        }
        let mut total = total.into_block();
        total.counts.scheduled = total.counts.ended();
        total.completed_in_window += of_warmup;
        loader.left_out = Some(run.total.counts.scheduled.saturating_sub(total.counts.scheduled));
        run.total = total;
        let phases = &mut run.phases;
        phases.window = Span { start_ns: epoch_ns + kept.from_ns, end_ns: epoch_ns + kept.to_ns };
        (phases.warmup.end_ns, phases.drain.start_ns) = (phases.window.start_ns, phases.window.end_ns);
        run.window_s = (kept.to_ns - kept.from_ns) as f64 / 1e9;
        // Intervals do not say which segment, request or session of a file an ended request belongs to. A loader that
        // began late also had its segments later than the others.
        run.by_segment = None;
        run.sessions = None;
        // An example is the most extreme stream of the whole window.
        run.stream_examples = None;
        run.by_request = run.by_request.take().and_then(|parts| only(parts, &run.total));
        Ok(())
    }
}

/// The requests of a file with a single one: its block is the total.
fn only(parts: Vec<RequestPart>, total: &Block) -> Option<Vec<RequestPart>> {
    let [part] = <[RequestPart; 1]>::try_from(parts).ok()?;
    Some(vec![RequestPart { block: total.clone(), ..part }])
}

/// The beginning of a loader's warm-up on the coordinator's clock.
fn epoch_ns(window: Span, run: &Run) -> u64 {
    let warmup_ns = run.phases.window.start_ns.saturating_sub(run.phases.warmup.start_ns);
    window.start_ns.saturating_sub(warmup_ns)
}

/// The length of a run's intervals, in which something ended.
fn slice_ns(run: &Run) -> Option<u64> {
    let of_window = run.intervals.iter().filter(|interval| interval.phase == Phase::Window);
    let mut starts: Vec<u64> = of_window.map(|interval| interval.start_ns).collect();
    starts.sort_unstable();
    starts.windows(2).filter_map(|pair| pair.last()?.checked_sub(*pair.first()?)).filter(|gap| *gap > 0).min()
}
