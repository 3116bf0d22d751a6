//! Columns of text: each as wide as its widest cell.
//!
//! Tables of a terminal that show every column are made of it. Those of a report leave out columns that do not fit
//! (`format/layout.rs`).

use unicode_width::UnicodeWidthStr;

/// Blanks between columns.
const GAP: usize = 2;

/// Where a cell stands in its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Figures.
    Right,
}

/// The columns of a table.
#[derive(Clone, Debug)]
pub struct Grid {
    columns: Vec<(Align, usize)>,
}

impl Grid {
    /// Columns with their smallest widths.
    pub fn new(columns: impl IntoIterator<Item = (Align, usize)>) -> Self {
        Self { columns: columns.into_iter().collect() }
    }

    /// Columns that are wide enough for every cell of these rows.
    pub fn fitting<Row: AsRef<[String]>>(aligns: &[Align], rows: &[Row]) -> Self {
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.as_ref().get(column));
            cells.map(|cell| cell.width()).max().unwrap_or(0)
        };
        Self::new(aligns.iter().enumerate().map(|(column, align)| (*align, width(column))))
    }

    /// The width of a whole line.
    pub fn width(&self) -> usize {
        let gaps = self.columns.len().saturating_sub(1) * GAP;
        self.columns.iter().map(|(_, width)| width).sum::<usize>() + gaps
    }

    /// The width that a cell leaves free in a column.
    pub fn room(&self, column: usize, cell: &str) -> usize {
        self.columns.get(column).map_or(0, |(_, width)| width.saturating_sub(cell.width()))
    }

    /// A line of these cells, without a line end and without blanks before it.
    pub fn line(&self, cells: &[String]) -> String {
        let mut line = String::new();
        for (place, (cell, (align, _))) in cells.iter().zip(&self.columns).enumerate() {
            let room = " ".repeat(self.room(place, cell));
            line.push_str(&" ".repeat(if place == 0 { 0 } else { GAP }));
            match align {
                Align::Left => line.extend([cell.as_str(), &room]),
                Align::Right => line.extend([room.as_str(), cell]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }

    /// Rows as lines, each with these blanks before it.
    pub fn text<Row: AsRef<[String]>>(aligns: &[Align], rows: &[Row], blanks: usize) -> String {
        let grid = Self::fitting(aligns, rows);
        let line = |row: &Row| format!("{}{}\n", " ".repeat(blanks), grid.line(row.as_ref()));
        rows.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["name", "ms"], ["ä日本", "1,234.5"], ["", "7"]].map(|row| row.map(str::to_owned));
        let text = Grid::text(&[Align::Left, Align::Right], &rows, 1);
        assert_eq!(text, " name        ms\n ä日本  1,234.5\n              7\n");
        assert_eq!(Grid::fitting(&[Align::Left, Align::Right], &rows).width(), 14);
    }

    #[test]
    fn a_cell_wider_than_its_column_moves_the_others() {
        let grid = Grid::new([(Align::Right, 2), (Align::Left, 3)]);
        assert_eq!(grid.line(&["123".to_owned(), "a".to_owned()]), "123  a");
        assert_eq!(grid.line(&[String::new(), String::new()]), "");
    }
}
