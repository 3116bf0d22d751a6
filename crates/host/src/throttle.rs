//! CPU limits of control groups: how often and how long the kernel stopped a process because a quota was used up.
//!
//! A quota applies to all threads of a group and of the groups below it: when it is used up, none of them runs until
//! the next period (kernel Documentation/scheduler/sched-bwc.rst). Kubernetes, Docker and systemd set such limits.

use crate::cgroup;
use paceline_record::Throttling;
use std::fs;
use std::path::{Path, PathBuf};

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

impl ThrottleCounts {
    /// Reads the counts of this process; empty if there are no control groups.
    pub fn now() -> Self {
        Self::of_process(std::process::id().cast_signed())
    }

    /// Reads the counts of a process; empty if there are no control groups, or it has ended.
    pub fn of_process(pid: i32) -> Self {
        let read = |path: PathBuf| Some((counts(&fs::read_to_string(&path).ok()?)?, path));
        let files = cgroup::files_above(pid, "cpu", ["cpu.stat", "cpu.stat"]);
        Self(files.into_iter().filter_map(read).map(|(counts, path)| (path, counts)).collect())
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
            throttled_s: most.throttled_ns as f64 / 1e9,
            cores_allowed: path.parent().and_then(cores_allowed),
        })
    }
}

impl Counts {
    fn since(self, before: Self) -> Self {
        Self {
            periods: self.periods.saturating_sub(before.periods),
            throttled_periods: self.throttled_periods.saturating_sub(before.throttled_periods),
            throttled_ns: self.throttled_ns.saturating_sub(before.throttled_ns),
        }
    }
}

/// Parses `cpu.stat`: version 2 has `throttled_usec`, version 1 `throttled_time` in nanoseconds. None without a CPU
/// controller.
fn counts(text: &str) -> Option<Counts> {
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))?;
        line.trim().parse::<u64>().ok()
    };
    let throttled_us = || value("throttled_usec").map(|us| us.saturating_mul(1_000));
    Some(Counts {
        periods: value("nr_periods")?,
        throttled_periods: value("nr_throttled")?,
        throttled_ns: value("throttled_time").or_else(throttled_us)?,
    })
}

/// The limit of a group in cores: `cpu.max` in version 2, quota and period in version 1.
fn cores_allowed(folder: &Path) -> Option<f64> {
    let text = |file: &str| fs::read_to_string(folder.join(file)).ok();
    let limit = text("cpu.max").or_else(|| {
        Some(format!("{} {}", text("cpu.cfs_quota_us")?.trim(), text("cpu.cfs_period_us")?.trim()))
    })?;
    let (quota, period) = limit.trim().split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_read() {
        let v1 = "nr_periods 30\nnr_throttled 29\nthrottled_time 2300000000\n";
        let v2 = "usage_usec 5\nuser_usec 3\nnr_periods 30\nnr_throttled 29\nthrottled_usec 2300000\nnr_bursts 0\n";
        let expected = Counts { periods: 30, throttled_periods: 29, throttled_ns: 2_300_000_000 };
        assert_eq!((counts(v1), counts(v2)), (Some(expected), Some(expected)));
        assert_eq!(counts("usage_usec 5\nuser_usec 3\nsystem_usec 2\n"), None, "without the controller");
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
