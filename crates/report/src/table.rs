//! Tables: the rows of one workload, load and form on one machine.
//!
//! Called by [`crate::Report::new`] with the trials of a round. `row.rs` makes a row and `rank.rs` ranks it; this file
//! groups trials, and adds the CPU time at a fixed rate to rows that the generator limited. Twin loads have separate
//! tables; `pairing.rs` compares them.

use crate::copies::{CopyCheck, MetricNoise, copy_checks, noise};
use crate::figure::{Figure, set_intervals};
use crate::launch::CellTrials;
use crate::machine::RoundMachines;
use crate::rank::{RankedBy, draws, rank};
use crate::row::{self, Note, Row, Standing};
use paceline_judge::{Metric, unequal_work};
use paceline_record::{Load, LoopKind, Pinning, RateShare, Server, Trial, map_parallel};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The rows of one workload, load and form on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Table {
    /// The label of the machine.
    pub machine: String,
    /// Name of the workload.
    pub workload: String,
    /// `single` or `cores`.
    pub form: String,
    /// The load of the table.
    pub load: Load,
    /// The cores of server and generator; several entries if they were not the same for all. For a load that led to the
    /// first of several instances, only that instance is the server.
    pub pinnings: Vec<Pinning>,
    /// The criterion by which the rows are ordered.
    pub ranked_by: RankedBy,
    /// The load at whose fixed rate the CPU of generator-bound rows is compared; none if none was measured.
    pub reference_load: Option<Load>,
    /// The difference by which a typical pair of rows must differ to be told apart, as a share: 0.11 is 11 %. A true
    /// difference of this size is found in about half of the cases. None with too few launches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest_difference: Option<f64>,
    /// Pairs of rows of which the first is ahead of the second with confidence.
    #[serde(skip)]
    pub ahead: Vec<(usize, usize)>,
    /// The noise of its metrics, the least noisy first: that one is best for comparisons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub noise: Vec<MetricNoise>,
    /// The comparison of a server and its copy, if the round contained one twice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<CopyCheck>,
    /// The rows of the table, best first.
    pub rows: Vec<Row>,
    /// The verdicts on some rows, by name.
    pub notes: Vec<Note>,
}

impl Table {
    /// The planned launches of a row.
    pub fn launches_planned(&self) -> u32 {
        self.rows.iter().map(|row| row.launches_planned).max().unwrap_or(0)
    }

    /// The most launches that a row has.
    pub fn launches_usable(&self) -> u32 {
        self.rows.iter().map(|row| row.launches_usable).max().unwrap_or(0)
    }

    /// Whether no row was planned to have more than one launch: the spread is then unknown.
    pub fn is_single(&self) -> bool {
        self.launches_planned() <= 1
    }
}

/// The key that distinguishes tables, in the order of display: by name, because the round's order of workloads is not
/// recorded; closed loops before open loops, then by rate and connections.
type TableKey = (usize, String, String, bool, u64, u32, String);

fn key(machines: &RoundMachines, trial: &Trial) -> TableKey {
    let load = &trial.load;
    // A share gives a separate rate in each launch: its table is identified by the share, in percent.
    let rate = match &load.share {
        Some(share) => share.share * 100.0,
        None => load.rate_per_s.unwrap_or(0.0).max(0.0),
    } as u64;
    (
        machines.place(trial),
        trial.workload.clone(),
        trial.form.clone(),
        load.kind == LoopKind::Open,
        rate,
        load.connections,
        load.name.clone(),
    )
}

/// The tables of some trials, which must be in the order they ran. `planned` is the number of launches for each row.
pub fn tables(machines: &RoundMachines, trials: &[&Trial], planned: u32) -> Vec<Table> {
    let mut groups: BTreeMap<TableKey, Vec<&Trial>> = BTreeMap::new();
    for trial in trials {
        groups.entry(key(machines, trial)).or_default().push(trial);
    }
    let label =
        |place: usize| machines.list.get(place).map(|machine| machine.label.clone()).unwrap_or_default();
    let groups: Vec<(TableKey, Vec<&Trial>)> = groups.into_iter().collect();
    let of_group = |(key, trials): (TableKey, Vec<&Trial>)| {
        let mut table = table(label(key.0), trials.first()?, &trials, planned);
        for metric in Metric::ALL {
            let is_steady: Vec<bool> = table.rows.iter().map(Row::is_steady).collect();
            let figures = table.rows.iter_mut().map(|row| row.figures.get_mut(metric)).zip(is_steady);
            set_intervals(figures.filter_map(|(figure, is_steady)| Some((figure?, is_steady))).collect());
        }
        Some(table)
    };
    let mut tables: Vec<Table> = map_parallel(groups, of_group).into_iter().flatten().collect();
    for place in 0..tables.len() {
        refer(&mut tables, place);
    }
    let draws = draws();
    map_parallel(tables, |mut table| {
        let claims = rank(&mut table.rows, table.ranked_by, &draws);
        (table.ahead, table.smallest_difference) = (claims.ahead, claims.smallest_difference);
        table.copies = copy_checks(&table.rows, table.ranked_by);
        table.noise = noise(&table.rows, table.ranked_by);
        table
    })
}

fn table(machine: String, first: &Trial, trials: &[&Trial], planned: u32) -> Table {
    let mut servers: BTreeMap<&str, Vec<&Trial>> = BTreeMap::new();
    let mut pinnings: Vec<Pinning> = Vec::new();
    for trial in trials {
        servers.entry(&trial.server.id).or_default().push(trial);
        let pinning = Pinning { server: trial.server_cores().to_vec(), ..trial.pinning.clone() };
        // An imported report does not give the cores.
        if trial.run.is_some() && trial.imported.is_none() && !pinnings.contains(&pinning) {
            pinnings.push(pinning);
        }
    }
    let mut notes = BTreeMap::new();
    let mut rows = Vec::new();
    let mut launches: Vec<CellTrials<'_>> =
        servers.values().map(|trials| CellTrials::from_trials(trials)).collect();
    let runs = launches.iter().map(|launches| launches.usable.iter().map(|launch| launch.run).collect());
    let unequal = unequal_work(&runs.collect::<Vec<Vec<_>>>());
    launches.iter_mut().zip(unequal).for_each(|(launches, verdict)| launches.together.extend(verdict));
    for ((server, trials), launches) in servers.iter().zip(&launches) {
        row::collect(&mut notes, server, launches);
        let subjects: Vec<&Server> = trials.iter().map(|trial| &trial.server).collect();
        rows.push(Row::from_trials(&subjects, &first.load, launches, planned));
    }
    Table {
        machine,
        workload: first.workload.clone(),
        form: first.form.clone(),
        load: load_of_all(&first.load),
        pinnings,
        ranked_by: RankedBy::from_load(&first.load),
        reference_load: None,
        smallest_difference: None,
        ahead: Vec::new(),
        noise: Vec::new(),
        copies: Vec::new(),
        rows,
        notes: notes.into_values().collect(),
    }
}

/// The load common to all rows: the rate of a share differs between launches.
fn load_of_all(load: &Load) -> Load {
    let Some(share) = &load.share else { return load.clone() };
    let share = RateShare { full_per_s: None, full_trial: None, ..share.clone() };
    Load { rate_per_s: None, share: Some(share), ..load.clone() }
}

/// Adds the CPU per request at a fixed rate to the rows of a closed-loop table with generator-bound rows: at the
/// highest rate at which all of those were measured without falling short.
fn refer(tables: &mut [Table], place: usize) {
    let Some(table) = tables.get(place) else { return };
    let bound: Vec<&str> = table
        .rows
        .iter()
        .filter(|row| row.standing == Standing::GeneratorBound)
        .map(|row| row.server.id.as_str())
        .collect();
    if table.load.kind == LoopKind::Open || bound.is_empty() {
        return;
    }
    let alike = |other: &&Table| {
        other.ranked_by == RankedBy::ServerCpuPerRequest
            && (&other.machine, &other.workload, &other.form, &other.load.http, other.load.tls)
                == (&table.machine, &table.workload, &table.form, &table.load.http, table.load.tls)
            && bound.iter().all(|server| cpu_at(other, server).is_some())
    };
    let rate = |table: &Table| table.load.rate_per_s.unwrap_or(0.0);
    let Some(reference) = tables.iter().filter(alike).max_by(|a, b| rate(a).total_cmp(&rate(b))) else {
        return;
    };
    let reference = reference.clone();
    if let Some(table) = tables.get_mut(place) {
        for row in &mut table.rows {
            let cpu = cpu_at(&reference, &row.server.id);
            row.figures.set(&Metric::SERVER_CPU_AT_REFERENCE, cpu);
        }
        table.reference_load = Some(reference.load);
    }
}

fn cpu_at(table: &Table, server: &str) -> Option<Figure> {
    let row = table.rows.iter().find(|row| row.server.id == server && row.standing == Standing::Ranked)?;
    row.figures.get(&Metric::SERVER_CPU).cloned()
}
