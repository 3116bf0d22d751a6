//! Databases of launches: each started from a template, with a separate port and folder, and fresh rows.
//!
//! It runs as an unprivileged user and does not touch any other database of the machine. The template is an
//! initialised, empty data folder, kept with the builds and copied for each launch. Its counters and rows are read by
//! the commands of its manifest, before and after a run and never during one.

mod folder;
mod items;
mod rows;

pub(crate) use rows::returned;

use crate::launch::{LaunchError, LaunchSpec, ReadyCondition, RunningServer, Starter};
use crate::node::RemoteDatabase;
use crate::provision::{CommandStep, CommandWords, TEMPLATE_PREFIX, run_command, unfinished_templates};
use crate::{LabError, Provisioner, Scratch, ServerState};
use paceline_catalogue::{
    CoresWanted, DATABASE_NAME, DATABASE_PASSWORD, DATABASE_USER, Database, DatabaseAccess, Form, Manifest,
    StopSignal, Variables, hex,
};
use paceline_host::{Id, port};
use paceline_record::{DatabaseCounts, DatabaseReceipt, Stage};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a command of a database may take; the slowest known one makes a data folder in 5 s.
const COMMAND_LIMIT: Duration = Duration::from_secs(120);
/// The user and group of a database that root starts: `nobody` of Debian's base-passwd, the kernel's overflow id.
const NOBODY: u32 = 65_534;
/// Another process may take the port between the lab's check and the database's bind.
const PORT_TRIES: u32 = 3;
/// The address of a database on the same machine as its servers.
const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// The only form of a database.
const FORM: &str = "single";
/// The rows of `fortune`, as in TechEmpower's tests.
const FORTUNES: &str = include_str!("../../../../databases/fortune.tsv");

/// Starts databases.
pub struct Databases<'a> {
    /// Sets up databases and keeps their templates.
    pub provisioner: &'a Provisioner,
    /// Starts their processes.
    pub starter: &'a Starter,
}

/// Where a database listens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DatabaseListener {
    /// An address of this machine.
    pub address: IpAddr,
    /// The port that clients expect; `None` for any free one.
    pub port: Option<u16>,
}

impl DatabaseListener {
    /// Any port of this machine alone.
    const LOCAL: Self = Self { address: LOCALHOST, port: None };
}

/// The port that a database must listen on for `server`, if that is fixed.
///
/// # Errors
/// [`LaunchError`] if the database's manifest does not name the port that clients expect.
pub(crate) fn fixed_port(database: &Database, server: &Manifest) -> Result<Option<u16>, LaunchError> {
    match (server.fixed.fixes_database(), database.port) {
        (false, _) => Ok(None),
        (true, Some(port)) => Ok(Some(port)),
        (true, None) => {
            let message = format!(
                "server {} expects the database {} on its usual port: add `port` to its {}",
                server.id,
                database.id,
                paceline_catalogue::DATABASE_FILE
            );
            Err(LaunchError::fault(Stage::Setup, message, false))
        }
    }
}

/// A database that runs.
pub struct RunningDatabase {
    /// Its receipt.
    pub receipt: DatabaseReceipt,
    /// Its address for servers.
    address: SocketAddr,
    place: DatabasePlace,
}

/// The machine a database runs on.
enum DatabasePlace {
    /// This one.
    Here(Box<LocalDatabase>),
    /// Another one.
    There(RemoteDatabase),
}

/// A database on this machine.
struct LocalDatabase {
    commands: Commands,
    seed: u64,
    /// The prefix of its launches' names.
    id: String,
    /// The variables of its start command.
    variables: Variables,
    /// Locked until it has ended; then its folder is removed.
    scratch: Scratch,
}

/// What a database's commands need to run.
#[derive(Clone)]
struct Commands {
    database: Arc<Database>,
    environment: BTreeMap<String, String>,
    /// Its folder, where commands run.
    home: PathBuf,
    /// The folder for the output of commands.
    logs: PathBuf,
    starter: Starter,
}

impl Databases<'_> {
    /// Starts a database with the rows that `seed` draws, for launches of `server`.
    ///
    /// # Errors
    /// [`LaunchError`], with nothing left running.
    pub fn start(
        &self,
        database: &Arc<Database>,
        server: &Manifest,
        id: &str,
        cores: &[u32],
        seed: u64,
    ) -> Result<(RunningServer, RunningDatabase), LaunchError> {
        let listen = DatabaseListener { address: LOCALHOST, port: fixed_port(database, server)? };
        self.start_on(listen, database, id, cores, seed)
    }

    /// As [`Databases::start`], listening on an address of this machine.
    pub(crate) fn start_on(
        &self,
        listen: DatabaseListener,
        database: &Arc<Database>,
        id: &str,
        cores: &[u32],
        seed: u64,
    ) -> Result<(RunningServer, RunningDatabase), LaunchError> {
        let receipt = self.receipt(database)?;
        let template = self.template(database, &receipt, id)?;
        let (scratch, commands) = self.place(database, id)?;
        commands.copy(&template, &commands.home)?;
        let (launch, commands, variables) = self.launch(commands, id, cores, listen)?;
        let address = SocketAddr::new(listen.address, launch.address.port());
        let local = LocalDatabase { commands, seed, id: id.to_owned(), variables, scratch };
        let running = RunningDatabase { receipt, address, place: DatabasePlace::Here(Box::new(local)) };
        match running.reset() {
            Ok(()) => Ok((launch, running)),
            Err(error) => {
                // The first error is the one to report.
                let _ = launch.stop();
                Err(error)
            }
        }
    }

    /// Its version and settings; an error if it is not set up.
    fn receipt(&self, database: &Arc<Database>) -> Result<DatabaseReceipt, LaunchError> {
        let manifest = database.as_server();
        if let ServerState::Lacking(_) | ServerState::NotSetUp = self.provisioner.state(&manifest)? {
            let message = format!("{} is not set up; run: paceline lab setup {}", database.name, database.id);
            return Err(LaunchError::fault(Stage::Setup, message, false));
        }
        self.provisioner.build(&manifest, false)?;
        self.provisioner.keep_build(&manifest);
        Ok(DatabaseReceipt {
            id: database.id.clone(),
            name: database.name.clone(),
            versions: self.provisioner.versions(&manifest)?,
            settings: database.setting_words(),
        })
    }

    /// An initialised data folder without rows; made if there is none of this version.
    fn template(
        &self,
        database: &Arc<Database>,
        receipt: &DatabaseReceipt,
        id: &str,
    ) -> Result<PathBuf, LaunchError> {
        let made_from =
            format!("{:?} {} {:?} {}", database.commands, receipt.versions, run_as(), items::VERSION);
        let name = format!("{TEMPLATE_PREFIX}{}", hex(&Sha256::digest(made_from)[..8]));
        let manifest = database.as_server();
        let build = self.provisioner.build_dir(&manifest);
        let folder = build.join(name);
        if folder.is_dir() {
            return Ok(folder);
        }
        let _lock = self.provisioner.lock(&manifest)?;
        // Another round may have made it meanwhile.
        if folder.is_dir() {
            return Ok(folder);
        }
        for left in unfinished_templates(&build) {
            // One that cannot be removed is only in the way of `lab clean`, which reports it.
            let _ = fs::remove_dir_all(left);
        }
        let (scratch, commands) = self.place(database, &format!("{id}-template"))?;
        if let Some(init) = &database.commands.init {
            commands.run("init", init)?;
        }
        if database.commands.schema.is_some() || database.commands.items.is_some() {
            let (launch, running, _) =
                self.launch(commands.clone(), &format!("{id}-template"), &[], DatabaseListener::LOCAL)?;
            let made = running.make_tables();
            let _ = launch.stop();
            made?;
        }
        // Completed under another name first: a killed round leaves none that looks finished.
        let unfinished = folder.with_extension(id);
        let kept = commands.copy(&commands.home, &unfinished).and_then(|()| {
            match fs::rename(&unfinished, &folder) {
                Err(error) if !folder.is_dir() => {
                    Err(of_file("store the prepared database files in", &folder, error))
                }
                _ => Ok(()),
            }
        });
        // What was not renamed would never be used.
        let _ = fs::remove_dir_all(&unfinished);
        drop(scratch);
        kept.map(|()| folder)
    }

    /// A new folder for a database, which no other user can write or read.
    fn place(&self, database: &Arc<Database>, id: &str) -> Result<(Scratch, Commands), LaunchError> {
        let root = folder::root().map_err(|error| of_file("use", &std::env::temp_dir(), error))?;
        let id = Id::parse(id).map_err(|error| LaunchError::fault(Stage::Start, error.to_string(), false))?;
        let scratch =
            Scratch::begin(&root, &id).map_err(|error| of_file("make a folder in", &root, error))?;
        let logs = scratch.folder().to_owned();
        let home = logs.join("home");
        let made = DirBuilder::new().mode(0o700).create(&home).and_then(|()| match run_as() {
            Some(user) => std::os::unix::fs::chown(&home, Some(user), Some(user)),
            None => Ok(()),
        });
        made.map_err(|error| of_file("make", &home, error))?;
        let build = self.provisioner.build_dir(&database.as_server());
        let environment = [
            ("DATABASE_FOLDER", home.to_string_lossy().into_owned()),
            ("DATABASE_NAME", DATABASE_NAME.to_owned()),
            ("DATABASE_USER", DATABASE_USER.to_owned()),
            ("DATABASE_PASSWORD", DATABASE_PASSWORD.to_owned()),
            ("DATABASE_SETTINGS", database.setting_words()),
            ("PACELINE_BUILD", build.to_string_lossy().into_owned()),
            ("HOME", home.to_string_lossy().into_owned()),
            ("PATH", folder::search_path(database)),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value)).into();
        let commands = Commands {
            database: Arc::clone(database),
            environment,
            home,
            logs,
            starter: self.starter.clone(),
        };
        Ok((scratch, commands))
    }

    fn launch(
        &self,
        mut commands: Commands,
        id: &str,
        cores: &[u32],
        listen: DatabaseListener,
    ) -> Result<(RunningServer, Commands, Variables), LaunchError> {
        let mut tries = 1;
        commands.environment.insert("DATABASE_LISTEN".to_owned(), listen.address.to_string());
        loop {
            let port = match listen.port {
                Some(port) => port::check_free(listen.address, port).map(|()| port),
                None => port::free_port(listen.address),
            };
            let port = port.map_err(|error| LaunchError::fault(Stage::Start, error.to_string(), true))?;
            commands.environment.insert("DATABASE_PORT".to_owned(), port.to_string());
            let variables =
                self.provisioner.variables(&commands.as_server(), port, cores.len().max(1) as u32);
            match commands.start(&format!("{id}-database"), cores, variables.clone()) {
                Ok(launch) => return Ok((launch, commands, variables)),
                // If the port is taken after our database has ended, another process took it.
                Err(LaunchError::Fault { .. })
                    if listen.port.is_none()
                        && tries < PORT_TRIES
                        && port::check_free(listen.address, port).is_err() =>
                {
                    tries += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl RunningDatabase {
    /// A database on another machine.
    pub(crate) fn there(receipt: DatabaseReceipt, address: SocketAddr, database: RemoteDatabase) -> Self {
        Self { receipt, address, place: DatabasePlace::There(database) }
    }

    /// The variables for a server that uses it.
    pub fn access(&self, pool: u32) -> DatabaseAccess {
        let (host, port) = (self.address.ip().to_string(), self.address.port());
        DatabaseAccess { database: self.receipt.id.clone(), host, port, pool }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts it again after `ended`, on the same machine and port and with the data that it left.
    ///
    /// # Errors
    /// [`LaunchError`], with nothing left running.
    pub(crate) fn start_again(
        &self,
        cores: &[u32],
        ended: RunningServer,
    ) -> Result<RunningServer, LaunchError> {
        match &self.place {
            DatabasePlace::Here(local) => {
                // Processes that outlived its first one would block the next start.
                let _ = ended.stop();
                let id = format!("{}-database-again", local.id);
                local.commands.start(&id, cores, local.variables.clone())
            }
            DatabasePlace::There(database) => {
                ended.forget();
                let launched = database.start_again(cores)?;
                Ok(RunningServer::there(database.processes(&launched), launched.address, launched.startup))
            }
        }
    }

    /// Replaces all rows by those of the launch's start.
    ///
    /// # Errors
    /// [`LaunchError`] when the command fails.
    pub fn reset(&self) -> Result<(), LaunchError> {
        match &self.place {
            DatabasePlace::Here(local) => local.commands.reset(local.seed),
            DatabasePlace::There(database) => database.reset(),
        }
    }

    /// Its counters.
    ///
    /// # Errors
    /// [`LaunchError`] when its command fails or prints something else.
    pub fn counts(&self) -> Result<DatabaseCounts, LaunchError> {
        match &self.place {
            DatabasePlace::Here(local) => local.commands.counts(),
            DatabasePlace::There(database) => database.counts(),
        }
    }

    /// The rows of `world`, by id.
    ///
    /// # Errors
    /// [`LaunchError`] as [`RunningDatabase::counts`].
    pub fn world(&self) -> Result<BTreeMap<u32, u32>, LaunchError> {
        match &self.place {
            DatabasePlace::Here(local) => local.commands.world(),
            DatabasePlace::There(database) => database.world(),
        }
    }

    /// Its data folder, on this machine.
    pub fn folder(&self) -> Option<&Path> {
        match &self.place {
            DatabasePlace::Here(local) => Some(local.scratch.folder()),
            DatabasePlace::There(_) => None,
        }
    }
}

impl Commands {
    /// Makes the tables, and the rows that are the same in every launch.
    fn make_tables(&self) -> Result<(), LaunchError> {
        if let Some(schema) = &self.database.commands.schema {
            self.run("schema", schema)?;
        }
        if let Some(items) = &self.database.commands.items {
            let path = self.home.join(items::FILE);
            folder::write(&path, &items::rows()).map_err(|error| of_file("write", &path, error))?;
            self.run("items", items)?;
        }
        Ok(())
    }

    fn reset(&self, seed: u64) -> Result<(), LaunchError> {
        for (name, rows) in [("world.tsv", rows::world(seed)), ("fortune.tsv", FORTUNES.to_owned())] {
            let path = self.home.join(name);
            folder::write(&path, &rows).map_err(|error| of_file("write", &path, error))?;
        }
        self.run("load", &self.database.commands.load).map(drop)
    }

    fn counts(&self) -> Result<DatabaseCounts, LaunchError> {
        let printed = self.run("statistics", &self.database.commands.statistics)?;
        rows::counts(&printed)
            .map_err(|problem| self.fault(&format!("invalid output of its `statistics` command: {problem}")))
    }

    fn world(&self) -> Result<BTreeMap<u32, u32>, LaunchError> {
        let printed = self.run("world", &self.database.commands.world)?;
        rows::numbers(&printed)
            .map_err(|problem| self.fault(&format!("invalid output of its `world` command: {problem}")))
    }

    /// Starts the database and waits until it is ready.
    fn start(&self, id: &str, cores: &[u32], variables: Variables) -> Result<RunningServer, LaunchError> {
        let is_ready = || self.run("ready", &self.database.commands.ready).is_ok();
        // The database drops root's privileges, independently of the user that servers run as.
        let starter = Starter { user: None, ..self.starter.clone() };
        let started = starter.launch(&LaunchSpec {
            id,
            server: &self.as_server(),
            form: FORM,
            variables,
            image: None,
            cores,
            ready: ReadyCondition::Succeeds(&is_ready),
        });
        started.map_err(|error| about(&self.database, error))
    }

    /// Runs one of its commands and returns the output.
    fn run(&self, name: &'static str, line: &str) -> Result<String, LaunchError> {
        let words = unprivileged(&["sh", "-c", line]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let printed = self.logs.join(format!("{name}.out"));
        let step = CommandStep {
            user: None,
            server: &self.database.id,
            name,
            command: CommandWords::Program(&words),
            folder: &self.home,
            environment: self.environment.clone(),
            pass_env: &[],
            log: self.logs.join(format!("{name}.log")),
            printed: Some(printed.clone()),
            limit: COMMAND_LIMIT,
            removed_at_end: None,
        };
        match run_command(&step, &self.starter.shepherd, self.starter.interrupt) {
            Ok(_) => {}
            Err(LabError::Command(failure)) => {
                let tail = failure.tail.trim().to_owned();
                let reported = tail.lines().last().map(|line| format!(": {line}")).unwrap_or_default();
                return Err(match self.fault(&format!("{name} {}{reported}", failure.how)) {
                    LaunchError::Fault { fault, .. } => LaunchError::Fault { fault, log_tail: tail },
                    LaunchError::Interrupted => LaunchError::Interrupted,
                });
            }
            Err(error) => return Err(error.into()),
        }
        paceline_files::read_text(&printed, paceline_files::MAX_OUTPUT_BYTES)
            .map_err(|error| of_file("read", &printed, error))
    }

    fn fault(&self, what: &str) -> LaunchError {
        LaunchError::fault(Stage::Start, format!("the database {}: {what}", self.database.id), false)
    }

    /// The database as a manifest to launch, in its own folder.
    fn as_server(&self) -> Manifest {
        let start = match self.database.stop_signal {
            StopSignal::Term => self.database.commands.start.clone(),
            StopSignal::Int => format!(
                "({}) & pid=$!\ntrap 'kill -INT $pid' TERM\nwait $pid\nwait $pid",
                self.database.commands.start.trim()
            ),
        };
        // A dollar sign in a value would be read as a variable.
        let env = self.environment.iter().map(|(name, value)| (name.clone(), value.replace('$', "$$")));
        let mut env: BTreeMap<String, String> = env.collect();
        env.insert("DATABASE_START".to_owned(), start.replace('$', "$$"));
        let words = unprivileged(&["sh", "-c"]).join(" ");
        let form =
            Form { command: format!("exec {words} \"$DATABASE_START\""), env, cores: CoresWanted::One };
        let mut server = self.database.as_server();
        server.folder.clone_from(&self.home);
        server.forms = BTreeMap::from([(FORM.to_owned(), form)]);
        server
    }

    /// Copies the contents of one folder to another, with owners and modes; blocks are shared if the file system
    /// supports it.
    fn copy(&self, from: &Path, to: &Path) -> Result<(), LaunchError> {
        let words = ["cp", "-a", "--reflink=auto", "-T"].map(str::to_owned);
        let paths = [from, to].map(|path| path.to_string_lossy().into_owned());
        let words: Vec<&str> = words.iter().chain(&paths).map(String::as_str).collect();
        let step = CommandStep {
            user: None,
            server: &self.database.id,
            name: "copy",
            command: CommandWords::Program(&words),
            folder: Path::new("/"),
            environment: BTreeMap::new(),
            pass_env: &[],
            log: self.logs.join("copy.log"),
            printed: None,
            limit: COMMAND_LIMIT,
            removed_at_end: None,
        };
        let copied = run_command(&step, &self.starter.shepherd, self.starter.interrupt);
        copied.map(drop).map_err(|error| not_copied(to, error))
    }
}

/// Why files were not copied to a folder. An interrupt is no fault of the database.
fn not_copied(to: &Path, error: LabError) -> LaunchError {
    let why = match error {
        LabError::Interrupted => return LaunchError::Interrupted,
        LabError::Command(failure) => failure.tail.trim().to_owned(),
        error => error.to_string(),
    };
    of_file("copy the prepared database files to", to, io::Error::other(why))
}

/// The user id that a database runs as, if that is not the lab's own user.
fn run_as() -> Option<u32> {
    rustix::process::geteuid().is_root().then_some(NOBODY)
}

/// A command that runs without privileges. `setpriv` belongs to util-linux, which every Debian has.
fn unprivileged(words: &[&str]) -> Vec<String> {
    let drop: Vec<String> = match run_as() {
        Some(user) => vec![
            "setpriv".into(),
            format!("--reuid={user}"),
            format!("--regid={user}"),
            "--clear-groups".into(),
        ],
        None => Vec::new(),
    };
    drop.into_iter().chain(words.iter().map(|word| (*word).to_owned())).collect()
}

/// Adds to a fault that it happened to a database.
fn about(database: &Database, error: LaunchError) -> LaunchError {
    match error {
        LaunchError::Fault { mut fault, log_tail } => {
            fault.message = format!("the database {}: {}", database.id, fault.message);
            LaunchError::Fault { fault, log_tail }
        }
        LaunchError::Interrupted => LaunchError::Interrupted,
    }
}

fn of_file(action: &str, path: &Path, error: io::Error) -> LaunchError {
    LaunchError::fault(Stage::Start, format!("cannot {action} {}: {error}", path.display()), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_copy_is_no_fault() {
        let not_copied = |error| not_copied(Path::new("/data"), error);
        assert_eq!(not_copied(LabError::Interrupted), LaunchError::Interrupted);
        let denied = LabError::Spawn { command: "cp".to_owned(), source: io::ErrorKind::NotFound.into() };
        assert!(matches!(not_copied(denied), LaunchError::Fault { .. }));
    }
}
