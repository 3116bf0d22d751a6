//! What a run tells: the report, the record, the files beside it, gates, the live view; and what is left of all that
//! when a run ends early or has nowhere to write to.

mod endings;
mod files;
mod gates;
mod schema;
mod screen;
mod terminal;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};

const PACELINE: &str = env!("CARGO_BIN_EXE_paceline");

/// The reference server, which ends with its standard input.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// One that answers at once.
    fn start() -> Self {
        Self::of("immediate")
    }

    /// One with such service times.
    fn of(service: &str) -> Self {
        let mut child = Command::new(PACELINE)
            .args(["reference-server", "--service", service])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { child, port: port.trim().parse().unwrap() }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// A run against it, not started yet: three connections.
    fn run(&self, flags: &[&str]) -> Command {
        let mut command = Command::new(PACELINE);
        command.args(["run", &self.url(), "-c", "3"]).args(flags).stdin(Stdio::null());
        command
    }

    fn output(&self, flags: &[&str]) -> Output {
        self.run(flags).output().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
