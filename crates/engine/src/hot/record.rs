//! Records the end of a request: its outcome and its times, counted in its cohort.
//!
//! Requests are counted in the block in which they were scheduled, whenever they end. Outcomes are added to the block's
//! tally of the current interval, which is added to the total once a second, so that a request is recorded once.
//!
//! Over 600 lines: all of it fills the same tallies.

use super::blocks::{BlockIndex, Blocks};
use super::exchange::{Exchange, WaitingStep};
use super::schedule::ReturnedRequest;
use super::streams::{EventBatch, StreamResult};
use super::ticks::TickRange;
use crate::arrivals::{SampledIntervals, SampledSends};
use crate::tally::Endings;
use crate::{Bound, Ending, KeptInterval, Measure, Nanos, Phase, Settings, Sums, Tally, Timeline};
use paceline_stats::Histogram;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The longest interval during counting, and the interval at which an observer receives the counts.
const SECOND: Nanos = Nanos::from_secs(1);
/// The minimum number of intervals in a window: the estimators of its percentiles and of its steadiness need ten.
const MIN_INTERVALS: u64 = 10;
/// The lengths of intervals, in milliseconds. Each divides a second, so that an observer's seconds are whole intervals.
const LENGTHS_MS: [u64; 8] = [500, 250, 200, 100, 50, 20, 10, 5];
/// The maximum number of intervals kept; beyond it, neighbours are joined and intervals last twice as long, so that
/// memory stays bounded.
const MAX_KEPT: usize = 1024;

/// A response whose last byte has been read, or several equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedResponse {
    /// Its status, as counted: that of a call of gRPC is [`crate::CountedStatus`]'s.
    pub status: u16,
    /// Body bytes.
    pub body_bytes: u64,
    /// The ending of its request.
    pub ending: Ending,
    /// When its first byte was read.
    pub first_byte: Nanos,
    /// Bytes of each response that have not been counted yet: all of a response that came in one piece.
    pub uncounted_bytes: u64,
}

impl ReceivedResponse {
    /// No response yet.
    pub(crate) const NONE: Self =
        Self { status: 0, body_bytes: 0, ending: Ending::Ok, first_byte: Nanos::ZERO, uncounted_bytes: 0 };
}

/// Counts the events of one worker's requests. Reusable: a simulation of a million runs needs one.
#[derive(Debug)]
pub struct Recorder {
    /// The current interval, by block.
    current: Vec<Tally>,
    /// All intervals before it, by block.
    total: Vec<Tally>,
    /// The intervals before it.
    kept: Vec<KeptInterval>,
    /// The length of an interval during counting.
    tick: Nanos,
    /// The length of the kept intervals.
    interval: Nanos,
    /// The intervals for the observer at the end of the second, by cohort.
    second: Vec<KeptInterval>,
    second_start: Nanos,
    interval_start: Nanos,
    /// The end of the current interval.
    interval_end: Nanos,
    /// When the warm-up began; the grid of intervals counts from it.
    epoch: Nanos,
    blocks: Blocks,
    /// The endings of the warm-up's requests when the window opened.
    ended_before: Endings,
    /// Actual sends, where arrivals are random.
    notes: SampledSends,
    /// Whether intended sends come from a schedule, in which case there are response times.
    open: bool,
    /// The open connections; none if their number is not planned.
    connections: Option<OpenConnections>,
    /// Ended seconds that have not been reported; none if no observer wants them.
    news: Option<Vec<EndedSecond>>,
}

/// The connections that are open, and counted up to a moment.
#[derive(Clone, Copy, Debug, Default)]
struct OpenConnections {
    number: u32,
    counted_until: Nanos,
}

/// The length of an interval: a second, or less if the window would have fewer than ten.
fn tick(settings: &Settings) -> Nanos {
    let Bound::Duration(window) = settings.job.window else { return SECOND };
    let most = window.0 / MIN_INTERVALS;
    let mut lengths = LENGTHS_MS.iter().map(|length| Nanos::from_millis(*length));
    if most >= SECOND.0 {
        return SECOND;
    }
    lengths.find(|length| length.0 <= most).unwrap_or(Nanos::from_millis(LENGTHS_MS[LENGTHS_MS.len() - 1]))
}

/// An ended second: its start, its end, and its counts.
pub(super) type EndedSecond = (Nanos, Nanos, Vec<KeptInterval>);

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl Recorder {
    /// An empty recorder.
    pub fn new() -> Self {
        Self {
            current: Vec::new(),
            total: Vec::new(),
            kept: Vec::new(),
            tick: SECOND,
            interval: SECOND,
            second: Vec::new(),
            second_start: Nanos::ZERO,
            interval_start: Nanos::ZERO,
            interval_end: Nanos::NEVER,
            epoch: Nanos::ZERO,
            blocks: Blocks::new(1, Vec::new()),
            ended_before: Endings::default(),
            notes: SampledSends::default(),
            open: false,
            connections: None,
            news: None,
        }
    }

    /// Prepares for another run.
    pub(super) fn reset(&mut self, settings: &Settings, open: bool) {
        self.blocks = Blocks::new(settings.kinds(), settings.inner_segment_ends());
        self.current.iter_mut().chain(&mut self.total).for_each(Tally::clear);
        // Tallies of an earlier run with more blocks are kept for a later one.
        let count = self.blocks.count().max(self.current.len());
        self.current.resize_with(count, Tally::default);
        self.total.resize_with(count, Tally::default);
        self.kept.clear();
        self.tick = tick(settings);
        (self.interval, self.interval_start, self.interval_end) = (self.tick, Nanos::ZERO, Nanos::NEVER);
        (self.second, self.second_start) = (Vec::new(), Nanos::ZERO);
        (self.epoch, self.open) = (Nanos::ZERO, open);
        self.connections = settings.job.connection_plan.as_ref().map(|_| OpenConnections::default());
        self.news = None;
        self.notes = SampledSends::default();
        self.ended_before = Endings::default();
    }

    /// The connect phase has ended: stores the counts so far and begins the cohorts.
    pub(super) fn begin(&mut self, timeline: Timeline) {
        self.interval_end = timeline.epoch;
        self.over(Phase::Connect, Some(timeline.epoch));
        self.epoch = timeline.epoch;
        self.blocks.begin(&timeline);
        self.interval_start = timeline.epoch;
        self.interval_end = timeline.epoch + self.tick;
    }

    /// The window opens: requests of the warm-up that end from now on were carried into it.
    pub(super) fn window_opens(&mut self) {
        self.ended_before = self.warmup_endings();
    }

    /// The endings of those requests of the warm-up that had not ended when the window opened.
    pub(super) fn carried(&self) -> Endings {
        let mut ended = self.warmup_endings();
        ended.iter_mut().zip(self.ended_before).for_each(|(ended, before)| *ended -= before);
        ended
    }

    /// Whether any request was answered.
    pub(super) fn has_answers(&self) -> bool {
        self.total.iter().chain(&self.current).any(|tally| !tally.counts.status.is_empty())
    }

    fn warmup_endings(&self) -> Endings {
        let mut sum = Endings::default();
        let kinds = self.blocks.kinds();
        for tally in self.total[..kinds].iter().chain(&self.current[..kinds]) {
            sum.iter_mut().zip(tally.counts.endings).for_each(|(sum, ended)| *sum += ended);
        }
        sum
    }

    /// Sets the stretches in which sends are noted.
    pub(super) fn note_sends(&mut self, stretches: Option<SampledIntervals>) {
        self.notes = SampledSends::from_intervals(stretches);
    }

    /// Returns the noted sends, by stretch.
    pub(super) fn take_noted(&mut self) -> Vec<Vec<Nanos>> {
        self.notes.take()
    }

    /// Reports seconds from now on.
    pub(super) fn listen(&mut self) {
        self.news = Some(Vec::with_capacity(4));
    }

    /// Whether there are seconds to report.
    #[inline]
    pub(super) fn has_news(&self) -> bool {
        self.news.as_ref().is_some_and(|news| !news.is_empty())
    }

    /// Returns the seconds to report.
    pub(super) fn take_news(&mut self) -> Vec<EndedSecond> {
        self.news.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Ends the run at `now`: stores its last second.
    pub(super) fn end(&mut self, now: Nanos) {
        self.interval_end = self.interval_end.min(now);
        self.over(Phase::Warmup, Some(self.interval_end));
    }

    /// Stores the interval that has ended. If a second ends with it, queues a report of the intervals stored since the
    /// last.
    fn over(&mut self, early: Phase, second_end: Option<Nanos>) {
        let before = self.kept.len();
        self.count_connections(self.interval_end);
        self.put_away(early);
        if let Some(news) = &mut self.news {
            for newest in &self.kept[before..] {
                match self.second.iter_mut().find(|kept| kept.cohort == newest.cohort) {
                    Some(kept) => kept.tally.merge(&newest.tally),
                    None => self.second.push(newest.clone()),
                }
            }
            if let Some(end) = second_end {
                news.push((self.second_start, end, std::mem::take(&mut self.second)));
                self.second_start = end;
            }
        }
        self.join_newest(before);
    }

    /// If kept intervals are longer than those counted, adds the ones from `first` on to the kept interval that
    /// contains them.
    fn join_newest(&mut self, first: usize) {
        if self.interval == self.tick {
            return;
        }
        let place = |interval: &KeptInterval| interval.start.since(self.epoch).0 / self.interval.0;
        for newest in self.kept.split_off(first) {
            let alike =
                |kept: &&mut KeptInterval| kept.cohort == newest.cohort && place(kept) == place(&newest);
            // The kept interval is among the last two, one for each cohort.
            match self.kept.iter_mut().rev().take(2).find(alike) {
                Some(kept) => kept.tally.merge(&newest.tally),
                None => self.kept.push(newest),
            }
        }
    }

    /// The run was stopped: ends the window earlier than planned.
    pub(super) fn end_at(&mut self, end: Nanos) {
        self.blocks.end_at(end);
    }

    /// The block in which a request of this kind, due at `intended`, is counted.
    #[inline]
    pub(super) fn block_of(&mut self, intended: Nanos, kind: u16) -> BlockIndex {
        self.blocks.block_for(intended, kind)
    }

    /// The current tally of a block.
    #[inline]
    fn tally(&mut self, block: BlockIndex) -> &mut Tally {
        &mut self.current[usize::from(block)]
    }

    /// Whether the moment lies in the window.
    #[inline]
    pub(super) fn in_window(&self, at: Nanos) -> bool {
        self.blocks.in_window(at)
    }

    /// Whether a block belongs to the window, not to the warm-up.
    #[inline]
    pub(super) fn is_windows(&self, block: BlockIndex) -> bool {
        self.blocks.is_windows(block)
    }

    /// Counts requests that were taken off the schedule and, at the same moment, handed to a socket: `bytes` of them so
    /// far.
    #[inline]
    pub(super) fn sent(&mut self, exchange: &Exchange, requests: u64, bytes: u64) {
        let in_window = self.in_window(exchange.actual);
        if exchange.actual >= self.notes.from {
            self.notes.note(exchange.actual);
        }
        let counts = &mut self.tally(exchange.block).counts;
        counts.scheduled += requests;
        counts.sent_in_window += if in_window { requests } else { 0 };
        counts.sent_bytes += bytes;
    }

    /// Counts a step of a session that was handed to a socket: `bytes` of it so far. It is not an arrival.
    pub(super) fn sent_step(&mut self, exchange: &Exchange, bytes: u64) {
        let in_window = self.in_window(exchange.actual);
        let counts = &mut self.tally(exchange.block).counts;
        counts.scheduled += 1;
        counts.sent_in_window += u64::from(in_window);
        counts.sent_bytes += bytes;
    }

    /// Counts a due step of a session that was never sent.
    pub(super) fn step_not_sent(&mut self, step: &WaitingStep, ending: Ending, at: Nanos) {
        self.roll(at);
        let (open, waited) = (self.open, at.since(step.due));
        let tally = self.tally(step.block);
        tally.counts.scheduled += 1;
        tally.counts.endings[ending as usize] += 1;
        if ending == Ending::Unsent && open {
            tally.record(Measure::Response, waited, 1);
            tally.counts.count_censored(waited, 1);
        } else {
            tally.record(Measure::Failed, waited, 1);
        }
    }

    /// Counts further bytes sent for a request, or received for it before its response was complete.
    #[inline]
    pub(super) fn moved(&mut self, block: BlockIndex, sent_bytes: u64, received_bytes: u64) {
        let counts = &mut self.tally(block).counts;
        counts.sent_bytes += sent_bytes;
        counts.received_bytes += received_bytes;
    }

    /// Counts a complete response, or several equal ones to requests that were sent at the same time.
    #[inline(always)]
    pub(super) fn answered(
        &mut self,
        exchange: &Exchange,
        count: u64,
        response: &ReceivedResponse,
        completed: Nanos,
    ) {
        self.roll(completed);
        let completed_in_window = response.ending == Ending::Ok && self.in_window(completed);
        if completed_in_window && self.blocks.segments() > 1 {
            self.completed_in_segment(exchange, count, completed);
        }
        let open = self.open;
        let tally = self.tally(exchange.block);
        tally.counts.completed_in_window += if completed_in_window { count } else { 0 };
        tally.counts.count_status(response.status, count);
        tally.counts.body_bytes += response.body_bytes * count;
        tally.counts.received_bytes += response.uncounted_bytes * count;
        let service = end(tally, response.ending, exchange, completed, open, count);
        if response.ending == Ending::Ok {
            tally.counts.count_body(response.body_bytes);
            tally.record_service(service, response.first_byte.since(exchange.actual), count);
        }
    }

    /// Counts responses that waited this long between the kernel and the generator.
    pub(super) fn received(&mut self, block: BlockIndex, waited: Nanos, count: u64) {
        self.tally(block).record(Measure::ReceiveDelay, waited, count);
    }

    /// Counts the events of a stream that came together.
    pub(super) fn events(&mut self, exchange: &Exchange, batch: &EventBatch, now: Nanos) {
        self.roll(now);
        let in_window = self.in_window(now);
        let tally = self.tally(exchange.block);
        if batch.begins_body {
            tally.record(Measure::FirstBody, now.since(exchange.intended), 1);
        }
        if batch.events == 0 {
            return;
        }
        match batch.after {
            None => tally.record(Measure::FirstEvent, now.since(exchange.intended), 1),
            Some(before) => tally.record(Measure::EventGap, now.since(before), 1),
        }
        tally.record(Measure::EventGap, Nanos::ZERO, batch.events - 1);
        for delay in &batch.delays.times {
            tally.record(Measure::MessageDelay, *delay, 1);
        }
        let streams = &mut tally.counts.streams;
        streams.events += batch.events;
        streams.counted += batch.counted;
        streams.without_time += batch.delays.missing;
        streams.ahead_of_clock += batch.delays.ahead;
        streams.ahead_most = streams.ahead_most.max(batch.delays.ahead_most);
        if in_window {
            streams.events_in_window += batch.events;
            streams.counted_in_window += batch.counted;
        }
    }

    /// Counts a stream whose response has ended. Its gaps and its duration are those of streams that ended as asked.
    pub(super) fn stream_ended(&mut self, exchange: &Exchange, result: &StreamResult) {
        let in_window = self.in_window(result.ended_at);
        let tally = self.tally(exchange.block);
        let streams = &mut tally.counts.streams;
        streams.streams += 1;
        match &result.fault {
            None => {
                streams.count_events_of_one(result.events);
                streams.events_of_ok_in_window += if in_window { result.events } else { 0 };
            }
            Some(fault) => return streams.ended_early += u64::from(fault.is_early()),
        }
        if let Some(longest) = result.longest_gap {
            tally.record(Measure::LongestGap, longest, 1);
        }
        if let Some(first_body) = result.first_body {
            tally.record(Measure::Stream, result.ended_at.since(first_body), 1);
        }
    }

    /// Counts responses in the segment in which they came, which may be later than that of their requests.
    #[cold]
    fn completed_in_segment(&mut self, exchange: &Exchange, count: u64, completed: Nanos) {
        let kind = exchange.block % self.blocks.kinds() as BlockIndex;
        let block = self.block_of(completed, kind);
        self.tally(block).counts.completed_in_segment += count;
    }

    /// Counts a sent request that will not be answered: its connection broke, or it timed out.
    #[inline(never)]
    pub(super) fn abandoned(&mut self, exchange: &Exchange, ending: Ending, at: Nanos) {
        self.roll(at);
        let open = self.open;
        let tally = self.tally(exchange.block);
        let waited = end(tally, ending, exchange, at, open, 1);
        if ending == Ending::TimedOut {
            tally.record_waited(waited);
        }
    }

    /// Counts a due request that was never sent: no connection could be made for it since `since`.
    pub(super) fn connect_failed(&mut self, intended: Nanos, since: Nanos, kind: u16, at: Nanos) {
        self.roll(at);
        let block = self.block_of(intended, kind);
        let tally = self.tally(block);
        tally.counts.scheduled += 1;
        tally.counts.endings[Ending::ConnectFailed as usize] += 1;
        tally.record(Measure::Failed, at.since(since), 1);
    }

    /// The end of the time from `intended` on in which due requests that are all unsent at `at` are counted in the same
    /// block and in the same cell of its histogram.
    pub(super) fn unsent_alike_until(&mut self, intended: Nanos, at: Nanos) -> Nanos {
        let shortest = Histogram::lowest_in_cell(at.since(intended).0);
        self.blocks.same_until(intended).min(at - Nanos(shortest) + Nanos(1))
    }

    /// Counts requests that [`Recorder::unsent_alike_until`] grouped and that were never sent, at the end of the drain.
    /// The lowest and the highest time are exact; if requests are evenly spaced, so is their sum.
    pub(super) fn unsent(&mut self, ticks: &TickRange, kind: u16, at: Nanos) {
        self.roll(at);
        let block = self.block_of(ticks.first, kind);
        let tally = self.tally(block);
        tally.counts.scheduled += ticks.count;
        tally.counts.endings[Ending::Unsent as usize] += ticks.count;
        let (longest, shortest) = (at.since(ticks.first), at.since(ticks.last));
        let middle = Nanos(shortest.0 + longest.since(shortest).0 / 2);
        tally.record(Measure::Response, longest, ticks.count / 2);
        tally.record(Measure::Response, middle, ticks.count % 2);
        tally.record(Measure::Response, shortest, ticks.count / 2);
        tally.counts.count_censored(shortest, ticks.count);
    }

    /// Counts a request that a server handed back, which was counted as scheduled then, and that was not sent again.
    /// Its time is added to those of requests without a response: in a closed loop it counts from its first send.
    pub(super) fn not_sent_again(&mut self, returned: &ReturnedRequest, ending: Ending, at: Nanos) {
        self.roll(at);
        let open = self.open;
        let tally = self.tally(returned.block);
        tally.counts.endings[ending as usize] += 1;
        let waited = at.since(if open { returned.intended } else { returned.sent });
        match (ending, open) {
            (Ending::Unsent, true) => tally.record(Measure::Response, waited, 1),
            (Ending::Unsent, false) => tally.record_waited(waited),
            _ => tally.record(Measure::Failed, waited, 1),
        }
        if ending == Ending::Unsent {
            tally.counts.count_censored(waited, 1);
        }
    }

    /// Counts a connection that was made, with the TLS handshake after the network's, if there is one. It does not
    /// belong to a request: it is counted with those of the first kind.
    pub(super) fn connected(&mut self, took: Nanos, handshake: Option<Nanos>, at: Nanos) {
        let block = self.block_of(at, 0);
        let tally = self.tally(block);
        tally.record(Measure::Connect, took, 1);
        if let Some(took) = handshake {
            tally.record(Measure::Handshake, took, 1);
        }
    }

    /// Counts a TLS handshake that ended after its connection was counted as made.
    pub(super) fn handshake_ended(&mut self, took: Nanos, at: Nanos) {
        let block = self.block_of(at, 0);
        self.tally(block).record(Measure::Handshake, took, 1);
    }

    /// Sets the number of open connections from now on.
    pub(super) fn set_open(&mut self, number: u32, now: Nanos) {
        self.roll(now);
        self.count_connections(now);
        if let Some(connections) = &mut self.connections {
            connections.number = number;
        }
    }

    /// Counts the time for which connections were open, up to `until`. Like connections that are made, it is counted with
    /// the requests of the first kind.
    fn count_connections(&mut self, until: Nanos) {
        let Some(OpenConnections { number, counted_until }) = &mut self.connections else { return };
        let number = u64::from(*number);
        let mut from = std::mem::replace(counted_until, until.max(*counted_until));
        while from < until {
            let end = self.blocks.same_until(from).min(until);
            let block = self.block_of(from, 0);
            self.tally(block).counts.connection_time += Nanos(number.saturating_mul(end.since(from).0));
            from = end;
        }
    }

    /// Counts the connect time plus service time of a request that ended, ok or timed out, on a connection made for it
    /// alone.
    pub(super) fn connected_and_served(&mut self, block: BlockIndex, took: Nanos) {
        self.tally(block).record(Measure::ConnectAndService, took, 1);
    }

    /// Stores the current interval once it has ended.
    #[inline]
    pub(super) fn roll(&mut self, now: Nanos) {
        if now >= self.interval_end {
            self.next_interval(now);
        }
    }

    /// The end of the current interval.
    pub(super) fn interval_end(&self) -> Nanos {
        self.interval_end
    }

    #[cold]
    fn next_interval(&mut self, now: Nanos) {
        let place = |at: Nanos, length: Nanos| at.since(self.epoch).0 / length.0;
        let (ended, begun) = (place(self.interval_start, SECOND), place(now, SECOND));
        let start = self.epoch + Nanos(place(now, self.tick) * self.tick.0);
        let second_end = (begun > ended).then(|| self.epoch + Nanos((ended + 1) * SECOND.0));
        self.over(Phase::Warmup, second_end);
        if second_end.is_some() {
            self.second_start = self.epoch + Nanos(begun * SECOND.0);
        }
        if self.kept.len() > MAX_KEPT {
            self.coarsen();
        }
        (self.interval_start, self.interval_end) = (start, start + self.tick);
        // Intervals in which the generator did not run are not kept.
        if let Some(connections) = &mut self.connections {
            connections.counted_until = connections.counted_until.max(start);
        }
    }

    /// Adds the current tallies to the totals and keeps their contents; the warm-up's tally is labelled `early`.
    fn put_away(&mut self, early: Phase) {
        let (kinds, count) = (self.blocks.kinds(), self.blocks.count());
        for (cohort, blocks) in [(early, 0..kinds), (Phase::Window, kinds..count)] {
            let before = self.kept.len();
            for block in blocks {
                self.current[block].compose();
                let tally = self.current[block].drain_into(&mut self.total[block]);
                if !tally.is_empty() {
                    self.kept.push(KeptInterval { cohort, start: self.interval_start, tally });
                }
            }
            add_up(&mut self.kept, before);
        }
    }

    /// Joins neighbouring intervals and doubles their length.
    fn coarsen(&mut self) {
        let epoch = self.epoch;
        self.interval = Nanos(self.interval.0 * 2);
        self.kept = join_intervals(std::mem::take(&mut self.kept), epoch, self.interval);
    }

    /// Ends the run: returns the counts of the window's cohort, and every interval.
    pub(super) fn finish(&mut self) -> (Sums, Vec<KeptInterval>, Nanos) {
        self.put_away(Phase::Warmup);
        let blocks = self.total.drain(..self.blocks.count()).skip(self.blocks.kinds()).collect();
        let sums = Sums::from_blocks(blocks, self.blocks.kinds());
        (sums, std::mem::take(&mut self.kept), self.interval)
    }

    /// Like [`Recorder::finish`], but lends every block's total, the warm-up's first, instead of returning the sums:
    /// for millions of simulations.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn settle(&mut self) -> &[Tally] {
        self.put_away(Phase::Warmup);
        &self.total[..self.blocks.count()]
    }
}

/// Counts the endings of requests sent at the same time, and all their times except the service time, which it returns.
/// With a schedule, response time = connection wait + generator lag + service time holds for each one; otherwise a
/// violation is counted.
#[inline(always)]
fn end(tally: &mut Tally, ending: Ending, exchange: &Exchange, at: Nanos, open: bool, count: u64) -> Nanos {
    tally.counts.endings[ending as usize] += count;
    let service = at.since(exchange.actual);
    // In a closed loop a request is due when it is sent.
    let response = if open { end_scheduled(tally, ending, exchange, at, service, count) } else { service };
    tally.counts.violations += u64::from(at < exchange.actual);
    match ending {
        Ending::Ok => {}
        Ending::TimedOut => tally.counts.count_censored(response, 1),
        _ => tally.record(Measure::Failed, response, count),
    }
    service
}

/// Computes the response time of scheduled requests, from the intended send to the last byte of the response; records
/// it and the other times except the service time.
#[inline(never)]
fn end_scheduled(
    tally: &mut Tally,
    ending: Ending,
    exchange: &Exchange,
    at: Nanos,
    service: Nanos,
    count: u64,
) -> Nanos {
    let &Exchange { intended, actual, free_at, .. } = exchange;
    let response = at.since(intended);
    let wait = free_at.since(intended);
    let lag = actual.since(intended.max(free_at));
    let adds_up = actual >= intended && response == wait + lag + service;
    tally.counts.violations += u64::from(!adds_up);
    if matches!(ending, Ending::Ok | Ending::TimedOut) {
        tally.record(Measure::Response, response, count);
    }
    tally.record(Measure::GeneratorLag, lag, count);
    tally.record(Measure::ConnectionWait, wait, count);
    response
}

/// Adds up the intervals from `first` on, which are of one cohort and one stretch of time.
fn add_up(kept: &mut Vec<KeptInterval>, first: usize) {
    let mut parts = kept.drain(first..);
    let Some(mut sum) = parts.next() else { return };
    parts.for_each(|part| sum.tally.merge(&part.tally));
    kept.push(sum);
}

/// Aligns intervals to the grid of `length` that begins at `epoch`, adding up those that fall together. Also joins the
/// intervals of several workers.
pub(crate) fn join_intervals(kept: Vec<KeptInterval>, epoch: Nanos, length: Nanos) -> Vec<KeptInterval> {
    let mut joined = BTreeMap::<(Nanos, Phase), KeptInterval>::new();
    for mut interval in kept {
        if interval.cohort != Phase::Connect {
            interval.start = epoch + Nanos(interval.start.since(epoch).0 / length.0 * length.0);
        }
        match joined.entry((interval.start, interval.cohort)) {
            Entry::Vacant(place) => {
                place.insert(interval);
            }
            Entry::Occupied(mut sum) => sum.get_mut().tally.merge(&interval.tally),
        }
    }
    joined.into_values().collect()
}
