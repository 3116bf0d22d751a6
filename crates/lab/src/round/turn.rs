//! Carries out one launch of a round: start, validate, each cell in turn, stop.
//!
//! A server that dies under one cell, or is still busy long after it, is restarted for the cells after it, so that
//! these are not affected. `raise` starts one server, or several behind a balancer.

use super::{RoundEvent, RunningRound};
use crate::database::RunningDatabase;
use crate::farm::Deployment;
use crate::fleet::ReservedMachines;
use crate::generator::FollowOptions;
use crate::launch::LaunchError;
use crate::placement::{Cores, CoresWanted};
use crate::rest::{FIRST_REST_MOST, IdleWait, REST_MOST, await_rest};
use crate::trial::{self, TrialContext};
use crate::warm::Warmer;
use crate::{LabError, ValidationResult, validate};
use paceline_catalogue::{Cell, PlannedLaunch, Traits, Workload};
use paceline_host::{Neighbours, RoundsSeen};
use paceline_judge::TypedVerdict;
use paceline_record::{Fault, Pinning, Route, Server, Stage, Trial, Verdict};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// A launch in progress.
pub(super) struct RoundLaunch<'a> {
    pub planned: &'a PlannedLaunch,
    pub id: String,
    pub server: &'a Server,
    pub pinning: &'a Pinning,
    /// The other machines that it runs on.
    pub held: Option<&'a ReservedMachines>,
}

/// The validations: of the server itself, and of the same answers through the balancer if there is one.
struct Validations {
    direct: ValidationResult,
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
            self.outlook.launch_begins(&planned);
            (self.listener)(RoundEvent::Launching { launch: &planned, outlook: &self.outlook });
            let built = self.servers.get(&planned.server.id).cloned();
            let server = match built {
                Some(Ok(server)) => server,
                Some(Err((fault, tail))) => return self.all_failed(&planned, &fault, &tail),
                None => planned.server.record(String::new()),
            };
            let held = match self.bench.fleet.map(|fleet| fleet.hold(&planned, self.bench.steady_within)) {
                Some(Err(LaunchError::Interrupted)) => return Err(LabError::Interrupted),
                Some(Err(LaunchError::Fault { fault, log_tail })) => {
                    return self.all_failed(&planned, &fault, &log_tail);
                }
                Some(Ok(held)) => Some(held),
                None => None,
            };
            let held = held.as_ref();
            let pinning = self.pinning(&planned, held);
            let id = (self.bench.new_id)();
            let turn = RoundLaunch { planned: &planned, id, server: &server, pinning: &pinning, held };
            let done = self.turn(&turn)?.min(planned.cells.len());
            if done < planned.cells.len() && planned.is_whole() {
                return self.not_outlived(&turn, done);
            }
            planned.cells.drain(..done);
        }
        Ok(())
    }

    /// The cores for each process of a launch.
    fn pinning(&self, planned: &PlannedLaunch, held: Option<&ReservedMachines>) -> Pinning {
        let wanted = CoresWanted::of_form(&planned.form);
        let cores = &self.bench.cores;
        let pin = planned.cells.iter().find_map(|cell| cell.load.pin).unwrap_or_default();
        let balanced = planned.cells.iter().find_map(|cell| cell.load.balanced.as_ref());
        let apart = held.filter(|held| held.database().is_some());
        let has_database = apart.is_none() && planned.cells.iter().any(|cell| cell.load.database.is_some());
        let balanced_here = |instances| cores.split_balanced(wanted, instances, pin, has_database);
        let pinning = match (balanced, held, apart.and_then(ReservedMachines::server)) {
            (Some(balanced), Some(held), _) => {
                balanced_apart(held, wanted, balanced.instances, || balanced_here(balanced.instances))
            }
            (Some(balanced), None, _) => balanced_here(balanced.instances),
            (None, _, Some(node)) => Cores::apart(node.cores(), wanted),
            (None, _, None) if has_database => cores.split_with_database(wanted, pin.database),
            (None, _, None) => cores.split(wanted),
        };
        let pinning = match apart {
            Some(held) => with_database_apart(pinning, held),
            None => pinning,
        };
        // Loaders on other machines leave this machine's cores to the server.
        let disjoint = match held.filter(|held| held.loaders().is_some()) {
            Some(held) => !held.has_loader_on(&pinning.server),
            None => pinning.disjoint,
        };
        Pinning { disjoint, ..pinning }
    }

    /// A cell after a first run is not valid on another launch: it failed with this one.
    fn not_outlived(&mut self, turn: &RoundLaunch<'_>, done: usize) -> Result<(), LabError> {
        let message = "the server crashed during the previous load".to_owned();
        let fault = Fault { stage: Stage::Load, message, transient: false };
        for cell in turn.planned.cells.iter().skip(done) {
            let trial = trial::failed(self.begin(turn, cell), fault.clone(), String::new());
            self.keep(&trial)?;
        }
        Ok(())
    }

    /// One start of the server. Returns how many of the cells are done.
    fn turn(&mut self, turn: &RoundLaunch<'_>) -> Result<usize, LabError> {
        let folder = self.bench.scratch.join(&turn.id);
        fs::create_dir_all(&folder).map_err(|source| LabError::File {
            action: "make",
            path: folder.clone(),
            source,
        })?;
        let done = self.turn_in(turn, &folder);
        // The files left there are not needed.
        let _ = fs::remove_dir_all(&folder);
        done
    }

    fn turn_in(&mut self, turn: &RoundLaunch<'_>, folder: &Path) -> Result<usize, LabError> {
        let farm = match self.start(turn, folder) {
            Ok(farm) => farm,
            Err(LaunchError::Interrupted) => return Err(LabError::Interrupted),
            Err(LaunchError::Fault { fault, log_tail }) => return self.spoiled(turn, &fault, &log_tail),
        };
        self.cells(turn, farm, folder)
    }

    /// Validates, then runs cell after cell. Stops at a server that has died, or does not become idle.
    fn cells(
        &mut self,
        turn: &RoundLaunch<'_>,
        mut farm: Deployment,
        folder: &Path,
    ) -> Result<usize, LabError> {
        let interrupt = self.bench.starter.interrupt;
        let answers = self.validated(turn, &farm)?;
        // A server that polls for work is always busy: it counts as idle when it is as busy as before any load.
        let usual = match await_rest(&mut farm, 0.0, FIRST_REST_MOST, interrupt)? {
            IdleWait::Reached => 0.0,
            IdleWait::Never { cores } => cores,
        };
        let starter = self.bench.starter;
        if let Err(spoiled) = self.warm_up(turn, &mut farm, folder) {
            let LaunchError::Fault { fault, .. } = spoiled else { return Err(LabError::Interrupted) };
            return self.spoiled(turn, &fault, &farm.log_tail());
        }
        await_rest(&mut farm, usual, REST_MOST, interrupt)?;
        let following = FollowOptions {
            shepherd: &starter.shepherd,
            cores: &turn.pinning.generator,
            folder,
            bodies: &self.bench.bodies,
            loaders: turn.held.and_then(ReservedMachines::loaders),
            interrupt,
        };
        for (index, cell) in turn.planned.cells.iter().enumerate() {
            if farm.ended().is_some() {
                return self.died(turn, index, &mut farm);
            }
            let route = cell.load.balanced.as_ref().map_or(Route::Direct, |balanced| balanced.route);
            farm.take(route);
            let mut begun = self.begin(turn, cell);
            if let Err(fault) = self.full_rates.set_rate(&mut begun) {
                self.keep(&trial::failed(begun, fault, String::new()))?;
                continue;
            }
            let since = self.bench.neighbours.map(Neighbours::look);
            self.outlook.trial_begins();
            (self.listener)(RoundEvent::Loading { trial: &begun, outlook: &self.outlook });
            let generator = self.bench.generator;
            let seed = self.sitting.seed;
            let validated = answers.by(route);
            let mut trial = trial::measure(begun, cell, seed, &mut farm, validated, generator, &following)
                .map(|trial| trial::with_environment(trial, self.bench.environment))
                .map(|trial| self.beside_others(trial, since))
                .ok_or(LabError::Interrupted)?;
            let mut is_spoiled = false;
            if cell.case.database.is_some_and(|work| work.rows_updated > 0)
                && let Some(Err(LaunchError::Fault { fault, .. })) =
                    farm.database().map(RunningDatabase::reset)
            {
                trial.log_tail.push_str(&format!("\n{}", fault.message));
                is_spoiled = true;
            }
            let is_last = index + 1 == turn.planned.cells.len();
            // Ctrl-C during the wait does not affect the trial before it.
            let rest = match is_last {
                true => Ok(IdleWait::Reached),
                false => await_rest(&mut farm, usual, REST_MOST, interrupt),
            };
            let is_whole = turn.planned.is_whole();
            trial.verdicts.extend(rest.as_ref().ok().and_then(|rest| busy_after_load(rest, is_whole)));
            self.keep(&trial)?;
            // Rows that differ from the plan's make a further load invalid.
            if is_spoiled || (rest? != IdleWait::Reached && !is_whole) {
                let _ = farm.stop();
                return Ok(index + 1);
            }
        }
        // The trials are kept even if the stop fails; the next launch will notice a process that cannot be killed.
        let _ = farm.stop();
        Ok(turn.planned.cells.len())
    }

    fn validated(&self, turn: &RoundLaunch<'_>, farm: &Deployment) -> Result<Validations, LabError> {
        let interrupt = self.bench.starter.interrupt;
        let workloads = self.workloads_of(&turn.planned.cells);
        let by = |route, traits: &Traits| match farm.address_by(route) {
            Some(address) => {
                validate(address, &workloads, traits, interrupt).map_err(|_| LabError::Interrupted)
            }
            None => Ok(ValidationResult::default()),
        };
        let direct = by(Route::Direct, &turn.planned.server.traits)?;
        // A manifest states nothing about the connections of a balancer in front of its server.
        let balanced = match farm.receipt() {
            Some(_) => Some(by(Route::Balanced, &Traits::default())?),
            None => None,
        };
        Ok(Validations { direct, balanced })
    }

    /// Notes in a trial that another round was running on the machine before it, after it or during it.
    fn beside_others(&self, mut trial: Trial, since: Option<RoundsSeen>) -> Trial {
        let others = match (self.bench.neighbours, since) {
            (Some(neighbours), Some(since)) => neighbours.since(since),
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
        turn: &RoundLaunch<'_>,
        index: usize,
        farm: &mut Deployment,
    ) -> Result<usize, LabError> {
        if index > 0 {
            return Ok(index);
        }
        let message = "the server exited after validation".to_owned();
        let fault = Fault { stage: Stage::Validate, message, transient: false };
        self.spoiled(turn, &fault, &farm.log_tail())
    }

    /// An error before the first load of a launch: recorded for all its cells. Returns how many there are.
    fn spoiled(&mut self, turn: &RoundLaunch<'_>, fault: &Fault, log_tail: &str) -> Result<usize, LabError> {
        for cell in &turn.planned.cells {
            let trial = trial::failed(self.begin(turn, cell), fault.clone(), log_tail.to_owned());
            self.keep(&trial)?;
        }
        Ok(turn.planned.cells.len())
    }

    /// Warms the launch up, unless the plan or a first run excludes it.
    fn warm_up(
        &mut self,
        turn: &RoundLaunch<'_>,
        farm: &mut Deployment,
        folder: &Path,
    ) -> Result<(), LaunchError> {
        if self.bench.steady_within.is_zero() || !turn.planned.is_warmed() {
            return Ok(());
        }
        (self.listener)(RoundEvent::WarmingUp { launch: turn.planned, outlook: &self.outlook });
        let starter = self.bench.starter;
        let warmer = Warmer {
            generator: self.bench.own_generator,
            shepherd: &starter.shepherd,
            cores: &turn.pinning.generator,
            folder,
            limit: self.bench.steady_within,
            interrupt: starter.interrupt,
        };
        let warm_up = warmer.warm_up(farm, &turn.planned.cells)?;
        farm.warmed(warm_up);
        Ok(())
    }

    fn workloads_of(&self, cells: &[Cell]) -> Vec<Arc<Workload>> {
        let needed = |workload: &&Arc<Workload>| cells.iter().any(|cell| cell.case.workload == workload.name);
        self.bench.workloads.iter().filter(needed).cloned().collect()
    }

    fn begin(&mut self, turn: &RoundLaunch<'_>, cell: &Cell) -> Trial {
        let place = TrialContext {
            round: self.sitting.round,
            sitting: self.sitting.sitting,
            launch: &turn.id,
            block: turn.planned.block,
            server: turn.server,
            pinning: turn.pinning,
        };
        let order = self.order;
        self.order += 1;
        trial::begin(&place, cell, (self.bench.new_id)(), order, (self.bench.now)())
    }

    /// A server that could not be built: recorded for all its cells.
    fn all_failed(&mut self, planned: &PlannedLaunch, fault: &Fault, log_tail: &str) -> Result<(), LabError> {
        let server = planned.server.record(String::new());
        let pinning = self.pinning(planned, None);
        let id = (self.bench.new_id)();
        let turn = RoundLaunch { planned, id, server: &server, pinning: &pinning, held: None };
        for cell in &planned.cells {
            let trial = trial::failed(self.begin(&turn, cell), fault.clone(), log_tail.to_owned());
            self.keep(&trial)?;
        }
        Ok(())
    }
}

/// Adds the cores of a database on another machine: those that the server does not use there.
fn with_database_apart(pinning: Pinning, held: &ReservedMachines) -> Pinning {
    let all = held.database().map(|node| node.cores().concat()).unwrap_or_default();
    let is_free = |core: &u32| !held.is_one_machine() || !pinning.server.contains(core);
    let free: Vec<u32> = all.iter().copied().filter(is_free).collect();
    Pinning { database: if free.is_empty() { all } else { free }, ..pinning }
}

/// The cores for each process of a balanced launch, if the balancer is on another machine; `here` splits those of this
/// one.
fn balanced_apart(
    held: &ReservedMachines,
    wanted: CoresWanted,
    instances: u32,
    here: impl FnOnce() -> Pinning,
) -> Pinning {
    let balancer = held.balancer().map(|node| (node.host(), node.cores()));
    match (held.server(), balancer) {
        (Some(server), Some((host, cores))) => {
            let own = (host != server.host()).then_some(cores);
            Cores::balanced_apart(server.cores(), wanted, instances, own)
        }
        (_, Some((_, cores))) => Pinning { balancer: cores.concat(), ..here() },
        (_, None) => here(),
    }
}

/// The verdict on a server that did not become idle: it is restarted, unless all of its launch belongs together.
fn busy_after_load(rest: &IdleWait, is_whole: bool) -> Option<Verdict> {
    let IdleWait::Never { cores } = rest else { return None };
    let consequence = match is_whole {
        true => "Unfinished work slowed the next load of the launch; measure that load again alone.",
        false => "The server was restarted for the next load.",
    };
    let finding = TypedVerdict::BusyAfterLoad {
        waited_s: REST_MOST.as_secs_f64(),
        cores_used: *cores,
        is_whole,
        consequence,
    };
    Some(finding.verdict())
}
