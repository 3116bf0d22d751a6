//! Fits columns into a width and pads their cells.
//!
//! Only `text.rs` calls it: the other formats have no width. The table of metrics defines which column is left out
//! first.

use super::columns::{ColumnRole, TableColumn};
use paceline_escape::{TerminalText, terminal};
use std::collections::BTreeSet;
use unicode_width::UnicodeWidthStr;

/// Space between two columns; a spread is close to its figure, and a server to its rank.
const GAP: usize = 2;
/// A server's name is shortened to this many columns before a table may exceed the width.
const SERVER_MIN: usize = 14;

/// A line for a terminal, optionally with colours.
#[derive(Clone, Debug, Default)]
pub struct Painted {
    text: TerminalText,
}

impl Painted {
    /// A piece of text, coloured if `colour` is set (ECMA-48 SGR).
    pub fn new(text: &str, style: anstyle::Style, colour: bool) -> Self {
        let safe = TerminalText::from_text(text);
        let is_plain = style == anstyle::Style::new() || safe.as_str().trim().is_empty();
        let text = match colour && !is_plain {
            true => TerminalText::coloured(&format!("{style}{safe}{style:#}")),
            false => safe,
        };
        Self { text }
    }

    /// Adds blanks.
    pub fn blanks(&mut self, count: usize) {
        self.text.push(&TerminalText::from_text(&" ".repeat(count)));
    }

    /// Adds a piece.
    pub fn push(&mut self, piece: Painted) {
        self.text.push(&piece.text);
    }

    /// The content as a line, without trailing blanks.
    pub fn line(&self) -> TerminalText {
        terminal!("{}\n", TerminalText::coloured(self.text.as_str().trim_end()))
    }
}

/// The columns that fit, and the names of those that do not.
pub struct Fitted {
    pub columns: Vec<TableColumn>,
    /// The names of columns left out, the least important first.
    pub left_out: Vec<String>,
}

/// Starts with the columns that are never removed and adds the others, the last to be removed first, if they still fit
/// into `width`. A spread needs its figure.
pub fn fit(all: &[TableColumn], width: usize) -> Fitted {
    let mut kept: Vec<bool> = all.iter().map(|column| column.leaves.is_none()).collect();
    let mut left_out = Vec::new();
    let steps: BTreeSet<u8> = all.iter().filter_map(|column| column.leaves).collect();
    for step in steps.into_iter().rev() {
        let mut wider = kept.clone();
        for (place, column) in all.iter().enumerate().filter(|(_, column)| column.leaves == Some(step)) {
            let alone = column.role == ColumnRole::Spread && !(place > 0 && wider[place - 1]);
            wider[place] = !alone;
        }
        if total(all, &wider) <= width {
            kept = wider;
        } else {
            let gone = all.iter().filter(|column| column.leaves == Some(step) && !column.name.is_empty());
            left_out.splice(0..0, gone.map(|column| column.name.clone()));
        }
    }
    let surplus = total(all, &kept).saturating_sub(width);
    let mut columns: Vec<TableColumn> =
        all.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(column, _)| column.clone()).collect();
    columns
        .iter_mut()
        .filter(|column| column.role == ColumnRole::Server)
        .for_each(|column| shorten(column, surplus));
    Fitted { columns, left_out }
}

/// The width of the selected columns.
fn total(all: &[TableColumn], kept: &[bool]) -> usize {
    let shown = all.iter().zip(kept).filter(|(_, kept)| **kept).map(|(column, _)| column);
    shown.enumerate().map(|(place, column)| if place == 0 { 0 } else { gap(column) } + width_of(column)).sum()
}

/// The space before a column.
pub fn gap(column: &TableColumn) -> usize {
    if matches!(column.role, ColumnRole::Spread | ColumnRole::Server) { 1 } else { GAP }
}

/// The width a column needs.
pub fn width_of(column: &TableColumn) -> usize {
    let cells = padded(column).iter().map(|cell| cell.width()).max().unwrap_or(0);
    column.head.iter().map(|head| head.width()).max().unwrap_or(0).max(cells)
}

fn shorten(column: &mut TableColumn, surplus: usize) {
    let keep = width_of(column).saturating_sub(surplus).max(SERVER_MIN);
    for cell in column.cells.iter_mut().filter(|cell| cell.width() > keep) {
        let mut short = String::new();
        for letter in cell.chars() {
            if short.width() + 2 > keep {
                break;
            }
            short.push(letter);
        }
        *cell = format!("{short}…");
    }
}

/// The cells of a column, figures aligned on their decimal point; not yet padded to the column's width.
pub fn padded(column: &TableColumn) -> Vec<String> {
    if column.role != ColumnRole::Figure {
        return column.cells.clone();
    }
    // Of a range, its last figure counts: only that ends near the edge of the column.
    let last = |cell: &str| cell.rfind('–').map_or(0, |dash| dash + '–'.len_utf8());
    let fraction = |cell: &str| {
        let figure = &cell[last(cell)..];
        figure.find('.').map_or(0, |point| figure[point..].width())
    };
    let numeric = |cell: &&String| cell.ends_with(|last: char| last.is_ascii_digit());
    let longest = column.cells.iter().filter(numeric).map(|cell| fraction(cell)).max().unwrap_or(0);
    let pad = |cell: &String| {
        let room = if numeric(&cell) { longest - fraction(cell) } else { 0 };
        format!("{cell}{}", " ".repeat(room))
    };
    column.cells.iter().map(pad).collect()
}

/// Pads a text according to the alignment of its column.
pub fn align(text: &str, width: usize, role: ColumnRole) -> String {
    let room = " ".repeat(width.saturating_sub(text.width()));
    match role {
        ColumnRole::Rank | ColumnRole::Figure => format!("{room}{text}"),
        ColumnRole::Server | ColumnRole::Spread | ColumnRole::Limit | ColumnRole::Notes => {
            format!("{text}{room}")
        }
    }
}

/// The words of a text. A no-break space joins a number and its unit.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim_matches(is_break);
    std::iter::from_fn(move || {
        let (end, next) = break_in(rest).unwrap_or((rest.len(), rest.len()));
        let word = &rest[..end];
        rest = &rest[next..];
        Some(word).filter(|word| !word.is_empty())
    })
}

fn is_break(letter: char) -> bool {
    letter.is_whitespace() && letter != '\u{a0}'
}

/// The first place where a line may end, and that where the next one begins. Several spaces in a row are part of a
/// quotation, such as that of an invalid response.
fn break_in(text: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    while let Some(at) = text[from..].find(is_break).map(|at| from + at) {
        let next = text[at..].find(|letter| !is_break(letter)).map_or(text.len(), |length| at + length);
        let between = &text[at..next];
        if between.len() == 1 || between.contains(|letter| letter != ' ') {
            return Some((at, next));
        }
        from = next;
    }
    None
}

/// Breaks a text at spaces into lines of at most `width` columns; a longer word gets a separate line.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words(text) {
        let full =
            lines.last().is_some_and(|line| !line.is_empty() && line.width() + 1 + word.width() > width);
        if full {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.iter().map(|line| line.replace('\u{a0}', " ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(role: ColumnRole, cells: &[&str], leaves: Option<u8>) -> TableColumn {
        let cells = cells.iter().map(|cell| (*cell).to_owned()).collect();
        TableColumn {
            role,
            head: [String::new(), "head".to_owned()],
            cells,
            leaves,
            name: "start-up time".to_owned(),
        }
    }

    #[test]
    fn figures_are_aligned_at_the_decimal_point() {
        let cells = padded(&column(ColumnRole::Figure, &["5.12", "41.3", "210", "·", "≥ 1.5", "87%"], None));
        assert_eq!(cells, ["5.12", "41.3 ", "210   ", "·", "≥ 1.5 ", "87%"]);
        let cells = padded(&column(ColumnRole::Figure, &["6.9", "8.70–14.4", "150", "207–328"], None));
        assert_eq!(cells, ["6.9", "8.70–14.4", "150  ", "207–328  "]);
    }

    #[test]
    fn columns_are_dropped_in_order_until_the_rest_fits() {
        let all = [
            column(ColumnRole::Server, &["a-long-server-name"], None),
            column(ColumnRole::Figure, &["12345"], None),
            column(ColumnRole::Figure, &["67890"], Some(5)),
            column(ColumnRole::Figure, &["11111"], Some(8)),
        ];
        assert_eq!(fit(&all, 39).columns.len(), 4);
        let fitted = fit(&all, 38);
        assert_eq!(
            (fitted.columns.len(), fitted.left_out.as_slice()),
            (3, ["start-up time".to_owned()].as_slice())
        );
        assert_eq!(fitted.columns[2].cells, ["11111"]);
        assert_eq!(fit(&all, 31).columns.len(), 2);
        assert_eq!(fit(&all, 22).columns[0].cells, ["a-long-server-…"]);
    }

    #[test]
    fn a_spread_is_dropped_with_its_figure() {
        let all = [
            column(ColumnRole::Server, &["server"], None),
            column(ColumnRole::Figure, &["1234567890"], Some(5)),
            column(ColumnRole::Spread, &["±2%"], Some(2)),
        ];
        assert_eq!(fit(&all, 23).columns.len(), 3);
        assert_eq!(fit(&all, 22).columns.len(), 2);
        assert_eq!(fit(&all, 17).columns.len(), 1);
    }

    #[test]
    fn text_is_wrapped_at_spaces() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("unbreakable", 3), ["unbreakable"]);
        assert_eq!(wrap("p99 1\u{a0}ms", 6), ["p99", "1 ms"]);
        assert_eq!(wrap("", 3), [""]);
        assert_eq!(wrap("invalid \"HTTP/1.1  200 OK\"", 12), ["invalid", "\"HTTP/1.1  200", "OK\""]);
        assert_eq!(wrap(" one\n  two ", 12), ["one two"]);
    }
}
