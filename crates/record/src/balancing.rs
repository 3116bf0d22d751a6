//! Results of several instances behind a balancer: each process separately, the balancer's own counters, and the
//! injected fault.
//!
//! Written by the lab. The effect of a fault on the clients is in the run's intervals; [`InjectedFault`] has its time.

use crate::LoopKind;
use crate::{Interval, Phase, Run, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Several instances behind a balancer, over the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Balancing {
    /// The balancer: its version and configuration.
    pub balancer: BalancerReceipt,
    /// Each instance, in order, then the balancer.
    pub processes: Vec<ProcessUse>,
    /// The balancer's own counters; none if they could not be read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[serde(alias = "told")]
    pub counts: Option<BalancerCounts>,
    /// The injected fault.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fault: Option<InjectedFault>,
}

/// The balancer, with its version and configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BalancerReceipt {
    /// Name of the balancer's folder.
    pub id: String,
    /// Display name of the balancer.
    pub name: String,
    /// Output of its version command.
    pub versions: String,
    /// Its configuration: the filled template.
    pub configuration: String,
}

/// CPU and memory of one process tree over the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessUse {
    /// Role of the process: instance or balancer.
    pub role: ProcessRole,
    /// Index of the instance, from 0; 0 for the balancer.
    pub index: u32,
    /// The cores it may run on.
    pub cores: Vec<u32>,
    /// CPU time over the window, in seconds.
    pub cpu_s: f64,
    /// CPU time as a share of its cores, 0 to 1.
    pub utilization: f64,
    /// CPU time per response that the generator completed, in nanoseconds.
    pub cpu_ns_per_request: f64,
    /// Highest resident memory sampled, in bytes.
    pub rss_bytes_peak: u64,
    /// Highest number of threads at one time.
    pub threads_peak: u32,
    /// Time runnable but not running, in seconds.
    pub run_delay_s: f64,
    /// Connections it held, the mean of the samples in the window; given if the balancer does not report the requests
    /// of each instance.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connections_mean: Option<f64>,
}

/// The role of a process tree in its launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProcessRole {
    /// An instance of the server.
    Instance,
    /// The balancer.
    Balancer,
    /// The database that the server queries.
    Database,
}

/// The counters of a balancer over the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BalancerCounts {
    /// The source of the counters: `haproxy stats socket`, `nginx stub_status`.
    pub source: String,
    /// Counters that such a source does not report, as text.
    #[serde(alias = "untold")]
    pub not_reported: Vec<String>,
    /// Requests that the balancer received.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requests: Option<u64>,
    /// Client connections that it accepted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connections: Option<u64>,
    /// Attempts to reach an instance that were retried.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retries: Option<u64>,
    /// Requests sent to another instance than the one first chosen.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub redispatches: Option<u64>,
    /// Requests that it answered with its own error, or aborted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failures: Option<u64>,
    /// Counts of each instance, in order.
    pub by_instance: Vec<InstanceCounts>,
}

/// The counters of a balancer for one instance over the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceCounts {
    /// Requests that the balancer sent to this instance.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requests: Option<u64>,
    /// Attempts to connect to it that failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connect_failures: Option<u64>,
    /// Responses of it that were broken or missing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response_failures: Option<u64>,
    /// The state that the balancer reported at the end of the run: `UP`, `DOWN`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub state_at_end: Option<String>,
}

/// Faults that can be injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The last instance is killed (SIGKILL) in the middle of the window and stays dead.
    KillOne,
}

/// An injected fault.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InjectedFault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// Index of the affected instance, from 0.
    pub instance: u32,
    /// Time of the fault, in nanoseconds from the start of the run.
    pub at_ns: u64,
    /// Whether the balancer reports the state of an instance.
    pub balancer_tells: bool,
    /// Time until the balancer reported the instance as down, in seconds; polled twice a second.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub taken_out_after_s: Option<f64>,
}

/// The effect of a fault on the clients, from the run's intervals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultImpact {
    /// Requests that failed from the interval of the fault on, by outcome; only outcomes that occurred.
    pub failures: Vec<(&'static str, u64)>,
    /// Valid responses per second in the whole intervals before the fault.
    pub achieved_per_s_before: f64,
    /// Valid responses per second in the whole intervals after it.
    pub achieved_per_s_after: f64,
    /// From the fault to the end of the last interval with a failure, in seconds; none without failures.
    pub last_failure_s: Option<f64>,
    /// Length of an interval, in seconds: the resolution of that time.
    pub resolution_s: f64,
    /// Highest time of an interval from the fault on, in nanoseconds: response times of an open loop, else service
    /// times. None if no interval has any: there was no response, or a smaller record left them out.
    pub time_ns_max: Option<u64>,
}

impl InjectedFault {
    /// The effect on the clients of `run`. Intervals contain requests by the time they ended: slow failures appear
    /// late.
    pub fn impact(&self, run: &Run) -> FaultImpact {
        let stretches = stretches(run);
        let longest = stretches.iter().map(|(_, span)| span.end_ns - span.start_ns).max().unwrap_or(0);
        let mut saw = FaultImpact { resolution_s: longest as f64 * 1e-9, ..FaultImpact::default() };
        let (mut before, mut after) = (TimeWeightedMean::default(), TimeWeightedMean::default());
        for (interval, Span { start_ns, end_ns }) in stretches {
            let length_s = (end_ns - start_ns) as f64 * 1e-9;
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
struct TimeWeightedMean {
    count: u64,
    over_s: f64,
}

impl TimeWeightedMean {
    fn add(&mut self, count: u64, over_s: f64) {
        self.count += count;
        self.over_s += over_s;
    }

    fn value(&self) -> f64 {
        if self.over_s > 0.0 { self.count as f64 / self.over_s } else { 0.0 }
    }
}

/// The window's intervals, each with the time from its start, or from the start of the window, until the next began.
fn stretches(run: &Run) -> Vec<(&Interval, Span)> {
    let of_window = run.intervals_by_time().into_iter().filter_map(|(span, intervals)| {
        let interval = intervals.into_iter().find(|interval| interval.phase == Phase::Window)?;
        let start_ns = span.start_ns.max(run.phases.window.start_ns);
        Some((interval, Span { start_ns, end_ns: span.end_ns }))
    });
    of_window.filter(|(_, span)| span.end_ns > span.start_ns).collect()
}
