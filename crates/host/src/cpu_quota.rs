//! CPU quotas of control groups: how many cores a container may use, and how long it was stopped for using more.
//!
//! The kernel's bandwidth control (Documentation/scheduler/sched-bwc.rst) stops all threads of a group until the next
//! period when its quota is used up: response times then show steps of up to 100 ms.

use crate::cgroup;
use std::fs;
use std::path::Path;

/// The strictest quota of this process's control groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuQuota {
    /// CPU time per time that the group may use: 1.5 is one and a half cores.
    pub cores: f64,
    /// Time for which the group was stopped so far, in seconds.
    pub throttled_s: f64,
}

impl CpuQuota {
    /// Reads the quota and the time stopped so far. None without a quota.
    pub fn now() -> Option<Self> {
        let own = cgroup::folders_above(std::process::id().cast_signed(), "cpu");
        let quotas = own.iter().filter_map(|folder| Self::of_folder(folder));
        quotas.min_by(|a, b| a.cores.total_cmp(&b.cores))
    }

    fn of_folder(folder: &Path) -> Option<Self> {
        let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
        let cores = match read("cpu.max") {
            Some(text) => cores_of(&text)?,
            None => {
                let quota = read("cpu.cfs_quota_us")?;
                cores_of(&format!("{} {}", quota.trim(), read("cpu.cfs_period_us")?.trim()))?
            }
        };
        Some(Self { cores, throttled_s: throttled_s(&read("cpu.stat").unwrap_or_default()) })
    }
}

/// `QUOTA PERIOD` in microseconds, as `cpu.max` has it; none for `max` or -1.
fn cores_of(text: &str) -> Option<f64> {
    let mut numbers = text.split_ascii_whitespace().map(|number| number.parse::<f64>());
    let (quota, period) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

/// `throttled_usec` of version 2, or `throttled_time` of version 1, which is in nanoseconds.
fn throttled_s(stat: &str) -> f64 {
    let count = |key: &str| -> Option<f64> {
        stat.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))?.trim().parse().ok()
    };
    let microseconds = count("throttled_usec").map(|us| us * 1e-6);
    microseconds.or_else(|| count("throttled_time").map(|ns| ns * 1e-9)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        assert_eq!(CpuQuota::of_folder(folder.path()), None);
        write("cpu.cfs_quota_us", "50000\n");
        write("cpu.cfs_period_us", "100000\n");
        write("cpu.stat", "nr_periods 3\nthrottled_time 2500000000\n");
        assert_eq!(CpuQuota::of_folder(folder.path()), Some(CpuQuota { cores: 0.5, throttled_s: 2.5 }));
        write("cpu.max", "150000 100000\n");
        write("cpu.stat", "usage_usec 9\nthrottled_usec 1500000\n");
        assert_eq!(CpuQuota::of_folder(folder.path()), Some(CpuQuota { cores: 1.5, throttled_s: 1.5 }));
        write("cpu.max", "max 100000\n");
        assert_eq!(CpuQuota::of_folder(folder.path()), None);
        assert_eq!((cores_of("-1 100000"), cores_of("x")), (None, None));
    }
}
