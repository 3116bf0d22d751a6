//! Follows one run of a generator: its phases as reported, samples of the server's process trees at each phase and at 4
//! Hz, a balancer's counters, and the fault to inject during the run.
//!
//! It uses one thread: it sleeps until the generator reports an event, a sample is due, or the run is interrupted.

use super::assignment::{Assignment, GeneratorExit, GeneratorResult, LoadGenerator};
use super::events::{PhaseEvent, PhaseEventReader};
use super::observation::{
    FaultInjection, MeasuredProcesses, ObservedFault, Peaks, ReportedWindow, Snapshot, fault_after,
};
use super::record::stderr_tail;
use super::{liveness, paceline};
use crate::balancer::BalancerTotals;
use crate::deployment::{Deployment, RolePlace};
use crate::fleet::LoaderHosts;
use crate::launch::LaunchError;
use paceline_host::shepherd::{CommandOutput, Ended, Shepherd, ShepherdOrder};
use paceline_host::tree::TreeSample;
use paceline_host::{CoreTicks, EnergyMeter, Interrupt, NetworkCounters, system};
use paceline_record::{CoreFrequency, NetworkUse, Phase, Sample, Stage};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The time limit of a run beyond its load's limit: connecting, draining, its timeout, writing the record.
const MARGIN: Duration = Duration::from_secs(60);
/// How long a generator may take to end when asked to.
const STOP_LIMIT: Duration = Duration::from_secs(2);
/// How long after the pipe's end the report of the generator's end may come.
const END_REPORT_LIMIT: Duration = Duration::from_secs(5);

/// How a generator's run is started.
#[derive(Clone, Debug)]
pub struct FollowOptions<'a> {
    /// The command that starts a shepherd.
    pub shepherd: &'a [String],
    /// The cores the generator may run on.
    pub cores: &'a [u32],
    /// A separate folder for the files between the generator and the lab.
    pub folder: &'a Path,
    /// A folder for the expected and the sent bodies, which are kept so that the run can be repeated by hand.
    pub bodies: &'a Path,
    /// The server's certificate, if it has one.
    pub certificate: &'a Path,
    /// The other machines that generate the load, if any.
    pub loaders: Option<&'a LoaderHosts>,
    /// Ctrl-C.
    pub interrupt: Interrupt,
}

/// A run with all observations of the server.
#[derive(Clone, Debug)]
pub struct ObservedRun {
    /// The generator's command line.
    pub argv: Vec<String>,
    /// Its result.
    pub measured: GeneratorResult,
    /// Every sample, from the generator's start.
    pub samples: Vec<Sample>,
    /// The stretch that was sampled: the window as it was reported, or the whole run if a generator reports no phases.
    pub over: (TreeSample, TreeSample),
    /// What the generator reported of its window.
    pub(crate) window: ReportedWindow,
    /// Every core at the same two moments.
    pub cores: (CoreTicks, CoreTicks),
    /// The time for which the server's machine was suspended from the generator's start to its end, in seconds.
    pub suspended_s: Option<f64>,
    /// The frequencies of the launch's cores between these moments, of those on this machine.
    pub core_frequencies: Vec<CoreFrequency>,
    /// Energy of the CPU packages between these moments, in joules, and the number of packages.
    pub(crate) energy: Option<(f64, u32)>,
    /// Network use over the window by each role's machine, if that is another one.
    pub networks: Vec<Option<NetworkUse>>,
    /// The server's resident memory afterwards.
    pub rss_bytes_after: u64,
    /// Proportional set size of the server afterwards.
    pub pss_bytes: Option<u64>,
    /// Each role over the same stretch.
    pub(crate) each: Vec<MeasuredProcesses>,
    /// The balancer's counters at the stretch's two ends.
    pub(crate) counted: Option<(BalancerTotals, BalancerTotals)>,
    /// The injected fault.
    pub(crate) fault: Option<ObservedFault>,
}

/// Runs `generator` against a launch and follows it to its end.
///
/// # Errors
/// [`LaunchError`] when the generator or the server fails, or on Ctrl-C; the generator has ended then.
pub fn follow(
    generator: &dyn LoadGenerator,
    assignment: &Assignment,
    launch: &mut Deployment,
    following: &FollowOptions<'_>,
) -> Result<ObservedRun, LaunchError> {
    let trouble = |what: &str, error: std::io::Error| {
        LaunchError::fault(Stage::Generate, format!("{what}: {error}"), false)
    };
    let (events, reported) = system::pipe().map_err(|error| trouble("cannot create a pipe", error))?;
    let assignment = &Assignment { events: reported.as_raw_fd(), ..assignment.clone() };
    let argv = generator.command(assignment);
    let order = order(&argv, assignment.events, following);
    paceline::without_record(&assignment.record)
        .map_err(|error| trouble("cannot remove an earlier record", error))?;
    launch.search();
    launch.mark_threads();
    let mut energy =
        if launch.is_here() { EnergyMeter::begin(Path::new("/")) } else { EnergyMeter::default() };
    let first = Snapshot::now(launch, &mut energy).counted(launch);
    let shepherd = Shepherd::start(following.shepherd, &order)
        .map_err(|error| trouble("cannot start the generator", error))?;
    drop(reported);
    let watch = RunFollower::new(assignment, events, first, energy, following.interrupt);
    let (watch, gone, ended) = watch.until_end(shepherd, launch)?;
    let finished = GeneratorExit {
        ended,
        stdout: paceline_files::read_text(&following.folder.join("stdout"), paceline_files::MAX_OUTPUT_BYTES)
            .unwrap_or_default(),
        stderr: stderr_tail(&following.folder.join("stderr")),
        cpu_s: gone.usage.user_s + gone.usage.system_s,
        elapsed_s: watch.start.elapsed().as_secs_f64(),
    };
    let measured = generator.read(assignment, &finished);
    liveness::check_after(measured.as_ref(), launch)?;
    let measured = measured
        .map_err(|message| LaunchError::fault(Stage::Generate, message, finished.ended.is_unseen()))?;
    if let Some(why) = watch.fault.missed(measured.run.window_s) {
        let message = format!("the planned fault was not injected during the window: {why}");
        return Err(LaunchError::fault(Stage::Generate, message, true));
    }
    let (from, to, window) = watch.measured_stretch();
    Ok(ObservedRun {
        argv,
        measured,
        over: (from.deployment.server, to.deployment.server),
        window,
        cores: (from.cores.clone(), to.cores.clone()),
        suspended_s: watch.last.cores.suspended_s_since(&watch.first.cores),
        core_frequencies: core_frequencies(from, to, window),
        energy: to.joules.zip(from.joules).map(|(to, from)| (to - from, watch.energy.packages())),
        networks: networks(from, to, &launch.networks(true)),
        rss_bytes_after: watch.last.deployment.server.rss_bytes,
        pss_bytes: launch.pss_bytes(),
        each: watch.each(&launch.places(), from, to),
        counted: from.counted.clone().zip(to.counted.clone()),
        fault: watch.fault.made,
        samples: watch.samples,
    })
}

fn order(argv: &[String], events: i32, following: &FollowOptions<'_>) -> ShepherdOrder {
    let file = |name: &str| -> PathBuf { following.folder.join(name) };
    ShepherdOrder {
        env: following.loaders.map(|loaders| loaders.environment.clone()).unwrap_or_default(),
        cores: following.cores.to_vec(),
        output: CommandOutput::Files { stdout: file("stdout"), stderr: file("stderr") },
        inherit: Some(events),
        ..ShepherdOrder::plain(argv.to_vec(), following.folder.to_owned(), STOP_LIMIT)
    }
}

/// The frequencies of the launch's cores at two moments. Without a reported window these are before and after the load,
/// when the cores are idle: then only the counts of heat are kept.
fn core_frequencies(from: &Snapshot, to: &Snapshot, window: ReportedWindow) -> Vec<CoreFrequency> {
    let mut cores = to.frequencies.since(&from.frequencies);
    if !matches!(window, ReportedWindow::From(_)) {
        cores.iter_mut().for_each(|core| (core.frequency_mhz_start, core.frequency_mhz_end) = (None, None));
    }
    cores
}

/// The network use between two moments; `after` has the speeds.
fn networks(from: &Snapshot, to: &Snapshot, after: &[Option<NetworkCounters>]) -> Vec<Option<NetworkUse>> {
    let moved = |((from, to), after): (
        (&Option<NetworkCounters>, &Option<NetworkCounters>),
        &Option<NetworkCounters>,
    )| { from.as_ref()?.until(&to.clone()?.with_speeds_of(after.as_ref()?)) };
    from.networks.iter().zip(&to.networks).zip(after).map(moved).collect()
}

struct RunFollower {
    start: Instant,
    start_monotonic_ns: u64,
    limit: Duration,
    interrupt: Interrupt,
    events: PhaseEventReader,
    phase: Phase,
    samples: Vec<Sample>,
    first: Snapshot,
    last: Snapshot,
    window: (Option<Snapshot>, Option<Snapshot>),
    /// When the window began, as the generator reported it.
    window_start_ns: u64,
    seen: Vec<Peaks>,
    energy: EnergyMeter,
    fault: FaultInjection,
}

impl RunFollower {
    fn new(
        assignment: &Assignment,
        events: OwnedFd,
        first: Snapshot,
        energy: EnergyMeter,
        interrupt: Interrupt,
    ) -> Self {
        let mut watch = Self {
            start: Instant::now(),
            start_monotonic_ns: first.deployment.server.monotonic_ns,
            limit: assignment.limit.saturating_add(MARGIN),
            interrupt,
            events: PhaseEventReader::new(events),
            phase: Phase::Connect,
            samples: Vec::new(),
            last: first.clone(),
            first: first.clone(),
            window: (None, None),
            window_start_ns: 0,
            seen: vec![Peaks::default(); first.deployment.each.len()],
            energy,
            fault: FaultInjection { after: fault_after(&assignment.load), ..FaultInjection::default() },
        };
        watch.keep(first);
        watch
    }

    /// Follows until the generator has ended, or must be ended.
    fn until_end(
        mut self,
        mut generator: Shepherd,
        launch: &mut Deployment,
    ) -> Result<(Self, paceline_host::shepherd::CommandResult, Ended), LaunchError> {
        let mut next_sample = self.start + launch.sample_every();
        let ended = loop {
            self.wait(self.fault.due().map_or(next_sample, |due| due.min(next_sample)))?;
            self.take_events(launch);
            if Instant::now() >= next_sample {
                self.sample(launch);
                self.count_connections(launch);
                self.look_at_balancer(launch);
                next_sample += launch.sample_every();
            }
            self.make_fault(launch);
            if let Some(ended) = self.generator_ended(&mut generator) {
                break ended;
            }
            self.check(launch)?;
        };
        // Its last events may have come after the last read.
        let rest = self.events.take_rest();
        rest.into_iter().for_each(|event| self.enter(event, launch));
        let last = Snapshot::now(launch, &mut self.energy).counted(launch);
        self.keep(last);
        liveness::check(launch)?;
        let gone = generator
            .stop()
            .map_err(|error| LaunchError::fault(Stage::Generate, error.to_string(), false))?;
        Ok((self, gone, ended))
    }

    fn wait(&self, until: Instant) -> Result<(), LaunchError> {
        let limit = until.saturating_duration_since(Instant::now());
        system::poll_readable([self.events.descriptor()], Some(limit)).map(drop).map_err(|error| {
            LaunchError::fault(
                Stage::Generate,
                format!("cannot wait for events of the generator: {error}"),
                false,
            )
        })
    }

    /// The generator holds the other end of the events' pipe until it ends, even if it does not write to it.
    fn generator_ended(&self, generator: &mut Shepherd) -> Option<Ended> {
        if self.events.is_open() { generator.ended() } else { generator.wait_ended(END_REPORT_LIMIT) }
    }

    /// Other reasons to end a run: Ctrl-C, a server that died, a generator that hangs.
    fn check(&self, launch: &mut Deployment) -> Result<(), LaunchError> {
        if self.interrupt.requested() {
            return Err(LaunchError::Interrupted);
        }
        liveness::check(launch)?;
        if self.start.elapsed() > self.limit {
            let message =
                format!("the generator did not end within {} s and was killed", self.limit.as_secs());
            return Err(LaunchError::fault(Stage::Generate, message, true));
        }
        Ok(())
    }

    fn take_events(&mut self, launch: &mut Deployment) {
        let reported = self.events.take();
        reported.into_iter().for_each(|event| self.enter(event, launch));
    }

    fn enter(&mut self, event: PhaseEvent, launch: &mut Deployment) {
        let window_over = self.phase == Phase::Window;
        let window_begins = event.phase == Phase::Window;
        self.phase = event.phase;
        if window_begins {
            launch.mark_threads();
        }
        // The sample first: a balancer may be slow to return its counters.
        let mut moment = Snapshot::now(launch, &mut self.energy);
        if window_over || window_begins {
            moment = moment.counted(launch);
        }
        self.keep(moment);
        if window_over {
            self.window.1 = Some(self.last.clone());
        }
        if window_begins {
            self.fault.window_began = Some(instant_of(event.monotonic_ns));
            self.window_start_ns = event.monotonic_ns;
            self.window.0 = Some(self.last.clone());
        }
    }

    fn sample(&mut self, launch: &mut Deployment) {
        let moment = Snapshot::now(launch, &mut self.energy);
        self.keep(moment);
    }

    fn keep(&mut self, moment: Snapshot) {
        for (seen, tree) in self.seen.iter_mut().zip(&moment.deployment.each) {
            seen.rss_bytes = seen.rss_bytes.max(tree.rss_bytes);
            seen.threads = seen.threads.max(tree.threads);
        }
        let tree = moment.deployment.server;
        let TreeSample { monotonic_ns, cpu_s, rss_bytes, processes, threads, .. } = tree;
        self.samples.push(Sample {
            at_ns: monotonic_ns.saturating_sub(self.start_monotonic_ns),
            phase: self.phase,
            cpu_s,
            rss_bytes,
            processes,
            threads,
            voluntary_switches: tree.voluntary_switches,
            involuntary_switches: tree.involuntary_switches,
            run_delay_s: tree.run_delay_s,
        });
        self.last = moment;
    }

    /// The connections of the instances in the window.
    fn count_connections(&mut self, launch: &Deployment) {
        if self.phase != Phase::Window {
            return;
        }
        for (seen, open) in self.seen.iter_mut().zip(launch.connections()) {
            seen.connections_sum += open;
            seen.connections_count += 1;
        }
    }

    fn make_fault(&mut self, launch: &mut Deployment) {
        let Some(began) =
            self.fault.window_began.filter(|_| self.fault.due().is_some_and(|due| Instant::now() >= due))
        else {
            return;
        };
        let made_at = Instant::now();
        self.fault.made_at = Some(made_at);
        self.fault.made = launch.kill_one().map(|instance| ObservedFault {
            instance,
            after_window_start: made_at - began,
            taken_out_after: None,
        });
    }

    /// After a fault: checks whether the balancer has noticed.
    fn look_at_balancer(&mut self, launch: &Deployment) {
        let (Some(made_at), Some(made)) = (self.fault.made_at, &mut self.fault.made) else { return };
        if made.taken_out_after.is_none()
            && launch.counted().is_some_and(|counted| counted.is_down(made.instance))
        {
            made.taken_out_after = Some(made_at.elapsed());
        }
    }

    /// The window's two ends; for a generator without phases, its start and its end.
    fn measured_stretch(&self) -> (&Snapshot, &Snapshot, ReportedWindow) {
        match &self.window {
            (Some(from), Some(to)) => (from, to, ReportedWindow::From(self.window_start_ns)),
            (Some(from), None) => (from, &self.last, ReportedWindow::StartOnly),
            (None, _) => (&self.first, &self.last, ReportedWindow::Nothing),
        }
    }

    /// Each process tree between two moments.
    fn each(&self, places: &[RolePlace], from: &Snapshot, to: &Snapshot) -> Vec<MeasuredProcesses> {
        let pairs = from.deployment.each.iter().zip(&to.deployment.each).zip(&self.seen).zip(places);
        pairs
            .map(|(((from, to), seen), place)| MeasuredProcesses {
                place: place.clone(),
                from: *from,
                to: *to,
                rss_bytes_peak: seen.rss_bytes,
                threads_peak: seen.threads,
                connections_mean: seen.connections_mean(),
            })
            .collect()
    }
}

/// The `Instant` of `monotonic_ns` on the monotonic clock; now if that is in the future.
fn instant_of(monotonic_ns: u64) -> Instant {
    let ago = Duration::from_nanos(system::monotonic_ns().saturating_sub(monotonic_ns));
    let now = Instant::now();
    now.checked_sub(ago).unwrap_or(now)
}
