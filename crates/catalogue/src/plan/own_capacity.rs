//! Rates that are a share of each server's own capacity: the choice of the load that is 100 %.
//!
//! The lab works out the rate of a trial when the other load has been measured.

use super::planned_load::{LoadPace, LoadWork};
use super::{PlanLoad, PlannedLoad};
use std::collections::BTreeSet;

/// A load that is measured, and the load of the plan that it comes from.
pub(super) struct ExpandedLoad<'a> {
    pub(super) written: &'a PlanLoad,
    pub(super) load: PlannedLoad,
}

/// The loads, with the name of the load that is 100 % for each share: the one named in the plan, else a capacity search
/// of the same launch, else a closed loop.
///
/// # Errors
/// What is wrong with a share for which no load of the plan measures 100 %.
pub(super) fn with_bases(loads: &[ExpandedLoad<'_>]) -> Result<Vec<PlannedLoad>, String> {
    let candidates: Vec<Candidate> = loads.iter().map(Candidate::from_load).collect();
    let with_base = |own: &Candidate| {
        let mut load = own.load.clone();
        if let LoadWork::Fixed { pace: LoadPace::Share { share, .. }, .. } = &mut load.work {
            share.of.clone_from(&base(own, &candidates).ok_or_else(|| no_base(own))?.name);
        }
        Ok(load)
    };
    candidates.iter().map(with_base).collect()
}

/// A load with its workloads as a set: lists of two loads would be compared entry by entry.
struct Candidate<'a> {
    load: &'a PlannedLoad,
    workloads: BTreeSet<&'a str>,
    /// The name in the plan of the load that it comes from.
    plan_name: &'a str,
    /// The name in the plan of the load that it is a share of, if given.
    of: Option<&'a str>,
}

impl<'a> Candidate<'a> {
    fn from_load(expanded: &'a ExpandedLoad<'_>) -> Self {
        let (load, written) = (&expanded.load, expanded.written);
        let workloads = load.workloads.iter().map(String::as_str).collect();
        Self { load, workloads, plan_name: &written.name, of: written.of.as_deref() }
    }

    /// Whether it measures all workloads of another load. No workloads means all of the plan.
    fn covers(&self, other: &Self) -> bool {
        self.workloads.is_empty()
            || (!other.workloads.is_empty() && other.workloads.is_subset(&self.workloads))
    }
}

fn base<'a>(own: &Candidate, candidates: &[Candidate<'a>]) -> Option<&'a PlannedLoad> {
    let load = own.load;
    let is_closed =
        |other: &PlannedLoad| matches!(other.work, LoadWork::Fixed { pace: LoadPace::Closed, .. });
    let is_base = |candidate: &&Candidate| {
        let other = candidate.load;
        (other.is_search() || is_closed(other))
            && other.group == load.group
            && other.database == load.database
            && !other.group.is_ordered
            && own.of.is_none_or(|of| candidate.plan_name == of)
            && candidate.covers(own)
    };
    let bases: Vec<&PlannedLoad> =
        candidates.iter().filter(is_base).map(|candidate| candidate.load).collect();
    let same_shape = |other: &&&PlannedLoad| {
        (other.http, other.tls, other.keep_alive, other.depth)
            == (load.http, load.tls, load.keep_alive, load.depth)
            && other.balanced == load.balanced
    };
    let alike: Vec<&PlannedLoad> = bases.iter().filter(same_shape).copied().collect();
    let from = if alike.is_empty() { bases } else { alike };
    from.iter().find(|base| base.is_search()).or(from.first()).copied()
}

fn no_base(own: &Candidate) -> String {
    let named = own.of.map(|of| format!(" named `{of}`")).unwrap_or_default();
    format!(
        "load `{}`: a `rate` in percent needs a load that measures the rate of 100 %: add a closed loop or a capacity \
         search{named} with the same workloads, balancer and pinning",
        own.load.name
    )
}

#[cfg(test)]
mod tests {
    use super::super::Plan;
    use std::time::Duration;

    const CLOSED: &str = "[[load]]\nname = \"closed\"\nconnections = 8\nduration = \"3s\"\n";
    const HALF: &str = "[[load]]\nname = \"half\"\nconnections = 8\nduration = \"3s\"\nrate = \"50%\"\n";
    const SEARCH: &str = "[[load]]\nname = \"most\"\nload = \"capacity\"\nconnections = 8\nduration = \"5s\"\n\
                          objective = \"response.p99<10ms\"\n";

    fn plan(loads: &[&str]) -> Result<Plan, String> {
        let text = format!("name = \"p\"\nrepeats = 1\nworkloads = [\"hello\"]\n{}", loads.concat());
        Plan::parse("p.toml", &text).map_err(|error| error.to_string())
    }

    fn base_of(loads: &[&str], name: &str) -> String {
        let loads = plan(loads).unwrap().expanded().unwrap();
        loads.iter().find(|load| load.name == name).and_then(|load| load.share().cloned()).unwrap().of
    }

    #[test]
    fn a_share_refers_to_the_search_or_else_to_the_closed_loop() {
        assert_eq!(base_of(&[CLOSED, HALF], "half"), "closed");
        assert_eq!(base_of(&[CLOSED, HALF, SEARCH], "half"), "most");
        let of_closed = format!("{HALF}of = \"closed\"\n");
        assert_eq!(base_of(&[CLOSED, &of_closed, SEARCH], "half"), "closed");
        let closing = format!("{HALF}twins = [\"close\"]\n");
        let closed = format!("{CLOSED}twins = [\"close\"]\n");
        assert_eq!(base_of(&[&closed, &closing], "half-close"), "closed-close");
        let database = "databases = [\"a\"]\n";
        assert_eq!(base_of(&[database, CLOSED, HALF], "half-a"), "closed-a");
    }

    #[test]
    fn a_plan_with_shares_round_trips_through_toml() {
        let plan = plan(&[CLOSED, HALF, SEARCH]).unwrap();
        assert_eq!(Plan::parse("p", &plan.to_toml().unwrap()).unwrap(), plan);
        assert!(plan.to_toml().unwrap().contains("rate = \"50%\""));
    }

    #[test]
    fn a_share_is_written_as_it_was_read() {
        for percent in ["55%", "0.07%", "33.33333333333333%"] {
            let read = plan(&[CLOSED, &HALF.replace("50%", percent)]).unwrap();
            let written = read.to_toml().unwrap();
            assert!(written.contains(&format!("rate = \"{percent}\"")), "{written}");
            assert_eq!(Plan::parse("p", &written).unwrap(), read);
        }
    }

    #[test]
    fn a_search_has_a_default_length_and_a_limit() {
        let loads = plan(&[SEARCH]).unwrap().expanded().unwrap();
        // The closed loop and 30 windows of 1 s + 5 s, and two long windows of 1 s + 20 s, with 0.5 s more for each but
        // the first: `estimate` adds it, as for every trial.
        assert_eq!(loads[0].usual(), Some(Duration::from_millis(6_000 + 30 * 6_500 + 2 * 21_500)));
        assert!(loads[0].limit() > Duration::from_secs(40 * 60));
        let few = plan(&[&format!("{SEARCH}windows = 4\nconfirm = \"0s\"\n")]).unwrap().expanded().unwrap();
        assert_eq!(few[0].usual(), Some(Duration::from_millis(6_000 + 4 * 6_500)));
        let record = loads[0].record();
        assert_eq!(record.capacity.map(|capacity| capacity.windows_most), Some(40));
        assert_eq!(record.kind, paceline_record::LoopKind::Open);
    }

    #[test]
    fn contradictory_loads_are_reported() {
        for (loads, expected) in [
            (vec![HALF], "add a closed loop or a capacity search"),
            (vec![CLOSED, &HALF.replace("50%", "50")], "write a share"),
            (vec![CLOSED, &HALF.replace("50%", "0%")], "write a share"),
            (vec![CLOSED, &format!("{HALF}rate_per_s = 3\n")], "both `rate` and `rate_per_s`"),
            (vec![CLOSED, &format!("{HALF}of = \"other\"\n")], "named `other`"),
            (vec![&CLOSED.replace("3s\"", "3s\"\nworkloads = [\"tetra\"]"), HALF], "with the same"),
            (vec![&format!("{CLOSED}of = \"x\"\n")], "`of` needs a `rate`"),
            (vec![&format!("{CLOSED}objective = \"x\"\n")], "`objective` needs `load = \"capacity\"`"),
            (vec![&SEARCH.replace("objective", "arrivals = \"poisson\"\n#")], "needs an `objective`"),
            (vec![&format!("{SEARCH}rate_per_s = 5\n")], "chooses its rates"),
        ] {
            let error = plan(&loads).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
