//! `paceline doctor`: checks the settings of this machine that matter for measurements, each with the command that sets
//! it.
//!
//! It changes nothing. Exit status 1 means that measurements made now would be invalid; everything else is advice.

use super::format::PrintFormatFlag;
use crate::documents::{DoctorCheck, DoctorDocument, Grade};
use crate::exit::{Status, print};
use paceline_record::Environment;
use paceline_stats::counted;
use std::fmt::Write as _;
use std::time::Duration;

/// How long steal and other load are observed.
const LOOK: Duration = Duration::from_millis(500);
/// If a hypervisor or other programs use more than this share of the processors, times are meaningless.
const MAX_TAKEN: f64 = 0.1;

/// Flags of `paceline doctor`.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    print: PrintFormatFlag,
}

/// What was read from the machine in addition to its environment description.
#[derive(Debug, Default)]
struct MachineReadings {
    /// Share of the processors' time that the hypervisor took.
    steal: f64,
    /// Share that other programs used.
    busy: f64,
    /// Whether the processor may exceed its nominal frequency; none if unknown.
    turbo: Option<bool>,
    /// Whether the kernel counts how often heat slows down a core.
    counts_heat: bool,
    /// Whether this process may create control groups.
    cgroup: bool,
}

/// Prints what was found.
pub fn run(arguments: Arguments) -> anyhow::Result<Status> {
    let environment = paceline_run::environment::read();
    let findings = findings(&environment, &readings());
    let is_invalid = findings.iter().any(|finding| finding.grade == Grade::Invalid);
    if !arguments.print.is_json() {
        print(&text(&environment, &findings))?;
    }
    arguments.print.print_document(&DoctorDocument {
        valid: !is_invalid,
        cores: environment.cores,
        cpu_model: environment.cpu_model,
        virtual_machine: environment.virtual_machine,
        kernel: environment.kernel,
        checks: findings,
    })?;
    Ok(if is_invalid { Status::Failed } else { Status::Done })
}

fn text(environment: &Environment, findings: &[DoctorCheck]) -> String {
    let kind = if environment.virtual_machine { "virtual machine" } else { "machine" };
    let mut text =
        format!("{kind}: {} x {}\n{}\n\n", environment.cores, environment.cpu_model, environment.kernel);
    for finding in findings {
        let mark = match finding.grade {
            Grade::Good => "ok      ",
            Grade::Better => "improve ",
            Grade::Invalid => "INVALID ",
        };
        let _ = writeln!(text, "{mark} {}: {}", finding.what, finding.found);
        if let Some(advice) = &finding.advice {
            let _ = writeln!(text, "         {advice}");
        }
    }
    let worst = findings.iter().filter(|finding| finding.grade == Grade::Invalid).count();
    let better = findings.iter().filter(|finding| finding.grade == Grade::Better).count();
    let _ = match (worst, better) {
        (0, 0) => writeln!(text, "\nNothing to improve."),
        (0, _) => {
            writeln!(
                text,
                "\nMeasurements are valid here; fixing {} marked `improve` would make them better.",
                counted(better, "line", "lines")
            )
        }
        (_, _) => writeln!(text, "\nDo not trust measurements on this machine now."),
    };
    text
}

/// The findings, one per setting.
fn findings(environment: &Environment, readings: &MachineReadings) -> Vec<DoctorCheck> {
    let sysctl = |key: &str| environment.sysctl.get(key).map(String::as_str);
    vec![
        judged(
            "cores",
            environment.cores.to_string(),
            environment.cores >= 2,
            "the server and Paceline compete for the only core: use a machine with two or more cores",
        ),
        clock(environment),
        share(
            "steal (time taken by the hypervisor)",
            readings.steal,
            "measure with --quiet-cpu (needs root), which keeps the hypervisor from taking idle CPUs; otherwise use a dedicated machine, or measure at another time",
        ),
        share("other load", readings.busy, "stop other programs: `top` shows which ones use the CPU"),
        governor(environment),
        match readings.turbo {
            None => good("turbo", "not reported".to_owned()),
            Some(on) => judged(
                "turbo",
                if on { "on" } else { "off" }.to_owned(),
                !on,
                "CPU frequencies vary with temperature and load. Turn turbo off: echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo (without intel_pstate: echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost)",
            ),
        },
        good(
            "throttling by heat",
            match readings.counts_heat {
                true => "counted by the kernel and judged in each run",
                false => {
                    "not counted here (Intel only, rarely in a virtual machine): runs cannot be judged by it"
                }
            }
            .to_owned(),
        ),
        judged(
            "open files (ulimit -n)",
            format!("{} (hard limit {})", environment.open_files_soft, environment.open_files_hard),
            environment.open_files_hard >= 20_000,
            "10,000 connections need more open files in the server and in Paceline: raise the hard limit (nofile in \
             /etc/security/limits.conf, then log in again), and run ulimit -n 65536 in the shell of the server; Paceline \
             uses its hard limit",
        ),
        at_least(
            "net.core.somaxconn",
            sysctl("net.core.somaxconn"),
            1_024,
            "sudo sysctl -w net.core.somaxconn=4096",
        ),
        ports(sysctl("net.ipv4.ip_local_port_range")),
        judged(
            "control groups",
            if readings.cgroup { "can be created" } else { "cannot be created" }.to_owned(),
            readings.cgroup,
            "without control groups the lab reads CPU time from /proc, which misses child processes that have ended: run as root, or in \
             a delegated control group (systemd-run --user --scope -p Delegate=yes paceline ...)",
        ),
    ]
}

fn good(what: &'static str, found: String) -> DoctorCheck {
    DoctorCheck { grade: Grade::Good, what, found, advice: None }
}

fn judged(what: &'static str, found: String, is_good: bool, advice: &str) -> DoctorCheck {
    match is_good {
        true => good(what, found),
        false => DoctorCheck { grade: Grade::Better, what, found, advice: Some(advice.to_owned()) },
    }
}

/// A finding about processor time used by others: a small share disturbs, a large one makes times meaningless.
fn share(what: &'static str, share: f64, advice: &str) -> DoctorCheck {
    let found = format!("{:.1} %", share * 100.0);
    let grade = match share {
        share if share > MAX_TAKEN => Grade::Invalid,
        share if share > 0.02 => Grade::Better,
        _ => return good(what, found),
    };
    DoctorCheck { grade, what, found, advice: Some(advice.to_owned()) }
}

fn clock(environment: &Environment) -> DoctorCheck {
    let what = "clock source";
    match environment.clock_source.as_deref() {
        Some(found @ ("jiffies" | "refined-jiffies")) => DoctorCheck {
            grade: Grade::Invalid,
            what,
            found: found.to_owned(),
            advice: Some("this clock has a resolution of milliseconds: choose another from available_clocksource in /sys/devices/system/clocksource/clocksource0 and write its name to current_clocksource".to_owned()),
        },
        Some(found @ ("hpet" | "acpi_pm")) => DoctorCheck {
            grade: Grade::Better,
            what,
            found: found.to_owned(),
            advice: Some("reading this clock takes about 1 µs; to select a faster one: echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource".to_owned()),
        },
        found => good(what, found.unwrap_or("not reported").to_owned()),
    }
}

fn governor(environment: &Environment) -> DoctorCheck {
    let what = "CPU frequency governor";
    match environment.governor.as_deref() {
        None => good(what, "none (the hypervisor or firmware decides)".to_owned()),
        Some("performance") => good(what, "performance".to_owned()),
        Some(other) => DoctorCheck {
            grade: Grade::Better,
            what,
            found: other.to_owned(),
            advice: Some("idle cores slow down: sudo cpupower frequency-set -g performance (or `paceline round --tune`)".to_owned()),
        },
    }
}

fn at_least(what: &'static str, found: Option<&str>, least: u64, command: &str) -> DoctorCheck {
    let number = found.and_then(|found| found.parse().ok()).unwrap_or(0);
    let advice = format!(
        "this limit of waiting connections is too low for a burst of connections; to raise it: {command}"
    );
    match found {
        None => good(what, "not reported".to_owned()),
        Some(found) => judged(what, found.to_owned(), number >= least, &advice),
    }
}

fn ports(range: Option<&str>) -> DoctorCheck {
    let what = "local ports (net.ipv4.ip_local_port_range)";
    let count = range.and_then(|range| {
        let (low, high) = range.split_once(' ')?;
        high.parse::<u32>().ok()?.checked_sub(low.parse().ok()?)
    });
    match (range, count) {
        (Some(range), Some(count)) => judged(
            what,
            range.to_owned(),
            count >= 28_000,
            "each connection to the same address needs a local port: sudo sysctl -w net.ipv4.ip_local_port_range='10000 65535'",
        ),
        _ => good(what, "not reported".to_owned()),
    }
}

/// Observes the processors for a moment.
fn readings() -> MachineReadings {
    let before = ticks();
    std::thread::sleep(LOOK);
    let after = ticks();
    let [all, busy, steal] = [0, 1, 2].map(|at| after[at].saturating_sub(before[at]) as f64);
    let turbo = |path: &str, on: &str| std::fs::read_to_string(path).ok().map(|text| text.trim() == on);
    MachineReadings {
        steal: steal / all.max(1.0),
        busy: busy / all.max(1.0),
        turbo: turbo("/sys/devices/system/cpu/intel_pstate/no_turbo", "0")
            .or_else(|| turbo("/sys/devices/system/cpu/cpufreq/boost", "1")),
        counts_heat: std::path::Path::new("/sys/devices/system/cpu/cpu0/thermal_throttle").is_dir(),
        cgroup: rustix::fs::access("/sys/fs/cgroup", rustix::fs::Access::WRITE_OK).is_ok(),
    }
}

/// Ticks of all processors since the machine was started: all, busy, and taken by the hypervisor (proc_stat(5)).
fn ticks() -> [u64; 3] {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    ticks_of(text.lines().next().unwrap_or_default())
}

fn ticks_of(line: &str) -> [u64; 3] {
    let fields: Vec<u64> = line.split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    let at = |index: usize| fields.get(index).copied().unwrap_or(0);
    let all: u64 = fields.iter().take(8).sum();
    [all, all - at(3) - at(4) - at(7), at(7)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Environment {
        Environment {
            cores: 4,
            open_files_soft: 1_024,
            open_files_hard: 1_048_576,
            clock_source: Some("tsc".to_owned()),
            governor: Some("performance".to_owned()),
            sysctl: [("net.core.somaxconn", "4096"), ("net.ipv4.ip_local_port_range", "32768 60999")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            ..Environment::default()
        }
    }

    fn not_good(environment: &Environment, readings: &MachineReadings) -> Vec<(&'static str, Grade)> {
        let found =
            findings(environment, readings).into_iter().filter(|finding| finding.grade != Grade::Good);
        found
            .map(|finding| {
                assert!(finding.advice.is_some(), "{finding:?}");
                (finding.what, finding.grade)
            })
            .collect()
    }

    #[test]
    fn a_well_configured_machine_has_no_advice() {
        let readings = MachineReadings { cgroup: true, ..MachineReadings::default() };
        assert_eq!(not_good(&machine(), &readings), []);
        assert!(text(&machine(), &findings(&machine(), &readings)).ends_with("Nothing to improve.\n"));
    }

    #[test]
    fn settings_are_advice_and_a_stolen_processor_is_invalid() {
        let mut machine = machine();
        (machine.cores, machine.open_files_hard) = (1, 4_096);
        machine.governor = Some("powersave".to_owned());
        machine.sysctl.insert("net.core.somaxconn".to_owned(), "128".to_owned());
        let readings =
            MachineReadings { steal: 0.2, busy: 0.05, turbo: Some(true), counts_heat: false, cgroup: false };
        let grades = not_good(&machine, &readings);
        let invalid: Vec<_> = grades.iter().filter(|(_, grade)| *grade == Grade::Invalid).collect();
        assert_eq!(invalid, [&("steal (time taken by the hypervisor)", Grade::Invalid)]);
        assert_eq!(grades.len(), 8, "{grades:?}");
    }

    #[test]
    fn ticks_are_read_as_proc_stat_has_them() {
        assert_eq!(ticks_of("cpu  10 1 5 80 2 1 1 20 7 0"), [120, 18, 20]);
        assert_eq!(ticks_of(""), [0, 0, 0]);
    }
}
