//! A round as a page shows it: every table with every metric, ties, and further data.
//!
//! Built from the report of the round, plus the pairs of servers that cannot be distinguished by each metric, so that
//! the browser computes nothing.

use super::explanation::{self, Explanation};
use super::index::plan_about;
use super::metric::{FigurePage, MetricPage, figure, judged, metrics};
use super::ties;
use paceline_record::{Limit, Load, Pinning, Round, Server, Severity, Stage, Trial, map_parallel};
use paceline_report::{
    About, Beside, Failure, Machine, Note, Pairing, Report, RoundMachines, Row, Sheet, Standing, StartTable,
    Table, WarmUpTable, counted_trials, framework_packages, resolution, routed_sheets,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Limits of one page, because an untrusted file decides the amount of data. A board of every framework has some 600
/// servers, the largest plan some 100 tables and 10 launches.
const MAX_SERVERS: usize = 1_000;
const MAX_TABLES: usize = 1_000;
const MAX_LAUNCHES: u32 = 1_000;
/// Rows of a table that are compared in pairs: the work grows with their square.
const MAX_COMPARED: usize = 200;

/// A round with its trials: what its page is made of.
#[derive(Debug)]
pub struct Records {
    /// The round.
    pub round: Round,
    /// Its trials as far as they can be read. Histograms may be empty.
    pub trials: Vec<Trial>,
    /// What could not be read, for people.
    pub unreadable: Vec<String>,
}

impl Records {
    /// The report of the trials that fit on a page.
    pub fn report(&self) -> Report {
        Report::new(&self.round, &self.shown().0)
    }

    /// The trials that fit on a page, and a message about the others.
    fn shown(&self) -> (Cow<'_, [Trial]>, Option<String>) {
        let (mut servers, mut tables, mut shown) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        for trial in &self.trials {
            let (server, table) =
                (&*trial.server.id, (&*trial.workload, &*trial.form, &*trial.load.name, &*trial.sitting));
            let fits = trial.repeat < MAX_LAUNCHES
                && (servers.contains(server) || servers.len() < MAX_SERVERS)
                && (tables.contains(&table) || tables.len() < MAX_TABLES);
            if fits {
                servers.insert(server);
                tables.insert(table);
                shown.push(trial);
            }
        }
        match self.trials.len() - shown.len() {
            0 => (Cow::Borrowed(&self.trials), None),
            left_out => {
                let what = format!(
                    "trials not shown: {left_out}. A page has at most {MAX_SERVERS} servers, {MAX_TABLES} tables, and \
                     {MAX_LAUNCHES} launches per row"
                );
                (Cow::Owned(shown.into_iter().cloned().collect()), Some(what))
            }
        }
    }
}

/// A round.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RoundPage {
    /// Its facts.
    pub about: About,
    /// What its plan says of itself in one sentence; empty where it says nothing.
    pub plan_about: String,
    /// Whether its figures were published by others.
    pub imported: bool,
    /// The command of a load generator other than Paceline.
    pub generator: Option<String>,
    /// The machines its trials ran on.
    pub machines: Vec<Machine>,
    /// What was measured, by id.
    pub servers: BTreeMap<String, ServerEntry>,
    /// The servers whose framework comes from system packages, with their releases: the sentences below the tables of a
    /// report.
    pub framework_packages: Vec<String>,
    /// The metrics that some row has, and those that order a table.
    pub metrics: Vec<MetricPage>,
    /// Loads on one instance beside the same loads on all of them: they stand above the tables.
    pub pairings: Vec<PairingPage>,
    /// A table for each workload, form and load, machine by machine.
    pub tables: Vec<TablePage>,
    /// Servers by metric, best over all tables first: by the geometric mean of their shares of each table's best. Those
    /// without a figure are left out.
    pub overall: BTreeMap<&'static str, Vec<String>>,
    /// How servers started.
    pub starts: Vec<StartTable>,
    /// How servers became warm, with the warm-up curve of each launch.
    pub warm_ups: Vec<WarmUpTable>,
    /// What the plan's source observed beside what was observed now.
    pub observed: Vec<Beside>,
    /// What each verdict that occurs means.
    pub verdicts: BTreeMap<String, Explanation>,
    /// What could not be read.
    pub unreadable: Vec<String>,
}

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ServerEntry {
    /// The server as its last trial has it; the name of a copy ends with `, copy`.
    #[serde(flatten)]
    pub server: Server,
    /// The sources that published a figure of it: documents of `history/sources.md`.
    pub sources: Vec<String>,
}

impl From<&Server> for ServerEntry {
    fn from(server: &Server) -> Self {
        let mut server = server.clone();
        if server.copy_of.is_some() {
            server.name.push_str(", copy");
        }
        Self { server, sources: Vec::new() }
    }
}

/// A load on one instance beside the same load on all of them, under one workload and form on one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PairingPage {
    /// The label of the machine.
    pub machine: String,
    /// The workload.
    pub workload: String,
    /// `single` or `cores`.
    pub form: String,
    /// The name of the load on one instance.
    pub load: String,
    /// The name of the same load on all of them.
    pub twin: String,
    /// The table of text and Markdown. Each row begins with the server's id.
    pub sheet: Sheet,
}

impl From<(&Pairing, Sheet)> for PairingPage {
    fn from((pairing, sheet): (&Pairing, Sheet)) -> Self {
        Self {
            machine: pairing.machine.clone(),
            workload: pairing.workload.clone(),
            form: pairing.form.clone(),
            load: pairing.load.clone(),
            twin: pairing.twin.clone(),
            sheet,
        }
    }
}

/// The rows of one workload, load and form on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TablePage {
    /// Unique within the round, made of what sets it apart.
    pub id: String,
    /// The label of the machine.
    pub machine: String,
    /// The workload.
    pub workload: String,
    /// `single` or `cores`.
    pub form: String,
    /// The load.
    pub load: Load,
    /// Where server and generator ran.
    pub pinnings: Vec<Pinning>,
    /// The id of the metric that it is ordered by where no other is chosen.
    pub metric: &'static str,
    /// Whether each row has one launch at most, so that nothing is known of its spread.
    pub single: bool,
    /// The rows, best first by that metric.
    pub rows: Vec<RowPage>,
    /// Pairs of rows without a claimed difference, by metric, as indexes into `rows`. Rows that do not count are left
    /// out. A metric that is not a key has no ranks: each row has one launch, or there are too many rows to compare in
    /// pairs.
    pub ties: BTreeMap<&'static str, Vec<(u16, u16)>>,
    /// What the table can tell apart by each metric, as a sentence: the one above the table in a report.
    pub resolution: BTreeMap<&'static str, String>,
    /// The verdicts that some rows carry.
    pub notes: Vec<Note>,
}

/// One server in a table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RowPage {
    /// The server's id.
    pub server: String,
    /// What it can be taken for.
    pub standing: Standing,
    /// Launches with a usable run.
    pub launches_usable: u32,
    /// Launches that were planned.
    pub launches_planned: u32,
    /// Its figures by metric.
    pub values: BTreeMap<&'static str, FigurePage>,
    /// What limited it; none without a usable launch, and in imported rounds.
    pub limit: Option<LimitPage>,
    /// The names of its verdicts, the most severe first.
    pub verdicts: Vec<String>,
    /// The worst severity among them; none without a verdict.
    pub severity: Option<Severity>,
    /// What failed, and the launches that are left out.
    pub failures: Vec<Failure>,
    /// Its trials in the order they ran.
    pub trials: Vec<TrialEntry>,
}

/// What limited a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LimitPage {
    /// Its name, as after "limited by".
    pub name: &'static str,
    /// What the name means.
    pub meaning: &'static str,
    /// The figures that show it.
    pub evidence: String,
}

impl LimitPage {
    fn from_limit(limit: &Limit) -> Self {
        Self { name: limit.kind.words(), meaning: limit.kind.meaning(), evidence: limit.evidence.clone() }
    }
}

/// A trial of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TrialEntry {
    /// Its id.
    pub id: String,
    /// Wall-clock start, RFC 3339, UTC.
    pub started_at: String,
    /// Which repeat of its cell it counts as, from 0.
    pub repeat: u32,
    /// Whether the figures of its row come from it: of the attempts at a repeat, one at most.
    pub counts: bool,
}

impl RoundPage {
    /// The page of a round and its report.
    pub fn new(records: &Records, report: &Report) -> Self {
        let (trials, left_out) = records.shown();
        let mut servers = BTreeMap::new();
        for trial in &*trials {
            servers.insert(trial.server.id.clone(), ServerEntry::from(&trial.server));
        }
        let machines = RoundMachines::from_trials(&records.round, &*trials);
        let cells = cells(&machines, &trials);
        for observed in &records.round.observed {
            let server = observed.server.as_ref().and_then(|server| servers.get_mut(server));
            if let Some(ServerEntry { sources, .. }) =
                server.filter(|server| !server.sources.contains(&observed.source))
            {
                sources.push(observed.source.clone());
            }
        }
        let all = metrics();
        let tables =
            map_parallel(report.tables.iter().collect(), |table| TablePage::from_table(table, &all, &cells));
        // A round in which every launch failed has rows too: they are shown by the metric that orders their table.
        let has = |table: &TablePage, id: &str| {
            table.metric == id || table.rows.iter().any(|row| row.values.contains_key(id))
        };
        let measured = |metric: &&MetricPage| tables.iter().any(|table| has(table, metric.id));
        let carried = |name: &str| {
            tables
                .iter()
                .flat_map(|table| &table.rows)
                .flat_map(|row| &row.verdicts)
                .any(|verdict| verdict == name)
        };
        let measured: Vec<MetricPage> = all.iter().filter(measured).cloned().collect();
        Self {
            verdicts: explanation::explanations(carried),
            overall: overall(&measured, &tables),
            about: report.round.clone(),
            plan_about: plan_about(&records.round.plan_toml),
            imported: report.round.is_imported,
            generator: records.round.generator.clone(),
            machines: report.machines.clone(),
            servers,
            framework_packages: framework_packages(report, |_| true),
            metrics: measured,
            pairings: routed_sheets(report).map(PairingPage::from).collect(),
            tables,
            starts: report.starts.clone(),
            warm_ups: report.warm_ups.clone(),
            observed: report.observed.clone(),
            unreadable: records.unreadable.iter().cloned().chain(left_out).collect(),
        }
    }
}

impl TablePage {
    fn from_table(table: &Table, metrics: &[MetricPage], cells: &BTreeMap<CellKey<'_>, Vec<&Trial>>) -> Self {
        let single = table.is_single();
        let trials = |row: &Row| {
            let cell = (&*table.machine, &*table.workload, &*table.form, &*table.load.name, &*row.server.id);
            cells.get(&cell).map(|trials| entries(trials)).unwrap_or_default()
        };
        let ordered_by = table.ranked_by.metric().key;
        let mut rows: Vec<RowPage> =
            table.rows.iter().map(|row| RowPage::from_row(row, trials(row))).collect();
        let (mut tied, mut resolutions) = (BTreeMap::new(), BTreeMap::new());
        let is_compared = !single && table.rows.len() <= MAX_COMPARED;
        for metric in metrics {
            let mut figures: Vec<Option<FigurePage>> =
                table.rows.iter().map(|row| figure(metric.id, row)).collect();
            let compared = judged(metric.id).filter(|_| is_compared && figures.iter().any(Option::is_some));
            if let Some(judged) = compared {
                let ties = match metric.id == ordered_by {
                    true => ties::of_report(table),
                    false => ties::by_metric(judged, &table.rows, &figures),
                };
                for (figure, ranks) in figures.iter_mut().zip(ties.ranks) {
                    figure.iter_mut().for_each(|figure| figure.ranks = ranks);
                }
                tied.insert(metric.id, ties.pairs);
                let resolution = resolution(table, judged, ties.smallest_difference, ties.is_apart);
                resolutions.extend(resolution.map(|sentence| (metric.id, sentence)));
            }
            for (row, figure) in rows.iter_mut().zip(figures) {
                row.values.extend(figure.map(|figure| (metric.id, figure)));
            }
        }
        let parts = [&table.workload, &table.load.name, &table.form, &table.machine];
        Self {
            id: parts.map(String::as_str).join("~"),
            metric: ordered_by,
            single,
            rows,
            ties: tied,
            resolution: resolutions,
            machine: table.machine.clone(),
            workload: table.workload.clone(),
            form: table.form.clone(),
            load: table.load.clone(),
            pinnings: table.pinnings.clone(),
            notes: table.notes.clone(),
        }
    }
}

impl RowPage {
    /// The row, without its figures.
    fn from_row(row: &Row, trials: Vec<TrialEntry>) -> Self {
        let left_out = row.left_out.iter().map(|(verdict, launches)| Failure {
            stage: Stage::Load,
            message: format!("left out, because the machine spoiled it: {}", verdict.replace('_', " ")),
            printed_last: String::new(),
            launches: *launches,
        });
        Self {
            server: row.server.id.clone(),
            standing: row.standing,
            launches_usable: row.launches_usable,
            launches_planned: row.launches_planned,
            values: BTreeMap::new(),
            limit: row.limit.as_ref().map(LimitPage::from_limit),
            verdicts: row.verdicts.clone(),
            severity: row.severity,
            failures: row.failures.iter().cloned().chain(left_out).collect(),
            trials,
        }
    }
}

/// Label of the machine, workload, form, name of the load, id of the server: what the trials of a row have in common.
type CellKey<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str);

/// The trials of each row.
fn cells<'a>(machines: &'a RoundMachines, trials: &'a [Trial]) -> BTreeMap<CellKey<'a>, Vec<&'a Trial>> {
    let mut cells: BTreeMap<CellKey<'a>, Vec<&'a Trial>> = BTreeMap::new();
    for trial in trials {
        let cell =
            (machines.label(trial), &*trial.workload, &*trial.form, &*trial.load.name, &*trial.server.id);
        cells.entry(cell).or_default().push(trial);
    }
    cells
}

/// The trials of a row, which may be several attempts at a launch.
fn entries(trials: &[&Trial]) -> Vec<TrialEntry> {
    let counted: BTreeSet<&str> = counted_trials(trials).into_iter().map(|trial| &*trial.id).collect();
    let entry = |trial: &&Trial| TrialEntry {
        id: trial.id.clone(),
        started_at: trial.started_at.clone(),
        repeat: trial.repeat,
        counts: counted.contains(&*trial.id),
    };
    trials.iter().map(entry).collect()
}

/// The ids of servers by metric, best over all tables first: by the geometric mean of their shares of a table's best.
/// A server without a figure above zero is left out.
fn overall(metrics: &[MetricPage], tables: &[TablePage]) -> BTreeMap<&'static str, Vec<String>> {
    metrics.iter().map(|metric| (metric.id, order(metric, tables))).collect()
}

fn order(metric: &MetricPage, tables: &[TablePage]) -> Vec<String> {
    let mut shares: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for table in tables {
        let figures = || table.rows.iter().filter_map(|row| Some((&*row.server, estimate(metric, row)?)));
        let better = if metric.less_is_better { f64::min } else { f64::max };
        let Some(best) = figures().map(|(_, value)| value).reduce(better) else { continue };
        for (server, value) in figures() {
            let share = if metric.less_is_better { best / value } else { value / best };
            let (sum, count) = shares.entry(server).or_default();
            *sum += share.ln();
            *count += 1.0;
        }
    }
    let mut servers: Vec<(&str, f64)> =
        shares.into_iter().map(|(server, (sum, count))| (server, sum / count)).collect();
    servers.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    servers.into_iter().map(|(server, _)| server.to_owned()).collect()
}

/// The figure of a row that counts.
fn estimate(metric: &MetricPage, row: &RowPage) -> Option<f64> {
    let figure = row.values.get(metric.id).filter(|figure| !figure.invalid)?;
    (figure.estimate > 0.0).then_some(figure.estimate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::{Blame, Verdict};
    use paceline_store::archive;
    use std::path::Path;

    fn records() -> Records {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../history/source-001");
        let (round, trials) = archive::read(&folder).unwrap();
        Records { round, trials, unreadable: Vec::new() }
    }

    fn page(records: &Records) -> RoundPage {
        RoundPage::new(records, &records.report())
    }

    #[test]
    fn a_round_larger_than_a_page_is_truncated_with_a_note() {
        let mut records = records();
        let one = records.trials.swap_remove(0);
        let of = |place: usize| Trial {
            id: format!("t{place}"),
            server: Server { id: format!("server-{place}"), ..one.server.clone() },
            ..one.clone()
        };
        records.trials = (0..MAX_SERVERS + 7).map(of).collect();
        records.trials.push(Trial { repeat: u32::MAX, ..of(0) });
        let page = page(&records);
        assert_eq!((page.servers.len(), page.tables.len()), (MAX_SERVERS, 1));
        assert!(page.unreadable[0].starts_with("trials not shown: 8. "), "{:?}", page.unreadable);
        assert!(page.tables[0].ties.is_empty(), "a thousand rows were compared in pairs");
    }

    #[test]
    fn a_row_has_the_trials_of_its_own_machine_alone() {
        let mut records = records();
        let on_next_kernel = |trial: &Trial| {
            let mut trial = Trial { id: format!("{}-next", trial.id), ..trial.clone() };
            trial.run.as_mut().unwrap().environment.kernel.push_str("-next");
            trial
        };
        let next: Vec<Trial> = records.trials.iter().map(on_next_kernel).collect();
        records.trials.extend(next);
        let page = page(&records);
        assert_eq!((page.machines.len(), page.tables.len()), (2, 2));
        for table in &page.tables {
            let mut trials = table.rows.iter().flat_map(|row| &row.trials).peekable();
            assert!(trials.peek().is_some(), "{}", table.id);
            assert!(
                trials.all(|trial| trial.id.ends_with("-next") == (table.machine == "B")),
                "{}",
                table.id
            );
        }
    }

    #[test]
    fn of_two_attempts_at_a_launch_the_one_that_nothing_spoiled_counts() {
        let mut records = records();
        let mut spoiled = records.trials[0].clone();
        (spoiled.id, spoiled.started_at) = ("spoiled".to_owned(), "2099-01-01T00:00:00Z".to_owned());
        spoiled.verdicts.push(Verdict {
            name: "steal".to_owned(),
            blame: Blame::Environment,
            severity: Severity::Invalid,
            evidence: BTreeMap::new(),
            remedy: String::new(),
        });
        let first = records.trials[0].id.clone();
        records.trials.push(spoiled);
        let page = page(&records);
        let trials = page.tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.trials);
        let found: Vec<(&str, bool)> = trials
            .filter(|trial| trial.id == first || trial.id == "spoiled")
            .map(|trial| (&*trial.id, trial.counts))
            .collect();
        assert_eq!(found, [(&*first, true), ("spoiled", false)]);
    }

    #[test]
    fn a_round_without_any_figure_has_the_metric_that_orders_its_rows() {
        let mut records = records();
        records.trials.iter_mut().for_each(|trial| trial.run = None);
        let page = page(&records);
        let ids: Vec<&str> = page.metrics.iter().map(|metric| metric.id).collect();
        assert_eq!(ids, [page.tables[0].metric]);
        assert!(page.tables[0].rows.iter().all(|row| row.values.is_empty() && !row.failures.is_empty()));
    }

    #[test]
    fn servers_are_ordered_by_their_shares_of_the_best() {
        let page = page(&records());
        let of_table: Vec<&str> = page.tables[0].rows.iter().map(|row| &*row.server).collect();
        assert_eq!(page.overall["achieved_per_s"], of_table, "one table: its own order");
        let mut reversed = page.clone();
        for row in &mut reversed.tables[0].rows {
            let value = row.values.get_mut("achieved_per_s").unwrap();
            value.estimate = 1.0 / value.estimate;
        }
        let metrics: Vec<MetricPage> =
            page.metrics.iter().filter(|metric| metric.id == "achieved_per_s").cloned().collect();
        let order = &overall(&metrics, &reversed.tables)["achieved_per_s"];
        assert!(order.iter().rev().eq(&of_table), "{order:?}");
    }

    #[test]
    fn a_descriptive_metric_has_neither_ranks_nor_a_difference_to_be_ranked_by() {
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../history/archive/sold-on-go-2026-11-21");
        let (round, trials) = archive::read(&folder).unwrap();
        let page = page(&Records { round, trials, unreadable: Vec::new() });
        let table = page.tables.iter().find(|table| !table.single).unwrap();
        let is_ranked = |metric: &MetricPage| {
            let mut values = table.rows.iter().filter_map(|row| row.values.get(metric.id));
            values.any(|value| value.ranks.is_some())
        };
        let neutral: Vec<&MetricPage> = page.metrics.iter().filter(|metric| metric.is_neutral).collect();
        assert!(neutral.iter().any(|metric| table.ties.contains_key(metric.id)), "none was compared");
        for metric in neutral {
            assert!(!is_ranked(metric) && !table.resolution.contains_key(metric.id), "{}", metric.id);
        }
        assert!(page.metrics.iter().any(|metric| metric.id != table.metric && is_ranked(metric)));
    }

    #[test]
    fn a_server_lists_the_sources_that_published_its_figures() {
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../history/archive/sold-on-go-2026-11-21");
        let (round, trials) = archive::read(&folder).unwrap();
        let page = page(&Records { round, trials, unreadable: Vec::new() });
        assert_eq!(page.servers["go-nethttp"].sources, ["001", "000"]);
    }
}
