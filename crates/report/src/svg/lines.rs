//! Percentile curves of the servers of a table, percentiles against the offered rate, and percentiles over the time of a
//! run.

use super::canvas::{Anchor, Axis, Canvas, MARGIN, connections, time, title};
use crate::format::number;
use crate::launch::counted_trials;
use crate::run_text::load_words;
use crate::{RoundMachines, Row, Table};
use paceline_judge::{Metric, SAMPLES_FOR_INTERVAL, judged_times};
use paceline_record::{Load, LoopKind, Phase, Run, TimeKind, Times, Trial, Variant};

/// Height of the drawing of percentile curves.
const TALL: f64 = 360.0;
/// Height of the drawing of a load curve.
const LOW: f64 = 180.0;
/// The horizontal range of lines; their names are to the right.
const PLOT: (f64, f64) = (80.0, 700.0);
/// Maximum number of lines: more cannot be distinguished by colour.
const MAX_LINES: usize = 8;
/// The minimum distance between two names.
const LABEL: f64 = 16.0;

/// Labels of the 1/(1 - p) axis.
const LEVELS: [(f64, &str); 7] = [
    (2.0, "50 %"),
    (10.0, "90 %"),
    (100.0, "99 %"),
    (1e3, "99.9 %"),
    (1e4, "99.99 %"),
    (1e5, "99.999 %"),
    (1e6, "99.9999 %"),
];

/// A line with its name: positions in the values' own units. It is interrupted at points without a value (NaN).
struct NamedLine {
    name: String,
    points: Vec<(f64, f64)>,
}

/// The trials of a round, and the machine of each.
type Launches<'a> = (&'a [Trial], &'a RoundMachines);

/// Draws the percentile curves of a table's first servers; returns the lower end.
pub fn percentiles(canvas: &mut Canvas, table: &Table, trials: Launches<'_>, top: f64) -> f64 {
    let rows = table.rows.iter().filter(|row| row.is_sound()).take(MAX_LINES);
    let lines: Vec<NamedLine> = rows.filter_map(|row| spectrum(table, row, trials)).collect();
    let Some(range) = range(&lines) else { return top };
    let what = table.load.kind.judged_time().name();
    let plot_top = title(canvas, table, what, top);
    curves(canvas, &lines, range, plot_top)
}

/// Draws the percentile curves of every time of a run; returns the lower end.
pub fn times(canvas: &mut Canvas, run: &Run, top: f64) -> f64 {
    let line = |(kind, times): (TimeKind, &Times)| {
        let points = curve(times);
        (points.len() > 1).then(|| NamedLine { name: kind.name().to_owned(), points })
    };
    let lines: Vec<NamedLine> = run.total.distributions().filter_map(line).collect();
    let Some(range) = range(&lines) else { return top };
    canvas.text((MARGIN, top + 18.0), Anchor::Start, "t", "percentiles of every time (logarithmic axes)");
    curves(canvas, &lines, range, top + 32.0)
}

/// The lowest and the highest time of percentile curves, and their farthest level of 1/(1 - p).
fn range(lines: &[NamedLine]) -> Option<(f64, f64, f64)> {
    let (low, high) = ends(lines)?;
    let far = lines.iter().flat_map(|line| &line.points).map(|(x, _)| *x).fold(10.0, f64::max);
    Some((low, high, far))
}

/// Draws percentile curves between the lowest and the highest time, up to a level of 1/(1 - p).
fn curves(canvas: &mut Canvas, lines: &[NamedLine], (low, high, far): (f64, f64, f64), plot_top: f64) -> f64 {
    let bottom = plot_top + TALL;
    let x = Axis::log(1.0, far, PLOT);
    let y = times_axis(canvas, low, high, (plot_top, bottom));
    for (at, level) in LEVELS {
        if at <= far {
            canvas.rule((x.place(at), plot_top), (x.place(at), bottom));
            canvas.text((x.place(at), bottom + 18.0), Anchor::Middle, "m", level);
        }
    }
    draw(canvas, lines, &x, &y);
    bottom + 40.0
}

/// The curve of a server's first launch that counts, as far as there are enough samples.
fn spectrum(table: &Table, row: &Row, (trials, machines): Launches<'_>) -> Option<NamedLine> {
    let same = |trial: &&Trial| {
        (&trial.server.id, &trial.workload, &trial.form, &trial.load.name)
            == (&row.server.id, &table.workload, &table.form, &table.load.name)
            && machines.label(trial) == table.machine
    };
    let own: Vec<&Trial> = trials.iter().filter(same).collect();
    let counted = counted_trials(&own);
    let run = counted.first()?.usable_run()?;
    let times = judged_times(&run.total, run.loop_.kind)?;
    let points = curve(times);
    (points.len() > 1).then(|| NamedLine { name: row.server.name.clone(), points })
}

/// Time by 1/(1 - p): from the histogram, or from the stored percentiles if it was left out.
fn curve(times: &Times) -> Vec<(f64, f64)> {
    let end = (times.count as f64 / SAMPLES_FOR_INTERVAL).max(2.0);
    let histogram = (!times.histogram.is_empty()).then(|| times.decode().ok()).flatten();
    let stored = [(1.0, times.min), (2.0, times.p50), (4.0, times.p75), (10.0, times.p90), (20.0, times.p95)];
    let tail = [(100.0, times.p99), (1_000.0, times.p99_9), (10_000.0, times.p99_99)];
    let steps: Vec<(f64, u64)> = match histogram {
        Some(histogram) => histogram
            .spectrum(5)
            .into_iter()
            .filter(|step| step.quantile < 1.0)
            .map(|step| (1.0 / (1.0 - step.quantile), step.value))
            .collect(),
        None => stored.into_iter().chain(tail).collect(),
    };
    let kept = steps.into_iter().filter(|(x, time)| *x <= end && *time > 0);
    kept.map(|(x, time)| (x, time as f64)).collect()
}

/// Draws percentiles against the offered rate, for each server measured at several rates; returns the lower end.
pub fn load_curves(canvas: &mut Canvas, tables: &[Table], top: f64) -> f64 {
    let mut curves: Vec<Vec<&Table>> = Vec::new();
    for table in tables.iter().filter(|table| table.load.kind == LoopKind::Open) {
        let is_of = |curve: &&mut Vec<&Table>| curve.first().is_some_and(|other| is_same_curve(table, other));
        match curves.iter_mut().find(is_of) {
            Some(curve) => curve.push(table),
            None => curves.push(vec![table]),
        }
    }
    let mut bottom = top;
    for curve in curves {
        let mut seen: Vec<&str> = Vec::new();
        for table in &curve {
            for row in &table.rows {
                if !seen.contains(&&*row.server.id) {
                    seen.push(&row.server.id);
                    bottom = load_curve(canvas, &curve, table, row, bottom);
                }
            }
        }
    }
    bottom
}

/// Whether two tables are steps of one load curve: they differ in nothing but the offered rate.
fn is_same_curve(a: &Table, b: &Table) -> bool {
    (&a.workload, &a.form, &a.machine) == (&b.workload, &b.form, &b.machine)
        && besides_rate(&a.load) == besides_rate(&b.load)
}

/// A load without its rate, its length and its name, also where the name of its twin contains them. Of another tool's
/// command line, which contains them too, only the tool is left: its flags may mean another load at the same rate.
fn besides_rate(load: &Load) -> Load {
    let tool = load.tool.as_ref().and_then(|line| line.split_whitespace().next());
    Load {
        name: String::new(),
        rate_per_s: None,
        duration_s: None,
        requests: None,
        warmup_s: 0.0,
        tool: tool.map(str::to_owned),
        variant: load.variant.as_ref().map(|variant| Variant { of: String::new(), kind: variant.kind }),
        scaled: None,
        ..load.clone()
    }
}

/// Draws the curve of a row's server over the tables of a curve, of which `table` is the first that has it.
fn load_curve(canvas: &mut Canvas, curve: &[&Table], table: &Table, row: &Row, top: f64) -> f64 {
    let mut steps: Vec<(f64, &Row)> = curve
        .iter()
        .filter_map(|other| {
            let found = other.rows.iter().find(|found| found.server.id == row.server.id)?;
            Some((other.load.rate_per_s?, found))
        })
        .collect();
    steps.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    steps.dedup_by(|(a, _), (b, _)| a == b);
    let line = |metric: &Metric| NamedLine {
        name: metric.name.to_owned(),
        points: steps
            .iter()
            .filter_map(|(rate, row)| Some((*rate, row.figures.get(metric)?.shown())))
            .filter(|(_, time)| *time > 0.0)
            .collect(),
    };
    let lines: Vec<NamedLine> =
        [Metric::TIME_P99_9, Metric::TIME_P99, Metric::TIME_P50].iter().map(line).collect();
    if steps.len() < 2 {
        return top;
    }
    let Some((low, high)) = ends(&lines) else { return top };
    canvas.text(
        (MARGIN, top + 18.0),
        Anchor::Start,
        "h",
        &format!("{}, {}", row.server.name, table.workload),
    );
    let database = table.load.database.as_ref().map(|database| format!(", {}", database.database));
    let words = format!(
        "response time against offered requests/s{}{}{}",
        connections(table),
        database.unwrap_or_default(),
        canvas.machine(table)
    );
    canvas.text((MARGIN, top + 38.0), Anchor::Start, "m", &words);
    let (plot_top, bottom) = (top + 52.0, top + 52.0 + LOW);
    let far = steps.last().map_or(1.0, |(rate, _)| *rate);
    let x = Axis::fitting(0.0, far, PLOT);
    let y = times_axis(canvas, low, high, (plot_top, bottom));
    for tick in x.ticks(6) {
        canvas.text((x.place(tick), bottom + 18.0), Anchor::Middle, "m", &number::offered_rate(tick));
    }
    draw(canvas, &lines, &x, &y);
    bottom + 44.0
}

/// Draws the times of the window's requests by the interval in which they ended; returns the lower end. The few requests
/// that ended in the drain are not a second of the run: a point for them would look like one.
pub fn over_time(canvas: &mut Canvas, run: &Run, top: f64) -> f64 {
    let series = TimeSeries::of_window(run);
    let lines = [
        series.line("max", |times| times.max),
        series.line("p99", |times| times.p99),
        series.line("p50", |times| times.p50),
    ];
    canvas.text((MARGIN, top + 18.0), Anchor::Start, "h", &run.target.url);
    canvas.text((MARGIN, top + 38.0), Anchor::Start, "m", &load_words(run));
    let Some((low, high)) = ends(&lines) else {
        let none = "nothing to draw: no valid response, or the record has no times of intervals";
        canvas.text((MARGIN, top + 62.0), Anchor::Start, "t", none);
        return top + 70.0;
    };
    let title = series.title(run.loop_.kind.judged_time().name());
    canvas.text((MARGIN, top + 62.0), Anchor::Start, "t", &title);
    let (plot_top, bottom) = (top + 76.0, top + 76.0 + TALL);
    let x = Axis::fitting(0.0, series.end_s(), PLOT);
    let y = times_axis(canvas, low, high, (plot_top, bottom));
    for tick in x.ticks(8) {
        let label = if tick > 0.0 { time(tick * 1e9) } else { "0 s".to_owned() };
        canvas.text((x.place(tick), bottom + 18.0), Anchor::Middle, "m", &label);
    }
    draw(canvas, &lines, &x, &y);
    bottom + 28.0
}

/// The times of a run by interval.
struct TimeSeries<'a> {
    /// When each interval began, in seconds, and its times.
    intervals: Vec<(f64, Option<&'a Times>)>,
    /// The length of an interval, in seconds.
    step_s: f64,
}

impl<'a> TimeSeries<'a> {
    /// The intervals of the window, with the times by which the run is judged.
    fn of_window(run: &'a Run) -> Self {
        let end_ns = run.phases.window.end_ns;
        let window = run
            .intervals
            .iter()
            .filter(|interval| interval.phase == Phase::Window && interval.start_ns < end_ns);
        let intervals: Vec<(f64, Option<&Times>)> = window
            .map(|interval| (interval.start_ns as f64 / 1e9, judged_times(&interval.block, run.loop_.kind)))
            .collect();
        let steps = intervals.windows(2).map(|pair| pair[1].0 - pair[0].0).filter(|step| *step > 0.0);
        let step_s = steps.fold(run.window_s, f64::min);
        Self { intervals, step_s }
    }

    /// One value of each interval, in the middle of it.
    fn line(&self, name: &str, value: fn(&Times) -> u64) -> NamedLine {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (start_s, times) in &self.intervals {
            let at = start_s + self.step_s / 2.0;
            // An interval without any request is not in the record.
            if points.last().is_some_and(|(last, _)| at - last > 1.5 * self.step_s) {
                points.push((at - self.step_s, f64::NAN));
            }
            let value = times.map(value).filter(|ns| *ns > 0);
            points.push((at, value.map_or(f64::NAN, |ns| ns as f64)));
        }
        NamedLine { name: name.to_owned(), points }
    }

    /// The title of a drawing of the times with this name.
    fn title(&self, what: &str) -> String {
        match self.intervals.len() {
            1 => format!("{what} of the whole window (logarithmic axis)"),
            _ => {
                let step = time((self.step_s * 1e3).round() * 1e6);
                format!("{what} over time, one point per {step} (logarithmic axis)")
            }
        }
    }

    /// The end of the last interval, in seconds.
    fn end_s(&self) -> f64 {
        self.intervals.last().map_or(0.0, |(start_s, _)| start_s + self.step_s)
    }
}

/// The lowest and the highest value of all lines.
fn ends(lines: &[NamedLine]) -> Option<(f64, f64)> {
    let values = || lines.iter().flat_map(|line| &line.points).map(|(_, y)| *y);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    (high > 0.0).then_some((low, high))
}

/// A logarithmic axis of times, upwards, with its grid.
fn times_axis(canvas: &mut Canvas, low: f64, high: f64, (top, bottom): (f64, f64)) -> Axis {
    let axis = Axis::log(low * 0.9, high * 1.1, (bottom, top));
    for tick in axis.ticks(8) {
        canvas.rule((PLOT.0, axis.place(tick)), (PLOT.1, axis.place(tick)));
        canvas.text((PLOT.0 - 8.0, axis.place(tick) + 4.0), Anchor::End, "m", &time(tick));
    }
    axis
}

/// The lines, each with its name to the right of its end; overlapping names are moved apart.
fn draw(canvas: &mut Canvas, lines: &[NamedLine], x: &Axis, y: &Axis) {
    let mut labels: Vec<(f64, (f64, f64), usize)> = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        let points: Vec<(f64, f64)> = line.points.iter().map(|(a, b)| (x.place(*a), y.place(*b))).collect();
        canvas.curve(&points, place);
        labels.extend(points.iter().rfind(|(_, y)| y.is_finite()).map(|end| (end.1, *end, place)));
    }
    labels.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
    let mut free = f64::NEG_INFINITY;
    for (at, ..) in &mut labels {
        *at = at.max(free);
        free = *at + LABEL;
    }
    for (at, end, place) in labels {
        let name: String = lines[place].name.chars().take(24).collect();
        canvas.leader(end, (PLOT.1 + 18.0, at), place);
        canvas.text((PLOT.1 + 28.0, at + 4.0), Anchor::Start, "t", &name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_of_another_tool_is_on_a_curve_of_its_own() {
        let load = |rate_per_s: f64, tool: Option<&str>| Load {
            name: format!("open-{rate_per_s}"),
            rate_per_s: Some(rate_per_s),
            tool: tool.map(str::to_owned),
            ..Load::default()
        };
        let (slow, fast) = (load(1_000.0, None), load(2_000.0, None));
        assert_eq!(besides_rate(&slow), besides_rate(&fast));
        let (slow_tool, fast_tool) = (load(1_000.0, Some("wrk2 -R1000")), load(2_000.0, Some("wrk2 -R2000")));
        assert_eq!(besides_rate(&slow_tool), besides_rate(&fast_tool));
        assert_ne!(besides_rate(&slow), besides_rate(&slow_tool));
    }
}
