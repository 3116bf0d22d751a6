//! The load of a run once more, after the measured window, while something observes the server.
//!
//! No measured number contains it, and an observation that fails changes neither the result nor the exit status. Each
//! kind of observation has a flag: `profile.rs`, `syscalls.rs`.

use super::explain::explain;
use super::lua::{self, RunScript};
use super::once::read_once;
use crate::exit::Complaint;
use paceline_engine::{Bound, LoadModel, Nanos, Phase, StopFlag};
use paceline_job::{Job, Shape};
use paceline_profile::ProfileError;
use paceline_record::Run;
use paceline_run::{Inputs, Prepared, RunObservers};
use std::sync::{Arc, Mutex, PoisonError};

/// The longest warm-up of such a window: the server is warm.
const WARM_UP: Nanos = Nanos(1_000_000_000);

/// A load that can be repeated.
pub struct RepeatedLoad<'a> {
    /// The job.
    pub job: Job,
    /// The text of the script that makes the requests, if one does.
    pub script: Option<&'a [u8]>,
    /// The processes of the server; without any, those that listen at the target's address.
    pub pids: &'a [u32],
    /// Ends it early.
    pub stop: &'static StopFlag,
}

/// What observes a server during the window of a repeated load.
pub trait ServerObserver: Send + Sized + 'static {
    /// The phase with which it begins. It ends with the window.
    const BEGINS_WITH: Phase;

    /// Begins to observe these processes.
    fn start(processes: &[i32]) -> Self;

    /// Ends, and does not wait for the result. The window is over: nothing of the load waits for it.
    fn stop(&mut self);
}

/// A copy of a job for its second run, for which this flag asks.
///
/// # Errors
/// A body is read from a pipe, which is empty then.
pub fn repeatable(job: &Job, flag: &str) -> anyhow::Result<Job> {
    match read_once(job) {
        None => Ok(job.clone()),
        Some(pipe) => {
            let what = format!("{flag} repeats the load, but @{} can be read only once", pipe.display());
            Err(Complaint::usage(what).hint("write the body to a file, and name it: @FILE").into())
        }
    }
}

impl RepeatedLoad<'_> {
    /// Repeats the load and observes its server. A constant load has a window that is neither shorter nor longer than
    /// these. Returns the observer, which has been stopped, and the record of the load.
    ///
    /// # Errors
    /// The server's processes are not on this machine, or the load could not be carried out.
    pub fn observe<Observer: ServerObserver>(&self, window: [Nanos; 2]) -> anyhow::Result<(Observer, Run)> {
        let job = with_window(self.job.clone(), window);
        let mut prepared = Prepared::new(job, Vec::new(), &mut Inputs::default()).map_err(explain)?;
        prepared.watch_server(self.pids).map_err(explain)?;
        let processes = prepared.server_processes();
        if processes.is_empty() {
            return Err(server_not_found().into());
        }
        let script =
            self.script.map(|source| RunScript::begin(source, &mut prepared, self.stop)).transpose()?;
        let shared: Arc<Mutex<Option<Observer>>> = Arc::default();
        let on_phase = {
            let shared = Arc::clone(&shared);
            move |phase: Phase| {
                let mut observer = shared.lock().unwrap_or_else(PoisonError::into_inner);
                if phase == Observer::BEGINS_WITH {
                    *observer = Some(Observer::start(&processes));
                } else if phase == Phase::Drain {
                    observer.iter_mut().for_each(Observer::stop);
                }
            }
        };
        let observers = RunObservers { on_phase: Some(Box::new(on_phase)), ..RunObservers::default() };
        let in_words = |error| lua::explain(script.as_ref(), explain(error));
        let (run, _) = prepared.carry_out(Vec::new(), observers, self.stop).map_err(in_words)?;
        if let Some(failure) = script.as_ref().and_then(RunScript::failure) {
            return Err(Complaint::failed(failure).into());
        }
        let observer = shared.lock().unwrap_or_else(PoisonError::into_inner).take();
        match observer {
            Some(mut observer) => {
                observer.stop();
                Ok((observer, run))
            }
            None => Err(Complaint::environment("the window of the observation did not begin").into()),
        }
    }
}

fn server_not_found() -> Complaint {
    Complaint::environment("the server's processes were not found on this machine").hint(
        "run Paceline on the server's machine, as root or the server's user, or name the process with --pid",
    )
}

/// An error of perf with its remedy.
pub fn explain_profiler(error: ProfileError) -> Complaint {
    let complaint = Complaint::environment(crate::exit::error_text(&error));
    error.hint().into_iter().fold(complaint, Complaint::hint)
}

/// The same load with a window of such a length. A load that changes keeps its window, which is a part of its shape.
fn with_window(job: Job, [shortest, longest]: [Nanos; 2]) -> Job {
    let is_constant = match &job.load {
        LoadModel::Closed => true,
        LoadModel::Open { shape, .. } => matches!(shape, Shape::Steady { .. }),
    };
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
    fn a_repeated_window_is_long_enough_and_keeps_the_shape_of_a_load() {
        let seconds = |seconds: u64| Nanos(seconds * 1_000_000_000);
        let repeated = |job: Job| with_window(job, [seconds(5), seconds(10)]);
        let window = |window, load: LoadModel| {
            repeated(Job { window, load, warmup: seconds(9), ..Job::default() }).window
        };
        let bound = |length: u64| Bound::Duration(seconds(length));
        assert_eq!(window(bound(1), LoadModel::Closed), bound(5));
        assert_eq!(window(bound(60), LoadModel::Closed), bound(10));
        assert_eq!(window(Bound::Requests(7), LoadModel::Closed), bound(5));
        let rate = |per_s: f64| Rate::per_second(per_s).unwrap();
        let shape = Shape::Ramp { from: rate(1.0), to: rate(9.0) };
        assert_eq!(window(bound(60), LoadModel::Open { shape, arrivals: Arrivals::Constant }), bound(60));
        assert_eq!(repeated(Job { warmup: seconds(9), ..Job::default() }).warmup, WARM_UP);
    }
}
