//! The reference server as a child process on a separate core.
//!
//! `experiment.rs` starts one for each experiment; most use only its port, some also the true times that it reports at
//! the end. Its behaviour is in `crate::reference`.

use crate::reference::Service;
use anyhow::Context as _;
use paceline_record::Times;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A running reference server. It exits when its standard input closes, so also when this process ends for any reason.
pub(super) struct Reference {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Reference {
    /// Starts one.
    pub(super) fn start(service: Service, core: Option<u32>, spin: bool) -> anyhow::Result<Self> {
        let name = clap::ValueEnum::to_possible_value(&service).context("a service without name")?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["reference-server", "--service", name.get_name()]);
        if spin {
            command.arg("--spin");
        }
        if let Some(core) = core {
            command.args(["--core", &core.to_string()]);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take();
        let mut stdout =
            BufReader::new(child.stdout.take().context("cannot read the output of the reference server")?);
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        let port: u16 = line.trim().parse().context("the reference server did not start")?;
        Ok(Self { child, stdin, stdout, address: ([127, 0, 0, 1], port).into() })
    }

    /// Stops it; returns the actual times.
    pub(super) fn truth(mut self) -> anyhow::Result<Times> {
        self.stdin = None;
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        self.child.wait()?;
        serde_json::from_str(&line).context("the reference server did not report the times that it measured")
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        self.stdin = None;
        // It has ended already, or ends when its input closes. A failed wait cannot be reported.
        let _ = self.child.wait();
    }
}
