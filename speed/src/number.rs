//! The numbers of a run: one table of what the page can show, and how they follow from what was observed.

use crate::tool::ToolReport;
use paceline_host::system::ResourceUsage;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A number as the page shows it.
pub struct Number {
    /// Its key in `experiments.toml` and in the kept samples.
    pub key: &'static str,
    /// Its heading, with the unit.
    pub heading: &'static str,
    /// Digits after the point.
    pub digits: usize,
}

const fn shown(key: &'static str, heading: &'static str, digits: usize) -> Number {
    Number { key, heading, digits }
}

/// Every number that can be shown. Those from `lag_us_p50` on are the tools' own.
const NUMBERS: [Number; 25] = [
    shown("cpu_us", "CPU us/request", 3),
    shown("user_us", "user us/request", 3),
    shown("core_us", "core us/request", 3),
    shown("requests", "requests", 0),
    shown("requests_per_s", "requests/s", 0),
    shown("achieved_per_s", "achieved/s", 1),
    shown("failed", "failed", 0),
    shown("rss_mb", "resident MB, peak", 1),
    shown("kib_each", "KiB apiece", 3),
    shown("gb_per_cpu_s", "GB/CPU s", 3),
    shown("lag_us_p50", "lag us, p50", 1),
    shown("lag_us_p99", "lag us, p99", 1),
    shown("lag_us_max", "lag us, max", 0),
    shown("busy_share", "busy s/s", 3),
    shown("spin_share", "spun s/s", 3),
    shown("ms_p50", "p50 ms", 2),
    shown("ms_p85", "p85 ms", 2),
    shown("ms_p95", "p95 ms", 2),
    shown("ms_p99", "p99 ms", 2),
    shown("ms_p99_9", "p99.9 ms", 2),
    shown("connections_had", "connections had", 0),
    shown("attempts_failed", "attempts failed", 0),
    shown("served_min", "fewest on one", 0),
    shown("connect_s", "connecting s", 2),
    shown("all_s", "all s", 2),
];

/// The number of a key.
pub fn number(key: &str) -> Option<&'static Number> {
    NUMBERS.iter().find(|number| number.key == key)
}

/// What was observed of a run from outside.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observed {
    /// From start to end of the generator.
    pub all_s: f64,
    /// What its process used.
    pub usage: ResourceUsage,
    /// Time its cores were busy, interrupts included; none where the server shares them.
    pub core_busy_s: Option<f64>,
    /// Length of a response's body.
    pub body_bytes: usize,
}

/// Whose CPU time is divided by the requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuScope {
    /// The whole process's, as the kernel counts it.
    #[default]
    Process,
    /// The window's, as the program reports it.
    Window,
}

/// The numbers of a run.
pub fn numbers(report: &ToolReport, observed: &Observed, cpu: CpuScope) -> BTreeMap<String, f64> {
    let process = (observed.usage.user_s, observed.usage.system_s);
    let (user_s, system_s) = match cpu {
        CpuScope::Process => process,
        CpuScope::Window => report.cpu_s.unwrap_or(process),
    };
    let (cpu_s, wall_s) = (user_s + system_s, report.wall_s.unwrap_or(observed.all_s));
    let rss_bytes = report.rss_bytes_peak.unwrap_or(observed.usage.rss_bytes_peak) as f64;
    let requests = report.requests as f64;
    let ratio = |of: f64, to: f64| (of > 0.0 && to > 0.0).then_some(of / to);
    let per_request_us = |seconds: f64| (requests > 0.0).then_some(seconds * 1e6 / requests);
    let rate = ratio(requests, wall_s);
    let had = report.own.get("connections_had").copied().unwrap_or(0.0);
    let mut numbers: BTreeMap<String, f64> = [
        ("cpu_us", per_request_us(cpu_s)),
        ("user_us", per_request_us(user_s)),
        ("core_us", observed.core_busy_s.and_then(per_request_us)),
        ("requests", Some(requests)),
        ("requests_per_s", rate),
        ("achieved_per_s", rate),
        ("failed", Some(report.failed as f64)),
        ("rss_mb", (rss_bytes > 0.0).then_some(rss_bytes / 1e6)),
        ("kib_each", ratio(rss_bytes / 1024.0, had)),
        ("gb_per_cpu_s", ratio(requests * observed.body_bytes as f64 / 1e9, cpu_s)),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key.to_owned(), value?)))
    .collect();
    // A rate that the tool counts itself, such as what was completed inside the window, replaces ours.
    numbers.extend(report.own.iter().map(|(key, value)| ((*key).to_owned(), *value)));
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_of_the_process_or_of_the_window() {
        let report = ToolReport {
            requests: 1_000_000,
            wall_s: Some(4.0),
            cpu_s: Some((1.0, 1.0)),
            own: [("achieved_per_s", 249_999.0), ("connections_had", 100.0)].into(),
            ..ToolReport::default()
        };
        let usage = ResourceUsage { user_s: 1.0, system_s: 2.0, rss_bytes_peak: 204_800 };
        let observed = Observed { all_s: 5.0, usage, core_busy_s: Some(3.5), body_bytes: 3_000 };
        let of = |cpu, key: &str| numbers(&report, &observed, cpu)[key];
        assert_eq!((of(CpuScope::Process, "cpu_us"), of(CpuScope::Window, "cpu_us")), (3.0, 2.0));
        assert_eq!(
            (of(CpuScope::Process, "core_us"), of(CpuScope::Process, "requests_per_s")),
            (3.5, 250_000.0)
        );
        assert_eq!(
            (of(CpuScope::Process, "achieved_per_s"), of(CpuScope::Process, "kib_each")),
            (249_999.0, 2.0)
        );
        assert_eq!(of(CpuScope::Process, "gb_per_cpu_s"), 1.0);
        let nothing = numbers(&ToolReport::default(), &Observed::default(), CpuScope::Process);
        assert_eq!(nothing.keys().collect::<Vec<_>>(), ["failed", "requests"]);
    }
}
