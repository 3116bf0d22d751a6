//! Runs `perf record`: a recording of some processes, and the reading of its samples.
//!
//! perf attaches to every thread that the processes have and follows those that they create. It samples by the hardware's
//! counter of cycles, or by a timer (`cpu-clock`) on a machine without one: that is its own choice. Stacks are found as
//! the programs need it ([`StackMethod`]).

use crate::error::{PerfCommand, ProfileError};
use crate::maps::PlacedMaps;
use crate::perf::{END_SIGNAL, PerfProcess, failure, perf_version, pid_list};
use crate::script::PerfScript;
use crate::stack_method::StackMethod;
use paceline_record::Profile;
use std::fs::File;
use std::io::BufReader;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

/// Samples per second of CPU time. Not a round number, so that it does not keep in step with timers of the server.
pub const FREQUENCY_HZ: u32 = 499;

/// The longest data of a recording: perf ends it then. Copies of stacks of one busy core need 8 MB a second.
const MAX_DATA: &str = "512M";

/// A recording in progress.
#[derive(Debug)]
pub struct Recording {
    perf: PerfProcess,
    processes: Vec<i32>,
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
        let perf = PerfProcess::start(PerfCommand::Record, "perf.data", |command, data| {
            // Without -N perf copies every program that it meets to ~/.debug.
            let method = StackMethod::for_processes(processes).to_flag();
            command.args(["-q", "-N", "--call-graph", &method, "-F", &FREQUENCY_HZ.to_string()]);
            command.args(["--max-size", max_data]).arg("-o").arg(data).args(["-p", &pid_list(processes)]);
        })?;
        Ok(Self { perf, processes: processes.to_vec() })
    }

    /// Asks perf to end the recording, and does not wait for it.
    pub fn stop(&mut self) {
        self.perf.stop();
    }

    /// Ends the recording and adds its samples up. The caller knows the rate of the window. `number_inside` gives the
    /// number of a process in its own PID namespace, after which runtimes name the maps of their functions.
    ///
    /// # Errors
    /// [`ProfileError`] if perf was not permitted to sample, or took no sample.
    pub fn finish(mut self, number_inside: impl Fn(i32) -> Option<i32>) -> Result<Profile, ProfileError> {
        let status = self.perf.end()?;
        let window_s = self.perf.window_s(self.perf.begun());
        // A recording that is ended by a signal ends with this signal, after it has written its data.
        let is_complete = status.success() || status.signal() == Some(END_SIGNAL);
        if !is_complete || !self.perf.output().exists() {
            return Err(self.perf.without_data(status));
        }
        crate::java::write_maps(&self.processes);
        let maps = PlacedMaps::place(&self.processes, number_inside);
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

    fn script(&self) -> Result<PerfScript, ProfileError> {
        let messages = File::create(self.perf.message_file()).map_err(ProfileError::Folder)?;
        let mut perf = Command::new("perf")
            // Without --no-inline perf looks up inlined functions, which takes minutes; without -f it takes no names
            // from a map that the server's user wrote.
            .args(["script", "-f", "--no-inline", "-F", "comm,event,ip,sym,dso", "-i"])
            .arg(self.perf.output())
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
            return Err(failure(PerfCommand::Script, &self.perf.message_file()));
        }
        Ok(script)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Child;
    use std::time::{Duration, Instant};

    /// A shell that uses a core until it is dropped, also by a failing assertion.
    struct BusyShell(Child);

    impl BusyShell {
        fn start() -> Self {
            let mut shell = Command::new("sh");
            Self(shell.args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap())
        }

        fn pid(&self) -> i32 {
            self.0.id().cast_signed()
        }

        /// Time that it has been on a core.
        fn on_core_ns(&self) -> u64 {
            let text = fs::read_to_string(format!("/proc/{}/schedstat", self.pid())).unwrap();
            text.split(' ').next().unwrap().parse().unwrap()
        }
    }

    impl Drop for BusyShell {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_busy_process_is_profiled_where_perf_may_do_so() {
        let busy = BusyShell::start();
        let recorded = Recording::start(&[busy.pid()]).and_then(|mut recording| {
            while busy.on_core_ns() < 700_000_000 {
                std::thread::yield_now();
            }
            recording.stop();
            recording.finish(Some)
        });
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
        let busy = BusyShell::start();
        let recorded = Recording::start_up_to(&[busy.pid()], "64K").and_then(|mut recording| {
            let begun = recording.perf.begun();
            let limit = Instant::now() + Duration::from_secs(30);
            while !recording.perf.has_ended() && Instant::now() < limit {
                std::thread::sleep(Duration::from_millis(20));
            }
            let is_full = recording.perf.has_ended();
            let before = begun.elapsed().as_secs_f64();
            std::thread::sleep(Duration::from_millis(300));
            assert!(is_full, "perf does not end when its data are full");
            recording.finish(Some).map(|profile| (before, profile))
        });
        match recorded {
            Ok((before, profile)) => {
                assert!(profile.window_s <= before, "{} of {before} s", profile.window_s)
            }
            Err(error) => assert!(error.hint().is_some(), "{error:?}"),
        }
    }
}
