//! The reference server, for tests that need any server.
//!
//! Used by `outputs`, `shapes` and others. It answers every request alike; tests that need another response, or check
//! what was sent, have other servers. Its service times are tested beside its code.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// The binary.
pub const PACELINE: &str = env!("CARGO_BIN_EXE_paceline");

/// The reference server, which ends when its standard input closes.
pub struct ReferenceServer(Child, u16);

impl ReferenceServer {
    /// Starts one with this distribution of service times.
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

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.1)
    }
}

impl Drop for ReferenceServer {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
