//! Judges the clock frequency of the cores in use: whether heat reduced it, and whether it changed in the window.
//!
//! The kernel reports both on few machines; without data there is no verdict. A core that is mostly idle changes its
//! frequency all the time, and moves no number.

use crate::TypedVerdict;
use crate::facts::core_list;
use paceline_record::{CoreFrequency, CoreTime, Run, Trial};

/// A core that is busy for a smaller share of the window may slow down because it is idle: schedutil requests 1.25
/// times that share of the highest frequency (Documentation/scheduler/schedutil.rst), which is all of it from here on.
const MIN_BUSY: f64 = 0.8;
/// A change of the frequency below this share is that of a turbo from one moment to the next.
const MIN_CHANGE: f64 = 0.1;

/// The cores in use of one machine, and the times of all its cores.
struct MachineCores<'a> {
    /// Its name, if it is a loader's.
    host: Option<&'a str>,
    frequencies: &'a [CoreFrequency],
    times: &'a [CoreTime],
}

/// Heat reduced the frequency of a core in use.
pub(crate) fn thermal_throttling(run: &Run) -> Option<TypedVerdict> {
    machines(run).find_map(|machine| throttled(&machine))
}

/// The same of the cores of a launch.
pub(crate) fn thermal_throttling_in_trial(trial: &Trial) -> Option<TypedVerdict> {
    throttled(&of_launch(trial)).filter(|found| is_new(trial, found))
}

/// The frequency of a busy core was another one at the end of the window than at its beginning.
pub(crate) fn frequency_changed(run: &Run) -> Option<TypedVerdict> {
    machines(run).find_map(|machine| changed(&machine))
}

/// The same of the cores of a launch.
pub(crate) fn frequency_changed_in_trial(trial: &Trial) -> Option<TypedVerdict> {
    changed(&of_launch(trial)).filter(|found| is_new(trial, found))
}

/// The machine of the run, and those of its loaders.
fn machines(run: &Run) -> impl Iterator<Item = MachineCores<'_>> {
    let own = MachineCores {
        host: None,
        frequencies: &run.generator.core_frequencies,
        times: &run.generator.by_core,
    };
    let loaders = run.loaders.iter().filter_map(|loader| {
        let generator = loader.generator.as_ref()?;
        Some(MachineCores {
            host: Some(&loader.host),
            frequencies: &generator.core_frequencies,
            times: &generator.by_core,
        })
    });
    std::iter::once(own).chain(loaders)
}

fn of_launch(trial: &Trial) -> MachineCores<'_> {
    MachineCores { host: None, frequencies: &trial.core_frequencies, times: &trial.cores }
}

/// Whether the run of a trial does not have the verdict already: it may have watched the same cores.
pub(crate) fn is_new(trial: &Trial, found: &TypedVerdict) -> bool {
    trial.run.as_ref().is_none_or(|run| !found.name().is_in(&run.verdicts))
}

fn throttled(machine: &MachineCores<'_>) -> Option<TypedVerdict> {
    let hot = || machine.frequencies.iter().filter(|core| core.heat_events() > Some(0));
    let throttle_events = hot().filter_map(CoreFrequency::heat_events).max()?;
    let cores: Vec<u32> = hot().map(|core| core.core).collect();
    Some(TypedVerdict::ThermalThrottling {
        throttle_events,
        listed: core_list(&cores),
        cores,
        host: machine.host.map(str::to_owned),
    })
}

/// The core whose frequency changed most.
fn changed(machine: &MachineCores<'_>) -> Option<TypedVerdict> {
    let busy = machine.frequencies.iter().filter(|core| is_busy(machine.times, core.core));
    let changes = busy.filter_map(|core| {
        let start = core.frequency_mhz_start.filter(|mhz| *mhz > 0)?;
        let end = core.frequency_mhz_end?;
        Some((end as f64 / start as f64 - 1.0, core.core, start, end))
    });
    let (change, core, frequency_mhz_start, frequency_mhz_end) =
        changes.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))?;
    (change.abs() > MIN_CHANGE).then(|| TypedVerdict::FrequencyChanged {
        change,
        core,
        frequency_mhz_start,
        frequency_mhz_end,
        host: machine.host.map(str::to_owned),
    })
}

fn is_busy(times: &[CoreTime], core: u32) -> bool {
    let is_busy = |time: &CoreTime| time.over_s > 0.0 && time.busy_s / time.over_s >= MIN_BUSY;
    times.iter().any(|time| time.core == core && is_busy(time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::{Generator, Loader, fixture};

    fn time(core: u32, busy_s: f64) -> CoreTime {
        CoreTime { core, over_s: 10.0, busy_s, interrupt_s: 0.0, steal_s: 0.0 }
    }

    fn at(core: u32, start: u64, end: u64) -> CoreFrequency {
        CoreFrequency {
            core,
            frequency_mhz_start: Some(start),
            frequency_mhz_end: Some(end),
            ..CoreFrequency::default()
        }
    }

    fn hot(core: u32, own: u64, package: u64) -> CoreFrequency {
        CoreFrequency {
            throttle_events: Some(own),
            package_throttle_events: Some(package),
            ..at(core, 3_000, 3_000)
        }
    }

    fn generator(core_frequencies: Vec<CoreFrequency>, busy_s: f64) -> Generator {
        let by_core = vec![time(0, busy_s), time(1, busy_s)];
        Generator { by_core, core_frequencies, ..Generator::default() }
    }

    fn run(core_frequencies: Vec<CoreFrequency>, busy_s: f64) -> Run {
        Run { generator: generator(core_frequencies, busy_s), ..fixture::run(0) }
    }

    #[test]
    fn heat_is_named_with_the_cores_that_it_slowed_down() {
        let found = thermal_throttling(&run(vec![hot(0, 0, 0), hot(1, 2, 5)], 9.0));
        let expected = TypedVerdict::ThermalThrottling {
            throttle_events: 5,
            cores: vec![1],
            host: None,
            listed: "1".to_owned(),
        };
        assert_eq!(found, Some(expected));
        assert_eq!(thermal_throttling(&run(vec![hot(0, 0, 0), at(1, 3_000, 3_000)], 9.0)), None);
        assert_eq!(thermal_throttling(&run(Vec::new(), 9.0)), None, "nothing is counted");
    }

    #[test]
    fn a_frequency_that_changes_is_named_where_the_core_was_busy() {
        let judged = |start, end, busy_s| frequency_changed(&run(vec![at(1, start, end)], busy_s));
        assert_eq!(judged(3_000, 2_800, 9.0), None);
        assert!(judged(3_000, 2_600, 9.0).is_some() && judged(2_600, 3_000, 9.0).is_some());
        assert_eq!(judged(3_000, 800, 7.9), None, "a core with idle time slows down");
        assert_eq!(judged(0, 3_000, 9.0), None);
        let unknown = CoreFrequency { frequency_mhz_end: None, ..at(1, 3_000, 0) };
        assert_eq!(frequency_changed(&run(vec![unknown], 9.0)), None);
    }

    #[test]
    fn the_machine_of_a_loader_is_named() {
        let loader = Loader {
            host: "n3".to_owned(),
            generator: Some(generator(vec![hot(0, 1, 1)], 9.0)),
            ..Loader::default()
        };
        let run = Run { loaders: vec![loader], ..fixture::run(0) };
        let host = match thermal_throttling(&run) {
            Some(TypedVerdict::ThermalThrottling { host, .. }) => host,
            _ => None,
        };
        assert_eq!(host.as_deref(), Some("n3"));
    }

    #[test]
    fn a_trial_does_not_repeat_the_verdict_of_its_run() {
        let mut trial = fixture::trial();
        trial.core_frequencies = vec![hot(0, 1, 1), at(0, 3_000, 2_000)];
        trial.cores = vec![time(0, 9.0)];
        assert!(thermal_throttling_in_trial(&trial).is_some());
        assert!(frequency_changed_in_trial(&trial).is_some());
        let mut run = run(vec![hot(0, 1, 1)], 9.0);
        run.verdicts = crate::run_verdicts(&run);
        trial.run = Some(run);
        assert_eq!(thermal_throttling_in_trial(&trial), None);
        assert!(frequency_changed_in_trial(&trial).is_some());
    }
}
