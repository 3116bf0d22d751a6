//! The warm-ups of servers: time to the steady state and the warm-up curve of each launch.
//!
//! One observation for each launch. A launch is warmed before its first load; older records, and plans that request
//! cold figures, have none.

use crate::figure::Figure;
use crate::machine::RoundMachines;
use paceline_record::{Trial, WarmUp, WarmUpBursts};
use paceline_stats::WARM_UP_SECONDS;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The warm-ups of the servers of one form on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WarmUpTable {
    /// The label of the machine.
    pub machine: String,
    /// `single` or `cores`.
    pub form: String,
    /// The workloads that were requested, in equal shares.
    pub workloads: Vec<String>,
    /// Connections of the closed loop.
    pub connections: u32,
    /// The limit of a warm-up, in seconds.
    pub limit_s: f64,
    /// The bursts of the load; none if it was continuous.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bursts: Option<WarmUpBursts>,
    /// A row for each server.
    pub rows: Vec<WarmUpRow>,
}

/// The warm-ups of one server.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WarmUpRow {
    /// The server's id.
    pub server: String,
    /// From the first request to the steady state, for the launches that reached it.
    pub steady_after_s: Option<Figure>,
    /// Launches that were still getting faster at the limit.
    pub launches_not_steady: u32,
    /// Responses in the first second.
    pub first_second_per_s: Option<Figure>,
    /// Responses per second in the last 4 s.
    pub last_per_s: Option<Figure>,
    /// The rate in the first second as a share of the rate in the last 4 s: the mean over launches.
    pub first_second_share: Option<f64>,
    /// Each launch's curve, in the order they ran.
    pub curves: Vec<ColdCurve>,
}

/// The rate of one launch in each second since its first request.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ColdCurve {
    /// The id of the launch.
    pub launch: String,
    /// From the first request to the steady state; none if the limit was reached first.
    pub steady_after_s: Option<f64>,
    /// Responses per second in each second.
    pub rate_per_s: Vec<f64>,
}

impl WarmUpRow {
    /// The rate in a second, counted from 1, as a share of the rate in the last 4 s: the mean over the launches with
    /// both.
    pub fn share_in_second(&self, second: usize) -> Option<f64> {
        let share = |curve: &ColdCurve| {
            Some(curve.rate_per_s.get(second.checked_sub(1)?)? / last(&curve.rate_per_s)?)
        };
        let shares: Vec<f64> = self.curves.iter().filter_map(share).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }
}

/// The final rate: the mean of the seconds that the warm-up rule compares; none without responses in them.
fn last(rates: &[f64]) -> Option<f64> {
    let last = &rates[rates.len().saturating_sub(WARM_UP_SECONDS)..];
    let sum: f64 = last.iter().sum();
    (sum > 0.0).then(|| sum / last.len() as f64)
}

/// The warm-ups of some launches, with their names, in the order they ran.
type NamedWarmUps<'a> = Vec<(&'a str, &'a WarmUp)>;

/// The warm-up tables of some trials, which must be in the order they ran.
pub fn warm_ups(machines: &RoundMachines, trials: &[&Trial]) -> Vec<WarmUpTable> {
    let mut tables: Vec<WarmUpTable> = Vec::new();
    let mut groups: BTreeMap<(usize, &str, &str), NamedWarmUps<'_>> = BTreeMap::new();
    for trial in trials {
        let Some(warm_up) = trial.startup.as_ref().and_then(|startup| startup.warm_up.as_ref()) else {
            continue;
        };
        let launches = groups.entry((machines.place(trial), &trial.form, &trial.server.id)).or_default();
        if launches.iter().all(|(launch, _)| *launch != trial.launch) {
            launches.push((&trial.launch, warm_up));
        }
    }
    for ((place, form, server), launches) in groups {
        let Some((_, first)) = launches.first() else { continue };
        let machine = machines.list.get(place).map(|machine| machine.label.clone()).unwrap_or_default();
        let is_its = |table: &&mut WarmUpTable| {
            (&*table.machine, &*table.form, &table.workloads, table.bursts)
                == (&*machine, form, &first.workloads, first.bursts)
        };
        let row = row(server, &launches);
        match tables.iter_mut().find(is_its) {
            Some(table) => table.rows.push(row),
            None => tables.push(WarmUpTable {
                machine,
                form: form.to_owned(),
                workloads: first.workloads.clone(),
                connections: first.connections,
                limit_s: first.limit_s,
                bursts: first.bursts,
                rows: vec![row],
            }),
        }
    }
    tables
}

fn row(server: &str, launches: &[(&str, &WarmUp)]) -> WarmUpRow {
    let all = || launches.iter().map(|(_, warm_up)| *warm_up);
    let mut row = WarmUpRow {
        server: server.to_owned(),
        steady_after_s: Figure::from_observations(all().filter_map(|warm_up| warm_up.steady_after_s)),
        launches_not_steady: all().filter(|warm_up| warm_up.steady_after_s.is_none()).count() as u32,
        first_second_per_s: Figure::from_observations(
            all().filter_map(|warm_up| warm_up.rate_per_s.first().copied()),
        ),
        last_per_s: Figure::from_observations(all().filter_map(|warm_up| last(&warm_up.rate_per_s))),
        first_second_share: None,
        curves: launches
            .iter()
            .map(|(launch, warm_up)| ColdCurve {
                launch: (*launch).to_owned(),
                steady_after_s: warm_up.steady_after_s,
                rate_per_s: warm_up.rate_per_s.clone(),
            })
            .collect(),
    };
    row.first_second_share = row.share_in_second(1);
    row
}
