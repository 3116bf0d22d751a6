//! Time of every core, from `/proc/stat`, including interrupts and steal, which a process's own account leaves out.
//!
//! Read at both ends of a window, by the lab for a trial and by the run crate for a run. This module only subtracts;
//! the verdicts of the record judge how much stolen time is too much.

use crate::{SuspendedTime, system};
use paceline_record::CoreTime;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;

/// The counters of every core at one moment, in clock ticks, and how long their machine was suspended until then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreTicks {
    monotonic_ns: u64,
    suspended: SuspendedTime,
    cores: Vec<TickCounts>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct TickCounts {
    core: u32,
    busy: u64,
    interrupt: u64,
    steal: u64,
}

impl CoreTicks {
    /// Reads the counters. Empty if `/proc/stat` cannot be read.
    pub fn now() -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        Self {
            monotonic_ns: crate::system::monotonic_ns(),
            suspended: SuspendedTime::now(),
            cores: stat.lines().filter_map(parse).collect(),
        }
    }

    /// The time for which the machine was suspended since `earlier`, in seconds; none if it was not.
    pub fn suspended_s_since(&self, earlier: &CoreTicks) -> Option<f64> {
        self.suspended.since_s(earlier.suspended)
    }

    /// Time of each core since `earlier`, by kind.
    pub fn since(&self, earlier: &CoreTicks) -> Vec<CoreTime> {
        let over_s = self.monotonic_ns.saturating_sub(earlier.monotonic_ns) as f64 * 1e-9;
        let per_s = crate::system::ticks_per_s();
        let seconds = |now: u64, then: u64| now.saturating_sub(then) as f64 / per_s;
        let pairs = self.cores.iter().filter_map(|now| {
            let then = earlier.cores.iter().find(|then| then.core == now.core)?;
            Some((now, then))
        });
        pairs
            .map(|(now, then)| CoreTime {
                core: now.core,
                over_s,
                busy_s: seconds(now.busy, then.busy),
                interrupt_s: seconds(now.interrupt, then.interrupt),
                steal_s: seconds(now.steal, then.steal),
            })
            .collect()
    }
}

/// `cpuN user nice system idle iowait irq softirq steal ...`: proc_stat(5). Guest time is inside user and nice.
fn parse(line: &str) -> Option<TickCounts> {
    let mut fields = line.strip_prefix("cpu")?.split_ascii_whitespace();
    let core = fields.next()?.parse().ok()?;
    // The line of all cores together has no core number: a space follows `cpu`.
    if line.as_bytes().get(3) == Some(&b' ') {
        return None;
    }
    let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
    let [user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = ticks[..] else { return None };
    let total = |ticks: &[u64]| ticks.iter().fold(0, |sum: u64, ticks| sum.saturating_add(*ticks));
    let interrupt = total(&[irq, softirq]);
    Some(TickCounts { core, busy: total(&[user, nice, system, interrupt]), interrupt, steal })
}

/// See [`crate::fuzz_proc_text`].
pub(crate) fn fuzz(text: &str) {
    let (then, now) = text.split_once("\n---\n").unwrap_or((text, ""));
    let read = |text: &str, monotonic_ns| CoreTicks {
        monotonic_ns,
        suspended: SuspendedTime::default(),
        cores: text.lines().filter_map(parse).collect(),
    };
    for core in read(now, 1_000_000_000).since(&read(then, 0)) {
        assert!(core.busy_s >= 0.0 && core.steal_s >= 0.0);
    }
}

/// The cores that the calling thread may run on, grouped by physical core.
///
/// # Errors
/// When the system does not report them.
pub fn physical_cores() -> io::Result<Vec<Vec<u32>>> {
    Ok(by_physical_core(&system::affinity()?))
}

/// Restricts the calling thread, and every thread and process it starts, to these cores.
///
/// # Errors
/// When the system refuses: no such core, or one this process may not use.
pub fn pin_self(cores: &[u32]) -> io::Result<()> {
    system::set_affinity(cores)
}

/// Groups the cores by physical core, in order of the first core of each group.
fn by_physical_core(cores: &[u32]) -> Vec<Vec<u32>> {
    let mut groups: BTreeMap<(u32, String), Vec<u32>> = BTreeMap::new();
    let mut first_of: BTreeMap<String, u32> = BTreeMap::new();
    for core in cores {
        let path = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
        // Without a topology each core is a separate group.
        let siblings = fs::read_to_string(path).unwrap_or_else(|_| core.to_string());
        let first = *first_of.entry(siblings.clone()).or_insert(*core);
        groups.entry((first, siblings)).or_default().push(*core);
    }
    groups.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_includes_interrupts_but_not_idle_or_steal() {
        let ticks = parse("cpu1 10 1 5 1000 50 2 3 7 4 0");
        assert_eq!(ticks, Some(TickCounts { core: 1, busy: 21, interrupt: 5, steal: 7 }));
        assert_eq!(parse("cpu  10 1 5 1000 50 2 3 7 4 0"), None);
        assert_eq!(parse("intr 10 1"), None);
    }

    #[test]
    fn an_interval_is_the_difference_of_two_readings() {
        let at = |monotonic_ns, line| CoreTicks {
            monotonic_ns,
            suspended: SuspendedTime::default(),
            cores: vec![parse(line).unwrap()],
        };
        let since = at(2_000_000_000, "cpu0 110 0 50 0 0 0 20 3").since(&at(0, "cpu0 10 0 0 0 0 0 0 1"));
        let per_s = crate::system::ticks_per_s();
        let expected = CoreTime {
            core: 0,
            over_s: 2.0,
            busy_s: 170.0 / per_s,
            interrupt_s: 20.0 / per_s,
            steal_s: 2.0 / per_s,
        };
        assert_eq!(since, [expected]);
    }
}
