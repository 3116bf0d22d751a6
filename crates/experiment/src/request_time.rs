//! How the mean time of a request of a run divides: CPU time, which is measured, waiting for a core or a connection, and
//! the rest.

use paceline_judge::judged_times;
use paceline_record::{LoopKind, Run};
use paceline_stats::ratio;

/// Where the time of a request of a run goes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RequestTime {
    /// The mean of the time that the run is judged by, in nanoseconds.
    pub mean_ns: f64,
    /// CPU time of the server, in nanoseconds; none if it was not observed.
    pub cpu_ns: Option<f64>,
    /// CPU time of the servers behind it.
    pub behind_ns: f64,
    /// Waiting of the server's threads for a core.
    pub run_delay_ns: f64,
    /// Waiting for a free connection, and lag of the generator.
    pub before_ns: f64,
    /// What remains: the server waited for something other than a core, or the response was on its way.
    pub waiting_ns: f64,
}

impl RequestTime {
    pub(crate) fn of_run(run: &Run) -> Self {
        let mean = |times: Option<&paceline_record::Times>| times.map_or(0.0, |times| times.mean);
        let mean_ns = mean(judged_times(&run.total, run.loop_.kind));
        let requests = run.total.counts.attempted() as f64;
        let before_ns = match run.loop_.kind {
            LoopKind::Open => {
                mean(run.total.connection_wait_ns.as_ref()) + mean(run.total.generator_lag_ns.as_ref())
            }
            LoopKind::Closed => 0.0,
        };
        let cpu_ns = run.server.as_ref().map(|server| server.cpu_ns_per_request);
        let run_delay_s = run.server.as_ref().and_then(|server| server.run_delay_s).unwrap_or_default();
        let run_delay_ns = ratio(run_delay_s * 1e9, requests);
        let behind_ns: f64 = run.behind_server.iter().map(|server| server.cpu_ns_per_request).sum();
        let known_ns = cpu_ns.unwrap_or(0.0) + behind_ns + run_delay_ns + before_ns;
        let waiting_ns = (mean_ns - known_ns).max(0.0);
        Self { mean_ns, cpu_ns, behind_ns, run_delay_ns, before_ns, waiting_ns }
    }

    /// Whether most of the time of a request is waiting.
    pub(crate) fn is_mostly_waiting(&self) -> bool {
        self.cpu_ns.is_some() && self.waiting_ns > 0.5 * self.mean_ns
    }
}
