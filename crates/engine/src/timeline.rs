//! Defines the phases of a run as moments on the clock, and the cohort of a request.
//!
//! Each worker computes it from the shared epoch, as the binary's view of seconds does. Moving from phase to phase is
//! in `hot/worker.rs`; the actual times of the phases are kept as [`PhaseTimes`].

use crate::random::RandomGaps;
use crate::{Bound, LoadModel, Nanos, Settings};

/// The phases of a run, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Connections are made.
    Connect,
    /// Load is sent, but is not part of the window's cohort.
    Warmup,
    /// The measured phase.
    Window,
    /// No request newly falls due; those that were due are still sent and awaited.
    Drain,
    /// The run has ended.
    End,
}

/// When the phases begin and end. Fixed when all connections are made; the same in every worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// The warm-up begins: tick 0 of the schedule.
    pub epoch: Nanos,
    /// The warm-up ends, the window begins.
    pub window_start: Nanos,
    /// The window ends: no request falls due from here on. [`Nanos::NEVER`] if a number of requests bounds a closed
    /// loop.
    pub window_end: Nanos,
    /// Longest the drain may take.
    pub drain: Nanos,
}

impl Timeline {
    /// The timeline before a run begins: no request falls due.
    pub(crate) const NEVER: Timeline = Timeline {
        epoch: Nanos::NEVER,
        window_start: Nanos::NEVER,
        window_end: Nanos::NEVER,
        drain: Nanos::ZERO,
    };

    /// Whether a request due (or, in a closed loop, sent) at `at` belongs to the window's cohort.
    #[inline]
    pub fn in_window(&self, at: Nanos) -> bool {
        at >= self.window_start && at < self.window_end
    }

    /// The latest end of the drain.
    pub fn drain_end(&self) -> Nanos {
        self.window_end + self.drain
    }
}

/// The maximum number of random arrivals that are walked before a run begins: they take some milliseconds.
const MAX_ARRIVALS_WALKED: u64 = 1 << 18;

/// If random arrivals are not walked, the window is planned this far beyond its expected end, in standard deviations of
/// the time of the last arrival: one run in a billion has a later one.
const DEVIATIONS: f64 = 6.0;

/// The planned length of the window; [`Nanos::NEVER`] if a number of requests bounds a closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowLength {
    length: Nanos,
    is_exact: bool,
}

impl WindowLength {
    /// The length for a run. Random arrivals are walked to the last if there are not too many; otherwise this is a
    /// bound, and the window ends with its last arrival.
    pub fn from_settings(settings: &Settings) -> Self {
        let exact = |length| Self { length, is_exact: true };
        let (n, shape, arrivals) = match (settings.job.window, &settings.job.load) {
            (Bound::Duration(length), _) => return exact(length),
            (Bound::Requests(_), LoadModel::Closed) => return exact(Nanos::NEVER),
            (Bound::Requests(n), LoadModel::Open { shape, arrivals }) => (n, shape, arrivals),
        };
        // A number of requests is allowed only with a steady rate (`Settings::check`).
        let gap_ns = 1e9 / shape.offered_per_s(Nanos::ZERO, Nanos::NEVER);
        let Some(mut gaps) = RandomGaps::from_arrivals(*arrivals, settings.seed) else {
            return exact(Nanos((n as f64 * gap_ns).ceil() as u64));
        };
        if n > MAX_ARRIVALS_WALKED {
            let gaps = n as f64 + DEVIATIONS * gaps.deviation() * (n as f64).sqrt();
            return Self { length: Nanos((gaps * gap_ns) as u64), is_exact: false };
        }
        let last: f64 = (0..n).map(|_| gaps.draw(gap_ns)).sum();
        // The gap after the last arrival belongs to the window, as it does for even arrivals.
        exact(Nanos((last + gaps.draw(gap_ns)) as u64) + Nanos(1))
    }

    /// The length.
    pub fn length(self) -> Nanos {
        self.length
    }

    /// Whether the window ends exactly then; if not, it ends earlier, with its last arrival.
    pub(crate) fn is_exact(self) -> bool {
        self.is_exact
    }

    /// The timeline of a run whose warm-up begins at `epoch`.
    pub fn timeline(self, settings: &Settings, epoch: Nanos) -> Timeline {
        let window_start = epoch + settings.job.warmup;
        Timeline { epoch, window_start, window_end: window_start + self.length, drain: settings.job.drain }
    }
}

/// The actual times of the phases, on the clock of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseTimes {
    /// The first attempt to connect.
    pub start: Nanos,
    /// The warm-up began.
    pub warmup: Nanos,
    /// The window began.
    pub window: Nanos,
    /// The window ended.
    pub drain: Nanos,
    /// The last outcome.
    pub end: Nanos,
}
