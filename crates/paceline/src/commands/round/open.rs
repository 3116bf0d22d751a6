//! Opens a round: a new one from a plan or flags, or one in the store that was not finished.
//!
//! Called by `mod.rs`, for `--estimate` too, which begins nothing. What a plan means, what of it fits into its time and
//! in which order it runs is the lab's. When this is done the round is claimed and kept; no server has started yet.

use super::flags::{Asked, Carrying};
use super::progress::people;
use super::{alone, generator, tune};
use crate::exit::Complaint;
use crate::places::complain;
use crate::{environment, kept, moment};
use paceline_lab::{
    AdHoc, Balancer, Catalogue, Claim, Cores, Generator, Outlook, Plan, PlannedLaunch, Resolution, Room,
    Select, Tuning, Workload, fresh_seed, order,
};
use paceline_record::{Environment, Round, SCHEMA, Sitting};
use paceline_store::Store;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A round that is kept in the store and can be carried out.
pub struct Opened {
    /// Its record.
    pub round: Round,
    /// The sitting that begins.
    pub sitting: String,
    /// Every launch of the plan, in order.
    pub launches: Vec<PlannedLaunch>,
    /// Every workload it needs, whole.
    pub workloads: Vec<Arc<Workload>>,
    /// Every balancer it needs.
    pub balancers: Vec<Arc<Balancer>>,
    /// What the plan left out, for people.
    pub notes: Vec<String>,
    /// Whether it was begun before.
    pub is_resumed: bool,
    /// What puts load on servers.
    pub generator: Box<dyn Generator + Send>,
    /// Whose round runs on this machine too, where that was allowed.
    pub shares_with: Option<String>,
    /// What was changed of the machine, to be put back.
    pub tuning: Option<Tuning>,
    /// Nobody else carries the round on, nor another on this machine, while these live.
    _claims: Vec<Claim>,
}

/// What a new round would come to, for people; nothing is begun.
pub fn estimate(asked: &Asked, catalogue: &Catalogue) -> anyhow::Result<String> {
    let (round, resolution, launches) = new_round(asked, catalogue)?;
    let servers: BTreeSet<&str> = launches.iter().map(|launch| launch.server.id.as_str()).collect();
    let repeats = launches.iter().map(|launch| launch.block + 1).max().unwrap_or(0);
    let trials: usize = launches.iter().map(|launch| launch.cells.len()).sum();
    let length = people(Outlook::of(&launches).left());
    let lines = round.changes.iter().map(|change| format!("not as the plan says: {change}"));
    let told = format!(
        "plan {}: {} servers, {} cells, {repeats} repeats, {} launches, {trials} trials; about {length}",
        round.plan,
        servers.len(),
        resolution.cells.len(),
        launches.len()
    );
    Ok(resolution.notes.into_iter().chain(lines).chain([told]).collect::<Vec<_>>().join("\n"))
}

/// Opens the round that the flags mean, and keeps it.
pub fn open(
    asked: &Asked,
    carrying: &Carrying,
    catalogue: &Catalogue,
    store: &Store,
) -> anyhow::Result<Opened> {
    let is_resumed = carrying.resume.is_some();
    let (mut round, mut resolution, launches, mut claims) = match &carrying.resume {
        Some(id) => resumed(id, asked.plan.as_deref(), catalogue, store)?,
        None => {
            let (round, resolution, launches) = new_round(asked, catalogue)?;
            let claim = alone::with_round(&round.id, catalogue)?;
            (round, resolution, launches, vec![claim])
        }
    };
    let generator = generator::of_round(&mut round, carrying.generator.as_deref())?;
    let (on_machine, shares_with) = alone::on_machine(&round.id, carrying.share_machine)?;
    claims.extend(on_machine);
    round.planned = launches.iter().map(|launch| launch.cells.len() as u32).sum();
    let sitting = moment::new_id();
    let tuning = tune::begin(carrying, catalogue, shares_with.as_deref(), &mut resolution.notes)?;
    let was_tuned = round.sittings.iter().any(|sitting| !sitting.tuned.is_empty());
    if tuning.is_none() && was_tuned {
        let note =
            "the round was begun with --tune, and goes on without: what runs now has tables of its own";
        resolution.notes.push(note.to_owned());
    }
    let tuned = tuning.as_ref().map(|tuning| tuning.settings().to_vec()).unwrap_or_default();
    if tuning.is_some() && !is_resumed {
        round.environment = environment::read();
    }
    round.sittings.push(Sitting { id: sitting.clone(), started_at: moment::now_rfc3339(), tuned });
    round.finished_at = None;
    store.put_round(&round).map_err(kept::complain)?;
    let Resolution { workloads, balancers, notes, .. } = resolution;
    Ok(Opened {
        round,
        sitting,
        launches,
        workloads,
        balancers,
        notes,
        is_resumed,
        generator,
        shares_with,
        tuning,
        _claims: claims,
    })
}

/// The round to carry on with its plan, claimed for this process.
fn resumed(
    id: &str,
    plan: Option<&str>,
    catalogue: &Catalogue,
    store: &Store,
) -> anyhow::Result<(Round, Resolution, Vec<PlannedLaunch>, Vec<Claim>)> {
    let id = unfinished(id, plan, catalogue, store)?.id;
    let claim = alone::with_round(&id, catalogue)?;
    // Read once it is ours: another may just have carried it on.
    let round = store.find_round(&id).map_err(kept::complain)?;
    let plan = Plan::parse(&format!("round {id}"), &round.plan_toml).map_err(complain)?;
    let resolution = plan.resolve(catalogue).map_err(complain)?;
    let launches = order(&resolution.cells, plan.repeats, round.seed);
    Ok((round, resolution, launches, vec![claim]))
}

/// A new round with the plan as it is to be carried out on this machine, within its time.
fn new_round(
    asked: &Asked,
    catalogue: &Catalogue,
) -> anyhow::Result<(Round, Resolution, Vec<PlannedLaunch>)> {
    let (asked_for, mut changes) = plan(asked, catalogue)?;
    // Drawn here where the plan has none, so that the kept plan always has one.
    let seed = asked_for.seed.unwrap_or_else(fresh_seed);
    let environment = environment::read();
    let sized = Plan { seed: Some(seed), ..asked_for }.sized(asked.full, room(&environment));
    changes.extend(sized.changes);
    let resolution = sized.plan.resolve(catalogue).map_err(complain)?;
    let of = |repeats| order(&resolution.cells, repeats, seed);
    let (fitting, launches) = sized.plan.within_budget(of).map_err(complain)?;
    changes.extend(fitting.changes);
    let plan = fitting.plan;
    let round = Round {
        schema: SCHEMA,
        id: moment::new_id(),
        plan: plan.name.clone(),
        plan_toml: plan.to_toml().map_err(complain)?,
        seed,
        started_at: moment::now_rfc3339(),
        finished_at: None,
        generator: None,
        planned: 0,
        environment,
        sittings: Vec::new(),
        changes,
        observed: plan.observed.clone(),
    };
    Ok((round, resolution, launches))
}

/// What this process has room for: the cores it may use, of all that the machine has.
fn room(machine: &Environment) -> Room {
    let cores = Cores::allowed().map_or(machine.cores, |cores| cores.numbers().len() as u32);
    Room { cores, open_files: machine.open_files_hard }
}

/// The round to carry on: by the beginning of its id, else the newest unfinished one, of the plan if one is named.
fn unfinished(id: &str, plan: Option<&str>, catalogue: &Catalogue, store: &Store) -> anyhow::Result<Round> {
    if !id.is_empty() {
        return store.find_round(id).map_err(kept::complain);
    }
    let Some(plan) = plan else {
        return store
            .newest_unfinished()
            .map_err(kept::complain)?
            .ok_or_else(|| nothing_to_resume("", store));
    };
    let name = catalogue.plan(plan).map_err(complain)?.name;
    let newest = kept::readable_rounds(store)?
        .into_iter()
        .find(|round| round.finished_at.is_none() && round.plan == name);
    newest.ok_or_else(|| nothing_to_resume(&format!(" of plan {name}"), store))
}

fn nothing_to_resume(which: &str, store: &Store) -> anyhow::Error {
    Complaint::usage(format!("no unfinished round{which} in {}", store.path().display()))
        .hint("leave --resume out to begin a new round")
        .into()
}

/// The plan that is asked for, and what the flags changed of it, for people.
fn plan(asked: &Asked, catalogue: &Catalogue) -> anyhow::Result<(Plan, Vec<String>)> {
    let Some(name) = &asked.plan else { return Ok((ad_hoc(asked)?, Vec::new())) };
    let plan = catalogue.plan(name).map_err(complain)?;
    let seed = asked.seed.or(plan.seed);
    let (changed, told) = with_repeats(Plan { seed, ..plan }, asked.repeats, asked.full);
    // Read back, so that what a flag changed is held to the same rules.
    let text = changed.to_toml().map_err(complain)?;
    Ok((Plan::parse(name, &text).map_err(complain)?, told.into_iter().collect()))
}

/// The plan with as many repeats as `--repeats` says, all of it or not, and what to tell where it has another number.
fn with_repeats(plan: Plan, repeats: Option<u32>, is_full: bool) -> (Plan, Option<String>) {
    let Some(repeats) = repeats else { return (plan, None) };
    let written = plan.full_repeats.filter(|_| is_full).map_or(plan.repeats, |full| full.max(plan.repeats));
    let told = (repeats != written).then(|| format!("{repeats} instead of {written} repeats, by --repeats"));
    (Plan { repeats, full_repeats: None, ..plan }, told)
}

fn ad_hoc(asked: &Asked) -> anyhow::Result<Plan> {
    if asked.servers.is_empty() && asked.workloads.is_empty() {
        return Err(Complaint::usage("nothing to measure: neither a plan nor --servers was given")
            .hint("paceline round plans/quick.toml, or paceline round --servers 'go-*' --workloads hello")
            .into());
    }
    let usual = AdHoc::default();
    let or_usual =
        |given: &Vec<String>, usual: Vec<String>| if given.is_empty() { usual } else { given.clone() };
    let select = if asked.servers.is_empty() {
        usual.select
    } else {
        Select { servers: asked.servers.clone(), ..Select::default() }
    };
    let flags = AdHoc {
        select,
        workloads: or_usual(&asked.workloads, usual.workloads),
        forms: or_usual(&asked.forms, usual.forms),
        repeats: asked.repeats.unwrap_or(usual.repeats),
        connections: asked.connections.unwrap_or(usual.connections),
        depth: asked.pipeline.unwrap_or(usual.depth),
        rates_per_s: asked.rate.clone(),
        duration: asked.duration.unwrap_or(usual.duration),
        warmup: asked.warmup.unwrap_or(usual.warmup),
        seed: asked.seed,
    };
    flags.plan().map_err(complain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_lab::pin_self;

    #[test]
    fn repeats_by_a_flag_are_told_and_hold() {
        let text = "name = \"p\"\nrepeats = 3\nfull_repeats = 9\nworkloads = [\"hello\"]\n\
                    [[load]]\nname = \"a\"\nconnections = 1\nduration = \"1s\"\n";
        let changed = |repeats, is_full| {
            let (plan, told) = with_repeats(Plan::parse("p", text).unwrap(), repeats, is_full);
            let room = Room { cores: 1, open_files: 1024 };
            (plan.sized(is_full, room).plan.repeats, told.unwrap_or_default())
        };
        assert_eq!(changed(None, false), (3, String::new()));
        assert_eq!(changed(None, true), (9, String::new()));
        assert_eq!(changed(Some(3), false), (3, String::new()));
        assert_eq!(changed(Some(2), false), (2, "2 instead of 3 repeats, by --repeats".into()));
        assert_eq!(changed(Some(2), true), (2, "2 instead of 9 repeats, by --repeats".into()));
    }

    #[test]
    fn there_is_room_on_the_cores_that_may_be_used() {
        let all = Cores::allowed().unwrap().numbers();
        let machine = Environment { cores: all.len() as u32 + 7, ..Environment::default() };
        assert_eq!(room(&machine).cores, all.len() as u32);
        // A thread of its own: what it may use is its own matter, and no other test's.
        let pinned = std::thread::spawn(move || {
            pin_self(&all[..1]).unwrap();
            room(&machine).cores
        });
        assert_eq!(pinned.join().unwrap(), 1);
    }
}
