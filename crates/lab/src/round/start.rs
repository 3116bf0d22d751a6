//! Starts the processes of a launch in a round: one server, or several instances behind a balancer.
//!
//! The database first, then instances, each answering alone, then the balancer with their addresses. After a failure
//! all started processes are stopped.

use super::RunningRound;
use super::round_launch::RoundLaunch;
use crate::balancer_launch::Balancers;
use crate::database::{Databases, RunningDatabase, fixed_port};
use crate::deployment::{Deployment, RoleProcesses, RunningBalancer};
use crate::launch::{LaunchError, LaunchSpec, ReadyCondition, RunningServer};
use crate::node::{BalancerOrder, DatabaseOrder};
use crate::placement::stay_beside_generator;
use paceline_catalogue::{Balancer, Cell, DatabaseAccess, Manifest, Variables};
use paceline_record::{BalancedLoad, ProcessRole, Stage};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

impl RunningRound<'_> {
    /// Starts every process of `launch`; their files in `folder` are removed with the folder.
    pub(super) fn start(
        &self,
        round_launch: &RoundLaunch<'_>,
        folder: &Path,
    ) -> Result<Deployment, LaunchError> {
        let cells = &round_launch.planned.cells;
        let first = cells.first().ok_or_else(|| {
            LaunchError::fault(Stage::Start, "a launch has no trials; this is a bug in Paceline", false)
        })?;
        stay_beside_generator(round_launch.pinning).map_err(|error| {
            LaunchError::fault(Stage::Start, format!("cannot pin the lab to its cores: {error}"), false)
        })?;
        let mut roles = Vec::new();
        match self.start_roles(round_launch, first, folder, &mut roles) {
            Ok((running_balancer, database)) => Ok(Deployment::new(roles, running_balancer, database)),
            Err(error) => Err(stopped(roles, error)),
        }
    }

    /// Starts each role in turn; `roles` has those that were started, also after an error.
    fn start_roles(
        &self,
        round_launch: &RoundLaunch<'_>,
        first: &Cell,
        folder: &Path,
        roles: &mut Vec<RoleProcesses>,
    ) -> Result<(Option<RunningBalancer>, Option<RunningDatabase>), LaunchError> {
        let Some(balanced) = round_launch.planned.cells.iter().find_map(|cell| cell.load.balanced.as_ref())
        else {
            let database = self.database(round_launch, first, roles)?;
            let access = access(database.as_ref(), first, 1);
            let server =
                self.instance(round_launch, first, &round_launch.id, &round_launch.pinning.server, access)?;
            roles.push(RoleProcesses::new(ProcessRole::Instance, 0, &round_launch.pinning.server, server));
            return Ok((None, database));
        };
        if balanced.instances > 1 && round_launch.planned.server.fixed.port.is_some() {
            let message = "several instances of a server with a fixed port cannot run on one machine";
            return Err(LaunchError::fault(Stage::Start, message, false));
        }
        let balancer = self.balancer(balanced)?;
        let database = self.database(round_launch, first, roles)?;
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for (number, cores) in round_launch.pinning.instances.iter().enumerate() {
            let id = format!("{}-instance{number}", round_launch.id);
            let access = access(database.as_ref(), first, balanced.instances);
            let instance = self.instance(round_launch, first, &id, cores, access)?;
            addresses.push(instance.address);
            roles.push(RoleProcesses::new(ProcessRole::Instance, number as u32, cores, instance));
        }
        let (launch, running_balancer) =
            self.start_balancer(round_launch, first, balanced, balancer, addresses, folder)?;
        roles.push(RoleProcesses::new(ProcessRole::Balancer, 0, &round_launch.pinning.balancer, launch));
        Ok((Some(running_balancer), database))
    }

    /// Starts the database of a launch that has one.
    fn database(
        &self,
        round_launch: &RoundLaunch<'_>,
        first: &Cell,
        roles: &mut Vec<RoleProcesses>,
    ) -> Result<Option<RunningDatabase>, LaunchError> {
        let Some(asked) = first.launch_database() else { return Ok(None) };
        let known = self.context.databases.iter().find(|database| database.id == asked.database);
        let message = || format!("there is no database `{}`", asked.database);
        let database = known.ok_or_else(|| LaunchError::fault(Stage::Setup, message(), false))?;
        let (cores, seed) = (&round_launch.pinning.database, self.sitting.seed);
        let (launch, running) = match round_launch
            .reserved
            .and_then(|reserved| Some((reserved, reserved.database()?)))
        {
            Some((reserved, node)) => {
                let manifest = database.as_server();
                let mut folders = vec![manifest.folder.clone()];
                // A server that is not built has only templates in its build folder; the node makes them.
                if manifest.build.is_some() {
                    self.context.provisioner.build(&manifest, false)?;
                    folders.push(self.context.provisioner.build_dir(&manifest));
                }
                let (folder, id, cores) = (manifest.folder, round_launch.id.clone(), cores.clone());
                let listen = IpAddr::from([127, 0, 0, 1]);
                let expected_port = fixed_port(database, &round_launch.planned.server)?.is_some();
                let order = DatabaseOrder { folder, id, cores, expected_port, seed, listen };
                reserved.start_database(node, database, order, &folders, self.context.starter.interrupt)?
            }
            None => {
                let databases =
                    Databases { provisioner: self.context.provisioner, starter: self.context.starter };
                databases.start(database, &round_launch.planned.server, &round_launch.id, cores, seed)?
            }
        };
        roles.push(RoleProcesses::new(ProcessRole::Database, 0, cores, launch));
        Ok(Some(running))
    }

    fn instance(
        &self,
        round_launch: &RoundLaunch<'_>,
        first: &Cell,
        id: &str,
        cores: &[u32],
        database: Option<DatabaseAccess>,
    ) -> Result<RunningServer, LaunchError> {
        let server = &round_launch.planned.server;
        let provisioner = self.context.provisioner;
        let variables = provisioner.variables(server, 0, cores.len() as u32);
        let image = provisioner.image_launch(server, &round_launch.planned.form)?;
        let of = LaunchSpec {
            id,
            server,
            form: &round_launch.planned.form,
            variables: Variables { port: None, database, ..variables },
            image,
            cores,
            ready: ReadyCondition::Answers(&first.case),
        };
        let mut launch = match round_launch.reserved.and_then(|reserved| Some((reserved, reserved.server()?)))
        {
            Some((reserved, node)) => {
                reserved.launch(node, &of, &self.folders(server), self.context.starter.interrupt)?
            }
            None => self.context.starter.launch(&of)?,
        };
        launch.startup.first_since_build = provisioner.note_launch(server);
        Ok(launch)
    }

    /// The folders that a server needs to be started, which exist.
    fn folders(&self, server: &Manifest) -> Vec<PathBuf> {
        let variables = self.context.provisioner.variables(server, 0, 1);
        let all = [server.folder.clone(), variables.build, variables.workloads];
        let static_files = server.needs_static_files.then_some(variables.static_files);
        all.into_iter().chain(static_files).filter(|folder| folder.is_dir()).collect()
    }

    fn balancer(&self, balanced: &BalancedLoad) -> Result<&Balancer, LaunchError> {
        let known = self.context.balancers.iter().find(|balancer| balancer.id == balanced.balancer);
        let message = || format!("there is no balancer `{}`", balanced.balancer);
        known.map(|known| &**known).ok_or_else(|| LaunchError::fault(Stage::Setup, message(), false))
    }

    /// The balancer for `instances`, on the lab's machine or on a separate one.
    fn start_balancer(
        &self,
        round_launch: &RoundLaunch<'_>,
        first: &Cell,
        balanced: &BalancedLoad,
        balancer: &Balancer,
        instances: Vec<SocketAddr>,
        folder: &Path,
    ) -> Result<(RunningServer, RunningBalancer), LaunchError> {
        let instance = instances.first().ok_or_else(|| {
            let message = "a load balancer has no server instances; this is a bug in Paceline";
            LaunchError::fault(Stage::Start, message, false)
        })?;
        let most = round_launch.planned.cells.iter().map(|cell| u64::from(cell.load.connections)).max();
        let order = BalancerOrder {
            id: format!("{}-balancer", round_launch.id),
            balancer: balancer.folder.clone(),
            policy: balanced.policy.clone(),
            connections: most.unwrap_or(0),
            listen: instance.ip(),
            instances,
            cores: round_launch.pinning.balancer.clone(),
            ready: (*first.case).clone(),
        };
        match round_launch.reserved.and_then(|reserved| Some((reserved, reserved.balancer()?))) {
            Some((reserved, node)) => {
                reserved.start_balancer(node, balancer, order, self.context.starter.interrupt)
            }
            None => {
                let fronts =
                    Balancers { provisioner: self.context.provisioner, starter: self.context.starter };
                fronts.start(balancer, &order, &folder.join("balancer"))
            }
        }
    }
}

/// The database variables for one of several instances: its part of the whole server's connections.
fn access(database: Option<&RunningDatabase>, cell: &Cell, instances: u32) -> Option<DatabaseAccess> {
    let pool = cell.launch_database().map_or(1, |asked| asked.pool);
    database.map(|database| database.access((pool / instances.max(1)).max(1)))
}

/// Stops the started processes after an error.
fn stopped(roles: Vec<RoleProcesses>, error: LaunchError) -> LaunchError {
    // The first error is the one to report.
    let _ = Deployment::new(roles, None, None).stop();
    error
}
