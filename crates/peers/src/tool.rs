//! A tool's command line and report, as `paceline wrk` and the like have them.
//!
//! A tool is a front end: its flags fill a [`Job`], and its report is written from the [`Run`] that the engine made.
//! The modules of the tools implement [`ToolCommand`]; the same modules read the tools' reports.

use crate::wrk::{ScriptCall, ScriptResults};
use paceline_job::{Content, Job, Nanos};
use paceline_record::{Run, Severity};
use std::time::Duration;

/// What a tool prints before it exits, and its exit status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolOutput {
    /// The text for standard output.
    pub stdout: String,
    /// The text for standard error.
    pub stderr: String,
    /// The exit status.
    pub status: u8,
    /// Files to write, each with its path and its text.
    pub files: Vec<(String, String)>,
    /// A text to append to a file.
    pub log: Option<Box<LogRow>>,
}

/// What is appended to a log of several runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogRow {
    /// The file.
    pub path: String,
    /// The text before the first row, if the file does not exist.
    pub heading: String,
    /// The lines of this run.
    pub text: String,
}

/// The files that a command line names, and the environment: read by the caller.
pub trait ToolInputs {
    /// The text of a file.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn read(&self, path: &str) -> Result<String, String>;

    /// Why a file, which may have any content, cannot be opened.
    fn unreadable(&self, path: &str) -> Option<String> {
        self.read(path).err()
    }

    /// The value of an environment variable.
    fn variable(&self, name: &str) -> Option<String>;
}

/// The file of a job's body, and why it cannot be opened; none if it can, or if there is no such file.
pub(crate) fn unreadable_body(job: &Job, inputs: &dyn ToolInputs) -> Option<(String, String)> {
    let Some(Content::File { file }) = &job.requests.first()?.body else { return None };
    let file = file.to_string_lossy().into_owned();
    inputs.unreadable(&file).map(|why| (file, why))
}

/// The response to a request before the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstResponse {
    /// The value of its `Server` field.
    pub server: String,
    /// The length of its body.
    pub body_bytes: u64,
}

/// The maximum number of single requests that a report lists. hey has the same limit.
pub(crate) const MAX_LISTED: usize = 1_000_000;

/// A request of a run that was answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListedRequest {
    /// When it was sent, since the end of the connect phase.
    pub sent: Nanos,
    /// How long its connection took, if that was made for it alone; otherwise 0.
    pub connect: Nanos,
    /// From its send to the first byte of the response.
    pub first_byte: Nanos,
    /// From its send to the last byte.
    pub service: Nanos,
    /// The status of the response.
    pub status: u16,
}

impl ListedRequest {
    /// The time of the whole, with its connection.
    pub(crate) fn whole(&self) -> Nanos {
        self.connect + self.service
    }
}

/// A parsed command line of a tool.
pub trait ToolCommand {
    /// The job that it describes.
    fn job(&self) -> Job;

    /// The text that is printed before the run.
    fn begin(&self) -> ToolOutput;

    /// Whether one request is sent before the run, for a report that describes a response.
    fn wants_first_response(&self) -> bool {
        false
    }

    /// The time after which the run ends, even if not all requests of the job were sent.
    fn time_limit(&self) -> Option<Duration> {
        None
    }

    /// What the tool prints if it cannot connect to the target at all, with the cause.
    fn unreachable(&self, why: &str, errno: i32) -> ToolOutput;

    /// What the tool prints if the name of the target, or of its proxy, has no address, with the resolver's reason.
    fn unresolved(&self, host: &str, why: &str) -> ToolOutput;

    /// The report of a run.
    fn report(&self, run: &Run, first: Option<&FirstResponse>) -> ToolOutput;

    /// The maximum number of single requests to keep for [`ToolCommand::list`]; 0 if the report lists none.
    fn max_listed(&self) -> usize {
        0
    }

    /// Lists the requests of a run, in the order of their responses, in a report.
    fn list(&self, _: &Run, _requests: Vec<ListedRequest>, _report: &mut ToolOutput) {}

    /// A file for the whole record.
    fn record_file(&self) -> Option<&str>;

    /// The Lua script that makes the requests.
    fn script(&self) -> Option<ScriptCall> {
        None
    }

    /// What that script is given after the run.
    fn script_results(&self, _: &Run) -> ScriptResults {
        ScriptResults::default()
    }
}

impl ToolOutput {
    /// A text for standard output.
    pub(crate) fn of_stdout(stdout: String) -> Self {
        Self { stdout, ..Self::default() }
    }
}

/// The flag of every tool here that the original does not have, with its value; removed from the arguments.
pub(crate) fn take_record_file(arguments: &[String]) -> Result<(Vec<String>, Option<String>), String> {
    const FLAG: &str = "--paceline-record";
    let (mut others, mut file) = (Vec::with_capacity(arguments.len()), None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.strip_prefix(FLAG) {
            Some("") => file = Some(rest.next().ok_or_else(|| format!("{FLAG} needs a file name"))?.clone()),
            Some(value) if value.starts_with('=') => file = Some(value[1..].to_owned()),
            _ => others.push(argument.clone()),
        }
    }
    Ok((others, file))
}

/// A line with the most severe verdict that makes the numbers of a run mean something else than they seem to, and the
/// names of the others.
pub(crate) fn concerns(run: &Run) -> String {
    let mut serious = run.verdicts.iter().filter(|verdict| verdict.severity >= Severity::Caution);
    let Some(first) = serious.next() else { return String::new() };
    let others: Vec<&str> = serious.map(|verdict| verdict.name.as_str()).collect();
    let others = if others.is_empty() { String::new() } else { format!(" Also: {}.", others.join(", ")) };
    format!("paceline: {}: {}{others}\n", first.name, first.remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_flag_is_taken_out() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for line in ["-c 4 --paceline-record a.json url", "-c 4 url --paceline-record=a.json"] {
            let taken = take_record_file(&words(line)).unwrap();
            assert_eq!(taken, (words("-c 4 url"), Some("a.json".to_owned())));
        }
        assert!(take_record_file(&words("url --paceline-record")).is_err());
    }
}
