//! The columns of a table and the text of their cells, shared by the terminal and Markdown.
//!
//! Each column has the step at which a narrow terminal leaves it out: the first to go have the lowest numbers.

use super::{number, words};
use crate::row::{Row, Standing};
use crate::{Figure, Percentile, Table};
use paceline_record::LoopKind;

/// What a column is for; the terminal colours by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The rank, or the mark of a row that has none.
    Rank,
    /// The server's id.
    Server,
    /// A figure, aligned on its decimal point.
    Figure,
    /// The spread of the figure before it.
    Spread,
    /// Names of verdicts.
    Notes,
    /// The letters that stand for them where the names do not fit.
    Letters,
}

/// A column with its cells.
#[derive(Clone, Debug)]
pub struct Column {
    pub role: Role,
    /// What it shows: two lines, the second the unit.
    pub head: [String; 2],
    /// One for each row.
    pub cells: Vec<String>,
    /// When it is left out: 1 first. None: never.
    pub leaves: Option<u8>,
}

/// The steps at which columns leave, in order, with what a reader is told is left out.
pub const STEPS: [(u8, &str); 12] = [
    (1, "the names of notes (letters stand for them)"),
    (2, "the spread of start-up time"),
    (3, "the spread of memory"),
    (4, "the spreads of times"),
    (5, "start-up time"),
    (6, "the generator's core"),
    (7, "the server's cores"),
    (8, "memory"),
    (9, "p99.9"),
    (10, "the spread of what is not ranked"),
    (11, "CPU under the closed loop, where it was compared at a fixed rate"),
    (12, "p50"),
];

/// The columns of a table, in order. A column in which no row has anything is not there.
pub fn columns(table: &Table) -> Vec<Column> {
    let open = table.load.kind == LoopKind::Open;
    let micros = small_times(table);
    let (unit, ns) = if micros { ("µs", 1e3) } else { ("ms", 1e6) };
    let mut all = vec![rank(table), server(table)];
    // The spread of what is ranked never leaves.
    let rate = figures(table, ["requests", "per s"], open.then_some(10), achieved);
    let rate = [rate, leaving(7, per_core(table))].concat();
    let cpu = figures(table, ["CPU µs", "per req"], (!open).then_some(10), |row| {
        plain(row.figures.server_cpu_us_per_request, 1.0)
    });
    let at_reference = words::reference(table).unwrap_or_default();
    let reference = figures(table, ["CPU µs", &at_reference], Some(10), |row| {
        plain(row.server_cpu_us_per_request_at_reference, 1.0)
    });
    let cpu = if table.reference_load.is_some() { leaving(11, cpu) } else { cpu };
    if open {
        all.extend(cpu);
        all.extend(rate);
    } else {
        all.extend(rate);
        all.extend(reference);
        all.extend(cpu);
    }
    let time = |head: &str, leaves, get: fn(&Row) -> Option<Percentile>| {
        let mut pair = figures(table, [head, unit], Some(4), |row| percentile(get(row), ns));
        pair.iter_mut()
            .filter(|column| column.role == Role::Figure)
            .for_each(|column| column.leaves = leaves);
        pair
    };
    all.extend(time("p50", Some(12), |row| row.figures.time_ns_p50));
    all.extend(time("p99", None, |row| row.figures.time_ns_p99));
    all.extend(time("p99.9", Some(9), |row| row.figures.time_ns_p99_9));
    all.extend(leaving(
        8,
        figures(table, ["memory", "MB"], Some(3), |row| plain(row.figures.rss_bytes_peak, 1e6)),
    ));
    all.extend(leaving(
        5,
        figures(table, ["start", "ms"], Some(2), |row| plain(row.figures.first_answer_ms, 1.0)),
    ));
    all.extend(leaving(7, bare(table, ["server", "busy"], |row| row.figures.server_utilization)));
    all.extend(leaving(6, bare(table, ["load gen", "busy"], |row| row.figures.generator_utilization)));
    all.extend(errors(table));
    all.extend(launches(table));
    all.extend(notes(table));
    all.retain(|column| column.cells.iter().any(|cell| !cell.is_empty()));
    all
}

/// The letter that stands for the note at a place of the table's list.
pub fn letter(place: usize) -> String {
    char::from(b'a' + (place % 26) as u8).to_string().repeat(place / 26 + 1)
}

/// The mark of a row that has no rank.
pub fn mark(standing: Standing) -> &'static str {
    match standing {
        Standing::Ranked | Standing::GeneratorBound => "–",
        Standing::Overloaded => "!",
        Standing::Invalid => "?",
        Standing::Failed => "×",
    }
}

fn rank(table: &Table) -> Column {
    let cell = |row: &Row| match row.rank {
        Some(rank) => format!("{rank}{}", if row.tied { "=" } else { " " }),
        None => format!("{} ", mark(row.standing)),
    };
    column(Role::Rank, ["", ""], table, cell)
}

fn server(table: &Table) -> Column {
    column(Role::Server, ["", "server"], table, |row| row.server.id.clone())
}

fn column(role: Role, head: [&str; 2], table: &Table, cell: impl FnMut(&Row) -> String) -> Column {
    let cells = table.rows.iter().map(cell).collect();
    Column { role, head: head.map(str::to_owned), cells, leaves: None }
}

/// The text of a figure, and the figure its spread is taken from.
type Shown = Option<(String, Option<Figure>)>;

/// A column of figures and the column of their spreads; the spread leaves at the step given, or never.
fn figures(
    table: &Table,
    head: [&str; 2],
    spread_leaves: Option<u8>,
    get: impl Fn(&Row) -> Shown,
) -> Vec<Column> {
    let shown: Vec<Shown> = table.rows.iter().map(get).collect();
    let texts = shown.iter().map(|shown| shown.as_ref().map(|(text, _)| text.clone()).unwrap_or_default());
    let spreads = shown.iter().map(|shown| {
        let figure = shown.as_ref().and_then(|(_, figure)| *figure);
        figure.map(|figure| number::spread(&figure)).unwrap_or_default()
    });
    vec![
        Column { role: Role::Figure, head: head.map(str::to_owned), cells: texts.collect(), leaves: None },
        Column {
            role: Role::Spread,
            head: ["".into(), "".into()],
            cells: spreads.collect(),
            leaves: spread_leaves,
        },
    ]
}

/// Makes a figure leave at a step; its spread has a step of its own.
fn leaving(step: u8, mut pair: Vec<Column>) -> Vec<Column> {
    pair.iter_mut()
        .filter(|column| column.role == Role::Figure)
        .for_each(|column| column.leaves = Some(step));
    pair
}

fn plain(figure: Option<Figure>, scale: f64) -> Shown {
    figure.map(|figure| (number::figure_in(&figure, scale), Some(figure)))
}

fn achieved(row: &Row) -> Shown {
    let (text, figure) = plain(row.figures.achieved_per_s, 1.0)?;
    let bound = row.standing == Standing::GeneratorBound;
    Some((if bound { format!("≥ {text}") } else { text }, figure))
}

/// Requests per second for each of the server's cores; where it has one, the column before says it.
fn per_core(table: &Table) -> Vec<Column> {
    let several = table.pinnings.iter().any(|pinning| pinning.server.len() > 1);
    let mut pair = figures(table, ["per s", "per core"], None, |row| {
        let figure = row.figures.achieved_per_s_per_core.filter(|_| several)?;
        Some((number::figure_in(&figure, 1.0), None))
    });
    pair.truncate(1);
    pair
}

fn percentile(percentile: Option<Percentile>, ns: f64) -> Shown {
    let percentile = percentile?;
    if !percentile.enough {
        return Some(("·".to_owned(), None));
    }
    let text = number::figure_in(&percentile.figure, ns);
    Some((if percentile.at_least { format!("≥ {text}") } else { text }, Some(percentile.figure)))
}

/// Utilization in percent, its spread left to CSV and JSON.
fn bare(table: &Table, head: [&str; 2], get: impl Fn(&Row) -> Option<Figure>) -> Vec<Column> {
    let mut pair = figures(table, head, None, |row| {
        get(row).map(|figure| (format!("{:.0}%", figure.median * 100.0), None))
    });
    pair.truncate(1);
    pair
}

fn errors(table: &Table) -> Vec<Column> {
    let mut pair = figures(table, ["", "errors"], None, |row| {
        row.figures.not_ok_share.map(|figure| (number::percent(figure.max), None))
    });
    pair.truncate(1);
    pair
}

/// Only there when some row has fewer launches than planned: else the heading says it for all.
fn launches(table: &Table) -> Vec<Column> {
    let complete = |row: &Row| row.launches_usable == row.launches_planned;
    if table.rows.iter().filter(|row| row.is_measured()).all(complete) {
        return Vec::new();
    }
    let cell = |row: &Row| format!("{}/{}", row.launches_usable, row.launches_planned);
    vec![column(Role::Figure, ["", "used"], table, cell)]
}

/// The names of a row's notes, and the letters that stand for them: whichever fits is shown. What every row would say
/// is said once, below.
fn notes(table: &Table) -> [Column; 2] {
    let telling = |name: &&String| {
        !table.notes.iter().any(|note| note.name == **name && words::is_everywhere(note, table))
    };
    let joined = |row: &Row| row.verdicts.iter().filter(telling).cloned().collect::<Vec<_>>().join(", ");
    let mut names = column(Role::Notes, ["", "notes"], table, joined);
    names.leaves = Some(1);
    let letter_of = |name: &String| table.notes.iter().position(|note| note.name == *name).map(letter);
    let letters =
        |row: &Row| row.verdicts.iter().filter(telling).filter_map(letter_of).collect::<Vec<_>>().join(" ");
    [names, column(Role::Letters, ["", "notes"], table, letters)]
}

/// Whether microseconds suit the table: half of its rows have a median below a millisecond.
fn small_times(table: &Table) -> bool {
    let medians = table.rows.iter().filter_map(|row| row.figures.time_ns_p50).map(|p50| p50.figure.median);
    Figure::of(medians).is_some_and(|medians| medians.median < 1e6)
}
