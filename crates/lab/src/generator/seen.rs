//! What is seen of the processes behind a run while it is followed: moments, peaks, and the fault made in between.
//!
//! Plain data for `follow`, which decides when to look and when to break something.

use crate::balancer::Counted;
use crate::cores::CoreTicks;
use crate::farm::{Farm, FarmSample};
use crate::tree::TreeSample;
use std::time::{Duration, Instant};

/// One process tree over the stretch that was measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub from: TreeSample,
    pub to: TreeSample,
    /// The highest of all samples.
    pub rss_bytes_peak: u64,
    /// The most of all samples.
    pub threads_peak: u32,
    /// Connections it held, over the window's samples.
    pub connections_mean: Option<f64>,
}

/// A fault that was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made {
    pub instance: usize,
    /// From the moment the window was seen to begin.
    pub after_window_start: Duration,
    /// How long after it the balancer was seen to take the instance for dead.
    pub taken_out_after: Option<Duration>,
}

/// The server, the balancer and the cores at one time.
#[derive(Clone)]
pub(super) struct Moment {
    pub farm: FarmSample,
    pub cores: CoreTicks,
    /// What the balancer had counted: asked where a stretch may begin or end.
    pub counted: Option<Counted>,
}

impl Moment {
    pub fn now(launch: &mut Farm) -> Self {
        Self { farm: launch.sample(), cores: CoreTicks::now(), counted: None }
    }

    pub fn with_count(launch: &mut Farm) -> Self {
        let counted = launch.counted();
        Self { counted, ..Self::now(launch) }
    }
}

/// The highest that was seen of one process tree, and the sum of its connections in the window.
#[derive(Clone, Copy, Default)]
pub(super) struct Seen {
    pub rss_bytes: u64,
    pub threads: u32,
    pub connections_sum: u64,
    pub connections_count: u32,
}

/// The fault to be made, and what came of it.
#[derive(Clone, Copy, Default)]
pub(super) struct Fault {
    /// When, from the beginning of the window.
    pub after: Option<Duration>,
    pub window_began: Option<Instant>,
    pub made_at: Option<Instant>,
    pub made: Option<Made>,
}

impl Seen {
    pub fn connections_mean(&self) -> Option<f64> {
        let mean = self.connections_sum as f64 / f64::from(self.connections_count);
        (self.connections_count > 0).then_some(mean)
    }
}

impl Fault {
    /// When it is to be made, once that is known and until it is.
    pub fn due(&self) -> Option<Instant> {
        Some(self.window_began? + self.after.filter(|_| self.made_at.is_none())?)
    }
}

/// A fault is made in the middle of the window.
pub(super) fn fault_after(load: &paceline_record::Load) -> Option<Duration> {
    load.balanced.as_ref()?.fault?;
    Some(Duration::from_secs_f64(load.duration_s? / 2.0))
}
