//! Compares two rounds row by row: the same server, form, workload and load in both.
//!
//! The decisions are made here; text, Markdown, JSON and pages only show them. The rounds were not measured side by
//! side, so each row uses Welch's t test over launches. With many rows some differ by chance: a difference is claimed
//! only if it survives Holm's correction over all rows of its metric. A reader asks of one metric which rows changed;
//! the answer must not depend on how many other metrics a record has.

use crate::compare::{PairedComparison, SampleSet};
use crate::compared_metric::{ComparedMetric, NOT_COMPARED};
use crate::failures::ObservedOutcomes;
use crate::joint::{JointComparison, is_given, joint_comparisons};
use crate::metric_comparison::{Direction, MetricComparison};
use paceline_judge::Metric;
use paceline_record::{Blame, Load, Severity, Trial, Variant};
use paceline_report::{Machine, Report, RoundMachines, Row, Table};
use paceline_stats::{compare_launches, holm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A difference between two rounds of at most this share does not matter, unless the user chooses another.
pub const MARGIN: f64 = 0.05;

/// A row that both rounds have measured.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct MatchedCell {
    /// The server's id.
    pub server: String,
    /// The form in which it was started.
    pub form: String,
    /// The workload.
    pub workload: String,
    /// The plan's name for the load.
    pub load: String,
    /// The label of the machine; none if all of the round ran on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

/// One row of both rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellComparison {
    /// The row, as the first round names it and its machine.
    pub cell: MatchedCell,
    /// The second round's launches compared with the first's.
    pub comparison: PairedComparison,
    /// The row in either report, as places of table and row.
    #[serde(skip)]
    pub places: [RowPlace; 2],
}

/// Where a row is in a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowPlace {
    /// The place of its table.
    pub table: usize,
    /// Its place in the table.
    pub row: usize,
}

impl RowPlace {
    /// The table and the row in the report that was compared.
    pub fn find(self, report: &Report) -> Option<(&Table, &Row)> {
        let table = report.tables.get(self.table)?;
        Some((table, table.rows.get(self.row)?))
    }
}

/// One side of a comparison of rounds.
#[derive(Clone, Copy, Debug)]
pub struct RoundSide<'a> {
    /// The round's report.
    pub report: &'a Report,
    /// Its trials.
    pub trials: &'a [Trial],
    /// The only server to compare, if one was chosen. Two chosen servers are compared with each other.
    pub server: Option<&'a str>,
}

/// Two rounds, compared.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundComparison {
    /// The rows that both have.
    pub cells: Vec<CellComparison>,
    /// Each server over all of its rows, by metric.
    pub joint: Vec<JointComparison>,
    /// The number of rows that only one of them has, or that ran on more machines in it than in the other.
    pub unmatched: usize,
    /// A smaller difference does not matter.
    pub margin: f64,
}

/// Compares the rows that both rounds have in every metric that both measured. `primary` decides; by default the first
/// metric of [`ComparedMetric::ALL`] in which a row can be compared.
pub fn compare_rounds(
    sides: [RoundSide<'_>; 2],
    primary: Option<ComparedMetric>,
    margin: f64,
) -> RoundComparison {
    let is_any_server = sides.iter().all(|side| side.server.is_some());
    let [first, second] = sides.map(|side| rows(side, is_any_server));
    let count = |rows: &BTreeMap<RowKey, Vec<RowPlace>>| rows.values().map(Vec::len).sum::<usize>();
    let outcomes = sides.map(outcomes);
    let reports = sides.map(|side| side.report);
    let mut cells = Vec::new();
    let matched = first.iter().filter_map(|(key, places)| Some([places, second.get(key)?]));
    for places in matched.flat_map(|[first, second]| pair_machines(reports, [first, second])) {
        let rows: [Option<(&Table, &Row)>; 2] = std::array::from_fn(|side| places[side].find(reports[side]));
        if let [Some(a), Some(b)] = rows {
            let of_row = |side: usize, (table, row): (&Table, &Row)| {
                outcomes[side].get(&cell(table, row)).cloned().unwrap_or_default()
            };
            let names = reports.map(|report| report.round.id.as_str());
            let comparison = compare_rows(names, [a, b], [of_row(0, a), of_row(1, b)], primary, margin);
            let mut cell = cell(a.0, a.1);
            cell.machine = cell.machine.filter(|_| reports[0].machines.len() > 1);
            cells.push(CellComparison { cell, comparison, places });
        }
    }
    correct(&mut cells);
    let found =
        |cell: &CellComparison| Some([cell.places[0].find(reports[0])?, cell.places[1].find(reports[1])?]);
    let joint = joint_comparisons(&cells.iter().filter_map(found).collect::<Vec<_>>(), margin);
    RoundComparison { joint, unmatched: count(&first) + count(&second) - 2 * cells.len(), cells, margin }
}

/// Server, form, workload and load.
type RowKey = (String, String, String, String);

/// The rows of a side by what they have in common with those of the other: one on each machine.
fn rows(side: RoundSide<'_>, is_any_server: bool) -> BTreeMap<RowKey, Vec<RowPlace>> {
    let mut rows: BTreeMap<RowKey, Vec<RowPlace>> = BTreeMap::new();
    for (table_place, table) in side.report.tables.iter().enumerate() {
        for (place, row) in table.rows.iter().enumerate() {
            if side.server.is_some_and(|server| row.server.id != server) {
                continue;
            }
            let server = if is_any_server { String::new() } else { row.server.id.clone() };
            let key = (server, table.form.clone(), table.workload.clone(), requested(&table.load));
            let places = rows.entry(key).or_default();
            let is_known = |known: &RowPlace| {
                known.find(side.report).is_some_and(|(other, _)| other.machine == table.machine)
            };
            // Of loads that differ only in their names the first one counts.
            if !places.iter().any(is_known) {
                places.push(RowPlace { table: table_place, row: place });
            }
        }
    }
    rows
}

/// Pairs the rows that two rounds have of the same, each with that of the machine nearest to its own. Where a round ran
/// on more machines than the other, some rows have no counterpart.
fn pair_machines(reports: [&Report; 2], [first, second]: [&[RowPlace]; 2]) -> Vec<[RowPlace; 2]> {
    if let ([first], [second]) = (first, second) {
        return vec![[*first, *second]];
    }
    let mut candidates = Vec::new();
    for (a, one) in first.iter().enumerate() {
        for (b, other) in second.iter().enumerate() {
            if let (Some(one), Some(other)) = (machine(reports[0], *one), machine(reports[1], *other)) {
                candidates.push((other.distance_from(one), a, b));
            }
        }
    }
    candidates.sort_unstable();
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (_, a, b) in candidates {
        if pairs.iter().all(|(one, other)| *one != a && *other != b) {
            pairs.push((a, b));
        }
    }
    pairs.sort_unstable();
    pairs.into_iter().map(|(a, b)| [first[a], second[b]]).collect()
}

/// The machine of a row.
fn machine(report: &Report, place: RowPlace) -> Option<&Machine> {
    let (table, _) = place.find(report)?;
    report.machines.iter().find(|machine| machine.label == table.machine)
}

/// The load on a server, without its name in the plan and its length: equal for rows that can be compared.
pub fn requested(load: &Load) -> String {
    let nameless = Load {
        name: String::new(),
        duration_s: None,
        warmup_s: 0.0,
        scaled: None,
        variant: load.variant.clone().map(|variant| Variant { of: String::new(), ..variant }),
        ..load.clone()
    };
    format!("{nameless:?}")
}

fn cell(table: &Table, row: &Row) -> MatchedCell {
    MatchedCell {
        server: row.server.id.clone(),
        form: table.form.clone(),
        workload: table.workload.clone(),
        load: table.load.name.clone(),
        machine: Some(table.machine.clone()),
    }
}

/// The outcomes of the launches of each row. One that the generator or the machine spoiled is left out.
fn outcomes(side: RoundSide<'_>) -> BTreeMap<MatchedCell, Vec<ObservedOutcomes>> {
    let machines = RoundMachines::from_report(&side.report.machines, side.trials);
    let mut cells = BTreeMap::<MatchedCell, Vec<ObservedOutcomes>>::new();
    for trial in side.trials {
        let mut invalid = trial.verdicts.iter().chain(trial.run.iter().flat_map(|run| &run.verdicts));
        let is_spoiled =
            invalid.any(|verdict| verdict.severity == Severity::Invalid && verdict.blame != Blame::Server);
        if is_spoiled || trial.error.as_ref().is_some_and(|fault| fault.transient) {
            continue;
        }
        let cell = MatchedCell {
            server: trial.server.id.clone(),
            form: trial.form.clone(),
            workload: trial.workload.clone(),
            load: trial.load.name.clone(),
            machine: Some(machines.label(trial).to_owned()),
        };
        let mut outcomes = trial.run.as_ref().map(ObservedOutcomes::from_run).unwrap_or_default();
        let fault = trial.error.as_ref().map(|fault| fault.message.clone());
        let judged = || paceline_judge::unusable_because(&trial.verdicts).map(|verdict| verdict.name.clone());
        outcomes.unusable_because = fault.or(outcomes.unusable_because).or_else(judged);
        cells.entry(cell).or_default().push(outcomes);
    }
    cells
}

/// One row of both rounds, without the correction over rows.
fn compare_rows(
    names: [&str; 2],
    rows: [(&Table, &Row); 2],
    outcomes: [Vec<ObservedOutcomes>; 2],
    primary: Option<ComparedMetric>,
    margin: f64,
) -> PairedComparison {
    let kind = rows[0].0.load.kind;
    let mut samples = names.map(SampleSet::new);
    let mut metrics = Vec::new();
    for metric in Metric::ALL.iter().filter(|metric| !NOT_COMPARED.contains(metric)) {
        let compared = ComparedMetric::from_judged(metric, kind);
        let values = rows.map(|(_, row)| values(row, compared));
        let counts = rows.iter().all(|(_, row)| row.counts(metric) && !row.is_minimum(metric));
        metrics.extend(compare_metric(compared, &values, counts, margin));
        for (set, values) in samples.iter_mut().zip(values).filter(|(_, values)| !values.is_empty()) {
            set.values.insert(compared, values);
        }
    }
    let is_given = |metric: &MetricComparison| {
        rows.iter().all(|(table, row)| is_given(table, row, metric.metric.judged()))
    };
    // Published figures may have no other.
    if !metrics.iter().all(is_given) {
        metrics.retain(|metric| !is_given(metric));
    }
    let place = |metric: ComparedMetric| ComparedMetric::ALL.iter().position(|other| *other == metric);
    metrics.sort_by_key(|metric: &MetricComparison| place(metric.metric).unwrap_or(usize::MAX));
    let can_decide = |metric: &&MetricComparison| metric.direction != Direction::NotComparable;
    let decides = metrics.iter().find(can_decide).or(metrics.first()).map(|metric| metric.metric);
    let primary = primary.or(decides).unwrap_or(ComparedMetric::RatePerS);
    // The deciding metric is the first.
    metrics.sort_by_key(|metric| metric.metric != primary);
    for (set, outcomes) in samples.iter_mut().zip(outcomes) {
        set.outcomes = outcomes;
    }
    PairedComparison::decided(primary, margin, metrics, samples)
}

/// The figure of each launch in the unit of the compared metric.
fn values(row: &Row, metric: ComparedMetric) -> Vec<f64> {
    let figure = row.figures.get(metric.judged());
    let observed = figure.iter().flat_map(|figure| &figure.observed);
    observed.map(|(_, value)| value * metric.units_per_judged()).collect()
}

/// A metric of a row; none if a side has no value of it above zero.
fn compare_metric(
    metric: ComparedMetric,
    [first, second]: &[Vec<f64>; 2],
    counts: bool,
    margin: f64,
) -> Option<MetricComparison> {
    let is_positive =
        |values: &[f64]| !values.is_empty() && values.iter().all(|value| *value > 0.0 && value.is_finite());
    if !is_positive(first) || !is_positive(second) {
        return None;
    }
    let mut compared = match compare_launches(second, first, margin) {
        Some(test) => MetricComparison::tested(metric, [first, second], test),
        None => MetricComparison::single(metric, [first, second])?,
    };
    if !counts {
        compared.direction = Direction::NotComparable;
    }
    Some(compared)
}

/// Corrects the p values of each metric over all rows that can be compared in it, also over those that turned out
/// equivalent: whether a row is tested does not depend on the result. A difference that does not survive is not
/// claimed.
fn correct(cells: &mut [CellComparison]) {
    let mut families: BTreeMap<usize, Vec<(&mut MetricComparison, usize)>> = BTreeMap::new();
    for cell in cells {
        let launches = cell.comparison.pairs.max(1);
        for metric in cell.comparison.metrics.iter_mut().filter(|metric| metric.direction.is_tested()) {
            families.entry(metric.metric.judged().index).or_default().push((metric, launches));
        }
    }
    for family in families.values_mut() {
        let corrected = holm(&family.iter().map(|(metric, _)| metric.p_value).collect::<Vec<_>>());
        for ((metric, launches), p_value) in family.iter_mut().zip(corrected) {
            metric.correct(p_value, *launches);
        }
    }
}

#[cfg(test)]
mod tests;
