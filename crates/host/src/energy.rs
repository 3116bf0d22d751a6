//! Energy of the CPU packages, from the counters of RAPL (kernel documentation, power/powercap/powercap).
//!
//! A counter covers a whole package: all processes on its cores, and idle cores too. Virtual machines have none, and
//! since Linux 5.10 only root may read them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the zones, below the root.
const ZONES: &str = "sys/class/powercap";

/// Counts the energy of all CPU packages of this machine.
///
/// A counter starts again at 0 after some minutes at full power; it must be read at least once in that time.
#[derive(Clone, Debug, Default)]
pub struct EnergyMeter {
    /// Empty if a counter cannot be read: the sum of the others is not that of the machine.
    packages: Vec<PackageCounter>,
}

/// The counter of one package.
#[derive(Clone, Debug)]
struct PackageCounter {
    path: PathBuf,
    /// Its highest value, in microjoules.
    range_uj: u64,
    last_uj: u64,
    /// Since the first reading.
    used_uj: u64,
}

impl EnergyMeter {
    /// Begins with the counters below `root` (`/`). Measures nothing if there are none that can be read.
    pub fn begin(root: &Path) -> Self {
        let zones = fs::read_dir(root.join(ZONES)).into_iter().flatten().flatten().map(|entry| entry.path());
        let packages: Option<Vec<PackageCounter>> =
            zones.filter(|zone| is_package(zone)).map(|zone| PackageCounter::open(&zone)).collect();
        Self { packages: packages.unwrap_or_default() }
    }

    /// The number of packages; 0 if it measures nothing.
    pub fn packages(&self) -> u32 {
        self.packages.len() as u32
    }

    /// The energy of all packages since it began, in joules. None if it measures nothing, or if a counter can no longer
    /// be read.
    pub fn joules(&mut self) -> Option<f64> {
        let mut used_uj = 0.0;
        for package in &mut self.packages {
            used_uj += package.read()? as f64;
        }
        (!self.packages.is_empty()).then_some(used_uj / 1e6)
    }
}

impl PackageCounter {
    fn open(zone: &Path) -> Option<Self> {
        let path = zone.join("energy_uj");
        let range_uj = number(&zone.join("max_energy_range_uj"))?;
        Some(Self { last_uj: number(&path)?, range_uj, path, used_uj: 0 })
    }

    /// The energy since the first reading, in microjoules.
    fn read(&mut self) -> Option<u64> {
        let now_uj = number(&self.path)?;
        let until_start_uj = || self.range_uj.saturating_sub(self.last_uj);
        let more_uj =
            now_uj.checked_sub(self.last_uj).unwrap_or_else(|| until_start_uj().saturating_add(now_uj));
        self.used_uj = self.used_uj.saturating_add(more_uj);
        self.last_uj = now_uj;
        Some(self.used_uj)
    }
}

/// Whether a zone is a package: neither a part of one (`intel-rapl:0:0`), nor the whole machine (`psys`), nor the second
/// interface to the same counter (`intel-rapl-mmio:0`).
fn is_package(zone: &Path) -> bool {
    let name = zone.file_name().and_then(OsStr::to_str);
    let number = name.and_then(|name| name.strip_prefix("intel-rapl:")?.parse::<u32>().ok());
    let is_of_package = |name: String| name.starts_with("package-");
    number.is_some() && fs::read_to_string(zone.join("name")).is_ok_and(is_of_package)
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    const RANGE_UJ: u64 = 262_143_328_850;

    /// A machine with two packages, and the other zones that such a machine may have.
    fn machine() -> TempDir {
        let root = tempfile::tempdir().unwrap();
        for (zone, name, energy_uj) in [
            ("intel-rapl:0", "package-0", RANGE_UJ - 3_000_000),
            ("intel-rapl:0:0", "core", 1),
            ("intel-rapl:0:1", "dram", 1),
            ("intel-rapl:1", "package-1", 5_000_000),
            ("intel-rapl:2", "psys", 1),
            ("intel-rapl-mmio:0", "package-0", 1),
            ("intel-rapl", "package-0", 1),
        ] {
            let folder = root.path().join(ZONES).join(zone);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("name"), format!("{name}\n")).unwrap();
            fs::write(folder.join("max_energy_range_uj"), format!("{RANGE_UJ}\n")).unwrap();
            set(&root, zone, energy_uj);
        }
        root
    }

    fn counter(root: &TempDir, zone: &str) -> PathBuf {
        root.path().join(ZONES).join(zone).join("energy_uj")
    }

    fn set(root: &TempDir, zone: &str, energy_uj: u64) {
        fs::write(counter(root, zone), format!("{energy_uj}\n")).unwrap();
    }

    #[test]
    fn packages_are_added_and_other_zones_are_not() {
        let root = machine();
        let mut meter = EnergyMeter::begin(root.path());
        assert_eq!((meter.packages(), meter.joules()), (2, Some(0.0)));
        for zone in ["intel-rapl:0:0", "intel-rapl:0:1", "intel-rapl:2", "intel-rapl-mmio:0"] {
            set(&root, zone, 900_000_000);
        }
        assert_eq!(meter.joules(), Some(0.0));
        set(&root, "intel-rapl:0", RANGE_UJ - 1_000_000);
        set(&root, "intel-rapl:1", 5_500_000);
        assert_eq!(meter.joules(), Some(2.5));
    }

    #[test]
    fn a_counter_may_wrap_around_between_any_two_readings() {
        let root = machine();
        let mut meter = EnergyMeter::begin(root.path());
        set(&root, "intel-rapl:0", 1_000_000);
        assert_eq!(meter.joules(), Some(4.0));
        set(&root, "intel-rapl:0", RANGE_UJ - 1_000_000);
        set(&root, "intel-rapl:1", 6_000_000);
        let range_j = RANGE_UJ as f64 / 1e6;
        assert!((meter.joules().unwrap() - (3.0 + range_j)).abs() < 1e-3);
        set(&root, "intel-rapl:0", 0);
        assert!((meter.joules().unwrap() - (4.0 + range_j)).abs() < 1e-3);
    }

    #[test]
    fn without_every_counter_nothing_is_measured() {
        let root = machine();
        let mut meter = EnergyMeter::begin(root.path());
        // A folder cannot be read as a file, not even by root.
        fs::remove_file(counter(&root, "intel-rapl:1")).unwrap();
        fs::create_dir(counter(&root, "intel-rapl:1")).unwrap();
        assert_eq!(meter.joules(), None);
        let mut meter = EnergyMeter::begin(root.path());
        assert_eq!((meter.packages(), meter.joules()), (0, None));
        let root = machine();
        fs::remove_file(root.path().join(ZONES).join("intel-rapl:0").join("max_energy_range_uj")).unwrap();
        assert_eq!(EnergyMeter::begin(root.path()).packages(), 0);
        assert_eq!(EnergyMeter::begin(tempfile::tempdir().unwrap().path()).joules(), None);
    }
}
