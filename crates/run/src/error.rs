//! Why a job could not be carried out.

use paceline_engine::EngineError;
use paceline_job::JobError;
use std::error::Error;
use std::fmt;

/// Why a job could not be carried out; the variants say whose fault it is.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The parts of the job contradict each other.
    #[error("the settings of the run are invalid: {0}")]
    Job(#[from] JobError),
    /// Something the job names is wrong: a file, an address, a request.
    #[error("{0}")]
    Usage(RunProblem),
    /// This machine or the network does not allow it.
    #[error("{0}")]
    Environment(RunProblem),
    /// The engine could not run.
    #[error(transparent)]
    Engine(EngineError),
}

/// A problem and its remedy.
#[derive(Debug)]
pub struct RunProblem {
    /// What happened, and where.
    pub what: String,
    /// What to do about it: the remedy as a sentence.
    pub hint: Option<String>,
    /// The cause.
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl fmt::Display for RunProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(source) => write!(f, "{}: {source}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl RunError {
    /// The user's fault.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        RunError::Usage(RunProblem { what: what.into(), hint: None, source: None })
    }

    /// The environment's fault.
    pub(crate) fn environment(what: impl Into<String>) -> Self {
        RunError::Environment(RunProblem { what: what.into(), hint: None, source: None })
    }

    /// Adds the remedy.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let RunError::Usage(problem) | RunError::Environment(problem) = &mut self {
            problem.hint = Some(hint.into());
        }
        self
    }

    /// Adds the cause.
    #[must_use]
    pub(crate) fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        if let RunError::Usage(problem) | RunError::Environment(problem) = &mut self {
            problem.source = Some(source.into());
        }
        self
    }
}
