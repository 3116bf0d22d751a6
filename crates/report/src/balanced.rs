//! Tables of several instances behind a balancer: CPU and memory of each process, the balancer's counters, the effect
//! of a fault.
//!
//! Called by [`crate::Report::new`]. These tables have no ranks. Loads that bypassed the balancer are left out:
//! `pairing.rs` compares them with the balanced ones.

use crate::figure::Figure;
use crate::launch::{CellTrials, UsableTrial};
use crate::machine::RoundMachines;
use paceline_judge::full_cores;
use paceline_record::{BalancerCounts, Balancing, InjectedFault, ProcessRole, ProcessUse, Route, Trial};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The servers behind a balancer under one workload and load.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BalancedTable {
    /// The label of the machine.
    pub machine: String,
    /// Name of the workload.
    pub workload: String,
    /// `single` or `cores`.
    pub form: String,
    /// Name of the load.
    pub load: String,
    /// The version that the balancer's version command printed.
    pub balancer: String,
    /// The balancer's policy for choosing an instance.
    pub policy: String,
    /// Number of instances.
    pub instances: u32,
    /// Figures that the balancer does not report.
    pub not_reported: Vec<String>,
    /// The rows, one for each server, by id.
    pub rows: Vec<BalancedRow>,
}

/// A server behind a balancer, over its launches.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BalancedRow {
    /// Id of the server.
    pub server: String,
    /// CPU of the balancer per response, in microseconds.
    pub balancer_cpu_us_per_request: Option<Figure>,
    /// CPU of all instances together per response, in microseconds.
    pub instances_cpu_us_per_request: Option<Figure>,
    /// CPU of the balancer as a share of its cores, 0 to 1.
    pub balancer_utilization: Option<Figure>,
    /// CPU of each instance as a share of its cores, 0 to 1.
    pub utilization_by_instance: Vec<Option<Figure>>,
    /// Highest resident memory of the balancer.
    pub balancer_rss_bytes_peak: Option<Figure>,
    /// Highest resident memory of each instance.
    pub rss_bytes_peak_by_instance: Vec<Option<Figure>>,
    /// Requests that the balancer sent to each instance in the window; none if it does not report them.
    pub requests_by_instance: Vec<Option<Figure>>,
    /// Connections that each instance held; only if the balancer does not report their requests.
    pub connections_by_instance: Vec<Option<Figure>>,
    /// Attempts that the balancer retried, in all launches.
    pub retries: Option<u64>,
    /// Requests sent to another instance than the one first chosen, in all launches.
    pub redispatches: Option<u64>,
    /// Requests it failed, in all launches.
    pub balancer_failures: Option<u64>,
    /// The cores that were full, with the processes on them, and the number of launches.
    pub cores_ran_out: BTreeMap<String, u32>,
    /// The injected faults, by launch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultEffect>,
}

/// A fault injected in one launch, and its effect.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FaultEffect {
    /// Number of the repeat, from 0.
    pub repeat: u32,
    /// The fault that was injected.
    pub fault: InjectedFault,
    /// Requests that failed from the fault on, by outcome.
    pub failures: BTreeMap<String, u64>,
    /// From the fault to the last failure, in seconds; none without failures.
    pub last_failure_s: Option<f64>,
    /// The resolution of that time, in seconds.
    pub resolution_s: f64,
    /// Valid responses per second before the fault.
    pub achieved_per_s_before: f64,
    /// Valid responses per second after it.
    pub achieved_per_s_after: f64,
    /// The longest time after it, in nanoseconds; none if the record has no times of intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ns_max: Option<u64>,
}

type BalancedKey = (usize, String, String, String);

/// The balanced tables of some trials, which must be in the order they ran.
pub fn balanced(machines: &RoundMachines, trials: &[&Trial]) -> Vec<BalancedTable> {
    let mut groups: BTreeMap<BalancedKey, Vec<&Trial>> = BTreeMap::new();
    let through = |trial: &&&Trial| trial.load.balanced.as_ref().is_some_and(|b| b.route == Route::Balanced);
    for trial in trials.iter().filter(through) {
        let key =
            (machines.place(trial), trial.workload.clone(), trial.form.clone(), trial.load.name.clone());
        groups.entry(key).or_default().push(trial);
    }
    let of = |(key, trials): (&BalancedKey, &Vec<&Trial>)| table(machines, key, trials);
    groups.iter().filter_map(of).filter(|table| !table.rows.is_empty()).collect()
}

fn table(machines: &RoundMachines, key: &BalancedKey, trials: &[&Trial]) -> Option<BalancedTable> {
    let mut servers: BTreeMap<&str, Vec<&Trial>> = BTreeMap::new();
    for trial in trials {
        servers.entry(&trial.server.id).or_default().push(trial);
    }
    let asked = trials.first()?.load.balanced.as_ref()?;
    let seen: Vec<&Balancing> = trials.iter().filter_map(|trial| trial.balancing.as_ref()).collect();
    let reported = seen.iter().find_map(|balancing| balancing.counts.as_ref());
    Some(BalancedTable {
        machine: machines.list.get(key.0).map(|machine| machine.label.clone()).unwrap_or_default(),
        workload: key.1.clone(),
        form: key.2.clone(),
        load: key.3.clone(),
        balancer: seen
            .first()
            .map_or(asked.balancer.clone(), |balancing| balancing.balancer.versions.clone()),
        policy: asked.policy.clone(),
        instances: asked.instances,
        not_reported: reported.map(|reported| reported.not_reported.clone()).unwrap_or_default(),
        rows: servers.iter().filter_map(|(server, trials)| row(server, trials)).collect(),
    })
}

fn row(server: &str, trials: &[&Trial]) -> Option<BalancedRow> {
    let launches = CellTrials::from_trials(trials).usable;
    let seen: Vec<(&UsableTrial<'_>, &Balancing)> =
        launches.iter().filter_map(|launch| Some((launch, launch.trial.balancing.as_ref()?))).collect();
    let count =
        seen.first()?.1.processes.iter().filter(|process| process.role == ProcessRole::Instance).count();
    let of = |role, index: usize, get: fn(&ProcessUse) -> f64| {
        let is_it = move |process: &&ProcessUse| process.role == role && process.index as usize == index;
        Figure::from_observations(seen.iter().filter_map(|(_, b)| b.processes.iter().find(is_it)).map(get))
    };
    let balancer = |get| of(ProcessRole::Balancer, 0, get);
    let each = |get| (0..count).map(|index| of(ProcessRole::Instance, index, get)).collect();
    let requests = |index: usize| {
        let of = |reported: &BalancerCounts| reported.by_instance.get(index)?.requests;
        Figure::from_observations(
            seen.iter().filter_map(|(_, b)| of(b.counts.as_ref()?)).map(|requests| requests as f64),
        )
    };
    let connections = |index: usize| {
        let of = |b: &Balancing| b.processes.get(index)?.connections_mean;
        Figure::from_observations(seen.iter().filter_map(|(_, balancing)| of(balancing)))
    };
    let sum = |get: fn(&BalancerCounts) -> Option<u64>| {
        let reported: Vec<u64> = seen.iter().filter_map(|(_, b)| get(b.counts.as_ref()?)).collect();
        (!reported.is_empty()).then(|| reported.into_iter().fold(0, u64::saturating_add))
    };
    let mut cores_ran_out = BTreeMap::new();
    for core in seen.iter().flat_map(|(launch, _)| full_cores(launch.trial)) {
        *cores_ran_out.entry(format!("core {} ({})", core.core, core.processes.join(", "))).or_default() += 1;
    }
    let cpu = |launch: &UsableTrial<'_>| Some(launch.trial.usage.as_ref()?.cpu_ns_per_request / 1e3);
    Some(BalancedRow {
        server: server.to_owned(),
        balancer_cpu_us_per_request: balancer(|process| process.cpu_ns_per_request / 1e3),
        instances_cpu_us_per_request: Figure::from_observations(launches.iter().filter_map(cpu)),
        balancer_utilization: balancer(|process| process.utilization),
        utilization_by_instance: each(|process| process.utilization),
        balancer_rss_bytes_peak: balancer(|process| process.rss_bytes_peak as f64),
        rss_bytes_peak_by_instance: each(|process| process.rss_bytes_peak as f64),
        requests_by_instance: (0..count).map(requests).collect(),
        connections_by_instance: (0..count).map(connections).collect(),
        retries: sum(|reported| reported.retries),
        redispatches: sum(|reported| reported.redispatches),
        balancer_failures: sum(|reported| reported.failures),
        cores_ran_out,
        faults: seen.iter().filter_map(|(launch, balancing)| fault(launch, balancing.fault?)).collect(),
    })
}

fn fault(launch: &UsableTrial<'_>, fault: InjectedFault) -> Option<FaultEffect> {
    let saw = fault.impact(launch.run);
    Some(FaultEffect {
        repeat: launch.trial.repeat,
        fault,
        failures: saw.failures.into_iter().map(|(name, count)| (name.to_owned(), count)).collect(),
        last_failure_s: saw.last_failure_s,
        resolution_s: saw.resolution_s,
        achieved_per_s_before: saw.achieved_per_s_before,
        achieved_per_s_after: saw.achieved_per_s_after,
        time_ns_max: saw.time_ns_max,
    })
}
