//! The server's CPU time, threads and memory over the window, if it runs on this machine.
//!
//! Its processes are given (`--pid`) or found by the port they listen on, and include all their descendants. Their
//! counters are read at both ends of the window; [`crate::Health`] calls this at those times. The samples of each second
//! are taken in `follow/server_series.rs`.

use crate::RunError;
use paceline_engine::Address;
use paceline_host::process::{self, CoreNanos, Stat};
use paceline_host::{ModeTime, ThrottleCounts, port, system};
use paceline_record::{FoundBy, ServerUse};
use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Mutex;

/// A process id.
type ProcessId = i32;

/// Watches the processes of a server.
#[derive(Debug)]
pub struct ServerWatch {
    found_by: FoundBy,
    /// The processes that were given or found, at least one.
    roots: Vec<ProcessId>,
    /// All its processes before the load, if they are looked up then.
    at_start: Vec<ProcessId>,
    /// At the beginning and at the end of the window.
    samples: Mutex<[Option<ProcessSample>; 2]>,
}

/// The counters of the processes at one moment.
#[derive(Debug, Default)]
struct ProcessSample {
    /// The counters of each process.
    processes: BTreeMap<ProcessId, Stat>,
    /// Time on a core of each thread.
    threads: BTreeMap<(ProcessId, ProcessId), CoreNanos>,
    /// CPU limits of the first process.
    throttles: ThrottleCounts,
}

/// Times of the threads between two samples.
#[derive(Debug, Default)]
struct ThreadTimes {
    /// Of all threads.
    total: CoreNanos,
    /// The longest of one thread. The thread that was on a core longest need not be the one that waited longest.
    most: CoreNanos,
}

impl ServerWatch {
    /// Watches processes.
    ///
    /// # Errors
    /// [`RunError`] if one of them does not exist.
    pub(crate) fn of_processes(pids: &[u32]) -> Result<Self, RunError> {
        let root = |pid: &u32| {
            let exists = i32::try_from(*pid).ok().filter(|pid| *pid > 0 && Stat::read(*pid).is_some());
            exists.ok_or_else(|| {
                RunError::usage(format!("--pid {pid}: there is no such process")).hint(
                    "find the process id with `pgrep NAME`, or remove --pid: a server on this machine is found by its port",
                )
            })
        };
        Ok(Self::of_roots(FoundBy::Pid, pids.iter().map(root).collect::<Result<_, _>>()?))
    }

    fn of_roots(found_by: FoundBy, roots: Vec<ProcessId>) -> Self {
        Self { found_by, roots, at_start: Vec::new(), samples: Mutex::default() }
    }

    /// Watches a process that may be behind the server.
    pub(crate) fn behind(pid: ProcessId) -> Self {
        Self::of_roots(FoundBy::Connection, vec![pid])
    }

    /// Adds another process of the same server.
    pub(crate) fn add(&mut self, root: ProcessId) {
        self.roots.push(root);
    }

    /// Looks up its processes now: reading their counters at the beginning of the window then needs no search.
    pub(crate) fn fix_processes(&mut self) {
        self.at_start = self.pids();
    }

    /// The processes that were given or found.
    pub(crate) fn roots(&self) -> &[ProcessId] {
        &self.roots
    }

    /// The cores that its first process may run on; none if they are not known.
    pub(crate) fn cores(&self) -> Vec<u32> {
        self.roots.first().map_or_else(Vec::new, |first| cores_allowed(*first))
    }

    /// All its processes.
    pub(crate) fn pids(&self) -> Vec<ProcessId> {
        process::with_descendants(&self.roots)
    }

    /// Watches the processes that listen at an address; `None` if the address is not on this machine, or the processes
    /// are not visible.
    pub(crate) fn of_address(address: &Address) -> Option<Self> {
        let Address::Tcp(address) = address else { return None };
        is_here(*address).then_some(())?;
        let own = process::own();
        let mut roots = port::servers(address.port());
        roots.retain(|pid| *pid != own);
        roots.sort_unstable();
        (!roots.is_empty()).then(|| Self::of_roots(FoundBy::Port, roots))
    }

    /// Why no server is found at an address where some process listens.
    pub(crate) fn not_found(address: &Address) -> Option<String> {
        let Address::Tcp(address) = address else { return None };
        (is_here(*address) && port::is_held_by_init(address.port())).then(|| {
            format!(
                "the server is not known: process 1 holds port {} for it (socket activation); name it with --pid",
                address.port()
            )
        })
    }

    /// Reads the counters, at one end of the window.
    pub(crate) fn sample(&self, edge: usize) {
        if let Ok(mut samples) = self.samples.lock() {
            let is_fixed = edge == 0 && !self.at_start.is_empty();
            let pids = if is_fixed { self.at_start.clone() } else { self.pids() };
            samples[edge] = Some(ProcessSample::from_pids(&pids));
        }
    }

    /// The use over the window; `None` unless it was sampled at both ends.
    pub(crate) fn used(&self, window_s: f64, requests: u64) -> Option<ServerUse> {
        let samples = self.samples.lock().ok()?;
        let [Some(start), Some(end)] = &*samples else { return None };
        let first = *self.roots.first()?;
        if end.processes.is_empty() || window_s <= 0.0 {
            return None;
        }
        let ticks = end.ticks_since(start, |stat| stat.cpu_ticks, |stat| stat.children_ticks);
        let system_ticks =
            end.ticks_since(start, |stat| stat.system_ticks, |stat| stat.children_system_ticks);
        let modes = ModeTime::from_ticks(ticks, system_ticks);
        let ThreadTimes { total, most } = end.thread_times_since(start);
        // Clock ticks include threads that have ended, but are too coarse for a short window.
        let threads_s = total.on_core_ns as f64 / 1e9;
        let cpu_s = (ticks as f64 / system::ticks_per_s()).max(threads_s);
        let busiest_s = most.on_core_ns as f64 / 1e9;
        let rounding_s = 2.0 * end.processes.len() as f64 / system::ticks_per_s();
        let is_busiest_known = cpu_s - threads_s <= busiest_s.max(rounding_s);
        let modes = modes.divide(cpu_s);
        let major_faults = |sample: &ProcessSample| sample.sum(|stat| stat.major_faults);
        let cores = cores_allowed(first);
        let cores_allowed = cores.len().max(1) as u32;
        Some(ServerUse {
            found_by: self.found_by,
            pid: first.unsigned_abs(),
            name: names_by_use(start, end).unwrap_or_else(|| name_of(first)),
            processes: end.processes.len() as u32,
            threads: end.threads.len() as u32,
            cores_allowed,
            cpu_s,
            user_s: modes.map(|modes| modes.user_s),
            system_s: modes.map(|modes| modes.system_s),
            cpu_ns_per_request: cpu_s * 1e9 / (requests as f64).max(1.0),
            utilization: cpu_s / window_s / f64::from(cores_allowed),
            busiest_thread_utilization: is_busiest_known.then_some(busiest_s / window_s),
            rss_bytes: end.sum(|stat| stat.rss_pages) * system::page_bytes(),
            rss_bytes_before: None,
            rss_bytes_peak: None,
            cores,
            run_delay_s: Some(total.run_delay_ns as f64 / 1e9),
            most_delayed_thread_share: Some(most.run_delay_ns as f64 / 1e9 / window_s),
            major_faults: Some(major_faults(end).saturating_sub(major_faults(start))),
            memory: None,
            throttling: end.throttles.since(&start.throttles),
        })
    }
}

/// Whether an address is on this machine: no other can be bound to.
pub(crate) fn is_here(address: SocketAddr) -> bool {
    UdpSocket::bind(at_any_port(address)).is_ok()
}

/// The address with a port that the kernel chooses. A link-local address keeps its interface: it cannot be bound to
/// without one.
fn at_any_port(mut address: SocketAddr) -> SocketAddr {
    address.set_port(0);
    address
}

/// The increase since `before`; the whole value if there is none.
fn since(now: u64, before: Option<u64>) -> u64 {
    now.saturating_sub(before.unwrap_or(0))
}

impl ProcessSample {
    fn from_pids(pids: &[ProcessId]) -> Self {
        let mut sample = Self::default();
        let own = process::own();
        sample.throttles =
            pids.first().map_or_else(ThrottleCounts::default, |pid| ThrottleCounts::of_process(*pid));
        for pid in pids.iter().copied().filter(|pid| *pid != own) {
            let Some(stat) = Stat::read(pid) else { continue };
            sample.processes.insert(pid, stat);
            for thread in process::threads(pid) {
                sample.threads.insert((pid, thread), process::core_time(pid, thread).unwrap_or_default());
            }
        }
        sample
    }

    /// CPU time since `start`, in clock ticks: of the processes in this sample, and of those that ended since, such as
    /// a worker that is replaced or a program for each request (CGI). Each process has its own time, and that of the
    /// children that it waited for. An ended process that nothing of the server waited for is missing.
    fn ticks_since(&self, start: &Self, own: fn(&Stat) -> u64, children: fn(&Stat) -> u64) -> u64 {
        let sum_since = |of: fn(&Stat) -> u64| -> u64 {
            self.processes.iter().map(|(pid, stat)| since(of(stat), start.processes.get(pid).map(of))).sum()
        };
        // Waiting for a child adds all that it and its own children ever used.
        let ended = start.processes.iter().filter(|(pid, _)| !self.processes.contains_key(*pid));
        let before: u64 = ended.map(|(_, stat)| own(stat) + children(stat)).sum();
        sum_since(own) + sum_since(children).saturating_sub(before)
    }

    /// Times since `start` of the threads in this sample. Those of threads that ended since are missing.
    fn thread_times_since(&self, start: &Self) -> ThreadTimes {
        let mut times = ThreadTimes::default();
        for (thread, now) in &self.threads {
            let before = start.threads.get(thread).copied().unwrap_or_default();
            let on_core_ns = now.on_core_ns.saturating_sub(before.on_core_ns);
            let run_delay_ns = now.run_delay_ns.saturating_sub(before.run_delay_ns);
            times.total.on_core_ns += on_core_ns;
            times.total.run_delay_ns += run_delay_ns;
            times.most.on_core_ns = times.most.on_core_ns.max(on_core_ns);
            times.most.run_delay_ns = times.most.run_delay_ns.max(run_delay_ns);
        }
        times
    }

    /// The sum of a counter over all processes.
    fn sum(&self, of: fn(&Stat) -> u64) -> u64 {
        self.processes.values().map(of).sum()
    }
}

/// The names of the programs that used most of the CPU time between two samples, the largest first: those with at least
/// a tenth of it. `None` if no time was counted.
fn names_by_use(start: &ProcessSample, end: &ProcessSample) -> Option<String> {
    let mut ticks_by_name: BTreeMap<String, u64> = BTreeMap::new();
    for (pid, stat) in &end.processes {
        let before = start.processes.get(pid).map(|stat| stat.cpu_ticks);
        *ticks_by_name.entry(name_of(*pid)).or_default() += since(stat.cpu_ticks, before);
    }
    let all: u64 = ticks_by_name.values().sum();
    let mut sorted: Vec<(String, u64)> = ticks_by_name.into_iter().collect();
    sorted.sort_by_key(|(_, ticks)| std::cmp::Reverse(*ticks));
    let is_large = |(name, ticks): &(String, u64)| !name.is_empty() && *ticks > 0 && ticks * 10 >= all;
    let names: Vec<String> = sorted.into_iter().filter(is_large).map(|(name, _)| name).collect();
    (!names.is_empty()).then(|| names.join(" and "))
}

/// The name of a process' program, cut by the kernel (proc(5), `comm`); empty if the process has ended.
fn name_of(pid: ProcessId) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

/// The cores that a process may run on; none if they are not known.
fn cores_allowed(pid: ProcessId) -> Vec<u32> {
    system::affinity_of(pid).unwrap_or_default()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::process::{Child, Command, Stdio};

    /// A process that is killed when this is dropped, also by a failing assertion.
    pub(crate) struct KilledOnDrop(pub(crate) Child);

    impl KilledOnDrop {
        fn start(name: &str, words: &[&str]) -> Self {
            let child = Command::new(name).args(words).stdin(Stdio::null()).spawn().unwrap();
            let comm = format!("/proc/{}/comm", child.id());
            // The kernel names a process a moment after `spawn` returned.
            while std::fs::read_to_string(&comm).is_ok_and(|comm| comm.trim_end() != name) {
                std::thread::yield_now();
            }
            Self(child)
        }

        pub(crate) fn pid(&self) -> ProcessId {
            self.0.id().cast_signed()
        }
    }

    impl Drop for KilledOnDrop {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn an_address_keeps_its_interface() {
        let address = SocketAddr::V6(std::net::SocketAddrV6::new("fe80::1".parse().unwrap(), 8080, 0, 3));
        let SocketAddr::V6(here) = at_any_port(address) else { panic!("another family") };
        assert_eq!((here.port(), here.scope_id()), (0, 3));
        let local: SocketAddr = "127.0.0.1:8080".parse().unwrap();
        assert_eq!(at_any_port(local).to_string(), "127.0.0.1:0");
        assert!(is_here(local));
    }

    #[test]
    fn a_busy_process_is_found_with_its_busiest_thread() {
        let busy = KilledOnDrop::start("sh", &["-c", "while :; do :; done"]);
        let watch = ServerWatch::of_processes(&[busy.pid().cast_unsigned()]).unwrap();
        watch.sample(0);
        let on_core = || process::core_time(busy.pid(), busy.pid());
        while on_core().is_some_and(|times| times.on_core_ns < 50_000_000) {
            std::thread::yield_now();
        }
        watch.sample(1);
        let used = watch.used(1.0, 10).unwrap();
        assert_eq!((used.processes, used.threads, used.found_by), (1, 1, FoundBy::Pid));
        assert!(used.busiest_thread_utilization > Some(0.01) && used.rss_bytes > 0, "{used:?}");
        assert_eq!(used.name, "sh");
        assert_eq!(watch.used(0.0, 10), None);
    }

    fn stat(cpu_ticks: u64) -> Stat {
        Stat { cpu_ticks, ..Stat::default() }
    }

    #[test]
    fn a_server_has_the_names_of_the_programs_that_work() {
        let idle = KilledOnDrop::start("sleep", &["60"]);
        let busy = KilledOnDrop::start("tail", &["-f", "/dev/null"]);
        let sample = |of_busy| ProcessSample {
            processes: [(idle.pid(), stat(9)), (busy.pid(), stat(of_busy))].into(),
            ..Default::default()
        };
        let names = names_by_use(&sample(0), &sample(50));
        let of_none = names_by_use(&sample(50), &sample(50));
        let start = ProcessSample::default();
        let of_both = names_by_use(&start, &sample(50));
        assert_eq!((names.as_deref(), of_none), (Some("tail"), None));
        assert_eq!(of_both.as_deref(), Some("tail and sleep"));
    }

    #[test]
    fn the_busiest_thread_is_unknown_if_ended_threads_used_more() {
        let sample = |ticks, on_core_ns: u64| {
            let times = CoreNanos { on_core_ns, run_delay_ns: on_core_ns / 2 };
            ProcessSample {
                processes: [(7, stat(ticks))].into(),
                threads: [((7, 7), times)].into(),
                ..Default::default()
            }
        };
        let second = system::ticks_per_s() as u64;
        let used = |ticks, on_core_ns| {
            let samples = Mutex::new([Some(sample(0, 0)), Some(sample(ticks, on_core_ns))]);
            let watch = ServerWatch { samples, ..ServerWatch::of_roots(FoundBy::Pid, vec![7]) };
            let used = watch.used(2.0, 10).unwrap();
            assert_eq!(used.run_delay_s, Some(on_core_ns as f64 / 2e9));
            assert_eq!(used.most_delayed_thread_share, Some(on_core_ns as f64 / 4e9));
            used.busiest_thread_utilization
        };
        assert_eq!(used(2 * second, 2_000_000_000), Some(1.0));
        assert_eq!(used(second, 100_000_000), None, "0.9 s were used by threads that ended");
        assert_eq!(used(1, 1_000_000), Some(0.0005), "an idle server");
    }

    #[test]
    fn processes_that_end_in_the_window_count_if_the_server_waited_for_them() {
        let sample = |own: &[(ProcessId, u64)], children_ticks: u64| {
            let mut processes: BTreeMap<ProcessId, Stat> =
                own.iter().map(|(pid, ticks)| (*pid, stat(*ticks))).collect();
            processes.entry(7).or_default().children_ticks = children_ticks;
            ProcessSample { processes, ..Default::default() }
        };
        let used_ticks = |start, end| {
            let samples = Mutex::new([Some(start), Some(end)]);
            let watch = ServerWatch { samples, ..ServerWatch::of_roots(FoundBy::Pid, vec![7]) };
            (watch.used(2.0, 10).unwrap().cpu_s * system::ticks_per_s()).round()
        };
        let programs = used_ticks(sample(&[(7, 10)], 40), sample(&[(7, 12)], 340));
        assert_eq!(programs, 302.0, "programs that were started for requests");
        let replaced = used_ticks(sample(&[(7, 10), (8, 100)], 50), sample(&[(7, 15), (9, 3)], 170));
        assert_eq!(replaced, 28.0, "a worker with 100 ticks used 20 more before another one took its place");
        let lost = used_ticks(sample(&[(7, 10), (8, 100)], 50), sample(&[(7, 15)], 50));
        assert_eq!(lost, 5.0, "nothing waited for it");
    }

    #[test]
    fn the_modes_add_up_to_the_cpu_time_and_need_ten_ticks() {
        let sample = |ticks, system_ticks| ProcessSample {
            processes: [(7, Stat { system_ticks, ..stat(ticks) }), (8, stat(0))].into(),
            ..Default::default()
        };
        let used = |ticks: u64, system_ticks: u64| {
            let samples = Mutex::new([Some(sample(5, 5)), Some(sample(5 + ticks, 5 + system_ticks))]);
            let watch = ServerWatch { samples, ..ServerWatch::of_roots(FoundBy::Pid, vec![7]) };
            watch.used(2.0, 10).unwrap()
        };
        let server = used(40, 30);
        let (user_s, system_s) = server.user_s.zip(server.system_s).unwrap();
        assert!((user_s + system_s - server.cpu_s).abs() < 1e-12, "{server:?}");
        assert!((server.kernel_share().unwrap() - 0.75).abs() < 1e-9, "{server:?}");
        let few = used(9, 5);
        assert_eq!((few.user_s, few.system_s), (None, None));
    }

    #[test]
    fn a_missing_process_is_not_sampled() {
        assert!(ServerWatch::of_processes(&[0]).is_err());
        assert!(ServerWatch::of_processes(&[std::process::id(), u32::MAX]).is_err());
        let away = Address::Tcp("192.0.2.1:80".parse().unwrap());
        assert!(ServerWatch::of_address(&away).is_none());
        // This process listens, but is not a server for its own run.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(ServerWatch::of_address(&Address::Tcp(listener.local_addr().unwrap())).is_none());
    }
}
