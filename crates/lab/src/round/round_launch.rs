//! Carries out one launch of a round: start, validate, each cell in turn, stop.
//!
//! A server that dies under one cell, or is still busy long after it, is restarted for the cells after it, so that
//! these are not affected. `start` starts one server, or several behind a balancer.

use super::{RoundContext, RoundEvent, RunningRound};
use crate::core_distance::{MAX_PLACED_ATTEMPTS, MAX_PLACED_LOAD};
use crate::deployment::Deployment;
use crate::fleet::ReservedMachines;
use crate::generator::FollowOptions;
use crate::idle_wait::{IdleWait, MAX_FIRST_IDLE_WAIT, MAX_IDLE_WAIT, wait_until_idle};
use crate::launch::LaunchError;
use crate::placement::Cores;
use crate::trial::{self, TrialContext};
use crate::warm_up::Warmer;
use crate::{CheckedServer, LabError, ValidationResult, validate};
use paceline_catalogue::{Cell, CoresWanted, Pin, PlannedLaunch, Traits, Workload};
use paceline_host::private_network::outside;
use paceline_host::{Neighbours, RoundsSeen};
use paceline_judge::TypedVerdict;
use paceline_record::{Fault, Pinning, Route, Server, Stage, Trial, Verdict};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a trial may be delayed until its cores are as far apart as usual.
const MAX_CORE_WAIT: Duration = Duration::from_secs(30);

/// A launch in progress.
pub(super) struct RoundLaunch<'a> {
    pub planned: &'a PlannedLaunch,
    pub id: String,
    pub server: &'a Server,
    pub pinning: &'a Pinning,
    /// The other machines that it runs on.
    pub reserved: Option<&'a ReservedMachines>,
    /// The server's certificate, which exists if its traits need one.
    pub certificate: PathBuf,
}

impl<'a> RoundLaunch<'a> {
    /// A launch with a new id.
    pub fn new(
        context: &RoundContext<'_>,
        planned: &'a PlannedLaunch,
        server: &'a Server,
        pinning: &'a Pinning,
        reserved: Option<&'a ReservedMachines>,
    ) -> Self {
        let certificate = context.provisioner.certificate(&planned.server);
        Self { planned, id: (context.new_id)(), server, pinning, reserved, certificate }
    }
}

/// The validations: of the server itself, and of the same answers through the balancer if there is one.
pub(super) struct Validations {
    pub(super) direct: ValidationResult,
    balanced: Option<ValidationResult>,
}

impl Validations {
    fn by(&self, route: Route) -> &ValidationResult {
        self.balanced.as_ref().filter(|_| route == Route::Balanced).unwrap_or(&self.direct)
    }
}

impl RunningRound<'_> {
    /// Carries out a launch; every one of its cells ends as a kept trial.
    pub(super) fn launch(&mut self, mut planned: PlannedLaunch) -> Result<(), LabError> {
        while !planned.cells.is_empty() {
            self.estimate.launch_begins(&planned);
            (self.listener)(RoundEvent::Launching { launch: &planned, estimate: &self.estimate });
            let built = self.servers.get(&planned.server.id).cloned();
            let server = match built {
                Some(Ok(server)) => server,
                Some(Err((fault, tail))) => return self.all_failed(&planned, &fault, &tail),
                None => planned.server.record(String::new()),
            };
            let reserved = match self.context.fleet.map(|fleet| fleet.hold(&planned, self.context.warm_up)) {
                Some(Err(LaunchError::Interrupted)) => return Err(LabError::Interrupted),
                Some(Err(LaunchError::Fault { fault, log_tail })) => {
                    return self.all_failed(&planned, &fault, &log_tail);
                }
                Some(Ok(reserved)) => Some(reserved),
                None => None,
            };
            let reserved = reserved.as_ref();
            let pinning = self.pinning(&planned, reserved);
            let launch = RoundLaunch::new(self.context, &planned, &server, &pinning, reserved);
            let done = self.run_launch(&launch)?.min(planned.cells.len());
            if done < planned.cells.len() && planned.is_whole() {
                let message = "the server, balancer or database ended during the previous load".to_owned();
                return self.fail_remaining(&launch, done, message);
            }
            planned.cells.drain(..done);
        }
        Ok(())
    }

    /// The cores for each process of a launch.
    pub(super) fn pinning(&self, planned: &PlannedLaunch, reserved: Option<&ReservedMachines>) -> Pinning {
        let wanted = planned.server.cores_of(&planned.form);
        let cores = &self.context.cores;
        let pins = planned.cells.iter().map(|cell| cell.load.pin);
        let pin = pins.into_iter().find(|pin| *pin != Pin::default()).unwrap_or_default();
        let balanced = planned.cells.iter().find_map(|cell| cell.load.balanced.as_ref());
        let apart = reserved.filter(|reserved| reserved.database().is_some());
        let has_database = apart.is_none() && planned.cells.iter().any(|cell| cell.database().is_some());
        let balanced_here = |instances| cores.split_balanced(wanted, instances, pin, has_database);
        let pinning = match (balanced, reserved, apart.and_then(ReservedMachines::server)) {
            (Some(balanced), Some(reserved), _) => {
                balanced_apart(reserved, wanted, balanced.instances, || balanced_here(balanced.instances))
            }
            (Some(balanced), None, _) => balanced_here(balanced.instances),
            (None, _, Some(node)) => Cores::apart(node.cores(), wanted),
            (None, _, None) if has_database => cores.split_with_database(wanted, pin.database),
            (None, _, None) => cores.split(wanted),
        };
        let pinning = match apart {
            Some(reserved) => with_database_apart(pinning, reserved),
            None => pinning,
        };
        // Loaders on other machines leave this machine's cores to the server, and a server there to the generator.
        match reserved {
            Some(reserved) if reserved.loaders().is_some() => {
                Pinning { disjoint: !reserved.has_loader_on(&pinning.server), ..pinning }
            }
            Some(reserved) if reserved.is_loaded_from_here() => {
                Pinning { generator: cores.numbers(), disjoint: !reserved.is_server_here(), ..pinning }
            }
            _ => pinning,
        }
    }

    /// A cell after a first run is not valid on another launch: it failed with this one, for this reason.
    fn fail_remaining(
        &mut self,
        launch: &RoundLaunch<'_>,
        done: usize,
        message: String,
    ) -> Result<(), LabError> {
        let fault = Fault { stage: Stage::Load, message, transient: false };
        self.keep_failed(launch, done, &fault, "")
    }

    /// Records a fault for all cells of a launch but the first `done` ones.
    fn keep_failed(
        &mut self,
        launch: &RoundLaunch<'_>,
        done: usize,
        fault: &Fault,
        log_tail: &str,
    ) -> Result<(), LabError> {
        for cell in launch.planned.cells.iter().skip(done) {
            let trial = trial::failed(self.begin(launch, cell), fault.clone(), log_tail.to_owned());
            self.keep(&trial)?;
        }
        Ok(())
    }

    /// One start of the server. Returns how many of the cells are done.
    fn run_launch(&mut self, launch: &RoundLaunch<'_>) -> Result<usize, LabError> {
        self.in_folder(launch, |round, folder| round.run_launch_in(launch, folder))
    }

    /// Calls `work` with a folder for the files of a launch, which exists only meanwhile.
    pub(super) fn in_folder<T, E: From<LabError>>(
        &mut self,
        launch: &RoundLaunch<'_>,
        work: impl FnOnce(&mut Self, &Path) -> Result<T, E>,
    ) -> Result<T, E> {
        let folder = self.context.scratch.join(&launch.id);
        fs::create_dir_all(&folder).map_err(|source| LabError::File {
            action: "make",
            path: folder.clone(),
            source,
        })?;
        let result = work(self, &folder);
        // The files left there are not needed.
        let _ = fs::remove_dir_all(&folder);
        result
    }

    /// One start of the server, with its files in a folder.
    fn run_launch_in(&mut self, launch: &RoundLaunch<'_>, folder: &Path) -> Result<usize, LabError> {
        let network = match launch.reserved {
            // On several machines each has its own network.
            Some(_) => Ok(None),
            None => self.context.provisioner.enter_network(&launch.planned.server).map(Some),
        };
        match network.and_then(|network| Ok((network, self.start(launch, folder)?))) {
            Ok((_network, deployment)) => self.cells(launch, deployment, folder),
            Err(LaunchError::Interrupted) => Err(LabError::Interrupted),
            Err(LaunchError::Fault { fault, log_tail }) => self.spoiled(launch, &fault, &log_tail),
        }
    }

    /// Validates, then runs cell after cell. Stops at a server that has died, or does not become idle.
    fn cells(
        &mut self,
        launch: &RoundLaunch<'_>,
        mut deployment: Deployment,
        folder: &Path,
    ) -> Result<usize, LabError> {
        let interrupt = self.context.starter.interrupt;
        let answers = self.validated(launch, &deployment)?;
        // A server that polls for work is always busy: it counts as idle when it is as busy as before any load.
        let usual = match wait_until_idle(&mut deployment, 0.0, MAX_FIRST_IDLE_WAIT, interrupt)? {
            IdleWait::Idle => 0.0,
            IdleWait::Busy { cores } => cores,
        };
        if let Err(error) = self.warm_up(launch, &mut deployment, folder) {
            let LaunchError::Fault { fault, .. } = error else { return Err(LabError::Interrupted) };
            return self.spoiled(launch, &fault, &deployment.log_tail());
        }
        wait_until_idle(&mut deployment, usual, MAX_IDLE_WAIT, interrupt)?;
        let options = follow_options(self.context, launch, folder);
        let is_whole = launch.planned.is_whole();
        let (mut index, mut attempts) = (0, 0);
        while let Some(cell) = launch.planned.cells.get(index) {
            if deployment.ended().is_some() {
                return self.died(launch, index, &mut deployment);
            }
            let mut trial = self.trial(launch, cell, &mut deployment, &answers, &options)?;
            let not_reset = reset_failure(cell, &deployment);
            if let Some(message) = &not_reset {
                trial.log_tail.push_str(&format!("\n{message}"));
            }
            attempts += 1;
            let is_repeated = trial.are_cores_moved()
                && trial.error.is_none()
                && attempts < MAX_PLACED_ATTEMPTS
                && !is_whole;
            let is_last = index + 1 == launch.planned.cells.len() && !is_repeated;
            // Ctrl-C during the wait does not affect the trial before it.
            let idle = match is_last {
                true => Ok(IdleWait::Idle),
                false => wait_until_idle(&mut deployment, usual, MAX_IDLE_WAIT, interrupt),
            };
            trial.verdicts.extend(idle.as_ref().ok().and_then(|idle| busy_after_load(idle, is_whole)));
            self.keep(&trial)?;
            let done = index + 1;
            // Rows that differ from the plan's make a further load invalid.
            if not_reset.is_some() || (idle? != IdleWait::Idle && !is_whole) {
                let is_running = deployment.ended().is_none();
                let _ = deployment.stop();
                let Some(problem) = not_reset.filter(|_| is_whole && is_running) else { return Ok(done) };
                let message = format!("the database was not reset after the previous load: {problem}");
                self.fail_remaining(launch, done, message)?;
                return Ok(launch.planned.cells.len());
            }
            // The trial of a server that exited while it became idle counts: its cell has a record.
            match is_repeated && deployment.ended().is_none() {
                true => self.estimate.repeats(cell),
                false => (index, attempts) = (done, 0),
            }
        }
        // The trials are kept even if the stop fails; the next launch will notice a process that cannot be killed.
        let _ = deployment.stop();
        Ok(launch.planned.cells.len())
    }

    /// One cell on a running launch, not kept yet.
    fn trial(
        &mut self,
        launch: &RoundLaunch<'_>,
        cell: &Cell,
        deployment: &mut Deployment,
        answers: &Validations,
        options: &FollowOptions<'_>,
    ) -> Result<Trial, LabError> {
        let route = cell.load.balanced.as_ref().map_or(Route::Direct, |balanced| balanced.route);
        deployment.take(route);
        let mut begun = self.begin(launch, cell);
        if let Err(fault) = self.full_rates.set_rate(&mut begun) {
            return Ok(trial::failed(begun, fault, String::new()));
        }
        self.estimate.trial_begins();
        (self.listener)(RoundEvent::Loading { trial: &begun, estimate: &self.estimate });
        // Loaders on other machines send nothing over loopback.
        if launch.reserved.is_none() && cell.load.expected_length() <= MAX_PLACED_LOAD {
            let interrupt = self.context.starter.interrupt;
            begun.core_distance = self.core_distances.settle(launch.pinning, MAX_CORE_WAIT, interrupt)?;
        }
        // Other rounds announce themselves outside.
        let since = outside(|| self.context.neighbours.map(Neighbours::look));
        let (generator, seed) = (self.context.generator, self.sitting.seed);
        trial::measure(begun, cell, seed, deployment, answers.by(route), generator, options)
            .map(|trial| trial::with_environment(trial, self.context.environment))
            .map(|trial| self.beside_others(trial, since))
            .ok_or(LabError::Interrupted)
    }

    pub(super) fn validated(
        &self,
        launch: &RoundLaunch<'_>,
        deployment: &Deployment,
    ) -> Result<Validations, LabError> {
        let engine = self.context.starter.engine_probe();
        let static_files = self.context.provisioner.static_dir();
        let workloads = self.workloads_of(launch.planned);
        let by = |route, traits: &Traits| match deployment.address_by(route) {
            Some(address) => {
                let certificate = &launch.certificate;
                let server =
                    CheckedServer { address, traits, certificate, static_files: &static_files, engine };
                validate(server, &workloads).map_err(|_only_interrupted| LabError::Interrupted)
            }
            None => Ok(ValidationResult::default()),
        };
        let direct = by(Route::Direct, &launch.planned.server.traits)?;
        // A manifest states nothing about the connections of a balancer in front of its server.
        let balanced = match deployment.receipt() {
            Some(_) => Some(by(Route::Balanced, &Traits::default())?),
            None => None,
        };
        Ok(Validations { direct, balanced })
    }

    /// Notes in a trial that another round was running on the machine before it, after it or during it.
    fn beside_others(&self, mut trial: Trial, since: Option<RoundsSeen>) -> Trial {
        let others = match (self.context.neighbours, since) {
            (Some(neighbours), Some(since)) => outside(|| neighbours.since(since)),
            _ => Vec::new(),
        };
        if !others.is_empty() {
            trial.verdicts.push(TypedVerdict::SharedMachine { other: others.join(", ") }.verdict());
        }
        trial
    }

    /// A server that died between two cells: because of the one before, which has its record, or without a load, which
    /// has no record yet.
    fn died(
        &mut self,
        launch: &RoundLaunch<'_>,
        index: usize,
        deployment: &mut Deployment,
    ) -> Result<usize, LabError> {
        if index > 0 {
            return Ok(index);
        }
        let message = "the server exited after validation".to_owned();
        let fault = Fault { stage: Stage::Validate, message, transient: false };
        self.spoiled(launch, &fault, &deployment.log_tail())
    }

    /// An error before the first load of a launch: recorded for all its cells. Returns how many there are.
    fn spoiled(
        &mut self,
        launch: &RoundLaunch<'_>,
        fault: &Fault,
        log_tail: &str,
    ) -> Result<usize, LabError> {
        self.keep_failed(launch, 0, fault, log_tail)?;
        Ok(launch.planned.cells.len())
    }

    /// Warms the launch up, unless the plan or a first run excludes it. Each load then finds the rows of the launch's
    /// start, as after a load.
    pub(super) fn warm_up(
        &mut self,
        launch: &RoundLaunch<'_>,
        deployment: &mut Deployment,
        folder: &Path,
    ) -> Result<(), LaunchError> {
        if self.context.warm_up.is_none() || !launch.planned.is_warmed() {
            return Ok(());
        }
        self.estimate.warm_up_begins();
        (self.listener)(RoundEvent::WarmingUp { launch: launch.planned, estimate: &self.estimate });
        let starter = self.context.starter;
        let warmer = Warmer {
            generator: self.context.own_generator,
            shepherd: &starter.shepherd,
            cores: &launch.pinning.generator,
            folder,
            form: self.context.warm_up,
            interrupt: starter.interrupt,
        };
        let warm_up = warmer.warm_up(deployment, &launch.planned.cells)?;
        deployment.warmed(warm_up);
        // The warm-up mixes the requests of all cells: some may have changed rows that another cell reads.
        let changed_rows = launch.planned.cells.iter().any(|cell| cell.case.changes_rows());
        match deployment.database().filter(|_| changed_rows) {
            Some(database) => database.reset(),
            None => Ok(()),
        }
    }

    fn workloads_of(&self, launch: &PlannedLaunch) -> Vec<Arc<Workload>> {
        let needed =
            |workload: &&Arc<Workload>| launch.cells.iter().any(|cell| cell.case.workload == workload.name);
        let needed = self.context.workloads.iter().filter(needed);
        needed.map(|workload| launch.server.adapt(workload)).collect()
    }

    pub(super) fn begin(&mut self, launch: &RoundLaunch<'_>, cell: &Cell) -> Trial {
        let place = TrialContext {
            round: self.sitting.round,
            sitting: self.sitting.sitting,
            launch: &launch.id,
            block: launch.planned.block,
            server: launch.server,
            pinning: launch.pinning,
        };
        let order = self.order;
        self.order += 1;
        trial::begin(&place, cell, (self.context.new_id)(), order, (self.context.now)())
    }

    /// A server that could not be built: recorded for all its cells.
    fn all_failed(&mut self, planned: &PlannedLaunch, fault: &Fault, log_tail: &str) -> Result<(), LabError> {
        let server = planned.server.record(String::new());
        let pinning = self.pinning(planned, None);
        let launch = RoundLaunch::new(self.context, planned, &server, &pinning, None);
        self.keep_failed(&launch, 0, fault, log_tail)
    }
}

/// Puts the rows back that the load of a cell changed. Returns why that failed.
fn reset_failure(cell: &Cell, deployment: &Deployment) -> Option<String> {
    let database = deployment.database().filter(|_| cell.case.changes_rows())?;
    match database.reset() {
        Err(LaunchError::Fault { fault, .. }) => Some(fault.message),
        // The wait for an idle server ends at Ctrl-C, too.
        Ok(()) | Err(LaunchError::Interrupted) => None,
    }
}

/// How the runs of a launch are started and followed.
pub(super) fn follow_options<'a>(
    context: &'a RoundContext<'_>,
    launch: &'a RoundLaunch<'_>,
    folder: &'a Path,
) -> FollowOptions<'a> {
    FollowOptions {
        shepherd: &context.starter.shepherd,
        cores: &launch.pinning.generator,
        folder,
        bodies: &context.bodies,
        certificate: &launch.certificate,
        loaders: launch.reserved.and_then(ReservedMachines::loaders),
        interrupt: context.starter.interrupt,
    }
}

/// Adds the cores of a database on another machine: those that the server does not use there.
fn with_database_apart(pinning: Pinning, reserved: &ReservedMachines) -> Pinning {
    let all = reserved.database().map(|node| node.cores().concat()).unwrap_or_default();
    let is_free = |core: &u32| !reserved.is_one_machine() || !pinning.server.contains(core);
    let free: Vec<u32> = all.iter().copied().filter(is_free).collect();
    Pinning { database: if free.is_empty() { all } else { free }, ..pinning }
}

/// The cores for each process of a balanced launch, if the balancer is on another machine; `here` splits those of this
/// one.
fn balanced_apart(
    reserved: &ReservedMachines,
    wanted: CoresWanted,
    instances: u32,
    here: impl FnOnce() -> Pinning,
) -> Pinning {
    let balancer = reserved.balancer().map(|node| (node.host(), node.cores()));
    match (reserved.server(), balancer) {
        (Some(server), Some((host, cores))) => {
            let own = (host != server.host()).then_some(cores);
            Cores::balanced_apart(server.cores(), wanted, instances, own)
        }
        (_, Some((_, cores))) => Pinning { balancer: cores.concat(), ..here() },
        (_, None) => here(),
    }
}

/// The verdict on a server that did not become idle: it is restarted, unless all of its launch belongs together.
fn busy_after_load(wait: &IdleWait, is_whole: bool) -> Option<Verdict> {
    let IdleWait::Busy { cores } = wait else { return None };
    let consequence = match is_whole {
        true => {
            "The server was still processing this load when the next load began, so the rate measured for the next load \
             may be too low. Put the two loads into separate plans."
        }
        false => "The server was restarted before the next load.",
    };
    let finding = TypedVerdict::BusyAfterLoad {
        waited_s: MAX_IDLE_WAIT.as_secs_f64(),
        cores_used: *cores,
        is_whole,
        consequence,
    };
    Some(finding.verdict())
}
