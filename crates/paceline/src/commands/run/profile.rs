//! `--profile`: after the measured window, the same load once more, in which perf samples the server.
//!
//! No measured number contains it, and a profile that fails changes neither the result nor the exit status.

use super::explain::explain;
use crate::exit::Complaint;
use paceline_engine::{Bound, LoadModel, Nanos, Phase, StopFlag};
use paceline_job::{Job, Shape};
use paceline_profile::{ProfileError, Recording};
use paceline_record::{Profile, Run};
use paceline_run::{Inputs, Prepared, RunObservers};
use std::sync::{Arc, Mutex, PoisonError};

/// Shortest and longest profiled window of a load that does not change: about 2,500 samples for each busy core, and no
/// more than a picture can show.
const WINDOW: [Nanos; 2] = [Nanos(5_000_000_000), Nanos(10_000_000_000)];
/// The longest warm-up of that window: the server is warm.
const WARM_UP: Nanos = Nanos(1_000_000_000);

/// Profiles the server of a run that is over, and adds the profile, or why there is none, to its record.
pub fn add_profile(run: &mut Run, job: Job, pids: &[u32], stop: &'static StopFlag) {
    match profiled(job, pids, stop) {
        Ok(profile) => run.profile = Some(profile),
        Err(error) => {
            let hint = error.downcast_ref::<Complaint>().and_then(|complaint| complaint.hint.clone());
            let hint = hint.map_or_else(String::new, |hint| format!(": {hint}"));
            run.profile_failure = Some(format!("{}{hint}", crate::exit::error_text(error.as_ref())));
        }
    }
}

fn profiled(job: Job, pids: &[u32], stop: &'static StopFlag) -> anyhow::Result<Profile> {
    // The load of the profiled window would be in vain.
    paceline_profile::perf_version().map_err(explained)?;
    let mut prepared =
        Prepared::new(profiled_job(job), Vec::new(), &mut Inputs::default()).map_err(explain)?;
    prepared.watch_server(pids).map_err(explain)?;
    let processes = prepared.server_processes();
    if processes.is_empty() {
        return Err(Complaint::environment("the server's processes were not found on this machine")
            .hint("run Paceline on the server's machine, as root or the server's user, or name the process with --pid")
            .into());
    }
    let recording: Arc<Mutex<Option<Result<Recording, ProfileError>>>> = Arc::default();
    let on_phase = {
        let recording = Arc::clone(&recording);
        move |phase| {
            let mut recording = recording.lock().unwrap_or_else(PoisonError::into_inner);
            match (phase, &mut *recording) {
                (Phase::Window, recording) => *recording = Some(Recording::start(&processes)),
                (Phase::Drain, Some(Ok(recording))) => recording.stop(),
                _ => {}
            }
        }
    };
    let watching = RunObservers { on_phase: Some(Box::new(on_phase)), ..RunObservers::default() };
    let (run, _) = prepared.carry_out(Vec::new(), watching, stop).map_err(explain)?;
    let recording = recording.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(recording) = recording else {
        return Err(Complaint::environment("the profiled window did not begin").into());
    };
    let mut profile = recording.and_then(Recording::finish).map_err(explained)?;
    profile.achieved_per_s = run.rate_per_s.achieved;
    Ok(profile)
}

fn explained(error: ProfileError) -> Complaint {
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
