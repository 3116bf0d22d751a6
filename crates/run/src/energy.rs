//! Energy of the CPU packages over the window of a run whose server is on this machine.
//!
//! `health.rs` reads the counters at both ends of the window, and the thread in `follow/` once a second in between: a
//! counter starts again after some minutes.

use paceline_engine::{Clock, Nanos};
use paceline_host::EnergyMeter;
use paceline_record::PackageEnergy;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The largest difference between the window and the time between its two readings, as a share of the window. The
/// coordinating thread may read late; the energy of idle cores after the load must not count as that of the load.
const MAX_DIFFERENCE: f64 = 0.1;

/// Counts energy; its copies share the counters, so that several threads can read them.
#[derive(Clone, Debug)]
pub(crate) struct EnergyWatch(Arc<Mutex<EnergyReadings>>);

#[derive(Debug)]
struct EnergyReadings {
    meter: EnergyMeter,
    /// The beginning and the end of the window: when they were read, and the energy until then in joules.
    edges: [Option<(Nanos, f64)>; 2],
}

impl EnergyWatch {
    /// Begins with the counters below `root` (`/`). None if there are none that can be read.
    pub(crate) fn begin(root: &Path) -> Option<Self> {
        let meter = EnergyMeter::begin(root);
        (meter.packages() > 0).then(|| Self(Arc::new(Mutex::new(EnergyReadings { meter, edges: [None; 2] }))))
    }

    /// Reads the counters at one end of the window (0 or 1).
    pub(crate) fn sample(&self, edge: usize, clock: &impl Clock) {
        let mut readings = self.readings();
        let joules = readings.meter.joules();
        readings.edges[edge] = joules.map(|joules| (clock.now(), joules));
    }

    /// Reads the counters at any other time. If another thread reads them at this moment, that is enough.
    pub(crate) fn keep_counting(&self) {
        if let Ok(mut readings) = self.0.try_lock() {
            readings.meter.joules();
        }
    }

    /// The energy over a window of this many seconds, in which this many responses were completed. None if the counters
    /// could not be read at both its ends, or not at the right times, or without responses.
    pub(crate) fn used(&self, window_s: f64, completed: u64) -> Option<PackageEnergy> {
        let readings = self.readings();
        let [Some((from, before_j)), Some((to, after_j))] = readings.edges else { return None };
        let over_s = to.since(from).as_secs_f64();
        let joules = after_j - before_j;
        let is_of_window = over_s > 0.0 && (over_s - window_s).abs() <= MAX_DIFFERENCE * window_s;
        (is_of_window && completed > 0).then(|| PackageEnergy {
            over_s,
            packages: readings.meter.packages(),
            joules,
            joules_per_request: joules * window_s / over_s / completed as f64,
        })
    }

    fn readings(&self) -> MutexGuard<'_, EnergyReadings> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::PhaseEventWriter;
    use crate::health::Health;
    use crate::server::ServerWatch;
    use crate::server_chain::ServerChain;
    use paceline_engine::{Observer as _, Phase};
    use std::fs;
    use std::os::fd::IntoRawFd as _;
    use std::path::PathBuf;
    use tempfile::TempDir;

    /// A clock that stands still.
    struct At(Nanos);

    impl Clock for At {
        fn now(&self) -> Nanos {
            self.0
        }
    }

    fn at_ms(ms: u64) -> At {
        At(Nanos(ms * 1_000_000))
    }

    /// A machine with one package, whose counter starts again after a kilojoule.
    fn machine() -> TempDir {
        let root = tempfile::tempdir().unwrap();
        let zone = root.path().join("sys/class/powercap/intel-rapl:0");
        fs::create_dir_all(&zone).unwrap();
        fs::write(zone.join("name"), "package-0\n").unwrap();
        fs::write(zone.join("max_energy_range_uj"), "1000000000\n").unwrap();
        set_j(&root, 0);
        root
    }

    fn counter(root: &TempDir) -> PathBuf {
        root.path().join("sys/class/powercap/intel-rapl:0/energy_uj")
    }

    fn set_j(root: &TempDir, joules: u64) {
        fs::write(counter(root), format!("{}\n", joules * 1_000_000)).unwrap();
    }

    #[test]
    fn the_energy_is_that_of_the_window_although_a_counter_starts_again() {
        let root = machine();
        let watch = EnergyWatch::begin(root.path()).unwrap();
        set_j(&root, 400);
        watch.sample(0, &at_ms(5_000));
        for joules in [100, 50] {
            set_j(&root, joules);
            watch.keep_counting();
        }
        set_j(&root, 60);
        watch.sample(1, &at_ms(15_500));
        // 700 J and 950 J to the second and the third start of the counter, then 10 J.
        let joules = 1_660.0;
        let joules_per_request = joules * 10.0 / 10.5 / 1_000.0;
        let expected = PackageEnergy { over_s: 10.5, packages: 1, joules, joules_per_request };
        assert_eq!(watch.used(10.0, 1_000), Some(expected));
    }

    #[test]
    fn energy_that_is_not_of_the_window_or_of_no_response_is_left_out() {
        let root = machine();
        let watch = EnergyWatch::begin(root.path()).unwrap();
        watch.sample(1, &at_ms(10_000));
        assert_eq!(watch.used(10.0, 1), None, "it was not read at the beginning");
        watch.sample(0, &at_ms(0));
        assert!(watch.used(10.0, 1).is_some());
        for (window_s, completed) in [(10.0, 0), (8.0, 1), (12.0, 1), (0.0, 1)] {
            assert_eq!(watch.used(window_s, completed), None, "{window_s} s, {completed} responses");
        }
        fs::remove_file(counter(&root)).unwrap();
        watch.sample(1, &at_ms(10_000));
        assert_eq!(watch.used(10.0, 1), None, "it can no longer be read");
        assert!(EnergyWatch::begin(root.path()).is_none());
    }

    /// Health beside a server, or without one.
    fn health(has_server: bool, events: Option<PhaseEventWriter>, root: &TempDir) -> Health {
        let server = has_server.then(|| ServerWatch::of_processes(&[std::process::id()]).unwrap());
        Health::new(1, events).with_server(server.map(ServerChain::from_front)).with_energy(root.path())
    }

    #[test]
    fn the_energy_beside_a_server_is_read_when_the_window_begins_and_ends() {
        let root = machine();
        let health = health(true, None, &root);
        let watch = health.energy_watch().unwrap();
        set_j(&root, 5);
        health.phase(Phase::Warmup, Nanos(1));
        health.phase(Phase::Window, Nanos(2));
        set_j(&root, 8);
        health.phase(Phase::Drain, Nanos(3));
        set_j(&root, 9);
        health.phase(Phase::End, Nanos(4));
        let edges = watch.readings().edges.map(|edge| edge.map(|(_, joules)| joules));
        assert_eq!(edges, [Some(5.0), Some(8.0)]);
    }

    #[test]
    fn without_a_server_or_beside_another_reader_no_energy_is_counted() {
        let root = machine();
        let events = PhaseEventWriter::open(tempfile::tempfile().unwrap().into_raw_fd()).unwrap();
        assert!(health(false, None, &root).energy_watch().is_none());
        assert!(health(true, Some(events), &root).energy_watch().is_none(), "a trial of the lab");
    }
}
