//! Reads the environment of a measurement from `/proc` and `/sys`.
//!
//! Called once per run and once per round. It never fails: values that the machine does not report are left out. Every
//! path is below a root, so that tests can use files of a simulated machine.

use paceline_record::{Environment, IdleState};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Kernel settings that affect a server or a generator, as paths below `/proc/sys`: queues of connections and packets,
/// ports, reuse of closed ones, buffers, congestion control, and busy polling.
const SYSCTL: [&str; 18] = [
    "fs/file-max",
    "fs/nr_open",
    "kernel/sched_autogroup_enabled",
    "net/core/busy_poll",
    "net/core/busy_read",
    "net/core/default_qdisc",
    "net/core/netdev_max_backlog",
    "net/core/rmem_max",
    "net/core/somaxconn",
    "net/core/wmem_max",
    "net/ipv4/ip_local_port_range",
    "net/ipv4/tcp_congestion_control",
    "net/ipv4/tcp_fin_timeout",
    "net/ipv4/tcp_max_syn_backlog",
    "net/ipv4/tcp_rmem",
    "net/ipv4/tcp_syncookies",
    "net/ipv4/tcp_tw_reuse",
    "net/ipv4/tcp_wmem",
];

/// The environment of this machine.
pub fn read() -> Environment {
    MachineFiles { root: PathBuf::from("/") }.environment()
}

/// A machine whose files are below a root.
struct MachineFiles {
    root: PathBuf,
}

impl MachineFiles {
    fn environment(&self) -> Environment {
        let cpuinfo = self.text("proc/cpuinfo").unwrap_or_default();
        let limits = self.text("proc/self/limits").unwrap_or_default();
        let (open_files_soft, open_files_hard) = open_files(&limits).unwrap_or_default();
        let cpu = "sys/devices/system/cpu";
        Environment {
            cpu_model: cpu_model(&cpuinfo).unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: self.text(&format!("{cpu}/online")).and_then(|list| cores_in(&list)).unwrap_or(0),
            memory_bytes: self.text("proc/meminfo").and_then(|text| memory_bytes(&text)).unwrap_or(0),
            kernel: self.kernel(),
            os: self.text("etc/os-release").and_then(|text| os_name(&text)).unwrap_or_default(),
            virtual_machine: has_hypervisor(&cpuinfo) || self.text("sys/hypervisor/type").is_some(),
            mitigations: self.mitigations(&format!("{cpu}/vulnerabilities")),
            governor: self.text(&format!("{cpu}/cpu0/cpufreq/scaling_governor")),
            clock_source: self.text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            idle_states: self.idle_states(&format!("{cpu}/cpu0/cpuidle")),
            open_files_soft,
            open_files_hard,
            sysctl: self.sysctl(),
            held: Vec::new(),
        }
    }

    /// The text of a file without surrounding whitespace; `None` if it cannot be read or is empty.
    fn text(&self, path: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.root.join(path)).ok()?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// `Linux 6.1.0-18-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)`.
    fn kernel(&self) -> String {
        let parts =
            ["ostype", "osrelease", "version"].map(|name| self.text(&format!("proc/sys/kernel/{name}")));
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn mitigations(&self, folder: &str) -> BTreeMap<String, String> {
        let names = entries(&self.root.join(folder));
        let known = names.into_iter().filter_map(|name| {
            let state = self.text(&format!("{folder}/{name}"))?;
            Some((name, state))
        });
        known.collect()
    }

    /// The idle states in the kernel's order, the shallowest first.
    fn idle_states(&self, folder: &str) -> Vec<IdleState> {
        let numbers = entries(&self.root.join(folder))
            .into_iter()
            .filter_map(|name| name.strip_prefix("state")?.parse::<u32>().ok());
        let mut numbers: Vec<u32> = numbers.collect();
        numbers.sort_unstable();
        let state = |number: &u32| {
            let name = self.text(&format!("{folder}/state{number}/name"))?;
            let exit_us = self.text(&format!("{folder}/state{number}/latency"))?.parse().ok()?;
            Some(IdleState { name, exit_us })
        };
        numbers.iter().filter_map(state).collect()
    }

    fn sysctl(&self) -> BTreeMap<String, String> {
        let setting = |path: &&str| {
            let value = self.text(&format!("proc/sys/{path}"))?;
            Some((path.replace('/', "."), value.split_whitespace().collect::<Vec<_>>().join(" ")))
        };
        SYSCTL.iter().filter_map(setting).collect()
    }
}

/// The names in a folder; empty if it cannot be read.
fn entries(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// The value of a `key : value` line.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

/// The processor's name from `/proc/cpuinfo`: Arm boards use another key, and most Arm servers have none.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    let name =
        ["model name", "Model", "Hardware", "cpu model", "cpu"].iter().find_map(|key| field(cpuinfo, key))?;
    Some(name.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|name| !name.is_empty())
}

/// The processor sets this flag for a guest of a hypervisor (x86).
fn has_hypervisor(cpuinfo: &str) -> bool {
    field(cpuinfo, "flags").is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// The number of processors in a list such as `0-3,8`.
pub(crate) fn cores_in(list: &str) -> Option<u32> {
    let mut cores: u32 = 0;
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        cores = cores.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(cores)
}

fn memory_bytes(meminfo: &str) -> Option<u64> {
    let kib: u64 = field(meminfo, "MemTotal")?.strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The name of the distribution (os-release(5): the value may be quoted).
fn os_name(release: &str) -> Option<String> {
    let value = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

/// The soft and the hard limit of open files; no limit is returned as the highest number.
fn open_files(limits: &str) -> Option<(u64, u64)> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let mut values = line.split_whitespace();
    let mut limit = || {
        let value = values.next()?;
        if value == "unlimited" { Some(u64::MAX) } else { value.parse().ok() }
    };
    Some((limit()?, limit()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, MachineFiles) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let machine = MachineFiles { root: root.path().to_owned() };
        (root, machine)
    }

    #[test]
    fn a_complete_virtual_machine_is_described() {
        let cpu = "sys/devices/system/cpu";
        let at = |path: &str| format!("{cpu}/{path}");
        let (_root, machine) = machine(&[
            (
                "proc/cpuinfo",
                "processor\t: 0\nmodel name\t: AMD  EPYC 9R14\nflags\t\t: fpu hypervisor sse2\n",
            ),
            ("proc/meminfo", "MemTotal:       24684096 kB\nMemFree:        20051272 kB\n"),
            (
                "proc/self/limits",
                "Limit  Soft Limit  Hard Limit  Units\nMax open files  1024  unlimited  files\n",
            ),
            ("proc/sys/kernel/ostype", "Linux\n"),
            ("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n"),
            ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Debian\n"),
            ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
            ("proc/sys/net/core/somaxconn", "4096\n"),
            ("etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
            (&at("online"), "0-2,5\n"),
            (&at("vulnerabilities/meltdown"), "Not affected\n"),
            (&at("cpu0/cpufreq/scaling_governor"), "performance\n"),
            (&at("cpu0/cpuidle/state0/name"), "POLL\n"),
            (&at("cpu0/cpuidle/state0/latency"), "0\n"),
            (&at("cpu0/cpuidle/state10/name"), "C6\n"),
            (&at("cpu0/cpuidle/state10/latency"), "133\n"),
            (&at("cpu0/cpuidle/state2/name"), "C1E\n"),
            (&at("cpu0/cpuidle/state2/latency"), "10\n"),
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
        ]);
        let environment = machine.environment();
        let state = |name: &str, exit_us| IdleState { name: name.to_owned(), exit_us };
        let expected = Environment {
            cpu_model: "AMD EPYC 9R14".to_owned(),
            cores: 4,
            memory_bytes: 24_684_096 * 1024,
            kernel: "Linux 6.1.0-18-amd64 #1 SMP PREEMPT_DYNAMIC Debian".to_owned(),
            os: "Debian GNU/Linux 12 (bookworm)".to_owned(),
            virtual_machine: true,
            mitigations: [("meltdown".to_owned(), "Not affected".to_owned())].into(),
            governor: Some("performance".to_owned()),
            clock_source: Some("tsc".to_owned()),
            idle_states: vec![state("POLL", 0), state("C1E", 10), state("C6", 133)],
            open_files_soft: 1024,
            open_files_hard: u64::MAX,
            sysctl: [
                ("net.core.somaxconn".to_owned(), "4096".to_owned()),
                ("net.ipv4.ip_local_port_range".to_owned(), "32768 60999".to_owned()),
            ]
            .into(),
            held: Vec::new(),
        };
        assert_eq!(environment, expected);
    }

    #[test]
    fn missing_system_files_are_not_an_error() {
        let (_root, machine) = machine(&[]);
        let expected = Environment { cpu_model: std::env::consts::ARCH.to_owned(), ..Environment::default() };
        assert_eq!(machine.environment(), expected);
    }

    #[test]
    fn invalid_values_are_left_out() {
        let (_root, machine) = machine(&[
            ("proc/cpuinfo", "no colon here\n: :\n"),
            ("proc/meminfo", "MemTotal: lots\n"),
            ("proc/self/limits", "Max open files\n"),
            ("sys/devices/system/cpu/online", "3-1,x\n"),
        ]);
        let environment = machine.environment();
        assert_eq!((environment.cores, environment.memory_bytes, environment.open_files_soft), (0, 0, 0));
    }

    #[test]
    fn this_machine_has_a_kernel_and_a_core() {
        let environment = read();
        assert!(environment.cores >= 1 && environment.memory_bytes > 0, "{environment:?}");
        assert!(environment.kernel.starts_with("Linux "), "{}", environment.kernel);
    }
}
