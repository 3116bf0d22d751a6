//! Charts of a round as SVG: a ranking, percentile curves, a load curve.
//!
//! Called by `paceline report --svg`. One panel for each table of the report, below each other. The charts have the
//! same form as on the results site, for documents and pull requests; the site itself draws in the browser.

mod canvas;
mod lines;
mod ranking;

use crate::{Report, Table};
use canvas::{Anchor, Canvas};
use paceline_escape::Printable;
use paceline_judge::{Metric, Unit};
use paceline_record::Trial;

/// Width of every picture.
const WIDTH: f64 = 920.0;
/// The margin around a picture.
const MARGIN: f64 = 16.0;

/// A chart of a report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Chart {
    /// A dot and an interval for each server, by the table's criterion or by another metric.
    Ranking(Option<&'static Metric>),
    /// Time against 1/(1 - p), a line for each server: its first usable launch.
    Percentiles,
    /// Percentiles against the offered rate, a panel for each server.
    LoadCurve,
}

impl Chart {
    /// The chart of this name: `ranking`, `percentiles`, `load-curve`, or the key of a metric to rank by.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "ranking" => Some(Self::Ranking(None)),
            "percentiles" => Some(Self::Percentiles),
            "load-curve" => Some(Self::LoadCurve),
            key => Metric::parse(key).map(|metric| Self::Ranking(Some(metric))),
        }
    }
}

/// Draws a chart of a report; none if the report has nothing to draw. `trials` are the trials of the round, with their
/// histograms.
pub fn svg(chart: Chart, report: &Report, trials: &[Trial]) -> Option<Printable> {
    let mut canvas = Canvas::default();
    let mut bottom = heading(&mut canvas, report);
    let top = bottom;
    match chart {
        Chart::Ranking(metric) => {
            for table in &report.tables {
                bottom = ranking::draw(&mut canvas, table, metric, bottom);
            }
        }
        Chart::Percentiles => {
            for table in &report.tables {
                bottom = lines::percentiles(&mut canvas, table, trials, bottom);
            }
        }
        Chart::LoadCurve => bottom = lines::load_curves(&mut canvas, &report.tables, bottom),
    }
    (bottom > top).then(|| canvas.finish(WIDTH, bottom + MARGIN, &report.round.plan).into())
}

/// The subject of the picture, which may be shared without its page.
fn heading(canvas: &mut Canvas, report: &Report) -> f64 {
    let day = report.round.started_at.get(..10).unwrap_or(&report.round.started_at);
    let machine = report.machines.first().map(|machine| machine.environment.cpu_model.clone());
    let facts: Vec<String> =
        [Some(report.round.plan.clone()), Some(day.to_owned()), machine.filter(|model| !model.is_empty())]
            .into_iter()
            .flatten()
            .collect();
    canvas.text((WIDTH - MARGIN, 26.0), Anchor::End, "m", &facts.join(" · "));
    10.0
}

/// The title of a panel and its load; returns the start of its drawing.
fn title(canvas: &mut Canvas, table: &Table, what: &str, top: f64) -> f64 {
    let mut letters = what.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let heading = format!("{first}{}, {}", letters.as_str(), table.workload);
    canvas.text((MARGIN, top + 18.0), Anchor::Start, "h", &heading);
    let asked = crate::format::words::title(table);
    let asked = asked.split_once(", ").map_or(asked.clone(), |(_, asked)| asked.to_owned());
    let load = &table.load;
    let connections = match load.connections {
        0 => String::new(),
        count => format!(", {}", crate::format::words::count(u64::from(count), "connection", "connections")),
    };
    let launches = if table.is_single() { ", one launch each: sorted, not ranked" } else { "" };
    canvas.text((MARGIN, top + 38.0), Anchor::Start, "m", &format!("{asked}{connections}{launches}"));
    top + 52.0
}

/// The display unit for values of this size: how many of the metric's units it contains, and its name.
fn unit(metric: &Metric, typical: f64) -> (f64, &'static str) {
    match metric.unit {
        Unit::PerSecond => (1.0, "/s"),
        Unit::Nanoseconds => time_unit(typical),
        Unit::Microseconds => scaled(time_unit(typical * 1e3), 1e3),
        Unit::Milliseconds => scaled(time_unit(typical * 1e6), 1e6),
        Unit::Bytes => (1e6, " MB"),
        Unit::Share => (0.01, " %"),
        Unit::Count => (1.0, ""),
    }
}

fn time_unit(ns: f64) -> (f64, &'static str) {
    match ns {
        ns if ns >= 1e9 => (1e9, " s"),
        ns if ns >= 1e6 => (1e6, " ms"),
        ns if ns >= 1e3 => (1e3, " µs"),
        _ => (1.0, " ns"),
    }
}

fn scaled((factor, name): (f64, &'static str), by: f64) -> (f64, &'static str) {
    (factor / by, name)
}

/// A time as the label of an axis.
fn time(ns: f64) -> String {
    let (factor, name) = time_unit(ns);
    let value = crate::format::number::value(ns / factor);
    let value = if value.contains('.') { value.trim_end_matches('0').trim_end_matches('.') } else { &value };
    format!("{value}{name}")
}
