//! Progress on standard error.

use std::io::Write as _;

/// Prints progress.
pub fn say(what: &str) {
    // A closed standard error is no reason to stop.
    let _ = writeln!(std::io::stderr(), "speed: {what}");
}
