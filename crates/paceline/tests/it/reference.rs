//! The reference server, for tests that need somebody to answer.
//!
//! For `outputs`, `shapes` and `instructions`. It answers every request alike; tests that want another answer, or to
//! see what was sent, have servers of their own. That its service times are what it says is held beside its code.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// The binary.
pub const PACELINE: &str = env!("CARGO_BIN_EXE_paceline");

/// The reference server, which ends with its standard input.
pub struct Server(Child, u16);

impl Server {
    /// One with this distribution of service times.
    pub fn start(service: &str) -> Self {
        let arguments = ["reference-server", "--service", service];
        let mut child = Command::new(PACELINE)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self(child, port.trim().parse().unwrap())
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.1)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
