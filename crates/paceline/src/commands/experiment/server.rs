//! A server of the lab for the duration of an experiment: runs `paceline lab serve` as a child process.
//!
//! The child builds the server if anything changed, starts it, checks one answer and prints its URL. The child ends
//! when this value is dropped, and the shepherd stops the server however this process ends.

use crate::commands::lab::serve::Serving;
use paceline_experiment::LoadError;
use paceline_host::{Interrupt, system};
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A running server.
pub(super) struct ServerChild {
    child: Child,
    /// Where it listens, ending in a slash.
    pub(super) url: String,
    /// From its start to its first answer, in nanoseconds.
    pub(super) start_ns: u64,
    /// The process of its command.
    pub(super) process: Option<i32>,
}

impl ServerChild {
    /// Builds and starts a server in a form, as a user, with these further flags. Its messages go to a log file.
    pub(super) fn start(
        id: &str,
        form: &str,
        user: Option<&str>,
        flags: &[&str],
        log: &Path,
        interrupt: Interrupt,
    ) -> Result<Self, LoadError> {
        let failed = |why: String| LoadError::Failed(format!("cannot start {id}: {why}"));
        let start = || -> std::io::Result<(Self, String)> {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["lab", "serve", id, "--form", form, "--format", "json"]);
            command.args(user.iter().flat_map(|user| ["--user", user])).args(flags);
            let child =
                command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(log)?).spawn()?;
            // It ends the child if its line cannot be read.
            let mut server = Self { child, url: String::new(), start_ns: 0, process: None };
            let mut line = String::new();
            if let Some(stdout) = server.child.stdout.take() {
                BufReader::new(stdout).read_line(&mut line)?;
            }
            Ok((server, line.trim().to_owned()))
        };
        let (mut server, line) = start().map_err(|error| failed(error.to_string()))?;
        if let Ok(Serving { url, first_answer_ns, process, .. }) = serde_json::from_str(&line) {
            (server.url, server.start_ns, server.process) = (url, first_answer_ns, process);
            return Ok(server);
        }
        let status = server.child.wait().map_err(|error| failed(error.to_string()))?;
        if interrupt.requested() {
            return Err(LoadError::Interrupted);
        }
        let message = paceline_files::read_text(log, 1 << 16).unwrap_or_default();
        let message = message.trim().trim_start_matches("paceline: ").to_owned();
        Err(if status.code() == Some(2) { LoadError::Usage(message) } else { failed(message) })
    }
}

impl Drop for ServerChild {
    fn drop(&mut self) {
        // If it has already ended, there is nothing to stop, and its number may be that of another process.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = system::kill(self.child.id() as i32, libc::SIGTERM);
            let _ = self.child.wait();
        }
    }
}
