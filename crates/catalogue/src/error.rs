//! Errors in the files and flags that describe servers, workloads and plans: one enum, each variant with its facts.
//!
//! The binary renders it and turns [`CatalogueError::blame`] into an exit status.

use paceline_record::Blame;
use std::path::{Path, PathBuf};

/// Most errors of one file that are listed; the others are counted.
pub(crate) const MAX_ERRORS: usize = 20;

/// Why a part of the catalogue cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// An invalid manifest, workload or plan. The parser's error is part of `problem`: in a chain of sources it would
    /// be printed twice.
    #[error("{}: {problem}", at(path, *line))]
    Document {
        /// The file.
        path: PathBuf,
        /// The line, from 1, if a line is to blame.
        line: Option<usize>,
        /// What is wrong, and the nearest valid value if there is one.
        problem: String,
    },
    /// Several errors in one file, at least two, and the number of those that are not listed.
    #[error("{}", listed(.0, *.1))]
    Several(Vec<CatalogueError>, usize),
    /// A file or folder that could not be read or written.
    #[error("cannot {action} {}", path.display())]
    File {
        /// "read", "write", "lock": completes "cannot ...".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// No servers folder was found: not by flags, nor around the current folder, nor in the installation.
    #[error("no folder `servers` was found: looked in {} and its parents, then in {}", from.display(), installed.display())]
    NoTree {
        /// Where the search began.
        from: PathBuf,
        /// Where an installation would have it.
        installed: PathBuf,
    },
    /// A name that is not in the catalogue.
    #[error("there is no {kind} `{name}`{}", nearest_of(nearest.as_deref()))]
    Unknown {
        /// "server", "workload", "plan", "form".
        kind: &'static str,
        /// The name asked for.
        name: String,
        /// The name that is closest to it.
        nearest: Option<String>,
    },
    /// A plan, or ad-hoc flags, that cannot be carried out on this catalogue.
    #[error("plan `{plan}`: {problem}")]
    Plan {
        /// The plan's name.
        plan: String,
        /// What is wrong, and what would be valid.
        problem: String,
    },
}

impl CatalogueError {
    /// Whose fault it is; it decides the binary's exit status.
    pub fn blame(&self) -> Blame {
        match self {
            CatalogueError::Document { .. }
            | CatalogueError::Several(..)
            | CatalogueError::NoTree { .. }
            | CatalogueError::Unknown { .. }
            | CatalogueError::Plan { .. } => Blame::User,
            CatalogueError::File { .. } => Blame::Environment,
        }
    }

    /// Combines several errors into one; `None` if there are none.
    pub(crate) fn of_all(errors: Vec<CatalogueError>) -> Option<Self> {
        Self::of_each(errors, |error| error)
    }

    /// Combines the errors that `complain` makes of `problems`; `None` if there are none. It is called only for those
    /// that are listed: finding the place of one may parse the file again.
    pub(crate) fn of_each<T>(problems: Vec<T>, complain: impl FnMut(T) -> Self) -> Option<Self> {
        let more = problems.len().saturating_sub(MAX_ERRORS);
        let mut errors: Vec<Self> = problems.into_iter().take(MAX_ERRORS).map(complain).collect();
        match errors.len() {
            0 | 1 => errors.pop(),
            _ => Some(CatalogueError::Several(errors, more)),
        }
    }

    /// Keeps the successful `results`, and adds the errors of the others to `errors`.
    pub(crate) fn keep<T>(
        results: impl IntoIterator<Item = Result<T, CatalogueError>>,
        errors: &mut Vec<CatalogueError>,
    ) -> Vec<T> {
        results.into_iter().filter_map(|result| result.map_err(|error| errors.push(error)).ok()).collect()
    }

    /// The line to blame.
    pub(crate) fn line(&self) -> Option<usize> {
        match self {
            CatalogueError::Document { line, .. } => *line,
            _ => None,
        }
    }

    /// The remedy, if the message does not contain it.
    pub fn hint(&self) -> Option<String> {
        match self {
            CatalogueError::NoTree { .. } => {
                Some("give the folders with --servers-dir and --workloads-dir".into())
            }
            CatalogueError::Unknown { kind: "server", .. } => {
                Some("`paceline lab list` shows every server".into())
            }
            CatalogueError::Unknown { kind: "plan", .. } => {
                Some("give the path of a plan file, or the name of a plan in the plans folder".into())
            }
            _ => None,
        }
    }
}

/// One error per line.
fn listed(errors: &[CatalogueError], more: usize) -> String {
    let more = (more > 0).then(|| format!("and {more} more"));
    errors.iter().map(ToString::to_string).chain(more).collect::<Vec<_>>().join("\n")
}

fn at(path: &Path, line: Option<usize>) -> String {
    match line {
        Some(line) => format!("{}:{line}", path.display()),
        None => path.display().to_string(),
    }
}

fn nearest_of(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}
