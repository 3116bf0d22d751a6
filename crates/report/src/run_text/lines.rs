//! Lines, columns and colours of a run's text, within a given width.
//!
//! Called by every section of the text; the live view uses its colours. `format/layout.rs` lays out the tables of a
//! report, which leave out columns that do not fit.

use super::quantity::{TimeUnit, nanos};
use crate::{Align, Grid};
use paceline_escape::TerminalText;

/// Whether and how text is coloured (ECMA-48 SGR).
#[derive(Clone, Copy)]
pub(crate) struct Style {
    colour: bool,
    /// Maximum columns of a line.
    pub(crate) width: usize,
    /// The unit of all times; without it each has its own.
    unit: Option<TimeUnit>,
}

impl Style {
    pub(crate) fn new(colour: bool, width: usize) -> Self {
        Self { colour, width, unit: None }
    }

    pub(crate) fn with_unit(self, unit: Option<TimeUnit>) -> Self {
        Self { unit, ..self }
    }

    /// A length of time in nanoseconds.
    pub(super) fn time(self, value_ns: f64) -> String {
        self.unit.map_or_else(|| nanos(value_ns), |unit| unit.of_nanos(value_ns))
    }

    /// A text on one line. Colour sequences in it are escaped too.
    fn paint(self, code: &str, text: &str) -> String {
        let safe = TerminalText::from_text(text);
        if self.colour && !code.is_empty() { format!("\x1b[{code}m{safe}\x1b[0m") } else { safe.to_string() }
    }

    pub(crate) fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub(crate) fn warn(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// Text in lines with this many leading blanks, each painted.
    pub(crate) fn lines(self, text: &str, blanks: usize, paint: fn(Style, &str) -> String) -> String {
        let margin = " ".repeat(blanks);
        let lines = wrap(text, self.width.saturating_sub(blanks));
        lines.iter().map(|line| format!("{margin}{}\n", paint(self, line))).collect()
    }

    /// Without colour.
    pub(crate) fn plain(self, text: &str) -> String {
        self.paint("", text)
    }
}

/// The width of a text. Every character shown here is one column wide.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().count()
}

/// Breaks text at blanks into lines of at most `width` columns, except for longer words. A figure stays with its unit:
/// they are joined by a no-break space, which is printed as a blank, and where a line begins only if they are wider
/// than a line.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let words = text.split(' ').flat_map(|joined| {
        let is_too_wide = columns(joined) > width;
        joined.split(move |letter| is_too_wide && letter == '\u{a0}')
    });
    for word in words.filter(|word| !word.is_empty()) {
        let line = lines.last_mut().map_or(0, |line| columns(line));
        match lines.last_mut() {
            Some(last) if line == 0 => last.push_str(word),
            Some(last) if line + 1 + columns(word) <= width => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| line.replace('\u{a0}', " ")).collect()
}

/// Rows under a header, the first column aligned left, the others right. If that is too wide: each row's first cell on
/// a separate line, and below it the other cells with their headings.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>], style: Style) -> String {
    let header: Vec<String> = header.iter().map(|cell| (*cell).to_owned()).collect();
    let all: Vec<&Vec<String>> = std::iter::once(&header).chain(rows).collect();
    let aligns: Vec<Align> =
        (0..header.len()).map(|column| if column == 0 { Align::Left } else { Align::Right }).collect();
    let grid = Grid::fitting(&aligns, &all);
    if grid.width() + 2 > style.width {
        return rows.iter().map(|row| listed(&header, row, style)).collect();
    }
    let mut text = String::new();
    for (index, row) in all.into_iter().enumerate() {
        let line = format!("  {}", grid.line(row)).replace('\u{a0}', " ");
        text.push_str(&if index == 0 { style.dim(&line) } else { style.plain(&line) });
        text.push('\n');
    }
    text
}

/// One row of a table that is too wide.
fn listed(header: &[String], row: &[String], style: Style) -> String {
    let named = header.iter().zip(row).skip(1).filter(|(_, cell)| !cell.is_empty());
    let items: Vec<String> =
        named.map(|(name, cell)| format!("{name} {cell}").replace(' ', "\u{a0}")).collect();
    let first = style.lines(&row[0], 2, Style::dim);
    first + &style.lines(&items.join(", "), 4, Style::plain)
}

/// Names with their descriptions; names without a description are left out. In a narrow text the description begins on
/// the next line.
pub(crate) fn facts(facts: &[(&str, String)], style: Style) -> String {
    let named = facts.iter().filter(|(_, fact)| !fact.is_empty());
    let width = named.clone().map(|(name, _)| columns(name)).max().unwrap_or(0);
    let narrow = style.width < 60;
    let mut text = String::new();
    for (name, fact) in named {
        if narrow {
            text.push_str(&format!("  {}\n{}", style.dim(name), style.lines(fact, 4, Style::plain)));
            continue;
        }
        let lines = style.lines(fact, width + 4, Style::plain);
        let name = style.dim(&format!("{name:<width$}"));
        text.push_str(&format!("  {name}  {}", lines.trim_start()));
    }
    text
}

/// A painted mark followed by text; its further lines are indented by two blanks.
pub(crate) fn hanging(mark: &str, paint: fn(Style, &str) -> String, text: &str, style: Style) -> String {
    // Characters that are not blanks reserve the mark's place in the text.
    let placeholder = "x".repeat(columns(mark));
    let lines = wrap(&format!("{placeholder} {text}"), style.width.saturating_sub(2));
    let mut shown = String::new();
    for (index, line) in lines.iter().enumerate() {
        match line.strip_prefix(&placeholder) {
            Some(rest) if index == 0 => {
                shown.push_str(&format!("{}{}\n", paint(style, mark), style.plain(rest)));
            }
            _ => shown.push_str(&format!("  {}\n", style.plain(line))),
        }
    }
    shown
}
