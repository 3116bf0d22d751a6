//! The lab's side of a shepherd: starts it, reads its reports, closes its pipe.
//!
//! Used by a launch, a step of a set-up or build, a generator's run, and the tuning, which must always be undone. It
//! sends no signal to the command: when it closes the pipe, the shepherd (`supervisor.rs`) stops the command.

use super::{ShepherdOrder, ShepherdReport, TrackingMethod};
use crate::left_over;
use crate::process::ProcessIdentity;
use crate::system::{Pid, ResourceUsage};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

/// Time allowed after the limit of a command: the shepherd kills the remaining processes and writes the log.
const LEAVING_LIMIT: Duration = Duration::from_secs(20);
/// Interval of checks for a second Ctrl-C while a command is stopped.
const INSIST_EVERY: Duration = Duration::from_millis(50);
/// Time allowed for a shepherd to start the command.
const STARTING_LIMIT: Duration = Duration::from_secs(20);

/// How a command's own process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether it had been asked to end.
    pub asked: bool,
}

/// How a command ended, and what its processes used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CommandResult {
    /// How its own process ended, if that was observed.
    pub ended: Option<Ended>,
    /// CPU time and memory of its processes that were waited for: a lower bound.
    pub usage: ResourceUsage,
    /// Whether any process had to be killed by force.
    pub forced: bool,
}

impl Ended {
    /// The value when the shepherd has ended without a report: usually it was killed, and the command with it.
    const UNSEEN: Self = Self { code: None, signal: None, asked: false };

    /// Whether the end was not observed; this does not indicate a fault of the command.
    pub fn is_unseen(&self) -> bool {
        self.code.is_none() && self.signal.is_none()
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit status {code}"),
            (None, Some(signal)) => write!(f, "signal {signal}"),
            (None, None) => f.write_str("an unknown exit status (its supervisor process was lost)"),
        }
    }
}

/// A command under a shepherd. Dropping it stops the command and waits until all its processes have ended.
pub struct Shepherd {
    process: Child,
    /// The write end of the shepherd's standard input: closing it stops the command.
    lifeline: Option<ChildStdin>,
    reports: Receiver<ShepherdReport>,
    stop_limit: Duration,
    command: Pid,
    started_monotonic_ns: u64,
    own: Vec<Pid>,
    guarantee: String,
    is_grouped: bool,
    ended: Option<Ended>,
    gone: Option<CommandResult>,
}

impl Shepherd {
    /// Starts `program` (usually `paceline shepherd`), which starts the order's command.
    ///
    /// # Errors
    /// When the shepherd or the command cannot be started; the text names which and the reason.
    pub fn start(program: &[String], order: &ShepherdOrder) -> io::Result<Shepherd> {
        let mut order = order.clone();
        loop {
            match Self::start_once(program, &order)? {
                Ok(shepherd) => return Ok(shepherd),
                // The namespace could be entered but not used, as on some hardened kernels.
                Err((_, true)) if order.guard == TrackingMethod::Namespace => {
                    order.guard = TrackingMethod::Subreaper
                }
                // The group could be created but not joined, as in some containers. If that was not the cause, the next
                // attempt fails in the same way.
                Err(_) if !order.groups.is_empty() => order.groups.clear(),
                Err((message, _)) => return Err(io::Error::other(message)),
            }
        }
    }

    /// The inner error comes from the shepherd: its message, and whether the tracking caused it.
    fn start_once(program: &[String], order: &ShepherdOrder) -> io::Result<Result<Shepherd, (String, bool)>> {
        let mut process = shepherd_command(program, order.inherit)?.spawn().map_err(|error| {
            io::Error::new(error.kind(), format!("cannot start {}: {error}", program.join(" ")))
        })?;
        let (mut lifeline, stdout) = match (process.stdin.take(), process.stdout.take()) {
            (Some(stdin), Some(stdout)) => (stdin, stdout),
            _ => return Err(io::Error::other("the supervisor process has no pipes")),
        };
        // A shepherd that has already ended reports the reason, so a broken pipe is not the error to show.
        let _ = writeln!(lifeline, "{}", serde_json::to_string(order)?);
        let reports = listen(stdout)?;
        let mut shepherd = Shepherd {
            process,
            lifeline: Some(lifeline),
            reports,
            stop_limit: Duration::from_millis(order.stop_limit_ms),
            command: 0,
            started_monotonic_ns: 0,
            own: Vec::new(),
            guarantee: String::new(),
            is_grouped: !order.groups.is_empty(),
            ended: None,
            gone: None,
        };
        match shepherd.reports.recv_timeout(STARTING_LIMIT) {
            Ok(ShepherdReport::Started { pid, monotonic_ns, own, guarantee }) => {
                (shepherd.command, shepherd.started_monotonic_ns) = (pid, monotonic_ns);
                (shepherd.own, shepherd.guarantee) = (own, guarantee);
                Ok(Ok(shepherd))
            }
            Ok(ShepherdReport::Failed { message, tracker }) => Ok(Err((message, tracker))),
            Ok(ShepherdReport::Ended { .. } | ShepherdReport::Gone { .. }) | Err(_) => {
                Err(io::Error::other(format!("the supervisor process did not answer: {}", program.join(" "))))
            }
        }
    }

    /// The command's own process.
    pub fn command(&self) -> Pid {
        self.command
    }

    /// When the command was forked, on the monotonic clock, in nanoseconds.
    pub fn started_monotonic_ns(&self) -> u64 {
        self.started_monotonic_ns
    }

    /// The shepherd's own process: every process of the command descends from it.
    pub fn process(&self) -> Pid {
        self.process.id().cast_signed()
    }

    /// Processes of the tracker, which do not belong to the command.
    pub fn own(&self) -> &[Pid] {
        &self.own
    }

    /// `pid_namespace` or `subreaper`.
    pub fn guarantee(&self) -> &str {
        &self.guarantee
    }

    /// Whether the command is in the order's control groups. If they cannot be joined, the command is started without
    /// them.
    pub fn is_grouped(&self) -> bool {
        self.is_grouped
    }

    /// How the command's own process ended, if it has. Does not wait.
    pub fn ended(&mut self) -> Option<Ended> {
        loop {
            match self.reports.try_recv() {
                Ok(report) => self.take(report),
                Err(TryRecvError::Empty) => return self.ended,
                Err(TryRecvError::Disconnected) => return Some(self.ended_unheard()),
            }
        }
    }

    /// Waits until the command has ended without being stopped, at most `limit`.
    pub fn wait_ended(&mut self, limit: Duration) -> Option<Ended> {
        while self.ended.is_none() && self.gone.is_none() {
            match self.reports.recv_timeout(limit) {
                Ok(report) => self.take(report),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return Some(self.ended_unheard()),
            }
        }
        self.ended
    }

    /// How the command ended, when no further report can arrive.
    fn ended_unheard(&mut self) -> Ended {
        *self.ended.get_or_insert(Ended::UNSEEN)
    }

    /// After the command's own process has ended: waits until all its processes have ended and its log is complete.
    pub fn settle(&mut self) {
        while self.ended.is_some() && self.gone.is_none() {
            match self.reports.recv_timeout(LEAVING_LIMIT) {
                Ok(report) => self.take(report),
                Err(_) => break,
            }
        }
    }

    /// Stops the command: SIGTERM, then SIGKILL after the order's limit. Waits until all its processes have ended.
    ///
    /// # Errors
    /// When the shepherd does not end: SIGKILL does not end one of the processes.
    pub fn stop(mut self) -> io::Result<CommandResult> {
        self.close_pipe()
    }

    fn close_pipe(&mut self) -> io::Result<CommandResult> {
        drop(self.lifeline.take());
        let deadline = Instant::now() + self.stop_limit + LEAVING_LIMIT;
        while self.gone.is_none() {
            match self.reports.recv_timeout(INSIST_EVERY) {
                Ok(report) => self.take(report),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {
                    if crate::interrupt::requested_twice() {
                        // The shepherd is already stopping: a second signal makes it kill.
                        let _ = crate::system::kill(self.process(), libc::SIGTERM);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    let what = format!("process {} did not end, even after SIGKILL", self.command);
                    return Err(io::Error::new(io::ErrorKind::TimedOut, what));
                }
            }
        }
        let shepherd = ProcessIdentity::from_pid(self.process());
        self.process.wait()?;
        if let (None, Some(shepherd)) = (self.gone, shepherd) {
            // It was killed, and could not end what the command has forked.
            left_over::end_launch(shepherd);
        }
        Ok(self.gone.unwrap_or(CommandResult { ended: self.ended, ..CommandResult::default() }))
    }

    fn take(&mut self, report: ShepherdReport) {
        match report {
            ShepherdReport::Ended { code, signal, asked } => self.ended = Some(Ended { code, signal, asked }),
            ShepherdReport::Gone { user_s, system_s, rss_bytes_peak, forced } => {
                let usage = ResourceUsage { user_s, system_s, rss_bytes_peak };
                self.gone = Some(CommandResult { ended: self.ended, usage, forced });
            }
            ShepherdReport::Started { .. } | ShepherdReport::Failed { .. } => {}
        }
    }
}

impl Drop for Shepherd {
    fn drop(&mut self) {
        // If it is already stopped, there is no wait. Otherwise the shepherd finishes even if this process ends.
        if self.lifeline.is_some() {
            let _ = self.close_pipe();
        }
    }
}

fn shepherd_command(program: &[String], inherit: Option<i32>) -> io::Result<Command> {
    let (first, arguments) = program.split_first().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "the command of the supervisor process is empty")
    })?;
    let mut command = Command::new(first);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    // Ctrl-C in a terminal signals its foreground group: the lab stops servers in order, not the terminal.
    command.process_group(0);
    if let Some(fd) = inherit {
        // SAFETY: one system call between fork and exec.
        unsafe { command.pre_exec(move || crate::system::keep_on_exec(fd)) };
    }
    Ok(command)
}

/// Reads reports until the shepherd ends. A line that is not a report is skipped: the end of the shepherd is then all
/// that is known.
fn listen(stdout: ChildStdout) -> io::Result<Receiver<ShepherdReport>> {
    let (sender, reports) = mpsc::channel();
    std::thread::Builder::new().spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if let Ok(report) = serde_json::from_str(&line)
                && sender.send(report).is_err()
            {
                break;
            }
        }
    })?;
    Ok(reports)
}
