//! The processes of a launch: a list of roles, each a process tree: instances of the server, a balancer, a database.
//!
//! Requests take a route, to the first instance, to all of them or to the balancer. Each process tree is sampled
//! separately; "the server" of a trial is what the route leads to, without other roles. A round starts it; the code
//! that follows a generator's run uses it like a single server.

use crate::balancer::BalancerTotals;
use crate::balancer::StatisticsReader as _;
use crate::database::RunningDatabase;
use crate::launch::{LaunchError, RunningServer};
use paceline_catalogue::Statistics;
use paceline_host::shepherd::Ended;
use paceline_host::system;
use paceline_host::tree::TreeSample;
use paceline_host::{CoreFrequencies, CoreTicks, MemoryAccount, NetworkCounters};
use paceline_record::{BalancerReceipt, CpuSource, ProcessRole, RoleMachine, Route, Startup, WarmUp};
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// How often one server is sampled: a sample costs up to a millisecond of the core the generator runs on.
const SAMPLE_ONE_EVERY: Duration = Duration::from_millis(250);
/// How long a process may take to be reported as ended after SIGKILL.
const END_LIMIT: Duration = Duration::from_secs(5);
/// How often several servers are sampled: each costs as much.
const SAMPLE_SEVERAL_EVERY: Duration = Duration::from_millis(500);

/// The processes of a launch.
pub struct Deployment {
    /// Instances first, at least one; then the balancer, then what instances need.
    roles: Vec<RoleProcesses>,
    running_balancer: Option<RunningBalancer>,
    database: Option<RunningDatabase>,
    route: Route,
    killed: Option<usize>,
}

/// A process tree of a launch.
pub(crate) struct RoleProcesses {
    /// Its role.
    pub place: RolePlace,
    /// Its processes.
    pub launch: RunningServer,
    /// Open sockets before any client connected.
    sockets_first: u64,
}

/// The role of a process tree in its launch, and its cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RolePlace {
    /// The role.
    pub role: ProcessRole,
    /// Its number among those of the same role, from 0.
    pub index: u32,
    /// The cores it may run on.
    pub cores: Vec<u32>,
}

/// A running balancer, except its processes.
pub(crate) struct RunningBalancer {
    /// Its receipt.
    pub receipt: BalancerReceipt,
    /// How its counters are read.
    pub statistics: Statistics,
    /// The address of its counters.
    pub statistics_at: SocketAddr,
}

/// Samples of all roles at one moment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DeploymentSample {
    /// The processes that the route leads to, as one tree.
    pub server: TreeSample,
    /// Each role, in their order.
    pub each: Vec<TreeSample>,
}

/// The total CPU time of all processes since the launch, at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CpuTotals {
    /// The moment, on the monotonic clock, in nanoseconds.
    pub monotonic_ns: u64,
    /// CPU time, in seconds.
    pub cpu_s: f64,
    /// Time spent runnable, waiting for a core, in seconds.
    pub waited_s: f64,
}

impl RoleProcesses {
    /// A process tree with its role. No client is connected to it yet.
    pub fn new(role: ProcessRole, index: u32, cores: &[u32], launch: RunningServer) -> Self {
        let sockets_first = launch.sockets();
        Self { place: RolePlace { role, index, cores: cores.to_vec() }, launch, sockets_first }
    }

    /// Its name for messages, in a launch that may have several instances.
    fn name(&self, several: bool) -> String {
        let name = match self.place.role {
            ProcessRole::Instance if several => format!("instance {}", self.place.index),
            ProcessRole::Instance => "the server".to_owned(),
            ProcessRole::Balancer => "the balancer".to_owned(),
            ProcessRole::Database => "the database".to_owned(),
        };
        match self.launch.node() {
            Some(node) => format!("{name} on {}", node.host()),
            None => name,
        }
    }

    fn is_instance(&self) -> bool {
        self.place.role == ProcessRole::Instance
    }
}

impl Deployment {
    /// The processes of a launch, at least one of them an instance. `running_balancer` is set if one is a balancer,
    /// `database` if one is a database.
    pub(crate) fn new(
        mut roles: Vec<RoleProcesses>,
        running_balancer: Option<RunningBalancer>,
        database: Option<RunningDatabase>,
    ) -> Self {
        roles.sort_by_key(|role| match role.place.role {
            ProcessRole::Instance => 0,
            ProcessRole::Balancer => 1,
            ProcessRole::Database => 2,
        });
        Self { roles, running_balancer, database, route: Route::Direct, killed: None }
    }

    /// The database of the launch.
    pub(crate) fn database(&self) -> Option<&RunningDatabase> {
        self.database.as_ref()
    }

    /// Sends requests by this route from now on.
    pub fn take(&mut self, route: Route) {
        self.route = route;
    }

    fn instances(&self) -> impl Iterator<Item = &RoleProcesses> {
        self.roles.iter().filter(|role| role.is_instance())
    }

    /// The process tree of a role that occurs once.
    pub(crate) fn only(&self, role: ProcessRole) -> Option<&RunningServer> {
        self.roles.iter().find(|one| one.place.role == role).map(|one| &one.launch)
    }

    /// The role of each process tree, in the order of [`DeploymentSample::each`].
    pub(crate) fn places(&self) -> Vec<RolePlace> {
        self.roles.iter().map(|role| role.place.clone()).collect()
    }

    /// Looks for processes of each role that have left its control group: before a load, since it takes a while.
    pub(crate) fn search(&mut self) {
        self.roles.iter_mut().for_each(|role| role.launch.search());
    }

    /// The address for requests.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address_by(self.route)
    }

    /// The addresses of all instances.
    pub(crate) fn instance_addresses(&self) -> Vec<SocketAddr> {
        self.instances().map(|role| role.launch.address).collect()
    }

    /// The address for requests by a route: of the first instance, unless it is the balancer's.
    pub fn address_by(&self, route: Route) -> Option<SocketAddr> {
        let balancer = self.only(ProcessRole::Balancer).filter(|_| route == Route::Balanced);
        balancer.or_else(|| self.only(ProcessRole::Instance)).map(|launch| launch.address)
    }

    /// Stores the result of the launch's warm-up.
    pub(crate) fn warmed(&mut self, warm_up: WarmUp) {
        if let Some(first) = self.roles.first_mut() {
            first.launch.startup.warm_up = Some(warm_up);
        }
    }

    /// How the first instance started.
    pub fn startup(&self) -> Option<Startup> {
        self.only(ProcessRole::Instance).map(|launch| launch.startup.clone())
    }

    /// The source of CPU time; if it is a lower bound for one role, so is the sum.
    pub fn source(&self) -> CpuSource {
        let is_complete = |role: &RoleProcesses| role.launch.source() == CpuSource::Cgroup;
        if self.instances().all(is_complete) { CpuSource::Cgroup } else { CpuSource::Proc }
    }

    /// The CPU time of all processes so far.
    pub(crate) fn spent(&mut self) -> CpuTotals {
        let all = TreeSample::sum(&self.sample().each);
        CpuTotals { monotonic_ns: all.monotonic_ns, cpu_s: all.cpu_s, waited_s: all.run_delay_s }
    }

    /// Whether any process is running or runnable.
    pub(crate) fn is_runnable(&self) -> bool {
        self.roles.iter().any(|role| role.launch.is_runnable())
    }

    /// The resolution of CPU time, in seconds, over all process trees that are sampled separately.
    pub(crate) fn cpu_resolution_s(&self) -> f64 {
        match self.source() {
            CpuSource::Cgroup => 0.0,
            CpuSource::Proc => self.roles.len() as f64 / system::ticks_per_s(),
        }
    }

    /// The receipt of the balancer, if any.
    pub(crate) fn receipt(&self) -> Option<&BalancerReceipt> {
        self.running_balancer.as_ref().map(|running_balancer| &running_balancer.receipt)
    }

    /// The counters of every core of the server's machine now.
    pub(crate) fn cores(&self) -> CoreTicks {
        self.only(ProcessRole::Instance).map_or_else(CoreTicks::now, RunningServer::cores)
    }

    /// The frequencies of the cores of those roles that run on this machine, now.
    pub(crate) fn core_frequencies(&self) -> CoreFrequencies {
        let here = self.roles.iter().filter(|role| role.launch.node().is_none());
        let mut cores: Vec<u32> = Vec::new();
        for core in here.flat_map(|role| &role.place.cores) {
            if !cores.contains(core) {
                cores.push(*core);
            }
        }
        CoreFrequencies::now(Path::new("/"), &cores)
    }

    /// Whether all instances run on this machine.
    pub(crate) fn is_here(&self) -> bool {
        self.instances().all(|role| role.launch.node().is_none())
    }

    /// The machines of those roles that do not run on this one.
    pub(crate) fn machines(&self) -> Vec<RoleMachine> {
        let machine = |role: &RoleProcesses| {
            let node = role.launch.node()?;
            Some(RoleMachine {
                role: role.place.role,
                index: role.place.index,
                host: node.host().to_owned(),
                environment: node.environment().clone(),
                clock: node.clock(),
                network: None,
            })
        };
        self.roles.iter().filter_map(machine).collect()
    }

    /// The network counters of these machines, in the order of [`Deployment::machines`].
    pub(crate) fn networks(&self, speeds: bool) -> Vec<Option<NetworkCounters>> {
        let elsewhere = self.roles.iter().filter(|role| role.launch.node().is_some());
        elsewhere.map(|role| role.launch.network(speeds)).collect()
    }

    pub(crate) fn sample_every(&self) -> Duration {
        if self.roles.len() > 1 { SAMPLE_SEVERAL_EVERY } else { SAMPLE_ONE_EVERY }
    }

    /// The next sample begins the period over which the threads of each role are compared.
    pub(crate) fn mark_threads(&mut self) {
        self.roles.iter_mut().for_each(|role| role.launch.mark_threads());
    }

    pub(crate) fn sample(&mut self) -> DeploymentSample {
        let each: Vec<TreeSample> = self.roles.iter_mut().map(|role| role.launch.sample()).collect();
        let led_to = &each[..self.led_to().min(each.len())];
        DeploymentSample { server: TreeSample::sum(led_to), each }
    }

    /// How many instances the route leads to.
    fn led_to(&self) -> usize {
        if self.route == Route::Direct { 1 } else { self.instances().count() }
    }

    /// Connections of each role now; empty if the balancer reports the requests of each instance, which is more
    /// precise.
    pub(crate) fn connections(&self) -> Vec<u64> {
        if self.running_balancer.is_none() || self.statistics().names_instances() {
            return Vec::new();
        }
        self.instances().map(|role| role.launch.sockets().saturating_sub(role.sockets_first)).collect()
    }

    /// The balancer's counters, if they can be read and requests pass through it.
    pub(crate) fn counted(&self) -> Option<BalancerTotals> {
        let running_balancer = self.running_balancer.as_ref().filter(|_| self.route == Route::Balanced)?;
        running_balancer.statistics.ask(running_balancer.statistics_at, self.instances().count())
    }

    /// How the balancer's counters are read.
    pub(crate) fn statistics(&self) -> Statistics {
        self.running_balancer.as_ref().map(|running_balancer| running_balancer.statistics).unwrap_or_default()
    }

    /// Memory of the roles that the route leads to: the limit of the first and the counters of its machine.
    pub(crate) fn memory(&self) -> Option<MemoryAccount> {
        self.instances().next()?.launch.memory()
    }

    /// Proportional set size of the roles that the route leads to.
    pub(crate) fn pss_bytes(&self) -> Option<u64> {
        let led_to = self.instances().take(self.led_to());
        let shares: Vec<u64> = led_to.filter_map(|role| role.launch.pss_bytes()).collect();
        (!shares.is_empty()).then(|| shares.iter().sum())
    }

    /// Kills the last instance and does not restart it. Returns its number.
    pub(crate) fn kill_one(&mut self) -> Option<usize> {
        let last = self.instances().count().checked_sub(1)?;
        self.roles.get(last)?.launch.kill();
        self.killed = Some(last);
        self.killed
    }

    /// The first process that ended although the lab did not kill it, and how, as far as is known now.
    pub fn ended(&mut self) -> Option<(String, Ended)> {
        let (several, killed) = (self.running_balancer.is_some(), self.killed);
        let mut alive = self.roles.iter_mut().enumerate().filter(|(number, _)| Some(*number) != killed);
        alive.find_map(|(_, role)| Some((role.name(several), role.launch.ended()?)))
    }

    /// Restarts the database if it ended and no other process did. Returns whether it did. If the restart fails, the
    /// launch has no database.
    pub(crate) fn restart_database(&mut self) -> Result<bool, LaunchError> {
        let is_database = |role: &RoleProcesses| role.place.role == ProcessRole::Database;
        let (place, Some(running)) = (self.roles.iter().position(is_database), &self.database) else {
            return Ok(false);
        };
        let mut ended = self.roles.iter_mut().enumerate();
        let Some(place) = place
            .filter(|place| ended.all(|(number, role)| (number == *place) == role.launch.ended().is_some()))
        else {
            return Ok(false);
        };
        let RoleProcesses { place: about, launch, sockets_first } = self.roles.remove(place);
        let launch = running.start_again(&about.cores, launch)?;
        self.roles.insert(place, RoleProcesses { place: about, launch, sockets_first });
        Ok(true)
    }

    /// Kills the database: the launch is not used for further loads.
    pub(crate) fn give_up_database(&mut self) {
        if let Some(role) = self.roles.iter_mut().find(|role| role.place.role == ProcessRole::Database) {
            role.launch.kill();
            let _ = role.launch.wait_ended(END_LIMIT);
        }
    }

    /// The end of the output so far: of the first process that ended without being stopped, else of the first instance.
    pub fn log_tail(&mut self) -> String {
        let killed = self.killed;
        let ended = self
            .roles
            .iter_mut()
            .enumerate()
            .position(|(number, role)| Some(number) != killed && role.launch.ended().is_some());
        self.roles.get_mut(ended.unwrap_or(0)).map(|role| role.launch.log_tail()).unwrap_or_default()
    }

    /// The end of the database's output, after a line that says so; empty if there is none.
    pub(crate) fn database_log(&mut self) -> String {
        let database = self.roles.iter_mut().find(|role| role.place.role == ProcessRole::Database);
        match database.map(|role| role.launch.log_tail()).unwrap_or_default() {
            tail if tail.is_empty() => tail,
            tail => format!("\nthe database printed:\n{tail}"),
        }
    }

    /// Stops all processes and waits until none is left: the balancer first, then instances, then the database.
    ///
    /// # Errors
    /// When a process does not end even by SIGKILL; the others were stopped nevertheless.
    pub fn stop(self) -> io::Result<()> {
        let (running_balancer, rest): (Vec<RoleProcesses>, Vec<RoleProcesses>) =
            self.roles.into_iter().partition(|role| role.place.role == ProcessRole::Balancer);
        let stopped: Vec<io::Result<()>> =
            running_balancer.into_iter().chain(rest).map(|role| role.launch.stop().map(drop)).collect();
        stopped.into_iter().collect()
    }
}
