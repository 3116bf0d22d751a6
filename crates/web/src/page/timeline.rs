//! A server over the rounds that measured it: each workload and load as a line of points, with the proven changes.
//!
//! A point is compared with the one before it on the same machine, as two rounds are compared: Welch's t test over
//! launches, corrected over all rows of the server in the two rounds. The browser draws the decisions.

use super::compare::Ratio;
use super::metric::{FigurePage, MetricPage, metrics};
use super::round::{RoundPage, ServerEntry, TablePage};
use paceline_experiment::{MARGIN, RoundSide, compare_rounds, requested};
use paceline_record::{Load, Severity, Trial};
use paceline_report::{Machine, Report, Standing, Table, framework_packages};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A server over time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimelinePage {
    /// The server, as the newest round has it.
    pub server: ServerEntry,
    /// That its framework comes from a system package in the newest round, as a sentence; empty if it does not.
    pub framework_packages: Vec<String>,
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
    /// The machine: processor and its number of cores, with a number from the second of alike machines on. No other
    /// machine of the page has this name.
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
    /// The label of the machine in it.
    pub machine: String,
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

/// What the points of a line have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LineKey {
    workload: String,
    form: String,
    load: String,
    /// The name of the machine on the page, not its label in a round.
    machine: String,
}

impl LineKey {
    fn new(table: &Table, machine: String) -> Self {
        let (workload, form) = (table.workload.clone(), table.form.clone());
        Self { workload, form, load: requested(&table.load), machine }
    }
}

/// The table of a round that a difference belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TableKey {
    workload: String,
    form: String,
    load: String,
    /// The label of the machine in the round.
    label: String,
}

impl TableKey {
    fn from_table(table: &Table) -> Self {
        let (workload, form) = (table.workload.clone(), table.form.clone());
        Self { workload, form, load: requested(&table.load), label: table.machine.clone() }
    }
}

impl TimelinePage {
    /// The page of a server over some rounds, oldest first; none if no round has it. `not_read` further rounds are older.
    pub fn new(server: &str, rounds: &[TimelineRound<'_>], not_read: usize) -> Option<Self> {
        let has = |round: &&TimelineRound<'_>| round.page.servers.contains_key(server);
        let rounds: Vec<&TimelineRound<'_>> = rounds.iter().filter(has).collect();
        let mut known = KnownMachines::default();
        let names: Vec<MachineNames<'_>> =
            rounds.iter().map(|round| known.names(&round.page.machines)).collect();
        let mut lines: BTreeMap<LineKey, TimelineLine> = BTreeMap::new();
        let mut last: BTreeMap<LineKey, usize> = BTreeMap::new();
        for (place, round) in rounds.iter().enumerate() {
            let points = points(server, round, &names[place]);
            // The rounds in which the lines of this one were measured before.
            let before: BTreeSet<usize> =
                points.iter().filter_map(|(key, _)| last.get(key).copied()).collect();
            let since =
                |other: usize| changes(server, [rounds[other], *round], [&names[other], &names[place]]);
            let changes: BTreeMap<usize, Changes> =
                before.into_iter().map(|other| (other, since(other))).collect();
            for (key, (table, mut point)) in points {
                if let Some(other) = last.insert(key.clone(), place) {
                    let id = TableKey::from_table(table);
                    let found = changes.get(&other).and_then(|changes| changes.get(&id));
                    point.changes = found.cloned().unwrap_or_default();
                }
                let line = lines.entry(key.clone()).or_insert_with(|| TimelineLine {
                    workload: table.workload.clone(),
                    form: table.form.clone(),
                    load: table.load.clone(),
                    machine: key.machine,
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
        let newest = rounds.last()?;
        Some(Self {
            server: newest.page.servers.get(server)?.clone(),
            framework_packages: framework_packages(newest.report, |id| id == server),
            metrics: metrics().into_iter().filter(measured).collect(),
            lines,
            not_read,
        })
    }
}

/// The points of a round, each with its table.
fn points<'a>(
    server: &str,
    round: &TimelineRound<'a>,
    names: &MachineNames<'_>,
) -> Vec<(LineKey, (&'a Table, TimelinePoint))> {
    let tables = round.report.tables.iter().zip(&round.page.tables);
    let point = |(table, page): (&'a Table, &TablePage)| {
        let row = page.rows.iter().find(|row| row.server == server)?;
        let machine = names.get(&*table.machine).cloned().unwrap_or_default();
        let key = LineKey::new(table, machine);
        let entry = round.page.servers.get(server);
        let point = TimelinePoint {
            round: round.page.about.id.clone(),
            plan: round.page.about.plan.clone(),
            load: table.load.name.clone(),
            machine: table.machine.clone(),
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

/// The names of a round's machines, by their labels in it.
type MachineNames<'a> = BTreeMap<&'a str, String>;

/// The machines of several rounds: the name of each, and how the newest round has it. A label says nothing beyond its
/// round.
#[derive(Default)]
struct KnownMachines<'a>(Vec<(String, &'a Machine)>);

impl<'a> KnownMachines<'a> {
    /// The names of a round's machines. A machine is the nearest of those of earlier rounds with its processor and
    /// number of cores; two machines of one round are never the same.
    fn names(&mut self, machines: &'a [Machine]) -> MachineNames<'a> {
        let mut candidates = Vec::new();
        for (place, machine) in machines.iter().enumerate() {
            for (known, (_, other)) in self.0.iter().enumerate() {
                if processor(other) == processor(machine) {
                    candidates.push((machine.distance_from(other), place, known));
                }
            }
        }
        candidates.sort_unstable();
        let mut found: Vec<Option<usize>> = vec![None; machines.len()];
        for (_, place, known) in candidates {
            if found[place].is_none() && !found.contains(&Some(known)) {
                found[place] = Some(known);
            }
        }
        let mut names = MachineNames::new();
        for (machine, known) in machines.iter().zip(found) {
            let name = match known {
                Some(known) => self.0[known].0.clone(),
                None => self.free_name(machine),
            };
            match known {
                Some(known) => self.0[known].1 = machine,
                None => self.0.push((name.clone(), machine)),
            }
            names.insert(&machine.label, name);
        }
        names
    }

    fn free_name(&self, machine: &Machine) -> String {
        let name = processor(machine);
        match self.0.iter().filter(|(_, other)| processor(other) == name).count() {
            0 => name,
            alike => format!("{name} ({})", alike + 1),
        }
    }
}

/// The processor of a machine and its number of cores.
pub fn processor(machine: &Machine) -> String {
    format!("{}, {} cores", machine.environment.cpu_model, machine.environment.cores)
}

/// Differences by table of the later round, then by metric.
type Changes = BTreeMap<TableKey, BTreeMap<&'static str, Ratio>>;

fn changes(server: &str, [before, after]: [&TimelineRound<'_>; 2], names: [&MachineNames<'_>; 2]) -> Changes {
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
        if earlier.is_none_or(|(other, _)| names[0].get(&*other.machine) != names[1].get(&*table.machine)) {
            continue;
        }
        let by_metric = cell.comparison.metrics.iter();
        let ratios = by_metric.map(|compared| (compared.metric.judged().key, Ratio::from(compared)));
        found.insert(TableKey::from_table(table), ratios.collect());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::Environment;

    fn machine(label: &str, kernel: &str) -> Machine {
        let environment = Environment {
            cpu_model: "EPYC".to_owned(),
            cores: 2,
            kernel: kernel.to_owned(),
            ..Environment::default()
        };
        Machine { label: label.to_owned(), environment, differs: Vec::new() }
    }

    #[test]
    fn alike_machines_of_a_round_have_names_of_their_own() {
        let rounds = [
            vec![machine("A", "6.1"), machine("B", "6.2")],
            vec![machine("A", "6.2"), machine("B", "6.1"), machine("C", "6.2")],
            vec![machine("A", "6.3")],
        ];
        let mut known = KnownMachines::default();
        let names: Vec<MachineNames<'_>> = rounds.iter().map(|machines| known.names(machines)).collect();
        let (first, second, third) = ("EPYC, 2 cores", "EPYC, 2 cores (2)", "EPYC, 2 cores (3)");
        let named = |round: usize| names[round].iter().map(|(label, name)| (*label, &**name)).collect();
        let rounds: [Vec<(&str, &str)>; 3] = [named(0), named(1), named(2)];
        assert_eq!(rounds[0], [("A", first), ("B", second)]);
        assert_eq!(rounds[1], [("A", second), ("B", first), ("C", third)], "in another order");
        assert_eq!(rounds[2], [("A", first)], "the kernel was upgraded");
    }
}
