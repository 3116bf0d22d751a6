//! The lab's end of a shepherd: starts it, hears its reports, lets go of it.
//!
//! Held by a launch, a step of the workshop, a generator's run, and the tuning that must be undone whatever comes. It
//! signals no process of the command: to let go of the pipe is enough, the other end (`watch`) does the rest.

use super::{Guard, Order, Report};
use crate::system::{Pid, Usage};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

/// How long a shepherd may take beyond the limit it was given: to kill what is left and to write the log.
const LEAVING_LIMIT: Duration = Duration::from_secs(20);
/// How often, while a command is stopped, a person's second Ctrl-C is looked for.
const INSIST_EVERY: Duration = Duration::from_millis(50);
/// How long a shepherd may take to start the command.
const STARTING_LIMIT: Duration = Duration::from_secs(20);

/// How a command's own process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether it had been asked to.
    pub asked: bool,
}

/// What a command leaves behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gone {
    /// How its own process ended, where that was seen.
    pub ended: Option<Ended>,
    /// What its processes that were waited for have used: a lower bound.
    pub usage: Usage,
    /// Whether anything had to be killed by force.
    pub forced: bool,
}

impl Ended {
    /// As it stands when its shepherd is gone without a report of it: killed, as a rule, and the command with it.
    const UNSEEN: Self = Self { code: None, signal: None, asked: false };

    /// Whether nobody saw how it ended, which says nothing of the command itself.
    pub fn is_unseen(&self) -> bool {
        self.code.is_none() && self.signal.is_none()
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit status {code}"),
            (None, Some(signal)) => write!(f, "signal {signal}"),
            (None, None) => f.write_str("no exit status (its shepherd was lost)"),
        }
    }
}

/// A command under a shepherd. Dropping it stops the command and waits until nothing is left.
pub struct Shepherd {
    process: Child,
    /// The shepherd reads its end as the lab's: closing it stops everything.
    lifeline: Option<ChildStdin>,
    reports: Receiver<Report>,
    stop_limit: Duration,
    command: Pid,
    started_monotonic_ns: u64,
    own: Vec<Pid>,
    guarantee: String,
    is_grouped: bool,
    ended: Option<Ended>,
    gone: Option<Gone>,
}

impl Shepherd {
    /// Starts `program` (as a rule `paceline shepherd`) and has it start the order's command.
    ///
    /// # Errors
    /// When the shepherd or the command cannot be started; the text says which and why.
    pub fn start(program: &[String], order: &Order) -> io::Result<Shepherd> {
        let mut order = order.clone();
        loop {
            match Self::start_once(program, &order)? {
                Ok(shepherd) => return Ok(shepherd),
                // A namespace that could be entered but not used, as some hardened kernels have it.
                Err((_, true)) if order.guard == Guard::Namespace => order.guard = Guard::Subreaper,
                // A group that could be made but not joined, as some containers have it. Should it not be to blame, the
                // next try fails as this one did.
                Err(_) if !order.groups.is_empty() => order.groups.clear(),
                Err((message, _)) => return Err(io::Error::other(message)),
            }
        }
    }

    /// The inner error is the shepherd's own: its message, and whether the fence is to blame.
    fn start_once(program: &[String], order: &Order) -> io::Result<Result<Shepherd, (String, bool)>> {
        let mut process = shepherd_command(program, order.inherit)?.spawn().map_err(|error| {
            io::Error::new(error.kind(), format!("cannot start {}: {error}", program.join(" ")))
        })?;
        let (mut lifeline, stdout) = match (process.stdin.take(), process.stdout.take()) {
            (Some(stdin), Some(stdout)) => (stdin, stdout),
            _ => return Err(io::Error::other("the shepherd has no pipes")),
        };
        // A shepherd that is gone already says why in its reports, so that a broken pipe is not the error to show.
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
            Ok(Report::Started { pid, monotonic_ns, own, guarantee }) => {
                (shepherd.command, shepherd.started_monotonic_ns) = (pid, monotonic_ns);
                (shepherd.own, shepherd.guarantee) = (own, guarantee);
                Ok(Ok(shepherd))
            }
            Ok(Report::Failed { message, fence }) => Ok(Err((message, fence))),
            Ok(Report::Ended { .. } | Report::Gone { .. }) | Err(_) => {
                Err(io::Error::other(format!("{} did not answer", program.join(" "))))
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

    /// Processes of the fence, which are not the command's.
    pub fn own(&self) -> &[Pid] {
        &self.own
    }

    /// `pid_namespace` or `subreaper`.
    pub fn guarantee(&self) -> &str {
        &self.guarantee
    }

    /// Whether the command is in the order's control groups. Where they cannot be joined it is started without.
    pub fn is_grouped(&self) -> bool {
        self.is_grouped
    }

    /// How the command's own process ended, as far as is known now. Does not wait.
    pub fn ended(&mut self) -> Option<Ended> {
        loop {
            match self.reports.try_recv() {
                Ok(report) => self.take(report),
                Err(TryRecvError::Empty) => return self.ended,
                Err(TryRecvError::Disconnected) => return Some(self.ended_unheard()),
            }
        }
    }

    /// Waits until the command has ended on its own, at most `limit`.
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

    /// How it ended, when no report will come any more.
    fn ended_unheard(&mut self) -> Ended {
        *self.ended.get_or_insert(Ended::UNSEEN)
    }

    /// Once the command's own process has ended: waits until nothing is left of it and its log is complete.
    pub fn settle(&mut self) {
        while self.ended.is_some() && self.gone.is_none() {
            match self.reports.recv_timeout(LEAVING_LIMIT) {
                Ok(report) => self.take(report),
                Err(_) => break,
            }
        }
    }

    /// Stops the command: SIGTERM, the order's limit, then by force. Waits until nothing is left.
    ///
    /// # Errors
    /// When the shepherd does not come to its end: a process that even SIGKILL does not end.
    pub fn stop(mut self) -> io::Result<Gone> {
        self.let_go()
    }

    fn let_go(&mut self) -> io::Result<Gone> {
        drop(self.lifeline.take());
        let deadline = Instant::now() + self.stop_limit + LEAVING_LIMIT;
        while self.gone.is_none() {
            match self.reports.recv_timeout(INSIST_EVERY) {
                Ok(report) => self.take(report),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {
                    if crate::interrupt::insisted() {
                        // It is stopping already: asked again, it kills.
                        let _ = crate::system::kill(self.process(), libc::SIGTERM);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    let what = format!("process {} does not end, even by SIGKILL", self.command);
                    return Err(io::Error::new(io::ErrorKind::TimedOut, what));
                }
            }
        }
        self.process.wait()?;
        Ok(self.gone.unwrap_or(Gone { ended: self.ended, ..Gone::default() }))
    }

    fn take(&mut self, report: Report) {
        match report {
            Report::Ended { code, signal, asked } => self.ended = Some(Ended { code, signal, asked }),
            Report::Gone { user_s, system_s, rss_bytes_peak, forced } => {
                let usage = Usage { user_s, system_s, rss_bytes_peak };
                self.gone = Some(Gone { ended: self.ended, usage, forced });
            }
            Report::Started { .. } | Report::Failed { .. } => {}
        }
    }
}

impl Drop for Shepherd {
    fn drop(&mut self) {
        // Stopped already: nothing to wait for. Else the shepherd finishes on its own, whatever happens to us.
        if self.lifeline.is_some() {
            let _ = self.let_go();
        }
    }
}

fn shepherd_command(program: &[String], inherit: Option<i32>) -> io::Result<Command> {
    let (first, arguments) = program.split_first().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "no command for the shepherd was given")
    })?;
    let mut command = Command::new(first);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    // Ctrl-C in a terminal goes to its foreground group: the lab stops servers in order, not the terminal.
    command.process_group(0);
    if let Some(fd) = inherit {
        // SAFETY: one system call between fork and exec.
        unsafe { command.pre_exec(move || crate::system::keep_on_exec(fd)) };
    }
    Ok(command)
}

/// Reads reports until the shepherd ends. A line that is none is left out: the end then tells all there is to tell.
fn listen(stdout: ChildStdout) -> io::Result<Receiver<Report>> {
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
