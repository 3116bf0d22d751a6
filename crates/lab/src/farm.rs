//! What a trial is measured on: one server, or several instances of it with a balancer before them.
//!
//! Requests go by a route, to the first instance or to the balancer. Each process tree is sampled apart; "the server"
//! of a trial is what the route leads to, the balancer never counted in. Started by a round, followed by a generator's
//! run, which looks at it as at one server.

use crate::balancer::Ask as _;
use crate::balancer::Counted;
use crate::launch::Launch;
use paceline_catalogue::Statistics;
use paceline_host::shepherd::Ended;
use paceline_host::system;
use paceline_host::tree::TreeSample;
use paceline_record::{BalancerReceipt, CpuSource, Route, Startup, WarmUp};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// How often one server is sampled: a sample costs up to a millisecond of the core the generator runs on.
const SAMPLE_ONE_EVERY: Duration = Duration::from_millis(250);
/// How often several are: each costs as much.
const SAMPLE_SEVERAL_EVERY: Duration = Duration::from_millis(500);

/// One server, or several instances behind a balancer.
pub struct Farm {
    instances: Vec<Launch>,
    front: Option<Front>,
    route: Route,
    killed: Option<usize>,
    /// Open sockets of each instance before anybody was connected.
    sockets_first: Vec<u64>,
}

/// A balancer that runs.
pub(crate) struct Front {
    /// Its process, which answers as the server does.
    pub launch: Launch,
    /// What it is, with its receipt.
    pub receipt: BalancerReceipt,
    /// How it is asked what it counted.
    pub statistics: Statistics,
    /// Where.
    pub statistics_at: SocketAddr,
}

/// Everything at one moment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FarmSample {
    /// What the route leads to, as one tree.
    pub server: TreeSample,
    /// Each instance, then the balancer; empty for one server alone.
    pub each: Vec<TreeSample>,
}

/// What all processes together have cost at one moment, since the launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spent {
    /// When, on the monotonic clock, in nanoseconds.
    pub monotonic_ns: u64,
    /// CPU time, in seconds.
    pub cpu_s: f64,
    /// CPU time that was wanted and not had, in seconds: runnable, and waiting for a core.
    pub waited_s: f64,
}

impl Farm {
    /// One server.
    pub fn alone(launch: Launch) -> Self {
        Self {
            instances: vec![launch],
            front: None,
            route: Route::Direct,
            killed: None,
            sockets_first: Vec::new(),
        }
    }

    /// Instances, at least one, behind a balancer.
    pub(crate) fn balanced(instances: Vec<Launch>, front: Front) -> Self {
        let sockets_first = instances.iter().map(|launch| launch.tree.sockets()).collect();
        Self { instances, front: Some(front), route: Route::Direct, killed: None, sockets_first }
    }

    /// From now on requests go this way.
    pub fn take(&mut self, route: Route) {
        self.route = route;
    }

    /// Looks for processes of each that have left its control group: before a load, since it takes its time.
    pub(crate) fn search(&mut self) {
        let front = self.front.iter_mut().map(|front| &mut front.launch);
        self.instances.iter_mut().chain(front).for_each(|launch| launch.tree.search());
    }

    /// Where requests go.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address_by(self.route)
    }

    /// Where requests go by a route.
    pub fn address_by(&self, route: Route) -> Option<SocketAddr> {
        match (route, &self.front) {
            (Route::Balanced, Some(front)) => Some(front.launch.address),
            _ => self.instances.first().map(|launch| launch.address),
        }
    }

    /// Keeps how the launch was warmed up.
    pub(crate) fn warmed(&mut self, warm_up: WarmUp) {
        if let Some(first) = self.instances.first_mut() {
            first.startup.warm_up = Some(warm_up);
        }
    }

    /// How the first instance started.
    pub fn startup(&self) -> Option<Startup> {
        self.instances.first().map(|launch| launch.startup.clone())
    }

    /// Where CPU time is read; a lower bound in one place makes the sum one.
    pub fn source(&self) -> CpuSource {
        let is_complete = |launch: &Launch| launch.tree.source() == CpuSource::Cgroup;
        if self.instances.iter().all(is_complete) { CpuSource::Cgroup } else { CpuSource::Proc }
    }

    /// What everything that runs has cost so far: all instances, and the balancer.
    pub(crate) fn spent(&mut self) -> Spent {
        let sample = self.sample();
        let all = match sample.each.as_slice() {
            [] => sample.server,
            each => TreeSample::sum(each),
        };
        Spent { monotonic_ns: all.monotonic_ns, cpu_s: all.cpu_s, waited_s: all.run_delay_s }
    }

    /// Whether any of it runs now, or would if it had a core.
    pub(crate) fn is_runnable(&self) -> bool {
        let front = self.front.iter().map(|front| &front.launch);
        self.instances.iter().chain(front).any(|launch| launch.tree.is_runnable())
    }

    /// How fine the account of CPU time is, in seconds, over all processes that are sampled apart.
    pub(crate) fn cpu_resolution_s(&self) -> f64 {
        match self.source() {
            CpuSource::Cgroup => 0.0,
            CpuSource::Proc => {
                (self.instances.len() + usize::from(self.front.is_some())) as f64 / system::ticks_per_s()
            }
        }
    }

    /// What balances, if anything does.
    pub(crate) fn receipt(&self) -> Option<&BalancerReceipt> {
        self.front.as_ref().map(|front| &front.receipt)
    }

    pub(crate) fn sample_every(&self) -> Duration {
        if self.front.is_some() { SAMPLE_SEVERAL_EVERY } else { SAMPLE_ONE_EVERY }
    }

    pub(crate) fn sample(&mut self) -> FarmSample {
        let mut each: Vec<TreeSample> =
            self.instances.iter_mut().map(|launch| launch.tree.sample()).collect();
        let Some(front) = &mut self.front else {
            return FarmSample { server: TreeSample::sum(&each), each: Vec::new() };
        };
        let server = match self.route {
            Route::Direct => each.first().copied().unwrap_or_default(),
            Route::Balanced => TreeSample::sum(&each),
        };
        each.push(front.launch.tree.sample());
        FarmSample { server, each }
    }

    /// Connections of each instance now; empty where the balancer tells what each instance got, which says more.
    pub(crate) fn connections(&self) -> Vec<u64> {
        if self.statistics().names_instances() {
            return Vec::new();
        }
        let pairs = self.instances.iter().zip(&self.sockets_first);
        pairs.map(|(launch, first)| launch.tree.sockets().saturating_sub(*first)).collect()
    }

    /// What the balancer counted so far, where it can be asked and requests go through it.
    pub(crate) fn counted(&self) -> Option<Counted> {
        let front = self.front.as_ref().filter(|_| self.route == Route::Balanced)?;
        front.statistics.ask(front.statistics_at, self.instances.len())
    }

    /// How the balancer is asked.
    pub(crate) fn statistics(&self) -> Statistics {
        self.front.as_ref().map(|front| front.statistics).unwrap_or_default()
    }

    /// Proportional share of memory of what the route leads to.
    pub(crate) fn pss_bytes(&self) -> Option<u64> {
        let led_to = if self.route == Route::Direct { 1 } else { self.instances.len() };
        let shares: Vec<u64> =
            self.instances.iter().take(led_to).filter_map(|launch| launch.tree.pss_bytes()).collect();
        (!shares.is_empty()).then(|| shares.iter().sum())
    }

    /// Kills the last instance and leaves it dead. Which that is.
    pub(crate) fn kill_one(&mut self) -> Option<usize> {
        let last = self.instances.len().checked_sub(1)?;
        self.instances.get(last)?.kill();
        self.killed = Some(last);
        self.killed
    }

    /// Whether a process ended that nobody killed, and how, as far as is known now.
    pub fn ended(&mut self) -> Option<(String, Ended)> {
        let several = self.front.is_some();
        for (number, launch) in self.instances.iter_mut().enumerate() {
            if Some(number) == self.killed {
                continue;
            }
            if let Some(ended) = launch.ended() {
                let who = if several { format!("instance {number}") } else { "the server".to_owned() };
                return Some((who, ended));
            }
        }
        let ended = self.front.as_mut()?.launch.ended()?;
        Some(("the balancer".to_owned(), ended))
    }

    /// The end of what was printed so far: of the first process that ended by itself, else of the first instance.
    pub fn log_tail(&mut self) -> String {
        let killed = self.killed;
        let ended = self.instances.iter_mut().enumerate().find_map(|(number, launch)| {
            (Some(number) != killed && launch.ended().is_some()).then_some(launch)
        });
        if let Some(launch) = ended {
            return launch.log_tail();
        }
        if let Some(front) = self.front.as_mut()
            && front.launch.ended().is_some()
        {
            return front.launch.log_tail();
        }
        self.instances.first_mut().map(Launch::log_tail).unwrap_or_default()
    }

    /// Stops all of it, the balancer first, and waits until nothing is left.
    ///
    /// # Errors
    /// When a process does not end even by SIGKILL; the others were stopped all the same.
    pub fn stop(self) -> io::Result<()> {
        let front = self.front.map(|front| front.launch);
        let stopped: Vec<io::Result<()>> =
            front.into_iter().chain(self.instances).map(|launch| launch.stop().map(drop)).collect();
        stopped.into_iter().collect()
    }
}
