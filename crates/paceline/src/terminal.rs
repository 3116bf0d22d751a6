//! What the terminal can show.

use std::io::IsTerminal as _;

/// Whether standard output is a terminal that takes colours: `NO_COLOR` (<https://no-color.org>) says it does not.
pub fn wants_colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
