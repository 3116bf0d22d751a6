//! The columns of a table and the text of their cells, shared by the terminal and Markdown.
//!
//! The judge's table of metrics defines the metrics, their heads, their order, and which columns a narrow terminal
//! leaves out first; this file adds the other columns.

use super::{number, sentences};
use crate::row::{Row, Standing};
use crate::{Figure, Table};
use paceline_judge::{Metric, NO_SPREAD, Unit};

/// The role of a column; the terminal chooses colours by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnRole {
    /// The possible ranks of a row, or the mark of a row without a rank.
    Rank,
    /// The server's id.
    Server,
    /// A figure, aligned on its decimal point.
    Figure,
    /// The interval of the figure before it.
    Spread,
    /// What limited a row.
    Limit,
    /// Names of verdicts, or their letters.
    Notes,
}

/// A column with its cells.
#[derive(Clone, Debug)]
pub struct TableColumn {
    pub role: ColumnRole,
    /// Its heading: two lines, the second the unit.
    pub head: [String; 2],
    /// One for each row.
    pub cells: Vec<String>,
    /// Order of removal: 1 first. None: never removed.
    pub leaves: Option<u8>,
    /// Its name in the note on columns left out.
    pub name: String,
}

/// The removal step of the limits: before the figures that they summarise (p99.9, memory, busy shares).
const LIMITS_LEAVE: u8 = 10;

/// The columns of a table, in order; `notes` gives the text of a row's notes. Columns without any content are left out.
pub fn columns(table: &Table, notes: impl Fn(&Row) -> String) -> Vec<TableColumn> {
    let mut shown: Vec<(&Metric, paceline_judge::MetricColumn)> = Metric::ALL
        .iter()
        .filter_map(|metric| Some((metric, metric.column(table.load.kind)?)))
        .filter(|(metric, _)| is_wanted(metric, table))
        .collect();
    shown.sort_by_key(|(_, column)| column.place);
    let mut all = vec![rank(table), server(table)];
    all.extend(shown.iter().flat_map(|(metric, column)| metric_columns(table, metric, *column)));
    all.extend(limits(table));
    all.extend(launches(table));
    all.push(column(ColumnRole::Notes, ["", "notes"], table, notes));
    all.retain(|column| column.cells.iter().any(|cell| !cell.is_empty()));
    all
}

/// Requests per core add no information if servers have one core.
fn is_wanted(metric: &Metric, table: &Table) -> bool {
    *metric != Metric::ACHIEVED_PER_CORE || table.pinnings.iter().any(|pinning| pinning.server.len() > 1)
}

/// The mark of a row without a rank.
pub fn mark(standing: Standing) -> &'static str {
    match standing {
        Standing::Ranked | Standing::GeneratorBound | Standing::Disturbed => "–",
        Standing::Overloaded => "!",
        Standing::Invalid => "?",
        Standing::Failed => "×",
    }
}

fn rank(table: &Table) -> TableColumn {
    let cell = |row: &Row| match (row.rank, row.rank_worst) {
        (Some(best), Some(worst)) if best < worst => format!("{best}–{worst}"),
        (Some(rank), _) => rank.to_string(),
        (None, _) => mark(row.standing).to_owned(),
    };
    column(ColumnRole::Rank, ["", ""], table, cell)
}

fn server(table: &Table) -> TableColumn {
    column(ColumnRole::Server, ["", "server"], table, |row| row.server.id.clone())
}

fn column(role: ColumnRole, head: [&str; 2], table: &Table, cell: impl FnMut(&Row) -> String) -> TableColumn {
    let cells = table.rows.iter().map(cell).collect();
    TableColumn { role, head: head.map(str::to_owned), cells, leaves: None, name: String::new() }
}

/// A column of figures and, where tables show it, the column of their intervals.
fn metric_columns(table: &Table, metric: &Metric, shown: paceline_judge::MetricColumn) -> Vec<TableColumn> {
    let scale = scale(metric, table);
    let cells: Vec<[String; 2]> = table.rows.iter().map(|row| cell(row, metric, scale)).collect();
    let leaves = |step: u8| (step > 0).then_some(step);
    // If CPU time was compared at a fixed rate, the column of the closed loop's CPU time may be left out.
    let at_reference = *metric == Metric::SERVER_CPU && table.reference_load.is_none();
    let mut head = metric.head.map(str::to_owned);
    if head[1].is_empty() {
        head[1] = unit_of(metric, table);
    }
    let figures = TableColumn {
        role: ColumnRole::Figure,
        head,
        cells: cells.iter().map(|[figure, _]| figure.clone()).collect(),
        leaves: leaves(shown.leaves).filter(|_| !at_reference),
        name: metric.name.to_owned(),
    };
    let spreads = TableColumn {
        role: ColumnRole::Spread,
        head: ["".into(), "".into()],
        cells: cells.into_iter().map(|[_, spread]| spread).collect(),
        leaves: leaves(shown.spread_leaves),
        name: format!("± of {}", metric.name),
    };
    if shown.spread_leaves == NO_SPREAD { vec![figures] } else { vec![figures, spreads] }
}

/// The number of the metric's units in one unit of the column.
fn scale(metric: &Metric, table: &Table) -> f64 {
    match metric.unit {
        Unit::Nanoseconds if small_times(table) => 1e3,
        Unit::Nanoseconds | Unit::Bytes => 1e6,
        _ => 1.0,
    }
}

/// The unit, for metrics whose unit the table chooses.
fn unit_of(metric: &Metric, table: &Table) -> String {
    match metric.unit {
        Unit::Nanoseconds => (if small_times(table) { "µs" } else { "ms" }).to_owned(),
        _ => sentences::reference(table).unwrap_or_default(),
    }
}

/// The text of a figure and of its interval. Minimums are marked; a figure with too few samples is not shown.
fn cell(row: &Row, metric: &Metric, scale: f64) -> [String; 2] {
    let Some(figure) = row.figures.get(metric) else { return Default::default() };
    if figure.enough == Some(false) {
        return ["·".to_owned(), String::new()];
    }
    if metric.unit == Unit::Share {
        let share = row.figures.shown(metric).unwrap_or_default();
        let text = if *metric == Metric::NOT_OK_SHARE {
            number::percent(share)
        } else {
            number::whole_percent(share)
        };
        return [text, String::new()];
    }
    let mark = if row.is_minimum(metric) { "≥ " } else { "" };
    let [text, spread] = number::with_interval(figure, scale);
    [format!("{mark}{text}"), spread]
}

/// What limited each row. If it is the same for all, the sentence above the table says so.
fn limits(table: &Table) -> Option<TableColumn> {
    if sentences::common_limit(table).is_some() {
        return None;
    }
    let cell = |row: &Row| row.limit.as_ref().map(|limit| limit.kind.words().to_owned()).unwrap_or_default();
    let limits = column(ColumnRole::Limit, ["limited", "by"], table, cell);
    Some(TableColumn { leaves: Some(LIMITS_LEAVE), name: "limit".to_owned(), ..limits })
}

/// Present only if some row has fewer launches than planned: otherwise the heading gives the number for all.
fn launches(table: &Table) -> Vec<TableColumn> {
    let complete = |row: &Row| row.launches_usable == row.launches_planned;
    if table.rows.iter().filter(|row| row.is_measured()).all(complete) {
        return Vec::new();
    }
    let cell = |row: &Row| format!("{}/{}", row.launches_usable, row.launches_planned);
    vec![column(ColumnRole::Figure, ["", "used"], table, cell)]
}

/// Whether the table should use microseconds: half of its rows have a median below a millisecond.
fn small_times(table: &Table) -> bool {
    let medians =
        table.rows.iter().filter_map(|row| row.figures.get(&Metric::TIME_P50)).map(|p50| p50.median);
    Figure::from_observations(medians).is_some_and(|medians| medians.median < 1e6)
}
