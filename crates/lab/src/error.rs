//! Errors of the lab: one enum, each variant with its facts and whose fault it is.
//!
//! The binary renders it and turns [`LabError::blame`] into an exit status.

use paceline_catalogue::CatalogueError;
use paceline_escape::shell_word;
use paceline_host::UserError;
use paceline_record::{Blame, Fault, Stage};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The cause that ended an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LaunchError {
    /// Ctrl-C.
    Interrupted,
    /// A fault to record.
    Fault {
        /// What went wrong, and at which stage.
        fault: Fault,
        /// The end of the server's output.
        log_tail: String,
    },
}

impl LaunchError {
    /// A fault without a log.
    pub fn fault(stage: Stage, message: impl Into<String>, transient: bool) -> Self {
        Self::Fault { fault: Fault { stage, message: message.into(), transient }, log_tail: String::new() }
    }
}

impl From<LabError> for LaunchError {
    /// A problem before the start.
    fn from(error: LabError) -> Self {
        match error {
            LabError::Interrupted => LaunchError::Interrupted,
            error => {
                let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                LaunchError::fault(Stage::Setup, format!("{error}{hint}"), false)
            }
        }
    }
}

/// Why the lab could not do what was requested.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// An error in a manifest, workload or plan.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
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
    /// Programs are missing or the private environment was never fetched.
    #[error("{server} is not set up: {missing}")]
    NotSetUp {
        /// The server's id.
        server: String,
        /// What is missing, in words.
        missing: String,
    },
    /// A container whose content the user has not accepted.
    #[error("{server} is a container, and building it runs the code in {} with access to the network; {about}", folder.display())]
    Untrusted {
        /// The server's id.
        server: String,
        /// The folder that the engine gets.
        folder: PathBuf,
        /// What the build downloads and runs, and the rights that the server asks for.
        about: String,
    },
    /// A container that cannot be built or run here.
    #[error("{problem}")]
    Container {
        /// What is wrong.
        problem: String,
        /// What to do.
        remedy: Option<String>,
    },
    /// The commands of servers cannot run as the requested user.
    #[error(transparent)]
    User(#[from] UserError),
    /// The build in use could not be copied.
    #[error("cannot copy the existing build before building again; nothing was changed\n{failure}")]
    Copy {
        /// The failure of the copy.
        failure: Box<CommandFailure>,
        /// What to do, with the command.
        remedy: String,
    },
    /// A build folder, or something in it, is another user's.
    #[error("{} {problem}", path.display())]
    Owner {
        /// The file or folder.
        path: PathBuf,
        /// The owner, and what follows from it.
        problem: String,
        /// What to do, with the command.
        remedy: String,
    },
    /// Packages are missing and only root may install them.
    #[error("packages are missing, and only root can install them; run: {command}")]
    PackagesMissing {
        /// The exact command to run.
        command: String,
    },
    /// A command of a manifest, or a set-up step, failed.
    #[error(transparent)]
    Command(Box<CommandFailure>),
    /// A version command that printed nothing: no version, no measurement.
    #[error(
        "{server}: the version command in its manifest printed nothing, but a measurement needs a version; the command is: {command}"
    )]
    NoVersion {
        /// The server's id.
        server: String,
        /// The command.
        command: String,
    },
    /// A tool that did not report its version: it could not be started, took too long or was ended.
    #[error("the manifest's version command `{command}` failed: {problem}")]
    ToolVersion {
        /// The command.
        command: String,
        /// What happened to it.
        problem: String,
    },
    /// A generator's command that is not supported, or reports no version.
    #[error("generator: {problem}")]
    Generator {
        /// What is wrong, and what would be valid.
        problem: String,
    },
    /// A program could not be started.
    #[error("cannot start `{command}`")]
    Spawn {
        /// The command.
        command: String,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// A git command that failed.
    #[error("`{command}` failed: {problem}")]
    Git {
        /// The command.
        command: String,
        /// What git printed.
        problem: String,
    },
    /// A name that is not a revision of the repository.
    #[error("there is no revision `{name}` in this repository")]
    UnknownRevision {
        /// The name.
        name: String,
        /// Whether the repository has only a part of its history.
        is_shallow: bool,
    },
    /// Something that only one process at a time may use.
    #[error("{what} is in use by {holder}")]
    Busy {
        /// What.
        what: &'static str,
        /// The process that has it.
        holder: String,
    },
    /// A trial or round that could not be kept.
    #[error("cannot store the results")]
    Keep {
        /// The store's error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Ctrl-C or a termination signal; everything started has been ended.
    #[error("interrupted")]
    Interrupted,
}

/// A command that failed, with the end of its output.
#[derive(Debug, thiserror::Error)]
#[error("{server}: {step} {how}\n  command: {command}\n  log: {}{}", log.display(), tail_of(tail))]
pub struct CommandFailure {
    /// The server's id.
    pub server: String,
    /// "setup", "build", "version", "install".
    pub step: &'static str,
    /// "ended with exit status 2", "was not done within 1200 s".
    pub how: String,
    /// The command.
    pub command: String,
    /// The file with all its output.
    pub log: PathBuf,
    /// The end of its output.
    pub tail: String,
    /// Packages of its manifest that are not installed: often the cause of the failure, seldom named in the output.
    pub absent_packages: Vec<String>,
}

impl LabError {
    /// Whose fault it is; it decides the binary's exit status.
    pub fn blame(&self) -> Blame {
        match self {
            LabError::Catalogue(error) => error.blame(),
            LabError::Generator { .. } | LabError::Interrupted | LabError::User(_) => Blame::User,
            LabError::UnknownRevision { .. } | LabError::Git { .. } => Blame::User,
            LabError::Command(_) | LabError::NoVersion { .. } => Blame::Server,
            LabError::File { .. }
            | LabError::Keep { .. }
            | LabError::NotSetUp { .. }
            | LabError::Untrusted { .. }
            | LabError::Container { .. }
            | LabError::Owner { .. }
            | LabError::Copy { .. }
            | LabError::PackagesMissing { .. }
            | LabError::ToolVersion { .. }
            | LabError::Busy { .. }
            | LabError::Spawn { .. } => Blame::Environment,
        }
    }

    /// The remedy, if the message does not contain it.
    pub fn hint(&self) -> Option<String> {
        match self {
            LabError::Command(failure) if !failure.absent_packages.is_empty() => Some(format!(
                "packages listed in the manifest are not installed: sudo apt-get install {}",
                failure.absent_packages.join(" ")
            )),
            LabError::File { path, source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
                paceline_host::owner_remedy(path)
            }
            LabError::Owner { remedy, .. } | LabError::Copy { remedy, .. } => Some(remedy.clone()),
            LabError::NoVersion { .. } => {
                Some("change `version` in server.toml to a command that prints a version".to_owned())
            }
            LabError::Untrusted { server, folder, .. } => Some(format!(
                "if you trust it, build it with: paceline lab build {server} --trust {}",
                shell_word(&folder.to_string_lossy())
            )),
            LabError::Container { remedy, .. } => remedy.clone(),
            LabError::NotSetUp { server, .. } => Some(format!("set it up with: paceline lab setup {server}")),
            LabError::Catalogue(error) => error.hint(),
            LabError::UnknownRevision { name, is_shallow } => Some(fetch_hint(name, *is_shallow)),
            _ => None,
        }
    }
}

/// How a revision gets into a checkout that does not have it. A clone of one branch stores no other branch unless the
/// command says where.
fn fetch_hint(name: &str, is_shallow: bool) -> String {
    let branch = name.strip_prefix("origin/").unwrap_or(name);
    let fetch = format!("`git fetch origin {branch}:refs/remotes/origin/{branch}`");
    match is_shallow {
        true => format!(
            "the checkout has only a part of the history: fetch the rest (`git fetch --unshallow origin`, or \
             `fetch-depth: 0` of actions/checkout) or the branch ({fetch})"
        ),
        false => format!(
            "list the branches with `git branch --all`; a branch of the server is origin/{branch} ({fetch} fetches it)"
        ),
    }
}

fn tail_of(tail: &str) -> String {
    let lines: String = tail.lines().map(|line| format!("\n  | {line}")).collect();
    if lines.is_empty() { "\n  it printed nothing".into() } else { lines }
}
