//! The commands that need several runs: `capacity`, `compare`, `gate` and `why`.
//!
//! The `experiment` crate makes the decisions. The modules have the flags, the load (`paceline run` as a child process,
//! so that each run can be repeated by hand), the servers (`paceline lab serve`) and the output.

pub mod capacity;
mod child;
pub mod compare;
mod compare_flags;
pub mod compare_rounds;
pub mod gate;
mod gate_init;
mod gate_output;
mod listener;
mod measured_side;
mod output;
mod profiles;
mod revision_gate;
mod server;
mod settled_cores;
pub mod why;

pub use child::MAX_RECORD_BYTES;

use crate::exit::{Complaint, Status};
use child::{ChildLoad, LoadFlags};
use listener::all_descend_from;
use paceline_experiment::{LoadError, warm_up};
use paceline_host::Interrupt;
use server::ServerChild;
use settled_cores::SettledCores;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

/// The target of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ExperimentTarget {
    /// A running server.
    Url(String),
    /// A server of the lab, by its id.
    Server(String),
}

impl ExperimentTarget {
    /// A URL has a scheme; anything else is a server's id.
    fn from_text(text: &str) -> Self {
        if text.contains("://") { Self::Url(text.to_owned()) } else { Self::Server(text.to_owned()) }
    }
}

/// What an experiment needs to start loads and servers.
struct ExperimentContext {
    flags: LoadFlags,
    records: PathBuf,
    interrupt: Interrupt,
    /// Shared by all loads.
    cores: Rc<SettledCores>,
    /// Whether servers of the lab are started so that a profile has names.
    is_profiled: bool,
}

impl ExperimentContext {
    /// Prepares the folder for records and listens for Ctrl-C.
    fn new(flags: LoadFlags) -> anyhow::Result<Self> {
        use anyhow::Context as _;
        let records = match &flags.records {
            Some(folder) => folder.clone(),
            None => Path::new(".paceline").join("experiments").join(paceline_run::wall_clock::new_id()),
        };
        std::fs::create_dir_all(&records)
            .with_context(|| format!("cannot create the folder for records {}", records.display()))?;
        let interrupt = Interrupt::listen().context("cannot install the handler for Ctrl-C (SIGINT)")?;
        let cores = Rc::new(SettledCores::new(None, interrupt));
        Ok(Self { flags, records, interrupt, cores, is_profiled: false })
    }

    /// Opens a target for load. A server of the lab is started for it and stopped with it.
    fn open(&self, target: &ExperimentTarget, prefix: &str) -> Result<OpenTarget, LoadError> {
        let (server, url) = match target {
            ExperimentTarget::Url(url) => (None, url.clone()),
            ExperimentTarget::Server(id) => {
                let log = self.records.join(format!("{prefix}serve.log"));
                let server = ServerChild::start(
                    id,
                    self.flags.lab_form(),
                    self.flags.user.as_deref(),
                    if self.is_profiled { &["--profiled"] } else { &[] },
                    &log,
                    self.interrupt,
                )?;
                let url = format!("{}{}", server.url, self.flags.lab_path().trim_start_matches('/'));
                (Some(server), url)
            }
        };
        let cores = Rc::clone(&self.cores);
        let process = server.as_ref().and_then(|server| server.process);
        // Without it only those that listen would be looked at: nginx, say, and not the PHP behind it.
        let flags = match process.filter(|process| all_descend_from(*process, &url)) {
            Some(process) => self.flags.clone().watching(process),
            None => self.flags.clone(),
        };
        let load = ChildLoad::new(url, flags, self.records.clone(), prefix, self.interrupt, cores);
        Ok(OpenTarget { load, server })
    }
}

/// A target under load, with the server that was started for it.
struct OpenTarget {
    load: ChildLoad,
    server: Option<ServerChild>,
}

impl OpenTarget {
    /// From the start of the server to its first answer, in nanoseconds; none if it was already running.
    fn start_ns(&self) -> Option<u64> {
        self.server.as_ref().map(|server| server.start_ns)
    }

    /// Runs a closed loop on the target until it is warm or the limit is reached. Returns whether it is warm.
    fn warm(&mut self, limit: Duration) -> Result<bool, LoadError> {
        self.load.warms_up(true);
        let is_warm = warm_up(&mut self.load, limit);
        self.load.warms_up(false);
        is_warm
    }
}

/// A load error as a complaint with its exit status.
fn complaint(error: LoadError) -> anyhow::Error {
    match error {
        LoadError::Interrupted => {
            Complaint::interrupted("the run was interrupted before it had a result").into()
        }
        LoadError::Usage(what) => Complaint::usage(what).into(),
        LoadError::Failed(what) => Complaint::environment(what).into(),
        error @ LoadError::ServerEnded(_) => Complaint::environment(error.to_string()).into(),
        error @ LoadError::NoValidResponse { .. } => Complaint::failed(error.to_string()).into(),
    }
}

/// The status of a result that may have been interrupted.
fn status_of(ended_early: Option<&str>, otherwise: Status) -> Status {
    if ended_early == Some("interrupted") { Status::Interrupted } else { otherwise }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_makes_a_url() {
        assert_eq!(
            ExperimentTarget::from_text("http://[::1]:80/x"),
            ExperimentTarget::Url("http://[::1]:80/x".to_owned())
        );
        assert_eq!(
            ExperimentTarget::from_text("go-nethttp"),
            ExperimentTarget::Server("go-nethttp".to_owned())
        );
    }
}
