//! Bytes that this machine's network interface moved during an interval, and the interface's capacity.
//!
//! The interface is the one that moved the most bytes: a machine that runs only a server or a load generator has little
//! other traffic. Loopback is left out: it has no link that could be saturated.

use crate::system::monotonic_ns;
use paceline_record::NetworkUse;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Bytes received and sent by each interface, at a moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkCounters {
    at_ns: u64,
    bytes: BTreeMap<String, (u64, u64)>,
    /// Limits of each interface, where the machine reports any.
    speeds: BTreeMap<String, LinkSpeed>,
}

/// Limits of an interface in bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct LinkSpeed {
    /// Of the device, in each direction.
    device: Option<f64>,
    /// Of a token bucket, which limits sending only.
    bucket: Option<f64>,
}

impl NetworkCounters {
    /// Reads the counters, without speeds.
    pub fn now() -> Self {
        let text = std::fs::read_to_string("/proc/net/dev").unwrap_or_default();
        Self { at_ns: monotonic_ns(), bytes: interfaces(&text), speeds: BTreeMap::new() }
    }

    /// Adds the speed of each interface. This starts a process for each interface: do not call it within a
    /// window.
    #[must_use]
    pub fn with_speeds(self) -> Self {
        let speeds = self.bytes.keys().map(|name| (name.clone(), speed(name))).collect();
        Self { speeds, ..self }
    }

    /// Adds speeds that were read at another time.
    #[must_use]
    pub fn with_speeds_of(self, other: &NetworkCounters) -> Self {
        Self { speeds: other.speeds.clone(), ..self }
    }

    /// Bytes moved per second until `end`, which has the speeds, by the interface that moved the most. None if no time
    /// passed or there is no interface.
    pub fn until(&self, end: &NetworkCounters) -> Option<NetworkUse> {
        let seconds = end.at_ns.saturating_sub(self.at_ns) as f64 / 1e9;
        let moved = end.bytes.iter().filter_map(|(name, (received, sent))| {
            let (received_before, sent_before) = self.bytes.get(name)?;
            Some((name, received.saturating_sub(*received_before), sent.saturating_sub(*sent_before)))
        });
        let (interface, received, sent) = moved.max_by_key(|(_, received, sent)| received + sent)?;
        let speed = end.speeds.get(interface).copied().unwrap_or_default();
        (seconds > 0.0).then(|| NetworkUse {
            interface: interface.clone(),
            sent_bytes_per_s: sent as f64 / seconds,
            received_bytes_per_s: received as f64 / seconds,
            speed_bytes_per_s: speed.device,
            sent_limit_bytes_per_s: speed.bucket,
        })
    }
}

/// The interfaces in `/proc/net/dev` except loopback, with bytes received and sent (proc_net_dev(5)).
fn interfaces(text: &str) -> BTreeMap<String, (u64, u64)> {
    let line = |line: &str| {
        let (name, counts) = line.split_once(':')?;
        let counts: Vec<u64> = counts.split_whitespace().map_while(|count| count.parse().ok()).collect();
        Some((name.trim().to_owned(), (*counts.first()?, *counts.get(8)?)))
    };
    text.lines().filter_map(line).filter(|(name, _)| name != "lo").collect()
}

/// The limits of an interface: the rate of its token bucket, and the speed that its driver reports.
fn speed(interface: &str) -> LinkSpeed {
    let discipline = Command::new("tc").args(["qdisc", "show", "dev", interface]).output().ok();
    LinkSpeed {
        device: driver_speed(&Path::new("/sys/class/net").join(interface)),
        bucket: discipline.and_then(|output| bucket(&String::from_utf8_lossy(&output.stdout))),
    }
}

/// The speed that the driver reports. An interface without a device reports a number that is not a limit: 10 Gbit/s for
/// veth.
fn driver_speed(folder: &Path) -> Option<f64> {
    let has_device = ["device", "bonding"].iter().any(|name| folder.join(name).exists());
    let megabits: f64 = std::fs::read_to_string(folder.join("speed")).ok()?.trim().parse().ok()?;
    (has_device && megabits > 0.0).then_some(megabits * 1e6 / 8.0)
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

    #[test]
    fn only_a_hardware_device_has_a_speed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("speed"), "10000\n").unwrap();
        assert_eq!(driver_speed(folder.path()), None);
        std::fs::create_dir(folder.path().join("device")).unwrap();
        assert_eq!(driver_speed(folder.path()), Some(1.25e9));
        std::fs::write(folder.path().join("speed"), "-1\n").unwrap();
        assert_eq!(driver_speed(folder.path()), None, "as a virtual machine's says");
    }

    #[test]
    fn traffic_is_reported_for_the_busiest_interface() {
        let at = |at_ns, bytes: [(&str, (u64, u64)); 2]| NetworkCounters {
            at_ns,
            bytes: bytes.map(|(name, counts)| (name.to_owned(), counts)).into(),
            speeds: [("eth1".to_owned(), LinkSpeed { device: Some(1e6), bucket: Some(1e3) })].into(),
        };
        let from = at(0, [("eth0", (0, 0)), ("eth1", (10, 20))]);
        let to = at(2_000_000_000, [("eth0", (5, 5)), ("eth1", (110, 1_020))]);
        let moved = from.until(&to).unwrap();
        let seen = (moved.interface.as_str(), moved.received_bytes_per_s, moved.sent_bytes_per_s);
        assert_eq!(seen, ("eth1", 50.0, 500.0));
        assert_eq!((moved.speed_bytes_per_s, moved.sent_limit_bytes_per_s), (Some(1e6), Some(1e3)));
        assert_eq!(from.until(&from), None);
    }
}
