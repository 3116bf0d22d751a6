//! The wanted values of the machine's settings for a round: those of source 002, and the frequency governor.
//!
//! A limit is raised, never lowered: the values of the source are from 2015, and a current machine often has more. This
//! module only lists files; it reads and writes no setting.

use std::path::{Path, PathBuf};

/// The wanted value of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TargetValue {
    /// This number or more.
    AtLeast(u64),
    /// Exactly this value.
    Exactly(&'static str),
    /// A range of ports that contains this one.
    Ports(u16, u16),
    /// Recorded but not changed, for the reason given.
    Alone(&'static str),
}

/// One setting and its wanted value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WantedSetting {
    pub name: String,
    /// The file, without links in its path.
    pub path: PathBuf,
    /// Whether the file is a link to a place that is not below the root: it is neither read nor written.
    pub is_outside: bool,
    pub aim: TargetValue,
}

impl WantedSetting {
    fn new(name: String, root: &Path, below: &Path, aim: TargetValue) -> Self {
        let path = root.join(below);
        // Without a file there is nothing to resolve. Links within sysfs are usual: `cpufreq` is one.
        match (path.canonicalize(), root.canonicalize()) {
            (Ok(file), Ok(root)) => Self { name, is_outside: !file.starts_with(root), path: file, aim },
            _ => Self { name, is_outside: path.is_symlink(), path, aim },
        }
    }
}

/// The list of source 002, with the names of sysctl(8). Two entries differ from the source. Its port range begins at
/// 1,025; here it begins at 25,000, since the servers' ports are chosen from 20,000 on outside that range. Forwarding
/// is not changed: changing it resets the machine's other network settings (Documentation/networking/ip-sysctl.rst),
/// which could not be restored.
const SYSCTL: [(&str, TargetValue); 18] = [
    ("fs.file-max", TargetValue::AtLeast(65_535)),
    ("fs.nr_open", TargetValue::AtLeast(65_535)),
    ("net.core.netdev_max_backlog", TargetValue::AtLeast(4_096)),
    ("net.core.rmem_max", TargetValue::AtLeast(16_777_216)),
    ("net.core.somaxconn", TargetValue::AtLeast(65_535)),
    ("net.core.wmem_max", TargetValue::AtLeast(16_777_216)),
    (
        "net.ipv4.ip_forward",
        TargetValue::Alone("not changed, because a change resets other network settings permanently"),
    ),
    ("net.ipv4.ip_local_port_range", TargetValue::Ports(25_000, 65_535)),
    ("net.ipv4.tcp_fin_timeout", TargetValue::Exactly("30")),
    ("net.ipv4.tcp_keepalive_time", TargetValue::Exactly("30")),
    ("net.ipv4.tcp_max_syn_backlog", TargetValue::AtLeast(20_480)),
    ("net.ipv4.tcp_max_tw_buckets", TargetValue::AtLeast(400_000)),
    ("net.ipv4.tcp_no_metrics_save", TargetValue::Exactly("1")),
    ("net.ipv4.tcp_syn_retries", TargetValue::Exactly("2")),
    ("net.ipv4.tcp_synack_retries", TargetValue::Exactly("2")),
    ("net.ipv4.tcp_tw_recycle", TargetValue::Exactly("1")),
    ("net.ipv4.tcp_tw_reuse", TargetValue::Exactly("1")),
    ("vm.min_free_kbytes", TargetValue::AtLeast(65_536)),
];
/// The last of them, separate because a higher number is not better.
const OVERCOMMIT: (&str, TargetValue) = ("vm.overcommit_memory", TargetValue::Exactly("1"));

/// Every setting of the machine below `root`, in order.
pub(super) fn all(root: &Path) -> Vec<WantedSetting> {
    let sysctl = SYSCTL.iter().chain([&OVERCOMMIT]).map(|(name, aim)| {
        let below = Path::new("proc/sys").join(name.replace('.', "/"));
        WantedSetting::new((*name).to_owned(), root, &below, *aim)
    });
    sysctl.chain(governors(root)).collect()
}

/// The names of the network's settings that a tuning changes, as in sysctl(8).
pub fn network_settings() -> impl Iterator<Item = &'static str> {
    let changed = SYSCTL.iter().filter(|(_, aim)| !matches!(aim, TargetValue::Alone(_)));
    changed.map(|(name, _)| *name).filter(|name| name.starts_with("net."))
}

/// The governor of each processor that has one. If there is none, as on most virtual machines, the first processor is
/// listed, so that the record shows this.
fn governors(root: &Path) -> Vec<WantedSetting> {
    let below = Path::new("sys/devices/system/cpu");
    let folder = root.join(below);
    let number = |name: &str| name.strip_prefix("cpu")?.parse::<u32>().ok();
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut numbers: Vec<u32> = entries.filter_map(|entry| number(entry.file_name().to_str()?)).collect();
    numbers.sort_unstable();
    let file = |number: &u32| below.join(format!("cpu{number}/cpufreq/scaling_governor"));
    let mut having: Vec<u32> =
        numbers.into_iter().filter(|number| root.join(file(number)).exists()).collect();
    if having.is_empty() {
        having.push(0);
    }
    let wanted = |number: &u32| {
        let aim = TargetValue::Exactly("performance");
        WantedSetting::new(format!("governor of cpu{number}"), root, &file(number), aim)
    };
    having.iter().map(wanted).collect()
}

impl TargetValue {
    /// What to write in place of `now`; `None` if `now` is as wanted. An error if the setting is not changed.
    pub fn instead_of(self, now: &str) -> Result<Option<String>, &'static str> {
        let number = now.parse::<u64>().ok();
        match self {
            TargetValue::AtLeast(least) => {
                Ok(number.is_none_or(|now| now < least).then(|| least.to_string()))
            }
            TargetValue::Exactly(value) => Ok((now != value).then(|| value.to_owned())),
            TargetValue::Ports(low, high) => Ok(wider(now, low, high)),
            TargetValue::Alone(_) if number == Some(0) => Ok(None),
            TargetValue::Alone(why) => Err(why),
        }
    }
}

/// The range that contains both; `None` if `now` already does.
fn wider(now: &str, low: u16, high: u16) -> Option<String> {
    let mut ends = now.split_whitespace().filter_map(|end| end.parse::<u16>().ok());
    let (first, last) = (ends.next().unwrap_or(low), ends.next().unwrap_or(high));
    (first > low || last < high).then(|| format!("{} {}", first.min(low), last.max(high)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_raised_and_never_lowered() {
        let table = [
            (TargetValue::AtLeast(65_535), "4096", Ok(Some("65535"))),
            (TargetValue::AtLeast(65_535), "1048576", Ok(None)),
            (TargetValue::Exactly("1"), "2", Ok(Some("1"))),
            (TargetValue::Exactly("performance"), "performance", Ok(None)),
            (TargetValue::Ports(25_000, 65_535), "32768 60999", Ok(Some("25000 65535"))),
            (TargetValue::Ports(25_000, 65_535), "1025 65535", Ok(None)),
            (TargetValue::Ports(25_000, 65_535), "1025 60999", Ok(Some("1025 65535"))),
            (TargetValue::Alone("why"), "0", Ok(None)),
            (TargetValue::Alone("why"), "1", Err("why")),
        ];
        for (aim, now, expected) in table {
            assert_eq!(aim.instead_of(now), expected.map(|value| value.map(str::to_owned)), "{aim:?} {now}");
        }
    }

    #[test]
    fn every_processor_with_a_governor_has_an_entry() {
        let root = tempfile::tempdir().unwrap();
        let names = || -> Vec<String> {
            let all = all(root.path()).into_iter().map(|wanted| wanted.name);
            all.filter(|name| name.starts_with("governor")).collect()
        };
        assert_eq!(names(), ["governor of cpu0"]);
        for cpu in ["cpu10", "cpu2", "cpuidle"] {
            std::fs::create_dir_all(root.path().join(format!("sys/devices/system/cpu/{cpu}/cpufreq")))
                .unwrap();
        }
        for cpu in ["cpu10", "cpu2"] {
            let file = format!("sys/devices/system/cpu/{cpu}/cpufreq/scaling_governor");
            std::fs::write(root.path().join(file), "powersave\n").unwrap();
        }
        assert_eq!(names(), ["governor of cpu2", "governor of cpu10"]);
    }
}
