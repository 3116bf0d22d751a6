//! The processes of this machine that listen on a port, and their resource use.
//!
//! Only processes of the same user are found, except by root. CPU time includes their descendants.

use paceline_host::{MemoryAccount, port, process, system};
use paceline_http::Url;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, ToSocketAddrs as _};

/// Processes that listen on one port.
pub(super) struct ListeningProcesses {
    processes: BTreeSet<i32>,
    /// The cores they may run on.
    pub(super) cores: Vec<u32>,
}

/// Their resource use since they started.
#[derive(Clone, Debug, Default)]
pub(super) struct ListenerUse {
    pub(super) cpu_s: f64,
    pub(super) rss_bytes: u64,
    pub(super) memory: MemoryAccount,
    /// CPU time of each thread, by its id.
    threads: BTreeMap<i32, f64>,
    /// Time each thread was ready to run but had no core, in seconds, by its id.
    delays: BTreeMap<i32, f64>,
}

impl ListenerUse {
    /// CPU time since `before`, in seconds. The scheduler's counters of the threads are exact, but lack a thread that
    /// began and ended meanwhile; then, or if the kernel does not keep them, the ticks of `/proc` are used, which are
    /// 10 ms long.
    pub(super) fn cpu_since(&self, before: &ListenerUse) -> f64 {
        let exact = |used: &ListenerUse| used.threads.values().sum::<f64>();
        let is_complete = self.threads.keys().eq(before.threads.keys()) && exact(self) > 0.0;
        if is_complete { exact(self) - exact(before) } else { self.cpu_s - before.cpu_s }
    }

    /// CPU time of the thread that used the most since `before`.
    pub(super) fn busiest_thread_since(&self, before: &ListenerUse) -> f64 {
        largest_since(&self.threads, &before.threads)
    }

    /// The longest time that one thread waited for a core since `before`.
    pub(super) fn run_delay_since(&self, before: &ListenerUse) -> f64 {
        largest_since(&self.delays, &before.delays)
    }
}

/// The largest increase in the figure of one thread.
fn largest_since(now: &BTreeMap<i32, f64>, before: &BTreeMap<i32, f64>) -> f64 {
    let since = |(thread, value): (&i32, &f64)| value - before.get(thread).unwrap_or(&0.0);
    now.iter().map(since).fold(0.0, f64::max)
}

impl ListeningProcesses {
    /// The listener behind a URL, if it is on this machine's loopback interface and visible.
    pub(super) fn of_url(url: &str) -> Option<Self> {
        let url = Url::parse(url).ok()?;
        let mut addresses = (url.host.as_str(), url.port).to_socket_addrs().ok()?;
        let is_here = addresses.all(|address| match address.ip() {
            IpAddr::V4(ip) => ip.is_loopback(),
            IpAddr::V6(ip) => ip.is_loopback(),
        });
        if !is_here {
            return None;
        }
        let owners = port::listeners(url.port);
        let descendants = process::descendants(&owners);
        let all: BTreeSet<i32> = owners.into_iter().chain(descendants).collect();
        let cores = all.iter().flat_map(|pid| allowed_cores(*pid)).collect::<BTreeSet<u32>>();
        (!all.is_empty()).then(|| Self { processes: all, cores: cores.into_iter().collect() })
    }

    /// Their resource use so far.
    pub(super) fn used(&self) -> ListenerUse {
        let memory = MemoryAccount::of(self.processes.first().copied());
        let mut used = ListenerUse { memory, ..ListenerUse::default() };
        for pid in &self.processes {
            if let Some(stat) = process::Stat::read(*pid) {
                used.cpu_s += stat.cpu_ticks as f64 / system::ticks_per_s();
                used.rss_bytes += stat.rss_pages * system::page_bytes();
            }
            for thread in process::threads(*pid) {
                let (cpu_s, delay_s) = thread_times(*pid, thread).unwrap_or_default();
                used.threads.insert(thread, cpu_s);
                used.delays.insert(thread, delay_s);
            }
        }
        used
    }
}

fn allowed_cores(pid: i32) -> Vec<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.map(parse_cores).unwrap_or_default()
}

/// `0-2,5` as numbers; invalid parts are ignored.
fn parse_cores(list: &str) -> Vec<u32> {
    let range = |part: &str| -> Option<std::ops::RangeInclusive<u32>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// Time a thread ran, and time it was ready to run without a core, in seconds (sched-stats.rst).
fn thread_times(pid: i32, thread: i32) -> Option<(f64, f64)> {
    let line = fs::read_to_string(format!("/proc/{pid}/task/{thread}/schedstat")).ok()?;
    let mut numbers = line.split_ascii_whitespace().map(|number| number.parse::<u64>());
    let mut seconds = || Some(numbers.next()?.ok()? as f64 * 1e-9);
    Some((seconds()?, seconds()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_by_its_port() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let found = ListeningProcesses::of_url(&url).unwrap();
        assert!(found.processes.contains(&(std::process::id() as i32)));
        assert!(!found.cores.is_empty() && found.used().rss_bytes > 0);
        drop(listener);
        assert!(ListeningProcesses::of_url(&url).is_none());
    }

    #[test]
    fn cpu_time_is_exact_while_the_threads_are_the_same() {
        let used = |cpu_s: f64, threads: &[(i32, f64)]| ListenerUse {
            cpu_s,
            threads: threads.iter().copied().collect(),
            ..ListenerUse::default()
        };
        let before = used(1.00, &[(7, 1.001), (8, 0.002)]);
        assert!((used(1.01, &[(7, 1.0055), (8, 0.002)]).cpu_since(&before) - 0.0045).abs() < 1e-9);
        let another = used(1.25, &[(7, 1.1), (9, 0.1)]);
        assert!((another.cpu_since(&before) - 0.25).abs() < 1e-9, "a thread has ended");
        assert!((used(1.02, &[(7, 0.0)]).cpu_since(&used(1.0, &[(7, 0.0)])) - 0.02).abs() < 1e-9);
    }

    #[test]
    fn lines_of_the_kernel_are_read_without_panicking() {
        assert_eq!((parse_cores("0-2,5\n"), parse_cores("x")), (vec![0, 1, 2, 5], vec![]));
    }
}
