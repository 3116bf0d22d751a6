//! The generator's own health: CPU time and scheduling of its threads and cores between the beginning and the end of
//! the window.
//!
//! The engine reports phases to it through `follow`, and directly in the self-test. `outcome.rs` puts the figures into
//! the record; the verdicts judge whether they make a run invalid. Between the two ends of the window it reads no
//! counter.

use crate::body_file::BodyFile;
use crate::energy::EnergyWatch;
use crate::events::PhaseEventWriter;
use crate::free_resources::Sockets;
use crate::server_chain::ServerChain;
use paceline_engine::kernel::KernelClock;
use paceline_engine::{Nanos, Observer, Phase};
use paceline_host::{
    CoreFrequencies, CoreTicks, KernelSnapshot, MemoryAccount, SuspendedTime, ThrottleCounts,
    WatchedProcesses,
};
use paceline_record::{
    CoreFrequency, CoreTime, KernelCounts, MemoryUse, PackageEnergy, ServerUse, Throttling,
};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

/// CPU time and scheduling of one thread, since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThreadUse {
    /// User CPU time, in seconds.
    pub user_s: f64,
    /// System CPU time, in seconds.
    pub system_s: f64,
    /// Time runnable but not running, in seconds.
    pub run_delay_s: f64,
    /// Voluntary switches: it gave up its core.
    pub voluntary_switches: u64,
    /// Involuntary switches: it was preempted.
    pub involuntary_switches: u64,
}

impl ThreadUse {
    /// The use of the calling thread, from getrusage(2) and its schedstat.
    fn now() -> Self {
        // SAFETY: rusage is plain old data, for which zeroes are a valid value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` is a valid rusage to write to; every Linux since 2.6.26 supports RUSAGE_THREAD.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Self {
            user_s: seconds(usage.ru_utime),
            system_s: seconds(usage.ru_stime),
            run_delay_s: run_delay_s().unwrap_or(0.0),
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
        }
    }

    /// The use since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user_s: self.user_s - earlier.user_s,
            system_s: self.system_s - earlier.system_s,
            run_delay_s: self.run_delay_s - earlier.run_delay_s,
            voluntary_switches: self.voluntary_switches - earlier.voluntary_switches,
            involuntary_switches: self.involuntary_switches - earlier.involuntary_switches,
        }
    }
}

/// The second field of schedstat: nanoseconds spent waiting on a run queue (kernel
/// Documentation/scheduler/sched-stats).
fn run_delay_s() -> Option<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1e9)
}

/// Observes a run from inside the generator: reads the kernel's counters when the engine reports a phase.
#[derive(Debug)]
pub struct Health {
    events: Option<PhaseEventWriter>,
    /// Each thread at the beginning and at the end of the window.
    threads: Mutex<Vec<[ThreadUse; 2]>>,
    /// Each core at the beginning and at the end of the window.
    cores: Mutex<[Option<CoreTicks>; 2]>,
    /// The cores in use: the generator's, and the server's if it is watched.
    used_cores: Vec<u32>,
    /// Their frequencies at the beginning and at the end of the window.
    frequencies: Mutex<[CoreFrequencies; 2]>,
    /// The counts of this process's CPU limits at the beginning and at the end of the window.
    throttles: Mutex<[Option<ThrottleCounts>; 2]>,
    /// The machine's sockets at the end of the window, including those of this process.
    sockets: OnceLock<Sockets>,
    /// The machine's overflows of listen queues before the run.
    overflows_before: Option<u64>,
    /// How long the machine was suspended until the run began.
    suspended_before: SuspendedTime,
    /// The kernel's counts before the run, and at the end of the window.
    kernel_before: KernelSnapshot,
    kernel_after: OnceLock<KernelSnapshot>,
    /// The memory account of the server at the beginning and at the end of the window.
    memory: Mutex<[Option<MemoryAccount>; 2]>,
    /// The server, if it is watched.
    server: Option<ServerChain>,
    /// The energy of the machine, if it is counted.
    energy: Option<EnergyWatch>,
    /// The files of bodies, which count their waits for the disk in the window.
    body_files: Vec<Arc<BodyFile>>,
}

impl Health {
    /// Watches a run of this number of threads, and writes its phases to `events`.
    pub fn new(threads: u32, events: Option<PhaseEventWriter>) -> Self {
        let threads = Mutex::new(vec![Default::default(); threads as usize]);
        Self {
            events,
            threads,
            cores: Mutex::default(),
            used_cores: Vec::new(),
            frequencies: Mutex::default(),
            throttles: Mutex::default(),
            sockets: OnceLock::new(),
            overflows_before: paceline_host::port::listen_overflows(),
            suspended_before: SuspendedTime::now(),
            kernel_before: KernelSnapshot::now(),
            kernel_after: OnceLock::new(),
            memory: Mutex::default(),
            server: None,
            energy: None,
            body_files: Vec::new(),
        }
    }

    /// Also watches the server.
    #[must_use]
    pub(crate) fn with_server(self, server: Option<ServerChain>) -> Self {
        Self { server, ..self }
    }

    /// Also counts the energy of the machine below `root` (`/`), if a server is watched, which was set before. The program
    /// that reads the phases, such as the lab in its trials, does it itself.
    #[must_use]
    pub(crate) fn with_energy(self, root: &Path) -> Self {
        let is_counted = self.server.is_some() && self.events.is_none();
        Self { energy: is_counted.then(|| EnergyWatch::begin(root)).flatten(), ..self }
    }

    /// Counts no energy: between the ends of the window nothing reads the counters.
    #[must_use]
    pub(crate) fn without_energy(self) -> Self {
        Self { energy: None, ..self }
    }

    /// Also reads the clock frequency of these cores, and of those of the server, which was set before.
    #[must_use]
    pub(crate) fn with_frequencies(self, cores: &[u32]) -> Self {
        let mut used_cores = cores.to_vec();
        let of_server = self.server.iter().flat_map(ServerChain::cores);
        used_cores.extend(of_server.filter(|core| !cores.contains(core)));
        Self { used_cores, ..self }
    }

    /// Also tells these files when the window begins and ends.
    #[must_use]
    pub(crate) fn with_body_files(self, body_files: &[Arc<BodyFile>]) -> Self {
        Self { body_files: body_files.to_vec(), ..self }
    }

    /// The server's CPU and memory over a window of this many seconds, in which this many requests were sent.
    pub(crate) fn server(&self, window_s: f64, requests: u64) -> Option<ServerUse> {
        self.server.as_ref()?.used(window_s, requests)
    }

    /// The processes of the server, to be sampled during the run.
    pub(crate) fn watched_server(&self) -> Option<WatchedProcesses> {
        self.server.as_ref().map(ServerChain::watched)
    }

    /// The counters of energy, to be read during the run too.
    pub(crate) fn energy_watch(&self) -> Option<EnergyWatch> {
        self.energy.clone()
    }

    /// The energy of the CPU packages over a window of this many seconds, in which this many responses were completed.
    pub(crate) fn energy(&self, window_s: f64, completed: u64) -> Option<PackageEnergy> {
        self.energy.as_ref()?.used(window_s, completed)
    }

    /// The CPU and memory over the window of the processes behind the server.
    pub(crate) fn behind_server(&self, window_s: f64, requests: u64) -> Vec<ServerUse> {
        self.server.as_ref().map_or_else(Vec::new, |server| server.used_behind(window_s, requests))
    }

    /// The Unix sockets to the processes behind the server that are not watched.
    pub(crate) fn unix_sockets(&self) -> Vec<String> {
        self.server.as_ref().map_or_else(Vec::new, ServerChain::unix_sockets)
    }

    /// The use of each thread over the window.
    pub fn by_thread(&self) -> Vec<ThreadUse> {
        let threads = self.threads.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        threads.iter().map(|[start, end]| end.since(start)).collect()
    }

    /// The time of each core of the machine over the window.
    pub fn by_core(&self) -> Vec<CoreTime> {
        let cores = self.cores.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match &*cores {
            [Some(start), Some(end)] => end.since(start),
            _ => Vec::new(),
        }
    }

    /// The clock frequency of the cores in use at both ends of the window; empty if the kernel reports none.
    pub(crate) fn core_frequencies(&self) -> Vec<CoreFrequency> {
        let frequencies = self.frequencies.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let [start, end] = &*frequencies;
        end.since(start)
    }

    /// What a CPU limit of this process's control group cost in the window.
    pub(crate) fn throttling(&self) -> Option<Throttling> {
        let counts = self.throttles.lock().ok()?;
        let [Some(start), Some(end)] = &*counts else { return None };
        end.since(start)
    }

    /// The time for which this machine was suspended since the run began, in seconds; none if it was not.
    pub(crate) fn suspended_s(&self) -> Option<f64> {
        SuspendedTime::now().since_s(self.suspended_before)
    }

    /// Overflows of listen queues on this machine since the run began.
    pub(crate) fn listen_overflows(&self) -> Option<u64> {
        Some(paceline_host::port::listen_overflows()?.saturating_sub(self.overflows_before?))
    }

    /// The kernel's counts from before the run to the end of the window.
    pub(crate) fn kernel(&self) -> Option<KernelCounts> {
        Some(self.kernel_after.get()?.since(&self.kernel_before))
    }

    /// The server's memory limit, and the pressure on memory in the window; its peak is known from its samples.
    pub(crate) fn server_memory(&self) -> Option<MemoryUse> {
        let accounts = self.memory.lock().ok()?;
        let [Some(start), Some(end)] = &*accounts else { return None };
        Some(MemoryUse {
            limit_bytes: end.limit_bytes,
            rss_bytes_peak: None,
            swapped_bytes: end.swapped_bytes.saturating_sub(start.swapped_bytes),
            oom_kills: end.oom_kills.saturating_sub(start.oom_kills),
            group_oom_kills: end.group_oom_kills_since(start),
        })
    }

    /// The machine's sockets when the window ended and the run's connections were open.
    pub(crate) fn sockets(&self) -> Sockets {
        self.sockets.get().copied().unwrap_or_default()
    }
}

/// The end of the window (0 or 1) at which a phase begins.
fn edge(phase: Phase) -> Option<usize> {
    match phase {
        Phase::Window => Some(0),
        Phase::Drain => Some(1),
        Phase::Connect | Phase::Warmup | Phase::End => None,
    }
}

impl Observer for Health {
    fn phase(&self, phase: Phase, at: Nanos) {
        if let Some(events) = &self.events {
            events.write(phase, at.0);
        }
        if let (Some(edge), Ok(mut cores)) = (edge(phase), self.cores.lock()) {
            cores[edge] = Some(CoreTicks::now());
        }
        if let (Some(edge), Ok(mut throttles)) = (edge(phase), self.throttles.lock()) {
            throttles[edge] = Some(ThrottleCounts::now());
        }
        if let (Some(edge), Some(server)) = (edge(phase), &self.server) {
            server.sample(edge);
            if let Ok(mut memory) = self.memory.lock() {
                memory[edge] = Some(server.memory());
            }
        }
        if let (Some(edge), Some(energy)) = (edge(phase), &self.energy) {
            energy.sample(edge, &KernelClock);
        }
        if phase == Phase::Drain {
            self.kernel_after.get_or_init(KernelSnapshot::now);
            self.body_files.iter().for_each(|file| file.end_window());
        }
        // Last: on some machines reading a frequency takes a while.
        if let (Some(edge), Ok(mut frequencies)) = (edge(phase), self.frequencies.lock()) {
            frequencies[edge] = CoreFrequencies::now(Path::new("/"), &self.used_cores);
        }
    }

    fn thread_phase(&self, worker: u32, phase: Phase) {
        if let (Some(edge), Ok(mut threads)) = (edge(phase), self.threads.lock()) {
            threads[worker as usize][edge] = ThreadUse::now();
        }
        if phase == Phase::Window {
            // The coordinating thread may be late, and the first reads are those that most often wait.
            self.body_files.iter().for_each(|file| file.begin_window());
        }
        if phase == Phase::Drain {
            // The first thread reads the counts while the others wait for it: at this point no connection has been
            // closed yet. The coordinating thread may be too late, and always is when a number of requests ends the
            // window.
            self.sockets.get_or_init(Sockets::now);
        }
    }
}

/// Peak resident memory of this process, in bytes (VmHWM of /proc/self/status).
pub fn rss_bytes_peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_thread_has_used_cpu_time() {
        let before = ThreadUse::now();
        let spent = (0..20_000_000u64).fold(0u64, |sum, i| sum.wrapping_add(std::hint::black_box(i)));
        assert!(spent > 0);
        let used = ThreadUse::now().since(&before);
        assert!(used.user_s + used.system_s > 0.0);
        assert!(rss_bytes_peak() > 100_000);
    }

    #[test]
    fn sockets_are_those_of_the_end_of_the_first_thread_s_window() {
        let health = Health::new(2, None);
        health.thread_phase(0, Phase::Window);
        assert_eq!(health.sockets(), Sockets::default());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connections: Vec<_> = (0..20).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
        health.thread_phase(1, Phase::Drain);
        let seen = health.sockets();
        assert!(seen.in_use > 20, "{seen:?}");
        drop((connections, listener));
        health.thread_phase(0, Phase::Drain);
        health.phase(Phase::Drain, Nanos(1));
        assert_eq!(health.sockets(), seen);
    }
}
