//! Tests the outputs of a run: report, record, files, gates and live view, also when a run ends early or an output
//! cannot be written.
//!
//! Nearly all use the reference server, which answers immediately. The exact text of the report is tested in the report
//! crate; when a gate fails, in the record crate.

mod endings;
mod files;
mod gates;
mod named;
mod screen;
mod streams;
mod terminal;
mod viewed;

use crate::reference::{PACELINE, ReferenceServer};
use std::process::{Command, Output, Stdio};

/// Runs `paceline run` against a server.
trait Runs {
    /// A run over three connections, not started yet.
    fn run(&self, flags: &[&str]) -> Command;

    /// Runs it and returns its output.
    fn output(&self, flags: &[&str]) -> Output {
        self.run(flags).output().unwrap()
    }
}

impl Runs for ReferenceServer {
    fn run(&self, flags: &[&str]) -> Command {
        let mut command = Command::new(PACELINE);
        command.args(["run", &self.url(), "-c", "3"]).args(flags).stdin(Stdio::null());
        command
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
