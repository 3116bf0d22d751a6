//! An SVG picture that is written element by element, the axes of its charts, and the titles and units of its panels.
//!
//! Text in a picture is escaped ([`HtmlText`]). Colours are those of the results site; a picture on a page follows the
//! reader's light or dark theme.

use crate::Table;
use crate::format::{number, sentences};
use paceline_escape::{HtmlText, html};
use paceline_judge::{Metric, Unit};
use paceline_stats::counted;
use std::fmt::Write as _;

/// Okabe and Ito's colours for lines, which colour-blind readers can distinguish ("Color Universal Design", 2008).
const LINES: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b6b6b", "#b8a900"];

/// Text is set in the reader's own font. The classes: `t` text, `m` muted, `b` bold, `r` rules, `d` data.
const STYLE: &str = "text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',Arial,sans-serif;\
    fill:#16191d;font-variant-numeric:tabular-nums}.m{fill:#565e68;font-size:12px}.b{font-weight:600}\
    .h{font-size:16px;font-weight:600}.r{stroke:#dfe2e6}.g{fill:#fff}.d{stroke:#0072b2;fill:#0072b2}\
    @media(prefers-color-scheme:dark){text{fill:#e9ecef}.m{fill:#a4adb7}.r{stroke:#343a41}.g{fill:#14171a}\
    .d{stroke:#62b8ec;fill:#62b8ec}}";

/// Width of a letter on a box: of a wide typeface, at 11 pixels.
const LETTER: f64 = 6.4;
/// Width of every picture except flame graphs.
pub const WIDTH: f64 = 920.0;
/// The margin around a picture.
pub const MARGIN: f64 = 16.0;

/// The anchor of a text.
#[derive(Clone, Copy)]
pub enum Anchor {
    /// The text begins there.
    Start,
    /// The middle of the text is there.
    Middle,
    /// The text ends there.
    End,
}

/// A picture under construction: its elements so far.
#[derive(Default)]
pub struct Canvas {
    elements: HtmlText,
    names_machines: bool,
}

impl Canvas {
    /// A picture of tables, whose panels name their machine if there are several.
    pub fn of_tables(names_machines: bool) -> Self {
        Self { names_machines, ..Self::default() }
    }

    /// The machine of a table, to be added to the words below its title; empty where there is only one.
    pub fn machine(&self, table: &Table) -> String {
        if self.names_machines { format!(", machine {}", table.machine) } else { String::new() }
    }

    /// A text on the line `y`, in one of the classes of the style.
    pub fn text(&mut self, at: (f64, f64), anchor: Anchor, class: &'static str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.put(&html!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{}\" class=\"{}\">{}</text>",
            at.0,
            at.1,
            anchor,
            class,
            text
        ));
    }

    /// A line of the grid.
    pub fn rule(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.put(&html!("<path class=\"r\" d=\"M{:.1} {:.1}L{:.1} {:.1}\"/>", from.0, from.1, to.0, to.1));
    }

    /// An interval of data.
    pub fn interval(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.put(&html!(
            "<path class=\"d\" stroke-width=\"2\" d=\"M{:.1} {:.1}L{:.1} {:.1}\"/>",
            from.0,
            from.1,
            to.0,
            to.1
        ));
    }

    /// A dot of data; a hollow one is uncertain.
    pub fn dot(&mut self, at: (f64, f64), is_hollow: bool) {
        let class = if is_hollow { "d g" } else { "d" };
        self.put(&html!(
            "<circle class=\"{}\" stroke-width=\"2\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"/>",
            class,
            at.0,
            at.1
        ));
    }

    /// An open arrow head, which marks a minimum.
    pub fn arrow(&mut self, at: (f64, f64)) {
        self.put(&html!(
            "<path class=\"d\" style=\"fill:none\" stroke-width=\"1.5\" d=\"M{:.1} {:.1}l6 4.5l-6 4.5z\"/>",
            at.0 + 7.0,
            at.1 - 4.5
        ));
    }

    /// A line of data through points, in the colour of its position, with a mark at its end. Points without a finite
    /// position interrupt it.
    pub fn curve(&mut self, points: &[(f64, f64)], place: usize) {
        let colour = LINES[place % LINES.len()];
        let mut path = String::new();
        let mut is_interrupted = true;
        for (x, y) in points {
            if y.is_finite() {
                // Cannot fail: it writes to a string.
                let _ = match is_interrupted {
                    // A point alone is drawn too.
                    true => write!(path, "M{x:.1} {y:.1}h0"),
                    false => write!(path, "L{x:.1} {y:.1}"),
                };
            }
            is_interrupted = !y.is_finite();
        }
        self.put(&html!(
            "<path fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-linecap=\"round\" d=\"{}\"/>",
            colour,
            path
        ));
        if let Some((x, y)) = points.iter().rfind(|(_, y)| y.is_finite()) {
            self.put(&html!(
                "<circle class=\"g\" style=\"stroke:{}\" stroke-width=\"2\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\"/>",
                colour, *x, *y
            ));
        }
    }

    /// From the end of a curve towards its name, with a swatch of its colour before the name.
    pub fn leader(&mut self, from: (f64, f64), to: (f64, f64), place: usize) {
        let colour = LINES[place % LINES.len()];
        self.put(&html!(
            "<path stroke=\"{4}\" opacity=\"0.5\" d=\"M{0:.1} {1:.1}L{2:.1} {3:.1}\"/>\
             <circle fill=\"{4}\" cx=\"{2:.1}\" cy=\"{3:.1}\" r=\"4\"/>",
            from.0,
            from.1,
            to.0,
            to.1,
            colour
        ));
    }

    /// A box of a flame graph with its name, as much of it as fits, and a text that is shown beside the pointer.
    pub fn named_box(
        &mut self,
        at: (f64, f64),
        size: (f64, f64),
        colour: &'static str,
        name: &str,
        about: &str,
    ) {
        let letters = ((size.0 - 6.0) / LETTER).max(0.0) as usize;
        let shown: String = match name.chars().count() <= letters {
            true => name.to_owned(),
            false if letters >= 4 => name.chars().take(letters - 1).chain(['\u{2026}']).collect(),
            false => String::new(),
        };
        let text = match shown.is_empty() {
            true => HtmlText::literal(""),
            false => html!(
                "<text x=\"{:.1}\" y=\"{:.1}\" style=\"fill:#16191d;font-size:11px\">{}</text>",
                at.0 + 3.0,
                at.1 + size.1 - 4.5,
                shown
            ),
        };
        self.put(&html!(
            "<g><title>{}</title><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\"/>{}</g>",
            about,
            at.0,
            at.1,
            size.0,
            size.1,
            colour,
            text
        ));
    }

    fn put(&mut self, element: &HtmlText) {
        self.elements.push(&html!("{}\n", element));
    }

    /// The complete picture.
    pub fn finish(self, width: f64, height: f64, title: &str) -> HtmlText {
        html!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0} {1:.0}\" width=\"{0:.0}\" \
             height=\"{1:.0}\" role=\"img\" aria-label=\"{2}\">\n<title>{2}</title>\n<style>{3}</style>\n\
             <rect class=\"g\" width=\"100%\" height=\"100%\"/>\n{4}</svg>\n",
            width,
            height,
            title,
            HtmlText::literal(STYLE),
            self.elements
        )
    }
}

/// A scale from values to positions in a picture.
#[derive(Clone, Copy)]
pub struct Axis {
    values: (f64, f64),
    places: (f64, f64),
    is_log: bool,
}

/// Values that span more than this factor are shown on a logarithmic axis.
const LOG_FROM: f64 = 30.0;

impl Axis {
    /// Linear from zero, or logarithmic if values span a large factor.
    pub fn fitting(low: f64, high: f64, places: (f64, f64)) -> Self {
        if low > 0.0 && high / low > LOG_FROM {
            return Self::log(low / 1.15, high * 1.15, places);
        }
        Self { values: (0.0, high.max(f64::MIN_POSITIVE) * 1.04), places, is_log: false }
    }

    /// Logarithmic.
    pub fn log(low: f64, high: f64, places: (f64, f64)) -> Self {
        Self { values: (low, high.max(low * 1.01)), places, is_log: true }
    }

    /// Whether equal steps are equal factors.
    pub fn is_log(&self) -> bool {
        self.is_log
    }

    /// The position of a value; values outside are placed at the end, and a missing one (NaN) has none.
    pub fn place(&self, value: f64) -> f64 {
        if value.is_nan() {
            return value;
        }
        let (low, high) = self.values;
        let share = match self.is_log {
            true => (value.max(low) / low).ln() / (high / low).ln(),
            false => (value - low) / (high - low),
        };
        self.places.0 + (self.places.1 - self.places.0) * share.clamp(0.0, 1.0)
    }

    /// Values to label: 1, 2, 5 times powers of ten, or 1 and 3 on a long axis; about `most` of them.
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        let (low, high) = self.values;
        let steps: Vec<Vec<f64>> = match self.is_log {
            true => [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]]
                .iter()
                .map(|factors| log_ticks(low, high, factors))
                .collect(),
            false => {
                let power = 10f64.powf((high / most as f64).log10().floor());
                [1.0, 2.0, 5.0, 10.0].iter().map(|factor| multiples(power * factor, high)).collect()
            }
        };
        let fewest = steps.last().cloned().unwrap_or_default();
        steps.into_iter().find(|ticks| ticks.len() <= most).unwrap_or(fewest)
    }
}

fn log_ticks(low: f64, high: f64, factors: &[f64]) -> Vec<f64> {
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let all = powers.flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)));
    all.filter(|tick| (low..=high).contains(tick)).collect()
}

fn multiples(step: f64, high: f64) -> Vec<f64> {
    let count = if step > 0.0 { (high / step).min(100.0) as u32 } else { 0 };
    (0..=count).map(|place| f64::from(place) * step).collect()
}

/// The title of a panel and its load; returns the start of its drawing.
pub fn title(canvas: &mut Canvas, table: &Table, what: &str, top: f64) -> f64 {
    let mut letters = what.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let heading = format!("{first}{}, {}", letters.as_str(), table.workload);
    canvas.text((MARGIN, top + 18.0), Anchor::Start, "h", &heading);
    let asked = sentences::title(table);
    let asked = asked.split_once(", ").map_or(asked.clone(), |(_, asked)| asked.to_owned());
    let connections = connections(table);
    let launches = if table.is_single() { ", one launch each: sorted, not ranked" } else { "" };
    let words = format!("{asked}{connections}{}{launches}", canvas.machine(table));
    canvas.text((MARGIN, top + 38.0), Anchor::Start, "m", &words);
    top + 52.0
}

/// The connections of a table's load, to be added to other words; empty where an imported report does not say.
pub fn connections(table: &Table) -> String {
    match table.load.connections {
        0 => String::new(),
        count => format!(", {}", counted(count, "connection", "connections")),
    }
}

/// The display unit for values of this size: how many of the metric's units it contains, and its name.
pub fn unit(metric: &Metric, typical: f64) -> (f64, &'static str) {
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
pub fn time(ns: f64) -> String {
    let (factor, name) = time_unit(ns);
    let value = number::value(ns / factor);
    let value = if value.contains('.') { value.trim_end_matches('0').trim_end_matches('.') } else { &value };
    format!("{value}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_begins_at_zero_unless_values_span_a_large_factor() {
        let linear = Axis::fitting(10.0, 100.0, (0.0, 104.0));
        assert!(!linear.is_log());
        assert!((linear.place(50.0) - 50.0).abs() < 1e-9);
        assert_eq!(linear.ticks(6), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        let log = Axis::fitting(1.0, 1_000.0, (0.0, 100.0));
        assert!(log.is_log() && log.place(0.0) == 0.0 && log.place(1e9) == 100.0);
        assert_eq!(log.ticks(5), [1.0, 10.0, 100.0, 1_000.0]);
    }

    #[test]
    fn names_are_escaped() {
        let mut canvas = Canvas::default();
        canvas.text((0.0, 0.0), Anchor::Start, "t", "<script>alert(1)</script>\u{202e}");
        let svg = canvas.finish(10.0, 10.0, "\"><script>").to_string();
        assert!(!svg.contains("<script") && !svg.contains('\u{202e}'), "{svg}");
    }
}
