//! A few whole streams with the times of their events, to show when in a stream its longest gap came.
//!
//! Filled in by the crate `run` from what the engine kept, added up by the loaders of one run, drawn by pages and
//! reports. The distributions over all streams are in the blocks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Examples of the window's streams that ended as asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamExamples {
    /// Streams whose events were recorded, from which the examples were chosen: up to 64 at a time on each thread.
    pub watched: u64,
    /// At most one of each kind.
    pub examples: Vec<StreamExample>,
}

/// Why a stream is an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StreamExampleKind {
    /// It has the longest gap between two events.
    LongestGap,
    /// Of a random sample, at most 8 of each thread, its first event came nearest to the median; with several
    /// generators, of the first one's sample.
    Typical,
    /// Its first event came latest after the intended send.
    SlowestFirstEvent,
}

/// A stream with the times of its events. Times count from its intended send, in a closed loop from its actual send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamExample {
    /// Why it is an example.
    pub kind: StreamExampleKind,
    /// The intended send, from the start of the run, in nanoseconds.
    pub intended_ns: u64,
    /// When the first byte of its body came, in nanoseconds.
    pub first_body_ns: u64,
    /// When its events came, in nanoseconds: the first, and of the others those that `kept_every` says; at most 256.
    pub event_ns: Vec<u64>,
    /// 1 if the times of all events are kept, 2 if those of every second one are, and so on.
    pub kept_every: u64,
    /// The number of events.
    pub events: u64,
    /// When its last event came, in nanoseconds.
    pub last_event_ns: u64,
    /// The longest time between two events; none if there was one event.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub longest_gap: Option<StreamGap>,
    /// When it ended, in nanoseconds.
    pub ended_ns: u64,
}

/// A gap between two events of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamGap {
    /// The number of the event before it, from 1.
    pub after_event: u64,
    /// When that event came, from the intended send, in nanoseconds.
    pub start_ns: u64,
    /// The time to the next event, in nanoseconds.
    pub length_ns: u64,
}

impl StreamExample {
    /// The time of the first event; none in a record without any.
    pub fn first_event_ns(&self) -> Option<u64> {
        self.event_ns.first().copied()
    }

    /// Whether it is an example rather than another of its kind.
    fn replaces(&self, other: &Self) -> bool {
        match self.kind {
            StreamExampleKind::LongestGap => {
                let length_ns = |one: &Self| one.longest_gap.map(|gap| gap.length_ns);
                length_ns(self) > length_ns(other)
            }
            StreamExampleKind::SlowestFirstEvent => self.first_event_ns() > other.first_event_ns(),
            StreamExampleKind::Typical => false,
        }
    }
}

impl StreamExamples {
    /// The example of a kind, if there is one.
    pub fn of_kind(&self, kind: StreamExampleKind) -> Option<&StreamExample> {
        self.examples.iter().find(|example| example.kind == kind)
    }

    /// Adds the examples of another loader: of each kind the more extreme one stays, of typical ones the first.
    pub fn add(&mut self, other: &Self) {
        self.watched = self.watched.saturating_add(other.watched);
        for example in &other.examples {
            match self.examples.iter_mut().find(|ours| ours.kind == example.kind) {
                Some(ours) if example.replaces(ours) => *ours = example.clone(),
                Some(_) => {}
                None => self.examples.push(example.clone()),
            }
        }
        self.examples.sort_by_key(|example| example.kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(kind: StreamExampleKind, first_ns: u64, gap_ns: u64) -> StreamExample {
        StreamExample {
            kind,
            intended_ns: 1,
            first_body_ns: first_ns,
            event_ns: vec![first_ns, first_ns + gap_ns],
            kept_every: 1,
            events: 2,
            last_event_ns: first_ns + gap_ns,
            longest_gap: Some(StreamGap { after_event: 1, start_ns: first_ns, length_ns: gap_ns }),
            ended_ns: first_ns + gap_ns,
        }
    }

    #[test]
    fn the_more_extreme_example_of_each_kind_stays() {
        use StreamExampleKind::{LongestGap, SlowestFirstEvent, Typical};
        let of = |examples: &[StreamExample]| StreamExamples { watched: 7, examples: examples.to_vec() };
        let one = [example(LongestGap, 10, 50), example(Typical, 10, 5), example(SlowestFirstEvent, 30, 5)];
        let other = [example(LongestGap, 10, 40), example(Typical, 11, 5), example(SlowestFirstEvent, 40, 5)];
        let mut sum = of(&one);
        sum.add(&of(&other));
        assert_eq!(sum, StreamExamples { watched: 14, examples: [&one[..2], &other[2..]].concat() });
        let mut sum = of(&other[2..]);
        sum.add(&of(&one[..1]));
        assert_eq!(sum.examples, [one[0].clone(), other[2].clone()], "in the order of the kinds");
        let mut sum = StreamExamples::default();
        sum.add(&of(&one));
        assert_eq!(sum, of(&one));
    }

    #[test]
    fn a_run_without_examples_has_no_key_for_them() {
        let mut run = crate::fixture::run(0);
        let text = serde_json::to_string(&run).unwrap();
        assert!(!text.contains("stream_examples"));
        assert_eq!(crate::read_run(&text).unwrap(), run);
        let typical = example(StreamExampleKind::Typical, 1, 1);
        let hostile = StreamExample { event_ns: vec![7, 0, u64::MAX], ..typical };
        run.stream_examples = Some(StreamExamples { watched: 1, examples: vec![hostile] });
        assert_eq!(crate::read_run(&serde_json::to_string(&run).unwrap()).unwrap(), run);
    }

    #[test]
    fn examples_without_events_can_be_added() {
        let empty = |kind| StreamExample { event_ns: Vec::new(), longest_gap: None, ..example(kind, 0, 0) };
        for kind in [StreamExampleKind::LongestGap, StreamExampleKind::SlowestFirstEvent] {
            let mut sum = StreamExamples { watched: u64::MAX, examples: vec![empty(kind)] };
            sum.add(&StreamExamples { watched: 1, examples: vec![empty(kind), example(kind, 5, 5)] });
            assert_eq!(sum, StreamExamples { watched: u64::MAX, examples: vec![example(kind, 5, 5)] });
        }
    }
}
