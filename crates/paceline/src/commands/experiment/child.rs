//! One load as a child process: runs `paceline run URL --format json`, then reads and keeps its record.
//!
//! If the server's processes run on this machine and leave cores free, the child runs on those.

use super::listener::server_cores;
use super::settled_cores::SettledCores;
use crate::commands::run::duration;
use paceline_experiment::{LoadError, LoadRequest, LoadResult, LoadRunner, Objective};
use paceline_host::process::ProcessIdentity;
use paceline_host::{Interrupt, system};
use paceline_lab::MAX_PLACED_LOAD;
use paceline_record::{Pinning, Run};
use rustix::process::Signal;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::rc::Rc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

/// The longest record that is read: far more than a run of hours writes.
pub const MAX_RECORD_BYTES: u64 = 1 << 28;

/// Flags of the load that all experiments share.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Load")]
pub struct LoadFlags {
    /// Number of connections [default: 64]
    ///
    /// With `gate --base` the default is 32.
    #[arg(short, long, value_name = "N")]
    pub(super) connections: Option<u32>,
    /// Threads of the load generator [default: 1]
    #[arg(hide_short_help = true, short, long, value_name = "N")]
    threads: Option<u32>,
    /// Warm-up before each window [default: 1s]
    #[arg(long, value_name = "T", value_parser = duration)]
    pub(super) warmup: Option<Duration>,
    /// Longest wait for a steady rate at the start [default: 60s]
    ///
    /// 0s does not wait. A server counts as warm when its rate in the last 4 s is at most 5 % higher than in the 4 s before.
    #[arg(hide_short_help = true, long, value_name = "T", value_parser = duration)]
    warm_limit: Option<Duration>,
    /// Path to request, for servers of the lab [default: /hello]
    ///
    /// With `gate --base` the default is /.
    #[arg(long, value_name = "PATH")]
    pub(super) path: Option<String>,
    /// How servers of the lab are started: single (one process) or cores (all given) [default: single]
    #[arg(hide_short_help = true, long, value_name = "FORM")]
    form: Option<String>,
    /// Folder for the record of every run [default: a new one in .paceline/experiments]
    #[arg(hide_short_help = true, long, value_name = "DIR")]
    pub(super) records: Option<PathBuf>,
    /// The user that servers of the lab run as, as in `paceline lab serve --user`
    #[arg(hide_short_help = true, long, value_name = "NAME")]
    pub(super) user: Option<String>,
    /// Keep processors out of idle states during every run, as in `paceline run --quiet-cpu`
    #[arg(hide_short_help = true, long)]
    quiet_cpu: bool,
    /// Failed requests to accept in each run; `compare` and `gate` have a flag for it, `capacity` its objective.
    #[arg(skip)]
    max_errors: Option<String>,
    /// More flags for every `paceline run`, after `--`
    #[arg(last = true, value_name = "RUN_FLAG")]
    pub(super) run_flags: Vec<String>,
}

impl LoadFlags {
    /// The same load with a limit on errors (`--max-errors`) for every run.
    pub(super) fn accepting(self, max_errors: Option<String>) -> Self {
        Self { max_errors, ..self }
    }

    /// The same load, which watches a process and its descendants (`--pid`) unless the user's flags say which.
    pub(super) fn watching(mut self, process: i32) -> Self {
        if !self.run_flags.iter().any(|flag| flag == "--pid" || flag.starts_with("--pid=")) {
            self.run_flags.push(format!("--pid={process}"));
        }
        self
    }

    /// The warm-up before each window.
    pub(super) fn warm_up(&self) -> Duration {
        self.warmup.unwrap_or(Duration::from_secs(1))
    }

    /// The longest wait for a steady rate.
    pub(super) fn warm_limit(&self) -> Duration {
        self.warm_limit.unwrap_or(Duration::from_secs(60))
    }

    /// The path of servers of the lab.
    pub(super) fn lab_path(&self) -> &str {
        self.path.as_deref().unwrap_or("/hello")
    }

    /// The form of servers of the lab.
    pub(super) fn lab_form(&self) -> &str {
        self.form.as_deref().unwrap_or("single")
    }

    /// The flags that are given, but mean nothing to a gate between two revisions.
    pub(super) fn unused_by_revisions(&self) -> impl Iterator<Item = &'static str> {
        let flags = [
            ("--threads", self.threads.is_some()),
            ("--warm-limit", self.warm_limit.is_some()),
            ("--form", self.form.is_some()),
            ("--user", self.user.is_some()),
            ("--quiet-cpu", self.quiet_cpu),
        ];
        flags.into_iter().filter_map(|(name, is_given)| is_given.then_some(name))
    }
}

/// Loads one URL with child processes.
pub(super) struct ChildLoad {
    url: String,
    flags: LoadFlags,
    records: PathBuf,
    prefix: String,
    interrupt: Interrupt,
    objective: Option<Objective>,
    runs: usize,
    cores: Rc<SettledCores>,
    is_warm_up: bool,
}

impl ChildLoad {
    pub(super) fn new(
        url: String,
        flags: LoadFlags,
        records: PathBuf,
        prefix: &str,
        interrupt: Interrupt,
        cores: Rc<SettledCores>,
    ) -> Self {
        Self {
            url,
            flags,
            records,
            prefix: prefix.to_owned(),
            interrupt,
            objective: None,
            runs: 0,
            cores,
            is_warm_up: false,
        }
    }

    /// Whether the next runs only warm the server up: they do not wait for the place of the cores.
    pub(super) fn warms_up(&mut self, is_warm_up: bool) {
        self.is_warm_up = is_warm_up;
    }

    /// Sets the objective that every open-loop run is judged by; none for no objective.
    pub(super) fn judge_by(&mut self, objective: Option<Objective>) {
        self.objective = objective;
    }

    /// Runs a load with more flags. Returns the record, and the name of its file.
    pub(super) fn record(
        &mut self,
        request: &LoadRequest,
        more: &[String],
    ) -> Result<(Run, String), LoadError> {
        self.runs += 1;
        let record = self.records.join(format!("{}{:03}.json", self.prefix, self.runs));
        let record_name = record.to_string_lossy().into_owned();
        let mut arguments = self.arguments(request, &record_name);
        arguments.extend_from_slice(more);
        let output = run_on(free_cores(&server_cores(&self.url)), None, arguments, self.interrupt)?;
        check(&output, self.interrupt)?;
        let failed = |why: String| LoadError::Failed(format!("cannot read the record {record_name}: {why}"));
        let json = paceline_files::read_text(&record, MAX_RECORD_BYTES)
            .map_err(|error| failed(error.to_string()))?;
        let run = paceline_record::read_run(&json).map_err(|error| failed(error.to_string()))?;
        Ok((run, record_name))
    }

    fn run_once(&mut self, request: &LoadRequest) -> Result<LoadResult, LoadError> {
        let (run, record_name) = self.record(request, &[])?;
        Ok(LoadResult { record: Some(record_name), ..LoadResult::from_run(&run) })
    }

    /// The URL of the target.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    fn arguments(&self, request: &LoadRequest, record: &str) -> Vec<String> {
        let milliseconds = |time: Duration| format!("{}ms", time.as_millis());
        let mut arguments: Vec<String> = ["run", &self.url, "--format", "json", "--output", record]
            .into_iter()
            .map(str::to_owned)
            .collect();
        let mut add = |flag: &str, value: String| arguments.extend([flag.to_owned(), value]);
        add("--connections", self.flags.connections.unwrap_or(64).to_string());
        add("--threads", self.flags.threads.unwrap_or(1).to_string());
        add("--warmup", milliseconds(request.warmup));
        add("--duration", milliseconds(request.window));
        if let Some(rate) = request.rate_per_s {
            add("--rate", rate.to_string());
            for slo in self.objective.iter().flat_map(|objective| &objective.slos) {
                add("--slo", slo.clone());
            }
        }
        let of_objective = self.objective.as_ref().filter(|_| request.rate_per_s.is_some());
        let of_objective = of_objective.and_then(|objective| objective.max_errors.as_ref());
        if let Some(most) = of_objective.or(self.flags.max_errors.as_ref()) {
            add("--max-errors", most.clone());
        }
        if self.flags.quiet_cpu {
            arguments.push("--quiet-cpu".to_owned());
        }
        arguments.extend(self.flags.run_flags.iter().cloned());
        arguments
    }
}

impl LoadRunner for ChildLoad {
    fn run(&mut self, request: &LoadRequest) -> Result<LoadResult, LoadError> {
        let server_cores = server_cores(&self.url);
        if self.is_warm_up || server_cores.is_empty() || request.warmup + request.window > MAX_PLACED_LOAD {
            return self.run_once(request);
        }
        let (pinning, cores) = (pinning_beside(&server_cores), Rc::clone(&self.cores));
        let mut attempt = 1;
        loop {
            let (result, is_moved) = cores.measured(&pinning, attempt, || self.run_once(request))?;
            if !is_moved {
                return Ok(result);
            }
            attempt += 1;
        }
    }
}

/// The cores of this process that a server leaves free.
fn free_cores(server_cores: &[u32]) -> Vec<u32> {
    let own = system::affinity().unwrap_or_default();
    own.into_iter().filter(|core| !server_cores.contains(core)).collect()
}

/// Where a server runs, and a load beside it.
fn pinning_beside(server_cores: &[u32]) -> Pinning {
    let generator = free_cores(server_cores);
    let disjoint = !generator.is_empty() && !server_cores.is_empty();
    Pinning { server: server_cores.to_vec(), generator, disjoint, ..Pinning::default() }
}

/// Runs this program on these cores, or on all if there are none, in a folder, or in that of this process, until it ends
/// or an interrupt ends it. Affinity belongs to a thread and is inherited by its children, so a thread is created for
/// it.
pub(super) fn run_on(
    cores: Vec<u32>,
    folder: Option<PathBuf>,
    arguments: Vec<String>,
    interrupt: Interrupt,
) -> Result<Output, LoadError> {
    let (sender, receiver) = mpsc::channel();
    let started = std::thread::spawn(move || {
        if !cores.is_empty() {
            // If the system refuses, the run has all cores, which its record says.
            let _ = system::set_affinity(&cores);
        }
        let child = child_command(&arguments, folder.as_deref())?.spawn()?;
        // It has not been waited for, so the number is its own. The receiver waits until this thread ends.
        let _ = sender.send(ProcessIdentity::from_pid(child.id().cast_signed()));
        child.wait_with_output()
    });
    pass_on(interrupt, &receiver);
    let failed = |why: String| LoadError::Failed(format!("cannot start `paceline run`: {why}"));
    match started.join() {
        Ok(output) => output.map_err(|error| failed(error.to_string())),
        Err(_) => Err(failed("a thread of Paceline panicked".to_owned())),
    }
}

/// The child. It is not in this process's group, where Ctrl-C in a terminal would reach it too: a run that gets a second
/// signal ends without its results. The kernel kills it when the thread that starts it ends, so also with this process.
fn child_command(arguments: &[String], folder: Option<&Path>) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0);
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    // SAFETY: one system call with integers between fork and exec.
    unsafe { command.pre_exec(system::die_with_parent) };
    Ok(command)
}

/// Waits until the sender is gone, and passes an interrupt on to the child that it sent: the first signal ends the run
/// with its results so far, a second one kills it.
fn pass_on(interrupt: Interrupt, started: &Receiver<Option<ProcessIdentity>>) {
    let Ok(Some(child)) = started.recv() else { return };
    let mut is_asked = false;
    while let Err(RecvTimeoutError::Timeout) = started.recv_timeout(Interrupt::CHECK_INTERVAL) {
        if interrupt.is_repeated() {
            child.signal(Signal::KILL);
        } else if interrupt.requested() && !is_asked {
            child.signal(Signal::TERM);
            is_asked = true;
        }
    }
}

/// Checks the exit status of the run: after 0 and 1 there is a record.
pub(super) fn check(output: &Output, interrupt: Interrupt) -> Result<(), LoadError> {
    if interrupt.requested() || output.status.code() == Some(130) {
        return Err(LoadError::Interrupted);
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let message = text.trim().trim_start_matches("paceline: ").to_owned();
    match output.status.code() {
        Some(0 | 1) => Ok(()),
        Some(2) => Err(LoadError::Usage(message)),
        _ if message.is_empty() => {
            Err(LoadError::Failed(format!("paceline run ended with {}", output.status)))
        }
        _ => Err(LoadError::Failed(message)),
    }
}
