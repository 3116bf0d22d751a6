//! The plan of a new round: a plan file with the changes from flags, or a plan made from flags; and a round before it
//! starts.
//!
//! A changed plan is checked by the rules for plan files, and the changes are reported. The lab resolves the plan on a
//! tree of servers and fits it to a machine and its time budget.

use super::flags::PlanFlags;
use crate::exit::Complaint;
use crate::lab_folders::complain;
use paceline_catalogue::{
    AdHoc, Catalogue, LaunchWarmUp, Plan, PlannedLaunch, Resolution, Select, format_duration,
};
use paceline_record::Round;
use paceline_stats::counted;
use std::time::Duration;

/// A round before anything has been started for it.
pub struct PlannedRound {
    /// Its record.
    pub round: Round,
    /// Its resolved plan.
    pub resolution: Resolution,
    /// Every launch, in order.
    pub launches: Vec<PlannedLaunch>,
    /// The keys of its original cells that can no longer be measured.
    pub gone: Vec<String>,
    /// How each launch is warmed up.
    pub warm_up: LaunchWarmUp,
}

/// The requested plan, and what the flags changed in it, as text.
pub fn plan(flags: &PlanFlags, catalogue: &Catalogue) -> anyhow::Result<(Plan, Vec<String>)> {
    if let Some(made) = &flags.made {
        return Ok((with_steady_within(made.clone(), flags.steady_within).0, Vec::new()));
    }
    let Some(name) = &flags.plan else {
        return Ok((Plan { steady_within: flags.steady_within, ..ad_hoc(flags)? }, Vec::new()));
    };
    let plan = catalogue.plan(name).map_err(complain)?;
    let (plan, mut changes) = plan.narrowed(&flags.servers, &flags.workloads, catalogue).map_err(complain)?;
    let seed = flags.seed.or(plan.seed);
    let (plan, reported) = with_steady_within(plan, flags.steady_within);
    changes.extend(reported);
    let (changed, reported) = with_repeats(Plan { seed, ..plan }, flags.repeats, flags.full);
    changes.extend(reported);
    // Parsed again, so that changes by flags are checked by the same rules.
    let text = changed.to_toml().map_err(complain)?;
    Ok((Plan::parse(name, &text).map_err(complain)?, changes))
}

/// The plan with the continuous warm-up of `--steady-within`, and a message if the plan has another warm-up.
fn with_steady_within(plan: Plan, limit: Option<Duration>) -> (Plan, Option<String>) {
    let Some(limit) = limit else { return (plan, None) };
    let instead = if plan.warmup.is_some() { " without the plan's bursts" } else { "" };
    let reported = (plan.steady_within != Some(limit)).then(|| {
        format!("launches are warmed up for at most {}{instead} (--steady-within)", format_duration(limit))
    });
    (Plan { steady_within: Some(limit), warmup: None, ..plan }, reported)
}

/// The plan with the number of repeats from `--repeats`, and a message if the plan has another number.
fn with_repeats(plan: Plan, repeats: Option<u32>, is_full: bool) -> (Plan, Option<String>) {
    let Some(repeats) = repeats else { return (plan, None) };
    let written = plan.full_repeats.filter(|_| is_full).map_or(plan.repeats, |full| full.max(plan.repeats));
    let reported = (repeats != written)
        .then(|| format!("{} instead of {written} (--repeats)", counted(repeats, "repeat", "repeats")));
    (Plan { repeats, full_repeats: None, ..plan }, reported)
}

fn ad_hoc(flags: &PlanFlags) -> anyhow::Result<Plan> {
    if flags.servers.is_empty() && flags.workloads.is_empty() {
        return Err(Complaint::usage("nothing to measure: neither a plan nor --servers was given")
            .hint("use paceline round plans/quick.toml, or paceline round --servers 'go-*' --workloads hello")
            .into());
    }
    let usual = AdHoc::default();
    let or_usual =
        |given: &Vec<String>, usual: Vec<String>| if given.is_empty() { usual } else { given.clone() };
    let select = if flags.servers.is_empty() {
        usual.select
    } else {
        Select { servers: flags.servers.clone(), ..Select::default() }
    };
    let ad_hoc = AdHoc {
        select,
        workloads: or_usual(&flags.workloads, usual.workloads),
        databases: flags.database.clone(),
        forms: or_usual(&flags.forms, usual.forms),
        repeats: flags.repeats.unwrap_or(usual.repeats),
        connections: flags.connections.unwrap_or(usual.connections),
        depth: flags.pipeline.unwrap_or(usual.depth),
        rates_per_s: flags.rate.clone(),
        duration: flags.duration.unwrap_or(usual.duration),
        warmup: flags.warmup.unwrap_or(usual.warmup),
        seed: flags.seed,
    };
    ad_hoc.plan().map_err(complain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_catalogue::MachineCapacity;

    #[test]
    fn repeats_from_a_flag_are_reported_and_used() {
        let text = "name = \"p\"\nrepeats = 3\nfull_repeats = 9\nworkloads = [\"hello\"]\n\
                    [[load]]\nname = \"a\"\nconnections = 1\nduration = \"1s\"\n";
        let changed = |repeats, is_full| {
            let (plan, reported) = with_repeats(Plan::parse("p", text).unwrap(), repeats, is_full);
            let room = MachineCapacity { cores: 1, open_files: 1024 };
            (plan.sized(is_full, room).unwrap().plan.repeats, reported.unwrap_or_default())
        };
        assert_eq!(changed(None, false), (3, String::new()));
        assert_eq!(changed(None, true), (9, String::new()));
        assert_eq!(changed(Some(3), false), (3, String::new()));
        assert_eq!(changed(Some(2), false), (2, "2 repeats instead of 3 (--repeats)".into()));
        assert_eq!(changed(Some(2), true), (2, "2 repeats instead of 9 (--repeats)".into()));
    }
}
