//! Keeps the times of the events of a few whole streams, as examples.
//!
//! `hot/streams.rs` passes the events of up to [`WATCHED`] streams of the window at a time to it; streams that begin
//! while as many are watched are not. A watched stream that has ended as asked is kept if its longest gap is longer, or
//! its first event later, than that of all before it, or if it falls into a random sample, from which the typical one
//! is chosen after the run. All memory is allocated at the start.

use crate::{Nanos, Random};

/// The number of streams that a worker watches at a time: 128 kB of times.
const WATCHED: u16 = 64;
/// The maximum number of times that are kept of a stream: more marks than that cannot be told apart in a chart.
const MAX_TIMES: usize = 256;
/// The size of a worker's random sample. On average, about a twentieth of all streams are between the median and the
/// one nearest to it.
const SAMPLED: usize = 8;

/// The place of a watched stream.
pub(crate) type WatchPlace = u16;

/// A gap between two events of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamGap {
    /// The number of the event before it, from 1.
    pub after_event: u64,
    /// When that event came, on the run's clock.
    pub start: Nanos,
    /// The time to the next event.
    pub length: Nanos,
}

/// The times of the events of one stream, on the run's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventTimes {
    /// Those of the first event and of every [`EventTimes::every`]-th after it, in order; at most 256.
    pub kept: Vec<Nanos>,
    /// 1 if all times are kept, otherwise a power of two.
    pub every: u64,
    /// The number of events.
    pub count: u64,
    /// When the last event came.
    pub last: Nanos,
    /// The longest gap, the first if several are as long; none without two events.
    pub longest_gap: Option<StreamGap>,
}

impl EventTimes {
    /// No event yet, and room for all times that will be kept.
    fn new() -> Self {
        let kept = Vec::with_capacity(MAX_TIMES);
        Self { kept, every: 1, count: 0, last: Nanos::ZERO, longest_gap: None }
    }

    fn clear(&mut self) {
        self.kept.clear();
        (self.every, self.count, self.longest_gap) = (1, 0, None);
    }

    /// Adds events that came together.
    fn add(&mut self, events: u64, now: Nanos) {
        match (self.count, events) {
            (_, 0) => return,
            (0, 1) => {}
            // The first two of them have a gap of 0.
            (0, _) => self.note_gap(StreamGap { after_event: 1, start: now, length: Nanos::ZERO }),
            (before, _) => {
                let (start, length) = (self.last, now.since(self.last));
                self.note_gap(StreamGap { after_event: before, start, length });
            }
        }
        for number in self.count..self.count + events {
            if number & (self.every - 1) == 0 {
                self.keep(now);
            }
        }
        self.count += events;
        self.last = now;
    }

    fn note_gap(&mut self, gap: StreamGap) {
        if self.longest_gap.is_none_or(|longest| gap.length > longest.length) {
            self.longest_gap = Some(gap);
        }
    }

    /// Keeps one more time. If there is no room, every second of the kept ones stays: the number of the new event is a
    /// multiple of the doubled distance too, because the maximum is even.
    fn keep(&mut self, now: Nanos) {
        if self.kept.len() >= MAX_TIMES {
            let mut stays = false;
            self.kept.retain(|_| {
                stays = !stays;
                stays
            });
            self.every *= 2;
        }
        self.kept.push(now);
    }

    /// Becomes equal to another without allocating.
    fn copy_from(&mut self, other: &Self) {
        self.kept.clear();
        self.kept.extend_from_slice(&other.kept);
        (self.every, self.count) = (other.every, other.count);
        (self.last, self.longest_gap) = (other.last, other.longest_gap);
    }
}

/// The moments of a stream that ended as asked, on the run's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamMoments {
    /// The intended send of its request; in a closed loop the actual send.
    pub intended: Nanos,
    /// When the first byte of its body came.
    pub first_body: Nanos,
    /// When it ended.
    pub ended: Nanos,
}

/// A stream that ended as asked, with the times of its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamExample {
    /// When it began and ended.
    pub moments: StreamMoments,
    /// Its events; at least one.
    pub events: EventTimes,
}

impl StreamExample {
    /// No stream yet, and room for one.
    fn vacant() -> Self {
        Self { moments: StreamMoments::default(), events: EventTimes::new() }
    }

    /// The time from the intended send to the first event; none at a vacant place.
    fn first_event(&self) -> Option<Nanos> {
        first_event(self.moments, &self.events)
    }

    fn longest_gap(&self) -> Option<Nanos> {
        self.events.longest_gap.map(|gap| gap.length)
    }

    fn set(&mut self, moments: StreamMoments, events: &EventTimes) {
        self.moments = moments;
        self.events.copy_from(events);
    }
}

fn first_event(moments: StreamMoments, events: &EventTimes) -> Option<Nanos> {
    events.kept.first().map(|first| first.since(moments.intended))
}

/// Examples of the streams of one or several workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamExamples {
    /// Streams of the window that were watched, ended as asked and had an event.
    pub watched: u64,
    /// The one with the longest gap between two events; none if none had two.
    pub longest_gap: Option<StreamExample>,
    /// The one whose first event came latest after the intended send.
    pub slowest_first_event: Option<StreamExample>,
    /// A random sample of them, at most 8 of each worker.
    pub sample: Vec<StreamExample>,
}

impl StreamExamples {
    /// Adds those of another worker. Of equal ones the first is kept.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.watched += other.watched;
        keep_longer(&mut self.longest_gap, other.longest_gap, StreamExample::longest_gap);
        keep_longer(&mut self.slowest_first_event, other.slowest_first_event, StreamExample::first_event);
        self.sample.extend(other.sample);
    }

    /// The stream of the sample whose first event came nearest to this time after its intended send.
    pub fn typical(&self, first_event: Nanos) -> Option<&StreamExample> {
        let distance = |example: &&StreamExample| {
            example.first_event().map_or(u64::MAX, |first| first.0.abs_diff(first_event.0))
        };
        self.sample.iter().min_by_key(distance)
    }
}

/// Replaces an example by another if a time of the other is longer.
fn keep_longer(
    ours: &mut Option<StreamExample>,
    theirs: Option<StreamExample>,
    time: fn(&StreamExample) -> Option<Nanos>,
) {
    if theirs.as_ref().and_then(time) > ours.as_ref().and_then(time) {
        *ours = theirs;
    }
}

/// Watches streams of one worker and keeps the examples among them.
#[derive(Debug)]
pub(crate) struct StreamWatch {
    /// The events of the watched streams.
    places: Box<[EventTimes]>,
    /// The places without a stream.
    free: Vec<WatchPlace>,
    /// Streams that were offered as examples.
    watched: u64,
    longest_gap: StreamExample,
    slowest_first_event: StreamExample,
    sample: Box<[StreamExample]>,
    /// Chooses the sample. Its seed is fixed: the choice does not depend on times.
    random: Random,
}

impl StreamWatch {
    /// For a worker with this many streams at a time.
    pub(crate) fn new(streams: usize) -> Self {
        let places = streams.min(usize::from(WATCHED)) as WatchPlace;
        Self {
            places: (0..places).map(|_| EventTimes::new()).collect(),
            free: (0..places).collect(),
            watched: 0,
            longest_gap: StreamExample::vacant(),
            slowest_first_event: StreamExample::vacant(),
            sample: (0..SAMPLED).map(|_| StreamExample::vacant()).collect(),
            random: Random::new(0),
        }
    }

    /// A place for a stream that begins, if one is free.
    pub(crate) fn begin(&mut self) -> Option<WatchPlace> {
        self.free.pop()
    }

    /// Events of the stream at a place came together.
    pub(crate) fn add(&mut self, place: WatchPlace, events: u64, now: Nanos) {
        self.places[usize::from(place)].add(events, now);
    }

    /// The stream at a place has ended as asked: keeps it if it is an example. One without an event is none.
    pub(crate) fn offer(&mut self, place: WatchPlace, moments: StreamMoments) {
        let events = &self.places[usize::from(place)];
        let Some(first_event) = first_event(moments, events) else { return };
        self.watched += 1;
        if events.longest_gap.map(|gap| gap.length) > self.longest_gap.longest_gap() {
            self.longest_gap.set(moments, events);
        }
        if Some(first_event) > self.slowest_first_event.first_event() {
            self.slowest_first_event.set(moments, events);
        }
        // A reservoir: each stream is in the sample with the same probability (Vitter 1985, algorithm R).
        let chosen = match self.watched {
            early if early <= SAMPLED as u64 => early - 1,
            watched => self.random.below(watched),
        };
        if let Some(kept) = self.sample.get_mut(chosen as usize) {
            kept.set(moments, events);
        }
    }

    /// The stream at a place is over, as asked or not.
    pub(crate) fn release(&mut self, place: WatchPlace) {
        self.places[usize::from(place)].clear();
        self.free.push(place);
    }

    /// Returns the examples.
    pub(crate) fn into_examples(self) -> StreamExamples {
        let set = |example: StreamExample| (example.events.count > 0).then_some(example);
        StreamExamples {
            watched: self.watched,
            longest_gap: set(self.longest_gap),
            slowest_first_event: set(self.slowest_first_event),
            sample: self.sample.into_iter().filter_map(set).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Events that come together: the time since those before, and their number.
    fn batches() -> impl Strategy<Value = Vec<(u64, u64)>> {
        prop::collection::vec((0u64..50, 1u64..9), 1..400)
    }

    proptest! {
        #[test]
        fn thinned_times_are_every_nth_and_the_longest_gap_is_exact(batches in batches()) {
            let (mut times, mut all, mut now) = (EventTimes::new(), Vec::new(), Nanos(100));
            let room = times.kept.capacity();
            for (after, events) in batches {
                now += Nanos(after);
                times.add(events, now);
                all.extend(std::iter::repeat_n(now, events as usize));
            }
            prop_assert!(times.kept.len() <= MAX_TIMES, "{}", times.kept.len());
            prop_assert_eq!(times.kept.capacity(), room, "nothing is allocated");
            prop_assert!(times.every == 1 || times.kept.len() > MAX_TIMES / 2, "not thinner than needed");
            let expected: Vec<Nanos> = all.iter().step_by(times.every as usize).copied().collect();
            prop_assert_eq!(&times.kept, &expected);
            prop_assert_eq!((times.count, Some(&times.last)), (all.len() as u64, all.last()));
            let gaps = all.windows(2).map(|pair| pair[1].since(pair[0]));
            let longest = gaps.zip(1u64..).max_by_key(|(gap, after)| (*gap, std::cmp::Reverse(*after)));
            let found = times.longest_gap.map(|gap| (gap.length, gap.after_event));
            prop_assert_eq!(found, longest);
            if let Some(gap) = times.longest_gap {
                prop_assert_eq!(gap.start, all[gap.after_event as usize - 1]);
            }
        }
    }

    /// Offers a stream that is due at `intended` and whose events come at these times after it.
    fn offer(watch: &mut StreamWatch, intended: u64, events: &[u64]) {
        let place = watch.begin().unwrap();
        events.iter().for_each(|after| watch.add(place, 1, Nanos(intended + after)));
        let intended = Nanos(intended);
        watch.offer(place, StreamMoments { intended, first_body: intended, ended: intended + Nanos(99) });
        watch.release(place);
    }

    fn intended(example: Option<&StreamExample>) -> Option<u64> {
        example.map(|example| example.moments.intended.0)
    }

    #[test]
    fn the_extremes_are_kept_and_a_stream_can_be_both() {
        let mut watch = StreamWatch::new(1);
        offer(&mut watch, 1_000, &[]);
        assert_eq!(intended(watch.into_examples().slowest_first_event.as_ref()), None, "it has no event");
        let mut watch = StreamWatch::new(1);
        offer(&mut watch, 1_000, &[10, 20, 30]);
        offer(&mut watch, 2_000, &[40]);
        offer(&mut watch, 3_000, &[10, 22]);
        offer(&mut watch, 4_000, &[40, 50]);
        let examples = watch.into_examples();
        assert_eq!((examples.watched, examples.sample.len()), (4, 4));
        assert_eq!(intended(examples.longest_gap.as_ref()), Some(3_000));
        assert_eq!(intended(examples.slowest_first_event.as_ref()), Some(2_000), "the first of two");
        assert_eq!(intended(examples.typical(Nanos(39))), Some(2_000));
        assert_eq!(intended(examples.typical(Nanos(11))), Some(1_000));
        let mut watch = StreamWatch::new(1);
        offer(&mut watch, 7_000, &[50, 90]);
        let mut all = examples.clone();
        all.absorb(watch.into_examples());
        assert_eq!((all.watched, all.sample.len()), (5, 5));
        assert_eq!(intended(all.longest_gap.as_ref()), Some(7_000));
        assert_eq!(intended(all.slowest_first_event.as_ref()), Some(7_000));
        let mut first = StreamExamples::default();
        first.absorb(examples.clone());
        assert_eq!(first, examples, "nothing is lost in the first one");
    }

    #[test]
    fn the_sample_is_spread_over_all_streams() {
        let mut watch = StreamWatch::new(1);
        (0..8_000).for_each(|number| offer(&mut watch, number, &[1]));
        let sample: Vec<u64> =
            watch.into_examples().sample.iter().map(|example| example.moments.intended.0).collect();
        assert_eq!(sample.len(), SAMPLED);
        // With a fixed seed the choice is always the same. That all are in one half would be one chance in 128.
        assert!(sample.iter().any(|at| *at < 4_000) && sample.iter().any(|at| *at >= 4_000), "{sample:?}");
    }

    #[test]
    fn no_more_streams_are_watched_than_there_are_places() {
        let mut watch = StreamWatch::new(1_000);
        let places: Vec<_> = std::iter::from_fn(|| watch.begin()).collect();
        assert_eq!(places.len(), usize::from(WATCHED));
        watch.release(places[3]);
        assert_eq!((watch.begin(), watch.begin()), (Some(places[3]), None));
    }
}
