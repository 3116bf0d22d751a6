//! Lines, columns and colours of a run's text.

/// Whether and how text is coloured (ECMA-48 SGR).
#[derive(Clone, Copy)]
pub(super) struct Style(bool);

impl Style {
    pub(super) fn new(colour: bool) -> Self {
        Self(colour)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(super) fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(super) fn warn(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub(super) fn bad(self, text: &str) -> String {
        self.paint("1;31", text)
    }
}

/// Rows under a header, the first column left, the others right.
pub(super) fn table<const N: usize>(rows: &[[String; N]], style: Style) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let mut line = format!("  {:<width$}", row[0], width = width(0));
        for (column, cell) in row.iter().enumerate().skip(1) {
            line.push_str(&format!("  {cell:>width$}", width = width(column)));
        }
        text.push_str(&if index == 0 { style.dim(&line) } else { line });
        text.push('\n');
    }
    text
}

/// Names with what there is to say of them, one a line; those of which there is nothing to say are left out.
pub(super) fn facts(facts: &[(&str, String)], style: Style) -> String {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    facts
        .iter()
        .filter(|(_, fact)| !fact.is_empty())
        .map(|(name, fact)| format!("  {}  {fact}\n", style.dim(&format!("{name:<width$}"))))
        .collect()
}
