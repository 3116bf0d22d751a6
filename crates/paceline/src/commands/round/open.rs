//! Opens a round: a new one from a plan or flags, or an unfinished one from the store.
//!
//! Called by `mod.rs`, also for `--estimate`, which begins nothing. The lab resolves the plan, fits it to its time
//! budget and orders it. Afterwards the round is locked and kept; no server has started yet.

use super::flags::{PlanFlags, ResumeFlags};
use super::plan::NewRound;
use super::{generator, machine, plan, resume};
use crate::documents::EstimateDocument;
use crate::exit::Complaint;
use crate::lab_folders::complain;
use crate::store_location;
use paceline_catalogue::estimate as estimate_of;
use paceline_catalogue::{
    Balancer, Catalogue, Cell, Database, LaunchWarmUp, MachineCapacity, Plan, PlannedLaunch, Resolution,
    STEADY_WITHIN, Workload, fresh_seed, order,
};
use paceline_experiment::Objective;
use paceline_host::{FileLock, Id, Neighbours};
use paceline_lab::{Cores, LoadGenerator};
use paceline_record::{Environment, Round, SCHEMA, Sitting};
use paceline_run::{environment, wall_clock};
use paceline_stats::{counted, span_text};
use paceline_store::Store;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A round that is kept in the store and ready to run.
pub struct OpenedRound {
    /// Its record.
    pub round: Round,
    /// The sitting that begins.
    pub sitting: String,
    /// Every launch of the plan, in order.
    pub launches: Vec<PlannedLaunch>,
    /// How each launch is warmed up.
    pub warm_up: LaunchWarmUp,
    /// Every workload it needs, with all its cases.
    pub workloads: Vec<Arc<Workload>>,
    /// Every balancer it needs.
    pub balancers: Vec<Arc<Balancer>>,
    /// Its databases.
    pub databases: Vec<Arc<Database>>,
    /// What the plan left out, as text.
    pub notes: Vec<String>,
    /// Whether it is resumed.
    pub is_resumed: bool,
    /// The keys of its original cells that can no longer be measured.
    pub gone: Vec<String>,
    /// The machine as it is now; the round's record has its state when the round began.
    pub environment: Environment,
    /// The load generator.
    pub generator: Box<dyn LoadGenerator + Send>,
    /// Other rounds that already run on this machine, if sharing it is allowed.
    pub shares_with: Option<String>,
    /// Detects other rounds on this machine at any time.
    pub neighbours: Option<Neighbours>,
    /// Changed settings of the machine, to be restored.
    pub held: machine::MachineSettings,
    /// The lock: no other process can resume the round while this value lives.
    _lock: Option<FileLock>,
}

/// The size and duration of a new round; nothing is begun.
pub fn estimate(plan_flags: &PlanFlags, catalogue: &Catalogue) -> anyhow::Result<EstimateDocument> {
    let NewRound { round, resolution, launches, warm_up, .. } =
        new_round(plan_flags, catalogue, environment::read(), None)?;
    let servers: BTreeSet<&str> = launches.iter().map(|launch| launch.server.id.as_str()).collect();
    Ok(EstimateDocument {
        servers: servers.len(),
        combinations: resolution.cells.len(),
        repeats: launches.iter().map(|launch| launch.block + 1).max().unwrap_or(0),
        launches: launches.len(),
        trials: launches.iter().map(|launch| launch.cells.len()).sum(),
        expected_s: estimate_of(&launches, warm_up).as_secs(),
        plan: round.plan,
        changes: round.changes,
        notes: resolution.notes,
    })
}

/// The estimate in words.
pub fn estimate_text(estimate: &EstimateDocument) -> String {
    let changes = estimate.changes.iter().map(|change| format!("different from the plan: {change}\n"));
    let notes = estimate.notes.iter().map(|note| format!("{note}\n"));
    let lines: String = notes.chain(changes).collect();
    format!(
        "{lines}plan {}: {}, {} of server, workload and load, {}, {}, {}; about {}\n",
        estimate.plan,
        counted(estimate.servers, "server", "servers"),
        counted(estimate.combinations, "combination", "combinations"),
        counted(estimate.repeats, "repeat", "repeats"),
        counted(estimate.launches, "launch", "launches"),
        counted(estimate.trials, "trial", "trials"),
        span_text(estimate.expected_s)
    )
}

/// Opens the round that the flags select, and keeps it.
pub fn open(
    plan_flags: &PlanFlags,
    resume_flags: &ResumeFlags,
    catalogue: &Catalogue,
    store: &Store,
) -> anyhow::Result<OpenedRound> {
    let is_resumed = resume_flags.resume.is_some();
    let (mut begun, lock) = match &resume_flags.resume {
        Some(id) => {
            let (mut begun, lock) =
                resume::resumed(id, plan_flags.plan.as_deref(), resume_flags, catalogue, store)?;
            let ignored = resume::ignored_warm_up(plan_flags.steady_within, begun.warm_up);
            begun.resolution.notes.extend(ignored);
            (begun, lock)
        }
        None => {
            let begun = new_round(plan_flags, catalogue, environment::read(), None)?;
            let lock = machine::lock_round(&Id::parse(&begun.round.id)?, store)?;
            (begun, lock)
        }
    };
    let generator = generator::of_round(&mut begun.round, resume_flags.generator()?.as_deref())?;
    // Its machines are checked before anything is stored: a resumed round has them in its generator's command.
    resume_flags.fleet(begun.round.generator.as_deref(), None)?;
    let (neighbours, shares_with) = machine::join_machine(
        &Id::parse(&begun.round.id)?,
        resume_flags.share_machine,
        &mut begun.resolution.notes,
    )?;
    let sitting = wall_clock::new_id();
    let held =
        machine::hold_settings(resume_flags, catalogue, shares_with.as_deref(), &mut begun.resolution.notes)?;
    // Read after tuning. A resumed round may be on another machine now.
    let environment = environment::read();
    if !is_resumed {
        begun = for_machine(begun, plan_flags, catalogue, &environment)?;
    }
    let NewRound { mut round, mut resolution, launches, gone, warm_up } = begun;
    let was_tuned = round.sittings.iter().any(|sitting| !sitting.tuned.is_empty());
    if held.settings.is_empty() && was_tuned {
        let note = "the round began with --tune or --quiet-cpu and is resumed without it: the machine's settings now differ, so the new trials get separate tables";
        resolution.notes.push(note.to_owned());
    }
    let tuned = held.settings.clone();
    round.sittings.push(Sitting { id: sitting.clone(), started_at: wall_clock::now_rfc3339(), tuned });
    round.finished_at = None;
    // A new round that cannot be stored cannot be resumed.
    let put = store.put_round(&round).map_err(store_location::complain);
    put.map_err(|error| if is_resumed { store_location::resumable(&error, &round.id) } else { error })?;
    let Resolution { workloads, balancers, databases, notes, .. } = resolution;
    Ok(OpenedRound {
        round,
        sitting,
        launches,
        warm_up,
        workloads,
        balancers,
        databases,
        notes,
        is_resumed,
        gone,
        environment,
        generator,
        shares_with,
        neighbours,
        held,
        _lock: lock,
    })
}

/// Checks the objectives of a plan's searches, which the catalogue does not parse.
fn check_objectives(plan: &Plan) -> anyhow::Result<()> {
    for load in &plan.load {
        if let Some(objective) = &load.objective {
            Objective::parse(objective).map_err(|error| {
                Complaint::usage(format!("plan `{}`: load `{}`: {error}", plan.name, load.name))
            })?;
        }
    }
    Ok(())
}

/// A new round with the plan sized for a machine and for its time budget. If neither the flags nor the plan nor `seed`
/// has a seed, a random one is drawn.
fn new_round(
    plan_flags: &PlanFlags,
    catalogue: &Catalogue,
    environment: Environment,
    seed: Option<u64>,
) -> anyhow::Result<NewRound> {
    let (requested, mut changes) = plan::plan(plan_flags, catalogue)?;
    // Drawn here if the plan has none, so that the kept plan always has one.
    let seed = requested.seed.or(seed).unwrap_or_else(fresh_seed);
    // Kept with the plan: a round from before this setting existed is resumed with its original behaviour.
    let usual = requested.warmup.is_none().then_some(STEADY_WITHIN);
    let steady_within = requested.steady_within.or(usual);
    let requested = Plan { seed: Some(seed), steady_within, ..requested };
    let warm_up = requested.launch_warm_up();
    check_objectives(&requested)?;
    let sized = requested.sized(plan_flags.full, room(&environment)).map_err(complain)?;
    changes.extend(sized.changes);
    let resolution = sized.plan.resolve(catalogue).map_err(complain)?;
    let of = |repeats| order(&resolution.cells, repeats, seed);
    let (fitting, launches) = sized.plan.within_budget(of).map_err(complain)?;
    changes.extend(fitting.changes);
    let plan = Plan { cells: resolution.cells.iter().map(Cell::key).collect(), ..fitting.plan };
    let round = Round {
        schema: SCHEMA,
        id: wall_clock::new_id(),
        plan: plan.name.clone(),
        plan_toml: plan.to_toml().map_err(complain)?,
        seed,
        started_at: wall_clock::now_rfc3339(),
        finished_at: None,
        generator: None,
        planned: launches.iter().map(|launch| launch.cells.len() as u32).sum(),
        environment,
        sittings: Vec::new(),
        changes,
        observed: plan.observed.clone(),
    };
    Ok(NewRound { round, resolution, launches, gone: Vec::new(), warm_up })
}

/// A new round for the machine after tuning: if that gives more room, the plan is sized again.
fn for_machine(
    begun: NewRound,
    plan_flags: &PlanFlags,
    catalogue: &Catalogue,
    environment: &Environment,
) -> anyhow::Result<NewRound> {
    if room(environment) == room(&begun.round.environment) {
        let round = Round { environment: environment.clone(), ..begun.round };
        return Ok(NewRound { round, ..begun });
    }
    let again = new_round(plan_flags, catalogue, environment.clone(), Some(begun.round.seed))?;
    let Round { id, started_at, generator, .. } = begun.round;
    let round = Round { id, started_at, generator, ..again.round };
    // The notes on the plan are the same; the tuning is reported separately.
    let resolution = Resolution { notes: begun.resolution.notes, ..again.resolution };
    Ok(NewRound { round, resolution, ..again })
}

/// The resources of this process: its allowed cores, and the machine's open-file limit.
fn room(machine: &Environment) -> MachineCapacity {
    let cores = Cores::allowed().map_or(machine.cores, |cores| cores.numbers().len() as u32);
    MachineCapacity { cores, open_files: machine.open_files_hard }
}

#[cfg(test)]
mod tests {
    use super::super::flags::Arguments;
    use super::*;
    use clap::Parser as _;
    use paceline_catalogue::Scale;
    use paceline_host::pin_self;

    const SERVER: &str = "name = \"Good\"\nlanguage = \"C\"\nframework = \"none\"\nengine = \"none\"\n\
                          kind = \"platform\"\ntags = [\"idiomatic\"]\nworkloads = [\"hello\"]\nneeds = [\"sh\"]\n\
                          version = \"echo 1\"\n[run]\ncommand = \"true\"\n[forms.single]\n";
    const HELLO: &str =
        "about = \"None.\"\n[[case]]\npath = \"/\"\n[case.expect]\nstatus = 200\nbody = \"x\"\n";
    const MANY: &str = "name = \"many\"\nrepeats = 1\nscale = \"auto\"\nworkloads = [\"hello\"]\n\
                        [[load]]\nname = \"a\"\nconnections = 4096\nduration = \"1s\"\n";

    #[derive(clap::Parser)]
    struct TestFlags {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn a_plan_is_sized_to_the_machine_as_it_is_tuned() {
        let tree = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("servers/c-good/server.toml", SERVER),
            ("workloads/hello.toml", HELLO),
            ("plans/many.toml", MANY),
        ] {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let servers = tree.path().join("servers").display().to_string();
        let flags = TestFlags::parse_from(["paceline", "many", "--servers-dir", &servers]).arguments;
        let catalogue = flags.folders.catalogue().unwrap();
        let machine = |open_files_hard| Environment { cores: 2, open_files_hard, ..Environment::default() };
        let scale = |begun: &NewRound| Plan::parse("kept", &begun.round.plan_toml).unwrap().scale;

        let begun = new_round(&flags.plan_flags, &catalogue, machine(1_224), None).unwrap();
        assert_eq!((scale(&begun), begun.round.changes.len()), (Some(Scale::Factor(0.25)), 1));
        let (id, seed) = (begun.round.id.clone(), begun.round.seed);
        let same = for_machine(begun, &flags.plan_flags, &catalogue, &machine(1_224)).unwrap();
        assert_eq!(scale(&same), Some(Scale::Factor(0.25)));
        let tuned = for_machine(same, &flags.plan_flags, &catalogue, &machine(65_535)).unwrap();
        assert_eq!((scale(&tuned), tuned.round.changes.len()), (Some(Scale::Factor(1.0)), 0));
        assert_eq!((&tuned.round.id, tuned.round.seed), (&id, seed));
        assert_eq!(tuned.round.environment, machine(65_535));
        assert_eq!(tuned.launches[0].cells[0].load.connections, 4096);
    }

    #[test]
    fn the_capacity_counts_only_allowed_cores() {
        let all = Cores::allowed().unwrap().numbers();
        let machine = Environment { cores: all.len() as u32 + 7, ..Environment::default() };
        assert_eq!(room(&machine).cores, all.len() as u32);
        // In a separate thread: its affinity must not affect other tests.
        let pinned = std::thread::spawn(move || {
            pin_self(&all[..1]).unwrap();
            room(&machine).cores
        });
        assert_eq!(pinned.join().unwrap(), 1);
    }
}
