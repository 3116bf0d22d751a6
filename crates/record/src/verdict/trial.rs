//! Verdicts on a trial: what its launch, its sampling and the machine have to say about its numbers.
//!
//! Pure functions of the record, so that a stored trial can be judged again by a later version. What the run alone
//! tells is judged in `run`; what only the lab knows (a generator of another make) the lab adds itself.

use super::balancing;
use super::disturbance::disturbance;
use super::{Blame, Severity, Verdict};
use crate::{CheckOutcome, CpuSource, Pinning, Stage, Trial};
use std::collections::BTreeSet;

/// Everything to be known about a trial's numbers, beside its run's own verdicts.
pub fn of_trial(trial: &Trial) -> Vec<Verdict> {
    let judges = [
        shared_cores,
        cpu_lower_bound,
        server_died,
        stolen_time,
        warned,
        balancing::core_ran_out,
        balancing::balancer_bound,
        balancing::balancer_shares_cores,
        balancing::instances_share_cores,
        balancing::uneven_instances,
        balancing::instance_not_taken_out,
    ];
    judges.iter().filter_map(|judge| judge(trial)).collect()
}

fn shared_cores(trial: &Trial) -> Option<Verdict> {
    (!trial.pinning.disjoint).then(|| {
        Verdict::new("shared_cores", Blame::Environment, Severity::Caution)
            .with("server_cores", trial.pinning.server.clone().into())
            .with("generator_cores", trial.pinning.generator.clone().into())
            .remedy("server and generator take time from each other; use a machine with two cores or more")
    })
}

fn cpu_lower_bound(trial: &Trial) -> Option<Verdict> {
    let usage = trial.usage.as_ref().filter(|usage| usage.source == CpuSource::Proc)?;
    Some(
        Verdict::new("cpu_lower_bound", Blame::Environment, Severity::Note)
            .with("cpu_s", usage.cpu_s.into())
            .remedy("no control group could be made: processes that came and went unseen are missing; run as root, or have a cgroup delegated"),
    )
}

fn server_died(trial: &Trial) -> Option<Verdict> {
    let fault = trial.error.as_ref().filter(|fault| fault.stage == Stage::Load)?;
    Some(
        Verdict::new("server_died", Blame::Server, Severity::Invalid)
            .with("message", fault.message.clone().into())
            .remedy("read the end of the server's log in the trial"),
    )
}

fn stolen_time(trial: &Trial) -> Option<Verdict> {
    let used = used_cores(&trial.pinning);
    let judged = trial.cores.iter().filter(|core| used.is_empty() || used.contains(&core.core));
    let worst = judged.max_by(|a, b| a.steal_share_least().total_cmp(&b.steal_share_least()))?;
    disturbance(worst.steal_share_least()).map(|severity| {
        Verdict::new("stolen_time", Blame::Environment, severity)
            .with("core", worst.core.into())
            .with("steal_s", worst.steal_s.into())
            .with("over_s", worst.over_s.into())
            .remedy("the hypervisor gave the core to somebody else; measure again when the host is quieter, or on a machine of your own")
    })
}

/// The cores that somebody in the trial ran on; none where nobody was kept to any. What is taken from the others is
/// taken from nobody.
fn used_cores(pinning: &Pinning) -> BTreeSet<u32> {
    let one_by_one = [&pinning.server, &pinning.balancer, &pinning.generator];
    one_by_one.into_iter().chain(&pinning.instances).flatten().copied().collect()
}

fn warned(trial: &Trial) -> Option<Verdict> {
    let checks = &trial.validation.as_ref()?.checks;
    let warnings: Vec<String> = checks
        .iter()
        .filter(|check| check.outcome == CheckOutcome::Warn)
        .map(|check| format!("{}: {}", check.name, check.detail))
        .collect();
    (!warnings.is_empty()).then(|| {
        Verdict::new("claim_does_not_hold", Blame::Server, Severity::Note)
            .with("checks", warnings.into())
            .remedy("mend the server, or the traits in its manifest")
    })
}

#[cfg(test)]
#[path = "trial/tests.rs"]
pub(crate) mod tests;
