//! A load beside its twin: first run and again, HTTP/1.1 and 1.0, direct and through a balancer.
//!
//! Both were measured in the same block, most on the same launch. They are compared repeat by repeat, and attempt by
//! attempt if one was spoiled: the ratio and the added time are separate figures, and drift of the machine between
//! blocks does not affect them. A server that was restarted within its block leaves pairs of two launches; these are
//! counted. A first run has no such pair.

use crate::figure::{Figure, times_of};
use crate::launch::{CellTrials, UsableTrial};
use crate::machine::RoundMachines;
use crate::row::launch_is_minimum;
use paceline_judge::is_generator_bound;
use paceline_record::{LoopKind, Times, Trial, VariantKind};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A load and its twin, under one workload and form on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Pairing {
    /// The label of the machine.
    pub machine: String,
    /// Name of the workload.
    pub workload: String,
    /// `single` or `cores`.
    pub form: String,
    /// The property in which the twin differs.
    pub kind: VariantKind,
    /// Whether the load and its twin were closed or open loops.
    pub loop_kind: LoopKind,
    /// The load's name.
    pub load: String,
    /// Name of the twin load.
    pub twin: String,
    /// Each server, by id.
    pub rows: Vec<PairRow>,
}

/// A server under a load and its twin.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PairRow {
    /// The server's id.
    pub server: String,
    /// Valid responses per second under the load.
    pub achieved_per_s: Option<Figure>,
    /// The same under its twin.
    pub twin_achieved_per_s: Option<Figure>,
    /// Whether the rate under the load is a minimum, because the generator was the bottleneck or was disturbed: the true
    /// ratio is then at most the one shown.
    pub is_generator_bound: bool,
    /// Whether the rate under the twin is a minimum: the true ratio is then at least the one shown.
    pub twin_is_generator_bound: bool,
    /// Number of compared pairs from two launches: their ratio includes the difference between two starts.
    #[serde(skip_serializing_if = "is_zero")]
    pub pairs_of_two_launches: u32,
    /// The twin's responses per second as a share of the load's, repeat by repeat; closed loop.
    pub achieved_ratio: Option<Figure>,
    /// The twin's median time minus the load's, repeat by repeat, in nanoseconds; open loop: both were offered the same
    /// rate.
    pub added_time_ns_p50: Option<Figure>,
    /// The same for the 99th percentile.
    pub added_time_ns_p99: Option<Figure>,
    /// CPU of the server per response under the load, in microseconds.
    pub server_cpu_us_per_request: Option<Figure>,
    /// The same under its twin.
    pub twin_server_cpu_us_per_request: Option<Figure>,
}

impl PairRow {
    /// What stands before the ratio: the true one is at least (`≥ `) or at most (`≤ `) the one shown, or either (`~ `).
    pub fn ratio_mark(&self) -> &'static str {
        match (self.is_generator_bound, self.twin_is_generator_bound) {
            (false, false) => "",
            (false, true) => "≥ ",
            (true, false) => "≤ ",
            (true, true) => "~ ",
        }
    }
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

type PairingKey = (usize, String, String, String, VariantKind);

/// The pairings of some trials, which must be in the order they ran.
pub fn pairings(machines: &RoundMachines, trials: &[&Trial]) -> Vec<Pairing> {
    let mut twins: BTreeMap<PairingKey, Vec<&Trial>> = BTreeMap::new();
    for trial in trials {
        if let Some(variant) = &trial.load.variant {
            let (workload, form) = (trial.workload.clone(), trial.form.clone());
            let key = (machines.place(trial), workload, form, variant.of.clone(), variant.kind);
            twins.entry(key).or_default().push(trial);
        }
    }
    let of = |(key, twins): (PairingKey, Vec<&Trial>)| pairing(machines, trials, &key, &twins);
    twins.into_iter().filter_map(of).filter(|pairing| !pairing.rows.is_empty()).collect()
}

fn pairing(
    machines: &RoundMachines,
    trials: &[&Trial],
    key: &PairingKey,
    twins: &[&Trial],
) -> Option<Pairing> {
    let (place, workload, form, load, kind) = key;
    let first = twins.first()?;
    let mut servers: Vec<&str> = twins.iter().map(|trial| trial.server.id.as_str()).collect();
    servers.sort_unstable();
    servers.dedup();
    let rows = servers.into_iter().filter_map(|server| {
        let is_base = |trial: &&&Trial| {
            trial.server.id == server
                && (&trial.workload, &trial.form, &trial.load.name) == (workload, form, load)
                && machines.place(trial) == *place
        };
        let base: Vec<&Trial> = trials.iter().filter(is_base).copied().collect();
        let twin: Vec<&Trial> = twins.iter().filter(|trial| trial.server.id == server).copied().collect();
        row(server, *kind, first.load.kind, &base, &twin)
    });
    Some(Pairing {
        machine: machines.list.get(*place).map(|machine| machine.label.clone()).unwrap_or_default(),
        workload: workload.clone(),
        form: form.clone(),
        kind: *kind,
        loop_kind: first.load.kind,
        load: load.clone(),
        twin: first.load.name.clone(),
        rows: rows.collect(),
    })
}

/// None if one of the two was never measured: the table and its failures show that.
fn row(
    server: &str,
    variant: VariantKind,
    kind: LoopKind,
    base: &[&Trial],
    twin: &[&Trial],
) -> Option<PairRow> {
    let pairs = pairs(variant, base, twin);
    let (base, twin) = (CellTrials::from_trials(base), CellTrials::from_trials(twin));
    if base.usable.is_empty() || twin.usable.is_empty() {
        return None;
    }
    let achieved = |launches: &CellTrials<'_>| {
        Figure::from_observations(launches.usable.iter().map(|l| l.run.rate_per_s.achieved))
    };
    let cpu = |launches: &CellTrials<'_>| {
        let of = |launch: &UsableTrial<'_>| Some(launch.trial.usage.as_ref()?.cpu_ns_per_request / 1e3);
        Figure::from_observations(launches.usable.iter().filter_map(of))
    };
    let added = |get: fn(&Times) -> u64| {
        let time = |launch: &UsableTrial<'_>| times_of(launch, kind).map(|times| get(times) as f64);
        let pairs = pairs.iter().filter(|_| kind == LoopKind::Open);
        Figure::from_observations(pairs.filter_map(|(base, twin)| Some(time(twin)? - time(base)?)))
    };
    let ratios =
        pairs.iter().filter(|(base, _)| kind == LoopKind::Closed && base.run.rate_per_s.achieved > 0.0);
    let is_bound =
        |launch: &UsableTrial<'_>| is_generator_bound(launch.trial, launch.run) || launch_is_minimum(launch);
    Some(PairRow {
        server: server.to_owned(),
        achieved_per_s: achieved(&base),
        twin_achieved_per_s: achieved(&twin),
        is_generator_bound: base.usable.iter().any(is_bound),
        twin_is_generator_bound: twin.usable.iter().any(is_bound),
        pairs_of_two_launches: pairs.iter().filter(|pair| !is_of_one_launch(pair)).count() as u32,
        achieved_ratio: Figure::from_observations(
            ratios.map(|(base, twin)| twin.run.rate_per_s.achieved / base.run.rate_per_s.achieved),
        ),
        added_time_ns_p50: added(|times| times.p50),
        added_time_ns_p99: added(|times| times.p99),
        server_cpu_us_per_request: cpu(&base),
        twin_server_cpu_us_per_request: cpu(&twin),
    })
}

/// Whether a load and its twin ran against the same start of the server.
fn is_of_one_launch((base, twin): &(UsableTrial<'_>, UsableTrial<'_>)) -> bool {
    base.trial.launch == twin.trial.launch
}

/// The attempts to compare, one pair for each repeat: from one launch if possible, the last that has both. An attempt
/// that was retried alone ran on another launch, perhaps an hour later. The run after a first run is not comparable on
/// another launch, and is left out there.
fn pairs<'a>(
    variant: VariantKind,
    base: &[&'a Trial],
    twin: &[&'a Trial],
) -> Vec<(UsableTrial<'a>, UsableTrial<'a>)> {
    let together = |repeat: u32| {
        let tries = |trials: &[&'a Trial]| -> Vec<UsableTrial<'a>> {
            let of_repeat = trials.iter().filter(|trial| trial.repeat == repeat);
            of_repeat.filter_map(|trial| UsableTrial::from_trial(trial)).collect()
        };
        let (bases, twins) = (tries(base), tries(twin));
        let shared = bases.iter().flat_map(|base| twins.iter().map(move |twin| (*base, *twin)));
        shared.filter(is_of_one_launch).max_by_key(|(base, twin)| {
            (!base.trial.is_disturbed() && !twin.trial.is_disturbed(), &base.trial.started_at)
        })
    };
    let (base, twin) = (CellTrials::from_trials(base), CellTrials::from_trials(twin));
    let pair = |base: &UsableTrial<'a>| {
        let repeat = base.trial.repeat;
        let apart = || Some((*base, *twin.usable.iter().find(|twin| twin.trial.repeat == repeat)?));
        together(repeat).or_else(|| apart().filter(|_| variant != VariantKind::FirstRun))
    };
    base.usable.iter().filter_map(pair).collect()
}
