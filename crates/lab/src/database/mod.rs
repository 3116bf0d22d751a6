//! Databases of launches: each started from a template, with a separate port and folder, and fresh rows.
//!
//! It runs as an unprivileged user and does not touch any other database of the machine. The template is an
//! initialised, empty data folder, kept with the builds and copied for each launch. Its counters and rows are read by
//! the commands of its manifest, before and after a run and never during one.

mod commands;
mod folder;
mod items;
mod rows;
mod running;

pub(crate) use rows::returned;
pub use running::RunningDatabase;

use crate::launch::{LaunchError, RunningServer, Starter};
use crate::provision::{TEMPLATE_PREFIX, unfinished_templates};
use crate::{Provisioner, Scratch, ServerState};
use commands::{Commands, of_file, run_as};
use paceline_catalogue::{
    DATABASE_NAME, DATABASE_PASSWORD, DATABASE_USER, Database, Manifest, Variables, hex,
};
use paceline_host::{Id, port};
use paceline_record::{DatabaseReceipt, Stage};
use running::LocalDatabase;
use sha2::{Digest as _, Sha256};
use std::fs::{self, DirBuilder};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::Arc;

/// Another process may take the port between the lab's check and the database's bind.
const PORT_TRIES: u32 = 3;
/// The address of a database on the same machine as its servers.
const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

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
        let running = RunningDatabase::here(receipt, address, local);
        match running.reset() {
            Ok(()) => Ok((launch, running)),
            Err(error) => {
                // The first error is the one to report.
                let _ = launch.stop();
                Err(error)
            }
        }
    }

    /// Its version and settings.
    ///
    /// # Errors
    /// [`LaunchError`] if it is not set up, or cannot be built.
    pub(crate) fn receipt(&self, database: &Arc<Database>) -> Result<DatabaseReceipt, LaunchError> {
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
