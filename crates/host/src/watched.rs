//! CPU time, memory and threads of processes that this program did not start, cheap enough to read once a second.
//!
//! If the processes and their descendants are exactly those of a control group, as for a service of systemd, the group
//! lists them and has their CPU time. Otherwise both come from `/proc`, and new descendants are looked for only at every
//! fifth reading: the search reads all of `/proc`. The process tree of a launch is in `tree.rs`.

use crate::cgroup::GroupFiles;
use crate::process::{self, Stat};
use crate::system::{self, Pid};

/// Readings from one search for new descendants to the next.
const READINGS_PER_SEARCH: u32 = 5;

/// Processes with their descendants.
#[derive(Debug)]
pub struct WatchedProcesses {
    roots: Vec<Pid>,
    /// The processes of the last search.
    pids: Vec<Pid>,
    /// The control group that has these processes and no other.
    group: Option<GroupFiles>,
    readings: u32,
    /// The highest CPU time read, in seconds: that of an ended process is lost unless its parent waits for it.
    max_cpu_s: f64,
}

/// Counters and sizes of all processes together, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WatchedSample {
    /// CPU time so far, in seconds.
    pub cpu_s: f64,
    /// Resident memory summed over processes, in bytes: pages that processes share count in each.
    pub rss_bytes: u64,
    /// Number of processes.
    pub processes: u32,
    /// Number of threads.
    pub threads: u32,
}

impl WatchedProcesses {
    /// Watches these processes and their descendants.
    pub fn new(roots: Vec<Pid>) -> Self {
        let pids = process::with_descendants(&roots);
        let group = roots.first().and_then(|pid| GroupFiles::of_process(*pid));
        let group = group.filter(|group| is_same(&group.processes(), &pids));
        Self { roots, pids, group, readings: 0, max_cpu_s: 0.0 }
    }

    /// Reads the counters now; `None` if no process is left.
    pub fn read(&mut self) -> Option<WatchedSample> {
        let of_group = self.group.as_ref().and_then(GroupFiles::cpu_ns);
        match &self.group {
            Some(group) => self.pids = group.processes(),
            None if self.readings % READINGS_PER_SEARCH == READINGS_PER_SEARCH - 1 => {
                self.pids = process::with_descendants(&self.roots);
            }
            None => {}
        }
        self.readings = self.readings.wrapping_add(1);
        let stats: Vec<Stat> = self.pids.iter().filter_map(|pid| Stat::read(*pid)).collect();
        let ticks: u64 = stats.iter().map(|stat| stat.cpu_ticks + stat.children_ticks).sum();
        let cpu_s = of_group.map_or(ticks as f64 / system::ticks_per_s(), |cpu_ns| cpu_ns as f64 * 1e-9);
        self.max_cpu_s = self.max_cpu_s.max(cpu_s);
        (!stats.is_empty()).then(|| WatchedSample {
            cpu_s: self.max_cpu_s,
            rss_bytes: stats.iter().map(|stat| stat.rss_pages).sum::<u64>() * system::page_bytes(),
            processes: stats.len() as u32,
            threads: stats.iter().map(|stat| stat.threads).sum(),
        })
    }
}

/// Whether two lists name the same processes.
fn is_same(one: &[Pid], other: &[Pid]) -> bool {
    let sorted = |pids: &[Pid]| {
        let mut pids = pids.to_vec();
        pids.sort_unstable();
        pids.dedup();
        pids
    };
    sorted(one) == sorted(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    #[test]
    fn a_busy_process_and_its_child_are_read_until_they_end() {
        let mut parent = Command::new("sh")
            .args(["-c", "sleep 600 & echo started; while :; do :; done"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(parent.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let pid = parent.id().cast_signed();
        let children = process::descendants(&[pid]);
        let mut watched = WatchedProcesses::new(vec![pid]);
        let first = watched.read().unwrap();
        assert_eq!((first.processes, first.threads), (2, 2), "{first:?}");
        assert!(first.rss_bytes > 100_000, "{first:?}");
        while watched.read().unwrap().cpu_s < first.cpu_s + 0.05 {
            std::thread::yield_now();
        }
        parent.kill().unwrap();
        for child in children {
            system::kill(child, libc::SIGKILL).unwrap();
        }
        parent.wait().unwrap();
        while watched.read().is_some() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn the_order_of_processes_does_not_matter() {
        assert!(is_same(&[3, 1, 1], &[1, 3]));
        assert!(!is_same(&[1], &[1, 2]) && !is_same(&[], &[1]));
    }
}
