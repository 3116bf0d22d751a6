//! A process of `perf` that observes other processes until it is asked to end: a recording, or a trace.
//!
//! It has a folder that only this user can read, with its messages and its data, which is removed when it is dropped.

use crate::error::{PerfCommand, PerfLimit, ProfileError};
use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};
use std::convert::Infallible;
use std::fs::{self, File, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long perf may take to write its data after the end of the window.
const WRITE_LIMIT: Duration = Duration::from_secs(30);
/// How often it is looked whether it has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// The signal that asks perf to end: SIGINT (signal(7)).
pub(crate) const END_SIGNAL: i32 = 2;
/// Bytes of perf's messages that are read to say why it failed.
const MAX_MESSAGES: u64 = 64 * 1024;
/// The file with all that perf prints.
pub(crate) const MESSAGES: &str = "messages";

/// A process of perf.
#[derive(Debug)]
pub(crate) struct PerfProcess {
    /// Its first argument.
    command: PerfCommand,
    child: Child,
    /// Keeps the thread that started it.
    _starter: Sender<Infallible>,
    folder: TempDir,
    /// The file with what it observed.
    output: PathBuf,
    begun: Instant,
    /// When it was asked to end.
    asked: Option<Instant>,
    /// When it ended to observe: when it was asked, or earlier if it ended by itself.
    ended: Option<Instant>,
}

impl PerfProcess {
    /// Starts it. What it observes is in the file `output` of its folder, whose path `set_flags` gets.
    ///
    /// # Errors
    /// [`ProfileError`] if perf is not installed or does not start. Missing rights are only known at the end.
    pub(crate) fn start(
        command: PerfCommand,
        output: &str,
        set_flags: impl FnOnce(&mut Command, &Path),
    ) -> Result<Self, ProfileError> {
        let folder = private_folder().map_err(ProfileError::Folder)?;
        let output = folder.path().join(output);
        let messages = File::create(message_file(&folder)).map_err(ProfileError::Folder)?;
        let printed = messages.try_clone().map_err(ProfileError::Folder)?;
        let mut perf = Command::new("perf");
        perf.arg(command);
        set_flags(&mut perf, &output);
        perf.stdin(Stdio::null()).stdout(printed).stderr(messages);
        let (child, starter) = spawn(perf).map_err(not_started)?;
        let begun = Instant::now();
        Ok(Self { command, child, _starter: starter, folder, output, begun, asked: None, ended: None })
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Asks it to end, and does not wait for it.
    pub(crate) fn stop(&mut self) {
        self.stop_after(|_| {});
    }

    /// As [`PerfProcess::stop`]. The window is over now, and perf is asked to end after `last`, which gets its number.
    pub(crate) fn stop_after(&mut self, last: impl FnOnce(u32)) {
        if self.ended.is_some() {
            return;
        }
        let now = Instant::now();
        self.asked = Some(now);
        if self.has_ended() {
            // It ended by itself: the window was over when its output was written. Its number may be another's now.
            let written = fs::metadata(&self.output).and_then(|output| output.modified());
            let since = written.ok().and_then(|written| written.elapsed().ok()).unwrap_or_default();
            self.ended = Some(now.checked_sub(since).unwrap_or(now).max(self.begun));
            return;
        }
        self.ended = Some(now);
        last(self.child.id());
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::INT);
        }
    }

    /// Asks it to end, waits for it, and kills it if it takes too long.
    ///
    /// # Errors
    /// [`ProfileError::Read`] if its end cannot be awaited.
    pub(crate) fn end(&mut self) -> Result<ExitStatus, ProfileError> {
        self.stop();
        self.wait().map_err(ProfileError::Read)
    }

    fn wait(&mut self) -> io::Result<ExitStatus> {
        let begun = Instant::now();
        while begun.elapsed() < WRITE_LIMIT {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            thread::sleep(LOOK_AGAIN);
        }
        self.child.kill()?;
        self.child.wait()
    }

    /// When it was started.
    pub(crate) fn begun(&self) -> Instant {
        self.begun
    }

    /// Time from a moment until it was asked to end, or ended by itself, in seconds.
    pub(crate) fn window_s(&self, from: Instant) -> f64 {
        self.ended.unwrap_or(from).saturating_duration_since(from).as_secs_f64()
    }

    /// The time that it observed after a moment, as times before it was asked to end: of the beginning and of the end.
    pub(crate) fn before_asked(&self, from: Instant) -> [Duration; 2] {
        let asked = self.asked.unwrap_or(from);
        [from, self.ended.unwrap_or(asked)].map(|moment| asked.saturating_duration_since(moment))
    }

    /// The file with what it observed.
    pub(crate) fn output(&self) -> &Path {
        &self.output
    }

    /// The file with its messages.
    pub(crate) fn message_file(&self) -> PathBuf {
        message_file(&self.folder)
    }

    /// Why there is no result, after its end.
    pub(crate) fn without_data(&self, status: ExitStatus) -> ProfileError {
        without_data(self.command, status, &self.message_file())
    }
}

impl Drop for PerfProcess {
    fn drop(&mut self) {
        // It has ended unless `end` was not called.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Starts a command that is killed with this process, however that ends: perf would observe until the server ends.
///
/// The kernel kills it when the thread that started it ends (`PR_SET_PDEATHSIG`, prctl(2)), and the caller's thread may
/// be one of the load, which ends before perf has written its data. So a separate thread starts it, and waits until the
/// returned sender is dropped. A perf with capabilities in its file resets this, and is not killed.
fn spawn(mut command: Command) -> io::Result<(Child, Sender<Infallible>)> {
    // SAFETY: one system call with integers between fork and exec.
    unsafe {
        command.pre_exec(|| set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from));
    }
    let (starter, dropped) = mpsc::channel();
    let (sender, started) = mpsc::channel();
    let start = move || {
        let _ = sender.send(command.spawn());
        // Nothing is ever sent: this is the end of the sender.
        let _ = dropped.recv();
    };
    thread::Builder::new().name("perf".to_owned()).spawn(start)?;
    let child = started.recv().map_err(io::Error::other)??;
    Ok((child, starter))
}

/// Processes as perf wants them after `-p`.
pub(crate) fn pid_list(processes: &[i32]) -> String {
    processes.iter().map(i32::to_string).collect::<Vec<_>>().join(",")
}

/// Why perf left no data. The signal ends perf without a message while it does not handle it yet.
fn without_data(command: PerfCommand, status: ExitStatus, messages: &Path) -> ProfileError {
    match status.signal() {
        Some(END_SIGNAL) => ProfileError::NotBegun,
        _ => failure(command, messages),
    }
}

/// What perf says about its failure: the first line of its messages that is not empty.
pub(crate) fn failure(command: PerfCommand, messages: &Path) -> ProfileError {
    let text = read_text(messages, MAX_MESSAGES);
    let mut lines = text.lines().map(|line| line.trim().trim_start_matches("Error:").trim());
    let message = lines.find(|line| !line.is_empty()).unwrap_or("no message").to_owned();
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    ProfileError::Failed {
        command,
        message,
        paranoid: paranoid.trim().parse().ok(),
        is_root: rustix::process::geteuid().is_root(),
        limit: PerfLimit::from_messages(&text),
    }
}

/// The first bytes of a file that perf wrote, as text; nothing if it cannot be read.
pub(crate) fn read_text(path: &Path, most: u64) -> String {
    let mut bytes = Vec::new();
    // What was read before an error counts.
    let _ = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What perf calls itself: `perf version 6.1.148`.
///
/// # Errors
/// [`ProfileError`] if it is not installed or does not start.
pub fn perf_version() -> Result<String, ProfileError> {
    let output = Command::new("perf").arg("--version").stdin(Stdio::null()).output().map_err(not_started)?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or("perf").trim().to_owned())
}

fn not_started(error: io::Error) -> ProfileError {
    match error.kind() {
        io::ErrorKind::NotFound => ProfileError::NotInstalled,
        _ => ProfileError::Start(error),
    }
}

/// A folder that only this user can read, removed when dropped.
fn private_folder() -> io::Result<TempDir> {
    let only_mine = Permissions::from_mode(0o700);
    tempfile::Builder::new().prefix("paceline-profile-").permissions(only_mine).tempdir()
}

/// All that perf prints.
fn message_file(folder: &TempDir) -> PathBuf {
    folder.path().join(MESSAGES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_that_ends_before_it_begins_is_no_failure_of_perf() {
        let folder = private_folder().unwrap();
        let messages = message_file(&folder);
        fs::write(&messages, "Error:\nNo permission\n").unwrap();
        let why = |raw| without_data(PerfCommand::Record, ExitStatus::from_raw(raw), &messages).to_string();
        assert_eq!(why(END_SIGNAL), "perf had not begun to record when the recording ended");
        assert_eq!(why(1 << 8), "perf record failed: No permission");
    }

    #[test]
    fn a_server_of_many_threads_gets_the_hint_for_the_limit_that_perf_reached() {
        let folder = private_folder().unwrap();
        let hint = |text: &str| {
            fs::write(message_file(&folder), text).unwrap();
            failure(PerfCommand::Record, &message_file(&folder)).hint().unwrap_or_default()
        };
        let files = "Error:\nToo many events are opened.\nProbably the maximum number of open file descriptors has been reached.\n";
        assert!(hint(files).contains("ulimit -n"));
        let memory =
            "Permission error mapping pages.\nConsider increasing /proc/sys/kernel/perf_event_mlock_kb,\n";
        assert!(hint(memory).contains("sysctl kernel.perf_event_mlock_kb"));
        let rights =
            "Error:\nNo permission\nIgnore mlock limit after perf_event_mlock_kb without CAP_IPC_LOCK\n";
        assert!(!hint(rights).contains("perf_event_mlock_kb"), "these are rights");
    }

    #[test]
    fn a_command_outlives_its_caller_and_ends_with_the_thread_that_started_it() {
        let caller = thread::spawn(|| {
            let mut sleep = Command::new("sleep");
            sleep.arg("20");
            spawn(sleep).unwrap()
        });
        let (mut child, starter) = caller.join().unwrap();
        assert_eq!(child.try_wait().unwrap(), None);
        drop(starter);
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::KILL.as_raw()));
        let missing = spawn(Command::new("/no/such/perf")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn the_data_of_a_recording_is_private() {
        let folder = private_folder().unwrap();
        assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
