//! The machines of a round on several machines: allocates them for a launch, connects to them, copies the server's
//! files there, and releases them.
//!
//! Slurm grants nodes exclusively for each launch; they are released after it. Hosts of ssh are named by the user and
//! stay connected from launch to launch; each has one connection, which commands of generators share.

use crate::LabError;
use crate::database::RunningDatabase;
use crate::deployment::RunningBalancer;
use crate::launch::{LaunchError, LaunchSpec, ReadyCondition, RunningServer};
use crate::node::{
    BalancerOrder, DatabaseOrder, FolderContent, Launched, LaunchedBalancer, LaunchedDatabase, Node,
    NodeLost, NodeSettings, NodeUser, RemoteDatabase, RemoteProcesses, ToNode, digest, of_node,
};
use paceline_catalogue::{Balancer, Database, Folders, LaunchWarmUp, PlannedLaunch, Variables};
use paceline_host::shepherd::TrackingMethod;
use paceline_host::{
    Allocation, AllocationRequest, Interrupt, JOB_NAME, Machines, PROGRAM_DIGEST, Place, ProgramCopy,
    SSH_CONTROL, machine_id,
};
use paceline_job::MAX_DURATION;
use paceline_record::Stage;
use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::net::IpAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The role of a server's machine, and the feature of its node.
const SERVER: &str = "server";
/// The same for a database's machine.
const DATABASE: &str = "database";
/// The same for a balancer's machine.
const BALANCER: &str = "balancer";
/// The same for a generator's machine.
pub(crate) const LOADER: &str = "loader";
/// Time of a launch beyond its loads, for Slurm's time limit: copying, starting, validating, becoming idle.
const AROUND_LAUNCH: Duration = Duration::from_secs(300);
/// The same for each load.
const AROUND_LOAD: Duration = Duration::from_secs(90);
/// Longest time for a database to be ready: its commands have 120 s each.
const DATABASE_LIMIT: Duration = Duration::from_secs(600);
/// Longest time for a balancer to be ready: its version command and three starts.
const FRONT_LIMIT: Duration = Duration::from_secs(120);
/// Longest folder of temporary files in which ssh can make a socket. A socket's path has at most 107 bytes: the folder
/// of the fleet takes 34, the socket 41, and its name is longer by 17 until ssh renames it.
const MAX_TEMPORARY_BYTES: usize = 107 - 34 - 41 - 17;
/// Longest time for a folder to arrive.
const SEND_LIMIT: Duration = Duration::from_secs(600);

/// Flags of a round about its machines.
#[derive(Clone, Debug)]
pub struct FleetSettings {
    /// `--on`.
    pub machines: Machines,
    /// `--loaders`.
    pub loaders: Option<u32>,
    /// `--listen`.
    pub listen: Option<IpAddr>,
    /// `--queue-limit`.
    pub queue_limit: Duration,
    /// How descendants of servers are tracked.
    pub guard: TrackingMethod,
    /// User of servers on other machines; none for the user of the connection.
    pub user: Option<NodeUser>,
}

impl FleetSettings {
    /// Whether servers run on another machine.
    pub fn has_server(&self) -> bool {
        match &self.machines {
            Machines::Named(hosts) => hosts.iter().any(|(role, _)| role == SERVER),
            // `--listen` is an address of this machine: the server runs here.
            Machines::Slurm { .. } => self.listen.is_none(),
        }
    }
}

/// The machines of a round.
pub struct Fleet {
    settings: FleetSettings,
    node_settings: NodeSettings,
    program: ProgramCopy,
    /// Holds the sockets of ssh's connections, accessible only to this user.
    control: PathBuf,
    interrupt: Interrupt,
    new_id: fn() -> String,
    /// Hosts of ssh, by name.
    connected: Mutex<BTreeMap<String, Arc<Node>>>,
}

/// The machines of one launch, until this is dropped.
pub(crate) struct ReservedMachines {
    server: Option<Arc<Node>>,
    database: Option<Arc<Node>>,
    balancer: Option<Arc<Node>>,
    listen: Option<IpAddr>,
    loaders: Option<LoaderHosts>,
    /// The loaders' machines.
    loader_nodes: Vec<Arc<Node>>,
    /// Every connection: the loaders' are shared by the commands of generators.
    _nodes: Vec<Arc<Node>>,
    /// Released when every connection has ended.
    _allocation: Option<Allocation>,
}

/// Where the generators of a launch run.
#[derive(Clone, Debug)]
pub struct LoaderHosts {
    /// Flags of `paceline run`.
    pub flags: Vec<String>,
    /// Variables of its process.
    pub environment: BTreeMap<String, String>,
    /// How many generators.
    pub count: u32,
    /// Cores of the machine that has the fewest.
    pub cores: u32,
}

impl Fleet {
    /// A fleet without connections yet.
    ///
    /// # Errors
    /// [`LabError::File`] when this program cannot be read or the folder of sockets cannot be made.
    pub fn new(
        settings: FleetSettings,
        folders: &Folders,
        program: &Path,
        interrupt: Interrupt,
        new_id: fn() -> String,
    ) -> Result<Self, LabError> {
        let error = |action, path: &Path| {
            let path = path.to_owned();
            move |source| LabError::File { action, path, source }
        };
        let shipment = ProgramCopy::from_program(program).map_err(error("read", program))?;
        let control = short_folder(std::env::temp_dir()).join(format!("paceline-{}", new_id()));
        DirBuilder::new().mode(0o700).create(&control).map_err(error("make", &control))?;
        let user = settings.user.clone();
        let node_settings = NodeSettings { folders: folders.clone(), guard: settings.guard, user };
        let connected = Mutex::default();
        Ok(Self { settings, node_settings, program: shipment, control, interrupt, new_id, connected })
    }

    /// As [`FleetSettings::has_server`].
    pub fn has_server(&self) -> bool {
        self.settings.has_server()
    }

    /// The machines for a launch: granted where Slurm grants them, connected.
    ///
    /// # Errors
    /// [`LaunchError`], with nothing held.
    pub(crate) fn hold(
        &self,
        launch: &PlannedLaunch,
        warm_up: LaunchWarmUp,
    ) -> Result<ReservedMachines, LaunchError> {
        let (roles, allocation) = match &self.settings.machines {
            Machines::Named(hosts) => (hosts.clone(), None),
            Machines::Slurm { partition } => {
                let allocation = self.allocation(partition.clone(), launch, warm_up)?;
                (allocation.nodes().to_vec(), Some(allocation))
            }
        };
        let nodes = self.connect(&roles)?;
        let of = |role: &str| roles.iter().zip(&nodes).find(|((known, _), _)| known == role);
        let server = of(SERVER).map(|(_, node)| Arc::clone(node));
        let beside_server =
            |role: &str| of(role).map(|(_, node)| Arc::clone(node)).or_else(|| server.clone());
        let (database, balancer) = (beside_server(DATABASE), beside_server(BALANCER));
        let mut loaders = self.loaders(&roles, &nodes);
        if let (Some(loaders), Some(allocation)) = (&mut loaders, &allocation) {
            loaders.environment.insert(JOB_NAME.to_owned(), allocation.name().to_owned());
        }
        let of_loaders = roles.iter().zip(&nodes).filter(|((role, _), _)| role == LOADER);
        let loader_nodes = of_loaders.map(|(_, node)| Arc::clone(node)).collect();
        let listen = self.settings.listen;
        Ok(ReservedMachines {
            server,
            database,
            balancer,
            listen,
            loaders,
            loader_nodes,
            _nodes: nodes,
            _allocation: allocation,
        })
    }

    fn allocation(
        &self,
        partition: Option<String>,
        launch: &PlannedLaunch,
        warm_up: LaunchWarmUp,
    ) -> Result<Allocation, LaunchError> {
        let mut roles = vec![(LOADER.to_owned(), self.settings.loaders.unwrap_or(1))];
        if self.has_server() {
            roles.insert(0, (SERVER.to_owned(), 1));
            if launch.cells.iter().any(|cell| cell.database().is_some()) {
                roles.insert(1, (DATABASE.to_owned(), 1));
            }
            if launch.cells.iter().any(|cell| cell.load.balanced.is_some()) {
                roles.insert(1, (BALANCER.to_owned(), 1));
            }
        }
        let request = AllocationRequest {
            name: format!("paceline-{}", (self.new_id)()),
            partition,
            roles,
            limit: job_limit(
                launch.server.start_timeout.saturating_add(warm_up.limit()),
                launch.cells.iter().map(|cell| cell.load.limit()),
            ),
            queue_limit: self.settings.queue_limit,
        };
        Allocation::request(&request, self.interrupt).map_err(|error| match error {
            paceline_host::SlurmError::Interrupted => LaunchError::Interrupted,
            error => LaunchError::fault(Stage::Setup, error.to_string(), true),
        })
    }

    /// A connection to each place, in their order; a host with several roles has one.
    fn connect(&self, roles: &[(String, Place)]) -> Result<Vec<Arc<Node>>, LaunchError> {
        let mut connected = self.connected.lock().unwrap_or_else(PoisonError::into_inner);
        // Connections of the previous launch that still answer, with their clocks compared again.
        connected.retain(|_, node| node.compare_clocks().is_ok());
        let missing: BTreeMap<&str, &Place> = roles
            .iter()
            .map(|(_, place)| (place.name(), place))
            .filter(|(host, _)| !connected.contains_key(*host))
            .collect();
        let connect = |place: &Place| {
            Node::connect(place, &self.control, &self.program, &self.node_settings, self.interrupt)
        };
        let new: Vec<Result<Arc<Node>, NodeLost>> = std::thread::scope(|scope| {
            let connecting: Vec<_> =
                missing.values().map(|place| scope.spawn(move || connect(place))).collect();
            let lost = |host: &str| NodeLost {
                host: host.to_owned(),
                why: "a thread panicked".to_owned(),
                interrupted: false,
            };
            connecting
                .into_iter()
                .zip(missing.keys())
                .map(|(thread, host)| thread.join().unwrap_or_else(|_| Err(lost(host))))
                .collect()
        });
        let mut all = connected.clone();
        for node in new {
            let node = node.map_err(of_node)?;
            all.insert(node.host().to_owned(), node);
        }
        if let Machines::Named(_) = self.settings.machines {
            connected.clone_from(&all);
        }
        Ok(roles.iter().filter_map(|(_, place)| all.get(place.name())).cloned().collect())
    }

    /// The generators' part of the machines.
    fn loaders(&self, roles: &[(String, Place)], nodes: &[Arc<Node>]) -> Option<LoaderHosts> {
        let loaders: Vec<_> = roles.iter().zip(nodes).filter(|((role, _), _)| role == LOADER).collect();
        let ((_, first), _) = loaders.first()?;
        let list: Vec<String> =
            loaders.iter().map(|((_, place), _)| format!("{LOADER}={}", place.name())).collect();
        let kind = match first {
            Place::Slurm { job, .. } => format!("job:{job}"),
            Place::Ssh { .. } | Place::Local => "ssh".to_owned(),
        };
        let mut flags = vec!["--on".to_owned(), format!("{kind}:{}", list.join(","))];
        if let Some(count) = self.settings.loaders {
            flags.extend(["--loaders".to_owned(), count.to_string()]);
        }
        let control = self.control.to_string_lossy().into_owned();
        let mut environment = BTreeMap::from([(SSH_CONTROL.to_owned(), control)]);
        // Without it the digest is computed again for each load.
        environment.extend(self.program.note().ok().map(|note| (PROGRAM_DIGEST.to_owned(), note)));
        Some(LoaderHosts {
            flags,
            environment,
            count: self.settings.loaders.unwrap_or(loaders.len() as u32).max(1),
            cores: loaders.iter().map(|(_, node)| node.cores().concat().len() as u32).min().unwrap_or(1),
        })
    }
}

impl Drop for Fleet {
    /// Ends every connection, then removes the folder of their sockets.
    fn drop(&mut self) {
        self.connected.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let _ = std::fs::remove_dir_all(&self.control);
    }
}

impl ReservedMachines {
    /// The server's machine, where that is another one.
    pub(crate) fn server(&self) -> Option<&Arc<Node>> {
        self.server.as_ref()
    }

    /// The database's machine, where that is another one: the server's, where none is named.
    pub(crate) fn database(&self) -> Option<&Arc<Node>> {
        self.database.as_ref()
    }

    /// The balancer's machine, where that is another one: the server's, where none is named.
    pub(crate) fn balancer(&self) -> Option<&Arc<Node>> {
        self.balancer.as_ref()
    }

    /// Whether server and database have one machine.
    pub(crate) fn is_one_machine(&self) -> bool {
        let host = |node: &Option<Arc<Node>>| node.as_ref().map(|node| node.host().to_owned());
        host(&self.server) == host(&self.database)
    }

    /// Whether a loader may use one of these cores of the server's machine: loaders are not restricted to cores.
    pub(crate) fn has_loader_on(&self, server_cores: &[u32]) -> bool {
        let here = machine_id();
        let server = self.server.as_ref().map_or(here.as_deref(), |node| node.machine_id());
        let uses = |node: &Node| node.cores().iter().flatten().any(|core| server_cores.contains(core));
        self.loader_nodes.iter().any(|node| server.is_some() && node.machine_id() == server && uses(node))
    }

    /// Whether the server's machine is another one, and the generator is on this one.
    pub(crate) fn is_loaded_from_here(&self) -> bool {
        self.server.is_some() && self.loaders.is_none()
    }

    /// Whether the server's machine is this one under another name.
    pub(crate) fn is_server_here(&self) -> bool {
        let here = machine_id();
        here.is_some() && self.server.as_ref().is_some_and(|node| node.machine_id() == here.as_deref())
    }

    /// Where the generators run, where they do on other machines.
    pub(crate) fn loaders(&self) -> Option<&LoaderHosts> {
        self.loaders.as_ref()
    }

    /// Starts a role on a node, after copying `folders` that are missing there.
    ///
    /// # Errors
    /// [`LaunchError`], with nothing left running.
    pub(crate) fn launch(
        &self,
        node: &Arc<Node>,
        spec: &LaunchSpec<'_>,
        folders: &[PathBuf],
        interrupt: Interrupt,
    ) -> Result<RunningServer, LaunchError> {
        let ReadyCondition::Answers(case) = spec.ready else {
            return Err(LaunchError::fault(
                Stage::Setup,
                "only a process that answers HTTP can be started on another machine; this is a bug in Paceline",
                false,
            ));
        };
        if spec.image.is_some() {
            let message = "a container can be started only on the machine of the lab";
            return Err(LaunchError::fault(Stage::Setup, message, false));
        }
        folders.iter().try_for_each(|folder| provide(node, folder, interrupt))?;
        let address = self.listen.map_or_else(|| address_of(node), Ok)?;
        let order = spec.order()?;
        let variables = Variables { host: address.to_string(), ..order.variables };
        let order = Box::new(crate::node::LaunchOrder { variables, ..order });
        let limit = spec.server.start_timeout;
        let message = ToNode::Launch { order, ready: Box::new(case.clone()) };
        let launched: Result<Launched, LaunchError> =
            node.ask_within(&message, limit, interrupt).map_err(of_node)?;
        let launched = launched.map_err(|error| with_missing(error, node, &spec.server.needs))?;
        let Launched { address, startup, .. } = launched.clone();
        Ok(RunningServer::there(RemoteProcesses::new(node, &launched), address, startup))
    }

    /// Starts a database on its node, for servers on others, after copying `folders` that are missing there.
    ///
    /// # Errors
    /// [`LaunchError`], with nothing left running.
    pub(crate) fn start_database(
        &self,
        node: &Arc<Node>,
        database: &Database,
        order: DatabaseOrder,
        folders: &[PathBuf],
        interrupt: Interrupt,
    ) -> Result<(RunningServer, RunningDatabase), LaunchError> {
        if !database.commands.start.contains("DATABASE_LISTEN") {
            let message = format!(
                "{} accepts connections only from its own machine: change its start command so that it listens on $DATABASE_LISTEN",
                database.name
            );
            return Err(LaunchError::fault(Stage::Setup, message, false));
        }
        folders.iter().try_for_each(|folder| provide(node, folder, interrupt))?;
        let order = DatabaseOrder { listen: address_of(node)?, ..order };
        let message = ToNode::Database(Box::new(order));
        let launched: Result<LaunchedDatabase, LaunchError> =
            node.ask_within(&message, DATABASE_LIMIT, interrupt).map_err(of_node)?;
        let needs = database.as_server().needs;
        let launched = launched.map_err(|error| with_missing(error, node, &needs))?;
        let LaunchedDatabase { launched, receipt } = launched;
        let running = RunningDatabase::there(receipt, launched.address, RemoteDatabase::new(node, &launched));
        let processes = RemoteProcesses::new(node, &launched);
        Ok((RunningServer::there(processes, launched.address, launched.startup), running))
    }

    /// Starts a balancer on its node, before instances on others.
    ///
    /// # Errors
    /// [`LaunchError`], with nothing left running.
    pub(crate) fn start_balancer(
        &self,
        node: &Arc<Node>,
        balancer: &Balancer,
        order: BalancerOrder,
        interrupt: Interrupt,
    ) -> Result<(RunningServer, RunningBalancer), LaunchError> {
        provide(node, &balancer.folder, interrupt)?;
        let order = BalancerOrder { listen: address_of(node)?, ..order };
        let message = ToNode::Front(Box::new(order));
        let launched: Result<LaunchedBalancer, LaunchError> =
            node.ask_within(&message, FRONT_LIMIT, interrupt).map_err(of_node)?;
        let launched = launched.map_err(|error| with_missing(error, node, &balancer.needs))?;
        let LaunchedBalancer { launched, receipt, statistics_at } = launched;
        let processes = RemoteProcesses::new(node, &launched);
        let running_balancer = RunningBalancer { receipt, statistics: balancer.statistics, statistics_at };
        Ok((RunningServer::there(processes, launched.address, launched.startup), running_balancer))
    }
}

/// The folder of temporary files, or `/tmp` if its path is too long for sockets, such as that of a job or a CI runner.
fn short_folder(temporary: PathBuf) -> PathBuf {
    let is_short = temporary.as_os_str().len() <= MAX_TEMPORARY_BYTES;
    if is_short { temporary } else { PathBuf::from("/tmp") }
}

/// The time limit of a launch's job: the time until its first load, and its loads, but no longer than a plan can state. A
/// load that ends after a number of requests may have no limit, and Slurm's are minutes in 32 bits.
fn job_limit(before: Duration, loads: impl Iterator<Item = Duration>) -> Duration {
    let loads = loads.map(|load| load.saturating_add(AROUND_LOAD));
    loads.fold(before.saturating_add(AROUND_LAUNCH), Duration::saturating_add).min(MAX_DURATION)
}

/// The address by which a node was reached.
fn address_of(node: &Node) -> Result<IpAddr, LaunchError> {
    let message = || format!("the address of {} is unknown: give the address with --listen", node.host());
    node.address().ok_or_else(|| LaunchError::fault(Stage::Setup, message(), false))
}

/// Adds the missing programs of a node to its error. A launch may not need all programs that a build needs.
fn with_missing(error: LaunchError, node: &Node, needs: &[String]) -> LaunchError {
    let missing: Vec<String> = node.ask(&ToNode::Missing(needs.to_vec())).unwrap_or_default();
    match error {
        LaunchError::Fault { mut fault, log_tail } if !missing.is_empty() => {
            fault.message = format!("{} ({} lacks {})", fault.message, node.host(), missing.join(", "));
            LaunchError::Fault { fault, log_tail }
        }
        other => other,
    }
}

/// Copies a folder to the same path on a node: many builds contain their path.
fn provide(node: &Node, folder: &Path, interrupt: Interrupt) -> Result<(), LaunchError> {
    let fault = |what: String| LaunchError::fault(Stage::Setup, format!("{}: {what}", node.host()), false);
    let digest =
        digest(folder).map_err(|error| fault(format!("cannot read {}: {error}", folder.display())))?;
    let content = FolderContent { folder: folder.to_owned(), digest };
    if node.ask_within(&ToNode::Has(content.clone()), SEND_LIMIT, interrupt).map_err(of_node)? {
        return Ok(());
    }
    let prepared: Result<(), String> = node.ask(&ToNode::Prepare(content.clone())).map_err(of_node)?;
    prepared.map_err(fault)?;
    node.send(folder).map_err(|error| fault(format!("cannot send {}: {error}", folder.display())))?;
    let arrived: Result<(), String> =
        node.ask_within(&ToNode::Arrived(content), SEND_LIMIT, interrupt).map_err(of_node)?;
    arrived.map_err(fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_of_ssh_fit_into_their_folder() {
        let folder = |path: &str| short_folder(PathBuf::from(path));
        assert_eq!(folder("/var/tmp"), Path::new("/var/tmp"));
        assert_eq!(folder("/scratch/users/somebody/1234"), Path::new("/tmp"));
        let longest = "/".repeat(MAX_TEMPORARY_BYTES);
        assert_eq!(folder(&longest).as_os_str().len(), MAX_TEMPORARY_BYTES);
        let id = "20261129-182159-0123abcd";
        let socket = format!("{longest}/paceline-{id}/{}.{}", "c".repeat(40), "r".repeat(16));
        assert_eq!(socket.len(), 107);
    }

    #[test]
    fn a_job_has_time_for_its_loads_and_a_limit() {
        let limit = |loads: &[Duration]| job_limit(Duration::from_secs(10), loads.iter().copied());
        let second = Duration::from_secs(1);
        assert_eq!(limit(&[second, second * 2]), second * 13 + AROUND_LAUNCH + AROUND_LOAD * 2);
        assert_eq!(limit(&[Duration::MAX, second]), MAX_DURATION);
    }
}
