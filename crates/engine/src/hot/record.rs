//! The last step of a request's life: how it ended and what it took, counted in its cohort.
//!
//! Requests are counted in the cohort in which they were scheduled, whenever they end. What ends is gathered in the
//! current interval's tally, which moves into the total once a second, so that a request is recorded once.

use super::connection::Sent;
use crate::{Ending, KeptInterval, Measure, Nanos, Phase, Tally, Timeline};
use std::ops::Range;

/// Length of an interval while it is counted, and as it is kept to begin with.
const INTERVAL: Nanos = Nanos::from_secs(1);
/// Intervals kept; beyond, neighbours are joined and intervals last twice as long, so that memory stays bounded.
const KEPT_MOST: usize = 1024;

/// A response, complete; or several that are alike, to requests that were sent in the same moment.
pub(super) struct Answer {
    /// The request it answers.
    pub sent: Sent,
    /// How many of them.
    pub count: u64,
    /// What it comes to.
    pub ending: Ending,
    /// Its status.
    pub status: u16,
    /// Body bytes.
    pub body_bytes: u64,
    /// Bytes of each that have not been counted yet: all of a response that came in one piece.
    pub received_bytes: u64,
    /// When its first byte was read.
    pub first_byte: Nanos,
    /// When the kernel received its last byte, where it was asked.
    pub kernel_received: Option<Nanos>,
    /// When its last byte was read.
    pub completed: Nanos,
}

/// Counts what happens to the requests of one worker. Reusable: a simulation of a million runs needs one.
#[derive(Debug)]
pub struct Recorder {
    /// The current interval, warm-up's cohort and window's.
    current: [Tally; 2],
    /// Everything before it, likewise.
    total: [Tally; 2],
    /// The intervals before it.
    kept: Vec<KeptInterval>,
    /// Length of those kept.
    interval: Nanos,
    interval_start: Nanos,
    /// When the current interval is over.
    interval_end: Nanos,
    /// When the warm-up began; the grid of intervals counts from it.
    epoch: Nanos,
    /// The window; it is empty until the run begins.
    window: Range<Nanos>,
    /// Whether intended sends come from a schedule, so that there are response times.
    open: bool,
    /// Seconds that are over and have not been told of; none where nobody listens.
    news: Option<Vec<Told>>,
}

/// A second that is over: when it began and ended, and what ended in it.
pub(super) type Told = (Nanos, Nanos, Vec<KeptInterval>);

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl Recorder {
    /// An empty recorder.
    pub fn new() -> Self {
        Self {
            current: Default::default(),
            total: Default::default(),
            kept: Vec::new(),
            interval: INTERVAL,
            interval_start: Nanos::ZERO,
            interval_end: Nanos::NEVER,
            epoch: Nanos::ZERO,
            window: Nanos::NEVER..Nanos::NEVER,
            open: false,
            news: None,
        }
    }

    /// Makes ready for another run.
    pub(super) fn reset(&mut self, open: bool) {
        self.current.iter_mut().chain(&mut self.total).for_each(Tally::clear);
        self.kept.clear();
        (self.interval, self.interval_start, self.interval_end) = (INTERVAL, Nanos::ZERO, Nanos::NEVER);
        (self.epoch, self.window, self.open) = (Nanos::ZERO, Nanos::NEVER..Nanos::NEVER, open);
        self.news = None;
    }

    /// The connect phase is over: what was counted so far is put away, cohorts begin.
    pub(super) fn begin(&mut self, timeline: Timeline) {
        self.interval_end = timeline.epoch;
        self.over(Phase::Connect);
        self.epoch = timeline.epoch;
        self.window = timeline.window_start..timeline.window_end;
        self.interval_start = timeline.epoch;
        self.interval_end = timeline.epoch + INTERVAL;
    }

    /// From now on seconds are told of.
    pub(super) fn listen(&mut self) {
        self.news = Some(Vec::with_capacity(4));
    }

    /// Whether there is something to tell.
    #[inline]
    pub(super) fn has_news(&self) -> bool {
        self.news.as_ref().is_some_and(|news| !news.is_empty())
    }

    /// What there is to tell.
    pub(super) fn take_news(&mut self) -> Vec<Told> {
        self.news.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The run is over at `now`: its last second is put away.
    pub(super) fn end(&mut self, now: Nanos) {
        self.interval_end = self.interval_end.min(now);
        self.over(Phase::Warmup);
    }

    /// Puts the second that is over away, and tells of it.
    fn over(&mut self, early: Phase) {
        let before = self.kept.len();
        self.put_away(early);
        if let Some(news) = &mut self.news {
            news.push((self.interval_start, self.interval_end, self.kept[before..].to_vec()));
        }
        self.join_newest(before);
    }

    /// Where intervals are kept coarser than seconds, adds those from `first` on to the one they fall into.
    fn join_newest(&mut self, first: usize) {
        if self.interval == INTERVAL {
            return;
        }
        let place = |interval: &KeptInterval| interval.start.since(self.epoch).0 / self.interval.0;
        for newest in self.kept.split_off(first) {
            let alike =
                |kept: &&mut KeptInterval| kept.cohort == newest.cohort && place(kept) == place(&newest);
            // The one it falls into is among the last, one for each cohort.
            match self.kept.iter_mut().rev().take(2).find(alike) {
                Some(kept) => kept.tally.merge(&newest.tally),
                None => self.kept.push(newest),
            }
        }
    }

    /// The run was stopped: the window ends earlier than planned.
    pub(super) fn end_at(&mut self, end: Nanos) {
        self.window.end = self.window.end.min(end);
    }

    /// The current tally of the cohort that a request due at `intended` belongs to.
    #[inline]
    fn cohort(&mut self, intended: Nanos) -> &mut Tally {
        let window = self.in_window(intended);
        &mut self.current[usize::from(window)]
    }

    /// Whether the moment lies in the window.
    #[inline]
    pub(super) fn in_window(&self, at: Nanos) -> bool {
        at >= self.window.start && at < self.window.end
    }

    /// Requests were taken off the schedule and, at the same moment, handed to a socket: `bytes` of them so far.
    #[inline]
    pub(super) fn sent(&mut self, sent: &Sent, requests: u64, bytes: u64) {
        let in_window = self.in_window(sent.actual);
        let counts = &mut self.cohort(sent.intended).counts;
        counts.scheduled += requests;
        counts.sent_in_window += if in_window { requests } else { 0 };
        counts.sent_bytes += bytes;
    }

    /// More bytes left for a request, or came for it before its answer was complete.
    #[inline]
    pub(super) fn moved(&mut self, intended: Nanos, sent_bytes: u64, received_bytes: u64) {
        let counts = &mut self.cohort(intended).counts;
        counts.sent_bytes += sent_bytes;
        counts.received_bytes += received_bytes;
    }

    /// A response is complete, or several that are alike.
    #[inline]
    pub(super) fn answered(&mut self, answer: &Answer) {
        self.roll(answer.completed);
        let completed_in_window = answer.ending == Ending::Ok && self.in_window(answer.completed);
        let (open, count) = (self.open, answer.count);
        let tally = self.cohort(answer.sent.intended);
        tally.counts.completed_in_window += if completed_in_window { count } else { 0 };
        tally.counts.count_status(answer.status, count);
        tally.counts.body_bytes += answer.body_bytes * count;
        tally.counts.received_bytes += answer.received_bytes * count;
        let service = end(tally, answer.ending, &answer.sent, answer.completed, open, count);
        if answer.ending == Ending::Ok {
            tally.counts.count_body(answer.body_bytes);
            tally.record_service(service, answer.first_byte.since(answer.sent.actual), count);
            if let Some(received) = answer.kernel_received {
                tally.record(Measure::ReceiveDelay, answer.completed.since(received), count);
            }
        }
    }

    /// A request that was sent will not be answered: its connection broke, or its time is up.
    pub(super) fn abandoned(&mut self, sent: &Sent, ending: Ending, at: Nanos) {
        self.roll(at);
        let open = self.open;
        let tally = self.cohort(sent.intended);
        let waited = end(tally, ending, sent, at, open, 1);
        if ending == Ending::TimedOut {
            tally.record_waited(waited);
        }
    }

    /// A request that was due was never sent: no connection could be made for it, or the drain is over.
    pub(super) fn never_sent(&mut self, intended: Nanos, ending: Ending, at: Nanos) {
        self.roll(at);
        let waited = at.since(intended);
        let tally = self.cohort(intended);
        tally.counts.scheduled += 1;
        tally.counts.endings[ending as usize] += 1;
        if ending == Ending::Unsent {
            tally.record(Measure::Response, waited, 1);
            tally.counts.count_censored(waited);
        } else {
            tally.record(Measure::Failed, waited, 1);
        }
    }

    /// A connection was made.
    pub(super) fn connected(&mut self, took: Nanos, at: Nanos) {
        self.cohort(at).record(Measure::Connect, took, 1);
    }

    /// Puts the current interval away once it is over.
    #[inline]
    pub(super) fn roll(&mut self, now: Nanos) {
        if now >= self.interval_end {
            self.next_interval(now);
        }
    }

    /// When the current interval is over.
    pub(super) fn interval_end(&self) -> Nanos {
        self.interval_end
    }

    #[cold]
    fn next_interval(&mut self, now: Nanos) {
        self.over(Phase::Warmup);
        if self.kept.len() > KEPT_MOST {
            self.coarsen();
        }
        let passed = now.since(self.epoch).0 / INTERVAL.0;
        self.interval_start = self.epoch + Nanos(passed * INTERVAL.0);
        self.interval_end = self.interval_start + INTERVAL;
    }

    /// Moves the current tallies into the totals and keeps what they held; the warm-up's tally is labelled `early`.
    fn put_away(&mut self, early: Phase) {
        for (index, cohort) in [early, Phase::Window].into_iter().enumerate() {
            self.current[index].compose();
            let tally = self.current[index].drain_into(&mut self.total[index]);
            if !tally.is_empty() {
                self.kept.push(KeptInterval { cohort, start: self.interval_start, tally });
            }
        }
    }

    /// Joins neighbouring intervals and doubles their length.
    fn coarsen(&mut self) {
        let epoch = self.epoch;
        self.interval = Nanos(self.interval.0 * 2);
        self.kept = join_intervals(std::mem::take(&mut self.kept), epoch, self.interval);
    }

    /// The run is over: what was counted in the window's cohort, and every interval.
    pub(super) fn finish(&mut self) -> (Tally, Vec<KeptInterval>, Nanos) {
        self.put_away(Phase::Warmup);
        let kept = std::mem::take(&mut self.kept);
        (std::mem::take(&mut self.total[1]), kept, self.interval)
    }

    /// Like [`Recorder::finish`], lending the total instead of giving it away: for simulations by the million.
    pub(super) fn settle(&mut self) -> &[Tally; 2] {
        self.put_away(Phase::Warmup);
        &self.total
    }
}

/// Counts how requests sent in the same moment ended, and all that it took but the service time, which it returns. Response =
/// schedule lag + service time holds for each one, or it is counted as a violation.
#[inline]
fn end(tally: &mut Tally, ending: Ending, sent: &Sent, at: Nanos, open: bool, count: u64) -> Nanos {
    tally.counts.endings[ending as usize] += count;
    let service = at.since(sent.actual);
    // In a closed loop a request is due when it is sent.
    let response = if open { end_scheduled(tally, ending, sent, at, service, count) } else { service };
    tally.counts.violations += u64::from(at < sent.actual);
    match ending {
        Ending::Ok => {}
        Ending::TimedOut => tally.counts.count_censored(response),
        _ => tally.record(Measure::Failed, response, count),
    }
    service
}

/// What requests of a schedule took beside their service time; their response time.
fn end_scheduled(
    tally: &mut Tally,
    ending: Ending,
    sent: &Sent,
    at: Nanos,
    service: Nanos,
    count: u64,
) -> Nanos {
    let response = at.since(sent.intended);
    let wait = sent.free_at.since(sent.intended);
    let lag = sent.actual.since(sent.intended.max(sent.free_at));
    let adds_up = sent.actual >= sent.intended && response == wait + lag + service;
    tally.counts.violations += u64::from(!adds_up);
    if matches!(ending, Ending::Ok | Ending::TimedOut) {
        tally.record(Measure::Response, response, count);
    }
    tally.record(Measure::GeneratorLag, lag, count);
    tally.record(Measure::ConnectionWait, wait, count);
    response
}

/// Brings intervals to the grid of `length` that begins at `epoch`, adding up those that fall together. Also what
/// joins the intervals of several workers.
pub(crate) fn join_intervals(kept: Vec<KeptInterval>, epoch: Nanos, length: Nanos) -> Vec<KeptInterval> {
    let mut joined = std::collections::BTreeMap::<(Nanos, Phase), Vec<KeptInterval>>::new();
    for interval in kept {
        let before = interval.cohort == Phase::Connect;
        let place = interval.start.since(epoch).0 / length.0 * length.0;
        let start = if before { interval.start } else { epoch + Nanos(place) };
        joined.entry((start, interval.cohort)).or_default().push(interval);
    }
    let mut sum = Tally::default();
    let mut nothing = Tally::default();
    joined
        .into_iter()
        .map(|((start, cohort), mut parts)| match parts.as_mut_slice() {
            [only] => KeptInterval { start, cohort, tally: std::mem::take(&mut only.tally) },
            several => {
                several.iter().for_each(|part| sum.merge_compact(&part.tally));
                let tally = sum.drain_into(&mut nothing);
                nothing.clear();
                KeptInterval { start, cohort, tally }
            }
        })
        .collect()
}
