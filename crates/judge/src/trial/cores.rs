//! The machines of a trial's roles, and the cores that its processes may run on.

use crate::MIN_FULL;
use paceline_record::{CoreTime, Loader, Pinning, ProcessRole, Trial};
use std::collections::BTreeSet;

/// Below this share of a core's busy time, another process kept it busy.
pub(super) const MIN_OWN: f64 = 0.5;

/// The machine of a role, if it is not the lab's.
pub(super) fn host(trial: &Trial, role: ProcessRole) -> Option<&str> {
    let machine = trial.machines.iter().find(|machine| machine.role == role)?;
    Some(&machine.host)
}

/// The loaders that did not run on the lab's machine.
pub(super) fn remote_loaders(trial: &Trial) -> impl Iterator<Item = &Loader> {
    let loaders = trial.run.iter().flat_map(|run| &run.loaders);
    loaders.filter(|loader| loader.host != Loader::LOCAL)
}

/// Whether a loader ran on this machine, which is not the lab's: loaders there may use every core.
pub(super) fn has_loader(trial: &Trial, machine: Option<&str>) -> bool {
    machine.is_some_and(|machine| remote_loaders(trial).any(|loader| loader.host == machine))
}

/// The cores of a machine that the generator is pinned to, without a name of the lab's machine: none if the loaders ran
/// on others.
pub(super) fn generator_cores<'a>(trial: &'a Trial, machine: Option<&str>) -> &'a [u32] {
    let mut loaders = trial.run.iter().flat_map(|run| &run.loaders);
    let is_here = loaders.all(|loader| loader.host == Loader::LOCAL);
    if machine.is_none() && is_here { &trial.pinning.generator } else { &[] }
}

/// The cores of the server's machine that a process of the trial may run on; none if nothing was pinned. Time stolen
/// from other cores does not matter.
pub(super) fn used_cores(trial: &Trial) -> BTreeSet<u32> {
    let Pinning { server, balancer, instances, .. } = &trial.pinning;
    let machine = host(trial, ProcessRole::Instance);
    let balancer = balancer.iter().filter(|_| host(trial, ProcessRole::Balancer) == machine);
    let pinned = server.iter().chain(balancer).chain(generator_cores(trial, machine));
    pinned.chain(instances.iter().flatten()).copied().collect()
}

/// Whether a core was busy for at least [`MIN_FULL`] of the window.
pub(super) fn is_full(core: &CoreTime) -> bool {
    core.over_s > 0.0 && core.busy_s / core.over_s >= MIN_FULL
}
