//! What a run tells: the report, the record, the files beside it, gates, the live view; and what is left of all that
//! when a run ends early or has nowhere to write to.
//!
//! Nearly all against the reference server, which answers at once. How the text of a run reads, to the letter, is held
//! by the report crate; when a gate fails, by the record crate.

mod endings;
mod files;
mod gates;
mod named;
mod schema;
mod screen;
mod streams;
mod terminal;
mod viewed;

use crate::reference::{PACELINE, Server};
use std::process::{Command, Output, Stdio};

/// Runs against a server.
trait Runs {
    /// A run over three connections, not started yet.
    fn run(&self, flags: &[&str]) -> Command;

    /// The same, carried out.
    fn output(&self, flags: &[&str]) -> Output {
        self.run(flags).output().unwrap()
    }
}

impl Runs for Server {
    fn run(&self, flags: &[&str]) -> Command {
        let mut command = Command::new(PACELINE);
        command.args(["run", &self.url(), "-c", "3"]).args(flags).stdin(Stdio::null());
        command
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
