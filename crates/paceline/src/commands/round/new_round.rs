//! A new round from a plan or flags: resolved, sized for the machine, fitted to its time budget, and ordered.

use super::flags::PlanFlags;
use super::plan::{self, PlannedRound};
use crate::exit::Complaint;
use crate::lab_folders::complain;
use paceline_catalogue::{
    Catalogue, Cell, MachineCapacity, Plan, Resolution, STEADY_WITHIN, fresh_seed, order,
};
use paceline_experiment::Objective;
use paceline_lab::Cores;
use paceline_record::{Environment, Round, SCHEMA};
use paceline_run::wall_clock;

/// A new round with the plan sized for a machine and for its time budget. If neither the flags nor the plan nor `seed`
/// has a seed, a random one is drawn.
pub fn new_round(
    plan_flags: &PlanFlags,
    catalogue: &Catalogue,
    environment: Environment,
    seed: Option<u64>,
) -> anyhow::Result<PlannedRound> {
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
    Ok(PlannedRound { round, resolution, launches, gone: Vec::new(), warm_up })
}

/// A new round for the machine after tuning: if that gives more room, the plan is sized again.
pub fn for_machine(
    begun: PlannedRound,
    plan_flags: &PlanFlags,
    catalogue: &Catalogue,
    environment: &Environment,
) -> anyhow::Result<PlannedRound> {
    if room(environment) == room(&begun.round.environment) {
        let round = Round { environment: environment.clone(), ..begun.round };
        return Ok(PlannedRound { round, ..begun });
    }
    let again = new_round(plan_flags, catalogue, environment.clone(), Some(begun.round.seed))?;
    let Round { id, started_at, generator, .. } = begun.round;
    let round = Round { id, started_at, generator, ..again.round };
    // The notes on the plan are the same; the tuning is reported separately.
    let resolution = Resolution { notes: begun.resolution.notes, ..again.resolution };
    Ok(PlannedRound { round, resolution, ..again })
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
        let scale = |begun: &PlannedRound| Plan::parse("kept", &begun.round.plan_toml).unwrap().scale;

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
