//! Starts what a launch of a round needs: one server, or several instances and a balancer before them.
//!
//! The database first, then instances, each answering alone, then the balancer with their addresses. Whatever fails, nothing
//! that was started is left.

use super::Carried;
use super::turn::Turn;
use crate::database::{Databases, RunningDatabase};
use crate::farm::{Farm, Front, Role};
use crate::launch::{Launch, LaunchOf, Ready, Spoiled};
use crate::node::DatabaseOrder;
use crate::placement::stay_beside_generator;
use crate::{LabError, workshop};
use paceline_catalogue::{BALANCER_FORM, Balancer, DatabaseAccess, Filling};
use paceline_catalogue::{Cell, Manifest, Variables};
use paceline_host::{port, system};
use paceline_record::{BalancedLoad, BalancerReceipt, Fault, ProcessRole, Stage};
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

/// A balancer's connection limit is never what is measured: so many times the load's connections, both sides counted.
const CONNECTIONS_TIMES: u64 = 4;
/// And at least so many.
const CONNECTIONS_LEAST: u64 = 2000;
/// Descriptors of a balancer that are no connections: listeners, checks, its statistics, what each thread waits with.
const OTHER_FILES: u64 = 200;
/// The name of a balancer's configuration in its folder; all else in there is the balancer's own.
const CONFIGURATION: &str = "configuration";
/// Another process may take the port between our look and the balancer's bind.
const PORT_TRIES: u32 = 3;

impl Carried<'_> {
    /// Everything that `turn` is measured on; what it leaves in `folder` goes with the folder.
    pub(super) fn start(&self, turn: &Turn<'_>, folder: &Path) -> Result<Farm, Spoiled> {
        let cells = &turn.planned.cells;
        let first =
            cells.first().ok_or_else(|| Spoiled::fault(Stage::Start, "a launch without cells", false))?;
        stay_beside_generator(turn.pinning)
            .map_err(|error| Spoiled::fault(Stage::Start, format!("cannot pin the lab: {error}"), false))?;
        let mut roles = Vec::new();
        match self.start_roles(turn, first, folder, &mut roles) {
            Ok((front, database)) => Ok(Farm::new(roles, front, database)),
            Err(spoiled) => Err(stopped(roles, spoiled)),
        }
    }

    /// Starts each role in turn; those that were started are in `roles`, whatever happens.
    fn start_roles(
        &self,
        turn: &Turn<'_>,
        first: &Cell,
        folder: &Path,
        roles: &mut Vec<Role>,
    ) -> Result<(Option<Front>, Option<RunningDatabase>), Spoiled> {
        let Some(balanced) = turn.planned.cells.iter().find_map(|cell| cell.load.balanced.as_ref()) else {
            let database = self.database(turn, first, roles)?;
            let access = access(database.as_ref(), first, 1);
            let server = self.instance(turn, first, &turn.id, &turn.pinning.server, access)?;
            roles.push(Role::new(ProcessRole::Instance, 0, &turn.pinning.server, server));
            return Ok((None, database));
        };
        let balancer = self.balancer(balanced)?;
        let receipt = self.balancer_receipt(balancer)?;
        let database = self.database(turn, first, roles)?;
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for (number, cores) in turn.pinning.instances.iter().enumerate() {
            let id = format!("{}-instance{number}", turn.id);
            let access = access(database.as_ref(), first, balanced.instances);
            let instance = self.instance(turn, first, &id, cores, access)?;
            addresses.push(instance.address);
            roles.push(Role::new(ProcessRole::Instance, number as u32, cores, instance));
        }
        let (launch, front) = self.front(turn, balanced, balancer, receipt, &addresses, folder)?;
        roles.push(Role::new(ProcessRole::Balancer, 0, &turn.pinning.balancer, launch));
        Ok((Some(front), database))
    }

    /// Starts the database of a launch that has one.
    fn database(
        &self,
        turn: &Turn<'_>,
        first: &Cell,
        roles: &mut Vec<Role>,
    ) -> Result<Option<RunningDatabase>, Spoiled> {
        let Some(asked) = &first.load.database else { return Ok(None) };
        let known = self.bench.databases.iter().find(|database| database.id == asked.database);
        let message = || format!("there is no database `{}`", asked.database);
        let database = known.ok_or_else(|| Spoiled::fault(Stage::Setup, message(), false))?;
        let (cores, seed) = (&turn.pinning.database, self.sitting.seed);
        let (launch, running) = match turn.held.and_then(|held| Some((held, held.database()?))) {
            Some((held, node)) => {
                let (folder, id, cores) = (database.as_server().folder, turn.id.clone(), cores.clone());
                let listen = IpAddr::from([127, 0, 0, 1]);
                let order = DatabaseOrder { folder, id, cores, seed, listen };
                held.start_database(node, database, order, self.bench.starter.interrupt)?
            }
            None => {
                let databases = Databases { workshop: self.bench.workshop, starter: self.bench.starter };
                databases.start(database, &turn.id, cores, seed)?
            }
        };
        roles.push(Role::new(ProcessRole::Database, 0, cores, launch));
        Ok(Some(running))
    }

    fn instance(
        &self,
        turn: &Turn<'_>,
        first: &Cell,
        id: &str,
        cores: &[u32],
        database: Option<DatabaseAccess>,
    ) -> Result<Launch, Spoiled> {
        let server = &turn.planned.server;
        let variables = self.bench.workshop.variables(server, 0, cores.len() as u32);
        let of = LaunchOf {
            id,
            server,
            form: &turn.planned.form,
            variables: Variables { port: None, database, ..variables },
            cores,
            ready: Ready::Answers(&first.case),
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

    /// What a server needs to be started, as folders that exist.
    fn folders(&self, server: &Manifest) -> Vec<PathBuf> {
        let variables = self.bench.workshop.variables(server, 0, 1);
        let all = [server.folder.clone(), variables.build, variables.workloads];
        all.into_iter().filter(|folder| folder.is_dir()).collect()
    }

    fn balancer(&self, balanced: &BalancedLoad) -> Result<&Balancer, Spoiled> {
        let known = self.bench.balancers.iter().find(|balancer| balancer.id == balanced.balancer);
        let message = || format!("there is no balancer `{}`", balanced.balancer);
        known.map(|known| &**known).ok_or_else(|| Spoiled::fault(Stage::Setup, message(), false))
    }

    /// Its receipt, or what it lacks.
    fn balancer_receipt(&self, balancer: &Balancer) -> Result<BalancerReceipt, Spoiled> {
        let missing: Vec<&str> = balancer
            .needs
            .iter()
            .filter(|need| workshop::program(need).is_none())
            .map(String::as_str)
            .collect();
        if !missing.is_empty() {
            let install = format!("apt-get install {}", balancer.packages.join(" "));
            let message = format!("{} is not there: lacks {}; {install}", balancer.name, missing.join(", "));
            return Err(Spoiled::fault(Stage::Setup, message, false));
        }
        let versions =
            self.bench.workshop.versions(&balancer.as_server(None)).map_err(|error| match error {
                LabError::Interrupted => Spoiled::Interrupted,
                error => Spoiled::fault(Stage::Setup, error.to_string(), false),
            })?;
        let (id, name) = (balancer.id.clone(), balancer.name.clone());
        Ok(BalancerReceipt { id, name, versions, configuration: String::new() })
    }

    fn front(
        &self,
        turn: &Turn<'_>,
        balanced: &BalancedLoad,
        balancer: &Balancer,
        receipt: BalancerReceipt,
        instances: &[SocketAddr],
        folder: &Path,
    ) -> Result<(Launch, Front), Spoiled> {
        let mut tries = 1;
        loop {
            let raised = self.front_once(turn, balanced, balancer, &receipt, instances, folder);
            // One that ended before it answered may have found its port taken; its log says what it was.
            if raised.is_ok() || tries >= PORT_TRIES || matches!(raised, Err(Spoiled::Interrupted)) {
                return raised;
            }
            tries += 1;
        }
    }

    fn front_once(
        &self,
        turn: &Turn<'_>,
        balanced: &BalancedLoad,
        balancer: &Balancer,
        receipt: &BalancerReceipt,
        instances: &[SocketAddr],
        folder: &Path,
    ) -> Result<(Launch, Front), Spoiled> {
        let fault = |message: String| Spoiled::fault(Stage::Start, format!("the balancer: {message}"), false);
        let cell = turn.planned.cells.first().ok_or_else(|| fault("a launch without cells".to_owned()))?;
        let host = instances.first().ok_or_else(|| fault("no instance".to_owned()))?.ip();
        let [port, statistics_port] = port::free_ports().map_err(|error| fault(error.to_string()))?;
        let (listen, statistics_at) = (SocketAddr::new(host, port), SocketAddr::new(host, statistics_port));
        let most = turn.planned.cells.iter().map(|cell| u64::from(cell.load.connections)).max().unwrap_or(0);
        let own_folder = folder.join("balancer");
        let filling = Filling {
            listen,
            statistics_port: statistics_at.port(),
            policy: balancer.policies.get(&balanced.policy).map(String::as_str).unwrap_or_default(),
            threads: turn.pinning.balancer.len().max(1) as u32,
            connections: connections(most, system::open_files_most().unwrap_or(u64::MAX)),
            folder: own_folder.to_string_lossy().into_owned(),
            instances,
        };
        let configuration = filling.fill(&balancer.template);
        let path = own_folder.join(CONFIGURATION);
        fs::create_dir_all(&own_folder)
            .and_then(|()| fs::write(&path, &configuration))
            .map_err(|error| fault(format!("cannot write {}: {error}", path.display())))?;
        if let Some(user) = &self.bench.starter.user {
            user.share_folder(&own_folder, CONFIGURATION).map_err(|error| fault(error.to_string()))?;
        }
        let server = balancer.as_server(Some(&path));
        let variables =
            self.bench.workshop.variables(&server, listen.port(), turn.pinning.balancer.len().max(1) as u32);
        let launch = self
            .bench
            .starter
            .launch(&LaunchOf {
                id: &format!("{}-balancer", turn.id),
                server: &server,
                form: BALANCER_FORM,
                variables,
                cores: &turn.pinning.balancer,
                ready: Ready::Answers(&cell.case),
            })
            .map_err(of_balancer)?;
        let receipt = BalancerReceipt { configuration, ..receipt.clone() };
        Ok((launch, Front { receipt, statistics: balancer.statistics, statistics_at }))
    }
}

/// What one of so many instances is given of the database: its part of the whole server's connections.
fn access(database: Option<&RunningDatabase>, cell: &Cell, instances: u32) -> Option<DatabaseAccess> {
    let pool = cell.load.database.as_ref().map_or(1, |asked| asked.pool);
    database.map(|database| database.access((pool / instances.max(1)).max(1)))
}

/// How many connections a balancer must be able to hold for a load of so many. Each has a descriptor on both sides:
/// HAProxy does not start with more than it may open.
fn connections(of_load: u64, open_files: u64) -> u64 {
    let most = open_files.saturating_sub(OTHER_FILES) / 2;
    (of_load * CONNECTIONS_TIMES).max(CONNECTIONS_LEAST).min(most.max(1))
}

/// What went wrong, said to be the balancer's.
fn of_balancer(spoiled: Spoiled) -> Spoiled {
    match spoiled {
        Spoiled::Fault { fault, log_tail } => {
            let message = format!("the balancer: {}", fault.message);
            Spoiled::Fault { fault: Fault { message, ..fault }, log_tail }
        }
        Spoiled::Interrupted => Spoiled::Interrupted,
    }
}

/// Stops what was started, because of what happened after it.
fn stopped(roles: Vec<Role>, spoiled: Spoiled) -> Spoiled {
    // What happened is the thing to tell.
    let _ = Farm::new(roles, None, None).stop();
    spoiled
}

#[cfg(test)]
mod tests {
    use super::connections;

    #[test]
    fn a_balancer_is_not_asked_for_more_than_it_may_open() {
        assert_eq!(connections(64, 1 << 20), 2_000);
        assert_eq!(connections(10_000, 1 << 20), 40_000);
        assert_eq!(connections(10_000, 20_000), 9_900);
        assert_eq!(connections(64, 1_024), 412);
        assert_eq!(connections(64, 100), 1);
        assert_eq!(connections(64, u64::MAX), 2_000);
    }
}
