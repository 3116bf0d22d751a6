//! How busy each core was, from /proc/stat, and how much of it was neither server nor generator.
//!
//! `runner` reads before and after each run and takes the difference. The generator's own CPU time is not from here:
//! the kernel returns it when the process is waited for (`process`).

use anyhow::Context as _;
use std::fs;

/// Busy time of each core since the machine started, in seconds: everything but idle and waiting for disks,
/// interrupts included.
pub fn busy_s() -> anyhow::Result<Vec<f64>> {
    let stat = fs::read_to_string("/proc/stat").context("/proc/stat")?;
    // SAFETY: sysconf reads a constant of the system.
    let ticks_per_s = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as f64;
    busy_ticks(&stat).map(|ticks| ticks.into_iter().map(|ticks| ticks / ticks_per_s).collect())
}

/// Columns by proc(5): user nice system idle iowait irq softirq steal guest guest_nice, of which guest is in user.
fn busy_ticks(stat: &str) -> anyhow::Result<Vec<f64>> {
    let cores = stat.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu "));
    cores
        .map(|line| {
            let numbers: Vec<f64> = line.split_whitespace().skip(1).filter_map(|n| n.parse().ok()).collect();
            let busy = [0, 1, 2, 5, 6, 7].map(|column| numbers.get(column).copied());
            busy.into_iter().sum::<Option<f64>>().with_context(|| format!("/proc/stat: {line:?}"))
        })
        .collect()
}

/// CPU time of a process and its children, each of one thread, in seconds: first field of schedstat.
pub fn process_s(pid: u32) -> f64 {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    std::iter::once(pid).chain(children).map(own_s).sum()
}

fn own_s(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default();
    text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_and_disks_are_not_busy() {
        let stat =
            "cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 100 20 3 9999 9999 4 5 6 7 8\ncpu1 1 0 0 5 0 0 0 0 0 0\nintr 5\n";
        assert_eq!(busy_ticks(stat).unwrap(), [138.0, 1.0]);
        assert!(busy_ticks("cpu0 1 2\n").is_err());
    }

    #[test]
    fn this_machine_tells() {
        assert!(busy_s().unwrap().iter().sum::<f64>() > 0.0);
        assert!(process_s(std::process::id()) > 0.0);
    }
}
