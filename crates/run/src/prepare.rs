//! Turns a job into a run that can start: everything is checked and looked up, but not started.

use crate::body_file::BodyFile;
use crate::grpc::Calls;
use crate::replay::{read_log, replay};
use crate::schedule::read_schedule;
use crate::server::ServerWatch;
use crate::server_chain::ServerChain;
use crate::server_metrics::{MetricsReader, MetricsSources};
use crate::sources::{asked_sources, sources};
use crate::target::Destination;
use crate::{Inputs, RunError, requests, websocket};
use paceline_engine::{Settings, scheduled_in_window};
use paceline_host::{QuietCpu, system};
use paceline_job::{Bound, Job, LoadModel, PaceChoice, PaceKind, Shape};
use paceline_judge::gate::Gate;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::Path;
use std::sync::Arc;

/// Descriptors that a run needs in addition to its connections, those of each thread and the files of bodies: standard
/// streams, other files.
const DESCRIPTORS_BESIDE: u64 = 16;
/// Descriptors that each thread needs in addition to its connections: an epoll, and at the ends of the window its
/// schedstat.
const DESCRIPTORS_PER_THREAD: u64 = 2;
/// Most threads that may be started to hold more connections than fit into one descriptor table.
const MAX_TABLES: u64 = 128;

/// A job that is ready to be carried out.
#[derive(Debug)]
pub struct Prepared {
    /// Settings for the engine, which contain the job.
    pub settings: Settings,
    /// The address of the target.
    pub(crate) destination: Destination,
    /// The calls of gRPC, if the requests are calls.
    pub(crate) calls: Option<Calls>,
    /// The files of bodies that are read while they are sent.
    pub(crate) body_files: Vec<Arc<BodyFile>>,
    /// The cores this process may run on.
    pub(crate) cores: Vec<u32>,
    /// Settings of the machine that are held during the run.
    pub(crate) held: Vec<String>,
    /// The gates that the run is checked against.
    pub gates: Vec<Gate>,
    /// Notices for the user before the run starts.
    pub notices: Vec<String>,
    /// Keeps the processors out of idle states.
    quiet_cpu: Option<QuietCpu>,
    /// The server, if it is watched.
    pub(crate) server: Option<ServerChain>,
    /// Reads what the server reports of itself.
    pub(crate) metrics: Option<MetricsReader>,
}

impl Prepared {
    /// Checks a job and looks up everything it names. The files that were read are added to `inputs`.
    ///
    /// # Errors
    /// [`RunError`] with the problem.
    pub fn new(mut job: Job, gates: Vec<Gate>, inputs: &mut Inputs) -> Result<Self, RunError> {
        let mut notices: Vec<String> = read_trace(&mut job, inputs)?.into_iter().collect();
        job.check()?;
        let local = asked_sources(job.source.as_deref())?;
        let destination = Destination::find(&job, &local, inputs)?;
        // Bodies may have many files, which stay open.
        let descriptor_limit = raise_descriptor_limit();
        let calls = Calls::find(&mut job, &destination, inputs)?;
        let (requests, body_files) = match job.is_websocket() {
            true => (websocket::messages(&job, inputs)?, Vec::new()),
            false => requests::requests(&job, calls.as_ref(), inputs)?,
        };
        notices.extend(body_files.iter().filter_map(|file| file.notice()));
        let requests = Arc::new(requests);
        let cores = allowed_cores();
        let beside = DESCRIPTORS_BESIDE + body_files.len() as u64;
        let threads = threads_for(job.connections, job.threads, beside, descriptor_limit, &mut notices)?;
        let thread_count = threads.unwrap_or(job.threads);
        let mut prepared = Self {
            settings: Settings {
                address: destination.address.clone(),
                spread: Arc::clone(&destination.spread),
                tls: destination.tls.clone(),
                requests,
                scripts: None,
                request_log: None,
                thread_addresses: Arc::from([]),
                threads: thread_count,
                pace: pace(&job, thread_count, &cores),
                sources: sources(local, &destination.addresses(), job.connections),
                own_descriptors: threads.is_some(),
                seed: job.seed.unwrap_or_else(random_seed),
                job,
            },
            destination,
            calls,
            body_files,
            cores,
            held: Vec::new(),
            gates,
            notices,
            quiet_cpu: None,
            server: None,
            metrics: None,
        };
        replay(&mut prepared.settings, inputs)?;
        prepared.settings.check().map_err(|error| RunError::usage(error.to_string()))?;
        check_any_due(&prepared.settings)?;
        prepared.hold_quiet_cpu();
        Ok(prepared)
    }

    /// Watches the CPU and memory of a server: of the given processes, or of those that listen at the target's address on
    /// this machine; and of the processes behind them.
    ///
    /// # Errors
    /// [`RunError`] if one of the processes does not exist.
    pub fn watch_server(&mut self, pids: &[u32]) -> Result<(), RunError> {
        let front = match pids {
            [] if self.settings.job.proxy.is_some() => None,
            [] => {
                let addresses = self.destination.addresses();
                let front = addresses.iter().find_map(ServerWatch::of_address);
                if front.is_none() {
                    self.notices.extend(addresses.iter().find_map(ServerWatch::not_found));
                }
                front
            }
            pids => Some(ServerWatch::of_processes(pids)?),
        };
        self.server = front.map(ServerChain::from_front);
        Ok(())
    }

    /// Reads what the server reports of itself during the run. Returns the series that a first scrape found.
    ///
    /// # Errors
    /// [`RunError`] if a choice of series is not valid, or the log cannot be read. A scrape that fails is a notice.
    pub fn read_metrics(&mut self, sources: &MetricsSources) -> Result<Vec<String>, RunError> {
        let reader = MetricsReader::open(sources)?;
        self.notices.extend(reader.notice());
        let series = reader.series();
        self.metrics = Some(reader);
        Ok(series)
    }

    /// The processes of the watched server with their descendants; none if no server is watched.
    pub fn server_processes(&self) -> Vec<i32> {
        self.server.as_ref().map_or_else(Vec::new, ServerChain::processes)
    }

    /// `--quiet-cpu`. It is a condition of the result, so the record contains it.
    fn hold_quiet_cpu(&mut self) {
        if !self.settings.job.quiet_cpu {
            return;
        }
        match QuietCpu::hold(Path::new("/")) {
            Ok(held) => {
                self.held.push("CPU idle states disabled (/dev/cpu_dma_latency = 0)".to_owned());
                self.quiet_cpu = Some(held);
            }
            Err(error) => {
                self.notices.push(format!("--quiet-cpu: {error}; continuing without --quiet-cpu"));
            }
        }
    }
}

/// Refuses an open loop in whose window no request is due: at a low rate the first one may come later.
fn check_any_due(settings: &Settings) -> Result<(), RunError> {
    let (LoadModel::Open { shape, .. }, Bound::Duration(window)) = (&settings.job.load, settings.job.window)
    else {
        return Ok(());
    };
    let per_s = shape.offered_per_s(settings.job.warmup, window);
    // Above this a window without a request is impossible, or too unlikely to walk the schedule for.
    let may_be_empty = per_s * window.as_secs_f64() < 100.0;
    let due = may_be_empty.then(|| scheduled_in_window(settings, 1)).flatten();
    match due {
        Some(counts) if counts.iter().sum::<u64>() == 0 => {
            let window_s = window.as_secs_f64();
            let hint = match per_s > 0.0 {
                true => format!(
                    "use a longer window, for example -d {:.0}s, or a higher rate (-r)",
                    (10.0 / per_s).ceil()
                ),
                false => "use a longer window (-d), or a shorter warm-up (--warmup)".to_owned(),
            };
            Err(RunError::usage(format!("no request is due in the window of {window_s} s")).hint(hint))
        }
        _ => Ok(()),
    }
}

/// Reads the send times of a schedule or a log that a job names, unless they have been read already. Returns a notice
/// for the user about the parts of a log that are not replayed.
///
/// # Errors
/// [`RunError::Usage`] with the problem.
pub fn read_trace(job: &mut Job, inputs: &mut Inputs) -> Result<Option<String>, RunError> {
    let Job { load: LoadModel::Open { shape: Shape::Trace(trace), .. }, requests, .. } = job else {
        return Ok(None);
    };
    let Some(file) = trace.file.as_ref().filter(|_| trace.moments.is_empty()) else { return Ok(None) };
    let (read, notice) = match &trace.replay {
        Some(spec) => read_log(file, spec.clone(), requests, inputs)?,
        None => (read_schedule(file, inputs)?, None),
    };
    *trace = read;
    Ok(notice)
}

/// Polling is fair only if it takes no core from the server: if this process is restricted to some of several cores,
/// and has one for each thread.
fn pace(job: &Job, threads: u32, cores: &[u32]) -> PaceKind {
    let has_own_cores = cores.len() < online_cores() && cores.len() >= threads as usize;
    match job.pace {
        PaceChoice::Spin => PaceKind::Spin,
        PaceChoice::Sleep => PaceKind::Sleep,
        PaceChoice::Auto if job.load.is_open() && has_own_cores => PaceKind::Hybrid,
        PaceChoice::Auto => PaceKind::Sleep,
    }
}

/// A seed from the system's random source, through the standard library's hash keys; below 2^53, so that every JSON
/// reader keeps it exact.
fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish() >> 11
}

/// Raises the soft limit of open files to the hard one. Returns the limit in effect.
fn raise_descriptor_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    // If the system refuses, the limit is unchanged.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Number of threads needed to hold the connections if one descriptor table is too small: each thread gets a separate
/// table, and the limit counts per table. Each has `beside` descriptors of the process. `None` if one is enough.
fn threads_for(
    connections: u32,
    threads: u32,
    beside: u64,
    descriptor_limit: u64,
    notices: &mut Vec<String>,
) -> Result<Option<u32>, RunError> {
    let of_threads = u64::from(threads) * DESCRIPTORS_PER_THREAD;
    if u64::from(connections) + of_threads + beside <= descriptor_limit {
        return Ok(None);
    }
    let room = descriptor_limit.saturating_sub(beside + DESCRIPTORS_PER_THREAD);
    let needed = u64::from(connections).div_ceil(room.max(1));
    if room == 0 || needed > MAX_TABLES {
        if room == 0 {
            let least = beside + DESCRIPTORS_PER_THREAD + 1;
            return Err(RunError::environment(format!(
                "the limit of open files is {descriptor_limit}, too low for a run: even one connection needs {least}"
            ))
            .hint("raise it: `ulimit -n 1024`, as root if the hard limit is too low as well"));
        }
        let most = room * MAX_TABLES;
        return Err(RunError::environment(format!(
            "{connections} connections exceed the limit of open files: with {descriptor_limit} files per thread, the maximum of \
             {MAX_TABLES} threads can hold {most} connections"
        ))
        .hint("raise the hard limit (`ulimit -Hn`), or lower -c"));
    }
    let needed = u32::try_from(needed).unwrap_or(u32::MAX);
    if needed > threads {
        notices.push(format!(
            "using {needed} threads instead of {threads}, because each thread can open only \
             {descriptor_limit} files and hold {room} connections"
        ));
    }
    Ok(Some(needed.max(threads)))
}

/// The cores that this process may run on; none if they are not known.
pub fn allowed_cores() -> Vec<u32> {
    system::affinity().unwrap_or_default()
}

/// Processors online, whether this process may use them or not.
fn online_cores() -> usize {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    crate::environment::cores_in(online.trim()).map_or(1, |cores| cores as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_leave_descriptors_for_their_own_files() {
        let mut notices = Vec::new();
        let mut threads = |connections, threads| {
            threads_for(connections, threads, DESCRIPTORS_BESIDE, 1_024, &mut notices).unwrap()
        };
        assert_eq!((threads(1_000, 4), threads(1_006, 1)), (None, None));
        // Over the limit with the epolls of 32 threads, and far below it with a table for each thread.
        assert_eq!((threads(1_000, 5), threads(1_000, 32)), (Some(5), Some(32)));
        assert_eq!((threads(1_007, 1), threads(2_012, 1), threads(2_013, 2)), (Some(2), Some(2), Some(3)));
        assert_eq!(threads(128 * 1_006, 1), Some(128));
        assert!(notices[0].starts_with("using 2 threads instead of 1"), "{notices:?}");
        let threads =
            |connections, beside, limit| threads_for(connections, 1, beside, limit, &mut Vec::new());
        assert!(threads(128 * 1_006 + 1, DESCRIPTORS_BESIDE, 1_024).is_err());
        let Err(RunError::Environment(problem)) = threads(1, DESCRIPTORS_BESIDE, 18) else { panic!() };
        assert!(!problem.hint.unwrap().contains("-c"), "fewer connections do not help");
        // With a hundred files of bodies, which each table has.
        let needed = |connections| threads(connections, DESCRIPTORS_BESIDE + 100, 1_024).unwrap();
        assert_eq!((needed(906), needed(907)), (None, Some(2)));
        assert_eq!((needed(1_812), needed(1_813)), (Some(2), Some(3)));
    }
}
