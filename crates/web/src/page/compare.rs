//! Two rounds, or two servers, side by side: matched rows with ratios.
//!
//! Called by the server and by reports of one file. `paceline_experiment::compare_rounds` matches the rows and decides;
//! this page only shows its result.

use super::metric::{FigurePage, MetricPage, figure, judged, metrics};
use super::round::{RoundPage, ServerEntry};
use paceline_experiment::{
    CellComparison, Direction, JointComparison, MARGIN, MetricComparison, RoundComparison, RoundSide,
    RowPlace, compare_rounds, failure_sentence,
};
use paceline_judge::Metric;
use paceline_record::{Load, LoopKind, Trial};
use paceline_report::{About, Report, Table};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Two sides.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ComparePage {
    /// The side that ratios are relative to.
    pub a: Side,
    /// The other.
    pub b: Side,
    /// What differs between the machines of compared rows: `kernel: 6.2 instead of 6.1`.
    pub machine_differs: Vec<String>,
    /// The metrics that both have.
    pub metrics: Vec<MetricPage>,
    /// A difference of at most this share is treated as none.
    pub equivalence: f64,
    /// Cells that both have.
    pub rows: Vec<CompareRow>,
    /// Servers over all of their rows together.
    pub joint: Vec<JointRow>,
    /// Cells that only one of them has.
    pub unmatched: usize,
    /// The command that compares the two in a terminal.
    pub command: String,
}

/// A server over all of its rows, by one metric.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct JointRow {
    /// The metric's id.
    pub metric: &'static str,
    /// The server on side A.
    pub server_a: String,
    /// The server on side B.
    pub server_b: String,
    /// The loop of these rows, if the metric means something else in the other one.
    pub loop_kind: Option<LoopKind>,
    /// Rows that count on both sides.
    pub rows: usize,
    /// How many of them have more of it on side B.
    pub higher: usize,
    /// B relative to A over all of these rows: one value for each launch.
    pub ratio: Ratio,
}

impl From<&JointComparison> for JointRow {
    fn from(joint: &JointComparison) -> Self {
        let [server_a, server_b] = joint.servers.clone();
        Self {
            metric: joint.comparison.metric.judged().key,
            server_a,
            server_b,
            loop_kind: joint.loop_kind,
            rows: joint.rows,
            higher: joint.higher,
            ratio: Ratio::from(&joint.comparison),
        }
    }
}

/// One side.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Side {
    /// The facts of its round.
    pub round: About,
    /// The processors of the machines that it ran on, each once.
    pub cpu_model: String,
    /// The one server, where one was chosen.
    pub server: Option<ServerEntry>,
}

/// A cell that both sides have.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CompareRow {
    /// The server on either side.
    pub server_a: ServerEntry,
    /// The server on the other.
    pub server_b: ServerEntry,
    /// The workload.
    pub workload: String,
    /// The form.
    pub form: String,
    /// The load, as side A has it.
    pub load: Load,
    /// The label of side A's machine, where its round ran on several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_a: Option<String>,
    /// The label of side B's machine, where its round ran on several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_b: Option<String>,
    /// What its failed requests say, if that speaks against side B or against comparing: as a sentence.
    pub failures: Option<String>,
    /// Both figures and their ratio, by metric.
    pub pairs: BTreeMap<&'static str, PairValue>,
}

/// One figure on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PairValue {
    /// Side A's.
    pub a: FigurePage,
    /// Side B's.
    pub b: FigurePage,
    /// B relative to A.
    pub ratio: Ratio,
}

/// B relative to A.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ratio {
    /// The ratio of the estimates.
    pub estimate: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The decision.
    #[serde(flatten)]
    pub direction: Direction,
}

impl From<&MetricComparison> for Ratio {
    fn from(compared: &MetricComparison) -> Self {
        Self {
            estimate: compared.ratio,
            low: compared.ratio_interval.low,
            high: compared.ratio_interval.high,
            direction: compared.direction,
        }
    }
}

/// One side of the page: a round, or one server of it.
#[derive(Clone, Copy, Debug)]
pub struct ComparedRound<'a> {
    /// The round's page.
    pub page: &'a RoundPage,
    /// The report that the page was made of.
    pub report: &'a Report,
    /// The round's trials.
    pub trials: &'a [Trial],
    /// The only server to compare, if one was chosen.
    pub server: Option<&'a str>,
}

impl<'a> ComparedRound<'a> {
    fn side(&self) -> RoundSide<'a> {
        RoundSide { report: self.report, trials: self.trials, server: self.server }
    }
}

impl ComparePage {
    /// Compares two rounds, of either one server where it is named.
    pub fn new(a: ComparedRound<'_>, b: ComparedRound<'_>) -> Self {
        Self::from_result([a, b], &compare_rounds([a.side(), b.side()], None, MARGIN))
    }

    /// The page of a result.
    pub fn from_result(sides: [ComparedRound<'_>; 2], result: &RoundComparison) -> Self {
        let known = metrics();
        let rows: Vec<CompareRow> =
            result.cells.iter().filter_map(|cell| CompareRow::new(sides, cell, &known)).collect();
        let measured = |metric: &MetricPage| rows.iter().any(|row| row.pairs.contains_key(metric.id));
        let [a, b] = sides;
        Self {
            metrics: known.into_iter().filter(measured).collect(),
            machine_differs: machine_differences([a.report, b.report], result),
            equivalence: result.margin,
            joint: result.joint.iter().map(JointRow::from).collect(),
            unmatched: result.unmatched,
            command: format!("paceline report {} {}", a.page.about.id, b.page.about.id),
            a: Side::new(a),
            b: Side::new(b),
            rows,
        }
    }
}

/// What differs between the machines of compared rows, each difference once.
fn machine_differences([a, b]: [&Report; 2], result: &RoundComparison) -> Vec<String> {
    let found = |report: &Report, place: RowPlace| {
        let (table, _) = place.find(report)?;
        report.machines.iter().position(|machine| machine.label == table.machine)
    };
    let of_cell = |cell: &CellComparison| Some((found(a, cell.places[0])?, found(b, cell.places[1])?));
    let pairs: BTreeSet<(usize, usize)> = result.cells.iter().filter_map(of_cell).collect();
    let mut differences = Vec::new();
    for (one, other) in pairs {
        for difference in b.machines[other].differences_from(&a.machines[one]) {
            if !differences.contains(&difference) {
                differences.push(difference);
            }
        }
    }
    differences
}

impl CompareRow {
    fn new(sides: [ComparedRound<'_>; 2], cell: &CellComparison, known: &[MetricPage]) -> Option<Self> {
        let (table, a) = cell.places[0].find(sides[0].report)?;
        let (table_b, b) = cell.places[1].find(sides[1].report)?;
        let machine = |side: usize, table: &Table| {
            (sides[side].report.machines.len() > 1).then(|| table.machine.clone())
        };
        let compared = |metric: &Metric| {
            cell.comparison.metrics.iter().find(|compared| compared.metric.judged() == metric)
        };
        let pair = |metric: &MetricPage| {
            let ratio = compared(judged(metric.id)?)?.into();
            Some((metric.id, PairValue { a: figure(metric.id, a)?, b: figure(metric.id, b)?, ratio }))
        };
        let entry = |side: usize, id: &str| sides[side].page.servers.get(id).cloned().unwrap_or_default();
        Some(Self {
            server_a: entry(0, &a.server.id),
            server_b: entry(1, &b.server.id),
            workload: table.workload.clone(),
            form: table.form.clone(),
            load: table.load.clone(),
            machine_a: machine(0, table),
            machine_b: machine(1, table_b),
            failures: failure_sentence(&cell.comparison, "A", "B"),
            pairs: known.iter().filter_map(pair).collect(),
        })
    }
}

impl Side {
    fn new(side: ComparedRound<'_>) -> Self {
        let mut models: Vec<&str> = Vec::new();
        for machine in &side.page.machines {
            let model = &*machine.environment.cpu_model;
            if !model.is_empty() && !models.contains(&model) {
                models.push(model);
            }
        }
        Self {
            round: side.page.about.clone(),
            cpu_model: models.join(" and "),
            server: side.server.and_then(|server| side.page.servers.get(server)).cloned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Records;
    use paceline_store::archive;
    use std::path::Path;

    #[test]
    fn a_side_names_every_processor_that_it_ran_on_once() {
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../history/archive/sold-on-go-2026-11-21");
        let (round, mut trials) = archive::read(&folder).unwrap();
        let half = trials.len() / 2;
        for (place, run) in trials.iter_mut().filter_map(|trial| trial.run.as_mut()).enumerate() {
            run.environment.cpu_model = if place < half { "One" } else { "Other" }.to_owned();
            run.environment.kernel = format!("kernel {}", place % 2);
        }
        let records = Records { round, trials, unreadable: Vec::new() };
        let report = records.report();
        let page = RoundPage::new(&records, &report);
        let side = ComparedRound { page: &page, report: &report, trials: &records.trials, server: None };
        assert_eq!(page.machines.len(), 4);
        let named = Side::new(side).cpu_model;
        assert!(["One and Other", "Other and One"].contains(&&*named), "{named}");
    }
}
