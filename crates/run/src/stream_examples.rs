//! Converts the examples of streams that the engine kept to those of the record, whose times count from the intended
//! send, and chooses the typical one.

use paceline_engine::stream::{StreamExample, StreamExamples};
use paceline_engine::{Measure, Nanos, RunOutcome};
use paceline_record as record;
use paceline_record::StreamExampleKind;

/// The examples of a run's streams; none without a stream that ended as asked.
pub(crate) fn of_run(outcome: &RunOutcome) -> Option<record::StreamExamples> {
    let StreamExamples { watched, longest_gap, slowest_first_event, .. } = &outcome.stream_examples;
    let median = outcome.total.times(Measure::FirstEvent).quantile(0.5);
    let typical = median.and_then(|median| outcome.stream_examples.typical(Nanos(median)));
    let kept = [
        (StreamExampleKind::LongestGap, longest_gap.as_ref()),
        (StreamExampleKind::Typical, typical),
        (StreamExampleKind::SlowestFirstEvent, slowest_first_event.as_ref()),
    ];
    let converted = |(kind, kept): (StreamExampleKind, Option<&StreamExample>)| {
        kept.map(|kept| example(kind, kept, outcome.spans.start))
    };
    let examples: Vec<record::StreamExample> = kept.into_iter().filter_map(converted).collect();
    (!examples.is_empty()).then_some(record::StreamExamples { watched: *watched, examples })
}

/// An example in a run that began at `start`.
fn example(kind: StreamExampleKind, kept: &StreamExample, start: Nanos) -> record::StreamExample {
    let StreamExample { moments, events } = kept;
    let since = |at: Nanos| at.since(moments.intended).0;
    record::StreamExample {
        kind,
        intended_ns: moments.intended.since(start).0,
        first_body_ns: since(moments.first_body),
        event_ns: events.kept.iter().map(|event| since(*event)).collect(),
        kept_every: events.every,
        events: events.count,
        last_event_ns: since(events.last),
        longest_gap: events.longest_gap.map(|gap| record::StreamGap {
            after_event: gap.after_event,
            start_ns: since(gap.start),
            length_ns: gap.length.0,
        }),
        ended_ns: since(moments.ended),
    }
}
