//! Verdicts on a trial of several instances: the balancer's cores, the instances' cores and shares, and full cores.

use super::cores::{MIN_OWN, generator_cores, has_loader, host, is_full};
use crate::{MIN_FULL, TypedVerdict};
use paceline_record::{ProcessRole, ProcessUse, Route, Trial};
use paceline_stats::percent_text;
use std::collections::BTreeSet;

/// An instance that got this multiple of its even share did not get it by chance: with 1,000 requests or more, drawn at
/// random over four instances, one in a million rounds would be above 1.3.
const MIN_UNEVEN: f64 = 1.3;
/// With fewer requests shares are not meaningful.
const SHARES_NEED: f64 = 1000.0;

pub(super) fn core_ran_out(trial: &Trial) -> Option<TypedVerdict> {
    let line = |core: &FullCore| {
        format!("core {} ({}): {}", core.core, core.processes.join(", "), percent_text(core.busy_share))
    };
    let cores: Vec<String> = full_cores(trial).iter().map(line).collect();
    (!cores.is_empty()).then_some(TypedVerdict::CoreRanOut { cores })
}

pub(super) fn balancer_bound(trial: &Trial) -> Option<TypedVerdict> {
    let balancer = balancer_of(trial)?;
    (balancer.utilization >= MIN_FULL).then_some(TypedVerdict::BalancerBound {
        balancer_utilization: balancer.utilization,
        balancer_cpu_ns_per_request: balancer.cpu_ns_per_request,
    })
}

pub(super) fn balancer_shares_cores(trial: &Trial) -> Option<TypedVerdict> {
    let balancer = balancer_of(trial)?;
    let own = host(trial, ProcessRole::Balancer);
    let overlap = |cores: &[u32]| cores.iter().any(|core| balancer.cores.contains(core));
    let instances = instances_of(trial)?;
    let server = host(trial, ProcessRole::Instance);
    let beside = instances.filter(|process| server == own && overlap(&process.cores));
    let mut with: Vec<String> = beside.map(process_name).collect();
    let beside_generator = has_loader(trial, own) || overlap(generator_cores(trial, own));
    with.extend(beside_generator.then(|| "generator".to_owned()));
    (!with.is_empty())
        .then(|| TypedVerdict::BalancerSharesCores { balancer_cores: balancer.cores.clone(), with })
}

pub(super) fn instances_share_cores(trial: &Trial) -> Option<TypedVerdict> {
    let instances = instances_of(trial)?.count();
    let cores: BTreeSet<u32> = instances_of(trial)?.flat_map(|process| &process.cores).copied().collect();
    (instances > cores.len()).then_some(TypedVerdict::InstancesShareCores { instances, cores: cores.len() })
}

pub(super) fn uneven_instances(trial: &Trial) -> Option<TypedVerdict> {
    let balanced = trial.load.balanced.as_ref()?;
    if balanced.route != Route::Balanced || balanced.fault.is_some() {
        return None;
    }
    let reported = trial.balancing.as_ref()?.counts.as_ref()?;
    let requests: Vec<u64> = reported.by_instance.iter().filter_map(|instance| instance.requests).collect();
    let most = requests.iter().copied().max()?;
    let sum: f64 = requests.iter().map(|requests| *requests as f64).sum();
    let share = most as f64 * requests.len() as f64 / sum.max(1.0);
    (sum >= SHARES_NEED && share > MIN_UNEVEN)
        .then_some(TypedVerdict::UnevenInstances { requests_by_instance: requests })
}

pub(super) fn instance_not_taken_out(trial: &Trial) -> Option<TypedVerdict> {
    let fault = trial.balancing.as_ref()?.fault?;
    (fault.balancer_tells && fault.taken_out_after_s.is_none())
        .then_some(TypedVerdict::InstanceNotTakenOut { instance: fault.instance })
}

/// A full core, with the processes that may run on it.
#[derive(Clone, Debug, PartialEq)]
pub struct FullCore {
    /// Its number.
    pub core: u32,
    /// Not idle, as a share of the window.
    pub busy_share: f64,
    /// The processes that may run on it: `instance 0`, `balancer`, `generator`; and `mostly other processes` if their
    /// part was the smaller one.
    pub processes: Vec<String>,
}

/// The full cores of a balanced trial, busiest first.
pub fn full_cores(trial: &Trial) -> Vec<FullCore> {
    let Some(balancing) = &trial.balancing else { return Vec::new() };
    let server = host(trial, ProcessRole::Instance);
    let mut cores: Vec<FullCore> = trial
        .cores
        .iter()
        .filter(|core| is_full(core))
        .map(|core| {
            let own = balancing
                .processes
                .iter()
                .filter(|process| process.cores.contains(&core.core) && host(trial, process.role) == server);
            let mut processes: Vec<String> = own.clone().map(process_name).collect();
            let generator = generator_cores(trial, server);
            processes.extend(generator.contains(&core.core).then(|| "generator".to_owned()));
            let used_s: f64 = own.map(|process| process.cpu_s / process.cores.len() as f64).sum();
            let by_generator_s = trial.run.as_ref().map_or(0.0, |run| run.generator.cpu_s);
            let by_generator_s = by_generator_s / generator.len().max(1) as f64;
            let used_s = used_s + if generator.contains(&core.core) { by_generator_s } else { 0.0 };
            if used_s < MIN_OWN * core.busy_s {
                processes.push("mostly other processes".to_owned());
            }
            FullCore { core: core.core, busy_share: (core.busy_s / core.over_s).min(1.0), processes }
        })
        .collect();
    cores.sort_by(|a, b| b.busy_share.total_cmp(&a.busy_share).then(a.core.cmp(&b.core)));
    cores
}

/// The display name of a process: `instance 2`, `balancer`.
pub fn process_name(process: &ProcessUse) -> String {
    match process.role {
        ProcessRole::Balancer => "balancer".to_owned(),
        ProcessRole::Instance => format!("instance {}", process.index),
        ProcessRole::Database => "database".to_owned(),
    }
}

/// The processes of a trial whose requests went to all instances.
pub(super) fn balanced_processes(trial: &Trial) -> Option<&[ProcessUse]> {
    let balanced = trial.load.balanced.as_ref().filter(|balanced| balanced.route != Route::Direct);
    balanced.and(trial.balancing.as_ref()).map(|balancing| &*balancing.processes)
}

/// The balancer that the requests passed through.
pub(super) fn balancer_of(trial: &Trial) -> Option<&ProcessUse> {
    trial.load.balanced.as_ref().filter(|balanced| balanced.route == Route::Balanced)?;
    balanced_processes(trial)?.iter().find(|process| process.role == ProcessRole::Balancer)
}

fn instances_of(trial: &Trial) -> Option<impl Iterator<Item = &ProcessUse>> {
    Some(balanced_processes(trial)?.iter().filter(|process| process.role == ProcessRole::Instance))
}
