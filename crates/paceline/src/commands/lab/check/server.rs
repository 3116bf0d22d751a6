//! Checks one server: builds, starts, examines and stops it, then starts it once more to time a later start.
//!
//! Called by `mod.rs` for each server. A failed build, start or answer is a finding and not an error, so that the next
//! server is still checked. The checks are in the lab's `examine`, the table row in `table.rs`.

use super::super::selection::start_case;
use crate::exit::{error_text, say};
use paceline_catalogue::{
    Catalogue, CoresWanted, Database, DatabaseAccess, Manifest, POOL, Variables, Workload, WorkloadCase,
};
use paceline_lab::{
    CheckedServer, Cores, Databases, ExamineOptions, LabError, LaunchError, LaunchSpec, Provisioner,
    ReadyCondition, RunningDatabase, RunningServer, ServerState, SourceFiles, Starter, examine,
    examine_database,
};
use paceline_record::{Check, CheckOutcome, Stage, Startup};
use paceline_run::wall_clock;
use std::sync::{Arc, Mutex, PoisonError};

/// How many lines of a log are shown.
const LOG_LINES: usize = 10;

/// The result for one server.
pub enum ServerCheck {
    /// It was started and checked.
    Examined {
        /// Each check, in order.
        checks: Vec<Check>,
        /// Its handling of an idle connection.
        idle: String,
        /// Its first start.
        startup: Box<Startup>,
        /// Its second start; none if that failed.
        again: Option<Box<Startup>>,
    },
    /// It cannot be started before it is set up: what it lacks, if that is known.
    NotSetUp(String),
    /// It does not run in that form.
    NoForm(String),
    /// Its build or start failed.
    Failed(String),
}

/// The processes of a database, and the means to read it.
type DatabaseProcesses = (RunningServer, RunningDatabase);

/// Checks servers with the same settings.
#[derive(Clone, Copy)]
pub struct Checker<'a> {
    pub catalogue: &'a Catalogue,
    pub provisioner: &'a Provisioner,
    pub starter: &'a Starter,
    pub form: &'a str,
    pub options: ExamineOptions,
    /// Held while a server has fixed ports of this machine.
    pub fixed_ports: &'a Mutex<()>,
    /// Which of the checks at once it does, from 0. They use the cores in turn.
    pub job: usize,
}

impl Checker<'_> {
    /// Checks a server. Only an interruption is an error.
    pub fn check(&self, server: &Manifest) -> Result<ServerCheck, LabError> {
        match self.provisioner.state(server) {
            Ok(ServerState::Lacking(missing)) => {
                return Ok(ServerCheck::NotSetUp(format!("missing: {}", missing.join(", "))));
            }
            Ok(ServerState::Untrusted) => {
                let hint = format!("not trusted: paceline lab build {} shows what it builds", server.id);
                return Ok(ServerCheck::NotSetUp(hint));
            }
            Ok(ServerState::NotSetUp) => {
                return Ok(ServerCheck::NotSetUp(String::new()));
            }
            Err(LabError::Interrupted) => return Err(LabError::Interrupted),
            Err(error) => return Ok(ServerCheck::Failed(error_text(&error))),
            Ok(_) => {}
        }
        if server.form(self.form).is_none() {
            return Ok(ServerCheck::NoForm(server.forms.keys().cloned().collect::<Vec<_>>().join(", ")));
        }
        // A server without a version is not measured.
        match self.provisioner.build(server, false).and_then(|_| self.provisioner.versions(server)) {
            Err(LabError::Interrupted) => return Err(LabError::Interrupted),
            Err(error) => return Ok(ServerCheck::Failed(error_text(&error))),
            Ok(_) => {}
        }
        if let Some(broken) = server.workloads.iter().find_map(|name| self.catalogue.broken_workload(name)) {
            let why = format!("workload `{}` cannot be used: {}", broken.id, broken.error);
            return Ok(ServerCheck::Failed(why));
        }
        match self.examined(server) {
            Ok(found) => Ok(found),
            Err(LaunchError::Interrupted) => Err(LabError::Interrupted),
            Err(LaunchError::Fault { fault, log_tail }) => {
                Ok(ServerCheck::Failed(fault.message + &end_of(&log_tail)))
            }
        }
    }

    fn examined(&self, server: &Manifest) -> Result<ServerCheck, LaunchError> {
        let network = self.provisioner.enter_network(server)?;
        let has_ports_of_machine = server.fixed.needs_network() && !network.is_private();
        let _alone =
            has_ports_of_machine.then(|| self.fixed_ports.lock().unwrap_or_else(PoisonError::into_inner));
        let known = server.workloads.iter().filter_map(|name| self.catalogue.workload_of(server, name));
        let workloads: Vec<Arc<Workload>> = known.filter(|workload| !workload.needs_database()).collect();
        let ready = start_case(server, self.catalogue)
            .map_err(|message| LaunchError::fault(Stage::Start, message, false))?;
        let before = SourceFiles::in_folder(&server.folder);
        let (mut launch, database) = self.launch(server, &ready)?;
        let first_since_build = self.provisioner.note_launch(server);
        let startup = Box::new(Startup { first_since_build, ..launch.startup.clone() });
        let engine = self.starter.engine_probe();
        let certificate = self.provisioner.certificate(server);
        let (address, traits) = (launch.address, &server.traits);
        let static_files = self.provisioner.static_dir();
        let checked =
            CheckedServer { address, traits, certificate: &certificate, static_files: &static_files, engine };
        let found = examine(checked, &workloads, self.options);
        let mut found = found.map_err(|_only_interrupted| LaunchError::Interrupted)?;
        found.checks.push(alive(&mut launch));
        if !launch.startup.private_network {
            found.checks.push(listens_locally(launch.address.port()));
        }
        found.checks.push(stop(server, launch));
        drop(database);
        found.checks.push(writes_elsewhere(&before.changed(&server.folder)));
        for name in &server.databases {
            found.checks.extend(self.with_database(server, name)?);
        }
        let again = match self.launch(server, &ready) {
            Ok((launch, _database)) => {
                let startup = Box::new(launch.startup.clone());
                let _the_same = stop(server, launch);
                Some(startup)
            }
            Err(LaunchError::Interrupted) => return Err(LaunchError::Interrupted),
            Err(LaunchError::Fault { fault, log_tail }) => {
                let detail = fault.message + &end_of(&log_tail);
                found.checks.push(Check {
                    name: "a second start".into(),
                    outcome: CheckOutcome::Fail,
                    detail,
                });
                None
            }
        };
        Ok(ServerCheck::Examined { checks: found.checks, idle: found.idle, startup, again })
    }

    /// Checks the answers with a database; an unavailable database is a warning.
    fn with_database(&self, server: &Manifest, name: &str) -> Result<Vec<Check>, LaunchError> {
        let check = |outcome, detail| Check { name: format!("with {name}"), outcome, detail };
        let database = match self.catalogue.database(name) {
            Ok(database) => database,
            Err(error) => return Ok(vec![check(CheckOutcome::Fail, error_text(&error))]),
        };
        match self.examined_with(server, &database) {
            Ok(checks) => {
                let named = |one: Check| Check { name: format!("{name}: {}", one.name), ..one };
                Ok(checks.into_iter().map(named).collect())
            }
            Err(LaunchError::Interrupted) => Err(LaunchError::Interrupted),
            Err(LaunchError::Fault { fault, log_tail }) => {
                let outcome =
                    if fault.stage == Stage::Setup { CheckOutcome::Warn } else { CheckOutcome::Fail };
                Ok(vec![check(outcome, fault.message + &end_of(&log_tail))])
            }
        }
    }

    fn examined_with(&self, server: &Manifest, database: &Arc<Database>) -> Result<Vec<Check>, LaunchError> {
        let known = server.workloads.iter().filter_map(|name| self.catalogue.workload_of(server, name));
        let workloads: Vec<Arc<Workload>> = known.filter(|one| one.is_for_database(&database.id)).collect();
        let Some(ready) = workloads.iter().flat_map(|workload| &workload.cases).next() else {
            return Ok(Vec::new());
        };
        let (process, running) = self.start_database(server, database)?;
        let launched = self.launch_with(server, ready, Some(running.access(POOL)));
        let checks = launched.and_then(|launch| {
            let engine = self.starter.engine_probe();
            let rules = self.options.rules;
            let checks = examine_database(launch.address, &workloads, &running, engine, rules);
            let stopped = stop(server, launch);
            checks.map(|mut checks| {
                checks.push(stopped);
                checks
            })
        });
        // A failure to stop it does not invalidate the checks.
        let _ = process.stop();
        checks
    }

    /// Starts a server, with the database that it needs at its start; that ends when it is dropped.
    fn launch(
        &self,
        server: &Manifest,
        ready: &WorkloadCase,
    ) -> Result<(RunningServer, Option<DatabaseProcesses>), LaunchError> {
        let Some(id) = server.database_at_start() else {
            return Ok((self.launch_with(server, ready, None)?, None));
        };
        let known = self.catalogue.database(id);
        let database = known.map_err(|error| LaunchError::fault(Stage::Setup, error_text(&error), false))?;
        let database = self.start_database(server, &database)?;
        let launch = self.launch_with(server, ready, Some(database.1.access(POOL)))?;
        Ok((launch, Some(database)))
    }

    fn start_database(
        &self,
        server: &Manifest,
        database: &Arc<Database>,
    ) -> Result<DatabaseProcesses, LaunchError> {
        let databases = Databases { provisioner: self.provisioner, starter: self.starter };
        databases.start(database, server, &wall_clock::new_id(), &[], self.options.seed)
    }

    fn launch_with(
        &self,
        server: &Manifest,
        ready: &WorkloadCase,
        database: Option<DatabaseAccess>,
    ) -> Result<RunningServer, LaunchError> {
        let cores = self.cores(server.cores_of(self.form))?;
        let variables = self.provisioner.variables(server, 0, cores.len() as u32);
        let image = self.provisioner.image_launch(server, self.form)?;
        self.starter.launch(&LaunchSpec {
            id: &wall_clock::new_id(),
            server,
            form: self.form,
            variables: Variables { port: None, database, ..variables },
            image,
            cores: &cores,
            ready: ReadyCondition::Answers(ready),
        })
    }

    /// The cores of a server. Servers with one core that are checked at once are spread over all cores: on the same one,
    /// they would start too slowly.
    fn cores(&self, wanted: CoresWanted) -> Result<Vec<u32>, LaunchError> {
        let cores = Cores::allowed().map_err(|error| {
            LaunchError::fault(Stage::Start, format!("cannot read the list of cores: {error}"), false)
        })?;
        Ok(match wanted {
            CoresWanted::One => cores.numbers().into_iter().cycle().skip(self.job).take(1).collect(),
            CoresWanted::Half => cores.split(wanted).server,
        })
    }
}

/// Whether the server survives all checks: one may have crashed it.
fn alive(launch: &mut RunningServer) -> Check {
    let (outcome, detail) = match launch.ended() {
        None => (CheckOutcome::Pass, String::new()),
        Some(ended) => {
            (CheckOutcome::Fail, format!("the server ended with {ended}{}", end_of(&launch.log_tail())))
        }
    };
    Check { name: "the server still runs after all checks".into(), outcome, detail }
}

/// Stops a server. One that has to be killed delays every launch of a round by 5 s and loses what it would write on
/// exit.
fn stop(server: &Manifest, launch: RunningServer) -> Check {
    let detail = match launch.stop() {
        Ok(gone) if gone.forced => {
            "the server did not end within 5 s after SIGTERM and was killed".to_owned()
        }
        Ok(_) => String::new(),
        Err(error) => {
            say(&format!("{}: {error}", server.id));
            error.to_string()
        }
    };
    expected("the server exits on SIGTERM", detail)
}

/// A server under test must be reachable from this machine only, so that others can neither load it nor read what it
/// serves.
fn listens_locally(port: u16) -> Check {
    let detail = match paceline_host::port::is_open_to_others(port) {
        true => "the server listens on every address of this machine: bind to $PACELINE_HOST".to_owned(),
        false => String::new(),
    };
    expected("the server listens only on $PACELINE_HOST", detail)
}

/// A server must write to `$PACELINE_BUILD`: if its source folder changes, it is set up and built again.
fn writes_elsewhere(changed: &[String]) -> Check {
    let detail = match changed {
        [] => String::new(),
        some => {
            format!("the server wrote {} into its source folder: write to $PACELINE_BUILD", some.join(", "))
        }
    };
    expected("the server writes nothing into its source folder", detail)
}

/// A check that warns if there is a detail.
fn expected(name: &str, detail: String) -> Check {
    let outcome = if detail.is_empty() { CheckOutcome::Pass } else { CheckOutcome::Warn };
    Check { name: name.into(), outcome, detail }
}

/// The last lines of a log, each on its own line.
fn end_of(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].iter().map(|line| format!("\n  | {line}")).collect()
}
