//! `--profile`: after the measured window, the same load once more, in which perf samples the server, and a thread looks at
//! what its threads wait for.

use super::repeat::{RepeatedLoad, ServerObserver, explain_profiler};
use paceline_engine::{Nanos, Phase};
use paceline_host::{WaitSampler, process};
use paceline_profile::{ProfileError, Recording};
use paceline_record::{Profile, Run, ServerWaits};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Shortest and longest profiled window of a load that does not change: about 2,500 samples for each busy core, and no
/// more than a picture can show.
const WINDOW: [Nanos; 2] = [Nanos(5_000_000_000), Nanos(10_000_000_000)];

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

/// Profiles the server of a run that is over, and adds the profile, or why there is none, to its record, and what the
/// server waited for.
pub fn add_profile(run: &mut Run, load: &RepeatedLoad<'_>) {
    let profile = load.observe::<Samplers>(WINDOW).and_then(|(samplers, repeated)| {
        let observed = samplers.finish(&repeated);
        run.server_waits = observed.waits;
        observed.profile
    });
    match profile {
        Ok(profile) => run.profile = Some(profile),
        Err(error) => run.profile_failure = Some(crate::exit::failure_text(&error)),
    }
}

impl ServerObserver for Samplers {
    const BEGINS_WITH: Phase = Phase::Window;

    fn start(processes: &[i32]) -> Self {
        let recording = Recording::start(processes);
        Self { recording, waits: WaitThread::start(processes.to_vec()) }
    }

    fn stop(&mut self) {
        if let Ok(recording) = &mut self.recording {
            recording.stop();
        }
        self.waits.iter_mut().for_each(|waits| drop(waits.stop.take()));
    }
}

impl Samplers {
    fn finish(self, run: &Run) -> Observed {
        let recorded = self.recording.and_then(|recording| recording.finish(process::number_inside));
        let profile = recorded.map_err(|error| explain_profiler(error).into());
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
