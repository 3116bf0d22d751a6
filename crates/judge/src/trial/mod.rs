//! Verdicts on a trial, from its launch, its sampling and the machine.
//!
//! Pure functions of the record, so that a later version can judge a stored trial again. Verdicts that need knowledge
//! of the lab (another round on the machine, a server that stayed busy) are added by the lab, from the same table.

mod balancer;
mod cores;
mod database;
mod limit;

pub use balancer::{FullCore, full_cores, process_name};
pub use limit::trial_limit;

use crate::generator::disturbance;
use crate::loaders::full;
use crate::{MAX_GENERATOR_BUSY, TypedVerdict, frequency, memory};
use cores::{has_loader, host, is_full, remote_loaders, used_cores};
use paceline_record::{CheckOutcome, CpuSource, LoopKind, ProcessRole, Stage, Trial, Verdict};
use paceline_stats::{WARM_UP_SECONDS, counted, percent_text, warm_up_rates};

/// Below this share of their cores, server and generator had spare time.
const MAX_IDLE: f64 = 0.5;
/// Times below this, in nanoseconds, are too short for a wait.
const MIN_WAIT_NS: u64 = 1_000_000;

/// Every verdict on a trial, except those on its run.
pub fn trial_verdicts(trial: &Trial) -> Vec<Verdict> {
    let judges = [
        shared_cores,
        server_network_bound,
        cpu_lower_bound,
        server_died,
        still_warming,
        stolen_time,
        suspended,
        frequency::thermal_throttling_in_trial,
        frequency::frequency_changed_in_trial,
        cores_moved,
        claim_does_not_hold,
        waiting,
        memory::bound_in_trial,
        memory::growing_in_trial,
        capacity_not_found,
        balancer::core_ran_out,
        balancer::balancer_bound,
        balancer::balancer_shares_cores,
        balancer::instances_share_cores,
        balancer::uneven_instances,
        balancer::instance_not_taken_out,
        database::queries_not_run,
        database::updates_not_stored,
        database::database_not_counted,
        database::pool_exceeded,
        database::database_bound,
        database::database_shares_cores,
    ];
    judges.iter().filter_map(|judge| judge(trial)).map(|finding| finding.verdict()).collect()
}

fn server_network_bound(trial: &Trial) -> Option<TypedVerdict> {
    let full = trial.machines.iter().filter_map(|machine| Some((full(machine.network.as_ref()?)?, machine)));
    let (link, machine) = full.max_by(|(a, _), (b, _)| a.share.total_cmp(&b.share))?;
    Some(TypedVerdict::ServerNetworkBound {
        host: machine.host.clone(),
        interface: link.interface.to_owned(),
        direction: link.direction.name,
        bytes_per_s: link.direction.bytes_per_s,
        speed_bytes_per_s: link.direction.limit_bytes_per_s,
        percent: 100.0 * link.share,
    })
}

fn shared_cores(trial: &Trial) -> Option<TypedVerdict> {
    let server = host(trial, ProcessRole::Instance);
    let loaders: Vec<String> = remote_loaders(trial).map(|loader| loader.host.clone()).collect();
    (!trial.pinning.disjoint || has_loader(trial, server)).then(|| TypedVerdict::SharedCores {
        server_cores: trial.pinning.server.clone(),
        generator_cores: if loaders.is_empty() { trial.pinning.generator.clone() } else { Vec::new() },
        advice: match loaders.is_empty() {
            true => "Server and load generator ran on the same core. Use a machine with at least two cores.",
            false => {
                "A loader ran on the server's machine. Put loaders on other machines (--on ...,loader=HOST)."
            }
        },
        loaders: Some(loaders).filter(|loaders| !loaders.is_empty()),
    })
}

fn cpu_lower_bound(trial: &Trial) -> Option<TypedVerdict> {
    let usage = trial.usage.as_ref().filter(|usage| usage.source == CpuSource::Proc)?;
    Some(TypedVerdict::CpuLowerBound { cpu_s: usage.cpu_s })
}

fn still_warming(trial: &Trial) -> Option<TypedVerdict> {
    let warm_up = trial.startup.as_ref()?.warm_up.as_ref()?;
    if warm_up.steady_after_s.is_some() {
        return None;
    }
    let rates = warm_up_rates(&warm_up.rate_per_s);
    let finding = match rates {
        Some([before, last]) if before > 0.0 && last > 0.0 => format!(
            "In the last {WARM_UP_SECONDS} s of the launch's warm-up the rate was {} above that of the {WARM_UP_SECONDS} s before.",
            percent_text(last / before - 1.0)
        ),
        Some([before, _]) if before > 0.0 => format!(
            "It is unknown whether the server was warm: in its launch's warm-up it gave no valid response in the last {WARM_UP_SECONDS} s."
        ),
        Some(_) => format!(
            "It is unknown whether the server was warm: in its launch's warm-up it gave no valid response in the {WARM_UP_SECONDS} s before the last {WARM_UP_SECONDS} s."
        ),
        None => format!(
            "The launch's warm-up was too short to check whether the server was warm: it had {} of load, and this check needs {}.",
            counted(warm_up.rate_per_s.len(), "whole second", "whole seconds"),
            2 * WARM_UP_SECONDS
        ),
    };
    Some(TypedVerdict::StillWarming {
        change: None,
        warmed_s: Some(warm_up.warmed_s),
        rate_before_per_s: rates.map(|[before, _]| before),
        rate_last_per_s: rates.map(|[_, last]| last),
        finding,
        advice: match warm_up.bursts {
            None => "Allow each launch a longer warm-up: `steady_within` in the plan, or --steady-within.",
            Some(_) => "Warm each launch up with more bursts: `warmup` in the plan.",
        }
        .to_owned(),
    })
}

fn server_died(trial: &Trial) -> Option<TypedVerdict> {
    let fault = trial.error.as_ref().filter(|fault| fault.stage == Stage::Load)?;
    Some(TypedVerdict::ServerDied { message: fault.message.clone() })
}

fn stolen_time(trial: &Trial) -> Option<TypedVerdict> {
    let used = used_cores(trial);
    let judged = trial.cores.iter().filter(|core| used.is_empty() || used.contains(&core.core));
    let worst = judged.max_by(|a, b| a.min_steal_share().total_cmp(&b.min_steal_share()))?;
    disturbance(worst.min_steal_share()).map(|severity| TypedVerdict::StolenTime {
        core: worst.core,
        steal_s: worst.steal_s,
        over_s: worst.over_s,
        severity,
    })
}

fn suspended(trial: &Trial) -> Option<TypedVerdict> {
    let suspended_s = trial.suspended_s?;
    let host = host(trial, ProcessRole::Instance).map(str::to_owned);
    Some(TypedVerdict::MachineSuspended { suspended_s, host }).filter(|found| frequency::is_new(trial, found))
}

fn cores_moved(trial: &Trial) -> Option<TypedVerdict> {
    let distance = trial.core_distance?;
    let core_distance_ns = distance.unusual_ns()?;
    Some(TypedVerdict::CoresMoved { core_distance_ns, usual_ns: distance.usual_ns })
}

fn claim_does_not_hold(trial: &Trial) -> Option<TypedVerdict> {
    let checks = &trial.validation.as_ref()?.checks;
    let warnings = checks.iter().filter(|check| check.outcome == CheckOutcome::Warn);
    let checks: Vec<String> = warnings.map(|check| format!("{}: {}", check.name, check.detail)).collect();
    (!checks.is_empty()).then_some(TypedVerdict::ClaimDoesNotHold { checks })
}

/// A closed loop without think times whose connections wait while no core is full. A load of a fixed number of requests
/// may end before anything is busy.
fn waiting(trial: &Trial) -> Option<TypedVerdict> {
    let run = trial.usable_run()?;
    let asks =
        run.loop_.kind == LoopKind::Closed && run.loop_.think.is_none() && run.loop_.requests.is_none();
    let server_utilization = trial.usage.as_ref()?.utilization;
    let service = run.total.service_time_ns.as_ref()?;
    let balancer = balancer::balanced_processes(trial).into_iter().flatten();
    let idle = server_utilization < MAX_IDLE
        && run.generator.utilization < MAX_IDLE.min(MAX_GENERATOR_BUSY)
        && !trial.cores.iter().any(is_full)
        && balancer.into_iter().all(|process| process.utilization < MAX_IDLE);
    (asks && idle && service.p50 >= MIN_WAIT_NS).then(|| TypedVerdict::Waiting {
        server_utilization,
        generator_utilization: run.generator.utilization,
        service_time_ns_p50: service.p50,
        first_byte_ns_p50: run.total.first_byte_ns.as_ref().map(|times| times.p50),
    })
}

fn capacity_not_found(trial: &Trial) -> Option<TypedVerdict> {
    let found = trial.capacity.as_ref()?;
    if let Some(span) = found.stalls_decide {
        let (lowest_missed_per_s, highest_passed_per_s) = (span.low, span.high);
        let try_per_s = (highest_passed_per_s / 2.0).max(lowest_missed_per_s);
        return Some(TypedVerdict::StallsDecide { lowest_missed_per_s, highest_passed_per_s, try_per_s });
    }
    let advice = || match &found.ended_early {
        Some(why) => format!("The search ended early: {why}. Remove the cause, then repeat the search."),
        None => "No tested rate met the objective. Test a lower rate (paceline run -r), or choose another \
                 objective."
            .to_owned(),
    };
    found.half_pass_per_s.is_none().then(|| TypedVerdict::CapacityNotFound {
        windows: found.windows.len(),
        lowest_offered_per_s: found.windows.iter().map(|window| window.offered_per_s).reduce(f64::min),
        ended_early: found.ended_early.clone(),
        advice: advice(),
    })
}

#[cfg(test)]
mod tests;
