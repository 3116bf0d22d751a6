//! Loads that depend on each server's own capacity: a search for it, and rates as a share of it.
//!
//! Their checks, and the choice of the load that is 100 %. `paceline capacity` does the search; the lab works out the
//! rate of a trial when the other load has been measured.

use super::PlanLoad;
use paceline_record::RateShare;
use std::collections::BTreeSet;

/// Problems in the keys of one load.
pub(super) fn check(load: &PlanLoad) -> Result<(), String> {
    if load.rate.is_some() && load.rate_per_s.is_some() {
        return Err("has both `rate` and `rate_per_s`: remove one of them".into());
    }
    if load.of.is_some() && load.rate.is_none() {
        return Err("`of` needs a `rate` in percent, such as rate = \"50%\"".into());
    }
    let only_for_search = [
        ("objective", load.objective.is_some()),
        ("confirm", load.confirm.is_some()),
        ("windows", load.windows.is_some()),
    ];
    if !load.is_search() {
        return match only_for_search.iter().find(|(_, given)| *given) {
            Some((key, _)) => Err(format!("`{key}` needs `load = \"capacity\"`")),
            None => Ok(()),
        };
    }
    let contradictions = [
        (load.objective.is_none(), "needs an `objective`, such as \"response.p99<10ms,errors<0.1%\""),
        (load.windows == Some(0), "needs `windows` to be at least 1"),
        (
            load.rate.is_some() || load.rate_per_s.is_some(),
            "chooses its rates itself: remove `rate` and `rate_per_s`",
        ),
        (load.duration.is_none(), "needs a `duration`, the length of a window"),
        (
            load.first_run || !load.twins.is_empty(),
            "cannot have `first_run` or `twins`: write a separate load for each",
        ),
        (load.fault.is_some(), "cannot have a `fault`: write a separate load for it"),
    ];
    match contradictions.iter().find(|(is_wrong, _)| *is_wrong) {
        Some((_, problem)) => Err(format!("a capacity search {problem}")),
        None => Ok(()),
    }
}

/// Names the load that is 100 % for each share: the one named in the plan, else a capacity search of the same launch,
/// else a closed loop.
pub(super) fn with_bases(loads: Vec<PlanLoad>) -> Vec<PlanLoad> {
    let candidates: Vec<Candidate> = loads.iter().map(Candidate::from_load).collect();
    let with_base = |own: &Candidate| {
        let load = own.load;
        let share = load.rate.map(|percent| RateShare {
            share: percent.0,
            of: base(own, &candidates).map(|base| base.name.clone()).unwrap_or_default(),
            full_per_s: None,
            full_trial: None,
        });
        PlanLoad { share, ..load.clone() }
    };
    candidates.iter().map(with_base).collect()
}

/// A load with its workloads as a set: lists of two loads would be compared entry by entry.
struct Candidate<'a> {
    load: &'a PlanLoad,
    workloads: BTreeSet<&'a str>,
}

impl<'a> Candidate<'a> {
    fn from_load(load: &'a PlanLoad) -> Self {
        Self { load, workloads: load.workloads.iter().map(String::as_str).collect() }
    }

    /// Whether it measures all workloads of another load. No workloads means all of the plan.
    fn covers(&self, other: &Self) -> bool {
        self.workloads.is_empty()
            || (!other.workloads.is_empty() && other.workloads.is_subset(&self.workloads))
    }
}

fn base<'a>(own: &Candidate, candidates: &[Candidate<'a>]) -> Option<&'a PlanLoad> {
    let load = own.load;
    let is_closed =
        |other: &PlanLoad| !other.is_search() && other.rate.is_none() && other.rate_per_s.is_none();
    let is_base = |candidate: &&Candidate| {
        let other = candidate.load;
        (other.is_search() || is_closed(other))
            && other.group == load.group
            && other.database == load.database
            && !other.group.is_ordered
            && load.of.as_ref().is_none_or(|of| other.plan_name == *of)
            && candidate.covers(own)
    };
    let bases: Vec<&PlanLoad> = candidates.iter().filter(is_base).map(|candidate| candidate.load).collect();
    let same_shape = |other: &&&PlanLoad| {
        (other.http.as_ref(), other.tls, other.keep_alive, other.depth)
            == (load.http.as_ref(), load.tls, load.keep_alive, load.depth)
            && other.balanced == load.balanced
    };
    let alike: Vec<&PlanLoad> = bases.iter().filter(same_shape).copied().collect();
    let from = if alike.is_empty() { bases } else { alike };
    from.iter().find(|base| base.is_search()).or(from.first()).copied()
}

/// Problems in the shares of a plan's loads, with their bases named.
pub(super) fn check_bases(loads: &[PlanLoad]) -> Result<(), String> {
    let without = loads.iter().find(|load| load.share.as_ref().is_some_and(|share| share.of.is_empty()));
    let Some(load) = without else { return Ok(()) };
    let named = load.of.as_ref().map(|of| format!(" named `{of}`")).unwrap_or_default();
    Err(format!(
        "load `{}`: a `rate` in percent needs a load that measures the rate of 100 %: add a closed loop or a capacity \
         search{named} with the same workloads, balancer and pinning",
        load.name
    ))
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
        let loads = plan(loads).unwrap().expanded();
        loads.iter().find(|load| load.name == name).and_then(|load| load.share.clone()).unwrap().of
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
    fn a_search_has_a_default_length_and_a_limit() {
        let loads = plan(&[SEARCH]).unwrap().expanded();
        // The closed loop and 30 windows of 1 s + 5 s, and two long windows of 1 s + 20 s, with 0.5 s more for each but
        // the first: `estimate` adds it, as for every trial.
        assert_eq!(loads[0].usual(), Some(Duration::from_millis(6_000 + 30 * 6_500 + 2 * 21_500)));
        assert!(loads[0].limit() > Duration::from_secs(40 * 60));
        let few = plan(&[&format!("{SEARCH}windows = 4\nconfirm = \"0s\"\n")]).unwrap().expanded();
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
