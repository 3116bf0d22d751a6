//! What the terminal can show.
//!
//! `run`, `round` and `report` ask for colours and columns before they render anything; the report crate looks at no
//! terminal. What is drawn and rewritten on one is in `run/follow/screen.rs` and `round/progress.rs`.

use std::io::IsTerminal as _;

/// Whether standard output is a terminal that takes colours: `NO_COLOR` (<https://no-color.org>) and a `TERM` without
/// the means say it does not.
pub fn wants_colour() -> bool {
    std::io::stdout().is_terminal() && takes_colour()
}

/// Whether a terminal, where there is one, takes colours.
pub fn takes_colour() -> bool {
    !is_dumb() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Whether nothing but text can be sent to a terminal: `TERM` says so, or does not say what it is (terminfo(5)).
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// Columns of the terminal on standard output or standard error; 100 where there is none.
pub fn width() -> usize {
    let size = terminal_size::terminal_size().or_else(|| terminal_size::terminal_size_of(std::io::stderr()));
    size.map_or(100, |(width, _)| usize::from(width.0))
}

/// Columns for a text of lines: those of standard output where it is shown and is a terminal, at most 100, where lines
/// are hard to follow; else 80.
pub fn width_for_text(shown: bool) -> usize {
    let size = terminal_size::terminal_size_of(std::io::stdout()).filter(|_| shown);
    size.map_or(80, |(width, _)| usize::from(width.0).min(100))
}
