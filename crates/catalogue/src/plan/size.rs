//! The size of a round: with or without `--full`, scaled to the machine, within its budget.
//!
//! Determined once, when a round begins; the round keeps the resulting plan. Changes are reported.

use super::{Plan, Scale, estimate};
use crate::{CatalogueError, PlannedLaunch, format_duration};
use std::time::Duration;

/// The resources of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineCapacity {
    /// Cores that may be used.
    pub cores: u32,
    /// Files that may be open at once in a process.
    pub open_files: u64,
}

/// A plan as it is carried out, and messages about the changes.
#[derive(Clone, Debug, PartialEq)]
pub struct SizedPlan {
    /// The plan.
    pub plan: Plan,
    /// The changes from the written plan.
    pub changes: Vec<String>,
}

/// Descriptors that are not connections: listeners, logs, libraries, with room to spare.
const OTHER_FILES: u64 = 200;
/// Factors of `auto` are one over a whole number, so that two similar machines get the same factor.
const MAX_PARTS: u32 = 64;

impl Plan {
    /// The plan as it is carried out with this `capacity`: complete, or without the parts for `--full`;
    /// `scale = "auto"` becomes a number.
    ///
    /// # Errors
    /// [`CatalogueError::Plan`] when a load that is left has its rate from one that is left out.
    pub fn sized(mut self, is_full: bool, capacity: MachineCapacity) -> Result<SizedPlan, CatalogueError> {
        let mut changes = Vec::new();
        if is_full {
            self.budget = None;
            self.repeats = self.repeats.max(self.full_repeats.unwrap_or(0));
            for load in &mut self.load {
                load.duration =
                    load.duration.map(|duration| duration.max(self.full_duration.unwrap_or_default()));
            }
        } else if self.load.iter().any(|load| load.full) {
            changes.push(self.drop_full()?);
        }
        self.load.iter_mut().for_each(|load| load.full = false);
        (self.full_repeats, self.full_duration) = (None, None);
        if self.scale == Some(Scale::Auto) {
            self.scale = Some(Scale::Factor(self.factor(capacity)));
        }
        if let Some(Scale::Factor(factor)) = self.scale.filter(|scale| *scale != Scale::Factor(1.0)) {
            let words = format!("connections, rates and numbers of requests are multiplied by {factor}");
            let cores = self.full_size_cores.map(|cores| {
                format!(", because the plan's full size needs a machine with {cores} or more cores")
            });
            changes.push(words + &cores.unwrap_or_default());
        }
        Ok(SizedPlan { plan: self, changes })
    }

    /// Removes the parts for `--full`, with their observations: observations may name only loads of the plan. Returns
    /// the message.
    fn drop_full(&mut self) -> Result<String, CatalogueError> {
        let names: Vec<String> =
            self.load.iter().filter(|load| load.full).map(|load| format!("`{}`", load.name)).collect();
        self.load.retain(|load| !load.full);
        let unseen = match self.forget_unseen()? {
            0 => "",
            _ => "; so are the published figures for them",
        };
        let names = names.join(", ");
        Ok(format!("these loads are left out, because they run only with --full: {names}{unseen}"))
    }

    /// The factor for a machine: one over the smallest whole number with which cores and descriptors suffice.
    fn factor(&self, capacity: MachineCapacity) -> f64 {
        let by_cores = self.full_size_cores.unwrap_or(0).div_ceil(capacity.cores.max(1));
        let connections = self.load.iter().map(|load| u64::from(load.connections)).max().unwrap_or(0);
        let by_files = connections.div_ceil(capacity.open_files.saturating_sub(OTHER_FILES).max(1));
        1.0 / f64::from(by_cores.max(by_files as u32).clamp(1, MAX_PARTS))
    }

    /// Reduces repeats until the plan fits its budget; `launches` returns the launches for a number of repeats, block
    /// by block. Also returns the launches to carry out.
    ///
    /// # Errors
    /// [`CatalogueError::Plan`] when a single repeat takes longer than the budget.
    pub fn within_budget(
        self,
        launches: impl Fn(u32) -> Vec<PlannedLaunch>,
    ) -> Result<(SizedPlan, Vec<PlannedLaunch>), CatalogueError> {
        let asked = self.repeats;
        let warm_up = self.launch_warm_up();
        let Some(budget) = self.budget else {
            return Ok((SizedPlan { plan: self, changes: Vec::new() }, launches(asked)));
        };
        // The order of fewer repeats is the beginning of that of more. A thousand orders would take minutes.
        let mut planned = launches(asked);
        let end_of = |repeats: u32| planned.partition_point(|launch| launch.block < repeats);
        let length_of = |repeats: u32| estimate(&planned[..end_of(repeats)], warm_up);
        let counts: Vec<u32> = (1..=asked).collect();
        let fitting = counts.partition_point(|repeats| length_of(*repeats) <= budget);
        let Some(repeats) = counts[..fitting].last().copied() else {
            let problem = too_long(length_of(1), budget);
            return Err(CatalogueError::Plan { plan: self.name.clone(), problem });
        };
        let end = end_of(repeats);
        planned.truncate(end);
        let cut = format!(
            "{repeats} instead of {asked} repeats, to stay within the time budget of {}; --full runs all of them",
            format_duration(budget)
        );
        let changes = if repeats < asked { vec![cut] } else { Vec::new() };
        Ok((SizedPlan { plan: Plan { repeats, ..self }, changes }, planned))
    }
}

fn too_long(least: Duration, budget: Duration) -> String {
    format!(
        "one repeat takes about {}, but `budget` is {}: use --full to ignore the budget, or let the plan select \
         fewer servers, workloads or loads",
        format_duration(Duration::from_secs(least.as_secs())),
        format_duration(budget)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::TestTree;
    use crate::order;

    const PLAN: &str = "name = \"p\"\nrepeats = 4\nfull_repeats = 9\nfull_duration = \"15s\"\nbudget = \"60s\"\nscale = \"auto\"\n\
                        full_size_cores = 8\nworkloads = [\"hello\"]\n\
                        [[load]]\nname = \"small\"\nconnections = 100\nduration = \"10s\"\n\
                        [[load]]\nname = \"large\"\nconnections = 10000\nduration = \"10s\"\nfull = true\n";

    fn plan() -> Plan {
        Plan::parse("p.toml", PLAN).unwrap()
    }

    #[test]
    fn a_full_round_is_not_reduced() {
        let capacity = MachineCapacity { cores: 8, open_files: 20_000 };
        let SizedPlan { plan: full, changes } = plan().sized(true, capacity).unwrap();
        assert_eq!((full.load.len(), full.repeats, full.budget), (2, 9, None));
        assert!(full.load.iter().all(|load| load.duration == Some(Duration::from_secs(15))));
        assert_eq!((full.scale, changes.len()), (Some(Scale::Factor(1.0)), 0));
        let SizedPlan { plan: usual, changes } = plan().sized(false, capacity).unwrap();
        assert_eq!((usual.load.len(), usual.repeats), (1, 4));
        assert_eq!(usual.load[0].duration, Some(Duration::from_secs(10)));
        assert!(changes[0].contains("`large`"), "{changes:?}");
    }

    #[test]
    fn a_sized_plan_is_unchanged_when_sized_again() {
        let seen = |load: &str| {
            format!(
                "[[observed]]\nsource = \"001\"\nsubject = \"Go\"\nload = \"{load}\"\n\
                 what = \"requests_per_s\"\nvalue = 1.0\nunit = \"requests/s\"\n"
            )
        };
        let observed = ["small", "large", "large-close"].map(seen).concat();
        let text = format!("{PLAN}twins = [\"close\"]\n{observed}");
        let plan = Plan::parse("p.toml", &text).unwrap();
        for (is_full, count) in [(false, 1), (true, 3)] {
            let SizedPlan { plan: sized, changes } =
                plan.clone().sized(is_full, MachineCapacity { cores: 8, open_files: 20_000 }).unwrap();
            assert_eq!(sized.observed.len(), count);
            assert_eq!(
                changes.iter().any(|change| change.ends_with("so are the published figures for them")),
                !is_full
            );
            // The text that `--resume` reads.
            assert_eq!(Plan::parse("kept", &sized.to_toml().unwrap()).unwrap(), sized);
        }
    }

    #[test]
    fn a_share_of_a_load_that_is_left_out_is_an_error() {
        let share =
            "[[load]]\nname = \"half\"\nconnections = 8\nduration = \"3s\"\nrate = \"50%\"\nof = \"large\"\n";
        let plan = Plan::parse("p.toml", &format!("{PLAN}{share}")).unwrap();
        let capacity = MachineCapacity { cores: 8, open_files: 20_000 };
        assert!(plan.clone().sized(true, capacity).is_ok());
        let error = plan.sized(false, capacity).unwrap_err().to_string();
        assert!(
            error.contains("load `half`: a `rate` in percent needs a load")
                && error.contains("named `large`")
        );
    }

    #[test]
    fn the_scale_factor_follows_from_cores_and_descriptors() {
        let factor = |cores, open_files| {
            let sized = plan().sized(true, MachineCapacity { cores, open_files }).unwrap();
            assert_eq!(sized.changes.is_empty(), sized.plan.scale == Some(Scale::Factor(1.0)));
            sized.plan.scale
        };
        assert_eq!(factor(2, 20_000), Some(Scale::Factor(0.25)));
        assert_eq!(factor(3, 20_000), Some(Scale::Factor(1.0 / 3.0)));
        assert_eq!(factor(8, 1_200), Some(Scale::Factor(0.1)));
        assert_eq!(factor(64, 20_000), Some(Scale::Factor(1.0)));
    }

    #[test]
    fn repeats_are_cut_to_the_budget_or_the_plan_is_refused() {
        let tree = TestTree::with(&["a-one"]);
        let cells = plan().resolve(&tree.catalogue()).unwrap().cells;
        let of = |budget: &str| {
            Plan::parse("p.toml", &PLAN.replace("60s", budget))
                .unwrap()
                .within_budget(|repeats| order(&cells, repeats, 1))
        };
        // Two loads of 11 s, 0.5 s more for each and 1.5 s for the launch: 24.5 s a repeat.
        let (sized, launches) = of("60s").unwrap();
        assert_eq!((sized.plan.repeats, launches.len()), (2, 2));
        assert!(sized.changes[0].starts_with("2 instead of 4 repeats"), "{:?}", sized.changes);
        assert_eq!(of("10m").unwrap().0.plan.repeats, 4);
        let made = std::cell::Cell::new(0);
        let counted = |repeats| {
            made.set(made.get() + 1);
            order(&cells, repeats, 1)
        };
        let (_, cut) = plan().within_budget(counted).unwrap();
        assert!(cut == order(&cells, 2, 1) && made.get() == 1, "{} orders", made.get());
        let error = of("20s").unwrap_err().to_string();
        assert!(error.contains("takes about 24s, but `budget` is 20s"), "{error}");
    }
}
