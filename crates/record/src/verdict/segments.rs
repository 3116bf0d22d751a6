//! Where a load that changes became too much: the first segment in which the target fell behind.
//!
//! Called by the judges of a run. A segment is short, so more must be missing than of a whole window before it counts.

use crate::block::total;
use crate::{Run, Segment};

/// Below this share of what fell due in a segment, the target fell behind in it: a pause of a twentieth of a segment
/// at its end is no overload.
const SEGMENT_ACHIEVED_LEAST: f64 = 0.95;

/// Where the target fell behind.
pub(super) struct Break<'a> {
    /// The segment before, with which it kept up; none where it was the first.
    pub before: Option<&'a Segment>,
    /// The first with which it did not.
    pub at: &'a Segment,
}

/// The first segment in which the target fell behind, if there is one.
pub(super) fn first_break(run: &Run) -> Option<Break<'_>> {
    let segments = run.by_segment.as_deref()?;
    let most = run.connections.had as f64 * f64::from(run.loop_.depth);
    let index = segments.iter().position(|segment| fell_behind(segment, most))?;
    Some(Break { before: index.checked_sub(1).map(|before| &segments[before]), at: &segments[index] })
}

/// Whether fewer responses came in the segment than fell due in it, by more than are in service at any moment: of
/// those the connections carry `most`.
fn fell_behind(segment: &Segment, most: f64) -> bool {
    let counts = segment.block.counts;
    let scheduled = counts.scheduled as f64;
    // A wrong answer is no missing one.
    let answered = total([segment.completed_in_segment, counts.bad_status, counts.bad_body]);
    let missing = scheduled - answered as f64;
    let service_s = segment.block.service_time_ns.as_ref().map_or(0.0, |times| times.mean / 1e9);
    let in_service = (segment.offered_per_s * service_s).ceil().min(most);
    missing > in_service && missing > (1.0 - SEGMENT_ACHIEVED_LEAST) * scheduled
}

/// The highest rate that was offered for a while, per second; none in a closed loop.
pub(super) fn offered_per_s_peak(run: &Run) -> Option<f64> {
    let segments = run.by_segment.as_deref().unwrap_or_default();
    let mean = run.loop_.offered_per_s?;
    Some(segments.iter().map(|segment| segment.offered_per_s).fold(mean, f64::max))
}
