//! The reference server as a child process on its own core, from its port to the truth it tells at the end.
//!
//! `experiment.rs` starts one for each experiment and asks most of them for nothing but their port. What it serves, and
//! how it knows what is true, is in `crate::reference`.

use crate::reference::Service;
use anyhow::Context as _;
use paceline_record::Times;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A running reference server. It ends when its standard input does: with this process, whatever ends that.
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
        let name = clap::ValueEnum::to_possible_value(&service).context("a service without a name")?;
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
        let mut stdout = BufReader::new(child.stdout.take().context("the reference server has no output")?);
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        let port: u16 = line.trim().parse().context("the reference server did not start")?;
        Ok(Self { child, stdin, stdout, address: ([127, 0, 0, 1], port).into() })
    }

    /// Ends it; the times it really took.
    pub(super) fn truth(mut self) -> anyhow::Result<Times> {
        self.stdin = None;
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        self.child.wait()?;
        serde_json::from_str(&line).context("the reference server did not tell the truth")
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        self.stdin = None;
        // It has ended already, or ends by the end of its input; there is nobody to tell if waiting fails.
        let _ = self.child.wait();
    }
}
