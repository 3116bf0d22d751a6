//! What became of several instances behind a balancer: each process apart, what the balancer itself counted, and the
//! fault that was made on purpose.
//!
//! Written by the lab. What the clients saw of a fault is in the run's intervals; [`InjectedFault`] says when it was.

use crate::LoopKind;
use crate::{Interval, Phase, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Several instances behind a balancer, over the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Balancing {
    /// The balancer: its version and configuration.
    pub balancer: BalancerReceipt,
    /// Each instance, in order, then the balancer.
    pub processes: Vec<ProcessUse>,
    /// What the balancer itself counted; none where it could not be asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub told: Option<BalancerCounts>,
    /// What was broken on purpose.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fault: Option<InjectedFault>,
}

/// What balanced, with its receipt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BalancerReceipt {
    /// Name of the folder of the balancer.
    pub id: String,
    /// Name of the balancer, for people.
    pub name: String,
    /// What its version command printed.
    pub versions: String,
    /// How it was configured: its template, filled.
    pub configuration: String,
}

/// What one process tree cost over the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessUse {
    /// Role of the process: instance or balancer.
    pub role: ProcessRole,
    /// Which instance, from 0; 0 for the balancer.
    pub index: u32,
    /// The cores it may run on.
    pub cores: Vec<u32>,
    /// CPU time over the window, in seconds.
    pub cpu_s: f64,
    /// CPU time as a share of its cores, 0 to 1.
    pub utilization: f64,
    /// CPU time for each response that the generator completed, in nanoseconds.
    pub cpu_ns_per_request: f64,
    /// Highest resident memory sampled, in bytes.
    pub rss_bytes_peak: u64,
    /// The most threads that it had at once.
    pub threads_peak: u32,
    /// Time runnable but not running, in seconds.
    pub run_delay_s: f64,
    /// Connections it held, the mean of the samples in the window; there where the balancer does not tell what each
    /// instance got.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connections_mean: Option<f64>,
}

/// What a process tree is in its launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProcessRole {
    /// An instance of the server.
    Instance,
    /// The balancer.
    Balancer,
    /// The database that the server asks.
    Database,
}

/// What a balancer counted over the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BalancerCounts {
    /// Where it was read: `haproxy stats socket`, `nginx stub_status`.
    pub source: String,
    /// What such a source does not tell, for people.
    pub untold: Vec<String>,
    /// Requests that the balancer received.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requests: Option<u64>,
    /// Connections of clients it took.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connections: Option<u64>,
    /// Attempts to reach an instance that were repeated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retries: Option<u64>,
    /// Requests given to another instance than the one first chosen.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub redispatches: Option<u64>,
    /// Requests it answered with an error of its own, or broke off.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failures: Option<u64>,
    /// Counts of each instance, in order.
    pub by_instance: Vec<InstanceCounts>,
}

/// What a balancer counted of one instance over the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceCounts {
    /// Requests that the balancer gave this instance.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requests: Option<u64>,
    /// Attempts to connect to it that failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connect_failures: Option<u64>,
    /// Answers of it that were broken or never came.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response_failures: Option<u64>,
    /// What the balancer thought of it at the end of the run: `UP`, `DOWN`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub state_at_end: Option<String>,
}

/// What can be broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The last instance is killed (SIGKILL) in the middle of the window and stays dead.
    KillOne,
}

/// A fault that was made on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InjectedFault {
    /// What was done to the instance.
    pub kind: FaultKind,
    /// To which instance, from 0.
    pub instance: u32,
    /// When, in nanoseconds from the start of the run.
    pub at_ns: u64,
    /// Whether the balancer tells what it thinks of an instance.
    pub balancer_tells: bool,
    /// How long after it the balancer said that the instance is down, in seconds; looked at twice a second.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub taken_out_after_s: Option<f64>,
}

/// What the clients saw of a fault, from the run's intervals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultImpact {
    /// Requests that ended badly from the interval of the fault on, by outcome; only those there were.
    pub failures: Vec<(&'static str, u64)>,
    /// Valid responses per second in the whole intervals before the fault.
    pub achieved_per_s_before: f64,
    /// Valid responses per second in the whole intervals after it.
    pub achieved_per_s_after: f64,
    /// From the fault to the end of the last interval with a failure, in seconds; none where nothing failed.
    pub last_failure_s: Option<f64>,
    /// Length of an interval, in seconds: how finely that is known.
    pub resolution_s: f64,
    /// Highest time of an interval from the fault on, in nanoseconds: response times of an open loop, else service
    /// times. None where no interval has any: nothing was answered, or a smaller record left them out.
    pub time_ns_max: Option<u64>,
}

impl InjectedFault {
    /// What the clients saw of it in `run`. Intervals are by the time a request ended: what failed slowly shows late.
    pub fn impact(&self, run: &Run) -> FaultImpact {
        let end_ns = run.phases.drain.end_ns.max(run.phases.window.end_ns);
        let stretches = stretches(&run.intervals, run.phases.window.start_ns, end_ns);
        let longest = stretches.iter().map(|(_, start, end)| end.saturating_sub(*start)).max().unwrap_or(0);
        let mut saw = FaultImpact { resolution_s: longest as f64 * 1e-9, ..FaultImpact::default() };
        let (mut before, mut after) = (Mean::default(), Mean::default());
        for (interval, start_ns, end_ns) in stretches {
            let length_s = end_ns.saturating_sub(start_ns) as f64 * 1e-9;
            let inside = end_ns <= run.phases.window.end_ns;
            if end_ns <= self.at_ns {
                before.add(interval.block.counts.ok, length_s);
                continue;
            }
            if start_ns >= self.at_ns && inside {
                after.add(interval.block.counts.ok, length_s);
            }
            saw.take(run, interval);
            if interval.block.counts.not_ok() > 0 {
                saw.last_failure_s = Some(end_ns.saturating_sub(self.at_ns) as f64 * 1e-9);
            }
        }
        (saw.achieved_per_s_before, saw.achieved_per_s_after) = (before.value(), after.value());
        saw
    }
}

impl FaultImpact {
    fn take(&mut self, run: &Run, interval: &Interval) {
        let counts = &interval.block.counts;
        let outcomes = [
            ("bad_status", counts.bad_status),
            ("bad_body", counts.bad_body),
            ("connect_failed", counts.connect_failed),
            ("io_failed", counts.io_failed),
            ("timed_out", counts.timed_out),
            ("unsent", counts.unsent),
        ];
        for (name, count) in outcomes.into_iter().filter(|(_, count)| *count > 0) {
            match self.failures.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += count,
                None => self.failures.push((name, count)),
            }
        }
        let times = match run.loop_.kind {
            LoopKind::Open => interval.block.response_time_ns.as_ref(),
            LoopKind::Closed => interval.block.service_time_ns.as_ref(),
        };
        let measured = times.filter(|times| times.count > 0);
        self.time_ns_max = self.time_ns_max.max(measured.map(|times| times.max));
    }
}

#[derive(Default)]
struct Mean {
    count: u64,
    over_s: f64,
}

impl Mean {
    fn add(&mut self, count: u64, over_s: f64) {
        self.count += count;
        self.over_s += over_s;
    }

    fn value(&self) -> f64 {
        if self.over_s > 0.0 { self.count as f64 / self.over_s } else { 0.0 }
    }
}

/// The window's intervals, each from its start or the window's to where the next begins, the last to `end_ns`.
fn stretches(intervals: &[Interval], window_ns: u64, end_ns: u64) -> Vec<(&Interval, u64, u64)> {
    let of_window: Vec<&Interval> =
        intervals.iter().filter(|interval| interval.phase == Phase::Window).collect();
    let ends = of_window.iter().skip(1).map(|next| next.start_ns).chain([end_ns]);
    let stretches =
        of_window.iter().zip(ends).map(|(interval, end)| (*interval, interval.start_ns.max(window_ns), end));
    stretches.filter(|(_, start, end)| end > start).collect()
}
