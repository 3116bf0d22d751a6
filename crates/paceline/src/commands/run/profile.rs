//! `--profile`: after the measured window, the same load once more, in which perf samples the server, and a thread looks at
//! what its threads wait for.
//!
//! No measured number contains it, and a profile that fails changes neither the result nor the exit status.

use super::explain::explain;
use super::lua::{self, RunScript};
use super::once::read_once;
use crate::exit::Complaint;
use paceline_engine::{Bound, LoadModel, Nanos, Phase, StopFlag};
use paceline_host::WaitSampler;
use paceline_job::{Job, Shape};
use paceline_profile::{ProfileError, Recording};
use paceline_record::{Profile, Run, ServerWaits};
use paceline_run::{Inputs, Prepared, RunObservers};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Shortest and longest profiled window of a load that does not change: about 2,500 samples for each busy core, and no
/// more than a picture can show.
const WINDOW: [Nanos; 2] = [Nanos(5_000_000_000), Nanos(10_000_000_000)];
/// The longest warm-up of that window: the server is warm.
const WARM_UP: Nanos = Nanos(1_000_000_000);

/// How often the threads of the server are looked at.
const LOOK_AT_THREADS: Duration = Duration::from_millis(40);

/// What the profiled window shows of the server.
struct Observed {
    profile: anyhow::Result<Profile>,
    waits: Option<ServerWaits>,
}

/// What samples the server in the window.
struct Samplers {
    recording: Result<Recording, ProfileError>,
    waits: Option<WaitThread>,
}

/// A thread that looks at the threads of the server until its sender is dropped.
struct WaitThread {
    stop: Option<Sender<()>>,
    thread: JoinHandle<WaitSampler>,
}

/// A copy of a job for its second run.
///
/// # Errors
/// A body is read from a pipe, which is empty then.
pub fn repeatable(job: &Job) -> anyhow::Result<Job> {
    match read_once(job) {
        None => Ok(job.clone()),
        Some(pipe) => {
            let what =
                format!("--profile runs the load twice, but @{} can be read only once", pipe.display());
            Err(Complaint::usage(what).hint("write the body to a file, and name it: @FILE").into())
        }
    }
}

/// Profiles the server of a run that is over, and adds the profile, or why there is none, to its record, and what the
/// server waited for. `script` is the text of the script that makes the requests, if one does.
pub fn add_profile(run: &mut Run, job: Job, script: Option<&[u8]>, pids: &[u32], stop: &'static StopFlag) {
    let observed = observed(job, script, pids, stop).and_then(|observed| {
        run.server_waits = observed.waits;
        observed.profile
    });
    match observed {
        Ok(profile) => run.profile = Some(profile),
        Err(error) => run.profile_failure = Some(crate::exit::failure_text(&error)),
    }
}

fn observed(
    job: Job,
    script: Option<&[u8]>,
    pids: &[u32],
    stop: &'static StopFlag,
) -> anyhow::Result<Observed> {
    let mut prepared =
        Prepared::new(profiled_job(job), Vec::new(), &mut Inputs::default()).map_err(explain)?;
    prepared.watch_server(pids).map_err(explain)?;
    let processes = prepared.server_processes();
    if processes.is_empty() {
        return Err(Complaint::environment("the server's processes were not found on this machine")
            .hint("run Paceline on the server's machine, as root or the server's user, or name the process with --pid")
            .into());
    }
    let script = script.map(|source| RunScript::begin(source, &mut prepared, stop)).transpose()?;
    let samplers: Arc<Mutex<Option<Samplers>>> = Arc::default();
    let on_phase = {
        let samplers = Arc::clone(&samplers);
        move |phase| {
            let mut samplers = samplers.lock().unwrap_or_else(PoisonError::into_inner);
            match (phase, &mut *samplers) {
                (Phase::Window, samplers) => *samplers = Some(Samplers::start(&processes)),
                (Phase::Drain, Some(samplers)) => samplers.stop(),
                _ => {}
            }
        }
    };
    let observers = RunObservers { on_phase: Some(Box::new(on_phase)), ..RunObservers::default() };
    let in_words = |error| lua::explain(script.as_ref(), explain(error));
    let (run, _) = prepared.carry_out(Vec::new(), observers, stop).map_err(in_words)?;
    if let Some(failure) = script.as_ref().and_then(RunScript::failure) {
        return Err(Complaint::failed(failure).into());
    }
    let samplers = samplers.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(samplers) = samplers else {
        return Err(Complaint::environment("the profiled window did not begin").into());
    };
    Ok(samplers.finish(&run))
}

impl Samplers {
    fn start(processes: &[i32]) -> Self {
        let recording = Recording::start(processes);
        Self { recording, waits: WaitThread::start(processes.to_vec()) }
    }

    /// Ends the sampling, and does not wait for it.
    fn stop(&mut self) {
        if let Ok(recording) = &mut self.recording {
            recording.stop();
        }
        self.waits.iter_mut().for_each(|waits| drop(waits.stop.take()));
    }

    fn finish(mut self, run: &Run) -> Observed {
        self.stop();
        let profile =
            self.recording.and_then(Recording::finish).map_err(|error| explain_profiler(error).into());
        let sampler = self.waits.and_then(|waits| waits.thread.join().ok());
        Observed {
            profile: profile.map(|profile| Profile { achieved_per_s: run.rate_per_s.achieved, ..profile }),
            waits: sampler.and_then(|sampler| sampler.finish(run.total.counts.ok, run.rate_per_s.achieved)),
        }
    }
}

impl WaitThread {
    /// Without another thread (`ulimit -u`) there are no waits.
    fn start(processes: Vec<i32>) -> Option<Self> {
        let (stop, stopped) = mpsc::channel();
        let look = move || {
            let mut sampler = WaitSampler::begin(processes);
            while stopped.recv_timeout(LOOK_AT_THREADS) == Err(RecvTimeoutError::Timeout) {
                sampler.look();
            }
            sampler.end();
            sampler
        };
        let thread = thread::Builder::new().name("waits".to_owned()).spawn(look).ok()?;
        Some(Self { stop: Some(stop), thread })
    }
}

/// An error of the profiler with its remedy.
pub fn explain_profiler(error: ProfileError) -> Complaint {
    let complaint = Complaint::environment(crate::exit::error_text(&error));
    error.hint().into_iter().fold(complaint, Complaint::hint)
}

/// The same load with a window that is long enough to be sampled. A load that changes keeps its window, which is a part
/// of its shape.
fn profiled_job(job: Job) -> Job {
    let is_constant = match &job.load {
        LoadModel::Closed => true,
        LoadModel::Open { shape, .. } => matches!(shape, Shape::Steady { .. }),
    };
    let [shortest, longest] = WINDOW;
    let window = match job.window {
        Bound::Duration(window) if is_constant => Bound::Duration(window.clamp(shortest, longest)),
        Bound::Requests(_) if is_constant => Bound::Duration(shortest),
        window => window,
    };
    Job { window, warmup: job.warmup.min(WARM_UP), ..job }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_job::{Arrivals, Rate};

    #[test]
    fn a_profiled_window_is_long_enough_and_keeps_the_shape_of_a_load() {
        let window = |window, load: LoadModel| {
            profiled_job(Job { window, load, warmup: Nanos(9_000_000_000), ..Job::default() }).window
        };
        let seconds = |seconds: u64| Bound::Duration(Nanos(seconds * 1_000_000_000));
        assert_eq!(window(seconds(1), LoadModel::Closed), seconds(5));
        assert_eq!(window(seconds(60), LoadModel::Closed), seconds(10));
        assert_eq!(window(Bound::Requests(7), LoadModel::Closed), seconds(5));
        let rate = |per_s: f64| Rate::per_second(per_s).unwrap();
        let shape = Shape::Ramp { from: rate(1.0), to: rate(9.0) };
        assert_eq!(window(seconds(60), LoadModel::Open { shape, arrivals: Arrivals::Constant }), seconds(60));
        assert_eq!(profiled_job(Job { warmup: Nanos(9_000_000_000), ..Job::default() }).warmup, WARM_UP);
    }
}
