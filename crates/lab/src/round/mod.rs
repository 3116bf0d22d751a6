//! A round: carries out a plan in one environment, launch by launch, and keeps each trial when it ends.
//!
//! The binary supplies the plan's order, a [`TrialStore`] and a listener for [`RoundEvent`]s; it also stores the
//! round's own record. Kept trials are skipped, so that an interrupted round and a resumed one are the same code.
//! Trials that the environment spoiled are retried once at the end.

mod attempts;
mod estimate;
mod full_rates;
mod profile;
mod round_launch;
mod start;

pub use attempts::{TrialStore, TrialStoreError};
pub use estimate::RoundEstimate;

use crate::balancer_launch::Balancers;
use crate::core_distance::CoreDistances;
use crate::database::Databases;
use crate::fleet::Fleet;
use crate::generator::LoadGenerator;
use crate::launch::LaunchError;
use crate::provision::framework_package;
use crate::{Cores, LabError, Provisioner, Starter, StepOutcome};
use attempts::{Pass, RoundAttempts};
use full_rates::FullRates;
use paceline_catalogue::{Balancer, CoresWanted, Database, LaunchWarmUp, Manifest, PlannedLaunch, Workload};
use paceline_host::Neighbours;
use paceline_host::private_network::outside;
use paceline_record::{Environment, Fault, Run, Server, Stage, Trial};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long a long round observes its cores before the first launch. The host was seen to move them every ten to thirty
/// seconds.
const MAX_OBSERVATION: Duration = Duration::from_secs(30);

/// The means to carry out the trials of a sitting.
pub struct RoundContext<'a> {
    /// Builds servers.
    pub provisioner: &'a Provisioner,
    /// Starts servers.
    pub starter: &'a Starter,
    /// Generates the load.
    pub generator: &'a dyn LoadGenerator,
    /// The command of Paceline's own generator, for warm-ups.
    pub own_generator: &'a [String],
    /// The warm-up of each launch before its loads.
    pub warm_up: LaunchWarmUp,
    /// Other rounds on this machine; `None` if they cannot be detected.
    pub neighbours: Option<&'a Neighbours>,
    /// The allowed cores, before any thread was pinned.
    pub cores: &'a Cores,
    /// Every workload of the plan, with all its cases.
    pub workloads: &'a [Arc<Workload>],
    /// Every balancer of the plan.
    pub balancers: &'a [Arc<Balancer>],
    /// Every database of the plan.
    pub databases: &'a [Arc<Database>],
    /// The other machines of the round.
    pub fleet: Option<&'a Fleet>,
    /// Whether other rounds may run on this machine meanwhile: then nothing is delayed or repeated because of its cores.
    pub shares_machine: bool,
    /// The machine as it is now, for runs of generators that do not record it.
    pub environment: &'a Environment,
    /// A folder for files between generator and lab; its contents are not needed afterwards.
    pub scratch: PathBuf,
    /// A folder for the expected bodies; they are kept.
    pub bodies: PathBuf,
    /// Whether each server is profiled after all trials.
    pub is_profiled: bool,
    /// The wall clock in RFC 3339.
    pub now: fn() -> String,
    /// Makes a new id.
    pub new_id: fn() -> String,
}

/// The round and the current sitting.
#[derive(Clone, Copy, Debug)]
pub struct CurrentSitting<'a> {
    /// The round.
    pub round: &'a str,
    /// The sitting.
    pub sitting: &'a str,
    /// The seed of the round's orders.
    pub seed: u64,
    /// The keys of cells that were planned when the round began, and that are no longer in any launch.
    pub gone: &'a [String],
}

/// An event, for display.
#[derive(Clone, Copy, Debug)]
pub enum RoundEvent<'a> {
    /// A server is checked, and built if it changed.
    Building {
        /// Its id.
        server: &'a str,
        /// The number of servers.
        of: usize,
        /// The number of this one, from 1.
        nth: usize,
    },
    /// A server, a database or a balancer cannot be used; all its trials record this fault.
    CannotUse {
        /// Its id.
        id: &'a str,
        /// The reason.
        fault: &'a Fault,
    },
    /// A server is being started.
    Launching {
        /// The launch.
        launch: &'a PlannedLaunch,
        /// The rest of the round.
        estimate: &'a RoundEstimate,
    },
    /// A launch is warmed up until it no longer becomes faster.
    WarmingUp {
        /// The launch.
        launch: &'a PlannedLaunch,
        /// The rest of the round.
        estimate: &'a RoundEstimate,
    },
    /// A trial is in progress.
    Loading {
        /// The trial as far as it is known.
        trial: &'a Trial,
        /// The rest of the round.
        estimate: &'a RoundEstimate,
    },
    /// A trial has ended and is kept.
    Kept {
        /// The trial.
        trial: &'a Trial,
        /// The rest of the round.
        estimate: &'a RoundEstimate,
    },
    /// A server is started again for a profile; all trials are kept.
    Profiling {
        /// The launch, with the only load.
        launch: &'a PlannedLaunch,
    },
    /// A server was profiled.
    Profiled {
        /// The launch.
        launch: &'a PlannedLaunch,
        /// The run with its profile, or why there is none; or why there is no run.
        run: Result<&'a Run, &'a str>,
    },
    /// The trials that the environment spoiled are retried.
    Again {
        /// How many trials.
        trials: usize,
    },
}

/// The result of a round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoundSummary {
    /// The cells without a usable trial in any repeat, by name.
    pub unusable: Vec<String>,
}

/// Carries out the rest of a round's `launches`.
///
/// # Errors
/// [`LabError::Interrupted`] on Ctrl-C, with the current trial abandoned and its server stopped; [`LabError::Keep`]
/// when a trial could not be kept; [`LabError::File`] when the scratch folder cannot be made. The round can be resumed
/// after each.
pub fn carry_out(
    context: &RoundContext<'_>,
    sitting: CurrentSitting<'_>,
    launches: &[PlannedLaunch],
    trial_store: &mut dyn TrialStore,
    listener: &mut dyn FnMut(RoundEvent<'_>),
) -> Result<RoundSummary, LabError> {
    let kept = trial_store.kept().map_err(|source| LabError::Keep { source })?;
    let tally = RoundAttempts::from_trials(&kept);
    let estimate = RoundEstimate::new(launches, context.warm_up, &tally);
    let full_rates = FullRates::from_trials(&kept);
    let may_be_moved = context.environment.virtual_machine && !context.shares_machine;
    let core_distances = CoreDistances::from_trials(&kept, may_be_moved);
    let servers = BTreeMap::new();
    let mut round = RunningRound {
        context,
        sitting,
        trial_store,
        listener,
        tally,
        estimate,
        full_rates,
        core_distances,
        servers,
        order: 0,
    };
    round.build(launches)?;
    round.check_others()?;
    round.observe_cores()?;
    for launch in round.tally.left(launches, Pass::First) {
        round.launch(launch)?;
    }
    let again = round.tally.left(launches, Pass::Again);
    let trials = again.iter().map(|launch| launch.cells.len()).sum();
    if trials > 0 {
        (round.listener)(RoundEvent::Again { trials });
        round.estimate.add(&again);
    }
    for launch in again {
        round.launch(launch)?;
    }
    if context.is_profiled {
        round.profile(launches);
    }
    Ok(RoundSummary { unusable: round.tally.unusable(launches, sitting.gone) })
}

/// A server's receipt, or why it cannot be used, with the end of the log.
type BuildResult = Result<Server, (Fault, String)>;

struct RunningRound<'a> {
    context: &'a RoundContext<'a>,
    sitting: CurrentSitting<'a>,
    trial_store: &'a mut dyn TrialStore,
    listener: &'a mut dyn FnMut(RoundEvent<'_>),
    tally: RoundAttempts,
    estimate: RoundEstimate,
    full_rates: FullRates,
    core_distances: CoreDistances,
    servers: BTreeMap<String, BuildResult>,
    order: u32,
}

impl RunningRound<'_> {
    /// Builds every server that is still needed, before any thread is pinned or any trial measured.
    fn build(&mut self, launches: &[PlannedLaunch]) -> Result<(), LabError> {
        let left =
            self.tally.left(launches, Pass::First).into_iter().chain(self.tally.left(launches, Pass::Again));
        let servers: BTreeMap<String, Arc<Manifest>> =
            left.map(|launch| (launch.server.id.clone(), launch.server)).collect();
        let of = servers.len();
        for (index, (id, server)) in servers.into_iter().enumerate() {
            (self.listener)(RoundEvent::Building { server: &id, of, nth: index + 1 });
            let built = match self.receipt(&server) {
                Err(LabError::Interrupted) => return Err(LabError::Interrupted),
                Err(error) => Err(fault_of(error)),
                Ok(receipt) => Ok(receipt),
            };
            if let Err((fault, _)) = &built {
                (self.listener)(RoundEvent::CannotUse { id: &id, fault });
            }
            self.servers.insert(id, built);
        }
        Ok(())
    }

    /// Reports databases and balancers that this machine lacks before the first trial, not when it fails.
    /// Other machines report theirs when a launch reaches them.
    fn check_others(&mut self) -> Result<(), LabError> {
        let RoundContext { provisioner, starter, databases, balancers, fleet, .. } = *self.context;
        if fleet.is_some() {
            return Ok(());
        }
        let with_databases = Databases { provisioner, starter };
        let with_balancers = Balancers { provisioner, starter };
        let databases = databases.iter().map(|one| (&one.id, with_databases.receipt(one).map(drop)));
        let balancers = balancers.iter().map(|one| (&one.id, with_balancers.receipt(one).map(drop)));
        for (id, receipt) in databases.chain(balancers) {
            match receipt {
                Err(LaunchError::Interrupted) => return Err(LabError::Interrupted),
                Err(LaunchError::Fault { fault, .. }) => {
                    (self.listener)(RoundEvent::CannotUse { id, fault: &fault });
                }
                Ok(()) => {}
            }
        }
        Ok(())
    }

    /// Learns how far apart the cores usually are, for a hundredth of the round, if they may be moved.
    fn observe_cores(&mut self) -> Result<(), LabError> {
        let length = self.estimate.left().mul_f64(0.01).min(MAX_OBSERVATION);
        let pinning = self.context.cores.split(CoresWanted::One);
        self.core_distances.observe(&pinning, length, self.context.starter.interrupt)
    }

    fn receipt(&self, server: &Manifest) -> Result<Server, LabError> {
        let _made: StepOutcome = self.context.provisioner.build(server, false)?;
        let versions = self.context.provisioner.versions(server)?;
        let framework_package = framework_package(server, &versions);
        Ok(Server { framework_package, ..server.record(versions) })
    }

    fn keep(&mut self, trial: &Trial) -> Result<(), LabError> {
        // A store may be on another machine, and its connection may have to be opened again.
        outside(|| self.trial_store.keep(trial)).map_err(|source| LabError::Keep { source })?;
        self.tally.count(trial);
        self.full_rates.learn(trial);
        self.estimate.trial_done(trial);
        (self.listener)(RoundEvent::Kept { trial, estimate: &self.estimate });
        Ok(())
    }
}

/// The fault of a failed build in a record. The end of the command's log is the log tail.
fn fault_of(error: LabError) -> (Fault, String) {
    let stage = match &error {
        LabError::Command(failed) if failed.step == "build" => Stage::Build,
        _ => Stage::Setup,
    };
    let (message, tail) = match error {
        LabError::Command(failed) => {
            (format!("{} {}: {}", failed.step, failed.how, failed.command), failed.tail)
        }
        other => {
            let hint = other.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            (format!("{other}{hint}"), String::new())
        }
    };
    (Fault { stage, message, transient: false }, tail)
}
