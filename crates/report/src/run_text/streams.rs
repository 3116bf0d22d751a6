//! Examples of streams: a line for each, with its longest gap or its first event.
//!
//! Called by `mod.rs` for `--full`. Pages draw the events of the same streams.

use super::lines::Style;
use super::quantity::{count, counted, seconds};
use paceline_record::{LoopKind, Run, StreamExample, StreamExampleKind, StreamExamples};

/// The example of this kind; empty if the run has none.
pub(super) fn example(run: &Run, kind: StreamExampleKind, style: Style) -> String {
    let Some(examples) = &run.stream_examples else { return String::new() };
    let Some(example) = examples.of_kind(kind) else { return String::new() };
    let first = example.first_event_ns().map(|first_ns| style.time(first_ns as f64));
    let first = first.map(|first| format!("first event after {first}"));
    let parts = match kind {
        StreamExampleKind::LongestGap => vec![gap(example, style), Some(begun(run, example))],
        StreamExampleKind::SlowestFirstEvent => vec![first, Some(begun(run, example))],
        StreamExampleKind::Typical => {
            let events = counted(example.events as f64, "event");
            vec![
                first,
                Some(format!("{events} in {}", style.time(example.ended_ns as f64))),
                gap(example, style).map(|gap| format!("longest gap {gap}")),
            ]
        }
    };
    let words = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    words + &of_watched(run, examples)
}

/// `812 ms after event 17 of 40`.
fn gap(example: &StreamExample, style: Style) -> Option<String> {
    let gap = example.longest_gap?;
    let [after, events] = [gap.after_event, example.events].map(|number| count(number as f64));
    Some(format!("{} after event {after} of {events}", style.time(gap.length_ns as f64)))
}

/// `due 3.2 s into the window`.
fn begun(run: &Run, example: &StreamExample) -> String {
    let how = match run.loop_.kind {
        LoopKind::Closed => "sent",
        LoopKind::Open => "due",
    };
    let after_s = example.intended_ns.saturating_sub(run.phases.window.start_ns) as f64 / 1e9;
    let after = if after_s > 0.0 { seconds(after_s) } else { "0\u{a0}s".to_owned() };
    format!("{how} {after} into the window")
}

/// `; of 640 watched streams of 1,000`, if the events of others were not recorded.
fn of_watched(run: &Run, examples: &StreamExamples) -> String {
    let streams = run.total.stream_events.map_or(0, |events| events.streams);
    if examples.watched >= streams {
        return String::new();
    }
    let watched = counted(examples.watched as f64, "watched stream");
    format!("; of {watched} of {}", count(streams as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::{EventCounts, StreamGap, fixture};

    fn example_of(kind: StreamExampleKind) -> StreamExample {
        StreamExample {
            kind,
            intended_ns: 3_900_000_000,
            first_body_ns: 100_000_000,
            event_ns: vec![105_000_000, 917_000_000],
            kept_every: 16,
            events: 40,
            last_event_ns: 1_100_000_000,
            longest_gap: Some(StreamGap { after_event: 17, start_ns: 105_000_000, length_ns: 812_000_000 }),
            ended_ns: 1_100_000_000,
        }
    }

    fn shown(run: &Run, kind: StreamExampleKind) -> String {
        example(run, kind, Style::new(false, 100)).replace('\u{a0}', " ")
    }

    #[test]
    fn an_example_says_when_in_the_stream_its_gap_came() {
        use StreamExampleKind::{LongestGap, SlowestFirstEvent, Typical};
        let mut run = fixture::run(0);
        assert_eq!(shown(&run, LongestGap), "");
        let examples = vec![example_of(LongestGap), example_of(Typical)];
        run.stream_examples = Some(StreamExamples { watched: 640, examples });
        run.phases.window.start_ns = 700_000_000;
        let begun = if run.loop_.kind == LoopKind::Open { "due" } else { "sent" };
        let words = format!("812 ms after event 17 of 40, {begun} 3.20 s into the window");
        assert_eq!(shown(&run, LongestGap), words);
        assert_eq!(
            shown(&run, Typical),
            "first event after 105 ms, 40 events in 1.10 s, longest gap 812 ms after event 17 of 40"
        );
        assert_eq!(shown(&run, SlowestFirstEvent), "", "there is none");
        run.total.stream_events = Some(EventCounts { streams: 1_000, ..EventCounts::default() });
        assert_eq!(shown(&run, LongestGap), words + "; of 640 watched streams of 1,000");
    }

    #[test]
    fn any_record_can_be_shown() {
        use StreamExampleKind::{LongestGap, SlowestFirstEvent, Typical};
        let mut run = fixture::run(0);
        for number in [0, u64::MAX] {
            for kind in [LongestGap, Typical, SlowestFirstEvent] {
                let gap = StreamGap { after_event: number, start_ns: number, length_ns: number };
                for (event_ns, longest_gap) in [(vec![], None), (vec![number, 0, 7], Some(gap))] {
                    let one = StreamExample {
                        kind,
                        intended_ns: number,
                        first_body_ns: number,
                        event_ns,
                        kept_every: number,
                        events: number,
                        last_event_ns: number,
                        longest_gap,
                        ended_ns: number,
                    };
                    run.stream_examples = Some(StreamExamples { watched: number, examples: vec![one] });
                    assert!(!shown(&run, kind).is_empty());
                }
            }
        }
    }
}
