//! Capabilities of the terminal: colours and size.
//!
//! `run`, `round`, `report`, `lab list` and the help (`usage.rs`) check them before they render; the report crate does
//! not look at terminals. Live output is drawn in `run/screen.rs` and `round/progress.rs`.

use std::io::IsTerminal as _;
use std::os::fd::AsFd;

/// Columns of a terminal if its width is unknown, as on a serial console: the usual ones.
const COLUMNS_USUAL: usize = 80;
/// The longest line of running text: longer ones are hard to read.
const MAX_COLUMNS_OF_TEXT: usize = 100;
/// Columns of progress and of a round's report without a terminal.
const COLUMNS_WITHOUT_TERMINAL: usize = 100;

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

/// Columns and rows of the terminal on a stream, if it is one. 0 means that it does not report them (tty_ioctl(4)).
fn size_of(stream: impl AsFd) -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some((size.ws_col.into(), size.ws_row.into()))
}

/// The value of `COLUMNS`, if it is a positive number.
pub fn width_in_environment() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok().filter(|width| *width > 0)
}

/// Columns of the terminal on a stream, if it is one; it may report them without its rows. If it does not report them,
/// the value of `COLUMNS`, else 80.
fn width_of(stream: impl AsFd) -> Option<usize> {
    let (columns, _) = size_of(stream)?;
    let reported = Some(columns).filter(|columns| *columns > 0);
    Some(reported.or_else(width_in_environment).unwrap_or(COLUMNS_USUAL))
}

/// Columns of the terminal on standard output or standard error; 100 if neither is a terminal.
pub fn width() -> usize {
    width_of_stdout().or_else(width_of_stderr).unwrap_or(COLUMNS_WITHOUT_TERMINAL)
}

/// Columns of the terminal on standard error, if it is one.
pub fn width_of_stderr() -> Option<usize> {
    width_of(std::io::stderr())
}

/// Columns of the terminal on standard output, if it is one.
pub fn width_of_stdout() -> Option<usize> {
    width_of(std::io::stdout())
}

/// Columns and rows of the terminal on standard error, if it is one that reports both.
pub fn size_of_stderr() -> Option<(usize, usize)> {
    size_of(std::io::stderr()).filter(|(columns, rows)| *columns > 0 && *rows > 0)
}

/// Columns for running text: those of standard output if the text is shown there and it is a terminal, at most 100;
/// else 80.
pub fn width_for_text(shown: bool) -> usize {
    let width = width_of_stdout().filter(|_| shown);
    width.map_or(COLUMNS_USUAL, |width| width.min(MAX_COLUMNS_OF_TEXT))
}
