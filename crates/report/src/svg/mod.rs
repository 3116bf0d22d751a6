//! Charts as SVG: of a round a ranking, percentile curves or a load curve; of a run its times over time, and the flame
//! graph of its server.
//!
//! Called by `paceline report` and `paceline run -o FILE.svg`. A round has one panel for each table of the report,
//! below each other. The charts have the same form as on the results site, for documents and pull requests; the site
//! itself draws in the browser.

mod badge;
mod canvas;
mod flame;
mod flame_difference;
mod lines;
mod ranking;

pub use flame::flame_graph;
pub use flame_difference::{FunctionChange, flame_difference};

use crate::{Machine, Report, RoundMachines};
pub use badge::ServerRate;
use canvas::{Anchor, Canvas, MARGIN, WIDTH};
use paceline_escape::Printable;
use paceline_judge::Metric;
use paceline_record::{Run, Trial};

/// A chart of a report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Chart {
    /// A dot and an interval for each server, by the table's criterion or by another metric.
    Ranking(Option<&'static Metric>),
    /// Time against 1/(1 - p), a line for each server: its first launch that counts.
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
    let mut canvas = Canvas::of_tables(report.machines.len() > 1);
    let mut bottom = heading(&mut canvas, report);
    let top = bottom;
    match chart {
        Chart::Ranking(metric) => {
            for table in &report.tables {
                bottom = ranking::draw(&mut canvas, table, metric, bottom);
            }
        }
        Chart::Percentiles => {
            let machines = RoundMachines::from_report(&report.machines, trials);
            for table in &report.tables {
                bottom = lines::percentiles(&mut canvas, table, (trials, &machines), bottom);
            }
        }
        Chart::LoadCurve => bottom = lines::load_curves(&mut canvas, &report.tables, bottom),
    }
    (bottom > top).then(|| canvas.finish(WIDTH, bottom + MARGIN, &report.round.plan).into())
}

/// Draws the response times of a run over time (in a closed loop its service times), and the percentiles of every time.
pub fn run_svg(run: &Run) -> Printable {
    let mut canvas = Canvas::default();
    let bottom = lines::over_time(&mut canvas, run, 10.0);
    let bottom = lines::times(&mut canvas, run, bottom + 24.0);
    canvas.finish(WIDTH, bottom + MARGIN, &run.target.url).into()
}

/// The subject of the picture, which may be shared without its page.
fn heading(canvas: &mut Canvas, report: &Report) -> f64 {
    let day = report.round.started_at.get(..10).unwrap_or(&report.round.started_at);
    let named = |machine: &Machine| match &*machine.environment.cpu_model {
        "" => None,
        model if report.machines.len() > 1 => Some(format!("{}: {model}", machine.label)),
        model => Some(model.to_owned()),
    };
    let machines: Vec<String> = report.machines.iter().filter_map(named).collect();
    let facts = [report.round.plan.clone(), day.to_owned(), machines.join(", ")];
    let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    canvas.text((WIDTH - MARGIN, 26.0), Anchor::End, "m", &facts.join(" · "));
    10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::fixture;

    #[test]
    fn a_run_has_a_line_for_each_percentile_or_says_that_there_is_none() {
        let mut run = fixture::run(0);
        let times = run.total.response_time_ns.clone();
        run.intervals.iter_mut().for_each(|interval| interval.block.response_time_ns.clone_from(&times));
        // Without the curves of the whole window.
        paceline_record::TimeKind::ALL.into_iter().for_each(|kind| *run.total.times_mut(kind) = None);
        let drawn = run_svg(&run).to_string();
        assert!(drawn.contains("response time over time, one point per 1 s"), "{drawn}");
        let lines = drawn.matches("<path fill=\"none\"").count();
        assert_eq!(
            (lines, ["max", "p99", "p50"].map(|name| drawn.contains(name))),
            (3, [true; 3]),
            "{drawn}"
        );
        // An interval without requests, which the record leaves out, interrupts the lines, as does one without times.
        let starts = |run: &Run| run_svg(run).to_string().matches("h0").count();
        assert_eq!(starts(&run), lines);
        run.intervals.remove(4);
        assert_eq!(starts(&run), 2 * lines);
        run.intervals[7].block.response_time_ns = None;
        assert_eq!(starts(&run), 3 * lines);
        // What ended in the drain is no point.
        let length = |run: &Run| run_svg(run).to_string().len();
        let whole = length(&run);
        let mut drained = run.intervals[6].clone();
        drained.start_ns = run.phases.window.end_ns;
        run.intervals.push(drained);
        assert_eq!(length(&run), whole);
        // A record of another program may have a time of 0, which has no place on the axis.
        run.intervals[1].block.response_time_ns.as_mut().unwrap().p50 = 0;
        assert_eq!(starts(&run), 3 * lines + 1);
        run.intervals.truncate(1);
        let short = run_svg(&run).to_string();
        assert!(!short.contains("000000") && short.contains(" ms</text>"), "{short}");
        run.intervals.clear();
        assert!(run_svg(&run).to_string().contains("nothing to draw: no valid response"));
    }
}
