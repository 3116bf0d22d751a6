//! Observations of the processes while a run is followed: moments, peaks, and the injected fault.
//!
//! Plain data for `follow`, which decides when to sample and when to inject the fault.

use crate::balancer::BalancerTotals;
use crate::deployment::{Deployment, DeploymentSample, RolePlace};
use paceline_host::tree::TreeSample;
use paceline_host::{CoreFrequencies, CoreTicks, EnergyMeter, NetworkCounters};
use std::time::{Duration, Instant};

/// The largest share of the sampled stretch that may lie outside the window. The lab's thread may read its samples
/// late: of a window of 200 ms a tenth is 20 ms, which is enough on a machine that is also busy otherwise. In that
/// tenth a server finishes the answers under way and then idles, so that the error is smaller than the tenth.
const MAX_OUTSIDE: f64 = 0.1;
/// The least share of the window that must be sampled: a smaller part may not be representative.
const MIN_WINDOW: f64 = 0.5;

/// One process tree over the stretch that was measured.
#[derive(Clone, Debug)]
pub(crate) struct MeasuredProcesses {
    /// The role of the process tree in its launch.
    pub place: RolePlace,
    pub from: TreeSample,
    pub to: TreeSample,
    /// The maximum of all samples.
    pub rss_bytes_peak: u64,
    /// The maximum of all samples.
    pub threads_peak: u32,
    /// Mean of its connections over the window's samples.
    pub connections_mean: Option<f64>,
}

/// An injected fault.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObservedFault {
    pub instance: usize,
    /// Time since the start of the window, as the generator reported it.
    pub after_window_start: Duration,
    /// How long after it the balancer treated the instance as down.
    pub taken_out_after: Option<Duration>,
}

/// The server, the balancer and the cores at one moment.
#[derive(Clone)]
pub(super) struct Snapshot {
    pub deployment: DeploymentSample,
    pub cores: CoreTicks,
    /// Energy of the CPU packages since the first moment, if it is known.
    pub joules: Option<f64>,
    /// The balancer's counters, read only where a stretch may begin or end.
    pub counted: Option<BalancerTotals>,
    /// The network counters of other machines, likewise.
    pub networks: Vec<Option<NetworkCounters>>,
    /// The frequencies of the launch's cores on this machine, likewise.
    pub frequencies: CoreFrequencies,
}

impl Snapshot {
    pub fn now(launch: &mut Deployment, energy: &mut EnergyMeter) -> Self {
        Self {
            deployment: launch.sample(),
            cores: launch.cores(),
            joules: energy.joules(),
            counted: None,
            networks: Vec::new(),
            frequencies: CoreFrequencies::default(),
        }
    }

    /// The same moment with the cores' frequencies and the balancer's counters, read now: the sample is taken first,
    /// since the answer may take time, and the frequencies before the answer, since cores slow down when they are idle.
    pub fn counted(self, launch: &Deployment) -> Self {
        let frequencies = launch.core_frequencies();
        Self { counted: launch.counted(), networks: launch.networks(false), frequencies, ..self }
    }
}

/// What a generator reported of its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportedWindow {
    /// Neither its start nor its end: the whole run was sampled.
    Nothing,
    /// Its start, in nanoseconds on the monotonic clock, and its end.
    From(u64),
    /// Its start, but not its end.
    StartOnly,
}

impl ReportedWindow {
    /// How much of a stretch between two samples lies in a window of `window_s`, in seconds. `None` if the stretch does
    /// not represent the window: the samples came too late, or the window's end was never reported.
    pub fn sampled_s(self, from_ns: u64, to_ns: u64, window_s: f64) -> Option<f64> {
        let over_s = to_ns.saturating_sub(from_ns) as f64 * 1e-9;
        let inside_s = match self {
            ReportedWindow::Nothing => over_s.min(window_s),
            ReportedWindow::From(start_ns) => {
                let since_start_s = |ns: u64| ns.saturating_sub(start_ns) as f64 * 1e-9;
                since_start_s(to_ns).min(window_s) - since_start_s(from_ns)
            }
            ReportedWindow::StartOnly => return None,
        };
        let is_of_window =
            inside_s > 0.0 && over_s - inside_s <= MAX_OUTSIDE * over_s && inside_s >= MIN_WINDOW * window_s;
        is_of_window.then_some(inside_s)
    }
}

/// The peaks of one process tree, and the sum of its connections in the window.
#[derive(Clone, Copy, Default)]
pub(super) struct Peaks {
    pub rss_bytes: u64,
    pub threads: u32,
    pub connections_sum: u64,
    pub connections_count: u32,
}

/// The fault to inject, and its result.
#[derive(Clone, Copy, Default)]
pub(super) struct FaultInjection {
    /// Its time from the start of the window.
    pub after: Option<Duration>,
    pub window_began: Option<Instant>,
    pub made_at: Option<Instant>,
    pub made: Option<ObservedFault>,
}

impl Peaks {
    pub fn connections_mean(&self) -> Option<f64> {
        let mean = self.connections_sum as f64 / f64::from(self.connections_count);
        (self.connections_count > 0).then_some(mean)
    }
}

impl FaultInjection {
    /// When it is due, once that is known and until it is injected.
    pub fn due(&self) -> Option<Instant> {
        Some(self.window_began? + self.after.filter(|_| self.made_at.is_none())?)
    }

    /// Why a run with a window of `window_s` had no fault, although one was planned.
    pub fn missed(&self, window_s: f64) -> Option<&'static str> {
        self.after?;
        match self.made {
            Some(made) if made.after_window_start.as_secs_f64() <= window_s => None,
            Some(_) => Some("it was injected after the window had ended"),
            None if self.window_began.is_none() => {
                Some("the generator did not report the start of its window")
            }
            None => Some("the run ended before the fault was due"),
        }
    }
}

/// The time of a fault: the middle of the window.
pub(super) fn fault_after(load: &paceline_record::Load) -> Option<Duration> {
    load.balanced.as_ref()?.fault?;
    Some(Duration::from_secs_f64(load.duration_s? / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How much of a stretch between these milliseconds lies in a window of 200 ms that began at 1,000 ms.
    fn sampled_ms(from_ms: u64, to_ms: u64) -> Option<u64> {
        let reported = ReportedWindow::From(1_000_000_000);
        let sampled_s = reported.sampled_s(from_ms * 1_000_000, to_ms * 1_000_000, 0.2)?;
        Some((sampled_s * 1e3).round() as u64)
    }

    #[test]
    fn a_fault_is_injected_in_the_window_or_not_at_all() {
        let made = |ms| {
            Some(ObservedFault {
                instance: 1,
                after_window_start: Duration::from_millis(ms),
                taken_out_after: None,
            })
        };
        let asked = FaultInjection { after: Some(Duration::from_millis(100)), ..FaultInjection::default() };
        let began = FaultInjection { window_began: Some(Instant::now()), ..asked };
        assert_eq!(FaultInjection::default().missed(0.2), None, "none was asked for");
        assert_eq!(asked.missed(0.2), Some("the generator did not report the start of its window"));
        assert_eq!(began.missed(0.2), Some("the run ended before the fault was due"));
        assert_eq!(FaultInjection { made: made(110), ..began }.missed(0.2), None);
        assert_eq!(
            FaultInjection { made: made(210), ..began }.missed(0.2),
            Some("it was injected after the window had ended")
        );
    }

    #[test]
    fn only_samples_within_the_window_are_used() {
        assert_eq!(sampled_ms(1_000, 1_200), Some(200));
        assert_eq!(sampled_ms(1_001, 1_215), Some(199), "a little late");
        assert_eq!(sampled_ms(1_080, 1_205), Some(120), "late to begin: what is sampled is of the window");
        assert_eq!(sampled_ms(1_000, 1_250), None, "a fifth of it is of what came after");
        assert_eq!(sampled_ms(1_150, 1_200), None, "a quarter of the window");
        assert_eq!(sampled_ms(1_203, 1_204), None, "both ends were read when all was over");
        assert_eq!(sampled_ms(1_200, 1_200), None);
    }

    #[test]
    fn without_a_reported_end_there_is_no_window() {
        assert_eq!(ReportedWindow::StartOnly.sampled_s(0, 1_000_000_000, 1.0), None);
    }

    #[test]
    fn without_reported_phases_the_window_is_nearly_the_whole_run() {
        let sampled_s = |window_s| ReportedWindow::Nothing.sampled_s(0, 3_050_000_000, window_s);
        assert_eq!(sampled_s(3.0), Some(3.0));
        assert_eq!(sampled_s(2.0), None, "a second of it was a warm-up");
        assert_eq!(sampled_s(0.0), None);
    }
}
