//! What a server's whole process tree has cost so far: CPU time, memory, threads, switches, time spent runnable.
//!
//! CPU time comes from a control group where there is one, complete. Else from `/proc`: a lower bound, since what
//! came and went unseen and was not waited for is missing. Everything else comes from `/proc`. When to sample is
//! the caller's business.

use crate::cgroup::ControlGroup;
use crate::process::{self, Scheduling, Stat};
use crate::shepherd::Shepherd;
use crate::system::{self, Pid};
use paceline_record::CpuSource;
use std::collections::HashMap;

/// Totals since the launch, and what is alive now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TreeSample {
    /// When it was taken, on the monotonic clock, in nanoseconds.
    pub monotonic_ns: u64,
    /// CPU time since the launch, in seconds.
    pub cpu_s: f64,
    /// Resident memory summed over processes, in bytes.
    pub rss_bytes: u64,
    /// Processes now.
    pub processes: u32,
    /// Threads now.
    pub threads: u32,
    /// Times a thread gave its core up by itself.
    pub voluntary_switches: u64,
    /// Times a core was taken from a thread.
    pub involuntary_switches: u64,
    /// Time runnable but not running, in seconds.
    pub run_delay_s: f64,
}

impl TreeSample {
    /// Several trees as one, at the moment of the first; nothing of no tree.
    pub fn sum(samples: &[TreeSample]) -> Self {
        let add = |sum: TreeSample, one: &TreeSample| TreeSample {
            monotonic_ns: sum.monotonic_ns,
            cpu_s: sum.cpu_s + one.cpu_s,
            rss_bytes: sum.rss_bytes + one.rss_bytes,
            processes: sum.processes + one.processes,
            threads: sum.threads + one.threads,
            voluntary_switches: sum.voluntary_switches + one.voluntary_switches,
            involuntary_switches: sum.involuntary_switches + one.involuntary_switches,
            run_delay_s: sum.run_delay_s + one.run_delay_s,
        };
        let first = samples.first().map_or(0, |sample| sample.monotonic_ns);
        samples.iter().fold(TreeSample { monotonic_ns: first, ..TreeSample::default() }, add)
    }
}

/// A server's process tree.
pub struct Tree {
    group: Option<ControlGroup>,
    shepherd: Pid,
    own: Vec<Pid>,
    /// The last account of each thread seen: what a thread did still counts when it has ended.
    threads: HashMap<Pid, Scheduling>,
    ended: Scheduling,
    /// The highest CPU time seen: a process that ends unwaited would make the sum over `/proc` fall.
    cpu_s_most: f64,
}

impl Tree {
    /// The tree below a shepherd, with the control group its command joined.
    pub fn new(shepherd: &Shepherd, group: Option<ControlGroup>) -> Self {
        Self {
            group,
            shepherd: shepherd.process(),
            own: shepherd.own().to_vec(),
            threads: HashMap::new(),
            ended: Scheduling::default(),
            cpu_s_most: 0.0,
        }
    }

    /// Where its CPU time is read.
    pub fn source(&self) -> CpuSource {
        if self.group.is_some() { CpuSource::Cgroup } else { CpuSource::Proc }
    }

    /// Reads it all, now. CPU time is read first, since the rest takes its time.
    pub fn sample(&mut self) -> TreeSample {
        let monotonic_ns = system::monotonic_ns();
        let from_group = self.group.as_ref().and_then(ControlGroup::cpu_ns);
        let pids = self.pids();
        let stats: Vec<Stat> = pids.iter().filter_map(|pid| Stat::read(*pid)).collect();
        let cpu_s = match from_group {
            Some(cpu_ns) => cpu_ns as f64 * 1e-9,
            None => self.cpu_s_of(&stats),
        };
        self.cpu_s_most = self.cpu_s_most.max(cpu_s);
        let scheduling = self.scheduling(&pids);
        TreeSample {
            monotonic_ns,
            cpu_s: self.cpu_s_most,
            rss_bytes: stats.iter().map(|stat| stat.rss_pages).sum::<u64>() * system::page_bytes(),
            processes: stats.len() as u32,
            threads: stats.iter().map(|stat| stat.threads).sum(),
            voluntary_switches: scheduling.voluntary_switches,
            involuntary_switches: scheduling.involuntary_switches,
            run_delay_s: scheduling.run_delay_ns as f64 * 1e-9,
        }
    }

    /// The proportional share of memory of all processes, in bytes, where the kernel tells. Walks every page table:
    /// never inside a window.
    pub fn pss_bytes(&self) -> Option<u64> {
        let shares: Vec<u64> = self.pids().into_iter().filter_map(process::pss_bytes).collect();
        (!shares.is_empty()).then(|| shares.into_iter().sum())
    }

    /// Kills every process of it, now. What is still being forked meanwhile is its shepherd's to find.
    pub fn kill(&self) {
        for pid in self.pids() {
            // One that is gone already is as wanted.
            let _ = system::kill(pid, libc::SIGKILL);
        }
    }

    /// Open sockets of all its processes: beyond those it had before a load, the connections it holds.
    pub fn sockets(&self) -> u64 {
        self.pids().into_iter().map(process::sockets).sum()
    }

    /// Whether any thread runs now, or would if it had a core.
    pub fn is_runnable(&self) -> bool {
        let is_runnable =
            |pid: &Pid| process::threads(*pid).into_iter().any(|thread| process::is_runnable(*pid, thread));
        self.pids().iter().any(is_runnable)
    }

    /// What all processes have read from disk so far, in bytes, where the kernel tells.
    pub fn disk_read_bytes(&self) -> Option<u64> {
        let read: Vec<u64> = self.pids().into_iter().filter_map(process::disk_read_bytes).collect();
        (!read.is_empty()).then(|| read.into_iter().sum())
    }

    fn pids(&self) -> Vec<Pid> {
        match &self.group {
            Some(group) => group.processes(),
            None => {
                let all = process::descendants(self.shepherd);
                all.into_iter().filter(|pid| !self.own.contains(pid)).collect()
            }
        }
    }

    /// CPU time by `/proc`: that of the living, of the children they waited for, and of the orphans that the shepherd
    /// and the fence waited for in their stead.
    fn cpu_s_of(&self, stats: &[Stat]) -> f64 {
        let living: u64 = stats.iter().map(|stat| stat.cpu_ticks + stat.children_ticks).sum();
        let guards = self.own.iter().chain([&self.shepherd]);
        let orphans: u64 = guards.filter_map(|pid| Stat::read(*pid)).map(|stat| stat.children_ticks).sum();
        (living + orphans) as f64 / system::ticks_per_s()
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

fn sum(a: Scheduling, b: Scheduling) -> Scheduling {
    Scheduling {
        voluntary_switches: a.voluntary_switches + b.voluntary_switches,
        involuntary_switches: a.involuntary_switches + b.involuntary_switches,
        run_delay_ns: a.run_delay_ns + b.run_delay_ns,
    }
}
