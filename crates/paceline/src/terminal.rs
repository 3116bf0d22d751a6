//! What the terminal can show.

use std::io::IsTerminal as _;

/// Whether standard output is a terminal that takes colours: `NO_COLOR` (<https://no-color.org>) says it does not.
pub fn wants_colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Columns of the terminal on standard output or standard error; 100 where there is none.
pub fn width() -> usize {
    let size = terminal_size::terminal_size().or_else(|| terminal_size::terminal_size_of(std::io::stderr()));
    size.map_or(100, |(width, _)| usize::from(width.0))
}
