//! What the loader's network interface moved over the window, and how much it can.
//!
//! The interface is the one that moved the most: a load generator's machine does little else. Over loopback there is no
//! link that could be full.

use paceline_engine::Nanos;
use paceline_host::system::monotonic_ns;
use paceline_record::{NetworkUse, Run};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Bytes received and sent by each interface, at a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counters {
    at_ns: u64,
    bytes: BTreeMap<String, (u64, u64)>,
}

impl Counters {
    /// Now.
    pub(crate) fn now() -> Self {
        let text = std::fs::read_to_string("/proc/net/dev").unwrap_or_default();
        Self { at_ns: monotonic_ns(), bytes: interfaces(&text) }
    }

    /// At a moment in the future.
    pub(crate) fn at(moment: Nanos) -> Self {
        std::thread::sleep(Duration::from_nanos(moment.0.saturating_sub(monotonic_ns())));
        Self::now()
    }

    /// What was moved until `end`; none over loopback. Where the drain is long, this is less than in the window.
    pub(crate) fn until(&self, end: &Counters, run: &Run) -> Option<NetworkUse> {
        let address = run.target.address.as_str();
        if address.starts_with("127.") || address.starts_with("[::1]") || address.starts_with("unix:") {
            return None;
        }
        let seconds = end.at_ns.saturating_sub(self.at_ns) as f64 / 1e9;
        let moved = end.bytes.iter().filter_map(|(name, (received, sent))| {
            let (received_before, sent_before) = self.bytes.get(name)?;
            Some((name, received.saturating_sub(*received_before), sent.saturating_sub(*sent_before)))
        });
        let (interface, received, sent) = moved.max_by_key(|(_, received, sent)| received + sent)?;
        (seconds > 0.0).then(|| NetworkUse {
            interface: interface.clone(),
            sent_bytes_per_s: sent as f64 / seconds,
            received_bytes_per_s: received as f64 / seconds,
            speed_bytes_per_s: speed(interface),
        })
    }
}

/// The interfaces in `/proc/net/dev` but loopback, with bytes received and sent (proc_net_dev(5)).
fn interfaces(text: &str) -> BTreeMap<String, (u64, u64)> {
    let line = |line: &str| {
        let (name, counts) = line.split_once(':')?;
        let counts: Vec<u64> = counts.split_whitespace().map_while(|count| count.parse().ok()).collect();
        Some((name.trim().to_owned(), (*counts.first()?, *counts.get(8)?)))
    };
    text.lines().filter_map(line).filter(|(name, _)| name != "lo").collect()
}

/// The speed of an interface in bytes per second: what a token bucket on it allows, else what its driver says.
fn speed(interface: &str) -> Option<f64> {
    let discipline = Command::new("tc").args(["qdisc", "show", "dev", interface]).output().ok();
    let limit = discipline.and_then(|output| bucket(&String::from_utf8_lossy(&output.stdout)));
    let driver = || {
        let folder: PathBuf = Path::new("/sys/class/net").join(interface);
        let megabits: f64 = std::fs::read_to_string(folder.join("speed")).ok()?.trim().parse().ok()?;
        (megabits > 0.0).then_some(megabits * 1e6 / 8.0)
    };
    limit.or_else(driver)
}

/// The rate of a token bucket filter in the output of `tc qdisc show`, in bytes per second.
fn bucket(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with("qdisc tbf "))?;
    let rate = line.split_whitespace().skip_while(|word| *word != "rate").nth(1)?;
    let (digits, unit) = rate.split_at(rate.find(|c: char| c.is_ascii_alphabetic())?);
    let bits = match unit {
        "bit" => 1.0,
        "Kbit" => 1e3,
        "Mbit" => 1e6,
        "Gbit" => 1e9,
        _ => return None,
    };
    Some(digits.parse::<f64>().ok()? * bits / 8.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEV: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 9000 1 0 0 0 0 0 0 9000 1 0 0 0 0 0 0
  eth0:  500 1 0 0 0 0 0 0 70 1 0 0 0 0 0 0
";

    #[test]
    fn interfaces_are_read_without_loopback() {
        assert_eq!(interfaces(DEV), [("eth0".to_owned(), (500, 70))].into());
        assert!(interfaces("eth0: 1 2 x\n\u{0}").is_empty());
    }

    #[test]
    fn a_token_bucket_is_a_speed() {
        let shown = "qdisc tbf 8001: root refcnt 5 rate 100Mbit burst 32Kb lat 50ms \n";
        assert_eq!(bucket(shown), Some(12_500_000.0));
        assert_eq!(bucket("qdisc noqueue 0: root refcnt 2 \n"), None);
        assert_eq!(bucket("qdisc tbf 1: root rate fast\n"), None);
    }
}
