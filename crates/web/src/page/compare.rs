//! Two rounds, or two servers, side by side: matched rows with ratios.
//!
//! Called by the server and by reports of one file. Each launch is one observation; `paceline_stats::compare_launches`
//! computes ratios, intervals and decisions.

use super::metric::{FigurePage, MetricPage};
use super::round::{RoundPage, RowPage, ServerEntry, TablePage};
use paceline_record::{Load, Variant};
use paceline_report::{About, Standing};
use paceline_stats::{Decision, compare_launches, holm};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A difference of at most this share is treated as none.
const EQUIVALENCE: f64 = 0.05;
/// A difference is claimed below this p value, corrected for the number of rows.
const SIGNIFICANCE: f64 = 0.05;

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
    /// The launches allow either.
    Unclear,
    /// One launch on a side: nothing is known of its spread.
    Single,
    /// One side's figure is a lower bound, or its row does not count.
    NotComparable,
}

impl ComparePage {
    /// Compares two rounds, of either one server where it is named.
    pub fn from_rounds(a: (&RoundPage, Option<&str>), b: (&RoundPage, Option<&str>)) -> Self {
        let (page_a, page_b) = (a.0, b.0);
        let cells_a = cells(page_a, a.1, a.1.is_some() && b.1.is_some());
        let cells_b = cells(page_b, b.1, a.1.is_some() && b.1.is_some());
        let (mut rows, mut p_values) = (Vec::new(), BTreeMap::new());
        for (key, (table, row)) in &cells_a {
            if let Some((_, other)) = cells_b.get(key) {
                let (row, of_row) = CompareRow::from_rows(table, row, other, page_a, page_b);
                p_values.extend(of_row.into_iter().map(|(metric, p_value)| ((rows.len(), metric), p_value)));
                rows.push(row);
            }
        }
        let matched = rows.len();
        let measured = |metric: &&MetricPage| rows.iter().any(|row| row.pairs.contains_key(metric.id));
        let metrics: Vec<MetricPage> = page_a.metrics.iter().filter(measured).cloned().collect();
        settle(&mut rows, &p_values, &metrics);
        Self {
            metrics,
            machine_differs: machine_differs(page_a, page_b),
            equivalence: EQUIVALENCE,
            unmatched: cells_a.len() + cells_b.len() - 2 * matched,
            a: side(page_a, a.1),
            b: side(page_b, b.1),
            rows,
        }
    }
}

type RowKey = (String, String, String, String);

/// The load on a server, without its name in the plan and its length.
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

/// The rows of a page by their matching key; only those of one server if one is named. Two chosen servers are matched
/// with each other although their ids differ.
fn cells<'a>(
    page: &'a RoundPage,
    server: Option<&str>,
    any_server: bool,
) -> BTreeMap<RowKey, (&'a TablePage, &'a RowPage)> {
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
    /// The row, and the p value of each of its differences.
    fn from_rows(
        table: &TablePage,
        a: &RowPage,
        b: &RowPage,
        page_a: &RoundPage,
        page_b: &RoundPage,
    ) -> (Self, BTreeMap<&'static str, f64>) {
        let entry =
            |page: &RoundPage, row: &RowPage| page.servers.get(&row.server).cloned().unwrap_or_default();
        let (mut pairs, mut p_values) = (BTreeMap::new(), BTreeMap::new());
        for (metric, a) in &a.values {
            let Some(b) = b.values.get(metric) else { continue };
            let compared = ratio(a, b, !a.invalid && !b.invalid);
            p_values.extend(compared.map(|(_, p_value)| (*metric, p_value)));
            let ratio = compared.map(|(ratio, _)| ratio);
            pairs.insert(*metric, PairValue { a: a.clone(), b: b.clone(), ratio });
        }
        let row = Self {
            server_a: entry(page_a, a),
            server_b: entry(page_b, b),
            workload: table.workload.clone(),
            form: table.form.clone(),
            load: table.load.clone(),
            standing_a: a.standing,
            standing_b: b.standing,
            pairs,
        };
        (row, p_values)
    }
}

/// B relative to A, from the launches of each; without two launches of both, with the limits of their ranges.
/// [`settle`] decides the result, when all rows are known.
fn ratio(a: &FigurePage, b: &FigurePage, counts: bool) -> Option<(Ratio, f64)> {
    if a.low <= 0.0 || a.estimate <= 0.0 {
        return None;
    }
    let Some(compared) = compare_launches(&b.observed, &a.observed, EQUIVALENCE) else {
        let finding = if counts { Finding::Single } else { Finding::NotComparable };
        let ratio =
            Ratio { estimate: b.estimate / a.estimate, low: b.low / a.high, high: b.high / a.low, finding };
        return Some((ratio, 1.0));
    };
    let finding = match compared.decision {
        _ if !counts || a.at_least || b.at_least => Finding::NotComparable,
        Decision::Equivalent => Finding::Equivalent,
        Decision::Higher => Finding::More,
        Decision::Lower => Finding::Less,
        Decision::Undecided { .. } => Finding::Unclear,
    };
    let (low, high) = (compared.interval.low, compared.interval.high);
    Some((Ratio { estimate: compared.ratio, low, high, finding }, compared.p_value))
}

/// Among many rows some differ by chance: a difference is claimed if it passes Holm's correction over all rows of its
/// metric, as `paceline compare` does.
fn settle(rows: &mut [CompareRow], p_values: &BTreeMap<(usize, &'static str), f64>, metrics: &[MetricPage]) {
    for metric in metrics {
        let claimed: Vec<(usize, f64)> = rows
            .iter()
            .enumerate()
            .filter(|(_, row)| {
                let finding = row.pairs.get(metric.id).and_then(|pair| pair.ratio).map(|ratio| ratio.finding);
                matches!(finding, Some(Finding::More | Finding::Less | Finding::Unclear))
            })
            .filter_map(|(place, _)| Some((place, *p_values.get(&(place, metric.id))?)))
            .collect();
        let corrected = holm(&claimed.iter().map(|(_, p_value)| *p_value).collect::<Vec<_>>());
        for ((place, _), p_value) in claimed.into_iter().zip(corrected) {
            let pair = rows.get_mut(place).and_then(|row| row.pairs.get_mut(metric.id));
            if let Some(ratio) = pair.and_then(|pair| pair.ratio.as_mut())
                && p_value >= SIGNIFICANCE
            {
                ratio.finding = Finding::Unclear;
            }
        }
    }
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

/// Relevant differences between the first machines of two rounds.
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

    fn value(observed: &[f64]) -> FigurePage {
        let low = observed.iter().copied().fold(f64::INFINITY, f64::min);
        let high = observed.iter().copied().fold(0.0, f64::max);
        let launches = observed.len() as u32;
        let observed = observed.to_vec();
        let estimate = (low + high) / 2.0;
        FigurePage {
            estimate,
            low,
            high,
            launches,
            is_range: true,
            at_least: false,
            too_few: false,
            invalid: false,
            ranks: None,
            observed,
        }
    }

    #[test]
    fn a_finding_follows_the_test_over_launches() {
        let finding = |a: &FigurePage, b: &FigurePage| ratio(a, b, true).unwrap().0.finding;
        let hundred = value(&[99.0, 100.0, 101.0]);
        let more = value(&[110.0, 111.0, 112.0]);
        assert_eq!(finding(&hundred, &more), Finding::More);
        assert_eq!(finding(&hundred, &value(&[80.0, 85.0, 83.0])), Finding::Less);
        assert_eq!(finding(&hundred, &value(&[100.0, 100.5, 101.0])), Finding::Equivalent);
        // The ranges do not overlap, but two launches each are no proof.
        assert_eq!(finding(&value(&[95.0, 100.0]), &value(&[101.0, 130.0])), Finding::Unclear);
        assert_eq!(finding(&hundred, &value(&[110.0])), Finding::Single);
        assert_eq!(finding(&hundred, &FigurePage { at_least: true, ..more.clone() }), Finding::NotComparable);
        assert_eq!(ratio(&hundred, &more, false).unwrap().0.finding, Finding::NotComparable);
        assert!(ratio(&value(&[0.0, 0.0]), &hundred, true).is_none());
    }

    #[test]
    fn one_difference_among_many_rows_is_not_claimed() {
        let metric = super::super::metric::metrics().swap_remove(0);
        let row = || {
            let ratio = Ratio { estimate: 1.1, low: 1.01, high: 1.2, finding: Finding::More };
            let (a, b) = (value(&[1.0, 1.0]), value(&[1.1, 1.1]));
            CompareRow {
                server_a: ServerEntry::default(),
                server_b: ServerEntry::default(),
                workload: String::new(),
                form: String::new(),
                load: Load::default(),
                standing_a: Standing::Ranked,
                standing_b: Standing::Ranked,
                pairs: BTreeMap::from([(metric.id, PairValue { a, b, ratio: Some(ratio) })]),
            }
        };
        let finding = |row: &CompareRow| row.pairs[metric.id].ratio.unwrap().finding;
        let mut rows: Vec<CompareRow> = (0..20).map(|_| row()).collect();
        let p_values =
            (0..20).map(|place| ((place, metric.id), if place == 0 { 0.001 } else { 0.04 })).collect();
        settle(&mut rows, &p_values, std::slice::from_ref(&metric));
        assert_eq!(finding(&rows[0]), Finding::More);
        assert!(rows[1..].iter().all(|row| finding(row) == Finding::Unclear));
    }
}
