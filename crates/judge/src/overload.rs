//! Judges whether the server kept up with an offered rate, and what the requests waited for if it did not.
//!
//! Overload is growth of the outstanding requests, never a long service time, which may be the server's queue. Gates use
//! the same figures.

use crate::facts::{
    self, RunSlice, is_open, longest_stall_ns, look, offered_per_s_peak, outstanding_max,
    outstanding_on_connection,
};
use crate::server::server_limit;
use crate::silence::stopped_answering;
use crate::{MIN_ACHIEVED, TypedVerdict, generator};
use paceline_record::{Arrivals, Blame, Counts, Phase, Run, Segment, Shape, Times};
use paceline_stats::{Growth, Histogram, little_outstanding, ratio};

/// Minimum growth over the window, as a share of the scheduled requests: random arrivals at 95 % load stay below it.
const MIN_GROWTH_SHARE: f64 = 0.005;
/// Minimum growth in requests: a burst may leave fewer than this.
const MIN_GROWTH_REQUESTS: f64 = 5.0;
/// Below this share of the requests due in a segment, the server fell behind in it: a pause of a twentieth of a segment
/// at its end is not overload.
const MIN_SEGMENT_ACHIEVED: f64 = 0.95;
/// Responses within a tenth of the timeout do not come from a queue: requests that time out beside them hang.
const HANGING_SHARE: f64 = 0.1;
/// Requests that hang held the connections if those that were answered needed less than this share of them.
const MIN_HELD: f64 = 0.5;
/// From this multiple of the shortest time on, a service time contains a queue: for each request in service another one
/// waited half of the time.
const MIN_GROWN: f64 = 1.5;
/// If the 10th percentile is below this share of the median, times vary by themselves: a queue of many requests makes
/// them equal.
const MAX_WIDE: f64 = 0.5;
/// The share of the achieved rate that a remedy proposes: low enough for a queue to stay short.
const TRY_SHARE: f64 = 0.7;
/// The lowest rate that a remedy proposes, per second: one request in the longest window.
const LOWEST_TO_TRY: f64 = 1e-8;

/// A rate to try, below the rate that the server achieved: two digits, and a whole number from 1 per second on.
pub(crate) fn rate_to_try(achieved_per_s: f64) -> String {
    let rate = (TRY_SHARE * achieved_per_s).max(LOWEST_TO_TRY);
    let digit = rate.log10().floor() as i32 - 1;
    let digit = if rate < 1.0 { digit } else { digit.max(0) };
    let (step, decimals) = (10f64.powi(digit), usize::try_from(-digit).unwrap_or(0));
    format!("{:.decimals$}", (rate / step).floor() * step)
}

/// Whether completions fell behind the schedule of an open loop.
pub(crate) fn is_saturated(run: &Run) -> bool {
    // No rate is low enough for a server that is gone.
    (falls_behind(run) || first_break(run).is_some()) && stopped_answering(run).is_none()
}

/// Whether completions fell behind a schedule that is judged as a whole: the segments of a ramp and of steps are judged
/// one by one.
fn falls_behind(run: &Run) -> bool {
    is_judged(run)
        && !run.loop_.has_several_rates()
        && match growth(run) {
            Some(growth) => is_overload(growth, run),
            None => falls_short_at_once(run),
        }
}

fn is_judged(run: &Run) -> bool {
    // Requests that a lost loader did not send are missing from the counts, but not because of the server.
    let is_short = run.loaders.iter().any(|loader| loader.lost.is_some());
    is_open(run) && run.total.counts.scheduled > 0 && !is_short
}

pub(crate) fn saturated(run: &Run) -> Option<TypedVerdict> {
    if !is_saturated(run) {
        return None;
    }
    let growth = growth(run);
    let fell_behind = first_break(run);
    let bottleneck = Bottleneck::from_run(run);
    Some(TypedVerdict::Saturated {
        offered_per_s: run.rate_per_s.offered,
        achieved_per_s: run.rate_per_s.achieved,
        outstanding_growth_per_s: growth.map(|growth| growth.per_s),
        outstanding_growth_per_s_low: growth.map(|growth| growth.interval.low),
        outstanding_growth_per_s_high: growth.map(|growth| growth.interval.high),
        kept_up_at_per_s: fell_behind.and_then(|(before, _)| Some(before?.offered_per_s)),
        fell_behind_at_per_s: fell_behind.map(|(_, at)| at.offered_per_s),
        waited_for: bottleneck.name(),
        blame: if bottleneck == Bottleneck::Connections { Blame::User } else { Blame::Server },
        advice: bottleneck.advice(run, kept_up(run, fell_behind)),
    })
}

/// What the requests of an overload waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bottleneck {
    /// The server's queue: its times are longer than without load.
    Server,
    /// A free connection: all were busy, and the server's times did not grow.
    Connections,
    /// Either of them: the times vary too much to tell.
    Unknown,
    /// A connection that no hanging request holds.
    Hanging,
}

impl Bottleneck {
    /// By Little's law an offered rate needs as many connections as the rate times the service time. If the service
    /// time did not grow with the load, more connections give a higher rate; in the queue of a server that is fully
    /// used they only make it longer.
    pub(crate) fn from_run(run: &Run) -> Self {
        if hold_connections(run) {
            return Self::Hanging;
        }
        let needed = connections_needed(run).is_some_and(|needed| needed > run.connections.had as f64);
        let Some(times) = late_times(run).filter(|_| needed && server_limit(run).is_none()) else {
            return Self::Server;
        };
        if times.low_ns < MIN_GROWN * times.shortest_ns {
            Self::Connections
        } else if times.low_ns < MAX_WIDE * times.median_ns && !run.loop_.has_several_rates() {
            Self::Unknown
        } else {
            Self::Server
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Connections => "connections",
            Self::Unknown => "server or connections",
            Self::Hanging => "requests that hang",
        }
    }

    fn advice(self, run: &Run, kept_up_per_s: f64) -> String {
        let queue = "The server cannot keep up: requests queue, and the response times depend on the length of the run.";
        // Without a valid response no lower rate is known to help.
        let slower = match kept_up_per_s > 0.0 {
            true => format!("Try -r {}.", rate_to_try(kept_up_per_s)),
            false => format!("There was no valid response in the window. {}", look(run)),
        };
        let more = format!("-c {:.0}", connections_needed(run).unwrap_or(run.connections.had as f64));
        match self {
            Self::Server => format!("{queue} {slower}"),
            Self::Connections => format!(
                "All connections were busy, while the server's times did not grow: the number of connections limited the rate, not the server. Use {more}."
            ),
            Self::Unknown => format!(
                "Requests queued for a connection, and the response times depend on the length of the run. Try {more}: if the rate does not rise, the server cannot keep up. {slower}"
            ),
            Self::Hanging => {
                "Requests that hang held most connections, while others were answered quickly: this is not the server's highest rate. Find out why requests hang, or lower --timeout.".to_owned()
            }
        }
    }
}

/// Service times in the second half of the window, and the shortest of the run, in nanoseconds.
struct LateTimes {
    shortest_ns: f64,
    /// The 10th percentile.
    low_ns: f64,
    median_ns: f64,
}

/// The service times after the queue had time to grow; none if the intervals have no histograms.
fn late_times(run: &Run) -> Option<LateTimes> {
    let window = run.phases.window;
    let half_ns = window.start_ns.midpoint(window.end_ns);
    let of_requests = run.intervals.iter().filter(|interval| interval.phase != Phase::Connect);
    let (mut late, mut shortest) = (Histogram::new(), u64::MAX);
    for interval in of_requests {
        let Some(times) = interval.block.service_time_ns.as_ref().filter(|times| times.count > 0) else {
            continue;
        };
        shortest = shortest.min(times.min);
        if interval.start_ns >= half_ns {
            late.merge(&times.decode().ok()?);
        }
    }
    if late.count() == 0 {
        late = run.total.service_time_ns.as_ref()?.decode().ok()?;
        shortest = shortest.min(late.min()?);
    }
    let [low, median] = late.quantiles([0.1, 0.5])?.map(|ns| ns as f64);
    Some(LateTimes { shortest_ns: shortest as f64, low_ns: low, median_ns: median })
}

/// Whether requests that hang held at least half of the connections, by Little's law: those that were answered need
/// fewer.
fn hold_connections(run: &Run) -> bool {
    let service_s = run.total.service_time_ns.as_ref().map_or(0.0, |times| times.p50 as f64 / 1e9);
    let answered = little_outstanding(run.rate_per_s.achieved, service_s);
    hangs(run) && run.total.counts.timed_out > 0 && answered < MIN_HELD * outstanding_max(run)
}

/// The highest rate that the server is known to have kept up with, in the unit of `-r`: sessions or requests per second.
fn kept_up(run: &Run, fell_behind: Option<(Option<&Segment>, &Segment)>) -> f64 {
    let loop_ = &run.loop_;
    match (fell_behind, loop_.sessions_offered_per_s, loop_.offered_per_s) {
        (Some((Some(before), _)), _, _) => before.offered_per_s,
        (_, Some(sessions), Some(requests)) if requests > 0.0 => {
            run.rate_per_s.achieved * sessions / requests
        }
        _ => run.rate_per_s.achieved,
    }
}

/// Whether outstanding requests grew, by more than chance and by enough to matter.
fn is_overload(growth: Growth, run: &Run) -> bool {
    let least = (MIN_GROWTH_SHARE * run.total.counts.scheduled as f64).max(MIN_GROWTH_REQUESTS);
    let pausing = run.loop_.offered_per_s.unwrap_or(0.0) * session_pause_s(run);
    growth.interval.low > 0.0 && growth.per_s * run.window_s >= least + pausing
}

/// The mean pause of a session: its time less the response times of its steps; the longest of all sessions. All steps
/// of a session are counted as scheduled when it begins, so those after a pause are outstanding without a queue.
fn session_pause_s(run: &Run) -> f64 {
    let mean_s = |times: Option<&Times>| times.map_or(0.0, |times| times.mean / 1e9);
    let requests = run.by_request.as_deref().unwrap_or_default();
    let response_s = |name: &str| {
        let step = requests.iter().find(|request| request.name == name);
        mean_s(step.and_then(|step| step.block.response_time_ns.as_ref()))
    };
    let pauses = run.sessions.iter().flatten().map(|session| {
        let responses: f64 = session.steps.iter().map(|step| response_s(&step.name)).sum();
        mean_s(session.session_time_ns.as_ref()) - responses
    });
    pauses.fold(0.0, f64::max)
}

/// The growth of outstanding requests over the intervals of the window: requests due in each interval, less those that
/// were answered or failed in it. A single jump, such as a pause leaves, has a wide interval. For a trace, over the
/// segments, whose schedule is in the record.
fn growth(run: &Run) -> Option<Growth> {
    if let (Some(Shape::Trace(_)), Some(segments)) = (&run.loop_.shape, &run.by_segment) {
        return growth_of_segments(run, segments);
    }
    let due = due_per_s(run)?;
    let stretches = facts::window(run);
    let start_ns = stretches.first()?.start_ns;
    let (mut points, mut outstanding) = (vec![(0.0, 0.0)], 0.0);
    for stretch in &stretches {
        outstanding += due * stretch.length_s() - ended(run, stretch);
        points.push(((stretch.end_ns - start_ns) as f64 / 1e9, outstanding));
    }
    paceline_stats::growth(&points)
}

/// Requests that fell due in a second of the window. Random arrivals are counted: their number differs from that of the
/// schedule's rate by chance, and a server cannot answer requests that did not arrive. By the rate, one in 40 windows of
/// a server that keeps up would be overloaded.
fn due_per_s(run: &Run) -> Option<f64> {
    let offered = run.loop_.offered_per_s?;
    let is_random = run.loop_.arrivals == Some(Arrivals::Poisson);
    Some(if is_random { ratio(run.total.counts.scheduled as f64, run.window_s) } else { offered })
}

fn growth_of_segments(run: &Run, segments: &[Segment]) -> Option<Growth> {
    let start_ns = segments.first()?.start_ns;
    let (mut points, mut outstanding) = (vec![(0.0, 0.0)], 0.0);
    for segment in segments {
        let counts = &segment.block.counts;
        let ended = ended_of_due(segment.completed_in_segment, counts) + hung(run, counts);
        outstanding += counts.scheduled as f64 - ended;
        points.push(((segment.end_ns.saturating_sub(start_ns)) as f64 / 1e9, outstanding));
    }
    paceline_stats::growth(&points)
}

/// Requests that no longer wait, of which this many were answered well: valid responses are counted when they completed,
/// failures when they were due.
fn ended_of_due(ok: u64, counts: &Counts) -> f64 {
    let failed = [counts.bad_status, counts.bad_body, counts.connect_failed, counts.io_failed];
    failed.iter().fold(ok as f64, |sum, count| sum + *count as f64)
}

/// Requests that timed out while others are answered quickly: no queue holds their places, so they no longer wait.
fn hung(run: &Run, counts: &Counts) -> f64 {
    if hangs(run) { counts.timed_out as f64 } else { 0.0 }
}

/// Requests of a stretch that no longer wait.
fn ended(run: &Run, stretch: &RunSlice) -> f64 {
    let counts = &stretch.counts;
    let failed = counts.connect_failed as f64 + counts.io_failed as f64;
    stretch.answered() as f64 + failed + hung(run, counts)
}

/// Whether requests that time out hang, while others are answered quickly.
fn hangs(run: &Run) -> bool {
    let median = run.total.service_time_ns.as_ref().map_or(0, |times| times.p50);
    (median as f64) < HANGING_SHARE * run.timeout_ns as f64
}

/// Whether a window that is too short for an interval missed its schedule by more than the requests in service at any
/// moment.
fn falls_short_at_once(run: &Run) -> bool {
    let counts = &run.total.counts;
    let ended = ended_of_due(run.total.completed_in_window, counts) + hung(run, counts);
    let missing = counts.scheduled as f64 - ended;
    missing > (1.0 - MIN_ACHIEVED) * counts.scheduled as f64 && missing > in_service(run)
}

/// Requests in service at any moment, by Little's law. With a server that keeps up, this many are unanswered at the end
/// of a window that began with none, and the steps of sessions that pause. A median of a quarter of the window indicates
/// a queue.
fn in_service(run: &Run) -> f64 {
    let most = outstanding_max(run);
    let service_s = run.total.service_time_ns.as_ref().map_or(0.0, |times| service_s(times, run.window_s));
    let offered = run.loop_.offered_per_s.unwrap_or(0.0);
    (offered * service_s).ceil().min(most) + (offered * session_pause_s(run)).ceil()
}

fn service_s(times: &Times, window_s: f64) -> f64 {
    let median_s = times.p50 as f64 / 1e9;
    if median_s > window_s / 4.0 { times.min as f64 / 1e9 } else { median_s }
}

/// Whether an open loop achieved less than this share of its scheduled requests. Valid responses after the window are
/// excused up to the number that a server that keeps up has too; requests that never ended well are not.
pub fn fell_short(run: &Run, least: f64) -> bool {
    let counts = run.total.counts;
    let scheduled = counts.scheduled as f64;
    let never = (counts.ok as f64) < least * scheduled;
    let missing = scheduled - run.total.completed_in_window as f64;
    // A queue is not an excuse: requests in a growing queue are not in service.
    let excused = if is_saturated(run) { 0.0 } else { in_service(run) };
    never || missing > (1.0 - least) * scheduled && missing > excused
}

/// The first segment in which the server fell behind, with the one before it.
fn first_break(run: &Run) -> Option<(Option<&Segment>, &Segment)> {
    let segments = run.by_segment.as_deref().filter(|_| is_judged(run) && run.loop_.has_several_rates())?;
    let most = outstanding_max(run);
    // Requests that waited for the generator may lie in another segment than its pause, and then wait for a connection.
    let stalled_ns = if generator::stall(run).is_some() { longest_stall_ns(run) } else { 0 };
    let pause_s = session_pause_s(run);
    let index = (0..segments.len()).find(|index| {
        let before = index.checked_sub(1).and_then(|before| segments.get(before));
        segments.get(*index).is_some_and(|segment| fell_behind(segment, before, most, stalled_ns, pause_s))
    })?;
    let before = index.checked_sub(1).and_then(|before| segments.get(before));
    Some((before, segments.get(index)?))
}

/// Whether fewer responses came in a segment than fell due in it, by more than are in service at any moment, and by
/// more than a stall of the generator or the pauses of sessions explain. The time in service is taken from the segment
/// before, with which the server kept up.
fn fell_behind(
    segment: &Segment,
    before: Option<&Segment>,
    most: f64,
    stalled_ns: u64,
    pause_s: f64,
) -> bool {
    let counts = &segment.block.counts;
    let scheduled = counts.scheduled as f64;
    let missing = scheduled - ended_of_due(segment.completed_in_segment, counts);
    let service = before.unwrap_or(segment).block.service_time_ns.as_ref();
    let service_s = service.map_or(0.0, |times| service_s(times, segment.length_s()));
    let pausing = scheduled * (pause_s / segment.length_s().max(1e-9)).min(1.0);
    let in_service = (segment.offered_per_s * service_s).ceil().min(most) + pausing.ceil();
    let lag_ns = segment.block.generator_lag_ns.as_ref().map_or(0, |lag| lag.max);
    let stalled_s = lag_ns.max(stalled_ns) as f64 / 1e9;
    let by_generator = segment.offered_per_s * stalled_s;
    missing > in_service.max(by_generator) && missing > (1.0 - MIN_SEGMENT_ACHIEVED) * scheduled
}

pub(crate) fn too_few_connections(run: &Run) -> Option<TypedVerdict> {
    let wait = run.total.connection_wait_ns.as_ref()?;
    let needed = connections_needed(run)?;
    let is_short = wait.p50 > 0 && needed > run.connections.had as f64;
    let is_named = || match Bottleneck::from_run(run) {
        Bottleneck::Connections | Bottleneck::Unknown => true,
        Bottleneck::Server | Bottleneck::Hanging => !is_saturated(run),
    };
    (is_short && is_named()).then_some(TypedVerdict::TooFewConnections {
        connections: run.connections.had,
        connections_needed: needed,
        connection_wait_ns_p50: wait.p50,
    })
}

/// The connections that the highest offered rate needs by Little's law: the rate times the mean service time, divided by
/// the requests that a connection carries.
fn connections_needed(run: &Run) -> Option<f64> {
    let service = run.total.service_time_ns.as_ref()?;
    let outstanding = little_outstanding(offered_per_s_peak(run)?, service.mean / 1e9);
    Some((outstanding / outstanding_on_connection(run).max(1.0)).ceil())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_to_try_is_below_the_achieved_one() {
        for (achieved_per_s, expected) in [
            (1_234_567.0, "860000"),
            (1_005.0, "700"),
            (100.5, "70"),
            (20.5, "14"),
            (2.0, "1"),
            (1.25, "0.87"),
            (0.55, "0.38"),
            (0.0123, "0.0086"),
        ] {
            assert_eq!(rate_to_try(achieved_per_s), expected);
            assert!(expected.parse::<f64>().unwrap() < achieved_per_s);
        }
        assert_eq!(rate_to_try(0.0), "0.000000010");
    }
}
