//! Defines the tally: the live form of a block, with the counts made while load runs.
//!
//! The recorder fills one for each block and stores it every second; when its worker is done it adds up those of the
//! window ([`Sums`]), and `run.rs` those of several workers. `hot/blocks.rs` chooses the block; no percentile is
//! computed here.

use crate::{Nanos, Phase};
use paceline_stats::{Compact, Histogram};

/// How a request ended. Every scheduled request ends in exactly one of these ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Answered as expected.
    Ok,
    /// Answered with another status than expected.
    BadStatus,
    /// Answered with another body than expected.
    BadBody,
    /// No connection could be made for it.
    ConnectFailed,
    /// The connection broke, or the received bytes were not HTTP.
    IoFailed,
    /// No complete answer within the timeout.
    TimedOut,
    /// Still waiting for a connection when the drain's limit was reached.
    Unsent,
}

/// Number of endings.
const ENDINGS: usize = Ending::Unsent as usize + 1;

/// Requests by how they ended, indexed by [`Ending`].
pub type Endings = [u64; ENDINGS];

/// The recorded times, as indices into [`Tally::times`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Completed minus actual send.
    Service,
    /// Completed minus intended send.
    Response,
    /// Actual send minus the later of intended send and free at.
    GeneratorLag,
    /// Free at minus intended send, where positive.
    ConnectionWait,
    /// Time to establish a connection.
    Connect,
    /// First byte minus actual send.
    FirstByte,
    /// Time to failure.
    Failed,
    /// Last byte read minus last byte received by the kernel: how long a response waited for the generator.
    ReceiveDelay,
    /// Time of a TLS handshake, from the moment the connection was established.
    Handshake,
    /// Time to establish a connection, plus the service time of the one request it carried.
    ConnectAndService,
    /// First byte of a stream's body minus intended send.
    FirstBody,
    /// First event of a stream minus intended send.
    FirstEvent,
    /// Time between two events of a stream.
    EventGap,
    /// The longest of these in a stream that ended as asked.
    LongestGap,
    /// From the first byte of a stream's body to the end of the stream, if it ended as asked.
    Stream,
    /// From the time that an event of a stream carries to its arrival, where that is not negative.
    MessageDelay,
}

impl Measure {
    /// Every measure.
    pub const ALL: [Self; MEASURES] = [
        Self::Service,
        Self::Response,
        Self::GeneratorLag,
        Self::ConnectionWait,
        Self::Connect,
        Self::FirstByte,
        Self::Failed,
        Self::ReceiveDelay,
        Self::Handshake,
        Self::ConnectAndService,
        Self::FirstBody,
        Self::FirstEvent,
        Self::EventGap,
        Self::LongestGap,
        Self::Stream,
        Self::MessageDelay,
    ];

    /// Its key in the block of a record.
    pub fn key(self) -> &'static str {
        match self {
            Self::Service => "service_time_ns",
            Self::Response => "response_time_ns",
            Self::GeneratorLag => "generator_lag_ns",
            Self::ConnectionWait => "connection_wait_ns",
            Self::Connect => "connect_time_ns",
            Self::FirstByte => "first_byte_ns",
            Self::Failed => "failed_time_ns",
            Self::ReceiveDelay => "receive_delay_ns",
            Self::Handshake => "handshake_time_ns",
            Self::ConnectAndService => "connect_and_service_time_ns",
            Self::FirstBody => "first_body_ns",
            Self::FirstEvent => "first_event_ns",
            Self::EventGap => "event_gap_ns",
            Self::LongestGap => "longest_gap_ns",
            Self::Stream => "stream_time_ns",
            Self::MessageDelay => "message_delay_ns",
        }
    }
}

/// Number of measures.
const MEASURES: usize = Measure::MessageDelay as usize + 1;

/// Counts without times: the common part of a [`Tally`] and a [`CompactTally`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TallyCounts {
    /// Requests that fell due.
    pub scheduled: u64,
    /// Requests by how they ended.
    pub endings: Endings,
    /// Valid responses completed inside the window.
    pub completed_in_window: u64,
    /// Valid responses completed in the segment, whenever they fell due; 0 if there is only one segment.
    pub completed_in_segment: u64,
    /// Requests handed to a socket inside the window.
    pub sent_in_window: u64,
    /// Responses by status code, in order of first occurrence; [`crate::CountedStatus`] tells those of gRPC.
    pub status: Vec<(u16, u64)>,
    /// Bytes handed to sockets.
    pub sent_bytes: u64,
    /// Bytes read from sockets.
    pub received_bytes: u64,
    /// Bytes of response bodies.
    pub body_bytes: u64,
    /// Shortest and longest body of a valid response; see [`TallyCounts::body_lengths`].
    shortest_and_longest: Extremes,
    /// Requests in the histograms at the time waited so far, and the lowest of those times.
    pub censored: Option<(u64, Nanos)>,
    /// Requests whose times did not add up, or that were sent early: always 0.
    pub violations: u64,
    /// The time for which connections were open, of all of them together; 0 unless their number is planned.
    pub connection_time: Nanos,
    /// Streams and their events.
    pub streams: StreamCounts,
}

/// Counts of streams and their events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamCounts {
    /// Streams whose responses have ended.
    pub streams: u64,
    /// Those that the server ended before what was asked for, or in the middle of an event.
    pub ended_early: u64,
    /// Events, of all streams.
    pub events: u64,
    /// Those that came inside the window.
    pub events_in_window: u64,
    /// Those of streams that ended as asked inside the window.
    pub events_of_ok_in_window: u64,
    /// The sum of the numbers in all events.
    pub counted: f64,
    /// The sum of those that came inside the window.
    pub counted_in_window: f64,
    /// Events that should carry a time and have none.
    pub without_time: u64,
    /// Events that carry a time after their arrival.
    pub ahead_of_clock: u64,
    /// The longest time by which one of these is ahead.
    pub ahead_most: Nanos,
    /// Fewest and most events of a stream that ended as asked; see [`StreamCounts::events_per_stream`].
    fewest_and_most: Extremes,
}

impl StreamCounts {
    /// Fewest and most events of a stream that ended as asked; none without one.
    pub fn events_per_stream(&self) -> Option<(u64, u64)> {
        self.fewest_and_most.range()
    }

    /// Counts the events of a stream that ended as asked.
    pub(crate) fn count_events_of_one(&mut self, events: u64) {
        self.fewest_and_most.take_in(events, events);
    }

    fn absorb(&mut self, other: &StreamCounts) {
        self.streams += other.streams;
        self.ended_early += other.ended_early;
        self.events += other.events;
        self.events_in_window += other.events_in_window;
        self.events_of_ok_in_window += other.events_of_ok_in_window;
        self.counted += other.counted;
        self.counted_in_window += other.counted_in_window;
        self.without_time += other.without_time;
        self.ahead_of_clock += other.ahead_of_clock;
        self.ahead_most = self.ahead_most.max(other.ahead_most);
        let Extremes { lowest, highest } = other.fewest_and_most;
        self.fewest_and_most.take_in(lowest, highest);
    }
}

/// The lowest and the highest of some numbers, updated without a branch.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Extremes {
    lowest: u64,
    highest: u64,
}

impl Default for Extremes {
    fn default() -> Self {
        Self { lowest: u64::MAX, highest: 0 }
    }
}

impl Extremes {
    /// Both; none without a number.
    fn range(self) -> Option<(u64, u64)> {
        (self.lowest <= self.highest).then_some((self.lowest, self.highest))
    }

    #[inline]
    fn take_in(&mut self, lowest: u64, highest: u64) {
        self.lowest = self.lowest.min(lowest);
        self.highest = self.highest.max(highest);
    }
}

impl TallyCounts {
    /// Shortest and longest body of a valid response, in bytes; none without one.
    pub fn body_lengths(&self) -> Option<(u64, u64)> {
        self.shortest_and_longest.range()
    }

    /// The number of requests with this ending.
    pub fn ended(&self, ending: Ending) -> u64 {
        self.endings[ending as usize]
    }

    /// Whether every scheduled request ended exactly once and every time added up.
    pub fn add_up(&self) -> bool {
        self.scheduled == self.endings.iter().sum::<u64>() && self.violations == 0
    }

    /// Counts the status of responses.
    #[inline(always)]
    pub(crate) fn count_status(&mut self, status: u16, responses: u64) {
        // Nearly always there is only one.
        if let Some((first, count)) = self.status.first_mut()
            && *first == status
        {
            *count += responses;
            return;
        }
        match self.status.iter_mut().find(|(seen, _)| *seen == status) {
            Some((_, count)) => *count += responses,
            None => self.status.push((status, responses)),
        }
    }

    /// Counts one valid response's body.
    #[inline]
    pub(crate) fn count_body(&mut self, length: u64) {
        self.shortest_and_longest.take_in(length, length);
    }

    /// Counts requests that enter the histograms at the time waited so far, which is at least `waited`.
    pub(crate) fn count_censored(&mut self, waited: Nanos, requests: u64) {
        let (count, lowest) = self.censored.unwrap_or((0, Nanos::NEVER));
        self.censored = Some((count + requests, lowest.min(waited)));
    }

    fn absorb(&mut self, other: &TallyCounts) {
        self.scheduled += other.scheduled;
        for (ours, theirs) in self.endings.iter_mut().zip(other.endings) {
            *ours += theirs;
        }
        self.completed_in_window += other.completed_in_window;
        self.completed_in_segment += other.completed_in_segment;
        self.sent_in_window += other.sent_in_window;
        for &(status, count) in &other.status {
            match self.status.iter_mut().find(|(seen, _)| *seen == status) {
                Some((_, ours)) => *ours += count,
                None => self.status.push((status, count)),
            }
        }
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        self.body_bytes += other.body_bytes;
        self.violations += other.violations;
        self.connection_time += other.connection_time;
        self.streams.absorb(&other.streams);
        let Extremes { lowest, highest } = other.shortest_and_longest;
        self.shortest_and_longest.take_in(lowest, highest);
        if let Some((count, lowest)) = other.censored {
            let (ours, our_lowest) = self.censored.unwrap_or((0, Nanos::NEVER));
            self.censored = Some((ours + count, our_lowest.min(lowest)));
        }
    }

    /// Empties the counts and keeps the allocated memory.
    fn take(&mut self) -> TallyCounts {
        let taken = self.clone();
        let mut status = std::mem::take(&mut self.status);
        status.clear();
        *self = TallyCounts { status, ..TallyCounts::default() };
        taken
    }
}

/// The live counts of requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// All counts except times.
    pub counts: TallyCounts,
    /// By [`Measure`]. Until [`Tally::compose`], the service times are those of responses that came in one piece: their
    /// first byte came with the last, so that one record serves both measures.
    times: [Histogram; MEASURES],
    /// Service times of all others.
    in_pieces: Histogram,
}

impl Tally {
    /// The times of one measure.
    pub fn times(&self, measure: Measure) -> &Histogram {
        &self.times[measure as usize]
    }

    /// Records one time, `count` times.
    #[inline(always)]
    pub(crate) fn record(&mut self, measure: Measure, time: Nanos, count: u64) {
        let times = &mut self.times[measure as usize];
        match count {
            1 => times.record(time.0),
            _ => times.record_n(time.0, count),
        }
    }

    /// Records the service time of some responses whose first byte came after `first_byte`.
    #[inline(always)]
    pub(crate) fn record_service(&mut self, service: Nanos, first_byte: Nanos, count: u64) {
        if service == first_byte {
            return self.record(Measure::Service, service, count);
        }
        self.in_pieces.record_n(service.0, count);
        self.record(Measure::FirstByte, first_byte, count);
    }

    /// Records the time waited for a response whose end was not seen.
    pub(crate) fn record_waited(&mut self, waited: Nanos) {
        self.in_pieces.record(waited.0);
    }

    /// Completes each measure. Call it once, before a recorder's tally is stored: a second call would count twice.
    pub(crate) fn compose(&mut self) {
        let [service, first_byte] = [Measure::Service as usize, Measure::FirstByte as usize];
        if let Ok([service, first_byte]) = self.times.get_disjoint_mut([service, first_byte]) {
            first_byte.merge(service);
            service.merge(&self.in_pieces);
            self.in_pieces.clear();
        }
    }

    /// Adds another tally to this one.
    pub fn merge(&mut self, other: &Tally) {
        self.counts.absorb(&other.counts);
        for (ours, theirs) in self.times.iter_mut().zip(&other.times) {
            ours.merge(theirs);
        }
    }

    /// Adds a stored tally.
    pub fn merge_compact(&mut self, other: &CompactTally) {
        self.counts.absorb(&other.counts);
        for (ours, theirs) in self.times.iter_mut().zip(&other.times) {
            ours.merge_compact(theirs);
        }
    }

    /// Moves all counts into `total` and returns them.
    pub(crate) fn drain_into(&mut self, total: &mut Tally) -> CompactTally {
        let counts = self.counts.take();
        total.counts.absorb(&counts);
        let mut times: [Compact; MEASURES] = Default::default();
        for ((kept, ours), total) in times.iter_mut().zip(&mut self.times).zip(&mut total.times) {
            *kept = ours.drain_into(total);
        }
        CompactTally { counts, times }
    }

    /// Empties the tally and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.counts.take();
        self.in_pieces.clear();
        self.times.iter_mut().for_each(Histogram::clear);
    }
}

/// A stored tally: the form in which an interval is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompactTally {
    /// All counts except times.
    pub counts: TallyCounts,
    times: [Compact; MEASURES],
}

impl CompactTally {
    /// The times of one measure.
    pub fn times(&self, measure: Measure) -> &Compact {
        &self.times[measure as usize]
    }

    /// Adds another.
    pub fn merge(&mut self, other: &CompactTally) {
        self.counts.absorb(&other.counts);
        for (ours, theirs) in self.times.iter_mut().zip(&other.times) {
            ours.merge(theirs);
        }
    }

    /// Whether it has no counts.
    pub fn is_empty(&self) -> bool {
        self.counts == TallyCounts::default() && self.times.iter().all(|times| times.count() == 0)
    }
}

/// The counts of one stretch of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptInterval {
    /// The cohort: [`Phase::Connect`] for connections made before the epoch, else warm-up or window.
    pub cohort: Phase,
    /// When the stretch began, on the run's clock.
    pub start: Nanos,
    /// The outcomes in it.
    pub tally: CompactTally,
}

/// The window's cohort as three breakdowns of the same sum. With one segment, or one kind of request, that breakdown is
/// empty.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    /// All of it.
    pub total: Tally,
    /// By segment; empty if there is only one.
    pub by_segment: Vec<Tally>,
    /// By kind of request; empty if there is only one.
    pub by_request: Vec<Tally>,
}

impl Sums {
    /// The sums of the window's blocks: segment after segment, `kinds` blocks in each.
    pub(crate) fn from_blocks(mut blocks: Vec<Tally>, kinds: usize) -> Self {
        if blocks.len() == 1 {
            return Self { total: blocks.pop().unwrap_or_default(), ..Self::default() };
        }
        let segments = blocks.len() / kinds;
        let mut sums = Self::default();
        sums.by_segment.resize_with(if segments > 1 { segments } else { 0 }, Tally::default);
        sums.by_request.resize_with(if kinds > 1 { kinds } else { 0 }, Tally::default);
        for (block, tally) in blocks.iter().enumerate() {
            sums.total.merge(tally);
            let segment = sums.by_segment.get_mut(block / kinds);
            let request = sums.by_request.get_mut(block % kinds);
            segment.into_iter().chain(request).for_each(|sum| sum.merge(tally));
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_breakdowns_have_the_same_sum() {
        let block = |scheduled| {
            let mut tally = Tally::default();
            tally.counts.scheduled = scheduled;
            tally
        };
        let scheduled = |sums: &[Tally]| sums.iter().map(|sum| sum.counts.scheduled).collect::<Vec<_>>();
        let sums = Sums::from_blocks([1, 2, 4, 8, 16, 32].map(block).into(), 2);
        assert_eq!(sums.total.counts.scheduled, 63);
        assert_eq!(scheduled(&sums.by_segment), [3, 12, 48]);
        assert_eq!(scheduled(&sums.by_request), [21, 42]);
        let one = Sums::from_blocks(vec![block(5)], 1);
        assert_eq!((one.total.counts.scheduled, one.by_segment.len(), one.by_request.len()), (5, 0, 0));
    }
}
