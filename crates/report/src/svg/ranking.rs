//! A dot and an interval for each server of a table, best first; below them the servers without a valid result, with
//! their verdict.

use super::canvas::{Anchor, Axis, Canvas, MARGIN, WIDTH, title, unit};
use crate::format::number;
use crate::{ErrorBar, Figure, Row, Standing, Table};
use paceline_judge::{Better, Metric};

/// Height of a row.
const ROW: f64 = 24.0;
/// The horizontal range of the dots.
const PLOT: (f64, f64) = (300.0, 790.0);

/// Draws a table below `top`; returns the lower end.
pub fn draw(canvas: &mut Canvas, table: &Table, asked: Option<&'static Metric>, top: f64) -> f64 {
    let ordered_by = table.ranked_by.metric();
    let metric = asked.unwrap_or(ordered_by);
    let mut rows: Vec<(&Row, &Figure)> = table
        .rows
        .iter()
        .filter(|row| row.counts(metric))
        .filter_map(|row| Some((row, row.figures.get(metric)?)))
        .collect();
    if rows.is_empty() {
        return top;
    }
    if metric != ordered_by {
        rows.sort_by(|(_, a), (_, b)| a.shown().total_cmp(&b.shown()));
        if metric.better == Better::Higher {
            rows.reverse();
        }
    }
    let name = metric.name.trim_start_matches("the ").replace("'s ", " ");
    let plot_top = title(canvas, table, &name, top) + 14.0;
    let bottom = plot_top + rows.len() as f64 * ROW;
    let axis = axis(canvas, metric, &rows, (plot_top, bottom));
    for (place, (row, figure)) in rows.iter().enumerate() {
        let y = plot_top + (place as f64 + 0.5) * ROW;
        let rank = if metric == ordered_by { rank(row) } else { String::new() };
        self::row(canvas, metric, (row, figure, &rank), &axis, y);
    }
    apart(canvas, table, metric, bottom) + 20.0
}

/// The axis and its grid.
fn axis(canvas: &mut Canvas, metric: &Metric, rows: &[(&Row, &Figure)], (top, bottom): (f64, f64)) -> Axis {
    let ends = rows.iter().filter_map(|(row, _)| row.figures.error_bar(metric)).map(ErrorBar::ends);
    let (mut low, mut high) = (f64::INFINITY, 0.0f64);
    for [from, to] in ends {
        (low, high) = (low.min(from), high.max(to));
    }
    let axis = Axis::fitting(low, high, PLOT);
    let (factor, name) = unit(metric, typical(rows));
    for tick in axis.ticks(6) {
        let x = axis.place(tick);
        canvas.rule((x, top - 4.0), (x, bottom));
        let text = format!("{}{name}", number::value(tick / factor));
        canvas.text((x, top - 9.0), Anchor::Middle, "m", &text);
    }
    if axis.is_log() {
        canvas.text((MARGIN, top - 9.0), Anchor::Start, "m", "logarithmic axis");
    }
    axis
}

/// The middle value: it decides the unit of all.
fn typical(rows: &[(&Row, &Figure)]) -> f64 {
    let mut shown: Vec<f64> = rows.iter().map(|(_, figure)| figure.shown()).collect();
    shown.sort_by(f64::total_cmp);
    shown.get(shown.len() / 2).copied().unwrap_or_default()
}

fn row(
    canvas: &mut Canvas,
    metric: &Metric,
    (row, figure, rank): (&Row, &Figure, &str),
    axis: &Axis,
    y: f64,
) {
    let [low, high] = row.figures.error_bar(metric).map_or([figure.min, figure.max], ErrorBar::ends);
    let at_least = row.is_minimum(metric);
    canvas.text((56.0, y + 4.0), Anchor::End, "m", rank);
    canvas.text((66.0, y + 4.0), Anchor::Start, "t", &short(&row.server.name, &row.server.language));
    canvas.interval((axis.place(low), y), (axis.place(high), y));
    canvas.dot((axis.place(figure.shown()), y), figure.launches < 2);
    if at_least {
        canvas.arrow((axis.place(figure.shown()), y));
    }
    let (factor, name) = unit(metric, figure.shown());
    let value = number::figure_in(figure, factor);
    let text = format!("{}{value}{name}", if at_least { "≥ " } else { "" });
    canvas.text((WIDTH - MARGIN, y + 4.0), Anchor::End, "b", &text);
}

/// `2` or `2–4`.
fn rank(row: &Row) -> String {
    match (row.rank, row.rank_worst) {
        (Some(best), Some(worst)) if best != worst => format!("{best}–{worst}"),
        (Some(best), _) => best.to_string(),
        (None, _) => String::new(),
    }
}

/// The part of a name that fits.
fn short(name: &str, language: &str) -> String {
    let text = format!("{name} ({language})");
    if text.chars().count() <= 34 { text } else { text.chars().take(33).chain(['…']).collect() }
}

/// The servers without valid numbers, with the reason.
fn apart(canvas: &mut Canvas, table: &Table, metric: &Metric, top: f64) -> f64 {
    let rows: Vec<&Row> =
        table.rows.iter().filter(|row| !row.counts(metric) || row.figures.get(metric).is_none()).collect();
    if rows.is_empty() {
        return top + 8.0;
    }
    canvas.rule((MARGIN, top + 6.0), (WIDTH - MARGIN, top + 6.0));
    for (place, row) in rows.iter().enumerate() {
        let y = top + 10.0 + (place as f64 + 0.5) * ROW;
        canvas.text((66.0, y + 4.0), Anchor::Start, "m", &short(&row.server.name, &row.server.language));
        let reason = match row.standing {
            Standing::Failed => "failed".to_owned(),
            Standing::Overloaded => "overloaded: times include queueing".to_owned(),
            Standing::Invalid | Standing::Ranked | Standing::GeneratorBound | Standing::Disturbed => {
                row.verdicts.first().map_or("no figure".to_owned(), |name| name.replace('_', " "))
            }
        };
        canvas.text((PLOT.0, y + 4.0), Anchor::Start, "m", &reason);
    }
    top + 10.0 + rows.len() as f64 * ROW
}
