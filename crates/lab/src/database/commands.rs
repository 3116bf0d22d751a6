//! The commands of a database's manifest, which run as an unprivileged user in the database's folder.

use super::{folder, items, rows};
use crate::LabError;
use crate::launch::{LaunchError, LaunchSpec, ReadyCondition, RunningServer, Starter};
use crate::provision::{CommandStep, CommandWords, run_command};
use paceline_catalogue::{CoresWanted, Database, Form, Manifest, StopSignal, Variables};
use paceline_record::{DatabaseCounts, Stage};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a command of a database may take; the slowest known one makes a data folder in 5 s.
const COMMAND_LIMIT: Duration = Duration::from_secs(120);
/// The user and group of a database that root starts: `nobody` of Debian's base-passwd, the kernel's overflow id.
const NOBODY: u32 = 65_534;
/// The only form of a database.
const FORM: &str = "single";
/// The rows of `fortune`, as in TechEmpower's tests.
const FORTUNES: &str = include_str!("../../../../databases/fortune.tsv");

/// What a database's commands need to run.
#[derive(Clone)]
pub(super) struct Commands {
    pub database: Arc<Database>,
    pub environment: BTreeMap<String, String>,
    /// Its folder, where commands run.
    pub home: PathBuf,
    /// The folder for the output of commands.
    pub logs: PathBuf,
    pub starter: Starter,
}

impl Commands {
    /// Makes the tables, and the rows that are the same in every launch.
    pub fn make_tables(&self) -> Result<(), LaunchError> {
        if let Some(schema) = &self.database.commands.schema {
            self.run("schema", schema)?;
        }
        if let Some(items) = &self.database.commands.items {
            let path = self.home.join(items::FILE);
            folder::write(&path, &items::rows()).map_err(|error| of_file("write", &path, error))?;
            self.run("items", items)?;
        }
        Ok(())
    }

    pub fn reset(&self, seed: u64) -> Result<(), LaunchError> {
        for (name, rows) in [("world.tsv", rows::world(seed)), ("fortune.tsv", FORTUNES.to_owned())] {
            let path = self.home.join(name);
            folder::write(&path, &rows).map_err(|error| of_file("write", &path, error))?;
        }
        self.run("load", &self.database.commands.load).map(drop)
    }

    pub fn counts(&self) -> Result<DatabaseCounts, LaunchError> {
        let printed = self.run("statistics", &self.database.commands.statistics)?;
        rows::counts(&printed)
            .map_err(|problem| self.fault(&format!("invalid output of its `statistics` command: {problem}")))
    }

    pub fn world(&self) -> Result<BTreeMap<u32, u32>, LaunchError> {
        let printed = self.run("world", &self.database.commands.world)?;
        rows::numbers(&printed)
            .map_err(|problem| self.fault(&format!("invalid output of its `world` command: {problem}")))
    }

    /// Starts the database and waits until it is ready.
    pub fn start(&self, id: &str, cores: &[u32], variables: Variables) -> Result<RunningServer, LaunchError> {
        let is_ready = || self.run("ready", &self.database.commands.ready).is_ok();
        // The database drops root's privileges, independently of the user that servers run as.
        let starter = Starter { user: None, ..self.starter.clone() };
        let started = starter.launch(&LaunchSpec {
            id,
            server: &self.as_server(),
            form: FORM,
            variables,
            image: None,
            cores,
            ready: ReadyCondition::Succeeds(&is_ready),
        });
        started.map_err(|error| about(&self.database, error))
    }

    /// Runs one of its commands and returns the output.
    pub fn run(&self, name: &'static str, line: &str) -> Result<String, LaunchError> {
        let words = unprivileged(&["sh", "-c", line]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let printed = self.logs.join(format!("{name}.out"));
        let step = CommandStep {
            user: None,
            server: &self.database.id,
            name,
            command: CommandWords::Program(&words),
            folder: &self.home,
            environment: self.environment.clone(),
            pass_env: &[],
            log: self.logs.join(format!("{name}.log")),
            printed: Some(printed.clone()),
            limit: COMMAND_LIMIT,
            removed_at_end: None,
        };
        match run_command(&step, &self.starter.shepherd, self.starter.interrupt) {
            Ok(_) => {}
            Err(LabError::Command(failure)) => {
                let tail = failure.tail.trim().to_owned();
                let reported = tail.lines().last().map(|line| format!(": {line}")).unwrap_or_default();
                return Err(match self.fault(&format!("{name} {}{reported}", failure.how)) {
                    LaunchError::Fault { fault, .. } => LaunchError::Fault { fault, log_tail: tail },
                    LaunchError::Interrupted => LaunchError::Interrupted,
                });
            }
            Err(error) => return Err(error.into()),
        }
        paceline_files::read_text(&printed, paceline_files::MAX_OUTPUT_BYTES)
            .map_err(|error| of_file("read", &printed, error))
    }

    fn fault(&self, what: &str) -> LaunchError {
        LaunchError::fault(Stage::Start, format!("the database {}: {what}", self.database.id), false)
    }

    /// The database as a manifest to launch, in its own folder.
    pub fn as_server(&self) -> Manifest {
        let start = match self.database.stop_signal {
            StopSignal::Term => self.database.commands.start.clone(),
            StopSignal::Int => format!(
                "({}) & pid=$!\ntrap 'kill -INT $pid' TERM\nwait $pid\nwait $pid",
                self.database.commands.start.trim()
            ),
        };
        // A dollar sign in a value would be read as a variable.
        let env = self.environment.iter().map(|(name, value)| (name.clone(), value.replace('$', "$$")));
        let mut env: BTreeMap<String, String> = env.collect();
        env.insert("DATABASE_START".to_owned(), start.replace('$', "$$"));
        let words = unprivileged(&["sh", "-c"]).join(" ");
        let form =
            Form { command: format!("exec {words} \"$DATABASE_START\""), env, cores: CoresWanted::One };
        let mut server = self.database.as_server();
        server.folder.clone_from(&self.home);
        server.forms = BTreeMap::from([(FORM.to_owned(), form)]);
        server
    }

    /// Copies the contents of one folder to another, with owners and modes; blocks are shared if the file system
    /// supports it.
    pub fn copy(&self, from: &Path, to: &Path) -> Result<(), LaunchError> {
        let words = ["cp", "-a", "--reflink=auto", "-T"].map(str::to_owned);
        let paths = [from, to].map(|path| path.to_string_lossy().into_owned());
        let words: Vec<&str> = words.iter().chain(&paths).map(String::as_str).collect();
        let step = CommandStep {
            user: None,
            server: &self.database.id,
            name: "copy",
            command: CommandWords::Program(&words),
            folder: Path::new("/"),
            environment: BTreeMap::new(),
            pass_env: &[],
            log: self.logs.join("copy.log"),
            printed: None,
            limit: COMMAND_LIMIT,
            removed_at_end: None,
        };
        let copied = run_command(&step, &self.starter.shepherd, self.starter.interrupt);
        copied.map(drop).map_err(|error| not_copied(to, error))
    }
}

/// Why files were not copied to a folder. An interrupt is no fault of the database.
fn not_copied(to: &Path, error: LabError) -> LaunchError {
    let why = match error {
        LabError::Interrupted => return LaunchError::Interrupted,
        LabError::Command(failure) => failure.tail.trim().to_owned(),
        error => error.to_string(),
    };
    of_file("copy the prepared database files to", to, io::Error::other(why))
}

/// The user id that a database runs as, if that is not the lab's own user.
pub(super) fn run_as() -> Option<u32> {
    rustix::process::geteuid().is_root().then_some(NOBODY)
}

/// A command that runs without privileges. `setpriv` belongs to util-linux, which every Debian has.
fn unprivileged(words: &[&str]) -> Vec<String> {
    let drop: Vec<String> = match run_as() {
        Some(user) => vec![
            "setpriv".into(),
            format!("--reuid={user}"),
            format!("--regid={user}"),
            "--clear-groups".into(),
        ],
        None => Vec::new(),
    };
    drop.into_iter().chain(words.iter().map(|word| (*word).to_owned())).collect()
}

/// Adds to a fault that it happened to a database.
fn about(database: &Database, error: LaunchError) -> LaunchError {
    match error {
        LaunchError::Fault { mut fault, log_tail } => {
            fault.message = format!("the database {}: {}", database.id, fault.message);
            LaunchError::Fault { fault, log_tail }
        }
        LaunchError::Interrupted => LaunchError::Interrupted,
    }
}

pub(super) fn of_file(action: &str, path: &Path, error: io::Error) -> LaunchError {
    LaunchError::fault(Stage::Start, format!("cannot {action} {}: {error}", path.display()), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_copy_is_no_fault() {
        let not_copied = |error| not_copied(Path::new("/data"), error);
        assert_eq!(not_copied(LabError::Interrupted), LaunchError::Interrupted);
        let denied = LabError::Spawn { command: "cp".to_owned(), source: io::ErrorKind::NotFound.into() };
        assert!(matches!(not_copied(denied), LaunchError::Fault { .. }));
    }
}
