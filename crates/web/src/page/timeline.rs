//! A server over the rounds that measured it: each workload and load as a line of points, with the proven changes.
//!
//! A point is compared with the one before it on the same machine, as two rounds are compared: Welch's t test over
//! launches, corrected over all rows of the server in the two rounds. The browser draws the decisions.

use super::compare::Ratio;
use super::metric::{FigurePage, MetricPage, metrics};
use super::round::{RoundPage, ServerEntry, TablePage};
use paceline_experiment::{MARGIN, RoundSide, compare_rounds, requested};
use paceline_record::{Load, Severity, Trial};
use paceline_report::{Report, Standing, Table};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A server over time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimelinePage {
    /// The server, as the newest round has it.
    pub server: ServerEntry,
    /// The metrics that some point has.
    pub metrics: Vec<MetricPage>,
    /// Its lines, the longest first.
    pub lines: Vec<TimelineLine>,
    /// Older rounds that were not read.
    pub not_read: usize,
}

/// One workload, form and load on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimelineLine {
    /// The workload.
    pub workload: String,
    /// `single` or `cores`.
    pub form: String,
    /// The load.
    pub load: Load,
    /// The machine: processor and its number of cores.
    pub machine: String,
    /// The metric that its tables are ordered by.
    pub metric: &'static str,
    /// Oldest first.
    pub points: Vec<TimelinePoint>,
}

/// What one round measured.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimelinePoint {
    /// The round.
    pub round: String,
    /// Its plan.
    pub plan: String,
    /// The name of the load in it.
    pub load: String,
    /// Wall-clock start of the round, RFC 3339, UTC.
    pub started_at: String,
    /// What the server's version command printed.
    pub versions: String,
    /// What the row can be taken for.
    pub standing: Standing,
    /// The worst severity of its verdicts; none without a verdict.
    pub severity: Option<Severity>,
    /// Its verdicts, the most severe first.
    pub verdicts: Vec<String>,
    /// Its figures.
    pub values: BTreeMap<&'static str, FigurePage>,
    /// The difference from the point before it, by metric; none for the first point.
    pub changes: BTreeMap<&'static str, Ratio>,
}

/// A round that may have measured the server.
#[derive(Clone, Copy, Debug)]
pub struct TimelineRound<'a> {
    /// Its page.
    pub page: &'a RoundPage,
    /// The report that the page was made of.
    pub report: &'a Report,
    /// Its trials.
    pub trials: &'a [Trial],
}

/// What the points of a line have in common: workload, form, load and machine.
type LineKey = (String, String, String, String);

impl TimelinePage {
    /// The page of a server over some rounds, oldest first; none if no round has it. `not_read` further rounds are older.
    pub fn new(server: &str, rounds: &[TimelineRound<'_>], not_read: usize) -> Option<Self> {
        let has = |round: &&TimelineRound<'_>| round.page.servers.contains_key(server);
        let rounds: Vec<&TimelineRound<'_>> = rounds.iter().filter(has).collect();
        let mut lines: BTreeMap<LineKey, TimelineLine> = BTreeMap::new();
        let mut last: BTreeMap<LineKey, usize> = BTreeMap::new();
        for (place, round) in rounds.iter().enumerate() {
            let points = points(server, round);
            // The rounds in which the lines of this one were measured before.
            let before: BTreeSet<usize> =
                points.iter().filter_map(|(key, _)| last.get(key).copied()).collect();
            let changes: BTreeMap<usize, Changes> =
                before.into_iter().map(|other| (other, changes(server, rounds[other], round))).collect();
            for (key, (table, mut point)) in points {
                if let Some(other) = last.insert(key.clone(), place) {
                    let load = requested(&table.load);
                    let id = (table.workload.clone(), table.form.clone(), load, table.machine.clone());
                    let found = changes.get(&other).and_then(|changes| changes.get(&id));
                    point.changes = found.cloned().unwrap_or_default();
                }
                let line = lines.entry(key.clone()).or_insert_with(|| TimelineLine {
                    workload: table.workload.clone(),
                    form: table.form.clone(),
                    load: table.load.clone(),
                    machine: key.3,
                    metric: table.ranked_by.metric().key,
                    points: Vec::new(),
                });
                line.points.push(point);
            }
        }
        let mut lines: Vec<TimelineLine> = lines.into_values().collect();
        lines.sort_by_key(|line| std::cmp::Reverse(line.points.len()));
        let measured = |metric: &MetricPage| {
            lines.iter().flat_map(|line| &line.points).any(|point| point.values.contains_key(metric.id))
        };
        Some(Self {
            server: rounds.last()?.page.servers.get(server)?.clone(),
            metrics: metrics().into_iter().filter(measured).collect(),
            lines,
            not_read,
        })
    }
}

/// The points of a round, each with its table.
fn points<'a>(server: &str, round: &TimelineRound<'a>) -> Vec<(LineKey, (&'a Table, TimelinePoint))> {
    let tables = round.report.tables.iter().zip(&round.page.tables);
    let point = |(table, page): (&'a Table, &TablePage)| {
        let row = page.rows.iter().find(|row| row.server == server)?;
        let key =
            (table.workload.clone(), table.form.clone(), requested(&table.load), machine_name(round, table));
        let entry = round.page.servers.get(server);
        let point = TimelinePoint {
            round: round.page.about.id.clone(),
            plan: round.page.about.plan.clone(),
            load: table.load.name.clone(),
            started_at: round.page.about.started_at.clone(),
            versions: entry.map(|entry| entry.server.versions.clone()).unwrap_or_default(),
            standing: row.standing,
            severity: row.severity,
            verdicts: row.verdicts.clone(),
            values: row.values.clone(),
            changes: BTreeMap::new(),
        };
        Some((key, (table, point)))
    };
    tables.filter_map(point).collect()
}

/// The machine of a table: processor and its number of cores.
fn machine_name(round: &TimelineRound<'_>, table: &Table) -> String {
    let machine = round.page.machines.iter().find(|machine| machine.label == table.machine);
    let machine = machine.map(|machine| &machine.environment);
    machine.map(|machine| format!("{}, {} cores", machine.cpu_model, machine.cores)).unwrap_or_default()
}

/// Differences by workload, form, load and label of the later round's machine, then by metric.
type Changes = BTreeMap<(String, String, String, String), BTreeMap<&'static str, Ratio>>;

fn changes(server: &str, before: &TimelineRound<'_>, after: &TimelineRound<'_>) -> Changes {
    let sides = [before, after].map(|round| RoundSide {
        report: round.report,
        trials: round.trials,
        server: Some(server),
    });
    let mut found = Changes::new();
    for cell in compare_rounds(sides, None, MARGIN).cells {
        let Some((table, _)) = cell.places[1].find(after.report) else { continue };
        // A line is of one machine.
        let earlier = cell.places[0].find(before.report);
        if earlier.is_none_or(|(other, _)| machine_name(before, other) != machine_name(after, table)) {
            continue;
        }
        let load = requested(&table.load);
        let key = (table.workload.clone(), table.form.clone(), load, table.machine.clone());
        let by_metric = cell.comparison.metrics.iter();
        let ratios = by_metric.map(|compared| (compared.metric.judged().key, Ratio::from(compared)));
        found.insert(key, ratios.collect());
    }
    found
}
