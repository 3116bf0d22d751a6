//! One launch: starts a server in one form, waits until it answers correctly, samples it and stops it.
//!
//! Errors are returned as a fault with the end of the log, since a failed launch is recorded and does not end the
//! round.

mod processes;
mod starting;

pub use crate::error::LaunchError;
use crate::node::{LaunchOrder, Node, RemoteProcesses};
use crate::probe::engine::EngineProbe;
use crate::process_setup::ProcessSetup;
use crate::provision::ImageLaunch;
use paceline_catalogue::{Manifest, Variables};
use paceline_host::cgroup::ControlGroup;
use paceline_host::private_network;
use paceline_host::shepherd::{CommandOutput, CommandResult, Ended, Shepherd, ShepherdOrder, TrackingMethod};
use paceline_host::tree::{ProcessTree, TreeSample};
use paceline_host::{CoreTicks, InheritedVariables, Interrupt, MemoryAccount, NetworkCounters, User, port};
use paceline_record::{CpuSource, Stage, Startup};
use processes::Processes;
pub use starting::ReadyCondition;
use starting::StartingServer;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long a server may take to end after SIGTERM: docs/adding-a-server.md.
const STOP_LIMIT: Duration = Duration::from_secs(5);
/// How much of a launch's log is kept: its beginning, with the first error, and its end.
const LOG_HEAD_BYTES: u64 = 64 * 1024;
const LOG_TAIL_BYTES: u64 = 192 * 1024;
/// Another process may take the port between the lab's check and the server's bind.
const PORT_TRIES: u32 = 3;

/// How servers are started, the same for every launch.
#[derive(Clone, Debug)]
pub struct Starter {
    /// The command that starts a shepherd.
    pub shepherd: Vec<String>,
    /// How descendant processes are tracked.
    pub guard: TrackingMethod,
    /// The folder for logs; `None` shows them on standard error.
    pub logs: Option<PathBuf>,
    /// A folder for the files of checks.
    pub scratch: PathBuf,
    /// Ctrl-C.
    pub interrupt: Interrupt,
    /// The user that servers run as; `None` for the lab's own user.
    pub user: Option<User>,
}

/// The server to start, with its settings.
#[derive(Clone)]
pub struct LaunchSpec<'a> {
    /// A unique id: it names the log and the control group.
    pub id: &'a str,
    /// The server.
    pub server: &'a Manifest,
    /// The form it runs in.
    pub form: &'a str,
    /// The variables of its commands; without a port one is chosen.
    pub variables: Variables,
    /// How its image is run, if it comes as a container: see [`crate::Provisioner::image_launch`].
    pub image: Option<ImageLaunch>,
    /// The cores it may run on.
    pub cores: &'a [u32],
    /// The condition for ready.
    pub ready: ReadyCondition<'a>,
}

impl LaunchSpec<'_> {
    /// The same as plain data.
    ///
    /// # Errors
    /// [`LaunchError`] when the server does not have the form.
    pub(crate) fn order(&self) -> Result<LaunchOrder, LaunchError> {
        let message = || format!("server {} cannot run in the form `{}`", self.server.id, self.form);
        let form =
            self.server.form(self.form).ok_or_else(|| LaunchError::fault(Stage::Start, message(), false))?;
        let variables = Variables { port: self.port()?, ..self.variables.clone() };
        Ok(LaunchOrder {
            id: self.id.to_owned(),
            server: self.server.id.clone(),
            folder: self.server.folder.clone(),
            command: form.command.clone(),
            env: form.env.clone(),
            pass_env: self.server.pass_env.clone(),
            variables,
            hosts: self.server.fixed.hosts.clone(),
            image: self.image.clone(),
            cores: self.cores.to_vec(),
            tcp_offsets: self.server.traits.tcp_offsets(),
            udp_offsets: self.server.traits.udp_offsets(),
            start_timeout: self.server.start_timeout,
        })
    }
}

impl LaunchSpec<'_> {
    /// The requested port, which may not differ from a fixed one.
    fn port(&self) -> Result<Option<u16>, LaunchError> {
        match (self.server.fixed.port, self.variables.port) {
            (Some(fixed), Some(asked)) if fixed != asked => {
                let message = format!("server {} listens only on port {fixed}", self.server.id);
                Err(LaunchError::fault(Stage::Start, message, false))
            }
            (fixed, asked) => Ok(fixed.or(asked)),
        }
    }
}

/// A running server that answers.
pub struct RunningServer {
    running: Running,
    /// Its address.
    pub address: SocketAddr,
    /// How it started.
    pub startup: Startup,
}

/// Its processes.
enum Running {
    /// On this machine.
    Here(Box<Processes>),
    /// On another one, by a connection.
    There(RemoteProcesses),
}

impl Starter {
    /// Checks with Paceline's own generator, which is the program of the shepherd too.
    pub fn engine_probe(&self) -> EngineProbe<'_> {
        EngineProbe { shepherd: &self.shepherd, scratch: &self.scratch, interrupt: self.interrupt }
    }

    /// Starts a server and waits until it answers.
    ///
    /// # Errors
    /// [`LaunchError`], with nothing left running.
    pub fn launch(&self, spec: &LaunchSpec<'_>) -> Result<RunningServer, LaunchError> {
        self.carry_out(&spec.order()?, spec.ready)
    }

    /// As [`Starter::launch`], from plain data.
    pub(crate) fn carry_out(
        &self,
        order: &LaunchOrder,
        ready: ReadyCondition<'_>,
    ) -> Result<RunningServer, LaunchError> {
        let mut tries = 0;
        let host: IpAddr = order.variables.host.parse().map_err(|_| {
            let problem = format!("`{}` is not an address to listen on", order.variables.host);
            LaunchError::fault(Stage::Start, problem, false)
        })?;
        let check = |port| port::check_free_with(host, port, &order.tcp_offsets, &order.udp_offsets);
        loop {
            tries += 1;
            let port = match order.variables.port {
                Some(port) => check(port).map(|()| port),
                None => port::free_port_with(host, &order.tcp_offsets, &order.udp_offsets),
            };
            let port = port.map_err(|error| LaunchError::fault(Stage::Start, error.to_string(), true))?;
            let result = self.launch_on(order, ready, SocketAddr::new(host, port));
            // If the port is taken after our server has ended, another process took it.
            let lost = matches!(&result, Err(LaunchError::Fault { .. })) && check(port).is_err();
            if !lost || order.variables.port.is_some() || tries >= PORT_TRIES {
                return result;
            }
        }
    }

    fn launch_on(
        &self,
        order: &LaunchOrder,
        ready: ReadyCondition<'_>,
        address: SocketAddr,
    ) -> Result<RunningServer, LaunchError> {
        let variables = Variables { port: Some(address.port()), ..order.variables.clone() };
        let group = ControlGroup::create(&order.id);
        let log = self.logs.as_ref().map(|logs| logs.join(format!("{}-{}.log", order.server, order.id)));
        let shepherd_order = self.shepherd_order(order, &variables, log.as_deref(), group.as_ref())?;
        let began = SystemTime::now();
        let shepherd = Shepherd::start(&self.shepherd, &shepherd_order)
            .map_err(|error| LaunchError::fault(Stage::Start, error.to_string(), false))?;
        let tree = ProcessTree::new(&shepherd, group.filter(|_| shepherd.is_grouped()));
        let tree = tree.with_port(address.port());
        let startup = Startup {
            guarantee: shepherd.guarantee().to_owned(),
            private_network: private_network::is_private(),
            ..Startup::default()
        };
        let processes = Processes { shepherd, log, tree, began };
        let mut starting = StartingServer { processes, address, startup, engine: self.engine_probe() };
        let ready = starting.wait_ready(order.start_timeout, ready);
        match ready.and_then(|()| starting.check_cores(&order.cores)) {
            Ok(()) => Ok(RunningServer {
                running: Running::Here(Box::new(starting.processes)),
                address,
                startup: starting.startup,
            }),
            Err(error) => Err(starting.processes.stop_after(error)),
        }
    }

    fn shepherd_order(
        &self,
        order: &LaunchOrder,
        variables: &Variables,
        log: Option<&Path>,
        group: Option<&ControlGroup>,
    ) -> Result<ShepherdOrder, LaunchError> {
        let fault = |message: String| LaunchError::fault(Stage::Start, message, false);
        if let Some(folder) = log.and_then(Path::parent) {
            fs::create_dir_all(folder)
                .map_err(|error| fault(format!("cannot make {}: {error}", folder.display())))?;
        }
        let output = match log {
            Some(path) => CommandOutput::Bounded {
                path: path.to_owned(),
                head_bytes: LOG_HEAD_BYTES,
                tail_bytes: LOG_TAIL_BYTES,
            },
            None => CommandOutput::Inherit,
        };
        let setup = ProcessSetup::new(order, variables, self.user.as_ref()).map_err(fault)?;
        Ok(ShepherdOrder {
            command: setup.command,
            folder: setup.folder,
            env: setup.env,
            inherits: InheritedVariables::Running,
            pass_env: order.pass_env.clone(),
            cores: order.cores.to_vec(),
            output,
            groups: group.map(|group| group.folder().to_owned()).into_iter().collect(),
            guard: self.guard,
            stop_limit_ms: STOP_LIMIT.as_millis() as u64,
            user: setup.user,
            view: setup.view,
            inherit: None,
            restore: Vec::new(),
            restore_note: None,
        })
    }
}

impl RunningServer {
    /// A launch on another machine.
    pub(crate) fn there(processes: RemoteProcesses, address: SocketAddr, startup: Startup) -> Self {
        Self { running: Running::There(processes), address, startup }
    }

    /// Its machine, if that is another one.
    pub(crate) fn node(&self) -> Option<&Node> {
        match &self.running {
            Running::Here(_) => None,
            Running::There(processes) => Some(processes.node()),
        }
    }

    /// The process of its command, if it runs on this machine: the others descend from it, unless they became daemons.
    pub fn process(&self) -> Option<i32> {
        match &self.running {
            Running::Here(processes) => Some(processes.shepherd.command()),
            Running::There(_) => None,
        }
    }

    /// How the server's own process ended, if it has.
    pub fn ended(&mut self) -> Option<Ended> {
        match &mut self.running {
            Running::Here(processes) => processes.shepherd.ended(),
            Running::There(processes) => processes.ended(),
        }
    }

    /// Waits until the server ends without a signal from the lab, at most `limit`.
    pub fn wait_ended(&mut self, limit: Duration) -> Option<Ended> {
        match &mut self.running {
            Running::Here(processes) => processes.shepherd.wait_ended(limit),
            Running::There(processes) => processes.wait_ended(limit),
        }
    }

    /// The end of its output so far. For a long log the true end is known only once the server has ended.
    pub fn log_tail(&mut self) -> String {
        match &mut self.running {
            Running::Here(processes) => processes.log_tail(),
            Running::There(processes) => processes.log_tail(),
        }
    }

    /// Kills it immediately, like a crash; its shepherd reports the end.
    pub(crate) fn kill(&self) {
        match &self.running {
            Running::Here(processes) => processes.tree.kill(),
            Running::There(processes) => processes.kill(),
        }
    }

    /// The CPU time of its processes so far, and their present state. The time is on this machine's clock.
    pub fn sample(&mut self) -> TreeSample {
        match &mut self.running {
            Running::Here(processes) => processes.tree.sample(),
            Running::There(processes) => processes.sample(),
        }
    }

    /// The CPU time of its processes so far, in seconds, by the finest clock there is: that of its control group, or the
    /// scheduler's counters of its threads, or the ticks of `/proc`.
    pub fn cpu_s(&mut self) -> f64 {
        let sample = self.sample();
        match self.source() {
            CpuSource::Cgroup => sample.cpu_s,
            CpuSource::Proc => sample.scheduled_s.unwrap_or(sample.cpu_s),
        }
    }

    /// The next sample begins the period of the busiest thread: see [`ProcessTree::mark_threads`].
    pub(crate) fn mark_threads(&mut self) {
        match &mut self.running {
            Running::Here(processes) => processes.tree.mark_threads(),
            Running::There(processes) => processes.mark_threads(),
        }
    }

    /// Looks for processes that have left its control group: see [`ProcessTree::search`].
    pub(crate) fn search(&mut self) {
        match &mut self.running {
            Running::Here(processes) => processes.tree.search(),
            Running::There(processes) => processes.search(),
        }
    }

    /// The source of its CPU time.
    pub(crate) fn source(&self) -> CpuSource {
        match &self.running {
            Running::Here(processes) => processes.tree.source(),
            Running::There(processes) => processes.source(),
        }
    }

    /// Its open sockets: see [`ProcessTree::sockets`].
    pub(crate) fn sockets(&self) -> u64 {
        match &self.running {
            Running::Here(processes) => processes.tree.sockets(),
            Running::There(processes) => processes.sockets(),
        }
    }

    /// Whether any of its threads is running or runnable.
    pub(crate) fn is_runnable(&self) -> bool {
        match &self.running {
            Running::Here(processes) => processes.tree.is_runnable(),
            Running::There(processes) => processes.is_runnable(),
        }
    }

    /// Its memory limit, and the kernel's counts of memory shortage so far; `None` if its node is lost.
    pub(crate) fn memory(&self) -> Option<MemoryAccount> {
        match &self.running {
            Running::Here(processes) => Some(processes.tree.memory()),
            Running::There(processes) => processes.memory(),
        }
    }

    /// Its proportional set size, if the kernel reports it: see [`ProcessTree::pss_bytes`].
    pub(crate) fn pss_bytes(&self) -> Option<u64> {
        match &self.running {
            Running::Here(processes) => processes.tree.pss_bytes(),
            Running::There(processes) => processes.pss_bytes(),
        }
    }

    /// The counters of every core of its machine now.
    pub(crate) fn cores(&self) -> CoreTicks {
        match &self.running {
            Running::Here(_) => CoreTicks::now(),
            Running::There(processes) => processes.cores(),
        }
    }

    /// The network counters of its machine, if that is another one.
    pub(crate) fn network(&self, speeds: bool) -> Option<NetworkCounters> {
        match &self.running {
            Running::Here(_) => None,
            Running::There(processes) => processes.network(speeds),
        }
    }

    /// Leaves the processes on another machine to the code there; those on this machine are stopped.
    pub(crate) fn forget(self) {
        match self.running {
            Running::Here(processes) => _ = processes.stop(),
            Running::There(processes) => processes.forget(),
        }
    }

    /// Stops it and waits until nothing is left.
    ///
    /// # Errors
    /// When a process does not end even by SIGKILL.
    pub fn stop(self) -> io::Result<CommandResult> {
        match self.running {
            Running::Here(processes) => processes.stop(),
            Running::There(processes) => processes.stop(),
        }
    }
}
