//! Measures the blocks of a gate: starts base, candidate and the base again, and puts every load on each in turn.
//!
//! A load is `paceline run` as a child process on the generator's cores. The windows of a block go
//! forth and back through the sides, so that a steady drift of the machine cancels out.

use super::settings::{Settings, SettingsLoad};
use crate::commands::experiment::child::{MAX_RECORD_BYTES, check, run_on};
use crate::commands::experiment::settled_cores::SettledCores;
use crate::exit::{self, Complaint};
use crate::lab_folders::shepherd_command;
use paceline_catalogue::{CoresWanted, set_profiling_variables};
use paceline_experiment::{
    BlockSide, EndedServer, LoadError, LoadResult, LoadServerUse, MovedCores, RegressionBench, SIDES,
};
use paceline_host::shepherd::TrackingMethod;
use paceline_host::{CoreTicks, CpuQuota, Interrupt};
use paceline_job::format_duration;
use paceline_lab::{CommandLaunch, Cores, LaunchError, RunningServer, Starter};
use paceline_record::{Pinning, Run};
use paceline_run::wall_clock;
use paceline_stats::plural;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Orders of the sides: each side is equally often first, second and last.
const ORDERS: [[usize; SIDES]; 6] = [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1], [2, 0, 1], [1, 0, 2]];
/// The warm-up of a window: the connections are opened and used once.
const WINDOW_WARM_UP: Duration = Duration::from_millis(200);
/// How long the cores are observed to find the idlest.
const IDLE_SAMPLE: Duration = Duration::from_secs(1);
/// The machine is quiet if its cores were busy for less than this share of a second.
const QUIET_SHARE: f64 = 0.25;
/// The longest wait for a quiet machine between two blocks.
const QUIET_WAIT: Duration = Duration::from_secs(10);
/// After this many repetitions in a row that were disturbed again, the machine counts as always busy.
const MAX_FUTILE: u32 = 6;

/// A side's server.
pub struct SideServer {
    /// Its revision, for people.
    pub shown: String,
    /// The folder in which it starts.
    pub folder: PathBuf,
}

/// A load on the server of a side.
#[derive(Clone, Copy)]
struct SideLoad<'a> {
    side: usize,
    load: &'a SettingsLoad,
    /// Of the warm-up and the window.
    lengths: [Duration; 2],
    /// The name of its record.
    record: &'a str,
}

/// Measures blocks.
pub struct Bench<'a> {
    settings: &'a Settings,
    sides: [SideServer; SIDES],
    starter: Starter,
    /// The number of cores that this process may use.
    allowed: usize,
    pinning: Pinning,
    cores: SettledCores,
    records: PathBuf,
    interrupt: Interrupt,
    begun: Instant,
    quota: Option<CpuQuota>,
    /// Repetitions in a row that were disturbed again.
    futile: Cell<u32>,
    /// The loads that are not measured, because the base does not have them.
    left_out: Vec<usize>,
}

impl<'a> Bench<'a> {
    pub fn new(
        settings: &'a Settings,
        sides: [SideServer; SIDES],
        records: PathBuf,
        interrupt: Interrupt,
    ) -> anyhow::Result<Self> {
        let cores = Cores::allowed()
            .map_err(|error| Complaint::environment(format!("cannot read the list of cores: {error}")))?;
        let (allowed, quota) = (cores.numbers().len(), CpuQuota::now());
        let pinning = within_quota(cores, quota).split(CoresWanted::Half);
        let starter = Starter {
            shepherd: shepherd_command()?,
            guard: TrackingMethod::Namespace,
            logs: Some(records.clone()),
            scratch: records.join("checks"),
            interrupt,
            user: None,
        };
        Ok(Self {
            settings,
            sides,
            starter,
            allowed,
            pinning,
            cores: SettledCores::new(Some(settings.budget), interrupt),
            records,
            interrupt,
            begun: Instant::now(),
            quota,
            futile: Cell::new(0),
            left_out: Vec::new(),
        })
    }

    /// Facts about this machine that the reader must know.
    pub fn notes(&self) -> Vec<String> {
        let one_core = (!self.pinning.disjoint).then(|| {
            "One core: server and load generator share it, so that rates and times include the generator's work; \
             CPU per request is the server's alone."
                .to_owned()
        });
        let quota = self.quota.map(|quota| {
            let chosen = if cores_within(quota) < self.allowed { self.chosen_cores() } else { String::new() };
            format!("CPU quota of this container: {:.2} of {} cores.{chosen}", quota.cores, self.allowed)
        });
        one_core.into_iter().chain(quota).collect()
    }

    /// The cores to which the quota limits server and generator, as a sentence.
    fn chosen_cores(&self) -> String {
        let [server, generator] = [&self.pinning.server, &self.pinning.generator].map(|cores| {
            let numbers: Vec<String> = cores.iter().map(u32::to_string).collect();
            format!("{} {}", plural(numbers.len() as f64, "core", "cores"), numbers.join(", "))
        });
        format!(" The server has {server} and the load generator {generator}, the idlest within the quota.")
    }

    /// The time that a quota stopped the processes of this container during the gate.
    pub fn closing_notes(&self) -> Vec<String> {
        let throttled = self.quota.zip(CpuQuota::now()).map(|(before, after)| {
            let stopped_s = after.throttled_s - before.throttled_s;
            format!("The CPU quota stopped this container for {stopped_s:.1} s during the gate.")
        });
        throttled.into_iter().collect()
    }

    /// Starts the server of a side with these variables, and with those of the caller that it gets.
    fn start(
        &self,
        side: usize,
        number: impl fmt::Display,
        (env, pass_env): (&BTreeMap<String, String>, &[String]),
    ) -> Result<RunningServer, LoadError> {
        let server = &self.sides[side];
        let (path, status) = &self.settings.ready;
        let name = ["base", "candidate", "control"][side];
        let launched = self.starter.launch_command(&CommandLaunch {
            id: &format!("{}-{number}", wall_clock::new_id()),
            name,
            command: &self.settings.start,
            folder: &server.folder,
            env,
            pass_env,
            cores: &self.pinning.server,
            ready: (path, *status),
            start_timeout: self.settings.start_timeout,
        });
        launched.map_err(|error| match error {
            LaunchError::Interrupted => LoadError::Interrupted,
            LaunchError::Fault { fault, log_tail } => {
                let log: String = log_tail.lines().map(|line| format!("\n  | {line}")).collect();
                LoadError::Failed(format!(
                    "the server of {} does not start: {}{log}",
                    server.shown, fault.message
                ))
            }
        })
    }

    /// Whether the machine is busy all the time: repeating and waiting cost blocks, and help only against a neighbour
    /// that comes and goes.
    fn is_always_busy(&self) -> bool {
        self.futile.get() >= MAX_FUTILE
    }

    /// Warms a server up with a load after its start, unless the settings have no warm-up.
    fn warm_up(
        &self,
        server: &mut RunningServer,
        side: usize,
        load: &SettingsLoad,
        record: &str,
    ) -> Result<(), LoadError> {
        if self.settings.warm_up.is_zero() {
            return Ok(());
        }
        let lengths = [Duration::ZERO, self.settings.warm_up];
        self.record(server, SideLoad { side, load, lengths, record }, None).map(drop)
    }

    /// The load of a window.
    fn measured<'b>(&self, side: usize, load: &'b SettingsLoad, record: &'b str) -> SideLoad<'b> {
        SideLoad { side, load, lengths: [WINDOW_WARM_UP, self.settings.window], record }
    }

    /// One window on one side, repeated once if the generator or the machine was disturbed, and up to twice if the host
    /// moved the cores.
    fn window(&self, server: &mut RunningServer, load: SideLoad<'_>) -> Result<LoadResult, LoadError> {
        let mut attempt = 1;
        loop {
            let (result, is_moved) =
                self.cores.measured(&self.pinning, attempt, || self.run(server, load))?;
            let is_void = result.void_because().is_some();
            let is_disturbed = is_void && attempt == 1 && !self.is_always_busy();
            if !(is_moved || is_disturbed) {
                match (is_void, attempt) {
                    (false, _) => self.futile.set(0),
                    (true, 1) => {}
                    (true, _) => self.futile.set(self.futile.get() + 1),
                }
                return Ok(result);
            }
            attempt += 1;
        }
    }

    fn run(&self, server: &mut RunningServer, load: SideLoad<'_>) -> Result<LoadResult, LoadError> {
        let before_s = server.cpu_s();
        let run = self.record(server, load, None)?;
        let mut result = LoadResult::from_run(&run);
        result.server = Some(LoadServerUse {
            cpu_s: server.cpu_s() - before_s,
            over_s: result.load_s,
            cores: self.pinning.server.len() as u32,
            ..LoadServerUse::default()
        });
        Ok(result)
    }

    /// The record of a load, with one more flag.
    fn record(
        &self,
        server: &mut RunningServer,
        load: SideLoad<'_>,
        more: Option<String>,
    ) -> Result<Run, LoadError> {
        let path = self.records.join(format!("{}.json", load.record));
        let url = format!("http://{}{}", server.address, load.load.path);
        let mut arguments = arguments(load.load, &url, load.lengths, &path.to_string_lossy());
        arguments.extend(more);
        let (cores, folder) = (self.pinning.generator.clone(), Some(load.load.folder.clone()));
        let output = run_on(cores, folder, arguments, self.interrupt)?;
        if let Some(ended) = server.ended() {
            let shown = &self.sides[load.side].shown;
            let log: String = server.log_tail().lines().map(|line| format!("\n  | {line}")).collect();
            exit::say(&format!("the server of {shown} ended with {ended} under {}{log}", load.load.name));
            return Err(LoadError::ServerEnded(ended.to_string()));
        }
        check(&output, self.interrupt)?;
        let failed = |why: String| LoadError::Failed(format!("cannot read {}: {why}", path.display()));
        let json =
            paceline_files::read_text(&path, MAX_RECORD_BYTES).map_err(|error| failed(error.to_string()))?;
        paceline_record::read_run(&json).map_err(|error| failed(error.to_string()))
    }

    /// The load of [`profiled`](Self::profiled), by name.
    pub fn profiled_load(&self) -> &str {
        self.first_load().map_or("", |load| &load.name)
    }

    /// The first load that both sides have.
    fn first_load(&self) -> Option<&SettingsLoad> {
        let mut loads = self.settings.loads.iter().enumerate();
        loads.find(|(index, _)| !self.left_out.contains(index)).map(|(_, load)| load)
    }

    /// Profiles a side under the first load, in a launch that is no part of the result. Its flame graph is written to
    /// a file. The record has the profile, or why there is none.
    pub fn profiled(&self, side: usize, flame_graph: &Path) -> Result<Run, LoadError> {
        let load = self.first_load();
        let load = load.ok_or_else(|| LoadError::Failed("the base has none of the loads".to_owned()))?;
        // The variables of the caller are written out, so that those of runtimes can be added to.
        let passed =
            self.settings.pass_env.iter().filter_map(|name| Some((name.clone(), std::env::var(name).ok()?)));
        let mut env: BTreeMap<String, String> = passed.collect();
        env.extend(self.settings.env.clone());
        set_profiling_variables(&mut env);
        let mut server = self.start(side, "profile", (&env, &[]))?;
        let (warm_up, window) = (format!("profile-{side}-warm-up"), format!("profile-{side}"));
        let flame_graph = std::path::absolute(flame_graph)
            .map_err(|error| LoadError::Failed(format!("{}: {error}", flame_graph.display())))?;
        let flag = format!("--profile={}", flame_graph.display());
        let run = self
            .warm_up(&mut server, side, load, &warm_up)
            .and_then(|()| self.record(&mut server, self.measured(side, load, &window), Some(flag)));
        server.stop().map_err(|error| LoadError::Failed(format!("cannot stop a server: {error}")))?;
        run
    }

    /// All loads on servers that run.
    fn measure(
        &self,
        servers: &mut [RunningServer; SIDES],
        order: [usize; SIDES],
        number: usize,
    ) -> Result<[BlockSide; SIDES], LoadError> {
        let mut sides = servers.each_ref().map(|server| BlockSide {
            start_ns: Some(server.startup.first_answer_ns),
            ..BlockSide::default()
        });
        for (index, load) in self.settings.loads.iter().enumerate() {
            for side in &mut sides {
                side.windows.push(Vec::new());
            }
            if self.left_out.contains(&index) {
                continue;
            }
            let warm_ups = order.map(|side| (side, None));
            let windows = order.into_iter().chain(order.into_iter().rev()).enumerate();
            let windows = windows.map(|(turn, side)| (side, Some(turn)));
            for (side, turn) in warm_ups.into_iter().chain(windows) {
                if sides[side].ended.is_some() {
                    continue;
                }
                let turn_name = turn.map_or_else(|| "warm-up".to_owned(), |turn| turn.to_string());
                let record = format!("{number:02}-{index}-{side}-{turn_name}");
                let server = &mut servers[side];
                let result = match turn {
                    None => self.warm_up(server, side, load, &record).map(|()| None),
                    Some(_) => self.window(server, self.measured(side, load, &record)).map(Some),
                };
                match result {
                    Ok(result) => sides[side].windows[index].extend(result),
                    Err(LoadError::ServerEnded(how)) => {
                        sides[side].ended = Some(EndedServer { load: index, how });
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        for (side, server) in sides.iter_mut().zip(servers.iter_mut()) {
            side.rss_bytes = side.ended.is_none().then(|| server.sample().rss_bytes);
        }
        Ok(sides)
    }
}

impl RegressionBench for Bench<'_> {
    fn block(&mut self, number: usize) -> Result<[BlockSide; SIDES], LoadError> {
        let order = ORDERS[number % ORDERS.len()];
        let variables = (&self.settings.env, &self.settings.pass_env[..]);
        let mut started: [Option<RunningServer>; SIDES] = [None, None, None];
        for side in order {
            started[side] = Some(self.start(side, number, variables)?);
        }
        let [Some(base), Some(candidate), Some(control)] = started else {
            return Err(LoadError::Failed("a side was not started".to_owned()));
        };
        let mut servers = [base, candidate, control];
        let measured = self.measure(&mut servers, order, number);
        for server in servers {
            server.stop().map_err(|error| LoadError::Failed(format!("cannot stop a server: {error}")))?;
        }
        if self.interrupt.requested() {
            return Err(LoadError::Interrupted);
        }
        measured
    }

    fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn moved_cores(&self) -> Option<MovedCores> {
        Some(self.cores.moved()).filter(|moved| *moved != MovedCores::default())
    }

    fn leave_out(&mut self, load: usize, why: &str) {
        exit::say(why);
        self.left_out.push(load);
    }

    fn wait_for_quiet(&mut self, limit: Duration) {
        if self.is_always_busy() {
            return;
        }
        let until = Instant::now() + limit.min(QUIET_WAIT);
        while Instant::now() < until && !self.interrupt.requested() {
            let before = CoreTicks::now();
            // The share of a second is what is waited for.
            std::thread::sleep(Duration::from_secs(1));
            let cores = CoreTicks::now().since(&before);
            let busy_s: f64 = cores.iter().map(|core| core.busy_s + core.steal_s).sum();
            let over_s: f64 = cores.iter().map(|core| core.over_s).sum();
            if busy_s < QUIET_SHARE * over_s {
                return;
            }
        }
    }
}

/// The number of cores that a quota is enough for, rounded up.
fn cores_within(quota: CpuQuota) -> usize {
    quota.cores.ceil().max(1.0) as usize
}

/// As many of the cores as the quota is enough for, the idlest: a server with a thread for each of more cores would be
/// stopped by the quota, and its figures would be those of the quota.
fn within_quota(cores: Cores, quota: Option<CpuQuota>) -> Cores {
    let Some(most) = quota.map(cores_within).filter(|most| *most < cores.numbers().len()) else {
        return cores;
    };
    let before = CoreTicks::now();
    // What the cores do in this time is what is measured.
    std::thread::sleep(IDLE_SAMPLE);
    cores.idlest(most, &CoreTicks::now().since(&before))
}

/// The arguments of `paceline run`.
fn arguments(load: &SettingsLoad, url: &str, [warm_up, window]: [Duration; 2], record: &str) -> Vec<String> {
    let mut arguments: Vec<String> =
        ["run", url, "--format", "json", "--output", record].map(str::to_owned).to_vec();
    let mut add = |flag: &str, value: String| arguments.extend([flag.to_owned(), value]);
    add("--connections", load.connections.to_string());
    add("--warmup", format_duration(warm_up));
    add("--duration", format_duration(window));
    if let Some(rate) = load.rate_per_s {
        add("--rate", rate.to_string());
    }
    arguments.extend(load.flags.iter().cloned());
    arguments
}
