//! A report on one round: its facts, its machines and its tables. Every format shows exactly this.
//!
//! The binary makes it from a round and its trials, and removes tables that were not requested ([`Report::retain`]). It
//! does not depend on the source of the records; `table.rs` makes tables, `format` renders them.

use crate::balanced::{BalancedTable, balanced};
use crate::machine::{Machine, RoundMachines};
use crate::observed::{Beside, beside};
use crate::pairing::{Pairing, pairings};
use crate::row::Row;
use crate::scaling::{ScalingTable, scaling};
use crate::start::{StartTable, starts};
use crate::table::{Table, tables};
use crate::warm_up::{WarmUpTable, warm_ups};
use paceline_record::{Round, Trial, Tuned};
use schemars::JsonSchema;
use serde::Serialize;

/// The version of the keys of a report's JSON. A change of any number's meaning raises it.
pub const REPORT_SCHEMA: u32 = 2;

/// The trials of a round, grouped into tables and ranked.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// The version of these keys.
    pub schema: u32,
    /// About the round that is reported.
    pub round: About,
    /// The machines of its trials: one, unless the round was resumed after a change.
    pub machines: Vec<Machine>,
    /// A table for each workload, form and load, machine by machine.
    pub tables: Vec<Table>,
    /// Loads beside their twins: first run and again, HTTP/1.0, direct and through a balancer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pairings: Vec<Pairing>,
    /// CPU, memory and counters of balancers and instances.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub balanced: Vec<BalancedTable>,
    /// The growth of rates with connections, instances or cores.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scaling: Vec<ScalingTable>,
    /// The starts of the servers, with the first start since a build separately.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<StartTable>,
    /// The warm-ups of the servers: time to the steady state, and the rate in each second until then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warm_ups: Vec<WarmUpTable>,
    /// The figures that the plan's source observed, beside the round's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<Beside>,
}

/// The facts of a round that a reader needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct About {
    /// Id of the round.
    pub id: String,
    /// Name of the plan.
    pub plan: String,
    /// Wall-clock start, RFC 3339, UTC.
    pub started_at: String,
    /// When it ended; none while it is unfinished.
    pub finished_at: Option<String>,
    /// Number of planned trials.
    pub trials_planned: u32,
    /// Number of trials carried out; a second attempt counts as the same trial.
    pub trials_done: u32,
    /// Number of second attempts.
    pub trials_retried: u32,
    /// Planned number of launches per row.
    pub launches_planned: u32,
    /// Whether its figures were published by others: it has no plan, and `changes` give the source.
    #[serde(skip)]
    pub is_imported: bool,
    /// Deviations from the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
    /// Machine settings that were changed for it and restored after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tuned: Vec<String>,
    /// Machine settings that were to be changed for it but could not be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_tuned: Vec<String>,
}

impl Report {
    /// Builds the report of a round from its trials, in any order. Histograms may be empty: percentiles are read from
    /// the records, not computed.
    pub fn new(round: &Round, trials: &[Trial]) -> Self {
        let mut ordered: Vec<&Trial> = trials.iter().collect();
        ordered.sort_by(|a, b| (&a.started_at, &a.id).cmp(&(&b.started_at, &b.id)));
        let machines = RoundMachines::from_trials(round, ordered.iter().copied());
        // The plan's repeats as carried out: a shortened round has rows with fewer.
        let launches_planned = ordered.iter().map(|trial| trial.repeat.saturating_add(1)).max().unwrap_or(0);
        let tables = tables(&machines, &ordered, launches_planned);
        Self {
            schema: REPORT_SCHEMA,
            round: about(round, &ordered, launches_planned),
            pairings: pairings(&machines, &ordered),
            balanced: balanced(&machines, &ordered),
            scaling: scaling(&machines, &ordered),
            starts: starts(&machines, &ordered),
            warm_ups: warm_ups(&machines, &ordered),
            observed: beside(&round.observed, &tables),
            tables,
            machines: machines.list,
        }
    }

    /// Keeps only the tables for which `wanted` is true, and the other parts that belong to them.
    pub fn retain(&mut self, wanted: impl FnMut(&Table) -> bool) {
        self.tables.retain(wanted);
        let has = |workload: &str, load: &str| {
            self.tables.iter().any(|table| table.workload == workload && table.load.name == load)
        };
        self.pairings
            .retain(|pairing| has(&pairing.workload, &pairing.load) || has(&pairing.workload, &pairing.twin));
        self.balanced.retain(|balanced| has(&balanced.workload, &balanced.load));
        self.scaling.retain(|scaling| self.tables.iter().any(|table| table.workload == scaling.workload));
        self.observed.retain(|beside| {
            let observed = &beside.observed;
            let load = observed.load.as_deref();
            self.tables.iter().any(|table| {
                observed.workload.as_ref().is_none_or(|workload| *workload == table.workload)
                    && load.is_none_or(|load| load == table.load.name)
            })
        });
    }

    /// Whether any row is free of reasons to distrust its numbers.
    pub fn has_sound_row(&self) -> bool {
        self.tables.iter().flat_map(|table| &table.rows).any(Row::is_sound)
    }
}

/// The JSON Schema of a report's JSON, as published in `docs/schema/report.schema.json`.
pub fn schema() -> serde_json::Value {
    let settings = schemars::generate::SchemaSettings::default().for_serialize();
    settings.into_generator().into_root_schema_for::<Report>().to_value()
}

fn about(round: &Round, trials: &[&Trial], launches_planned: u32) -> About {
    let mut cells: Vec<_> =
        trials.iter().map(|t| (&t.server.id, &t.form, &t.workload, &t.load.name, t.repeat)).collect();
    cells.sort_unstable();
    cells.dedup();
    About {
        id: round.id.clone(),
        plan: round.plan.clone(),
        started_at: round.started_at.clone(),
        finished_at: round.finished_at.clone(),
        trials_planned: round.planned,
        trials_done: cells.len() as u32,
        trials_retried: (trials.len() - cells.len()) as u32,
        launches_planned,
        is_imported: round.is_imported(),
        changes: round.changes.clone(),
        tuned: tuned(round),
        not_tuned: not_tuned(round),
    }
}

/// The changes of all sittings, each once.
fn tuned(round: &Round) -> Vec<String> {
    each_once(round.sittings.iter().flat_map(|sitting| &sitting.tuned).filter_map(Tuned::changed))
}

/// The failed changes of all sittings, each once.
fn not_tuned(round: &Round) -> Vec<String> {
    each_once(round.sittings.iter().flat_map(|sitting| Tuned::amiss(&sitting.tuned)))
}

fn each_once(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut once: Vec<String> = Vec::new();
    for text in texts {
        if !once.contains(&text) {
            once.push(text);
        }
    }
    once
}
