//! The metrics a chart can show: those of the judge's table, and the cost that follows from one of them.
//!
//! The pages show only these metrics. Names, units and definitions come from the judge.

use paceline_judge::{Better, Metric as Judged, Unit as JudgedUnit};
use paceline_report::{ErrorBar, Figure, Row};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// The id of the cost, which is CPU time times a price that the visitor gives.
const COST: &str = "cost_per_million";

/// What a figure is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MetricUnit {
    /// Per second.
    PerS,
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Bytes.
    Bytes,
    /// A share, 0 to 1.
    Share,
    /// A number of things.
    Count,
    /// CPU seconds for a million requests; times a price per core-hour it is a cost.
    CpuSecondsPerMillion,
}

/// What a chart can show of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MetricPage {
    /// Its id, which stands in addresses: the key in JSON and CSV.
    pub id: &'static str,
    /// Its name as a title.
    pub name: String,
    /// Its name in sentences and columns.
    pub short: String,
    /// What it is counted in.
    pub unit: MetricUnit,
    /// Whether less of it is better; of a descriptive metric, whether less of it stands first.
    pub less_is_better: bool,
    /// Whether it only describes: neither more nor less of it is better.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_neutral: bool,
    /// What it means.
    pub definition: String,
}

/// One figure of a row.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FigurePage {
    /// The figure that every report shows: the geometric mean over the launches, the median where one of them is zero,
    /// of failed requests the worst launch.
    #[serde(serialize_with = "short")]
    #[schemars(with = "f64")]
    pub estimate: f64,
    /// The lower end of the 95 % interval; without one, the lowest launch.
    #[serde(serialize_with = "short")]
    #[schemars(with = "f64")]
    pub low: f64,
    /// The upper end, likewise.
    #[serde(serialize_with = "short")]
    #[schemars(with = "f64")]
    pub high: f64,
    /// Launches that have the figure.
    pub launches: u32,
    /// Whether `low` and `high` are the lowest and highest launch for want of an interval.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_range: bool,
    /// Whether it is a minimum.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// Whether a verdict on its row says that it does not answer the question: it is not compared.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub invalid: bool,
    /// The first and the last rank that it may have in its table; none where it is not compared, and of a descriptive
    /// metric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<[u32; 2]>,
    /// Whether too few requests were sampled for this percentile.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub too_few: bool,
}

/// With six digits, because pages show four at most and the digits are a third of a compressed page.
fn short<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(format!("{value:.5e}").parse().unwrap_or(*value))
}

/// Every metric that pages offer, in order: the judge's table metrics first, the cost after the CPU time that it is
/// computed from.
pub fn metrics() -> Vec<MetricPage> {
    let place = |metric: &Judged| {
        let columns = [metric.closed, metric.open];
        columns.into_iter().flatten().map(|column| column.place).min().unwrap_or(u8::MAX)
    };
    let mut judged: Vec<&Judged> =
        Judged::ALL.iter().filter(|metric| **metric != Judged::SERVER_CPU_AT_REFERENCE).collect();
    judged.sort_by_key(|metric| place(metric));
    // The most requested metric comes first, for tables of both loops.
    judged.sort_by_key(|metric| **metric != Judged::ACHIEVED_PER_S);
    let mut pages = Vec::new();
    for metric in judged {
        pages.push(page(metric));
        if *metric == Judged::SERVER_CPU {
            pages.push(cost());
        }
    }
    pages
}

fn page(metric: &Judged) -> MetricPage {
    let short = metric.name.trim_start_matches("the ").replace("'s ", " ");
    let mut letters = short.chars();
    let name = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    MetricPage {
        id: metric.key,
        name: name + letters.as_str(),
        short,
        unit: match metric.unit {
            JudgedUnit::PerSecond => MetricUnit::PerS,
            JudgedUnit::Microseconds => MetricUnit::Us,
            JudgedUnit::Nanoseconds => MetricUnit::Ns,
            JudgedUnit::Milliseconds => MetricUnit::Ms,
            JudgedUnit::Bytes => MetricUnit::Bytes,
            JudgedUnit::Share => MetricUnit::Share,
            JudgedUnit::Count => MetricUnit::Count,
        },
        less_is_better: metric.better != Better::Higher,
        is_neutral: metric.better == Better::Neither,
        definition: metric.description().replace('`', ""),
    }
}

fn cost() -> MetricPage {
    MetricPage {
        id: COST,
        name: "Cost per million requests".to_owned(),
        short: "cost per million".to_owned(),
        unit: MetricUnit::CpuSecondsPerMillion,
        less_is_better: true,
        is_neutral: false,
        definition: "CPU time of the server for a million requests, times your price for an hour of one core. Memory, \
                     network and idle time are not included."
            .to_owned(),
    }
}

/// The judge's metric that a page's metric shows.
pub fn judged(id: &str) -> Option<&'static Judged> {
    // A microsecond for each request is a second for a million.
    let key = if id == COST { Judged::SERVER_CPU.key } else { id };
    Judged::ALL.iter().find(|metric| metric.key == key)
}

/// The figure of a row; none where it was not measured.
pub fn figure(id: &str, row: &Row) -> Option<FigurePage> {
    let metric = judged(id)?;
    let figure = row.figures.get(metric)?;
    let Figure { launches, enough, .. } = *figure;
    let bar = row.figures.error_bar(metric)?;
    let [low, high] = bar.ends();
    Some(FigurePage {
        estimate: row.figures.shown(metric)?,
        low,
        high,
        launches: launches as u32,
        is_range: matches!(bar, ErrorBar::Range(_)),
        at_least: row.is_minimum(metric),
        invalid: !row.counts(metric),
        ranks: None,
        too_few: enough == Some(false),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_one_id_a_title_and_a_definition() {
        let all = metrics();
        assert_eq!(all.len(), Judged::ALL.len());
        for (place, metric) in all.iter().enumerate() {
            assert!(all[..place].iter().all(|other| other.id != metric.id), "{}", metric.id);
            assert!(judged(metric.id).is_some(), "{}", metric.id);
            assert!(
                metric.name.starts_with(|c: char| !c.is_whitespace()) && metric.definition.ends_with('.')
            );
        }
        assert_eq!(all[0].id, "achieved_per_s");
        let is_neutral = |id: &str| all.iter().find(|metric| metric.id == id).unwrap().is_neutral;
        assert!(is_neutral("server_utilization") && !is_neutral("time_ns_p99") && !is_neutral(COST));
    }
}
