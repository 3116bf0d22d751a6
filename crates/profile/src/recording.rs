//! Runs `perf`: a recording of some processes, and the reading of its samples.
//!
//! perf attaches to every thread that the processes have and follows those that they create. It samples by the hardware's
//! counter of cycles, or by a timer (`cpu-clock`) on a machine without one: that is its own choice. Stacks are found as
//! the programs need it ([`StackMethod`]).

use crate::ProfileError;
use crate::maps::PlacedMaps;
use crate::script::PerfScript;
use crate::stack_method::StackMethod;
use paceline_record::Profile;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File, Permissions};
use std::io::{self, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Samples per second of CPU time. Not a round number, so that it does not keep in step with timers of the server.
pub const FREQUENCY_HZ: u32 = 499;

/// How long perf may take to write its data after the end of the recording.
const WRITE_LIMIT: Duration = Duration::from_secs(30);
/// How often it is looked whether it has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// The signal that asks perf to end a recording: SIGINT (signal(7)).
const END_SIGNAL: i32 = 2;
/// The longest data of a recording: perf ends it then. Copies of stacks of one busy core need 8 MB a second.
const MAX_DATA: &str = "512M";
/// Bytes of perf's messages that are read.
const MAX_MESSAGES: usize = 64 * 1024;

/// A recording in progress.
#[derive(Debug)]
pub struct Recording {
    perf: Child,
    processes: Vec<i32>,
    folder: TempDir,
    begun: Instant,
    /// When it was asked to end.
    ended: Option<Instant>,
}

impl Recording {
    /// Begins to record processes with all their threads.
    ///
    /// # Errors
    /// [`ProfileError`] if perf is not installed or does not start. Missing rights are only known at the end.
    pub fn start(processes: &[i32]) -> Result<Self, ProfileError> {
        Self::start_up_to(processes, MAX_DATA)
    }

    /// As [`Recording::start`]; perf ends when its data have this size.
    fn start_up_to(processes: &[i32], max_data: &str) -> Result<Self, ProfileError> {
        let folder = private_folder().map_err(ProfileError::Folder)?;
        let pids: Vec<String> = processes.iter().map(i32::to_string).collect();
        let messages = File::create(message_file(&folder)).map_err(ProfileError::Folder)?;
        let mut command = Command::new("perf");
        // Without -N perf copies every program that it meets to ~/.debug.
        let method = StackMethod::for_processes(processes).to_flag();
        command.args(["record", "-q", "-N", "--call-graph", &method, "-F", &FREQUENCY_HZ.to_string()]);
        command.args(["--max-size", max_data]);
        command.arg("-o").arg(data_file(&folder)).args(["-p", &pids.join(",")]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(messages);
        let perf = command.spawn().map_err(not_started)?;
        Ok(Self { perf, processes: processes.to_vec(), folder, begun: Instant::now(), ended: None })
    }

    /// Asks perf to end the recording, and does not wait for it.
    pub fn stop(&mut self) {
        let now = Instant::now();
        if matches!(self.perf.try_wait(), Ok(Some(_))) {
            // It ended by itself: the window was over when its data were written. Its number may be another process' now.
            let written = fs::metadata(data_file(&self.folder)).and_then(|data| data.modified());
            let since = written.ok().and_then(|written| written.elapsed().ok()).unwrap_or_default();
            self.ended.get_or_insert(now.checked_sub(since).unwrap_or(now).max(self.begun));
            return;
        }
        self.ended.get_or_insert(now);
        if let Some(pid) = i32::try_from(self.perf.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::INT);
        }
    }

    /// Ends the recording and adds its samples up. The caller knows the rate of the window.
    ///
    /// # Errors
    /// [`ProfileError`] if perf was not permitted to sample, or took no sample.
    pub fn finish(mut self) -> Result<Profile, ProfileError> {
        self.stop();
        let window_s = self.ended.unwrap_or(self.begun).duration_since(self.begun).as_secs_f64();
        let status = self.wait().map_err(ProfileError::Read)?;
        // A recording that is ended by a signal ends with this signal, after it has written its data.
        let is_complete = status.success() || status.signal() == Some(END_SIGNAL);
        if !is_complete || !data_file(&self.folder).exists() {
            return Err(without_data(status, &message_file(&self.folder)));
        }
        crate::java::write_maps(&self.processes);
        let maps = PlacedMaps::place(&self.processes);
        let script = self.script()?;
        drop(maps);
        if script.stacks.samples() == 0 {
            return Err(ProfileError::NoSamples);
        }
        let mut profile = script.stacks.profile();
        let (event, modifiers) = script.event.split_once(':').unwrap_or((script.event.as_str(), ""));
        if modifiers.contains('u') {
            profile.kernel_share = None;
        }
        profile.event = event.to_owned();
        profile.tool = perf_version()?;
        (profile.frequency_hz, profile.window_s) = (FREQUENCY_HZ, window_s);
        Ok(profile)
    }

    /// Waits for the end of perf, and kills it if it takes too long.
    fn wait(&mut self) -> io::Result<ExitStatus> {
        let begun = Instant::now();
        while begun.elapsed() < WRITE_LIMIT {
            if let Some(status) = self.perf.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        self.perf.kill()?;
        self.perf.wait()
    }

    fn script(&self) -> Result<PerfScript, ProfileError> {
        let messages = File::create(message_file(&self.folder)).map_err(ProfileError::Folder)?;
        let mut perf = Command::new("perf")
            // Without --no-inline perf looks up inlined functions, which takes minutes; without -f it takes no names
            // from a map that the server's user wrote.
            .args(["script", "-f", "--no-inline", "-F", "comm,event,ip,sym,dso", "-i"])
            .arg(data_file(&self.folder))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(messages)
            .spawn()
            .map_err(ProfileError::Start)?;
        let script = match perf.stdout.take() {
            Some(output) => PerfScript::read(BufReader::new(output)),
            None => Ok(PerfScript::default()),
        };
        let status = perf.wait().map_err(ProfileError::Read)?;
        let script = script.map_err(ProfileError::Read)?;
        if !status.success() && script.stacks.samples() == 0 {
            return Err(failure("script", &message_file(&self.folder)));
        }
        Ok(script)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // It has ended unless `finish` was not called.
        if matches!(self.perf.try_wait(), Ok(None)) {
            let _ = self.perf.kill();
            let _ = self.perf.wait();
        }
    }
}

/// Why a recording has no data. The signal ends perf without a message while it does not handle it yet.
fn without_data(status: ExitStatus, messages: &Path) -> ProfileError {
    match status.signal() {
        Some(END_SIGNAL) => ProfileError::NotBegun,
        _ => failure("record", messages),
    }
}

/// What perf says about its failure: the first line of its messages that is not empty.
fn failure(command: &'static str, messages: &Path) -> ProfileError {
    let mut bytes = fs::read(messages).unwrap_or_default();
    bytes.truncate(MAX_MESSAGES);
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines().map(|line| line.trim().trim_start_matches("Error:").trim());
    let message = lines.find(|line| !line.is_empty()).unwrap_or("no message").to_owned();
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    ProfileError::Failed {
        command,
        message,
        paranoid: paranoid.trim().parse().ok(),
        is_root: rustix::process::geteuid().is_root(),
    }
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

/// What perf recorded.
fn data_file(folder: &TempDir) -> PathBuf {
    folder.path().join("perf.data")
}

/// What perf says on its standard error.
fn message_file(folder: &TempDir) -> PathBuf {
    folder.path().join("messages")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time that a process has been on a core.
    fn on_core_ns(pid: u32) -> u64 {
        let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap();
        text.split(' ').next().unwrap().parse().unwrap()
    }

    #[test]
    fn a_busy_process_is_profiled_where_perf_may_do_so() {
        let mut busy =
            Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap();
        let recorded = Recording::start(&[busy.id().cast_signed()]).and_then(|mut recording| {
            while on_core_ns(busy.id()) < 700_000_000 {
                std::thread::yield_now();
            }
            recording.stop();
            recording.finish()
        });
        busy.kill().unwrap();
        busy.wait().unwrap();
        match recorded {
            Ok(profile) => {
                assert!(profile.samples > 0 && !profile.functions.is_empty(), "{profile:?}");
                assert_eq!((profile.calls[0].depth, profile.calls[0].name.as_str()), (0, "sh"));
                assert!(profile.tool.starts_with("perf") && !profile.event.is_empty(), "{profile:?}");
            }
            // A machine without perf, or one that does not permit it: then the error says so.
            Err(error) => assert!(error.hint().is_some(), "{error:?}"),
        }
    }

    #[test]
    fn the_window_of_a_recording_that_is_full_ends_with_its_data() {
        let mut busy =
            Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap();
        let recorded = Recording::start_up_to(&[busy.id().cast_signed()], "64K").and_then(|mut recording| {
            while matches!(recording.perf.try_wait(), Ok(None)) && recording.begun.elapsed() < WRITE_LIMIT {
                std::thread::sleep(LOOK_AGAIN);
            }
            let is_full = matches!(recording.perf.try_wait(), Ok(Some(_)));
            let before = recording.begun.elapsed().as_secs_f64();
            std::thread::sleep(Duration::from_millis(300));
            assert!(is_full, "perf does not end when its data are full");
            recording.finish().map(|profile| (before, profile))
        });
        busy.kill().unwrap();
        busy.wait().unwrap();
        match recorded {
            Ok((before, profile)) => {
                assert!(profile.window_s <= before, "{} of {before} s", profile.window_s)
            }
            Err(error) => assert!(error.hint().is_some(), "{error:?}"),
        }
    }

    #[test]
    fn a_recording_that_ends_before_it_begins_is_no_failure_of_perf() {
        let folder = private_folder().unwrap();
        let messages = message_file(&folder);
        fs::write(&messages, "Error:\nNo permission\n").unwrap();
        let why = |raw| without_data(ExitStatus::from_raw(raw), &messages).to_string();
        assert_eq!(why(END_SIGNAL), "perf had not begun to record when the recording ended");
        assert_eq!(why(1 << 8), "perf record failed: No permission");
    }

    #[test]
    fn the_data_of_a_recording_is_private() {
        let folder = private_folder().unwrap();
        assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
