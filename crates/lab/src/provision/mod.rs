//! Provisions servers: sets up and builds them from their source folders, ready to launch, and keeps the results.
//!
//! All files are in `<state dir>/build/<server id>/`, which the server's commands know as `PACELINE_BUILD`; the
//! provisioner's own stamps, logs and lock are in `.paceline/` within it, so that removing the folder resets
//! everything. A stamp is written only after success and identifies the inputs. See `launch.rs` for launches.

mod build;
mod certificate;
mod clean;
mod command;
mod container;
mod digest;
mod fingerprint;
mod lock;
mod owner;
mod packages;
mod rollback;
mod services;
mod setup;
mod stamp;
mod static_files;
mod tool_versions;

pub use clean::LeftOver;
pub(crate) use clean::unfinished_templates;
pub(crate) use command::{CommandStep, CommandWords, run as run_command};
pub use container::{ContainerEngine, ImageLaunch};
pub use fingerprint::SourceFiles;
pub(crate) use packages::framework_package;
pub use setup::{ServerSetup, SetupPlan};
pub use stamp::METADATA_DIR;
pub(crate) use static_files::write_readable;
pub(crate) use tool_versions::{find, identity, program};

use crate::LabError;
use paceline_catalogue::{Folders, Manifest, Variables};
use paceline_host::{FileLock, Interrupt, User};
use rollback::Rollback;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tool_versions::ToolVersions;

/// How long a set-up or a build may take: twenty minutes, four times the slowest of `servers/` on two cores.
const MAKE_LIMIT: Duration = Duration::from_secs(20 * 60);

/// How long a version command may take; that of a virtual machine takes a second.
const VERSION_LIMIT: Duration = Duration::from_secs(60);

/// Variables for tools. The first makes pip install only into a private environment: the system's Python must not be
/// changed. The second keeps pip from checking for a newer version of itself.
const GUARDS: [(&str, &str); 2] = [("PIP_REQUIRE_VIRTUALENV", "1"), ("PIP_DISABLE_PIP_VERSION_CHECK", "1")];

fn own<const N: usize>(pairs: [(&str, &str); N]) -> impl Iterator<Item = (String, String)> {
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter()
}

/// What the names of databases' build folders begin with. Their commands never run as root.
const DATABASE_PREFIX: &str = "database-";

/// What the names of a database's templates begin with, in its build folder. An unfinished one has an extension.
pub(crate) const TEMPLATE_PREFIX: &str = "template-";

/// The stamp of the first launch that answered; a new set-up or build removes it.
const LAUNCHED: &str = "launched";

/// The lock of a build that a process may be running. An image has another one.
const LAUNCH: &str = "launch";

/// The progress of a server towards a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// Programs or files that its manifest needs are missing.
    Lacking(Vec<String>),
    /// Its private environment was never fetched.
    NotSetUp,
    /// It comes as a container whose content the user has not accepted.
    Untrusted,
    /// It was never built.
    NotBuilt,
    /// An input has changed since it was built.
    Stale,
    /// It can be launched.
    Ready,
}

impl std::fmt::Display for ServerState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ServerState::Lacking(missing) => write!(f, "not set up; missing: {}", missing.join(", ")),
            ServerState::NotSetUp => f.write_str("not set up"),
            ServerState::Untrusted => f.write_str("not trusted"),
            ServerState::NotBuilt => f.write_str("not built"),
            ServerState::Stale => f.write_str("stale"),
            ServerState::Ready => f.write_str("ready"),
        }
    }
}

/// The result of a step that is skipped if it is up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// Up to date, or there is no such step.
    Already,
    /// Done now, in this time.
    Now(Duration),
}

/// Sets up and builds servers.
pub struct Provisioner {
    state_dir: PathBuf,
    workloads_dir: PathBuf,
    shepherd: Vec<String>,
    interrupt: Interrupt,
    user: Option<User>,
    tools: ToolVersions,
    listen: IpAddr,
    notice: Box<dyn Fn(&str) + Send + Sync>,
    noticed: Mutex<BTreeSet<String>>,
    /// The engine for containers, if the user named one.
    engine: Option<ContainerEngine>,
    /// The folders whose containers the user accepts from now on.
    trusted: Vec<PathBuf>,
    /// Locks on the builds and images that this process may be running, by server.
    in_use: Mutex<BTreeMap<String, FileLock>>,
    /// Held while a set-up or build runs. Compilers use all cores: several at once would each take longer, up to their
    /// limit.
    making: Mutex<()>,
}

impl Provisioner {
    /// A provisioner that keeps its files in the state folder of `folders`. `shepherd` is the command that starts a
    /// shepherd (`paceline shepherd`), under which every command runs. On `interrupt` the running command is ended with
    /// all its processes and the call returns [`LabError::Interrupted`].
    pub fn new(folders: &Folders, shepherd: Vec<String>, interrupt: Interrupt) -> Self {
        Self {
            state_dir: folders.state_dir.clone(),
            workloads_dir: folders.workloads_dir.clone(),
            shepherd,
            interrupt,
            user: None,
            tools: ToolVersions::default(),
            listen: IpAddr::from([127, 0, 0, 1]),
            notice: Box::new(|_| {}),
            noticed: Mutex::default(),
            engine: None,
            trusted: Vec::new(),
            in_use: Mutex::default(),
            making: Mutex::default(),
        }
    }

    /// Calls `notice` with the reason of a wait, if that is not the step itself.
    #[must_use]
    pub fn with_notice(mut self, notice: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.notice = Box::new(notice);
        self
    }

    /// Calls the notice with a text, unless it was called with the same text before.
    pub(crate) fn notify_once(&self, text: String) {
        let mut noticed = self.noticed.lock().unwrap_or_else(PoisonError::into_inner);
        if !noticed.contains(&text) {
            (self.notice)(&text);
            noticed.insert(text);
        }
    }

    /// Makes servers listen on this address of the machine instead of 127.0.0.1, so that other machines can generate
    /// the load.
    #[must_use]
    pub fn listening_on(self, listen: IpAddr) -> Self {
        Self { listen, ..self }
    }

    /// The address that servers listen on.
    pub(crate) fn listen(&self) -> IpAddr {
        self.listen
    }

    /// Builds containers with this engine; without one, with the first that is installed.
    #[must_use]
    pub fn with_engine(self, engine: Option<ContainerEngine>) -> Self {
        Self { engine, ..self }
    }

    /// Accepts the containers that come from these folders, as they are now.
    #[must_use]
    pub fn trusting(self, trusted: Vec<PathBuf>) -> Self {
        Self { trusted, ..self }
    }

    /// Runs the commands of servers as `user`: with a home below the state folder, and with build folders that this
    /// user owns, except for the provisioner's files in them.
    #[must_use]
    pub fn with_user(self, user: Option<User>) -> Self {
        Self { tools: ToolVersions::for_user(user.clone()), user, ..self }
    }

    /// Makes the home of the user of servers.
    ///
    /// # Errors
    /// [`LabError::User`] if the user cannot enter the state folder, or the home cannot be made.
    pub fn prepare_user(&self) -> Result<(), LabError> {
        let Some(user) = &self.user else { return Ok(()) };
        user.prepare_home()?;
        Ok(user.check_reach(&self.state_dir)?)
    }

    /// `PACELINE_BUILD` of a server. It need not exist yet.
    pub fn build_dir(&self, server: &Manifest) -> PathBuf {
        self.state_dir.join("build").join(server.build_id())
    }

    /// The variables for a launch of `server` on `port` with `cores` cores.
    pub fn variables(&self, server: &Manifest, port: u16, cores: u32) -> Variables {
        Variables { port: Some(port), cores, ..self.making(server) }
    }

    /// The variables for a set-up, build or version command: no port, and all cores.
    fn making(&self, server: &Manifest) -> Variables {
        Variables {
            port: None,
            host: self.listen.to_string(),
            build: self.build_dir(server),
            cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
            workloads: self.workloads_dir.clone(),
            static_files: self.static_dir(),
            database: None,
        }
    }

    /// The state of `server`.
    ///
    /// # Errors
    /// [`LabError::File`] when its folder cannot be read.
    pub fn state(&self, server: &Manifest) -> Result<ServerState, LabError> {
        let missing = self.tools.missing(&server.needs);
        if !missing.is_empty() {
            return Ok(ServerState::Lacking(missing));
        }
        if let Some(container) = &server.container {
            return self.container_state(server, container);
        }
        let wanted = self.fingerprints(server)?;
        let (set_up, built) = (self.stamp(server, "setup"), self.stamp(server, "build"));
        Ok(match (&server.setup, &server.build) {
            (Some(_), _) if set_up.is_none() => ServerState::NotSetUp,
            (_, Some(_)) if built.is_none() => ServerState::NotBuilt,
            (Some(_), _) if set_up != Some(wanted.setup) => ServerState::Stale,
            (_, Some(_)) if built != Some(wanted.build) => ServerState::Stale,
            _ => ServerState::Ready,
        })
    }

    /// Asks for the versions of all tools that `servers` need side by side, for at most `limit` in all. The state of a
    /// server whose tools do not answer in this time is an error.
    pub fn ask_tools(&self, servers: &[Arc<Manifest>], limit: Duration) {
        let needs = servers.iter().flat_map(|server| &server.needs).map(String::as_str).collect();
        self.tools.ask_all(&needs, limit);
    }

    /// Records that a launch of `server` has answered, and returns whether it was the first since its last set-up or
    /// build: a first start writes caches, and its files may not be in the page cache. `None` if that cannot be
    /// recorded.
    pub fn note_launch(&self, server: &Manifest) -> Option<bool> {
        let wanted = self.fingerprints(server).ok()?.build;
        if self.stamp(server, LAUNCHED).as_deref() == Some(wanted.as_str()) {
            return Some(false);
        }
        // A server without set-up and build has no folder yet.
        std::fs::create_dir_all(self.keep_dir(server)).ok()?;
        stamp::write(&self.keep_dir(server), LAUNCHED, &wanted).ok()?;
        Some(true)
    }

    /// The output of the version command, which identifies what is measured. Its standard error is ignored. Several
    /// processes may call this at once: they take turns, also with one that builds.
    ///
    /// # Errors
    /// [`LabError::NoVersion`] when it prints nothing, [`LabError::Command`] when it fails, [`LabError::Interrupted`].
    pub fn versions(&self, server: &Manifest) -> Result<String, LabError> {
        if server.container.is_some() {
            return self.container_version(server);
        }
        // Another process would empty the file before it is read here.
        let _lock = self.lock(server)?;
        let file = self.keep_dir(server).join("version.txt");
        let step = self.step(server, "version", &server.version, VERSION_LIMIT)?;
        self.run(&CommandStep { printed: Some(file.clone()), ..step }, server)?;
        let printed = command::printed(&file)?.trim().to_owned();
        if printed.is_empty() {
            return Err(LabError::NoVersion { server: server.id.clone(), command: server.version.clone() });
        }
        Ok(printed)
    }

    fn step<'a>(
        &self,
        server: &'a Manifest,
        name: &'static str,
        command: &'a str,
        limit: Duration,
    ) -> Result<CommandStep<'a>, LabError> {
        let keep = self.keep_dir(server);
        self.check_owner(server)?;
        std::fs::create_dir_all(&keep).map_err(|source| LabError::File {
            action: "create",
            path: keep.clone(),
            source,
        })?;
        self.share_build(server)?;
        Ok(CommandStep {
            user: self.user.clone(),
            server: &server.id,
            name,
            command: CommandWords::Shell(command),
            folder: &server.folder,
            environment: self.making(server).texts().into_iter().chain(own(GUARDS)).collect(),
            pass_env: &server.pass_env,
            log: keep.join(format!("{name}.log")),
            printed: None,
            limit,
            removed_at_end: None,
        })
    }

    /// Lets the user of servers write into the build folder.
    fn share_build(&self, server: &Manifest) -> Result<(), LabError> {
        if let Some(user) = &self.user {
            user.share_folder(&self.build_dir(server), METADATA_DIR)?;
            user.check_reach(&server.folder)?;
        }
        Ok(())
    }

    /// Checks that root runs nothing as root that the user of servers can change.
    fn check_owner(&self, server: &Manifest) -> Result<(), LabError> {
        if self.user.is_some() || server.build_id().starts_with(DATABASE_PREFIX) {
            return Ok(());
        }
        owner::check_trusted(&self.build_dir(server))
    }

    /// Runs a step of `server`; a failure names the packages of its manifest that are not installed.
    fn run(&self, step: &CommandStep<'_>, server: &Manifest) -> Result<Duration, LabError> {
        self.run_until(step, server, self.interrupt)
    }

    /// As [`Provisioner::run`], ended early by this interrupt.
    fn run_until(
        &self,
        step: &CommandStep<'_>,
        server: &Manifest,
        interrupt: Interrupt,
    ) -> Result<Duration, LabError> {
        let mut outcome = command::run(step, &self.shepherd, interrupt);
        if let Err(LabError::Command(failure)) = &mut outcome {
            failure.absent_packages = tool_versions::absent_packages(&server.packages);
        }
        outcome
    }

    /// The folder for the provisioner's stamps, logs and lock of a server.
    fn keep_dir(&self, server: &Manifest) -> PathBuf {
        self.build_dir(server).join(METADATA_DIR)
    }

    fn stamp(&self, server: &Manifest, name: &str) -> Option<String> {
        // While a step runs, or after it was killed, the previous version is the one in use.
        stamp::read(&self.keep_dir(server), name).or_else(|| self.former(server).stamp(name))
    }

    fn former(&self, server: &Manifest) -> Rollback {
        Rollback::for_build(&self.build_dir(server))
    }
}
