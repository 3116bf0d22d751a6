//! Everything that can be wrong with what people write for the lab: one enum, each variant with its facts.
//!
//! The binary renders it and turns [`CatalogueError::blame`] into an exit status. Nothing here prints.

use paceline_record::Blame;
use std::path::{Path, PathBuf};

/// Why something of the catalogue cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// A manifest, workload or plan that says something it may not. The parser's own error is folded into
    /// `problem`: rendered beside it in a chain it would say the same thing twice.
    #[error("{}: {problem}", at(path, *line))]
    Document {
        /// The file.
        path: PathBuf,
        /// The line, from 1, where the file has one to blame.
        line: Option<usize>,
        /// What is wrong, and the nearest right thing where there is one.
        problem: String,
    },
    /// Several things that are wrong with one file, at least two.
    #[error("{}", listed(.0))]
    Several(Vec<CatalogueError>),
    /// A file or folder that could not be read or written.
    #[error("cannot {action} {}", path.display())]
    File {
        /// "read", "write", "lock": completes "cannot ...".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Neither a flag, nor the current folder, nor the installation says where the servers are.
    #[error("found no folder `servers`: looked in {} and its parents, then in {}", from.display(), installed.display())]
    NoTree {
        /// Where the search began.
        from: PathBuf,
        /// Where an installation would have them.
        installed: PathBuf,
    },
    /// A name that nothing in the catalogue has.
    #[error("there is no {kind} `{name}`{}", nearest_of(nearest.as_deref()))]
    Unknown {
        /// "server", "workload", "plan", "form".
        kind: &'static str,
        /// The name asked for.
        name: String,
        /// The name that is closest to it.
        nearest: Option<String>,
    },
    /// A plan or ad-hoc flags that cannot be carried out on this catalogue.
    #[error("plan `{plan}`: {problem}")]
    Plan {
        /// The plan's name.
        plan: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
}

impl CatalogueError {
    /// Whose fault it is: the binary's exit status goes by this.
    pub fn blame(&self) -> Blame {
        match self {
            CatalogueError::Document { .. }
            | CatalogueError::Several(_)
            | CatalogueError::NoTree { .. }
            | CatalogueError::Unknown { .. }
            | CatalogueError::Plan { .. } => Blame::User,
            CatalogueError::File { .. } => Blame::Environment,
        }
    }

    /// One error of all of them; none if there is none.
    pub(crate) fn of_all(mut errors: Vec<CatalogueError>) -> Option<Self> {
        match errors.len() {
            0 | 1 => errors.pop(),
            _ => Some(CatalogueError::Several(errors)),
        }
    }

    /// What went well of `results`; what did not is put with `errors`.
    pub(crate) fn keep<T>(
        results: impl IntoIterator<Item = Result<T, CatalogueError>>,
        errors: &mut Vec<CatalogueError>,
    ) -> Vec<T> {
        results.into_iter().filter_map(|result| result.map_err(|error| errors.push(error)).ok()).collect()
    }

    /// The line it blames.
    pub(crate) fn line(&self) -> Option<usize> {
        match self {
            CatalogueError::Document { line, .. } => *line,
            _ => None,
        }
    }

    /// What to do about it, where the message does not say so.
    pub fn hint(&self) -> Option<String> {
        match self {
            CatalogueError::NoTree { .. } => {
                Some("name the folders with --servers-dir and --workloads-dir".into())
            }
            CatalogueError::Unknown { kind: "server", .. } => {
                Some("`paceline lab list` shows every server".into())
            }
            _ => None,
        }
    }
}

/// One a line.
fn listed(errors: &[CatalogueError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn at(path: &Path, line: Option<usize>) -> String {
    match line {
        Some(line) => format!("{}:{line}", path.display()),
        None => path.display().to_string(),
    }
}

fn nearest_of(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; the nearest is `{name}`")).unwrap_or_default()
}
