//! Exit codes and the one place that renders an error: the chain of causes, then a hint at the remedy.

use std::fmt;
use std::process::ExitCode;

/// How a command ended, beside success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Done.
    Done,
    /// Done, and a check failed: an invalid run, a gate, a validation.
    Failed,
    /// Usage, manifest or plan wrong.
    Usage,
    /// The environment: build, start, port, permission.
    Environment,
    /// Interrupted, with the results so far kept.
    Interrupted,
}

impl Status {
    fn number(self) -> u8 {
        match self {
            Status::Done => 0,
            Status::Failed => 1,
            Status::Usage => 2,
            Status::Environment => 3,
            Status::Interrupted => 130,
        }
    }
}

/// An error with the exit status it stands for and a hint at the remedy. Attach it anywhere in a chain with
/// [`anyhow::Context::context`]; the outermost one counts.
#[derive(Debug)]
pub struct Complaint {
    /// What happened, for people.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The exit status.
    pub status: Status,
}

impl Complaint {
    /// Something wrong in what was asked: flags, a plan, a manifest.
    pub fn usage(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None, status: Status::Usage }
    }

    /// Something wrong in the environment.
    pub fn environment(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None, status: Status::Environment }
    }

    /// Stopped by the user.
    pub fn interrupted(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None, status: Status::Interrupted }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Complaint {}

/// Renders an error on standard error and turns the outcome of a command into an exit code. A broken pipe is a
/// success: whoever read our output had enough.
pub fn code_of(outcome: anyhow::Result<Status>) -> ExitCode {
    let error = match outcome {
        Ok(status) => return ExitCode::from(status.number()),
        Err(error) => error,
    };
    let broken_pipe = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(broken_pipe) {
        return ExitCode::SUCCESS;
    }
    let complaint = error.downcast_ref::<Complaint>();
    render(&error, complaint);
    ExitCode::from(complaint.map_or(Status::Environment, |complaint| complaint.status).number())
}

#[expect(clippy::print_stderr, reason = "the one place that renders an error")]
fn render(error: &anyhow::Error, complaint: Option<&Complaint>) {
    eprintln!("paceline: {}", told(error.as_ref()));
    if let Some(hint) = complaint.and_then(|complaint| complaint.hint.as_deref()) {
        eprintln!("  hint: {hint}");
    }
}

/// An error with its causes, each said once: many an error of a library already ends with its cause.
pub fn told(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.ends_with(&said) {
            text = format!("{text}: {said}");
        }
        next = cause.source();
    }
    text
}

/// Tells a person something beside the result, on standard error.
#[expect(clippy::print_stderr, reason = "the one place that speaks beside the result")]
pub fn say(line: &str) {
    eprintln!("{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_that_was_said_is_not_said_again() {
        let cause = anyhow::anyhow!("code 11").context("malformed: code 11").context("it is damaged");
        assert_eq!(told(cause.as_ref()), "it is damaged: malformed: code 11");
    }
}
