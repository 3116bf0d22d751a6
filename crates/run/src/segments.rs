//! The load in a run's record: loop, shape, segments.
//!
//! Called by `outcome.rs`. The engine determines the segments; this module converts them to their published keys.

use crate::blocks::block;
use paceline_engine::{RunOutcome, Tally};
use paceline_job::Job;
use paceline_job::{Bound, LoadModel, LoadSegment, Nanos, Shape};
use paceline_record as record;

/// The requested loop.
pub fn load_of(job: &Job, outcome: &RunOutcome) -> record::Loop {
    let asked = job;
    let (kind, offered_per_s, arrivals, shape) = match &asked.load {
        LoadModel::Closed => (record::LoopKind::Closed, None, None, None),
        LoadModel::Open { shape, arrivals } => (
            record::LoopKind::Open,
            Some(offered_per_s(asked, shape, outcome)),
            Some(*arrivals),
            Some(shape.clone()).filter(|shape| !matches!(shape, Shape::Steady { .. })),
        ),
    };
    let requests = match asked.window {
        Bound::Requests(requests) => Some(requests),
        Bound::Duration(_) => None,
    };
    record::Loop {
        kind,
        connections: asked.connections,
        connection_plan: asked.connection_plan.clone(),
        depth: asked.depth.into(),
        batch: asked.batch,
        requests_per_connection: asked.requests_per_connection,
        without_keep_alive: !asked.keep_alive,
        think: asked.think,
        requests,
        offered_per_s: if asked.has_sessions() {
            requests_due_per_s(offered_per_s, outcome)
        } else {
            offered_per_s
        },
        sessions_offered_per_s: offered_per_s.filter(|_| asked.has_sessions()),
        shape,
        arrivals,
    }
}

/// The number of requests of a session is not known in advance: the rate is that of the requests that fell due, per
/// second of the window.
fn requests_due_per_s(offered_per_s: Option<f64>, outcome: &RunOutcome) -> Option<f64> {
    let window_s = outcome.spans.drain.since(outcome.spans.window).as_secs_f64();
    offered_per_s.map(|_| outcome.total.counts.scheduled as f64 / window_s.max(1e-9))
}

/// The mean offered rate. For a rate that changes, only the part before the end of the window counts.
fn offered_per_s(job: &Job, shape: &Shape, outcome: &RunOutcome) -> f64 {
    let window = outcome.spans.drain.since(outcome.spans.window);
    if outcome.stopped && shape.has_several_rates() && window > Nanos::ZERO {
        return outcome.total.counts.scheduled as f64 / window.as_secs_f64();
    }
    shape.offered_per_s(job.warmup, window)
}

/// Checks whether random arrivals were sent at times of the requested distribution.
pub fn arrival_check(gaps: &[f64]) -> Option<record::ArrivalCheck> {
    let test = paceline_stats::exponential_test(&mut gaps.to_vec())?;
    Some(record::ArrivalCheck {
        gaps: gaps.len() as u64,
        anderson_darling: test.statistic,
        p_value: test.p_value,
    })
}

/// The segments of the window, up to its actual end.
pub fn by_segment(job: &Job, outcome: &RunOutcome) -> Option<Vec<record::Segment>> {
    let spans = &outcome.spans;
    let begun = |segment: &LoadSegment| spans.window + segment.start < spans.drain;
    let kept = |(segment, tally): (LoadSegment, &Tally)| record::Segment {
        start_ns: (spans.window + segment.start).since(spans.start).0,
        end_ns: (spans.window + segment.end).min(spans.drain).since(spans.start).0,
        offered_per_s: segment.offered_per_s.unwrap_or_default(),
        connections: segment.connections,
        completed_in_segment: tally.counts.completed_in_segment,
        block: block(tally),
    };
    let segments = job.segments();
    (!segments.is_empty())
        .then(|| segments.into_iter().filter(begun).zip(&outcome.by_segment).map(kept).collect())
}
