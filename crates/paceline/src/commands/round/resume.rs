//! Resumes a round: finds it, and checks which of its cells can still be measured.
//!
//! Called by `open.rs` for `--resume`. The round follows the plan that is kept with it. Cells that can no longer be
//! measured are reported, kept with the round and counted when it ends; none is dropped silently.

use super::flags::ResumeFlags;
use super::machine;
use super::plan::PlannedRound;
use crate::exit::Complaint;
use crate::lab_folders::complain;
use crate::store_location;
use paceline_catalogue::{Catalogue, LaunchWarmUp, Plan, format_duration, order};
use paceline_host::{FileLock, Id, InvalidId};
use paceline_lab::FleetSettings;
use paceline_record::{ProcessRole, Round, Trial};
use paceline_stats::counted;
use paceline_store::{Store, StoreError};
use std::time::Duration;

/// How many missing cells are named when the round is resumed; all are named when it ends.
const MAX_NAMED: usize = 3;

/// The round to resume with the rest of its plan, locked for this process.
pub fn resumed(
    id: &str,
    plan: Option<&str>,
    flags: &ResumeFlags,
    catalogue: &Catalogue,
    store: &Store,
) -> anyhow::Result<(PlannedRound, Option<FileLock>)> {
    let id = find_round(id, plan, catalogue, store)?.id;
    let lock = machine::lock_round(&Id::parse(&id).map_err(|error| forged(&error, store))?, store)?;
    // Read after locking: another process may just have resumed it.
    let mut round = store.find_round(&id).map_err(store_location::complain)?;
    for sitting in &round.sittings {
        Id::parse(&sitting.id).map_err(|error| forged(&error, store))?;
    }
    let plan = Plan::parse(&format!("round {id}"), &round.plan_toml).map_err(complain)?;
    // Unreadable trials are measured again and say nothing about a cell.
    let (trials, _) = store.readable_trials(&id).map_err(store_location::complain)?;
    if let Some(fleet) = flags.fleet(round.generator.as_deref(), None)? {
        check_server_machine(&round.id, &trials, &fleet)?;
    }
    let (resolution, mut gone) = plan.resolve_resumed(catalogue, &trials).map_err(complain)?;
    let launches = order(&resolution.cells, plan.repeats, round.seed);
    let left: u32 = launches.iter().map(|launch| launch.cells.len() as u32).sum();
    if plan.cells.is_empty() {
        let of_gone = plan.repeats.saturating_mul(u32::try_from(gone.len()).unwrap_or(u32::MAX));
        gone.extend(trials_of_unknown_cells(&round, left.saturating_add(of_gone)));
    }
    round.planned = round.planned.max(left);
    if let Some(change) = without(&gone).filter(|change| !round.changes.contains(change)) {
        round.changes.push(change);
    }
    Ok((PlannedRound { round, resolution, launches, gone, warm_up: plan.launch_warm_up() }, lock))
}

/// Refuses servers on another machine than before: with Slurm, `--listen` decides where they run, and the record of a
/// round does not have it.
fn check_server_machine(round: &str, trials: &[Trial], fleet: &FleetSettings) -> anyhow::Result<()> {
    let is_elsewhere =
        |trial: &Trial| trial.machines.iter().any(|machine| machine.role == ProcessRole::Instance);
    let was_elsewhere = trials.iter().find(|trial| trial.run.is_some()).map(is_elsewhere);
    let (problem, hint) = match (was_elsewhere, fleet.has_server()) {
        (Some(false), true) => (
            "ran on this machine, and without --listen they would run on another",
            "add --listen ADDRESS, as when the round was begun",
        ),
        (Some(true), false) => (
            "ran on another machine, and with --listen they would run on this one",
            "remove --listen to continue the round as it was begun",
        ),
        _ => return Ok(()),
    };
    Err(Complaint::usage(format!("the servers of round {round} {problem}")).hint(hint).into())
}

/// The message that `--steady-within` is ignored, if the round was begun with another warm-up: its trials would not be
/// comparable. The flag is not refused, since a variable of the environment sets it too.
pub fn ignored_warm_up(asked: Option<Duration>, kept: LaunchWarmUp) -> Option<String> {
    let asked = asked.filter(|limit| kept != LaunchWarmUp::Continuous { limit: *limit })?;
    Some(format!(
        "--steady-within {} is ignored: a resumed round keeps the warm-up of launches that it was begun with",
        format_duration(asked)
    ))
}

/// Ids name folders and locks. Paceline never creates one of another form: such a store is damaged or malicious.
fn forged(error: &InvalidId, store: &Store) -> anyhow::Error {
    Complaint::usage(format!("{}: {error}", store.path().display()))
        .hint("the stored round is damaged or was not written by Paceline; it cannot be resumed")
        .into()
}

/// What is missing from a round whose cells are known neither from its record nor from its trials.
fn trials_of_unknown_cells(round: &Round, accounted_for: u32) -> Option<String> {
    let missing = round.planned.checked_sub(accounted_for).filter(|missing| *missing > 0)?;
    Some(format!(
        "unknown ones ({missing} of {} are not in the store)",
        counted(round.planned, "planned trial", "planned trials")
    ))
}

/// The message about missing cells.
fn without(gone: &[String]) -> Option<String> {
    let named = gone.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = gone.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!gone.is_empty()).then(|| {
        format!(
            "continuing without combinations of server, workload and load that no longer exist: {named}{more}"
        )
    })
}

/// The selected round: by the beginning of its id, else the newest unfinished one; of the plan if one is named.
fn find_round(id: &str, plan: Option<&str>, catalogue: &Catalogue, store: &Store) -> anyhow::Result<Round> {
    let plan = plan.map(|plan| catalogue.plan(plan)).transpose().map_err(complain)?.map(|plan| plan.name);
    if !id.is_empty() {
        return by_id(id, plan.as_deref(), catalogue, store);
    }
    let Some(name) = plan else {
        return store
            .newest_unfinished()
            .map_err(store_location::complain)?
            .ok_or_else(|| nothing_to_resume("", store));
    };
    let newest = store_location::ReadableRecords::from_read(store.readable_rounds())?
        .records
        .into_iter()
        .find(|round| round.finished_at.is_none() && round.plan == name);
    newest.ok_or_else(|| nothing_to_resume(&format!(" of plan {name}"), store))
}

fn by_id(id: &str, plan: Option<&str>, catalogue: &Catalogue, store: &Store) -> anyhow::Result<Round> {
    let round = match store.find_round(id) {
        Err(StoreError::NotFound { .. }) if is_plan(id, catalogue) => {
            return Err(Complaint::usage(format!(
                "--resume {id}: this is the name of a plan, not the id of a round"
            ))
            .hint(format!("paceline round {id} --resume continues its newest unfinished round"))
            .into());
        }
        found => found.map_err(store_location::complain)?,
    };
    match plan {
        Some(plan) if plan != round.plan => {
            let what = format!("round {} belongs to plan {}, not to {plan}", round.id, round.plan);
            Err(Complaint::usage(what)
                .hint("use --resume ID without a plan, or PLAN --resume for the newest unfinished round of the plan")
                .into())
        }
        _ => Ok(round),
    }
}

/// Whether this argument probably means a plan.
fn is_plan(text: &str, catalogue: &Catalogue) -> bool {
    text.ends_with(".toml")
        || text.contains('/')
        || catalogue.plan_names().is_ok_and(|names| names.iter().any(|name| name == text))
}

fn nothing_to_resume(which: &str, store: &Store) -> anyhow::Error {
    Complaint::usage(format!("no unfinished round{which} in {}", store.path().display()))
        .hint("remove --resume to begin a new round")
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_host::shepherd::TrackingMethod;
    use paceline_record::{ClockOffset, Environment, RoleMachine, fixture};

    #[test]
    fn the_servers_of_a_resumed_round_stay_on_their_machine() {
        let fleet = |listen: Option<&str>| FleetSettings {
            machines: "slurm".parse().unwrap(),
            loaders: None,
            listen: listen.map(|address| address.parse().unwrap()),
            queue_limit: Duration::from_secs(60),
            guard: TrackingMethod::Namespace,
            user: None,
        };
        let failed = fixture::trial();
        let here = Trial { run: Some(fixture::run(0)), ..fixture::trial() };
        let server = RoleMachine {
            role: ProcessRole::Instance,
            index: 0,
            host: "n1".to_owned(),
            environment: Environment::default(),
            clock: ClockOffset::default(),
            network: None,
        };
        let elsewhere = Trial { machines: vec![server], ..here.clone() };
        let refused = |trials: &[Trial], listen| {
            check_server_machine("r", trials, &fleet(listen)).err().map(|error| error.to_string())
        };
        let address = Some("10.0.0.1");
        assert!(refused(&[failed.clone(), here.clone()], None).unwrap().contains("without --listen"));
        assert!(refused(&[failed.clone(), elsewhere.clone()], address).unwrap().contains("with --listen"));
        for (trials, listen) in [(vec![here], address), (vec![elsewhere], None), (vec![failed], None)] {
            assert_eq!(refused(&trials, listen), None);
        }
    }

    #[test]
    fn another_warm_up_of_a_resumed_round_is_reported() {
        let seconds = Duration::from_secs;
        let kept = LaunchWarmUp::Continuous { limit: seconds(60) };
        assert_eq!(ignored_warm_up(None, kept), None);
        assert_eq!(ignored_warm_up(Some(seconds(60)), kept), None);
        let ignored = ignored_warm_up(Some(seconds(0)), kept).unwrap();
        assert!(ignored.starts_with("--steady-within 0s is ignored"), "{ignored}");
    }
}
