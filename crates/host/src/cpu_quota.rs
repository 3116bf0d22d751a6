//! CPU quotas of control groups: how many cores a process may use, and how often and how long it was stopped for more.
//!
//! A quota applies to all threads of a group and of the groups below it: when it is used up, none of them runs until
//! the next period (kernel Documentation/scheduler/sched-bwc.rst). Response times then show steps of up to 100 ms.
//! Kubernetes, Docker and systemd set such limits.

use crate::{cgroup, process};
use paceline_record::Throttling;
use std::fs;
use std::path::{Path, PathBuf};

/// The strictest quota of this process's control groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuQuota {
    /// CPU time per time that the group may use: 1.5 is one and a half cores.
    pub cores: f64,
    /// Time for which the group was stopped so far, in seconds.
    pub throttled_s: f64,
}

/// The counts of `cpu.stat` of a control group since it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    periods: u64,
    throttled_periods: u64,
    throttled_ns: u64,
}

/// The counts of a process's control group and of those above it at one moment.
#[derive(Clone, Debug, Default)]
pub struct ThrottleCounts(Vec<(PathBuf, Counts)>);

impl CpuQuota {
    /// Reads the quota and the time stopped so far. None without a quota.
    pub fn now() -> Option<Self> {
        let own = cgroup::folders_above(process::own(), "cpu");
        let quotas = own.iter().filter_map(|folder| Self::of_folder(folder));
        quotas.min_by(|a, b| a.cores.total_cmp(&b.cores))
    }

    fn of_folder(folder: &Path) -> Option<Self> {
        let cores = cores_allowed(folder)?;
        let counts = Counts::read(&folder.join("cpu.stat")).unwrap_or_default();
        Some(Self { cores, throttled_s: counts.throttled_s() })
    }
}

impl ThrottleCounts {
    /// Reads the counts of this process; empty if there are no control groups.
    pub fn now() -> Self {
        Self::of_process(process::own())
    }

    /// Reads the counts of a process; empty if there are no control groups, or it has ended.
    pub fn of_process(pid: i32) -> Self {
        let files = cgroup::files_above(pid, "cpu", ["cpu.stat", "cpu.stat"]);
        Self(files.into_iter().filter_map(|path| Counts::read(&path).map(|counts| (path, counts))).collect())
    }

    /// The throttling since `earlier`, of the group that was stopped longest; none if no limit was reached.
    pub fn since(&self, earlier: &Self) -> Option<Throttling> {
        let used = self.0.iter().filter_map(|(path, now)| {
            let (_, before) = earlier.0.iter().find(|(known, _)| known == path)?;
            Some((path, now.since(*before)))
        });
        let (path, most) = used.max_by_key(|(_, counts)| counts.throttled_ns)?;
        (most.throttled_periods > 0).then(|| Throttling {
            periods: most.periods,
            throttled_periods: most.throttled_periods,
            throttled_s: most.throttled_s(),
            cores_allowed: path.parent().and_then(cores_allowed),
        })
    }
}

impl Counts {
    /// Reads `cpu.stat`. None without a CPU controller.
    fn read(path: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(path).ok()?)
    }

    /// Version 2 has `throttled_usec`, version 1 `throttled_time` in nanoseconds.
    fn parse(text: &str) -> Option<Self> {
        let value = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))?;
            line.trim().parse::<u64>().ok()
        };
        let throttled_us = || value("throttled_usec").map(|us| us.saturating_mul(1_000));
        Some(Self {
            periods: value("nr_periods")?,
            throttled_periods: value("nr_throttled")?,
            throttled_ns: value("throttled_time").or_else(throttled_us)?,
        })
    }

    fn since(self, before: Self) -> Self {
        Self {
            periods: self.periods.saturating_sub(before.periods),
            throttled_periods: self.throttled_periods.saturating_sub(before.throttled_periods),
            throttled_ns: self.throttled_ns.saturating_sub(before.throttled_ns),
        }
    }

    fn throttled_s(self) -> f64 {
        self.throttled_ns as f64 / 1e9
    }
}

/// The limit of a group in cores: `cpu.max` in version 2, quota and period in version 1. None without a limit.
fn cores_allowed(folder: &Path) -> Option<f64> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let limit = read("cpu.max").or_else(|| {
        Some(format!("{} {}", read("cpu.cfs_quota_us")?.trim(), read("cpu.cfs_period_us")?.trim()))
    })?;
    cores_of(&limit)
}

/// `QUOTA PERIOD` in microseconds, as `cpu.max` has it; none for `max` or -1.
fn cores_of(text: &str) -> Option<f64> {
    let mut numbers = text.split_ascii_whitespace().map(|number| number.parse::<f64>());
    let (quota, period) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_of_both_versions_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        assert_eq!(CpuQuota::of_folder(folder.path()), None);
        write("cpu.cfs_quota_us", "50000\n");
        write("cpu.cfs_period_us", "100000\n");
        assert_eq!(CpuQuota::of_folder(folder.path()), Some(CpuQuota { cores: 0.5, throttled_s: 0.0 }));
        write("cpu.stat", "nr_periods 30\nnr_throttled 29\nthrottled_time 2500000000\n");
        assert_eq!(CpuQuota::of_folder(folder.path()), Some(CpuQuota { cores: 0.5, throttled_s: 2.5 }));
        write("cpu.max", "150000 100000\n");
        write("cpu.stat", "usage_usec 9\nnr_periods 30\nnr_throttled 29\nthrottled_usec 1500000\n");
        assert_eq!(CpuQuota::of_folder(folder.path()), Some(CpuQuota { cores: 1.5, throttled_s: 1.5 }));
        write("cpu.max", "max 100000\n");
        assert_eq!(CpuQuota::of_folder(folder.path()), None);
        assert_eq!((cores_of("-1 100000"), cores_of("x")), (None, None));
    }

    #[test]
    fn counts_of_both_versions_are_read() {
        let v1 = "nr_periods 30\nnr_throttled 29\nthrottled_time 2300000000\n";
        let v2 = "usage_usec 5\nuser_usec 3\nnr_periods 30\nnr_throttled 29\nthrottled_usec 2300000\nnr_bursts 0\n";
        let expected = Counts { periods: 30, throttled_periods: 29, throttled_ns: 2_300_000_000 };
        assert_eq!((Counts::parse(v1), Counts::parse(v2)), (Some(expected), Some(expected)));
        let without = "usage_usec 5\nuser_usec 3\nsystem_usec 2\n";
        assert_eq!(Counts::parse(without), None, "without the controller");
    }

    #[test]
    fn the_group_that_was_stopped_longest_counts() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cpu.max"), "20000 100000\n").unwrap();
        let own = folder.path().join("cpu.stat");
        let of = |throttled: u64| Counts {
            periods: 10,
            throttled_periods: throttled,
            throttled_ns: throttled * 5,
        };
        let before = ThrottleCounts(vec![(own.clone(), of(1)), ("/above/cpu.stat".into(), of(7))]);
        let after = ThrottleCounts(vec![(own.clone(), of(4)), ("/above/cpu.stat".into(), of(7))]);
        let found = after.since(&before).unwrap();
        assert_eq!((found.periods, found.throttled_periods, found.cores_allowed), (0, 3, Some(0.2)));
        assert_eq!(before.since(&before), None);
        fs::write(folder.path().join("cpu.max"), "max 100000\n").unwrap();
        assert_eq!(after.since(&before).unwrap().cores_allowed, None);
    }
}
