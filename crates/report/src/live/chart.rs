//! Charts of the live view: columns of blocks with an axis, one or more columns for each second.
//!
//! Pure: numbers in, lines out. All of a chart's values are non-negative; the axis begins at 0.

use crate::run_text::{Style, columns};

/// The eight heights of a bar (Unicode block elements).
const EIGHTHS: [char; 8] =
    ['\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}', '\u{2588}'];
/// Fills a column from its lower value to its upper one.
const SHADE: char = '\u{2591}';
/// Where an axis ends, times a power of ten.
const AXIS_ENDS: [f64; 10] = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0];
/// Columns of the labels of the vertical axis.
const LABEL_COLUMNS: usize = 9;
/// Maximum number of columns for one second.
const MAX_SECOND_COLUMNS: usize = 8;

/// One chart: the values of each second, the latest last.
pub(super) struct LiveChart<'c> {
    /// Its title.
    pub title: &'c str,
    /// By second: a value, and a higher value that is drawn lighter.
    pub values: &'c [(f64, f64)],
    /// Formats a value for the axis.
    pub label: fn(f64) -> String,
    /// How the columns are painted.
    pub paint: fn(Style, &str) -> String,
}

/// How many seconds fit, and how many columns each gets.
fn room(seconds: usize, width: usize) -> (usize, usize) {
    let columns = width.saturating_sub(LABEL_COLUMNS + 4).max(1);
    let each = (columns / seconds.max(1)).clamp(1, MAX_SECOND_COLUMNS);
    (seconds.min(columns), each)
}

impl LiveChart<'_> {
    /// The title and `height` lines, none wider than the style's width.
    pub(super) fn lines(&self, height: usize, style: Style) -> Vec<String> {
        let (seconds, each) = room(self.values.len(), style.width);
        let shown = &self.values[self.values.len() - seconds..];
        let highest =
            axis_end(shown.iter().map(|(low, high)| low.max(*high)).fold(f64::MIN_POSITIVE, f64::max));
        let mut lines = vec![format!("  {}", style.dim(self.title))];
        for row in (0..height).rev() {
            let label = match row {
                row if row + 1 == height => (self.label)(highest),
                0 => "0".to_owned(),
                // The upper edge of this row is half of the axis.
                row if height >= 6 && (row + 1) * 2 == height => (self.label)(highest / 2.0),
                _ => String::new(),
            };
            let label = label.replace('\u{a0}', " ");
            let cell = |(low, high): &(f64, f64)| {
                let level = |value: f64| value / highest * height as f64 - row as f64;
                let cell = match (level(*low), level(*high)) {
                    (low, _) if low >= 1.0 => EIGHTHS[7],
                    (low, high) if low > 0.0 && high <= low.max(0.99) => eighth(low),
                    (low, _) if low >= 0.5 => EIGHTHS[7],
                    (_, high) if high > 0.125 => SHADE,
                    _ => ' ',
                };
                cell.to_string().repeat(each)
            };
            let bars: String = shown.iter().map(cell).collect();
            let tick = if label.is_empty() { '\u{2502}' } else { '\u{2524}' };
            let axis = style.dim(&format!("{label:>LABEL_COLUMNS$} {tick}"));
            lines.push(format!(" {axis}{}", (self.paint)(style, bars.trim_end())));
        }
        lines
    }

    /// The horizontal axis, labelled with the age of the first second shown.
    pub(super) fn axis(&self, style: Style) -> String {
        let (seconds, each) = room(self.values.len(), style.width);
        let length = seconds * each;
        let (from, to) = (format!(" {seconds} s ago"), "now");
        let labels = columns(&from) + columns(to);
        let line = match length.checked_sub(labels + 2) {
            Some(between) => format!("{from} {}{to}", "\u{2500}".repeat(between) + " "),
            None => "\u{2500}".repeat(length),
        };
        format!(" {}", style.dim(&format!("{:>LABEL_COLUMNS$} \u{2514}{line}", "")))
    }
}

/// The end of an axis for values up to `highest`, which is positive: the next number with a short label.
fn axis_end(highest: f64) -> f64 {
    let unit = 10.0_f64.powf(highest.log10().floor());
    AXIS_ENDS.iter().map(|end| end * unit).find(|end| *end >= highest).unwrap_or(10.0 * unit)
}

/// A block as high as this share of a row.
fn eighth(share: f64) -> char {
    EIGHTHS[((share * 8.0).ceil() as usize).clamp(1, 8) - 1]
}
