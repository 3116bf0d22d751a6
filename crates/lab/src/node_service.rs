//! The node's side: `paceline node` starts, samples and stops servers as requested by the lab at the other end.
//!
//! One thread reads the lab's requests, the other answers them, with the code of a local launch. When the connection
//! ends (closed, silent, a signal), a launch in progress is ended, then all started processes, then this one.

use crate::balancer_launch::Balancers;
use crate::database::{DatabaseListener, Databases, RunningDatabase};
use crate::launch::{LaunchError, ReadyCondition, RunningServer, Starter};
use crate::node::{
    BalancerOrder, DatabaseOrder, FolderContent, LaunchOrder, Launched, LaunchedBalancer, LaunchedDatabase,
    MAX_LINE_BYTES, NodeInfo, NodeQuery, NodeSettings, NodeUser, ToNode, digest, kept_folder,
};
use crate::provision::find;
use crate::{Provisioner, Scratch};
use paceline_catalogue::{Balancer, Database, WorkloadCase};
use paceline_host::channel::{ChannelOutput, first_message, listen};
use paceline_host::shepherd::CommandResult;
use paceline_host::{CoreTicks, Id, Interrupt, NetworkCounters, User, machine_id, physical_cores};
use paceline_record::{Environment, Stage};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

/// How often the end of the connection is checked.
const LOOK: Duration = Duration::from_millis(50);
/// Marks a folder while it is being sent.
const INCOMPLETE: &str = "incomplete";

/// Carries out the requests on `input` until it ends. `environment` reads this machine, `shepherd` starts a shepherd.
///
/// # Errors
/// When the first line is not a greeting, or the lab cannot be answered.
pub fn serve_node(
    mut input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
    shepherd: Vec<String>,
    environment: fn() -> Environment,
) -> io::Result<()> {
    let interrupt = Interrupt::listen()?;
    let settings = greeting(&mut input)?;
    let cores = physical_cores()?;
    let info =
        NodeInfo { address: own_address(), cores, machine_id: machine_id(), environment: environment() };
    let output = Arc::new(ChannelOutput::new(output));
    output.send(&info)?;
    let (sender, messages) = mpsc::channel();
    let (over, handle) = (interrupt.flag(), move |message| sender.send(message).is_ok());
    let ended = move |_| over.store(true, Ordering::Relaxed);
    listen(input, Arc::clone(&output), MAX_LINE_BYTES, handle, ended)?;
    let mut service = NodeService::new(settings, shepherd, interrupt);
    let done = service.serve(&messages, &output);
    // All started processes end here, after errors too.
    drop(service);
    done
}

/// Reads the lab's first message. Its state folder must not lead to a folder of another user of this machine: files are
/// written and removed there.
fn greeting(input: &mut impl BufRead) -> io::Result<NodeSettings> {
    let unusable = |kind, what| {
        let how = "`paceline node` is started by Paceline (`--on`), not by hand";
        io::Error::new(kind, format!("{what}: {how}"))
    };
    let settings = match first_message(input, MAX_LINE_BYTES) {
        Ok(Some(ToNode::Hello(settings))) => settings,
        Ok(None) => {
            let what = "the input ended before the first message";
            return Err(unusable(io::ErrorKind::UnexpectedEof, what));
        }
        Err(error) if error.kind() != io::ErrorKind::InvalidData => return Err(error),
        Ok(Some(_)) | Err(_) => return Err(unusable(io::ErrorKind::InvalidData, "invalid first message")),
    };
    settings.folders.check_links().map_err(io::Error::other)?;
    Ok(*settings)
}

/// The state of this node.
struct NodeService {
    starter: Starter,
    /// The user that servers run as, or the reason why they cannot.
    user: Result<Option<User>, String>,
    launches: BTreeMap<u32, RunningServer>,
    provisioner: Provisioner,
    /// The launches that are databases.
    databases: BTreeMap<u32, RunningDatabase>,
    /// The folders of launches that are balancers, removed with them.
    folders: BTreeMap<u32, Scratch>,
    /// The state folder on this machine.
    state: PathBuf,
    next: u32,
}

impl NodeService {
    fn new(settings: NodeSettings, shepherd: Vec<String>, interrupt: Interrupt) -> Self {
        paceline_host::end_left_overs();
        let logs = Some(settings.folders.state_dir.join("logs"));
        let provisioner = Provisioner::new(&settings.folders, shepherd.clone(), interrupt);
        let scratch = settings.folders.state_dir.join("checks");
        let starter = Starter { shepherd, guard: settings.guard, logs, scratch, interrupt, user: None };
        let user = server_user(settings.user.as_ref(), &settings.folders.state_dir);
        Self {
            starter,
            user,
            launches: BTreeMap::new(),
            provisioner,
            databases: BTreeMap::new(),
            folders: BTreeMap::new(),
            state: settings.folders.state_dir,
            next: 1,
        }
    }

    fn serve(&mut self, messages: &Receiver<ToNode>, output: &ChannelOutput<impl Write>) -> io::Result<()> {
        loop {
            match messages.recv_timeout(LOOK) {
                Ok(message) => self.answer(message, output)?,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.starter.interrupt.requested() {
                return Ok(());
            }
        }
    }

    fn answer(&mut self, message: ToNode, output: &ChannelOutput<impl Write>) -> io::Result<()> {
        match message {
            ToNode::Hello(_) => Ok(()),
            ToNode::Has(content) => output.send(&has(&content)),
            ToNode::Prepare(content) => output.send(&prepare(&content)),
            ToNode::Arrived(content) => output.send(&arrived(&content)),
            ToNode::Missing(needs) => {
                let missing: Vec<&String> = needs.iter().filter(|need| find(need, None).is_none()).collect();
                output.send(&missing)
            }
            ToNode::Launch { order, ready } => output.send(&self.launch(*order, &ready)),
            ToNode::Database(order) => output.send(&self.database(&order)),
            ToNode::StartAgain { launch, cores } => output.send(&self.start_again(launch, &cores)),
            ToNode::Front(order) => output.send(&self.start_balancer(&order)),
            ToNode::Cores => output.send(&CoreTicks::now()),
            ToNode::Network { speeds: true } => output.send(&NetworkCounters::now().with_speeds()),
            ToNode::Network { speeds: false } => output.send(&NetworkCounters::now()),
            ToNode::Of { launch, query } => self.answer_of(launch, query, output),
        }
    }

    fn launch(&mut self, order: LaunchOrder, ready: &WorkloadCase) -> Result<Launched, LaunchError> {
        let starter = self.unprivileged(&order.folder)?;
        let launch = starter.carry_out(&order, ReadyCondition::Answers(ready))?;
        let address = launch.address;
        Ok(self.keep(launch, address))
    }

    /// A starter for the user of servers, who must be able to enter a folder. Databases drop root's privileges
    /// themselves.
    fn unprivileged(&self, folder: &Path) -> Result<Starter, LaunchError> {
        let user = self.user.clone().map_err(|problem| LaunchError::fault(Stage::Setup, problem, false))?;
        if let Some(user) = &user {
            let reached = user.prepare_home().and_then(|()| user.check_reach(folder));
            reached.map_err(|error| LaunchError::fault(Stage::Setup, error.to_string(), false))?;
        }
        Ok(Starter { user, ..self.starter.clone() })
    }

    fn start_balancer(&mut self, order: &BalancerOrder) -> Result<LaunchedBalancer, LaunchError> {
        let fault = |problem: String| LaunchError::fault(Stage::Setup, problem, false);
        let balancer = Balancer::read(&order.balancer).map_err(|error| fault(error.to_string()))?;
        let starter = self.unprivileged(&order.balancer)?;
        let id = Id::parse(&order.id).map_err(|error| fault(error.to_string()))?;
        let scratch = Scratch::begin(&self.state.join("scratch"), &id)
            .map_err(|error| fault(format!("cannot create a folder in {}: {error}", self.state.display())))?;
        let balancers = Balancers { provisioner: &self.provisioner, starter: &starter };
        let (launch, running_balancer) =
            balancers.start(&balancer, order, &scratch.folder().join("balancer"))?;
        let address = launch.address;
        let launched = self.keep(launch, address);
        self.folders.insert(launched.launch, scratch);
        Ok(LaunchedBalancer {
            launched,
            receipt: running_balancer.receipt,
            statistics_at: running_balancer.statistics_at,
        })
    }

    fn keep(&mut self, launch: RunningServer, address: SocketAddr) -> Launched {
        let (number, startup) = (self.next, launch.startup.clone());
        self.launches.insert(number, launch);
        self.next += 1;
        Launched { launch: number, address, startup }
    }

    fn database(&mut self, order: &DatabaseOrder) -> Result<LaunchedDatabase, LaunchError> {
        let database = Database::read(&order.folder)
            .map_err(|error| LaunchError::fault(Stage::Setup, error.to_string(), false))?;
        let databases = Databases { provisioner: &self.provisioner, starter: &self.starter };
        let DatabaseOrder { id, cores, seed, .. } = order;
        let port = database.port.filter(|_| order.expected_port);
        let listen = DatabaseListener { address: order.listen, port };
        let (launch, running) = databases.start_on(listen, &Arc::new(database), id, cores, *seed)?;
        let receipt = running.receipt.clone();
        let launched = self.keep(launch, running.address());
        self.databases.insert(launched.launch, running);
        Ok(LaunchedDatabase { launched, receipt })
    }

    /// Starts a database again that has ended. If that fails, its folder is removed.
    fn start_again(&mut self, number: u32, cores: &[u32]) -> Result<Launched, LaunchError> {
        let missing =
            || LaunchError::fault(Stage::Start, format!("no database has the number {number}"), false);
        let ended = self.launches.remove(&number).ok_or_else(missing)?;
        let started = self.databases.get(&number).ok_or_else(missing)?.start_again(cores, ended);
        match started {
            Ok(launch) => {
                let (address, startup) = (launch.address, launch.startup.clone());
                self.launches.insert(number, launch);
                Ok(Launched { launch: number, address, startup })
            }
            Err(error) => {
                self.databases.remove(&number);
                Err(error)
            }
        }
    }

    fn answer_of(
        &mut self,
        number: u32,
        query: NodeQuery,
        output: &ChannelOutput<impl Write>,
    ) -> io::Result<()> {
        match query {
            NodeQuery::Sample => output.send(&self.launch_of(number)?.sample()),
            NodeQuery::MarkThreads => output.send(&self.launch_of(number)?.mark_threads()),
            NodeQuery::Search => output.send(&self.launch_of(number)?.search()),
            NodeQuery::Source => output.send(&self.launch_of(number)?.source()),
            NodeQuery::Sockets => output.send(&self.launch_of(number)?.sockets()),
            NodeQuery::IsRunnable => output.send(&self.launch_of(number)?.is_runnable()),
            NodeQuery::Memory => output.send(&self.launch_of(number)?.memory()),
            NodeQuery::PssBytes => output.send(&self.launch_of(number)?.pss_bytes()),
            NodeQuery::Ended => output.send(&self.launch_of(number)?.ended()),
            NodeQuery::LogTail => output.send(&self.launch_of(number)?.log_tail()),
            NodeQuery::Kill => output.send(&self.launch_of(number)?.kill()),
            NodeQuery::Stop => output.send(&self.stop(number)?),
            NodeQuery::Reset => output.send(&self.database_of(number)?.reset()),
            NodeQuery::Counts => output.send(&self.database_of(number)?.counts()),
            NodeQuery::World => output.send(&self.database_of(number)?.world()),
        }
    }

    fn launch_of(&mut self, number: u32) -> io::Result<&mut RunningServer> {
        self.launches.get_mut(&number).ok_or_else(|| unknown(number))
    }

    fn database_of(&self, number: u32) -> io::Result<&RunningDatabase> {
        self.databases.get(&number).ok_or_else(|| unknown(number))
    }

    fn stop(&mut self, number: u32) -> io::Result<Result<CommandResult, String>> {
        let launch = self.launches.remove(&number).ok_or_else(|| unknown(number))?;
        let stopped = launch.stop().map_err(|error| error.to_string());
        // Its folder is removed when it is no longer in use.
        drop((self.databases.remove(&number), self.folders.remove(&number)));
        Ok(stopped)
    }
}

impl Drop for NodeService {
    /// Databases end after the servers that use them, and a database's folder is removed after its processes.
    fn drop(&mut self) {
        while let Some((_, launch)) = self.launches.pop_last() {
            // An error here cannot be reported: the connection to the coordinator is closed.
            let _ = launch.stop();
        }
    }
}

fn unknown(number: u32) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("no launch has the number {number}"))
}

/// The user that servers run as on this machine.
fn server_user(user: Option<&NodeUser>, state: &Path) -> Result<Option<User>, String> {
    let is_root = rustix::process::geteuid().is_root();
    let Some(user) = user.filter(|user| user.is_named || is_root) else { return Ok(None) };
    User::for_servers(Some(&user.name), &state.join("home")).map_err(|error| error.to_string())
}

/// The local address of the connection: sshd reports it; srun reports the address where it was started, and the route
/// there begins at an address of this machine.
fn own_address() -> Option<IpAddr> {
    if let Ok(connection) = std::env::var("SSH_CONNECTION") {
        return connection.split_whitespace().nth(2)?.parse().ok();
    }
    let from: IpAddr = std::env::var("SLURM_LAUNCH_NODE_IPADDR").ok()?.parse().ok()?;
    // A datagram socket sends nothing when it is connected; port 9 is that of the discard protocol.
    let any: IpAddr = if from.is_ipv4() { [0, 0, 0, 0].into() } else { [0u16; 8].into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((from, 9)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// Whether a folder has the required contents: sent before, or shared with the lab's machine.
fn has(content: &FolderContent) -> bool {
    let noted = kept_folder(content).and_then(|kept| fs::read_to_string(kept).ok());
    match noted {
        Some(digest) => digest == content.digest && content.folder.is_dir(),
        None => digest(&content.folder).is_ok_and(|digest| digest == content.digest),
    }
}

/// Prepares the place of a folder. Only one that was sent before is replaced.
fn prepare(content: &FolderContent) -> Result<(), String> {
    let FolderContent { folder, .. } = content;
    let kept = kept_folder(content).ok_or("the user has no home folder")?;
    let is_empty = |folder: &Path| fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
    if folder.exists() && !kept.exists() && !is_empty(folder) {
        return Err(format!(
            "folder {} contains files that the lab did not copy there: move or remove the folder",
            folder.display()
        ));
    }
    let failed = |error: io::Error| format!("cannot make {}: {error}", folder.display());
    if let Some(parent) = kept.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    fs::write(&kept, INCOMPLETE).map_err(failed)?;
    if folder.exists() && !is_empty(folder) {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)
}

fn arrived(content: &FolderContent) -> Result<(), String> {
    let kept = kept_folder(content).ok_or("the user has no home folder")?;
    match digest(&content.folder) {
        Ok(digest) if digest == content.digest => {
            fs::write(kept, &content.digest).map_err(|error| error.to_string())
        }
        Ok(_) => Err(format!("the copy of {} is incomplete", content.folder.display())),
        Err(error) => Err(format!("cannot read {}: {error}", content.folder.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_catalogue::Folders;
    use paceline_host::shepherd::TrackingMethod;
    use std::os::unix::fs::{lchown, symlink};

    fn greet(state_dir: &Path) -> io::Result<NodeSettings> {
        let folder = |name: &str| state_dir.join(name);
        let folders = Folders {
            servers_dir: folder("servers"),
            workloads_dir: folder("workloads"),
            plans_dir: folder("plans"),
            balancers_dir: folder("balancers"),
            databases_dir: folder("databases"),
            state_dir: state_dir.to_owned(),
            user: None,
            installed: None,
        };
        let hello =
            ToNode::Hello(Box::new(NodeSettings { folders, guard: TrackingMethod::default(), user: None }));
        greeting(&mut format!("{}\n", serde_json::to_string(&hello).unwrap()).as_bytes())
    }

    #[test]
    fn a_link_of_another_user_in_the_state_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("logs");
        symlink(folder.path(), &link).unwrap();
        assert_eq!(greet(folder.path()).unwrap().folders.state_dir, folder.path());
        // Only root can make a link of another user.
        if rustix::process::geteuid().is_root() {
            lchown(&link, Some(54_321), None).unwrap();
            let refused = greet(folder.path()).unwrap_err();
            assert_eq!(refused.to_string(), format!("cannot use {}", link.display()));
        }
    }

    #[test]
    fn the_first_message_must_be_a_greeting() {
        let refused = greeting(&mut &b"\"alive\"\n"[..]).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
        let refused = greeting(&mut &b""[..]).unwrap_err();
        assert!(refused.to_string().starts_with("the input ended before the first message: "), "{refused}");
    }
}
