//! Clock frequency of cores, and how often the kernel counted that heat reduced it, from sysfs.
//!
//! Read at both ends of a window, by the lab for a trial and by the run crate for a run. The files are those of kernel
//! Documentation/ABI/testing/sysfs-devices-system-cpu (`thermal_throttle`, Intel's processors only) and
//! admin-guide/pm/cpufreq.rst. Virtual machines rarely have any. This module only subtracts; verdicts judge the result.

use paceline_record::CoreFrequency;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// The folder of the cores, below the root.
const CORES: &str = "sys/devices/system/cpu";
/// The most cores that are read: the heat of one core is that of its package.
const MAX_CORES: usize = 16;
/// How long the frequencies of all cores may take to read. Before Linux 5.18 the kernel may measure one for 10 ms
/// (arch/x86/kernel/cpu/aperfmperf.c): it is of a later moment then, when the load may have ended.
const MAX_READ: Duration = Duration::from_millis(5);

/// The frequencies and throttle counters of some cores at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoreFrequencies {
    cores: BTreeMap<u32, Reading>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reading {
    throttle_count: Option<u64>,
    package_throttle_count: Option<u64>,
    khz: Option<u64>,
    base_khz: Option<u64>,
    max_khz: Option<u64>,
}

impl CoreFrequencies {
    /// Reads the files of the first 16 of these cores below `root` (`/`). A core without any of them is left out, and
    /// so is a frequency that takes long to read.
    pub fn now(root: &Path, cores: &[u32]) -> Self {
        Self::within(root, cores, MAX_READ)
    }

    /// The same with this limit for reading frequencies.
    fn within(root: &Path, cores: &[u32], limit: Duration) -> Self {
        let folder = root.join(CORES);
        let start = Instant::now();
        let is_in_time = || start.elapsed() < limit;
        let read =
            |core: &u32| Some((*core, Reading::of_core(&folder.join(format!("cpu{core}")), &is_in_time)?));
        Self { cores: cores.iter().take(MAX_CORES).filter_map(read).collect() }
    }

    /// The frequency of each core at both moments, and its throttle events since `earlier`.
    pub fn since(&self, earlier: &Self) -> Vec<CoreFrequency> {
        let pairs = self.cores.iter().filter_map(|(core, now)| Some((core, now, earlier.cores.get(core)?)));
        let mhz = |khz: Option<u64>| khz.map(|khz| khz / 1_000);
        let more = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        pairs
            .map(|(core, now, then)| CoreFrequency {
                core: *core,
                frequency_mhz_start: mhz(then.khz),
                frequency_mhz_end: mhz(now.khz),
                frequency_mhz_base: mhz(now.base_khz),
                frequency_mhz_max: mhz(now.max_khz),
                throttle_events: more(now.throttle_count, then.throttle_count),
                package_throttle_events: more(now.package_throttle_count, then.package_throttle_count),
            })
            .collect()
    }
}

impl Reading {
    /// The files of a core; none if it has none of them.
    fn of_core(folder: &Path, is_in_time: &dyn Fn() -> bool) -> Option<Self> {
        let number = |name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
        // Some drivers report the lowest frequency of a core that is idle (drivers/cpufreq/intel_pstate.c: "used as a
        // stale frequency value"): at the end of a window that says only that the load has ended.
        let limits = [number("cpufreq/scaling_min_freq"), number("cpufreq/scaling_max_freq")];
        let is_idle = |khz: &u64| matches!(limits, [Some(min), Some(max)] if min < max && *khz <= min);
        let current = || number("cpufreq/scaling_cur_freq").filter(|khz| is_in_time() && !is_idle(khz));
        let reading = Self {
            throttle_count: number("thermal_throttle/core_throttle_count"),
            package_throttle_count: number("thermal_throttle/package_throttle_count"),
            khz: is_in_time().then(current).flatten(),
            base_khz: number("cpufreq/base_frequency"),
            max_khz: number("cpufreq/cpuinfo_max_freq"),
        };
        (reading != Self::default()).then_some(reading)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn set(root: &TempDir, core: u32, name: &str, number: u64) {
        let file = root.path().join(CORES).join(format!("cpu{core}")).join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("{number}\n")).unwrap();
    }

    /// However busy the machine of the test is.
    fn all_of(root: &Path, cores: &[u32]) -> CoreFrequencies {
        CoreFrequencies::within(root, cores, Duration::MAX)
    }

    /// A machine with two cores that report everything, and one that reports only its frequency.
    fn machine() -> TempDir {
        let root = tempfile::tempdir().unwrap();
        for core in [0, 1] {
            set(&root, core, "thermal_throttle/core_throttle_count", 7);
            set(&root, core, "thermal_throttle/package_throttle_count", 40);
            set(&root, core, "cpufreq/base_frequency", 2_400_000);
            set(&root, core, "cpufreq/cpuinfo_max_freq", 4_700_000);
        }
        (0..3).for_each(|core| set(&root, core, "cpufreq/scaling_cur_freq", 4_100_999));
        root
    }

    #[test]
    fn counters_are_subtracted_and_frequencies_kept() {
        let root = machine();
        let before = all_of(root.path(), &[1, 2]);
        set(&root, 1, "thermal_throttle/core_throttle_count", 9);
        set(&root, 1, "thermal_throttle/package_throttle_count", 45);
        set(&root, 1, "cpufreq/scaling_cur_freq", 2_900_000);
        let found = all_of(root.path(), &[1, 2]).since(&before);
        let hot = CoreFrequency {
            core: 1,
            frequency_mhz_start: Some(4_100),
            frequency_mhz_end: Some(2_900),
            frequency_mhz_base: Some(2_400),
            frequency_mhz_max: Some(4_700),
            throttle_events: Some(2),
            package_throttle_events: Some(5),
        };
        let plain = CoreFrequency {
            core: 2,
            frequency_mhz_start: Some(4_100),
            frequency_mhz_end: Some(4_100),
            ..CoreFrequency::default()
        };
        assert_eq!(found, [hot, plain]);
    }

    #[test]
    fn a_frequency_of_an_idle_core_or_of_a_later_moment_is_unknown() {
        let root = machine();
        let frequency = |reading: CoreFrequencies| reading.since(&reading)[0].frequency_mhz_end;
        let limits = |min, max| {
            set(&root, 0, "cpufreq/scaling_min_freq", min);
            set(&root, 0, "cpufreq/scaling_max_freq", max);
            frequency(all_of(root.path(), &[0]))
        };
        assert_eq!(limits(800_000, 4_700_000), Some(4_100));
        assert_eq!(limits(4_100_999, 4_700_000), None);
        assert_eq!(limits(4_100_999, 4_100_999), Some(4_100), "it is fixed");
        let late = CoreFrequencies::within(root.path(), &[0], Duration::ZERO);
        assert_eq!(late.since(&late)[0].throttle_events, Some(0));
        assert_eq!(frequency(late), None);
    }

    #[test]
    fn a_virtual_machine_reports_nothing() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join(CORES).join("cpu0/topology")).unwrap();
        let nothing = all_of(root.path(), &[0, 1]);
        assert_eq!(nothing, CoreFrequencies::default());
        assert_eq!(nothing.since(&nothing), []);
        // A core that was offline at the beginning has no window.
        assert_eq!(all_of(machine().path(), &[0]).since(&nothing), []);
    }

    #[test]
    fn a_file_that_is_no_number_and_a_counter_that_falls_do_no_harm() {
        let root = machine();
        let before = all_of(root.path(), &[0]);
        set(&root, 0, "thermal_throttle/core_throttle_count", 1);
        let file = root.path().join(CORES).join("cpu0/cpufreq/scaling_cur_freq");
        fs::write(file, "<unknown>\n").unwrap();
        let found = all_of(root.path(), &[0]).since(&before);
        assert_eq!((found[0].throttle_events, found[0].frequency_mhz_end), (Some(0), None));
    }

    #[test]
    fn only_the_first_cores_of_a_large_machine_are_read() {
        let root = tempfile::tempdir().unwrap();
        (0..40).for_each(|core| set(&root, core, "cpufreq/scaling_cur_freq", 1_000_000));
        let cores: Vec<u32> = (0..40).collect();
        let all = all_of(root.path(), &cores);
        assert_eq!(all.since(&all).len(), MAX_CORES);
    }
}
