//! CPU time, memory, threads, switches and run delay of a server's whole process tree so far.
//!
//! CPU time comes from a control group if there is one and no process has left it: then it is complete. Otherwise it
//! comes from `/proc`: a lower bound, since a process that started and ended between two samples and was not waited for
//! is missing. All other values come from `/proc`. A server process may leave its group, its session or its parent:
//! [`ProcessTree::search`] looks for it in all of them, and among the processes that listen on its port. The caller
//! decides when to sample.

use crate::cgroup::ControlGroup;
use crate::memory::MemoryAccount;
use crate::mode_time::ModeTime;
use crate::perf_maps::PerfMaps;
use crate::port;
use crate::process::{self, CoreNanos, Scheduling, Stat};
use crate::shepherd::Shepherd;
use crate::system::{self, Pid};
use paceline_record::CpuSource;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::time::{Duration, SystemTime};

/// How long the remaining processes of a command may take to end after SIGKILL.
const END_LIMIT: Duration = Duration::from_secs(5);

/// Totals since the launch, and current values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TreeSample {
    /// When it was taken, on the monotonic clock, in nanoseconds.
    pub monotonic_ns: u64,
    /// CPU time since the launch, in seconds.
    pub cpu_s: f64,
    /// CPU time since the launch by the scheduler's counters of each thread, in seconds: exact, but without threads
    /// that began and ended between two samples; none if the kernel does not keep it.
    pub scheduled_s: Option<f64>,
    /// CPU time since the launch in each mode, from the same source; none if that does not report it.
    pub modes: Option<ModeTime>,
    /// Resident memory summed over processes, in bytes.
    pub rss_bytes: u64,
    /// Processes now.
    pub processes: u32,
    /// Threads now.
    pub threads: u32,
    /// Voluntary switches: a thread gave up its core.
    pub voluntary_switches: u64,
    /// Involuntary switches: a thread was preempted.
    pub involuntary_switches: u64,
    /// Time runnable but not running, in seconds.
    pub run_delay_s: f64,
    /// CPU time of the busiest thread since the sample that followed [`ProcessTree::mark_threads`], in seconds; none
    /// without that call, or if the kernel does not keep it.
    pub busiest_thread_s: Option<f64>,
}

impl TreeSample {
    /// The sum of several trees, and the busiest of their threads, at the moment of the first; zero without a tree.
    pub fn sum(samples: &[TreeSample]) -> Self {
        let add = |sum: TreeSample, one: &TreeSample| TreeSample {
            monotonic_ns: sum.monotonic_ns,
            cpu_s: sum.cpu_s + one.cpu_s,
            scheduled_s: sum.scheduled_s.zip(one.scheduled_s).map(|(a, b)| a + b),
            modes: sum.modes.zip(one.modes).map(|(a, b)| a.plus(b)),
            rss_bytes: sum.rss_bytes + one.rss_bytes,
            processes: sum.processes + one.processes,
            threads: sum.threads + one.threads,
            voluntary_switches: sum.voluntary_switches + one.voluntary_switches,
            involuntary_switches: sum.involuntary_switches + one.involuntary_switches,
            run_delay_s: sum.run_delay_s + one.run_delay_s,
            busiest_thread_s: match (sum.busiest_thread_s, one.busiest_thread_s) {
                (Some(a), Some(b)) => Some(a.max(b)),
                (a, b) => a.or(b),
            },
        };
        let monotonic_ns = samples.first().map_or(0, |sample| sample.monotonic_ns);
        let (scheduled_s, modes) = (Some(0.0), Some(ModeTime::default()));
        let zero = TreeSample { monotonic_ns, scheduled_s, modes, ..TreeSample::default() };
        samples.iter().fold(zero, add)
    }
}

/// The beginning of the period over which threads are compared.
enum ThreadBaseline {
    /// None yet.
    No,
    /// The next sample.
    Next,
    /// CPU time of each thread then, and the most that one of them has used since, in nanoseconds.
    At { cpu_ns: HashMap<Pid, u64>, busiest_ns: u64 },
}

/// A server's process tree.
pub struct ProcessTree {
    group: Option<ControlGroup>,
    shepherd: Pid,
    own: Vec<Pid>,
    /// The command's own process, which created a session, and when it started.
    command: Pid,
    command_started_ticks: Option<u64>,
    /// The port that the server listens on.
    port: Option<u16>,
    /// Processes found outside the control group.
    outside: Vec<Pid>,
    /// The last counters of each thread seen: they still count after the thread has ended.
    threads: HashMap<Pid, Scheduling>,
    ended: Scheduling,
    marked: ThreadBaseline,
    /// The highest CPU time seen: a process that ends without being waited for would make the sum over `/proc` fall.
    max_cpu_s: f64,
}

impl ProcessTree {
    /// The tree below a shepherd, with the control group its command joined.
    pub fn new(shepherd: &Shepherd, group: Option<ControlGroup>) -> Self {
        Self {
            group,
            shepherd: shepherd.process(),
            own: shepherd.own().to_vec(),
            command: shepherd.command(),
            command_started_ticks: Stat::read(shepherd.command()).map(|stat| stat.started_ticks),
            port: None,
            outside: Vec::new(),
            threads: HashMap::new(),
            ended: Scheduling::default(),
            marked: ThreadBaseline::No,
            max_cpu_s: 0.0,
        }
    }

    /// As [`ProcessTree::new`], with the port that the command's server listens on.
    #[must_use]
    pub fn with_port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Where its CPU time is read from.
    pub fn source(&self) -> CpuSource {
        if self.group.is_some() && self.outside.is_empty() { CpuSource::Cgroup } else { CpuSource::Proc }
    }

    /// Looks for processes of the server outside its control group: among its descendants, in its session, and on its
    /// port. Reads all of `/proc`: never call it inside a window.
    pub fn search(&mut self) {
        let inside = self.group.as_ref().map(ControlGroup::processes).unwrap_or_default();
        let descendants = process::descendants(&[self.shepherd]);
        let listeners = self.port.map(port::listeners).unwrap_or_default();
        let mut outside: Vec<Pid> = descendants.into_iter().chain(self.session()).chain(listeners).collect();
        outside.sort_unstable();
        outside.dedup();
        let own = process::own();
        let is_outside = |pid: &Pid| {
            !inside.contains(pid) && !self.own.contains(pid) && *pid != self.shepherd && *pid != own
        };
        outside.retain(is_outside);
        self.outside = outside;
    }

    /// The processes of the command's session; none once its number belongs to another process.
    fn session(&self) -> Vec<Pid> {
        let leader = Stat::read(self.command).map(|stat| stat.started_ticks);
        if leader.is_some() && leader != self.command_started_ticks {
            return Vec::new();
        }
        process::session(self.command)
    }

    /// Kills the remaining processes of the command until none is left. Needed only if its shepherd, which does the
    /// same, was killed. A process that merely listens on the port is not killed: it may belong to another program.
    pub fn end(&self) {
        let left = || {
            let mut left = self.group.as_ref().map(ControlGroup::processes).unwrap_or_default();
            left.extend(self.session());
            left.retain(|pid| !Stat::is_ended(*pid));
            left
        };
        process::kill_until_none(END_LIMIT, left, process::kill);
    }

    /// The next sample begins the period of [`TreeSample::busiest_thread_s`].
    pub fn mark_threads(&mut self) {
        self.marked = ThreadBaseline::Next;
    }

    /// Reads all values now. CPU time is read first, since the other reads take time.
    pub fn sample(&mut self) -> TreeSample {
        let monotonic_ns = system::monotonic_ns();
        let from_group = self.group.as_ref().and_then(ControlGroup::cpu_ns);
        let modes_of_group = self.group.as_ref().and_then(ControlGroup::mode_time);
        let pids = self.pids();
        let stats: Vec<Stat> = pids.iter().filter_map(|pid| Stat::read(*pid)).collect();
        let (cpu_s, modes) = match from_group {
            Some(cpu_ns) => {
                let outside: Vec<Stat> = self.outside.iter().filter_map(|pid| Stat::read(*pid)).collect();
                let outside = ModeTime::of_processes(&outside);
                (cpu_ns as f64 * 1e-9 + outside.total_s(), modes_of_group.map(|modes| modes.plus(outside)))
            }
            None => {
                let modes = self.mode_time_of(&stats);
                (modes.total_s(), Some(modes))
            }
        };
        self.max_cpu_s = self.max_cpu_s.max(cpu_s);
        let scheduling = self.scheduling(&pids);
        let CoreNanos { on_core_ns, run_delay_ns } = scheduling.times;
        TreeSample {
            monotonic_ns,
            cpu_s: self.max_cpu_s,
            scheduled_s: (on_core_ns > 0).then_some(on_core_ns as f64 * 1e-9),
            modes,
            rss_bytes: stats.iter().map(|stat| stat.rss_pages).sum::<u64>() * system::page_bytes(),
            processes: stats.len() as u32,
            threads: stats.iter().map(|stat| stat.threads).sum(),
            voluntary_switches: scheduling.voluntary_switches,
            involuntary_switches: scheduling.involuntary_switches,
            run_delay_s: run_delay_ns as f64 * 1e-9,
            busiest_thread_s: self.busiest_thread_s(),
        }
    }

    /// As of the counters that were just read. A thread that ended counts as at its last sample.
    fn busiest_thread_s(&mut self) -> Option<f64> {
        let now = |threads: &HashMap<Pid, Scheduling>| {
            threads.iter().map(|(thread, account)| (*thread, account.times.on_core_ns)).collect()
        };
        match &mut self.marked {
            ThreadBaseline::No => return None,
            ThreadBaseline::Next => {
                self.marked = ThreadBaseline::At { cpu_ns: now(&self.threads), busiest_ns: 0 }
            }
            ThreadBaseline::At { cpu_ns, busiest_ns } => {
                // A number lower than before is that of a new thread with the same id.
                let since = |(thread, account): (&Pid, &Scheduling)| {
                    let used = account.times.on_core_ns;
                    let before = cpu_ns.get(thread).filter(|before| **before <= used);
                    used - before.copied().unwrap_or(0)
                };
                *busiest_ns = self.threads.iter().map(since).max().unwrap_or(0).max(*busiest_ns);
            }
        }
        let is_kept = self.threads.values().any(|account| account.times.on_core_ns > 0);
        match &self.marked {
            ThreadBaseline::At { busiest_ns, .. } if is_kept || *busiest_ns > 0 => {
                Some(*busiest_ns as f64 * 1e-9)
            }
            _ => None,
        }
    }

    /// The memory limit of its processes, and the kernel's counts of swapping and kills so far.
    pub fn memory(&self) -> MemoryAccount {
        MemoryAccount::from_pid(self.pids().first().copied())
    }

    /// The proportional share of memory of all processes, in bytes, if the kernel reports it. Walks every page table:
    /// never call it inside a window.
    pub fn pss_bytes(&self) -> Option<u64> {
        let shares: Vec<u64> = self.pids().into_iter().filter_map(process::pss_bytes).collect();
        (!shares.is_empty()).then(|| shares.into_iter().sum())
    }

    /// Kills every process of the tree now. Processes that are being forked meanwhile are left to the shepherd.
    pub fn kill(&self) {
        self.pids().into_iter().for_each(process::kill);
    }

    /// Open sockets of all its processes: the number above that before the load is the number of connections it holds.
    pub fn sockets(&self) -> u64 {
        self.pids().into_iter().map(process::sockets).sum()
    }

    /// The TCP ports on which its processes listen.
    pub fn ports(&self) -> Vec<u16> {
        port::ports_of(&self.pids())
    }

    /// The first process with a thread that may run on other cores than these, with the cores of that thread. One that
    /// merely listens on the port is left out: it may belong to another program. Reads all of `/proc`.
    pub fn outside_cores(&self, cores: &[u32]) -> Option<(Pid, Vec<u32>)> {
        let inside = self.group.as_ref().map(ControlGroup::processes).unwrap_or_default();
        let pids = process::descendants(&[self.shepherd]).into_iter().chain(self.session()).chain(inside);
        let threads_of = |pid| process::threads(pid).into_iter().map(move |thread| (pid, thread));
        let threads = pids.filter(|pid| !self.own.contains(pid)).flat_map(threads_of);
        // A thread that has ended meanwhile runs on none.
        let mut allowed = threads.filter_map(|(pid, thread)| Some((pid, system::affinity_of(thread).ok()?)));
        allowed.find(|(_, allowed)| allowed.iter().any(|core| !cores.contains(core)))
    }

    /// The maps for perf that its processes have created since `began`.
    pub fn perf_maps(&self, began: SystemTime) -> PerfMaps {
        PerfMaps::find(&self.pids(), began)
    }

    /// Whether any thread is running or runnable.
    pub fn is_runnable(&self) -> bool {
        let is_runnable =
            |pid: &Pid| process::threads(*pid).into_iter().any(|thread| process::is_runnable(*pid, thread));
        self.pids().iter().any(is_runnable)
    }

    /// Bytes that all processes have read from disk so far, if the kernel reports them.
    pub fn disk_read_bytes(&self) -> Option<u64> {
        let read: Vec<u64> = self.pids().into_iter().filter_map(process::disk_read_bytes).collect();
        (!read.is_empty()).then(|| read.into_iter().sum())
    }

    fn pids(&self) -> Vec<Pid> {
        let mut pids = match &self.group {
            Some(group) => group.processes(),
            None => {
                let all = process::descendants(&[self.shepherd]);
                all.into_iter().filter(|pid| !self.own.contains(pid)).collect()
            }
        };
        let missing: Vec<Pid> = self.outside.iter().filter(|pid| !pids.contains(pid)).copied().collect();
        pids.extend(missing);
        pids
    }

    /// CPU time from `/proc`: of the living processes, of the children they waited for, and of the orphans that the
    /// shepherd and the tracker waited for.
    fn mode_time_of(&self, stats: &[Stat]) -> ModeTime {
        let guards = self.own.iter().chain([&self.shepherd]).filter_map(|pid| Stat::read(*pid));
        let orphans =
            guards.map(|stat| ModeTime::from_ticks(stat.children_ticks, stat.children_system_ticks));
        orphans.fold(ModeTime::of_processes(stats), ModeTime::plus)
    }

    fn scheduling(&mut self, pids: &[Pid]) -> Scheduling {
        let mut living = HashMap::with_capacity(self.threads.len());
        for pid in pids {
            for thread in process::threads(*pid) {
                if let Some(account) = Scheduling::read(*pid, thread) {
                    living.insert(thread, account);
                }
            }
        }
        for (thread, account) in std::mem::replace(&mut self.threads, living) {
            if !self.threads.contains_key(&thread) {
                self.ended = sum(self.ended, account);
            }
        }
        self.threads.values().fold(self.ended, |total, account| sum(total, *account))
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        self.end();
    }
}

fn sum(a: Scheduling, b: Scheduling) -> Scheduling {
    Scheduling {
        voluntary_switches: a.voluntary_switches + b.voluntary_switches,
        involuntary_switches: a.involuntary_switches + b.involuntary_switches,
        times: CoreNanos {
            on_core_ns: a.times.on_core_ns + b.times.on_core_ns,
            run_delay_ns: a.times.run_delay_ns + b.times.run_delay_ns,
        },
    }
}
