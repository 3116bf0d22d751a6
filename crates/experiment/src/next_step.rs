//! A step to try, and the commands of steps.

use crate::why_cause::Cause;
use paceline_escape::shell_word;
use paceline_record::Run;
use schemars::JsonSchema;
use serde::Serialize;

/// Something to try.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NextStep {
    /// What it would change.
    pub cause: Cause,
    /// What to do.
    pub what: String,
    /// A command that does it, or that shows more.
    pub command: Option<String>,
    /// The finding that suggests it.
    pub because: String,
}

/// The load in the commands of steps.
pub(crate) struct LoadCommand {
    /// The URL, as a shell reads it.
    url: String,
    /// `--job FILE`, with the record of the closed loop, if the load has settings that flags of a step do not contain.
    job: Option<String>,
    /// Whether the server was started for the load and has ended: its process has another number next time.
    is_ended: bool,
}

impl LoadCommand {
    /// The load of a closed loop whose record is the file `record`.
    pub(crate) fn new(url: &str, closed: &Run, record: &str) -> Self {
        let is_plain = closed.job.as_ref().is_none_or(|job| job.is_plain());
        let job = (!is_plain).then(|| format!("--job {}", shell_word(record)));
        Self { url: shell_word(url), job, is_ended: false }
    }

    /// The same load of a server that has ended.
    pub(crate) fn of_ended(self, is_ended: bool) -> Self {
        Self { is_ended, ..self }
    }

    /// The number of the server's process in commands, `PID` if it is not known.
    pub(crate) fn pid(&self, closed: &Run) -> String {
        let server = closed.server.as_ref().filter(|_| !self.is_ended);
        server.map_or("PID".to_owned(), |server| server.pid.to_string())
    }

    /// `paceline run` with this load and more flags, which override settings of the job.
    pub(crate) fn run(&self, flags: &str) -> String {
        format!("paceline run {} {flags}", self.job.as_ref().unwrap_or(&self.url))
    }

    /// `paceline why` with this load: `flags` are its own, `run_flags` those of its runs.
    pub(crate) fn why(&self, flags: &str, run_flags: &str) -> String {
        let of_runs = format!("{} {run_flags}", self.job.as_deref().unwrap_or_default());
        let separator = if of_runs.trim().is_empty() { "" } else { "--" };
        let words = ["paceline why", &self.url, flags, separator, of_runs.trim()];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }
}
