//! A badge: one figure of one server with its interval, as a small picture for a README.
//!
//! It is drawn like the badges that repositories show, in two boxes. Its text for tooltips and screen readers has what
//! a reader needs to judge the figure.

use crate::format::number::whole;
use crate::{CopyCheck, ErrorBar, Report, Row, Standing, Table};
use paceline_escape::{HtmlText, Printable, html};
use paceline_judge::Metric;
use paceline_stats::counted;

/// A server's rate in a closed loop, as text and as a badge.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerRate<'a> {
    table: &'a Table,
    row: &'a Row,
}

impl<'a> ServerRate<'a> {
    /// The rate of the server `id` in the first table that ranks by rate and has it.
    pub fn of_server(report: &'a Report, id: &str) -> Option<Self> {
        let of_rate =
            report.tables.iter().filter(|table| table.ranked_by.metric() == &Metric::ACHIEVED_PER_S);
        let mut found = of_rate.filter_map(|table| {
            let row = table.rows.iter().find(|row| row.server.id == id)?;
            Some(Self { table, row })
        });
        found.next()
    }

    /// Whether the figure measures the server, and its copy was not told apart from it.
    pub fn is_sound(&self) -> bool {
        self.row.is_sound() && !self.copy().is_some_and(|copy| copy.is_claimed)
    }

    /// The rate with its interval: `62,300/s (60,900 to 63,700)`. `≥` marks a rate that is a minimum. Without a valid
    /// rate, the reason.
    pub fn figure(&self) -> String {
        let metric = &Metric::ACHIEVED_PER_S;
        let Some(figure) = self.row.figures.get(metric).filter(|_| self.row.counts(metric)) else {
            return match self.row.standing {
                Standing::Overloaded => "no rate: overloaded",
                Standing::Invalid => "no rate: invalid",
                _ => "no rate: failed",
            }
            .to_owned();
        };
        let step = 10f64.powf(figure.shown().abs().max(1.0).log10().floor() - 2.0).max(1.0);
        let text = |value: f64| whole((value / step).round() * step);
        let least = if self.row.is_minimum(metric) { "\u{2265} " } else { "" };
        let ends = self.bar().map(ErrorBar::ends);
        let ends = ends.map(|[low, high]| format!(" ({} to {})", text(low), text(high)));
        format!("{least}{}/s{}", text(figure.shown()), ends.unwrap_or_default())
    }

    /// The line of a rate that counts, unless its ends are the same, as those of one launch.
    fn bar(&self) -> Option<ErrorBar> {
        let metric = &Metric::ACHIEVED_PER_S;
        let bar = self.row.figures.error_bar(metric).filter(|_| self.row.counts(metric))?;
        let [low, high] = bar.ends();
        (low < high).then_some(bar)
    }

    /// The figure in a sentence, with its conditions and the comparison of the server with its copy.
    pub fn sentence(&self, report: &Report) -> String {
        let table = self.table;
        let bar = match self.bar() {
            Some(ErrorBar::Interval(_)) => "95 % interval between launches; ",
            Some(ErrorBar::Range(_)) => "lowest and highest launch; ",
            None => "",
        };
        let of_table = report.machines.iter().find(|machine| machine.label == table.machine);
        let cpu = of_table.map(|machine| machine.environment.cpu_model.as_str()).unwrap_or_default();
        let machine = if cpu.is_empty() { String::new() } else { format!(", on {cpu}") };
        let copy = match self.copy() {
            Some(copy) => {
                let share = (copy.ratio - 1.0) * 100.0;
                let found = if copy.is_claimed { "told apart, which is wrong" } else { "not told apart" };
                format!("; a copy of it had {share:+.1} %: {found}")
            }
            None => String::new(),
        };
        format!(
            "{}, {}: {} ({bar}{}, {}{machine}, {}){copy}",
            self.row.server.id,
            table.workload,
            self.figure(),
            counted(table.load.connections, "connection", "connections"),
            counted(self.row.launches_usable, "launch", "launches"),
            report.round.started_at.get(..10).unwrap_or(&report.round.started_at),
        )
    }

    fn copy(&self) -> Option<&CopyCheck> {
        self.table.copies.iter().find(|check| check.is_deciding && check.server == self.row.server.id)
    }

    /// The badge: blue for a measurement, grey for a figure that does not measure the server.
    pub fn badge(&self, report: &Report) -> Printable {
        let colour = if self.is_sound() { "#0072b2" } else { "#6b6b6b" };
        boxes(&self.table.workload, &self.figure(), colour, &self.sentence(report)).into()
    }
}

/// The width that a character is given, in pixels: the widest of the digits of the usual fonts at 11 px.
const CHARACTER: f64 = 6.6;
/// The space before and after a text.
const SPACE: f64 = 6.0;

/// Two boxes beside each other.
fn boxes(label: &str, figure: &str, colour: &'static str, title: &str) -> HtmlText {
    let width = |text: &str| text.chars().count() as f64 * CHARACTER + 2.0 * SPACE;
    let (left, right) = (width(label), width(figure));
    let text = |middle: f64, length: f64, text: &str| {
        html!(
            "<text x=\"{:.1}\" y=\"14\" textLength=\"{:.1}\" lengthAdjust=\"spacingAndGlyphs\">{}</text>\n",
            middle,
            length - 2.0 * SPACE,
            text
        )
    };
    html!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0}\" height=\"20\" role=\"img\" \
         aria-label=\"{1}\">\n<title>{1}</title>\n\
         <rect width=\"{2:.1}\" height=\"20\" fill=\"#3b4148\"/>\n\
         <rect x=\"{2:.1}\" width=\"{3:.1}\" height=\"20\" fill=\"{4}\"/>\n\
         <g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,DejaVu Sans,sans-serif\" \
         font-size=\"11\">\n{5}{6}</g>\n</svg>\n",
        left + right,
        title,
        left,
        right,
        colour,
        text(left / 2.0, left, label),
        text(left + right / 2.0, right, figure)
    )
}
