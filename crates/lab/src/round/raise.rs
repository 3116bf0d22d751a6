//! Starts the processes of a launch in a round: one server, or several instances behind a balancer.
//!
//! The database first, then instances, each answering alone, then the balancer with their addresses. After a failure
//! all started processes are stopped.

use super::RunningRound;
use super::turn::RoundLaunch;
use crate::database::{Databases, RunningDatabase, of_lab};
use crate::farm::{Deployment, RoleProcesses, RunningBalancer};
use crate::front::Balancers;
use crate::launch::{LaunchError, LaunchSpec, ReadyCondition, RunningServer};
use crate::node::{BalancerOrder, DatabaseOrder};
use crate::placement::stay_beside_generator;
use paceline_catalogue::{Balancer, Cell, DatabaseAccess, Manifest, Variables};
use paceline_record::{BalancedLoad, ProcessRole, Stage};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

impl RunningRound<'_> {
    /// Starts every process of `turn`; their files in `folder` are removed with the folder.
    pub(super) fn start(&self, turn: &RoundLaunch<'_>, folder: &Path) -> Result<Deployment, LaunchError> {
        let cells = &turn.planned.cells;
        let first =
            cells.first().ok_or_else(|| LaunchError::fault(Stage::Start, "a launch without cells", false))?;
        stay_beside_generator(turn.pinning).map_err(|error| {
            LaunchError::fault(Stage::Start, format!("cannot restrict the lab to its cores: {error}"), false)
        })?;
        let mut roles = Vec::new();
        match self.start_roles(turn, first, folder, &mut roles) {
            Ok((front, database)) => Ok(Deployment::new(roles, front, database)),
            Err(spoiled) => Err(stopped(roles, spoiled)),
        }
    }

    /// Starts each role in turn; `roles` has those that were started, also after an error.
    fn start_roles(
        &self,
        turn: &RoundLaunch<'_>,
        first: &Cell,
        folder: &Path,
        roles: &mut Vec<RoleProcesses>,
    ) -> Result<(Option<RunningBalancer>, Option<RunningDatabase>), LaunchError> {
        let Some(balanced) = turn.planned.cells.iter().find_map(|cell| cell.load.balanced.as_ref()) else {
            let database = self.database(turn, first, roles)?;
            let access = access(database.as_ref(), first, 1);
            let server = self.instance(turn, first, &turn.id, &turn.pinning.server, access)?;
            roles.push(RoleProcesses::new(ProcessRole::Instance, 0, &turn.pinning.server, server));
            return Ok((None, database));
        };
        let balancer = self.balancer(balanced)?;
        let database = self.database(turn, first, roles)?;
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for (number, cores) in turn.pinning.instances.iter().enumerate() {
            let id = format!("{}-instance{number}", turn.id);
            let access = access(database.as_ref(), first, balanced.instances);
            let instance = self.instance(turn, first, &id, cores, access)?;
            addresses.push(instance.address);
            roles.push(RoleProcesses::new(ProcessRole::Instance, number as u32, cores, instance));
        }
        let (launch, front) = self.front(turn, balanced, balancer, addresses, folder)?;
        roles.push(RoleProcesses::new(ProcessRole::Balancer, 0, &turn.pinning.balancer, launch));
        Ok((Some(front), database))
    }

    /// Starts the database of a launch that has one.
    fn database(
        &self,
        turn: &RoundLaunch<'_>,
        first: &Cell,
        roles: &mut Vec<RoleProcesses>,
    ) -> Result<Option<RunningDatabase>, LaunchError> {
        let Some(asked) = &first.load.database else { return Ok(None) };
        let known = self.bench.databases.iter().find(|database| database.id == asked.database);
        let message = || format!("there is no database `{}`", asked.database);
        let database = known.ok_or_else(|| LaunchError::fault(Stage::Setup, message(), false))?;
        let (cores, seed) = (&turn.pinning.database, self.sitting.seed);
        let (launch, running) = match turn.held.and_then(|held| Some((held, held.database()?))) {
            Some((held, node)) => {
                let manifest = database.as_server();
                let mut folders = vec![manifest.folder.clone()];
                // A server that is not built has only templates in its build folder; the node makes them.
                if manifest.build.is_some() {
                    self.bench.workshop.build(&manifest, false).map_err(of_lab)?;
                    folders.push(self.bench.workshop.build_dir(&manifest));
                }
                let (folder, id, cores) = (manifest.folder, turn.id.clone(), cores.clone());
                let listen = IpAddr::from([127, 0, 0, 1]);
                let order = DatabaseOrder { folder, id, cores, seed, listen };
                held.start_database(node, database, order, &folders, self.bench.starter.interrupt)?
            }
            None => {
                let databases = Databases { workshop: self.bench.workshop, starter: self.bench.starter };
                databases.start(database, &turn.id, cores, seed)?
            }
        };
        roles.push(RoleProcesses::new(ProcessRole::Database, 0, cores, launch));
        Ok(Some(running))
    }

    fn instance(
        &self,
        turn: &RoundLaunch<'_>,
        first: &Cell,
        id: &str,
        cores: &[u32],
        database: Option<DatabaseAccess>,
    ) -> Result<RunningServer, LaunchError> {
        let server = &turn.planned.server;
        let variables = self.bench.workshop.variables(server, 0, cores.len() as u32);
        let of = LaunchSpec {
            id,
            server,
            form: &turn.planned.form,
            variables: Variables { port: None, database, ..variables },
            cores,
            ready: ReadyCondition::Answers(&first.case),
        };
        let mut launch = match turn.held.and_then(|held| Some((held, held.server()?))) {
            Some((held, node)) => {
                held.launch(node, &of, &self.folders(server), self.bench.starter.interrupt)?
            }
            None => self.bench.starter.launch(&of)?,
        };
        launch.startup.first_since_build = self.bench.workshop.note_launch(server);
        Ok(launch)
    }

    /// The folders that a server needs to be started, which exist.
    fn folders(&self, server: &Manifest) -> Vec<PathBuf> {
        let variables = self.bench.workshop.variables(server, 0, 1);
        let all = [server.folder.clone(), variables.build, variables.workloads];
        all.into_iter().filter(|folder| folder.is_dir()).collect()
    }

    fn balancer(&self, balanced: &BalancedLoad) -> Result<&Balancer, LaunchError> {
        let known = self.bench.balancers.iter().find(|balancer| balancer.id == balanced.balancer);
        let message = || format!("there is no balancer `{}`", balanced.balancer);
        known.map(|known| &**known).ok_or_else(|| LaunchError::fault(Stage::Setup, message(), false))
    }

    /// The balancer for `instances`, on the lab's machine or on a separate one.
    fn front(
        &self,
        turn: &RoundLaunch<'_>,
        balanced: &BalancedLoad,
        balancer: &Balancer,
        instances: Vec<SocketAddr>,
        folder: &Path,
    ) -> Result<(RunningServer, RunningBalancer), LaunchError> {
        let fault = |message: &str| LaunchError::fault(Stage::Start, message, false);
        let cell = turn.planned.cells.first().ok_or_else(|| fault("a launch without cells"))?;
        let listen = instances.first().ok_or_else(|| fault("a balancer without instances"))?.ip();
        let most = turn.planned.cells.iter().map(|cell| u64::from(cell.load.connections)).max();
        let order = BalancerOrder {
            id: format!("{}-balancer", turn.id),
            balancer: balancer.folder.clone(),
            policy: balanced.policy.clone(),
            connections: most.unwrap_or(0),
            instances,
            listen,
            cores: turn.pinning.balancer.clone(),
            ready: (*cell.case).clone(),
        };
        match turn.held.and_then(|held| Some((held, held.balancer()?))) {
            Some((held, node)) => held.start_front(node, balancer, order, self.bench.starter.interrupt),
            None => {
                let fronts = Balancers { workshop: self.bench.workshop, starter: self.bench.starter };
                fronts.start(balancer, &order, &folder.join("balancer"))
            }
        }
    }
}

/// The database variables for one of several instances: its part of the whole server's connections.
fn access(database: Option<&RunningDatabase>, cell: &Cell, instances: u32) -> Option<DatabaseAccess> {
    let pool = cell.load.database.as_ref().map_or(1, |asked| asked.pool);
    database.map(|database| database.access((pool / instances.max(1)).max(1)))
}

/// Stops the started processes after an error.
fn stopped(roles: Vec<RoleProcesses>, spoiled: LaunchError) -> LaunchError {
    // The first error is the one to report.
    let _ = Deployment::new(roles, None, None).stop();
    spoiled
}
