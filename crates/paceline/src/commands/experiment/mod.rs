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
        error @ LoadError::NoValidResponse { .. } => Complaint::failed(error.to_string()).into(),
    }
}

/// The status of a result that may have been interrupted.
fn status_of(ended_early: Option<&str>, otherwise: Status) -> Status {
    if ended_early == Some("interrupted") { Status::Interrupted } else { otherwise }
}

/// Flags of a run whose value is a secret.
const SECRET_FLAGS: [&str; 4] = ["--auth", "--bearer", "--curl", "--proxy"];
/// The short flags of a run without a value: they may stand before the `a` of `--auth` in one word, as in `-ka`.
const SHORT_WITHOUT_VALUE: [char; 4] = ['k', 'q', '4', '6'];

/// The command line, with secrets replaced, since results are shared.
fn own_argv() -> Vec<String> {
    without_secrets(std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()))
}

/// Where the credentials in a word with the flag `-a` begin: at its end, if they are the next word.
fn credentials_at(argument: &str) -> Option<usize> {
    let flags = argument.strip_prefix('-')?.trim_start_matches(SHORT_WITHOUT_VALUE);
    Some(argument.len() - flags.strip_prefix('a')?.len())
}

/// Arguments with the values of secret flags and secret header fields replaced, in each form: `--auth A`, `--auth=A`,
/// `-a A`, `-aA`.
fn without_secrets(arguments: impl Iterator<Item = String>) -> Vec<String> {
    let mut follows_secret = false;
    arguments
        .map(|argument| {
            let flag = argument.split_once('=').map_or(argument.as_str(), |(flag, _)| flag);
            let is_flag = SECRET_FLAGS.contains(&flag);
            let credentials = credentials_at(&argument).unwrap_or_default();
            let masked = match argument.split_once(':') {
                _ if follows_secret => paceline_job::MASKED.to_owned(),
                _ if is_flag && flag != argument => format!("{flag}={}", paceline_job::MASKED),
                _ if (1..argument.len()).contains(&credentials) => {
                    format!("{}{}", &argument[..credentials], paceline_job::MASKED)
                }
                Some((name, _)) if paceline_job::is_secret(name) => {
                    format!("{name}: {}", paceline_job::MASKED)
                }
                _ => argument.clone(),
            };
            follows_secret = is_flag && flag == argument || credentials == argument.len() && credentials > 0;
            masked
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_part_of_a_stored_command() {
        let given = "compare http://h:80/a b -H Accept:x -HAuthorization:abc --header=Cookie:abc -H cookie:abc \
                     -a u:abc -kau:abc -a=u:abc --auth abc --bearer=abc --curl";
        let mut arguments: Vec<String> = given.split(' ').map(str::to_owned).collect();
        arguments.push("curl -H 'Cookie: abc' http://h/".to_owned());
        let stored = without_secrets(arguments.into_iter()).join(" ");
        assert_eq!(
            stored,
            "compare http://h:80/a b -H Accept:x -HAuthorization: *** --header=Cookie: *** -H cookie: *** \
             -a *** -ka*** -a*** --auth *** --bearer=*** --curl ***"
        );
    }

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
