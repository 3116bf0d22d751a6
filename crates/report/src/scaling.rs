//! The growth of a server's rate with connections, with instances behind a balancer, or with its cores: the Universal
//! Scalability Law fitted to the round's measurements.
//!
//! Each launch is one point. For the fit and its intervals see `paceline_stats::Scalability`; this file finds the loads
//! that differ in only one of these numbers.

use crate::launch::CellTrials;
use crate::machine::RoundMachines;
use paceline_record::{LoopKind, Route, Trial, VariantKind};
use paceline_stats::Scalability;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Minimum number of different sizes for a curve of three parameters.
const MIN_SIZES: usize = 4;
/// The seed for the draws of a peak's interval: the same round always gives the same interval.
const SEED: u64 = 1;

/// The size that grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScaledBy {
    /// Connections of a closed loop.
    Connections,
    /// Instances behind a balancer.
    Instances,
    /// Cores of the server.
    Cores,
}

/// The servers of one workload on one machine, by the size that grows.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ScalingTable {
    /// The label of the machine.
    pub machine: String,
    /// Name of the workload.
    pub workload: String,
    /// The size that grows: connections, instances or cores.
    pub by: ScaledBy,
    /// The rows, one for each server.
    pub rows: Vec<ScalingRow>,
    /// Servers whose rates determine no curve: flat from the smallest size, or too noisy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undetermined: Vec<String>,
}

/// The fit of one server.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ScalingRow {
    /// The server's id.
    pub server: String,
    /// The sizes that were measured.
    pub sizes: Vec<u32>,
    /// The share that is serialized (contention), 0 or more, and its 95 % interval.
    pub contention: f64,
    /// Its 95 % interval.
    pub contention_interval: [f64; 2],
    /// The cost of keeping each pair consistent (coherency), 0 or more.
    pub coherency: f64,
    /// Its 95 % interval.
    pub coherency_interval: [f64; 2],
    /// The size at which the law has its peak; none if the rate only rises.
    pub peak_at: Option<f64>,
    /// The peak's 95 % interval; the upper end is missing if the data do not show a peak.
    pub peak_interval: [Option<f64>; 2],
    /// The rate that the law predicts there, or for the largest size if there is no peak.
    pub peak_rate_per_s: f64,
}

/// The common properties of the loads of one curve: all except the size.
type Curve<'a> = (usize, &'a str, ScaledBy, &'a str, String);

/// The fits of some trials, which must be in the order they ran; for servers measured at four sizes or more.
pub fn scaling(machines: &RoundMachines, trials: &[&Trial]) -> Vec<ScalingTable> {
    let mut curves: BTreeMap<Curve<'_>, BTreeMap<u32, Vec<&Trial>>> = BTreeMap::new();
    // Twins of loads are left out: the pairing table compares them.
    let is_twin = |trial: &Trial| {
        trial.load.variant.as_ref().is_some_and(|variant| variant.kind != VariantKind::Balanced)
    };
    let plain = trials.iter().filter(|trial| trial.load.kind == LoopKind::Closed && !is_twin(trial));
    for trial in plain {
        for (by, size, rest) in sizes(trial) {
            let curve = (machines.place(trial), trial.workload.as_str(), by, trial.server.id.as_str(), rest);
            curves.entry(curve).or_default().entry(size).or_default().push(trial);
        }
    }
    let mut tables: Vec<ScalingTable> = Vec::new();
    for ((place, workload, by, server, _), sizes) in curves {
        let points = points(&sizes);
        let measured: BTreeSet<u32> = points.iter().map(|(size, _)| *size as u32).collect();
        if measured.len() < MIN_SIZES {
            continue;
        }
        let row = row(server, measured.into_iter().collect(), &points);
        let machine = machines.list.get(place).map(|machine| machine.label.clone()).unwrap_or_default();
        let alike = |table: &ScalingTable| {
            (&table.machine, table.workload.as_str(), table.by) == (&machine, workload, by)
        };
        if !tables.iter().any(&alike) {
            let (rows, undetermined) = (Vec::new(), Vec::new());
            tables.push(ScalingTable {
                machine: machine.clone(),
                workload: workload.to_owned(),
                by,
                rows,
                undetermined,
            });
        }
        if let Some(table) = tables.iter_mut().find(|table| alike(table)) {
            match row {
                Some(row) => table.rows.push(row),
                None => table.undetermined.push(server.to_owned()),
            }
        }
    }
    tables
}

/// The sizes of a trial that may grow, each with the properties that must be equal in the other trials.
fn sizes(trial: &Trial) -> Vec<(ScaledBy, u32, String)> {
    let load = &trial.load;
    let variant = load.variant.as_ref().map(|variant| variant.kind);
    let balanced = load.balanced.as_ref().filter(|balanced| balanced.route == Route::Balanced);
    let balancer = balanced.map(|balanced| (&balanced.balancer, &balanced.policy, balanced.fault));
    let instances = balanced.map(|balanced| balanced.instances);
    let (form, cores) = (&trial.form, trial.server_cores().len() as u32);
    let rest = (load.depth, &load.http, load.tls, variant, balancer);
    let mut sizes = vec![
        (ScaledBy::Connections, load.connections, format!("{rest:?} {instances:?} {form} {cores}")),
        (ScaledBy::Cores, cores, format!("{rest:?} {instances:?} {}", load.connections)),
    ];
    sizes.extend(
        instances.map(|count| {
            (ScaledBy::Instances, count, format!("{rest:?} {form} {cores} {}", load.connections))
        }),
    );
    sizes
}

/// Size and rate of each launch.
fn points(sizes: &BTreeMap<u32, Vec<&Trial>>) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for (size, trials) in sizes {
        let usable = CellTrials::from_trials(trials).usable;
        points.extend(usable.iter().map(|launch| (f64::from(*size), launch.run.rate_per_s.achieved)));
    }
    points.retain(|(_, rate)| *rate > 0.0);
    points
}

/// None if the rates determine no curve: a contention above 1 is not valid.
fn row(server: &str, sizes: Vec<u32>, points: &[(f64, f64)]) -> Option<ScalingRow> {
    let fit = Scalability::fit(points, SEED).filter(|fit| fit.contention_interval.high <= 1.0)?;
    let largest = f64::from(*sizes.last()?);
    let end = |end: f64| end.is_finite().then_some(end);
    Some(ScalingRow {
        server: server.to_owned(),
        sizes,
        contention: fit.contention,
        contention_interval: [fit.contention_interval.low, fit.contention_interval.high],
        coherency: fit.coherency,
        coherency_interval: [fit.coherency_interval.low, fit.coherency_interval.high],
        peak_at: fit.peak_at,
        peak_interval: [end(fit.peak_interval.low), end(fit.peak_interval.high)],
        peak_rate_per_s: fit.rate(fit.peak_at.unwrap_or(largest)),
    })
}
