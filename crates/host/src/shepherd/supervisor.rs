//! The shepherd's main loop: starts the command, waits until the command or the lab ends, and leaves no process behind.
//!
//! This is the whole of `paceline shepherd`, in a process of one thread. One poll waits for the pipe from the lab, the
//! command's output, and signals.

use super::descendants::DescendantTracker;
use super::log::BoundedLog;
use super::spawn::{Spawned, is_image, open_groups, spawn};
use super::{CommandOutput, Restore, ShepherdOrder, ShepherdReport, put_setting};
use crate::left_over::LaunchMark;
use crate::system::{self, Pid, WaitResult};
use std::fs::{self, File};
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// Interval at which newly forked processes are killed again; only without a namespace.
const KILL_AGAIN: Duration = Duration::from_millis(10);
/// Bytes read from the log's pipe at once: the pipe's default capacity on Linux.
const LOG_CHUNK: usize = 64 * 1024;
/// poll(2) ignores `-1`.
const NO_DESCRIPTOR: i32 = -1;
/// Why an image is not started without a PID namespace.
const NO_NAMESPACE: &str = "without a PID namespace its processes would see all others, and could end them; remove \
                            --no-namespace, or use a machine whose kernel permits PID namespaces";

/// Reads one order from standard input and carries it out to the end.
///
/// # Errors
/// When the order cannot be read, or the poll itself fails. Failures of the command are reported, not returned.
pub fn watch() -> io::Result<()> {
    system::close_on_exec_from(3)?;
    let mut line = String::new();
    // No further data is sent: after this line only the end of the pipe follows.
    if io::stdin().lock().read_line(&mut line)? == 0 {
        return Ok(());
    }
    let order: ShepherdOrder = serde_json::from_str(&line)?;
    if order.inherit.is_some_and(|fd| !system::is_open(fd)) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the supervisor process was given a descriptor that is not open",
        ));
    }
    let signals = system::signal_descriptor(&[
        libc::SIGCHLD,
        libc::SIGTERM,
        libc::SIGINT,
        libc::SIGHUP,
        libc::SIGPIPE,
    ])?;
    let inherited = order.inherit;
    let started = Supervisor::start(&order, signals);
    if let Some(fd) = inherited {
        // The lab waits for this pipe's end to know that the command no longer uses it, so the shepherd must close it.
        // SAFETY: the descriptor was made for the command and is not used here.
        drop(unsafe { <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(fd) });
    }
    match started {
        Ok(watch) => watch.run(),
        Err(failed) => {
            report(&failed);
            // If the tracking is the cause, the lab starts the command once more, in the same groups.
            if !matches!(failed, ShepherdReport::Failed { tracker: true, .. }) {
                remove_groups(&order);
            }
            Ok(())
        }
    }
}

/// Stage of the command's end.
enum StopStage {
    /// It runs.
    Running,
    /// It was asked to end.
    Stopping(Instant),
    /// All remaining processes are being killed.
    Killing,
}

struct Supervisor<'a> {
    order: &'a ShepherdOrder,
    tracker: DescendantTracker,
    command: Pid,
    signals: OwnedFd,
    printed: Option<File>,
    log: Option<BoundedLog>,
    stage: StopStage,
    asked: bool,
    forced: bool,
}

impl<'a> Supervisor<'a> {
    fn start(order: &'a ShepherdOrder, signals: OwnedFd) -> Result<Self, ShepherdReport> {
        let failed = |what: &str, error: &io::Error, tracker| ShepherdReport::Failed {
            message: format!("{what}: {error}"),
            tracker,
        };
        let groups =
            open_groups(order).map_err(|error| failed("cannot join the control group", &error, false))?;
        let log = match &order.output {
            CommandOutput::Bounded { path, head_bytes, tail_bytes } => {
                let log = BoundedLog::create(path, *head_bytes, *tail_bytes)
                    .map_err(|error| failed(&format!("cannot write {}", path.display()), &error, false))?;
                Some(log)
            }
            _ => None,
        };
        // SAFETY: `paceline shepherd` starts no thread.
        let tracker = unsafe { DescendantTracker::start(order.guard) }
            .map_err(|error| failed("cannot make a PID namespace", &error, true))?;
        if is_image(order) && matches!(tracker, DescendantTracker::Subreaper) {
            return Err(failed("cannot run an image", &io::Error::other(NO_NAMESPACE), false));
        }
        // The kernel ends the processes of a namespace.
        let mark = if matches!(tracker, DescendantTracker::Subreaper) {
            LaunchMark::of_this_process()
        } else {
            None
        };
        let monotonic_ns = system::monotonic_ns();
        let Spawned { child, printed } = spawn(order, groups, mark).map_err(|error| {
            let what = format!("cannot start {} in {}", order.command.join(" "), order.folder.display());
            // Out of memory, or refused: fork fails with ENOMEM in a namespace whose init has ended.
            let tracker = matches!(error.raw_os_error(), Some(libc::ENOMEM));
            failed(&what, &error, tracker)
        })?;
        let printed = printed.map(File::from);
        if let Some(printed) = &printed {
            system::set_nonblocking(printed.as_raw_fd())
                .map_err(|error| failed("cannot read the output of the command", &error, false))?;
        }
        let command = child.id().cast_signed();
        let guarantee = tracker.guarantee().to_owned();
        report(&ShepherdReport::Started { pid: command, monotonic_ns, own: tracker.own(), guarantee });
        let stage = StopStage::Running;
        Ok(Self { order, tracker, command, signals, printed, log, stage, asked: false, forced: false })
    }

    fn run(mut self) -> io::Result<()> {
        loop {
            self.wait()?;
            self.take_log();
            let signalled = self.signalled();
            if signalled && matches!(self.stage, StopStage::Stopping(_)) {
                self.forced = true;
                self.stage = StopStage::Killing;
            }
            if signalled || (matches!(self.stage, StopStage::Running) && pipe_closed()) {
                self.ask_to_end();
            }
            if matches!(self.stage, StopStage::Stopping(deadline) if Instant::now() >= deadline) {
                self.forced = true;
                self.stage = StopStage::Killing;
            }
            if matches!(self.stage, StopStage::Killing) {
                self.tracker.kill_all();
            }
            if !self.reap()? {
                return self.leave();
            }
        }
    }

    /// Sleeps until an event or the next deadline.
    fn wait(&self) -> io::Result<()> {
        let limit = match self.stage {
            StopStage::Running => None,
            StopStage::Stopping(deadline) => Some(deadline.saturating_duration_since(Instant::now())),
            StopStage::Killing => Some(KILL_AGAIN),
        };
        // After the lab has closed its pipe, polling it would return at once every time.
        let lab = if matches!(self.stage, StopStage::Running) { 0 } else { NO_DESCRIPTOR };
        let printed = self.printed.as_ref().map_or(NO_DESCRIPTOR, |printed| printed.as_raw_fd());
        system::poll_readable([lab, printed, self.signals.as_raw_fd()], limit).map(drop)
    }

    /// Reads the command's output into the log; returns whether there was any. If the log cannot be written any more,
    /// it is given up and the command continues.
    fn take_log(&mut self) -> bool {
        let (Some(printed), Some(log)) = (&mut self.printed, &mut self.log) else { return false };
        let mut chunk = [0; LOG_CHUNK];
        match printed.read(&mut chunk) {
            Ok(length) if length > 0 => {
                let _ = log.append(&chunk[..length]);
                return true;
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Ok(_) | Err(_) => self.printed = None,
        }
        false
    }

    /// Whether the shepherd itself received a signal to end. SIGCHLD is handled by waiting.
    fn signalled(&self) -> bool {
        let mut asked = false;
        while let Some(signal) = system::next_signal(self.signals.as_fd()) {
            asked |= matches!(signal, libc::SIGTERM | libc::SIGINT | libc::SIGHUP);
        }
        asked
    }

    /// Sends SIGTERM to every process of the command, once: a shell ignores it while it waits for the server that it
    /// started, and a server may have left the process group.
    fn ask_to_end(&mut self) {
        if !matches!(self.stage, StopStage::Running) {
            return;
        }
        self.asked = true;
        self.tracker.terminate_all();
        self.stage = StopStage::Stopping(Instant::now() + Duration::from_millis(self.order.stop_limit_ms));
    }

    /// Reaps the processes that have ended. `false` when none is left.
    fn reap(&mut self) -> io::Result<bool> {
        loop {
            match system::wait_any()? {
                WaitResult::Ended(pid, status) if pid == self.command => self.command_ended(status),
                WaitResult::Ended(..) => {}
                WaitResult::Running => return Ok(true),
                WaitResult::Childless => return Ok(false),
            }
        }
    }

    /// The command's own process is the server; processes that it leaves behind are killed.
    fn command_ended(&mut self, status: ExitStatus) {
        report(&ShepherdReport::Ended { code: status.code(), signal: status.signal(), asked: self.asked });
        self.stage = StopStage::Killing;
        self.tracker.kill_all();
    }

    fn leave(mut self) -> io::Result<()> {
        while self.take_log() {}
        if let Some(log) = self.log.take() {
            let _ = log.finish();
        }
        remove_groups(self.order);
        restore(self.order);
        let system::ResourceUsage { user_s, system_s, rss_bytes_peak } = system::children_usage();
        report(&ShepherdReport::Gone { user_s, system_s, rss_bytes_peak, forced: self.forced });
        Ok(())
    }
}

/// Whether the lab closed its end of the pipe, or ended.
fn pipe_closed() -> bool {
    match system::poll_readable([0], Some(Duration::ZERO)) {
        Ok([readable]) => {
            readable && io::stdin().lock().read(&mut [0; 64]).map_or(true, |length| length == 0)
        }
        Err(_) => true,
    }
}

/// Writes a report. If the lab has ended, the error is ignored.
fn report(report: &ShepherdReport) {
    if let Ok(line) = serde_json::to_string(report) {
        let mut stdout = io::stdout().lock();
        let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
    }
}

/// Restores the files of the order. The caller checks whether that succeeded; the note is removed when everything is
/// restored.
fn restore(order: &ShepherdOrder) {
    for restore in &order.restore {
        // The check below finds what could not be written.
        let _ = put_setting(&restore.path, &restore.value);
    }
    if let Some(note) = order.restore_note.as_ref().filter(|_| order.restore.iter().all(Restore::is_done)) {
        // It may already be removed.
        let _ = fs::remove_file(note);
    }
}

fn remove_groups(order: &ShepherdOrder) {
    for group in &order.groups {
        // It may already be removed by the lab, or was never created.
        let _ = fs::remove_dir(group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An order that restores `4096` in each of the files, noted in `note`.
    fn order(files: &[std::path::PathBuf], note: &std::path::Path) -> ShepherdOrder {
        let put_back =
            |path: &std::path::PathBuf| Restore { path: path.clone(), value: "4096".into(), instead: None };
        ShepherdOrder {
            restore: files.iter().map(put_back).collect(),
            restore_note: Some(note.to_owned()),
            ..ShepherdOrder::plain(Vec::new(), "/".into(), Duration::ZERO)
        }
    }

    #[test]
    fn the_note_is_removed_when_all_settings_are_restored() {
        let folder = tempfile::tempdir().unwrap();
        let (note, file) = (folder.path().join("tuned.json"), folder.path().join("somaxconn"));
        let nowhere = folder.path().join("no-such-folder/file");
        fs::write(&file, "65535").unwrap();
        fs::write(&note, "[]").unwrap();
        restore(&order(&[file.clone(), nowhere], &note));
        assert!(note.exists() && fs::read(&file).unwrap() == b"4096", "one of the two is not as it was");
        restore(&order(&[file], &note));
        assert!(!note.exists());
    }
}
