//! Capabilities of the terminal: colours and width.
//!
//! `run`, `round` and `report` check them before they render; the report crate does not look at terminals. Live output
//! is drawn in `run/screen.rs` and `round/progress.rs`.

use std::io::IsTerminal as _;

/// Whether standard output is a terminal that supports colours; not if `NO_COLOR` (<https://no-color.org>) is set or
/// `TERM` is unset or `dumb`.
pub fn wants_colour() -> bool {
    std::io::stdout().is_terminal() && takes_colour()
}

/// Whether a terminal, if there is one, supports colours.
pub fn takes_colour() -> bool {
    !is_dumb() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Whether the terminal supports plain text only: `TERM` is `dumb` or not set (terminfo(5)).
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// Columns of the terminal on standard output or standard error; 100 if neither is a terminal.
pub fn width() -> usize {
    let size = terminal_size::terminal_size().or_else(|| terminal_size::terminal_size_of(std::io::stderr()));
    size.map_or(100, |(width, _)| usize::from(width.0))
}

/// Columns of the terminal on standard error, if it is one.
pub fn width_of_errors() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stderr()).map(|(width, _)| usize::from(width.0))
}

/// Columns of the terminal on standard output, if it is one.
pub fn width_of_output() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0))
}

/// Columns for running text: those of standard output if the text is shown there and it is a terminal, at most 100,
/// since longer lines are hard to read; else 80.
pub fn width_for_text(shown: bool) -> usize {
    let size = terminal_size::terminal_size_of(std::io::stdout()).filter(|_| shown);
    size.map_or(80, |(width, _)| usize::from(width.0).min(100))
}
