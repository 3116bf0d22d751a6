//! Follows one run of a generator: its phases as it tells them, the server's process tree at each and at 4 Hz.
//!
//! One thread does it all: it sleeps until the generator says something, a sample is due, or somebody wants the end.

use super::{Generator, Job, Measured};
use crate::cores::CoreTicks;
use crate::launch::{Launch, Spoiled};
use crate::shepherd::{Ended, Guard, Order, Output, Shepherd};
use crate::tree::TreeSample;
use crate::{Interrupt, system};
use paceline_record::{Fault, Phase, Sample, Stage};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Four samples a second: a sample costs up to a millisecond of the core the generator runs on.
const SAMPLE_EVERY: Duration = Duration::from_millis(250);
/// What a run may take beyond its warm-up and window: connecting, draining, its timeout, writing the record.
const MARGIN: Duration = Duration::from_secs(60);
/// How long a run bounded by a number of requests may take.
const COUNTED_LIMIT: Duration = Duration::from_secs(600);
/// How long a generator may take to end when asked to.
const STOP_LIMIT: Duration = Duration::from_secs(2);
/// How long the report of an end may come after the pipe's.
const END_REPORT_LIMIT: Duration = Duration::from_secs(5);
/// How much of a generator's standard error goes into a message.
const STDERR_BYTES: usize = 2 * 1024;

/// How a generator's run is started.
#[derive(Clone, Debug)]
pub struct Following<'a> {
    /// The command that starts a shepherd.
    pub shepherd: &'a [String],
    /// The cores the generator may run on.
    pub cores: &'a [u32],
    /// A folder of this run's own, for what passes between the generator and the lab.
    pub folder: &'a Path,
    /// A folder for the bodies to expect, which stay: so that the run can be repeated by hand.
    pub bodies: &'a Path,
    /// Ctrl-C.
    pub interrupt: Interrupt,
}

/// What a generator left when it ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How it ended.
    pub ended: Ended,
    /// What it printed.
    pub stdout: String,
    /// The end of what it complained about.
    pub stderr: String,
    /// Its CPU time, in seconds.
    pub cpu_s: f64,
    /// How long it ran, in seconds.
    pub elapsed_s: f64,
}

/// A run with everything that was seen of the server meanwhile.
#[derive(Clone, Debug)]
pub struct Followed {
    /// The generator's command line.
    pub argv: Vec<String>,
    /// What it measured.
    pub measured: Measured,
    /// Every sample, from the generator's start.
    pub samples: Vec<Sample>,
    /// The stretch that was measured: the window, or all of it where a generator tells no phases.
    pub over: (TreeSample, TreeSample),
    /// Every core at the same two moments.
    pub cores: (CoreTicks, CoreTicks),
    /// Proportional share of the server's memory afterwards.
    pub pss_bytes: Option<u64>,
}

/// Runs `generator` against a launch and follows it to its end.
///
/// # Errors
/// [`Spoiled`] when the generator or the server fails, or on Ctrl-C; the generator is gone then.
pub fn follow(
    generator: &dyn Generator,
    job: &Job,
    launch: &mut Launch,
    following: &Following<'_>,
) -> Result<Followed, Spoiled> {
    let trouble = |what: &str, error: std::io::Error| {
        Spoiled::fault(Stage::Generate, format!("{what}: {error}"), false)
    };
    let (events, told) = system::pipe().map_err(|error| trouble("cannot make a pipe", error))?;
    let job = Job { events: told.as_raw_fd(), ..job.clone() };
    let argv = generator.command(&job);
    let order = order(&argv, job.events, following);
    let first = Moment::now(launch);
    let shepherd = Shepherd::start(following.shepherd, &order)
        .map_err(|error| trouble("cannot start the generator", error))?;
    drop(told);
    let watch = Watch::new(&job.load, events, first, following.interrupt);
    let (watch, gone, ended) = watch.until_end(shepherd, launch)?;
    let finished = Finished {
        ended,
        stdout: fs::read_to_string(following.folder.join("stdout")).unwrap_or_default(),
        stderr: tail(&following.folder.join("stderr")),
        cpu_s: gone.cpu_s,
        elapsed_s: watch.start.elapsed().as_secs_f64(),
    };
    let measured =
        generator.read(&job, &finished).map_err(|message| Spoiled::fault(Stage::Generate, message, false))?;
    let (over, cores) = watch.measured_stretch();
    Ok(Followed { argv, measured, samples: watch.samples, over, cores, pss_bytes: launch.tree.pss_bytes() })
}

fn order(argv: &[String], events: i32, following: &Following<'_>) -> Order {
    let file = |name: &str| -> PathBuf { following.folder.join(name) };
    Order {
        command: argv.to_vec(),
        folder: following.folder.to_owned(),
        env: BTreeMap::new(),
        cores: following.cores.to_vec(),
        output: Output::Files { stdout: file("stdout"), stderr: file("stderr") },
        groups: Vec::new(),
        // One well-behaved process: the plain fence perturbs it least.
        guard: Guard::Subreaper,
        stop_limit_ms: STOP_LIMIT.as_millis() as u64,
        inherit: Some(events),
    }
}

/// The server and the cores at one time.
#[derive(Clone)]
struct Moment {
    tree: TreeSample,
    cores: CoreTicks,
}

impl Moment {
    fn now(launch: &mut Launch) -> Self {
        Self { tree: launch.tree.sample(), cores: CoreTicks::now() }
    }
}

struct Watch {
    start: Instant,
    start_monotonic_ns: u64,
    limit: Duration,
    interrupt: Interrupt,
    events: Option<File>,
    unread: Vec<u8>,
    phase: Phase,
    samples: Vec<Sample>,
    first: Moment,
    last: Moment,
    window: (Option<Moment>, Option<Moment>),
}

impl Watch {
    fn new(load: &paceline_record::Load, events: OwnedFd, first: Moment, interrupt: Interrupt) -> Self {
        let length = load.duration_s.map_or(COUNTED_LIMIT, |s| Duration::from_secs_f64(s + load.warmup_s));
        let mut watch = Self {
            start: Instant::now(),
            start_monotonic_ns: first.tree.monotonic_ns,
            limit: length + MARGIN,
            interrupt,
            events: Some(events.into()),
            unread: Vec::new(),
            phase: Phase::Connect,
            samples: Vec::new(),
            last: first.clone(),
            first: first.clone(),
            window: (None, None),
        };
        watch.keep(first);
        watch
    }

    /// Follows until the generator has ended, or has to be ended.
    fn until_end(
        mut self,
        mut generator: Shepherd,
        launch: &mut Launch,
    ) -> Result<(Self, crate::shepherd::Gone, Ended), Spoiled> {
        let mut next_sample = self.start + SAMPLE_EVERY;
        let ended = loop {
            self.wait(next_sample)?;
            self.take_events(launch);
            if Instant::now() >= next_sample {
                self.sample(launch);
                next_sample += SAMPLE_EVERY;
            }
            if let Some(ended) = self.generator_ended(&mut generator) {
                break ended;
            }
            self.check(launch)?;
        };
        self.sample(launch);
        if let Some(ended) = launch.ended() {
            return Err(server_ended(ended));
        }
        let gone =
            generator.stop().map_err(|error| Spoiled::fault(Stage::Generate, error.to_string(), false))?;
        Ok((self, gone, ended))
    }

    fn wait(&self, until: Instant) -> Result<(), Spoiled> {
        let limit = until.saturating_duration_since(Instant::now());
        // A negative descriptor is left out.
        let events = self.events.as_ref().map_or(-1, |events| events.as_raw_fd());
        system::poll_readable([events], Some(limit))
            .map(drop)
            .map_err(|error| Spoiled::fault(Stage::Generate, format!("cannot wait: {error}"), false))
    }

    /// The generator holds the other end of the events' pipe until it ends, whether it writes to it or not.
    fn generator_ended(&self, generator: &mut Shepherd) -> Option<Ended> {
        match self.events {
            Some(_) => generator.ended(),
            None => generator.wait_ended(END_REPORT_LIMIT),
        }
    }

    /// What else ends a run: Ctrl-C, a server that died, a generator that hangs.
    fn check(&self, launch: &mut Launch) -> Result<(), Spoiled> {
        if self.interrupt.asked() {
            return Err(Spoiled::Interrupted);
        }
        if let Some(ended) = launch.ended() {
            return Err(server_ended(ended));
        }
        if self.start.elapsed() > self.limit {
            let message =
                format!("the generator did not end within {} s and was ended", self.limit.as_secs());
            return Err(Spoiled::fault(Stage::Generate, message, true));
        }
        Ok(())
    }

    fn take_events(&mut self, launch: &mut Launch) {
        let Some(events) = &mut self.events else { return };
        if !matches!(system::poll_readable([events.as_raw_fd()], Some(Duration::ZERO)), Ok([true])) {
            return;
        }
        let mut chunk = [0; 4096];
        match events.read(&mut chunk) {
            Ok(length) if length > 0 => self.unread.extend_from_slice(&chunk[..length]),
            _ => self.events = None,
        }
        while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            // Lines of another kind may come from a later version.
            if let Ok(event) = serde_json::from_slice::<Event>(&line) {
                self.enter(event.phase, launch);
            }
        }
    }

    fn enter(&mut self, phase: Phase, launch: &mut Launch) {
        let window_over = self.phase == Phase::Window;
        self.phase = phase;
        self.sample(launch);
        if window_over {
            self.window.1 = Some(self.last.clone());
        }
        if phase == Phase::Window {
            self.window.0 = Some(self.last.clone());
        }
    }

    fn sample(&mut self, launch: &mut Launch) {
        let moment = Moment::now(launch);
        self.keep(moment);
    }

    fn keep(&mut self, moment: Moment) {
        let TreeSample { monotonic_ns, cpu_s, rss_bytes, processes, threads, .. } = moment.tree;
        self.samples.push(Sample {
            at_ns: monotonic_ns.saturating_sub(self.start_monotonic_ns),
            phase: self.phase,
            cpu_s,
            rss_bytes,
            processes,
            threads,
            voluntary_switches: moment.tree.voluntary_switches,
            involuntary_switches: moment.tree.involuntary_switches,
            run_delay_s: moment.tree.run_delay_s,
        });
        self.last = moment;
    }

    /// The window's two ends; of a generator without phases, its start and its end.
    fn measured_stretch(&self) -> ((TreeSample, TreeSample), (CoreTicks, CoreTicks)) {
        let (from, to) = match &self.window {
            (Some(from), Some(to)) => (from, to),
            _ => (&self.first, &self.last),
        };
        ((from.tree, to.tree), (from.cores.clone(), to.cores.clone()))
    }
}

/// A line of `--events`. When it was written is in it too; the samples carry their own times.
#[derive(serde::Deserialize)]
struct Event {
    phase: Phase,
}

fn server_ended(ended: Ended) -> Spoiled {
    let message = format!("the server ended with {ended} under load");
    Spoiled::Fault { fault: Fault { stage: Stage::Load, message, transient: false }, log_tail: String::new() }
}

fn tail(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(STDERR_BYTES)..]).trim().to_owned()
}
