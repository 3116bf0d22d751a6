//! The phases of a run as moments on the clock, and which cohort a request belongs to.
//!
//! Each worker works it out by itself from the epoch that all are given, as the binary's view of seconds does.
//! Moving from phase to phase is `hot/worker.rs`; what the phases were in the end is kept as [`Spans`].

use crate::{Arrivals, Bound, LoadModel, Nanos, Random, Settings};

/// The phases of a run, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Connections are made.
    Connect,
    /// LoadModel without a cohort.
    Warmup,
    /// What is measured.
    Window,
    /// Nothing new falls due; what was due is still sent and awaited.
    Drain,
    /// Over.
    End,
}

/// When the phases begin and end. Fixed when all connections are made; the same in every worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// The warm-up begins: tick 0 of the schedule.
    pub epoch: Nanos,
    /// The warm-up ends, the window begins.
    pub window_start: Nanos,
    /// The window ends: nothing new falls due. [`Nanos::NEVER`] where a number of requests bounds a closed loop.
    pub window_end: Nanos,
    /// Longest the drain may take.
    pub drain: Nanos,
}

impl Timeline {
    /// A run that has not begun: nothing falls due.
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

    /// When the drain is over at the latest.
    pub fn drain_end(&self) -> Nanos {
        self.window_end + self.drain
    }
}

/// Random arrivals walked along at most before a run begins: some milliseconds' worth.
const ARRIVALS_WALKED_MAX: u64 = 1 << 18;

/// How far beyond its expected end a window is planned whose random arrivals are not walked along, in standard
/// deviations of the moment of the last: one run in a billion has a later one.
const DEVIATIONS: f64 = 6.0;

/// How long the window is planned to be; [`Nanos::NEVER`] where a number of requests bounds a closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowLength {
    length: Nanos,
    is_exact: bool,
}

impl WindowLength {
    /// Of a run. Random arrivals are walked along to the last if there are not too many; else this is a bound, and the
    /// window ends with its last arrival.
    pub fn of(settings: &Settings) -> Self {
        let exact = |length| Self { length, is_exact: true };
        let (n, shape, arrivals) = match (settings.job.window, &settings.job.load) {
            (Bound::Duration(length), _) => return exact(length),
            (Bound::Requests(_), LoadModel::Closed) => return exact(Nanos::NEVER),
            (Bound::Requests(n), LoadModel::Open { shape, arrivals }) => (n, shape, arrivals),
        };
        // A number of requests goes with a steady rate alone (`Settings::check`).
        let gap_ns = 1e9 / shape.offered_per_s(Nanos::ZERO, Nanos::NEVER);
        match arrivals {
            Arrivals::Constant => exact(Nanos((n as f64 * gap_ns).ceil() as u64)),
            Arrivals::Poisson if n <= ARRIVALS_WALKED_MAX => {
                let mut random = Random::new(settings.seed);
                let last: f64 = (0..n).map(|_| random.exponential(gap_ns)).sum();
                // The gap after the last arrival belongs to the window, as it does for even arrivals.
                exact(Nanos((last + random.exponential(gap_ns)) as u64 + 1))
            }
            Arrivals::Poisson => {
                let gaps = n as f64 + DEVIATIONS * (n as f64).sqrt();
                Self { length: Nanos((gaps * gap_ns) as u64), is_exact: false }
            }
        }
    }

    /// How long that is.
    pub fn length(self) -> Nanos {
        self.length
    }

    /// Whether the window ends then; if not, it ends earlier, with its last arrival.
    pub(crate) fn is_exact(self) -> bool {
        self.is_exact
    }

    /// The timeline of a run whose warm-up begins at `epoch`.
    pub fn timeline(self, settings: &Settings, epoch: Nanos) -> Timeline {
        let window_start = epoch + settings.job.warmup;
        Timeline { epoch, window_start, window_end: window_start + self.length, drain: settings.job.drain }
    }
}

/// When each phase really was, on the clock of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spans {
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
