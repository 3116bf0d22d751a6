//! Two rounds, or two servers, side by side: matched rows with ratios.
//!
//! Called by the server and by reports of one file. Ratios come from the ranges over launches; nothing is pooled.

use super::metric::{FigurePage, MetricPage};
use super::round::{RoundPage, RowPage, ServerEntry, TablePage};
use super::ties::counts;
use crate::library::Records;
use paceline_record::{Load, Variant};
use paceline_report::{About, Standing};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A difference of at most this share is treated as none.
const EQUIVALENCE: f64 = 0.05;

/// Two sides.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ComparePage {
    /// The side that ratios are relative to.
    pub a: Side,
    /// The other.
    pub b: Side,
    /// What differs between their machines: `kernel: 6.2 instead of 6.1`.
    pub machine_differs: Vec<String>,
    /// The metrics that both have.
    pub metrics: Vec<MetricPage>,
    /// A difference of at most this share is treated as none.
    pub equivalence: f64,
    /// Cells that both have.
    pub rows: Vec<CompareRow>,
    /// Cells that only one of them has.
    pub unmatched: usize,
}

/// One side.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Side {
    /// The facts of its round.
    pub round: About,
    /// The machine it ran on.
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
    /// What side A's row can be taken for.
    pub standing_a: Standing,
    /// What side B's row can be taken for.
    pub standing_b: Standing,
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
    /// B relative to A; none where A's is zero.
    pub ratio: Option<Ratio>,
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
    /// What can be said.
    pub finding: Finding,
}

/// What can be said about a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// B has more of it.
    More,
    /// B has less of it.
    Less,
    /// Whatever difference there is, is within the equivalence band.
    Equivalent,
    /// The ranges allow either.
    Unclear,
    /// One launch on a side: nothing is known of its spread.
    Single,
    /// One side's figure is a lower bound, or its row does not count.
    NotComparable,
}

impl ComparePage {
    /// Compares two rounds, of either one server where it is named.
    pub fn of(a: (&Records, Option<&str>), b: (&Records, Option<&str>)) -> Self {
        let (page_a, page_b) = (RoundPage::of(a.0), RoundPage::of(b.0));
        let cells_a = cells(&page_a, a.1, a.1.is_some() && b.1.is_some());
        let cells_b = cells(&page_b, b.1, a.1.is_some() && b.1.is_some());
        let rows: Vec<CompareRow> = cells_a
            .iter()
            .filter_map(|(key, (table, row))| {
                let (_, other) = cells_b.get(key)?;
                Some(CompareRow::of(table, row, other, &page_a, &page_b))
            })
            .collect();
        let matched = rows.len();
        let measured = |metric: &&MetricPage| rows.iter().any(|row| row.pairs.contains_key(metric.id));
        Self {
            metrics: page_a.metrics.iter().filter(measured).cloned().collect(),
            machine_differs: machine_differs(&page_a, &page_b),
            equivalence: EQUIVALENCE,
            unmatched: cells_a.len() + cells_b.len() - 2 * matched,
            a: side(&page_a, a.1),
            b: side(&page_b, b.1),
            rows,
        }
    }
}

type Key = (String, String, String, String);

/// What is asked of a server, whatever the plan calls it and however long it lasts.
fn asked(load: &Load) -> String {
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

/// The rows of a page by what they are matched by; of one server only where one is named. Two chosen servers are
/// matched with each other whatever their ids.
fn cells<'a>(
    page: &'a RoundPage,
    server: Option<&str>,
    any_server: bool,
) -> BTreeMap<Key, (&'a TablePage, &'a RowPage)> {
    let mut cells = BTreeMap::new();
    for table in &page.tables {
        for row in table.rows.iter().filter(|row| server.is_none_or(|server| row.server == server)) {
            let id = if any_server { String::new() } else { row.server.clone() };
            let key = (table.workload.clone(), table.form.clone(), asked(&table.load), id);
            cells.entry(key).or_insert((table, row));
        }
    }
    cells
}

impl CompareRow {
    fn of(table: &TablePage, a: &RowPage, b: &RowPage, page_a: &RoundPage, page_b: &RoundPage) -> Self {
        let entry =
            |page: &RoundPage, row: &RowPage| page.servers.get(&row.server).cloned().unwrap_or_default();
        let counts = counts(a.standing) && counts(b.standing);
        let pairs = a.values.iter().filter_map(|(metric, a)| {
            let b = b.values.get(metric)?;
            Some((*metric, PairValue { a: *a, b: *b, ratio: ratio(a, b, counts) }))
        });
        Self {
            server_a: entry(page_a, a),
            server_b: entry(page_b, b),
            workload: table.workload.clone(),
            form: table.form.clone(),
            load: table.load.clone(),
            standing_a: a.standing,
            standing_b: b.standing,
            pairs: pairs.collect(),
        }
    }
}

/// B relative to A. Where both have a 95 % interval, so has the ratio: half widths of logarithms of independent estimates
/// add up as squares. Else its ends are those that the ranges allow.
fn ratio(a: &FigurePage, b: &FigurePage, counts: bool) -> Option<Ratio> {
    if a.low <= 0.0 || a.estimate <= 0.0 {
        return None;
    }
    let estimate = b.estimate / a.estimate;
    let (low, high) = match a.is_range || b.is_range || b.low <= 0.0 {
        true => (b.low / a.high, b.high / a.low),
        false => {
            let half = |figure: &FigurePage| (figure.high / figure.low).ln() / 2.0;
            let half = half(a).hypot(half(b)).exp();
            (estimate / half, estimate * half)
        }
    };
    let finding = if !counts || a.at_least || b.at_least {
        Finding::NotComparable
    } else if a.launches < 2 || b.launches < 2 {
        Finding::Single
    } else if low >= 1.0 - EQUIVALENCE && high <= 1.0 + EQUIVALENCE {
        Finding::Equivalent
    } else if low > 1.0 {
        Finding::More
    } else if high < 1.0 {
        Finding::Less
    } else {
        Finding::Unclear
    };
    Some(Ratio { estimate, low, high, finding })
}

fn side(page: &RoundPage, server: Option<&str>) -> Side {
    Side {
        round: page.about.clone(),
        cpu_model: page
            .machines
            .first()
            .map(|machine| machine.environment.cpu_model.clone())
            .unwrap_or_default(),
        server: server.and_then(|server| page.servers.get(server)).cloned(),
    }
}

/// What differs between the first machines of two rounds, as far as a reader has to know it.
fn machine_differs(a: &RoundPage, b: &RoundPage) -> Vec<String> {
    let (Some(a), Some(b)) = (a.machines.first(), b.machines.first()) else { return Vec::new() };
    let (a, b) = (&a.environment, &b.environment);
    let facts = [
        ("processor", a.cpu_model.clone(), b.cpu_model.clone()),
        ("processors online", a.cores.to_string(), b.cores.to_string()),
        ("kernel", a.kernel.clone(), b.kernel.clone()),
        ("system", a.os.clone(), b.os.clone()),
        ("virtual machine", a.virtual_machine.to_string(), b.virtual_machine.to_string()),
    ];
    let differ = facts.into_iter().filter(|(_, a, b)| a != b);
    differ.map(|(what, a, b)| format!("{what}: {b} instead of {a}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(low: f64, high: f64) -> FigurePage {
        let estimate = (low + high) / 2.0;
        FigurePage { estimate, low, high, launches: 3, is_range: true, at_least: false, too_few: false }
    }

    #[test]
    fn a_finding_goes_by_the_whole_interval() {
        let finding = |a: FigurePage, b: FigurePage| ratio(&a, &b, true).unwrap().finding;
        let hundred = value(99.0, 101.0);
        assert_eq!(finding(hundred, value(110.0, 112.0)), Finding::More);
        assert_eq!(finding(hundred, value(80.0, 90.0)), Finding::Less);
        assert_eq!(finding(hundred, value(100.0, 102.0)), Finding::Equivalent);
        assert_eq!(finding(hundred, value(90.0, 120.0)), Finding::Unclear);
        assert_eq!(finding(hundred, FigurePage { launches: 1, ..value(110.0, 112.0) }), Finding::Single);
        assert_eq!(
            finding(hundred, FigurePage { at_least: true, ..value(110.0, 112.0) }),
            Finding::NotComparable
        );
        assert_eq!(ratio(&value(0.0, 0.0), &hundred, true), None);
        let with_interval = |low, high| FigurePage { is_range: false, ..value(low, high) };
        let ratio = ratio(&with_interval(90.0, 110.0), &with_interval(90.0, 110.0), true).unwrap();
        let half = (110.0f64 / 90.0).ln() / 2.0 * 2f64.sqrt();
        assert!((ratio.high.ln() - half).abs() < 1e-12 && (ratio.low.ln() + half).abs() < 1e-12);
    }
}
