//! Opens a round: a new one from a plan or flags, or an unfinished one from the store.
//!
//! Called by `mod.rs`, also for `--estimate`, which begins nothing. An opened round is locked and kept; no server has
//! started yet.

use super::flags::{PlanFlags, ResumeFlags};
use super::new_round::{for_machine, new_round};
use super::plan::PlannedRound;
use super::{generator, machine, resume};
use crate::documents::EstimateDocument;
use crate::store_location;
use paceline_catalogue::estimate as estimate_of;
use paceline_catalogue::{Balancer, Catalogue, Database, LaunchWarmUp, PlannedLaunch, Resolution, Workload};
use paceline_host::{FileLock, Id, Neighbours};
use paceline_lab::LoadGenerator;
use paceline_record::{Environment, Round, Sitting};
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
    let PlannedRound { round, resolution, launches, warm_up, .. } =
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

/// The round that the flags select, locked for this process.
fn locked(
    plan_flags: &PlanFlags,
    resume_flags: &ResumeFlags,
    catalogue: &Catalogue,
    store: &Store,
) -> anyhow::Result<(PlannedRound, Option<FileLock>)> {
    let Some(id) = &resume_flags.resume else {
        let begun = new_round(plan_flags, catalogue, environment::read(), None)?;
        let lock = machine::lock_round(&Id::parse(&begun.round.id)?, store)?;
        return Ok((begun, lock));
    };
    let (mut begun, lock) = resume::resumed(id, plan_flags.plan.as_deref(), resume_flags, catalogue, store)?;
    let ignored = resume::ignored_warm_up(plan_flags.steady_within, begun.warm_up);
    begun.resolution.notes.extend(ignored);
    Ok((begun, lock))
}

/// Opens the round that the flags select, and keeps it.
pub fn open(
    plan_flags: &PlanFlags,
    resume_flags: &ResumeFlags,
    catalogue: &Catalogue,
    store: &Store,
) -> anyhow::Result<OpenedRound> {
    let is_resumed = resume_flags.resume.is_some();
    let (mut begun, lock) = locked(plan_flags, resume_flags, catalogue, store)?;
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
    let PlannedRound { mut round, mut resolution, launches, gone, warm_up } = begun;
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
