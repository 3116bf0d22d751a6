//! Memory limits: what a process may use, and how often the kernel swapped or killed because memory ran out.
//!
//! The limit is the lowest of the control groups above a process, in either version, and of the machine's memory. Pages
//! swapped and processes killed are counts of the whole machine (`/proc/vmstat`), since a group's counts disappear with
//! the group. While it exists, its own count of killed processes says whose memory ran out.

use crate::system::{self, Pid};
use crate::{cgroup, process};
use serde::{Deserialize, Serialize};
use std::fs;

/// The limit of a process, and the kernel's counts so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryAccount {
    /// What the process may use at most, in bytes.
    pub limit_bytes: Option<u64>,
    /// Bytes swapped in and out since the machine started.
    pub swapped_bytes: u64,
    /// Processes killed because memory ran out, since the machine started.
    pub oom_kills: u64,
    /// Processes of its control group and of those below it that were killed; none if the group does not count them.
    #[serde(default)]
    pub group_oom_kills: Option<u64>,
}

impl MemoryAccount {
    /// Reads the account of a process, or of this process if that one has ended.
    pub fn from_pid(pid: Option<Pid>) -> Self {
        let groups = pid.map(cgroup::memory_limit_files).filter(|files| !files.is_empty());
        let files = groups.unwrap_or_else(|| cgroup::memory_limit_files(process::own()));
        let of_groups = files.iter().filter_map(|path| limit(&fs::read_to_string(path).ok()?));
        let of_machine = machine_bytes(&fs::read_to_string("/proc/meminfo").unwrap_or_default());
        let counts = fs::read_to_string("/proc/vmstat").unwrap_or_default();
        let pages = count(&counts, "pswpin") + count(&counts, "pswpout");
        let group_oom_kills = pid.and_then(group_oom_kills);
        Self {
            group_oom_kills,
            limit_bytes: of_groups.chain(of_machine).min(),
            swapped_bytes: pages * system::page_bytes(),
            oom_kills: count(&counts, "oom_kill"),
        }
    }

    /// The processes of its control group that were killed since an earlier reading; none if one of both did not count.
    pub fn group_oom_kills_since(&self, earlier: &Self) -> Option<u64> {
        Some(self.group_oom_kills?.saturating_sub(earlier.group_oom_kills?))
    }
}

/// The processes of a process's group that were killed, by `memory.events` of version 2 or `memory.oom_control` of
/// version 1. The machine's first group has no such count.
fn group_oom_kills(pid: Pid) -> Option<u64> {
    // The groups above also count those of other programs.
    let own = cgroup::folders_above(pid, "memory").into_iter().next()?;
    let files = ["memory.events", "memory.oom_control"].into_iter();
    let text = files.map(|name| own.join(name)).find_map(|file| fs::read_to_string(file).ok())?;
    text.contains("oom_kill ").then(|| count(&text, "oom_kill"))
}

/// A count of `/proc/vmstat` or of a group; 0 if the kernel does not have it.
fn count(text: &str, key: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    line.and_then(|value| value.trim().parse().ok()).unwrap_or_default()
}

/// `MemTotal` of `/proc/meminfo`.
fn machine_bytes(text: &str) -> Option<u64> {
    let kilobytes =
        text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?.trim().strip_suffix("kB")?;
    kilobytes.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Parses a limit's file: `max`, or a number. Without a limit, version 1 writes a huge number.
fn limit(text: &str) -> Option<u64> {
    const NONE_FROM: u64 = 1 << 60;
    text.trim().parse().ok().filter(|bytes| *bytes < NONE_FROM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_counts_are_read_as_the_kernel_writes_them() {
        assert_eq!(
            (limit("max\n"), limit("52428800\n"), limit("9223372036854771712")),
            (None, Some(52_428_800), None)
        );
        assert_eq!(machine_bytes("MemTotal:       24683520 kB\nMemFree: 1 kB\n"), Some(24_683_520 * 1024));
        let counts = "pswpin 3\npswpout 4\noom_kill 2\noom_killer 9\n";
        assert_eq!((count(counts, "pswpin"), count(counts, "oom_kill"), count(counts, "none")), (3, 2, 0));
        assert_eq!(machine_bytes("MemTotal: x"), None);
        let kills = |group_oom_kills| MemoryAccount { group_oom_kills, ..MemoryAccount::default() };
        assert_eq!(kills(Some(3)).group_oom_kills_since(&kills(Some(1))), Some(2));
        assert_eq!(kills(Some(3)).group_oom_kills_since(&kills(None)), None);
    }

    #[test]
    fn this_process_has_a_limit_the_machines_memory_at_least() {
        let account = MemoryAccount::from_pid(Some(std::process::id().cast_signed()));
        let machine = machine_bytes(&fs::read_to_string("/proc/meminfo").unwrap());
        assert!(account.limit_bytes.is_some() && account.limit_bytes <= machine, "{account:?}");
        assert_eq!(MemoryAccount::from_pid(None).limit_bytes, account.limit_bytes);
    }
}
