//! Runs one command of a server under `sh -c` until it ends: with a time limit, interruptible, its output in a bounded
//! log.
//!
//! It runs under a shepherd, so that no process of it survives, however the command or the lab ends. For set-up, build
//! and version commands, and apt-get. `launch` starts a server's run command, which does not end. Failures are not
//! retried.

use crate::{CommandFailure, LabError};
use paceline_host::shepherd::{CommandOutput, Ended, Shepherd, ShepherdOrder, TrackingMethod};
use paceline_host::{InheritedVariables, Interrupt, User};
use paceline_stats::duration_text;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often a running command's end and the interrupt are checked.
const TICK: Duration = Duration::from_millis(50);
/// How long a command has to end after SIGTERM, in milliseconds.
const STOP_LIMIT_MS: u64 = 2_000;
/// How much of a log is kept, at its beginning and at its end.
const LOG_BYTES: u64 = 512 * 1024;
/// How much of standard output is returned; a version is a few lines.
const PRINTED_BYTES: u64 = 16 * 1024;
/// How many lines of a log an error shows.
const TAIL_LINES: usize = 20;

/// One command to run.
pub(crate) struct CommandStep<'a> {
    /// The server's id.
    pub server: &'a str,
    /// The name of the step: "build".
    pub name: &'static str,
    /// The command.
    pub command: CommandWords<'a>,
    /// Where it runs.
    pub folder: &'a Path,
    /// Added to the inherited environment.
    pub environment: BTreeMap<String, String>,
    /// Variables that are inherited beside the known ones.
    pub pass_env: &'a [String],
    /// Where its output goes, replaced if it exists.
    pub log: PathBuf,
    /// Where its standard output goes, if not to the log.
    pub printed: Option<PathBuf>,
    /// How long it may take.
    pub limit: Duration,
    /// The user that it runs as; `None` for the lab's own user.
    pub user: Option<User>,
    /// A file to remove when its last process has ended, even if the lab is killed.
    pub removed_at_end: Option<PathBuf>,
}

/// A command, for a shell or without one.
#[derive(Clone, Copy)]
pub(crate) enum CommandWords<'a> {
    /// A line of a manifest, for `sh -c`.
    Shell(&'a str),
    /// A program and its arguments, run without a shell.
    Program(&'a [&'a str]),
}

impl CommandWords<'_> {
    fn argv(self) -> Vec<String> {
        match self {
            CommandWords::Shell(line) => vec!["sh".into(), "-c".into(), line.into()],
            CommandWords::Program(words) => words.iter().map(|word| (*word).to_owned()).collect(),
        }
    }

    /// The text for messages.
    fn shown(self) -> String {
        match self {
            CommandWords::Shell(line) => line.to_owned(),
            CommandWords::Program(words) => words.join(" "),
        }
    }
}

/// Runs `step` under `shepherd` (the command that starts one) until it succeeds, and returns how long it took. However
/// it ends, no process of it is left.
pub(crate) fn run(
    step: &CommandStep<'_>,
    shepherd: &[String],
    interrupt: Interrupt,
) -> Result<Duration, LabError> {
    let error = |source| LabError::Spawn { command: step.command.shown(), source };
    let begun = Instant::now();
    let mut running = Shepherd::start(shepherd, &order(step)).map_err(error)?;
    let end = wait(step, &mut running, begun, interrupt);
    let elapsed = begun.elapsed();
    // Also ends processes that a successful command left running: a build daemon would use CPU time during a
    // measurement.
    running.stop().map_err(error)?;
    match end {
        WaitEnd::ByItself(Ended { code: Some(0), .. }) => Ok(elapsed),
        WaitEnd::ByItself(ended) if ended.is_unseen() => {
            Err(failure(step, "was interrupted: its supervisor process was killed".into()))
        }
        WaitEnd::ByItself(ended) => Err(failure(step, format!("ended with {ended}"))),
        WaitEnd::Late => {
            Err(failure(step, format!("did not finish within {} and was killed", duration_text(step.limit))))
        }
        WaitEnd::Interrupted => Err(LabError::Interrupted),
    }
}

/// The first `PRINTED_BYTES` of a file that a command printed into.
pub(super) fn printed(path: &Path) -> Result<String, LabError> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(PRINTED_BYTES).read_to_end(&mut bytes))
        .map_err(|source| LabError::File { action: "read", path: path.into(), source })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The whole of a file that a command printed into.
pub(super) fn printed_whole(path: &Path) -> Result<String, LabError> {
    paceline_files::read_text(path, paceline_files::MAX_OUTPUT_BYTES).map_err(|source| LabError::File {
        action: "read",
        path: path.into(),
        source,
    })
}

/// Why the wait is over.
enum WaitEnd {
    ByItself(Ended),
    Late,
    Interrupted,
}

fn order(step: &CommandStep<'_>) -> ShepherdOrder {
    let path = step.log.clone();
    let output = match &step.printed {
        Some(stdout) => CommandOutput::Files { stdout: stdout.clone(), stderr: path },
        None => CommandOutput::Bounded { path, head_bytes: LOG_BYTES, tail_bytes: LOG_BYTES },
    };
    ShepherdOrder {
        command: step.command.argv(),
        folder: step.folder.into(),
        env: step.environment.clone(),
        inherits: InheritedVariables::Making,
        pass_env: step.pass_env.to_vec(),
        cores: Vec::new(),
        output,
        groups: Vec::new(),
        // A package's scripts and a build's tools may expect the system's own process ids.
        guard: TrackingMethod::Subreaper,
        stop_limit_ms: STOP_LIMIT_MS,
        user: step.user.clone(),
        view: None,
        inherit: None,
        restore: Vec::new(),
        restore_note: step.removed_at_end.clone(),
    }
}

fn wait(step: &CommandStep<'_>, running: &mut Shepherd, begun: Instant, interrupt: Interrupt) -> WaitEnd {
    loop {
        if let Some(ended) = running.wait_ended(TICK) {
            return WaitEnd::ByItself(ended);
        }
        if interrupt.requested() {
            return WaitEnd::Interrupted;
        }
        if begun.elapsed() > step.limit {
            return WaitEnd::Late;
        }
    }
}

fn failure(step: &CommandStep<'_>, how: String) -> LabError {
    LabError::Command(Box::new(CommandFailure {
        server: step.server.into(),
        step: step.name,
        how,
        command: step.command.shown(),
        log: step.log.clone(),
        tail: tail(&step.log),
        absent_packages: Vec::new(),
    }))
}

/// The last lines of a log; empty if it cannot be read, since the failure of the command is the error to report.
fn tail(log: &Path) -> String {
    let bytes = paceline_files::tail(log, PRINTED_BYTES).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}
