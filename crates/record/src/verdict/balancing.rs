//! Verdicts on a trial with several instances and a balancer: which core ran out, and what that makes of the number.
//!
//! `trial.rs` has the judges among its own; reports name the cores of [`ran_out`] in a row. Where requests went past
//! the balancer, no share and no load of it is judged. Processes and cores were sampled by the lab.

use super::{Blame, Severity, Verdict};
use crate::{ProcessRole, ProcessUse, Route, Trial};
use std::collections::BTreeSet;

/// From this share of its time on a core, or a process on its cores, has run out.
pub const RAN_OUT_LEAST: f64 = 0.9;
/// Below this share of a core's busy time it was somebody else who kept it busy.
const OWN_LEAST: f64 = 0.5;
/// An instance that got so many times its even share did not get it by chance: of 1,000 requests or more, drawn at
/// random over four, one in a million rounds would be above 1.3.
const UNEVEN_LEAST: f64 = 1.3;
/// Below so many requests shares say nothing.
const SHARES_NEED: u64 = 1000;

/// A core that had no time left, with whose processes may run on it.
#[derive(Clone, Debug, PartialEq)]
pub struct RanOut {
    /// Its number.
    pub core: u32,
    /// Not idle, as a share of the window.
    pub busy_share: f64,
    /// Who may run on it: `instance 0`, `balancer`, `generator`; and `mostly something else` where theirs was the
    /// smaller part.
    pub whose: Vec<String>,
}

/// The cores of a balanced trial that ran out, busiest first.
pub fn ran_out(trial: &Trial) -> Vec<RanOut> {
    let Some(balancing) = &trial.balancing else { return Vec::new() };
    let mut cores: Vec<RanOut> = trial
        .cores
        .iter()
        .filter(|core| core.over_s > 0.0 && core.busy_s / core.over_s >= RAN_OUT_LEAST)
        .map(|core| {
            let own = balancing.processes.iter().filter(|process| process.cores.contains(&core.core));
            let mut whose: Vec<String> = own.clone().map(name).collect();
            let generator = &trial.pinning.generator;
            whose.extend(generator.contains(&core.core).then(|| "generator".to_owned()));
            let used_s: f64 = own.map(|process| process.cpu_s / process.cores.len() as f64).sum();
            let by_generator_s = trial.run.as_ref().map_or(0.0, |run| run.generator.cpu_s);
            let by_generator_s = by_generator_s / generator.len().max(1) as f64;
            let used_s = used_s + if generator.contains(&core.core) { by_generator_s } else { 0.0 };
            if used_s < OWN_LEAST * core.busy_s {
                whose.push("mostly something else".to_owned());
            }
            RanOut { core: core.core, busy_share: (core.busy_s / core.over_s).min(1.0), whose }
        })
        .collect();
    cores.sort_by(|a, b| b.busy_share.total_cmp(&a.busy_share).then(a.core.cmp(&b.core)));
    cores
}

/// A process for people: `instance 2`, `balancer`.
pub fn name(process: &ProcessUse) -> String {
    match process.role {
        ProcessRole::Balancer => "balancer".to_owned(),
        ProcessRole::Instance => format!("instance {}", process.index),
    }
}

pub(super) fn core_ran_out(trial: &Trial) -> Option<Verdict> {
    let cores = ran_out(trial);
    let told: Vec<String> = cores
        .iter()
        .map(|core| format!("core {} ({}): {:.0} %", core.core, core.whose.join(", "), core.busy_share * 1e2))
        .collect();
    (!told.is_empty()).then(|| {
        Verdict::new("core_ran_out", Blame::Environment, Severity::Note)
            .with("cores", told.into())
            .remedy("the number is what these cores can do; whoever else had time left was not the limit")
    })
}

pub(super) fn balancer_bound(trial: &Trial) -> Option<Verdict> {
    let balancer = balanced_processes(trial)?.iter().find(|process| process.role == ProcessRole::Balancer)?;
    (balancer.utilization >= RAN_OUT_LEAST).then(|| {
        Verdict::new("balancer_bound", Blame::Environment, Severity::Caution)
            .with("balancer_utilization", balancer.utilization.into())
            .with("balancer_cpu_ns_per_request", balancer.cpu_ns_per_request.into())
            .remedy("the balancer was the limit, not the instances: give it more cores, or read the number as the balancer's")
    })
}

pub(super) fn balancer_shares_cores(trial: &Trial) -> Option<Verdict> {
    let processes = balanced_processes(trial)?;
    let balancer = processes.iter().find(|process| process.role == ProcessRole::Balancer)?;
    let generator = &trial.pinning.generator;
    let mut with: Vec<String> = processes
        .iter()
        .filter(|process| process.role == ProcessRole::Instance && meets(&process.cores, &balancer.cores))
        .map(name)
        .collect();
    with.extend(meets(generator, &balancer.cores).then(|| "generator".to_owned()));
    (!with.is_empty()).then(|| {
        Verdict::new("balancer_shares_cores", Blame::Environment, Severity::Caution)
            .with("balancer_cores", balancer.cores.clone().into())
            .with("with", with.into())
            .remedy("what the balancer takes is missing elsewhere: balanced less direct holds its CPU time too; use a machine with a core for each")
    })
}

pub(super) fn instances_share_cores(trial: &Trial) -> Option<Verdict> {
    let instances: Vec<&ProcessUse> =
        balanced_processes(trial)?.iter().filter(|process| process.role == ProcessRole::Instance).collect();
    let cores: BTreeSet<u32> = instances.iter().flat_map(|process| &process.cores).copied().collect();
    (instances.len() > cores.len()).then(|| {
        Verdict::new("instances_share_cores", Blame::Environment, Severity::Note)
            .with("instances", instances.len().into())
            .with("cores", cores.len().into())
            .remedy("so many instances on so few cores cannot do more than one on each: this measures the balancer's cost, not what instances gain")
    })
}

pub(super) fn uneven_instances(trial: &Trial) -> Option<Verdict> {
    let balanced = trial.load.balanced.as_ref()?;
    if balanced.route != Route::Balanced || balanced.fault.is_some() {
        return None;
    }
    let told = trial.balancing.as_ref()?.told.as_ref()?;
    let requests: Vec<u64> = told.by_instance.iter().filter_map(|instance| instance.requests).collect();
    let (sum, most) = (requests.iter().sum::<u64>(), requests.iter().copied().max()?);
    let share = most as f64 * requests.len() as f64 / sum.max(1) as f64;
    (sum >= SHARES_NEED && share > UNEVEN_LEAST).then(|| {
        Verdict::new("uneven_instances", Blame::Environment, Severity::Note)
            .with("requests_by_instance", requests.into())
            .remedy("the policy did not give every instance the same: the busiest one is the limit first")
    })
}

pub(super) fn instance_not_taken_out(trial: &Trial) -> Option<Verdict> {
    let fault = trial.balancing.as_ref()?.fault?;
    (fault.balancer_tells && fault.taken_out_after_s.is_none()).then(|| {
        Verdict::new("instance_not_taken_out", Blame::Environment, Severity::Caution)
            .with("instance", fault.instance.into())
            .remedy("the balancer took the dead instance for alive to the end of the run: check its health checks, or measure longer")
    })
}

/// The processes of a trial whose requests went through the balancer.
fn balanced_processes(trial: &Trial) -> Option<&[ProcessUse]> {
    let balanced = trial.load.balanced.as_ref().filter(|balanced| balanced.route == Route::Balanced);
    balanced.and(trial.balancing.as_ref()).map(|balancing| &*balancing.processes)
}

fn meets(a: &[u32], b: &[u32]) -> bool {
    a.iter().any(|core| b.contains(core))
}

#[cfg(test)]
#[path = "balancing/tests.rs"]
mod tests;
