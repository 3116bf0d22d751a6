//! Turns a second of the run into a row of the output, and computes the progress of the run.

use paceline_engine::{
    Bound, Clock as _, Ending, LoadModel, Measure, Nanos, Phase, Settings, StopFlag, TallyCounts, Timeline,
    WindowLength, WorkerSecond, due_between, kernel::KernelClock,
};
use paceline_record as record;
use paceline_stats::Histogram;
use std::time::Duration;

/// Number of seconds from which the time left of a run with a fixed number of requests is estimated.
const RATES_KEPT: usize = 3;

/// The requested settings that the rows need.
#[derive(Clone, Debug)]
pub struct RowSettings {
    settings: Settings,
    target: String,
    length: WindowLength,
}

impl RowSettings {
    /// The plan of a run.
    pub fn from_settings(settings: &Settings) -> Self {
        Self {
            length: WindowLength::from_settings(settings),
            settings: settings.clone(),
            target: settings.job.url.authority(),
        }
    }
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunProgress {
    /// The phase at this time; `None` during the connect phase.
    pub phase: Option<record::Phase>,
    /// The fraction of the whole run that is over, 0 to 1; `None` if unknown.
    pub done: Option<f64>,
    /// Time until the window ends.
    pub left: Option<Duration>,
    /// Whether a stop was requested.
    pub stopping: bool,
}

/// The progress of a run, and the sums of its seconds.
pub struct Rows {
    plan: RowSettings,
    /// The start of the run: on its own clock, and as wall-clock time.
    start: (Nanos, jiff::Timestamp),
    /// Whether a stop was requested.
    stop: &'static StopFlag,
    /// Known when the connect phase is over.
    timeline: Option<Timeline>,
    /// When the drain began, if earlier than planned.
    drain: Nanos,
    /// Valid responses per second in the most recent seconds.
    rates: Vec<f64>,
    /// Requests of the window's cohort that have ended, with any outcome.
    ended: u64,
}

impl Rows {
    /// The state of a run that has not begun.
    pub(super) fn new(plan: RowSettings, stop: &'static StopFlag) -> Self {
        let start = (KernelClock.now(), jiff::Timestamp::now());
        Self { plan, start, stop, timeline: None, drain: Nanos::NEVER, rates: Vec::new(), ended: 0 }
    }

    /// Threads that drive load.
    pub(super) fn workers(&self) -> u32 {
        self.plan.settings.threads
    }

    /// The target.
    pub fn target(&self) -> &str {
        &self.plan.target
    }

    /// The wall-clock time at which the run started.
    pub fn started_at(&self) -> jiff::Timestamp {
        self.start.1
    }

    /// Whether the loop is open, so that there are response times.
    pub fn is_open(&self) -> bool {
        self.plan.settings.job.load.is_open()
    }

    /// A phase began.
    pub(super) fn phase(&mut self, phase: Phase, at: Nanos) {
        match phase {
            Phase::Connect => {
                let since = Duration::from(KernelClock.now().since(at));
                let now = jiff::Timestamp::now();
                self.start = (at, now.checked_sub(since).unwrap_or(now));
            }
            Phase::Drain => self.drain = at,
            Phase::Warmup | Phase::Window | Phase::End => {}
        }
    }

    /// Seconds from the start of the run.
    pub(super) fn since_start_s(&self, at: Nanos) -> f64 {
        at.since(self.start.0).as_secs_f64()
    }

    /// Turns a second into a row.
    pub(super) fn row(&mut self, second: &WorkerSecond) -> record::Second {
        // The first row is the connect phase; the warm-up begins at its end.
        let settings = &self.plan.settings;
        let phase = match self.timeline {
            None => {
                self.timeline = Some(self.plan.length.timeline(settings, second.end));
                record::Phase::Connect
            }
            Some(timeline) => phase_at(&timeline, second.start, self.drain),
        };
        let counts = sum_of(second);
        let length_s = second.end.since(second.start).as_secs_f64();
        let per_s = |count: u64| if length_s > 0.0 { count as f64 / length_s } else { 0.0 };
        let ended = |ending| counts.ended(ending);
        let never_sent = ended(Ending::ConnectFailed) + ended(Ending::Unsent);
        let mut row = record::Second {
            at: self.wall_clock(second.start),
            start_s: self.since_start_s(second.start),
            length_s,
            phase,
            offered_per_s: self.offered_per_s(second),
            sent_per_s: per_s(counts.scheduled.saturating_sub(never_sent)),
            achieved_per_s: per_s(ended(Ending::Ok)),
            ok: ended(Ending::Ok),
            bad_status: ended(Ending::BadStatus),
            bad_body: ended(Ending::BadBody),
            connect_failed: ended(Ending::ConnectFailed),
            io_failed: ended(Ending::IoFailed),
            timed_out: ended(Ending::TimedOut),
            unsent: ended(Ending::Unsent),
            backlog: self.is_open().then_some(second.backlog),
            bytes_sent: counts.sent_bytes,
            bytes_received: counts.received_bytes,
            ..record::Second::default()
        };
        let of = |measure| record::Second::times(&times(second, measure, |_| true));
        row.set_response_times(of(Measure::Response));
        row.set_service_times(of(Measure::Service));
        self.remember(&row, second);
        row
    }

    fn remember(&mut self, row: &record::Second, second: &WorkerSecond) {
        let window = second.cohorts.iter().filter(|kept| kept.cohort == Phase::Window);
        self.ended += window.map(|kept| kept.tally.counts.endings.iter().sum::<u64>()).sum::<u64>();
        if row.phase == record::Phase::Connect {
            return;
        }
        // A partial second at the end has no meaningful rate.
        if row.length_s > 0.5 {
            self.rates.push(row.achieved_per_s);
            let surplus = self.rates.len().saturating_sub(RATES_KEPT);
            self.rates.drain(..surplus);
        }
    }

    /// The progress of the run now.
    pub fn progress(&self) -> RunProgress {
        let now = KernelClock.now();
        let mut progress = RunProgress { stopping: self.stop.at() != Nanos::NEVER, ..RunProgress::default() };
        let Some(timeline) = self.timeline else { return progress };
        progress.phase = Some(phase_at(&timeline, now, self.drain));
        if timeline.window_end != Nanos::NEVER {
            let whole = timeline.window_end.since(timeline.epoch).as_secs_f64();
            let left = Duration::from(timeline.window_end.since(now));
            progress.left = Some(left).filter(|left| !left.is_zero());
            progress.done = Some(now.since(timeline.epoch).as_secs_f64() / whole.max(f64::MIN_POSITIVE));
        } else if let Bound::Requests(all) = self.plan.settings.job.window {
            progress.done = Some(self.ended as f64 / all.max(1) as f64);
            let rate = self.rates.iter().sum::<f64>() / self.rates.len() as f64;
            let left_s = (all - self.ended.min(all)) as f64 / rate;
            progress.left = Duration::try_from_secs_f64(left_s).ok().filter(|left| !left.is_zero());
        }
        progress
    }

    fn wall_clock(&self, at: Nanos) -> String {
        let since = Duration::from(at.since(self.start.0));
        let moment = self.start.1.checked_add(since).unwrap_or(self.start.1);
        crate::wall_clock::rfc3339(moment)
    }

    /// The rate that the schedule offered in this second; `None` before the warm-up and after the window.
    fn offered_per_s(&self, second: &WorkerSecond) -> Option<f64> {
        let LoadModel::Open { shape, .. } = &self.plan.settings.job.load else { return None };
        let timeline = self.timeline?;
        let from = second.start.max(timeline.epoch);
        let to = second.end.min(timeline.window_end).min(self.drain);
        let length_s = second.end.since(second.start).as_secs_f64();
        let (warmup, window) =
            (timeline.window_start.since(timeline.epoch), timeline.window_end.since(timeline.window_start));
        let due = due_between(shape, warmup, window, from.since(timeline.epoch), to.since(timeline.epoch));
        Some(if length_s > 0.0 { due / length_s } else { 0.0 })
    }
}

/// The times of one measure in a second, for the selected cohorts.
pub fn times(second: &WorkerSecond, measure: Measure, wanted: fn(Phase) -> bool) -> Histogram {
    let mut histogram = Histogram::new();
    let cohorts = second.cohorts.iter().filter(|kept| wanted(kept.cohort));
    cohorts.for_each(|kept| histogram.merge_compact(kept.tally.times(measure)));
    histogram
}

fn sum_of(second: &WorkerSecond) -> TallyCounts {
    let mut sum = paceline_engine::CompactTally::default();
    second.cohorts.iter().for_each(|kept| sum.merge(&kept.tally));
    sum.counts
}

fn phase_at(timeline: &Timeline, at: Nanos, drain: Nanos) -> record::Phase {
    match at {
        at if at < timeline.epoch => record::Phase::Connect,
        at if at >= timeline.window_end.min(drain) => record::Phase::Drain,
        at if at < timeline.window_start => record::Phase::Warmup,
        _ => record::Phase::Window,
    }
}
